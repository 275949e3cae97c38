/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels for SSE4.1 (level "sse2"): 4 outputs a register, I and Q apart. */
#if defined(__SSE4_1__)
#include "kernels.h"

#include <smmintrin.h>
#include <string.h>

static __m128i load(const void *p)
{
  return _mm_loadu_si128((const __m128i *)p);
}

static __m128i load_aligned(const void *p)
{
  return _mm_load_si128((const __m128i *)p);
}

static __m128i scaled(__m128i acc, const struct tlg_bank *bank)
{
  acc = _mm_sra_epi32(acc, _mm_cvtsi32_si128((int)bank->shift));
  return bank->wrap ? _mm_srai_epi32(_mm_slli_epi32(acc, 16), 16) : acc;
}

/* Outputs base .. base + 3 of the run from their accumulators; those in [0, n) are stored. */
static void store(tlg_cs16 *out, ptrdiff_t at, ptrdiff_t n, __m128i y)
{
  tlg_cs16 four[4];
  ptrdiff_t from = at < 0 ? -at : 0, to = at + 4 > n ? n - at : 4;

  if (from == 0 && to == 4) {
    _mm_storeu_si128((__m128i *)(void *)(out + at), y);
  } else {
    _mm_storeu_si128((__m128i *)(void *)four, y);
    memcpy(out + at + from, four + from, (size_t)(to - from) * sizeof *four);
  }
}

static void run_rows(tlg_cs16 *out, const int16_t *origin, size_t n, const struct tlg_bank *bank, uint32_t u)
{
  const __m128i order = _mm_setr_epi8(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15);
  const __m128i pick_i = load_aligned(bank->shuffle[0]), pick_q = load_aligned(bank->shuffle[0] + 16);
  const __m128i more_i = load_aligned(bank->shuffle[1]), more_q = load_aligned(bank->shuffle[1] + 16);
  const uint32_t blocks = bank->period / 4, twice = 2 * bank->up;
  const uint32_t whole = 4 * bank->down / twice, rest = 4 * bank->down % twice;
  const size_t second = 2 * (size_t)bank->second;
  const uint64_t q = (uint64_t)(u / 4) * 4 * bank->down + bank->q0;
  const int16_t *x = origin + 2 * (2 * ((ptrdiff_t)(q / twice) + 1) - 1);
  uint32_t b = u / 4, part = (uint32_t)(q % twice);
  ptrdiff_t at = -(ptrdiff_t)(u % 4);

  for (; at < (ptrdiff_t)n; at += 4) {
    const int16_t *coef = bank->coef + b * bank->stride, *row = x;
    __m128i acc_i = _mm_set1_epi32(bank->round_add), acc_q = acc_i, y;
    unsigned v;

    if (bank->narrow) {
      for (v = bank->rows; v; v--, row -= 4, coef += 8) {
        const __m128i h = load_aligned(coef), s = load(row);

        acc_i = _mm_add_epi32(acc_i, _mm_madd_epi16(_mm_shuffle_epi8(s, pick_i), h));
        acc_q = _mm_add_epi32(acc_q, _mm_madd_epi16(_mm_shuffle_epi8(s, pick_q), h));
      }
    } else {
      for (v = bank->rows; v; v--, row -= 4, coef += 8) {
        const __m128i h = load_aligned(coef), s = load(row), t = load(row + second);
        const __m128i i = _mm_or_si128(_mm_shuffle_epi8(s, pick_i), _mm_shuffle_epi8(t, more_i));
        const __m128i k = _mm_or_si128(_mm_shuffle_epi8(s, pick_q), _mm_shuffle_epi8(t, more_q));

        acc_i = _mm_add_epi32(acc_i, _mm_madd_epi16(i, h));
        acc_q = _mm_add_epi32(acc_q, _mm_madd_epi16(k, h));
      }
    }
    y = _mm_packs_epi32(scaled(acc_i, bank), scaled(acc_q, bank));
    store(out, at, (ptrdiff_t)n, _mm_shuffle_epi8(y, order));
    part += rest;
    x += 4 * (size_t)(whole + (part >= twice));
    part -= part >= twice ? twice : 0;
    b = b + 1 == blocks ? 0 : b + 1;
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
    run_rows(out, origin, part, bank, u);
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
    acc_i = scaled(_mm_add_epi32(acc_i, _mm_set1_epi32(bank->round_add)), bank);
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
