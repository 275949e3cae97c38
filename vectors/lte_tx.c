/* SPDX-License-Identifier: Apache-2.0 */
/* The resource grid of an LTE downlink: a complete cell, or one of the standard's test models. What does not change
 * from frame to frame is laid out once; a subframe then costs its shared channel, its control information and the PBCH.
 */
#include "lte_tx.h"

#include "tlg_dsp.h"
#include "tlg_lte.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  FRAME = 10,     /* subframes */
  MAX_GROUPS = 2, /* of resource blocks that differ in modulation, power and RNTI */
  KINDS = 3,      /* of subframes: 0, 5 and the others carry different channels */
  MAX_REGS = 800,
  MAX_BITS = 8 * TLG_LTE_SYMBOLS * TLG_LTE_MAX_SC,
};

struct shared_group {
  unsigned n, bits; /* resource elements; bits a symbol */
  uint32_t *re;
  double amplitude;
  unsigned rnti;
  size_t scrambling; /* where its bits begin in the subframe's */
};

struct lte_tx {
  struct tlg_lte_signal cfg;
  uint64_t seed, repeat; /* frames */
  unsigned n_sc, n_groups, modulation;
  double scale, gain_power;
  tlg_cf64 gain[2];
  tlg_cf64 constellations[9][256]; /* by bits a symbol */
  tlg_cf64 *base;                  /* 10 subframes: what never changes, both ports added up, without scale */
  struct shared_group groups[FRAME][MAX_GROUPS];
  struct tlg_lte_shared shared[KINDS];
  struct tlg_lte_dlsch *coders[KINDS];
  uint8_t *scrambling[FRAME];
  uint32_t pbch[TLG_LTE_PBCH_RES];
  struct tlg_lte_reg pdcch[MAX_REGS];
  unsigned n_quads, n_cce, level, first_cce[FRAME];
  uint8_t *pdcch_scrambling; /* of ten subframes, 8 n_quads each */
  double power;

  int64_t current; /* the subframe that grid holds; INT64_MIN = none */
  tlg_cf64 *grid;
  int64_t pbch_group; /* the four frames that pbch_bits holds, as their first frame number; -1 = none */
  uint8_t pbch_bits[TLG_LTE_PBCH_BITS];
  uint8_t *block, *bits;
  tlg_cf64 *d, *port[2];
};

static unsigned kind_of(unsigned subframe)
{
  return subframe == 0 ? 0 : subframe == 5 ? 1 : 2;
}

/* ---- mapping ----------------------------------------------------------------------------------------------- */

/* n symbols of a channel to resource elements: as they are on one port, by transmit diversity on two. n even. */
static void put(struct lte_tx *tx, tlg_cf64 *grid, const uint32_t *re, const tlg_cf64 *d, size_t n, double amplitude)
{
  size_t i;

  if (tx->cfg.cell.ports == 1) {
    for (i = 0; i < n; i++) {
      grid[re[i]].i = d[i].i * amplitude;
      grid[re[i]].q = d[i].q * amplitude;
    }
    return;
  }
  tlg_lte_sfbc(d, n, tx->port[0], tx->port[1]);
  for (i = 0; i < n; i++) {
    const tlg_cf64 a = tx->port[0][i], b = tx->port[1][i], g = tx->gain[0], h = tx->gain[1];

    grid[re[i]].i = amplitude * (a.i * g.i - a.q * g.q + (b.i * h.i - b.q * h.q));
    grid[re[i]].q = amplitude * (a.i * g.q + a.q * g.i + (b.i * h.q + b.q * h.i));
  }
}

static void put_port(const struct lte_tx *tx, tlg_cf64 *re, unsigned port, double i, double q)
{
  const tlg_cf64 g = tx->gain[port];

  re->i = i * g.i - q * g.q;
  re->q = i * g.q + q * g.i;
}

/* The elements of groups that follow each other. */
static const uint32_t *elements(const struct tlg_lte_reg *regs)
{
  return (const uint32_t *)(const void *)regs;
}

