/* SPDX-License-Identifier: Apache-2.0 */
/* The receiver's parts: conversion and interpolation against tones, the Viterbi decoder against the encoder, grids
 * against the elements that were sent, steps of timing where samples were lost or repeated, and recorded signals. */
#include "lte_rx.h"
#include "lte_world.h"

static struct tlg_lte_rx_cell cells[TLG_LTE_RX_CELLS];

static double db(double x)
{
  return 10 * log10(x);
}

/* ---- conversion ---------------------------------------------------------------------------------------------------
 */

/* Tones across the band against their own formula at the other rate. The error is the rounding to 16 bits of the input
 * and what the conversion adds. */
static double conversion_error(const char *rate_text, unsigned points, double band_hz, double late)
{
  enum { TONES = 9 };
  struct tlg_rate rate;
  struct lte_convert c;
  struct lte_source s = {NULL, 0, 0, 0, 0};
  double hz, to, error = 0, signal = 0, rounding = 0;
  size_t n, k, m;
  tlg_cs16 *x;
  tlg_cf64 *y;
  int t;

  assert_int_equal(tlg_rate_parse(&rate, rate_text), 0);
  hz = tlg_rate_hz(&rate);
  to = points * 15e3;
  n = (size_t)(hz * 5e-3);
  x = malloc(n * sizeof *x);
  for (k = 0; k < n; k++) {
    tlg_cf64 v = {0, 0};

    for (t = 0; t < TONES; t++) {
      const double f = band_hz * (2.0 * t / (TONES - 1) - 1) * 0.9999 + 113,
                   a = 2 * M_PI * fmod(f / hz * (double)k, 1) + t * t;

      v.i += 3000 * cos(a);
      v.q += 3000 * sin(a);
    }
    x[k].i = (int16_t)floor(v.i + 0.5);
    x[k].q = (int16_t)floor(v.q + 0.5);
    rounding += (x[k].i - v.i) * (x[k].i - v.i) + (x[k].q - v.q) * (x[k].q - v.q);
  }
  rounding /= (double)n;
  s.x = x;
  s.n = n;
  assert_int_equal(tlg_lte_convert_open(&c, &rate, points, 0), 0);
  m = (size_t)(to * 3e-3);
  y = malloc(m * sizeof *y);
  /* In pieces, from within the first millisecond on. */
  for (k = 0; k < m; k += 777) {
    assert_int_equal(tlg_lte_convert_read(&c, &s, (int64_t)(to * 1e-3 + (double)k), m - k < 777 ? m - k : 777, y + k),
                     0);
  }
  for (k = 0; k < m; k++) {
    const double at = (floor(to * 1e-3) + (double)k + late) * (double)c.down / (double)c.up;
    tlg_cf64 v = {0, 0};

    for (t = 0; t < TONES; t++) {
      const double f = band_hz * (2.0 * t / (TONES - 1) - 1) * 0.9999 + 113,
                   a = 2 * M_PI * fmod(f / hz * at, 1) + t * t;

      v.i += 3000 * cos(a);
      v.q += 3000 * sin(a);
    }
    signal += v.i * v.i + v.q * v.q;
    error += (y[k].i - v.i) * (y[k].i - v.i) + (y[k].q - v.q) * (y[k].q - v.q);
  }
  tlg_lte_convert_close(&c);
  free(x);
  free(y);
  /* Rounding noise within the band of the output is not the conversion's. */
  error = error / (double)m - rounding * (to < hz ? to / hz : 1);
  return db((error > 0 ? error : 1e-9) * (double)m / signal);
}

static void test_conversion(void **state)
{
  (void)state;
  assert_true(conversion_error("25M", 2048, 9.0075e6, 0) < -100);
  assert_true(conversion_error("25M", 2048, 11.9e6, 0) < -100);
  assert_true(conversion_error("25M", 128, 0.7e6, 0) < -100);
  assert_true(conversion_error("19.2M", 2048, 9.0075e6, 0) < -100);
  assert_true(conversion_error("30.72M", 128, 0.7e6, 0) < -100);
  assert_true(conversion_error("184320000/7", 1024, 4.5e6, 0) < -100);
  assert_true(conversion_error("2097153", 128, 0.6e6, 0) < -100);
  /* A fiftieth of a sample off would show. */
  assert_true(conversion_error("25M", 2048, 9.0075e6, 0.02) > -40);
}

