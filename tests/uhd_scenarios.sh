# SPDX-License-Identifier: Apache-2.0
# What a chain behind a radio must do, each scenario against the stand-in's script. Sourced by tests/cli/uhd.sh, which runs
# them all, and by tests/cli/uhd_mutants.sh, which runs the one that a fault must fail. PLUGIN is the folder of the plug-in.

# The signal on the air: as long as any script needs; and the same at the PHY's rate, to transmit.
uhd_signals() {
  [ -s air.cs16 ] && return
  "$TAPLAG" synth noise --rate 25M --duration 20ms --level -15dBFS --seed 3 -o air.cs16 >/dev/null 2>&1
  "$TAPLAG" synth noise --rate 30.72M --duration 10ms --level -15dBFS --seed 4 -o phy.cs16 >/dev/null 2>&1
}

script() { printf '%s\n' "file air.cs16" "$@" >script; } # LINE...
# hole START N: these samples of want_in.cs16 were not received
hole() { dd if=/dev/zero of=want_in.cs16 bs=4 seek="$1" count="$2" conv=notrunc status=none; }
# radio STATUS OPTION...: receive from the stand-in into got.cs16, zeros for what is lost; ./text, ./err, ./log
radio() {
  local status=$1 got
  shift
  rm -f log got.cs16
  TAPLAG_DATA=$PLUGIN UHD_STANDIN=script UHD_STANDIN_LOG=log timeout "${UHD_TIMEOUT:-60}" "$TAPLAG" replay uhd:type=standin --rate 25M --gaps zero --control 0 \
    --to got.cs16 --json "$@" >text 2>err
  got=$?
  [ $got -eq "$status" ] && return 0
  not_ok "$NAME: exit $got, wanted $status: $(tail -n 2 err)"
  return 1
}
# air N FROM TO: got.cs16 is the resampling of want_in.cs16 to sample N
heard() {
  head -c $(($1 * 4)) want_in.cs16 >want_cut.cs16
  "$TAPLAG" resample want_cut.cs16 --format cs16 --from "${2:-25M}" --to 30.72M -o want.cs16 --force >/dev/null 2>&1
  if cmp -s want.cs16 got.cs16; then ok "$NAME: what was on the air, sample for sample"; else not_ok "$NAME: $(cmp want.cs16 got.cs16 2>&1 | head -n 1)"; fi
}
counted() { # KEY VALUE...: of the source's counts
  while [ $# -gt 0 ]; do
    if grep -qE "\"$1\": $2,?\$" text; then ok "$NAME: $1 $2"; else not_ok "$NAME: wanted $1 $2, got $(grep -m1 "\"$1\"" text)"; fi
    shift 2
  done
}
said() { if grep -qF -- "$1" err; then ok "$NAME: says '$1'"; else not_ok "$NAME: does not say '$1': $(tail -n 2 err)"; fi; }
calls() { # PATTERN N: so many lines of the log
  local n
  n=$(grep -cE "$1" log)
  if [ "$n" -eq "$2" ]; then ok "$NAME: $2 calls '$1'"; else not_ok "$NAME: $n calls '$1', wanted $2"; fi
}
orderly() { # nothing that the interface does not allow, and short waits
  if grep -q misuse log || ! grep -q '^free$' log; then not_ok "$NAME: $(grep -m1 misuse log || echo the device is not given back)"; else ok "$NAME: within the interface's rules"; fi
  if grep -E '^recv waits' log | grep -qvE ' 0\.0[0-5]'; then not_ok "$NAME: $(grep 'recv waits' log | tail -n 1)"; fi
}

s_plain() {
  script "packet 364" && cp air.cs16 want_in.cs16
  radio 0 --nsamps 100k && heard 100000 && orderly
  counted samples 101920 lost_samples 0 # whole calls of the last one are counted
  calls 'set_time_now' 1
  script "packet 2000"
  radio 0 --nsamps 100k --spb 300 && heard 100000 && orderly # pieces of packets
  for line in "Setting RX Rate: 25.000000 Msps..." "Actual RX Rate: 25.000000 Msps..."; do said "$line"; done
}

