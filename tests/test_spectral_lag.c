/* SPDX-License-Identifier: Apache-2.0 */
/* Claimed causes are those that were made, also where a tone or a chirp leaves several that look alike. */
#include "spectral_world.h"

/* 4 ms at 25 Msps of a tone, or of a chirp from -8 to 8 MHz. */
enum { NS = 100000, MS = 122880, PERIOD = 25000, CHIRP_HZ = 16000000 };

static tlg_cs16 *tone(int64_t khz, double amplitude)
{
  return tones(NS, PERIOD, &khz, 1, amplitude);
}

static tlg_cs16 *chirp(double amplitude)
{
  tlg_cs16 *x = malloc(NS * sizeof *x);
  size_t k;

  for (k = 0; k < NS; k++) {
    /* turns: -8 MHz * t + 16 MHz / 4 ms * t^2 / 2 */
    const double t = (double)k / 25e6, turns = t * (-8e6 + CHIRP_HZ / 4e-3 * t / 2);

    x[k].i = sat(amplitude * cos(2 * M_PI * turns));
    x[k].q = sat(amplitude * sin(2 * M_PI * turns));
  }
  return x;
}

static void test_slips_of_narrow_signals(void **state)
{
  struct world *w = *state;
  static const int lost[] = {-1, 1, 20, 3}; /* outputs; < 0: put in */
  const size_t at = 30843;
  size_t k;
  int s;

  for (s = 0; s < 3; s++) {
    tlg_cs16 *x = s == 0 ? tone(1700, 23000) : s == 1 ? tone(-8100, 23000) : chirp(23000);
    struct tlg_check_cfg cfg = w->aligned;

    cfg.period = s < 2 ? PERIOD : 0;
    for (k = 0; k < sizeof lost / sizeof *lost; k++) {
      char words[60];
      struct job j;

      resample(w->y, x, NS, 768, 625, &w->taps, w->q0, MS, &(struct broken){0});
      memmove(w->y + at - (lost[k] < 0 ? lost[k] : 0), w->y + at + (lost[k] > 0 ? lost[k] : 0),
              (MS - at - (size_t)abs(lost[k])) * sizeof *w->y);
      run_check(&j, &cfg, x, NS, w->y, (size_t)(MS - lost[k]));
      assert_true(j.status == 0 && !j.r->passed && j.r->n_events >= 1 && j.r->event[0].has_lag);
      assert_true(llabs((long long)j.r->event[0].first - (long long)at) <= 2);
      snprintf(words, sizeof words, "on the output is %d output%s %s", abs(lost[k]), abs(lost[k]) > 1 ? "s" : "",
               lost[k] > 0 ? "early" : "late");
      assert_true(found(&j, words));
      /* a tone looks the same after its period, 30.72 MHz / f, and that is said */
      if (s < 2) {
        assert_true(fabs(j.r->event[0].repeats - (s ? 30.72 / 8.1 : 30.72 / 1.7)) < 0.01);
        assert_true(found(&j, s ? "multiples of 3.79 outputs" : "multiples of 18.07 outputs"));
      } else {
        assert_true(j.r->event[0].repeats == 0 && j.r->n_events == 1);
      }
      tlg_check_free(j.c);
    }
    free(x);
  }
}

/* Nothing was moved in time here: no delay may be claimed. */
static void test_no_delay_where_none_is(void **state)
{
  struct world *w = *state;
  int s;
  size_t k;

  for (s = 0; s < 2; s++) {
    tlg_cs16 *x = s ? chirp(23000) : tone(1700, 23000);
    struct tlg_check_cfg cfg = w->aligned;
    struct job j;

    cfg.period = s ? 0 : PERIOD;
    resample(w->y, x, NS, 768, 625, &w->taps, 0, MS, &(struct broken){.linear = 1});
    run_check(&j, &cfg, x, NS, w->y, MS);
    assert_true(j.status == 0 && !j.r->passed);
    for (k = 0; k < j.r->n_events && k < TLG_CHECK_EVENTS; k++) {
      assert_false(j.r->event[k].has_lag);
    }
    assert_false(found(&j, "late") || found(&j, "early") || found(&j, "earlier"));
    tlg_check_free(j.c);

    resample(w->y, x, NS, 768, 625, &w->taps, w->q0, MS, &(struct broken){.gain = -1});
    run_check(&j, &cfg, x, NS, w->y, MS);
    assert_true(!j.r->passed && found(&j, "180.00 degrees") && !found(&j, "wrapped"));
    /* of a tone alone, half a period is the same as the other sign */
    assert_true(s ? !found(&j, "earlier") && !found(&j, "later") && !found(&j, "early")
                  : found(&j, "9.035 outputs") && found(&j, "multiples of 18.07"));
    tlg_check_free(j.c);
    free(x);
  }
  /* full scale, where a wrong sign is nearly 65536 at the crests */
  {
    tlg_cs16 *x = tone(1700, 32500);
    struct job j;

    resample(w->y, x, NS, 768, 625, &w->taps, w->q0, MS, &(struct broken){.gain = -1});
    run_check(&j, &w->aligned, x, NS, w->y, MS);
    assert_true(!j.r->passed && found(&j, "degrees") && !found(&j, "wrapped"));
    tlg_check_free(j.c);
    free(x);
  }
}

