/* SPDX-License-Identifier: Apache-2.0 */
/* The ofdm signal against the sum that defines it, its constellation, prefix, level and spectrum. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tlg_vectors.h"

#include <fftw3.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const long double two_pi = 6.283185307179586476925286766559L;
static const double amplitude = 5827.0; /* -15 dBFS, nearly */

static tlg_cs16 *samples(const struct tlg_signal_cfg *cfg, uint64_t first, size_t n)
{
  tlg_cs16 *x = calloc(n, sizeof *x);
  struct tlg_error err = {.text = ""};
  struct tlg_signal *s;

  assert_non_null(x);
  if (tlg_signal_new(&s, cfg, &err)) {
    fail_msg("%s", err.text);
  }
  assert_int_equal(tlg_signal_seek(s, first), TLG_OK);
  tlg_signal_read(s, x, n);
  tlg_signal_free(s);
  return x;
}

/* 3GPP TS 36.211, 7.1.2 to 7.1.4 and, for 256QAM, TS 36.211 of release 12, 7.1.5: written out. b[0], b[2] ... make I.
 */
static double one_axis(int bits, const int *b)
{
  switch (bits) {
  case 2:
    return (1 - 2 * b[0]) / sqrt(2);
  case 4:
    return (1 - 2 * b[0]) * (2 - (1 - 2 * b[2])) / sqrt(10);
  case 6:
    return (1 - 2 * b[0]) * (4 - (1 - 2 * b[2]) * (2 - (1 - 2 * b[4]))) / sqrt(42);
  default:
    return (1 - 2 * b[0]) * (8 - (1 - 2 * b[2]) * (4 - (1 - 2 * b[4]) * (2 - (1 - 2 * b[6])))) / sqrt(170);
  }
}

/* Point of subcarrier i of symbol l as docs/signals.md says: byte i mod 16 of the Philox block that is numbered by
 * i / 16 and the symbol, its bits from the lowest up. */
static tlg_cf64 point(int bits, uint64_t seed, uint64_t l, unsigned i)
{
  const uint32_t counter[4] = {i / 16, (uint32_t)l, (uint32_t)(l >> 32), 0x6f66646d};
  const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
  uint32_t block[4];
  tlg_cf64 p;
  int b[9], k;

  tlg_philox(counter, key, block);
  for (k = 0; k < 8; k++) {
    b[k] = block[i / 4 % 4] >> (8 * (i % 4) + (unsigned)k) & 1;
  }
  p.i = one_axis(bits, b);
  p.q = one_axis(bits, b + 1);
  return p;
}

static void points_by_the_standard(void **state)
{
  static const enum tlg_modulation modulations[] = {TLG_QPSK, TLG_16QAM, TLG_64QAM, TLG_256QAM};
  static const uint64_t symbols[] = {0, 1, 6, 7, 13999, (uint64_t)1 << 32};
  tlg_cf64 got[1200];
  size_t m, s;
  unsigned i;

  (void)state;
  for (m = 0; m < 4; m++) {
    const struct tlg_signal_cfg cfg = {.kind = TLG_SIGNAL_OFDM, .modulation = modulations[m], .seed = 0x123456789abc};
    double square = 0;

    for (s = 0; s < sizeof symbols / sizeof *symbols; s++) {
      assert_int_equal(tlg_ofdm_points(&cfg, symbols[s], got), TLG_OK);
      for (i = 0; i < 1200; i++) {
        const tlg_cf64 p = point((int)modulations[m], cfg.seed, symbols[s], i);

        assert_true(fabs(got[i].i - p.i) < 1e-15 && fabs(got[i].q - p.q) < 1e-15);
        square += (p.i * p.i + p.q * p.q) / 7200;
      }
    }
    assert_true(fabs(square - 1) < 6 * sqrt(0.4 / 7200)); /* a QAM's power varies by less than 0.4 of its square */
  }
}

static void symbol_times(void **state)
{
  uint64_t l, at = 0;

  (void)state;
  for (l = 0; l < 50; l++) {
    unsigned prefix;

    assert_int_equal(tlg_ofdm_start(l, &prefix), at);
    assert_int_equal(prefix, l % 7 ? 144 : 160);
    at += prefix + 2048;
  }
  assert_int_equal(tlg_ofdm_start(7, NULL), 15360); /* 0.5 ms */
}