/* Scramble bits and map them to points. Returns the number of points. */
static size_t modulate(const struct lte_tx *tx, unsigned bits, const uint8_t *b, const uint8_t *c, size_t n_bits,
                       tlg_cf64 *out)
{
  const tlg_cf64 *const points = tx->constellations[bits];
  const size_t n = n_bits / bits;
  size_t i;
  unsigned j;

  for (i = 0; i < n; i++) {
    unsigned index = 0;

    for (j = 0; j < bits; j++) {
      index = index << 1 | (*b++ ^ *c++);
    }
    out[i] = points[index];
  }
  return n;
}

/* ---- what never changes ------------------------------------------------------------------------------------ */

static void base_sync(struct lte_tx *tx, unsigned subframe, tlg_cf64 *grid, double amplitude)
{
  const unsigned first = 6 * tx->cfg.cell.prb - 31;
  tlg_cf64 pss[62];
  int8_t sss[62];
  unsigned i;

  tlg_lte_pss(tx->cfg.cell.id % 3, pss);
  tlg_lte_sss(tx->cfg.cell.id, subframe, sss);
  for (i = 0; i < 62; i++) { /* on port 0 */
    put_port(tx, &grid[5 * tx->n_sc + first + i], 0, amplitude * sss[i], 0.0);
    put_port(tx, &grid[6 * tx->n_sc + first + i], 0, amplitude * pss[i].i, amplitude * pss[i].q);
  }
}

static void base_crs(struct lte_tx *tx, unsigned subframe, tlg_cf64 *grid)
{
  const struct tlg_lte_cell *const cell = &tx->cfg.cell;
  tlg_cf64 values[2 * TLG_LTE_MAX_PRB];
  unsigned port, l, i, n, first = 0;

  for (port = 0; port < cell->ports; port++) {
    for (l = 0; l < TLG_LTE_SYMBOLS; l++) {
      n = tlg_lte_crs(cell->id, cell->prb, port, subframe, l, &first, values);
      for (i = 0; i < n; i++) {
        put_port(tx, &grid[l * tx->n_sc + first + 6 * i], port, values[i].i, values[i].q);
      }
    }
  }
}

static void base_pcfich(struct lte_tx *tx, unsigned subframe, tlg_cf64 *grid, double amplitude)
{
  struct tlg_lte_reg regs[4];
  uint8_t b[32], c[32];

  tlg_lte_cfi_bits(tx->cfg.cfi, b);
  tlg_lte_gold(tlg_lte_pcfich_init(tx->cfg.cell.id, subframe), 0, c, 32);
  (void)modulate(tx, 2, b, c, 32, tx->d);
  tlg_lte_pcfich_regs(&tx->cfg.cell, regs);
  put(tx, grid, elements(regs), tx->d, 16, amplitude);
}

/* Test models: two indicators (0) in each group, of sequences 0 and 4, which are in quadrature; half the power each. */
static void base_phich(struct lte_tx *tx, unsigned subframe, tlg_cf64 *grid)
{
  struct tlg_lte_reg regs[75];
  const unsigned n = tlg_lte_phich_regs(&tx->cfg.cell, regs) / 3;
  uint8_t c[12];
  unsigned g, i;

  tlg_lte_gold(tlg_lte_pcfich_init(tx->cfg.cell.id, subframe), 0, c, 12);
  for (g = 0; g < n; g++) {
    for (i = 0; i < 12; i++) {
      /* (1 + j) / sqrt(2) * (1 + j) / sqrt(2) = j: both BPSK symbols at -3.01 dB */
      tx->d[i].i = 0.0;
      tx->d[i].q = c[i] ? -1.0 : 1.0;
    }
    put(tx, grid, elements(&regs[3 * g]), tx->d, 12, 1.0);
  }
}

static void base_model_pdcch(struct lte_tx *tx, unsigned subframe, tlg_cf64 *grid, const struct lte_model *m)
{
  const size_t n = 36 * (size_t)m->n_pdcch_cce;
  uint8_t zeros[2 * 36 * 32];

  memset(zeros, 0, sizeof zeros);
  (void)modulate(tx, 2, zeros, tx->pdcch_scrambling + (size_t)subframe * 8 * tx->n_quads, 2 * n, tx->d);
  put(tx, grid, elements(tx->pdcch), tx->d, n, tlg_amplitude(m->pdcch_db));
}

