/* SPDX-License-Identifier: Apache-2.0 */
/* LTE's codes: CRCs, the tail-biting and the turbo code, their rate matching, transport blocks, MIB and downlink
 * control information. Rate matching is given as index tables, which a receiver uses the other way round. */
#include "tlg_lte.h"

#include <stdlib.h>
#include <string.h>

void tlg_lte_put_bits(uint8_t *bits, uint32_t value, unsigned n)
{
  unsigned i;

  for (i = 0; i < n; i++) {
    bits[i] = value >> (n - 1 - i) & 1;
  }
}

uint32_t tlg_lte_get_bits(const uint8_t *bits, unsigned n)
{
  uint32_t value = 0;
  unsigned i;

  for (i = 0; i < n; i++) {
    value = value << 1 | bits[i];
  }
  return value;
}

/* ---- CRC --------------------------------------------------------------------------------------------------- */

static const struct {
  uint32_t polynomial;
  unsigned size;
} crcs[] = {{0x9b, 8}, {0x1021, 16}, {0x864cfb, 24}, {0x800063, 24}};

unsigned tlg_lte_crc_size(enum tlg_lte_crc kind)
{
  return crcs[kind].size;
}

uint32_t tlg_lte_crc(enum tlg_lte_crc kind, const uint8_t *bits, size_t n)
{
  const unsigned shift = 32 - crcs[kind].size; /* the remainder stands in the upper bits */
  const uint32_t polynomial = crcs[kind].polynomial << shift;
  uint32_t table[256], state = 0;
  size_t i = 0;
  unsigned b, j;

  if (n >= 1024) { /* long blocks byte by byte */
    for (b = 0; b < 256; b++) {
      uint32_t x = (uint32_t)b << 24;

      for (j = 0; j < 8; j++) {
        x = x << 1 ^ (x >> 31 ? polynomial : 0);
      }
      table[b] = x;
    }
    for (; i + 8 <= n; i += 8) {
      state = state << 8 ^ table[state >> 24 ^ tlg_lte_get_bits(bits + i, 8)];
    }
  }
  for (; i < n; i++) {
    state = state << 1 ^ ((state >> 31 ^ bits[i]) & 1 ? polynomial : 0);
  }
  return state >> shift;
}

/* ---- tail-biting convolutional code ------------------------------------------------------------------------ */

void tlg_lte_conv_encode(const uint8_t *bits, size_t n, uint8_t *d)
{
  static const unsigned taps[3] = {0133, 0171, 0165}; /* highest bit: the newest input */
  unsigned state = 0, j;
  size_t i;

  for (i = 0; i < 6 && n >= 6; i++) {
    state = state >> 1 | (unsigned)bits[n - 6 + i] << 6;
  }
  for (i = 0; i < n; i++) {
    state = state >> 1 | (unsigned)bits[i] << 6;
    for (j = 0; j < 3; j++) {
      unsigned x = state & taps[j];

      x ^= x >> 4;
      x ^= x >> 2;
      x ^= x >> 1;
      d[j * n + i] = x & 1;
    }
  }
}

enum { COLUMNS = 32, CONV_MAX = 4096 };

int tlg_lte_conv_match(size_t n, uint32_t *index, size_t n_e)
{
  static const uint8_t order[COLUMNS] = {1, 17, 9, 25, 5, 21, 13, 29, 3, 19, 11, 27, 7, 23, 15, 31,
                                         0, 16, 8, 24, 4, 20, 12, 28, 2, 18, 10, 26, 6, 22, 14, 30};
  size_t rows, dummies, out = 0, period, j, c, r;

  if (!n || n > CONV_MAX || !index) {
    return TLG_EINVAL;
  }
  rows = (n + COLUMNS - 1) / COLUMNS;
  dummies = rows * COLUMNS - n;
  for (j = 0; j < 3 && out < n_e; j++) {
    for (c = 0; c < COLUMNS; c++) {
      for (r = 0; r < rows; r++) {
        const size_t at = r * COLUMNS + order[c];

        if (at >= dummies && out < n_e) {
          index[out++] = (uint32_t)(j * n + at - dummies);
        }
      }
    }
  }
  for (period = 3 * n; out < n_e; out++) {
    index[out] = index[out - period];
  }
  return TLG_OK;
}

