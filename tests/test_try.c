/* SPDX-License-Identifier: Apache-2.0 */
/* The diagnosis on arrays: each kind of mistake made in a few lines here, and the name it must get; verdicts by
 * tolerance; and that what is right, or wrong beyond knowledge, gets no false name. */
#include "tlg_golden.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 6000 };

static struct tlg_vector v;
static struct tlg_taps taps;
static tlg_cs16 in[MOST], expected[MOST], got[MOST + 100];
static struct tlg_segment *segments;
static struct tlg_try t;
static struct tlg_diagnosis d;

/* A vector by its properties; expected is filled, got is a copy of it. */
static void set_up(const char *generator, const char *extra_key, const char *extra)
{
  struct tlg_error err = {.text = ""};
  uint64_t outputs;
  size_t n;

  tlg_taps_free(&taps);
  free(segments);
  segments = NULL;
  tlg_vector_init(&v);
  assert_int_equal(tlg_vector_set(&v, "id", "x", &err), 0);
  assert_int_equal(tlg_vector_set(&v, "generator.kind", generator, &err), 0);
  assert_int_equal(tlg_vector_set(&v, "inputs", "4344", &err), 0);
  assert_int_equal(tlg_vector_set(&v, "packet", "362", &err), 0);
  if (extra_key) {
    assert_int_equal(tlg_vector_set(&v, extra_key, extra, &err), 0);
  }
  assert_int_equal(tlg_vector_finish(&v, &err), 0);
  assert_int_equal(tlg_vector_taps(&v, &taps, &err), 0);
  assert_int_equal(tlg_vector_input(&v, &taps, in, &err), 0);
  assert_int_equal(tlg_vector_segments(&v, taps.n, &segments, &n, &outputs, &err), 0);
  assert_true(outputs < MOST);
  tlg_vector_expected(&v, &taps, in, segments, n, expected);
  memcpy(got, expected, sizeof expected);
  memset(&t, 0, sizeof t);
  t.vector = &v;
  t.taps = &taps;
  t.in = in;
  t.segments = segments;
  t.n_segments = n;
  t.expected = expected;
  t.n_expected = t.n_got = (size_t)outputs;
  t.got = got;
}

static void names(enum tlg_cause cause, const char *text)
{
  memset(&d, 0, sizeof d);
  assert_int_equal(tlg_diagnose(&t, &d), 0);
  if (d.cause != cause || !strstr(d.text, text) || d.pass != (cause == TLG_CAUSE_NONE)) {
    fail_msg("wanted %s with '%s', got %s: %s", tlg_cause_name(cause), text, tlg_cause_name(d.cause), d.text);
  }
}

static void test_right_is_right(void **state)
{
  (void)state;
  set_up("uniform", NULL, NULL);
  names(TLG_CAUSE_NONE, "exact");
  assert_true(isinf(d.signal_to_error_db) && d.signal_to_error_db > 0);
}

static void test_lengths(void **state)
{
  (void)state;
  set_up("uniform", NULL, NULL);
  t.n_got -= 445;
  names(TLG_CAUSE_SHORT, "445 outputs are missing at the end");
  t.n_got = 0;
  names(TLG_CAUSE_SILENT, "no output at all");
  t.n_got = t.n_expected + 4;
  names(TLG_CAUSE_LONG, "4 too many");
  t.n_got = t.n_expected;
  t.odd_bytes = 2;
  names(TLG_CAUSE_LONG, "2 bytes");
  t.odd_bytes = 0;
  memset(got, 0, sizeof got);
  names(TLG_CAUSE_SILENT, "zero");
}

static void shifted(int late)
{
  size_t k;

  for (k = 0; k < t.n_expected; k++) {
    const int64_t from = (int64_t)k - late;
    const tlg_cs16 zero = {0, 0};

    got[k] = from >= 0 && (size_t)from < t.n_expected ? expected[from] : zero;
  }
}

