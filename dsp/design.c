/* SPDX-License-Identifier: Apache-2.0 */
/* Filter design: what a request comes down to, and the way from it to integer taps. */
#include "design.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_SHIFT 14
#define DEFAULT_STOP_DB 80.0
#define MOST_PER_PHASE 4096

/* The band of a 20 MHz LTE signal on both sides, and the same share of a smaller rate. */
static const struct tlg_rate lte_band = {9007500, 1};
#define BAND_SHARE_NUM 3603
#define BAND_SHARE_DEN 10000

static int is_default_ratio(uint32_t up, uint32_t down)
{
  return (up == 768 && down == 625) || (up == 625 && down == 768);
}

static int edges(struct tlg_design *d, struct tlg_error *err)
{
  const struct tlg_rate *low = tlg_rate_hz(&d->rate_in) < tlg_rate_hz(&d->rate_out) ? &d->rate_in : &d->rate_out;
  const unsigned __int128 num = (unsigned __int128)low->num * BAND_SHARE_NUM;
  const unsigned __int128 den = (unsigned __int128)low->den * BAND_SHARE_DEN;
  struct tlg_rate share;

  if (num > UINT64_MAX || den > UINT64_MAX || tlg_rate_make(&share, (uint64_t)num, (uint64_t)den) != TLG_OK) {
    return tlg_error_set(err, TLG_EINVAL, "the rates have too many digits");
  }
  if (!d->pass_hz.num) {
    d->pass_hz = tlg_rate_hz(&share) < tlg_rate_hz(&lte_band) ? share : lte_band;
  }
  if (!(tlg_rate_hz(&d->pass_hz) < 0.5 * tlg_rate_hz(low))) {
    return tlg_error_set(err, TLG_EINVAL, "the pass band (%.0f Hz) must end below half of the smaller rate (%.0f Hz)",
                         tlg_rate_hz(&d->pass_hz), 0.5 * tlg_rate_hz(low));
  }
  if (!d->stop_hz.num) {
    /* low - pass as a fraction; when it does not fit, whole hertz do. */
    const unsigned __int128 a = (unsigned __int128)low->num * d->pass_hz.den;
    const unsigned __int128 b = (unsigned __int128)d->pass_hz.num * low->den;
    const unsigned __int128 common = (unsigned __int128)low->den * d->pass_hz.den;

    if (a - b <= UINT64_MAX && common <= UINT64_MAX) {
      tlg_rate_make(&d->stop_hz, (uint64_t)(a - b), (uint64_t)common);
    } else {
      tlg_rate_make(&d->stop_hz, (uint64_t)(tlg_rate_hz(low) - tlg_rate_hz(&d->pass_hz) + 0.5), 1);
    }
  }
  if (!(tlg_rate_hz(&d->pass_hz) < tlg_rate_hz(&d->stop_hz))) {
    return tlg_error_set(err, TLG_EINVAL, "the pass band must end (%.0f Hz) before the stop band starts (%.0f Hz)",
                         tlg_rate_hz(&d->pass_hz), tlg_rate_hz(&d->stop_hz));
  }
  return TLG_OK;
}

static void set_length(struct design_plan *p, unsigned per_phase)
{
  p->per_phase = per_phase;
  p->n = (size_t)per_phase * p->up;
  p->n -= p->n % 2 ? 0 : 1; /* odd: the delay is a whole number of prototype samples, and --align exact */
}

/* The least T whose Kaiser design keeps all images 80 dB down, starting below the estimate. */
static int least_length(struct design_plan *p, struct tlg_error *err)
{
  const double wanted = tlg_amplitude(-DEFAULT_STOP_DB);
  const double estimate = tlg_kaiser_length(DEFAULT_STOP_DB, p->stop - p->pass);
  unsigned t = estimate > 6.0 ? (unsigned)(estimate * 0.97) - 2 : 3;
  int st;

  for (;; t++) {
    double beta = 0.0, worst = 1.0;

    if (t > MOST_PER_PHASE || (size_t)t * p->up > DESIGN_MAX_TAPS) {
      return tlg_error_set(
          err, TLG_EINVAL,
          "80 dB between %.6g and %.6g of the input rate need about %.0f taps a phase (at most %d, and "
          "%zu in all): allow a wider transition by --pass, or give --taps",
          p->pass, p->stop, estimate, MOST_PER_PHASE, DESIGN_MAX_TAPS);
    }
    set_length(p, t);
    if (p->n < p->up || p->n < 3) {
      continue;
    }
    st = tlg_design_choose_beta(p, &beta, &worst, err);
    if (st != TLG_OK) {
      return st;
    }
    if (worst <= wanted) {
      p->beta = p->beta > 0.0 ? p->beta : beta;
      return TLG_OK;
    }
  }
}

