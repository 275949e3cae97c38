/* SPDX-License-Identifier: Apache-2.0 */
/* Random draws in picoseconds: counter-based (seed, entity, index, purpose), so that their order does not matter. */
#ifndef TLG_DRAW_H
#define TLG_DRAW_H

#include "tlg_sim.h"

enum { DRAW_LOG_BITS = 12, DRAW_POINTS = TLG_DIST_POINTS, DRAW_AHEAD = 64 };

/* What a draw is for: part of the counter, so that no two uses ever share a number. */
enum draw_purpose {
  DRAW_SERVICE,
  DRAW_ARRIVAL,
  DRAW_BATCH,
  DRAW_STALL_GAP,
  DRAW_STALL_LENGTH,
  DRAW_VACATION,
  DRAW_WAKE
};

struct draw {
  enum tlg_dist_kind kind;
  uint64_t base, span; /* constant: base; uniform: base + span * u; exponential: base = the mean */
  unsigned n;
  uint64_t x[DRAW_POINTS]; /* table: probability scaled to 2^33 */
  uint64_t v[DRAW_POINTS];
  int64_t slope[DRAW_POINTS]; /* (v[i+1] - v[i]) * 2^20 / (x[i+1] - x[i]) */
  uint64_t mean_ps;
  uint32_t key[2], entity, purpose;
  uint64_t block;              /* which DRAW_AHEAD values are held */
  uint64_t values[DRAW_AHEAD]; /* drawn together: independent of each other, they cost a third */
};

/* Prepare draws of dist for one use. A checked dist (tlg_dist_check) cannot fail. */
void tlg_draw_init(struct draw *d, const struct tlg_dist *dist, uint64_t seed, uint32_t entity, uint32_t purpose);
void tlg_draw_fill(struct draw *d, uint64_t block);
/* -ln((2w + 1) / 2^33) * 2^40. */
uint64_t tlg_draw_log(uint32_t w);

/* The value number `index`, whatever was drawn before. */
static inline uint64_t tlg_draw(struct draw *d, uint64_t index)
{
  if (__builtin_expect(index / DRAW_AHEAD != d->block, 0)) {
    tlg_draw_fill(d, index / DRAW_AHEAD);
  }
  return d->values[index % DRAW_AHEAD];
}

#endif
