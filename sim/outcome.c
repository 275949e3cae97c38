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

/* The queue that bounds a server's backlog. */
struct bound {
  uint64_t limit, most; /* 0: none, what is too much piles up without end; or several queues in turn bound it */
  uint64_t dropped, first_drop;
};

/* What an overloaded server cannot do piles up: without end, or until its queue is full. Delays follow the length of
 * the run until then, so unless the queue was full before the warm-up ended, that is what makes the run unstable. */
static void judge(struct tlg_sim_result *r, const struct bound *b, int infinite, uint64_t warm_ps, uint64_t span_ps)
{
  struct tlg_sim_server *v = &r->servers[r->n_servers - 1];

  if (!v->overloaded) {
    return;
  }
  r->overloaded = 1;
  v->infinite = infinite;
  v->loses = !infinite && b->dropped > 0;
  if (v->loses) {
    v->full_ps = b->first_drop;
    if (b->first_drop <= warm_ps) {
      return;
    }
  } else if (!infinite && b->limit && b->most) { /* at the pace so far */
    const u128 full = (u128)span_ps * b->limit / b->most;

    v->full_ps = full < UINT64_MAX ? (uint64_t)full : 0;
  }
  v->grows = 1;
  if (r->stable) {
    r->culprit = (int)r->n_servers - 1;
  }
  r->stable = 0;
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

/* Whether what a thread cannot do piles up without limit: follow blocking queues up the chain, to the one that loses.
 */
static int piles_up(const struct tlg_sim *sim, unsigned thread, struct bound *b)
{
  const unsigned from = thread;

  memset(b, 0, sizeof *b);
  for (;; thread--) {
    const struct thread *th = &sim->threads[thread];

    if (!th->queue.limit) {
      return 1;
    }
    if (th->cfg->overrun == TLG_SIM_DROP || thread == 0) {
      b->limit = thread == from ? th->queue.limit : 0;
      b->most = tlg_bounded_most(&th->queue);
      b->dropped = th->dropped;
      b->first_drop = th->first_drop;
      return 0;
    }
  }
}

static void threads_outcome(struct tlg_sim *sim, struct tlg_sim_result *r, u128 span, uint64_t warm_ps,
                            uint64_t span_ps)
{
  struct bound b;
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
      p->most_waiting = tlg_bounded_most(&th->queue);
    }
    for (k = 0; k < th->n_stages; k++) {
      struct stage *st = &th->stages[k];

      p = place_add(r, st->name);
      if (k == 0 && !th->by_bytes) {
        p->wait = shown(th->wait);
        p->dropped = th->dropped;
        p->first_drop_ps = th->first_drop;
        p->most_waiting = tlg_bounded_most(&th->queue);
        p->infinite = !th->queue.limit;
      }
      if (st->wait) {
        p->wait = shown(st->wait);
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
    k = (unsigned)piles_up(sim, i, &b);
    judge(r, &b, (int)k, warm_ps, span_ps);
  }
  for (i = 0; i < sim->n_threads; i++) { /* cores with several threads */
    const unsigned core = sim->threads[i].cfg->core;
    char name[TLG_SIM_NAME] = "core 0";
    struct bound all = {0, 0, 0, 0};
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
        infinite |= (unsigned)piles_up(sim, k, &b);
        if (b.dropped && (!all.dropped || b.first_drop < all.first_drop)) {
          all = b; /* what is lost in one of them is work that the core need not do */
        }
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
      judge(r, &all, (int)infinite, warm_ps, span_ps);
    }
  }
}

/* The time in which the work came: of random arrivals the mean, so that the verdict does not depend on the draw. */
static u128 span_of(const struct tlg_sim *sim)
{
  return sim->s->arrivals == TLG_ARRIVALS_POISSON ? (u128)sim->gap.base * sim->batches : sim->air;
}

