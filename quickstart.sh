#!/usr/bin/env bash
# From a fresh Debian 12 machine to a running network: installs what is needed, builds, and shows what a network does and
# costs, on this machine and on an emulated Cortex-M4.
#   ./quickstart.sh [MODEL.tflite]     without a model: the example, a network that reads handwritten digits
# Exit status: 0 done, 1 the network does not run there (too large, say), 2 usage or bad input.
set -euo pipefail
root="$(cd "$(dirname "$0")" && pwd)"

usage="usage: ./quickstart.sh [MODEL.tflite]"
case "${1:-}" in -h | --help) echo "$usage"; exit 0 ;; esac
if [ $# -gt 1 ]; then echo "$usage" >&2; exit 2; fi
if [ $# -eq 1 ] && [ ! -f "$1" ]; then echo "quickstart: there is no file '$1'" >&2; exit 2; fi
model="${1:-$root/examples/digits/digits_int8.tflite}"
input=()
[ $# -eq 1 ] || input=(-i "$root/examples/digits/inputs/three.png")

"$root/install.sh"
log="$(mktemp)"
trap 'rm -f "$log"' EXIT
build() { (cd "$root" && cmake --preset host && cmake --build --preset host --target linnet runners) >"$log" 2>&1; }
echo "Building (a few minutes the first time) ..." >&2
build || { cat "$log" >&2; exit 1; }
linnet="$root/build/host/linnet"

network="$("$linnet" inspect "$model")"  # a file that is no network ends here, with one sentence
printf '== What it is, and its memory at each step\n%s\n\n' "$network"
echo "== On this machine"
"$linnet" run "$model" "${input[@]}"
echo
echo "== On a Cortex-M4 (mps2-an386, emulated), from the bare file"
"$linnet" run "$model" "${input[@]}" --on mps2-an386
echo
echo "== The same, with the Program made ahead of time"
"$linnet" run "$model" "${input[@]}" --on mps2-an386 --prepare host
