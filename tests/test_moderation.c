/* SPDX-License-Identifier: Apache-2.0 */
/* Interrupt moderation: the three timers exactly, packet by packet, and the drivers' rules against their own figures.
 */
#include "sim_help.h"

enum { CASES = 300, PACKETS = 3000 };

static uint64_t gcd(uint64_t a, uint64_t b)
{
  while (b) {
    const uint64_t r = a % b;

    a = b;
    b = r;
  }
  return a;
}

static struct tlg_sim_scenario *scenario(uint32_t size, enum tlg_moderation kind, uint64_t u)
{
  struct tlg_sim_scenario *s = help_scenario(size, PACKETS);

  s->has_nic = 1;
  s->moderation = kind;
  s->moderation_ps = u;
  return s;
}

/* The delay of each packet until the interrupt, from the stamps. */
static void delays(const struct tlg_sim_scenario *s, uint64_t *wait, uint64_t *arrival, uint64_t tie,
                   struct tlg_sim **keep)
{
  static struct tlg_sim_stamp seen[PACKETS];
  struct help_log log = {0};
  struct tlg_sim_cfg cfg = {.stamp = help_stamp, .stamp_arg = &log, .stamp_count = UINT64_MAX};
  struct tlg_sim *sim;
  uint64_t left;
  size_t j;

  assert_int_equal(tlg_sim_new(&sim, s, &cfg, NULL), TLG_OK);
  sim->fault.tie = tie;
  assert_int_equal(tlg_sim_step(sim, UINT64_MAX, &left), TLG_OK);
  assert_int_equal(help_pick(&log, s->has_kernel ? "kernel" : "nic", seen, PACKETS), PACKETS);
  for (j = 0; j < PACKETS; j++) {
    arrival[j] = (j + 1) * s->sizes[0] * 40000ull;
    wait[j] = seen[j].finish - arrival[j];
  }
  if (keep) {
    *keep = sim;
  } else {
    tlg_sim_free(sim);
  }
  help_free(&log);
}

static uint64_t wait[PACKETS], arrival[PACKETS];

/* A: (f - ja) mod u; its mean over a whole cycle r + (u - g)/2, its largest r + u - g. */
static void free_tick(void **state)
{
  int c;

  (void)state;
  for (c = 0; c < CASES; c++) {
    const uint32_t n = (uint32_t)help_random(50, 700);
    const uint64_t a = n * 40000ull, u = help_random(20, 2000) * 40000, f = help_random(0, u - 1), g = gcd(a, u),
                   r = f % g;
    struct tlg_sim_scenario *s = scenario(n, TLG_MODERATION_TICK, u);
    uint64_t most = 0, cycle = u / g, sum = 0;
    size_t j;

    s->moderation_phase_ps = f;
    delays(s, wait, arrival, 0, NULL);
    for (j = 0; j < PACKETS; j++) {
      assert_int_equal(wait[j], (f + u - arrival[j] % u) % u);
      if (j < cycle) {
        sum += wait[j];
        most = wait[j] > most ? wait[j] : most;
      }
    }
    if (cycle <= PACKETS) {
      assert_int_equal(2 * sum, cycle * (2 * r + u - g));
      assert_int_equal(most, r + u - g);
    }
    tlg_sim_scenario_free(s);
  }
}

/* B: n = floor(u/a) + 1 (or the frame limit) packets an interrupt; packet i waits T - ia. */
static void one_shot(void **state)
{
  int c;

  (void)state;
  for (c = 0; c < CASES; c++) {
    const uint32_t size = (uint32_t)help_random(50, 700);
    const uint64_t a = size * 40000ull, m = c % 2 ? help_random(1, 30) : 0;
    const uint64_t u = c % 5 == 0 ? a * help_random(1, 20) : help_random(1, 20 * a); /* ties, too */
    struct tlg_sim_scenario *s = scenario(size, TLG_MODERATION_ONESHOT, u);
    uint64_t n = u / a + 1, t = u, i;
    struct tlg_sim *sim;
    size_t j;

    if (m && n >= m) {
      n = m;
      t = (m - 1) * a;
    }
    s->moderation_frames = (uint32_t)m;
    delays(s, wait, arrival, 0, &sim);
    for (j = 0; j + n < PACKETS; j++) { /* the last burst may be short of its limit */
      i = j % n;
      assert_int_equal(wait[j], t - i * a);
    }
    assert_int_equal(tlg_sim_results(sim)->interrupts, (PACKETS + n - 1) / n);
    tlg_sim_free(sim);
    tlg_sim_scenario_free(s);
  }
}

