/* SPDX-License-Identifier: Apache-2.0 */
/* taplag evm: samples and whole frames that were lost or doubled, in one recording or between two, and where. */
#include "evm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STEP_LEAST 0.4 /* samples: less is timing that noise moves, not a sample lost */

struct tlg_lte_rx_timing *evm_timing(const struct evm_side *s, int64_t k)
{
  return k < s->cell->subframe_first || k >= s->cell->subframe_end ? NULL : &s->timing[k - s->cell->subframe_first];
}

int64_t evm_in_of(const struct evm_run *run, int64_t k)
{
  const struct evm_side *out = &run->side[1];

  return k - 10 * (k < out->cell->subframe_first || k >= out->cell->subframe_end
                       ? run->frames_apart
                       : run->apart[k - out->cell->subframe_first]);
}

int evm_seen(const struct evm_side *s, double *from, double *end)
{
  size_t first = 0, last = s->n_timing;

  *from = *end = 0;
  for (; first < last && s->timing[first].broken; first++) {
  }
  for (; last > first && s->timing[last - 1].broken; last--) {
  }
  if (last < first + 3) {
    return 0;
  }
  *from = s->timing[first + 1].start;
  *end = s->timing[last - 1].start;
  return 1;
}

/* ---- which frame of OUT is which of IN -------------------------------------------------------------------------- */

/* By their numbers where both have a MIB, else by time. */
static void match_frames(struct evm_run *run)
{
  const struct evm_side *in = &run->side[0], *out = &run->side[1];
  const double apart = in->cell->start / tlg_rate_hz(&in->rate) - out->cell->start / tlg_rate_hz(&out->rate);

  run->frames_apart = (int64_t)floor(apart / 10e-3 + 0.5);
  if (in->cell->sfn >= 0 && out->cell->sfn >= 0) {
    const int64_t wanted = in->cell->sfn - out->cell->sfn;

    /* The nearest to what time says that is right modulo 1024. */
    run->frames_apart += ((wanted - run->frames_apart + 512) % 1024 + 1024) % 1024 - 512;
  }
}

/* What a subframe carries, for a look at whether two are the same: two symbols in which no reference signals stand. */
enum { SIGN = 1024 };
struct sign {
  int known; /* 0 = not looked at yet */
  double power;
  tlg_cf32 x[SIGN];
};

struct signs {
  struct evm_run *run;
  tlg_cf64 *grid;
  struct sign **list[2]; /* by subframe */
  int status;
};

static const struct sign *sign_of(struct signs *s, unsigned which, int64_t k)
{
  static const unsigned symbols[2] = {3, 9};
  struct evm_side *side = &s->run->side[which];
  const unsigned width = 12 * (unsigned)side->cell->prb;
  const unsigned low =
      (unsigned)(s->run->side[0].cell->sc_first > s->run->side[1].cell->sc_first ? s->run->side[0].cell->sc_first
                                                                                 : s->run->side[1].cell->sc_first);
  const struct tlg_lte_rx_timing *t = evm_timing(side, k);
  struct sign **place, *v;
  unsigned i, n = 0, l;

  if (!t || t->broken || s->status) {
    return NULL;
  }
  place = &s->list[which][k - side->cell->subframe_first];
  if (*place) {
    return *place;
  }
  v = *place = calloc(1, sizeof *v);
  s->status =
      v ? tlg_lte_rx_symbols(side->rx, side->cell, k, 1u << symbols[0] | 1u << symbols[1], 72, s->grid) : TLG_ENOMEM;
  if (s->status) {
    return NULL;
  }
  for (l = 0; l < 2; l++) {
    for (i = low; i < width - low && i < low + SIGN / 2; i++) {
      const tlg_cf64 x = s->grid[symbols[l] * (size_t)width + i];

      v->x[n].i = (float)x.i;
      v->x[n++].q = (float)x.q;
      v->power += x.i * x.i + x.q * x.q;
    }
  }
  return v;
}

/* Correlation of two, 0..1; NaN = one of them is not there, or carries nothing. */
static double alike(const struct sign *a, const struct sign *b)
{
  double i = 0, q = 0;
  size_t k;

  if (!a || !b || !(a->power > 0) || !(b->power > 0)) {
    return NAN;
  }
  for (k = 0; k < SIGN; k++) {
    i += (double)a->x[k].i * b->x[k].i + (double)a->x[k].q * b->x[k].q;
    q += (double)a->x[k].q * b->x[k].i - (double)a->x[k].i * b->x[k].q;
  }
  return sqrt((i * i + q * q) / (a->power * b->power));
}

