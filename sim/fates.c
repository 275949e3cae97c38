/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of packets that come from outside: their instants, put together from what each element reports. */
#include "chain.h"

#include <stdlib.h>
#include <string.h>

/* A packet that is not yet told. */
struct entry {
  struct tlg_sim_fate fate;
  uint64_t left;   /* when it left the last element that reported it */
  unsigned passed; /* how many have */
  int settled, resampled, taken_up;
};

struct fates {
  struct entry *e; /* a ring, in the order of the packets, so also of their samples */
  size_t head, tail, mask;
  uint64_t came;                /* when the latest packet so far came to the resampling stage */
  const char *resample, *first; /* the names of these stages; told apart by where they stand */
  const char *place;            /* where something was lost last */
  uint32_t largest;
  struct row *rows; /* of packets that are not of a size of the scenario */
  size_t n_rows, at_row;
};

static const char *stage_named(const struct tlg_sim *sim, const char *name)
{
  unsigned t, k;

  for (t = 0; t < sim->n_threads; t++) {
    for (k = 0; k < sim->threads[t].n_stages; k++) {
      if (strcmp(sim->threads[t].stages[k].name, name) == 0) {
        return sim->threads[t].stages[k].name;
      }
    }
  }
  return NULL;
}

int tlg_fates_new(struct tlg_sim *sim)
{
  const struct tlg_sim_scenario *s = sim->s;
  struct fates *f = calloc(1, sizeof *f);
  size_t i;

  sim->fates = f;
  if (!f) {
    return TLG_ENOMEM;
  }
  f->mask = 1023;
  f->e = malloc((f->mask + 1) * sizeof *f->e);
  /* A frame limit holds packets back, with their rows. */
  f->n_rows = 1 + (size_t)sim->n_queues * (s->moderation_frames + 1);
  f->rows = calloc(f->n_rows, sizeof *f->rows);
  f->resample = stage_named(sim, "resample");
  f->first = sim->n_threads && sim->threads[0].n_stages ? sim->threads[0].stages[0].name : NULL;
  for (i = 0; i < s->n_sizes; i++) {
    f->largest = s->sizes[i] > f->largest ? s->sizes[i] : f->largest;
  }
  return f->e && f->rows ? TLG_OK : TLG_ENOMEM;
}

void tlg_fates_free(struct tlg_sim *sim)
{
  if (sim->fates) {
    free(sim->fates->e);
    free(sim->fates->rows);
    free(sim->fates);
  }
}

int tlg_fates_fit(const struct tlg_sim *sim, uint64_t begin, uint64_t end)
{
  return begin >= sim->position && end > begin && end - begin <= sim->fates->largest &&
         sim->s->arrivals == TLG_ARRIVALS_CLOCK && sim->sent < sim->s->n_packets;
}

const struct row *tlg_fates_row(struct tlg_sim *sim, uint64_t n)
{
  struct fates *f = sim->fates;
  struct row *row = &sim->rows[sim->sent % sim->n_rows];

  if (row->n != n) {
    row = &f->rows[f->at_row];
    f->at_row = f->at_row + 1 == f->n_rows ? 0 : f->at_row + 1;
    if (row->n != n) {
      tlg_row_make(sim->s, row, n);
    }
  }
  return row;
}

void tlg_fates_sent(struct tlg_sim *sim, uint64_t begin, uint64_t end)
{
  struct fates *f = sim->fates;
  struct entry *e;

  if (f->tail - f->head > f->mask) {
    struct entry *grown = tlg_sim_grow(f->e, sizeof *f->e, &f->head, &f->tail, &f->mask);

    if (!grown) {
      sim->nomem = 1;
      return;
    }
    f->e = grown;
  }
  e = &f->e[f->tail++ & f->mask];
  memset(e, 0, sizeof *e);
  e->fate.packet = e->fate.closed_by = sim->sent;
  e->fate.begin = begin;
  e->fate.end = end;
  e->fate.air = e->left = sim->air;
}

