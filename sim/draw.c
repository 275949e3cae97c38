/* SPDX-License-Identifier: Apache-2.0 */
/* Philox draws through integer inverse distribution functions: the same picoseconds on every machine. */
#include "draw.h"
#include "tlg_dsp.h"

#include <string.h>

typedef unsigned __int128 u128;

enum { LOG_ENTRIES = 1 << DRAW_LOG_BITS };

/* ln(1 + i/4096) * 2^40, by 2 artanh(z / (2 + z)) in IEEE + - * / alone. */
static uint64_t log_table[LOG_ENTRIES + 1];
static int log_ready;

static const uint64_t ln2_q40 = 762123384786; /* ln 2 * 2^40, rounded */

static void log_fill(void)
{
  int i, k;

  for (i = 0; i <= LOG_ENTRIES; i++) {
    const double z = (double)i / LOG_ENTRIES, t = z / (2.0 + z), s = t * t;
    double sum = 0;

    for (k = 20; k >= 0; k--) {
      sum = sum * s + 1.0 / (2 * k + 1);
    }
    log_table[i] = (uint64_t)(2.0 * t * sum * 1099511627776.0 + 0.5);
  }
  log_ready = 1;
}

static inline uint64_t log_of(uint32_t w)
{
  const uint64_t x = 2 * (uint64_t)w + 1;
  const unsigned shift = (unsigned)__builtin_clzll(x);
  const uint64_t m = (x << shift) << 1; /* the fraction of the mantissa, 64 bits */
  const uint64_t i = m >> (64 - DRAW_LOG_BITS), f = (m << DRAW_LOG_BITS) >> 32;
  const uint64_t low = log_table[i], high = log_table[i + 1];

  /* x = 2^(63 - shift) * mantissa, and the draw is x / 2^33. */
  return (shift - 30) * ln2_q40 - (low + ((high - low) * f >> 32));
}

uint64_t tlg_draw_log(uint32_t w)
{
  if (!log_ready) {
    log_fill();
  }
  return log_of(w);
}

void tlg_draw_init(struct draw *d, const struct tlg_dist *dist, uint64_t seed, uint32_t entity, uint32_t purpose)
{
  unsigned i;

  if (!log_ready) {
    log_fill(); /* every call writes the same values */
  }
  memset(d, 0, sizeof *d);
  d->kind = dist->kind;
  d->base = dist->low_ps;
  d->span = dist->kind == TLG_DIST_UNIFORM ? dist->high_ps - dist->low_ps : 0;
  d->n = dist->n_points;
  for (i = 0; i < d->n; i++) {
    d->x[i] = (uint64_t)(((u128)dist->points[i].below_ppb << 33) / 1000000000u);
    d->v[i] = dist->points[i].value_ps;
  }
  for (i = 0; i + 1 < d->n; i++) {
    const uint64_t width = d->x[i + 1] - d->x[i];

    d->slope[i] = width ? (int64_t)(((u128)(d->v[i + 1] - d->v[i]) << 20) / width) : 0;
  }
  d->mean_ps = tlg_dist_mean(dist);
  d->key[0] = (uint32_t)seed;
  d->key[1] = (uint32_t)(seed >> 32);
  d->entity = entity;
  d->purpose = purpose;
  d->block = UINT64_MAX;
}

static uint64_t from_table(const struct draw *d, uint64_t x)
{
  unsigned low = 0, high = d->n - 1;

  while (high - low > 1) { /* the last point whose probability is not above x */
    const unsigned mid = (low + high) / 2;

    if (d->x[mid] <= x) {
      low = mid;
    } else {
      high = mid;
    }
  }
  return d->v[low] + (uint64_t)(((u128)(uint64_t)d->slope[low] * (x - d->x[low])) >> 20);
}

enum { LANES = DRAW_AHEAD / 4 };

/* Philox4x32-10 of LANES consecutive counters, side by side so that the multiplications overlap. words[i] is word i of
 * the stream: word i % 4 of counter i / 4. */
