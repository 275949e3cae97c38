# SPDX-License-Identifier: Apache-2.0
# taplag evm: what a resampler adds, by itself; verdicts and limits; lost samples and their places; options; JSON.
. "$(dirname "$0")/lib.sh"
evm=("$TAPLAG" evm)
synth() { "$TAPLAG" synth lte --level -15dBFS "$@" --force >/dev/null; }
resample() { "$TAPLAG" resample "$@" --from 25M --to 30.72M --force >/dev/null 2>&1; }
# between NAME LOW HIGH DESCRIPTION: a number of ./j.json
between() {
  local value
  value=$(json j.json "$1")
  if awk -v v="$value" -v a="$2" -v b="$3" 'BEGIN {exit !(v != "" && v != "null" && v >= a && v <= b)}'; then
    ok "$4 ($value)"
  else
    not_ok "$4: $1 is '$value', wanted $2 to $3"
  fi
}

# ---- cells: every bandwidth, identities from 0 to 503 of all three groups' roots, one and two ports ----
prbs=(6 15 25 50 75 100) bands=(1.4M 3M 5M 10M 15M 20M)
wrong=
for k in $(seq 0 23); do
  b=$((k % 6)) cell=$((k * 503 / 23)) ports=$((k / 6 % 2 + 1)) sfn=$((k * 43 % 1024))
  synth --rate 25M --bandwidth "${bands[$b]}" --cell $cell --ports $ports --sfn $sfn --duration 21ms -o cell.cs16
  "${evm[@]}" cell.cs16 --rate 25M --json >j.json 2>err || wrong="$wrong cell $cell: exit $?;"
  got=$(json j.json 'cells[0].id' 'cells[0].prb' 'cells[0].ports' 'cells[0].sfn' 'cells[0].mib_crc_ok' | tr '\n' ' ')
  [ "$got" = "$cell ${prbs[$b]} $ports $sfn true " ] || wrong="$wrong cell $cell, ${prbs[$b]} blocks, $ports ports, frame $sfn: $got;"
done
is "$wrong" "" "24 cells of all bandwidths: identity, bandwidth, ports, frame number and EVM are right"
rm -f cell.cs16

# ---- what the resampler adds: E-TM3.1a (256QAM) of 20 MHz, 25 to 30.72 Msps ----
synth --model etm3.1a --window 8 --rate 25M --duration 20ms -o a.cs16
resample a.cs16 --align -o b.cs16
expect 0 '^PASSED.*TS 36.104' "a windowed test model passes" -- "${evm[@]}" a.cs16 --rate 25M
expect 0 'identity 1, 100 resource blocks \(20 MHz\), 1 port; no MIB' "its cell is found, and that it has no MIB" -- "${evm[@]}" a.cs16 --rate 25M
"${evm[@]}" a.cs16 b.cs16 --rate 25M --to 30.72M --json >j.json 2>err
is $? 0 "before and after the default filter: passed"
is "$(json j.json schema)" taplag/evm/1 "the JSON names its schema"
is "$(json j.json 'cells[0].id' 'cells[0].prb' 'cells[0].ports' 'cells[0].sfn' 'cells[0].mib_crc_ok' | tr '\n' ' ')" "1 100 1 null false " "cells: id, prb, ports, sfn, mib_crc_ok"
is "$(json j.json 'out.cells[0].evm.256QAM.resource_block_pairs')" 2000 "every resource block pair is 256QAM"
for window in low high middle; do
  between "added.equalised.$window.rms_db" -120 -74 "the default filter adds less than -74 dB equalised, window $window"
  between "added.before.$window.rms_db" -120 -72 "and less than -72 dB before, window $window"
