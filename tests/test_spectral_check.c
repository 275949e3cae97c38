/* SPDX-License-Identifier: Apache-2.0 */
/* The verdict on right chains and on chains broken in known ways, made here by a plain convolution of its own. */
#include "tlg_spectra.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- signals --------------------------------------------------------------------------------------------------- */

static double gauss(uint64_t n, uint32_t key)
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

static size_t resample(tlg_cs16 *y, const tlg_cs16 *x, size_t n, uint32_t up, uint32_t down,
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

static void run_check(struct job *j, const struct tlg_check_cfg *cfg, const tlg_cs16 *x, size_t n, const tlg_cs16 *y,
                      size_t n_y)
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

static int found(const struct job *j, const char *words)
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

static int set_up(void **state)
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

static int tear_down(void **state)
{
  struct world *w = *state;

  free(w->x);
  free(w->y);
  tlg_taps_free(&w->taps);
  return 0;
}

static void break_it(struct world *w, const struct broken *b, int aligned)
{
  resample(w->y, w->x, N, 768, 625, &w->taps, aligned ? w->q0 : 0, M, b);
}

static void test_right_chain(void **state)
{
  struct world *w = *state;
  const size_t flushed = (size_t)(((uint64_t)(N - 1) * 768 + w->taps.n - 1) / 625 + 1);
  struct job j;

  break_it(w, &(struct broken){0}, 1);
  run_check(&j, &w->aligned, w->x, N, w->y, M);
  assert_int_equal(j.status, 0);
  assert_true(j.r->passed && j.r->n_findings == 0 && j.r->n_events == 0);
  assert_true(j.r->snr_db > 76 && j.r->snr_db < 85);
  assert_true(j.r->ripple_db > 0.001 && j.r->ripple_db < 0.006);
  assert_true(fabs(j.r->in_dbfs - -15) < 0.1 && fabs(j.r->gain_db) < 0.001);
  assert_int_equal(j.r->n_expected, M);
  assert_true(j.r->first_in == 64 && j.r->end_in == N - 64);
  tlg_check_free(j.c);

  resample(w->y, w->x, N, 768, 625, &w->taps, 0, flushed, &(struct broken){0});
  run_check(&j, &w->causal, w->x, N, w->y, flushed);
  assert_true(j.status == 0 && j.r->passed && j.r->n_extra == 0 && j.r->n_expected_flush == flushed);
  assert_true(j.r->snr_db > 76 && j.r->snr_db < 85);
  tlg_check_free(j.c);
  run_check(&j, &w->causal, w->x, N, w->y, M); /* causal, not flushed */
  assert_true(j.status == 0 && j.r->passed);
  tlg_check_free(j.c);
  run_check(&j, &w->causal, w->x, N, w->y, M - 1);
  assert_true(j.status == 0 && !j.r->passed && j.r->in_band_passed && !j.r->length_passed && j.r->n_extra == -1);
  assert_true(found(&j, "1 output is missing"));
  tlg_check_free(j.c);
}

/* Whatever the size of the pieces, and whatever the level: the rounding noise of weak signals is no failure. */
static void test_weak_signal(void **state)
{
  struct world *w = *state;
  tlg_cs16 *x = confined_noise(N, 8.5 / 25, -60);
  struct job j;

  resample(w->y, x, N, 768, 625, &w->taps, w->q0, M, &(struct broken){0});
  run_check(&j, &w->aligned, x, N, w->y, M);
  /* -60 dBFS against rounding noise of -98.09 dBFS, 58.6 % of which lies in the band: 40.4 dB */
  assert_true(j.status == 0 && j.r->passed && fabs(j.r->snr_db - 40.4) < 0.3);
  assert_true(j.r->snr_limit_db < j.r->snr_db);
  tlg_check_free(j.c);
  /* but an error above it is */
  resample(w->y, x, N, 768, 625, &w->taps, w->q0, M, &(struct broken){.gain = 0.97});
  run_check(&j, &w->aligned, x, N, w->y, M);
  assert_true(j.status == 0 && !j.r->passed && !j.r->level_passed);
  tlg_check_free(j.c);
  free(x);
}

/* The rounding of a weak tone gathers on lines, which look like images: no failure either. */
static void test_weak_tones(void **state)
{
  static const struct {
    int64_t f; /* of 500 Hz */
    double amplitude;
  } t[] = {{2000, 327.68}, {2000, 32.768}, {6434, 103.6}, {2000, 3.3}, {-18015, 300}};
  enum { PERIOD = 50000, NT = 6 * PERIOD, MT = (NT * 768 + 624) / 625 };
  struct world *w = *state;
  tlg_cs16 *y = malloc(MT * sizeof *y);
  size_t k;

  for (k = 0; k < sizeof t / sizeof *t; k++) {
    tlg_cs16 *x = tones(NT, PERIOD, &t[k].f, 1, t[k].amplitude);
    struct tlg_check_cfg cfg = w->aligned;
    struct job j;

    cfg.period = tlg_check_period(x, NT, &cfg.rate_in, 625);
    resample(y, x, NT, 768, 625, &w->taps, w->q0, MT, &(struct broken){0});
    run_check(&j, &cfg, x, NT, y, MT);
    assert_true(j.status == 0 && j.r->passed);
    tlg_check_free(j.c);
    free(x);
  }
  free(y);
}

static void test_forgets_history(void **state)
{
  static const size_t sizes[] = {625, 362, 1996};
  struct world *w = *state;
  size_t s;

  for (s = 0; s < 3; s++) {
    struct job j;
    char words[60];

    break_it(w, &(struct broken){.forget = sizes[s]}, 0);
    run_check(&j, &w->causal, w->x, N, w->y, M);
    assert_true(j.status == 0 && !j.r->passed && !j.r->in_band_passed);
    snprintf(words, sizeof words, "packets of %zu inputs", sizes[s]);
    assert_true(found(&j, words));
    tlg_check_free(j.c);
  }
}

static void test_swapped_phases(void **state)
{
  struct world *w = *state;
  int aligned;

  for (aligned = 0; aligned < 2; aligned++) {
    struct job j;

    break_it(w, &(struct broken){.swap_a = 17, .swap_b = 300}, aligned);
    run_check(&j, aligned ? &w->aligned : &w->causal, w->x, N, w->y, M);
    assert_true(j.status == 0 && !j.r->passed && !j.r->in_band_passed);
    assert_true(found(&j, "phases 17 and 300 of 768") || found(&j, "phases 300 and 17 of 768"));
    tlg_check_free(j.c);
  }
}

static void test_linear_interpolation(void **state)
{
  struct world *w = *state;
  struct job j;

  break_it(w, &(struct broken){.linear = 1}, 0);
  run_check(&j, &w->aligned, w->x, N, w->y, M);
  assert_true(j.status == 0 && !j.r->passed && !j.r->in_band_passed && !j.r->images_passed);
  assert_true(j.r->snr_db < 40 && j.r->has_image && j.r->image_dbc > -30);
  assert_true(j.r->ripple_db > 1);
  assert_true(found(&j, "image of"));
  tlg_check_free(j.c);
}

/* One output lost at number `at`, or one put in. */
static void test_slips(void **state)
{
  struct world *w = *state;
  static const size_t places[] = {123456, 20000, 290000, 153600, 4000};
  struct job j;
  size_t k, p;

  for (p = 0; p < sizeof places / sizeof *places; p++) {
    const size_t at = places[p];

    break_it(w, &(struct broken){0}, 1);
    memmove(w->y + at, w->y + at + 1, (M - at - 1) * sizeof *w->y);
    run_check(&j, &w->aligned, w->x, N, w->y, M - 1);
    assert_true(j.status == 0 && !j.r->passed && !j.r->in_band_passed && !j.r->length_passed);
    assert_true(j.r->n_events >= 1 && j.r->event[0].has_lag);
    assert_true(fabs(j.r->event[0].lag_outputs - -1) < 0.01);
    assert_true(llabs((long long)j.r->event[0].first - (long long)at) <= 2);
    assert_true(j.r->n_events == 1 && j.r->event[0].end == UINT64_MAX);
    assert_true(found(&j, "1 output early"));
    tlg_check_free(j.c);
  }
  break_it(w, &(struct broken){0}, 1);
  memmove(w->y + 200001, w->y + 200000, (M - 200000) * sizeof *w->y);
  run_check(&j, &w->aligned, w->x, N, w->y, M + 1);
  assert_true(!j.r->passed && j.r->event[0].has_lag && fabs(j.r->event[0].lag_outputs - 1) < 0.01);
  assert_true(llabs((long long)j.r->event[0].first - 200000) <= 2 && found(&j, "1 output late"));
  tlg_check_free(j.c);

  /* inputs lost before the resampler: one, and a whole packet whose gap is closed */
  for (k = 1; k <= 625; k += 624) {
    const size_t at = 100 * 625;
    tlg_cs16 *x = malloc(N * sizeof *x);
    const size_t outputs = ((N - k) * 768 + 624) / 625;

    memcpy(x, w->x, at * sizeof *x);
    memcpy(x + at, w->x + at + k, (N - at - k) * sizeof *x);
    resample(w->y, x, N - k, 768, 625, &w->taps, w->q0, outputs, &(struct broken){0});
    run_check(&j, &w->aligned, w->x, N, w->y, outputs);
    assert_true(j.status == 0 && !j.r->passed && j.r->event[0].has_lag);
    assert_true(fabs(j.r->event[0].lag_inputs + (double)k) < 0.02);
    assert_true(llabs((long long)j.r->event[0].first - 76800) <= 3);
    assert_true(found(&j, k == 1 ? "1 input early" : "625 inputs early") && found(&j, "gap was closed"));
    assert_true(found(&j, "packet 100 of 625") || found(&j, "packet 99 of 625"));
    tlg_check_free(j.c);
    free(x);
  }
  /* far more than a block holds: the place is found, the rest follows from the count */
  break_it(w, &(struct broken){0}, 1);
  memmove(w->y + 100000, w->y + 150000, (M - 150000) * sizeof *w->y);
  run_check(&j, &w->aligned, w->x, N, w->y, M - 50000);
  assert_true(!j.r->passed && j.r->n_extra == -50000 && llabs((long long)j.r->event[0].first - 100000) <= 8);
  assert_true(j.r->event[0].end == UINT64_MAX && found(&j, "were the missing outputs lost there?"));
  tlg_check_free(j.c);
  /* two slips, one after the other */
  break_it(w, &(struct broken){0}, 1);
  memmove(w->y + 100000, w->y + 100001, (M - 100001) * sizeof *w->y);
  memmove(w->y + 200000, w->y + 200003, (M - 200004) * sizeof *w->y);
  run_check(&j, &w->aligned, w->x, N, w->y, M - 4);
  assert_int_equal(j.r->n_events, 2);
  assert_true(fabs(j.r->event[0].lag_outputs + 1) < 0.01 && fabs(j.r->event[1].lag_outputs + 4) < 0.01);
  assert_true(llabs((long long)j.r->event[0].first - 100000) <= 2 &&
              llabs((long long)j.r->event[1].first - 200000) <= 3);
  assert_int_equal(j.r->event[0].end, j.r->event[1].first);
  assert_true(found(&j, "3 outputs early"));
  tlg_check_free(j.c);
}

static void test_wrong_delay(void **state)
{
  struct world *w = *state;
  struct job j;

  break_it(w, &(struct broken){0}, 0);
  run_check(&j, &w->aligned, w->x, N, w->y, M); /* the delay of the taps is not told */
  assert_true(j.status == 0 && !j.r->passed && j.r->event[0].has_lag);
  assert_true(fabs(j.r->event[0].lag_outputs - (double)(w->taps.n - 1) / 1250) < 0.01);
  assert_true(found(&j, "later than the stated delay"));
  tlg_check_free(j.c);
}

static void test_short_errors(void **state)
{
  struct world *w = *state;
  struct job j;
  size_t k;

  /* one sample */
  break_it(w, &(struct broken){0}, 1);
  w->y[150000].i = (int16_t)(w->y[150000].i ^ 0x4000);
  run_check(&j, &w->aligned, w->x, N, w->y, M);
  assert_true(!j.r->passed && !j.r->in_band_passed && j.r->n_events == 1 && !j.r->event[0].has_lag);
  assert_true(llabs((long long)j.r->event[0].first - 150000) <= 2 && llabs((long long)j.r->event[0].end - 150001) <= 2);
  tlg_check_free(j.c);
  /* three packets of zeros */
  break_it(w, &(struct broken){0}, 1);
  memset(w->y + 76800, 0, 3 * 768 * sizeof *w->y);
  run_check(&j, &w->aligned, w->x, N, w->y, M);
  assert_true(!j.r->passed && j.r->n_events >= 1);
  assert_true(llabs((long long)j.r->event[0].first - 76800) <= 4);
  for (k = 0; k < j.r->n_events; k++) {
    assert_true(j.r->event[k].end <= 76800 + 3 * 768 + 4);
  }
  assert_true(llabs((long long)j.r->event[j.r->n_events - 1].end - (76800 + 3 * 768)) <= 4);
  tlg_check_free(j.c);
}

/* Long windows do not see the first and last microseconds; the short blocks there do. */
static void test_ends(void **state)
{
  struct world *w = *state;
  static const size_t places[] = {400, 1000, M - 1000, M - 450};
  struct job j;
  size_t k, p;

  for (p = 0; p < sizeof places / sizeof *places; p++) {
    break_it(w, &(struct broken){0}, 1);
    for (k = 0; k < 20; k++) {
      w->y[places[p] + k].i = 0;
      w->y[places[p] + k].q = 0;
    }
    run_check(&j, &w->aligned, w->x, N, w->y, M);
    assert_true(j.status == 0 && !j.r->passed && !j.r->in_band_passed && j.r->edge_bad > 0 && j.r->n_findings > 0);
    assert_true(llabs((long long)(j.r->n_events ? j.r->event[0].first : j.r->end[p > 1].first) - (long long)places[p]) <= 4);
    tlg_check_free(j.c);
  }
}

/* A tone that the output cannot hold leaves nothing to judge; wide noise into a lower rate passes. */
static void test_lower_rates(void **state)
{
  struct tlg_check_cfg cfg = {.rate_in = {2400000, 1}, .rate_out = {1920000, 1}};
  const size_t n = 200000, m = n * 4 / 5;
  tlg_cs16 *x = malloc(n * sizeof *x), *y = malloc(m * sizeof *y);
  struct tlg_taps taps;
  struct job j;
  size_t k;

  (void)state;
  assert_int_equal(tlg_taps_default(&taps, &cfg.rate_in, &cfg.rate_out, NULL), 0);
  assert_int_equal(taps.n % 2, 1);
  for (k = 0; k < n; k++) {
    x[k].i = sat(4000 * gauss(k, 5));
    x[k].q = sat(4000 * gauss(k, 6));
  }
  resample(y, x, n, 4, 5, &taps, (taps.n - 1) / 2, m, &(struct broken){0});
  run_check(&j, &cfg, x, n, y, m);
  assert_true(j.status == 0 && j.r->passed);
  tlg_check_free(j.c);
  for (k = 0; k < n; k++) { /* 1.1 MHz, beyond half of 1.92 */
    double co, si;

    tlg_cos_sin((uint64_t)k * 11, 24, &co, &si);
    x[k].i = sat(20000 * co);
    x[k].q = sat(20000 * si);
  }
  run_check(&j, &cfg, x, n, y, m);
  assert_int_equal(j.status, TLG_EFORMAT);
  tlg_check_free(j.c);
  tlg_taps_free(&taps);
  free(y);
  free(x);
}

static void test_level_faults(void **state)
{
  struct world *w = *state;
  tlg_cs16 *x;
  struct job j;
  size_t k;

  break_it(w, &(struct broken){.gain = 0.9441}, 1); /* -0.5 dB */
  run_check(&j, &w->aligned, w->x, N, w->y, M);
  assert_true(!j.r->passed && !j.r->level_passed && fabs(j.r->gain_db - -0.4997) < 0.002);
  assert_true(j.r->snr_gain_db > 75 && found(&j, "mostly gain: -0.500 dB"));
  tlg_check_free(j.c);

  break_it(w, &(struct broken){0}, 1);
  for (k = 0; k < M; k++) {
    const int16_t i = w->y[k].i;
    w->y[k].i = w->y[k].q;
    w->y[k].q = i;
  }
  run_check(&j, &w->aligned, w->x, N, w->y, M);
  assert_true(!j.r->passed && !j.r->in_band_passed && j.r->level_passed && found(&j, "mirrored"));
  tlg_check_free(j.c);

  break_it(w, &(struct broken){.dc = 12}, 1);
  run_check(&j, &w->aligned, w->x, N, w->y, M);
  assert_true(!j.r->passed && fabs(j.r->dc_i - 12) < 0.05 && fabs(j.r->dc_q - 12) < 0.05);
  assert_true(found(&j, "a constant of +12.0"));
  tlg_check_free(j.c);

  memset(w->y, 0, M * sizeof *w->y);
  run_check(&j, &w->aligned, w->x, N, w->y, M);
  assert_true(j.status == 0 && !j.r->passed && !j.r->level_passed && found(&j, "silent"));
  tlg_check_free(j.c);

  /* peaks above full scale: saturated is clipped, unsaturated wraps */
  x = confined_noise(N, 8.5 / 25, -8.5);
  resample(w->y, x, N, 768, 625, &w->taps, w->q0, M, &(struct broken){.gain = 1.06, .wrap = 1});
  run_check(&j, &w->aligned, x, N, w->y, M);
  assert_true(!j.r->passed && found(&j, "wrapped round"));
  tlg_check_free(j.c);
  free(x);
}

/* ---- tones ---------------------------------------------------------------------------------------------------------
 */

/* Gain of the prototype, in dB, at a frequency given in units of rate_in / 50000. */
static double response_db(const struct tlg_taps *taps, int64_t f)
{
  const uint64_t den = (uint64_t)50000 * taps->up;
  double i = 0, q = 0;
  size_t k;

  for (k = 0; k < taps->n; k++) {
    double co, si;

    tlg_cos_sin((uint64_t)(((__int128)f * (int64_t)k % (__int128)den + (__int128)den) % (__int128)den), den, &co, &si);
    i += taps->h[k] * co;
    q += taps->h[k] * si;
  }
  return 10 * log10((i * i + q * q) / taps->up / taps->up) - 20 * log10(1 << taps->shift);
}

/* The design's 61 tones, k * 300.5 kHz over 2 ms: what is read for each tone must be what its taps' own response says,
 * a sum over the prototype; the worst image likewise. */
static void test_tone_images(void **state)
{
  enum { PERIOD = 50000, NT = 3 * PERIOD + 700, MT = (NT * 768 + 624) / 625 };
  struct world *w = *state;
  int64_t f[61];
  tlg_cs16 *x, *y = malloc(MT * sizeof *y);
  struct tlg_check_cfg cfg = w->aligned;
  struct job j;
  double worst = -300;
  size_t k;

  for (k = 0; k < 61; k++) {
    f[k] = ((int64_t)k - 30) * 601; /* of 500 Hz */
  }
  x = tones(NT, PERIOD, f, 61, 32768 * 0.022);
  assert_int_equal(tlg_check_period(x, NT, &cfg.rate_in, 625), PERIOD);
  cfg.period = PERIOD;
  resample(y, x, NT, 768, 625, &w->taps, w->q0, MT, &(struct broken){0});
  run_check(&j, &cfg, x, NT, y, MT);
  assert_int_equal(j.status, 0);
  assert_true(j.r->passed && j.r->n_tones == 61 && j.r->periodic);
  for (k = 0; k < 61; k++) {
    const struct tlg_check_tone *t = &j.r->tone[k];
    const int64_t own = (int64_t)llround(t->hz / 500);
    double direct = response_db(&w->taps, own), image = -300;
    int64_t m, m_worst = 0;

    assert_true(own % 601 == 0 && t->has_image);
    assert_true(fabs(t->gain_db - direct) < 0.0005);
    for (m = -6; m <= 6; m++) {
      const double db = m ? response_db(&w->taps, own + m * 50000) - direct : -300;

      m_worst = db > image ? m : m_worst;
      image = db > image ? db : image;
    }
    /* Rounding noise of -98.1 dBFS over 61440 lines, against tones of -33.2 dBFS: -112.8 dBc a line, with a random
     * phase. 3.5 times its rms is passed once in 200,000. */
    if (image > -90) {
      assert_true(fabs(t->image_dbc - image) < 8.686 * 3.5 * pow(10, (-112.8 - image) / 20) + 0.02);
      assert_int_equal(t->image_number, m_worst);
      /* own + m * 25 MHz, folded at 30.72 MHz (61440 units) */
      m = ((own + m_worst * 50000 + 30720) % 61440 + 61440) % 61440 - 30720;
      assert_true(fabs(t->image_hz - (double)m * 500) < 1);
    }
    worst = image > worst && llabs(own) < 18015 ? image : worst; /* +-9.015 MHz lies outside the band */
  }
  assert_true(fabs(j.r->image_dbc - worst) < 0.3 && worst < -70);
  tlg_check_free(j.c);

  /* Linear interpolation: its images of tone f about m * 25 MHz are sinc^2(f/25 + m), closed form. */
  resample(y, x, NT, 768, 625, &w->taps, 0, MT, &(struct broken){.linear = 1});
  run_check(&j, &cfg, x, NT, y, MT);
  assert_true(j.status == 0 && !j.r->passed && !j.r->images_passed && !j.r->in_band_passed);
  for (k = 0; k < 61; k++) {
    const struct tlg_check_tone *t = &j.r->tone[k];
    const double a = t->hz / 25e6, s = a == 0 ? 1 : sin(M_PI * a) / (M_PI * a), b = fabs(a) - 1;

    assert_true(fabs(t->gain_db - 40 * log10(fabs(s))) < 0.002);
    if (fabs(a) > 0.1) {
      const double image = 40 * log10(fabs(sin(M_PI * b) / (M_PI * b)));
      assert_true(fabs(t->image_dbc - (image - 40 * log10(fabs(s)))) < 0.1);
      assert_int_equal(t->image_number, a > 0 ? -1 : 1);
    }
  }
  tlg_check_free(j.c);

  /* A dropped output is found among tones, too. */
  resample(y, x, NT, 768, 625, &w->taps, w->q0, MT, &(struct broken){0});
  memmove(y + 100000, y + 100001, (MT - 100001) * sizeof *y);
  run_check(&j, &cfg, x, NT, y, MT - 1);
  assert_true(!j.r->passed && j.r->n_events >= 1 && llabs((long long)j.r->event[0].first - 100000) <= 40);
  tlg_check_free(j.c);
  free(y);
  free(x);
}

/* +-9.0075 MHz singly: the first image, at 15.9925 MHz, is the worst one there is. */
static void test_edge_tone(void **state)
{
  enum { PERIOD = 50000, NT = 2 * PERIOD + 700, MT = (NT * 768 + 624) / 625 };
  struct world *w = *state;
  struct tlg_check_cfg cfg = w->aligned;
  tlg_cs16 *y = malloc(MT * sizeof *y);
  int sign;

  cfg.period = PERIOD;
  for (sign = -1; sign <= 1; sign += 2) {
    const int64_t f = sign * 18015;
    tlg_cs16 *x = tones(NT, PERIOD, &f, 1, 29000);
    struct job j;

    resample(y, x, NT, 768, 625, &w->taps, w->q0, MT, &(struct broken){0});
    run_check(&j, &cfg, x, NT, y, MT);
    assert_true(j.status == 0 && j.r->n_tones == 1);
    assert_true(fabs(j.r->tone[0].image_dbc - (response_db(&w->taps, f - sign * 50000) - response_db(&w->taps, f))) <
                0.2);
    assert_int_equal(j.r->tone[0].image_number, -sign);
    assert_true(fabs(j.r->tone[0].image_hz - sign * (9007500.0 - 25e6 + 30.72e6)) < 1);
    /* The gain at the edge, which lies within the limit for ripple, is no error. */
    assert_true(j.r->passed && j.r->snr_judged_db > 75 && fabs(j.r->gain_db - response_db(&w->taps, f)) < 0.0005);
    tlg_check_free(j.c);
    free(x);
  }
  free(y);
}

/* ---- other ratios, short and empty streams ----------------------------------------------------------------------- */

static void test_ratios(void **state)
{
  static const struct {
    uint64_t in, out;
    double pass; /* of the rate */
  } r[] = {{19200000, 30720000, 0.33},  {19200000, 25000000, 0.33}, {30720000, 25000000, 0.27},
           {25000000, 23040000, 0.29},  {24576000, 30720000, 0.33}, {10000000, 10000000, 0.3},
           {122880000, 30720000, 0.065}};
  size_t k;

  (void)state;
  for (k = 0; k < sizeof r / sizeof *r; k++) {
    struct tlg_check_cfg cfg = {.rate_in = {r[k].in, 1}, .rate_out = {r[k].out, 1}};
    const size_t n = 150000;
    tlg_cs16 *x = confined_noise(n, r[k].pass, -15), *y;
    struct tlg_taps taps;
    uint32_t up, down;
    size_t m;
    struct job j;

    assert_int_equal(tlg_rate_ratio(&cfg.rate_in, &cfg.rate_out, &up, &down), 0);
    assert_int_equal(tlg_taps_default(&taps, &cfg.rate_in, &cfg.rate_out, NULL), 0);
    m = (n * up + down - 1) / down;
    y = malloc(m * sizeof *y);
    cfg.q0 = taps.n % 2 ? (taps.n - 1) / 2 : taps.n / 2 - 1;
    if (taps.n % 2 == 0) {
      tlg_rate_make(&cfg.delay, 1, 2 * down);
    }
    resample(y, x, n, up, down, &taps, cfg.q0, m, &(struct broken){0});
    run_check(&j, &cfg, x, n, y, m);
    if (j.status || !j.r->passed) {
      fail_msg("%u/%u: %s, %.1f dB, image %.1f, total %.1f", up, down, j.err.text, j.r ? j.r->snr_db : 0,
               j.r ? j.r->image_dbc : 0, j.r ? j.r->total_dbc : 0);
    }
    tlg_check_free(j.c);
    memmove(y + m / 2, y + m / 2 + 1, (m - m / 2 - 1) * sizeof *y);
    run_check(&j, &cfg, x, n, y, m - 1);
    assert_true(j.status == 0 && !j.r->passed && j.r->event[0].has_lag);
    assert_true(llabs((long long)j.r->event[0].first - (long long)(m / 2)) <= 6);
    tlg_check_free(j.c);
    tlg_taps_free(&taps);
    free(y);
    free(x);
  }
}

/* Noise over the whole input band is fair, too: what the filter need not stop is no image. */
static void test_wide_input(void **state)
{
  struct world *w = *state;
  tlg_cs16 *x = malloc(N * sizeof *x);
  struct job j;
  size_t k;

  for (k = 0; k < N; k++) {
    x[k].i = sat(4000 * gauss(k, 3));
    x[k].q = sat(4000 * gauss(k, 4));
  }
  resample(w->y, x, N, 768, 625, &w->taps, w->q0, M, &(struct broken){0});
  run_check(&j, &w->aligned, x, N, w->y, M);
  assert_true(j.status == 0 && j.r->passed && j.r->outside_dbc > -5);
  tlg_check_free(j.c);
  resample(w->y, x, N, 768, 625, &w->taps, 0, M, &(struct broken){.linear = 1});
  run_check(&j, &w->aligned, x, N, w->y, M);
  assert_true(j.status == 0 && !j.r->passed && !j.r->images_passed);
  tlg_check_free(j.c);
  free(x);
}

static void test_nothing_to_compare(void **state)
{
  struct world *w = *state;
  tlg_cs16 *zeros = calloc(N, sizeof *zeros);
  struct job j;
  static const size_t lengths[] = {0, 1, 3, 100, 1249, 12000};
  size_t k;

  for (k = 0; k < sizeof lengths / sizeof *lengths; k++) {
    run_check(&j, &w->aligned, w->x, lengths[k], w->x, lengths[k]);
    assert_int_equal(j.status, TLG_EFORMAT);
    assert_non_null(strstr(j.err.text, "too short"));
    tlg_check_free(j.c);
  }
  run_check(&j, &w->aligned, zeros, N, zeros, N);
  assert_int_equal(j.status, TLG_EFORMAT);
  assert_non_null(strstr(j.err.text, "silent"));
  tlg_check_free(j.c);
  free(zeros);
  assert_int_equal(tlg_check_block(&w->aligned.rate_in, 768, 625, 3, 64), 0);
  assert_int_equal(tlg_check_block(&w->aligned.rate_in, 768, 625, tlg_check_least(625, 64) - 1, 64), 0);
  assert_int_equal(tlg_check_block(&w->aligned.rate_in, 768, 625, tlg_check_least(625, 64), 64), 1250);
  assert_int_equal(tlg_check_block(&w->aligned.rate_in, 768, 625, N, 64), 25000);
}

/* A short recording gets shorter blocks, and still a fair verdict. */
static void test_short_recording(void **state)
{
  struct world *w = *state;
  static const size_t lengths[] = {1400, 3000, 10000, 40000};
  size_t k;

  for (k = 0; k < sizeof lengths / sizeof *lengths; k++) {
    const size_t n = lengths[k], m = (n * 768 + 624) / 625;
    struct tlg_check_cfg cfg = w->aligned;
    struct job j;

    cfg.block = tlg_check_block(&cfg.rate_in, 768, 625, n, 64);
    assert_true(cfg.block > 0);
    resample(w->y, w->x, n, 768, 625, &w->taps, w->q0, m, &(struct broken){0});
    run_check(&j, &cfg, w->x, n, w->y, m);
    assert_true(j.status == 0 && j.r->passed);
    tlg_check_free(j.c);
    w->y[m / 2].q = (int16_t)(w->y[m / 2].q + 3000);
    run_check(&j, &cfg, w->x, n, w->y, m);
    assert_true(j.status == 0 && !j.r->passed);
    tlg_check_free(j.c);
  }
}

/* A window of the input is judged, whatever the rest looks like; all of it is counted. */
static void test_window(void **state)
{
  struct world *w = *state;
  struct tlg_check_cfg cfg = w->aligned;
  struct job j;

  break_it(w, &(struct broken){0}, 1);
  memset(w->y, 0, 50000 * sizeof *w->y);
  memset(w->y + 250000, 0, (M - 250000) * sizeof *w->y);
  cfg.start = 60000;
  cfg.length = 100000;
  run_check(&j, &cfg, w->x, N, w->y, M);
  assert_true(j.status == 0 && j.r->passed && j.r->n_in == N && j.r->n_out == M);
  assert_true(j.r->first_in == 60064 && j.r->end_in == 160000);
  tlg_check_free(j.c);
  cfg.start = 30000;
  run_check(&j, &cfg, w->x, N, w->y, M);
  assert_true(j.status == 0 && !j.r->passed && j.r->event[0].end > 49900 && j.r->event[0].end < 50100);
  tlg_check_free(j.c);
}

static void test_gaps(void **state)
{
  struct world *w = *state;
  struct tlg_check *c;
  const struct tlg_check_result *r;
  tlg_cs16 *x = malloc(N * sizeof *x);
  size_t at;

  /* inputs 100000..103000 are missing; the outputs there were left out */
  memcpy(x, w->x, N * sizeof *x);
  memset(x + 100000, 0, 3000 * sizeof *x);
  resample(w->y, x, N, 768, 625, &w->taps, w->q0, M, &(struct broken){0});
  memset(w->y + 122880, 0, 3686 * sizeof *w->y);
  assert_int_equal(tlg_check_new(&c, &w->aligned, NULL), 0);
  assert_int_equal(tlg_check_gap_in(c, 100000, 3000), 0);
  assert_int_equal(tlg_check_gap_out(c, 122880, 3686), 0);
  for (at = 0; at < N; at += 1250) {
    assert_int_equal(tlg_check_push_in(c, x + at, 1250), 0);
    assert_int_equal(tlg_check_push_out(c, w->y + at * 768 / 625, 1536), 0);
  }
  tlg_check_end_in(c);
  tlg_check_end_out(c);
  assert_int_equal(tlg_check_finish(c, &r, NULL), 0);
  assert_true(r->passed && r->gaps == 2);
  tlg_check_free(c);
  free(x);
}

static void test_arguments(void **state)
{
  struct world *w = *state;
  struct tlg_check_cfg cfg = w->aligned;
  struct tlg_check *c = (struct tlg_check *)1;
  struct tlg_error err;

  assert_int_equal(tlg_check_new(&c, &(struct tlg_check_cfg){0}, &err), TLG_EINVAL);
  assert_null(c);
  cfg.band_hz = (struct tlg_rate){13000000, 1};
  assert_int_equal(tlg_check_new(&c, &cfg, &err), TLG_EINVAL);
  cfg = w->aligned;
  cfg.block = 1000;
  assert_int_equal(tlg_check_new(&c, &cfg, &err), TLG_EINVAL);
  cfg = w->aligned;
  cfg.min_snr_db = NAN;
  assert_int_equal(tlg_check_new(&c, &cfg, &err), TLG_EINVAL);
  cfg = w->aligned;
  assert_int_equal(tlg_check_new(&c, &cfg, &err), 0);
  assert_int_equal(tlg_check_push_in(c, w->x, tlg_check_want_in(c) + 1), TLG_ESPACE);
  tlg_check_free(c);
  tlg_check_free(NULL);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_right_chain),
      cmocka_unit_test(test_weak_signal),
      cmocka_unit_test(test_weak_tones),
      cmocka_unit_test(test_forgets_history),
      cmocka_unit_test(test_swapped_phases),
      cmocka_unit_test(test_linear_interpolation),
      cmocka_unit_test(test_slips),
      cmocka_unit_test(test_wrong_delay),
      cmocka_unit_test(test_short_errors),
      cmocka_unit_test(test_ends),
      cmocka_unit_test(test_lower_rates),
      cmocka_unit_test(test_level_faults),
      cmocka_unit_test(test_tone_images),
      cmocka_unit_test(test_edge_tone),
      cmocka_unit_test(test_ratios),
      cmocka_unit_test(test_wide_input),
      cmocka_unit_test(test_nothing_to_compare),
      cmocka_unit_test(test_short_recording),
      cmocka_unit_test(test_window),
      cmocka_unit_test(test_gaps),
      cmocka_unit_test(test_arguments),
  };

  return cmocka_run_group_tests(tests, set_up, tear_down);
}
