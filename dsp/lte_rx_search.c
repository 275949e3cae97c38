/* SPDX-License-Identifier: Apache-2.0 */
/* Cells in a signal at 1.92 Msps: primary signals by correlation at several carrier offsets, summed over half frames
 * without regard to phase; then the secondary signal through the channel that the primary one shows; then the
 * reference signals of the six middle resource blocks. */
#include "lte_rx.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 1024, VALID = BLOCK - LTE_NARROW + 1, STEP_BINS = 4, MAX_HALVES = 64, EARLY = 3, PILOTS = 12 };
#define STEP_HZ (STEP_BINS * LTE_NARROW_HZ / BLOCK) /* 7.5 kHz: half of it costs 0.9 dB */
/* In samples at 1.92 Msps from the beginning of a subframe to the useful part of symbol 6. */
#define PSS_AT 832

static tlg_cf64 conjugate(tlg_cf64 a)
{
  return (tlg_cf64){a.i, -a.q};
}

static double power(tlg_cf64 a)
{
  return a.i * a.i + a.q * a.q;
}

static void add(tlg_cf64 *sum, tlg_cf64 a)
{
  sum->i += a.i;
  sum->q += a.q;
}

/* The bin of n for element k of a row of 72, or of the 62 when first is 5. */
static size_t bin(unsigned k, size_t n)
{
  return k < 36 ? n - 36 + k : k - 35;
}

int tlg_lte_narrow_open(struct lte_narrow *w, double cfo_max_hz)
{
  unsigned root, k, one, half;

  memset(w, 0, sizeof *w);
  w->first_offset = -(int)ceil((cfo_max_hz - STEP_HZ / 2) / STEP_HZ);
  w->n_offsets = (size_t)(1 - 2 * w->first_offset);
  w->from_offset = w->first_offset;
  w->end_offset = 1 - w->first_offset;
  w->sum = malloc(3 * w->n_offsets * LTE_NARROW_HALF * sizeof *w->sum);
  w->which = malloc(3 * LTE_NARROW_HALF * sizeof *w->which);
  if (!w->sum || !w->which || tlg_fft_open(&w->symbol, LTE_NARROW, 0) != 0 || tlg_fft_open(&w->block, BLOCK, 0) != 0 ||
      tlg_fft_open(&w->hypot, BLOCK, 1) != 0) {
    tlg_lte_narrow_close(w);
    return TLG_ENOMEM;
  }
  for (root = 0; root < 3; root++) {
    size_t t;

    tlg_lte_pss(root, w->pss[root]);
    memset(w->block.in, 0, BLOCK * sizeof *w->block.in);
    /* The signal in time, from its spectrum by the inverse of the 128 points: a plain sum, done three times. */
    for (t = 0; t < LTE_NARROW; t++) {
      for (k = 0; k < 62; k++) {
        const double angle = 2 * M_PI * (double)((bin(k + 5, LTE_NARROW) * t) % LTE_NARROW) / LTE_NARROW;

        add(&w->block.in[t], times(w->pss[root][k], (tlg_cf64){cos(angle), sin(angle)}));
      }
    }
    tlg_fft_run(&w->block);
    for (t = 0; t < BLOCK; t++) {
      w->template[root][t] = conjugate(w->block.out[t]);
    }
    for (one = 0; one < 168; one++) {
      for (half = 0; half < 2; half++) {
        tlg_lte_sss(3 * one + root, 5 * half, w->sss[root][one][half]);
      }
    }
  }
  return 0;
}

void tlg_lte_narrow_range(struct lte_narrow *w, double cfo_max_hz)
{
  const int most = (int)ceil((cfo_max_hz - STEP_HZ / 2) / STEP_HZ);

  w->from_offset = -most < w->first_offset ? w->first_offset : -most;
  w->end_offset = 1 - w->from_offset;
}

