/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that share cores: events in a heap ordered by (time, class, sequence). */
#include "chain.h"

#include <stdlib.h>
#include <string.h>

/* Classes at one instant: a job ends before anything arrives, and arrivals go by thread, so that the order does not
 * depend on when an event was put in. */
struct event {
  uint64_t time;
  uint64_t sequence;
  uint32_t class; /* 0: a core's job ends; 1 + thread: an item arrives */
  uint32_t what;  /* the core, or the item's slot: items stay where they are while the heap is sorted */
};

struct waiting {
  struct item x;
  uint64_t order; /* of arrival at the core */
};

struct line {
  struct waiting *e;
  size_t head, tail, mask;
};

struct core {
  int busy;
  struct thread *ran;
  unsigned n_threads;
  struct thread *threads[TLG_SIM_THREADS];
  uint64_t order;
};

struct events {
  struct event *heap;
  size_t n, size;
  struct item *slots;
  uint32_t *unused; /* which slots are free */
  size_t n_unused, room;
  struct line lines[TLG_SIM_THREADS];
  struct core cores[TLG_SIM_THREADS];
  unsigned n_cores;
  unsigned core_of[TLG_SIM_THREADS];
};

static inline int before(const struct event *a, const struct event *b)
{
  if (a->time != b->time) {
    return a->time < b->time;
  }
  if (a->class != b->class) {
    return a->class < b->class;
  }
  return a->sequence < b->sequence;
}

static void heap_push(struct tlg_sim *sim, const struct event *e)
{
  struct events *ev = sim->events;
  size_t i;

  if (ev->n == ev->size) {
    struct event *grown = realloc(ev->heap, 2 * ev->size * sizeof *grown);

    if (!grown) {
      sim->nomem = 1;
      return;
    }
    ev->heap = grown;
    ev->size *= 2;
  }
  i = ev->n++;
  while (i > 0 && before(e, &ev->heap[(i - 1) / 2])) {
    ev->heap[i] = ev->heap[(i - 1) / 2];
    i = (i - 1) / 2;
  }
  ev->heap[i] = *e;
}

static void heap_pop(struct events *ev, struct event *out)
{
  const struct event *last;
  size_t i = 0;

  *out = ev->heap[0];
  last = &ev->heap[--ev->n];
  for (;;) {
    size_t child = 2 * i + 1;

    if (child >= ev->n) {
      break;
    }
    if (child + 1 < ev->n && before(&ev->heap[child + 1], &ev->heap[child])) {
      child++;
    }
    if (!before(&ev->heap[child], last)) {
      break;
    }
    ev->heap[i] = ev->heap[child];
    i = child;
  }
  ev->heap[i] = *last;
}

