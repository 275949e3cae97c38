/* SPDX-License-Identifier: Apache-2.0 */
/* A sink in a thread of its own behind a bounded queue. */
#include "lane.h"
#include "ring.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

struct lane_block {
  uint64_t first, gap;
  double frequency_hz;
  uint64_t virtual_ps;
  uint32_t n;
  int retuned, is_virtual;
  tlg_cs16 samples[TLG_LANE_BLOCK];
};

struct lane {
  struct tlg_sink base;
  struct tlg_sink *inner;
  struct tlg_ring *ring;
  pthread_t thread;
  uint64_t gap;          /* the writer's, and the thread's once the ring is closed: outputs left out or lost since the
                          * last block in the queue */
  uint64_t next;         /* likewise: the output behind the last */
  const double *retuned; /* a frequency that came with a block that was lost */
  double frequency_hz;
  int losing;
  /* Of the thread, until `ended`. */
  int status;
  struct tlg_error error;
  _Atomic int failed, ended, abandon;
};

int tlg_lane_keys(struct tlg_lane_cfg *cfg, struct tlg_endpoint *e, struct tlg_error *err)
{
  uint64_t queue = TLG_LANE_QUEUE, block = 0;
  size_t i, kept = 0;
  int status;

  if ((status = tlg_endpoint_whole(e, "queue", 2, TLG_LANE_LARGEST, &queue, err)) ||
      (status = tlg_endpoint_whole(e, "block", 0, 1, &block, err))) {
    return status;
  }
  for (i = 0; i < e->n_keys; i++) {
    if (strcmp(e->keys[i].key, "queue") != 0 && strcmp(e->keys[i].key, "block") != 0) {
      e->keys[kept++] = e->keys[i];
    }
  }
  e->n_keys = kept;
  cfg->queue = (uint32_t)queue;
  cfg->block = e->block = (int)block;
  return TLG_OK;
}

/* ---- the thread ---------------------------------------------------------------------------------------------- */

static int take(struct lane *l, const struct lane_block *b)
{
  const struct tlg_sink_block block = {.samples = b->samples,
                                       .n = b->n,
                                       .first = b->first,
                                       .gap = b->gap,
                                       .frequency_hz = b->retuned ? &b->frequency_hz : NULL,
                                       .virtual_ps = b->is_virtual ? &b->virtual_ps : NULL};
  struct tlg_sink *inner = l->inner;
  const uint64_t before = tlg_sink_counter(inner, TLG_SINK_DROPPED);
  const int status = tlg_sink_write(inner, &block, &l->error);

  if (!status && !inner->ops->own_accounts) {
    tlg_sink_add(&l->base, TLG_SINK_SENT, b->n - (tlg_sink_counter(inner, TLG_SINK_DROPPED) - before));
  }
  return status;
}

/* What was left out or lost behind the last block: the stream's end is behind it, too. */
static int take_last_gap(struct lane *l)
{
  const struct tlg_sink_block block = {.first = l->next, .gap = l->gap, .frequency_hz = l->retuned};

  return l->gap ? tlg_sink_write(l->inner, &block, &l->error) : TLG_OK;
}

static void *lane_main(void *context)
{
  struct lane *l = context;
  struct tlg_sink *inner = l->inner;
  struct lane_block *b;
  struct timespec cpu;

  prctl(PR_SET_NAME, "tlg-sink");
  while (!l->status && !atomic_load(&l->abandon)) {
    b = tlg_ring_wait_item_for(l->ring, TLG_LANE_IDLE_MS * UINT64_C(1000000));
    if (b) {
      l->status = take(l, b);
      if (!l->status) {
        tlg_ring_release(l->ring);
      }
    } else if (tlg_ring_closed(l->ring) && !tlg_ring_front(l->ring)) {
      l->status = take_last_gap(l);
      break;
    } else if (inner->ops->idle) {
      l->status = inner->ops->idle(inner, &l->error);
    }
  }
  if (l->status) { /* the writer learns it with its next block */
    atomic_store(&l->failed, 1);
    tlg_ring_close(l->ring);
  }
  if (l->status || atomic_load(&l->abandon)) {
    if (inner->ops->abort) {
      inner->ops->abort(inner);
    }
  } else if (inner->ops->close) {
    l->status = inner->ops->close(inner, &l->error);
  }
  /* What is still queued was given, and reached nobody. */
  while ((b = tlg_ring_front(l->ring))) {
    tlg_sink_add(&l->base, TLG_SINK_DROPPED, b->n);
    tlg_ring_release(l->ring);
  }
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
  tlg_sink_add(&l->base, TLG_SINK_CPU_US, (uint64_t)cpu.tv_sec * 1000000u + (uint64_t)cpu.tv_nsec / 1000u);
  atomic_store(&l->ended, 1);
  return NULL;
}

/* ---- the writer ---------------------------------------------------------------------------------------------- */

static void lose(struct lane *l, const struct tlg_sink_block *block, uint64_t n)
{
  tlg_sink_add(&l->base, TLG_SINK_DROPPED, n);
  tlg_sink_add(&l->base, TLG_SINK_LOSSES, !l->losing);
  l->losing = 1;
  l->gap += n;
  if (block->frequency_hz) {
    l->frequency_hz = *block->frequency_hz;
    l->retuned = &l->frequency_hz;
  }
}

