/* SPDX-License-Identifier: Apache-2.0 */
/* Compares a resampler's output with the ideal resampling of its input, block by block: error in the band, images and
 * emission, level; and finds out where an error begins and what it looks like.
 *
 * A block of inputs and the block of outputs of the same time are weighted by the same window of continuous time, so
 * their spectra may be compared bin by bin: the ideal output's spectrum is the input's own, and what differs is error.
 * Squared Hann windows half a block apart weigh every sample between 1/2 and 1. */
#include "spectral_check.h"

#include <stdlib.h>
#include <string.h>

static int whole_ms(size_t n, const struct tlg_rate *rate)
{
  /* n / rate in units of 1 ms */
  return (unsigned __int128)n * rate->den * 1000 % rate->num == 0;
}

uint64_t tlg_check_least(uint32_t down, size_t skip)
{
  const size_t step = 2 * (size_t)down;

  return step == 0 ? 0 : (step + LEAST - 1) / step * step + 2 * (uint64_t)skip;
}

size_t tlg_check_block(const struct tlg_rate *rate_in, uint32_t up, uint32_t down, uint64_t n_in, size_t skip)
{
  const size_t least = 2 * (size_t)down;
  const uint64_t usable = n_in > 2 * (uint64_t)skip ? n_in - 2 * (uint64_t)skip : 0;
  size_t n, m;

  (void)up;
  if (!rate_in || rate_in->num == 0 || down == 0) {
    return 0;
  }
  n = tlg_block_size(down, 20000);
  for (m = least; m <= 50000; m += least) { /* a whole millisecond near that size? */
    if (m >= 15000 && whole_ms(m, rate_in)) {
      n = m;
      break;
    }
  }
  while (n > least && n > usable / 2) {
    n = tlg_block_size(down, n / 4);
  }
  while (n < LEAST) {
    n += least;
  }
  return n <= usable ? n : 0;
}

size_t tlg_check_period(const tlg_cs16 *x, size_t n, const struct tlg_rate *rate_in, uint32_t down)
{
  int ms, peak = 0;
  size_t k;

  if (!x || !rate_in || rate_in->den == 0 || down == 0) {
    return 0;
  }
  for (k = 0; k < n; k++) {
    peak = abs(x[k].i) > peak ? abs(x[k].i) : peak;
    peak = abs(x[k].q) > peak ? abs(x[k].q) : peak;
  }
  if (peak < 100) {
    return 0;
  }
  for (ms = 1; ms <= 20; ms++) {
    const unsigned __int128 top = (unsigned __int128)rate_in->num * (unsigned)ms,
                            bottom = (unsigned __int128)rate_in->den * 1000;
    const uint64_t period = (uint64_t)(top / bottom);

    if (top % bottom != 0 || period % down != 0 || period < 64) {
      continue;
    }
    if (period > n / 2) {
      return 0;
    }
    for (k = period; k < n && abs(x[k].i - x[k - period].i) <= 1 && abs(x[k].q - x[k - period].q) <= 1; k++) {
    }
    if (k == n) {
      return (size_t)period;
    }
  }
  return 0;
}

static double or_default(double value, double otherwise)
{
  return value == 0 ? otherwise : value;
}

static int open_sums(struct sums *m, size_t n_in, size_t n_out)
{
  m->xx = calloc(n_in, sizeof *m->xx);
  m->rr = calloc(n_out, sizeof *m->rr);
  m->yy = calloc(n_out, sizeof *m->yy);
  m->ee = calloc(n_out, sizeof *m->ee);
  m->yr = calloc(n_out, sizeof *m->yr);
  return m->xx && m->rr && m->yy && m->ee && m->yr ? 0 : TLG_ENOMEM;
}

static void close_sums(struct sums *m)
{
  free(m->yr);
  free(m->ee);
  free(m->yy);
  free(m->rr);
  free(m->xx);
}

