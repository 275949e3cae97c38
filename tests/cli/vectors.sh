# SPDX-License-Identifier: Apache-2.0
# taplag vectors list, verify, accept: the set passes; damage is exit 3; reports are valid; shards add up; nothing is written.
. "$(dirname "$0")/lib.sh"
B=$(dirname "$TAPLAG")
V=$ROOT/vectors

before=$(cat "$V"/manifest.json "$V"/crc/*.txt | sha256sum)
start=$(date +%s%N)
expect 0 "vectors, 9 packet cuts" "the whole set passes on every kernel and cut" -- "$TAPLAG" vectors verify
ms=$((($(date +%s%N) - start) / 1000000))
cat out >summary
# the sum of both workers' processor time is what counts on a busy machine
cpu=$({ TIMEFORMAT='%U'; time "$TAPLAG" vectors verify >/dev/null; } 2>&1)
case $(file "$TAPLAG" 2>/dev/null)$(nm "$TAPLAG" 2>/dev/null | grep -cE '__(asan|ubsan|tsan)_') in
*[1-9]) skip "time of verify: built with a sanitizer ($ms ms)" ;;
*) awk -v t="$cpu" 'BEGIN {exit !(t < 20)}' && ok "verify takes $cpu s of processor time on all cores, $ms ms here" || not_ok "verify took $cpu s of processor time" ;;
esac
size=$(cat "$V"/*.json "$V"/crc/*.txt | wc -c)
[ "$size" -lt 1000000 ] && ok "the set takes $size bytes" || not_ok "the set takes $size bytes"

# the schema, by a validator of others
python=
for p in python3 /usr/bin/python3; do
  "$p" -c 'import jsonschema' 2>/dev/null && python=$p && break
done
if [ -n "$python" ]; then
  "$python" - "$V" <<'PY' && ok "the manifest validates against its schema (python3-jsonschema)" || not_ok "the manifest does not validate"
import json, jsonschema, sys
schema, manifest = (json.load(open(sys.argv[1] + '/' + n)) for n in ('schema.json', 'manifest.json'))
jsonschema.Draft202012Validator.check_schema(schema)
jsonschema.Draft202012Validator(schema).validate(manifest)
PY
else
  skip "schema: python3-jsonschema is not installed"
fi

# list
"$TAPLAG" vectors list >list
n=$(wc -l <list)
[ "$n" -ge 80 ] && ok "list shows $n vectors" || not_ok "list shows $n vectors"
expect 0 "" "list by wildcard and flag" -- "$TAPLAG" vectors list 'impulse-*' @aligned
grep -q '^impulse-first ' out && grep -q '^ratio-8-5-aligned ' out && ! grep -q '^silence ' out && ok "which mean what they say" || not_ok "wrong vectors listed"
expect 2 "no vector is meant by 'nonsense'" "an unknown id" -- "$TAPLAG" vectors verify nonsense
expect 2 "none of list, verify, try, export" "an unknown part" -- "$TAPLAG" vectors frobnicate
for part in list verify try export accept; do
  expect 0 "Usage: taplag vectors $part" "vectors $part --help" -- "$TAPLAG" vectors $part --help
done

# reports
"$TAPLAG" vectors verify 'impulse-*' 'refused-*' --tap --junit report.xml >tap 2>err
plan=$(sed -n 's/^1\.\.//p' tap)
lines=$(grep -cE '^ok [0-9]+ - ' tap)
[ "$plan" = "$lines" ] && [ "$lines" -ge 30 ] && ok "TAP: plan and $lines lines agree" || not_ok "TAP: plan $plan, lines $lines"
if command -v xmllint >/dev/null; then
  xmllint --noout report.xml && ok "JUnit XML is well-formed" || not_ok "JUnit XML is malformed"
  [ "$(xmllint --xpath 'string(/testsuites/@tests)' report.xml)" = "$(xmllint --xpath 'count(//testcase)' report.xml)" ] &&
    ok "JUnit XML counts its cases" || not_ok "JUnit XML counts wrongly"
else
  skip "JUnit XML: xmllint is not installed"
fi
"$TAPLAG" vectors verify 'impulse-*' --json >a.json && "$TAPLAG" vectors verify 'impulse-*' --json -j 1 >b.json
same a.json b.json "JSON is the same with one worker and with several"
grep -q '"schema": "taplag/vectors-verify/1"' a.json && ok "JSON has its schema" || not_ok "JSON has no schema"
expect 2 "only one of" "two reports on stdout" -- "$TAPLAG" vectors verify --tap --json
expect 4 "" "a report that cannot be written" -- "$TAPLAG" vectors verify impulse-first --junit /nonexistent/x.xml
expect 5 "no such kernel|another architecture" "a kernel that is not there" -- "$TAPLAG" vectors verify --cpu $([ "$(uname -m)" = aarch64 ] && echo avx2 || echo neon)

# a worker that crashes costs its vector alone (killed: a sanitizer would take other signals for itself)
"$TAPLAG" vectors verify -j 1 --cpu c --verbose >crashed 2>err &
pid=$!
for _ in $(seq 200); do
  child=$(pgrep -P $pid 2>/dev/null | head -n 1)
  [ -n "$child" ] && break
  sleep 0.01
done
sleep 0.05
kill -KILL "$child" 2>/dev/null
wait $pid
status=$?
n=$("$TAPLAG" vectors list | wc -l)
if [ $status -eq 1 ] && [ "$(grep -c 'crashed by signal 9' crashed)" -eq 1 ] && [ "$(grep -c '^ok ' crashed)" -eq $((n - 1)) ]; then
  ok "a worker that crashes costs its vector alone: $(grep -o '^FAIL .*crashed by signal 9' crashed)"
else
  not_ok "a crashing worker: exit $status, $(grep -c '^ok ' crashed) of $n passed, $(head -n 1 crashed)"
fi

# shards
total=0
for i in 1 2 3; do
  "$TAPLAG" vectors verify --cpu c --shard $i/3 --verbose >part$i || not_ok "shard $i fails"
  total=$((total + $(grep -c '^ok ' part$i)))
done
whole=$("$TAPLAG" vectors verify --cpu c --verbose | grep -c '^ok ')
[ $total -eq "$whole" ] && ok "three shards make the whole: $whole" || not_ok "shards: $total, whole: $whole"
sort part1 part2 part3 | grep '^ok ' | uniq -d | grep -q . && not_ok "shards overlap" || ok "shards do not overlap"
CI_NODE_INDEX=2 CI_NODE_TOTAL=3 "$TAPLAG" vectors verify --cpu c --verbose 2>err >env
same part2 env "CI_NODE_INDEX and CI_NODE_TOTAL choose the shard"
SLURM_ARRAY_TASK_ID=11 SLURM_ARRAY_TASK_MIN=10 SLURM_ARRAY_TASK_COUNT=3 "$TAPLAG" vectors verify --cpu c --verbose 2>err >env
same part2 env "SLURM_ARRAY_TASK_* choose the shard"
CI_NODE_INDEX=2 CI_NODE_TOTAL=3 "$TAPLAG" vectors verify --cpu c --verbose --shard 3/3 2>err >env
same part3 env "--shard wins over the environment"
expect 0 "^no vector falls to this shard" "a shard without vectors says so" -- \
  "$TAPLAG" vectors verify impulse-first --shard 2/3
expect 0 "^1\.\.0 # SKIP" "a shard without vectors says so in TAP" -- "$TAPLAG" vectors verify impulse-first --shard 2/3 --tap
expect 0 "^1 vector, " "one vector is one" -- "$TAPLAG" vectors verify impulse-first --cpu c --shard 1/3
expect 4 "^taplag: vectors verify: the results could not be written" "a full disk, JSON" -- \
  sh -c '"$0" vectors verify impulse-first --cpu c --json >/dev/full' "$TAPLAG"
for bad in 0/3 4/3 1 a/b 1/0 1/3x; do
  expect 2 "shard" "--shard $bad is refused" -- "$TAPLAG" vectors verify --shard $bad
done
expect 2 "CI_NODE_INDEX" "a bad CI_NODE_INDEX is refused" -- env CI_NODE_INDEX=4 CI_NODE_TOTAL=3 "$TAPLAG" vectors verify

# damage: exit 3 and the name of the part
cp -r "$V" copy
expect 0 "" "a copy passes (control)" -- "$TAPLAG" vectors verify --dir copy impulse-first
sed -i 's/"inputs": 1250/"inputs": 1251/' copy/manifest.json
expect 3 "manifest.json: its digest" "a changed manifest" -- "$TAPLAG" vectors verify --dir copy
for what in list export; do
  expect 3 "digest" "vectors $what does not believe it either" -- "$TAPLAG" vectors $what --dir copy impulse-first $([ $what = export ] && echo --as raw -o x)
done
expect 3 "digest" "nor does try" -- "$TAPLAG" vectors try --dir copy impulse-first -- cat
head -c 5000 "$V/manifest.json" >copy/manifest.json
expect 3 "no valid JSON" "a cut manifest" -- "$TAPLAG" vectors verify --dir copy
cp "$V/manifest.json" copy/
sed -i '5s/[0-9a-f]$/x/' copy/crc/noise.txt
expect 3 "crc/noise.txt: its sha256" "a changed CRC file" -- "$TAPLAG" vectors verify --dir copy
rm copy/crc/noise.txt
expect 4 "crc/noise.txt" "a missing CRC file" -- "$TAPLAG" vectors verify --dir copy
expect 4 "manifest.json" "a missing manifest" -- "$TAPLAG" vectors verify --dir /nonexistent
cp "$V/crc/noise.txt" copy/crc/

# a false expectation that is sealed properly is still found by verify: first bad packet, or input, or taps
command -v python3 >/dev/null && python3 - <<'PY'
import json, hashlib
m = json.load(open('copy/manifest.json'))
def seal(name):
    del m['digest']
    text = json.dumps(m, separators=(',', ':'), sort_keys=True)
    m['digest'] = hashlib.sha256(text.encode()).hexdigest()
    json.dump(m, open(name, 'w'))
v = [x for x in m['vectors'] if x['id'] == 'noise'][0]
lines = open('copy/crc/noise.txt').read().split('\n')
lines[6] = lines[6][:-8] + 'deadbeef'
open('copy/crc/noise.txt', 'w').write('\n'.join(lines))
v['expect']['crc_sha256'] = hashlib.sha256('\n'.join(lines).encode()).hexdigest()
seal('copy/manifest.json')
v['expect']['inputs_sha256'] = '0' * 64
seal('input.json')
PY
if [ -f input.json ]; then
  expect 1 "noise/c: cut own: the plain convolution gives the same outputs, but the manifest states others from packet 4 on" \
    "a false CRC under a right digest: verify names the packet" -- "$TAPLAG" vectors verify --dir copy noise
  cp input.json copy/manifest.json
  expect 1 "noise: the input is another" "a false input hash under a right digest" -- "$TAPLAG" vectors verify --dir copy noise
  "$TAPLAG" vectors verify --dir copy noise 'impulse-*' --junit bad.xml --tap >tap 2>err
  grep -q '^not ok' tap && ok "TAP tells failures" || not_ok "TAP tells no failure"
  if command -v xmllint >/dev/null; then
    [ "$(xmllint --xpath 'count(//failure)' bad.xml)" = 1 ] && [ "$(xmllint --xpath 'string(/testsuites/@failures)' bad.xml)" = 1 ] &&
      ok "JUnit XML tells failures" || not_ok "JUnit XML tells no failure"
  fi
else
  skip "false expectations under a right digest: python3 is not installed"
fi

# accept
rm -rf copy && cp -r "$V" copy
expect 2 "reason" "accept asks for a reason" -- "$TAPLAG" vectors accept --dir copy
expect 2 "too short: at least 10 characters" "a reason is a sentence" -- "$TAPLAG" vectors accept --dir copy --reason short
expect 0 "0 of [0-9]+ vectors change" "accept on a fresh set changes nothing" -- "$TAPLAG" vectors accept --dir copy --dry-run
same "$V/manifest.json" copy/manifest.json "--dry-run writes nothing"
sed -i '0,/"inputs": 1250/s//"inputs": 1300/' copy/manifest.json
expect 0 "outputs: 1536 -> 1598" "accept prints the difference" -- "$TAPLAG" vectors accept --dir copy --reason "A longer input for this test."
expect 0 "" "the accepted set verifies" -- "$TAPLAG" vectors verify --dir copy 'impulse-*'
grep -q "A longer input for this test." copy/manifest.json && ok "the reason is stored" || not_ok "the reason is not stored"

# a new vector is added by hand and accepted; a broken one is refused
chmod -R a-w copy 2>/dev/null
if [ "$(id -u)" -ne 0 ]; then
  expect 4 "" "a read-only folder" -- "$TAPLAG" vectors accept --dir copy --reason "Nothing can be written here."
else
  skip "a read-only folder: root may write anywhere"
fi
chmod -R u+w copy

# where the data are found
mkdir -p data elsewhere && cp -r "$V" data/vectors
cp "$TAPLAG" elsewhere/taplag
expect 0 "" "TAPLAG_DATA" -- env TAPLAG_DATA="$PWD/data" elsewhere/taplag vectors list
cp -r "$V" elsewhere/vectors
mkdir -p data/empty
expect 4 "TAPLAG_DATA is $PWD/data/empty" "TAPLAG_DATA without vectors: no other set is taken" -- \
  env TAPLAG_DATA="$PWD/data/empty" elsewhere/taplag vectors verify impulse-first
expect 4 "TAPLAG_DATA is $PWD/data/nosuch" "TAPLAG_DATA that is not there" -- \
  env TAPLAG_DATA="$PWD/data/nosuch" elsewhere/taplag vectors list
expect 0 "" "an empty TAPLAG_DATA is none" -- env TAPLAG_DATA= elsewhere/taplag vectors list
mkdir -p elsewhere/sim && cp -r "$ROOT/sim/scenarios" elsewhere/sim/
expect 4 "scenarios of TAPLAG_DATA, which is $PWD/data/empty" "nor a scenario from elsewhere" -- \
  env TAPLAG_DATA="$PWD/data/empty" elsewhere/taplag model usrpl0-tuned
expect 0 "" "without TAPLAG_DATA the scenario is found" -- env -u TAPLAG_DATA elsewhere/taplag model usrpl0-tuned
expect 0 "" "beside the binary" -- env -u TAPLAG_DATA elsewhere/taplag vectors list
mkdir -p prefix/bin prefix/share/taplag && mv elsewhere/vectors prefix/share/taplag/ && cp "$TAPLAG" prefix/bin/
rm -rf elsewhere/sim
expect 0 "" "under the prefix it was moved to" -- env -u TAPLAG_DATA prefix/bin/taplag vectors list
if [ ! -e /usr/local/share/taplag/vectors ]; then
  expect 4 "set TAPLAG_DATA" "nowhere: it says what to do" -- env -u TAPLAG_DATA elsewhere/taplag vectors list
fi

after=$(cat "$V"/manifest.json "$V"/crc/*.txt | sha256sum)
[ "$before" = "$after" ] && ok "no test wrote to the set" || not_ok "the set was written to"