void tlg_lte_narrow_close(struct lte_narrow *w)
{
  tlg_fft_close(&w->symbol);
  tlg_fft_close(&w->block);
  tlg_fft_close(&w->hypot);
  free(w->sum);
  free(w->which);
  memset(w, 0, sizeof *w);
}

/* ---- primary signals -------------------------------------------------------------------------------------------- */

/* 1 / energy of the 128 samples from t on; a silent place counts as having a hundredth of the mean. */
static void inverse_energy(const tlg_cf64 *s, size_t n, float *inverse)
{
  double all = 0, sum = 0;
  size_t t;

  for (t = 0; t < n; t++) {
    all += power(s[t]);
  }
  all *= 0.01 * LTE_NARROW / (double)n;
  for (t = 0; t < LTE_NARROW; t++) {
    sum += power(s[t]);
  }
  for (t = 0; t + LTE_NARROW <= n; t++) {
    inverse[t] = (float)(1 / ((sum > all ? sum : all) * LTE_NARROW * 62 + 1e-30));
    if (t + LTE_NARROW < n) {
      sum += power(s[t + LTE_NARROW]) - power(s[t]);
    }
  }
}

/* Mean over the half frames of the squared normalised correlation, for the roots and offsets asked for. */
static int correlate(struct lte_narrow *w, const tlg_cf64 *s, size_t n, unsigned only_root, int from_offset,
                     int end_offset)
{
  const size_t places = n - LTE_NARROW + 1;
  float *inverse = malloc(n * sizeof *inverse);
  size_t first, t;
  unsigned root, o;

  if (!inverse) {
    return TLG_ENOMEM;
  }
  inverse_energy(s, n, inverse);
  w->at_offset = (size_t)(from_offset - w->first_offset);
  w->n_at = (size_t)(end_offset - from_offset);
  for (root = 0; root < 3; root++) {
    memset(w->sum + (root * w->n_offsets + w->at_offset) * LTE_NARROW_HALF, 0,
           w->n_at * LTE_NARROW_HALF * sizeof *w->sum);
  }
  for (first = 0; first < places; first += VALID) {
    const size_t m = places - first < VALID ? places - first : VALID;
    const size_t have = n - first < BLOCK ? n - first : BLOCK;

    memcpy(w->block.in, s + first, have * sizeof *s);
    memset(w->block.in + have, 0, (BLOCK - have) * sizeof *s);
    tlg_fft_run(&w->block);
    for (root = 0; root < 3; root++) {
      for (o = (unsigned)w->at_offset; o < w->at_offset + w->n_at; o++) {
        const int offset = w->first_offset + (int)o;
        const size_t turn = (size_t)(BLOCK + offset * STEP_BINS) % BLOCK;
        float *sum = w->sum + (root * w->n_offsets + o) * LTE_NARROW_HALF;
        const tlg_cf64 *template = w->template[root];

        if (only_root < 3 && root != only_root) {
          break;
        }
        for (t = 0; t < turn; t++) {
          w->hypot.in[t] = times(w->block.out[t], template[t + BLOCK - turn]);
        }
        for (; t < BLOCK; t++) {
          w->hypot.in[t] = times(w->block.out[t], template[t - turn]);
        }
        tlg_fft_run(&w->hypot);
        for (t = 0; t < m;) {
          size_t at = (first + t) % LTE_NARROW_HALF;
          const size_t end = LTE_NARROW_HALF - at < m - t ? t + LTE_NARROW_HALF - at : m;

          for (; t < end; t++, at++) {
            sum[at] += (float)power(w->hypot.out[t]) * inverse[first + t];
          }
        }
      }
    }
  }
  for (root = 0; root < 3; root++) {
    for (o = 0; o < w->n_at; o++) {
      float *sum = w->sum + (root * w->n_offsets + w->at_offset + o) * LTE_NARROW_HALF;

      for (t = 0; t < LTE_NARROW_HALF; t++) {
        const size_t count = t < places ? (places - 1 - t) / LTE_NARROW_HALF + 1 : 1;

        sum[t] *= 1.0f / ((float)count * BLOCK * BLOCK);
      }
    }
  }
  free(inverse);
  return 0;
}