static void test_interpolation(void **state)
{
  enum { N = 4000, M = 3000 };
  double *table = tlg_lte_interpolate_table();
  tlg_cf64 *x = malloc(N * sizeof *x), *y = malloc(M * sizeof *y);
  static const double steps[] = {1, 1.00002, 0.99998, 1.0003};
  int f, s, k;

  (void)state;
  assert_non_null(table);
  for (f = -8; f <= 8; f++) {
    const double w = 2 * M_PI * 0.05 * f; /* up to 0.4 of the rate */

    for (k = 0; k < N; k++) {
      x[k].i = cos(w * k);
      x[k].q = sin(w * k);
    }
    for (s = 0; s < 4; s++) {
      double error = 0;

      tlg_lte_interpolate(table, x, 100.313, steps[s], y, M);
      for (k = 0; k < M; k++) {
        const double a = w * (100.313 + k * steps[s]);

        error += (y[k].i - cos(a)) * (y[k].i - cos(a)) + (y[k].q - sin(a)) * (y[k].q - sin(a));
      }
      assert_true(db(error / M) < -90);
    }
  }
  free(table);
  free(x);
  free(y);
}

static void test_rotation(void **state)
{
  enum { N = 5000 };
  tlg_cf64 *x = malloc(N * sizeof *x);
  double worst = 0;
  int k;

  (void)state;
  for (k = 0; k < N; k++) {
    x[k] = (tlg_cf64){1, 0};
  }
  tlg_lte_rotate(x, N, 0.123, -0.0317);
  for (k = 0; k < N; k++) {
    worst = fmax(worst, fabs(x[k].i - cos(2 * M_PI * (0.123 - 0.0317 * k))));
    worst = fmax(worst, fabs(x[k].q - sin(2 * M_PI * (0.123 - 0.0317 * k))));
  }
  assert_true(worst < 1e-11);
  free(x);
}

/* ---- codes --------------------------------------------------------------------------------------------------------
 */

static void test_viterbi(void **state)
{
  uint8_t bits[40], coded[120], out[40];
  double soft[120];
  int trial, k, wrong = 0;

  (void)state;
  for (trial = 0; trial < 60; trial++) {
    for (k = 0; k < 40; k++) {
      bits[k] = world_word(1, 1, (uint64_t)trial * 40 + (uint64_t)k) & 1;
    }
    tlg_lte_conv_encode(bits, 40, coded);
    for (k = 0; k < 120; k++) {
      soft[k] = coded[k] ? -1 : 1;
    }
    assert_true(tlg_lte_viterbi(soft, 40, out) > 0.999999);
    assert_memory_equal(bits, out, 40);
    /* Any six errors well apart are mended: the free distance is 15. */
    for (k = 0; k < 6; k++) {
      soft[k * 20 + trial % 20] *= -1;
    }
    tlg_lte_viterbi(soft, 40, out);
    assert_memory_equal(bits, out, 40);
    /* Noise of twice the amplitude is too much: it must not seem right. */
    for (k = 0; k < 120; k++) {
      soft[k] = world_noise(77, (uint64_t)trial * 120 + (uint64_t)k).i;
    }
    wrong += tlg_lte_viterbi(soft, 40, out) < 0.75;
  }
  assert_int_equal(wrong, 60);
}

static const char *rate_of(const struct world *w)
{
  static char text[32];

  snprintf(text, sizeof text, "%u", world_fft(w) * 15000);
  return text;
}

