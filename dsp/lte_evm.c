/* SPDX-License-Identifier: Apache-2.0 */
/* Error vector magnitude on resource grids, by TS 36.104 annex E and TS 36.141 annex F. */
#include "lte_evm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the standard's numbers --------------------------------------------------------------------------------- */

int tlg_lte_evm_windows(unsigned prb, double advance_ts[TLG_EVM_WINDOWS])
{
  static const struct {
    unsigned prb, fft, prefix, window;
  } table[] = {{6, 128, 9, 5},     {15, 256, 18, 12},    {25, 512, 36, 32},
               {50, 1024, 72, 66}, {75, 1536, 108, 102}, {100, 2048, 144, 136}};
  size_t k;

  for (k = 0; k < sizeof table / sizeof *table; k++) {
    if (table[k].prb == prb && advance_ts) {
      const unsigned first = (table[k].prefix - table[k].window) / 2;
      const double ts = 2048.0 / table[k].fft;

      advance_ts[TLG_EVM_LOW] = (table[k].prefix - first) * ts;
      advance_ts[TLG_EVM_HIGH] = (table[k].prefix - first - table[k].window + 1) * ts;
      advance_ts[TLG_EVM_MIDDLE] = 0.5 * (advance_ts[TLG_EVM_LOW] + advance_ts[TLG_EVM_HIGH]);
      return 0;
    }
  }
  return TLG_EINVAL;
}

const char *tlg_evm_channel_name(int channel)
{
  static const char *const names[TLG_EVM_CHANNELS] = {"QPSK",   "16QAM", "64QAM", "256QAM", "PBCH",
                                                      "PCFICH", "PDCCH", "PSS",   "SSS",    "CRS"};

  return channel >= 0 && channel < TLG_EVM_CHANNELS ? names[channel] : "unknown";
}

double tlg_evm_limit(int modulation, int test)
{
  static const double limit[TLG_EVM_MODULATIONS] = {0.175, 0.125, 0.08, 0.035};

  return modulation >= 0 && modulation < TLG_EVM_MODULATIONS ? limit[modulation] + (test ? 0.01 : 0) : NAN;
}

/* ---- the object ---------------------------------------------------------------------------------------------- */

/* Sums over elements or units: squares of errors relative to the reference. */
struct sum {
  uint64_t n;
  double squares, peak; /* peak: of a square */
};

struct channel {
  uint64_t units;
  struct sum after[TLG_EVM_WINDOWS], before[TLG_EVM_WINDOWS];       /* by element */
  double unit_after[TLG_EVM_WINDOWS], unit_before[TLG_EVM_WINDOWS]; /* by unit, all blocks done */
  double block_after[TLG_EVM_WINDOWS], block_before[TLG_EVM_WINDOWS];
  uint64_t block_units;
  double worst_after, worst_before; /* sums over blocks of units * (the larger of low and high) */
};

/* The equaliser of a stream at a window: per port, for each subcarrier, and one gain. */
struct equaliser {
  tlg_cf64 *h[2], g[2];
  tlg_cf64 *inverse, inverse_g; /* of port 0's */
};

struct stream {
  struct equaliser eq[TLG_EVM_WINDOWS];
  struct channel channel[TLG_EVM_CHANNELS], pdsch;
  struct sum subcarrier[2][TLG_LTE_MAX_SC], symbol[2][TLG_LTE_SYMBOLS], number[2][10];
  double rs_power, flatness, noise, noise_power; /* of the last block */
  double rs_sum, flatness_sum, noise_sum, noise_power_sum;
  unsigned blocks;
  double offset_sum, lag_sum;
  uint64_t n_subframes;
  struct tlg_lte_evm_subframe *subframe;
};

struct slot {
  int64_t k;
  int fresh;
  size_t index; /* of the subframe in the streams' lists */
  unsigned cfi;
  tlg_cf64 *grid[2 * TLG_EVM_WINDOWS];  /* frequency and timing taken out */
  tlg_cf64 *rs[2 * TLG_EVM_WINDOWS][2]; /* ratios to the reference signals: [symbol of RS][m] for each port */
  uint8_t bits[TLG_LTE_MAX_PRB];
  double gain[TLG_LTE_MAX_PRB];
  struct sum added[TLG_LTE_SYMBOLS]; /* of the second stream */
};

struct tlg_lte_evm {
  struct tlg_lte_evm_cfg cfg;
  unsigned n_sc, ports; /* ports: that PDSCH can be measured on, 1 or 2; 0: more ports than that */
  unsigned rs_ports;
  /* Reference signals of ports 0 and 1, subframe 0..9: symbol l[i], m-th at subcarrier first[..] + 6 m. */
  unsigned rs_symbol[EVM_RS_SYMBOLS], rs_first[2][EVM_RS_SYMBOLS];
  tlg_cf64 *rs_value; /* [port][number][i][EVM_MAX_RS] */
  unsigned n_rs;
  uint16_t sc[TLG_LTE_SYMBOLS * TLG_LTE_MAX_SC]; /* of an element */
  uint8_t *map[10][3];                           /* by number and cfi - 1, made when needed */
  struct slot *slot;
  unsigned n_slots; /* filled */
  unsigned next;    /* slot to fill */
  unsigned fresh;   /* filled since the last block */
  double rho_b;     /* 0 = not known yet */
  struct stream stream[2];
  size_t cap_subframes;
  double pdsch_sum;
  uint64_t pdsch_n;
  struct sum added_after[TLG_EVM_WINDOWS], added_before[TLG_EVM_WINDOWS];
  tlg_cf64 pss[62];
  struct tlg_lte_reg *regs;
  struct tlg_lte_evm_result result;
};

static tlg_cf64 mul(tlg_cf64 a, tlg_cf64 b)
{
  return (tlg_cf64){a.i * b.i - a.q * b.q, a.i * b.q + a.q * b.i};
}

static tlg_cf64 mul_conj(tlg_cf64 a, tlg_cf64 b) /* a times the conjugate of b */
{
  return (tlg_cf64){a.i * b.i + a.q * b.q, a.q * b.i - a.i * b.q};
}

static double square(tlg_cf64 a)
{
  return a.i * a.i + a.q * a.q;
}

static tlg_cf64 over(tlg_cf64 a, tlg_cf64 b)
{
  const double d = square(b);
  const tlg_cf64 p = mul_conj(a, b);

  return d > 0 ? (tlg_cf64){p.i / d, p.q / d} : (tlg_cf64){0, 0};
}

static tlg_cf64 turned(double angle)
{
  return (tlg_cf64){cos(angle), sin(angle)};
}

/* Frequency of a subcarrier in units of 15 kHz. */
static double place(const struct tlg_lte_evm *e, unsigned k)
{
  return (double)k - 6.0 * e->cfg.cell.prb + (k >= 6 * e->cfg.cell.prb ? 1 : 0);
}

static int seen(const struct tlg_lte_evm *e, unsigned k)
{
  return k >= e->cfg.sc_first && k < e->cfg.sc_end;
}

static const tlg_cf64 *rs_values(const struct tlg_lte_evm *e, unsigned port, unsigned number, unsigned i)
{
  return e->rs_value + ((size_t)(port * 10 + number) * EVM_RS_SYMBOLS + i) * EVM_MAX_RS;
}