struct peak {
  unsigned root, at;
  int offset;
  double value;
};

/* The highest places over all offsets, none within 16 samples of a higher one of the same root. */
static size_t peaks(struct lte_narrow *w, struct peak *peak, size_t cap)
{
  static const int apart = 16;
  size_t n = 0;
  unsigned root, t, o;

  for (root = 0; root < 3; root++) {
    /* The first row becomes the best of all. */
    float *best = w->sum + (root * w->n_offsets + w->at_offset) * LTE_NARROW_HALF;
    int16_t *which = w->which + root * LTE_NARROW_HALF;

    memset(which, 0, LTE_NARROW_HALF * sizeof *which);
    for (o = 1; o < w->n_at; o++) {
      const float *row = best + o * LTE_NARROW_HALF;

      for (t = 0; t < LTE_NARROW_HALF; t++) {
        if (row[t] > best[t]) {
          best[t] = row[t];
          which[t] = (int16_t)o;
        }
      }
    }
  }
  for (; n < cap; n++) {
    struct peak p = {0, 0, 0, 0};
    int d;

    for (root = 0; root < 3; root++) {
      const float *best = w->sum + (root * w->n_offsets + w->at_offset) * LTE_NARROW_HALF;

      for (t = 0; t < LTE_NARROW_HALF; t++) {
        if (best[t] > p.value) {
          p = (struct peak){root, t, w->first_offset + (int)w->at_offset + w->which[root * LTE_NARROW_HALF + t],
                            best[t]};
        }
      }
    }
    if (p.value <= 0) {
      break;
    }
    peak[n] = p;
    for (d = -apart; d <= apart; d++) {
      w->sum[(p.root * w->n_offsets + w->at_offset) * LTE_NARROW_HALF +
             (p.at + LTE_NARROW_HALF + (unsigned)d) % LTE_NARROW_HALF] = 0;
    }
  }
  return n;
}

/* The offset from a hypothesis: the turn from the first half of the primary signal to its second. */
static double halves_offset(struct lte_narrow *w, const tlg_cf64 *s, size_t n, unsigned root, size_t at, double cfo_hz)
{
  tlg_cf64 own[LTE_NARROW], sum = {0, 0};
  size_t first, t;
  unsigned k;

  for (t = 0; t < LTE_NARROW; t++) {
    own[t].i = own[t].q = 0;
    for (k = 0; k < 62; k++) {
      const double angle = 2 * M_PI * (double)((bin(k + 5, LTE_NARROW) * t) % LTE_NARROW) / LTE_NARROW;

      add(&own[t], times(w->pss[root][k], (tlg_cf64){cos(angle), sin(angle)}));
    }
  }
  tlg_lte_rotate(own, LTE_NARROW, 0, cfo_hz / LTE_NARROW_HZ);
  for (first = at; first + LTE_NARROW <= n; first += LTE_NARROW_HALF) {
    tlg_cf64 half[2] = {{0, 0}, {0, 0}};

    for (t = 0; t < LTE_NARROW; t++) {
      add(&half[t / (LTE_NARROW / 2)], times_conj(s[first + t], own[t]));
    }
    add(&sum, times_conj(half[1], half[0]));
  }
  return cfo_hz + atan2(sum.q, sum.i) / (2 * M_PI) * LTE_NARROW_HZ / (LTE_NARROW / 2);
}

/* ---- symbols ------------------------------------------------------------------------------------------------------
 */

