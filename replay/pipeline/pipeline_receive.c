/* SPDX-License-Identifier: Apache-2.0 */
/* The paced source: packets out of the blocks that were read, each at the instant at which its last sample is due. */
#include "pipeline.h"

#include <string.h>

enum {
  CLOCK_LEAK = 5000, /* a clock that is slower than ours is followed at one part in so many, 200 ppm */
};

/* Later than this by its source's clock: that does not keep the rate. */
static const int64_t lost_clock_ps = INT64_C(1000000000000);

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

void tlg_pipeline_receive_stage(struct tlg_pipeline *p)
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
