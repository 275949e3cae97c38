/* SPDX-License-Identifier: Apache-2.0 */
/* Filter design against closed forms, an independent resampling, and the limits promised for the default. */
#include "design.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PI 3.14159265358979323846

static double db(double power)
{
  return 10.0 * log10(power);
}

static struct tlg_rate rate(const char *text)
{
  struct tlg_rate r = {0, 0};

  assert_int_equal(tlg_rate_parse(&r, text), TLG_OK);
  return r;
}

static struct tlg_design design(const char *in, const char *out, enum tlg_design_method method)
{
  struct tlg_design d;

  memset(&d, 0, sizeof d);
  d.rate_in = rate(in);
  d.rate_out = rate(out);
  d.method = method;
  return d;
}

static struct tlg_taps make(const struct tlg_design *d)
{
  struct tlg_taps t = {NULL, 0, 0, 0};
  struct tlg_error err;

  if (tlg_taps_design(&t, d, &err) != TLG_OK) {
    fail_msg("%s", err.text);
  }
  return t;
}

/* ---- closed forms ---------------------------------------------------------------------------------------- */

/* I0(x) = (1/pi) integral over [0, pi] of e^(x cos u): the trapezoid rule converges faster than any power. */
static double bessel_integral(double x)
{
  double sum = (exp(x) + exp(-x)) / 2.0;
  int i;

  for (i = 1; i < 200; i++) {
    sum += exp(x * cos(PI * i / 200.0));
  }
  return sum / 200.0;
}

static void bessel(void **state)
{
  static const struct {
    double x, value; /* Abramowitz & Stegun, table 9.8, and 20-digit tables */
  } known[] = {{0, 1},
               {1, 1.2660658777520083356},
               {2, 2.2795853023360672674},
               {5, 27.239871823604442},
               {10, 2815.7166284662544715}};
  size_t i;
  double x;

  (void)state;
  for (i = 0; i < sizeof known / sizeof *known; i++) {
    assert_true(fabs(tlg_bessel_i0(known[i].x) / known[i].value - 1.0) < 1e-15);
  }
  for (x = 0.1; x < 40.0; x += 0.7) {
    assert_true(fabs(tlg_bessel_i0(x) / bessel_integral(x) - 1.0) < 1e-13);
  }
}

static void kaiser_window(void **state)
{
  double t;

  (void)state;
  for (t = -1.0; t <= 1.0; t += 0.125) {
    assert_true(fabs(tlg_kaiser_window(t, 8.0) - bessel_integral(8.0 * sqrt(1.0 - t * t)) / bessel_integral(8.0)) <
                1e-13);
    assert_true(tlg_kaiser_window(t, 8.0) == tlg_kaiser_window(-t, 8.0));
    assert_true(tlg_kaiser_window(t, 0.0) == 1.0);
  }
  assert_true(tlg_kaiser_window(0.0, 5.0) == 1.0);
  /* Kaiser's formulae: 60 dB needs beta 5.653; 0.1102 (60 - 8.7). At 21 dB and below a rectangle. */
  assert_true(fabs(tlg_kaiser_beta(60.0) - 5.65326) < 1e-9);
  assert_true(fabs(tlg_kaiser_beta(30.0) - (0.5842 * pow(9.0, 0.4) + 0.07886 * 9.0)) < 1e-12);
  assert_true(tlg_kaiser_beta(21.0) == 0.0);
  assert_true(fabs(tlg_kaiser_attenuation(tlg_kaiser_length(80.0, 0.3), 0.3) - 80.0) < 1e-12);
}

static void kaiser_prototype(void **state)
{
  double h[9];
  int k;

  (void)state;
  /* L = 2, cutoff a quarter of the input rate: 2 fc sinc(2 fc n / 2) at n = -4..4. */
  tlg_design_kaiser(h, 9, 2, 0.25, 3.0);
  for (k = 0; k < 9; k++) {
    const double n = k - 4, x = 2.0 * 0.25 * n / 2.0;
    const double sinc = n == 0.0 ? 1.0 : sin(PI * x) / (PI * x);

    assert_true(fabs(h[k] - 0.5 * sinc * tlg_kaiser_window(n / 4.0, 3.0)) < 1e-15);
    assert_true(h[k] == h[8 - k]);
  }
  tlg_design_kaiser(h, 8, 2, 0.25, 3.0); /* even: half taps from the centre */
  for (k = 0; k < 8; k++) {
    const double n = k - 3.5, x = 2.0 * 0.25 * n / 2.0;

    assert_true(fabs(h[k] - 0.5 * sin(PI * x) / (PI * x) * tlg_kaiser_window(n / 3.5, 3.0)) < 1e-15);
    assert_true(h[k] == h[7 - k]);
  }
}

