/* SPDX-License-Identifier: Apache-2.0 */
/* A recording at a multiple of 15 kHz: ideal band-limited conversion by FFT in overlapping blocks, and a windowed sinc
 * for what the clock is off. */
#include "gcd.h"
#include "lte_rx.h"
#include "spectral.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* up/down = out/in in lowest terms, or the last convergent of its continued fraction with both terms below 32768: off
 * by less than 1e-8, which is left to the clock. */
static void ratio(const struct tlg_rate *rate, unsigned points, size_t *up, size_t *down)
{
  unsigned __int128 a = (unsigned __int128)points * 15000 * rate->den, b = rate->num;
  unsigned __int128 p0 = 0, p1 = 1, q0 = 1, q1 = 0;

  while (b) {
    const unsigned __int128 whole = a / b, rest = a % b;
    const unsigned __int128 p = whole * p1 + p0, q = whole * q1 + q0;

    if ((p > 32768 || q > 32768) && q1 != 0 && p1 != 0) {
      break;
    }
    p0 = p1, p1 = p, q0 = q1, q1 = q;
    a = b, b = rest;
  }
  *up = (size_t)p1;
  *down = (size_t)q1;
}

int tlg_lte_convert_open(struct lte_convert *c, const struct tlg_rate *rate, unsigned points, int direct)
{
  const double in = tlg_rate_hz(rate), out = points * 15e3, less = in < out ? in : out;
  /* The taper takes the uppermost part of the smaller rate's half: little where a cell may reach up to there (2 %),
   * more where only its middle is wanted. Its impulse response falls below -100 dB within 12 / width. */
  const double width = points <= LTE_NARROW ? 0.1 * less : 0.02 * less;
  size_t units, pad, k;

  memset(c, 0, sizeof *c);
  c->up = c->down = 1;
  if (direct) {
    c->direct = 1;
    return 0;
  }
  ratio(rate, points, &c->up, &c->down);
  pad = (size_t)ceil(12 / width * in / (double)c->down);
  units = (size_t)ceil(1e-3 * in / (double)c->down);
  units = (units > 6 * pad ? units : 6 * pad) + 2 * pad;
  while (!tlg_smooth(units)) {
    units++;
  }
  c->n_in = units * c->down;
  c->n_out = units * c->up;
  c->pad_in = pad * c->down;
  c->pad_out = pad * c->up;
  c->hop_in = c->n_in - 2 * c->pad_in;
  c->hop_out = c->n_out - 2 * c->pad_out;
  c->keep = (c->n_in < c->n_out ? c->n_in : c->n_out) / 2;
  c->slots = LTE_CACHE_BYTES / (c->hop_out * sizeof(tlg_cf32));
  if (c->slots < 3) {
    c->slots = 3;
  }
  c->taper = malloc((c->keep + 1) * sizeof *c->taper);
  c->block = malloc(c->slots * sizeof *c->block);
  c->stamp = calloc(c->slots, sizeof *c->stamp);
  c->cache = calloc(c->slots, sizeof *c->cache);
  if (!c->taper || !c->block || !c->stamp || !c->cache || tlg_fft_open(&c->forward, c->n_in, 0) != 0 ||
      tlg_fft_open(&c->back, c->n_out, 1) != 0) {
    tlg_lte_convert_close(c);
    return TLG_ENOMEM;
  }
  for (k = 0; k <= c->keep; k++) {
    const double from_edge = (double)(c->keep - k) * in / (double)c->n_in / width;

    c->taper[k] = (from_edge < 1 ? 0.5 - 0.5 * cos(M_PI * from_edge) : 1) / (double)c->n_in;
  }
  tlg_lte_convert_clear(c);
  return 0;
}

void tlg_lte_convert_close(struct lte_convert *c)
{
  size_t k;

  for (k = 0; c->cache && k < c->slots; k++) {
    free(c->cache[k]);
  }
  tlg_fft_close(&c->forward);
  tlg_fft_close(&c->back);
  free(c->taper);
  free(c->block);
  free(c->stamp);
  free(c->cache);
  memset(c, 0, sizeof *c);
}

void tlg_lte_convert_clear(struct lte_convert *c)
{
  size_t k;

  for (k = 0; k < c->slots; k++) {
    c->block[k] = INT64_MIN;
    c->stamp[k] = 0;
  }
}

/* Samples first .. first + n - 1 of the source, 0 outside of it. */
static void take(const struct lte_source *s, int64_t first, size_t n, tlg_cf64 *out)
{
  const double sign = s->mirrored ? -1 : 1;
  size_t k = 0;

  for (; k < n && first + (int64_t)k < 0; k++) {
    out[k].i = out[k].q = 0;
  }
  for (; k < n && first + (int64_t)k < (int64_t)s->n; k++) {
    const tlg_cs16 v = s->x[first + (int64_t)k];

    out[k].i = v.i - s->mean_i;
    out[k].q = sign * (v.q - s->mean_q);
  }
  for (; k < n; k++) {
    out[k].i = out[k].q = 0;
  }
}

