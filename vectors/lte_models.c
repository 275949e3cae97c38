/* SPDX-License-Identifier: Apache-2.0 */
/* The test models of TS 36.141, 6.1.1: powers, and which resource blocks carry what. */
#include "lte_tx.h"

#include <string.h>

static const struct {
  enum tlg_lte_model model;
  const char *name;
} names[] = {
    {TLG_LTE_CELL, "cell"},       {TLG_LTE_ETM1_1, "etm1.1"}, {TLG_LTE_ETM3_1, "etm3.1"},
    {TLG_LTE_ETM3_1A, "etm3.1a"}, {TLG_LTE_ETM3_2, "etm3.2"}, {TLG_LTE_ETM3_3, "etm3.3"},
};
enum { N_NAMES = sizeof names / sizeof *names, N_WIDTHS = 6 };

int tlg_lte_model_parse(enum tlg_lte_model *model, const char *text)
{
  size_t i;

  for (i = 0; text && i < N_NAMES; i++) {
    if (strcmp(text, names[i].name) == 0) {
      *model = names[i].model;
      return TLG_OK;
    }
  }
  return TLG_EINVAL;
}

const char *tlg_lte_model_name(enum tlg_lte_model model)
{
  return model >= TLG_LTE_CELL && (size_t)model < N_NAMES ? names[model].name : "?";
}

static const unsigned widths[N_WIDTHS] = {6, 15, 25, 50, 75, 100};

/* What the control region carries, by width: its powers make symbol 0 as strong as if nothing in it were left empty. */
static const double pcfich_db[N_WIDTHS] = {3.222, 0.0, 0.0, 0.0, 0.0, 0.0};
static const double pdcch_db[N_WIDTHS] = {0.792, 2.290, 1.880, 1.065, 1.488, 1.195};
static const uint8_t pdcch_cces[N_WIDTHS] = {2, 2, 4, 10, 14, 20};
/* What the other blocks, the synchronisation signals and the PBCH gain so that all blocks together keep their power. */
static const double balance_db[2][N_WIDTHS] = {{3.005, 1.573, 2.426, 2.426, 3.005, 2.426},
                                               {2.427, 2.189, 2.580, 2.427, 2.477, 2.427}};
static const double listed_db[2] = {-3.0, -6.0};
static const uint8_t n_listed[2][N_WIDTHS] = {{4, 7, 15, 30, 50, 60}, {3, 7, 13, 25, 38, 50}};

/* E-TM3.2's blocks of 16QAM and E-TM3.3's of QPSK in ten subframes, bit b % 64 of word b / 64: 6, 15, 25, 50, 100
 * blocks.
 */
static const uint64_t listed[2][5][10][2] = {
    {{{0x3a, 0}, {0x2e, 0}, {0x1b, 0}, {0x2e, 0}, {0x2d, 0}, {0x17, 0}, {0x27, 0}, {0x35, 0}, {0x2e, 0}, {0x2b, 0}},
     {{0x380f, 0},
      {0x3c19, 0},
      {0x286d, 0},
      {0x14b3, 0},
      {0x261d, 0},
      {0x580f, 0},
      {0x6970, 0},
      {0x7264, 0},
      {0xb99, 0},
      {0x183e, 0}},
     {{0x1bf01db, 0},
      {0x116367f, 0},
      {0x198778f, 0},
      {0x176bd61, 0},
      {0x1c3f0d7, 0},
      {0x1e701df, 0},
      {0x160feba, 0},
      {0x13c659f, 0},
      {0x1d5bf12, 0},
      {0xa33e7e, 0}},
     {{0x1d59bd0338ffe, 0},
      {0x2593c3b74aef7, 0},
      {0x22645bf7e58fb, 0},
      {0xe7cd74c7d16f, 0},
      {0x3f6e292a7b7c9, 0},
      {0x335f4f018febd, 0},
      {0x181e9e1bf677b, 0},
      {0x12425df4f56ff, 0},
      {0x35e6df863cfa4, 0},
      {0x3a7e57f27aa4a, 0}},
     {{0xb7403697f6f1efd3, 0xed9b6b91c},
      {0x3eef829f5ffa26ea, 0x8aedbb81b},
      {0xda7a5fcb76eb8d4f, 0x8775293ab},
      {0xbe6b2bef9e3d6e0, 0xedcf33957},
      {0xd34f9d31056ad8fd, 0xfcafef2ce},
      {0xee207bcdfe60bb66, 0xbe07d6bb7},
      {0xe8b378f7be41772f, 0xe2e576fc1},
      {0x55b7fbeaec3c8dbb, 0x5705a07ef},
      {0xabfb7d1abba3aabc, 0xc6cfe7093},
      {0x3e63d87936e52dd9, 0x1dbdf717d}}},
    {{{0x2c, 0}, {0xe, 0}, {0xb, 0}, {0xe, 0}, {0x2c, 0}, {0x26, 0}, {0x25, 0}, {0x25, 0}, {0x26, 0}, {0x2a, 0}},
     {{0x380f, 0},
      {0x3c19, 0},
      {0x286d, 0},
      {0x14b3, 0},
      {0x261d, 0},
      {0x580f, 0},
      {0x6970, 0},
      {0x7264, 0},
      {0xb99, 0},
      {0x183e, 0}},
     {{0x1b701cb, 0},
      {0x1161677, 0},
      {0x198760f, 0},
      {0x136b561, 0},
      {0x1c3b0d5, 0},
      {0x16501df, 0},
      {0x1609eba, 0},
      {0x13c449f, 0},
      {0x95bf12, 0},
      {0x832e7e, 0}},
     {{0x1c59b90118fee, 0},
      {0x2513c2b748af6, 0},
      {0x20644bf7e5869, 0},
      {0xe7c554c5416f, 0},
      {0x3e62282a737c9, 0},
      {0x31434f018bebd, 0},
      {0x80e9e13f2773, 0},
      {0x12424c74f16fd, 0},
      {0x35e6dd861c3a0, 0},
      {0x3a7e579272a08, 0}},
     {{0x93403693f6d1e453, 0xed9b4b11c},
      {0x3aef801e4ff8268a, 0x8a6db381b},
      {0xd05a5fcb762b8d4e, 0x867529123},
      {0x3c2b2be79e1d6a0, 0xcdce33155},
      {0xd34a9d20056ac0fc, 0xbc2fe72ce},
      {0xea20698dbe603366, 0xbe07c6ab5},
      {0xc8b328f3ae40372f, 0xe2a566f81},
      {0x41a6db8aec3c8cbb, 0x5705805ef},
      {0x8bfa791aab01aa9c, 0xc6c7e6093},
      {0x3a63d83924e52dd1, 0x19a97517d}}}};

