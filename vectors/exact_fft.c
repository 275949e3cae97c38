/* SPDX-License-Identifier: Apache-2.0 */
/* Fourier transform by radix 3, 2 and 4 in a fixed order of IEEE + - *, without reordering passes: the same bits
 * everywhere. */
#include "exact_fft.h"

#include "tlg_dsp.h"

#include <stdlib.h>

/* Two lanes at a time, each lane on its own: what the lanes hold does not depend on how they are computed. */
typedef double v2 __attribute__((vector_size(16)));

enum { MAX_STAGES = 16 };

struct stage {
  unsigned radix;
  size_t span; /* distance of a butterfly's legs */
  double *tw;  /* (radix - 1) times: span cosines, then span sines, of -2 pi j i / (span * radix) */
};

struct exact_fft {
  size_t n;
  int n_stages;
  struct stage stages[MAX_STAGES];
  double *memory;
};

size_t exact_fft_size(size_t wanted)
{
  size_t two = 4, best = 0;

  for (; two <= (size_t)1 << 24; two *= 2) {
    if (two >= wanted && (!best || two < best)) {
      best = two;
    }
    if (3 * two >= wanted && 3 * two <= (size_t)1 << 24 && (!best || 3 * two < best)) {
      best = 3 * two;
    }
  }
  return best;
}

struct exact_fft *exact_fft_new(size_t n)
{
  struct exact_fft *f;
  size_t rest = n, span = n, total = 0;
  double *tw;
  int s;

  if (n < 4 || exact_fft_size(n) != n || !(f = calloc(1, sizeof *f))) {
    return NULL;
  }
  f->n = n;
  while (rest > 1) {
    struct stage *st = &f->stages[f->n_stages++];
    int odd_twos = 0;
    size_t r;

    for (r = rest; r % 2 == 0; r /= 2) {
      odd_twos = !odd_twos;
    }
    st->radix = rest % 3 == 0 ? 3 : odd_twos ? 2 : 4; /* so that the last stage is of radix 4 with legs side by side */
    rest /= st->radix;
    span /= st->radix;
    st->span = span;
    total += 2 * span * (st->radix - 1);
  }
  if (posix_memalign((void **)&f->memory, 64, total * sizeof *f->memory) != 0) {
    free(f);
    return NULL;
  }
  tw = f->memory;
  for (s = 0; s < f->n_stages; s++) {
    struct stage *st = &f->stages[s];
    const size_t block = st->span * st->radix;
    unsigned i;
    size_t j;

    st->tw = tw;
    for (i = 1; i < st->radix; i++) {
      for (j = 0; j < st->span; j++) {
        tlg_cos_sin((block - j * i % block) % block, block, &tw[j], &tw[st->span + j]);
      }
      tw += 2 * st->span;
    }
  }
  return f;
}

void exact_fft_free(struct exact_fft *f)
{
  if (f) {
    free(f->memory);
    free(f);
  }
}

size_t exact_fft_place(const struct exact_fft *f, size_t k)
{
  size_t place = 0;
  int s;

  for (s = 0; s < f->n_stages; s++) {
    place += k % f->stages[s].radix * f->stages[s].span;
    k /= f->stages[s].radix;
  }
  return place;
}

/* One step of each butterfly, for any lane type. SIGN is +1 in the forward direction (factor -j), -1 backward. */
#define ROTATE_FORWARD(re, im, c, s)                                                                                   \
  do {                                                                                                                 \
    const __typeof__(re) turned = re * c - im * s;                                                                     \
    im = re * s + im * c;                                                                                              \
    re = turned;                                                                                                       \
  } while (0)
#define ROTATE_BACKWARD(re, im, c, s)                                                                                  \
  do {                                                                                                                 \
    const __typeof__(re) turned = re * c + im * s;                                                                     \
    im = im * c - re * s;                                                                                              \
    re = turned;                                                                                                       \
  } while (0)

#define BUTTERFLY2(T)                                                                                                  \
  const T s0r = r0 + r1, s0i = i0 + i1, s1r = r0 - r1, s1i = i0 - i1;                                                  \
  r0 = s0r;                                                                                                            \
  i0 = s0i;                                                                                                            \
  r1 = s1r;                                                                                                            \
  i1 = s1i