/* ---- turbo code -------------------------------------------------------------------------------------------- */

/* f1 and f2 of TS 36.212, table 5.1.3-3, for the sizes in rising order. */
static const uint16_t qpp_factors[188][2] = {
    {3, 10},    {7, 12},    {19, 42},   {7, 16},    {7, 18},    {11, 20},   {5, 22},    {11, 24},   {7, 26},
    {41, 84},   {103, 90},  {15, 32},   {9, 34},    {17, 108},  {9, 38},    {21, 120},  {101, 84},  {21, 44},
    {57, 46},   {23, 48},   {13, 50},   {27, 52},   {11, 36},   {27, 56},   {85, 58},   {29, 60},   {33, 62},
    {15, 32},   {17, 198},  {33, 68},   {103, 210}, {19, 36},   {19, 74},   {37, 76},   {19, 78},   {21, 120},
    {21, 82},   {115, 84},  {193, 86},  {21, 44},   {133, 90},  {81, 46},   {45, 94},   {23, 48},   {243, 98},
    {151, 40},  {155, 102}, {25, 52},   {51, 106},  {47, 72},   {91, 110},  {29, 168},  {29, 114},  {247, 58},
    {29, 118},  {89, 180},  {91, 122},  {157, 62},  {55, 84},   {31, 64},   {17, 66},   {35, 68},   {227, 420},
    {65, 96},   {19, 74},   {37, 76},   {41, 234},  {39, 80},   {185, 82},  {43, 252},  {21, 86},   {155, 44},
    {79, 120},  {139, 92},  {23, 94},   {217, 48},  {25, 98},   {17, 80},   {127, 102}, {25, 52},   {239, 106},
    {17, 48},   {137, 110}, {215, 112}, {29, 114},  {15, 58},   {147, 118}, {29, 60},   {59, 122},  {65, 124},
    {55, 84},   {31, 64},   {17, 66},   {171, 204}, {67, 140},  {35, 72},   {19, 74},   {39, 76},   {19, 78},
    {199, 240}, {21, 82},   {211, 252}, {21, 86},   {43, 88},   {149, 60},  {45, 92},   {49, 846},  {71, 48},
    {13, 28},   {17, 80},   {25, 102},  {183, 104}, {55, 954},  {127, 96},  {27, 110},  {29, 112},  {29, 114},
    {57, 116},  {45, 354},  {31, 120},  {59, 610},  {185, 124}, {113, 420}, {31, 64},   {17, 66},   {171, 136},
    {209, 420}, {253, 216}, {367, 444}, {265, 456}, {181, 468}, {39, 80},   {27, 164},  {127, 504}, {143, 172},
    {43, 88},   {29, 300},  {45, 92},   {157, 188}, {47, 96},   {13, 28},   {111, 240}, {443, 204}, {51, 104},
    {51, 212},  {451, 192}, {257, 220}, {57, 336},  {313, 228}, {271, 232}, {179, 236}, {331, 120}, {363, 244},
    {375, 248}, {127, 168}, {31, 64},   {33, 130},  {43, 264},  {33, 134},  {477, 408}, {35, 138},  {233, 280},
    {357, 142}, {337, 480}, {37, 146},  {71, 444},  {71, 120},  {37, 152},  {39, 462},  {127, 234}, {39, 158},
    {39, 80},   {31, 96},   {113, 902}, {41, 166},  {251, 336}, {43, 170},  {21, 86},   {43, 174},  {45, 176},
    {45, 178},  {161, 120}, {89, 182},  {323, 184}, {47, 186},  {23, 94},   {47, 190},  {263, 480}};

