#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages named as arguments that are missing; says how where it cannot.
set -u
missing=()
command -v dpkg-query >/dev/null || {
  echo "taplag: not a Debian system: install the equivalents of: $*"
  exit 0
}
for p in "$@"; do
  dpkg-query -W -f='${Status}\n' "$p" 2>/dev/null | grep -q 'ok installed' || missing+=("$p")
done
[ ${#missing[@]} -eq 0 ] && exit 0
sudo=
if [ "$(id -u)" -ne 0 ]; then
  if command -v sudo >/dev/null; then sudo=sudo; else
    echo "taplag: missing: ${missing[*]}. As root: apt-get install ${missing[*]}"
    exit 1
  fi
fi
echo "taplag: installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
if ! { $sudo apt-get update -qq && $sudo apt-get install -y -qq --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
  tail -n 20 "$log"
  echo "taplag: apt-get could not install: ${missing[*]}"
  rm -f "$log"
  exit 1
fi
rm -f "$log"
