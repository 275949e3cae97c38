/* SPDX-License-Identifier: Apache-2.0 */
/* EVM on resource grids: of a plain transmitter's grids with errors of known size, and against a second, plain way. */
#include "lte_cell.h"
#include "tlg_lte_evm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static tlg_cf64 port0[CELL_RES], port1[CELL_RES];
static tlg_cf64 *const ports[2] = {port0, port1};
static tlg_cf64 out[2 * TLG_EVM_WINDOWS][CELL_RES];
static const tlg_cf64 *const views[2 * TLG_EVM_WINDOWS] = {out[0], out[1], out[2], out[3], out[4], out[5]};

static double place(unsigned prb, unsigned k)
{
  return (double)k - 6.0 * prb + (k >= 6 * prb);
}

static struct tlg_lte_evm *measure(const struct cell *c, unsigned streams)
{
  struct tlg_lte_evm_cfg cfg = {.cell = c->cell, .streams = streams};
  struct tlg_lte_evm *e;
  struct tlg_error err;

  assert_int_equal(tlg_lte_evm_new(&e, &cfg, &err), TLG_OK);
  return e;
}

/* What lies between transmitter and grid. */
struct world {
  double gain, phase, lag_ts, offset_hz; /* of all */
  double ripple, period;                 /* amplitude 1 + ripple cos(2 pi f / period), f in subcarriers */
  double noise[TLG_EVM_WINDOWS];         /* power in each element, relative to reference signals */
  tlg_cf64 h1;                           /* port 1 relative to port 0 */
};

static void through(struct cell *c, const struct world *w, unsigned first)
{
  const unsigned n_sc = 12 * c->cell.prb;
  unsigned l, k, v;

  for (l = 0; l < TLG_LTE_SYMBOLS; l++) {
    unsigned prefix;
    const double t = (tlg_lte_symbol_start(l, &prefix) + prefix + 1024.0) / 30720 - 0.5;

    for (k = 0; k < n_sc; k++) {
      const double f = place(c->cell.prb, k);
      const double a = w->gain * (1 + w->ripple * cos(2 * M_PI * f / (w->period > 0 ? w->period : 1)));
      const double p = w->phase + 2 * M_PI * (w->offset_hz * 1e-3 * t - f * w->lag_ts / 2048);
      tlg_cf64 x = port0[l * n_sc + k], y;

      if (c->cell.ports == 2) {
        const tlg_cf64 q = port1[l * n_sc + k];

        x.i += w->h1.i * q.i - w->h1.q * q.q;
        x.q += w->h1.i * q.q + w->h1.q * q.i;
      }
      y.i = a * (x.i * cos(p) - x.q * sin(p));
      y.q = a * (x.i * sin(p) + x.q * cos(p));
      for (v = 0; v < TLG_EVM_WINDOWS; v++) {
        const double sigma = w->gain * sqrt(w->noise[v] / 2);

        out[first + v][l * n_sc + k].i = y.i + sigma * cell_gauss(c);
        out[first + v][l * n_sc + k].q = y.q + sigma * cell_gauss(c);
      }
    }
  }
}

static const struct tlg_lte_evm_result *run(struct tlg_lte_evm *e, struct cell *c, const struct world *w, int subframes)
{
  const struct tlg_lte_evm_result *r;
  int k;

  for (k = 0; k < subframes; k++) {
    cell_subframe(c, (unsigned)k % 10, ports);
    through(c, w, 0);
    assert_int_equal(tlg_lte_evm_push(e, k, views), TLG_OK);
  }
  assert_int_equal(tlg_lte_evm_finish(e, &r), TLG_OK);
  return r;
}

