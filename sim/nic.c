/* SPDX-License-Identifier: Apache-2.0 */
/* The controller and the kernel: rings, when the interrupt comes, what a packet costs, several receive queues. */
#include "chain.h"

#include <stdlib.h>

static uint32_t queue_of(const struct tlg_sim *sim, uint64_t packet)
{
  uint64_t h = packet % sim->s->flows + 1;

  h *= 0x9E3779B97F4A7C15u; /* as spread as a hash of addresses; one flow stays in one queue */
  return (uint32_t)((h >> 32) % sim->n_queues);
}

/* The stamps of the controller and of the kernel, which was free and asked to begin at an instant. */
static void told(struct tlg_sim *sim, const struct nic_queue *q, const struct item *x, uint64_t asked, uint64_t start,
                 uint64_t finish, uint64_t stalled)
{
  const uint64_t polled_from = x->ready > q->fire ? x->ready : q->fire;
  struct why *why = &sim->why;
  struct item y = *x;

  why->n = 0;
  if (sim->cfg.stamp) {
    tlg_why_add(sim, why, x->ready, TLG_WAIT_INTERRUPT, "nic", 0, polled_from);
  }
  tlg_chain_served(sim, "nic", x, polled_from, polled_from, why->n ? "waits for the interrupt" : NULL, 0, why);
  if (!sim->s->has_kernel) {
    return;
  }
  why->n = 0;
  if (sim->cfg.stamp) {
    tlg_why_add(sim, why, polled_from, TLG_WAIT_SERVED, "kernel", 0, q->served < asked ? q->served : asked);
    tlg_why_add(sim, why, polled_from, TLG_WAIT_EARLIER, "kernel", 0, asked);
    tlg_why_add(sim, why, polled_from, TLG_WAIT_STALL, "kernel", 0, start);
  }
  y.ready = polled_from;
  tlg_chain_served(sim, "kernel", &y, start, finish, stalled ? "is stalled" : NULL, stalled, why);
}

static void kernel_serve(struct tlg_sim *sim, struct nic_queue *q, struct item *x, const struct row *row,
                         uint64_t start)
{
  const uint64_t fixed = row->kernel_ps + q->kernel.c.fixed_ps;
  const uint64_t work = cost_draw(&q->kernel, fixed, x->packet);
  const uint64_t arrival = x->ready, polled_from = arrival > q->fire ? arrival : q->fire, asked = start;
  uint64_t finish;

  start = stalls_begin(&q->stalls, start);
  finish = stalls_run(&q->stalls, start, work);

  q->work += cost_mean(&q->kernel, fixed);
  q->poll_free = finish;
  q->mod.packets += row->frames;
  q->mod.bytes += row->frame_bytes;
  if (sim->s->budget && ++q->burst == sim->s->budget) {
    q->burst = 0;
    q->poll_free += sim->s->budget_ps;
  }
  if (q->ring.limit) {
    bounded_put(&q->ring, arrival, start, row->frames);
  }
  stat_add(sim->nic_wait, polled_from - arrival, x->packet);
  if (sim->s->has_kernel) {
    stat_add(sim->kernel_wait, start - polled_from, x->packet);
    stat_add(sim->kernel_service, work, x->packet);
  }
  if (stamped(sim, x->packet)) {
    told(sim, q, x, asked, start, finish, finish - start - work);
  }
  x->ready = finish;
  tlg_stages_arrive(sim, x);
}

static uint64_t interrupt_ps(struct nic_queue *q)
{
  return tlg_draw(&q->interrupt, q->mod.fired);
}

/* The interrupt that a one-shot timer with a frame limit was waiting for. */
static void release_pending(struct tlg_sim *sim, struct nic_queue *q, uint64_t fire)
{
  unsigned i;

  tlg_moderation_fired(&q->mod, fire);
  q->fire = fire;
  q->served = q->poll_free = fire + interrupt_ps(q);
  q->polled = 1;
  q->burst = 0;
  for (i = 0; i < q->n_pending; i++) {
    kernel_serve(sim, q, &q->pending[i].x, q->pending[i].row, q->poll_free);
  }
  q->n_pending = 0;
  q->pending_frames = 0;
}

