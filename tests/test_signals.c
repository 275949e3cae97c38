/* SPDX-License-Identifier: Apache-2.0 */
/* Test signals against their formulae in long double arithmetic, their levels, and any cut of the stream. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "signal_hashes.h"
#include "tlg_vectors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const long double two_pi = 6.283185307179586476925286766559L;

/* Samples first .. first + n, from a signal made for it. */
static tlg_cs16 *samples(const struct tlg_signal_cfg *cfg, uint64_t first, size_t n, uint64_t *clipped)
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
  if (clipped) {
    *clipped = tlg_signal_clipped(s);
  }
  tlg_signal_free(s);
  return x;
}

/* What must come out of a value of this size: the nearest integer, 1e-6 granted for double arithmetic at a tie. */
static void is_rounded(long double x, int16_t got)
{
  x = x > 32767 ? 32767 : x < -32768 ? -32768 : x;
  if (!(fabsl(x - got) <= 0.500001L)) {
    fail_msg("%.6Lf was rounded to %d", x, got);
  }
}

static long double mean_power(const tlg_cs16 *x, size_t n)
{
  long double sum = 0;
  size_t k;

  for (k = 0; k < n; k++) {
    sum += (long double)x[k].i * x[k].i + (long double)x[k].q * x[k].q;
  }
  return sum / (long double)n;
}

static void tone_formula(void **state)
{
  static const struct {
    struct tlg_frequency freq;
    struct tlg_rate rate;
    double amplitude;
    uint64_t first;
  } cases[] = {
      {{1000000, 1}, {25000000, 1}, 16000.0, 0},
      {{-9007500, 1}, {25000000, 1}, 32767.0, 12345},
      {{0, 1}, {25000000, 1}, 1234.5, 7},
      {{12500000, 1}, {25000000, 1}, 20000.0, 0},
      {{300500, 1}, {184320000, 7}, 30000.0, 99999999},         /* period of 368640 samples */
      {{1, 3}, {25000000, 1}, 30000.0, (uint64_t)1 << 31},      /* 75 million samples */
      {{1234567891, 1000}, {30719999, 1}, 30000.0, 4294967290}, /* 3 * 10^10 samples: the product of two tables */
      {{-999999999989, 1000000}, {30719999, 1}, 30000.0, 9007199254740991 / 64}, /* and beyond the tables */
      {{1000000, 1}, {25000000, 1}, 60000.0, 0},                                 /* clips */
  };
  size_t t, k;

  (void)state;
  for (t = 0; t < sizeof cases / sizeof *cases; t++) {
    const struct tlg_signal_cfg cfg = {
        .kind = TLG_SIGNAL_TONE, .freq = cases[t].freq, .rate = cases[t].rate, .amplitude = cases[t].amplitude};
    /* phase = n * f / rate, in integers: n * num mod den */
    const unsigned __int128 den = (unsigned __int128)cfg.freq.den * cfg.rate.num;
    const __int128 num = (__int128)cfg.freq.num * (__int128)cfg.rate.den;
    uint64_t clipped, expected = 0;
    tlg_cs16 *x = samples(&cfg, cases[t].first, 3000, &clipped);

    for (k = 0; k < 3000; k++) {
      const __int128 turn = (__int128)(cases[t].first + k) % (__int128)den * num % (__int128)den;
      const long double a = two_pi * (long double)turn / (long double)den;

      is_rounded(cfg.amplitude * cosl(a), x[k].i);
      is_rounded(cfg.amplitude * sinl(a), x[k].q);
      expected += fabsl(cfg.amplitude * cosl(a)) >= 32768;
      expected += fabsl(cfg.amplitude * sinl(a)) >= 32768;
    }
    assert_int_equal(clipped, expected);
    free(x);
  }
}

static void tone_level_and_period(void **state)
{
  int line;

  (void)state;
  for (line = -12; line <= 12; line++) { /* the 40 kHz raster repeats in 625 samples */
    const struct tlg_signal_cfg cfg = {
        .kind = TLG_SIGNAL_TONE, .freq = {line * 40000, 1}, .amplitude = 32768.0 * tlg_amplitude(-15.0)};
    tlg_cs16 *x = samples(&cfg, 0, 1250, NULL);
    struct tlg_signal *s;

    assert_memory_equal(x, x + 625, 625 * sizeof *x);
    /* rounding adds at most 1/6 LSB^2 of 3.4e7 and shifts a short-period mean by at most half an LSB of 5827 */
    assert_true(fabsl(10 * log10l(mean_power(x, 625) / 1073741824) + 15) < 0.001);
    assert_int_equal(tlg_signal_new(&s, &cfg, NULL), TLG_OK);
    assert_int_equal(625 % tlg_signal_period(s), 0);
    tlg_signal_free(s);
    free(x);
  }
}

