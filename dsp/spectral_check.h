/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the comparison: its state, and what its files ask of each other. spectral_check.c takes the streams in and
 * compares blocks, spectral_places.c finds where an error begins, spectral_lag.c tries what may explain it,
 * spectral_verdict.c makes the figures, spectral_findings.c tells what they look like. */
#ifndef SPECTRAL_CHECK_H
#define SPECTRAL_CHECK_H

#include "spectral.h"

#include <math.h>

/* Rounding to whole bits makes an error of 1/12 in each component. */
#define ROUNDING_POWER (1.0 / 6)
#define WEAK_POWER 256.0 /* 16 bits, -66 dBFS: below it rounding is no noise, but gathers at some frequencies */
/* A signal in a few places has its error in a few images, which may be as strong for one tone as the worst is; the
 * error of a wide one is the mean over all places. */
#define NARROW_DB 5
#define TAP_ERROR (1.0 / 3)      /* mean square of an error of up to one unit */
#define FULL_SCALE2 1073741824.0 /* 32768^2 */

enum {
  LEAST = 256,    /* inputs of the shortest block */
  GROUP = 64,     /* bins over which a gain or a density is averaged */
  FOLDS = 32,     /* images about at most so many multiples of the output rate are told by number */
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
  double leaks;  /* excused: what the rounding of the taps lets pass */
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
  double leaks, asked; /* error that is allowed: excused, and asked for */

  /* errors in time */
  int weak; /* the signal, against WEAK_POWER */
  int in_error;
  double lag; /* of the present stretch, outputs */
  int has_lag;
  uint64_t diagnosed;
  uint64_t *place; /* outputs with large errors */
  size_t n_places;
  struct { /* bad blocks: power of the error in the band, and what is left of it when a cause is taken out */
    double error, without_clipping, without_wrapping;
    uint64_t clipped, wrapped; /* outputs concerned */
  } range;
  tlg_cf64 *time; /* scratch of n_out: three signals of time */
  tlg_cf64 *time2, *keep;

  struct tlg_check_result r;
};

static inline double power(tlg_cf64 z)
{
  return z.i * z.i + z.q * z.q;
}

static inline double to_db(double p)
{
  return 10 * log10(p);
}

/* The signed frequency of a bin. */
static inline double bin_hz(size_t b, size_t n, double fs)
{
  return (b <= n / 2 ? (double)b : (double)b - (double)n) * fs / (double)n;
}

/* spectral_check.c */
/* Input i stands at output i * up / down + delay: its whole part, and the fraction that remains (may be NULL). */
uint64_t tlg_check_output_of(const struct tlg_check *c, uint64_t i, double *fraction);
/* What taps rounded to 2^-shift let pass of input outside the band, of power `sum`. An error of up to one unit, 1/3 in
 * the mean of squares, in each of T taps lets T / 3 * 4^-shift of white noise pass. Over frequency it is a random
 * spectrum whose values are independent at distances of rate / T: of what fills one such cell it may pass 8 times as
 * much (a Gaussian value at 2.8 standard deviations, squared), of many accordingly less. squares: sum of the squared
 * powers of the cells. */
double tlg_check_leak(const struct tlg_check *c, double sum, double squares);
/* Compare the last block of all, which ends where the streams do. */
void tlg_check_last_block(struct tlg_check *c);

/* Compare what is buffered in the shortest blocks: the beginning or the end of the streams. */
void tlg_check_edge(struct tlg_check *c, int at_end);

/* spectral_places.c */
/* A bad block: which part of it, between outputs from and to, is in error, since when, and is it out of step? y = its
 * outputs, y0 the number of the first, allowed = error power a sample that is within the limit. */
void tlg_check_diagnose(struct tlg_check *c, const tlg_cs16 *y, uint64_t y0, double allowed, size_t from, size_t to);
/* A bad block while the output is known to be out of step: still the same step? */
int tlg_check_same_lag(struct tlg_check *c, const tlg_cs16 *y, uint64_t y0);
/* Output `end` is right again. */
void tlg_check_close_event(struct tlg_check *c, uint64_t end);

/* spectral_lag.c */
/* Correlation of the spectrum a of outputs with the reference in the band, over all lags: the peak, in whole outputs
 * (> 0: a is late), the least one of those that are as good as the highest. Returns how much of a it explains, 0..1. */
double tlg_check_find_lag(struct tlg_check *c, const tlg_cf64 *a, double *lag);
/* The lag near that one which fits best, in fractions of an output. */
double tlg_check_refine_lag(const struct tlg_check *c, const tlg_cf64 *a, double lag);
/* After how many outputs the reference repeats, so that other lags look the same; 0 = it does not. */
double tlg_check_repeats(struct tlg_check *c);
/* The spectrum of the block's outputs from number k of it on, into fft_y. */
void tlg_check_outputs_from(struct tlg_check *c, const tlg_cs16 *y, size_t k);
/* Between from and to: does the error fall by 10 dB with the reference moved by lag instead of before? */
int tlg_check_lag_explains(struct tlg_check *c, const tlg_cs16 *y, size_t from, size_t to, double before, double lag);
/* Where in the block the output changes from one lag to the other. */
size_t tlg_check_change(struct tlg_check *c, const tlg_cs16 *y, size_t from, size_t to, double before, double lag);
/* Try saturation and overflow as causes of a bad block's error; by how much the error of all bad blocks falls without
 * them, in dB. These use time and time2, as do the two above. */
void tlg_check_try_range(struct tlg_check *c, const tlg_cs16 *y, size_t from, size_t to);
double tlg_check_clipping_db(const struct tlg_check *c);
double tlg_check_wrapping_db(const struct tlg_check *c);

/* spectral_verdict.c */
/* Error power of which a constant gain within the limit for ripple is no part: that is judged as ripple. */
double tlg_check_judged_error(const struct tlg_check *c, double rr, double ee, tlg_cf64 yr);

/* spectral_findings.c */
/* Sentences on what fails. yy_in = power of the output in the band. */
void tlg_check_find_causes(struct tlg_check *c, double yy_in);

#endif