static int failure(struct lane *l, struct tlg_error *err)
{
  if (err) {
    *err = l->error;
  }
  return l->status;
}

static int lane_write(struct tlg_sink *sink, const struct tlg_sink_block *block, struct tlg_error *err)
{
  struct lane *l = (struct lane *)sink;
  size_t done = 0;

  l->gap += block->gap;
  l->next = block->first + block->n;
  do {
    const size_t n = block->n - done < TLG_LANE_BLOCK ? block->n - done : TLG_LANE_BLOCK;
    struct lane_block *b;
    size_t count;

    if (atomic_load(&l->failed)) {
      return failure(l, err);
    }
    b = tlg_ring_reserve(l->ring);
    if (!b && l->base.block) {
      b = tlg_ring_wait_space(l->ring);
      if (!b) {
        return failure(l, err); /* only a failed lane is closed while it is written to */
      }
    }
    if (!b) {
      lose(l, block, block->n - done);
      return TLG_OK;
    }
    b->first = block->first + done;
    b->gap = l->gap;
    b->n = (uint32_t)n;
    b->retuned = l->retuned || (block->frequency_hz && !done);
    if (b->retuned) {
      b->frequency_hz = block->frequency_hz ? *block->frequency_hz : l->frequency_hz;
    }
    b->is_virtual = block->virtual_ps != NULL;
    b->virtual_ps = b->is_virtual ? *block->virtual_ps : 0;
    memcpy(b->samples, block->samples + done, n * sizeof *b->samples);
    l->gap = 0;
    l->retuned = NULL;
    l->losing = 0;
    tlg_ring_publish(l->ring);
    count = tlg_ring_count(l->ring);
    if (count > atomic_load_explicit(&sink->counters[TLG_SINK_HIGH_WATER], memory_order_relaxed)) {
      atomic_store_explicit(&sink->counters[TLG_SINK_HIGH_WATER], count, memory_order_relaxed);
    }
    done += n;
  } while (done < block->n);
  return TLG_OK;
}

static void lane_end(struct tlg_sink *sink)
{
  tlg_ring_close(((struct lane *)sink)->ring);
}

static int lane_ended(const struct tlg_sink *sink)
{
  return atomic_load(&((const struct lane *)sink)->ended);
}

static void join(struct lane *l)
{
  tlg_ring_close(l->ring);
  pthread_join(l->thread, NULL);
  tlg_ring_free(l->ring);
  free(l->inner);
}

static int lane_close(struct tlg_sink *sink, struct tlg_error *err)
{
  struct lane *l = (struct lane *)sink;

  join(l);
  return l->status ? failure(l, err) : TLG_OK;
}

static void lane_abort(struct tlg_sink *sink)
{
  struct lane *l = (struct lane *)sink;

  atomic_store(&l->inner->quit, 1);
  atomic_store(&l->abandon, 1);
  join(l);
}

static const struct tlg_sink *lane_inner(const struct tlg_sink *sink)
{
  return ((const struct lane *)sink)->inner;
}

static int lane_marks_gaps(const struct tlg_sink *sink)
{
  return tlg_sink_marks_gaps(lane_inner(sink));
}

/* Only what its thread has ended with may be read by another. */
static void lane_counts(const struct tlg_sink *sink, struct tlg_convert_counts *counts)
{
  if (lane_ended(sink)) {
    tlg_sink_count(lane_inner(sink), counts);
  }
  counts->clipped += tlg_sink_counter(sink, TLG_SINK_CLIPPED);
}

int tlg_lane_new(struct tlg_sink **sink, struct tlg_sink *inner, const struct tlg_lane_cfg *cfg, struct tlg_error *err)
{
  static const struct tlg_sink_ops ops = {.write = lane_write,
                                          .close = lane_close,
                                          .abort = lane_abort,
                                          .marks_gaps = lane_marks_gaps,
                                          .counts = lane_counts,
                                          .end = lane_end,
                                          .ended = lane_ended,
                                          .inner = lane_inner};
  struct lane *l = calloc(1, sizeof *l);
  sigset_t all, old;
  int status = TLG_ENOMEM, cause;

  if (!l || (status = tlg_ring_new(&l->ring, sizeof(struct lane_block), cfg->queue ? cfg->queue : TLG_LANE_QUEUE, NULL,
                                   NULL))) {
    status = tlg_error_set(err, status, "out of memory; take a shorter queue=");
    goto fail;
  }
  tlg_ring_touch(l->ring);
  l->base.ops = &ops;
  l->base.block = cfg->block || inner->block;
  l->base.rate = inner->rate;
  l->inner = inner;
  sigfillset(&all); /* signals go to the caller's thread */
  pthread_sigmask(SIG_SETMASK, &all, &old);
  cause = pthread_create(&l->thread, NULL, lane_main, l);
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  if (cause) {
    status = tlg_error_set(err, TLG_ESYS, "a sink's thread cannot be started: %s", strerror(cause));
    goto fail;
  }
  *sink = &l->base;
  return TLG_OK;
fail:
  if (l) {
    tlg_ring_free(l->ring);
    free(l);
  }
  if (inner->ops->abort) {
    inner->ops->abort(inner);
  }
  free(inner);
  return status;
}