static void series(void **state)
{
  static const double c[] = {1.0, 0.5, -0.25};
  double h[8];
  size_t n, k;

  (void)state;
  for (n = 7; n <= 8; n++) {
    assert_int_equal(tlg_design_series(h, n, c, 3, NULL), TLG_OK);
    for (k = 0; k < n; k++) {
      const double t = (k - (n - 1) / 2.0) / (double)n;

      assert_true(fabs(h[k] - (1.0 + 0.5 * cos(2 * PI * t) - 0.25 * cos(4 * PI * t))) < 1e-15);
    }
  }
}

/* ---- responses by hand ------------------------------------------------------------------------------------- */

static void gains_by_hand(void **state)
{
  int16_t h[] = {4096, 8192, 4096};
  const struct tlg_taps t = {h, 3, 1, 14};
  int i;

  (void)state;
  for (i = 0; i <= 16; i++) { /* (1 + 2 e^-jw + e^-2jw) / 4: cos^2(w/2) */
    const double half = cos(PI * i / 32.0);

    assert_true(fabs(tlg_taps_gain(&t, (uint64_t)i, 32) - half * half) < 1e-15);
  }
  assert_true(tlg_taps_gain(&t, 1, 2) < 1e-15);
}

/* Linear interpolation by 2: h = 1/2, 1, 1/2. A tone at u leaves at u with cos^2(pi u / 2) and at u - 1 with the
 * sine's square; at 2/1 nothing folds into the band. */
static void images_by_hand(void **state)
{
  int16_t h[] = {8192, 16384, 8192};
  const struct tlg_taps t = {h, 3, 2, 14};
  const struct tlg_rate in = {1000000, 1}, out = {2000000, 1}, pass = {250000, 1};
  struct tlg_response r;
  double error = 0.0, images = 0.0;
  int i;

  (void)state;
  assert_int_equal(tlg_taps_response(&r, &t, &in, &out, &pass, NULL), TLG_OK);
  assert_true(fabs(r.gain_max - 1.0) < 1e-12);
  assert_true(fabs(r.gain_min - pow(cos(PI / 8), 2)) < 1e-9);
  assert_true(fabs(r.image_worst - pow(sin(PI / 8), 4)) < 1e-9);
  assert_true(fabs(r.image_from_hz - 250000) < 1 && fabs(r.image_hz + 750000) < 1);
  for (i = 0; i <= 2000; i++) { /* the integrals by a finer sum */
    const double u = 0.25 * i / 2000.0, w = i == 0 || i == 2000 ? 0.5 : 1.0, s = pow(sin(PI * u / 2), 4);

    error += w * s / 2000.0; /* 1 - cos^2 = sin^2, squared */
    images += w * s / 2000.0;
  }
  assert_true(fabs(r.error_gain / error - 1.0) < 1e-3);
  assert_true(fabs(r.image_total / images - 1.0) < 1e-3);
  assert_true(r.error_images == 0.0);
  assert_true(r.error == r.error_gain);
}

/* Holding each sample (L = 2 and 4, M = 3): images fold into the band; all of them against a plain sum. L = 67 takes
 * the long way through the transform. */
static void images_by_sums(void **state)
{
  static const struct {
    uint32_t up, down;
  } ratios[] = {{2, 3}, {4, 3}, {67, 64}};
  size_t c;

  (void)state;
  for (c = 0; c < 3; c++) {
    const uint32_t up = ratios[c].up, down = ratios[c].down;
    const double pass = up < down ? 0.25 : 0.375, out = (double)up / down;
    const struct tlg_rate in = {up < down ? 24000 : down * 8, up < down ? 1 : 1};
    struct tlg_rate rate_out, edge;
    int16_t h[67];
    struct tlg_taps t = {h, up, up, 14};
    struct tlg_response r;
    double total = 0.0, inside = 0.0, worst = 0.0, gain = 0.0;
    int i;
    uint32_t k, n;

    for (n = 0; n < up; n++) {
      h[n] = 16384;
    }
    assert_int_equal(tlg_rate_make(&rate_out, in.num * up, in.den * down), TLG_OK);
    assert_int_equal(tlg_rate_make(&edge, (uint64_t)(in.num * pass), 1), TLG_OK);
    assert_int_equal(tlg_taps_response(&r, &t, &in, &rate_out, &edge, NULL), TLG_OK);
    for (i = 0; i <= 120; i++) {
      const double u = pass * i / 120.0, w = (i == 0 || i == 120 ? 0.5 : 1.0) / 120.0;

      for (k = 0; k < up; k++) {
        const double g = u + k, x = g - (k > up / 2 ? up : 0);
        double re = 0.0, im = 0.0, p, fold;

        for (n = 0; n < up; n++) { /* the definition: sum of h e^(-j2pi g n / L), delay taken out */
          re += cos(2 * PI * g * (n - (up - 1) / 2.0) / up) / up;
          im -= sin(2 * PI * g * (n - (up - 1) / 2.0) / up) / up;
        }
        p = re * re + im * im;
        if (k == 0) {
          gain += w * ((re - 1.0) * (re - 1.0) + im * im);
          continue;
        }
        total += w * p;
        worst = p > worst ? p : worst;
        fold = x - out * floor(x / out + 0.5);
        inside += fabs(fold) <= pass + 1e-8 ? w * p : 0.0;
      }
    }
    assert_true(fabs(r.image_total / total - 1.0) < 1e-6);
    assert_true(fabs(r.image_worst / worst - 1.0) < 1e-6);
    assert_true(fabs(r.error_gain / gain - 1.0) < 1e-6);
    assert_true(fabs(r.error_images / inside - 1.0) < 1e-6);
  }
}

