#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# taplag bench: the parts are found, the historical forms agree, the peers are listed; speed itself is not judged here.
. "$(dirname "$0")/lib.sh"

expect 0 "history" "bench: --help" -- "$TAPLAG" bench --help
expect 2 "say which part" "bench: no part" -- "$TAPLAG" bench
expect 2 "no part 'speed'" "bench: unknown part" -- "$TAPLAG" bench speed

expect 0 "per packet of 768" "bench history: table" -- "$TAPLAG" bench history --rounds 1
grep -q DIFFER out && not_ok "bench history: every form gives the same bytes" || ok "bench history: every form gives the same bytes"
expect 0 '"schema": "taplag/bench-history/1"' "bench history: JSON" -- "$TAPLAG" bench history --rounds 1 --json
sed '/"host"/,$d' out >first.json
expect 0 "" "bench history: JSON again" -- "$TAPLAG" bench history --rounds 1 --json
sed '/"host"/,$d' out >second.json
same first.json second.json "bench history: JSON but for host and measured is repeatable"
expect 2 "from 1 to" "bench history: rounds out of range" -- "$TAPLAG" bench history --rounds 0
expect 2 "unexpected argument" "bench history: unknown option" -- "$TAPLAG" bench history --quick
expect 0 "Usage" "bench history: --help" -- "$TAPLAG" bench history --help
if [ -e /dev/full ]; then
  "$TAPLAG" bench history --rounds 1 >/dev/full 2>err
  [ $? = 4 ] && ok "bench history: a full device" || not_ok "bench history: a full device"
fi

expect 0 "ns/output" "bench peers: table" -- "$TAPLAG" bench peers --rounds 1
# GNU Radio is too large to ask for; it takes part where it is installed.
while read -r line; do skip "bench peers: $line"; done < <(grep "not available here" out | grep -v "^GNU Radio")
for library in libswresample soxr zita-resampler liquid-dsp libsamplerate "GNU Radio" taplag; do
  grep -q "^$library " out && ok "bench peers: $library has a line" || not_ok "bench peers: $library has no line"
done
# Ours is measured by the same code: the default taps must show their images below -70 dBc and 0.006 dB of ripple.
grep "^taplag" out >ours
if [ -s ours ] && awk '$(NF-2) > -70 || $(NF-1) > 0.006 { bad = 1 } END { exit bad }' ours; then
  ok "bench peers: ours stays below -70 dBc and 0.006 dB"
else
  not_ok "bench peers: ours: $(cat ours)"
fi
expect 0 '"schema": "taplag/bench-peers/1"' "bench peers: JSON" -- "$TAPLAG" bench peers --rounds 1 --json

cp "$TAPLAG" ./taplag
expect 5 "bench-history is not built or installed" "bench history: the program alone says what is missing" -- ./taplag bench history
expect 5 "bench-peers is not built or installed" "bench peers: likewise" -- ./taplag bench peers
mkdir -p bin libexec/taplag && mv taplag bin/ && cp "$(dirname "$TAPLAG")/bench-history" libexec/taplag/
expect 0 "Usage" "bench history: found in ../libexec/taplag" -- bin/taplag bench history --help

expect 0 'resample takes .* times the time of cat' "bench files" -- "$TAPLAG" bench files --duration 20ms --runs 3 --folder .
expect 0 '"schema": "taplag/bench-files/1"' "bench files --json" -- "$TAPLAG" bench files --duration 1ms --runs 1 --folder . --json
expect 4 'cannot make a folder' "bench files in a folder that is not there" -- "$TAPLAG" bench files --folder ./none
expect 2 '--runs 0' "bench files --runs 0" -- "$TAPLAG" bench files --runs 0
ls | grep -q taplag-bench && not_ok "bench files leaves files behind" || ok "bench files leaves nothing behind"
