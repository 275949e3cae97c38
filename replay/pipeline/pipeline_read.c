/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that reads ahead: blocks from a recording, pass after pass, or what a live source gives. */
#include "pipeline.h"

#include <string.h>

/* Keep what was read of the first pass, if it fits into a block. */
static void keep_pass(struct tlg_pipeline *p, const struct block *b, uint64_t at)
{
  if (p->pass && at + b->n <= TLG_PIPELINE_BLOCK) {
    memcpy(p->pass + at, b->samples, b->n * sizeof *p->pass);
  }
}

/* From the second on, passes of n samples without gaps that fit into a block: blocks are filled out of memory, each
 * with as many passes as it holds, so that short recordings cost no more than long ones and are read ahead as far. Ends
 * at sample `limit` (UINT64_MAX: not before the stop); returns where. */
static uint64_t repeat_pass(struct tlg_pipeline *p, uint64_t n, uint64_t limit, struct block **last)
{
  const size_t whole = (size_t)(TLG_PIPELINE_BLOCK / n * n);
  uint64_t position = n;
  struct block *b;
  size_t have = (size_t)n;

  while (have < whole) { /* as many passes as there is room for, so that there is less to piece together */
    const size_t m = have < whole - have ? have : whole - have;

    memcpy(p->pass + have, p->pass, m * sizeof *p->pass);
    have += m;
  }
  while ((b = tlg_ring_wait_space(p->blocks)) && !atomic_load(&p->stop) && position < limit) {
    const uint64_t into = position % n;
    const size_t room = limit - position < TLG_PIPELINE_BLOCK ? (size_t)(limit - position) : TLG_PIPELINE_BLOCK;
    size_t from = (size_t)into, done = 0;

    while (done < room) {
      const size_t m = whole - from < room - done ? whole - from : room - done;

      memcpy(b->samples + done, p->pass + from, m * sizeof *p->pass);
      done += m;
      from = 0;
    }
    b->first = position;
    b->n = (uint32_t)room;
    b->seam = into == 0;
    b->passes = position / n + 1;
    b->base = position - into;
    b->period = n;
    position += room;
    tlg_ring_publish(p->blocks);
  }
  *last = b;
  return position;
}

static int too_long(struct tlg_pipeline *p)
{
  return tlg_error_set(
      &p->read_error, TLG_EFORMAT,
      "the stream passes 106 days, which is as far as its time stamps go; take a part of it by --start "
      "and --length, or a higher --speed");
}

/* One read, during which the thread may be cancelled. */
static int read_source(struct tlg_pipeline *p, struct block *b, size_t *got, uint64_t *first)
{
  const struct tlg_source *source = &p->cfg.source;
  int status;

  pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
  status = source->read(source->context, b->samples, p->block_samples, got, first, &p->read_error);
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
  return status;
}

/* The end of the stream at sample `end`, told to the receiving stage. */
static void end_blocks(struct tlg_pipeline *p, struct block *b, uint64_t end, uint64_t passes)
{
  if (b) {
    b->first = end;
    b->n = 0;
    b->seam = 0;
    b->failed = p->read_status != TLG_OK;
    b->passes = passes;
    tlg_ring_publish(p->blocks);
  }
  tlg_ring_close(p->blocks);
}

