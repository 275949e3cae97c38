/* SPDX-License-Identifier: Apache-2.0 */
/* The report of taplag evm, as text and as JSON. */
#include "evm.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static const char *const window_names[TLG_EVM_WINDOWS] = {"low", "high", "middle"};

static double level(double evm) /* dB; no less than what doubles can hold */
{
  return evm > 1e-9 ? 20 * log10(evm) : evm >= 0 ? -180 : NAN;
}

static double tidy(double x, double step) /* no negative zero */
{
  return fabs(x) < step / 2 ? 0 : x;
}

static double share(const struct evm_side *s)
{
  return tlg_rate_hz(&s->rate) / 1000;
}

/* The first frame that begins in the recording, and where. */
static double frame_at(const struct evm_side *s, int *sfn)
{
  const double frame = 10 * share(s) * (1 + s->cell->clock_ppm * 1e-6);
  const double n = s->cell->start < -0.5 ? ceil((-s->cell->start - 0.5) / frame) : 0;

  *sfn = s->cell->sfn < 0 ? -1 : (s->cell->sfn + (int)n) % 1024;
  return s->cell->start + n * frame;
}

/* ---- text ------------------------------------------------------------------------------------------------------- */

static void print_side(const struct evm_run *run, unsigned which, FILE *out)
{
  const struct evm_side *s = &run->side[which];
  const struct tlg_lte_rx_cell *c = s->cell;
  const struct tlg_lte_evm_stream *st = &run->result->stream[which];
  char text[64];
  double at;
  size_t k;
  int sfn;

  at = frame_at(s, &sfn);
  fprintf(out, "cell       identity %d, %d resource blocks (%g MHz), %d port%s", c->id, c->prb,
          tlg_lte_bandwidth_hz((unsigned)c->prb) / 1e6, c->ports, cli_plural((uint64_t)c->ports));
  if (c->mib_crc_ok) {
    fprintf(out, "; MIB right, frame %d begins at sample %.2f\n", sfn, tidy(at, 0.01));
  } else {
    fprintf(out, "; no MIB (a test model has none), a frame begins at sample %.2f\n", tidy(at, 0.01));
  }
  if (c->mirrored) {
    fputs("           mirrored: I and Q are exchanged\n", out);
  }
  for (k = 0; k < s->n_cells; k++) {
    if (&s->cells[k] != c) {
      fprintf(out, "  and      identity %d, reference signals %.1f dBFS\n", s->cells[k].id, s->cells[k].power_dbfs);
    }
  }
  fprintf(out, "samples    %zu at %s (%.6g ms)%s, %.2f dBFS, demodulated at %.6g Msps%s\n", s->n,
          tlg_rate_text(&s->rate, text, sizeof text), (double)s->n / share(s), s->cut ? " of more" : "", s->level_dbfs,
          c->fft * 15e-3, c->converted || c->clock_used ? "" : " as they are");
  if (s->clipped) {
    fprintf(out, "           %" PRIu64 " component%s at full scale\n", s->clipped, cli_plural(s->clipped));
  }
  if (s->unfit || s->non_finite) {
    fprintf(out, "           %" PRIu64 " component%s clipped, %" PRIu64 " not finite (NaN read as 0)\n", s->unfit,
            cli_plural(s->unfit), s->non_finite);
  }
  for (k = 0; k < s->n_gaps && k < EVM_STEPS; k++) {
    fprintf(out, "%s%" PRIu64 " sample%s missing at %" PRIu64 " (%.4f ms)\n", k ? "           " : "gaps       ",
            s->gap[k].n, cli_plural(s->gap[k].n), s->gap[k].from, (double)s->gap[k].from / share(s));
  }
  if (s->n_gaps) {
    fprintf(out, "           %" PRIu64 " in %zu gap%s that the recording tells; read as 0, not measured\n",
            s->n_missing, s->n_gaps, cli_plural(s->n_gaps));
  }
  if (run->prb_forced && !c->mib_crc_ok) {
    fprintf(out, "--prb      %d resource blocks as stated, not measured%s\n", c->prb,
            s->has_band && s->occupied_hz > 1.05 * (180e3 * c->prb + 15e3)
                ? "; more than these is occupied: they look too few"
                : "");
  } else if (run->prb_forced && c->prb != run->prb_forced) {
    fprintf(out, "--prb      %d is not taken: the MIB tells %d\n", run->prb_forced, c->prb);
  }
  if (s->wrong_rate_hz) {
    fprintf(out, "rate       by this cell %.6g Msps: a clock %+.0f ppm off is a rate stated wrongly\n",
            s->wrong_rate_hz / 1e6, c->clock_ppm);
  }
  fprintf(out, "subframes  %u measured of %zu", run->result->subframes, s->n_timing);
  if (s->n_broken) {
    fprintf(out, "; %zu not there or broken", s->n_broken);
  }
  if (c->sc_first > 0) {
    fprintf(out, "; the rate shows subcarriers %d to %d of %d", c->sc_first, c->sc_end - 1, 12 * c->prb);
  }
  fprintf(out, "\ncarrier    offset %+.2f Hz, clock %+.3f ppm ", tidy(c->cfo_hz, 0.01), tidy(c->clock_ppm, 0.001));
  if (isfinite(c->cfo_dev_hz) && isfinite(c->clock_dev_ppm)) {
    fprintf(out, "(standard errors %.2f, %.3f)\n", c->cfo_dev_hz, c->clock_dev_ppm);
  } else {
    fputs("(standard errors not measurable in so few subframes)\n", out);
  }
  fprintf(out, "I/Q        offset %.1f dBc", fmax(s->mean_dbc, -120));
  if (!isnan(s->leak_dbc)) {
    fprintf(out, " (of the receiver), %.1f dBc at the carrier", fmax(s->leak_dbc, -120));
  }
  fprintf(out, "\nreference  %.2f dBFS an element, signal to noise %.1f dB; equaliser within %.4f dB\n", st->rs_dbfs,
          fmin(-st->noise_dbc, 120), st->flatness_db);
  if (s->has_band) {
    fprintf(out, "band       occupied (99 %%) %.3f MHz, %+.3f to %+.3f; at most %g\n", s->occupied_hz / 1e6,
            s->occupied_low_hz / 1e6, s->occupied_high_hz / 1e6, tlg_lte_bandwidth_hz((unsigned)c->prb) / 1e6);
  } else {
    fputs("band       occupied bandwidth not measurable at this rate\n", out);
  }
  if (!s->aclr[1].known && !s->aclr[2].known) {
    fprintf(out, "ACLR       not measurable at this rate; %.6g Msps are needed\n", s->aclr_rate_hz / 1e6);
  } else {
    fputs("ACLR      ", out);
    for (k = 0; k < 4; k++) {
      if (s->aclr[k].known) {
        fprintf(out, " %.1f dB at %+g MHz%s", s->aclr[k].db, s->aclr[k].offset_hz / 1e6, k < 3 ? "," : "");
      }
    }
    fputs(" (TS 36.104: at least 45)\n", out);
  }
}

