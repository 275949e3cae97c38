/* SPDX-License-Identifier: Apache-2.0 */
/* Cells are found as they were made, in every bandwidth, at every offset and clock asked for, and nothing else is. */
#include "lte_world.h"

static struct tlg_lte_rx_cell cells[TLG_LTE_RX_CELLS];

static void assert_cell(const struct tlg_lte_rx_cell *c, const struct world *w, double start, double cfo_hz, double ppm)
{
  assert_int_equal(c->id, w->id);
  assert_int_equal(c->prb, w->prb);
  assert_int_equal(c->ports, w->ports);
  assert_int_equal(c->mib_crc_ok, !w->no_mib);
  assert_int_equal(c->sfn, w->no_mib ? -1 : (int)w->sfn);
  assert_true(fabs(c->cfo_hz - cfo_hz) < 5 * c->cfo_dev_hz + 0.02);
  assert_true(fabs(c->clock_ppm - ppm) < 5 * c->clock_dev_ppm + 0.01);
  assert_true(fabs(c->start - start) < 0.05);
}

/* Where the frame of subframe `first` begins when the recording begins with it, in samples. */
static double frame_start(const struct world *w)
{
  return -15.0 * world_fft(w) * w->first;
}

static const char *rate_of(const struct world *w)
{
  static char text[32];

  snprintf(text, sizeof text, "%u", world_fft(w) * 15000);
  return text;
}

static void test_identities_and_bandwidths(void **state)
{
  static const struct {
    unsigned prb, id, ports, sfn, first;
  } made[] = {
      {6, 0, 1, 0, 0},      {6, 503, 2, 1023, 1}, {6, 1, 1, 511, 2},   {6, 2, 2, 514, 9},    {6, 167, 1, 3, 3},
      {6, 168, 2, 1022, 4}, {6, 335, 1, 700, 5},  {6, 29, 2, 2, 6},    {6, 430, 1, 129, 7},  {15, 3, 1, 255, 8},
      {15, 250, 2, 256, 0}, {15, 501, 1, 1, 5},   {15, 88, 2, 40, 3},  {25, 4, 2, 77, 2},    {25, 402, 1, 1000, 6},
      {25, 111, 1, 9, 9},   {50, 360, 2, 13, 1},  {50, 77, 1, 800, 4}, {75, 499, 2, 600, 0}, {100, 1, 1, 0, 0},
  };
  size_t k, n;

  (void)state;
  for (k = 0; k < sizeof made / sizeof *made; k++) {
    const struct world w = {.prb = made[k].prb,
                            .id = made[k].id,
                            .ports = made[k].ports,
                            .sfn = made[k].sfn,
                            .first = made[k].first,
                            .subframes = 11,
                            .seed = (uint32_t)k};
    tlg_cf64 *x = world_make(&w, &n);
    tlg_cs16 *r = world_record(x, n, 0, 30, -15, (uint32_t)k);

    assert_int_equal(world_search(r, n, rate_of(&w), cells, NULL), 1);
    assert_cell(&cells[0], &w, frame_start(&w), 0, 0);
    assert_int_equal(cells[0].subframe_first, w.first);
    assert_int_equal(cells[0].subframe_end, w.first + w.subframes);
    assert_int_equal(cells[0].converted, 0);
    assert_true(fabs(cells[0].snr_db - 30 - 10 * log10(world_fft(&w) / (12.0 * w.prb))) < 1.5);
    free(r);
    free(x);
  }
}

static void test_noise_ratios(void **state)
{
  const struct world w = {.prb = 6, .id = 123, .ports = 1, .sfn = 1021, .first = 3, .subframes = 60, .seed = 1};
  size_t n;
  tlg_cf64 *x = world_make(&w, &n);
  int snr;

  (void)state;
  for (snr = -10; snr <= 40; snr += 5) {
    tlg_cs16 *r = world_record(x, n, 0, snr, -15, 9);
    const size_t found = world_search(r, n, "1.92M", cells, NULL);

    assert_in_range(found, snr < -5 ? 0 : 1, 1);
    if (found) {
      assert_int_equal(cells[0].id, w.id);
      assert_int_equal(cells[0].sfn, w.sfn);
      assert_true(fabs(cells[0].start - frame_start(&w)) < (snr > 0 ? 0.05 : 2));
      assert_true(fabs(cells[0].cfo_hz) < 6 * cells[0].cfo_dev_hz + 0.01);
      assert_true(fabs(cells[0].snr_db - snr - 10 * log10(128 / 72.0)) < (snr < 0 ? 3 : 1));
    }
    free(r);
  }
  free(x);
}

