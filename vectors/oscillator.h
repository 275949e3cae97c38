/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the test signals: exact phases, quick tables of the unit circle, rounding to int16. */
#ifndef OSCILLATOR_H
#define OSCILLATOR_H

#include "gcd.h"
#include "tlg_vectors.h"

/* A reduced fraction modulo 1 of a cycle: num in [0, den). */
struct turn {
  uint64_t num, den;
};

/* 0, or TLG_EINVAL if it reaches 2^62. */
int turn_lcm(uint64_t *lcm, uint64_t a, uint64_t b);
/* frequency * mul / div / rate, cycles a sample. TLG_EINVAL if the denominator reaches 2^62. */
int turn_per_sample(struct turn *t, const struct tlg_frequency *frequency, uint64_t div, const struct tlg_rate *rate);
/* a * b mod m. */
uint64_t turn_mul(uint64_t a, uint64_t b, uint64_t m);

/* e^(j 2 pi p / period) for p in [0, period): from one table, the product of two, or term by term, as the period
 * asks; which one follows from the period alone. */
struct oscillator {
  uint64_t period, mask;
  unsigned shift;
  tlg_cf64 *fine, *coarse;
};

int oscillator_init(struct oscillator *o, uint64_t period);
void oscillator_clear(struct oscillator *o);

static inline tlg_cf64 oscillator_at(const struct oscillator *o, uint64_t p)
{
  tlg_cf64 z;

  if (o->coarse) {
    const tlg_cf64 a = o->fine[p & o->mask], b = o->coarse[p >> o->shift];

    z.i = a.i * b.i - a.q * b.q;
    z.q = a.i * b.q + a.q * b.i;
  } else if (o->fine) {
    z = o->fine[p];
  } else {
    tlg_cos_sin(p, o->period, &z.i, &z.q);
  }
  return z;
}

/* floor(x + 1/2) within int16; *clipped counts what did not fit. */
static inline int16_t round_int16(double x, uint64_t *clipped)
{
  if (x >= 32767.5) {
    ++*clipped;
    return INT16_MAX;
  }
  if (x < -32768.5) {
    ++*clipped;
    return INT16_MIN;
  }
  return (int16_t)((int)(x + 32768.5) - 32768);
}

#endif
