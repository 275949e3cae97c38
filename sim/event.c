/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that share cores: events in the order of (time, class, sequence). */
#include "chain.h"

#include <stdlib.h>

/* Classes at one instant: a job ends before anything arrives, and arrivals go by thread, so that the order does not
 * depend on when an event was put in. What a thread passes on it passes on in the order of time and number, and a core
 * does one job at a time: so what is to come is a handful of queues, each in order, and the next event is the least of
 * their heads. */
enum { CLASS_JOB_ENDS = 0 }; /* arrivals at thread t: class 1 + t */

struct passing {
  struct item x;
  unsigned thread; /* for which */
};

/* A ring that grows. */
struct line {
  struct passing *e;
  size_t head, tail, mask;
};

/* Until when a core did a thread's jobs, since the one before. */
struct held {
  const struct thread *by;
  uint64_t until;
};

struct core {
  struct thread *ran;
  struct { /* who held it while the item that it does now waited, where that is to be told */
    struct held *e;
    size_t head, tail, mask;
  } past;
  struct line waiting; /* for the core, whichever thread they are for: what came first goes on first */
};

struct events {
  unsigned n_cores, n_threads;
  uint64_t job_ends[TLG_SIM_THREADS]; /* of each core; never: it is idle */
  uint64_t arrives[TLG_SIM_THREADS];  /* the first that comes to each thread from the one before; never: none */
  struct line coming[TLG_SIM_THREADS];
  struct core cores[TLG_SIM_THREADS];
  unsigned core_of[TLG_SIM_THREADS];
};

static int line_new(struct line *l)
{
  l->mask = 63;
  l->e = malloc((l->mask + 1) * sizeof *l->e);
  return l->e != NULL;
}

static int line_grow(struct line *l)
{
  struct passing *grown = tlg_sim_grow(l->e, sizeof *l->e, &l->head, &l->tail, &l->mask);

  if (!grown) {
    return 0;
  }
  l->e = grown;
  return 1;
}

/* The place for one more at the end; NULL: no memory, which tlg_sim_step tells. */
static inline struct passing *line_put(struct tlg_sim *sim, struct line *l)
{
  if (unlikely(l->tail - l->head > l->mask) && !line_grow(l)) {
    sim->nomem = 1;
    return NULL;
  }
  return &l->e[l->tail++ & l->mask];
}

int tlg_events_new(struct tlg_sim *sim)
{
  struct events *ev = calloc(1, sizeof *ev);
  unsigned i, k;

  sim->events = ev;
  if (!ev) {
    return TLG_ENOMEM;
  }
  ev->n_threads = sim->n_threads;
  for (i = 0; i < sim->n_threads; i++) {
    int shares = 0;

    for (k = 0; k < i && !shares; k++) {
      if (sim->threads[i].cfg->core && sim->threads[i].cfg->core == sim->threads[k].cfg->core) {
        ev->core_of[i] = ev->core_of[k];
        shares = 1;
      }
    }
    if (!shares) {
      ev->core_of[i] = ev->n_cores++;
    }
    ev->job_ends[i] = ev->arrives[i] = never;
    if (!line_new(&ev->coming[i]) || !line_new(&ev->cores[i].waiting)) {
      return TLG_ENOMEM;
    }
  }
  return TLG_OK;
}

void tlg_events_free(struct tlg_sim *sim)
{
  unsigned i;

  if (!sim->events) {
    return;
  }
  for (i = 0; i < TLG_SIM_THREADS; i++) {
    free(sim->events->coming[i].e);
    free(sim->events->cores[i].waiting.e);
    free(sim->events->cores[i].past.e);
  }
  free(sim->events);
}

/* A thread's job is over: the core was held until then. */
static void past_add(struct tlg_sim *sim, struct core *core, const struct thread *by, uint64_t until)
{
  const size_t n = core->past.tail - core->past.head;

  if (n && core->past.e[(core->past.tail - 1) & core->past.mask].by == by) {
    core->past.e[(core->past.tail - 1) & core->past.mask].until = until;
    return;
  }
  if (!core->past.e || n > core->past.mask) {
    struct held *grown;

    if (!core->past.e) {
      grown = malloc(64 * sizeof *grown);
      core->past.mask = 63;
    } else {
      grown = tlg_sim_grow(core->past.e, sizeof *grown, &core->past.head, &core->past.tail, &core->past.mask);
    }
    if (!grown) {
      sim->nomem = 1;
      return;
    }
    core->past.e = grown;
  }
  core->past.e[core->past.tail++ & core->past.mask] = (struct held){by, until};
}

/* What the item that the core takes up now has waited for: those that held it since the item came. What waits behind
 * it came no earlier, so that the past before may be forgotten. */
