/* SPDX-License-Identifier: Apache-2.0 */
/* The exact elementary functions against known values and the C library's long doubles. */
#include "tlg_dsp.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Distance from the exact value in units of the last place of 1 (angles) or of the value. */
static double ulps(double value, long double exact, double unit)
{
  return (double)fabsl((long double)value - exact) / (DBL_EPSILON * unit);
}

static void known_angles(void **state)
{
  static const struct {
    uint64_t num, den;
    double c, s;
  } known[] = {
      {0, 1, 1, 0},
      {1, 4, 0, 1},
      {1, 2, -1, 0},
      {3, 4, 0, -1},
      {7, 1, 1, 0},
      {1, 8, 0.70710678118654752440, 0.70710678118654752440},
      {3, 8, -0.70710678118654752440, 0.70710678118654752440},
      {1, 6, 0.5, 0.86602540378443864676},
      {1, 12, 0.86602540378443864676, 0.5},
      {1, 3, -0.5, 0.86602540378443864676},
      {1, 10, 0.80901699437494742410, 0.58778525229247312917},
      {1, 5, 0.30901699437494742410, 0.95105651629515357212},
  };
  size_t i;

  (void)state;
  for (i = 0; i < sizeof known / sizeof *known; i++) {
    double c, s;

    tlg_cos_sin(known[i].num, known[i].den, &c, &s);
    assert_true(ulps(c, known[i].c, 1) <= 1);
    assert_true(ulps(s, known[i].s, 1) <= 1);
    if (known[i].c == 0 || fabs(known[i].c) == 1) { /* on the axes there is no error at all */
      assert_true(c == known[i].c && s == known[i].s);
    }
  }
}

static void against_long_doubles(void **state)
{
  static const uint64_t dens[] = {3, 625, 768, 12287, 1000003, (uint64_t)1 << 40, UINT64_MAX / 3};
  size_t d, k;

  (void)state;
  for (d = 0; d < sizeof dens / sizeof *dens; d++) {
    for (k = 0; k < 2000; k++) {
      const uint64_t num = dens[d] / 2000 * k + k;
      const long double angle = 2 * 3.14159265358979323846264338327950288L * (long double)(num % dens[d]) / dens[d];
      double c, s;

      tlg_cos_sin(num, dens[d], &c, &s);
      assert_true(ulps(c, cosl(angle), 1) <= 1.0);
      assert_true(ulps(s, sinl(angle), 1) <= 1.0);
    }
  }
}

/* Mirrored angles give equal values to the last bit: symmetric taps depend on it. */
static void symmetric_angles(void **state)
{
  static const uint64_t dens[] = {8, 625, 768, 24574, (uint64_t)1 << 33};
  size_t d, k;

  (void)state;
  for (d = 0; d < sizeof dens / sizeof *dens; d++) {
    const uint64_t n = dens[d];

    for (k = 1; k < 300; k++) {
      const uint64_t a = n / 300 * k + k % (n < 300 ? n : 300);
      double c, s, c2, s2;

      tlg_cos_sin(a % n, n, &c, &s);
      tlg_cos_sin((n - a % n) % n, n, &c2, &s2);
      assert_true(c == c2 && s == -s2);
      if (n % 2 == 0) {
        tlg_cos_sin((a + n / 2) % n, n, &c2, &s2);
        assert_true(c == -c2 && s == -s2);
      }
      if (n % 4 == 0) {
        tlg_cos_sin((a + n / 4) % n, n, &c2, &s2);
        assert_true(s == -c2 && c == s2);
      }
    }
  }
}

static void exponentials(void **state)
{
  int i;

  (void)state;
  assert_true(tlg_exp(0) == 1);
  for (i = -3000; i <= 3000; i++) {
    const double x = i / 10.0;

    assert_true(ulps(tlg_exp(x), expl(x), (double)expl(x)) <= 2.0);
  }
  /* 10^(db/20) also carries the error of its exponent, which grows with it. */
  assert_true(tlg_amplitude(0) == 1);
  for (i = -400; i <= 400; i++) {
    const long double exact = powl(10, i / 20.0L);

    assert_true(ulps(tlg_amplitude(i), exact, (double)exact) <= 2.0 + fabs(i * 0.1152));
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(known_angles),
      cmocka_unit_test(against_long_doubles),
      cmocka_unit_test(symmetric_angles),
      cmocka_unit_test(exponentials),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
