/* SPDX-License-Identifier: Apache-2.0 */
/* The LTE signal through a plain receiver that knows where everything is: waveform, points, MIB, control information
 * and transport blocks; level, test models, refusals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tlg_vectors.h"

#include <fftw3.h> /* before complex.h: its own type of two doubles */

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const long double two_pi = 6.283185307179586476925286766559L;
static const unsigned widths[6] = {6, 15, 25, 50, 75, 100};

static struct tlg_signal *make(const struct tlg_signal_cfg *cfg)
{
  struct tlg_error err = {.text = ""};
  struct tlg_signal *s;

  if (tlg_signal_new(&s, cfg, &err)) {
    fail_msg("%s", err.text);
  }
  return s;
}

static double cabs2(double complex z)
{
  return creal(z) * creal(z) + cimag(z) * cimag(z);
}

/* ---- waveform ---- */

/* The sum that defines a symbol, at instant t (in T_s from its useful part's start). */
static long double complex at(const tlg_cf64 *points, unsigned n, long double t)
{
  long double complex sum = 0;
  unsigned i;

  for (i = 0; i < n; i++) {
    const long double k = i < n / 2 ? (long double)i - n / 2 : (long double)i - n / 2 + 1;
    const long double a = two_pi * fmodl(k * t / 2048, 1);

    sum += (points[i].i + points[i].q * (long double complex)I) * (cosl(a) + (long double complex)I * sinl(a));
  }
  return sum;
}

/* Where symbol l begins, in T_s. */
static uint64_t start_of(uint64_t l, unsigned *prefix)
{
  return l / 14 * 30720 + tlg_lte_symbol_start((unsigned)(l % 14), prefix);
}

/* Single samples of symbols, their prefixes and overlaps against the sum with the signal's points: every rounding as
 * the exact value asks, whatever the rate. */
static void waveform(void **state)
{
  static const struct {
    struct tlg_rate rate;
    unsigned prb, window;
  } cases[] = {{{30720000, 1}, 100, 72}, {{25000000, 1}, 100, 72}, {{25000000, 1}, 50, TLG_OFDM_NO_WINDOW},
               {{1920000, 1}, 6, 144},   {{23040000, 1}, 75, 10},  {{184320000, 7}, 25, 36},
               {{61440000, 1}, 100, 72}, {{19200000, 1}, 50, 72}};
  size_t c;

  (void)state;
  for (c = 0; c < sizeof cases / sizeof *cases; c++) {
    const struct tlg_signal_cfg cfg = {.kind = TLG_SIGNAL_LTE,
                                       .rate = cases[c].rate,
                                       .window = cases[c].window,
                                       .lte = {.cell = {.prb = cases[c].prb, .id = 11}, .mcs = 9}};
    const unsigned n_sc = 12 * cases[c].prb, window = cases[c].window == TLG_OFDM_NO_WINDOW ? 0 : cases[c].window;
    struct tlg_signal *const s = make(&cfg);
    const double rate = tlg_rate_hz(&cfg.rate);
    tlg_cf64 points[1200], before[1200];
    long double complex wanted[100];
    tlg_cs16 got[100];
    long double cross = 0, power = 0, worst = 0;
    size_t n_got = 0, j;
    uint64_t l;

    for (l = 13; l < 160; l += 21) {
      unsigned prefix, i;
      const uint64_t start = start_of(l, &prefix);
      const uint64_t first = (uint64_t)ceill((long double)start * rate / 30720000);

      assert_int_equal(tlg_lte_signal_points(s, l, points), TLG_OK);
      assert_int_equal(tlg_lte_signal_points(s, l - 1, before), TLG_OK);
      for (i = 0; i < 8; i++) {
        const uint64_t n = first + (uint64_t)(i * 250.0 / 30720000 * rate);
        const long double t = (long double)n * 30720000 / rate - start; /* since the symbol began */
        long double complex want = at(points, n_sc, t - prefix);
        tlg_cs16 x;

        if (t >= prefix + 2048) {
          continue;
        }
        if (t < window) {
          const long double w = 0.5L - 0.5L * cosl(two_pi / 2 * t / window);
          unsigned p;
          const uint64_t last = start_of(l - 1, &p);

          want = w * want + (1 - w) * at(before, n_sc, t + (start - last - p));
        }
        assert_int_equal(tlg_signal_seek(s, n), TLG_OK);
        tlg_signal_read(s, &x, 1);
        wanted[n_got] = want;
        got[n_got++] = x;
        cross += x.i * creall(want) + x.q * cimagl(want);
        power += creall(want) * creall(want) + cimagl(want) * cimagl(want);
      }
    }
    for (j = 0; j < n_got; j++) {
      worst = fmaxl(worst, fabsl(got[j].i - cross / power * creall(wanted[j])));
      worst = fmaxl(worst, fabsl(got[j].q - cross / power * cimagl(wanted[j])));
    }
    assert_true(n_got > 40);
    /* half a unit of rounding; the scale, fitted to n roundings, is off by sqrt(1/12 / n) of them at the largest
     * sample, some four times the mean one */
    if (!(worst <= 0.5L + 4 * 4 * sqrtl(1 / 12.0L / (long double)n_got))) {
      fail_msg("case %zu: a sample is %.3Lf off", c, worst);
    }
    tlg_signal_free(s);
  }
}

