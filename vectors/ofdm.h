/* SPDX-License-Identifier: Apache-2.0 */
/* The ofdm signal, evaluated symbol by symbol. */
#ifndef OFDM_H
#define OFDM_H

#include "tlg_vectors.h"

struct ofdm; /* opaque */

/* Where the points of another signal of the same numerology come from: points(context, l, out) gives symbol l's (from
 * 0; -1: the one before), cfg.subcarriers of them, in units of the output. */
struct ofdm_source {
  void (*points)(void *context, int64_t l, tlg_cf64 *out);
  void *context;
};

/* cfg: complete (tlg_signal_defaults). source NULL: the ofdm signal's own points. On failure *o is NULL and nothing is
 * held. */
int ofdm_new(struct ofdm **o, const struct tlg_signal_cfg *cfg, const struct ofdm_source *source,
             struct tlg_error *err);
/* The mean power lost where symbols overlap by raised cosines, as a factor. */
double ofdm_window_factor(unsigned window);
void ofdm_free(struct ofdm *o);
/* Samples from number n on, unrounded: *re and *im point at as many as are returned (at least 1), until the next call.
 */
size_t ofdm_span(struct ofdm *o, uint64_t n, const double **re, const double **im);

#endif