static void test_delays(void **state)
{
  static const int late[] = {1, -1, 3, 768, -17, 2000};
  size_t k;

  (void)state;
  for (k = 0; k < sizeof late / sizeof *late; k++) {
    set_up("uniform", NULL, NULL);
    shifted(late[k]);
    names(TLG_CAUSE_DELAY, late[k] > 0 ? "late" : "early");
    assert_int_equal(d.delay, late[k]);
  }
}

static void test_turned_samples(void **state)
{
  static const struct {
    enum tlg_cause cause;
    const char *text;
  } wanted[] = {{TLG_CAUSE_SWAPPED, "swapped"},
                {TLG_CAUSE_CONJUGATED, "mirrored"},
                {TLG_CAUSE_NEGATED, "wrong sign"},
                {TLG_CAUSE_BYTE_ORDER, "little endian"}};
  size_t c, k;

  (void)state;
  for (c = 0; c < 4; c++) {
    set_up("uniform", NULL, NULL);
    for (k = 0; k < t.n_got; k++) {
      const tlg_cs16 x = expected[k];
      const int i = -x.i > 32767 ? 32767 : -x.i, q = -x.q > 32767 ? 32767 : -x.q;

      got[k].i = c == 0 ? x.q : c == 2 ? (int16_t)i : c == 3 ? (int16_t)__builtin_bswap16((uint16_t)x.i) : x.i;
      got[k].q = c == 0 ? x.i : c < 3 ? (int16_t)q : (int16_t)__builtin_bswap16((uint16_t)x.q);
    }
    names(wanted[c].cause, wanted[c].text);
  }
}

static int16_t minus(int16_t x)
{
  return x == -32768 ? 32767 : (int16_t)-x;
}

/* Turned by -90 degrees, mirrored the other way, and one of I and Q lost. */
static void test_components(void **state)
{
  static const struct {
    enum tlg_cause cause;
    const char *text;
  } wanted[] = {{TLG_CAUSE_SWAPPED, "turned by -90"}, {TLG_CAUSE_CONJUGATED, "I has the wrong sign"},
                {TLG_CAUSE_SWAPPED, "both have"},     {TLG_CAUSE_COMPONENT, "Q is a copy of I"},
                {TLG_CAUSE_COMPONENT, "I is a copy"}, {TLG_CAUSE_COMPONENT, "Q is missing"},
                {TLG_CAUSE_COMPONENT, "I is missing"}};
  static const char *const kinds[] = {"uniform", "tone", "ofdm"};
  size_t c, g, k;

  (void)state;
  for (g = 0; g < 3; g++) {
    for (c = 0; c < sizeof wanted / sizeof *wanted; c++) {
      set_up(kinds[g], NULL, NULL);
      for (k = 0; k < t.n_got; k++) {
        const int16_t i = expected[k].i, q = expected[k].q;

        got[k].i = c == 0 || c == 4 ? q : c == 1 ? minus(i) : c == 2 ? minus(q) : c == 6 ? 0 : i;
        got[k].q = c == 0 || c == 2 ? minus(i) : c == 3 ? i : c == 5 ? 0 : q;
      }
      names(wanted[c].cause, wanted[c].text);
    }
  }
}

/* A tone that is turned by any angle may be called by no delay; noise that is right for long, and then is not, neither.
 */
static void test_no_delay_is_made_up(void **state)
{
  size_t k;

  (void)state;
  set_up("tone", NULL, NULL);
  for (k = 0; k < t.n_got; k++) { /* by 36.87 degrees */
    got[k].i = (int16_t)lrint(0.8 * expected[k].i - 0.6 * expected[k].q);
    got[k].q = (int16_t)lrint(0.6 * expected[k].i + 0.8 * expected[k].q);
  }
  names(TLG_CAUSE_UNKNOWN, "no known mistake");
  assert_int_equal(d.delay, 0);
  set_up("ofdm", NULL, NULL);
  for (k = 1200; k < t.n_got; k++) { /* late, and not exact, from the middle on */
    got[k].i = (int16_t)(expected[k - 3].i / 64 * 63);
    got[k].q = (int16_t)(expected[k - 3].q / 64 * 63);
  }
  names(TLG_CAUSE_UNKNOWN, "right up to output 1200 (input 976)"); /* 1200 * 625 / 768 = 976.56 */
  for (k = 3; k < t.n_got; k++) {                                  /* the same from the beginning is a delay */
    got[k].i = (int16_t)(expected[k - 3].i / 64 * 63);
    got[k].q = (int16_t)(expected[k - 3].q / 64 * 63);
  }
  names(TLG_CAUSE_DELAY, "3 outputs late");
}

