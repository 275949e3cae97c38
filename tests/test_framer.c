/* SPDX-License-Identifier: Apache-2.0 */
/* The framer against a plain model that marks every output singly. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "tlg_replay.h"

static const struct tlg_rate rate = {25000000, 1};

/* The definition, output by output: when each was held, 0 = missing. */
enum { MODEL_OUTPUTS = 400000 };
struct model {
  uint64_t held[MODEL_OUTPUTS];
  uint64_t n;
};

struct expected {
  uint64_t complete, incomplete, late, sum, max;
};

static struct expected by_definition(const struct model *m, const struct tlg_framer_cfg *cfg)
{
  struct expected e = {0};
  uint64_t begin;

  for (begin = cfg->offset; begin + cfg->length <= m->n; begin += cfg->length) {
    const uint64_t input = (begin * cfg->down + cfg->q0) / cfg->up;
    uint64_t whole = 1, last = 0, k, latency;

    for (k = begin; k < begin + cfg->length; k++) {
      whole &= m->held[k] != 0;
      last = m->held[k] > last ? m->held[k] : last;
    }
    if (!whole) {
      e.incomplete++;
      continue;
    }
    latency = last - input * 40000; /* 25 Msps: 40 ns a sample */
    e.complete++;
    e.late += latency > cfg->deadline_ps;
    e.sum += latency;
    e.max = latency > e.max ? latency : e.max;
  }
  return e;
}

static uint32_t next_random(uint32_t *state)
{
  *state = *state * 1664525u + 1013904223u;
  return *state >> 8;
}

/* Push random packets, of which about one in `loss` is missing (0 = none), and compare. off_by_one spoils the
 * framer's offset, for the control. Returns whether all agrees. */
static int agrees(uint64_t length, uint64_t offset, uint64_t q0, uint32_t up, uint32_t down, unsigned loss,
                  unsigned largest, uint32_t seed, int off_by_one)
{
  static struct model m;
  struct tlg_framer_cfg cfg = {.up = up,
                               .down = down,
                               .q0 = q0,
                               .rate = rate,
                               .length = length,
                               .offset = offset,
                               .deadline_ps = 1200000000,
                               .floor_ps = 1000000000};
  struct tlg_framer_result result;
  struct tlg_framer *f;
  struct expected e;
  uint64_t formed = 0;
  int same;

  memset(&m, 0, sizeof m);
  cfg.offset += (uint64_t)off_by_one;
  assert_int_equal(tlg_framer_new(&f, &cfg), TLG_OK);
  cfg.offset = offset;
  while (m.n + largest < MODEL_OUTPUTS) {
    const uint32_t n = next_random(&seed) % (largest + 1);
    const uint64_t at = (m.n + n) * down / up * 40000 + next_random(&seed) % 300000000 + 1000000;
    const uint64_t when = m.n && at < m.held[m.n - 1] ? m.held[m.n - 1] : at;
    uint64_t k;

    if (loss && next_random(&seed) % loss == 0) {
      m.n += n;
      continue;
    }
    formed += tlg_framer_push(f, m.n, n, 0, when);
    for (k = 0; k < n; k++) {
      m.held[m.n++] = when;
    }
  }
  /* Outputs lost at the very end are not known to the framer before something follows. */
  formed += tlg_framer_push(f, m.n, 1, 0, UINT64_MAX / 2);
  m.held[m.n++] = UINT64_MAX / 2;
  e = by_definition(&m, &cfg);
  tlg_framer_get(f, &result);
  same = result.complete == e.complete && result.incomplete == e.incomplete && result.late == e.late &&
         formed == e.complete && result.latency.max == e.max &&
         (!e.complete || result.latency.mean == e.sum / e.complete) && result.latency.count == e.complete &&
         result.beyond.count == e.complete;
  tlg_framer_free(f);
  return same;
}

static void subframes_equal_the_definition(void **state)
{
  uint32_t seed;

  (void)state;
  for (seed = 1; seed <= 12; seed++) {
    assert_true(agrees(30720, 0, 0, 768, 625, 0, 768, seed, 0));
    assert_true(agrees(30720, seed * 2999, 6143, 768, 625, 0, 2000, seed, 0));
    assert_true(agrees(30720, seed, 6143, 768, 625, 40, 1000, seed, 0));
    assert_true(agrees(1000, 999, 0, 1, 1, 50, 3500, seed, 0)); /* packets longer than subframes */
    assert_true(agrees(7, 3, 0, 5, 4, 9, 20, seed, 0));
    assert_true(agrees(1, 0, 0, 1, 1, 5, 3, seed, 0));
    assert_true(agrees(30720, 61440 + seed, 0, 768, 625, 40, 1000, seed, 0)); /* what comes before is in none */
    assert_true(agrees(7, 100000, 0, 5, 4, 9, 20, seed, 0));
  }
}

