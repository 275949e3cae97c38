/* SPDX-License-Identifier: Apache-2.0 */
/* What a kind of sink provides. */
#ifndef TLG_SINK_H
#define TLG_SINK_H

#include "endpoint.h"
#include "tlg_replay.h"

#include <stdatomic.h>

/* A sink's own state begins with this. Its functions are called from one thread at a time: a live sink's from a thread
 * that is its own, where they may wait (see tlg_sink_stopping). */
struct tlg_sink_ops;
struct tlg_sink {
  const struct tlg_sink_ops *ops;
  char *name;
  uint64_t count;       /* outputs written */
  int block;            /* set by open: nothing may be lost in front of it, the pipeline waits (a live sink) */
  struct tlg_rate rate; /* set by open: the rate it takes, if that is not for us to choose */
  _Atomic int quit;
  _Atomic uint64_t asked_ns; /* when a stop was asked for, 0 = it was not */
  _Atomic uint64_t counters[TLG_SINK_COUNTERS];
};

struct tlg_sink_ops {
  int is_file, is_stdout;
  int own_accounts; /* a live sink that counts SENT and DROPPED itself, as it holds outputs back between writes */
  int (*write)(struct tlg_sink *sink, const struct tlg_sink_block *block, struct tlg_error *err);
  int (*close)(struct tlg_sink *sink, struct tlg_error *err); /* finish; does not free; NULL = nothing to do */
  void (*abort)(struct tlg_sink *sink);                       /* likewise */
  int (*marks_gaps)(const struct tlg_sink *sink);             /* NULL = it is told of them by the block */
  void (*counts)(const struct tlg_sink *sink, struct tlg_convert_counts *counts);
  /* Of a live sink: nothing was to be written for 10 ms; look after the other side. May be NULL. */
  int (*idle)(struct tlg_sink *sink, struct tlg_error *err);
  /* Of a live sink, from any thread: what the other side is doing, as tlg_sink_say. May be NULL. */
  void (*say)(const struct tlg_sink *sink, char *text, size_t size);
  /* Of a wrapper. */
  void (*end)(struct tlg_sink *sink);
  int (*ended)(const struct tlg_sink *sink);
  const struct tlg_sink *(*inner)(const struct tlg_sink *sink);
};

/* Opens a sink of a scheme. On success *sink is a heap object. With cfg->only_check it looks at what it was given and
 * at what is there, does nothing that another could see, and leaves *sink alone if opening it would. */
typedef int tlg_sink_open_fn(struct tlg_sink **sink, const struct tlg_endpoint *e, const struct tlg_sink_cfg *cfg,
                             struct tlg_error *err);
tlg_sink_open_fn tlg_sink_open_null;
tlg_sink_open_fn tlg_sink_open_file;
tlg_sink_open_fn tlg_sink_open_fifo;
tlg_sink_open_fn tlg_sink_open_stdout;
tlg_sink_open_fn tlg_sink_open_udp;
tlg_sink_open_fn tlg_sink_open_unix;
tlg_sink_open_fn tlg_sink_open_shm;
tlg_sink_open_fn tlg_sink_open_zmq;
tlg_sink_open_fn tlg_sink_open_srsran;
tlg_sink_open_fn tlg_sink_open_dac;
tlg_sink_open_fn tlg_sink_open_uhd;

/* A packet stream (wire.h) that begins now: a number drawn for it, and what cfg says. */
struct tlg_own;
void tlg_own_start(struct tlg_own *own, const struct tlg_sink_cfg *cfg);
/* What a block says of the stream before its samples: those left out, of which *next = the next sample's number takes
 * note, and another frequency. */
void tlg_own_follow(struct tlg_own *own, uint64_t *next, const struct tlg_sink_block *block);

enum {
  TLG_SINK_WAIT_MS = 50,   /* the longest wait before looking whether it is stopping */
  TLG_SINK_GRACE_MS = 500, /* the other side may still take what is there for so long after a stop was asked for */
};

/* Count something, from the sink's own thread. */
static inline void tlg_sink_add(struct tlg_sink *sink, enum tlg_sink_counter which, uint64_t n)
{
  atomic_fetch_add_explicit(&sink->counters[which], n, memory_order_relaxed);
}

/* It waited for the other side since from_ns, by tlg_clock_monotonic. */
void tlg_sink_stalled(struct tlg_sink *sink, uint64_t from_ns);

/* Whether a stop was asked for: do not wait for more than what was given (no lingering at the end). */
static inline int tlg_sink_asked(const struct tlg_sink *sink)
{
  return atomic_load_explicit(&sink->asked_ns, memory_order_relaxed) != 0;
}

/* Whether it must come to its end: whatever waits inside write, idle or close looks at this every TLG_SINK_WAIT_MS, and
 * then counts what it still holds as dropped and returns TLG_OK. */
int tlg_sink_stopping(const struct tlg_sink *sink);

#endif
