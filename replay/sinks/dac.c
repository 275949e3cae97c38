/* SPDX-License-Identifier: Apache-2.0 */
/* The converter's arithmetic. */
#include "dac.h"

#include <string.h>

typedef unsigned __int128 u128;

void tlg_dac_init(struct tlg_dac *dac, const struct tlg_dac_cfg *cfg)
{
  memset(dac, 0, sizeof *dac);
  dac->cfg = *cfg;
}

uint64_t tlg_dac_due_ps(const struct tlg_dac *dac, uint64_t number)
{
  return dac->origin_ps + tlg_instant_ps(number - dac->origin, &dac->cfg.rate);
}

/* The first sample that is due at an instant or behind it: floor((k - origin) * 10^12 / rate) >= now - origin_ps. */
static uint64_t first_due(const struct tlg_dac *dac, uint64_t now_ps)
{
  const u128 second = 1000000000000u;
  u128 ticks, k;

  if (now_ps <= dac->origin_ps) {
    return dac->origin;
  }
  ticks = (u128)(now_ps - dac->origin_ps) * dac->cfg.rate.num;
  k = (ticks + second * dac->cfg.rate.den - 1) / (second * dac->cfg.rate.den);
  return dac->origin + (uint64_t)k;
}

/* Forget what has been played by an instant. */
static void play(struct tlg_dac *dac, uint64_t now_ps)
{
  const uint64_t played = first_due(dac, now_ps + 1); /* a sample leaves the buffer when it is due */
  size_t gone = 0;

  while (gone < dac->n_held && dac->held[gone].first + dac->held[gone].n <= played) {
    gone++;
  }
  dac->n_held -= gone;
  memmove(dac->held, dac->held + gone, dac->n_held * sizeof *dac->held);
  if (dac->n_held && dac->held[0].first < played) {
    dac->held[0].n -= played - dac->held[0].first;
    dac->held[0].first = played;
  }
}

/* Put samples into the buffer; the instant from which on there is room for all of them. */
static uint64_t hold(struct tlg_dac *dac, uint64_t first, uint64_t n, uint64_t now_ps)
{
  uint64_t room_ps = now_ps, behind = 0;
  size_t i;

  if (dac->n_held && dac->held[dac->n_held - 1].first + dac->held[dac->n_held - 1].n == first) {
    dac->held[dac->n_held - 1].n += n;
  } else {
    if (dac->n_held == TLG_DAC_SEGMENTS) { /* too many bursts at once: the oldest must have been played */
      room_ps = tlg_dac_due_ps(dac, dac->held[0].first + dac->held[0].n);
      play(dac, room_ps);
    }
    dac->held[dac->n_held].first = first;
    dac->held[dac->n_held++].n = n;
  }
  /* The last one fits when the one that stands `buffer` before it has been played. */
  for (i = dac->n_held; i-- > 0;) {
    if (behind + dac->held[i].n > dac->cfg.buffer) {
      const uint64_t out = dac->held[i].first + dac->held[i].n - 1 - (dac->cfg.buffer - behind);
      const uint64_t at = tlg_dac_due_ps(dac, out);

      room_ps = at > room_ps ? at : room_ps;
      break;
    }
    behind += dac->held[i].n;
  }
  return room_ps;
}

uint64_t tlg_dac_write(struct tlg_dac *dac, uint64_t first, uint64_t n, uint64_t now_ps)
{
  struct tlg_dac_counts *c = &dac->counts;
  uint64_t late = 0, room_ps, holds = 0, due;
  size_t i;

  if (!n) {
    return now_ps;
  }
  if (!dac->started) {
    dac->started = 1;
    dac->origin = dac->next = first;
    dac->origin_ps = now_ps + dac->cfg.lead_ps;
  }
  play(dac, now_ps);
  if (dac->open && tlg_dac_due_ps(dac, dac->next) < now_ps) {
    c->underruns++; /* the burst's end, too, would have had to be told in time */
    dac->open = 0;
  }
  if (first != dac->next) {
    dac->open = 0;
  }
  if (tlg_dac_due_ps(dac, first) < now_ps) {
    c->late_blocks++;
    if (dac->cfg.shift) {
      /* by whole samples, so that all instants keep to the grid of the clock */
      const uint64_t by = first_due(dac, now_ps + dac->cfg.lead_ps) - first;

      c->shifted += by;
      due = tlg_dac_due_ps(dac, first + by);
      dac->origin = first;
      dac->origin_ps = due;
      dac->n_held = 0; /* all of it had been played, as it was due before */
    } else {
      late = first_due(dac, now_ps) - first;
      late = late < n ? late : n;
      c->late += late;
    }
  }
  dac->next = first + n;
  if (late == n) {
    return now_ps;
  }
  c->bursts += !dac->open;
  dac->open = 1;
  c->sent += n - late;
  room_ps = hold(dac, first + late, n - late, now_ps);
  if (room_ps > now_ps) {
    c->waits++;
    c->waited_ps += room_ps - now_ps;
  }
  play(dac, room_ps);
  for (i = 0; i < dac->n_held; i++) {
    holds += dac->held[i].n;
  }
  c->high_water = holds > c->high_water ? holds : c->high_water;
  return room_ps;
}

uint64_t tlg_dac_end(struct tlg_dac *dac, uint64_t now_ps)
{
  uint64_t end;

  if (!dac->started) {
    return now_ps;
  }
  if (dac->open && tlg_dac_due_ps(dac, dac->next) < now_ps) {
    dac->counts.underruns++;
  }
  dac->open = 0;
  end = tlg_dac_due_ps(dac, dac->next);
  return end > now_ps ? end : now_ps;
}
