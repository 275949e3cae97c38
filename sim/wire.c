/* SPDX-License-Identifier: Apache-2.0 */
/* Packets on the wire: headers, fragments, frames, serialisation; what packets of each size cost. */
#include "chain.h"

#include <stdlib.h>

static uint64_t ps_of_bytes(uint64_t bytes, uint64_t bits_per_second)
{
  return bits_per_second ? (uint64_t)((u128)bytes * 8 * 1000000000000u / bits_per_second) : 0;
}

void tlg_sim_frame(const struct tlg_sim_scenario *s, uint64_t n, struct tlg_sim_frame *frame)
{
  const uint64_t payload = n * s->sample_bytes + s->header_bytes, datagram = payload + 8, room = s->mtu - 20;
  const uint64_t part = room / 8 * 8; /* fragments begin on multiples of 8 bytes */
  const uint64_t frames = datagram <= room ? 1 : (datagram - room + part - 1) / part + 1;
  const uint64_t last = datagram - (frames - 1) * part;
  uint64_t head = (payload + 28 + 31 + 63) / 64 * 64, size = 1;

  frame->payload_bytes = payload;
  frame->frames = frames;
  frame->wire_bytes = datagram + frames * (20 + 38);
  if (last + 20 < 46) { /* the shortest frame is padded */
    frame->wire_bytes += 46 - (last + 20);
  }
  if (s->datagram_bytes) {
    frame->charged_bytes = s->datagram_bytes;
  } else if (head <= 256) {
    frame->charged_bytes = 832;
  } else if (head + 320 <= 16384) {
    while (size < head + 320) {
      size *= 2;
    }
    frame->charged_bytes = size + 256;
  } else {
    frame->charged_bytes = 832 + payload;
  }
}

void tlg_row_make(const struct tlg_sim_scenario *s, struct row *r, uint64_t n)
{
  const u128 ps = (u128)n * 1000000000000u * s->rate.den;
  struct tlg_sim_frame f;

  tlg_sim_frame(s, n, &f);
  r->n = n;
  r->air_q = (uint64_t)(ps / s->rate.num);
  r->air_r = (uint64_t)(ps % s->rate.num);
  r->wire_bytes = f.wire_bytes;
  r->frame_bytes = f.wire_bytes - 24 * f.frames; /* as drivers count: no preamble, check sum, gap */
  r->frames = s->has_link ? f.frames : 1;
  r->charged = f.charged_bytes;
  r->link_ps = ps_of_bytes(f.wire_bytes, s->link_bps);
  r->kernel_ps = (uint64_t)((u128)(s->kernel.per_byte_fs + s->checksum_fs) * f.payload_bytes / 1000) +
                 (uint64_t)((u128)s->kernel.per_sample_fs * r->n / 1000) + s->fragment_ps * (r->frames - 1);
}

int tlg_wire_new(struct tlg_sim *sim)
{
  const struct tlg_sim_scenario *s = sim->s;
  size_t i;

  sim->n_rows = s->n_sizes;
  sim->one_size = s->n_sizes == 1 && !sim->cfg.fate; /* what is fed may be cut short */
  sim->rows = calloc(s->n_sizes, sizeof *sim->rows);
  if (!sim->rows) {
    return TLG_ENOMEM;
  }
  for (i = 0; i < s->n_sizes; i++) {
    tlg_row_make(s, &sim->rows[i], s->sizes[i]);
  }
  if (!s->has_link) {
    return TLG_OK;
  }
  sim->link_wait = tlg_stat_new(sim);
  sim->link_service = tlg_stat_new(sim);
  if (!sim->link_wait || !sim->link_service) {
    return TLG_ENOMEM;
  }
  return tlg_bounded_init(&sim->sender, s->sender_buffer_bytes, sim->one_size ? sim->rows[0].wire_bytes : 0);
}

void tlg_wire_free(struct tlg_sim *sim)
{
  tlg_bounded_free(&sim->sender);
  free(sim->rows);
}

void tlg_wire_send(struct tlg_sim *sim, struct item *x, const struct row *row)
{
  const uint64_t start = x->ready > sim->link_free ? x->ready : sim->link_free;
  const uint64_t finish = start + row->link_ps;

  sim->link_arrived++;
  if (sim->sender.limit) {
    if (!bounded_room(&sim->sender, x->ready, row->wire_bytes, 0)) {
      if (sim->sender_dropped++ == 0) {
        sim->sender_first_drop = x->ready;
      }
      sim->link_work += row->link_ps;
      if (stamped(sim, x->packet)) {
        tlg_chain_stamp(sim, "sender", x, x->ready, x->ready, "its buffer is full", 1);
      }
      tlg_packet_lost(sim, x, x->ready);
      return;
    }
    bounded_put(&sim->sender, x->ready, finish, row->wire_bytes);
  }
  sim->link_free = finish;
  sim->link_work += row->link_ps;
  stat_add(sim->link_wait, start - x->ready, x->packet);
  stat_add(sim->link_service, row->link_ps, x->packet);
  if (stamped(sim, x->packet)) {
    tlg_chain_queued(sim, "link", x, start, finish);
  }
  x->ready = finish + sim->s->link_latency_ps;
  if (sim->queues) {
    tlg_nic_arrive(sim, x, row);
  } else {
    tlg_stages_arrive(sim, x);
  }
}