/* Sizes lie 8 apart up to 512, 16 up to 1024, 32 up to 2048, 64 up to 6144. */
static unsigned qpp_size(unsigned i)
{
  return i < 60 ? 40 + 8 * i : i < 92 ? 528 + 16 * (i - 60) : i < 124 ? 1056 + 32 * (i - 92) : 2112 + 64 * (i - 124);
}

unsigned tlg_lte_turbo_size(unsigned bits, unsigned *below)
{
  unsigned i = 0;

  while (i < 188 && qpp_size(i) < bits) {
    i++;
  }
  if (i == 188) {
    return 0;
  }
  if (below) {
    *below = i ? qpp_size(i - 1) : 0;
  }
  return qpp_size(i);
}

int tlg_lte_qpp(unsigned k, uint16_t *pi)
{
  unsigned i = 0, at = 0, step, twice, n;

  while (i < 188 && qpp_size(i) < k) {
    i++;
  }
  if (i == 188 || qpp_size(i) != k || !pi) {
    return TLG_EINVAL;
  }
  twice = 2 * qpp_factors[i][1] % k;
  step = (qpp_factors[i][0] + qpp_factors[i][1]) % k; /* f1 n + f2 n^2 by its differences */
  for (n = 0; n < k; n++) {
    pi[n] = (uint16_t)at;
    at += step;
    at -= at >= k ? k : 0;
    step += twice;
    step -= step >= k ? k : 0;
  }
  return TLG_OK;
}

enum { TURBO_MAX = 6144 };

/* One constituent encoder for up to 32 blocks at once, one in each bit of a word: parity of n inputs, then the three
 * steps that lead back to state zero, inputs and parities in turn. */
static void constituent(const uint32_t *in, const uint16_t *pi, unsigned n, uint32_t *parity, uint32_t tail[6])
{
  uint32_t a = 0, b = 0, c = 0; /* what the register took one, two, three steps ago */
  unsigned i;

  for (i = 0; i < n; i++) {
    const uint32_t x = in[pi ? pi[i] : i] ^ b ^ c;

    parity[i] = x ^ a ^ c;
    c = b;
    b = a;
    a = x;
  }
  for (i = 0; i < 3; i++) {
    tail[2 * i] = b ^ c;
    tail[2 * i + 1] = a ^ c;
    c = b;
    b = a;
    a = 0;
  }
}

/* d: k + 4 words of each stream, of which the first k already hold the input. */
static void turbo_encode(const uint16_t *pi, unsigned k, uint32_t *d)
{
  uint32_t *const d0 = d, *const d1 = d + k + 4, *const d2 = d + 2 * (k + 4);
  uint32_t tail[12];
  unsigned i;

  constituent(d0, NULL, k, d1, tail);
  constituent(d0, pi, k, d2, tail + 6);
  for (i = 0; i < 4; i++) { /* the twelve go to the three streams in turn */
    d0[k + i] = tail[3 * i];
    d1[k + i] = tail[3 * i + 1];
    d2[k + i] = tail[3 * i + 2];
  }
}

int tlg_lte_turbo_encode(const uint8_t *bits, unsigned k, uint8_t *d)
{
  uint16_t pi[TURBO_MAX];
  uint32_t words[3 * (TURBO_MAX + 4)];
  unsigned i;

  if (!bits || !d || tlg_lte_qpp(k, pi)) {
    return TLG_EINVAL;
  }
  for (i = 0; i < k; i++) {
    words[i] = bits[i];
  }
  turbo_encode(pi, k, words);
  for (i = 0; i < 3 * (k + 4); i++) {
    d[i] = (uint8_t)words[i];
  }
  return TLG_OK;
}

/* Where place at of the interleaved stream (0..2) comes from: d's index, or UINT32_MAX for a dummy or filler. */
static uint32_t turbo_place(unsigned stream, unsigned at, unsigned rows, unsigned n, unsigned fillers)
{
  static const uint8_t order[COLUMNS] = {0, 16, 8, 24, 4, 20, 12, 28, 2, 18, 10, 26, 6, 22, 14, 30,
                                         1, 17, 9, 25, 5, 21, 13, 29, 3, 19, 11, 27, 7, 23, 15, 31};
  const unsigned dummies = rows * COLUMNS - n;
  unsigned from = order[at / rows] + COLUMNS * (at % rows);

  if (stream == 2) {
    from = (from + 1) % (rows * COLUMNS);
  }
  if (from < dummies || (stream < 2 && from - dummies < fillers)) {
    return UINT32_MAX;
  }
  return stream * n + from - dummies;
}