/* Frames that subframe k of OUT stands apart from the one of IN that it is: as expected if that fits, else as the
 * nearest that does. *sure: something fits. */
static int64_t apart_of(struct signs *s, int64_t k, int64_t expected, int *sure)
{
  const struct evm_side *in = &s->run->side[0];
  const struct sign *own = sign_of(s, 1, k);
  double best = alike(own, sign_of(s, 0, k - 10 * expected));
  int64_t other, at = expected;

  *sure = best > 0.5;
  if (*sure || !own) {
    return expected;
  }
  /* Symbols of different data have a correlation of about 1 / sqrt(144 ... 1024): 0.3 is far above. */
  best = best > 0.3 ? best : 0.3;
  for (other = in->cell->subframe_first + ((k - in->cell->subframe_first) % 10 + 10) % 10;
       other < in->cell->subframe_end; other += 10) {
    const double a = alike(own, sign_of(s, 0, other));
    const int64_t apart = (k - other) / 10;

    if (a > 1.1 * best || (a > 0.9 * best && at != expected && llabs(apart - expected) < llabs(at - expected))) {
      best = a > best ? a : best;
      at = apart;
      *sure = 1;
    }
  }
  return at;
}

/* The subframes [from, end) between two steps: mostly all alike; where not, whole frames were lost or doubled. */
static int64_t map_segment(struct signs *s, int64_t from, int64_t end, int64_t expected)
{
  const struct evm_side *out = &s->run->side[1];
  const int64_t base = out->cell->subframe_first;

  while (from < end && !s->status) {
    int64_t first = from, last = end - 1, here, there, cut = end, k;
    int sure = 0;

    for (here = expected; first < end && !sure; first++) {
      here = apart_of(s, first, expected, &sure);
    }
    first--;
    for (there = here, sure = 0; last > first && !sure; last--) {
      there = apart_of(s, last, here, &sure);
    }
    last++;
    while (sure && there != here && last - first > 1) { /* halve: the first that is not like the first one */
      const int64_t middle = first + (last - first) / 2;
      int64_t at = here;
      int known = 0;

      for (k = middle; k < last && !known; k++) {
        at = apart_of(s, k, here, &known);
      }
      if (!known) {
        for (k = middle; k > first + 1 && !known; k--) {
          at = apart_of(s, k - 1, here, &known);
        }
        k += 1;
      }
      if (!known) {
        break; /* those between say nothing */
      }
      *(at == here ? &first : &last) = k - 1;
    }
    cut = sure && there != here ? last : end;
    for (k = from; k < cut; k++) {
      s->run->apart[k - base] = here;
    }
    from = cut;
    expected = there;
  }
  return expected;
}

/* Does IN repeat itself after whole frames? Then they cannot be told from each other. */
static void look_for_repeats(struct signs *s)
{
  const struct evm_side *in = &s->run->side[0];
  int64_t k = in->cell->subframe_first, other;

  for (; k < in->cell->subframe_end && (evm_timing(in, k)->broken || (k + 10) % 5 == 0); k++) {
  }
  for (other = k + 10; other < in->cell->subframe_end && other < k + 170 && !s->run->repeats_ms; other += 10) {
    if (alike(sign_of(s, 0, k), sign_of(s, 0, other)) > 0.9) {
      s->run->repeats_ms = (unsigned)(other - k);
    }
  }
}