/* The row of 72 whose useful part begins at sample `at`, taken a little early; 0 if it is not all there. */
static int row_at(struct lte_narrow *w, const tlg_cf64 *s, size_t n, double at, double cfo_hz, tlg_cf64 *row)
{
  const double whole = floor(at - EARLY + 0.5), late = at - whole;
  unsigned k;

  if (whole < 0 || whole + LTE_NARROW > (double)n) {
    return 0;
  }
  memcpy(w->symbol.in, s + (size_t)whole, LTE_NARROW * sizeof *s);
  tlg_lte_rotate(w->symbol.in, LTE_NARROW, -whole * cfo_hz / LTE_NARROW_HZ, -cfo_hz / LTE_NARROW_HZ);
  tlg_fft_run(&w->symbol);
  for (k = 0; k < LTE_NARROW_SC; k++) {
    const int f = k < 36 ? (int)k - 36 : (int)k - 35;
    const double angle = 2 * M_PI * f * late / LTE_NARROW;

    row[k] = times(w->symbol.out[bin(k, LTE_NARROW)], (tlg_cf64){cos(angle) / LTE_NARROW, sin(angle) / LTE_NARROW});
  }
  return 1;
}

/* From the beginning of a subframe to the useful part of a symbol, at 1.92 Msps. */
static double useful(unsigned l)
{
  unsigned prefix;
  const unsigned at = tlg_lte_symbol_start(l, &prefix);

  return (at + prefix) / 16.0;
}

int tlg_lte_narrow_symbol(struct lte_narrow *w, const tlg_cf64 *s, size_t n, double start, double cfo_hz, unsigned l,
                          tlg_cf64 *row)
{
  return row_at(w, s, n, start + useful(l), cfo_hz, row);
}

/* ---- secondary signal ---------------------------------------------------------------------------------------------
 */

struct secondary {
  tlg_cf64 z[2][62]; /* by half frames of even and odd number: secondary signal over the channel */
  unsigned count[2];
  double coherence; /* of the primary signal over the frequencies */
};

static void channel(const struct lte_narrow *w, unsigned root, const tlg_cf64 *row, tlg_cf64 *h, tlg_cf64 *product,
                    double *all)
{
  tlg_cf64 p[62];
  int k, d;

  for (k = 0; k < 62; k++) {
    p[k] = times_conj(row[k + 5], w->pss[root][k]);
    *all += power(p[k]);
    if (k > 0) {
      add(product, times_conj(p[k], p[k - 1]));
    }
  }
  for (k = 0; k < 62; k++) {
    h[k].i = h[k].q = 0;
    for (d = k < 2 ? 0 : k - 2; d <= k + 2 && d < 62; d++) {
      add(&h[k], p[d]);
    }
  }
}

static void secondary(struct lte_narrow *w, const tlg_cf64 *s, size_t n, unsigned root, double at, double cfo_hz,
                      struct secondary *z)
{
  tlg_cf64 primary[LTE_NARROW_SC], second[LTE_NARROW_SC], h[62], product = {0, 0};
  double all = 0;
  unsigned half, k;

  memset(z, 0, sizeof *z);
  for (half = 0; half < MAX_HALVES; half++) {
    const double pss = at + (double)half * LTE_NARROW_HALF;
    double sum = 0;

    if (!row_at(w, s, n, pss, cfo_hz, primary) || !row_at(w, s, n, pss - 137, cfo_hz, second)) {
      continue;
    }
    channel(w, root, primary, h, &product, &all);
    for (k = 0; k < 62; k++) {
      second[k + 5] = times_conj(second[k + 5], h[k]);
      sum += power(second[k + 5]);
    }
    if (sum <= 0) {
      continue;
    }
    /* Each half frame counts alike, so that one burst does not rule. */
    sum = 1 / sqrt(sum);
    for (k = 0; k < 62; k++) {
      add(&z->z[half & 1][k], (tlg_cf64){sum * second[k + 5].i, sum * second[k + 5].q});
    }
    z->count[half & 1]++;
  }
  z->coherence = all > 0 ? sqrt(power(product)) / all : 0;
}

