#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# taplag bench kernels: every kernel is listed or said to be missing, bytes are compared, JSON repeats but for what is
# measured. How fast they are is not judged here.
. "$(dirname "$0")/lib.sh"

expect 0 "memcpy of the packet" "bench kernels: table" -- "$TAPLAG" bench kernels --runs 3
listed=$(grep -cE "^ +(16|24|) +(c|sse2|avx2|avx512|vnni|neon) " out)
missing=$(grep -c "not available on this CPU" out)
[ "$listed" -eq $((2 * (6 - missing) + missing)) ] && ok "bench kernels: six levels, listed or missing" ||
  not_ok "bench kernels: $listed lines, $missing of them missing levels"
expect 0 "^ +13 +c " "bench kernels: --taps" -- "$TAPLAG" bench kernels --runs 3 --taps 13 --cpu c
grep -qE "^ +13 +(sse2|avx2|avx512|vnni|neon) +[0-9]" out && not_ok "bench kernels: --cpu caps" || ok "bench kernels: --cpu caps"
expect 0 "packet of 364 samples" "bench kernels: --packet" -- "$TAPLAG" bench kernels --runs 3 --packet 364 --taps 16
expect 0 "by 625/768" "bench kernels: the other direction" -- "$TAPLAG" bench kernels --runs 3 --rate 30.72M --out-rate 25M --taps 20
expect 0 "by 48/625" "bench kernels: decimation" -- "$TAPLAG" bench kernels --runs 3 --out-rate 1.92M --taps 200

expect 0 '"schema": "taplag/bench-kernels/1"' "bench kernels: JSON" -- "$TAPLAG" bench kernels --runs 3 --json
sed '/"measured"/,$d' out >first.json
grep -q '"of_memcpy"' out && grep -q '"times_c"' out && ok "bench kernels: ratios in JSON" || not_ok "bench kernels: ratios in JSON"
expect 0 "" "bench kernels: JSON again" -- "$TAPLAG" bench kernels --runs 3 --json
sed '/"measured"/,$d' out >second.json
same first.json second.json "bench kernels: JSON but for host and measured repeats"

expect 2 "from 1 to 100000" "bench kernels: runs out of range" -- "$TAPLAG" bench kernels --runs 0
expect 2 "from 1 to 65536" "bench kernels: packet out of range" -- "$TAPLAG" bench kernels --packet 0
expect 2 "from 1 to 4096" "bench kernels: taps out of range" -- "$TAPLAG" bench kernels --taps -1
expect 2 "not an instruction set" "bench kernels: unknown level" -- "$TAPLAG" bench kernels --cpu mmx
expect 2 "help" "bench kernels: unknown option" -- "$TAPLAG" bench kernels --quick
expect 0 "Usage" "bench kernels: --help" -- "$TAPLAG" bench kernels --help
if [ -e /dev/full ]; then
  "$TAPLAG" bench kernels --runs 1 >/dev/full 2>err
  [ $? = 4 ] && ok "bench kernels: a full device" || not_ok "bench kernels: a full device"
fi
