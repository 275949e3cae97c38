/* SPDX-License-Identifier: Apache-2.0 */
/* The second queueing: when the PHY holds all of a subframe whose offset it chose itself. */
#include "chain.h"

/* The newest input of output m, at the resampler's own ratio. */
static uint64_t input_of(const struct tlg_sim_scenario *s, uint64_t m)
{
  return (uint64_t)(((u128)m * s->down + s->align_q0) / s->up);
}

static void next_subframe(struct tlg_sim *sim)
{
  const struct tlg_sim_scenario *s = sim->s;
  const uint64_t first = s->offset + sim->subframe * s->subframe;

  sim->opening_input = input_of(s, first);
  sim->closing_input = input_of(s, first + s->subframe - 1);
}

int tlg_framing_new(struct tlg_sim *sim)
{
  sim->closing_input = never;
  if (!sim->s->has_phy) {
    return TLG_OK;
  }
  sim->subframe_stat = tlg_stat_new(sim);
  sim->closing = tlg_stat_new(sim);
  if (!sim->cfg.fate) {
    next_subframe(sim);
  }
  return sim->subframe_stat && sim->closing ? TLG_OK : TLG_ENOMEM;
}

static void late(struct tlg_sim *sim, uint64_t at, uint64_t latency)
{
  struct tlg_sim_result *r = &sim->result;
  const unsigned n = r->n_late_bursts;

  if (n == 0 || at - sim->last_late > 100000000000u) {
    if (n == sizeof r->late_bursts / sizeof *r->late_bursts) {
      return;
    }
    r->late_bursts[n].when_ps = at;
    r->late_bursts[n].subframes = 0;
    r->late_bursts[n].worst_ps = 0;
    r->n_late_bursts++;
  }
  sim->last_late = at;
  r->late_bursts[r->n_late_bursts - 1].subframes++;
  if (latency > r->late_bursts[r->n_late_bursts - 1].worst_ps) {
    r->late_bursts[r->n_late_bursts - 1].worst_ps = latency;
  }
}

void tlg_framing_deliver(struct tlg_sim *sim, const struct item *x, uint64_t at)
{
  const struct tlg_sim_scenario *s = sim->s;

  while (x->end > sim->closing_input) {
    const uint64_t k = sim->subframe, bit = 1ull << (k & 63);
    const int counts = x->packet >= sim->warmup;

    if (sim->lost[(k >> 6) & 63] & bit) {
      sim->lost[(k >> 6) & 63] &= ~bit;
      if (counts) {
        sim->subframes++;
        sim->subframes_incomplete++;
      }
    } else if (counts) {
      const uint64_t began = tlg_instant_ps(sim->opening_input, &s->rate);
      const uint64_t ended = tlg_instant_ps(sim->closing_input + 1, &s->rate);
      const uint64_t latency = at > began ? at - began : 0;

      sim->subframes++;
      stat_add(sim->subframe_stat, latency, x->packet);
      /* In a unit the packet's own air is that of the packet which completed it. */
      stat_add(sim->closing, x->air > ended ? x->air - ended : 0, x->packet);
      if (latency <= s->deadline_ps) {
        sim->subframes_in_time++;
      } else {
        late(sim, at, latency);
      }
    }
    if (stamped(sim, x->packet)) {
      struct item whole = *x;

      whole.begin = sim->opening_input;
      whole.end = sim->closing_input + 1;
      whole.number = k;
      if (s->arrivals == TLG_ARRIVALS_POISSON) { /* no clock says when its samples were */
        whole.ready = at;
        tlg_chain_stamp(sim, "subframe", &whole, at, at, NULL, 0);
      } else {
        whole.ready = tlg_instant_ps(sim->opening_input, &s->rate);
        tlg_chain_stamp(sim, "subframe", &whole, tlg_instant_ps(sim->closing_input + 1, &s->rate), at, NULL, 0);
      }
    }
    sim->subframe++;
    next_subframe(sim);
  }
}

/* Outputs that exist once inputs [0, n) do. */
static uint64_t outputs_of(const struct tlg_sim_scenario *s, uint64_t n)
{
  const u128 have = (u128)n * s->up;

  return have > s->align_q0 ? (uint64_t)((have - 1 - s->align_q0) / s->down + 1) : 0;
}

void tlg_framing_lost(struct tlg_sim *sim, uint64_t begin, uint64_t end)
{
  const struct tlg_sim_scenario *s = sim->s;
  /* Outputs whose newest input is among them; what the filter smears further is not counted as lost. */
  uint64_t first, last, k;

  if (!s->has_phy) {
    return;
  }
  first = outputs_of(s, begin);
  last = outputs_of(s, end);
  if (last <= s->offset || last == first) {
    return;
  }
  k = first > s->offset ? (first - s->offset) / s->subframe : 0;
  for (; k <= (last - 1 - s->offset) / s->subframe; k++) {
    if (k >= sim->subframe && k < sim->subframe + 4096) {
      sim->lost[(k >> 6) & 63] |= 1ull << (k & 63);
    }
  }
}
