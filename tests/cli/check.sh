# SPDX-License-Identifier: Apache-2.0
# taplag check: verdicts, places, exit statuses, JSON that repeats, plots.
. "$(dirname "$0")/lib.sh"

rates=(--format cs16 --from 25M --to 30.72M)
check=("$TAPLAG" check)

"$TAPLAG" synth ofdm --rate 25M --duration 20ms --level -15dBFS --seed 1 -o a.cs16 >/dev/null || exit 1
"$TAPLAG" synth tones --rate 25M --duration 10ms -o t.cs16 >/dev/null || exit 1
for f in a t; do
  "$TAPLAG" resample $f.cs16 "${rates[@]}" --align -o ${f}b.cs16 >/dev/null || exit 1
done
"$TAPLAG" resample a.cs16 "${rates[@]}" -o ac.cs16 >/dev/null || exit 1
"$TAPLAG" resample a.cs16 "${rates[@]}" --flush -o af.cs16 >/dev/null || exit 1

# ---- right chains ----
expect 0 '^PASSED' "the aligned chain passes on OFDM" -- "${check[@]}" a.cs16 ab.cs16 "${rates[@]}" --align
expect 0 'inputs 64 to 499,935 of 500,000 with outputs 78 to 614,320' "it states which samples it compared" -- "${check[@]}" a.cs16 ab.cs16 "${rates[@]}" --align
expect 0 'delay 6143/625 = 9.8288 outputs \(that of the taps\)' "the causal chain passes at the delay of its taps" -- "${check[@]}" a.cs16 ac.cs16 "${rates[@]}"
expect 0 '^PASSED' "a flushed chain passes" -- "${check[@]}" a.cs16 af.cs16 "${rates[@]}"
expect 0 '^PASSED' "a delay may be stated" -- "${check[@]}" a.cs16 ac.cs16 "${rates[@]}" --delay 6143/625
expect 0 '^PASSED' "other names of the rates" -- "${check[@]}" a.cs16 ab.cs16 --format cs16 --rate 25M --out-rate 30.72M --align
expect 0 'a spectrum of separate tones' "tones are measured line by line" -- "${check[@]}" t.cs16 tb.cs16 "${rates[@]}" --align --tones
lines=$(grep -cE '^ +[-+][0-9.]+ +-[0-9.]+ +[-+]0\.00[0-9]+ ' out)
if [ "$lines" -eq 61 ]; then ok "61 tones are listed"; else not_ok "61 tones are listed: $lines"; fi
cat ab.cs16 | "${check[@]}" a.cs16 - "${rates[@]}" --align >out 2>err && ok "OUT from stdin" || not_ok "OUT from stdin"
cat a.cs16 | "${check[@]}" - ab.cs16 "${rates[@]}" --align >out 2>err && ok "IN from stdin" || not_ok "IN from stdin"
expect 0 'inputs 100,064 to 199,999 of 500,000' "part of the input can be judged" -- "${check[@]}" a.cs16 ab.cs16 "${rates[@]}" --align --start 100000 --length 100000

# ---- the same JSON every time ----
"${check[@]}" a.cs16 ab.cs16 "${rates[@]}" --align --json >first.json
grep -q '"schema": *"taplag/check/1"' first.json && ok "the JSON names its schema" || not_ok "the JSON names its schema"
equal=1
for _ in $(seq 20); do
  "${check[@]}" a.cs16 ab.cs16 "${rates[@]}" --align --json >again.json
  cmp -s first.json again.json || equal=0
done
[ $equal = 1 ] && ok "20 runs give equal JSON" || not_ok "20 runs give equal JSON"