static void response_refusals(void **state)
{
  int16_t h[] = {8192, 16384, 8192};
  const struct tlg_taps t = {h, 3, 2, 14};
  const struct tlg_rate in = {1000000, 1}, out = {2000000, 1}, other = {3000000, 1}, pass = {250000, 1},
                        wide = {500000, 1};
  struct tlg_response r;
  struct tlg_error err;

  (void)state;
  assert_int_equal(tlg_taps_response(&r, &t, &in, &out, &wide, &err), TLG_EINVAL);
  assert_int_equal(tlg_taps_response(&r, &t, &in, &other, &pass, &err), TLG_EINVAL);
  assert_non_null(strstr(err.text, "L = 2"));
  assert_int_equal(tlg_taps_response(&r, NULL, &in, &out, &pass, &err), TLG_EINVAL);
}

/* ---- quantisation ------------------------------------------------------------------------------------------ */

static void check_phases(const struct tlg_taps *t)
{
  struct tlg_phases p;

  tlg_taps_phases(t, &p);
  assert_int_equal(p.sum_min, (int64_t)1 << t->shift);
  assert_int_equal(p.sum_max, (int64_t)1 << t->shift);
  assert_int_equal(tlg_taps_check(t, NULL), TLG_OK);
}

/* Phases that are their own mirror, of even and odd length, and mirrored pairs: sums exact, symmetry kept, and no tap a
 * whole unit off when rounded to the nearest (the middle of a mirrored phase may take one more). */
static void quantised_sums(void **state)
{
  static const struct {
    size_t n;
    uint32_t up;
  } cases[] = {{7, 1},  {8, 1},  {9, 2},  {10, 2}, {15, 2},  {16, 2}, {35, 3},
               {36, 3}, {37, 4}, {64, 4}, {81, 5}, {100, 7}, {101, 7}};
  size_t c, k;

  (void)state;
  for (c = 0; c < sizeof cases / sizeof *cases; c++) {
    const size_t n = cases[c].n;
    const uint32_t up = cases[c].up;
    double *h = malloc(n * sizeof *h);
    unsigned shift;

    for (shift = 1; shift <= 14; shift++) {
      struct tlg_taps t;

      tlg_design_kaiser(h, n, up, 0.37, 5.0);
      assert_int_equal(tlg_design_normalise(h, n, up, NULL), TLG_OK);
      for (k = 0; k < n; k++) {
        assert_true(h[k] == h[n - 1 - k]);
      }
      assert_int_equal(tlg_design_quantise(&t, h, n, up, shift, 0.0, NULL), TLG_OK);
      check_phases(&t);
      assert_true(tlg_taps_symmetric(&t));
      for (k = 0; k < n; k++) {
        assert_true(fabs(t.h[k] - h[k] * (1 << shift)) < 2.0);
      }
      tlg_taps_free(&t);
      assert_int_equal(tlg_design_quantise(&t, h, n, up, shift, 0.36, NULL), TLG_OK);
      check_phases(&t);
      assert_true(tlg_taps_symmetric(&t));
      tlg_taps_free(&t);
      h[0] *= 1.5; /* not symmetric: sums stay exact */
      h[n / 3] += 0.01;
      assert_int_equal(tlg_design_normalise(h, n, up, NULL), TLG_OK);
      assert_int_equal(tlg_design_quantise(&t, h, n, up, shift, 0.36, NULL), TLG_OK);
      check_phases(&t);
      tlg_taps_free(&t);
    }
    free(h);
  }
}