s_settings() {
  script "packet 2000"
  radio 0 --nsamps 1000 --freq 806M --lo-offset 5M --gain 40 --ant RX2 --bw 20M --subdev A:0 --channel 1 --int-n --wirefmt sc8 --stream-args spp=364
  calls 'set_rx_rate 25000000 channel 1' 1
  calls 'set_rx_freq 806000000 rf M 811000000 args mode_n=integer channel 1' 1
  calls 'set_rx_gain 40' 1 && calls 'set_rx_antenna RX2' 1 && calls 'set_rx_bandwidth 2e\+07' 1 && calls 'set_rx_subdev_spec A:0' 1
  calls "get_rx_stream sc16 sc8 'spp=364' 1 channel 1" 1
  for line in "Setting RX Freq: 806.000000 MHz..." "Setting RX LO Offset: 5.000000 MHz..." "Actual RX Freq: 806.000000 MHz..." \
    "Setting RX Gain: 40.000000 dB..." "Actual RX Gain: 31.500000 dB..." "Setting RX Bandwidth: 20.000000 MHz..." "Actual RX Bandwidth: 20.000000 MHz..."; do said "$line"; done
  orderly
  radio 2 --nsamps 1000 --ant RX3
  said "--ant RX3: the device has no such RX antenna; it has TX/RX, RX2"
  radio 2 --nsamps 1000 --channel 2
  said "--channel 2: the device has 2 RX channels, counted from 0"
  radio 2 --nsamps 1000 --subdev B:0
  radio 2 --nsamps 1000 --freq 7G
  said "the device does not tune there (UHD: ValueError: out of range)"
  radio 2 --nsamps 1000 --ref atomic
  said "--ref atomic: the device has no such clock source"
  orderly
}

s_overflow() {
  script "samples 30001" "overflow 5003" "samples 40000" && cp air.cs16 want_in.cs16 && hole 30001 5003
  radio 0 --nsamps 80000 && heard 80000 && orderly
  counted overruns 1 sequence_errors 0 lost_samples 5003 losses 1
  if grep -q '^O$' err; then ok "$NAME: an O"; else not_ok "$NAME: letters: $(grep -E '^[ODULS]+$' err)"; fi
}

s_sequence() {
  script "packet 364" "samples 36400" "lost 728" "samples 364" "lost 364" "samples 10" && cp air.cs16 want_in.cs16 && hole 36400 728 && hole 37492 364
  radio 0 --nsamps 60000 && heard 60000 && orderly
  counted overruns 0 sequence_errors 2 lost_samples 1092 lost_packets 3 losses 2
  if grep -q '^DD$' err; then ok "$NAME: two D"; else not_ok "$NAME: letters: $(grep -E '^[ODULS]+$' err)"; fi
}

# An overrun that ends the stream: the command is given again.
s_dead() {
  script "samples 10000" "dead 25000" && cp air.cs16 want_in.cs16 && hole 10000 25000
  radio 0 --nsamps 60000 && heard 60000 && orderly
  counted overruns 1 timeouts 10 restarts 1
  calls 'stream_cmd a' 2
}

s_late() {
  script "late 0" "samples 5000" "late 1000" && cp air.cs16 want_in.cs16 && hole 5000 1000
  radio 0 --nsamps 20000 && heard 20000 && orderly
  counted late_commands 2 overruns 0 timeouts 0
  calls 'stream_cmd a' 3
  if grep -q '^LL$' err; then ok "$NAME: two L"; else not_ok "$NAME: letters: $(grep -E '^[ODULS]+$' err)"; fi
}

s_chain() {
  script "samples 5000" "chain 700" && cp air.cs16 want_in.cs16 && hole 5000 700
  radio 0 --nsamps 20000 && heard 20000 && orderly
  counted restarts 1 timeouts 0
  calls 'stream_cmd a' 2
}

s_bad() {
  script "samples 4000" "bad 2000" "samples 2000" "align 0" && cp air.cs16 want_in.cs16 && hole 4000 2000
  radio 0 --nsamps 20000 --continue && heard 20000 && orderly
  counted malformed 2 lost_samples 2000
  radio 1 --nsamps 20000 && heard 20000
  said "2 bad packets or times out of alignment; --continue lets that pass"
}

s_timeouts() {
  script "samples 4000" "timeout 9" "samples 3000" "timeout 9" && cp air.cs16 want_in.cs16
  radio 0 --nsamps 20000 && heard 20000 && orderly
  counted timeouts 18 restarts 0
  script "samples 4000" "timeout 39" && cp air.cs16 want_in.cs16
  radio 0 --nsamps 20000 && heard 20000 && orderly
  counted timeouts 39 restarts 3
  script "samples 4000" "hang"
  radio 4 --nsamps 20000 && orderly
  said "no samples come: 40 waits of 50 ms in a row"
  calls 'stream_cmd a' 4
  absent got.cs16 "$NAME: no file"
  radio 4 --nsamps 20000 --patience 200ms && said "4 waits of 50 ms in a row"
}

