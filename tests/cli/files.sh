#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Malformed and unlikely inputs through the program: one clear sentence, the promised status, nothing left behind.
. "$(dirname "$0")/lib.sh"

# refuse STATUS PATTERN DESCRIPTION FILE [OPTION...]: resample refuses FILE with one line (hints apart) and no output.
refuse() {
  local status=$1 pattern=$2 what=$3 file=$4
  shift 4
  expect "$status" "$pattern" "$what" -- timeout 20 "$TAPLAG" resample "$file" --rate 25M "$@" -o never.cs16
  grep -qE "^taplag: resample: " err || not_ok "$what: the message does not name program and command"
  absent never.cs16 "$what: no output is left"
}

"$TAPLAG" synth tone --rate 25M --duration 1ms --freq 1M -o t.cs16 >log 2>&1
"$TAPLAG" synth tone --rate 25M --duration 1ms --freq 1M -o t.sigmf-meta >log 2>&1
"$TAPLAG" resample t.cs16 --rate 25M --to 25M -o t.wav >log 2>&1
"$TAPLAG" resample t.cs16 --rate 25M --to 25M -o t.sigmf >log 2>&1

: >empty.cs16
mkdir folder.cs16
mkfifo pipe.wav pipe.sigmf-meta
refuse 4 "No such file" "no such file" gone.cs16
refuse 4 "folder" "a folder" folder.cs16
refuse 3 "empty" "an empty file" empty.cs16
refuse 4 "pipe" "a FIFO with the name of a WAV" pipe.wav
refuse 4 "regular" "a FIFO with the name of a meta file" pipe.sigmf-meta
refuse 4 "cannot read" "a file that cannot be read" /proc/self/mem --format cs16
for kind in wav flac w64 rf64 au sigmf sigmf-meta; do
  : >e.$kind
  refuse 3 "empty|libsndfile" "an empty .$kind" e.$kind
  head -c 3000 /dev/zero | tr '\0' 'x' >e.$kind
  refuse 3 "" "text in a .$kind" e.$kind
  head -c 3000 /dev/zero >e.$kind
  refuse 3 "" "zeros in a .$kind" e.$kind
done

# Empty input, whatever it is: one rule.
for command in "info" "resample -o never.cs16"; do
  for file in empty.cs16 /dev/null -; do
    # shellcheck disable=SC2086
    expect 3 "empty" "${command%% *}: $file without samples" -- "$TAPLAG" $command $file --format cs16 --rate 25M
  done
done
absent never.cs16 "no output is left of them"

# Outputs that could not be read again are refused; every raw suffix is read as it was written.
for kind in aif aiff caf bw64 mat npy cs16.gz; do
  expect 2 "files are not written; name the output" "no .$kind is written" -- "$TAPLAG" resample t.cs16 --rate 25M -o never.$kind
  absent never.$kind "nothing stands under that name"
done
for format in cu16 cu32 cs24; do
  for kind in cs16 wav sigmf; do
    expect 2 "$format is not a format that can be written; one of cs16" "$format to .$kind" -- "$TAPLAG" resample t.cs16 --rate 25M --out-format $format -o never.$kind
  done
done
for kind in complex16u complex16s complex32s complex c16 iq16 uc8 ci8; do
  "$TAPLAG" resample t.cs16 --rate 25M --to 25M -o k.$kind >log 2>&1
  expect 0 "length +25000 samples" ".$kind is read again as it was written" -- "$TAPLAG" info k.$kind --rate 25M
done

# A length left open, and more than 4 GiB behind it.
head -c 44 t.wav >open.wav
printf '\xff\xff\xff\xff' | dd of=open.wav bs=1 seek=40 conv=notrunc 2>log
if truncate -s 6G open.wav 2>log; then
  printf '\x07\x00\xf9\xff' | dd of=open.wav bs=4 seek=1610612735 conv=notrunc 2>log
  expect 0 "1 processed" "the last sample of 6 GiB of open length" -- "$TAPLAG" resample open.wav --start 1610612724 --to 25M -o last.cs16
  is "$(od -An -td2 last.cs16 | tr -s ' ')" " 7 -7" "and it is the right one"
  expect 0 "length +1610612725 samples" "info counts all of them" -- "$TAPLAG" info open.wav --quick
  rm open.wav
