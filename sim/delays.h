/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a histogram of delays, for the code of sim/ that adds to many of them at a time. */
#ifndef TLG_DELAYS_H
#define TLG_DELAYS_H

#include "tlg_sim.h"

typedef unsigned __int128 u128;

enum {
  SUB_BITS = 10,
  SUB = 1 << SUB_BITS,
  TOP_BITS = 52, /* values of 2^52 and above share the last bin */
  LINEAR = 2 * SUB,
  BINS = LINEAR + (TOP_BITS - SUB_BITS - 1) * SUB + 1,
};

struct bin {
  uint64_t count;
  uint64_t largest;
};

struct tlg_delays {
  uint64_t count, min, max, max_when;
  u128 sum;
  struct bin bins[BINS];
};

/* As tlg_delays_new, but memory is there once it is touched. */
int tlg_delays_lazy(struct tlg_delays **d);

/* Of a value below 2^TOP_BITS. Without branches: the octave of v | SUB is SUB_BITS for all of the linear part. */
static inline size_t bin_of_low(uint64_t v)
{
  const unsigned shift = 63u - (unsigned)__builtin_clzll(v | SUB) - SUB_BITS;

  return ((size_t)shift << SUB_BITS) + (size_t)(v >> shift);
}

static inline size_t bin_of(uint64_t v)
{
  const uint64_t top = (uint64_t)1 << TOP_BITS;

  return bin_of_low(v < top ? v : top);
}

/* The same delay n > 0 times. */
static inline void delays_add_n(struct tlg_delays *d, uint64_t delay_ps, uint64_t n, uint64_t when)
{
  struct bin *bin = &d->bins[bin_of(delay_ps)];

  bin->count += n;
  if (delay_ps > bin->largest) {
    bin->largest = delay_ps;
  }
  if (delay_ps < d->min) {
    d->min = delay_ps;
  }
  if (delay_ps > d->max || !d->count) {
    d->max = delay_ps;
    d->max_when = when;
  }
  d->count += n;
  d->sum += (u128)delay_ps * n;
}

#endif
