/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: what file names and times of captures tell. */
#include "fuzz/reader_bytes.h"
#include "reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  char *text = malloc(size + 1), again[40];
  struct tlg_datetime t, u;
  struct tlg_rate rate;
  double frequency;

  if (!text) {
    abort();
  }
  memcpy(text, data, size);
  text[size] = '\0';
  tlg_name_hints(text, &rate, &frequency);
  if ((rate.num == 0) != (rate.den == 0)) {
    __builtin_trap();
  }
  if (tlg_datetime_parse(text, &t) == TLG_OK) {
    tlg_datetime_text(&t, 0, again);
    if (tlg_datetime_parse(again, &u) != TLG_OK || u.seconds != t.seconds || u.picoseconds != t.picoseconds) {
      __builtin_trap();
    }
  }
  free(text);
  return 0;
}
