/* SPDX-License-Identifier: Apache-2.0 */
/* The converter's model against a plain one that moves sample by sample. */
#include "dac.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 1 << 16, US = 1000000 };

static const struct tlg_rate mega = {1000000, 1}, third = {1000000, 3}, r25 = {25000000, 1};

/* Every sample that was taken, with the instant at which it is played. */
struct plain {
  struct tlg_dac_cfg cfg;
  uint64_t due[MOST];
  size_t n, played;
  int started, open;
  uint64_t origin, origin_ps, next;
  struct tlg_dac_counts counts;
};

static uint64_t plain_due(const struct plain *p, uint64_t k)
{
  return p->origin_ps +
         (uint64_t)((unsigned __int128)(k - p->origin) * 1000000000000u * p->cfg.rate.den / p->cfg.rate.num);
}

static uint64_t plain_write(struct plain *p, uint64_t first, uint64_t n, uint64_t now)
{
  uint64_t k, t = now, late = 0, shift = 0;

  if (!p->started) {
    p->started = 1;
    p->origin = p->next = first;
    p->origin_ps = now + p->cfg.lead_ps;
  }
  if (p->open && plain_due(p, p->next) < now) {
    p->counts.underruns++;
    p->open = 0;
  }
  if (first != p->next) {
    p->open = 0;
  }
  if (p->cfg.shift && plain_due(p, first) < now) {
    p->counts.late_blocks++;
    while (plain_due(p, first + shift) < now + p->cfg.lead_ps) {
      shift++;
    }
    p->counts.shifted += shift;
    p->origin_ps = plain_due(p, first + shift);
    p->origin = first;
  }
  for (k = first; k < first + n; k++) {
    if (plain_due(p, k) < now) {
      late++;
      continue;
    }
    if (!p->open) {
      p->open = 1;
      p->counts.bursts++;
    }
    /* wait until there is room for one more */
    for (;;) {
      while (p->played < p->n && p->due[p->played] <= t) {
        p->played++;
      }
      if (p->n - p->played < p->cfg.buffer) {
        break;
      }
      t = p->due[p->played];
    }
    p->due[p->n++] = plain_due(p, k);
    p->counts.sent++;
  }
  p->counts.late += late;
  p->counts.late_blocks += late != 0;
  p->counts.waits += t > now;
  p->counts.waited_ps += t - now;
  if (p->n - p->played > p->counts.high_water && late < n) {
    p->counts.high_water = p->n - p->played;
  }
  p->next = first + n;
  return t;
}

static void same_counts(const struct tlg_dac_counts *a, const struct tlg_dac_counts *b)
{
  assert_int_equal(a->sent, b->sent);
  assert_int_equal(a->late, b->late);
  assert_int_equal(a->late_blocks, b->late_blocks);
  assert_int_equal(a->underruns, b->underruns);
  assert_int_equal(a->shifted, b->shifted);
  assert_int_equal(a->waits, b->waits);
  assert_int_equal(a->waited_ps, b->waited_ps);
  assert_int_equal(a->bursts, b->bursts);
}

static uint32_t draw(uint64_t *seed)
{
  *seed = *seed * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(*seed >> 33);
}

