#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The main job, end to end: an LTE cell, replayed at real-time pace, its delays, the spectral verdict of what came out, and
# the cell found in it with its MIB and EVM.
set -u
B=${B:-build}
taplag=$(cd "$B" && pwd)/taplag
folder=$(mktemp -d "${TMPDIR:-/tmp}/taplag-demo.XXXXXX") || exit 4
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 4

step() { printf '\n== %s\n' "$1"; }
run() {
  printf '$ taplag %s\n' "$*"
  "$taplag" "$@"
}

room=$(df -Pk . | awk 'NR == 2 {print $4}')
if [ "${room:-0}" -lt 262144 ]; then
  echo "demo: $folder has less than 256 MiB free; set TMPDIR to a folder that has" >&2
  exit 4
fi

step "1. One second of an LTE cell of 20 MHz at 25 Msps: identity 1, one port, coded 64QAM, confined to its channel"
run synth lte --rate 25M --duration 1s --level -15dBFS --mcs 20 --band-limit --seed 1 -o a.cs16 || exit

step "2. At real-time pace, in packets of 625 samples (25 us), through receive, resample and deliver"
run replay a.cs16 --format cs16 --rate 25M --align --packet 625 --to file:b.cs16 | tee replay.txt
status=${PIPESTATUS[0]}
if [ "$status" -ne 0 ]; then
  echo "demo: replay ended with status $status; what it says above tells why" >&2
  exit "$status"
fi
late=$(sed -n 's/^deadline .* subframes inside, \([0-9]*\) above it.*/\1/p' replay.txt)
echo
echo "A sink is a file, so a full queue makes the source wait and no packet is lost: the samples are whole whatever the"
echo "machine does, and what it does shows in the delays."
if [ "${late:-0}" -gt 0 ]; then
  echo "Here $late of 1000 subframes were later than 1200 us: other work, or the host of a virtual machine, took the cores."
  echo "Compare with 'steal' and 'bare spin' above: what that thread missed, any other would have. As root,"
  echo "'taplag replay --fifo 50 --mlock' takes precedence over other work; an idle machine helps as well."
fi

step "3. Is what came out right? Spectra against the ideal resampling of the input, by FFTW"
run check a.cs16 b.cs16 --format cs16 --from 25M --to 30.72M --align
spectra=$?

step "4. Does a receiver find the cell in it? Its MIB, its EVM before and after, and what the resampler adds; of 100 ms"
run evm a.cs16 b.cs16 --format cs16 --rate 25M --to 30.72M --length 100ms --max-added -74
status=$?
[ "$spectra" -eq 0 ] || status=$spectra
echo
if [ "$status" -eq 0 ]; then
  echo "demo: passed"
else
  echo "demo: FAILED: a verdict above names what is out of its limits" >&2
fi
exit "$status"
