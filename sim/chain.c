/* SPDX-License-Identifier: Apache-2.0 */
/* The front end, stage by stage, as a recursion: sample clock, link, controller, kernel, threads, hop, PHY. */
#include "chain.h"

#include <stdlib.h>
#include <string.h>

/* ---- stamps and losses ------------------------------------------------------------------------------------- */

void tlg_chain_stamp(struct tlg_sim *sim, const char *element, const struct item *x, uint64_t start, uint64_t finish,
                     const char *note, int dropped)
{
  struct tlg_sim_stamp stamp;

  memset(&stamp, 0, sizeof stamp);
  stamp.element = element;
  stamp.packet = x->packet;
  stamp.begin = x->begin;
  stamp.end = x->end;
  stamp.ready = x->ready;
  stamp.start = start;
  stamp.finish = finish;
  stamp.note = note;
  stamp.dropped = dropped;
  if (sim->cfg.stamp) {
    sim->cfg.stamp(sim->cfg.stamp_arg, &stamp);
  }
  if (sim->fates) {
    tlg_fates_stamp(sim, &stamp);
  }
}

/* One packet is lost at an instant. */
static void packet_lost(struct tlg_sim *sim, uint64_t begin, uint64_t end, uint64_t air, uint64_t at)
{
  sim->dropped++;
  sim->sum_out += at;
  sim->sum_sojourn += at - air;
  if (at > sim->last_event) {
    sim->last_event = at;
  }
  tlg_framing_lost(sim, begin, end);
  if (unlikely(sim->fates != NULL)) {
    tlg_fates_lost(sim, end);
  }
}

void tlg_chain_lost(struct tlg_sim *sim, const struct item *x, uint64_t at)
{
  size_t i;

  if (!sim->has_units) {
    packet_lost(sim, x->begin, x->end, x->air, at);
    return;
  }
  for (i = sim->flight_tail; i != sim->flight_head; i--) {
    struct flight *f = &sim->flights[(i - 1) & sim->flight_mask];

    if (f->end <= x->begin) {
      break;
    }
    if (!f->lost && f->begin < x->end) {
      f->lost = 1;
      packet_lost(sim, f->begin, f->end, f->air, at);
    }
  }
}

/* ---- delivery ---------------------------------------------------------------------------------------------- */

static inline void packet_delivered(struct tlg_sim *sim, uint64_t begin, uint64_t end, uint64_t air, uint64_t packet,
                                    uint64_t at)
{
  if (unlikely(packet + 1 == sim->fault.lose_packet)) {
    return;
  }
  sim->delivered++;
  sim->samples_delivered += end - begin;
  sim->sum_out += at;
  sim->sum_sojourn += at - air;
  stat_add(sim->packet, at - air, packet);
  if (unlikely(sim->fates != NULL)) {
    tlg_fates_delivered(sim, end, at);
  }
}

static void flight_add(struct tlg_sim *sim, const struct item *x)
{
  struct flight *f;

  if (!sim->flights || sim->flight_tail - sim->flight_head > sim->flight_mask) {
    const size_t size = sim->flights ? 2 * (sim->flight_mask + 1) : 256, n = sim->flight_tail - sim->flight_head;
    struct flight *grown = malloc(size * sizeof *grown);
    size_t i;

    if (!grown) {
      sim->nomem = 1;
      return;
    }
    for (i = 0; i < n; i++) {
      grown[i] = sim->flights[(sim->flight_head + i) & sim->flight_mask];
    }
    free(sim->flights);
    sim->flights = grown;
    sim->flight_head = 0;
    sim->flight_tail = n;
    sim->flight_mask = size - 1;
  }
  f = &sim->flights[sim->flight_tail++ & sim->flight_mask];
  f->begin = x->begin;
  f->end = x->end;
  f->air = x->air;
  f->packet = x->packet;
  f->lost = 0;
}