static void test_offsets(void **state)
{
  const struct world w = {.prb = 6, .id = 321, .ports = 2, .sfn = 17, .first = 8, .subframes = 30, .seed = 3};
  static const double offsets[] = {-45e3, -40e3, -26250, -11249, -3751, -500, 250, 3749, 7500, 18750, 33331, 40e3};
  size_t n, k;
  tlg_cf64 *x = world_make(&w, &n);

  (void)state;
  for (k = 0; k < sizeof offsets / sizeof *offsets; k++) {
    tlg_cs16 *r = world_record(x, n, offsets[k] / 1.92e6, 15, -15, (uint32_t)k);

    assert_int_equal(world_search(r, n, "1.92M", cells, NULL), 1);
    assert_cell(&cells[0], &w, frame_start(&w), offsets[k], 0);
    free(r);
  }
  free(x);
}

/* Beyond 45 kHz a second search finds what the first did not. */
static void test_far_offset(void **state)
{
  const struct world w = {.prb = 6, .id = 21, .ports = 1, .sfn = 4, .first = 0, .subframes = 20, .fft = 256, .seed = 3};
  struct tlg_lte_rx_cfg cfg = {.cfo_max_hz = 45e3};
  struct tlg_lte_rx *rx;
  size_t n, found;
  tlg_cf64 *x = world_make(&w, &n);
  tlg_cs16 *r = world_record(x, n, -287e3 / 3.84e6, 15, -15, 5);

  (void)state;
  assert_int_equal(world_search(r, n, "3.84M", cells, NULL), 1);
  assert_int_equal(cells[0].id, w.id);
  assert_true(fabs(cells[0].cfo_hz + 287e3) < 1);
  tlg_rate_parse(&cfg.rate, "3.84M");
  assert_int_equal(tlg_lte_rx_new(&rx, &cfg, NULL), 0);
  tlg_lte_rx_samples(rx, r, n);
  assert_int_equal(tlg_lte_rx_search(rx, cells, 1, &found), 0);
  assert_int_equal(found, 0);
  assert_non_null(strstr(tlg_lte_rx_why(rx), "45 kHz"));
  tlg_lte_rx_free(rx);
  free(r);
  free(x);
}

/* The samples of a fast clock come too fast: position k holds what the true one has at k / (1 + ppm). */
static void test_clocks(void **state)
{
  const struct world w = {.prb = 25, .id = 77, .ports = 1, .sfn = 1, .first = 2, .subframes = 45, .seed = 4};
  static const double clocks[] = {-20, -7.5, -1, 1, 5, 20};
  size_t n, k;
  tlg_cf64 *x = world_make(&w, &n);

  (void)state;
  for (k = 0; k < sizeof clocks / sizeof *clocks; k++) {
    const double step = 1 / (1 + clocks[k] * 1e-6);
    tlg_cf64 *y = world_resample(x, n, 0.37, step, n);
    tlg_cs16 *r = world_record(y, n, 3e3 / 7.68e6, 30, -15, (uint32_t)k);

    assert_int_equal(world_search(r, n, "7.68M", cells, NULL), 1);
    assert_cell(&cells[0], &w, (frame_start(&w) - 0.37) / step, 3e3, clocks[k]);
    assert_int_equal(cells[0].clock_used, 1);
    /* With the clock taken out what is left is the noise that was added. */
    assert_true(fabs(cells[0].snr_db - 30 - 10 * log10(512 / 300.0)) < 1);
    free(r);
    free(y);
  }
  free(x);
}

/* Rates that are no multiple of 15 kHz, among them an awkward one. */
static void test_rates(void **state)
{
  const struct world w = {.prb = 6, .id = 40, .ports = 2, .sfn = 300, .first = 1, .subframes = 25, .seed = 6};
  static const struct {
    const char *text;
    double hz;
  } rates[] = {{"2M", 2e6}, {"2.5M", 2.5e6}, {"3M", 3e6}, {"1.4M", 1.4e6}, {"2097152", 2097152}, {"2000003", 2000003}};
  size_t n, k;
  tlg_cf64 *x = world_make(&w, &n);

  (void)state;
  for (k = 0; k < sizeof rates / sizeof *rates; k++) {
    const size_t m = (size_t)((double)n * rates[k].hz / 1.92e6);
    tlg_cf64 *y;
    tlg_cs16 *r;

    y = world_resample(x, n, 0, 1.92e6 / rates[k].hz, m);
    r = world_record(y, m, 0, 30, -15, 8);
    assert_int_equal(world_search(r, m, rates[k].text, cells, NULL), 1);
    assert_int_equal(cells[0].converted, 1);
    assert_cell(&cells[0], &w, frame_start(&w) * rates[k].hz / 1.92e6, 0, 0);
    free(r);
    free(y);
  }
  free(x);
}

