/* SPDX-License-Identifier: Apache-2.0 */
/* Filter design: what a request comes down to, and the way from it to integer taps. */
#include "design.h"

#include <stdlib.h>

static int plan(struct design_plan *p, const struct tlg_design *d, struct tlg_error *err)
{
  double in, out, low, pass, stop;

  if (tlg_rate_ratio(&d->rate_in, &d->rate_out, &p->up, &p->down) != TLG_OK) {
    return tlg_error_set(err, TLG_EINVAL, "the ratio of the rates must have terms of at most 65535 in lowest terms");
  }
  in = tlg_rate_hz(&d->rate_in);
  out = tlg_rate_hz(&d->rate_out);
  low = in < out ? in : out;
  pass = d->pass_hz.num ? tlg_rate_hz(&d->pass_hz) : 0.3603 * low < 9007500.0 ? 0.3603 * low : 9007500.0;
  stop = d->stop_hz.num ? tlg_rate_hz(&d->stop_hz) : low - pass;
  if (!(pass < stop)) {
    return tlg_error_set(err, TLG_EINVAL, "the pass band must end (%.0f Hz) before the stop band starts (%.0f Hz)",
                         pass, stop);
  }
  p->method = d->method;
  p->pass = pass / in;
  p->stop = stop / in;
  p->shift = d->shift ? d->shift : 14;
  if (p->shift > 15) {
    return tlg_error_set(err, TLG_EINVAL, "the shift S is %u, but must be 1 to 15", p->shift);
  }
  p->stop_weight = d->stop_weight > 0.0 ? d->stop_weight : 1.0;
  p->beta = d->kaiser_beta;
  p->per_phase = d->taps_per_phase;
  if (!p->per_phase) {
    const double least = tlg_kaiser_length(80.0, p->stop - p->pass);

    p->per_phase = p->up == 768 && p->down == 625 ? 16 : (unsigned)least + 1;
  }
  if (d->n_taps) {
    p->n = d->n_taps;
    p->per_phase = (unsigned)((p->n + p->up - 1) / p->up);
  } else {
    p->n = (size_t)p->per_phase * p->up;
    p->n -= p->n % 2 ? 0 : 1;
  }
  if (p->up == 1 && p->down == 1 && !d->n_taps && !d->taps_per_phase) {
    p->n = 1;
  }
  if (p->n > (size_t)1 << 24) {
    return tlg_error_set(err, TLG_EINVAL, "%zu taps are more than %d", p->n, 1 << 24);
  }
  return TLG_OK;
}

int tlg_taps_design(struct tlg_taps *taps, const struct tlg_design *design, struct tlg_error *err)
{
  struct design_plan p;
  double *h, beta;
  int st;

  if (!taps || !design) {
    return tlg_error_set(err, TLG_EINVAL, "there is no place for the taps, or no design");
  }
  st = plan(&p, design, err);
  if (st != TLG_OK) {
    return st;
  }
  if (p.up == 1 && p.down == 1 && p.n == 1) {
    const int16_t one = (int16_t)(1 << (p.shift < 15 ? p.shift : 14));

    return tlg_taps_copy(taps, &one, 1, 1, p.shift < 15 ? p.shift : 14, err);
  }
  h = malloc(p.n * sizeof *h);
  if (!h) {
    return tlg_error_set(err, TLG_ENOMEM, "no memory for %zu taps", p.n);
  }
  beta = p.beta;
  if (!(beta > 0.0)) {
    beta = tlg_kaiser_beta(7.95 + 2.285 * 6.28318530717958647693 * (p.stop - p.pass) * (double)p.per_phase);
  }
  tlg_design_kaiser(h, p.n, p.up, (p.pass + p.stop) / 2.0, beta);
  st = tlg_design_quantise(taps, h, p.n, p.up, p.shift, err);
  free(h);
  return st;
}
