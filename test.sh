#!/usr/bin/env bash
# Installs what is needed, builds, and runs every test. Ends with the test runner's summary.
set -euo pipefail
cd "$(dirname "$0")"

./install.sh --tests
for core in cortex-m0 cortex-m3 cortex-m4 cortex-m7 cortex-m33 cortex-m55 rv32imac; do
  cmake --preset $core
  cmake --build --preset $core
done
cmake --preset host
cmake --build --preset host
cmake --preset asan
cmake --build --preset asan
cmake --preset fuzz
cmake --build --preset fuzz

# Under the sanitizers everything but what runs on a board, and the arenas of every size, which take minutes there.
running=()
for tests in device host tests; do
  build/asan/tests/${tests}_tests --gtest_brief=1 --gtest_filter='-*OnBoard*:Budget.*:Examples.*:*ArenaOfEverySize*:ArenaSizes.*' &
  running+=($!)
done
for process in "${running[@]}"; do wait "$process"; done
tests/fuzz/run.sh build/fuzz 60
tests/quickstart_test.sh
ctest --preset host -j "$(nproc)"