/* A MIB that is damaged is not read, and one of another cell neither; the cell stays. */
static void test_damaged_mib(void **state)
{
  struct world w = {.prb = 6, .id = 10, .ports = 1, .sfn = 16, .first = 0, .subframes = 40, .seed = 3};
  size_t n, k, f;
  tlg_cf64 *x = world_make(&w, &n);
  tlg_cs16 *r;

  (void)state;
  for (f = 0; f < 4; f++) { /* slot 1 of subframe 0, symbols 0 .. 3: another sign from the middle on */
    for (k = 0; k < 1920; k++) {
      if (k >= 1100 && k < 1500) {
        x[f * 19200 + k].i *= -1;
      }
    }
  }
  r = world_record(x, n, 0, 30, -15, 1);
  assert_int_equal(world_search(r, n, "1.92M", cells, NULL), 1);
  assert_int_equal(cells[0].id, 10);
  assert_int_equal(cells[0].mib_crc_ok, 0);
  assert_int_equal(cells[0].sfn, -1);
  assert_int_equal(cells[0].prb, 6);
  free(r);
  free(x);
}

/* ---- grids --------------------------------------------------------------------------------------------------------
 */

/* Error of the grids against what was sent, after the best common complex gain, relative to what was sent. */
static double grid_error(const struct world *w, struct tlg_lte_rx *rx, const struct tlg_lte_rx_cell *c, double advance)
{
  const size_t size = 14 * 12 * (size_t)w->prb;
  tlg_cf64 *sent = malloc(size * sizeof *sent), *got = malloc(size * sizeof *got), sum = {0, 0};
  double all = 0, error = 0, power = 0;
  int64_t j;
  int pass;
  size_t k;

  for (pass = 0; pass < 2; pass++) {
    for (j = c->subframe_first; j < c->subframe_end; j++) {
      assert_int_equal(tlg_lte_rx_subframe(rx, c, j, advance, got), 0);
      world_grid(w, 0, w->sfn + (unsigned)(j / 10), (unsigned)(j % 10), sent);
      for (k = 0; k < size; k++) {
        if (pass == 0) {
          sum.i += got[k].i * sent[k].i + got[k].q * sent[k].q;
          sum.q += got[k].q * sent[k].i - got[k].i * sent[k].q;
          all += sent[k].i * sent[k].i + sent[k].q * sent[k].q;
        } else {
          const tlg_cf64 v = world_times(sent[k], sum);

          error += (got[k].i - v.i) * (got[k].i - v.i) + (got[k].q - v.q) * (got[k].q - v.q);
          power += v.i * v.i + v.q * v.q;
        }
      }
    }
    if (pass == 0) {
      sum.i /= all;
      sum.q /= all;
    }
  }
  free(sent);
  free(got);
  return db(error / power);
}

