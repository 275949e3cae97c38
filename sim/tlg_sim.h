/* SPDX-License-Identifier: Apache-2.0 */
/* Public interface of sim/: distributions of delays, shared by the measured pipeline and the queueing model; the
 * model's scenarios, runs and results. Integers only. An object belongs to one thread at a time. */
#ifndef TLG_SIM_H
#define TLG_SIM_H

#include "taplag.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A histogram of delays in picoseconds. Values below 2048 have a bin each, larger ones 1024 bins an octave, so a bin
 * is at most 2^-10 of its value wide (0.1 %). Each bin keeps the largest value that fell into it: a percentile is a
 * value that occurred, never below the true nearest rank and less than 0.1 % above it. Count, minimum, maximum and
 * mean are exact. Values from 2^52 ps (75 minutes) on share the last bin. */
struct tlg_delays; /* opaque */

struct tlg_delays_summary {
  uint64_t count;
  uint64_t min, mean, p50, p90, p99, p999, p9999, max; /* ps; all 0 when count is 0 */
  uint64_t max_when;                                   /* the `when` of the first occurrence of max */
};

/* All memory is laid out and touched here. TLG_EINVAL, TLG_ENOMEM; on failure *d is NULL. */
TLG_API int tlg_delays_new(struct tlg_delays **d);
TLG_API void tlg_delays_free(struct tlg_delays *d);
TLG_API void tlg_delays_reset(struct tlg_delays *d);
/* Add one delay; `when` is any number that tells later where it happened (an instant, a packet number). Never
 * allocates. */
TLG_API void tlg_delays_add(struct tlg_delays *d, uint64_t delay_ps, uint64_t when);
/* Add all of from to into; on equal maxima the `when` of into stays. */
TLG_API void tlg_delays_merge(struct tlg_delays *into, const struct tlg_delays *from);
TLG_API uint64_t tlg_delays_count(const struct tlg_delays *d);
/* Percentile num/den by nearest rank: the value of rank ceil(count * num / den), the smallest having rank 1.
 * 0 when empty or den is 0. */
TLG_API uint64_t tlg_delays_percentile(const struct tlg_delays *d, uint64_t num, uint64_t den);
TLG_API void tlg_delays_summarise(const struct tlg_delays *d, struct tlg_delays_summary *summary);
/* Walk the bins that are not empty in rising order: start with *position = 0; values of the bin lie in [*low, *high].
 * Returns 1, or 0 behind the last. */
TLG_API int tlg_delays_next(const struct tlg_delays *d, size_t *position, uint64_t *low, uint64_t *high,
                            uint64_t *count);

/* All that a histogram holds, so that it can be written down and put together again exactly: the totals, and for each
 * bin that is not empty its largest value and count. */
struct tlg_delays_totals {
  uint64_t count, min, max, max_when;
  uint64_t sum_high, sum_low; /* sum = sum_high * 2^64 + sum_low */
};
TLG_API void tlg_delays_get(const struct tlg_delays *d, struct tlg_delays_totals *totals);
/* As tlg_delays_next, with what the bin keeps. */
TLG_API int tlg_delays_bin(const struct tlg_delays *d, size_t *position, uint64_t *largest, uint64_t *count);
/* Add one bin that was written down; then, once all are back, their totals. */
TLG_API void tlg_delays_put(struct tlg_delays *d, uint64_t largest, uint64_t count);
TLG_API void tlg_delays_set(struct tlg_delays *d, const struct tlg_delays_totals *totals);

/* ---- the model's scenario --------------------------------------------------------------------------------- */

enum { TLG_DIST_POINTS = 64, TLG_SIM_THREADS = 8, TLG_SIM_STAGES = 8, TLG_SIM_STALLS = 8, TLG_SIM_NAME = 32 };

/* How a duration varies. Constant: low. Uniform: low to high. Exponential: low is the mean. Table: a quantile
 * function through points of (probability below, value), straight between them, the last point being the tail's end. */
enum tlg_dist_kind { TLG_DIST_CONSTANT, TLG_DIST_UNIFORM, TLG_DIST_EXPONENTIAL, TLG_DIST_TABLE };

struct tlg_dist {
  enum tlg_dist_kind kind;
  uint64_t low_ps, high_ps;
  unsigned n_points;
  struct tlg_dist_point {
    uint32_t below_ppb; /* 0 .. 10^9, rising */
    uint64_t value_ps;
  } points[TLG_DIST_POINTS];
};