static void past_tell(struct tlg_sim *sim, struct core *core, struct thread *th, const struct item *x)
{
  size_t i;

  while (core->past.head != core->past.tail && core->past.e[core->past.head & core->past.mask].until <= x->ready) {
    core->past.head++;
  }
  th->why.n = 0;
  for (i = core->past.head; explained(sim, x->packet) && i != core->past.tail; i++) {
    const struct held *h = &core->past.e[i & core->past.mask];

    tlg_why_add(sim, &th->why, x->ready, h->by == th ? TLG_WAIT_EARLIER : TLG_WAIT_CORE, h->by->cfg->name,
                th->cfg->core, h->until);
  }
}

/* The core, free at an instant, takes up an item. */
static inline void core_run(struct tlg_sim *sim, unsigned c, struct thread *th, const struct item *x, uint64_t now)
{
  struct core *core = &sim->events->cores[c];
  uint64_t start;

  if (unlikely(sim->cfg.stamp != NULL)) {
    past_tell(sim, core, th, x);
  }
  if (core->ran != th) {
    if (core->ran && sim->s->switch_ps) {
      now += sim->s->switch_ps;
      th->switches++;
      if (explained(sim, x->packet)) {
        tlg_why_add(sim, &th->why, x->ready, TLG_WAIT_SWITCH, th->cfg->name, th->cfg->core, now);
      }
    }
    core->ran = th;
  }
  start = tlg_thread_start(sim, th, x->ready, now);
  if (unlikely(start > now)) {
    tlg_thread_idled(sim, th, x, start);
  }
  tlg_thread_job(sim, th, x, start);
  sim->events->job_ends[c] = th->free;
  if (unlikely(sim->cfg.stamp != NULL)) {
    past_add(sim, core, th, th->free);
  }
}

/* The core is free at an instant: the item that came to it first goes on, whichever thread it is for. */
static inline void core_next(struct tlg_sim *sim, unsigned c, uint64_t now)
{
  struct line *l = &sim->events->cores[c].waiting;

  if (l->head == l->tail) {
    sim->events->job_ends[c] = never;
  } else {
    const struct passing *p = &l->e[l->head++ & l->mask]; /* it stays: nothing is put into this line meanwhile */
    struct thread *th = &sim->threads[p->thread];

    if (th->queue.limit) {
      th->waiting -= thread_weight(sim, th, &p->x);
    }
    core_run(sim, c, th, &p->x, now);
  }
}

static inline void arrived(struct tlg_sim *sim, unsigned t, const struct item *x)
{
  struct events *ev = sim->events;
  struct thread *th = &sim->threads[t];
  const unsigned c = ev->core_of[t];

  th->arrived++;
  if (th->queue.limit) {
    const uint64_t weight = thread_weight(sim, th, x);

    /* Those that wait, and the one whose start is settled but still ahead. */
    if (!bounded_room(&th->queue, x->ready, weight, th->waiting)) {
      tlg_thread_overrun(sim, th, x);
      return;
    }
    bounded_filled(&th->queue, th->waiting + weight);
    th->waiting += ev->job_ends[c] != never ? weight : 0;
  }
  if (ev->job_ends[c] != never) {
    struct passing *p = line_put(sim, &ev->cores[c].waiting);

    if (p) {
      p->x = *x;
      p->thread = t;
    }
  } else { /* nothing waits for an idle core */
    core_run(sim, c, th, x, x->ready);
  }
}

void tlg_events_until(struct tlg_sim *sim, uint64_t limit_ps)
{
  struct events *ev = sim->events;

  for (;;) {
    uint64_t at = never;
    unsigned i, class = CLASS_JOB_ENDS, c = 0;

    for (i = 0; i < ev->n_cores; i++) {
      if (ev->job_ends[i] < at) {
        at = ev->job_ends[i];
        c = i;
      }
    }
    for (i = 1; i < ev->n_threads; i++) {
      if (ev->arrives[i] < at) {
        at = ev->arrives[i];
        class = 1 + i;
      }
    }
    /* What arrives from outside at the same instant is of class 1, the first thread: only the ends of jobs precede it.
     */
    if (at > limit_ps || at == never || (at == limit_ps && class != CLASS_JOB_ENDS)) {
      return;
    }
    if (class == CLASS_JOB_ENDS) {
      core_next(sim, c, at);
    } else {
      struct line *l = &ev->coming[class - 1];
      const struct item *x = &l->e[l->head++ & l->mask].x; /* it stays, as in core_next */

      ev->arrives[class - 1] = l->head == l->tail ? never : l->e[l->head & l->mask].x.ready;
      arrived(sim, class - 1, x);
    }
  }
}

void tlg_events_arrive(struct tlg_sim *sim, struct thread *th, const struct item *x)
{
  tlg_events_until(sim, x->ready);
  arrived(sim, th->index, x);
}

void tlg_events_emit(struct tlg_sim *sim, struct thread *th, const struct item *x, uint64_t at)
{
  struct line *l = &sim->events->coming[th->index + 1];
  struct passing *p = line_put(sim, l);

  if (p) {
    if (l->tail - l->head == 1) {
      sim->events->arrives[th->index + 1] = at;
    }
    p->x = *x;
    p->x.ready = at;
    p->thread = th->index + 1;
  }
}
