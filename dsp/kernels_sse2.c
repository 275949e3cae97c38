/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels for SSE4.1 (level "sse2"): 4 outputs a register, I and Q apart. */
#if defined(__SSE4_1__)
#include "kernels.h"

#include <smmintrin.h>
#include <string.h>

#if defined(__GNUC__) && !defined(__clang__)
#define UNROLL(n) _Pragma(#n)
#else
#define UNROLL(n)
#endif
#define INLINE static inline __attribute__((always_inline))

INLINE __m128i load(const void *p)
{
  return _mm_loadu_si128((const __m128i *)p);
}

INLINE __m128i load_aligned(const void *p)
{
  return _mm_load_si128((const __m128i *)p);
}

INLINE __m128i scaled(__m128i acc, __m128i shift, int wrap)
{
  acc = _mm_sra_epi32(acc, shift);
  return wrap ? _mm_srai_epi32(_mm_slli_epi32(acc, 16), 16) : acc;
}

/* Outputs at .. at + 3 of the run; those in [0, n) are stored. */
INLINE void store(tlg_cs16 *out, ptrdiff_t at, ptrdiff_t n, __m128i y)
{
  if (at >= 0 && at + 4 <= n) {
    _mm_storeu_si128((__m128i *)(void *)(out + at), y);
  } else {
    const ptrdiff_t from = at < 0 ? -at : 0, to = at + 4 > n ? n - at : 4;
    tlg_cs16 four[4];

    _mm_storeu_si128((__m128i *)(void *)four, y);
    memcpy(out + at + from, four + from, (size_t)(to - from) * sizeof *four);
  }
}

/* The accumulators of a block, I and Q. */
struct pair {
  __m128i i, q;
};

INLINE struct pair meet(struct pair acc, const int16_t *x, const int16_t *coef, const struct tlg_bank *bank, int narrow)
{
  const __m128i h = load_aligned(coef), s = load(x);
  __m128i i = _mm_shuffle_epi8(s, load_aligned(bank->shuffle[0]));
  __m128i q = _mm_shuffle_epi8(s, load_aligned(bank->shuffle[0] + 16));

  if (!narrow) {
    const __m128i t = load(x + 2 * bank->second);

    i = _mm_or_si128(i, _mm_shuffle_epi8(t, load_aligned(bank->shuffle[1])));
    q = _mm_or_si128(q, _mm_shuffle_epi8(t, load_aligned(bank->shuffle[1] + 16)));
  }
  acc.i = _mm_add_epi32(acc.i, _mm_madd_epi16(i, h));
  acc.q = _mm_add_epi32(acc.q, _mm_madd_epi16(q, h));
  return acc;
}

/* rows, in the hot cases, and narrow are constants where this is used. */
INLINE void run_rows(tlg_cs16 *out, const int16_t *origin, size_t n, const struct tlg_bank *bank, uint32_t u,
                     const unsigned rows, const int narrow)
{
  const __m128i order = _mm_setr_epi8(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15);
  const __m128i shift = _mm_cvtsi32_si128((int)bank->shift), start = _mm_set1_epi32(bank->round_add);
  const uint32_t blocks = bank->period / 4, twice = 2 * bank->up;
  const uint32_t whole = 4 * bank->down / twice, rest = 4 * bank->down % twice;
  const uint64_t q = (uint64_t)(u / 4) * 4 * bank->down + bank->q0;
  const int16_t *x = origin + 2 * (2 * ((ptrdiff_t)(q / twice) + 1) - 1);
  const int16_t *coef = bank->coef + u / 4 * bank->stride;
  const int wrap = bank->wrap;
  uint32_t b = u / 4, part = (uint32_t)(q % twice);
  ptrdiff_t at = -(ptrdiff_t)(u % 4);

  for (; at < (ptrdiff_t)n; at += 4) {
    struct pair acc = {start, start};
    unsigned v;

    UNROLL(GCC unroll 16)
    for (v = 0; v < rows; v++) {
      acc = meet(acc, x - 4 * (ptrdiff_t)v, coef + 8 * v, bank, narrow);
    }
    acc.i = _mm_packs_epi32(scaled(acc.i, shift, wrap), scaled(acc.q, shift, wrap));
    store(out, at, (ptrdiff_t)n, _mm_shuffle_epi8(acc.i, order));
    part += rest;
    x += 4 * (size_t)(whole + (part >= twice));
    part -= part >= twice ? twice : 0;
    coef += bank->stride;
    if (++b == blocks) {
      b = 0;
      coef = bank->coef;
    }
  }
}

TLG_DECL_RESAMPLE(tlg_resample_rows_sse2)
{
  const int16_t *origin = x[0] - 2 * (ptrdiff_t)at.i;
  uint32_t u = at.u;

  while (n) {
    size_t part = n;

    if (bank->period_in % 2 && part > bank->period - u) {
      part = bank->period - u;
    }
    if (!bank->narrow) {
      run_rows(out, origin, part, bank, u, bank->rows, 0);
    } else if (bank->rows == 9) { /* 15 or 16 taps */
      run_rows(out, origin, part, bank, u, 9, 1);
    } else {
      run_rows(out, origin, part, bank, u, bank->rows, 1);
    }
    out += part;
    n -= part;
    origin += 2 * (ptrdiff_t)bank->period_in;
    u = 0;
  }
}

TLG_DECL_RESAMPLE(tlg_resample_dot_sse2)
{
  const int16_t *xi = x[0] - bank->stride + 1, *xq = x[1] - bank->stride + 1;
  const uint32_t step = bank->down / bank->up, rest = bank->down % bank->up;
  const __m128i shift = _mm_cvtsi32_si128((int)bank->shift);
  uint32_t p = at.p;
  size_t j, t;

  for (j = 0; j < n; j++) {
    const int16_t *h = bank->coef + p * bank->stride;
    __m128i acc_i = _mm_setzero_si128(), acc_q = acc_i;
    int32_t both;

    for (t = 0; t < bank->stride; t += 8) {
      const __m128i taps = load_aligned(h + t);

      acc_i = _mm_add_epi32(acc_i, _mm_madd_epi16(load(xi + t), taps));
      acc_q = _mm_add_epi32(acc_q, _mm_madd_epi16(load(xq + t), taps));
    }
    acc_i = _mm_hadd_epi32(acc_i, acc_q);
    acc_i = _mm_hadd_epi32(acc_i, acc_i);
    acc_i = scaled(_mm_add_epi32(acc_i, _mm_set1_epi32(bank->round_add)), shift, bank->wrap);
    both = _mm_cvtsi128_si32(_mm_packs_epi32(acc_i, acc_i));
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

TLG_DECL_UNPACK(tlg_unpack_sse2)
{
  const __m128i apart = _mm_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15);
  size_t k = 0;

  for (; k + 8 <= n; k += 8) {
    const __m128i a = _mm_shuffle_epi8(load(in + k), apart), b = _mm_shuffle_epi8(load(in + k + 4), apart);

    _mm_storeu_si128((__m128i *)(void *)(x[0] + k), _mm_unpacklo_epi64(a, b));
    _mm_storeu_si128((__m128i *)(void *)(x[1] + k), _mm_unpackhi_epi64(a, b));
  }
  for (; k < n; k++) {
    x[0][k] = in[k].i;
    x[1][k] = in[k].q;
  }
}
#endif