/* Fill in what d leaves open, and say the same in numbers. */
static int plan(struct design_plan *p, struct tlg_design *d, struct tlg_error *err)
{
  const int own_bands = !d->pass_hz.num && !d->stop_hz.num;
  double in, worst;
  int st;

  memset(p, 0, sizeof *p);
  if (tlg_rate_ratio(&d->rate_in, &d->rate_out, &p->up, &p->down) != TLG_OK) {
    return tlg_error_set(err, TLG_EINVAL, "the ratio of the rates must have terms of at most 65535 in lowest terms");
  }
  if (d->method < TLG_DESIGN_KAISER || d->method > TLG_DESIGN_LEAST_SQUARES) {
    return tlg_error_set(err, TLG_EINVAL, "there is no such design method");
  }
  if (!(d->stop_weight >= 0.0) || !(d->stop_weight <= 1e6) || !(d->kaiser_beta >= 0.0) || !(d->kaiser_beta <= 100.0) ||
      !(d->image_limit_db <= 0.0) || !(d->image_limit_db >= -300.0) || !(d->ripple_limit_db >= 0.0) ||
      !(d->ripple_limit_db <= 20.0)) {
    return tlg_error_set(err, TLG_EINVAL,
                         "the stop weight must be 0 to 1e6, beta 0 to 100, the image limit -300 to 0 dB and the ripple "
                         "limit 0 to 20 dB");
  }
  if (d->shift > 15) {
    return tlg_error_set(err, TLG_EINVAL, "the shift S is %u, but must be 1 to 15", d->shift);
  }
  st = edges(d, err);
  if (st != TLG_OK) {
    return st;
  }
  in = tlg_rate_hz(&d->rate_in);
  p->method = d->method;
  p->pass = tlg_rate_hz(&d->pass_hz) / in;
  p->stop = tlg_rate_hz(&d->stop_hz) / in;
  p->shift = d->shift ? d->shift : DEFAULT_SHIFT;
  p->stop_weight = d->stop_weight > 0.0 ? d->stop_weight : 1.0;
  p->image_limit = d->image_limit_db < 0.0 ? tlg_amplitude(d->image_limit_db) : 0.0;
  p->pass_limit = d->ripple_limit_db > 0.0 ? tlg_amplitude(d->ripple_limit_db) - 1.0 : 0.0;
  p->beta = d->kaiser_beta;
  if (d->taps_per_phase > MOST_PER_PHASE) {
    return tlg_error_set(err, TLG_EINVAL, "%u taps a phase are more than %d", d->taps_per_phase, MOST_PER_PHASE);
  }
  if (d->n_taps) {
    p->n = d->n_taps;
    p->per_phase = (unsigned)((p->n + p->up - 1) / p->up);
  } else if (d->taps_per_phase) {
    set_length(p, d->taps_per_phase);
  } else if (p->up == 1 && p->down == 1) {
    set_length(p, 1);
  } else if (is_default_ratio(p->up, p->down) && own_bands) {
    set_length(p, p->up == 768 ? 16 : 20); /* nearly the same delay either way: 0.32 and 0.325 us */
  } else {
    st = least_length(p, err);
    if (st != TLG_OK) {
      return st;
    }
  }
  if (p->n > DESIGN_MAX_TAPS || p->per_phase > MOST_PER_PHASE) {
    return tlg_error_set(err, TLG_EINVAL, "%zu taps are too many: at most %zu, and %d a phase", p->n, DESIGN_MAX_TAPS,
                         MOST_PER_PHASE);
  }
  if (p->n < p->up) {
    return tlg_error_set(err, TLG_EINVAL, "%zu taps leave phases without any: at least L = %lu are needed", p->n,
                         (unsigned long)p->up);
  }
  if (p->n > 1 && p->method == TLG_DESIGN_KAISER && !(p->beta > 0.0)) {
    st = tlg_design_choose_beta(p, &p->beta, &worst, err);
    if (st != TLG_OK) {
      return st;
    }
  }
  d->taps_per_phase = p->per_phase;
  d->n_taps = p->n;
  d->stop_weight = p->stop_weight;
  d->kaiser_beta = p->method == TLG_DESIGN_KAISER ? p->beta : 0.0;
  d->shift = p->shift;
  return TLG_OK;
}

int tlg_design_complete(struct tlg_design *design, struct tlg_error *err)
{
  struct design_plan p;
  struct tlg_design filled;
  int st;

  if (!design) {
    return tlg_error_set(err, TLG_EINVAL, "there is no design");
  }
  filled = *design;
  st = plan(&p, &filled, err);
  if (st == TLG_OK) {
    *design = filled;
  }
  return st;
}

/* How much of a phase's correction its tap k takes: a parabola over the prototype, above 0 everywhere. */
static double share(size_t k, size_t n)
{
  const double t = ((double)k - (double)(n - 1 - k)) / (double)(n + 1);

  return 1.0 - t * t;
}

