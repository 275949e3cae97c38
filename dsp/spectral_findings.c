/* SPDX-License-Identifier: Apache-2.0 */
/* What an error looks like: sentences that name its place and its likely cause. */
#include "spectral_check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

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

/* " (or more or less by 30.72 outputs, after which the signal repeats)" */
static char *repeats_text(const struct tlg_check_event *e, char *text, size_t size)
{
  text[0] = '\0';
  if (e->repeats > 0) {
    snprintf(text, size, " (or more or less by multiples of %.2f outputs, after which the signal repeats)", e->repeats);
  }
  return text;
}

/* From that place on the output is out of step by so many outputs more than before. */
static void slip_text(struct tlg_check *c, const struct tlg_check_event *e, double lag, const char *where)
{
  const double missing = (double)c->r.n_extra, times = e->repeats > 0 ? round((missing - lag) / e->repeats) : 0;
  const double tolerance = 0.05;
  double in, amount;
  char repeats[120];
  int inputs;

  /* Of the lags that look alike the one that the number of outputs tells. */
  if (times != 0 && c->r.n_extra != 0 && fabs(lag + times * e->repeats - missing) < 0.02 * e->repeats) {
    lag = missing;
  }
  in = lag * c->down / c->up;
  repeats_text(e, repeats, sizeof repeats);
  if (round(lag) == 0 || fabs(lag - round(lag)) > tolerance) { /* both may be whole: take the smaller number */
    inputs = 1;
  } else {
    inputs = round(in) != 0 && fabs(in - round(in)) < 0.02 && fabs(in) <= fabs(lag);
  }
  amount = fabs(inputs ? in : lag);
  if (round(amount) > 0 && fabs(amount - round(amount)) < tolerance) {
    find(c, "from %s on the output is %.0f %s%s %s: %s%s", where, amount, inputs ? "input" : "output",
         amount > 1.5 ? "s" : "", lag < 0 ? "early" : "late",
         lag < 0 ? "samples were lost there and the gap was closed" : "samples were put in there", repeats);
  } else {
    find(c, "from %s on the output is %.3f outputs (%.3f inputs) %s%s", where, fabs(lag), fabs(in),
         lag < 0 ? "early" : "late", repeats);
  }
}

static int from_start(const struct tlg_check *c, const struct tlg_check_event *e)
{
  return e->first <= c->r.first_out + (c->cfg.period ? 0 : c->n_out / 14) + 16;
}

static void find_events(struct tlg_check *c)
{
  const struct tlg_check_result *r = &c->r;
  char where[120], end[120];
  size_t k, n = r->n_events < TLG_CHECK_EVENTS ? r->n_events : TLG_CHECK_EVENTS, told = 0, weak = 0;
  double before = 0;

  for (k = 0; k < n && told < 3; k++) {
    const struct tlg_check_event *e = &r->event[k];

    place_text(c, e->first, where, sizeof where);
    if ((r->end[0].bad || r->end[1].bad) && !e->has_lag && e->error_db < 9 - r->snr_limit_db) {
      weak++; /* what made its block fail stands at the end, where long blocks see little */
      continue;
    }
    if (e->has_lag) {
      const double lag = e->lag_outputs - before;

      if (from_start(c, e)) {
        find(c, "the output is %.3f outputs (%.3f inputs) %s than the stated delay, from the start%s: %s", fabs(lag),
             fabs(lag * c->down / c->up), lag < 0 ? "earlier" : "later", repeats_text(e, end, sizeof end),
             r->n_extra != 0 && fabs(lag - (double)r->n_extra) < 0.05
                 ? r->n_extra < 0 ? "the missing outputs were lost there" : "the outputs too many were put in there"
                 : "is --delay or --align right?");
      } else {
        slip_text(c, e, lag, where);
      }
      before = e->lag_outputs;
      told++;
    } else if (e->end != UINT64_MAX) {
      find(c, "error of %.1f dB from %s to output %llu", e->error_db, where, (unsigned long long)e->end);
      told++;
    } else if (e->first > r->first_out + c->n_out / 2) {
      find(c, "error of %.1f dB from %s to the end%s", e->error_db, where,
           r->n_extra < 0   ? ": were the missing outputs lost there?"
           : r->n_extra > 0 ? ": were the outputs too many put in there?"
                            : "");
      told++;
    } else {
      snprintf(end, sizeof end, "output %llu on", (unsigned long long)e->first);
      find(c, "error of %.1f dB from the start (%s) to the end", e->error_db, end);
      told++;
    }
  }
  if (r->n_events > told + weak) {
    find(c, "and %zu more place%s", r->n_events - told - weak, r->n_events - told - weak == 1 ? "" : "s");
  }
}

