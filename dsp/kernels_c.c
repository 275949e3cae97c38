/* SPDX-License-Identifier: Apache-2.0 */
/* The resampling kernel in plain C: the definition that every other kernel must equal byte for byte. */
#include "kernels.h"

#include <string.h>

/* The accumulator is exact in 32 bits, the rounding constant included (tlg_taps_check). */
static int16_t finish(int32_t acc, const struct tlg_bank *bank)
{
  int32_t y = (acc + bank->round_add) >> bank->shift;

  if (bank->wrap) {
    return (int16_t)(uint16_t)y;
  }
  return (int16_t)(y > INT16_MAX ? INT16_MAX : y < INT16_MIN ? INT16_MIN : y);
}

TLG_DECL_RESAMPLE(tlg_resample_c)
{
  const int16_t *newest = x[0];
  uint32_t p = at.p;
  const uint32_t step = bank->down / bank->up, rest = bank->down % bank->up;
  size_t j, k;

  for (j = 0; j < n; j++) {
    const int16_t *h = bank->coef + p * bank->stride;
    int32_t acc_i = 0, acc_q = 0;

    for (k = 0; k < bank->taps; k++) {
      acc_i += h[k] * newest[-2 * (ptrdiff_t)k];
      acc_q += h[k] * newest[-2 * (ptrdiff_t)k + 1];
    }
    out[j].i = finish(acc_i, bank);
    out[j].q = finish(acc_q, bank);
    newest += 2 * (size_t)step;
    p += rest;
    if (p >= bank->up) {
      p -= bank->up;
      newest += 2;
    }
  }
}

TLG_DECL_UNPACK(tlg_unpack_raw)
{
  memcpy(x[0], in, n * sizeof *in);
}
