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
  if (r->n_events > told && r->n_findings < TLG_CHECK_FINDINGS) {
    find(c, "and %zu more places", r->n_events - told);
  }
}

void tlg_check_find_causes(struct tlg_check *c, double yy_in)
{
  struct tlg_check_result *r = &c->r;

  if (!(yy_in > 0)) {
    find(c, "the output is silent in the band");
    return;
  }
  if (!r->length_passed) {
    const unsigned long long n = (unsigned long long)llabs(r->n_extra);

    find(c, "%llu output%s: %llu inputs make %llu", n,
         r->n_extra < 0 ? n == 1 ? " is missing" : "s are missing"
         : n == 1       ? " too many"
                        : "s too many",
         (unsigned long long)r->n_in, (unsigned long long)r->n_expected);
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
    if (r->n_events == 0 && r->edge_bad) {
      char where[120];

      find(c, "error near an end of the recording, about %s", place_text(c, r->edge_output, where, sizeof where));
    }
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