/* TS 36.104, table E.5.1-1: windows in the middle of the prefix. In T_s: prefix 144. */
static void windows_of_the_standard(void **state)
{
  static const double expected[6][3] = {{6, 7 * 16, 3 * 16},
                                        {15, 15 * 8, 4 * 8},
                                        {25, 34 * 4, 3 * 4},
                                        {50, 69 * 2, 4 * 2},
                                        {75, 105 * 4.0 / 3, 4 * 4.0 / 3},
                                        {100, 140, 5}};
  static const unsigned window[6] = {5, 12, 32, 66, 102, 136};
  double a[TLG_EVM_WINDOWS];
  size_t k;

  (void)state;
  for (k = 0; k < 6; k++) {
    const double step = 2048.0 / tlg_lte_fft_size((unsigned)expected[k][0]);

    assert_int_equal(tlg_lte_evm_windows((unsigned)expected[k][0], a), TLG_OK);
    assert_float_equal(a[TLG_EVM_LOW], expected[k][1], 1e-9);
    assert_float_equal(a[TLG_EVM_HIGH], expected[k][2], 1e-9);
    /* W positions from the first to the last, as far before the middle of the prefix as after it, to one sample */
    assert_float_equal((a[TLG_EVM_LOW] - a[TLG_EVM_HIGH]) / step, window[k] - 1, 1e-9);
    assert_true(fabs((a[TLG_EVM_LOW] + a[TLG_EVM_HIGH]) / 2 - 72) <= step);
  }
  assert_int_equal(tlg_lte_evm_windows(7, a), TLG_EINVAL);
  assert_float_equal(tlg_evm_limit(TLG_EVM_QPSK, 0), 0.175, 1e-12);
  assert_float_equal(tlg_evm_limit(TLG_EVM_16QAM, 0), 0.125, 1e-12);
  assert_float_equal(tlg_evm_limit(TLG_EVM_64QAM, 0), 0.08, 1e-12);
  assert_float_equal(tlg_evm_limit(TLG_EVM_256QAM, 0), 0.035, 1e-12);
  assert_float_equal(tlg_evm_limit(TLG_EVM_256QAM, 1), 0.045, 1e-12);
}

static void clean_grids_have_no_error(void **state)
{
  static const unsigned prbs[] = {6, 15, 25, 50, 75, 100};
  size_t b, m;
  unsigned n_ports;

  (void)state;
  for (b = 0; b < 6; b++) {
    for (m = 0; m < 4; m++) {
      for (n_ports = 1; n_ports <= 2; n_ports++) {
        const struct world w = {.gain = 300, .phase = 1, .lag_ts = 3.3, .offset_hz = 2, .h1 = {0.5, -0.7}};
        const struct tlg_lte_evm_result *r;
        struct tlg_lte_evm *e;
        struct cell c;
        size_t k;

        cell_init(&c, prbs[b], (unsigned)(17 * b + 101 * m + n_ports), n_ports, 2 * (unsigned)m + 2);
        c.cfi = 1 + (unsigned)(m % 3);
        e = measure(&c, 1);
        r = run(e, &c, &w, 12);
        assert_int_equal(r->subframes, 12);
        assert_int_equal(r->units_unclear, 0);
        assert_int_equal(r->units_empty, 0);
        assert_int_equal(r->units, 12 * prbs[b]);
        for (k = 0; k < TLG_EVM_MODULATIONS; k++) {
          assert_int_equal(r->stream[0].channel[k].units, k == m ? 12 * prbs[b] : 0);
        }
        assert_true(r->stream[0].channel[m].evm < 1e-9);
        for (k = TLG_EVM_PBCH; k < TLG_EVM_CHANNELS; k++) {
          assert_true(r->stream[0].channel[k].after[TLG_EVM_LOW].n > 0);
          assert_true(r->stream[0].channel[k].evm < 1e-9);
        }
        for (k = 0; k < 12; k++) {
          assert_int_equal(r->stream[0].subframe[k].cfi, c.cfi);
        }
        assert_float_equal(r->stream[0].rs_dbfs, 20 * log10(300 / 32768.0), 1e-6);
        assert_float_equal(r->stream[0].lag_ts, 3.3, 1e-6);
        assert_float_equal(r->stream[0].offset_hz, 2, 1e-6);
        assert_float_equal(r->pdsch_db, 0, 1e-6);
        assert_float_equal(r->rho_b, 1, 0);
        tlg_lte_evm_free(e);
      }
    }
  }
}