static void print_pdsch(const struct evm_run *run, FILE *out)
{
  const struct tlg_lte_evm_result *r = run->result;

  if (run->side[0].cell->ports > 2) {
    fputs("PDSCH      of four ports is not measured: reference and synchronisation signals only\n", out);
    return;
  }
  fprintf(out,
          "PDSCH      %" PRIu64 " of %" PRIu64 " resource block pairs measured, %" PRIu64 " empty, %" PRIu64 " unclear",
          r->units - r->units_empty - r->units_unclear, r->units, r->units_empty, r->units_unclear);
  if (!isnan(r->pdsch_db)) {
    fprintf(out, "; %+.2f dB against reference signals", tidy(r->pdsch_db, 0.01));
    if (fabs(r->rho_b - 1) > 1e-9) {
      fprintf(out, ", %+.2f in their symbols", 10 * log10(r->rho_b));
    }
  }
  fputc('\n', out);
  if (r->units_unclear > r->units / 100) {
    fprintf(out, "           unclear: no constellation fits; too much noise, or %s\n",
            run->side[0].cell->ports > 1 ? "several layers (transmit diversity alone is undone)"
                                         : "another way of sending than from one port");
  }
}

/* EVM beyond which neighbours are taken for what was sent in more than 0.27 % of cases an axis: half the distance
 * of points is less than three times an axis's share of it. */
static int decisions_unsafe(int modulation, double evm)
{
  static const double half[TLG_EVM_MODULATIONS] = {0.70710678, 0.31622777, 0.15430335, 0.07669650};

  return modulation < TLG_EVM_MODULATIONS && evm > half[modulation] * M_SQRT2 / 3;
}

/* Decisions are those of IN: where they are unsafe, or pairs are missing as nothing could be decided, a figure is of
 * the luckiest. */
static void print_unsafe(const struct evm_run *run, FILE *out)
{
  const struct tlg_lte_evm_result *r = run->result;
  const uint64_t tried = r->units - r->units_empty;
  int c;

  for (c = 0; c < TLG_EVM_MODULATIONS; c++) {
    const struct tlg_lte_evm_channel *ch = &r->stream[0].channel[c];
    const int unsafe = decisions_unsafe(c, ch->evm);

    if (ch->units && (unsafe || r->units_unclear > tried / 100)) {
      fprintf(out,
              "%-10s %s decided blindly, from %" PRIu64 " of %" PRIu64
              " pairs, %s: the figure flatters; against the clean signal as IN it is right\n",
              "blind", tlg_evm_channel_name(c), ch->units, tried,
              unsafe ? "at an EVM at which points are taken for their neighbours" : "the others unclear");
    }
  }
}