/* One sample of the sum over subcarriers, symbols and windows, in long double, for any rate num/den. */
static void sum_of_lines(const struct tlg_signal_cfg *cfg, uint64_t n, double scale, long double *re, long double *im)
{
  const uint64_t num = cfg->rate.num, den = cfg->rate.den * 30720000; /* t = n * den / num, in 1/30.72 MHz */
  const int window = cfg->window == TLG_OFDM_NO_WINDOW ? 0 : (int)cfg->window;
  const uint64_t t = (uint64_t)((unsigned __int128)n * den / num);
  const int half = (int)cfg->subcarriers / 2;
  uint64_t l = t / 2208;
  unsigned prefix;
  int part;

  while (tlg_ofdm_start(l + 1, NULL) <= t) {
    l++;
  }
  while (tlg_ofdm_start(l, NULL) > t) {
    l--;
  }
  *re = *im = 0;
  for (part = 0; part < 2; part++) { /* the symbol itself, then what is left of the one before */
    const int64_t own = (int64_t)l - part;
    const int64_t start = own < 0 ? -2192 : (int64_t)tlg_ofdm_start((uint64_t)own, &prefix);
    const uint64_t begin = tlg_ofdm_start(l, NULL);
    const long double in =
        (long double)((__int128)n * den - (__int128)begin * num) / num; /* since the newer one's start */
    long double w = 1;
    int k;

    prefix = own < 0 ? 144 : prefix;
    if (window && in < window) {
      w = 0.5L - 0.5L * cosl(two_pi / 2 * in / window);
    }
    w = part ? 1 - w : w;
    if (w == 0) {
      continue;
    }
    for (k = -half; k <= half; k++) {
      /* phase k (t - useful start) / 2048, from integers */
      const __int128 d = (__int128)num * 2048;
      const __int128 since = (__int128)n * den - (__int128)(start + (int64_t)prefix) * num;
      const long double a = two_pi * (long double)(since * k % d) / (long double)d;
      tlg_cf64 p;

      if (!k) {
        continue;
      }
      p = point((int)cfg->modulation, cfg->seed, (uint64_t)own, (unsigned)(k < 0 ? k + half : k + half - 1));
      *re += w * scale * (p.i * cosl(a) - p.q * sinl(a));
      *im += w * scale * (p.i * sinl(a) + p.q * cosl(a));
    }
  }
}

static void samples_by_the_sum(void **state)
{
  static const struct tlg_rate rates[] = {{25000000, 1},  {30720000, 1},  {200000000, 7},
                                          {184320000, 7}, {125000000, 1}, {19200001, 1}};
  static const unsigned windows[] = {72, TLG_OFDM_NO_WINDOW, 144, 1};
  uint32_t word = 99;
  size_t r;

  (void)state;
  for (r = 0; r < sizeof rates / sizeof *rates; r++) {
    const struct tlg_signal_cfg cfg = {.kind = TLG_SIGNAL_OFDM,
                                       .rate = rates[r],
                                       .subcarriers = r == 5 ? 600 : 1200,
                                       .modulation = (enum tlg_modulation)(2 + 2 * (r % 4)),
                                       .window = windows[r % 4],
                                       .amplitude = amplitude,
                                       .seed = r};
    const double window = cfg.window == TLG_OFDM_NO_WINDOW ? 0 : cfg.window;
    const double scale = amplitude / sqrt(cfg.subcarriers * (1 - 0.25 * window / (15360.0 / 7)));
    const uint64_t first = r % 2 ? 0 : 10000000000;
    struct tlg_signal *s;
    int i;

    assert_int_equal(tlg_signal_new(&s, &cfg, NULL), TLG_OK);
    for (i = 0; i < 60; i++) {
      /* the first ones stand in the overlap at a symbol's start, the others anywhere in ten slots */
      const uint64_t n = first + (i < 10 ? (uint64_t)i : (word = word * 1664525u + 1013904223u) % 125000);
      long double re, im;
      tlg_cs16 x;

      assert_int_equal(tlg_signal_seek(s, n), TLG_OK);
      tlg_signal_read(s, &x, 1);
      sum_of_lines(&cfg, n, scale, &re, &im);
      if (!(fabsl(re - x.i) <= 0.500001L && fabsl(im - x.q) <= 0.500001L)) {
        fail_msg("rate %zu, sample %llu: (%d, %d) instead of (%.3Lf, %.3Lf)", r, (unsigned long long)n, x.i, x.q, re,
                 im);
      }
    }
    tlg_signal_free(s);
  }
}