static void noise_reads_its_own_size(void **state)
{
  static const double sigma[4] = {0.1, 0.05, 0.03, 0.01};
  size_t m;

  (void)state;
  for (m = 0; m < 4; m++) {
    struct world w = {.gain = 1000, .h1 = {0, 1}};
    const struct tlg_lte_evm_result *r;
    const struct tlg_lte_evm_channel *ch;
    struct tlg_lte_evm *e;
    struct cell c;
    size_t k, v;

    for (v = 0; v < TLG_EVM_WINDOWS; v++) {
      w.noise[v] = sigma[m] * sigma[m];
    }
    w.noise[TLG_EVM_LOW] *= 1.44; /* 1.2 times the error there */
    cell_init(&c, 50, 77, 1, 2 * (unsigned)m + 2);
    e = measure(&c, 1);
    r = run(e, &c, &w, 20);
    ch = &r->stream[0].channel[m];
    assert_int_equal(ch->units, 1000);
    /* Some 140,000 elements: 0.3 % of scatter, and some for the equaliser's noise. */
    assert_true(fabs(ch->after[TLG_EVM_HIGH].rms / sigma[m] - 1) < 0.012);
    assert_true(fabs(ch->after[TLG_EVM_LOW].rms / sigma[m] - 1.2) < 0.015);
    assert_true(fabs(ch->evm - ch->after[TLG_EVM_LOW].rms) < 1e-12);
    assert_true(fabs(ch->before[TLG_EVM_HIGH].rms / sigma[m] - 1) < 0.012);
    assert_int_equal(r->stream[0].worst, TLG_EVM_LOW);
    assert_true(ch->after[TLG_EVM_HIGH].peak > 2.5 * sigma[m] && ch->after[TLG_EVM_HIGH].peak < 6 * sigma[m]);
    for (k = 0; k < 600; k++) {
      assert_true(fabs(r->stream[0].subcarrier[k].rms / sigma[m] - 1.2) < 0.35);
    }
    for (k = 1; k < 14; k++) {
      assert_true(fabs(r->stream[0].symbol[k].rms / sigma[m] - 1.2) < 0.05);
    }
    assert_int_equal(r->stream[0].symbol[0].n, 0); /* control */
    for (k = 0; k < 10; k++) {
      assert_true(fabs(r->stream[0].number[k].rms / sigma[m] - 1.2) < 0.05);
    }
    assert_true(fabs(r->stream[0].noise_dbc - 20 * log10(sigma[m])) < 0.3);
    assert_true(fabs(r->stream[0].channel[TLG_EVM_PBCH].after[TLG_EVM_HIGH].rms / sigma[m] - 1) < 0.15);
    tlg_lte_evm_free(e);
  }
}

/* A ripple of 200 subcarriers' period passes the moving average over 55 subcarriers but for a part that it keeps:
 * its mean over them, sin(pi 57 / 200) / (19 sin(pi 3 / 200)). */
static void ripple_is_equalised(void **state)
{
  struct world w = {.gain = 1000, .ripple = 0.01, .period = 200};
  const struct tlg_lte_evm_result *r;
  const double kept = sin(M_PI * 57 / 200) / (19 * sin(M_PI * 3 / 200)), left = 0.01 * (1 - kept) / sqrt(2);
  struct tlg_lte_evm *e;
  struct cell c;

  (void)state;
  cell_init(&c, 100, 3, 1, 6);
  e = measure(&c, 1);
  r = run(e, &c, &w, 10);
  assert_float_equal(r->stream[0].channel[TLG_EVM_64QAM].evm_before, 0.01 / sqrt(2), 1e-4);
  assert_float_equal(r->stream[0].channel[TLG_EVM_64QAM].evm, left, 2e-4);
  assert_true(r->stream[0].channel[TLG_EVM_64QAM].evm < 0.0013);
  tlg_lte_evm_free(e);
}

static void power_of_blocks_and_symbols(void **state)
{
  struct world w = {.gain = 700, .noise = {1e-6, 1e-6, 1e-6}};
  unsigned n_ports;

  (void)state;
  for (n_ports = 1; n_ports <= 2; n_ports++) {
    const struct tlg_lte_evm_result *r;
    struct tlg_lte_evm *e;
    struct cell c;
    unsigned p;
    double power = 0;

    w.h1 = (tlg_cf64){-0.3, 0.8};
    cell_init(&c, 75, 400, n_ports, 2);
    c.rho_b = n_ports == 1 ? 0.8 : 1.25;
    for (p = 0; p < 75; p++) {
      c.bits[p] = 2 * (p % 5);
      c.gain[p] = tlg_lte_bandwidth_hz(75) ? pow(10, ((p * 7) % 13 - 6.0) / 20) : 0;
      power += c.bits[p] ? c.gain[p] * c.gain[p] / 60 : 0;
    }
    e = measure(&c, 1);
    r = run(e, &c, &w, 10);
    assert_int_equal(r->units_empty, 150);
    assert_int_equal(r->units_unclear, 0);
    for (p = 0; p < 4; p++) {
      const struct tlg_lte_evm_channel *ch = &r->stream[0].channel[p];

      assert_int_equal(ch->units, 150);
      assert_true(ch->evm < 2.5e-3 && ch->evm > 0.5e-3);
    }
    assert_float_equal(r->rho_b, c.rho_b, 0);
    assert_true(fabs(r->pdsch_db - 10 * log10(power)) < 0.05);
    tlg_lte_evm_free(e);
  }
}

