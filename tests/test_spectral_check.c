/* SPDX-License-Identifier: Apache-2.0 */
/* The verdict on right chains and on chains broken in known ways, made here by a plain convolution of its own. */
#include "spectral_world.h"

static void test_right_chain(void **state)
{
  struct world *w = *state;
  const size_t flushed = (size_t)(((uint64_t)(N - 1) * 768 + w->taps.n - 1) / 625 + 1);
  struct job j;

  break_it(w, &(struct broken){0}, 1);
  run_check(&j, &w->aligned, w->x, N, w->y, M);
  assert_int_equal(j.status, 0);
  assert_true(j.r->passed && j.r->n_findings == 0 && j.r->n_events == 0);
  assert_true(j.r->snr_db > 76 && j.r->snr_db < 85);
  assert_true(j.r->ripple_db > 0.001 && j.r->ripple_db < 0.006);
  assert_true(fabs(j.r->in_dbfs - -15) < 0.1 && fabs(j.r->gain_db) < 0.001);
  assert_int_equal(j.r->n_expected, M);
  assert_true(j.r->first_in == 64 && j.r->end_in == N - 64);
  tlg_check_free(j.c);

  resample(w->y, w->x, N, 768, 625, &w->taps, 0, flushed, &(struct broken){0});
  run_check(&j, &w->causal, w->x, N, w->y, flushed);
  assert_true(j.status == 0 && j.r->passed && j.r->n_extra == 0 && j.r->n_expected_flush == flushed);
  assert_true(j.r->snr_db > 76 && j.r->snr_db < 85);
  tlg_check_free(j.c);
  run_check(&j, &w->causal, w->x, N, w->y, M); /* causal, not flushed */
  assert_true(j.status == 0 && j.r->passed);
  tlg_check_free(j.c);
  run_check(&j, &w->causal, w->x, N, w->y, M - 1);
  assert_true(j.status == 0 && !j.r->passed && j.r->in_band_passed && !j.r->length_passed && j.r->n_extra == -1);
  assert_true(found(&j, "1 output is missing"));
  tlg_check_free(j.c);
}

/* Whatever the size of the pieces, and whatever the level: the rounding noise of weak signals is no failure. */
static void test_weak_signal(void **state)
{
  struct world *w = *state;
  tlg_cs16 *x = confined_noise(N, 8.5 / 25, -60);
  struct job j;

  resample(w->y, x, N, 768, 625, &w->taps, w->q0, M, &(struct broken){0});
  run_check(&j, &w->aligned, x, N, w->y, M);
  /* -60 dBFS against rounding noise of -98.09 dBFS, 58.6 % of which lies in the band: 40.4 dB */
  assert_true(j.status == 0 && j.r->passed && fabs(j.r->snr_db - 40.4) < 0.3);
  assert_true(j.r->snr_limit_db < j.r->snr_db);
  tlg_check_free(j.c);
  /* but an error above it is */
  resample(w->y, x, N, 768, 625, &w->taps, w->q0, M, &(struct broken){.gain = 0.97});
  run_check(&j, &w->aligned, x, N, w->y, M);
  assert_true(j.status == 0 && !j.r->passed && !j.r->level_passed);
  tlg_check_free(j.c);
  free(x);
}

/* The rounding of a weak tone gathers on lines, which look like images: no failure either. */
static void test_weak_tones(void **state)
{
  static const struct {
    int64_t f; /* of 500 Hz */
    double amplitude;
  } t[] = {{2000, 327.68}, {2000, 32.768}, {6434, 103.6}, {2000, 3.3}, {-18015, 300}};
  enum { PERIOD = 50000, NT = 6 * PERIOD, MT = (NT * 768 + 624) / 625 };
  struct world *w = *state;
  tlg_cs16 *y = malloc(MT * sizeof *y);
  size_t k;

  for (k = 0; k < sizeof t / sizeof *t; k++) {
    tlg_cs16 *x = tones(NT, PERIOD, &t[k].f, 1, t[k].amplitude);
    struct tlg_check_cfg cfg = w->aligned;
    struct job j;

    cfg.period = tlg_check_period(x, NT, &cfg.rate_in, 625);
    resample(y, x, NT, 768, 625, &w->taps, w->q0, MT, &(struct broken){0});
    run_check(&j, &cfg, x, NT, y, MT);
    assert_true(j.status == 0 && j.r->passed);
    tlg_check_free(j.c);
    free(x);
  }
  free(y);
}

static void test_forgets_history(void **state)
{
  static const size_t sizes[] = {625, 362, 1996};
  struct world *w = *state;
  size_t s;

  for (s = 0; s < 3; s++) {
    struct job j;
    char words[60];

    break_it(w, &(struct broken){.forget = sizes[s]}, 0);
    run_check(&j, &w->causal, w->x, N, w->y, M);
    assert_true(j.status == 0 && !j.r->passed && !j.r->in_band_passed);
    snprintf(words, sizeof words, "packets of %zu inputs", sizes[s]);
    assert_true(found(&j, words));
    tlg_check_free(j.c);
  }
}