/* A second at any rate against the transform of its symbols: error in dB below the signal, rounding included. */
static void points_come_back(void **state)
{
  static const struct {
    unsigned prb, ports, subframe;
    enum tlg_lte_model model;
  } cases[] = {{100, 1, 0, TLG_LTE_CELL},  {100, 2, 5, TLG_LTE_CELL},   {6, 1, 0, TLG_LTE_CELL},
               {15, 2, 0, TLG_LTE_CELL},   {25, 1, 3, TLG_LTE_ETM1_1},  {50, 1, 5, TLG_LTE_ETM3_2},
               {75, 1, 0, TLG_LTE_ETM3_3}, {100, 1, 9, TLG_LTE_ETM3_1A}};
  size_t c;

  (void)state;
  for (c = 0; c < sizeof cases / sizeof *cases; c++) {
    const unsigned prb = cases[c].prb, n_fft = tlg_lte_fft_size(prb), n_sc = 12 * prb;
    const struct tlg_signal_cfg cfg = {
        .kind = TLG_SIGNAL_LTE,
        .rate = {15000 * (uint64_t)n_fft, 1},
        .lte = {.cell = {.prb = prb, .id = 100, .ports = cases[c].ports}, .model = cases[c].model, .mcs = 16}};
    struct tlg_signal *const s = make(&cfg);
    fftw_complex *const x = fftw_alloc_complex(n_fft);
    const fftw_plan plan = fftw_plan_dft_1d((int)n_fft, x, x, FFTW_FORWARD, FFTW_ESTIMATE);
    tlg_cs16 y[2048];
    tlg_cf64 points[1200];
    double cross = 0, power = 0, error = 0, all = 0;
    unsigned l, i, pass;

    for (pass = 0; pass < 2; pass++) {
      for (l = 0; l < 14; l++) {
        unsigned prefix;
        const uint64_t start = start_of(14 * cases[c].subframe + l, &prefix);

        assert_int_equal(tlg_signal_seek(s, (start + prefix) * n_fft / 2048), TLG_OK);
        tlg_signal_read(s, y, n_fft);
        for (i = 0; i < n_fft; i++) {
          x[i][0] = y[i].i;
          x[i][1] = y[i].q;
        }
        fftw_execute(plan);
        assert_int_equal(tlg_lte_signal_points(s, 14 * cases[c].subframe + l, points), TLG_OK);
        for (i = 0; i < n_sc; i++) {
          const unsigned k = i < n_sc / 2 ? n_fft - n_sc / 2 + i : i - n_sc / 2 + 1;

          if (!pass) {
            cross += x[k][0] * points[i].i + x[k][1] * points[i].q;
            power += points[i].i * points[i].i + points[i].q * points[i].q;
          } else {
            const double g = cross / power;

            error += pow(x[k][0] - g * points[i].i, 2) + pow(x[k][1] - g * points[i].q, 2);
            all += g * g * (points[i].i * points[i].i + points[i].q * points[i].q);
          }
        }
      }
    }
    /* rounding: 2 n_fft / 12 in each line; the signal: 2^30 10^-1.5 (its level) n_fft n_fft / n_sc in each */
    if (!(10 * log10(error / all) < -82)) {
      fail_msg("case %zu: the points come back at %.1f dB", c, 10 * log10(error / all));
    }
    fftw_destroy_plan(plan);
    fftw_free(x);
    tlg_signal_free(s);
  }
}

