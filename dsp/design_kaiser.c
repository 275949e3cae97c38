/* SPDX-License-Identifier: Apache-2.0 */
/* Kaiser-windowed low-pass prototypes. Source: J. F. Kaiser, IEEE ISCAS 1974; Oppenheim & Schafer, ch. 7. */
#include "design.h"

#include <math.h>
#include <stdlib.h>

double tlg_kaiser_window(double t, double beta)
{
  const double u = 1.0 - t * t;

  return tlg_bessel_i0(beta * sqrt(u > 0.0 ? u : 0.0)) / tlg_bessel_i0(beta);
}

/* a^0.4 by Newton's method on y^5 = a^2: no libm. */
static double power_two_fifths(double a)
{
  double y = a > 1.0 ? a : 1.0;
  int i;

  if (a <= 0.0) {
    return 0.0;
  }
  for (i = 0; i < 60; i++) {
    y = (4.0 * y + a * a / (y * y * y * y)) / 5.0;
  }
  return y;
}

double tlg_kaiser_beta(double stop_db)
{
  if (stop_db > 50.0) {
    return 0.1102 * (stop_db - 8.7);
  }
  if (stop_db > 21.0) {
    return 0.5842 * power_two_fifths(stop_db - 21.0) + 0.07886 * (stop_db - 21.0);
  }
  return 0.0;
}

double tlg_kaiser_attenuation(double taps, double width)
{
  return 7.95 + 2.285 * 2.0 * DESIGN_PI * width * taps;
}

double tlg_kaiser_length(double stop_db, double width)
{
  return (stop_db - 7.95) / (2.285 * 2.0 * DESIGN_PI * width);
}

void tlg_design_kaiser(double *h, size_t n, uint32_t up, double cutoff, double beta)
{
  /* The angle of tap k from the centre is 2 pi cutoff (2k - n + 1) / (2 up); the cutoff becomes a fraction of 2^32,
   * so that the angle is exact and symmetric taps are equal to the last bit. */
  const uint64_t turn = (uint64_t)1 << 32, step = (uint64_t)(cutoff * 4294967296.0 + 0.5);
  const double exact = (double)step / 4294967296.0;
  const double half = n > 1 ? (double)(n - 1) : 1.0, scale = 1.0 / tlg_bessel_i0(beta);
  size_t k;

  for (k = 0; k < (n + 1) / 2; k++) {
    const uint64_t distance = n - 1 - 2 * k; /* from the centre, in half taps */
    const double t = (double)distance / half, u = 1.0 - t * t;
    double sinc = 2.0 * exact, c, s;

    if (distance) {
      const uint64_t den = turn * 2 * up;

      /* distance < 2^31 and step < 2^32 keep the product inside 64 bits */
      tlg_cos_sin(step * distance % den, den, &c, &s);
      sinc = s * (2.0 * (double)up) / (DESIGN_PI * (double)distance);
    }
    h[k] = h[n - 1 - k] = sinc * tlg_bessel_i0(beta * sqrt(u > 0.0 ? u : 0.0)) * scale;
  }
}

/* The largest response from the stop band's edge on, relative to that at 0. A Kaiser window's side lobes fall, so six
 * lobes past the edge are enough. */
static double worst_stop(const double *h, size_t n, uint32_t up, double stop)
{
  const double lobe = (double)up / (double)n, limit = (double)up / 2.0;
  double sum = 0.0, worst = 0.0;
  size_t k;
  int i;

  for (k = 0; k < n; k++) {
    sum += h[k];
  }
  for (i = 0; i <= 48; i++) {
    const double f = (stop + lobe * i / 8.0 < limit ? stop + lobe * i / 8.0 : limit) / (double)up;
    const uint64_t step = (uint64_t)(f * 4294967296.0 + 0.5);
    double re = 0.0;

    for (k = 0; k < n / 2; k++) {
      double c, s;

      tlg_cos_sin(step * (n - 1 - 2 * k), (uint64_t)1 << 33, &c, &s);
      re += 2.0 * h[k] * c;
    }
    re += n % 2 ? h[n / 2] : 0.0;
    re = re < 0.0 ? -re : re;
    worst = re > worst ? re : worst;
  }
  return worst / sum;
}

int tlg_design_choose_beta(const struct design_plan *p, double *beta, double *worst, struct tlg_error *err)
{
  enum { STEPS = 41 };
  /* The response where it matters hardly depends on the taps an input sample; a decimator's narrow bands need fewer. */
  const uint32_t few = p->stop > 0.15 ? 16 : 4, up = p->up < few ? p->up : few;
  const size_t n = (size_t)((double)p->n / (double)p->up * (double)up + 0.5);
  const double middle = tlg_kaiser_beta(tlg_kaiser_attenuation((double)p->n / (double)p->up, p->stop - p->pass));
  double *h = malloc(n * sizeof *h), at[STEPS], level[STEPS], best = 1e300, least = 1e300;
  int i, st = TLG_OK;

  if (!h) {
    return tlg_error_set(err, TLG_ENOMEM, "no memory for %zu taps", n);
  }
  for (i = 0; i < STEPS; i++) {
    at[i] = middle + (i - STEPS / 2) * 0.05;
    at[i] = at[i] > 0.0 ? at[i] : 0.0;
    tlg_design_kaiser(h, n, up, (p->pass + p->stop) / 2.0, at[i]);
    level[i] = worst_stop(h, n, up, p->stop);
    best = level[i] < best ? level[i] : best;
  }
  for (i = 0; i < STEPS && st == TLG_OK; i++) {
    struct tlg_response r;

    if (level[i] > best * 1.122018454301963) { /* 1 dB */
      continue;
    }
    tlg_design_kaiser(h, n, up, (p->pass + p->stop) / 2.0, at[i]);
    st = tlg_design_normalise(h, n, up, err);
    if (st == TLG_OK) {
      st = tlg_response_of(&r, h, n, up, 1.0, (double)p->up / (double)p->down, p->pass, 60, 0, err);
    }
    if (st == TLG_OK && r.error + r.image_total < least) {
      least = r.error + r.image_total;
      *beta = at[i];
      *worst = level[i];
    }
  }
  free(h);
  return st;
}