/* Only the phases count: a tone in one subcarrier weighs as much as any. What is left under noise has the variance of
 * one, and 336 sequences are tried. */
static double best_sequence(const struct lte_narrow *w, unsigned root, const struct secondary *z, int only,
                            unsigned *best_one, unsigned *best_order)
{
  double in_phase[2][62], best = 0;
  unsigned half, k, one, order, terms = 0;

  for (half = 0; half < 2; half++) {
    terms += z->count[half] ? 62 : 0;
    for (k = 0; k < 62; k++) {
      const double size = sqrt(power(z->z[half][k]));

      in_phase[half][k] = size > 0 ? z->z[half][k].i / size : 0;
    }
  }
  for (one = only < 0 ? 0 : (unsigned)only; one < (only < 0 ? 168u : (unsigned)only + 1); one++) {
    for (order = 0; order < 2; order++) {
      const int8_t *a = w->sss[root][one][order], *b = w->sss[root][one][1 - order];
      double sum = 0;

      for (k = 0; k < 62; k++) {
        sum += in_phase[0][k] * a[k] + in_phase[1][k] * b[k];
      }
      if (sum > best) {
        best = sum;
        *best_one = one;
        *best_order = order;
      }
    }
  }
  return terms ? best / sqrt(terms / 2.0) : 0;
}

/* Primary and secondary signal are 137 samples apart: the turn between them is the rest of the offset. */
static double pair_offset(struct lte_narrow *w, const tlg_cf64 *s, size_t n, unsigned root, unsigned one,
                          unsigned order, double at, double cfo_hz)
{
  tlg_cf64 primary[LTE_NARROW_SC], second[LTE_NARROW_SC], sum = {0, 0};
  unsigned half, k;

  for (half = 0; half < MAX_HALVES; half++) {
    const double pss = at + (double)half * LTE_NARROW_HALF;

    if (row_at(w, s, n, pss, cfo_hz, primary) && row_at(w, s, n, pss - 137, cfo_hz, second)) {
      const int8_t *d = w->sss[root][one][(half + order) & 1];
      tlg_cf64 here = {0, 0};
      double all = 0;

      for (k = 0; k < 62; k++) {
        const tlg_cf64 p = times_conj(primary[k + 5], w->pss[root][k]), q = times_conj(p, second[k + 5]);

        add(&here, (tlg_cf64){q.i * d[k], q.q * d[k]});
        all += sqrt(power(q));
      }
      if (all > 0) {
        add(&sum, (tlg_cf64){here.i / all, here.q / all});
      }
    }
  }
  return cfo_hz + atan2(sum.q, sum.i) / (2 * M_PI) * LTE_NARROW_HZ / 137;
}

/* ---- reference signals ------------------------------------------------------------------------------------------- */

enum { MOST_SUBFRAMES = 128 };
static const unsigned crs_symbol[4] = {0, 4, 7, 11};