static void print_table(const struct evm_run *run, unsigned which, FILE *out)
{
  const struct tlg_lte_evm_stream *st = &run->result->stream[which];
  int c;

  fprintf(out, "%-10s limit      EVM        dB |      low     high     peak |   before      low     high  pairs\n",
          run->n_sides == 1 ? "EVM, %"
          : which           ? "OUT, %"
                            : "IN, %");
  for (c = 0; c < TLG_EVM_CHANNELS; c++) {
    const struct tlg_lte_evm_channel *ch = &st->channel[c];
    const double limit = c < TLG_EVM_MODULATIONS ? evm_limit(run, c) : NAN;
    double peak;

    if (!ch->after[TLG_EVM_LOW].n) {
      continue;
    }
    peak = fmax(ch->after[TLG_EVM_LOW].peak, ch->after[TLG_EVM_HIGH].peak);
    fprintf(out, "  %-7s", tlg_evm_channel_name(c));
    if (isnan(limit)) {
      fputs("      ", out);
    } else {
      fprintf(out, " %5.1f", 100 * limit);
    }
    fprintf(out, " %8.3f %9.2f | %8.3f %8.3f %8.3f | %8.3f %8.3f %8.3f", 100 * ch->evm, level(ch->evm),
            100 * ch->after[TLG_EVM_LOW].rms, 100 * ch->after[TLG_EVM_HIGH].rms, 100 * peak, 100 * ch->evm_before,
            100 * ch->before[TLG_EVM_LOW].rms, 100 * ch->before[TLG_EVM_HIGH].rms);
    if (c < TLG_EVM_MODULATIONS) {
      fprintf(out, " %6" PRIu64 "%s", ch->units, isnan(limit) ? "" : ch->evm <= limit ? "  pass" : "  FAIL");
    }
    fputc('\n', out);
  }
}

/* Where the error is largest. */
static void print_worst(const struct evm_run *run, unsigned which, FILE *out)
{
  const struct tlg_lte_evm_stream *st = &run->result->stream[which];
  const unsigned n_sc = 12 * (unsigned)run->side[0].cell->prb;
  unsigned k, sc = 0, symbol = 0;
  size_t worst = 0;

  if (!st->pdsch.units) {
    return;
  }
  for (k = 0; k < n_sc; k++) {
    sc = st->subcarrier[k].n && !(st->subcarrier[k].rms <= st->subcarrier[sc].rms) ? k : sc;
  }
  for (k = 0; k < TLG_LTE_SYMBOLS; k++) {
    symbol = st->symbol[k].n && !(st->symbol[k].rms <= st->symbol[symbol].rms) ? k : symbol;
  }
  for (k = 0; k < run->result->subframes; k++) {
    worst = st->subframe[k].n && !(st->subframe[k].rms[st->worst] <= st->subframe[worst].rms[st->worst]) ? k : worst;
  }
  fprintf(out,
          "worst      subcarrier %u: %.3f %%; symbol %u: %.3f %%; subframe %" PRId64
          " (at %.3f ms): %.3f %%; at the %s window\n",
          sc, 100 * st->subcarrier[sc].rms, symbol, 100 * st->symbol[symbol].rms, st->subframe[worst].k,
          tidy(evm_timing(&run->side[which], which ? run->out_k[worst] : st->subframe[worst].k)->start /
                   share(&run->side[which]),
               0.001),
          100 * st->subframe[worst].rms[st->worst], window_names[st->worst]);
}

static void print_figures(const char *title, const struct tlg_evm_figure *f, unsigned n, unsigned first, FILE *out)
{
  unsigned k;

  fprintf(out, "%-10s      rms %%     peak %%  elements\n", title);
  for (k = 0; k < n; k++) {
    if (f[k].n) {
      fprintf(out, "  %8u %10.4f %10.4f %9" PRIu64 "\n", first + k, 100 * f[k].rms, 100 * f[k].peak, f[k].n);
    }
  }
}