/* ---- a plain receiver, from the points ---- */

struct grid {
  struct tlg_lte_cell cell;
  tlg_cf64 points[14 * 1200];
  double complex h[2];
};

static void get_grid(struct tlg_signal *s, uint64_t subframe, struct grid *g)
{
  unsigned l;

  for (l = 0; l < 14; l++) {
    assert_int_equal(tlg_lte_signal_points(s, 14 * subframe + l, g->points + l * 12 * (size_t)g->cell.prb), TLG_OK);
  }
}

static double complex point(const struct grid *g, uint32_t re)
{
  return g->points[re].i + g->points[re].q * (double complex)I;
}

/* Bits by the nearest point, after the known channel is taken out: directly, or pair by pair. */
static void receive(const struct grid *g, const uint32_t *re, size_t n, unsigned bits, uint8_t *out)
{
  tlg_cf64 points[256];
  size_t i;

  assert_int_equal(tlg_lte_constellation(bits, points), TLG_OK);
  for (i = 0; i < n; i++) {
    double complex x = point(g, re[i]);
    double least = 1e9;
    unsigned p, best = 0;

    if (g->cell.ports == 2) {
      const double complex a = point(g, re[i & ~(size_t)1]), b = point(g, re[i | 1]);
      const double power = cabs2(g->h[0]) + cabs2(g->h[1]);

      x = i % 2 ? conj(g->h[0]) * b - g->h[1] * conj(a) : conj(g->h[0]) * a + g->h[1] * conj(b);
      x *= sqrt(2) / power;
    }
    for (p = 0; p < 1u << bits; p++) {
      const double d = cabs2(x - points[p].i - points[p].q * (double complex)I);

      if (d < least) {
        least = d;
        best = p;
      }
    }
    assert_true(least < 1e-20);
    tlg_lte_put_bits(out + bits * i, best, bits);
  }
}

static void descramble(uint8_t *bits, size_t n, uint32_t c_init, size_t first)
{
  uint8_t *const c = malloc(n + 1);
  size_t i;

  tlg_lte_gold(c_init, first, c, n);
  for (i = 0; i < n; i++) {
    bits[i] ^= c[i];
  }
  free(c);
}

/* The elements of the shared channel in the order of mapping. */
static size_t shared_elements(const struct grid *g, unsigned subframe, unsigned cfi, uint32_t *re)
{
  static uint8_t map[14 * 1200];
  size_t n = 0;
  uint32_t i;

  assert_int_equal(tlg_lte_map(&g->cell, subframe, cfi, map), TLG_OK);
  for (i = 0; i < 14 * 12 * g->cell.prb; i++) {
    if (map[i] == TLG_LTE_RE_PDSCH) {
      re[n++] = i;
    }
  }
  return n;
}

