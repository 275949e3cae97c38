#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Interruption, full disks, closed pipes, read-only targets: the promised status, and no half file under a final name.
. "$(dirname "$0")/lib.sh"

"$TAPLAG" synth tone --rate 25M --duration 100ms --freq 1M -o a.cs16 >log 2>&1
"$TAPLAG" resample a.cs16 --rate 25M -o whole.cs16 >log 2>&1

# nothing_but FOLDER NAMES DESCRIPTION: exactly these files are there.
nothing_but() { is "$(ls -A "$1" | tr '\n' ' ')" "$2" "$3"; }

# Ctrl-C and TERM while input still comes: what came is drained, the file is complete, the summary is printed.
# The pipe is held open by this shell, so the program waits for more when the signal comes.
interrupt() { # SIGNAL STATUS OPTIONS...
  local signal=$1 want=$2 status
  shift 2
  rm -f in.fifo part.cs16
  mkfifo in.fifo
  "$TAPLAG" resample in.fifo --format cs16 --rate 25M -o part.cs16 "$@" >out 2>err &
  local pid=$!
  exec 5>in.fifo
  head -c 2500000 a.cs16 >&5
  for _ in $(seq 100); do # until the program has taken all of it
    sleep 0.05
    [ "$(awk '/^rchar/ {print $2}' /proc/$pid/io 2>/dev/null || echo 0)" -ge 2500000 ] && break
  done
  sleep 0.1
  [ -e part.cs16 ] && not_ok "$signal: the file is there before it is whole"
  kill -s "$signal" $pid
  wait $pid
  status=$?
  exec 5>&-
  is $status "$want" "$signal: exit status"
}
interrupt INT 130
is "$(stat -c %s part.cs16)" 3072000 "INT: a complete file of what had come (625,000 inputs, 768,000 outputs)"
head -c 3072000 whole.cs16 >want.cs16
same part.cs16 want.cs16 "INT: the right samples"
grep -q "625000 processed" out && ok "INT: the summary is printed" || not_ok "INT: no summary"
interrupt TERM 143 --json
is "$(json out output.written interrupted | tr '\n' ' ')" "768000 true " "TERM: the summary in JSON says so"
ls -A | grep -q part- && not_ok "a temporary is left" || ok "no temporary is left"

# A full device, a closed pipe.
expect 4 "No space left" "/dev/full" -- "$TAPLAG" resample a.cs16 --rate 25M -o /dev/full
expect 0 "" "/dev/null" -- "$TAPLAG" resample a.cs16 --rate 25M -o /dev/null
[ -c /dev/null ] && ok "/dev/null is still a device" || not_ok "/dev/null was replaced"
"$TAPLAG" resample a.cs16 --rate 25M -o - 2>err | head -c 1000 >head.cs16
is "${PIPESTATUS[0]}" 4 "a closed pipe: exit status 4"
grep -q "closed the pipe" err && ok "a closed pipe: said" || not_ok "a closed pipe: not said"
head -c 1000 whole.cs16 >want.cs16
same head.cs16 want.cs16 "a closed pipe: what was read is right"
"$TAPLAG" resample a.cs16 --rate 25M -o - >/dev/full 2>err
is $? 4 "stdout on a full device"
"$TAPLAG" info a.cs16 --rate 25M >/dev/full 2>err
is $? 4 "results on a full device"
"$TAPLAG" resample a.cs16 --rate 25M -o - 2>/dev/full | cmp - whole.cs16 >log && ok "a full stderr does not hurt the samples" || not_ok "a full stderr hurts the samples"

# A limit on the size of files (SIGXFSZ).
mkdir limited
for name in l.cs16 l.wav l.sigmf l.sigmf-meta l.rf64; do
  (ulimit -f 1000; exec "$TAPLAG" resample a.cs16 --rate 25M -o limited/$name) >out 2>err
  is $? 4 "size limit, $name: exit status 4"
  grep -q "File too large" err || not_ok "size limit, $name: the cause is not said"
  nothing_but limited "" "size limit, $name: nothing is left"
done

