#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# taplag sweep: rows, the best and why, shards and exact merging, going on after an interruption.
. "$(dirname "$0")/lib.sh"

args=(usrpl0-tuned --vary packet=200:4000:8 --runs 3 --set duration_s=0.2)
expect 0 "best \(least p999 of the subframe" "a sweep names the best" -- "$TAPLAG" sweep "${args[@]}"
grep -q "filling a packet takes.*packetisation and framing rule" out && ok "and why not larger" || not_ok "and why not larger"
expect 0 "below it, at packet=64 the fixed costs saturate link" "and why not smaller" -- "$TAPLAG" sweep usrpl0-tuned --vary packet=64,400,2000 --set duration_s=0.2
expect 0 "unstable" "an unstable point is a row" -- "$TAPLAG" sweep usrpl0-tuned --vary packet=32,364 --set duration_s=0.2
expect 0 "refused: .*UDP datagram" "an impossible point is a row" -- "$TAPLAG" sweep usrpl0-tuned --vary packet=20000,364 --set duration_s=0.2
expect 2 "^taplag: sweep: every point is refused, the first for --vary nonsense=1: unknown key 'nonsense'" "a key that is unknown" -- "$TAPLAG" sweep usrpl0-tuned --vary nonsense=1,2
[ -s out ] && not_ok "and there is no table" || ok "and there is no table"
expect 2 "every point is refused.*UDP datagram" "values that are all impossible" -- "$TAPLAG" sweep usrpl0-tuned --vary packet=20000,30000
expect 2 "^taplag: sweep: --set nosuch=1: unknown key" "a setting that is wrong" -- "$TAPLAG" sweep "${args[@]}" --set nosuch=1
expect 2 "vary" "nothing to vary" -- "$TAPLAG" sweep usrpl0-tuned
expect 2 "goes up" "a range that falls" -- "$TAPLAG" sweep usrpl0-tuned --vary packet=100:10
expect 2 "aim" "an aim that is none" -- "$TAPLAG" sweep "${args[@]}" --aim best
expect 2 "shard" "a shard that is none" -- "$TAPLAG" sweep "${args[@]}" --shard 4/3 -o x
expect 2 "wants -o" "a shard without a file" -- "$TAPLAG" sweep "${args[@]}" --shard 1/3
expect 0 "moderation=off" "two parameters" -- "$TAPLAG" sweep usrpl0-tuned --vary packet=200,400 --vary moderation=igb,off --set duration_s=0.2 --of packet

# A key is varied or set, and once.
expect 2 "^taplag: sweep: --vary packet=200 and --vary packet=300 are of the same key" "a key varied twice" -- "$TAPLAG" sweep usrpl0-tuned --vary packet=200 --vary packet=300
expect 2 "are of the same key" "under its other name" -- "$TAPLAG" sweep usrpl0-tuned --vary packet=200 --vary source.packet=300
expect 2 "^taplag: sweep: --vary packet=200,300 and --set packet=500 are of the same key" "a key varied and set" -- "$TAPLAG" sweep usrpl0-tuned --vary packet=200,300 --set packet=500
expect 2 "are of the same key" "set under its other name" -- "$TAPLAG" sweep usrpl0-tuned --vary nic.usecs=0,10 --set usecs=5
expect 2 "^taplag: sweep: --vary seed=1,2 and --seed 4 are of the same key" "the seed varied and given" -- "$TAPLAG" sweep usrpl0-tuned --vary seed=1,2 --seed 4
for n in 01 +1 " 1" 1x 0; do expect 2 "'[ +]?[01]+x?' is no place in a list: 1 is the first" "a stall called '$n'" -- "$TAPLAG" sweep usrpl0-diskflush --vary stalls.1.every_s=0.1,0.2 --set "stalls.$n.every_s=0.3"; done
expect 2 "are of the same key" "a stall varied and set" -- "$TAPLAG" sweep usrpl0-diskflush --vary stalls.1.every_s=0.1,0.2 --set stalls.1.every_s=0.3
expect 2 "^taplag: sweep: seed 9000000000000000 with 2 runs goes beyond the largest seed" "seeds that end beyond the largest" -- "$TAPLAG" sweep usrpl0-tuned --vary packet=200,300 --runs 2 --seed 9000000000000000
expect 2 "with 2 runs goes beyond" "of the scenario as well" -- "$TAPLAG" sweep usrpl0-tuned --vary packet=200,300 --runs 2 --set seed=9e15
expect 0 "refused: the seeds of its runs go beyond" "a varied seed, in a row" -- "$TAPLAG" sweep usrpl0-tuned --set packets=2000 --vary seed=1,9e15 --runs 2
expect 0 "^best" "the largest seed itself" -- "$TAPLAG" sweep usrpl0-tuned --set packets=2000 --vary packet=300,364 --seed 9000000000000000
expect 2 "seed 0: 1 or more" "seed 0" -- "$TAPLAG" sweep usrpl0-tuned --vary packet=200,300 --seed 0
for list in 100,[362,364] [362,364]; do expect 2 "^taplag: sweep: --vary packet=.*a list such as .* can be set, not varied" "a list cannot be varied: $list" -- "$TAPLAG" sweep usrpl0-tuned --vary "packet=$list"; done
# The most inside is the best, and is of subframes.
expect 0 "^best \(most subframes inside" "--aim inside is the most" -- "$TAPLAG" sweep usrpl0-tuned --vary packet=362,4000 --set duration_s=0.2 --set deadline_us=1150 --aim inside
grep -q "% of the subframes inside" out && ok "and says how many" || not_ok "and says how many"
expect 2 "aim inside counts subframes" "--aim inside --of packet" -- "$TAPLAG" sweep usrpl0-tuned --vary packet=362,4000 --aim inside --of packet
# Without a PHY there are no subframes; varying one of its keys makes one.
for aim in "--aim inside" "--of subframe"; do
  # shellcheck disable=SC2086
  expect 2 "^taplag: sweep: .*camera-10gbe-tuned.* has no phy section, so no subframes: --of packet" "no PHY, $aim" -- "$TAPLAG" sweep camera-10gbe-tuned --set duration_s=0.05 --vary link=10G,25G $aim
  [ -s out ] && not_ok "and there is no table" || ok "and there is no table"