static void check_subframe(struct tlg_signal *s, struct grid *g, const struct tlg_signal_cfg *cfg, uint64_t number)
{
  static uint8_t bits[120000], want[120000];
  static uint32_t re[15000];
  const unsigned subframe = (unsigned)(number % 10), id = g->cell.id, n_sc = 12 * g->cell.prb;
  const unsigned sfn = (unsigned)((cfg->lte.sfn + number / 10) % 1024), cfi = cfg->lte.cfi ? cfg->lte.cfi : 1;
  struct tlg_lte_shared shared;
  struct tlg_lte_reg regs[800];
  const uint8_t *block;
  unsigned n_bits, i, l, port, n_cce, level = 4, first;
  size_t n;
  uint8_t dci[64], e[300];

  get_grid(s, number, g);
  /* reference signals */
  for (port = 0; port < g->cell.ports; port++) {
    for (l = 0; l < 14; l++) {
      tlg_cf64 values[200];
      unsigned k = 0;

      n = tlg_lte_crs(id, g->cell.prb, port, subframe, l, &k, values);
      for (i = 0; i < n; i++) {
        const double complex z = values[i].i + values[i].q * (double complex)I;

        assert_true(cabs2(point(g, l * n_sc + k + 6 * i) - g->h[port] * z) < 1e-20);
      }
    }
  }
  /* synchronisation */
  if (subframe % 5 == 0) {
    tlg_cf64 pss[62];
    int8_t sss[62];

    tlg_lte_pss(id % 3, pss);
    tlg_lte_sss(id, subframe, sss);
    for (i = 0; i < 62; i++) {
      const double complex z = pss[i].i + pss[i].q * (double complex)I;

      assert_true(cabs2(point(g, 6 * n_sc + n_sc / 2 - 31 + i) - g->h[0] * z) < 1e-20);
      assert_true(cabs2(point(g, 5 * n_sc + n_sc / 2 - 31 + i) - g->h[0] * sss[i]) < 1e-20);
    }
    for (i = 0; i < 5; i++) {
      assert_true(cabs2(point(g, 6 * n_sc + n_sc / 2 - 36 + i)) == 0.0);
      assert_true(cabs2(point(g, 5 * n_sc + n_sc / 2 + 31 + i)) == 0.0);
    }
  }
  /* broadcast */
  if (subframe == 0) {
    const struct tlg_lte_mib mib = {.prb = g->cell.prb,
                                    .phich_resource = g->cell.phich_resource,
                                    .phich_extended = g->cell.phich_extended,
                                    .sfn = sfn};
    uint8_t packed[24];

    tlg_lte_pbch_res(id, g->cell.prb, re);
    receive(g, re, 240, 2, bits);
    descramble(bits, 480, id, 480 * (size_t)(sfn % 4));
    tlg_lte_mib_pack(&mib, packed);
    tlg_lte_pbch_encode(packed, g->cell.ports, want);
    assert_memory_equal(bits, want + 480 * (size_t)(sfn % 4), 480);
  }
  /* format indicator */
  tlg_lte_pcfich_regs(&g->cell, regs);
  receive(g, regs[0].re, 16, 2, bits);
  descramble(bits, 32, tlg_lte_pcfich_init(id, subframe), 0);
  tlg_lte_cfi_bits(cfi, want);
  assert_memory_equal(bits, want, 32);
  /* the PHICH is silent */
  n = 4 * (size_t)tlg_lte_phich_regs(&g->cell, regs);
  for (i = 0; i < n; i++) {
    assert_true(cabs2(point(g, regs[i / 4].re[i % 4])) == 0.0);
  }
  /* control information */
  n = tlg_lte_pdcch_regs(&g->cell, cfi, regs);
  n_cce = (unsigned)n / 9;
  while (level > n_cce) {
    level /= 2;
  }
  first = (unsigned)tlg_lte_search_space(n_cce, level, 0x1234, subframe, 0);
  assert_int_equal(tlg_lte_signal_shared(s, subframe, &shared), TLG_OK);
  for (i = 0; i < 4 * n; i++) {
    const double p = cabs2(point(g, regs[i / 4].re[i % 4]));
    const int used = cfg->lte.data == TLG_LTE_CODED && i / 36 >= first && i / 36 < first + level;

    assert_true(used ? p > 0.0 || g->cell.ports == 2 : p == 0.0);
  }
  n = shared_elements(g, subframe, cfi, re);
  assert_int_equal(shared.n_re, n);
  if (cfg->lte.data == TLG_LTE_UNCODED) {
    receive(g, re, n, shared.bits_a_symbol, bits);
    assert_int_equal(shared.block_bits, 0);
    return;
  }
  receive(g, regs[9 * (size_t)first].re, 36 * (size_t)level, 2, bits);
  descramble(bits, 72 * (size_t)level, tlg_lte_pdcch_init(id, subframe), 72 * (size_t)first);
  n_bits = (cfg->lte.dci_1a ? tlg_lte_dci_1a : tlg_lte_dci_1)(g->cell.prb, shared.mcs, (unsigned)(number % 8),
                                                              (unsigned)(number / 8 % 2), 0, dci);
  assert_int_equal(tlg_lte_dci_encode(dci, n_bits, 0x1234, e, 72 * (size_t)level), TLG_OK);
  assert_memory_equal(bits, e, 72 * (size_t)level);
  /* data */
  assert_int_equal(shared.coded_bits, n * shared.bits_a_symbol);
  receive(g, re, n, shared.bits_a_symbol, bits);
  descramble(bits, shared.coded_bits, tlg_lte_pdsch_init(id, subframe, 0x1234, 0), 0);
  assert_int_equal(tlg_lte_signal_block(s, number, &block, &n_bits), TLG_OK);
  assert_int_equal(n_bits, shared.block_bits);
  assert_int_equal(tlg_lte_dlsch_encode(block, n_bits, shared.bits_a_symbol, g->cell.ports, 0, want, shared.coded_bits),
                   TLG_OK);
  assert_memory_equal(bits, want, shared.coded_bits);
  assert_true((n_bits + 24) * 1000.0 / shared.coded_bits <= 930.0);
}

