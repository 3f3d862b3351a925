#!/usr/bin/env bash
# Installs what Linnet is built and run with, on Debian 12; with --tests, also what only ./test.sh needs. Does nothing where
# all of it is there.
set -euo pipefail

packages=(
  g++ cmake ninja-build ccache git ca-certificates
  libfmt-dev nlohmann-json3-dev libcli11-dev libflatbuffers-dev libstb-dev libmbedtls-dev xtensor-dev
  libgtest-dev libgmock-dev libbenchmark-dev
  gcc-arm-none-eabi libnewlib-arm-none-eabi binutils-arm-none-eabi qemu-system-arm
  python3 python3-venv
)
if [ "${1:-}" = "--tests" ]; then
  packages+=(clang libclang-rt-14-dev clang-format gcc-riscv64-unknown-elf qemu-system-misc)
fi

if ! command -v dpkg-query >/dev/null; then
  echo "This is no Debian, so nothing is installed; the build says what it misses. Debian's packages: ${packages[*]}" >&2
  exit 0
fi
missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

echo "Installing: ${missing[*]}" >&2
as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "Not root and no sudo: install these Debian packages first: ${missing[*]}" >&2; exit 2; }
  as_root=(sudo)
fi
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -qq >&2
"${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
