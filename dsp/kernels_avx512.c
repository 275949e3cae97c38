/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels for AVX-512BW. */
#if defined(__AVX512BW__) && defined(__AVX512VL__)
#define DOT2(acc, a, b) _mm512_add_epi32(acc, _mm512_madd_epi16(a, b))
#define PICK(index, words) _mm512_permutexvar_epi16(index, words)
#define PICK_INDEX(words) (words)
#define SPLIT 0
#define RESAMPLE_ROWS tlg_resample_rows_avx512
#define RESAMPLE_DOT tlg_resample_dot_avx512
#include "kernels_zmm.h"
#endif
