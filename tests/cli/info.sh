#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# taplag info: figures of signals whose figures are known, headers that lie, gaps, long files, plots.
. "$(dirname "$0")/lib.sh"

# near GOT WANTED TOLERANCE DESCRIPTION
near() {
  if awk -v a="$1" -v b="$2" -v t="$3" 'BEGIN { exit !(a != "" && a != "null" && a - b <= t && b - a <= t) }'; then ok "$4"; else not_ok "$4: $1, wanted $2"; fi
}

# A tone on a bin of the 4096 the spectrum has, at -6 dBFS.
"$TAPLAG" synth tone --rate 25M --duration 40ms --freq 3.0517578125M --level -6 -o tone.cs16 >log 2>&1
expect 0 "level +-6.0" "a tone" -- "$TAPLAG" info tone.cs16 --rate 25M
expect 0 "" "a tone, as JSON" -- "$TAPLAG" info tone.cs16 --rate 25M --json
cp out tone.json
is "$(json tone.json schema)" taplag/info/1 "JSON names its schema"
near "$(json tone.json level.level_dbfs)" -6.0 0.011 "its level"
near "$(json tone.json level.dc_dbfs)" -100 60 "no DC to speak of"
near "$(json tone.json level.iq_gain_db)" 0 0.002 "I and Q are equally strong"
near "$(json tone.json level.iq_phase_deg)" 0 0.02 "and at right angles"
near "$(json tone.json occupied_99.low_hz)" 3051757 25000 "the band is the tone: low end"
near "$(json tone.json occupied_99.high_hz)" 3051757 25000 "the band is the tone: high end"
near "$(json tone.json occupied_99.share_above_zero)" 1 0.001 "all of it above 0 Hz"
is "$(json tone.json samples)" 1000000 "its length"
near "$(json tone.json seconds)" 0.04 0 "in seconds too"
expect 0 "" "JSON again" -- "$TAPLAG" info tone.cs16 --rate 25M --json
same out tone.json "JSON is repeatable"
# leansdr#28: mirrored spectra.
expect 0 "" "--swap-iq" -- "$TAPLAG" info tone.cs16 --rate 25M --swap-iq --json
near "$(json out occupied_99.high_hz)" -3051757 25000 "swapped, the tone stands at the mirrored frequency"
near "$(json out occupied_99.share_above_zero)" 0 0.001 "and nothing above 0 Hz"
expect 0 "swapped \(--swap-iq\) it would be" "what a swap would do is said" -- "$TAPLAG" info tone.cs16 --rate 25M

# I 1 dB above Q (a factor of 1.122), 2 degrees off, and a constant of a sixteenth in I.
awk 'BEGIN { srand(5); for (k = 0; k < 20000; k++) { a = 6.283185307 * k * 0.1; printf "%d %d\n", 2048 + 11220 * cos(a), 10000 * sin(a + 0.034906585) } }' |
  perl -ne 'print pack("s<2", split)' >skew.cs16 2>log || skip "no perl: skewed signal"
if [ -s skew.cs16 ]; then
  expect 0 "" "a skewed signal" -- "$TAPLAG" info skew.cs16 --rate 1M --json
  near "$(json out level.iq_gain_db)" 1.0 0.01 "gain imbalance of 1 dB"
  near "$(json out level.iq_phase_deg)" 2.0 0.05 "phase imbalance of 2 degrees"
  near "$(json out level.dc_dbfs)" -24.08 0.02 "DC of a sixteenth: -24.08 dBFS"
fi

# SoapySDR#376: 12 bits read as 16 stand at -24 dB, and at 0 with the declared full scale.
"$TAPLAG" synth tone --rate 1M --duration 10ms --freq 100k --level -24.0824 -o q11.cs16 >log 2>&1
expect 0 "level +-24.08" "Q11 samples taken for 16 bits" -- "$TAPLAG" info q11.cs16 --rate 1M
expect 0 "level +-?0.0[01]" "Q11 samples with --full-scale 2048" -- "$TAPLAG" info q11.cs16 --rate 1M --full-scale 2048
expect 0 "declared as 2048" "the declared full scale is shown" -- "$TAPLAG" info q11.cs16 --rate 1M --full-scale 2048

# Clipping: 5 of 8 components at the end of the scale.
printf '\x7f\x80\x81\x7f\x00\x01\x80\x02' >clip.cs8
expect 0 "5 at full scale \(62.5 %\)" "full-scale components are counted" -- "$TAPLAG" info clip.cs8
# gnuradio#1362: 4003 bytes.
head -c 4003 tone.cs16 >tail.cs16
expect 0 "1000 samples.*3 bytes that make no sample" "bytes left over are shown" -- "$TAPLAG" info tail.cs16
expect 0 "type +raw, cf32 \(from option\)" "--format wins" -- "$TAPLAG" info tone.cs16 --format cf32
expect 0 "rate +not known" "without a rate it says so" -- "$TAPLAG" info tone.cs16
head -c 40 tone.cs16 >short.cs16
expect 0 "10 samples" "ten samples" -- "$TAPLAG" info short.cs16

# stdin
head -c 400000 tone.cs16 | "$TAPLAG" info - --format cs16 --rate 25M --json >out 2>err
is "$? $(json out level.samples)" "0 100000" "through a pipe"
near "$(json out level.level_dbfs)" -6.0 0.011 "through a pipe: the level"

