/* SPDX-License-Identifier: Apache-2.0 */
/* Queues with random arrivals or services against their closed forms, inside 99.9 % confidence intervals over seeds;
 * Little's law; Marshall's identity; what runs report. */
#include "sim_help.h"

enum { SEEDS = 16, PACKETS = 200000 };

static const double loads[] = {0.3, 0.7, 0.9};
static const double spacing = 10e6; /* ps: 250 samples */

typedef double figure_fn(struct tlg_sim *sim);

static double wait_of(struct tlg_sim *sim)
{
  struct tlg_delays_summary d;

  tlg_delays_summarise(help_place(tlg_sim_results(sim), "x")->wait->delays, &d);
  return (double)d.mean;
}

static double loss_of(struct tlg_sim *sim)
{
  const struct tlg_sim_result *r = tlg_sim_results(sim);

  return (double)r->dropped / (double)r->sent;
}

/* Whether the mean of a figure over the seeds agrees with what is expected: Student's t, 15 degrees of freedom, 4.073.
 */
static int agrees(struct tlg_sim_scenario *s, figure_fn *figure, double expected, int service_frees)
{
  double value[SEEDS], mean = 0, square = 0;
  int i;

  for (i = 0; i < SEEDS; i++) {
    struct tlg_sim_cfg cfg = {.seed = 1000 + (uint64_t)i};
    struct tlg_sim *sim;
    uint64_t left;

    assert_int_equal(tlg_sim_new(&sim, s, &cfg, NULL), TLG_OK);
    if (service_frees) {
      sim->fault.service_frees = 1;
      sim->blocks = 0;
    }
    assert_int_equal(tlg_sim_step(sim, UINT64_MAX, &left), TLG_OK);
    value[i] = figure(sim);
    mean += value[i] / SEEDS;
    assert_true(tlg_sim_results(sim)->little_holds);
    tlg_sim_free(sim);
  }
  for (i = 0; i < SEEDS; i++) {
    square += (value[i] - mean) * (value[i] - mean);
  }
  return fabs(mean - expected) <= 4.073 * sqrt(square / (SEEDS - 1) / SEEDS) + 1;
}

static struct tlg_sim_scenario *queue(enum tlg_arrivals arrivals, enum tlg_dist_kind kind, double mean_ps)
{
  struct tlg_sim_scenario *s = help_scenario(250, PACKETS);
  struct tlg_sim_thread *th = help_thread(s, "x", 0);

  s->arrivals = arrivals;
  s->warmup_ppm = 100000;
  th->stages[0].cost.jitter.kind = kind;
  th->stages[0].cost.jitter.low_ps = (uint64_t)(mean_ps + 0.5);
  return s;
}

static void m_m_1(void **state)
{
  size_t i;

  (void)state;
  for (i = 0; i < 3; i++) {
    struct tlg_sim_scenario *s = queue(TLG_ARRIVALS_POISSON, TLG_DIST_EXPONENTIAL, loads[i] * spacing);

    assert_true(agrees(s, wait_of, loads[i] * loads[i] * spacing / (1 - loads[i]), 0));
    tlg_sim_scenario_free(s);
  }
}

static void m_g_1(void **state)
{
  size_t i;

  (void)state;
  for (i = 0; i < 3; i++) {
    struct tlg_sim_scenario *s = queue(TLG_ARRIVALS_POISSON, TLG_DIST_UNIFORM, 0);
    struct tlg_dist *d = &s->threads[0].stages[0].cost.jitter;
    const double m = loads[i] * spacing;

    d->high_ps = (uint64_t)(2 * m + 0.5); /* E S^2 = (2m)^2 / 3 */
    assert_true(agrees(s, wait_of, 4 * m * m / 3 / spacing / (2 * (1 - loads[i])), 0));
    /* Two values, 0 and 4 m with 1/4: E S^2 = 4 m^2. */
    memset(d, 0, sizeof *d);
    d->kind = TLG_DIST_TABLE;
    d->n_points = 4;
    d->points[1].below_ppb = d->points[2].below_ppb = 750000000;
    d->points[2].value_ps = d->points[3].value_ps = (uint64_t)(4 * m + 0.5);
    d->points[3].below_ppb = 1000000000;
    assert_true(agrees(s, wait_of, 4 * m * m / spacing / (2 * (1 - loads[i])), 0));
    tlg_sim_scenario_free(s);
  }
}

