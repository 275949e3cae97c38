#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The model's results are the same bytes from every compiler and optimisation, with the CPU's fused multiply-add hidden from
# libm, and on other machines.
. "$(dirname "$0")/lib.sh"

engine=()
for f in "$ROOT"/sim/*.c; do [ "$(basename "$f")" = scenario.c ] || engine+=("$f"); done
common=("$ROOT"/dsp/{exact,rate,status}.c)
flags=(-std=c11 -D_GNU_SOURCE -ffp-contract=off -I"$ROOT/dsp" -I"$ROOT/sim" -I"$ROOT/vectors" -I"$ROOT/replay" -I"$ROOT/replay/files" -I"$ROOT/cli")
scenarios=()
for n in usrpl0-{subframe,second-queue,packet-serial,packet-threaded,diskflush,moderation,tuned} camera-10gbe-tuned bluetooth-poll-{before,after}; do
  # Shorter copies: every stall and loss of the first second is in them.
  sed 's/^duration_s = .*/duration_s = 1.0;/; s/every_s = 5.0;/every_s = 0.4;/; s/phase_s = 2.5;/phase_s = 0.2;/' "$ROOT/sim/scenarios/$n.cfg" >"$n.cfg"
  scenarios+=("$n.cfg")
done

# Ten scenarios made in code, which need no library: on aarch64 as well.
build() {
  local name=$1
  shift
  "$@" "${flags[@]}" "$ROOT/tests/model_hashes.c" "$ROOT/tests/no_scenario_files.c" "${engine[@]}" "${common[@]}" -lm -o "$name" 2>build.log
}
every_compiler "model, scenarios in code"
[ "$(grep -c '^case' reference.txt)" -eq 10 ] && ok "model: ten scenarios in code" || not_ok "model: ten scenarios in code"
if command -v s390x-linux-gnu-gcc >/dev/null && command -v qemu-s390x >/dev/null; then
  if build other s390x-linux-gnu-gcc -O2 -static; then
    qemu-s390x ./other >other.txt
    same reference.txt other.txt "model, scenarios in code: s390x gives the same"
  else not_ok "model: s390x builds"; fi
else
  skip "model: no s390x here (apt-get install gcc-s390x-linux-gnu libc6-dev-s390x-cross qemu-user)"
fi

# The JSON of ten scenario files.
json() { # PROGRAM COMPILER...
  local name=$1
  shift
  "$@" "${flags[@]}" "$ROOT/tests/model_json.c" "$ROOT"/cli/{model_report,cli_common,data}.c "$ROOT/sim/scenario.c" "${engine[@]}" \
    "${common[@]}" -ljansson -lconfig -lm -o "$name" 2>build.log
}
for n in "${scenarios[@]}"; do "$TAPLAG" model "$n" --json; done >wanted.json
[ "$(grep -c taplag/model/1 wanted.json)" -eq 10 ] && ok "model: JSON of ten scenarios" || not_ok "model: JSON of ten scenarios"
for compiler in gcc clang; do
  command -v $compiler >/dev/null || { skip "model: $compiler is not installed"; continue; }
  for level in -O0 "-O3 -march=native"; do
    # shellcheck disable=SC2086
    if json other $compiler $level; then
      ./other "${scenarios[@]}" >other.json
      same wanted.json other.json "model: $compiler $level gives the same JSON"
    else not_ok "model: $compiler $level builds"; fi
  done
done
for cross in aarch64 s390x; do
  if command -v $cross-linux-gnu-gcc >/dev/null && command -v qemu-$cross >/dev/null && json other $cross-linux-gnu-gcc -O2 -static; then
    qemu-$cross ./other "${scenarios[@]}" >other.json
    same wanted.json other.json "model: $cross gives the same JSON"
  else
    skip "model: no libconfig and jansson for $cross here (dpkg --add-architecture ARCH; apt-get update; apt-get install libconfig-dev:ARCH libjansson-dev:ARCH, ARCH = arm64 or s390x)"
  fi
done

# libm's choice of FMA: a control shows that the switch works, where the CPU has FMA at all.
mask=glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4
cat >control.c <<'C'
#include <math.h>
#include <stdio.h>
int main(void) { volatile double x; int i; for (i = 1; i < 20000; i++) { x = 0.001 * i; printf("%a %a\n", exp(x), sin(x)); } return 0; }
C
if grep -qw fma /proc/cpuinfo && gcc -O0 control.c -lm -o control 2>/dev/null; then
  ./control >plain.txt
  GLIBC_TUNABLES=$mask ./control >masked.txt
  if cmp -s plain.txt masked.txt; then not_ok "model: the mask hides FMA from libm"; else ok "model: the mask hides FMA from libm ($(diff plain.txt masked.txt | grep -c '^<') of 19999 lines differ)"; fi
else
  skip "model: this CPU has no FMA to hide"
fi
for n in "${scenarios[@]}"; do GLIBC_TUNABLES=$mask "$TAPLAG" model "$n" --json; done >masked.json
same wanted.json masked.json "model: the same JSON with FMA hidden"
for n in "${scenarios[@]}"; do "$TAPLAG" model "$n" --json; done >again.json
same wanted.json again.json "model: the same JSON again"