done
between 'cells[0].evm.256QAM.equalised.middle.rms_percent' 0 0.02 "the receiver's own share is less than 0.02 %"
between delay_outputs 0 0 "aligned: no delay"
resample a.cs16 --align --taps 24 -o b24.cs16
"${evm[@]}" a.cs16 b24.cs16 --rate 25M --json >j.json 2>err
between added.equalised.middle.rms_db -120 -78 "24 taps add less than -78 dB equalised"
between added.before.middle.rms_db -120 -78 "and before"
resample a.cs16 -o c.cs16
"${evm[@]}" a.cs16 c.cs16 --rate 25M --json >j.json 2>err
between added.equalised.middle.rms_db -120 -74 "the causal chain adds as much"
between delay_outputs 9.828 9.830 "and its delay is that of the taps, 9.8288"
expect 0 'error vectors' "--max-added holds" -- "${evm[@]}" a.cs16 b.cs16 --rate 25M --max-added -77
expect 1 'of -7[78][.0-9]* dB at the low window, more than -79' "or fails, at either of the standard's windows" -- "${evm[@]}" a.cs16 b.cs16 --rate 25M --max-added -79
grep -q 'at most .* middle held, low window not held, high window held' out && ok "which is told" || not_ok "which is told: $(grep 'at most' out)"
expect 1 'error vectors between the two of' "or fails" -- "${evm[@]}" a.cs16 b.cs16 --rate 25M --max-added -90
# Band-limited, with the default window: all three positions hold, as nothing is left for the resampler to cut.
synth --model etm3.1a --band-limit --rate 25M --duration 20ms -o l.cs16
resample l.cs16 --align -o lb.cs16
"${evm[@]}" l.cs16 lb.cs16 --rate 25M --json --max-added -74 >j.json 2>err
is $? 0 "band-limited: --max-added -74 holds with the default taps"
for window in low high middle; do
  between "added.equalised.$window.rms_db" -120 -80 "less than -80 dB equalised, window $window"
  between "added.before.$window.rms_db" -120 -77 "and less than -77 dB before, window $window"
