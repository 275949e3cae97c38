/* SPDX-License-Identifier: Apache-2.0 */
/* The recursion against exact cases, packet by packet, without tolerance, over random parameters. */
#include "sim_help.h"

enum { CASES = 300, PACKETS = 200 };

/* The wait of each packet in one queue: the textbook recursion, on its own arrivals and services. */
static void lindley(const uint64_t *arrival, const uint64_t *service, size_t n, uint64_t *wait)
{
  uint64_t done = 0;
  size_t j;

  for (j = 0; j < n; j++) {
    const uint64_t start = arrival[j] > done ? arrival[j] : done;

    wait[j] = start - arrival[j];
    done = start + service[j];
  }
}

static void tandem_is_one_queue(void **state)
{
  struct tlg_sim_stamp seen[PACKETS], source[PACKETS];
  uint64_t arrival[PACKETS], service[PACKETS], wait[PACKETS];
  int c;

  (void)state;
  for (c = 0; c < CASES; c++) {
    struct tlg_sim_scenario *s = help_scenario((uint32_t)help_random(100, 900), PACKETS);
    const unsigned stages = (unsigned)help_random(2, 5);
    uint64_t sum = 0, most = 0, j;
    struct help_log log = {0};
    struct tlg_sim *sim;
    unsigned k;

    s->seed = help_random(1, 1000000);
    s->arrivals = c % 2 ? TLG_ARRIVALS_POISSON : TLG_ARRIVALS_CLOCK;
    for (k = 0; k < stages; k++) {
      char name[16];
      const uint64_t t = help_random(1, 40000000);

      snprintf(name, sizeof name, "s%u", k);
      help_thread(s, name, t);
      sum += t;
      most = t > most ? t : most;
    }
    sim = help_run(s, TLG_ENGINE_RECURSION, &log);
    assert_int_equal(help_pick(&log, "source", source, PACKETS), PACKETS);
    assert_int_equal(help_pick(&log, s->threads[stages - 1].name, seen, PACKETS), PACKETS);
    for (j = 0; j < PACKETS; j++) {
      arrival[j] = source[j].finish;
      service[j] = most;
    }
    lindley(arrival, service, PACKETS, wait);
    for (j = 0; j < PACKETS; j++) {
      assert_int_equal(seen[j].finish - arrival[j] - sum, wait[j]);
    }
    assert_true(tlg_sim_results(sim)->little_holds);
    tlg_sim_free(sim);
    help_free(&log);
    tlg_sim_scenario_free(s);
  }
}

static void serial_is_one_queue_of_the_sum(void **state)
{
  struct tlg_sim_stamp seen[PACKETS], source[PACKETS];
  uint64_t arrival[PACKETS], service[PACKETS], wait[PACKETS];
  int c;

  (void)state;
  for (c = 0; c < CASES; c++) {
    struct tlg_sim_scenario *s = help_scenario((uint32_t)help_random(100, 900), PACKETS);
    struct tlg_sim_thread *th = help_thread(s, "a", help_random(1, 10000000));
    const uint64_t b = help_random(1, 10000000), d = help_random(1, 10000000);
    struct help_log log = {0};
    struct tlg_sim *sim;
    size_t j;

    s->seed = help_random(1, 1000000);
    s->arrivals = TLG_ARRIVALS_POISSON;
    th->n_stages = 3;
    snprintf(th->stages[1].name, TLG_SIM_NAME, "b");
    snprintf(th->stages[2].name, TLG_SIM_NAME, "d");
    th->stages[1].cost.fixed_ps = b;
    th->stages[2].cost.fixed_ps = d;
    sim = help_run(s, TLG_ENGINE_AUTO, &log);
    help_pick(&log, "source", source, PACKETS);
    help_pick(&log, "d", seen, PACKETS);
    for (j = 0; j < PACKETS; j++) {
      arrival[j] = source[j].finish;
      service[j] = th->stages[0].cost.fixed_ps + b + d;
    }
    lindley(arrival, service, PACKETS, wait);
    for (j = 0; j < PACKETS; j++) {
      assert_int_equal(seen[j].finish, arrival[j] + wait[j] + service[j]);
    }
    tlg_sim_free(sim);
    help_free(&log);
    tlg_sim_scenario_free(s);
  }
}

