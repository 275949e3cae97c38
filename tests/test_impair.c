/* SPDX-License-Identifier: Apache-2.0 */
/* Impairments of signals against their formulae. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tlg_vectors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double two_pi = 6.283185307179586476925;

static tlg_cs16 *samples(const struct tlg_signal_cfg *cfg, uint64_t first, size_t n, uint64_t *clipped)
{
  tlg_cs16 *x = calloc(n, sizeof *x);
  struct tlg_error err = {.text = ""};
  struct tlg_signal *s;

  assert_non_null(x);
  if (tlg_signal_new(&s, cfg, &err)) {
    fail_msg("%s", err.text);
  }
  assert_int_equal(tlg_signal_seek(s, first), TLG_OK);
  tlg_signal_read(s, x, n);
  if (clipped) {
    *clipped = tlg_signal_clipped(s);
  }
  tlg_signal_free(s);
  return x;
}

/* x against want(k) within so much. */
static void expect(const tlg_cs16 *x, size_t n, const double (*want)[2], double within, const char *what)
{
  size_t k;

  for (k = 0; k < n; k++) {
    if (!(fabs(x[k].i - want[k][0]) <= within && fabs(x[k].q - want[k][1]) <= within)) {
      fail_msg("%s: sample %zu is (%d, %d), wanted (%.3f, %.3f)", what, k, x[k].i, x[k].q, want[k][0], want[k][1]);
    }
  }
}

enum { N = 2000 };

static void offsets(void **state)
{
  /* a tone of f at a rate of r, the clock fast by p ppm, moved up by c: turns (f + c) / (r (1 + p / 10^6)) a sample */
  static const struct {
    struct tlg_frequency ppm, carrier;
    double ppm_value, carrier_value;
  } cases[] = {{{0, 0}, {12345, 1}, 0, 12345},
               {{0, 0}, {-100, 3}, 0, -100 / 3.0},
               {{20, 1}, {0, 0}, 20, 0},
               {{-5, 2}, {0, 0}, -2.5, 0},
               {{1, 1000}, {-7500, 1}, 0.001, -7500}};
  static double want[N][2];
  const uint64_t first = 1000000007;
  size_t c, k;

  (void)state;
  for (c = 0; c < sizeof cases / sizeof *cases; c++) {
    const struct tlg_signal_cfg cfg = {.kind = TLG_SIGNAL_TONE,
                                       .freq = {1000000, 1},
                                       .amplitude = 10000.0,
                                       .impairments = {.clock_ppm = cases[c].ppm, .carrier = cases[c].carrier}};
    tlg_cs16 *const x = samples(&cfg, first, N, NULL);

    for (k = 0; k < N; k++) {
      const long double rate = 25e6L * (1 + cases[c].ppm_value / 1e6L);
      const double turn = (double)fmodl((first + k) * (1e6L + (long double)cases[c].carrier_value) / rate, 1);

      want[k][0] = 10000 * cos(two_pi * turn);
      want[k][1] = 10000 * sin(two_pi * turn);
    }
    /* rounded twice where samples are moved, and 10^9 times 10^-19 of a turn's error in the reference */
    expect(x, N, (const double(*)[2])want, 1.3, "offset");
    free(x);
  }
}

static void imbalance(void **state)
{
  const double gain = pow(10, 1.5 / 40), lean = 4.25 * two_pi / 360;
  const struct tlg_signal_cfg clean = {.kind = TLG_SIGNAL_NOISE, .seed = 9};
  struct tlg_signal_cfg bad = clean;
  static double want[N][2];
  tlg_cs16 *const x = samples(&clean, 0, N, NULL), *y;
  size_t k;

  (void)state;
  bad.impairments = (struct tlg_impairments){.gain_db = 1.5, .phase_deg = {17, 4}, .dc = {250.25, -99.5}};
  y = samples(&bad, 0, N, NULL);
  for (k = 0; k < N; k++) {
    want[k][0] = gain * x[k].i + 250.25;
    want[k][1] = (x[k].q * cos(lean) + x[k].i * sin(lean)) / gain - 99.5;
  }
  expect(y, N, (const double(*)[2])want, 0.5 + 1e-9, "imbalance");
  free(x);
  free(y);
}

static void noise(void **state)
{
  enum { M = 100000 };
  struct tlg_signal_cfg cfg = {.kind = TLG_SIGNAL_SILENCE, .impairments = {.noise = 1000.0}};
  tlg_cs16 *const x = samples(&cfg, 0, M, NULL);
  tlg_cs16 *y;
  double power = 0, cross = 0, next = 0;
  size_t k;

  (void)state;
  for (k = 0; k < M; k++) {
    power += x[k].i * (double)x[k].i + x[k].q * (double)x[k].q;
    cross += x[k].i * (double)x[k].q;
    next += k ? x[k].i * (double)x[k - 1].i : 0;
  }
  /* 2 M independent squares, of kurtosis below 3: five standard deviations */
  assert_true(fabs(power / M / 1e6 - 1) < 5 * sqrt(2.0 / (2 * M)));
  assert_true(fabs(cross / M / 5e5) < 5 / sqrt(M) && fabs(next / M / 5e5) < 5 / sqrt(M));
  y = samples(&cfg, 5000, 100, NULL);
  assert_memory_equal(x + 5000, y, 100 * sizeof *y); /* a function of the sample's number */
  free(y);
  cfg.seed = 1;
  y = samples(&cfg, 0, 100, NULL);
  assert_memory_not_equal(x, y, 100 * sizeof *y);
  free(x);
  free(y);
}