int tlg_lte_turbo_match(unsigned k, unsigned fillers, unsigned rv, unsigned n_cb, uint32_t *index, size_t n_e)
{
  const unsigned n = k + 4, rows = (n + COLUMNS - 1) / COLUMNS, part = rows * COLUMNS;
  unsigned at;
  size_t out = 0, period = 0;

  n_cb = n_cb && n_cb < 3 * part ? n_cb : 3 * part;
  if (tlg_lte_turbo_size(k, NULL) != k || fillers >= k || rv > 3 || !index || n_cb <= 2 * rows) {
    return TLG_EINVAL;
  }
  at = rows * (2 * ((n_cb + 8 * rows - 1) / (8 * rows)) * rv + 2) % n_cb;
  for (; out < n_e && period < n_cb; period++) {
    const unsigned in_two = at - part;
    const uint32_t from =
        at < part ? turbo_place(0, at, rows, n, fillers) : turbo_place(1 + in_two % 2, in_two / 2, rows, n, fillers);

    if (from != UINT32_MAX) {
      index[out++] = from;
    }
    at = at + 1 == n_cb ? 0 : at + 1;
  }
  period = out; /* once round */
  if (!period && n_e) {
    return TLG_EINVAL;
  }
  for (; out < n_e; out++) {
    index[out] = index[out - period];
  }
  return TLG_OK;
}

/* ---- transport blocks -------------------------------------------------------------------------------------- */

enum { CRC_BITS = 24, BLOCK_MAX = 1 << 20 };

int tlg_lte_segment(unsigned n, struct tlg_lte_segments *s)
{
  struct tlg_lte_segments t = {0, 0, 0, 0, 0, 0};
  unsigned total = n + CRC_BITS, below = 0;

  if (!s || !n || n > BLOCK_MAX) {
    return TLG_EINVAL;
  }
  t.n = 1;
  if (total > TURBO_MAX) {
    t.n = (total + TURBO_MAX - CRC_BITS - 1) / (TURBO_MAX - CRC_BITS);
    total += CRC_BITS * t.n;
  }
  t.k_plus = tlg_lte_turbo_size((total + t.n - 1) / t.n, &below);
  t.n_plus = t.n;
  if (t.n > 1 && below) {
    t.k_minus = below;
    t.n_minus = (t.n * t.k_plus - total) / (t.k_plus - below);
    t.n_plus = t.n - t.n_minus;
  }
  t.fillers = t.n_plus * t.k_plus + t.n_minus * t.k_minus - total;
  *s = t;
  return TLG_OK;
}

size_t tlg_lte_block_share(size_t n_e, unsigned n_blocks, unsigned r, unsigned bits_a_symbol)
{
  const size_t symbols = n_e / bits_a_symbol;

  return bits_a_symbol * (symbols / n_blocks + (r >= n_blocks - symbols % n_blocks ? 1 : 0));
}

/* The blocks of one size: at most 32 are encoded together. */
struct group {
  unsigned k, first, n;
  uint16_t *pi;
  uint32_t *index; /* for the largest share */
};

struct tlg_lte_dlsch {
  struct tlg_lte_segments s;
  unsigned n, symbol_bits;
  size_t n_e;
  struct group groups[2];
  uint32_t *first_index; /* of block 0, if it has fillers */
  uint32_t *d;
  uint8_t *bits, *code; /* the block with its CRC; one code block */
};

