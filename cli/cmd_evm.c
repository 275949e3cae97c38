/* SPDX-License-Identifier: Apache-2.0 */
/* taplag evm: finds the LTE cell in a recording and measures it; with a second one, what lies between the two. */
#include "evm.h"
#include "tlg_spectra.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NAME "evm"
enum { PIECE = 65536 };
#define STEP_LEAST 0.4 /* samples: less is timing that noise moves, not a sample lost */

static struct {
  char *to, *out_format, *cell, *limits, *average, *smooth, *prb, *per, *added;
  int full, json;
} opt;

static const struct poptOption table[] = {
    {"limits", 0, POPT_ARG_STRING, &opt.limits, 0,
     "36.104 (17.5, 12.5, 8, 3.5 %), 36.141 (those of a test, 1 % more) or none", "SPEC"},
    {"max-added", 0, POPT_ARG_STRING, &opt.added, 0,
     "error vectors between IN and OUT after equalisation, at most (only told)", "DB"},
    {"cell", 0, POPT_ARG_STRING, &opt.cell, 0, "measure the cell of this identity (the strongest)", "ID"},
    {"prb", 0, POPT_ARG_STRING, &opt.prb, 0, "resource blocks, where no MIB tells them (by the reference signals)",
     "N"},
    {"average", 0, POPT_ARG_STRING, &opt.average, 0, "subframes over which reference signals are averaged (10)", "N"},
    {"smooth", 0, POPT_ARG_STRING, &opt.smooth, 0,
     "reference subcarriers of the equaliser's moving average, odd (19; 1 = none)", "N"},
    {"per", 0, POPT_ARG_STRING, &opt.per, 0, "also a table by subcarrier, symbol, subframe or all", "WHAT"},
    {"full", 0, POPT_ARG_NONE, &opt.full, 0, "measure all of it, however long (the first second)", NULL},
    {"to", 0, POPT_ARG_STRING, &opt.to, 0, "rate of OUT, if it does not tell (30.72M)", "RATE"},
    {"out-rate", 'R', POPT_ARG_STRING | POPT_ARGFLAG_DOC_HIDDEN, &opt.to, 0, NULL, NULL},
    {"out-format", 0, POPT_ARG_STRING, &opt.out_format, 0, "sample format of OUT, if not the same as of IN", "FORMAT"},
    {"json", 0, POPT_ARG_NONE, &opt.json, 0, "results as JSON", NULL},
    CLI_INPUT_OPTIONS,
    POPT_TABLEEND,
};

static const char description[] =
    "Finds the LTE downlink cell (FDD, normal cyclic prefix) in a recording at any rate and measures its error vector\n"
    "magnitude as TS 36.104 annex E does, with the transform's window at both positions, before and after "
    "equalisation,\n"
    "against the standard's limits. With OUT, a resampling of IN, both are measured, and the error vectors between "
    "them:\n"
    "what the resampler adds, by itself; samples that were lost or doubled are placed. PDSCH is decided, not decoded: "
    "each\n"
    "resource block pair's constellation is the one that fits.\n"
    "Exit status 0 = within the limits, 1 = not, or nothing to measure, or no cell found.\n"
    "  taplag evm capture.cs8 --format cs8 --rate 19.2M\n"
    "  taplag evm a.cs16 b.cs16 --format cs16 --rate 25M --to 30.72M\n";

static double db(double ratio)
{
  return ratio > 0 ? 10 * log10(ratio) : -INFINITY;
}

/* ---- reading --------------------------------------------------------------------------------------------------- */

static int room_for(struct evm_side *s, size_t n)
{
  if (n > s->room) {
    const size_t room = n > 2 * s->room ? n : 2 * s->room;
    tlg_cs16 *x = realloc(s->x, room * sizeof *x);

    if (!x) {
      cli_say(NAME, "%s: out of memory for %zu samples; --length takes a part", s->path, n);
      return CLI_SYSTEM;
    }
    s->x = x;
    s->room = room;
  }
  return 0;
}

