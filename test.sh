#!/usr/bin/env bash
# Installs what is needed, builds, and runs every test. Ends with the test runner's summary.
set -euo pipefail
cd "$(dirname "$0")"

./install.sh --fuzz
cmake --preset host
cmake --build --preset host
cmake --preset asan
cmake --build --preset asan
cmake --preset fuzz
cmake --build --preset fuzz

build/asan/tests/device_tests --gtest_brief=1
build/asan/tests/host_tests --gtest_brief=1
tests/fuzz/run.sh build/fuzz 60
ctest --preset host -j "$(nproc)"