static int m_d_1_agrees(double load, int service_frees)
{
  struct tlg_sim_scenario *s = queue(TLG_ARRIVALS_POISSON, TLG_DIST_CONSTANT, load * spacing);
  const int ok = agrees(s, wait_of, load * load * spacing / (2 * (1 - load)), service_frees);

  tlg_sim_scenario_free(s);
  return ok;
}

static void m_d_1(void **state)
{
  size_t i;

  (void)state;
  for (i = 0; i < 3; i++) {
    assert_true(m_d_1_agrees(loads[i], 0));
  }
}

/* Service that does not hold the server is found out at every load. */
static void free_service_is_noticed(void **state)
{
  size_t i;

  (void)state;
  for (i = 0; i < 3; i++) {
    assert_false(m_d_1_agrees(loads[i], 1));
  }
}

static uint64_t below_ps;

static double share_below(struct tlg_sim *sim)
{
  const struct tlg_delays *d = help_place(tlg_sim_results(sim), "x")->wait->delays;
  uint64_t largest, count, below = 0;
  size_t at = 0;

  while (tlg_delays_bin(d, &at, &largest, &count)) {
    below += largest <= below_ps ? count : 0;
  }
  return 1e6 * (double)below / (double)tlg_delays_count(d); /* in parts per million, beside the slack of 1 */
}

/* The distribution of M/D/1's wait at load 0.8 (Franx 2001). A bin is at most 0.1 % wide: t is set to a bin's end. */
static void m_d_1_distribution(void **state)
{
  static const struct {
    double t, f;
  } table[] = {{0, .200000}, {.5, .298365}, {1, .445108}, {2.5, .704852}, {5, .899503}, {10, .988343}};
  size_t i;

  (void)state;
  for (i = 0; i < sizeof table / sizeof *table; i++) {
    /* D = 2^23 ps: 0.5, 1, 2.5, 5 and 10 D are edges of bins, but for the value itself, which arrivals miss. */
    struct tlg_sim_scenario *s = queue(TLG_ARRIVALS_POISSON, TLG_DIST_CONSTANT, 8388608);

    /* spacing D / 0.8 = 10485760 ps = n / rate */
    s->sizes[0] = 2621440;
    assert_int_equal(tlg_rate_make(&s->rate, 250000000000u, 1), TLG_OK);
    below_ps = table[i].t > 0 ? (uint64_t)(table[i].t * 8388608) - 1 : 0;
    assert_true(agrees(s, share_below, 1e6 * table[i].f, 0));
    tlg_sim_scenario_free(s);
  }
}

static void d_m_1(void **state)
{
  size_t i;
  int k;

  (void)state;
  for (i = 0; i < 3; i++) {
    struct tlg_sim_scenario *s = queue(TLG_ARRIVALS_CLOCK, TLG_DIST_EXPONENTIAL, loads[i] * spacing);
    const double mu = 1 / (loads[i] * spacing);
    double sigma = 0.5;

    for (k = 0; k < 1000; k++) {
      sigma = exp(-mu * spacing * (1 - sigma));
    }
    assert_true(agrees(s, wait_of, sigma / (mu * (1 - sigma)), 0));
    tlg_sim_scenario_free(s);
  }
}

static void batches(void **state)
{
  size_t i;

  (void)state;
  for (i = 0; i < 3; i++) {
    struct tlg_sim_scenario *s = queue(TLG_ARRIVALS_POISSON, TLG_DIST_CONSTANT, loads[i] * spacing);
    const double d = loads[i] * spacing, rest = 2 * (1 - loads[i]);

    s->batch = 4;
    assert_true(agrees(s, wait_of, loads[i] * d / rest + d * (4.0 - 1) / rest, 0));
    s->batch_kind = TLG_BATCH_GEOMETRIC; /* E X^2 / E X = 2 b - 1 */
    assert_true(agrees(s, wait_of, loads[i] * d / rest + d * (7.0 - 1) / rest, 0));
    tlg_sim_scenario_free(s);
  }
}

static void vacations(void **state)
{
  size_t i;

  (void)state;
  for (i = 0; i < 3; i++) {
    struct tlg_sim_scenario *s = queue(TLG_ARRIVALS_POISSON, TLG_DIST_CONSTANT, loads[i] * spacing);
    const double d = loads[i] * spacing, without = loads[i] * d / (2 * (1 - loads[i]));

    s->threads[0].vacation.low_ps = 7000000; /* E V^2 / 2 E V = V / 2 */
    assert_true(agrees(s, wait_of, without + 3.5e6, 0));
    s->threads[0].vacation.kind = TLG_DIST_EXPONENTIAL; /* V */
    assert_true(agrees(s, wait_of, without + 7e6, 0));
    tlg_sim_scenario_free(s);
  }
}

