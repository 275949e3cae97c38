/* SPDX-License-Identifier: Apache-2.0 */
/* The filter that confines ofdm and lte to their channel. */
#ifndef BAND_LIMIT_H
#define BAND_LIMIT_H

#include "taplag.h"

/* Taps h[0 .. half], of a linear-phase filter of 2 half + 1: h[k] is that of both x[n - k] and x[n + k]. */
struct band_limit {
  size_t half;
  double *taps;
};

/* A Kaiser-windowed low-pass filter of BAND_LIMIT_DB at the rate. TLG_EINVAL if the stop band begins beyond half the
 * rate or the filter would be longer than a quarter of a million taps; TLG_ENOMEM. On failure nothing is held. */
#define BAND_LIMIT_DB 80.0
int band_limit_init(struct band_limit *b, unsigned subcarriers, const struct tlg_rate *rate, struct tlg_error *err);
void band_limit_clear(struct band_limit *b);
/* out[j] = the filter's output around x[j + half], for n outputs; x has n + 2 half samples. No overlap. */
void band_limit_run(const struct band_limit *b, double *out, const double *x, size_t n);

#endif