int tlg_events_new(struct tlg_sim *sim)
{
  struct events *ev = calloc(1, sizeof *ev);
  unsigned i, k;

  sim->events = ev;
  if (!ev) {
    return TLG_ENOMEM;
  }
  ev->size = 64;
  ev->heap = malloc(ev->size * sizeof *ev->heap);
  if (!ev->heap) {
    return TLG_ENOMEM;
  }
  for (i = 0; i < sim->n_threads; i++) {
    struct core *core = NULL;

    for (k = 0; k < i && !core; k++) {
      if (sim->threads[i].cfg->core && sim->threads[i].cfg->core == sim->threads[k].cfg->core) {
        ev->core_of[i] = ev->core_of[k];
        core = &ev->cores[ev->core_of[k]];
      }
    }
    if (!core) {
      ev->core_of[i] = ev->n_cores;
      core = &ev->cores[ev->n_cores++];
    }
    core->threads[core->n_threads++] = &sim->threads[i];
    ev->lines[i].mask = 63;
    ev->lines[i].e = malloc(64 * sizeof *ev->lines[i].e);
    if (!ev->lines[i].e) {
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
    free(sim->events->lines[i].e);
  }
  free(sim->events->heap);
  free(sim->events->slots);
  free(sim->events->unused);
  free(sim->events);
}

static uint32_t slot_take(struct tlg_sim *sim, const struct item *x)
{
  struct events *ev = sim->events;
  uint32_t slot;

  if (!ev->n_unused) {
    const size_t room = ev->room ? 2 * ev->room : 64;
    struct item *slots = realloc(ev->slots, room * sizeof *slots);
    uint32_t *unused = realloc(ev->unused, room * sizeof *unused);

    ev->slots = slots ? slots : ev->slots;
    ev->unused = unused ? unused : ev->unused;
    if (!slots || !unused) {
      sim->nomem = 1;
      return 0;
    }
    for (; ev->room < room; ev->room++) {
      ev->unused[ev->n_unused++] = (uint32_t)ev->room;
    }
  }
  slot = ev->unused[--ev->n_unused];
  ev->slots[slot] = *x;
  return slot;
}

static void line_put(struct tlg_sim *sim, struct line *l, const struct item *x, uint64_t order)
{
  if (l->tail - l->head > l->mask) {
    const size_t size = 2 * (l->mask + 1), n = l->tail - l->head;
    struct waiting *grown = malloc(size * sizeof *grown);
    size_t i;

    if (!grown) {
      sim->nomem = 1;
      return;
    }
    for (i = 0; i < n; i++) {
      grown[i] = l->e[(l->head + i) & l->mask];
    }
    free(l->e);
    l->e = grown;
    l->head = 0;
    l->tail = n;
    l->mask = size - 1;
  }
  l->e[l->tail & l->mask].x = *x;
  l->e[l->tail & l->mask].order = order;
  l->tail++;
}

/* The core, free at an instant, takes up an item. */
static void core_run(struct tlg_sim *sim, struct core *core, struct thread *th, const struct item *x, uint64_t now)
{
  struct event done;

  if (core->ran && core->ran != th && sim->s->switch_ps) {
    now += sim->s->switch_ps;
    th->switches++;
  }
  core->busy = 1;
  core->ran = th;
  tlg_thread_job(sim, th, x, tlg_thread_start(sim, th, x->ready, now));
  done.time = th->free;
  done.class = 0;
  done.sequence = 0;
  done.what = sim->events->core_of[th->index];
  heap_push(sim, &done);
}

/* The core is free at an instant: the item that came to it first goes on, whichever thread it is for. */
static void core_next(struct tlg_sim *sim, struct core *core, uint64_t now)
{
  struct events *ev = sim->events;
  struct line *line = NULL;
  struct thread *th = NULL;
  struct item x;
  unsigned i;

  core->busy = 0;
  for (i = 0; i < core->n_threads; i++) {
    struct line *l = &ev->lines[core->threads[i]->index];

    if (l->head != l->tail && (!line || l->e[l->head & l->mask].order < line->e[line->head & line->mask].order)) {
      line = l;
      th = core->threads[i];
    }
  }
  if (!line) {
    return;
  }
  x = line->e[line->head++ & line->mask].x;
  if (th->queue.limit) {
    th->waiting -= thread_weight(sim, th, &x);
  }
  core_run(sim, core, th, &x, now);
}

static void arrived(struct tlg_sim *sim, struct thread *th, const struct item *x)
{
  struct events *ev = sim->events;
  struct core *core = &ev->cores[ev->core_of[th->index]];

  th->arrived++;
  if (th->queue.limit) {
    const uint64_t weight = thread_weight(sim, th, x);

    /* Those that wait, and the one whose start is settled but still ahead. */
    if (!bounded_room(&th->queue, x->ready, weight, th->waiting)) {
      tlg_thread_overrun(sim, th, x);
      return;
    }
    th->waiting += core->busy ? weight : 0;
  }
  if (core->busy) {
    line_put(sim, &ev->lines[th->index], x, core->order++);
  } else { /* nothing waits for an idle core */
    core_run(sim, core, th, x, x->ready);
  }
}

void tlg_events_until(struct tlg_sim *sim, uint64_t limit_ps)
{
  struct events *ev = sim->events;

  /* What arrives from outside at the same instant is of class 1, the first thread: only the ends of jobs precede it. */
  while (ev->n && (ev->heap[0].time < limit_ps || (ev->heap[0].time == limit_ps && ev->heap[0].class == 0))) {
    struct event e;

    heap_pop(ev, &e);
    if (e.class == 0) {
      core_next(sim, &ev->cores[e.what], e.time);
    } else {
      const struct item x = ev->slots[e.what];

      ev->unused[ev->n_unused++] = e.what;
      arrived(sim, &sim->threads[e.class - 1], &x);
    }
  }
}

void tlg_events_arrive(struct tlg_sim *sim, struct thread *th, const struct item *x)
{
  tlg_events_until(sim, x->ready);
  arrived(sim, th, x);
}

void tlg_events_emit(struct tlg_sim *sim, struct thread *th, const struct item *x, uint64_t at)
{
  struct event e;
  struct item y;

  if (th->index + 1 == sim->n_threads) { /* what leaves the last thread meets nothing that could come before it */
    tlg_chain_deliver(sim, x, at);
    return;
  }
  y = *x;
  y.ready = at;
  e.time = at;
  e.class = th->index + 2;
  e.sequence = x->number;
  e.what = slot_take(sim, &y);
  if (!sim->nomem) {
    heap_push(sim, &e);
  }
}