/* I0(x) = 1/pi times the integral over 0..pi of exp(x cos t): the trapezoidal rule is exact to all digits. */
static double bessel(double x)
{
  double sum = 0;
  int k;

  for (k = 0; k < 200; k++) {
    sum += exp(x * cos((k + 0.5) * 3.14159265358979324 / 200)) / 200;
  }
  return sum;
}

/* The filter of docs/signals.md, written out: taps h[-half .. half] at h[0 .. 2 half]. */
static double *band_filter(unsigned subcarriers, double rate_hz, int *half)
{
  const double edge = subcarriers / 2.0 * 15e3, pass = edge + 15e3, stop = edge + fmax(edge / 9, 150e3);
  const double pi = 3.14159265358979324, beta = 0.1102 * (80 - 8.7), cutoff = (pass + stop) / 2 / rate_hz;
  double *h, sum = 0;
  int k;

  *half = (int)((80 - 7.95) / (14.36 * (stop - pass) / rate_hz) / 2) + 1;
  h = malloc((2 * (size_t)*half + 1) * sizeof *h);
  assert_non_null(h);
  for (k = -*half; k <= *half; k++) {
    const double t = k / (*half + 1.0);

    h[k + *half] = (k ? sin(2 * pi * cutoff * k) / (pi * k) : 2 * cutoff) * bessel(beta * sqrt(1 - t * t));
    sum += h[k + *half];
  }
  for (k = 0; k <= 2 * *half; k++) {
    h[k] /= sum;
  }
  return h;
}

/* Every sample is the plain convolution of the defining sum with the filter, however it is reached. */
static void band_limited_by_convolution(void **state)
{
  static const struct tlg_rate rates[] = {{1920000, 1}, {2000000, 1}, {7680000, 1}, {20000000, 7}};
  static const unsigned windows[] = {72, TLG_OFDM_NO_WINDOW, 1, 144};
  size_t r;

  (void)state;
  for (r = 0; r < 4; r++) {
    const struct tlg_signal_cfg cfg = {.kind = TLG_SIGNAL_OFDM,
                                       .rate = rates[r],
                                       .subcarriers = 72,
                                       .modulation = TLG_64QAM,
                                       .window = windows[r],
                                       .amplitude = amplitude,
                                       .band_limit = 1,
                                       .seed = r};
    const double window = cfg.window == TLG_OFDM_NO_WINDOW ? 0 : cfg.window, rate_hz = tlg_rate_hz(&cfg.rate);
    const double scale = amplitude / sqrt(72 * (1 - 0.25 * window / (15360.0 / 7)));
    const int symbol = (int)(rate_hz * 2208 / 30.72e6);
    /* the first sample of all that sees no symbol before sample 0; then from 30 symbols on */
    const uint64_t first = (uint64_t)(30 * symbol);
    struct tlg_signal *s;
    long double *re, *im;
    int half, i, k;
    double *h = band_filter(72, rate_hz, &half), largest = 0;

    re = malloc(2 * ((size_t)symbol + 2 * (size_t)half) * sizeof *re);
    assert_non_null(re);
    im = re + symbol + 2 * half;
    for (i = 0; i < symbol + 2 * half; i++) {
      sum_of_lines(&cfg, first - (uint64_t)half + (uint64_t)i, scale, re + i, im + i);
      largest = fmax(largest, fmax((double)fabsl(re[i]), (double)fabsl(im[i])));
    }
    assert_int_equal(tlg_signal_new(&s, &cfg, NULL), TLG_OK);
    for (i = 0; i < symbol; i++) {
      long double a = 0, b = 0;
      tlg_cs16 x;

      for (k = 0; k <= 2 * half; k++) {
        a += h[k] * re[i + k];
        b += h[k] * im[i + k];
      }
      if (i % 3 == 0) { /* by itself, or on from the one before */
        assert_int_equal(tlg_signal_seek(s, first + (uint64_t)i), TLG_OK);
      }
      tlg_signal_read(s, &x, 1);
      /* rounding, and where samples are left as they are, what the filter's ripple is worth (80 dB) */
      if (!(fabsl(a - x.i) <= 0.5L + 1e-4 * largest && fabsl(b - x.q) <= 0.5L + 1e-4 * largest)) {
        fail_msg("rate %zu, sample %d of %d: (%d, %d) instead of (%.3Lf, %.3Lf)", r, i, symbol, x.i, x.q, a, b);
      }
    }
    tlg_signal_free(s);
    free(re);
    free(h);
  }
}