void tlg_lte_narrow_refine(struct lte_narrow *w, const tlg_cf64 *s, size_t n, struct lte_candidate *c)
{
  const int k_first = -(int)floor(c->start / LTE_NARROW_SUBFRAME);
  static const double to_7 = 412, from_0_to_7 = 960; /* samples from symbol 4, and 0, to 7 */
  tlg_cf64(*p)[4][PILOTS] = calloc(MOST_SUBFRAMES, sizeof *p);
  tlg_cf64 across[MOST_SUBFRAMES], near = {0, 0}, far = {0, 0}, best = {0, 0};
  double norm[MOST_SUBFRAMES], all[MOST_SUBFRAMES], late, turn;
  unsigned first[4], i, j, l, count[MOST_SUBFRAMES], from = 0, end = MOST_SUBFRAMES, last = 0, part;

  c->crs = c->coherence = c->power = 0;
  if (!p) {
    return;
  }
  for (i = 0; i < MOST_SUBFRAMES; i++) {
    const double at = c->start + ((double)k_first + i) * LTE_NARROW_SUBFRAME;
    const unsigned subframe = (unsigned)(((k_first + (int)i) % 10 + 10) % 10);

    across[i].i = across[i].q = norm[i] = all[i] = 0;
    count[i] = 0;
    for (l = 0; l < 4; l++) {
      tlg_cf64 row[LTE_NARROW_SC], r[PILOTS];

      if (!tlg_lte_narrow_symbol(w, s, n, at, c->cfo_hz, crs_symbol[l], row)) {
        continue;
      }
      tlg_lte_crs((unsigned)c->id, 6, 0, subframe, crs_symbol[l], &first[l], r);
      for (j = 0; j < PILOTS; j++) {
        p[i][l][j] = times_conj(row[first[l] + 6 * j], r[j]);
        all[i] += power(p[i][l][j]);
        count[i]++;
        last = i + 1;
        if (j > 0) {
          add(&across[i], times_conj(p[i][l][j], p[i][l][j - 1]));
          norm[i] += power(p[i][l][j]) * power(p[i][l][j - 1]);
        }
      }
    }
  }
  /* All of it, or the best quarter: samples lost in between can make the parts cancel each other. */
  for (part = 0; part < 5; part++) {
    const unsigned a = part ? last * (part - 1) / 4 : 0, b = part ? last * part / 4 : last;
    double norm_sum = 0, all_sum = 0, counted = 0;
    tlg_cf64 sum = {0, 0};

    for (i = a; i < b; i++) {
      add(&sum, across[i]);
      norm_sum += norm[i];
      all_sum += all[i];
      counted += count[i];
    }
    if (norm_sum > 0 && sqrt(power(sum) / norm_sum) > c->crs) {
      c->crs = sqrt(power(sum) / norm_sum);
      c->coherence = sqrt(power(sum)) / (all_sum * (PILOTS - 1) / PILOTS);
      c->power = all_sum / counted;
      best = sum;
      from = a;
      end = b;
    }
  }
  /* A signal that comes late turns by -2 pi f late. */
  late = -atan2(best.q, best.i) / (2 * M_PI * 6) * LTE_NARROW;
  c->start += late;
  for (i = from; i < end; i++) {
    for (l = 0; l < 4; l++) {
      for (j = 0; j < PILOTS; j++) {
        const double angle = 2 * M_PI * (first[l] + 6.0 * j - 36) * late / LTE_NARROW;

        p[i][l][j] = times(p[i][l][j], (tlg_cf64){cos(angle), sin(angle)});
      }
    }
    for (j = 0; j < PILOTS; j++) {
      /* Symbol 4's stand three subcarriers beside: both neighbours, where there are two. */
      const unsigned other = first[1] > first[2] ? (j > 0 ? j - 1 : j) : (j + 1 < PILOTS ? j + 1 : j);
      const tlg_cf64 both = {p[i][1][j].i + p[i][1][other].i, p[i][1][j].q + p[i][1][other].q};

      add(&near, times_conj(p[i][2][j], both));
      add(&far, times_conj(p[i][2][j], p[i][0][j]));
      add(&far, times_conj(p[i][3][j], p[i][1][j]));
    }
  }
  turn = atan2(near.q, near.i) / (2 * M_PI * to_7);
  turn *= from_0_to_7; /* in turns from symbol 0 to 7, about; the fraction is measured better there */
  if (c->statistic > 10 && fabs(turn) > 0.5) {
    /* More than 1 kHz from what strong synchronisation signals say: the timing of some parts is 11.1 us (a period of
     * the slope) off, and their symbols disagree. */
    turn = 0;
  }
  {
    const double exact = atan2(far.q, far.i) / (2 * M_PI);

    turn = exact + floor(turn - exact + 0.5);
  }
  if (c->crs > LTE_GATE_CRS) {
    c->cfo_hz += turn / from_0_to_7 * LTE_NARROW_HZ;
  }
  free(p);
}

