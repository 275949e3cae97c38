/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: SigMF meta files, laid over a data file of 4099 bytes. */
#include "fuzz/reader_bytes.h"
#include "sigmf.h"

#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static const uint8_t samples[4099] = {1, 2, 3};
  struct tlg_reader *r = calloc(1, sizeof *r);
  struct tlg_error err = {0};
  struct sigmf_meta meta;
  uint64_t n = 0;
  size_t i;

  if (!r) {
    abort();
  }
  r->cfg.rescue = size % 2 == 1;
  r->info.frequency_hz = NAN;
  if (tlg_sigmf_parse(&meta, r, (const char *)data, size, &err)) {
    if (!err.text[0] || err.status >= 0 || strchr(err.text, '\n')) {
      __builtin_trap();
    }
  } else {
    if (tlg_sigmf_use(r, &meta, "name", bytes_fd(samples, sizeof samples), 0, sizeof samples, &err) == TLG_OK) {
      for (i = 0; i < r->n_captures; i++) {
        n += r->captures[i].n;
      }
      if (n == 0 || n * tlg_format_size(r->info.format) * r->info.n_channels > sizeof samples) {
        __builtin_trap();
      }
    }
    tlg_sigmf_free(&meta);
  }
  tlg_reader_close(r);
  return 0;
}
