/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the comparison share: signals, a plain resampler with ways to break it, one comparison. */
#ifndef SPECTRAL_WORLD_H
#define SPECTRAL_WORLD_H

#include "tlg_spectra.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- signals --------------------------------------------------------------------------------------------------- */

static inline double gauss(uint64_t n, uint32_t key)
{
  double sum = -6;
  int i;

  for (i = 0; i < 3; i++) {
    const uint32_t counter[4] = {(uint32_t)n, (uint32_t)(n >> 32), (uint32_t)i, 0}, k[2] = {key, 7};
    uint32_t out[4];
    int w;

    tlg_philox(counter, k, out);
    for (w = 0; w < 4; w++) {
      sum += (out[w] + 0.5) / 4294967296.0;
    }
  }
  return sum;
}

static int16_t sat(double v)
{
  const double r = floor(v + 0.5);

  return (int16_t)(r > 32767 ? 32767 : r < -32768 ? -32768 : r);
}

/* Noise through a low-pass of 257 taps under a Blackman-Harris window: its spectrum falls from `pass` to below -90 dB
 * within 4 * rate / 257 (0.4 MHz at 25 Msps). pass is a fraction of the rate. */
static tlg_cs16 *confined_noise(size_t n, double pass, double dbfs)
{
  enum { TAPS = 257 };
  double h[TAPS], sum2 = 0, scale, *i = malloc((n + TAPS) * sizeof *i), *q = malloc((n + TAPS) * sizeof *q);
  tlg_cs16 *x = malloc(n * sizeof *x);
  size_t k;
  int t;

  for (t = 0; t < TAPS; t++) {
    const double d = t - TAPS / 2;

    h[t] = (d == 0 ? 2 * pass : sin(2 * M_PI * pass * d) / (M_PI * d)) *
           tlg_window_at(TLG_WINDOW_BLACKMAN_HARRIS, (t + 1.0) / (TAPS + 1));
    sum2 += h[t] * h[t];
  }
  scale = 32768 * pow(10, dbfs / 20) / sqrt(2 * sum2);
  for (k = 0; k < n + TAPS; k++) {
    i[k] = scale * gauss(k, 1);
    q[k] = scale * gauss(k, 2);
  }
  for (k = 0; k < n; k++) {
    double a = 0, b = 0;

    for (t = 0; t < TAPS; t++) {
      a += h[t] * i[k + t];
      b += h[t] * q[k + t];
    }
    x[k].i = sat(a);
    x[k].q = sat(b);
  }
  free(q);
  free(i);
  return x;
}

/* Tones of given frequencies (in units of rate / period) and equal amplitude, periodic in `period` samples. */
static tlg_cs16 *tones(size_t n, size_t period, const int64_t *f, size_t n_f, double amplitude)
{
  tlg_cs16 *x = malloc(n * sizeof *x);
  size_t k, t;

  for (k = 0; k < period; k++) {
    double i = 0, q = 0;

    for (t = 0; t < n_f; t++) {
      double co, si;

      /* phases of a square law keep the crest low */
      tlg_cos_sin((uint64_t)((f[t] + (int64_t)period)) * k + (t * t * period / 2) / n_f, period, &co, &si);
      i += amplitude * co;
      q += amplitude * si;
    }
    x[k].i = sat(i);
    x[k].q = sat(q);
  }
  for (; k < n; k++) {
    x[k] = x[k - period];
  }
  return x;
}

/* ---- a plain resampler, and the ways to break it ---------------------------------------------------------------- */

struct broken {
  size_t forget;           /* history is zero at the borders of packets of so many inputs */
  unsigned swap_a, swap_b; /* these two phases exchanged */
  int linear;
  int wrap;    /* overflow wraps */
  double gain; /* 0 = 1 */
  double dc;
};

static inline size_t resample(tlg_cs16 *y, const tlg_cs16 *x, size_t n, uint32_t up, uint32_t down,
                              const struct tlg_taps *taps, uint64_t q0, size_t n_out, const struct broken *b)
{
  const size_t per_phase = (taps->n + up - 1) / up;
  size_t m, k;

  for (m = 0; m < n_out; m++) {
    const uint64_t at = (uint64_t)m * down + q0;
    uint32_t p = (uint32_t)(at % up);
    const size_t newest = (size_t)(at / up);
    double i = 0, q = 0;

    if (b->linear) {
      const double frac = (double)p / up;
      const tlg_cs16 zero = {0, 0}, a = newest < n ? x[newest] : zero, c = newest + 1 < n ? x[newest + 1] : zero;

      i = a.i + frac * (c.i - a.i);
      q = a.q + frac * (c.q - a.q);
    } else {
      if (b->swap_a != b->swap_b) {
        p = p == b->swap_a ? b->swap_b : p == b->swap_b ? b->swap_a : p;
      }
      for (k = 0; k < per_phase && k <= newest; k++) {
        if (b->forget && (newest - k) / b->forget != newest / b->forget) {
          break;
        }
        if (p + k * up < taps->n && newest - k < n) {
          i += (double)taps->h[p + k * up] * x[newest - k].i;
          q += (double)taps->h[p + k * up] * x[newest - k].q;
        }
      }
      i /= 1 << taps->shift;
      q /= 1 << taps->shift;
    }
    i = i * (b->gain != 0 ? b->gain : 1) + b->dc;
    q = q * (b->gain != 0 ? b->gain : 1) + b->dc;
    y[m].i = b->wrap ? (int16_t)(uint16_t)(int32_t)floor(i + 0.5) : sat(i);
    y[m].q = b->wrap ? (int16_t)(uint16_t)(int32_t)floor(q + 0.5) : sat(q);
  }
  return n_out;
}