static void test_swapped_phases(void **state)
{
  struct world *w = *state;
  int aligned;

  for (aligned = 0; aligned < 2; aligned++) {
    struct job j;

    break_it(w, &(struct broken){.swap_a = 17, .swap_b = 300}, aligned);
    run_check(&j, aligned ? &w->aligned : &w->causal, w->x, N, w->y, M);
    assert_true(j.status == 0 && !j.r->passed && !j.r->in_band_passed);
    assert_true(found(&j, "phases 17 and 300 of 768") || found(&j, "phases 300 and 17 of 768"));
    tlg_check_free(j.c);
  }
}

static void test_linear_interpolation(void **state)
{
  struct world *w = *state;
  struct job j;

  break_it(w, &(struct broken){.linear = 1}, 0);
  run_check(&j, &w->aligned, w->x, N, w->y, M);
  assert_true(j.status == 0 && !j.r->passed && !j.r->in_band_passed && !j.r->images_passed);
  assert_true(j.r->snr_db < 40 && j.r->has_image && j.r->image_dbc > -30);
  assert_true(j.r->ripple_db > 1);
  assert_true(found(&j, "image of"));
  tlg_check_free(j.c);
}

/* One output lost at number `at`, or one put in. */
static void test_slips(void **state)
{
  struct world *w = *state;
  static const size_t places[] = {123456, 20000, 290000, 153600, 4000};
  struct job j;
  size_t k, p;

  for (p = 0; p < sizeof places / sizeof *places; p++) {
    const size_t at = places[p];

    break_it(w, &(struct broken){0}, 1);
    memmove(w->y + at, w->y + at + 1, (M - at - 1) * sizeof *w->y);
    run_check(&j, &w->aligned, w->x, N, w->y, M - 1);
    assert_true(j.status == 0 && !j.r->passed && !j.r->in_band_passed && !j.r->length_passed);
    assert_true(j.r->n_events >= 1 && j.r->event[0].has_lag);
    assert_true(fabs(j.r->event[0].lag_outputs - -1) < 0.01);
    assert_true(llabs((long long)j.r->event[0].first - (long long)at) <= 2);
    assert_true(j.r->n_events == 1 && j.r->event[0].end == UINT64_MAX);
    assert_true(found(&j, "1 output early"));
    tlg_check_free(j.c);
  }
  break_it(w, &(struct broken){0}, 1);
  memmove(w->y + 200001, w->y + 200000, (M - 200000) * sizeof *w->y);
  run_check(&j, &w->aligned, w->x, N, w->y, M + 1);
  assert_true(!j.r->passed && j.r->event[0].has_lag && fabs(j.r->event[0].lag_outputs - 1) < 0.01);
  assert_true(llabs((long long)j.r->event[0].first - 200000) <= 2 && found(&j, "1 output late"));
  tlg_check_free(j.c);

  /* inputs lost before the resampler: one, and a whole packet whose gap is closed */
  for (k = 1; k <= 625; k += 624) {
    const size_t at = 100 * 625;
    tlg_cs16 *x = malloc(N * sizeof *x);
    const size_t outputs = ((N - k) * 768 + 624) / 625;

    memcpy(x, w->x, at * sizeof *x);
    memcpy(x + at, w->x + at + k, (N - at - k) * sizeof *x);
    resample(w->y, x, N - k, 768, 625, &w->taps, w->q0, outputs, &(struct broken){0});
    run_check(&j, &w->aligned, w->x, N, w->y, outputs);
    assert_true(j.status == 0 && !j.r->passed && j.r->event[0].has_lag);
    assert_true(fabs(j.r->event[0].lag_inputs + (double)k) < 0.02);
    assert_true(llabs((long long)j.r->event[0].first - 76800) <= 3);
    assert_true(found(&j, k == 1 ? "1 input early" : "625 inputs early") && found(&j, "gap was closed"));
    assert_true(found(&j, "packet 100 of 625") || found(&j, "packet 99 of 625"));
    tlg_check_free(j.c);
    free(x);
  }
  /* far more than a block holds: the place is found, the rest follows from the count */
  break_it(w, &(struct broken){0}, 1);
  memmove(w->y + 100000, w->y + 150000, (M - 150000) * sizeof *w->y);
  run_check(&j, &w->aligned, w->x, N, w->y, M - 50000);
  assert_true(!j.r->passed && j.r->n_extra == -50000 && llabs((long long)j.r->event[0].first - 100000) <= 8);
  assert_true(j.r->event[0].end == UINT64_MAX && found(&j, "were the missing outputs lost there?"));
  tlg_check_free(j.c);
  /* two slips, one after the other */
  break_it(w, &(struct broken){0}, 1);
  memmove(w->y + 100000, w->y + 100001, (M - 100001) * sizeof *w->y);
  memmove(w->y + 200000, w->y + 200003, (M - 200004) * sizeof *w->y);
  run_check(&j, &w->aligned, w->x, N, w->y, M - 4);
  assert_int_equal(j.r->n_events, 2);
  assert_true(fabs(j.r->event[0].lag_outputs + 1) < 0.01 && fabs(j.r->event[1].lag_outputs + 4) < 0.01);
  assert_true(llabs((long long)j.r->event[0].first - 100000) <= 2 &&
              llabs((long long)j.r->event[1].first - 200000) <= 3);
  assert_int_equal(j.r->event[0].end, j.r->event[1].first);
  assert_true(found(&j, "3 outputs early"));
  tlg_check_free(j.c);
}