/* The same samples in one piece, in pieces of any size, and from any number on; the first ones as after a period. */
static void band_limited_in_pieces(void **state)
{
  static const struct tlg_rate rates[] = {{25000000, 1}, {1920000, 1}, {200000000, 7}};
  size_t r;

  (void)state;
  for (r = 0; r < 3; r++) {
    const struct tlg_signal_cfg cfg = {.kind = TLG_SIGNAL_OFDM, .rate = rates[r], .repeat = 7, .band_limit = 1};
    const size_t period = (size_t)((double)rates[r].num / (double)rates[r].den * 3.5e-3 + 0.5);
    tlg_cs16 *x = samples(&cfg, 0, period + 5000), *y = malloc((period + 5000) * sizeof *y), *one;
    struct tlg_signal *s;
    uint32_t word = 3;
    size_t n = 0, piece;
    int i;

    assert_non_null(y);
    assert_memory_equal(x, x + period, 5000 * sizeof *x);
    assert_int_equal(tlg_signal_new(&s, &cfg, NULL), TLG_OK);
    for (; n < period + 5000; n += piece) {
      piece = (word = word * 1664525u + 1013904223u) >> 22;
      piece = piece < period + 5000 - n ? piece : period + 5000 - n;
      tlg_signal_read(s, y + n, piece);
    }
    tlg_signal_free(s);
    assert_memory_equal(x, y, (period + 5000) * sizeof *x);
    for (i = 0; i < 20; i++) {
      n = (word = word * 1664525u + 1013904223u) % period;
      one = samples(&cfg, n, 100);
      assert_memory_equal(one, x + n, 100 * sizeof *x);
      free(one);
    }
    free(x);
    free(y);
  }
}

static void band_limit_edges(void **state)
{
  static const unsigned subcarriers[] = {72, 180, 300, 600, 900, 1200};
  static const unsigned channels[] = {1400000, 3000000, 5000000, 10000000, 15000000, 20000000};
  struct tlg_error err = {.text = ""};
  struct tlg_signal *s;
  struct tlg_signal_cfg cfg = {.kind = TLG_SIGNAL_OFDM, .rate = {19000000, 1}, .subcarriers = 1200, .band_limit = 1};
  size_t i;

  (void)state;
  for (i = 0; i < 6; i++) {
    unsigned pass_hz, stop_hz;

    tlg_ofdm_band(subcarriers[i], &pass_hz, &stop_hz);
    assert_int_equal(pass_hz, 15000 * (subcarriers[i] / 2 + 1));
    assert_in_range(2 * stop_hz, channels[i] - 20000, channels[i]);
  }
  assert_int_equal(tlg_signal_new(&s, &cfg, &err), TLG_EINVAL);
  assert_non_null(strstr(err.text, "at least 20 Msps"));
  cfg.band_limit = 2;
  assert_int_equal(tlg_signal_defaults(&cfg, NULL), TLG_EINVAL);
}

/* At 30.72 Msps a plain transform of the useful part gives the points back, but for the rounding to integers. */
static void demodulates(void **state)
{
  static const enum tlg_modulation modulations[] = {TLG_QPSK, TLG_16QAM, TLG_64QAM, TLG_256QAM};
  fftw_complex *time = fftw_alloc_complex(2048), *lines = fftw_alloc_complex(2048);
  fftw_plan plan = fftw_plan_dft_1d(2048, time, lines, FFTW_FORWARD, FFTW_ESTIMATE);
  size_t m;

  (void)state;
  for (m = 0; m < 4; m++) {
    const struct tlg_signal_cfg cfg = {
        .kind = TLG_SIGNAL_OFDM, .rate = {30720000, 1}, .modulation = modulations[m], .amplitude = amplitude};
    const double scale = amplitude / sqrt(1200 * (1 - 0.25 * 72 / (15360.0 / 7)));
    tlg_cs16 *x = samples(&cfg, 0, 30720);
    double error = 0;
    uint64_t l;
    int k;

    for (l = 0; l < 14; l++) {
      unsigned prefix;
      const uint64_t at = tlg_ofdm_start(l, &prefix);

      for (k = 0; k < 2048; k++) {
        time[k][0] = x[at + prefix + (unsigned)k].i;
        time[k][1] = x[at + prefix + (unsigned)k].q;
      }
      fftw_execute(plan);
      for (k = -600; k <= 600; k++) {
        const double *line = lines[(k + 2048) % 2048];
        const tlg_cf64 p =
            k ? point((int)cfg.modulation, 0, l, (unsigned)(k < 0 ? k + 600 : k + 599)) : (tlg_cf64){0, 0};
        const double re = line[0] / 2048 / scale - p.i, im = line[1] / 2048 / scale - p.q;

        error += (re * re + im * im) / 14 / 1201;
      }
    }
    /* rounding adds 1/6 LSB^2 a sample, 1/6/2048 a line, to points of scale^2; its estimate scatters by under 2 % */
    assert_true(error < 1.1 / 6 / 2048 / (scale * scale));
    assert_true(error > 0.9 / 6 / 2048 / (scale * scale));
    free(x);
  }
  fftw_destroy_plan(plan);
  fftw_free(time);
  fftw_free(lines);
}

