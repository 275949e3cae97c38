/* SPDX-License-Identifier: Apache-2.0 */
/* What a real front end adds to a signal: each sample is a function of its number alone, the same bits everywhere. */
#include "impair.h"

#include "oscillator.h"

#include <math.h>
#include <stdlib.h>

struct impair {
  struct tlg_impairments cfg;
  uint64_t seed;
  struct oscillator carrier;
  uint64_t step; /* of the carrier's phase a sample; 0: no offset */
  double noise;  /* a unit of noise_component */
  double gain_i, gain_q, cosine, sine;
};

static double frequency(const struct tlg_frequency *f)
{
  return f->den ? (double)f->num / (double)f->den : 0.0;
}

static int is_within(double x, double limit)
{
  return x >= -limit && x <= limit; /* not so for NaN */
}

int impair_any(const struct tlg_impairments *i)
{
  return i->carrier.num || i->noise != 0.0 || i->gain_db != 0.0 || i->phase_deg.num || i->dc.i != 0.0 ||
         i->dc.q != 0.0 || i->clip != 0.0 || i->drop_n || i->dup_n;
}

int impair_check(const struct tlg_impairments *i, const struct tlg_rate *rate, struct tlg_error *err)
{
  if (!is_within(frequency(&i->clock_ppm), 1000.0) || i->clock_ppm.den > 1000000000) {
    return tlg_error_set(err, TLG_EINVAL, "the sampling clock's error: at most 1000 ppm, with at most nine decimals");
  }
  if (!is_within(frequency(&i->carrier), tlg_rate_hz(rate) / 2)) {
    return tlg_error_set(err, TLG_EINVAL, "the carrier offset is beyond half the rate");
  }
  if (!is_within(i->gain_db, 40.0) || !is_within(frequency(&i->phase_deg), 45.0) || i->phase_deg.den > 1000000000) {
    return tlg_error_set(err, TLG_EINVAL, "I/Q imbalance: at most 40 dB and 45 degrees");
  }
  if (!(i->noise >= 0.0 && i->noise <= 1048576.0) || !(i->clip >= 0.0 && i->clip <= 1048576.0) ||
      !is_within(i->dc.i, 1048576.0) || !is_within(i->dc.q, 1048576.0)) {
    return tlg_error_set(err, TLG_EINVAL, "noise, clipping level and DC: at most +30 dBFS");
  }
  if (i->drop_n >> 40 || (i->drop_every && i->drop_n > i->drop_every)) {
    return tlg_error_set(err, TLG_EINVAL, "dropped samples: no more at a time than there are between two losses");
  }
  if (i->dup_n > i->dup_at || (i->dup_every && i->dup_n > i->dup_every)) {
    return tlg_error_set(err, TLG_EINVAL, "repeated samples: no more at a time than there are before them");
  }
  return TLG_OK;
}

int impair_rate(struct tlg_rate *rate, const struct tlg_impairments *i, struct tlg_error *err)
{
  tlg_u128 num, den, g;

  if (!i->clock_ppm.num) {
    return TLG_OK;
  }
  /* rate * (10^6 den + num) / (10^6 den) */
  num = (tlg_u128)rate->num * (uint64_t)(1000000 * (int64_t)i->clock_ppm.den + i->clock_ppm.num);
  den = (tlg_u128)rate->den * (1000000 * i->clock_ppm.den);
  g = num;
  for (tlg_u128 rest = den; rest;) {
    const tlg_u128 next = g % rest;

    g = rest;
    rest = next;
  }
  num /= g;
  den /= g;
  if (num >> 62 || den >> 62) {
    return tlg_error_set(err, TLG_EINVAL, "the rate with this clock error is no small enough fraction; round the ppm");
  }
  rate->num = (uint64_t)num;
  rate->den = (uint64_t)den;
  return TLG_OK;
}

int impair_new(struct impair **result, const struct tlg_impairments *i, const struct tlg_rate *rate, uint64_t seed,
               struct tlg_error *err)
{
  struct impair *im;

