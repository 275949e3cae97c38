/* SPDX-License-Identifier: Apache-2.0 */
/* The hop to the PHY, and the end of the chain. */
#include "chain.h"

/* What the hop costs for n samples: the transport's table by the bytes of the outputs, and the fixed costs. */
void tlg_hop_size(struct tlg_sim *sim, uint64_t n)
{
  const struct tlg_sim_scenario *s = sim->s;
  const struct tlg_hop_point *p = s->hop_points;
  const uint64_t bytes = s->has_phy ? (uint64_t)((u128)n * s->up / s->down) * 4 : n * s->sample_bytes;
  unsigned i = 0;

  sim->hop_n = n;
  sim->hop_busy_ps = cost_fixed(&sim->hop, n) + (uint64_t)((u128)s->hop.per_byte_fs * bytes / 1000);
  sim->hop_latency_ps = s->hop_latency_ps;
  if (s->n_hop_points) {
    while (i + 2 < s->n_hop_points && p[i + 1].bytes < bytes) {
      i++;
    }
    if (bytes <= p[0].bytes || s->n_hop_points < 2) {
      sim->hop_busy_ps += p[0].busy_ps;
      sim->hop_latency_ps += p[0].latency_ps;
    } else {
      /* Beyond the last point the last line goes on. */
      const __int128 width = (__int128)(p[i + 1].bytes - p[i].bytes), past = (__int128)(bytes - p[i].bytes);
      const __int128 busy = p[i].busy_ps + ((__int128)p[i + 1].busy_ps - p[i].busy_ps) * past / width;
      const __int128 latency = p[i].latency_ps + ((__int128)p[i + 1].latency_ps - p[i].latency_ps) * past / width;

      sim->hop_busy_ps += busy > 0 ? (uint64_t)busy : 0;
      sim->hop_latency_ps += latency > 0 ? (uint64_t)latency : 0;
    }
  }
}

/* The end of the chain: x has left the last thread at an instant. */
void tlg_chain_deliver(struct tlg_sim *sim, const struct item *x, uint64_t at)
{
  uint64_t out = at;

  if (sim->s->has_hop) {
    const uint64_t start = at > sim->hop_free ? at : sim->hop_free;
    uint64_t fixed, busy;

    if (unlikely(x->end - x->begin != sim->hop_n)) {
      tlg_hop_size(sim, x->end - x->begin);
    }
    fixed = sim->hop_busy_ps;
    busy = cost_draw(&sim->hop, fixed, x->number);
    sim->hop_arrived++;
    sim->hop_work += cost_mean(&sim->hop, fixed);
    sim->hop_free = start + busy;
    out = start + busy + sim->hop_latency_ps;
    if (out < sim->last_delivered) { /* no part overtakes another */
      out = sim->last_delivered;
    }
    stat_add(sim->hop_wait, start - at, x->packet);
    stat_add(sim->hop_service, out - start, x->packet);
    if (stamped(sim, x->packet)) {
      struct item y = *x;

      y.ready = at;
      tlg_chain_queued(sim, "hop", &y, start, out);
    }
  }
  tlg_delivered(sim, x, out);
}

int tlg_hop_new(struct tlg_sim *sim)
{
  tlg_cost_init(&sim->hop, &sim->s->hop, sim->seed, 0x4000);
  if (!sim->s->has_hop) {
    return TLG_OK;
  }
  sim->hop_wait = tlg_stat_new(sim);
  sim->hop_service = tlg_stat_new(sim);
  return sim->hop_wait && sim->hop_service ? TLG_OK : TLG_ENOMEM;
}