static int stable(const struct tlg_sim_scenario *s)
{
  struct tlg_sim *sim = help_run(s, TLG_ENGINE_AUTO, NULL);
  const int answer = tlg_sim_results(sim)->stable;

  tlg_sim_free(sim);
  return answer;
}

/* Receive 9, resample 15, send 2 us a packet: in series stable above 650 samples a packet, pipelined above 375. */
static void serial_against_pipelined(void **state)
{
  static const struct {
    int pipelined;
    uint32_t size;
    int stable;
  } cases[] = {{0, 649, 0}, {0, 650, 0}, {0, 651, 1}, {0, 625, 0}, {1, 374, 0}, {1, 375, 0}, {1, 376, 1}, {1, 625, 1}};
  size_t i;

  (void)state;
  for (i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct tlg_sim_scenario *s = help_scenario(cases[i].size, 2000);
    struct tlg_sim_thread *th = help_thread(s, "receive", 9000000);

    if (cases[i].pipelined) {
      help_thread(s, "resample", 15000000);
      help_thread(s, "send", 2000000);
    } else {
      th->n_stages = 3;
      th->stages[1].cost.fixed_ps = 15000000;
      th->stages[2].cost.fixed_ps = 2000000;
    }
    assert_int_equal(stable(s), cases[i].stable);
    tlg_sim_scenario_free(s);
  }
}

/* A cost c + sN is stable if and only if N > c / (Ts - s). */
static void fixed_and_per_sample_cost(void **state)
{
  int c;

  (void)state;
  for (c = 0; c < CASES; c++) {
    const uint64_t fixed = help_random(100000, 30000000), per_sample = help_random(0, 39000);
    const uint64_t edge = fixed / (40000 - per_sample); /* N = edge is at most the bound */
    struct tlg_sim_scenario *s;
    uint32_t n;

    if (edge < 1 || edge > 100000) {
      continue;
    }
    for (n = (uint32_t)edge; n <= edge + 1; n++) {
      s = help_scenario(n, 300);
      help_thread(s, "x", fixed)->stages[0].cost.per_sample_fs = per_sample * 1000;
      assert_int_equal(stable(s), n > edge);
      tlg_sim_scenario_free(s);
    }
  }
}

/* Sample i of N waits N-1-i sample periods for its packet. */
static void packetisation(void **state)
{
  static const uint32_t sizes[] = {1, 2, 32, 250, 362, 364, 625, 1996, 25000};
  size_t k;

  (void)state;
  for (k = 0; k < sizeof sizes / sizeof *sizes; k++) {
    struct tlg_sim_scenario *s = help_scenario(sizes[k], 50);
    struct tlg_sim_stamp source[50];
    struct help_log log = {0};
    struct tlg_sim *sim = help_run(s, TLG_ENGINE_AUTO, &log);
    uint64_t j, i;

    help_pick(&log, "source", source, 50);
    for (j = 0; j < 50; j++) {
      assert_int_equal(source[j].end - source[j].begin, sizes[k]);
      for (i = 0; i < sizes[k]; i++) {
        assert_int_equal(source[j].finish - tlg_instant_ps(source[j].begin + i + 1, &s->rate),
                         (sizes[k] - 1 - i) * 40000);
      }
    }
    tlg_sim_free(sim);
    help_free(&log);
    tlg_sim_scenario_free(s);
  }
}

/* Instants at a rate whose period is no whole number of picoseconds: one floor, however the samples are cut. */
static void instants_are_never_summed(void **state)
{
  struct tlg_sim_scenario *s = help_scenario(364, 5000);
  struct tlg_sim_stamp source[5000];
  struct help_log log = {0};
  struct tlg_sim *sim;
  uint64_t j;

  (void)state;
  assert_int_equal(tlg_rate_make(&s->rate, 184320000, 7), TLG_OK);
  sim = help_run(s, TLG_ENGINE_AUTO, &log);
  help_pick(&log, "source", source, 5000);
  for (j = 0; j < 5000; j++) {
    const unsigned __int128 exact = (unsigned __int128)(j + 1) * 364 * 1000000000000u * 7 / 184320000u;

    assert_true(source[j].finish == (uint64_t)exact);
  }
  tlg_sim_free(sim);
  help_free(&log);
  tlg_sim_scenario_free(s);
}