static void cells(void **state)
{
  static struct grid g;
  unsigned w, c;

  (void)state;
  for (w = 0; w < 6; w++) {
    for (c = 0; c < 4; c++) {
      const struct tlg_signal_cfg cfg = {.kind = TLG_SIGNAL_LTE,
                                         .rate = {30720000, 1},
                                         .modulation = TLG_256QAM,
                                         .seed = c,
                                         .lte = {.cell = {.prb = widths[w],
                                                          .id = 83 * w + 167 * c % 504 % 84,
                                                          .ports = 1 + c % 2,
                                                          .phich_resource = c,
                                                          .phich_extended = c == 3},
                                                 .mcs = 7 * c + w,
                                                 .table_256 = c == 2,
                                                 .dci_1a = c == 1,
                                                 .data = c == 3 ? TLG_LTE_UNCODED : TLG_LTE_CODED,
                                                 .cfi = c == 0 ? 2 : 0,
                                                 .sfn = c == 0 ? 1021 : 7,
                                                 .port_gain = {{0.8, -0.3}, {-0.2, 0.9}}}};
      struct tlg_signal_cfg full = cfg;
      struct tlg_signal *s = make(&cfg);
      uint64_t number;

      assert_int_equal(tlg_signal_defaults(&full, NULL), TLG_OK);
      g.cell = full.lte.cell;
      g.h[0] = g.h[1] = 1.0;
      if (g.cell.ports == 2) {
        g.h[0] = 0.8 - 0.3 * (double complex)I;
        g.h[1] = -0.2 + 0.9 * (double complex)I;
      }
      for (number = 0; number < 11; number++) {
        check_subframe(s, &g, &full, number);
      }
      for (number = 20; number < 60; number += 10) { /* frame numbers count, also past 1023 */
        check_subframe(s, &g, &full, number);
      }
      check_subframe(s, &g, &full, 123456);
      tlg_signal_free(s);
    }
  }
}

/* The same content after --repeat; another without. */
static void repeats(void **state)
{
  struct tlg_signal_cfg cfg = {.kind = TLG_SIGNAL_LTE, .rate = {1920000, 1}, .repeat = 80, .lte = {.mcs = 5, .sfn = 8}};
  static tlg_cs16 a[100000], b[100000];
  struct tlg_signal *s = make(&cfg);

  (void)state;
  assert_int_equal(tlg_signal_period(s), 76800);
  tlg_signal_read(s, a, 100000);
  assert_memory_equal(a, a + 76800, 23200 * sizeof *a);
  assert_memory_not_equal(a, a + 19200, 19200 * sizeof *a);
  tlg_signal_free(s);
  cfg.repeat = 0;
  s = make(&cfg);
  tlg_signal_read(s, b, 100000);
  assert_memory_equal(a + 100, b + 100, 76700 * sizeof *a); /* the first overlap comes from another frame */
  assert_memory_not_equal(a + 76800, b + 76800, 23200 * sizeof *a);
  tlg_signal_free(s);
}

/* ---- level ---- */