/* The recording up to `most` samples into memory; gaps are zeros. */
static int take_in(struct evm_side *s, struct tlg_reader *reader, uint64_t most)
{
  const struct tlg_reader_info *info = tlg_reader_info(reader);
  struct tlg_convert_counts counts = {0, 0, 0};
  struct tlg_error err = {0};
  size_t got;
  int status;

  s->n_whole = info->n_samples == UINT64_MAX ? UINT64_MAX : info->n_samples + info->n_missing;
  if (info->n_samples != UINT64_MAX && (status = room_for(s, (size_t)(s->n_whole < most ? s->n_whole : most) + 1))) {
    return status;
  }
  for (;;) {
    uint64_t first;

    if (cli_stop) {
      return cli_exit_stopped(CLI_DONE);
    }
    if ((status = room_for(s, s->n + PIECE))) {
      return status;
    }
    if (tlg_reader_read(reader, s->x + s->n, PIECE, &got, &first, &err) != TLG_OK) {
      return cli_fail(NAME, s->path, &err);
    }
    if (first > s->n) { /* a gap: the samples just read stand later */
      const uint64_t gap = first - s->n < most - s->n ? first - s->n : most - s->n;

      s->n_missing += gap;
      if ((status = room_for(s, s->n + (size_t)gap + PIECE))) {
        return status;
      }
      memmove(s->x + s->n + gap, s->x + s->n, got * sizeof *s->x);
      memset(s->x + s->n, 0, (size_t)gap * sizeof *s->x);
      s->n += (size_t)gap;
    }
    s->n += got;
    if (got == 0 || s->n > most) {
      break;
    }
  }
  s->cut = s->n > most;
  s->n = s->cut ? (size_t)most : s->n;
  tlg_reader_counts(reader, &counts);
  s->clipped = counts.full_scale;
  return 0;
}

static int read_side(struct evm_run *run, unsigned which)
{
  struct evm_side *s = &run->side[which];
  struct tlg_reader_cfg cfg;
  struct tlg_reader *reader = NULL;
  struct tlg_error err = {0};
  int status;

  if ((status = cli_input_cfg(NAME, s->path, &cfg))) {
    return status;
  }
  if (which == 1) {
    const struct tlg_rate *in = &run->side[0].rate;

    /* The same part of OUT, by time. */
    cfg.start_ps += cfg.start ? tlg_instant_ps(cfg.start, in) : 0;
    cfg.length_ps += cfg.length ? tlg_instant_ps(cfg.length, in) : 0;
    cfg.start = cfg.length = 0;
    cfg.full_scale = 0;
    cfg.swap_iq = cfg.conjugate = 0;
    cfg.recording = NULL;
    cfg.channel = 0;
    cfg.rate = (struct tlg_rate){0, 0};
    if ((status = cli_format(NAME, "--out-format", opt.out_format, &cfg.format)) ||
        (status = cli_rate(NAME, "--to", opt.to, &cfg.rate))) {
      return status;
    }
  }
  if (tlg_reader_open(&reader, s->path, &cfg, &err) != TLG_OK) {
    return cli_fail(NAME, s->path, &err);
  }
  s->rate = tlg_reader_info(reader)->rate;
  if (s->rate.den == 0 && which == 1) {
    tlg_rate_make(&s->rate, 30720000, 1);
  }
  if (s->rate.den == 0) {
    status = cli_usage(NAME, "%s does not tell its rate; state it with --rate 25M", s->path);
  } else {
    const double second = tlg_rate_hz(&s->rate);

    status = take_in(s, reader,
                     opt.full || cli_input.length ? (uint64_t)1 << 40
                     : second > 1e9               ? 1000000000u
                                                  : (uint64_t)second);
  }
  tlg_reader_close(reader);
  return status;
}

/* ---- spectrum -------------------------------------------------------------------------------------------------- */

static double band_power(const double *density, size_t n, double bin_hz, double low_hz, double high_hz)
{
  double sum = 0;
  size_t b;

  for (b = 0; b < n; b++) {
    /* Bin b covers half a bin on both sides of its place. */
    const double from = ((double)b - (double)(n / 2) - 0.5) * bin_hz, to = from + bin_hz;
    const double part = (to < high_hz ? to : high_hz) - (from > low_hz ? from : low_hz);

    sum += part > 0 ? density[b] * part : 0;
  }
  return sum;
}

/* Occupied bandwidth (99 % of the power) and the neighbours' share. The middle of the band, where a receiver has its DC
 * and LTE sends nothing, is left out. */