/* The 61 measuring tones: each on its line with its share of the power, nothing else above the rounding noise. */
static void tones_lines(void **state)
{
  enum { PERIOD = 50000 };
  const struct tlg_signal_cfg cfg = {.kind = TLG_SIGNAL_TONES};
  tlg_cs16 *x = samples(&cfg, 0, 2 * PERIOD, NULL);
  const double size = 32768.0 * pow(10, -12.0 / 20) / sqrt(61);
  double *c = malloc(PERIOD * sizeof *c), peak = 0;
  long double power;
  int k, n;

  (void)state;
  assert_memory_equal(x, x + PERIOD, PERIOD * sizeof *x);
  power = mean_power(x, PERIOD);
  assert_true(fabsl(10 * log10l(power / 1073741824) + 12) < 0.001);
  for (n = 0; n < PERIOD; n++) {
    c[n] = cos(6.283185307179586 * n / PERIOD);
    peak = fmax(peak, hypot(x[n].i, x[n].q));
  }
  assert_true(20 * log10(peak / sqrt((double)power)) < 3.5); /* Newman's phases; equal ones would give 17.9 dB */
  for (k = -32; k <= 32; k++) {
    const int bin = ((601 * k) % PERIOD + PERIOD) % PERIOD;
    double re = 0, im = 0;

    for (n = 0; n < PERIOD; n++) {
      const int p = (int)((int64_t)bin * n % PERIOD);
      const double co = c[p], si = c[(p + PERIOD - PERIOD / 4) % PERIOD];

      re += x[n].i * co + x[n].q * si;
      im += x[n].q * co - x[n].i * si;
    }
    /* rounding noise on one line: sqrt(1/6 / PERIOD) LSB; six deviations */
    assert_true(fabs(hypot(re, im) / PERIOD - (abs(k) <= 30 ? size : 0)) < 6 * sqrt(1.0 / 6 / PERIOD));
  }
  free(c);
  free(x);
}

static void tones_even_count(void **state)
{
  const struct tlg_signal_cfg cfg = {
      .kind = TLG_SIGNAL_TONES, .n_tones = 2, .spacing = {1000000, 1}, .freq = {250000, 1}, .amplitude = 20000};
  tlg_cs16 *x = samples(&cfg, 777, 1000, NULL);
  size_t k;

  (void)state;
  for (k = 0; k < 1000; k++) { /* -250 kHz with phase 0 and 750 kHz with phase 1/4 */
    const long double a = -two_pi * (long double)(777 + k) / 100,
                      b = two_pi * ((long double)(777 + k) * 3 / 100 + 0.25L);

    is_rounded(20000 / sqrtl(2) * (cosl(a) + cosl(b)), x[k].i);
    is_rounded(20000 / sqrtl(2) * (sinl(a) + sinl(b)), x[k].q);
  }
  free(x);
}

static void chirp_formula(void **state)
{
  static const uint64_t firsts[] = {0, 248500, 249000, 123456789012};
  const struct tlg_signal_cfg cfg = {.kind = TLG_SIGNAL_CHIRP, .amplitude = 20000};
  const uint64_t sweep = 250000;
  size_t t, k;

  (void)state;
  for (t = 0; t < sizeof firsts / sizeof *firsts; t++) {
    tlg_cs16 *x = samples(&cfg, firsts[t], 2000, NULL);

    for (k = 0; k < 2000; k++) {
      /* -3603/10000 r + 3603/5000 r^2 / (2 sweep), in units of 1 / (10000 sweep); each sweep adds its end phase,
       * which is (-3603/10000 + 3603/10000) sweep = 0 */
      const __int128 r = (__int128)((firsts[t] + k) % sweep), d = (__int128)10000 * (__int128)sweep;
      const __int128 turn = (-3603 * r * (__int128)sweep + 3603 * r * r) % d;
      const long double a = two_pi * (long double)turn / (long double)d;

      is_rounded(20000 * cosl(a), x[k].i);
      is_rounded(20000 * sinl(a), x[k].q);
    }
    free(x);
  }
}

