/* SPDX-License-Identifier: Apache-2.0 */
/* The 512-bit kernels, written once for AVX-512BW and for VNNI: the including file gives DOT2(acc, a, b) (acc plus the
 * sums of products of int16 pairs), PICK(index, words) (16-bit lanes picked across the register), PICK_INDEX(words)
 * (word numbers made into what PICK takes), and the name.
 *
 * A register holds 8 outputs, I in its lower half and Q in its upper. One load of 16 interleaved samples and one PICK
 * bring a pair of samples to each of the 8 lanes; all blocks of 8 outputs share the same index, as the coefficients
 * absorb the one sample by which a lane's place may differ (kernels.h). Rows of pairs are walked once: each is
 * multiplied into the `depth` blocks that it meets, whose accumulators stay in registers (3 at 768/625 with 16 taps),
 * and the coefficients lie in the order of that walk. */
#include "kernels.h"

#include <immintrin.h>

/* Keeps the compiler from moving loads through a pointer across a branch, where it would split them. */
#define HIDE(pointer) __asm__("" : "+r"(pointer))
#define INLINE static inline __attribute__((always_inline))

struct run {
  tlg_cs16 *out;
  size_t n;
  const int16_t *x; /* sample 0 of the period */
  uint32_t block;   /* its first block */
  uint32_t lane;    /* lane of the first output in it */
};

INLINE __m512i scaled(__m512i acc, __m512i shift, int wrap)
{
  acc = _mm512_srav_epi32(acc, shift);
  return wrap ? _mm512_srai_epi32(_mm512_slli_epi32(acc, 16), 16) : acc;
}

/* packs of two blocks has in its 128-bit lanes I0-3 of the first, of the second, I4-7 of both, then Q likewise. */
static const int16_t interleave[32]
    __attribute__((aligned(64))) = {0, 16, 1, 17, 2, 18, 3, 19, 8,  24, 9,  25, 10, 26, 11, 27,
                                    4, 20, 5, 21, 6, 22, 7, 23, 12, 28, 13, 29, 14, 30, 15, 31};

/* Store the 16 outputs of two blocks whose first is output `at` of the run: those in [0, n). */
INLINE void store_pair(tlg_cs16 *out, ptrdiff_t at, ptrdiff_t n, __m512i a, __m512i b, __m512i order)
{
  const __m512i y = PICK(order, _mm512_packs_epi32(a, b));

  if (at >= 0 && at + 16 <= n) {
    _mm512_storeu_si512(out + at, y);
  } else {
    unsigned mask = 0xffff;

    if (at < 0) {
      mask &= 0xffffU << -at;
    }
    if (at + 16 > n) {
      mask &= (1U << (n - at)) - 1;
    }
    _mm512_mask_storeu_epi32(out + at, (__mmask16)mask, y);
  }
}

INLINE __m512i coef_of(const int16_t *coef)
{
  return _mm512_broadcast_i64x4(_mm256_load_si256((const __m256i *)(const void *)coef));
}

/* The row of pairs of which x is the older sample of lane 0. While M < L, 8 samples hold it (narrow). */
INLINE __m512i row_of(const int16_t *x, __m512i index, int narrow)
{
  if (narrow) {
    return PICK(index, _mm512_castsi256_si512(_mm256_loadu_si256((const __m256i *)(const void *)x)));
  }
  return PICK(index, _mm512_loadu_si512(x));
}

