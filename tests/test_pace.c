/* SPDX-License-Identifier: Apache-2.0 */
/* Pacing: deadlines equal the formula, no drift, no burst, on a simulated clock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include <stdlib.h>

#include "pace.h"

typedef unsigned __int128 u128;

/* A clock that advances when it is read, oversleeps, and can lose the processor for a while. */
struct simulated {
  uint64_t ns, read_ns, oversleep_ns;
  uint64_t stall_every_ns, stall_ns, next_stall;
  uint64_t reads;
};

static uint64_t sim_now(void *context)
{
  struct simulated *s = context;

  s->reads++;
  s->ns += s->read_ns;
  if (s->stall_every_ns && s->ns >= s->next_stall) {
    s->ns += s->stall_ns;
    s->next_stall += s->stall_every_ns;
  }
  return s->ns;
}

static void sim_sleep(void *context, uint64_t ns)
{
  struct simulated *s = context;

  if (ns > s->ns) {
    s->ns = ns + s->oversleep_ns;
  }
}

/* The formula once more, by long division digit by digit, from no code of the library. */
static uint64_t formula_ps(uint64_t n, const struct tlg_rate *rate)
{
  u128 rest = (u128)n * rate->den, whole = rest / rate->num;
  int i;

  rest %= rate->num;
  for (i = 0; i < 12; i++) {
    rest *= 10;
    whole = whole * 10 + rest / rate->num;
    rest %= rate->num;
  }
  return (uint64_t)whole;
}

static void instants_equal_the_formula(void **state)
{
  static const struct tlg_rate rates[] = {{25000000, 1}, {184320000, 7}, {30720000, 1}, {122880000, 1},
                                          {1, 3},        {19200000, 1},  {999999937, 1}};
  static const uint64_t numbers[] = {0, 1, 362, 364, 625, 2147483647, 4294967296, 9007199254740993};
  size_t r, k;

  (void)state;
  for (r = 0; r < sizeof rates / sizeof *rates; r++) {
    const struct tlg_pace pace = {.rate = rates[r], .start_ns = 1000000007};

    for (k = 0; k < sizeof numbers / sizeof *numbers; k++) {
      const uint64_t want = formula_ps(numbers[k], &rates[r]);
      u128 exact = (u128)numbers[k] * rates[r].den * 1000000000000u / rates[r].num;

      if (exact > UINT64_MAX / 2) { /* beyond 106 days the instants end */
        continue;
      }
      assert_true(tlg_pace_instant_ps(&pace, numbers[k]) == want);
      assert_true(tlg_pace_deadline_ns(&pace, want) == 1000000007 + (want + 999) / 1000);
    }
  }
}

static void speed_scales_the_rate_exactly(void **state)
{
  static const struct tlg_rate rate = {184320000, 7}, third = {1, 3}, twice = {7, 2};
  struct tlg_rate out;

  (void)state;
  assert_int_equal(tlg_pace_rate(&out, &rate, &third), TLG_OK);
  assert_true(out.num == 61440000 && out.den == 7);
  assert_int_equal(tlg_pace_rate(&out, &rate, &twice), TLG_OK);
  assert_true(out.num == 92160000 && out.den == 1);
  assert_int_equal(tlg_pace_rate(&out, &(struct tlg_rate){UINT64_MAX, 1}, &twice), TLG_EINVAL);
  assert_int_equal(tlg_pace_rate(&out, &rate, &(struct tlg_rate){0, 0}), TLG_EINVAL);
}

struct paced {
  uint64_t releases, early, wrong_deadline, late_beyond;
  uint64_t far_gaps; /* gaps between releases of more than two packets */
  uint64_t last_deadline_ps;
  double slope_ppm;
};

/* How deadlines are made: the product computes them, the faulty control sums whole nanoseconds. */
typedef uint64_t deadline_fn(const struct tlg_pace *pace, uint64_t number, uint32_t packet, uint64_t last);

static uint64_t computed(const struct tlg_pace *pace, uint64_t number, uint32_t packet, uint64_t last)
{
  (void)last;
  return tlg_pace_instant_ps(pace, (number + 1) * packet);
}

static uint64_t summed(const struct tlg_pace *pace, uint64_t number, uint32_t packet, uint64_t last)
{
  (void)number;
  return last + tlg_pace_instant_ps(pace, packet) / 1000 * 1000;
}

