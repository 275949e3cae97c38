/* SPDX-License-Identifier: Apache-2.0 */
/* Internal to filter design: real-valued prototypes, their quantisation, and what a design request comes down to. */
#ifndef DESIGN_H
#define DESIGN_H

#include "tlg_dsp.h"

/* A request in numbers. Frequencies are in units of the input rate. */
struct design_plan {
  enum tlg_design_method method;
  uint32_t up, down;
  size_t n;           /* taps of the prototype */
  unsigned per_phase; /* T = ceil(n / up) */
  unsigned shift;
  double pass, stop; /* edges: the end of the pass band, the start of the first image (or alias) */
  double stop_weight;
  double beta; /* Kaiser; 0 = to be chosen */
};

/* Modified Bessel function of the first kind, order 0, by its power series; x >= 0. */
double tlg_bessel_i0(double x);
/* Kaiser window at t in [-1, 1]. */
double tlg_kaiser_window(double t, double beta);
/* Kaiser's estimates for a stop-band attenuation in dB and a transition width in cycles per input sample. */
double tlg_kaiser_beta(double stop_db);
double tlg_kaiser_length(double stop_db, double width); /* taps a phase */

/* h[0..n-1] = windowed ideal low-pass of the given cutoff (units of the input rate), unnormalised. */
void tlg_design_kaiser(double *h, size_t n, uint32_t up, double cutoff, double beta);

/* Integer taps nearest to h with each phase summing to exactly 2^shift; symmetric if h is. TLG_ETAPS, TLG_ENOMEM. */
int tlg_design_quantise(struct tlg_taps *taps, const double *h, size_t n, uint32_t up, unsigned shift,
                        struct tlg_error *err);

#endif