# ---- broken chains ----
# One output dropped: bytes 4 * 200000 .. are moved up.
{ head -c 800000 ab.cs16; tail -c +800005 ab.cs16; } >dropped.cs16
expect 1 'from output (19999[89]|20000[012]) .*1 output early' "a dropped output is found and placed" -- "${check[@]}" a.cs16 dropped.cs16 "${rates[@]}" --align
expect 1 '1 output is missing' "and missed in the count" -- "${check[@]}" a.cs16 dropped.cs16 "${rates[@]}" --align
# One packet of 625 inputs lost before the resampler, the gap closed: input 250000 = packet 400.
{ head -c 1000000 a.cs16; tail -c +1002501 a.cs16; } >lost.cs16
"$TAPLAG" resample lost.cs16 "${rates[@]}" --align -o lostb.cs16 >/dev/null
expect 1 '\(10\.[0-9]* ms, input [0-9]*, packet (399|400) of 625\).*625 inputs early: samples were lost there and the gap was closed' "an overrun whose gap was closed is found and placed" -- "${check[@]}" a.cs16 lostb.cs16 "${rates[@]}" --align
expect 1 'FAILED' "the causal output is not the aligned one" -- "${check[@]}" a.cs16 ac.cs16 "${rates[@]}" --align
expect 1 'later than the stated delay' "and it says by how much" -- "${check[@]}" a.cs16 ac.cs16 "${rates[@]}" --align
"$TAPLAG" resample a.cs16 "${rates[@]}" --align --swap-iq -o swapped.cs16 >/dev/null
expect 1 'mirrored' "exchanged I and Q are named" -- "${check[@]}" a.cs16 swapped.cs16 "${rates[@]}" --align
expect 0 '^PASSED' "unless IN was read with --swap-iq too" -- "${check[@]}" a.cs16 swapped.cs16 "${rates[@]}" --align --swap-iq
head -c 2457600 /dev/zero >silent.cs16
expect 1 'silent' "a silent output fails" -- "${check[@]}" a.cs16 silent.cs16 "${rates[@]}" --align
"$TAPLAG" resample a.cs16 "${rates[@]}" --align --taps 8 -o short.cs16 >/dev/null 2>&1
expect 1 'FAILED' "a filter of 8 taps a phase fails" -- "${check[@]}" a.cs16 short.cs16 "${rates[@]}" --align
expect 0 'PASSED' "but passes limits that suit it" -- "${check[@]}" a.cs16 short.cs16 "${rates[@]}" --align --min-snr 25 --max-image -15 --max-total -15 --max-ripple 2 --max-gain 1
expect 1 'at least 8[01][.0-9]*: 90 less what rounding takes' "limits are options" -- "${check[@]}" a.cs16 ab.cs16 "${rates[@]}" --align --min-snr 90
expect 1 'images +FAIL' "of the images, too" -- "${check[@]}" t.cs16 tb.cs16 "${rates[@]}" --align --max-image -90
expect 1 'ripple +0\.00.*at most 0\.00' "and of the ripple" -- "${check[@]}" a.cs16 ab.cs16 "${rates[@]}" --align --max-ripple 0.001

# ---- outputs that were cut, and errors at the ends ----
head -c 1228800 ab.cs16 >half.cs16
expect 1 '307200 outputs are missing' "half an output fails" -- "${check[@]}" a.cs16 half.cs16 "${rates[@]}" --align
head -c 200000 a.cs16 >short_in.cs16
"$TAPLAG" resample short_in.cs16 "${rates[@]}" --align -o short_out.cs16 >/dev/null
head -c 122880 short_out.cs16 >short_half.cs16
expect 1 '30720 outputs are missing' "also of a short input" -- "${check[@]}" short_in.cs16 short_half.cs16 "${rates[@]}" --align
head -c 400 short_out.cs16 >stub.cs16
expect 1 '61340 outputs are missing' "and when the rest is too short to compare" -- "${check[@]}" short_in.cs16 stub.cs16 "${rates[@]}" --align
expect 1 '"in_band": null' "of which the JSON has no figures" -- "${check[@]}" short_in.cs16 stub.cs16 "${rates[@]}" --align --json
cat stub.cs16 | "${check[@]}" short_in.cs16 - "${rates[@]}" --align >out 2>err
is $? 1 "from stdin, too"
expect 3 'too short' "unless the length is not judged" -- "${check[@]}" short_in.cs16 stub.cs16 "${rates[@]}" --align --any-length
{ head -c 3072 /dev/zero; tail -c +3073 ab.cs16; } >first.cs16
expect 1 'near the beginning of the recording.* to output 76[6-9]$' "the first packet zeroed is found there" -- "${check[@]}" a.cs16 first.cs16 "${rates[@]}" --align
{ head -c 2454528 ab.cs16; head -c 3072 /dev/zero; } >last.cs16
expect 1 'near the end of the recording, from output 6136[23][0-9] ' "the last packet zeroed is found there" -- "${check[@]}" a.cs16 last.cs16 "${rates[@]}" --align

