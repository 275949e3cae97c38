/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a run: its state, element by element, and how a packet is handed from one element to the next. */
#ifndef TLG_CHAIN_H
#define TLG_CHAIN_H

#include "delays.h"
#include "draw.h"
#include "horizon.h"
#include "moderation.h"

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

static const uint64_t never = UINT64_MAX;

enum { STAT_HELD = 64 };

struct tlg_sim;

/* A distribution being filled. Values are held back and added many at a time. */
struct stat {
  struct tlg_sim_stat public; /* first: what results show */
  struct tlg_delays *d;
  int warm; /* before it nothing is added */
  uint64_t batch_end, batch_length;
  u128 batch_sum;
  uint64_t batch_count;
  unsigned n;
  uint64_t values[STAT_HELD], when[STAT_HELD];
};

struct stat *tlg_stat_new(struct tlg_sim *sim); /* NULL: no memory */
void tlg_stat_flush(struct stat *s);
void tlg_stat_close(struct stat *s);
/* n values of consecutive packets, all of one batch; or the same value for each of them. */
void tlg_stat_block(struct stat *s, const uint64_t *values, unsigned n, uint64_t packet);
void tlg_stat_block_same(struct stat *s, uint64_t value, unsigned n, uint64_t packet);

static inline void stat_add(struct stat *s, uint64_t v, uint64_t packet)
{
  const unsigned n = s->n;

  s->values[n] = v;
  s->when[n] = packet;
  s->n = n + 1;
  if (unlikely(n == STAT_HELD - 1)) {
    tlg_stat_flush(s);
  }
}

/* What passes through the chain: samples [begin, end), ready since an instant. */
struct item {
  uint64_t begin, end;
  uint64_t ready, air;
  uint64_t packet; /* of a unit: the packet that completed it */
  uint64_t number; /* of the packet, or of the unit: the index of its draws */
};

/* What a packet of one size costs. */
struct row {
  uint64_t n, wire_bytes, frame_bytes, frames, charged;
  uint64_t link_ps, kernel_ps;
  uint64_t air_q, air_r; /* its samples last air_q + air_r / den ps */
};

/* Twice the room for a ring of mask + 1 (a power of two) full entries, at most mask + 1 of them from head to tail; what
 * is in it then begins at 0. NULL when out of memory: nothing has changed. */
void *tlg_sim_grow(void *entries, size_t entry_bytes, size_t *head, size_t *tail, size_t *mask);

/* A queue with a limit: when what is in it leaves, in that order. Where all items take the same room (`each`), the
 * place of the item k before tells whether there is room; else what has left is taken out one by one. */
struct bounded {
  uint64_t limit, each, k;
  uint64_t most; /* the largest filling, in items of `each` or in weight */
  int failed;    /* no memory */
  uint64_t *leave;
  uint64_t at;
  uint64_t inside;
  size_t head, tail, mask;
  struct bounded_entry {
    uint64_t leave, weight;
  } * e;
};

int tlg_bounded_init(struct bounded *b, uint64_t limit, uint64_t each);
void tlg_bounded_free(struct bounded *b);
int tlg_bounded_room_mixed(struct bounded *b, uint64_t now, uint64_t weight);
void tlg_bounded_put_mixed(struct bounded *b, uint64_t leave, uint64_t weight);
/* When the first one leaves, of those that keep an item of this weight out. */
uint64_t tlg_bounded_next(const struct bounded *b);
/* The largest filling, in the units of the limit. */
uint64_t tlg_bounded_most(const struct bounded *b);

/* Whether a weight fits at an instant, beside `reserved`; what leaves at the same instant has left. */
static inline int bounded_room(struct bounded *b, uint64_t now, uint64_t weight, uint64_t reserved)
{
  uint64_t i = b->at;

  if (unlikely(!b->each)) {
    return tlg_bounded_room_mixed(b, now, weight + reserved);
  }
  if (unlikely(reserved)) {
    const uint64_t slots = reserved / b->each;

    if (slots >= b->k) {
      return 0;
    }
    i += slots;
    i -= i >= b->k ? b->k : 0;
  }
  return b->leave[i] <= now;
}

/* An item that came at `now` stays until `leave`. */
static inline void bounded_put(struct bounded *b, uint64_t now, uint64_t leave, uint64_t weight)
{
  uint64_t i = b->at;

  if (unlikely(!b->each)) {
    tlg_bounded_put_mixed(b, leave, weight);
    return;
  }
  b->leave[i] = leave;
  b->at = i + 1 == b->k ? 0 : i + 1;
  i += i >= b->most ? 0 : b->k;
  i -= b->most;
  if (unlikely(b->most < b->k && b->leave[i] > now)) {
    b->most++; /* the filling grows by one at a time */
  }
}