static struct paced run(struct simulated *sim, const struct tlg_rate *rate, uint32_t packet, uint64_t packets,
                        uint64_t window_ns, deadline_fn *make)
{
  const struct tlg_clock clock = {.now_ns = sim_now, .sleep_until_ns = sim_sleep, .context = sim};
  struct tlg_pace pace = {.rate = *rate, .clock = &clock, .window_ns = window_ns};
  struct tlg_slope slope = {0};
  struct paced p = {0};
  uint64_t number, last_release = 0;

  pace.start_ns = sim->ns + 1000000;
  for (number = 0; number < packets; number++) {
    const uint64_t deadline = make(&pace, number, packet, p.last_deadline_ps);
    const uint64_t released = tlg_pace_wait(&pace, deadline);
    const uint64_t air = formula_ps((number + 1) * packet, rate);

    p.wrong_deadline += deadline != air;
    p.early += released < deadline;
    p.far_gaps += number && released - last_release > 2 * formula_ps(packet, rate);
    tlg_slope_add(&slope, (double)air * 1e-12, ((double)released - (double)air) * 1e-3);
    last_release = released;
    p.last_deadline_ps = deadline;
    p.releases++;
  }
  p.slope_ppm = tlg_slope_get(&slope) * 1e-3;
  return p;
}

/* 60 s at 40,000 packets a second (tcpreplay#630 took 5.26 s for 5.00). */
static void a_minute_does_not_drift(void **state)
{
  static const struct tlg_rate rate = {25000000, 1};
  struct simulated sim = {.read_ns = 997, .oversleep_ns = 3000};
  const struct paced p = run(&sim, &rate, 625, 2400000, 10000, computed);

  (void)state;
  assert_true(p.releases == 2400000 && p.early == 0 && p.wrong_deadline == 0);
  assert_true(p.last_deadline_ps == 60000000000000);
  assert_true(p.slope_ppm < 0.001 && p.slope_ppm > -0.001);
  assert_true(sim.ns < 1000000 + 60000000000 + 100000);
}

/* The same checks fail a source that sums its intervals, at a rate whose packets are no whole nanoseconds. */
static void a_summing_source_would_show(void **state)
{
  static const struct tlg_rate rate = {184320000, 7};
  struct simulated good_clock = {.read_ns = 497}, bad_clock = {.read_ns = 497};
  const struct paced good = run(&good_clock, &rate, 625, 100000, 10000, computed),
                     bad = run(&bad_clock, &rate, 625, 100000, 10000, summed);

  (void)state;
  assert_true(good.wrong_deadline == 0 && good.slope_ppm < 1 && good.slope_ppm > -1);
  assert_true(bad.wrong_deadline > 99000);
  assert_true(bad.slope_ppm < -1 || bad.slope_ppm > 1);
}

/* gnuradio PR#353, #6761: chunky pacing. A sleep that overshoots by 60 us must not bunch packets of 25 us: 99 % of the
 * gaps stay within two packets, as the spin begins before the deadline. */
static void releases_do_not_bunch(void **state)
{
  static const struct tlg_rate rate = {25000000, 1};
  struct simulated sim = {.read_ns = 400, .oversleep_ns = 60000};
  const struct paced spun = run(&sim, &rate, 625, 40000, 100000, computed);
  struct simulated other = {.read_ns = 400, .oversleep_ns = 60000};
  const struct paced slept = run(&other, &rate, 625, 40000, 1, computed);

  (void)state;
  assert_true(spun.far_gaps * 100 <= 40000);
  assert_true(slept.far_gaps * 100 > 40000); /* without the window they do */
}

/* After a stall of 50 ms packets follow at once, each with its own deadline, and the pace is kept again. */
static void a_stall_is_caught_up(void **state)
{
  static const struct tlg_rate rate = {25000000, 1};
  struct simulated sim = {.read_ns = 400, .stall_every_ns = 1000000000, .stall_ns = 50000000, .next_stall = 500000000};
  const struct paced p = run(&sim, &rate, 625, 200000, 100000, computed);

  (void)state;
  assert_true(p.early == 0 && p.wrong_deadline == 0);
  assert_true(sim.ns <= 1000000 + (uint64_t)200000 * 25000 + 1000);
  assert_true(p.far_gaps == 5); /* one for each stall */
}

