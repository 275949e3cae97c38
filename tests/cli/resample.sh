#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# taplag resample: the calls of the design, pipes both ways, every kind of file, gaps, counts that add up, refusals.
. "$(dirname "$0")/lib.sh"

"$TAPLAG" synth ofdm --rate 25M --duration 20ms --level -15dBFS --seed 1 -o a.cs16 >synth.txt 2>&1
"$TAPLAG" synth ofdm --rate 25M --duration 20ms --level -15dBFS --seed 1 -o a.sigmf-meta >>synth.txt 2>&1

expect 0 "614400 written" "the documented call" -- "$TAPLAG" resample a.cs16 --format cs16 --from 25M --to 30.72M --align -o b.cs16
is "$(stat -c %s b.cs16)" 2457600 "500,000 inputs give 614,400 outputs"
cat a.cs16 | "$TAPLAG" resample - --format cs16 --from 25M --to 30.72M -o - >c.cs16 2>err
is $? 0 "through pipes"
is "$(stat -c %s c.cs16)" 2457600 "through pipes: as many outputs"
grep -q "614400 written" err && ok "with samples on stdout the summary goes to stderr" || not_ok "summary on stderr"
expect 0 "" "from a file to a file, without align" -- "$TAPLAG" resample a.cs16 --rate 25M -o d.cs16
same c.cs16 d.cs16 "pipes and files give the same bytes"
"$TAPLAG" resample - --format cs16 --rate 25M -o - <a.cs16 >e.cs16 2>err
same c.cs16 e.cs16 "a redirected file gives the same bytes"
(head -c 999999 a.cs16; sleep 0.2; tail -c +1000000 a.cs16) | "$TAPLAG" resample - --format cs16 --rate 25M -o - 2>err >f.cs16
same c.cs16 f.cs16 "cuts inside a sample give the same bytes"
expect 0 "" "SigMF tells type and rate" -- "$TAPLAG" resample a.sigmf-meta -o g.cs16
same c.cs16 g.cs16 "SigMF gives the same bytes as raw"

# The rate may be written in any way; the ratio is what counts.
expect 0 "" "a common factor in the rates" -- "$TAPLAG" resample a.cs16 --rate 25000000/1 --out-rate 61440000/2 -o h.cs16
same c.cs16 h.cs16 "30720000/25000000 and 768/625 give the same bytes"

for kind in wav rf64 w64 au sigmf sigmf-meta cf32 cf64 cs32; do
  expect 0 "" "to .$kind" -- "$TAPLAG" resample a.cs16 --rate 25M -o k.$kind
  rate=; case $kind in cf32 | cf64 | cs32) rate="--rate 30.72M" ;; esac
  expect 0 "" "from .$kind" -- "$TAPLAG" resample k.$kind $rate --to 30.72M -o k.cs16 --force
  same c.cs16 k.cs16 ".$kind keeps every sample"
done
if command -v sox >/dev/null; then
  sox k.wav -t raw -e signed -b 16 -L sox.cs16 2>err
  same c.cs16 sox.cs16 "sox reads the same samples from our WAV"
else
  skip "sox is not installed: our WAV was not read by it"
fi
if command -v tar >/dev/null; then
  tar xf k.sigmf && same k/k.sigmf-data c.cs16 "tar unpacks our archive"
fi
cp k.sigmf-meta first.meta
expect 0 "" "the same command again" -- "$TAPLAG" resample a.cs16 --rate 25M -o k.sigmf-meta --force
same k.sigmf-meta first.meta "SigMF: the same bytes again"

# Counts.
expect 0 "" "--json" -- "$TAPLAG" resample a.cs16 --rate 25M -o j.cs16 --json --flush
cp out j.json
is "$(json j.json schema)" taplag/resample/1 "JSON names its schema"
is "$(json j.json input.processed)" 500000 "JSON: inputs"
# floor(((n-1)*L + N - 1)/M) + 1 with N = 12287
is "$(json j.json output.written)" $((((500000 - 1) * 768 + 12286) / 625 + 1)) "JSON: outputs of a flushed run, by the formula"
is "$(json j.json resampler.up resampler.down | tr '\n' ' ')" "768 625 " "JSON: 768 is up, 625 down"
is "$(json j.json resampler.delay_outputs.num resampler.delay_outputs.den | tr '\n' ' ')" "6143 625 " "JSON: the delay is an exact fraction"
expect 0 "" "the same --json again" -- "$TAPLAG" resample a.cs16 --rate 25M -o j.cs16 --json --flush --force
same out j.json "JSON is repeatable"
for n in 1 2 363 625 626; do
  head -c $((4 * n)) a.cs16 >n.cs16
  "$TAPLAG" resample n.cs16 --rate 25M -o - 2>err >o.cs16
  is "$(stat -c %s o.cs16)" $((4 * ((n * 768 + 624) / 625))) "$n inputs: ceil(n*L/M) outputs"
