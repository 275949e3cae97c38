/* SPDX-License-Identifier: Apache-2.0 */
/* The greatest common divisor, by which ratios of rates come to lowest terms. Internal. */
#ifndef GCD_H
#define GCD_H

#include <stdint.h>

__extension__ typedef unsigned __int128 tlg_u128;

/* gcd(a, 0) = a. */
static inline tlg_u128 tlg_gcd128(tlg_u128 a, tlg_u128 b)
{
  while (b) {
    const tlg_u128 r = a % b;

    a = b;
    b = r;
  }
  return a;
}

static inline uint64_t tlg_gcd(uint64_t a, uint64_t b)
{
  while (b) {
    const uint64_t r = a % b;

    a = b;
    b = r;
  }
  return a;
}

#endif