static void print_tables(const struct evm_run *run, unsigned which, FILE *out)
{
  const struct tlg_lte_evm_stream *st = &run->result->stream[which];

  if (run->per_subframe) {
    unsigned k;

    print_figures("subframe", st->number, 10, 0, out);
    fputs("subframe        low %     high %   offset Hz   control\n", out);
    for (k = 0; k < run->result->subframes; k++) {
      const struct tlg_lte_evm_subframe *f = &st->subframe[k];

      fprintf(out, "  %8" PRId64 " ", f->k);
      if (f->n) {
        fprintf(out, "%10.4f %10.4f", 100 * f->rms[TLG_EVM_LOW], 100 * f->rms[TLG_EVM_HIGH]);
      } else {
        fputs("         -          -", out);
      }
      fprintf(out, " %11.2f %9u\n", tidy(run->side[which].cell->cfo_hz + f->offset_hz, 0.01), f->cfi);
    }
  }
  if (run->per_symbol) {
    print_figures("symbol", st->symbol, TLG_LTE_SYMBOLS, 0, out);
  }
  if (run->per_subcarrier) {
    print_figures("subcarrier", st->subcarrier, 12 * (unsigned)run->side[0].cell->prb, 0, out);
  }
}

static void print_steps(const struct evm_run *run, unsigned which, FILE *out)
{
  const struct evm_side *s = &run->side[which];
  const char *unit = run->n_sides == 1 ? "sample" : which ? "output" : "input";
  size_t k;

  for (k = 0; k < s->n_steps && k < EVM_STEPS && !s->wrong_rate_hz; k++) {
    const struct evm_step *t = &s->step[k];

    fprintf(out, "%s%.2f %ss %s", k ? "           " : "steps      ", fabs(t->samples), unit,
            t->samples < 0 ? "lost" : "too many");
    if (run->n_sides == 2 && which) {
      fprintf(out, " (%.2f inputs)", fabs(t->inputs));
    }
    fprintf(out, ", at %s %.0f", unit, t->at);
    if (t->width > 0) {
      fprintf(out, " +-%.0f", t->width);
    }
    fprintf(out, " (%.4f ms)", t->at / share(s));
    fputs(run->n_sides == 1 || !which ? t->modulo_frame ? ", or whole frames (10 ms) more or fewer" : ""
          : run->repeats_ms           ? ", or whole periods of the signal more or fewer"
                                      : "",
          out);
    fputc('\n', out);
  }
  if (s->n_steps > EVM_STEPS && !s->wrong_rate_hz) {
    fprintf(out, "           and %zu more\n", s->n_steps - EVM_STEPS);
  }
}

/* Where steps would have been seen. */
static void print_seen(const struct evm_run *run, unsigned which, FILE *out)
{
  const struct evm_side *s = &run->side[which];
  const char *title = s->n_steps ? "           " : "steps      ", *what = s->n_steps ? "" : "none: ";
  double from, end;

  if (s->wrong_rate_hz) {
    fprintf(out, "%scannot be told at a rate that is so wrong\n", title);
    return;
  }
  if (!evm_seen(s, &from, &end)) {
    fprintf(out, "%scannot be told in so few subframes\n", title);
    return;
  }
  fprintf(out, "%s%s%s between %.3f and %.3f ms of %.3f; %s\n", title, what,
          s->n_steps                        ? "looked for"
          : run->n_sides == 2 && run->n_odd ? "no change of timing that lasts"
                                            : "no sample lost or doubled",
          from / share(s), end / share(s), (double)s->n / share(s),
          run->n_sides == 2 ? "nearer to an end OUT was compared with IN shifted by up to 400"
                            : "what is lost or doubled nearer to an end does not show");
  if (run->n_sides == 2 && run->repeats_ms) {
    fprintf(out, "           whole frames: cannot be told, for the signal repeats itself after %u ms\n",
            run->repeats_ms);
  } else if (run->n_sides == 1 && s->told_last > s->told_first) {
    fprintf(out, "           whole frames: by the MIB's numbers, from %.3f to %.3f ms\n", s->told_first / share(s),
            s->told_last / share(s));
  } else if (run->n_sides == 1) {
    fputs("           whole frames (10 ms) lost or doubled cannot be told: no frame numbers were read\n", out);
  }
}

/* Does OUT have as many samples as IN gives? */
static void print_length(const struct evm_run *run, FILE *out)
{
  const struct evm_side *a = &run->side[0], *b = &run->side[1];
  const double wanted = (double)a->n * tlg_rate_hz(&b->rate) / tlg_rate_hz(&a->rate);
  const double more = (double)b->n - ceil(wanted - 1e-6);

  if (!a->cut && !b->cut) {
    fprintf(out, "length     %zu outputs", b->n);
    if (fabs(more) >= 1) {
      fprintf(out, ", %.0f %s than IN's %zu give", fabs(more), more < 0 ? "fewer" : "more", a->n);
    }
    fputs(fabs(more) >= 1 ? "\n" : ", as many as IN gives\n", out);
  }
}