# Gaps and captures.
"$TAPLAG" synth tone --rate 25M --duration 1ms --freq 1M -o g.sigmf-meta >log 2>&1
sed -i 's/"captures": \[/"captures": [ {"core:sample_start": 0, "core:global_index": 0}, {"core:sample_start": 10000, "core:global_index": 11000, "core:frequency": 915000000} ], "x:old": [/' g.sigmf-meta
expect 0 "1000 samples are missing" "a gap is shown" -- "$TAPLAG" info g.sigmf-meta
grep -q "25000 samples, 0.001 s, and 1000 missing" out && ok "the length is that of the samples, the gap apart" || not_ok "length with a gap"
grep -q "capture    2: from 11000, 15000 samples, 915 MHz" out && ok "each capture with its place" || not_ok "captures"
grep -q "sha512     agrees" out && ok "the hash is checked" || not_ok "hash"
expect 0 "sha512     not checked" "--no-hash" -- "$TAPLAG" info g.sigmf-meta --no-hash
printf 'x' | dd of=g.sigmf-data bs=1 seek=77 conv=notrunc 2>log
expect 3 "g.sigmf-meta:[0-9]+: .*core:sha512.*--no-hash" "changed data are found, with the line" -- "$TAPLAG" info g.sigmf-meta

# Headers that lie are shown, not refused; resample refuses them.
"$TAPLAG" resample tone.cs16 --rate 25M --to 25M -o t.wav >log 2>&1
expect 0 "header +agrees" "a good WAV" -- "$TAPLAG" info t.wav
head -c 40044 t.wav >cut.wav
expect 0 "states 1000000 samples, but the file ends after 10000" "a cut WAV" -- "$TAPLAG" info cut.wav
expect 0 "" "a cut WAV, as JSON" -- "$TAPLAG" info cut.wav --json
is "$(json out header.agrees header.stated_samples samples | tr '\n' ' ')" "false 1000000 10000 " "JSON: header against file"
expect 3 "cut.wav: .*--rescue reads all 10000" "resample refuses it and says what to do" -- "$TAPLAG" resample cut.wav -o x.cs16
expect 0 "10000 processed" "--rescue" -- "$TAPLAG" resample cut.wav -o x.cs16 --to 25M --rescue
head -c 40000 tone.cs16 >head.cs16
same x.cs16 head.cs16 "--rescue reads as far as the file goes, in the right type"

# 100 GB, sparse, with one sample in the middle of a piece: at once, and with flat memory.
if truncate -s 100G long.cs16 2>log; then
  # piece 128 of 0..255 starts at (n - 65536) * 128 / 255
  n=26843545600
  printf '\x00\x40\x00\x00' | dd of=long.cs16 bs=4 seek=$((((n - 65536) * 128) / 255 + 5)) conv=notrunc 2>log
  limit=600000
  (ulimit -v $limit; exec "$TAPLAG" --version) >log 2>&1 || limit=unlimited # AddressSanitizer needs terabytes of addresses
  (ulimit -v $limit; ulimit -t 20; exec "$TAPLAG" info long.cs16 --rate 25M >out 2>err)
  is $? 0 "info of 100 GB: at once, in 600 MB of address space"
  grep -q "looked at  16777216 samples in 256 pieces; --full" out && ok "that it looked at pieces is said" || not_ok "pieces are not told"
  grep -q "largest component 16384" out && ok "the pieces are spread over the file" || not_ok "the sample in the middle was not seen"
  (ulimit -v $limit; ulimit -t 20; exec "$TAPLAG" resample long.cs16 --rate 25M --start 20G --length 1M -o w.cs16 >out 2>err)
  is $? 0 "a window of 100 GB is resampled at once"
  is "$(stat -c %s w.cs16)" 4915200 "and has its length"
  rm long.cs16
else
  skip "no file of 100 GB can be made here"
fi

if command -v gnuplot >/dev/null; then
  expect 0 "" "--plot .svg" -- "$TAPLAG" info tone.cs16 --rate 25M --plot p.svg
  grep -q "</svg>" p.svg && ok "the plot is a whole SVG" || not_ok "no SVG"
  expect 2 "p.svg" "an existing plot is kept" -- "$TAPLAG" info tone.cs16 --rate 25M --plot p.svg
else
  skip "no gnuplot: plots"
fi
expect 2 "svg or .png" "a plot of an unknown kind" -- "$TAPLAG" info tone.cs16 --rate 25M --plot p.gif
expect 2 "exclude" "--quick with --full" -- "$TAPLAG" info tone.cs16 --quick --full
expect 2 "argument is missing" "no file" -- "$TAPLAG" info
expect 0 "Usage: taplag info" "--help" -- "$TAPLAG" info --help

if [ -f "$CAPTURES/lte_f796M_s19.2M_hackrf.cs8" ]; then
  expect 0 "70853 at full scale" "the clipped capture: 70,853 components, as its README says" -- "$TAPLAG" info "$CAPTURES/lte_f796M_s19.2M_hackrf.cs8"
  expect 0 "level +-15.00 dBFS.*largest component 26730 " "the LTE capture: level and peak" -- "$TAPLAG" info "$CAPTURES/lte20_25Msps_80ms.sc16"
else
  skip "no captures at $CAPTURES"
fi
