/* SPDX-License-Identifier: Apache-2.0 */
/* What a run found: places, loads, what limits it, and whether Little's law holds. */
#include "chain.h"

#include <string.h>

static const struct tlg_sim_stat *shown(struct stat *s)
{
  return s ? &s->public : NULL;
}

static uint64_t ppm(u128 part, u128 whole)
{
  return whole ? (uint64_t)(part * 1000000u / whole) : 0;
}

static uint64_t stalls_ppm(const struct stalls *st)
{
  uint64_t sum = 0;
  unsigned i;

  for (i = 0; i < st->n; i++) {
    const uint64_t length = st->s[i].length.mean_ps;

    sum += ppm(length, st->s[i].random ? (u128)st->s[i].every_ps + length : st->s[i].every_ps);
  }
  return sum;
}

static struct tlg_sim_place *place_add(struct tlg_sim_result *r, const char *name)
{
  struct tlg_sim_place *p = &r->places[r->n_places++];

  memset(p, 0, sizeof *p);
  p->name = name;
  p->load_ppm = UINT64_MAX;
  return p;
}

static void server_add(struct tlg_sim_result *r, const char *name, u128 demand, u128 span, uint64_t stalled_ppm)
{
  struct tlg_sim_server *v = &r->servers[r->n_servers];

  memset(v, 0, sizeof *v);
  strncpy(v->name, name, sizeof v->name - 1);
  v->load_ppm = ppm(demand, span) + stalled_ppm;
  /* Exactly: the floor of the parts per million would call 0.9999999 no load above 1, and 1 no overload. */
  v->overloaded = stalled_ppm ? v->load_ppm >= 1000000 : demand >= span && demand > 0;
  if (r->bottleneck < 0 || v->load_ppm > r->servers[r->bottleneck].load_ppm) {
    r->bottleneck = (int)r->n_servers;
  }
  r->n_servers++;
}

/* Whether what a server cannot do piles up without limit: follow blocking queues up the chain. */
static int piles_up(const struct tlg_sim *sim, unsigned thread)
{
  for (;; thread--) {
    const struct thread *th = &sim->threads[thread];

    if (!th->queue.limit) {
      return 1;
    }
    if (th->cfg->overrun == TLG_SIM_DROP || thread == 0) {
      return 0;
    }
  }
}

static void threads_outcome(struct tlg_sim *sim, struct tlg_sim_result *r, u128 span)
{
  unsigned i, k;

  for (i = 0; i < sim->n_threads; i++) {
    struct thread *th = &sim->threads[i];
    struct tlg_sim_place *p;
    u128 sum = 0;

    if (th->by_bytes) {
      p = place_add(r, "socket");
      p->wait = shown(th->wait);
      p->arrived = th->arrived;
      p->dropped = th->dropped;
      p->first_drop_ps = th->first_drop;
      p->most_waiting = bounded_most(&th->queue);
    }
    for (k = 0; k < th->n_stages; k++) {
      struct stage *st = &th->stages[k];

      p = place_add(r, st->name);
      if (k == 0 && !th->by_bytes) {
        p->wait = shown(th->wait);
        p->dropped = th->dropped;
        p->first_drop_ps = th->first_drop;
        p->most_waiting = bounded_most(&th->queue);
        p->infinite = !th->queue.limit;
      }
      p->service = shown(st->service);
      p->collect = shown(st->collect);
      p->stalled = k == 0 && th->stalled && th->stalled->d->count ? shown(th->stalled) : NULL;
      p->arrived = k == 0 && !st->unit && !th->by_bytes ? th->arrived : st->arrived;
      p->load_ppm = ppm(st->demand, span);
      p->core = th->cfg->core;
      sum += st->demand;
    }
    r->rounds += th->rounds;
    if (th->cfg->poll.tasks) {
      r->clock_reads +=
          th->rounds * (th->cfg->poll.tasks * th->cfg->poll.reads_per_task + th->cfg->poll.reads_per_round) +
          th->reads * th->cfg->poll.reads_per_run;
    }
    server_add(r, th->cfg->name, sum, span, stalls_ppm(&th->stalls));
    if (r->servers[r->n_servers - 1].overloaded && piles_up(sim, i)) {
      r->stable = 0;
    }
  }
  for (i = 0; i < sim->n_threads; i++) { /* cores with several threads */
    const unsigned core = sim->threads[i].cfg->core;
    char name[TLG_SIM_NAME] = "core 0";
    unsigned sharers = 0, infinite = 0;
    u128 sum = 0;

    for (k = 0; k < sim->n_threads && core; k++) {
      if (sim->threads[k].cfg->core == core) {
        unsigned s;

        if (k < i) {
          sharers = 0;
          break; /* counted before */
        }
        sharers++;
        infinite |= (unsigned)piles_up(sim, k);
        for (s = 0; s < sim->threads[k].n_stages; s++) {
          sum += sim->threads[k].stages[s].demand;
        }
        sum += (u128)sim->threads[k].switches * sim->s->switch_ps;
      }
    }
    if (sharers > 1) {
      unsigned n = core, at = sizeof "core " - 1, digits = 1;

      for (k = n; k >= 10; k /= 10) {
        digits++;
      }
      for (k = digits; k > 0; k--, n /= 10) {
        name[at + k - 1] = (char)('0' + n % 10);
      }
      name[at + digits] = '\0';
      server_add(r, name, sum, span, 0);
      if (r->servers[r->n_servers - 1].overloaded && infinite) {
        r->stable = 0;
      }
    }
  }
}