static void test_wrong_delay(void **state)
{
  struct world *w = *state;
  struct job j;

  break_it(w, &(struct broken){0}, 0);
  run_check(&j, &w->aligned, w->x, N, w->y, M); /* the delay of the taps is not told */
  assert_true(j.status == 0 && !j.r->passed && j.r->event[0].has_lag);
  assert_true(fabs(j.r->event[0].lag_outputs - (double)(w->taps.n - 1) / 1250) < 0.01);
  assert_true(found(&j, "later than the stated delay"));
  tlg_check_free(j.c);
}

static void test_short_errors(void **state)
{
  struct world *w = *state;
  struct job j;
  size_t k;

  /* one sample */
  break_it(w, &(struct broken){0}, 1);
  w->y[150000].i = (int16_t)(w->y[150000].i ^ 0x4000);
  run_check(&j, &w->aligned, w->x, N, w->y, M);
  assert_true(!j.r->passed && !j.r->in_band_passed && j.r->n_events == 1 && !j.r->event[0].has_lag);
  assert_true(llabs((long long)j.r->event[0].first - 150000) <= 2 && llabs((long long)j.r->event[0].end - 150001) <= 2);
  tlg_check_free(j.c);
  /* three packets of zeros */
  break_it(w, &(struct broken){0}, 1);
  memset(w->y + 76800, 0, 3 * 768 * sizeof *w->y);
  run_check(&j, &w->aligned, w->x, N, w->y, M);
  assert_true(!j.r->passed && j.r->n_events >= 1);
  assert_true(llabs((long long)j.r->event[0].first - 76800) <= 4);
  for (k = 0; k < j.r->n_events; k++) {
    assert_true(j.r->event[k].end <= 76800 + 3 * 768 + 4);
  }
  assert_true(llabs((long long)j.r->event[j.r->n_events - 1].end - (76800 + 3 * 768)) <= 4);
  tlg_check_free(j.c);
}

/* Long windows do not see the first and last microseconds; the short blocks there do. */
static void test_ends(void **state)
{
  struct world *w = *state;
  static const size_t places[] = {400, 1000, M - 1000, M - 450};
  struct job j;
  size_t k, p;

  for (p = 0; p < sizeof places / sizeof *places; p++) {
    break_it(w, &(struct broken){0}, 1);
    for (k = 0; k < 20; k++) {
      w->y[places[p] + k].i = 0;
      w->y[places[p] + k].q = 0;
    }
    run_check(&j, &w->aligned, w->x, N, w->y, M);
    assert_true(j.status == 0 && !j.r->passed && !j.r->in_band_passed && j.r->edge_bad > 0 && j.r->n_findings > 0);
    assert_true(
        llabs((long long)(j.r->n_events ? j.r->event[0].first : j.r->end[p > 1].first) - (long long)places[p]) <= 4);
    tlg_check_free(j.c);
  }
}

/* A whole packet of zeros at either end: that is where the error is, and nowhere else. */
static void test_lost_ends(void **state)
{
  struct world *w = *state;
  int e;

  for (e = 0; e < 2; e++) {
    const size_t from = e ? M - 768 : 0, to = e ? M : 768;
    struct job j;

    break_it(w, &(struct broken){0}, 1);
    memset(w->y + from, 0, 768 * sizeof *w->y);
    run_check(&j, &w->aligned, w->x, N, w->y, M);
    assert_true(j.status == 0 && !j.r->passed && j.r->end[e].bad && !j.r->end[!e].bad);
    /* outputs 0 to 78 and the last 78 are not compared */
    assert_true(j.r->end[e].first + 4 >= from && j.r->end[e].first <= (e ? from + 4 : 79));
    assert_true(j.r->end[e].end <= to + 4 && j.r->end[e].end + (e ? 90 : 4) >= to);
    assert_true(found(&j, e ? "near the end" : "near the beginning") && !found(&j, "spread"));
    tlg_check_free(j.c);
  }
}