/* A stall of length V in D/D/1, the first arrival phi after it began: W_j = max(0, w0 + V - phi - j (a - S)). */
static void stall_recovery(void **state)
{
  int c;

  (void)state;
  for (c = 0; c < CASES; c++) {
    struct tlg_sim_scenario *s = help_scenario((uint32_t)help_random(100, 900), PACKETS);
    const uint64_t a = s->sizes[0] * 40000ull, service = help_random(1, a - 1), v = help_random(1, 10 * a);
    const uint64_t begin = 20 * a + help_random(0, a - 1); /* after packet 19, which ends at 20 a */
    const uint64_t first = (begin + a - 1) / a - 1;        /* the packet that comes at or after it */
    const uint64_t phi = (first + 1) * a - begin;
    const int64_t w0 = (int64_t)service - (int64_t)(a - phi) > 0 ? (int64_t)(service - (a - phi)) : 0;
    struct tlg_sim_stamp seen[PACKETS];
    struct help_log log = {0};
    struct tlg_sim *sim;
    uint64_t j;

    help_thread(s, "x", service);
    s->n_stalls = 1;
    s->stalls[0].on = 0;
    s->stalls[0].every_ps = 100000 * a;
    s->stalls[0].phase_ps = begin;
    s->stalls[0].length.low_ps = v;
    sim = help_run(s, TLG_ENGINE_AUTO, &log);
    help_pick(&log, "x", seen, PACKETS);
    for (j = 0; first + j < PACKETS; j++) {
      const int64_t w = w0 + (int64_t)v - (int64_t)phi - (int64_t)j * (int64_t)(a - service);

      assert_int_equal(seen[first + j].start - seen[first + j].ready, w > 0 ? w : 0);
    }
    tlg_sim_free(sim);
    help_free(&log);
    tlg_sim_scenario_free(s);
  }
}

/* Finite queues: which packets are lost, by counting those that are inside when each one comes. */
static void finite_queues(void **state)
{
  static struct tlg_sim_stamp seen[2000], source[2000];
  static uint64_t out[2000], in[2000];
  int c;

  (void)state;
  for (c = 0; c < CASES; c++) {
    struct tlg_sim_scenario *s = help_scenario(250, 2000);
    const uint64_t service = help_random(5000000, 15000000), places = help_random(1, 20);
    struct help_log log = {0};
    struct tlg_sim *sim;
    size_t j, k, kept = 0, lost = 0;
    uint64_t done = 0;

    s->seed = help_random(1, 1000000);
    s->arrivals = c % 2 ? TLG_ARRIVALS_POISSON : TLG_ARRIVALS_CLOCK;
    help_thread(s, "x", service)->queue = places;
    sim = help_run(s, TLG_ENGINE_AUTO, &log);
    help_pick(&log, "source", source, 2000);
    help_pick(&log, "x", seen, 2000);
    for (j = 0; j < 2000; j++) {
      size_t waiting = 0;
      const uint64_t now = source[j].finish;

      for (k = kept; k > 0 && in[k - 1] > now; k--) {
        waiting++;
      }
      if (waiting >= places) {
        lost++;
        assert_true(seen[j].dropped);
      } else {
        in[kept] = now > done ? now : done;
        done = in[kept] + service;
        out[kept] = done;
        assert_false(seen[j].dropped);
        assert_int_equal(seen[j].finish, out[kept]);
        kept++;
      }
    }
    assert_int_equal(tlg_sim_results(sim)->dropped, lost);
    assert_int_equal(tlg_sim_results(sim)->delivered, kept);
    assert_true(tlg_sim_results(sim)->little_holds);
    if (!(c % 2) && service > 10000000 && lost > 100) { /* D/D/1/K: the loss tends to 1 - 1/rho */
      assert_true(fabs((double)lost / 2000 - (1 - 1e7 / (double)service)) < 1.5 * (double)(places + 1) / 2000);
    }
    tlg_sim_free(sim);
    help_free(&log);
    tlg_sim_scenario_free(s);
  }
}

