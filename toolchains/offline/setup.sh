#!/bin/bash
# setup.sh WORKSPACE: a private Bazel for machines that reach Debian's archive and a Go module proxy only.
#
# Prints the path of a bazel program on stdout; progress and errors go to stderr. ./bazelw calls it when
# neither bazelisk nor bazel is on PATH. What it makes lives in one prefix below the user's cache directory:
#
#   root/            Debian's bazel-bootstrap and what it needs, unpacked, bound to its own loader
#   modules/         rules_go and gazelle at the versions MODULE.bazel names, from the Go module proxy
#   workspace-HASH/  a file registry for one set of MODULE.bazel files, a bazelrc and the bazel program
#
# Every part is built under another name and renamed when whole, so an interrupted run is resumed by the
# next one; a lock serialises two runs. A finished part is never touched again.
#
# MIOPEN_SHIM_CACHE    where the prefix lives (default: $XDG_CACHE_HOME or ~/.cache, miopen_hipdnn_shim)
# MIOPEN_SHIM_DEB_DIR  a folder with kept .deb files, used instead of the network
# MIOPEN_SHIM_DEBIAN_MIRROR, MIOPEN_SHIM_DEBIAN_KEYRING  as for toolchains/rocm/debian_prefix.sh
# MIOPEN_SHIM_BAZEL_SUITE  the suite to take Bazel from (default: sid)
set -euo pipefail

readonly want=7.7                # the series that MODULE.bazel, .bazelrc and the packages below fit
readonly label=7.7.1             # what Debian's build calls itself once labelled
readonly suite=${MIOPEN_SHIM_BAZEL_SUITE:-sid}
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
readonly here
workspace=$(cd -- "$1" && pwd -P)
readonly workspace

say() { printf 'bazelw: %s\n' "$*" >&2; }
die() {
  say "$1"
  shift
  for line in "$@"; do say "$line"; done
  exit 1
}

cache=${MIOPEN_SHIM_CACHE:-${XDG_CACHE_HOME:-${HOME:+$HOME/.cache}/}}
[[ -n $cache && $cache != / ]] || die "no cache directory: set HOME, XDG_CACHE_HOME or MIOPEN_SHIM_CACHE."
[[ -n ${MIOPEN_SHIM_CACHE:-} ]] || cache=${cache%/}/miopen_hipdnn_shim
readonly prefix=$cache/bazel-$label
readonly root=$prefix/root
readonly share=$root/usr/share/bazel
readonly lib=$root/usr/lib/x86_64-linux-gnu
readonly jre=$root/usr/lib/jvm/java-21-openjdk-amd64
mkdir -p "$prefix" 2>/dev/null || die "cannot write $prefix." "Set MIOPEN_SHIM_CACHE to a directory you own."

# ---------- which MODULE.bazel files, hence which registry

# Every module of this repository that ./bazelw may be run in; the downstream example is one.
module_files() { (cd "$workspace" && find . -name MODULE.bazel -not -path './toolchains/offline/*' | LC_ALL=C sort | while read -r file; do printf '%s\n' "$workspace/${file#./}"; done); }

fingerprint() {
  {
    printf '%s\n' "$prefix"
    module_files | while read -r file; do
      printf '%s\n' "${file#"$workspace"/}"
      cat "$file"
    done
    cd "$here" && find setup.sh modules -type f | LC_ALL=C sort | xargs cat
  } | sha256sum | cut -c1-16
}

target=$prefix/workspace-$(fingerprint)
readonly target
if [[ -x $target/bazel ]]; then # the usual case: nothing to do
  printf '%s\n' "$target/bazel"
  exit 0
fi

for tool in flock dpkg-deb tar sha256sum awk sed; do
  command -v "$tool" >/dev/null || die "this set-up needs $tool, which is not on PATH." \
    "Install it, or install Bazelisk (https://github.com/bazelbuild/bazelisk) and run ./bazelw again."
done
[[ $(uname -m) == x86_64 ]] || die "Debian's Bazel is set up on x86_64 only, this is $(uname -m)." \
  "Install Bazelisk (https://github.com/bazelbuild/bazelisk) and run ./bazelw again."

exec 9>"$prefix/lock"
if ! flock -n 9; then
  say "another run is setting up Bazel in $prefix, waiting for it"
  flock 9
fi
if [[ -x $target/bazel ]]; then
  printf '%s\n' "$target/bazel"
  exit 0
fi

# ---------- Debian packages, unpacked into root/

