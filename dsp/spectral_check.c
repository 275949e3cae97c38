/* SPDX-License-Identifier: Apache-2.0 */
/* Compares a resampler's output with the ideal resampling of its input, block by block: error in the band, images and
 * emission, level; and finds out where an error begins and what it looks like.
 *
 * A block of inputs and the block of outputs of the same time are weighted by the same window of continuous time, so
 * their spectra may be compared bin by bin: the ideal output's spectrum is the input's own, and what differs is error.
 * Squared Hann windows half a block apart weigh every sample between 1/2 and 1. */
#include "spectral.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Rounding to whole bits makes an error of 1/12 in each component. */
#define ROUNDING_POWER (1.0 / 6)
#define FULL_SCALE2 1073741824.0 /* 32768^2 */

enum {
  LEAST = 256,    /* inputs of the shortest block */
  GROUP = 64,     /* bins over which a gain or a density is averaged */
  FOLDS = 8,      /* images about at most so many multiples of the output rate are told by number */
  PIECES = 64,    /* a block's error is looked at in so many pieces */
  PLACES = 65536, /* instants of error kept, to recognise a pattern */
  GAPS = 1024,    /* gaps ahead of what was compared */
  DIAGNOSED = 256 /* bad blocks looked at closely */
};

/* Sums over blocks, bin by bin, in bits^2. */
struct sums {
  double *xx, *rr, *yy, *ee;
  tlg_cf64 *yr;
  double inside; /* of rr, in the band */
  double total;  /* of the input */
  uint64_t blocks;
};

struct tlg_check {
  struct tlg_check_cfg cfg;
  uint32_t up, down;
  double fs_in, fs_out, band, stop;
  size_t n_in, n_out;     /* a block */
  size_t hop_in, hop_out; /* from one to the next */
  struct tlg_fft fft_x, fft_y, back;
  double *w_in, *w_out;        /* windows; w_out depends on the fraction of an output by which the block is off */
  tlg_cf64 *shift, *ref, *err; /* n_out bins each: fraction of a delay, reference and error of the block */
  double fraction;
  double w1, w2; /* sums of w_out and of its square */

  /* the streams: what is buffered starts at sample number x_first / y_first */
  tlg_cs16 *x, *y;
  size_t x_fill, y_fill, x_cap, y_cap;
  uint64_t x_first, y_first, n_x, n_y;
  int x_ended, y_ended;
  struct {
    uint64_t first, end;
  } gap[GAPS]; /* in inputs, in order */
  size_t n_gaps;
  uint64_t next; /* first input of the next block */
  uint64_t last; /* end of the inputs that were compared */
  uint64_t y_begin, y_end;

  struct sums sum[2]; /* blocks that are right, and those in error */
  uint8_t *in_band;   /* of n_out bins */
  tlg_cf64 mirror;    /* sum of y(k) r(-k) in the band */
  double inside, error_in, total_in;

  /* errors in time */
  int in_error;
  double lag; /* of the present stretch, outputs */
  int has_lag;
  uint64_t diagnosed;
  uint64_t *place; /* outputs with large errors */
  size_t n_places;
  uint64_t wrapped;
  tlg_cf64 *time; /* scratch of n_out: two signals of time */
  tlg_cf64 *time2;

  struct tlg_check_result r;
};

static double power(tlg_cf64 z)
{
  return z.i * z.i + z.q * z.q;
}

static double to_db(double p)
{
  return 10 * log10(p);
}