done
expect 0 "^best" "--of packet without a PHY" -- "$TAPLAG" sweep camera-10gbe-tuned --set duration_s=0.05 --vary link=10G,25G --of packet
# Few values say little about the last in a thousand.
expect 0 "the order of the points is uncertain" "too few subframes for p99.9" -- "$TAPLAG" sweep usrpl0-tuned --vary packet=200,362 --set duration_s=0.05
"$TAPLAG" sweep usrpl0-tuned --vary packet=200,362 --set duration_s=0.05 --aim mean >out
grep -q "is uncertain" out && not_ok "a mean is not a percentile" || ok "a mean is not a percentile"

# The best for another aim differs, and is below the limit.
"$TAPLAG" sweep "${args[@]}" --json >whole.json
best=$(awk '/^  "best":/ {gsub(/[^0-9]/, ""); print}' whole.json)
awk -v best="$best" '/"stable":/ {stable = /true/} /"lost":/ {gsub(/[^0-9]/, ""); lost = $0 + 0} /"busiest_percent"/ {gsub(/[^0-9.]/, ""); busy = $0 + 0}
  /"subframe":/ {sub_ = 1} sub_ && /"p999_ps"/ {gsub(/[^0-9]/, ""); sub(/^999/, ""); p[n++] = (stable && !lost && busy < 90) ? $0 + 0 : 1e18; sub_ = 0}
  END {for (i in p) if (p[i] < p[best]) bad = 1; exit !(n == 8 && p[best] < 1e18 && !bad)}' whole.json &&
  ok "no better point was overlooked" || not_ok "no better point was overlooked"

# The number of processes changes nothing; shards add up exactly.
"$TAPLAG" sweep "${args[@]}" --workers 1 --json >one.json
same whole.json one.json "one process gives the same"
for i in 1 2 3; do expect 0 "part $i of 3" "shard $i of 3" -- "$TAPLAG" sweep "${args[@]}" --shard $i/3 -o part$i; done
"$TAPLAG" sweep merge part1 part2 part3 --json >merged.json
same whole.json merged.json "merged shards are the whole"
"$TAPLAG" sweep merge part3 part1 part2 part1 --json >merged.json
same whole.json merged.json "in any order, and one twice"
expect 3 "are missing" "a shard that is missing" -- "$TAPLAG" sweep merge part1 part3
expect 0 "" "unless --partial" -- "$TAPLAG" sweep merge part1 part3 --partial
expect 3 "another sweep" "a part of another sweep" -- bash -c "'$TAPLAG' sweep usrpl0-tuned --vary packet=300,400 --set duration_s=0.2 --shard 1/2 -o other && '$TAPLAG' sweep merge part1 other"
expect 3 "" "no part at all" -- "$TAPLAG" sweep merge "$ROOT/Makefile"
expect 4 "No such file" "a part that is not there" -- "$TAPLAG" sweep merge nowhere
sed '3s/\("count":\)\([0-9]\)/\11\2/' part1 >damaged
cmp -s part1 damaged && not_ok "the damage is none"
expect 3 "damaged:3: damaged: its checksum" "a digit changed in a part" -- "$TAPLAG" sweep merge damaged part2 part3
sed '1s/"runs":3/"runs":4/' part1 >damaged
expect 3 "damaged:1: damaged: its checksum" "a digit changed in a part's first line" -- "$TAPLAG" sweep merge damaged part2 part3
sed '2s/"unit":/"Unit":/' part1 >damaged
expect 3 "damaged:2: damaged: its checksum" "a letter changed in a part" -- "$TAPLAG" sweep merge part1 damaged part2 part3
sed '1s/sweep-part.2/sweep-part\/1/' part1 >damaged
expect 3 "no part of a sweep" "a part of another version" -- "$TAPLAG" sweep merge damaged part2 part3
sed '2s/\("sent":\)\([0-9]\)/\11\2/' part2 >bent.part
expect 3 "bent.part:2: damaged: its checksum" "a damaged row is not gone on from" -- "$TAPLAG" sweep "${args[@]}" --shard 2/3 -o bent
[ -e bent ] && not_ok "but a file was finished with it" || ok "and no file is finished with it"