static int map_frames(struct evm_run *run)
{
  const struct evm_side *out = &run->side[1];
  struct signs s = {.run = run};
  int64_t k, next, expected = run->frames_apart;
  unsigned which;
  size_t i;

  s.grid = calloc((size_t)TLG_LTE_RX_SYMBOLS * 12 * (size_t)out->cell->prb, sizeof *s.grid);
  for (which = 0; which < 2; which++) {
    s.list[which] = calloc(run->side[which].n_timing + 1, sizeof *s.list[which]);
  }
  if (!s.grid || !s.list[0] || !s.list[1]) {
    s.status = TLG_ENOMEM;
  } else {
    look_for_repeats(&s);
  }
  for (k = out->cell->subframe_first; k < out->cell->subframe_end && !s.status; k = next) {
    for (next = k + 1; next < out->cell->subframe_end && evm_timing(out, next)->step == 0; next++) {
    }
    expected = map_segment(&s, k, next, expected);
  }
  if (!s.status && out->n_timing) {
    run->frames_apart = run->apart[0];
  }
  for (which = 0; which < 2; which++) {
    for (i = 0; s.list[which] && i < run->side[which].n_timing; i++) {
      free(s.list[which][i]);
    }
    free(s.list[which]);
  }
  free(s.grid);
  return s.status;
}

/* ---- steps ---------------------------------------------------------------------------------------------------------
 */

static void add_step(struct evm_side *s, const struct evm_step *step)
{
  if (s->n_steps < EVM_STEPS) {
    s->step[s->n_steps] = *step;
  }
  s->n_steps++;
}

void evm_mark_broken(struct evm_side *s, double from, double end)
{
  const double length = tlg_rate_hz(&s->rate) / 1000;
  size_t k;

  for (k = 0; k < s->n_timing; k++) {
    struct tlg_lte_rx_timing *t = &s->timing[k];

    if (t->start < end && t->start + length > from && !t->broken) {
      t->broken = 1;
      s->n_broken++;
    }
  }
}

/* The subframes that a step may lie in are not measured. */
static void mark_broken(struct evm_side *s, const struct evm_step *step)
{
  evm_mark_broken(s, step->at - step->width, step->at + step->width);
}

/* A recording by itself: steps as its own timing shows them, to a symbol or a subframe, modulo 10 ms; the frame numbers
 * of the MIB before and after tell how many whole frames more. */
void evm_find_steps(struct evm_side *s)
{
  const double symbol = tlg_rate_hz(&s->rate) * 71.4e-6;
  const double frame = tlg_rate_hz(&s->rate) / 100 * (1 + s->cell->clock_ppm * 1e-6);
  const struct tlg_lte_rx_timing *told = NULL; /* the last one with a frame number */
  struct evm_step open[EVM_STEPS];             /* since then */
  size_t k, n_open = 0, i;

  for (k = 0; k < s->n_timing; k++) {
    const struct tlg_lte_rx_timing *t = &s->timing[k];

    if (fabs(t->step) > STEP_LEAST) {
      const struct evm_step step = {
          .samples = t->step, .at = t->step_at, .width = 3 * symbol, .k = t->k, .modulo_frame = 1};

      if (n_open == EVM_STEPS) { /* too many to be told apart by frame numbers */
        for (i = 0; i < n_open; i++) {
          add_step(s, &open[i]);
        }
        n_open = 0;
        told = NULL;
      }
      open[n_open++] = step;
    }
    if (t->sfn < 0) {
      continue;
    }
    if (told) {
      const int64_t ahead = t->sfn - told->sfn - (t->k - told->k) / 10 + 2048;
      const int64_t frames = (ahead + 512) % 1024 - 512;
      size_t largest = 0;

      for (i = 0; i < n_open; i++) {
        open[i].modulo_frame = 0;
        largest = fabs(open[i].samples) > fabs(open[largest].samples) ? i : largest;
      }
      if (frames && n_open) {
        open[largest].samples -= (double)frames * frame;
      } else if (frames) {
        open[0] = (struct evm_step){.samples = -(double)frames * frame,
                                    .at = 0.5 * (told->start + t->start),
                                    .width = 0.5 * (t->start - told->start),
                                    .k = t->k};
        n_open = 1;
      }
    }
    for (i = 0; i < n_open; i++) {
      add_step(s, &open[i]);
    }
    n_open = 0;
    told = t;
    s->told_first = s->told_first > 0 ? s->told_first : t->start + 1;
    s->told_last = t->start;
  }
  for (i = 0; i < n_open; i++) {
    add_step(s, &open[i]);
  }
  for (k = 0; k < s->n_steps && k < EVM_STEPS; k++) {
    if (s->step[k].width <= 3 * symbol) { /* a jump of the number alone leaves the subframes whole but one */
      mark_broken(s, &s->step[k]);
    }
  }
}

enum { REACH = 512, TAPS = 48 };

