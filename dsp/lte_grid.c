/* SPDX-License-Identifier: Apache-2.0 */
/* LTE's numerology and which channel each resource element of a subframe belongs to. */
#include "tlg_lte.h"

#include <stdlib.h>
#include <string.h>

static const struct {
  unsigned prb, bandwidth_hz, fft_size;
} widths[] = {{6, 1400000, 128},    {15, 3000000, 256},   {25, 5000000, 512},
              {50, 10000000, 1024}, {75, 15000000, 1536}, {100, 20000000, 2048}};
enum { N_WIDTHS = sizeof widths / sizeof *widths };

unsigned tlg_lte_bandwidth_hz(unsigned prb)
{
  size_t i;

  for (i = 0; i < N_WIDTHS; i++) {
    if (widths[i].prb == prb) {
      return widths[i].bandwidth_hz;
    }
  }
  return 0;
}

unsigned tlg_lte_prb(unsigned bandwidth_hz)
{
  size_t i;

  for (i = 0; i < N_WIDTHS; i++) {
    if (widths[i].bandwidth_hz == bandwidth_hz) {
      return widths[i].prb;
    }
  }
  return 0;
}

unsigned tlg_lte_fft_size(unsigned prb)
{
  size_t i;

  for (i = 0; i < N_WIDTHS; i++) {
    if (widths[i].prb == prb) {
      return widths[i].fft_size;
    }
  }
  return 0;
}

int tlg_lte_cell_check(const struct tlg_lte_cell *cell, struct tlg_error *err)
{
  if (!cell) {
    return tlg_error_set(err, TLG_EINVAL, "no cell");
  }
  if (!tlg_lte_fft_size(cell->prb)) {
    return tlg_error_set(err, TLG_EINVAL, "%u resource blocks: a cell has 6, 15, 25, 50, 75 or 100", cell->prb);
  }
  if (cell->id >= TLG_LTE_IDS) {
    return tlg_error_set(err, TLG_EINVAL, "cell identity %u: from 0 to 503", cell->id);
  }
  if (cell->ports != 1 && cell->ports != 2 && cell->ports != 4) {
    return tlg_error_set(err, TLG_EINVAL, "%u antenna ports: a cell has 1, 2 or 4", cell->ports);
  }
  if (cell->phich_resource > 3 || cell->phich_extended > 1) {
    return tlg_error_set(err, TLG_EINVAL, "PHICH: resource from 0 to 3, extended 0 or 1");
  }
  return TLG_OK;
}

unsigned tlg_lte_symbol_start(unsigned l, unsigned *prefix)
{
  const unsigned slot = l / 7, i = l % 7;

  if (prefix) {
    *prefix = i ? 144 : 160;
  }
  return slot * (TLG_LTE_SUBFRAME / 2) + (i ? 160 + TLG_LTE_USEFUL + (i - 1) * (144 + TLG_LTE_USEFUL) : 0);
}

/* ---- PBCH -------------------------------------------------------------------------------------------------- */

/* Places of the reference signals of all four ports: they stand in the slot's first two symbols. */
static int pbch_has(unsigned id, unsigned l, unsigned k)
{
  return (l != 7 && l != 8) || k % 3 != id % 3;
}

void tlg_lte_pbch_res(unsigned id, unsigned prb, uint32_t re[240])
{
  const unsigned first = 6 * prb - 36;
  unsigned l, k, n = 0;

  for (l = 7; l < 11; l++) {
    for (k = first; k < first + 72; k++) {
      if (pbch_has(id, l, k)) {
        re[n++] = l * 12 * prb + k;
      }
    }
  }
}

/* ---- control region ---------------------------------------------------------------------------------------- */

unsigned tlg_lte_control_symbols(unsigned prb, unsigned cfi)
{
  return prb <= 10 ? cfi + 1 : cfi;
}

/* Resource element groups of six elements with two for reference signals (symbol 0 always assumes two ports), or of
 * four. */
static unsigned reg_size(const struct tlg_lte_cell *cell, unsigned l)
{
  return l == 0 || (l == 1 && cell->ports == 4) ? 6 : 4;
}