/* A sawtooth resembles itself at any shift; what is wrong with it is that its edge overshoots. */
static void test_clipped_ramp(void **state)
{
  struct world *w = *state;
  tlg_cs16 *x = malloc(NS * sizeof *x);
  struct job j;
  size_t k, clipped = 0;

  for (k = 0; k < NS; k++) {
    x[k].i = (int16_t)(uint16_t)k;
    x[k].q = (int16_t)(uint16_t)(65535 - k);
  }
  resample(w->y, x, NS, 768, 625, &w->taps, w->q0, MS, &(struct broken){0});
  for (k = 0; k < MS; k++) {
    clipped += w->y[k].i == 32767 || w->y[k].i == -32768 || w->y[k].q == 32767 || w->y[k].q == -32768;
  }
  run_check(&j, &w->aligned, x, NS, w->y, MS);
  assert_true(j.status == 0 && !j.r->passed && clipped > 0 && j.r->clipped_out == clipped);
  assert_true(found(&j, "the signal is clipped") && !found(&j, "late") && !found(&j, "early"));
  tlg_check_free(j.c);
  /* the same clipping beside another fault does not take its blame */
  memset(w->y + 60000, 0, 5000 * sizeof *w->y);
  run_check(&j, &w->aligned, x, NS, w->y, MS);
  assert_true(!j.r->passed && found(&j, "does not explain the error"));
  tlg_check_free(j.c);
  free(x);
}

/* Zeros for a packet have no other cause: nothing is out of step, and there is one place. */
static void test_a_packet_of_zeros(void **state)
{
  struct world *w = *state;
  int64_t f[61];
  size_t places[] = {20000, 0}, p, k;
  int s;

  for (k = 0; k < 61; k++) {
    f[k] = ((int64_t)k - 30) * 300;
  }
  for (s = 0; s < 3; s++) {
    tlg_cs16 *x = s == 0 ? tone(1700, 23000) : s == 1 ? tones(NS, PERIOD, f, 61, 700) : chirp(23000);
    struct tlg_check_cfg cfg = w->aligned;

    cfg.period = s < 2 ? PERIOD : 0;
    for (p = 0; p < 2; p++) {
      struct job j;
      uint64_t first, end;

      resample(w->y, x, NS, 768, 625, &w->taps, w->q0, MS, &(struct broken){0});
      memset(w->y + places[p], 0, 768 * sizeof *w->y);
      run_check(&j, &cfg, x, NS, w->y, MS);
      assert_true(j.status == 0 && !j.r->passed && j.r->n_findings == 1);
      assert_false(found(&j, "late") || found(&j, "early") || found(&j, "earlier") || found(&j, "later"));
      first = j.r->end[0].bad ? j.r->end[0].first : j.r->event[0].first;
      end = j.r->end[0].bad ? j.r->end[0].end : j.r->event[0].end;
      assert_true(p ? first <= 79 : llabs((long long)first - 20000) <= 40);
      assert_true(llabs((long long)end - (long long)places[p] - 768) <= 40);
      tlg_check_free(j.c);
    }
    free(x);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_slips_of_narrow_signals),
      cmocka_unit_test(test_no_delay_where_none_is),
      cmocka_unit_test(test_clipped_ramp),
      cmocka_unit_test(test_a_packet_of_zeros),
  };

  return cmocka_run_group_tests(tests, set_up, tear_down);
}
