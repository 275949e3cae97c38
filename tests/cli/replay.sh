# SPDX-License-Identifier: Apache-2.0
# taplag replay: same bytes as resample, accounts, policies, options, failures, signals.
. "$(dirname "$0")/lib.sh"
json() { python3 -c "import json,sys; d=json.load(open('$1')); print($2)" 2>&1; }
is() { # FILE EXPRESSION VALUE DESCRIPTION
  local got
  got=$(json "$1" "$2")
  if [ "$got" = "$3" ]; then ok "$4"; else not_ok "$4: $2 is $got, wanted $3"; fi
}
command -v python3 >/dev/null || {
  skip "replay: python3 is not here to look into JSON"
  exit 0
}

"$TAPLAG" synth ofdm --rate 25M --duration 20ms --level -15dBFS --seed 1 -o a.cs16 >/dev/null 2>&1
"$TAPLAG" synth ofdm --rate 25M --duration 20ms --level -15dBFS --seed 1 -o a.sigmf-meta >/dev/null 2>&1
R="$TAPLAG replay a.cs16 --format cs16 --rate 25M"
V="$R --clock virtual"

# Whatever the packets, the clock and the policy: the bytes of resample.
for how in "" --align --flush; do
  "$TAPLAG" resample a.cs16 --format cs16 --from 25M --to 30.72M $how -o want.cs16 --force >/dev/null 2>&1
  n=0
  for packet in 625 364 uhd8000 uhd8016 1,7,362 100000; do
    expect 0 "" "replay $how --packet $packet" -- $V $how --packet $packet --to file:got.cs16 --force
    cmp -s want.cs16 got.cs16 && n=$((n + 1))
  done
  if [ $n -eq 6 ]; then ok "six packet sizes $how give the bytes of resample"; else not_ok "$n of 6 packet sizes $how give the bytes of resample"; fi
  $R $how --to got.cs16 --force >/dev/null 2>&1
  same want.cs16 got.cs16 "replay $how on the real clock to a file gives the bytes of resample"
done
"$TAPLAG" resample a.cs16 --format cs16 --from 25M --to 30.72M -o want.cs16 --force >/dev/null 2>&1
"$TAPLAG" resample a.cs16 --format cs16 --from 25M --to 30.72M -o want.cf32 >/dev/null 2>&1

expect 0 "" "several sinks" -- $V --to "file:x.raw?format=cf32" --to null: --to y.cs16
same want.cf32 x.raw "format=cf32 is converted at the edge"
same want.cs16 y.cs16 "the other sink has the same samples"
$V --to stdout: >s.cs16 2>s.err
same want.cs16 s.cs16 "stdout: has the samples"
if grep -q "^packet, air to delivered" s.err; then ok "then results go to stderr"; else not_ok "then results go to stderr"; fi
mkfifo pipe
cat pipe >f.cs16 &
$R --overrun block --to fifo:pipe >/dev/null 2>&1
wait $!
same want.cs16 f.cs16 "fifo: has the samples"
cat a.cs16 | "$TAPLAG" replay - --format cs16 --rate 25M --clock virtual --to z.cs16 >/dev/null 2>&1
same want.cs16 z.cs16 "stdin is a source"

# The call of the documentation: SigMF tells the rate, a trace, JSON.
expect 0 "" "replay of SigMF with trace and JSON" -- "$TAPLAG" replay a.sigmf-meta --packet 364 --to file:d.cs16 --trace t.trace --json
same want.cs16 d.cs16 "SigMF gives the same samples"
is out "d['schema']" taplag/replay/1 "the schema is named"
is out "d['measured']['accounts']['balanced']" True "the accounts balance"
is out "d['measured']['accounts']['packets']" 1374 "every packet is counted"
is out "d['measured']['accounts']['packets_dropped']" 0 "to a file nothing is lost"
is out "sorted(set(d) - {'host', 'measured'})" "['rate_in', 'rate_out', 'resampler', 'schema', 'settings', 'source']" "what does not repeat stands under host and measured"
if [ "$(head -c 8 t.trace)" = TLGTRACE ] && [ "$(stat -c %s t.trace)" -eq $((192 + 96 * 1374)) ]; then ok "the trace has a record for each packet"; else not_ok "the trace has a record for each packet"; fi
expect 2 "t.trace" "an existing trace is not overwritten, and that is said before the run" -- $V --trace t.trace
expect 0 "" "with --force it is" -- $V --trace t.trace --force

