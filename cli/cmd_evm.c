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
#define CLOCK_MOST 100 /* ppm: no receiver's clock is so far off, but a rate may be stated wrongly */

static struct {
  char *to, *out_format, *cell, *limits, *average, *smooth, *prb, *per, *added;
  int full, json;
} opt;

static const struct poptOption table[] = {
    {"limits", 0, POPT_ARG_STRING, &opt.limits, 0,
     "36.104 (17.5, 12.5, 8, 3.5 %), 36.141 (those of a test, 1 % more) or none", "SPEC"},
    {"max-added", 0, POPT_ARG_STRING, &opt.added, 0,
     "error vectors between IN and OUT, equalised, at most, in the middle of the prefix and at both windows (told)",
     "DB"},
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

static int out_of_memory(int status)
{
  cli_say(NAME, "%s", tlg_status_text(status));
  return cli_status(status);
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
      if (!s->n_gaps || s->n_gaps % 64 == 0) {
        struct evm_gap *more = realloc(s->gap, (s->n_gaps + 64) * sizeof *more);

        if (!more) {
          return out_of_memory(TLG_ENOMEM);
        }
        s->gap = more;
      }
      s->gap[s->n_gaps++] = (struct evm_gap){s->n, gap};
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
  s->unfit = counts.clipped;
  s->non_finite = counts.non_finite;
  if (s->n > s->n_missing && s->non_finite >= 2 * (s->n - s->n_missing)) {
    cli_say(NAME, "%s: not one of its %zu samples is a finite number; there is nothing to measure", s->path, s->n);
    return CLI_BAD_INPUT;
  }
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

static double level_of(const struct evm_side *s)
{
  double power = 0;
  size_t i;

  for (i = 0; i < s->n; i++) {
    power += (double)s->x[i].i * s->x[i].i + (double)s->x[i].q * s->x[i].q;
  }
  return s->n ? db(power / (double)s->n / 1073741824.0) : -INFINITY;
}

/* Power at the carrier: the mean over useful parts, with the offset taken out; what data subcarriers leave there is
 * nothing, for each symbol is whole. */
static int look_at_carrier(struct evm_side *s)
{
  const struct tlg_lte_rx_cell *c = s->cell;
  const size_t fft = (size_t)c->fft, n = 15 * fft;
  tlg_cf64 *x, sum = {0, 0}, mean;
  double power = 0, dc;
  uint64_t symbols = 0;
  int64_t k;

  power = pow(10, s->level_dbfs / 10) * 1073741824.0;
  tlg_lte_rx_mean(s->rx, &mean);
  dc = mean.i * mean.i + mean.q * mean.q;
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
  for (k = 0; k < s->n_gaps; k++) { /* conversion of the rate carries the zeros a little further */
    const double more = 20e-6 * tlg_rate_hz(&s->rate);

    evm_mark_broken(s, (double)s->gap[k].from - more, (double)(s->gap[k].from + s->gap[k].n) + more);
  }
  if (fabs(s->cell->clock_ppm) > CLOCK_MOST && fabs(s->cell->clock_ppm) > 4 * s->cell->clock_dev_ppm) {
    s->wrong_rate_hz = tlg_rate_hz(&s->rate) * (1 + s->cell->clock_ppm * 1e-6);
  }
  return 0;
}

/* ---- measuring --------------------------------------------------------------------------------------------------- */

static int measure(struct evm_run *run)
{
  const struct evm_side *a = &run->side[0], *b = &run->side[1], *last = &run->side[run->n_sides - 1];
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
  size_t pushed = 0;
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
  run->out_k = calloc((size_t)(last->cell->subframe_end - last->cell->subframe_first) + 1, sizeof *run->out_k);
  if (!run->out_k) {
    free(space);
    return out_of_memory(TLG_ENOMEM);
  }
  for (k = last->cell->subframe_first; k < last->cell->subframe_end; k++) {
    const int64_t own = run->n_sides == 2 ? evm_in_of(run, k) : k;
    const int good = own >= 0 && evm_timing(a, own) && !evm_timing(a, own)->broken && !evm_timing(last, k)->broken;

    if (cli_stop) {
      free(space);
      return cli_exit_stopped(CLI_DONE);
    }
    for (s = 0; good && s < run->n_sides; s++) {
      const struct evm_side *side = &run->side[s];

      for (w = 0; w < TLG_EVM_WINDOWS; w++) {
        status =
            tlg_lte_rx_subframe(side->rx, side->cell, s ? k : own, advance[w], space + (s * TLG_EVM_WINDOWS + w) * n);
        if (status != TLG_OK) {
          free(space);
          return out_of_memory(status);
        }
      }
    }
    if (good) {
      run->out_k[pushed++] = k;
      if ((status = tlg_lte_evm_push(run->evm, own, grid)) != TLG_OK) {
        free(space);
        return out_of_memory(status);
      }
    }
    cli_progress(NAME, (uint64_t)(k - last->cell->subframe_first),
                 (uint64_t)(last->cell->subframe_end - last->cell->subframe_first));
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

static int by_size(const void *a, const void *b)
{
  const double x = *(const double *)a, y = *(const double *)b;

  return (x > y) - (x < y);
}

/* Whether a symbol of a measured subframe of OUT touches an end of the recording, where a filter of up to 64 inputs a
 * side has no input: there it differs by right. What was lost there shows in time (evm_compare_steps). */
static int at_an_end(const struct evm_run *run, unsigned k, unsigned symbol)
{
  enum { INPUTS = 64 };
  const struct evm_side *b = &run->side[1];
  const double margin = INPUTS * tlg_rate_hz(&b->rate) / tlg_rate_hz(&run->side[0].rate);
  const double ts = tlg_rate_hz(&b->rate) / 30.72e6, start = evm_timing(b, run->out_k[k])->start;
  unsigned prefix;
  const unsigned from = tlg_lte_symbol_start(symbol, &prefix);

  return start + from * ts < margin || start + (from + prefix + TLG_LTE_USEFUL) * ts > (double)b->n - margin;
}

/* Subframes of which a symbol is further from IN than is usual. A symbol has about 12 elements at least: by chance
 * their mean square is beyond 16 times the usual one (12 dB) less than once in 10^60, and what a resampler adds differs
 * by a few dB with what is sent. Four times the median, in amplitude, is neither: something happened there. */
static void find_odd(struct evm_run *run)
{
  const struct tlg_lte_evm_result *r = run->result;
  const struct tlg_lte_evm_subframe *f = r->stream[1].subframe;
  double *list = malloc((r->subframes + 1) * sizeof *list);
  unsigned k, n = 0, from, end;

  run->usual_added = NAN;
  run->odd = calloc(r->subframes + 1, 1);
  for (k = 0; list && k < r->subframes; k++) {
    if (f[k].n && !isnan(f[k].added_worst)) {
      list[n++] = f[k].added_worst;
    }
  }
  if (n >= 5 && run->odd) {
    qsort(list, n, sizeof *list, by_size);
    run->usual_added = list[n / 2] > 1e-6 ? list[n / 2] : 1e-6; /* no less than rounding */
  }
  /* Subframes of a block share an equaliser, which a spoilt one of them bends for all: those that stand out of their
   * block, or the worst of it, are the ones. */
  for (from = 0; !isnan(run->usual_added) && from < r->subframes; from = end) {
    unsigned worst = from;

    end = from + run->average < r->subframes ? from + run->average : r->subframes;
    for (k = from, n = 0; k < end; k++) {
      if (f[k].n && !isnan(f[k].added_worst)) {
        list[n++] = f[k].added_worst;
        worst = !(f[k].added_worst <= f[worst].added_worst) ? k : worst;
      }
    }
    qsort(list, n, sizeof *list, by_size);
    for (k = from; k < end && n; k++) {
      if (f[k].n && f[k].added_worst > EVM_ODD * run->usual_added &&
          (k == worst || f[k].added_worst > 1.5 * list[n / 2]) && !at_an_end(run, k, f[k].added_symbol)) {
        run->odd[k] = 1;
        run->odd_worst = run->n_odd && f[k].added_worst <= f[run->odd_worst].added_worst ? run->odd_worst : k;
        run->n_odd++;
      }
    }
  }
  free(list);
}

static void judge(struct evm_run *run)
{
  const struct tlg_lte_evm_result *r = run->result;
  const struct tlg_lte_evm_stream *st = r ? &r->stream[run->n_sides - 1] : NULL;
  const struct evm_side *side = &run->side[run->n_sides - 1];
  double worst = 0;
  unsigned s;
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
    static const char *const at[] = {"at the low window", "at the high window", "in the middle of the prefix"};
    double added = -INFINITY;
    int w, worst_at = TLG_EVM_MIDDLE;

    for (w = 0; w < TLG_EVM_WINDOWS; w++) {
      const double level_db = r->added_after[w].n ? 20 * log10(r->added_after[w].rms) : NAN;

      if (!(level_db <= added)) {
        added = level_db;
        worst_at = w;
      }
    }
    if (!(added <= run->max_added_db)) {
      run->passed = 0;
      snprintf(run->reason, sizeof run->reason, "error vectors between the two of %.2f dB %s, more than %.2f", added,
               at[worst_at], run->max_added_db);
    }
  }
  if (r && run->n_sides == 2) {
    find_odd(run);
  }
  if (r && run->n_odd) {
    const struct tlg_lte_evm_subframe *f = &r->stream[1].subframe[run->odd_worst];

    run->passed = 0;
    run->judged = 1;
    snprintf(run->reason, sizeof run->reason,
             "error vectors between the two stand out in %u subframe%s, most in number %" PRId64
             " (%.1f dB, usually %.1f)",
             run->n_odd, cli_plural(run->n_odd), f->k, 20 * log10(f->added_worst), 20 * log10(run->usual_added));
  }
  if (r && (run->differs[0] > 0 || run->differs[1] > 0)) {
    const int head = run->differs[1] > 0;

    run->passed = 0;
    run->judged = 1;
    snprintf(run->reason, sizeof run->reason, "%s output %.0f it is not what IN has there, nor that shifted",
             head ? "up to" : "from", run->differs[head]);
  }
  if (r && side->n_steps && !side->wrong_rate_hz) {
    run->passed = 0;
    run->judged = 1;
    snprintf(run->reason, sizeof run->reason, "samples were lost or doubled at %zu place%s", side->n_steps,
             cli_plural(side->n_steps));
  }
  for (s = 0; r && s < run->n_sides; s++) {
    if (run->side[s].wrong_rate_hz) {
      run->passed = 0;
      run->judged = 1;
      snprintf(run->reason, sizeof run->reason,
               "the clock is %+.0f ppm off, so the rate looks wrong: by this cell the samples come at %.6g Msps",
               run->side[s].cell->clock_ppm, run->side[s].wrong_rate_hz / 1e6);
      break;
    }
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
    run->prb_forced = (int)prb;
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
    run->side[s].level_dbfs = level_of(&run->side[s]);
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
    if ((status = evm_compare_steps(run)) != TLG_OK) {
      return out_of_memory(status);
    }
  } else {
    evm_find_steps(&run->side[0]);
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
    free(run->side[s].gap);
  }
  free(run->apart);
  free(run->out_k);
  free(run->odd);
  free(run);
  cli_options_free(&options_);
  return status;
}