void tlg_lte_dlsch_free(struct tlg_lte_dlsch *c)
{
  if (c) {
    free(c->groups[0].pi);
    free(c->groups[0].index);
    free(c->groups[1].pi);
    free(c->groups[1].index);
    free(c->first_index);
    free(c->d);
    free(c->bits);
    free(c->code);
    free(c);
  }
}

static int make_index(uint32_t **index, unsigned k, unsigned fillers, unsigned rv, size_t n)
{
  if (!(*index = malloc((n ? n : 1) * sizeof **index))) {
    return TLG_ENOMEM;
  }
  return tlg_lte_turbo_match(k, fillers, rv, 0, *index, n);
}

int tlg_lte_dlsch_new(struct tlg_lte_dlsch **result, unsigned n, unsigned bits_a_symbol, unsigned layers, unsigned rv,
                      size_t n_e)
{
  struct tlg_lte_dlsch *c;
  size_t share;
  unsigned g;
  int st = TLG_OK;

  if (!result) {
    return TLG_EINVAL;
  }
  *result = NULL;
  if (!bits_a_symbol || !layers || !n_e || n_e % (bits_a_symbol * layers) || rv > 3) {
    return TLG_EINVAL;
  }
  if (!(c = calloc(1, sizeof *c))) {
    return TLG_ENOMEM;
  }
  if (tlg_lte_segment(n, &c->s)) {
    free(c);
    return TLG_EINVAL;
  }
  c->n = n;
  c->n_e = n_e;
  c->symbol_bits = bits_a_symbol * layers;
  c->groups[0] = (struct group){.k = c->s.k_minus, .first = 0, .n = c->s.n_minus};
  c->groups[1] = (struct group){.k = c->s.k_plus, .first = c->s.n_minus, .n = c->s.n_plus};
  share = tlg_lte_block_share(n_e, c->s.n, c->s.n - 1, c->symbol_bits); /* the last ones are the largest */
  c->d = malloc(3 * (TURBO_MAX + 4) * sizeof *c->d);
  c->bits = malloc(n + CRC_BITS);
  c->code = malloc(TURBO_MAX);
  if (!c->d || !c->bits || !c->code) {
    st = TLG_ENOMEM;
  }
  for (g = 0; g < 2 && !st; g++) {
    struct group *const group = &c->groups[g];

    if (group->n) {
      group->pi = malloc(group->k * sizeof *group->pi);
      st = !group->pi ? TLG_ENOMEM : tlg_lte_qpp(group->k, group->pi);
      st = st ? st : make_index(&group->index, group->k, 0, rv, share);
    }
  }
  if (!st && c->s.fillers) {
    st = make_index(&c->first_index, c->s.n_minus ? c->s.k_minus : c->s.k_plus, c->s.fillers, rv, share);
  }
  if (st) {
    tlg_lte_dlsch_free(c);
    return st;
  }
  *result = c;
  return TLG_OK;
}

void tlg_lte_dlsch_run(struct tlg_lte_dlsch *c, const uint8_t *block, uint8_t *e)
{
  unsigned used = 0, g;

  memcpy(c->bits, block, c->n);
  tlg_lte_put_bits(c->bits + c->n, tlg_lte_crc(TLG_LTE_CRC24A, block, c->n), CRC_BITS);
  for (g = 0; g < 2; g++) {
    const struct group *const group = &c->groups[g];
    const unsigned k = group->k;
    unsigned done, b;

    for (done = 0; done < group->n; done += 32) {
      const unsigned together = group->n - done < 32 ? group->n - done : 32;

      memset(c->d, 0, k * sizeof *c->d);
      for (b = 0; b < together; b++) {
        const unsigned fillers = group->first + done + b ? 0 : c->s.fillers;
        const unsigned payload = k - fillers - (c->s.n > 1 ? CRC_BITS : 0);
        unsigned i;

        memset(c->code, 0, fillers);
        memcpy(c->code + fillers, c->bits + used, payload);
        used += payload;
        if (c->s.n > 1) {
          tlg_lte_put_bits(c->code + k - CRC_BITS, tlg_lte_crc(TLG_LTE_CRC24B, c->code, k - CRC_BITS), CRC_BITS);
        }
        for (i = 0; i < k; i++) {
          c->d[i] |= (uint32_t)c->code[i] << b;
        }
      }
      turbo_encode(group->pi, k, c->d);
      for (b = 0; b < together; b++) {
        const unsigned r = group->first + done + b;
        const size_t share = tlg_lte_block_share(c->n_e, c->s.n, r, c->symbol_bits);
        const uint32_t *const index = r == 0 && c->s.fillers ? c->first_index : group->index;
        size_t i;

        for (i = 0; i < share; i++) {
          e[i] = c->d[index[i]] >> b & 1;
        }
        e += share;
      }
    }
  }
}