/* B with a poll time k and the ring drained: a becomes a - k, then k is added. Returns whether all agree. */
static int drained(uint64_t tie)
{
  int c, ok = 1;

  for (c = 0; c < CASES / 3; c++) {
    const uint32_t size = (uint32_t)help_random(50, 700);
    const uint64_t a = size * 40000ull, k = help_random(1, a / 2);
    const uint64_t u = c % 2 ? (a - k) * help_random(1, 12) : help_random(1, 12 * a); /* half of them with a tie */
    struct tlg_sim_scenario *s = scenario(size, TLG_MODERATION_ONESHOT, u);
    const uint64_t n = u / (a - k) + 1;
    size_t j;

    s->has_kernel = 1;
    s->kernel.fixed_ps = k;
    delays(s, wait, arrival, tie, NULL);
    for (j = 0; j < PACKETS; j++) {
      ok &= wait[j] == u - j % n * (a - k) + k;
    }
    tlg_sim_scenario_free(s);
  }
  return ok;
}

static void drained_ring(void **state)
{
  (void)state;
  assert_true(drained(0));
}

/* The wrong order of a packet's arrival and the end of the poll at one instant is found out. */
static void a_wrong_tie_order_is_noticed(void **state)
{
  (void)state;
  assert_false(drained(1));
}

/* C: a >= u: no delay; a < u: 0, g, ..., u - g equally often. */
static void least_gap(void **state)
{
  int c;

  (void)state;
  for (c = 0; c < CASES; c++) {
    const uint32_t size = (uint32_t)help_random(50, 700);
    const uint64_t a = size * 40000ull, u = help_random(20, 2000) * 40000, g = gcd(a, u), cycle = u / g;
    struct tlg_sim_scenario *s = scenario(size, TLG_MODERATION_GAP, u);
    uint64_t sum = 0;
    static uint16_t often[2048];
    size_t j;

    delays(s, wait, arrival, 0, NULL);
    memset(often, 0, sizeof often);
    for (j = 0; j < PACKETS; j++) {
      if (a >= u) {
        assert_int_equal(wait[j], 0);
      } else if (j < cycle) {
        assert_int_equal(wait[j] % g, 0);
        often[wait[j] / g]++;
        sum += wait[j];
      }
    }
    if (a < u && cycle <= PACKETS) {
      for (j = 0; j < cycle; j++) {
        assert_int_equal(often[j], 1);
      }
      assert_int_equal(2 * sum, cycle * (u - g));
    }
    tlg_sim_scenario_free(s);
  }
}

/* The distance of interrupts that an adaptive rule settles at, in ns; 0: no packet ever waits. */
static uint64_t settled(enum tlg_moderation kind, uint32_t size, uint64_t link_bps, uint32_t mtu)
{
  struct tlg_sim_scenario *s = scenario(size, kind, 0);
  struct tlg_sim *sim;
  uint64_t left, gap;

  s->has_link = 1;
  s->link_bps = 0; /* frames are counted, not sent one after another */
  s->mtu = mtu;
  s->n_packets = 200000;
  assert_int_equal(tlg_sim_new(&sim, s, NULL, NULL), TLG_OK);
  sim->queues[0].mod.link_bps = link_bps;
  assert_int_equal(tlg_sim_step(sim, UINT64_MAX, &left), TLG_OK);
  gap = sim->queues[0].mod.period_ps / 1000;
  if (tlg_delays_percentile(help_place(tlg_sim_results(sim), "nic")->wait->delays, 1, 2) == 0 &&
      tlg_delays_percentile(help_place(tlg_sim_results(sim), "nic")->wait->delays, 999, 1000) == 0) {
    gap = 0;
  }
  tlg_sim_free(sim);
  tlg_sim_scenario_free(s);
  return gap;
}