static void quantise_refusals(void **state)
{
  const double peak[] = {0.1, 2.5, -1.6}, fine[] = {0.5, 0.5};
  double zero[] = {1.0, -1.0};
  struct tlg_taps t = {NULL, 77, 0, 0};
  struct tlg_error err;

  (void)state;
  assert_int_equal(tlg_design_quantise(&t, peak, 3, 1, 14, 0.0, &err), TLG_ETAPS);
  assert_non_null(strstr(err.text, "tap 1 (phase 0)"));
  assert_int_equal(tlg_design_quantise(&t, peak, 3, 1, 13, 0.0, &err), TLG_OK);
  tlg_taps_free(&t);
  t.n = 77;
  assert_int_equal(tlg_design_quantise(&t, fine, 2, 3, 14, 0.0, &err), TLG_EINVAL);
  assert_int_equal(tlg_design_normalise(zero, 2, 1, &err), TLG_ETAPS);
  assert_int_equal(t.n, 77);
}

/* Power that rounding errors add to a signal filling +-band, by the definition: the mean over the phases of the errors'
 * spectrum over the band. */
static double rounding_power(const struct tlg_taps *t, const double *h, double band)
{
  double sum = 0.0;
  size_t k;
  uint32_t p;
  int i;

  for (p = 0; p < t->up; p++) {
    for (i = 0; i < 64; i++) {
      const double u = band * (i + 0.5) / 64.0;
      double re = 0.0, im = 0.0;
      int tap = 0;

      for (k = p; k < t->n; k += t->up, tap++) {
        const double e = t->h[k] / (double)(1 << t->shift) - h[k];

        re += e * cos(2 * PI * u * tap);
        im += e * sin(2 * PI * u * tap);
      }
      sum += (re * re + im * im) / 64.0;
    }
  }
  return sum / t->up;
}

static void shaped_rounding(void **state)
{
  struct tlg_design d = design("25M", "30.72M", TLG_DESIGN_KAISER);
  struct tlg_taps nearest, shaped;
  double *h, gain;
  size_t n;

  (void)state;
  assert_int_equal(tlg_design_prototype(&h, &n, &d, NULL), TLG_OK);
  assert_int_equal(tlg_design_quantise(&nearest, h, n, 768, 14, 0.0, NULL), TLG_OK);
  assert_int_equal(tlg_design_quantise(&shaped, h, n, 768, 14, 0.3603, NULL), TLG_OK);
  gain = db(rounding_power(&nearest, h, 0.3603) / rounding_power(&shaped, h, 0.3603));
  assert_true(gain > 2.5 && gain < 6.0);
  /* Rounding to the nearest costs what theory says: 16 errors of variance 1/12, in units of 2^-14. */
  assert_true(fabs(db(rounding_power(&nearest, h, 0.5)) - db(16.0 / 12.0 / 268435456.0)) < 0.5);
  free(h);
  tlg_taps_free(&nearest);
  tlg_taps_free(&shaped);
}

/* ---- the default's promises ------------------------------------------------------------------------------- */

static int meets_mask(const struct tlg_taps *t, const char *in, const char *out, double image_db)
{
  const struct tlg_rate a = rate(in), b = rate(out), pass = rate("9.0075M");
  struct tlg_response r;

  assert_int_equal(tlg_taps_response(&r, t, &a, &b, &pass, NULL), TLG_OK);
  return db(1.0 / r.error) >= 75.0 && db(r.image_worst) <= image_db && 2.0 * db(r.gain_max / r.gain_min) <= 0.006;
}

static void default_meets_its_mask(void **state)
{
  const struct tlg_rate low = rate("25M"), high = rate("30.72M");
  struct tlg_taps t;

  (void)state;
  assert_int_equal(tlg_taps_default(&t, &low, &high, NULL), TLG_OK);
  assert_true(meets_mask(&t, "25M", "30.72M", -70.0));
  /* Negative controls: one wrong tap, two swapped phases, linear interpolation. */
  t.h[6143] += 400;
  assert_false(meets_mask(&t, "25M", "30.72M", -70.0));
  t.h[6143] -= 400;
  {
    size_t k;

    for (k = 0; k + 768 < t.n; k += 768) {
      const int16_t swap = t.h[k + 100];

      t.h[k + 100] = t.h[k + 500];
      t.h[k + 500] = swap;
    }
    assert_false(meets_mask(&t, "25M", "30.72M", -70.0));
    memset(t.h, 0, t.n * sizeof *t.h);
    for (k = 0; k < 768; k++) {
      t.h[k] = (int16_t)(16384 * k / 768);
      t.h[1536 - k] = t.h[k];
    }
    t.h[768] = 16384;
    t.n = 1537;
    assert_false(meets_mask(&t, "25M", "30.72M", -70.0));
  }
  tlg_taps_free(&t);
  assert_int_equal(tlg_taps_default(&t, &high, &low, NULL), TLG_OK);
  assert_true(meets_mask(&t, "30.72M", "25M", -80.0));
  tlg_taps_free(&t);
}

