/* SPDX-License-Identifier: Apache-2.0 */
/* Runs: made, carried on, ended. */
#include "chain.h"

#include <stdlib.h>
#include <string.h>

/* The work of the last packets goes into the wide sums. */
static void fold(struct tlg_sim *sim)
{
  unsigned i, k;

  sim->link_demand += sim->link_work;
  sim->hop_demand += sim->hop_work;
  sim->link_work = sim->hop_work = 0;
  for (i = 0; sim->queues && i < sim->n_queues; i++) {
    sim->queues[i].demand += sim->queues[i].work;
    sim->queues[i].work = 0;
    sim->nomem |= sim->queues[i].ring.failed;
  }
  for (i = 0; i < sim->n_threads; i++) {
    for (k = 0; k < sim->threads[i].n_stages; k++) {
      sim->threads[i].stages[k].demand += sim->threads[i].stages[k].work;
      sim->threads[i].stages[k].work = 0;
    }
    sim->nomem |= sim->threads[i].queue.failed;
  }
  sim->nomem |= sim->sender.failed;
}

/* Nothing more comes: what waits for more goes on without it. */
static void drain(struct tlg_sim *sim)
{
  tlg_nic_drain(sim);
  if (sim->use_events) {
    tlg_events_until(sim, never);
  }
  tlg_flights_end(sim);
}

int tlg_sim_step(struct tlg_sim *sim, uint64_t n, uint64_t *left)
{
  if (!sim || !left || sim->fates) {
    return TLG_EINVAL;
  }
  if (n > sim->s->n_packets - sim->sent) {
    n = sim->s->n_packets - sim->sent;
  }
  while (n && !sim->nomem) {
    uint64_t chunk = n < 4096 ? n : 4096; /* sums of at most an hour a packet fit 64 bits */

    n -= chunk;
    while (chunk) {
      if (sim->blocks && chunk >= BLOCK && tlg_block_run(sim)) {
        chunk -= BLOCK;
      } else {
        tlg_source_send(sim);
        chunk--;
      }
    }
    fold(sim);
  }
  *left = sim->s->n_packets - sim->sent;
  if (*left == 0 && !sim->nomem) {
    drain(sim);
    fold(sim);
  }
  return sim->nomem ? TLG_ENOMEM : TLG_OK;
}

int tlg_sim_feed(struct tlg_sim *sim, uint64_t begin, uint64_t end)
{
  if (!sim || !sim->fates || !tlg_fates_fit(sim, begin, end)) {
    return TLG_EINVAL;
  }
  if (sim->nomem) {
    return TLG_ENOMEM;
  }
  if (tlg_horizon_passed(sim->s, sim->packet_bound, sim->sent + 1, end)) {
    return TLG_EFORMAT;
  }
  tlg_source_feed(sim, begin, end);
  if (sim->sent % 4096 == 0) { /* sums of at most an hour a packet fit 64 bits */
    fold(sim);
  }
  tlg_fates_tell(sim);
  return sim->nomem ? TLG_ENOMEM : TLG_OK;
}

int tlg_sim_feed_end(struct tlg_sim *sim)
{
  if (!sim || !sim->fates) {
    return TLG_EINVAL;
  }
  sim->s->n_packets = sim->sent;
  if (!sim->nomem) {
    drain(sim);
    fold(sim);
    tlg_fates_end(sim);
  }
  return sim->nomem ? TLG_ENOMEM : TLG_OK;
}

static int shares_cores(const struct tlg_sim_scenario *s)
{
  unsigned i, k;

  for (i = 0; i < s->n_threads; i++) {
    for (k = 0; k < i; k++) {
      if (s->threads[i].core && s->threads[i].core == s->threads[k].core) {
        return 1;
      }
    }
  }
  return 0;
}

static struct tlg_sim_scenario *scenario_copy(const struct tlg_sim_scenario *s)
{
  struct tlg_sim_scenario *copy = malloc(sizeof *copy);

  if (copy) {
    *copy = *s;
    copy->sizes = malloc(s->n_sizes * sizeof *copy->sizes);
    if (!copy->sizes) {
      free(copy);
      return NULL;
    }
    memcpy(copy->sizes, s->sizes, s->n_sizes * sizeof *copy->sizes);
  }
  return copy;
}