int tlg_lte_evm_new(struct tlg_lte_evm **evm, const struct tlg_lte_evm_cfg *cfg, struct tlg_error *err)
{
  struct tlg_lte_evm *e;
  unsigned port, number, i, l, s, w;
  size_t n;
  int status;

  if (!evm) {
    return tlg_error_set(err, TLG_EINVAL, "no place for the object");
  }
  *evm = NULL;
  if (!cfg || cfg->streams > 2 || cfg->average > 100 || cfg->smooth > 201 || (cfg->smooth && cfg->smooth % 2 == 0)) {
    return tlg_error_set(err, TLG_EINVAL,
                         "1 or 2 streams, an average over 1 to 100 subframes, smoothing over an odd number up to 201");
  }
  if ((status = tlg_lte_cell_check(&cfg->cell, err)) != TLG_OK) {
    return status;
  }
  e = calloc(1, sizeof *e);
  if (!e) {
    return tlg_error_set(err, TLG_ENOMEM, "out of memory");
  }
  e->cfg = *cfg;
  e->cfg.streams = cfg->streams ? cfg->streams : 1;
  e->cfg.average = cfg->average ? cfg->average : 10;
  e->cfg.smooth = cfg->smooth ? cfg->smooth : 19;
  e->n_sc = 12 * cfg->cell.prb;
  if (cfg->sc_end == 0) {
    e->cfg.sc_first = 0;
    e->cfg.sc_end = e->n_sc;
  }
  if (e->cfg.sc_end > e->n_sc || e->cfg.sc_first + 24 > e->cfg.sc_end) {
    free(e);
    return tlg_error_set(err, TLG_EINVAL, "subcarriers %u to %u: at least 24 of the cell's %u must be seen",
                         cfg->sc_first, cfg->sc_end, 12 * cfg->cell.prb);
  }
  e->ports = cfg->cell.ports <= 2 ? cfg->cell.ports : 0;
  e->rs_ports = cfg->cell.ports == 1 ? 1 : 2;
  e->rs_value = calloc((size_t)2 * 10 * EVM_RS_SYMBOLS * EVM_MAX_RS, sizeof *e->rs_value);
  e->slot = calloc(e->cfg.average, sizeof *e->slot);
  e->regs = calloc(1024, sizeof *e->regs);
  if (!e->rs_value || !e->slot || !e->regs) {
    goto fail;
  }
  for (port = 0; port < e->rs_ports; port++) {
    for (number = 0; number < 10; number++) {
      for (i = 0, l = 0; l < TLG_LTE_SYMBOLS && i < EVM_RS_SYMBOLS; l++) {
        tlg_cf64 *v = e->rs_value + ((size_t)(port * 10 + number) * EVM_RS_SYMBOLS + i) * EVM_MAX_RS;
        const unsigned count = tlg_lte_crs(cfg->cell.id, cfg->cell.prb, port, number, l, &e->rs_first[port][i], v);

        if (count) {
          e->n_rs = count;
          e->rs_symbol[i++] = l;
        }
      }
    }
  }
  tlg_lte_pss(cfg->cell.id % 3, e->pss);
  n = (size_t)TLG_LTE_SYMBOLS * e->n_sc;
  for (i = 0; i < e->cfg.average; i++) {
    for (s = 0; s < e->cfg.streams * TLG_EVM_WINDOWS; s++) {
      if (!(e->slot[i].grid[s] = malloc(n * sizeof(tlg_cf64)))) {
        goto fail;
      }
      for (port = 0; port < e->rs_ports; port++) {
        if (!(e->slot[i].rs[s][port] = calloc((size_t)EVM_RS_SYMBOLS * EVM_MAX_RS, sizeof(tlg_cf64)))) {
          goto fail;
        }
      }
    }
  }
  for (s = 0; s < e->cfg.streams; s++) {
    for (w = 0; w < TLG_EVM_WINDOWS; w++) {
      for (port = 0; port < e->rs_ports; port++) {
        if (!(e->stream[s].eq[w].h[port] = calloc(e->n_sc, sizeof(tlg_cf64)))) {
          goto fail;
        }
      }
      if (!(e->stream[s].eq[w].inverse = calloc(e->n_sc, sizeof(tlg_cf64)))) {
        goto fail;
      }
    }
  }
  for (i = 0; i < n; i++) {
    e->sc[i] = (uint16_t)(i % e->n_sc);
  }
  *evm = e;
  return 0;

fail:
  tlg_lte_evm_free(e);
  return tlg_error_set(err, TLG_ENOMEM, "out of memory");
}

void tlg_lte_evm_free(struct tlg_lte_evm *e)
{
  unsigned i, s, w, port;

  if (!e) {
    return;
  }
  for (i = 0; e->slot && i < e->cfg.average; i++) {
    for (s = 0; s < 2 * TLG_EVM_WINDOWS; s++) {
      free(e->slot[i].grid[s]);
      free(e->slot[i].rs[s][0]);
      free(e->slot[i].rs[s][1]);
    }
  }
  for (s = 0; s < 2; s++) {
    for (w = 0; w < TLG_EVM_WINDOWS; w++) {
      for (port = 0; port < 2; port++) {
        free(e->stream[s].eq[w].h[port]);
      }
      free(e->stream[s].eq[w].inverse);
    }
    free(e->stream[s].subframe);
  }
  for (i = 0; i < 10; i++) {
    for (s = 0; s < 3; s++) {
      free(e->map[i][s]);
    }
  }
  free(e->regs);
  free(e->slot);
  free(e->rs_value);
  free(e);
}

/* ---- frequency and timing of a subframe ----------------------------------------------------------------------- */

/* Middle of symbol l's useful part in subframes, relative to the subframe's middle. */
static double instant(unsigned l)
{
  unsigned prefix;
  const unsigned start = tlg_lte_symbol_start(l, &prefix);

  return ((double)(start + prefix) + TLG_LTE_USEFUL / 2.0) / TLG_LTE_SUBFRAME - 0.5;
}

struct offsets {
  double phase; /* rad, in the middle of the subframe, at DC */
  double drift; /* rad a subframe */
  double slope; /* rad a subcarrier */
};

/* From port 0's reference signals: the slope over frequency by two correlations, a near one that cannot be ambiguous
 * and one over half the band; then a line through the phases of the four symbols. TS 36.104, E.4 and E.5: frequency and
 * timing are those of each subframe. */
