/* SPDX-License-Identifier: Apache-2.0 */
/* A plain LTE downlink transmitter for tests: the grid of a subframe, element by element, with what was put where. */
#ifndef LTE_CELL_H
#define LTE_CELL_H

#include "tlg_lte.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CELL_RES (TLG_LTE_SYMBOLS * TLG_LTE_MAX_SC)

struct cell {
  struct tlg_lte_cell cell;
  unsigned cfi;
  unsigned bits[TLG_LTE_MAX_PRB]; /* modulation of each resource block pair; 0 = empty */
  double gain[TLG_LTE_MAX_PRB];   /* of PDSCH in it, against reference signals */
  double rho_b;                   /* PDSCH power in symbols with reference signals over that in the others */
  uint64_t random;                /* state */
};

static inline unsigned cell_random(struct cell *c) /* xorshift64*, its upper 24 bits */
{
  c->random ^= c->random >> 12;
  c->random ^= c->random << 25;
  c->random ^= c->random >> 27;
  return (unsigned)((c->random * 2685821657736338717u) >> 40);
}

/* A Gaussian by twelve uniform ones; variance 1. */
static inline double cell_gauss(struct cell *c)
{
  double sum = -6;
  int k;

  for (k = 0; k < 12; k++) {
    sum += cell_random(c) / 16777216.0;
  }
  return sum;
}

static inline void cell_init(struct cell *c, unsigned prb, unsigned id, unsigned ports, unsigned bits)
{
  unsigned p;

  memset(c, 0, sizeof *c);
  c->cell = (struct tlg_lte_cell){.prb = prb, .id = id, .ports = ports, .phich_resource = 2};
  c->cfi = 1;
  c->random = 12345;
  c->rho_b = 1;
  for (p = 0; p < prb; p++) {
    c->bits[p] = bits;
    c->gain[p] = 1;
  }
}

/* grid[port] of 14 rows of 12 prb. One port, or two with transmit diversity. */
static inline void cell_subframe(struct cell *c, unsigned number, tlg_cf64 *const *grid)
{
  static uint8_t map[CELL_RES];
  static struct tlg_lte_reg regs[800];
  const unsigned n_sc = 12 * c->cell.prb;
  tlg_cf64 values[2 * TLG_LTE_MAX_PRB], d[62];
  uint8_t bits[1920], scramble[1920];
  uint32_t pbch[TLG_LTE_PBCH_RES];
  unsigned port, l, k, i, n, first;
  int8_t sss[62];
  struct tlg_lte_reg pcfich[4];

  tlg_lte_map(&c->cell, number, c->cfi, map);
  for (port = 0; port < c->cell.ports; port++) {
    memset(grid[port], 0, (size_t)TLG_LTE_SYMBOLS * n_sc * sizeof **grid);
    for (l = 0; l < TLG_LTE_SYMBOLS; l++) {
      n = tlg_lte_crs(c->cell.id, c->cell.prb, port, number, l, &first, values);
      for (i = 0; i < n; i++) {
        grid[port][l * n_sc + first + 6 * i] = values[i];
      }
    }
  }
  tlg_lte_pss(c->cell.id % 3, d);
  if (number % 5 == 0) {
    tlg_lte_sss(c->cell.id, number, sss);
    for (i = 0; i < 62; i++) {
      grid[0][6 * n_sc + n_sc / 2 - 31 + i] = d[i];
      grid[0][5 * n_sc + n_sc / 2 - 31 + i] = (tlg_cf64){sss[i], 0};
    }
  }
  /* Symbols in pairs (transmit diversity needs them) into a list of elements. */
#define PUT(re_a, re_b, sa, sb)                                                                                        \
  do {                                                                                                                 \
    const tlg_cf64 pa_ = (sa), pb_ = (sb);                                                                             \
    if (c->cell.ports == 1) {                                                                                          \
      grid[0][re_a] = pa_;                                                                                             \
      grid[0][re_b] = pb_;                                                                                             \
    } else {                                                                                                           \
      grid[0][re_a] = (tlg_cf64){pa_.i * M_SQRT1_2, pa_.q * M_SQRT1_2};                                                \
      grid[0][re_b] = (tlg_cf64){pb_.i * M_SQRT1_2, pb_.q * M_SQRT1_2};                                                \
      grid[1][re_a] = (tlg_cf64){-pb_.i * M_SQRT1_2, pb_.q * M_SQRT1_2};                                               \
      grid[1][re_b] = (tlg_cf64){pa_.i * M_SQRT1_2, -pa_.q * M_SQRT1_2};                                               \
    }                                                                                                                  \
  } while (0)
  tlg_lte_pcfich_regs(&c->cell, pcfich);
  tlg_lte_cfi_bits(c->cfi, bits);
  tlg_lte_gold(tlg_lte_pcfich_init(c->cell.id, number), 0, scramble, 32);
  for (i = 0; i < 32; i++) {
    bits[i] ^= scramble[i];
  }
  tlg_lte_modulate(2, bits, 16, d);
  for (i = 0; i < 16; i += 2) {
    PUT(pcfich[i / 4].re[i % 4], pcfich[i / 4].re[i % 4 + 1], d[i], d[i + 1]);
  }
  if (number == 0) {
    tlg_lte_pbch_res(c->cell.id, c->cell.prb, pbch);
    for (i = 0; i < TLG_LTE_PBCH_RES; i += 2) {
      for (k = 0; k < 4; k++) {
        bits[k] = (cell_random(c) >> 9) & 1;
      }
      tlg_lte_modulate(2, bits, 2, d);
      PUT(pbch[i], pbch[i + 1], d[0], d[1]);
    }
  }
  n = tlg_lte_pdcch_regs(&c->cell, c->cfi, regs);
  for (i = 0; i < n; i++) {
    if (i % 3 == 0) {
      continue; /* not sent */
    }
    for (k = 0; k < 8; k++) {
      bits[k] = (cell_random(c) >> 9) & 1;
    }
    tlg_lte_modulate(2, bits, 4, d);
    PUT(regs[i].re[0], regs[i].re[1], d[0], d[1]);
    PUT(regs[i].re[2], regs[i].re[3], d[2], d[3]);
  }
  for (l = 0; l < TLG_LTE_SYMBOLS; l++) {
    uint32_t waiting = UINT32_MAX;
    tlg_cf64 before = {0, 0};

    for (k = 0; k < n_sc; k++) {
      const unsigned prb = k / 12;
      const double g = c->gain[prb] * (l % 7 == 0 || l % 7 == 4 ? sqrt(c->rho_b) : 1);
      tlg_cf64 s;

      if (k % 12 == 0) {
        waiting = UINT32_MAX;
      }
      if (map[l * n_sc + k] != TLG_LTE_RE_PDSCH || !c->bits[prb]) {
        continue;
      }
      for (i = 0; i < c->bits[prb]; i++) {
        bits[i] = (cell_random(c) >> 9) & 1;
      }
      tlg_lte_modulate(c->bits[prb], bits, 1, &s);
      s.i *= g;
      s.q *= g;
      if (c->cell.ports == 1) {
        grid[0][l * n_sc + k] = s;
      } else if (waiting == UINT32_MAX) {
        waiting = l * n_sc + k;
        before = s;
      } else {
        PUT(waiting, l * n_sc + k, before, s);
        waiting = UINT32_MAX;
      }
    }
  }
#undef PUT
}

#endif