static void a_framer_off_by_one_would_show(void **state)
{
  (void)state;
  assert_true(agrees(30720, 100, 0, 768, 625, 0, 768, 5, 0));
  assert_false(agrees(30720, 100, 0, 768, 625, 0, 768, 5, 1));
  assert_false(agrees(30720, 100, 0, 768, 625, 0, 768, 5, -1));
}

/* Outputs before the first subframe, lost or not, belong to none. */
static void subframes_begin_at_the_offset(void **state)
{
  const struct tlg_framer_cfg cfg = {.up = 1, .down = 1, .rate = rate, .length = 1000, .offset = 2500};
  struct tlg_framer_result r;
  struct tlg_framer *f;

  (void)state;
  assert_int_equal(tlg_framer_new(&f, &cfg), TLG_OK);
  assert_int_equal(tlg_framer_push(f, 0, 1200, 0, 1), 0);
  assert_int_equal(tlg_framer_push(f, 1900, 600, 0, 2), 0); /* 700 are missing before it */
  tlg_framer_get(f, &r);
  assert_true(r.complete == 0 && r.incomplete == 0);
  assert_int_equal(tlg_framer_push(f, 2500, 1000, 0, 200000000), 1);
  assert_true(tlg_framer_complete(f) == 3500);
  assert_int_equal(tlg_framer_push(f, 3600, 2000, 0, 300000000), 1); /* 100 of the second are missing */
  tlg_framer_get(f, &r);
  assert_true(r.complete == 2 && r.incomplete == 1);
  assert_true(r.latency.max == 300000000 - 4500 * 40000 && r.latency.min == 200000000 - 2500 * 40000);
  tlg_framer_free(f);
}

/* Packets of 625 -> 768 outputs, each held when it ends: the latency is the subframe's own 1000 us where a packet ends
 * with it, and up to a packet more elsewhere. */
static void the_floor_is_a_millisecond(void **state)
{
  uint64_t offset;

  (void)state;
  for (offset = 0; offset < 30720; offset += 381) {
    const struct tlg_framer_cfg cfg = {.up = 768,
                                       .down = 625,
                                       .rate = rate,
                                       .length = 30720,
                                       .offset = offset,
                                       .deadline_ps = 1200000000,
                                       .floor_ps = 1000000000};
    struct tlg_framer_result r;
    struct tlg_framer *f;
    uint64_t j;

    assert_int_equal(tlg_framer_new(&f, &cfg), TLG_OK);
    for (j = 0; j < 400; j++) {
      tlg_framer_push(f, j * 768, 768, 0, (j + 1) * 25000000);
    }
    tlg_framer_get(f, &r);
    assert_true(r.complete == (400 * 768 - offset) / 30720);
    assert_true(r.latency.min >= 1000000000 && r.latency.max <= 1025000000);
    assert_true(r.beyond.max == r.latency.max - 1000000000 && r.late == 0 && r.incomplete == 0);
    if (offset % 768 == 0) { /* begins and ends with a packet */
      assert_true(r.latency.max == 1000000000);
    }
    tlg_framer_free(f);
  }
}

static void late_ones_are_counted_exactly(void **state)
{
  const struct tlg_framer_cfg cfg = {
      .up = 1, .down = 1, .rate = rate, .length = 25000, .deadline_ps = 1200000000, .floor_ps = 1000000000};
  struct tlg_framer_result r;
  struct tlg_framer *f;

  (void)state;
  assert_int_equal(tlg_framer_new(&f, &cfg), TLG_OK);
  tlg_framer_push(f, 0, 25000, 0, 1200000000);        /* on the deadline: in time */
  tlg_framer_push(f, 25000, 25000, 0, 2200000001);    /* one picosecond above */
  tlg_framer_push(f, 50000, 25000, 1000, 3040000000); /* 1000 inputs were closed up: it began 40 us later */
  tlg_framer_get(f, &r);
  assert_true(r.complete == 3 && r.late == 1);
  assert_true(r.latency.max == 1200000001 && r.latency.max_when == 2200000001);
  assert_true(r.latency.min == 1000000000);
  tlg_framer_free(f);
}

static void bad_arguments_are_refused(void **state)
{
  const struct tlg_framer_cfg none = {.up = 1, .down = 1, .rate = rate};
  struct tlg_framer *f;

  (void)state;
  assert_int_equal(tlg_framer_new(&f, &none), TLG_EINVAL);
  assert_null(f);
  assert_int_equal(tlg_framer_new(&f, NULL), TLG_EINVAL);
  assert_int_equal(tlg_framer_new(NULL, &none), TLG_EINVAL);
  tlg_framer_free(NULL);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(subframes_equal_the_definition), cmocka_unit_test(a_framer_off_by_one_would_show),
      cmocka_unit_test(the_floor_is_a_millisecond),     cmocka_unit_test(late_ones_are_counted_exactly),
      cmocka_unit_test(subframes_begin_at_the_offset),  cmocka_unit_test(bad_arguments_are_refused),
  };

  return cmocka_run_group_tests_name("framer", tests, NULL, NULL);
}