static int look_at_spectrum(struct evm_side *s)
{
  const double rate = tlg_rate_hz(&s->rate), cfo = s->cell->mirrored ? -s->cell->cfo_hz : s->cell->cfo_hz;
  const double channel = tlg_lte_bandwidth_hz((unsigned)s->cell->prb), half = 90e3 * s->cell->prb + 7.5e3;
  struct tlg_psd_cfg cfg = {.n = 64};
  struct tlg_psd *psd = NULL;
  double *density, bin, total = 0, sum = 0, own;
  size_t b;
  int k;

  s->aclr_rate_hz = 2 * (channel + 90e3 * s->cell->prb);
  while (rate / (double)cfg.n > 7500 && 2 * cfg.n <= s->n && cfg.n < 1u << 20) {
    cfg.n *= 2;
  }
  cfg.hop = s->n > 1000000 ? cfg.n : 0;
  if (s->n < cfg.n || tlg_psd_new(&psd, &cfg) != TLG_OK || !(density = malloc(cfg.n * sizeof *density))) {
    tlg_psd_free(psd);
    return s->n < cfg.n ? 0 : TLG_ENOMEM;
  }
  tlg_psd_push(psd, s->x, s->n);
  tlg_psd_density(psd, &s->rate, density);
  tlg_psd_free(psd);
  bin = rate / (double)cfg.n;
  for (b = cfg.n / 2 - 2; b <= cfg.n / 2 + 2; b++) {
    density[b] = 0.5 * (density[cfg.n / 2 - 3] + density[cfg.n / 2 + 3]);
  }
  if (channel <= rate) {
    for (b = 0; b < cfg.n; b++) {
      total += density[b];
    }
    s->occupied_low_hz = s->occupied_high_hz = NAN;
    for (b = 0; b < cfg.n; b++) {
      const double low = 0.005 * total, high = 0.995 * total, from = ((double)b - (double)(cfg.n / 2) - 0.5) * bin;

      if (sum <= low && sum + density[b] > low) {
        s->occupied_low_hz = from + (low - sum) / density[b] * bin;
      }
      if (sum <= high && sum + density[b] > high) {
        s->occupied_high_hz = from + (high - sum) / density[b] * bin;
      }
      sum += density[b];
    }
    s->occupied_hz = s->occupied_high_hz - s->occupied_low_hz;
    s->has_band = isfinite(s->occupied_hz);
  }
  own = band_power(density, cfg.n, bin, cfo - half, cfo + half);
  for (k = 0; k < 4; k++) {
    static const int number[4] = {-2, -1, 1, 2};
    const double middle = cfo + number[k] * channel, edge = fabs(number[k] * channel) + 90e3 * s->cell->prb;
    const double other = band_power(density, cfg.n, bin, middle - half, middle + half);

    /* The carrier's offset is small beside a channel: whole or not is told by the rate. */
    s->aclr[k].offset_hz = number[k] * channel;
    s->aclr[k].known = 2 * edge <= rate && own > 0 && other > 0;
    s->aclr[k].db = s->aclr[k].known ? db(own / other) : NAN;
  }
  free(density);
  return 0;
}

/* Power at the carrier: the mean over useful parts, with the offset taken out; what data subcarriers leave there is
 * nothing, for each symbol is whole. */
static int look_at_carrier(struct evm_side *s)
{
  const struct tlg_lte_rx_cell *c = s->cell;
  const size_t fft = (size_t)c->fft, n = 15 * fft;
  tlg_cf64 *x, sum = {0, 0}, mean;
  double power = 0, dc;
  uint64_t symbols = 0, i;
  int64_t k;

  for (i = 0; i < s->n; i++) {
    power += (double)s->x[i].i * s->x[i].i + (double)s->x[i].q * s->x[i].q;
  }
  power = s->n ? power / (double)s->n : 0;
  tlg_lte_rx_mean(s->rx, &mean);
  dc = mean.i * mean.i + mean.q * mean.q;
  s->level_dbfs = db(power / 1073741824.0);
  s->mean_dbc = power > dc ? db(dc / (power - dc)) : NAN;
  s->leak_dbc = NAN;
  if (fabs(c->cfo_hz) * (double)s->n / tlg_rate_hz(&s->rate) < 2 || c->sc_first != 0) {
    return 0; /* there the mean is the carrier; or the carrier cannot be told from it */
  }
  x = malloc(n * sizeof *x);
  if (!x) {
    return TLG_ENOMEM;
  }
  for (k = c->subframe_first; k < c->subframe_end; k++) {
    double frac;
    unsigned l;
    int status;

    if (s->timing[k - c->subframe_first].broken) {
      continue;
    }
    if ((status = tlg_lte_rx_time(s->rx, c, k, 0, x, n, &frac)) != TLG_OK) {
      free(x);
      return status;
    }
    for (l = 0; l < TLG_LTE_SYMBOLS; l++) {
      unsigned prefix;
      const unsigned start = tlg_lte_symbol_start(l, &prefix);
      const size_t from = (size_t)((start + prefix / 2) * (double)fft / TLG_LTE_USEFUL + frac + 0.5);
      size_t j;

      for (j = from; j < from + fft && j < n; j++) {
        sum.i += x[j].i / (double)fft;
        sum.q += x[j].q / (double)fft;
      }
      symbols++;
    }
  }
  free(x);
  if (symbols && power > dc) {
    s->leak_dbc = db((sum.i * sum.i + sum.q * sum.q) / ((double)symbols * (double)symbols) / (power - dc));
  }
  return 0;
}