/* A live source: every read is handed on at once. After a stop it is asked to end, and what it still has is taken. */
void tlg_pipeline_read_live(struct tlg_pipeline *p)
{
  const struct tlg_source *source = &p->cfg.source;
  const uint64_t limit = p->cfg.max_samples ? p->cfg.max_samples : UINT64_MAX;
  uint64_t end = 0;
  struct block *b;
  int asked = 0;

  tlg_pipeline_arrive(p);
  while ((b = tlg_ring_wait_space(p->blocks)) && !atomic_load(&p->stop) && end < limit) {
    size_t got = 0;
    uint64_t first = 0;

    if (atomic_load(&p->quit)) {
      if (!source->stop ||
          p->pace.clock->now_ns(p->pace.clock->context) - atomic_load(&p->quit_ns) > TLG_PIPELINE_DRAIN_NS) {
        break;
      }
      if (!asked) {
        asked = 1;
        source->stop(source->context);
      }
    }
    atomic_store(&p->reading, 1);
    p->read_status = read_source(p, b, &got, &first);
    atomic_store(&p->reading, 0);
    if (p->read_status == TLG_EINTR) { /* nothing yet */
      p->read_status = TLG_OK;
      continue;
    }
    if (p->read_status) {
      break;
    }
    if (first > p->most_samples || got > p->most_samples - first) {
      p->read_status = too_long(p);
      break;
    }
    if (!got || first >= limit) {
      end = first < limit ? first : limit;
      break;
    }
    b->arrived = tlg_pace_now_ps(&p->pace);
    b->first = first;
    b->n = (uint32_t)(limit - first < got ? limit - first : got);
    b->seam = 0;
    b->passes = 1;
    b->base = 0;
    b->period = 0;
    end = first + b->n;
    tlg_ring_publish(p->blocks);
  }
  if (!asked && source->stop && !p->read_status) { /* enough, by --duration: a radio need not go on */
    source->stop(source->context);
  }
  end_blocks(p, b, end, 1);
}

void tlg_pipeline_read_stage(struct tlg_pipeline *p)
{
  const struct tlg_source *source = &p->cfg.source;
  const uint64_t limit = p->cfg.max_samples ? p->cfg.max_samples : UINT64_MAX;
  uint64_t base = 0, end = 0, passes = 1, kept = 0;
  struct block *b;
  int seam = 0;

  while ((b = tlg_ring_wait_space(p->blocks)) && !atomic_load(&p->stop)) {
    size_t got = 0;
    uint64_t first = 0;

    if (end >= limit) {
      break;
    }
    p->read_status = read_source(p, b, &got, &first);
    if (p->read_status == TLG_EINTR) { /* it asks to be called again */
      p->read_status = TLG_OK;
      continue;
    }
    if (p->read_status) {
      break;
    }
    first += base;
    if (got) {
      if (first >= limit) {
        end = limit;
        break;
      }
      b->first = first;
      b->n = (uint32_t)(limit - first < got ? limit - first : got);
      b->seam = seam;
      b->passes = passes;
      b->base = base;
      b->period = 0;
      if (first + b->n > p->most_samples) {
        p->read_status = too_long(p);
        break;
      }
      end = first + b->n;
      if (first == kept && passes == 1) {
        keep_pass(p, b, first);
        kept = end;
      }
      seam = 0;
      tlg_ring_publish(p->blocks);
      continue;
    }
    if ((first < limit ? first : limit) > p->most_samples) {
      p->read_status = too_long(p);
      break;
    }
    end = first < limit ? first : limit;
    if (passes == p->cfg.loops) {
      break;
    }
    if (first == base) {
      p->read_status = tlg_error_set(&p->read_error, TLG_EFORMAT, "there are no samples to repeat");
      break;
    }
    if (passes == 1 && kept == first && first <= TLG_PIPELINE_BLOCK) {
      const uint64_t all = p->cfg.loops && p->cfg.loops < UINT64_MAX / first ? p->cfg.loops * first : UINT64_MAX;

      const uint64_t wanted = all < limit ? all : limit;

      end = repeat_pass(p, first, wanted < p->most_samples ? wanted : p->most_samples, &b);
      if (end == p->most_samples && end < wanted) {
        p->read_status = too_long(p);
      }
      passes = (end - 1) / first + 1;
      break;
    }
    p->read_status = source->rewind(source->context, &p->read_error);
    if (p->read_status) {
      break;
    }
    base = first;
    passes++;
    seam = 1;
  }
  end_blocks(p, b, end, passes);
}
