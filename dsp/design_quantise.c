/* SPDX-License-Identifier: Apache-2.0 */
/* From a real-valued prototype to integer taps whose phases each sum to exactly 2^S. */
#include "design.h"

#include <stdlib.h>
#include <string.h>

/* One phase: wanted values v, their floors in q, and how many units are still to be given out. */
struct phase {
  double *v;
  int64_t *q;
  size_t n;
};

static int64_t floor_of(double x)
{
  const int64_t i = (int64_t)x;

  return (double)i > x ? i - 1 : i;
}

/* Give units to the entries [0, n) with the largest remainders (ties: the first); fewer than n of them. */
static void give(const struct phase *f, size_t n, int64_t units)
{
  while (units > 0) {
    size_t k, best = n;
    double most = -2.0;

    for (k = 0; k < n; k++) {
      const double rest = f->v[k] - (double)f->q[k];

      if (rest > most) {
        most = rest;
        best = k;
      }
    }
    f->q[best]++;
    units--;
  }
}

static int64_t start(const struct phase *f, size_t n)
{
  int64_t sum = 0;
  size_t k;

  for (k = 0; k < n; k++) {
    f->q[k] = floor_of(f->v[k]);
    sum += f->q[k];
  }
  return sum;
}

/* Largest remainder over the whole phase. */
static void round_plain(const struct phase *f, int64_t total)
{
  give(f, f->n, total - start(f, f->n));
}

/* A phase that is its own mirror: the two halves stay equal; a middle tap, if there is one, takes the odd unit. */
static void round_mirrored(const struct phase *f, int64_t total)
{
  const size_t half = f->n / 2;
  size_t k;

  if (f->n % 2 == 0) {
    give(f, half, total / 2 - start(f, half));
  } else {
    int64_t rest = total - 2 * start(f, half);
    int64_t middle = floor_of(f->v[half]);

    rest -= middle;
    if (rest & 1) {
      middle++;
      rest--;
    }
    give(f, half, rest / 2);
    f->q[half] = middle;
  }
  for (k = 0; k < half; k++) {
    f->q[f->n - 1 - k] = f->q[k];
  }
}

int tlg_design_quantise(struct tlg_taps *taps, const double *h, size_t n, uint32_t up, unsigned shift,
                        struct tlg_error *err)
{
  const int64_t total = (int64_t)1 << shift;
  const size_t most = (n + up - 1) / up;
  struct tlg_taps made = {.n = n, .up = up, .shift = shift};
  struct phase f = {NULL, NULL, 0};
  int mirror = 1, st;
  size_t k, p;

  if (n < up) {
    return tlg_error_set(err, TLG_EINVAL, "%zu taps leave phases without any: at least %lu are needed", n,
                         (unsigned long)up);
  }
  for (k = 0; k < n / 2 && mirror; k++) {
    mirror = h[k] == h[n - 1 - k];
  }
  made.h = malloc(n * sizeof *made.h);
  f.v = malloc(most * sizeof *f.v);
  f.q = malloc(most * sizeof *f.q);
  if (!made.h || !f.v || !f.q) {
    st = tlg_error_set(err, TLG_ENOMEM, "no memory for %zu taps", n);
    goto fail;
  }
  for (p = 0; p < up; p++) {
    const size_t q = (n - 1 - p) % up; /* the phase that holds the mirror images of this one's taps */
    double sum = 0.0;

    if (mirror && q < p) {
      continue; /* written together with its mirror */
    }
    for (f.n = 0, k = p; k < n; k += up) {
      f.v[f.n++] = h[k];
      sum += h[k];
    }
    if (!(sum > 0.0)) {
      st = tlg_error_set(err, TLG_ETAPS, "the taps of phase %zu do not sum to more than 0", p);
      goto fail;
    }
    for (k = 0; k < f.n; k++) {
      f.v[k] = f.v[k] / sum * (double)total;
      if (!(f.v[k] < 32767.0) || !(f.v[k] > -32767.0)) {
        st = tlg_error_set(err, TLG_ETAPS, "tap %zu would be %.0f, beyond 32767: use a smaller shift than %u",
                           p + k * up, f.v[k], shift);
        goto fail;
      }
    }
    if (mirror && q == p) {
      /* Equal values may differ in the last bit after the sum's division only if they did before. */
      round_mirrored(&f, total);
    } else {
      round_plain(&f, total);
    }
    for (k = 0; k < f.n; k++) {
      made.h[p + k * up] = (int16_t)f.q[k];
      if (mirror && q != p) {
        made.h[n - 1 - (p + k * up)] = (int16_t)f.q[k];
      }
    }
  }
  st = tlg_taps_check(&made, err);
  if (st != TLG_OK) {
    goto fail;
  }
  free(f.v);
  free(f.q);
  *taps = made;
  return TLG_OK;
fail:
  free(made.h);
  free(f.v);
  free(f.q);
  return st;
}