/* x at position i + shift for i = 0..n-1, x[0..n + 2 TAPS) beginning TAPS before: a sinc under a Hann window, which is
 * right enough for what lies within 0.8 of half the rate. */
static void moved(const tlg_cf64 *x, double shift, tlg_cf64 *out, size_t n)
{
  const double whole = floor(shift + 0.5), rest = shift - whole;
  const tlg_cf64 *from = x + (int64_t)whole;
  double tap[TAPS + 1];
  size_t i;
  int k;

  for (k = 0; k <= TAPS; k++) {
    const double t = k - TAPS / 2 - rest, w = fabs(t) < TAPS / 2 ? 0.5 + 0.5 * cos(2 * M_PI * t / TAPS) : 0;

    tap[k] = fabs(t) < 1e-12 ? 1 : w * sin(M_PI * t) / (M_PI * t);
  }
  for (i = 0; i < n; i++) {
    tlg_cf64 sum = {0, 0};

    for (k = 0; k <= TAPS; k++) {
      sum.i += tap[k] * from[i + (size_t)k].i;
      sum.q += tap[k] * from[i + (size_t)k].q;
    }
    out[i] = sum;
  }
}

/* One complex gain between n values; 0: nothing is there. */
static tlg_cf64 gain_of(const tlg_cf64 *x, const tlg_cf64 *y, size_t n)
{
  tlg_cf64 gain = {0, 0};
  double power = 0;
  size_t i;

  for (i = 0; i < n; i++) {
    gain.i += y[i].i * x[i].i + y[i].q * x[i].q;
    gain.q += y[i].q * x[i].i - y[i].i * x[i].q;
    power += x[i].i * x[i].i + x[i].q * x[i].q;
  }
  gain.i /= power > 0 ? power : 1;
  gain.q /= power > 0 ? power : 1;
  return gain;
}

/* To the sample: where OUT ceases to agree with IN as before, and begins to as after. Both are brought to the cell's
 * own rate. Of inputs that were lost before the resampler the place is that of the filter's middle. after: the first
 * subframe of OUT that is in step again. */
static int place_step(const struct evm_run *run, struct evm_step *step, int64_t after)
{
  enum { LONGEST = 24 }; /* subframes */
  const struct evm_side *in = &run->side[0], *out = &run->side[1];
  const double ratio_out = out->cell->fft * 15e3 / tlg_rate_hz(&out->rate);
  const int64_t last = step->k - 1; /* the last subframe of OUT that is in step */
  const struct tlg_lte_rx_timing *old = evm_timing(out, last), *new = evm_timing(out, after);
  const size_t fft = (size_t)out->cell->fft, before = REACH, margin = TAPS + 4;
  tlg_cf64 *a = NULL, *b = NULL, *early = NULL, *late = NULL, gain, other;
  double frac_in, frac_out, frac_late, best = INFINITY, sum = 0, ahead;
  size_t n, n_a, i, at = 0, to_after;
  int status = TLG_ENOMEM;

  if (in->cell->fft != out->cell->fft || !old || !new || old->broken || new->broken ||
      !evm_timing(in, evm_in_of(run, last)) || !evm_timing(in, evm_in_of(run, after))) {
    return 0;
  }
  ahead = (new->start - old->start) * ratio_out; /* from the one to the other, at the cell's rate */
  if (!(ahead > 0 && ahead < LONGEST * 15.0 * (double)fft)) {
    return 0;
  }
  to_after = (size_t)ahead;
  n = before + to_after + 15 * fft;
  n_a = n + 2 * margin;
  a = calloc(n_a, sizeof *a);
  b = calloc(n, sizeof *b);
  early = calloc(n, sizeof *early);
  late = calloc(n, sizeof *late);
  if (!a || !b || !early || !late ||
      (status = tlg_lte_rx_time(out->rx, out->cell, last, before, b, n, &frac_out)) != TLG_OK ||
      (status = tlg_lte_rx_time(in->rx, in->cell, evm_in_of(run, last), before + margin, a, n_a, &frac_in)) != TLG_OK) {
    goto done;
  }
  moved(a + margin - TAPS / 2, frac_in - frac_out, early, n);
  if ((status = tlg_lte_rx_time(in->rx, in->cell, evm_in_of(run, after), before + to_after + margin, a, n_a,
                                &frac_late)) != TLG_OK) {
    goto done;
  }
  moved(a + margin - TAPS / 2, frac_late - frac_out - (ahead - (double)to_after), late, n);
  /* Of the subframes that are in step; the carrier's phase differs. */
  gain = gain_of(early + before, b + before, 14 * fft);
  other = gain_of(late + before + to_after, b + before + to_after, 14 * fft);
  /* Squared errors as before up to a cut and as after from there on: the cut at which they are least. */
  for (i = before; i < n; i++) {
    const tlg_cf64 x = early[i], z = late[i], y = b[i];
    const double xi = gain.i * x.i - gain.q * x.q - y.i, xq = gain.i * x.q + gain.q * x.i - y.q;
    const double zi = other.i * z.i - other.q * z.q - y.i, zq = other.i * z.q + other.q * z.i - y.q;

    if (sum < best) {
      best = sum;
      at = i;
    }
    sum += xi * xi + xq * xq - zi * zi - zq * zq;
  }
  step->at = old->start + ((double)(at - before) - frac_out) / ratio_out;
  step->width = fabs(step->samples - floor(step->samples + 0.5)) < 0.05 && fabs(ratio_out - 1) < 1e-9 ? 2 : 24;
done:
  free(a);
  free(b);
  free(early);
  free(late);
  return status;
}