/* A cut output fails, whatever is left of it; a short input cannot be judged. */
static void test_truncated(void **state)
{
  struct world *w = *state;
  static const size_t lengths[] = {M / 2, 2000, 100, 1, 0};
  size_t k;

  break_it(w, &(struct broken){0}, 1);
  for (k = 0; k < sizeof lengths / sizeof *lengths; k++) {
    struct tlg_check_cfg cfg = w->aligned;
    char words[60];
    struct job j;

    run_check(&j, &cfg, w->x, N, w->y, lengths[k]);
    assert_true(j.status == 0 && !j.r->passed && !j.r->length_passed);
    assert_int_equal(j.r->n_extra, (int64_t)lengths[k] - M);
    snprintf(words, sizeof words, "%zu outputs are missing", M - lengths[k]);
    assert_true(found(&j, words) && (j.r->blocks > 0) == (lengths[k] == M / 2));
    tlg_check_free(j.c);
    cfg.any_length = 1; /* then there is nothing to judge by */
    run_check(&j, &cfg, w->x, N, w->y, lengths[k]);
    assert_true(lengths[k] == M / 2 ? j.status == 0 && j.r->passed : j.status == TLG_EFORMAT);
    tlg_check_free(j.c);
  }
}

/* A tone that the output cannot hold leaves nothing to judge; wide noise into a lower rate passes. */
static void test_lower_rates(void **state)
{
  struct tlg_check_cfg cfg = {.rate_in = {2400000, 1}, .rate_out = {1920000, 1}};
  const size_t n = 200000, m = n * 4 / 5;
  tlg_cs16 *x = malloc(n * sizeof *x), *y = malloc(m * sizeof *y);
  struct tlg_taps taps;
  struct job j;
  size_t k;

  (void)state;
  assert_int_equal(tlg_taps_default(&taps, &cfg.rate_in, &cfg.rate_out, NULL), 0);
  assert_int_equal(taps.n % 2, 1);
  for (k = 0; k < n; k++) {
    x[k].i = sat(4000 * gauss(k, 5));
    x[k].q = sat(4000 * gauss(k, 6));
  }
  resample(y, x, n, 4, 5, &taps, (taps.n - 1) / 2, m, &(struct broken){0});
  run_check(&j, &cfg, x, n, y, m);
  assert_true(j.status == 0 && j.r->passed);
  tlg_check_free(j.c);
  for (k = 0; k < n; k++) { /* 1.1 MHz, beyond half of 1.92 */
    double co, si;

    tlg_cos_sin((uint64_t)k * 11, 24, &co, &si);
    x[k].i = sat(20000 * co);
    x[k].q = sat(20000 * si);
  }
  run_check(&j, &cfg, x, n, y, m);
  assert_int_equal(j.status, TLG_EFORMAT);
  tlg_check_free(j.c);
  tlg_taps_free(&taps);
  free(y);
  free(x);
}

static void test_level_faults(void **state)
{
  struct world *w = *state;
  tlg_cs16 *x;
  struct job j;
  size_t k;

  break_it(w, &(struct broken){.gain = 0.9441}, 1); /* -0.5 dB */
  run_check(&j, &w->aligned, w->x, N, w->y, M);
  assert_true(!j.r->passed && !j.r->level_passed && fabs(j.r->gain_db - -0.4997) < 0.002);
  assert_true(j.r->snr_gain_db > 75 && found(&j, "mostly gain: -0.500 dB"));
  tlg_check_free(j.c);

  break_it(w, &(struct broken){0}, 1);
  for (k = 0; k < M; k++) {
    const int16_t i = w->y[k].i;
    w->y[k].i = w->y[k].q;
    w->y[k].q = i;
  }
  run_check(&j, &w->aligned, w->x, N, w->y, M);
  assert_true(!j.r->passed && !j.r->in_band_passed && j.r->level_passed && found(&j, "mirrored"));
  tlg_check_free(j.c);

  break_it(w, &(struct broken){.dc = 12}, 1);
  run_check(&j, &w->aligned, w->x, N, w->y, M);
  assert_true(!j.r->passed && fabs(j.r->dc_i - 12) < 0.05 && fabs(j.r->dc_q - 12) < 0.05);
  assert_true(found(&j, "a constant of +12.0"));
  tlg_check_free(j.c);

  memset(w->y, 0, M * sizeof *w->y);
  run_check(&j, &w->aligned, w->x, N, w->y, M);
  assert_true(j.status == 0 && !j.r->passed && !j.r->level_passed && found(&j, "silent"));
  tlg_check_free(j.c);

  /* peaks above full scale: saturated is clipped, unsaturated wraps */
  x = confined_noise(N, 8.5 / 25, -8.5);
  resample(w->y, x, N, 768, 625, &w->taps, w->q0, M, &(struct broken){.gain = 1.06, .wrap = 1});
  run_check(&j, &w->aligned, x, N, w->y, M);
  assert_true(!j.r->passed && found(&j, "wrapped round"));
  tlg_check_free(j.c);
  free(x);
}

/* ---- tones ---------------------------------------------------------------------------------------------------------
 */