static void find_offsets(const struct tlg_lte_evm *e, const tlg_cf64 *grid, unsigned number, struct offsets *o)
{
  static tlg_cf64 none;
  tlg_cf64 z[EVM_RS_SYMBOLS][EVM_MAX_RS], near = none, far = none;
  double f[EVM_RS_SYMBOLS][EVM_MAX_RS], angle[EVM_RS_SYMBOLS], mean_t = 0, mean_a = 0, tt = 0, ta = 0, gap = 0;
  unsigned n[EVM_RS_SYMBOLS], i, m;
  uint64_t pairs = 0;

  for (i = 0; i < EVM_RS_SYMBOLS; i++) {
    const tlg_cf64 *r = rs_values(e, 0, number, i), *row = grid + (size_t)e->rs_symbol[i] * e->n_sc;

    for (n[i] = 0, m = 0; m < e->n_rs; m++) {
      const unsigned k = e->rs_first[0][i] + 6 * m;

      if (seen(e, k)) {
        z[i][n[i]] = mul_conj(row[k], r[m]);
        f[i][n[i]++] = place(e, k);
      }
    }
    for (m = 0; m + 1 < n[i]; m++) {
      const tlg_cf64 c = mul_conj(z[i][m + 1], z[i][m]);

      if (f[i][m + 1] - f[i][m] < 6.5) { /* not across DC */
        near.i += c.i;
        near.q += c.q;
      }
    }
  }
  o->slope = square(near) > 0 ? atan2(near.q, near.i) / 6 : 0;
  for (i = 0; i < EVM_RS_SYMBOLS; i++) {
    const unsigned half = n[i] / 2;

    for (m = 0; m + half < n[i]; m++) {
      const double d = f[i][m + half] - f[i][m];
      const tlg_cf64 c = mul(mul_conj(z[i][m + half], z[i][m]), turned(-o->slope * d));

      far.i += c.i;
      far.q += c.q;
      gap += d;
      pairs++;
    }
  }
  if (pairs && square(far) > 0) {
    o->slope += atan2(far.q, far.i) * (double)pairs / gap;
  }
  for (i = 0; i < EVM_RS_SYMBOLS; i++) {
    tlg_cf64 sum = none;

    for (m = 0; m < n[i]; m++) {
      const tlg_cf64 c = mul(z[i][m], turned(-o->slope * f[i][m]));

      sum.i += c.i;
      sum.q += c.q;
    }
    angle[i] = atan2(sum.q, sum.i);
    if (i) {
      angle[i] -= 2 * M_PI * floor((angle[i] - angle[i - 1]) / (2 * M_PI) + 0.5);
    }
    mean_t += instant(e->rs_symbol[i]) / EVM_RS_SYMBOLS;
    mean_a += angle[i] / EVM_RS_SYMBOLS;
  }
  for (i = 0; i < EVM_RS_SYMBOLS; i++) {
    const double t = instant(e->rs_symbol[i]) - mean_t;

    tt += t * t;
    ta += t * (angle[i] - mean_a);
  }
  o->drift = ta / tt;
  o->phase = mean_a - o->drift * mean_t;
}

/* Take the offsets out, and keep the ratios to the reference signals. */
static void store(struct tlg_lte_evm *e, struct slot *slot, unsigned which, const tlg_cf64 *grid, unsigned number,
                  struct offsets *o)
{
  tlg_cf64 slope[TLG_LTE_MAX_SC];
  unsigned l, k, port, i, m;

  find_offsets(e, grid, number, o);
  for (k = e->cfg.sc_first; k < e->cfg.sc_end; k++) {
    slope[k] = turned(-o->slope * place(e, k));
  }
  for (l = 0; l < TLG_LTE_SYMBOLS; l++) {
    const tlg_cf64 turn = turned(-o->phase - o->drift * instant(l));
    const tlg_cf64 *in = grid + (size_t)l * e->n_sc;
    tlg_cf64 *out = slot->grid[which] + (size_t)l * e->n_sc;

    for (k = e->cfg.sc_first; k < e->cfg.sc_end; k++) {
      out[k] = mul(in[k], mul(slope[k], turn));
    }
  }
  for (port = 0; port < e->rs_ports; port++) {
    for (i = 0; i < EVM_RS_SYMBOLS; i++) {
      const tlg_cf64 *r = rs_values(e, port, number, i);
      const tlg_cf64 *row = slot->grid[which] + (size_t)e->rs_symbol[i] * e->n_sc;

      for (m = 0; m < e->n_rs; m++) {
        k = e->rs_first[port][i] + 6 * m;
        if (seen(e, k)) {
          slot->rs[which][port][i * EVM_MAX_RS + m] = mul_conj(row[k], r[m]); /* |r| = 1 */
        }
      }
    }
  }
}

/* ---- equaliser: annex E.6 -------------------------------------------------------------------------------------- */

/* Mean over the subframes of a block at each reference subcarrier, amplitude and phase by themselves, the phases
 * unwrapped (about that of the complex mean); then a moving average over `smooth` of them, shorter at the edges; then
 * straight lines between them. */
static void equalise(struct tlg_lte_evm *e, unsigned stream, unsigned window, unsigned port, double *flatness,
                     double *noise, double *power)
{
  const unsigned which = stream * TLG_EVM_WINDOWS + window;
  struct equaliser *eq = &e->stream[stream].eq[window];
  tlg_cf64 *h = eq->h[port], gain = {0, 0};
  double amplitude[EVM_MAX_RS_SC], phase[EVM_MAX_RS_SC], smooth_a[EVM_MAX_RS_SC], smooth_p[EVM_MAX_RS_SC];
  unsigned at[EVM_MAX_RS_SC], n = 0, k, i, m, s, low = e->rs_first[port][0] < e->rs_first[port][1] ? 0 : 1;
  double least = INFINITY, most = 0, error = 0, sum = 0;
  uint64_t count = 0;

  /* Symbols 0 and 7 have one set of subcarriers, 4 and 11 the other, three apart: take them in turn. */
  for (m = 0; m < e->n_rs; m++) {
    for (i = 0; i < 2; i++) {
      const unsigned odd = i ? 1 - low : low; /* which set */
      tlg_cf64 mean = {0, 0};
      double a = 0, p = 0;

      k = e->rs_first[port][odd] + 6 * m;
      if (!seen(e, k)) {
        continue;
      }
      for (s = 0; s < e->n_slots; s++) {
        const tlg_cf64 *r = e->slot[s].rs[which][port];

        mean.i += r[odd * EVM_MAX_RS + m].i + r[(odd + 2) * EVM_MAX_RS + m].i;
        mean.q += r[odd * EVM_MAX_RS + m].q + r[(odd + 2) * EVM_MAX_RS + m].q;
      }
      for (s = 0; s < 2 * e->n_slots; s++) {
        const tlg_cf64 r = e->slot[s / 2].rs[which][port][(odd + 2 * (s % 2)) * EVM_MAX_RS + m];
        const tlg_cf64 d = mul_conj(r, mean);

        a += sqrt(square(r));
        p += square(d) > 0 ? atan2(d.q, d.i) : 0;
      }
      gain.i += mean.i;
      gain.q += mean.q;
      at[n] = k;
      amplitude[n] = a / (2 * e->n_slots);
      phase[n] = (square(mean) > 0 ? atan2(mean.q, mean.i) : 0) + p / (2 * e->n_slots);
      if (n) {
        phase[n] -= 2 * M_PI * floor((phase[n] - phase[n - 1]) / (2 * M_PI) + 0.5);
      }
      n++;
    }
  }
  eq->g[port] = (tlg_cf64){gain.i / (2.0 * e->n_slots * n), gain.q / (2.0 * e->n_slots * n)};
  if (port == 0) {
    eq->inverse_g = over((tlg_cf64){1, 0}, eq->g[0]);
  }
  for (m = 0; m < n; m++) {
    unsigned half = e->cfg.smooth / 2;

    half = half < m ? half : m;
    half = half < n - 1 - m ? half : n - 1 - m;
    smooth_a[m] = smooth_p[m] = 0;
    for (i = m - half; i <= m + half; i++) {
      smooth_a[m] += amplitude[i] / (2 * half + 1);
      smooth_p[m] += phase[i] / (2 * half + 1);
    }
    least = smooth_a[m] < least ? smooth_a[m] : least;
    most = smooth_a[m] > most ? smooth_a[m] : most;
  }
  for (m = 0, k = e->cfg.sc_first; k < e->cfg.sc_end; k++) {
    double x, a;

    while (m + 2 < n && k > at[m + 1]) {
      m++;
    }
    x = (place(e, k) - place(e, at[m])) / (place(e, at[m + 1]) - place(e, at[m]));
    a = smooth_a[m] + x * (smooth_a[m + 1] - smooth_a[m]);
    a = a > 0.1 * smooth_a[m] ? a : 0.1 * smooth_a[m]; /* beyond the outermost one of a steep flank */
    h[k] = turned(smooth_p[m] + x * (smooth_p[m + 1] - smooth_p[m]));
    h[k].i *= a;
    h[k].q *= a;
    if (port == 0) {
      eq->inverse[k] = over((tlg_cf64){1, 0}, h[k]);
    }
  }
  for (s = 0; s < e->n_slots; s++) {
    for (i = 0; i < EVM_RS_SYMBOLS; i++) {
      for (m = 0; m < e->n_rs; m++) {
        k = e->rs_first[port][i] + 6 * m;
        if (seen(e, k)) {
          const tlg_cf64 r = e->slot[s].rs[which][port][i * EVM_MAX_RS + m];

          error += square((tlg_cf64){r.i - h[k].i, r.q - h[k].q});
          sum += square(h[k]);
          count++;
        }
      }
    }
  }
  *flatness = least > 0 ? 20 * log10(most / least) : INFINITY;
  *noise = sum > 0 ? error / sum : 0;
  *power = sum / (double)count;
}

