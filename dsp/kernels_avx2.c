/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels for AVX2: 4 outputs a register, I in its lower half and Q in its upper; rows are walked once, as in
 * kernels_zmm.h. */
#if defined(__AVX2__)
#include "kernels.h"

#include <immintrin.h>
#include <string.h>

/* Keeps the compiler from moving loads through a pointer across a branch. */
#define HIDE(pointer) __asm__("" : "+r"(pointer))
#define INLINE static inline __attribute__((always_inline))

struct run {
  tlg_cs16 *out;
  ptrdiff_t n;
  const int16_t *x; /* sample 0 of the period */
  uint32_t block;   /* its first block */
  uint32_t lane;    /* lane of the first output in it */
};

INLINE __m256i twice16(const void *p)
{
  return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)p));
}

INLINE __m256i load(const void *p)
{
  return _mm256_loadu_si256((const __m256i *)p);
}

INLINE __m256i scaled(__m256i acc, __m256i shift, int wrap)
{
  acc = _mm256_srav_epi32(acc, shift);
  return wrap ? _mm256_srai_epi32(_mm256_slli_epi32(acc, 16), 16) : acc;
}

/* Store the 8 outputs of two blocks whose first is output `at` of the run: those in [0, n). */
INLINE void store_pair(tlg_cs16 *out, ptrdiff_t at, ptrdiff_t n, __m256i a, __m256i b)
{
  const __m256i order =
      _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15));
  const __m256i y = _mm256_shuffle_epi8(_mm256_permute4x64_epi64(_mm256_packs_epi32(a, b), 0xd8), order);

  if (at >= 0 && at + 8 <= n) {
    _mm256_storeu_si256((__m256i *)(void *)(out + at), y);
  } else {
    const ptrdiff_t from = at < 0 ? -at : 0, to = at + 8 > n ? n - at : 8;
    tlg_cs16 eight[8];

    _mm256_storeu_si256((__m256i *)(void *)eight, y);
    if (to > from) {
      memcpy(out + at + from, eight + from, (size_t)(to - from) * sizeof *eight);
    }
  }
}

/* The row of pairs of which x is the older sample of lane 0. */
INLINE __m256i row_of(const int16_t *x, const struct tlg_bank *bank, __m256i pick, int narrow)
{
  const __m256i row = _mm256_shuffle_epi8(twice16(x), pick);

  if (narrow) {
    return row;
  }
  return _mm256_or_si256(row, _mm256_shuffle_epi8(twice16(x + 2 * bank->second), load(bank->shuffle[1])));
}

INLINE __m256i dot2(__m256i acc, __m256i row, const int16_t *coef)
{
  return _mm256_add_epi32(acc, _mm256_madd_epi16(row, twice16(coef)));
}

/* One row into the blocks that it meets: all of them (all = 1), or all but the last. */
#define ADD(a, number, all)                                                                                            \
  do {                                                                                                                 \
    if (depth > number || (depth == number && (all))) {                                                                \
      a = dot2(a, row, coef);                                                                                          \
      coef += 8;                                                                                                       \
    }                                                                                                                  \
  } while (0)
#define MEET(all)                                                                                                      \
  do {                                                                                                                 \
    const __m256i row = row_of(x, bank, pick, narrow);                                                                 \
    ADD(a0, 1, all);                                                                                                   \
    ADD(a1, 2, all);                                                                                                   \
    ADD(a2, 3, all);                                                                                                   \
    ADD(a3, 4, all);                                                                                                   \
    ADD(a4, 5, all);                                                                                                   \
    ADD(a5, 6, all);                                                                                                   \
    ADD(a6, 7, all);                                                                                                   \
    ADD(a7, 8, all);                                                                                                   \
    ADD(a8, 9, all);                                                                                                   \
    ADD(a9, 10, all);                                                                                                  \
    ADD(a10, 11, all);                                                                                                 \
    x += 4;                                                                                                            \
  } while (0)

