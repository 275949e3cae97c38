/* SPDX-License-Identifier: Apache-2.0 */
/* LTE cells for the receiver's tests, made here symbol by symbol: resource elements, an inverse transform written as a
 * plain sum of powers of two, prefixes; then carrier offset, clock, noise and faults by their formulae. */
#ifndef LTE_WORLD_H
#define LTE_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tlg_dsp.h"
#include "tlg_lte.h"
#include "tlg_lte_rx.h"

struct world {
  unsigned prb, id, ports;
  unsigned sfn;       /* of the first frame */
  unsigned first;     /* subframe with which it begins, 0..9 */
  unsigned subframes; /* how many */
  unsigned fft;       /* points; 0 = usual */
  int no_mib;         /* random bits in the PBCH instead */
  int only_sync;      /* nothing but the synchronisation signals */
  uint32_t seed;
};

static inline uint32_t world_word(uint32_t seed, uint32_t what, uint64_t n)
{
  const uint32_t counter[4] = {(uint32_t)(n / 4), (uint32_t)(n / 4 >> 32), what, 0}, key[2] = {seed, 7};
  uint32_t out[4];

  tlg_philox(counter, key, out);
  return out[n % 4];
}

static inline double world_uniform(uint32_t seed, uint32_t what, uint64_t n)
{
  return (world_word(seed, what, n) + 0.5) / 4294967296.0;
}

/* Complex noise of mean power 1 (Box and Muller). */
static inline tlg_cf64 world_noise(uint32_t seed, uint64_t n)
{
  const double r = sqrt(-log(world_uniform(seed, 100, 2 * n))), a = 2 * M_PI * world_uniform(seed, 100, 2 * n + 1);

  return (tlg_cf64){r * cos(a), r * sin(a)};
}

static inline tlg_cf64 world_times(tlg_cf64 a, tlg_cf64 b)
{
  return (tlg_cf64){a.i * b.i - a.q * b.q, a.i * b.q + a.q * b.i};
}

/* x[n] = sum of X[k] exp(j 2 pi k n / N), N = 2^a or 3 * 2^a, recursively. */
static inline void world_inverse(const tlg_cf64 *in, size_t stride, tlg_cf64 *out, size_t n)
{
  const size_t radix = n % 2 == 0 ? 2 : n;
  const size_t m = n / radix;
  tlg_cf64 *part;
  size_t k, r;

  if (n == 1) {
    out[0] = in[0];
    return;
  }
  part = malloc(n * sizeof *part);
  for (r = 0; r < radix; r++) {
    world_inverse(in + r * stride, stride * radix, part + r * m, m);
  }
  for (k = 0; k < n; k++) {
    out[k] = (tlg_cf64){0, 0};
    for (r = 0; r < radix; r++) {
      const double a = 2 * M_PI * (double)((k * r) % n) / (double)n;
      const tlg_cf64 v = world_times(part[r * m + k % m], (tlg_cf64){cos(a), sin(a)});

      out[k].i += v.i;
      out[k].q += v.q;
    }
  }
  free(part);
}

static inline unsigned world_fft(const struct world *w)
{
  return w->fft ? w->fft : tlg_lte_fft_size(w->prb);
}

