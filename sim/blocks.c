/* SPDX-License-Identifier: Apache-2.0 */
/* Many packets at a time, element by element: the same numbers as one by one, in a third of the time. */
#include "chain.h"

#include <string.h>

/* Whether block_run may be tried at all: packets of one size one by one, one receive queue. */
int tlg_blockable(const struct tlg_sim *sim)
{
  const struct tlg_sim_scenario *s = sim->s;

  if (sim->n_rows != 1 || s->batch != 1 || (sim->queues && (sim->n_queues > 1 || sim->queues->pending)) ||
      s->flow == TLG_FLOW_ON || s->budget || sim->cfg.plain) {
    return 0;
  }
  return !sim->fault.lose_packet && !sim->fault.service_frees && !sim->fault.tie;
}

/* Whether all items of a block found room: the one k before each has left when it comes. */
static int block_fits(const struct bounded *b, const uint64_t *ready, const uint64_t *leave)
{
  uint64_t at = b->at;
  unsigned i;

  if (!b->limit) {
    return 1;
  }
  if (!b->each) {
    return 0;
  }
  if (b->k >= BLOCK) { /* usually all of them have left before the first one comes */
    const uint64_t last = at + BLOCK - 1 < b->k ? at + BLOCK - 1 : at + BLOCK - 1 - b->k;

    if (b->leave[last] <= ready[0]) {
      return 1;
    }
  }
  for (i = 0; i < BLOCK; i++) {
    const uint64_t before = i < b->k ? b->leave[at] : leave[i - b->k];

    if (unlikely(before > ready[i])) {
      return 0;
    }
    at = at + 1 == b->k ? 0 : at + 1;
  }
  return 1;
}

static void block_commit(struct bounded *b, const uint64_t *ready, const uint64_t *leave)
{
  uint64_t seen, n, inside = 0;
  unsigned i;

  if (!b->limit) {
    return;
  }
  if (b->k < 2 * BLOCK || b->most + BLOCK >= b->k) {
    for (i = 0; i < BLOCK; i++) {
      bounded_put(b, ready[i], leave[i], b->each);
    }
    return;
  }
  n = b->k - b->at < BLOCK ? b->k - b->at : BLOCK;
  memcpy(b->leave + b->at, leave, n * sizeof *leave);
  memcpy(b->leave, leave + n, (BLOCK - n) * sizeof *leave);
  /* As bounded_put: is the one `most` before still inside? Usually it is not for any of them. */
  seen = b->at >= b->most ? b->at - b->most : b->at + b->k - b->most;
  n = seen + BLOCK <= b->k ? BLOCK : 0;
  for (i = 0; i < n; i++) {
    inside |= ready[i] - b->leave[seen + i]; /* its sign */
  }
  for (i = 0; i < BLOCK && (!n || inside >> 63); i++) {
    if (unlikely(b->leave[seen] > ready[i])) {
      b->most++;
    } else {
      seen = seen + 1 == b->k ? 0 : seen + 1;
    }
  }
  b->at = b->at + BLOCK < b->k ? b->at + BLOCK : b->at + BLOCK - b->k;
}

struct block_stage {
  uint64_t wait[BLOCK], start[BLOCK], finish[BLOCK], work[BLOCK];
};

/* What a server has to do for each packet of a block. */
static void block_work(struct cost *cost, uint64_t fixed, uint64_t packet, uint64_t *work)
{
  unsigned i;

  if (cost->varies) {
    tlg_draw(&cost->jitter, packet); /* the block's draws stand side by side */
    for (i = 0; i < BLOCK; i++) {
      work[i] = fixed + cost->jitter.values[i];
    }
  } else {
    for (i = 0; i < BLOCK; i++) {
      work[i] = fixed;
    }
  }
}

