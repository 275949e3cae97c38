/* SPDX-License-Identifier: Apache-2.0 */
/* Taps as objects: copies, refusals with the phase named, symmetry, and the built-in taps. */
#include "tlg_dsp.h"
#include "tlg_files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct tlg_rate rate(const char *text)
{
  struct tlg_rate r = {0, 0};

  assert_int_equal(tlg_rate_parse(&r, text), TLG_OK);
  return r;
}

static void copies(void **state)
{
  const int16_t h[] = {1, -2, 3, -4, 5};
  struct tlg_taps t;
  struct tlg_error err;

  (void)state;
  assert_int_equal(tlg_taps_copy(&t, h, 5, 2, 3, &err), TLG_OK);
  assert_ptr_not_equal(t.h, h);
  assert_memory_equal(t.h, h, sizeof h);
  assert_int_equal(t.n, 5);
  assert_int_equal(t.up, 2);
  assert_int_equal(t.shift, 3);
  tlg_taps_free(&t);
  assert_null(t.h);
  tlg_taps_free(&t);
  tlg_taps_free(NULL);
}

/* Whether a copy is refused, and taps left alone, with this status and word. */
static void refused(const int16_t *h, size_t n, uint32_t up, unsigned shift, int status, const char *word)
{
  struct tlg_taps t = {NULL, 77, 0, 0};
  struct tlg_error err;

  assert_int_equal(tlg_taps_copy(&t, h, n, up, shift, &err), status);
  assert_int_equal(err.status, status);
  assert_non_null(strstr(err.text, word));
  assert_int_equal(t.n, 77);
  assert_int_equal(tlg_taps_copy(&t, h, n, up, shift, NULL), status);
}

static void refusals(void **state)
{
  int16_t h[] = {1, 32767, 1, 32767, 1, 1};
  struct tlg_taps t;

  (void)state;
  refused(NULL, 1, 1, 14, TLG_EINVAL, "no taps");
  refused(h, 0, 1, 14, TLG_EINVAL, "no taps");
  refused(h, 4, 1, 0, TLG_EINVAL, "shift");
  refused(h, 4, 1, 16, TLG_EINVAL, "shift");
  refused(h, 4, 0, 14, TLG_EINVAL, "factor");
  refused(h, 4, 65536, 14, TLG_EINVAL, "factor");
  /* Phase 1 of 2: 32767 + 32767 + 1 = 65535 is the most at S = 14, floor((2^31 - 1 - 2^13) / 32768). */
  assert_int_equal(tlg_taps_copy(&t, h, 6, 2, 14, NULL), TLG_OK);
  tlg_taps_free(&t);
  h[5] = -2;
  refused(h, 6, 2, 14, TLG_ETAPS, "phase 1 ");
  h[5] = 1;
  h[3] = -32767; /* the sign does not matter */
  assert_int_equal(tlg_taps_copy(&t, h, 6, 2, 14, NULL), TLG_OK);
  tlg_taps_free(&t);
  h[3] = 1;
  h[4] = INT16_MIN;
  refused(h, 6, 2, 14, TLG_ETAPS, "tap 4 is -32768 (phase 0)");
  assert_int_equal(tlg_taps_check(NULL, NULL), TLG_EINVAL);
}

/* The accumulator of the worst input really stays inside int32 at the limit, and leaves it one above. */
static void limit_is_sharp(void **state)
{
  unsigned shift;

  (void)state;
  for (shift = 1; shift <= 15; shift++) {
    const int16_t h[] = {-32767, -32767, -1};
    struct tlg_taps t = {(int16_t *)(uintptr_t)h, 3, 1, shift};
    struct tlg_phases p;
    int64_t acc;

    tlg_taps_phases(&t, &p);
    acc = (int64_t)p.magnitude_limit * 32768 + ((int64_t)1 << (shift - 1));
    assert_true(acc <= INT32_MAX);
    assert_true(acc + 32768 > INT32_MAX);
    assert_int_equal(p.magnitude, 65535);
    assert_int_equal(tlg_taps_check(&t, NULL), p.magnitude_limit >= 65535 ? TLG_OK : TLG_ETAPS);
  }
}

static void symmetry(void **state)
{
  int16_t odd[] = {3, -1, 7, -1, 3}, even[] = {3, -1, -1, 3};
  struct tlg_taps t = {odd, 5, 1, 14};

  (void)state;
  assert_true(tlg_taps_symmetric(&t));
  odd[0] = 2;
  assert_false(tlg_taps_symmetric(&t));
  t.h = even;
  t.n = 4;
  assert_true(tlg_taps_symmetric(&t));
  even[2] = 0;
  assert_false(tlg_taps_symmetric(&t));
  t.n = 1;
  assert_true(tlg_taps_symmetric(&t));
}

