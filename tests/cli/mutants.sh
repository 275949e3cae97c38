# SPDX-License-Identifier: Apache-2.0
# Faults in the resampler against the golden vectors: all hand-made ones, and a sample of the generated ones ("make
# check-mutants" runs them all).
. "$(dirname "$0")/lib.sh"
B=$(dirname "$TAPLAG")
if nm "$TAPLAG" 2>/dev/null | grep -qE '__(asan|ubsan|tsan)_'; then
  skip "mutants: built with a sanitizer; the plain build runs them"
  exit 0
fi
B=$B STEP=${MUTANT_STEP:-17} WORK=$WORK "$ROOT/tests/mutants.sh"