static void test_swapped_and_spoilt(void **state)
{
  struct world w = {.prb = 6, .id = 86, .ports = 1, .sfn = 9, .first = 4, .subframes = 25, .seed = 7};
  size_t n, k;
  tlg_cf64 *x = world_make(&w, &n), dc;
  tlg_cs16 *r = world_record(x, n, 2e3 / 1.92e6, 25, -15, 8);
  struct tlg_lte_rx *rx;

  (void)state;
  for (k = 0; k < n; k++) {
    const int16_t v = r[k].i;

    r[k].i = r[k].q;
    r[k].q = v;
  }
  assert_int_equal(world_search(r, n, "1.92M", cells, NULL), 1);
  assert_int_equal(cells[0].mirrored, 1);
  assert_cell(&cells[0], &w, frame_start(&w), 2e3, 0);
  free(r);
  /* A large DC, and an eighth of the components clipped. */
  r = world_record(x, n, 2e3 / 1.92e6, 25, -5, 8);
  for (k = 0; k < n; k++) {
    r[k].i = (int16_t)(r[k].i + 12000 > 20000 ? 20000 : r[k].i + 12000);
    r[k].q = (int16_t)(r[k].q < -20000 ? -20000 : r[k].q);
  }
  assert_int_equal(world_search(r, n, "1.92M", cells, &rx), 1);
  assert_cell(&cells[0], &w, frame_start(&w), 2e3, 0);
  assert_int_equal(cells[0].mirrored, 0);
  tlg_lte_rx_mean(rx, &dc);
  assert_true(dc.i > 8000 && dc.i < 12000 && fabs(dc.q) < 500);
  tlg_lte_rx_free(rx);
  free(r);
  free(x);
}

/* Test models fill the PBCH with random bits: no MIB, but the cell, its bandwidth and its ports. */
static void test_without_mib(void **state)
{
  static const unsigned widths[] = {6, 15, 25, 50};
  size_t n, k;

  (void)state;
  for (k = 0; k < 4; k++) {
    const struct world w = {.prb = widths[k],
                            .id = 1 + 100 * (unsigned)k,
                            .ports = 1 + k % 2,
                            .first = 0,
                            .subframes = 12,
                            .fft = widths[k] < 50 ? 512 : 1024,
                            .no_mib = 1,
                            .seed = 9};
    tlg_cf64 *x = world_make(&w, &n);
    tlg_cs16 *r = world_record(x, n, 0, 20, -15, 8);

    assert_int_equal(world_search(r, n, rate_of(&w), cells, NULL), 1);
    assert_cell(&cells[0], &w, frame_start(&w), 0, 0);
    free(r);
    free(x);
  }
}

/* Of a wide cell a narrow recording shows the middle: the MIB still tells the whole. */
static void test_narrow_view(void **state)
{
  const struct world w = {.prb = 25, .id = 470, .ports = 1, .sfn = 31, .first = 5, .subframes = 30, .seed = 2};
  size_t n, k, m;
  tlg_cf64 *x = world_make(&w, &n), *low, *y;
  tlg_cs16 *r;

  (void)state;
  /* A low pass to 0.9 MHz, then every fourth sample. */
  low = calloc(n, sizeof *low);
  for (k = 200; k + 200 < n; k += 4) {
    int t;

    for (t = -200; t <= 200; t++) {
      const double h =
          (t ? sin(2 * M_PI * 0.9 / 7.68 * t) / (M_PI * t) : 2 * 0.9 / 7.68) * (0.5 + 0.5 * cos(M_PI * t / 201));

      low[k].i += h * x[(ptrdiff_t)k + t].i;
      low[k].q += h * x[(ptrdiff_t)k + t].q;
    }
  }
  m = n / 4;
  y = malloc(m * sizeof *y);
  for (k = 0; k < m; k++) {
    y[k] = low[4 * k];
  }
  r = world_record(y, m, 0, 20, -15, 8);
  assert_int_equal(world_search(r, m, "1.92M", cells, NULL), 1);
  assert_int_equal(cells[0].prb, 25);
  assert_int_equal(cells[0].sfn, 31);
  assert_true(cells[0].sc_first > 80 && cells[0].sc_first < 95 && cells[0].sc_end == 300 - cells[0].sc_first);
  free(r);
  free(y);
  free(low);
  free(x);
}

