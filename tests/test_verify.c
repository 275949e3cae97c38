/* SPDX-License-Identifier: Apache-2.0 */
/* Differences between runs of samples: where the first is, how many, how large, and what the one line says. */
#include "tlg_golden.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const tlg_cs16 a[4] = {{1, 2}, {3, 4}, {-32768, 5}, {7, 8}};

static void test_compare(void **state)
{
  tlg_cs16 b[4];
  struct tlg_difference d;

  (void)state;
  memcpy(b, a, sizeof b);
  assert_false(tlg_compare(a, 4, b, 4, &d));
  assert_true(d.n_bad == 0 && d.largest == 0);
  assert_false(tlg_compare(a, 0, b, 0, &d));
  b[2].i = 32767;
  b[3].q = 9;
  assert_true(tlg_compare(a, 4, b, 4, &d));
  assert_true(d.n_bad == 2 && d.first == 2 && d.largest == 65535 && !d.missing && !d.excess);
  assert_true(tlg_compare(a, 4, b, 3, &d));
  assert_true(d.n_bad == 2 && d.first == 2 && d.missing == 1);
  assert_true(tlg_compare(a, 2, b, 4, &d));
  assert_true(d.n_bad == 2 && d.first == 2 && d.excess == 2 && d.largest == 0);
}

static void test_text(void **state)
{
  const struct tlg_segment segments[2] = {{768, 2, 0}, {770, 2, 2}};
  struct tlg_vector v;
  struct tlg_difference d;
  tlg_cs16 b[4];
  char text[400];

  (void)state;
  tlg_vector_init(&v);
  v.up = 1536; /* 768/625 */
  v.down = 1250;
  memcpy(b, a, sizeof b);
  b[3].i = 17;
  assert_true(tlg_compare(a, 4, b, 4, &d));
  tlg_difference_text(&v, segments, 2, 100, &d, a, 4, b, 4, text, sizeof text);
  /* output 771 = packet 1, 25.09765625 us, phase (771 * 625 + 100) mod 768 = 439 */
  assert_string_equal(text,
                      "first bad output 771 (25.097656 us, packet 1, phase 439): expected (7, 8), got (17, 8); 1 of 4 "
                      "differ, by at most 10");
  assert_true(tlg_compare(a, 4, b, 3, &d));
  tlg_difference_text(&v, segments, 2, 0, &d, a, 4, b, 3, text, sizeof text);
  assert_non_null(strstr(text, "expected (7, 8), got nothing"));
  assert_non_null(strstr(text, "; 1 output too few"));
  assert_true(tlg_compare(a, 3, a, 4, &d));
  tlg_difference_text(&v, segments, 2, 0, &d, a, 3, a, 4, text, sizeof text);
  assert_non_null(strstr(text, "expected nothing, got (7, 8)"));
}

static void test_taps_hash(void **state)
{
  int16_t h[2] = {1, -2};
  const struct tlg_taps taps = {h, 2, 1, 14};
  /* S, L, N as little-endian uint32, then the taps */
  const unsigned char bytes[16] = {14, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0xfe, 0xff};
  char x[65], y[65];

  (void)state;
  tlg_sha256_taps(&taps, x);
  tlg_sha256_bytes(bytes, sizeof bytes, y);
  assert_string_equal(x, y);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_compare),
      cmocka_unit_test(test_text),
      cmocka_unit_test(test_taps_hash),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