void tlg_nic_arrive(struct tlg_sim *sim, struct item *x, const struct row *row)
{
  struct nic_queue *q = sim->n_queues > 1 ? &sim->queues[queue_of(sim, x->packet)] : sim->queues;
  uint64_t start;

  sim->nic_arrived++;
  if (q->n_pending && x->ready > q->pending_fire) {
    release_pending(sim, q, q->pending_fire);
  }
  if (q->ring.limit && !bounded_room(&q->ring, x->ready, row->frames, q->pending_frames)) {
    if (sim->s->flow == TLG_FLOW_ON && row->frames <= q->ring.limit) {
      /* The link is paused until there is room, and what follows waits in the sender. */
      const uint64_t before = x->ready;

      while (!bounded_room(&q->ring, x->ready, row->frames, 0)) {
        x->ready = tlg_bounded_next(&q->ring);
      }
      sim->link_free += x->ready - before;
      stat_add(sim->link_wait, x->ready - before, x->packet);
    } else {
      if (sim->nic_dropped++ == 0) {
        sim->nic_first_drop = x->ready;
      }
      q->work += cost_mean(&q->kernel, row->kernel_ps + q->kernel.c.fixed_ps);
      if (stamped(sim, x->packet)) {
        tlg_chain_stamp(sim, "nic", x, x->ready, x->ready, "its ring is full", 1);
      }
      tlg_packet_lost(sim, x, x->ready);
      return;
    }
  }
  if (q->polled && x->ready + sim->fault.tie <= q->poll_free) {
    start = q->poll_free;
  } else if (q->pending) {
    if (!q->n_pending) {
      q->pending_fire = x->ready + q->mod.period_ps;
    }
    q->pending[q->n_pending].x = *x;
    q->pending[q->n_pending++].row = row;
    q->pending_frames += row->frames;
    if (q->pending_frames >= sim->s->moderation_frames) {
      release_pending(sim, q, x->ready);
    }
    return;
  } else {
    q->fire = tlg_moderation_fire(&q->mod, x->ready);
    q->burst = 0;
    q->polled = 1;
    q->served = start = q->fire + interrupt_ps(q);
  }
  kernel_serve(sim, q, x, row, start);
}

int tlg_nic_new(struct tlg_sim *sim)
{
  const struct tlg_sim_scenario *s = sim->s;
  unsigned i;

  sim->n_queues = s->has_nic ? s->queues : 1;
  if (!s->has_nic && !s->has_kernel) {
    return TLG_OK;
  }
  sim->queues = calloc(sim->n_queues, sizeof *sim->queues);
  if (!sim->queues) {
    return TLG_ENOMEM;
  }
  for (i = 0; i < sim->n_queues; i++) {
    struct nic_queue *q = &sim->queues[i];

    tlg_moderation_init(&q->mod, s);
    if (tlg_bounded_init(&q->ring, s->has_nic ? s->ring : 0, sim->one_size ? sim->rows[0].frames : 0) != TLG_OK) {
      return TLG_ENOMEM;
    }
    tlg_draw_init(&q->interrupt, &s->interrupt, sim->seed, 0x2000 + i, DRAW_WAKE);
    tlg_cost_init(&q->kernel, &s->kernel, sim->seed, 0x2000 + i);
    tlg_stalls_init(&q->stalls, s, sim->seed, TLG_STALL_KERNEL);
    if (s->has_nic && s->moderation == TLG_MODERATION_ONESHOT && s->moderation_frames) {
      q->pending = calloc(s->moderation_frames + 1, sizeof *q->pending);
      if (!q->pending) {
        return TLG_ENOMEM;
      }
    }
  }
  sim->nic_wait = tlg_stat_new(sim);
  if (s->has_kernel) {
    sim->kernel_wait = tlg_stat_new(sim);
    sim->kernel_service = tlg_stat_new(sim);
  }
  return sim->nic_wait && (!s->has_kernel || (sim->kernel_wait && sim->kernel_service)) ? TLG_OK : TLG_ENOMEM;
}

void tlg_nic_drain(struct tlg_sim *sim)
{
  unsigned q;

  for (q = 0; sim->queues && q < sim->n_queues; q++) {
    if (sim->queues[q].n_pending) {
      release_pending(sim, &sim->queues[q], sim->queues[q].pending_fire);
    }
  }
}

void tlg_nic_free(struct tlg_sim *sim)
{
  unsigned i;

  for (i = 0; sim->queues && i < sim->n_queues; i++) {
    tlg_bounded_free(&sim->queues[i].ring);
    free(sim->queues[i].pending);
  }
  free(sim->queues);
}
