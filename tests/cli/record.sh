# SPDX-License-Identifier: Apache-2.0
# taplag record: pipes and files as live sources; what the file says, stops, kills, refusals.
. "$(dirname "$0")/lib.sh"

"$TAPLAG" synth noise --rate 25M --duration 20ms --seed 5 -o a.cs16 >/dev/null
n=500000

cat a.cs16 | "$TAPLAG" record - --format cs16 --rate 25M -o b.cs16 >out 2>err && same a.cs16 b.cs16 "stdin is recorded as it came" ||
  not_ok "record -: $(cat err)"
grep -q "^inputs    $n = $n processed" out && ok "its account" || not_ok "its account: $(cat out)"

mkfifo p
cat a.cs16 >p &
"$TAPLAG" record fifo:p --format cs16 --rate 25M -o c.cs16 --packet 7 >out 2>err && same a.cs16 c.cs16 "a named pipe, in packets of 7" ||
  not_ok "record fifo: $(cat err)"
wait

"$TAPLAG" resample a.cs16 --format cs16 --from 25M --to 30.72M --align -o r.cs16 >/dev/null 2>&1
cat a.cs16 | "$TAPLAG" record - --format cs16 --rate 25M --out-rate 30.72M --align -o d.cs16 >/dev/null 2>&1
same r.cs16 d.cs16 "resampled on the way, as resample does"

# stdout: samples there, results on stderr
cat a.cs16 | "$TAPLAG" record - --format cs16 --rate 25M -o - >e.cs16 2>err
same a.cs16 e.cs16 "samples to stdout"
grep -q ^recorded err && ok "results to stderr then" || not_ok "results to stderr then"

# SigMF: a time stamp, now
cat a.cs16 | "$TAPLAG" record - --format cs16 --rate 25M -o f.sigmf-meta --json >out 2>err
grep -q "\"core:datetime\": \"$(date -u +%Y)-.*Z\"" f.sigmf-meta && ok "SigMF has the time of the first sample" ||
  not_ok "SigMF has the time of the first sample: $(cat f.sigmf-meta)"
python3 - <<'PY' && ok "JSON: schema, file, accounts" || not_ok "JSON: schema, file, accounts"
import json
o = json.load(open('out'))
assert o['schema'] == 'taplag/record/1' and o['file']['name'] == 'f.sigmf-meta'
a = o['measured']['accounts']
assert a['balanced'] and a['inputs'] == a['outputs'] == 500000
PY
same a.cs16 f.sigmf-data "its samples"

# gaps of a recording pass through, marked or filled
"$TAPLAG" record f.sigmf-meta -o g.sigmf-meta --duration 1ms >/dev/null 2>&1
[ "$(stat -c %s g.sigmf-data)" = 100000 ] && ok "--duration" || not_ok "--duration"
grep -q "$(grep -o '"core:datetime.*' f.sigmf-meta)" g.sigmf-meta && ok "the recording's own time is kept" || not_ok "the recording's own time is kept"

# Ctrl-C: a complete file, 130
mkfifo q
(cat a.cs16; sleep 20) >q 2>/dev/null &
writer=$!
"$TAPLAG" record q --format cs16 --rate 25M -o h.sigmf-meta >out 2>err &
recorder=$!
for _ in $(seq 100); do
  [ -s h.sigmf-data.part ] && [ "$(stat -c %s h.sigmf-data.part)" = 2000000 ] && break
  sleep 0.05
done
kill -INT $recorder
wait $recorder
status=$?
[ $status = 130 ] && same a.cs16 h.sigmf-data "Ctrl-C leaves a complete recording" || not_ok "Ctrl-C: exit $status $(cat err)"
absent h.sigmf-data.part "no part is left then"
kill $writer 2>/dev/null