/* The signal to error of an actual resampling: 451 tones of random phase on the 40 kHz raster fill the band, 625 inputs
 * are one period, and so are 768 outputs. Inputs are int16, the filter runs as the plain sum of the definition with its
 * rounding, and the wanted output is the input's own spectrum. */
static double measured_error_db(const struct tlg_taps *t)
{
  enum { M = 625, L = 768, EDGE = 225 };
  static double x[M][2], y[L][2], spectrum[2 * EDGE + 1][2];
  double top = 0.0, signal = 0.0, error = 0.0;
  int k, n, m;

  for (n = 0; n < M; n++) {
    x[n][0] = x[n][1] = 0.0;
    for (k = -EDGE; k <= EDGE; k++) {
      const double phase = 2 * PI * ((double)(k * k * 173 % 997) / 997.0); /* any spread of phases will do */

      x[n][0] += cos(2 * PI * k * n / M + phase);
      x[n][1] += sin(2 * PI * k * n / M + phase);
    }
    top = fabs(x[n][0]) > top ? fabs(x[n][0]) : top;
    top = fabs(x[n][1]) > top ? fabs(x[n][1]) : top;
  }
  for (n = 0; n < M; n++) { /* 0.9 of full scale, so that no output saturates */
    x[n][0] = floor(x[n][0] / top * 29490.0 + 0.5);
    x[n][1] = floor(x[n][1] / top * 29490.0 + 0.5);
  }
  for (m = 0; m < L; m++) { /* aligned: q = m M + (N - 1) / 2 */
    const long q = (long)m * M + (long)(t->n - 1) / 2, i = q / L;
    int64_t acc[2] = {0, 0};

    for (k = 0; q % L + (long)k * L < (long)t->n; k++) {
      const int at = (int)(((i - k) % M + M) % M);

      acc[0] += t->h[q % L + (long)k * L] * (int64_t)x[at][0];
      acc[1] += t->h[q % L + (long)k * L] * (int64_t)x[at][1];
    }
    y[m][0] = (double)((acc[0] + (1 << (t->shift - 1))) >> t->shift);
    y[m][1] = (double)((acc[1] + (1 << (t->shift - 1))) >> t->shift);
  }
  for (k = -EDGE; k <= EDGE; k++) {
    double re = 0.0, im = 0.0, *s = spectrum[k + EDGE];

    s[0] = s[1] = 0.0;
    for (n = 0; n < M; n++) {
      const double c = cos(2 * PI * k * n / M), d = -sin(2 * PI * k * n / M);

      s[0] += (x[n][0] * c - x[n][1] * d) / M;
      s[1] += (x[n][0] * d + x[n][1] * c) / M;
    }
    for (m = 0; m < L; m++) {
      const double c = cos(2 * PI * k * m / L), d = -sin(2 * PI * k * m / L);

      re += (y[m][0] * c - y[m][1] * d) / L;
      im += (y[m][0] * d + y[m][1] * c) / L;
    }
    signal += s[0] * s[0] + s[1] * s[1];
    error += (re - s[0]) * (re - s[0]) + (im - s[1]) * (im - s[1]);
  }
  return db(signal / error);
}

static void measured_error(void **state)
{
  const struct tlg_rate in = rate("25M"), out = rate("30.72M"), pass = rate("9.0075M");
  struct tlg_design d = design("25M", "30.72M", TLG_DESIGN_KAISER);
  struct tlg_taps t;
  struct tlg_response r;
  double measured;

  (void)state;
  assert_int_equal(tlg_taps_default(&t, &in, &out, NULL), TLG_OK);
  assert_int_equal(tlg_taps_response(&r, &t, &in, &out, &pass, NULL), TLG_OK);
  measured = measured_error_db(&t);
  assert_true(measured >= 75.0);
  assert_true(fabs(measured - db(1.0 / r.error)) < 1.0); /* response.c tells the truth */
  t.h[6143] += 200;
  t.h[6143 + 768] -= 200;
  assert_true(measured_error_db(&t) < measured - 1.0);
  tlg_taps_free(&t);
  d.taps_per_phase = 8; /* and over a wide range */
  t = make(&d);
  assert_int_equal(tlg_taps_response(&r, &t, &in, &out, &pass, NULL), TLG_OK);
  assert_true(fabs(measured_error_db(&t) - db(1.0 / r.error)) < 1.0);
  tlg_taps_free(&t);
}