# ---- right outputs of every signal pass ----
# Ratios down to 1/16, where full-band noise meets the rounding of 291 taps; "ramp" and "corners" clip, rightly.
right() { # SIGNAL FROM TO OPTION...: synthesises, resamples and checks
  local signal=$1 from=$2 to=$3
  shift 3
  # shellcheck disable=SC2086
  "$TAPLAG" synth $signal --rate "$from" --samples 60000 -o r.cs16 --force >/dev/null 2>&1 &&
    "$TAPLAG" resample r.cs16 --rate "$from" --to "$to" "$@" -o rb.cs16 --force >/dev/null 2>&1 &&
    "${check[@]}" r.cs16 rb.cs16 --rate "$from" --to "$to" "$@" >out 2>err
}
for ratio in 25M:30.72M 25M:20M 30.72M:25M 30.72M:1.92M; do
  for signal in tone:--freq:500k tones noise 'noise:--level:-15' 'noise:--level:-70' 'tone:--freq:500k:--level:-75' \
    impulse:--every:700:--value:30000 step:--at:20000:--value:20000 dc ofdm; do
    for how in --align --flush; do
      right "${signal//:/ }" ${ratio%:*} ${ratio#*:} $how && ok "$signal at $ratio passes, $how" || not_ok "$signal at $ratio passes, $how: $(grep -h . err out | tail -n 1)"
    done
  done
  right chirp ${ratio%:*} ${ratio#*:} --align
  [ $? != 1 ] && ok "a chirp at $ratio passes or has nothing in the band" || not_ok "a chirp at $ratio passes"
  right ramp ${ratio%:*} ${ratio#*:} --align
  [ $? = 1 ] && grep -q 'the signal is clipped' out && ! grep -qE ' (late|early):?' out && ok "a ramp at $ratio: clipping is named" || not_ok "a ramp at $ratio: clipping is named"
done
right corners 25M 30.72M --align
[ $? = 1 ] && grep -q 'the signal is clipped' out && ok "corners: clipping is named" || not_ok "corners: clipping is named"
"$TAPLAG" filter --method equiripple --taps 16 -o eq.json >/dev/null
right "tone" 25M 30.72M --align --filter eq.json && ok "taps of filter pass" || not_ok "taps of filter pass: $(tail -n 1 out)"

# ---- gaps ----
{ head -c 1000000 a.cs16; tail -c +1040001 a.cs16; } >g.sigmf-data
cat >g.sigmf-meta <<'META'
{"global": {"core:datatype": "ci16_le", "core:sample_rate": 25000000, "core:version": "1.0.0"},
 "captures": [{"core:sample_start": 0, "core:datetime": "2024-01-01T00:00:00.000000Z"},
 {"core:sample_start": 250000, "core:datetime": "2024-01-01T00:00:00.010400Z"}], "annotations": []}
META
"$TAPLAG" resample g.sigmf-meta --align -o gb.sigmf-meta >/dev/null 2>&1
expect 0 '2 gaps left out' "a gap that both sides mark is left out" -- "${check[@]}" g.sigmf-meta gb.sigmf-meta --align
expect 0 '614,400 for 500,000 inputs' "and counted" -- "${check[@]}" g.sigmf-meta gb.sigmf-meta --align
"$TAPLAG" resample g.sigmf-meta --align -o gb.cs16 >/dev/null 2>&1
expect 1 '12288 outputs are missing' "one that OUT does not mark is found" -- "${check[@]}" g.sigmf-meta gb.cs16 --out-format cs16 --align

# ---- bad input, usage ----
head -c 12 a.cs16 >three.cs16
: >empty.cs16
head -c 2000000 /dev/zero >zero.cs16
expect 3 'too short to compare: 3 samples' "3 samples are too few" -- "${check[@]}" three.cs16 ab.cs16 "${rates[@]}" --align
expect 3 'empty' "so are none" -- "${check[@]}" empty.cs16 empty.cs16 "${rates[@]}" --align
expect 3 'empty' "and an empty output" -- "${check[@]}" a.cs16 empty.cs16 "${rates[@]}" --align
expect 3 'silent' "a silent input cannot be judged" -- "${check[@]}" zero.cs16 ab.cs16 "${rates[@]}" --align
expect 4 'absent.cs16' "a missing file" -- "${check[@]}" a.cs16 absent.cs16 "${rates[@]}" --align
expect 2 'only one of IN and OUT' "stdin twice" -- "${check[@]}" - - "${rates[@]}"
expect 2 'rate' "a rate is needed" -- "${check[@]}" a.cs16 ab.cs16 --format cs16
expect 2 '--delay' "a delay must be one" -- "${check[@]}" a.cs16 ab.cs16 "${rates[@]}" --delay soon
expect 2 'leave out --delay' "--align and --delay exclude each other" -- "${check[@]}" a.cs16 ab.cs16 "${rates[@]}" --delay 8 --align
expect 2 '--packet 0: must be from 1' "packets of none" -- "${check[@]}" a.cs16 ab.cs16 "${rates[@]}" --align --packet 0
expect 2 '--skip 0: must be from 1' "a transient of none" -- "${check[@]}" a.cs16 ab.cs16 "${rates[@]}" --align --skip 0
expect 2 'band' "a band beyond half the rate" -- "${check[@]}" a.cs16 ab.cs16 "${rates[@]}" --align --band 13M
expect 2 'argument is missing' "two files are needed" -- "${check[@]}" a.cs16 "${rates[@]}"

# ---- plots ----
if command -v gnuplot >/dev/null; then
  expect 0 '' "a plot in SVG" -- "${check[@]}" a.cs16 ab.cs16 "${rates[@]}" --align --plot p.svg
  grep -q '</svg>' p.svg && grep -q 'ideal reference' p.svg && ok "it is whole" || not_ok "it is whole"
  expect 0 '' "a plot in PNG" -- "${check[@]}" t.cs16 tb.cs16 "${rates[@]}" --align --plot p.png
  [ "$(head -c 4 p.png | tail -c 3)" = PNG ] && ok "it is one" || not_ok "it is one"
  expect 2 'exists; --force' "an existing plot stays" -- "${check[@]}" a.cs16 ab.cs16 "${rates[@]}" --align --plot p.svg
  expect 0 '' "--force overwrites it" -- "${check[@]}" a.cs16 ab.cs16 "${rates[@]}" --align --plot p.svg --force
  expect 1 '' "a failed check stays failed with a plot" -- "${check[@]}" a.cs16 dropped.cs16 "${rates[@]}" --align --plot q.svg
  expect 4 'nowhere' "no such folder" -- "${check[@]}" a.cs16 ab.cs16 "${rates[@]}" --align --plot nowhere/p.svg
else
  skip "plots: gnuplot is not installed"
fi
expect 2 'end in .svg or .png' "other pictures are refused" -- "${check[@]}" a.cs16 ab.cs16 "${rates[@]}" --align --plot p.gif
mkdir bare
expect 5 'gnuplot is not installed' "without gnuplot a passed check says so" -- env PATH="$PWD/bare" "$TAPLAG" check a.cs16 ab.cs16 "${rates[@]}" --align --plot r.svg
absent r.svg "no plot is left"
expect 1 'gnuplot is not installed' "and a failed one fails" -- env PATH="$PWD/bare" "$TAPLAG" check a.cs16 dropped.cs16 "${rates[@]}" --align --plot r.svg
printf '#!/bin/sh\necho broken >&2\nexit 1\n' >bare/gnuplot
chmod +x bare/gnuplot
expect 5 'gnuplot failed: broken' "a gnuplot that fails leaves nothing" -- env PATH="$PWD/bare:/bin:/usr/bin" "$TAPLAG" check a.cs16 ab.cs16 "${rates[@]}" --align --plot r.svg
absent r.svg "no half plot is left"
if [ -w /dev/full ]; then
  "${check[@]}" a.cs16 ab.cs16 "${rates[@]}" --align >/dev/full 2>err
  [ $? = 4 ] && ok "results that cannot be written" || not_ok "results that cannot be written"
fi