static void two_streams_differ_by_what_was_added(void **state)
{
  const struct world w = {.gain = 900, .noise = {1e-4, 1e-4, 1e-4}}, w2 = {.gain = 450, .phase = 2, .lag_ts = 9.8288};
  const struct tlg_lte_evm_result *r;
  struct tlg_lte_evm *e;
  struct cell c;
  static tlg_cf64 second[TLG_EVM_WINDOWS][CELL_RES];
  unsigned k, v, n;

  (void)state;
  cell_init(&c, 100, 1, 1, 6);
  e = measure(&c, 2);
  for (k = 0; k < 10; k++) {
    cell_subframe(&c, k, ports);
    through(&c, &w, 0);
    for (v = 0; v < TLG_EVM_WINDOWS; v++) { /* the second one: the first through another gain, and -60 dB */
      memcpy(port0, out[v], sizeof port0);
      for (n = 0; n < 14 * 1200; n++) {
        port0[n].i += 900 * 1e-3 * M_SQRT1_2 * cell_gauss(&c);
        port0[n].q += 900 * 1e-3 * M_SQRT1_2 * cell_gauss(&c);
      }
      through(&c, &w2, 3);
      memcpy(second[v], out[3], sizeof second[v]);
    }
    memcpy(out[3], second, sizeof second);
    assert_int_equal(tlg_lte_evm_push(e, k, views), TLG_OK);
  }
  assert_int_equal(tlg_lte_evm_finish(e, &r), TLG_OK);
  for (v = 0; v < TLG_EVM_WINDOWS; v++) {
    assert_true(fabs(20 * log10(r->added_after[v].rms) + 60) < 0.1);
    assert_true(fabs(20 * log10(r->added_before[v].rms) + 60) < 0.1);
    assert_true(fabs(r->stream[0].pdsch.after[v].rms / 0.01 - 1) < 0.02);
    assert_true(fabs(r->stream[1].pdsch.after[v].rms / sqrt(1e-4 + 1e-6) - 1) < 0.02);
  }
  tlg_lte_evm_free(e);
}

/* What is no constellation is not taken for one: Gaussian data, on one port; on two, what only one of them sends. */
static void no_constellation_is_unclear(void **state)
{
  unsigned n_ports;

  (void)state;
  for (n_ports = 1; n_ports <= 2; n_ports++) {
    const struct world w = {.gain = 500, .h1 = {0.9, 0.3}, .noise = {1e-6, 1e-6, 1e-6}};
    const struct tlg_lte_evm_result *r;
    struct tlg_lte_evm *e;
    struct cell c;
    unsigned k, n;
    static uint8_t map[CELL_RES];

    cell_init(&c, 100, 12, n_ports, 0);
    e = measure(&c, 1);
    for (k = 0; k < 10; k++) {
      cell_subframe(&c, k, ports);
      tlg_lte_map(&c.cell, k, c.cfi, map);
      for (n = 0; n < 14 * 1200; n++) {
        if (map[n] == TLG_LTE_RE_PDSCH && n_ports == 1) {
          port0[n] = (tlg_cf64){cell_gauss(&c) * M_SQRT1_2, cell_gauss(&c) * M_SQRT1_2};
        } else if (map[n] == TLG_LTE_RE_PDSCH) { /* two streams of 64QAM */
          uint8_t bits[6];
          unsigned i, port;

          for (port = 0; port < 2; port++) {
            for (i = 0; i < 6; i++) {
              bits[i] = (cell_random(&c) >> 9) & 1;
            }
            tlg_lte_modulate(6, bits, 1, &ports[port][n]);
            ports[port][n].i *= M_SQRT1_2;
            ports[port][n].q *= M_SQRT1_2;
          }
        }
      }
      through(&c, &w, 0);
      assert_int_equal(tlg_lte_evm_push(e, k, views), TLG_OK);
    }
    assert_int_equal(tlg_lte_evm_finish(e, &r), TLG_OK);
    assert_true(r->units_unclear >= 990);
    assert_true(r->stream[0].pdsch.units <= 10);
    assert_true(r->stream[0].channel[TLG_EVM_PBCH].evm < 0.01); /* and what can be measured, is */
    assert_true(r->stream[0].channel[TLG_EVM_CRS].evm < 0.01);
    tlg_lte_evm_free(e);
  }
}

