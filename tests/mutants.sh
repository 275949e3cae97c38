#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Puts faults one by one into a copy of the resampler and asks the golden vectors for each. All hand-made faults of
# tests/mutants/hand.txt must be caught. Of those generated from resamp.c and the C kernel (every STEP-th; STEP=1: all) at
# least 95 % of those that are not equivalent must be, and every survivor must stand in tests/mutants/equivalent.txt with the
# reason why it is.
# Prints "ok ..." and "not ok ..." lines; VERBOSE=1 prints each generated mutant, too.
set -u
B=${B:-build} STEP=${STEP:-1} JOBS=${JOBS:-2} VERBOSE=${VERBOSE:-0}
ROOT=$(cd "$(dirname "$0")/.." && pwd)
cd "$ROOT" || exit 1
B=$(cd "$B" && pwd)
work=${WORK:-$B/mutants}
mkdir -p "$work"
# a copy, so that editing goes on
rm -rf "$work/tree"
mkdir -p "$work/tree/tests"
cp -r dsp vectors "$work/tree/" && cp -r tests/mutants tests/mutate.c tests/mutant_*.c "$work/tree/tests/" || exit 1
export work B ROOT
export CC=${CC:-gcc}
export FLAGS="-std=c11 -D_GNU_SOURCE -O1 -w -ffp-contract=off -fsanitize=undefined -fsanitize-undefined-trap-on-error -Idsp -Ivectors -I$B/gen"

"$CC" -O1 -w tests/mutate.c -o "$work/mutate" || exit 1
# shellcheck disable=SC2086
"$CC" $FLAGS -c tests/mutant_run.c -o "$work/mutant_run.o" || exit 1
make --no-print-directory B="$B" "$B/mutant_prepare" >/dev/null || exit 1
cd "$work/tree" || exit 1
"$B/taplag" vectors list --plain >"$work/list" && "$B/mutant_prepare" "$work/list" "$work/set" || exit 1
for f in resamp kernels_c bank; do
  # shellcheck disable=SC2086
  "$CC" $FLAGS -c dsp/$f.c -o "$work/true-$f.o" || exit 1
done
cp "$B/libtaplag.a" "$work/rest.a" && (cd "$work" && ar d rest.a resamp.o kernels_c.o bank.o) || exit 1