static void philox_lanes(const struct draw *d, uint64_t first, uint32_t *words)
{
  uint32_t c0[LANES], c1[LANES], c2[LANES], c3[LANES];
  uint32_t k0 = d->key[0], k1 = d->key[1];
  int round, i;

  for (i = 0; i < LANES; i++) {
    c0[i] = (uint32_t)(first + (unsigned)i);
    c1[i] = (uint32_t)((first + (unsigned)i) >> 32);
    c2[i] = d->entity;
    c3[i] = d->purpose;
  }
  for (round = 0; round < 10; round++) {
    for (i = 0; i < LANES; i++) {
      const uint64_t p0 = (uint64_t)0xD2511F53u * c0[i], p1 = (uint64_t)0xCD9E8D57u * c2[i];

      c0[i] = (uint32_t)(p1 >> 32) ^ c1[i] ^ k0;
      c1[i] = (uint32_t)p1;
      c2[i] = (uint32_t)(p0 >> 32) ^ c3[i] ^ k1;
      c3[i] = (uint32_t)p0;
    }
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  for (i = 0; i < LANES; i++) {
    words[4 * i] = c0[i];
    words[4 * i + 1] = c1[i];
    words[4 * i + 2] = c2[i];
    words[4 * i + 3] = c3[i];
  }
}

void tlg_draw_fill(struct draw *d, uint64_t block)
{
  uint32_t words[DRAW_AHEAD];
  int i;

  d->block = block;
  if (d->kind == TLG_DIST_CONSTANT) {
    for (i = 0; i < DRAW_AHEAD; i++) {
      d->values[i] = d->base;
    }
    return;
  }
  philox_lanes(d, block * LANES, words);
  for (i = 0; i < DRAW_AHEAD; i++) {
    const uint32_t w = words[i];

    switch (d->kind) {
    case TLG_DIST_UNIFORM:
      d->values[i] = d->base + (uint64_t)(((u128)d->span * (2 * (uint64_t)w + 1)) >> 33);
      break;
    case TLG_DIST_EXPONENTIAL:
      d->values[i] = (uint64_t)(((u128)d->base * log_of(w)) >> 40);
      break;
    default:
      d->values[i] = from_table(d, 2 * (uint64_t)w + 1);
      break;
    }
  }
}

uint64_t tlg_dist_mean(const struct tlg_dist *dist)
{
  u128 sum = 0;
  unsigned i;

  switch (dist->kind) {
  case TLG_DIST_UNIFORM:
    return dist->low_ps + (dist->high_ps - dist->low_ps) / 2;
  case TLG_DIST_TABLE:
    for (i = 0; i + 1 < dist->n_points; i++) {
      sum += (u128)(dist->points[i + 1].below_ppb - dist->points[i].below_ppb) *
             (dist->points[i + 1].value_ps + dist->points[i].value_ps);
    }
    return (uint64_t)(sum / 2000000000u);
  default:
    return dist->low_ps;
  }
}

int tlg_dist_check(const struct tlg_dist *dist, struct tlg_error *err)
{
  static const uint64_t most = 3600ull * 1000000000000ull;
  unsigned i;

  if (dist->kind == TLG_DIST_TABLE) {
    if (dist->n_points < 2 || dist->n_points > TLG_DIST_POINTS) {
      return tlg_error_set(err, TLG_EFORMAT, "a table has 2 to %d points, not %u", TLG_DIST_POINTS, dist->n_points);
    }
    if (dist->points[0].below_ppb != 0 || dist->points[dist->n_points - 1].below_ppb != 1000000000u) {
      return tlg_error_set(err, TLG_EFORMAT, "a table begins at probability 0 and ends at 1, its explicit tail");
    }
    for (i = 0; i < dist->n_points; i++) {
      if (dist->points[i].value_ps > most) {
        return tlg_error_set(err, TLG_EFORMAT, "a delay above one hour");
      }
      if (i && (dist->points[i].below_ppb < dist->points[i - 1].below_ppb ||
                dist->points[i].value_ps < dist->points[i - 1].value_ps)) {
        return tlg_error_set(err, TLG_EFORMAT, "the points of a table must rise; point %u falls", i + 1);
      }
    }
  } else if (dist->low_ps > most || dist->high_ps > most) {
    return tlg_error_set(err, TLG_EFORMAT, "a delay above one hour");
  } else if (dist->kind == TLG_DIST_UNIFORM && dist->high_ps < dist->low_ps) {
    return tlg_error_set(err, TLG_EFORMAT, "the upper end of a uniform distribution is below its lower end");
  }
  return TLG_OK;
}
