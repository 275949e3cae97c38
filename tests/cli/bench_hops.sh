#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# taplag bench hops: every hop is run or said not to be there, its counts add up, and the model takes what it measured.
. "$(dirname "$0")/lib.sh"

few=(--sizes 256,4k --repetitions 40 --warm-up 5)
expect 0 "SCHED_FIFO" "bench hops: --help" -- "$TAPLAG" bench hops --help
expect 0 "ring" "bench hops: --list" -- "$TAPLAG" bench hops --list
hops=$(awk '{ print $1 }' out)
expect 2 "no hop 'pigeon'" "bench hops: unknown hop" -- "$TAPLAG" bench hops --hops pigeon
expect 2 "multiples of 4" "bench hops: a size that is no sample" -- "$TAPLAG" bench hops --sizes 255
expect 2 "multiples of 4" "bench hops: a size too large" -- "$TAPLAG" bench hops --sizes 1k,900k
expect 2 "from 1 to" "bench hops: no repetitions" -- "$TAPLAG" bench hops --repetitions 0
expect 2 "threads, processes or both" "bench hops: --between" -- "$TAPLAG" bench hops --between walls
expect 2 "none of these hops" "bench hops: a hop that is not between these" -- "$TAPLAG" bench hops --hops ring --between processes
expect 2 "wants one hop" "bench hops: --as-scenario of all" -- "$TAPLAG" bench hops --as-scenario all.cfg

expect 0 '"schema": "taplag/bench-hops/1"' "bench hops: all of them" -- "$TAPLAG" bench hops "${few[@]}" --scheduler other --json
cp out hops.json
python3 - "$hops" >verdict <<'PY'
import json, sys
d = json.load(open("hops.json"))
results = d["measured"]["results"]
assert {r["hop"] for r in results} == set(sys.argv[1].split()), "every hop has a result"
ran = 0
for r in results:
    if "not_available" in r:
        assert r["not_available"] and not r["rows"]
        print("skip bench hops:", r["hop"], "between", r["between"] + ":", r["not_available"])
        continue
    ran += 1
    assert [w["size_bytes"] for w in r["rows"]] == [256, 4096]
    for w in r["rows"]:
        assert w["sent"] == 40 and 0 < w["received"] <= w["sent"], r
        assert 0 < w["mean_us"] <= w["max_us"] and w["p50_us"] <= w["p99_us"] <= w["max_us"], r
        assert w["jitter_us"] <= w["max_us"] and w["mb_s"] > 0, r
        if r["hop"] != "udp":  # which alone may lose
            assert w["received"] == w["sent"] and w["flood_received"] == w["flood_sent"], r
assert ran >= 3, "ring and fifo are always there"
assert {a["hop"] for a in d["absent"]} == {"tao", "e*orb"}
print("ok bench hops: all blocks arrived, and the figures agree with each other")
PY
[ $? = 0 ] && cat verdict || not_ok "bench hops: the JSON: $(cat verdict)"
expect 0 "not available here: TAO" "bench hops: what cannot be run is named" -- "$TAPLAG" bench hops --scheduler other --sizes 256 --repetitions 1
grep -q "e\*orb .*not available here" out && ok "bench hops: e*ORB too" || not_ok "bench hops: e*ORB too"

# What was measured drives the model: busy and latency of the size that the packets have.
one=("${few[@]}" --hops fifo --between processes --scheduler other --as-scenario hop.cfg)
expect 0 "fifo" "bench hops: --as-scenario" -- "$TAPLAG" bench hops "${one[@]}"
grep -q '^# Measured by taplag bench hops: fifo between processes, default scheduler' hop.cfg && grep -q '^# 40 blocks of each size' hop.cfg &&
  [ "$(grep -cE 'bytes = .* # p50 [0-9.]+ us, p99 [0-9.]+ us$' hop.cfg)" -eq 2 ] && ok "bench hops: the file says how it was measured, and the spread" || not_ok "bench hops: the file says how it was measured: $(cat hop.cfg)"
expect 2 "exists" "bench hops: --as-scenario does not overwrite" -- "$TAPLAG" bench hops "${one[@]}"
printf 'source = { rate = "25M"; packet = 1024; };\n@include "hop.cfg"\n' >with.cfg
expect 0 "" "bench hops: the model takes it" -- "$TAPLAG" model with.cfg --set duration_s=0.1 --json
cp out model.json
python3 - >verdict <<'PY'
import json, re
points = re.findall(r"bytes = (\d+); busy_us = ([\d.]+); latency_us = ([\d.]+)", open("hop.cfg").read())
assert [p[0] for p in points] == ["256", "4096"], points
hop = [e for e in json.load(open("model.json"))["elements"] if e["name"] == "hop"][0]
# 1024 samples of 4 bytes: exactly the second point, and nothing else takes time.
want = round(1e6 * float(points[1][1])) + round(1e6 * float(points[1][2]))
assert hop["service"]["min_ps"] == hop["service"]["max_ps"] == want, (hop["service"], want)
print("ok bench hops: a packet of 4096 bytes takes in the model what was measured")
PY
[ $? = 0 ] && cat verdict || not_ok "bench hops: the model's figure: $(cat verdict)"