/* The design's choice between a low error in the band and few images: nothing else in the families beats it on the sum
 * of both while it keeps the same limits. */
static void default_is_the_best_of_its_kind(void **state)
{
  static const double weights[] = {0.1, 0.3, 1.0, 3.0, 10.0};
  const struct tlg_rate in = rate("25M"), out = rate("30.72M"), pass = rate("9.0075M");
  struct tlg_taps t;
  struct tlg_response r;
  double best;
  size_t i;
  int method;

  (void)state;
  assert_int_equal(tlg_taps_default(&t, &in, &out, NULL), TLG_OK);
  assert_int_equal(tlg_taps_response(&r, &t, &in, &out, &pass, NULL), TLG_OK);
  best = r.error + r.image_total;
  tlg_taps_free(&t);
  for (method = TLG_DESIGN_KAISER; method <= TLG_DESIGN_LEAST_SQUARES; method++) {
    for (i = 0; i < (method == TLG_DESIGN_KAISER ? 1 : 5); i++) {
      struct tlg_design d = design("25M", "30.72M", (enum tlg_design_method)method);

      d.stop_weight = method == TLG_DESIGN_KAISER ? 0.0 : weights[i];
      t = make(&d);
      if (meets_mask(&t, "25M", "30.72M", -70.0)) {
        assert_int_equal(tlg_taps_response(&r, &t, &in, &out, &pass, NULL), TLG_OK);
        assert_true(r.error + r.image_total >= best);
      }
      tlg_taps_free(&t);
    }
  }
}

/* ---- methods ------------------------------------------------------------------------------------------------- */

/* The optimum's mark: in an equiripple design the stop band's peaks are equal in height (up to the first multiple of
 * the input rate), and weighting it by 10 brings it down. */
static void equiripple(void **state)
{
  struct tlg_design d = design("25M", "30.72M", TLG_DESIGN_EQUIRIPPLE);
  double *h, peak[2] = {0.0, 0.0}, low = 1e9;
  size_t n;
  int w, i;

  (void)state;
  for (w = 0; w < 2; w++) {
    double last = 0.0, before = 0.0, high = 0.0;

    d.stop_weight = w ? 10.0 : 1.0;
    assert_int_equal(tlg_design_prototype(&h, &n, &d, NULL), TLG_OK);
    low = 1e9;
    for (i = 0; i <= 165; i++) { /* 15.9925 to 24.25 MHz: short of the zero at 25 */
      const double f = (15.9925 + 9.0075 * i / 180.0) / 25.0;
      double sum = 0.0;
      size_t k;

      for (k = 0; k < n; k++) {
        sum += h[k] / 768.0 * cos(2 * PI * f * ((double)k - (double)(n - 1) / 2.0) / 768.0);
      }
      sum = fabs(sum);
      if (i >= 2 && last >= before && last > sum) {
        low = last < low ? last : low;
        high = last > high ? last : high;
      }
      before = last;
      last = sum;
    }
    assert_true(high / low < 1.06); /* a grid of 50 kHz misses the peaks by less */
    peak[w] = high;
    free(h);
  }
  assert_true(2.0 * db(peak[0]) < -75.5 && 2.0 * db(peak[0]) > -77.5);
  assert_true(2.0 * db(peak[1] / peak[0]) < -7.0);
}

/* Least squares: stepping away from it in weight makes the plain sum of squares worse; limits are kept. */
static void least_squares(void **state)
{
  struct tlg_design d = design("25M", "30.72M", TLG_DESIGN_LEAST_SQUARES);
  struct tlg_response r[3];
  double *h;
  size_t n;
  int w;

  (void)state;
  for (w = 0; w < 3; w++) {
    d.stop_weight = w == 0 ? 0.2 : w == 1 ? 1.0 : 5.0;
    assert_int_equal(tlg_design_prototype(&h, &n, &d, NULL), TLG_OK);
    assert_int_equal(tlg_response_of(&r[w], h, n, 768, 1.0, 768.0 / 625.0, 0.3603, 120, 0, NULL), TLG_OK);
    free(h);
  }
  assert_true(r[0].error_gain < r[1].error_gain && r[1].error_gain < r[2].error_gain);
  assert_true(r[0].image_total > r[1].image_total && r[1].image_total > r[2].image_total);
  for (w = 0; w < 3; w += 2) { /* what weight 1 minimises: gain error + images + images that fold in */
    assert_true(r[1].error + r[1].image_total <= r[w].error + r[w].image_total);
  }
  d.stop_weight = 1.0;
  d.image_limit_db = -74.0;
  d.ripple_limit_db = 0.003;
  assert_int_equal(tlg_design_prototype(&h, &n, &d, NULL), TLG_OK);
  assert_int_equal(tlg_response_of(&r[0], h, n, 768, 1.0, 768.0 / 625.0, 0.3603, 120, 0, NULL), TLG_OK);
  free(h);
  assert_true(db(r[1].image_worst) > -70.0); /* without the limit */
  assert_true(db(r[0].image_worst) < -73.8);
  assert_true(2.0 * db(r[0].gain_max) < 0.0032 && 2.0 * db(r[0].gain_min) > -0.0032);
}

