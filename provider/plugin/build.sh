#!/bin/sh
# Builds hipDNN's plugin with plain C and C++ compilers:
# OUTDIR/hipdnn_plugins/engines/libmiopen_private_plugin.so, for an OUTDIR that has, or gets, libMIOpen_private.so.1
# and libmiopen_hipdnn.so.1.
#
#   build.sh OUTDIR SPLIT INCLUDE...
#
# SPLIT is what `miopen-shim split` made: libMIOpen_private.so.1 and include/miopen_private_rename.h. INCLUDE are the folders
# of miopen/miopen.h and of what it includes. CC and CXX choose the compilers, CFLAGS and LDFLAGS add to the commands.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
if [ $# -lt 3 ]; then
  echo "usage: build.sh OUTDIR SPLIT INCLUDE..." >&2
  exit 2
fi
out=$1/hipdnn_plugins/engines
split=$(cd "$2" && pwd)
shift 2
includes=
for folder in "$@"; do
  includes="$includes -isystem $(cd "$folder" && pwd)"
done
mkdir -p "$out"
out=$(cd "$out" && pwd)
work=$(mktemp -d "$out/build.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$here/src"

set -- -O2 -fPIC -fvisibility=hidden -Wall -Wextra -Werror -I../../..
objects=
for source in filter identity library plugin report; do
  # shellcheck disable=SC2086 # CFLAGS are several words
  "${CC:-gcc}" -std=gnu11 "$@" ${CFLAGS:-} -c $source.c -o "$work/$source.o"
  objects="$objects $work/$source.o"
done
# The interface copts of the private library.
# shellcheck disable=SC2086
"${CXX:-g++}" -std=c++17 "$@" ${CFLAGS:-} -fno-exceptions -fno-rtti -D__HIP_PLATFORM_AMD__ \
  -DMIOPEN_BUILDING_PRIVATE -I"$split/include" -include miopen_private_rename.h $includes \
  -c private_api.cpp -o "$work/private_api.o"
# shellcheck disable=SC2016,SC2086 # the dynamic loader expands $ORIGIN
"${CC:-gcc}" -shared -o "$work/libmiopen_private_plugin.so" $objects "$work/private_api.o" \
  -Wl,--no-as-needed "$split/libMIOpen_private.so.1" -Wl,-soname,libmiopen_private_plugin.so -Wl,--version-script=plugin.map \
  -Wl,-rpath,'$ORIGIN/../..' -Wl,--enable-new-dtags -Wl,-z,nodelete -Wl,-z,now -Wl,-z,relro -Wl,-z,defs \
  -Wl,--allow-shlib-undefined -Wl,--build-id -Wl,--as-needed -lpthread -ldl ${LDFLAGS:-}
mv "$work/libmiopen_private_plugin.so" "$out/libmiopen_private_plugin.so"
