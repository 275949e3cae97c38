#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# taplag filter: the built-in taps, designs, files there and back, refusals; and every figure of docs/filters.md.
. "$(dirname "$0")/lib.sh"

is() { # WHAT PATTERN FILE
  if grep -qE -- "$2" "$3"; then ok "$1"; else
    not_ok "$1: no line matches '$2'"
    sed 's/^/  /' "$3" | head -n 30
  fi
}

expect 0 "all 768 sum to exactly 2\^14" "filter: the default" -- "$TAPLAG" filter
cp out report
is "filter: the common factor is shown" '30720000/25000000, common factor 40000' report
is "filter: length" 'N = 12287, T = 16 a phase, S = 14, symmetric' report
is "filter: delay in inputs" '^delay +6143/768 = 7.998698 inputs' report
is "filter: delay in outputs" '6143/625 = 9.828800 outputs' report
is "filter: delay in microseconds" '6143/19200 = 0.319948 us' report
is "filter: delay in timing-advance steps" '6143/10000 = 0.614300 LTE timing-advance steps' report
is "filter: samples to advance" 'advance by 10 outputs to take it out; -0.171200' report
is "filter: overflow margin" 'of 65535 allowed' report
is "filter: saturation" 'can saturate' report
hash=$(awk '$1 == "sha256" {print $2}' report)
head -n 1 "$ROOT/dsp/data/taps_768_625.txt" | grep -q "sha256=$hash" && ok "filter: the hash is that of the data in the tree" ||
  not_ok "filter: the hash is that of the data in the tree"

# The data in the tree is what the design gives, and comes back through either form.
expect 0 "" "filter: redesign 768/625" -- "$TAPLAG" filter --redesign -o again.txt
same again.txt "$ROOT/dsp/data/taps_768_625.txt" "filter: the design gives the data in the tree"
expect 0 "" "filter: redesign 625/768" -- "$TAPLAG" filter --rate 30.72M --out-rate 25M --redesign -o back.txt
same back.txt "$ROOT/dsp/data/taps_625_768.txt" "filter: and for transmit"
expect 0 "" "filter: export as JSON" -- "$TAPLAG" filter -o taps.json
expect 0 "file taps.json" "filter: JSON is read" -- "$TAPLAG" filter --filter taps.json -o copy.txt
same copy.txt again.txt "filter: text and JSON hold the same taps"
"$TAPLAG" filter -o - >stdout.txt 2>err
same stdout.txt again.txt "filter: taps on stdout"
is "filter: then the report goes to stderr" '^sha256' err
"$TAPLAG" filter --filter - <again.txt >out 2>err && is "filter: taps from stdin" "$hash" out

expect 2 "exists" "filter: an existing file is kept" -- "$TAPLAG" filter -o again.txt
expect 0 "" "filter: --force" -- "$TAPLAG" filter -o again.txt --force
expect 4 "" "filter: no such folder" -- "$TAPLAG" filter -o nowhere/taps.txt
expect 5 "not built in" "filter: a form that is not built in" -- "$TAPLAG" filter -o taps.coe
absent taps.coe "filter: nothing is left of it"
if [ -w /dev/full ]; then expect 4 "" "filter: a full disk" -- "$TAPLAG" filter -o /dev/full; fi

expect 0 '"schema": "taplag/filter/1"' "filter: --json" -- "$TAPLAG" filter --json
cp out one.json
expect 0 "" "filter: --json again" -- "$TAPLAG" filter --json
same out one.json "filter: JSON is repeatable"
is "filter: JSON has the phases" '"exact": true' one.json

expect 0 "nothing is left" "filter: --align with odd N" -- "$TAPLAG" filter --align
expect 0 "with --align +1/1250 = 0.000800 outputs" "filter: --align with even N" -- "$TAPLAG" filter --n-taps 10000 --align
expect 0 "9999/1250 = 7.999200 outputs" "filter: usrpL0's 10,000 taps delay 7.9992 outputs" -- "$TAPLAG" filter --n-taps 10000
expect 0 " 8 outputs" "filter: 10,001 taps delay exactly 8" -- "$TAPLAG" filter --n-taps 10001
expect 0 "N = 1, T = 1" "filter: 1/1" -- "$TAPLAG" filter --out-rate 25M
expect 0 "N = 12287" "filter: the same ratio written otherwise" -- "$TAPLAG" filter --rate 1250 --out-rate 1536

