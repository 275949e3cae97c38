#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# taplag replay --clock virtual --scenario: the samples of a run without a model, but for what the model loses, and to the
# picosecond the delays of 'taplag model'.
. "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null || {
  skip "virtual: python3 is not here to look into JSON and traces"
  exit 0
}

# agree MODEL.json REPLAY.json: every figure of packets and subframes, or the first that differs.
agree() {
  python3 - "$1" "$2" <<'END'
import json, sys
m, r = (json.load(open(name)) for name in sys.argv[1:])
r = r['measured']
a, s, f = r['accounts'], r['subframes'], m.get('subframe')
pairs = [(m['sent'], a['packets']), (m['delivered'], a['packets_delivered']), (m['lost'], a['packets_dropped']),
         (m['unfinished'], a['packets_unfinished']), (True, a['balanced'])]
keys = ('count', 'min_ps', 'mean_ps', 'p50_ps', 'p90_ps', 'p99_ps', 'p999_ps', 'p9999_ps', 'max_ps')
there = {'p999_ps': 'p99_9_ps', 'p9999_ps': 'p99_99_ps'}
if m['stable']:
    pairs += [(m['packet'].get(k) or 0, r['packet'][there.get(k, k)]) for k in keys]
else: # the model states no delays of a queue that grows; the replay has those of its one run, and says so
    pairs += [('"of this run only"' in json.dumps(r), True), (m['packet'], None)]
if f and m['stable']:
    pairs += [(f['latency'].get(k) or 0, s['latency'][there.get(k, k)]) for k in keys]
    pairs += [(f['count'], s['complete'] + s['incomplete']), (f['incomplete'], s['incomplete']),
              (f['inside'], s['complete'] - s['above_deadline'])]
wrong = [p for p in pairs if p[0] != p[1]]
print(wrong[0] if wrong else 'same')
sys.exit(bool(wrong))
END
}

# both NAME PACKET PACKETS SETTING...: the model and the replay of a recording of that many packets.
both() {
  local name=$1 packet=$2 n=$3 set=()
  shift 3
  for s in "$@" packet=$packet; do set+=(--set "$s"); done
  truncate -s $((packet * n * 4)) zeros.cs16
  "$TAPLAG" model "$name" "${set[@]}" --set packets=$n --json >m.json 2>m.err || cat m.err
  "$TAPLAG" replay zeros.cs16 --format cs16 --clock virtual --scenario "$name" "${set[@]}" --json >r.json 2>r.err || cat r.err
}
lost() { python3 -c "import json; print(json.load(open('$1'))['measured']['accounts']['packets_dropped'])"; }

# Feed-forward and shared cores, units, batches, a link, moderation; with losses and without.
while read -r losses name packet n settings; do
  # shellcheck disable=SC2086
  both $name $packet $n $settings
  if why=$(agree m.json r.json) && [ "$losses" = "$([ "$(lost r.json)" -gt 0 ] && echo some || echo none)" ]; then
    ok "$name, packets of $packet $settings: the model's delays to the picosecond, lost $(lost r.json)"
  else not_ok "$name, packets of $packet $settings: $why, lost $(lost r.json)"; fi
done <<'END'
none usrpl0-subframe 364 700
none usrpl0-packet-serial 300 1500
none usrpl0-packet-threaded 625 1000
some usrpl0-packet-threaded 300 2000 filter.queue=2
some usrpl0-packet-threaded 250 2000 tx.queue=1 send.fixed_us=26
none usrpl0-diskflush 364 1500
some usrpl0-diskflush 250 8000 stalls.1.every_s=0.02 stalls.1.phase_s=0.005 socket.buffer_bytes=20000
some usrpl0-diskflush 364 3000 stalls.1.every_s=0.02 stalls.1.phase_s=0.005 filter.queue=10
none usrpl0-moderation 364 1500
some usrpl0-moderation 364 1500 nic.ring=4
none usrpl0-tuned 364 1500
none usrpl0-three-packets 625 1000
some usrpl0-three-packets 300 2000 filter.queue=2
none published-x310-dpdk 364 1500
some camera-10gbe-default 364 1500
none template 364 1500
END

