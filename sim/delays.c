/* SPDX-License-Identifier: Apache-2.0 */
/* Integer histograms of delays: log-linear bins, percentiles by nearest rank. */
#include "delays.h"

#include <stdlib.h>

static void bin_range(size_t b, uint64_t *low, uint64_t *high)
{
  size_t octave;

  if (b < LINEAR) {
    *low = *high = b;
    return;
  }
  if (b == BINS - 1) {
    *low = (uint64_t)1 << TOP_BITS;
    *high = UINT64_MAX;
    return;
  }
  octave = (b - LINEAR) / SUB + 1;
  *low = (uint64_t)((b - LINEAR) % SUB + SUB) << octave;
  *high = *low + ((uint64_t)1 << octave) - 1;
}

int tlg_delays_new(struct tlg_delays **d)
{
  if (!d) {
    return TLG_EINVAL;
  }
  *d = malloc(sizeof **d);
  if (!*d) {
    return TLG_ENOMEM;
  }
  tlg_delays_reset(*d);
  return TLG_OK;
}

void tlg_delays_free(struct tlg_delays *d)
{
  free(d);
}

void tlg_delays_reset(struct tlg_delays *d)
{
  /* Through volatile: a compiler that makes calloc of malloc and zeroing would leave the pages untouched, and the
   * first delay of each size would pay for a page fault. */
  volatile struct bin *bins = d->bins;
  size_t i;

  d->count = d->max = d->max_when = 0;
  d->min = UINT64_MAX;
  d->sum = 0;
  for (i = 0; i < BINS; i++) {
    bins[i].count = 0;
    bins[i].largest = 0;
  }
}

void tlg_delays_add(struct tlg_delays *d, uint64_t delay_ps, uint64_t when)
{
  delays_add_n(d, delay_ps, 1, when);
}

void tlg_delays_merge(struct tlg_delays *into, const struct tlg_delays *from)
{
  size_t i;

  if (!from->count) {
    return;
  }
  for (i = 0; i < BINS; i++) {
    into->bins[i].count += from->bins[i].count;
    if (from->bins[i].largest > into->bins[i].largest) {
      into->bins[i].largest = from->bins[i].largest;
    }
  }
  if (from->min < into->min) {
    into->min = from->min;
  }
  if (from->max > into->max || !into->count) {
    into->max = from->max;
    into->max_when = from->max_when;
  }
  into->count += from->count;
  into->sum += from->sum;
}

uint64_t tlg_delays_count(const struct tlg_delays *d)
{
  return d->count;
}

uint64_t tlg_delays_percentile(const struct tlg_delays *d, uint64_t num, uint64_t den)
{
  uint64_t rank, below = 0;
  size_t i;

  if (!d->count || !den) {
    return 0;
  }
  if (num > den) {
    num = den;
  }
  rank = (uint64_t)(((u128)d->count * num + den - 1) / den);
  if (rank <= 1) {
    return d->min;
  }
  for (i = 0; i < BINS; i++) {
    below += d->bins[i].count;
    if (below >= rank) {
      return d->bins[i].largest;
    }
  }
  return d->max;
}

void tlg_delays_summarise(const struct tlg_delays *d, struct tlg_delays_summary *summary)
{
  summary->count = d->count;
  summary->min = d->count ? d->min : 0;
  summary->mean = d->count ? (uint64_t)(d->sum / d->count) : 0;
  summary->p50 = tlg_delays_percentile(d, 50, 100);
  summary->p90 = tlg_delays_percentile(d, 90, 100);
  summary->p99 = tlg_delays_percentile(d, 99, 100);
  summary->p999 = tlg_delays_percentile(d, 999, 1000);
  summary->p9999 = tlg_delays_percentile(d, 9999, 10000);
  summary->max = d->max;
  summary->max_when = d->max_when;
}

int tlg_delays_next(const struct tlg_delays *d, size_t *position, uint64_t *low, uint64_t *high, uint64_t *count)
{
  size_t i;

  for (i = *position; i < BINS; i++) {
    if (d->bins[i].count) {
      bin_range(i, low, high);
      *count = d->bins[i].count;
      *position = i + 1;
      return 1;
    }
  }
  *position = BINS;
  return 0;
}

void tlg_delays_get(const struct tlg_delays *d, struct tlg_delays_totals *totals)
{
  totals->count = d->count;
  totals->min = d->min;
  totals->max = d->max;
  totals->max_when = d->max_when;
  totals->sum_high = (uint64_t)(d->sum >> 64);
  totals->sum_low = (uint64_t)d->sum;
}

int tlg_delays_bin(const struct tlg_delays *d, size_t *position, uint64_t *largest, uint64_t *count)
{
  size_t i;

  for (i = *position; i < BINS; i++) {
    if (d->bins[i].count) {
      *largest = d->bins[i].largest;
      *count = d->bins[i].count;
      *position = i + 1;
      return 1;
    }
  }
  *position = BINS;
  return 0;
}

void tlg_delays_put(struct tlg_delays *d, uint64_t largest, uint64_t count)
{
  struct bin *bin = &d->bins[bin_of(largest)];

  bin->count += count;
  if (largest > bin->largest) {
    bin->largest = largest;
  }
}

void tlg_delays_set(struct tlg_delays *d, const struct tlg_delays_totals *totals)
{
  d->count = totals->count;
  d->min = totals->min;
  d->max = totals->max;
  d->max_when = totals->max_when;
  d->sum = (u128)totals->sum_high << 64 | totals->sum_low;
}
