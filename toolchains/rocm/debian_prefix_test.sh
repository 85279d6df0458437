#!/bin/bash
# debian_prefix_test.sh PATH_OF_DEBIAN_PREFIX: the recipe's logic against a small archive and stand-ins for apt and dpkg.
#
# The stand-ins know just enough: an index in Debian's form, a pool of files, downloads that continue a shorter file
# as apt-get's do, and switches in $archive that make them fail or stop. What they write down ($archive/log) shows what
# was downloaded and unpacked. Where the machine has the real apt-get and dpkg-deb, one case uses these.
set -euo pipefail
export LC_ALL=C
script=$(cd -- "$(dirname -- "$1")" && pwd -P)/$(basename -- "$1")
readonly script
base=${TEST_TMPDIR:-$(mktemp -d)}
readonly base
unset MIOPEN_SHIM_DEB_DIR MIOPEN_SHIM_DEBIAN_MIRROR
real_path=$PATH
readonly real_path

# ---------- stand-ins

readonly bin=$base/bin
mkdir -p "$bin"
stand_in() { cat >"$bin/$1" && chmod +x "$bin/$1"; }

stand_in uname <<'SH'
#!/bin/bash
echo x86_64
SH

stand_in df <<'SH'
#!/bin/bash
printf 'Filesystem 1024-blocks Used Available Capacity Mounted\n'
printf 'disk 0 0 %s 0%% /\n' "$(cat "$archive/free" 2>/dev/null || echo 10000000)"
SH

stand_in apt-config <<'SH'
#!/bin/bash
echo 'Acquire::Retries "2";'
echo 'APT::Update::Post-Invoke:: "touch $archive/hook-ran";'
SH

# Sets lists, and index: the archive's, or one that was made of a folder. No processes: these add up.
stand_in settings <<'SH'
index=$archive/Packages site_suites=
for option in "$@"; do
  case $option in
    Dir::State::Lists=*) lists=${option#*=} ;;
    Dir::Etc::SourceList=*)
      while read -r _ _ site suite _; do
        if [ "$suite" = ./ ]; then index=${site#file:}/Packages; else site_suites="$site_suites $suite"; fi
      done <"${option#*=}"
      ;;
  esac
done
SH

stand_in apt-get <<'SH'
#!/bin/bash
set -eu
. "${0%/*}/settings"
all="$*"
while (($#)); do
  case $1 in
    -o | -t | --format) shift ;;
    -*) ;;
    *) break ;;
  esac
  shift
done
verb=$1
shift
case $verb in
  indextargets)
    [[ ! -e $archive/no-mirror ]] || exit 0
    [[ $all == *LABEL* ]] && echo "Debian file:$archive"
    exit 0
    ;;
  update)
    [[ ! -e $archive/offline ]] || { echo "E: Failed to fetch" >&2; exit 100; }
    # An old apt-get: nothing could be read, and still status 0.
    [[ ! -e $archive/offline-quietly ]] || exit 0
    for suite in $site_suites; do : >"$lists/x_dists_${suite}_main_binary-amd64_Packages"; done
    ;;
  install)
    packages=$(<"$index")
    for want in "$@"; do
      [[ $'\n'$packages$'\n' == *$'\n'"Package: $want"$'\n'* ]] || { echo "E: Unable to locate package $want" >&2; exit 100; }
    done
    while read -r field value; do
      case $field in
        Package:) name=$value ;;
        Version:) echo "Inst $name ($value Debian:test [amd64])" ;;
      esac
    done <"$index"
    ;;
  download)
    for spec in "$@"; do
      name=${spec%%=*} version=${spec#*=}
      file=${name}_${version//:/%3a}_amd64.deb
      have=0
      [[ ! -e $file ]] || have=$(stat -c %s "$file")
      echo "download $name from $have" >>"$archive/log"
      if [[ -e $archive/stop-at && $(<"$archive/stop-at") == "$name" ]]; then
        have=$(($(stat -c %s "$archive/pool/$file") / 2))
        head -c $have "$archive/pool/$file" >"$file"
        echo $$ >"$archive/stopped"
        while [[ ! -e $archive/go ]]; do sleep 0.05; done
      fi
      tail -c +$((have + 1)) "$archive/pool/$file" >>"$file"
    done
    ;;
  *) exit 99 ;;
esac
SH

stand_in apt-cache <<'SH'
#!/bin/bash
. "${0%/*}/settings"
[[ " $* " == *" show "* ]] || exit 99
while read -r field value; do
  case $field in
    Package:) name=$value ;;
    Version:)
      shown=
      if [[ " $* " == *" $name=$value "* ]]; then
        shown=yes
        printf 'Package: %s\n' "$name"
      fi
      ;;
  esac
  [[ $field == Package: || -z ${shown:-} ]] || printf '%s\n' "$field${value:+ $value}"
