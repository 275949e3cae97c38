#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# taplag model and explain from the command line: results, refusals with file and line, series, what repeats.
. "$(dirname "$0")/lib.sh"

# value FILE KEY [KEY]: the first field of that name, or the first one below it, of JSON that has a field a line.
value() {
  awk -v one="\"$2\":" -v two="${3:+\"$3\":}" 'index($0, one) {on = 1} on && (two == "" || index($0, two)) {
    sub(/^[^:]*: */, ""); sub(/,$/, ""); gsub(/"/, ""); print; exit}' "$1"
}

expect 0 "stable: the bottleneck is" "a scenario by its name" -- "$TAPLAG" model usrpl0-tuned --set duration_s=1
expect 0 "stable" "a scenario by its path" -- "$TAPLAG" model "$ROOT/sim/scenarios/usrpl0-tuned.cfg" --set duration_s=1
expect 4 "no-such.*No such file" "a scenario that is not there" -- "$TAPLAG" model no-such
mkdir -p folder
expect 4 "^taplag: model: folder: is a folder" "a folder" -- "$TAPLAG" model folder
expect 4 "^taplag: explain: .*is a folder" "a folder to explain" -- "$TAPLAG" explain folder --packet-no 1
expect 4 "^taplag: sweep: .*is a folder" "a folder to sweep" -- "$TAPLAG" sweep folder --vary packet=1,2
printf '# the rest\n@include "folder"\n' >including.cfg
expect 3 "^taplag: model: including.cfg:2: a folder cannot be included" "a folder included" -- "$TAPLAG" model including.cfg
printf '@include "including.cfg"\n' >outer.cfg
expect 3 "outer.cfg:1: a folder cannot be included" "a folder included by what is included" -- "$TAPLAG" model "$PWD/outer.cfg"
expect 2 "" "no scenario" -- "$TAPLAG" model
expect 2 "engine" "a wrong engine" -- "$TAPLAG" model usrpl0-tuned --engine fast
expect 2 "runs" "no runs" -- "$TAPLAG" model usrpl0-tuned --runs 0

# Nonsense is refused with file and line, or shown as infeasible.
printf 'source = { rate = "25M"; packet = 364; };\nnetwork = { link = "1G"; };\nthreads = ( { stages = ( { fixed_us = 1; } ); } );\n' >good.cfg
{ cat good.cfg; echo 'unheard = 1;'; } >bad.cfg
expect 3 "^taplag: model: bad.cfg:4: unknown key 'unheard'" "an unknown key" -- "$TAPLAG" model bad.cfg
sed 's/364/17000/' good.cfg >bad.cfg
expect 3 "^taplag: model: bad.cfg:1: .*UDP datagram" "more than one UDP datagram" -- "$TAPLAG" model bad.cfg
sed 's/fixed_us = 1/fixed_us = -1/' good.cfg >bad.cfg
expect 3 "^taplag: model: bad.cfg:3: fixed_us" "a negative cost" -- "$TAPLAG" model bad.cfg
echo 'source = {' >bad.cfg
expect 3 "^taplag: model: bad.cfg:2: syntax error" "a syntax error" -- "$TAPLAG" model bad.cfg
echo '@include "more.cfg"' >including.cfg
echo 'source = { packet = 0; };' >more.cfg
expect 3 "more.cfg:1: " "a mistake in an included file" -- "$TAPLAG" model including.cfg
for setting in packet =5 packet=0 nosuch=1 packet= packet=no-such-pattern nobody.fixed_us=1; do
  expect 2 "^taplag: model: --set $setting: " "--set $setting" -- "$TAPLAG" model good.cfg --set "$setting"
done
expect 2 "^taplag: explain: --set packet=0: " "explain --set packet=0" -- "$TAPLAG" explain good.cfg --packet-no 1 --set packet=0
expect 2 "packet=17000: a packet of 17000" "a setting that is impossible" -- "$TAPLAG" model good.cfg --set packet=17000
expect 0 "unstable: link gets 131.25 %.*infeasible" "32 samples a packet on 1 Gbit/s" -- "$TAPLAG" model good.cfg --set packet=32
grep -q "grows without end" out && ! grep -E "packet, air to delivered +[0-9]" out >/dev/null && ok "an unstable queue has no waiting time" || not_ok "an unstable queue has no waiting time"
expect 0 "" "load above 1 as JSON" -- "$TAPLAG" model good.cfg --set stage1.fixed_us=15 --json
[ "$(value out stable)" = false ] && grep -q '^  "packet": null' out && ok "load above 1: stable is false, the latency null" || not_ok "load above 1 in JSON"
expect 0 "exactly 100" "load of exactly 1" -- "$TAPLAG" model good.cfg --set stage1.fixed_us=14.56
grep -q "unstable" out && ok "a load of exactly 1 is unstable" || not_ok "a load of exactly 1 is unstable"

# Where the mistake is said to be: in the file (3), or in a setting (2).
printf 'source = { rate = "25M"; packet = 364; };\nnic = { ring = 99999999999999999999999; };\n' >bad.cfg
expect 3 "^taplag: model: bad.cfg:2: ring has more digits than fit: it is outside 0 to 65536" "a number beyond 64 bits" -- "$TAPLAG" model bad.cfg
printf 'source = { rate = "25M"; packet = 364; };\nnic = { ring = -1; };\n' >bad.cfg
expect 3 "bad.cfg:2: ring = -1 is outside" "a negative number" -- "$TAPLAG" model bad.cfg
printf 'source = { rate = "25M";\n packet = ["a", "b"]; };\n' >bad.cfg
expect 3 "^taplag: model: bad.cfg:2: each of the packet sizes is a number" "a list of words" -- "$TAPLAG" model bad.cfg
expect 2 "^taplag: model: --set rate=1e18: the ratio of the PHY's rate" "a setting that does not fit the file" -- "$TAPLAG" model usrpl0-tuned --set rate=1e18
expect 2 "^taplag: model: --set rate=1e18: the ratio" "the one to blame of several" -- "$TAPLAG" model usrpl0-tuned --set packet=100 --set rate=1e18 --set usecs=3
printf 'source = { rate = "25M"; packet = 364; };\nphy = {\n rate = "30.720001M"; };\n' >bad.cfg
expect 3 "^taplag: model: bad.cfg:3: the ratio" "a file that is wrong whatever is set" -- "$TAPLAG" model bad.cfg --set packet=100
expect 2 "^taplag: model: --set stalls.1.every_s=5: the scenario has 0 stalls" "a stall that is not there" -- "$TAPLAG" model usrpl0-tuned --set stalls.1.every_s=5
expect 2 "stalls.9.every_s=5: the scenario has 1 stalls" "nor are there so many" -- "$TAPLAG" model usrpl0-diskflush --set stalls.9.every_s=5
expect 2 "^taplag: model: seed 9000000000000000 with 2 runs goes beyond" "seeds beyond the largest" -- "$TAPLAG" model good.cfg --seed 9000000000000000 --runs 2
expect 2 "^taplag: explain: seed 9000000000000001 with 1 run goes beyond" "explain with one" -- "$TAPLAG" explain good.cfg --packet-no 1 --seed 9000000000000001
expect 2 "^taplag: model: --seed 0: 1 or more" "seed 0" -- "$TAPLAG" model good.cfg --seed 0
expect 2 "^taplag: explain: --seed 0: 1 or more" "explain with seed 0" -- "$TAPLAG" explain good.cfg --packet-no 1 --seed 0
expect 0 "unstable: link .*the samples alone are more than this link takes" "a link that no packet size fits" -- "$TAPLAG" model good.cfg --set link=1M --set packets=1000
"$TAPLAG" model good.cfg --set packet='[362, 364]' --set packets=10 --series two.csv --force >/dev/null
sed 's/packet = 364/packet = [362, 364]/' good.cfg >two.cfg
"$TAPLAG" model two.cfg --set packets=10 --series want.csv --force >/dev/null
same two.csv want.csv "a list of sizes by --set"
for list in '[362,x]' '[]' '[362' '[,]'; do expect 2 "^taplag: model: --set packet=.*: no list of numbers, such as" "no list: $list" -- "$TAPLAG" model good.cfg --set "packet=$list"; done
# link = 0: no serialisation, in the file, as a text, and by --set. A packet of 364 is then through as it is sent.
for link in '0' '"0"'; do
  sed "s/link = \"1G\"/link = $link/" good.cfg >zero.cfg
  expect 0 "14.560000  comes and need not wait" "link = $link" -- "$TAPLAG" explain zero.cfg --packet-no 0
  grep -A 1 '^link' out | grep -q 'stage1 ' && ok "link = $link takes no time" || not_ok "link = $link takes time: $(grep -A 1 '^link' out)"
  "$TAPLAG" explain good.cfg --packet-no 0 --set link=0 >set.txt
  same out set.txt "--set link=0 is link = $link"
done

# What repeats, and what the seed changes.
"$TAPLAG" model usrpl0-tuned --set duration_s=1 --json >a.json
"$TAPLAG" model usrpl0-tuned --set duration_s=1 --json >b.json
same a.json b.json "two runs give the same JSON"
"$TAPLAG" model usrpl0-tuned --set duration_s=1 --seed 7 --json >c.json
cmp -s a.json c.json && not_ok "another seed gives another run" || ok "another seed gives another run"
"$TAPLAG" model usrpl0-tuned --set duration_s=1 --set rx.core=0 --set tx.core=0 --set filter.core=0 --engine events --json >e.json
"$TAPLAG" model usrpl0-tuned --set duration_s=1 --set rx.core=0 --set tx.core=0 --set filter.core=0 --engine recursion --json >r.json
same e.json r.json "events and recursion give the same JSON"
expect 2 "share a core" "the recursion cannot share cores" -- "$TAPLAG" model usrpl0-tuned --engine recursion
"$TAPLAG" model usrpl0-tuned --set duration_s=1 --runs 3 --json >runs.json
[ "$(value runs.json sent)" -eq $((3 * $(value a.json sent))) ] && ok "three runs send three times as many" || not_ok "three runs send three times as many"
[ "$(value runs.json little holds)" = true ] && ok "Little's law holds over the runs" || not_ok "Little's law holds over the runs"

# The series.
expect 0 "" "a series" -- "$TAPLAG" model good.cfg --set packets=100 --series s.csv
head -n 1 s.csv | grep -q '^packet,element,first_sample,end_sample,ready_ps,start_ps,finish_ps,lost,note$' && ok "the series has its heading" || not_ok "the series has its heading"
[ "$(grep -c ',stage1,' s.csv)" -eq 100 ] && ok "the series has every packet" || not_ok "the series has every packet"
expect 2 "s.csv" "a series is not overwritten" -- "$TAPLAG" model good.cfg --set packets=100 --series s.csv
expect 0 "" "unless it is forced" -- "$TAPLAG" model good.cfg --set packets=100 --series s.csv --force
expect 4 "" "a series that cannot be written" -- "$TAPLAG" model good.cfg --set packets=100 --series no/such/folder.csv
expect 4 "" "a series on a full disk" -- "$TAPLAG" model good.cfg --series /dev/full

# explain: the instants of one packet, by hand: 364 samples of 40 ns, 1538 bytes of 8 ns.
expect 0 "58.240000  its last sample \(1455\) ends" "a packet's life: its end" -- "$TAPLAG" explain good.cfg --packet-no 3
expect 0 "70.544000  is done, after 12.304000 us" "a packet's life: the link" -- "$TAPLAG" explain good.cfg --packet-no 3
expect 0 "71.544000  is done, after 1.000000 us; 13.304000 us since the air" "a packet's life: the stage" -- "$TAPLAG" explain good.cfg --packet-no 3
expect 0 "56.000000 us since the air" "the third of three packets leaves after 56 us" -- "$TAPLAG" explain usrpl0-three-packets --packet-no 2
expect 0 "the PHY holds all of it: 11[0-9][0-9]" "a subframe's life" -- "$TAPLAG" explain usrpl0-tuned --subframe 20
expect 0 "" "a subframe's life as JSON" -- "$TAPLAG" explain usrpl0-tuned --subframe 20 --json
[ "$(grep '"element"' out | tail -n 1 | tr -d ' ",')" = element:subframe ] && ok "it ends with the subframe" || not_ok "it ends with the subframe"
expect 0 "199.364277  its last part comes: the unit is complete, after 10.583528 us" "a unit is complete when its last part is received" -- "$TAPLAG" explain usrpl0-packet-threaded --packet-no 10
expect 0 "568.759307  thread filter busy with what came before: 369.395030 us" "and waits for its thread" -- "$TAPLAG" explain usrpl0-packet-threaded --packet-no 10
# Packet 9 ends in the middle of a unit, which packet 10 completes: its life goes on with the unit.
expect 0 "199.364277  its last part comes, with packet 10: the unit is complete" "a packet that completes no unit is followed" -- "$TAPLAG" explain usrpl0-packet-threaded --packet-no 9
grep -q "^hop .*597.367003" out && grep -q "627.367003  is done, .* 482.567003 us since the air" out && ok "until its unit has left the hop" || not_ok "until its unit has left the hop"
"$TAPLAG" explain usrpl0-packet-threaded --packet-no 10 >out # it completes one unit and ends in the next
[ "$(grep -c '^hop ' out)" -eq 2 ] && ok "a packet in two units is followed through both" || not_ok "a packet in two units is followed through both"
expect 0 "ends before the unit with its last sample is complete" "a unit that the run does not complete" -- "$TAPLAG" explain usrpl0-tuned --set packets=100 --packet-no 99
"$TAPLAG" model usrpl0-packet-threaded --json >units.json
[ "$(awk '/"name": "resample"/ {on = 1} on && /"collecting"/ {in_ = 1} in_ && /"max_ps"/ {gsub(/[^0-9]/, ""); print; exit}' units.json)" -lt 60000000 ] &&
  ok "collecting 625 samples lasts some 25 us, whatever the stalls" || not_ok "collecting lasts too long"
expect 0 "172.520000  has come through the link, whose latency is 1.000000 us" "the link's latency is stated" -- "$TAPLAG" explain usrpl0-packet-threaded --packet-no 10
"$TAPLAG" explain good.cfg --packet-no 3 >out
grep -q "whose latency" out && not_ok "a latency where there is none" || ok "no latency, no line"
# What a packet waits for is told apart, and the parts are the wait, to the picosecond. Core 1 is shared by rx and tx: send comes
# at 77.155836, while rx holds the core until 86.344640; the switch takes 2 us,
# and the 3 us of waking are over by then.
"$TAPLAG" explain usrpl0-tuned --packet-no 0 >out
grep -A 3 '^send ' out | tr -s ' ' >send
grep -q '77.155836 comes$' send && grep -q '86.344640 core 1 held by rx until 86.344640: 9.188804 us' send &&
  grep -q '88.344640 switch of core 1 to tx: 2.000000 us' send && grep -q '88.344640 begins, after 11.188804 us' send &&
  ok "a core held by another thread, and the switch" || not_ok "a core held by another thread: $(cat send)"
grep -q 'wake-up of tx' out && not_ok "a wake-up that the held core hides" || ok "a wake-up that the held core hides is not told"
expect 0 "33.334640  wake-up of rx: 3.000000 us" "a wake-up" -- "$TAPLAG" explain usrpl0-tuned --packet-no 0
for what in "usrpl0-tuned --packet-no 0" "usrpl0-tuned --packet-no 1 --set packet=2000" "usrpl0-packet-threaded --packet-no 10" "usrpl0-diskflush --subframe 2502" "bluetooth-poll-before --packet-no 20"; do
  # shellcheck disable=SC2086
  "$TAPLAG" explain $what --json >life.json
  python3 - "$what" <<'PY'
import json, sys
bad = n = 0
for e in json.load(open("life.json"))["life"]:
    at = e["ready_ps"]
    for w in e["waited"]:
        n += 1
        bad += w["ps"] <= 0 or w["until_ps"] != at + w["ps"]
        at = w["until_ps"]
    collected = e["note"] == "has collected a unit"
    waits = e["element"] not in ("source", "subframe") and not collected
    bad += waits and at != e["start_ps"]
print(("not ok" if bad or not n else "ok"), "the parts of each wait add up to it:", sys.argv[1])
PY
done
# Thread busy, stall and loop: threads on cores of their own, one packet in 14.56 us, a stage of 10 us and a stall of 100 us at 1 ms.
printf 'duration_s = 0.01;\nsource = { rate = "25M"; packet = 364; };\nthreads = ( { name = "rx"; stages = ( { name = "receive"; fixed_us = 10.0; } ); } );\n' >own.cfg
cp own.cfg stalled.cfg
echo 'stalls = ( { on = "rx"; every_s = 1.0; phase_s = 0.001; length_us = 100.0; } );' >>stalled.cfg
# Packet 67 is complete at 990.080 us and is done at 1000.080, or, interrupted at 1000, at 1100.080: 100 us in a stall. Packet 68 comes at 1004.640.
expect 0 "1100.080000  is done, after 110.000000 us, 100.000000 us of them in a stall" "stalled while served" -- "$TAPLAG" explain stalled.cfg --packet-no 67
expect 0 "1100.080000  thread rx busy with what came before: 95.440000 us" "a busy thread" -- "$TAPLAG" explain stalled.cfg --packet-no 68
# With the stall at 1001 us it is over with packet 67 and idle; 68 comes in it.
sed -i 's/phase_s = 0.001/phase_s = 0.001001/' stalled.cfg
expect 0 "1101.000000  stall of rx: 96.360000 us" "a stall at its begin" -- "$TAPLAG" explain stalled.cfg --packet-no 68
sed 's/name = "rx";/name = "rx"; vacation_us = 4.0;/' own.cfg >loop.cfg
# Looks every 4 us from 0 on: the first packet is complete at 14.56.
expect 0 "16.000000  loop of rx, until it looks again: 1.440000 us" "a loop" -- "$TAPLAG" explain loop.cfg --packet-no 0
# A full queue that blocks holds the item before: the second thread takes 40 us, and one may wait.
printf 'duration_s = 0.01;\nsource = { rate = "25M"; packet = 364; };\nthreads = ( { name = "a"; stages = ( { fixed_us = 1.0; } ); }, { name = "b"; queue = 1; overrun = "block"; stages = ( { name = "slow"; fixed_us = 40.0; } ); } );\n' >block.cfg
# The first is with b from 15.56 to 55.56, the second waits there, the third is done with a at 44.68 and held until 55.56.
expect 0 "55.560000  comes 10.880000 us late \(held: the queue of the next thread is full\)" "held by a full queue" -- "$TAPLAG" explain block.cfg --packet-no 2
# Several units: each line says which.
"$TAPLAG" explain usrpl0-tuned --packet-no 1 --set packet=2000 >out
awk '/^(collect|resample|send|hop) / {in_ = 1} /^(receive|source|link|nic|kernel) / {in_ = 0} /^It closes/ {next} in_ && !/\[[0-9]+, [0-9]+\) +[0-9]/ {bad = 1} in_ {n++} END {exit bad || n < 20}' out &&
  ok "each line names its unit" || not_ok "each line names its unit"
[ "$(grep -c '^send  *\[[0-9]*, [0-9]*) ' out)" -eq 4 ] && [ "$(grep '^send' out | awk '{print $2}' | sort -u | wc -l)" -eq 4 ] && ok "and they differ" || not_ok "the units differ"
"$TAPLAG" explain good.cfg --packet-no 3 >out
grep -q '\[' out && not_ok "units where there are none" || ok "no units, no column for them"
expect 2 "only one of" "a packet and a subframe at once" -- "$TAPLAG" explain usrpl0-tuned --packet-no 3 --subframe 3
expect 2 "ends before subframe 999999999 is complete: packet [0-9]+ would close it, and there are" "a subframe behind the end" -- "$TAPLAG" explain usrpl0-tuned --subframe 999999999
expect 2 "packet-no N or --subframe" "what to explain must be said" -- "$TAPLAG" explain good.cfg
expect 2 "no phy section" "no subframes without a PHY" -- "$TAPLAG" explain good.cfg --subframe 1
expect 2 "^taplag: explain: --packet-no 99999999999999999999999: too large" "a packet's number that does not fit" -- "$TAPLAG" explain good.cfg --packet-no 99999999999999999999999
expect 2 "only" "a packet behind the end" -- "$TAPLAG" explain good.cfg --packet-no 100000000

# At random no sample clock fills a packet, and none says when a subframe began.
random=("$ROOT/sim/scenarios/template.cfg" --set source.arrivals=poisson --seed 5)
expect 0 "96069.995294  +comes at random, with samples 2424968 to 2425331: no sample clock" "a packet that comes at random" -- "$TAPLAG" explain "${random[@]}" --packet-no 6662
"$TAPLAG" explain "${random[@]}" --subframe 80 >sub.txt
grep -q "the PHY holds all of it (inputs .*no sample clock says" sub.txt && ok "a subframe of such packets" || not_ok "a subframe of such packets: $(tail -n 2 sub.txt)"
grep -qE "filling|[0-9]{15,}[.]" out sub.txt && not_ok "and nothing is counted from the sample clock" || ok "and nothing is counted from the sample clock"
for what in "--packet-no 6662" "--subframe 80"; do
  # shellcheck disable=SC2086
  "$TAPLAG" explain "${random[@]}" $what --json >life.json
  python3 - "$what" <<'PY'
import json, sys
life = json.load(open("life.json"))["life"]
bad = [e for e in life if not e["ready_ps"] <= e["start_ps"] <= e["finish_ps"]]
print("not ok" if bad or life[0]["element"] != "source" or life[0]["ready_ps"] != life[0]["finish_ps"] else "ok", "no instant before the one it follows:", sys.argv[1])
PY
done

# The systems of the reports, in a few words each; docs/reports.md has the figures.
expect 0 "unstable: l0 gets 104.00 %.*lost, the first at socket" "usrpl0-packet-serial fails" -- "$TAPLAG" model usrpl0-packet-serial
expect 0 "100.0000 % of the subframes" "usrpl0-tuned is in time" -- "$TAPLAG" model usrpl0-tuned
expect 0 "late .*bursts" "usrpl0-diskflush has bursts of late subframes" -- "$TAPLAG" model usrpl0-diskflush
"$TAPLAG" model usrpl0-diskflush --json >flush.json
awk '/"late_bursts"/ {on = 1} on && /"when_ps"/ {gsub(/[^0-9]/, ""); w = $0 / 1e12; if (n++) {d = w - last; if (d < 4.98 || d > 5.02) bad = 1}; last = w}
  END {exit !(n >= 4 && !bad)}' flush.json && ok "the bursts come every 5 s" || not_ok "the bursts come every 5 s"
"$TAPLAG" model usrpl0-moderation --json >on.json
"$TAPLAG" model usrpl0-moderation --set moderation=off --json >off.json
[ "$(value on.json received p999_ps)" -gt 150000000 ] && [ "$(value off.json received p999_ps)" -lt 80000000 ] &&
  ok "moderation off: the delay to L0 stays below 80 us" || not_ok "moderation off: the delay to L0"
# A driver that stays in its bulk class: 245 us an interrupt, of which 16 times 9 us are spent on the packets.
expect 0 "the gap between packets received has 2, at 9[.][0-9] 10[01][.][0-9] us" "gaps of 101 us, then 9" -- "$TAPLAG" model usrpl0-moderation-bulk
expect 0 "between packets received has [0-9]+, at ([0-9][.0-9]* )+(2[0-9]|3[0-9])[.][0-9] us" "without the backlog they are short" -- "$TAPLAG" model usrpl0-moderation-bulk --set stalls.1.length_us=1

# A published host, 31 us from antenna to antenna by a poll-mode driver: within a fifth, from its own parts: a packet of 1996
# samples fills in 9.98 us, then what the model adds.
"$TAPLAG" model published-x310-dpdk --json >dpdk.json
awk -v ps="$(json dpdk.json packet.mean_ps)" 'BEGIN {t = ps / 1e6 + 1996 / 200; exit !(t > 31 * 0.8 && t < 31 * 1.2)}' &&
  ok "a published host's 31 us within 20 %" || not_ok "a published host's 31 us: $(json dpdk.json packet.mean_ps) ps and 9.98 us"
"$TAPLAG" model published-x310-dpdk --set moderation=igb --json >irq.json
awk -v ps="$(json irq.json packet.mean_ps)" 'BEGIN {t = ps / 1e6 + 1996 / 200; exit !(t > 31 * 1.2)}' &&
  ok "and not so with an adaptive interrupt" || not_ok "an adaptive interrupt is as fast as polling"

# Little's law in every one of our systems, by both engines.
for f in "$ROOT"/sim/scenarios/*.cfg; do
  "$TAPLAG" model "$f" --set duration_s=0.1 --json >l.json && [ "$(value l.json little holds)" = true ] || not_ok "Little's law: $f"
  "$TAPLAG" model "$f" --set duration_s=0.1 --engine events --json >l.json && [ "$(value l.json little holds)" = true ] || not_ok "Little's law by events: $f"
done
ok "Little's law holds in every scenario, by both engines"
expect 0 "stable" "the tuned camera" -- "$TAPLAG" model camera-10gbe-tuned
grep -q "+ 0 lost" out && ok "the tuned camera loses nothing" || not_ok "the tuned camera loses nothing"