static void finite_queues(void **state)
{
  static const double heavy[] = {0.3, 0.7, 0.9, 1.3};
  size_t i;

  (void)state;
  for (i = 0; i < 4; i++) {
    struct tlg_sim_scenario *s = queue(TLG_ARRIVALS_POISSON, TLG_DIST_EXPONENTIAL, heavy[i] * spacing);
    const double rho = heavy[i];
    const int k = 4; /* three wait, one is served */

    s->threads[0].queue = (uint64_t)k - 1;
    assert_true(agrees(s, loss_of, (1 - rho) * pow(rho, k) / (1 - pow(rho, k + 1)), 0));
    /* M/D/1/2: after each service the system is empty with e^-rho. */
    s->threads[0].stages[0].cost.jitter.kind = TLG_DIST_CONSTANT;
    s->threads[0].queue = 1;
    assert_true(agrees(s, loss_of, 1 - 1 / (exp(-rho) + rho), 0));
    tlg_sim_scenario_free(s);
  }
}

/* For every packet W' - I = W + S - A and W' I = 0, so the sums of the squares agree exactly; and with W independent of
 * S - A the mean is Marshall's. */
static void marshalls_identity(void **state)
{
  static struct tlg_sim_stamp seen[PACKETS];
  size_t i;

  (void)state;
  for (i = 0; i < 3; i++) {
    double difference[SEEDS], mean = 0, square = 0;
    int k;

    for (k = 0; k < SEEDS; k++) {
      struct tlg_sim_scenario *s = queue(TLG_ARRIVALS_POISSON, TLG_DIST_UNIFORM, 0);
      __int128 left = 0, right = 0;
      double u2 = 0, idle = 0, idle2 = 0, a = 0, sv = 0, w = 0;
      struct help_log log = {0};
      struct tlg_sim *sim;
      const size_t n = 20000;
      size_t j;

      s->n_packets = n;
      s->seed = 77 + (uint64_t)k;
      s->threads[0].stages[0].cost.jitter.high_ps = (uint64_t)(2 * loads[i] * spacing);
      sim = help_run(s, TLG_ENGINE_AUTO, &log);
      assert_int_equal(help_pick(&log, "x", seen, n), n);
      for (j = 0; j + 1 < n; j++) {
        const int64_t wait = (int64_t)(seen[j].start - seen[j].ready),
                      next = (int64_t)(seen[j + 1].start - seen[j + 1].ready);
        const int64_t u = (int64_t)(seen[j].finish - seen[j].start) - (int64_t)(seen[j + 1].ready - seen[j].ready);
        const int64_t pause = seen[j + 1].start > seen[j].finish ? (int64_t)(seen[j + 1].start - seen[j].finish) : 0;

        left += (__int128)next * next + (__int128)pause * pause;
        right += (__int128)(wait + u) * (wait + u);
        u2 += (double)u * (double)u;
        a += (double)(seen[j + 1].ready - seen[j].ready);
        sv += (double)(seen[j].finish - seen[j].start);
        idle += (double)pause;
        idle2 += (double)pause * (double)pause;
        w += (double)wait;
      }
      assert_true(left == right);
      difference[k] = w / (double)n - (u2 / (2 * (a - sv)) - idle2 / (2 * idle));
      mean += difference[k] / SEEDS;
      tlg_sim_free(sim);
      help_free(&log);
      tlg_sim_scenario_free(s);
    }
    for (k = 0; k < SEEDS; k++) {
      square += (difference[k] - mean) * (difference[k] - mean);
    }
    assert_true(fabs(mean) <= 4.073 * sqrt(square / (SEEDS - 1) / SEEDS));
  }
}

/* The interval from the batches of one run holds the truth as often as it says, about. */
static void batch_means(void **state)
{
  struct tlg_sim_scenario *s = queue(TLG_ARRIVALS_POISSON, TLG_DIST_CONSTANT, 0.7 * spacing);
  const double expected = 0.7 * 0.7 * spacing / (2 * 0.3);
  int i, inside = 0;

  (void)state;
  for (i = 0; i < 40; i++) {
    struct tlg_sim *sim;

    s->seed = 500 + (uint64_t)i;
    sim = help_run(s, TLG_ENGINE_AUTO, NULL);
    inside += help_inside(help_place(tlg_sim_results(sim), "x")->wait, expected);
    tlg_sim_free(sim);
  }
  assert_in_range(inside, 38, 40); /* 99.9 % intervals: two misses in forty are less likely than 1 in 1000 */
  tlg_sim_scenario_free(s);
}