done <"$index"
SH

stand_in dpkg-deb <<'SH'
#!/bin/bash
set -eu
case $1 in
  -f)
    control=$(tar -xOf "$2" ./control 2>/dev/null)
    if (($# > 2)); then sed -n "s/^$3: //p" <<<"$control"; else printf '%s\n' "$control"; fi
    ;;
  -x)
    name=$(tar -xOf "$2" ./control | sed -n 's/^Package: //p')
    echo "unpack $name" >>"$archive/log"
    if [[ -e $archive/stop-at && $(<"$archive/stop-at") == "unpack-$name" ]]; then
      echo $$ >"$archive/stopped"
      while [[ ! -e $archive/go ]]; do sleep 0.05; done
    fi
    [[ ! -e $archive/unpack-fails ]] || { echo "write error" >&2; exit 2; }
    tar -xf "$2" -C "$3" --exclude=./control
    ;;
esac
SH

# ---------- the archive

# package NAME VERSION PATH CONTENT: into the pool and the index of $archive
package() {
  local tree=$base/tree file=$archive/pool/${1}_${2//:/%3a}_amd64.deb
  rm -rf "$tree"
  mkdir -p "$tree/$(dirname "$3")" "$archive/pool"
  printf '%s\n' "$4" >"$tree/$3"
  chmod +x "$tree/$3"
  printf 'Package: %s\nVersion: %s\nArchitecture: amd64\nInstalled-Size: 4\n' "$1" "$2" >"$tree/control"
  tar -cf "$file" -C "$tree" .
  {
    cat "$tree/control"
    printf 'Size: %s\nSHA256: %s\n\n' "$(stat -c %s "$file")" "$(sha256sum <"$file" | cut -d' ' -f1)"
  } >>"$archive/Packages"
}

loader=usr/lib64/ld-linux-x86-64.so.2
make_archive() { # make_archive DIR: a loader, a MIOpen 1.0 and a program
  name=make_archive archive=$1
  package loader 2:2.44 "$loader" '#!/bin/sh'
  package miopen 1.0 usr/lib/x86_64-linux-gnu/libMIOpen.so.1 'miopen 1.0'
  package tests 1.0 usr/bin/driver driver
}

# Once a release of the archive has moved on.
move_archive() {
  rm "$archive/pool/miopen_1.0_amd64.deb"
  sed -i '/^Package: miopen$/,/^$/d' "$archive/Packages"
  package miopen 1.1 usr/lib/x86_64-linux-gnu/libMIOpen.so.1 'miopen 1.1'
}

new_case() { # new_case NAME: the archive, and a lock file that records it
  name=$1
  export archive=$base/$name
  cp -r "$base/recorded" "$archive"
  dest=$archive/dest lock=$archive/test.lock
  export MIOPEN_SHIM_DEBIAN_KEYRING=$archive/keyring
}

run() { PATH=$bin:$real_path bash "$script" --lock "$lock" "$@" >"$archive/out" 2>&1; }

cases=0
fail() {
  printf 'FAILED %s: %s\n' "$name" "$1" >&2
  [[ ! -s $archive/out ]] || sed 's/^/    /' "$archive/out" >&2
  exit 1
}
passed() {
  cases=$((cases + 1))
  printf 'ok %s\n' "$name"
}
says() { grep -qF -- "$1" "$archive/out" || fail "does not say \"$1\""; }
silent_about() { ! grep -qF -- "$1" "$archive/out" || fail "says \"$1\""; }
logged() { [[ $(grep -cxF -- "$2" "$archive/log") == "$1" ]] || fail "\"$2\" is not in the log $1 times: $(<"$archive/log")"; }
made() { [[ -e $dest/.debian_prefix/recipe && -e $dest/lib/x86_64-linux-gnu/libMIOpen.so.1 ]] || fail "$dest is not whole"; }
not_made() { [[ ! -e $dest ]] || fail "$dest exists"; }
fails() { # fails STATUS ARGUMENT...
  local status=0
  run "${@:2}" || status=$?
  [[ $status == "$1" ]] || fail "ends with $status, not $1"
}
damage() { # damage FILE: other bytes in its padding, so that it still reads as a package
  printf damaged | dd of="$1" bs=1 seek=$(($(stat -c %s "$1") - 100)) conv=notrunc 2>/dev/null
}
await() { # await FILE: until it exists
  local i
  for ((i = 0; i < 600; i++)); do
    [[ ! -e $1 ]] || return 0
    sleep 0.05
  done
  fail "$1 did not appear"
}

# ---------- cases

export archive=$base/recorded
export MIOPEN_SHIM_DEBIAN_KEYRING=$archive/keyring
mkdir "$archive"
: >"$archive/keyring"
make_archive "$archive"
lock=$archive/test.lock
printf '%s\n' '# test' 'suites stable testing' 'closure yes' 'want miopen' 'want tests' \
  'provides usr/lib/x86_64-linux-gnu/libMIOpen.so.1' >"$lock"
name=update_lock
run --update-lock || fail "status $?"
[[ $(grep -c '^package ' "$lock") == 3 && $(head -n 1 "$lock") == '# test' ]] || fail "records $(<"$lock")"
: >"$archive/log"
passed

new_case fresh_and_again
run "$dest" || fail "status $?"
made
[[ $(readlink "$dest/lib") == usr/lib && -x $dest/bin/driver ]] || fail "/usr is not merged"
logged 1 'download miopen from 0'
silent_about warning
[[ ! -s $dest/.debian_prefix/moved ]] || fail "something moved"
[[ ! -e $archive/hook-ran ]] || fail "a hook of the system's apt ran"
[[ ! -e $dest.work ]] || fail "leaves $dest.work"
: >"$archive/log"
run "$dest" || fail "status $? the second time"
[[ ! -s $archive/log && ! -s $archive/out ]] || fail "the second run does something"
passed

name=another_recipe # control of the case above: a changed lock file is noticed
printf 'provides usr/bin/driver\n' >>"$lock"
run "$dest" || fail "status $?"
made
logged 1 'unpack miopen'
passed

new_case not_ours
mkdir "$dest"
fails 1 "$dest"
says 'was not made by this script'
passed

new_case two_at_once
echo miopen >"$archive/stop-at"
PATH=$bin:$real_path bash "$script" --lock "$lock" "$dest" >"$archive/first" 2>&1 &
first=$!
await "$archive/stopped"
PATH=$bin:$real_path bash "$script" --lock "$lock" "$dest" >"$archive/second" 2>&1 &
second=$!
for ((i = 0; i < 600; i++)); do
  ! grep -q 'another run' "$archive/second" || break
  sleep 0.05
done
grep -q 'another run is making' "$archive/second" || fail "the second run does not wait"
: >"$archive/go"
wait $first || fail "the first run ends with $?"
wait $second || fail "the second run ends with $?"
made
logged 1 'download miopen from 0'
logged 1 'unpack miopen'
passed

interrupt_at() { # interrupt_at WHERE: kills the run and its child there
  local pid
  rm -f "$archive/stopped"
  echo "$1" >"$archive/stop-at"
  PATH=$bin:$real_path bash "$script" --lock "$lock" "$dest" >"$archive/out" 2>&1 &
  pid=$!
  await "$archive/stopped"
  kill -9 $pid "$(<"$archive/stopped")"
  wait $pid 2>/dev/null || true
  rm -f "$archive/stop-at"
  not_made
  : >"$archive/log"
}

new_case killed_while_downloading
interrupt_at miopen
half=$(($(stat -c %s "$archive/pool/miopen_1.0_amd64.deb") / 2))
run "$dest" || fail "status $?"
made
logged 0 'download loader from 0'
logged 1 "download miopen from $half"
passed

new_case killed_while_unpacking
interrupt_at unpack-miopen
run "$dest" || fail "status $?"
made
[[ $(grep -c download "$archive/log") == 0 ]] || fail "downloads again"
logged 0 'unpack loader'
logged 1 'unpack miopen'
passed

new_case kept_download_is_damaged
interrupt_at tests
damage "$dest.work/debs/miopen_1.0_amd64.deb"
run "$dest" || fail "status $?"
says 'is damaged, downloading it again'
made
logged 0 'download loader from 0'
logged 1 'download miopen from 0'
passed

new_case moved_between_runs
interrupt_at unpack-tests
move_archive
run "$dest" || fail "status $?"
grep -q 'miopen 1.1' "$dest/lib/x86_64-linux-gnu/libMIOpen.so.1" || fail "keeps the old package's file"
logged 1 'unpack loader' # the unfinished root was of another plan
passed

new_case corrupt_download
good=$archive/good.deb
cp "$archive/pool/miopen_1.0_amd64.deb" "$good"
damage "$archive/pool/miopen_1.0_amd64.deb"
fails 1 "$dest"
says "does not have the checksum in the archive's index"
not_made
logged 0 'unpack miopen'
cp "$good" "$archive/pool/miopen_1.0_amd64.deb"
run "$dest" || fail "status $? after the repair"
made
passed

new_case moved_archive
move_archive
package extra 3.0 usr/share/extra extra
run "$dest" || fail "status $?"
made
says 'warning: not what test.lock recorded, 2 packages differ'
says 'miopen 1.0 -> 1.1'
says 'extra 3.0 (not recorded)'
grep -qx 'miopen 1.0 -> 1.1' "$dest/.debian_prefix/moved" || fail "does not record what moved"
run --update-lock || fail "status $?"
rm -rf "$dest"
run "$dest" || fail "status $?"
silent_about warning
passed

new_case package_missing
printf 'want nowhere\n' >>"$lock"
fails 1 "$dest"
says 'Unable to locate package nowhere'
says 'Debian testing cannot provide all of: miopen tests nowhere'
not_made
passed

new_case no_network
for switch in offline offline-quietly; do
  : >"$archive/$switch"
  fails 1 "$dest"
  says 'Check the network'
  rm "$archive/$switch"
done
run "$dest" || fail "status $? when the network is back"
passed

new_case no_mirror
: >"$archive/no-mirror"
fails 1 "$dest"
says 'set MIOPEN_SHIM_DEBIAN_MIRROR'
MIOPEN_SHIM_DEBIAN_MIRROR=file:$archive run "$dest" || fail "status $? with the mirror's name"
passed

new_case no_keyring
rm "$archive/keyring"
fails 1 "$dest"
says 'install the package debian-archive-keyring'
passed

# Everything that the script uses but apt.
mkdir "$base/without-apt"
for tool in awk basename bash cat cmp cp cut dirname du env find flock grep id ln mkdir mktemp mv readlink rm sed sha256sum \
  sort stat tail tar wc xargs; do
  ln -s "$(command -v "$tool")" "$base/without-apt/$tool"
done
for tool in df dpkg-deb uname; do ln -s "$bin/$tool" "$base/without-apt/$tool"; done
run_without_apt() { PATH=$base/without-apt bash "$script" --lock "$lock" "$@" >"$archive/out" 2>&1; }

new_case no_apt
! run_without_apt "$dest" || fail "makes something without apt-get"
says 'needs apt-get, which is not on PATH'
says 'miopen=local with ROCM_PATH'
not_made
passed

new_case folder_of_recorded_packages
MIOPEN_SHIM_DEB_DIR=$archive/pool run_without_apt "$dest" || fail "status $?"
made
[[ $(grep -c download "$archive/log") == 0 ]] || fail "downloads although there is a folder"
silent_about warning
passed

new_case folder_of_another_state
move_archive
mv "$archive/Packages" "$archive/pool/../elsewhere" # only the folder may be read
MIOPEN_SHIM_DEB_DIR=$archive/pool run "$dest" || fail "status $?"
made
says 'miopen 1.0 -> 1.1'
[[ $(grep -c download "$archive/log") == 0 ]] || fail "downloads although there is a folder"
passed

new_case folder_with_a_damaged_package
damage "$archive/pool/miopen_1.0_amd64.deb"
export MIOPEN_SHIM_DEB_DIR=$archive/pool
fails 1 "$dest"
says 'is damaged'
head -c 100 "$archive/pool/tests_1.0_amd64.deb" >"$archive/pool/aaa.deb" # sorts before the others
fails 1 "$dest"
says 'is not a whole package'
not_made
passed

name=folder_without_packages
mkdir "$archive/empty"
MIOPEN_SHIM_DEB_DIR=$archive/empty fails 1 "$dest"
says 'has no .deb files'
MIOPEN_SHIM_DEB_DIR=$archive/nothing fails 1 "$dest"
says 'is not a folder'
unset MIOPEN_SHIM_DEB_DIR
passed

new_case download_only
run --download "$archive/kept" || fail "status $?"
[[ $(find "$archive/kept" -name '*.deb' | wc -l) == 3 ]] || fail "not all packages are kept"
MIOPEN_SHIM_DEB_DIR=$archive/kept run_without_apt "$dest" || fail "status $? with the kept packages"
made
passed

new_case disk_full
echo 3 >"$archive/free"
fails 1 "$dest"
says 'MB are free there'
[[ $(grep -c download "$archive/log") == 0 ]] || fail "downloads although there is no space"
rm "$archive/free"
: >"$archive/unpack-fails"
fails 1 "$dest"
says 'could not be unpacked'
silent_about 'the disk is full'
not_made
rm "$archive/unpack-fails"
run "$dest" || fail "status $? when there is space"
passed

new_case does_not_load
rm "$archive/pool"/loader_* "$archive/Packages"
package loader 2:2.45 "$loader" '#!/bin/sh
echo "libgone.so.1 => not found"; exit 1'
package miopen 1.0 usr/lib/x86_64-linux-gnu/libMIOpen.so.1 'miopen 1.0'
package tests 1.0 usr/bin/driver driver
fails 1 "$dest"
says 'libgone.so.1 => not found'
says 'does not load from these packages'
not_made
passed

new_case file_moved_inside_packages
printf 'provides usr/bin/gone\n' >>"$lock"
fails 1 "$dest"
says 'the packages have no usr/bin/gone'
not_made
passed

new_case wrong_use
fails 2
fails 2 one two
fails 2 --update-lock "$dest"
fails 2 --unknown "$dest"
printf 'pakage a 1 amd64 0 0\n' >>"$lock"
fails 1 "$dest"
says 'test.lock:10: pakage is not known'
lock=$archive/none fails 1 "$dest"
says 'cannot read'
passed

if PATH=$real_path command -v apt-get >/dev/null && PATH=$real_path command -v dpkg-deb >/dev/null; then
  # The same through the machine's own apt and dpkg: it is they who find that miopen needs a loader, and which.
  new_case with_the_real_apt
  rm -rf "$archive/pool"
  mkdir "$archive/pool"
  real_package() { # real_package NAME VERSION PATH CONTENT [DEPENDS]
    local tree=$archive/tree
    rm -rf "$tree"
    mkdir -p "$tree/DEBIAN" "$tree/$(dirname "$3")"
    printf '%s\n' "$4" >"$tree/$3"
    chmod +x "$tree/$3"
    printf 'Package: %s\nVersion: %s\nArchitecture: amd64\nMaintainer: Nobody <nobody@example.com>\nDescription: test\n%s' \
      "$1" "$2" "${5:+Depends: $5
}" >"$tree/DEBIAN/control"
    dpkg-deb --root-owner-group -b "$tree" "$archive/pool/${1}_${2}_amd64.deb" >/dev/null
  }
  real_package loader 1.9 "$loader" '#!/bin/sh'
  real_package loader 1.5 "$loader" '#!/bin/false'
  real_package miopen 5.0 usr/lib/x86_64-linux-gnu/libMIOpen.so.1 miopen 'loader (>= 1.9)'
  real_package tests 5.0 usr/bin/driver driver 'miopen'
  real_package unrelated 1.0 usr/bin/unrelated unrelated
  MIOPEN_SHIM_DEB_DIR=$archive/pool PATH=$real_path bash "$script" --lock "$lock" "$dest" >"$archive/out" 2>&1 || fail "status $?"
  made
  [[ $(cut -d' ' -f1,2 "$dest/.debian_prefix/packages" | tr '\n' ,) == 'loader 1.9,miopen 5.0,tests 5.0,' ]] ||
    fail "resolves $(<"$dest/.debian_prefix/packages")"
  rm -rf "$dest" "$archive/pool/loader_1.9_amd64.deb"
  ! MIOPEN_SHIM_DEB_DIR=$archive/pool PATH=$real_path bash "$script" --lock "$lock" "$dest" >"$archive/out" 2>&1 ||
    fail "resolves although nothing provides the loader"
  says 'cannot provide all of: miopen tests'
  says 'Depends: loader (>= 1.9) but'
  passed
else
  echo 'not run: with_the_real_apt (this machine has no apt-get and dpkg-deb)'
fi
printf '%d cases passed\n' "$cases"
