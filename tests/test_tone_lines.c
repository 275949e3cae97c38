/* SPDX-License-Identifier: Apache-2.0 */
/* What the peers are measured by: tones with a known image, ripple and noise read as what they are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "compare.h"
#include "tone_lines.h"

#include <math.h>
#include <stdlib.h>

/* The 61 tones at 30.72 Msps, the k-th of size 1 + (k == odd_one) * more; one more line of size image at image_line. */
static double *tones(int odd_one, double more, int image_line, double image)
{
  double *x = calloc(2 * LINES_OUT, sizeof *x), *c = malloc(LINES_OUT * sizeof *c);
  int k, n;

  assert_non_null(x);
  assert_non_null(c);
  for (n = 0; n < LINES_OUT; n++) {
    c[n] = cos(6.283185307179586 * n / LINES_OUT);
  }
  for (k = -30; k <= 31; k++) {
    const int line = k == 31 ? image_line : (601 * k + LINES_OUT) % LINES_OUT;
    const double size = k == 31 ? image : k == odd_one ? 1 + more : 1;

    for (n = 0; n < LINES_OUT && size > 0; n++) {
      const int p = (int)((int64_t)line * n % LINES_OUT);

      x[2 * n] += size * c[p];
      x[2 * n + 1] += size * c[(p + 3 * LINES_OUT / 4) % LINES_OUT];
    }
  }
  free(c);
  return x;
}

static void clean_tones(void **state)
{
  double *x = tones(0, 0, 0, 0);
  struct tone_lines r;

  (void)state;
  assert_int_equal(tone_lines_measure(&r, x), 0);
  assert_true(r.worst_dbc < -240);
  assert_true(r.total_dbc < -200);
  assert_true(r.ripple_db < 1e-9);
  free(x);
}

static void image_is_found(void **state)
{
  double *x = tones(0, 0, LINES_OUT - 2 * 5720, 1e-3); /* the image of the tone at 0: 25 - 30.72 = -5.72 MHz */
  struct tone_lines r;

  (void)state;
  assert_int_equal(tone_lines_measure(&r, x), 0);
  assert_true(fabs(r.worst_dbc + 60) < 1e-6);
  assert_true(r.worst_hz == -5720000.0);
  assert_true(fabs(r.total_dbc + 60 + 10 * log10(61)) < 1e-6);
  free(x);
}

static void ripple_is_found(void **state)
{
  double *x = tones(17, pow(10, 0.1 / 20) - 1, 0, 0);
  struct tone_lines r;

  (void)state;
  assert_int_equal(tone_lines_measure(&r, x), 0);
  assert_true(fabs(r.ripple_db - 0.1 * 60 / 61) < 1e-6); /* from the mean, which one tone of 61 moves */
  assert_true(r.worst_dbc < -240);
  free(x);
}

static void silence_is_refused(void **state)
{
  double *x = calloc(2 * LINES_OUT, sizeof *x);
  struct tone_lines r;

  (void)state;
  assert_non_null(x);
  assert_int_equal(tone_lines_measure(&r, x), -1);
  free(x);
}

static void medians(void **state)
{
  double one[] = {5}, odd[] = {3, 1, 2}, even[] = {4, 1, 3, 2};

  (void)state;
  assert_true(compare_median(one, 1) == 5);
  assert_true(compare_median(odd, 3) == 2);
  assert_true(compare_median(even, 4) == 2);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(clean_tones),        cmocka_unit_test(image_is_found), cmocka_unit_test(ripple_is_found),
      cmocka_unit_test(silence_is_refused), cmocka_unit_test(medians),
  };

  return cmocka_run_group_tests_name("tone_lines", tests, NULL, NULL);
}
