#!/bin/bash
# lint.sh check|fix GAZELLE: gofmt, gazelle, buildifier and clang-format over the files git knows.
# Exit status: 0 all as it should be, 1 something is not (named on stderr with the remedy).
set -euo pipefail

readonly mode=$1 gazelle=$PWD/$2
readonly buildifier=github.com/bazelbuild/buildtools/buildifier@v0.0.0-20250930140053-2eb4fccefb52
readonly clang_format_major=14

# `bazel run` starts in the main repository's part of the run files; gazelle's runner wants to know the whole.
export RUNFILES_DIR=${RUNFILES_DIR:-${PWD%/*}}
cd "${BUILD_WORKSPACE_DIRECTORY:?run this with bazel run}"
# Files of the work tree, tracked or new; what was deleted but not committed yet is left out.
files() { git ls-files -z --cached --others --exclude-standard -- "$@" | while IFS= read -r -d '' f; do [[ ! -f $f ]] || printf '%s\0' "$f"; done; }
failed=0
complain() {
  printf 'lint: %s\n' "$@" >&2
  failed=1
}

run() { # run NAME COUNT COMMAND...: a tool that found no files to look at is a failure, not a success
  local name=$1 count=$2
  shift 2
  if ((count == 0)); then
    complain "$name: no files to check"
  elif "$@"; then
    printf 'lint: %-12s ok (%d files)\n' "$name" "$count" >&2
  else
    complain "$name: see above. Remedy: ./bazelw run //toolchains/lint:fix"
  fi
}

mapfile -d '' go_files < <(files '*.go')
# The stub modules hand on symbols that Bazel 7 has built in, which buildifier would "repair" into loads of themselves.
mapfile -d '' build_files < <(files '*.bazel' '*.bzl' ':!toolchains/offline/modules')
mapfile -d '' c_files < <(files '*.c' '*.cc' '*.cpp' '*.h' '*.hpp')

check_gofmt() {
  local bad
  bad=$(gofmt -l -s "${go_files[@]}") || return 1
  [[ -z $bad ]] || { printf 'not gofmt-ed: %s\n' "$bad" >&2; return 1; }
}
fix_gofmt() { gofmt -w -s "${go_files[@]}"; }
check_gazelle() { BUILD_WORKSPACE_DIRECTORY=$PWD "$gazelle" -mode=diff; }
fix_gazelle() { BUILD_WORKSPACE_DIRECTORY=$PWD "$gazelle"; }
check_buildifier() { GOFLAGS=-mod=mod go run "$buildifier" -mode=check -lint=warn "${build_files[@]}"; }
fix_buildifier() { GOFLAGS=-mod=mod go run "$buildifier" -mode=fix -lint=fix "${build_files[@]}"; }
check_clang() { "$clang_format" --dry-run -Werror "${c_files[@]}"; }
fix_clang() { "$clang_format" -i "${c_files[@]}"; }

run gofmt "${#go_files[@]}" "${mode}_gofmt"
run gazelle "${#build_files[@]}" "${mode}_gazelle"
run buildifier "${#build_files[@]}" "${mode}_buildifier"

# Major versions of clang-format disagree about layout, so one is asked for.
clang_format=
for candidate in "clang-format-$clang_format_major" clang-format; do
  if [[ $("$candidate" --version 2>/dev/null) == *"version $clang_format_major."* ]]; then
    clang_format=$candidate
    break
  fi
done
if [[ -n $clang_format ]]; then
  run clang-format "${#c_files[@]}" "${mode}_clang"
else
  complain "clang-format $clang_format_major is not on PATH: install the package clang-format-$clang_format_major"
fi
# A symbolic link in the tree leads somewhere on one machine only, Bazel's convenience links among them.
links=$(git ls-files -s | grep '^120000' || true)
[[ -z $links ]] || complain "symbolic links are committed:" "$links"
exit "$failed"