/* A second, plain way: amplitude and phase of the ratios averaged, smoothed over 19 and joined by straight lines, each
 * error summed by unit, all from the definition; on grids with noise of -30 dB whose phase and slope are 0. */
static void plain_computation_agrees(void **state)
{
  enum { PRB = 15, SC = 12 * PRB };
  const struct world w = {.gain = 100, .noise = {1e-3, 1e-3, 1e-3}, .ripple = 0.03, .period = 300};
  static tlg_cf64 sent[10][CELL_RES], got[TLG_EVM_WINDOWS][10][CELL_RES];
  static uint8_t map[CELL_RES];
  const struct tlg_lte_evm_result *r;
  struct tlg_lte_evm *e;
  struct cell c;
  double plain[2], evm;
  unsigned k, v, l, s, m;

  (void)state;
  cell_init(&c, PRB, 250, 1, 4);
  e = measure(&c, 1);
  for (k = 0; k < 10; k++) {
    cell_subframe(&c, k, ports);
    memcpy(sent[k], port0, sizeof sent[k]);
    through(&c, &w, 0);
    for (v = 0; v < TLG_EVM_WINDOWS; v++) {
      memcpy(got[v][k], out[v], sizeof got[v][k]);
    }
    assert_int_equal(tlg_lte_evm_push(e, k, views), TLG_OK);
  }
  assert_int_equal(tlg_lte_evm_finish(e, &r), TLG_OK);
  for (v = 0; v < 2; v++) {
    double a[SC] = {0}, p[SC] = {0}, sa[2 * 2 * PRB], sp[2 * 2 * PRB], h[SC][2], units = 0;
    unsigned where[2 * 2 * PRB], n = 0, count[SC] = {0};

    for (k = 0; k < 10; k++) {
      for (l = 0; l < 14; l++) {
        tlg_cf64 values[2 * PRB];
        unsigned first, i, found = tlg_lte_crs(250, PRB, 0, k, l, &first, values);

        for (i = 0; i < found; i++) {
          const tlg_cf64 y = got[v][k][l * SC + first + 6 * i], x = values[i];
          const double re = y.i * x.i + y.q * x.q, im = y.q * x.i - y.i * x.q;

          a[first + 6 * i] += hypot(re, im);
          p[first + 6 * i] += atan2(im, re);
          count[first + 6 * i]++;
        }
      }
    }
    for (s = 0; s < SC; s++) {
      if (count[s]) {
        assert_int_equal(count[s], 20);
        where[n++] = s;
      }
    }
    assert_int_equal(n, 4 * PRB);
    for (m = 0; m < n; m++) {
      int half = m < 9 ? (int)m : 9, i;

      half = (int)(n - 1 - m) < half ? (int)(n - 1 - m) : half;
      sa[m] = sp[m] = 0;
      for (i = -half; i <= half; i++) {
        sa[m] += a[where[(int)m + i]] / 20 / (2 * half + 1);
        sp[m] += p[where[(int)m + i]] / 20 / (2 * half + 1);
      }
    }
    for (s = 0; s < SC; s++) {
      double x;

      for (m = 0; m + 2 < n && s > where[m + 1]; m++) {
      }
      x = (place(PRB, s) - place(PRB, where[m])) / (place(PRB, where[m + 1]) - place(PRB, where[m]));
      h[s][0] = sa[m] + x * (sa[m + 1] - sa[m]);
      h[s][1] = sp[m] + x * (sp[m + 1] - sp[m]);
    }
    for (k = 0; k < 10; k++) {
      tlg_lte_map(&c.cell, k, c.cfi, map);
      for (m = 0; m < PRB; m++) {
        double error = 0, reference = 0;

        for (l = 0; l < 14; l++) {
          for (s = 12 * m; s < 12 * m + 12; s++) {
            const tlg_cf64 y = got[v][k][l * SC + s], x = sent[k][l * SC + s];

            if (map[l * SC + s] == TLG_LTE_RE_PDSCH) {
              const double re = (y.i * cos(h[s][1]) + y.q * sin(h[s][1])) / h[s][0];
              const double im = (y.q * cos(h[s][1]) - y.i * sin(h[s][1])) / h[s][0];

              error += (re - x.i) * (re - x.i) + (im - x.q) * (im - x.q);
              reference += x.i * x.i + x.q * x.q;
            }
          }
        }
        units += error / reference;
      }
    }
    plain[v] = sqrt(units / (10 * PRB));
    /* The measurement also takes out each subframe's own phase, frequency and timing, found from 120 reference signals:
     * their noise is up to 3/240 of the power, 0.6 % of the EVM; and one gain for all. */
    assert_true(fabs(r->stream[0].channel[TLG_EVM_16QAM].after[v].rms / plain[v] - 1) < 0.012);
  }
  evm = plain[0] > plain[1] ? plain[0] : plain[1];
  assert_true(fabs(r->stream[0].channel[TLG_EVM_16QAM].evm / evm - 1) < 0.012);
  tlg_lte_evm_free(e);
}