/* Gain of the prototype, in dB, at a frequency given in units of rate_in / 50000. */
static double response_db(const struct tlg_taps *taps, int64_t f)
{
  const uint64_t den = (uint64_t)50000 * taps->up;
  double i = 0, q = 0;
  size_t k;

  for (k = 0; k < taps->n; k++) {
    double co, si;

    tlg_cos_sin((uint64_t)(((__int128)f * (int64_t)k % (__int128)den + (__int128)den) % (__int128)den), den, &co, &si);
    i += taps->h[k] * co;
    q += taps->h[k] * si;
  }
  return 10 * log10((i * i + q * q) / taps->up / taps->up) - 20 * log10(1 << taps->shift);
}

/* The design's 61 tones, k * 300.5 kHz over 2 ms: what is read for each tone must be what its taps' own response says,
 * a sum over the prototype; the worst image likewise. */
static void test_tone_images(void **state)
{
  enum { PERIOD = 50000, NT = 3 * PERIOD + 700, MT = (NT * 768 + 624) / 625 };
  struct world *w = *state;
  int64_t f[61];
  tlg_cs16 *x, *y = malloc(MT * sizeof *y);
  struct tlg_check_cfg cfg = w->aligned;
  struct job j;
  double worst = -300;
  size_t k;

  for (k = 0; k < 61; k++) {
    f[k] = ((int64_t)k - 30) * 601; /* of 500 Hz */
  }
  x = tones(NT, PERIOD, f, 61, 32768 * 0.022);
  assert_int_equal(tlg_check_period(x, NT, &cfg.rate_in, 625), PERIOD);
  cfg.period = PERIOD;
  resample(y, x, NT, 768, 625, &w->taps, w->q0, MT, &(struct broken){0});
  run_check(&j, &cfg, x, NT, y, MT);
  assert_int_equal(j.status, 0);
  assert_true(j.r->passed && j.r->n_tones == 61 && j.r->periodic);
  for (k = 0; k < 61; k++) {
    const struct tlg_check_tone *t = &j.r->tone[k];
    const int64_t own = (int64_t)llround(t->hz / 500);
    double direct = response_db(&w->taps, own), image = -300;
    int64_t m, m_worst = 0;

    assert_true(own % 601 == 0 && t->has_image);
    assert_true(fabs(t->gain_db - direct) < 0.0005);
    for (m = -6; m <= 6; m++) {
      const double db = m ? response_db(&w->taps, own + m * 50000) - direct : -300;

      m_worst = db > image ? m : m_worst;
      image = db > image ? db : image;
    }
    /* Rounding noise of -98.1 dBFS over 61440 lines, against tones of -33.2 dBFS: -112.8 dBc a line, with a random
     * phase. 3.5 times its rms is passed once in 200,000. */
    if (image > -90) {
      assert_true(fabs(t->image_dbc - image) < 8.686 * 3.5 * pow(10, (-112.8 - image) / 20) + 0.02);
      assert_int_equal(t->image_number, m_worst);
      /* own + m * 25 MHz, folded at 30.72 MHz (61440 units) */
      m = ((own + m_worst * 50000 + 30720) % 61440 + 61440) % 61440 - 30720;
      assert_true(fabs(t->image_hz - (double)m * 500) < 1);
    }
    worst = image > worst && llabs(own) < 18015 ? image : worst; /* +-9.015 MHz lies outside the band */
  }
  assert_true(fabs(j.r->image_dbc - worst) < 0.3 && worst < -70);
  tlg_check_free(j.c);

  /* Linear interpolation: its images of tone f about m * 25 MHz are sinc^2(f/25 + m), closed form. */
  resample(y, x, NT, 768, 625, &w->taps, 0, MT, &(struct broken){.linear = 1});
  run_check(&j, &cfg, x, NT, y, MT);
  assert_true(j.status == 0 && !j.r->passed && !j.r->images_passed && !j.r->in_band_passed);
  for (k = 0; k < 61; k++) {
    const struct tlg_check_tone *t = &j.r->tone[k];
    const double a = t->hz / 25e6, s = a == 0 ? 1 : sin(M_PI * a) / (M_PI * a), b = fabs(a) - 1;

    assert_true(fabs(t->gain_db - 40 * log10(fabs(s))) < 0.002);
    if (fabs(a) > 0.1) {
      const double image = 40 * log10(fabs(sin(M_PI * b) / (M_PI * b)));
      assert_true(fabs(t->image_dbc - (image - 40 * log10(fabs(s)))) < 0.1);
      assert_int_equal(t->image_number, a > 0 ? -1 : 1);
    }
  }
  tlg_check_free(j.c);

  /* A dropped output is found among tones, too. */
  resample(y, x, NT, 768, 625, &w->taps, w->q0, MT, &(struct broken){0});
  memmove(y + 100000, y + 100001, (MT - 100001) * sizeof *y);
  run_check(&j, &cfg, x, NT, y, MT - 1);
  assert_true(!j.r->passed && j.r->n_events >= 1 && llabs((long long)j.r->event[0].first - 100000) <= 40);
  tlg_check_free(j.c);
  free(y);
  free(x);
}