# The virtual clock: the same JSON each time, whatever the kernel; no time passes in any stage.
$V --packet 364 --json >1.json 2>/dev/null
$V --packet 364 --json --cpu c >2.json 2>/dev/null
same 1.json 2.json "on the virtual clock every byte of the JSON repeats, on any kernel"
is 1.json "d['measured']['packet']['max_ps']" 0 "packets take no time there"
is 1.json "d['measured']['subframes']['complete']" 20 "20 subframes are timed in 20 ms"
is 1.json "d['measured']['subframes']['above_deadline']" 0 "none is late"
is 1.json "d['measured']['subframes']['latency']['max_ps'] <= 1000000000 + 364 * 40000" True "a subframe takes its own length and at most a packet"
$V --offset 1000 --json >1.json 2>/dev/null
is 1.json "d['measured']['subframes']['complete']" 19 "with an offset the last one is not whole"

# Losses are counted, and a limit on them fails.
expect 0 "" "named packets are lost" -- $V --drop-packet 3,10,11 --json --to l.cs16
is out "d['measured']['accounts']['packets_dropped']" 3 "three packets were lost"
is out "d['measured']['accounts']['dropped']" 1875 "with their samples"
is out "d['measured']['accounts']['left_out']" 2304 "and their outputs are left out"
is out "d['measured']['accounts']['balanced']" True "which balances"
is out "d['measured']['subframes']['incomplete']" 1 "the subframe they belong to is incomplete"
if [ "$(stat -c %s l.cs16)" -eq $(((614400 - 2304) * 4)) ]; then ok "the file lacks these outputs"; else not_ok "the file lacks these outputs"; fi
if grep -q "cannot mark where" err; then ok "and it is said that a raw file cannot mark the place"; else not_ok "and it is said that a raw file cannot mark the place"; fi
expect 0 "" "with zeros instead" -- $V --drop-packet 3,10,11 --gaps zero --json --to l.cs16 --force
if [ "$(stat -c %s l.cs16)" -eq $((614400 * 4)) ]; then ok "zeros keep the length"; else not_ok "zeros keep the length"; fi
expect 0 "joined over" "close warns" -- $V --drop-packet 3,10,11 --gaps close
expect 0 "" "within --max-overruns" -- $V --drop-packet 3,10,11 --max-overruns 3
expect 1 "3 packets were lost, 2 allowed" "beyond --max-overruns" -- $V --drop-packet 3,10,11 --max-overruns 2
if grep -q "O" err; then ok "losses show as O"; else not_ok "losses show as O"; fi

# A loss whose gap is closed in silence does not pass the spectra, which name its place; nor do zeros in its place.
"$TAPLAG" replay a.cs16 --format cs16 --rate 25M --clock virtual --align --to whole.cs16 >/dev/null 2>&1
expect 0 "PASSED" "what was replayed whole passes the check" -- "$TAPLAG" check a.cs16 whole.cs16 --format cs16 --from 25M --align
"$TAPLAG" replay a.cs16 --format cs16 --rate 25M --clock virtual --align --drop-packet 500 --gaps close --to lost.cs16 >/dev/null 2>&1
expect 1 "packet 500 of 625" "one lost packet with its gap closed fails it, with the place" -- "$TAPLAG" check a.cs16 lost.cs16 --format cs16 --from 25M --align
"$TAPLAG" replay a.cs16 --format cs16 --rate 25M --clock virtual --align --drop-packet 500 --gaps zero --to lost.cs16 --force >/dev/null 2>&1
expect 1 "FAILED" "so does one filled with zeros" -- "$TAPLAG" check a.cs16 lost.cs16 --format cs16 --from 25M --align

# Loops and windows of the stream.
expect 0 "" "loops" -- $V --loop 3 --json --to loop.cs16
is out "d['measured']['passes']" 3 "three passes"
cat a.cs16 a.cs16 a.cs16 >aaa.cs16
"$TAPLAG" resample aaa.cs16 --format cs16 --from 25M --to 30.72M -o want3.cs16 >/dev/null 2>&1
same want3.cs16 loop.cs16 "a loop is one stream: no seam"
expect 0 "" "endless loops end with --duration" -- $V --loop 0 --duration 50ms --json
is out "d['measured']['accounts']['inputs']" 1250000 "after exactly 50 ms of samples"
expect 0 "" "a speed" -- $V --speed 1/2 --json
is out "d['measured']['duration_ps']" 40000000000 "at half the speed it takes twice the time"
expect 5 "cannot be repeated" "a pipe does not loop" -- sh -c "cat a.cs16 | $TAPLAG replay - --format cs16 --rate 25M --loop 2"

