/* SPDX-License-Identifier: Apache-2.0 */
/* The resampling stage: inputs to outputs, gaps passed or filled with zeros. */
#include "pipeline.h"

#include <string.h>

enum {
  ZEROS_NS = 1000000000, /* zeros for a gap go on for so long after a stop; what is left of it is then marked */
};

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

void tlg_pipeline_resample_stage(struct tlg_pipeline *p)
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
    begin = p->is_virtual ? in->resample_begin : !waited && in->received <= last ? last : tlg_pipeline_now(p);
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
    last = p->is_virtual ? in->resample_end : tlg_pipeline_now(p);
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