static void level(void **state)
{
  static const struct {
    unsigned prb, ports;
    enum tlg_lte_model model;
    double tolerance_db;
  } cases[] = {{100, 1, TLG_LTE_CELL, 0.01},    {100, 2, TLG_LTE_CELL, 0.05},   {6, 1, TLG_LTE_CELL, 0.1},
               {25, 2, TLG_LTE_CELL, 0.05},     {100, 1, TLG_LTE_ETM1_1, 0.01}, {50, 1, TLG_LTE_ETM3_1, 0.02},
               {100, 1, TLG_LTE_ETM3_1A, 0.01}, {25, 1, TLG_LTE_ETM3_2, 0.03},  {100, 1, TLG_LTE_ETM3_3, 0.01}};
  size_t c, k;

  /* Two ports added up send the same reference signals three subcarriers apart: a symbol's ends, and so its prefix,
   * hold more than their share. */
  (void)state;
  for (c = 0; c < sizeof cases / sizeof *cases; c++) {
    const unsigned n_fft = tlg_lte_fft_size(cases[c].prb);
    const size_t n = 150 * (size_t)n_fft; /* a frame */
    const struct tlg_signal_cfg cfg = {
        .kind = TLG_SIGNAL_LTE,
        .rate = {15000 * (uint64_t)n_fft, 1},
        .amplitude = 3000.0,
        .lte = {.cell = {.prb = cases[c].prb, .id = 1, .ports = cases[c].ports}, .model = cases[c].model, .mcs = 10}};
    struct tlg_signal *const s = make(&cfg);
    tlg_cs16 *const x = malloc(n * sizeof *x);
    double sum = 0;

    tlg_signal_read(s, x, n);
    for (k = 0; k < n; k++) {
      sum += x[k].i * (double)x[k].i + x[k].q * (double)x[k].q;
    }
    if (!(fabs(10 * log10(sum / (double)n / 9e6)) < cases[c].tolerance_db)) {
      fail_msg("case %zu: %.3f dB off", c, 10 * log10(sum / (double)n / 9e6));
    }
    free(x);
    tlg_signal_free(s);
  }
}

/* ---- test models ---- */

static double mean_power(const struct grid *g, const uint8_t *map, enum tlg_lte_re kind, unsigned first_l,
                         unsigned last_l)
{
  const unsigned n_sc = 12 * g->cell.prb;
  double sum = 0;
  unsigned i, n = 0;

  for (i = first_l * n_sc; i < (last_l + 1) * n_sc; i++) {
    if (map[i] == kind && cabs2(point(g, i)) > 0) {
      sum += cabs2(point(g, i));
      n++;
    }
  }
  return n ? sum / n : 0;
}

static void check_db(double power, double db, const char *what, unsigned prb, unsigned model)
{
  if (!(fabs(10 * log10(power) - db) < 0.002)) {
    fail_msg("%s of model %u at %u blocks: %.3f dB, wanted %.3f", what, model, prb, 10 * log10(power), db);
  }
}