int tlg_check_new(struct tlg_check **check, const struct tlg_check_cfg *cfg, struct tlg_error *err)
{
  struct tlg_check *c;
  double low;
  size_t k;
  int st;

  if (!check) {
    return tlg_error_set(err, TLG_EINVAL, "no place for the result");
  }
  *check = NULL;
  if (!cfg || (cfg->delay.den == 0 && cfg->delay.num != 0)) {
    return tlg_error_set(err, TLG_EINVAL, "the configuration is incomplete");
  }
  if (isnan(cfg->min_snr_db) || isnan(cfg->max_ripple_db) || isnan(cfg->max_image_dbc) || isnan(cfg->max_total_dbc) ||
      isnan(cfg->max_gain_db)) {
    return tlg_error_set(err, TLG_EINVAL, "a limit is not a number");
  }
  c = calloc(1, sizeof *c);
  if (!c) {
    return tlg_error_set(err, TLG_ENOMEM, "out of memory");
  }
  c->cfg = *cfg;
  st = tlg_rate_ratio(&cfg->rate_in, &cfg->rate_out, &c->up, &c->down);
  if (st) {
    free(c);
    return tlg_error_set(err, TLG_EINVAL, "the ratio of the two rates has a term above 65535");
  }
  if (cfg->delay.den == 0) {
    c->cfg.delay = (struct tlg_rate){0, 1};
  }
  c->fs_in = tlg_rate_hz(&cfg->rate_in);
  c->fs_out = tlg_rate_hz(&cfg->rate_out);
  low = c->fs_in < c->fs_out ? c->fs_in : c->fs_out;
  c->band = cfg->band_hz.den ? tlg_rate_hz(&cfg->band_hz) : 0.3603 * low < 9007500.0 ? 0.3603 * low : 9007500.0;
  if (!(c->band > 0) || c->band >= low / 2) {
    free(c);
    return tlg_error_set(err, TLG_EINVAL, "the band of +-%.6g Hz does not lie below half the smaller rate, %.6g Hz",
                         cfg->band_hz.den ? tlg_rate_hz(&cfg->band_hz) : 0, low / 2);
  }
  c->stop = low - c->band;
  c->cfg.min_snr_db = or_default(cfg->min_snr_db, 75);
  c->cfg.max_ripple_db = or_default(cfg->max_ripple_db, 0.01);
  c->cfg.max_image_dbc = or_default(cfg->max_image_dbc, -70);
  c->cfg.max_total_dbc = or_default(cfg->max_total_dbc, -65);
  c->cfg.max_gain_db = or_default(cfg->max_gain_db, 0.1);
  c->cfg.packet = cfg->packet ? cfg->packet : 625;
  c->cfg.skip = cfg->skip ? cfg->skip : 64;
  c->n_in = cfg->period  ? cfg->period
            : cfg->block ? cfg->block
                         : tlg_check_block(&cfg->rate_in, c->up, c->down, UINT64_MAX, c->cfg.skip);
  if (c->n_in == 0 || c->n_in % ((cfg->period ? 1 : 2) * (size_t)c->down) != 0 || c->n_in > 1u << 26) {
    tlg_error_set(err, TLG_EINVAL, "a block of %zu inputs is no multiple of %zu", c->n_in,
                  (cfg->period ? 1 : 2) * (size_t)c->down);
    free(c);
    return TLG_EINVAL;
  }
  c->n_out = c->n_in / c->down * c->up;
  c->hop_in = cfg->period ? c->n_in : c->n_in / 2;
  c->hop_out = cfg->period ? c->n_out : c->n_out / 2;
  c->x_cap = 2 * c->n_in + 4096 + c->cfg.skip;
  c->y_cap = 2 * c->n_out + 4096;
  c->next = cfg->start + c->cfg.skip;
  c->w_in = malloc(c->n_in * sizeof *c->w_in);
  c->w_out = malloc(c->n_out * sizeof *c->w_out);
  c->shift = malloc(c->n_out * sizeof *c->shift);
  c->ref = malloc(c->n_out * sizeof *c->ref);
  c->err = malloc(c->n_out * sizeof *c->err);
  c->time = malloc(c->n_out * sizeof *c->time);
  c->time2 = malloc(c->n_out * sizeof *c->time2);
  c->keep = malloc(c->n_out * sizeof *c->keep);
  c->x = malloc(c->x_cap * sizeof *c->x);
  c->y = malloc(c->y_cap * sizeof *c->y);
  c->in_band = malloc(c->n_out);
  c->place = malloc(PLACES * sizeof *c->place);
  if (open_sums(&c->sum[0], c->n_in, c->n_out) || open_sums(&c->sum[1], c->n_in, c->n_out) || !c->w_in || !c->w_out ||
      !c->shift || !c->ref || !c->err || !c->time || !c->time2 || !c->keep || !c->x || !c->y || !c->in_band ||
      !c->place || tlg_fft_open(&c->fft_x, c->n_in, 0) || tlg_fft_open(&c->fft_y, c->n_out, 0) ||
      tlg_fft_open(&c->back, c->n_out, 1)) {
    tlg_check_free(c);
    return tlg_error_set(err, TLG_ENOMEM, "out of memory");
  }
  for (k = 0; k < c->n_in; k++) {
    c->w_in[k] = cfg->period ? 1 : tlg_window_at(TLG_WINDOW_HANN, (double)k / (double)c->n_in);
  }
  for (k = 0; k < c->n_out; k++) {
    c->in_band[k] = fabs(bin_hz(k, c->n_out, c->fs_out)) <= c->band;
  }
  c->fraction = -1;
  c->r.worst_snr_db = INFINITY;
  c->r.first_in = UINT64_MAX;
  *check = c;
  return 0;
}