s_failures() {
  script "samples 4000" "io"
  radio 4 --nsamps 20000 && orderly
  said "the device stopped answering (UHD: EnvironmentError: IOError: the link is gone)"
  script "samples 4000" "code 3"
  radio 4 --nsamps 20000 && orderly
  said "code 0x3"
}

s_unstamped() {
  script "unstamped" "samples 5000" "overflow 100"
  radio 0 --nsamps 9000 && orderly
  counted overruns 1 losses 1 lost_samples 0
  said "stamps no times: how many is not known"
}

# The time of a device that keeps UTC: at 25 Msps sample numbers since its epoch pass 2^53.
s_utc() {
  script "start 1764547200 0.9999" "samples 5000" "overflow 4001" "samples 1" "lost 3" && cp air.cs16 want_in.cs16 && hole 5000 4001 && hole 9002 3
  radio 0 --nsamps 20000 && heard 20000 && orderly
  counted lost_samples 4004
}

# A jump without an error is a loss all the same; one back, or of days, is a step of the device's clock.
s_jumps() {
  script "samples 5000" "jump 123" && cp air.cs16 want_in.cs16 && hole 5000 123
  radio 0 --nsamps 20000 && heard 20000 && orderly
  counted losses 1 lost_samples 123 overruns 0
  script "samples 5000" "back 3000"
  radio 0 --nsamps 20000 && orderly
  counted losses 0 lost_samples 0 restarts 1
  said "The device's clock stepped"
  script "samples 5000" "jump 100000000000000"
  radio 0 --nsamps 20000 && orderly
  counted losses 0 lost_samples 0 restarts 1
}

s_coerced() {
  script "rx_rate 184320000 7" "samples 7000" "overflow 70" && cp air.cs16 want_in.cs16 && hole 7000 70
  radio 0 --nsamps 20000 && heard 20000 184320000/7 && orderly
  said "Actual RX Rate: 26.331429 Msps..."
  said "the radio gives 26.3314286 Msps (184320000/7) for the 25 Msps asked for; the resampler follows"
  radio 5 --nsamps 20000 --strict-rate && orderly
  said "--strict-rate allows no other"
  script "rx_rate 2500000005 100"
  radio 5 --nsamps 20000 && orderly
  said "no ratio up to 65535/65535"
  script
  radio 0 --nsamps 1000 --strict-rate
}

s_locks() {
  script "unlocked lo"
  radio 5 --nsamps 1000 --setup 30ms && orderly
  said "the RX local oscillator does not lock within 0.03 s"
  radio 0 --nsamps 1000 --skip-lo && orderly
  script "unlocked ref"
  radio 0 --nsamps 1000
  radio 5 --nsamps 1000 --ref external --setup 30ms
  said "the reference clock (--ref external) does not lock within 0.03 s"
  script
  radio 0 --nsamps 1000 --ref external --pps external && orderly
  calls set_time_unknown_pps 1
}

s_absent() {
  script "device none"
  radio 5 --nsamps 1000
  said "no USRP answers to 'type=standin'; uhd_find_devices lists those that do (UHD: LookupError: KeyError: No devices found for -----> Device Address: type: x300)"
}

# Ctrl-C: stop, and what is on its way is still ours.
s_stop() {
  local how n
  for how in "inflight 5000" "inflight 5000 unmarked"; do
    script "packet 1000" "pace" "$how"
    rm -f log got.cs16
    TAPLAG_DATA=$PLUGIN UHD_STANDIN=script UHD_STANDIN_LOG=log "$TAPLAG" replay uhd:type=standin --rate 1M --out-rate 1M --spb 1000 --control 0 \
      --to got.cs16 --progress --json >text 2>err &
    running $!
    sleep 0.6
    kill -INT $!
    wait $!
    n=$?
    if [ $n -eq 130 ]; then ok "$NAME: exit 130"; else not_ok "$NAME: exit $n: $(tail -n 2 err)"; fi
    orderly
    calls 'stream_cmd o' 1
    n=$(stat -c %s got.cs16)
    cat air.cs16 air.cs16 air.cs16 air.cs16 | head -c "$n" >want.cs16
    if [ "$n" -gt 20000 ] && cmp -s want.cs16 got.cs16; then ok "$NAME: the file is whole"; else not_ok "$NAME: $n bytes, $(cmp want.cs16 got.cs16 2>&1)"; fi
    counted samples $((n / 4)) timeouts 0
  done
  # enough samples: the rest is received and thrown away, not left in the device
  script "inflight 3000"
  radio 0 --nsamps 1000 && orderly
  calls 'stream_cmd o' 1
}

