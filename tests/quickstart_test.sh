#!/usr/bin/env bash
# ./quickstart.sh, in a tree that is built: it tells a three on this machine and twice on the board, and refuses bad input.
set -euo pipefail
cd "$(dirname "$0")/.."

out="$(./quickstart.sh)"
[ "$(grep -c '^  class 3: 0\.92' <<<"$out")" -eq 3 ] || { echo "quickstart does not read the three: $out" >&2; exit 1; }
grep -q '^peak: .* bytes live at step' <<<"$out" || { echo "quickstart shows no memory: $out" >&2; exit 1; }
for bad in no-such-file.tflite README.md; do
  status=0
  out="$(./quickstart.sh "$bad" 2>/dev/null)" || status=$?
  [ "$status" -eq 2 ] && [ -z "$out" ] || { echo "quickstart $bad: status $status" >&2; exit 1; }
done
echo "quickstart: as it should be"