/* Subframes in which OUT differs from IN more than elsewhere. */
static void print_odd(const struct evm_run *run, FILE *out)
{
  const struct tlg_lte_evm_subframe *f = run->result->stream[1].subframe;
  unsigned k, n = 0;

  if (isnan(run->usual_added)) {
    fputs("outliers   not looked for in fewer than five subframes\n", out);
    return;
  }
  for (k = 0; k < run->result->subframes; k++) {
    if (run->odd[k] && n++ < EVM_STEPS) {
      unsigned prefix;
      const double symbol = tlg_lte_symbol_start(f[k].added_symbol, &prefix) / 30720.0;
      const double at = evm_timing(&run->side[1], run->out_k[k])->start;

      fprintf(out, "%ssubframe %" PRId64 ", symbol %u (output %.0f, %.3f ms): %.1f dB\n",
              n == 1 ? "outliers   " : "           ", f[k].k, f[k].added_symbol, at + symbol * share(&run->side[1]),
              at / share(&run->side[1]) + symbol, level(f[k].added_worst));
    }
  }
  if (n > EVM_STEPS) {
    fprintf(out, "           and %u more\n", n - EVM_STEPS);
  }
  fprintf(out, "%sthe worst symbol of a subframe usually differs by %.1f dB\n",
          n ? "           " : "outliers   none: ", level(run->usual_added));
}

static void print_between(const struct evm_run *run, FILE *out)
{
  const struct tlg_lte_evm_result *r = run->result;
  const struct evm_side *b = &run->side[1];

  fputs("added      error vectors between IN and OUT, of PDSCH, in the middle of the prefix and at both windows\n",
        out);
  if (r->added_after[TLG_EVM_MIDDLE].n) {
    const struct tlg_evm_figure *a = r->added_after, *f = r->added_before;

    fprintf(out, "  equalised  %8.2f dB  %8.4f %%, peak %.4f; windows low %.2f, high %.2f dB\n",
            level(a[TLG_EVM_MIDDLE].rms), 100 * a[TLG_EVM_MIDDLE].rms, 100 * a[TLG_EVM_MIDDLE].peak,
            level(a[TLG_EVM_LOW].rms), level(a[TLG_EVM_HIGH].rms));
    fprintf(out, "  before     %8.2f dB  %8.4f %%, peak %.4f; windows low %.2f, high %.2f dB\n",
            level(f[TLG_EVM_MIDDLE].rms), 100 * f[TLG_EVM_MIDDLE].rms, 100 * f[TLG_EVM_MIDDLE].peak,
            level(f[TLG_EVM_LOW].rms), level(f[TLG_EVM_HIGH].rms));
    if (run->max_added_db < 0) {
      const double most = run->max_added_db;
      const int middle = level(a[TLG_EVM_MIDDLE].rms) <= most, low = level(a[TLG_EVM_LOW].rms) <= most,
                high = level(a[TLG_EVM_HIGH].rms) <= most;

      fprintf(out, "  at most    %8.2f dB  equalised: middle %s, low window %s, high window %s\n", most,
              middle ? "held" : "not held", low ? "held" : "not held", high ? "held" : "not held");
      if (middle && !(low && high)) {
        fputs(
            "             the middle holds: what rings at symbols' edges are side lobes of IN that OUT's filter cuts\n",
            out);
      }
    }
  } else {
    fputs("  nothing: no PDSCH in subframes that both have\n", out);
  }
  fprintf(out, "delay      %.3f outputs = %.4f us", tidy(run->delay_s * tlg_rate_hz(&b->rate), 0.001),
          tidy(run->delay_s * 1e6, 1e-4));
  if (b->n_steps) {
    fputs(run->head_step ? " after the step at the beginning" : " up to the first step", out);
  }
  fprintf(out, "; %u subframes compared\n", run->compared);
  print_length(run, out);
  print_odd(run, out);
  print_steps(run, 0, out);
  print_steps(run, 1, out);
  print_seen(run, 1, out);
  if (run->differs[1] > 0) {
    fprintf(out, "           up to output %.0f (%.4f ms) OUT is not what IN has there\n", run->differs[1],
            run->differs[1] / share(b));
  }
  if (run->differs[0] > 0) {
    fprintf(out, "           from output %.0f (%.4f ms) on OUT is not what IN has there\n", run->differs[0],
            run->differs[0] / share(b));
  }
}

