#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs every cmocka program of $B/tests and every script of tests/cli, adds up, and ends with "N passed, N failed, N skipped".
# A script prints lines "ok TEXT", "not ok TEXT" or "skip TEXT". With arguments: only those whose name contains one of them.
# EXCEPT="a b" leaves out those whose name contains one of these words.
set -u
B=${B:-build} STRICT=${STRICT:-0}
passed=0 failed=0 skipped=0 left_out= failures=
logs=$B/test-logs
mkdir -p "$logs"
TAPLAG_CAPTURES=$(realpath -m "${TAPLAG_CAPTURES:-../shared/captures}")
export TAPLAG_CAPTURES
export TAPLAG=${TAPLAG:-$(cd "$B" && pwd)/taplag}

wanted() { # NAME PATTERN...
  local name=$1 p
  shift
  for p in ${EXCEPT:-}; do case $name in *"$p"*)
    left_out="$left_out $name"
    return 1
    ;;
  esac done
  [ $# -eq 0 ] && return 0
  for p in "$@"; do case $name in *"$p"*) return 0 ;; esac; done
  return 1
}

count() { # NAME STATUS PASSED FAILED SKIPPED LOG
  local bad=$4
  if [ "$2" -ne 0 ] && [ "$bad" -eq 0 ]; then
    bad=1
    echo "not ok $1 ended with status $2"
  fi
  if [ "$3" -eq 0 ] && [ "$bad" -eq 0 ] && [ "$5" -eq 0 ]; then
    bad=1
    echo "not ok $1 ran no test"
  fi
  passed=$((passed + $3)) failed=$((failed + bad)) skipped=$((skipped + $5))
  if [ "$bad" -gt 0 ]; then
    printf 'FAIL %-28s %4d passed, %d failed, %d skipped\n' "$1" "$3" "$bad" "$5"
    local why
    why=$(grep -E -A 3 '^not ok |^\[  (FAILED|ERROR )  *\]|ERROR: |SUMMARY: |runtime error: ' "$6" | grep -Ev '^(ok |--$)' | head -n 60)
    [ -n "$why" ] || why=$(tail -n 40 "$6")
    echo "$why" | sed 's/^/    /'
    failures=$failures"FAIL $1
$(echo "$why" | head -n 12 | sed 's/^/    /')
"
  else
    printf 'ok   %-28s %4d passed' "$1" "$3"
    [ "$5" -gt 0 ] && printf ', %d skipped' "$5"
    printf '\n'
    grep -E '^(\[  SKIPPED \]|skip )' "$6" | grep -v 'test(s)' | sort -u | sed 's/^\[  SKIPPED \]/skip/; s/^/    /'
  fi
}

for bin in "$B"/tests/test_* "$B"/tests/check_*; do
  [ -x "$bin" ] && [ -f "$bin" ] || continue
  case $bin in *.d) continue ;; esac
  name=$(basename "$bin")
  [ -f "tests/$name.c" ] || continue
  wanted "$name" "$@" || continue
  log=$logs/$name.log
  timeout "${TEST_TIMEOUT:-900}" "$bin" >"$log" 2>&1 </dev/null
  status=$?
  p=$(grep -c '^\[       OK \]' "$log")
  f=$(grep -E '^\[  (FAILED|ERROR ) +\]' "$log" | grep -vc 'test(s)')
  s=$(grep '^\[  SKIPPED \]' "$log" | grep -v 'test(s)' | sort -u | wc -l)
  [ "$f" -gt 0 ] && f=$(grep -E '^\[  FAILED  \]' "$log" | grep -v 'test(s)' | sort -u | wc -l)
  [ "$f" -eq 0 ] || [ "$status" -ne 0 ] || status=1
  count "$name" "$status" "$p" "$f" "$s" "$log"
done

for script in tests/cli/*.sh; do
  [ -f "$script" ] || continue
  name=cli/$(basename "$script" .sh)
  [ "$name" = cli/lib ] && continue
  wanted "$name" "$@" || continue
  log=$logs/cli-$(basename "$script" .sh).log
  work=$(mktemp -d)
  WORK=$work timeout "${TEST_TIMEOUT:-900}" bash "$script" >"$log" 2>&1 </dev/null
  status=$?
  rm -rf "$work"
  count "$name" "$status" "$(grep -c '^ok ' "$log")" "$(grep -c '^not ok ' "$log")" "$(grep -c '^skip ' "$log")" "$log"
done

[ -n "$left_out" ] && echo "left out (EXCEPT):$left_out"
[ -n "$failures" ] && printf 'what failed, and the beginning of why:\n%s' "$failures"
[ "$STRICT" = 1 ] && [ "$skipped" -gt 0 ] && {
  echo "STRICT=1: $skipped skipped count as failed"
  failed=$((failed + skipped)) skipped=0
}
if [ "$skipped" -gt 0 ]; then
  echo "$passed passed, $failed failed, $skipped skipped"
else
  echo "$passed passed, $failed failed"
fi
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