# Usage.
expect 2 "packet" "packet 0" -- $V --packet 0
expect 2 "packet" "packet words" -- $V --packet small
expect 4 "nothere" "packet file that is missing" -- $V --packet @nothere
printf '364\n364\n362\n' >sizes
expect 0 "" "packet sizes from a file" -- $V --packet @sizes --json
is out "d['settings']['packet']" "[364, 364, 362]" "are the file's"
printf 'a b\n' >sizes
expect 3 "" "packet file of words" -- $V --packet @sizes
expect 2 "one of real, virtual" "clock" -- $R --clock sundial
expect 2 "one of drop, block" "overrun" -- $R --overrun lose
expect 2 "one of mark, zero, close" "gaps" -- $R --gaps hide
expect 2 "cores" "cores" -- $R --cores 0,x
expect 2 "exclude" "pin and cores" -- $R --pin --cores 0,0,0
expect 2 "rise" "drops must rise" -- $V --drop-packet 5,5
expect 2 "speed" "speed" -- $V --speed 0
expect 2 "named twice" "one sink twice" -- $V --to a.raw --to a.raw
expect 2 "HOST:PORT is wanted" "a sink without a port" -- $V --to udp:localhost
expect 2 "exists" "an existing output" -- $V --to want.cs16
expect 2 "rate" "no rate" -- "$TAPLAG" replay a.cs16 --format cs16
expect 4 "" "no such source" -- "$TAPLAG" replay nothere.cs16 --rate 25M
expect 2 "argument" "no source" -- "$TAPLAG" replay
expect 0 "max-overruns" "help" -- "$TAPLAG" replay --help

# Outputs are told apart before anything is opened: by what they are, not by how they are written.
cp a.cs16 own.cs16
expect 2 "named twice" "one file under two names" -- $V --to twice.cs16 --to ./twice.cs16
absent twice.cs16 "and nothing is written"
expect 2 "named twice" "with a scheme and without" -- $V --to file:twice.cs16?format=cf32 --to twice.cs16
expect 2 "named twice" "stdout under two names" -- $V --to - --to stdout:
expect 2 "named twice" "both files of one SigMF recording" -- $V --to twice.sigmf-meta --to twice.sigmf-data
expect 2 "named twice" "a trace over the samples" -- $V --to twice.cs16 --trace twice.cs16 --force
ln -s want.cs16 link.cs16
expect 2 "named twice" "a file and a link to it" -- $V --to link.cs16 --to want.cs16 --force
expect 2 "which is read" "the source as an output" -- $V --to a.cs16 --force
expect 2 "which is read" "or as the trace" -- $V --trace ./a.cs16 --force
ln a.cs16 hard.cs16
expect 2 "which is read" "or under another name" -- $V --to hard.cs16 --force
expect 2 "which is read" "the data of a SigMF source" -- "$TAPLAG" replay a.sigmf-meta --clock virtual --to a.sigmf-data --force
cp a.cs16 nc.raw
python3 - <<'PY'
import json
m = json.load(open("a.sigmf-meta"))
m["global"].pop("core:sha512", None)
m["global"]["core:dataset"] = "nc.raw"
json.dump(m, open("nc.sigmf-meta", "w"))
PY
expect 2 "which is read" "the dataset of one" -- "$TAPLAG" replay nc.sigmf-meta --clock virtual --to nc.raw --force
"$TAPLAG" replay - --format cs16 --rate 25M --clock virtual --to own.cs16 --force <own.cs16 >/dev/null 2>err
if [ $? -eq 2 ] && grep -q "which is read" err; then ok "what stdin is, is not written"; else not_ok "what stdin is, is not written"; fi
same a.cs16 own.cs16 "the source is as it was"
printf '625\n' >sizes
expect 2 "which is read" "the list of packet sizes" -- $V --packet @sizes --to sizes --force
expect 0 "" "devices may be named twice" -- $V --to /dev/null --to /dev/null --trace /dev/null

