#!/bin/sh
# Builds the reference backend with plain g++: libhipdnn_backend.so, and what its tests need,
# refdriver and testplugin.so.
#
#   build.sh OUTDIR
#
# CXX chooses the compiler, CXXFLAGS adds flags. Google's FlatBuffers headers are those of the Go
# module that go.mod names, or those in FLATBUFFERS_INCLUDE. The C++ runtime is linked in, so that
# programs without one, and systems with another one, can load the library.
set -eu

if [ $# -ne 1 ]; then
  echo "usage: build.sh OUTDIR" >&2
  exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)
cd "$here"
work=$(mktemp -d "$out/build.XXXXXX")
trap 'rm -rf "$work"' EXIT

if [ -z "${FLATBUFFERS_INCLUDE:-}" ]; then
  go mod download github.com/google/flatbuffers
  FLATBUFFERS_INCLUDE=$(go list -m -f '{{.Dir}}' github.com/google/flatbuffers)/include
fi
export CXX="${CXX:-g++}" work
export flags="-std=c++17 -O2 -fPIC -Wall -Wextra -fvisibility=hidden -pthread -Iinclude -Isrc -Idriver -isystem $FLATBUFFERS_INCLUDE ${CXXFLAGS:-}"
# shellcheck disable=SC2016 # expanded by the inner shell
printf '%s\n' src/*.cpp src/cpu/*.cpp driver/*.cpp plugin/*.cpp |
  xargs -P 2 -I FILE sh -c '$CXX $flags -c FILE -o "$work/$(echo FILE | tr / _).o"'

static="-static-libstdc++ -static-libgcc -pthread -ldl"
# shellcheck disable=SC2086 # several words
"$CXX" ${CXXFLAGS:-} -shared "$work"/src_*.o -o "$work/libhipdnn_backend.so" \
  -Wl,-soname,libhipdnn_backend.so -Wl,--version-script=src/libhipdnn_backend.map \
  -Wl,-z,now -Wl,--no-undefined -Wl,--build-id $static
# shellcheck disable=SC2086
"$CXX" ${CXXFLAGS:-} -shared "$work"/plugin_*.o "$work"/src_cpu_number.cpp.o \
  "$work"/src_cpu_convolution.cpp.o "$work"/src_cpu_program.cpp.o "$work"/src_flatbuffer.cpp.o \
  "$work"/src_wire.cpp.o "$work"/src_graph.cpp.o -o "$work/testplugin.so" \
  -Wl,--version-script=plugin/plugin.map -Wl,-z,now -Wl,--no-undefined $static
# shellcheck disable=SC2086
"$CXX" ${CXXFLAGS:-} "$work"/driver_*.o -o "$work/refdriver" -pthread -ldl
mv "$work/libhipdnn_backend.so" "$work/testplugin.so" "$work/refdriver" "$out"