/* A server that takes up each packet when it is ready and the server free, after waking if it slept. */
static void block_serve(const uint64_t *ready, uint64_t free_since, uint64_t wake, struct block_stage *out)
{
  unsigned i;

  for (i = 0; i < BLOCK; i++) {
    const uint64_t start = ready[i] > free_since ? ready[i] + wake : free_since;

    out->start[i] = start;
    out->wait[i] = start - ready[i];
    free_since = start + out->work[i];
    out->finish[i] = free_since;
  }
}

static int block_source(struct tlg_sim *sim, uint64_t *air, uint64_t *air_rem)
{
  const struct row *row = sim->rows;
  uint64_t at = sim->air, rem = sim->air_rem;
  unsigned i;

  if (sim->s->arrivals == TLG_ARRIVALS_POISSON) {
    if (sim->batches % BLOCK) {
      return 0;
    }
    tlg_draw(&sim->gap, sim->batches);
    for (i = 0; i < BLOCK; i++) {
      at += sim->gap.values[i];
      air[i] = at;
    }
  } else {
    for (i = 0; i < BLOCK; i++) {
      at += row->air_q;
      rem += row->air_r;
      if (rem >= sim->air_den) {
        rem -= sim->air_den;
        at++;
      }
      air[i] = at;
    }
  }
  *air_rem = rem;
  return 1;
}

struct block_nic {
  struct moderation mod;
  uint64_t poll_free, fire, mod_wait[BLOCK];
};

static void block_nic(struct tlg_sim *sim, const uint64_t *arrival, struct block_nic *out, struct block_stage *k)
{
  struct nic_queue *q = sim->queues;
  const struct row *row = sim->rows;
  const int adapts = moderation_adapts(&q->mod);
  uint64_t poll_free = q->poll_free, fire = q->fire;
  unsigned i;

  out->mod = q->mod;
  for (i = 0; i < BLOCK; i++) {
    const uint64_t came = arrival[i];
    uint64_t start = poll_free, from;

    if (came > poll_free) {
      fire = tlg_moderation_fire(&out->mod, came);
      start = fire + tlg_draw(&q->interrupt, out->mod.fired);
    }
    if (adapts) {
      out->mod.packets += row->frames;
      out->mod.bytes += row->frame_bytes;
    }
    from = came > fire ? came : fire;
    out->mod_wait[i] = from - came;
    k->start[i] = start;
    k->wait[i] = start - from;
    poll_free = start + k->work[i];
    k->finish[i] = poll_free;
  }
  out->poll_free = poll_free;
  out->fire = fire;
}

static void block_deliver(struct tlg_sim *sim, const uint64_t *air, const uint64_t *out)
{
  const uint64_t n = sim->rows[0].n, packet = sim->sent;
  uint64_t latency[BLOCK];
  u128 in_sum = 0, out_sum = 0;
  unsigned i;

  for (i = 0; i < BLOCK; i++) {
    latency[i] = out[i] - air[i];
    in_sum += air[i];
    out_sum += out[i];
  }
  sim->sum_air += in_sum;
  sim->sum_out += out_sum;
  sim->delivered += BLOCK;
  sim->samples_delivered += BLOCK * n;
  sim->last_delivered = out[BLOCK - 1];
  for (i = 0; i < BLOCK; i++) {
    sim->sum_sojourn += latency[i];
  }
  tlg_stat_block(sim->packet, latency, BLOCK, packet);
  if (sim->s->has_phy && sim->position + BLOCK * n > sim->closing_input) {
    for (i = 0; i < BLOCK; i++) {
      struct item x;

      x.begin = sim->position + i * n;
      x.end = x.begin + n;
      if (x.end > sim->closing_input) {
        x.air = x.ready = air[i];
        x.packet = x.number = packet + i;
        tlg_framing_deliver(sim, &x, out[i]);
      }
    }
  }
}

