/* SPDX-License-Identifier: Apache-2.0 */
/* What a filter does: frequency response, images, error in the band, aliases, and the gains of its phases.
 *
 * A tone of frequency u (in units of the input rate) leaves the interpolator as tones at u + k for every integer k, and
 * the one at u + k has amplitude H(u + k). With the polyphase responses G_p(u) = sum over k of h[p + k L] e^(-j2pi u k)
 * these amplitudes are H(u + k) = (1/L) sum over p of G_p(u) e^(-j2pi p u/L) e^(-j2pi p k/L): one discrete Fourier
 * transform over the phases gives all images of a tone at once. Source: Crochiere & Rabiner 1983, ch. 3. */
#include "design.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Frequencies on the grid are multiples of this fraction of the input rate, so that every angle is exact. */
#define TURN ((uint64_t)1 << 30)

/* A discrete Fourier transform of any length: directly when it is short, else as a convolution (Bluestein 1970). */
struct transform {
  size_t n, size; /* size = 0: direct */
  tlg_cf64 *root; /* e^(-j2pi i/n) direct, e^(-j2pi i/size) else */
  tlg_cf64 *chirp, *kernel, *work;
};

/* Two sums, not a difference and a sum: gcc 12 vectorises the latter pair into fused multiply-adds where the machine
 * has them, -ffp-contract=off or not, and the bits would differ. tests/cli/design_bytes.sh watches. */
static tlg_cf64 mul(tlg_cf64 a, tlg_cf64 b)
{
  const double minus = -a.q;
  const tlg_cf64 c = {a.i * b.i + minus * b.q, a.i * b.q + a.q * b.i};

  return c;
}

static tlg_cf64 turn(uint64_t num, uint64_t den, int sign)
{
  tlg_cf64 z;

  tlg_cos_sin(num % den, den, &z.i, &z.q);
  z.q = sign < 0 ? -z.q : z.q;
  return z;
}

/* Radix 2, in place, size a power of two. sign +1 uses the conjugate roots. */
static void radix2(const struct transform *t, tlg_cf64 *x, int sign)
{
  const size_t n = t->size;
  size_t i, j = 0, half, k, step;

  for (i = 0; i < n; i++) {
    size_t bit = n >> 1;

    if (i < j) {
      const tlg_cf64 swap = x[i];

      x[i] = x[j];
      x[j] = swap;
    }
    while (bit && (j & bit)) {
      j ^= bit;
      bit >>= 1;
    }
    j |= bit;
  }
  for (half = 1; half < n; half *= 2) {
    step = n / (2 * half);
    for (k = 0; k < half; k++) {
      tlg_cf64 w = t->root[k * step];

      w.q = sign > 0 ? -w.q : w.q;
      for (i = k; i < n; i += 2 * half) {
        const tlg_cf64 b = mul(x[i + half], w), a = x[i];

        x[i].i = a.i + b.i;
        x[i].q = a.q + b.q;
        x[i + half].i = a.i - b.i;
        x[i + half].q = a.q - b.q;
      }
    }
  }
}

static void transform_free(struct transform *t)
{
  free(t->root);
  free(t->chirp);
  free(t->kernel);
  free(t->work);
}

static int transform_new(struct transform *t, size_t n)
{
  size_t i, roots;

  memset(t, 0, sizeof *t);
  t->n = n;
  if (n > 64) {
    for (t->size = 1; t->size < 2 * n - 1; t->size *= 2) {
    }
  }
  roots = t->size ? t->size : n;
  t->root = malloc(roots * sizeof *t->root);
  t->work = malloc(roots * sizeof *t->work);
  if (!t->root || !t->work) {
    return TLG_ENOMEM;
  }
  for (i = 0; i < roots; i++) {
    t->root[i] = turn(i, roots, -1);
  }
  if (t->size) {
    t->chirp = malloc(n * sizeof *t->chirp);
    t->kernel = calloc(t->size, sizeof *t->kernel);
    if (!t->chirp || !t->kernel) {
      return TLG_ENOMEM;
    }
    for (i = 0; i < n; i++) {
      t->chirp[i] = turn((uint64_t)i * i, 2 * (uint64_t)n, -1);
      t->kernel[i].i = t->chirp[i].i;
      t->kernel[i].q = -t->chirp[i].q;
      t->kernel[(t->size - i) % t->size] = t->kernel[i];
    }
    radix2(t, t->kernel, -1);
  }
  return TLG_OK;
}

