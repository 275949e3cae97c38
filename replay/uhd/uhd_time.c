/* SPDX-License-Identifier: Apache-2.0 */
/* Seconds and fractions to sample numbers, in integers. */
#include "uhd_time.h"

#include <math.h>

typedef unsigned __int128 u128;

/* round((secs + frac) * num / den), secs >= 0, 0 <= frac < 1. */
static int64_t samples_in(uint64_t secs, double frac, const struct tlg_rate *rate)
{
  /* frac as a multiple of 2^-64: nothing is lost of what is at least 2^-11, and below that less than a 2^-64 */
  const uint64_t f = (uint64_t)ldexp(frac, 64);
  const u128 part = (u128)f * rate->num;
  const u128 whole = (u128)secs * rate->num + (uint64_t)(part >> 64);
  const u128 q = whole / rate->den, r = whole % rate->den;
  const u128 rounded = q + (2 * r + ((uint64_t)part >> 63) >= rate->den);

  return rounded > INT64_MAX ? INT64_MAX : (int64_t)rounded;
}

int64_t uhd_samples_between(const struct uhd_instant *from, const struct uhd_instant *to, const struct tlg_rate *rate)
{
  const int back = to->full < from->full || (to->full == from->full && to->frac < from->frac);
  const struct uhd_instant *early = back ? to : from, *late = back ? from : to;
  uint64_t secs = (uint64_t)late->full - (uint64_t)early->full;
  double frac = late->frac - early->frac;
  int64_t n;

  if (frac < 0.0) {
    secs--;
    frac += 1.0;
    if (frac >= 1.0) { /* less than half a unit of the last place below a whole second */
      secs++;
      frac = 0.0;
    }
  }
  n = samples_in(secs, frac, rate);
  return back ? -n : n;
}

struct uhd_instant uhd_instant_after(const struct uhd_instant *from, int64_t n, const struct tlg_rate *rate)
{
  const uint64_t size = n < 0 ? -(uint64_t)n : (uint64_t)n;
  const u128 ticks = (u128)size * rate->den;
  const double part = (double)(uint64_t)(ticks % rate->num) / (double)rate->num;
  struct uhd_instant at = *from;

  if (n < 0) {
    at.full -= (int64_t)(ticks / rate->num);
    at.frac -= part;
    if (at.frac < 0.0) {
      at.full--;
      at.frac += 1.0;
    }
  } else {
    at.full += (int64_t)(ticks / rate->num);
    at.frac += part;
  }
  if (at.frac >= 1.0) {
    at.full++;
    at.frac -= 1.0;
  }
  return at;
}