/* TLG_EFORMAT with the reason, or 0. */
TLG_API int tlg_dist_check(const struct tlg_dist *dist, struct tlg_error *err);
/* The exact mean, rounded down. */
TLG_API uint64_t tlg_dist_mean(const struct tlg_dist *dist);

/* A server's time for one item: fixed + per_sample * n + alloc + jitter. */
struct tlg_cost {
  uint64_t fixed_ps, alloc_ps;
  uint64_t per_sample_fs; /* femtoseconds */
  uint64_t per_byte_fs;
  struct tlg_dist jitter;
};

enum tlg_arrivals { TLG_ARRIVALS_CLOCK, TLG_ARRIVALS_POISSON };
enum tlg_batch { TLG_BATCH_FIXED, TLG_BATCH_GEOMETRIC };
enum tlg_flow_control { TLG_FLOW_OFF, TLG_FLOW_ON, TLG_FLOW_IGNORED };
enum tlg_moderation {
  TLG_MODERATION_OFF,        /* an interrupt as soon as a packet meets a drained ring */
  TLG_MODERATION_TICK,       /* A: a free-running timer */
  TLG_MODERATION_ONESHOT,    /* B: a timer armed by the first packet; optional frame limit */
  TLG_MODERATION_GAP,        /* C: a least distance between interrupts, as the throttle of Intel's controllers */
  TLG_MODERATION_IGB,        /* igb adaptive, conservative, several queue vectors */
  TLG_MODERATION_IGB_SINGLE, /* the same with one vector; e1000e's rule is alike */
  TLG_MODERATION_IXGBE,      /* ixgbe adaptive */
  TLG_MODERATION_DIM,        /* dynamic interrupt moderation of mlx5 and others */
  TLG_MODERATION_POLL,       /* no interrupts: a core that polls */
};
enum tlg_sim_overrun { TLG_SIM_DROP, TLG_SIM_BLOCK };

struct tlg_sim_stage {
  char name[TLG_SIM_NAME];
  struct tlg_cost cost;
  uint64_t unit, unit_phase; /* > 0: collects so many samples before it begins (boundaries at phase + k * unit) */
};

struct tlg_sim_thread {
  char name[TLG_SIM_NAME];
  unsigned core;                /* threads with the same number share a core; 0 = one of its own */
  uint64_t queue;               /* items that may wait in front of it; 0 = any number */
  enum tlg_sim_overrun overrun; /* what a full queue does */
  uint64_t wake_ps;             /* from an arrival at a sleeping thread to its first instruction */
  struct tlg_dist vacation; /* mean > 0: when idle the thread goes round a loop of this length before it looks again */
  struct {                  /* the loop of a polling scheduler: vacation = tasks * task + reads * clock + busy */
    uint64_t tasks, reads_per_task, reads_per_round, reads_per_run, task_ps, clock_ps, busy_ps;
  } poll;
  unsigned n_stages;
  struct tlg_sim_stage stages[TLG_SIM_STAGES];
};

struct tlg_sim_stall {
  int on;            /* a thread's index, TLG_STALL_KERNEL, or TLG_STALL_HOST (kernel and all threads) */
  uint64_t every_ps; /* the period, or the mean distance of random ones */
  uint64_t phase_ps;
  int random;
  struct tlg_dist length;
};
enum { TLG_STALL_KERNEL = -1, TLG_STALL_HOST = -2 };

struct tlg_sim_scenario {
  char name[64], about[256];
  uint64_t seed;
  uint64_t n_packets;  /* how many the source sends */
  uint32_t warmup_ppm; /* the first share of the packets, left out of every distribution */

  struct tlg_rate rate; /* samples a second */
  uint32_t sample_bytes;
  uint32_t *sizes; /* samples a packet, repeated; owned */
  size_t n_sizes;
  enum tlg_arrivals arrivals; /* poisson: the mean distance of batches is that of the clock */
  enum tlg_batch batch_kind;
  uint32_t batch; /* packets that are sent together (mean, when geometric) */

  int has_link;
  uint64_t link_bps; /* 0: no serialisation */
  uint32_t mtu, header_bytes;
  uint64_t link_latency_ps;
  uint64_t sender_buffer_bytes; /* 0 = any */
  enum tlg_flow_control flow;

  int has_nic;
  uint32_t ring; /* frames; 0 = any number */
  uint32_t queues, flows;
  enum tlg_moderation moderation;
  uint64_t moderation_ps, moderation_phase_ps;
  uint32_t moderation_frames;
  uint64_t other_every_ps; /* other traffic of the same vector, which the adaptive rules see */
  uint32_t other_bytes;

