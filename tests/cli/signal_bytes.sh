#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The same signal bytes from every compiler and optimisation, and on another machine.
. "$(dirname "$0")/lib.sh"

# build NAME COMPILER... : one static-ish program out of the library's signal sources
build() {
  local name=$1
  shift
  "$@" -std=c11 -D_GNU_SOURCE -ffp-contract=off -I"$ROOT/dsp" -I"$ROOT/vectors" -I"$ROOT/tests" \
    "$ROOT"/tests/signal_hashes.c "$ROOT"/vectors/{signals,ofdm,band_limit,oscillator,exact_fft,impair,lte_tx,lte_models}.c \
    "$ROOT"/dsp/{exact,rate,status,lte_seq,lte_code,lte_grid}.c -lm -o "$name" 2>build.log
}

every_compiler signals
[ "$(wc -l <reference.txt)" -ge 10 ] && ! grep -q '^0000000000000000' reference.txt &&
  ok "signals: every one is made" || not_ok "signals: every one is made"
