/* SPDX-License-Identifier: Apache-2.0 */
/* When a network controller raises its interrupt, by the timers that exist and the drivers' adaptive rules. */
#ifndef TLG_MODERATION_H
#define TLG_MODERATION_H

#include "tlg_sim.h"

struct moderation {
  enum tlg_moderation kind;
  uint64_t period_ps, phase_ps; /* timer; for adaptive rules the present least distance */
  uint64_t link_bps;
  uint64_t other_every_ps, other_bytes;
  uint64_t last_ps, fired; /* the last interrupt, and how many there were */
  uint64_t packets, bytes; /* polled since */
  unsigned state;          /* igb with one vector: 0 lowest, 1 low, 2 bulk; DIM: what it tries */
  struct {
    unsigned step, left, right, tired, events;
    uint64_t since_ps, packets, bytes;
    uint64_t byte_rate, packet_rate, event_rate; /* of the measurement before, per ms */
    int measured;
  } dim;
};

void tlg_moderation_init(struct moderation *m, const struct tlg_sim_scenario *s);
/* The interrupt for a packet that arrives at a drained ring. Adaptive rules look at what was polled since the last
 * one. */
uint64_t tlg_moderation_fire(struct moderation *m, uint64_t arrival_ps);
/* A frame limit was reached, or a one-shot timer ran out, at this instant. */
void tlg_moderation_fired(struct moderation *m, uint64_t at_ps);

static inline int moderation_adapts(const struct moderation *m)
{
  return m->kind >= TLG_MODERATION_IGB && m->kind <= TLG_MODERATION_DIM;
}

#endif