static void transform_run(struct transform *t, tlg_cf64 *x)
{
  const size_t n = t->n;
  size_t i, k;

  if (!t->size) {
    for (k = 0; k < n; k++) {
      tlg_cf64 sum = {0.0, 0.0};

      for (i = 0; i < n; i++) {
        const tlg_cf64 z = mul(x[i], t->root[i * k % n]);

        sum.i += z.i;
        sum.q += z.q;
      }
      t->work[k] = sum;
    }
    memcpy(x, t->work, n * sizeof *x);
    return;
  }
  memset(t->work, 0, t->size * sizeof *t->work);
  for (i = 0; i < n; i++) {
    t->work[i] = mul(x[i], t->chirp[i]);
  }
  radix2(t, t->work, -1);
  for (i = 0; i < t->size; i++) {
    t->work[i] = mul(t->work[i], t->kernel[i]);
  }
  radix2(t, t->work, 1);
  for (i = 0; i < n; i++) {
    x[i] = mul(t->work[i], t->chirp[i]);
    x[i].i /= (double)t->size;
    x[i].q /= (double)t->size;
  }
}

/* a[0..up-1]: amplitudes at u + k, u = step / TURN, with the delay of (n-1)/2 prototype samples taken out; a[up - k] is
 * that at u - k. wave has room for T factors. */
static void amplitudes(tlg_cf64 *a, tlg_cf64 *wave, struct transform *t, const double *h, size_t n, uint32_t up,
                       double scale, uint64_t step)
{
  const size_t most = (n + up - 1) / up;
  const tlg_cf64 delay = turn(step * (n - 1), TURN * 2 * up, 1);
  size_t k, p, i;

  for (k = 0; k < most; k++) {
    wave[k] = turn(step * k, TURN, -1);
  }
  for (p = 0; p < up; p++) {
    tlg_cf64 g = {0.0, 0.0}, w;

    for (k = 0, i = p; i < n; k++, i += up) {
      g.i += h[i] * wave[k].i;
      g.q += h[i] * wave[k].q;
    }
    w = mul(turn(step * p, TURN * up, -1), delay);
    a[p] = mul(g, w);
    a[p].i /= scale * (double)up;
    a[p].q /= scale * (double)up;
  }
  transform_run(t, a);
  /* Image k also moves by the delay: its phase does not matter, as only k = 0 is compared with a wanted value. */
}

/* Whether frequency g (units of the input rate) lies in +-pass once the output rate has folded it. */
static int folds_in(double g, double out, double pass)
{
  double turns = g / out;
  double whole = (double)(int64_t)(turns < 0.0 ? turns - 0.5 : turns + 0.5);
  double rest = (turns - whole) * out;

  /* The band's edge belongs to it, also where the grid's rounding moved it. */
  return (rest < 0.0 ? -rest : rest) <= pass + 4.0 / (double)TURN;
}

/* Image k of u, within half the prototype's rate. */
static double image_of(double u, uint32_t k, uint32_t up)
{
  return 2 * k < up ? u + (double)k : u + (double)k - (double)up;
}

static double power(tlg_cf64 z)
{
  return z.i * z.i + z.q * z.q;
}

int tlg_response_of(struct tlg_response *r, const double *h, size_t n, uint32_t up, double scale, double out,
                    double pass, unsigned points, int aliases, struct tlg_error *err)
{
  const size_t most = (n + up - 1) / up;
  const uint64_t edge = (uint64_t)(pass * (double)TURN + 0.5);
  struct tlg_response made;
  struct transform t;
  tlg_cf64 *a = NULL, *wave = NULL;
  double weights = 0.0;
  unsigned i, extra;
  int st = transform_new(&t, up);

  memset(&made, 0, sizeof made);
  a = malloc(up * sizeof *a);
  wave = malloc(most * sizeof *wave);
  if (st != TLG_OK || !a || !wave) {
    st = tlg_error_set(err, TLG_ENOMEM, "no memory for the response of %zu taps", n);
    goto out;
  }
  made.gain_min = 1e300;
  for (i = 0; i <= points; i++) {
    const uint64_t step = edge * i / points;
    const double u = (double)step / (double)TURN, weight = i == 0 || i == points ? 0.5 : 1.0;
    double gain;
    uint32_t k;

    amplitudes(a, wave, &t, h, n, up, scale, step);
    gain = sqrt(power(a[0]));
    made.gain_min = gain < made.gain_min ? gain : made.gain_min;
    made.gain_max = gain > made.gain_max ? gain : made.gain_max;
    a[0].i -= 1.0;
    made.error_gain += weight * power(a[0]);
    for (k = 1; k < up; k++) {
      const double g = image_of(u, k, up), p = power(a[k]);

      made.image_total += weight * p;
      if (folds_in(g, out, pass)) {
        made.error_images += weight * p;
      }
      if (p > made.image_worst) {
        made.image_worst = p;
        made.image_hz = g;
        made.image_from_hz = u;
      }
    }
    weights += weight;
  }
  made.error_gain /= weights;
  made.error_images /= weights;
  made.image_total /= weights;
  made.error = made.error_gain + made.error_images;
  /* Beyond the band: four points a lobe of the response, which is 1/T wide. */
  extra = aliases ? (unsigned)(4.0 * (double)most * (0.5 - pass)) + 8 : 0;
  for (i = 1; i <= extra && edge < TURN / 2; i++) {
    const uint64_t step = edge + (TURN / 2 - edge) * i / extra;
    const double u = (double)step / (double)TURN;
    uint32_t k;

    amplitudes(a, wave, &t, h, n, up, scale, step);
    for (k = 0; k < up; k++) {
      const double g = image_of(u, k, up), p = power(a[k]);

      if (p > made.alias_worst && folds_in(g, out, pass)) {
        made.alias_worst = p;
        made.alias_hz = g;
        made.alias_from_hz = u;
      }
    }
  }
  *r = made;
out:
  transform_free(&t);
  free(a);
  free(wave);
  return st;
}