/* At the end of a run: what merging adds up. Before it, only what is held back is added. */
static void close_run(struct tlg_sim *sim)
{
  unsigned i;

  for (i = 0; i < sim->n_stats; i++) {
    if (sim->sent < sim->s->n_packets) {
      tlg_stat_flush(&sim->stats[i]);
    } else {
      tlg_stat_close(&sim->stats[i]);
    }
  }
  sim->sent_all = sim->sent;
  sim->samples_all = sim->position;
  sim->ended = sim->last_delivered > sim->last_event ? sim->last_delivered : sim->last_event;
  if (sim->sent == sim->s->n_packets) {
    sim->runs = 1;
    sim->span = span_of(sim);
  }
}

const struct tlg_sim_result *tlg_sim_results(struct tlg_sim *sim)
{
  struct tlg_sim_result *r = &sim->result;
  const struct tlg_sim_scenario *s = sim->s;
  struct tlg_sim_place *p;
  u128 span, kernel = 0, inside;
  uint64_t warm_ps, span_ps;
  unsigned i, busiest = 0;

  if (!sim->runs) {
    close_run(sim);
  }

  r->n_places = r->n_servers = 0;
  r->bottleneck = -1;
  r->stable = 1;
  r->overloaded = 0;
  r->rounds = r->clock_reads = r->interrupts = 0;
  span = sim->runs ? sim->span : span_of(sim);
  span_ps = (uint64_t)(sim->runs ? span / sim->runs : span);
  /* Of the whole run, when the run is not over. */
  warm_ps =
      sim->sent
          ? (uint64_t)((sim->runs ? (u128)span_ps : (u128)span_ps * s->n_packets / sim->sent) * sim->warm_ppm / 1000000)
          : 0;
  if (s->has_link) {
    p = place_add(r, "link");
    p->wait = shown(sim->link_wait);
    p->service = s->link_bps ? shown(sim->link_service) : NULL;
    p->arrived = sim->link_arrived;
    p->dropped = sim->sender_dropped;
    p->first_drop_ps = sim->sender_first_drop;
    p->most_waiting = tlg_bounded_most(&sim->sender);
    p->infinite = !sim->sender.limit;
    p->load_ppm = ppm(sim->link_demand, span);
    if (s->link_bps) {
      server_add(r, "link", sim->link_demand, span, 0);
      judge(r,
            &(struct bound){sim->sender.limit, tlg_bounded_most(&sim->sender), sim->sender_dropped,
                            sim->sender_first_drop},
            !sim->sender.limit, warm_ps, span_ps);
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
      if (tlg_bounded_most(&sim->queues[i].ring) > p->most_waiting) {
        p->most_waiting = tlg_bounded_most(&sim->queues[i].ring);
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
      judge(r,
            s->flow == TLG_FLOW_ON
                ? &(struct bound){0, 0, sim->sender_dropped, sim->sender_first_drop}
                : &(struct bound){sim->queues[busiest].ring.limit, tlg_bounded_most(&sim->queues[busiest].ring),
                                  sim->nic_dropped, sim->nic_first_drop},
            infinite, warm_ps, span_ps);
    }
  }
  threads_outcome(sim, r, span, warm_ps, span_ps);
  if (s->has_hop) {
    p = place_add(r, "hop");
    p->wait = shown(sim->hop_wait);
    p->service = shown(sim->hop_service);
    p->arrived = sim->hop_arrived;
    p->load_ppm = ppm(sim->hop_demand, span);
    p->infinite = 1;
    server_add(r, "hop", sim->hop_demand, span, 0);
    judge(r, &(struct bound){0, 0, 0, 0}, 1, warm_ps, span_ps);
  }
  if (!r->stable) {
    r->bottleneck = r->culprit;
  }
  r->packet = shown(sim->packet);
  r->gap = shown(sim->gap_stat);
  r->received = shown(sim->received);
  r->subframe = s->has_phy ? shown(sim->subframe_stat) : NULL;
  r->closing = s->has_phy ? shown(sim->closing) : NULL;
  r->runs = sim->runs;
  r->sent = sim->sent_all;
  r->delivered = sim->delivered;
  r->dropped = sim->dropped;
  r->unfinished = sim->sent_in_units;
  r->samples_sent = sim->samples_all;
  r->samples_delivered = sim->samples_delivered;
  r->subframes = sim->subframes;
  r->subframes_in_time = sim->subframes_in_time;
  r->subframes_incomplete = sim->subframes_incomplete;
  r->warmup_packets = sim->warmup;
  r->warm_ps = warm_ps;
  r->span_ps = sim->runs ? (uint64_t)(sim->span / sim->runs) : sim->air;
  r->last_delivered_ps = sim->last_delivered;
  inside = sim->sum_out - sim->sum_air;
  r->little_holds = sim->sent_all == sim->delivered + sim->dropped + sim->sent_in_units &&
                    sim->sum_out >= sim->sum_air && inside == sim->sum_sojourn;
  r->number_inside_ppm = ppm(inside, sim->ended);
  r->sojourn_mean_ps = sim->sent_all ? (uint64_t)(sim->sum_sojourn / sim->sent_all) : 0;
  return r;
}

int tlg_sim_merge(struct tlg_sim *into, const struct tlg_sim *from)
{
  unsigned i, k, b;

  if (!into || !from || into->n_stats != from->n_stats || into->n_threads != from->n_threads ||
      into->n_queues != from->n_queues || into->sent != into->s->n_packets || from->sent != from->s->n_packets) {
    return TLG_EINVAL;
  }
  tlg_sim_results(into);
  tlg_sim_results((struct tlg_sim *)from); /* closes its distributions */
  for (i = 0; i < into->n_stats; i++) {
    struct tlg_sim_stat *a = &into->stats[i].public;
    const struct tlg_sim_stat *c = &from->stats[i].public;

    tlg_delays_merge(into->stats[i].d, from->stats[i].d);
    a->n_batches = a->n_batches < c->n_batches ? a->n_batches : c->n_batches;
    for (b = 0; b < a->n_batches; b++) {
      a->batch_mean_ps[b] =
          (uint64_t)(((u128)a->batch_mean_ps[b] * into->runs + (u128)c->batch_mean_ps[b] * from->runs) /
                     (into->runs + from->runs));
    }
  }
  into->runs += from->runs;
  into->span += from->span;
  into->ended += from->ended;
  into->sent_all += from->sent_all;
  into->link_demand += from->link_demand;
  into->hop_demand += from->hop_demand;
  into->link_arrived += from->link_arrived;
  into->hop_arrived += from->hop_arrived;
  into->sender_dropped += from->sender_dropped;
  into->nic_arrived += from->nic_arrived;
  into->nic_dropped += from->nic_dropped;
  for (i = 0; into->queues && i < into->n_queues; i++) {
    into->queues[i].demand += from->queues[i].demand;
    into->queues[i].mod.fired += from->queues[i].mod.fired;
  }
  for (i = 0; i < into->n_threads; i++) {
    struct thread *a = &into->threads[i];
    const struct thread *c = &from->threads[i];

    a->arrived += c->arrived;
    a->dropped += c->dropped;
    a->rounds += c->rounds;
    a->reads += c->reads;
    a->switches += c->switches;
    for (k = 0; k < a->n_stages; k++) {
      a->stages[k].demand += c->stages[k].demand;
      a->stages[k].arrived += c->stages[k].arrived;
    }
  }
  into->delivered += from->delivered;
  into->dropped += from->dropped;
  into->sent_in_units += from->sent_in_units;
  into->samples_delivered += from->samples_delivered;
  into->samples_all += from->samples_all;
  into->sum_air += from->sum_air;
  into->sum_out += from->sum_out;
  into->sum_sojourn += from->sum_sojourn;
  into->subframes += from->subframes;
  into->subframes_in_time += from->subframes_in_time;
  into->subframes_incomplete += from->subframes_incomplete;
  return TLG_OK;
}