/* The elements of one subframe of a port. */
static inline void world_grid(const struct world *w, unsigned port, unsigned sfn, unsigned subframe, tlg_cf64 *grid)
{
  const unsigned sc = 12 * w->prb;
  tlg_cf64 d[62], values[2 * TLG_LTE_MAX_PRB], d_pbch[240], other[2][240];
  uint8_t bits[1920], mib[24], c[1920];
  uint32_t re[240];
  unsigned k, l, first, p;

  for (k = 0; k < 14 * sc; k++) {
    const uint32_t v = world_word(w->seed, 1 + port, ((uint64_t)sfn * 10 + subframe) * 14 * sc + k);

    grid[k].i = w->only_sync || port > 0 ? 0 : v & 1 ? M_SQRT1_2 : -M_SQRT1_2;
    grid[k].q = w->only_sync || port > 0 ? 0 : v & 2 ? M_SQRT1_2 : -M_SQRT1_2;
  }
  if (subframe == 0) {
    struct tlg_lte_mib m = {.prb = w->prb, .phich_resource = 2, .sfn = sfn};

    tlg_lte_mib_pack(&m, mib);
    tlg_lte_pbch_encode(mib, w->ports, bits);
    tlg_lte_gold(w->id, 0, c, 1920);
    for (k = 0; k < 480; k++) {
      const unsigned at = (sfn & 3) * 480 + k;

      bits[k] = w->no_mib ? world_word(w->seed, 50, (uint64_t)sfn * 480 + k) & 1 : bits[at] ^ c[at];
    }
    for (k = 0; k < 240; k++) {
      d_pbch[k].i = bits[2 * k] ? -M_SQRT1_2 : M_SQRT1_2;
      d_pbch[k].q = bits[2 * k + 1] ? -M_SQRT1_2 : M_SQRT1_2;
    }
    tlg_lte_pbch_res(w->id, w->prb, re);
    if (w->ports == 2) {
      tlg_lte_sfbc(d_pbch, 240, other[0], other[1]);
    }
    for (l = 7; l < 11; l++) { /* the middle is the PBCH's alone */
      for (k = sc / 2 - 36; k < sc / 2 + 36; k++) {
        grid[l * sc + k] = (tlg_cf64){0, 0};
      }
    }
    for (k = 0; k < 240 && !w->only_sync; k++) {
      grid[re[k]] = w->ports == 2 ? other[port][k] : d_pbch[k];
    }
  }
  for (p = 0; p < w->ports && !w->only_sync; p++) {
    for (l = 0; l < 14; l++) {
      const unsigned n = tlg_lte_crs(w->id, w->prb, p, subframe, l, &first, values);

      for (k = 0; k < n; k++) {
        grid[l * sc + first + 6 * k] = p == port ? values[k] : (tlg_cf64){0, 0};
      }
    }
  }
  if (subframe % 5 == 0) {
    int8_t s[62];

    tlg_lte_pss(w->id % 3, d);
    tlg_lte_sss(w->id, subframe, s);
    for (k = 0; k < 72; k++) {
      const int inside = k >= 5 && k < 67 && port == 0;

      grid[5 * sc + sc / 2 - 36 + k] = inside ? (tlg_cf64){s[k - 5], 0} : (tlg_cf64){0, 0};
      grid[6 * sc + sc / 2 - 36 + k] = inside ? d[k - 5] : (tlg_cf64){0, 0};
    }
  }
}

/* One subframe of a port in time: 15 * fft samples, an element of 1 has power 1. */
static inline void world_subframe(const struct world *w, unsigned port, unsigned sfn, unsigned subframe, tlg_cf64 *x)
{
  const unsigned sc = 12 * w->prb, n = world_fft(w);
  tlg_cf64 *grid = malloc(14 * (size_t)sc * sizeof *grid), *bins = malloc(n * sizeof *bins);
  tlg_cf64 *symbol = malloc(n * sizeof *symbol);
  unsigned l, k;

  world_grid(w, port, sfn, subframe, grid);
  for (l = 0; l < 14; l++) {
    const unsigned prefix = (l % 7 == 0 ? 160 : 144) * n / 2048;

    memset(bins, 0, n * sizeof *bins);
    for (k = 0; k < sc; k++) {
      bins[k < sc / 2 ? n - sc / 2 + k : k - sc / 2 + 1] = grid[l * sc + k];
    }
    world_inverse(bins, 1, symbol, n);
    memcpy(x, symbol + n - prefix, prefix * sizeof *x);
    memcpy(x + prefix, symbol, n * sizeof *x);
    x += prefix + n;
  }
  free(symbol);
  free(bins);
  free(grid);
}

/* The whole of it; a second port comes by another path: a quarter turn on and 3 dB weaker. */
static inline tlg_cf64 *world_make(const struct world *w, size_t *n)
{
  const size_t one = 15 * (size_t)world_fft(w);
  tlg_cf64 *x = calloc(w->subframes * one, sizeof *x), *y = malloc(one * sizeof *y);
  unsigned s, p;
  size_t k;

  for (s = 0; s < w->subframes; s++) {
    for (p = 0; p < w->ports; p++) {
      const tlg_cf64 path = p == 0 ? (tlg_cf64){1, 0} : (tlg_cf64){0, M_SQRT1_2};

      world_subframe(w, p, (w->sfn + (w->first + s) / 10) & 1023, (w->first + s) % 10, y);
      for (k = 0; k < one; k++) {
        const tlg_cf64 v = world_times(y[k], path);

        x[s * one + k].i += v.i;
        x[s * one + k].q += v.q;
      }
    }
  }
  free(y);
  *n = w->subframes * one;
  return x;
}