/* What a block did to link, controller and kernel counts. Returns when its packets come to the threads. */
static const uint64_t *block_front(struct tlg_sim *sim, const uint64_t *air, const uint64_t *arrival,
                                   const struct block_stage *link, const struct block_nic *nic,
                                   const struct block_stage *kernel)
{
  const struct tlg_sim_scenario *s = sim->s;
  const struct row *row = sim->rows;
  const uint64_t packet = sim->sent;
  const uint64_t *ready = s->has_link ? arrival : air;

  if (s->has_link) {
    block_commit(&sim->sender, air, link->finish);
    sim->link_free = link->finish[BLOCK - 1];
    sim->link_arrived += BLOCK;
    sim->link_work += BLOCK * row->link_ps;
    tlg_stat_block(sim->link_wait, link->wait, BLOCK, packet);
    tlg_stat_block_same(sim->link_service, row->link_ps, BLOCK, packet);
  }
  if (sim->queues) {
    struct nic_queue *q = sim->queues;

    block_commit(&q->ring, s->has_link ? arrival : air, kernel->start);
    q->mod = nic->mod;
    q->fire = nic->fire;
    q->poll_free = nic->poll_free;
    q->work += BLOCK * cost_mean(&q->kernel, row->kernel_ps + q->kernel.c.fixed_ps);
    sim->nic_arrived += BLOCK;
    tlg_stat_block(sim->nic_wait, nic->mod_wait, BLOCK, packet);
    if (s->has_kernel) {
      tlg_stat_block(sim->kernel_wait, kernel->wait, BLOCK, packet);
      if (q->kernel.varies) {
        tlg_stat_block(sim->kernel_service, kernel->work, BLOCK, packet);
      } else {
        tlg_stat_block_same(sim->kernel_service, kernel->work[0], BLOCK, packet);
      }
    }
    ready = kernel->finish;
  }
  return ready;
}

/* From there on packet by packet, where threads have several stages, units, shared cores or queues that block. */
static void block_one_by_one(struct tlg_sim *sim, const uint64_t *air, const uint64_t *ready)
{
  const uint64_t n = sim->rows[0].n;
  unsigned i;

  for (i = 0; i < BLOCK; i++) {
    struct item x;

    x.begin = sim->position;
    sim->position += n;
    x.end = sim->position;
    x.air = air[i];
    x.ready = ready[i];
    x.packet = x.number = sim->sent++;
    sim->air = air[i];
    sim->sum_air += air[i];
    sim->batches++;
    tlg_stages_arrive(sim, &x);
  }
}

/* The next BLOCK packets, element by element, when nothing is lost, stalled or reported among them: the same numbers as
 * one by one, in a third of the time. Returns 0, with nothing changed, when they must go one by one. */