else
  skip "no file of 6 GiB can be made here"
fi

# An archive whose meta file, which comes last, was cut off; a cut data file that has a hash.
head -c 50000 t.sigmf >c.sigmf
refuse 3 "no .sigmf-meta stands before that; its samples can be read by --rescue with --format and --rate" "an archive cut before its meta file" c.sigmf
expect 0 "processed" "with --rescue, --format and --rate" -- "$TAPLAG" resample c.sigmf --rescue --format cs16 --rate 25M --to 25M -o c.cs16
size=$(stat -c %s c.cs16)
head -c "$size" t.cs16 >head.cs16
[ "$size" -gt 40000 ] && same c.cs16 head.cs16 "every sample that is there" || not_ok "only $size bytes were rescued"
cp t.sigmf-meta cut.sigmf-meta
head -c 60000 t.sigmf-data >cut.sigmf-data
refuse 3 "core:sha512.*--rescue" "a cut data file with a hash" cut.sigmf-meta
expect 0 "core:sha512.*cut" "--rescue alone reads it" -- "$TAPLAG" resample cut.sigmf-meta --rescue -o cut.cs16
expect 0 "15000 samples" "info --rescue shows it" -- "$TAPLAG" info cut.sigmf-meta --rescue
expect 0 "sha512 +does not agree" "with its hash" -- "$TAPLAG" info cut.sigmf-meta --rescue
expect 3 "core:sha512" "info alone refuses it" -- "$TAPLAG" info cut.sigmf-meta

# One of a kind.
head -c 4001 t.cs16 >one.cs16
expect 0 "1 byte at the end" "one byte too many" -- "$TAPLAG" info one.cs16
expect 0 "and 1 byte that makes no sample" "one byte too many, in the table" -- "$TAPLAG" info one.cs16
head -c 4 t.cs16 >one.cs16
expect 0 "length +1 sample$" "one sample" -- "$TAPLAG" info one.cs16

# Wrong JSON: the line is named.
meta() { # TEXT-OF-GLOBAL CAPTURES
  printf '{\n"global": {\n%s\n},\n"captures": [\n%s\n]\n}\n' "$1" "$2" >bad.sigmf-meta
}
cp t.sigmf-data bad.sigmf-data
zero='{"core:sample_start": 0}'
meta '"core:datatype": "ri16_le"' "$zero"
refuse 3 'bad.sigmf-meta:3: .*real samples' "real samples" bad.sigmf-meta
meta '"core:datatype": "ci16_le",' "$zero"
refuse 3 'bad.sigmf-meta:4: .*not valid JSON' "a comma too many" bad.sigmf-meta
meta '"core:datatype": "ci16_le"' '{"core:sample_start": -1}'
refuse 3 'bad.sigmf-meta:6: .*whole number' "a negative sample_start" bad.sigmf-meta
meta '"core:datatype": "ci16_le", "core:dataset": "../../etc/passwd"' "$zero"
refuse 3 'bad.sigmf-meta:3: .*same folder' "a dataset outside of the folder" bad.sigmf-meta
meta '"core:datatype": "ci16_le", "core:sample_rate": "25M"' "$zero"
expect 3 'bad.sigmf-meta:3: .*core:sample_rate' "a rate in words" -- "$TAPLAG" resample bad.sigmf-meta -o never.cs16
meta '"core:datatype": "ci16_le", "core:num_channels": 4' "$zero"
refuse 2 '4 channels.*--channel' "several channels" bad.sigmf-meta
expect 0 "6250 processed" "one of them" -- "$TAPLAG" resample bad.sigmf-meta --rate 25M --channel 2 -o ch.cs16
refuse 2 "channel" "one too many" bad.sigmf-meta --channel 5
rm bad.sigmf-data
meta '"core:datatype": "ci16_le"' "$zero"
refuse 4 'bad.sigmf-data: .*No such file' "the data file is missing" bad.sigmf-meta
refuse 4 'alone.sigmf-meta: .*No such file' "the meta file is missing" alone.sigmf-data
cp t.sigmf-data alone.sigmf-data
refuse 4 'alone.sigmf-meta: .*No such file' "the meta file is missing beside the data" alone.sigmf-data

