/* SPDX-License-Identifier: Apache-2.0 */
/* Packets from outside: fed one by one, the model says of each what a run of its own says of all; gaps and short
 * packets by hand. */
#include "sim_help.h"

enum { N = 400, CASES = 120 };

struct fates_log {
  struct tlg_sim_fate e[2 * N];
  size_t n;
};

static void keep(void *arg, const struct tlg_sim_fate *fate)
{
  struct fates_log *log = arg;

  assert_true(log->n < 2 * N);
  log->e[log->n++] = *fate;
}

static struct tlg_dist up_to(uint64_t most_ps)
{
  return (struct tlg_dist){.kind = TLG_DIST_UNIFORM, .high_ps = help_random(0, most_ps)};
}

/* Anything that a scenario can hold and that the sample clock drives. */
static struct tlg_sim_scenario *any_scenario(int c)
{
  static const char *const names[] = {"receive", "resample", "send"};
  static const enum tlg_moderation kinds[] = {TLG_MODERATION_OFF, TLG_MODERATION_TICK, TLG_MODERATION_ONESHOT,
                                              TLG_MODERATION_GAP, TLG_MODERATION_IGB,  TLG_MODERATION_IXGBE,
                                              TLG_MODERATION_DIM, TLG_MODERATION_POLL};
  struct tlg_sim_scenario *s = help_scenario((uint32_t)help_random(100, 1500), N);
  unsigned n = c % 7 == 6 ? 0 : (unsigned)help_random(1, 3), t;
  int shared = 0;

  s->seed = help_random(1, 1000000);
  s->warmup_ppm = 0;
  if (c % 3 == 1) {
    s->sizes = realloc(s->sizes, 3 * sizeof *s->sizes);
    s->sizes[1] = (uint32_t)help_random(50, 1500);
    s->sizes[2] = (uint32_t)help_random(50, 1500);
    s->n_sizes = 3;
  }
  s->batch = c % 5 == 4 ? (uint32_t)help_random(2, 4) : 1;
  s->batch_kind = c % 2 ? TLG_BATCH_GEOMETRIC : TLG_BATCH_FIXED;
  if (help_random(0, 3)) {
    s->has_link = 1;
    s->link_bps = 1000000000u * help_random(1, 3);
    s->link_latency_ps = help_random(0, 3000000);
    s->sender_buffer_bytes = help_random(0, 4) ? 0 : 20000;
    s->flow = help_random(0, 3) ? TLG_FLOW_OFF : TLG_FLOW_ON;
  }
  if (help_random(0, 2)) {
    s->has_nic = s->has_kernel = 1;
    s->ring = help_random(0, 1) ? 0 : (uint32_t)help_random(6, 40);
    s->moderation = kinds[help_random(0, 7)];
    s->moderation_ps = help_random(1, 200) * 1000000;
    s->moderation_frames =
        s->moderation == TLG_MODERATION_ONESHOT && s->flow == TLG_FLOW_OFF ? (uint32_t)help_random(0, 8) : 0;
    s->queues = (uint32_t)help_random(1, 3);
    s->flows = s->moderation_frames ? 1 : (uint32_t)help_random(1, 6);
    s->interrupt = up_to(5000000);
    s->kernel.fixed_ps = help_random(0, 8000000);
    s->kernel.jitter = up_to(4000000);
  }
  for (t = 0; t < n; t++) {
    struct tlg_sim_thread *th = help_thread(s, names[n == 1 ? 1 : t], help_random(100000, 20000000));

    th->stages[0].cost.jitter = up_to(c % 2 ? 20000000 : 0);
    th->wake_ps = help_random(0, 3) ? 0 : 3000000;
    th->core = help_random(0, 2) && c % 2 ? (unsigned)help_random(1, 2) : 0;
    th->queue = help_random(0, 1) ? 0 : help_random(1, 6);
    if (c % 4 == 3 && help_random(0, 1)) {
      th->stages[0].unit = help_random(80, 3000);
      th->stages[0].unit_phase = help_random(0, 79);
    }
    if (t == 0 && help_random(0, 2) == 0) {
      th->stages[1] = th->stages[0]; /* in series, perhaps with a unit of its own */
      snprintf(th->stages[1].name, sizeof th->stages[1].name, "more");
      th->n_stages = 2;
    }
  }
  if (n && s->has_link && help_random(0, 1)) {
    s->threads[0].queue = 0;
    s->socket_bytes = 40000;
  }
  for (t = 0; t < n * n; t++) {
    shared |= t / n < t % n && s->threads[t / n].core && s->threads[t / n].core == s->threads[t % n].core;
  }
  for (t = 1; t < n && !shared; t++) {
    s->threads[t].overrun = help_random(0, 1) ? TLG_SIM_BLOCK : TLG_SIM_DROP;
  }
  if (help_random(0, 1)) {
    s->has_hop = 1;
    s->hop.fixed_ps = help_random(0, 5000000);
    s->hop.jitter = up_to(3000000);
    s->hop_latency_ps = help_random(0, 5000000);
  }
  if (c % 6 == 5) {
    s->n_stalls = 1;
    s->stalls[0].on = TLG_STALL_HOST;
    s->stalls[0].every_ps = 3000000000;
    s->stalls[0].phase_ps = 1000000000;
    s->stalls[0].length.low_ps = 400000000;
  }
  return s;
}

