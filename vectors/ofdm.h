/* SPDX-License-Identifier: Apache-2.0 */
/* The ofdm signal, evaluated symbol by symbol. */
#ifndef OFDM_H
#define OFDM_H

#include "tlg_vectors.h"

struct ofdm; /* opaque */

/* cfg: complete (tlg_signal_defaults). On failure *o is NULL and nothing is held. */
int ofdm_new(struct ofdm **o, const struct tlg_signal_cfg *cfg, struct tlg_error *err);
void ofdm_free(struct ofdm *o);
/* Samples from number n on, unrounded: *re and *im point at as many as are returned (at least 1), until the next call.
 */
size_t ofdm_span(struct ofdm *o, uint64_t n, const double **re, const double **im);

#endif
