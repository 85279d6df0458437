#!/bin/bash
# What ./bazelw does on machines that have, or lack, Bazelisk, Bazel, Go, a compiler and apt-get. PATH holds
# only what each case gives it, so nothing is downloaded; set-up itself runs whenever ./bazelw is used here.
set -euo pipefail

bazelw=$PWD/$1 setup=$PWD/$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cases=0

mkdir "$work/base"
for tool in sh bash dirname basename cat mkdir find sort sed awk grep head tail tr cut xargs sha256sum flock tar rm mv cp chmod ln \
  readlink id uname sleep true; do
  ln -s "$(command -v $tool)" "$work/base/$tool"
done

machine() { # machine PROGRAM...: a PATH with the base tools and these
  rm -rf "$work/bin"
  mkdir "$work/bin"
  for program in "$@"; do
    printf '#!/bin/sh\necho "%s ran: $*"\n' "$program" >"$work/bin/$program"
  done
  [[ ! -e $work/bin/go ]] || printf '#!/bin/sh\necho "${GO_SAYS:-go1.99.0}"\n' >"$work/bin/go"
  # apt-get of a machine whose lists were never fetched: a mirror is named with --no-release-info only.
  [[ ! -e $work/bin/apt-get ]] || printf '%s\n' '#!/bin/sh' 'case "$*" in' '*--no-release-info*) [ -z "$SITE" ] || echo "$SITE" ;;' \
    '*update*) exit "${UPDATE:-0}" ;;' 'esac' >"$work/bin/apt-get"
  chmod +x "$work"/bin/*
}

tree() { # a workspace of its own, so that nothing is written beside the tested files
  rm -rf "$work/tree"
  mkdir -p "$work/tree/toolchains/offline/modules/zlib"
  cp "$bazelw" "$work/tree/bazelw"
  cp "$setup" "$work/tree/toolchains/offline/setup.sh"
  printf 'module(name = "zlib")\n' >"$work/tree/toolchains/offline/modules/zlib/MODULE.bazel"
  printf '7.7.1\n' >"$work/tree/.bazelversion"
  printf 'module m\n\ngo 1.26.0\n' >"$work/tree/go.mod"
  printf 'module(name = "m")\nbazel_dep(name = "rules_go", version = "0.64.2")\n' >"$work/tree/MODULE.bazel"
}

expect() { # expect STATUS PATTERN COMMAND...: stdout and stderr together must match
  local want=$1 pattern=$2 status=0 output
  shift 2
  output=$(env -i PATH="$work/bin:$work/base" HOME="$work/home" "$@" 2>&1) || status=$?
  if [[ $status != "$want" || ! $output =~ $pattern ]]; then
    printf 'FAIL: %s\nwanted status %s and /%s/, got status %s:\n%s\n' "$*" "$want" "$pattern" "$status" "$output"
    exit 1
  fi
  cases=$((cases + 1))
}

tree
machine go gcc g++ bazelisk bazel apt-get
expect 0 '^bazelisk ran: test //\.\.\.$' "$work/tree/bazelw" test //...
machine go gcc g++ bazel apt-get
expect 0 '^bazel ran: build //x --config=y$' "$work/tree/bazelw" build //x --config=y
machine gcc g++ bazelisk
expect 1 'missing on this machine: Go .*Nothing was downloaded' "$work/tree/bazelw" version
machine go bazelisk
expect 1 'missing on this machine: a C and C\+\+ compiler' "$work/tree/bazelw" version
machine bazelisk
expect 1 'Go .*; a C and C\+\+ compiler' "$work/tree/bazelw" version
machine go gcc g++ bazelisk
expect 1 'the C compiler that CC names \(icc\)' CC="icc -m64" "$work/tree/bazelw" version
machine go gcc bazelisk
expect 1 'missing on this machine: a C and C\+\+ compiler' "$work/tree/bazelw" version
machine go gcc g++ bazelisk
expect 1 'Go 1\.26\.0 or newer .*go on PATH is 1\.19\.8' GO_SAYS=go1.19.8 "$work/tree/bazelw" version
machine go clang clang++ bazelisk
expect 0 '^bazelisk ran' "$work/tree/bazelw" version
machine go gcc g++
expect 1 'Install Bazelisk .*fetches Bazel 7\.7\.1' "$work/tree/bazelw" version

# With apt-get the private set-up is tried; each way it can end early is a message, and leaves no prefix.
machine go gcc g++ apt-get
expect 1 'needs dpkg-deb' "$work/tree/bazelw" version
machine go gcc g++ apt-get dpkg-deb
expect 1 'names no Debian mirror' "$work/tree/bazelw" version
: >"$work/keyring"
expect 1 'could not read the index of Debian sid.*Check the network' SITE=mirror.invalid/debian UPDATE=100 \
  MIOPEN_SHIM_DEBIAN_KEYRING="$work/keyring" "$work/tree/bazelw" version
expect 1 'Debian sid has bazel-bootstrap of no version' SITE=mirror.invalid/debian \
  MIOPEN_SHIM_DEBIAN_KEYRING="$work/keyring" "$work/tree/bazelw" version
mkdir -p "$work/debs"
expect 1 'has bazel-bootstrap .*needs 7\.7\.x.*MIOPEN_SHIM_DEB_DIR' MIOPEN_SHIM_DEB_DIR="$work/debs" "$work/tree/bazelw" version
: >"$work/debs/bazel-bootstrap_8.0.1-1_amd64.deb"
expect 1 'has bazel-bootstrap bazel-bootstrap_8\.0\.1' MIOPEN_SHIM_DEB_DIR="$work/debs" "$work/tree/bazelw" version
rm "$work"/debs/*
: >"$work/debs/bazel-bootstrap_7.7.1+ds-8_amd64.deb"
expect 1 'no package bazel-bootstrap-data in' MIOPEN_SHIM_DEB_DIR="$work/debs" "$work/tree/bazelw" version
expect 1 'which is not a folder' MIOPEN_SHIM_DEB_DIR="$work/none" "$work/tree/bazelw" version
expect 1 'no cache directory' HOME= "$work/tree/bazelw" version
: >"$work/file"
expect 1 'cannot write .*/file/' MIOPEN_SHIM_CACHE="$work/file/x" "$work/tree/bazelw" version
prefix=$work/home/.cache/miopen_hipdnn_shim/bazel-7.7.1
if [[ -e $prefix/root ]] || compgen -G "$prefix/workspace-*" >/dev/null; then
  echo "FAIL: a set-up that stopped left a finished prefix"
  exit 1
fi

# A finished prefix is used at once, with no lock and no tool, and another MODULE.bazel asks for another one.
fake=$(env -i PATH="$work/bin:$work/base" HOME="$work/home" bash -x "$work/tree/toolchains/offline/setup.sh" "$work/tree" 2>&1 |
  sed -nE 's/^\++ target=(.*workspace-.*)$/\1/p' | head -n 1 || true)
mkdir -p "$fake"
printf '#!/bin/sh\necho "prefix ran: $*"\n' >"$fake/bazel"
chmod +x "$fake/bazel"
machine go gcc g++ apt-get
expect 0 '^prefix ran: info$' "$work/tree/bazelw" info
printf '# changed\n' >>"$work/tree/MODULE.bazel"
expect 1 'needs dpkg-deb' "$work/tree/bazelw" info

echo "$cases cases"
((cases == 22))