void tlg_check_free(struct tlg_check *c)
{
  if (c) {
    tlg_fft_close(&c->back);
    tlg_fft_close(&c->fft_y);
    tlg_fft_close(&c->fft_x);
    free(c->place);
    free(c->in_band);
    close_sums(&c->sum[1]);
    close_sums(&c->sum[0]);
    free(c->y);
    free(c->x);
    free(c->keep);
    free(c->time2);
    free(c->time);
    free(c->err);
    free(c->ref);
    free(c->shift);
    free(c->w_out);
    free(c->w_in);
    free(c);
  }
}

/* ---- positions ------------------------------------------------------------------------------------------------ */

uint64_t tlg_check_output_of(const struct tlg_check *c, uint64_t i, double *fraction)
{
  const unsigned __int128 bottom = (unsigned __int128)c->down * c->cfg.delay.den;
  const unsigned __int128 top =
      (unsigned __int128)i * c->up * c->cfg.delay.den + (unsigned __int128)c->cfg.delay.num * c->down;

  if (fraction) {
    *fraction = (double)(uint64_t)(top % bottom) / (double)(uint64_t)bottom;
  }
  return (uint64_t)(top / bottom);
}

/* The block's outputs stand `fraction` before the instants of its first input's grid. */
static void set_fraction(struct tlg_check *c, double fraction)
{
  size_t k;

  if (fraction == c->fraction) {
    return;
  }
  c->fraction = fraction;
  c->w1 = c->w2 = 0;
  /* y[k] is taken at k - fraction: a delay of `fraction` of the reference */
  tlg_shift_table(c->shift, c->n_out, fraction);
  for (k = 0; k < c->n_out; k++) {
    c->w_out[k] = c->cfg.period ? 1 : tlg_window_at(TLG_WINDOW_HANN, ((double)k - fraction) / (double)c->n_out);
    c->w1 += c->w_out[k];
    c->w2 += c->w_out[k] * c->w_out[k];
  }
}

/* ---- blocks ---------------------------------------------------------------------------------------------------- */

/* Long windows see little of the ends of a recording: compare what is buffered once more, in the shortest blocks. Only
 * whether they fail, and where, is taken from it. */
