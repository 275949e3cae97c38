/* SPDX-License-Identifier: Apache-2.0 */
/* Threads and their stages: queues in front, waking, units of samples, and what a full queue does. */
#include "chain.h"

#include <stdlib.h>

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

/* What it then waited for, until it began at an instant: the loop's end, or the waking. */
void tlg_thread_idled(struct tlg_sim *sim, struct thread *th, const struct item *x, uint64_t start)
{
  if (explained(sim, x->packet)) {
    tlg_why_add(sim, &th->why, x->ready, th->has_vacation ? TLG_WAIT_LOOP : TLG_WAIT_WAKE, th->cfg->name, th->cfg->core,
                start);
  }
}

/* A stage's stamp. Items and units at the first stage have waited as the thread's job had, and then for the units
 * before them; behind it, for these alone. */
static void stage_told(struct tlg_sim *sim, struct thread *th, const struct stage *st, const struct item *x,
                       uint64_t ready, uint64_t start, uint64_t finish, uint64_t stalled)
{
  struct why *why = st == th->stages ? &th->why : &sim->why;
  const size_t n = st == th->stages ? why->n : 0;
  const uint64_t until = n ? why->e[n - 1].until : 0;
  struct item y = *x;

  y.ready = ready;
  why->n = n;
  if (sim->cfg.stamp) {
    tlg_why_add(sim, why, ready, TLG_WAIT_EARLIER, th->cfg->name, th->cfg->core, start);
  }
  tlg_chain_served(sim, st->name, &y, start, finish, stalled ? "is stalled" : NULL, stalled, why);
  why->n = n; /* the job's own, for the next unit */
  if (n) {
    why->e[n - 1].until = until;
  }
}

static inline void thread_emit(struct tlg_sim *sim, struct thread *th, const struct item *x, uint64_t *t)
{
  struct thread *next = &sim->threads[th->index + 1];
  struct item y;

  if (th->index + 1 == sim->n_threads) { /* what leaves the last thread meets nothing that could come before it */
    tlg_chain_deliver(sim, x, *t);
    return;
  }
  if (sim->use_events) {
    tlg_events_emit(sim, th, x, *t);
    return;
  }
  if (next->queue.limit && next->cfg->overrun == TLG_SIM_BLOCK && !bounded_room(&next->queue, *t, 1, 0)) {
    *t = tlg_bounded_next(&next->queue); /* held until one leaves */
  }
  y = *x;
  y.ready = *t;
  tlg_thread_arrive(sim, next, &y);
}

/* A stage serves one item or unit from an instant on: returns when it is done. ready: since when the item could
 * have been served here, for the report. */
static inline uint64_t stage_serve(struct tlg_sim *sim, struct thread *th, struct stage *st, const struct item *x,
                                   uint64_t ready, uint64_t start)
{
  const uint64_t fixed = cost_fixed(&st->cost, x->end - x->begin), work = cost_draw(&st->cost, fixed, x->number);
  const uint64_t finish = stalls_run(&th->stalls, start, work);

  st->arrived++;
  st->work += cost_mean(&st->cost, fixed);
  stat_add(st->service, work, x->packet);
  if (unlikely(finish - start > work)) {
    stat_add(th->stalled, finish - start - work, x->packet);
  }
  if (stamped(sim, x->packet)) {
    stage_told(sim, th, st, x, ready, start, finish, finish - start - work);
  }
  if (st == &sim->threads[0].stages[0] && !st->unit) {
    stat_add(sim->received, finish - x->air, x->packet);
    if (sim->last_left) {
      stat_add(sim->gap_stat, finish - sim->last_left, x->packet);
    }
    sim->last_left = finish;
  }
  return finish;
}

/* The thread takes up an item, ready since an instant, at another one: returns when its first stage begins. */
static inline uint64_t thread_take(struct tlg_sim *sim, struct thread *th, const struct item *x, uint64_t ready,
                                   uint64_t start)
{
  const uint64_t asked = start;

  start = stalls_begin(&th->stalls, start);
  if (unlikely(start > asked) && explained(sim, x->packet)) {
    tlg_why_add(sim, &th->why, ready, TLG_WAIT_STALL, th->cfg->name, th->cfg->core, start);
  }
  th->started = 1;
  th->reads++;
  if (th->queue.limit) {
    bounded_put(&th->queue, ready, start, thread_weight(sim, th, x));
  }
  stat_add(th->wait, start - ready, x->packet);
  return start;
}

