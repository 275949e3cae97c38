/* SPDX-License-Identifier: Apache-2.0 */
/* A discrete Fourier transform whose result has the same bits on every machine; for test signals, not for measuring. */
#ifndef EXACT_FFT_H
#define EXACT_FFT_H

#include <stddef.h>

struct exact_fft; /* opaque; read-only once made */

/* n = 2^a or 3 * 2^a, 4..2^24. The least such n >= wanted is exact_fft_size(wanted), 0 if there is none. */
size_t exact_fft_size(size_t wanted);
struct exact_fft *exact_fft_new(size_t n); /* NULL: n is no such size, or no memory */
void exact_fft_free(struct exact_fft *f);

/* In place, re and im apart (16-byte aligned): X[k] = sum x[n] e^(-j 2 pi k n / N), the X in the order of the
 * algorithm ... */
void exact_fft_forward(const struct exact_fft *f, double *re, double *im);
/* ... from which this returns N times the x in natural order. */
void exact_fft_backward(const struct exact_fft *f, double *re, double *im);
/* Where X[k] stands in that order. */
size_t exact_fft_place(const struct exact_fft *f, size_t k);

#endif
