/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of libtaplag-spectra share: transforms with their buffers, and the ideal mapping of a spectrum. */
#ifndef SPECTRAL_H
#define SPECTRAL_H

#include "tlg_spectra.h"

/* Products as two sums, not a difference and a sum: gcc 12 vectorises the latter pair into fused multiply-adds where
 * the machine has them, -ffp-contract=off or not, and the bits would differ. */
static inline tlg_cf64 times(tlg_cf64 a, tlg_cf64 b)
{
  const double minus = -a.q;

  return (tlg_cf64){a.i * b.i + minus * b.q, a.i * b.q + a.q * b.i};
}

static inline tlg_cf64 times_conj(tlg_cf64 a, tlg_cf64 b)
{
  const double minus = -a.i;

  return (tlg_cf64){a.i * b.i + a.q * b.q, a.q * b.i + minus * b.q};
}

/* One transform of n points, from in to out (distinct, aligned). Unscaled. */
struct tlg_fft {
  size_t n;
  tlg_cf64 *in, *out;
  void *plan;
};

int tlg_fft_open(struct tlg_fft *f, size_t n, int inverse); /* 0 or TLG_ENOMEM; f is zeroed on failure */
void tlg_fft_close(struct tlg_fft *f);                      /* a zeroed f is allowed */
void tlg_fft_run(struct tlg_fft *f);

/* The spectrum of the ideal resampling of a block: n_in bins of x become n_out bins of r, with the amplitudes of a
 * block of n_out samples, delayed by a fraction of an output. shift holds tlg_shift_table(fraction), n_out entries,
 * or is NULL for none. */
void tlg_ideal_map(tlg_cf64 *r, size_t n_out, const tlg_cf64 *x, size_t n_in, const tlg_cf64 *shift);
/* shift[b] = exp(-j 2 pi k delay / n) for the signed bin k of b. */
void tlg_shift_table(tlg_cf64 *shift, size_t n, double delay);

/* Bins a block so that inputs and outputs are both whole: the even multiple of down nearest above target whose other
 * factors are small. */
/* Whether n has no prime factor above 7: lengths that transforms like. */
int tlg_smooth(size_t n);
size_t tlg_block_size(uint32_t down, size_t target);

#endif
