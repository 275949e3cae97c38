/* SPDX-License-Identifier: Apache-2.0 */
/* Internal to filter design: real-valued prototypes, their quantisation, and what a design request comes down to. */
#ifndef DESIGN_H
#define DESIGN_H

#include "tlg_dsp.h"

#define DESIGN_PI 3.14159265358979323846
#define DESIGN_MAX_TAPS ((size_t)1 << 22)

/* A request in numbers. Frequencies are in units of the input rate; images of the band stand around 1, 2, 3, ... */
struct design_plan {
  enum tlg_design_method method;
  uint32_t up, down;
  size_t n;           /* taps of the prototype */
  unsigned per_phase; /* T = ceil(n / up) */
  unsigned shift;
  double pass, stop; /* edges: the end of the pass band, the start of the first image or alias */
  double stop_weight;
  double image_limit; /* amplitude no image may exceed, 0 = no limit (least squares) */
  double pass_limit;  /* amplitude no gain in the band may deviate by, 0 = no limit (least squares) */
  double beta;        /* Kaiser; 0 = to be chosen */
};

/* Kaiser window at t in [-1, 1]. */
double tlg_kaiser_window(double t, double beta);
/* Kaiser's estimates: beta for a stop-band attenuation in dB; attenuation reached by so many taps a phase with a
 * transition width in cycles per input sample; and the taps a phase needed. */
double tlg_kaiser_beta(double stop_db);
double tlg_kaiser_attenuation(double taps, double width);
double tlg_kaiser_length(double stop_db, double width);

/* Each fills h[0..n-1], symmetric to the last bit and unnormalised. TLG_ENOMEM, TLG_EINVAL. */
void tlg_design_kaiser(double *h, size_t n, uint32_t up, double cutoff, double beta);
int tlg_design_exchange(double *h, const struct design_plan *p, struct tlg_error *err);
int tlg_design_squares(double *h, const struct design_plan *p, struct tlg_error *err);

/* Beta for the plan: among those whose worst image is within 1 dB of the best one reachable, that of the least error
 * in the band plus image power. *worst = its worst image (amplitude). */
int tlg_design_choose_beta(const struct design_plan *p, double *beta, double *worst, struct tlg_error *err);

/* h[k] = sum over j of c[j] cos(2 pi j (2k - n + 1) / (2n)): a prototype whose response at j / n prototype cycles is
 * proportional to c[j] (j = 0 counted twice). Evaluated at any factor, this is the interpolation of a small design. */
int tlg_design_series(double *h, size_t n, const double *c, size_t terms, struct tlg_error *err);

/* Bring each phase of h to a sum of 1 (as far as doubles go). TLG_ETAPS if h sums to 0 or less. */
int tlg_design_normalise(double *h, size_t n, uint32_t up, struct tlg_error *err);

/* Integer taps for a normalised h, each phase summing to exactly 2^shift; symmetric if h is. band > 0: rounded for the
 * least error on a signal that fills +-band (units of the input rate), else to the nearest by largest remainder.
 * TLG_ETAPS, TLG_EINVAL, TLG_ENOMEM. */
int tlg_design_quantise(struct tlg_taps *taps, const double *h, size_t n, uint32_t up, unsigned shift, double band,
                        struct tlg_error *err);

/* The response of a prototype of doubles whose gain is 1 when each phase sums to scale. out = output rate and pass =
 * band edge in units of the input rate; the answers' frequencies are in these units as well. points = steps over the
 * pass band. aliases = 0 leaves out the input beyond the pass band. */
int tlg_response_of(struct tlg_response *r, const double *h, size_t n, uint32_t up, double scale, double out,
                    double pass, unsigned points, int aliases, struct tlg_error *err);

#endif