/* ---- elements ---------------------------------------------------------------------------------------------------- */

enum { AFTER, BEFORE };

/* The values of n elements (symbol * n_sc + subcarrier) as sent, in units of port 0's reference signals. On two ports
 * neighbours in the list are pairs of transmit diversity, of which each symbol stands for two equations. */
static void received(const struct tlg_lte_evm *e, unsigned stream, unsigned window, const struct slot *slot, int stage,
                     const uint32_t *re, size_t n, tlg_cf64 *x)
{
  const tlg_cf64 *grid = slot->grid[stream * TLG_EVM_WINDOWS + window];
  const struct equaliser *eq = &e->stream[stream].eq[window];
  size_t i;

  if (e->ports != 2) {
    for (i = 0; i < n; i++) {
      x[i] = mul(grid[re[i]], stage == AFTER ? eq->inverse[e->sc[re[i]]] : eq->inverse_g);
    }
    return;
  }
  for (i = 0; i + 1 < n; i += 2) {
    const unsigned ka = e->sc[re[i]], kb = e->sc[re[i + 1]];
    const tlg_cf64 h0a = stage == AFTER ? eq->h[0][ka] : eq->g[0], h1a = stage == AFTER ? eq->h[1][ka] : eq->g[1];
    const tlg_cf64 h0b = stage == AFTER ? eq->h[0][kb] : eq->g[0], h1b = stage == AFTER ? eq->h[1][kb] : eq->g[1];
    const tlg_cf64 ya = grid[re[i]], yb = grid[re[i + 1]];
    /* sqrt(2) ya = h0a xa - h1a xb*, sqrt(2) yb = h0b xb + h1b xa*: solve for xa and xb*. */
    const tlg_cf64 d0 = mul_conj(h0a, h0b), d1 = mul_conj(h1a, h1b), det = {d0.i + d1.i, d0.q + d1.q};
    const tlg_cf64 p = mul_conj(ya, h0b), q = mul_conj(h1a, yb); /* ya h0b*, h1a yb* */
    const tlg_cf64 r = mul_conj(h0a, yb), t = mul_conj(ya, h1b); /* h0a yb*, ya h1b* */
    const tlg_cf64 a = over((tlg_cf64){p.i + q.i, p.q + q.q}, det), b = over((tlg_cf64){r.i - t.i, r.q - t.q}, det);

    x[i] = (tlg_cf64){M_SQRT2 * a.i, M_SQRT2 * a.q};
    x[i + 1] = (tlg_cf64){M_SQRT2 * b.i, -M_SQRT2 * b.q};
  }
}

static const uint8_t *map_of(struct tlg_lte_evm *e, unsigned number, unsigned cfi)
{
  uint8_t **map = &e->map[number][cfi - 1];

  if (!*map && (*map = malloc((size_t)TLG_LTE_SYMBOLS * e->n_sc))) {
    if (tlg_lte_map(&e->cfg.cell, number, cfi, *map) != TLG_OK) {
      memset(*map, TLG_LTE_RE_GUARD, (size_t)TLG_LTE_SYMBOLS * e->n_sc);
    }
  }
  return *map;
}

/* The PDSCH elements of a resource block pair that can be seen, by symbol and then by frequency; in_b tells which lie
 * in symbols with reference signals. On two ports whole pairs only. */
static size_t unit_elements(const struct tlg_lte_evm *e, const uint8_t *map, unsigned prb, uint32_t *re, uint8_t *in_b)
{
  size_t n = 0;
  unsigned l, k;

  for (l = 0; l < TLG_LTE_SYMBOLS; l++) {
    const unsigned in_slot = l % 7;
    const size_t first = n;

    for (k = 12 * prb; k < 12 * prb + 12; k++) {
      if (map[l * e->n_sc + k] == TLG_LTE_RE_PDSCH && seen(e, k)) {
        re[n] = l * e->n_sc + k;
        in_b[n++] = in_slot == 0 || in_slot == 4;
      }
    }
    if (e->ports == 2 && (n - first) % 2) {
      n--;
    }
  }
  return n;
}

static void add(struct sum *s, double squared)
{
  s->n++;
  s->squares += squared;
  s->peak = squared > s->peak ? squared : s->peak;
}

/* ---- what is in a block ---------------------------------------------------------------------------------------------
 */

/* Port 0 and 1 sixteen symbols of the PCFICH: which of the three code words correlates. 0: none clearly. */
static unsigned read_cfi(const struct tlg_lte_evm *e, const struct slot *slot, tlg_cf64 *sent, uint32_t *where)
{
  const unsigned number = (unsigned)(slot->k % 10);
  struct tlg_lte_reg regs[4];
  tlg_cf64 x[16], points[3][16];
  uint8_t c[32], bits[32];
  double best = 0, power = 0;
  unsigned cfi, i, found = 0;

  tlg_lte_pcfich_regs(&e->cfg.cell, regs);
  for (i = 0; i < 16; i++) {
    where[i] = regs[i / 4].re[i % 4];
    if (!seen(e, where[i] % e->n_sc)) {
      return 0;
    }
  }
  received(e, 0, TLG_EVM_MIDDLE, slot, AFTER, where, 16, x);
  tlg_lte_gold(tlg_lte_pcfich_init(e->cfg.cell.id, number), 0, c, 32);
  for (i = 0; i < 16; i++) {
    power += square(x[i]);
  }
  for (cfi = 1; cfi <= 3; cfi++) {
    double sum = 0;

    tlg_lte_cfi_bits(cfi, bits);
    for (i = 0; i < 32; i++) {
      bits[i] ^= c[i];
    }
    tlg_lte_modulate(2, bits, 16, points[cfi - 1]);
    for (i = 0; i < 16; i++) {
      sum += mul_conj(x[i], points[cfi - 1][i]).i;
    }
    if (sum > best) {
      best = sum;
      found = cfi;
    }
  }
  /* Two wrong words differ in 10 or 11 of 16 symbols' bits; 0.6 of full correlation is far from those and from noise.
   */
  if (!found || best * best < 0.36 * 16 * power) {
    return 0;
  }
  memcpy(sent, points[found - 1], 16 * sizeof *sent);
  return found;
}