/* Values of x at positions from + k * step: a sinc of 48 samples under a Hann window, for signals that leave the
 * uppermost sixth of the band empty. */
static inline tlg_cf64 *world_resample(const tlg_cf64 *x, size_t n, double from, double step, size_t n_out)
{
  tlg_cf64 *y = calloc(n_out, sizeof *y);
  size_t k;
  int t;

  for (k = 0; k < n_out; k++) {
    const double at = from + (double)k * step, whole = floor(at), part = at - whole;
    const double s = sin(M_PI * part);

    if (part < 1e-12) {
      y[k] = whole >= 0 && whole < (double)n ? x[(size_t)whole] : (tlg_cf64){0, 0};
      continue;
    }
    for (t = -23; t <= 24; t++) {
      const double d = part - t, index = whole + t;

      if (index >= 0 && index < (double)n) {
        const double h = (t & 1 ? -s : s) / (M_PI * d) * (0.5 + 0.5 * cos(M_PI * d / 24.5));

        y[k].i += h * x[(size_t)index].i;
        y[k].q += h * x[(size_t)index].q;
      }
    }
  }
  return y;
}

static inline double world_power(const tlg_cf64 *x, size_t n)
{
  double sum = 0;
  size_t k;

  for (k = 0; k < n; k++) {
    sum += x[k].i * x[k].i + x[k].q * x[k].q;
  }
  return n ? sum / (double)n : 0;
}

/* To 16 bits: turned by cfo (cycles a sample), noise added so that the signal's power over all samples stands snr_db
 * above the noise's (INFINITY: none), the sum at level_dbfs. */
static inline tlg_cs16 *world_record(const tlg_cf64 *x, size_t n, double cfo, double snr_db, double level_dbfs,
                                     uint32_t seed)
{
  tlg_cs16 *out = malloc((n + 1) * sizeof *out);
  const double signal = world_power(x, n), noise = isinf(snr_db) ? 0 : signal * pow(10, -snr_db / 10);
  const double gain = 32768 * pow(10, level_dbfs / 20) / sqrt(signal + noise + 1e-30);
  size_t k;

  for (k = 0; k < n; k++) {
    const double a = 2 * M_PI * fmod(cfo * (double)k, 1);
    tlg_cf64 v = world_times(x[k], (tlg_cf64){cos(a), sin(a)});

    if (noise > 0) {
      const tlg_cf64 e = world_noise(seed, k);

      v.i += sqrt(noise) * e.i;
      v.q += sqrt(noise) * e.q;
    }
    v.i = floor(gain * v.i + 0.5);
    v.q = floor(gain * v.q + 0.5);
    out[k].i = (int16_t)(v.i > 32767 ? 32767 : v.i < -32768 ? -32768 : v.i);
    out[k].q = (int16_t)(v.q > 32767 ? 32767 : v.q < -32768 ? -32768 : v.q);
  }
  return out;
}

/* Search samples at a rate; the cells found. */
static inline size_t world_search(const tlg_cs16 *x, size_t n, const char *rate, struct tlg_lte_rx_cell *cells,
                                  struct tlg_lte_rx **keep)
{
  struct tlg_lte_rx_cfg cfg = {.prb = 0};
  struct tlg_lte_rx *rx;
  size_t found = 0;

  assert_int_equal(tlg_rate_parse(&cfg.rate, rate), 0);
  assert_int_equal(tlg_lte_rx_new(&rx, &cfg, NULL), 0);
  assert_int_equal(tlg_lte_rx_samples(rx, x, n), 0);
  assert_int_equal(tlg_lte_rx_search(rx, cells, TLG_LTE_RX_CELLS, &found), 0);
  if (keep) {
    *keep = rx;
  } else {
    tlg_lte_rx_free(rx);
  }
  return found;
}

#endif