/* Outputs [block * hop_out, (block + 1) * hop_out), or NULL without memory. */
static const tlg_cf32 *block_of(struct lte_convert *c, const struct lte_source *source, int64_t block)
{
  size_t slot = 0, k;
  tlg_cf32 *to;

  c->clock++;
  for (k = 0; k < c->slots; k++) {
    if (c->block[k] == block) {
      c->stamp[k] = c->clock;
      return c->cache[k];
    }
    if (c->stamp[k] < c->stamp[slot]) {
      slot = k;
    }
  }
  if (!c->cache[slot] && !(c->cache[slot] = malloc(c->hop_out * sizeof *to))) {
    return NULL;
  }
  take(source, block * (int64_t)c->hop_in - (int64_t)c->pad_in, c->n_in, c->forward.in);
  tlg_fft_run(&c->forward);
  for (k = 0; k < c->keep; k++) {
    c->back.in[k].i = c->taper[k] * c->forward.out[k].i;
    c->back.in[k].q = c->taper[k] * c->forward.out[k].q;
  }
  for (; k <= c->n_out - c->keep; k++) {
    c->back.in[k].i = c->back.in[k].q = 0;
  }
  for (; k < c->n_out; k++) {
    const double gain = c->taper[c->n_out - k];
    const size_t from = c->n_in - (c->n_out - k);

    c->back.in[k].i = gain * c->forward.out[from].i;
    c->back.in[k].q = gain * c->forward.out[from].q;
  }
  tlg_fft_run(&c->back);
  to = c->cache[slot];
  for (k = 0; k < c->hop_out; k++) {
    to[k].i = (float)c->back.out[c->pad_out + k].i;
    to[k].q = (float)c->back.out[c->pad_out + k].q;
  }
  c->block[slot] = block;
  c->stamp[slot] = c->clock;
  return to;
}

int tlg_lte_convert_read(struct lte_convert *c, const struct lte_source *source, int64_t first, size_t n, tlg_cf64 *out)
{
  /* No block beyond the recording is worth the transform. */
  const int64_t end = c->direct ? 0 : (int64_t)((double)source->n * (double)c->up / (double)c->down) + 1;

  if (c->direct) {
    take(source, first, n, out);
    return 0;
  }
  while (n > 0) {
    const int64_t hop = (int64_t)c->hop_out;
    const int64_t block = first >= 0 ? first / hop : -((hop - 1 - first) / hop);
    const size_t at = (size_t)(first - block * hop), m = c->hop_out - at < n ? c->hop_out - at : n;
    size_t k;

    if (first + (int64_t)m <= 0 || first >= end) {
      memset(out, 0, m * sizeof *out);
    } else {
      const tlg_cf32 *from = block_of(c, source, block);

      if (!from) {
        return TLG_ENOMEM;
      }
      for (k = 0; k < m; k++) {
        out[k].i = from[at + k].i;
        out[k].q = from[at + k].q;
      }
    }
    first += (int64_t)m;
    out += m;
    n -= m;
  }
  return 0;
}

/* ---- the clock ------------------------------------------------------------------------------------------------ */

/* Modified Bessel function of order 0, by its series. */
static double bessel(double x)
{
  double sum = 1, term = 1;
  int k;

  for (k = 1; k < 60; k++) {
    term *= x / (2 * k) * (x / (2 * k));
    sum += term;
  }
  return sum;
}

double *tlg_lte_interpolate_table(void)
{
  const double beta = 9;
  double *t = malloc((LTE_PHASES + 1) * (size_t)LTE_TAPS * sizeof *t);
  int p, k;

  for (p = 0; t && p <= LTE_PHASES; p++) {
    double sum = 0, *row = t + (size_t)p * LTE_TAPS;

    for (k = 0; k < LTE_TAPS; k++) {
      /* Tap k meets sample floor(at) - TAPS/2 + 1 + k. */
      const double x = (double)p / LTE_PHASES - (k - LTE_TAPS / 2 + 1), w = x / (LTE_TAPS / 2.0);

      row[k] = fabs(w) >= 1 ? 0 : bessel(beta * sqrt(1 - w * w)) * (fabs(x) < 1e-12 ? 1 : sin(M_PI * x) / (M_PI * x));
      sum += row[k];
    }
    for (k = 0; k < LTE_TAPS; k++) {
      row[k] /= sum;
    }
  }
  return t;
}

void tlg_lte_interpolate(const double *table, const tlg_cf64 *x, double from, double step, tlg_cf64 *out, size_t n)
{
  size_t j;
  int k;

  for (j = 0; j < n; j++) {
    const double at = from + (double)j * step, whole = floor(at), phase = (at - whole) * LTE_PHASES;
    const int p = (int)phase < LTE_PHASES ? (int)phase : LTE_PHASES - 1;
    const double b = phase - p, a = 1 - b;
    const double *row = table + (size_t)p * LTE_TAPS;
    const tlg_cf64 *s = x + (ptrdiff_t)whole - LTE_TAPS / 2 + 1;
    double i = 0, q = 0;

    for (k = 0; k < LTE_TAPS; k++) {
      const double tap = a * row[k] + b * row[k + LTE_TAPS];

      i += tap * s[k].i;
      q += tap * s[k].q;
    }
    out[j].i = i;
    out[j].q = q;
  }
}

void tlg_lte_rotate(tlg_cf64 *x, size_t n, double phase, double step)
{
  const tlg_cf64 turn = {cos(2 * M_PI * step), sin(2 * M_PI * step)};
  size_t k = 0;

  while (k < n) {
    /* The recurrence gathers half a unit of the last place a step: begin anew every 256 samples. */
    const size_t end = n - k < 256 ? n : k + 256;
    const double at = phase + (double)k * step, angle = 2 * M_PI * (at - floor(at));
    tlg_cf64 w = {cos(angle), sin(angle)};

    for (; k < end; k++) {
      x[k] = times(x[k], w);
      w = times(w, turn);
    }
  }
}