/* Errors of n known elements against ideal points times the real gain that fits best. */
static void known_channel(struct tlg_lte_evm *e, const struct slot *slot, int channel, const uint32_t *re,
                          const tlg_cf64 *ideal, size_t n)
{
  tlg_cf64 x[TLG_LTE_PBCH_RES];
  double reference = 0;
  unsigned s, w;
  int stage;
  size_t i;

  for (i = 0; i < n; i++) {
    reference += square(ideal[i]) / (double)n;
  }
  for (s = 0; s < e->cfg.streams; s++) {
    for (w = 0; w < TLG_EVM_WINDOWS; w++) {
      for (stage = AFTER; stage <= BEFORE; stage++) {
        struct channel *c = &e->stream[s].channel[channel];
        double g = 0;

        received(e, s, w, slot, stage, re, n, x);
        for (i = 0; i < n; i++) {
          g += mul_conj(x[i], ideal[i]).i / (reference * (double)n);
        }
        for (i = 0; i < n && g > 0; i++) {
          add(stage == AFTER ? &c->after[w] : &c->before[w],
              square((tlg_cf64){x[i].i - g * ideal[i].i, x[i].q - g * ideal[i].q}) / (g * g * reference));
        }
      }
    }
  }
}

/* Synchronisation signals of a cell of several ports, sent from any mixture of the first two: the mixture that fits
 * best, then what is left against it. Unequalised, one complex gain. */
static void mixed_channel(struct tlg_lte_evm *e, const struct slot *slot, int channel, const uint32_t *re,
                          const tlg_cf64 *ideal, size_t n)
{
  unsigned s, w;
  int stage;
  size_t i;

  for (s = 0; s < e->cfg.streams; s++) {
    for (w = 0; w < TLG_EVM_WINDOWS; w++) {
      for (stage = AFTER; stage <= BEFORE; stage++) {
        const tlg_cf64 *grid = slot->grid[s * TLG_EVM_WINDOWS + w];
        const struct equaliser *eq = &e->stream[s].eq[w];
        struct channel *c = &e->stream[s].channel[channel];
        tlg_cf64 uv = {0, 0}, uy = {0, 0}, vy = {0, 0}, alpha, beta = {0, 0}, fitted[62];
        double uu = 0, vv = 0, det, power = 0;

        for (i = 0; i < n; i++) {
          const unsigned k = e->sc[re[i]];
          const tlg_cf64 u = mul(stage == AFTER ? eq->h[0][k] : eq->g[0], ideal[i]);
          const tlg_cf64 v = mul(stage == AFTER ? eq->h[1][k] : eq->g[1], ideal[i]);
          const tlg_cf64 a = mul_conj(v, u), b = mul_conj(grid[re[i]], u), d = mul_conj(grid[re[i]], v);

          uu += square(u);
          vv += square(v);
          uv = (tlg_cf64){uv.i + a.i, uv.q + a.q};
          uy = (tlg_cf64){uy.i + b.i, uy.q + b.q};
          vy = (tlg_cf64){vy.i + d.i, vy.q + d.q};
        }
        det = uu * vv - square(uv);
        if (!(uu > 0)) {
          continue;
        }
        if (det > 1e-3 * uu * vv) { /* else one is the other but for a gain */
          const tlg_cf64 p = mul(uv, vy), q = mul_conj(uy, uv);

          alpha = (tlg_cf64){(vv * uy.i - p.i) / det, (vv * uy.q - p.q) / det};
          beta = (tlg_cf64){(uu * vy.i - q.i) / det, (uu * vy.q - q.q) / det};
        } else {
          alpha = (tlg_cf64){uy.i / uu, uy.q / uu};
        }
        for (i = 0; i < n; i++) {
          const unsigned k = e->sc[re[i]];
          const tlg_cf64 u = mul(alpha, stage == AFTER ? eq->h[0][k] : eq->g[0]);
          const tlg_cf64 v = mul(beta, stage == AFTER ? eq->h[1][k] : eq->g[1]);

          fitted[i] = mul((tlg_cf64){u.i + v.i, u.q + v.q}, ideal[i]);
          power += square(fitted[i]) / (double)n;
        }
        for (i = 0; i < n && power > 0; i++) {
          const tlg_cf64 y = grid[re[i]];

          add(stage == AFTER ? &c->after[w] : &c->before[w],
              square((tlg_cf64){y.i - fitted[i].i, y.q - fitted[i].q}) / power);
        }
      }
    }
  }
}

/* QPSK elements whose bits are not known: decide in the middle, then as if known. */
static void decided_channel(struct tlg_lte_evm *e, const struct slot *slot, int channel, const uint32_t *re, size_t n)
{
  tlg_cf64 x[TLG_LTE_PBCH_RES];
  size_t i;

  received(e, 0, TLG_EVM_MIDDLE, slot, AFTER, re, n, x);
  for (i = 0; i < n; i++) {
    x[i] = evm_nearest(2, 1, x[i]);
  }
  known_channel(e, slot, channel, re, x, n);
}