/* A queue that blocks loses nothing, and holds the thread before it: against the recursion with two conditions. */
static void blocking_queues(void **state)
{
  int c;

  (void)state;
  for (c = 0; c < CASES; c++) {
    struct tlg_sim_scenario *s = help_scenario(250, PACKETS);
    const uint64_t places = help_random(1, 4), a = help_random(1000000, 12000000), b = help_random(1000000, 12000000);
    struct tlg_sim_stamp first[PACKETS], second[PACKETS], source[PACKETS];
    uint64_t start_b[PACKETS], free_a = 0, free_b = 0;
    struct help_log log = {0};
    struct tlg_sim *sim;
    size_t j;

    s->seed = help_random(1, 1000000);
    s->arrivals = TLG_ARRIVALS_POISSON;
    help_thread(s, "a", a);
    help_thread(s, "b", b)->queue = places;
    s->threads[1].overrun = TLG_SIM_BLOCK;
    sim = help_run(s, TLG_ENGINE_AUTO, &log);
    help_pick(&log, "source", source, PACKETS);
    help_pick(&log, "a", first, PACKETS);
    help_pick(&log, "b", second, PACKETS);
    for (j = 0; j < PACKETS; j++) {
      const uint64_t begin = source[j].finish > free_a ? source[j].finish : free_a;
      uint64_t passed = begin + a;

      assert_int_equal(first[j].start, begin);
      if (j >= places && start_b[j - places] > passed) {
        passed = start_b[j - places];
      }
      free_a = passed;
      start_b[j] = passed > free_b ? passed : free_b;
      free_b = start_b[j] + b;
      assert_int_equal(second[j].ready, passed);
      assert_int_equal(second[j].finish, free_b);
    }
    assert_int_equal(tlg_sim_results(sim)->dropped, 0);
    tlg_sim_free(sim);
    help_free(&log);
    tlg_sim_scenario_free(s);
  }
}

/* Units of samples: when each is complete, by sample number, whatever the packets; and however busy the thread is,
 * collecting lasts from the packet with the first sample to the one with the last, and what follows is waiting. */
static void units(void **state)
{
  int c;

  (void)state;
  for (c = 0; c < CASES; c++) {
    const uint32_t n = (uint32_t)help_random(50, 3000);
    const uint64_t unit = help_random(50, 3000), phase = help_random(0, unit - 1);
    const uint64_t cost = c % 2 ? 1000000 : help_random(1, unit * 44000); /* up to a tenth more than there is time */
    struct tlg_sim_scenario *s = help_scenario(n, PACKETS);
    struct tlg_sim_thread *th = help_thread(s, "collect", cost);
    struct help_log log = {0};
    struct tlg_sim *sim;
    uint64_t k = 0, free_at = 0, longest = 0;
    size_t i;

    s->warmup_ppm = 0;
    th->stages[0].unit = unit;
    th->stages[0].unit_phase = phase;
    sim = help_run(s, TLG_ENGINE_AUTO, &log);
    for (i = 0; i < log.n; i++) {
      if (strcmp(log.e[i].element, "collect") == 0) {
        const uint64_t end = phase + (k + 1) * unit,
                       packet = (end + n - 1) / n - 1; /* the one that holds sample end-1 */
        const uint64_t ready = (packet + 1) * n * 40000ull, start = ready > free_at ? ready : free_at;
        const uint64_t opened = ((end - unit) / n + 1) * n * 40000ull;

        assert_int_equal(log.e[i].end, end);
        assert_int_equal(log.e[i].packet, packet);
        if (log.e[i].note) {
          assert_string_equal(log.e[i].note, "has collected a unit");
          assert_int_equal(log.e[i].ready, opened);
          assert_int_equal(log.e[i].finish, ready);
          longest = ready - opened > longest ? ready - opened : longest;
          continue;
        }
        assert_int_equal(log.e[i].ready, ready);
        assert_int_equal(log.e[i].start, start);
        assert_int_equal(log.e[i].finish, start + cost);
        free_at = start + cost;
        k++;
      }
    }
    assert_int_equal(k, (PACKETS * (uint64_t)n - phase) / unit);
    {
      const struct tlg_sim_result *r = tlg_sim_results(sim);
      struct tlg_delays_summary collect;

      assert_true(r->little_holds);
      for (i = 0; i < r->n_places && strcmp(r->places[i].name, "collect") != 0; i++) {
      }
      assert_true(i < r->n_places);
      tlg_delays_summarise(r->places[i].collect->delays, &collect);
      assert_int_equal(collect.count, k);
      assert_int_equal(collect.max, longest);
    }
    tlg_sim_free(sim);
    help_free(&log);
    tlg_sim_scenario_free(s);
  }
}

