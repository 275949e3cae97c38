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

/* ---- what is waited for --------------------------------------------------------------------------------------- */

/* A stamp, with its waits copied. */
struct told {
  struct tlg_sim_stamp e;
  size_t first; /* in waits */
};
struct waits {
  struct told *e;
  size_t n;
  struct tlg_sim_wait *waits;
  size_t n_waits;
};

static void keep_waits(void *arg, const struct tlg_sim_stamp *stamp)
{
  struct waits *w = arg;

  w->e = realloc(w->e, (w->n + 1) * sizeof *w->e);
  w->waits = realloc(w->waits, (w->n_waits + stamp->n_waits + 1) * sizeof *w->waits);
  assert_non_null(w->e);
  assert_non_null(w->waits);
  w->e[w->n].e = *stamp;
  w->e[w->n++].first = w->n_waits;
  if (stamp->n_waits) {
    memcpy(w->waits + w->n_waits, stamp->waits, stamp->n_waits * sizeof *stamp->waits);
  }
  w->n_waits += stamp->n_waits;
}

/* The thread that a stage is of; -1: none. */
static int thread_of(const struct tlg_sim_scenario *s, const char *element)
{
  unsigned t, k;

  for (t = 0; t < s->n_threads; t++) {
    for (k = 0; k < s->threads[t].n_stages; k++) {
      if (strcmp(s->threads[t].stages[k].name, element) == 0) {
        return (int)t;
      }
    }
  }
  return -1;
}

static int collects(const struct tlg_sim_stamp *e)
{
  return e->note && strcmp(e->note, "has collected a unit") == 0;
}

/* What served from one instant to another on the core of a thread: whether nobody but `only` (-1: nobody at all) did.
 */
static int served_by(const struct tlg_sim_scenario *s, const struct waits *w, int thread, int only, uint64_t from,
                     uint64_t until)
{
  const unsigned core = s->threads[thread].core;
  size_t i;

  for (i = 0; i < w->n; i++) {
    const struct tlg_sim_stamp *e = &w->e[i].e;
    const int by = thread_of(s, e->element);

    if (by >= 0 && by != only && !collects(e) && (by == thread || (core && s->threads[by].core == core)) &&
        e->start < until && e->finish > from) {
      return 0;
    }
  }
  return 1;
}

static int finished_at(const struct tlg_sim_scenario *s, const struct waits *w, const char *who, uint64_t at)
{
  size_t i;

  for (i = 0; i < w->n; i++) {
    const int by = thread_of(s, w->e[i].e.element);

    if (w->e[i].e.finish == at && strcmp(by < 0 ? w->e[i].e.element : s->threads[by].name, who) == 0) {
      return 1;
    }
  }
  return 0;
}

/* When a thread, idle at an instant, had ended what it did. */
static uint64_t idle_since(const struct tlg_sim_scenario *s, const struct waits *w, int thread, uint64_t at)
{
  uint64_t since = 0;
  size_t i;

  for (i = 0; i < w->n; i++) {
    if (thread_of(s, w->e[i].e.element) == thread && w->e[i].e.finish <= at && w->e[i].e.finish > since) {
      since = w->e[i].e.finish;
    }
  }
  return since;
}

static int stall_ends(const struct tlg_sim_scenario *s, uint64_t at)
{
  unsigned i;

  for (i = 0; i < s->n_stalls; i++) {
    const uint64_t first = s->stalls[i].phase_ps + s->stalls[i].length.low_ps;

    if (at >= first && (at - first) % s->stalls[i].every_ps == 0) {
      return 1;
    }
  }
  return 0;
}

/* Judged by the stamps of all others: who served when. Returns what is wrong with a part [from, wait->until), or NULL.
 */