static void drivers(void **state)
{
  static const struct {
    enum tlg_moderation kind;
    uint32_t size;
    uint64_t bps;
    uint32_t mtu;
    uint64_t gap_ns;
  } cases[] = {
      {TLG_MODERATION_IGB, 128, 1000000000, 1500, 49500},
      {TLG_MODERATION_IGB, 256, 1000000000, 1500, 92000},
      {TLG_MODERATION_IGB, 364, 1000000000, 1500, 192250},
      {TLG_MODERATION_IGB, 1996, 1000000000, 9000, 375000},
      {TLG_MODERATION_IGB_SINGLE, 364, 1000000000, 1500, 49000},
      {TLG_MODERATION_IGB_SINGLE, 128, 1000000000, 1500, 49000},
      {TLG_MODERATION_IGB_SINGLE, 1996, 1000000000, 9000, 245000},
      {TLG_MODERATION_IXGBE, 32, 10000000000, 1500, 62000},
      {TLG_MODERATION_IXGBE, 64, 10000000000, 1500, 124000},
      {TLG_MODERATION_IXGBE, 128, 10000000000, 1500, 126000},
      {TLG_MODERATION_IXGBE, 364, 10000000000, 1500, 126000},
      {TLG_MODERATION_IXGBE, 1000, 10000000000, 9000, 64000},
      {TLG_MODERATION_IXGBE, 1996, 10000000000, 9000, 0},
  };
  size_t i;

  (void)state;
  for (i = 0; i < sizeof cases / sizeof *cases; i++) {
    const uint64_t got = settled(cases[i].kind, cases[i].size, cases[i].bps, cases[i].mtu);

    if (got != cases[i].gap_ns) {
      fail_msg("case %zu: %u samples: %llu ns, not %llu", i, cases[i].size, (unsigned long long)got,
               (unsigned long long)cases[i].gap_ns);
    }
  }
}

/* DIM moves only between its five steps, and parks: under a constant load it does not wander for ever. */
static void dim_parks(void **state)
{
  struct tlg_sim_scenario *s = scenario(364, TLG_MODERATION_DIM, 0);
  static const uint64_t steps[] = {1000000, 8000000, 64000000, 128000000, 256000000};
  struct tlg_sim *sim;
  uint64_t left = 1, last = 0, changes = 0, checks = 0;
  unsigned i, known;

  (void)state;
  s->has_link = 1;
  s->n_packets = 2000000;
  assert_int_equal(tlg_sim_new(&sim, s, NULL, NULL), TLG_OK);
  while (left) {
    assert_int_equal(tlg_sim_step(sim, 2000, &left), TLG_OK);
    for (i = known = 0; i < 5; i++) {
      known |= sim->queues[0].mod.period_ps == steps[i];
    }
    assert_true(known);
    changes += sim->queues[0].mod.period_ps != last;
    checks++;
    last = sim->queues[0].mod.period_ps;
  }
  assert_in_range(changes, 1, checks / 2);
  tlg_sim_free(sim);
  tlg_sim_scenario_free(s);
}

/* A poll-mode driver: no interrupt, at most one turn of the polling loop. */
static void poll_mode(void **state)
{
  struct tlg_sim_scenario *s = scenario(333, TLG_MODERATION_POLL, 700000);
  size_t j;

  (void)state;
  s->interrupt.low_ps = 0;
  delays(s, wait, arrival, 0, NULL);
  for (j = 0; j < PACKETS; j++) {
    assert_in_range(wait[j], 0, 699999);
    assert_int_equal(wait[j], (700000 - arrival[j] % 700000) % 700000);
  }
  tlg_sim_scenario_free(s);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(free_tick),    cmocka_unit_test(one_shot),
      cmocka_unit_test(drained_ring), cmocka_unit_test(a_wrong_tie_order_is_noticed),
      cmocka_unit_test(least_gap),    cmocka_unit_test(drivers),
      cmocka_unit_test(dim_parks),    cmocka_unit_test(poll_mode),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
