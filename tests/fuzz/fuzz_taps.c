/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: tap files, text and JSON, from bytes. */
#include "tlg_files.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct tlg_taps taps, again;
  struct tlg_error err;
  char *text;

  memset(&err, 0, sizeof err);
  if (tlg_taps_parse(&taps, (const char *)data, size, &err)) {
    if (!err.text[0] || err.status >= 0) { /* a refusal says why */
      __builtin_trap();
    }
    return 0;
  }
  /* What was accepted is safe, and comes back from its own text. */
  text = tlg_taps_text(&taps);
  if (tlg_taps_check(&taps, NULL) || !text || tlg_taps_parse(&again, text, strlen(text), &err)) {
    __builtin_trap();
  }
  if (again.n != taps.n || again.up != taps.up || again.shift != taps.shift ||
      memcmp(again.h, taps.h, taps.n * sizeof *taps.h) != 0) {
    __builtin_trap();
  }
  tlg_taps_free(&again);
  tlg_taps_free(&taps);
  free(text);
  return 0;
}