void tlg_check_edge(struct tlg_check *c, int at_end)
{
  const unsigned __int128 den = (unsigned __int128)c->down * c->cfg.delay.den;
  const unsigned __int128 at =
      (unsigned __int128)c->x_first * c->up * c->cfg.delay.den + (unsigned __int128)c->cfg.delay.num * c->down;
  const unsigned __int128 from = (unsigned __int128)c->y_first * den;
  struct tlg_check_cfg cfg = c->cfg;
  const struct tlg_check_result *r;
  struct tlg_check *edge;
  size_t i = 0, o = 0;

  cfg.block = tlg_block_size(c->down, 4 * LEAST);
  if (c->cfg.period || 4 * cfg.block > c->n_in || c->r.gaps || at < from || at - from > UINT64_MAX ||
      den > UINT64_MAX) {
    return;
  }
  cfg.delay = (struct tlg_rate){(uint64_t)(at - from), (uint64_t)den};
  cfg.start = cfg.length = 0;
  if (tlg_check_new(&edge, &cfg, NULL) != TLG_OK) {
    return;
  }
  while (i < c->x_fill || o < c->y_fill) {
    size_t n = tlg_check_want_in(edge), before = i + o;

    n = n < c->x_fill - i ? n : c->x_fill - i;
    tlg_check_push_in(edge, c->x + i, n);
    i += n;
    if (i == c->x_fill) {
      tlg_check_end_in(edge);
    }
    n = tlg_check_want_out(edge);
    n = n < c->y_fill - o ? n : c->y_fill - o;
    tlg_check_push_out(edge, c->y + o, n);
    o += n;
    if (o == c->y_fill) {
      tlg_check_end_out(edge);
    }
    if (i + o == before) {
      break;
    }
  }
  if (tlg_check_finish(edge, &r, NULL) == TLG_OK) {
    c->r.edge_block = r->block_in;
    c->r.edge_blocks += r->blocks;
    if (r->bad_blocks) {
      const size_t n = r->n_events < TLG_CHECK_EVENTS ? r->n_events : TLG_CHECK_EVENTS;
      uint64_t first = r->first_out, end = r->end_out;

      if (n > 0) { /* they follow each other */
        /* what fails where it can first be seen failed before */
        first = r->event[0].first <= first + r->block_out / 14 + 16 ? first : r->event[0].first;
        end = r->event[n - 1].end < end && r->n_events <= TLG_CHECK_EVENTS ? r->event[n - 1].end : end;
      }
      c->r.end[at_end].bad = r->bad_blocks;
      c->r.end[at_end].first = c->y_first + first;
      c->r.end[at_end].end = c->y_first + end;
    }
    c->r.edge_bad += r->bad_blocks;
  }
  tlg_check_free(edge);
}

/* Whether this block's reference lies in a sixteenth of the band at most, as a few tones do. */
static int fills_little(const struct tlg_check *c, double inside)
{
  const size_t edge = (size_t)floor(c->band / c->fs_out * (double)c->n_out), n = 2 * edge + 1;
  const double least = 0.01 * inside / (double)n;
  uint64_t filled = 0;
  size_t k;
  int count = 0;

  for (k = 0; k < n; k++) {
    if (power(c->ref[k < edge ? c->n_out - edge + k : k - edge]) > least) {
      filled |= (uint64_t)1 << (k * 64 / n);
    }
  }
  for (; filled; filled &= filled - 1) {
    count++;
  }
  return count <= 4;
}

static void add(tlg_cf64 *sum, tlg_cf64 z)
{
  sum->i += z.i;
  sum->q += z.q;
}

double tlg_check_leak(const struct tlg_check *c, double sum, double squares)
{
  return TAP_ERROR * (double)c->cfg.taps_per_phase * pow(2, -2.0 * c->cfg.tap_shift) * (sum + 7 * sqrt(squares));
}

/* The same for this block's input outside the band. */
static double tap_rounding(const struct tlg_check *c, double scale)
{
  const size_t t = c->cfg.taps_per_phase, n = c->n_in, cell = t && n / t ? n / t : 1;
  const size_t edge = (size_t)floor(c->band / c->fs_in * (double)n);
  double sum = 0, squares = 0, in_cell = 0;
  size_t k;

  if (t == 0) {
    return 0;
  }
  for (k = edge + 1; k <= n / 2; k++) { /* both signs together: real taps do the same to them */
    in_cell += power(c->fft_x.out[k]) + (2 * k < n ? power(c->fft_x.out[n - k]) : 0);
    if ((k - edge) % cell == 0 || k == n / 2) {
      sum += in_cell;
      squares += in_cell * in_cell;
      in_cell = 0;
    }
  }
  return scale * tlg_check_leak(c, sum, squares);
}