/* The stages from s on, for one item, from instant *t on. */
static void thread_stages(struct tlg_sim *sim, struct thread *th, unsigned s, const struct item *x, uint64_t *t)
{
  for (; s < th->n_stages; s++) {
    struct stage *st = &th->stages[s];

    if (st->unit) {
      /* Collecting goes on while samples come; from the last one on the unit waits for the thread, as any item does. */
      const uint64_t came = s ? *t : x->ready;
      int begun = 0;

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
        /* The first one's wait in front of the thread is that of the packet which completed it, and booked; the others
         * wait for the ones before them. */
        if (s > 0) {
          stat_add(st->wait, *t - came, x->packet);
        } else if (begun) {
          stat_add(th->wait, *t - came, x->packet);
        }
        begun = 1;
        *t = stage_serve(sim, th, st, &u, came, *t);
        st->next_end += st->unit;
        st->open_since = came;
        u.ready = *t;
        thread_stages(sim, th, s + 1, &u, t);
      }
      st->came_end = x->end;
      return;
    }
    *t = stage_serve(sim, th, st, x, s ? *t : x->ready, *t);
  }
  thread_emit(sim, th, x, t);
}

/* All that the thread does with one item, begun at an instant; leaves th->free at its end. */
void tlg_thread_job(struct tlg_sim *sim, struct thread *th, const struct item *x, uint64_t start)
{
  uint64_t t;

  start = thread_take(sim, th, x, x->ready, start);
  if (th->n_stages == 1 && !th->stages[0].unit) {
    t = stage_serve(sim, th, &th->stages[0], x, x->ready, start);
    thread_emit(sim, th, x, &t);
  } else {
    t = start;
    thread_stages(sim, th, 0, x, &t);
  }
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

/* The wait of an item that came to a core of the thread's own at an instant: first for the items before it. */
static inline void thread_waited(struct tlg_sim *sim, struct thread *th, const struct item *x, uint64_t ready)
{
  if (unlikely(explained(sim, x->packet))) {
    th->why.n = 0;
    tlg_why_add(sim, &th->why, ready, TLG_WAIT_EARLIER, th->cfg->name, th->cfg->core, th->free);
  }
}

/* x has come to the thread's queue, at x->ready. */
void tlg_thread_arrive(struct tlg_sim *sim, struct thread *th, const struct item *x)
{
  const uint64_t now = x->ready > th->free ? x->ready : th->free;
  uint64_t start;

  th->arrived++;
  if (th->queue.limit && !bounded_room(&th->queue, x->ready, thread_weight(sim, th, x), 0)) {
    tlg_thread_overrun(sim, th, x);
    return;
  }
  start = tlg_thread_start(sim, th, x->ready, now);
  thread_waited(sim, th, x, x->ready);
  tlg_thread_idled(sim, th, x, start);
  tlg_thread_job(sim, th, x, start);
}

/* The same for a chain in which every thread has one stage without units and no queue blocks: the usual one, in one
 * loop and without copies. Returns 0 if the packet was lost. */
static inline int threads_simple(struct tlg_sim *sim, struct item *x)
{
  uint64_t ready = x->ready;
  unsigned i;

  for (i = 0; i < sim->n_threads; i++) {
    struct thread *th = &sim->threads[i];
    uint64_t start = ready > th->free ? ready : th->free, finish;

    th->arrived++;
    if (th->queue.limit && !bounded_room(&th->queue, ready, thread_weight(sim, th, x), 0)) {
      x->ready = ready;
      tlg_thread_overrun(sim, th, x);
      return 0;
    }
    thread_waited(sim, th, x, ready);
    if (th->idles && (ready > th->free || !th->started)) {
      start = tlg_thread_start(sim, th, ready, start);
      if (unlikely(explained(sim, x->packet))) {
        tlg_why_add(sim, &th->why, ready, TLG_WAIT_WAKE, th->cfg->name, th->cfg->core, start); /* no loop is simple */
      }
    }
    start = thread_take(sim, th, x, ready, start);
    finish = stage_serve(sim, th, &th->stages[0], x, ready, start);
    th->free = unlikely(sim->fault.service_frees) ? start : finish;
    ready = finish;
  }
  x->ready = ready;
  return 1;
}

void tlg_stages_arrive(struct tlg_sim *sim, struct item *x)
{
  if (sim->n_queues > 1) { /* the receiver needs the samples in order */
    if (x->ready < sim->in_order) {
      x->ready = sim->in_order;
    }
    sim->in_order = x->ready;
  }
  if (sim->has_units) {
    tlg_flight_add(sim, x);
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

int tlg_stages_new(struct tlg_sim *sim)
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
        !(th->wait = tlg_stat_new(sim)) || (s->n_stalls && !(th->stalled = tlg_stat_new(sim)))) {
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
      if (!(st->service = tlg_stat_new(sim)) || (st->unit && !(st->collect = tlg_stat_new(sim))) ||
          (st->unit && k && !(st->wait = tlg_stat_new(sim)))) {
        return TLG_ENOMEM;
      }
      sim->has_units |= st->unit != 0;
    }
  }
  if (s->n_threads && (!(sim->gap_stat = tlg_stat_new(sim)) || !(sim->received = tlg_stat_new(sim)))) {
    return TLG_ENOMEM;
  }
  return TLG_OK;
}

void tlg_stages_free(struct tlg_sim *sim)
{
  unsigned i;

  for (i = 0; i < sim->n_threads; i++) {
    tlg_bounded_free(&sim->threads[i].queue);
    free(sim->threads[i].why.e);
  }
}