# A pipeline that does not lose what the model loses, or has other instants, would be found: the same comparison with a
# queue that holds everything, with one picosecond of latency more, with another seed.
both usrpl0-diskflush 250 8000 stalls.1.every_s=0.02 stalls.1.phase_s=0.005 socket.buffer_bytes=20000
cp m.json lossy.json
both usrpl0-diskflush 250 8000 stalls.1.every_s=0.02 stalls.1.phase_s=0.005 socket.buffer_bytes=0 filter.queue=0
agree lossy.json r.json >/dev/null && not_ok "a replay without the losses is found" || ok "a replay without the losses is found"
both template 364 1500
cp m.json before.json
both template 364 1500 hop.latency_us=0.000001
agree before.json r.json >/dev/null && not_ok "a picosecond is found" || ok "a picosecond is found"
both template 364 1500 seed=2
agree before.json r.json >/dev/null && not_ok "another seed is found" || ok "another seed is found"
agree m.json r.json >/dev/null && ok "with that seed they agree" || not_ok "with that seed they agree"

# The samples. What is lost is what the model's own series says, and the rest is what comes without a model.
"$TAPLAG" synth noise --rate 25M --duration 80ms --level -12dBFS --seed 5 -o a.cs16 >/dev/null 2>&1
W="$TAPLAG replay a.cs16 --format cs16"
cat >lossy.set <<'END'
--set packet=250 --set stalls.1.every_s=0.02 --set stalls.1.phase_s=0.005 --set socket.buffer_bytes=20000
END
# shellcheck disable=SC2046
"$TAPLAG" model usrpl0-diskflush $(cat lossy.set) --set packets=8000 --series series.csv >/dev/null 2>&1
python3 - >drops <<'END'
import csv
lost = [(int(r['first_sample']), int(r['end_sample'])) for r in csv.DictReader(open('series.csv')) if r['lost'] == '1']
print(','.join(str(j) for j in range(8000) if any(a < (j + 1) * 250 and j * 250 < b for a, b in lost)))
END
[ "$(tr ',' '\n' <drops | wc -l)" -gt 10 ] && ok "packets are lost there" || not_ok "packets are lost there: $(cat drops)"
for how in "" --align "--flush --gaps zero" "--align --gaps close"; do
  # shellcheck disable=SC2046,SC2086
  $W --clock virtual --scenario usrpl0-diskflush $(cat lossy.set) $how --to got.cs16 --force >/dev/null 2>got.err
  # shellcheck disable=SC2086
  $W --rate 25M --clock virtual --packet 250 --drop-packet "$(cat drops)" $how --to want.cs16 --force >/dev/null 2>&1
  same want.cs16 got.cs16 "lost are the packets that the model loses $how"
done
$W --rate 25M --to whole.cs16 >/dev/null 2>&1
cmp -s whole.cs16 want.cs16 && not_ok "losses change the samples" || ok "losses change the samples"
for s in usrpl0-subframe usrpl0-tuned usrpl0-packet-threaded; do # units cut packets, and the last may not fill
  $W --clock virtual --scenario $s --to got.cs16 --force >/dev/null 2>&1
  same whole.cs16 got.cs16 "$s: the samples of the real-time run"
done

# Every byte repeats, whatever computes it, and the sinks' other sizes do not matter.
for run in "--cpu c" "--spin 0" "--cores 0,0,0 --read-ahead 4000"; do
  # shellcheck disable=SC2046,SC2086
  $W --clock virtual --scenario usrpl0-diskflush $(cat lossy.set) --json --trace t.next --force $run >next.json 2>/dev/null
  if [ ! -e first.json ]; then mv next.json first.json; mv t.next t.first; continue; fi
  same first.json next.json "the JSON repeats: $run"
  same t.first t.next "the trace repeats: $run"
