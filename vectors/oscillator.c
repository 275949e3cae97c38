/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the test signals: exact phases and quick tables of the unit circle. */
#include "oscillator.h"

#include <stdlib.h>

int turn_lcm(uint64_t *lcm, uint64_t a, uint64_t b)
{
  const tlg_u128 product = (tlg_u128)(a / tlg_gcd(a, b)) * b;

  if (product >> 62) {
    return TLG_EINVAL;
  }
  *lcm = (uint64_t)product;
  return TLG_OK;
}

int turn_per_sample(struct turn *t, const struct tlg_frequency *frequency, uint64_t div, const struct tlg_rate *rate)
{
  const uint64_t size = frequency->num < 0 ? 0 - (uint64_t)frequency->num : (uint64_t)frequency->num;
  const uint64_t g = tlg_gcd(size, rate->num), h = tlg_gcd(rate->den, frequency->den);
  const tlg_u128 n = (tlg_u128)(size / g) * (rate->den / h);
  const tlg_u128 d0 = (tlg_u128)(frequency->den / h) * (rate->num / g), k = tlg_gcd128(n, div);
  tlg_u128 den;
  uint64_t rest;

  if (d0 >> 62) {
    return TLG_EINVAL;
  }
  den = d0 * (div / (uint64_t)k);
  if (den >> 62) {
    return TLG_EINVAL;
  }
  rest = (uint64_t)(n / k % den);
  t->den = (uint64_t)den;
  t->num = frequency->num < 0 && rest ? t->den - rest : rest;
  return TLG_OK;
}

uint64_t turn_mul(uint64_t a, uint64_t b, uint64_t m)
{
  return (uint64_t)((tlg_u128)a * b % m);
}

int oscillator_init(struct oscillator *o, uint64_t period)
{
  uint64_t i, n_fine, n_coarse = 0;

  *o = (struct oscillator){.period = period};
  if (period >> 40) {
    return TLG_OK;
  }
  n_fine = period;
  if (period > 65536) {
    while ((uint64_t)1 << 2 * o->shift < period) {
      o->shift++;
    }
    n_fine = (uint64_t)1 << o->shift;
    o->mask = n_fine - 1;
    n_coarse = (period - 1) / n_fine + 1;
    if (!(o->coarse = malloc(n_coarse * sizeof *o->coarse))) {
      return TLG_ENOMEM;
    }
  }
  if (!(o->fine = malloc(n_fine * sizeof *o->fine))) {
    oscillator_clear(o);
    return TLG_ENOMEM;
  }
  for (i = 0; i < n_fine; i++) {
    tlg_cos_sin(i, period, &o->fine[i].i, &o->fine[i].q);
  }
  for (i = 0; i < n_coarse; i++) {
    tlg_cos_sin(i << o->shift, period, &o->coarse[i].i, &o->coarse[i].q);
  }
  return TLG_OK;
}

void oscillator_clear(struct oscillator *o)
{
  free(o->fine);
  free(o->coarse);
  o->fine = o->coarse = NULL;
}
