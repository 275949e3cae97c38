/* SPDX-License-Identifier: Apache-2.0 */
/* Where in the output an error begins and ends, and whether the output is out of step from there on. */
#include "spectral_check.h"

#include <string.h>

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
    if (e->end <= e->first) { /* the block before saw only its echo */
      c->r.n_events--;
    }
  }
  c->in_error = 0;
}

/* The reference of the present block is at hand, which tells whether another lag would look the same. */
static void set_lag(struct tlg_check *c, struct tlg_check_event *e, double lag)
{
  c->has_lag = 1;
  c->lag = lag;
  if (e) {
    e->has_lag = 1;
    e->lag_outputs = lag;
    e->lag_inputs = lag * c->down / c->up;
    e->repeats = tlg_check_repeats(c);
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

    if (tlg_check_find_lag(c, c->fft_y.out, &lag) > 0.8) {
      lag = tlg_check_refine_lag(c, c->fft_y.out, lag);
      if (fabs(lag) > 0.02 && tlg_check_lag_explains(c, y, from, to, 0, lag)) {
        set_lag(c, &c->r.event[c->r.n_events - 1], lag);
        return;
      }
    }
  }
  tlg_check_try_range(c, y, from, to);
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
  memcpy(c->keep, e, n * sizeof *e);
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
  }
  for (p = 0; p < PIECES; p++) {
    const size_t a = from + (to - from) * p / PIECES, z = from + (to - from) * (p + 1) / PIECES;

    if (c->cfg.period && p == PIECES - 1 && piece[p] < 0.01 * piece[0]) {
      continue; /* without a window the filter that looks at the band rings round to the end */
    }
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
      tlg_check_outputs_from(c, y, k);
      good = tlg_check_find_lag(c, c->fft_y.out, &lag);
      /* A part of the block explains at most its own share of the power. */
      {
        double share = 0;
        for (b = k; b < n; b++) {
          share += c->w_out[b] * c->w_out[b] / c->w2;
        }
        if (good > 0.7 * share && share > 0.02) {
          lag = tlg_check_refine_lag(c, c->fft_y.out, lag);
          if (fabs(lag) > 0.02 && tlg_check_lag_explains(c, y, k, n, 0, lag)) {
            size_t change = tlg_check_change(c, y, from, to, 0, lag);

            if (event && k != from) {
              event->first = y0 + change;
            }
            /* once more, without what stands before */
            tlg_check_outputs_from(c, y, change);
            lag = tlg_check_refine_lag(c, c->fft_y.out, lag);
            set_lag(c, event, lag);
            return;
          }
          memcpy(c->time, c->keep, n * sizeof *c->time); /* the trial took its place */
        }
      }
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
  double lag, good = tlg_check_find_lag(c, c->fft_y.out, &lag);
  struct tlg_check_event *event;
  double before = c->lag;
  size_t change;

  if (good > 0.8 && fabs(lag - before) < 0.35) {
    return 1;
  }
  if (good < 0.8) { /* two of them? Then the newer one rules the second half. */
    tlg_check_outputs_from(c, y, c->n_out / 2);
    if (tlg_check_find_lag(c, c->fft_y.out, &lag) < 0.2) {
      return 0;
    }
    if (fabs(lag - before) < 0.35) {
      return 1;
    }
  }
  lag = tlg_check_refine_lag(c, c->fft_y.out, lag);
  if (fabs(lag - before) < 0.2 || fabs(lag) < 0.02) {
    return fabs(lag) >= 0.02;
  }
  change = tlg_check_change(c, y, from, to, before, lag);
  if (!tlg_check_lag_explains(c, y, change, to, before, lag)) {
    return 0;
  }
  if (change < c->n_out - c->n_out / 5) { /* once more, without what stands before */
    tlg_check_outputs_from(c, y, change);
    lag = tlg_check_refine_lag(c, c->fft_y.out, lag);
  }
  tlg_check_close_event(c, y0 + change);
  event = open_event(c, y0 + change, 0);
  set_lag(c, event, lag);
  return 1;
}
