/* SPDX-License-Identifier: Apache-2.0 */
/* The filter that confines ofdm and lte to their channel, by IEEE + - * / and square root in a fixed order. */
#include "band_limit.h"

#include "oscillator.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_HZ = 15000, LEAST_GUARD_HZ = 150000 };

void tlg_ofdm_band(unsigned subcarriers, unsigned *pass_hz, unsigned *stop_hz)
{
  const unsigned edge = subcarriers / 2 * LINE_HZ, ninth = edge / 9;

  *pass_hz = edge + LINE_HZ;
  *stop_hz = edge + (ninth > LEAST_GUARD_HZ ? ninth : LEAST_GUARD_HZ);
}

int band_limit_init(struct band_limit *b, unsigned subcarriers, const struct tlg_rate *rate, struct tlg_error *err)
{
  static const double pi = 3.14159265358979323846;
  /* Kaiser's estimates: taps = (dB - 7.95) / (14.36 width), beta = 0.1102 (dB - 8.7) above 50 dB. */
  const double beta = 0.1102 * (BAND_LIMIT_DB - 8.7), rate_hz = tlg_rate_hz(rate), scale = 1.0 / tlg_bessel_i0(beta);
  unsigned pass_hz, stop_hz;
  uint64_t turn, step;
  double width, length, sum;
  size_t k;

  tlg_ofdm_band(subcarriers, &pass_hz, &stop_hz);
  width = (stop_hz - pass_hz) / rate_hz;
  length = (BAND_LIMIT_DB - 7.95) / (14.36 * width);
  if (2.0 * stop_hz > rate_hz) {
    return tlg_error_set(err, TLG_EINVAL, "limiting the band of %u subcarriers takes a rate of at least %.10g Msps",
                         subcarriers, 2e-6 * stop_hz);
  }
  if (length > 250000.0) {
    return tlg_error_set(err, TLG_EINVAL, "limiting the band at this rate takes more than 250000 taps");
  }
  b->half = (size_t)(length / 2.0) + 1;
  if (!(b->taps = malloc((b->half + 1) * sizeof *b->taps))) {
    return tlg_error_set(err, TLG_ENOMEM, "out of memory");
  }
  /* The cutoff is (pass + stop) / 2; the angle of tap k is pi (pass + stop) k / rate, in turns of 2 rate. */
  turn = 2 * rate->num;
  step = turn_mul((uint64_t)pass_hz + stop_hz, rate->den, turn);
  sum = b->taps[0] = (pass_hz + stop_hz) / rate_hz;
  for (k = 1; k <= b->half; k++) {
    const double t = (double)k / (double)(b->half + 1), u = 1.0 - t * t;
    double c, s;

    tlg_cos_sin(turn_mul(step, k, turn), turn, &c, &s);
    b->taps[k] = s / (pi * (double)k) * tlg_bessel_i0(beta * sqrt(u)) * scale;
    sum += 2.0 * b->taps[k];
  }
  for (k = 0; k <= b->half; k++) {
    b->taps[k] /= sum;
  }
  return TLG_OK;
}

void band_limit_clear(struct band_limit *b)
{
  free(b->taps);
  b->taps = NULL;
}

typedef double pair __attribute__((vector_size(16)));

static inline pair load(const double *x)
{
  pair v;

  memcpy(&v, x, sizeof v);
  return v;
}

/* Eight outputs at a time, in registers; each is added up in the same order, whatever the machine makes of pairs. */
void band_limit_run(const struct band_limit *b, double *restrict out, const double *restrict x, size_t n)
{
  enum { BLOCK = 8 };
  const size_t half = b->half;
  size_t j, k;

  for (j = 0; j + BLOCK <= n; j += BLOCK) {
    const double *const centre = x + j + half;
    const pair h0 = {b->taps[0], b->taps[0]};
    pair s0 = h0 * load(centre), s1 = h0 * load(centre + 2), s2 = h0 * load(centre + 4), s3 = h0 * load(centre + 6);

    for (k = 1; k <= half; k++) {
      const double *const before = centre - k, *const after = centre + k;
      const pair h = {b->taps[k], b->taps[k]};

      s0 += h * (load(before) + load(after));
      s1 += h * (load(before + 2) + load(after + 2));
      s2 += h * (load(before + 4) + load(after + 4));
      s3 += h * (load(before + 6) + load(after + 6));
    }
    memcpy(out + j, &s0, sizeof s0);
    memcpy(out + j + 2, &s1, sizeof s1);
    memcpy(out + j + 4, &s2, sizeof s2);
    memcpy(out + j + 6, &s3, sizeof s3);
  }
  for (; j < n; j++) {
    const double *const centre = x + j + half;
    double sum = b->taps[0] * *centre;

    for (k = 1; k <= half; k++) {
      sum += b->taps[k] * (centre[-(ptrdiff_t)k] + centre[k]);
    }
    out[j] = sum;
  }
}