static void test_two_cells(void **state)
{
  const struct world a = {.prb = 6, .id = 30, .ports = 1, .sfn = 100, .first = 0, .subframes = 60, .seed = 1};
  const struct world b = {.prb = 6, .id = 31, .ports = 2, .sfn = 900, .first = 4, .subframes = 60, .seed = 2};
  size_t n, k;
  tlg_cf64 *x = world_make(&a, &n), *y = world_make(&b, &n);
  tlg_cs16 *r;

  (void)state;
  for (k = 0; k < n; k++) {
    const tlg_cf64 v = y[(k + 1000) % n];

    x[k].i += 0.7 * v.i;
    x[k].q += 0.7 * v.q;
  }
  r = world_record(x, n, 0, 30, -15, 8);
  assert_int_equal(world_search(r, n, "1.92M", cells, NULL), 2);
  assert_int_equal(cells[0].id, 30);
  assert_int_equal(cells[0].sfn, 100);
  assert_int_equal(cells[1].id, 31);
  assert_int_equal(cells[1].sfn, 900);
  assert_int_equal(cells[1].ports, 2);
  assert_true(fabs(cells[0].power_dbfs - cells[1].power_dbfs + 20 * log10(0.7)) < 1);
  free(r);
  free(y);
  free(x);
}

/* ---- what is no cell --------------------------------------------------------------------------------------------- */

static void test_noise_is_no_cell(void **state)
{
  const size_t n = 1920 * 12;
  struct tlg_lte_rx_cfg cfg = {.cfo_max_hz = 45e3};
  tlg_cs16 *r = malloc(n * sizeof *r);
  struct tlg_lte_rx *rx;
  uint32_t trial;

  (void)state;
  tlg_rate_parse(&cfg.rate, "1.92M");
  assert_int_equal(tlg_lte_rx_new(&rx, &cfg, NULL), 0);
  for (trial = 0; trial < 200; trial++) {
    size_t k, found = 1;

    for (k = 0; k < n; k++) {
      const tlg_cf64 v = world_noise(500 + trial, k);

      r[k].i = (int16_t)floor(6000 * v.i + 0.5);
      r[k].q = (int16_t)floor(6000 * v.q + 0.5);
    }
    tlg_lte_rx_samples(rx, r, n);
    assert_int_equal(tlg_lte_rx_search(rx, cells, TLG_LTE_RX_CELLS, &found), 0);
    assert_int_equal(found, 0);
    assert_non_null(strstr(tlg_lte_rx_why(rx), "stands out of the noise"));
  }
  tlg_lte_rx_free(rx);
  free(r);
}

static void test_other_signals_are_no_cell(void **state)
{
  const size_t n = 1920 * 21;
  tlg_cf64 *x = calloc(n, sizeof *x);
  int kind;
  size_t k;

  (void)state;
  for (kind = 0; kind < 10; kind++) {
    tlg_cs16 *r;

    for (k = 0; k < n; k++) {
      const double t = (double)k;
      double a = 0, size = 1;

      switch (kind) {
      case 0:
        a = 0.0123 * t;
        break; /* a tone */
      case 1:
        a = 0.25 * t;
        break; /* half way between subcarriers */
      case 2:
        a = 1e-4 * fmod(t, 9600) * fmod(t, 9600);
        break; /* chirps of 5 ms */
      case 3:
        size = fmod(t, 9600) == 77;
        break; /* impulses of 5 ms */
      case 4:
        size = fmod(t, 1920) < 960;
        break; /* a carrier switched on and off */
      case 5:
        a = M_PI / 2 * (world_word(5, 1, k / 4) & 3);
        break; /* a single carrier, QPSK */
      case 6:
        size = 0;
        break; /* silence */
      case 7:
        a = 25 * M_PI * fmod(t, 63) * (fmod(t, 63) + 1) / 63;
        break; /* the primary sequence itself in time */
      case 8:
        a = 2 * M_PI * world_uniform(3, 1, k % 9600);
        break; /* noise that repeats in 5 ms */
      default:
        a = 2 * M_PI * world_uniform(3, 1, k % 19200);
        break; /* in 10 ms */
      }
      x[k].i = size * cos(a);
      x[k].q = size * sin(a);
    }
    r = world_record(x, n, 0, kind % 2 ? 20 : INFINITY, -15, (uint32_t)kind);
    assert_int_equal(world_search(r, n, "1.92M", cells, NULL), 0);
    free(r);
  }
  free(x);
}