void evm_print(const struct evm_run *run, FILE *out)
{
  const struct evm_side *last = &run->side[run->n_sides - 1];
  static const char *const names[] = {"TS 36.104", "TS 36.141", "none"};
  unsigned s;

  if (!run->result) {
    fprintf(out, "FAILED  %s\n", run->reason);
    return;
  }
  if (run->passed && run->judged) {
    fprintf(out, "PASSED  %s: EVM within the limits of %s\n", last->path, names[run->limits]);
  } else if (run->passed) {
    fprintf(out, "NOT JUDGED  %s\n", last->path);
  } else {
    fprintf(out, "FAILED  %s: %s\n", last->path, run->reason);
  }
  for (s = 0; s < run->n_sides; s++) {
    if (run->n_sides == 2) {
      fprintf(out, "%s\n", s ? "-- OUT" : "-- IN");
    }
    print_side(run, s, out);
    if (run->n_sides == 1) {
      print_steps(run, s, out);
      print_seen(run, s, out);
    }
  }
  if (run->n_sides == 2) {
    fputs("-- both\n", out);
  }
  print_pdsch(run, out);
  for (s = 0; s < run->n_sides; s++) {
    print_table(run, s, out);
    print_worst(run, s, out);
  }
  print_unsafe(run, out);
  if (run->n_sides == 2) {
    print_between(run, out);
  }
  for (s = 0; s < run->n_sides; s++) {
    print_tables(run, s, out);
  }
}

/* ---- JSON ------------------------------------------------------------------------------------------------------- */

/* Of a signal without errors only rounding is left, which differs from machine to machine: 1e-5 % is told as 0. */
static json_t *percent(double evm)
{
  return cli_number(100 * evm, 4);
}

static json_t *decibel(double evm)
{
  return isnan(evm) ? json_null() : cli_number(fmax(level(evm), -120), 2);
}

static json_t *windows_json(const struct tlg_evm_figure *f)
{
  json_t *o = json_object();
  int w;

  for (w = 0; w < TLG_EVM_WINDOWS; w++) {
    json_t *one = json_object();

    json_object_set_new(one, "rms_percent", percent(f[w].rms));
    json_object_set_new(one, "rms_db", decibel(f[w].rms));
    json_object_set_new(one, "peak_percent", percent(f[w].peak));
    json_object_set_new(o, window_names[w], one);
  }
  return o;
}

static json_t *channel_json(const struct evm_run *run, const struct tlg_lte_evm_channel *ch, int channel)
{
  json_t *o = json_object();
  const double limit = channel < TLG_EVM_MODULATIONS ? evm_limit(run, channel) : NAN;

  json_object_set_new(o, "evm_percent", percent(ch->evm));
  json_object_set_new(o, "evm_db", decibel(ch->evm));
  json_object_set_new(o, "evm_before_percent", percent(ch->evm_before));
  json_object_set_new(o, "evm_before_db", decibel(ch->evm_before));
  if (channel < TLG_EVM_MODULATIONS) {
    json_object_set_new(o, "limit_percent", isnan(limit) ? json_null() : cli_number(100 * limit, 2));
    json_object_set_new(o, "passed", isnan(limit) ? json_null() : json_boolean(ch->evm <= limit));
    json_object_set_new(o, "resource_block_pairs", json_integer((json_int_t)ch->units));
    json_object_set_new(o, "decisions_unsafe",
                        json_boolean(decisions_unsafe(channel, run->result->stream[0].channel[channel].evm)));
  }
  json_object_set_new(o, "elements", json_integer((json_int_t)ch->after[TLG_EVM_LOW].n));
  json_object_set_new(o, "equalised", windows_json(ch->after));
  json_object_set_new(o, "before", windows_json(ch->before));
  return o;
}

static json_t *figures_json(const struct tlg_evm_figure *f, unsigned n)
{
  json_t *o = json_object(), *rms = json_array(), *peak = json_array();
  unsigned k;

  for (k = 0; k < n; k++) {
    json_array_append_new(rms, percent(f[k].rms));
    json_array_append_new(peak, percent(f[k].peak));
  }
  json_object_set_new(o, "rms_percent", rms);
  json_object_set_new(o, "peak_percent", peak);
  return o;
}

static json_t *step_json(const struct evm_step *t, int out, int modulo)
{
  json_t *o = json_object();

  json_object_set_new(o, "samples", cli_number(t->samples, 2));
  if (out) {
    json_object_set_new(o, "inputs", cli_number(t->inputs, 2));
  }
  json_object_set_new(o, "at_sample", json_integer((json_int_t)floor(t->at + 0.5)));
  json_object_set_new(o, "within", json_integer((json_int_t)ceil(t->width)));
  json_object_set_new(o, "modulo_frames", json_boolean(modulo));
  return o;
}