/* Compare the block at input `first`; last: no block follows. */
static void process(struct tlg_check *c, uint64_t first, int last)
{
  double fraction, inside = 0, outside = 0, error = 0, asked, allowed, leaks, snr;
  const uint64_t y0 = tlg_check_output_of(c, first, &fraction);
  const tlg_cs16 *x = c->x + (first - c->x_first), *y = c->y + (y0 - c->y_first);
  const double bias = c->cfg.truncated ? 0.5 : 0, n = (double)c->n_out;
  const size_t edge_in = (size_t)floor(c->band / c->fs_in * (double)c->n_in);
  /* The middle halves of the blocks cover everything once; the first and last block reach to where the window lets
   * them see. */
  const int follows = c->r.blocks > 0 && first + c->hop_in == c->last;
  const size_t from = c->cfg.period ? 0 : follows ? c->n_out / 4 : c->n_out / 14;
  const size_t to = c->cfg.period ? c->n_out : c->n_out - (last ? c->n_out / 14 : c->n_out / 4);
  tlg_cf64 yr = {0, 0};
  size_t b, in_band = 0;
  struct sums *sum;
  int bad;

  if (c->r.blocks == 0 && c->x_first == 0 && c->y_first == 0 && c->cfg.start == 0) {
    tlg_check_edge(c, 0);
  }
  set_fraction(c, fraction);
  for (b = 0; b < c->n_in; b++) {
    c->fft_x.in[b].i = c->w_in[b] * x[b].i;
    c->fft_x.in[b].q = c->w_in[b] * x[b].q;
  }
  for (b = 0; b < c->n_out; b++) {
    c->fft_y.in[b].i = c->w_out[b] * (y[b].i + bias);
    c->fft_y.in[b].q = c->w_out[b] * (y[b].q + bias);
  }
  tlg_fft_run(&c->fft_x);
  tlg_fft_run(&c->fft_y);
  tlg_ideal_map(c->ref, c->n_out, c->fft_x.out, c->n_in, c->shift);
  for (b = edge_in + 1; b < c->n_in - edge_in; b++) {
    outside += power(c->fft_x.out[b]);
  }
  outside *= n / (double)c->n_in * (n / (double)c->n_in);
  leaks = tap_rounding(c, n / (double)c->n_in * (n / (double)c->n_in));
  for (b = 0; b < c->n_out; b++) {
    const tlg_cf64 yy = c->fft_y.out[b], rr = c->ref[b];

    c->err[b].i = yy.i - rr.i;
    c->err[b].q = yy.q - rr.q;
    if (c->in_band[b]) {
      const tlg_cf64 m = c->ref[b ? c->n_out - b : 0];

      inside += power(rr);
      error += power(c->err[b]);
      in_band++;
      add(&yr, times_conj(yy, rr));
      add(&c->mirror, times(yy, m));
    }
  }
  /* sum |FFT|^2 of white noise of power p under the window: p * w2 * n; 1 dB for the scatter of one block, more when it
   * has few bins */
  asked = pow(10, -(c->cfg.min_snr_db - (fills_little(c, inside) ? NARROW_DB : 0)) / 10) * (inside + outside);
  allowed = asked + 1.5 * ROUNDING_POWER * c->w2 * n + leaks;
  bad = tlg_check_judged_error(c, inside, error, yr) > allowed * (1.26 + 4 / sqrt((double)in_band + 1));
  sum = &c->sum[bad];
  for (b = 0; b < c->n_in; b++) {
    sum->xx[b] += power(c->fft_x.out[b]);
  }
  for (b = 0; b < c->n_out; b++) {
    const tlg_cf64 yy = c->fft_y.out[b], rr = c->ref[b];

    sum->rr[b] += power(rr);
    sum->yy[b] += power(yy);
    sum->ee[b] += power(c->err[b]);
    add(&sum->yr[b], times_conj(yy, rr));
  }
  sum->inside += inside;
  sum->total += inside + outside;
  sum->blocks++;
  c->r.dc_i += c->err[0].i / c->w1;
  c->r.dc_q += c->err[0].q / c->w1;
  c->inside += inside;
  c->error_in += error;
  c->total_in += inside + outside;
  c->leaks += leaks;
  c->asked += asked;
  sum->leaks += leaks;
  snr = error > 0 ? to_db(inside / error) : 300;
  if (inside > 0 && snr < c->r.worst_snr_db) {
    c->r.worst_snr_db = snr;
    c->r.worst_output = y0 + c->n_out / 2;
  }
  c->r.blocks++;
  if (bad) {
    c->r.bad_blocks++;
    if (!(c->in_error && c->has_lag && tlg_check_same_lag(c, y, y0))) {
      tlg_check_diagnose(c, y, y0, allowed / (c->w2 * n), from, to);
    }
  } else if (c->in_error) {
    tlg_check_close_event(c, y0 + from);
  }
  if (c->r.first_in == UINT64_MAX) {
    c->r.first_in = first;
    c->y_begin = y0;
  }
  c->last = first + c->n_in;
  c->y_end = y0 + c->n_out;
}