const struct tlg_sim_result *tlg_sim_results(struct tlg_sim *sim)
{
  struct tlg_sim_result *r = &sim->result;
  const struct tlg_sim_scenario *s = sim->s;
  struct tlg_sim_place *p;
  u128 span = sim->air, kernel = 0, inside;
  unsigned i, busiest = 0;

  for (i = 0; i < sim->n_stats; i++) {
    struct stat *st = &sim->stats[i];

    if (sim->sent < s->n_packets) {
      stat_flush(st);
    } else if (!st->closed) {
      st->closed = 1;
      stat_close(st);
    }
  }
  r->n_places = r->n_servers = 0;
  r->bottleneck = -1;
  r->stable = 1;
  r->rounds = r->clock_reads = r->interrupts = 0;
  if (s->arrivals == TLG_ARRIVALS_POISSON) {
    span = (u128)sim->gap.base * sim->batches; /* the mean, so that the verdict does not depend on the draw */
  }
  if (s->has_link) {
    p = place_add(r, "link");
    p->wait = shown(sim->link_wait);
    p->service = s->link_bps ? shown(sim->link_service) : NULL;
    p->arrived = sim->link_arrived;
    p->dropped = sim->sender_dropped;
    p->first_drop_ps = sim->sender_first_drop;
    p->most_waiting = bounded_most(&sim->sender);
    p->infinite = !sim->sender.limit;
    p->load_ppm = ppm(sim->link_demand, span);
    if (s->link_bps) {
      server_add(r, "link", sim->link_demand, span, 0);
      r->stable &= !(r->servers[0].overloaded && !sim->sender.limit);
    }
  }
  if (sim->queues) {
    p = place_add(r, "nic");
    p->wait = shown(sim->nic_wait);
    p->arrived = sim->nic_arrived;
    p->dropped = sim->nic_dropped;
    p->first_drop_ps = sim->nic_first_drop;
    for (i = 0; i < sim->n_queues; i++) {
      r->interrupts += sim->queues[i].mod.fired;
      if (bounded_most(&sim->queues[i].ring) > p->most_waiting) {
        p->most_waiting = bounded_most(&sim->queues[i].ring);
      }
      if (sim->queues[i].demand > kernel) {
        kernel = sim->queues[i].demand;
        busiest = i;
      }
    }
    p->infinite = !sim->queues[0].ring.limit;
    if (s->has_kernel) {
      const int infinite = !sim->queues[0].ring.limit || (s->flow == TLG_FLOW_ON && !sim->sender.limit);

      p = place_add(r, "kernel");
      p->wait = shown(sim->kernel_wait);
      p->service = shown(sim->kernel_service);
      p->arrived = sim->nic_arrived - sim->nic_dropped;
      p->load_ppm = ppm(kernel, span);
      p->infinite = infinite;
      server_add(r, "kernel", kernel, span, stalls_ppm(&sim->queues[busiest].stalls));
      r->stable &= !(r->servers[r->n_servers - 1].overloaded && infinite);
    }
  }
  threads_outcome(sim, r, span);
  if (s->has_hop) {
    p = place_add(r, "hop");
    p->wait = shown(sim->hop_wait);
    p->service = shown(sim->hop_service);
    p->arrived = sim->hop_arrived;
    p->load_ppm = ppm(sim->hop_demand, span);
    p->infinite = 1;
    server_add(r, "hop", sim->hop_demand, span, 0);
    r->stable &= !r->servers[r->n_servers - 1].overloaded;
  }
  r->packet = shown(sim->packet);
  r->gap = shown(sim->gap_stat);
  r->subframe = s->has_phy ? shown(sim->subframe_stat) : NULL;
  r->closing = s->has_phy ? shown(sim->closing) : NULL;
  r->sent = sim->sent;
  r->delivered = sim->delivered;
  r->dropped = sim->dropped;
  r->unfinished = sim->sent_in_units;
  r->samples_sent = sim->position;
  r->samples_delivered = sim->samples_delivered;
  r->subframes = sim->subframes;
  r->subframes_in_time = sim->subframes_in_time;
  r->subframes_incomplete = sim->subframes_incomplete;
  r->warmup_packets = sim->warmup;
  r->span_ps = sim->air;
  r->last_delivered_ps = sim->last_delivered;
  inside = sim->sum_out - sim->sum_air;
  r->little_holds = sim->sent == sim->delivered + sim->dropped + sim->sent_in_units && sim->sum_out >= sim->sum_air &&
                    inside == sim->sum_sojourn;
  r->number_inside_ppm = ppm(inside, sim->last_delivered > sim->last_event ? sim->last_delivered : sim->last_event);
  r->sojourn_mean_ps = sim->sent ? (uint64_t)(sim->sum_sojourn / sim->sent) : 0;
  return r;
}