/* ---- the cell --------------------------------------------------------------------------------------------------- */

static int out_of_memory(int status)
{
  cli_say(NAME, "%s", tlg_status_text(status));
  return cli_status(status);
}

/* Find it; *status: the exit status when that failed for another reason than that there is none. */
static int find_cell(struct evm_run *run, struct evm_side *s)
{
  struct tlg_lte_rx_cfg cfg = {.rate = s->rate};
  struct tlg_error err = {0};
  uint64_t id = 0, prb = 0;
  size_t k;
  int status;

  if ((status = cli_whole(NAME, "--cell", opt.cell, 0, 503, &id)) ||
      (status = cli_whole(NAME, "--prb", opt.prb, 6, 100, &prb))) {
    return status;
  }
  cfg.prb = (int)prb;
  if (tlg_lte_rx_new(&s->rx, &cfg, &err) != TLG_OK) {
    if (err.status == TLG_EINVAL) { /* a rate at which no cell can be */
      snprintf(run->reason, sizeof run->reason, "%s: no cell found: %s", s->path, err.text);
      return 0;
    }
    return cli_fail(NAME, s->path, &err);
  }
  if ((status = tlg_lte_rx_samples(s->rx, s->x, s->n)) != TLG_OK ||
      (status = tlg_lte_rx_search(s->rx, s->cells, TLG_LTE_RX_CELLS, &s->n_cells)) != TLG_OK) {
    return out_of_memory(status);
  }
  for (k = 0; k < s->n_cells && !s->cell; k++) {
    if (!opt.cell || (uint64_t)s->cells[k].id == id) {
      s->cell = &s->cells[k];
    }
  }
  if (!s->cell) {
    if (s->n_cells) {
      snprintf(run->reason, sizeof run->reason, "%s: no cell of identity %" PRIu64 " found, but %d", s->path, id,
               s->cells[0].id);
    } else {
      snprintf(run->reason, sizeof run->reason, "%s: no cell found: %s", s->path, tlg_lte_rx_why(s->rx));
    }
    return 0;
  }
  if ((status = tlg_lte_rx_track(s->rx, s->cell, NULL, 0, &s->n_timing)) != TLG_OK) {
    return out_of_memory(status);
  }
  s->timing = calloc(s->n_timing + 1, sizeof *s->timing);
  if (!s->timing) {
    return out_of_memory(TLG_ENOMEM);
  }
  if ((status = tlg_lte_rx_track(s->rx, s->cell, s->timing, s->n_timing, &s->n_timing)) != TLG_OK ||
      (status = look_at_carrier(s)) != TLG_OK || (status = look_at_spectrum(s)) != TLG_OK) {
    return out_of_memory(status);
  }
  for (k = 0; k < s->n_timing; k++) {
    s->n_broken += s->timing[k].broken != 0;
  }
  return 0;
}

static struct tlg_lte_rx_timing *timing_of(const struct evm_side *s, int64_t k)
{
  return k < s->cell->subframe_first || k >= s->cell->subframe_end ? NULL : &s->timing[k - s->cell->subframe_first];
}

/* Which frame of OUT is which of IN: by their numbers where both have a MIB, else by time. */
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

/* ---- lost and doubled samples ------------------------------------------------------------------------------------ */

static void add_step(struct evm_side *s, const struct evm_step *step)
{
  if (s->n_steps < EVM_STEPS) {
    s->step[s->n_steps] = *step;
  }
  s->n_steps++;
}

/* The subframes that a step may lie in are not measured. */
static void mark_broken(struct evm_side *s, const struct evm_step *step)
{
  const double length = tlg_rate_hz(&s->rate) / 1000;
  size_t k;

  for (k = 0; k < s->n_timing; k++) {
    struct tlg_lte_rx_timing *t = &s->timing[k];

    if (t->start < step->at + step->width && t->start + length > step->at - step->width && !t->broken) {
      t->broken = 1;
      s->n_broken++;
    }
  }
}

