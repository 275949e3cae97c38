/* SPDX-License-Identifier: Apache-2.0 */
/* The golden vectors on a machine that has a C library and nothing else: runs a plain list ("taplag vectors list
 * --plain") on every kernel and cut, and writes the outputs for "taplag vectors verify --judge" on the host. It judges
 * nothing. verify-plain LIST [CUT,CUT...] > outputs */
#include "tlg_golden.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *read_text(const char *path)
{
  FILE *f = fopen(path, "rb");
  size_t used = 0, room = 1 << 20;
  char *text = malloc(room);

  while (f && text) {
    const size_t got = fread(text + used, 1, room - used - 1, f);

    used += got;
    if (!got) {
      break;
    }
    if (room - used < 2) {
      text = realloc(text, room *= 2);
    }
  }
  if (!f || !text) {
    return NULL;
  }
  fclose(f);
  text[used] = 0;
  return text;
}

static void put_samples(const tlg_cs16 *x, size_t n)
{
  size_t k;

  for (k = 0; k < n; k++) {
    putchar((uint16_t)x[k].i & 255);
    putchar((uint16_t)x[k].i >> 8);
    putchar((uint16_t)x[k].q & 255);
    putchar((uint16_t)x[k].q >> 8);
  }
}

/* One line in place of text. */
static void put_broken(const char *id, const char *kernel, const char *cut, const char *text)
{
  printf("broken %s %s %s %s\n", id, kernel, cut, text);
}

static int wanted(const char *list, const char *name)
{
  const size_t n = strlen(name);
  const char *at = list;

  while (at && *at) {
    if (strncmp(at, name, n) == 0 && (at[n] == ',' || !at[n])) {
      return 1;
    }
    at = strchr(at, ',');
    at = at ? at + 1 : NULL;
  }
  return !list;
}

static int run(const struct tlg_vector *v, const char *cuts)
{
  struct tlg_taps taps = {NULL, 0, 0, 0};
  struct tlg_segment *segments = NULL;
  struct tlg_error err = {.offset = UINT64_MAX};
  tlg_cs16 *in, *out, *first;
  size_t n_segments, cut, n_first = 0;
  uint64_t outputs;
  int cpu, have_first = 0;

  if (tlg_vector_taps(v, &taps, &err) || tlg_vector_segments(v, taps.n, &segments, &n_segments, &outputs, &err)) {
    fprintf(stderr, "%s: %s\n", v->id, err.text);
    return -1;
  }
  in = malloc((v->n_in + 1) * sizeof *in);
  out = malloc((outputs + 8) * sizeof *out);
  first = malloc((outputs + 8) * sizeof *first);
  if (!in || !out || !first || tlg_vector_input(v, &taps, in, &err)) {
    fprintf(stderr, "%s: %s\n", v->id, err.text);
    return -1;
  }
  for (cpu = TLG_CPU_C; cpu <= TLG_CPU_NEON; cpu++) {
    const char *kernel = tlg_cpu_name((enum tlg_cpu)cpu);
    struct tlg_resamp *r = NULL;

    if (!tlg_cpu_available((enum tlg_cpu)cpu)) {
      continue;
    }
    for (cut = 0; cut < tlg_cuts(); cut++) {
      char broken[160];
      size_t got = 0;

      if (!wanted(cuts, tlg_cut_name(cut))) {
        continue;
      }
      if (tlg_vector_run(v, &taps, in, (enum tlg_cpu)cpu, cut, &r, out, (size_t)outputs + 8, &got, broken, &err)) {
        put_broken(v->id, kernel, tlg_cut_name(cut), err.text);
      } else if (broken[0]) {
        put_broken(v->id, kernel, tlg_cut_name(cut), broken);
      } else if (have_first && got == n_first && memcmp(out, first, got * sizeof *out) == 0) {
        printf("same %s %s %s\n", v->id, kernel, tlg_cut_name(cut));
      } else {
        printf("output %s %s %s %zu\n", v->id, kernel, tlg_cut_name(cut), got);
        put_samples(out, got);
        if (!have_first) {
          memcpy(first, out, got * sizeof *out);
          n_first = got;
          have_first = 1;
        }
      }
    }
    tlg_resamp_free(r);
  }
  free(in);
  free(out);
  free(first);
  free(segments);
  tlg_taps_free(&taps);
  return 0;
}

int main(int argc, char **argv)
{
  struct tlg_vector v;
  struct tlg_error err = {.offset = UINT64_MAX};
  char *text = argc > 1 ? read_text(argv[1]) : NULL;
  const char *at = text, *cuts = argc > 2 ? argv[2] : NULL;
  unsigned line = 0;
  int st;

  if (!text) {
    fprintf(stderr, "usage: verify-plain LIST [CUT,CUT...] > outputs\n");
    return 2;
  }
  printf("taplag-outputs 1 %s\n", cuts ? cuts : "all");
  while ((st = tlg_vector_read(&v, &at, &line, &err)) == 1) {
    if (v.refused == TLG_REFUSED_FILE) {
      continue; /* no readers here */
    }
    if (v.refused) {
      printf("refused %s %d\n", v.id, tlg_vector_refusal(&v, &err));
    } else if (run(&v, cuts)) {
      return 1;
    }
  }
  if (st < 0) {
    fprintf(stderr, "%s:%u: %s\n", argv[1], line, err.text);
    return 3;
  }
  printf("end\n");
  free(text);
  return fflush(stdout) ? 4 : 0;
}