static void measure_signals(struct tlg_lte_evm *e, const struct slot *slot)
{
  const unsigned number = (unsigned)(slot->k % 10), middle = e->n_sc / 2;
  uint32_t re[TLG_LTE_PBCH_RES];
  tlg_cf64 ideal[62];
  int8_t sss[62];
  unsigned n, i, s, w, port, m;

  if (number % 5 == 0 && seen(e, middle - 31) && seen(e, middle + 30)) {
    for (i = 0; i < 62; i++) {
      re[i] = 6 * e->n_sc + middle - 31 + i;
    }
    if (e->rs_ports == 1) {
      known_channel(e, slot, TLG_EVM_PSS, re, e->pss, 62);
    } else {
      mixed_channel(e, slot, TLG_EVM_PSS, re, e->pss, 62);
    }
    tlg_lte_sss(e->cfg.cell.id, number, sss);
    for (i = 0; i < 62; i++) {
      re[i] -= e->n_sc;
      ideal[i] = (tlg_cf64){sss[i], 0};
    }
    if (e->rs_ports == 1) {
      known_channel(e, slot, TLG_EVM_SSS, re, ideal, 62);
    } else {
      mixed_channel(e, slot, TLG_EVM_SSS, re, ideal, 62);
    }
  }
  if (number == 0 && e->ports && seen(e, middle - 36) && seen(e, middle + 35)) {
    tlg_lte_pbch_res(e->cfg.cell.id, e->cfg.cell.prb, re);
    decided_channel(e, slot, TLG_EVM_PBCH, re, TLG_LTE_PBCH_RES);
  }
  for (s = 0; s < e->cfg.streams; s++) {
    for (w = 0; w < TLG_EVM_WINDOWS; w++) {
      const struct equaliser *eq = &e->stream[s].eq[w];

      for (port = 0; port < e->rs_ports; port++) {
        const double after = square(eq->g[port]);

        for (i = 0; i < EVM_RS_SYMBOLS; i++) {
          for (m = 0; m < e->n_rs; m++) {
            const unsigned k = e->rs_first[port][i] + 6 * m;

            if (seen(e, k) && after > 0) {
              const tlg_cf64 r = slot->rs[s * TLG_EVM_WINDOWS + w][port][i * EVM_MAX_RS + m];
              const tlg_cf64 q = over(r, eq->h[port][k]), p = over(r, eq->g[port]);

              add(&e->stream[s].channel[TLG_EVM_CRS].after[w], square((tlg_cf64){q.i - 1, q.q}));
              add(&e->stream[s].channel[TLG_EVM_CRS].before[w], square((tlg_cf64){p.i - 1, p.q}));
            }
          }
        }
      }
    }
  }
  if (slot->cfi && e->ports) {
    double power[800];
    unsigned used = 0;

    n = tlg_lte_pdcch_regs(&e->cfg.cell, slot->cfi, NULL);
    n = n <= 800 ? tlg_lte_pdcch_regs(&e->cfg.cell, slot->cfi, e->regs) : 0;
    for (i = 0; i < n; i++) {
      tlg_cf64 x[4];

      power[i] = 0;
      for (m = 0; m < 4; m++) {
        power[i] = seen(e, e->regs[i].re[m] % e->n_sc) ? power[i] : -1;
      }
      if (power[i] >= 0) {
        received(e, 0, TLG_EVM_MIDDLE, slot, AFTER, e->regs[i].re, 4, x);
        power[i] = (square(x[0]) + square(x[1]) + square(x[2]) + square(x[3])) / 4;
      }
      if (power[i] > 0.25) { /* what is not sent is empty */
        used++;
      }
    }
    /* In groups of 60 quadruplets, for the buffers' sake; a group's gain is its own. */
    for (i = 0, m = 0; used && i < n; i++) {
      if (power[i] > 0.25) {
        memcpy(re + 4 * m++, e->regs[i].re, sizeof e->regs[i].re);
      }
      if (m == TLG_LTE_PBCH_RES / 4 || (i + 1 == n && m >= 9)) {
        decided_channel(e, slot, TLG_EVM_PDCCH, re, 4 * (size_t)m);
        m = 0;
      }
    }
  }
}

/* PDSCH power in symbols with reference signals over that in the others is one of seven values (TS 36.213,
 * table 5.2-1): the one with which the elements of all blocks that were decided fit best. */
static void find_rho(struct tlg_lte_evm *e)
{
  static const double choice[] = {1, 0.8, 0.6, 0.4, 1.25, 0.75, 0.5};
  double error[7] = {0};
  unsigned i, prb, c, best = 0, units = 0;

  for (i = 0; i < e->n_slots; i++) {
    const struct slot *slot = &e->slot[i];
    const uint8_t *map = map_of(e, (unsigned)(slot->k % 10), slot->cfi ? slot->cfi : 3);

    for (prb = 0; slot->fresh && prb < e->cfg.cell.prb && units < 500; prb++) {
      uint32_t re[EVM_UNIT];
      uint8_t in_b[EVM_UNIT];
      tlg_cf64 x[EVM_UNIT];
      size_t n, k;

      if (!slot->bits[prb]) {
        continue;
      }
      n = unit_elements(e, map, prb, re, in_b);
      received(e, 0, TLG_EVM_MIDDLE, slot, AFTER, re, n, x);
      for (k = 0; k < n; k++) {
        for (c = 0; in_b[k] && c < 7; c++) {
          const tlg_cf64 p = evm_nearest(slot->bits[prb], slot->gain[prb] * sqrt(choice[c]), x[k]);

          error[c] += square((tlg_cf64){x[k].i - p.i, x[k].q - p.q}) / (slot->gain[prb] * slot->gain[prb] * choice[c]);
        }
      }
      units++;
    }
  }
  for (c = 1; c < 7; c++) {
    best = error[c] < error[best] ? c : best;
  }
  if (units) {
    e->rho_b = choice[best];
  }
}

/* Which constellation each resource block pair carries. */
static void decide(struct tlg_lte_evm *e, struct slot *slot)
{
  const uint8_t *map = map_of(e, (unsigned)(slot->k % 10), slot->cfi ? slot->cfi : 3);
  const double noise = e->stream[0].noise;
  struct evm_decision hint = {0, 0, 0};
  unsigned prb;

  for (prb = 0; prb < e->cfg.cell.prb; prb++) {
    uint32_t re[EVM_UNIT];
    uint8_t in_b[EVM_UNIT];
    tlg_cf64 x[EVM_UNIT];
    struct evm_decision d;
    double power = 0;
    size_t n, k, m;

    slot->bits[prb] = 0;
    n = unit_elements(e, map, prb, re, in_b);
    if (n == 0) {
      continue;
    }
    e->result.units++;
    received(e, 0, TLG_EVM_MIDDLE, slot, AFTER, re, n, x);
    for (k = m = 0; k < n; k++) {
      power += square(x[k]) / (double)n;
      if (!in_b[k]) {
        x[m++] = x[k];
      }
    }
    /* With more noise than that, what is sent does not stand out of it either. */
    if (power < 1e-3 || (noise < 0.5 && power < 2 * noise)) {
      e->result.units_empty++;
      continue;
    }
    evm_decide(x, m, noise, &hint, &d);
    hint = d.bits ? d : hint;
    slot->bits[prb] = (uint8_t)d.bits;
    slot->gain[prb] = d.gain;
    e->result.units_unclear += d.bits == 0;
  }
}

/* Gains of resource block pairs that lie within 0.3 dB of the next are taken for one level, whose mean all of them get:
 * a transmitter uses few, and what differs within one is its error. */
static void gather_gains(struct tlg_lte_evm *e)
{
  enum { BINS = 700, APART = 3 }; /* of 0.1 dB, from -40 dB */
  double sum[BINS] = {0}, level[BINS];
  uint64_t count[BINS] = {0};
  unsigned i, prb;
  int b, end;

#define BIN(gain) (200 * log10(gain) < -400 ? 0 : 200 * log10(gain) > 298 ? BINS - 1 : (int)(200 * log10(gain) + 400))
  for (i = 0; i < e->n_slots; i++) {
    const struct slot *slot = &e->slot[i];

    for (prb = 0; slot->fresh && prb < e->cfg.cell.prb; prb++) {
      if (slot->bits[prb]) {
        b = BIN(slot->gain[prb]);
        sum[b] += slot->gain[prb];
        count[b]++;
      }
    }
  }
  for (b = 0; b < BINS; b = end) {
    double total = 0;
    uint64_t n = 0;
    int last = b, k;

    for (end = b + 1; end < BINS && count[b] && end - last <= APART; end++) {
      last = count[end] ? end : last;
    }
    for (k = b; k < end; k++) {
      total += sum[k];
      n += count[k];
    }
    for (k = b; k < end; k++) {
      level[k] = n ? total / (double)n : 0;
    }
  }
  for (i = 0; i < e->n_slots; i++) {
    struct slot *slot = &e->slot[i];

    for (prb = 0; slot->fresh && prb < e->cfg.cell.prb; prb++) {
      if (slot->bits[prb]) {
        slot->gain[prb] = level[BIN(slot->gain[prb])];
      }
    }
  }
#undef BIN
}