# Merged into a file: again a part, whole.
expect 0 "best" "merging into a file" -- "$TAPLAG" sweep merge part3 part1 part2 -o all
"$TAPLAG" sweep merge all --json >merged.json
same whole.json merged.json "the file holds the whole"
expect 2 "all" "a merged file is not overwritten" -- "$TAPLAG" sweep merge part1 part2 part3 -o all
expect 0 "" "unless it is forced" -- "$TAPLAG" sweep merge part1 part2 part3 -o all --force
expect 4 "" "a merged file that cannot be written" -- "$TAPLAG" sweep merge part1 part2 part3 -o no/such/folder
expect 4 "" "a merged file on a full disk" -- "$TAPLAG" sweep merge part1 part2 part3 -o /dev/full --force
expect 2 "merge takes" "merging varies nothing" -- "$TAPLAG" sweep merge part1 part2 part3 --vary packet=1,2

# Interrupted: what is there stays, and the same command goes on.
head -c -200 part2 >again.part
expect 0 "going on" "an interrupted shard goes on" -- "$TAPLAG" sweep "${args[@]}" --shard 2/3 -o again
absent again.part "nothing is left over" 2>/dev/null
same part2 again "and has the same bytes"
"$TAPLAG" sweep "${args[@]}" -o straight >/dev/null 2>&1
same straight all "merged parts have the bytes of the whole"
awk -F'"unit":' 'NR > 1 {u = $2 + 0; if (u != NR - 2) bad = 1} END {exit bad || NR != 25}' straight && ok "in the order of the points" || not_ok "in the order of the points"
# A full disk at the start: the part is empty, or its first line was cut. Of another's file nothing is thrown away.
for n in 0 1 100 -1; do
  head -n 1 part2 | head -c $n >cut.part
  expect 0 "going on, 0 results" "a part whose first line was cut, $n bytes" -- "$TAPLAG" sweep "${args[@]}" --shard 2/3 -o cut --force
  same part2 cut "and it is begun anew"
done
printf 'notes of mine' >mine.part
expect 3 "mine.part is left over from another run, or damaged: remove it" "a part that is another's, without a line" -- "$TAPLAG" sweep "${args[@]}" --shard 2/3 -o mine
[ "$(cat mine.part)" = "notes of mine" ] && [ ! -e mine ] && ok "and it is left as it was" || not_ok "another's file was changed"
# A log whose lines stand in another order, as other workers would have left it.
{ head -n 1 straight; tail -n +2 straight | head -n 10 | sort -r; } >mixed.part
expect 0 "going on, 10 results" "a log in any order goes on" -- "$TAPLAG" sweep "${args[@]}" -o mixed
same straight mixed "and gives the same bytes"
"$TAPLAG" sweep merge part1 again part3 --json >merged.json
same whole.json merged.json "and adds up to the whole"
expect 2 "exists" "a result is not overwritten" -- "$TAPLAG" sweep "${args[@]}" -o again
"$TAPLAG" sweep usrpl0-tuned --vary packet=200:4000:200 --set duration_s=5 -o stopped >/dev/null 2>err &
pid=$!
until_pid $pid test -s stopped.part
sleep 0.5
kill -INT $pid 2>/dev/null
wait $pid
status=$?
if [ $status -eq 130 ] && [ -s stopped.part ]; then ok "Ctrl-C keeps what is done"; elif [ $status -eq 0 ]; then skip "Ctrl-C: the sweep had ended before"; else not_ok "Ctrl-C: exit $status"; fi