  int has_kernel;
  struct tlg_dist interrupt; /* from the interrupt to the first packet polled */
  struct tlg_cost kernel;    /* per packet and byte */
  uint64_t fragment_ps;      /* each further fragment */
  uint64_t checksum_fs;      /* a byte, when the controller does not check */
  uint32_t budget;           /* packets in one go; then the poll starts anew after budget_ps; 0 = no limit */
  uint64_t budget_ps;

  uint64_t socket_bytes;   /* 0 = any; as setsockopt's value doubled, or net.core.rmem_default */
  uint32_t datagram_bytes; /* what the kernel charges a datagram; 0: by its rule for loopback */

  unsigned n_threads;
  struct tlg_sim_thread threads[TLG_SIM_THREADS];
  uint64_t switch_ps; /* a shared core goes over to another thread */

  int has_hop;
  struct tlg_cost hop; /* time that the hop is busy with a packet */
  uint64_t hop_latency_ps;
  unsigned n_hop_points; /* a measured transport: on top, by the size of what is handed over, straight between points */
  struct tlg_hop_point {
    uint64_t bytes, busy_ps, latency_ps;
  } hop_points[8];

  int has_phy;
  struct tlg_rate out_rate;
  uint32_t up, down;
  uint64_t align_q0; /* the resampler's q0 */
  uint64_t subframe; /* outputs, 30720 */
  uint64_t offset;   /* outputs */
  uint64_t deadline_ps;

  unsigned n_stalls;
  struct tlg_sim_stall stalls[TLG_SIM_STALLS];
};

/* Bytes on the wire (headers, fragments, preamble, gap), number of frames, and what the kernel charges, of a packet of
 * n samples. */
struct tlg_sim_frame {
  uint64_t payload_bytes, wire_bytes, frames, charged_bytes;
};
TLG_API void tlg_sim_frame(const struct tlg_sim_scenario *s, uint64_t n, struct tlg_sim_frame *frame);

/* An empty scenario: 25 Msps in packets of 625, a second, nothing behind the source. Free with tlg_sim_scenario_free.
 */
TLG_API int tlg_sim_scenario_new(struct tlg_sim_scenario **s);
TLG_API void tlg_sim_scenario_free(struct tlg_sim_scenario *s);
/* Read a scenario (libconfig; docs/model.md lists the keys). settings: "key=value" texts that replace or add keys,
 * ended by NULL, or NULL. An unknown key, an impossible value and parts that do not fit are TLG_EFORMAT, with the line
 * (TLG_EINVAL, with the setting, where a setting is to blame); a file that cannot be read is TLG_ESYS. */
TLG_API int tlg_sim_scenario_read(struct tlg_sim_scenario **s, const char *path, const char *const *settings,
                                  struct tlg_error *err);
/* The full name of a setting's key ("packet=364" and "packet": "source.packet"). */
TLG_API void tlg_sim_key(const char *setting, char *key, size_t size);
/* Whether the parts fit together: TLG_EFORMAT with the reason, or 0. */
TLG_API int tlg_sim_scenario_check(const struct tlg_sim_scenario *s, struct tlg_error *err);

/* ---- runs ------------------------------------------------------------------------------------------------- */

enum tlg_sim_engine {
  TLG_ENGINE_AUTO,      /* events where cores are shared, else the recursion */
  TLG_ENGINE_RECURSION, /* TLG_EINVAL where cores are shared */
  TLG_ENGINE_EVENTS,
};

/* Why something waited at an element. */
enum tlg_sim_cause {
  TLG_WAIT_EARLIER,   /* the element was busy with what came before: who = a thread, or "link", "kernel", "hop" */
  TLG_WAIT_CORE,      /* the thread's core was held by another thread: who */
  TLG_WAIT_SWITCH,    /* the core goes over to this thread: who */
  TLG_WAIT_WAKE,      /* the thread wakes up: who; what of it a core held by others hides is not in here */
  TLG_WAIT_LOOP,      /* an idle thread is somewhere in its loop: who */
  TLG_WAIT_INTERRUPT, /* the controller holds the interrupt back */
  TLG_WAIT_SERVED,    /* the interrupt is being served: from its coming to the first packet */
  TLG_WAIT_STALL,     /* who, a thread or the kernel, is stalled */
};
/* One part of a wait: from the end of the part before it (the first one: from the stamp's `ready`) to `until`. */
struct tlg_sim_wait {
  enum tlg_sim_cause cause;
  const char *who;
  unsigned core; /* which, for a shared one; 0: not shared */
  uint64_t until;
};

