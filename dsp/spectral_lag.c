/* SPDX-License-Identifier: Apache-2.0 */
/* Hypotheses on an error, each tried by taking it out: a shift in time, values at full scale, values wrapped round. */
#include "spectral_check.h"

#include <stdlib.h>

/* Error must fall by 10 dB when its claimed cause is taken out. */
#define FALLS 0.1

static size_t around(int64_t k, size_t n)
{
  return (size_t)(k < 0 ? k + (int64_t)n : k >= (int64_t)n ? k - (int64_t)n : k);
}

static double at(const struct tlg_check *c, int64_t k)
{
  return sqrt(power(c->back.out[around(k, c->n_out)]));
}

/* A top of the real part, which is positive there. */
static int is_top(const struct tlg_check *c, int64_t k)
{
  const double here = c->back.out[around(k, c->n_out)].i;

  return here > 0 && here >= c->back.out[around(k - 1, c->n_out)].i && here >= c->back.out[around(k + 1, c->n_out)].i;
}

double tlg_check_find_lag(struct tlg_check *c, const tlg_cf64 *a, double *lag)
{
  const int64_t n = (int64_t)c->n_out;
  double aa = 0, rr = 0, best, peak = 0;
  int64_t k, best_k = 0;
  size_t b;

  for (b = 0; b < c->n_out; b++) {
    c->back.in[b] = (tlg_cf64){0, 0};
    if (c->in_band[b]) {
      c->back.in[b] = times_conj(a[b], c->ref[b]);
      aa += power(a[b]);
      rr += power(c->ref[b]);
    }
  }
  *lag = 0;
  if (!(aa > 0) || !(rr > 0)) {
    return 0;
  }
  tlg_fft_run(&c->back);
  /* A shift in time turns no phase: the lag stands where the real part is highest, so that the phase of a lone tone
   * counts. Between two samples of the lag the height is the magnitude, which changes slowly. */
  for (k = -n / 2 + 1; k < n / 2; k++) {
    peak = is_top(c, k) && at(c, k) > peak ? at(c, k) : peak;
  }
  if (!(peak > 0)) {
    return 0;
  }
  for (k = 0; k < n / 2; k++) { /* from no lag outwards: the least of those that are as good */
    const double ahead = is_top(c, k) ? at(c, k) : 0, behind = is_top(c, -k) ? at(c, -k) : 0;

    if (ahead > 0.999 * peak || behind > 0.999 * peak) {
      best_k = ahead >= behind ? k : -k;
      break;
    }
  }
  *lag = (double)best_k;
  best = power(c->back.out[around(best_k, c->n_out)]) / (aa * rr);
  return best > 1 ? 1 : best;
}

/* The real part of the sum over the band of a conj(ref) exp(+j 2 pi k lag / n): largest where lag fits. */
static double fit(const struct tlg_check *c, const tlg_cf64 *a, double lag)
{
  const double step = 2 * M_PI * lag / (double)c->n_out;
  double sum = 0;
  size_t b;

  for (b = 0; b < c->n_out; b++) {
    if (c->in_band[b]) {
      const double k = b <= c->n_out / 2 ? (double)b : (double)b - (double)c->n_out;
      const tlg_cf64 z = times_conj(a[b], c->ref[b]);

      sum += z.i * cos(step * k) - z.q * sin(step * k);
    }
  }
  return sum;
}

/* Ternary search about the coarse lag, whose peak is single within one output. */
double tlg_check_refine_lag(const struct tlg_check *c, const tlg_cf64 *a, double lag)
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

double tlg_check_repeats(struct tlg_check *c)
{
  const int64_t n = (int64_t)c->n_out;
  int64_t k = 1;
  size_t b;

  for (b = 0; b < c->n_out; b++) {
    c->back.in[b] = (tlg_cf64){c->in_band[b] ? power(c->ref[b]) : 0, 0};
  }
  tlg_fft_run(&c->back);
  while (k < n / 2 && c->back.out[k].i < c->back.out[k - 1].i) { /* down from the peak without a lag */
    k++;
  }
  for (; k < n / 2; k++) {
    if (is_top(c, k) && at(c, k) > 0.998 * at(c, 0)) {
      return tlg_check_refine_lag(c, c->ref, (double)k);
    }
  }
  return 0;
}

void tlg_check_outputs_from(struct tlg_check *c, const tlg_cs16 *y, size_t k)
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
    const double angle = 2 * M_PI * s * lag / (double)c->n_out;

    c->back.in[b] = times(c->ref[b], (tlg_cf64){cos(angle), -sin(angle)});
  }
  tlg_fft_run(&c->back);
  for (k = 0; k < n; k++) {
    const double at = ((double)k - lag - c->fraction) / (double)n;
    const double w = c->cfg.period ? 1 : at <= 0 || at >= 1 ? 0 : tlg_window_at(TLG_WINDOW_HANN, at);

    out[k].i = w > 0.01 ? scale * c->back.out[k].i / w : 0;
    out[k].q = w > 0.01 ? scale * c->back.out[k].q / w : 0;
  }
}