/* What the hop costs for n samples: the transport's table by the bytes of the outputs, and the fixed costs. */
static void hop_size(struct tlg_sim *sim, uint64_t n)
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
      hop_size(sim, x->end - x->begin);
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
      tlg_chain_stamp(sim, "hop", &y, start, out, NULL, 0);
    }
  }
  if (out > sim->last_delivered) {
    sim->last_delivered = out;
  }
  if (!sim->has_units) {
    packet_delivered(sim, x->begin, x->end, x->air, x->packet, out);
  } else {
    while (sim->flight_head != sim->flight_tail) {
      const struct flight *f = &sim->flights[sim->flight_head & sim->flight_mask];

      if (f->end > x->end) {
        break;
      }
      if (!f->lost) {
        packet_delivered(sim, f->begin, f->end, f->air, f->packet, out);
      }
      sim->flight_head++;
    }
  }
  if (unlikely(x->end > sim->closing_input) && sim->s->has_phy) {
    tlg_framing_deliver(sim, x, out);
  }
}

/* ---- threads ----------------------------------------------------------------------------------------------- */

/* When a thread that was free since th->free begins with an item: after waking, or at the end of its idle loop. */
uint64_t tlg_thread_start(struct tlg_sim *sim, struct thread *th, uint64_t ready, uint64_t now)
{
  uint64_t start = now;

  (void)sim;
  if (ready > th->free || !th->started) {
    if (th->has_vacation) {
      uint64_t at = th->free;

      if (th->vacation.kind == TLG_DIST_CONSTANT) {
        const uint64_t n = (ready - at + th->vacation.base - 1) / th->vacation.base;

        at += n * th->vacation.base;
        th->rounds += n;
      } else {
        while (at < ready) {
          at += tlg_draw(&th->vacation, th->vacations++);
          th->rounds++;
        }
      }
      start = at > start ? at : start;
    } else if (start < ready + th->cfg->wake_ps) {
      start = ready + th->cfg->wake_ps;
    }
  }
  return start;
}

static void thread_emit(struct tlg_sim *sim, struct thread *th, const struct item *x, uint64_t *t)
{
  struct item y = *x;

  if (sim->use_events) {
    tlg_events_emit(sim, th, x, *t);
    return;
  }
  if (th->index + 1 == sim->n_threads) {
    tlg_chain_deliver(sim, x, *t);
    return;
  }
  {
    struct thread *next = &sim->threads[th->index + 1];

    if (next->queue.limit && next->cfg->overrun == TLG_SIM_BLOCK && !bounded_room(&next->queue, *t, 1, 0)) {
      *t = tlg_bounded_next(&next->queue); /* held until one leaves */
    }
    y.ready = *t;
    tlg_thread_arrive(sim, next, &y);
  }
}

