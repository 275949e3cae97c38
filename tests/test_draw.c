/* SPDX-License-Identifier: Apache-2.0 */
/* Draws: the generator is Philox, order does not matter, and each distribution has the moments it claims. */
#include "sim_help.h"
#include "tlg_dsp.h"

enum { N = 1 << 20 };

static void the_words_are_philox(void **state)
{
  struct tlg_dist dist = {.kind = TLG_DIST_UNIFORM, .low_ps = 0, .high_ps = (uint64_t)1 << 33};
  const uint64_t seed = 0x123456789abcdef0u,
                 indices[] = {0, 1, 63, 64, 4096, ((uint64_t)1 << 34) + 5, ((uint64_t)1 << 50) + 77};
  struct draw d;
  size_t i;

  (void)state;
  tlg_draw_init(&d, &dist, seed, 7, DRAW_SERVICE);
  for (i = 0; i < sizeof indices / sizeof *indices; i++) {
    const uint64_t block = indices[i] / 4;
    const uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> 32), 7, DRAW_SERVICE};
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    uint32_t out[4];

    tlg_philox(counter, key, out);
    assert_int_equal(tlg_draw(&d, indices[i]), 2 * (uint64_t)out[indices[i] % 4] + 1); /* span 2^33 shows the word */
  }
}

static void order_does_not_matter(void **state)
{
  struct tlg_dist dist = {.kind = TLG_DIST_EXPONENTIAL, .low_ps = 1000000};
  static uint64_t forward[5000];
  struct draw d;
  uint64_t i;

  (void)state;
  tlg_draw_init(&d, &dist, 3, 1, DRAW_SERVICE);
  for (i = 0; i < 5000; i++) {
    forward[i] = tlg_draw(&d, i);
  }
  for (i = 5000; i-- > 0;) {
    assert_int_equal(tlg_draw(&d, i), forward[i]);
  }
  for (i = 0; i < 5000; i++) {
    const uint64_t k = help_random(0, 4999);

    assert_int_equal(tlg_draw(&d, k), forward[k]);
  }
}

/* -ln u within 1e-8, the error of linear interpolation between 4097 entries. */
static void the_logarithm(void **state)
{
  int i;

  (void)state;
  for (i = 0; i < 200000; i++) {
    const uint32_t w = i < 1000   ? (uint32_t)i
                       : i < 2000 ? UINT32_MAX - (uint32_t)(i - 1000)
                                  : (uint32_t)help_random(0, UINT32_MAX);
    const double exact = -log(((double)w * 2 + 1) / 8589934592.0), got = (double)tlg_draw_log(w) / 1099511627776.0;

    assert_true(fabs(got - exact) < 1e-8);
  }
}

/* Whether mean and variance of N draws lie within 5 standard errors of what the distribution says. */
static int as_claimed(const struct tlg_dist *drawn, double mean, double variance, double fourth)
{
  double sum = 0, square = 0, m;
  struct draw d;
  uint64_t i;

  tlg_draw_init(&d, drawn, 11, 2, DRAW_SERVICE);
  for (i = 0; i < N; i++) {
    const double v = (double)tlg_draw(&d, i);

    sum += v;
    square += (v - mean) * (v - mean);
  }
  m = sum / N;
  return fabs(m - mean) <= 5 * sqrt(variance / N) + 1 &&
         fabs(square / N - variance) <= 5 * sqrt((fourth - variance * variance) / N) + 1e-6 * variance;
}

static void moments(void **state)
{
  const struct tlg_dist exponential = {.kind = TLG_DIST_EXPONENTIAL, .low_ps = 2000000};
  const struct tlg_dist uniform = {.kind = TLG_DIST_UNIFORM, .low_ps = 1000000, .high_ps = 3000000};
  /* Half of the time 1 us, 40 % evenly from 2 to 4, 10 % evenly from 10 to 30: steps and an explicit tail. */
  const struct tlg_dist tailed = {.kind = TLG_DIST_TABLE,
                                  .n_points = 6,
                                  .points = {{0, 1000000},
                                             {500000000, 1000000},
                                             {500000000, 2000000},
                                             {900000000, 4000000},
                                             {900000000, 10000000},
                                             {1000000000, 30000000}}};
  const double m = 0.5 * 1 + 0.4 * 3 + 0.1 * 20; /* us */
  double v = 0, f = 0, x;
  int i;

  (void)state;
  assert_true(as_claimed(&exponential, 2e6, 4e12, 9 * 16e24));
  assert_true(as_claimed(&uniform, 2e6, 1e12 / 3, 1e24 / 5));
  assert_int_equal(tlg_dist_mean(&tailed), (uint64_t)(m * 1e6 + 0.5));
  for (i = 0; i < 1000; i++) { /* moments by the midpoint rule on a thousand quantiles each */
    x = 1 - m;
    v += 0.5e-3 * x * x;
    f += 0.5e-3 * x * x * x * x;
    x = 2 + 2 * (i + 0.5) / 1000 - m;
    v += 0.4e-3 * x * x;
    f += 0.4e-3 * x * x * x * x;
    x = 10 + 20 * (i + 0.5) / 1000 - m;
    v += 0.1e-3 * x * x;
    f += 0.1e-3 * x * x * x * x;
  }
  assert_true(as_claimed(&tailed, m * 1e6, v * 1e12, f * 1e24));
}