/* Every ratio that users bring: sums exact, symmetric, odd, 80 dB where integers allow it, least T. */
static void other_ratios(void **state)
{
  static const struct {
    const char *in, *out;
    uint32_t up, down;
  } ratios[] = {
      {"19.2M", "30.72M", 8, 5},
      {"19.2M", "25M", 125, 96},
      {"25M", "23.04M", 576, 625},
      {"25M", "15.36M", 384, 625},
      {"25M", "11.52M", 288, 625},
      {"25M", "7.68M", 192, 625},
      {"25M", "5.76M", 144, 625},
      {"25M", "3.84M", 96, 625},
      {"25M", "1.92M", 48, 625},
      {"184320000/7", "30.72M", 7, 6},
      {"24.576M", "30.72M", 5, 4},
      {"200M/7", "30.72M", 672, 625},
      {"125M", "122.88M", 3072, 3125},
      {"65534", "65535", 65535, 65534},
      {"25M", "50M", 2, 1},
      {"50M", "25M", 1, 2},
      {"1", "3", 3, 1},
      {"65521", "65519", 65519, 65521},
  };
  size_t i;

  (void)state;
  for (i = 0; i < sizeof ratios / sizeof *ratios; i++) {
    struct tlg_design d = design(ratios[i].in, ratios[i].out, TLG_DESIGN_KAISER), full;
    struct tlg_taps t = make(&d);
    struct design_plan p = {.up = t.up, .down = ratios[i].down, .n = t.n};
    double *h, beta, worst;
    size_t n;

    assert_int_equal(t.up, ratios[i].up);
    assert_int_equal(t.n % 2, 1);
    assert_true(tlg_taps_symmetric(&t));
    check_phases(&t);
    full = d;
    assert_int_equal(tlg_design_complete(&full, NULL), TLG_OK);
    assert_int_equal(full.n_taps, t.n);
    p.pass = tlg_rate_hz(&full.pass_hz) / tlg_rate_hz(&full.rate_in);
    p.stop = tlg_rate_hz(&full.stop_hz) / tlg_rate_hz(&full.rate_in);
    assert_true(fabs(p.pass + p.stop - (t.up < p.down ? (double)t.up / p.down : 1.0)) < 1e-9);
    assert_int_equal(tlg_design_choose_beta(&p, &beta, &worst, NULL), TLG_OK);
    assert_true(2.0 * db(worst) <= -80.0);
    if (t.n > 2 * (size_t)t.up + 2) { /* one less is not enough */
      p.n -= t.up;
      p.n -= p.n % 2 ? 0 : 1;
      assert_int_equal(tlg_design_choose_beta(&p, &beta, &worst, NULL), TLG_OK);
      assert_true(2.0 * db(worst) > -80.0);
    }
    if (t.n < 30000) { /* the integers keep what was designed, also with hundreds of taps a phase */
      struct tlg_response r;

      assert_int_equal(tlg_taps_response(&r, &t, &full.rate_in, &full.rate_out, &full.pass_hz, NULL), TLG_OK);
      assert_true(db(1.0 / r.error) >= 80.0);
    }
    if (t.n < 20000) { /* the edge itself, by the definition */
      double sum = 0.0;
      size_t k;

      assert_int_equal(tlg_design_prototype(&h, &n, &d, NULL), TLG_OK);
      for (k = 0; k < n; k++) {
        sum += h[k] / t.up * cos(2 * PI * p.stop * ((double)k - (double)(n - 1) / 2.0) / t.up);
      }
      assert_true(2.0 * db(fabs(sum)) < -79.0);
      free(h);
    }
    tlg_taps_free(&t);
  }
}

