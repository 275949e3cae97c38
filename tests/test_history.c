/* SPDX-License-Identifier: Apache-2.0 */
/* usrpL0's own forms and the library's resampler give the same bytes: two independent ways to the same arithmetic. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "history.h"
#include "tlg_dsp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { UP = 768, DOWN = 625, MS_IN = 25000, MS_OUT = 30720, BLOCKS = 3 };

static tlg_cs16 *input(int kind)
{
  static const int16_t corners[2] = {INT16_MIN, INT16_MAX};
  const size_t n = (size_t)MS_IN * BLOCKS;
  tlg_cs16 *x = calloc(n, sizeof *x);
  size_t k;

  assert_non_null(x);
  for (k = 0; k < n; k++) {
    const uint32_t counter[4] = {(uint32_t)k, 0, 0, 0}, key[2] = {77, (uint32_t)kind};
    uint32_t w[4];

    tlg_philox(counter, key, w);
    x[k].i = kind ? corners[w[0] & 1] : (int16_t)(w[0] >> 16);
    x[k].q = kind ? corners[w[1] & 1] : (int16_t)(w[1] >> 16);
  }
  return x;
}

static void design(struct tlg_taps *taps, size_t n)
{
  const struct tlg_design d = {.rate_in = {25000000, 1},
                               .rate_out = {30720000, 1},
                               .n_taps = n,
                               .taps_per_phase = (unsigned)((n + UP - 1) / UP)};
  struct tlg_error err = {.text = ""};

  if (tlg_taps_design(taps, &d, &err)) {
    fail_msg("%s", err.text);
  }
}

/* The normative formula, term by term in 64 bits. */
static tlg_cs16 by_formula(const struct tlg_taps *taps, const tlg_cs16 *x, uint64_t m)
{
  const uint64_t q = m * DOWN, p = q % UP;
  int64_t i = (int64_t)(q / UP), acc_i = 0, acc_q = 0;
  uint64_t at;

  for (at = p; at < taps->n && i >= 0; at += UP, i--) {
    acc_i += taps->h[at] * x[i].i;
    acc_q += taps->h[at] * x[i].q;
  }
  return (tlg_cs16){(int16_t)(uint16_t)((uint64_t)(acc_i >> taps->shift) & 0xffff),
                    (int16_t)(uint16_t)((uint64_t)(acc_q >> taps->shift) & 0xffff)};
}

static tlg_cs16 *ours(const struct tlg_taps *taps, const tlg_cs16 *x, enum tlg_cpu cpu)
{
  const struct tlg_resamp_cfg cfg = {.up = UP, .down = DOWN, .taps = taps, .rounding = TLG_ROUND_USRPL0, .cpu = cpu};
  const size_t n_in = (size_t)MS_IN * BLOCKS, n_out = (size_t)MS_OUT * BLOCKS;
  tlg_cs16 *y = calloc(n_out, sizeof *y);
  size_t done_in = 0, done_out = 0, got;
  struct tlg_resamp *r;

  assert_int_equal(tlg_resamp_new(&r, &cfg, NULL), TLG_OK);
  while (done_in < n_in) {
    const size_t n = n_in - done_in < 364 ? n_in - done_in : 364;

    assert_int_equal(tlg_resamp_process(r, x + done_in, n, y + done_out, n_out - done_out, &got), TLG_OK);
    done_in += n;
    done_out += got;
  }
  assert_int_equal(done_out, n_out);
  tlg_resamp_free(r);
  return y;
}

