#!/usr/bin/env bash
# Runs every fuzzer of a build tree for some seconds each, from its corpus. What is new is kept in the build tree, not in
# the corpus. Stops at the first finding, whose file is left in the build tree.
#     tests/fuzz/run.sh BUILD [SECONDS] [NAME..]
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
build="$(cd "${1:?usage: run.sh BUILD [SECONDS] [NAME..]}" && pwd)"
seconds="${2:-60}"
shift $(($# < 2 ? $# : 2))

fuzzers=("$@")
if [ ${#fuzzers[@]} -eq 0 ]; then
  for source in "$here"/*_fuzz.cpp; do fuzzers+=("$(basename "$source" _fuzz.cpp)"); done
fi
for name in "${fuzzers[@]}"; do
  found="$build/found/$name"
  mkdir -p "$found"
  corpora=("$found")
  if [ -d "$here/corpus/$name" ]; then corpora+=("$here/corpus/$name"); fi
  echo "== $name, $seconds s"
  log="$build/found/$name.log"
  if ! "$build/tests/fuzz/${name}_fuzz" -max_total_time="$seconds" -timeout=10 -max_len=6000 -print_final_stats=1 \
      -artifact_prefix="$build/found/$name-" "${corpora[@]}" >"$log" 2>&1; then
    tail -n 60 "$log"
    echo "$name: a finding; see $log and $build/found/$name-*" >&2
    exit 1
  fi
  grep -E 'number_of_executed_units|average_exec_per_sec' "$log"
done
