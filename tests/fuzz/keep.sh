#!/usr/bin/env bash
# Makes the corpora of a build tree's fuzzers anew: from the seeds, the corpora as they are and what run.sh has found, the few
# small files that between them reach everything.
#     tests/fuzz/keep.sh BUILD SEEDS [NAME..]      SEEDS: what `fuzz_corpus SEEDS` has written
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
usage="usage: keep.sh BUILD SEEDS [NAME..]"
build="$(cd "${1:?$usage}" && pwd)"
seeds="$(cd "${2:?$usage}" && pwd)"
shift 2

fuzzers=("$@")
if [ ${#fuzzers[@]} -eq 0 ]; then
  for source in "$here"/*_fuzz.cpp; do fuzzers+=("$(basename "$source" _fuzz.cpp)"); done
fi
for name in "${fuzzers[@]}"; do
  kept="$build/found/kept-$name"
  rm -rf "$kept"
  mkdir -p "$kept" "$build/found/$name"
  "$build/tests/fuzz/${name}_fuzz" -merge=1 -artifact_prefix="$build/found/$name-" "$kept" "$seeds/$name" "$here/corpus/$name" \
    "$build/found/$name" 2>"$build/found/kept-$name.log"
  rm -rf "${here:?}/corpus/$name"
  mv "$kept" "$here/corpus/$name"
  echo "$name: $(find "$here/corpus/$name" -type f | wc -l) files, $(cat "$here/corpus/$name"/* | wc -c) bytes"
done