done
between 'cells[0].evm.256QAM.equalised.low.rms_percent' 0.1 0.3 "the filter's own ringing: less than 0.3 % at the standard's window"
resample l.cs16 --align --taps 24 -o lb24.cs16
expect 0 'error vectors' "24 taps: less than -82 dB at all positions" -- "${evm[@]}" l.cs16 lb24.cs16 --rate 25M --max-added -82
for pair in 1.4M:1.92M 3M:3.84M 5M:7.68M 10M:15.36M 15M:23.04M; do
  synth --model etm3.1a --band-limit --bandwidth ${pair%:*} --rate ${pair#*:} --duration 10ms -o l.cs16
  "$TAPLAG" resample l.cs16 --from ${pair#*:} --to 25M --align --force -o lb.cs16 >/dev/null 2>&1
  expect 0 'held, low window held, high window held' "band-limited ${pair%:*}: -74 dB holds from ${pair#*:} to 25 Msps" -- "${evm[@]}" l.cs16 lb.cs16 --rate ${pair#*:} --to 25M --max-added -74
done
# Without a window side lobes fall into the transition band: between windows of the standard about -65 dB.
synth --model etm3.1a --window none --rate 25M --duration 20ms -o u.cs16
resample u.cs16 --align -o ub.cs16
"${evm[@]}" u.cs16 ub.cs16 --rate 25M --json >j.json 2>err
between added.equalised.high.rms_db -70 -62 "unwindowed: about -65 dB at the standard's window"
between added.equalised.middle.rms_db -120 -74 "in the middle of the prefix it does not show"
resample u.cs16 --align --taps 24 -o ub24.cs16
"${evm[@]}" u.cs16 ub24.cs16 --rate 25M --json >j.json 2>err
between added.equalised.high.rms_db -75 -60 "whatever the filter"
# A broken chain: linear interpolation is a triangle of 2 * 768 - 1 taps.
awk 'BEGIN {print "# S=14 L=768 N=1535"; for (i = 0; i < 1535; i++) {d = i - 767; if (d < 0) d = -d; printf "%d\n", 16384 * (1 - d / 768) + 0.5}}' >linear.txt
resample a.cs16 --align --filter linear.txt -o l.cs16
"${evm[@]}" a.cs16 l.cs16 --rate 25M --json >j.json 2>err
between added.equalised.middle.rms_db -33 -28 "linear interpolation adds about -30 dB"
between added.before.middle.rms_db -30 -10 "and much more before equalisation"
between 'cells[0].evm.256QAM.equalised.middle.rms_percent' 0 0.02 "of IN's own nothing"

# ---- lost and doubled samples ----
{ head -c 1600000 b.cs16; tail -c +1600005 b.cs16; } >d1.cs16
expect 1 '1\.00 outputs lost \(0\.81 inputs\), at output (39999[89]|40000[0-2]) \+-2 ' "one lost output, to the sample" -- "${evm[@]}" a.cs16 d1.cs16 --rate 25M
expect 1 'samples lost, at sample' "and without IN, to a symbol or three" -- "${evm[@]}" d1.cs16 --rate 30.72M
{ head -c 1000000 a.cs16; tail -c +1002501 a.cs16; } >lost.cs16
resample lost.cs16 --align -o lostb.cs16
"${evm[@]}" a.cs16 lostb.cs16 --rate 25M --json >j.json 2>err
is $? 1 "a packet lost before the resampler: failed"
is "$(json j.json out.n_steps n_steps | tr '\n' ' ')" "1 0 " "it is OUT that lost it"
between 'out.steps[0].inputs' -625.01 -624.99 "625 inputs"
between 'out.steps[0].at_sample' 307176 307224 "at input 250000 = output 307200"
{ head -c 1001456 b.cs16; tail -c +1000001 b.cs16; } >twice.cs16
expect 1 '364\.00 outputs too many .* at output 25036[2-6] ' "a packet of 364 that came twice" -- "${evm[@]}" a.cs16 twice.cs16 --rate 25M
"${evm[@]}" a.cs16 twice.cs16 --rate 25M --json >j.json 2>err
between added.equalised.middle.rms_db -120 -74 "what is left of it is measured as before"
expect 0 'none: no sample lost' "what IN lost already is not the resampler's" -- "${evm[@]}" lost.cs16 lostb.cs16 --rate 25M

# ---- whole frames, half frames, what cannot be seen as a step ----
cut() { # FILE AT N NEW: N samples from AT on are missing
  { head -c $((4 * $2)) "$1"; tail -c +$((4 * ($2 + $3) + 1)) "$1"; } >"$4"
}
again() { # FILE AT N NEW: the N samples before AT come twice
  { head -c $((4 * $2)) "$1"; tail -c +$((4 * ($2 - $3) + 1)) "$1"; } >"$4"
}
over() { # FILE AT FROM N NEW: N samples from FROM on stand at AT, too; FROM = - : zeros
  { head -c $((4 * $2)) "$1"; if [ "$3" = - ]; then head -c $((4 * $4)) /dev/zero; else tail -c +$((4 * $3 + 1)) "$1" | head -c $((4 * $4)); fi
    tail -c +$((4 * ($2 + $4) + 1)) "$1"; } >"$5"
}
synth --bandwidth 5M --rate 7.68M --duration 80ms --repeat 80ms --mcs 12 --sfn 1020 --cell 33 -o f.cs16
cp f.cs16 g.cs16 # what a perfect resampler gives
pair=("${evm[@]}" f.cs16 n.cs16 --rate 7.68M --to 7.68M)
expect 0 'none: no sample lost or doubled between 1\.000 and 79\.000 ms of 80' "where steps can be seen is told" -- "${evm[@]}" f.cs16 g.cs16 --rate 7.68M --to 7.68M
for lost in 38400 46080 92160 76800 307200; do
  cut g.cs16 175000 $lost n.cs16
  expect 1 "$lost\.00 outputs lost .* at output (17499[89]|17500[012]) " "$((lost / 7680)) ms lost: sign, size, place" -- "${pair[@]}"
  grep -q '64QAM.*FAIL\|16QAM.*FAIL' out && not_ok "and what is left fits: $(grep QAM out)" || ok "and what is left is compared with what it is"
done
again g.cs16 175000 76800 n.cs16
expect 1 '76800\.00 outputs too many .* at output (17499[89]|17500[012]) ' "10 ms that came twice" -- "${pair[@]}"
expect 1 '76800\.00 samples too many, at sample' "which a single recording's frame numbers show" -- "${evm[@]}" n.cs16 --rate 7.68M
for lost in 38400 46080 76800 307200; do
  cut g.cs16 175000 $lost n.cs16
  expect 1 "$lost\.[0-9][0-9] samples lost, at sample" "$((lost / 7680)) ms lost, in one recording" -- "${evm[@]}" n.cs16 --rate 7.68M
done
expect 0 'whole frames: by the MIB' "frame numbers are told to be those of the MIB" -- "${evm[@]}" f.cs16 --rate 7.68M
expect 0 'whole frames .* cannot be told: no frame numbers' "and that a test model has none" -- "${evm[@]}" a.cs16 --rate 25M
synth --model etm3.1 --bandwidth 5M --rate 7.68M --duration 40ms -o e.cs16
cp e.cs16 n.cs16
expect 0 'whole frames: cannot be told.* repeats itself after 10 ms' "and that a test model repeats itself" -- "${evm[@]}" e.cs16 n.cs16 --rate 7.68M --to 7.68M
over g.cs16 175000 - 91 n.cs16
expect 1 'stand out in 1 subframe, most in number 22 ' "a packet of zeros: the subframe is named" -- "${pair[@]}"
grep -qE 'outliers +subframe 22, symbol 1[01] \(output 17[45]' out && ok "and the symbol" || not_ok "and the symbol: $(grep outliers out)"
over g.cs16 175000 174909 91 n.cs16
expect 1 'stand out in 1 subframe, most in number 22 ' "a packet in place of the next" -- "${pair[@]}"
grep -q 'no change of timing that lasts' out && ok "which is not said to be nothing lost" || not_ok "which is not said to be nothing lost"
over g.cs16 200000 200005 500 n.cs16
expect 1 'stand out in 1 subframe, most in number 26 ' "5 samples lost, and 5 doubled 500 later" -- "${pair[@]}"
cut g.cs16 100 10 n.cs16
expect 1 '10\.00 outputs lost .* at output (9[0-9]|1[0-3][0-9]) ' "10 lost 13 us after the beginning" -- "${pair[@]}"
grep -q '10 fewer than' out && ok "and the length does not fit" || not_ok "and the length does not fit"

cut g.cs16 613500 7 n.cs16
expect 1 '7\.00 outputs lost .* at output 613[45]' "7 lost in the last 0.2 ms" -- "${pair[@]}"
again g.cs16 613500 7 n.cs16
expect 1 '7\.00 outputs too many .* at output 613[45]' "7 that came twice there" -- "${pair[@]}"
over g.cs16 613500 - 800 n.cs16
expect 1 'from output 613[45].* it is not what IN has' "or zeros" -- "${pair[@]}"
expect 1 'middle not held, low window not held, high window not held' "--max-added tells all three positions" -- "${evm[@]}" a.cs16 l.cs16 --rate 25M --max-added -74

# ---- gaps, numbers that are none, wrong rates ----
"$TAPLAG" resample g.cs16 --from 7.68M --to 7.68M -o /dev/null >/dev/null 2>&1
cut g.cs16 104000 1000 gap.sigmf-data
cat >gap.sigmf-meta <<'EOG'
{"global": {"core:datatype": "ci16_le", "core:sample_rate": 7680000, "core:version": "1.0.0"},
 "captures": [{"core:sample_start": 0, "core:global_index": 0}, {"core:sample_start": 104000, "core:global_index": 105000}],
 "annotations": []}
EOG
expect 0 '1000 samples missing at 104000' "a gap that the recording tells is told" -- "${evm[@]}" gap.sigmf-meta
grep -q 'subframes  79 measured of 80' out && ok "and not measured" || not_ok "and not measured: $(grep ^subframes out)"
"${evm[@]}" gap.sigmf-meta --json >j.json 2>err
is "$(json j.json missing_samples 'gaps[0].at_sample' 'gaps[0].samples' | tr '\n' ' ')" "1000 104000 1000 " "in JSON, too"
"$TAPLAG" resample f.cs16 --from 7.68M --to 7.68M --out-format cf32 -o x.cf32 --force >/dev/null 2>&1 || "${TAPLAG}" synth lte --bandwidth 5M --rate 7.68M --duration 20ms --format cf32 -o x.cf32 --force >/dev/null 2>&1
{ head -c 400000 x.cf32; printf '\000\000\300\177'; tail -c +400005 x.cf32; } >nan.cf32
expect 0 '1 not finite' "a NaN is counted and told" -- "${evm[@]}" nan.cf32 --rate 7.68M
"${evm[@]}" nan.cf32 --rate 7.68M --json >j.json 2>err
is "$(json j.json non_finite_components)" 1 "in JSON, too"
for k in $(seq 4096); do printf '\000\000\300\177\000\000\300\177'; done >nans.cf32
expect 3 'not one of its 4096 samples is a finite number' "nothing but NaN is bad input" -- "${evm[@]}" nans.cf32 --rate 7.68M
grep -q 'not plausible' err && not_ok "and not taken for another format" || ok "and not taken for another format"
expect 1 'rate looks wrong: by this cell the samples come at 7\.68 Msps' "a rate stated 400 ppm wrong" -- "${evm[@]}" f.cs16 --rate 7.676928M
grep -q 'samples lost\|too many' out && not_ok "is not taken for lost samples" || ok "is not taken for lost samples"
head -c 61440 f.cs16 >two.cs16
expect 0 'standard errors not measurable' "no error of infinity" -- "${evm[@]}" two.cs16 --rate 7.68M --limits none
"$TAPLAG" synth tone --rate 7.68M --level -15dBFS --duration 10ms -o tone.cs16 --force >/dev/null 2>&1
"${evm[@]}" tone.cs16 --rate 7.68M --json >j.json 2>err
is "$(json j.json level_dbfs)" "-15.0" "the level is told without a cell, too"
expect 0 '25 resource blocks as stated.*they look too few|15 resource blocks as stated.*they look too few' "--prb too small is doubted" -- "${evm[@]}" e.cs16 --rate 7.68M --prb 15 --limits none
expect 0 '--prb +15 is not taken: the MIB tells 25' "and not taken against a MIB" -- "${evm[@]}" f.cs16 --rate 7.68M --prb 15 --limits none

# ---- verdicts and limits ----
synth --model etm3.1a --bandwidth 5M --rate 7.68M --duration 20ms --snr 26 -o s.cs16
expect 1 '256QAM has an EVM of [34]\.[0-9]* %, more than 3\.5 %' "noise fails 256QAM's 3.5 %" -- "${evm[@]}" s.cs16 --rate 7.68M
expect 0 '^PASSED.*36.141' "but passes the limit of tests" -- "${evm[@]}" s.cs16 --rate 7.68M --limits 36.141
expect 0 'NOT JUDGED' "or none" -- "${evm[@]}" s.cs16 --rate 7.68M --limits none
expect 0 'ACLR +not measurable at this rate; 14\.5 Msps are needed' "ACLR needs twice channel and band" -- "${evm[@]}" s.cs16 --rate 7.68M --limits none
synth --model etm3.1 --bandwidth 5M --rate 30.72M --duration 20ms -o w.cs16
expect 0 'ACLR .* dB at -10 MHz.* at \+5 MHz.*at least 45' "and is measured where the rate carries it" -- "${evm[@]}" w.cs16 --rate 30.72M
expect 0 'occupied \(99 %\) 4\.4[0-9]* MHz' "occupied bandwidth of 25 resource blocks" -- "${evm[@]}" w.cs16 --rate 30.72M
for model in etm1.1:QPSK etm3.1:64QAM etm3.1a:256QAM etm3.2:16QAM etm3.3:QPSK; do
  synth --model ${model%:*} --bandwidth 3M --rate 3.84M --duration 20ms -o m.cs16
  expect 0 "  ${model#*:} .*pass" "${model%:*} passes, with ${model#*:}" -- "${evm[@]}" m.cs16 --rate 3.84M
  grep -q ' 0 unclear' out && ok "and nothing in it is unclear" || not_ok "${model%:*}: $(grep unclear out)"
done

# Against the clean signal noise is measured, not decided: 10^(-(SNR of a subcarrier)/20), which is 10 log10(7.68 / 4.5) dB more.
synth --model etm3.1a --bandwidth 5M --rate 7.68M --duration 20ms -o c.cs16
for snr in 10 15 20; do
  synth --model etm3.1a --bandwidth 5M --rate 7.68M --duration 20ms --snr $snr -o s.cs16
  "${evm[@]}" c.cs16 s.cs16 --rate 7.68M --to 7.68M --json >j.json 2>err
  set -- $(awk -v s=$snr 'BEGIN {f = 100 * 10 ^ (-(s + 10 * log(7.68 / 4.5) / log(10)) / 20); print 0.98 * f, 1.02 * f}')
  between out.cells[0].evm.256QAM.evm_percent "$1" "$2" "$snr dB of signal to noise, against the clean one: EVM within 2 % of the formula"
done
is "$(json j.json 'cells[0].evm.256QAM.decisions_unsafe')" false "as the decisions are those of the clean one"
synth --model etm3.1a --bandwidth 5M --rate 7.68M --duration 20ms --snr 25 -o s.cs16
expect 1 '256QAM decided blindly, from 500 of 500 pairs, .*the figure flatters' "a figure of unsafe decisions says that it flatters" -- "${evm[@]}" s.cs16 --rate 7.68M
"${evm[@]}" s.cs16 --rate 7.68M --json >j.json 2>err
is "$(json j.json 'cells[0].evm.256QAM.decisions_unsafe')" true "in JSON, too"
synth --model etm3.1a --bandwidth 5M --rate 7.68M --duration 20ms --snr 30 -o s.cs16
expect 0 '^PASSED' "and a safe one" -- "${evm[@]}" s.cs16 --rate 7.68M
grep -q blindly out && not_ok "does not" || ok "does not"

# ---- a cell with a MIB, tables, JSON that repeats ----
synth --bandwidth 5M --rate 7.68M --duration 50ms --cell 101 --ports 2 --port1=-1,70 --sfn 1021 --mcs 12 -o p.cs16
expect 0 'identity 101, 25 resource blocks \(5 MHz\), 2 ports; MIB right, frame 1021' "a cell of two ports: MIB, frame number" -- "${evm[@]}" p.cs16 --rate 7.68M --per all
grep -q '  16QAM  *12.5 .* pass' out && ok "transmit diversity is undone" || not_ok "transmit diversity is undone: $(grep QAM out)"
rows=$(awk '/^subcarrier / {on = 1; next} on && /^ / {n++} END {print n}' out)
is "$rows" 300 "--per lists 300 subcarriers"
expect 0 'frame 0 begins at sample 0\.00' "of numbers that go beyond 1023, too" -- "${evm[@]}" p.cs16 --rate 7.68M --start 230400
"${evm[@]}" p.cs16 --rate 7.68M --json >first.json 2>err
"${evm[@]}" p.cs16 --rate 7.68M --json >again.json 2>err
same first.json again.json "two runs give equal JSON"
cp first.json j.json
is "$(json j.json 'cells[0].sfn' 'cells[0].mib_crc_ok' 'cells[0].evm.16QAM.passed' | tr '\n' ' ')" "1021 true true " "JSON: frame number, MIB, verdict"
expect 1 'no cell of identity 102 found, but 101' "--cell asks for another" -- "${evm[@]}" p.cs16 --rate 7.68M --cell 102
synth --bandwidth 5M --rate 7.68M --duration 20ms --cell 102 -o q.cs16
expect 1 'not the same signal' "another cell in OUT" -- "${evm[@]}" p.cs16 q.cs16 --rate 7.68M --to 7.68M

# ---- options ----
expect 2 '--limits 36.105: one of' "an unknown limit" -- "${evm[@]}" q.cs16 --rate 7.68M --limits 36.105
expect 2 '--per slot: one of' "an unknown table" -- "${evm[@]}" q.cs16 --rate 7.68M --per slot
expect 2 '--smooth 4: must be odd' "an even average" -- "${evm[@]}" q.cs16 --rate 7.68M --smooth 4
expect 2 '--average 0: must be from 1' "no subframe" -- "${evm[@]}" q.cs16 --rate 7.68M --average 0
expect 2 '--cell 504' "a cell beyond 503" -- "${evm[@]}" q.cs16 --rate 7.68M --cell 504
expect 2 '--prb 20: one of' "no such bandwidth" -- "${evm[@]}" q.cs16 --rate 7.68M --prb 20
expect 2 'for OUT, which is not given' "--to without OUT" -- "${evm[@]}" q.cs16 --rate 7.68M --to 25M
expect 2 'does not tell its rate' "no rate" -- "${evm[@]}" q.cs16
expect 2 'only one of IN and OUT' "both from stdin" -- "${evm[@]}" - - --format cs16 --rate 25M
expect 4 'none.cs16' "no such file" -- "${evm[@]}" none.cs16 --rate 25M
cat p.cs16 | "${evm[@]}" - --format cs16 --rate 7.68M >out 2>err && ok "from stdin" || not_ok "from stdin: $?"