static void test_gain_and_offset(void **state)
{
  size_t k;

  (void)state;
  set_up("ofdm", NULL, NULL);
  for (k = 0; k < t.n_got; k++) {
    got[k].i = (int16_t)(expected[k].i / 2);
    got[k].q = (int16_t)(expected[k].q / 2);
  }
  names(TLG_CAUSE_GAIN, "gain of 0.5: the shift is 15 instead of 14");
  for (k = 0; k < t.n_got; k++) {
    got[k].i = (int16_t)lrint(expected[k].i * 1.25);
    got[k].q = (int16_t)lrint(expected[k].q * 1.25);
  }
  names(TLG_CAUSE_GAIN, "gain of 1.25");
  for (k = 0; k < t.n_got; k++) {
    got[k].i = (int16_t)(expected[k].i + 40);
    got[k].q = expected[k].q;
  }
  names(TLG_CAUSE_OFFSET, "(40, 0)");
}

/* The sums before rounding, by the definition. */
static void sum(size_t m, int64_t *i, int64_t *q)
{
  const uint64_t at = (uint64_t)m * 625;
  uint64_t k;

  *i = *q = 0;
  for (k = 0; at % 768 + 768 * k < taps.n && k <= at / 768; k++) {
    const int64_t tap = taps.h[at % 768 + 768 * k];

    *i += tap * in[at / 768 - k].i;
    *q += tap * in[at / 768 - k].q;
  }
}

static int16_t clip(int64_t y)
{
  return (int16_t)(y > 32767 ? 32767 : y < -32768 ? -32768 : y);
}

/* The alignment is left out, or done unasked: by the definition, half the filter aside. */
static void test_alignment(void **state)
{
  int64_t i, q;
  size_t k;

  (void)state;
  set_up("uniform", "align", "true");
  for (k = 0; k < t.n_got; k++) {
    sum(k, &i, &q);
    got[k].i = clip((i + 8192) >> 14);
    got[k].q = clip((q + 8192) >> 14);
  }
  names(TLG_CAUSE_ALIGNMENT, "half the filter (6143/625 = 9.83 outputs) late");
  assert_int_equal(d.delay, 9);
  set_up("uniform", NULL, NULL);
  {
    static tlg_cs16 causal[MOST];
    const size_t n = t.n_got;

    memcpy(causal, expected, sizeof causal);
    set_up("uniform", "align", "true");
    memcpy(got, expected, sizeof expected);
    v.align = 0;
    memcpy(expected, causal, sizeof causal);
    t.n_expected = n;
  }
  names(TLG_CAUSE_ALIGNMENT, "aligned where the causal stream is wanted");
  assert_int_equal(d.delay, -9);
}