/* Walk the first block's step, `whole` rows or one more; then all blocks move up by one and a new one enters. */
#define STEP(y)                                                                                                        \
  do {                                                                                                                 \
    unsigned e;                                                                                                        \
    if (*step & TLG_STEP_MORE) {                                                                                       \
      HIDE(coef);                                                                                                      \
      MEET(whole < last);                                                                                              \
    }                                                                                                                  \
    for (e = whole; e-- > 0;) {                                                                                        \
      MEET(e < last);                                                                                                  \
    }                                                                                                                  \
    y = a0;                                                                                                            \
    a0 = depth > 1 ? a1 : start;                                                                                       \
    a1 = depth > 2 ? a2 : start;                                                                                       \
    a2 = depth > 3 ? a3 : start;                                                                                       \
    a3 = depth > 4 ? a4 : start;                                                                                       \
    a4 = depth > 5 ? a5 : start;                                                                                       \
    a5 = depth > 6 ? a6 : start;                                                                                       \
    a6 = depth > 7 ? a7 : start;                                                                                       \
    a7 = depth > 8 ? a8 : start;                                                                                       \
    a8 = depth > 9 ? a9 : start;                                                                                       \
    a9 = depth > 10 ? a10 : start;                                                                                     \
    a10 = start;                                                                                                       \
    NEXT_STEP();                                                                                                       \
  } while (0)

#define NEXT_STEP()                                                                                                    \
  do {                                                                                                                 \
    if (++step == end) {                                                                                               \
      step = bank->steps + depth - 1;                                                                                  \
      coef = bank->coef + bank->first;                                                                                 \
    }                                                                                                                  \
  } while (0)

/* What a walk needs; depth is a constant. */
#define WALK()                                                                                                         \
  const __m256i pick = load(bank->shuffle[0]);                                                                         \
  const __m256i shift = _mm256_set1_epi32((int)bank->shift), start = _mm256_set1_epi32(bank->round_add);               \
  const uint8_t *const end = bank->steps + depth - 1 + bank->period / 4;                                               \
  const uint8_t *step = bank->steps + run->block;                                                                      \
  const int16_t *coef = bank->coef + bank->walk[run->block].coef;                                                      \
  const int16_t *x = run->x + 2 * (ptrdiff_t)bank->walk[run->block].x;                                                 \
  const ptrdiff_t n = run->n;                                                                                          \
  const int wrap = bank->wrap;                                                                                         \
  tlg_cs16 *const out = run->out;                                                                                      \
  ptrdiff_t at = -(ptrdiff_t)run->lane
#define STORE(y0, y1)                                                                                                  \
  do {                                                                                                                 \
    store_pair(out, at, n, scaled(y0, shift, wrap), scaled(y1, shift, wrap));                                          \
    at += 8;                                                                                                           \
    if (at >= n) {                                                                                                     \
      return;                                                                                                          \
    }                                                                                                                  \
  } while (0)

INLINE void run_any(const struct tlg_bank *bank, const struct run *run, const unsigned depth)
{
  WALK();
  const unsigned whole = bank->whole, last = bank->last;
  const int narrow = bank->narrow;
  __m256i a0 = start, a1 = start, a2 = start, a3 = start, a4 = start, a5 = start, a6 = start, a7 = start, a8 = start,
          a9 = start, a10 = start, y0, y1;
  unsigned k;

  /* The depth - 1 blocks before the first are walked for what their rows give to it and its followers. */
  for (k = 1; k < depth; k++) {
    STEP(y0);
  }
  for (;;) {
    STEP(y0);
    STEP(y1);
    STORE(y0, y1);
  }
}

/* 768/625 and its like, 1 or 2 rows a step, written out: the accumulators keep their names, and the block that leaves
 * hands its register to the one that enters. */
#define INTO(a, k) a = dot2(a, row, coef + 8 * (k))

