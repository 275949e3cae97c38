/* SPDX-License-Identifier: Apache-2.0 */
/* Histograms of delays against sorted lists: nearest rank, exact extremes, stated precision. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tlg_dsp.h"
#include "tlg_sim.h"

static int by_value(const void *a, const void *b)
{
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

  return (x > y) - (x < y);
}

/* The definition: the smallest value such that at least num/den of all are not above it. */
static uint64_t nearest_rank(const uint64_t *sorted, uint64_t n, uint64_t num, uint64_t den)
{
  uint64_t rank = 1;

  while (rank * den < n * num) {
    rank++;
  }
  return sorted[rank - 1];
}

static uint64_t random64(uint32_t i)
{
  const uint32_t counter[4] = {i, 0, 0, 0}, key[2] = {7, 0};
  uint32_t out[4];

  tlg_philox(counter, key, out);
  return (uint64_t)out[0] << 32 | out[1];
}

static void check_against_sorted(uint64_t *values, size_t n)
{
  static const uint64_t ranks[][2] = {{0, 1},      {1, 1000},     {50, 100}, {90, 100}, {99, 100},
                                      {999, 1000}, {9999, 10000}, {1, 3},    {1, 1}};
  struct tlg_delays *d;
  struct tlg_delays_summary s;
  size_t i, when = 0, max_at = 0;
  double sum = 0;

  assert_int_equal(tlg_delays_new(&d), TLG_OK);
  for (i = 0; i < n; i++) {
    tlg_delays_add(d, values[i], i);
    if (values[i] > values[max_at]) {
      max_at = i;
    }
    sum += (double)values[i];
  }
  when = max_at;
  tlg_delays_summarise(d, &s);
  qsort(values, n, sizeof *values, by_value);
  assert_true(s.count == n);
  assert_true(s.min == values[0]);
  assert_true(s.max == values[n - 1]);
  assert_true(s.max_when == when);
  assert_true((double)s.mean >= sum / (double)n * (1 - 1e-9) - 1 && (double)s.mean <= sum / (double)n * (1 + 1e-9));
  for (i = 0; i < sizeof ranks / sizeof *ranks; i++) {
    const uint64_t want = nearest_rank(values, n, ranks[i][0], ranks[i][1]);
    const uint64_t got = tlg_delays_percentile(d, ranks[i][0], ranks[i][1]);

    assert_true(got >= want);
    if (want < (uint64_t)1 << 52) { /* one bin: 2^-10 of the value */
      assert_true(got - want <= want >> 10);
    }
    assert_non_null(bsearch(&got, values, n, sizeof *values, by_value)); /* a value that occurred */
  }
  tlg_delays_free(d);
}

static void percentiles_are_nearest_ranks(void **state)
{
  static const size_t sizes[] = {1, 2, 3, 10, 99, 100, 101, 1000, 10001};
  uint64_t values[10001];
  size_t k, i;
  unsigned shift;

  (void)state;
  for (k = 0; k < sizeof sizes / sizeof *sizes; k++) {
    for (shift = 10; shift < 64; shift += 9) {
      for (i = 0; i < sizes[k]; i++) {
        values[i] = random64((uint32_t)(i + 20000 * k)) >> shift;
      }
      check_against_sorted(values, sizes[k]);
    }
  }
}

static void small_values_are_exact(void **state)
{
  struct tlg_delays *d;
  uint64_t v;

  (void)state;
  assert_int_equal(tlg_delays_new(&d), TLG_OK);
  for (v = 0; v < 2048; v++) {
    tlg_delays_add(d, v, 0);
  }
  for (v = 1; v <= 2048; v++) {
    assert_true(tlg_delays_percentile(d, v, 2048) == v - 1);
  }
  tlg_delays_free(d);
}

