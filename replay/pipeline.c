/* SPDX-License-Identifier: Apache-2.0 */
/* The threaded pipeline: read ahead, receive at the pace of the rate, resample, deliver. */
#include "pipeline.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

enum {
  START_DELAY_NS = 2000000, /* from opening the gate to sample 0: all threads are at their places by then */
  FILL_WAIT_MS = 500,       /* the longest wait for the read-ahead to fill before the start */
  FIFO_WINDOW_NS = 5000,
  TICK_NS = 50000000,
  SINK_TICK_NS = 5000000, /* while live sinks end */
  ZEROS_NS = 1000000000,  /* zeros for a gap go on for so long after a stop; what is left of it is then marked */
  DRAIN_NS = 500000000,   /* a live source is read for so long after a stop */
  CLOCK_LEAK = 5000,      /* a clock that is slower than ours is followed at one part in so many, 200 ppm */
  STUCK_MS = 300,         /* a source that does not return for so long after a stop is cancelled */
  STACK_BYTES = 2 << 20,
};

/* Later than this by its source's clock: that does not keep the rate. */
static const int64_t lost_clock_ps = INT64_C(1000000000000);

static void arrive(struct tlg_pipeline *p);

/* ---- the reading thread -------------------------------------------------------------------------------------- */

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
static void read_live(struct tlg_pipeline *p)
{
  const struct tlg_source *source = &p->cfg.source;
  const uint64_t limit = p->cfg.max_samples ? p->cfg.max_samples : UINT64_MAX;
  uint64_t end = 0;
  struct block *b;
  int asked = 0;

  arrive(p);
  while ((b = tlg_ring_wait_space(p->blocks)) && !atomic_load(&p->stop) && end < limit) {
    size_t got = 0;
    uint64_t first = 0;

    if (atomic_load(&p->quit)) {
      if (!source->stop || p->pace.clock->now_ns(p->pace.clock->context) - atomic_load(&p->quit_ns) > DRAIN_NS) {
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

static void read_stage(struct tlg_pipeline *p)
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

/* ---- the paced source ---------------------------------------------------------------------------------------- */

/* Where the source stands in what was read ahead. */
struct cursor {
  struct block *b;  /* NULL: the next one is not yet taken */
  uint64_t arrived; /* of the samples before the cursor, if they came from a live source */
  uint32_t offset;
  int waited; /* since last cleared: the block was not there at once */
  int ended;
};

/* A block with samples at the cursor, or 0 at the end. */
static int have_block(struct tlg_pipeline *p, struct cursor *c)
{
  if (!c->b && !c->ended) {
    int waited;

    c->b = tlg_ring_wait_item(p->blocks, &waited);
    c->offset = 0;
    c->waited |= waited;
    if (!c->b || !c->b->n) {
      c->ended = 1;
    } else {
      p->result.passes = c->b->passes;
    }
  }
  return !c->ended;
}

/* How many passes begin among the next n samples of the block at the cursor. */
static uint64_t seams_ahead(const struct cursor *c, uint32_t n)
{
  const struct block *b = c->b;
  const uint64_t at = b->first + c->offset - b->base;
  const uint64_t first = !c->offset && b->seam;

  return b->period ? first + (at + n - 1) / b->period - (at ? (at - 1) / b->period : 0) : first;
}

static void advance(struct tlg_pipeline *p, struct cursor *c, uint32_t n)
{
  if (c->b->period) {
    p->result.passes = c->b->passes + (c->b->first + c->offset + n - 1 - c->b->base) / c->b->period;
  }
  c->arrived = c->b->arrived;
  c->offset += n;
  if (c->offset == c->b->n) {
    tlg_ring_release(p->blocks);
    c->b = NULL;
  }
}

/* Which tune holds at the cursor, and the stream number at which the next one begins (in this pass). */
static uint32_t tune_at(const struct tlg_pipeline *p, const struct cursor *c, uint64_t *until)
{
  const uint64_t position = c->b->first + c->offset - c->b->base;
  const uint64_t at = c->b->period ? position % c->b->period : position;
  const uint64_t base = c->b->base + position - at; /* of the pass at the cursor */
  size_t i = 0;

  *until = c->b->period ? base + c->b->period : UINT64_MAX;
  while (i + 1 < p->n_tunes && p->tunes[i + 1].first <= at) {
    i++;
  }
  if (i + 1 < p->n_tunes) {
    *until = base + p->tunes[i + 1].first;
  }
  return (uint32_t)i;
}

/* Fill a packet from sample `first` on with up to `want` contiguous samples; returns how many. */
static uint32_t gather(struct tlg_pipeline *p, struct cursor *c, struct packet *packet, uint64_t first, uint32_t want)
{
  uint64_t until = UINT64_MAX;
  uint32_t n = 0;

  packet->flags = 0;
  packet->tune = p->n_tunes ? tune_at(p, c, &until) : 0;
  while (n < want && have_block(p, c) && c->b->first + c->offset == first + n) {
    uint32_t take = c->b->n - c->offset;

    if (p->n_tunes && n && (first + n == until || tune_at(p, c, &until) != packet->tune)) {
      break; /* a packet has one frequency */
    }
    if (until - first - n < take) {
      take = (uint32_t)(until - first - n);
    }

    take = take < want - n ? take : want - n;
    if (seams_ahead(c, take)) {
      packet->flags |= TLG_TRACE_SEAM;
    }
    memcpy(packet->samples + n, c->b->samples + c->offset, take * sizeof *packet->samples);
    n += take;
    advance(p, c, take);
    if (p->as_it_comes) {
      return n;
    }
  }
  if (n < want) {
    packet->flags |= TLG_TRACE_SHORT;
  }
  return n;
}

/* The instant of a live source's packet whose last sample has number end - 1 and came at `arrived`. By its clock: the
 * earliest packet is taken to have been on time, and all others are late by what they came after it. A clock that is
 * slower than ours is followed by letting the anchor rise slowly. */
static uint64_t live_instant(struct tlg_pipeline *p, uint64_t end, uint64_t arrived)
{
  struct live_clock *c = &p->live_clock;
  const uint64_t nominal = tlg_pace_instant_ps(&p->pace, end);
  const int64_t early = (int64_t)(arrived - nominal); /* both are below 2^63 */
  const double error_ns = (double)early * 1e-3, at = (double)nominal * 1e-12;

  if (!c->begun) {
    c->begun = 1;
    c->anchor = early;
    c->first_ps = arrived;
    c->first = end;
    c->last_ps = arrived;
  }
  tlg_slope_add(&p->slope, at, error_ns);
  tlg_floor_slope_add(&p->floor_slope, at, error_ns);
  c->anchor += (int64_t)((arrived - c->last_ps) / CLOCK_LEAK);
  c->last_ps = arrived;
  c->last = end;
  if (early < c->anchor || p->result.air == TLG_AIR_ARRIVAL) {
    c->anchor = early;
  } else if (early - c->anchor > lost_clock_ps) {
    c->anchor = early;
    p->result.air = TLG_AIR_ARRIVAL;
    p->result.lost_clock = 1;
    atomic_store(&p->lost_clock, 1);
  }
  return (uint64_t)((int64_t)nominal + c->anchor);
}

static void receive_stage(struct tlg_pipeline *p)
{
  struct cursor c = {0};
  uint64_t position = 0, number = 0, drop = 0;
  uint32_t flags = 0;
  size_t turn = 0;

  while (!atomic_load_explicit(&p->stop, memory_order_relaxed)) {
    const uint64_t before = position; /* a gap, if there is one */
    struct packet *slot, *packet;
    uint64_t air, received;
    uint32_t n;
    int lost = 0;

    c.waited = 0;
    if (!have_block(p, &c)) {
      p->source_failed = c.b && c.b->failed;
      /* A gap at the very end of the recording has passed as well. */
      if (c.b && c.b->first > position) {
        p->result.accounts.missing += c.b->first - position;
        p->result.accounts.gaps++;
        position = c.b->first;
      }
      break;
    }
    if (c.b->first + c.offset > position) {
      p->result.accounts.missing += c.b->first + c.offset - position;
      atomic_store_explicit(&p->seen_gaps, ++p->result.accounts.gaps, memory_order_relaxed);
      position = c.b->first + c.offset;
      flags |= TLG_TRACE_AFTER_GAP;
    }
    /* Everything but the hand-over is done before the packet's instant comes. */
    slot = p->model ? tlg_pipeline_model_slot(p) : tlg_ring_reserve(p->to_resample);
    if (!slot && p->model) {
      break;
    }
    packet = slot ? slot : p->staging;
    n = gather(p, &c, packet, position, p->packets[turn]);
    turn = turn + 1 == p->cfg.n_packets ? 0 : turn + 1;
    air = p->live ? live_instant(p, position + n, c.arrived) : tlg_pace_instant_ps(&p->pace, position + n);
    if (p->live) {
      received = tlg_pace_now_ps(&p->pace);
    } else if (p->cfg.unpaced && !p->is_virtual) {
      air = received = tlg_pace_now_ps(&p->pace);
    } else if (p->is_virtual) {
      received = air;
    } else {
      if (c.waited && tlg_pace_now_ps(&p->pace) > air) {
        const uint64_t late = tlg_pace_now_ps(&p->pace) - air;

        p->result.starved_ps = late > p->result.starved_ps ? late : p->result.starved_ps;
        atomic_store_explicit(&p->seen_starved, ++p->result.starved, memory_order_relaxed);
      }
      received = tlg_pace_wait(&p->pace, air);
      if (received < air) { /* stopped while waiting: it was never received, and of a gap before it only what passed */
        if (position > before) {
          const uint64_t gap = position - before, now = tlg_pipeline_samples_at(&p->paced, received, position);
          const uint64_t passed = now > before ? now - before : 0;

          p->result.accounts.missing -= gap - passed;
          p->result.accounts.gaps -= !passed;
          position = before + passed;
        }
        break;
      }
    }
    if (drop < p->cfg.n_drops && p->drops[drop] == number) {
      lost = 1;
      drop++;
    } else if (!slot) {
      slot = p->block ? tlg_ring_wait_space(p->to_resample) : tlg_ring_reserve(p->to_resample);
      if (slot) {
        slot->flags = packet->flags;
        slot->tune = packet->tune;
        memcpy(slot->samples, packet->samples, n * sizeof *slot->samples);
      } else if (p->block) { /* the stages behind have given up */
        break;
      }
      lost = !slot;
    }
    position += n;
    if (p->model) {
      atomic_store_explicit(&p->seen_samples, position, memory_order_relaxed);
      slot->number = number++;
      slot->kind = PACKET_DATA;
      slot->first_in = position - n;
      slot->n_in = n;
      slot->flags |= flags;
      slot->anchor = 0;
      slot->dropped = lost;
      slot->n_before = 0;
      flags = 0;
      if (!tlg_pipeline_model_send(p)) {
        break;
      }
      continue;
    }
    tlg_delays_add(p->release, received - air, air);
    if (!p->live && !p->cfg.unpaced) {
      tlg_slope_add(&p->slope, (double)air * 1e-12, (double)(received - air) * 1e-3);
      tlg_floor_slope_add(&p->floor_slope, (double)air * 1e-12, (double)(received - air) * 1e-3);
    }
    atomic_store_explicit(&p->seen_samples, position, memory_order_relaxed);
    if (lost) {
      p->dropped_receive += n;
      p->result.accounts.overruns_receive++;
      atomic_fetch_add_explicit(&p->seen_overruns, 1, memory_order_relaxed);
      flags |= TLG_TRACE_AFTER_DROP;
    } else {
      slot->number = number;
      slot->kind = PACKET_DATA;
      slot->first_in = position - n;
      slot->n_in = n;
      slot->flags |= flags;
      slot->air = air;
      slot->anchor = p->live_clock.anchor;
      slot->received = received;
      slot->closed_by = number;
      slot->untimed = 0;
      slot->n_before = 0;
      /* Where no stage takes time nothing waits, whatever the threads that compute it do. */
      slot->resample_begin = slot->resample_end = slot->deliver_begin = slot->delivered = air;
      slot->depth_resample = p->is_virtual ? 1 : (uint32_t)tlg_ring_count(p->to_resample) + 1;
      slot->depth_deliver = 1;
      flags = 0;
      tlg_ring_publish(p->to_resample);
    }
    number++;
  }
  p->stream_end = position;
  p->result.accounts.packets = number;
  if (p->model) {
    tlg_pipeline_model_end(p);
  }
  tlg_ring_close(p->to_resample);
  tlg_ring_close(p->blocks); /* the reading thread need not go on */
}

/* ---- the resampling stage ------------------------------------------------------------------------------------ */

/* What the resampling stage carries from packet to packet. */
struct resampling {
  uint64_t seen;      /* stream position up to which inputs were fed, skipped or closed up */
  uint64_t gap;       /* outputs left out since the last packet handed on */
  uint64_t shift;     /* inputs closed up so far */
  int64_t anchor;     /* of the packet in hand */
  uint64_t delivered; /* on the virtual clock: the last packet */
  uint32_t flags;
  unsigned batch; /* packets handed on since the sinks were last woken */
};

static uint64_t stage_now(const struct tlg_pipeline *p)
{
  return tlg_pace_now_ps(&p->pace);
}

static void hand_on(struct tlg_pipeline *p, struct resampling *r, struct packet *out)
{
  out->gap = r->gap;
  out->shift = r->shift;
  out->anchor = r->anchor;
  if (!p->is_virtual) {
    out->depth_deliver = (uint32_t)tlg_ring_count(p->to_deliver) + 1;
  }
  r->gap = 0;
  /* Behind, the next stage is woken once for a batch: its waking costs more than a packet's work. */
  tlg_ring_publish_quietly(p->to_deliver);
  if (++r->batch >= p->batch || !tlg_ring_front(p->to_resample)) {
    r->batch = 0;
    tlg_ring_wake(p->to_deliver);
  }
}

/* Leave the outputs of d missing inputs out. */
static int leave_out(struct tlg_pipeline *p, struct resampling *r, uint64_t d)
{
  uint64_t skipped = 0;

  p->resample_status = tlg_resamp_skip(p->resamp, d, &skipped);
  r->gap += skipped;
  p->result.accounts.left_out += skipped;
  return p->resample_status == TLG_OK;
}

/* Whether zeros have gone on for long enough since a stop, which must end even in a gap of days. */
static int enough_zeros(const struct tlg_pipeline *p, uint64_t *stopped_ns)
{
  uint64_t now;

  if (!atomic_load_explicit(&p->stop, memory_order_relaxed) && !atomic_load_explicit(&p->quit, memory_order_relaxed)) {
    return 0;
  }
  now = p->pace.clock->now_ns(p->pace.clock->context);
  if (!*stopped_ns) {
    *stopped_ns = now;
  }
  return now - *stopped_ns > ZEROS_NS;
}

/* d zeros through the filter, their outputs handed on. They wait for room: zeros that stand for a loss must not
 * become another. They come with the packet behind them: nothing is known of a gap before. Returns 0 if the sinks gave
 * up. */
static int fill(struct tlg_pipeline *p, struct resampling *r, uint64_t d, const struct packet *behind)
{
  uint64_t stopped_ns = 0;

  while (d) {
    const uint32_t n = d < p->max_packet ? (uint32_t)d : p->max_packet;
    struct packet *out = tlg_ring_wait_space(p->to_deliver);
    uint64_t at_in;
    size_t got;

    if (!out || atomic_load_explicit(&p->abandon, memory_order_relaxed)) {
      return 0;
    }
    if (enough_zeros(p, &stopped_ns)) {
      return leave_out(p, r, d);
    }
    tlg_resamp_position(p->resamp, &at_in, &out->first_out);
    p->resample_status = tlg_resamp_process(p->resamp, p->zeros, n, out->samples, p->max_out, &got);
    if (p->resample_status) {
      return 0;
    }
    out->kind = PACKET_FILL;
    out->n_in = n;
    out->n_out = (uint32_t)got;
    out->deliver_begin = behind->deliver_begin;
    out->delivered = behind->delivered;
    out->closed_by = behind->closed_by;
    out->untimed = behind->untimed;
    p->resample_outputs += got;
    hand_on(p, r, out);
    d -= n;
  }
  return 1;
}

/* Bring the resampler from where it stands to stream position `first`. */
static int pass_gap(struct tlg_pipeline *p, struct resampling *r, uint64_t first, const struct packet *behind)
{
  const uint64_t d = first - r->seen;

  r->seen = first;
  if (!d) {
    return 1;
  }
  switch (p->cfg.gaps) {
  case TLG_GAPS_ZERO:
    return fill(p, r, d, behind);
  case TLG_GAPS_CLOSE:
    r->shift += d;
    p->result.accounts.closed += d;
    return 1;
  case TLG_GAPS_MARK:
    break;
  }
  return leave_out(p, r, d);
}

/* The end of the stream: a gap before it, then the tail. */
static void finish_resampling(struct tlg_pipeline *p, struct resampling *r)
{
  const int tail = (p->cfg.flush || p->align) && !p->source_failed;
  const uint64_t ended = tlg_pace_instant_ps(&p->pace, p->stream_end);
  struct packet end = {.closed_by = UINT64_MAX, .delivered = r->delivered > ended ? r->delivered : ended};
  size_t got = 1;

  end.deliver_begin = end.delivered;
  if (!pass_gap(p, r, p->stream_end, &end)) {
    return;
  }
  tlg_resamp_position(p->resamp, &p->position_in, &p->position_out);
  while ((tail && got) || r->gap) {
    struct packet *out = tlg_ring_wait_space(p->to_deliver);
    uint64_t at_in;

    if (!out || atomic_load(&p->abandon)) {
      return;
    }
    tlg_resamp_position(p->resamp, &at_in, &out->first_out);
    got = 0;
    if (tail) {
      p->resample_status = tlg_resamp_flush(p->resamp, out->samples, p->max_out, &got);
      if (p->resample_status) {
        return;
      }
    }
    out->kind = PACKET_END;
    out->untimed = 0;
    out->n_in = 0;
    out->n_out = (uint32_t)got;
    hand_on(p, r, out);
  }
}

static void resample_stage(struct tlg_pipeline *p)
{
  struct resampling r = {0};
  uint64_t last = 0;
  struct packet *in, *out;
  int waited;

  while ((in = tlg_ring_wait_item(p->to_resample, &waited))) {
    uint64_t begin, at_in;
    size_t got = 0;

    if (atomic_load_explicit(&p->abandon, memory_order_relaxed)) {
      break;
    }
    /* Behind, the end of one packet is the beginning of the next: one reading of the clock serves both. */
    begin = p->is_virtual ? in->resample_begin : !waited && in->received <= last ? last : stage_now(p);
    out = tlg_ring_reserve(p->to_deliver);
    if (!out && p->block) {
      out = tlg_ring_wait_space(p->to_deliver);
      if (!out) {
        break;
      }
    }
    if (!out) { /* lost in front of the sinks: the next packet finds the gap */
      p->dropped_resample += in->n_in;
      p->result.accounts.overruns_resample++;
      atomic_fetch_add_explicit(&p->seen_overruns, 1, memory_order_relaxed);
      r.flags |= TLG_TRACE_AFTER_DROP;
      last = begin;
      tlg_ring_release(p->to_resample);
      continue;
    }
    r.anchor = in->anchor;
    if (in->first_in != r.seen) {
      if (!pass_gap(p, &r, in->first_in, in) || !(out = tlg_ring_wait_space(p->to_deliver))) {
        break;
      }
    }
    tlg_resamp_position(p->resamp, &at_in, &out->first_out);
    p->resample_status = tlg_resamp_process(p->resamp, in->samples, in->n_in, out->samples, p->max_out, &got);
    if (p->resample_status) {
      break;
    }
    out->kind = in->kind;
    out->n_before = in->n_before;
    out->number = in->number;
    out->first_in = in->first_in;
    out->n_in = in->n_in;
    out->n_out = (uint32_t)got;
    out->flags = in->flags | r.flags;
    out->tune = in->tune;
    out->air = in->air;
    out->received = in->received;
    out->deliver_begin = in->deliver_begin;
    out->delivered = r.delivered = in->delivered;
    out->closed_by = in->closed_by;
    out->untimed = in->untimed;
    out->depth_resample = in->depth_resample;
    out->depth_deliver = in->depth_deliver;
    out->resample_begin = begin;
    r.seen = in->first_in + in->n_in;
    r.flags = 0;
    p->result.accounts.processed += in->n_in;
    p->resample_outputs += got;
    last = p->is_virtual ? in->resample_end : stage_now(p);
    out->resample_end = last;
    tlg_ring_release(p->to_resample);
    hand_on(p, &r, out);
  }
  if (!in && !p->resample_status && !atomic_load(&p->abandon)) {
    finish_resampling(p, &r);
  }
  tlg_ring_close(p->to_deliver);
  if (in || p->resample_status) { /* given up: let the source see it */
    atomic_store(&p->stop, 1);
    tlg_ring_close(p->to_resample);
  }
}

/* ---- the delivering stage ------------------------------------------------------------------------------------ */

static uint16_t saturate16(uint32_t v)
{
  return v > UINT16_MAX ? UINT16_MAX : (uint16_t)v;
}

static void keep_record(struct tlg_pipeline *p, const struct packet *out, uint64_t begin, uint64_t done)
{
  struct tlg_trace_record *t = &p->trace[p->trace_total % p->cfg.trace_packets];

  t->packet = out->number;
  t->first_in = out->first_in - out->n_before;
  t->first_out = out->first_out - p->parts_out;
  t->air = out->air;
  t->received = out->received;
  t->resample_begin = out->resample_begin;
  t->resample_end = out->resample_end;
  t->deliver_begin = begin;
  t->delivered = done;
  t->framed = UINT64_MAX;
  t->n_in = out->n_in + out->n_before;
  t->n_out = out->n_out + p->parts_out;
  t->flags = out->flags;
  t->depth_resample = saturate16(out->depth_resample);
  t->depth_deliver = saturate16(out->depth_deliver);
  p->trace_total++;
}

/* `formed` subframes that end at output `end` are complete: so are the packets whose last output is in them. */
static void frame_records(struct tlg_pipeline *p, unsigned formed, uint64_t end, uint64_t done)
{
  const uint64_t begin = end - formed * p->framer_cfg.length;
  const size_t kept = p->cfg.trace_packets;

  if (p->trace_total - p->trace_unframed > kept) {
    p->trace_unframed = p->trace_total - kept;
  }
  for (; p->trace_unframed < p->trace_total; p->trace_unframed++) {
    struct tlg_trace_record *t = &p->trace[p->trace_unframed % kept];
    const uint64_t last = t->first_out + t->n_out; /* one behind */

    if (last > end) {
      break;
    }
    if (t->n_out && last > begin) {
      t->framed = done;
    }
  }
}

static void keep_times(struct tlg_pipeline *p, const struct packet *out, uint64_t begin, uint64_t done)
{
  unsigned formed;

  if (out->untimed) {
    return;
  }
  if (out->kind == PACKET_DATA) {
    const uint64_t air = out->air;

    if (out->number >= p->cfg.warmup_packets) {
      tlg_delays_add(p->packet, done - air, air);
      tlg_delays_add(p->wait_resample, out->resample_begin - out->received, air);
      tlg_delays_add(p->service_resample, out->resample_end - out->resample_begin, air);
      tlg_delays_add(p->wait_deliver, begin - out->resample_end, air);
      tlg_delays_add(p->service_deliver, done - begin, air);
    }
    p->result.accounts.packets_delivered++;
    if (p->trace) {
      keep_record(p, out, begin, done);
    }
    p->parts_out = 0;
  } else if (out->kind == PACKET_PART) {
    p->parts_out += out->n_out;
  }
  /* The tail is no part of the stream's time: nothing more was received when it came. */
  if (p->framer && out->kind != PACKET_END) {
    const uint64_t at = (uint64_t)((int64_t)done - out->anchor); /* by the clock of the samples */

    tlg_framer_count(p->framer, out->closed_by >= p->cfg.warmup_packets);
    formed = tlg_framer_push(p->framer, out->first_out, out->n_out, out->shift, at);
    if (formed && p->trace) {
      frame_records(p, formed, tlg_framer_complete(p->framer), done);
    }
  }
}

static void deliver_stage(struct tlg_pipeline *p)
{
  struct packet *out;
  uint32_t tune = 0;

  while ((out = tlg_ring_wait_item(p->to_deliver, NULL))) {
    struct tlg_sink_block block = {.samples = out->samples, .n = out->n_out, .first = out->first_out, .gap = out->gap};
    uint64_t begin, done;
    size_t i;

    if (atomic_load_explicit(&p->abandon, memory_order_relaxed)) {
      break;
    }
    if ((out->kind == PACKET_DATA || out->kind == PACKET_PART) && out->n_out && out->tune != tune) {
      tune = out->tune;
      block.frequency_hz = &p->tunes[tune].frequency_hz;
    }
    begin = p->is_virtual ? out->deliver_begin : stage_now(p);
    block.virtual_ps = p->is_virtual ? &begin : NULL;
    for (i = 0; i < p->cfg.n_sinks && (block.n || block.gap); i++) {
      p->sink_status = tlg_sink_write(p->sinks[i], &block, &p->sink_error);
      if (p->sink_status) {
        atomic_store(&p->abandon, 1);
        break;
      }
    }
    if (p->sink_status) {
      break;
    }
    done = p->is_virtual ? out->delivered : stage_now(p);
    *(out->kind == PACKET_END ? &p->result.accounts.tail : &p->result.accounts.outputs) += out->n_out;
    keep_times(p, out, begin, done);
    tlg_ring_release(p->to_deliver);
  }
  if (out) { /* a sink failed: nobody need go on */
    atomic_store(&p->stop, 1);
    tlg_ring_close(p->to_deliver);
    tlg_ring_close(p->to_resample);
  }
}

/* ---- threads ------------------------------------------------------------------------------------------------- */

static void arrive(struct tlg_pipeline *p)
{
  pthread_mutex_lock(&p->mutex);
  p->ready++;
  pthread_cond_broadcast(&p->changed);
  while (!p->gate) {
    pthread_cond_wait(&p->changed, &p->mutex);
  }
  pthread_mutex_unlock(&p->mutex);
}

static uint64_t cpu_since(const struct timespec *then)
{
  struct timespec now;

  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (uint64_t)(now.tv_sec - then->tv_sec) * 1000000000u + (uint64_t)now.tv_nsec - (uint64_t)then->tv_nsec;
}

/* What a stage's thread has used; also when it was cancelled, which its joining tells. */
static void account_stage(void *argument)
{
  struct stage *s = argument;
  struct tlg_stage_result *result = &s->p->result.stages[s->which];
  struct rusage usage;

  result->cpu_ns = cpu_since(&s->cpu0);
  getrusage(RUSAGE_THREAD, &usage);
  result->voluntary = (uint64_t)(usage.ru_nvcsw - s->usage0.ru_nvcsw);
  result->involuntary = (uint64_t)(usage.ru_nivcsw - s->usage0.ru_nivcsw);
  result->minor_faults = (uint64_t)(usage.ru_minflt - s->usage0.ru_minflt);
  result->major_faults = (uint64_t)(usage.ru_majflt - s->usage0.ru_majflt);
}

/* A stage has come to its end. */
static void end_stage(struct tlg_pipeline *p)
{
  pthread_mutex_lock(&p->mutex);
  p->ended++;
  pthread_cond_broadcast(&p->changed);
  pthread_mutex_unlock(&p->mutex);
}

static void *stage_main(void *argument)
{
  struct stage *s = argument;
  struct tlg_pipeline *p = s->p;
  static const char *const names[TLG_STAGES] = {"tlg-receive", "tlg-resample", "tlg-deliver", "tlg-read"};

  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
  prctl(PR_SET_NAME, names[s->which]); /* as top, perf and gdb show it */
  if (s->which == TLG_STAGE_READ) {
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &s->cpu0);
    getrusage(RUSAGE_THREAD, &s->usage0);
    pthread_cleanup_push(account_stage, s);
    (p->live ? read_live : read_stage)(p);
    atomic_store(&p->read_ended, 1);
    pthread_cleanup_pop(1);
  } else {
    if (s->which == TLG_STAGE_RECEIVE) {
      prctl(PR_SET_TIMERSLACK, 1UL); /* this thread's sleeps may not be stretched */
    }
    arrive(p);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &s->cpu0);
    getrusage(RUSAGE_THREAD, &s->usage0);
    (s->which == TLG_STAGE_RECEIVE    ? receive_stage
     : s->which == TLG_STAGE_RESAMPLE ? resample_stage
                                      : deliver_stage)(p);
    account_stage(s);
  }
  end_stage(p);
  return NULL;
}

int tlg_pipeline_stopping(void *pipeline)
{
  return atomic_load(&((struct tlg_pipeline *)pipeline)->stop);
}

static int tell(struct tlg_pipeline *p, enum tlg_event_kind kind, uint64_t n, const char *text)
{
  const struct tlg_event event = {
      .kind = kind, .n = n, .samples = atomic_load_explicit(&p->seen_samples, memory_order_relaxed), .text = text};

  return p->cfg.event ? p->cfg.event(p->cfg.context, &event) : 0;
}

/* Tell the caller what is new; not 0 when it asks for the end. */
static int tell_news(struct tlg_pipeline *p)
{
  const uint64_t overruns = atomic_load(&p->seen_overruns), starved = atomic_load(&p->seen_starved),
                 gaps = atomic_load(&p->seen_gaps);
  int stop = 0;

  if (overruns > p->told_overruns) {
    stop |= tell(p, TLG_EVENT_OVERRUN, overruns - p->told_overruns, NULL);
  }
  if (starved > p->told_starved) {
    stop |= tell(p, TLG_EVENT_STARVED, starved - p->told_starved, NULL);
  }
  if (gaps > p->told_gaps) {
    stop |= tell(p, TLG_EVENT_GAP, gaps - p->told_gaps, NULL);
  }
  if (atomic_load(&p->lost_clock) && !p->told_lost_clock) {
    p->told_lost_clock = 1;
    stop |= tell(p, TLG_EVENT_WARNING, 0,
                 "the source does not keep its rate (a packet came more than 1 s late by it): delays count from each "
                 "packet's arrival from here on");
  }
  p->told_overruns = overruns;
  p->told_starved = starved;
  p->told_gaps = gaps;
  return stop | tell(p, TLG_EVENT_TICK, 0, NULL);
}

/* Something the host does not permit: an error if strict, else a warning. */
static int refused(struct tlg_pipeline *p, struct tlg_error *err, const char *what, int cause, const char *remedy)
{
  struct tlg_error text;

  tlg_error_set(&text, TLG_EUNAVAIL, "%s is not permitted here (%s): %s", what, strerror(cause), remedy);
  if (p->cfg.strict) {
    return tlg_error_set(err, TLG_EUNAVAIL, "%s", text.text);
  }
  tell(p, TLG_EVENT_WARNING, 0, text.text);
  return TLG_OK;
}

static int place_threads(struct tlg_pipeline *p, struct tlg_error *err)
{
  static const char *const names[TLG_STAGES] = {"pinning the receive thread", "pinning the resample thread",
                                                "pinning the deliver thread", "pinning the read thread"};
  int s, status = TLG_OK, cause;

  for (s = 0; s < TLG_STAGES && !status; s++) {
    struct tlg_stage_result *result = &p->result.stages[s];

    result->core = -1;
    if (p->cfg.cores[s]) {
      cpu_set_t set;

      CPU_ZERO(&set);
      CPU_SET((size_t)p->cfg.cores[s] - 1, &set);
      cause = pthread_setaffinity_np(p->stages[s].thread, sizeof set, &set);
      if (!cause) {
        result->core = p->cfg.cores[s] - 1;
      } else {
        status = refused(p, err, names[s], cause, "name cores that exist and that this process may use (see taskset)");
      }
    }
    if (!status && p->cfg.fifo && s != TLG_STAGE_READ) {
      const struct sched_param param = {.sched_priority = p->cfg.fifo};

      cause = pthread_setschedparam(p->stages[s].thread, SCHED_FIFO, &param);
      if (!cause) {
        result->fifo = 1;
      } else if (s == TLG_STAGE_RECEIVE) {
        status = refused(p, err, "SCHED_FIFO", cause,
                         "run as root, with CAP_SYS_NICE, or raise 'ulimit -r'; the threads keep the usual policy");
      }
    }
  }
  /* A real-time thread wakes at once, and one that spins all the time would be stopped by the kernel's limit. */
  if (p->result.stages[TLG_STAGE_RECEIVE].fifo && !p->cfg.pace_ns) {
    p->pace.window_ns = FIFO_WINDOW_NS;
  }
  return status;
}

static void add_ns(struct timespec *t, uint64_t ns)
{
  t->tv_nsec += (long)(ns % 1000000000u);
  t->tv_sec += (time_t)(ns / 1000000000u) + t->tv_nsec / 1000000000;
  t->tv_nsec %= 1000000000;
}

/* Wait until something changed, at most ns; the mutex is held. */
static void wait_change(struct tlg_pipeline *p, uint64_t ns)
{
  struct timespec until;

  clock_gettime(CLOCK_MONOTONIC, &until);
  add_ns(&until, ns);
  pthread_cond_timedwait(&p->changed, &p->mutex, &until);
}

static int start_threads(struct tlg_pipeline *p, struct tlg_error *err)
{
  pthread_attr_t attributes;
  sigset_t all, old;
  int s, cause = 0;

  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, STACK_BYTES);
  /* Signals go to the caller's thread: in ours they would only disturb the time. */
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  for (s = 0; s < TLG_STAGES && !cause; s++) {
    p->stages[s].p = p;
    p->stages[s].which = (enum tlg_stage)s;
    cause = pthread_create(&p->stages[s].thread, &attributes, stage_main, &p->stages[s]);
    p->stages[s].started = !cause;
  }
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  pthread_attr_destroy(&attributes);
  return cause ? tlg_error_set(err, TLG_ESYS, "threads cannot be started: %s", strerror(cause)) : TLG_OK;
}

/* Let the read-ahead fill, so that the start is not late at once. */
static void wait_filled(struct tlg_pipeline *p)
{
  struct timespec step = {.tv_nsec = 1000000};
  int ms;

  if (p->live) { /* it comes when it comes */
    return;
  }
  for (ms = 0; ms < FILL_WAIT_MS && !atomic_load(&p->read_ended); ms++) {
    if (tlg_ring_was_filled(p->blocks) || tell(p, TLG_EVENT_TICK, 0, NULL)) {
      break;
    }
    clock_nanosleep(CLOCK_MONOTONIC, 0, &step, NULL);
  }
}

static void open_gate(struct tlg_pipeline *p)
{
  pthread_mutex_lock(&p->mutex);
  p->pace.start_ns = p->pace.clock->now_ns(p->pace.clock->context) + (p->live ? 0 : START_DELAY_NS);
  p->gate = 1;
  pthread_cond_broadcast(&p->changed);
  pthread_mutex_unlock(&p->mutex);
}

/* A live source that was asked to end and does not return is left alone; what it gave is drained. */
static void end_stuck_source(struct tlg_pipeline *p, unsigned *quit_ms)
{
  if (!p->live || !atomic_load(&p->quit) || !atomic_load(&p->reading) || *quit_ms == UINT_MAX) {
    return;
  }
  *quit_ms += TICK_NS / 1000000;
  if (*quit_ms > DRAIN_NS / 1000000 + STUCK_MS) {
    *quit_ms = UINT_MAX;
    pthread_cancel(p->stages[TLG_STAGE_READ].thread);
    tlg_ring_close(p->blocks);
  }
}

static void ask_sinks(struct tlg_pipeline *p)
{
  size_t i;

  for (i = 0; i < p->cfg.n_sinks; i++) {
    tlg_sink_ask_stop(p->sinks[i]);
  }
}

/* Until the three stages have ended, and the reading one, which a source may hold. */
static void wait_ended(struct tlg_pipeline *p)
{
  unsigned stuck_ms = 0, quit_ms = 0, started = 0;
  int s;

  for (s = 0; s < TLG_STAGES; s++) {
    started += (unsigned)p->stages[s].started;
  }
  pthread_mutex_lock(&p->mutex);
  while (p->ended < started && !(quit_ms == UINT_MAX && p->ended + 1 == started)) {
    wait_change(p, TICK_NS);
    pthread_mutex_unlock(&p->mutex);
    if (tell_news(p) && !atomic_load(&p->stop) && !p->result.stopped) {
      p->result.stopped = 1;
      ask_sinks(p);
      if (p->live) { /* the end comes from the source, with what it still has */
        atomic_store(&p->quit_ns, p->pace.clock->now_ns(p->pace.clock->context));
        atomic_store(&p->quit, 1);
      } else {
        atomic_store(&p->stop, 1);
        tlg_ring_close(p->blocks);
      }
    }
    end_stuck_source(p, &quit_ms);
    pthread_mutex_lock(&p->mutex);
    /* Stopped, and only the reading thread is left: its source waits for something that may never come. */
    if (atomic_load(&p->stop) && p->ended + 1 == started && !atomic_load(&p->read_ended)) {
      stuck_ms += TICK_NS / 1000000;
      if (stuck_ms > STUCK_MS) {
        pthread_cancel(p->stages[TLG_STAGE_READ].thread);
        break;
      }
    }
  }
  pthread_mutex_unlock(&p->mutex);
  for (s = 0; s < TLG_STAGES; s++) {
    if (p->stages[s].started) {
      pthread_join(p->stages[s].thread, NULL);
      p->stages[s].started = 0;
    }
  }
}

/* ---- the run ------------------------------------------------------------------------------------------------- */

/* Live sinks end side by side, each in its thread: the other side may take its time. The caller is told meanwhile. */
static void wait_sinks(struct tlg_pipeline *p)
{
  size_t i, left;

  for (i = 0; i < p->cfg.n_sinks; i++) {
    tlg_sink_end(p->sinks[i]);
  }
  for (;;) {
    for (i = left = 0; i < p->cfg.n_sinks; i++) {
      left += !tlg_sink_ended(p->sinks[i]);
    }
    if (!left) {
      return;
    }
    pthread_mutex_lock(&p->mutex);
    wait_change(p, SINK_TICK_NS);
    pthread_mutex_unlock(&p->mutex);
    if (tell_news(p) && !p->result.stopped) {
      p->result.stopped = 1;
      ask_sinks(p);
    }
  }
}

static void keep_end(struct sink_end *end, const struct tlg_sink *sink)
{
  int c;

  end->live = tlg_sink_is_live(sink);
  for (c = 0; c < TLG_SINK_COUNTERS; c++) {
    end->counters[c] = tlg_sink_counter(sink, (enum tlg_sink_counter)c);
  }
  tlg_sink_say(sink, end->text, sizeof end->text);
}

static int end_sinks(struct tlg_pipeline *p, int status, struct tlg_error *err)
{
  size_t i;

  if (!status) {
    wait_sinks(p);
  }
  for (i = 0; i < p->cfg.n_sinks; i++) {
    keep_end(&p->ends[i], p->sinks[i]);
    p->ends[i].count = tlg_sink_count(p->sinks[i], &p->ends[i].conversions);
    p->ends[i].marks_gaps = tlg_sink_marks_gaps(p->sinks[i]);
    if (status) {
      tlg_sink_abort(p->sinks[i]);
    } else {
      status = tlg_sink_close(p->sinks[i], err);
    }
    p->sinks[i] = NULL;
  }
  p->cfg.n_sinks = 0;
  return status;
}

int tlg_pipeline_run(struct tlg_pipeline *p, struct tlg_error *err)
{
  int64_t steal0, steal1;
  int status, locked = 0;

  if (!p || p->ran) {
    return tlg_error_set(err, TLG_EINVAL, "a pipeline runs once");
  }
  p->ran = 1;
  status = TLG_OK;
  if (p->cfg.lock_memory) {
    locked = mlockall(MCL_CURRENT | MCL_FUTURE) == 0;
    if (!locked) {
      status = refused(p, err, "locking memory", errno, "run as root or raise 'ulimit -l'; pages may be swapped out");
    }
  }
  p->result.memory_locked = locked;
  if (!status) {
    status = start_threads(p, err);
  }
  if (!status) {
    status = place_threads(p, err);
  }
  if (status) {
    atomic_store(&p->stop, 1);
    atomic_store(&p->abandon, 1);
    tlg_ring_close(p->blocks);
  } else {
    wait_filled(p);
  }
  steal0 = tlg_host_steal_us("");
  open_gate(p);
  wait_ended(p);
  p->wall_ns = tlg_pace_now_ps(&p->pace) / 1000;
  steal1 = tlg_host_steal_us("");
  p->result.steal_us = steal0 == INT64_MIN || steal1 == INT64_MIN ? INT64_MIN : steal1 - steal0;
  tell_news(p);
  if (locked) {
    munlockall();
  }
  tlg_pipeline_summarise(p);
  if (!status && p->sink_status) {
    status = p->sink_status;
    if (err) {
      *err = p->sink_error;
    }
  } else if (!status && p->model_status) {
    status = p->model_status;
    if (err) {
      *err = p->model_error;
    }
  } else if (!status && p->resample_status) {
    status = tlg_error_set(err, p->resample_status, "the resampler stopped: %s", tlg_status_text(p->resample_status));
  } else if (!status && p->source_failed) { /* and was not stopped before that mattered */
    p->result.source_failed = 1;
    status = p->read_status;
    if (err) {
      *err = p->read_error;
    }
  }
  return end_sinks(p, status, err);
}
