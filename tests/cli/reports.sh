#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# docs/reports.md is what its script makes of the scenarios.
. "$(dirname "$0")/lib.sh"

if ! command -v python3 >/dev/null; then
  skip "reports: no python3 (apt-get install python3)"
  exit 0
fi
python3 "$ROOT/docs/reports.py" "$TAPLAG" >reports.md 2>err || { not_ok "reports: the script runs"; tail -n 3 err | sed 's/^/  /'; exit 0; }
same "$ROOT/docs/reports.md" reports.md "docs/reports.md is up to date (docs/reports.py build/taplag > docs/reports.md)"
for want in '| 26.00 |' '| 56 |' '| 78 |' '138,305/s'; do
  grep -qF "$want" reports.md && ok "reports: $want" || not_ok "reports: $want"
done
