#!/bin/sh
# Builds the fixtures of shim/elf's tests from src/. They are committed, since
# the tests may not depend on lld and mold; run this after a change to src/,
# on a machine that has them (Debian: apt-get install gcc lld mold). Output
# differs with the versions of the tools, which does not matter to the tests.
set -eu
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cflags="-O1 -fPIC -fno-asynchronous-unwind-tables -fno-stack-protector -fcf-protection=none -ffile-prefix-map=$work=. -ftls-model=global-dynamic"
gcc $cflags -c src/fixture.c -o "$work/fixture.o"
gcc $cflags -DNO_VERSIONS -c src/fixture.c -o "$work/noversion.o"
gcc $cflags -DNO_BSS -c src/fixture.c -o "$work/nobss.o"
gcc $cflags -c src/bare.c -o "$work/bare.o"
gcc $cflags -c src/imports.c -o "$work/imports.o"

rm -f ./*.so
# link LINKER OBJECT OUTPUT FLAG...: gcc's driver is not used, so that its
# defaults (hash style, build-id, start files) do not decide.
link() {
  command=$1 object=$2 output=$3
  shift 3
  libc=
  case $object in fixture | nobss) libc="$(gcc -print-file-name=libc.so.6) $(gcc -print-file-name=ld-linux-x86-64.so.2) --version-script=src/fixture.map" ;; esac
  "$command" -shared -soname "libfixture.so.1" --build-id=sha1 -z max-page-size=4096 --eh-frame-hdr \
    "$@" -o "$output.so" "$work/$object.o" $libc
  chmod 644 "$output.so"
}

for style in gnu sysv both; do
  link ld.bfd fixture "bfd-$style" --hash-style=$style -z noseparate-code
  link ld.lld fixture "lld-$style" --hash-style=$style
  link mold fixture "mold-$style" --hash-style=$style -z noseparate-code
done
for linker in bfd lld mold; do
  case $linker in mold) program=mold ;; *) program=ld.$linker ;; esac
  link $program fixture "$linker-stripped" --hash-style=gnu -s -z noseparate-code
  link $program nobss "$linker-nobss" --hash-style=gnu -s -z noseparate-code
  link $program noversion "$linker-noversion" --hash-style=both -s -z noseparate-code
  link $program bare "$linker-bare" --hash-style=gnu -s -z noseparate-code
done
link ld.bfd fixture bfd-relr --hash-style=gnu -s -z noseparate-code -z pack-relative-relocs
link ld.lld fixture lld-relr --hash-style=gnu -s --pack-dyn-relocs=relr
link mold fixture mold-relr --hash-style=gnu -s -z noseparate-code --pack-dyn-relocs=relr
link ld.bfd fixture bfd-nospare --hash-style=gnu -s -z noseparate-code --spare-dynamic-tags=1
link ld.bfd fixture bfd-separate --hash-style=gnu -s -z separate-code -z now
link ld.lld fixture lld-separate --hash-style=gnu -s -z separate-loadable-segments -z now
link ld.bfd fixture bfd-runpath --hash-style=gnu -s -z noseparate-code -rpath '$ORIGIN' --enable-new-dtags
link ld.bfd fixture bfd-rpath --hash-style=both -s -z noseparate-code -rpath '$ORIGIN' --disable-new-dtags
link ld.lld bare lld-rodynamic --hash-style=gnu -s -z rodynamic
link ld.bfd imports bfd-imports --hash-style=gnu -s -z noseparate-code
ls -l ./*.so | awk '{ print $5, $9; sum += $5 } END { print sum, "bytes" }'
