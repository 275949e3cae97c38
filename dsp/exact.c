/* SPDX-License-Identifier: Apache-2.0 */
/* Elementary functions by IEEE + - * / in a fixed order (no libm), and Philox4x32-10: the same bits everywhere. */
#include "tlg_dsp.h"

/* Taylor series on [0, pi/4], where the first term left out is below 2^-56. */
static double sin_small(double x)
{
  const double s = x * x;
  double p = -1.0 / 1307674368000.0;

  p = p * s + 1.0 / 6227020800.0;
  p = p * s - 1.0 / 39916800.0;
  p = p * s + 1.0 / 362880.0;
  p = p * s - 1.0 / 5040.0;
  p = p * s + 1.0 / 120.0;
  p = p * s - 1.0 / 6.0;
  return x + x * s * p;
}

static double cos_small(double x)
{
  const double s = x * x;
  double p = 1.0 / 20922789888000.0;

  p = p * s - 1.0 / 87178291200.0;
  p = p * s + 1.0 / 479001600.0;
  p = p * s - 1.0 / 3628800.0;
  p = p * s + 1.0 / 40320.0;
  p = p * s - 1.0 / 720.0;
  p = p * s + 1.0 / 24.0;
  return 1.0 - (0.5 * s - s * s * p);
}

void tlg_cos_sin(uint64_t num, uint64_t den, double *cosine, double *sine)
{
  static const double quarter_pi = 0.78539816339744830962;
  const unsigned __int128 r8 = (unsigned __int128)(num % den) * 8;
  const unsigned octant = (unsigned)(r8 / den);
  uint64_t rem = (uint64_t)(r8 % den);
  double c, s, t;

  if (octant & 1) {
    rem = den - rem; /* measure from the nearer axis, so that symmetric angles give symmetric values */
  }
  t = (double)rem / (double)den * quarter_pi;
  if (rem == den) { /* 45 degrees exactly: the two series differ in the last bit there */
    c = s = 0.70710678118654752440;
  } else {
    c = cos_small(t);
    s = sin_small(t);
  }
  if (((octant + 1) >> 1) & 1) {
    const double swap = c;
    c = s;
    s = swap;
  }
  *cosine = octant >= 2 && octant <= 5 ? -c : c;
  *sine = octant >= 4 ? -s : s;
}

double tlg_exp(double x)
{
  static const double ln2_high = 6.93147180369123816490e-01, ln2_low = 1.90821492927058770002e-10;
  const double scaled = x / 0.69314718055994530942;
  const int k = (int)(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
  const double r = (x - k * ln2_high) - k * ln2_low;
  double sum = 1.0;
  int i;

  for (i = 18; i >= 1; i--) {
    sum = 1.0 + r / i * sum;
  }
  for (i = 0; i < k; i++) {
    sum *= 2.0;
  }
  for (i = 0; i > k; i--) {
    sum *= 0.5;
  }
  return sum;
}

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

double tlg_amplitude(double db)
{
  return tlg_exp(db * (2.30258509299404568402 / 20.0));
}

void tlg_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
  uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
  uint32_t k0 = key[0], k1 = key[1];
  int round;

  for (round = 0; round < 10; round++) {
    const uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;

    c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
    c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
    c1 = (uint32_t)p1;
    c3 = (uint32_t)p0;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  out[0] = c0;
  out[1] = c1;
  out[2] = c2;
  out[3] = c3;
}
