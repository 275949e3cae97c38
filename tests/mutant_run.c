/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the resampler that it is linked with over a file of mutant_prepare, on every kernel and four packet cuts. Prints
 * the first vector that is not right and ends with 1; ends with 0 if all are. */
#include "tlg_golden.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int get(void *to, size_t size, size_t n, FILE *f)
{
  return fread(to, size, n, f) == n;
}

static int caught(const struct tlg_vector *v, const char *kernel, size_t cut, const char *why)
{
  printf("%s (%s, cut %s: %s)\n", v->id, kernel, tlg_cut_name(cut), why);
  return 1;
}

static int run(const struct tlg_vector *v, const struct tlg_taps *taps, const tlg_cs16 *in, const tlg_cs16 *expected,
               size_t outputs)
{
  static const size_t cuts[] = {0, 1, 3, 8};
  tlg_cs16 *out = malloc((outputs + 8) * sizeof *out);
  int cpu;

  for (cpu = TLG_CPU_C; cpu <= TLG_CPU_NEON; cpu++) {
    const char *kernel = tlg_cpu_name((enum tlg_cpu)cpu);
    struct tlg_resamp *r = NULL;
    size_t k;

    if (!tlg_cpu_available((enum tlg_cpu)cpu)) {
      continue;
    }
    for (k = 0; k < sizeof cuts / sizeof *cuts; k++) {
      struct tlg_error err = {.text = ""};
      char broken[160] = "", why[200];
      size_t got = 0, n;

      if (tlg_vector_run(v, taps, in, (enum tlg_cpu)cpu, cuts[k], &r, out, outputs + 8, &got, broken, &err)) {
        return caught(v, kernel, cuts[k], err.text);
      }
      for (n = 0; n < got && n < outputs && out[n].i == expected[n].i && out[n].q == expected[n].q; n++) {
      }
      if (got != outputs || n < outputs) {
        snprintf(why, sizeof why, "output %zu, %zu of %zu came", n, got, outputs);
        return caught(v, kernel, cuts[k], why);
      }
      if (*broken) {
        return caught(v, kernel, cuts[k], broken);
      }
    }
    tlg_resamp_free(r);
  }
  free(out);
  return 0;
}

int main(int argc, char **argv)
{
  FILE *f = argc > 1 ? fopen(argv[1], "rb") : NULL;
  struct tlg_vector v;

  if (!f) {
    fprintf(stderr, "usage: mutant_run FILE\n");
    return 2;
  }
  setvbuf(stdout, NULL, _IOLBF, 0);
  while (get(&v, sizeof v, 1, f)) {
    struct tlg_error err = {.text = ""};
    struct tlg_taps taps;
    uint64_t outputs;
    tlg_cs16 *in, *out;
    int bad;

    if (v.refused) {
      const int st = tlg_vector_refusal(&v, &err);

      if (st != (v.exit_status == 3 ? TLG_ETAPS : TLG_EINVAL)) {
        printf("%s (status %d)\n", v.id, st);
        return 1;
      }
      continue;
    }
    if (!get(&taps, sizeof taps, 1, f)) {
      return 2;
    }
    taps.h = malloc(taps.n * sizeof *taps.h);
    if (!taps.h || !get(taps.h, sizeof *taps.h, taps.n, f) || !get(&outputs, sizeof outputs, 1, f)) {
      return 2;
    }
    in = malloc((v.n_in + 1) * sizeof *in);
    out = malloc((outputs + 1) * sizeof *out);
    if (!in || !out || !get(in, sizeof *in, v.n_in, f) || !get(out, sizeof *out, outputs, f)) {
      return 2;
    }
    bad = run(&v, &taps, in, out, (size_t)outputs);
    free(in);
    free(out);
    free(taps.h);
    if (bad) {
      return 1;
    }
  }
  return 0;
}