/* Beside what has a settled place, so much waits (with events): the filling of a queue with mixed weights, which
 * bounded_put alone does not see. */
static inline void bounded_filled(struct bounded *b, uint64_t waiting)
{
  if (unlikely(!b->each) && b->inside + waiting > b->most) {
    b->most = b->inside + waiting;
  }
}

/* One source of stalls as a server sees it. */
struct stall {
  uint64_t every_ps, begin, end, number;
  int random;
  struct draw gap, length;
};

/* The stalls that hit one server. */
struct stalls {
  unsigned n;
  uint64_t next; /* begin of the first one that has not ended; never: none */
  struct stall s[TLG_SIM_STALLS];
};

void tlg_stalls_init(struct stalls *st, const struct tlg_sim_scenario *s, uint64_t seed, int server);
uint64_t tlg_stalls_run_slow(struct stalls *st, uint64_t start, uint64_t work);

/* When work that starts at an instant is done; stalls interrupt it and it goes on afterwards. */
static inline uint64_t stalls_run(struct stalls *st, uint64_t start, uint64_t work)
{
  if (likely(start + work <= st->next && start < st->next)) {
    return start + work;
  }
  return tlg_stalls_run_slow(st, start, work);
}

/* When a server can begin that is asked to at an instant. */
static inline uint64_t stalls_begin(struct stalls *st, uint64_t start)
{
  return likely(start < st->next) ? start : tlg_stalls_run_slow(st, start, 0);
}

struct cost {
  struct tlg_cost c;
  struct draw jitter;
  int varies;
  uint64_t last_n, last_ps;
};

void tlg_cost_init(struct cost *c, const struct tlg_cost *from, uint64_t seed, uint32_t entity);

static inline uint64_t cost_fixed(struct cost *c, uint64_t n)
{
  if (unlikely(n != c->last_n)) {
    c->last_n = n;
    c->last_ps = c->c.fixed_ps + c->c.alloc_ps + (uint64_t)((u128)c->c.per_sample_fs * n / 1000);
  }
  return c->last_ps;
}

static inline uint64_t cost_draw(struct cost *c, uint64_t fixed, uint64_t number)
{
  return c->varies ? fixed + tlg_draw(&c->jitter, number) : fixed;
}

/* What is charged to the load: the mean. */
static inline uint64_t cost_mean(const struct cost *c, uint64_t fixed)
{
  return c->varies ? fixed + c->jitter.mean_ps : fixed;
}

struct stage {
  const char *name;
  struct cost cost;
  struct stat *service, *collect;
  struct stat *wait; /* of units, in a stage behind the first: for the units before them */
  uint64_t work;     /* that came lately; demand has what came before */
  u128 demand;
  uint64_t arrived;
  uint64_t unit, next_end, open_since, units;
  uint64_t came_end; /* of units: the end of the samples that came */
};

/* The parts of a wait that is to be told. */
struct why {
  struct tlg_sim_wait *e;
  size_t n, room;
};

/* From where its last part ends, or `ready`, something waited until an instant: nothing if that has passed. */
void tlg_why_add(struct tlg_sim *sim, struct why *why, uint64_t ready, enum tlg_sim_cause cause, const char *who,
                 unsigned core, uint64_t until);

struct thread {
  const struct tlg_sim_thread *cfg;
  unsigned index, n_stages;
  struct stage stages[TLG_SIM_STAGES];
  struct stat *wait, *stalled;
  struct bounded queue; /* limit 0: none kept */
  int by_bytes;         /* the queue is the socket's buffer */
  uint64_t free;
  uint64_t arrived, dropped, first_drop;
  struct draw vacation;
  int has_vacation, idles;
  uint64_t vacations, rounds, reads, switches;
  struct stalls stalls;
  int started;
  uint64_t waiting; /* with events: room taken by items whose start is not settled */
  struct why why;   /* what the item that it is at has waited for */
};

struct pending {
  struct item x;
  const struct row *row;
};

/* A receive queue of the controller, with the core that empties it. */
struct nic_queue {
  struct moderation mod;
  struct bounded ring;
  uint64_t poll_free, fire, burst;
  uint64_t served; /* the last interrupt: since then packets are polled */
  int polled;
  struct draw interrupt;
  struct cost kernel;
  struct stalls stalls;
  uint64_t work;
  u128 demand;
  struct pending *pending; /* packets that wait for a frame limit */
  unsigned n_pending;
  uint64_t pending_fire, pending_frames;
};

/* A packet on its way, when units make its fate depend on later packets. */
struct flight {
  uint64_t end, air, packet, begin;
  uint64_t lost_at;
  int lost;
};

