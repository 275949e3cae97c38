/* SPDX-License-Identifier: Apache-2.0 */
/* The contract of the resampling kernels, the coefficient layouts they read, and how one is chosen. Internal. */
#ifndef KERNELS_H
#define KERNELS_H

#include "tlg_dsp.h"

/* Samples before the history and after the newest sample that a kernel may read (never use) in the resampler's own
 * buffer, in each plane. */
#define TLG_MARGIN 128

/* How coefficients lie, and in which form samples are kept. */
enum tlg_form {
  TLG_FORM_PLAIN, /* one row of T taps a phase; samples interleaved */
  TLG_FORM_ROWS,  /* outputs side by side in the lanes of a register; samples interleaved */
  TLG_FORM_DOT,   /* taps side by side, reversed, so that memory runs forward; samples in two planes, I and Q */
};

/* The coefficients of one filter in the layout of one kernel. */
struct tlg_bank {
  enum tlg_form form;
  uint32_t up, down; /* L and M in lowest terms */
  uint32_t q0;       /* q0 mod L: the phase of output 0 */
  size_t taps;       /* T */
  unsigned shift;    /* S */
  int round_add;     /* 2^(S-1), or 0 for TLG_ROUND_USRPL0 */
  int wrap;          /* 1: keep the low 16 bits (TLG_ROUND_USRPL0), 0: saturate */
  uint32_t period;   /* outputs after which the coefficients repeat */
  size_t stride;     /* int16 from one phase (or block of outputs) to the next */
  int16_t *coef;     /* 64-byte aligned */
  size_t coef_size;  /* bytes */
};

/* Where a run of outputs starts: phase p = q mod L of its first output, and u = m mod bank->period. */
struct tlg_phase {
  uint32_t p, u;
};

/* out[j] for j in [0, n) as docs/arithmetic.md defines it. x[0] (and x[1] if the form keeps two planes) points at
 * sample i = floor(q / L) of the first output; T - 1 samples stand before it, all samples up to the newest that the
 * last output needs after it, and TLG_MARGIN readable ones beyond both. Writes out[0..n) and nothing else. */
#define TLG_DECL_RESAMPLE(name)                                                                                        \
  void name(tlg_cs16 *out, const int16_t *const x[2], size_t n, const struct tlg_bank *bank, struct tlg_phase at)
typedef TLG_DECL_RESAMPLE(tlg_resample_fn);
TLG_DECL_RESAMPLE(tlg_resample_c);

/* Bring n interleaved samples into the form's planes, starting at x[0] (and x[1]). Writes n samples a plane. */
#define TLG_DECL_UNPACK(name) void name(int16_t *const x[2], const tlg_cs16 *in, size_t n)
typedef TLG_DECL_UNPACK(tlg_unpack_fn);
TLG_DECL_UNPACK(tlg_unpack_raw);

struct tlg_kernel {
  enum tlg_cpu cpu;
  enum tlg_form form;
  int planes; /* 1: interleaved; 2: I and Q apart */
  tlg_unpack_fn *unpack;
  tlg_resample_fn *resample;
};

/* The best kernel for this ratio, T and bank size that is not above cap; form < 0: any. NULL only if a form is asked
 * for that the level has not. */
const struct tlg_kernel *tlg_kernel_choose(enum tlg_cpu cap, uint32_t up, uint32_t down, size_t taps, int form);

/* Lay out taps (checked already) for a kernel. TLG_ENOMEM. */
int tlg_bank_new(struct tlg_bank *bank, const struct tlg_kernel *kernel, const struct tlg_taps *taps, uint32_t down,
                 uint64_t q0, enum tlg_rounding rounding);
void tlg_bank_free(struct tlg_bank *bank);

/* tlg_resamp_new with the form given (tests and benches); form < 0: any. TLG_EUNAVAIL if there is none. */
int tlg_resamp_new_form(struct tlg_resamp **r, const struct tlg_resamp_cfg *cfg, int form, struct tlg_error *err);
/* The form in use. */
enum tlg_form tlg_resamp_form(const struct tlg_resamp *r);

#endif
