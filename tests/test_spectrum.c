/* SPDX-License-Identifier: Apache-2.0 */
/* Windows, calibration of levels and densities, and the ideal resampling against closed forms. */
#include "tlg_spectra.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const enum tlg_window all_windows[] = {TLG_WINDOW_HANN, TLG_WINDOW_RECTANGULAR, TLG_WINDOW_HAMMING,
                                              TLG_WINDOW_BLACKMAN_HARRIS, TLG_WINDOW_FLAT_TOP};
enum { N_WINDOWS = sizeof all_windows / sizeof *all_windows };

static double db(double power)
{
  return 10 * log10(power);
}

static double uniform(uint64_t n, uint32_t key)
{
  const uint32_t counter[4] = {(uint32_t)n, (uint32_t)(n >> 32), 0, 0}, k[2] = {key, 1};
  uint32_t out[4];

  tlg_philox(counter, k, out);
  return (out[0] + 0.5) / 4294967296.0;
}

/* Gaussian enough: twelve uniforms, variance 1. */
static double gauss(uint64_t n, uint32_t key)
{
  double sum = -6;
  int i;

  for (i = 0; i < 12; i++) {
    sum += uniform(n * 12 + i, key);
  }
  return sum;
}

static tlg_cs16 rounded(double i, double q)
{
  tlg_cs16 s;

  s.i = (int16_t)floor(i + 0.5);
  s.q = (int16_t)floor(q + 0.5);
  return s;
}

static void test_windows(void **state)
{
  int i, k;

  (void)state;
  for (i = 0; i < N_WINDOWS; i++) {
    enum tlg_window w = TLG_WINDOW_HANN;

    assert_int_equal(tlg_window_parse(&w, tlg_window_name(all_windows[i])), 0);
    assert_int_equal(w, all_windows[i]);
    for (k = 1; k < 16; k++) {
      assert_true(fabs(tlg_window_at(w, k / 16.0) - tlg_window_at(w, 1 - k / 16.0)) < 1e-12);
    }
    assert_true(fabs(tlg_window_at(w, 0.5) - 1) < 0.001);
  }
  assert_int_equal(tlg_window_parse((enum tlg_window[]){0}, "kaiser"), TLG_EINVAL);
}

/* scipy#8368, gqrx#1390: a tone plus noise read the same level and density whatever the window. */
static void test_calibration(void **state)
{
  enum { N = 1 << 18, BINS = 1024 };
  /* -20 dBFS on bin 200 of 1024, noise of -60 dBFS in all over 25 MHz: -60 - 10 log10(25e6) = -133.979 dBFS/Hz. */
  const double amplitude = 32768 * pow(10, -20 / 20.0), sigma = 32768 * pow(10, -60 / 20.0) / sqrt(2);
  const struct tlg_rate rate = {25000000, 1};
  tlg_cs16 *x = malloc(N * sizeof *x);
  double density[BINS], level[BINS];
  int i, k;

  (void)state;
  for (k = 0; k < N; k++) {
    const double a = 2 * M_PI * 200 * (k % BINS) / BINS;

    x[k] = rounded(amplitude * cos(a) + sigma * gauss(k, 1), amplitude * sin(a) + sigma * gauss(k, 2));
  }
  for (i = 0; i < N_WINDOWS; i++) {
    const struct tlg_psd_cfg cfg = {.n = BINS, .window = all_windows[i]};
    struct tlg_psd *p;
    double noise = 0;

    assert_int_equal(tlg_psd_new(&p, &cfg), 0);
    /* Cutting the input differently changes nothing. */
    for (k = 0; k < N;) {
      const int n = (k * 7 + 1) % 3001 < N - k ? (k * 7 + 1) % 3001 : N - k;

      tlg_psd_push(p, x + k, (size_t)n);
      k += n;
    }
    assert_true(tlg_psd_segments(p) >= N / BINS - 1);
    tlg_psd_levels(p, level);
    tlg_psd_density(p, &rate, density);
    assert_true(fabs(db(level[BINS / 2 + 200]) - -20) < 0.02);
    assert_true(fabs(db(tlg_psd_tone(p, 200.0 / BINS)) - -20) < 0.02);
    /* 600 bins far from the tone; at least 256 segments: standard deviation 4.34 / sqrt(600 * 256) = 0.011 dB. */
    for (k = 100; k < 700; k++) {
      noise += density[BINS / 2 - 512 + k] / 600;
    }
    assert_true(fabs(db(noise) - -133.979) < 0.06);
    assert_true(fabs(db(tlg_psd_band(p, -0.4, 0.0)) - (-60 + db(0.4))) < 0.06);
    assert_true(fabs(db(tlg_psd_band(p, -0.5, 0.5)) - -20) < 0.02);
    tlg_psd_reset(p);
    assert_int_equal(tlg_psd_segments(p), 0);
    assert_true(tlg_psd_band(p, -0.5, 0.5) == 0);
    tlg_psd_free(p);
  }
  free(x);
}

