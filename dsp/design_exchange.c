/* SPDX-License-Identifier: Apache-2.0 */
/* Equiripple prototypes by the Remez exchange at a small factor, interpolated to the wanted one.
 *
 * On the 12,287 taps of L = 768 the exchange does not converge: the bands that matter fill a hundredth of the axis. So
 * a filter of the same length in time but only about 16 taps an input sample is designed; its response at whole lobes
 * is its cosine series, which is then evaluated at every tap of the long one. Sources: Parks & McClellan, IEEE Trans.
 * Circuit Theory 1972; Oppenheim & Schafer ch. 7. */
#include "design.h"

#include <stdlib.h>
#include <string.h>

#define TAPS_PER_INPUT 16
#define MOST_TAPS 255
#define DENSITY 16
#define FREQUENCY ((uint64_t)1 << 40) /* grid frequencies in cycles per small tap are multiples of 1/2^40 */
#define MOST_ROUNDS 100
#define MOST_ZEROS 16

struct exchange {
  size_t points, r;          /* grid points, extremal frequencies (unknowns + 1) */
  double *x, *want, *weight; /* grid: cos 2 pi f, wanted Q, weight */
  unsigned char *band;       /* grid: 0 = pass, 1 = stop */
  double *error;             /* weighted error on the grid */
  size_t *at, *found;        /* indices of the extremal points; those of the next round */
  double *node, *bary, *value;
  double level; /* the ripple all extremal points share */
};

static double cosine_of(double f)
{
  double c, s;

  tlg_cos_sin((uint64_t)(f * (double)FREQUENCY + 0.5), FREQUENCY, &c, &s);
  return c;
}

static double size_of(double x)
{
  return x < 0.0 ? -x : x;
}

/* From the extremal points: their common ripple, and the interpolating values. */
static void interpolate(struct exchange *e)
{
  double above = 0.0, below = 0.0;
  size_t i, j;

  for (i = 0; i < e->r; i++) {
    e->node[i] = e->x[e->at[i]];
  }
  for (i = 0; i < e->r; i++) {
    double product = 1.0;

    for (j = 0; j < e->r; j++) {
      product *= j == i ? 1.0 : 2.0 * (e->node[i] - e->node[j]); /* the 2 keeps the product in range */
    }
    e->bary[i] = 1.0 / product;
    above += e->bary[i] * e->want[e->at[i]];
    below += (i % 2 ? -1.0 : 1.0) * e->bary[i] / e->weight[e->at[i]];
  }
  e->level = above / below;
  for (i = 0; i < e->r; i++) {
    e->value[i] = e->want[e->at[i]] - (i % 2 ? -1.0 : 1.0) * e->level / e->weight[e->at[i]];
  }
}

/* The response at x = cos 2 pi f by the barycentric formula over all nodes (they lie on one polynomial). */
static double response(const struct exchange *e, double x)
{
  double above = 0.0, below = 0.0;
  size_t i;

  for (i = 0; i < e->r; i++) {
    const double d = x - e->node[i];
    double w;

    if (d == 0.0) {
      return e->value[i];
    }
    /* The polynomial has r - 1 terms: one node is redundant, and its formula leaves out the last. */
    if (i + 1 == e->r) {
      break;
    }
    w = e->bary[i] * (e->node[i] - e->node[e->r - 1]) / d;
    above += w * e->value[i];
    below += w;
  }
  return above / below;
}

/* The new extremal points: local extrema that alternate in sign, the largest of each run, then the smallest dropped
 * from the ends until r remain. Returns their number. */