struct events;
struct fates;

struct tlg_sim {
  struct tlg_sim_scenario *s;
  struct tlg_sim_cfg cfg;
  uint64_t seed;
  struct fates *fates; /* packets come from outside; NULL: they are made here */
  int use_events, simple, blocks, nomem;
  int one_size;      /* all packets take the same room in every queue */
  uint64_t boundary; /* the next end of a batch */
  struct events *events;
  struct why why; /* of the next stamp, but for those of threads */

  /* source */
  struct row *rows;
  size_t n_rows, at_row;
  uint64_t sent, position, air, air_rem, air_den, burst_left, burst_air, batches;
  struct draw gap, batch;
  uint64_t warmup;
  u128 packet_bound; /* above what one more adds to the latest instant */
  uint32_t warm_ppm; /* the scenario's share, also where packets come from outside and the warm-up is the caller's */

  /* link */
  uint64_t link_free, link_arrived, sender_dropped, sender_first_drop;
  struct bounded sender;
  uint64_t link_work;
  u128 link_demand;
  struct stat *link_wait, *link_service;

  /* controller, kernel */
  unsigned n_queues;
  struct nic_queue *queues;
  uint64_t nic_arrived, nic_dropped, nic_first_drop;
  struct stat *nic_wait, *kernel_wait, *kernel_service;
  uint64_t in_order; /* a packet that overtook another one waits for it */

  unsigned n_threads;
  struct thread threads[TLG_SIM_THREADS];
  int has_units;
  uint64_t last_left; /* the first stage, for the gap */

  /* hop */
  struct cost hop;
  uint64_t hop_free, hop_arrived, hop_n, hop_busy_ps, hop_latency_ps;
  uint64_t hop_work;
  u128 hop_demand;
  struct stat *hop_wait, *hop_service;

  /* delivery */
  struct flight *flights;
  size_t flight_head, flight_tail, flight_mask;
  uint64_t delivered, dropped, samples_delivered, last_delivered, last_event;
  uint64_t sent_in_units; /* packets whose unit never became complete */
  u128 sum_air, sum_out, sum_sojourn;
  struct stat *packet, *gap_stat, *received;

  /* framing */
  uint64_t subframe, closing_input, opening_input; /* the next one */
  uint64_t subframes, subframes_in_time, subframes_incomplete;
  uint64_t lost[64]; /* bits of the subframes that lack samples, by number modulo 4096 */
  struct stat *subframe_stat, *closing;
  uint64_t last_late;

  struct stat stats[14 + 4 * TLG_SIM_THREADS + 3 * TLG_SIM_THREADS * TLG_SIM_STAGES];
  unsigned n_stats;
  struct tlg_sim_result result;

  /* over all runs merged into this one */
  unsigned runs; /* 0: not at its end */
  u128 span;
  uint64_t ended, sent_all, samples_all;

  /* For the negative controls of the tests: all 0 in use. */
  struct {
    uint64_t lose_packet; /* a packet that vanishes without being counted, + 1 */
    uint64_t tie;         /* 1: a packet that comes as the poll ends is not seen by it */
    int service_frees;    /* 1: service does not hold the server */
  } fault;
};

static inline int stamped(const struct tlg_sim *sim, uint64_t packet)
{
  return unlikely(packet - sim->cfg.stamp_first < sim->cfg.stamp_count);
}

/* Whether what it waits for is to be told. */
static inline int explained(const struct tlg_sim *sim, uint64_t packet)
{
  return stamped(sim, packet) && sim->cfg.stamp;
}

static inline uint64_t thread_weight(const struct tlg_sim *sim, const struct thread *th, const struct item *x)
{
  if (unlikely(sim->fates && th->by_bytes)) { /* packets of any size */
    struct tlg_sim_frame f;

    tlg_sim_frame(sim->s, x->end - x->begin, &f);
    return f.charged_bytes;
  }
  return th->by_bytes ? sim->rows[sim->n_rows == 1 ? 0 : x->packet % sim->n_rows].charged : 1;
}

/* _new lays out an element's part of the run: TLG_ENOMEM, or 0. What a half made run holds is freed by tlg_sim_free. */

/* arrivals.c: the next packet is on its way */
void tlg_arrivals_init(struct tlg_sim *sim);
void tlg_source_send(struct tlg_sim *sim);
void tlg_source_feed(struct tlg_sim *sim, uint64_t begin, uint64_t end); /* it comes from outside */

/* wire.c, nic.c, stages.c: x comes to the element at x->ready, and is handed on */
int tlg_wire_new(struct tlg_sim *sim);
void tlg_wire_free(struct tlg_sim *sim);
void tlg_row_make(const struct tlg_sim_scenario *s, struct row *row, uint64_t n);
void tlg_wire_send(struct tlg_sim *sim, struct item *x, const struct row *row);