static struct tlg_sim *fed(const struct tlg_sim_scenario *s, struct fates_log *log)
{
  struct tlg_sim_cfg cfg = {.fate = keep, .fate_arg = log};
  struct tlg_error err = {0};
  uint64_t at = 0, left;
  struct tlg_sim *sim;
  size_t j;

  log->n = 0;
  if (tlg_sim_new(&sim, s, &cfg, &err) != TLG_OK) {
    fail_msg("scenario refused: %s", err.text);
  }
  assert_int_equal(tlg_sim_step(sim, 1, &left), TLG_EINVAL);
  for (j = 0; j < s->n_packets; j++) {
    const uint64_t n = s->sizes[j % s->n_sizes];

    assert_int_equal(tlg_sim_feed(sim, at, at + n), TLG_OK);
    at += n;
  }
  assert_int_equal(tlg_sim_feed_end(sim), TLG_OK);
  return sim;
}

static void same_delays(const struct tlg_delays *a, const struct tlg_delays *b)
{
  uint64_t la, ha, na, lb, hb, nb;
  size_t i = 0, k = 0;

  while (tlg_delays_next(a, &i, &la, &ha, &na)) {
    assert_true(tlg_delays_next(b, &k, &lb, &hb, &nb));
    assert_true(la == lb && ha == hb && na == nb);
  }
  assert_false(tlg_delays_next(b, &k, &lb, &hb, &nb));
  assert_int_equal(tlg_delays_percentile(a, 1, 1), tlg_delays_percentile(b, 1, 1));
}

