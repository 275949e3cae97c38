# SPDX-License-Identifier: Apache-2.0
# Turns text tap files named taps_UP_DOWN.txt into one C header. Stops when a file's header does not agree with its taps.

function stop(text) {
  print "data.awk: " file ": " text > "/dev/stderr"
  bad = 1
  exit 1
}
function finish() {
  if (file == "") return
  if (count != value["N"]) stop(count " taps, but N=" value["N"])
  printf "\n};\n"
}
BEGIN {
  print "/* Generated from dsp/data by dsp/data.awk. */"
}
FNR == 1 {
  finish()
  file = FILENAME
  count = 0
  parts = split(FILENAME, name, /[_.]/)
  up = name[parts - 2]
  down = name[parts - 1]
  for (i = 2; i <= NF; i++) {
    split($i, pair, "=")
    value[pair[1]] = pair[2]
  }
  if ($1 != "#" || value["L"] != up) stop("the first line must give S, L and N, and L must be that of the name")
  table = table sprintf("    {%d, %d, %d, %d, taps_%d_%d, \"%s\"},\n", up, down, value["S"], value["N"], up, down, value["sha256"])
  printf "static const int16_t taps_%d_%d[%d] = {", up, down, value["N"]
}
/^#/ { next }
{
  printf "%s%d,", count % 20 ? " " : "\n    ", $1
  count++
}
END {
  if (bad) exit 1
  finish()
  printf "static const struct taps_data {\n  uint32_t up, down;\n  unsigned shift;\n  size_t n;\n  const int16_t *h;\n  const char *sha256;\n"
  printf "} taps_data[] = {\n%s};\n", table
}