/* Errors so near the beginning or the end that only the short blocks there see where they are. */
static void find_ends(struct tlg_check *c)
{
  const struct tlg_check_result *r = &c->r;
  const size_t n = r->n_events < TLG_CHECK_EVENTS ? r->n_events : TLG_CHECK_EVENTS;
  char where[120];
  size_t e, k;

  for (e = 0; e < 2; e++) {
    for (k = 0; k < n && (r->event[k].first >= r->end[e].end || r->event[k].end <= r->end[e].first); k++) {
    }
    if (r->end[e].bad && k == n) { /* not told yet */
      find(c, "error near the %s of the recording, from %s%s to output %llu", e ? "end" : "beginning",
           r->end[e].first == r->first_out ? "where it is first compared, " : "",
           place_text(c, r->end[e].first, where, sizeof where), (unsigned long long)r->end[e].end);
    }
  }
}

/* A cause is named when without it the error falls by 3 dB at least, and by more than without a constant gain. */
static void find_range(struct tlg_check *c)
{
  const double gain = c->r.snr_gain_db - c->r.snr_db, least = gain > 3 ? gain : 3;
  const double wrapping = tlg_check_wrapping_db(c), clipping = tlg_check_clipping_db(c);

  if (wrapping >= least && wrapping >= clipping) {
    find(c,
         "%llu outputs are off by 65536: overflow wrapped round instead of saturating (without them the error falls by "
         "%.1f dB)",
         (unsigned long long)c->range.wrapped, wrapping);
  } else if (clipping >= least) {
    find(c,
         "%llu outputs are at full scale: the signal is clipped; give it headroom (without them the error falls by "
         "%.1f dB)",
         (unsigned long long)c->r.clipped_out, clipping);
  } else if (c->r.clipped_out) {
    find(c, "%llu outputs are at full scale, which does not explain the error", (unsigned long long)c->r.clipped_out);
  }
}

static void find_length(struct tlg_check *c)
{
  const unsigned long long n = (unsigned long long)llabs(c->r.n_extra);

  find(c, "%llu output%s: %llu inputs make %llu", n,
       c->r.n_extra < 0 ? n == 1 ? " is missing" : "s are missing"
       : n == 1         ? " too many"
                        : "s too many",
       (unsigned long long)c->r.n_in, (unsigned long long)c->r.n_expected);
  if (c->cfg.start || c->cfg.length) {
    find(c, "only a part is judged, by --start and --length, but of the output of the whole input");
  }
}

void tlg_check_find_causes(struct tlg_check *c, double yy_in)
{
  struct tlg_check_result *r = &c->r;

  if (!r->length_passed) {
    find_length(c);
  }
  if (r->blocks == 0) {
    find(c, "what there is of the output is too short to compare: it takes the %zu outputs of %zu inputs", c->n_out,
         c->n_in + 2 * c->cfg.skip);
    return;
  }
  if (!(yy_in > 0)) {
    find(c, "the output is silent in the band");
    return;
  }
  if (!r->in_band_passed) {
    const double mirror = power(c->mirror) / (c->inside * yy_in);
    const double dc =
        to_db((r->dc_i * r->dc_i + r->dc_q * r->dc_q) * (double)r->blocks * c->w2 * (double)c->n_out / c->error_in);

    const int only_gain = r->snr_gain_db >= r->snr_limit_db - 1 && r->snr_gain_db > r->snr_db + 3;

    if (mirror > 0.9 && r->snr_gain_db < 3) {
      find(c, "the spectrum is mirrored: I and Q are exchanged, or one of them has the wrong sign");
      return;
    }
    if (dc > -1) {
      find(c, "the error is a constant of %+.2f %+.2fj bits", r->dc_i, r->dc_q);
    }
    if (r->snr_gain_db > r->snr_db + 3 && r->snr_gain_db > 20 && (only_gain || !c->r.event[0].has_lag)) {
      find(c,
           "the error is mostly gain: %+.3f dB and %+.2f degrees; with these taken out %.1f dB of signal to error "
           "remain",
           r->gain_db, r->phase_deg, r->snr_gain_db);
    }
    if (only_gain) { /* nothing else needs a cause; but the phase of a tone may as well be a delay */
      const struct tlg_check_event *e = &r->event[0];

      if (r->n_events == 1 && e->has_lag && e->repeats > 0 && from_start(c, e)) {
        find_events(c);
      }
      return;
    }
    find_range(c);
    find_pattern(c);
    find_events(c);
    find_ends(c);
    /* The errors at the ends make up to two long blocks fail at the beginning, and three at the end. */
    if (r->n_events == 0 && r->bad_blocks > (r->end[0].bad ? 2u : 0u) + (r->end[1].bad ? 3u : 0u)) {
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
