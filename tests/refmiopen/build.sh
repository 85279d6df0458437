#!/bin/sh
# Builds the reference library with plain g++: libMIOpen.so.1, its link libMIOpen.so and the driver.
#
#   build.sh OUTDIR [--version 3.5.1|3.4.0] [--private RENAME_HEADER]
#
# --private gives libMIOpen_private.so.1 instead, with every entry point renamed by the macros of
# RENAME_HEADER at compile time, and no driver. CXX and CC choose the compilers, OPTIMIZE what stands
# for -O2. It compiles as many files at a time as there are processors.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
out=
version=3.5.1
rename=
while [ $# -gt 0 ]; do
  case $1 in
  --version) version=$2; shift 2 ;;
  --private) rename=$(cd "$(dirname "$2")" && pwd)/$(basename "$2"); shift 2 ;;
  -*) echo "build.sh: unknown option $1" >&2; exit 2 ;;
  *) out=$1; shift ;;
  esac
done
if [ -z "$out" ]; then
  echo "usage: build.sh OUTDIR [--version 3.5.1|3.4.0] [--private RENAME_HEADER]" >&2
  exit 2
fi
if [ ! -f "$here/exports-$version.txt" ]; then
  echo "build.sh: no list of exports for version $version in $here" >&2
  exit 2
fi

CXX=${CXX:-g++}
CC=${CC:-gcc}
mkdir -p "$out"
out=$(cd "$out" && pwd)
cd "$here"
set -- "${OPTIMIZE:--O2}" -fPIC -Wall -Wextra -Iinclude
soname=libMIOpen.so.1
if [ "$version" = 3.4.0 ]; then
  set -- "$@" -DREFMIOPEN_3_4
fi
if [ -n "$rename" ]; then
  set -- "$@" -DMIOPEN_BUILDING_PRIVATE -include "$rename"
  soname=libMIOpen_private.so.1
fi

work=$(mktemp -d "$out/build.XXXXXX")
trap 'rm -rf "$work"' EXIT

grep -vxFf src/implemented.txt "exports-$version.txt" |
  sed 's/.*/NOT_IMPLEMENTED(&)/' >"$work/not_implemented.inc"
"$CC" "$@" -I"$work" -c src/not_implemented.c -o "$work/not_implemented.o"
for source in src/*.cpp; do
  basename "$source" .cpp
done | xargs -P "$(nproc)" -I {} "$CXX" -std=c++17 "$@" -c src/{}.cpp -o "$work/{}.o"
# shellcheck disable=SC2016 # the dynamic loader expands $ORIGIN
"$CXX" -shared "$work"/*.o -o "$work/$soname" \
  -Wl,-soname,$soname -Wl,--version-script=src/libmiopen.map \
  -Wl,-rpath,'$ORIGIN' -Wl,--enable-new-dtags -Wl,-z,now -Wl,--hash-style=gnu -Wl,--build-id \
  -Wl,--no-undefined -ldl
mv "$work/$soname" "$out/$soname"
if [ -n "$rename" ]; then
  exit 0
fi
ln -sf $soname "$out/libMIOpen.so"
"$CC" -std=gnu11 "$@" -pthread driver/convrun.c -o "$out/convrun" -L"$out" -lMIOpen
