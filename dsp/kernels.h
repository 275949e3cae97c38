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

/* The coefficients of one filter in the layout of one kernel.
 *
 * PLAIN: coef[p * stride + k] = h[p + k * L].
 *
 * DOT: coef[p * stride + t] = h[p + (stride - 1 - t) * L], zero where the prototype has ended, so that the sum over t
 * of coef[p * stride + t] * x[i - stride + 1 + t] is the accumulator.
 *
 * ROWS: the outputs of a period (which repeats the phases) are cut into blocks of `lanes`. In block b the first output
 * stands at input base = floor((b * lanes * M + q0) / L), counted from the period's start, and lane l at base +
 * spread[l] or one more. Row v of the block holds, for each lane, the taps that meet the lane's samples of row v:
 *   paired: samples 2 * (top - v) + spread[l] and the one before it, where top = base / 2 + 1: so the rows of all
 *     blocks of a period lie on one grid, and samples once brought into lanes serve several blocks;
 *   single: the sample base + reach - v, the same for all lanes; a multiple of four rows.
 * Taps that do not exist are 0.
 *
 * ROWS with depth > 0: the same rows in the order of one walk over the grid. A step is the rows between the tops of two
 * blocks that follow each other: `whole` rows, or one more (TLG_STEP_MORE). Each row of a step stands with the taps of
 * the block at whose top the step ends, then of the next depth - 1 blocks; the last of them is left out while it is
 * `last` rows or more to the step's end, as such a row cannot meet it. Where it does not meet the last block in the
 * first row that stands with it either, the step has TLG_STEP_LATE, and the taps there are 0. depth - 1 steps that lead
 * to block 0 come first. */
enum { TLG_STEP_MORE = 1, TLG_STEP_LATE = 2 };

struct tlg_walk {
  uint32_t coef; /* where the step's coefficients start, in int16 */
  int32_t x;     /* the older sample of lane 0 in the step's first row, counted from the period's start */
};

struct tlg_bank {
  enum tlg_form form;
  uint32_t up, down;  /* L and M in lowest terms */
  uint32_t q0;        /* q0 mod L: the phase of output 0 */
  size_t taps;        /* T */
  unsigned shift;     /* S */
  int round_add;      /* 2^(S-1), or 0 for TLG_ROUND_USRPL0 */
  int wrap;           /* 1: keep the low 16 bits (TLG_ROUND_USRPL0), 0: saturate */
  uint32_t period;    /* outputs after which the coefficients repeat */
  uint32_t period_in; /* the inputs that a period takes; if it is odd, the grid of pairs starts anew with each period */
  size_t stride;      /* int16 from one phase (or block of outputs) to the next */
  size_t coef_size;   /* bytes */
  int16_t *coef;      /* 64-byte aligned */
  unsigned lanes, rows, reach;
  unsigned depth; /* blocks that a row of samples can meet, if the rows lie in the order of a walk; else 0 */
  unsigned whole, last;
  size_t first;          /* where the coefficients of block 0's step start */
  uint8_t *steps;        /* depth - 1 + period / lanes of them */
  struct tlg_walk *walk; /* likewise */
  uint16_t spread[16];
  /* For 8 lanes: the words of a row's load that make it, I then Q. */
  uint16_t pick[32] __attribute__((aligned(64)));
  /* For 4 lanes: its bytes (0x80: none), I then Q, from a load at the older sample of lane 0; then those from a second
   * load `second` samples on, which holds lanes 2 and 3 where the first cannot (narrow = 0). */
  uint8_t shuffle[2][32] __attribute__((aligned(64)));
  uint32_t second;
  int narrow;
};

/* Where a run of outputs starts: phase p = q mod L of its first output, u = m mod bank->period, and i = floor(q / L)
 * counted from the start of that period. */
struct tlg_phase {
  uint32_t p, u, i;
};

/* out[j] for j in [0, n) as docs/arithmetic.md defines it. x[0] (and x[1] if the form keeps two planes) points at
 * sample i = floor(q / L) of the first output; T - 1 samples stand before it, all samples up to the newest that the
 * last output needs after it, and TLG_MARGIN readable ones beyond both. Writes out[0..n) and nothing else. */
#define TLG_DECL_RESAMPLE(name)                                                                                        \
  void name(tlg_cs16 *out, const int16_t *const x[2], size_t n, const struct tlg_bank *bank, struct tlg_phase at)
typedef TLG_DECL_RESAMPLE(tlg_resample_fn);
TLG_DECL_RESAMPLE(tlg_resample_c);
TLG_DECL_RESAMPLE(tlg_resample_rows_sse2);
TLG_DECL_RESAMPLE(tlg_resample_rows_avx2);
TLG_DECL_RESAMPLE(tlg_resample_rows_avx512);
TLG_DECL_RESAMPLE(tlg_resample_rows_vnni);
TLG_DECL_RESAMPLE(tlg_resample_rows_neon);
TLG_DECL_RESAMPLE(tlg_resample_dot_sse2);
TLG_DECL_RESAMPLE(tlg_resample_dot_avx2);
TLG_DECL_RESAMPLE(tlg_resample_dot_avx512);
TLG_DECL_RESAMPLE(tlg_resample_dot_vnni);
TLG_DECL_RESAMPLE(tlg_resample_dot_neon);

/* Bring n interleaved samples into the form's planes, starting at x[0] (and x[1]). Writes n samples a plane. */
#define TLG_DECL_UNPACK(name) void name(int16_t *const x[2], const tlg_cs16 *in, size_t n)
typedef TLG_DECL_UNPACK(tlg_unpack_fn);
TLG_DECL_UNPACK(tlg_unpack_raw);
TLG_DECL_UNPACK(tlg_unpack_sse2);
TLG_DECL_UNPACK(tlg_unpack_neon);

struct tlg_kernel {
  enum tlg_cpu cpu;
  enum tlg_form form;
  int planes;          /* 1: interleaved; 2: I and Q apart */
  unsigned lanes;      /* ROWS: outputs a block; DOT: taps are padded to a multiple of this */
  int paired;          /* ROWS: paired or single rows */
  unsigned max_depth;  /* ROWS: up to so many blocks a row are laid out as a walk */
  int walk_only;       /* ROWS: and with more blocks a row the kernel does not serve */
  unsigned max_spread; /* ROWS: the largest spread of the last lane that the kernel can gather */
  tlg_unpack_fn *unpack;
  tlg_resample_fn *resample;
};

/* The best kernel for this ratio and T that is not above cap; form < 0: any. NULL if a form is asked for that no
 * level up to cap has for this ratio. */
const struct tlg_kernel *tlg_kernel_choose(enum tlg_cpu cap, uint32_t up, uint32_t down, size_t taps, int form);
/* Bytes of coefficients, or SIZE_MAX if the kernel cannot serve the ratio. */
size_t tlg_bank_size(const struct tlg_kernel *kernel, uint32_t up, uint32_t down, size_t taps);

/* Lay out taps (checked already) for a kernel. TLG_ENOMEM. */
int tlg_bank_new(struct tlg_bank *bank, const struct tlg_kernel *kernel, const struct tlg_taps *taps, uint32_t down,
                 uint64_t q0, enum tlg_rounding rounding);
void tlg_bank_free(struct tlg_bank *bank);

/* tlg_resamp_new with the form given (tests and benches); form < 0: any. TLG_EUNAVAIL if there is none. */
int tlg_resamp_new_form(struct tlg_resamp **r, const struct tlg_resamp_cfg *cfg, int form, struct tlg_error *err);

#endif
