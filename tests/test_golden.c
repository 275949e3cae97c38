/* SPDX-License-Identifier: Apache-2.0 */
/* A vector's properties by name, the plain list, packet cuts, segments against counting, and the promises that a run
 * checks. */
#include "tlg_golden.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void set(struct tlg_vector *v, const char *key, const char *value)
{
  struct tlg_error err = {.text = ""};

  if (tlg_vector_set(v, key, value, &err)) {
    fail_msg("%s", err.text);
  }
}

static void refuses(const char *key, const char *value)
{
  struct tlg_vector v;
  struct tlg_error err = {.text = ""};

  tlg_vector_init(&v);
  if (tlg_vector_set(&v, key, value, &err) != TLG_EFORMAT) {
    fail_msg("%s = '%s' is taken", key, value);
  }
  assert_non_null(strstr(err.text, key));
}

static void test_properties(void **state)
{
  struct tlg_vector v;

  (void)state;
  tlg_vector_init(&v);
  set(&v, "id", "a-1");
  set(&v, "generator.kind", "tone");
  set(&v, "generator.freq", "-1.5M");
  set(&v, "generator.amplitude", "16384");
  set(&v, "rate_in", "184320000/7");
  set(&v, "taps.kind", "random");
  set(&v, "taps.per_phase", "16");
  set(&v, "rounding", "usrpl0");
  set(&v, "align", "true");
  set(&v, "inputs", "1000");
  set(&v, "start", "4611686018427387");
  set(&v, "gaps", "3+7,500+2147483648");
  set(&v, "packet", "364,0,1996");
  assert_int_equal(tlg_vector_finish(&v, NULL), 0);
  assert_int_equal(v.signal.freq.num, -1500000);
  assert_true(v.signal.amplitude == 16384.0);
  assert_true(v.up == 7 && v.down == 6 && v.rate_in.den == 7);
  assert_true(v.taps == TLG_TAPS_RANDOM && v.design.taps_per_phase == 16);
  assert_true(v.rounding == TLG_ROUND_USRPL0 && v.align == 1 && v.flush == 0);
  assert_true(v.n_gaps == 2 && v.gaps[1].at == 500 && v.gaps[1].n == 2147483648u);
  assert_true(v.n_packets == 3 && v.packets[0] == 364 && v.packets[1] == 0 && v.packets[2] == 1996);
  assert_true(v.start == 4611686018427387u);
  set(&v, "packet", "random:5");
  assert_true(v.n_packets == 0 && v.packet_seed == 5);
  set(&v, "generator.samples", "1,-2,32767,-32768");
  assert_true(v.n_samples == 2 && v.samples[1].i == 32767 && v.samples[1].q == -32768);
}

static void test_bad_values_are_refused(void **state)
{
  static const char *const bad[][2] = {
      {"inputs", "-1"},
      {"inputs", "1000001"},
      {"inputs", "12x"},
      {"inputs", ""},
      {"start", " 5"},
      {"align", "yes"},
      {"rounding", "up"},
      {"taps.shift", "0"},
      {"taps.shift", "16"},
      {"taps.kind", "mine"},
      {"gaps", "5"},
      {"gaps", "5+0"},
      {"gaps", "5+1,5+1"},
      {"gaps", "9+1,5+1"},
      {"gaps", ""},
      {"packet", ""},
      {"packet", "65537"},
      {"packet", "random"},
      {"packet", "random:-1"},
      {"packet", "1,"},
      {"generator.kind", ""},
      {"generator.kind", "?"},
      {"generator.freq", "x"},
      {"generator.value", "1"},
      {"generator.value", "1,40000"},
      {"generator.samples", "1,2,3"},
      {"generator.amplitude", "-1"},
      {"generator.amplitude", "nan"},
      {"rate_in", "0"},
      {"file.bytes", "0"},
      {"file.bytes", "zz"},
      {"exit", "0"},
      {"up", "x"},
      {"no.such", "1"},
  };
  size_t k;

  (void)state;
  for (k = 0; k < sizeof bad / sizeof *bad; k++) {
    refuses(bad[k][0], bad[k][1]);
  }
}

static void test_what_does_not_fit_together(void **state)
{
  static const char *const bad[][3] = {
      {"id", "Has Blank", "id"},
      {"id", "-x", "id"},
      {"packet", "0,0", "never end"},
      {"gaps", "200+1", "inputs"},
      {"generator.kind", "samples", "samples"},
      {"rate_in", "25000001", "65535"},
  };
  struct tlg_vector v;
  struct tlg_error err;
  size_t k;

  (void)state;
  for (k = 0; k < sizeof bad / sizeof *bad; k++) {
    tlg_vector_init(&v);
    set(&v, "id", "x");
    set(&v, "generator.kind", "dc");
    set(&v, "inputs", "100");
    set(&v, bad[k][0], bad[k][1]);
    assert_int_equal(tlg_vector_finish(&v, &err), TLG_EFORMAT);
    assert_non_null(strstr(err.text, bad[k][2]));
  }
}