/* The first packet that ends behind a sample, or the end of the ring. */
static size_t first_behind(const struct fates *f, uint64_t sample)
{
  size_t low = f->head, n = f->tail - f->head;

  while (n) {
    const size_t half = n / 2;

    if (f->e[(low + half) & f->mask].fate.end > sample) {
      n = half;
    } else {
      low += half + 1;
      n -= half + 1;
    }
  }
  return low;
}

/* An element reports what it did with a packet, or with a unit that holds the packet's last sample. */
static void passes(const struct tlg_sim *sim, struct entry *e, const struct tlg_sim_stamp *stamp)
{
  struct fates *f = sim->fates;
  struct tlg_sim_fate *fate = &e->fate;

  if (stamp->element == f->resample) {
    /* Parts of a unit came before it was ready, but in their order. */
    const uint64_t came = e->left > f->came ? e->left : f->came;

    fate->received = f->came = fate->end == stamp->end || stamp->ready < came ? stamp->ready : came;
    fate->resample_begin = stamp->start;
    fate->resample_end = stamp->finish;
    e->resampled = 1;
  } else if (!f->resample && stamp->element == f->first) {
    fate->received = fate->resample_begin = fate->resample_end = stamp->finish;
    e->resampled = 1;
  } else if (e->resampled && !e->taken_up) {
    fate->deliver_begin = stamp->start;
    e->taken_up = 1;
  }
  fate->closed_by = stamp->packet > fate->closed_by ? stamp->packet : fate->closed_by;
  e->left = stamp->finish;
  if (++e->passed == 2 && sim->s->has_link) { /* behind the source */
    e->left += sim->s->link_latency_ps;
  }
}

void tlg_fates_stamp(struct tlg_sim *sim, const struct tlg_sim_stamp *stamp)
{
  struct fates *f = sim->fates;
  size_t i;

  if (stamp->dropped) {
    f->place = stamp->element;
    return;
  }
  if (stamp->note && strcmp(stamp->note, "has collected a unit") == 0) {
    return;
  }
  for (i = first_behind(f, stamp->begin); i != f->tail; i++) {
    struct entry *e = &f->e[i & f->mask];

    if (e->fate.end > stamp->end) {
      break;
    }
    if (!e->settled) {
      passes(sim, e, stamp);
    }
  }
}

static struct entry *ending_at(struct fates *f, uint64_t end)
{
  const size_t i = first_behind(f, end - 1);
  struct entry *e = &f->e[i & f->mask];

  return i != f->tail && e->fate.end == end && !e->settled ? e : NULL;
}

void tlg_fates_lost(struct tlg_sim *sim, uint64_t end)
{
  struct entry *e = ending_at(sim->fates, end);

  if (e) {
    e->fate.lost = sim->fates->place;
    e->fate.lost_behind = e->resampled;
    e->settled = 1;
  }
}

void tlg_fates_delivered(struct tlg_sim *sim, uint64_t end, uint64_t at)
{
  struct entry *e = ending_at(sim->fates, end);

  if (e) {
    struct tlg_sim_fate *fate = &e->fate;

    if (!e->resampled) { /* no thread at all: what is there is the way in */
      fate->received = fate->resample_begin = fate->resample_end = at;
    }
    if (!e->taken_up) {
      fate->deliver_begin = fate->resample_end;
    }
    fate->delivered = at;
    e->settled = 1;
  }
}

void tlg_fates_tell(struct tlg_sim *sim)
{
  struct fates *f = sim->fates;

  while (f->head != f->tail && f->e[f->head & f->mask].settled) {
    sim->cfg.fate(sim->cfg.fate_arg, &f->e[f->head++ & f->mask].fate);
  }
}

void tlg_fates_end(struct tlg_sim *sim)
{
  struct fates *f = sim->fates;
  size_t i;

  for (i = f->head; i != f->tail; i++) {
    struct entry *e = &f->e[i & f->mask];

    if (!e->settled) {
      e->fate.unfinished = 1;
      e->settled = 1;
    }
  }
  tlg_fates_tell(sim);
}