static void waits_are(const struct tlg_sim_place *place, uint64_t count, uint64_t sum)
{
  struct tlg_delays_totals t;

  tlg_delays_get(place->wait->delays, &t);
  assert_int_equal(t.count, count);
  assert_int_equal(t.sum_low, sum);
}

/* A packet that completes several units: each of them waits for the ones before it, and all that is booked. In the
 * first stage beside the packets' own waits, in a later one by itself. */
static void every_unit_waits(void **state)
{
  int c;

  (void)state;
  for (c = 0; c < CASES; c++) {
    const uint32_t n = (uint32_t)help_random(500, 3000);
    const uint64_t unit = help_random(50, 3000), cost = help_random(1, unit * 44000), before = c % 2 ? 1000000 : 0;
    struct tlg_sim_scenario *s = help_scenario(n, PACKETS);
    struct tlg_sim_thread *th = help_thread(s, "a", before);
    uint64_t at = 0, free_at = 0, packets = 0, others = 0, end = unit, units = 0, first = 0;
    const struct tlg_sim_result *r;
    struct tlg_sim *sim;
    uint64_t j;

    s->warmup_ppm = 0;
    if (before) {
      th->n_stages = 2;
      snprintf(th->stages[1].name, TLG_SIM_NAME, "b");
    }
    th->stages[before ? 1 : 0].unit = unit;
    th->stages[before ? 1 : 0].cost.fixed_ps = cost;
    for (j = 0; j < PACKETS; j++) {
      const uint64_t came = (j + 1) * n * 40000ull, begin = came > free_at ? came : free_at;

      packets += begin - came;
      at = begin + before;
      for (first = at; end <= (j + 1) * n; end += unit) {
        others += at - (before || at == first ? first : came); /* the first one's is the packet's */
        at += cost;
        units++;
      }
      free_at = at;
    }
    sim = help_run(s, c % 4 < 2 ? TLG_ENGINE_RECURSION : TLG_ENGINE_EVENTS, NULL);
    r = tlg_sim_results(sim);
    if (before) {
      waits_are(help_place(r, "a"), PACKETS, packets);
      waits_are(help_place(r, "b"), units, others);
    } else {
      uint64_t further = 0;

      for (j = 0; j < PACKETS; j++) { /* units of packet j but the first */
        const uint64_t whole = (j + 1) * n / unit - j * n / unit;

        further += whole > 1 ? whole - 1 : 0;
      }
      waits_are(help_place(r, "a"), PACKETS + further, packets + others);
    }
    tlg_sim_free(sim);
    tlg_sim_scenario_free(s);
  }
}

/* Random scenarios with all elements. */
static struct tlg_sim_scenario *random_scenario(int c)
{
  struct tlg_sim_scenario *s = help_scenario((uint32_t)help_random(100, 2000), 1000 + help_random(0, 3000));
  const unsigned n = (unsigned)help_random(1, 4);
  unsigned k;

