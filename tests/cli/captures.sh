# SPDX-License-Identifier: Apache-2.0
# Recordings, where they are at hand: resample agrees with the ideal reference to the filter's own limit.
. "$(dirname "$0")/lib.sh"

lte=$CAPTURES/lte20_25Msps_80ms.sc16
if [ -r "$lte" ]; then
  "$TAPLAG" resample "$lte" --format sc16 --from 25M --to 30.72M --align -o b.cs16 >/dev/null 2>&1
  expect 0 '^PASSED' "LTE at 25 Msps to 30.72 Msps" -- "$TAPLAG" check "$lte" b.cs16 --format sc16 --from 25M --to 30.72M --align --min-snr 77 --max-ripple 0.006
  expect 0 'in 159 blocks of 1 ms .*' "compared from end to end" -- "$TAPLAG" check "$lte" b.cs16 --format sc16 --from 25M --to 30.72M --align
  "$TAPLAG" resample b.cs16 --format cs16 --from 30.72M --to 25M --align -o c.cs16 >/dev/null 2>&1
  expect 0 '^PASSED' "and back to 25 Msps" -- "$TAPLAG" check b.cs16 c.cs16 --format cs16 --from 30.72M --to 25M --align
else
  skip "lte20_25Msps_80ms.sc16 is not at hand"
fi
for name in lte_f796M_s19.2M_hackrf.cs8 lte_f1815.3M_s19.2M_hackrf.cs8; do
  air=$CAPTURES/$name
  if [ ! -r "$air" ]; then
    skip "$name is not at hand"
    continue
  fi
  # Half scale: a recording clipped at full scale has peaks between its samples.
  for to in 30.72M 25M; do
    "$TAPLAG" resample "$air" --format cs8 --full-scale 256 --from 19.2M --to $to --align --out-format cs16 -o d.cs16 --force >/dev/null 2>&1
    expect 0 '^PASSED' "$name to $to" -- "$TAPLAG" check "$air" d.cs16 --format cs8 --out-format cs16 --full-scale 256 --from 19.2M --to $to --align
  done
done
air=$CAPTURES/lte_f796M_s19.2M_hackrf.cs8
if [ -r "$air" ]; then
  "$TAPLAG" resample "$air" --format cs8 --from 19.2M --to 30.72M --align --out-format cs16 -o e.cs16 >/dev/null 2>&1
  expect 1 'at full scale: the signal is clipped' "without headroom the clipped one is called so" -- "$TAPLAG" check "$air" e.cs16 --format cs8 --out-format cs16 --from 19.2M --to 30.72M --align
fi
