/* SPDX-License-Identifier: Apache-2.0 */
/* What a real front end adds to a signal, sample by sample. */
#ifndef IMPAIR_H
#define IMPAIR_H

#include "tlg_vectors.h"

struct impair; /* opaque */

/* TLG_EINVAL with a sentence if a value is out of range for this rate. */
int impair_check(const struct tlg_impairments *i, const struct tlg_rate *rate, struct tlg_error *err);
/* Whether anything but the clock is off. */
int impair_any(const struct tlg_impairments *i);
/* The true sampling rate of a clock that is off; TLG_EINVAL if it is no fraction of 64 bits. */
int impair_rate(struct tlg_rate *rate, const struct tlg_impairments *i, struct tlg_error *err);
/* i: checked; rate: the true one. On failure *im is NULL and nothing is held. */
int impair_new(struct impair **im, const struct tlg_impairments *i, const struct tlg_rate *rate, uint64_t seed,
               struct tlg_error *err);
void impair_free(struct impair *im);
/* The number of the signal's sample that stands at output m; it goes on one by one for *run outputs (0 = for ever). */
uint64_t impair_source(const struct impair *im, uint64_t m, uint64_t *run);
/* n samples from the signal's number at on, changed in place. */
void impair_apply(struct impair *im, uint64_t at, double *re, double *q, size_t n, uint64_t *clipped);

#endif
