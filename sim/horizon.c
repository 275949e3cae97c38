/* SPDX-License-Identifier: Apache-2.0 */
/* How far instants may go: 64 bits of picoseconds end after 213 days, and half of that is ours. */
#include "horizon.h"

/* The most that a duration draws; an exponential one, 45 times so much at most. */
static u128 most(const struct tlg_dist *d)
{
  switch (d->kind) {
  case TLG_DIST_UNIFORM:
    return d->high_ps;
  case TLG_DIST_TABLE:
    return d->n_points ? d->points[d->n_points - 1].value_ps : 0;
  default:
    return d->low_ps;
  }
}

/* A cost of an item of n samples: in the long run, twice the mean of what varies. */
static u128 cost_bound(const struct tlg_sim_scenario *s, const struct tlg_cost *c, u128 n)
{
  return c->fixed_ps + c->alloc_ps + n * c->per_sample_fs / 1000 +
         (n * s->sample_bytes + s->header_bytes) * c->per_byte_fs / 1000 + 2 * (u128)tlg_dist_mean(&c->jitter);
}

u128 tlg_packet_bound(const struct tlg_sim_scenario *s)
{
  u128 n = 0, items = 1, sum = 0;
  struct tlg_sim_frame f;
  unsigned t, k;
  size_t i;

  for (i = 0; i < s->n_sizes; i++) {
    n = s->sizes[i] > n ? s->sizes[i] : n;
  }
  tlg_sim_frame(s, (uint64_t)n, &f);
  if (s->has_link && s->link_bps) {
    sum += (u128)f.wire_bytes * 8 * 1000000000000u / s->link_bps;
  }
  if (s->has_nic) {
    sum += s->moderation_ps + (s->budget ? s->budget_ps : 0);
  }
  if (s->has_kernel) {
    sum += cost_bound(s, &s->kernel, n) + f.frames * s->fragment_ps + (u128)f.payload_bytes * s->checksum_fs / 1000 +
           2 * (u128)tlg_dist_mean(&s->interrupt);
  }
  for (t = 0; t < s->n_threads; t++) {
    const struct tlg_sim_thread *th = &s->threads[t];

    sum += items * (th->wake_ps + s->switch_ps + 2 * (u128)tlg_dist_mean(&th->vacation) +
                    th->poll.tasks * (th->poll.task_ps + th->poll.reads_per_task * th->poll.clock_ps) +
                    (th->poll.reads_per_round + th->poll.reads_per_run) * th->poll.clock_ps + th->poll.busy_ps);
    for (k = 0; k < th->n_stages; k++) {
      if (th->stages[k].unit) {
        items = n * items / th->stages[k].unit + 1; /* on the average fewer */
        n = th->stages[k].unit;
      }
      sum += items * cost_bound(s, &th->stages[k].cost, n);
    }
  }
  if (s->has_hop) {
    sum += items * cost_bound(s, &s->hop, n);
    for (i = 0; i < s->n_hop_points; i++) {
      const struct tlg_hop_point *p = &s->hop_points[i];

      /* Straight on behind the last point. */
      sum += items * ((u128)p->busy_ps + p->latency_ps) * (2 + n * s->sample_bytes / p->bytes);
    }
  }
  return sum;
}

/* Work goes on after stalls: time / (1 - their share). Of 1000000, what they leave. */
static uint64_t left_by_stalls(const struct tlg_sim_scenario *s)
{
  uint64_t taken = 0;
  unsigned i;

  for (i = 0; i < s->n_stalls; i++) {
    const u128 length = tlg_dist_mean(&s->stalls[i].length), every = s->stalls[i].every_ps;

    taken += (uint64_t)(length * 1000000 / (s->stalls[i].random ? every + length : every));
  }
  return taken < 999000 ? 1000000 - taken : 1000;
}

/* What single draws can add to the long run's means. */
static u128 single_draws(const struct tlg_sim_scenario *s)
{
  u128 sum = most(&s->kernel.jitter) + most(&s->interrupt) + most(&s->hop.jitter);
  unsigned i, k;

  for (i = 0; i < s->n_threads; i++) {
    sum += most(&s->threads[i].vacation);
    for (k = 0; k < s->threads[i].n_stages; k++) {
      sum += most(&s->threads[i].stages[k].cost.jitter);
    }
  }
  for (i = 0; i < s->n_stalls; i++) {
    sum += most(&s->stalls[i].length) + s->stalls[i].phase_ps / 64;
  }
  return 64 * sum + s->link_latency_ps + s->hop_latency_ps + s->moderation_phase_ps;
}

int tlg_horizon_passed(const struct tlg_sim_scenario *s, u128 packet_ps, uint64_t n, u128 samples)
{
  u128 air = samples * s->rate.den * 1000000000000u / s->rate.num;

  if (s->arrivals == TLG_ARRIVALS_POISSON) {
    air = 2 * air + (n ? 64 * air / n * s->batch : 0);
  }
  return ((air + packet_ps * n) * 1000000 / left_by_stalls(s) + single_draws(s)) >> 63 != 0;
}