/* +-9.0075 MHz singly: the first image, at 15.9925 MHz, is the worst one there is. */
static void test_edge_tone(void **state)
{
  enum { PERIOD = 50000, NT = 2 * PERIOD + 700, MT = (NT * 768 + 624) / 625 };
  struct world *w = *state;
  struct tlg_check_cfg cfg = w->aligned;
  tlg_cs16 *y = malloc(MT * sizeof *y);
  int sign;

  cfg.period = PERIOD;
  for (sign = -1; sign <= 1; sign += 2) {
    const int64_t f = sign * 18015;
    tlg_cs16 *x = tones(NT, PERIOD, &f, 1, 29000);
    struct job j;

    resample(y, x, NT, 768, 625, &w->taps, w->q0, MT, &(struct broken){0});
    run_check(&j, &cfg, x, NT, y, MT);
    assert_true(j.status == 0 && j.r->n_tones == 1);
    assert_true(fabs(j.r->tone[0].image_dbc - (response_db(&w->taps, f - sign * 50000) - response_db(&w->taps, f))) <
                0.2);
    assert_int_equal(j.r->tone[0].image_number, -sign);
    assert_true(fabs(j.r->tone[0].image_hz - sign * (9007500.0 - 25e6 + 30.72e6)) < 1);
    /* The gain at the edge, which lies within the limit for ripple, is no error. */
    assert_true(j.r->passed && j.r->snr_judged_db > 75 && fabs(j.r->gain_db - response_db(&w->taps, f)) < 0.0005);
    tlg_check_free(j.c);
    free(x);
  }
  free(y);
}

/* ---- other ratios, short and empty streams ----------------------------------------------------------------------- */

static void test_ratios(void **state)
{
  static const struct {
    uint64_t in, out;
    double pass; /* of the rate */
  } r[] = {{19200000, 30720000, 0.33},  {19200000, 25000000, 0.33}, {30720000, 25000000, 0.27},
           {25000000, 23040000, 0.29},  {24576000, 30720000, 0.33}, {10000000, 10000000, 0.3},
           {122880000, 30720000, 0.065}};
  size_t k;

  (void)state;
  for (k = 0; k < sizeof r / sizeof *r; k++) {
    struct tlg_check_cfg cfg = {.rate_in = {r[k].in, 1}, .rate_out = {r[k].out, 1}};
    const size_t n = 150000;
    tlg_cs16 *x = confined_noise(n, r[k].pass, -15), *y;
    struct tlg_taps taps;
    uint32_t up, down;
    size_t m;
    struct job j;

    assert_int_equal(tlg_rate_ratio(&cfg.rate_in, &cfg.rate_out, &up, &down), 0);
    assert_int_equal(tlg_taps_default(&taps, &cfg.rate_in, &cfg.rate_out, NULL), 0);
    m = (n * up + down - 1) / down;
    y = malloc(m * sizeof *y);
    cfg.q0 = taps.n % 2 ? (taps.n - 1) / 2 : taps.n / 2 - 1;
    if (taps.n % 2 == 0) {
      tlg_rate_make(&cfg.delay, 1, 2 * down);
    }
    resample(y, x, n, up, down, &taps, cfg.q0, m, &(struct broken){0});
    run_check(&j, &cfg, x, n, y, m);
    if (j.status || !j.r->passed) {
      fail_msg("%u/%u: %s, %.1f dB, image %.1f, total %.1f", up, down, j.err.text, j.r ? j.r->snr_db : 0,
               j.r ? j.r->image_dbc : 0, j.r ? j.r->total_dbc : 0);
    }
    tlg_check_free(j.c);
    memmove(y + m / 2, y + m / 2 + 1, (m - m / 2 - 1) * sizeof *y);
    run_check(&j, &cfg, x, n, y, m - 1);
    assert_true(j.status == 0 && !j.r->passed && j.r->event[0].has_lag);
    assert_true(llabs((long long)j.r->event[0].first - (long long)(m / 2)) <= 6);
    tlg_check_free(j.c);
    tlg_taps_free(&taps);
    free(y);
    free(x);
  }
}

/* Noise over the whole input band is fair, too: what the filter need not stop is no image. */
static void test_wide_input(void **state)
{
  struct world *w = *state;
  tlg_cs16 *x = malloc(N * sizeof *x);
  struct job j;
  size_t k;

  for (k = 0; k < N; k++) {
    x[k].i = sat(4000 * gauss(k, 3));
    x[k].q = sat(4000 * gauss(k, 4));
  }
  resample(w->y, x, N, 768, 625, &w->taps, w->q0, M, &(struct broken){0});
  run_check(&j, &w->aligned, x, N, w->y, M);
  assert_true(j.status == 0 && j.r->passed && j.r->outside_dbc > -5);
  tlg_check_free(j.c);
  resample(w->y, x, N, 768, 625, &w->taps, 0, M, &(struct broken){.linear = 1});
  run_check(&j, &w->aligned, x, N, w->y, M);
  assert_true(j.status == 0 && !j.r->passed && !j.r->images_passed);
  tlg_check_free(j.c);
  free(x);
}