int tlg_lte_dlsch_encode(const uint8_t *block, unsigned n, unsigned bits_a_symbol, unsigned layers, unsigned rv,
                         uint8_t *e, size_t n_e)
{
  struct tlg_lte_dlsch *c;
  int st;

  if (!block || !e) {
    return TLG_EINVAL;
  }
  st = tlg_lte_dlsch_new(&c, n, bits_a_symbol, layers, rv, n_e);
  if (!st) {
    tlg_lte_dlsch_run(c, block, e);
    tlg_lte_dlsch_free(c);
  }
  return st;
}

static const uint32_t block_sizes[34][6] = {
    {152, 392, 680, 1384, 2088, 2792},         {208, 520, 904, 1800, 2728, 3624},
    {256, 648, 1096, 2216, 3368, 4584},        {328, 872, 1416, 2856, 4392, 5736},
    {408, 1064, 1800, 3624, 5352, 7224},       {504, 1320, 2216, 4392, 6712, 8760},
    {600, 1544, 2600, 5160, 7736, 10296},      {712, 1800, 3112, 6200, 9144, 12216},
    {808, 2088, 3496, 6968, 10680, 14112},     {936, 2344, 4008, 7992, 11832, 15840},
    {1032, 2664, 4392, 8760, 12960, 17568},    {1192, 2984, 4968, 9912, 15264, 19848},
    {1352, 3368, 5736, 11448, 16992, 22920},   {1544, 3880, 6456, 12960, 19080, 25456},
    {1736, 4264, 7224, 14112, 21384, 28336},   {1800, 4584, 7736, 15264, 22920, 30576},
    {1928, 4968, 7992, 16416, 24496, 32856},   {2152, 5352, 9144, 18336, 27376, 36696},
    {2344, 5992, 9912, 19848, 29296, 39232},   {2600, 6456, 10680, 21384, 32856, 43816},
    {2792, 6968, 11448, 22920, 35160, 46888},  {2984, 7480, 12576, 25456, 37888, 51024},
    {3240, 7992, 13536, 27376, 40576, 55056},  {3496, 8504, 14112, 28336, 43816, 57336},
    {3624, 9144, 15264, 30576, 45352, 61664},  {3752, 9528, 15840, 31704, 46888, 63776},
    {4392, 11064, 18336, 36696, 55056, 75376}, {4008, 9912, 16416, 32856, 48936, 66592},
    {4264, 10680, 17568, 35160, 52752, 71112}, {4392, 11064, 18336, 36696, 55056, 73712},
    {4776, 11832, 19848, 39232, 59256, 78704}, {4968, 12216, 20616, 40576, 61664, 81176},
    {5160, 12960, 21384, 42368, 63776, 84760}, {5992, 14688, 24496, 48936, 75376, 97896},
};

unsigned tlg_lte_tbs(unsigned i_tbs, unsigned prb)
{
  static const unsigned widths[6] = {6, 15, 25, 50, 75, 100};
  unsigned i;

  for (i = 0; i < 6 && i_tbs < 34; i++) {
    if (widths[i] == prb) {
      return block_sizes[i_tbs][i];
    }
  }
  return 0;
}

