/* SPDX-License-Identifier: Apache-2.0 */
/* The delivering stage: to the sinks, the delays, the subframes and the trace. */
#include "pipeline.h"

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

void tlg_pipeline_deliver_stage(struct tlg_pipeline *p)
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
    begin = p->is_virtual ? out->deliver_begin : tlg_pipeline_now(p);
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
    done = p->is_virtual ? out->delivered : tlg_pipeline_now(p);
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