/* 15 or 16 taps a phase: 6 blocks a row, the last for the last row of a step. */
#define STEP_6(y, a, b, c, d, e, f)                                                                                    \
  do {                                                                                                                 \
    __m256i row;                                                                                                       \
    if (*step & TLG_STEP_MORE) {                                                                                       \
      HIDE(coef);                                                                                                      \
      row = row_of(x, bank, pick, 1);                                                                                  \
      INTO(a, 0);                                                                                                      \
      INTO(b, 1);                                                                                                      \
      INTO(c, 2);                                                                                                      \
      INTO(d, 3);                                                                                                      \
      INTO(e, 4);                                                                                                      \
      x += 4;                                                                                                          \
      coef += 40;                                                                                                      \
    }                                                                                                                  \
    row = row_of(x, bank, pick, 1);                                                                                    \
    INTO(a, 0);                                                                                                        \
    INTO(b, 1);                                                                                                        \
    INTO(c, 2);                                                                                                        \
    INTO(d, 3);                                                                                                        \
    INTO(e, 4);                                                                                                        \
    INTO(f, 5);                                                                                                        \
    x += 4;                                                                                                            \
    coef += 48;                                                                                                        \
    y = a;                                                                                                             \
    a = start;                                                                                                         \
    NEXT_STEP();                                                                                                       \
  } while (0)

static void run_6(const struct tlg_bank *bank, const struct run *run)
{
  enum { depth = 6 };
  WALK();
  __m256i a = start, b = start, c = start, d = start, e = start, f = start, y0, y1;

  STEP_6(y0, a, b, c, d, e, f);
  STEP_6(y0, b, c, d, e, f, a);
  STEP_6(y0, c, d, e, f, a, b);
  STEP_6(y0, d, e, f, a, b, c);
  STEP_6(y0, e, f, a, b, c, d);
  for (;;) {
    STEP_6(y0, f, a, b, c, d, e);
    STEP_6(y1, a, b, c, d, e, f);
    STORE(y0, y1);
    STEP_6(y0, b, c, d, e, f, a);
    STEP_6(y1, c, d, e, f, a, b);
    STORE(y0, y1);
    STEP_6(y0, d, e, f, a, b, c);
    STEP_6(y1, e, f, a, b, c, d);
    STORE(y0, y1);
  }
}

/* 23 or 24 taps a phase: 8 blocks a row, always. */
#define ROW_8(a, b, c, d, e, f, g, h)                                                                                  \
  do {                                                                                                                 \
    const __m256i row = row_of(x, bank, pick, 1);                                                                      \
    INTO(a, 0);                                                                                                        \
    INTO(b, 1);                                                                                                        \
    INTO(c, 2);                                                                                                        \
    INTO(d, 3);                                                                                                        \
    INTO(e, 4);                                                                                                        \
    INTO(f, 5);                                                                                                        \
    INTO(g, 6);                                                                                                        \
    INTO(h, 7);                                                                                                        \
    x += 4;                                                                                                            \
    coef += 64;                                                                                                        \
  } while (0)
#define STEP_8(y, a, b, c, d, e, f, g, h)                                                                              \
  do {                                                                                                                 \
    if (*step & TLG_STEP_MORE) {                                                                                       \
      HIDE(coef);                                                                                                      \
      ROW_8(a, b, c, d, e, f, g, h);                                                                                   \
    }                                                                                                                  \
    ROW_8(a, b, c, d, e, f, g, h);                                                                                     \
    y = a;                                                                                                             \
    a = start;                                                                                                         \
    NEXT_STEP();                                                                                                       \
  } while (0)

static void run_8(const struct tlg_bank *bank, const struct run *run)
{
  enum { depth = 8 };
  WALK();
  __m256i a = start, b = start, c = start, d = start, e = start, f = start, g = start, h = start, y0, y1;

  STEP_8(y0, a, b, c, d, e, f, g, h);
  STEP_8(y0, b, c, d, e, f, g, h, a);
  STEP_8(y0, c, d, e, f, g, h, a, b);
  STEP_8(y0, d, e, f, g, h, a, b, c);
  STEP_8(y0, e, f, g, h, a, b, c, d);
  STEP_8(y0, f, g, h, a, b, c, d, e);
  STEP_8(y0, g, h, a, b, c, d, e, f);
  for (;;) {
    STEP_8(y0, h, a, b, c, d, e, f, g);
    STEP_8(y1, a, b, c, d, e, f, g, h);
    STORE(y0, y1);
    STEP_8(y0, b, c, d, e, f, g, h, a);
    STEP_8(y1, c, d, e, f, g, h, a, b);
    STORE(y0, y1);
    STEP_8(y0, d, e, f, g, h, a, b, c);
    STEP_8(y1, e, f, g, h, a, b, c, d);
    STORE(y0, y1);
    STEP_8(y0, f, g, h, a, b, c, d, e);
    STEP_8(y1, g, h, a, b, c, d, e, f);
    STORE(y0, y1);
  }
}