/* Full-band noise into 1/16 of its rate: what the rounding of 291 taps lets pass is no fault of the chain, but only
 * when they are known to be rounded; and a tap that is off by 40 is one. */
static void test_rounded_taps(void **state)
{
  enum { NW = 200000, MW = NW / 16 };
  struct tlg_check_cfg cfg = {.rate_in = {30720000, 1}, .rate_out = {1920000, 1}};
  tlg_cs16 *x = malloc(NW * sizeof *x), *y = malloc(MW * sizeof *y);
  struct tlg_taps taps;
  struct job j;
  size_t k;

  (void)state;
  assert_int_equal(tlg_taps_default(&taps, &cfg.rate_in, &cfg.rate_out, NULL), 0);
  for (k = 0; k < NW; k++) {
    x[k].i = sat(4000 * gauss(k, 5));
    x[k].q = sat(4000 * gauss(k, 6));
  }
  cfg.skip = taps.n;
  resample(y, x, NW, 1, 16, &taps, (taps.n - 1) / 2, MW, &(struct broken){0});
  run_check(&j, &cfg, x, NW, y, MW);
  assert_true(j.status == 0 && !j.r->passed);
  tlg_check_free(j.c);
  cfg.taps_per_phase = taps.n;
  cfg.tap_shift = taps.shift;
  run_check(&j, &cfg, x, NW, y, MW);
  assert_true(j.status == 0 && j.r->passed);
  /* 75 dB below all of it, and T/3 4^-S of what lies outside the band: 10^-7.5 + 291/3/2^28 = -64.0 dBc of the input;
   * 2 * 0.3603 / 16 of it lie in the band, so 50.5 dB; less at most 2 dB for the scatter over frequency */
  assert_true(j.r->snr_limit_db < 50.6 && j.r->snr_limit_db > 48);
  tlg_check_free(j.c);
  {
    struct tlg_taps off = taps;
    int16_t *h = malloc(taps.n * sizeof *h);

    memcpy(h, taps.h, taps.n * sizeof *h);
    h[60] = (int16_t)(h[60] + 80);
    off.h = h;
    resample(y, x, NW, 1, 16, &off, (taps.n - 1) / 2, MW, &(struct broken){0});
    run_check(&j, &cfg, x, NW, y, MW);
    assert_true(j.status == 0 && !j.r->passed);
    tlg_check_free(j.c);
    free(h);
  }
  tlg_taps_free(&taps);
  free(y);
  free(x);
}

static void test_nothing_to_compare(void **state)
{
  struct world *w = *state;
  tlg_cs16 *zeros = calloc(N, sizeof *zeros);
  struct job j;
  static const size_t lengths[] = {0, 1, 3, 100, 1249, 12000};
  size_t k;

  for (k = 0; k < sizeof lengths / sizeof *lengths; k++) {
    run_check(&j, &w->aligned, w->x, lengths[k], w->x, (lengths[k] * 768 + 624) / 625);
    assert_int_equal(j.status, TLG_EFORMAT);
    assert_non_null(strstr(j.err.text, "too short"));
    tlg_check_free(j.c);
  }
  run_check(&j, &w->aligned, zeros, N, zeros, N);
  assert_int_equal(j.status, TLG_EFORMAT);
  assert_non_null(strstr(j.err.text, "silent"));
  tlg_check_free(j.c);
  free(zeros);
  assert_int_equal(tlg_check_block(&w->aligned.rate_in, 768, 625, 3, 64), 0);
  assert_int_equal(tlg_check_block(&w->aligned.rate_in, 768, 625, tlg_check_least(625, 64) - 1, 64), 0);
  assert_int_equal(tlg_check_block(&w->aligned.rate_in, 768, 625, tlg_check_least(625, 64), 64), 1250);
  assert_int_equal(tlg_check_block(&w->aligned.rate_in, 768, 625, N, 64), 25000);
}

/* A short recording gets shorter blocks, and still a fair verdict. */
static void test_short_recording(void **state)
{
  struct world *w = *state;
  static const size_t lengths[] = {1400, 3000, 10000, 40000};
  size_t k;

  for (k = 0; k < sizeof lengths / sizeof *lengths; k++) {
    const size_t n = lengths[k], m = (n * 768 + 624) / 625;
    struct tlg_check_cfg cfg = w->aligned;
    struct job j;

    cfg.block = tlg_check_block(&cfg.rate_in, 768, 625, n, 64);
    assert_true(cfg.block > 0);
    resample(w->y, w->x, n, 768, 625, &w->taps, w->q0, m, &(struct broken){0});
    run_check(&j, &cfg, w->x, n, w->y, m);
    assert_true(j.status == 0 && j.r->passed);
    tlg_check_free(j.c);
    w->y[m / 2].q = (int16_t)(w->y[m / 2].q + 3000);
    run_check(&j, &cfg, w->x, n, w->y, m);
    assert_true(j.status == 0 && !j.r->passed);
    tlg_check_free(j.c);
  }
}