static void against_the_plain_one(void **state)
{
  static struct plain p;
  const struct tlg_rate *rates[] = {&mega, &third, &r25};
  unsigned run, w;

  (void)state;
  for (run = 0; run < 300; run++) {
    uint64_t seed = run + 1, now = draw(&seed) % 1000 * (uint64_t)US, first = draw(&seed), given = 0;
    struct tlg_dac dac;

    memset(&p, 0, sizeof p);
    p.cfg.rate = *rates[run % 3];
    p.cfg.buffer = 1 + draw(&seed) % 300;
    p.cfg.lead_ps = draw(&seed) % 100 * (uint64_t)US;
    p.cfg.shift = run / 3 % 2;
    tlg_dac_init(&dac, &p.cfg);
    for (w = 0; w < 60; w++) {
      const uint64_t n = 1 + draw(&seed) % 100;
      const uint64_t want = plain_write(&p, first, n, now);

      assert_int_equal(tlg_dac_write(&dac, first, n, now), want);
      same_counts(&dac.counts, &p.counts);
      given += n;
      assert_int_equal(dac.counts.sent + dac.counts.late, given);
      assert_true(dac.counts.high_water <= p.cfg.buffer);
      first += n + (draw(&seed) % 5 == 0 ? draw(&seed) % 500 : 0);
      now = want + draw(&seed) % (draw(&seed) % 7 == 0 ? 300 : 60) * (uint64_t)US * p.cfg.rate.den /
                       (p.cfg.rate.num / 1000000);
    }
    assert_true(tlg_dac_end(&dac, now) >= now);
  }
}

/* Written in step with its clock a buffer never runs dry; one late write is one underrun, and what it costs is known.
 */
static void in_step(void **state)
{
  struct tlg_dac_cfg cfg = {.rate = r25, .buffer = 1000000, .lead_ps = 25 * US};
  struct tlg_dac dac;
  uint64_t j;

  (void)state;
  tlg_dac_init(&dac, &cfg);
  for (j = 0; j < 1000; j++) {
    tlg_dac_write(&dac, j * 625, 625, (j + 1) * 25 * US);
  }
  assert_int_equal(dac.counts.underruns, 0);
  assert_int_equal(dac.counts.late, 0);
  assert_int_equal(dac.counts.sent, 625000);
  assert_int_equal(dac.counts.bursts, 1);
  /* the next is due at 25 + 25 + 25000 us, and comes 60 us after that: two blocks and 250 samples are late */
  for (; j < 1010; j++) {
    tlg_dac_write(&dac, j * 625, 625, (50 + 25000 + 60) * (uint64_t)US);
  }
  assert_int_equal(dac.counts.underruns, 1);
  assert_int_equal(dac.counts.late, 1500);
  assert_int_equal(dac.counts.late_blocks, 3);
  assert_int_equal(dac.counts.bursts, 2);
  assert_int_equal(tlg_dac_end(&dac, 0), (50 + 25 * 1010) * (uint64_t)US);
}

/* A full buffer makes the writer wait until the sample `buffer` before its last one has been played. */
static void full(void **state)
{
  struct tlg_dac_cfg cfg = {.rate = mega, .buffer = 100, .lead_ps = 10 * US};
  struct tlg_dac dac;

  (void)state;
  tlg_dac_init(&dac, &cfg);
  assert_int_equal(tlg_dac_write(&dac, 0, 100, 0), 0);
  assert_int_equal(tlg_dac_write(&dac, 100, 50, 0), (10 + 49) * (uint64_t)US);
  assert_int_equal(dac.counts.high_water, 100);
  assert_int_equal(dac.counts.waits, 1);
}

/* More bursts in the buffer than it tells apart: it waits, and nothing is lost. */
static void many_bursts(void **state)
{
  struct tlg_dac_cfg cfg = {.rate = mega, .buffer = 1000000, .lead_ps = (uint64_t)1000 * US};
  struct tlg_dac dac;
  uint64_t k, now = 0;

  (void)state;
  tlg_dac_init(&dac, &cfg);
  for (k = 0; k < 10 * TLG_DAC_SEGMENTS; k++) {
    now = tlg_dac_write(&dac, k * 20, 10, now);
  }
  assert_int_equal(dac.counts.sent, 100 * TLG_DAC_SEGMENTS);
  assert_int_equal(dac.counts.underruns, 0);
  assert_int_equal(dac.counts.bursts, 10 * TLG_DAC_SEGMENTS);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(against_the_plain_one), cmocka_unit_test(in_step),
                                     cmocka_unit_test(full), cmocka_unit_test(many_bursts)};

  return cmocka_run_group_tests(tests, NULL, NULL);
}