# A small and a read-only file system.
mkdir small
if mount -t tmpfs -o size=4m none small 2>log; then
  echo old >small/kept.cs16
  expect 4 "No space left" "full disk" -- "$TAPLAG" resample a.cs16 --rate 25M -o small/f.cs16
  nothing_but small "kept.cs16 " "full disk: nothing is left"
  expect 4 "No space left" "full disk, WAV" -- "$TAPLAG" resample a.cs16 --rate 25M -o small/f.wav
  expect 4 "No space left" "full disk, SigMF" -- "$TAPLAG" resample a.cs16 --rate 25M -o small/f.sigmf-meta
  expect 4 "No space left" "full disk, --force" -- "$TAPLAG" resample a.cs16 --rate 25M -o small/kept.cs16 --force
  is "$(cat small/kept.cs16)" old "full disk, --force: the old file stays"
  nothing_but small "kept.cs16 " "full disk: still nothing is left"
  mount -o remount,ro small
  expect 4 "Read-only" "read-only target" -- "$TAPLAG" resample a.cs16 --rate 25M -o small/r.cs16
  umount small
else
  skip "no tmpfs can be mounted here: full disk and read-only target (the same through /dev/full and ulimit -f above)"
fi
expect 4 "cannot create" "a target where nothing can be made" -- "$TAPLAG" resample a.cs16 --rate 25M -o /proc/x.cs16
expect 4 "No such file" "a target in no folder" -- "$TAPLAG" resample a.cs16 --rate 25M -o nowhere/x.cs16
expect 4 "folder" "a folder as target" -- "$TAPLAG" resample a.cs16 --rate 25M -o limited

# Existing files are kept, their links too; a recording is not replaced by what is made of it.
expect 2 "exists; --force" "an existing output" -- "$TAPLAG" resample a.cs16 --rate 25M -o whole.cs16
ln -s whole.cs16 link.cs16
expect 0 "" "--force through a link" -- "$TAPLAG" resample a.cs16 --rate 25M -o link.cs16 --force
[ -L link.cs16 ] && ok "the link stays a link" || not_ok "the link was replaced"
cp a.cs16 both.cs16
expect 2 "which is read" "input and output are the same file" -- "$TAPLAG" resample both.cs16 --rate 25M -o both.cs16 --force
same both.cs16 a.cs16 "input and output are the same file: it stays as it was"

# Killed outright: nothing is left either, where the file system has nameless files.
rm -f in.fifo
mkfifo in.fifo
mkdir killed
"$TAPLAG" resample in.fifo --format cs16 --rate 25M -o killed/k.cs16 >out 2>err &
pid=$!
exec 5>in.fifo
head -c 100000 a.cs16 >&5
sleep 0.2
kill -KILL $pid
wait $pid 2>log
exec 5>&-
[ -e killed/k.cs16 ] && not_ok "killed: a half file" || ok "killed: no half file"

# Where the file system has no nameless files, a named temporary stands beside the target and goes.
if command -v gcc >/dev/null && ! ldd "$TAPLAG" | grep -q asan; then
  cat >nameless.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
int open(const char *path, int flags, ...)
{
  int (*real)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
  va_list ap;
  int mode;
  va_start(ap, flags);
  mode = va_arg(ap, int);
  va_end(ap);
  if ((flags & O_TMPFILE) == O_TMPFILE) {
    errno = EOPNOTSUPP;
    return -1;
  }
  return real(path, flags, mode);
}
int open64(const char *path, int flags, ...) __attribute__((alias("open")));
END
  gcc -shared -fPIC -o nameless.so nameless.c -ldl 2>log
  mkdir named
  expect 0 "" "named temporaries" -- env LD_PRELOAD=./nameless.so "$TAPLAG" resample a.cs16 --rate 25M -o named/n.cs16
  same named/n.cs16 whole.cs16 "named temporaries: the file"
  expect 0 "" "named temporaries, --force" -- env LD_PRELOAD=./nameless.so "$TAPLAG" resample a.cs16 --rate 25M -o named/n.cs16 --force
  (ulimit -f 1000; LD_PRELOAD=./nameless.so exec "$TAPLAG" resample a.cs16 --rate 25M -o named/l.cs16) >out 2>err
  is $? 4 "named temporaries: a write that fails"
  nothing_but named "n.cs16 " "named temporaries: none is left"
else
  skip "named temporaries: needs gcc, and a program without AddressSanitizer"
fi