#define BUTTERFLY3(T, SIGN)                                                                                            \
  const double half = 0.5, root = SIGN * 0.86602540378443864676;                                                       \
  const T sr = r1 + r2, si = i1 + i2, dr = r1 - r2, di = i1 - i2;                                                      \
  const T mr = r0 - sr * half, mi = i0 - si * half, xr = di * root, xi = dr * root;                                    \
  r0 = r0 + sr;                                                                                                        \
  i0 = i0 + si;                                                                                                        \
  r1 = mr + xr;                                                                                                        \
  i1 = mi - xi;                                                                                                        \
  r2 = mr - xr;                                                                                                        \
  i2 = mi + xi

#define BUTTERFLY4(T, SIGN)                                                                                            \
  const T ar = r0 + r2, ai = i0 + i2, br = r0 - r2, bi = i0 - i2;                                                      \
  const T cr = r1 + r3, ci = i1 + i3, dr = (r1 - r3) * (double)SIGN, di = (i1 - i3) * (double)SIGN;                    \
  r0 = ar + cr;                                                                                                        \
  i0 = ai + ci;                                                                                                        \
  r2 = ar - cr;                                                                                                        \
  i2 = ai - ci;                                                                                                        \
  r1 = br + di;                                                                                                        \
  i1 = bi - dr;                                                                                                        \
  r3 = br - di;                                                                                                        \
  i3 = bi + dr

#define AT(array, leg) (*(v2 *)(void *)&(array)[j + (leg)*span])
#define COS(i) (*(const v2 *)(const void *)&tw[((i)-1) * 2 * span + j])
#define SIN(i) (*(const v2 *)(const void *)&tw[((i)-1) * 2 * span + span + j])

static void forward2(const struct stage *st, double *re, double *im)
{
  const size_t span = st->span;
  const double *tw = st->tw;
  size_t j;

  for (j = 0; j < span; j += 2) {
    v2 r0 = AT(re, 0), i0 = AT(im, 0), r1 = AT(re, 1), i1 = AT(im, 1);
    BUTTERFLY2(v2);

    ROTATE_FORWARD(r1, i1, COS(1), SIN(1));
    AT(re, 0) = r0;
    AT(im, 0) = i0;
    AT(re, 1) = r1;
    AT(im, 1) = i1;
  }
}

static void backward2(const struct stage *st, double *re, double *im)
{
  const size_t span = st->span;
  const double *tw = st->tw;
  size_t j;

  for (j = 0; j < span; j += 2) {
    v2 r0 = AT(re, 0), i0 = AT(im, 0), r1 = AT(re, 1), i1 = AT(im, 1);

    ROTATE_BACKWARD(r1, i1, COS(1), SIN(1));
    {
      BUTTERFLY2(v2);
    }
    AT(re, 0) = r0;
    AT(im, 0) = i0;
    AT(re, 1) = r1;
    AT(im, 1) = i1;
  }
}

static void forward3(const struct stage *st, double *re, double *im)
{
  const size_t span = st->span;
  const double *tw = st->tw;
  size_t j;

  for (j = 0; j < span; j += 2) {
    v2 r0 = AT(re, 0), i0 = AT(im, 0), r1 = AT(re, 1), i1 = AT(im, 1), r2 = AT(re, 2), i2 = AT(im, 2);
    BUTTERFLY3(v2, 1);

    ROTATE_FORWARD(r1, i1, COS(1), SIN(1));
    ROTATE_FORWARD(r2, i2, COS(2), SIN(2));
    AT(re, 0) = r0;
    AT(im, 0) = i0;
    AT(re, 1) = r1;
    AT(im, 1) = i1;
    AT(re, 2) = r2;
    AT(im, 2) = i2;
  }
}

static void backward3(const struct stage *st, double *re, double *im)
{
  const size_t span = st->span;
  const double *tw = st->tw;
  size_t j;

  for (j = 0; j < span; j += 2) {
    v2 r0 = AT(re, 0), i0 = AT(im, 0), r1 = AT(re, 1), i1 = AT(im, 1), r2 = AT(re, 2), i2 = AT(im, 2);

    ROTATE_BACKWARD(r1, i1, COS(1), SIN(1));
    ROTATE_BACKWARD(r2, i2, COS(2), SIN(2));
    {
      BUTTERFLY3(v2, -1);
    }
    AT(re, 0) = r0;
    AT(im, 0) = i0;
    AT(re, 1) = r1;
    AT(im, 1) = i1;
    AT(re, 2) = r2;
    AT(im, 2) = i2;
  }
}