/* A sweep that does not end at phase 0 goes on from where it ended. */
static void chirp_seam(void **state)
{
  const struct tlg_signal_cfg cfg = {
      .kind = TLG_SIGNAL_CHIRP, .freq = {100000, 1}, .freq_to = {200000, 1}, .sweep = 997};
  tlg_cs16 *x = samples(&cfg, 0, 4000, NULL);
  size_t k;

  (void)state;
  for (k = 1; k < 4000; k++) { /* 0.2 MHz at 25 Msps turns by at most 0.0503 a sample */
    assert_true(hypot(x[k].i - x[k - 1].i, x[k].q - x[k - 1].q) < 0.0504 * 32768 * pow(10, -6.0 / 20) + 2);
  }
  free(x);
}

static void noise_statistics(void **state)
{
  enum { N = 200000 };
  const struct tlg_signal_cfg cfg = {.kind = TLG_SIGNAL_NOISE, .amplitude = 5000, .seed = 7};
  struct tlg_signal_cfg other = cfg;
  tlg_cs16 *x = samples(&cfg, 0, N, NULL), *y;
  const double sigma = 5000 / sqrt(2), deviation = 1 / sqrt((double)N);
  double mean[2] = {0, 0}, square[2] = {0, 0}, fourth[2] = {0, 0}, cross = 0, lag = 0, apart = 0;
  int below[2] = {0, 0}, k, c;

  (void)state;
  other.seed = 8;
  y = samples(&other, 0, N, NULL);
  for (k = 0; k < N; k++) {
    const double v[2] = {x[k].i / sigma, x[k].q / sigma};

    for (c = 0; c < 2; c++) {
      mean[c] += v[c] / N;
      square[c] += v[c] * v[c] / N;
      fourth[c] += v[c] * v[c] * v[c] * v[c] / N;
      below[c] += v[c] < 1;
    }
    cross += v[0] * v[1] / N;
    lag += k ? v[0] * x[k - 1].i / sigma / N : 0;
    apart += v[0] * y[k].i / sigma / N;
  }
  for (c = 0; c < 2; c++) {
    assert_true(fabs(mean[c]) < 6 * deviation);
    assert_true(fabs(square[c] - 1) < 6 * sqrt(1.85) * deviation); /* fourth moment 2.85, less 1 */
    assert_true(fabs(fourth[c] - 2.85) < 6 * 9 * deviation);       /* 3 - 6/5 / 8, the sum of eight uniforms */
    assert_true(fabs(below[c] / (double)N - 0.8413) < 0.003 + 6 * 0.37 * deviation);
  }
  assert_true(fabs(cross) < 6 * deviation);
  assert_true(fabs(lag) < 6 * deviation);
  assert_true(fabs(apart) < 6 * deviation);
  free(x);
  free(y);
}