static void run_rows(const struct tlg_bank *bank, const struct run *run)
{
  const int hot = bank->whole == 1 && bank->narrow;

  switch (bank->depth) {
  case 1:
    run_any(bank, run, 1);
    break;
  case 2:
    run_any(bank, run, 2);
    break;
  case 3:
    run_any(bank, run, 3);
    break;
  case 4:
    run_any(bank, run, 4);
    break;
  case 5:
    run_any(bank, run, 5);
    break;
  case 6:
    if (hot && bank->last == 1) {
      run_6(bank, run);
    } else {
      run_any(bank, run, 6);
    }
    break;
  case 7:
    run_any(bank, run, 7);
    break;
  case 8:
    if (hot && bank->last == 2) {
      run_8(bank, run);
    } else {
      run_any(bank, run, 8);
    }
    break;
  case 9:
    run_any(bank, run, 9);
    break;
  case 10:
    run_any(bank, run, 10);
    break;
  case 11:
    run_any(bank, run, 11);
    break;
  default:
    break; /* not laid out */
  }
}

TLG_DECL_RESAMPLE(tlg_resample_rows_avx2)
{
  struct run run = {.out = out, .x = x[0] - 2 * (ptrdiff_t)at.i};
  uint32_t u = at.u;

  /* A run inside one period, or over several if the grid of pairs goes on. */
  while (n) {
    size_t part = n;

    if (bank->period_in % 2 && part > bank->period - u) {
      part = bank->period - u;
    }
    run.n = (ptrdiff_t)part;
    run.block = u / 4;
    run.lane = u % 4;
    run_rows(bank, &run);
    run.out += part;
    n -= part;
    run.x += 2 * (ptrdiff_t)bank->period_in;
    u = 0;
  }
}

TLG_DECL_RESAMPLE(tlg_resample_dot_avx2)
{
  const int16_t *xi = x[0] - bank->stride + 1, *xq = x[1] - bank->stride + 1;
  const uint32_t step = bank->down / bank->up, rest = bank->down % bank->up;
  const __m128i shift = _mm_set1_epi32((int)bank->shift), add = _mm_set1_epi32(bank->round_add);
  uint32_t p = at.p;
  size_t j, t;

  for (j = 0; j < n; j++) {
    const int16_t *h = bank->coef + p * bank->stride;
    __m256i acc_i = _mm256_setzero_si256(), acc_q = acc_i;
    __m128i y;
    int32_t both;

    for (t = 0; t < bank->stride; t += 16) {
      const __m256i taps = load(h + t);

      acc_i = _mm256_add_epi32(acc_i, _mm256_madd_epi16(load(xi + t), taps));
      acc_q = _mm256_add_epi32(acc_q, _mm256_madd_epi16(load(xq + t), taps));
    }
    acc_i = _mm256_hadd_epi32(acc_i, acc_q);
    y = _mm_add_epi32(_mm256_castsi256_si128(acc_i), _mm256_extracti128_si256(acc_i, 1));
    y = _mm_srav_epi32(_mm_add_epi32(_mm_hadd_epi32(y, y), add), shift);
    if (bank->wrap) {
      y = _mm_srai_epi32(_mm_slli_epi32(y, 16), 16);
    }
    both = _mm_cvtsi128_si32(_mm_packs_epi32(y, y));
    memcpy(&out[j], &both, sizeof both);
    xi += step;
    xq += step;
    p += rest;
    if (p >= bank->up) {
      p -= bank->up;
      xi++;
      xq++;
    }
  }
}
#endif
