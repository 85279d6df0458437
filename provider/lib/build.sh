#!/bin/sh
# Builds libmiopen_hipdnn.so.1 with plain Go and C compilers.
#
#   build.sh OUTDIR
#
# CC chooses the compiler, GOFLAGS, CGO_CFLAGS and LDFLAGS add to the commands. Go's own way to a shared library,
# -buildmode=c-shared, would export some fifty symbols of the Go run time; so an archive is linked with
# a version script.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
if [ $# -ne 1 ]; then
  echo "usage: build.sh OUTDIR" >&2
  exit 2
fi
mkdir -p "$1"
out=$(cd "$1" && pwd)
cd "$here"
CC=${CC:-gcc}
export CC CGO_ENABLED=1

go build -trimpath -buildmode=c-archive -o "$out/libmiopen_hipdnn.a" .
# nodelete: the threads of the Go run time cannot be ended. The whole archive: nothing in it refers to
# the entry point.
# shellcheck disable=SC2086 # LDFLAGS are several words
"$CC" -shared -o "$out/libmiopen_hipdnn.so.1.new" \
  -Wl,-soname,libmiopen_hipdnn.so.1 -Wl,--version-script=export.map \
  -Wl,-z,nodelete -Wl,-z,now -Wl,-z,relro -Wl,-z,defs -Wl,--build-id \
  -Wl,--whole-archive "$out/libmiopen_hipdnn.a" -Wl,--no-whole-archive -lpthread -ldl ${LDFLAGS:-}
mv "$out/libmiopen_hipdnn.so.1.new" "$out/libmiopen_hipdnn.so.1"