/* ---- shared channel ---------------------------------------------------------------------------------------- */

static int lay_out_shared(struct lte_tx *tx, unsigned subframe, const uint8_t *map, const struct lte_model *m)
{
  const unsigned n_re = TLG_LTE_SYMBOLS * tx->n_sc;
  uint8_t listed[TLG_LTE_MAX_PRB];
  size_t n_bits = 0;
  unsigned g, i;

  for (i = 0; i < tx->cfg.cell.prb; i++) {
    listed[i] = !m || m->all || lte_model_listed(tx->cfg.model, tx->cfg.cell.prb, subframe, i);
  }

  for (g = 0; g < tx->n_groups; g++) {
    struct shared_group *const group = &tx->groups[subframe][g];
    uint32_t *re = NULL;
    int pass;

    for (pass = 0; pass < 2; pass++) {
      unsigned n = 0;

      for (i = 0; i < n_re; i++) {
        if (map[i] != TLG_LTE_RE_PDSCH || listed[i % tx->n_sc / 12] != (g == 0)) {
          continue;
        }
        if (re) {
          re[n] = i;
        }
        n++;
      }
      if (!pass && !(re = malloc((n ? n : 1) * sizeof *re))) {
        return TLG_ENOMEM;
      }
      group->n = n;
    }
    group->re = re;
    group->rnti = !m ? tx->cfg.rnti : !m->all && m->power_db[g] < 0.0 ? 1 : 0; /* 1: de-boosted */
    group->bits = m ? m->bits[g] : tx->cfg.data == TLG_LTE_UNCODED ? tx->modulation : 0;
    group->amplitude = m ? tlg_amplitude(m->power_db[g]) : 1.0;
    if (m && !m->all && tx->cfg.cell.prb == 6 && (subframe == 0 || subframe == 5)) {
      group->amplitude = 1.0; /* every block holds synchronisation signals: no boosting */
    }
    if (!m && tx->cfg.data == TLG_LTE_CODED) {
      group->bits = tx->shared[kind_of(subframe)].bits_a_symbol; /* 0 until known */
    }
    group->scrambling = n_bits;
    n_bits += (size_t)group->n * 8;
  }
  return TLG_OK;
}

/* The highest MCS up to the wanted one whose code rate leaves the block decodable. */
static int choose_mcs(struct lte_tx *tx, unsigned kind, unsigned n_re)
{
  struct tlg_lte_shared *const s = &tx->shared[kind];
  unsigned mcs = tx->cfg.mcs;

  for (;; mcs--) {
    unsigned i_tbs = 0;

    (void)tlg_lte_mcs(mcs, (int)tx->cfg.table_256, &s->bits_a_symbol, &i_tbs);
    s->mcs = mcs;
    s->block_bits = tlg_lte_tbs(i_tbs, tx->cfg.cell.prb);
    s->n_re = n_re;
    s->coded_bits = n_re * s->bits_a_symbol;
    if ((uint64_t)(s->block_bits + 24) * 1000 <= (uint64_t)s->coded_bits * 930 || !mcs) {
      break;
    }
  }
  return tlg_lte_dlsch_new(&tx->coders[kind], s->block_bits, s->bits_a_symbol, tx->cfg.cell.ports, 0, s->coded_bits);
}

/* Bits that follow from seed, frame number, subframe and purpose alone. */
static void random_bits(const struct lte_tx *tx, uint32_t purpose, uint64_t n, uint8_t *bits, size_t n_bits)
{
  const uint32_t key[2] = {(uint32_t)tx->seed, (uint32_t)(tx->seed >> 32)};
  size_t i;

  for (i = 0; i < n_bits; i += 128) {
    const uint32_t counter[4] = {(uint32_t)(i / 128), (uint32_t)n, (uint32_t)(n >> 32), purpose};
    const size_t piece = n_bits - i < 128 ? n_bits - i : 128;
    uint32_t words[4];
    size_t j;

    tlg_philox(counter, key, words);
    for (j = 0; j < piece; j++) {
      bits[i + j] = words[j / 32] >> j % 32 & 1;
    }
  }
}

