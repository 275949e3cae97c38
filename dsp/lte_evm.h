/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the EVM measurement share: the block of subframes in work, and the blind decision. */
#ifndef LTE_EVM_H
#define LTE_EVM_H

#include "tlg_lte_evm.h"

enum {
  EVM_RS_SYMBOLS = 4,               /* of a subframe, for ports 0 and 1 */
  EVM_MAX_RS = 2 * TLG_LTE_MAX_PRB, /* reference signals of a port in a symbol */
  EVM_MAX_RS_SC = 2 * EVM_MAX_RS,   /* subcarriers that carry any of a port */
  EVM_UNIT = 168,                   /* elements of a resource block pair */
};

/* ---- blind decision (lte_evm_decide.c) ---------------------------------------------------------------------- */

struct evm_decision {
  unsigned bits; /* 2, 4, 6, 8; 0 = none fits */
  double gain;   /* of the unit-power constellation */
  double ratio;  /* mean squared error over that of points spread evenly over a cell */
};

/* The constellation, and its gain, that n values fit best. noise = power of noise in them, as far as known; hint = what
 * to try first, may be NULL. n = 0 or too noisy: bits 0. */
void evm_decide(const tlg_cf64 *x, size_t n, double noise, const struct evm_decision *hint, struct evm_decision *d);
/* The point of the constellation nearest x / gain; times gain. */
tlg_cf64 evm_nearest(unsigned bits, double gain, tlg_cf64 x);

#endif