/* How well y[i] is a gain times x[i] over n values: the power that is left, relative. */
static double left_over(const tlg_cf64 *x, const tlg_cf64 *y, size_t n)
{
  const tlg_cf64 g = gain_of(x, y, n);
  double rest = 0, power = 0;
  size_t i;

  for (i = 0; i < n; i++) {
    const double ei = g.i * x[i].i - g.q * x[i].q - y[i].i, eq = g.i * x[i].q + g.q * x[i].i - y[i].q;

    rest += ei * ei + eq * eq;
    power += y[i].i * y[i].i + y[i].q * y[i].q;
  }
  return power > 0 ? rest / power : 1;
}

/* Before the first whole subframe and after the last one, and in these: does OUT still agree with IN? If not, is it IN
 * shifted? head 1: the beginning, 0: the end. */
static int look_at_end(struct evm_run *run, int head)
{
  enum { BLOCK = 16, BORDER = 32, FAR = 400, PARTS = 4, MOST = 4096 };
  struct evm_side *in = &run->side[0], *out = &run->side[1];
  const double ratio_out = out->cell->fft * 15e3 / tlg_rate_hz(&out->rate);
  const double ratio_in = in->cell->fft * 15e3 / tlg_rate_hz(&in->rate);
  const size_t fft = (size_t)out->cell->fft, length = 15 * fft, margin = FAR + TAPS + 4;
  const struct tlg_lte_rx_timing *t = NULL, *u = NULL;
  tlg_cf64 *a = NULL, *b = NULL, *x = NULL, gain;
  double *error = NULL, frac_in, frac_out, before_, after_, usual, power = 0, best = INFINITY;
  double at_part = 0, y[3];
  size_t before, n, i, n_blocks, good, from, end, count;
  int64_t k, first = out->cell->subframe_first, last = out->cell->subframe_end;
  struct evm_step step = {0};
  int status = TLG_OK, part, s;

  for (k = head ? first : last - 1; k >= first && k < last; k += head ? 1 : -1) {
    t = evm_timing(out, k);
    u = evm_timing(in, evm_in_of(run, k));
    if (u && !t->broken && !u->broken) {
      break;
    }
  }
  if (k < first || k >= last || in->cell->fft != out->cell->fft) {
    return 0;
  }
  /* What both recordings hold before and after its beginning, but for their borders. */
  before_ = fmin(t->start * ratio_out, u->start * ratio_in) - BORDER;
  after_ = fmin(((double)out->n - t->start) * ratio_out, ((double)in->n - u->start) * ratio_in) - BORDER;
  before_ = head ? fmin(before_, 2.0 * (double)length) : 0;
  after_ = fmin(after_, head ? (double)length : 3.0 * (double)length);
  if (before_ < -0.25 * (double)length || after_ < 0.75 * (double)length) {
    return 0;
  }
  before = before_ > 0 ? (size_t)before_ : 0;
  n = before + (size_t)after_;
  a = calloc(n + 2 * margin, sizeof *a);
  b = calloc(n, sizeof *b);
  x = calloc(n + 2 * FAR + 1, sizeof *x);
  error = calloc(n / BLOCK + 1, sizeof *error);
  if (!a || !b || !x || !error) {
    status = TLG_ENOMEM;
    goto done;
  }
  if ((status = tlg_lte_rx_time(out->rx, out->cell, k, before, b, n, &frac_out)) != TLG_OK ||
      (status = tlg_lte_rx_time(in->rx, in->cell, evm_in_of(run, k), before + margin, a, n + 2 * margin, &frac_in)) !=
          TLG_OK) {
    goto done;
  }
  /* x[FAR + i] goes with b[i]. The half of the subframe that is nearer to the middle tells what is usual. */
  moved(a + margin - FAR - TAPS / 2, frac_in - frac_out, x, n + 2 * FAR);
  from = head ? before + length / 2 : before;
  good = from + length / 2 < n ? length / 2 : n - from;
  gain = gain_of(x + FAR + from, b + from, good);
  for (i = 0; i < n; i++) {
    power += (b[i].i * b[i].i + b[i].q * b[i].q) / (double)n;
  }
  n_blocks = n / BLOCK;
  for (i = 0; i < n_blocks * BLOCK; i++) {
    const tlg_cf64 z = x[FAR + i];
    const double ei = gain.i * z.i - gain.q * z.q - b[i].i, eq = gain.i * z.q + gain.q * z.i - b[i].q;

    error[i / BLOCK] += (ei * ei + eq * eq) / BLOCK;
  }
  for (usual = 0, i = from / BLOCK; i < (from + good) / BLOCK && i < n_blocks; i++) {
    usual += error[i] / ((double)good / BLOCK);
  }
  usual = fmax(0.03 * power, 16 * usual);
  /* From the border to the innermost block that disagrees. */
  i = head && before_ < 0 ? (size_t)(-before_ / BLOCK) + 1 : 0;
  for (from = n_blocks, end = 0, count = 0; i < n_blocks; i++) {
    if (error[i] > usual) {
      from = i < from ? i : from;
      end = i + 1;
      count++;
    }
  }
  if (count < 2) {
    goto done;
  }
  from = head ? (before_ < 0 ? (size_t)-before_ : 0) : from * BLOCK;
  end = head ? end * BLOCK : n;
  if (end - from < 3 * BLOCK) {
    goto done;
  }
  /* Shifted IN? Of the stretch the outer part, in case the cut is inside its inner block. */
  i = head ? from : end - from > MOST + BLOCK ? end - MOST : from + BLOCK;
  count = head ? end - from - BLOCK : end - i;
  count = count < MOST ? count : MOST;
  for (part = 0; part < PARTS; part++) {
    moved(a + margin - FAR - TAPS / 2, frac_in - frac_out + (double)part / PARTS, x, n + 2 * FAR);
    for (s = -FAR + 1; s < FAR; s++) {
      const double e = left_over(x + (size_t)(s + FAR) + i, b + i, count);

      if (e < best) {
        best = e;
        at_part = s + (double)part / PARTS;
      }
    }
  }
  for (s = 0; s < 3; s++) { /* finer */
    const double here = at_part + 0.25 * (s - 1), whole = floor(here);

    moved(a + margin - FAR - TAPS / 2, frac_in - frac_out + here - whole, x, n + 2 * FAR);
    y[s] = left_over(x + (size_t)(FAR + (int)whole) + i, b + i, count);
  }
  at_part += y[0] + y[2] > 2 * y[1] ? 0.125 * (y[0] - y[2]) / (y[0] + y[2] - 2 * y[1]) : 0;
  step.k = k;
  step.samples = best < 0.1 ? (head ? at_part : -at_part) / ratio_out : 0;
  step.inputs = step.samples * tlg_rate_hz(&in->rate) / tlg_rate_hz(&out->rate);
  step.at = t->start + ((double)(head ? end : from) - (double)before - frac_out) / ratio_out;
  step.width = 2 * BLOCK / ratio_out;
  if (best < 0.1 && fabs(step.samples) >= STEP_LEAST) {
    add_step(out, &step);
    run->head_step |= head;
  } else {
    run->differs[head] = step.at;
  }
done:
  free(a);
  free(b);
  free(x);
  free(error);
  return status;
}

