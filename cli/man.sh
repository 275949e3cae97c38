#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Writes the manual page taplag(1) from the program's own help texts: cli/man.sh build/taplag > taplag.1
set -eu
program=$1
escape() { sed -e 's/\\/\\e/g' -e 's/-/\\-/g' -e "s/^\([.']\)/\\\\\&\1/"; }
version=$("$program" --version | awk '{print $2}')
commands=$("$program" --help | awk '/^Commands:/ {on = 1; next} on && /^$/ {exit} on {print $1}')

printf '.TH TAPLAG 1 "" "taplag %s" "User Commands"\n' "$version"
printf '.SH NAME\ntaplag \\- replay IQ through a radio front end, prove the samples right, see where the microseconds go\n'
printf '.SH SYNOPSIS\n.B taplag\n.I COMMAND\n[options] [arguments]\n'
printf '.SH DESCRIPTION\n.nf\n'
"$program" --help | tail -n +3 | escape
printf '.fi\n'
for c in $commands; do
  printf '.SH %s\n.nf\n' "$(echo "taplag $c" | tr a-z A-Z)"
  "$program" "$c" --help | escape
  printf '.fi\n'
done
printf '.SH EXIT STATUS\n.nf\n'
printf '0 done\n1 a check failed\n2 usage\n3 bad input\n4 system error\n5 not built in, or not available here\n130 interrupted after draining\n143 terminated after draining\n.fi\n'
printf '.SH SEE ALSO\nREADME.md and docs/ of the source tree.\n'