# What takes stdout leaves it alone: the results go to stderr, whatever stdout is called.
$V --trace - >t.out 2>t.err
$V --trace t.want >/dev/null 2>&1
same t.want t.out "--trace - has the trace alone"
if grep -q "^packet, air to delivered" t.err; then ok "and the results on stderr"; else not_ok "and the results on stderr"; fi
for how in "--trace /dev/stdout" "--to /dev/stdout"; do
  $V $how --force --json >b.out 2>b.err
  is b.err "d['measured']['accounts']['balanced']" True "$how leaves the results on stderr"
done
same want.cs16 b.out "and the samples under stdout's file"
$V --to /dev/stdout 2>b.err | cmp -s - want.cs16 && ok "into a pipe as well" || not_ok "into a pipe as well"
if grep -q "^packet, air to delivered" b.err; then ok "with the results on stderr"; else not_ok "with the results on stderr"; fi
$V --json --to /dev/null 2>b.err >/dev/null
if grep -q schema b.err; then not_ok "/dev/null twice is no clash"; else ok "/dev/null twice is no clash"; fi

# A trace into a pipe: its reader is met once, before the run.
mkfifo tpipe
cat tpipe >tp.out &
reader=$!
timeout 20 $V --trace tpipe >/dev/null 2>&1 || kill $reader 2>/dev/null
wait $reader 2>/dev/null
same t.want tp.out "a trace goes through a named pipe"

# On the virtual clock the trace repeats, byte for byte, queue depths included.
$V --packet 364 --trace t.1 >/dev/null 2>&1
$V --packet 364 --trace t.2 --queue 4096 --spin 50us >/dev/null 2>&1
same t.1 t.2 "the trace repeats on the virtual clock"