/* One line of a packet's life: it was ready for an element at `ready`, was taken at `start`, left at `finish`. */
struct tlg_sim_stamp {
  const char *element;
  uint64_t packet;     /* the packet, or the one that completed the unit */
  uint64_t begin, end; /* its samples [begin, end) */
  uint64_t ready, start, finish;
  const char *note; /* "waits for the interrupt", ...; NULL = nothing special */
  int dropped;
  uint64_t stalled; /* so much of [start, finish) it was interrupted by stalls */
  /* What it waited for: the parts of [ready, start), in order and without a gap, none of them empty, the last until
   * `start`; none where it did not wait, or has collected. They last as long as the call; the texts as the run. */
  const struct tlg_sim_wait *waits;
  size_t n_waits;
};
typedef void tlg_sim_stamp_fn(void *arg, const struct tlg_sim_stamp *stamp);

/* What became of one packet that was fed in (tlg_sim_feed). The resampling stage is the one named "resample"; if no
 * stage is, resampling takes no time and comes right behind the first stage. Where units are collected, a packet's
 * instants are those of the unit that holds its last sample. */
struct tlg_sim_fate {
  uint64_t packet, begin, end; /* its number, and its samples [begin, end) */
  uint64_t closed_by;          /* the packet that completed its unit; without units itself */
  uint64_t air;                /* it was sent: its last sample had come in (that of its batch) */
  uint64_t received;           /* it came to the resampling stage, or to that stage's queue ... */
  uint64_t resample_begin, resample_end;
  uint64_t deliver_begin; /* what comes behind took it up: the next stage, the hop; nothing behind: resample_end */
  uint64_t delivered;     /* the end of the chain had it: as in the packet latency */
  const char *lost;       /* NULL, or where it was lost; then the instants it did not live to see are 0 */
  int lost_behind;        /* it was lost behind the resampling stage */
  int unfinished;         /* its unit had not filled when the stream ended: neither lost nor delivered */
};
typedef void tlg_sim_fate_fn(void *arg, const struct tlg_sim_fate *fate);

struct tlg_sim_cfg {
  enum tlg_sim_engine engine;
  uint64_t seed; /* 0 = the scenario's */
  tlg_sim_stamp_fn *stamp;
  void *stamp_arg;
  uint64_t stamp_first, stamp_count; /* which packets are reported to stamp */
  int plain;                         /* 1: the recursion packet by packet, never in blocks; the same results, slower */
  /* Not NULL: packets are not made here but come by tlg_sim_feed, and this is called with each of them, in their order,
   * as soon as it is settled. Then the scenario's length and warm-up do not matter, and subframes are not formed. */
  tlg_sim_fate_fn *fate;
  void *fate_arg;
  /* With fate, or NULL: what the end of the chain has. Samples up to `end`, but for those that were lost, were there at
   * an instant, with the packet that completed their unit; in rising order, before the fates that come of it. Units may
   * end inside packets: a part of one can be there before the packet is. */
  void (*reached)(void *fate_arg, uint64_t end, uint64_t at, uint64_t packet);
};

struct tlg_sim; /* opaque */

/* The scenario is copied. On failure *sim is NULL. TLG_EINVAL, TLG_EFORMAT, TLG_ENOMEM. */
TLG_API int tlg_sim_new(struct tlg_sim **sim, const struct tlg_sim_scenario *s, const struct tlg_sim_cfg *cfg,
                        struct tlg_error *err);
TLG_API void tlg_sim_free(struct tlg_sim *sim);
/* Send up to n further packets. *left = packets still to come; at 0 all of them have arrived or are lost. Memory does
 * not grow with the packets sent, but where a queue without limit grows. */
TLG_API int tlg_sim_step(struct tlg_sim *sim, uint64_t n, uint64_t *left);

/* The next packet, of samples [begin, end), where packets come from outside: the source sends it when its last sample
 * has come in, by the scenario's rate (in a batch: when the batch would be full). Samples that are passed over were
 * never sent. It may be smaller than the largest packet of the scenario, not larger. Settles this packet, or earlier
 * ones, or none: what a shared core, a unit or a frame limit makes wait for later packets is settled by them.
 * TLG_EINVAL (numbers that fall back, a packet without samples or too large, arrivals that follow no sample clock),
 * TLG_EFORMAT (instants could pass 2^63 ps, 106 days), TLG_ENOMEM. */