static void measured_json(json_t *o, const struct evm_run *run, unsigned which)
{
  const struct evm_side *s = &run->side[which];
  const struct tlg_lte_evm_stream *st = &run->result->stream[which];
  json_t *list, *part;
  unsigned k;
  int c;

  part = json_object();
  for (c = 0; c < TLG_EVM_MODULATIONS; c++) {
    if (st->channel[c].units) {
      json_object_set_new(part, tlg_evm_channel_name(c), channel_json(run, &st->channel[c], c));
    }
  }
  json_object_set_new(o, "evm", part);
  part = json_object();
  for (; c < TLG_EVM_CHANNELS; c++) {
    if (st->channel[c].after[TLG_EVM_LOW].n) {
      json_object_set_new(part, tlg_evm_channel_name(c), channel_json(run, &st->channel[c], c));
    }
  }
  json_object_set_new(o, "evm_other", part);
  json_object_set_new(o, "carrier_offset_hz", cli_number(tidy(s->cell->cfo_hz, 0.01), 2));
  json_object_set_new(o, "reference_dbfs", cli_number(st->rs_dbfs, 2));
  json_object_set_new(o, "signal_to_noise_db", cli_number(fmin(-st->noise_dbc, 100), 1));
  json_object_set_new(o, "equaliser_range_db", cli_number(st->flatness_db, 4));
  json_object_set_new(o, "iq_offset_dbc", cli_number(fmax(s->mean_dbc, -120), 1));
  json_object_set_new(o, "carrier_leakage_dbc",
                      isnan(s->leak_dbc) ? json_null() : cli_number(fmax(s->leak_dbc, -120), 1));
  part = json_object();
  json_object_set_new(part, "hz", s->has_band ? cli_number(s->occupied_hz, 0) : json_null());
  json_object_set_new(part, "low_hz", s->has_band ? cli_number(s->occupied_low_hz, 0) : json_null());
  json_object_set_new(part, "high_hz", s->has_band ? cli_number(s->occupied_high_hz, 0) : json_null());
  json_object_set_new(o, "occupied_99", part);
  list = json_array();
  for (k = 0; k < 4; k++) {
    if (s->aclr[k].known) {
      part = json_object();
      json_object_set_new(part, "offset_hz", cli_number(s->aclr[k].offset_hz, 0));
      json_object_set_new(part, "db", cli_number(s->aclr[k].db, 1));
      json_array_append_new(list, part);
    }
  }
  json_object_set_new(o, "aclr", list); /* empty: not measurable at this rate */
  json_object_set_new(o, "aclr_needs_hz", cli_number(s->aclr_rate_hz, 0));
  json_object_set_new(o, "worst_window", json_string(window_names[st->worst]));
  json_object_set_new(o, "subcarriers", figures_json(st->subcarrier, 12 * (unsigned)s->cell->prb));
  json_object_set_new(o, "symbols", figures_json(st->symbol, TLG_LTE_SYMBOLS));
  json_object_set_new(o, "subframe_numbers", figures_json(st->number, 10));
  list = json_array();
  for (k = 0; k < run->result->subframes; k++) {
    const struct tlg_lte_evm_subframe *f = &st->subframe[k];

    part = json_object();
    json_object_set_new(part, "subframe", json_integer((json_int_t)f->k));
    json_object_set_new(part, "low_percent", f->n ? percent(f->rms[TLG_EVM_LOW]) : json_null());
    json_object_set_new(part, "high_percent", f->n ? percent(f->rms[TLG_EVM_HIGH]) : json_null());
    json_object_set_new(part, "control_symbols", json_integer((json_int_t)f->cfi));
    json_array_append_new(list, part);
  }
  json_object_set_new(o, "subframes", list);
}

static json_t *cells_json(const struct evm_run *run, unsigned which)
{
  const struct evm_side *s = &run->side[which];
  json_t *list = json_array();
  size_t k;

  for (k = 0; k < s->n_cells; k++) {
    const struct tlg_lte_rx_cell *c = &s->cells[k];
    json_t *o = json_object();

    json_object_set_new(o, "id", json_integer(c->id));
    json_object_set_new(o, "prb", json_integer(c->prb));
    json_object_set_new(o, "ports", json_integer(c->ports));
    json_object_set_new(o, "sfn", c->sfn < 0 ? json_null() : json_integer(c->sfn));
    json_object_set_new(o, "mib_crc_ok", json_boolean(c->mib_crc_ok));
    json_object_set_new(o, "mirrored", json_boolean(c->mirrored));
    json_object_set_new(o, "frame_start_sample", cli_number(tidy(c->start, 0.01), 2));
    json_object_set_new(o, "clock_ppm", cli_number(tidy(c->clock_ppm, 0.001), 3));
    json_object_set_new(o, "subframes_seen", json_integer((json_int_t)(c->subframe_end - c->subframe_first)));
    if (c == s->cell && run->result) {
      measured_json(o, run, which);
    } else {
      json_object_set_new(o, "evm", json_null());
    }
    json_array_append_new(list, o);
  }
  return list;
}