static int by_size(const void *a, const void *b)
{
  const double x = *(const double *)a, y = *(const double *)b;

  return (x > y) - (x < y);
}

/* OUT's delay after IN in subframes [first, end): the median, in seconds; NaN = none that both have. */
static double delay_within(const struct evm_run *run, int64_t first, int64_t end, double *list)
{
  const struct evm_side *in = &run->side[0], *out = &run->side[1];
  size_t n = 0;
  int64_t k;

  for (k = first; k < end; k++) {
    const struct tlg_lte_rx_timing *t = evm_timing(out, k), *u = evm_timing(in, evm_in_of(run, k));

    if (t && u && !t->broken && !u->broken && !isnan(t->measured) && !isnan(u->measured)) {
      list[n++] = t->measured / tlg_rate_hz(&out->rate) - u->measured / tlg_rate_hz(&in->rate);
    }
  }
  qsort(list, n, sizeof *list, by_size);
  return n ? list[n / 2] : NAN;
}

static int starts(const struct evm_run *run, int64_t k) /* something begins anew with this subframe of OUT */
{
  const int64_t i = k - run->side[1].cell->subframe_first;

  return run->side[1].timing[i].step != 0 || (i > 0 && run->apart[i] != run->apart[i - 1]);
}

/* OUT against IN: where its delay changes, and IN has no such step. */
int evm_compare_steps(struct evm_run *run)
{
  struct evm_side *in = &run->side[0], *out = &run->side[1];
  const double ratio = tlg_rate_hz(&out->rate) / tlg_rate_hz(&in->rate), rate = tlg_rate_hz(&out->rate);
  int64_t k, begin = out->cell->subframe_first, next;
  double *list = malloc((out->n_timing + 1) * sizeof *list), before;
  int status = TLG_OK;

  run->apart = calloc(out->n_timing + 1, sizeof *run->apart);
  if (!list || !run->apart) {
    free(list);
    return TLG_ENOMEM;
  }
  match_frames(run);
  if ((status = map_frames(run)) != TLG_OK) {
    free(list);
    return status;
  }
  evm_find_steps(in);
  run->delay_s = NAN;
  for (k = begin; k < out->cell->subframe_end && !status; k = next) {
    const struct tlg_lte_rx_timing *t = evm_timing(out, k), *u = evm_timing(in, evm_in_of(run, k));
    const int whole = k > begin && t->step == 0; /* whole frames alone */
    struct evm_step step = {.k = k, .at = t->step_at, .samples = t->step, .width = 3 * 71.4e-6 * rate};
    int64_t after = k;

    for (next = k + 1; next < out->cell->subframe_end && !starts(run, next); next++) {
    }
    if (k == out->cell->subframe_first || isnan(run->delay_s)) { /* up to the first step */
      run->delay_s = delay_within(run, begin, next, list);
    }
    if (k == out->cell->subframe_first) {
      continue;
    }
    {
      const double later = delay_within(run, k + 1, next, list);
      const double later_too = isnan(later) ? delay_within(run, k, next, list) : later;

      before = delay_within(run, begin, k - 1, list);
      before = isnan(before) ? delay_within(run, begin, k, list) : before;
      step.samples =
          isnan(before) || isnan(later_too) ? t->step - (u ? u->step * ratio : 0) : (later_too - before) * rate;
    }
    if (whole) {
      step.at = t->start;
      step.width = rate / 1000;
    }
    if (fabs(step.samples) < STEP_LEAST) {
      continue; /* what IN had is not the resampler's */
    }
    step.inputs = step.samples / ratio;
    if (u && u->step == 0) {
      step.k -= step.k > begin + 1; /* it may lie in the subframe before, whose timing is a mean */
      for (; step.k > begin && evm_timing(out, step.k - 1)->broken; step.k--) {
      }
      for (after = k + (k + 1 < next); after + 1 < next && evm_timing(out, after)->broken; after++) {
      }
      status = place_step(run, &step, after);
    }
    add_step(out, &step);
    mark_broken(out, &step);
    begin = k;
  }
  free(list);
  for (k = 1; k >= 0 && !status; k--) {
    status = look_at_end(run, (int)k);
  }
  return status;
}