/* The stages from s on, for one item, from instant *t on. */
static void thread_stages(struct tlg_sim *sim, struct thread *th, unsigned s, const struct item *x, uint64_t *t)
{
  for (; s < th->n_stages; s++) {
    struct stage *st = &th->stages[s];
    uint64_t fixed, work, begun;

    if (st->unit) {
      /* Collecting goes on while samples come; from the last one on the unit waits for the thread, as any item does. */
      const uint64_t came = s ? *t : x->ready;

      /* Units are counted by sample number, so that a gap does not shift the ones after it. */
      if (x->begin <= st->next_end - st->unit) {
        st->open_since = came;
      }
      while (x->end >= st->next_end) {
        struct item u = *x;

        if (unlikely(x->begin >= st->next_end && st->came_end <= st->next_end - st->unit)) {
          st->next_end += ((x->begin - st->next_end) / st->unit + 1) * st->unit; /* nothing of these came */
          st->open_since = came;
          continue;
        }
        u.begin = st->next_end - st->unit;
        u.end = st->next_end;
        u.ready = came;
        u.number = st->units++;
        if (stamped(sim, x->packet)) {
          struct item y = u;

          y.ready = st->open_since;
          tlg_chain_stamp(sim, st->name, &y, came, came, "has collected a unit", 0);
        }
        stat_add(st->collect, came > st->open_since ? came - st->open_since : 0, x->packet);
        st->arrived++;
        fixed = cost_fixed(&st->cost, st->unit);
        work = cost_draw(&st->cost, fixed, u.number);
        st->work += cost_mean(&st->cost, fixed);
        begun = *t;
        *t = stalls_run(&th->stalls, *t, work);
        stat_add(st->service, work, x->packet);
        if (stamped(sim, x->packet)) {
          tlg_chain_stamp(sim, st->name, &u, begun, *t, *t - begun > work ? "is stalled" : NULL, 0);
        }
        st->next_end += st->unit;
        st->open_since = came;
        u.ready = *t;
        thread_stages(sim, th, s + 1, &u, t);
      }
      st->came_end = x->end;
      return;
    }
    st->arrived++;
    fixed = cost_fixed(&st->cost, x->end - x->begin);
    work = cost_draw(&st->cost, fixed, x->number);
    st->work += cost_mean(&st->cost, fixed);
    begun = *t;
    *t = stalls_run(&th->stalls, *t, work);
    stat_add(st->service, work, x->packet);
    if (unlikely(*t - begun > work)) {
      stat_add(th->stalled, *t - begun - work, x->packet);
    }
    if (stamped(sim, x->packet)) {
      struct item y = *x;

      y.ready = s ? begun : x->ready;
      tlg_chain_stamp(sim, st->name, &y, begun, *t, *t - begun > work ? "is stalled" : NULL, 0);
    }
    if (s == 0 && th->index == 0) {
      stat_add(sim->received, *t - x->air, x->packet);
      if (sim->last_left) {
        stat_add(sim->gap_stat, *t - sim->last_left, x->packet);
      }
      sim->last_left = *t;
    }
  }
  thread_emit(sim, th, x, t);
}

/* All that the thread does with one item, begun at an instant; leaves th->free at its end. */
void tlg_thread_job(struct tlg_sim *sim, struct thread *th, const struct item *x, uint64_t start)
{
  uint64_t t;

  start = stalls_begin(&th->stalls, start);
  t = start;
  stat_add(th->wait, start - x->ready, x->packet);
  th->started = 1;
  th->reads++;
  if (th->queue.limit) {
    bounded_put(&th->queue, x->ready, start, thread_weight(sim, th, x));
  }
  thread_stages(sim, th, 0, x, &t);
  th->free = unlikely(sim->fault.service_frees) ? start : t;
}

/* x met a full queue. */
void tlg_thread_overrun(struct tlg_sim *sim, struct thread *th, const struct item *x)
{
  unsigned k;

  if (th->dropped++ == 0) {
    th->first_drop = x->ready;
  }
  /* The load is what was offered. Units go on without the lost samples, and count when they are done. */
  for (k = 0; k < th->n_stages && !th->stages[k].unit; k++) {
    th->stages[k].work += cost_mean(&th->stages[k].cost, cost_fixed(&th->stages[k].cost, x->end - x->begin));
  }
  if (stamped(sim, x->packet)) {
    tlg_chain_stamp(sim, th->by_bytes ? "socket" : th->cfg->name, x, x->ready, x->ready, "its queue is full", 1);
  }
  tlg_chain_lost(sim, x, x->ready);
}

/* x has come to the thread's queue, at x->ready. */
void tlg_thread_arrive(struct tlg_sim *sim, struct thread *th, const struct item *x)
{
  const uint64_t now = x->ready > th->free ? x->ready : th->free;

  th->arrived++;
  if (th->queue.limit && !bounded_room(&th->queue, x->ready, thread_weight(sim, th, x), 0)) {
    tlg_thread_overrun(sim, th, x);
    return;
  }
  tlg_thread_job(sim, th, x, tlg_thread_start(sim, th, x->ready, now));
}

