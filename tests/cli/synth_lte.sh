#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# taplag synth lte and impairments: what the options make, what the summary says, refusals.
. "$(dirname "$0")/lib.sh"

synth() { # NAME PATTERN ARGUMENTS...
  local name=$1 pattern=$2
  shift 2
  expect 0 "$pattern" "synth lte: $name" -- "$TAPLAG" synth lte -o l.cs16 --force "$@"
}
synth "the default cell" 'lte, cell 1, 100 resource blocks \(20 MHz\), 1 port, MCS 20 \(64QAM\), DCI 1 to 0x1234, symbols windowed over 0.13 us' --duration 1ms
grep -q "$(sha256sum l.cs16 | cut -d' ' -f1)" out && ok "synth lte: the hash printed is the file's" || not_ok "synth lte: hash"
synth "an LTE rate's own width" '25 resource blocks \(5 MHz\)' --rate 7.68M --duration 1ms
synth "another width" '50 resource blocks \(10 MHz\)' --bandwidth 10M --rate 30.72M --duration 1ms
synth "two ports, another cell" 'cell 503, 15 resource blocks \(3 MHz\), 2 ports' --bandwidth 3M --ports 2 --cell 503 --port1 -3,45 --rate 3.84M --duration 1ms
synth "256QAM, coded" 'MCS 27 \(256QAM\) of the table with 256QAM' --mcs 27 --mcs-256 --duration 1ms
synth "an MCS too high for subframe 0" 'MCS 26 \(64QAM\), 19 \(64QAM\) in subframe 0, DCI' --mcs 26 --rate 1.92M --duration 1ms
synth "DCI 1A to another" 'DCI 1A to 0x00ff' --dci 1a --rnti 0xff --duration 1ms
synth "uncoded" 'uncoded 16QAM, no window' --modulation 16qam --window none --duration 1ms
synth "band-limited" 'symbols windowed over 0.13 us, band-limited to \+-10 MHz \(flat to 9.015\)' --band-limit --duration 1ms
synth "band-limited, no window" 'no window, band-limited to \+-0.69 MHz \(flat to 0.555\)' --band-limit --window none --rate 1.92M --duration 5ms
cp l.cs16 whole
synth "band-limited, from a number on" 'from number 4000 on' --band-limit --window none --rate 1.92M --start 4000 --samples 5000
tail -c +16001 whole | head -c 20000 | cmp -s - l.cs16 && ok "synth lte: band-limited, each sample is a function of its number" || not_ok "synth lte: band-limited, --start"
expect 0 '"band_limit": true' "synth lte: JSON tells the band limit" -- "$TAPLAG" synth lte -o l.cs16 --force --band-limit --duration 1ms --json
[ "$(json out parameters.pass_hz parameters.stop_hz parameters.window_ts | tr '\n' ' ')" = '9015000 10000000 4 ' ] && ok "synth lte: and its edges" || not_ok "synth lte: its edges"
expect 2 'at least 20 Msps' "synth lte: no band limit beyond half the rate" -- "$TAPLAG" synth lte -o l.cs16 --force --band-limit --rate 19M --bandwidth 20M --duration 1ms
expect 2 'band-limit is not for tone' "synth: --band-limit is for ofdm and lte" -- "$TAPLAG" synth tone -o l.cs16 --force --band-limit --duration 1ms
synth "an MCS too high for all subframes" "MCS 27 .64QAM. as the code rate" --cfi 3 --mcs 28 --ports 2 --duration 1ms
synth "a test model" 'test model E-TM3.1a, one frame' --model etm3.1a --duration 1ms
synth "a seamless loop" 'repeats after 40.0 ms' --repeat 40ms --rate 1.92M --duration 80ms
head -c 307200 l.cs16 >first
tail -c 307200 l.cs16 >second
same first second "synth lte: the loop has no seam"
synth "a test model repeats each frame" 'E-TM3.3' --model etm3.3 --rate 1.92M --duration 20ms
head -c 76800 l.cs16 >first
tail -c 76800 l.cs16 >second
same first second "synth lte: each frame of a test model is the same"
synth "--start" 'from number 96000 on' --rate 1.92M --start 96000 --samples 5000
cp l.cs16 part
synth "the whole" '' --rate 1.92M --samples 101000
tail -c 20000 l.cs16 | cmp -s - part && ok "synth lte: --start begins in the middle" || not_ok "synth lte: --start"

expect 0 '"prb": 6' "synth lte: --json" -- "$TAPLAG" synth lte -o l.cs16 --force --rate 1.92M --duration 1ms --json --sfn 1000 --snr 10
[ "$(json out parameters.model parameters.cell parameters.ports parameters.sfn parameters.rnti parameters.dci | tr '\n' ' ')" = \
  'cell 1 1 1000 4660 1 ' ] && ok "synth lte: JSON tells the cell" || not_ok "synth lte: JSON tells the cell"
[ "$(grep -c block_bits out)" = 10 ] && ok "synth lte: JSON tells each subframe" || not_ok "synth lte: JSON subframes"
[ "$(json out impairments.snr_db)" = 10.0 ] && ok "synth lte: JSON tells impairments" || not_ok "synth lte: JSON impairments"