/* Half a bin off, where bins of the plain spectrum would read 3.9 (rectangular) or 1.4 dB (Hann) too low. */
static void test_tone_between_bins(void **state)
{
  enum { N = 1 << 15, BINS = 1024 };
  tlg_cs16 *x = malloc(N * sizeof *x);
  double level[BINS];
  int i, k;

  (void)state;
  for (k = 0; k < N; k++) {
    const double a = 2 * M_PI * fmod(-300.5 / BINS * k, 1);

    x[k] = rounded(8192 * cos(a), 8192 * sin(a)); /* -12.041 dBFS */
  }
  for (i = 0; i < N_WINDOWS; i++) {
    const struct tlg_psd_cfg cfg = {.n = BINS, .window = all_windows[i]};
    /* What lies beyond the lobe: 10 % for the rectangular window, whose side lobes fall slowly. */
    const double tolerance = all_windows[i] == TLG_WINDOW_RECTANGULAR ? 0.7
                             : all_windows[i] == TLG_WINDOW_HAMMING   ? 0.02
                                                                      : 0.01;
    struct tlg_psd *p;

    assert_int_equal(tlg_psd_new(&p, &cfg), 0);
    tlg_psd_push(p, x, N);
    assert_true(fabs(db(tlg_psd_tone(p, -300.5 / BINS)) - -12.041) < tolerance);
    assert_true(fabs(db(tlg_psd_band(p, -0.5, 0.5)) - -12.041) < 0.01);
    if (all_windows[i] == TLG_WINDOW_FLAT_TOP) {
      tlg_psd_levels(p, level);
      assert_true(fabs(db(level[BINS / 2 - 300]) - -12.041) < 0.02);
    }
    tlg_psd_free(p);
  }
  free(x);
}

static void test_psd_arguments(void **state)
{
  struct tlg_psd *p = (struct tlg_psd *)1;
  tlg_cs16 x[3] = {{1, 2}, {3, 4}, {5, 6}};

  (void)state;
  assert_int_equal(tlg_psd_new(&p, &(struct tlg_psd_cfg){.n = 1}), TLG_EINVAL);
  assert_null(p);
  assert_int_equal(tlg_psd_new(&p, &(struct tlg_psd_cfg){.n = 8, .hop = 9}), TLG_EINVAL);
  assert_int_equal(tlg_psd_new(&p, &(struct tlg_psd_cfg){.n = 8, .window = 77}), TLG_EINVAL);
  assert_int_equal(tlg_psd_new(&p, &(struct tlg_psd_cfg){0}), 0);
  assert_int_equal(tlg_psd_size(p), 4096);
  tlg_psd_push(p, x, 3);
  tlg_psd_push(p, x, 0);
  assert_int_equal(tlg_psd_segments(p), 0);
  assert_true(tlg_psd_band(p, 0.3, 0.2) == 0 && tlg_psd_band(p, NAN, 0.2) == 0 && tlg_psd_tone(p, NAN) == 0);
  tlg_psd_free(p);
  tlg_psd_free(NULL);
}

/* ---- ideal resampling ------------------------------------------------------------------------------------------ */