int tlg_lte_mcs(unsigned mcs, int table_256, unsigned *bits_a_symbol, unsigned *i_tbs)
{
  static const uint8_t with_256[28] = {0,  2,  4,  6,  8,  10, 11, 12, 13, 14, 15, 16, 17, 18,
                                       19, 20, 21, 22, 23, 24, 25, 27, 28, 29, 30, 31, 32, 33};

  if (mcs > (table_256 ? 27 : 28) || !bits_a_symbol || !i_tbs) {
    return TLG_EINVAL;
  }
  if (table_256) {
    *bits_a_symbol = mcs < 5 ? 2 : mcs < 11 ? 4 : mcs < 20 ? 6 : 8;
    *i_tbs = with_256[mcs];
  } else { /* where the modulation changes, an index stands twice */
    *bits_a_symbol = mcs < 10 ? 2 : mcs < 17 ? 4 : 6;
    *i_tbs = mcs < 10 ? mcs : mcs < 17 ? mcs - 1 : mcs - 2;
  }
  return TLG_OK;
}

/* ---- MIB and PBCH ------------------------------------------------------------------------------------------ */

static const unsigned mib_prb[6] = {6, 15, 25, 50, 75, 100};

void tlg_lte_mib_pack(const struct tlg_lte_mib *mib, uint8_t bits[24])
{
  unsigned i = 0;

  while (i < 5 && mib_prb[i] != mib->prb) {
    i++;
  }
  tlg_lte_put_bits(bits, i, 3);
  bits[3] = mib->phich_extended & 1;
  tlg_lte_put_bits(bits + 4, mib->phich_resource & 3, 2);
  tlg_lte_put_bits(bits + 6, mib->sfn >> 2 & 255, 8);
  tlg_lte_put_bits(bits + 14, mib->spare & 1023, 10);
}

int tlg_lte_mib_unpack(struct tlg_lte_mib *mib, const uint8_t bits[24])
{
  const unsigned i = tlg_lte_get_bits(bits, 3);

  if (i > 5) {
    return TLG_EFORMAT;
  }
  mib->prb = mib_prb[i];
  mib->phich_extended = bits[3];
  mib->phich_resource = tlg_lte_get_bits(bits + 4, 2);
  mib->sfn = tlg_lte_get_bits(bits + 6, 8) << 2;
  mib->spare = tlg_lte_get_bits(bits + 14, 10);
  return TLG_OK;
}

uint32_t tlg_lte_pbch_mask(unsigned ports)
{
  return ports == 4 ? 0x5555 : ports == 2 ? 0xffff : 0;
}

/* Tail biting and rate matching of a short block with its CRC16 behind it, masked. */
static int encode_short(const uint8_t *bits, size_t n, uint32_t mask, uint8_t *e, size_t n_e)
{
  uint8_t with_crc[128], d[3 * 128];
  uint32_t index[3 * 128];
  size_t i;

  if (n < 1 || n + 16 > 128) {
    return TLG_EINVAL;
  }
  memcpy(with_crc, bits, n);
  tlg_lte_put_bits(with_crc + n, tlg_lte_crc(TLG_LTE_CRC16, bits, n) ^ mask, 16);
  n += 16;
  tlg_lte_conv_encode(with_crc, n, d);
  if (tlg_lte_conv_match(n, index, 3 * n)) {
    return TLG_EINVAL;
  }
  for (i = 0; i < n_e; i++) {
    e[i] = d[index[i % (3 * n)]];
  }
  return TLG_OK;
}

void tlg_lte_pbch_encode(const uint8_t mib[24], unsigned ports, uint8_t bits[1920])
{
  (void)encode_short(mib, 24, tlg_lte_pbch_mask(ports), bits, TLG_LTE_PBCH_BITS);
}

/* ---- control channels -------------------------------------------------------------------------------------- */

void tlg_lte_cfi_bits(unsigned cfi, uint8_t bits[32])
{
  unsigned i;

  for (i = 0; i < 32; i++) { /* a simplex code of period three */
    bits[i] = cfi >= 1 && cfi <= 3 && (i + 3 - cfi) % 3 != 2 ? 1 : 0;
  }
}