refuse() { # PATTERN ARGUMENTS...
  local pattern=$1
  shift
  expect 2 "$pattern" "synth lte: refused: $*" -- "$TAPLAG" synth lte -o x.cs16 --duration 1ms "$@"
}
refuse "1.4M, 3M, 5M" --bandwidth 7M
refuse "0 and 503|0 to 503|from 0" --cell 504
refuse "1" --ports 3
refuse "one of cell, etm1.1" --model etm9
refuse "which the standard fixes" --model etm1.1 --mcs 3
refuse "which the standard fixes" --model etm1.1 --modulation qpsk
refuse "not both" --mcs 3 --modulation qpsk
refuse "28" --mcs 29
refuse "27" --mcs 28 --mcs-256
refuse "1 or 1a" --dci 2
refuse "256QAM" --mcs-256 --dci 1a
refuse "0xffff" --rnti 0x10000
refuse "1/6, 1/2" --phich 3
refuse "3 with the extended" --phich-extended --cfi 1
refuse "needs --ports 2" --port1 0,90
refuse "gain in dB" --ports 2 --port1 0
refuse "whole frames" --repeat 5.5ms
refuse "do not fit" --bandwidth 20M --rate 15.36M
refuse "is not for lte" --freq 1k
expect 2 "--cell is not for ofdm" "synth lte: its options are not for others" -- "$TAPLAG" synth ofdm --cell 3 -o x.cs16

impair() { # NAME PATTERN ARGUMENTS...
  local name=$1 pattern=$2
  shift 2
  expect 0 "$pattern" "synth: impaired: $name" -- "$TAPLAG" synth ofdm -o i.cs16 --force --duration 1ms "$@"
}
impair "all at once" 'impaired sampling clock \+1.5 ppm, 3 samples lost at 1000 and every 9000, 10 samples repeated at 500, carrier -300 Hz, noise 20.00 dB below the signal, I/Q imbalance \+0.5 dB \+2 degrees, DC \+100 -50.5j, limited to -6.00 dBFS' \
  --clock-ppm 1.5 --carrier -300 --snr 20 --iq-gain 0.5 --iq-phase 2 --dc-offset 100,-50.5 --clip -6 --drop 1000:3:9000 --dup 500:10
impair "nothing" 'clipped 0' --carrier 0
grep -q impaired out && not_ok "synth: no impairment, no word" || ok "synth: no impairment, no word"
"$TAPLAG" synth ramp --samples 1000 -o ramp.cs16 >/dev/null
"$TAPLAG" synth ramp --samples 900 --drop 300:100 -o - 2>/dev/null >dropped.cs16
{ head -c 1200 ramp.cs16 && tail -c +1601 ramp.cs16; } | cmp -s - dropped.cs16 && ok "synth: --drop leaves samples out" || not_ok "synth: --drop"
"$TAPLAG" synth ramp --samples 1100 --dup 300:100 -o - 2>/dev/null >doubled.cs16
{ head -c 1200 ramp.cs16 && tail -c +801 ramp.cs16; } | cmp -s - doubled.cs16 && ok "synth: --dup repeats samples" || not_ok "synth: --dup"
expect 0 "components were clipped" "synth: --clip is counted" -- "$TAPLAG" synth tone --clip -10 --duration 1ms -o i.cs16 --force
expect 0 "" "synth: --seed goes with --snr" -- "$TAPLAG" synth tone --snr 10 --seed 3 --duration 1ms -o i.cs16 --force
spoil() { # PATTERN ARGUMENTS...
  local pattern=$1
  shift
  expect 2 "$pattern" "synth: refused: $*" -- "$TAPLAG" synth tone -o x.cs16 --duration 1ms "$@"
}
spoil "not a frequency" --carrier fast
spoil "half the rate" --carrier 13M
spoil "decimals" --clock-ppm x
spoil "1000 ppm" --clock-ppm 2000
spoil "two numbers" --dc-offset 5
spoil "AT:N" --drop 5
spoil "AT:N" --drop 5:1:2:3
spoil "AT:N" --dup 5:0
spoil "between two losses" --drop 5:10:3
spoil "before them" --dup 5:10
expect 2 "no mean power" "synth: --snr needs a mean power" -- "$TAPLAG" synth impulse --snr 3 -o x.cs16
[ ! -e x.cs16 ] && ok "synth lte: nothing is left of what was refused" || not_ok "synth lte: x.cs16 exists"
for model in etm3.2:15M:false etm3.3:15M:false etm3.2:10M:true etm3.1:15M:true; do
  IFS=: read -r name band standard <<<"$model"
  "$TAPLAG" synth lte --model "$name" --bandwidth "$band" --rate 30.72M --duration 1ms -o blocks.cs16 --force --json >j.json 2>err
  grep -q "\"standard_blocks\": $standard" j.json && ok "$name at $band: whether the blocks are the standard's ($standard)" || not_ok "$name at $band: standard_blocks is not $standard"
  "$TAPLAG" synth lte --model "$name" --bandwidth "$band" --rate 30.72M --duration 1ms -o blocks.cs16 --force >out 2>err
  said=true
  grep -q "choice of this program" out err && said=false
  is $said "$standard" "which the summary says, too"
done