static json_t *side_json(const struct evm_run *run, unsigned which)
{
  const struct evm_side *s = &run->side[which];
  json_t *o = json_object(), *list = json_array();
  double from, end;
  size_t k;

  json_object_set_new(o, "rate", cli_rate_json(&s->rate));
  json_object_set_new(o, "samples", json_integer((json_int_t)s->n));
  json_object_set_new(o, "level_dbfs", isfinite(s->level_dbfs) ? cli_number(s->level_dbfs, 2) : json_null());
  json_object_set_new(o, "full_scale_components", json_integer((json_int_t)s->clipped));
  json_object_set_new(o, "clipped_components", json_integer((json_int_t)s->unfit));
  json_object_set_new(o, "non_finite_components", json_integer((json_int_t)s->non_finite));
  json_object_set_new(o, "missing_samples", json_integer((json_int_t)s->n_missing));
  for (k = 0; k < s->n_gaps; k++) {
    json_array_append_new(
        list, json_pack("{s:I,s:I}", "at_sample", (json_int_t)s->gap[k].from, "samples", (json_int_t)s->gap[k].n));
  }
  json_object_set_new(o, "gaps", list);
  list = json_array();
  for (k = 0; k < s->n_steps && k < EVM_STEPS; k++) {
    json_array_append_new(
        list, step_json(&s->step[k], which == 1, which == 1 ? run->repeats_ms != 0 : s->step[k].modulo_frame));
  }
  json_object_set_new(o, "steps", list);
  list = json_array();
  if (s->cell && !s->wrong_rate_hz && evm_seen(s, &from, &end)) {
    json_array_append_new(list, cli_number(from, 0));
    json_array_append_new(list, cli_number(end, 0));
  }
  json_object_set_new(o, "steps_seen_within", list);
  json_object_set_new(o, "rate_by_cell_hz", s->wrong_rate_hz ? cli_number(s->wrong_rate_hz, 0) : json_null());
  json_object_set_new(o, "n_steps", json_integer((json_int_t)s->n_steps));
  json_object_set_new(o, "cells", cells_json(run, which));
  return o;
}

static json_t *odd_json(const struct evm_run *run)
{
  const struct tlg_lte_evm_subframe *f = run->result->stream[1].subframe;
  json_t *list = json_array();
  unsigned k;

  for (k = 0; run->n_odd && k < run->result->subframes; k++) {
    if (run->odd[k]) {
      json_array_append_new(list, json_pack("{s:I,s:i,s:o}", "subframe", (json_int_t)f[k].k, "symbol",
                                            (int)f[k].added_symbol, "db", decibel(f[k].added_worst)));
    }
  }
  return list;
}

json_t *evm_json(const struct evm_run *run)
{
  json_t *o = json_object(), *part = side_json(run, 0);

  json_object_set_new(o, "passed", json_boolean(run->passed));
  json_object_set_new(o, "judged", json_boolean(run->judged));
  json_object_set_new(o, "reason", run->reason[0] ? json_string(run->reason) : json_null());
  json_object_set_new(o, "limits",
                      json_string(run->limits == EVM_LIMITS_CORE   ? "36.104"
                                  : run->limits == EVM_LIMITS_TEST ? "36.141"
                                                                   : "none"));
  json_object_update(o, part); /* of IN, at the top */
  json_decref(part);
  if (run->result) {
    const struct tlg_lte_evm_result *r = run->result;

    part = json_object();
    json_object_set_new(part, "pairs", json_integer((json_int_t)r->units));
    json_object_set_new(part, "empty", json_integer((json_int_t)r->units_empty));
    json_object_set_new(part, "unclear", json_integer((json_int_t)r->units_unclear));
    json_object_set_new(part, "power_db", isnan(r->pdsch_db) ? json_null() : cli_number(tidy(r->pdsch_db, 0.01), 2));
    json_object_set_new(part, "rho_b", isnan(r->rho_b) ? json_null() : cli_number(r->rho_b, 2));
    json_object_set_new(o, "pdsch", part);
    json_object_set_new(o, "averaged_subframes", json_integer((json_int_t)r->average));
    json_object_set_new(o, "measured_subframes", json_integer((json_int_t)r->subframes));
  }
  if (run->n_sides == 2) {
    json_object_set_new(o, "out", side_json(run, 1));
    if (run->result) {
      part = json_object();
      json_object_set_new(part, "equalised", windows_json(run->result->added_after));
      json_object_set_new(part, "before", windows_json(run->result->added_before));
      json_object_set_new(o, "added", part);
      json_object_set_new(o, "delay_outputs",
                          cli_number(tidy(run->delay_s * tlg_rate_hz(&run->side[1].rate), 0.001), 3));
      json_object_set_new(o, "frames_apart", json_integer((json_int_t)run->frames_apart));
      json_object_set_new(o, "repeats_ms", run->repeats_ms ? json_integer(run->repeats_ms) : json_null());
      json_object_set_new(o, "usual_added_db", decibel(run->usual_added));
      json_object_set_new(o, "outliers", odd_json(run));
    }
  }
  return o;
}
