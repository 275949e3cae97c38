/* SPDX-License-Identifier: Apache-2.0 */
/* LTE's sequences (pseudo-random, synchronisation, reference signals), constellations and transmit diversity: exact or
 * by IEEE + - * / and square root in a fixed order. */
#include "tlg_lte.h"

#include "tlg_dsp.h"

#include <math.h>
#include <string.h>

#define ROOT_HALF 0.70710678118654752440

/* ---- pseudo-random bits: 28 at a time, as both registers have no tap above the fourth of their 31 ----------- */

struct gold {
  uint32_t x1, x2; /* bit i: x(n + i) */
};

static void gold_skip(struct gold *g, unsigned n) /* n <= 28 */
{
  const uint32_t new1 = (g->x1 >> 3) ^ g->x1, new2 = (g->x2 >> 3) ^ (g->x2 >> 2) ^ (g->x2 >> 1) ^ g->x2;
  const uint32_t mask = ((uint32_t)1 << n) - 1;

  g->x1 = (g->x1 >> n) | (new1 & mask) << (31 - n);
  g->x2 = (g->x2 >> n) | (new2 & mask) << (31 - n);
}

void tlg_lte_gold(uint32_t c_init, size_t first, uint8_t *c, size_t n)
{
  static const size_t start = 1600;
  struct gold g = {1, c_init & 0x7fffffff};
  size_t left = start + first, i;

  for (; left > 28; left -= 28) {
    gold_skip(&g, 28);
  }
  gold_skip(&g, (unsigned)left);
  while (n) {
    const size_t piece = n < 28 ? n : 28;
    const uint32_t word = g.x1 ^ g.x2;

    for (i = 0; i < piece; i++) {
      c[i] = word >> i & 1;
    }
    gold_skip(&g, 28);
    c += piece;
    n -= piece;
  }
}

/* ---- synchronisation --------------------------------------------------------------------------------------- */

void tlg_lte_pss(unsigned n_id_2, tlg_cf64 d[62])
{
  static const unsigned roots[3] = {25, 29, 34};
  unsigned n;

  for (n = 0; n < 62; n++) {
    const unsigned m = n < 31 ? n * (n + 1) : (n + 1) * (n + 2); /* the middle one of 63 would fall on DC */

    tlg_cos_sin(126 - roots[n_id_2 % 3] * m % 126, 126, &d[n].i, &d[n].q);
  }
}

/* The m-sequence x(i + 5) = sum of the x(i + j) with bit j of taps, as +1 and -1. */
static void m_sequence(unsigned taps, int8_t x[31])
{
  unsigned state = 16, i; /* x(0..3) = 0, x(4) = 1; bit j: x(i + j) */

  for (i = 0; i < 31; i++) {
    unsigned sum = state & taps;

    x[i] = state & 1 ? -1 : 1;
    sum ^= sum >> 4;
    sum ^= sum >> 2;
    sum ^= sum >> 1;
    state = state >> 1 | (sum & 1) << 4;
  }
}

void tlg_lte_sss(unsigned id, unsigned subframe, int8_t d[62])
{
  const unsigned n1 = id / 3 % 168, n2 = id % 3;
  const unsigned q1 = n1 / 30, q = (n1 + q1 * (q1 + 1) / 2) / 30, m = n1 + q * (q + 1) / 2;
  const unsigned m0 = m % 31, m1 = (m0 + m / 31 + 1) % 31;
  const unsigned even = subframe < 5 ? m0 : m1, odd = subframe < 5 ? m1 : m0;
  int8_t s[31], c[31], z[31];
  unsigned n;

  m_sequence(0x05, s);
  m_sequence(0x09, c);
  m_sequence(0x17, z);
  for (n = 0; n < 31; n++) {
    d[2 * n] = (int8_t)(s[(n + even) % 31] * c[(n + n2) % 31]);
    d[2 * n + 1] = (int8_t)(s[(n + odd) % 31] * c[(n + n2 + 3) % 31] * z[(n + even % 8) % 31]);
  }
}

/* ---- cell reference signals -------------------------------------------------------------------------------- */

