#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# One answer everywhere: builds the plain verifier with each compiler and for each machine, runs the golden vectors on it, and
# has the host judge the outputs. PART=ci takes fewer vectors and cuts under emulation. One table; ends with a count of rows.
set -u
B=${B:-build} PART=${PART:-all} JOBS=${JOBS:-2}
ROOT=$(cd "$(dirname "$0")/.." && pwd)
cd "$ROOT" || exit 1
TAPLAG=$(cd "$B" && pwd)/taplag
work=$(cd "$B" && pwd)/matrix
mkdir -p "$work"
rm -f "$work"/*

common="dsp/bank.c dsp/cpu.c dsp/design.c $(ls dsp/design_*.c | tr '\n' ' ') dsp/exact.c dsp/rate.c dsp/resamp.c dsp/response.c
  dsp/status.c dsp/taps.c dsp/kernels_c.c vectors/golden.c vectors/signals.c vectors/ofdm.c vectors/band_limit.c vectors/oscillator.c
  vectors/exact_fft.c vectors/impair.c vectors/lte_tx.c vectors/lte_models.c dsp/lte_seq.c dsp/lte_code.c dsp/lte_grid.c
  tests/verify_plain.c"
base="-std=c11 -D_GNU_SOURCE -ffp-contract=off -Idsp -Ivectors -I$B/gen"

# NAME MACHINE EMULATOR COMPILER FLAGS...: "native" machines build the kernels of their instruction sets, too.
build() {
  local name=$1 machine=$2 cc=$4 file isa objects=
  shift 4
  if [ "$machine" = "$(uname -m)" ] && [ "$machine" = x86_64 ]; then
    for file in sse2:-msse4.1 avx2:-mavx2 "avx512:-mavx512f -mavx512bw -mavx512vl -mavx512dq" \
      "vnni:-mavx512f -mavx512bw -mavx512vl -mavx512dq -mavx512vnni -mavx512vbmi"; do
      isa=${file#*:}
      file=${file%%:*}
      # shellcheck disable=SC2086
      $cc $base "$@" $isa -c dsp/kernels_$file.c -o "$work/$name-$file.o" || return 1
      objects="$objects $work/$name-$file.o"
    done
  elif [ "$machine" = aarch64 ]; then
    objects=dsp/kernels_neon.c
  elif [ "$machine" = arm ]; then
    objects=tests/int128_runtime.c
  fi
  # shellcheck disable=SC2086
  $cc $base "$@" $common $objects -lm -o "$work/$name"
}

row() { # NAME MACHINE EMULATOR COMPILER FLAGS...
  local name=$1 machine=$2 emulator=$3 cc=$4 start=$SECONDS status result kernels cuts list=list
  if ! command -v "${cc%% *}" >/dev/null || { [ "$emulator" != - ] && ! command -v "$emulator" >/dev/null; }; then
    echo "$name|$machine|-|-|skipped: ${cc%% *} or $emulator is not installed" >"$work/$name.row"
    return
  fi
  if ! build "$@" 2>"$work/$name.err"; then
    echo "$name|$machine|-|-|FAILED to build: $(grep -m1 error "$work/$name.err")" >"$work/$name.row"
    return
  fi
  cuts=own,1,7,362,364,625,1996,25000,random
  if [ "$emulator" != - ]; then
    cuts=own,362,random
    [ "$PART" = ci ] && list=part
    "$emulator" "$work/$name" "$work/$list" $cuts >"$work/$name.out" 2>"$work/$name.err"
  else
    "$work/$name" "$work/$list" $cuts >"$work/$name.out" 2>"$work/$name.err"
  fi
  status=$?
  kernels=$(grep -aoE '^(output|same) impulse-first [a-z0-9]+' "$work/$name.out" | awk '{print $3}' | uniq | tr '\n' ' ')
  # shellcheck disable=SC2046
  "$TAPLAG" vectors verify --judge "$work/$name.out" $([ $list = part ] && cat "$work/patterns") >"$work/$name.verdict" 2>&1
  result=$?
  [ $status -eq 0 ] || result=9
  if [ $result -eq 0 ]; then
    echo "$name|$machine|$kernels|$((SECONDS - start)) s|$(tail -n 1 "$work/$name.verdict")" >"$work/$name.row"
    rm -f "$work/$name.out" "$work/$name"
  else
    echo "$name|$machine|$kernels|$((SECONDS - start)) s|FAILED: $(cat "$work/$name.verdict" "$work/$name.err" | grep -m1 .)" >"$work/$name.row"
  fi
}

"$TAPLAG" vectors list --plain >"$work/list" || exit 1
echo "impulse-* step-* half-* worst-limit* counter-* gap* packets-* taps-random-* refused-* usrpl0-dc tone-raster ofdm-qpsk noise" |
  tr ' ' '\n' >"$work/patterns"
# shellcheck disable=SC2046
(set -f; "$TAPLAG" vectors list --plain $(cat "$work/patterns")) >"$work/part" || exit 1

host=$(uname -m)
running=0
start() {
  row "$@" &
  running=$((running + 1))
  if [ $running -ge "$JOBS" ]; then
    wait -n
    running=$((running - 1))
  fi
}
set -f
# those that take longest begin
start s390x s390x qemu-s390x s390x-linux-gnu-gcc -O2 -static
start armhf arm qemu-arm "clang --target=arm-linux-gnueabihf" -fforce-enable-int128 -O2 -static
start aarch64 aarch64 qemu-aarch64 aarch64-linux-gnu-gcc -O2 -static
start riscv64 riscv64 qemu-riscv64 riscv64-linux-gnu-gcc -O2 -static
for cc in gcc clang; do
  start $cc-O0 "$host" - $cc -O0
  start $cc-O2 "$host" - $cc -O2
  start $cc-O3-native "$host" - $cc -O3 -march=native
done
wait

printf '%-16s %-8s %-28s %6s  %s\n' build machine kernels time verdict
passed=0 failed=0 skipped=0
for name in gcc-O0 gcc-O2 gcc-O3-native clang-O0 clang-O2 clang-O3-native aarch64 riscv64 s390x armhf; do
  IFS='|' read -r n machine kernels seconds verdict <"$work/$name.row"
  printf '%-16s %-8s %-28s %6s  %s\n' "$n" "$machine" "$kernels" "$seconds" "$verdict"
  case $verdict in
  skipped*) skipped=$((skipped + 1)) ;;
  FAILED*) failed=$((failed + 1)) ;;
  *) passed=$((passed + 1)) ;;
  esac
done
if [ "${STRICT:-0}" = 1 ]; then failed=$((failed + skipped)) skipped=0; fi
[ $skipped -gt 0 ] && echo "$passed passed, $failed failed, $skipped skipped" || echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