static const char *part_wrong(const struct tlg_sim_scenario *s, const struct waits *w, const struct tlg_sim_stamp *e,
                              const struct tlg_sim_wait *wait, uint64_t from)
{
  const int mine = thread_of(s, e->element);
  const char *own = mine < 0 ? e->element : s->threads[mine].name;
  int by = -1;
  unsigned t;

  for (t = 0; t < s->n_threads; t++) {
    by = strcmp(s->threads[t].name, wait->who) == 0 ? (int)t : by;
  }
  if (wait->cause == TLG_WAIT_CORE
          ? mine < 0 || by < 0 || by == mine || !s->threads[mine].core || s->threads[by].core != s->threads[mine].core
          : strcmp(wait->who, own) != 0) {
    return "names the wrong one";
  }
  if ((strcmp(e->element, "nic") == 0) != (wait->cause == TLG_WAIT_INTERRUPT)) {
    return "only the controller holds back, and does nothing else";
  }
  if (mine >= 0 && wait->core != s->threads[mine].core) {
    return "names the wrong core";
  }
  switch (wait->cause) {
  case TLG_WAIT_EARLIER:
  case TLG_WAIT_CORE:
    /* A thread that takes up a part of a unit, and has no more to do until it is whole, leaves no stamp. */
    if (!(by >= 0 && s->threads[by].stages[0].unit) && !finished_at(s, w, wait->who, wait->until)) {
      return "ends when nothing did";
    }
    return mine < 0 || served_by(s, w, mine, by, from, wait->until) ? NULL : "another one served";
  case TLG_WAIT_SWITCH:
    return wait->until - from == s->switch_ps && served_by(s, w, mine, -1, from, wait->until) ? NULL : "is no switch";
  case TLG_WAIT_WAKE:
    return wait->until == e->ready + s->threads[mine].wake_ps && served_by(s, w, mine, -1, from, wait->until)
               ? NULL
               : "is no waking";
  case TLG_WAIT_LOOP:
    return (s->threads[mine].stages[0].unit ||
            (wait->until - idle_since(s, w, mine, e->ready)) % s->threads[mine].vacation.low_ps == 0) &&
                   wait->until - from <= s->threads[mine].vacation.low_ps &&
                   served_by(s, w, mine, -1, from, wait->until)
               ? NULL
               : "is no round of the loop";
  case TLG_WAIT_STALL:
    return stall_ends(s, wait->until) && (mine < 0 || served_by(s, w, mine, -1, from, wait->until)) ? NULL
                                                                                                    : "is no stall";
  case TLG_WAIT_INTERRUPT:
    return wait->until % s->moderation_ps == 0 && wait->until == e->start ? NULL : "is no tick";
  case TLG_WAIT_SERVED:
    return from == e->ready && (wait->until - s->interrupt.low_ps) % s->moderation_ps == 0 ? NULL : "is no interrupt";
  }
  return "is no cause";
}

/* How many waits are told wrongly; *seen gets a bit for each cause. */
static unsigned waits_wrong(const struct tlg_sim_scenario *s, const struct waits *w, unsigned *seen)
{
  unsigned wrong = 0;
  size_t i, k;

  for (i = 0; i < w->n; i++) {
    const struct tlg_sim_stamp *e = &w->e[i].e;
    const int waits = e->start > e->ready && strcmp(e->element, "source") != 0 && strcmp(e->element, "subframe") != 0;
    uint64_t at = e->ready;

    if (collects(e) || e->dropped) {
      wrong += e->n_waits != 0;
      continue;
    }
    for (k = 0; k < e->n_waits; k++) {
      const struct tlg_sim_wait *wait = &w->waits[w->e[i].first + k];

      wrong += wait->until <= at || part_wrong(s, w, e, wait, at) != NULL;
      *seen |= 1u << wait->cause;
      at = wait->until;
    }
    wrong += waits ? at != e->start : e->n_waits != 0; /* to the picosecond */
  }
  return wrong;
}

/* Any chain of three threads: shared cores or own ones, waking, switching, stalls, units, a polling loop. */
static struct tlg_sim_scenario *any_waits(int c)
{
  static const unsigned cores[][3] = {{1, 2, 1}, {1, 1, 2}, {1, 1, 1}, {1, 2, 2}, {0, 0, 0}};
  struct tlg_sim_scenario *s = help_scenario(250, N);
  unsigned t;

