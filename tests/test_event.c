/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that share cores: against a plain simulation without a heap, and the three packets of the report. */
#include "sim_help.h"

enum { CASES = 200, N = 150 };

/* Packets through three threads on given cores, one entry after another from a list that is searched through: an end of
 * a job comes before an arrival at the same instant, and arrivals go by thread. */
struct entry {
  uint64_t time;
  int kind; /* 0: the core ends a job; 1 + thread: arrival */
  unsigned core, packet;
};

static void plain(const uint64_t *air, const uint64_t service[3], const unsigned core[3], uint64_t change,
                  uint64_t finish[3][N])
{
  static struct entry list[8 * N];
  static unsigned waiting[3][N];
  size_t n = 0, head[3] = {0}, tail[3] = {0};
  uint64_t order[3][N], next_order = 0;
  int busy[3] = {0}, ran[3] = {-1, -1, -1};
  unsigned i, t;

  for (i = 0; i < N; i++) {
    list[n++] = (struct entry){air[i], 1, 0, i};
  }
  while (n) {
    struct entry e;
    size_t best = 0, k;
    unsigned c;

    for (k = 1; k < n; k++) {
      if (list[k].time < list[best].time || (list[k].time == list[best].time && list[k].kind < list[best].kind) ||
          (list[k].time == list[best].time && list[k].kind == list[best].kind && list[k].packet < list[best].packet)) {
        best = k;
      }
    }
    e = list[best];
    list[best] = list[--n];
    if (e.kind == 0) {
      c = e.core;
      busy[c] = 0;
    } else {
      t = (unsigned)e.kind - 1;
      c = core[t];
      order[t][tail[t]] = next_order++;
      waiting[t][tail[t]++] = e.packet;
    }
    if (!busy[c]) {
      int chosen = -1;

      for (t = 0; t < 3; t++) {
        if (core[t] == c && head[t] < tail[t] && (chosen < 0 || order[t][head[t]] < order[chosen][head[chosen]])) {
          chosen = (int)t;
        }
      }
      if (chosen >= 0) {
        const unsigned p = waiting[chosen][head[chosen]++];
        const uint64_t start = e.time + (ran[c] >= 0 && ran[c] != chosen ? change : 0), end = start + service[chosen];

        finish[chosen][p] = end;
        busy[c] = 1;
        ran[c] = chosen;
        list[n++] = (struct entry){end, 0, c, p};
        if (chosen < 2) {
          list[n++] = (struct entry){end, chosen + 2, 0, p};
        }
      }
    }
  }
}

static void shared_cores(void **state)
{
  static const unsigned cores[][3] = {{0, 1, 0}, {0, 0, 1}, {0, 0, 0}, {0, 1, 1}, {0, 1, 2}};
  static uint64_t finish[3][N];
  int c;

  (void)state;
  for (c = 0; c < CASES; c++) {
    struct tlg_sim_scenario *s = help_scenario(250, N);
    struct tlg_sim_stamp source[N], seen[3][N];
    uint64_t air[N], service[3];
    struct help_log log = {0};
    struct tlg_sim *sim;
    unsigned t, j;

    s->seed = help_random(1, 1000000);
    s->arrivals = c % 3 ? TLG_ARRIVALS_POISSON : TLG_ARRIVALS_CLOCK;
    s->batch = (uint32_t)help_random(1, 4);
    s->switch_ps = c % 4 == 3 ? help_random(1, 1000000) : 0;
    for (t = 0; t < 3; t++) {
      const char *names[] = {"rx", "filter", "tx"};

      service[t] = c % 2 ? help_random(100000, 6000000) : help_random(1, 6) * 1000000; /* half of them with many ties */
      help_thread(s, names[t], service[t])->core = cores[c % 5][t] + 1;
    }
    sim = help_run(s, TLG_ENGINE_EVENTS, &log);
    assert_int_equal(help_pick(&log, "source", source, N), N);
    for (t = 0; t < 3; t++) {
      assert_int_equal(help_pick(&log, s->threads[t].name, seen[t], N), N);
    }
    for (j = 0; j < N; j++) {
      air[j] = source[j].finish;
    }
    plain(air, service, cores[c % 5], s->switch_ps, finish);
    for (t = 0; t < 3; t++) {
      for (j = 0; j < N; j++) {
        assert_int_equal(seen[t][j].finish, finish[t][j]);
      }
    }
    assert_true(tlg_sim_results(sim)->little_holds);
    tlg_sim_free(sim);
    help_free(&log);
    tlg_sim_scenario_free(s);
  }
}