/* Which engine, and whether it can do what the scenario wants. */
static int engine_choose(struct tlg_sim *sim, struct tlg_error *err)
{
  const struct tlg_sim_scenario *s = sim->s;
  const int shared = shares_cores(s);
  unsigned i;

  if (sim->cfg.engine == TLG_ENGINE_RECURSION && shared) {
    return tlg_error_set(err, TLG_EINVAL, "threads share a core: that needs events");
  }
  /* Without a thread nothing competes for a core. */
  sim->use_events =
      s->n_threads && (sim->cfg.engine == TLG_ENGINE_EVENTS || (sim->cfg.engine == TLG_ENGINE_AUTO && shared));
  for (i = 0; sim->use_events && i < s->n_threads; i++) {
    if (s->threads[i].queue && s->threads[i].overrun == TLG_SIM_BLOCK) {
      return tlg_error_set(err, TLG_EFORMAT,
                           "a queue that blocks (thread '%s') and threads that share a core cannot be combined: give "
                           "each thread a core of its own, or use overrun = \"drop\"",
                           s->threads[i].name);
    }
  }
  return TLG_OK;
}

static int elements_new(struct tlg_sim *sim)
{
  sim->packet = tlg_stat_new(sim);
  tlg_arrivals_init(sim);
  if (!sim->packet || tlg_wire_new(sim) != TLG_OK || tlg_nic_new(sim) != TLG_OK || tlg_stages_new(sim) != TLG_OK ||
      tlg_hop_new(sim) != TLG_OK || tlg_framing_new(sim) != TLG_OK || (sim->cfg.fate && tlg_fates_new(sim) != TLG_OK)) {
    return TLG_ENOMEM;
  }
  return sim->use_events ? tlg_events_new(sim) : TLG_OK;
}

int tlg_sim_new(struct tlg_sim **out, const struct tlg_sim_scenario *s, const struct tlg_sim_cfg *cfg,
                struct tlg_error *err)
{
  struct tlg_sim *sim;
  int status;

  if (!out || !s) {
    return tlg_error_set(err, TLG_EINVAL, "no scenario");
  }
  *out = NULL;
  status = tlg_sim_scenario_check(s, err);
  if (status != TLG_OK) {
    return status;
  }
  sim = calloc(1, sizeof *sim);
  if (!sim || !(sim->s = scenario_copy(s))) {
    status = tlg_error_set(err, TLG_ENOMEM, "out of memory");
    goto fail;
  }
  if (cfg) {
    sim->cfg = *cfg;
  }
  if (!sim->cfg.stamp) {
    sim->cfg.stamp_count = 0;
  }
  sim->seed = sim->cfg.seed ? sim->cfg.seed : s->seed;
  sim->packet_bound = tlg_packet_bound(s);
  sim->warm_ppm = s->warmup_ppm;
  if (sim->cfg.fate) { /* as many as come */
    sim->s->n_packets = 1ull << 40;
    sim->s->warmup_ppm = 0;
    sim->cfg.stamp_first = 0;
    sim->cfg.stamp_count = UINT64_MAX;
  }
  sim->warmup = (uint64_t)((u128)sim->s->n_packets * sim->s->warmup_ppm / 1000000);
  status = engine_choose(sim, err);
  if (status != TLG_OK) {
    goto fail;
  }
  if (elements_new(sim) != TLG_OK) {
    status = tlg_error_set(err, TLG_ENOMEM, "out of memory");
    goto fail;
  }
  sim->blocks = tlg_blockable(sim);
  sim->boundary = sim->warmup;
  *out = sim;
  return TLG_OK;
fail:
  tlg_sim_free(sim);
  return status;
}

void tlg_sim_free(struct tlg_sim *sim)
{
  unsigned i;

  if (!sim) {
    return;
  }
  for (i = 0; i < sim->n_stats; i++) {
    tlg_delays_free(sim->stats[i].d);
  }
  tlg_events_free(sim);
  tlg_fates_free(sim);
  tlg_stages_free(sim);
  tlg_nic_free(sim);
  tlg_wire_free(sim);
  free(sim->flights);
  free(sim->why.e);
  tlg_sim_scenario_free(sim->s);
  free(sim);
}