static void test_rounding_and_overflow(void **state)
{
  int64_t i, q;
  size_t k;

  (void)state;
  set_up("uniform", NULL, NULL);
  for (k = 0; k < t.n_got; k++) {
    sum(k, &i, &q);
    got[k].i = clip(i >> 14);
    got[k].q = clip(q >> 14);
  }
  names(TLG_CAUSE_TRUNCATED, "truncates");
  for (k = 0; k < t.n_got; k++) {
    sum(k, &i, &q);
    got[k].i = clip(i / 16384);
    got[k].q = clip(q / 16384);
  }
  names(TLG_CAUSE_TOWARD_ZERO, "toward zero");
  for (k = 0; k < t.n_got; k++) {
    sum(k, &i, &q);
    got[k].i = (int16_t)(uint16_t)((i + 8192) >> 14);
    got[k].q = (int16_t)(uint16_t)((q + 8192) >> 14);
  }
  names(TLG_CAUSE_WRAP, "wraps");
  set_up("uniform", "rounding", "usrpl0");
  for (k = 0; k < t.n_got; k++) {
    sum(k, &i, &q);
    got[k].i = (int16_t)(uint16_t)((i + 8192) >> 14);
    got[k].q = (int16_t)(uint16_t)((q + 8192) >> 14);
  }
  names(TLG_CAUSE_NEAREST, "nearest where it has to truncate");
  for (k = 0; k < t.n_got; k++) {
    sum(k, &i, &q);
    got[k].i = clip(i >> 14);
    got[k].q = clip(q >> 14);
  }
  names(TLG_CAUSE_SATURATE, "saturates where it has to wrap");
}

/* Truncation is also known by its errors alone, where the model does not fit: here one more sample is wrong. */
static void test_statistics(void **state)
{
  uint32_t random = 1;
  int64_t i, q;
  size_t k;

  (void)state;
  set_up("ofdm", NULL, NULL);
  for (k = 0; k < t.n_got; k++) {
    sum(k, &i, &q);
    got[k].i = clip(i >> 14);
    got[k].q = clip(q >> 14);
  }
  for (k = 1; k < t.n_got; k += 100) { /* so that the model of truncation does not fit everywhere */
    got[k].i = (int16_t)(expected[k].i - 1);
  }
  names(TLG_CAUSE_TRUNCATED, "about half");
  set_up("ofdm", NULL, NULL);
  for (k = 0; k < t.n_got; k++) {
    random = random * 1664525 + 1013904223;
    got[k].i = (int16_t)(expected[k].i + (int)(random >> 30) % 2 - (int)(random >> 28 & 1));
  }
  names(TLG_CAUSE_NOISE, "off by 1");
  for (k = 0; k < t.n_got; k++) { /* something else altogether */
    random = random * 1664525 + 1013904223;
    got[k].i = (int16_t)(random >> 16);
    got[k].q = (int16_t)(random >> 8);
  }
  names(TLG_CAUSE_UNKNOWN, "no known mistake");
}

static void test_places(void **state)
{
  size_t k, p, at;

  (void)state;
  set_up("uniform", NULL, NULL);
  for (k = 413; k < t.n_got; k += 768) {
    got[k].i ^= 0x40;
  }
  names(TLG_CAUSE_PERIOD, "768 outputs (625 inputs): 1 of 768 phases");
  set_up("uniform", NULL, NULL);
  for (k = 0; k < 12; k++) {
    got[k].q ^= 0x100;
  }
  names(TLG_CAUSE_START, "first 12 outputs");
  set_up("uniform", NULL, NULL);
  for (p = 1, at = (size_t)segments[0].n; p < t.n_segments; at += (size_t)segments[p++].n) {
    got[at].i ^= 0x200;
    got[at + 3].i ^= 0x200;
  }
  names(TLG_CAUSE_BORDER, "packet border");
  set_up("uniform", NULL, NULL);
  for (p = 0, at = 0; p < t.n_segments; at += (size_t)segments[p++].n) {
    for (k = (size_t)segments[p].n / 16 * 16; k < segments[p].n; k++) {
      got[at + k].i ^= 2;
    }
  }
  names(TLG_CAUSE_TAIL, "last full group of 16");
  set_up("uniform", NULL, NULL);
  for (p = 0, at = 0; p < t.n_segments; at += (size_t)segments[p++].n) {
    for (k = 3; k < segments[p].n; k += 8) {
      got[at + k].q ^= 4;
    }
  }
  names(TLG_CAUSE_TAIL, "every 8th output");
  set_up("uniform", NULL, NULL);
  for (k = 500; k < t.n_got; k += 500) { /* bursts that fit neither packets nor phases */
    got[k].i ^= 0x400;
    got[k + 1].i ^= 0x400;
  }
  names(TLG_CAUSE_PERIOD, "about every 500 outputs");
}

