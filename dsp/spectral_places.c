/* SPDX-License-Identifier: Apache-2.0 */
/* Where in the output an error begins and ends, and whether the output is out of step from there on. */
#include "spectral_check.h"

#include <string.h>

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

void tlg_check_close_event(struct tlg_check *c, uint64_t end)
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

void tlg_check_diagnose(struct tlg_check *c, const tlg_cs16 *y, uint64_t y0, double allowed, size_t from, size_t to)
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
    tlg_check_close_event(c, y0 + from);
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
      tlg_check_close_event(c, y0 + k);
    }
  }
}

int tlg_check_same_lag(struct tlg_check *c, const tlg_cs16 *y, uint64_t y0)
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
  tlg_check_close_event(c, y0 + change);
  event = open_event(c, y0 + change, 0);
  set_lag(c, event, lag);
  return 1;
}