static void one_filter(size_t n_taps)
{
  static const enum tlg_cpu cpus[] = {TLG_CPU_C,      TLG_CPU_SSE2, TLG_CPU_AVX2,
                                      TLG_CPU_AVX512, TLG_CPU_VNNI, TLG_CPU_NEON};
  struct tlg_taps taps;
  int kind, form, buffer, whole, b;
  uint64_t m;
  size_t c;

  design(&taps, n_taps);
  for (kind = 0; kind < 2; kind++) {
    tlg_cs16 *x = input(kind), *y = ours(&taps, x, TLG_CPU_AUTO), *z = calloc((size_t)MS_OUT * BLOCKS, sizeof *z);

    for (m = 0; m < (uint64_t)MS_OUT * BLOCKS; m += 1 + m % 5) {
      const tlg_cs16 expected = by_formula(&taps, x, m);

      assert_memory_equal(&y[m], &expected, sizeof expected);
    }
    for (c = 0; c < sizeof cpus / sizeof *cpus; c++) {
      tlg_cs16 *other = ours(&taps, x, cpus[c]);

      assert_memory_equal(y, other, (size_t)MS_OUT * BLOCKS * sizeof *y);
      free(other);
    }
    for (form = 0; form < HISTORY_N_FORMS; form++) {
      for (buffer = 0; buffer < 2; buffer++) {
        for (whole = 0; whole < 2; whole++) {
          const size_t n_out = whole ? MS_OUT : UP, n_in = n_out / UP * DOWN;
          struct history *h;

          if (!history_available((enum history_form)form)) {
            continue;
          }
          h = history_new((enum history_form)form, (enum history_buffer)buffer, &taps, DOWN, n_out);
          assert_non_null(h);
          memset(z, 0x55, (size_t)MS_OUT * BLOCKS * sizeof *z);
          for (b = 0; b < (int)(BLOCKS * MS_OUT / n_out); b++) {
            assert_int_equal(history_run(h, x + (size_t)b * n_in, z + (size_t)b * n_out), 0);
          }
          history_free(h);
          if (memcmp(y, z, (size_t)MS_OUT * BLOCKS * sizeof *y) != 0) {
            fail_msg("%s differs from the library", history_name((enum history_form)form));
          }
        }
      }
    }
    free(x);
    free(y);
    free(z);
  }
  tlg_taps_free(&taps);
}

static void same_bytes_with_10000_taps(void **state)
{
  (void)state;
  one_filter(10000); /* branches of 14 and of 13 taps */
}

static void same_bytes_with_12287_taps(void **state)
{
  (void)state;
  one_filter(12287);
}

/* That the comparison can fail: one tap off by one, and a block that forgets what came before it. */
static void differences_show(void **state)
{
  tlg_cs16 *x = input(0), *z = calloc(MS_OUT, sizeof *z), *y;
  struct tlg_taps taps, wrong;
  struct history *h;

  (void)state;
  design(&taps, 10000);
  design(&wrong, 10000);
  wrong.h[5000]++;
  y = ours(&taps, x, TLG_CPU_AUTO);
  h = history_new(HISTORY_TABLES, HISTORY_BUFFER_ONCE, &wrong, DOWN, MS_OUT);
  assert_non_null(h);
  assert_int_equal(history_run(h, x, z), 0);
  assert_memory_not_equal(y, z, MS_OUT * sizeof *y);
  history_free(h);
  h = history_new(HISTORY_TABLES, HISTORY_BUFFER_ONCE, &taps, DOWN, UP);
  assert_non_null(h);
  assert_int_equal(history_run(h, x + DOWN, z), 0); /* the second packet as if it were the first */
  assert_memory_not_equal(y + UP, z, UP * sizeof *y);
  history_free(h);
  free(x);
  free(y);
  free(z);
  tlg_taps_free(&taps);
  tlg_taps_free(&wrong);
}

static void refusals(void **state)
{
  struct tlg_taps taps;

  (void)state;
  design(&taps, 10000);
  assert_null(history_new(HISTORY_TABLES, HISTORY_BUFFER_ONCE, &taps, DOWN, UP + 1));
  assert_null(
      history_new(HISTORY_TABLES, HISTORY_BUFFER_ONCE, &taps, DOWN, 2 * MS_OUT)); /* 75,000 shorts hold no 2 ms */
  assert_null(history_new(HISTORY_N_FORMS, HISTORY_BUFFER_ONCE, &taps, DOWN, UP));
  assert_string_equal(history_name(HISTORY_N_FORMS), "?");
  tlg_taps_free(&taps);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(same_bytes_with_10000_taps),
      cmocka_unit_test(same_bytes_with_12287_taps),
      cmocka_unit_test(differences_show),
      cmocka_unit_test(refusals),
  };

  return cmocka_run_group_tests_name("history", tests, NULL, NULL);
}