static void plain_signals(void **state)
{
  const struct tlg_signal_cfg impulse = {.kind = TLG_SIGNAL_IMPULSE, .every = 700, .value = {32767, -32768}};
  const struct tlg_signal_cfg single = {.kind = TLG_SIGNAL_IMPULSE, .at = 9, .value = {1, 0}};
  const struct tlg_signal_cfg step = {.kind = TLG_SIGNAL_STEP, .at = 5, .value = {20000, -20000}};
  const struct tlg_signal_cfg dc = {.kind = TLG_SIGNAL_DC, .amplitude = 20000};
  const struct tlg_signal_cfg ramp = {.kind = TLG_SIGNAL_RAMP}, silence = {.kind = TLG_SIGNAL_SILENCE};
  const struct tlg_signal_cfg corners = {.kind = TLG_SIGNAL_CORNERS};
  tlg_cs16 *x = samples(&impulse, 0, 1500, NULL);
  unsigned pairs = 0;
  int k;

  (void)state;
  for (k = 0; k < 1500; k++) {
    assert_int_equal(x[k].i, k % 700 ? 0 : 32767);
    assert_int_equal(x[k].q, k % 700 ? 0 : -32768);
  }
  free(x);
  x = samples(&single, 0, 30, NULL);
  for (k = 0; k < 30; k++) {
    assert_int_equal(x[k].i, k == 9);
  }
  free(x);
  x = samples(&step, 0, 10, NULL);
  for (k = 0; k < 10; k++) {
    assert_int_equal(x[k].i, k < 5 ? 0 : 20000);
    assert_int_equal(x[k].q, k < 5 ? 0 : -20000);
  }
  free(x);
  x = samples(&dc, 12, 3, NULL);
  assert_int_equal(x[2].i, 20000);
  assert_int_equal(x[2].q, 0);
  free(x);
  x = samples(&ramp, 131070, 4, NULL);
  assert_int_equal(x[1].i, -1);
  assert_int_equal(x[1].q, 1);
  assert_int_equal(x[2].i, 0);
  assert_int_equal(x[2].q, 2);
  free(x);
  x = samples(&silence, 0, 4, NULL);
  assert_int_equal(mean_power(x, 4), 0);
  free(x);
  x = samples(&corners, 0, 17, NULL);
  for (k = 0; k < 17; k++) {
    assert_true((x[k].i == 32767 || x[k].i == -32768) && (x[k].q == 32767 || x[k].q == -32768));
    if (k) {
      const int from = (x[k - 1].i > 0) + 2 * (x[k - 1].q > 0), to = (x[k].i > 0) + 2 * (x[k].q > 0);

      pairs |= 1u << (4 * from + to);
    }
  }
  assert_int_equal(pairs, 0xffff);
  free(x);
}

/* Reading in pieces, empty ones among them, and starting anywhere: the same samples. */
static void cuts_and_seeks(void **state)
{
  enum { N = 6250 };
  static const size_t cuts[] = {1, 7, 362, 364, 625, 1996, 0};
  size_t t, c;

  (void)state;
  for (t = 0; t < N_HASHED_SIGNALS; t++) {
    const struct tlg_signal_cfg *cfg = &hashed_signals[t].cfg;
    const uint64_t first = hashed_signals[t].first;
    tlg_cs16 *whole = samples(cfg, first, N, NULL), *part = calloc(N, sizeof *part);
    struct tlg_signal *s;
    uint32_t word = 1;
    int i;

    assert_int_equal(tlg_signal_new(&s, cfg, NULL), TLG_OK);
    for (c = 0; c < sizeof cuts / sizeof *cuts; c++) {
      size_t done = 0;

      assert_int_equal(tlg_signal_seek(s, first), TLG_OK);
      while (done < N) {
        size_t n = cuts[c] ? cuts[c] : (word = word * 1664525u + 1013904223u) >> 16 & 511;

        n = n > N - done ? N - done : n;
        tlg_signal_read(s, part + done, n);
        done += n;
      }
      if (memcmp(whole, part, N * sizeof *whole) != 0) {
        fail_msg("%s differs in pieces of %zu", hashed_signals[t].name, cuts[c]);
      }
    }
    for (i = 0; i < 20; i++) {
      const size_t at = (word = word * 1664525u + 1013904223u) % (N - 10);

      assert_int_equal(tlg_signal_seek(s, first + at), TLG_OK);
      tlg_signal_read(s, part, 10);
      if (memcmp(whole + at, part, 10 * sizeof *whole) != 0) {
        fail_msg("%s differs when started at %zu", hashed_signals[t].name, at);
      }
    }
    tlg_signal_free(s);
    free(whole);
    free(part);
  }
}

/* The bytes once made are kept: whatever changes them is a change of what users compare against. */
static void bytes_stay(void **state)
{
  static const uint64_t kept[N_HASHED_SIGNALS] = {
      0x65624a8257648358, 0x7ecf75be92135189, 0x965d012c9f4a1e6e, 0x1347b7c81e42c893, 0x5adda01527c22aa4,
      0x490c4a6d599f3f42, 0x107b9ec46d6f1362, 0x31915b5f882fb9e9, 0x785127130d9fb325, 0x1ddfc0e435c4889f,
      0xf66f051959fa9570, 0x36f83de065ce9516, 0xbb9261da11933f3d, 0x95ad1daacb6214d3, 0x3eb392e9b55f8cd6,
      0x010c25c9825ab39a, 0x762f616c4f11bd2e, 0x612b95e80e62492d, 0xe99e0f74c18bc835, 0xb7191735de7e9ab2,
  };
  struct hashed_signal changed = hashed_signals[9];
  int i;

  (void)state;
  for (i = 0; i < N_HASHED_SIGNALS; i++) {
    if (hash_signal(&hashed_signals[i]) != kept[i]) {
      fail_msg("the bytes of %s changed: 0x%016llx", hashed_signals[i].name,
               (unsigned long long)hash_signal(&hashed_signals[i]));
    }
  }
  changed.cfg.seed = 2;
  assert_true(hash_signal(&changed) != kept[9]);
}