/* The signed frequency of a bin. */
static double bin_hz(size_t b, size_t n, double fs)
{
  return (b <= n / 2 ? (double)b : (double)b - (double)n) * fs / (double)n;
}

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
  c->x = malloc(c->x_cap * sizeof *c->x);
  c->y = malloc(c->y_cap * sizeof *c->y);
  c->in_band = malloc(c->n_out);
  c->place = malloc(PLACES * sizeof *c->place);
  if (open_sums(&c->sum[0], c->n_in, c->n_out) || open_sums(&c->sum[1], c->n_in, c->n_out) || !c->w_in || !c->w_out ||
      !c->shift || !c->ref || !c->err || !c->time || !c->time2 || !c->x || !c->y || !c->in_band || !c->place ||
      tlg_fft_open(&c->fft_x, c->n_in, 0) || tlg_fft_open(&c->fft_y, c->n_out, 0) ||
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

/* Input i stands at output i * up / down + delay: its whole part, and the fraction that remains. */
static uint64_t output_of(const struct tlg_check *c, uint64_t i, double *fraction)
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

/* ---- errors in time -------------------------------------------------------------------------------------------- */

/* Correlation of err-free spectra a (output) and ref in the band, over all lags: the peak, in outputs (> 0: a is
 * late), the least one of those that are as good as the highest. Returns how much of a it explains, 0..1. */
static double find_lag(struct tlg_check *c, const tlg_cf64 *a, double *lag)
{
  const int64_t n = (int64_t)c->n_out;
  double aa = 0, rr = 0, best = 0, peak = 0;
  int64_t k, best_k = 0;
  size_t b;

  for (b = 0; b < c->n_out; b++) {
    tlg_cf64 z = {0, 0};

    if (c->in_band[b]) {
      z.i = a[b].i * c->ref[b].i + a[b].q * c->ref[b].q;
      z.q = a[b].q * c->ref[b].i - a[b].i * c->ref[b].q;
      aa += power(a[b]);
      rr += power(c->ref[b]);
    }
    c->back.in[b] = z;
  }
  *lag = 0;
  if (!(aa > 0) || !(rr > 0)) {
    return 0;
  }
  tlg_fft_run(&c->back);
  for (k = 0; k < n; k++) {
    const double p = power(c->back.out[k]);
    peak = p > peak ? p : peak;
  }
  for (k = 0; k <= n / 2; k++) { /* from no lag outwards */
    const double ahead = power(c->back.out[k]), behind = power(c->back.out[(n - k) % n]);

    if (ahead > 0.999 * peak || behind > 0.999 * peak) {
      best_k = ahead >= behind ? k : -k;
      /* climb to the top of this peak */
      for (;;) {
        const double here = power(c->back.out[(best_k + n) % n]);
        if (power(c->back.out[(best_k + 1 + n) % n]) > here) {
          best_k++;
        } else if (power(c->back.out[(best_k - 1 + n) % n]) > here) {
          best_k--;
        } else {
          break;
        }
      }
      break;
    }
  }
  {
    const double l = sqrt(power(c->back.out[(best_k - 1 + n) % n])), m = sqrt(power(c->back.out[(best_k + n) % n])),
                 h = sqrt(power(c->back.out[(best_k + 1 + n) % n]));
    const double bend = l - 2 * m + h, offset = bend < 0 ? 0.5 * (l - h) / bend : 0;

    best = power(c->back.out[(best_k + n) % n]) / (aa * rr);
    *lag = (double)best_k + (fabs(offset) < 1 ? offset : 0);
  }
  return best > 1 ? 1 : best;
}

/* The sum over the band of a conj(ref) exp(+j 2 pi k lag / n): largest where lag fits. */
static double fit(const struct tlg_check *c, const tlg_cf64 *a, double lag)
{
  const double step = 2 * M_PI * lag / (double)c->n_out;
  double i = 0, q = 0;
  size_t b;

  for (b = 0; b < c->n_out; b++) {
    if (c->in_band[b]) {
      const double k = b <= c->n_out / 2 ? (double)b : (double)b - (double)c->n_out;
      const double zi = a[b].i * c->ref[b].i + a[b].q * c->ref[b].q, zq = a[b].q * c->ref[b].i - a[b].i * c->ref[b].q;
      const double co = cos(step * k), si = sin(step * k);

      i += zi * co - zq * si;
      q += zi * si + zq * co;
    }
  }
  return i * i + q * q;
}

/* Ternary search about the coarse lag, whose peak is single within one output. */
static double refine_lag(const struct tlg_check *c, const tlg_cf64 *a, double lag)
{
  double low = lag - 0.6, high = lag + 0.6;
  int i;

  for (i = 0; i < 24; i++) {
    const double one = low + (high - low) / 3, two = high - (high - low) / 3;

    if (fit(c, a, one) < fit(c, a, two)) {
      low = one;
    } else {
      high = two;
    }
  }
  return (low + high) / 2;
}

/* The spectrum of the block's outputs from number k of it on, into fft_y. */
static void outputs_from(struct tlg_check *c, const tlg_cs16 *y, size_t k)
{
  size_t b;

  for (b = 0; b < c->n_out; b++) {
    const double w = b >= k ? c->w_out[b] : 0;

    c->fft_y.in[b].i = w * y[b].i;
    c->fft_y.in[b].q = w * y[b].q;
  }
  tlg_fft_run(&c->fft_y);
}

/* The reference as a signal of time, moved by lag outputs, into out; the window is divided out where it is not small.
 */
static void reference_in_time(struct tlg_check *c, double lag, tlg_cf64 *out)
{
  const double scale = 1 / (double)c->n_out;
  const int64_t n = (int64_t)c->n_out;
  size_t b;
  int64_t k;

  for (b = 0; b < c->n_out; b++) {
    const double s = b <= c->n_out / 2 ? (double)b : (double)b - (double)c->n_out;
    const double co = cos(2 * M_PI * s * lag / (double)c->n_out), si = -sin(2 * M_PI * s * lag / (double)c->n_out);

    c->back.in[b].i = c->ref[b].i * co - c->ref[b].q * si;
    c->back.in[b].q = c->ref[b].i * si + c->ref[b].q * co;
  }
  tlg_fft_run(&c->back);
  for (k = 0; k < n; k++) {
    const double at = ((double)k - lag - c->fraction) / (double)n;
    const double w = c->cfg.period ? 1 : at <= 0 || at >= 1 ? 0 : tlg_window_at(TLG_WINDOW_HANN, at);

    out[k].i = w > 0.01 ? scale * c->back.out[k].i / w : 0;
    out[k].q = w > 0.01 ? scale * c->back.out[k].q / w : 0;
  }
}

static struct tlg_check_event *open_event(struct tlg_check *c, uint64_t first, double error_db)
{
  struct tlg_check_event *e = c->r.n_events < TLG_CHECK_EVENTS ? &c->r.event[c->r.n_events] : NULL;

  c->in_error = 1;
  c->has_lag = 0;
  if (c->r.n_events > 0 && c->r.n_events <= TLG_CHECK_EVENTS && c->r.event[c->r.n_events - 1].end != UINT64_MAX &&
      first < c->r.event[c->r.n_events - 1].end) {
    return &c->r.event[c->r.n_events - 1]; /* the last block overlaps the one before by more than half */
  }
  c->r.n_events++;
  if (e) {
    memset(e, 0, sizeof *e);
    e->first = first;
    e->end = UINT64_MAX;
    e->error_db = error_db;
  }
  return e;
}

static void close_event(struct tlg_check *c, uint64_t end)
{
  if (c->in_error && c->r.n_events <= TLG_CHECK_EVENTS) {
    struct tlg_check_event *e = &c->r.event[c->r.n_events - 1];

    e->end = e->end == UINT64_MAX || e->end < end ? end : e->end;
  }
  c->in_error = 0;
}

/* Where does the output change from one lag to the other? The split with the least squared error. y0 = number of the
 * block's first output; reference_in_time for lag a is in time, that for b in time2. */
static size_t change_point(const struct tlg_check *c, const tlg_cs16 *y, size_t from, size_t to)
{
  double sum = 0, least = 0;
  size_t k, best = from;

  for (k = from; k < to; k++) {
    const tlg_cf64 a = {y[k].i - c->time[k].i, y[k].q - c->time[k].q};
    const tlg_cf64 b = {y[k].i - c->time2[k].i, y[k].q - c->time2[k].q};

    sum += power(a) - power(b);
    if (sum < least) {
      least = sum;
      best = k + 1;
    }
  }
  return best;
}

static void set_lag(struct tlg_check *c, struct tlg_check_event *e, double lag)
{
  c->has_lag = 1;
  c->lag = lag;
  if (e) {
    e->has_lag = 1;
    e->lag_outputs = lag;
    e->lag_inputs = lag * c->down / c->up;
  }
}

/* A bad block: which part of its middle half is in error, since when, and is it out of step? y = its outputs, y0 the
 * number of the first, allowed = error power a sample that is within the limit. */
static void diagnose(struct tlg_check *c, const tlg_cs16 *y, uint64_t y0, double allowed, size_t from, size_t to)
{
  const size_t n = c->n_out;
  double outside = 0, inside = 0, piece[PIECES], most = 0, threshold, peak = 0, signal = 0, error = 0, base;
  int whole;
  tlg_cf64 *e = c->time;
  size_t b, k, p;

  if (c->diagnosed++ >= DIAGNOSED && c->in_error) {
    return;
  }
  if (c->in_error && !c->has_lag && c->r.n_events <= TLG_CHECK_EVENTS) {
    /* It began too near the end of its block to tell; now there is more to see. */
    double lag;

    if (find_lag(c, c->fft_y.out, &lag) > 0.8) {
      lag = refine_lag(c, c->fft_y.out, lag);
      if (fabs(lag) > 0.02) {
        set_lag(c, &c->r.event[c->r.n_events - 1], lag);
        return;
      }
    }
  }
  /* What the filter does outside the band is no error: look at the whole spectrum, which tells a place best, only where
   * little is there against the error; else at the band, with soft edges, as sharp ones would ring. */
  for (b = 0; b < n; b++) {
    *(c->in_band[b] ? &inside : &outside) += power(c->ref[b]);
    error += c->in_band[b] ? power(c->err[b]) : 0;
  }
  whole = outside < 1e-5 * inside || 16 * outside < error;
  base = 2 * allowed + (whole ? 4 * outside / (c->w2 * (double)n) : 0);
  for (b = 0; b < n; b++) {
    const double soft = whole ? 1 : c->in_band[b] ? (c->band - fabs(bin_hz(b, n, c->fs_out))) / (0.1 * c->band) : 0;
    const double gain = soft >= 1 ? 1 : 0.5 - 0.5 * cos(M_PI * soft);

    c->back.in[b].i = gain * c->err[b].i;
    c->back.in[b].q = gain * c->err[b].q;
  }
  tlg_fft_run(&c->back);
  for (k = 0; k < n; k++) {
    const double w = c->w_out[k] > 0.01 ? 1 / (c->w_out[k] * (double)n) : 0;

    e[k].i = c->back.out[k].i * w;
    e[k].q = c->back.out[k].q * w;
  }
  for (p = 0; p < PIECES; p++) {
    const size_t a = from + (to - from) * p / PIECES, z = from + (to - from) * (p + 1) / PIECES;

    piece[p] = 0;
    for (k = a; k < z; k++) {
      piece[p] += power(e[k]) / (double)(z > a ? z - a : 1);
      peak = power(e[k]) > peak ? power(e[k]) : peak;
    }
    most = piece[p] > most ? piece[p] : most;
  }
  if (most <= base) {
    close_event(c, y0 + from);
    return; /* the error lies in the part that another block judges */
  }
  signal = inside / (c->w2 * (double)n);
  threshold = sqrt(2 * allowed * most);
  if (threshold < base) {
    threshold = base;
  }
  for (k = from; k < to; k++) {
    if (power(e[k]) > 0.1 * peak && c->n_places < PLACES) {
      c->place[c->n_places++] = y0 + k;
    }
    if (fabs(e[k].i) > 40000 || fabs(e[k].q) > 40000) {
      c->wrapped++;
    }
  }
  for (p = 0; p < PIECES; p++) {
    const size_t a = from + (to - from) * p / PIECES, z = from + (to - from) * (p + 1) / PIECES;

    if (!c->in_error && piece[p] > threshold) {
      struct tlg_check_event *event;
      double lag, good;

      for (k = a; k < z && power(e[k]) <= threshold; k++) {
      }
      event = open_event(c, y0 + (k < z ? k : a), to_db(piece[p] / (signal > 0 ? signal : 1e-30)));
      if (c->r.n_events > TLG_CHECK_EVENTS) {
        break;
      }
      /* Out of step from here on? Correlate only what follows. */
      outputs_from(c, y, k);
      good = find_lag(c, c->fft_y.out, &lag);
      /* A part of the block explains at most its own share of the power. */
      {
        double share = 0;
        for (b = k; b < n; b++) {
          share += c->w_out[b] * c->w_out[b] / c->w2;
        }
        if (good > 0.7 * share && share > 0.02) {
          lag = refine_lag(c, c->fft_y.out, lag);
          if (fabs(lag) > 0.02) {
            size_t change;

            set_lag(c, event, lag);
            reference_in_time(c, 0, c->time);
            reference_in_time(c, lag, c->time2);
            change = change_point(c, y, k > from + 64 ? k - 64 : from, k + 256 < to ? k + 256 : to);
            if (event && k != from) {
              event->first = y0 + change;
            }
            return;
          }
        }
      }
      /* find_lag overwrote nothing of e; go on with the pieces */
    } else if (c->in_error && piece[p] <= threshold && piece[p] <= 2 * base) {
      const size_t before = p ? from + (to - from) * (p - 1) / PIECES : from;

      /* The last large error of the piece before (or its start) closes the stretch. */
      for (k = a; k > before && power(e[k - 1]) <= threshold; k--) {
      }
      close_event(c, y0 + k);
    }
  }
}

/* A block that is bad while the output is known to be out of step: still the same step? */
static int same_lag(struct tlg_check *c, const tlg_cs16 *y, uint64_t y0)
{
  /* Anywhere in the block: the lag that prevails changes half a block after the place. */
  const size_t from = c->cfg.period ? 0 : c->n_out / 14, to = c->n_out - from;
  double lag, good = find_lag(c, c->fft_y.out, &lag);
  struct tlg_check_event *event;
  double before = c->lag;
  size_t change;

  if (good > 0.8 && fabs(lag - before) < 0.35) {
    return 1;
  }
  if (good < 0.8) { /* two of them? Then the newer one rules the second half. */
    outputs_from(c, y, c->n_out / 2);
    if (find_lag(c, c->fft_y.out, &lag) < 0.2) {
      return 0;
    }
    if (fabs(lag - before) < 0.35) {
      return 1;
    }
  }
  lag = refine_lag(c, c->fft_y.out, lag);
  if (fabs(lag - before) < 0.2 || fabs(lag) < 0.02) {
    return fabs(lag) >= 0.02;
  }
  reference_in_time(c, before, c->time);
  reference_in_time(c, lag, c->time2);
  change = change_point(c, y, from, to);
  if (change < c->n_out - c->n_out / 5) { /* once more, without what stands before */
    outputs_from(c, y, change);
    lag = refine_lag(c, c->fft_y.out, lag);
  }
  close_event(c, y0 + change);
  event = open_event(c, y0 + change, 0);
  set_lag(c, event, lag);
  return 1;
}

/* ---- blocks ---------------------------------------------------------------------------------------------------- */

/* Error power of which a constant gain within the limit for ripple is no part: that is judged as ripple. */
static double judged_error(const struct tlg_check *c, double rr, double ee, tlg_cf64 yr)
{
  const tlg_cf64 off = {yr.i - rr, yr.q};
  const double limit = pow(10, c->cfg.max_ripple_db / 20) - 1;

  return rr > 0 && power(off) <= limit * limit * rr * rr ? ee - power(off) / rr : ee;
}

/* Compare the block at input `first`; last: no block follows. */
static void process(struct tlg_check *c, uint64_t first, int last)
{
  double fraction, inside = 0, outside = 0, error = 0, allowed, snr;
  const uint64_t y0 = output_of(c, first, &fraction);
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
  for (b = 0; b < c->n_out; b++) {
    const tlg_cf64 yy = c->fft_y.out[b], rr = c->ref[b];

    c->err[b].i = yy.i - rr.i;
    c->err[b].q = yy.q - rr.q;
    if (c->in_band[b]) {
      const tlg_cf64 m = c->ref[b ? c->n_out - b : 0];

      inside += power(rr);
      error += power(c->err[b]);
      in_band++;
      yr.i += yy.i * rr.i + yy.q * rr.q;
      yr.q += yy.q * rr.i - yy.i * rr.q;
      c->mirror.i += yy.i * m.i - yy.q * m.q;
      c->mirror.q += yy.i * m.q + yy.q * m.i;
    }
  }
  /* sum |FFT|^2 of white noise of power p under the window: p * w2 * n; 1 dB for the scatter of one block, more when it
   * has few bins */
  allowed = pow(10, -c->cfg.min_snr_db / 10) * (inside + outside) + 1.5 * ROUNDING_POWER * c->w2 * n;
  bad = judged_error(c, inside, error, yr) > allowed * (1.26 + 4 / sqrt((double)in_band + 1));
  sum = &c->sum[bad];
  for (b = 0; b < c->n_in; b++) {
    sum->xx[b] += power(c->fft_x.out[b]);
  }
  for (b = 0; b < c->n_out; b++) {
    const tlg_cf64 yy = c->fft_y.out[b], rr = c->ref[b];

    sum->rr[b] += power(rr);
    sum->yy[b] += power(yy);
    sum->ee[b] += power(c->err[b]);
    sum->yr[b].i += yy.i * rr.i + yy.q * rr.q;
    sum->yr[b].q += yy.q * rr.i - yy.i * rr.q;
  }
  sum->inside += inside;
  sum->total += inside + outside;
  sum->blocks++;
  c->r.dc_i += c->err[0].i / c->w1;
  c->r.dc_q += c->err[0].q / c->w1;
  c->inside += inside;
  c->error_in += error;
  c->total_in += inside + outside;
  snr = error > 0 ? to_db(inside / error) : 300;
  if (inside > 0 && snr < c->r.worst_snr_db) {
    c->r.worst_snr_db = snr;
    c->r.worst_output = y0 + c->n_out / 2;
  }
  c->r.blocks++;
  if (bad) {
    c->r.bad_blocks++;
    if (!(c->in_error && c->has_lag && same_lag(c, y, y0))) {
      diagnose(c, y, y0, allowed / (c->w2 * n), from, to);
    }
  } else if (c->in_error) {
    close_event(c, y0 + from);
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
         output_of(c, first, NULL) >= c->y_first && output_of(c, first, NULL) + c->n_out <= c->y_first + c->y_fill;
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
    drop(c->y, &c->y_fill, &c->y_first, output_of(c, keep, NULL));
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

/* ---- figures --------------------------------------------------------------------------------------------------- */

static size_t wrap_bin(int64_t k, size_t n)
{
  const int64_t r = k % (int64_t)n;

  return (size_t)(r < 0 ? r + (int64_t)n : r);
}

/* Signed number of bin b, as bin_hz has it. */
static int64_t signed_bin(size_t b, size_t n)
{
  return b <= n / 2 ? (int64_t)b : (int64_t)b - (int64_t)n;
}

/* Input power in the units of an output bin, at the signed bin k of a spectrum that repeats at the input rate. */
static double input_at(const struct tlg_check *c, int64_t k)
{
  const double scale = (double)c->n_out / (double)c->n_in;

  return c->sum[0].xx[wrap_bin(k, c->n_in)] * scale * scale;
}

/* What the output may hold at the signed bin k outside the band: input, or its image, that the filter need not stop,
 * as it lies between the band and the first image of the band. */
static double excused(const struct tlg_check *c, int64_t k)
{
  const double bin = c->fs_out / (double)c->n_out;
  double sum = 0;
  int j;

  for (j = -1; j <= 1; j++) {
    const int64_t f = k + j * (int64_t)c->n_out;
    const double hz = fabs((double)f) * bin;

    if (hz > c->band && hz < c->stop) {
      sum += input_at(c, f);
    }
  }
  return 1.02 * sum;
}

/* Which input bin has an image of number m != 0 in the stop band that falls on output bin k? The strongest of those
 * near. width: bins about it that count. Returns its power, with *parent and *number. */
static double strongest_parent(const struct tlg_check *c, int64_t k, size_t width, int64_t *parent, int64_t *number)
{
  const double bin = c->fs_out / (double)c->n_out;
  const int64_t n = (int64_t)c->n_in;
  double best = 0;
  int j, distance;

  /* Images repeat after `down` folds. */
  for (distance = 0; distance <= FOLDS && 2 * (uint32_t)distance <= c->down; distance++) {
    for (j = -distance; j <= distance; j += distance ? 2 * distance : 1) {
      const int64_t f = k + j * (int64_t)c->n_out;
      const int64_t m = f >= 0 ? (f + n / 2) / n : -((-f + n / 2) / n), p = f - m * n;
      double sum = 0;
      int64_t i;

      if (m == 0 || fabs((double)f) * bin < c->stop) {
        continue;
      }
      for (i = 0; i < (int64_t)width; i++) {
        sum += input_at(c, p + i - (int64_t)width / 2);
      }
      if (sum > 1.5 * best) { /* the nearer image is the stronger one, when the parents are alike */
        best = sum;
        *parent = p;
        *number = m;
      }
    }
  }
  return best;
}

struct span {
  int64_t first, end; /* signed bins */
};

/* Groups of bins that cover [-band, band], or what lies beyond it on either side, without crossing the edges. */
static size_t bands(const struct tlg_check *c, struct span span[3])
{
  const int64_t edge = (int64_t)floor(c->band / c->fs_out * (double)c->n_out), n = (int64_t)c->n_out;

  span[0].first = -edge;
  span[0].end = edge + 1;
  span[1].first = -((n - 1) / 2);
  span[1].end = -edge;
  span[2].first = edge + 1;
  span[2].end = n / 2 + 1;
  return 3;
}

static void gain_at(struct tlg_check *c, double hz, double gain_db)
{
  struct tlg_check_result *r = &c->r;

  if (r->n_gains == 0 || gain_db < r->lowest_gain_db) {
    r->lowest_gain_db = gain_db;
    r->lowest_hz = hz;
  }
  if (r->n_gains == 0 || gain_db > r->highest_gain_db) {
    r->highest_gain_db = gain_db;
    r->highest_hz = hz;
  }
  r->n_gains++;
}

static uint32_t inverse(uint32_t a, uint32_t n)
{
  int64_t t = 0, u = 1, r = n, s = a % n;

  while (s) {
    const int64_t q = r / s, rr = r - q * s, tt = t - q * u;

    r = s;
    s = rr;
    t = u;
    u = tt;
  }
  return (uint32_t)(t < 0 ? t + n : t);
}

/* What a line holds beyond what belongs there: in the band the reference, outside it what the filter may pass. The
 * rounding of the input makes lines of its own, which are no images. */
static double stray(const struct tlg_check *c, size_t b)
{
  const double yy = c->sum[0].yy[b], allowed = c->in_band[b] ? 0 : excused(c, signed_bin(b, c->n_out));

  return c->in_band[b] ? c->sum[0].ee[b] : yy > allowed ? yy - allowed : 0;
}

/* A spectrum of separate tones? Then each line of the output is a tone, or names by its residue modulo rate_in / M the
 * tone whose image it is. Returns the power of all images, or a negative number when the input is none. */
static double judge_tones(struct tlg_check *c, double rounding_bin, double *image_excess)
{
  const struct sums *m = &c->sum[0];
  const size_t raster = c->n_in / c->down; /* bins of rate_in / M = rate_out / L */
  struct tlg_check_result *r = &c->r;
  double most = 0, all = 0, tones = 0, images = 0, noise = 0;
  size_t b, n = 0, t;
  uint16_t *owners; /* of each residue class: twice its tones, and 1 when a tone outside the band is among them */
  uint8_t *is_tone;

  if (!c->cfg.period) {
    return -1;
  }
  for (b = 0; b < c->n_in; b++) {
    all += m->xx[b];
    most = m->xx[b] > most ? m->xx[b] : most;
  }
  for (b = 0; b < c->n_in; b++) {
    if (m->xx[b] > 1e-5 * most) {
      tones += m->xx[b];
      n++;
    }
  }
  if (n > TLG_CHECK_TONES || tones < 0.999 * all) {
    return -1;
  }
  owners = calloc(raster, sizeof *owners);
  is_tone = calloc(c->n_out, sizeof *is_tone);
  if (!owners || !is_tone) {
    free(owners);
    free(is_tone);
    return -1;
  }
  for (b = 0; b < c->n_in; b++) {
    const int64_t k = signed_bin(b, c->n_in);
    struct tlg_check_tone *tone = &r->tone[r->n_tones];
    double in, out;
    size_t o;

    if (!(m->xx[b] > 1e-5 * most) || llabs(k) * 2 >= (int64_t)c->n_out) {
      continue;
    }
    r->n_tones++;
    o = wrap_bin(k, c->n_out);
    is_tone[o] = 1;
    in = m->rr[o];
    out = m->yr[o].i * m->yr[o].i + m->yr[o].q * m->yr[o].q;
    tone->hz = (double)k * c->fs_in / (double)c->n_in;
    tone->in_dbfs = to_db(in / ((double)m->blocks * c->w2 * (double)c->n_out) / FULL_SCALE2);
    tone->gain_db = to_db(out / (in * in));
    if (fabs(tone->hz) <= c->band) {
      gain_at(c, tone->hz, tone->gain_db);
      owners[wrap_bin(k, raster)] += 2;
    } else {
      owners[wrap_bin(k, raster)] = (uint16_t)((owners[wrap_bin(k, raster)] + 2) | 1);
    }
  }
  for (t = 0; t < r->n_tones; t++) {
    struct tlg_check_tone *tone = &r->tone[t];
    const int64_t k = (int64_t)llround(tone->hz / c->fs_in * (double)c->n_in);
    const size_t class = wrap_bin(k, raster), own = wrap_bin(k, c->n_out);
    double worst = 0;
    size_t at = own;

    if (owners[class] >> 1 != 1) {
      continue;
    }
    for (b = class; b < c->n_out; b += raster) {
      const double line = fabs(tone->hz) > c->band ? m->yy[b] : stray(c, b);

      if (b != own && line > worst) {
        worst = line;
        at = b;
      }
    }
    if (worst > 0 && m->yy[own] > 0) {
      const int64_t step = (signed_bin(at, c->n_out) - k) / (int64_t)raster;
      int64_t number = (int64_t)((uint64_t)wrap_bin(step, c->up) * inverse(c->down % c->up, c->up) % c->up);
      /* rounding may gather on single lines */
      const double excess = worst - 20 * rounding_bin - (r->n_tones < 8 ? 0.1 : 0.03) * rounding_bin * (double)c->n_out;

      number = number > (int64_t)c->up / 2 ? number - (int64_t)c->up : number;
      tone->has_image = 1;
      tone->image_dbc = to_db(worst / m->yy[own]);
      tone->image_hz = bin_hz(at, c->n_out, c->fs_out);
      tone->image_number = number;
      if (fabs(tone->hz) > c->band) {
        continue; /* told, not judged: nothing is promised for it */
      }
      if (excess / m->yy[own] > *image_excess) {
        *image_excess = excess / m->yy[own];
      }
      if (!r->has_image || tone->image_dbc > r->image_dbc) {
        r->has_image = 1;
        r->image_dbc = tone->image_dbc;
        r->image_hz = tone->image_hz;
        r->image_parent_hz = tone->hz;
        r->image_number = number;
      }
    }
  }
  for (b = 0; b < c->n_out; b++) {
    if (!is_tone[b] && !(owners[b % raster] & 1)) {
      images += stray(c, b);
      noise += rounding_bin;
      if (!c->in_band[b]) {
        r->out_of_band_dbc += stray(c, b) - rounding_bin;
      }
    }
  }
  free(owners);
  free(is_tone);
  return images > noise ? images - noise : 0;
}

/* Any other signal: what is not coherent with the input in the band, and what the input and its neighbourhood do not
 * explain outside it, group by group. An image's level is its density against that of the strongest place it may come
 * from. Returns the power of all of it. */
static double judge_groups(struct tlg_check *c, double rounding_bin, double dc, double *image_excess)
{
  struct tlg_check_result *r = &c->r;
  const struct sums *m = &c->sum[0];
  struct span span[3];
  const double effective = (double)m->blocks * (c->cfg.period ? 1 : 0.5);
  double total = 0, mean = 0, gathered;
  size_t s, b, strong = 0;
  int64_t k;

  bands(c, span);
  mean = m->inside / (double)(span[0].end - span[0].first);
  /* The rounding of a narrow signal is no noise but gathers on lines. */
  for (k = span[0].first; k < span[0].end; k++) {
    strong += m->rr[wrap_bin(k, c->n_out)] > 0.01 * mean;
  }
  gathered = strong * 16 < (size_t)(span[0].end - span[0].first) ? 0.1 * rounding_bin * (double)c->n_out : 0;
  r->narrow = gathered > 0;
  for (s = 0; s < 3; s++) {
    for (k = span[s].first; k < span[s].end; k += GROUP) {
      const int64_t end = k + GROUP < span[s].end ? k + GROUP : span[s].end;
      const double width = (double)(end - k), hz = (double)(k + end - 1) / 2 * c->fs_out / (double)c->n_out;
      double yy = 0, rr = 0, allowed = 0, spur, allowance, parent_power;
      int64_t i, parent = 0, number = 0;
      tlg_cf64 yr = {0, 0};

      for (i = k; i < end; i++) {
        b = wrap_bin(i, c->n_out);
        yy += m->yy[b];
        rr += m->rr[b];
        yr.i += m->yr[b].i;
        yr.q += m->yr[b].q;
        allowed += s == 0 ? 0 : excused(c, i);
      }
      if (s == 0) {
        spur = rr > 0 ? yy - power(yr) / rr : yy;
        if (rr > 1e-4 * mean * width && rr > 1000 * rounding_bin * width && power(yr) > 0) {
          const double noise = spur > rounding_bin * width ? spur : rounding_bin * width;
          const double scatter = 8.686 * (6 * sqrt(noise / (2 * rr * width * effective)) + sqrt(gathered / rr));

          gain_at(c, hz, to_db(power(yr) / (rr * rr)));
          if (scatter > r->ripple_limit_db) {
            r->ripple_limit_db = scatter; /* for now: what chance adds */
          }
        }
      } else {
        spur = yy - allowed;
      }
      spur -= rounding_bin * width;
      if (!(spur > 0)) {
        continue;
      }
      total += spur;
      if (s != 0) {
        r->out_of_band_dbc += spur;
      }
      parent_power = strongest_parent(c, (k + end) / 2, (size_t)width, &parent, &number);
      if (!(parent_power > 0.1 * mean * width)) {
        continue;
      }
      if (k <= 0 && end > 0) { /* a constant is no image */
        spur -= dc;
      }
      allowance =
          gathered + 0.2 * rounding_bin * width + 4 * (rounding_bin * width + allowed) / sqrt(width * effective);
      if ((spur - allowance) / parent_power > *image_excess) {
        *image_excess = (spur - allowance) / parent_power;
      }
      if (spur > allowance && (!r->has_image || to_db(spur / parent_power) > r->image_dbc)) {
        r->has_image = 1;
        r->image_dbc = to_db(spur / parent_power);
        r->image_hz = hz;
        r->image_parent_hz = (double)parent * c->fs_out / (double)c->n_out;
        r->image_number = number;
      }
    }
  }
  return total;
}

/* ---- findings -------------------------------------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static void find(struct tlg_check *c, const char *format, ...)
{
  va_list ap;

  if (c->r.n_findings < TLG_CHECK_FINDINGS) {
    va_start(ap, format);
    vsnprintf(c->r.finding[c->r.n_findings++], sizeof c->r.finding[0], format, ap);
    va_end(ap);
  }
}

/* "output 123456 (4.018750 ms, input packet 160)": the input is the one that stands there. */
static char *place_text(const struct tlg_check *c, uint64_t k, char *text, size_t size)
{
  const double delay = (double)c->cfg.delay.num / (double)c->cfg.delay.den;
  const double input = ((double)k - delay) * c->down / c->up;

  snprintf(text, size, "output %llu (%.6f ms, input %llu, packet %llu of %zu)", (unsigned long long)k,
           1e3 * (double)k / c->fs_out, (unsigned long long)(input > 0 ? input : 0),
           (unsigned long long)(input > 0 ? input : 0) / c->cfg.packet, c->cfg.packet);
  return text;
}

/* Do the errors sit behind the borders of input packets of some size, or in a few phases? */
static void find_pattern(struct tlg_check *c)
{
  const size_t sizes[] = {c->cfg.packet, 625, 362,  363,  364,  1996, 2000, 250,
                          500,           512, 1000, 1024, 1250, 2048, 2500, 4096};
  const double reach = 32;
  size_t best_size = 0, s, k, n = c->n_places, kinds = 0, in_few = 0, times;
  uint32_t *phase, few[4];
  double best = 0;

  if (n < 16) {
    return;
  }
  phase = calloc(c->up, sizeof *phase);
  if (!phase) {
    return;
  }
  for (k = 0; k < n; k++) {
    phase[((unsigned __int128)c->place[k] * c->down + c->cfg.q0) % c->up]++;
  }
  for (times = 0; times < 4; times++) {
    uint32_t p, most = 0;

    for (p = 1; p < c->up; p++) {
      most = phase[p] > phase[most] ? p : most;
    }
    if (phase[most] > n / 64) {
      in_few += phase[most];
      few[kinds++] = most;
    }
    phase[most] = 0;
  }
  free(phase);
  if (c->up >= 32 && kinds > 0 && in_few > n * 8 / 10) {
    find(c, "the errors sit in %s %u%s%.0u of %u: those branches are wrong, or swapped (%zu of %zu places)",
         kinds > 1 ? "phases" : "phase", few[0], kinds > 1 ? " and " : "", kinds > 1 ? few[1] : 0, c->up, in_few, n);
    return;
  }
  for (s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    const double expected = reach / (double)sizes[s];
    size_t behind = 0;
    double score;

    for (k = 0; k < n; k++) {
      const uint64_t input = (uint64_t)(((unsigned __int128)c->place[k] * c->down + c->cfg.q0) / c->up);
      behind += input % sizes[s] < reach;
    }
    score = (double)behind / (double)n;
    if (score > 0.8 && score > 4 * expected && score - expected > best) {
      best = score - expected;
      best_size = sizes[s];
    }
  }
  if (best_size) {
    find(c, "the errors begin at the borders of packets of %zu inputs: the history is lost from one packet to the next",
         best_size);
  }
}

static void find_events(struct tlg_check *c)
{
  const struct tlg_check_result *r = &c->r;
  char where[120], end[120];
  size_t k, n = r->n_events < TLG_CHECK_EVENTS ? r->n_events : TLG_CHECK_EVENTS, told = 0;
  double before = 0;

  for (k = 0; k < n && told < 3; k++) {
    const struct tlg_check_event *e = &r->event[k];

    place_text(c, e->first, where, sizeof where);
    if (e->has_lag) {
      const double lag = e->lag_outputs - before, in = lag * c->down / c->up;
      const double off_in = fabs(in - round(in)), off_out = fabs(lag - round(lag));
      /* both may be whole: take the smaller number */
      const int inputs = off_in < 0.02 && off_out < 0.02 ? fabs(in) <= fabs(lag) : off_in < off_out;
      const int whole = off_in < 0.05 || off_out < 0.05;
      const double amount = fabs(inputs ? in : lag);

      if (e->first <= r->first_out + (c->cfg.period ? 0 : c->n_out / 14) + 16) {
        find(c,
             "the output is %.3f outputs (%.3f inputs) %s than the stated delay, from the start: is --delay or --align "
             "right?",
             fabs(lag), fabs(in), lag < 0 ? "earlier" : "later");
      } else if (whole) {
        find(c, "from %s on the output is %.0f %s%s %s: %s", where, amount, inputs ? "input" : "output",
             amount > 1.5 ? "s" : "", lag < 0 ? "early" : "late",
             lag < 0 ? "samples were lost there and the gap was closed" : "samples were put in there");
      } else {
        find(c, "from %s on the output is %.3f outputs (%.3f inputs) %s", where, fabs(lag), fabs(in),
             lag < 0 ? "early" : "late");
      }
      before = e->lag_outputs;
      told++;
    } else if (e->end != UINT64_MAX) {
      find(c, "error of %.1f dB from %s to output %llu", e->error_db, where, (unsigned long long)e->end);
      told++;
    } else if (e->first > r->first_out + c->n_out / 2) {
      find(c, "error of %.1f dB from %s to the end", e->error_db, where);
      told++;
    } else {
      snprintf(end, sizeof end, "output %llu on", (unsigned long long)e->first);
      find(c, "error of %.1f dB from the start (%s) to the end", e->error_db, end);
      told++;
    }
  }
  if (r->n_events > told && r->n_findings < TLG_CHECK_FINDINGS) {
    find(c, "and %zu more places", r->n_events - told);
  }
}

static void find_causes(struct tlg_check *c, double yy_in)
{
  struct tlg_check_result *r = &c->r;

  if (!(yy_in > 0)) {
    find(c, "the output is silent in the band");
    return;
  }
  if (!r->length_passed) {
    find(c,
         r->n_extra < 0 ? "%lld outputs are missing: %llu inputs make %llu"
                        : "%lld outputs too many: %llu inputs make %llu",
         (long long)(r->n_extra < 0 ? -r->n_extra : r->n_extra), (unsigned long long)r->n_in,
         (unsigned long long)r->n_expected);
  }
  if (!r->in_band_passed) {
    const double mirror = power(c->mirror) / (c->inside * yy_in);
    const double dc =
        to_db((r->dc_i * r->dc_i + r->dc_q * r->dc_q) * (double)r->blocks * c->w2 * (double)c->n_out / c->error_in);

    if (mirror > 0.9 && r->snr_gain_db < 3) {
      find(c, "the spectrum is mirrored: I and Q are exchanged, or one of them has the wrong sign");
      return;
    }
    if (dc > -1) {
      find(c, "the error is a constant of %+.2f %+.2fj bits", r->dc_i, r->dc_q);
    }
    if (r->snr_gain_db > r->snr_db + 3 && r->snr_gain_db > 20) {
      find(c,
           "the error is mostly gain: %+.3f dB and %+.2f degrees; with these taken out %.1f dB of signal to error "
           "remain",
           to_db(yy_in / c->inside), r->phase_deg, r->snr_gain_db);
    }
    if (c->wrapped) {
      find(c, "%llu outputs are off by about 65536: overflow wrapped round instead of saturating",
           (unsigned long long)c->wrapped);
    } else if (r->clipped_out) {
      find(c, "%llu outputs are at full scale: the signal is clipped; give it headroom",
           (unsigned long long)r->clipped_out);
    }
    find_pattern(c);
    find_events(c);
    if (r->n_events == 0 && r->bad_blocks) {
      find(c,
           "the error is spread over what was compared; it is worst, %.2f dB of signal to error, about output %llu "
           "(%.6f ms)",
           r->worst_snr_db, (unsigned long long)r->worst_output, 1e3 * (double)r->worst_output / c->fs_out);
    }
    if (r->ripple_db > r->ripple_limit_db) {
      find(c, "the gain varies over the band: %+.4f dB at %+.4f MHz, %+.4f dB at %+.4f MHz", r->lowest_gain_db,
           r->lowest_hz / 1e6, r->highest_gain_db, r->highest_hz / 1e6);
    }
  }
  if (!r->images_passed && r->has_image && !c->has_lag) {
    find(c, "image of %.4f MHz at %.4f MHz: %.1f dBc", r->image_parent_hz / 1e6, r->image_hz / 1e6, r->image_dbc);
  }
}

/* The last block of all ends where the streams do. */
static void last_block(struct tlg_check *c)
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
  while (first > c->x_first && output_of(c, first, NULL) + c->n_out > c->n_y) {
    first--;
  }
  if (output_of(c, first, NULL) >= c->y_first && output_of(c, first, NULL) + c->n_out <= c->y_first + c->y_fill) {
    process(c, first, 1);
  }
}

/* From here on the sums are those over all blocks. */
static void merge(struct tlg_check *c)
{
  struct sums *a = &c->sum[0], *b = &c->sum[1];
  size_t k;

  for (k = 0; k < c->n_in; k++) {
    a->xx[k] += b->xx[k];
    b->xx[k] = 0;
  }
  for (k = 0; k < c->n_out; k++) {
    a->rr[k] += b->rr[k];
    a->yy[k] += b->yy[k];
    a->ee[k] += b->ee[k];
    a->yr[k].i += b->yr[k].i;
    a->yr[k].q += b->yr[k].q;
    b->rr[k] = b->yy[k] = b->ee[k] = b->yr[k].i = b->yr[k].q = 0;
  }
  a->inside += b->inside;
  a->total += b->total;
  a->blocks += b->blocks;
  b->inside = b->total = 0;
  b->blocks = 0;
}

int tlg_check_finish(struct tlg_check *c, const struct tlg_check_result **result, struct tlg_error *err)
{
  struct tlg_check_result *r = &c->r;
  double yy_in = 0, ee_gain, norm, rounding_bin, images, images_signal, image_excess = 0, allowed, noise, chance;
  tlg_cf64 yr_in = {0, 0};
  struct span span[3];
  double sum_x = 0, sum_y = 0, judged;
  size_t b, s;

  c->x_ended = c->y_ended = 1;
  last_block(c);
  r->up = c->up;
  r->down = c->down;
  r->band_hz = c->band;
  r->stop_hz = c->stop;
  r->n_in = c->n_x;
  r->n_out = c->n_y;
  r->block_in = c->n_in;
  r->block_out = c->n_out;
  r->periodic = c->cfg.period != 0;
  if (r->blocks == 0) {
    return tlg_error_set(
        err, TLG_EFORMAT,
        "too short to compare: %llu inputs and %llu outputs; it takes %zu inputs and the %zu outputs of the "
        "same time, after the filter's transient of %zu inputs at either end",
        (unsigned long long)c->n_x, (unsigned long long)c->n_y, c->n_in, c->n_out, c->cfg.skip);
  }
  if (!(c->inside > 0)) {
    return tlg_error_set(
        err, TLG_EFORMAT,
        "nothing to compare: inputs %llu to %llu are silent inside +-%.4f MHz (the first and last %zu are left out)",
        (unsigned long long)r->first_in, (unsigned long long)c->last - 1, c->band / 1e6, c->cfg.skip);
  }
  r->first_out = c->y_begin;
  r->end_in = c->last;
  r->end_out = c->y_end;
  /* lengths */
  r->n_expected = (uint64_t)(((unsigned __int128)c->n_x * c->up + c->down - 1) / c->down);
  if (c->cfg.n_taps && c->n_x) {
    r->n_expected_flush = (uint64_t)(((unsigned __int128)(c->n_x - 1) * c->up + c->cfg.n_taps - 1) / c->down + 1);
  }
  r->n_extra = (int64_t)(c->n_y - r->n_expected);
  r->length_passed = c->cfg.any_length || r->n_extra == 0 || c->n_y == r->n_expected_flush;
  if (c->n_y == r->n_expected_flush) {
    r->n_extra = 0;
  }
  /* sums of squares -> powers */
  norm = (double)r->blocks * c->w2 * (double)c->n_out;
  noise = ROUNDING_POWER * norm;
  bands(c, span);
  for (s = 0; s < 2; s++) {
    const struct sums *m = &c->sum[s];

    for (b = 0; b < c->n_in; b++) {
      sum_x += m->xx[b];
    }
    for (b = 0; b < c->n_out; b++) {
      sum_y += m->yy[b];
      if (c->in_band[b]) {
        yy_in += m->yy[b];
        yr_in.i += m->yr[b].i;
        yr_in.q += m->yr[b].q;
      }
    }
  }
  {
    double w2_in = 0;

    for (b = 0; b < c->n_in; b++) {
      w2_in += c->w_in[b] * c->w_in[b];
    }
    r->in_dbfs = to_db(sum_x / ((double)r->blocks * w2_in * (double)c->n_in) / FULL_SCALE2);
  }
  r->out_dbfs = to_db(sum_y / norm / FULL_SCALE2);
  r->in_band_dbfs = to_db(c->inside / norm / FULL_SCALE2);
  r->rounding_dbfs = to_db(ROUNDING_POWER / FULL_SCALE2);
  r->outside_dbc = to_db((c->total_in - c->inside) / c->inside);
  r->gain_db = to_db(yy_in / c->inside);
  r->phase_deg = atan2(yr_in.q, yr_in.i) * 180 / M_PI;
  r->dc_i /= (double)r->blocks;
  r->dc_q /= (double)r->blocks;
  /* error in the band */
  allowed = pow(10, -c->cfg.min_snr_db / 10) * c->total_in + 1.5 * noise;
  ee_gain = yy_in - power(yr_in) / c->inside;
  r->snr_db = c->error_in > 0 ? to_db(c->inside / c->error_in) : 300;
  r->snr_gain_db = ee_gain > 0 && yy_in > 0 ? to_db(yy_in / ee_gain) : 300;
  judged = judged_error(c, c->inside, c->error_in, yr_in);
  r->snr_judged_db = judged > 0 ? to_db(c->inside / judged) : 300;
  /* The excuse is shown only where it is needed. */
  r->snr_limit_db = r->snr_judged_db >= c->cfg.min_snr_db ? c->cfg.min_snr_db : to_db(c->inside / allowed);
  /* images, and gains over the band */
  /* Images are measured where the chain is otherwise right, if that is more than a tenth of all: an error of a moment
   * has a wide spectrum of its own. */
  if (c->sum[0].blocks * 10 < r->blocks) {
    merge(c);
  }
  r->image_blocks = c->sum[0].blocks;
  rounding_bin = ROUNDING_POWER * c->w2 * (double)c->sum[0].blocks;
  images_signal = c->sum[0].total;
  r->out_of_band_dbc = 0;
  images = judge_tones(c, rounding_bin, &image_excess);
  if (images < 0) {
    r->n_tones = 0;
    images = judge_groups(c, rounding_bin,
                          (r->dc_i * r->dc_i + r->dc_q * r->dc_q) * c->w2 * (double)c->n_out * (double)c->sum[0].blocks,
                          &image_excess);
  }
  chance = r->ripple_limit_db;
  if (r->n_tones) {
    double least = INFINITY;
    size_t repeats =
        c->n_in / c->down; /* the tones' true period goes so often into a block: rounding falls on so fewer lines */

    for (b = 0; b < r->n_tones; b++) {
      size_t k = wrap_bin((int64_t)llround(r->tone[b].hz / c->fs_in * (double)c->n_in), c->n_in);

      while (k) {
        const size_t t = repeats % k;

        repeats = k;
        k = t;
      }
    }
    for (b = 0; b < r->n_tones; b++) {
      if (fabs(r->tone[b].hz) <= c->band && r->tone[b].in_dbfs < least) {
        least = r->tone[b].in_dbfs;
      }
    }
    chance = 8.686 * 8 * sqrt(ROUNDING_POWER / FULL_SCALE2 * (double)repeats / (double)c->n_out / pow(10, least / 10));
  }
  r->ripple_db = r->n_gains ? r->highest_gain_db - r->lowest_gain_db : 0;
  r->ripple_limit_db = c->cfg.max_ripple_db + (r->ripple_db > c->cfg.max_ripple_db ? chance : 0);
  r->in_band_passed = judged <= allowed && r->bad_blocks == 0 && r->ripple_db <= r->ripple_limit_db;
  r->image_limit_db = c->cfg.max_image_dbc;
  r->total_dbc = images > 0 ? to_db(images / images_signal) : -300;
  r->out_of_band_dbc = r->out_of_band_dbc > 0 ? to_db(r->out_of_band_dbc / images_signal) : -300;
  allowed = pow(10, c->cfg.max_total_dbc / 10) * images_signal +
            (r->n_tones || r->narrow ? 1 : 0.3) * rounding_bin * (double)c->n_out;
  r->total_limit_db = r->total_dbc <= c->cfg.max_total_dbc ? c->cfg.max_total_dbc : to_db(allowed / images_signal);
  r->images_passed = images <= allowed && image_excess <= pow(10, c->cfg.max_image_dbc / 10);
  /* level */
  r->level_passed = yy_in > 0 && fabs(r->gain_db) <= c->cfg.max_gain_db &&
                    (!c->cfg.judge_clipped || r->clipped_out <= c->cfg.max_clipped);
  r->passed = r->in_band_passed && r->images_passed && r->level_passed && r->length_passed;
  if (!r->passed) {
    find_causes(c, yy_in);
  }
  if (c->sum[1].blocks) {
    merge(c);
  }
  *result = r;
  return 0;
}

void tlg_check_spectra(const struct tlg_check *c, double *output, double *reference, double *error, double *mask)
{
  /* powers a bin -> relative to full scale, a Hz: |FFT|^2 / (w2 rate) */
  const double scale = c->r.blocks ? 1 / ((double)c->r.blocks * c->w2 * c->fs_out * FULL_SCALE2) : 0;
  const double rounding_bin = ROUNDING_POWER * c->w2 * (double)c->r.blocks;
  struct span span[3];
  double mean;
  size_t k;

  bands(c, span);
  mean = c->inside / (double)(span[0].end - span[0].first);
  for (k = 0; c->r.n_tones && k < c->n_out; k++) { /* lines are judged singly */
    mean = c->in_band[k] && c->sum[0].rr[k] > mean ? c->sum[0].rr[k] : mean;
  }
  for (k = 0; k < c->n_out; k++) {
    const int64_t s = (int64_t)k - (int64_t)(c->n_out / 2);
    const size_t b = wrap_bin(s, c->n_out);

    if (output) {
      output[k] = c->sum[0].yy[b] * scale;
    }
    if (reference) {
      reference[k] = c->sum[0].rr[b] * scale;
    }
    if (error) {
      error[k] = c->sum[0].ee[b] * scale;
    }
    if (mask) {
      const int inside = s >= span[0].first && s < span[0].end;

      mask[k] = scale * (rounding_bin + (inside ? pow(10, -c->cfg.min_snr_db / 10) * mean
                                                : pow(10, c->cfg.max_image_dbc / 10) * mean + excused(c, s)));
    }
  }
}