/* A recording by itself: steps as its own timing shows them, to a symbol or a subframe. */
static void find_steps(struct evm_side *s)
{
  const double symbol = tlg_rate_hz(&s->rate) * 71.4e-6;
  size_t k;

  for (k = 0; k < s->n_timing; k++) {
    const struct tlg_lte_rx_timing *t = &s->timing[k];

    if (fabs(t->step) > STEP_LEAST) {
      const struct evm_step step = {.samples = t->step, .at = t->step_at, .width = 3 * symbol, .k = t->k};

      add_step(s, &step);
      mark_broken(s, &step);
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

/* To the sample: where OUT ceases to agree with IN at the delay before, and begins to at the one after. Both are
 * brought to the cell's own rate. Of inputs that were lost before the resampler the place is that of the filter's
 * middle. */
static int place_step(const struct evm_run *run, struct evm_step *step)
{
  const struct evm_side *in = &run->side[0], *out = &run->side[1];
  const double ratio_out = out->cell->fft * 15e3 / tlg_rate_hz(&out->rate);
  const int64_t last = step->k - 1; /* the last subframe of OUT that is in step */
  const size_t fft = (size_t)out->cell->fft, n = 15 * fft * 4, before = REACH;
  const double shift = step->samples * ratio_out; /* OUT comes so much later from there on */
  const size_t margin = (size_t)fabs(shift) + TAPS + 4, n_a = n + 2 * margin;
  tlg_cf64 *a = NULL, *b = NULL, *early = NULL, *late = NULL, gain = {0, 0};
  double frac_in, frac_out, best = INFINITY, sum = 0, power = 0;
  size_t i, at = 0;
  int status = TLG_ENOMEM;

  if (in->cell->fft != out->cell->fft || margin > n / 4 || !timing_of(out, last) ||
      !timing_of(in, last - 10 * run->frames_apart) || timing_of(out, last)->broken) {
    return 0;
  }
  a = calloc(n_a, sizeof *a);
  b = calloc(n, sizeof *b);
  early = calloc(n, sizeof *early);
  late = calloc(n, sizeof *late);
  if (!a || !b || !early || !late ||
      (status = tlg_lte_rx_time(in->rx, in->cell, last - 10 * run->frames_apart, before + margin, a, n_a, &frac_in)) !=
          TLG_OK ||
      (status = tlg_lte_rx_time(out->rx, out->cell, last, before, b, n, &frac_out)) != TLG_OK) {
    goto done;
  }
  moved(a + margin - TAPS / 2, frac_in - frac_out, early, n);
  moved(a + margin - TAPS / 2, frac_in - frac_out - shift, late, n);
  /* One complex gain over the subframe that is in step. */
  for (i = before; i < before + 14 * fft; i++) {
    const tlg_cf64 x = early[i], y = b[i];

    gain.i += y.i * x.i + y.q * x.q;
    gain.q += y.q * x.i - y.i * x.q;
    power += x.i * x.i + x.q * x.q;
  }
  gain.i /= power > 0 ? power : 1;
  gain.q /= power > 0 ? power : 1;
  /* Squared errors at the old delay up to a cut and at the new one from there on: the cut at which they are least. */
  for (i = before; i < n; i++) {
    const tlg_cf64 x = early[i], z = late[i], y = b[i];
    const double xi = gain.i * x.i - gain.q * x.q - y.i, xq = gain.i * x.q + gain.q * x.i - y.q;
    const double zi = gain.i * z.i - gain.q * z.q - y.i, zq = gain.i * z.q + gain.q * z.i - y.q;

    if (sum < best) {
      best = sum;
      at = i;
    }
    sum += xi * xi + xq * xq - zi * zi - zq * zq;
  }
  step->at = timing_of(out, last)->start + ((double)(at - before) - frac_out) / ratio_out;
  step->width = fabs(step->samples - floor(step->samples + 0.5)) < 0.05 && fabs(ratio_out - 1) < 1e-9 ? 2 : 24;
done:
  free(a);
  free(b);
  free(early);
  free(late);
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
    const struct tlg_lte_rx_timing *t = timing_of(out, k), *u = timing_of(in, k - 10 * run->frames_apart);

    if (t && u && !t->broken && !u->broken && !isnan(t->measured) && !isnan(u->measured)) {
      list[n++] = t->measured / tlg_rate_hz(&out->rate) - u->measured / tlg_rate_hz(&in->rate);
    }
  }
  qsort(list, n, sizeof *list, by_size);
  return n ? list[n / 2] : NAN;
}

/* OUT against IN: where its delay changes, and IN has no such step. */
static int compare_steps(struct evm_run *run)
{
  struct evm_side *in = &run->side[0], *out = &run->side[1];
  const double ratio = tlg_rate_hz(&out->rate) / tlg_rate_hz(&in->rate), rate = tlg_rate_hz(&out->rate);
  int64_t k, begin = out->cell->subframe_first, next;
  double *list = malloc((out->n_timing + 1) * sizeof *list), before;
  int status = 0;

  if (!list) {
    return out_of_memory(TLG_ENOMEM);
  }
  find_steps(in);
  run->delay_s = NAN;
  for (k = begin; k < out->cell->subframe_end && !status; k = next) {
    const struct tlg_lte_rx_timing *t = timing_of(out, k), *u = timing_of(in, k - 10 * run->frames_apart);
    struct evm_step step = {.k = k, .at = t->step_at, .samples = t->step, .width = 3 * 71.4e-6 * rate};

    for (next = k + 1; next < out->cell->subframe_end && timing_of(out, next)->step == 0; next++) {
    }
    if (t->step != 0 && u) {
      const double after = delay_within(run, k + 1, next, list);

      before = delay_within(run, begin, k - 1, list);
      step.samples = isnan(before) || isnan(after) ? t->step - u->step * ratio : (after - before) * rate;
    }
    if (k == begin || isnan(run->delay_s)) { /* up to the first step */
      run->delay_s = delay_within(run, begin, next, list);
    }
    if (t->step == 0 || fabs(step.samples) < STEP_LEAST) {
      continue; /* what IN had is not the resampler's */
    }
    step.inputs = step.samples / ratio;
    if (u && u->step == 0) {
      step.k -= step.k > begin + 1; /* it may lie in the subframe before, whose timing is a mean */
      for (; step.k > begin && timing_of(out, step.k - 1)->broken; step.k--) {
      }
      if ((status = place_step(run, &step)) != TLG_OK) {
        status = out_of_memory(status);
      }
    }
    add_step(out, &step);
    mark_broken(out, &step);
    begin = k;
  }
  free(list);
  return status;
}

/* ---- measuring --------------------------------------------------------------------------------------------------- */

static int measure(struct evm_run *run)
{
  const struct evm_side *a = &run->side[0], *b = &run->side[1];
  const struct tlg_lte_rx_cell *c = a->cell;
  struct tlg_lte_evm_cfg cfg = {
      .cell = {.prb = (unsigned)c->prb, .id = (unsigned)c->id, .ports = (unsigned)c->ports},
      .sc_first = (unsigned)c->sc_first,
      .sc_end = (unsigned)c->sc_end,
      .average = run->average,
      .smooth = run->smooth,
      .streams = run->n_sides,
  };
  const tlg_cf64 *grid[2 * TLG_EVM_WINDOWS] = {NULL};
  const size_t n = (size_t)TLG_LTE_SYMBOLS * 12 * (size_t)c->prb;
  double advance[TLG_EVM_WINDOWS];
  struct tlg_error err = {0};
  tlg_cf64 *space;
  int64_t k;
  unsigned s, w;
  int status;

  cfg.cell.phich_extended = c->mib_crc_ok ? (unsigned)c->phich_extended : 0;
  cfg.cell.phich_resource = c->mib_crc_ok ? (c->phich_sixths == 1   ? 0
                                             : c->phich_sixths == 3 ? 1
                                             : c->phich_sixths == 6 ? 2
                                                                    : 3)
                                          : 0;
  if (run->n_sides == 2) { /* what both show */
    cfg.sc_first = (unsigned)(b->cell->sc_first > c->sc_first ? b->cell->sc_first : c->sc_first);
    cfg.sc_end = (unsigned)(b->cell->sc_end < c->sc_end ? b->cell->sc_end : c->sc_end);
  }
  if (tlg_lte_evm_windows((unsigned)c->prb, advance) != TLG_OK || tlg_lte_evm_new(&run->evm, &cfg, &err) != TLG_OK) {
    return cli_fail(NAME, a->path, &err);
  }
  space = calloc(2 * TLG_EVM_WINDOWS * n, sizeof *space);
  if (!space) {
    return out_of_memory(TLG_ENOMEM);
  }
  for (s = 0; s < 2 * TLG_EVM_WINDOWS; s++) {
    grid[s] = space + s * n;
  }
  for (k = c->subframe_first; k < c->subframe_end; k++) {
    const int64_t other = k + 10 * run->frames_apart;
    int good = k >= 0 && !timing_of(a, k)->broken;

    if (cli_stop) {
      free(space);
      return cli_exit_stopped(CLI_DONE);
    }
    if (run->n_sides == 2) {
      good = good && timing_of(b, other) && !timing_of(b, other)->broken;
    }
    for (s = 0; good && s < run->n_sides; s++) {
      const struct evm_side *side = &run->side[s];

      for (w = 0; w < TLG_EVM_WINDOWS; w++) {
        status =
            tlg_lte_rx_subframe(side->rx, side->cell, s ? other : k, advance[w], space + (s * TLG_EVM_WINDOWS + w) * n);
        if (status != TLG_OK) {
          free(space);
          return out_of_memory(status);
        }
      }
    }
    if (good && (status = tlg_lte_evm_push(run->evm, k, grid)) != TLG_OK) {
      free(space);
      return out_of_memory(status);
    }
    cli_progress(NAME, (uint64_t)(k - c->subframe_first), (uint64_t)(c->subframe_end - c->subframe_first));
  }
  cli_progress(NAME, 1, 1);
  free(space);
  if ((status = tlg_lte_evm_finish(run->evm, &run->result)) != TLG_OK) {
    return out_of_memory(status);
  }
  run->compared = run->n_sides == 2 ? run->result->subframes : 0;
  return 0;
}

double evm_limit(const struct evm_run *run, int modulation)
{
  return run->limits == EVM_LIMITS_NONE ? NAN : tlg_evm_limit(modulation, run->limits == EVM_LIMITS_TEST);
}

static void judge(struct evm_run *run)
{
  const struct tlg_lte_evm_result *r = run->result;
  const struct tlg_lte_evm_stream *st = r ? &r->stream[run->n_sides - 1] : NULL;
  const struct evm_side *side = &run->side[run->n_sides - 1];
  double worst = 0;
  int m, of = 0;

  run->judged = 0;
  run->passed = 1;
  for (m = 0; st && m < TLG_EVM_MODULATIONS; m++) {
    const double limit = evm_limit(run, m);

    if (st->channel[m].units && !isnan(limit)) {
      run->judged = 1;
      run->passed = run->passed && st->channel[m].evm <= limit;
      if (st->channel[m].evm / limit > worst) {
        worst = st->channel[m].evm / limit;
        of = m;
      }
    }
  }
  if (run->judged && !run->passed) {
    snprintf(run->reason, sizeof run->reason, "%s has an EVM of %.3f %%, more than %.1f %%", tlg_evm_channel_name(of),
             100 * st->channel[of].evm, 100 * evm_limit(run, of));
  }
  if (r && run->n_sides == 2 && run->max_added_db < 0) {
    const double added = r->added_after[TLG_EVM_MIDDLE].n ? 20 * log10(r->added_after[TLG_EVM_MIDDLE].rms) : NAN;

    if (!(added <= run->max_added_db)) {
      run->passed = 0;
      snprintf(run->reason, sizeof run->reason, "error vectors between the two of %.2f dB, more than %.2f", added,
               run->max_added_db);
    }
  }
  if (r && side->n_steps) {
    run->passed = 0;
    run->judged = 1;
    snprintf(run->reason, sizeof run->reason, "samples were lost or doubled at %zu place%s", side->n_steps,
             cli_plural(side->n_steps));
  }
  if (r && !run->judged && run->limits != EVM_LIMITS_NONE) {
    run->passed = 0;
    snprintf(run->reason, sizeof run->reason, "no PDSCH could be measured, so there is nothing to judge");
  }
  if (!r) {
    run->passed = 0;
  }
}

/* ---- the command ---------------------------------------------------------------------------------------------------
 */

static int options(struct evm_run *run)
{
  uint64_t average = 10, smooth = 19;
  int status;

  if (opt.limits) {
    if (strcmp(opt.limits, "36.104") == 0) {
      run->limits = EVM_LIMITS_CORE;
    } else if (strcmp(opt.limits, "36.141") == 0) {
      run->limits = EVM_LIMITS_TEST;
    } else if (strcmp(opt.limits, "none") == 0) {
      run->limits = EVM_LIMITS_NONE;
    } else {
      return cli_usage(NAME, "--limits %s: one of 36.104, 36.141, none", opt.limits);
    }
  }
  if (opt.per) {
    const int all = strcmp(opt.per, "all") == 0;

    run->per_subcarrier = all || strcmp(opt.per, "subcarrier") == 0;
    run->per_symbol = all || strcmp(opt.per, "symbol") == 0;
    run->per_subframe = all || strcmp(opt.per, "subframe") == 0;
    if (!run->per_subcarrier && !run->per_symbol && !run->per_subframe) {
      return cli_usage(NAME, "--per %s: one of subcarrier, symbol, subframe, all", opt.per);
    }
  }
  if ((status = cli_whole(NAME, "--average", opt.average, 1, 100, &average)) ||
      (status = cli_whole(NAME, "--smooth", opt.smooth, 1, 201, &smooth)) ||
      (status = cli_real(NAME, "--max-added", opt.added, -200, 0, &run->max_added_db))) {
    return status;
  }
  if (smooth % 2 == 0) {
    return cli_usage(NAME, "--smooth %s: must be odd", opt.smooth);
  }
  if (opt.prb) {
    uint64_t prb = 0;

    if ((status = cli_whole(NAME, "--prb", opt.prb, 6, 100, &prb))) {
      return status;
    }
    if (!tlg_lte_bandwidth_hz((unsigned)prb)) {
      return cli_usage(NAME, "--prb %s: one of 6, 15, 25, 50, 75, 100", opt.prb);
    }
  }
  if (run->n_sides == 1 && (opt.to || opt.out_format || opt.added)) {
    return cli_usage(NAME, "%s is for OUT, which is not given",
                     opt.to      ? "--to"
                     : opt.added ? "--max-added"
                                 : "--out-format");
  }
  run->average = (unsigned)average;
  run->smooth = (unsigned)smooth;
  return 0;
}

static int all_of_it(struct evm_run *run)
{
  unsigned s;
  int status;

  if (run->n_sides == 2 && strcmp(run->side[0].path, "-") == 0 && strcmp(run->side[1].path, "-") == 0) {
    return cli_usage(NAME, "only one of IN and OUT can be stdin");
  }
  for (s = 0; s < run->n_sides; s++) {
    if ((status = read_side(run, s))) {
      return status;
    }
  }
  for (s = 0; s < run->n_sides; s++) {
    struct evm_side *side = &run->side[s];

    if ((status = find_cell(run, side))) {
      return status;
    }
    if (s == 1 && side->cell &&
        (side->cell->id != run->side[0].cell->id || side->cell->prb != run->side[0].cell->prb ||
         side->cell->ports != run->side[0].cell->ports)) {
      snprintf(run->reason, sizeof run->reason,
               "%s holds cell %d of %d resource blocks and %d port%s, but %s cell %d of %d and %d: not the same signal",
               run->side[0].path, run->side[0].cell->id, run->side[0].cell->prb, run->side[0].cell->ports,
               cli_plural((uint64_t)run->side[0].cell->ports), side->path, side->cell->id, side->cell->prb,
               side->cell->ports);
      return 0;
    }
    if (!side->cell) {
      return 0;
    }
  }
  if (run->n_sides == 2) {
    match_frames(run);
    if ((status = compare_steps(run))) {
      return status;
    }
  } else {
    find_steps(&run->side[0]);
  }
  return measure(run);
}

int cmd_evm(int argc, const char **argv)
{
  struct cli_options options_;
  struct evm_run *run = calloc(1, sizeof *run);
  int status, s;

  if (!run) {
    return out_of_memory(TLG_ENOMEM);
  }
  status = cli_options(&options_, NAME, argc, argv, table, description, 1, 2);
  if (status >= 0) {
    free(run);
    return status;
  }
  cli_catch_signals();
  run->n_sides = options_.n_args == 2 ? 2 : 1;
  run->side[0].path = options_.args[0];
  run->side[1].path = options_.args[1];
  if (!(status = options(run)) && !(status = all_of_it(run))) {
    judge(run);
    if (opt.json) {
      status = cli_print_json(NAME, evm_json(run), stdout);
    } else {
      evm_print(run, stdout);
    }
    status = cli_finish(NAME, stdout, status ? status : run->passed ? CLI_DONE : CLI_CHECK_FAILED);
  }
  tlg_lte_evm_free(run->evm);
  for (s = 0; s < 2; s++) {
    tlg_lte_rx_free(run->side[s].rx);
    free(run->side[s].timing);
    free(run->side[s].x);
  }
  free(run);
  cli_options_free(&options_);
  return status;
}
