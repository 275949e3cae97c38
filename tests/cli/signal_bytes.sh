#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The same signal bytes from every compiler and optimisation, and on another machine.
. "$(dirname "$0")/lib.sh"

# build NAME COMPILER... : one static-ish program out of the library's signal sources
build() {
  local name=$1
  shift
  "$@" -std=c11 -D_GNU_SOURCE -ffp-contract=off -I"$ROOT/dsp" -I"$ROOT/vectors" -I"$ROOT/tests" \
    "$ROOT"/tests/signal_hashes.c "$ROOT"/vectors/{signals,ofdm,oscillator,exact_fft}.c \
    "$ROOT"/dsp/{exact,rate,status}.c -lm -o "$name" 2>build.log
}

compare() { # WHAT PROGRAM [RUNNER...]
  local what=$1 program=$2
  shift 2
  "$@" "./$program" >"$program.txt" && same reference.txt "$program.txt" "signals: $what gives the same bytes"
}

build reference gcc -O2 && ./reference >reference.txt || not_ok "signals: gcc -O2 builds"
[ "$(wc -l <reference.txt)" -ge 10 ] && ! grep -q '^0000000000000000' reference.txt &&
  ok "signals: every one is made" || not_ok "signals: every one is made"
for level in -O0 "-O3 -march=native"; do
  # shellcheck disable=SC2086
  if build "gcc${level// /}" gcc $level; then compare "gcc $level" "gcc${level// /}"; else not_ok "signals: gcc $level builds"; fi
done
if command -v clang >/dev/null; then
  for level in -O0 "-O3 -march=native"; do
    # shellcheck disable=SC2086
    if build "clang${level// /}" clang $level; then compare "clang $level" "clang${level// /}"; else not_ok "signals: clang $level builds"; fi
  done
else
  skip "signals: clang is not installed (apt-get install clang)"
fi
if command -v aarch64-linux-gnu-gcc >/dev/null && command -v qemu-aarch64 >/dev/null; then
  if build arm aarch64-linux-gnu-gcc -O2 -static; then compare "aarch64" arm qemu-aarch64; else not_ok "signals: aarch64 builds"; fi
else
  skip "signals: no aarch64 here (apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user)"
fi
