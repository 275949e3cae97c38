/* SPDX-License-Identifier: Apache-2.0 */
/* The second queueing: how long the last sample of a subframe waits for the end of its packet, exactly. */
#include "sim_help.h"

static uint64_t gcd(uint64_t a, uint64_t b)
{
  while (b) {
    const uint64_t r = a % b;

    a = b;
    b = r;
  }
  return a;
}

/* Inputs that an offset of outputs stands for. */
static uint64_t inputs_of(uint64_t outputs, uint64_t q0)
{
  return outputs == 0 && q0 == 0 ? 0 : ((outputs - 1) * 625 + q0) / 768 + 1;
}

/* D_k = (-e_k) mod N sample periods, e_k = o + (k+1) 25000. */
static void closing_delay(void **state)
{
  static const uint32_t sizes[] = {32,  64,   125,  128,  250,  362,  363,   364,
                                   625, 1000, 1250, 1996, 2000, 2040, 25000, 3333};
  size_t i;
  int c;

  (void)state;
  for (i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    for (c = 0; c < 12; c++) {
      const uint64_t n = sizes[i], q0 = c % 3 == 2 ? 6143 : 0, offset = c == 0 ? 0 : help_random(1, 40000);
      struct tlg_sim_scenario *s = help_scenario(sizes[i], 25000 * 40 / n + 5);
      const uint64_t o = inputs_of(offset, q0), g = gcd(25000, n), r = (g - o % g) % g;
      struct help_log log = {0};
      struct tlg_sim *sim;
      uint64_t k = 0, least = UINT64_MAX, most = 0;
      size_t e;

      s->has_phy = 1;
      s->offset = offset;
      s->align_q0 = q0;
      sim = help_run(s, TLG_ENGINE_AUTO, &log);
      for (e = 0; e < log.n; e++) {
        if (strcmp(log.e[e].element, "subframe") == 0) {
          const uint64_t end = o + (k + 1) * 25000, d = (n - end % n) % n;

          assert_int_equal(log.e[e].end, end);
          assert_int_equal(log.e[e].packet, (end + n - 1) / n - 1);
          assert_int_equal(log.e[e].finish - log.e[e].start, d * 40000);
          assert_int_equal(log.e[e].finish - log.e[e].ready,
                           tlg_instant_ps(end + d, &s->rate) - tlg_instant_ps(log.e[e].begin, &s->rate));
          assert_int_equal(d % g, r);
          least = d < least ? d : least;
          most = d > most ? d : most;
          k++;
        }
      }
      assert_in_range(k, 30, 45);
      if (25000 / g * g == 25000 && n / g <= 30) { /* all of r, r + g, ..., r + N - g were there */
        assert_int_equal(least, r);
        assert_int_equal(most, r + n - g);
      }
      tlg_sim_free(sim);
      help_free(&log);
      tlg_sim_scenario_free(s);
    }
  }
}

/* When the timer divides a millisecond, the closing packet always meets the same delay: N = 250, u = 50 us, o = 30. */
static void the_trap(void **state)
{
  struct tlg_sim_scenario *s = help_scenario(250, 10000);
  const struct tlg_sim_result *r;
  struct tlg_delays_summary all, closing;
  struct tlg_sim *sim;
  struct help_log log = {0};
  size_t i;

  (void)state;
  s->has_nic = 1;
  s->moderation = TLG_MODERATION_TICK;
  s->moderation_ps = 50000000;
  s->has_phy = 1;
  s->offset = 36; /* 29.3 inputs: 29 + 1 = 30 */
  assert_int_equal(inputs_of(36, 0), 29);
  s->offset = 37;
  assert_int_equal(inputs_of(37, 0), 30);
  sim = help_run(s, TLG_ENGINE_AUTO, &log);
  for (i = 0; i < log.n; i++) {
    if (strcmp(log.e[i].element, "subframe") == 0) {
      const uint64_t air = (log.e[i].packet + 1) * 10000000;

      assert_int_equal(log.e[i].finish - air, 40000000);
    }
  }
  r = tlg_sim_results(sim);
  tlg_delays_summarise(help_place(r, "nic")->wait->delays, &all);
  tlg_delays_summarise(r->subframe->delays, &closing);
  assert_int_equal(all.mean, 20000000);
  assert_int_equal(closing.min, closing.max);
  tlg_sim_free(sim);
  help_free(&log);
  tlg_sim_scenario_free(s);
}

/* A subframe that lacks samples is incomplete, whichever of its packets was lost; the others are not. */
static void lost_samples(void **state)
{
  struct tlg_sim_scenario *s = help_scenario(625, 40 * 100);
  const struct tlg_sim_result *r;
  struct tlg_sim *sim;
  struct help_log log = {0};
  char hit[200] = {0};
  uint64_t lost = 0, k;
  size_t i;

  (void)state;
  s->has_phy = 1;
  s->warmup_ppm = 0;
  help_thread(s, "x", 10000000)->queue = 4;
  s->n_stalls = 1;
  s->stalls[0].on = 0;
  s->stalls[0].every_ps = 7300000000;
  s->stalls[0].phase_ps = 3210000000;
  s->stalls[0].length.low_ps = 400000000;
  sim = help_run(s, TLG_ENGINE_AUTO, &log);
  for (i = 0; i < log.n; i++) {
    if (log.e[i].dropped) {
      hit[log.e[i].begin / 25000] = 1;
      hit[(log.e[i].end - 1) / 25000] = 1;
    }
  }
  for (k = 0; k < 100; k++) {
    lost += (uint64_t)hit[k];
  }
  r = tlg_sim_results(sim);
  assert_true(lost > 5);
  assert_int_equal(r->subframes, 100);
  assert_int_equal(r->subframes_incomplete, lost);
  assert_int_equal(tlg_delays_count(r->subframe->delays), 100 - lost);
  tlg_sim_free(sim);
  help_free(&log);
  tlg_sim_scenario_free(s);
}

/* Blocks of L0 that do not stand where the PHY's subframes begin: the whole next block is waited for. */
static void second_queueing(void **state)
{
  uint64_t offset;

  (void)state;
  for (offset = 0; offset < 30720; offset += 1111) {
    struct tlg_sim_scenario *s = help_scenario(362, 8000);
    struct tlg_sim_thread *th = help_thread(s, "resample", 400000000);
    struct tlg_delays_summary d;
    struct tlg_sim *sim;

    th->stages[0].unit = 25000;
    s->has_phy = 1;
    s->offset = offset;
    sim = help_run(s, TLG_ENGINE_AUTO, NULL);
    tlg_delays_summarise(tlg_sim_results(sim)->subframe->delays, &d);
    /* 1000 us, or up to 2000 us less the offset, and the filter's 400 and at most one packet. */
    assert_in_range(d.min, (offset ? 2000000000 - inputs_of(offset, 0) * 40000 : 1000000000) + 400000000 - 40000,
                    (offset ? 2000000000 - inputs_of(offset, 0) * 40000 : 1000000000) + 400000000 + 15000000);
    tlg_sim_free(sim);
    tlg_sim_scenario_free(s);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(closing_delay),
      cmocka_unit_test(the_trap),
      cmocka_unit_test(lost_samples),
      cmocka_unit_test(second_queueing),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
