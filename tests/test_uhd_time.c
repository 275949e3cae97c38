/* SPDX-License-Identifier: Apache-2.0 */
/* A radio's seconds and fractions against sample numbers: exact, also where rate times time passes 2^53. */
#include "uhd_time.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

typedef unsigned __int128 u128;

static const struct tlg_rate r25 = {25000000, 1}, r184_7 = {184320000, 7};

/* The instant of sample n by whole numbers: seconds, and the rest as a quotient of two that a double holds exactly. */
static struct uhd_instant plain(uint64_t n, const struct tlg_rate *rate, int64_t secs)
{
  const u128 ticks = (u128)n * rate->den;
  const struct uhd_instant at = {secs + (int64_t)(ticks / rate->num),
                                 (double)(uint64_t)(ticks % rate->num) / (double)rate->num};

  return at;
}

static void numbers_come_back(void **state)
{
  static const uint64_t offsets[] = {0, 1, 2, 363, 364, 24999999, 25000000, 25000001};
  const struct tlg_rate *rates[] = {&r25, &r184_7};
  static const struct tlg_rate odd = {61440000, 1}, slow = {195312, 1};
  const struct tlg_rate *more[] = {&odd, &slow};
  unsigned r, b, o;

  (void)state;
  for (r = 0; r < 4; r++) {
    const struct tlg_rate *rate = r < 2 ? rates[r] : more[r - 2];

    for (b = 20; b <= 58; b++) {
      for (o = 0; o < sizeof offsets / sizeof *offsets; o++) {
        const uint64_t n = ((uint64_t)1 << b) + offsets[o];
        const struct uhd_instant zero = plain(0, rate, 0), at = plain(n, rate, 0);

        assert_int_equal(uhd_samples_between(&zero, &at, rate), n);
        assert_int_equal(uhd_samples_between(&at, &zero, rate), -(int64_t)n);
      }
    }
  }
}

/* Neighbours around 2^53 samples are told apart, from any beginning; floating point alone does not (the control). */
static void near_2_53(void **state)
{
  const uint64_t limit = (uint64_t)1 << 53;
  unsigned k, wrong = 0;

  (void)state;
  for (k = 0; k < 1000; k++) {
    const uint64_t n = limit - 500 + k;
    const struct uhd_instant from = plain(limit - 1000, &r25, 0), at = plain(n, &r25, 0);
    const double naive = ((double)at.full + at.frac) * 25e6;

    assert_int_equal(uhd_samples_between(&from, &at, &r25), 500 + k);
    wrong += (uint64_t)naive != n;
  }
  assert_true(wrong > 100);
}

/* A stream's grid need not be the device's: the first sample stands anywhere, and differences still count. */
static void any_phase(void **state)
{
  static const double starts[] = {0.0, 0.1, 0.2500000000001, 0.9999999, 0.99999999999, 0.5};
  unsigned s;
  uint64_t n;

  (void)state;
  for (s = 0; s < sizeof starts / sizeof *starts; s++) {
    const struct uhd_instant start = {1764547200, starts[s]};

    for (n = 0; n < 300000000; n += 1234567) {
      struct uhd_instant at = uhd_instant_after(&start, (int64_t)n, &r184_7);

      assert_true(at.frac >= 0.0 && at.frac < 1.0);
      assert_int_equal(uhd_samples_between(&start, &at, &r184_7), n);
      at = uhd_instant_after(&at, -(int64_t)n, &r184_7);
      assert_int_equal(uhd_samples_between(&start, &at, &r184_7), 0);
    }
  }
}

/* Rounding: half a sample goes up. 1/50,000,000 is no dyadic number, but 3/128 s at 64 Hz is one and a half sample. */
static void halves(void **state)
{
  static const struct tlg_rate r64 = {64, 1}, r32 = {64, 2};
  const struct uhd_instant zero = {0, 0.0}, a = {0, 3.0 / 128}, below = {0, 3.0 / 128 - 0x1p-58}, b = {0, 1.0 / 128},
                           c = {5, 1.0 / 64}, tiny = {0, 0x1p-70};

  (void)state;
  assert_int_equal(uhd_samples_between(&zero, &a, &r64), 2);
  assert_int_equal(uhd_samples_between(&zero, &below, &r64), 1);
  assert_int_equal(uhd_samples_between(&zero, &b, &r64), 1);
  assert_int_equal(uhd_samples_between(&zero, &c, &r32), 161);
  assert_int_equal(uhd_samples_between(&zero, &tiny, &r64), 0);
}

/* Nothing overflows at the ends. */
static void ends(void **state)
{
  const struct uhd_instant low = {INT64_MIN, 0.0}, high = {INT64_MAX, 0.999}, zero = {0, 0.0};

  (void)state;
  assert_int_equal(uhd_samples_between(&low, &high, &r25), INT64_MAX);
  assert_int_equal(uhd_samples_between(&high, &low, &r25), -INT64_MAX);
  assert_int_equal(uhd_samples_between(&zero, &high, &r25), INT64_MAX);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(numbers_come_back), cmocka_unit_test(near_2_53),
                                     cmocka_unit_test(any_phase), cmocka_unit_test(halves), cmocka_unit_test(ends)};

  return cmocka_run_group_tests(tests, NULL, NULL);
}
