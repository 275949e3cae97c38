#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# taplag synth: the calls as documented, one set of bytes for every way of asking, refusals, interruption.
. "$(dirname "$0")/lib.sh"

expect 0 "" "synth: the documented call, raw" -- "$TAPLAG" synth ofdm --rate 25M --duration 1s --level -15dBFS --seed 1 -o a.cs16
cp out report
[ "$(stat -c %s a.cs16)" = 100000000 ] && ok "synth: 1 s at 25M is 25 million samples" || not_ok "synth: size of a.cs16"
expect 0 "" "synth: the documented call, SigMF" -- "$TAPLAG" synth ofdm --rate 25M --duration 1s --level -15dBFS --seed 1 -o a.sigmf-meta
same a.cs16 a.sigmf-data "synth: raw and SigMF hold the same bytes"
grep -q "$(sha256sum a.cs16 | cut -d' ' -f1)" report && ok "synth: the hash printed is the file's" || not_ok "synth: the hash printed is not the file's"
grep -q 'level *-15.00' report && ok "synth: the level is what was asked for" || not_ok "synth: level"
grep -q '"ci16_le"' a.sigmf-meta && grep -q '25000000' a.sigmf-meta && ok "synth: SigMF tells type and rate" || not_ok "synth: SigMF metadata"

"$TAPLAG" synth ofdm --duration 3ms --seed 1 --level -15 -o - >short.cs16 2>err
head -c 300000 a.cs16 >prefix.cs16
same short.cs16 prefix.cs16 "synth: a shorter run is the beginning of the longer one"
grep -q sha256 err && ok "synth: with samples on stdout the summary goes to stderr" || not_ok "synth: summary on stderr"
"$TAPLAG" synth ofdm --samples 1000 --start 50000 --seed 1 --level -15 -o - >middle.cs16 2>err
tail -c +200001 a.cs16 | head -c 4000 >cut.cs16
same middle.cs16 cut.cs16 "synth: --start begins in the middle"
rm -f a.cs16 a.sigmf-*

for s in tone tones chirp noise impulse step dc ramp corners silence; do
  expect 0 "^file +$s.cs16" "synth: $s" -- "$TAPLAG" synth $s --duration 2ms -o $s.cs16
  expect 0 "" "synth: $s again" -- "$TAPLAG" synth $s --duration 2ms -o again.cs16 --force
  same $s.cs16 again.cs16 "synth: $s is repeatable"
done
"$TAPLAG" synth tone --freq 280k --duration 50us -o - 2>err | split -b 2500 - piece.
same piece.aa piece.ab "synth: a tone on the 40 kHz raster repeats every 625 samples"
expect 0 '"clipped": 0' "synth: --json" -- "$TAPLAG" synth noise --seed 3 --duration 1ms -o n.cs16 --json
cp out one.json
expect 0 "" "synth: --json again" -- "$TAPLAG" synth noise --seed 3 --duration 1ms -o n.cs16 --json --force
same out one.json "synth: JSON is repeatable"
grep -q '"schema": "taplag/synth/1"' one.json && ok "synth: JSON names its schema" || not_ok "synth: schema"
expect 0 "components were clipped" "synth: clipping is told" -- "$TAPLAG" synth tone --level 6 --duration 1ms -o loud.cs16
expect 0 '\(20000, -20000\)' "synth: --value" -- "$TAPLAG" synth dc --value 20000,-20000 --samples 2 -o v.cs16
[ "$(od -An -td2 -w8 v.cs16 | tr -s ' ')" = " 20000 -20000 20000 -20000" ] && ok "synth: the value arrives" || not_ok "synth: the value arrives"

cp tone.cs16 kept.cs16
expect 2 "exists" "synth: an existing file is refused" -- "$TAPLAG" synth tone -o tone.cs16 --duration 1ms
same tone.cs16 kept.cs16 "synth: and it is kept"
expect 2 "no signal 'sine'" "synth: unknown signal" -- "$TAPLAG" synth sine -o x.cs16
expect 2 "FILE is missing" "synth: no output" -- "$TAPLAG" synth tone
expect 2 "missing" "synth: no signal" -- "$TAPLAG" synth -o x.cs16
expect 2 "--seed is not for tone" "synth: an option the signal has no use for" -- "$TAPLAG" synth tone --seed 1 -o x.cs16
expect 2 "half the rate" "synth: a frequency beyond half the rate" -- "$TAPLAG" synth tone --freq 13M -o x.cs16
expect 2 "not a frequency" "synth: --freq that is none" -- "$TAPLAG" synth tone --freq fast -o x.cs16
expect 2 "--rate 0" "synth: a rate of 0" -- "$TAPLAG" synth tone --rate 0 -o x.cs16
expect 2 "no sample" "synth: a duration of 0" -- "$TAPLAG" synth tone --duration 0 -o x.cs16
for rate in 1.92M 19.2M 184320000/7 1000; do
  for s in tone tones chirp; do
    expect 0 "" "synth: $s at $rate without more words" -- "$TAPLAG" synth $s --rate $rate --samples 1000 -o low.cs16 --force
  done
done
expect 2 "not both" "synth: two lengths" -- "$TAPLAG" synth tone --duration 1ms --samples 5 -o x.cs16
expect 2 "one of qpsk" "synth: unknown modulation" -- "$TAPLAG" synth ofdm --modulation 8psk -o x.cs16
expect 2 "from 1 to 144" "synth: a window longer than the prefix" -- "$TAPLAG" synth ofdm --window 145 -o x.cs16
expect 2 "multiple of 0.5ms" "synth: a repeat that is no whole slot" -- "$TAPLAG" synth ofdm --repeat 1.3ms -o x.cs16
expect 2 "not fit" "synth: more subcarriers than the rate carries" -- "$TAPLAG" synth ofdm --rate 1.92M --subcarriers 600 -o x.cs16
expect 2 "int16" "synth: a value outside int16" -- "$TAPLAG" synth dc --value 40000 -o x.cs16
absent x.cs16 "synth: nothing is left of what was refused"
expect 4 "" "synth: a folder that is not there" -- "$TAPLAG" synth tone --duration 1ms -o nowhere/x.cs16
expect 4 "" "synth: a full device" -- "$TAPLAG" synth tone --duration 100ms -o /dev/full
"$TAPLAG" synth tone --duration 10s -o - 2>err | head -c 1000 >/dev/null
[ "${PIPESTATUS[0]}" = 4 ] && ok "synth: a closed pipe is a system error" || not_ok "synth: a closed pipe: $(cat err)"

for signal in INT TERM; do
  "$TAPLAG" synth ofdm --duration 1000s -o long.$signal.cs16 >out 2>err &
  pid=$!
  catching $pid
  sleep 0.5
  kill -$signal $pid
  wait $pid
  status=$?
  [ $signal = INT ] && wanted=130 || wanted=143
  [ $status = $wanted ] && ok "synth: SIG$signal ends with $wanted" || not_ok "synth: SIG$signal ended with $status"
  n=$(sed -n 's/^samples *\([0-9]*\).*/\1/p' out)
  [ -n "$n" ] && [ "$(stat -c %s long.$signal.cs16)" = $((4 * n)) ] && grep -q "stopped after" err &&
    ok "synth: SIG$signal leaves a complete file" || not_ok "synth: SIG$signal leaves a complete file"
done
expect 0 "SIGNAL is one of" "synth: --help" -- "$TAPLAG" synth --help