# Packages by name; those whose name moves with sid's sonames are matched by pattern.
readonly fixed='bazel-bootstrap bazel-bootstrap-data bazel-platforms bazel-rules-cc bazel-rules-java bazel-rules-license
  bazel-rules-pkg bazel-rules-python bazel-rules-shell bazel-skylib libblake3-0 libc6 libcaffeine-java libcares2
  libcommons-compress-java libcommons-io-java libcommons-lang-java libcommons-lang3-java libcommons-pool2-java
  libdiffutils-java libgcc-s1 libgoogle-api-client-java libgoogle-auth-java libgoogle-flogger-java libgoogle-gson-java
  libgoogle-http-client-java libgrpc-java libjsr305-java libopencensus-java libperfmark-java libreactive-streams-java librx-java libstdc++6
  libxz-java libzstd-jni-java libzstd1 openjdk-21-jre-headless patchelf zlib1g'
readonly versioned='libabsl[0-9]+|libgrpc(\+\+)?[0-9.]+t64|libprotobuf[0-9]+t64|libre2-[0-9]+|libssl[0-9]+t64'

wrong_bazel() {
  die "$1 has bazel-bootstrap ${2:-of no version}, this set-up needs $want.x." \
    "Either install Bazelisk (https://github.com/bazelbuild/bazelisk) and run ./bazelw again," \
    "or set MIOPEN_SHIM_DEB_DIR to a folder with kept packages of Bazel $want.x."
}

fetch_debs() { # fetch_debs DIR: the .deb files into DIR, from the system's own mirror
  local site keyring=${MIOPEN_SHIM_DEBIAN_KEYRING:-/usr/share/keyrings/debian-archive-keyring.gpg} apt=$prefix/apt closure version
  # Without --no-release-info it prints nothing on a machine whose lists were never fetched, as in a container.
  site=${MIOPEN_SHIM_DEBIAN_MIRROR:-}
  [[ -n $site ]] || site=$(apt-get indextargets --no-release-info --format '$(SITE)' 'Created-By: Packages' | grep -E '/debian/?$' | LC_ALL=C sort -u | head -n 1 || true)
  [[ -n $site ]] || die "apt-get names no Debian mirror in its sources." \
    "Install Bazelisk (https://github.com/bazelbuild/bazelisk) and run ./bazelw again, or set MIOPEN_SHIM_DEB_DIR."
  [[ -r $keyring ]] || die "no $keyring: install the package debian-archive-keyring."
  mkdir -p "$apt"/lists/partial "$apt"/cache/archives/partial
  : >"$apt/status" # empty: the whole closure is resolved, whatever this machine has installed
  printf 'deb [signed-by=%s] %s %s main\n' "$keyring" "$site" "$suite" >"$apt/sources.list"
  local options=(-qq -o "Dir::Etc::SourceList=$apt/sources.list" -o Dir::Etc::SourceParts=/dev/null
    -o "Dir::State=$apt" -o "Dir::State::Lists=$apt/lists" -o "Dir::State::status=$apt/status"
    -o "Dir::Cache=$apt/cache" -o "APT::Sandbox::User=$(id -un)" -o Acquire::Languages=none
    -o Acquire::Retries=3 -o APT::Update::Error-Mode=any)
  say "reading the package index of Debian $suite"
  apt-get "${options[@]}" update >&2 || die "apt-get could not read the index of Debian $suite." \
    "Check the network, or set MIOPEN_SHIM_DEB_DIR to a folder with kept packages."
  closure=$(apt-get "${options[@]}" --no-install-recommends -s install bazel-bootstrap | awk '$1 == "Inst" { print $2, $3 }') || closure=
  version=$(awk '$1 == "bazel-bootstrap" { sub(/^\(/, "", $2); print $2 }' <<<"$closure")
  [[ $version == $want.* ]] || wrong_bazel "Debian $suite" "$version"
  say "downloading Bazel $version and its libraries (95 MB) into $1"
  # shellcheck disable=SC2046,SC2086  # lists of words
  (cd "$1" && apt-get "${options[@]}" download $fixed $(awk '{ print $1 }' <<<"$closure" | grep -xE "$versioned")) >&2 ||
    die "the download stopped. Run the same command again: what is complete is kept."
}