/* Every edge of a bin: the value before it, on it and behind it must lie in the bin that holds them. */
static void bins_cover_all_values_once(void **state)
{
  unsigned bit;

  (void)state;
  for (bit = 1; bit < 64; bit++) {
    const uint64_t near[] = {((uint64_t)1 << bit) - 1, (uint64_t)1 << bit, ((uint64_t)1 << bit) + 1,
                             ((uint64_t)1 << bit) + ((uint64_t)1 << (bit > 10 ? bit - 10 : 0)) - 1, UINT64_MAX};
    size_t i;

    for (i = 0; i < sizeof near / sizeof *near; i++) {
      struct tlg_delays *d;
      uint64_t low, high, count;
      size_t position = 0;

      assert_int_equal(tlg_delays_new(&d), TLG_OK);
      tlg_delays_add(d, near[i], 3);
      assert_int_equal(tlg_delays_next(d, &position, &low, &high, &count), 1);
      assert_true(low <= near[i] && near[i] <= high && count == 1);
      assert_true(high == UINT64_MAX || high - low <= low >> 10);
      assert_int_equal(tlg_delays_next(d, &position, &low, &high, &count), 0);
      assert_true(tlg_delays_percentile(d, 1, 2) == near[i]);
      tlg_delays_free(d);
    }
  }
}

static void merging_equals_adding(void **state)
{
  struct tlg_delays *a, *b, *all;
  struct tlg_delays_summary x, y;
  uint32_t i;

  (void)state;
  assert_int_equal(tlg_delays_new(&a), TLG_OK);
  assert_int_equal(tlg_delays_new(&b), TLG_OK);
  assert_int_equal(tlg_delays_new(&all), TLG_OK);
  tlg_delays_merge(a, b); /* empty into empty */
  tlg_delays_summarise(a, &x);
  assert_true(x.count == 0 && x.min == 0 && x.max == 0 && x.p50 == 0);
  for (i = 0; i < 1000; i++) {
    const uint64_t v = random64(i) >> 30;

    tlg_delays_add(i % 3 ? a : b, v, i);
    tlg_delays_add(all, v, i);
  }
  tlg_delays_merge(a, b);
  tlg_delays_summarise(a, &x);
  tlg_delays_summarise(all, &y);
  assert_memory_equal(&x, &y, sizeof x);
  tlg_delays_reset(a);
  assert_true(tlg_delays_count(a) == 0 && tlg_delays_percentile(a, 1, 1) == 0);
  tlg_delays_free(a);
  tlg_delays_free(b);
  tlg_delays_free(all);
}

/* The sum of delays near the end of the range does not wrap. */
static void the_mean_does_not_wrap(void **state)
{
  struct tlg_delays *d;
  struct tlg_delays_summary s;
  int i;

  (void)state;
  assert_int_equal(tlg_delays_new(&d), TLG_OK);
  for (i = 0; i < 5; i++) {
    tlg_delays_add(d, UINT64_MAX - 1, 0);
  }
  tlg_delays_summarise(d, &s);
  assert_true(s.mean == UINT64_MAX - 1);
  tlg_delays_free(d);
  assert_int_equal(tlg_delays_new(NULL), TLG_EINVAL);
}

/* Negative control: percentiles by the rank below (floor) differ from the definition on a list that shows it. */
static void a_rank_off_by_one_would_show(void **state)
{
  uint64_t values[10] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  struct tlg_delays *d;
  int i;

  (void)state;
  assert_int_equal(tlg_delays_new(&d), TLG_OK);
  for (i = 0; i < 10; i++) {
    tlg_delays_add(d, values[i], 0);
  }
  assert_true(tlg_delays_percentile(d, 55, 100) == 6); /* ceil(5.5) = 6 */
  assert_true(values[10 * 55 / 100 - 1] != 6);         /* floor */
  assert_true(tlg_delays_percentile(d, 90, 100) == 9);
  assert_true(values[10 * 90 / 100] != 9); /* counting from 0 */
  tlg_delays_free(d);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(percentiles_are_nearest_ranks), cmocka_unit_test(small_values_are_exact),
      cmocka_unit_test(bins_cover_all_values_once),    cmocka_unit_test(merging_equals_adding),
      cmocka_unit_test(the_mean_does_not_wrap),        cmocka_unit_test(a_rank_off_by_one_would_show),
  };

  return cmocka_run_group_tests_name("delays", tests, NULL, NULL);
}