static void exact_lengths(void **state)
{
  static const size_t lengths[] = {10000, 9983, 10001, 9984, 768, 769};
  size_t i;
  int method;

  (void)state;
  for (i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    for (method = TLG_DESIGN_KAISER; method <= TLG_DESIGN_LEAST_SQUARES; method++) {
      struct tlg_design d = design("25M", "30.72M", (enum tlg_design_method)method);
      struct tlg_taps t;

      if (lengths[i] < 9000 && method != TLG_DESIGN_KAISER) {
        continue;
      }
      d.n_taps = lengths[i];
      t = make(&d);
      assert_int_equal(t.n, lengths[i]);
      assert_true(tlg_taps_symmetric(&t));
      check_phases(&t);
      tlg_taps_free(&t);
    }
  }
}

static void shifts(void **state)
{
  struct tlg_design d = design("25M", "30.72M", TLG_DESIGN_KAISER);
  struct tlg_taps t;
  struct tlg_error err;
  unsigned s;

  (void)state;
  for (s = 2; s <= 14; s += 4) {
    d.shift = s;
    t = make(&d);
    assert_int_equal(t.shift, s);
    check_phases(&t);
    tlg_taps_free(&t);
  }
  d.shift = 15; /* a phase near the centre has a tap of almost 2^15: it fits or is refused, and never wraps */
  if (tlg_taps_design(&t, &d, &err) == TLG_OK) {
    check_phases(&t);
    tlg_taps_free(&t);
  } else {
    assert_int_equal(err.status, TLG_ETAPS);
    assert_non_null(strstr(err.text, "phase"));
  }
  d = design("25M", "25M", TLG_DESIGN_KAISER);
  t = make(&d);
  assert_int_equal(t.n, 1);
  assert_int_equal(t.h[0], 16384);
  tlg_taps_free(&t);
  d.shift = 15;
  assert_int_equal(tlg_taps_design(&t, &d, &err), TLG_ETAPS);
}

static void impossible(void **state)
{
  struct tlg_design d;
  struct tlg_taps t = {NULL, 77, 0, 0};
  struct tlg_error err;

  (void)state;
#define REFUSED(change, word)                                                                                          \
  d = design("25M", "30.72M", TLG_DESIGN_KAISER);                                                                      \
  change;                                                                                                              \
  assert_int_equal(tlg_taps_design(&t, &d, &err), TLG_EINVAL);                                                         \
  assert_non_null(strstr(err.text, word));                                                                             \
  assert_int_equal(t.n, 77)
  REFUSED(d.pass_hz = rate("12.5M"), "half of the smaller rate");
  REFUSED(d.stop_hz = rate("9M"), "before the stop band");
  REFUSED(d.shift = 16, "shift");
  REFUSED(d.n_taps = 767, "at least L = 768");
  REFUSED(d.n_taps = (size_t)1 << 40, "too many");
  REFUSED(d.taps_per_phase = 5000, "more than 4096");
  REFUSED(d.stop_weight = -1.0, "weight");
  REFUSED(d.stop_weight = NAN, "weight");
  REFUSED(d.kaiser_beta = NAN, "beta");
  REFUSED(d.image_limit_db = 3.0, "limit");
  REFUSED(d.method = (enum tlg_design_method)9, "method");
  REFUSED(d.rate_out = rate("25000001"), "65535");
  REFUSED(d.rate_out = ((struct tlg_rate){0, 0}), "65535");
  REFUSED((d = design("65535", "1", TLG_DESIGN_KAISER)), "taps a phase");
  REFUSED((d.pass_hz = rate("12499999")), "taps a phase");
#undef REFUSED
  assert_int_equal(tlg_taps_design(NULL, &d, NULL), TLG_EINVAL);
  assert_int_equal(tlg_design_complete(NULL, NULL), TLG_EINVAL);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bessel),           cmocka_unit_test(kaiser_window),
      cmocka_unit_test(kaiser_prototype), cmocka_unit_test(series),
      cmocka_unit_test(gains_by_hand),    cmocka_unit_test(images_by_hand),
      cmocka_unit_test(images_by_sums),   cmocka_unit_test(response_refusals),
      cmocka_unit_test(quantised_sums),   cmocka_unit_test(quantise_refusals),
      cmocka_unit_test(shaped_rounding),  cmocka_unit_test(default_meets_its_mask),
      cmocka_unit_test(measured_error),   cmocka_unit_test(default_is_the_best_of_its_kind),
      cmocka_unit_test(equiripple),       cmocka_unit_test(least_squares),
      cmocka_unit_test(other_ratios),     cmocka_unit_test(exact_lengths),
      cmocka_unit_test(shifts),           cmocka_unit_test(impossible),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