static uint64_t limit_in(const struct tlg_check *c)
{
  return c->cfg.length && c->cfg.length < UINT64_MAX - c->cfg.start ? c->cfg.start + c->cfg.length : UINT64_MAX;
}

/* Whether the block at input `first` is complete. end: how many inputs may be used. */
static int complete(const struct tlg_check *c, uint64_t first, uint64_t end)
{
  /* `skip` inputs must follow, or the filter would already have seen the end. */
  return first >= c->x_first && first + c->n_in <= end && first + c->n_in + c->cfg.skip <= c->x_first + c->x_fill &&
         tlg_check_output_of(c, first, NULL) >= c->y_first &&
         tlg_check_output_of(c, first, NULL) + c->n_out <= c->y_first + c->y_fill;
}

static void drop(tlg_cs16 *buffer, size_t *fill, uint64_t *first, uint64_t keep)
{
  const uint64_t n = keep > *first ? keep - *first : 0, m = n < *fill ? n : *fill;

  if (m == 0) {
    return;
  }
  memmove(buffer, buffer + m, (*fill - m) * sizeof *buffer);
  *fill -= m;
  *first += m;
}

/* Move the next block behind gaps that it would touch. */
static void pass_gaps(struct tlg_check *c)
{
  size_t k, kept = 0;

  for (k = 0; k < c->n_gaps; k++) {
    if (c->gap[k].first < c->next + c->n_in + c->cfg.skip && c->gap[k].end + c->cfg.skip > c->next) {
      c->next = c->gap[k].end + c->cfg.skip;
    }
    if (c->gap[k].end + c->cfg.skip > c->next) {
      c->gap[kept++] = c->gap[k];
    }
  }
  c->n_gaps = kept;
}

static int add_gap(struct tlg_check *c, uint64_t first, uint64_t end)
{
  size_t at = c->n_gaps;

  c->r.gaps++;
  if (c->n_gaps == GAPS) {
    return TLG_ESPACE;
  }
  while (at > 0 && c->gap[at - 1].first > first) {
    c->gap[at] = c->gap[at - 1];
    at--;
  }
  c->gap[at].first = first;
  c->gap[at].end = end;
  c->n_gaps++;
  return 0;
}

/* The first input that stands at or after output k. */
static uint64_t input_of(const struct tlg_check *c, uint64_t k)
{
  const unsigned __int128 bottom = (unsigned __int128)c->up * c->cfg.delay.den;
  const unsigned __int128 at = (unsigned __int128)k * c->cfg.delay.den;

  return at <= c->cfg.delay.num ? 0 : (uint64_t)(((at - c->cfg.delay.num) * c->down + bottom - 1) / bottom);
}

int tlg_check_gap_in(struct tlg_check *c, uint64_t first, uint64_t n)
{
  return n ? add_gap(c, first, first + n) : 0;
}

int tlg_check_gap_out(struct tlg_check *c, uint64_t first, uint64_t n)
{
  return n ? add_gap(c, input_of(c, first), input_of(c, first + n) + 1) : 0;
}

static void advance(struct tlg_check *c)
{
  for (pass_gaps(c); complete(c, c->next, limit_in(c)); pass_gaps(c)) {
    process(c, c->next, 0);
    c->next += c->hop_in;
  }
  /* Keep one hop of what was used: the last block of all may start anywhere in it. */
  if (c->x_fill > c->n_in + c->n_in / 2 || c->y_fill > c->n_out + c->n_out / 2 || c->next > c->x_first + c->x_fill) {
    const uint64_t keep = c->next > c->hop_in ? c->next - c->hop_in : 0;

    drop(c->x, &c->x_fill, &c->x_first, keep);
    drop(c->y, &c->y_fill, &c->y_first, tlg_check_output_of(c, keep, NULL));
  }
}

