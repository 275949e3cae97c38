# SPDX-License-Identifier: Apache-2.0
# From replay to record over every hop, between processes: the same samples, gaps marked, an end that is heard.
. "$(dirname "$0")/lib.sh"

"$TAPLAG" synth noise --rate 25M --duration 10ms --seed 3 -o a.sigmf-meta >/dev/null 2>&1 || not_ok "synth"
"$TAPLAG" resample a.sigmf-meta --to 30.72M -o want.cs16 >/dev/null 2>&1 || not_ok "resample"

# wait_for PATTERN FILE: until a line of it matches.
wait_for() {
  local i
  for i in $(seq 400); do
    grep -qE "$1" "$2" 2>/dev/null && return 0
    sleep 0.05
  done
  return 1
}

# hop NAME SOURCE SINK [listens]: record SOURCE, replay into SINK (@ = the port that the source took).
hop() {
  local name=$1 source=$2 sink=$3 port=0 pid status
  rm -f got.* rec.err
  "$TAPLAG" record "$source" -o got.sigmf-meta --json >rec.json 2>rec.err &
  pid=$!
  wait_for 'listening|waiting' rec.err || not_ok "$name: record waits"
  case $source in udp:*) port=$(sed -n 's/.*listening on udp:.*:\([0-9]*\)$/\1/p' rec.err | head -n 1) ;; esac
  "$TAPLAG" replay a.sigmf-meta --speed 0.2 --packet 364 --drop-packet 100,101 --overrun block --to "${sink/@/$port}" >rep.txt 2>rep.err
  is $? 0 "$name: replay"
  wait $pid
  status=$?
  is $status 0 "$name: record ends by itself"
  [ "$status" = 0 ] || { kill $pid 2>/dev/null; sed 's/^/  /' rec.err; return; }
  "$TAPLAG" info got.sigmf-meta --json >info.json 2>/dev/null
  is "$(json info.json samples)" "$(stat -c %s got.sigmf-data | awk '{print $1 / 4}')" "$name: info agrees with the file"
  # Without the two packets that were lost: the outputs of both ends are those of resample.
  cmp -s -n 150000 got.sigmf-data want.cs16 && ok "$name: the first samples are the same" || not_ok "$name: the first samples"
  cmp -s <(tail -c 400000 got.sigmf-data) <(tail -c 400000 want.cs16) && ok "$name: so are the last" || not_ok "$name: the last samples"
  grep -q 'global_index' got.sigmf-meta && ok "$name: the gap is marked" || not_ok "$name: no gap in the meta file"
}

hop udp udp:0 "udp:127.0.0.1:@"
hop vita49 "udp:0?vita49=1" "udp:127.0.0.1:@?vita49=1"
hop unix "unix:$PWD/a.sock" "unix:$PWD/a.sock?block=1"
hop shm "shm:taplag-cli-$$" "shm:taplag-cli-$$?block=1"

expect 2 'HOST:PORT' "udp without a port" -- "$TAPLAG" replay a.sigmf-meta --to udp:
expect 2 'colour' "an unknown key" -- "$TAPLAG" replay a.sigmf-meta --to "udp:127.0.0.1:9?colour=red"
expect 2 'already there' "unix: a file stands in the way" -- "$TAPLAG" replay a.sigmf-meta --to "unix:$PWD/want.cs16"
expect 130 'waiting' "Ctrl-C while a source waits" -- timeout --preserve-status -s INT 0.5 "$TAPLAG" record "unix:$PWD/none.sock" -o x.cs16 --rate 25M

# A receive buffer that the system refuses: what lets it grow is said.
asked=$(($(cat /proc/sys/net/core/rmem_max) * 4))
plain= # root may exceed the limit
[ "$(id -u)" != 0 ] || plain="setpriv --bounding-set -net_admin"
if [ $asked -gt 1073741824 ] || ! $plain true 2>/dev/null; then
  skip "udp: the system's limit is beyond what can be asked for, or setpriv is missing"
else
  $plain "$TAPLAG" record "udp:0?rcvbuf=$asked" -o never.cs16 >/dev/null 2>rec.err &
  wait_for "sysctl -w net.core.rmem_max=$asked" rec.err && ok "udp: a small buffer is told of" || not_ok "udp: no word of the buffer: $(cat rec.err)"
  kill -INT $!
  wait $!
  is $? 130 "udp: and stopped"
fi