/* The errors of one resource block pair at every window, before and after, in both streams. */
static void measure_unit(struct tlg_lte_evm *e, struct slot *slot, const uint8_t *map, unsigned prb)
{
  const unsigned bits = slot->bits[prb], number = (unsigned)(slot->k % 10);
  const int modulation = (int)bits / 2 - 1;
  const double root = sqrt(e->rho_b);
  uint32_t re[EVM_UNIT];
  uint8_t in_b[EVM_UNIT];
  tlg_cf64 x[EVM_UNIT], ideal[EVM_UNIT], first[2][TLG_EVM_WINDOWS][EVM_UNIT];
  const double gain = slot->gain[prb];
  double reference = 0;
  const size_t n = unit_elements(e, map, prb, re, in_b);
  unsigned s, w;
  int stage;
  size_t k;

  received(e, 0, TLG_EVM_MIDDLE, slot, AFTER, re, n, x);
  for (k = 0; k < n; k++) {
    ideal[k] = evm_nearest(bits, in_b[k] ? gain * root : gain, x[k]);
    reference += square(ideal[k]);
  }
  e->pdsch_sum += gain * gain;
  e->pdsch_n++;
  for (s = 0; s < e->cfg.streams; s++) {
    struct stream *st = &e->stream[s];

    st->channel[modulation].units++;
    st->channel[modulation].block_units++;
    for (w = 0; w < TLG_EVM_WINDOWS; w++) {
      for (stage = AFTER; stage <= BEFORE; stage++) {
        struct channel *c = &st->channel[modulation];
        struct sum *sum = stage == AFTER ? &c->after[w] : &c->before[w];
        double error = 0;

        received(e, s, w, slot, stage, re, n, x);
        for (k = 0; k < n; k++) {
          const double squared = square((tlg_cf64){x[k].i - ideal[k].i, x[k].q - ideal[k].q});

          error += squared;
          add(sum, squared * (double)n / reference);
          if (stage == AFTER && w < 2) {
            const double own = squared / (in_b[k] ? gain * gain * e->rho_b : gain * gain);

            add(&st->subcarrier[w][e->sc[re[k]]], own);
            add(&st->symbol[w][re[k] / e->n_sc], own);
            add(&st->number[w][number], own);
          }
        }
        (stage == AFTER ? c->block_after : c->block_before)[w] += error / reference;
        if (stage == AFTER) {
          st->subframe[slot->index].rms[w] += error / (gain * gain); /* the root of the mean at the block's end */
        }
        if (s == 0) {
          memcpy(first[stage][w], x, n * sizeof *x);
        } else {
          struct sum *added = stage == AFTER ? &e->added_after[w] : &e->added_before[w];

          for (k = 0; k < n; k++) {
            const double squared = square((tlg_cf64){x[k].i - first[stage][w][k].i, x[k].q - first[stage][w][k].q});

            add(added, squared * (double)n / reference);
            if (stage == AFTER && w == TLG_EVM_MIDDLE) {
              add(&slot->added[re[k] / e->n_sc], squared);
            }
          }
        }
      }
    }
    st->subframe[slot->index].n += n;
  }
}

static void close_block(struct channel *c)
{
  unsigned w;

  if (c->block_units) {
    const double low = c->block_after[TLG_EVM_LOW], high = c->block_after[TLG_EVM_HIGH];
    const double low_b = c->block_before[TLG_EVM_LOW], high_b = c->block_before[TLG_EVM_HIGH];

    c->worst_after += low > high ? low : high;
    c->worst_before += low_b > high_b ? low_b : high_b;
  }
  for (w = 0; w < TLG_EVM_WINDOWS; w++) {
    c->unit_after[w] += c->block_after[w];
    c->unit_before[w] += c->block_before[w];
    c->block_after[w] = c->block_before[w] = 0;
  }
  c->block_units = 0;
}

/* What was added in a subframe, and in which symbol most. */
static void tell_added(const struct slot *slot, struct tlg_lte_evm_subframe *list)
{
  struct sum all = {0, 0, 0};
  double worst = -1;
  unsigned l;

  for (l = 0; l < TLG_LTE_SYMBOLS; l++) {
    const struct sum *one = &slot->added[l];

    all.n += one->n;
    all.squares += one->squares;
    if (one->n && one->squares / (double)one->n > worst) {
      worst = one->squares / (double)one->n;
      list->added_symbol = l;
    }
  }
  list->added = all.n ? sqrt(all.squares / (double)all.n) : NAN;
  list->added_worst = all.n ? sqrt(worst) : NAN;
}

/* All fresh subframes, with reference signals averaged over all that are stored. */
static int measure_block(struct tlg_lte_evm *e)
{
  unsigned s, w, port, i, prb, number;

  for (s = 0; s < e->cfg.streams; s++) {
    struct stream *st = &e->stream[s];

    for (w = 0; w < TLG_EVM_WINDOWS; w++) {
      for (port = 0; port < e->rs_ports; port++) {
        double flatness, noise, power;

        equalise(e, s, w, port, &flatness, &noise, &power);
        if (w == TLG_EVM_MIDDLE && port == 0) {
          st->noise = noise;
          st->rs_sum += power;
          st->flatness_sum = flatness > st->flatness_sum ? flatness : st->flatness_sum;
          st->noise_sum += noise;
          st->blocks++;
        }
      }
    }
  }
  for (i = 0; i < e->n_slots; i++) {
    struct slot *slot = &e->slot[i];

    if (slot->fresh) {
      tlg_cf64 sent[16];
      uint32_t where[16];

      number = (unsigned)(slot->k % 10);
      slot->cfi = e->ports ? read_cfi(e, slot, sent, where) : 0;
      if (!map_of(e, number, slot->cfi ? slot->cfi : 3)) {
        return TLG_ENOMEM;
      }
      for (s = 0; s < e->cfg.streams; s++) {
        e->stream[s].subframe[slot->index].cfi = slot->cfi;
      }
      if (slot->cfi) {
        known_channel(e, slot, TLG_EVM_PCFICH, where, sent, 16);
      }
      measure_signals(e, slot);
      if (e->ports) {
        decide(e, slot);
      }
    }
  }
  if (e->rho_b == 0 && e->ports) {
    find_rho(e);
  }
  gather_gains(e);
  for (i = 0; i < e->n_slots; i++) {
    struct slot *slot = &e->slot[i];

    for (prb = 0; slot->fresh && e->ports && prb < e->cfg.cell.prb; prb++) {
      if (slot->bits[prb]) {
        measure_unit(e, slot, map_of(e, (unsigned)(slot->k % 10), slot->cfi ? slot->cfi : 3), prb);
      }
    }
    for (s = 0; slot->fresh && s < e->cfg.streams; s++) {
      struct tlg_lte_evm_subframe *list = &e->stream[s].subframe[slot->index];

      for (w = 0; w < TLG_EVM_WINDOWS; w++) {
        list->rms[w] = list->n ? sqrt(list->rms[w] / (double)list->n) : NAN;
      }
      if (s == 1) {
        tell_added(slot, list);
      }
    }
    slot->fresh = 0;
  }
  for (s = 0; s < e->cfg.streams; s++) {
    struct channel *all = &e->stream[s].pdsch;

    for (i = 0; i < TLG_EVM_MODULATIONS; i++) {
      struct channel *c = &e->stream[s].channel[i];

      all->block_units += c->block_units;
      for (w = 0; w < TLG_EVM_WINDOWS; w++) {
        all->block_after[w] += c->block_after[w];
        all->block_before[w] += c->block_before[w];
      }
      close_block(c);
    }
    close_block(all);
  }
  e->result.blocks++;
  e->fresh = 0;
  return 0;
}

