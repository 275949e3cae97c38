/* SPDX-License-Identifier: Apache-2.0 */
/* The source: when packets come, by the sample clock or at random, one by one or in batches. */
#include "chain.h"

/* The instant at which the last sample of a row that follows has passed. */
static inline void clock_add(struct tlg_sim *sim, const struct row *row)
{
  sim->air += row->air_q;
  sim->air_rem += row->air_r;
  if (sim->air_rem >= sim->air_den) {
    sim->air_rem -= sim->air_den;
    sim->air++;
  }
}

static uint64_t burst_size(struct tlg_sim *sim)
{
  if (sim->s->batch_kind == TLG_BATCH_GEOMETRIC && sim->s->batch > 1) {
    /* Of mean b: 1 + floor(e / -ln(1 - 1/b)) with e exponential; the draw's base is 2^32 times the mean b. */
    return 1 + (tlg_draw(&sim->batch, sim->batches) >> 32);
  }
  return sim->s->batch;
}

static void next_burst(struct tlg_sim *sim)
{
  const struct tlg_sim_scenario *s = sim->s;
  const uint64_t n = burst_size(sim);
  uint64_t i;

  if (s->arrivals == TLG_ARRIVALS_POISSON) {
    sim->air += tlg_draw(&sim->gap, sim->batches);
  } else {
    for (i = 0; i < n; i++) {
      const size_t r = sim->n_rows == 1 ? 0 : (sim->at_row + i) % sim->n_rows;

      clock_add(sim, &sim->rows[r]);
    }
  }
  sim->batches++;
  sim->burst_left = n;
}

/* The next packet, of samples [begin, end), at sim->air. */
static void source_packet(struct tlg_sim *sim, uint64_t begin, uint64_t end, const struct row *row)
{
  struct item x;

  x.begin = begin;
  x.end = sim->position = end;
  x.air = x.ready = sim->air;
  x.packet = x.number = sim->sent++;
  sim->sum_air += x.air;
  if (stamped(sim, x.packet)) {
    struct item y = x;

    /* At random: no sample clock says when its first sample was. */
    const int random = sim->s->arrivals == TLG_ARRIVALS_POISSON;

    y.ready = random ? x.air : tlg_instant_ps(x.begin, &sim->s->rate);
    tlg_chain_stamp(sim, "source", &y, y.ready, x.air, random ? "comes at random" : "fills the packet", 0);
  }
  if (sim->s->has_link) {
    tlg_wire_send(sim, &x, row);
  } else if (sim->queues) {
    tlg_nic_arrive(sim, &x, row);
  } else {
    tlg_stages_arrive(sim, &x);
  }
}

void tlg_source_send(struct tlg_sim *sim)
{
  const struct row *row = &sim->rows[sim->at_row];

  if (sim->burst_left == 0) {
    next_burst(sim);
  }
  sim->burst_left--;
  if (++sim->at_row == sim->n_rows) {
    sim->at_row = 0;
  }
  source_packet(sim, sim->position, sim->position + row->n, row);
}

/* When the packet [begin, end) is sent: it is the next of a batch, which goes when it would be full. */
static void feed_air(struct tlg_sim *sim, uint64_t begin, uint64_t end)
{
  const uint64_t own = tlg_instant_ps(end, &sim->s->rate);
  uint64_t i;

  if (sim->burst_left == 0) {
    uint64_t nominal = begin;

    sim->burst_left = burst_size(sim);
    sim->batches++;
    sim->burst_air = 0;
    if (sim->burst_left > 1) {
      for (i = 0; i < sim->burst_left; i++) {
        nominal += sim->rows[(sim->sent + i) % sim->n_rows].n;
      }
      sim->burst_air = tlg_instant_ps(nominal, &sim->s->rate);
    }
  }
  sim->burst_left--;
  if (sim->air < sim->burst_air) {
    sim->air = sim->burst_air;
  }
  if (sim->air < own) { /* behind samples that were passed over */
    sim->air = own;
  }
}

void tlg_source_feed(struct tlg_sim *sim, uint64_t begin, uint64_t end)
{
  feed_air(sim, begin, end);
  tlg_fates_sent(sim, begin, end);
  source_packet(sim, begin, end, tlg_fates_row(sim, end - begin));
}

void tlg_arrivals_init(struct tlg_sim *sim)
{
  const struct tlg_sim_scenario *s = sim->s;
  struct tlg_dist gap = {.kind = TLG_DIST_EXPONENTIAL};
  u128 cycle = 0;
  size_t i;

  sim->air_den = s->rate.num;
  for (i = 0; i < s->n_sizes; i++) {
    cycle += s->sizes[i];
  }
  gap.low_ps = (uint64_t)(cycle * s->batch * 1000000000000u * s->rate.den / s->rate.num / s->n_sizes);
  tlg_draw_init(&sim->gap, &gap, sim->seed, 0, DRAW_ARRIVAL);
  if (s->batch_kind == TLG_BATCH_GEOMETRIC && s->batch > 1) {
    /* 1 / -ln(1 - 1/b) = 1 / ln(b / (b - 1)), by the same series as the draws. */
    const double t = 1.0 / (2.0 * s->batch - 1.0);
    double sum = 0;
    int k;

    for (k = 60; k >= 0; k--) {
      sum = sum * t * t + 1.0 / (2 * k + 1);
    }
    gap.low_ps = (uint64_t)(4294967296.0 / (2.0 * t * sum) + 0.5);
    tlg_draw_init(&sim->batch, &gap, sim->seed, 0, DRAW_BATCH);
  }
}
