# SPDX-License-Identifier: Apache-2.0
# The transmit direction: 30.72 Msps from a PHY, 25 Msps into a converter's model; underruns and late blocks by the virtual clock.
. "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null || {
  skip "dac: python3 is not here to compute what is expected"
  exit 0
}
"$TAPLAG" synth noise --rate 30.72M --duration 4ms --level -15dBFS --seed 4 -o phy.cs16 >/dev/null 2>&1
V="$TAPLAG replay phy.cs16 --format cs16 --rate 30.72M --out-rate 25M --clock virtual --json"

# What a converter counts behind packets of these sizes, each delivered when its last input has come; sample by sample.
cat >expect.py <<'EOF'
import sys
from collections import deque
sizes, lead, buffer, shift, drops = eval(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4] == 'shift', eval(sys.argv[5])
N, due0, origin, nxt, opened, free, j, at = 122880, None, 0, 0, False, 0, 0, 0
u = l = late = sent = extra = 0
pending = deque()
due = lambda k: due0 + (k - origin) * 10**12 // 25000000
while at < N:
    n = min(sizes[j % len(sizes)], N - at)
    a, b = -(-at * 625 // 768), -(-(at + n) * 625 // 768)
    at += n
    now = at * 10**12 // 30720000
    j += 1
    if j - 1 in drops or a == b:
        continue
    # the queue in front of a sink holds blocks of 1024 at most
    for a in range(a, b, 1024):
        e = min(a + 1024, b)
        t = max(now, free)
        if due0 is None:
            due0, origin, nxt = t + lead, a, a
        if opened and due(nxt) < t:
            u, opened = u + 1, False
        opened = opened and a == nxt
        if due(a) < t:
            l += 1
            if shift:
                s = 0
                while due(a + s) < t + lead:
                    s += 1
                extra += s
                due0, origin = due(a + s), a
        free, here = t, t
        for k in range(a, e):
            if due(k) < here:
                late += 1
                continue
            opened = True
            while pending and pending[0] <= free:
                pending.popleft()
            if len(pending) >= buffer:
                free = pending.popleft()
            pending.append(due(k))
            sent += 1
        nxt = e
print(u, l, late, sent, extra)
EOF
row() { python3 -c "
import json
s = json.load(open('out'))['measured']['sinks'][0]
print(s['underruns'], s['late'], s['dropped'], s['sent'], s['extra'])"; }
# case SIZES LEAD_US BUFFER HOW DROPS DESCRIPTION
case_of() {
  local drop=
  [ "$5" = "[]" ] || drop="--drop-packet $(echo "$5" | tr -d '[] ')"
  # shellcheck disable=SC2086
  $V --packet "$1" $drop --to "dac:?lead=${2}us&buffer=$3&late=$4" >out 2>err || not_ok "$6: $(cat err)"
  python3 expect.py "[$1]" "${2}000000" "$3" "$4" "$5" >want
  row >got
  same want got "$6: $(cat want)"
}
case_of 768 0 100000 drop "[]" "in step, without any lead"
case_of 768,768,3072 0 100000 drop "[]" "sizes that differ, without a lead: late"
case_of 768,768,3072 0 100000 shift "[]" "the same, and the time line moves"
case_of 768,768,3072 100 100000 drop "[]" "with a lead of the largest packet: in time"
case_of 768 10 100000 drop "[100,101,130]" "lost packets: behind a gap it goes on in time, but its end was told too late"
case_of 768 60 100000 drop "[100,101,130]" "with a lead longer than the gap: no underrun"
case_of 6144 300 300 drop "[]" "a small buffer makes the writer wait, which nothing behind it can know"
case_of 1,7,362,2000 50 1000 drop "[5,77]" "odd sizes"

$V --packet 768 --to "dac:?lead=0" >1 2>/dev/null
$V --packet 768 --to "dac:?lead=0" --cpu c >2 2>/dev/null
same 1 2 "every byte of the JSON repeats"
expect 0 "U" "U and L stand on stderr" -- $V --packet 768,768,3072 --to "dac:?lead=0"
expect 1 "Underruns" "a threshold of underruns" -- $V --packet 768,768,3072 --to "dac:?lead=0" --underrun-threshold 0
expect 0 "" "that is kept" -- $V --packet 768 --to "dac:?lead=0" --underrun-threshold 0
# Behind a model's delays a lead shorter than they are is no lead.
S="$TAPLAG replay phy.cs16 --format cs16 --rate 30.72M --out-rate 25M --clock virtual --scenario usrpl0-moderation --set rate=30720000 --set phy.rate=25000000 --json"
if $S --to "dac:?lead=10ms" >out 2>err; then
  row | grep -q '^0 0 0 ' && ok "behind a scenario's delays 10 ms of lead do" || not_ok "behind a scenario's delays 10 ms of lead do: $(row)"
  $S --to "dac:?lead=20us" >out 2>err
  row | grep -q '^0 ' && not_ok "20 us do not: $(row)" || ok "20 us do not: $(row)"
  $S --to "dac:?lead=20us" >again 2>err
  same out again "and that repeats"
else
  not_ok "a scenario in the transmit direction: $(cat err)"
fi

# The same samples, whatever the sink: a file beside it has the bytes of resample.
"$TAPLAG" resample phy.cs16 --format cs16 --from 30.72M --to 25M -o want.cs16 --force >/dev/null 2>&1
expect 0 "" "real time" -- "$TAPLAG" replay phy.cs16 --format cs16 --rate 30.72M --out-rate 25M --control 0 --to "dac:?lead=5ms" --to got.cs16 --json
same want.cs16 got.cs16 "25 Msps out, the bytes of resample"
if python3 -c "
import json
m = json.load(open('out'))['measured']
s = m['sinks'][0]
assert s['outputs'] == s['sent'] + s['dropped'] == 100000 and m['radio']['transmitted_samples'] == s['sent'], s"; then ok "given = sent + dropped"; else not_ok "given = sent + dropped"; fi
expect 2 "nothing behind the colon but keys" "dac:words" -- $V --to dac:fast
expect 2 "lead=soon" "lead" -- $V --to "dac:?lead=soon"
expect 2 "there is no key 'size'" "an unknown key" -- $V --to "dac:?size=3"
expect 2 "buffer=0" "no buffer" -- $V --to "dac:?buffer=0"
