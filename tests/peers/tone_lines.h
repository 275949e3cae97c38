/* SPDX-License-Identifier: Apache-2.0 */
/* What a resampler made of the measuring tones: their ripple and what else there is. */
#ifndef TONE_LINES_H
#define TONE_LINES_H

enum {
  LINES_TONES = 61,  /* 300.5 kHz * k, k = -30..30 */
  LINES_IN = 50000,  /* 2 ms at 25 Msps */
  LINES_OUT = 61440, /* 2 ms at 30.72 Msps: lines of 500 Hz */
};

struct tone_lines {
  double worst_dbc; /* largest line that is no tone, over the mean tone */
  double worst_hz;  /* where it stands */
  double total_dbc; /* all that is no tone, over all tones */
  double ripple_db; /* largest deviation of a tone from their mean */
};

/* LINES_OUT outputs, I and Q in turn, of any scale. 0, or -1 when out of memory or nothing is there. */
int tone_lines_measure(struct tone_lines *result, const double *samples);

#endif