TLG_API int tlg_sim_feed(struct tlg_sim *sim, uint64_t begin, uint64_t end);
/* No more come: settles all that are still on their way. Then tlg_sim_results has the whole run. TLG_ENOMEM. */
TLG_API int tlg_sim_feed_end(struct tlg_sim *sim);

enum { TLG_SIM_BATCHES = 32 };

/* A distribution after the warm-up, and the means of 32 batches of equal length. */
struct tlg_sim_stat {
  const struct tlg_delays *delays;
  unsigned n_batches; /* those with values in them */
  uint64_t batch_mean_ps[TLG_SIM_BATCHES];
};

struct tlg_sim_place {
  const char *name;
  const struct tlg_sim_stat *wait, *service, *collect, *stalled; /* NULL: there is none */
  uint64_t arrived, dropped;                                     /* the warm-up included */
  uint64_t first_drop_ps;
  uint64_t load_ppm;     /* work that arrives / time, from the means of the costs; UINT64_MAX: no server */
  int infinite;          /* its queue has no limit */
  uint64_t most_waiting; /* the largest filling of a finite queue (frames, bytes or items) */
  unsigned core;
};

/* What works through a queue: the link, the kernel, a thread, a shared core, the hop. */
struct tlg_sim_server {
  char name[TLG_SIM_NAME];
  uint64_t load_ppm; /* stalls included */
  int overloaded;    /* as much or more work comes than it can do */
  /* Of an overloaded one: */
  int infinite;     /* what it cannot do piles up without limit; else in a queue that is full some day */
  int grows;        /* its queue grew in the measured part of the run: no steady state */
  int loses;        /* its queue has been full */
  uint64_t full_ps; /* when it was, or at this pace will be; 0: never, or not told */
};

struct tlg_sim_result {
  unsigned runs; /* merged here; 0 while the run goes on */
  unsigned n_places;
  struct tlg_sim_place places[8 + TLG_SIM_THREADS * TLG_SIM_STAGES];
  unsigned n_servers;
  struct tlg_sim_server servers[4 + 2 * TLG_SIM_THREADS];
  const struct tlg_sim_stat *packet;   /* air to delivered */
  const struct tlg_sim_stat *subframe; /* first sample of the subframe began, to the PHY holding all of it */
  const struct tlg_sim_stat *closing;  /* the last sample of a subframe waits for the end of its packet */
  const struct tlg_sim_stat *gap;      /* between packets that leave the first stage */
  const struct tlg_sim_stat *received; /* air to the end of the first stage; NULL: no thread */
  uint64_t sent, delivered, dropped;   /* packets: sent = delivered + dropped + unfinished */
  uint64_t unfinished;                 /* in a unit that did not fill before the source ended */
  uint64_t samples_sent, samples_delivered;
  uint64_t subframes, subframes_in_time, subframes_incomplete; /* after the warm-up */
  uint64_t warmup_packets, span_ps;                            /* span: the time the source took */
  uint64_t warm_ps;                                            /* when the warm-up ended */
  uint64_t last_delivered_ps;
  uint64_t interrupts, rounds, clock_reads;
  int overloaded; /* some server is */
  int stable;     /* no queue grew in the measured part, neither for ever nor until it was full: delays are a steady
                     state's. An overloaded server whose queue was full when the warm-up ended is stable. */
  int bottleneck; /* the server with the largest load (unstable: the first whose queue grows); -1 = there is none */
  int culprit;    /* the server that makes it unstable */
  /* Little's law over the whole run, from counters at both ends: sum of sojourns = integral of the number inside. */
  int little_holds;
  uint64_t number_inside_ppm, sojourn_mean_ps;
  unsigned n_late_bursts; /* late subframes, those within 100 ms of each other together */
  struct {
    uint64_t when_ps, subframes, worst_ps;
  } late_bursts[64];
};

/* Add the finished run `from` of the same scenario (another seed) to the finished run `into`: distributions and counts
 * add up exactly; batch means become those of all runs. Times of losses and of late subframes stay those of the first.
 */
TLG_API int tlg_sim_merge(struct tlg_sim *into, const struct tlg_sim *from);

/* Valid until the next call for sim. */
TLG_API const struct tlg_sim_result *tlg_sim_results(struct tlg_sim *sim);

#ifdef __cplusplus
}
#endif
#endif