s_thresholds() {
  script "samples 3000" "overflow 10" "samples 3000" "overflow 10" "samples 3000" "lost 10"
  radio 0 --nsamps 20000 --overrun-threshold 2 --drop-threshold 1 --seq-threshold 0 --underrun-threshold 0
  radio 1 --nsamps 20000 --overrun-threshold 1
  said "The following error thresholds were exceeded:"
  said "  * Overruns (2/1)"
  radio 1 --nsamps 20000 --drop-threshold 0
  said "  * Dropped packets (RX) (1/0)"
}

# ---- transmitting --------------------------------------------------------------------------------------------------

# send STATUS OPTION...: phy.cs16 at 30.72 Msps out of the stand-in at 25 Msps into sent.cs16, by place on the time line
send() {
  local status=$1 got
  shift
  rm -f log sent.cs16
  TAPLAG_DATA=$PLUGIN UHD_STANDIN=script UHD_STANDIN_LOG=log timeout "${UHD_TIMEOUT:-60}" "$TAPLAG" replay phy.cs16 --format cs16 --rate 30.72M --out-rate 25M \
    --control 0 --to "${TO:-uhd:type=standin}" --json "$@" >text 2>err
  got=$?
  [ $got -eq "$status" ] && return 0
  not_ok "$NAME: exit $got, wanted $status: $(tail -n 2 err)"
  return 1
}
# played [START N]...: sent.cs16 is the resampling of phy.cs16 with zeros in these places
played() {
  "$TAPLAG" resample "${PHY:-phy.cs16}" --format cs16 --from 30.72M --to "${RATE:-25M}" -o want_in.cs16 --force >/dev/null 2>&1
  while [ $# -gt 1 ]; do
    hole "$1" "$2"
    shift 2
  done
  if cmp -s want_in.cs16 sent.cs16; then ok "$NAME: each sample at its time"; else not_ok "$NAME: $(cmp want_in.cs16 sent.cs16 2>&1)"; fi
}
tx_script() { printf '%s\n' "tx_file sent.cs16" "$@" >script; }

s_tx() {
  tx_script
  send 0 && played && orderly
  counted outputs 250000 sent 250000 underruns 0 late 0 sequence_errors 0 timeouts 0 transmitted_samples 250000
  calls '^burst ' 1
  calls '^burst 0 0.350000000000' 1 # the device's time then, and the lead
  calls '^end at 250000' 1
  TO="uhd:type=standin?lead=0.2&gain=10&freq=900M&ant=TX/RX" send 0 && calls '^burst 0 0.450000000000' 1 && calls 'set_tx_freq 900000000' 1
  for line in "Setting TX Rate: 25.000000 Msps..." "Actual TX Rate: 25.000000 Msps..." "Actual TX Gain: 10.000000 dB..."; do said "$line"; done
}

# Lost packets: a burst ends, the next one begins at its time.
s_tx_gap() {
  tx_script
  send 0 --drop-packet 100,101,200 --packet 768
  # to the filter a gap is zeros; in front of input 76800 lies output 62500, and two packets are 1250 outputs
  cp phy.cs16 want_in.cs16 && hole 76800 1536 && hole 153600 768 && cp want_in.cs16 phy_gap.cs16
  PHY=phy_gap.cs16 played 62500 1250 125000 625
  calls '^burst ' 3 && calls '^burst 0 0.352550000000' 1 && calls '^burst 0 0.355025000000' 1 && orderly
}

s_tx_short() {
  tx_script "tx 10000 short 7" "tx 20000 refuse 3" "tx 30000 short 1"
  send 0 && played && orderly
  counted timeouts 1 underruns 0 # four waits are within the time in which the burst has not begun
  tx_script "tx 10000 refuse 30"
  send 0 && played && orderly
  counted timeouts 26
  tx_script "tx 10000 refuse 1000000"
  send 4 && orderly
  said "the device takes no samples: 40 waits of 50 ms in a row"
}

# The device ran dry: the time line holds, what came too late for it is dropped; or it moves.
s_tx_underrun() {
  local late
  tx_script "tx 100000 underflow 2450000"
  send 0 && orderly
  counted underruns 1
  calls '^burst ' 2
  late=$(sed -n 's/.*"dropped": \([0-9]*\),*$/\1/p' text | tail -n 1)
  if [ "${late:-0}" -gt 50000 ] && [ "$(($(grep -oE '"sent": [0-9]+' text | tail -n 1 | grep -oE '[0-9]+') + late))" -eq 250000 ]; then ok "$NAME: $late late samples dropped"; else not_ok "$NAME: dropped '$late'"; fi
  said "UL"
  tx_script "tx 100000 underflow 2450000"
  send 0 --late shift && orderly
  counted underruns 1 dropped 0 sent 250000 late 0
  calls '^burst ' 2
}

s_tx_messages() {
  tx_script "tx 50000 seq 0" "tx 100000 time_error 0" "tx 150000 underflow_in_packet 0" "tx 200000 seq_in_burst 0"
  send 0 && played && orderly
  counted sequence_errors 2 late 1 underruns 1
  calls '^burst ' 5 # each puts what follows back to its time
  send 1 --seq-threshold 1 && said "  * Dropped packets (TX) (2/1)"
  send 1 --underrun-threshold 0 && said "  * Underruns (1/0)"
  tx_script "tx 50000 stale 0"
  send 0 && played && orderly
  counted underruns 1
  calls '^burst ' 1 # a message of an earlier burst is no reason to end this one
  tx_script "tx 1 mute"
  send 0 && played && orderly # no acknowledgement: it ends all the same
  tx_script "tx 100000 io"
  send 4 && said "the device stopped taking samples"
}

s_tx_coerced() {
  tx_script "tx_rate 184320000 7"
  RATE=184320000/7 send 0 && RATE=184320000/7 played && orderly
  said "the radio gives 26.3314286 Msps (184320000/7) for the 25 Msps asked for; the resampler follows"
  send 5 --strict-rate
}

# One device for both ways: opened once, its time set once.
s_both() {
  script "packet 2000" && cp air.cs16 want_in.cs16
  radio 0 --nsamps 20000 --to "uhd:type=standin?freq=900M" && heard 20000 && orderly
  calls '^make' 1 && calls '^set_time_now' 1 && calls '^free' 1
}

# Into SigMF with its times, so that the session replays: gaps where they were, the samples of the air beside them.
s_record() {
  script "samples 30001" "overflow 5003" "samples 364" "lost 728" && cp air.cs16 want_in.cs16 && hole 30001 5003 && hole 35368 728
  rm -f log session.sigmf-* took.cs16
  TAPLAG_DATA=$PLUGIN UHD_STANDIN=script UHD_STANDIN_LOG=log "$TAPLAG" record uhd:type=standin --rate 25M --freq 806M --nsamps 80000 \
    -o session.sigmf-meta >text 2>err || not_ok "$NAME: $(tail -n 1 err)"
  orderly
  said "Setting RX Freq: 806.000000 MHz..."
  grep -q '^  Num overruns detected:    1$' text && ok "$NAME: benchmark_rate's summary" || not_ok "$NAME: $(cat text)"
  head -c 320000 want_in.cs16 >want_cut.cs16
  (head -c $((30001 * 4)) want_cut.cs16; tail -c +$((35004 * 4 + 1)) want_cut.cs16 | head -c $((364 * 4)); tail -c +$((36096 * 4 + 1)) want_cut.cs16) >want.cs16
  if cmp -s want.cs16 session.sigmf-data; then ok "$NAME: the samples that came"; else not_ok "$NAME: $(cmp want.cs16 session.sigmf-data 2>&1)"; fi
  if grep -q '"core:frequency": 806000000' session.sigmf-meta && grep -q '"core:global_index": 35004' session.sigmf-meta &&
    grep -q '"core:global_index": 36096' session.sigmf-meta && [ "$(grep -c '"core:datetime": "20' session.sigmf-meta)" -eq 3 ]; then
    ok "$NAME: three captures with their places and times"
  else not_ok "$NAME: $(cat session.sigmf-meta)"; fi
  "$TAPLAG" replay session.sigmf-meta --clock virtual --gaps zero --to took.cs16 >/dev/null 2>err || not_ok "$NAME: replays: $(cat err)"
  cp took.cs16 got.cs16 && heard 80000
  TAPLAG_DATA=$PLUGIN UHD_STANDIN=script "$TAPLAG" record uhd:type=standin --rate 25M --nsamps 80000 --overrun-threshold 0 -o over.sigmf-meta --force >/dev/null 2>err
  [ $? -eq 1 ] && said "  * Overruns (1/0)"
  script "rx_rate 184320000 7"
  TAPLAG_DATA=$PLUGIN UHD_STANDIN=script "$TAPLAG" record uhd:type=standin --rate 25M --nsamps 1000 -o coerced.sigmf-meta --force >/dev/null 2>err
  grep -q '"core:sample_rate": 26331428.57142857' coerced.sigmf-meta && ok "$NAME: the rate that the device has" || not_ok "$NAME: $(grep rate coerced.sigmf-meta) $(cat err)"
}

UHD_SCENARIOS="plain settings overflow sequence dead late chain bad timeouts failures unstamped utc jumps coerced locks absent stop thresholds
  tx tx_gap tx_short tx_underrun tx_messages tx_coerced both record"
