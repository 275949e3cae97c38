/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels for NEON (aarch64): 8 outputs side by side, each input sample multiplied as a scalar into all of them. */
#if defined(__aarch64__)
#include "kernels.h"

#include <arm_neon.h>
#include <string.h>

/* The accumulators of 8 outputs. */
struct eight {
  int32x4_t i_low, i_high, q_low, q_high;
};

/* One sample (words 2 * lane and 2 * lane + 1 of four samples) with the taps that meet it. */
#define MEET(acc, taps, four, lane)                                                                                    \
  do {                                                                                                                 \
    (acc).i_low = vmlal_laneq_s16((acc).i_low, vget_low_s16(taps), four, 2 * (lane));                                  \
    (acc).i_high = vmlal_high_laneq_s16((acc).i_high, taps, four, 2 * (lane));                                         \
    (acc).q_low = vmlal_laneq_s16((acc).q_low, vget_low_s16(taps), four, 2 * (lane) + 1);                              \
    (acc).q_high = vmlal_high_laneq_s16((acc).q_high, taps, four, 2 * (lane) + 1);                                     \
  } while (0)

static inline int16x8_t narrowed(int32x4_t low, int32x4_t high, int32x4_t right, int wrap)
{
  low = vshlq_s32(low, right);
  high = vshlq_s32(high, right);
  return wrap ? vmovn_high_s32(vmovn_s32(low), high) : vqmovn_high_s32(vqmovn_s32(low), high);
}

TLG_DECL_RESAMPLE(tlg_resample_rows_neon)
{
  const int32x4_t start = vdupq_n_s32(bank->round_add), right = vdupq_n_s32(-(int)bank->shift);
  const uint32_t up = bank->up, blocks = bank->period / 8;
  const uint32_t whole = 8 * bank->down / up, rest = 8 * bank->down % up;
  const uint64_t q = (uint64_t)(at.u / 8) * 8 * bank->down + bank->q0;
  /* The four samples whose newest meets row 0. */
  const int16_t *newest = x[0] + 2 * ((ptrdiff_t)(q / up) - (ptrdiff_t)at.i + (ptrdiff_t)bank->reach - 3);
  const int16_t *taps = bank->coef + at.u / 8 * bank->stride;
  uint32_t b = at.u / 8, part = (uint32_t)(q % up);
  ptrdiff_t to = (ptrdiff_t)n, place = -(ptrdiff_t)(at.u % 8);

  for (; place < to; place += 8) {
    struct eight acc = {start, start, start, start};
    const int16_t *samples = newest, *end = taps + bank->stride;
    int16x8x2_t y;

    while (taps < end) {
      const int16x8_t four = vld1q_s16(samples);
      const int16x8x4_t h = vld1q_s16_x4(taps);

      MEET(acc, h.val[0], four, 3);
      MEET(acc, h.val[1], four, 2);
      MEET(acc, h.val[2], four, 1);
      MEET(acc, h.val[3], four, 0);
      samples -= 8;
      taps += 32;
    }
    y.val[0] = narrowed(acc.i_low, acc.i_high, right, bank->wrap);
    y.val[1] = narrowed(acc.q_low, acc.q_high, right, bank->wrap);
    if (place >= 0 && place + 8 <= to) {
      vst2q_s16(&out[place].i, y);
    } else {
      const ptrdiff_t first = place < 0 ? -place : 0, past = place + 8 > to ? to - place : 8;
      tlg_cs16 some[8];

      vst2q_s16(&some[0].i, y);
      memcpy(out + place + first, some + first, (size_t)(past - first) * sizeof *some);
    }
    newest += 2 * (size_t)whole;
    part += rest;
    if (part >= up) {
      part -= up;
      newest += 2;
    }
    if (++b == blocks) {
      b = 0;
      taps = bank->coef;
    }
  }
}

TLG_DECL_RESAMPLE(tlg_resample_dot_neon)
{
  const int16_t *xi = x[0] - bank->stride + 1, *xq = x[1] - bank->stride + 1;
  const uint32_t step = bank->down / bank->up, rest = bank->down % bank->up;
  uint32_t p = at.p;
  size_t j, t;

  for (j = 0; j < n; j++) {
    const int16_t *h = bank->coef + p * bank->stride;
    struct eight acc;
    int32x4_t both;

    acc.i_low = acc.i_high = acc.q_low = acc.q_high = vdupq_n_s32(0);
    for (t = 0; t < bank->stride; t += 8) {
      const int16x8_t taps = vld1q_s16(h + t), i = vld1q_s16(xi + t), q = vld1q_s16(xq + t);

      acc.i_low = vmlal_s16(acc.i_low, vget_low_s16(i), vget_low_s16(taps));
      acc.i_high = vmlal_high_s16(acc.i_high, i, taps);
      acc.q_low = vmlal_s16(acc.q_low, vget_low_s16(q), vget_low_s16(taps));
      acc.q_high = vmlal_high_s16(acc.q_high, q, taps);
    }
    both = vpaddq_s32(vaddq_s32(acc.i_low, acc.i_high), vaddq_s32(acc.q_low, acc.q_high));
    both = vaddq_s32(vpaddq_s32(both, both), vdupq_n_s32(bank->round_add));
    vst1_lane_s32((int32_t *)(void *)&out[j],
                  vreinterpret_s32_s16(vget_low_s16(narrowed(both, both, vdupq_n_s32(-(int)bank->shift), bank->wrap))),
                  0);
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

TLG_DECL_UNPACK(tlg_unpack_neon)
{
  size_t k = 0;

  for (; k + 8 <= n; k += 8) {
    const int16x8x2_t y = vld2q_s16(&in[k].i);

    vst1q_s16(x[0] + k, y.val[0]);
    vst1q_s16(x[1] + k, y.val[1]);
  }
  for (; k < n; k++) {
    x[0][k] = in[k].i;
    x[1][k] = in[k].q;
  }
}
#endif