static int width_of(unsigned prb)
{
  int i;

  for (i = 0; i < N_WIDTHS; i++) {
    if (widths[i] == prb) {
      return i;
    }
  }
  return -1;
}

int lte_model_find(struct lte_model *m, enum tlg_lte_model model, unsigned prb)
{
  const int w = width_of(prb), second = model == TLG_LTE_ETM3_3;

  if (w < 0 || model <= TLG_LTE_CELL || model > TLG_LTE_ETM3_3) {
    return TLG_EINVAL;
  }
  *m = (struct lte_model){.pcfich_db = pcfich_db[w], .pdcch_db = pdcch_db[w], .n_pdcch_cce = pdcch_cces[w], .all = 1};
  switch (model) {
  case TLG_LTE_ETM1_1:
    m->bits[0] = 2;
    break;
  case TLG_LTE_ETM3_1:
    m->bits[0] = 6;
    break;
  case TLG_LTE_ETM3_1A:
    m->bits[0] = 8;
    break;
  default:
    m->all = 0;
    m->bits[0] = second ? 2 : 4;
    m->bits[1] = second ? 4 : 2;
    m->power_db[0] = listed_db[second];
    m->power_db[1] = balance_db[second][w];
    m->sync_db = prb == 6 ? 0.0 : balance_db[second][w];
  }
  return TLG_OK;
}

/* 75 blocks: the standard's number of them, away from synchronisation signals, chosen by this program: those with the
 * smallest random numbers. */
static int chosen(unsigned n, unsigned subframe, unsigned b)
{
  static const uint32_t purpose = 0x65746d37, key[2] = {0, 0};
  uint32_t mine = 0;
  unsigned i, below = 0;
  int pass;

  for (pass = 0; pass < 2; pass++) {
    for (i = 0; i < 75; i++) {
      const uint32_t counter[4] = {i, subframe, 0, purpose};
      uint32_t words[4];

      if ((subframe == 0 || subframe == 5) && i >= 34 && i <= 40) {
        continue; /* synchronisation signals and PBCH reach into these */
      }
      tlg_philox(counter, key, words);
      if (!pass && i == b) {
        mine = words[0];
      } else if (pass && (words[0] < mine || (words[0] == mine && i < b))) {
        below++;
      }
    }
  }
  return !((subframe == 0 || subframe == 5) && b >= 34 && b <= 40) && below < n;
}

int lte_model_listed(enum tlg_lte_model model, unsigned prb, unsigned subframe, unsigned b)
{
  const int second = model == TLG_LTE_ETM3_3, w = width_of(prb);

  if (prb == 75) {
    return chosen(n_listed[second][w], subframe, b);
  }
  return listed[second][w < 4 ? w : w - 1][subframe][b / 64] >> b % 64 & 1;
}
