# SPDX-License-Identifier: Apache-2.0
# A recording into a PHY by srsRAN's ZeroMQ radio, and a PHY's transmit port into a file, by the program itself. The PHY is
# tests/phy_client.c, written from the protocol alone.
. "$(dirname "$0")/lib.sh"
phy=$(dirname "$TAPLAG")/tests/phy_client
[ -x "$phy" ] || { not_ok "tests/phy_client is not built"; exit 1; }

"$TAPLAG" synth ofdm --rate 25M --duration 200ms --seed 3 --level -12dBFS -o a.cs16 >/dev/null
"$TAPLAG" resample a.cs16 --format cs16 --from 25M --to 30.72M --align -o r.cs16 >/dev/null 2>&1
"$TAPLAG" resample a.cs16 --format cs16 --from 25M --to 30.72M --align -o r.cf32 >/dev/null 2>&1
n=6144000

# sc16 over tcp at real-time pace; the PHY is silent for 10 s, and then reads at half of real time: hold loses nothing
port() { sed -n 's/.*answers at tcp:.*:\([0-9]*\),.*/\1/p' err; }
wait_port() { for _ in $(seq 200); do [ -n "$(port)" ] && return; sleep 0.02; done; }
"$TAPLAG" replay a.cs16 --format cs16 --rate 25M --align --loop 1 --to "srsran:tcp://127.0.0.1:*?format=sc16" --json >out 2>err &
replay=$!
wait_port
grep -q 'base_srate=30.72e6' err && grep -q -- '-Q' err && ok "it says what the PHY must be told" || not_ok "it says what the PHY must be told: $(cat err)"
"$phy" rx "tcp://127.0.0.1:$(port)" 4 $n 15.36e6 10000 got.cs16 && same r.cs16 got.cs16 "sc16: byte for byte what resample --align gives" ||
  not_ok "the PHY did not get its samples: $(cat err)"
wait $replay
[ $? = 0 ] && ok "it ends when the PHY has gone" || not_ok "it ends when the PHY has gone: $(cat err)"
python3 - <<'PY' && ok "given = sent, nothing dropped, one PHY, stalls seen" || not_ok "the counts: $(cat out)"
import json
s = json.load(open('out'))['measured']['sinks'][0]
assert s['outputs'] == s['sent'] == 6144000 and s['dropped'] == 0 and s['peers'] == 1 and s['messages'] >= 200
assert s['stalled_us'] > 9000000
PY

# fc32 over ipc, no pace, two sinks: a file beside it
"$TAPLAG" replay a.cs16 --format cs16 --rate 25M --align --speed max --to "srsran:ipc://$WORK/rx?linger=0" --to f.cs16 --progress >out 2>err &
replay=$!
"$phy" rx "ipc://$WORK/rx" 8 $n 0 0 got.cf32 && same r.cf32 got.cf32 "fc32, unpaced, over ipc" || not_ok "fc32: $(cat err)"
wait $replay
[ $? = 0 ] && same r.cs16 f.cs16 "the file beside it" || not_ok "the second sink: $(cat err)"
grep -q '^sink .* = 6144000 sent + 0 dropped' out && ok "the table says so" || not_ok "the table: $(cat out)"

# end=loop: over and over, without a seam
"$TAPLAG" replay a.cs16 --format cs16 --rate 25M --speed max --to "srsran:ipc://$WORK/loop?end=loop&format=sc16" --out-rate 25M >out 2>err &
replay=$!
"$phy" rx "ipc://$WORK/loop" 4 12000000 0 0 loop.cs16
cat a.cs16 a.cs16 a.cs16 | head -c 48000000 >three.cs16
same three.cs16 loop.cs16 "end=loop repeats the recording"
kill -INT $replay
wait $replay
[ $? = 130 ] && ok "until Ctrl-C" || not_ok "until Ctrl-C: $(cat err)"

# the other direction, resampled, and both together
"$TAPLAG" resample r.cs16 --format cs16 --from 30.72M --to 25M --align -o t.cs16 >/dev/null 2>&1
"$phy" tx "ipc://$WORK/tx" r.cf32 245760 &
tx=$!
"$TAPLAG" record "srsran:ipc://$WORK/tx" --rate 30.72M -o tx.sigmf-meta --duration 200ms >out 2>err && same r.cs16 tx.sigmf-data "a transmit port into a file" ||
  not_ok "record srsran: $(cat err)"
wait $tx
"$phy" tx "ipc://$WORK/tx2" r.cf32 307200 &
tx=$!
"$TAPLAG" record "srsran:ipc://$WORK/tx2" --rate 30.72M --out-rate 25M --align -o tx25.cs16 --duration 200ms >out 2>err && same t.cs16 tx25.cs16 "resampled by 625/768 on the way" ||
  not_ok "record srsran, resampled: $(cat err)"
wait $tx
"$phy" tx "ipc://$WORK/tx3" r.cf32 245760 &
tx=$!
"$TAPLAG" replay a.cs16 --format cs16 --rate 25M --align --to "srsran:ipc://$WORK/rx3?format=sc16" --drain "srsran:ipc://$WORK/tx3" >out 2>err &
replay=$!
"$phy" rx "ipc://$WORK/rx3" 4 $n 30.72e6 0 got3.cs16
wait $replay
same r.cs16 got3.cs16 "replay with --drain"
grep -Eq '^drained .*: [1-9][0-9]* samples' out && ok "what was drained is counted" || not_ok "the drain: $(cat out err)"
wait $tx

# nobody there: Ctrl-C ends it, and what was not taken is counted
"$TAPLAG" replay a.cs16 --format cs16 --rate 25M --to "srsran:tcp://127.0.0.1:*" --json >out 2>err &
replay=$!
running $replay
sleep 0.5
kill -INT $replay
wait $replay
[ $? = 130 ] && python3 -c "
import json
s = json.load(open('out'))['measured']['sinks'][0]
assert s['outputs'] == s['dropped'] > 0 and s['sent'] == 0" && ok "without a PHY Ctrl-C ends it" || not_ok "without a PHY: $(cat err out)"

expect 2 'no endpoint' "a wrong endpoint" -- "$TAPLAG" replay a.cs16 --format cs16 --rate 25M --to srsran:127.0.0.1
expect 2 "no key 'hold'" "a wrong key" -- "$TAPLAG" replay a.cs16 --format cs16 --rate 25M --to "srsran:tcp://127.0.0.1:*?hold=1"
expect 2 'take one of the two' "end=loop and a number of passes" -- "$TAPLAG" replay a.cs16 --format cs16 --rate 25M --loop 2 --to "srsran:tcp://127.0.0.1:*?end=loop"
expect 2 'live source' "--drain of a file" -- "$TAPLAG" replay a.cs16 --format cs16 --rate 25M --drain a.cs16
expect 2 '--speed' "a live source has its own pace" -- "$TAPLAG" replay "srsran:ipc://$WORK/no" --rate 30.72M --speed 2
expect 2 'give --rate' "a PHY tells no rate" -- "$TAPLAG" record "srsran:ipc://$WORK/no" -o x.cs16
