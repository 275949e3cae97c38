/* SPDX-License-Identifier: Apache-2.0 */
/* Exact phases and tables of the unit circle, against long double arithmetic. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "oscillator.h"

#include <math.h>

static const long double two_pi = 6.283185307179586476925286766559L;

static void unit_circle(void **state)
{
  static const uint64_t periods[] = {1, 2, 25, 50000, 65536, 65537, 1280000, 75000001, (uint64_t)1 << 41};
  size_t t;

  (void)state;
  for (t = 0; t < sizeof periods / sizeof *periods; t++) {
    struct oscillator o;
    uint64_t word = 1, i;

    assert_int_equal(oscillator_init(&o, periods[t]), TLG_OK);
    for (i = 0; i < 2000; i++) {
      const uint64_t p = (word = word * 6364136223846793005u + 1442695040888963407u) % periods[t];
      const tlg_cf64 z = oscillator_at(&o, p);
      const long double a = two_pi * (long double)p / (long double)periods[t];

      assert_true(fabsl(z.i - cosl(a)) < 1e-15L);
      assert_true(fabsl(z.q - sinl(a)) < 1e-15L);
    }
    oscillator_clear(&o);
  }
}

static void turns(void **state)
{
  const struct tlg_rate rate = {25000000, 1}, odd = {184320000, 7};
  struct tlg_frequency f = {300500, 1};
  struct turn t;
  uint64_t lcm;

  (void)state;
  assert_int_equal(turn_per_sample(&t, &f, 1, &rate), TLG_OK); /* 300500 / 25e6 = 601 / 50000 */
  assert_int_equal(t.num, 601);
  assert_int_equal(t.den, 50000);
  f.num = -300500;
  assert_int_equal(turn_per_sample(&t, &f, 1, &rate), TLG_OK);
  assert_int_equal(t.num, 50000 - 601);
  f = (struct tlg_frequency){0, 1};
  assert_int_equal(turn_per_sample(&t, &f, 1, &rate), TLG_OK);
  assert_int_equal(t.num, 0);
  f = (struct tlg_frequency){15000, 1}; /* 15000 * 7 / 184320000 = 7 / 12288 */
  assert_int_equal(turn_per_sample(&t, &f, 1, &odd), TLG_OK);
  assert_int_equal(t.num, 7);
  assert_int_equal(t.den, 12288);
  assert_int_equal(turn_per_sample(&t, &f, 14, &odd), TLG_OK); /* and one fourteenth of it: 1 / 24576 */
  assert_int_equal(t.num, 1);
  assert_int_equal(t.den, 24576);
  f = (struct tlg_frequency){1, (uint64_t)1 << 61};
  assert_int_equal(turn_per_sample(&t, &f, 1, &rate), TLG_EINVAL);
  assert_int_equal(turn_lcm(&lcm, 5000, 2048), TLG_OK);
  assert_int_equal(lcm, 1280000);
  assert_int_equal(turn_lcm(&lcm, ((uint64_t)1 << 40) - 1, (uint64_t)1 << 40), TLG_EINVAL);
  assert_int_equal(turn_mul(UINT64_MAX / 3, 9, 1000003), (uint64_t)((tlg_u128)(UINT64_MAX / 3) * 9 % 1000003));
}

static void rounding(void **state)
{
  static const struct {
    double x;
    int expected, clipped;
  } cases[] = {
      {0, 0, 0},           {0.5, 1, 0},           {0.49999, 0, 0},       {-0.5, 0, 0},        {-0.50001, -1, 0},
      {1.5, 2, 0},         {-1.5, -1, 0},         {32767.49, 32767, 0},  {32767.5, 32767, 1}, {1e9, 32767, 1},
      {-32768, -32768, 0}, {-32768.5, -32768, 0}, {-32768.6, -32768, 1}, {-1e9, -32768, 1}};
  size_t i;

  (void)state;
  for (i = 0; i < sizeof cases / sizeof *cases; i++) {
    uint64_t clipped = 0;

    assert_int_equal(round_int16(cases[i].x, &clipped), cases[i].expected);
    assert_int_equal(clipped, cases[i].clipped);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(unit_circle),
      cmocka_unit_test(turns),
      cmocka_unit_test(rounding),
  };

  return cmocka_run_group_tests_name("oscillator", tests, NULL, NULL);
}