int tlg_block_run(struct tlg_sim *sim)
{
  const struct tlg_sim_scenario *s = sim->s;
  const struct row *row = sim->rows;
  const uint64_t packet = sim->sent;
  uint64_t air[BLOCK], arrival[BLOCK], gap[BLOCK], air_rem = 0, before;
  const uint64_t *ready = air;
  struct block_stage link, kernel, hop, st[TLG_SIM_THREADS];
  struct block_nic nic;
  unsigned i, t;

  while (packet >= sim->boundary) {
    sim->boundary += sim->stats[0].batch_length;
  }
  if (packet % BLOCK || packet + BLOCK > sim->boundary || s->n_packets - packet < BLOCK ||
      (sim->cfg.stamp_count && packet + BLOCK > sim->cfg.stamp_first &&
       packet < sim->cfg.stamp_first + sim->cfg.stamp_count) ||
      !packet || !block_source(sim, air, &air_rem)) {
    return 0;
  }
  if (s->has_link) {
    for (i = 0; i < BLOCK; i++) {
      link.work[i] = row->link_ps;
    }
    block_serve(ready, sim->link_free, 0, &link);
    if (!block_fits(&sim->sender, ready, link.finish)) {
      return 0;
    }
    for (i = 0; i < BLOCK; i++) {
      arrival[i] = link.finish[i] + s->link_latency_ps;
    }
    ready = arrival;
  }
  if (sim->queues) {
    struct nic_queue *q = sim->queues;

    block_work(&q->kernel, row->kernel_ps + q->kernel.c.fixed_ps, packet, kernel.work);
    block_nic(sim, ready, &nic, &kernel);
    if (!q->polled || kernel.finish[BLOCK - 1] >= q->stalls.next || !block_fits(&q->ring, ready, kernel.start)) {
      return 0;
    }
  }
  for (t = 0; sim->simple && t < sim->n_threads; t++) {
    struct thread *th = &sim->threads[t];
    const uint64_t *came = t ? st[t - 1].finish : sim->queues ? kernel.finish : ready;

    block_work(&th->stages[0].cost, cost_fixed(&th->stages[0].cost, row->n), packet, st[t].work);
    block_serve(came, th->free, th->cfg->wake_ps, &st[t]);
    if (!th->started || st[t].finish[BLOCK - 1] >= th->stalls.next || !block_fits(&th->queue, came, st[t].start)) {
      return 0;
    }
  }

  /* Nothing stands in the way: it counts. */
  ready = block_front(sim, air, arrival, &link, &nic, &kernel);
  if (!sim->simple) {
    block_one_by_one(sim, air, ready);
    sim->air_rem = air_rem;
    return 1;
  }
  for (t = 0; t < sim->n_threads; t++) {
    struct thread *th = &sim->threads[t];

    block_commit(&th->queue, ready, st[t].start);
    th->free = st[t].finish[BLOCK - 1];
    th->arrived += BLOCK;
    th->reads += BLOCK;
    th->stages[0].arrived += BLOCK;
    th->stages[0].work += BLOCK * cost_mean(&th->stages[0].cost, cost_fixed(&th->stages[0].cost, row->n));
    tlg_stat_block(th->wait, st[t].wait, BLOCK, packet);
    tlg_stat_block(th->stages[0].service, st[t].work, BLOCK, packet);
    if (t == 0) {
      before = sim->last_left;
      for (i = 0; i < BLOCK; i++) {
        gap[i] = st[0].finish[i] - before;
        before = st[0].finish[i];
      }
      sim->last_left = before;
      tlg_stat_block(sim->gap_stat, gap, BLOCK, packet);
      for (i = 0; i < BLOCK; i++) {
        gap[i] = st[0].finish[i] - air[i];
      }
      tlg_stat_block(sim->received, gap, BLOCK, packet);
    }
    ready = st[t].finish;
  }
  if (s->has_hop) {
    if (row->n != sim->hop_n) {
      tlg_hop_size(sim, row->n);
    }
    block_work(&sim->hop, sim->hop_busy_ps, packet, hop.work);
    block_serve(ready, sim->hop_free, 0, &hop);
    sim->hop_free = hop.finish[BLOCK - 1];
    sim->hop_arrived += BLOCK;
    sim->hop_work += BLOCK * cost_mean(&sim->hop, sim->hop_busy_ps);
    for (i = 0; i < BLOCK; i++) {
      hop.finish[i] += sim->hop_latency_ps;
      hop.work[i] += sim->hop_latency_ps; /* as one by one: until it is out */
    }
    tlg_stat_block(sim->hop_wait, hop.wait, BLOCK, packet);
    if (sim->hop.varies) {
      tlg_stat_block(sim->hop_service, hop.work, BLOCK, packet);
    } else {
      tlg_stat_block_same(sim->hop_service, hop.work[0], BLOCK, packet);
    }
    ready = hop.finish;
  }
  block_deliver(sim, air, ready);
  sim->air = air[BLOCK - 1];
  sim->air_rem = air_rem;
  sim->batches += BLOCK;
  sim->sent += BLOCK;
  sim->position += BLOCK * row->n;
  return 1;
}