/* Blocks one by one, nothing shared: for filters so long that a row meets too many blocks. */
static void run_single(const struct tlg_bank *bank, const struct run *run)
{
  const __m512i index = PICK_INDEX(_mm512_load_si512(bank->pick));
  const __m512i order = PICK_INDEX(_mm512_load_si512(interleave));
  const __m512i shift = _mm512_set1_epi32((int)bank->shift), start = _mm512_set1_epi32(bank->round_add);
  const uint32_t blocks = bank->period / 8, twice = 2 * bank->up;
  uint64_t q = (uint64_t)run->block * 8 * bank->down + bank->q0;
  uint32_t b = run->block;
  ptrdiff_t at;

  for (at = -(ptrdiff_t)run->lane; at < (ptrdiff_t)run->n; at += 16) {
    __m512i y[2];
    int k;

    for (k = 0; k < 2; k++) {
      const int16_t *coef = bank->coef + b * bank->stride;
      const int16_t *x = run->x + 2 * (2 * ((ptrdiff_t)(q / twice) + 1) - 1);
      __m512i acc0 = start, acc1 = _mm512_setzero_si512();
      unsigned v;

      for (v = 0; v + 2 <= bank->rows; v += 2) {
        acc0 = DOT2(acc0, row_of(x - 4 * (ptrdiff_t)v, index, 0), coef_of(coef + 16 * v));
        acc1 = DOT2(acc1, row_of(x - 4 * (ptrdiff_t)v - 4, index, 0), coef_of(coef + 16 * v + 16));
      }
      if (v < bank->rows) {
        acc0 = DOT2(acc0, row_of(x - 4 * (ptrdiff_t)v, index, 0), coef_of(coef + 16 * v));
      }
      y[k] = scaled(_mm512_add_epi32(acc0, acc1), shift, bank->wrap);
      q += 8 * (uint64_t)bank->down;
      b = b + 1 == blocks ? 0 : b + 1;
    }
    store_pair(run->out, at, (ptrdiff_t)run->n, y[0], y[1], order);
  }
}

/* ---- any depth ---- */

/* One row into the blocks that it meets: all of them (all = 1), or all but the last. */
#define ADD(a, number, all)                                                                                            \
  do {                                                                                                                 \
    if (depth > number || (depth == number && (all))) {                                                                \
      a = DOT2(a, row, coef_of(coef));                                                                                 \
      coef += 16;                                                                                                      \
    }                                                                                                                  \
  } while (0)