/* A window of the input is judged, whatever the rest looks like; all of it is counted. */
static void test_window(void **state)
{
  struct world *w = *state;
  struct tlg_check_cfg cfg = w->aligned;
  struct job j;

  break_it(w, &(struct broken){0}, 1);
  memset(w->y, 0, 50000 * sizeof *w->y);
  memset(w->y + 250000, 0, (M - 250000) * sizeof *w->y);
  cfg.start = 60000;
  cfg.length = 100000;
  run_check(&j, &cfg, w->x, N, w->y, M);
  assert_true(j.status == 0 && j.r->passed && j.r->n_in == N && j.r->n_out == M);
  assert_true(j.r->first_in == 60064 && j.r->end_in == 160000);
  tlg_check_free(j.c);
  cfg.start = 30000;
  run_check(&j, &cfg, w->x, N, w->y, M);
  assert_true(j.status == 0 && !j.r->passed && j.r->event[0].end > 49900 && j.r->event[0].end < 50100);
  tlg_check_free(j.c);
}

static void test_gaps(void **state)
{
  struct world *w = *state;
  struct tlg_check *c;
  const struct tlg_check_result *r;
  tlg_cs16 *x = malloc(N * sizeof *x);
  size_t at;

  /* inputs 100000..103000 are missing; the outputs there were left out */
  memcpy(x, w->x, N * sizeof *x);
  memset(x + 100000, 0, 3000 * sizeof *x);
  resample(w->y, x, N, 768, 625, &w->taps, w->q0, M, &(struct broken){0});
  memset(w->y + 122880, 0, 3686 * sizeof *w->y);
  assert_int_equal(tlg_check_new(&c, &w->aligned, NULL), 0);
  assert_int_equal(tlg_check_gap_in(c, 100000, 3000), 0);
  assert_int_equal(tlg_check_gap_out(c, 122880, 3686), 0);
  for (at = 0; at < N; at += 1250) {
    assert_int_equal(tlg_check_push_in(c, x + at, 1250), 0);
    assert_int_equal(tlg_check_push_out(c, w->y + at * 768 / 625, 1536), 0);
  }
  tlg_check_end_in(c);
  tlg_check_end_out(c);
  assert_int_equal(tlg_check_finish(c, &r, NULL), 0);
  assert_true(r->passed && r->gaps == 2);
  tlg_check_free(c);
  free(x);
}

static void test_arguments(void **state)
{
  struct world *w = *state;
  struct tlg_check_cfg cfg = w->aligned;
  struct tlg_check *c = (struct tlg_check *)1;
  struct tlg_error err;

  assert_int_equal(tlg_check_new(&c, &(struct tlg_check_cfg){0}, &err), TLG_EINVAL);
  assert_null(c);
  cfg.band_hz = (struct tlg_rate){13000000, 1};
  assert_int_equal(tlg_check_new(&c, &cfg, &err), TLG_EINVAL);
  cfg = w->aligned;
  cfg.block = 1000;
  assert_int_equal(tlg_check_new(&c, &cfg, &err), TLG_EINVAL);
  cfg = w->aligned;
  cfg.min_snr_db = NAN;
  assert_int_equal(tlg_check_new(&c, &cfg, &err), TLG_EINVAL);
  cfg = w->aligned;
  assert_int_equal(tlg_check_new(&c, &cfg, &err), 0);
  assert_int_equal(tlg_check_push_in(c, w->x, tlg_check_want_in(c) + 1), TLG_ESPACE);
  tlg_check_free(c);
  tlg_check_free(NULL);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_right_chain),
      cmocka_unit_test(test_weak_signal),
      cmocka_unit_test(test_weak_tones),
      cmocka_unit_test(test_forgets_history),
      cmocka_unit_test(test_swapped_phases),
      cmocka_unit_test(test_linear_interpolation),
      cmocka_unit_test(test_slips),
      cmocka_unit_test(test_wrong_delay),
      cmocka_unit_test(test_short_errors),
      cmocka_unit_test(test_ends),
      cmocka_unit_test(test_lost_ends),
      cmocka_unit_test(test_truncated),
      cmocka_unit_test(test_lower_rates),
      cmocka_unit_test(test_level_faults),
      cmocka_unit_test(test_tone_images),
      cmocka_unit_test(test_edge_tone),
      cmocka_unit_test(test_ratios),
      cmocka_unit_test(test_wide_input),
      cmocka_unit_test(test_rounded_taps),
      cmocka_unit_test(test_nothing_to_compare),
      cmocka_unit_test(test_short_recording),
      cmocka_unit_test(test_window),
      cmocka_unit_test(test_gaps),
      cmocka_unit_test(test_arguments),
  };

  return cmocka_run_group_tests(tests, set_up, tear_down);
}