unsigned tlg_lte_crs(unsigned id, unsigned prb, unsigned port, unsigned subframe, unsigned l, unsigned *first,
                     tlg_cf64 *values)
{
  static const unsigned max_prb = 110; /* the sequence is that of the widest band, seen through its middle */
  const unsigned slot = 2 * subframe + l / 7, in_slot = l % 7;
  uint8_t c[4 * TLG_LTE_MAX_PRB];
  unsigned v, i;

  if (port < 2 && (in_slot == 0 || in_slot == 4)) {
    v = (in_slot == 4) != (port == 1) ? 3 : 0;
  } else if ((port == 2 || port == 3) && in_slot == 1) {
    v = 3 * (slot % 2) + (port == 3 ? 3 : 0);
  } else {
    return 0;
  }
  if (!prb || prb > TLG_LTE_MAX_PRB) {
    return 0;
  }
  *first = (v + id % 6) % 6;
  tlg_lte_gold(1024 * (7 * (slot + 1) + in_slot + 1) * (2 * id + 1) + 2 * id + 1, 2 * (max_prb - prb), c, 4 * prb);
  for (i = 0; i < 2 * prb; i++) {
    values[i].i = c[2 * i] ? -ROOT_HALF : ROOT_HALF;
    values[i].q = c[2 * i + 1] ? -ROOT_HALF : ROOT_HALF;
  }
  return 2 * prb;
}

/* ---- constellations ---------------------------------------------------------------------------------------- */

/* Every second bit from b(first) on: the first is the sign, the others fold the rest about the middle. */
static int coordinate(unsigned index, unsigned bits, unsigned first)
{
  int value = 1, size = 2;
  unsigned i;

  for (i = bits - 2 + first; i > first; i -= 2) {
    value = size - (index >> (bits - 1 - i) & 1 ? -value : value);
    size *= 2;
  }
  return index >> (bits - 1 - first) & 1 ? -value : value;
}

int tlg_lte_constellation(unsigned bits, tlg_cf64 *points)
{
  const unsigned n = 1u << bits;
  unsigned i, sum = 0;

  if (!points || !(bits == 1 || bits == 2 || bits == 4 || bits == 6 || bits == 8)) {
    return TLG_EINVAL;
  }
  if (bits == 1) {
    points[0].i = points[0].q = ROOT_HALF;
    points[1].i = points[1].q = -ROOT_HALF;
    return TLG_OK;
  }
  for (i = 0; i < n; i++) {
    const int re = coordinate(i, bits, 0), im = coordinate(i, bits, 1);

    sum += (unsigned)(re * re + im * im);
    points[i].i = re;
    points[i].q = im;
  }
  for (i = 0; i < n; i++) {
    const double root = sqrt((double)sum / n);

    points[i].i /= root;
    points[i].q /= root;
  }
  return TLG_OK;
}

int tlg_lte_modulate(unsigned bits, const uint8_t *b, size_t n, tlg_cf64 *out)
{
  tlg_cf64 points[256];
  size_t i;
  unsigned j;

  if (!b || !out || tlg_lte_constellation(bits, points)) {
    return TLG_EINVAL;
  }
  for (i = 0; i < n; i++) {
    unsigned index = 0;

    for (j = 0; j < bits; j++) {
      index = index << 1 | *b++;
    }
    out[i] = points[index & 255];
  }
  return TLG_OK;
}

void tlg_lte_sfbc(const tlg_cf64 *d, size_t n, tlg_cf64 *out0, tlg_cf64 *out1)
{
  size_t i;

  for (i = 0; i + 1 < n; i += 2) {
    out0[i].i = d[i].i * ROOT_HALF;
    out0[i].q = d[i].q * ROOT_HALF;
    out0[i + 1].i = d[i + 1].i * ROOT_HALF;
    out0[i + 1].q = d[i + 1].q * ROOT_HALF;
    out1[i].i = -d[i + 1].i * ROOT_HALF;
    out1[i].q = d[i + 1].q * ROOT_HALF;
    out1[i + 1].i = d[i].i * ROOT_HALF;
    out1[i + 1].q = -d[i].q * ROOT_HALF;
  }
}