/* The number of the content of subframe n: equal numbers carry equal content. */
static uint64_t content_of(const struct lte_tx *tx, int64_t n, unsigned *sfn, unsigned *subframe)
{
  int64_t frame = n / FRAME - (n % FRAME < 0 ? 1 : 0);

  *subframe = (unsigned)(n - frame * FRAME);
  if (tx->repeat) {
    frame %= (int64_t)tx->repeat;
    frame += frame < 0 ? (int64_t)tx->repeat : 0;
  }
  *sfn = (unsigned)((tx->cfg.sfn + 1024 + frame % 1024) % 1024);
  frame = frame < 0 ? 1023 : frame; /* the frame before the first one is heard in its overlap only */
  return (uint64_t)frame * FRAME + *subframe;
}

static const uint32_t block_purpose = 0x6c746564, filling_purpose = 0x6c746566;

const uint8_t *lte_tx_block(struct lte_tx *tx, uint64_t n, unsigned *size)
{
  unsigned sfn, subframe;
  const uint64_t content = content_of(tx, (int64_t)n, &sfn, &subframe);
  const struct tlg_lte_shared *const s = &tx->shared[kind_of(subframe)];

  *size = s->block_bits;
  random_bits(tx, block_purpose, content, tx->block, s->block_bits);
  return tx->block;
}

static void put_shared(struct lte_tx *tx, uint64_t content, unsigned subframe)
{
  unsigned g;

  for (g = 0; g < tx->n_groups; g++) {
    const struct shared_group *const group = &tx->groups[subframe][g];
    const size_t n_bits = (size_t)group->n * group->bits;
    const uint8_t *c = tx->scrambling[subframe] + group->scrambling;

    if (tx->cfg.model != TLG_LTE_CELL) {
      memset(tx->bits, 0, n_bits);
    } else if (tx->cfg.data == TLG_LTE_UNCODED) {
      random_bits(tx, filling_purpose, content, tx->bits, n_bits);
    } else {
      random_bits(tx, block_purpose, content, tx->block, tx->shared[kind_of(subframe)].block_bits);
      tlg_lte_dlsch_run(tx->coders[kind_of(subframe)], tx->block, tx->bits);
    }
    (void)modulate(tx, group->bits, tx->bits, c, n_bits, tx->d);
    put(tx, tx->grid, group->re, tx->d, group->n, group->amplitude * tx->scale);
  }
}

/* ---- control and broadcast --------------------------------------------------------------------------------- */

static void put_pdcch(struct lte_tx *tx, uint64_t content, unsigned subframe)
{
  const struct tlg_lte_shared *const s = &tx->shared[kind_of(subframe)];
  const unsigned first = tx->first_cce[subframe];
  const size_t n_bits = 72 * (size_t)tx->level;
  const unsigned harq = (unsigned)(content % 8), ndi = (unsigned)(content / 8 % 2);
  uint8_t dci[64], e[72 * 8];
  unsigned n;

  n = tx->cfg.dci_1a ? tlg_lte_dci_1a(tx->cfg.cell.prb, s->mcs, harq, ndi, 0, dci)
                     : tlg_lte_dci_1(tx->cfg.cell.prb, s->mcs, harq, ndi, 0, dci);
  (void)tlg_lte_dci_encode(dci, n, tx->cfg.rnti, e, n_bits);
  (void)modulate(tx, 2, e, tx->pdcch_scrambling + ((size_t)subframe * tx->n_quads + 9 * (size_t)first) * 8, n_bits,
                 tx->d);
  put(tx, tx->grid, elements(&tx->pdcch[9 * (size_t)first]), tx->d, n_bits / 2, tx->scale);
}