static void fed_as_run(void **state)
{
  static struct fates_log log;
  unsigned lossy = 0, units = 0, unfinished = 0, behind = 0, events = 0;
  int c;

  (void)state;
  for (c = 0; c < CASES; c++) {
    struct tlg_sim_scenario *s = any_scenario(c);
    struct help_log stamps = {0};
    struct tlg_sim *sim = help_run(s, TLG_ENGINE_AUTO, &stamps), *other = fed(s, &log);
    const struct tlg_sim_result *r = tlg_sim_results(sim), *o = tlg_sim_results(other);
    struct tlg_sim_stamp source[N], resample[N];
    uint64_t lost = 0, open = 0, last = 0, here = 0;
    struct tlg_delays *delays;
    size_t j;
    unsigned i, p, has_units = 0;

    for (i = 0; i < s->n_threads; i++) {
      has_units |= s->threads[i].stages[0].unit > 0;
    }
    assert_int_equal(tlg_delays_new(&delays), TLG_OK);
    assert_int_equal(log.n, N);
    help_pick(&stamps, "source", source, N);
    help_pick(&stamps, "resample", resample, N);
    for (j = 0; j < N; j++) {
      const struct tlg_sim_fate *f = &log.e[j];

      assert_int_equal(f->packet, j);
      assert_int_equal(f->begin, source[j].begin);
      assert_int_equal(f->end, source[j].end);
      assert_int_equal(f->air, source[j].finish);
      lost += f->lost != NULL;
      open += (uint64_t)f->unfinished;
      behind += f->lost && f->lost_behind;
      if (f->lost || f->unfinished) {
        assert_false(f->lost && f->unfinished);
        continue;
      }
      assert_true(f->air <= f->received && f->received <= f->resample_begin && f->resample_begin <= f->resample_end &&
                  f->resample_end <= f->deliver_begin && f->deliver_begin <= f->delivered && f->delivered >= last);
      assert_true(f->received >= here && f->closed_by >= j);
      last = f->delivered;
      here = f->received;
      tlg_delays_add(delays, f->delivered - f->air, j);
      if (!has_units && s->n_threads) {
        assert_int_equal(f->received, resample[j].ready);
        assert_int_equal(f->resample_begin, resample[j].start);
        assert_int_equal(f->resample_end, resample[j].finish);
        assert_int_equal(f->closed_by, j);
      }
    }
    same_delays(r->packet->delays, delays);
    assert_int_equal(lost, r->dropped);
    assert_int_equal(open, r->unfinished);
    for (p = 0; p < r->n_places; p++) { /* and where: units are lost as one, the packets in them one by one */
      uint64_t there = 0;

      for (j = 0; j < N; j++) {
        there += log.e[j].lost && strcmp(log.e[j].lost, r->places[p].name) == 0;
      }
      if (!has_units && strcmp(r->places[p].name, "link") != 0) { /* there it is the sender that loses */
        assert_int_equal(there, r->places[p].dropped);
      }
      assert_int_equal(o->places[p].dropped, r->places[p].dropped);
      assert_int_equal(o->places[p].arrived, r->places[p].arrived);
      assert_int_equal(o->places[p].load_ppm, r->places[p].load_ppm);
    }
    assert_true(o->little_holds);
    assert_int_equal(o->delivered, r->delivered);
    assert_int_equal(o->dropped, r->dropped);
    assert_int_equal(o->interrupts, r->interrupts);
    same_delays(o->packet->delays, r->packet->delays);
    lossy += lost > 0;
    unfinished += open > 0;
    units += has_units;
    events += sim->use_events;
    tlg_delays_free(delays);
    tlg_sim_free(sim);
    tlg_sim_free(other);
    help_free(&stamps);
    tlg_sim_scenario_free(s);
  }
  /* All kinds were among them. */
  assert_true(lossy > 15 && units > 9 && unfinished > 3 && behind > 15 && events > 6);
}

/* Sizes below the scenario's and samples that never came: packets of 250, 100 and, after a gap of 1000 samples and one
 * of an hour, 250 and 50 samples at 25 Msps, through a stage of 1 us and 10 ns a sample. */
static void gaps_and_short_packets(void **state)
{
  static const uint64_t hour = 90000000000u,
                        cut[][2] = {{0, 250}, {250, 350}, {1350, 1600}, {90000000000u, 90000000050u}};
  static struct fates_log log;
  struct tlg_sim_scenario *s = help_scenario(250, N);
  struct tlg_sim_cfg cfg = {.fate = keep, .fate_arg = &log};
  struct tlg_sim *sim;
  unsigned i;

  (void)state;
  help_thread(s, "resample", 1000000)->stages[0].cost.per_sample_fs = 10000000;
  assert_int_equal(tlg_sim_new(&sim, s, &cfg, NULL), TLG_OK);
  log.n = 0;
  for (i = 0; i < 4; i++) {
    assert_int_equal(tlg_sim_feed(sim, cut[i][0], cut[i][1]), TLG_OK);
    assert_int_equal(log.n, i + 1); /* at once */
    assert_int_equal(log.e[i].air, cut[i][1] * 40000);
    assert_int_equal(log.e[i].received, log.e[i].air);
    assert_int_equal(log.e[i].delivered - log.e[i].resample_begin, 1000000 + (cut[i][1] - cut[i][0]) * 10000);
  }
  assert_int_equal(tlg_sim_feed(sim, hour, hour + 100), TLG_EINVAL); /* falls back */
  assert_int_equal(tlg_sim_feed(sim, hour + 100, hour + 351), TLG_EINVAL);
  assert_int_equal(tlg_sim_feed(sim, hour + 100, hour + 100), TLG_EINVAL);
  assert_int_equal(tlg_sim_feed_end(sim), TLG_OK);
  assert_int_equal(tlg_sim_results(sim)->sent, 4);
  tlg_sim_free(sim);
  tlg_sim_scenario_free(s);
}

/* The same gap in front of a stage that collects 100 samples: the unit that was open goes on without them, those that
 * lie in the gap never were. */