static struct tlg_lte_reg reg_at(const struct tlg_lte_cell *cell, unsigned l, unsigned k)
{
  const unsigned size = reg_size(cell, l);
  struct tlg_lte_reg reg = {{0, 0, 0, 0}};
  unsigned i, n = 0;

  for (i = k; i < k + size; i++) {
    if (size == 4 || i % 3 != cell->id % 3) {
      reg.re[n++ & 3] = l * 12 * cell->prb + i;
    }
  }
  return reg;
}

static unsigned pcfich_k(const struct tlg_lte_cell *cell, unsigned i)
{
  return (6 * (cell->id % (2 * cell->prb)) + i * cell->prb / 2 * 6) % (12 * cell->prb);
}

void tlg_lte_pcfich_regs(const struct tlg_lte_cell *cell, struct tlg_lte_reg regs[4])
{
  unsigned i;

  for (i = 0; i < 4; i++) {
    regs[i] = reg_at(cell, 0, pcfich_k(cell, i));
  }
}

static int is_pcfich(const struct tlg_lte_cell *cell, unsigned l, unsigned k)
{
  return l == 0 &&
         (pcfich_k(cell, 0) == k || pcfich_k(cell, 1) == k || pcfich_k(cell, 2) == k || pcfich_k(cell, 3) == k);
}

static unsigned phich_groups(const struct tlg_lte_cell *cell)
{
  static const unsigned sixths[4] = {1, 3, 6, 12};

  return (sixths[cell->phich_resource & 3] * cell->prb + 47) / 48; /* ceil(N_g prb / 8) */
}

/* Groups of symbol l that the PCFICH leaves. */
static unsigned free_regs(const struct tlg_lte_cell *cell, unsigned l)
{
  return 12 * cell->prb / reg_size(cell, l) - (l == 0 ? 4 : 0);
}

/* The subcarrier at which group number n of those begins. */
static unsigned free_reg_k(const struct tlg_lte_cell *cell, unsigned l, unsigned n)
{
  const unsigned size = reg_size(cell, l);
  unsigned k = 0;

  for (;; k += size) {
    if (!is_pcfich(cell, l, k) && n-- == 0) {
      return k;
    }
  }
}

/* Symbol and first subcarrier of part i of PHICH group m. */
static unsigned phich_place(const struct tlg_lte_cell *cell, unsigned m, unsigned i, unsigned *l)
{
  unsigned n;

  *l = cell->phich_extended ? i : 0;
  n = free_regs(cell, *l);
  return free_reg_k(cell, *l, (cell->id * n / free_regs(cell, 0) + m + i * n / 3) % n);
}

unsigned tlg_lte_phich_regs(const struct tlg_lte_cell *cell, struct tlg_lte_reg *regs)
{
  const unsigned groups = phich_groups(cell);
  unsigned m, i, l;

  for (m = 0; m < groups; m++) {
    for (i = 0; i < 3; i++) {
      const unsigned k = phich_place(cell, m, i, &l);

      regs[3 * m + i] = reg_at(cell, l, k);
    }
  }
  return 3 * groups;
}

enum { MAX_REGS = 4 * 3 * TLG_LTE_MAX_PRB };