/* Power in the band of what differs between y and the signal of time r, from output `from` of the block to `to`. */
static double difference(struct tlg_check *c, const tlg_cs16 *y, const tlg_cf64 *r, size_t from, size_t to)
{
  double sum = 0;
  size_t b;

  for (b = 0; b < c->n_out; b++) {
    /* w_out falls to nothing at the ends; where a shifted reference is not known it is small */
    const double w = b >= from && b < to ? c->w_out[b] : 0;

    c->fft_y.in[b].i = w * (y[b].i - r[b].i);
    c->fft_y.in[b].q = w * (y[b].q - r[b].q);
  }
  tlg_fft_run(&c->fft_y);
  for (b = 0; b < c->n_out; b++) {
    sum += c->in_band[b] ? power(c->fft_y.out[b]) : 0;
  }
  return sum;
}

int tlg_check_lag_explains(struct tlg_check *c, const tlg_cs16 *y, size_t from, size_t to, double before, double lag)
{
  const int64_t n = (int64_t)c->n_out, margin = c->cfg.period ? 0 : n / 16;
  /* Both references must be known where they are compared. */
  const int64_t early = (int64_t)floor(before < lag ? before : lag), late = (int64_t)ceil(before < lag ? lag : before);
  int64_t a = (int64_t)from > margin + late ? (int64_t)from : margin + late;
  int64_t z = (int64_t)to < n - margin + early ? (int64_t)to : n - margin + early;
  double with, without;

  if (c->cfg.period) {
    a = (int64_t)from;
    z = (int64_t)to;
  }
  if (z - a < 64) {
    return 0;
  }
  reference_in_time(c, before, c->time);
  reference_in_time(c, lag, c->time2);
  without = difference(c, y, c->time, (size_t)a, (size_t)z);
  with = difference(c, y, c->time2, (size_t)a, (size_t)z);
  return with < FALLS * without;
}

/* Where does the output change from one lag to the other? The split with the least squared error. */
size_t tlg_check_change(struct tlg_check *c, const tlg_cs16 *y, size_t from, size_t to, double before, double lag)
{
  double sum = 0, least = 0;
  size_t k, best = from;

  reference_in_time(c, before, c->time);
  reference_in_time(c, lag, c->time2);
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

/* What a component would have been without saturation, or without wrapping round: its reference, or 65536 away. */
static double unclipped(int16_t y, double r)
{
  return (y == 32767 && r > y) || (y == -32768 && r < y) ? r : y;
}

static double unwrapped(int16_t y, double r)
{
  const double e = r - y, rest = fabs(e) - 65536;

  return fabs(rest) < 0.25 * fabs(e) ? y + (e > 0 ? 65536 : -65536) : y;
}

void tlg_check_try_range(struct tlg_check *c, const tlg_cs16 *y, size_t from, size_t to)
{
  size_t k, clipped = 0, wrapped = 0;
  double error;

  reference_in_time(c, 0, c->time);
  for (k = from; k < to; k++) {
    const tlg_cf64 r = c->time[k];

    clipped += unclipped(y[k].i, r.i) != y[k].i || unclipped(y[k].q, r.q) != y[k].q;
    wrapped += unwrapped(y[k].i, r.i) != y[k].i || unwrapped(y[k].q, r.q) != y[k].q;
  }
  error = difference(c, y, c->time, from, to);
  c->range.error += error;
  c->range.wrapped += wrapped;
  c->range.clipped += clipped;
  /* difference() takes y - r: taking the cause out of y is putting it into r */
  if (clipped == 0) {
    c->range.without_clipping += error;
  } else {
    for (k = from; k < to; k++) {
      c->time2[k].i = c->time[k].i - (unclipped(y[k].i, c->time[k].i) - y[k].i);
      c->time2[k].q = c->time[k].q - (unclipped(y[k].q, c->time[k].q) - y[k].q);
    }
    c->range.without_clipping += difference(c, y, c->time2, from, to);
  }
  if (wrapped == 0) {
    c->range.without_wrapping += error;
  } else {
    for (k = from; k < to; k++) {
      c->time2[k].i = c->time[k].i - (unwrapped(y[k].i, c->time[k].i) - y[k].i);
      c->time2[k].q = c->time[k].q - (unwrapped(y[k].q, c->time[k].q) - y[k].q);
    }
    c->range.without_wrapping += difference(c, y, c->time2, from, to);
  }
}

/* By how much the error falls in dB when the cause is taken out. */
static double falls(double error, double left)
{
  return error > 0 ? left > 0 ? to_db(error / left) : 300 : 0;
}

double tlg_check_clipping_db(const struct tlg_check *c)
{
  return c->range.clipped ? falls(c->range.error, c->range.without_clipping) : 0;
}

double tlg_check_wrapping_db(const struct tlg_check *c)
{
  return c->range.wrapped ? falls(c->range.error, c->range.without_wrapping) : 0;
}
