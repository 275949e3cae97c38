# SPDX-License-Identifier: Apache-2.0
# Helpers for the scripts of tests/cli: each check prints one line that the runner counts.
# $TAPLAG is the program, $WORK an empty folder that the runner removes; $ROOT the source tree.
set -u
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$WORK" || exit 1
CAPTURES=${TAPLAG_CAPTURES:-/nonexistent} # absolute, from the runner

ok() { echo "ok $*"; }
not_ok() { echo "not ok $*"; }
skip() { echo "skip $*"; }

# until_pid PID COMMAND...: until the command is true (30 s at most), or the process has gone. A signal that is sent by the
# clock alone finds a busy machine's program not yet where it should be.
until_pid() {
  local pid=$1 _
  shift
  for _ in $(seq 600); do
    if "$@" || ! kill -0 "$pid" 2>/dev/null; then return; fi
    sleep 0.05
  done
}
# It catches SIGINT.
catches() { [ $((0x$(awk '/^SigCgt/ {print $2}' "/proc/$1/status" 2>/dev/null || echo 0) & 2)) -ne 0 ]; }
catching() { until_pid "$1" catches "$1"; }
# Its pipeline goes.
delivers() { grep -qs tlg-deliver /proc/"$1"/task/*/comm; }
running() { until_pid "$1" delivers "$1"; }

# expect STATUS TEXT-PATTERN DESCRIPTION -- COMMAND...: runs it; wants that exit status and a line of stderr that
# matches the extended regular expression ("" = any). stdout goes to ./out, stderr to ./err.
expect() {
  local status=$1 pattern=$2 what=$3 got
  shift 4
  "$@" >out 2>err </dev/null
  got=$?
  if [ "$got" -ne "$status" ]; then
    not_ok "$what: exit $got, wanted $status"
    sed 's/^/  err: /' err | head -n 5
  elif [ -n "$pattern" ] && ! grep -qE -- "$pattern" err out; then
    not_ok "$what: nothing matches '$pattern'"
    sed 's/^/  err: /' err | head -n 5
  else
    ok "$what"
  fi
}

# same A B DESCRIPTION: the files are equal, byte for byte.
same() {
  if cmp -s "$1" "$2"; then ok "$3"; else
    not_ok "$3: $1 and $2 differ"
    cmp "$1" "$2" | sed 's/^/  /'
  fi
}

# absent FILE DESCRIPTION: nothing stands under that name, nor a temporary beside it.
absent() {
  if [ -e "$1" ] || ls -A "$(dirname "$1")" | grep -q "$(basename "$1").*part"; then not_ok "$2: $1 or a part of it exists"; else ok "$2"; fi
}

# every_compiler NAME: the same output from a program whatever compiles it. The script defines build PROGRAM COMPILER... ;
# ./reference.txt becomes the output of gcc -O2, and every other build and machine must print the same.
every_compiler() {
  local name=$1 compiler level
  build reference gcc -O2 && ./reference >reference.txt || not_ok "$name: gcc -O2 builds"
  for compiler in gcc clang; do
    command -v $compiler >/dev/null || { skip "$name: $compiler is not installed (apt-get install $compiler)"; continue; }
    for level in -O0 "-O3 -march=native"; do
      # shellcheck disable=SC2086
      if build other $compiler $level; then
        ./other >other.txt
        same reference.txt other.txt "$name: $compiler $level gives the same"
      else not_ok "$name: $compiler $level builds"; fi
    done
  done
  if command -v aarch64-linux-gnu-gcc >/dev/null && command -v qemu-aarch64 >/dev/null; then
    if build other aarch64-linux-gnu-gcc -O2 -static; then
      qemu-aarch64 ./other >other.txt
      same reference.txt other.txt "$name: aarch64 gives the same"
    else not_ok "$name: aarch64 builds"; fi
  else
    skip "$name: no aarch64 here (apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user)"
  fi
}

# json FILE PATH...: the values at these paths ("input.processed", "captures[1].core:sample_start"), one a line, out of
# JSON as the program writes it: one member a line, two blanks of indentation a level.
json() {
  local file=$1 path
  shift
  for path in "$@"; do
    awk -v want="$path" '
      {
        line = $0; depth = match(line, /[^ ]/) - 1; level = depth / 2
        sub(/^ */, "", line); sub(/,$/, "", line)
        name = ""
        if (line ~ /^"[^"]*": /) { name = line; sub(/^"/, "", name); sub(/": .*/, "", name); sub(/^"[^"]*": /, "", line) }
        else if (line ~ /^[]}]/) next
        else if (level > 0) { name = "[" n[level]++ "]" }
        at[level] = name
        if (line == "{" || line == "[") n[level + 1] = 0
        full = ""
        for (i = 1; i <= level; i++) full = full (full == "" || at[i] ~ /^\[/ ? "" : ".") at[i]
        if (full == want) { gsub(/^"|"$/, "", line); print line; exit }
      }' "$file"
  done
}

# is GOT WANTED DESCRIPTION: the texts are equal.
is() { if [ "$1" = "$2" ]; then ok "$3"; else not_ok "$3: '$1', wanted '$2'"; fi; }
