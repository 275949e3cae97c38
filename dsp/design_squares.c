/* SPDX-License-Identifier: Apache-2.0 */
/* Weighted least-squares prototypes as short cosine series, and Lawson's reweighting for limits on single images.
 *
 * A prototype of T taps a phase has a response of lobes 1/T of the input rate wide, and all that matters lies below a
 * few tens of lobes, whatever L is. So the unknowns are the first J terms of its cosine series (the response at whole
 * lobes), not its thousands of taps; the normal equations are J by J and the series is evaluated at any L.
 * Sources: Oppenheim & Schafer ch. 7; C. L. Lawson, thesis, UCLA 1961 (reweighting). */
#include "design.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Frequencies are kept in lobes (units of input rate / T, T = n / up exactly) as multiples of 2^-20. */
#define LOBE ((uint64_t)1 << 20)
#define TERMS_ABOVE_STOP 30
#define POINTS_PER_LOBE 8

int tlg_design_series(double *h, size_t n, const double *c, size_t terms, struct tlg_error *err)
{
  const size_t half = n % 2 ? 1 : 2; /* half taps from the centre only exist when n is even */
  const size_t size = half * n;
  double *cosine = malloc(size * sizeof *cosine), s;
  size_t k, j;

  if (!cosine) {
    return tlg_error_set(err, TLG_ENOMEM, "no memory for %zu taps", n);
  }
  for (k = 0; k < size; k++) {
    tlg_cos_sin(k, size, &cosine[k], &s);
  }
  for (k = 0; k < (n + 1) / 2; k++) {
    const size_t step = (n - 1 - 2 * k) * half / 2;
    size_t at = 0;
    double sum = 0.0;

    for (j = 0; j < terms; j++) {
      sum += c[j] * cosine[at];
      at += step;
      at -= at >= size ? size : 0;
    }
    h[k] = h[n - 1 - k] = sum;
  }
  free(cosine);
  return TLG_OK;
}

/* sin(pi x) / (n sin(pi x / n)) at x = num / LOBE: the response of n equal taps of 1/n. */
static double dirichlet(uint64_t num, size_t n)
{
  double c, above, below;

  if (num == 0) {
    return 1.0;
  }
  tlg_cos_sin(num % (2 * LOBE), 2 * LOBE, &c, &above);
  tlg_cos_sin(num, 2 * LOBE * n, &c, &below);
  return above / ((double)n * below);
}

/* One frequency of the grid: row of the series' responses, wanted value, weight; kind tells images from the rest. */
enum kind { IN_PASS, IN_IMAGE, ELSEWHERE };
struct grid {
  size_t rows, room, terms;
  double *row, *want, *weight;
  unsigned char *kind;
};

static void add(struct grid *g, const struct design_plan *p, double frequency, double want, double weight,
                enum kind kind)
{
  const uint64_t x = (uint64_t)(frequency * (double)p->n / (double)p->up * (double)LOBE + 0.5);
  size_t j;

  if (g->rows == g->room) {
    return; /* cannot happen: room is counted by the same steps */
  }
  for (j = 0; j < g->terms; j++) {
    const uint64_t at = j * LOBE;
    const double value = dirichlet(x > at ? x - at : at - x, p->n);

    g->row[g->rows * g->terms + j] = j ? (value + dirichlet(x + at, p->n)) / 2.0 : value;
  }
  g->want[g->rows] = want;
  g->weight[g->rows] = weight;
  g->kind[g->rows++] = (unsigned char)kind;
}

/* Trapezoids over [low, high]; the weight is a density over a band of length p->pass. */
static void add_range(struct grid *g, const struct design_plan *p, double low, double high, double want, double weight,
                      enum kind kind, int count_only)
{
  const double lobes = (high - low) * (double)p->n / (double)p->up;
  const unsigned steps = lobes > 0.0 ? (unsigned)(lobes * POINTS_PER_LOBE) + 2 : 0;
  unsigned i;

  if (!steps) {
    return;
  }
  if (count_only) {
    g->room += steps + 1;
    return;
  }
  for (i = 0; i <= steps; i++) {
    const double share = (i == 0 || i == steps ? 0.5 : 1.0) / (double)steps;

    add(g, p, low + (high - low) * (double)i / (double)steps, want, weight * share * (high - low) / p->pass, kind);
  }
}

static int lands_in_band(double g, const struct design_plan *p)
{
  const double out = (double)p->up / (double)p->down, turns = g / out;
  const double rest = g - out * (double)(int64_t)(turns + 0.5);

  return rest <= p->pass && rest >= -p->pass;
}

/* From lo to hi nothing changes: images of the band or not; cut where landing in the output band changes. */
static void add_stop(struct grid *g, const struct design_plan *p, double low, double high, int image, int count_only)
{
  const double out = (double)p->up / (double)p->down;

  while (low < high) {
    const double turns = (double)(int64_t)(low / out + 1e-9), rest = low - turns * out;
    double next = rest < p->pass - 1e-9         ? turns * out + p->pass
                  : rest < out - p->pass - 1e-9 ? (turns + 1.0) * out - p->pass
                                                : (turns + 1.0) * out + p->pass;
    double weight;

    next = next < high ? next : high;
    /* An image counts once for its power and once more where it falls into the band. What comes from beyond the
     * band matters less when interpolating, and as much when decimating. */
    weight = image ? 1.0 : p->up > p->down ? 0.0 : 1.0;
    if (lands_in_band((low + next) / 2.0, p)) {
      weight = image ? 2.0 : p->up > p->down ? 0.1 : 1.0;
    }
    weight = weight > 0.0 ? weight : 0.001;
    add_range(g, p, low, next, 0.0, weight * p->stop_weight, image ? IN_IMAGE : ELSEWHERE, count_only);
    low = next;
  }
}

