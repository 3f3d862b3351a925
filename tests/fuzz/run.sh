#!/usr/bin/env bash
# Runs every fuzzer of a build tree for some seconds each, from its corpus, two at a time; all it tells is in BUILD/found:
# new inputs, logs, and the input of a finding. Fails if any fuzzer finds something, or did not run.
#     tests/fuzz/run.sh BUILD [SECONDS] [NAME..]
# RUNS=1000000 tests/fuzz/run.sh BUILD 3600   stops a fuzzer after so many runs, too.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
build="$(cd "${1:?usage: run.sh BUILD [SECONDS] [NAME..]}" && pwd)"
seconds="${2:-60}"
shift $(($# < 2 ? $# : 2))
found="$build/found"
export UBSAN_OPTIONS=print_stacktrace=1

fuzzers=("$@")
if [ ${#fuzzers[@]} -eq 0 ]; then
  for source in "$here"/*_fuzz.cpp; do fuzzers+=("$(basename "$source" _fuzz.cpp)"); done
fi

# A hang is one too: what a harness lets through takes milliseconds.
fuzz() {
  mkdir -p "$found/$1"
  "$build/tests/fuzz/$1_fuzz" -max_total_time="$seconds" -runs="${RUNS:--1}" -timeout=10 -rss_limit_mb=2048 -max_len=8192 \
    -print_final_stats=1 -artifact_prefix="$found/$1-" "$found/$1" "$here/corpus/$1" >"$found/$1.log" 2>&1
}

mkdir -p "$found"
for name in "${fuzzers[@]}"; do
  while [ "$(jobs -rp | wc -l)" -ge 2 ]; do wait -n || true; done
  rm -f "$found/$name.ok"
  echo "$name: up to $seconds s"
  { if fuzz "$name"; then touch "$found/$name.ok"; fi; } &
done
wait

failed=0
for name in "${fuzzers[@]}"; do
  if [ -e "$found/$name.ok" ]; then
    awk -v name="$name" '/number_of_executed_units/ {runs = $2} /average_exec_per_sec/ {print name ": " runs " runs, " $2 " a second, nothing found"}' "$found/$name.log"
    continue
  fi
  failed=1
  {
    grep -avE '^#[0-9]' "$found/$name.log" | tail -n 60 || true
    input="$(sed -n 's/.*Test unit written to //p' "$found/$name.log" | tail -n 1)"
    echo "$name: a finding, see $found/$name.log${input:+; again with: $build/tests/fuzz/${name}_fuzz $input}"
  } >&2
done
exit $failed