static void models(void **state)
{
  /* TS 36.141, 6.1.1 */
  static const double pcfich[6] = {3.222, 0, 0, 0, 0, 0}, pdcch[6] = {0.792, 2.290, 1.880, 1.065, 1.488, 1.195};
  static const unsigned elements[6] = {18, 18, 36, 90, 126, 180};
  static const unsigned n_listed[2][6] = {{4, 7, 15, 30, 50, 60}, {3, 7, 13, 25, 38, 50}};
  static const double low_db[2] = {-3, -6};
  static uint8_t map[14 * 1200];
  static struct grid g;
  unsigned m, w, sf, i;

  (void)state;
  for (m = TLG_LTE_ETM1_1; m <= TLG_LTE_ETM3_3; m++) {
    for (w = 0; w < 6; w++) {
      const struct tlg_signal_cfg cfg = {.kind = TLG_SIGNAL_LTE,
                                         .rate = {30720000, 1},
                                         .lte = {.cell = {.prb = widths[w], .id = 1}, .model = (enum tlg_lte_model)m}};
      const unsigned n_sc = 12 * widths[w], two = m >= TLG_LTE_ETM3_2, second = m == TLG_LTE_ETM3_3;
      struct tlg_signal *const s = make(&cfg);

      g.cell = (struct tlg_lte_cell){widths[w], 1, 1, 0, 0};
      for (sf = 0; sf < 10; sf++) {
        const int sync = sf == 0 || sf == 5, flat = !two || (widths[w] == 6 && sync);
        const unsigned n_low = two ? n_listed[second][w] : 0;
        const double high = two ? (widths[w] - n_low * pow(10, low_db[second] / 10)) / (widths[w] - n_low) : 1;
        double first = 0, sum[100] = {0};
        unsigned count[100] = {0}, low = 0, used = 0;

        get_grid(s, 30 + sf, &g); /* one frame, over and over */
        assert_int_equal(tlg_lte_map(&g.cell, sf, 1, map), TLG_OK);
        check_db(mean_power(&g, map, TLG_LTE_RE_PCFICH, 0, 0), pcfich[w], "PCFICH", widths[w], m);
        check_db(mean_power(&g, map, TLG_LTE_RE_PDCCH, 0, 1), pdcch[w], "PDCCH", widths[w], m);
        check_db(mean_power(&g, map, TLG_LTE_RE_PHICH, 0, 0), 0, "PHICH", widths[w], m);
        check_db(mean_power(&g, map, TLG_LTE_RE_CRS0, 0, 13), 0, "CRS", widths[w], m);
        for (i = 0; i < (widths[w] == 6 ? 2 : 1) * n_sc; i++) {
          first += cabs2(point(&g, i));
          used += map[i] == TLG_LTE_RE_PDCCH && cabs2(point(&g, i)) > 0;
        }
        assert_int_equal(used, 4 * elements[w]);
        /* the control region as strong as if every element in it were used */
        assert_true(fabs(10 * log10(first / ((widths[w] == 6 ? 2 : 1) * n_sc))) < 0.002);
        if (sync) {
          const double boost = flat ? 0 : 10 * log10(high);

          check_db(mean_power(&g, map, TLG_LTE_RE_PSS, 6, 6), boost, "PSS", widths[w], m);
          check_db(mean_power(&g, map, TLG_LTE_RE_SSS, 5, 5), boost, "SSS", widths[w], m);
          if (!sf) {
            check_db(mean_power(&g, map, TLG_LTE_RE_PBCH, 7, 10), boost, "PBCH", widths[w], m);
          }
        }
        for (i = 0; i < 14 * n_sc; i++) {
          if (map[i] == TLG_LTE_RE_PDSCH) {
            sum[i % n_sc / 12] += cabs2(point(&g, i));
            count[i % n_sc / 12]++;
          }
        }
        for (i = 0; i < widths[w]; i++) {
          const double mean = count[i] ? sum[i] / count[i] : 1;
          const double want = flat ? 1 : mean < 0.7 ? pow(10, low_db[second] / 10) : high;

          low += !flat && mean < 0.7;
          assert_true(!count[i] || fabs(10 * log10(mean / want)) < (count[i] < 50 ? 1.5 : 1.0));
        }
        assert_int_equal(low, flat ? 0 : n_low);
      }
      tlg_signal_free(s);
    }
  }
}

/* The data of a test model: zeros, scrambled. The low ones of E-TM3.2 to RNTI 1, the others to 0. */
static void model_data(void **state)
{
  static struct grid g;
  static uint32_t re[15000], part[2][15000];
  static uint8_t bits[120000];
  const struct tlg_signal_cfg cfg = {
      .kind = TLG_SIGNAL_LTE, .rate = {30720000, 1}, .lte = {.cell = {.prb = 100, .id = 1}, .model = TLG_LTE_ETM3_2}};
  struct tlg_signal *const s = make(&cfg);
  size_t n, i, count[2] = {0, 0};
  unsigned which;

  (void)state;
  g.cell = (struct tlg_lte_cell){100, 1, 1, 0, 0};
  get_grid(s, 1, &g);
  n = shared_elements(&g, 1, 1, re);
  for (which = 0; which < 2; which++) {
    const double amplitude = which ? pow(10, 2.426 / 20) : pow(10, -3.0 / 20);

    for (i = 0; i < n; i++) {
      const unsigned b = re[i] % 1200 / 12;
      /* subframe 1 of the standard's table begins 1, 3, 5, 6, 7, 9, 10, 13, 17, 19 and ends 91, 93, 95, 99 */
      static const uint8_t begins[20] = {0, 1, 0, 1, 0, 1, 1, 1, 0, 1, 1, 0, 0, 1, 0, 0, 0, 1, 0, 1};
      const int low = fabs(cabs2(point(&g, re[i])) - pow(10, 0.2426)) > 1e-9;

      if (b < 20) {
        assert_int_equal(low, begins[b]);
      }
      if (low == !which) {
        part[which][count[which]++] = re[i];
        g.points[re[i]].i /= amplitude;
        g.points[re[i]].q /= amplitude;
      }
    }
    receive(&g, part[which], count[which], which ? 2 : 4, bits);
    descramble(bits, count[which] * (which ? 2 : 4), tlg_lte_pdsch_init(1, 1, which ? 0 : 1, 0), 0);
    for (i = 0; i < count[which] * (which ? 2 : 4); i++) {
      assert_int_equal(bits[i], 0);
    }
  }
  assert_int_equal(count[0] + count[1], n);
  assert_int_equal(count[0], 60 * 150);
  tlg_signal_free(s);
}