static void test_slips(void **state)
{
  (void)state;
  set_up("uniform", NULL, NULL);
  memmove(got + 1000, got + 1003, (t.n_got - 1003) * sizeof *got);
  t.n_got -= 3;
  names(TLG_CAUSE_DROPPED, "3 outputs are missing in mid-stream, at output 1000 (packet 2");
  set_up("uniform", NULL, NULL);
  memmove(got + 2002, got + 2000, (t.n_got - 2000) * sizeof *got);
  t.n_got += 2;
  names(TLG_CAUSE_DOUBLED, "2 outputs are too many in mid-stream");
}

static void test_tolerances(void **state)
{
  size_t k;

  (void)state;
  set_up("ofdm", NULL, NULL);
  for (k = 0; k < t.n_got; k += 2) {
    got[k].i = (int16_t)(expected[k].i + 2);
  }
  t.tolerance.kind = TLG_TOLERANCE_LSB;
  t.tolerance.lsb = 2;
  names(TLG_CAUSE_NONE, "within tolerance");
  t.tolerance.lsb = 1;
  assert_int_equal(tlg_diagnose(&t, &d), 0);
  assert_false(d.pass);
  t.tolerance.kind = TLG_TOLERANCE_DB;
  t.tolerance.db = d.signal_to_error_db - 0.1;
  names(TLG_CAUSE_NONE, "within tolerance");
  t.tolerance.db = d.signal_to_error_db + 0.1;
  assert_int_equal(tlg_diagnose(&t, &d), 0);
  assert_false(d.pass);
  t.tolerance.db = 10; /* too short never passes */
  t.n_got--;
  assert_int_equal(tlg_diagnose(&t, &d), 0);
  assert_false(d.pass);
}

static void test_signal_to_error_is_what_it_says(void **state)
{
  double error, signal = 0;
  size_t k;

  (void)state;
  set_up("ofdm", NULL, NULL);
  for (k = 0; k < t.n_got; k++) {
    signal += (double)expected[k].i * expected[k].i + (double)expected[k].q * expected[k].q;
    got[k].i = (int16_t)(expected[k].i + 10);
  }
  error = 100.0 * (double)t.n_got;
  assert_int_equal(tlg_diagnose(&t, &d), 0);
  assert_true(fabs(d.signal_to_error_db - 10 * log10(signal / error)) < 1e-6);
}

static void test_causes_have_names(void **state)
{
  int c, k;

  (void)state;
  for (c = 0; c <= TLG_CAUSE_UNKNOWN; c++) {
    assert_non_null(tlg_cause_name((enum tlg_cause)c));
    for (k = 0; k < c; k++) {
      assert_string_not_equal(tlg_cause_name((enum tlg_cause)c), tlg_cause_name((enum tlg_cause)k));
    }
  }
  assert_string_equal(tlg_cause_name((enum tlg_cause)1000), "?");
}

static int tear_down(void **state)
{
  (void)state;
  tlg_taps_free(&taps);
  free(segments);
  return 0;
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_right_is_right),
      cmocka_unit_test(test_lengths),
      cmocka_unit_test(test_delays),
      cmocka_unit_test(test_turned_samples),
      cmocka_unit_test(test_components),
      cmocka_unit_test(test_no_delay_is_made_up),
      cmocka_unit_test(test_alignment),
      cmocka_unit_test(test_gain_and_offset),
      cmocka_unit_test(test_rounding_and_overflow),
      cmocka_unit_test(test_statistics),
      cmocka_unit_test(test_places),
      cmocka_unit_test(test_slips),
      cmocka_unit_test(test_tolerances),
      cmocka_unit_test(test_signal_to_error_is_what_it_says),
      cmocka_unit_test(test_causes_have_names),
  };

  return cmocka_run_group_tests(tests, NULL, tear_down);
}