# killed: FILE.part stays
mkfifo s
(cat a.cs16; sleep 20) >s 2>/dev/null &
writer=$!
"$TAPLAG" record s --format cs16 --rate 25M -o k.cs16 >out 2>err &
recorder=$!
for _ in $(seq 100); do
  [ -s k.cs16.part ] && [ "$(stat -c %s k.cs16.part)" = 2000000 ] && break
  sleep 0.05
done
kill -KILL $recorder
wait $recorder 2>/dev/null
same a.cs16 k.cs16.part "killed, FILE.part has what came"
[ ! -e k.cs16 ] && ok "and nothing stands under the name" || not_ok "and nothing stands under the name"
kill $writer 2>/dev/null
expect 2 "k.cs16.part exists" "a part that was left is not overwritten" -- "$TAPLAG" record a.cs16 --rate 25M -o k.cs16

expect 2 "-o FILE" "no output" -- "$TAPLAG" record a.cs16 --rate 25M
expect 2 "give --rate" "no rate" -- "$TAPLAG" record a.cs16 -o x.cs16
expect 2 "which is read" "onto itself" -- "$TAPLAG" record a.cs16 --rate 25M -o ./a.cs16 --force
expect 2 "exists" "existing output" -- "$TAPLAG" record a.cs16 --rate 25M -o b.cs16
expect 4 "nothing.cs16" "no such source" -- "$TAPLAG" record nothing.cs16 --rate 25M -o x.cs16
expect 2 "one of mark, zero, close" "a wrong --gaps" -- "$TAPLAG" record a.cs16 --rate 25M -o x.cs16 --gaps no
expect 2 "duration" "windows are for recordings" -- "$TAPLAG" record udp:127.0.0.1:1 --rate 25M --start 5 -o x.cs16

# what is wrong with the output is said before a sender is waited for
echo old >old.cs16
expect 2 "old.cs16 exists" "an existing output, before the sender" -- timeout 20 "$TAPLAG" record udp:0 -o old.cs16
expect 4 "cannot create /nonexistent" "a folder that is missing, before the sender" -- timeout 20 "$TAPLAG" record udp:0 -o /nonexistent/x.cs16
touch half.sigmf-data
expect 2 "half.sigmf-data exists" "half a SigMF recording, before the sender" -- timeout 20 "$TAPLAG" record udp:0 -o half.sigmf-meta
expect 2 "old.cs16 exists" "replay of a live source, too" -- timeout 20 "$TAPLAG" replay udp:0 --to old.cs16
expect 2 "name of the output is empty" "an empty name, before the sender" -- timeout 20 "$TAPLAG" record udp:0 -o ''
expect 4 "in the output" "a device has no part" -- "$TAPLAG" record a.cs16 --rate 25M -o /dev/full

# stopped before a PHY was there: nothing is left
"$TAPLAG" record "srsran:ipc://$WORK/nophy" --rate 30.72M -o early.cs16 >out 2>err &
recorder=$!
for _ in $(seq 100); do
  [ -e early.cs16.part ] && break
  sleep 0.05
done
sleep 0.1
kill -INT $recorder
wait $recorder
is $? 130 "stopped before a PHY was there: 130"
grep -q "stopped while waiting" err && ok "and says so" || not_ok "and says so: $(cat err)"
absent early.cs16 "and leaves nothing"

# a live source's outputs are looked at before anybody is waited for: nobody ever sends here
live="unix:$WORK/nobody"
touch there.cs16 there.trace
expect 2 "there.cs16 exists" "replay of a live source looks at files first" -- timeout 60 "$TAPLAG" replay "$live" --to null: --to there.cs16
expect 2 "there.trace exists" "and at the trace" -- timeout 60 "$TAPLAG" replay "$live" --to null: --trace there.trace
expect 4 "/nonexistent/x" "and at folders" -- timeout 60 "$TAPLAG" replay "$live" --to /nonexistent/x.cs16
for sink in udp:127.0.0.1:99999 "udp:127.0.0.1:9?mtu=1" srsran:tcp://127.0.0.1:99999 "zmq:ipc://$WORK/there.cs16" "unix:$WORK/there.cs16" shm:a/b \
  "shm:a?slots=1" "dac:?lead=x" nothing:x; do
  expect 2 "${sink%%:*}|there" "and at $sink" -- timeout 60 "$TAPLAG" replay "$live" --to "$sink"