/* Push everything in pieces of odd sizes; returns the number of outputs. */
static size_t run_ideal(const struct tlg_ideal_cfg *cfg, const tlg_cs16 *x, size_t n, tlg_cf64 *y, size_t cap)
{
  struct tlg_ideal *r;
  size_t at = 0, made = 0, used, got, piece = 1;

  assert_int_equal(tlg_ideal_new(&r, cfg), 0);
  while (at < n) {
    piece = piece * 7 % 4099 + 1;
    assert_int_equal(tlg_ideal_push(r, x + at, piece < n - at ? piece : n - at, &used, y + made,
                                    cap - made < piece ? cap - made : piece, &got),
                     0);
    at += used;
    made += got;
    assert_true(made <= cap && (used > 0 || got > 0));
  }
  do {
    assert_int_equal(tlg_ideal_flush(r, y + made, cap - made, &got), 0);
    made += got;
  } while (got);
  tlg_ideal_free(r);
  return made;
}

/* Tones whose samples are exact integers at the input do not exist, so the input's own rounding (known: it is our
 * input) must be left out of the comparison: by linearity, the error of the rounded tone is the error of the exact
 * one plus the ideal resampling of the rounding, whose power is at most 1/2 bit^2. Four cases avoid it altogether:
 * tones at multiples of a quarter of the input rate have values 0 and +-A. Any other frequency is compared with the
 * direct sum of the rounded input's own Fourier series (a period of the signal resampled by its definition). */
static void check_quarter_tones(uint32_t up, uint32_t down, uint64_t num, uint64_t den)
{
  const struct tlg_ideal_cfg cfg = {.up = up, .down = down, .delay = {num, den}};
  const double ratio = (double)up / down;
  const size_t n = 4 * 131072, cap = (size_t)(n * ratio + (den ? (double)num / den : 0)) + 2;
  tlg_cs16 *x = malloc(n * sizeof *x);
  tlg_cf64 *y = malloc(cap * sizeof *y);
  int quarter;

  for (quarter = -1; quarter <= 1; quarter++) {
    static const int c[] = {1, 0, -1, 0};
    const int passes = up >= down || 0.25 < 0.5 * ratio - 0.01 || quarter == 0;
    size_t k, made;
    double worst = 0;

    for (k = 0; k < n; k++) {
      x[k].i = (int16_t)(20000 * c[(size_t)(quarter & 3) * k % 4]);
      x[k].q = (int16_t)(20000 * c[((size_t)(quarter & 3) * k + 3) % 4]);
    }
    made = run_ideal(&cfg, x, n, y, cap);
    assert_int_equal(made, (size_t)ceil(n * ratio + (den ? (double)num / den : 0) - 1e-9));
    for (k = made / 3; k < 2 * made / 3; k++) {
      /* Position in inputs, (k - num/den) * down / up, times quarter/4, as an exact fraction of a turn. */
      const uint64_t d = den ? den : 1;
      const __int128 top = ((__int128)k * d - num) * down * quarter, bottom = (__int128)4 * up * d;
      const __int128 turn = ((top % bottom) + bottom) % bottom;
      double co, si, e;

      tlg_cos_sin((uint64_t)turn, (uint64_t)bottom, &co, &si);
      e = hypot(y[k].i - (passes ? 20000 * co : 0), y[k].q - (passes ? 20000 * si : 0));
      worst = e > worst ? e : worst;
    }
    if (20 * log10(worst / 20000) >= -120) {
      fail_msg("%u/%u, tone at %d/4 of the rate: %.1f dB", up, down, quarter, 20 * log10(worst / 20000));
    }
  }
  free(y);
  free(x);
}

static void test_ideal_tones(void **state)
{
  (void)state;
  check_quarter_tones(768, 625, 0, 0);
  check_quarter_tones(1536, 1250, 0, 0);
  check_quarter_tones(768, 625, 6143, 625); /* the delay of the default taps */
  check_quarter_tones(625, 768, 0, 0);
  check_quarter_tones(625, 768, 7, 3);
  check_quarter_tones(8, 5, 1, 2);
  check_quarter_tones(5, 4, 100000, 1); /* a delay of more than a block */
  check_quarter_tones(1, 1, 1, 3);
  check_quarter_tones(2, 5, 0, 0); /* the tones at +-1/4 are cut off */
  check_quarter_tones(65521, 65519, 0, 0);
}

/* A sum of tones on a raster of P inputs, rounded: periodic, so its own Fourier series, summed term by term at the
 * output instants, is its band-limited interpolation. */