static void test_plain_lists(void **state)
{
  const char *text = "\n\nid=a\ngenerator.kind=dc\ninputs=5\n\nid=b\ngenerator.kind=ramp\ninputs=7\n";
  const char *bad = "id=a\ngenerator.kind=dc\n inputs\n";
  struct tlg_vector v;
  struct tlg_error err = {.text = ""};
  unsigned line = 0;

  (void)state;
  assert_int_equal(tlg_vector_read(&v, &text, &line, &err), 1);
  assert_string_equal(v.id, "a");
  assert_int_equal(tlg_vector_read(&v, &text, &line, &err), 1);
  assert_true(strcmp(v.id, "b") == 0 && v.n_in == 7);
  assert_int_equal(tlg_vector_read(&v, &text, &line, &err), 0);
  assert_int_equal(line, 9);
  line = 0;
  assert_int_equal(tlg_vector_read(&v, &bad, &line, &err), TLG_EFORMAT);
  assert_int_equal(err.line, 3);
}

/* Segments by feeding one input at a time and counting which outputs it completes. */
static void test_segments_by_counting(void **state)
{
  static const char *const ratios[][2] = {{"25000000", "30720000"}, {"30720000", "25000000"}, {"25000000", "1920000"}};
  size_t r, s, n;

  (void)state;
  for (r = 0; r < 3; r++) {
    struct tlg_segment *segments;
    struct tlg_vector v;
    uint64_t outputs, k = 0, m, total = 0;

    tlg_vector_init(&v);
    set(&v, "id", "x");
    set(&v, "generator.kind", "dc");
    set(&v, "inputs", "3000");
    set(&v, "packet", "7,0,362");
    set(&v, "gaps", "1000+13");
    set(&v, "align", r == 1 ? "true" : "false");
    set(&v, "rate_in", ratios[r][0]);
    set(&v, "rate_out", ratios[r][1]);
    assert_int_equal(tlg_vector_finish(&v, NULL), 0);
    assert_int_equal(tlg_vector_segments(&v, 101, &segments, &n, &outputs, NULL), 0);
    m = 0;
    for (s = 0; s < n; s++) {
      const uint64_t end = s + 1 < n ? segments[s + 1].input : 3000;
      uint64_t here = 0;

      for (k = segments[s].input; k < end; k++) {
        const uint64_t position = k + (k >= 1000 ? 13 : 0), q0 = v.align ? 50 : 0;

        while ((m * v.down + q0) / v.up < position) { /* its newest input was missing */
          m++;
        }
        if (!here && (m * v.down + q0) / v.up == position) {
          assert_int_equal(segments[s].first, m);
        }
        for (; (m * v.down + q0) / v.up == position; m++) {
          here++;
        }
      }
      assert_int_equal(segments[s].n, here);
      total += here;
    }
    assert_int_equal(outputs, total);
    free(segments);
  }
}

static void test_cuts(void **state)
{
  size_t k;

  (void)state;
  assert_true(tlg_cuts() >= 8);
  assert_string_equal(tlg_cut_name(0), "own");
  assert_string_equal(tlg_cut_name(tlg_cuts()), "?");
  for (k = 0; k < tlg_cuts(); k++) {
    assert_true(strlen(tlg_cut_name(k)) > 0);
  }
}

static void test_refusals(void **state)
{
  struct tlg_vector v;
  struct tlg_error err;

  (void)state;
  tlg_vector_init(&v);
  set(&v, "id", "x");
  set(&v, "refused", "taps");
  set(&v, "exit", "3");
  set(&v, "taps.kind", "overflow");
  set(&v, "taps.per_phase", "3");
  assert_int_equal(tlg_vector_finish(&v, &err), 0);
  assert_int_equal(tlg_vector_refusal(&v, &err), TLG_ETAPS);
  set(&v, "taps.kind", "limit"); /* the control: at the limit exactly they are taken */
  assert_int_equal(tlg_vector_refusal(&v, &err), 0);
  set(&v, "taps.kind", "minimum");
  assert_int_equal(tlg_vector_refusal(&v, &err), TLG_ETAPS);
  set(&v, "taps.kind", "wrong-up");
  assert_int_equal(tlg_vector_refusal(&v, &err), TLG_ETAPS);
}

/* A run must notice when it has less room than the formula says. */
static void test_run_keeps_inside_its_room(void **state)
{
  struct tlg_taps taps = {NULL, 0, 0, 0};
  struct tlg_resamp *r = NULL;
  struct tlg_vector v;
  struct tlg_error err;
  tlg_cs16 in[100], out[140];
  char broken[160];
  size_t got;

  (void)state;
  tlg_vector_init(&v);
  set(&v, "id", "x");
  set(&v, "generator.kind", "uniform");
  set(&v, "inputs", "100");
  assert_int_equal(tlg_vector_finish(&v, &err), 0);
  assert_int_equal(tlg_vector_taps(&v, &taps, &err), 0);
  assert_int_equal(tlg_vector_input(&v, &taps, in, &err), 0);
  assert_int_equal(tlg_vector_run(&v, &taps, in, TLG_CPU_C, 0, &r, out, 50, &got, broken, &err), TLG_ESPACE);
  assert_int_equal(tlg_vector_run(&v, &taps, in, TLG_CPU_C, 0, &r, out, 140, &got, broken, &err), 0);
  assert_string_equal(broken, "");
  assert_int_equal(got, (100 * 768 + 624) / 625);
  tlg_resamp_free(r);
  tlg_taps_free(&taps);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_properties),
      cmocka_unit_test(test_bad_values_are_refused),
      cmocka_unit_test(test_what_does_not_fit_together),
      cmocka_unit_test(test_plain_lists),
      cmocka_unit_test(test_segments_by_counting),
      cmocka_unit_test(test_cuts),
      cmocka_unit_test(test_refusals),
      cmocka_unit_test(test_run_keeps_inside_its_room),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