unpack_debs() { # unpack_debs DIR ROOT: those .deb files of DIR that belong to Bazel
  local name file picked=()
  for name in $fixed; do
    file=$(find "$1" -maxdepth 1 -name "${name}_*.deb" | LC_ALL=C sort | tail -n 1)
    [[ -n $file ]] || die "no package $name in $1."
    picked+=("$file")
  done
  while read -r file; do picked+=("$file"); done < <(find "$1" -maxdepth 1 -name '*.deb' | grep -E "/($versioned)_[^/]*\.deb$" | LC_ALL=C sort)
  say "unpacking ${#picked[@]} packages"
  for file in "${picked[@]}"; do
    dpkg-deb --fsys-tarfile "$file" | tar -x -C "$2" --exclude=./usr/share/doc --exclude=./usr/share/man \
      --exclude=./usr/share/locale --exclude='./usr/lib/*/gconv' --exclude=./usr/share/maven-repo \
      --exclude=./usr/share/lintian || die "$file does not unpack: delete it and run the same command again."
  done
}

# Programs of the prefix use its own loader and libraries: sid's libc is newer than the machine's.
# DT_RPATH and not RUNPATH: it covers the libraries' own needs, and is not inherited by child processes.
bind_programs() { # bind_programs BUILT: the root as it is now; paths are written for its final place
  local built=$1 program old
  patch() { "$built/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2" --library-path "$built/usr/lib/x86_64-linux-gnu" "$built/usr/bin/patchelf" "$@"; }
  for program in "$built"/usr/bin/bazel "$built"/usr/libexec/x86_64-linux-gnu/bazel/* \
    "$built/usr/lib/jvm/java-21-openjdk-amd64"/{bin/java,lib/jspawnhelper}; do
    old=$(patch --print-rpath "$program")
    patch --set-interpreter "$lib/ld-linux-x86-64.so.2" "$program"
    patch --force-rpath --set-rpath "$lib${old:+:$old}" "$program"
  done
}

link_inside() { # absolute symbolic links of the packages point into the root instead
  find "$1" -lname '/*' | while read -r link; do
    local to
    to=$(readlink "$link")
    [[ ! -e $1$to ]] || ln -sfn "$root$to" "$link"
  done
}

class_path() { # the server's extra class path names only jars that exist here, perfmark included:
  # without that one the server starts and never answers
  local jar
  for jar in rxjava gson grpc-api grpc-core grpc-context grpc-netty grpc-stub grpc-protobuf grpc-protobuf-lite grpc-auth \
    caffeine flogger flogger-system-backend google-extensions commons-pool2 perfmark-api jsr305 reactive-streams \
    google-auth-library-credentials google-auth-library-oauth2-http commons-compress commons-io commons-lang commons-lang3 \
    xz google-http-client google-http-client-gson google-api-client java-diff-utils opencensus-api zstd-jni; do
    [[ ! -e $1/usr/share/java/$jar.jar ]] || printf '%s\n' "$root/usr/share/java/$jar.jar"
  done
}

if [[ ! -d $root ]]; then
  debs=${MIOPEN_SHIM_DEB_DIR:-}
  if [[ -n $debs ]]; then
    [[ -d $debs ]] || die "MIOPEN_SHIM_DEB_DIR names $debs, which is not a folder."
    kept=$(find "$debs" -maxdepth 1 -name 'bazel-bootstrap_*.deb' | LC_ALL=C sort | tail -n 1)
    [[ $(basename "${kept:-none}") == bazel-bootstrap_$want.* ]] || wrong_bazel "$debs" "$(basename "${kept:-}" .deb)"
    say "using the kept packages in $debs"
  else
    debs=$prefix/debs
    mkdir -p "$debs"
    fetch_debs "$debs"
  fi
  rm -rf "$root.new"
  mkdir -p "$root.new"
  unpack_debs "$debs" "$root.new"
  link_inside "$root.new"
  bind_programs "$root.new"
  class_path "$root.new" >"$root.new/usr/share/bazel/bazel_classpath_debian_depends.txt"
  mv "$root.new" "$root"
  rm -rf "$prefix/debs" "$prefix/apt"
fi

# ---------- modules: rules_go and gazelle from the Go module proxy, the rest from Debian or stubs

bazel_deps() { tr -d '\n' <"$1" | grep -oE 'bazel_dep\([^)]*\)' | sed -nE 's/.*name *= *"([^"]+)".*version *= *"([^"]+)".*/\1 \2/p' || true; }
wanted() { module_files | while read -r file; do bazel_deps "$file"; done | awk -v name="$1" '$1 == name { print $2 }' | sort -V | tail -n 1; }
go_module() { # prints the directory of a downloaded Go module
  local answer
  answer=$(cd / && GOFLAGS=-mod=mod go mod download -json "$1") || die "the Go module proxy does not serve $1:" "$answer"
  sed -nE 's/^\t"Dir": "(.*)",$/\1/p' <<<"$answer"
}

rules_go_version=$(wanted rules_go)
gazelle_version=$(wanted gazelle)
[[ -n $rules_go_version && -n $gazelle_version ]] || die "$workspace/MODULE.bazel names no version of rules_go or gazelle."
readonly rules_go=$prefix/modules/rules_go-$rules_go_version gazelle=$prefix/modules/gazelle-$gazelle_version
mkdir -p "$prefix/modules"

copy_module() { # copy_module GO_MODULE DIR: a writable copy; module archives drop the x bits of scripts
  cp -r "$(go_module "$1")" "$2"
  chmod -R u+w "$2"
  find "$2" -name '*.sh' -exec chmod +x {} +
}

if [[ ! -d $rules_go ]]; then
  say "fetching rules_go $rules_go_version"
  rm -rf "$rules_go.new"
  copy_module "github.com/bazelbuild/rules_go@v$rules_go_version" "$rules_go.new"
  mv "$rules_go.new" "$rules_go"
fi
if [[ ! -d $gazelle ]]; then
  say "fetching gazelle $gazelle_version"
  rm -rf "$gazelle.new"
  copy_module "github.com/bazelbuild/bazel-gazelle@v$gazelle_version" "$gazelle.new"
  # ./v2 is a Go module of its own, absent from the archive; go.mod names its version
  v2=$(awk '$1 == "github.com/bazel-contrib/bazel-gazelle/v2" { print $2 }' "$gazelle.new/go.mod")
  copy_module "github.com/bazel-contrib/bazel-gazelle/v2@$v2" "$gazelle.new/v2"
  ! grep -q '//v2:go.sum' "$gazelle.new/internal/go_repository_tools_srcs.bzl" || : >"$gazelle.new/v2/go.sum"
  mv "$gazelle.new" "$gazelle"
fi

# ---------- a file registry with one entry for every (module, version) that any MODULE.bazel asks for
# A registry and not --override_module: an override of a module that is not in a graph is an error.

readonly building=$target.new
rm -rf "$building"
mkdir -p "$building/registry"
cp -r "$here/modules" "$building/stubs"

declare -A source=(
  [rules_go]=$rules_go [gazelle]=$gazelle
  [platforms]=$share/tools/platforms [bazel_skylib]=$share/tools/skylib
)
for name in cc java license python shell pkg; do source[rules_$name]=$share/rules/$name; done
for dir in "$building"/stubs/*/; do
  name=$(basename "$dir")
  source[$name]=$target/stubs/$name
done
at() { # where a source directory is while this run builds
  local path=${source[$1]}
  printf '%s\n' "${path/#"$target"\//$building/}"
}

printf '{}\n' >"$building/registry/bazel_registry.json"
{
  printf 'platforms 0.0.7\n' # asked for by the built-in local_config_platform
  bazel_deps "$share/embedded_tools/MODULE.bazel"
  module_files | while read -r file; do bazel_deps "$file"; done
  for name in "${!source[@]}"; do bazel_deps "$(at "$name")/MODULE.bazel"; done
} | LC_ALL=C sort -u | while read -r name version; do
  [[ -n ${source[$name]-} ]] || continue # development dependencies of dependencies are never resolved
  original=$(at "$name")/MODULE.bazel
  entry=$building/registry/modules/$name/$version
  mkdir -p "$entry"
  repo_name=$(awk '/^module\(/ { inside = 1 } inside { print } inside && /\)[ \t]*$/ { exit }' "$original" | grep -oE 'repo_name *= *"[^"]+"' || true)
  {
    printf 'module(name = "%s", version = "%s"%s)\n' "$name" "$version" "${repo_name:+, $repo_name}"
    awk '!done && /^module\(/ { inside = 1 } inside { if (/\)[ \t]*$/) { inside = 0; done = 1 } next } { print }' "$original"
  } >"$entry/MODULE.bazel"
  printf '{"type": "local_path", "path": "%s"}\n' "${source[$name]}" >"$entry/source.json"
done

printf 'block *\n' >"$building/downloader.cfg"
cat >"$building/bazelrc" <<RC
startup --install_base=$share --trust_install_base --server_javabase=$jre
common --registry=file://$target/registry
common --experimental_downloader_config=$target/downloader.cfg
RC
cat >"$building/bazel" <<SH
#!/bin/sh
# Debian's build carries no version label; Bazel reads it from here instead.
export BAZEL_DEV_VERSION_OVERRIDE=$label
exec "$root/usr/bin/bazel" --nosystem_rc --bazelrc="$target/bazelrc" "\$@"
SH
chmod +x "$building/bazel"
rm -rf "$target"
mv "$building" "$target"
say "Bazel $label is ready in $prefix"
printf '%s\n' "$target/bazel"
