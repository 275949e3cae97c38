# SPDX-License-Identifier: Apache-2.0
# taplag evm on recordings that are hard or hold no cell: it is right, or says that there is none and why.
. "$(dirname "$0")/lib.sh"
evm=("$TAPLAG" evm)
synth() { "$TAPLAG" synth "$@" --rate 7.68M --force >/dev/null 2>&1; }
none() { # FILE DESCRIPTION: exit 1, "no cell found" and a reason, in text and in JSON
  expect 1 "^FAILED  $1: no cell found: .{20}" "$2: no cell found" -- "${evm[@]}" "$1" --rate 7.68M
  "${evm[@]}" "$1" --rate 7.68M --json >j.json 2>err
  [ $? -eq 1 ] && grep -q '"cells": \[\]' j.json && ok "$2: no cell in the JSON" || not_ok "$2: no cell in the JSON"
}

synth noise --duration 40ms -o noise.cs16
none noise.cs16 "noise"
synth tone --duration 20ms -o tone.cs16
none tone.cs16 "a tone"
synth ofdm --duration 20ms -o ofdm.cs16
none ofdm.cs16 "OFDM that is no cell"
synth silence --duration 20ms -o zero.cs16
none zero.cs16 "silence"
head -c 12 noise.cs16 >three.cs16
none three.cs16 "three samples"
: >nothing.cs16
expect 3 'no samples' "an empty file is no recording" -- "${evm[@]}" nothing.cs16 --rate 7.68M
head -c 4001 noise.cs16 >odd.cs16
none odd.cs16 "a tail that is no whole sample"

right() { # DESCRIPTION PATTERN OPTION...: synthesised with these options it is cell 77, and the report has the pattern
  local what=$1 pattern=$2
  shift 2
  synth lte --bandwidth 5M --cell 77 --mcs 4 --duration 20ms "$@" -o r.cs16
  "${evm[@]}" r.cs16 --rate 7.68M --limits none >out 2>err
  if [ $? -eq 0 ] && grep -q 'identity 77, 25 resource blocks (5 MHz), 1 port; MIB right' out && grep -qE "$pattern" out; then
    ok "$what"
  else
    not_ok "$what: $(head -n 2 out | tail -n 1)"
    grep carrier out
  fi
}
for ppm in 1 -5 20 -20; do
  right "a clock off by $ppm ppm is found" "clock [-+]$(printf '%d' ${ppm#-})\.0[0-9][0-9] ppm|clock [-+]$((${ppm#-} - 1))\.99[0-9] ppm" --clock-ppm=$ppm
done
for hz in 100 -12345 40000 -40000; do
  right "a carrier off by $hz Hz is found" "offset [-+]${hz#-}\.0[0-9] Hz|offset [-+]$((${hz#-} - 1))\.9[0-9] Hz" --carrier=$hz
done
for snr in 0 5 10 20 40; do
  right "a signal $snr dB above the noise is found" '^reference' --snr $snr
done
right "an I/Q offset is told" 'offset -[23][0-9]\.[0-9] dBc' --dc-offset=200,-100
right "a stronger one does no harm" 'QPSK .*-[3-9][0-9]\.' --dc-offset=2000,1000
right "clipping is an error vector" 'QPSK' --clip=-16dBFS

# Down to -10 dB: this cell or none.
for snr in -4 -8 -10; do
  synth lte --bandwidth 5M --cell 77 --duration 40ms --snr=$snr -o r.cs16
  "${evm[@]}" r.cs16 --rate 7.68M --json >j.json 2>err
  ids=$(awk '/^ *"id":/ {gsub(/[^0-9]/, ""); print}' j.json | tr '\n' ' ')
  case $ids in '' | '77 ') ok "at $snr dB: this cell or none" ;; *) not_ok "at $snr dB: cells $ids" ;; esac
done

synth lte --bandwidth 5M --cell 300 --duration 20ms -o s.cs16
expect 0 'mirrored: I and Q are exchanged' "exchanged I and Q are seen" -- "${evm[@]}" s.cs16 --rate 7.68M --swap-iq
grep -q 'identity 300.*MIB right' out && ok "and the cell is right all the same" || not_ok "and the cell is right all the same"
head -c 61440 s.cs16 >two.cs16 # 2 ms from the beginning of a frame, with its synchronisation signals
expect 0 'identity 300.* 1 port' "2 ms that hold the synchronisation signals" -- "${evm[@]}" two.cs16 --rate 7.68M
tail -c +61441 s.cs16 | head -c 61440 >later.cs16
expect 1 'no synchronisation signal in 2 ms; they come every 5 ms' "2 ms that do not" -- "${evm[@]}" later.cs16 --rate 7.68M
expect 1 'no cell found' "at a wrong rate" -- "${evm[@]}" s.cs16 --rate 25M
expect 1 'no cell found' "at a rate too low for any" -- "${evm[@]}" s.cs16 --rate 500k
"$TAPLAG" resample s.cs16 --rate 7.68M --out-rate 10M -o t.cs16 >/dev/null 2>&1
expect 0 'identity 300, 25 resource' "at a rate that is none of LTE's" -- "${evm[@]}" t.cs16 --rate 10M