/* Synchronisation signals alone, without the reference signals of their identity, are not believed. */
static void test_sync_without_cell(void **state)
{
  struct world w = {.prb = 6, .id = 99, .ports = 1, .first = 0, .subframes = 20, .no_mib = 1, .only_sync = 1};
  size_t n;
  tlg_cf64 *x = world_make(&w, &n);
  tlg_cs16 *r = world_record(x, n, 0, 20, -15, 8);

  (void)state;
  assert_int_equal(world_search(r, n, "1.92M", cells, NULL), 0);
  free(r);
  free(x);
}

static void test_short_recordings(void **state)
{
  const struct world w = {.prb = 6, .id = 99, .ports = 1, .sfn = 44, .first = 0, .subframes = 4, .seed = 1};
  struct tlg_lte_rx_cfg cfg = {.cfo_max_hz = 0};
  struct tlg_lte_rx *rx;
  size_t n, k, found;
  tlg_cf64 *x = world_make(&w, &n);
  tlg_cs16 *r = world_record(x, n, 0, 30, -15, 8);

  (void)state;
  tlg_rate_parse(&cfg.rate, "1.92M");
  assert_int_equal(tlg_lte_rx_new(&rx, &cfg, NULL), 0);
  for (k = 0; k <= 4; k++) { /* 0 .. 3 samples, then 2 ms from subframe 1 on: no synchronisation signal inside */
    assert_int_equal(tlg_lte_rx_samples(rx, k < 4 ? r : r + 1920, k < 4 ? k : 3840), 0);
    assert_int_equal(tlg_lte_rx_search(rx, cells, TLG_LTE_RX_CELLS, &found), 0);
    assert_int_equal(found, 0);
    assert_non_null(strstr(tlg_lte_rx_why(rx), k < 4 ? "less than the two symbols" : "every 5 ms"));
  }
  /* 2 ms with subframe 0 inside hold all that a cell is known by. */
  assert_int_equal(tlg_lte_rx_samples(rx, r, 3840), 0);
  assert_int_equal(tlg_lte_rx_search(rx, cells, TLG_LTE_RX_CELLS, &found), 0);
  assert_int_equal(found, 1);
  assert_int_equal(cells[0].id, 99);
  assert_int_equal(cells[0].sfn, 44);
  assert_int_equal(cells[0].subframe_end, 2);
  tlg_lte_rx_free(rx);
  free(r);
  free(x);
}

static void test_arguments(void **state)
{
  struct tlg_lte_rx_cfg cfg = {.prb = 0};
  struct tlg_lte_rx *rx = NULL;
  struct tlg_error err;
  tlg_cf64 grid[1];
  size_t n;

  (void)state;
  assert_int_equal(tlg_lte_rx_new(&rx, &cfg, &err), TLG_EINVAL);
  tlg_rate_parse(&cfg.rate, "1M");
  assert_int_equal(tlg_lte_rx_new(&rx, &cfg, &err), TLG_EINVAL);
  assert_non_null(strstr(err.text, "1.4 Msps"));
  tlg_rate_parse(&cfg.rate, "1.92M");
  cfg.prb = 7;
  assert_int_equal(tlg_lte_rx_new(&rx, &cfg, &err), TLG_EINVAL);
  cfg.prb = 0;
  cfg.cfo_max_hz = NAN;
  assert_int_equal(tlg_lte_rx_new(&rx, &cfg, &err), TLG_EINVAL);
  assert_null(rx);
  cfg.cfo_max_hz = 0;
  assert_int_equal(tlg_lte_rx_new(&rx, &cfg, &err), 0);
  assert_int_equal(tlg_lte_rx_samples(rx, NULL, 5), TLG_EINVAL);
  assert_int_equal(tlg_lte_rx_search(rx, NULL, 3, &n), TLG_EINVAL);
  assert_int_equal(tlg_lte_rx_subframe(rx, &cells[0], 0, 72, grid), TLG_EINVAL);
  tlg_lte_rx_free(rx);
  tlg_lte_rx_free(NULL);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_identities_and_bandwidths),
      cmocka_unit_test(test_noise_ratios),
      cmocka_unit_test(test_offsets),
      cmocka_unit_test(test_far_offset),
      cmocka_unit_test(test_clocks),
      cmocka_unit_test(test_rates),
      cmocka_unit_test(test_swapped_and_spoilt),
      cmocka_unit_test(test_without_mib),
      cmocka_unit_test(test_narrow_view),
      cmocka_unit_test(test_two_cells),
      cmocka_unit_test(test_noise_is_no_cell),
      cmocka_unit_test(test_other_signals_are_no_cell),
      cmocka_unit_test(test_sync_without_cell),
      cmocka_unit_test(test_short_recordings),
      cmocka_unit_test(test_arguments),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