static void refusals(void **state)
{
  static const struct tlg_signal_cfg bad[] = {
      {.kind = TLG_SIGNAL_NONE},
      {.kind = (enum tlg_signal_kind)99},
      {.kind = TLG_SIGNAL_TONE, .freq = {12500001, 1}},
      {.kind = TLG_SIGNAL_TONE, .freq = {-12500001, 1}},
      {.kind = TLG_SIGNAL_TONE, .amplitude = -1},
      {.kind = TLG_SIGNAL_TONE, .amplitude = 1e9},
      {.kind = TLG_SIGNAL_TONE, .amplitude = NAN},
      {.kind = TLG_SIGNAL_TONE, .freq = {1, (uint64_t)1 << 60}},
      {.kind = TLG_SIGNAL_TONES, .n_tones = 85},
      {.kind = TLG_SIGNAL_TONES, .spacing = {-1, 1}},
      {.kind = TLG_SIGNAL_TONES, .freq = {4000000, 1}},
      {.kind = TLG_SIGNAL_CHIRP, .freq_to = {13000000, 1}},
      {.kind = TLG_SIGNAL_OFDM, .modulation = (enum tlg_modulation)3},
      {.kind = TLG_SIGNAL_OFDM, .window = 145},
      {.kind = TLG_SIGNAL_OFDM, .subcarriers = 1201},
      {.kind = TLG_SIGNAL_OFDM, .subcarriers = 1668},
      {.kind = TLG_SIGNAL_OFDM, .rate = {15000, 1}},
  };
  struct tlg_signal *s;
  size_t i;

  (void)state;
  for (i = 0; i < sizeof bad / sizeof *bad; i++) {
    struct tlg_error err = {.text = ""};

    s = (struct tlg_signal *)&err;
    if (tlg_signal_new(&s, &bad[i], &err) != TLG_EINVAL || s || !err.text[0]) {
      fail_msg("case %zu was not refused with a sentence", i);
    }
  }
  assert_int_equal(tlg_signal_new(NULL, &bad[0], NULL), TLG_EINVAL);
  assert_int_equal(tlg_signal_new(&s, NULL, NULL), TLG_EINVAL);
  assert_int_equal(tlg_signal_seek(NULL, 0), TLG_EINVAL);
  assert_int_equal(tlg_signal_clipped(NULL), 0);
  assert_int_equal(tlg_signal_period(NULL), 0);
  tlg_signal_read(NULL, NULL, 1);
  tlg_signal_free(NULL);
}

/* Below 25 Msps the default frequencies keep their part of the rate, so that every signal can be had at any rate. */
static void defaults_shrink(void **state)
{
  struct tlg_signal_cfg cfg = {.kind = TLG_SIGNAL_TONES, .rate = {1920000, 1}};

  (void)state;
  assert_int_equal(tlg_signal_defaults(&cfg, NULL), TLG_OK);
  assert_int_equal(cfg.spacing.num, 115392); /* 300500 * 1.92 / 25 = 23078.4 */
  assert_int_equal(cfg.spacing.den, 5);
  cfg = (struct tlg_signal_cfg){.kind = TLG_SIGNAL_CHIRP, .rate = {1000, 3}};
  assert_int_equal(tlg_signal_defaults(&cfg, NULL), TLG_OK);
  assert_int_equal(cfg.freq.num, -1201); /* 9007500 / 25000000 * 1000 / 3 = 120.1 */
  assert_int_equal(cfg.freq.den, 10);
  assert_int_equal(cfg.freq_to.num, 1201);
  cfg = (struct tlg_signal_cfg){.kind = TLG_SIGNAL_TONE, .rate = {122880000, 1}};
  assert_int_equal(tlg_signal_defaults(&cfg, NULL), TLG_OK);
  assert_int_equal(cfg.freq.num, 1000000);
  cfg = (struct tlg_signal_cfg){.kind = TLG_SIGNAL_TONE, .rate = {1, UINT64_MAX}};
  assert_int_equal(tlg_signal_defaults(&cfg, NULL), TLG_EINVAL);
}