static size_t search(struct exchange *e)
{
  size_t i, n = 0;

  for (i = 0; i < e->points; i++) {
    const double v = e->error[i];
    const int first = i == 0 || e->band[i - 1] != e->band[i];
    const int last = i + 1 == e->points || e->band[i + 1] != e->band[i];

    if (v == 0.0 || (!first && (v > 0.0 ? e->error[i - 1] > v : e->error[i - 1] < v)) ||
        (!last && (v > 0.0 ? e->error[i + 1] >= v : e->error[i + 1] <= v))) {
      continue;
    }
    if (n && (e->error[e->found[n - 1]] > 0.0) == (v > 0.0)) {
      if (size_of(v) > size_of(e->error[e->found[n - 1]])) {
        e->found[n - 1] = i;
      }
    } else {
      e->found[n++] = i;
    }
  }
  while (n > e->r) {
    size_t k, drop;

    if (n == e->r + 1) { /* one too many: from an end, so that signs still alternate */
      if (size_of(e->error[e->found[0]]) < size_of(e->error[e->found[n - 1]])) {
        memmove(e->found, e->found + 1, (n - 1) * sizeof *e->found);
      }
      n--;
      break;
    }
    for (drop = 0, k = 1; k + 1 < n; k++) { /* else the neighbours with the smallest larger one go together */
      const double pair = size_of(e->error[e->found[k]]) > size_of(e->error[e->found[k + 1]])
                              ? size_of(e->error[e->found[k]])
                              : size_of(e->error[e->found[k + 1]]);
      const double best = size_of(e->error[e->found[drop]]) > size_of(e->error[e->found[drop + 1]])
                              ? size_of(e->error[e->found[drop]])
                              : size_of(e->error[e->found[drop + 1]]);

      drop = pair < best ? k : drop;
    }
    memmove(e->found + drop, e->found + drop + 2, (n - drop - 2) * sizeof *e->found);
    n -= 2;
  }
  return n;
}

/* Where the response is fixed at 0: gap[k] = 1 - x_k for the multiples of the input rate below half a cycle. */
struct zeros {
  size_t n;
  double gap[MOST_ZEROS];
  double per_cycle; /* a frequency of 1 cycle per small tap in units of the input rate */
};

/* Z(x)/Z(1) at 1 - x = d; *rest = (1 - Z(x)/Z(1)) / d, without the cancellation near d = 0. */
static double through_zeros(const struct zeros *z, double d, double *rest)
{
  double value = 1.0, sum = 0.0;
  size_t k;

  for (k = 0; k < z->n; k++) {
    value *= 1.0 - d / z->gap[k];
    sum = sum + 1.0 / z->gap[k] - sum * d / z->gap[k];
  }
  *rest = sum;
  return value;
}

/* Weight of the stop band beyond the first multiple of the input rate: rising in proportion to the frequency (6 dB an
 * octave). Images of equal height all the way out would add up to more than the band's own error. */
static double steeper(const struct zeros *z, double frequency)
{
  const double ratio = frequency * z->per_cycle;

  return ratio > 1.0 ? ratio : 1.0;
}

/* Steps i = first..steps of [low, high]. The error D - Z/Z(1) - (x-1) Z Q is the weight |(x-1) Z| times (D - Z/Z(1)) /
 * ((x-1) Z) - Q, up to the sign; Z is kept divided by Z(1). */
static void add_band(struct exchange *e, const struct zeros *z, double low, double high, unsigned char band,
                     double weight, size_t first, size_t steps)
{
  size_t i;

  for (i = first; i <= steps; i++) {
    const double f = low + (high - low) * (double)i / (double)steps;
    double d, rest, value;

    e->x[e->points] = cosine_of(f);
    d = 1.0 - e->x[e->points];
    value = through_zeros(z, d, &rest);
    e->want[e->points] = band ? 1.0 / d : value != 0.0 ? -rest / value : 0.0;
    e->weight[e->points] = weight * steeper(z, f) * size_of(d * value);
    if (e->weight[e->points] > weight * 1e-9) { /* on a zero nothing can be gained */
      e->band[e->points++] = band;
    }
  }
}

/* The whole response: Z/Z(1) + (x - 1) Z/Z(1) Q. */
static double whole(const struct exchange *e, const struct zeros *z, double x)
{
  double rest, value = through_zeros(z, 1.0 - x, &rest);

  return value - (1.0 - x) * value * response(e, x);
}

