/* SPDX-License-Identifier: Apache-2.0 */
/* What every element is made of: distributions that fill, queues with a limit, stalls, costs. */
#include "chain.h"

#include <stdlib.h>
#include <string.h>

struct stat *tlg_stat_new(struct tlg_sim *sim)
{
  struct stat *s = &sim->stats[sim->n_stats];

  if (tlg_delays_lazy(&s->d) != TLG_OK) {
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

static void stat_batch(struct stat *s)
{
  if (s->public.n_batches < TLG_SIM_BATCHES && s->d->count > s->batch_count) {
    s->public.batch_mean_ps[s->public.n_batches++] =
        (uint64_t)((s->d->sum - s->batch_sum) / (s->d->count - s->batch_count));
  }
  s->batch_sum = s->d->sum;
  s->batch_count = s->d->count;
}

/* Add n > 0 values; those of consecutive packets when when is NULL. */
static void stat_values(struct stat *s, const uint64_t *values, unsigned n, const uint64_t *when, uint64_t first)
{
  struct tlg_delays *d = s->d;
  uint64_t low = d->min, sum = 0, differ = 0, all = 0;
  unsigned i;

  for (i = 0; i < n; i++) {
    sum += values[i]; /* 64 values of less than 2^58 ps, 80 hours */
    differ |= values[i] ^ values[0];
    all |= values[i];
  }
  if (!differ) { /* a service without jitter, or an empty queue */
    delays_add_n(d, values[0], n, when ? when[0] : first);
    return;
  }
  for (i = 0; i < n; i++) {
    const uint64_t v = values[i];
    struct bin *bin = &d->bins[likely(all >> TOP_BITS == 0) ? bin_of_low(v) : bin_of(v)];

    bin->count++;
    if (unlikely(v > bin->largest)) {
      bin->largest = v;
      if (v > d->max) { /* they differ, so one is above the 0 of an empty histogram */
        d->max = v;
        d->max_when = when ? when[i] : first + i;
      }
    }
    if (unlikely(v < low)) {
      low = v;
    }
  }
  d->min = low;
  d->count += n;
  d->sum += sum;
}

/* Add the held values [from, to). */
static void stat_take(struct stat *s, unsigned from, unsigned to)
{
  if (s->warm && from < to) {
    stat_values(s, s->values + from, to - from, s->when + from, 0);
  }
}

/* A packet of a later batch comes. Batches (and the warm-up, before the first) end by the number of the packet,
 * whichever engine runs. */
static void stat_turn(struct stat *s, uint64_t packet)
{
  if (s->warm) {
    stat_batch(s);
  }
  s->warm = 1;
  s->batch_end += (packet - s->batch_end) / s->batch_length * s->batch_length + s->batch_length;
}

void tlg_stat_flush(struct stat *s)
{
  unsigned from = 0, i;

  while (s->n && s->when[s->n - 1] >= s->batch_end) {
    for (i = from; s->when[i] < s->batch_end; i++) {
    }
    stat_take(s, from, i);
    from = i;
    stat_turn(s, s->when[from]);
  }
  stat_take(s, from, s->n);
  s->n = 0;
}

/* n values of consecutive packets, all of one batch. */
void tlg_stat_block(struct stat *s, const uint64_t *values, unsigned n, uint64_t packet)
{
  if (s->n) {
    tlg_stat_flush(s);
  }
  if (packet >= s->batch_end) {
    stat_turn(s, packet);
  }
  if (s->warm) {
    stat_values(s, values, n, NULL, packet);
  }
}

/* The same value for n consecutive packets, all of one batch. */
void tlg_stat_block_same(struct stat *s, uint64_t value, unsigned n, uint64_t packet)
{
  if (s->n) {
    tlg_stat_flush(s);
  }
  if (packet >= s->batch_end) {
    stat_turn(s, packet);
  }
  if (s->warm) {
    delays_add_n(s->d, value, n, packet);
  }
}

/* The run is over. */
void tlg_stat_close(struct stat *s)
{
  tlg_stat_flush(s);
  if (s->warm && s->public.n_batches == TLG_SIM_BATCHES - 1) {
    stat_batch(s);
  }
}

int tlg_bounded_init(struct bounded *b, uint64_t limit, uint64_t each)
{
  memset(b, 0, sizeof *b);
  b->limit = limit;
  if (!limit) {
    return TLG_OK;
  }
  if (each && limit / each <= 1u << 24) {
    b->each = each;
    b->k = limit / each;
    b->leave = calloc(b->k, sizeof *b->leave);
    return b->leave ? TLG_OK : TLG_ENOMEM;
  }
  b->mask = 63;
  b->e = malloc((b->mask + 1) * sizeof *b->e);
  return b->e ? TLG_OK : TLG_ENOMEM;
}

void tlg_bounded_free(struct bounded *b)
{
  free(b->leave);
  free(b->e);
}

uint64_t tlg_bounded_next(const struct bounded *b)
{
  return b->each ? b->leave[b->at] : b->e[b->head & b->mask].leave;
}

uint64_t tlg_bounded_most(const struct bounded *b)
{
  return b->each ? b->most * b->each : b->most;
}

void *tlg_sim_grow(void *entries, size_t entry_bytes, size_t *head, size_t *tail, size_t *mask)
{
  const size_t size = 2 * (*mask + 1), n = *tail - *head;
  char *grown = malloc(size * entry_bytes);
  size_t i;

  if (!grown) {
    return NULL;
  }
  for (i = 0; i < n; i++) {
    memcpy(grown + i * entry_bytes, (char *)entries + ((*head + i) & *mask) * entry_bytes, entry_bytes);
  }
  free(entries);
  *head = 0;
  *tail = n;
  *mask = size - 1;
  return grown;
}

int tlg_bounded_room_mixed(struct bounded *b, uint64_t now, uint64_t weight)
{
  while (b->head != b->tail && b->e[b->head & b->mask].leave <= now) {
    b->inside -= b->e[b->head & b->mask].weight;
    b->head++;
  }
  return b->inside + weight <= b->limit;
}

void tlg_bounded_put_mixed(struct bounded *b, uint64_t leave, uint64_t weight)
{
  if (b->tail - b->head > b->mask) {
    struct bounded_entry *grown = tlg_sim_grow(b->e, sizeof *b->e, &b->head, &b->tail, &b->mask);

    if (!grown) {
      b->failed = 1; /* told by tlg_sim_step */
      return;
    }
    b->e = grown;
  }
  b->e[b->tail & b->mask].leave = leave;
  b->e[b->tail & b->mask].weight = weight;
  b->tail++;
  b->inside += weight;
  if (b->inside > b->most) {
    b->most = b->inside;
  }
}

/* Random stalls come after a random time without one; regular ones by the clock. */
static void stall_next(struct stall *s)
{
  if (s->random) {
    s->begin = s->end + tlg_draw(&s->gap, s->number);
  } else if (s->number) {
    s->begin += s->every_ps;
  }
  s->end = s->begin + tlg_draw(&s->length, s->number);
  s->number++;
}

static void stalls_earliest(struct stalls *st)
{
  unsigned i;

  st->next = never;
  for (i = 0; i < st->n; i++) {
    if (st->s[i].begin < st->next) {
      st->next = st->s[i].begin;
    }
  }
}

void tlg_stalls_init(struct stalls *st, const struct tlg_sim_scenario *s, uint64_t seed, int server)
{
  unsigned i;

  memset(st, 0, sizeof *st);
  for (i = 0; i < s->n_stalls; i++) {
    const struct tlg_sim_stall *from = &s->stalls[i];
    struct stall *to = &st->s[st->n];
    struct tlg_dist gap = {0};

    if (from->on != server && from->on != TLG_STALL_HOST) {
      continue;
    }
    gap.kind = TLG_DIST_EXPONENTIAL;
    gap.low_ps = from->every_ps;
    to->every_ps = from->every_ps;
    to->random = from->random;
    to->begin = to->end = from->phase_ps;
    tlg_draw_init(&to->gap, &gap, seed, 0x5000 + i, DRAW_STALL_GAP);
    tlg_draw_init(&to->length, &from->length, seed, 0x5000 + i, DRAW_STALL_LENGTH);
    stall_next(to);
    st->n++;
  }
  stalls_earliest(st);
}

uint64_t tlg_stalls_run_slow(struct stalls *st, uint64_t t, uint64_t work)
{
  for (;;) {
    struct stall *first = NULL;
    unsigned i;

    for (i = 0; i < st->n; i++) {
      while (st->s[i].end <= t) {
        stall_next(&st->s[i]);
      }
      if (!first || st->s[i].begin < first->begin) {
        first = &st->s[i];
      }
    }
    stalls_earliest(st);
    if (!first || (t + work <= first->begin && t < first->begin)) {
      return t + work;
    }
    if (t < first->begin) {
      work -= first->begin - t;
    }
    if (first->end > t) {
      t = first->end;
    }
    stall_next(first);
  }
}

void tlg_cost_init(struct cost *c, const struct tlg_cost *from, uint64_t seed, uint32_t entity)
{
  memset(c, 0, sizeof *c);
  c->c = *from;
  c->last_n = never;
  tlg_draw_init(&c->jitter, &from->jitter, seed, entity, DRAW_SERVICE);
  c->varies = from->jitter.kind != TLG_DIST_CONSTANT;
  if (!c->varies) {
    c->c.fixed_ps += from->jitter.low_ps;
  }
}