/* The same for a chain in which every thread has one stage without units and no queue blocks: the usual one, in one
 * loop and without copies. Returns 0 if the packet was lost. */
static inline int threads_simple(struct tlg_sim *sim, struct item *x)
{
  const uint64_t n = x->end - x->begin, packet = x->packet;
  uint64_t ready = x->ready;
  unsigned i;

  for (i = 0; i < sim->n_threads; i++) {
    struct thread *th = &sim->threads[i];
    struct stage *st = &th->stages[0];
    uint64_t start = ready > th->free ? ready : th->free, fixed, work, finish;

    th->arrived++;
    if (th->queue.limit && !bounded_room(&th->queue, ready, thread_weight(sim, th, x), 0)) {
      x->ready = ready;
      tlg_thread_overrun(sim, th, x);
      return 0;
    }
    if (th->idles && (ready > th->free || !th->started)) {
      start = tlg_thread_start(sim, th, ready, start);
    }
    start = stalls_begin(&th->stalls, start);
    th->started = 1;
    th->reads++;
    if (th->queue.limit) {
      bounded_put(&th->queue, ready, start, thread_weight(sim, th, x));
    }
    st->arrived++;
    fixed = cost_fixed(&st->cost, n);
    work = cost_draw(&st->cost, fixed, packet);
    st->work += cost_mean(&st->cost, fixed);
    finish = stalls_run(&th->stalls, start, work);
    stat_add(th->wait, start - ready, packet);
    stat_add(st->service, work, packet);
    if (unlikely(finish - start > work)) {
      stat_add(th->stalled, finish - start - work, packet);
    }
    if (stamped(sim, packet)) {
      x->ready = ready;
      tlg_chain_stamp(sim, st->name, x, start, finish, finish - start > work ? "is stalled" : NULL, 0);
    }
    if (i == 0) {
      stat_add(sim->received, finish - x->air, packet);
      if (sim->last_left) {
        stat_add(sim->gap_stat, finish - sim->last_left, packet);
      }
      sim->last_left = finish;
    }
    th->free = unlikely(sim->fault.service_frees) ? start : finish;
    ready = finish;
  }
  x->ready = ready;
  return 1;
}

static void to_threads(struct tlg_sim *sim, struct item *x)
{
  if (sim->n_queues > 1) { /* the receiver needs the samples in order */
    if (x->ready < sim->in_order) {
      x->ready = sim->in_order;
    }
    sim->in_order = x->ready;
  }
  if (sim->has_units) {
    flight_add(sim, x);
  }
  if (sim->simple) {
    if (threads_simple(sim, x)) {
      tlg_chain_deliver(sim, x, x->ready);
    }
  } else if (sim->use_events) {
    tlg_events_arrive(sim, &sim->threads[0], x);
  } else {
    tlg_thread_arrive(sim, &sim->threads[0], x);
  }
}

/* ---- controller and kernel --------------------------------------------------------------------------------- */

static uint32_t queue_of(const struct tlg_sim *sim, uint64_t packet)
{
  uint64_t h = packet % sim->s->flows + 1;

  h *= 0x9E3779B97F4A7C15u; /* as spread as a hash of addresses; one flow stays in one queue */
  return (uint32_t)((h >> 32) % sim->n_queues);
}

static void kernel_serve(struct tlg_sim *sim, struct nic_queue *q, struct item *x, const struct row *row,
                         uint64_t start)
{
  const uint64_t fixed = row->kernel_ps + q->kernel.c.fixed_ps;
  const uint64_t work = cost_draw(&q->kernel, fixed, x->packet);
  const uint64_t arrival = x->ready, polled_from = arrival > q->fire ? arrival : q->fire;
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
    tlg_chain_stamp(sim, "nic", x, polled_from, polled_from, polled_from > arrival ? "waits for the interrupt" : NULL,
                    0);
    if (sim->s->has_kernel) {
      struct item y = *x;

      y.ready = polled_from;
      tlg_chain_stamp(sim, "kernel", &y, start, finish, finish - start > work ? "is stalled" : NULL, 0);
    }
  }
  x->ready = finish;
  to_threads(sim, x);
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
  q->poll_free = fire + interrupt_ps(q);
  q->polled = 1;
  q->burst = 0;
  for (i = 0; i < q->n_pending; i++) {
    kernel_serve(sim, q, &q->pending[i].x, q->pending[i].row, q->poll_free);
  }
  q->n_pending = 0;
  q->pending_frames = 0;
}