int tlg_nic_new(struct tlg_sim *sim);
void tlg_nic_free(struct tlg_sim *sim);
void tlg_nic_arrive(struct tlg_sim *sim, struct item *x, const struct row *row);
void tlg_nic_drain(struct tlg_sim *sim); /* nothing more comes */

int tlg_stages_new(struct tlg_sim *sim);
void tlg_stages_free(struct tlg_sim *sim);
void tlg_stages_arrive(struct tlg_sim *sim, struct item *x);
uint64_t tlg_thread_start(struct tlg_sim *sim, struct thread *th, uint64_t ready, uint64_t now);
void tlg_thread_job(struct tlg_sim *sim, struct thread *th, const struct item *x, uint64_t start);
void tlg_thread_arrive(struct tlg_sim *sim, struct thread *th, const struct item *x);
void tlg_thread_idled(struct tlg_sim *sim, struct thread *th, const struct item *x, uint64_t start);
void tlg_thread_overrun(struct tlg_sim *sim, struct thread *th, const struct item *x);

/* hop.c: x has left the last thread at an instant */
int tlg_hop_new(struct tlg_sim *sim);
void tlg_hop_size(struct tlg_sim *sim, uint64_t n); /* what it costs for n samples */
void tlg_chain_deliver(struct tlg_sim *sim, const struct item *x, uint64_t at);

/* framing.c */
int tlg_framing_new(struct tlg_sim *sim);
void tlg_framing_deliver(struct tlg_sim *sim, const struct item *x, uint64_t at);
void tlg_framing_lost(struct tlg_sim *sim, uint64_t begin, uint64_t end);

/* accounting.c */
void tlg_chain_stamp(struct tlg_sim *sim, const char *element, const struct item *x, uint64_t start, uint64_t finish,
                     const char *note, int dropped);
/* The same with how long it was stalled on the way, and what it had waited for. */
void tlg_chain_served(struct tlg_sim *sim, const char *element, const struct item *x, uint64_t start, uint64_t finish,
                      const char *note, uint64_t stalled, const struct why *why);
/* A queue in front of one server, all of whose waits are for what came before. */
void tlg_chain_queued(struct tlg_sim *sim, const char *element, const struct item *x, uint64_t start, uint64_t finish);
/* x is lost at an instant: a packet, in front of the threads; among the threads, perhaps a unit with several packets.
 */
void tlg_packet_lost(struct tlg_sim *sim, const struct item *x, uint64_t at);
void tlg_chain_lost(struct tlg_sim *sim, const struct item *x, uint64_t at);
void tlg_delivered(struct tlg_sim *sim, const struct item *x, uint64_t out);
void tlg_flight_add(struct tlg_sim *sim, const struct item *x);
void tlg_flights_end(struct tlg_sim *sim); /* nothing more comes */

/* blocks.c: the next BLOCK packets at once; 0, with nothing changed, when they must go one by one */
enum { BLOCK = DRAW_AHEAD };
int tlg_blockable(const struct tlg_sim *sim); /* whether that may be tried at all */
int tlg_block_run(struct tlg_sim *sim);

/* event.c */
int tlg_events_new(struct tlg_sim *sim);
void tlg_events_free(struct tlg_sim *sim);
void tlg_events_arrive(struct tlg_sim *sim, struct thread *th, const struct item *x);
void tlg_events_emit(struct tlg_sim *sim, struct thread *th, const struct item *x, uint64_t at);
void tlg_events_until(struct tlg_sim *sim, uint64_t before_ps);

/* fates.c: what becomes of packets that come from outside */
int tlg_fates_new(struct tlg_sim *sim);
void tlg_fates_free(struct tlg_sim *sim);
int tlg_fates_fit(const struct tlg_sim *sim, uint64_t begin, uint64_t end);
/* What a packet of n samples costs; it stands for as long as the packet may need it. */
const struct row *tlg_fates_row(struct tlg_sim *sim, uint64_t n);
void tlg_fates_sent(struct tlg_sim *sim, uint64_t begin, uint64_t end);
void tlg_fates_stamp(struct tlg_sim *sim, const struct tlg_sim_stamp *stamp);
void tlg_fates_lost(struct tlg_sim *sim, uint64_t end);
void tlg_fates_delivered(struct tlg_sim *sim, uint64_t end, uint64_t at);
void tlg_fates_tell(struct tlg_sim *sim);
/* The stream is over: what is not settled is unfinished. */
void tlg_fates_end(struct tlg_sim *sim);

#endif