int tlg_lte_evm_push(struct tlg_lte_evm *e, int64_t k, const tlg_cf64 *const *grid)
{
  const size_t n = (size_t)TLG_LTE_SYMBOLS * (e ? e->n_sc : 0);
  struct slot *slot;
  unsigned s, w;
  size_t i;

  if (!e || !grid || k < 0) {
    return TLG_EINVAL;
  }
  for (s = 0; s < e->cfg.streams * TLG_EVM_WINDOWS; s++) {
    for (i = 0; grid[s] && i < n; i++) {
      if (seen(e, (unsigned)(i % e->n_sc)) && !(isfinite(grid[s][i].i) && isfinite(grid[s][i].q))) {
        return TLG_EINVAL;
      }
    }
    if (!grid[s]) {
      return TLG_EINVAL;
    }
  }
  if (e->result.subframes == e->cap_subframes) {
    const size_t cap = e->cap_subframes ? 2 * e->cap_subframes : 64;

    for (s = 0; s < e->cfg.streams; s++) {
      struct tlg_lte_evm_subframe *list = realloc(e->stream[s].subframe, cap * sizeof *list);

      if (!list) {
        return TLG_ENOMEM;
      }
      e->stream[s].subframe = list;
    }
    e->cap_subframes = cap;
  }
  slot = &e->slot[e->next];
  slot->k = k;
  slot->fresh = 1;
  slot->index = e->result.subframes;
  memset(slot->added, 0, sizeof slot->added);
  for (s = 0; s < e->cfg.streams; s++) {
    struct tlg_lte_evm_subframe *list = &e->stream[s].subframe[slot->index];
    struct offsets o;
    double power = 0;

    memset(list, 0, sizeof *list);
    list->k = k;
    for (w = 0; w < TLG_EVM_WINDOWS; w++) {
      store(e, slot, s * TLG_EVM_WINDOWS + w, grid[s * TLG_EVM_WINDOWS + w], (unsigned)(k % 10), &o);
    }
    for (i = 0; i < e->n_rs; i++) {
      power += square(slot->rs[s * TLG_EVM_WINDOWS + TLG_EVM_MIDDLE][0][i]) / e->n_rs;
    }
    list->offset_hz = o.drift / (2 * M_PI) * 1000;
    list->lag_ts = -o.slope / (2 * M_PI) * TLG_LTE_USEFUL;
    list->gain = sqrt(power);
    e->stream[s].offset_sum += list->offset_hz;
    e->stream[s].lag_sum += list->lag_ts;
  }
  e->result.subframes++;
  e->next = (e->next + 1) % e->cfg.average;
  e->n_slots = e->n_slots < e->cfg.average ? e->n_slots + 1 : e->n_slots;
  e->fresh++;
  return e->fresh == e->cfg.average ? measure_block(e) : 0;
}

static struct tlg_evm_figure figure(const struct sum *s)
{
  return (struct tlg_evm_figure){s->n, s->n ? sqrt(s->squares / (double)s->n) : NAN, s->n ? sqrt(s->peak) : NAN};
}

static void tell(const struct channel *c, struct tlg_lte_evm_channel *out)
{
  unsigned w;

  out->units = c->units;
  for (w = 0; w < TLG_EVM_WINDOWS; w++) {
    out->after[w] = figure(&c->after[w]);
    out->before[w] = figure(&c->before[w]);
    if (c->units) {
      out->after[w].rms = sqrt(c->unit_after[w] / (double)c->units);
      out->before[w].rms = sqrt(c->unit_before[w] / (double)c->units);
    }
  }
  if (c->units) {
    out->evm = sqrt(c->worst_after / (double)c->units);
    out->evm_before = sqrt(c->worst_before / (double)c->units);
  } else {
    const double low = out->after[TLG_EVM_LOW].rms, high = out->after[TLG_EVM_HIGH].rms;
    const double low_b = out->before[TLG_EVM_LOW].rms, high_b = out->before[TLG_EVM_HIGH].rms;

    out->evm = low > high ? low : high;
    out->evm_before = low_b > high_b ? low_b : high_b;
  }
}

int tlg_lte_evm_finish(struct tlg_lte_evm *e, const struct tlg_lte_evm_result **result)
{
  struct tlg_lte_evm_result *r;
  unsigned s, w, i, k;
  int status;

  if (!e || !result) {
    return TLG_EINVAL;
  }
  if (e->fresh && (status = measure_block(e)) != TLG_OK) {
    return status;
  }
  r = &e->result;
  r->average = e->n_slots;
  r->rho_b = e->rho_b > 0 ? e->rho_b : NAN;
  r->pdsch_db = e->pdsch_n ? 10 * log10(e->pdsch_sum / (double)e->pdsch_n) : NAN;
  for (s = 0; s < e->cfg.streams; s++) {
    const struct stream *st = &e->stream[s];
    struct tlg_lte_evm_stream *out = &r->stream[s];
    struct channel all = st->pdsch;

    for (i = 0; i < TLG_EVM_MODULATIONS; i++) {
      const struct channel *c = &st->channel[i];

      all.units += c->units;
      for (w = 0; w < TLG_EVM_WINDOWS; w++) {
        const struct sum *from[2] = {&c->after[w], &c->before[w]};
        struct sum *to[2] = {&all.after[w], &all.before[w]};

        for (k = 0; k < 2; k++) {
          to[k]->n += from[k]->n;
          to[k]->squares += from[k]->squares;
          to[k]->peak = from[k]->peak > to[k]->peak ? from[k]->peak : to[k]->peak;
        }
      }
    }
    for (i = 0; i < TLG_EVM_CHANNELS; i++) {
      tell(&st->channel[i], &out->channel[i]);
    }
    tell(&all, &out->pdsch);
    out->worst = out->pdsch.after[TLG_EVM_LOW].rms > out->pdsch.after[TLG_EVM_HIGH].rms ? TLG_EVM_LOW : TLG_EVM_HIGH;
    for (i = 0; i < TLG_LTE_MAX_SC; i++) {
      out->subcarrier[i] = figure(&st->subcarrier[out->worst][i]);
    }
    for (i = 0; i < TLG_LTE_SYMBOLS; i++) {
      out->symbol[i] = figure(&st->symbol[out->worst][i]);
    }
    for (i = 0; i < 10; i++) {
      out->number[i] = figure(&st->number[out->worst][i]);
    }
    out->rs_dbfs = st->blocks ? 10 * log10(st->rs_sum / st->blocks / 1073741824.0) : NAN;
    out->flatness_db = st->blocks ? st->flatness_sum : NAN;
    out->noise_dbc = st->blocks ? 10 * log10(st->noise_sum / st->blocks) : NAN;
    out->offset_hz = r->subframes ? st->offset_sum / r->subframes : NAN;
    out->lag_ts = r->subframes ? st->lag_sum / r->subframes : NAN;
    out->subframe = st->subframe;
  }
  for (w = 0; w < TLG_EVM_WINDOWS; w++) {
    r->added_after[w] = figure(&e->added_after[w]);
    r->added_before[w] = figure(&e->added_before[w]);
  }
  *result = r;
  return 0;
}