done

# Gaps: 2000 samples, 1250 missing, 3000 samples; 1250 * 768 / 625 = 1536.
cat >gap.sigmf-meta <<'END'
{"global": {"core:datatype": "ci16_le", "core:sample_rate": 25000000, "core:version": "1.0.0"},
 "captures": [
  {"core:sample_start": 0, "core:frequency": 1800000000, "core:datetime": "2024-05-01T12:00:00.000000Z"},
  {"core:sample_start": 2000, "core:frequency": 1900000000, "core:datetime": "2024-05-01T12:00:00.000130Z"}],
 "annotations": []}
END
head -c 20000 a.cs16 >gap.sigmf-data
expect 0 "" "gaps are marked" -- "$TAPLAG" resample gap.sigmf-meta -o gm.sigmf-meta --json
is "$(json out input.processed input.dropped output.written output.left_out | tr '\n' ' ')" "5000 1250 6144 1536 " "marked: what is missing is counted on both sides"
is "$(json gm.sigmf-meta captures[1].core:sample_start captures[1].core:global_index captures[1].core:frequency | tr '\n' ' ')" "2458 3994 1900000000 " "marked: the new capture begins there, with its frequency"
is "$(json gm.sigmf-meta captures[0].core:datetime captures[1].core:datetime | tr '\n' ' ')" "2024-05-01T12:00:00.000000Z 2024-05-01T12:00:00.000130013020Z " "marked: times go along"
expect 0 "1536 samples are missing" "info finds the gap again" -- "$TAPLAG" info gm.sigmf-meta
expect 0 "cannot mark where" "raw output cannot mark, and says so" -- "$TAPLAG" resample gap.sigmf-meta -o gm.cs16
same gm.cs16 gm.sigmf-data "marked: the samples are the same in raw"
expect 0 "" "gaps filled with zeros" -- "$TAPLAG" resample gap.sigmf-meta --gaps zero -o gz.cs16 --json
is "$(json out input.processed input.zeros output.written output.left_out | tr '\n' ' ')" "5000 1250 7680 0 " "zero: everything is emitted"
(head -c 8000 a.cs16; head -c 5000 /dev/zero; tail -c +8001 gap.sigmf-data) >zeros.cs16
expect 0 "" "a file with the zeros in it" -- "$TAPLAG" resample zeros.cs16 --rate 25M -o zz.cs16
same gz.cs16 zz.cs16 "zero: a gap is as many zeros"
(head -c $((4 * 2458)) zz.cs16; tail -c +$((4 * 3994 + 1)) zz.cs16) >cut.cs16
same gm.cs16 cut.cs16 "mark: the same outputs, less those of the gap"
expect 0 "joined over" "gaps closed" -- "$TAPLAG" resample gap.sigmf-meta --gaps close -o gc.cs16 --json
is "$(json out input.closed output.written | tr '\n' ' ')" "1250 6144 " "close: counted"
expect 0 "" "the samples alone" -- "$TAPLAG" resample gap.sigmf-data --no-hash --gaps close -o gc2.cs16
same gc.cs16 gc2.cs16 "close: as if nothing had been missing"
cmp -s gc.cs16 gm.cs16 && not_ok "close and mark differ" || ok "close and mark differ"

# Windows, swapped components, full scale.
expect 0 "" "a window" -- "$TAPLAG" resample a.cs16 --rate 25M --start 1000 --length 2500 -o w.cs16
tail -c +4001 a.cs16 | head -c 10000 | "$TAPLAG" resample - --format cs16 --rate 25M -o w2.cs16 >out 2>err
same w.cs16 w2.cs16 "a window is the samples cut out"
expect 0 "" "a window in time" -- "$TAPLAG" resample a.cs16 --rate 25M --start 40us --length 100us -o w3.cs16
same w.cs16 w3.cs16 "40 us is sample 1000, 100 us are 2500 samples"
expect 2 "give --rate" "a window in time needs a rate" -- "$TAPLAG" info a.cs16 --start 40us
expect 2 "archives" "--recording of what is no archive" -- "$TAPLAG" resample a.cs16 --rate 25M --recording x -o x.cs16
expect 0 "" "--swap-iq" -- "$TAPLAG" resample a.cs16 --rate 25M --swap-iq -o s.cs16
od -An -v -td2 -w4 c.cs16 | awk '{print $2, $1}' >swap.a
od -An -v -td2 -w4 s.cs16 | awk '{print $1, $2}' >swap.b
same swap.a swap.b "--swap-iq exchanges the components of every output"

