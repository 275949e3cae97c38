/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels for AVX-512 with VNNI and VBMI: one instruction a product of pairs, permutations of bytes. */
#if defined(__AVX512VNNI__) && defined(__AVX512VBMI__)
#define DOT2(acc, a, b) _mm512_dpwssd_epi32(acc, a, b)
#define PICK(index, words) _mm512_permutexvar_epi8(index, words)
/* A word is two bytes: 2w and 2w + 1. */
#define PICK_INDEX(words)                                                                                              \
  _mm512_add_epi16(_mm512_add_epi16(_mm512_slli_epi16(words, 1), _mm512_slli_epi16(words, 9)), _mm512_set1_epi16(0x100))
#define SPLIT 1
#define RESAMPLE_ROWS tlg_resample_rows_vnni
#define RESAMPLE_DOT tlg_resample_dot_vnni
#include "kernels_zmm.h"
#endif
