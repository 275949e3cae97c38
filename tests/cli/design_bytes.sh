#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The same taps and the same response, to the last bit, from every compiler and optimisation, and on another machine.
. "$(dirname "$0")/lib.sh"

# build NAME COMPILER... : one program out of the library's design sources
build() {
  local name=$1
  shift
  "$@" -std=c11 -D_GNU_SOURCE -ffp-contract=off -I"$ROOT/dsp" -I. "$ROOT"/tests/design_hashes.c "$ROOT"/dsp/design*.c \
    "$ROOT"/dsp/{taps,response,exact,rate,status}.c -lm -o "$name" 2>build.log
}

compare() { # WHAT PROGRAM [RUNNER...]
  local what=$1 program=$2
  shift 2
  "$@" "./$program" >"$program.txt" && same reference.txt "$program.txt" "designs: $what gives the same bits"
}

awk -f "$ROOT/dsp/data.awk" "$ROOT"/dsp/data/taps_*.txt >taps_data.h || not_ok "designs: the data become a header"
build reference gcc -O2 && ./reference >reference.txt || not_ok "designs: gcc -O2 builds"
[ "$(wc -l <reference.txt)" = 8 ] && ok "designs: all are made" || not_ok "designs: all are made"
for level in -O0 "-O3 -march=native"; do
  # shellcheck disable=SC2086
  if build "gcc${level// /}" gcc $level; then compare "gcc $level" "gcc${level// /}"; else not_ok "designs: gcc $level builds"; fi
done
if command -v clang >/dev/null; then
  for level in -O0 "-O3 -march=native"; do
    # shellcheck disable=SC2086
    if build "clang${level// /}" clang $level; then compare "clang $level" "clang${level// /}"; else not_ok "designs: clang $level builds"; fi
  done
else
  skip "designs: clang is not installed (apt-get install clang)"
fi
if command -v aarch64-linux-gnu-gcc >/dev/null && command -v qemu-aarch64 >/dev/null; then
  if build arm aarch64-linux-gnu-gcc -O2 -static; then compare "aarch64" arm qemu-aarch64; else not_ok "designs: aarch64 builds"; fi
else
  skip "designs: no aarch64 here (apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user)"
fi
# Negative control: contraction allowed on a machine that has fused multiply-add changes bits, so the comparison can fail.
if grep -qw fma /proc/cpuinfo 2>/dev/null && gcc -O2 -march=native -ffp-contract=fast -std=gnu11 -I"$ROOT/dsp" -I. \
  "$ROOT"/tests/design_hashes.c "$ROOT"/dsp/design*.c "$ROOT"/dsp/{taps,response,exact,rate,status}.c -lm -o fused 2>build.log; then
  ./fused >fused.txt
  if cmp -s reference.txt fused.txt; then not_ok "designs: contraction is noticed"; else ok "designs: contraction is noticed"; fi
else
  skip "designs: no fused multiply-add here, so contraction cannot be tried"
fi