static void nic_arrive(struct tlg_sim *sim, struct item *x, const struct row *row)
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
      packet_lost(sim, x->begin, x->end, x->air, x->ready);
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
    start = q->fire + interrupt_ps(q);
  }
  kernel_serve(sim, q, x, row, start);
}

/* ---- source and link --------------------------------------------------------------------------------------- */

static void link_send(struct tlg_sim *sim, struct item *x, const struct row *row)
{
  const uint64_t start = x->ready > sim->link_free ? x->ready : sim->link_free;
  const uint64_t finish = start + row->link_ps;

  sim->link_arrived++;
  if (sim->sender.limit) {
    if (!bounded_room(&sim->sender, x->ready, row->wire_bytes, 0)) {
      if (sim->sender_dropped++ == 0) {
        sim->sender_first_drop = x->ready;
      }
      sim->link_work += row->link_ps;
      if (stamped(sim, x->packet)) {
        tlg_chain_stamp(sim, "sender", x, x->ready, x->ready, "its buffer is full", 1);
      }
      packet_lost(sim, x->begin, x->end, x->air, x->ready);
      return;
    }
    bounded_put(&sim->sender, x->ready, finish, row->wire_bytes);
  }
  sim->link_free = finish;
  sim->link_work += row->link_ps;
  stat_add(sim->link_wait, start - x->ready, x->packet);
  stat_add(sim->link_service, row->link_ps, x->packet);
  if (stamped(sim, x->packet)) {
    tlg_chain_stamp(sim, "link", x, start, finish, NULL, 0);
  }
  x->ready = finish + sim->s->link_latency_ps;
  if (sim->queues) {
    nic_arrive(sim, x, row);
  } else {
    to_threads(sim, x);
  }
}

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

    y.ready = tlg_instant_ps(x.begin, &sim->s->rate);
    tlg_chain_stamp(sim, "source", &y, y.ready, x.air, "fills the packet", 0);
  }
  if (sim->s->has_link) {
    link_send(sim, &x, row);
  } else if (sim->queues) {
    nic_arrive(sim, &x, row);
  } else {
    to_threads(sim, &x);
  }
}

static void source_send(struct tlg_sim *sim)
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

/* ---- whole blocks ------------------------------------------------------------------------------------------ */

enum { BLOCK = DRAW_AHEAD };

/* Whether block_run may be tried at all: packets of one size one by one, one receive queue. */
static int blockable(const struct tlg_sim *sim)
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
  uint64_t seen, n;
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
  /* As bounded_put: is the one `most` before still inside? */
  seen = b->at >= b->most ? b->at - b->most : b->at + b->k - b->most;
  for (i = 0; i < BLOCK; i++) {
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
    to_threads(sim, &x);
  }
}

/* The next BLOCK packets, element by element, when nothing is lost, stalled or reported among them: the same numbers as
 * one by one, in a third of the time. Returns 0, with nothing changed, when they must go one by one. */