# Offsets of the subframes: the first one begins there, however far that is.
for case in 61440:18 61441:17 614400:0 100000000:0; do
  $V --offset ${case%:*} --json >o.json 2>/dev/null
  is o.json "d['measured']['subframes']['complete']" ${case#*:} "offset ${case%:*}: ${case#*:} subframes"
done

# Values that mean nothing are refused.
expect 2 "no sink 'foo:'.*file:foo:bar" "an unknown scheme" -- $V --to foo:bar
absent foo:bar "no file of that name"
expect 2 "null: stdout: fifo:PATH and file:PATH" "a mistyped scheme" -- $V --to upd:127.0.0.1:5
expect 0 "" "file: takes such a name" -- $V --to file:foo:bar
same want.cs16 foo:bar "and writes it"
expect 2 "from 1 to 99" "--fifo 0" -- $R --fifo 0
expect 2 "not a whole number" "--fifo 5x" -- $R --fifo 5x
for value in , 3, ,3 3,,5 ""; do
  expect 2 "beside a comma" "--drop-packet '$value'" -- $V --drop-packet "$value"
  [ -z "$value" ] || expect 2 "beside a comma" "--packet '$value'" -- $V --packet "$value"
done
expect 2 "no packet 99999999" "a packet that will not be" -- $V --drop-packet 99999999
expect 0 "only 800 packets" "or was not" -- $V --drop-packet 3,801
expect 2 "cores" "a core missing behind a comma" -- $R --cores 0,1,0,
expect 2 "cores" "no cores" -- $R --cores ""
expect 2 "beside a comma" "bench pipeline --packet 3,,5" -- "$TAPLAG" bench pipeline --packet 3,,5
expect 2 "from 1 to 99" "bench pipeline --fifo 0" -- "$TAPLAG" bench pipeline --fifo 0

# What a run is too short for is not given a figure.
expect 0 "" "a short run" -- $R --duration 20ms --control 0 --json
is out "d['measured']['floor_slope_ppm']" None "has no slope of the least errors"
expect 0 "not enough for a slope" "and says so" -- $R --duration 20ms --control 0
expect 0 "" "a run of one packet" -- $R --duration 25us --control 0 --json
is out "d['measured']['slope_ppm']" None "has no slope at all"
expect 0 "not enough packets for a slope" "and says so" -- $R --duration 25us --control 0

# A recording of a few samples repeats as one that is long; what is counted of the source is one pass of it.
python3 -c "import struct; open('tiny.cf32', 'wb').write(struct.pack('<6f', 2, 0, 0.5, 0, 0, 0))"
expect 0 "" "a tiny recording, looped" -- "$TAPLAG" replay tiny.cf32 --rate 25M --clock virtual --loop 100000 --json
is out "d['measured']['accounts']['inputs']" 300000 "gives all its passes"
is out "d['source']['clipped']" 1 "of which the counts are those of one"

# Gaps of hours: a stop ends zeros for them, and counts of a gap only what had passed.
head -c 8000 a.cs16 >hours.sigmf-data
python3 - <<'PY'
import json
for name, index in (("hours", 10**12), ("seconds", 10**8)):
    json.dump({"global": {"core:datatype": "ci16_le", "core:sample_rate": 25e6, "core:version": "1.0.0"},
               "captures": [{"core:sample_start": 0, "core:global_index": 0},
                            {"core:sample_start": 1000, "core:global_index": index}],
               "annotations": []}, open(name + ".sigmf-meta", "w"))
PY
cp hours.sigmf-data seconds.sigmf-data
timeout --preserve-status -s INT -k 60 1.5 "$TAPLAG" replay hours.sigmf-meta --clock virtual --gaps zero --json >gap.json 2>gap.err
status=$?
if [ $status -eq 130 ] && grep -q "stopped in a gap" gap.err; then ok "a stop ends the zeros of a gap of hours"; else not_ok "a stop ends the zeros of a gap of hours: $status"; fi
is gap.json "d['measured']['accounts']['balanced']" True "it balances"
for gaps in mark zero; do
  timeout -s INT -k 60 0.5 "$TAPLAG" replay seconds.sigmf-meta --gaps $gaps --json --to gap-$gaps.cs16 >gap.json 2>/dev/null
  is gap.json "d['measured']['accounts']['inputs'] < 90000000" True "a stop in a gap of 4 s, $gaps: only what passed counts"
  is gap.json "d['measured']['accounts']['inputs'] == sum(d['measured']['accounts'][k] for k in ('missing', 'processed'))" True "it is missing"
  is gap.json "d['measured']['accounts']['balanced']" True "it balances"
done
expect 3 "passes 106 days" "a stream that is longer than instants are" -- "$TAPLAG" replay hours.sigmf-meta --clock virtual --speed 0.001
expect 3 "passes 106 days" "or is that by loops" -- $V --speed 0.000001 --loop 1000 --packet 100000
expect 2 "may last 106 days" "or by --duration" -- $V --loop 0 --speed 0.000001 --duration 1000s

# Signals: before anything could run, and while a sink takes nothing.
mkfifo nobody.sigmf-meta
expect 4 "regular" "a pipe with the name of a meta file is not waited for" -- timeout 20 "$TAPLAG" replay nobody.sigmf-meta --to null:
mkfifo nobody
"$TAPLAG" replay a.cs16 --format cs16 --rate 25M --to nobody >/dev/null 2>nobody.err &
pid=$!
catching $pid
sleep 0.3
kill -s INT $pid
wait $pid
status=$?
if [ $status -eq 130 ] && grep -q "stopped while waiting for a reader of nobody" nobody.err && ! grep -q Interrupted nobody.err; then
  ok "a signal ends the wait for a pipe's reader"
else not_ok "a signal ends the wait for a pipe's reader: $status, $(cat nobody.err)"; fi
mkfifo stuck
sleep 30 <stuck &
holder=$!
"$TAPLAG" replay a.cs16 --format cs16 --rate 25M --loop 0 --to stuck >/dev/null 2>stuck.err &
pid=$!
running $pid
sleep 0.5
kill -s INT $pid
i=0
while [ $i -lt 100 ] && ! grep -q "draining; another signal ends at once" stuck.err; do
  sleep 0.1
  i=$((i + 1))
done
kill -s INT $pid
wait $pid 2>/dev/null
status=$?
kill $holder
wait $holder 2>/dev/null
if [ "$(grep -c "stopping: draining; another signal ends at once" stuck.err)" = 1 ] && [ $status -eq 130 ]; then
  ok "a sink that takes nothing: the first signal says so once, the second ends it"
else not_ok "a sink that takes nothing: $status, $(tail -n 3 stuck.err)"; fi

# Failures leave nothing half written.
cp a.sigmf-meta cut.sigmf-meta
head -c 1000003 a.sigmf-data >cut.sigmf-data
expect 3 "" "a cut recording" -- "$TAPLAG" replay cut.sigmf-meta --clock virtual --to cut.cs16
absent cut.cs16 "no file is left of it"
if [ -e /dev/full ]; then
  expect 4 "" "a full device" -- $V --to /dev/full
fi
expect 4 "" "a folder that is missing" -- $V --to nofolder/x.cs16
(
  ulimit -f 100
  "$TAPLAG" replay a.cs16 --format cs16 --rate 25M --clock virtual --to big.cs16 >/dev/null 2>big.err
  echo $? >big.status
)
if [ "$(cat big.status)" = 4 ]; then ok "a full disk ends it with 4"; else not_ok "a full disk ends it with 4, not $(cat big.status)"; fi
absent big.cs16 "no file is left on the full disk"
$V --loop 100 --to stdout: 2>pipe.err | head -c 1000 >/dev/null
status=${PIPESTATUS[0]}
if [ "$status" = 4 ]; then ok "a closed pipe ends it with 4"; else not_ok "a closed pipe ends it with 4, not $status"; fi

# Ctrl-C drains, prints, leaves a complete file.
for signal in INT TERM; do
  rm -f live.cs16
  "$TAPLAG" replay a.cs16 --format cs16 --rate 25M --loop 0 --align --to live.cs16 --json >live.json 2>live.err &
  pid=$!
  running $pid
  sleep 0.5
  kill -s $signal $pid
  wait $pid
  status=$?
  want=130
  [ $signal = TERM ] && want=143
  if [ $status -eq $want ]; then ok "$signal ends it with $want"; else not_ok "$signal ends it with $want, not $status"; fi
  is live.json "d['measured']['interrupted']" True "the summary says that it was interrupted"
  is live.json "d['measured']['accounts']['balanced']" True "it balances"
  is live.json "(d['measured']['accounts']['outputs'] + d['measured']['accounts']['tail']) * 4 == __import__('os').path.getsize('live.cs16')" True "the file is complete"
done
n=$(json live.json "d['measured']['accounts']['inputs']")
passes=$((n / 500000 + 1))
i=0
while [ $i -lt $passes ]; do
  cat a.cs16
  i=$((i + 1))
done | head -c $((n * 4)) | "$TAPLAG" resample - --format cs16 --from 25M --to 30.72M --align -o interrupted.cs16 >/dev/null 2>&1
same interrupted.cs16 live.cs16 "what was interrupted is what resample makes of so many samples"

# What the host may refuse is a warning, or with --strict an end.
expect 0 "" "locks and priorities, permitted or not" -- $R --fifo 1 --mlock --pin --duration 10ms
expect 0 "not permitted" "a core that does not exist warns" -- $R --cores 0,1000,0 --duration 10ms
expect 5 "not permitted" "or with --strict ends it" -- $R --cores 0,1000,0 --strict

# Between its first and its last packet the resampler's thread makes no system call but those of its queues.
if grep -qaE '__(asan|tsan)_init' "$TAPLAG"; then
  skip "system calls of the resampler's thread: a sanitizer makes its own"
elif command -v strace >/dev/null && strace -f -o sys.log true 2>/dev/null; then
  strace -f -qq -o sys.log "$TAPLAG" replay a.cs16 --format cs16 --rate 25M --overrun block --speed 1/4 >/dev/null 2>&1
  tid=$(awk '/PR_SET_NAME, "tlg-resample"/ {print $1; exit}' sys.log)
  # What stands between the two readings of its own counters, without the reading of its CPU time before the second.
  calls=$(awk -v t="${tid:-none}" '$1 != t || /resumed>/ || /THREAD_CPUTIME/ {next} /getrusage/ {n++; next} n == 1 {print $2}' sys.log |
    sed 's/(.*//' | sort | uniq -c | sort -rn)
  if [ "$(echo "$calls" | awk '{print $2}')" = futex ]; then
    ok "the resampler's thread only waits and wakes: $(echo "$calls" | awk '{print $1}') futex calls for 800 packets"
  else
    not_ok "the resampler's thread only waits and wakes: $(echo $calls)"
  fi
else
  skip "system calls of the resampler's thread: no strace here"
fi

# Captures of a SigMF recording with a gap.
python3 - <<'PY'
import json
m = json.load(open("a.sigmf-meta"))
c = m["captures"][0]
c = dict(c)
m["captures"] = [dict(c, **{"core:sample_start": 0, "core:global_index": 0}),
                 dict(c, **{"core:sample_start": 250000, "core:global_index": 251000})]
m["global"].pop("core:sha512", None)
json.dump(m, open("gap.sigmf-meta", "w"))
PY
cp a.sigmf-data gap.sigmf-data
for gaps in mark zero close; do
  "$TAPLAG" resample gap.sigmf-meta --gaps $gaps -o want-$gaps.cs16 >/dev/null 2>&1
  "$TAPLAG" replay gap.sigmf-meta --clock virtual --gaps $gaps --to got-$gaps.cs16 --json >gap.json 2>/dev/null
  same want-$gaps.cs16 got-$gaps.cs16 "a recorded gap, $gaps: as resample"
  is gap.json "d['measured']['accounts']['missing']" 1000 "its 1000 samples are missing"
  is gap.json "d['measured']['accounts']['balanced']" True "which balances"
done
"$TAPLAG" resample gap.sigmf-meta -o want-gap.sigmf-meta >/dev/null 2>&1
"$TAPLAG" replay gap.sigmf-meta --clock virtual --to got-gap.sigmf-meta >/dev/null 2>&1
same want-gap.sigmf-data got-gap.sigmf-data "into SigMF: the same samples"
same <(json want-gap.sigmf-meta "d['captures']") <(json got-gap.sigmf-meta "d['captures']") "and the same captures, with the gap"

# Captures at several frequencies: as resample writes them; a loop comes back to the first.
python3 - <<'PY'
import json
m = json.load(open("a.sigmf-meta"))
c = m["captures"][0]
m["captures"] = [dict(c, **{"core:sample_start": 0, "core:frequency": 796e6}),
                 dict(c, **{"core:sample_start": 100001, "core:frequency": 806e6}),
                 dict(c, **{"core:sample_start": 200000, "core:frequency": 806e6}),
                 dict(c, **{"core:sample_start": 400321, "core:frequency": 796e6})]
m["global"].pop("core:sha512", None)
json.dump(m, open("tuned.sigmf-meta", "w"))
PY
cp a.sigmf-data tuned.sigmf-data
"$TAPLAG" resample tuned.sigmf-meta -o want-tuned.sigmf-meta >/dev/null 2>&1
"$TAPLAG" replay tuned.sigmf-meta --clock virtual --to got-tuned.sigmf-meta >/dev/null 2>&1
same want-tuned.sigmf-data got-tuned.sigmf-data "captures at several frequencies: the same samples"
same <(json want-tuned.sigmf-meta "d['captures']") <(json got-tuned.sigmf-meta "d['captures']") "and the same captures"
is got-tuned.sigmf-meta "[c['core:frequency'] for c in d['captures']]" "[796000000, 806000000, 796000000]" "with their frequencies"
"$TAPLAG" replay tuned.sigmf-meta --clock virtual --length 300000 --loop 2 --to looped.sigmf-meta >/dev/null 2>&1
is looped.sigmf-meta "[(c['core:sample_start'], c['core:frequency']) for c in d['captures']]" "[(0, 796000000), (122882, 806000000), (368640, 796000000), (491522, 806000000)]" "a loop returns to the first frequency"

# bench pipeline: every run balances, and on the virtual clock nothing is lost.
expect 0 "" "bench pipeline" -- "$TAPLAG" bench pipeline --seconds 20ms --runs 1 --packet 364,625 --json
is out "[v['packets'] for v in d['virtual']]" "[1374, 800]" "all packets of the virtual runs are counted"
is out "[v['dropped'] for v in d['virtual']]" "[0, 0]" "none is lost there"
is out "all(r['balanced'] for s in d['measured'] for k in ('trace_on', 'trace_off') for r in s[k])" True "all real runs balance"
expect 0 "difference" "its table" -- "$TAPLAG" bench pipeline --seconds 10ms --runs 1 --packet 625
expect 2 "packet" "its packet sizes" -- "$TAPLAG" bench pipeline --packet 0

# The real recording, if it is here.
lte=$CAPTURES/lte20_25Msps_80ms.sc16
if [ -e "$lte" ]; then
  "$TAPLAG" resample "$lte" --format cs16 --from 25M --to 30.72M --align -o lte-want.cs16 >/dev/null 2>&1
  expect 0 "" "the recording in real time" -- "$TAPLAG" replay "$lte" --format cs16 --rate 25M --align --to lte.cs16
  same lte-want.cs16 lte.cs16 "gives the bytes of resample"
else
  skip "replay of the LTE recording: $lte is not here"
fi
