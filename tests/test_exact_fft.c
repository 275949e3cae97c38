/* SPDX-License-Identifier: Apache-2.0 */
/* The exact transform against the plain sum that defines it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "exact_fft.h"

#include <math.h>
#include <stdlib.h>

static const long double two_pi = 6.283185307179586476925286766559L;

static double *aligned(size_t n)
{
  void *p = NULL;

  assert_int_equal(posix_memalign(&p, 64, n * sizeof(double)), 0);
  return p;
}

static void fill(double *re, double *im, size_t n)
{
  uint32_t word = 12345;
  size_t i;

  for (i = 0; i < n; i++) {
    word = word * 1664525u + 1013904223u;
    re[i] = (double)(int32_t)word / 2147483648.0;
    word = word * 1664525u + 1013904223u;
    im[i] = (double)(int32_t)word / 2147483648.0;
  }
}

static void equals_plain_sum(void **state)
{
  static const size_t sizes[] = {4, 8, 12, 16, 24, 32, 48, 64, 96, 192, 384, 512, 1024, 1536, 3072};
  size_t t;

  (void)state;
  for (t = 0; t < sizeof sizes / sizeof *sizes; t++) {
    const size_t n = sizes[t];
    struct exact_fft *f = exact_fft_new(n);
    double *re = aligned(n), *im = aligned(n), *xr = aligned(n), *xi = aligned(n);
    unsigned char *seen = calloc(n, 1);
    size_t k, i;

    assert_non_null(f);
    fill(xr, xi, n);
    fill(re, im, n);
    exact_fft_forward(f, re, im);
    for (k = 0; k<n; k += n> 512 ? 37 : 1) {
      const size_t at = exact_fft_place(f, k);
      long double sr = 0, si = 0;

      assert_in_range(at, 0, n - 1);
      assert_false(seen[at]);
      seen[at] = 1;
      for (i = 0; i < n; i++) {
        const long double a = -two_pi * (long double)(k * i % n) / (long double)n;

        sr += xr[i] * cosl(a) - xi[i] * sinl(a);
        si += xr[i] * sinl(a) + xi[i] * cosl(a);
      }
      /* each of log2 n stages adds at most a few units in the last place of a value of size sqrt(n) */
      assert_true(fabsl(sr - re[at]) < 4e-15L * sqrtl((long double)n) * 12);
      assert_true(fabsl(si - im[at]) < 4e-15L * sqrtl((long double)n) * 12);
    }
    exact_fft_backward(f, re, im);
    for (i = 0; i < n; i++) {
      assert_true(fabs(re[i] / (double)n - xr[i]) < 1e-13);
      assert_true(fabs(im[i] / (double)n - xi[i]) < 1e-13);
    }
    free(seen);
    free(re);
    free(im);
    free(xr);
    free(xi);
    exact_fft_free(f);
  }
}

static void sizes(void **state)
{
  (void)state;
  assert_int_equal(exact_fft_size(1), 4);
  assert_int_equal(exact_fft_size(5), 8);
  assert_int_equal(exact_fft_size(9), 12);
  assert_int_equal(exact_fft_size(2049), 3072);
  assert_int_equal(exact_fft_size(3073), 4096);
  assert_int_equal(exact_fft_size(((size_t)1 << 24) + 1), 0);
  assert_null(exact_fft_new(0));
  assert_null(exact_fft_new(2));
  assert_null(exact_fft_new(6));
  assert_null(exact_fft_new(20));
  exact_fft_free(NULL);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(equals_plain_sum),
      cmocka_unit_test(sizes),
  };

  return cmocka_run_group_tests_name("exact_fft", tests, NULL, NULL);
}