/* Whether no further block can lie before the end of what is judged. */
static int done(const struct tlg_check *c)
{
  return c->next > limit_in(c) || limit_in(c) - c->next < c->n_in;
}

size_t tlg_check_want_in(const struct tlg_check *c)
{
  return c->x_ended ? 0 : c->y_ended || done(c) ? 65536 : c->x_cap - c->x_fill;
}

size_t tlg_check_want_out(const struct tlg_check *c)
{
  return c->y_ended ? 0 : c->x_ended || done(c) ? 65536 : c->y_cap - c->y_fill;
}

static int push(struct tlg_check *c, const tlg_cs16 *s, size_t n, tlg_cs16 *buffer, size_t cap, size_t *fill,
                uint64_t *first, uint64_t *total)
{
  /* Once the other stream has ended, only what still fits can be compared; the rest is counted. */
  size_t m = n < cap - *fill ? n : cap - *fill;

  if (*first + *fill != *total) {
    m = 0;
  }
  memcpy(buffer + *fill, s, m * sizeof *s);
  *fill += m;
  *total += n;
  advance(c);
  return 0;
}

int tlg_check_push_in(struct tlg_check *c, const tlg_cs16 *x, size_t n)
{
  size_t k;

  if (n > tlg_check_want_in(c)) {
    return TLG_ESPACE;
  }
  for (k = 0; k < n; k++) {
    c->r.clipped_in += x[k].i == 32767 || x[k].i == -32768 || x[k].q == 32767 || x[k].q == -32768;
  }
  return push(c, x, n, c->x, c->x_cap, &c->x_fill, &c->x_first, &c->n_x);
}

int tlg_check_push_out(struct tlg_check *c, const tlg_cs16 *y, size_t n)
{
  size_t k;

  if (n > tlg_check_want_out(c)) {
    return TLG_ESPACE;
  }
  for (k = 0; k < n; k++) {
    const int i = abs(y[k].i), q = abs(y[k].q);

    c->r.clipped_out += y[k].i == 32767 || y[k].i == -32768 || y[k].q == 32767 || y[k].q == -32768;
    c->r.peak_out = i > c->r.peak_out ? i : c->r.peak_out;
    c->r.peak_out = q > c->r.peak_out ? q : c->r.peak_out;
  }
  return push(c, y, n, c->y, c->y_cap, &c->y_fill, &c->y_first, &c->n_y);
}

void tlg_check_end_in(struct tlg_check *c)
{
  c->x_ended = 1;
}

void tlg_check_end_out(struct tlg_check *c)
{
  c->y_ended = 1;
}

void tlg_check_last_block(struct tlg_check *c)
{
  const unsigned __int128 den = c->cfg.delay.den;
  /* the inputs that stand before output n_y: (n_y - delay) * down / up */
  const unsigned __int128 top = (unsigned __int128)c->n_y * den;
  uint64_t end = c->n_x > c->cfg.skip ? c->n_x - c->cfg.skip : 0, by_y = 0, first;

  if (top > c->cfg.delay.num) {
    by_y = (uint64_t)((top - c->cfg.delay.num) * c->down / ((unsigned __int128)c->up * den));
  }
  end = by_y < end ? by_y : end;
  end = limit_in(c) < end ? limit_in(c) : end;
  first = end > c->n_in ? end - c->n_in : 0;
  if (c->r.gaps || first < c->cfg.start + c->cfg.skip || (c->r.blocks && first + c->n_in <= c->last) ||
      first < c->x_first || first + c->n_in > c->x_first + c->x_fill) {
    return;
  }
  while (first > c->x_first && tlg_check_output_of(c, first, NULL) + c->n_out > c->n_y) {
    first--;
  }
  if (tlg_check_output_of(c, first, NULL) >= c->y_first &&
      tlg_check_output_of(c, first, NULL) + c->n_out <= c->y_first + c->y_fill) {
    process(c, first, 1);
  }
}
