/* SPDX-License-Identifier: Apache-2.0 */
/* Which constellation, and at which gain, a set of equalised elements was sent with. */
#include "lte_evm.h"

#include <math.h>

/* Points are odd multiples of 1 / norm in I and Q, levels of them each. */
struct lattice {
  unsigned bits;
  double levels, norm;
};
static const struct lattice lattices[] = {
    {2, 2, 1.41421356237309505},
    {4, 4, 3.16227766016837933},
    {6, 8, 6.48074069840786023},
    {8, 16, 13.0384048104052974},
};
enum { N_LATTICES = sizeof lattices / sizeof *lattices };

static double slice(double u, const struct lattice *q)
{
  double index = 0.5 * (u * q->norm + q->levels);

  index = index < 0 ? 0 : index > q->levels - 1 ? q->levels - 1 : (double)(int)index;
  return (2 * index + 1 - q->levels) / q->norm;
}

tlg_cf64 evm_nearest(unsigned bits, double gain, tlg_cf64 x)
{
  const struct lattice *q = &lattices[bits / 2 - 1];

  return (tlg_cf64){gain * slice(x.i / gain, q), gain * slice(x.q / gain, q)};
}

/* The gain nearest `gain` at which decisions and least squares agree, and the mean squared error there over that of
 * points which lie anywhere in their cells: (2 gain / norm)^2 / 6. */
static double fit(const tlg_cf64 *x, size_t n, const struct lattice *q, double *gain)
{
  double g = *gain, error = 0;
  int turn;
  size_t k;

  for (turn = 0; turn < 4; turn++) {
    double xs = 0, ss = 0, xx = 0, next;

    for (k = 0; k < n; k++) {
      const double i = slice(x[k].i / g, q), j = slice(x[k].q / g, q);

      xs += x[k].i * i + x[k].q * j;
      ss += i * i + j * j;
      xx += x[k].i * x[k].i + x[k].q * x[k].q;
    }
    next = xs / ss;
    error = xx - xs * next; /* with these decisions at the best gain */
    if (!(next > 0)) {
      return INFINITY;
    }
    if (fabs(next - g) < 1e-4 * g) {
      g = next;
      break;
    }
    g = next;
  }
  *gain = g;
  error = error > 0 ? error / (double)n : 0;
  return error / (g * g * 4 / (q->norm * q->norm) / 6);
}

static void try_gain(const tlg_cf64 *x, size_t n, const struct lattice *q, double gain, double first,
                     struct evm_decision *d)
{
  const double ratio = fit(x, n, q, &gain), power = first * first / (gain * gain);

  /* The points of one constellation are also some of a larger one (1, 3 times a are 5, 15 times a / 5): then their mean
   * power is not 1. By chance it deviates by at most 0.62 / sqrt(n). */
  if (ratio < d->ratio && fabs(power - 1) < 0.1 + 2.2 / sqrt((double)n)) {
    d->bits = q->bits;
    d->gain = gain;
    d->ratio = ratio;
  }
}

void evm_decide(const tlg_cf64 *x, size_t n, double noise, const struct evm_decision *hint, struct evm_decision *d)
{
  /* Gains to begin with, relative to that of the mean power: of few points of a large constellation the mean power is
   * several percent off, which is a cell at the corners. */
  static const double around[] = {0.97, 1.03, 0.94, 1.06, 0.91, 1.09};
  enum { CLEAR = 10 }; /* a tenth of what chance gives: nothing can be much better */
  double power = 0, first;
  size_t k, c, a;

  d->bits = 0;
  d->gain = 0;
  d->ratio = INFINITY;
  for (k = 0; k < n; k++) {
    power += x[k].i * x[k].i + x[k].q * x[k].q;
  }
  power = n ? power / (double)n : 0;
  if (!(power > 0) || n < 4) {
    return;
  }
  first = sqrt(power > 2 * noise ? power - noise : power / 2);
  if (hint && hint->bits) {
    try_gain(x, n, &lattices[hint->bits / 2 - 1], hint->gain, first, d);
  }
  for (c = 0; c < N_LATTICES && d->ratio * CLEAR > 1; c++) {
    try_gain(x, n, &lattices[c], first, first, d);
    if (d->ratio * CLEAR > 1 && first > 0.8 && first < 1.25) {
      try_gain(x, n, &lattices[c], 1, first, d); /* most likely it is as strong as the reference signals */
    }
  }
  for (c = 1; c < N_LATTICES && d->ratio * CLEAR > 1; c++) { /* QPSK has one gain only */
    for (a = 0; a < sizeof around / sizeof *around && d->ratio * CLEAR > 1; a++) {
      try_gain(x, n, &lattices[c], first * around[a], first, d);
    }
  }
  /* Points anywhere in their cells give 1 with a deviation of 0.63 / sqrt(n); four of them are beyond chance. QPSK has
   * no outer border: 64QAM looks like QPSK of 0.94, with a larger deviation. */
  if (d->ratio > (d->bits == 2 ? 0.6 : 0.7) || d->ratio > 1 - 2.5 / sqrt((double)n)) {
    d->bits = 0;
  }
}