static void put_pbch(struct lte_tx *tx, unsigned sfn, double amplitude)
{
  static const uint8_t zeros[TLG_LTE_PBCH_BITS / 4];
  const uint8_t *b = zeros;
  uint8_t c[TLG_LTE_PBCH_BITS / 4];
  const unsigned quarter = sfn % 4 * (TLG_LTE_PBCH_BITS / 4);

  if (tx->cfg.model == TLG_LTE_CELL) {
    if (tx->pbch_group != sfn / 4) {
      const struct tlg_lte_cell *const cell = &tx->cfg.cell;
      const struct tlg_lte_mib mib = {
          .prb = cell->prb, .phich_resource = cell->phich_resource, .phich_extended = cell->phich_extended, .sfn = sfn};
      uint8_t packed[24];

      tlg_lte_mib_pack(&mib, packed);
      tlg_lte_pbch_encode(packed, cell->ports, tx->pbch_bits);
      tx->pbch_group = sfn / 4;
    }
    b = tx->pbch_bits + quarter;
  }
  tlg_lte_gold(tx->cfg.cell.id, quarter, c, sizeof c);
  (void)modulate(tx, 2, b, c, sizeof c, tx->d);
  put(tx, tx->grid, tx->pbch, tx->d, TLG_LTE_PBCH_RES, amplitude * tx->scale);
}

/* ---- subframes --------------------------------------------------------------------------------------------- */

static double pbch_amplitude(const struct lte_tx *tx)
{
  struct lte_model m;

  return tx->cfg.model != TLG_LTE_CELL && !lte_model_find(&m, tx->cfg.model, tx->cfg.cell.prb)
             ? tlg_amplitude(m.sync_db)
             : 1.0;
}

static void make_subframe(struct lte_tx *tx, int64_t n)
{
  const size_t n_re = TLG_LTE_SYMBOLS * (size_t)tx->n_sc;
  unsigned sfn, subframe;
  const uint64_t content = content_of(tx, n, &sfn, &subframe);
  const tlg_cf64 *const base = tx->base + subframe * n_re;
  size_t i;

  for (i = 0; i < n_re; i++) {
    tx->grid[i].i = base[i].i * tx->scale;
    tx->grid[i].q = base[i].q * tx->scale;
  }
  if (subframe == 0) {
    put_pbch(tx, sfn, pbch_amplitude(tx));
  }
  if (tx->level) {
    put_pdcch(tx, content, subframe);
  }
  put_shared(tx, content, subframe);
  tx->current = n;
}

void lte_tx_points(struct lte_tx *tx, int64_t l, tlg_cf64 *points)
{
  const int64_t symbols = TLG_LTE_SYMBOLS, n = l / symbols - (l % symbols < 0 ? 1 : 0);

  if (n != tx->current) {
    make_subframe(tx, n);
  }
  memcpy(points, tx->grid + (size_t)(l - n * symbols) * tx->n_sc, tx->n_sc * sizeof *points);
}

double lte_tx_power(const struct lte_tx *tx)
{
  return tx->power;
}

void lte_tx_scale(struct lte_tx *tx, double scale)
{
  tx->scale = scale;
  tx->current = INT64_MIN;
}

void lte_tx_shared(const struct lte_tx *tx, unsigned subframe, struct tlg_lte_shared *shared)
{
  *shared = tx->shared[kind_of(subframe)];
}

/* ---- making it --------------------------------------------------------------------------------------------- */

/* Energy over a frame: each point lasts as long as its symbol. */
static void add_up_power(struct lte_tx *tx)
{
  const size_t n_re = TLG_LTE_SYMBOLS * (size_t)tx->n_sc;
  const double pbch = pbch_amplitude(tx);
  double sum = 0.0;
  unsigned subframe, l, g, i;

  for (subframe = 0; subframe < FRAME; subframe++) {
    double *const symbol = (double *)(void *)tx->d; /* 14 sums */

    memset(symbol, 0, TLG_LTE_SYMBOLS * sizeof *symbol);
    for (i = 0; i < n_re; i++) {
      const tlg_cf64 z = tx->base[subframe * n_re + i];

      symbol[i / tx->n_sc] += z.i * z.i + z.q * z.q;
    }
    for (g = 0; g < tx->n_groups; g++) {
      const struct shared_group *const group = &tx->groups[subframe][g];

      for (i = 0; i < group->n; i++) {
        symbol[group->re[i] / tx->n_sc] += group->amplitude * group->amplitude * tx->gain_power;
      }
    }
    for (i = 0; subframe == 0 && i < TLG_LTE_PBCH_RES; i++) {
      symbol[tx->pbch[i] / tx->n_sc] += pbch * pbch * tx->gain_power;
    }
    for (i = 0; i < 36 * tx->level; i++) {
      symbol[tx->pdcch[9 * tx->first_cce[subframe] + i / 4].re[i % 4] / tx->n_sc] += tx->gain_power;
    }
    for (l = 0; l < TLG_LTE_SYMBOLS; l++) {
      unsigned prefix;

      (void)tlg_lte_symbol_start(l, &prefix);
      sum += symbol[l] * (prefix + TLG_LTE_USEFUL);
    }
  }
  tx->power = sum / (FRAME * (double)TLG_LTE_SUBFRAME);
}