/* When late, one reading of the clock is all. */
static void lateness_costs_one_reading(void **state)
{
  static const struct tlg_rate rate = {25000000, 1};
  struct simulated sim = {.ns = 10000000000, .read_ns = 40};
  const struct tlg_clock clock = {.now_ns = sim_now, .sleep_until_ns = sim_sleep, .context = &sim};
  struct tlg_pace pace = {.rate = rate, .clock = &clock, .window_ns = 100000};
  int i;

  (void)state;
  for (i = 0; i < 100; i++) {
    tlg_pace_wait(&pace, (uint64_t)i * 25000000);
  }
  assert_true(sim.reads == 100 && pace.sleeps == 0);
}

static int stop_now(void *context)
{
  return ++*(int *)context > 3;
}

static void a_long_wait_can_be_stopped(void **state)
{
  static const struct tlg_rate rate = {1, 1};
  struct simulated sim = {.read_ns = 40};
  const struct tlg_clock clock = {.now_ns = sim_now, .sleep_until_ns = sim_sleep, .context = &sim};
  int asked = 0;
  struct tlg_pace pace = {.rate = rate, .clock = &clock, .window_ns = 100000, .stopped = stop_now, .context = &asked};

  (void)state;
  assert_true(tlg_pace_wait(&pace, 1000000000000000) < 1000000000000000);
  assert_true(sim.ns < 500000000);
}

static void the_real_clock_is_never_early(void **state)
{
  static const struct tlg_rate rate = {25000000, 1};
  struct tlg_pace pace = {.rate = rate, .clock = &tlg_clock_monotonic, .window_ns = 50000};
  uint64_t i;

  (void)state;
  pace.start_ns = pace.clock->now_ns(NULL) + 300000;
  for (i = 1; i <= 400; i++) {
    const uint64_t instant = tlg_pace_instant_ps(&pace, i * 625);

    assert_true(tlg_pace_wait(&pace, instant) >= instant);
    assert_true(tlg_pace_now_ps(&pace) >= instant);
  }
}

static void slopes_equal_the_closed_form(void **state)
{
  struct tlg_slope line = {0}, flat = {0}, one = {0}, bent = {0};
  struct tlg_floor_slope floor = {0};
  int i;

  (void)state;
  for (i = 0; i < 1000; i++) {
    tlg_slope_add(&line, 0.001 * i, 3.0 + 0.25 * i); /* 250 a unit */
    tlg_slope_add(&flat, 0.001 * i, i % 2 ? 1.0 : -1.0);
  }
  tlg_slope_add(&one, 1.0, 1.0);
  assert_true(tlg_slope_get(&line) > 249.999999 && tlg_slope_get(&line) < 250.000001);
  /* +-1 in turn over n points h apart: Sxy = h n/2, Sxx = h^2 n (n^2-1)/12, so the slope is 6 / (h (n^2-1)). */
  assert_true(tlg_slope_get(&flat) > 0.0060000 && tlg_slope_get(&flat) < 0.0060001);
  assert_true(isnan(tlg_slope_get(&one))); /* a single x has none, which is not the same as 0 */
  /* Stalls bend the slope of all points, not that of the least of each stretch. */
  floor.stretch = 0.01;
  for (i = 0; i < 1000; i++) {
    const double stall = i > 900 && i % 10 ? 500.0 : 0.0;

    tlg_slope_add(&bent, 0.001 * i, 3.0 + 0.25 * i + stall);
    tlg_floor_slope_add(&floor, 0.001 * i, 3.0 + 0.25 * i + stall);
  }
  assert_true(tlg_slope_get(&bent) > 400.0);
  assert_true(tlg_slope_get(&floor.slope) > 249.0 && tlg_slope_get(&floor.slope) < 251.0);
  assert_true(floor.slope.n >= 90 && floor.slope.n < 100);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(instants_equal_the_formula),    cmocka_unit_test(speed_scales_the_rate_exactly),
      cmocka_unit_test(a_minute_does_not_drift),       cmocka_unit_test(a_summing_source_would_show),
      cmocka_unit_test(releases_do_not_bunch),         cmocka_unit_test(a_stall_is_caught_up),
      cmocka_unit_test(lateness_costs_one_reading),    cmocka_unit_test(a_long_wait_can_be_stopped),
      cmocka_unit_test(the_real_clock_is_never_early), cmocka_unit_test(slopes_equal_the_closed_form),
  };

  return cmocka_run_group_tests_name("pace", tests, NULL, NULL);
}