static void test_grids(void **state)
{
  static const double advances[] = {0, 4, 72, 100.5, 144};
  const struct world w = {.prb = 15, .id = 61, .ports = 1, .sfn = 12, .first = 2, .subframes = 12, .seed = 5};
  size_t n, k;
  tlg_cf64 *x = world_make(&w, &n), *y;
  struct tlg_lte_rx *rx;
  tlg_cs16 *r = world_record(x, n, 0, INFINITY, -12, 1);
  /* Rounding to 16 bits: 1/6 of a bit squared, spread over all of the rate. */
  const double floor_db = db(1.0 / 6 / (32768.0 * 32768.0 * pow(10, -1.2)) * 180.0 / 256);

  (void)state;
  assert_int_equal(world_search(r, n, rate_of(&w), cells, &rx), 1);
  for (k = 0; k < 5; k++) {
    assert_true(fabs(grid_error(&w, rx, &cells[0], advances[k]) - floor_db) < 0.3);
  }
  /* The scale: squares of a row add up to the power of the samples. */
  {
    tlg_cf64 *grid = malloc(14 * 180 * sizeof *grid);
    double row = 0, mean = 0;

    tlg_lte_rx_subframe(rx, &cells[0], 3, 0, grid);
    for (k = 0; k < 180; k++) {
      row += grid[180 + k].i * grid[180 + k].i + grid[180 + k].q * grid[180 + k].q;
    }
    for (k = 0; k < 256; k++) {
      const tlg_cs16 v = r[3840 + 20 + 256 + 18 + k];

      mean += (double)v.i * v.i + (double)v.q * v.q;
    }
    assert_true(fabs(db(row / (mean / 256))) < 0.05);
    assert_int_equal(tlg_lte_rx_subframe(rx, &cells[0], cells[0].subframe_end, 72, grid), TLG_EINVAL);
    assert_int_equal(tlg_lte_rx_subframe(rx, &cells[0], 3, 145, grid), TLG_EINVAL);
    free(grid);
  }
  tlg_lte_rx_free(rx);
  free(r);
  /* A carrier that is off costs nothing. */
  r = world_record(x, n, 12345.6 / 3.84e6, INFINITY, -12, 1);
  assert_int_equal(world_search(r, n, rate_of(&w), cells, &rx), 1);
  assert_true(fabs(grid_error(&w, rx, &cells[0], 72) - floor_db) < 0.3);
  tlg_lte_rx_free(rx);
  free(r);
  /* Nor does a start between two samples, but for what the steps between symbols hold beyond the band (unwindowed). */
  y = world_resample(x, n, 0.4, 1, n);
  r = world_record(y, n, 0, INFINITY, -12, 1);
  assert_int_equal(world_search(r, n, rate_of(&w), cells, &rx), 1);
  assert_true(grid_error(&w, rx, &cells[0], 72) < -55);
  tlg_lte_rx_free(rx);
  free(r);
  free(y);
  /* A broken chain shows: one bit of noise more than there is, and a channel of two paths. */
  for (k = n; k-- > 3;) {
    x[k].i += 0.01 * x[k - 3].q;
  }
  r = world_record(x, n, 0, INFINITY, -12, 1);
  assert_int_equal(world_search(r, n, rate_of(&w), cells, &rx), 1);
  assert_true(grid_error(&w, rx, &cells[0], 72) > -46);
  tlg_lte_rx_free(rx);
  free(r);
  free(x);
}

/* The samples themselves: subframes one after the other give the recording again. */
static void test_time(void **state)
{
  const struct world w = {.prb = 6, .id = 61, .ports = 1, .sfn = 12, .first = 0, .subframes = 11, .seed = 5};
  size_t n, k;
  tlg_cf64 *x = world_make(&w, &n), out[1000];
  struct tlg_lte_rx *rx;
  tlg_cs16 *r = world_record(x, n, 0, INFINITY, -12, 1);
  double frac, worst = 0;

  (void)state;
  assert_int_equal(world_search(r, n, "1.92M", cells, &rx), 1);
  assert_int_equal(tlg_lte_rx_time(rx, &cells[0], 4, 100, out, 1000, &frac), 0);
  k = 4 * 1920 - 100 + (frac > 0.5 ? (size_t)-1 : 0); /* a start of 4 * 1920 - 0.001 begins with the sample before */
  for (n = 0; n < 1000; n++) {
    worst = fmax(worst, fmax(fabs(out[n].i - r[k + n].i), fabs(out[n].q - r[k + n].q)));
  }
  assert_true(worst < 40); /* the mean of the recording and a hundredth of a degree */
  tlg_lte_rx_free(rx);
  free(r);
  free(x);
}

/* ---- steps --------------------------------------------------------------------------------------------------------
 */

/* d > 0: the last d samples before `at` come twice; d < 0: those from `at` on are missing. */
static tlg_cs16 *edited(const tlg_cs16 *x, size_t n, size_t at, long d, size_t *m)
{
  tlg_cs16 *y = malloc((n + (size_t)labs(d)) * sizeof *y);

  memcpy(y, x, at * sizeof *x);
  if (d >= 0) {
    memcpy(y + at, x + at - d, (size_t)d * sizeof *x);
    memcpy(y + at + d, x + at, (n - at) * sizeof *x);
  } else {
    memcpy(y + at, x + at - d, (n - at - (size_t)-d) * sizeof *x);
  }
  *m = (size_t)((long)n + d);
  return y;
}

