/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the golden vectors of a plain list as one binary file for mutant_run: vector, taps, inputs, and what must come
 * out by the plain convolution. mutant_prepare LIST FILE */
#include "tlg_golden.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
  static char text[1 << 20];
  FILE *list = argc > 2 ? fopen(argv[1], "rb") : NULL, *f = argc > 2 ? fopen(argv[2], "wb") : NULL;
  struct tlg_error err = {.offset = UINT64_MAX};
  const char *at = text;
  struct tlg_vector v;
  unsigned line = 0;

  if (!list || !f || fread(text, 1, sizeof text - 1, list) == 0) {
    fprintf(stderr, "usage: mutant_prepare LIST FILE\n");
    return 2;
  }
  while (tlg_vector_read(&v, &at, &line, &err) == 1) {
    struct tlg_taps taps = {NULL, 0, 0, 0};
    struct tlg_segment *segments = NULL;
    size_t n_segments;
    uint64_t outputs = 0;
    tlg_cs16 *in, *out;

    if (v.refused == TLG_REFUSED_FILE) {
      continue;
    }
    fwrite(&v, sizeof v, 1, f);
    if (v.refused) {
      continue;
    }
    if (tlg_vector_taps(&v, &taps, &err) || tlg_vector_segments(&v, taps.n, &segments, &n_segments, &outputs, &err)) {
      fprintf(stderr, "%s: %s\n", v.id, err.text);
      return 1;
    }
    in = malloc((v.n_in + 1) * sizeof *in);
    out = malloc((outputs + 1) * sizeof *out);
    if (!in || !out || tlg_vector_input(&v, &taps, in, &err)) {
      return 1;
    }
    tlg_vector_expected(&v, &taps, in, segments, n_segments, out);
    fwrite(&taps, sizeof taps, 1, f);
    fwrite(taps.h, sizeof *taps.h, taps.n, f);
    fwrite(&outputs, sizeof outputs, 1, f);
    fwrite(in, sizeof *in, v.n_in, f);
    fwrite(out, sizeof *out, outputs, f);
    free(in);
    free(out);
    free(segments);
    tlg_taps_free(&taps);
  }
  return fclose(f) != 0;
}