static void refusals(void **state)
{
  static const struct tlg_lte_signal bad[] = {
      {.cell = {.prb = 7}},
      {.cell = {.prb = 6, .id = 504}},
      {.cell = {.prb = 6, .ports = 3}},
      {.cell = {.prb = 6, .ports = 4}},
      {.cell = {.prb = 6, .phich_resource = 4}},
      {.cell = {.prb = 6}, .cfi = 4},
      {.cell = {.prb = 6, .phich_extended = 1}, .cfi = 2},
      {.cell = {.prb = 6}, .mcs = 29},
      {.cell = {.prb = 6}, .mcs = 28, .table_256 = 1},
      {.cell = {.prb = 6}, .mcs = 20, .table_256 = 1, .dci_1a = 1},
      {.cell = {.prb = 6}, .sfn = 1024},
      {.cell = {.prb = 6}, .rnti = 65536},
      {.cell = {.prb = 6, .ports = 2}, .model = TLG_LTE_ETM1_1},
      {.cell = {.prb = 6}, .model = (enum tlg_lte_model)9},
      {.cell = {.prb = 100}}, /* at 1.92 Msps */
  };
  struct tlg_signal_cfg cfg = {.kind = TLG_SIGNAL_LTE, .rate = {1920000, 1}};
  struct tlg_error err;
  enum tlg_lte_model model;
  struct tlg_signal *s;
  struct tlg_lte_shared shared;
  size_t i;

  (void)state;
  for (i = 0; i < sizeof bad / sizeof *bad; i++) {
    cfg.lte = bad[i];
    err.text[0] = '\0';
    if (tlg_signal_defaults(&cfg, &err) != TLG_EINVAL || !err.text[0]) {
      fail_msg("case %zu was taken", i);
    }
  }
  cfg.lte = (struct tlg_lte_signal){.mcs = 0};
  cfg.repeat = 21;
  assert_int_equal(tlg_signal_defaults(&cfg, &err), TLG_EINVAL);
  cfg.repeat = 0;
  assert_int_equal(tlg_signal_defaults(&cfg, &err), TLG_OK);
  assert_int_equal(cfg.lte.cell.prb, 6);
  for (i = TLG_LTE_CELL; i <= TLG_LTE_ETM3_3; i++) {
    assert_int_equal(tlg_lte_model_parse(&model, tlg_lte_model_name((enum tlg_lte_model)i)), TLG_OK);
    assert_int_equal(model, i);
  }
  assert_int_equal(tlg_lte_model_parse(&model, "etm9"), TLG_EINVAL);
  s = make(&(struct tlg_signal_cfg){.kind = TLG_SIGNAL_TONE});
  assert_int_equal(tlg_lte_signal_shared(s, 0, &shared), TLG_EINVAL);
  assert_int_equal(tlg_lte_signal_points(s, 0, &(tlg_cf64){0, 0}), TLG_EINVAL);
  tlg_signal_free(s);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(waveform),   cmocka_unit_test(points_come_back),
      cmocka_unit_test(cells),      cmocka_unit_test(repeats),
      cmocka_unit_test(level),      cmocka_unit_test(models),
      cmocka_unit_test(model_data), cmocka_unit_test(refusals),
  };

  return cmocka_run_group_tests_name("lte_tx", tests, NULL, NULL);
}