unsigned tlg_lte_pdcch_regs(const struct tlg_lte_cell *cell, unsigned cfi, struct tlg_lte_reg *regs)
{
  static const uint8_t columns[32] = {1, 17, 9, 25, 5, 21, 13, 29, 3, 19, 11, 27, 7, 23, 15, 31,
                                      0, 16, 8, 24, 4, 20, 12, 28, 2, 18, 10, 26, 6, 22, 14, 30};
  const unsigned symbols = tlg_lte_control_symbols(cell->prb, cfi), groups = phich_groups(cell);
  uint16_t taken[MAX_REGS / 4]; /* PHICH: symbol * 2^11 + subcarrier */
  uint16_t in_order[MAX_REGS];  /* likewise, of each group that is left, by frequency, then time */
  unsigned n = 0, n_taken = 0, rows, dummies, k, l, m, i, out = 0;

  for (m = 0; m < groups; m++) {
    for (i = 0; i < 3; i++) {
      k = phich_place(cell, m, i, &l);
      taken[n_taken++] = (uint16_t)(l << 11 | k);
    }
  }
  for (k = 0; k < 12 * cell->prb; k++) {
    for (l = 0; l < symbols; l++) {
      int is_free = k % reg_size(cell, l) == 0 && !is_pcfich(cell, l, k);

      for (i = 0; is_free && i < n_taken; i++) {
        is_free = taken[i] != (l << 11 | k);
      }
      if (is_free) {
        in_order[n++] = (uint16_t)(l << 11 | k);
      }
    }
  }
  if (!regs || !n) {
    return n;
  }
  /* quadruplets pass an interleaver of 32 columns, then turn by the cell's identity */
  rows = (n + 31) / 32;
  dummies = 32 * rows - n;
  for (i = 0; i < 32; i++) {
    for (m = 0; m < rows; m++) {
      const unsigned at = 32 * m + columns[i];

      if (at >= dummies) {
        const unsigned place = in_order[(out + n - cell->id % n) % n];

        regs[at - dummies] = reg_at(cell, place >> 11, place & 2047);
        out++;
      }
    }
  }
  return n;
}

/* ---- map --------------------------------------------------------------------------------------------------- */

static void put_regs(uint8_t *map, const struct tlg_lte_reg *regs, unsigned n, enum tlg_lte_re kind)
{
  unsigned i, j;

  for (i = 0; i < n; i++) {
    for (j = 0; j < 4; j++) {
      map[regs[i].re[j]] = (uint8_t)kind;
    }
  }
}

static void put_sync(uint8_t *row, unsigned prb, enum tlg_lte_re kind)
{
  const unsigned first = 6 * prb - 36;

  memset(row + first, TLG_LTE_RE_GUARD, 72);
  memset(row + first + 5, kind, 62);
}

int tlg_lte_map(const struct tlg_lte_cell *cell, unsigned subframe, unsigned cfi, uint8_t *map)
{
  struct tlg_lte_reg regs[75];
  uint32_t pbch[240];
  unsigned n_sc, port, l, k, i;

  if (!map || tlg_lte_cell_check(cell, NULL) || subframe > 9 || cfi < 1 || cfi > 3) {
    return TLG_EINVAL;
  }
  n_sc = 12 * cell->prb;
  memset(map, TLG_LTE_RE_PDSCH, TLG_LTE_SYMBOLS * n_sc);
  memset(map, TLG_LTE_RE_PDCCH, tlg_lte_control_symbols(cell->prb, cfi) * n_sc);
  for (k = 0; k < n_sc; k++) {
    if (k % 3 == cell->id % 3) {
      map[k] = TLG_LTE_RE_HOLE;
    }
  }
  tlg_lte_pcfich_regs(cell, regs);
  put_regs(map, regs, 4, TLG_LTE_RE_PCFICH);
  put_regs(map, regs, tlg_lte_phich_regs(cell, regs), TLG_LTE_RE_PHICH);
  if (subframe == 0 || subframe == 5) {
    put_sync(map + 5 * n_sc, cell->prb, TLG_LTE_RE_SSS);
    put_sync(map + 6 * n_sc, cell->prb, TLG_LTE_RE_PSS);
  }
  if (subframe == 0) {
    for (l = 7; l < 11; l++) {
      memset(map + l * n_sc + 6 * cell->prb - 36, TLG_LTE_RE_HOLE, 72);
    }
    tlg_lte_pbch_res(cell->id, cell->prb, pbch);
    for (i = 0; i < 240; i++) {
      map[pbch[i]] = TLG_LTE_RE_PBCH;
    }
  }
  for (port = 0; port < cell->ports; port++) {
    for (l = 0; l < TLG_LTE_SYMBOLS; l++) {
      tlg_cf64 values[2 * TLG_LTE_MAX_PRB];
      unsigned first = 0;
      const unsigned n = tlg_lte_crs(cell->id, cell->prb, port, subframe, l, &first, values);

      for (i = 0; i < n; i++) {
        map[l * n_sc + first + 6 * i] = (uint8_t)(TLG_LTE_RE_CRS0 + port);
      }
    }
  }
  return TLG_OK;
}