int tlg_design_normalise(double *h, size_t n, uint32_t up, struct tlg_error *err)
{
  double all = 0.0;
  size_t p, k;

  for (k = 0; k < n / 2; k++) {
    all += h[k] + h[n - 1 - k];
  }
  all += n % 2 ? h[n / 2] : 0.0;
  if (!(all > 0.0)) {
    return tlg_error_set(err, TLG_ETAPS, "the taps do not sum to more than 0");
  }
  for (k = 0; k < n; k++) {
    h[k] = h[k] / all * (double)up;
  }
  /* What a phase's sum lacks is an image at a multiple of the input rate. Scaling the phase would repeat that image
   * beside every frequency of the band (6 dB more for an equiripple design); a smooth addition takes it out where it
   * is, near frequency 0, and leaves the rest of the band alone. */
  for (p = 0; p < up; p++) {
    const size_t mirror = (n - 1 - p) % up; /* holds the same taps in reverse order when h is symmetric */
    double sum = 0.0, shares = 0.0, lack;

    if (mirror < p) { /* in the mirror's order, so that equal taps stay equal to the last bit */
      for (k = n - 1 - mirror + up; k >= up; k -= up) {
        sum += h[k - up];
        shares += share(k - up, n);
      }
    } else {
      for (k = p; k < n; k += up) {
        sum += h[k];
        shares += share(k, n);
      }
    }
    lack = (1.0 - sum) / shares;
    for (k = p; k < n; k += up) {
      h[k] += lack * share(k, n);
    }
  }
  return TLG_OK;
}

/* The prototype for a plan, normalised, in new memory. */
static int prototype(double **result, const struct design_plan *p, struct tlg_error *err)
{
  double *h = malloc(p->n * sizeof *h);
  int st = TLG_OK;

  if (!h) {
    return tlg_error_set(err, TLG_ENOMEM, "no memory for %zu taps", p->n);
  }
  if (p->n == 1) {
    h[0] = 1.0;
  } else if (p->method == TLG_DESIGN_KAISER) {
    tlg_design_kaiser(h, p->n, p->up, (p->pass + p->stop) / 2.0, p->beta);
  } else if (p->method == TLG_DESIGN_EQUIRIPPLE) {
    st = tlg_design_exchange(h, p, err);
  } else {
    st = tlg_design_squares(h, p, err);
  }
  if (st == TLG_OK) {
    st = tlg_design_normalise(h, p->n, p->up, err);
  }
  if (st != TLG_OK) {
    free(h);
    return st;
  }
  *result = h;
  return TLG_OK;
}

int tlg_design_prototype(double **h, size_t *n, const struct tlg_design *design, struct tlg_error *err)
{
  struct design_plan p;
  struct tlg_design filled;
  int st;

  if (!h || !n || !design) {
    return tlg_error_set(err, TLG_EINVAL, "there is no place for the prototype, or no design");
  }
  filled = *design;
  st = plan(&p, &filled, err);
  if (st == TLG_OK) {
    st = prototype(h, &p, err);
  }
  if (st == TLG_OK) {
    *n = p.n;
  }
  return st;
}

int tlg_taps_design(struct tlg_taps *taps, const struct tlg_design *design, struct tlg_error *err)
{
  struct design_plan p;
  struct tlg_design filled;
  double *h = NULL;
  int st;

  if (!taps || !design) {
    return tlg_error_set(err, TLG_EINVAL, "there is no place for the taps, or no design");
  }
  filled = *design;
  st = plan(&p, &filled, err);
  if (st == TLG_OK) {
    st = prototype(&h, &p, err);
  }
  if (st != TLG_OK) {
    return st;
  }
  st = tlg_design_quantise(taps, h, p.n, p.up, p.shift, p.pass, err);
  free(h);
  return st;
}

int tlg_design_default(struct tlg_design *design, const struct tlg_rate *rate_in, const struct tlg_rate *rate_out,
                       struct tlg_error *err)
{
  struct tlg_design d;
  uint32_t up, down;

  if (!design || !rate_in || !rate_out || tlg_rate_ratio(rate_in, rate_out, &up, &down) != TLG_OK) {
    return tlg_error_set(err, TLG_EINVAL, "two rates are needed whose ratio has terms of at most 65535");
  }
  memset(&d, 0, sizeof d);
  d.rate_in = *rate_in;
  d.rate_out = *rate_out;
  if (is_default_ratio(up, down)) {
    d.method = TLG_DESIGN_LEAST_SQUARES;
    d.stop_weight = 0.6;
    d.ripple_limit_db = 0.0034;
    /* On the way down to 25 Msps the images of the band lie farther out (21.71 MHz) and need no limit. */
    d.image_limit_db = up > down ? -72.5 : 0.0;
  }
  *design = d;
  return TLG_OK;
}