static void test_steps(void **state)
{
  static const long steps[] = {1, -1, -3, 8, 40, -77, -92, 300, -625, -5000, 7680};
  static const size_t places[] = {7680 * 6, 7680 * 12 + 3000, 7680 * 10 + 4000};
  const struct world w = {.prb = 25, .id = 200, .ports = 2, .sfn = 5, .first = 0, .subframes = 25, .seed = 1};
  struct tlg_lte_rx_timing t[64];
  size_t n, m, a, i, k, nt;
  tlg_cf64 *x = world_make(&w, &n);
  tlg_cs16 *r = world_record(x, n, 1500 / 7.68e6, 25, -15, 9);
  struct tlg_lte_rx *rx;

  (void)state;
  for (a = 0; a < 3; a++) {
    for (i = 0; i < sizeof steps / sizeof *steps; i++) {
      tlg_cs16 *e = edited(r, n, places[a], steps[i], &m);
      int seen = 0, broken = 0;

      assert_int_equal(world_search(e, m, "7.68M", cells, &rx), 1);
      assert_int_equal(cells[0].id, 200);
      assert_int_equal(cells[0].mib_crc_ok, 1);
      assert_int_equal(cells[0].sfn, 5);
      assert_true(fabs(cells[0].start) < 0.05);
      assert_int_equal(tlg_lte_rx_track(rx, &cells[0], t, 64, &nt), 0);
      assert_int_equal(nt, cells[0].subframe_end - cells[0].subframe_first);
      for (k = 0; k < nt; k++) {
        assert_int_equal(t[k].k, cells[0].subframe_first + (int64_t)k);
        broken += t[k].broken;
        if (t[k].step != 0) {
          seen++;
          assert_true(fabs(t[k].step - (double)steps[i]) < 0.1);
          /* Within about half a subframe, and twice what was repeated is anyone's guess. */
          assert_true(fabs(t[k].step_at - (double)places[a]) < 4000 + labs(steps[i]));
        }
        if (!t[k].broken) {
          const double behind = t[k].start - 7680.0 * (double)t[k].k;

          assert_true(fabs(behind) < 0.05 || fabs(behind - (double)steps[i]) < 0.05);
          /* What lies across the step is marked. */
          assert_false(steps[i] < 0 && 7680.0 * (double)t[k].k + 30 < (double)places[a] - (double)steps[i] &&
                       7680.0 * (double)t[k].k + 7680 > (double)places[a] + 600);
        }
      }
      assert_int_equal(seen, 1);
      assert_in_range(broken, 0, 2 + labs(steps[i]) / 7680);
      tlg_lte_rx_free(rx);
      free(e);
    }
  }
  /* None where there is none. */
  assert_int_equal(world_search(r, n, "7.68M", cells, &rx), 1);
  tlg_lte_rx_track(rx, &cells[0], t, 64, &nt);
  assert_int_equal(nt, 25);
  for (k = 0; k < nt; k++) {
    assert_true(t[k].step == 0 && !t[k].broken);
    assert_true(fabs(t[k].measured - t[k].start) < 0.1);
  }
  tlg_lte_rx_free(rx);
  free(r);
  free(x);
}

/* ---- recordings ---------------------------------------------------------------------------------------------------
 */

