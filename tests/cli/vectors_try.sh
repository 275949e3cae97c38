# SPDX-License-Identifier: Apache-2.0
# taplag vectors try: names the cause for each deliberately wrong implementation; passes the right one; survives crashing,
# hanging and flooding commands; shrinks.
. "$(dirname "$0")/lib.sh"
B=$(dirname "$TAPLAG")
WRONG=$B/wrong_resampler
mkdir -p tmp && export TMPDIR=tmp # a folder of its own, to see at the end whether anything is left
set -- --taps {taps} --up {up} --down {down} --rounding {rounding} --align {align} --flush {flush} --packet {packet}

expect 0 "" "a right implementation passes, by files" -- \
  "$TAPLAG" vectors try 'packets-*' 'ratio-7-6' 'half-*' 'usrpl0-*' '*-aligned' -- "$WRONG" none --in {in} --out {out} "$@"
expect 0 "" "a right implementation passes, by stdin and stdout" -- \
  "$TAPLAG" vectors try packets-362 ofdm-qpsk -- "$WRONG" none "$@"

# FAULT CAUSE TEXT [VECTORS...]
named() {
  local fault=$1 cause=$2 text=$3 status
  shift 3
  [ $# -eq 0 ] && set -- packets-362 ofdm-qpsk chirp-whole
  "$TAPLAG" vectors try --exact "$@" -- "$WRONG" "$fault" "${common[@]}" >out 2>err
  status=$?
  if [ $status -ne 1 ]; then
    not_ok "$fault: exit $status, wanted 1"
  elif grep -q "^cause    $cause: " out && grep -Eq "^cause .*$text" out; then
    ok "$fault is named: $(sed -n 's/^cause *\([^(]*\).*/\1/p' out | cut -c1-90)"
  else
    not_ok "$fault: wanted $cause ($text), got: $(grep '^cause' out)"
  fi
}
common=("$@")
named truncate truncated "rounding differs.*truncates"
named wrap wrap "wraps around where it has to saturate" uniform corners
named toward-zero toward-zero "toward zero"
named ties-even ties "even neighbour" half-ramp half-uniform
named ties-away ties "away from zero" half-ramp half-uniform
named float noise "rounding differs" noise ofdm-qpsk
named round-products round-twice "each product is rounded"
named acc-24 narrow-accumulator "wraps at 24 bits"
named phase-mirrored phase-order "wrong phase order.*L-1-p"
named phase-in-line phase-order "wrong phase order.*neighbouring"
named phase-next phase-order "next phase"
named tap-order tap-order "reversed in time"
named reversed reversed "reversed" taps-random-16 taps-random-5
named last-tap taps-short "last tap"
named one-phase period "period of the ratio, 768 outputs \(625 inputs\): 1 of 768 phases" ofdm-qpsk uniform
named gain-half gain "gain of 0.5: the shift is 15 instead of 14"
named gain-double gain "gain of 2: the shift is 13 instead of 14"
named gain-odd gain "gain of 0.9"
named linear linear "linear interpolation" ofdm-qpsk tone-off-raster
named nearest-sample nearest-sample "nearest neighbour" ofdm-qpsk tone-off-raster
named history history "packet borders: the history" packets-362 packets-1996
named phase-reset phase-reset "packet borders: the phase begins anew" packets-362 packets-1996
named own-buffer period "bursts about every 122[0-9].* border of some buffer" uniform ofdm-qpsk
named input-late delay "one input sample late"
named ratio-inverted inverted-ratio "exchanged"
named tail-8 tail "last full group of 8.*SIMD" packets-362 packets-364
named lane-16 tail "every 16th output" uniform packets-25000
named start-junk start "only the first .* zeros"
named swap swapped "I and Q are swapped"
named conjugate conjugated "mirrored"
named negate negated "wrong sign"
named offset offset "constant \(5, -3\)" ofdm-qpsk tone-off-raster
named silent silent "every output is zero"
named short short "right as far as it goes, but 10 outputs are missing"
named long long "right, but 7 too many"
named odd-bytes long "3 bytes"
named late delay "right but 3 outputs late"
named early delay "right but 5 outputs early"
named unaligned alignment "not aligned: this is the causal stream, half the filter" @aligned
named turn-back swapped "turned by -90 degrees" impulse-700 corners worst-phases noise tone-off-raster
named copy-i component "Q is a copy of I" corners worst-phases noise tone-off-raster
named no-q component "Q is missing" corners worst-phases noise tone-off-raster
named late-q unknown "no known mistake" impulse-700 corners worst-phases noise tone-off-raster
named dropped dropped "1 output is missing in mid-stream"
named doubled doubled "1 output is too many in mid-stream"
named big-endian byte-order "little endian"
named crash crashes "crashed by signal 6" uniform
named exit fails "status 9: wrong_resampler: something went wrong" uniform
named flood crashes "wrote far too much" impulse-first

start=$(date +%s%N)
expect 1 "the command hangs" "a hanging command is killed and named" -- \
  "$TAPLAG" vectors try impulse-first --timeout 300ms -- "$WRONG" hang "$@"
[ $((($(date +%s%N) - start) / 1000000)) -lt 8000 ] && ok "within its time" || not_ok "killing took too long"
expect 1 "the command hangs" "its children are killed too" -- \
  "$TAPLAG" vectors try impulse-first --timeout 300ms -- sh -c 'sleep 77.125 & sleep 77.125'
sleep 0.2
if pgrep -f 'sleep 77[.]125' >/dev/null; then not_ok "a child of the killed command lives on"; else ok "no child lives on"; fi
expect 4 "cannot be run" "a command that is not there" -- "$TAPLAG" vectors try impulse-first -- /no/such/resampler
expect 2 "there is no command" "no command" -- "$TAPLAG" vectors try impulse-first
expect 2 "no vector is meant" "an unknown id" -- "$TAPLAG" vectors try nonsense -- cat
expect 2 "only one of" "two tolerances" -- "$TAPLAG" vectors try --lsb 1 --db 60 impulse-first -- cat
expect 2 "none of the chosen vectors" "vectors that do not suit" -- "$TAPLAG" vectors try gap-7 -- cat

# tolerances
expect 0 "" "1 LSB lets single precision pass" -- "$TAPLAG" vectors try noise ofdm-qpsk --lsb 1 -- "$WRONG" float "$@"
expect 1 "" "exact does not" -- "$TAPLAG" vectors try noise ofdm-qpsk --exact -- "$WRONG" float "$@"
expect 0 "" "50 dB lets truncation pass" -- "$TAPLAG" vectors try ofdm-qpsk --db 50 -- "$WRONG" truncate "$@"
expect 1 "" "the vector's own tolerance holds by default: 60 dB" -- "$TAPLAG" vectors try ofdm-own-filter -- "$WRONG" linear "$@"
expect 0 "" "within 60 dB by default" -- "$TAPLAG" vectors try ofdm-own-filter -- "$WRONG" float "$@"

# parameters
expect 0 "" "the JSON file has everything" -- "$TAPLAG" vectors try ratio-7-6 --db 1 -- sh -c \
  'grep -q "\"schema\":\"taplag/vectors-try-parameters/1\"" "$1" && grep -q "\"up\":7,\"down\":6" "$1" && grep -q "\"taps\":\[" "$1" &&
   [ "$2 $3 $4 $5 $6 $7" = "7 6 184320000/7 30720000 nearest ratio-7-6" ] && shift 7 && exec "$@"' \
  x {params} {up} {down} {rate_in} {rate_out} {rounding} {id} "$WRONG" none "$@"

# shrink
"$TAPLAG" vectors try packets-362 --shrink small.cs16 -- "$WRONG" history "$@" >out 2>err
size=$(stat -c %s small.cs16)
if [ "$size" -ge 4 ] && [ "$size" -le 1600 ] && grep -q '^shrunk .* from 4344 to' out; then
  ok "shrinks 4344 samples to $((size / 4)), one packet and one sample: $(grep -o '[0-9]* of them not zero' out)"
else
  not_ok "shrink: $size bytes"
fi
# the shrunk input still shows it: expected and a run of the wrong one differ, a run of the right one does not
"$TAPLAG" vectors export packets-362 --as raw -o ex >/dev/null
"$WRONG" none --in small.cs16 --out right.cs16 --taps ex/packets-362_taps.txt --up 768 --down 625 --packet 362
"$WRONG" history --in small.cs16 --out wrong.cs16 --taps ex/packets-362_taps.txt --up 768 --down 625 --packet 362
same right.cs16 small.cs16.expected "what is expected of the shrunk input is right"
if cmp -s wrong.cs16 small.cs16.expected; then not_ok "the shrunk input shows nothing"; else ok "the shrunk input still shows the fault"; fi
expect 2 "exists" "shrink does not overwrite" -- "$TAPLAG" vectors try packets-362 --shrink small.cs16 -- "$WRONG" history "$@"

# JSON
"$TAPLAG" vectors try packets-362 ofdm-qpsk --json -- "$WRONG" late "$@" >a.json 2>err
"$TAPLAG" vectors try packets-362 ofdm-qpsk --json -- "$WRONG" late "$@" >b.json 2>err
same a.json b.json "JSON repeats"
if grep -q '"schema": "taplag/vectors-try/1"' a.json && grep -q '"delay_outputs": 3' a.json && grep -q '"cause": "delay"' a.json; then
  ok "JSON names delay and cause"
else
  not_ok "JSON lacks delay or cause"
fi
for signal in HUP TERM INT; do
  mkdir -p "tmp.$signal"
  TMPDIR=tmp.$signal "$TAPLAG" vectors try impulse-first -- sleep 20 >out 2>err &
  pid=$!
  for wait in $(seq 300); do
    [ -n "$(ls "tmp.$signal")" ] && break
    sleep 0.1
  done
  sleep 0.2
  [ -n "$(ls "tmp.$signal")" ] || not_ok "$signal: the temporary folder is not seen"
  kill -s $signal $pid
  wait $pid
  status=$?
  [ $signal = INT ] && want=130 || want=143
  [ $status -eq $want ] && ok "$signal ends it with $want" || not_ok "$signal ends it with $status, not $want"
  [ -z "$(ls "tmp.$signal")" ] && ok "$signal leaves no temporary folder" || not_ok "$signal leaves $(ls "tmp.$signal")"
done
left=$(ls tmp | wc -l)
[ "$left" -eq 0 ] && ok "no temporary folder is left" || not_ok "$left temporary folders are left"
