/* SPDX-License-Identifier: Apache-2.0 */
/* Public interface of sim/: distributions of delays, shared by the measured pipeline and the queueing model.
 * Integers only. An object belongs to one thread at a time. */
#ifndef TLG_SIM_H
#define TLG_SIM_H

#include "taplag.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A histogram of delays in picoseconds. Values below 2048 have a bin each, larger ones 1024 bins an octave, so a bin
 * is at most 2^-10 of its value wide (0.1 %). Each bin keeps the largest value that fell into it: a percentile is a
 * value that occurred, never below the true nearest rank and less than 0.1 % above it. Count, minimum, maximum and
 * mean are exact. Values from 2^52 ps (75 minutes) on share the last bin. */
struct tlg_delays; /* opaque */

struct tlg_delays_summary {
  uint64_t count;
  uint64_t min, mean, p50, p90, p99, p999, p9999, max; /* ps; all 0 when count is 0 */
  uint64_t max_when;                                   /* the `when` of the first occurrence of max */
};

/* All memory is laid out and touched here. TLG_EINVAL, TLG_ENOMEM; on failure *d is NULL. */
TLG_API int tlg_delays_new(struct tlg_delays **d);
TLG_API void tlg_delays_free(struct tlg_delays *d);
TLG_API void tlg_delays_reset(struct tlg_delays *d);
/* Add one delay; `when` is any number that tells later where it happened (an instant, a packet number). Never
 * allocates. */
TLG_API void tlg_delays_add(struct tlg_delays *d, uint64_t delay_ps, uint64_t when);
/* Add all of from to into; on equal maxima the `when` of into stays. */
TLG_API void tlg_delays_merge(struct tlg_delays *into, const struct tlg_delays *from);
TLG_API uint64_t tlg_delays_count(const struct tlg_delays *d);
/* Percentile num/den by nearest rank: the value of rank ceil(count * num / den), the smallest having rank 1.
 * 0 when empty or den is 0. */
TLG_API uint64_t tlg_delays_percentile(const struct tlg_delays *d, uint64_t num, uint64_t den);
TLG_API void tlg_delays_summarise(const struct tlg_delays *d, struct tlg_delays_summary *summary);
/* Walk the bins that are not empty in rising order: start with *position = 0; values of the bin lie in [*low, *high].
 * Returns 1, or 0 behind the last. */
TLG_API int tlg_delays_next(const struct tlg_delays *d, size_t *position, uint64_t *low, uint64_t *high,
                            uint64_t *count);

#ifdef __cplusplus
}
#endif
#endif