/* A DCI for the shared channel, at the highest aggregation level up to 4 that fits. */
static void place_dci(struct lte_tx *tx)
{
  unsigned subframe;

  if (tx->cfg.model != TLG_LTE_CELL || tx->cfg.data != TLG_LTE_CODED) {
    return;
  }
  for (tx->level = 4; tx->level > tx->n_cce; tx->level /= 2) {
  }
  for (subframe = 0; subframe < FRAME; subframe++) {
    tx->first_cce[subframe] = (unsigned)tlg_lte_search_space(tx->n_cce, tx->level, tx->cfg.rnti, subframe, 0);
  }
}

static int make_scrambling(struct lte_tx *tx, unsigned subframe)
{
  size_t total = 0;
  unsigned g;

  for (g = 0; g < tx->n_groups; g++) {
    total += (size_t)tx->groups[subframe][g].n * 8;
  }
  if (!(tx->scrambling[subframe] = calloc(total ? total : 1, 1))) {
    return TLG_ENOMEM;
  }
  for (g = 0; g < tx->n_groups; g++) {
    const struct shared_group *const group = &tx->groups[subframe][g];

    if (tx->cfg.model != TLG_LTE_CELL || tx->cfg.data == TLG_LTE_CODED) {
      tlg_lte_gold(tlg_lte_pdsch_init(tx->cfg.cell.id, subframe, group->rnti, 0), 0,
                   tx->scrambling[subframe] + group->scrambling, (size_t)group->n * group->bits);
    }
  }
  return TLG_OK;
}

static int make_subframes(struct lte_tx *tx, const struct lte_model *m)
{
  const size_t n_re = TLG_LTE_SYMBOLS * (size_t)tx->n_sc;
  uint8_t *const map = tx->bits; /* not yet used otherwise */
  const int coded = tx->cfg.model == TLG_LTE_CELL && tx->cfg.data == TLG_LTE_CODED;
  unsigned subframe;
  int st = TLG_OK;

  for (subframe = 0; subframe < FRAME && !st; subframe++) {
    tlg_cf64 *const grid = tx->base + subframe * n_re;
    const unsigned kind = kind_of(subframe);

    (void)tlg_lte_map(&tx->cfg.cell, subframe, tx->cfg.cfi, map);
    st = lay_out_shared(tx, subframe, map, m);
    if (!st && coded && !tx->coders[kind]) {
      st = choose_mcs(tx, kind, tx->groups[subframe][0].n);
    }
    if (st) {
      return st;
    }
    if (coded) {
      tx->groups[subframe][0].bits = tx->shared[kind].bits_a_symbol;
    } else {
      tx->shared[kind] =
          (struct tlg_lte_shared){.bits_a_symbol = tx->groups[subframe][0].bits, .n_re = tx->groups[subframe][0].n};
    }
    st = make_scrambling(tx, subframe);
    tlg_lte_gold(tlg_lte_pdcch_init(tx->cfg.cell.id, subframe), 0,
                 tx->pdcch_scrambling + (size_t)subframe * 8 * tx->n_quads, 8 * (size_t)tx->n_quads);
    base_crs(tx, subframe, grid);
    base_pcfich(tx, subframe, grid, m ? tlg_amplitude(m->pcfich_db) : 1.0);
    if (m) {
      base_phich(tx, subframe, grid);
      base_model_pdcch(tx, subframe, grid, m);
    }
    if (subframe == 0 || subframe == 5) {
      base_sync(tx, subframe, grid, m ? tlg_amplitude(m->sync_db) : 1.0);
    }
  }
  return st;
}