# Other ratios, an own kernel, truncation.
expect 0 "resampler 8/5" "19.2M to 30.72M is 8/5" -- "$TAPLAG" resample a.cs16 --rate 19.2M -o r.cs16
expect 0 "" "--cpu c" -- "$TAPLAG" resample a.cs16 --rate 25M --cpu c -o cpu.cs16
same c.cs16 cpu.cs16 "the plain kernel gives the same bytes"

# What is wrong is said, with the promised status.
expect 2 "give -o FILE" "no output" -- "$TAPLAG" resample a.cs16 --rate 25M
expect 2 "give --rate" "no rate" -- "$TAPLAG" resample a.cs16 -o x.cs16
cp a.cs16 a.dat
expect 2 "give --format" "no type" -- "$TAPLAG" resample a.dat --rate 25M -o x.cs16
expect 2 "exists" "the output exists" -- "$TAPLAG" resample a.cs16 --rate 25M -o b.cs16
expect 2 "not a rate" "a wrong rate" -- "$TAPLAG" resample a.cs16 --rate fast -o x.cs16
expect 2 "one of mark" "a wrong --gaps" -- "$TAPLAG" resample a.cs16 --rate 25M --gaps fill -o x.cs16
expect 2 "not a sample format" "a wrong --out-format" -- "$TAPLAG" resample a.cs16 --rate 25M --out-format s16 -o x.cs16
expect 2 "65535" "an impossible ratio" -- "$TAPLAG" resample a.cs16 --rate 25000001 -o x.cs16
expect 2 "same option" "--to and --out-rate" -- "$TAPLAG" resample a.cs16 --rate 25M --to 25M --out-rate 25M -o x.cs16
expect 2 "whole number" "a WAV cannot state such a rate" -- "$TAPLAG" resample a.cs16 --rate 25M --to 184320000/7 -o x.wav
expect 2 "starts at sample" "a window behind the end" -- "$TAPLAG" resample a.cs16 --rate 25M --start 1M -o x.cs16
expect 4 "No such file" "no input" -- "$TAPLAG" resample nothing.cs16 --rate 25M -o x.cs16
expect 3 "" "taps of another ratio" -- bash -c "printf '# S=14 L=2 N=2\n16384\n16384\n' >t.txt; '$TAPLAG' resample a.cs16 --rate 25M --filter t.txt -o x.cs16"
absent x.cs16 "none of these left an output"
absent x.wav "nor a WAV"

cp a.cs16 own.cs16
expect 2 "which is read" "an output that is the input" -- "$TAPLAG" resample own.cs16 --rate 25M -o ./own.cs16 --force
same a.cs16 own.cs16 "the input is as it was"
ln -s own.cs16 other.cs16
expect 2 "which is read" "the same by a link" -- "$TAPLAG" resample own.cs16 --rate 25M -o other.cs16 --force
same a.cs16 own.cs16 "the input is as it was still"
cp t.txt taps.cs16
expect 2 "which is read" "an output that is the taps" -- "$TAPLAG" resample own.cs16 --rate 25M --filter taps.cs16 -o taps.cs16 --force

if [ -f "$CAPTURES/lte20_25Msps_80ms.sc16" ]; then
  expect 0 "2457600 written" "the LTE capture, type and rate by its name" -- "$TAPLAG" resample "$CAPTURES/lte20_25Msps_80ms.sc16" --align -o lte.cs16
  expect 0 "resampler 8/5" "the 19.2 Msps capture to 30.72" -- "$TAPLAG" resample "$CAPTURES/lte_f796M_s19.2M_hackrf.cs8" -o l2.cs16
  expect 0 "resampler 125/96" "and to 25" -- "$TAPLAG" resample "$CAPTURES/lte_f796M_s19.2M_hackrf.cs8" --to 25M -o l3.cs16
else
  skip "no captures at $CAPTURES"
fi
