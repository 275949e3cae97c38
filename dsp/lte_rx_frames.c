/* SPDX-License-Identifier: Apache-2.0 */
/* The frame numbers that the MIB of each frame tells: where they jump, whole frames were lost or came again. */
#include "lte_rx.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FRAME_BITS = 480, BLOCKS = 256, PHASES = 4 };
/* In standard deviations of what noise gives: the best of 1024 numbers by chance, and a number that does not go on from
 * the last one against the one that does. */
#define GATE 7.0
#define AHEAD 5.0

/* The PBCH of all frame numbers, as signs after scrambling. */
static int8_t *all_codes(const struct tlg_lte_rx_cell *c)
{
  int8_t *code = malloc((size_t)BLOCKS * TLG_LTE_PBCH_BITS);
  uint8_t scrambling[TLG_LTE_PBCH_BITS], bits[TLG_LTE_PBCH_BITS], block[24];
  struct tlg_lte_mib mib;
  unsigned b, k;

  for (k = 0; k < 24; k++) {
    block[k] = (uint8_t)(c->mib >> (23 - k) & 1);
  }
  if (!code || tlg_lte_mib_unpack(&mib, block) != 0) {
    free(code);
    return NULL;
  }
  tlg_lte_gold((uint32_t)c->id, 0, scrambling, TLG_LTE_PBCH_BITS);
  for (b = 0; b < BLOCKS; b++) {
    mib.sfn = 4 * b;
    tlg_lte_mib_pack(&mib, block);
    tlg_lte_pbch_encode(block, (unsigned)c->ports, bits);
    for (k = 0; k < TLG_LTE_PBCH_BITS; k++) {
      code[b * TLG_LTE_PBCH_BITS + k] = (bits[k] ^ scrambling[k]) ? -1 : 1;
    }
  }
  return code;
}

static double match(const int8_t *code, const double *soft, double norm, int sfn)
{
  const int8_t *c = code + (size_t)(sfn / PHASES) * TLG_LTE_PBCH_BITS + (size_t)(sfn % PHASES) * FRAME_BITS;
  double sum = 0;
  int k;

  for (k = 0; k < FRAME_BITS; k++) {
    sum += c[k] * soft[k];
  }
  return sum / norm;
}

/* The number that fits; -1 = none for certain. expected: if frames go on. */
static int number_of(const int8_t *code, const double *soft, int expected)
{
  double norm = 0, best = -INFINITY, usual;
  int sfn, at = -1, k;

  for (k = 0; k < FRAME_BITS; k++) {
    norm += soft[k] * soft[k];
  }
  norm = sqrt(norm);
  if (!(norm > 0)) {
    return -1;
  }
  usual = match(code, soft, norm, expected);
  /* More than 0.9 of what is possible: no other code word is so near. */
  if (usual > 0.9 * sqrt(FRAME_BITS)) {
    return expected;
  }
  for (sfn = 0; sfn < BLOCKS * PHASES; sfn++) {
    const double m = match(code, soft, norm, sfn);

    if (m > best) {
      best = m;
      at = sfn;
    }
  }
  return best < GATE ? -1 : best - usual > AHEAD ? at : usual > GATE ? expected : -1;
}

int tlg_lte_rx_numbers(struct tlg_lte_rx *rx, struct lte_cell *cell)
{
  /* Symbols 7 to 10 have it, 4 and 11 reference signals. */
  static const unsigned mask = 0xff0;
  struct tlg_lte_rx_cell *c = &cell->pub;
  const size_t width = 12 * (size_t)c->prb, n = (size_t)(c->subframe_end - c->subframe_first);
  int8_t *code;
  tlg_cf64 *grid, *middle;
  double soft[FRAME_BITS];
  int64_t apart = 0; /* what the numbers are ahead of the first frame's and the time since then */
  int st = 0, seen = 0;
  size_t k;

  for (k = 0; k < n; k++) {
    cell->timing[k].sfn = -1;
  }
  if (!c->mib_crc_ok || c->sc_first > 6 * c->prb - LTE_NARROW_SC / 2) {
    return 0;
  }
  code = all_codes(c);
  grid = calloc(TLG_LTE_RX_SYMBOLS * width, sizeof *grid);
  middle = calloc((size_t)TLG_LTE_RX_SYMBOLS * LTE_NARROW_SC, sizeof *middle);
  if (!code || !grid || !middle) {
    st = TLG_ENOMEM;
  }
  for (k = 0; st == 0 && k < n; k++) {
    struct tlg_lte_rx_timing *t = &cell->timing[k];
    unsigned l;

    if (t->k % 10 != 0 || t->broken) {
      continue;
    }
    st = tlg_lte_rx_demodulate(rx, cell, t->start, mask, TLG_LTE_RX_CP_TS / 2.0, grid);
    for (l = 4; l < 12; l++) {
      memcpy(middle + (size_t)l * LTE_NARROW_SC, grid + l * width + width / 2 - LTE_NARROW_SC / 2,
             LTE_NARROW_SC * sizeof *middle);
    }
    if (st == 0) {
      const int64_t whole = c->sfn + t->k / 10;

      tlg_lte_pbch_soft(middle, c->id, c->ports, soft);
      t->sfn = number_of(code, soft, (int)(((whole + apart) % 1024 + 1024) % 1024));
      apart = t->sfn >= 0 ? t->sfn - whole : apart;
      if (t->sfn >= 0 && !seen) { /* the MIB may have been read after a jump: number from the first frame on */
        c->sfn = (int)(((c->sfn + apart) % 1024 + 1024) % 1024);
        apart = 0;
        seen = 1;
      }
    }
  }
  free(code);
  free(grid);
  free(middle);
  return st;
}