static void forward4(const struct stage *st, double *re, double *im)
{
  const size_t span = st->span;
  const double *tw = st->tw;
  size_t j;

  for (j = 0; j < span; j += 2) {
    v2 r0 = AT(re, 0), i0 = AT(im, 0), r1 = AT(re, 1), i1 = AT(im, 1);
    v2 r2 = AT(re, 2), i2 = AT(im, 2), r3 = AT(re, 3), i3 = AT(im, 3);
    BUTTERFLY4(v2, 1);

    ROTATE_FORWARD(r1, i1, COS(1), SIN(1));
    ROTATE_FORWARD(r2, i2, COS(2), SIN(2));
    ROTATE_FORWARD(r3, i3, COS(3), SIN(3));
    AT(re, 0) = r0;
    AT(im, 0) = i0;
    AT(re, 1) = r1;
    AT(im, 1) = i1;
    AT(re, 2) = r2;
    AT(im, 2) = i2;
    AT(re, 3) = r3;
    AT(im, 3) = i3;
  }
}

static void backward4(const struct stage *st, double *re, double *im)
{
  const size_t span = st->span;
  const double *tw = st->tw;
  size_t j;

  for (j = 0; j < span; j += 2) {
    v2 r0 = AT(re, 0), i0 = AT(im, 0), r1 = AT(re, 1), i1 = AT(im, 1);
    v2 r2 = AT(re, 2), i2 = AT(im, 2), r3 = AT(re, 3), i3 = AT(im, 3);

    ROTATE_BACKWARD(r1, i1, COS(1), SIN(1));
    ROTATE_BACKWARD(r2, i2, COS(2), SIN(2));
    ROTATE_BACKWARD(r3, i3, COS(3), SIN(3));
    {
      BUTTERFLY4(v2, -1);
    }
    AT(re, 0) = r0;
    AT(im, 0) = i0;
    AT(re, 1) = r1;
    AT(im, 1) = i1;
    AT(re, 2) = r2;
    AT(im, 2) = i2;
    AT(re, 3) = r3;
    AT(im, 3) = i3;
  }
}

/* The stage whose legs stand side by side; all its factors are 1. */
#define SIDE_BY_SIDE(SIGN)                                                                                             \
  size_t j;                                                                                                            \
  for (j = 0; j < n; j += 4) {                                                                                         \
    double r0 = re[j], i0 = im[j], r1 = re[j + 1], i1 = im[j + 1];                                                     \
    double r2 = re[j + 2], i2 = im[j + 2], r3 = re[j + 3], i3 = im[j + 3];                                             \
    BUTTERFLY4(double, SIGN);                                                                                          \
    re[j] = r0;                                                                                                        \
    im[j] = i0;                                                                                                        \
    re[j + 1] = r1;                                                                                                    \
    im[j + 1] = i1;                                                                                                    \
    re[j + 2] = r2;                                                                                                    \
    im[j + 2] = i2;                                                                                                    \
    re[j + 3] = r3;                                                                                                    \
    im[j + 3] = i3;                                                                                                    \
  }

static void side_by_side_forward(size_t n, double *re, double *im)
{
  SIDE_BY_SIDE(1)
}

static void side_by_side_backward(size_t n, double *re, double *im)
{
  SIDE_BY_SIDE(-1)
}

static void run(const struct exact_fft *f, const struct stage *st, double *re, double *im,
                void (*const pass[5])(const struct stage *, double *, double *))
{
  const size_t block = st->span * st->radix;
  size_t b;

  for (b = 0; b < f->n; b += block) {
    pass[st->radix](st, re + b, im + b);
  }
}

void exact_fft_forward(const struct exact_fft *f, double *re, double *im)
{
  static void (*const pass[5])(const struct stage *, double *, double *) = {NULL, NULL, forward2, forward3, forward4};
  int s;

  for (s = 0; s < f->n_stages - 1; s++) {
    run(f, &f->stages[s], re, im, pass);
  }
  side_by_side_forward(f->n, re, im);
}

void exact_fft_backward(const struct exact_fft *f, double *re, double *im)
{
  static void (*const pass[5])(const struct stage *, double *, double *) = {NULL, NULL, backward2, backward3,
                                                                            backward4};
  int s;

  side_by_side_backward(f->n, re, im);
  for (s = f->n_stages - 2; s >= 0; s--) {
    run(f, &f->stages[s], re, im, pass);
  }
}
