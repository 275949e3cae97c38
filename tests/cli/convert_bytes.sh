#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Conversions give the same bytes and counts whatever compiles them, and on aarch64.
. "$(dirname "$0")/lib.sh"

build() { # PROGRAM COMPILER...
  local program=$1
  shift
  "$@" -std=c11 -D_GNU_SOURCE -ffp-contract=off -I"$ROOT/dsp" -I"$ROOT/replay" -I"$ROOT/replay/files" -o "$program" \
    "$ROOT/tests/convert_hashes.c" "$ROOT/replay/files/convert.c" 2>build.log
}
every_compiler "conversions"
