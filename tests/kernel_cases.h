/* SPDX-License-Identifier: Apache-2.0 */
/* Cases for the resampling kernels, with nothing but the C library, so that the unit test and the verifier that is
 * built for other CPUs share them. Expected values come from a convolution straight from the formula. */
#ifndef KERNEL_CASES_H
#define KERNEL_CASES_H

#include "kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- random numbers (splitmix64) -------------------------------------------------------------------------------- */

static uint64_t kc_state;

static inline uint64_t kc_random(void)
{
  uint64_t z = (kc_state += 0x9e3779b97f4a7c15u);

  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

static inline unsigned kc_below(unsigned n)
{
  return (unsigned)((kc_random() >> 32) % n);
}

/* ---- cases --------------------------------------------------------------------------------------------------------
 */

enum kc_taps {
  KC_TAPS_RANDOM, /* any sign, each phase's sum of |h| at most the limit */
  KC_TAPS_LIMIT,  /* each phase's sum of |h| exactly the limit, if T allows */
  KC_TAPS_HALVES, /* 2^(S-1) and 2^S only: sums on half an LSB */
  KC_TAPS_SMALL,  /* sum about 2^S, as a filter's */
};

enum kc_signal {
  KC_SIGNAL_RANDOM,  /* the full range */
  KC_SIGNAL_CORNERS, /* -32768, 32767, 0, -1, 1 */
  KC_SIGNAL_WORST,   /* the signs that drive outputs of every phase to their extremes */
  KC_SIGNAL_KINDS,
};

struct kc_case {
  uint32_t up, down; /* as given to the resampler, not reduced */
  size_t n_taps;
  unsigned shift;
  enum tlg_rounding rounding;
  int align;
  enum kc_taps taps;
  enum kc_signal signal;
};

struct kc_data {
  struct kc_case c;
  uint32_t up, down; /* lowest terms */
  uint64_t q0;
  struct tlg_taps taps;
  tlg_cs16 *in, *want;
  size_t n_in, n_out;
};

static inline uint32_t kc_gcd(uint32_t a, uint32_t b)
{
  return b ? kc_gcd(b, a % b) : a;
}

static inline size_t kc_outputs(const struct kc_data *d, size_t n)
{
  const int64_t top = (int64_t)n * d->up - 1 - (int64_t)d->q0;

  return top < 0 ? 0 : (size_t)(top / d->down) + 1;
}

/* The formula: 64 bits, nothing clever. */
static inline void kc_convolve(const struct kc_data *d, size_t m, tlg_cs16 *y)
{
  const uint64_t q = (uint64_t)m * d->down + d->q0;
  const uint64_t p = q % d->up, i = q / d->up;
  int64_t acc[2] = {0, 0}, k, v[2];
  int c;

  for (k = 0; p + (uint64_t)k * d->up < d->taps.n; k++) {
    const int64_t n = (int64_t)i - k;

    if (n >= 0 && n < (int64_t)d->n_in) {
      acc[0] += (int64_t)d->taps.h[p + (uint64_t)k * d->up] * d->in[n].i;
      acc[1] += (int64_t)d->taps.h[p + (uint64_t)k * d->up] * d->in[n].q;
    }
  }
  for (c = 0; c < 2; c++) {
    const int64_t unit = (int64_t)1 << d->c.shift;
    const int64_t add = d->c.rounding == TLG_ROUND_NEAREST ? unit / 2 : 0;
    int64_t a = acc[c] + add;

    v[c] = a >= 0 ? a / unit : -((-a + unit - 1) / unit); /* floor */
    if (d->c.rounding == TLG_ROUND_NEAREST) {
      v[c] = v[c] > 32767 ? 32767 : v[c] < -32768 ? -32768 : v[c];
    } else {
      v[c] = ((v[c] + 32768) % 65536 + 65536) % 65536 - 32768;
    }
  }
  y->i = (int16_t)v[0];
  y->q = (int16_t)v[1];
}

static inline void kc_make_taps(struct kc_data *d)
{
  const int64_t limit = (((int64_t)1 << 31) - 1 - ((int64_t)1 << (d->c.shift - 1))) / 32768;
  const int64_t unit = (int64_t)1 << d->c.shift;
  int16_t *h = d->taps.h;
  size_t p, k, n;

  for (p = 0; p < d->up && p < d->taps.n; p++) {
    const int64_t per_phase = (int64_t)((d->taps.n - p + d->up - 1) / d->up);
    int64_t left = limit;

    for (n = 0, k = p; k < d->taps.n; k += d->up, n++) {
      int64_t most = left < 32767 ? left : 32767, v = 0;

      switch (d->c.taps) {
      case KC_TAPS_RANDOM:
        v = most ? (int64_t)(kc_random() >> 33) % (most + 1) : 0;
        v = per_phase > 4 && kc_below(2) ? v / per_phase : v;
        break;
      case KC_TAPS_LIMIT: /* evenly, and the rest as early as it fits */
        v = left / (per_phase - (int64_t)n);
        v = v > 32767 ? 32767 : v;
        if (kc_below(3) == 0) {
          v = most;
        }
        break;
      case KC_TAPS_HALVES:
        v = kc_below(4) == 0 ? unit : kc_below(2) ? unit / 2 : 0;
        break;
      case KC_TAPS_SMALL:
        v = (int64_t)(kc_random() >> 33) % (2 * unit / per_phase + 1);
        break;
      }
      if (v > most) {
        v = 0;
      }
      left -= v;
      h[k] = (int16_t)(kc_below(2) ? v : -v);
    }
  }
}

static inline void kc_make_signal(struct kc_data *d)
{
  static const int16_t corners[] = {-32768, 32767, 0, -1, 1, -32768, 32767};
  size_t i, m, k;

  for (i = 0; i < d->n_in; i++) {
    if (d->c.signal == KC_SIGNAL_CORNERS) {
      d->in[i].i = corners[kc_below(7)];
      d->in[i].q = corners[kc_below(7)];
    } else {
      d->in[i].i = (int16_t)kc_random();
      d->in[i].q = (int16_t)kc_random();
    }
  }
  if (d->c.signal != KC_SIGNAL_WORST) {
    return;
  }
  /* Drive one output in every T inputs to its extremes: I to the one side, Q to the other. */
  m = 0;
  while (m < d->n_out) {
    const uint64_t q = (uint64_t)m * d->down + d->q0, p = q % d->up, newest = q / d->up;
    const size_t taps = (d->taps.n + d->up - 1) / d->up;

    for (k = 0; k < taps && k <= newest && p + k * d->up < d->taps.n; k++) {
      const int up = (d->taps.h[p + k * d->up] >= 0) == (m % 2 == 0);

      d->in[newest - k].i = (int16_t)(up ? 32767 : -32768);
      d->in[newest - k].q = (int16_t)(up ? -32768 : 32767);
    }
    m += (taps * d->up + d->down - 1) / d->down + 1;
  }
}

static inline void kc_free(struct kc_data *d)
{
  free(d->taps.h);
  free(d->in);
  free(d->want);
  memset(d, 0, sizeof *d);
}

static inline int kc_make(struct kc_data *d, const struct kc_case *c, size_t n_in)
{
  const uint32_t common = kc_gcd(c->up, c->down);
  size_t m;

  memset(d, 0, sizeof *d);
  d->c = *c;
  d->up = c->up / common;
  d->down = c->down / common;
  d->q0 = c->align ? (c->n_taps - 1) / 2 : 0;
  d->n_in = n_in;
  d->n_out = kc_outputs(d, n_in);
  d->taps.n = c->n_taps;
  d->taps.up = d->up;
  d->taps.shift = c->shift;
  d->taps.h = calloc(c->n_taps, sizeof *d->taps.h);
  d->in = calloc(n_in + 1, sizeof *d->in);
  d->want = calloc(d->n_out + 1, sizeof *d->want);
  if (!d->taps.h || !d->in || !d->want) {
    kc_free(d);
    return -1;
  }
  kc_make_taps(d);
  kc_make_signal(d);
  for (m = 0; m < d->n_out; m++) {
    kc_convolve(d, m, &d->want[m]);
  }
  return 0;
}

static const char *kc_form_name(int form)
{
  return form == TLG_FORM_PLAIN ? "plain" : form == TLG_FORM_ROWS ? "rows" : form == TLG_FORM_DOT ? "dot" : "any";
}

/* ---- running one ----------------------------------------------------------------------------------------------------
 */

/* A hash of all outputs so far (FNV-1a), to compare builds with each other. */
static uint64_t kc_hash = 0xcbf29ce484222325u;

static inline void kc_hash_outputs(const tlg_cs16 *y, size_t n)
{
  size_t k;

  for (k = 0; k < n; k++) {
    kc_hash = (kc_hash ^ (uint16_t)y[k].i) * 0x100000001b3u;
    kc_hash = (kc_hash ^ (uint16_t)y[k].q) * 0x100000001b3u;
  }
}

/* Packets: every length from 0 to 67, the sizes that radios deliver, then what is left. */
static inline size_t kc_packet(unsigned number, size_t left)
{
  static const size_t real[] = {362, 364, 625, 1996, 2000, 1, 625, 625};
  const size_t n = number < 68 ? number : real[(number - 68) % 8];

  return n < left ? n : left;
}

#define KC_GUARD 64 /* canary samples on both sides of an output */

/* Feed the case to a kernel in packets at every alignment, between canaries. The input of each packet is copied into
 * memory that ends with its last sample, so that a sanitizer sees a read beyond it. Returns 0, or -1 with a message in
 * text; 1 if this form cannot serve the ratio. */
static inline int kc_run(const struct kc_data *d, enum tlg_cpu cpu, int form, char *text, size_t size)
{
  const struct tlg_resamp_cfg cfg = {
      .up = d->c.up, .down = d->c.down, .taps = &d->taps, .rounding = d->c.rounding, .align = d->c.align, .cpu = cpu};
  struct tlg_error err = {0};
  struct tlg_resamp *r;
  size_t at_in = 0, at_out = 0, largest = 2 * (size_t)KC_GUARD, k, j;
  unsigned number = 0;
  int st = tlg_resamp_new_form(&r, &cfg, form, &err), bad = 0;
  int16_t *out_memory;

  if (st == TLG_EUNAVAIL) {
    return 1;
  }
  if (st < 0) {
    snprintf(text, size, "new: %.200s", err.text);
    return -1;
  }
  if (tlg_resamp_cpu(r) != cpu) {
    tlg_resamp_free(r);
    return 1;
  }
  largest += kc_outputs(d, 2000) + 2 + (size_t)d->up / d->down + (size_t)(d->q0 / d->down);
  out_memory = malloc((largest + 64) * sizeof(tlg_cs16));
  while (!bad && out_memory && (at_in < d->n_in || number < 76)) {
    const size_t n = kc_packet(number, d->n_in - at_in);
    const size_t in_offset = number * 2 % 64, out_offset = number * 6 % 64; /* bytes: samples align to 2 */
    unsigned char *in_memory = malloc(in_offset + n * sizeof(tlg_cs16) + !n);
    tlg_cs16 *in = (tlg_cs16 *)(void *)(in_memory + in_offset);
    tlg_cs16 *out = (tlg_cs16 *)(void *)((unsigned char *)out_memory + out_offset) + KC_GUARD;
    size_t bound = tlg_resamp_bound(r, n), got = 12345;
    const size_t want = kc_outputs(d, at_in + n) - kc_outputs(d, at_in);

    memcpy(in, d->in + at_in, n * sizeof *in);
    if (bound != want || bound + 2 * (size_t)KC_GUARD > largest) {
      snprintf(text, size, "packet %u of %zu at %zu: bound %zu, formula %zu", number, n, at_in, bound, want);
      free(in_memory);
      bad = 1;
      break;
    }
    for (k = 0; k < bound + 2 * (size_t)KC_GUARD; k++) {
      out[(ptrdiff_t)k - KC_GUARD].i = (int16_t)(0x5a00 + (int)(k & 0xff));
      out[(ptrdiff_t)k - KC_GUARD].q = (int16_t)(0x2500 + (int)(k & 0xff));
    }
    st = tlg_resamp_process(r, in, n, out, bound, &got);
    free(in_memory);
    if (st < 0 || got != bound) {
      snprintf(text, size, "packet %u of %zu at %zu: status %d, got %zu of %zu", number, n, at_in, st, got, bound);
      bad = 1;
      break;
    }
    for (j = 0; j < got && !bad; j++) {
      if (memcmp(&out[j], &d->want[at_out + j], sizeof *out) != 0) {
        snprintf(text, size, "packet %u of %zu at %zu, output %zu (%zu of %zu in it): %d %d, formula %d %d", number, n,
                 at_in, at_out + j, j, got, out[j].i, out[j].q, d->want[at_out + j].i, d->want[at_out + j].q);
        bad = 1;
      }
    }
    for (k = 0; k < bound + 2 * (size_t)KC_GUARD && !bad; k++) {
      if (k >= KC_GUARD && k < KC_GUARD + bound) {
        continue;
      }
      if (out[(ptrdiff_t)k - KC_GUARD].i != (int16_t)(0x5a00 + (int)(k & 0xff)) ||
          out[(ptrdiff_t)k - KC_GUARD].q != (int16_t)(0x2500 + (int)(k & 0xff))) {
        snprintf(text, size, "packet %u of %zu at %zu: wrote output %td of %zu", number, n, at_in,
                 (ptrdiff_t)k - KC_GUARD, got);
        bad = 1;
      }
    }
    kc_hash_outputs(out, got);
    at_in += n;
    at_out += got;
    number++;
  }
  free(out_memory);
  tlg_resamp_free(r);
  return bad ? -1 : 0;
}

static inline void kc_describe(const struct kc_case *c, char *text, size_t size)
{
  static const char *const taps[] = {"random", "limit", "halves", "small"}, *const signals[] = {"random", "corners",
                                                                                                "worst"};

  snprintf(text, size, "%u/%u, %zu %s taps, S %u, %s%s, %s signal", (unsigned)c->up, (unsigned)c->down, c->n_taps,
           taps[c->taps], c->shift, c->rounding ? "usrpl0" : "nearest", c->align ? ", aligned" : "",
           signals[c->signal]);
}

/* The cases: case number k of a series; 0 when there are no more. */
static inline int kc_case_number(unsigned k, struct kc_case *c)
{
  static const uint32_t ratios[][2] = {{768, 625}, {625, 768},   {576, 625}, {384, 625},    {192, 625}, {48, 625},
                                       {8, 5},     {125, 96},    {7, 6},     {5, 4},        {672, 625}, {3072, 3125},
                                       {1, 1},     {1536, 1250}, {3, 1},     {1, 3},        {64, 1},    {1, 7},
                                       {2, 1},     {16, 15},     {9, 4},     {65535, 4096}, {17, 16},   {4, 9}};
  static const unsigned taps[] = {16, 1, 13, 14, 24, 15, 2, 3, 32, 37, 48, 60, 90, 300};
  const unsigned n_ratios = sizeof ratios / sizeof *ratios, n_taps = sizeof taps / sizeof *taps;
  const unsigned ratio = k % n_ratios, t = k / n_ratios % n_taps, round = k / n_ratios / n_taps;
  uint32_t up;

  memset(c, 0, sizeof *c);
  if (round >= 2) {
    return 0;
  }
  c->up = ratios[ratio][0];
  c->down = ratios[ratio][1];
  up = c->up / kc_gcd(c->up, c->down);
  /* Long prototypes take long to make: keep them to the small factors. */
  c->n_taps = (size_t)taps[t] * up;
  if (c->n_taps > 100000) {
    c->n_taps = up * (size_t)(taps[t] % 5 + 1);
  }
  c->n_taps -= (k + round) % 3 == 0 || up == 1 ? 0 : kc_below(up);
  c->shift = k % 5 == 4 ? 1 + kc_below(15) : 14;
  c->rounding = (k + round) % 2 ? TLG_ROUND_USRPL0 : TLG_ROUND_NEAREST;
  c->align = k % 7 == 3;
  c->taps = (enum kc_taps)((k + k / n_ratios) % 4);
  c->signal = (enum kc_signal)((k + round) % KC_SIGNAL_KINDS);
  return 1;
}

/* All lengths of kc_packet once. */
#define KC_INPUTS 8300

/* All cases on one kernel. Returns how many ran, or -1 with a message. */
static inline int kc_run_all(enum tlg_cpu cpu, int form, uint64_t seed, unsigned every, char *text, size_t size)
{
  struct kc_case c;
  unsigned k;
  int ran = 0;

  for (k = 0; kc_state = seed + k, kc_case_number(k, &c); k += every) {
    /* Strong upsampling makes many outputs: fewer inputs then. */
    const size_t n_in = c.up / c.down > 10 ? 900 : KC_INPUTS;
    struct kc_data d;
    char what[160], why[360];
    int st;

    if (kc_make(&d, &c, n_in) < 0) {
      snprintf(text, size, "memory is exhausted");
      return -1;
    }
    st = kc_run(&d, cpu, form, why, sizeof why);
    kc_free(&d);
    if (st < 0) {
      kc_describe(&c, what, sizeof what);
      snprintf(text, size, "%s %s, case %u: %.150s: %.300s", tlg_cpu_name(cpu), kc_form_name(form), k, what, why);
      return -1;
    }
    ran += st == 0;
  }
  return ran;
}

#endif