done
# The trace against the model's series, packet by packet: resampled from start to finish, out at the end.
$W --clock virtual --scenario usrpl0-tuned --packet 364 --trace t.trace --force >/dev/null 2>&1
"$TAPLAG" model usrpl0-three-packets --set packet=500 --set packets=2000 --series s3.csv >/dev/null 2>&1
$W --clock virtual --scenario usrpl0-three-packets --set packet=500 --trace t3.trace >/dev/null 2>&1
python3 - <<'END'
import csv, struct
seen = {}
for r in csv.DictReader(open('s3.csv')):
    seen.setdefault(int(r['packet']), {})[r['element']] = (int(r['ready_ps']), int(r['start_ps']), int(r['finish_ps']))
data, wrong = open('t3.trace', 'rb').read(), 0
n = (len(data) - 192) // 96
for i in range(n):
    packet, first, out, air, received, begin, end, taken, done, framed = struct.unpack_from('<10Q', data, 192 + 96 * i)
    e = seen[packet]
    wrong += (received, begin, end) != e['resample'] or (taken, done) != (e['send'][1], e['hop'][2] if 'hop' in e else e['send'][2]) or air != e['source'][2]
print(('ok' if n == 2000 and not wrong else 'not ok') + f' the trace has the instants of the series ({n} packets, {wrong} differ)')
END

# Gaps of the recording, loops and --duration: the model's time goes on over them.
python3 - <<'END'
import json
json.dump({"global": {"core:datatype": "ci16_le", "core:sample_rate": 25e6, "core:version": "1.0.0"},
           "captures": [{"core:sample_start": 0, "core:global_index": 0}, {"core:sample_start": 500000, "core:global_index": 75000000}],
           "annotations": []}, open('gap.sigmf-meta', 'w'))
open('gap.sigmf-data', 'wb').write(open('a.cs16', 'rb').read())
END
printf 'source = { rate = "25M"; packet = 364; };\nnetwork = { link = "1G"; };\nthreads = ( { stages = ( { name = "resample"; fixed_us = 9; } ); } );\n' >mine.cfg
expect 0 "74500000 missing in 1 gap" "a gap of three seconds" -- "$TAPLAG" replay gap.sigmf-meta --clock virtual --scenario mine.cfg --trace gap.trace
"$TAPLAG" replay gap.sigmf-meta --clock virtual --scenario mine.cfg --to gap.cs16 >/dev/null 2>&1
"$TAPLAG" replay gap.sigmf-meta --clock virtual --to nomodel.cs16 >/dev/null 2>&1
same nomodel.cs16 gap.cs16 "its samples"
python3 - <<'END'
import struct
data = open('gap.trace', 'rb').read()
late = [struct.unpack_from('<10Q', data, at) for at in range(192, len(data), 96)]
ok = all(r[3] == (r[1] + struct.unpack_from('<I', data, 192 + 96 * i + 80)[0]) * 40000 and r[3] < r[8] < r[3] + 10**8
         for i, r in enumerate(late)) and late[-1][1] > 75000000
print(('ok' if ok else 'not ok') + ' delays count from the air on both sides of the gap')
END
truncate -s $((2500 * 625 * 4)) zeros.cs16
truncate -s $((500 * 625 * 4)) short.cs16
"$TAPLAG" replay zeros.cs16 --format cs16 --clock virtual --scenario usrpl0-tuned --packet 625 --json >long.json 2>/dev/null
"$TAPLAG" replay short.cs16 --format cs16 --clock virtual --scenario usrpl0-tuned --packet 625 --loop 5 --json >loop.json 2>/dev/null
"$TAPLAG" replay short.cs16 --format cs16 --clock virtual --scenario usrpl0-tuned --packet 625 --loop 0 --duration 62.5ms --json >duration.json 2>/dev/null
for f in loop duration; do
  python3 - $f <<'END'
