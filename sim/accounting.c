/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of packets: stamps of their way, losses, those in flight while units collect them, deliveries. */
#include "chain.h"

#include <stdlib.h>
#include <string.h>

enum { FLIGHTS = 256 /* at first */ };

void tlg_why_add(struct tlg_sim *sim, struct why *why, uint64_t ready, enum tlg_sim_cause cause, const char *who,
                 unsigned core, uint64_t until)
{
  struct tlg_sim_wait *last = why->n ? &why->e[why->n - 1] : NULL;

  if (until <= (last ? last->until : ready)) {
    return;
  }
  if (last && last->cause == cause && last->who == who) {
    last->until = until;
    return;
  }
  if (why->n == why->room) {
    const size_t room = why->room ? 2 * why->room : 8;
    struct tlg_sim_wait *grown = realloc(why->e, room * sizeof *grown);

    if (!grown) {
      sim->nomem = 1;
      return;
    }
    why->e = grown;
    why->room = room;
  }
  why->e[why->n++] = (struct tlg_sim_wait){cause, who, core, until};
}

static void tell(struct tlg_sim *sim, struct tlg_sim_stamp *stamp, const struct item *x)
{
  stamp->packet = x->packet;
  stamp->begin = x->begin;
  stamp->end = x->end;
  stamp->ready = x->ready;
  if (sim->cfg.stamp) {
    sim->cfg.stamp(sim->cfg.stamp_arg, stamp);
  }
  if (sim->fates) {
    tlg_fates_stamp(sim, stamp);
  }
}

void tlg_chain_stamp(struct tlg_sim *sim, const char *element, const struct item *x, uint64_t start, uint64_t finish,
                     const char *note, int dropped)
{
  struct tlg_sim_stamp stamp = {.element = element, .start = start, .finish = finish, .note = note, .dropped = dropped};

  tell(sim, &stamp, x);
}

void tlg_chain_served(struct tlg_sim *sim, const char *element, const struct item *x, uint64_t start, uint64_t finish,
                      const char *note, uint64_t stalled, const struct why *why)
{
  struct tlg_sim_stamp stamp = {.element = element,
                                .start = start,
                                .finish = finish,
                                .note = note,
                                .stalled = stalled,
                                .waits = why->e,
                                .n_waits = why->n};

  tell(sim, &stamp, x);
}

void tlg_chain_queued(struct tlg_sim *sim, const char *element, const struct item *x, uint64_t start, uint64_t finish)
{
  sim->why.n = 0;
  if (sim->cfg.stamp) {
    tlg_why_add(sim, &sim->why, x->ready, TLG_WAIT_EARLIER, element, 0, start);
  }
  tlg_chain_served(sim, element, x, start, finish, NULL, 0, &sim->why);
}

static void count_lost(struct tlg_sim *sim, uint64_t end, uint64_t air, uint64_t at)
{
  sim->dropped++;
  sim->sum_out += at;
  sim->sum_sojourn += at - air;
  if (unlikely(sim->fates != NULL)) {
    tlg_fates_lost(sim, end);
  }
}

void tlg_packet_lost(struct tlg_sim *sim, const struct item *x, uint64_t at)
{
  tlg_framing_lost(sim, x->begin, x->end);
  count_lost(sim, x->end, x->air, at);
  sim->last_event = at > sim->last_event ? at : sim->last_event;
}

/* A packet with parts in several units may be lost with several of them: it is lost with the first, in time. */
static void lost_earlier(struct tlg_sim *sim, struct flight *f, uint64_t at)
{
  sim->sum_out -= f->lost_at - at;
  sim->sum_sojourn -= f->lost_at - at;
  f->lost_at = at;
}

void tlg_chain_lost(struct tlg_sim *sim, const struct item *x, uint64_t at)
{
  size_t i;

  if (!sim->has_units) {
    tlg_packet_lost(sim, x, at);
    return;
  }
  /* Samples of these packets that are in other units go on. */
  tlg_framing_lost(sim, x->begin, x->end);
  for (i = sim->flight_tail; i != sim->flight_head; i--) {
    struct flight *f = &sim->flights[(i - 1) & sim->flight_mask];

    if (f->end <= x->begin) {
      break;
    }
    if (f->begin < x->end) {
      if (!f->lost) {
        f->lost = 1;
        f->lost_at = at;
        count_lost(sim, f->end, f->air, at);
      } else if (at < f->lost_at) {
        lost_earlier(sim, f, at);
      }
    }
  }
  sim->last_event = at > sim->last_event ? at : sim->last_event;
}

void tlg_flight_add(struct tlg_sim *sim, const struct item *x)
{
  struct flight *f;

  if (!sim->flights) {
    sim->flights = malloc(FLIGHTS * sizeof *sim->flights);
    sim->flight_mask = FLIGHTS - 1;
    if (!sim->flights) {
      sim->nomem = 1;
      return;
    }
  } else if (sim->flight_tail - sim->flight_head > sim->flight_mask) {
    f = tlg_sim_grow(sim->flights, sizeof *f, &sim->flight_head, &sim->flight_tail, &sim->flight_mask);
    if (!f) {
      sim->nomem = 1;
      return;
    }
    sim->flights = f;
  }
  f = &sim->flights[sim->flight_tail++ & sim->flight_mask];
  f->begin = x->begin;
  f->end = x->end;
  f->air = x->air;
  f->packet = x->packet;
  f->lost = 0;
}

static inline void packet_delivered(struct tlg_sim *sim, uint64_t begin, uint64_t end, uint64_t air, uint64_t packet,
                                    uint64_t at)
{
  if (unlikely(packet + 1 == sim->fault.lose_packet)) {
    return;
  }
  sim->delivered++;
  sim->samples_delivered += end - begin;
  sim->sum_out += at;
  sim->sum_sojourn += at - air;
  stat_add(sim->packet, at - air, packet);
  if (unlikely(sim->fates != NULL)) {
    tlg_fates_delivered(sim, end, at);
  }
}

/* x has come out of the chain at an instant. */
void tlg_delivered(struct tlg_sim *sim, const struct item *x, uint64_t out)
{
  if (out > sim->last_delivered) {
    sim->last_delivered = out;
  }
  if (unlikely(sim->cfg.reached != NULL)) {
    sim->cfg.reached(sim->cfg.fate_arg, x->end, out, x->packet);
  }
  if (!sim->has_units) {
    packet_delivered(sim, x->begin, x->end, x->air, x->packet, out);
  } else {
    while (sim->flight_head != sim->flight_tail) {
      const struct flight *f = &sim->flights[sim->flight_head & sim->flight_mask];

      if (f->end > x->end) {
        break;
      }
      if (!f->lost) {
        packet_delivered(sim, f->begin, f->end, f->air, f->packet, out);
      }
      sim->flight_head++;
    }
  }
  if (unlikely(x->end > sim->closing_input) && sim->s->has_phy) {
    tlg_framing_deliver(sim, x, out);
  }
}

void tlg_flights_end(struct tlg_sim *sim)
{
  while (sim->flight_head != sim->flight_tail) { /* their unit never became complete */
    const struct flight *f = &sim->flights[sim->flight_head++ & sim->flight_mask];

    if (!f->lost) {
      sim->sent_in_units++;
      sim->sum_out += f->air;
    }
  }
}