int lte_tx_new(struct lte_tx **result, const struct tlg_signal_cfg *cfg, struct tlg_error *err)
{
  const struct tlg_lte_signal *const lte = &cfg->lte;
  struct lte_model model, *const m = lte->model == TLG_LTE_CELL ? NULL : &model;
  struct lte_tx *tx;
  size_t n_re;
  unsigned bits;
  int st;

  *result = NULL;
  if (m && lte_model_find(m, lte->model, lte->cell.prb)) {
    return tlg_error_set(err, TLG_EINVAL, "no such test model");
  }
  if (!(tx = calloc(1, sizeof *tx))) {
    return tlg_error_set(err, TLG_ENOMEM, "out of memory");
  }
  tx->cfg = *lte;
  tx->modulation = (unsigned)cfg->modulation;
  tx->seed = cfg->seed;
  tx->repeat = cfg->repeat / 20;
  tx->n_sc = 12 * lte->cell.prb;
  tx->n_groups = m && !m->all ? 2 : 1;
  tx->scale = 1.0;
  tx->gain[0] = lte->cell.ports == 1 ? (tlg_cf64){1.0, 0.0} : lte->port_gain[0];
  tx->gain[1] = lte->port_gain[1];
  tx->gain_power = lte->cell.ports == 1 ? 1.0
                                        : 0.5 * (tx->gain[0].i * tx->gain[0].i + tx->gain[0].q * tx->gain[0].q +
                                                 tx->gain[1].i * tx->gain[1].i + tx->gain[1].q * tx->gain[1].q);
  tx->current = INT64_MIN;
  tx->pbch_group = -1;
  for (bits = 2; bits <= 8; bits += 2) {
    (void)tlg_lte_constellation(bits, tx->constellations[bits]);
  }
  n_re = TLG_LTE_SYMBOLS * (size_t)tx->n_sc;
  tlg_lte_pbch_res(lte->cell.id, lte->cell.prb, tx->pbch);
  tx->n_quads = tlg_lte_pdcch_regs(&lte->cell, lte->cfi, NULL);
  tx->n_cce = tx->n_quads / 9;
  (void)tlg_lte_pdcch_regs(&lte->cell, lte->cfi, tx->pdcch);
  tx->base = calloc(FRAME * n_re, sizeof *tx->base);
  tx->grid = malloc(n_re * sizeof *tx->grid);
  tx->d = malloc(n_re * sizeof *tx->d);
  tx->port[0] = malloc(n_re * sizeof *tx->d);
  tx->port[1] = malloc(n_re * sizeof *tx->d);
  tx->block = malloc(1 << 17);
  tx->bits = malloc(MAX_BITS);
  tx->pdcch_scrambling = malloc(FRAME * 8 * (size_t)tx->n_quads);
  if (!tx->base || !tx->grid || !tx->d || !tx->port[0] || !tx->port[1] || !tx->block || !tx->bits ||
      !tx->pdcch_scrambling) {
    st = TLG_ENOMEM;
  } else {
    st = make_subframes(tx, m);
  }
  if (st) {
    lte_tx_free(tx);
    return tlg_error_set(err, st, st == TLG_ENOMEM ? "out of memory" : "this cell cannot be made");
  }
  place_dci(tx);
  add_up_power(tx);
  *result = tx;
  return TLG_OK;
}

void lte_tx_free(struct lte_tx *tx)
{
  unsigned i, g;

  if (!tx) {
    return;
  }
  for (i = 0; i < FRAME; i++) {
    for (g = 0; g < MAX_GROUPS; g++) {
      free(tx->groups[i][g].re);
    }
    free(tx->scrambling[i]);
  }
  for (i = 0; i < KINDS; i++) {
    tlg_lte_dlsch_free(tx->coders[i]);
  }
  free(tx->base);
  free(tx->grid);
  free(tx->d);
  free(tx->port[0]);
  free(tx->port[1]);
  free(tx->block);
  free(tx->bits);
  free(tx->pdcch_scrambling);
  free(tx);
}