uint32_t tlg_lte_pcfich_init(unsigned id, unsigned subframe)
{
  return (subframe + 1) * (2 * id + 1) * 512 + id;
}

uint32_t tlg_lte_pdcch_init(unsigned id, unsigned subframe)
{
  return subframe * 512 + id;
}

uint32_t tlg_lte_pdsch_init(unsigned id, unsigned subframe, unsigned rnti, unsigned codeword)
{
  return rnti * 16384 + codeword * 8192 + subframe * 512 + id;
}

int tlg_lte_dci_encode(const uint8_t *bits, size_t n, unsigned rnti, uint8_t *e, size_t n_e)
{
  if (!bits || !e || n > 100 || rnti > 0xffff) {
    return TLG_EINVAL;
  }
  return encode_short(bits, n, rnti, e, n_e);
}

/* Lengths that would be taken for others: TS 36.212, table 5.3.3.1.2-1. */
static int is_ambiguous(unsigned n)
{
  return n == 12 || n == 14 || n == 16 || n == 20 || n == 24 || n == 26 || n == 32 || n == 40 || n == 44 || n == 56;
}

/* Bits of a resource indication value: ceil(log2(prb (prb + 1) / 2)). */
static unsigned riv_bits(unsigned prb)
{
  unsigned n = 0;

  while (1u << n < prb * (prb + 1) / 2) {
    n++;
  }
  return n;
}

static unsigned size_1a(unsigned prb)
{
  const unsigned n = riv_bits(prb) + 15;

  return n + (is_ambiguous(n) ? 1 : 0);
}

/* MCS, HARQ process, new data, redundancy version, power control. */
static unsigned put_common(uint8_t *bits, unsigned mcs, unsigned harq, unsigned ndi, unsigned rv)
{
  tlg_lte_put_bits(bits, mcs, 5);
  tlg_lte_put_bits(bits + 5, harq, 3);
  bits[8] = ndi & 1;
  tlg_lte_put_bits(bits + 9, rv, 2);
  tlg_lte_put_bits(bits + 11, 1, 2); /* 0 dB */
  return 13;
}

unsigned tlg_lte_dci_1(unsigned prb, unsigned mcs, unsigned harq, unsigned ndi, unsigned rv, uint8_t *bits)
{
  const unsigned group = prb <= 10 ? 1 : prb <= 26 ? 2 : prb <= 63 ? 3 : 4, n_groups = (prb + group - 1) / group;
  unsigned n = 0;

  if (prb > 10) {
    bits[n++] = 0; /* allocation type 0 */
  }
  memset(bits + n, 1, n_groups);
  n += n_groups;
  n += put_common(bits + n, mcs, harq, ndi, rv);
  while (n == size_1a(prb) || is_ambiguous(n)) {
    bits[n++] = 0;
  }
  return n;
}

unsigned tlg_lte_dci_1a(unsigned prb, unsigned mcs, unsigned harq, unsigned ndi, unsigned rv, uint8_t *bits)
{
  const unsigned n_riv = riv_bits(prb),
                 riv = 2 * prb - 1; /* all blocks from 0 on: prb (prb - L + 1) + prb - 1, L = prb */
  unsigned n = 0;

  bits[n++] = 1; /* format 1A, not 0 */
  bits[n++] = 0; /* localized */
  tlg_lte_put_bits(bits + n, riv, n_riv);
  n += n_riv;
  n += put_common(bits + n, mcs, harq, ndi, rv);
  while (n < size_1a(prb)) {
    bits[n++] = 0;
  }
  return n;
}

int tlg_lte_search_space(unsigned n_cce, unsigned level, unsigned rnti, unsigned subframe, unsigned m)
{
  uint32_t y = rnti;
  unsigned i;

  if (!level || n_cce / level == 0) {
    return TLG_EINVAL;
  }
  for (i = 0; i <= subframe; i++) {
    y = y * 39827 % 65537; /* below 2^32: y <= 65536 */
  }
  return (int)(level * ((y + m) % (n_cce / level)));
}
