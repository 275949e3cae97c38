/* SPDX-License-Identifier: Apache-2.0 */
/* What a resampler made of the measuring tones: one transform of whole 2 ms, so each tone and image is one line. */
#include "tone_lines.h"

#include <fftw3.h>
#include <math.h>
#include <string.h>

int tone_lines_measure(struct tone_lines *result, const double *samples)
{
  fftw_complex *x = fftw_alloc_complex(LINES_OUT);
  fftw_plan plan = x ? fftw_plan_dft_1d(LINES_OUT, x, x, FFTW_FORWARD, FFTW_ESTIMATE) : NULL;
  static unsigned char is_tone[LINES_OUT];
  double mean_db = 0, tones = 0, others = 0, worst = 0;
  int k, worst_line = 0;

  if (!plan) {
    fftw_free(x);
    return -1;
  }
  memcpy(x, samples, LINES_OUT * sizeof *x);
  fftw_execute(plan);
  memset(is_tone, 0, sizeof is_tone);
  for (k = -(LINES_TONES / 2); k <= LINES_TONES / 2; k++) {
    const int line = (601 * k + LINES_OUT) % LINES_OUT;
    const double p = x[line][0] * x[line][0] + x[line][1] * x[line][1];

    is_tone[line] = 1;
    tones += p;
    mean_db += 10 * log10(p) / LINES_TONES;
  }
  result->ripple_db = 0;
  for (k = 0; k < LINES_OUT; k++) {
    const double p = x[k][0] * x[k][0] + x[k][1] * x[k][1];

    if (is_tone[k]) {
      result->ripple_db = fmax(result->ripple_db, fabs(10 * log10(p) - mean_db));
    } else {
      others += p;
      if (p > worst) {
        worst = p;
        worst_line = k;
      }
    }
  }
  fftw_destroy_plan(plan);
  fftw_free(x);
  result->worst_dbc = 10 * log10(worst) - mean_db;
  result->worst_hz = (worst_line < LINES_OUT / 2 ? worst_line : worst_line - LINES_OUT) * 500.0;
  result->total_dbc = 10 * log10(others / tones);
  return isfinite(mean_db) ? 0 : -1;
}
