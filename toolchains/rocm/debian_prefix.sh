#!/bin/bash
# debian_prefix.sh [--lock FILE] DEST             a ROCm with a real MIOpen, from Debian packages, in DEST
# debian_prefix.sh [--lock FILE] --download DIR   only the packages, into DIR, to be used as MIOPEN_SHIM_DEB_DIR
# debian_prefix.sh [--lock FILE] --update-lock    record what the archive has today in FILE
#
# DEST becomes a tree like / (merged /usr) that programs are started in through its own loader. Nothing is
# installed, no root is needed, and nothing outside DEST, DEST.work and DEST.lock is written.
#
# FILE (default: debian.lock beside this script) says what to fetch and what was fetched when it was recorded:
#   suites S...                                  releases of Debian to read; the last one is preferred
#   closure yes|no                               with everything the packages depend on, or these packages alone
#   provides PATH                                a file that DEST must have at the end; may be repeated
#   want PACKAGE                                 may be repeated
#   package NAME VERSION ARCHITECTURE SHA256 SIZE   one package of the recorded result
# The recorded result is compared, not enforced: the suites that carry ROCm move. A difference is a warning.
# A download must match the checksum in the archive's signed index, otherwise nothing is made of it.
#
# DEST appears by one rename when it is whole, so an existing DEST is a finished one and a second run returns
# at once. DEST.work holds an unfinished run: downloads that match their checksum and packages that were unpacked
# whole are used again. DEST.lock serialises runs.
#
# MIOPEN_SHIM_DEB_DIR         a folder with kept .deb files, used instead of the network
# MIOPEN_SHIM_DEBIAN_MIRROR   the mirror's address (default: the one in this system's apt sources)
# MIOPEN_SHIM_DEBIAN_KEYRING  the archive's keyring (default: where debian-archive-keyring puts it)
set -euo pipefail
export LC_ALL=C

readonly format=1 # of DEST: raised when this script makes something else of the same packages
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
readonly here

say() { printf 'debian_prefix: %s\n' "$*" >&2; }
die() { # die LINE...: empty lines are left out
  local line
  for line in "$@"; do [[ -z $line ]] || say "$line"; done
  exit 1
}
usage() {
  sed -n '2,4s/^# //p' "${BASH_SOURCE[0]}" >&2
  exit 2
}

lock=$here/debian.lock mode=prefix dest=''
while (($#)); do
  case $1 in
    --lock) (($# > 1)) || usage; lock=$2; shift ;;
    --download) mode=download ;;
    --update-lock) mode=update ;;
    -*) usage ;;
    *) [[ -z $dest && -n $1 ]] || usage; dest=$1 ;;
  esac
  shift
done
case $mode in update) [[ -z $dest ]] || usage ;; *) [[ -n $dest ]] || usage ;; esac
[[ -r $lock ]] || die "cannot read $lock."
lock=$(cd -- "$(dirname -- "$lock")" && pwd -P)/${lock##*/}
readonly lock mode

# ---------- the lock file

suites=() wants=() provides=() closure='' recorded='' number=0
while read -r key values; do
  number=$((number + 1))
  case $key in
    '' | '#'*) ;;
    suites) read -ra suites <<<"$values" ;;
    closure) closure=$values ;;
    want) wants+=("$values") ;;
    provides) provides+=("$values") ;;
    package)
      [[ $values =~ ^[^\ ]+\ [^\ ]+\ [^\ ]+\ [0-9a-f]{64}\ [0-9]+$ ]] || die "$lock:$number: not a package line: $values"
      recorded+=$values$'\n'
      ;;
    *) die "$lock:$number: $key is not known." ;;
  esac
