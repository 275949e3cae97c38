# SPDX-License-Identifier: Apache-2.0
# A plug-in that ignores a rule of the radio's interface must fail the scenario of that rule: each fault of tests/mutants/uhd.txt
# in a copy of the sources, built against the stand-in.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/uhd_scenarios.sh"
B=$(dirname "$TAPLAG")
if nm "$TAPLAG" 2>/dev/null | grep -qE '__(asan|ubsan|tsan)_'; then
  skip "uhd_mutants: built with a sanitizer; the plain build runs them"
  exit 0
fi
command -v gcc >/dev/null || {
  skip "uhd_mutants: no gcc"
  exit 0
}
gcc -O1 -w "$ROOT/tests/mutate.c" -o mutate || exit 1
mkdir -p tree/tests/mutants plain
cp -r "$ROOT/replay" "$ROOT/dsp" "$ROOT/sim" tree/ && cp "$ROOT/tests/mutants/uhd.txt" tree/tests/mutants/ || exit 1
FLAGS="-std=c11 -D_GNU_SOURCE -O1 -g0 -w -fPIC -fvisibility=hidden -I$ROOT/tests/uhd_standin -Idsp -Isim -Ireplay -Ireplay/files -Ireplay/uhd"
(cd tree && for f in replay/uhd/*.c; do gcc $FLAGS -c "$f" -o "../plain/$(basename "$f" .c).o" || exit 1; done
  gcc $FLAGS -c "$ROOT/tests/uhd_standin/uhd_standin.c" -o ../plain/uhd_standin.o) || { not_ok "uhd_mutants: the sources do not build"; exit 1; }
link() { gcc -shared -Wl,--exclude-libs,ALL -o "$1/taplag-uhd.so" "$1"/*.o "$B/libtaplag.a" -lm; } # FOLDER

uhd_signals
export UHD_TIMEOUT=20 # a fault may hang
mkdir control && cp plain/*.o control/ && link control
PLUGIN=$WORK/control NAME=overflow
s_overflow >out.control 2>&1
grep -q '^not ok' out.control && not_ok "control: $(grep -m1 '^not ok' out.control)" || ok "the unchanged plug-in passes its scenarios"

n=0
while read -r name file; do
  n=$((n + 1))
  scenario=${name%%:*}
  rm -rf fault && mkdir fault && cp plain/*.o fault/
  if ! (cd tree && ../mutate apply tests/mutants/uhd.txt "$name" >../fault.c 2>../fault.err); then
    not_ok "$name: $(cat fault.err)"
    continue
  fi
  case $file in
  *.h) # every file that includes it
    cp "tree/$file" kept.h && cp fault.c "tree/$file"
    (cd tree && for f in replay/uhd/*.c; do gcc $FLAGS -c "$f" -o "../fault/$(basename "$f" .c).o" 2>>../fault.err; done)
    cp kept.h "tree/$file"
    ;;
  *) (cd tree && cp ../fault.c replay/uhd/fault.c && gcc $FLAGS -c replay/uhd/fault.c -o "../fault/$(basename "$file" .c).o" 2>../fault.err || echo broken >../fault/broken; rm replay/uhd/fault.c) ;;
  esac
  if [ -e fault/broken ] || ! link fault 2>fault.err; then
    not_ok "$name: does not build: $(grep -m1 error fault.err)"
    continue
  fi
  PLUGIN=$WORK/fault NAME=$scenario
  s_"$scenario" >out.fault 2>&1
  if grep -q '^not ok' out.fault; then ok "$name fails"; else not_ok "$name passes its scenario"; fi
done < <(./mutate names tree/tests/mutants/uhd.txt | grep -E "${UHD_MUTANTS:-.}")
[ -n "${UHD_MUTANTS:-}" ] || [ $n -ge 30 ] || not_ok "only $n faults"