static int block_run(struct tlg_sim *sim)
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
      hop_size(sim, row->n);
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
  unsigned q;

  for (q = 0; sim->queues && q < sim->n_queues; q++) {
    if (sim->queues[q].n_pending) {
      release_pending(sim, &sim->queues[q], sim->queues[q].pending_fire);
    }
  }
  if (sim->use_events) {
    tlg_events_until(sim, never);
  }
  while (sim->flight_head != sim->flight_tail) { /* their unit never became complete */
    const struct flight *f = &sim->flights[sim->flight_head++ & sim->flight_mask];

    if (!f->lost) {
      sim->sent_in_units++;
      sim->sum_out += f->air;
    }
  }
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
      if (sim->blocks && chunk >= BLOCK && block_run(sim)) {
        chunk -= BLOCK;
      } else {
        source_send(sim);
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

/* ---- packets from outside ---------------------------------------------------------------------------------- */

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

int tlg_sim_feed(struct tlg_sim *sim, uint64_t begin, uint64_t end)
{
  if (!sim || !sim->fates || !tlg_fates_fit(sim, begin, end)) {
    return TLG_EINVAL;
  }
  if (sim->nomem) {
    return TLG_ENOMEM;
  }
  feed_air(sim, begin, end);
  tlg_fates_sent(sim, begin, end);
  source_packet(sim, begin, end, tlg_fates_row(sim, end - begin));
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

/* ---- making and ending a run ------------------------------------------------------------------------------- */

static struct stat *stat_new(struct tlg_sim *sim)
{
  struct stat *s = &sim->stats[sim->n_stats];

  if (tlg_delays_new(&s->d) != TLG_OK) {
    return NULL;
  }
  sim->n_stats++;
  s->public.delays = s->d;
  s->batch_length = (sim->s->n_packets - sim->warmup) / TLG_SIM_BATCHES;
  if (!s->batch_length) {
    s->batch_length = 1;
  }
  s->batch_end = sim->warmup; /* the first roll ends the warm-up */
  return s;
}

static uint64_t ps_of_bytes(uint64_t bytes, uint64_t bits_per_second)
{
  return bits_per_second ? (uint64_t)((u128)bytes * 8 * 1000000000000u / bits_per_second) : 0;
}

void tlg_sim_frame(const struct tlg_sim_scenario *s, uint64_t n, struct tlg_sim_frame *frame)
{
  const uint64_t payload = n * s->sample_bytes + s->header_bytes, datagram = payload + 8, room = s->mtu - 20;
  const uint64_t part = room / 8 * 8; /* fragments begin on multiples of 8 bytes */
  const uint64_t frames = datagram <= room ? 1 : (datagram - room + part - 1) / part + 1;
  const uint64_t last = datagram - (frames - 1) * part;
  uint64_t head = (payload + 28 + 31 + 63) / 64 * 64, size = 1;

  frame->payload_bytes = payload;
  frame->frames = frames;
  frame->wire_bytes = datagram + frames * (20 + 38);
  if (last + 20 < 46) { /* the shortest frame is padded */
    frame->wire_bytes += 46 - (last + 20);
  }
  if (s->datagram_bytes) {
    frame->charged_bytes = s->datagram_bytes;
  } else if (head <= 256) {
    frame->charged_bytes = 832;
  } else if (head + 320 <= 16384) {
    while (size < head + 320) {
      size *= 2;
    }
    frame->charged_bytes = size + 256;
  } else {
    frame->charged_bytes = 832 + payload;
  }
}

void tlg_row_make(const struct tlg_sim_scenario *s, struct row *r, uint64_t n)
{
  const u128 ps = (u128)n * 1000000000000u * s->rate.den;
  struct tlg_sim_frame f;

  tlg_sim_frame(s, n, &f);
  r->n = n;
  r->air_q = (uint64_t)(ps / s->rate.num);
  r->air_r = (uint64_t)(ps % s->rate.num);
  r->wire_bytes = f.wire_bytes;
  r->frame_bytes = f.wire_bytes - 24 * f.frames; /* as drivers count: no preamble, check sum, gap */
  r->frames = s->has_link ? f.frames : 1;
  r->charged = f.charged_bytes;
  r->link_ps = ps_of_bytes(f.wire_bytes, s->link_bps);
  r->kernel_ps = (uint64_t)((u128)(s->kernel.per_byte_fs + s->checksum_fs) * f.payload_bytes / 1000) +
                 (uint64_t)((u128)s->kernel.per_sample_fs * r->n / 1000) + s->fragment_ps * (r->frames - 1);
}

static int rows_new(struct tlg_sim *sim)
{
  const struct tlg_sim_scenario *s = sim->s;
  size_t i;

  sim->n_rows = s->n_sizes;
  sim->one_size = s->n_sizes == 1 && !sim->cfg.fate; /* what is fed may be cut short */
  sim->rows = calloc(s->n_sizes, sizeof *sim->rows);
  if (!sim->rows) {
    return TLG_ENOMEM;
  }
  sim->air_den = s->rate.num;
  for (i = 0; i < s->n_sizes; i++) {
    tlg_row_make(s, &sim->rows[i], s->sizes[i]);
  }
  return TLG_OK;
}

static int queues_new(struct tlg_sim *sim)
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
  return TLG_OK;
}

static int threads_new(struct tlg_sim *sim)
{
  const struct tlg_sim_scenario *s = sim->s;
  unsigned i, k;

  sim->n_threads = s->n_threads;
  sim->simple = !sim->use_events;
  for (i = 0; i < s->n_threads; i++) {
    const struct tlg_sim_thread *from = &s->threads[i];
    struct thread *th = &sim->threads[i];
    struct tlg_dist vacation = from->vacation;

    th->cfg = from;
    th->index = i;
    th->n_stages = from->n_stages;
    th->by_bytes = i == 0 && s->socket_bytes;
    if (tlg_bounded_init(&th->queue, th->by_bytes ? s->socket_bytes : from->queue,
                         !th->by_bytes   ? 1
                         : sim->one_size ? sim->rows[0].charged
                                         : 0) != TLG_OK ||
        !(th->wait = stat_new(sim)) || (s->n_stalls && !(th->stalled = stat_new(sim)))) {
      return TLG_ENOMEM;
    }
    if (from->poll.tasks) {
      vacation.kind = TLG_DIST_CONSTANT;
      vacation.low_ps =
          from->poll.tasks * from->poll.task_ps + from->poll.busy_ps +
          (from->poll.tasks * from->poll.reads_per_task + from->poll.reads_per_round) * from->poll.clock_ps;
    }
    th->has_vacation = tlg_dist_mean(&vacation) > 0;
    tlg_draw_init(&th->vacation, &vacation, sim->seed, 0x3000 + i, DRAW_VACATION);
    tlg_stalls_init(&th->stalls, s, sim->seed, (int)i);
    th->idles = th->has_vacation || from->wake_ps;
    sim->simple &= !th->has_vacation && from->n_stages == 1 && !from->stages[0].unit &&
                   !(from->queue && from->overrun == TLG_SIM_BLOCK);
    for (k = 0; k < from->n_stages; k++) {
      struct stage *st = &th->stages[k];

      st->name = from->stages[k].name;
      st->unit = from->stages[k].unit;
      st->next_end = st->unit + from->stages[k].unit_phase;
      tlg_cost_init(&st->cost, &from->stages[k].cost, sim->seed, 0x1000 + i * TLG_SIM_STAGES + k);
      if (!(st->service = stat_new(sim)) || (st->unit && !(st->collect = stat_new(sim)))) {
        return TLG_ENOMEM;
      }
      sim->has_units |= st->unit != 0;
    }
  }
  return TLG_OK;
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

int tlg_sim_new(struct tlg_sim **out, const struct tlg_sim_scenario *s, const struct tlg_sim_cfg *cfg,
                struct tlg_error *err)
{
  struct tlg_sim *sim = NULL;
  struct tlg_dist gap = {0};
  u128 cycle = 0;
  size_t i;
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
    goto nomem;
  }
  if (cfg) {
    sim->cfg = *cfg;
  }
  if (!sim->cfg.stamp) {
    sim->cfg.stamp_count = 0;
  }
  sim->seed = sim->cfg.seed ? sim->cfg.seed : s->seed;
  sim->use_events = sim->cfg.engine == TLG_ENGINE_EVENTS || (sim->cfg.engine == TLG_ENGINE_AUTO && shares_cores(s));
  if (sim->cfg.engine == TLG_ENGINE_RECURSION && shares_cores(s)) {
    tlg_sim_free(sim);
    return tlg_error_set(err, TLG_EINVAL, "threads share a core: that needs events");
  }
  if (sim->use_events && sim->s->n_threads) {
    for (i = 0; i < s->n_threads; i++) {
      if (s->threads[i].queue && s->threads[i].overrun == TLG_SIM_BLOCK) {
        tlg_sim_free(sim);
        return tlg_error_set(err, TLG_EFORMAT,
                             "a queue that blocks (thread '%s') and threads that share a core cannot be combined: give "
                             "each thread a core of its own, or use overrun = \"drop\"",
                             s->threads[i].name);
      }
    }
  }
  if (sim->cfg.fate) { /* as many as come */
    sim->s->n_packets = 1ull << 40;
    sim->s->warmup_ppm = 0;
    sim->cfg.stamp_first = 0;
    sim->cfg.stamp_count = UINT64_MAX;
  }
  sim->warmup = (uint64_t)((u128)sim->s->n_packets * sim->s->warmup_ppm / 1000000);
  if (rows_new(sim) != TLG_OK || queues_new(sim) != TLG_OK || threads_new(sim) != TLG_OK ||
      tlg_bounded_init(&sim->sender, s->has_link ? s->sender_buffer_bytes : 0,
                       sim->one_size ? sim->rows[0].wire_bytes : 0) != TLG_OK) {
    goto nomem;
  }
  for (i = 0; i < s->n_sizes; i++) {
    cycle += s->sizes[i];
  }
  gap.kind = TLG_DIST_EXPONENTIAL;
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
  tlg_cost_init(&sim->hop, &s->hop, sim->seed, 0x4000);
  if ((s->has_link && (!(sim->link_wait = stat_new(sim)) || !(sim->link_service = stat_new(sim)))) ||
      (sim->queues && !(sim->nic_wait = stat_new(sim))) ||
      (s->has_kernel && (!(sim->kernel_wait = stat_new(sim)) || !(sim->kernel_service = stat_new(sim)))) ||
      (s->has_hop && (!(sim->hop_wait = stat_new(sim)) || !(sim->hop_service = stat_new(sim)))) ||
      !(sim->packet = stat_new(sim)) ||
      (s->n_threads && (!(sim->gap_stat = stat_new(sim)) || !(sim->received = stat_new(sim)))) ||
      (s->has_phy && (!(sim->subframe_stat = stat_new(sim)) || !(sim->closing = stat_new(sim))))) {
    goto nomem;
  }
  sim->closing_input = never;
  sim->blocks = blockable(sim);
  sim->boundary = sim->warmup;
  if (sim->cfg.fate) {
    if (tlg_fates_new(sim) != TLG_OK) {
      goto nomem;
    }
  } else {
    tlg_framing_init(sim);
  }
  if (sim->use_events && tlg_events_new(sim) != TLG_OK) {
    goto nomem;
  }
  *out = sim;
  return TLG_OK;
nomem:
  tlg_sim_free(sim);
  return tlg_error_set(err, TLG_ENOMEM, "out of memory");
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
  for (i = 0; i < sim->n_threads; i++) {
    tlg_bounded_free(&sim->threads[i].queue);
  }
  for (i = 0; sim->queues && i < sim->n_queues; i++) {
    tlg_bounded_free(&sim->queues[i].ring);
    free(sim->queues[i].pending);
  }
  tlg_events_free(sim);
  tlg_fates_free(sim);
  free(sim->queues);
  tlg_bounded_free(&sim->sender);
  free(sim->flights);
  free(sim->rows);
  tlg_sim_scenario_free(sim->s);
  free(sim);
}