static void part_of_a_band(void **state)
{
  const struct world w = {.gain = 1000, .noise = {1e-4, 1e-4, 1e-4}};
  struct tlg_lte_evm_cfg cfg = {.sc_first = 564, .sc_end = 636};
  const struct tlg_lte_evm_result *r;
  struct tlg_lte_evm *e;
  struct tlg_error err;
  struct cell c;
  unsigned k;

  (void)state;
  cell_init(&c, 100, 9, 1, 4);
  cfg.cell = c.cell;
  assert_int_equal(tlg_lte_evm_new(&e, &cfg, &err), TLG_OK);
  for (k = 0; k < 10; k++) {
    unsigned n, v;

    cell_subframe(&c, k, ports);
    through(&c, &w, 0);
    for (n = 0; n < 14 * 1200; n++) { /* out of sight */
      for (v = 0; v < TLG_EVM_WINDOWS && (n % 1200 < 564 || n % 1200 >= 636); v++) {
        out[v][n].i = NAN;
      }
    }
    assert_int_equal(tlg_lte_evm_push(e, k, views), TLG_OK);
  }
  assert_int_equal(tlg_lte_evm_finish(e, &r), TLG_OK);
  assert_true(fabs(r->stream[0].channel[TLG_EVM_16QAM].evm / 0.01 - 1) < 0.05);
  assert_int_equal(r->stream[0].subcarrier[563].n, 0);
  assert_true(r->stream[0].subcarrier[600].n > 0);
  assert_int_equal(r->stream[0].subframe[3].cfi, 0); /* its PCFICH lies elsewhere: three symbols are left out */
  assert_int_equal(r->stream[0].symbol[2].n, 0);
  out[1][600].q = INFINITY;
  assert_int_equal(tlg_lte_evm_push(e, 10, views), TLG_EINVAL);
  tlg_lte_evm_free(e);
  cfg.sc_first = 630;
  assert_int_equal(tlg_lte_evm_new(&e, &cfg, &err), TLG_EINVAL);
  cfg.sc_first = 0;
  cfg.smooth = 18;
  assert_int_equal(tlg_lte_evm_new(&e, &cfg, &err), TLG_EINVAL);
  assert_null(e);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(windows_of_the_standard),
      cmocka_unit_test(clean_grids_have_no_error),
      cmocka_unit_test(noise_reads_its_own_size),
      cmocka_unit_test(ripple_is_equalised),
      cmocka_unit_test(power_of_blocks_and_symbols),
      cmocka_unit_test(two_streams_differ_by_what_was_added),
      cmocka_unit_test(no_constellation_is_unclear),
      cmocka_unit_test(plain_computation_agrees),
      cmocka_unit_test(part_of_a_band),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