static void phases(void **state)
{
  /* Phase 0: 5 + 100 - 1 = 104 (106), phase 1: -7 + 20 = 13 (27), phase 2: 30 + 0 = 30 (30). */
  int16_t h[] = {5, -7, 30, 100, 20, 0, -1};
  struct tlg_taps t = {h, 7, 3, 14};
  struct tlg_phases p;

  (void)state;
  tlg_taps_phases(&t, &p);
  assert_int_equal(p.sum_min, 13);
  assert_int_equal(p.sum_min_at, 1);
  assert_int_equal(p.sum_max, 104);
  assert_int_equal(p.sum_max_at, 0);
  assert_int_equal(p.magnitude, 106);
  assert_int_equal(p.magnitude_at, 0);
  assert_int_equal(p.magnitude_limit, 65535);
}

/* The built-in taps are the ones whose hash is known here, and what the default design gives on this machine. */
static void built_in(void **state)
{
  static const struct {
    const char *in, *out;
    size_t n;
    const char *sha256;
  } known[] = {
      {"25M", "30.72M", 12287, "2155432140d9a745dccb5a90a4309160537de0b54cb9a0608ac18dedb8c5403e"},
      {"30.72M", "25M", 12499, "10c738b6aebc5492fd202c7ef5dabd61dd63b9bc96e35ea347120dddb28bf9c3"},
  };
  size_t i;

  (void)state;
  for (i = 0; i < 2; i++) {
    const struct tlg_rate in = rate(known[i].in), out = rate(known[i].out);
    struct tlg_design design;
    struct tlg_taps data, made;
    struct tlg_phases p;
    char hash[65];

    assert_int_equal(tlg_taps_default(&data, &in, &out, NULL), TLG_OK);
    assert_int_equal(data.n, known[i].n);
    assert_int_equal(data.shift, 14);
    tlg_taps_hash(&data, hash);
    assert_string_equal(hash, known[i].sha256);
    assert_true(tlg_taps_symmetric(&data));
    tlg_taps_phases(&data, &p);
    assert_int_equal(p.sum_min, 16384);
    assert_int_equal(p.sum_max, 16384);
    assert_int_equal(tlg_design_default(&design, &in, &out, NULL), TLG_OK);
    assert_int_equal(tlg_taps_design(&made, &design, NULL), TLG_OK);
    assert_int_equal(made.n, data.n);
    assert_memory_equal(made.h, data.h, data.n * sizeof *data.h);
    tlg_taps_free(&made);
    made = data; /* negative control: one unit elsewhere is another hash */
    made.h[100]++;
    tlg_taps_hash(&made, hash);
    assert_string_not_equal(hash, known[i].sha256);
    tlg_taps_free(&data);
  }
}

/* The ratio counts, not how it is written; the gcd is taken out. */
static void same_ratio_same_taps(void **state)
{
  static const char *const pairs[][2] = {
      {"25M", "30.72M"}, {"50M", "61.44M"}, {"625", "768"}, {"1250", "1536"}, {"25M/3", "30.72M/3"}};
  struct tlg_taps first, t;
  size_t i;

  (void)state;
  for (i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    const struct tlg_rate in = rate(pairs[i][0]), out = rate(pairs[i][1]);

    assert_int_equal(tlg_taps_default(&t, &in, &out, NULL), TLG_OK);
    if (i == 0) {
      first = t;
      continue;
    }
    assert_int_equal(t.n, first.n);
    assert_memory_equal(t.h, first.h, t.n * sizeof *t.h);
    tlg_taps_free(&t);
  }
  tlg_taps_free(&first);
}

static void one_to_one(void **state)
{
  const struct tlg_rate in = rate("25M"), zero = {0, 0}, odd = rate("25000001");
  struct tlg_taps t;
  struct tlg_error err;

  (void)state;
  assert_int_equal(tlg_taps_default(&t, &in, &in, NULL), TLG_OK);
  assert_int_equal(t.n, 1);
  assert_int_equal(t.up, 1);
  assert_int_equal(t.h[0], 16384);
  assert_int_equal(t.shift, 14);
  tlg_taps_free(&t);
  assert_int_equal(tlg_taps_default(&t, &in, &zero, &err), TLG_EINVAL);
  assert_int_equal(tlg_taps_default(&t, &in, &odd, &err), TLG_EINVAL);
  assert_non_null(strstr(err.text, "65535"));
  assert_int_equal(tlg_taps_default(&t, NULL, &in, &err), TLG_EINVAL);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(copies),
      cmocka_unit_test(refusals),
      cmocka_unit_test(limit_is_sharp),
      cmocka_unit_test(symmetry),
      cmocka_unit_test(phases),
      cmocka_unit_test(built_in),
      cmocka_unit_test(same_ratio_same_taps),
      cmocka_unit_test(one_to_one),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