  *result = NULL;
  if (!(im = calloc(1, sizeof *im))) {
    return tlg_error_set(err, TLG_ENOMEM, "out of memory");
  }
  im->cfg = *i;
  im->seed = seed;
  if (i->carrier.num) {
    struct turn t;
    const int st = turn_per_sample(&t, &i->carrier, 1, rate);

    if (st || oscillator_init(&im->carrier, t.den)) {
      free(im);
      return st ? tlg_error_set(err, st, "carrier offset and rate have no small enough common period; round them")
                : tlg_error_set(err, TLG_ENOMEM, "out of memory");
    }
    im->step = t.num;
  }
  im->noise = i->noise / sqrt(2.0 * (8.0 * 4294967295.0 / 12.0));
  im->gain_i = tlg_amplitude(i->gain_db / 2);
  im->gain_q = tlg_amplitude(-i->gain_db / 2);
  im->cosine = 1.0;
  if (i->phase_deg.num) {
    const uint64_t turn = 360 * i->phase_deg.den;
    const uint64_t size = (uint64_t)(i->phase_deg.num < 0 ? -i->phase_deg.num : i->phase_deg.num);

    tlg_cos_sin(i->phase_deg.num < 0 ? turn - size : size, turn, &im->cosine, &im->sine);
  }
  *result = im;
  return TLG_OK;
}

void impair_free(struct impair *im)
{
  if (im) {
    oscillator_clear(&im->carrier);
    free(im);
  }
}

/* How often an event has come by output m, and the output at which it comes next (UINT64_MAX: never). */
static uint64_t events(uint64_t m, uint64_t at, uint64_t every, uint64_t *next)
{
  uint64_t n;

  if (m < at) {
    *next = at;
    return 0;
  }
  n = every ? 1 + (m - at) / every : 1;
  *next = every ? at + n * every : UINT64_MAX;
  return n;
}

uint64_t impair_source(const struct impair *im, uint64_t m, uint64_t *run)
{
  const struct tlg_impairments *const c = &im->cfg;
  uint64_t next_drop = UINT64_MAX, next_dup = UINT64_MAX, source = m;

  if (c->drop_n) {
    source += c->drop_n * events(m, c->drop_at, c->drop_every, &next_drop);
  }
  if (c->dup_n) {
    source -= c->dup_n * events(m, c->dup_at, c->dup_every, &next_dup);
  }
  next_drop = next_drop < next_dup ? next_drop : next_dup;
  *run = next_drop == UINT64_MAX ? 0 : next_drop - m;
  return source;
}

/* As the noise signal: eight 16-bit integers a component. */
static double noise_component(uint64_t at, uint32_t axis, const uint32_t key[2])
{
  static const uint32_t purpose = 0x696d706e;
  const uint32_t counter[4] = {(uint32_t)at, (uint32_t)(at >> 32), axis, purpose};
  uint32_t w[4];
  int64_t sum = -262140;
  int i;

  tlg_philox(counter, key, w);
  for (i = 0; i < 4; i++) {
    sum += (w[i] & 0xffff) + (w[i] >> 16);
  }
  return (double)sum;
}

static double limit(double x, double size, uint64_t *clipped)
{
  if (x > size) {
    ++*clipped;
    return size;
  }
  if (x < -size) {
    ++*clipped;
    return -size;
  }
  return x;
}

void impair_apply(struct impair *im, uint64_t at, double *re, double *q, size_t n, uint64_t *clipped)
{
  const struct tlg_impairments *const c = &im->cfg;
  const uint32_t key[2] = {(uint32_t)im->seed, (uint32_t)(im->seed >> 32)};
  size_t k;

  if (im->step) {
    const uint64_t turn = im->carrier.period;
    uint64_t phase = turn_mul(at % turn, im->step, turn);

    for (k = 0; k < n; k++) {
      const tlg_cf64 z = oscillator_at(&im->carrier, phase);
      const double x = re[k] * z.i - q[k] * z.q;

      q[k] = re[k] * z.q + q[k] * z.i;
      re[k] = x;
      phase += im->step;
      phase -= phase >= turn ? turn : 0;
    }
  }
  if (im->noise > 0.0) {
    for (k = 0; k < n; k++) {
      re[k] += im->noise * noise_component(at + k, 0, key);
      q[k] += im->noise * noise_component(at + k, 1, key);
    }
  }
  if (c->gain_db != 0.0 || c->phase_deg.num) {
    for (k = 0; k < n; k++) {
      q[k] = im->gain_q * (q[k] * im->cosine + re[k] * im->sine);
      re[k] = im->gain_i * re[k];
    }
  }
  if (c->dc.i != 0.0 || c->dc.q != 0.0) {
    for (k = 0; k < n; k++) {
      re[k] += c->dc.i;
      q[k] += c->dc.q;
    }
  }
  if (c->clip > 0.0) {
    for (k = 0; k < n; k++) {
      re[k] = limit(re[k], c->clip, clipped);
      q[k] = limit(q[k], c->clip, clipped);
    }
  }
}
