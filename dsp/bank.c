/* SPDX-License-Identifier: Apache-2.0 */
/* Coefficient layouts: the prototype's taps brought into the order in which a kernel reads them. */
#include "kernels.h"

#include <stdlib.h>
#include <string.h>

int tlg_bank_new(struct tlg_bank *bank, const struct tlg_kernel *kernel, const struct tlg_taps *taps, uint32_t down,
                 uint64_t q0, enum tlg_rounding rounding)
{
  const uint32_t up = taps->up;
  struct tlg_bank b = {.form = kernel->form, .up = up, .down = down, .shift = taps->shift};
  size_t p, k;

  b.q0 = (uint32_t)(q0 % up);
  b.taps = (taps->n + up - 1) / up;
  b.round_add = rounding == TLG_ROUND_USRPL0 ? 0 : 1 << (taps->shift - 1);
  b.wrap = rounding == TLG_ROUND_USRPL0;
  b.period = up;
  b.stride = b.taps;
  b.coef_size = (b.stride * up * sizeof *b.coef + 63) / 64 * 64;
  b.coef = aligned_alloc(64, b.coef_size);
  if (!b.coef) {
    return TLG_ENOMEM;
  }
  memset(b.coef, 0, b.coef_size);
  for (p = 0; p < up; p++) {
    for (k = 0; k < b.taps && p + k * up < taps->n; k++) {
      b.coef[p * b.stride + k] = taps->h[p + k * up];
    }
  }
  *bank = b;
  return TLG_OK;
}

void tlg_bank_free(struct tlg_bank *bank)
{
  free(bank->coef);
  bank->coef = NULL;
}
