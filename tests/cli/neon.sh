#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The aarch64 kernels under emulation: the same outputs as the formula and the plain C kernel, and at most a quarter of
# the C kernel's instructions.
. "$(dirname "$0")/lib.sh"

cross=${AARCH64_CC:-aarch64-linux-gnu-gcc}
qemu=${QEMU_AARCH64:-$(command -v qemu-aarch64 || command -v qemu-aarch64-static)}
if ! command -v "$cross" >/dev/null; then
  skip "neon: no $cross (apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross)"
  exit 0
fi
if [ -z "$qemu" ] || ! command -v "$qemu" >/dev/null; then
  skip "neon: no qemu-aarch64 (apt-get install qemu-user)"
  exit 0
fi

d=$ROOT/dsp
if ! "$cross" -std=c11 -O2 -ffp-contract=off -D_GNU_SOURCE -I"$d" -I"$ROOT/tests" -static "$ROOT/tests/kernel_verifier.c" \
  "$d/kernels_c.c" "$d/kernels_neon.c" "$d/bank.c" "$d/cpu.c" "$d/resamp.c" "$d/status.c" -o verifier 2>err; then
  not_ok "neon: the verifier builds"
  sed 's/^/  /' err | head -n 10
  exit 0
fi
ok "neon: the verifier builds"

if "$qemu" ./verifier 7 >out 2>err; then ok "neon: every kernel equals the formula"; else
  not_ok "neon: every kernel equals the formula"
  cat out err | sed 's/^/  /'
fi
for form in rows dot; do
  grep -q "^neon $form:" out && ok "neon: the $form form ran" || not_ok "neon: the $form form ran"
done
cat out

# Instructions of two packets, from runs of three and of one: qemu logs each instruction as a block of its own.
one_each=-one-insn-per-tb
"$qemu" --help 2>/dev/null | grep -q -- -one-insn-per-tb || one_each=-singlestep
instructions() { # CPU PACKETS TAPS
  "$qemu" "$one_each" -d exec,nochain ./verifier count "$1" "$2" "$3" 2>&1 >/dev/null | grep -c '^Trace'
}
for taps in 16 24; do
  c=$(($(instructions c 3 $taps) - $(instructions c 1 $taps)))
  neon=$(($(instructions neon 3 $taps) - $(instructions neon 1 $taps)))
  if [ "$neon" -gt 0 ] && [ $((4 * neon)) -le "$c" ]; then
    ok "neon: $taps taps a phase: $((neon / 2)) instructions a packet, C $((c / 2))"
  else
    not_ok "neon: $taps taps a phase: $((neon / 2)) instructions a packet, C $((c / 2)); wanted at most a quarter"
  fi
done