static void test_ideal_multitone(void **state)
{
  enum { P = 625, PERIODS = 200, N = P * PERIODS, OUT = 768 };
  const struct tlg_ideal_cfg cfg = {.up = 768, .down = 625, .block = 25000};
  tlg_cs16 *x = malloc(N * sizeof *x);
  tlg_cf64 *y = malloc((OUT * PERIODS + 8) * sizeof *y), series[P];
  double worst = 0;
  size_t k, made;
  int b, t;

  (void)state;
  for (k = 0; k < N; k++) {
    double i = 0, q = 0;

    for (b = -225; b <= 225; b += 9) { /* +-9 MHz in steps of 360 kHz */
      double co, si;

      tlg_cos_sin((uint64_t)(b + P) * (k % P) + (uint64_t)(b * b + 225) * 7, P, &co, &si);
      i += 500 * co;
      q += 500 * si;
    }
    x[k] = rounded(i, q);
  }
  for (b = 0; b < P; b++) {
    series[b].i = series[b].q = 0;
    for (t = 0; t < P; t++) {
      double co, si;

      tlg_cos_sin((uint64_t)b * t, P, &co, &si);
      series[b].i += (x[t].i * co + x[t].q * si) / P;
      series[b].q += (x[t].q * co - x[t].i * si) / P;
    }
  }
  made = run_ideal(&cfg, x, N, y, OUT * PERIODS + 8);
  assert_int_equal(made, OUT * PERIODS);
  for (k = OUT * 100; k < OUT * 101; k++) {
    double i = 0, q = 0;

    for (b = -P / 2; b <= P / 2; b++) {
      const tlg_cf64 s = series[(b + P) % P];
      double co, si;

      tlg_cos_sin((uint64_t)(b + OUT) * k, OUT, &co, &si);
      i += s.i * co - s.q * si;
      q += s.i * si + s.q * co;
    }
    worst = fmax(worst, hypot(i - y[k].i, q - y[k].q));
  }
  /* The rounding noise reaches up to half the rate, where the block's window is felt: -160 dB and less. */
  assert_true(worst < 20000 * 1e-6);
  free(y);
  free(x);
}

static void test_ideal_edges(void **state)
{
  struct tlg_ideal *r = (struct tlg_ideal *)1;
  tlg_cs16 x[3] = {{1000, -500}, {0, 0}, {0, 0}};
  tlg_cf64 y[64];
  size_t n, k;

  (void)state;
  assert_int_equal(tlg_ideal_new(&r, &(struct tlg_ideal_cfg){.up = 0, .down = 5}), TLG_EINVAL);
  assert_null(r);
  assert_int_equal(tlg_ideal_new(&r, &(struct tlg_ideal_cfg){.up = 65536, .down = 5}), TLG_EINVAL);
  assert_int_equal(tlg_ideal_new(&r, &(struct tlg_ideal_cfg){.up = 8, .down = 5, .block = 15}), TLG_EINVAL);
  tlg_ideal_free(NULL);
  assert_int_equal(run_ideal(&(struct tlg_ideal_cfg){.up = 8, .down = 5}, x, 0, y, 64), 0);
  /* An impulse becomes a sinc; a whole ratio of 2 keeps the samples themselves. */
  n = run_ideal(&(struct tlg_ideal_cfg){.up = 2, .down = 1}, x, 3, y, 64);
  assert_int_equal(n, 6);
  for (k = 0; k < 6; k++) {
    const double sinc = k == 0 ? 1 : sin(M_PI * k / 2) / (M_PI * k / 2);

    /* Truncating the sinc to a block of 20,000 leaves 1/20,000 of it. */
    assert_true(fabs(y[k].i - 1000 * sinc) < 0.05 && fabs(y[k].q + 500 * sinc) < 0.05);
  }
  assert_int_equal(run_ideal(&(struct tlg_ideal_cfg){.up = 768, .down = 625}, x, 3, y, 64), 4);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_windows),           cmocka_unit_test(test_calibration),
      cmocka_unit_test(test_tone_between_bins), cmocka_unit_test(test_psd_arguments),
      cmocka_unit_test(test_ideal_tones),       cmocka_unit_test(test_ideal_multitone),
      cmocka_unit_test(test_ideal_edges),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