  s->seed = help_random(1, 1000000);
  s->warmup_ppm = (uint32_t)help_random(0, 300000);
  s->arrivals = c % 5 == 0 ? TLG_ARRIVALS_POISSON : TLG_ARRIVALS_CLOCK;
  if (c % 2) {
    s->has_link = 1;
    s->link_bps = c % 3 ? 1000000000 : 10000000000;
    s->mtu = c % 7 ? 1500 : 9000;
    s->link_latency_ps = help_random(0, 2000000);
    s->sender_buffer_bytes = c % 11 == 0 ? 20000 : 0;
  }
  if (c % 3) {
    s->has_nic = 1;
    s->ring = c % 4 ? 0 : (uint32_t)help_random(16, 64);
    s->moderation = (enum tlg_moderation)(c % 9);
    s->moderation_ps = help_random(1000000, 200000000);
    s->has_kernel = 1;
    s->kernel.fixed_ps = help_random(0, 2000000);
    s->kernel.per_byte_fs = 50000;
    s->kernel.jitter.kind = c % 2 ? TLG_DIST_EXPONENTIAL : TLG_DIST_CONSTANT;
    s->kernel.jitter.low_ps = 300000;
    s->interrupt.kind = TLG_DIST_UNIFORM;
    s->interrupt.low_ps = 1000000;
    s->interrupt.high_ps = 4000000;
  }
  for (k = 0; k < n; k++) {
    char name[16];
    struct tlg_sim_thread *th;

    snprintf(name, sizeof name, "t%u", k);
    th = help_thread(s, name, help_random(1000000, s->sizes[0] * 38000ull));
    th->queue = help_random(0, 1) ? help_random(1, 20) : 0;
    th->wake_ps = help_random(0, 1) ? help_random(0, 20000000) : 0;
    th->stages[0].cost.jitter.kind = (enum tlg_dist_kind)help_random(0, 2);
    th->stages[0].cost.jitter.low_ps = help_random(0, 3000000);
    th->stages[0].cost.jitter.high_ps = 4000000;
    if (c % 6 >= 4) { /* units, of samples that no packet's end need be the end of */
      th->stages[0].unit = k == n - 1 ? 0 : help_random(100, 4000);
      th->n_stages = c % 12 >= 10 ? 2 : 1;
      snprintf(th->stages[1].name, TLG_SIM_NAME, "u%u", k);
      th->stages[1].cost.fixed_ps = help_random(0, 3000000);
    }
  }
  if (c % 8 == 6 || c % 6 == 5) { /* several sizes, counted by bytes */
    s->n_sizes = 3;
    s->sizes = realloc(s->sizes, s->n_sizes * sizeof *s->sizes);
    assert_non_null(s->sizes);
    s->sizes[1] = (uint32_t)help_random(100, 2000);
    s->sizes[2] = (uint32_t)help_random(100, 2000);
    s->socket_bytes = help_random(60000, 600000);
    s->threads[0].queue = 0;
  }
  if (c % 4 == 1) {
    s->n_stalls = 2;
    s->stalls[0].on = TLG_STALL_HOST;
    s->stalls[0].every_ps = help_random(5000000000, 20000000000);
    s->stalls[0].length.low_ps = help_random(1000000, 500000000);
    s->stalls[1].on = (int)help_random(0, n - 1);
    s->stalls[1].every_ps = help_random(5000000000, 20000000000);
    s->stalls[1].random = 1;
    s->stalls[1].length.kind = TLG_DIST_EXPONENTIAL;
    s->stalls[1].length.low_ps = help_random(1000000, 100000000);
  }
  s->has_hop = c % 2;
  s->hop.fixed_ps = 1000000;
  s->hop_latency_ps = 7000000;
  s->has_phy = 1;
  s->offset = help_random(0, 30719);
  return s;
}

static void same_stat(const struct tlg_sim_stat *a, const struct tlg_sim_stat *b)
{
  struct tlg_delays_summary x, y;

  assert_int_equal(!a, !b);
  if (a) {
    tlg_delays_summarise(a->delays, &x);
    tlg_delays_summarise(b->delays, &y);
    assert_memory_equal(&x, &y, sizeof x);
    assert_int_equal(a->n_batches, b->n_batches);
    assert_memory_equal(a->batch_mean_ps, b->batch_mean_ps, sizeof a->batch_mean_ps);
  }
}

static void same_result(struct tlg_sim *one, struct tlg_sim *two)
{
  const struct tlg_sim_result *a = tlg_sim_results(one), *b = tlg_sim_results(two);
  unsigned i;

  assert_int_equal(a->n_places, b->n_places);
  for (i = 0; i < a->n_places; i++) {
    assert_string_equal(a->places[i].name, b->places[i].name);
    assert_int_equal(a->places[i].arrived, b->places[i].arrived);
    assert_int_equal(a->places[i].dropped, b->places[i].dropped);
    assert_int_equal(a->places[i].first_drop_ps, b->places[i].first_drop_ps);
    assert_int_equal(a->places[i].load_ppm, b->places[i].load_ppm);
    assert_int_equal(a->places[i].most_waiting, b->places[i].most_waiting);
    same_stat(a->places[i].wait, b->places[i].wait);
    same_stat(a->places[i].service, b->places[i].service);
    same_stat(a->places[i].collect, b->places[i].collect);
    same_stat(a->places[i].stalled, b->places[i].stalled);
  }
  same_stat(a->packet, b->packet);
  same_stat(a->subframe, b->subframe);
  same_stat(a->closing, b->closing);
  same_stat(a->gap, b->gap);
  same_stat(a->received, b->received);
  assert_int_equal(a->delivered, b->delivered);
  assert_int_equal(a->dropped, b->dropped);
  assert_int_equal(a->subframes_in_time, b->subframes_in_time);
  assert_int_equal(a->subframes_incomplete, b->subframes_incomplete);
  assert_int_equal(a->interrupts, b->interrupts);
  assert_int_equal(a->number_inside_ppm, b->number_inside_ppm);
  assert_true(a->little_holds);
  assert_true(b->little_holds);
}