#define MEET(all)                                                                                                      \
  do {                                                                                                                 \
    const __m512i row = row_of(x, index, 0);                                                                           \
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
    for (e = whole + (*step & TLG_STEP_MORE); e-- > 0;) {                                                              \
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
  const __m512i index = PICK_INDEX(_mm512_load_si512(bank->pick));                                                     \
  const __m512i order = PICK_INDEX(_mm512_load_si512(interleave));                                                     \
  const __m512i shift = _mm512_set1_epi32((int)bank->shift), start = _mm512_set1_epi32(bank->round_add);               \
  const uint8_t *const end = bank->steps + depth - 1 + bank->period / 8;                                               \
  const uint8_t *step = bank->steps + run->block;                                                                      \
  const int16_t *coef = bank->coef + bank->walk[run->block].coef;                                                      \
  const int16_t *x = run->x + 2 * (ptrdiff_t)bank->walk[run->block].x;                                                 \
  const ptrdiff_t n = (ptrdiff_t)run->n;                                                                               \
  const int wrap = bank->wrap;                                                                                         \
  tlg_cs16 *const out = run->out;                                                                                      \
  ptrdiff_t at = -(ptrdiff_t)run->lane
#define STORE(y0, y1)                                                                                                  \
  do {                                                                                                                 \
    store_pair(out, at, n, scaled(y0, shift, wrap), scaled(y1, shift, wrap), order);                                   \
    at += 16;                                                                                                          \
    if (at >= n) {                                                                                                     \
      return;                                                                                                          \
    }                                                                                                                  \
  } while (0)

INLINE void run_any(const struct tlg_bank *bank, const struct run *run, const unsigned depth)
{
  WALK();
  const unsigned whole = bank->whole, last = bank->last;
  __m512i a0 = start, a1 = start, a2 = start, a3 = start, a4 = start, a5 = start, a6 = start, a7 = start, a8 = start,
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

/* ---- 768/625 and its like, 3 or 4 rows a step, written out ----
 * The accumulators keep their names: the block that leaves hands its registers to the one that enters. Odd rows have
 * accumulators of their own where a product takes longer than an addition, as else the chain of a block would be longer
 * than its share of the work. */
#if SPLIT
#define ODD(a) a##_odd
#define SUM(a) _mm512_add_epi32(a, a##_odd)
#else
#define ODD(a) a
#define SUM(a) a
#endif
#define INTO(a, k) a = DOT2(a, row, coef_of(coef + 16 * (k)))
#define CLEAR(a)                                                                                                       \
  do {                                                                                                                 \
    ODD(a) = _mm512_setzero_si512();                                                                                   \
    a = start;                                                                                                         \
  } while (0)

/* 15 or 16 taps a phase: 3 blocks a row, the third for the last 3 rows of a step. */
#define STEP_3(y, a, b, c)                                                                                             \
  do {                                                                                                                 \
    __m512i row;                                                                                                       \
    if (*step & TLG_STEP_MORE) {                                                                                       \
      HIDE(coef);                                                                                                      \
      row = row_of(x, index, 1);                                                                                       \
      INTO(ODD(a), 0);                                                                                                 \
      INTO(ODD(b), 1);                                                                                                 \
      x += 4;                                                                                                          \
      coef += 32;                                                                                                      \
    }                                                                                                                  \
    row = row_of(x, index, 1);                                                                                         \
    INTO(a, 0);                                                                                                        \
    INTO(b, 1);                                                                                                        \
    if (!(*step & TLG_STEP_LATE)) {                                                                                    \
      INTO(c, 2);                                                                                                      \
    }                                                                                                                  \
    row = row_of(x + 4, index, 1);                                                                                     \
    INTO(ODD(a), 3);                                                                                                   \
    INTO(ODD(b), 4);                                                                                                   \
    INTO(ODD(c), 5);                                                                                                   \
    row = row_of(x + 8, index, 1);                                                                                     \
    INTO(a, 6);                                                                                                        \
    INTO(b, 7);                                                                                                        \
    INTO(c, 8);                                                                                                        \
    x += 12;                                                                                                           \
    coef += 144;                                                                                                       \
    y = SUM(a);                                                                                                        \
    CLEAR(a);                                                                                                          \
    NEXT_STEP();                                                                                                       \
  } while (0)

static void run_3(const struct tlg_bank *bank, const struct run *run)
{
  enum { depth = 3 };
  WALK();
  __m512i a, b, c, y0, y1;
#if SPLIT
  __m512i a_odd, b_odd, c_odd;
#endif

  CLEAR(a);
  CLEAR(b);
  CLEAR(c);
  STEP_3(y0, a, b, c);
  STEP_3(y0, b, c, a);
  for (;;) {
    STEP_3(y0, c, a, b);
    STEP_3(y1, a, b, c);
    STORE(y0, y1);
    STEP_3(y0, b, c, a);
    STEP_3(y1, c, a, b);
    STORE(y0, y1);
    STEP_3(y0, a, b, c);
    STEP_3(y1, b, c, a);
    STORE(y0, y1);
  }
}

/* 23 or 24 taps a phase: 4 blocks a row, always. */
#define STEP_4(y, a, b, c, d)                                                                                          \
  do {                                                                                                                 \
    __m512i row;                                                                                                       \
    if (*step & TLG_STEP_MORE) {                                                                                       \
      HIDE(coef);                                                                                                      \
      row = row_of(x, index, 1);                                                                                       \
      INTO(ODD(a), 0);                                                                                                 \
      INTO(ODD(b), 1);                                                                                                 \
      INTO(ODD(c), 2);                                                                                                 \
      INTO(ODD(d), 3);                                                                                                 \
      x += 4;                                                                                                          \
      coef += 64;                                                                                                      \
    }                                                                                                                  \
    row = row_of(x, index, 1);                                                                                         \
    INTO(a, 0);                                                                                                        \
    INTO(b, 1);                                                                                                        \
    INTO(c, 2);                                                                                                        \
    INTO(d, 3);                                                                                                        \
    row = row_of(x + 4, index, 1);                                                                                     \
    INTO(ODD(a), 4);                                                                                                   \
    INTO(ODD(b), 5);                                                                                                   \
    INTO(ODD(c), 6);                                                                                                   \
    INTO(ODD(d), 7);                                                                                                   \
    row = row_of(x + 8, index, 1);                                                                                     \
    INTO(a, 8);                                                                                                        \
    INTO(b, 9);                                                                                                        \
    INTO(c, 10);                                                                                                       \
    INTO(d, 11);                                                                                                       \
    x += 12;                                                                                                           \
    coef += 192;                                                                                                       \
    y = SUM(a);                                                                                                        \
    CLEAR(a);                                                                                                          \
    NEXT_STEP();                                                                                                       \
  } while (0)

static void run_4(const struct tlg_bank *bank, const struct run *run)
{
  enum { depth = 4 };
  WALK();
  __m512i a, b, c, d, y0, y1;
#if SPLIT
  __m512i a_odd, b_odd, c_odd, d_odd;
#endif

  CLEAR(a);
  CLEAR(b);
  CLEAR(c);
  CLEAR(d);
  STEP_4(y0, a, b, c, d);
  STEP_4(y0, b, c, d, a);
  STEP_4(y0, c, d, a, b);
  for (;;) {
    STEP_4(y0, d, a, b, c);
    STEP_4(y1, a, b, c, d);
    STORE(y0, y1);
    STEP_4(y0, b, c, d, a);
    STEP_4(y1, c, d, a, b);
    STORE(y0, y1);
  }
}

/* A run inside one period, or over several if the grid of pairs goes on. */
static void run_rows(const struct tlg_bank *bank, const struct run *run)
{
  switch (bank->depth) {
  case 1:
    run_any(bank, run, 1);
    break;
  case 2:
    run_any(bank, run, 2);
    break;
  case 3:
    if (bank->whole == 3 && bank->last == 3) {
      run_3(bank, run);
    } else {
      run_any(bank, run, 3);
    }
    break;
  case 4:
    if (bank->whole == 3 && bank->last == 4) {
      run_4(bank, run);
    } else {
      run_any(bank, run, 4);
    }
    break;
  case 5:
    run_any(bank, run, 5);
    break;
  case 6:
    run_any(bank, run, 6);
    break;
  case 7:
    run_any(bank, run, 7);
    break;
  case 8:
    run_any(bank, run, 8);
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
    run_single(bank, run);
  }
}

TLG_DECL_RESAMPLE(RESAMPLE_ROWS)
{
  struct run run = {.out = out, .x = x[0] - 2 * (ptrdiff_t)at.i};
  uint32_t u = at.u;

  while (n) {
    size_t part = n;

    if (bank->period_in % 2 && part > bank->period - u) {
      part = bank->period - u;
    }
    run.n = part;
    run.block = u / 8;
    run.lane = u % 8;
    run_rows(bank, &run);
    run.out += part;
    n -= part;
    run.x += 2 * (ptrdiff_t)bank->period_in;
    u = 0;
  }
}

TLG_DECL_RESAMPLE(RESAMPLE_DOT)
{
  const int16_t *xi = x[0] - bank->stride + 1, *xq = x[1] - bank->stride + 1;
  const uint32_t step = bank->down / bank->up, rest = bank->down % bank->up;
  const __m128i shift = _mm_set1_epi32((int)bank->shift), add = _mm_set1_epi32(bank->round_add);
  uint32_t p = at.p;
  size_t j, t;

  for (j = 0; j < n; j++) {
    const int16_t *h = bank->coef + p * bank->stride;
    __m512i acc_i = _mm512_setzero_si512(), acc_q = acc_i;
    __m256i half;
    __m128i y;

    for (t = 0; t + 32 <= bank->stride; t += 32) {
      const __m512i taps = _mm512_loadu_si512(h + t);

      acc_i = DOT2(acc_i, _mm512_loadu_si512(xi + t), taps);
      acc_q = DOT2(acc_q, _mm512_loadu_si512(xq + t), taps);
    }
    if (t < bank->stride) {
      const __m512i taps = _mm512_maskz_loadu_epi32(0xff, h + t);

      acc_i = DOT2(acc_i, _mm512_maskz_loadu_epi32(0xff, xi + t), taps);
      acc_q = DOT2(acc_q, _mm512_maskz_loadu_epi32(0xff, xq + t), taps);
    }
    half = _mm256_hadd_epi32(_mm256_add_epi32(_mm512_castsi512_si256(acc_i), _mm512_extracti64x4_epi64(acc_i, 1)),
                             _mm256_add_epi32(_mm512_castsi512_si256(acc_q), _mm512_extracti64x4_epi64(acc_q, 1)));
    y = _mm_add_epi32(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
    y = _mm_srav_epi32(_mm_add_epi32(_mm_hadd_epi32(y, y), add), shift);
    if (bank->wrap) {
      y = _mm_srai_epi32(_mm_slli_epi32(y, 16), 16);
    }
    y = _mm_packs_epi32(y, y);
    _mm_mask_storeu_epi32(&out[j], 1, y);
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