int tlg_taps_response(struct tlg_response *r, const struct tlg_taps *taps, const struct tlg_rate *rate_in,
                      const struct tlg_rate *rate_out, const struct tlg_rate *pass_hz, struct tlg_error *err)
{
  uint32_t up, down;
  double *h, in, pass;
  size_t k;
  int st;

  if (!r || !taps || !taps->h || !taps->n || !rate_in || !rate_out || !pass_hz ||
      tlg_rate_ratio(rate_in, rate_out, &up, &down) != TLG_OK) {
    return tlg_error_set(err, TLG_EINVAL, "a response needs taps, two rates and a pass band");
  }
  if (up != taps->up) {
    return tlg_error_set(err, TLG_EINVAL, "the taps are for L = %lu, but the rates have L = %lu",
                         (unsigned long)taps->up, (unsigned long)up);
  }
  in = tlg_rate_hz(rate_in);
  pass = tlg_rate_hz(pass_hz) / in;
  if (!(pass > 0.0) || !(pass < 0.5) || !(pass < 0.5 * (double)up / (double)down)) {
    return tlg_error_set(err, TLG_EINVAL, "the pass band must end below half of the smaller rate");
  }
  h = malloc(taps->n * sizeof *h);
  if (!h) {
    return tlg_error_set(err, TLG_ENOMEM, "no memory for %zu taps", taps->n);
  }
  for (k = 0; k < taps->n; k++) {
    h[k] = (double)taps->h[k];
  }
  st = tlg_response_of(r, h, taps->n, up, (double)((int64_t)1 << taps->shift), (double)up / (double)down, pass,
                       up <= 4096 ? 120 : 24, 1, err);
  free(h);
  if (st == TLG_OK) {
    r->image_hz *= in;
    r->image_from_hz *= in;
    r->alias_hz *= in;
    r->alias_from_hz *= in;
  }
  return st;
}

double tlg_taps_gain(const struct tlg_taps *taps, uint64_t num, uint64_t den)
{
  /* The angle of tap k is 2 pi k num / (den up), reduced at each step so that nothing overflows. */
  const unsigned __int128 whole = (unsigned __int128)den * taps->up;
  unsigned __int128 angle = 0;
  double re = 0.0, im = 0.0;
  size_t k;

  for (k = 0; k < taps->n; k++) {
    double c, s;
    unsigned __int128 a = angle, w = whole;

    while (w >> 60) { /* tlg_cos_sin takes 64 bits */
      w >>= 1;
      a >>= 1;
    }
    tlg_cos_sin((uint64_t)a, (uint64_t)w, &c, &s);
    re += taps->h[k] * c;
    im -= taps->h[k] * s;
    angle += num;
    angle %= whole;
  }
  return sqrt(re * re + im * im) / ((double)((int64_t)1 << taps->shift) * (double)taps->up);
}

void tlg_taps_phases(const struct tlg_taps *taps, struct tlg_phases *phases)
{
  struct tlg_phases made;
  uint32_t p;

  memset(&made, 0, sizeof made);
  made.sum_min = INT64_MAX;
  made.sum_max = INT64_MIN;
  made.magnitude_limit = (((uint64_t)1 << 31) - 1 - ((uint64_t)1 << (taps->shift - 1))) / 32768;
  for (p = 0; p < taps->up; p++) {
    int64_t sum = 0;
    uint64_t magnitude = 0;
    size_t k;

    for (k = p; k < taps->n; k += taps->up) {
      sum += taps->h[k];
      magnitude += (uint64_t)(taps->h[k] < 0 ? -(int32_t)taps->h[k] : taps->h[k]);
    }
    if (sum < made.sum_min) {
      made.sum_min = sum;
      made.sum_min_at = p;
    }
    if (sum > made.sum_max) {
      made.sum_max = sum;
      made.sum_max_at = p;
    }
    if (magnitude > made.magnitude) {
      made.magnitude = magnitude;
      made.magnitude_at = p;
    }
  }
  *phases = made;
}
