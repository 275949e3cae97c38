# SPDX-License-Identifier: Apache-2.0
# uhd: as source and sink, against the stand-in for libuhd; the plug-in that is missing, that is of another version, and the
# true libuhd where it is installed.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/uhd_scenarios.sh"
B=$(dirname "$TAPLAG")
PLUGIN=$B/uhd-standin
[ -s "$PLUGIN/taplag-uhd.so" ] || { not_ok "uhd: $PLUGIN/taplag-uhd.so is not built"; exit 1; }
uhd_signals
for NAME in ${UHD_ONLY:-$UHD_SCENARIOS}; do s_"$NAME"; done
[ -z "${UHD_ONLY:-}" ] || exit 0

# Words of benchmark_rate.
NAME=summary
script "samples 3000" "overflow 10" "samples 3000" "lost 10" "samples 10" "timeout 1"
TAPLAG_DATA=$PLUGIN UHD_STANDIN=script "$TAPLAG" replay uhd: --rate 25M --nsamps 9020 --control 0 --to null: --overrun block --stats 2>err |
  sed -n '/^Benchmark/,$p' >summary
cat >want <<'EOF'
Benchmark rate summary:
  Num received samples:     10000
  Num dropped samples:      20
  Num overruns detected:    1
  Num transmitted samples:  0
  Num sequence errors (Tx): 0
  Num sequence errors (Rx): 1
  Num underruns detected:   0
  Num late commands:        0
  Num timeouts (Tx):        0
  Num timeouts (Rx):        1
EOF
sed -i 's/\(received samples: *\).*/\110000/' summary # whole calls of the last one
same want summary "the summary has benchmark_rate's labels"
grep -qE "^	[0-9.]+ Msps" err && ok "--progress" || { script pace; TAPLAG_DATA=$PLUGIN UHD_STANDIN=script "$TAPLAG" replay uhd: --rate 1M --out-rate 1M \
  --duration 1.3s --control 0 --progress 2>err >/dev/null; grep -qE "^	1?\.?[0-9.]+ Msps" err && ok "--progress prints a rate a second" || not_ok "--progress: $(cat err)"; }

# Usage.
export TAPLAG_DATA=$PLUGIN
expect 2 "a radio must be told its rate" "no rate" -- "$TAPLAG" replay uhd: --to null:
expect 2 "there is no key 'gian'" "an unknown key" -- "$TAPLAG" replay "uhd:?gian=3" --rate 25M --to null:
expect 2 "gain=loud" "a key's value" -- "$TAPLAG" replay "uhd:?gain=loud" --rate 25M --to null:
expect 2 "plays once" "a radio plays once" -- "$TAPLAG" replay uhd: --rate 25M --loop 2 --to null:
expect 2 "a radio knows no virtual clock" "nor on the virtual clock" -- "$TAPLAG" replay phy.cs16 --format cs16 --rate 30.72M --out-rate 25M --clock virtual --to uhd:
expect 2 "--gain is an option of radios" "a radio's options without one" -- "$TAPLAG" replay phy.cs16 --format cs16 --rate 25M --gain 3 --to null:
expect 2 "--late sometimes" "--late" -- "$TAPLAG" replay uhd: --rate 25M --late sometimes --to null:
expect 2 "nothing would be received" "--nsamps 0" -- "$TAPLAG" replay uhd: --rate 25M --nsamps 0 --to null:

# The plug-in is not there, or not this program's.
mkdir empty other
expect 5 "taplag-uhd.so, and it is not in TAPLAG_DATA=.*apt-get install libuhd-dev" "no plug-in" -- env TAPLAG_DATA="$WORK/empty" "$TAPLAG" replay uhd: --rate 25M --to null:
expect 5 "taplag-uhd.so" "no plug-in for a sink" -- env TAPLAG_DATA="$WORK/empty" "$TAPLAG" replay phy.cs16 --format cs16 --rate 25M --to uhd:
echo nonsense >other/taplag-uhd.so
expect 5 "cannot be loaded" "a plug-in that is none" -- env TAPLAG_DATA="$WORK/other" "$TAPLAG" replay uhd: --rate 25M --to null:
if command -v gcc >/dev/null; then
  echo 'struct { unsigned version; unsigned long size; } p = {99, 16}; void *tlg_uhd_plugin(void) { return &p; }' >p.c
  gcc -shared -fPIC p.c -o other/taplag-uhd.so &&
    expect 5 "not of this program's version \(its interface is 99" "a plug-in of another version" -- env TAPLAG_DATA="$WORK/other" "$TAPLAG" replay uhd: --rate 25M --to null:
else
  skip "uhd: no gcc for a plug-in of another version"
fi
unset TAPLAG_DATA

# libuhd itself, without a device.
if [ ! -e "$B/taplag-uhd.so" ]; then
  skip "uhd: libuhd >= 4.0 is not installed (apt-get install libuhd-dev): the plug-in against the true libuhd"
  exit 0
fi
expect 5 "no USRP answers to 'type=x300'; .*UHD: LookupError" "the true libuhd finds no device" -- "$TAPLAG" replay uhd:type=x300 --rate 25M --to null:
if [ "$(wc -l <err)" -eq 2 ] && head -n 1 err | grep -qx 'Creating the usrp device with: type=x300...'; then ok "and prints nothing of its own"; else not_ok "it prints: $(cat err)"; fi
# The same plug-in, that links the true libuhd, with the stand-in's functions in front.
if nm "$TAPLAG" 2>/dev/null | grep -qE '__(asan|ubsan|tsan)_'; then
  skip "uhd: built with a sanitizer, which wants to be loaded first"
else
  NAME="the plug-in of the true libuhd"
  script "samples 30001" "overflow 5003" "samples 40000" && cp air.cs16 want_in.cs16 && hole 30001 5003
  UHD_STANDIN=script LD_PRELOAD=$PLUGIN/libuhd-standin.so "$TAPLAG" replay uhd:type=x300 --rate 25M --gaps zero --nsamps 80000 --control 0 --to got.cs16 --force >text 2>err
  heard 80000
fi