done

# and at the places of sockets; one that can be is not refused
long=ipc://$WORK/$(printf 'x%.0s' $(seq 150))
for sink in unix:/nonexistent/s zmq:ipc:///nonexistent/q srsran:ipc:///nonexistent/q "unix:$WORK/there.cs16/s" "zmq:ipc://$WORK/there.cs16/q"; do
  expect 4 "/(nonexistent|there.cs16)/.*: (No such file|Not a dir)" "and at the folder of $sink" -- timeout 60 "$TAPLAG" replay "$live" --to null: --to "$sink"
done
for sink in "unix:${long#ipc://}" "zmq:$long" "zmq:$long?connect=1" "srsran:$long"; do
  expect 2 "107 bytes at most" "and at the length of ${sink%%:*}'s path" -- timeout 60 "$TAPLAG" replay "$live" --to null: --to "$sink"
done
pids=() sinks=("unix:$WORK/sink" "zmq:ipc://$WORK/sink" "srsran:ipc://$WORK/sink" "unix:@$WORK/sink" "zmq:ipc://@$WORK/sink" unix:sink zmq:ipc://sink
  "zmq:ipc://*" "unix:/nonexistent/s?connect=1" "zmq:ipc:///nonexistent/q?connect=1")
for i in "${!sinks[@]}"; do
  "$TAPLAG" replay "$live" --rate 1M --out-rate 1M --to null: --to "${sinks[i]}" >/dev/null 2>"waits.$i" </dev/null &
  pids[i]=$!
done
for i in "${!sinks[@]}"; do
  until_pid "${pids[i]}" grep -q "waiting for unix" "waits.$i"
  kill -INT "${pids[i]}" 2>/dev/null
  wait "${pids[i]}"
  grep -q "stopped while waiting" "waits.$i" && ok "${sinks[i]} can be: the sender is waited for" || not_ok "${sinks[i]} can be: $(cat "waits.$i")"
done
expect 2 "drain" "and at --drain" -- timeout 60 "$TAPLAG" replay "$live" --to null: --drain there.cs16
expect 2 "out-rate" "and at the rate" -- timeout 60 "$TAPLAG" replay "$live" --to null: --out-rate much

# a rate that can be, and of which no ratio makes the output's: input, not usage, and it is said whose
odd=1800000000000001/72000000
for what in "record unix:$WORK/odd --out-rate 30.72M -o odd.cs16" "replay unix:$WORK/odd --to odd.cs16"; do
  "$TAPLAG" replay a.cs16 --format cs16 --rate $odd --out-rate $odd --to "unix:$WORK/odd?block=1" >/dev/null 2>&1 &
  sender=$!
  # shellcheck disable=SC2086
  expect 3 "unix:$WORK/odd: the sender states .*$odd.*--rate" "${what%% *}: a rate without a ratio" -- timeout 60 "$TAPLAG" $what
  absent odd.cs16 "and leaves nothing"
  kill -INT $sender
  wait $sender
done
"$TAPLAG" replay a.cs16 --format cs16 --rate $odd --out-rate $odd --to "unix:$WORK/odd?block=1" >/dev/null 2>&1 &
expect 0 "" "a rate that is given instead" -- timeout 60 "$TAPLAG" record "unix:$WORK/odd" --rate 25M --out-rate 30.72M --align -o odd.cs16
wait $!
"$TAPLAG" resample a.cs16 --format cs16 --from 25M --to 30.72M --align -o even.cs16 >/dev/null 2>&1
same even.cs16 odd.cs16 "is taken"