static void prefix_repeats_the_end(void **state)
{
  const struct tlg_signal_cfg cfg = {.kind = TLG_SIGNAL_OFDM, .rate = {30720000, 1}, .window = TLG_OFDM_NO_WINDOW};
  tlg_cs16 *x = samples(&cfg, 0, 15360);
  uint64_t l;

  (void)state;
  for (l = 0; l < 7; l++) {
    unsigned prefix, k;
    const uint64_t at = tlg_ofdm_start(l, &prefix);

    for (k = 0; k < prefix; k++) { /* equal values, whose last bits may fall on both sides of a tie */
      assert_in_range(x[at + k].i - x[at + k + 2048].i + 1, 0, 2);
      assert_in_range(x[at + k].q - x[at + k + 2048].q + 1, 0, 2);
    }
  }
  free(x);
}

static void level_holds(void **state)
{
  static const unsigned windows[] = {TLG_OFDM_NO_WINDOW, 72, 144};
  size_t w;

  (void)state;
  for (w = 0; w < 3; w++) {
    const struct tlg_signal_cfg cfg = {.kind = TLG_SIGNAL_OFDM, .amplitude = amplitude, .window = windows[w]};
    tlg_cs16 *x = samples(&cfg, 0, 500000);
    double power = 0;
    int k;

    for (k = 0; k < 500000; k++) {
      power += ((double)x[k].i * x[k].i + (double)x[k].q * x[k].q) / 500000;
    }
    /* 280 symbols of 1200 points: the power of 64QAM scatters by sqrt(0.38 / 336000) = 0.11 %, 0.005 dB; six of it */
    assert_true(fabs(10 * log10(power / (amplitude * amplitude))) < 0.03);
    free(x);
  }
}

/* Power density beyond a distance from the band's edge over the density inside, in dB: mean over 200 spectra under a
 * Blackman window of 5000 samples (5 kHz lines; its own side lobes fall below -100 dB there). */
static double beyond(unsigned window, unsigned band_limit, double from_hz, double to_hz)
{
  enum { N = 5000 };
  const struct tlg_signal_cfg cfg = {
      .kind = TLG_SIGNAL_OFDM, .window = window, .band_limit = band_limit, .amplitude = amplitude};
  tlg_cs16 *x = samples(&cfg, 0, 100 * N);
  fftw_complex *time = fftw_alloc_complex(N), *lines = fftw_alloc_complex(N);
  fftw_plan plan = fftw_plan_dft_1d(N, time, lines, FFTW_FORWARD, FFTW_ESTIMATE);
  double inside = 0, outside = 0;
  int n_inside = 0, n_outside = 0, b, k;

  for (b = 0; b < 200 - 1; b++) {
    for (k = 0; k < N; k++) {
      const double a = 6.283185307179586 * k / N;
      const double w = 0.355768 - 0.487396 * cos(a) + 0.144232 * cos(2 * a) - 0.012604 * cos(3 * a); /* Nuttall */

      time[k][0] = w * x[b * N / 2 + k].i;
      time[k][1] = w * x[b * N / 2 + k].q;
    }
    fftw_execute(plan);
    for (k = 0; k < N; k++) {
      const double hz = (k < N / 2 ? k : k - N) * 5000.0, p = lines[k][0] * lines[k][0] + lines[k][1] * lines[k][1];

      if (fabs(hz) < 8.9e6 && fabs(hz) > 50e3) {
        inside += p;
        n_inside++;
      } else if (fabs(hz) >= from_hz && fabs(hz) < to_hz) {
        outside += p;
        n_outside++;
      }
    }
  }
  fftw_destroy_plan(plan);
  fftw_free(time);
  fftw_free(lines);
  free(x);
  return 10 * log10(outside / n_outside / (inside / n_inside));
}

