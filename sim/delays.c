/* SPDX-License-Identifier: Apache-2.0 */
/* Integer histograms of delays: log-linear bins, percentiles by nearest rank. */
#include "delays.h"

#include <string.h>
#include <sys/mman.h>

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

int tlg_delays_lazy(struct tlg_delays **d)
{
  /* Anonymous pages are zero, and there once they are touched: most of a table never is. */
  *d = mmap(NULL, sizeof **d, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (*d == MAP_FAILED) {
    *d = NULL;
    return TLG_ENOMEM;
  }
  (*d)->min = UINT64_MAX;
  return TLG_OK;
}

int tlg_delays_new(struct tlg_delays **d)
{
  volatile struct bin *bins;
  size_t i;

  if (!d) {
    return TLG_EINVAL;
  }
  if (tlg_delays_lazy(d) != TLG_OK) {
    return TLG_ENOMEM;
  }
  /* Through volatile, so that it is not left out: else the first delay of each size would pay for a page fault. */
  bins = (*d)->bins;
  for (i = 0; i < BINS; i++) {
    bins[i].count = 0;
  }
  return TLG_OK;
}

void tlg_delays_free(struct tlg_delays *d)
{
  if (d) {
    munmap(d, sizeof *d);
  }
}

/* Bins outside [*from, *to) are empty. */
static void used(const struct tlg_delays *d, size_t *from, size_t *to)
{
  *from = d->min <= d->max ? bin_of(d->min) : 0;
  *to = d->min <= d->max ? bin_of(d->max) + 1 : 0;
}

void tlg_delays_reset(struct tlg_delays *d)
{
  size_t from, to;

  used(d, &from, &to);
  memset(d->bins + from, 0, (to - from) * sizeof *d->bins);
  d->count = d->max = d->max_when = 0;
  d->min = UINT64_MAX;
  d->sum = 0;
}

void tlg_delays_add(struct tlg_delays *d, uint64_t delay_ps, uint64_t when)
{
  delays_add_n(d, delay_ps, 1, when);
}

void tlg_delays_merge(struct tlg_delays *into, const struct tlg_delays *from)
{
  size_t i, to;

  if (!from->count) {
    return;
  }
  used(from, &i, &to);
  for (; i < to; i++) {
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
  size_t i, to;

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
  used(d, &i, &to);
  for (; i < to; i++) {
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
  size_t i, to;

  used(d, &i, &to);
  for (i = *position > i ? *position : i; i < to; i++) {
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
  size_t i, to;

  used(d, &i, &to);
  for (i = *position > i ? *position : i; i < to; i++) {
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
  /* Known by its largest value alone: the totals, which follow, have the rest. */
  if (largest < d->min) {
    d->min = largest;
  }
  if (largest > d->max) {
    d->max = largest;
  }
}

void tlg_delays_set(struct tlg_delays *d, const struct tlg_delays_totals *totals)
{
  d->count = totals->count;
  if (totals->min < d->min) { /* of the same bin, if they fit together */
    d->min = totals->min;
  }
  if (totals->max > d->max) {
    d->max = totals->max;
  }
  d->max_when = totals->max_when;
  d->sum = (u128)totals->sum_high << 64 | totals->sum_low;
}