# NAME FILE (hand) or NUMBER FILE (generated): writes RESULT to $work/NAME.result: caught BY ..., survived, same, broken.
one() {
  local kind=$1 name=$2 file=$3 base status objects f
  base=$(basename "$file" .c)
  local id=$kind-$base-$name
  if [ "$kind" = hand ]; then
    "$work/mutate" apply tests/mutants/hand.txt "$name" >"$work/$id.c" 2>"$work/$id.err" || {
      echo "broken $(cat "$work/$id.err")" >"$work/$id.result"
      return
    }
  else
    "$work/mutate" make "$file" "$name" >"$work/$id.c"
  fi
  # shellcheck disable=SC2086
  if ! $CC $FLAGS -c "$work/$id.c" -o "$work/$id.o" 2>"$work/$id.err"; then
    echo "broken does not compile: $(grep -m1 error "$work/$id.err")" >"$work/$id.result"
    rm -f "$work/$id.c"
    return
  fi
  if cmp -s "$work/$id.o" "$work/true-$base.o"; then
    echo "same" >"$work/$id.result"
    rm -f "$work/$id".[co]
    return
  fi
  objects=
  for f in resamp kernels_c bank; do
    [ $f = "$base" ] && objects="$objects $work/$id.o" || objects="$objects $work/true-$f.o"
  done
  # shellcheck disable=SC2086
  $CC "$work/mutant_run.o" $objects "$work/rest.a" -lm -o "$work/$id.bin" 2>"$work/$id.err" || {
    echo "broken does not link: $(head -n 1 "$work/$id.err")" >"$work/$id.result"
    return
  }
  (
    ulimit -t 20 -v 4000000 -c 0
    exec "$work/$id.bin" "$work/set"
  ) >"$work/$id.out" 2>/dev/null
  status=$?
  case $status in
  0) echo "survived" ;;
  1) echo "caught $(tail -n 1 "$work/$id.out")" ;;
  *) echo "caught by a crash or endless run (status $status)" ;;
  esac >"$work/$id.result"
  rm -f "$work/$id".[co] "$work/$id.bin" "$work/$id.out" "$work/$id.err"
}
export -f one
rm -f "$work"/*.result

# control: the unchanged sources pass
# shellcheck disable=SC2086
if "$CC" "$work/mutant_run.o" "$work"/true-*.o "$work/rest.a" -lm -o "$work/control" && "$work/control" "$work/set" >"$work/control.out"; then
  echo "ok mutants: the unchanged resampler passes the set"
else
  echo "not ok mutants: the unchanged resampler fails: $(cat "$work/control.out")"
  exit 1
fi

"$work/mutate" names tests/mutants/hand.txt | sed 's/^/hand /' >"$work/jobs"
for file in dsp/resamp.c dsp/kernels_c.c; do
  # lines that only allot memory are left to the sanitizers, the choice among kernels of equal bytes to the benches
  "$work/mutate" list $file | awk -F'\t' '$4 !~ /aligned_alloc|memory_size|plane_size|plane\[2\];|end\[2\] =|x\[2\] =|tlg_kernel_choose|memset\(r, 0/' \
    >"$work/$(basename $file .c).list"
  awk -F'\t' -v f=$file -v step="$STEP" 'NR % step == 0 {print "made", $1, f}' "$work/$(basename $file .c).list" >>"$work/jobs"
done
if [ -n "${ONLY:-}" ]; then # a file of lines "CHANGE<tab>SOURCE LINE": these alone
  : >"$work/jobs"
  for file in dsp/resamp.c dsp/kernels_c.c; do
    awk -F'\t' -v f=$file 'NR == FNR {want[$0] = 1; next} ($3 "\t" $4) in want {print "made", $1, f}' "$ONLY" \
      "$work/$(basename $file .c).list" >>"$work/jobs"
  done
fi
xargs -P "$JOBS" -L 1 bash -c 'one "$@"' _ <"$work/jobs"

hand=0 bad=0
while read -r kind name file; do
  [ "$kind" = hand ] || continue
  hand=$((hand + 1))
  result=$(cat "$work/hand-$(basename "$file" .c)-$name.result")
  case $result in
  caught*) echo "ok mutants: $name is ${result}" ;;
  *)
    echo "not ok mutants: $name: $result"
    bad=$((bad + 1))
    ;;
  esac
done <"$work/jobs"
[ -n "${ONLY:-}" ] || [ $hand -ge 25 ] || echo "not ok mutants: only $hand hand-made faults"

made=0 caught=0 equivalent=0 explained=0
while read -r kind number file; do
  [ "$kind" = made ] || continue
  base=$(basename "$file" .c)
  result=$(cat "$work/made-$base-$number.result")
  IFS=$'\t' read -r _ line change text < <(awk -F'\t' -v n="$number" '$1 == n' "$work/$base.list")
  [ "$VERBOSE" = 1 ] && echo "   $file:$line $change: $result"
  case $result in
  broken*) continue ;;
  same)
    equivalent=$((equivalent + 1)) # the compiler makes the same code of it
    continue
    ;;
  caught*) caught=$((caught + 1)) ;;
  survived)
    reason=$(awk -F' \\| ' -v f="$file" -v c="$change" -v t="$text" '$1 == f && $2 == c && $3 == t {print $4}' tests/mutants/equivalent.txt)
    if [ -n "$reason" ]; then
      explained=$((explained + 1))
      echo "   survives: $file:$line $change: $text"
      echo "             $reason"
    else
      echo "not ok mutants: $file:$line $change survives, and no reason is listed: $text"
    fi
    ;;
  esac
  made=$((made + 1))
done <"$work/jobs"
share=$(awk -v c=$caught -v m=$((made - explained)) 'BEGIN {printf("%.1f", (m > 0 ? 100 * c / m : 0))}')
verdict="$caught of $made generated mutants caught; $explained survive for a stated reason, as no output can tell them; of the others $share % are caught; $equivalent more compile to the same code"
awk -v s="$share" 'BEGIN {exit !(s >= 95)}' && echo "ok mutants: $verdict" || echo "not ok mutants: $verdict"
[ "$STEP" != 1 ] || [ -n "${ONLY:-}" ] || [ $made -ge 200 ] || echo "not ok mutants: only $made generated mutants"