static void clipping(void **state)
{
  const struct tlg_signal_cfg clean = {.kind = TLG_SIGNAL_NOISE, .seed = 2};
  struct tlg_signal_cfg bad = clean;
  tlg_cs16 *const x = samples(&clean, 0, N, NULL), *y;
  uint64_t clipped, count = 0;
  size_t k;

  (void)state;
  bad.impairments.clip = 5000.0;
  y = samples(&bad, 0, N, &clipped);
  for (k = 0; k < N; k++) {
    const int i = x[k].i, q = x[k].q;

    count += (uint64_t)((abs(i) > 5000) + (abs(q) > 5000));
    assert_int_equal(y[k].i, i > 5000 ? 5000 : i < -5000 ? -5000 : i);
    assert_int_equal(y[k].q, q > 5000 ? 5000 : q < -5000 ? -5000 : q);
  }
  assert_true(count > 100);
  assert_int_equal(clipped, count);
  free(x);
  free(y);
}

/* The ramp tells its own number. */
static void losses(void **state)
{
  static const struct {
    struct tlg_impairments i;
    uint64_t at[6], number[6]; /* outputs, and the samples that must stand there */
  } cases[] = {
      {{.drop_at = 100, .drop_n = 7}, {0, 99, 100, 101, 1999, 500}, {0, 99, 107, 108, 2006, 507}},
      {{.drop_at = 0, .drop_n = 1, .drop_every = 250}, {0, 249, 250, 500, 999, 1000}, {1, 250, 252, 503, 1003, 1005}},
      {{.dup_at = 50, .dup_n = 50}, {0, 49, 50, 99, 100, 150}, {0, 49, 0, 49, 50, 100}},
      {{.dup_at = 100, .dup_n = 10, .dup_every = 100}, {99, 100, 199, 200, 300, 1999}, {99, 90, 189, 180, 270, 1809}},
      {{.drop_at = 100, .drop_n = 30, .dup_at = 200, .dup_n = 30},
       {99, 100, 199, 200, 201, 999},
       {99, 130, 229, 200, 201, 999}},
  };
  size_t c, k;

  (void)state;
  for (c = 0; c < sizeof cases / sizeof *cases; c++) {
    const struct tlg_signal_cfg cfg = {.kind = TLG_SIGNAL_RAMP, .impairments = cases[c].i};
    tlg_cs16 *const x = samples(&cfg, 0, N, NULL);

    for (k = 0; k < 6; k++) {
      if (x[cases[c].at[k]].i != (int)cases[c].number[k]) {
        fail_msg("case %zu: output %llu holds %d, not %llu", c, (unsigned long long)cases[c].at[k], x[cases[c].at[k]].i,
                 (unsigned long long)cases[c].number[k]);
      }
    }
    for (k = 0; k < N; k += 373) { /* started there */
      tlg_cs16 *const y = samples(&cfg, k, 20, NULL);

      assert_memory_equal(x + k, y, 20 * sizeof *y);
      free(y);
    }
    free(x);
  }
}

static void refusals(void **state)
{
  static const struct tlg_impairments bad[] = {
      {.clock_ppm = {1001, 1}},
      {.carrier = {12500001, 1}},
      {.noise = -1.0},
      {.noise = NAN},
      {.gain_db = 41.0},
      {.gain_db = NAN},
      {.phase_deg = {46, 1}},
      {.dc = {INFINITY, 0.0}},
      {.clip = -1.0},
      {.drop_n = 11, .drop_every = 10},
      {.dup_at = 9, .dup_n = 10},
      {.dup_at = 20, .dup_n = 10, .dup_every = 9},
  };
  struct tlg_error err;
  size_t i;

  (void)state;
  for (i = 0; i < sizeof bad / sizeof *bad; i++) {
    struct tlg_signal_cfg cfg = {.kind = TLG_SIGNAL_TONE, .impairments = bad[i]};

    err.text[0] = '\0';
    if (tlg_signal_defaults(&cfg, &err) != TLG_EINVAL || !err.text[0]) {
      fail_msg("case %zu was taken", i);
    }
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(offsets),  cmocka_unit_test(imbalance), cmocka_unit_test(noise),
      cmocka_unit_test(clipping), cmocka_unit_test(losses),    cmocka_unit_test(refusals),
  };

  return cmocka_run_group_tests_name("impair", tests, NULL, NULL);
}