static void fill(struct grid *g, const struct design_plan *p, double top, int count_only)
{
  unsigned k;
  double low = p->stop;

  add_range(g, p, 0.0, p->pass, 1.0, 1.0, IN_PASS, count_only);
  /* Phases of equal gain at frequency 0: no response at multiples of the input rate. They are normalised afterwards,
   * so the fit must already know. */
  for (k = 0; (double)k < top; k++) {
    if (count_only) {
      g->room++;
    } else {
      add(g, p, (double)k, k ? 0.0 : 1.0, k ? p->stop_weight : 1.0, ELSEWHERE);
    }
  }
  for (k = 1; low < top; k++) {
    double first = (double)k - p->pass, last = (double)k + p->pass;

    first = first < top ? first : top;
    last = last < top ? last : top;
    if (first > low) {
      add_stop(g, p, low, first, 0, count_only);
      low = first;
    }
    if (last > low) {
      add_stop(g, p, low, last, 1, count_only);
      low = last;
    }
  }
}

/* Solve the weighted normal equations by Cholesky's method; a is terms x terms scratch. 0 if they are singular. */
static int solve(const struct grid *g, double *a, double *c)
{
  const size_t m = g->terms;
  double trace = 0.0;
  size_t r, i, j, k;

  memset(a, 0, m * m * sizeof *a);
  memset(c, 0, m * sizeof *c);
  for (r = 0; r < g->rows; r++) {
    const double *row = g->row + r * m;

    for (i = 0; i < m; i++) {
      const double w = g->weight[r] * row[i];

      for (j = 0; j <= i; j++) {
        a[i * m + j] += w * row[j];
      }
      c[i] += w * g->want[r];
    }
  }
  for (i = 0; i < m; i++) {
    trace += a[i * m + i];
  }
  for (i = 0; i < m; i++) {
    a[i * m + i] += trace * 1e-15;
  }
  for (i = 0; i < m; i++) {
    for (j = 0; j <= i; j++) {
      double sum = a[i * m + j];

      for (k = 0; k < j; k++) {
        sum -= a[i * m + k] * a[j * m + k];
      }
      if (i != j) {
        a[i * m + j] = sum / a[j * m + j];
      } else if (sum > 0.0) {
        a[i * m + i] = sqrt(sum);
      } else {
        return 0;
      }
    }
  }
  for (i = 0; i < m; i++) {
    for (k = 0; k < i; k++) {
      c[i] -= a[i * m + k] * c[k];
    }
    c[i] /= a[i * m + i];
  }
  for (i = m; i-- > 0;) {
    for (k = i + 1; k < m; k++) {
      c[i] -= a[k * m + i] * c[k];
    }
    c[i] /= a[i * m + i];
  }
  return 1;
}

/* Raise the weights of the frequencies that exceed their limit; 0 when none does. */
static int reweight(struct grid *g, const struct design_plan *p, const double *c)
{
  int changed = 0;
  size_t r, j;

  for (r = 0; r < g->rows; r++) {
    const double limit = g->kind[r] == IN_IMAGE ? p->image_limit : g->kind[r] == IN_PASS ? p->pass_limit : 0.0;
    double e = -g->want[r];

    if (!(limit > 0.0)) {
      continue;
    }
    for (j = 0; j < g->terms; j++) {
      e += c[j] * g->row[r * g->terms + j];
    }
    e = (e < 0.0 ? -e : e) / limit;
    if (e > 1.0005) {
      g->weight[r] *= e;
      changed = 1;
    }
  }
  return changed;
}

int tlg_design_squares(double *h, const struct design_plan *p, struct tlg_error *err)
{
  const double lobes = (double)p->n / (double)p->up, nyquist = (double)p->up / 2.0;
  const size_t terms = (size_t)(p->stop * lobes) + TERMS_ABOVE_STOP;
  struct grid g;
  double *a = NULL, *c = NULL, top;
  int st = TLG_OK, round;

  memset(&g, 0, sizeof g);
  g.terms = terms < (p->n + 1) / 2 ? terms : (p->n + 1) / 2;
  top = ((double)g.terms + 200.0) / lobes;
  top = top < nyquist ? top : nyquist;
  fill(&g, p, top, 1);
  g.row = malloc(g.room * g.terms * sizeof *g.row);
  g.want = malloc(g.room * sizeof *g.want);
  g.weight = malloc(g.room * sizeof *g.weight);
  g.kind = malloc(g.room);
  a = malloc(g.terms * g.terms * sizeof *a);
  c = malloc(g.terms * sizeof *c);
  if (!g.row || !g.want || !g.weight || !g.kind || !a || !c) {
    st = tlg_error_set(err, TLG_ENOMEM, "no memory for a least-squares design of %zu terms", g.terms);
    goto out;
  }
  fill(&g, p, top, 0);
  for (round = 0; round < 60; round++) {
    if (!solve(&g, a, c)) {
      st = tlg_error_set(err, TLG_EINVAL, "the least-squares equations have no solution; use another weight");
      goto out;
    }
    if (!reweight(&g, p, c)) {
      break;
    }
  }
  st = tlg_design_series(h, p->n, c, g.terms, err);
out:
  free(g.row);
  free(g.want);
  free(g.weight);
  free(g.kind);
  free(a);
  free(c);
  return st;
}
