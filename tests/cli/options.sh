# SPDX-License-Identifier: Apache-2.0
# What all commands share: help, overview, values out of range, results that cannot be written.
. "$(dirname "$0")/lib.sh"

expect 2 'Usage: taplag COMMAND' "no command: the overview, usage" -- "$TAPLAG"
expect 0 'Exit status: 0 done' "--help" -- "$TAPLAG" --help
expect 0 'taplag [0-9]+\.[0-9]+' "--version" -- "$TAPLAG" --version
expect 2 "no command 'nonsense'" "an unknown command is named" -- "$TAPLAG" nonsense
commands=$("$TAPLAG" --help | awk '/^Commands:/ {on = 1; next} on && /^$/ {exit} on {print $1}')
for c in $commands; do
  expect 0 "Usage: taplag $c" "$c --help" -- "$TAPLAG" "$c" --help
  expect 2 "--nonsense" "$c: an unknown option is named" -- "$TAPLAG" "$c" --nonsense
  if [ -c /dev/full ]; then
    "$TAPLAG" "$c" --help >/dev/full 2>err
    [ $? -eq 4 ] && ok "$c --help to a full disk: 4" || not_ok "$c --help to a full disk: not 4"
  fi
done

"$TAPLAG" synth ofdm --duration 2ms -o a.cs16 >/dev/null
for bad in 0 -1 abc '' 1/0 1e999 nan 65536k/7x; do
  expect 2 '--rate' "resample --rate '$bad'" -- "$TAPLAG" resample a.cs16 "--rate=$bad" -o b.cs16
done
expect 2 '--taps 0: must be from 1' "--taps 0" -- "$TAPLAG" resample a.cs16 --rate 25M --taps 0 -o b.cs16
expect 2 '--taps' "--taps -3" -- "$TAPLAG" resample a.cs16 --rate 25M --taps=-3 -o b.cs16
expect 2 '--channel 0: must be' "--channel 0" -- "$TAPLAG" info a.cs16 --rate 25M --channel 0
expect 2 '--shift 0: must be' "filter --shift 0" -- "$TAPLAG" filter --shift 0
expect 2 '--rounding up' "an unknown rounding" -- "$TAPLAG" resample a.cs16 --rate 25M --rounding up -o b.cs16
expect 2 'exclude each other' "--align with --flush" -- "$TAPLAG" resample a.cs16 --rate 25M --align --flush -o b.cs16
expect 2 '65535' "a ratio with a term above 65535" -- "$TAPLAG" resample a.cs16 --rate 25000001 -o b.cs16
expect 2 '--cpu fast' "an unknown instruction set" -- "$TAPLAG" resample a.cs16 --rate 25M --cpu fast -o b.cs16
case $(uname -m) in x86_64) foreign=neon ;; *) foreign=avx2 ;; esac
expect 5 'another architecture' "--cpu of another architecture" -- "$TAPLAG" resample a.cs16 --rate 25M --cpu $foreign -o b.cs16
printf '# S=14 L=4 N=1\n16384\n' >four.txt
expect 3 'taps are for L = 4, but .* is 5/4' "taps for another L" -- "$TAPLAG" resample a.cs16 --rate 4M --out-rate 5M --filter four.txt -o b.cs16
expect 4 'none.txt' "no such file of taps" -- "$TAPLAG" resample a.cs16 --rate 25M --filter none.txt -o b.cs16
[ -e b.cs16 ] && not_ok "something was written" || ok "none of these wrote anything"

# Results that cannot be written, as JSON and as a table.
if [ -c /dev/full ]; then
  for args in "filter" "filter --json" "info a.cs16 --rate 25M" "info a.cs16 --rate 25M --json"; do
    "$TAPLAG" $args >/dev/full 2>err
    status=$?
    [ $status -eq 4 ] && [ "$(grep -c 'could not be written' err)" = 1 ] && ok "$args to a full disk: 4, said once" ||
      not_ok "$args to a full disk: exit $status, $(grep -c 'could not be written' err) messages"
    "$TAPLAG" $args >&- 2>err
    [ $? -eq 4 ] && ok "$args with stdout closed: 4" || not_ok "$args with stdout closed: not 4"
  done
else
  skip "no /dev/full here"
fi

# A stop asked for twice at once, as timeout(1) does to a group, still drains.
"$TAPLAG" synth noise --duration 1000s -o long.cs16 >out 2>err &
pid=$!
for _ in $(seq 50); do
  ls -A | grep -q 'long.cs16.part' && break
  sleep 0.1
done
sleep 0.3
kill -INT $pid
kill -INT $pid
wait $pid
status=$?
[ $status -eq 130 ] && [ -s long.cs16 ] && ok "two signals at once: drained, complete, 130" ||
  not_ok "two signals at once: exit $status"
rm -f long.cs16

# A later second one ends a program that cannot drain: here its output goes into a pipe that nobody reads.
mkfifo stuck
"$TAPLAG" synth noise --duration 10s -o - >stuck 2>err &
pid=$!
exec 3<stuck
catching $pid
sleep 0.3
kill -INT $pid
sleep 0.6
kill -INT $pid
wait $pid
status=$?
exec 3<&-
[ $status -eq 130 ] && ok "a second signal ends a program whose output is stuck" || not_ok "stuck output, two signals: exit $status"