/* The design with so many small taps (odd). TLG_EINVAL if the exchange does not converge. */
static int exchange(double *h, const struct design_plan *p, size_t small, struct tlg_error *err)
{
  const double lobes = (double)p->n / (double)p->up;
  const size_t terms = (small + 1) / 2;
  size_t pass_steps, stop_steps, room, i;
  struct exchange e;
  struct zeros z = {0, {0.0}, 0.0};
  double pass, stop, *c = NULL;
  int st = TLG_OK, round;

  memset(&e, 0, sizeof e);
  z.per_cycle = (double)small / lobes;
  pass = p->pass * lobes / (double)small;
  stop = p->stop * lobes / (double)small;
  while (z.n < MOST_ZEROS && (double)(z.n + 1) * lobes < 0.5 * (double)small) {
    z.gap[z.n] = 1.0 - cosine_of((double)(z.n + 1) * lobes / (double)small);
    z.n++;
  }
  if (terms < z.n + 4 || stop >= 0.5) {
    return tlg_error_set(err, TLG_EINVAL, "an equiripple design needs more taps than %zu, or a lower stop band", p->n);
  }
  pass_steps = (size_t)(pass * 2.0 * (double)(DENSITY * terms)) + 4;
  stop_steps = (size_t)((0.5 - stop) * 2.0 * (double)(DENSITY * terms)) + 4;
  room = pass_steps + stop_steps + 2;
  e.r = terms - z.n; /* one unknown less for each zero and one for the gain at 0 */
  e.x = malloc(room * sizeof *e.x);
  e.want = malloc(room * sizeof *e.want);
  e.weight = malloc(room * sizeof *e.weight);
  e.band = malloc(room);
  e.error = malloc(room * sizeof *e.error);
  e.at = malloc(room * sizeof *e.at);
  e.found = malloc(room * sizeof *e.found);
  e.node = malloc(e.r * sizeof *e.node);
  e.bary = malloc(e.r * sizeof *e.bary);
  e.value = malloc(e.r * sizeof *e.value);
  c = malloc(terms * sizeof *c);
  if (!e.x || !e.want || !e.weight || !e.band || !e.error || !e.at || !e.found || !e.node || !e.bary || !e.value ||
      !c) {
    st = tlg_error_set(err, TLG_ENOMEM, "no memory for an equiripple design of %zu terms", terms);
    goto out;
  }
  add_band(&e, &z, 0.0, pass, 0, 1.0, 1, pass_steps);
  add_band(&e, &z, stop, 0.5, 1, p->stop_weight, 0, stop_steps);
  for (i = 0; i < e.r; i++) {
    e.at[i] = i * (e.points - 1) / (e.r - 1);
  }
  for (round = 0;; round++) {
    double worst = 0.0;

    interpolate(&e);
    for (i = 0; i < e.points; i++) {
      e.error[i] = e.weight[i] * (e.want[i] - response(&e, e.x[i]));
      worst = size_of(e.error[i]) > worst ? size_of(e.error[i]) : worst;
    }
    if (worst <= size_of(e.level) * (1.0 + 1e-7)) {
      break;
    }
    if (round == MOST_ROUNDS || !(worst < 1e6) || search(&e) != e.r) {
      st = tlg_error_set(err, TLG_EINVAL,
                         "the exchange does not converge for this request (ripple %.3g, largest error %.3g); use "
                         "--method kaiser or least-squares, or a wider transition band",
                         size_of(e.level), worst);
      goto out;
    }
    memcpy(e.at, e.found, e.r * sizeof *e.at);
  }
  for (i = 0; i < terms; i++) {
    c[i] = (i ? 2.0 : 1.0) * whole(&e, &z, cosine_of((double)i / (double)small));
  }
  st = tlg_design_series(h, p->n, c, terms, err);
out:
  free(e.x);
  free(e.want);
  free(e.weight);
  free(e.band);
  free(e.error);
  free(e.at);
  free(e.found);
  free(e.node);
  free(e.bary);
  free(e.value);
  free(c);
  return st;
}

int tlg_design_exchange(double *h, const struct design_plan *p, struct tlg_error *err)
{
  const double lobes = (double)p->n / (double)p->up;
  size_t small = (size_t)(lobes * TAPS_PER_INPUT);
  int st;

  small = small < MOST_TAPS ? small : MOST_TAPS;
  small = small < p->n ? small : p->n;
  small -= small % 2 ? 0 : 1;
  st = exchange(h, p, small, err);
  /* Long filters of high attenuation come near the limits of doubles; fewer small taps make them easier, as long as the
   * stop band still takes half of the axis. */
  while (st == TLG_EINVAL && (double)small > 5.0 * p->stop * lobes && small > 40) {
    small = small * 3 / 4;
    small -= small % 2 ? 0 : 1;
    st = exchange(h, p, small, err);
  }
  return st;
}