/* A generator that is off by one per cent is found out. */
static void a_biased_generator_is_noticed(void **state)
{
  const struct tlg_dist biased = {.kind = TLG_DIST_EXPONENTIAL, .low_ps = 2020000};

  (void)state;
  assert_false(as_claimed(&biased, 2e6, 4e12, 9 * 16e24));
}

/* Distances of the distribution of exponential draws to 1 - e^-t: Kolmogorov's 0.1 % point is 1.95 / sqrt N. */
static void kolmogorov(void **state)
{
  const struct tlg_dist exponential = {.kind = TLG_DIST_EXPONENTIAL, .low_ps = 1000000};
  static uint32_t bins[4000];
  struct draw d;
  uint64_t i, below = 0;
  double worst = 0;

  (void)state;
  tlg_draw_init(&d, &exponential, 5, 9, DRAW_ARRIVAL);
  for (i = 0; i < N; i++) {
    const uint64_t b = tlg_draw(&d, i) / 10000;

    bins[b < 3999 ? b : 3999]++;
  }
  for (i = 0; i < 3999; i++) {
    below += bins[i];
    worst = fmax(worst, fabs((double)below / N - (1 - exp(-0.01 * (double)(i + 1)))));
  }
  assert_true(worst < 1.95 / sqrt(N));
}

/* Different seeds, entities and purposes give unrelated streams. */
static void streams_differ(void **state)
{
  const struct tlg_dist uniform = {.kind = TLG_DIST_UNIFORM, .low_ps = 0, .high_ps = (uint64_t)1 << 33};
  const uint64_t keys[][3] = {{1, 1, 0}, {2, 1, 0}, {1, 2, 0}, {1, 1, 1}, {(uint64_t)1 << 32 | 1, 1, 0}};
  struct draw a, b;
  size_t i, k, same;
  uint64_t n;

  (void)state;
  for (i = 0; i < 5; i++) {
    for (k = 0; k < i; k++) {
      tlg_draw_init(&a, &uniform, keys[i][0], (uint32_t)keys[i][1], (uint32_t)keys[i][2]);
      tlg_draw_init(&b, &uniform, keys[k][0], (uint32_t)keys[k][1], (uint32_t)keys[k][2]);
      for (n = same = 0; n < 1000; n++) {
        same += tlg_draw(&a, n) == tlg_draw(&b, n);
      }
      assert_true(same == 0);
    }
  }
}

static void wrong_tables(void **state)
{
  struct tlg_dist d = {.kind = TLG_DIST_TABLE, .n_points = 2, .points = {{0, 5}, {1000000000, 6}}};
  struct tlg_error err;

  (void)state;
  assert_int_equal(tlg_dist_check(&d, &err), TLG_OK);
  d.points[1].value_ps = 4;
  assert_int_equal(tlg_dist_check(&d, &err), TLG_EFORMAT);
  d.points[1].value_ps = 6;
  d.points[1].below_ppb = 999999999;
  assert_int_equal(tlg_dist_check(&d, &err), TLG_EFORMAT);
  d.n_points = 1;
  assert_int_equal(tlg_dist_check(&d, &err), TLG_EFORMAT);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_words_are_philox),
      cmocka_unit_test(order_does_not_matter),
      cmocka_unit_test(the_logarithm),
      cmocka_unit_test(moments),
      cmocka_unit_test(a_biased_generator_is_noticed),
      cmocka_unit_test(kolmogorov),
      cmocka_unit_test(streams_differ),
      cmocka_unit_test(wrong_tables),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