import json, sys
a, b = (json.load(open(n + '.json'))['measured'] for n in ('long', sys.argv[1]))
same = all(a[k] == b[k] for k in ('packet', 'subframes', 'release', 'resample', 'deliver', 'accounts'))
print(('ok' if same else 'not ok') + f' a {sys.argv[1]} is as long a recording')
END
done
$W --clock virtual --scenario usrpl0-tuned --packet 625 --drop-packet 7,8 --json >drop.json 2>/dev/null
python3 -c "
import json
d = json.load(open('drop.json'))['measured']
print(('ok' if d['model']['lost_at'] == {'asked for': 2} and d['accounts']['balanced'] else 'not ok') + ' --drop-packet loses beside the model')"
cat a.cs16 | "$TAPLAG" replay - --format cs16 --clock virtual --scenario usrpl0-tuned --to pipe.cs16 >pipe.txt 2>/dev/null
same whole.cs16 pipe.cs16 "a pipe, whose length nobody knows"
grep -q "the first 69060 packets are left out" pipe.txt && ok "its warm-up is the scenario's own" || not_ok "its warm-up: $(grep warm-up pipe.txt)"

# What contradicts is refused, or said.
expect 2 "add --clock virtual" "a scenario on the real clock" -- $W --rate 25M --clock real --scenario usrpl0-tuned
expect 2 "add --clock virtual" "or on the default one" -- $W --rate 25M --scenario usrpl0-tuned
expect 2 "name it with --scenario" "--set without a scenario" -- $W --rate 25M --clock virtual --set packet=100
expect 2 "name it with --scenario" "--seed without one" -- $W --rate 25M --clock virtual --seed 3
expect 2 "set rate=20000000/1" "another rate" -- $W --rate 20M --clock virtual --scenario usrpl0-tuned
expect 2 "PHY takes 30.72 Msps" "another output rate" -- $W --clock virtual --scenario usrpl0-tuned --out-rate 23.04M
expect 2 "THREAD.overrun" "--overrun" -- $W --clock virtual --scenario usrpl0-tuned --overrun drop
expect 2 "THREAD.queue" "--queue" -- $W --clock virtual --scenario usrpl0-tuned --queue 10
expect 2 "set rate" "--speed" -- $W --clock virtual --scenario usrpl0-tuned --speed 2
expect 2 "more than one UDP datagram" "a packet that its link cannot carry" -- $W --clock virtual --scenario usrpl0-tuned --packet 20000
expect 2 "no section" "a wrong --set" -- $W --clock virtual --scenario usrpl0-tuned --set nothing.here=1
expect 3 "arrivals=clock" "arrivals without a sample clock" -- $W --clock virtual --scenario bluetooth-poll-after
printf 'source = { rate = "25M"; packet = 364; };\nwrong = 1;\n' >wrong.cfg
expect 3 "^taplag: replay: wrong.cfg:2: unknown key 'wrong'" "a scenario's error has file and line" -- $W --clock virtual --scenario wrong.cfg
expect 4 "no-such" "no such scenario" -- $W --clock virtual --scenario no-such
printf 'source = { rate = "25M"; packet = 364; };\n' >source.cfg
expect 2 "which is read" "the scenario is not written over" -- $W --clock virtual --scenario source.cfg --to source.cfg --force
expect 0 "^verdict +nothing here takes time" "a scenario of nothing but a source" -- $W --clock virtual --scenario source.cfg
expect 0 "the scenario has 362" "--packet is said" -- $W --clock virtual --scenario usrpl0-tuned --packet 100,200
expect 0 "q0 = 6143 .--align." "--align is said where the scenario has none" -- $W --clock virtual --scenario usrpl0-tuned --align
expect 0 "" "and not where it has the same" -- $W --clock virtual --scenario usrpl0-tuned --align --set phy.align_q0=6143
[ -s err ] && not_ok "without a word: $(cat err)" || ok "without a word"
expect 0 "^subframe, offset 77" "--offset takes the place of the scenario's" -- $W --clock virtual --scenario usrpl0-tuned --offset 77
# Queues on shared cores that grow for ever are stopped before they fill the memory.
expect 3 "shared cores fall behind" "what piles up without limit" -- "$TAPLAG" replay zeros.cs16 --format cs16 --loop 60 --clock virtual --scenario usrpl0-packet-threaded --set send.fixed_us=300 --set tx.queue=0 --set filter.queue=0 --set socket.buffer_bytes=0