done <"$lock"
[[ ${#suites[@]} -gt 0 && ${#wants[@]} -gt 0 && $closure =~ ^(yes|no)$ ]] ||
  die "$lock must have suites, want and closure (yes or no)."
readonly suites wants provides closure recorded target=${suites[-1]}

# ---------- DEST, and whether there is anything to do

writable() { # writable DIR: its absolute path, made if need be
  if ! mkdir -p -- "$1" 2>/dev/null || [[ ! -w $1 ]]; then die "cannot write the folder $1."; fi
  (cd -- "$1" && pwd -P)
}

work='' # where everything unfinished lives
if [[ $mode == prefix ]]; then
  parent=$(writable "$(dirname -- "$dest")")
  dest=${parent%/}/$(basename -- "$dest")
  work=$dest.work
else
  [[ $mode != download ]] || dest=$(writable "$dest")
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
fi
readonly dest work

recipe=$({ printf 'format %s\n' "$format"; grep -v '^#' -- "$lock"; } | sha256sum | cut -d' ' -f1)
readonly recipe
finished() { [[ -r $dest/.debian_prefix/recipe && $(<"$dest/.debian_prefix/recipe") == "$recipe" ]]; }

need() { # need TOOL...: say what is missing before anything is downloaded
  local tool
  for tool in "$@"; do
    command -v "$tool" >/dev/null || die "this needs $tool, which is not on PATH." \
      "On a machine that is not Debian-like use an installed ROCm instead: --//toolchains/rocm:miopen=local with ROCM_PATH."
  done
}

if [[ $mode == prefix ]]; then
  ! finished || exit 0
  [[ $(uname -m) == x86_64 ]] || die "Debian builds this ROCm for x86_64, this machine is $(uname -m)."
  need flock sha256sum awk dpkg-deb
  [[ ! -e $dest || -e $dest/.debian_prefix/recipe ]] ||
    die "$dest exists and was not made by this script: choose another folder."
  exec 9>"$dest.lock" # inherited by children on purpose: while an orphan still writes, nobody else may
  if ! flock -n 9; then
    say "another run is making $dest, waiting for it"
    flock 9
    ! finished || exit 0
  fi
  trap 'say "interrupted. Run the same command again: what is complete is kept."; exit 130' INT TERM
fi
mkdir -p -- "$work"

no_space() { # no_space: a line for messages when the file system is the likely culprit
  local free
  free=$(df -Pk -- "$work" | awk 'NR == 2 { print $4 }')
  ((free > 65536)) || printf 'Only %s MB are free there: the disk is full.\n' $((free / 1024))
}

# ---------- resolution: $work/plan gets "name version architecture sha256 size installed-KB file" per package.
# file is "-" where the package must be downloaded first.

apt_options=()
private_apt() { # private_apt LINE...: apt with these sources and nothing of the system's state
  local apt=$work/apt
  need apt-get apt-cache apt-config
  mkdir -p -- "$apt"/lists/partial "$apt"/cache/archives/partial "$apt"/empty
  : >"$apt/status" # empty: the whole closure is resolved, whatever this machine has installed
  printf '%s\n' "$@" >"$apt/sources.list"
  # How to reach the network (proxies, retries, date checks) is the system's; hooks and extra indexes are not.
  apt-config dump | grep -E '^Acquire::' | grep -vE '^Acquire::(IndexTargets|Languages|CompressionTypes|Changelogs)' \
    >"$apt/apt.conf" || true
  cat >>"$apt/apt.conf" <<CONF
Dir::Etc::Main "/dev/null";
Dir::Etc::Parts "$apt/empty";
APT::Architecture "amd64";
APT::Architectures { "amd64"; };
APT::Install-Recommends "false";
Acquire::Languages "none";
Acquire::Retries "3";
APT::Update::Error-Mode "any";
CONF
  export APT_CONFIG=$apt/apt.conf
  apt_options=(-o "Dir::Etc::SourceList=$apt/sources.list" -o "Dir::Etc::SourceParts=$apt/empty"
    -o Dir::Etc::Preferences=/dev/null -o "Dir::Etc::PreferencesParts=$apt/empty"
    -o "Dir::State=$apt" -o "Dir::State::Lists=$apt/lists" -o "Dir::State::status=$apt/status"
    -o "Dir::Cache=$apt/cache" -o "APT::Sandbox::User=$(id -un)")
}

resolve() { # resolve WHERE [OPTION...]: what the private apt would install, with the index's checksums
  local where=$1 installs
  shift
  if ! apt-get "${apt_options[@]}" -q -s "$@" install "${wants[@]}" >"$work/resolved" 2>&1; then
    sed 's/^/  /' "$work/resolved" >&2
    die "$where cannot provide all of: ${wants[*]}." "See the lines above for what it lacks."
  fi
  installs=$(awk '$1 == "Inst" { sub(/^\(/, "", $3); print $2 "=" $3 }' "$work/resolved")
  if [[ $closure == no ]]; then
    installs=$(awk -F= 'FILENAME == ARGV[1] { want[$1]; next } $1 in want' <(printf '%s\n' "${wants[@]}") <(printf '%s\n' "$installs"))
  fi
  # shellcheck disable=SC2086  # a list of words
  apt-cache "${apt_options[@]}" show $installs | awk '
    function flush() {
      if (name != "" && !((name, version) in seen)) print name, version, arch, sha, size, kb, "-"
      seen[name, version]; name = version = arch = sha = size = ""; kb = 0
    }
    /^Package: / { flush(); name = $2 } /^Version: / { version = $2 } /^Architecture: / { arch = $2 }
    /^SHA256: / { sha = $2 } /^Size: / { size = $2 } /^Installed-Size: / { kb = $2 }
    END { flush() }' | sort >"$work/plan.new"
  [[ $(wc -l <"$work/plan.new") -eq $(wc -w <<<"$installs") && -n $installs ]] || die "$where has no checksums for some of:" "$installs"
}

mirror() { # the address of the Debian mirror that this system uses
  if [[ -n ${MIOPEN_SHIM_DEBIAN_MIRROR:-} ]]; then
    printf '%s\n' "$MIOPEN_SHIM_DEBIAN_MIRROR"
    return
  fi
  # shellcheck disable=SC2016  # apt-get expands these
  {
    # What was fetched already says what it is; a fresh machine has not fetched anything and only has addresses.
    apt-get indextargets --format '$(LABEL) $(SITE)' 'Created-By: Packages' | sed -n 's/^Debian //p'
    apt-get indextargets --no-release-info --format '$(SITE)' 'Created-By: Packages' | grep -E '/debian(/|\.list)?$'
  } 2>/dev/null | awk 'NR == 1' || true
}

resolve_archive() {
  need apt-get
  local site keyring=${MIOPEN_SHIM_DEBIAN_KEYRING:-} sources=() suite candidate indexes
  site=$(mirror)
  [[ -n $site ]] || die "apt's sources name no Debian mirror: set MIOPEN_SHIM_DEBIAN_MIRROR to the address of one," \
    "or MIOPEN_SHIM_DEB_DIR to a folder with kept packages."
  for candidate in /usr/share/keyrings/debian-archive-keyring.{gpg,pgp}; do
    [[ -n $keyring || ! -r $candidate ]] || keyring=$candidate
  done
  [[ -r $keyring ]] || die "no keyring to check Debian's archive with: install the package debian-archive-keyring," \
    "or set MIOPEN_SHIM_DEBIAN_KEYRING."
  for suite in "${suites[@]}"; do sources+=("deb [signed-by=$keyring] $site $suite main"); done
  private_apt "${sources[@]}"
  say "reading the package indexes of Debian ${suites[*]}"
  if ! apt-get "${apt_options[@]}" -qq update >&2; then indexes=failed; fi
  # Older apt ends with status 0 when it could not reach the mirror.
  [[ -n ${indexes:-} ]] || for suite in "${suites[@]}"; do
    compgen -G "$work/apt/lists/*_dists_${suite}_main_binary-amd64_Packages*" >/dev/null || indexes=failed
  done
  [[ -z ${indexes:-} ]] || die "apt-get could not read the indexes of Debian ${suites[*]} from $site." "$(no_space)" \
    "Check the network and run the same command again, or set MIOPEN_SHIM_DEB_DIR to a folder with kept packages."
  resolve "Debian $target" -t "$target"
}

# A folder of kept packages. The recorded ones are found by checksum, which needs no apt. When the folder has
# another state of the archive, apt resolves within the folder.
resolve_folder() { # resolve_folder DIR
  local dir=$1 index=$work/index name version arch sha size file missing=''
  [[ -d $dir ]] || die "MIOPEN_SHIM_DEB_DIR names $dir, which is not a folder."
  dir=$(cd -- "$dir" && pwd -P)
  say "using the kept packages in $dir"
  find "$dir" -maxdepth 1 -name '*.deb' -printf '%s %p\n' | sort >"$work/folder"
  [[ -s $work/folder ]] || die "$dir, which MIOPEN_SHIM_DEB_DIR names, has no .deb files."
  awk 'FILENAME == ARGV[1] { size[$5]; next } $1 in size { sub(/^[0-9]+ /, ""); printf "%s%c", $0, 0 }' <(printf %s "$recorded") "$work/folder" |
    xargs -0r sha256sum >"$work/folder.sums"
  : >"$work/plan.new"
  while read -r name version arch sha size; do
    file=$(awk -v sha="$sha" '$1 == sha { sub(/^[0-9a-f]+ [ *]/, ""); print; exit }' "$work/folder.sums")
    [[ -n $file ]] || { missing=$name; break; }
    printf '%s %s %s %s %s %s %s\n' "$name" "$version" "$arch" "$sha" "$size" \
      "$(dpkg-deb -f "$file" Installed-Size)" "$file" >>"$work/plan.new"
  done <<<"${recorded%$'\n'}"
  [[ -n $missing || ! -s $work/plan.new ]] || return 0

  say "the folder lacks recorded packages${missing:+ ($missing and maybe more)}, resolving what it has"
  rm -rf -- "$index"
  mkdir -p -- "$index"
  while read -r size file; do
    dpkg-deb -f "$file" >"$work/control" || die "$file is not a whole package: replace it."
    sha=$(sha256sum <"$file" | cut -d' ' -f1)
    read -r name version arch < <(awk '/^Package: / { n = $2 } /^Version: / { v = $2 } /^Architecture: / { a = $2 } END { print n, v, a }' "$work/control")
    if [[ $'\n'$recorded == *$'\n'"$name $version $arch "* && $'\n'$recorded != *$'\n'"$name $version $arch $sha "* ]]; then
      die "$file is damaged: $name $version was recorded with another checksum. Replace it."
    fi
    printf '%s %s %s\n' "$name" "$version" "$file" >>"$index/files"
    { cat "$work/control"; printf 'Filename: %s\nSize: %s\nSHA256: %s\n\n' "${file##*/}" "$size" "$sha"; } >>"$index/Packages"
  done <"$work/folder"
  private_apt "deb [trusted=yes] file:${index// /%20} ./"
  apt-get "${apt_options[@]}" -qq update >&2 || die "apt-get could not read the index made of $dir."
  resolve "$dir"
  # The folder's files take the place of downloads.
  awk 'FILENAME == ARGV[1] { key = $1 " " $2; $1 = $2 = ""; sub(/^ +/, ""); file[key] = $0; next }
    { key = $1 " " $2; $7 = ""; sub(/ +$/, ""); print $0, file[key] }' "$index/files" "$work/plan.new" >"$work/plan.files"
  mv -- "$work/plan.files" "$work/plan.new"
}

# What differs between the recorded result and the plan; one line per package.
moved() {
  awk 'FILENAME == ARGV[1] { version[$1] = $2; sha[$1] = $4; next }
    { planned[$1] }
    !($1 in version) { print $1 " " $2 " (not recorded)"; next }
    version[$1] != $2 { print $1 " " version[$1] " -> " $2; next }
    sha[$1] != $4 { print $1 " " $2 " (another checksum)" }
    END { for (name in version) if (!(name in planned)) print name " " version[name] " (no longer used)" }' \
    <(printf %s "$recorded") "$work/plan" | sort
}

if [[ -n ${MIOPEN_SHIM_DEB_DIR:-} ]]; then resolve_folder "$MIOPEN_SHIM_DEB_DIR"; else resolve_archive; fi

if [[ $mode == update ]]; then
  {
    awk '$1 != "package"' "$lock"
    awk '{ print "package", $1, $2, $3, $4, $5 }' "$work/plan.new"
  } >"$lock.new"
  mv -- "$lock.new" "$lock"
  say "recorded $(wc -l <"$work/plan.new") packages in $lock"
  exit 0
fi

# An unfinished root of another plan would leave files behind that no package of this plan owns.
if ! cmp -s <(cut -d' ' -f1-4 "$work/plan.new") <(cut -d' ' -f1-4 "$work/plan" 2>/dev/null); then
  rm -rf -- "$work/root" "$work/unpacked"
fi
mv -- "$work/plan.new" "$work/plan"
moved >"$work/moved"
if [[ -s $work/moved ]]; then
  say "warning: not what $(basename -- "$lock") recorded, $(wc -l <"$work/moved") packages differ:"
  sed 's/^/  /' "$work/moved" >&2
  say "going on with these. To record them: $(basename -- "$0") --update-lock"
fi

# ---------- download

if [[ $mode == download ]]; then debs=$dest; else debs=$work/debs; fi
readonly debs
mkdir -p -- "$debs" "$work/root" "$work/unpacked"
name_deb() { deb=${1}_${2//:/%3a}_$3.deb; } # name_deb NAME VERSION ARCH: sets deb to what apt-get download calls it

check_space() { # check_space UNPACKED: 1 when the packages are also unpacked
  local need_kb have_kb
  need_kb=$(awk -v unpacked="$1" '{ if (unpacked) kb += $6; if ($7 == "-") kb += $5 / 1024 } END { printf "%d\n", kb }' "$work/plan")
  need_kb=$((need_kb - $(du -skc -- "$debs" "$work/root" | tail -n 1 | cut -f1)))
  have_kb=$(df -Pk -- "$work" | awk 'NR == 2 { print $4 }')
  ((have_kb >= need_kb)) || die "$dest needs $((need_kb / 1024)) MB more, $((have_kb / 1024)) MB are free there." \
    "Free some space or choose another place (for builds: MIOPEN_SHIM_CACHE)."
}
check_space "$([[ $mode == download ]] || echo 1)"

fetch=() fetch_bytes=0
while read -r name version arch sha size _ file; do
  [[ $file == - ]] || continue
  name_deb "$name" "$version" "$arch"
  file=$debs/$deb
  if [[ -e $file ]]; then
    have=$(stat -c %s -- "$file")
    if ((have == size)); then
      [[ $(sha256sum <"$file") != "$sha  -" ]] || continue
      say "$deb from the last run is damaged, downloading it again"
      rm -f -- "$file"
    elif ((have > size)); then
      rm -f -- "$file"
    fi # a shorter one is the beginning of a download, which apt-get goes on with
  fi
  fetch+=("$name=$version")
  fetch_bytes=$((fetch_bytes + size))
done <"$work/plan"

if ((${#fetch[@]})); then
  say "downloading ${#fetch[@]} packages, $((fetch_bytes / 1000000)) MB"
  (cd -- "$debs" && apt-get "${apt_options[@]}" -q download "${fetch[@]}") >&2 ||
    die "the download stopped." "$(no_space)" "Run the same command again: what is complete is kept."
fi

locate() { # locate NAME VERSION ARCH SHA FILE: sets deb to its name, file to where it is; dies unless it is the index's
  name_deb "$1" "$2" "$3"
  file=$5
  [[ $file != - ]] || file=$debs/$deb
  [[ -e $file ]] || die "apt-get did not download $deb." "Run the same command again."
  [[ $(sha256sum <"$file") != "$4  -" ]] || return 0
  [[ $5 != - ]] || rm -f -- "$file"
  die "$deb does not have the checksum in the archive's index; it is not used." \
    "Run the same command again. If this stays, something between here and the mirror alters files."
}

if [[ $mode == download ]]; then
  while read -r name version arch sha _ _ file; do
    locate "$name" "$version" "$arch" "$sha" "$file"
    [[ $file == "$dest"/* ]] || cp -- "$file" "$dest/$deb"
  done <"$work/plan"
  say "$(wc -l <"$work/plan") packages are in $dest: set MIOPEN_SHIM_DEB_DIR to it to use them"
  exit 0
fi

# ---------- unpack

readonly root=$work/root
mkdir -p -- "$root"/usr/{bin,sbin,lib,lib64}
for dir in bin sbin lib lib64; do ln -sfn "usr/$dir" "$root/$dir"; done

count=0 total=$(wc -l <"$work/plan")
while read -r name version arch sha size _ file; do
  count=$((count + 1))
  [[ ! -e $work/unpacked/$sha ]] || continue
  locate "$name" "$version" "$arch" "$sha" "$file"
  ((size < 4000000)) || say "[$count/$total] unpacking $name $version ($((size / 1000000)) MB)"
  dpkg-deb -x "$file" "$root" || die "$deb could not be unpacked." "$(no_space)" "Then run the same command again."
  : >"$work/unpacked/$sha"
done <"$work/plan"

# ---------- check and publish

for path in "${provides[@]}"; do
  [[ -e $root/$path ]] || die "the packages have no $path: Debian moved it, and this script and $lock must follow."
done
if [[ $closure == yes ]]; then
  loader=$root/usr/lib64/ld-linux-x86-64.so.2 libraries=$root/usr/lib/x86_64-linux-gnu
  "$loader" --library-path "$libraries" --list "$libraries/libMIOpen.so.1" >"$work/needed" 2>&1 || {
    sed 's/^/  /' "$work/needed" >&2
    die "libMIOpen.so.1 does not load from these packages, see above."
  }
fi
mkdir -p -- "$root/.debian_prefix"
cut -d' ' -f1-5 "$work/plan" >"$root/.debian_prefix/packages"
cp -- "$work/moved" "$root/.debian_prefix/moved"
printf '%s\n' "$recipe" >"$root/.debian_prefix/recipe"
[[ ! -e $dest ]] || mv -- "$dest" "$work/replaced" # a finished one of another recipe
mv -- "$root" "$dest"
rm -rf -- "$work"
say "ready: $dest ($total packages)"