static void a_gap_in_units(void **state)
{
  static struct fates_log log;
  struct tlg_sim_scenario *s = help_scenario(250, N);
  struct tlg_sim_cfg cfg = {.fate = keep, .fate_arg = &log};
  const uint64_t hour = 90000000000u;
  struct tlg_sim *sim;

  (void)state;
  help_thread(s, "resample", 1000000)->stages[0].unit = 100;
  assert_int_equal(tlg_sim_new(&sim, s, &cfg, NULL), TLG_OK);
  log.n = 0;
  assert_int_equal(tlg_sim_feed(sim, 0, 250), TLG_OK);
  assert_int_equal(log.n, 0); /* half of its last unit is missing */
  assert_int_equal(tlg_sim_feed(sim, hour + 20, hour + 120), TLG_OK);
  assert_int_equal(log.n, 1);
  /* [200, 300) is done first, then [hour, hour + 100). */
  assert_int_equal(log.e[0].delivered, (hour + 120) * 40000 + 1000000);
  assert_int_equal(log.e[0].closed_by, 1);
  assert_int_equal(tlg_sim_feed(sim, hour + 120, hour + 300), TLG_OK);
  assert_int_equal(log.n, 3);
  assert_int_equal(log.e[1].resample_begin, (hour + 300) * 40000);
  assert_int_equal(log.e[1].received, (hour + 120) * 40000);
  assert_int_equal(log.e[2].delivered, (hour + 300) * 40000 + 2 * 1000000);
  assert_int_equal(tlg_sim_feed(sim, hour + 300, hour + 399), TLG_OK);
  assert_int_equal(tlg_sim_feed_end(sim), TLG_OK);
  assert_int_equal(log.n, 4);
  assert_true(log.e[3].unfinished && !log.e[3].lost);
  assert_int_equal(tlg_sim_results(sim)->places[0].service->delays->count, 6); /* 2 + 1 + 1 + 2 units */
  tlg_sim_free(sim);
  tlg_sim_scenario_free(s);
}

/* A packet cut short takes less room in the socket's buffer: 4 datagrams of 350 samples fill 10 KiB, of 20 samples 12
 * fit. */
static void short_packets_take_less(void **state)
{
  static struct fates_log log;
  struct tlg_sim_scenario *s = help_scenario(350, N);
  struct tlg_sim_cfg cfg = {.fate = keep, .fate_arg = &log};
  struct tlg_sim_frame frame;
  struct tlg_sim *sim;
  uint64_t size, lost, j;

  (void)state;
  s->socket_bytes = 10240;
  help_thread(s, "receive", 1000000000); /* the first one keeps it busy */
  for (size = 20; size <= 350; size += 330) {
    tlg_sim_frame(s, size, &frame);
    assert_int_equal(tlg_sim_new(&sim, s, &cfg, NULL), TLG_OK);
    log.n = 0;
    for (j = 0; j < 20; j++) {
      assert_int_equal(tlg_sim_feed(sim, j * 350, j * 350 + size), TLG_OK);
    }
    assert_int_equal(tlg_sim_feed_end(sim), TLG_OK);
    for (lost = j = 0; j < 20; j++) {
      lost += log.e[j].lost != NULL;
      assert_true(!log.e[j].lost || strcmp(log.e[j].lost, "socket") == 0);
    }
    assert_int_equal(20 - lost, 1 + 10240 / frame.charged_bytes);
    tlg_sim_free(sim);
  }
  tlg_sim_scenario_free(s);
}

/* Poisson arrivals have no sample clock to follow. */
static void random_arrivals_are_refused(void **state)
{
  static struct fates_log log;
  struct tlg_sim_scenario *s = help_scenario(350, N);
  struct tlg_sim_cfg cfg = {.fate = keep, .fate_arg = &log};
  struct tlg_sim *sim;

  (void)state;
  s->arrivals = TLG_ARRIVALS_POISSON;
  assert_int_equal(tlg_sim_new(&sim, s, &cfg, NULL), TLG_OK);
  assert_int_equal(tlg_sim_feed(sim, 0, 350), TLG_EINVAL);
  tlg_sim_free(sim);
  tlg_sim_scenario_free(s);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(fed_as_run),
      cmocka_unit_test(gaps_and_short_packets),
      cmocka_unit_test(a_gap_in_units),
      cmocka_unit_test(short_packets_take_less),
      cmocka_unit_test(random_arrivals_are_refused),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