/* ---- all together ------------------------------------------------------------------------------------------------ */

static double modulo(double x, double m)
{
  return x - floor(x / m) * m;
}

/* What a peak of the correlation turns out to be. */
static void examine(struct lte_narrow *w, const tlg_cf64 *s, size_t n, const struct peak *p, int only,
                    struct lte_candidate *c)
{
  struct secondary z;
  unsigned one = 0, order = 0;
  double at = p->at;

  memset(c, 0, sizeof *c);
  c->cfo_hz = halves_offset(w, s, n, p->root, p->at, p->offset * STEP_HZ);
  secondary(w, s, n, p->root, at, c->cfo_hz, &z);
  c->statistic = best_sequence(w, p->root, &z, only, &one, &order);
  c->id = (int)(3 * one + p->root);
  c->pss = z.coherence;
  c->sss = c->statistic * sqrt((z.count[0] && z.count[1] ? 124 : 62) / 2.0) / (z.count[0] && z.count[1] ? 124 : 62);
  /* The half frame of number 0 begins with subframe 0 (order 0) or 5. */
  c->start = modulo(at - PSS_AT - (order ? LTE_NARROW_HALF : 0), 2 * LTE_NARROW_HALF);
  if (c->statistic > LTE_GATE_SSS_MIB) {
    c->cfo_hz = pair_offset(w, s, n, p->root, one, order, at, c->cfo_hz);
  }
}

int tlg_lte_narrow_search(struct lte_narrow *w, const tlg_cf64 *s, size_t n, struct lte_candidate *found, size_t cap,
                          size_t *n_found)
{
  struct peak peak[LTE_CANDIDATES];
  size_t n_peaks, k, m = 0;
  int st;

  *n_found = 0;
  if (n < 2 * LTE_NARROW + 16) {
    return 0;
  }
  st = correlate(w, s, n, 3, w->from_offset, w->end_offset);
  if (st != 0) {
    return st;
  }
  n_peaks = peaks(w, peak, LTE_CANDIDATES);
  for (k = 0; k < n_peaks && m < cap; k++) {
    struct lte_candidate c;
    size_t j;

    examine(w, s, n, &peak[k], -1, &c);
    if (c.statistic < LTE_GATE_SSS_MIB) {
      continue;
    }
    tlg_lte_narrow_refine(w, s, n, &c);
    for (j = 0; j < m && found[j].id != c.id; j++) {
    }
    if (j < m) { /* the same cell at another place: keep the clearer */
      if (c.statistic > found[j].statistic) {
        found[j] = c;
      }
    } else {
      found[m++] = c;
    }
  }
  for (k = 1; k < m; k++) {
    const struct lte_candidate c = found[k];
    size_t j = k;

    for (; j > 0 && found[j - 1].power * found[j - 1].coherence < c.power * c.coherence; j--) {
      found[j] = found[j - 1];
    }
    found[j] = c;
  }
  *n_found = m;
  return 0;
}

double tlg_lte_narrow_find(struct lte_narrow *w, const tlg_cf64 *s, size_t n, int id, double cfo_hz, double *start,
                           int *half)
{
  const unsigned root = (unsigned)id % 3;
  int offset = (int)floor(cfo_hz / STEP_HZ + 0.5);
  struct peak peak;
  struct lte_candidate c;

  if (n < 2 * LTE_NARROW + 16) {
    return 0;
  }
  if (offset < w->first_offset || offset > -w->first_offset) {
    offset = offset < 0 ? w->first_offset : -w->first_offset;
  }
  if (correlate(w, s, n, root, offset, offset + 1) != 0 || peaks(w, &peak, 1) == 0) {
    return 0;
  }
  examine(w, s, n, &peak, id / 3, &c);
  *start = modulo(c.start, LTE_NARROW_HALF);
  *half = c.start >= LTE_NARROW_HALF;
  return c.statistic;
}