# BW64, mono, a wrong type by option.
(printf 'BW64\xff\xff\xff\xffWAVEds64\x1c\0\0\0'; head -c 8 /dev/zero; printf '\xa0\x86\x01\0\0\0\0\0'; head -c 12 /dev/zero
  head -c 36 t.wav | tail -c +13; printf 'data\xff\xff\xff\xff'; cat t.cs16) >b.bw64
refuse 3 "BW64.*RF64" "BW64" b.bw64
expect 0 "25000 processed" "BW64 with --rescue" -- "$TAPLAG" resample b.bw64 --rescue --to 25M -o bw.cs16
same bw.cs16 t.cs16 "BW64 with --rescue: every sample"
(head -c 22 t.wav; printf '\x01\x00'; tail -c +25 t.wav) >mono.wav
refuse 3 "one channel.*real" "a mono WAV" mono.wav
expect 0 "header says cs16, but --format cs8 wins" "--format wins over a WAV header" -- "$TAPLAG" resample t.wav --format cs8 --to 25M -o w8.cs16

# Warnings of a wrong label (SigMF#114: whole numbers read as float).
"$TAPLAG" synth noise --rate 25M --duration 1ms --level -12 -o noise.cs16 >log 2>&1
expect 0 "not plausible for cf32" "whole numbers as float" -- "$TAPLAG" info noise.cs16 --format cf32
"$TAPLAG" resample noise.cs16 --rate 25M --to 25M -o noise.cf32 >log 2>&1
expect 0 "look like cf32" "floats as whole numbers" -- "$TAPLAG" info noise.cf32 --format cs16
expect 0 "look like cf32" "floats as doubles" -- "$TAPLAG" info noise.cf32 --format cf64
"$TAPLAG" info noise.cf32 >out 2>err
grep -q "look" err && not_ok "a right label is not doubted" || ok "a right label is not doubted"

# Cut at every 512 bytes of header and data, and a few hundred random changes: never a crash, never silent.
for kind in wav sigmf; do
  size=$(stat -c %s t.$kind) bad=0
  for at in 1 3 4 11 12 20 36 43 44 45 100 511 512 513 5000 50000 99999 $((size - 1500)); do
    head -c $at t.$kind >cut.$kind
    timeout 20 "$TAPLAG" info cut.$kind >out 2>err
    status=$?
    { [ $status -eq 3 ] || { [ $status -eq 0 ] && grep -qE "header +.*(ends|cut|states)|damaged" out err; }; } || {
      bad=$((bad + 1))
      echo "  cut at $at: status $status"
      cat err
    }
  done
  is $bad 0 ".$kind cut at many places: refused or told"
done
bad=0
for seed in $(seq 1 60); do
  kind=$(printf 'wav\nsigmf\nsigmf-meta\n' | sed -n $((seed % 3 + 1))p)
  cp t.$kind m.$kind
  cp t.sigmf-data m.sigmf-data
  for k in 1 2 3; do
    at=$(((seed * 7919 + k * 104729) % 600)) byte=$(((seed * 31 + k * 17) % 256))
    printf "\\x$(printf %02x $byte)" | dd of=m.$kind bs=1 seek=$at conv=notrunc 2>log
  done
  timeout 20 "$TAPLAG" resample m.$kind --rate 25M -o m.cs16 --force >out 2>err
  status=$?
  case $status in 0 | 2 | 3 | 4) ;; *) bad=$((bad + 1)) && echo "  seed $seed, $kind: status $status" ;; esac
  [ $status -eq 0 ] || [ -s err ] || bad=$((bad + 1))
done
is $bad 0 "60 files with changed bytes: a status of the list, and a sentence"
