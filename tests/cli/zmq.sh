# SPDX-License-Identifier: Apache-2.0
# zmq: between two runs of the program: replay sends, record receives; loss shows on both sides.
. "$(dirname "$0")/lib.sh"

"$TAPLAG" synth ofdm --rate 25M --duration 100ms --seed 3 --level -12dBFS -o a.cs16 >/dev/null
"$TAPLAG" resample a.cs16 --format cs16 --from 25M --to 30.72M --align -o r.cs16 >/dev/null 2>&1

for keys in "" "kind=pub" "format=cf32"; do
  source="zmq:ipc://$WORK/e"
  [ "$keys" = kind=pub ] && source="$source?kind=sub"
  rm -f got.*
  "$TAPLAG" record "$source" -o got.sigmf-meta --max-lost 0 --json >rec.json 2>rec.err &
  record=$!
  "$TAPLAG" replay a.cs16 --format cs16 --rate 25M --align --to "zmq:ipc://$WORK/e?block=1&$keys" --json >out 2>err
  [ $? = 0 ] && ok "replay into zmq${keys:+, $keys}" || not_ok "replay into zmq, $keys: $(cat err)"
  wait $record
  [ $? = 0 ] && same r.cs16 got.sigmf-data "all of it is recorded${keys:+, $keys}" || not_ok "record from zmq, $keys: $(cat rec.err)"
done
python3 - <<'PY' && ok "rate and counts come with the samples" || not_ok "rate and counts come with the samples"
import json
o = json.load(open('rec.json'))
assert o['rate_in']['num'] == 30720000 and o['measured']['source']['samples'] == 3072000
s = json.load(open('out'))['measured']['sinks'][0]
assert s['outputs'] == s['sent'] == 3072000 and s['dropped'] == 0
PY

# two sinks at once: nobody reads one of them, and the file is complete in time all the same
"$TAPLAG" replay a.cs16 --format cs16 --rate 25M --align --to "zmq:ipc://$WORK/nobody?queue=16&hwm=2" --to f.cs16 --json >out 2>err
[ $? = 0 ] && same r.cs16 f.cs16 "a sink that nobody reads holds up no other" || not_ok "two sinks: $(cat err)"
python3 - <<'PY' && ok "and counts what it lost" || not_ok "and counts what it lost: $(cat out)"
import json
s = json.load(open('out'))['measured']['sinks'][0]
assert s['outputs'] == s['dropped'] == 3072000 and s['sent'] == 0 and s['losses'] >= 1
PY

expect 2 "no endpoint" "a wrong endpoint" -- "$TAPLAG" replay a.cs16 --format cs16 --rate 25M --to zmq:here
expect 2 "one of push, pub" "a wrong kind" -- "$TAPLAG" replay a.cs16 --format cs16 --rate 25M --to "zmq:ipc://$WORK/k?kind=pull"