/* Merged runs are the runs: counts and histograms add. */
static void merging(void **state)
{
  struct tlg_sim_scenario *s = queue(TLG_ARRIVALS_POISSON, TLG_DIST_EXPONENTIAL, 0.7 * spacing);
  struct tlg_delays *sum;
  struct tlg_delays_summary a, b;
  struct tlg_sim *one, *other;
  const struct tlg_sim_result *r;
  struct tlg_sim_cfg cfg = {.seed = 2};
  uint64_t left;

  (void)state;
  s->n_packets = 20000;
  assert_int_equal(tlg_delays_new(&sum), TLG_OK);
  one = help_run(s, TLG_ENGINE_AUTO, NULL);
  assert_int_equal(tlg_sim_new(&other, s, &cfg, NULL), TLG_OK);
  assert_int_equal(tlg_sim_merge(one, other), TLG_EINVAL); /* it has not run */
  assert_int_equal(tlg_sim_step(other, UINT64_MAX, &left), TLG_OK);
  tlg_delays_merge(sum, tlg_sim_results(one)->packet->delays);
  tlg_delays_merge(sum, tlg_sim_results(other)->packet->delays);
  assert_int_equal(tlg_sim_merge(one, other), TLG_OK);
  r = tlg_sim_results(one);
  tlg_delays_summarise(sum, &a);
  tlg_delays_summarise(r->packet->delays, &b);
  assert_memory_equal(&a, &b, sizeof a);
  assert_int_equal(r->sent, 40000);
  assert_int_equal(r->runs, 2);
  assert_true(r->little_holds);
  assert_in_range(r->servers[0].load_ppm, 695000, 705000);
  tlg_delays_free(sum);
  tlg_sim_free(one);
  tlg_sim_free(other);
  tlg_sim_scenario_free(s);
}

/* Loads come from the means of the costs: exactly 1 is unstable, a hair below it is not. */
static void loads_are_exact(void **state)
{
  struct tlg_sim_scenario *s = help_scenario(250, 1000);
  struct tlg_sim *sim;

  (void)state;
  help_thread(s, "x", 10000000);
  sim = help_run(s, TLG_ENGINE_AUTO, NULL);
  assert_false(tlg_sim_results(sim)->stable);
  assert_int_equal(tlg_sim_results(sim)->servers[0].load_ppm, 1000000);
  tlg_sim_free(sim);
  s->threads[0].stages[0].cost.fixed_ps = 9999999;
  sim = help_run(s, TLG_ENGINE_AUTO, NULL);
  assert_true(tlg_sim_results(sim)->stable);
  tlg_sim_free(sim);
  s->threads[0].stages[0].cost.fixed_ps = 12000000;
  s->threads[0].queue =
      3; /* finite and full before the warm-up is over: not unstable, but overloaded, by the load offered */
  s->warmup_ppm = 100000;
  sim = help_run(s, TLG_ENGINE_AUTO, NULL);
  assert_true(tlg_sim_results(sim)->stable);
  assert_true(tlg_sim_results(sim)->servers[0].overloaded);
  assert_int_equal(tlg_sim_results(sim)->servers[0].load_ppm, 1200000);
  tlg_sim_free(sim);
  s->threads[0].queue = 100000; /* never full here: the queue grows all the time, whatever its end */
  sim = help_run(s, TLG_ENGINE_AUTO, NULL);
  assert_false(tlg_sim_results(sim)->stable);
  tlg_sim_free(sim);
  tlg_sim_scenario_free(s);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(m_m_1),
      cmocka_unit_test(m_g_1),
      cmocka_unit_test(m_d_1),
      cmocka_unit_test(free_service_is_noticed),
      cmocka_unit_test(m_d_1_distribution),
      cmocka_unit_test(d_m_1),
      cmocka_unit_test(batches),
      cmocka_unit_test(vacations),
      cmocka_unit_test(finite_queues),
      cmocka_unit_test(marshalls_identity),
      cmocka_unit_test(batch_means),
      cmocka_unit_test(merging),
      cmocka_unit_test(loads_are_exact),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
