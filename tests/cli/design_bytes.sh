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

awk -f "$ROOT/dsp/data.awk" "$ROOT"/dsp/data/taps_*.txt >taps_data.h || not_ok "designs: the data become a header"
every_compiler designs
[ "$(wc -l <reference.txt)" = 8 ] && ok "designs: all are made" || not_ok "designs: all are made"
# Negative control: contraction allowed on a machine that has fused multiply-add changes bits, so the comparison can fail.
if grep -qw fma /proc/cpuinfo 2>/dev/null && gcc -O2 -march=native -ffp-contract=fast -std=gnu11 -I"$ROOT/dsp" -I. \
  "$ROOT"/tests/design_hashes.c "$ROOT"/dsp/design*.c "$ROOT"/dsp/{taps,response,exact,rate,status}.c -lm -o fused 2>build.log; then
  ./fused >fused.txt
  if cmp -s reference.txt fused.txt; then not_ok "designs: contraction is noticed"; else ok "designs: contraction is noticed"; fi
else
  skip "designs: no fused multiply-add here, so contraction cannot be tried"
fi