/* Packets in blocks, one by one, and by events: the same result in every figure. */
static void three_ways_agree(void **state)
{
  int c, lossy = 0;

  (void)state;
  for (c = 0; c < CASES / 2; c++) {
    struct tlg_sim_scenario *s = random_scenario(c);
    struct tlg_sim_cfg cfg = {.engine = TLG_ENGINE_RECURSION, .plain = 1};
    struct tlg_sim *blocks, *plain, *events;
    uint64_t left;

    blocks = help_run(s, TLG_ENGINE_RECURSION, NULL);
    assert_int_equal(tlg_sim_new(&plain, s, &cfg, NULL), TLG_OK);
    assert_int_equal(tlg_sim_step(plain, UINT64_MAX, &left), TLG_OK);
    events = help_run(s, TLG_ENGINE_EVENTS, NULL);
    same_result(blocks, plain);
    same_result(plain, events);
    lossy += tlg_sim_results(plain)->dropped > 0;
    tlg_sim_free(blocks);
    tlg_sim_free(plain);
    tlg_sim_free(events);
    tlg_sim_scenario_free(s);
  }
  assert_in_range(lossy, CASES / 10, CASES); /* losses were among them */
}

/* A packet that vanishes breaks Little's law and the count. */
static void a_lost_packet_is_noticed(void **state)
{
  struct tlg_sim_scenario *s = help_scenario(364, 1000);
  struct tlg_sim *sim;
  uint64_t left;

  (void)state;
  help_thread(s, "x", 5000000);
  assert_int_equal(tlg_sim_new(&sim, s, NULL, NULL), TLG_OK);
  sim->fault.lose_packet = 501;
  sim->blocks = 0;
  assert_int_equal(tlg_sim_step(sim, UINT64_MAX, &left), TLG_OK);
  assert_false(tlg_sim_results(sim)->little_holds);
  tlg_sim_free(sim);
  tlg_sim_scenario_free(s);
}

/* An hour's packets need no more memory than a second's: nothing is allocated after the start. */
static void results_in_the_middle(void **state)
{
  struct tlg_sim_scenario *s = help_scenario(364, 100000);
  const struct tlg_sim_result *r;
  struct tlg_sim *sim;
  uint64_t left;

  (void)state;
  help_thread(s, "x", 5000000);
  assert_int_equal(tlg_sim_new(&sim, s, NULL, NULL), TLG_OK);
  assert_int_equal(tlg_sim_step(sim, 50000, &left), TLG_OK);
  assert_int_equal(left, 50000);
  r = tlg_sim_results(sim);
  assert_int_equal(r->delivered, 50000);
  assert_int_equal(tlg_sim_step(sim, 1000000, &left), TLG_OK);
  assert_int_equal(left, 0);
  r = tlg_sim_results(sim);
  assert_int_equal(r->delivered, 100000);
  assert_int_equal(tlg_delays_count(r->packet->delays), 100000);
  assert_int_equal(r->packet->n_batches, TLG_SIM_BATCHES);
  tlg_sim_free(sim);
  tlg_sim_scenario_free(s);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tandem_is_one_queue),
      cmocka_unit_test(serial_is_one_queue_of_the_sum),
      cmocka_unit_test(serial_against_pipelined),
      cmocka_unit_test(fixed_and_per_sample_cost),
      cmocka_unit_test(packetisation),
      cmocka_unit_test(instants_are_never_summed),
      cmocka_unit_test(stall_recovery),
      cmocka_unit_test(finite_queues),
      cmocka_unit_test(blocking_queues),
      cmocka_unit_test(units),
      cmocka_unit_test(every_unit_waits),
      cmocka_unit_test(three_ways_agree),
      cmocka_unit_test(a_lost_packet_is_noticed),
      cmocka_unit_test(results_in_the_middle),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