/* ---- one comparison ---------------------------------------------------------------------------------------------- */

struct job {
  struct tlg_check *c;
  const struct tlg_check_result *r;
  struct tlg_error err;
  int status;
};

static inline void run_check(struct job *j, const struct tlg_check_cfg *cfg, const tlg_cs16 *x, size_t n,
                             const tlg_cs16 *y, size_t n_y)
{
  size_t a = 0, b = 0, turn = 0;

  memset(j, 0, sizeof *j);
  assert_int_equal(tlg_check_new(&j->c, cfg, &j->err), 0);
  while (a < n || b < n_y) {
    size_t want = tlg_check_want_in(j->c), piece = turn++ * 977 % 5003 + 1;

    want = want < piece ? want : piece;
    want = want < n - a ? want : n - a;
    assert_int_equal(tlg_check_push_in(j->c, x + a, want), 0);
    a += want;
    if (a == n) {
      tlg_check_end_in(j->c);
    }
    want = tlg_check_want_out(j->c);
    want = want < 2 * piece ? want : 2 * piece;
    want = want < n_y - b ? want : n_y - b;
    assert_int_equal(tlg_check_push_out(j->c, y + b, want), 0);
    b += want;
    if (b == n_y) {
      tlg_check_end_out(j->c);
    }
  }
  j->status = tlg_check_finish(j->c, &j->r, &j->err);
  if (getenv("VERBOSE") && j->r) {
    size_t k;

    printf(
        "  snr %.2f (%.2f) worst %.2f ripple %.4f image %.1f at %.4f of %.4f total %.1f oob %.1f gain %.4f bad %d/%d\n",
        j->r->snr_db, j->r->snr_limit_db, j->r->worst_snr_db, j->r->ripple_db, j->r->image_dbc, j->r->image_hz / 1e6,
        j->r->image_parent_hz / 1e6, j->r->total_dbc, j->r->out_of_band_dbc, j->r->gain_db, (int)j->r->bad_blocks,
        (int)j->r->blocks);
    for (k = 0; k < j->r->n_findings; k++) {
      printf("  found: %s\n", j->r->finding[k]);
    }
  }
}

static inline int found(const struct job *j, const char *words)
{
  size_t k;

  for (k = 0; k < j->r->n_findings; k++) {
    if (strstr(j->r->finding[k], words)) {
      return 1;
    }
  }
  return 0;
}

/* 10 ms of noise within 9 MHz at 25 Msps, and what 768/625 makes of it. */
enum { N = 250000, M = 307200 };

struct world {
  struct tlg_taps taps;
  tlg_cs16 *x, *y;
  struct tlg_check_cfg aligned, causal;
  uint64_t q0;
};

static inline int set_up(void **state)
{
  static struct world w;

  w.aligned.rate_in = (struct tlg_rate){25000000, 1};
  w.aligned.rate_out = (struct tlg_rate){30720000, 1};
  assert_int_equal(tlg_taps_default(&w.taps, &w.aligned.rate_in, &w.aligned.rate_out, NULL), 0);
  w.x = confined_noise(N, 8.5 / 25, -15);
  w.y = malloc((M + 2000) * sizeof *w.y);
  w.q0 = (w.taps.n - 1) / 2;
  w.aligned.q0 = w.q0;
  w.causal = w.aligned;
  w.causal.q0 = 0;
  w.causal.n_taps = w.taps.n;
  tlg_rate_make(&w.causal.delay, w.taps.n - 1, 2 * 625);
  *state = &w;
  return 0;
}

static inline int tear_down(void **state)
{
  struct world *w = *state;

  free(w->x);
  free(w->y);
  tlg_taps_free(&w->taps);
  return 0;
}

static inline void break_it(struct world *w, const struct broken *b, int aligned)
{
  resample(w->y, w->x, N, 768, 625, &w->taps, aligned ? w->q0 : 0, M, b);
}

#endif