static void confined(void **state)
{
  const double plain = beyond(TLG_OFDM_NO_WINDOW, 0, 10e6, 12.5e6), windowed = beyond(72, 0, 10e6, 12.5e6);
  const double wide = beyond(144, 0, 10e6, 12.5e6),
               rounding = 10 * log10(1.0 / 6 * 18.015 / 25 / (amplitude * amplitude));
  const double limited = beyond(TLG_OFDM_NO_WINDOW, 1, 10e6, 12.5e6), both = beyond(4, 1, 10e6, 12.5e6);

  (void)state;
  print_message("10 to 12.5 MHz: no window %.1f dB, 72: %.1f dB, 144: %.1f dB; rounding alone %.1f dB\n", plain,
                windowed, wide, rounding);
  /* 1/f^2 side lobes of a hard edge: about -30 dB; two more powers each of f for the raised cosine */
  assert_true(plain > -36 && plain < -24);
  assert_true(windowed < -62);
  assert_true(wide < -72);
  assert_true(wide > rounding - 1);
  /* without a window the filter alone: 80 dB below the side lobes and the samples left unfiltered; rounding remains */
  print_message("band-limited, no window: %.1f dB; windowed over 4: %.1f dB\n", limited, both);
  assert_true(limited < -80 && limited > rounding - 1);
  assert_true(both < -80);
}

static void repeats_without_a_seam(void **state)
{
  const struct tlg_signal_cfg cfg = {.kind = TLG_SIGNAL_OFDM, .repeat = 2, .seed = 5};
  struct tlg_signal_cfg fraction = cfg;
  tlg_cs16 *x = samples(&cfg, 0, 75000), *y;
  struct tlg_signal *s;

  (void)state;
  assert_memory_equal(x, x + 25000, 50000 * sizeof *x);
  assert_int_equal(tlg_signal_new(&s, &cfg, NULL), TLG_OK);
  assert_int_equal(tlg_signal_period(s), 25000);
  tlg_signal_free(s);
  fraction.rate = (struct tlg_rate){200000000, 7}; /* a slot is 14285.7 samples: seven repeat */
  fraction.repeat = 1;
  assert_int_equal(tlg_signal_new(&s, &fraction, NULL), TLG_OK);
  assert_int_equal(tlg_signal_period(s), 0);
  tlg_signal_free(s);
  y = samples(&fraction, 0, 110000);
  assert_memory_equal(y, y + 100000, 10000 * sizeof *y);
  free(x);
  free(y);
}

static void widths(void **state)
{
  static const struct {
    uint64_t rate;
    unsigned subcarriers;
  } cases[] = {{30720000, 1200}, {25000000, 1200}, {23040000, 1200}, {19200000, 900}, {15360000, 600},
               {7680000, 300},   {3840000, 180},   {1920000, 72},    {600000, 32}};
  size_t i;

  (void)state;
  for (i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct tlg_signal_cfg cfg = {.kind = TLG_SIGNAL_OFDM, .rate = {cases[i].rate, 1}};

    assert_int_equal(tlg_signal_defaults(&cfg, NULL), TLG_OK);
    assert_int_equal(cfg.subcarriers, cases[i].subcarriers);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(points_by_the_standard),
      cmocka_unit_test(symbol_times),
      cmocka_unit_test(samples_by_the_sum),
      cmocka_unit_test(band_limited_by_convolution),
      cmocka_unit_test(band_limited_in_pieces),
      cmocka_unit_test(band_limit_edges),
      cmocka_unit_test(demodulates),
      cmocka_unit_test(prefix_repeats_the_end),
      cmocka_unit_test(level_holds),
      cmocka_unit_test(confined),
      cmocka_unit_test(repeats_without_a_seam),
      cmocka_unit_test(widths),
  };

  return cmocka_run_group_tests_name("ofdm", tests, NULL, NULL);
}
