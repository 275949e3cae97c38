/* SPDX-License-Identifier: Apache-2.0 */
/* Time as UHD gives it, whole seconds and a fraction, to sample numbers and back, without loss. */
#ifndef UHD_TIME_H
#define UHD_TIME_H

#include "taplag.h"

struct uhd_instant {
  int64_t full; /* seconds */
  double frac;  /* from 0 to below 1 */
};

/* Samples from one instant to another, to the nearest, half goes up; negative if `to` is the earlier one. Saturates at
 * the ends of int64_t. The rate's terms fit 63 bits. Exact: seconds are never multiplied in floating point, as rate
 * times time passes 2^53 at 25 Msps after eleven years, which a device that keeps UTC has behind it. */
int64_t uhd_samples_between(const struct uhd_instant *from, const struct uhd_instant *to, const struct tlg_rate *rate);

/* The instant n samples after another one. */
struct uhd_instant uhd_instant_after(const struct uhd_instant *from, int64_t n, const struct tlg_rate *rate);

#endif