expect 0 "" "filter: response" -- "$TAPLAG" filter --response r.csv
is "filter: the response begins with 0 dB" '^0.000000,0.000$' r.csv
awk -F, 'NR > 1 && $1 <= 9.0075 && ($2 > 0.006 || $2 < -0.006) {bad = 1} NR > 1 && $1 >= 15.9925 && $1 <= 34 && $2 > -70 {bad = 1}
  END {exit bad || NR < 500}' r.csv && ok "filter: the response keeps the mask" || not_ok "filter: the response keeps the mask"

if command -v gnuplot >/dev/null; then
  expect 0 "" "filter: --plot" -- "$TAPLAG" filter --plot r.svg
  is "filter: the plot is SVG" '<svg' r.svg
  expect 2 "" "filter: --plot of another kind" -- "$TAPLAG" filter --plot r.xyz
else
  skip "filter: gnuplot is not installed, so --plot is not tried (apt-get install gnuplot-nox)"
fi

# Refusals.
printf '# S=14 L=768 N=3\n32767\n1\n2\n' >few.txt
expect 0 "not all 2\^14" "filter: phases of unequal gain are told" -- "$TAPLAG" filter --filter few.txt
printf '# S=14 L=1 N=3\n32767\n32767\n2\n' >over.txt
expect 3 "filter: over.txt: .*phase 0 sum to 65536" "filter: taps that could overflow" -- "$TAPLAG" filter --filter over.txt --out-rate 25M
printf '# S=14 L=1 N=2\n1\nx\n' >bad.txt
expect 3 "filter: bad.txt:3: 'x' is no integer" "filter: a malformed file, with its line" -- "$TAPLAG" filter --filter bad.txt
sed '100s/.*/12345/' again.txt >changed.txt
expect 3 "changed or damaged" "filter: a changed file" -- "$TAPLAG" filter --filter changed.txt
expect 3 "L = 768, but the rates have 8/5" "filter: taps for another ratio" -- "$TAPLAG" filter --filter again.txt --rate 19.2M
expect 4 "No such file" "filter: a missing file" -- "$TAPLAG" filter --filter missing.txt
expect 2 "brings its own taps" "filter: a file and a design" -- "$TAPLAG" filter --filter again.txt --taps 16
expect 2 "kaiser, equiripple" "filter: unknown method" -- "$TAPLAG" filter --method best
expect 2 "does not use --stop-weight" "filter: an option of another method" -- "$TAPLAG" filter --taps 16 --stop-weight 2
expect 2 "above 65535" "filter: a ratio too fine" -- "$TAPLAG" filter --out-rate 25000001
expect 2 "half of the smaller rate" "filter: a band too wide" -- "$TAPLAG" filter --pass 12.5M
expect 2 "" "filter: no taps" -- "$TAPLAG" filter --n-taps 0
expect 2 "" "filter: shift" -- "$TAPLAG" filter --shift 16
expect 3 "smaller shift" "filter: 1/1 with S = 15 does not fit" -- "$TAPLAG" filter --out-rate 25M --shift 15
expect 2 "" "filter: arguments" -- "$TAPLAG" filter something

# The table of docs/filters.md: each figure again.
rows=0
while IFS='|' read -r _ options n worst all ripple error alias _; do
  options=$(tr -d '`' <<<"$options" | sed -E 's/\(.*\)//')
  # shellcheck disable=SC2086
  got=$("$TAPLAG" filter $options | awk '/^taps/ {n = $4} /^worst image/ {w = $3} /^all images/ {a = $3} /^ripple/ {r = $2}
    /^in-band/ {e = $6} /^worst alias/ {l = $3} END {sub(",", "", n); print n, w, a, r, e, l}')
  want=$(echo $n $worst $all $ripple $error $alias)
  rows=$((rows + 1))
  [ "$got" = "$want" ] && ok "docs/filters.md:$options" || not_ok "docs/filters.md:$options: $got, but the table says $want"
done < <(grep '^| `' "$ROOT/docs/filters.md" | grep -v 'worst image')
[ "$rows" -ge 20 ] && ok "docs/filters.md has its table" || not_ok "docs/filters.md has its table: $rows rows"