/* Receive 9, resample 15, send 2: three packets at once take 56 us pipelined and 78 in series. */
static void three_packets(void **state)
{
  static const char *const names[] = {"receive", "resample", "send"};
  static const uint64_t cost[] = {9000000, 15000000, 2000000};
  int pipelined;

  (void)state;
  for (pipelined = 0; pipelined < 2; pipelined++) {
    struct tlg_sim_scenario *s = help_scenario(1250, 3);
    struct tlg_sim_stamp last[3];
    struct help_log log = {0};
    struct tlg_sim *sim;
    int t;

    s->batch = 3;
    for (t = 0; t < 3; t++) {
      help_thread(s, names[t], cost[t])->core = pipelined ? (t == 1 ? 2 : 1) : 1;
    }
    sim = help_run(s, TLG_ENGINE_AUTO, &log);
    help_pick(&log, "send", last, 3);
    assert_int_equal(last[2].finish - 3 * 1250 * 40000ull, pipelined ? 56000000 : 78000000);
    tlg_sim_free(sim);
    help_free(&log);
    tlg_sim_scenario_free(s);
  }
}

static void load_of_a_shared_core(void **state)
{
  struct tlg_sim_scenario *s = help_scenario(250, 2000);
  const struct tlg_sim_result *r;
  struct tlg_sim *sim;

  (void)state;
  help_thread(s, "rx", 6000000)->core = 1;
  help_thread(s, "filter", 5000000)->core = 2;
  help_thread(s, "tx", 5000000)->core = 1;
  sim = help_run(s, TLG_ENGINE_AUTO, NULL);
  r = tlg_sim_results(sim);
  assert_false(r->stable);
  assert_string_equal(r->servers[r->bottleneck].name, "core 1");
  assert_int_equal(r->servers[r->bottleneck].load_ppm, 1100000);
  tlg_sim_free(sim);
  tlg_sim_scenario_free(s);
}

static void what_cannot_be(void **state)
{
  struct tlg_sim_scenario *s = help_scenario(250, 10);
  struct tlg_sim_cfg cfg = {.engine = TLG_ENGINE_RECURSION};
  struct tlg_sim *sim;
  struct tlg_error err;

  (void)state;
  help_thread(s, "a", 1000)->core = 1;
  help_thread(s, "b", 1000)->core = 1;
  assert_int_equal(tlg_sim_new(&sim, s, &cfg, &err), TLG_EINVAL);
  assert_null(sim);
  s->threads[1].queue = 3;
  s->threads[1].overrun = TLG_SIM_BLOCK;
  cfg.engine = TLG_ENGINE_AUTO;
  assert_int_equal(tlg_sim_new(&sim, s, &cfg, &err), TLG_EFORMAT);
  assert_non_null(strstr(err.text, "'b'"));
  tlg_sim_scenario_free(s);
}

/* Nothing behind the network: nothing competes for a core, whichever engine is asked for. */
static void without_threads(void **state)
{
  struct tlg_sim_scenario *s = help_scenario(364, 1000);
  struct tlg_sim *sim;

  (void)state;
  s->has_link = 1;
  s->link_bps = 1000000000;
  sim = help_run(s, TLG_ENGINE_EVENTS, NULL);
  assert_int_equal(tlg_sim_results(sim)->delivered, 1000);
  tlg_sim_free(sim);
  tlg_sim_scenario_free(s);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(shared_cores),   cmocka_unit_test(three_packets),   cmocka_unit_test(load_of_a_shared_core),
      cmocka_unit_test(what_cannot_be), cmocka_unit_test(without_threads),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
