/* SPDX-License-Identifier: Apache-2.0 */
/* Kaiser-windowed low-pass prototypes. Source: J. F. Kaiser, IEEE ISCAS 1974; Oppenheim & Schafer, ch. 7. */
#include "design.h"

#include <math.h>

double tlg_bessel_i0(double x)
{
  const double q = x * x / 4.0;
  double term = 1.0, sum = 1.0;
  int k;

  /* Terms rise until k = x / 2, then fall; all are positive, so nothing cancels. */
  for (k = 1; k < 1000; k++) {
    term *= q / ((double)k * (double)k);
    sum += term;
    if (term < sum * 1e-18) {
      break;
    }
  }
  return sum;
}

double tlg_kaiser_window(double t, double beta)
{
  const double u = 1.0 - t * t;

  return tlg_bessel_i0(beta * sqrt(u > 0.0 ? u : 0.0)) / tlg_bessel_i0(beta);
}

/* (a-21)^0.4 by Newton's method on y^5 = a^2: no libm. */
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

double tlg_kaiser_length(double stop_db, double width)
{
  return (stop_db - 7.95) / (2.285 * 6.28318530717958647693 * width);
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
      sinc = s * (2.0 * (double)up) / (3.14159265358979323846 * (double)distance);
    }
    h[k] = h[n - 1 - k] = sinc * tlg_bessel_i0(beta * sqrt(u > 0.0 ? u : 0.0)) * scale;
  }
}