  s->seed = help_random(1, 1000000);
  s->arrivals = c % 3 ? TLG_ARRIVALS_POISSON : TLG_ARRIVALS_CLOCK;
  s->batch = (uint32_t)help_random(1, 4);
  s->switch_ps = help_random(0, 1) * help_random(1, 1000000);
  s->has_link = 1;
  s->link_bps = 1000000000;
  s->has_nic = s->has_kernel = 1;
  s->moderation = TLG_MODERATION_TICK;
  s->moderation_ps = help_random(1000000, 20000000);
  s->interrupt.low_ps = help_random(0, 2000000);
  s->kernel.fixed_ps = help_random(100000, 900000);
  for (t = 0; t < 3; t++) {
    static const char *const names[] = {"rx", "filter", "tx"};
    struct tlg_sim_thread *th = help_thread(s, names[t], help_random(100000, 3000000));

    th->core = cores[c % 5][t];
    th->wake_ps = help_random(0, 1) * help_random(1, 3000000);
    if (!th->core && c % 2) {
      th->wake_ps = 0;
      th->vacation.low_ps = help_random(100000, 3000000);
    }
  }
  if (c % 4 == 1) { /* units, in front or behind */
    struct tlg_sim_thread *th = &s->threads[c % 3];

    if (c % 8 == 1) {
      snprintf(th->stages[1].name, sizeof th->stages[1].name, "collect");
      th->stages[1].cost.fixed_ps = help_random(100000, 1000000);
      th->n_stages = 2;
    }
    th->stages[th->n_stages - 1].unit = help_random(40, 700);
  }
  s->n_stalls = (unsigned)help_random(0, 2);
  for (t = 0; t < s->n_stalls; t++) {
    s->stalls[t].on = (int)help_random(0, 4) - 2;
    s->stalls[t].every_ps = help_random(200000000, 400000000);
    s->stalls[t].phase_ps = help_random(0, 100000000);
    s->stalls[t].length.low_ps = help_random(1000000, 50000000);
  }
  s->has_hop = 1;
  s->hop.fixed_ps = help_random(100000, 3000000);
  return s;
}

static void waits_are_told(void **state)
{
  unsigned seen = 0;
  int c;

  (void)state;
  for (c = 0; c < CASES; c++) {
    struct tlg_sim_scenario *s = any_waits(c);
    struct waits w = {0};
    struct tlg_sim_cfg cfg = {.engine = c % 2 ? TLG_ENGINE_AUTO : TLG_ENGINE_EVENTS, .stamp = keep_waits};
    struct tlg_sim *sim;
    uint64_t left;
    size_t i, k;

    cfg.stamp_arg = &w;
    cfg.stamp_count = UINT64_MAX;
    assert_int_equal(tlg_sim_new(&sim, s, &cfg, NULL), TLG_OK);
    assert_int_equal(tlg_sim_step(sim, N, &left), TLG_OK);
    assert_int_equal(waits_wrong(s, &w, &seen), 0);
    if (c < 10) { /* and what is told wrongly would be noticed */
      unsigned changed = 0, same = 0, unused = 0;

      for (i = 0; i < w.n; i++) {
        for (k = 0; k < w.e[i].e.n_waits; k++) {
          struct tlg_sim_wait *wait = &w.waits[w.e[i].first + k], was = *wait;

          wait->cause = wait->cause == TLG_WAIT_EARLIER ? TLG_WAIT_CORE : TLG_WAIT_EARLIER;
          same += waits_wrong(s, &w, &unused) == 0;
          *wait = was;
          wait->until++;
          same += waits_wrong(s, &w, &unused) == 0;
          *wait = was;
          if (++changed == 20) {
            i = w.n - 1;
            break;
          }
        }
      }
      assert_true(changed > 0);
      assert_int_equal(same, 0);
    }
    free(w.e);
    free(w.waits);
    tlg_sim_free(sim);
    tlg_sim_scenario_free(s);
  }
  assert_int_equal(seen, (1u << (TLG_WAIT_STALL + 1)) - 1); /* every cause there is */
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(shared_cores),   cmocka_unit_test(three_packets),   cmocka_unit_test(load_of_a_shared_core),
      cmocka_unit_test(what_cannot_be), cmocka_unit_test(without_threads), cmocka_unit_test(waits_are_told),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