static tlg_cs16 *capture(const char *name, int format, size_t *n)
{
  const char *folder = getenv("TAPLAG_CAPTURES");
  char path[4096];
  unsigned char *raw;
  tlg_cs16 *x;
  size_t k;
  FILE *f;

  snprintf(path, sizeof path, "%s/%s", folder ? folder : "../shared/captures", name);
  f = fopen(path, "rb");
  if (!f) {
    print_message("skip: %s is not there\n", path);
    skip();
  }
  raw = malloc(16 << 20);
  k = fread(raw, 1, 16 << 20, f);
  fclose(f);
  *n = format ? k / 2 : k / 4;
  x = malloc(*n * sizeof *x);
  for (k = 0; k < *n; k++) {
    if (format == 8) {
      x[k].i = (int16_t)(256 * (signed char)raw[2 * k]);
      x[k].q = (int16_t)(256 * (signed char)raw[2 * k + 1]);
    } else if (format == 9) {
      x[k].i = (int16_t)(256 * raw[2 * k] - 32640);
      x[k].q = (int16_t)(256 * raw[2 * k + 1] - 32640);
    } else {
      x[k].i = (int16_t)(raw[4 * k] | raw[4 * k + 1] << 8);
      x[k].q = (int16_t)(raw[4 * k + 2] | raw[4 * k + 3] << 8);
    }
  }
  free(raw);
  return x;
}

static void test_capture_clean(void **state)
{
  size_t n;
  tlg_cs16 *x = capture("lte20_25Msps_80ms.sc16", 0, &n);

  (void)state;
  assert_int_equal(world_search(x, n, "25M", cells, NULL), 1);
  assert_int_equal(cells[0].id, 1);
  assert_int_equal(cells[0].prb, 100);
  assert_int_equal(cells[0].ports, 1);
  assert_int_equal(cells[0].mib_crc_ok, 1);
  assert_int_equal(cells[0].sfn, 0);
  assert_true(fabs(cells[0].start) < 0.01);
  assert_true(fabs(cells[0].cfo_hz) < 0.01);
  assert_true(fabs(cells[0].clock_ppm) < 0.001);
  assert_int_equal(cells[0].subframe_first, 0);
  assert_int_equal(cells[0].subframe_end, 80);
  free(x);
}

/* Over the air, one oscillator for carrier and clock: the offset relative to the carrier is the clock's, negated. */
static void test_capture_796(void **state)
{
  size_t n;
  tlg_cs16 *x = capture("lte_f796M_s19.2M_hackrf.cs8", 8, &n);

  (void)state;
  assert_true(world_search(x, n, "19.2M", cells, NULL) >= 1);
  assert_int_equal(cells[0].id, 360);
  assert_int_equal(cells[0].prb, 50);
  assert_int_equal(cells[0].ports, 2);
  assert_int_equal(cells[0].mib_crc_ok, 1);
  assert_true(fabs(cells[0].cfo_hz / 796 + cells[0].clock_ppm) < 0.1);
  free(x);
}

static void test_capture_1815(void **state)
{
  size_t n;
  tlg_cs16 *x = capture("lte_f1815.3M_s19.2M_hackrf.cs8", 8, &n);

  (void)state;
  assert_true(world_search(x, n, "19.2M", cells, NULL) >= 1);
  assert_int_equal(cells[0].prb, 100);
  assert_int_equal(cells[0].ports, 2);
  assert_int_equal(cells[0].mib_crc_ok, 1);
  assert_true(fabs(cells[0].cfo_hz / 1815.3 + cells[0].clock_ppm) < 0.1);
  free(x);
}

static void test_capture_narrow(void **state)
{
  size_t n;
  tlg_cs16 *x = capture("lte_f1815M_s1.92M_rtlsdr.cu8", 9, &n);

  (void)state;
  assert_true(world_search(x, n, "1.92M", cells, NULL) >= 1);
  assert_int_equal(cells[0].prb, 100);
  assert_int_equal(cells[0].mib_crc_ok, 1);
  assert_true(fabs(cells[0].cfo_hz / 1815 + cells[0].clock_ppm) < 0.5);
  free(x);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_conversion),  cmocka_unit_test(test_interpolation), cmocka_unit_test(test_rotation),
      cmocka_unit_test(test_viterbi),     cmocka_unit_test(test_damaged_mib),   cmocka_unit_test(test_grids),
      cmocka_unit_test(test_time),        cmocka_unit_test(test_steps),         cmocka_unit_test(test_capture_clean),
      cmocka_unit_test(test_capture_796), cmocka_unit_test(test_capture_1815),  cmocka_unit_test(test_capture_narrow),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