static void frequencies(void **state)
{
  static const struct {
    const char *text;
    int status;
    int64_t num;
    uint64_t den;
  } cases[] = {
      {"300.5k", TLG_OK, 300500, 1}, {"-9.0075M", TLG_OK, -9007500, 1},
      {"+1", TLG_OK, 1, 1},          {"0", TLG_OK, 0, 1},
      {"-0.0", TLG_OK, 0, 1},        {"0k", TLG_OK, 0, 1},
      {"0.5", TLG_OK, 1, 2},         {"-100/7", TLG_OK, -100, 7},
      {"", TLG_EINVAL, 0, 0},        {"-", TLG_EINVAL, 0, 0},
      {"--1", TLG_EINVAL, 0, 0},     {"1x", TLG_EINVAL, 0, 0},
      {"0x10", TLG_EINVAL, 0, 0},    {"nan", TLG_EINVAL, 0, 0},
  };
  size_t i;

  (void)state;
  for (i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct tlg_frequency f = {0, 0};

    if (tlg_frequency_parse(&f, cases[i].text) != cases[i].status || f.num != cases[i].num || f.den != cases[i].den) {
      fail_msg("'%s' was read as %lld/%llu", cases[i].text, (long long)f.num, (unsigned long long)f.den);
    }
  }
}

static void names(void **state)
{
  int k;

  (void)state;
  for (k = TLG_SIGNAL_TONE; k <= TLG_SIGNAL_LAST; k++) {
    enum tlg_signal_kind kind = TLG_SIGNAL_NONE;

    assert_int_equal(tlg_signal_parse(&kind, tlg_signal_name((enum tlg_signal_kind)k)), TLG_OK);
    assert_int_equal(kind, k);
  }
  assert_int_equal(tlg_signal_parse(&(enum tlg_signal_kind){TLG_SIGNAL_NONE}, "sine"), TLG_EINVAL);
  assert_string_equal(tlg_signal_name(TLG_SIGNAL_NONE), "?");
}

/* The linker sends the library's calls here. */
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
int __wrap_posix_memalign(void **p, size_t alignment, size_t n);
void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
int __real_posix_memalign(void **p, size_t alignment, size_t n);
static int allocations;

void *__wrap_malloc(size_t n)
{
  allocations++;
  return __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
  allocations++;
  return __real_calloc(n, size);
}

int __wrap_posix_memalign(void **p, size_t alignment, size_t n)
{
  allocations++;
  return __real_posix_memalign(p, alignment, n);
}

static void reading_does_not_allocate(void **state)
{
  static tlg_cs16 x[30000];
  int i;

  (void)state;
  for (i = 0; i < N_HASHED_SIGNALS; i++) {
    struct tlg_signal *s;

    allocations = 0;
    assert_int_equal(tlg_signal_new(&s, &hashed_signals[i].cfg, NULL), TLG_OK);
    assert_true(allocations > 0); /* that they are counted at all */
    allocations = 0;
    tlg_signal_read(s, x, 30000);
    assert_int_equal(tlg_signal_seek(s, 1000000), TLG_OK);
    tlg_signal_read(s, x, 30000);
    assert_int_equal(allocations, 0);
    tlg_signal_free(s);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tone_formula),
      cmocka_unit_test(tone_level_and_period),
      cmocka_unit_test(tones_lines),
      cmocka_unit_test(tones_even_count),
      cmocka_unit_test(chirp_formula),
      cmocka_unit_test(chirp_seam),
      cmocka_unit_test(noise_statistics),
      cmocka_unit_test(plain_signals),
      cmocka_unit_test(cuts_and_seeks),
      cmocka_unit_test(bytes_stay),
      cmocka_unit_test(refusals),
      cmocka_unit_test(frequencies),
      cmocka_unit_test(names),
      cmocka_unit_test(defaults_shrink),
      cmocka_unit_test(reading_does_not_allocate),
  };

  return cmocka_run_group_tests_name("signals", tests, NULL, NULL);
}
