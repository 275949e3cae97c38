/* SPDX-License-Identifier: Apache-2.0 */
/* Public interface of dsp/: filter taps, the streaming resampler, exact elementary functions, random numbers.
 * Pure arithmetic: nothing here does I/O, starts threads or reads a clock. An object belongs to one thread at a
 * time; distinct objects are independent. Spectra (which need FFTW) are in tlg_spectra.h. */
#ifndef TLG_DSP_H
#define TLG_DSP_H

#include "taplag.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- taps ------------------------------------------------------------------------------------------------ */

/* Prototype low-pass h of n taps at up times the input rate, scaled by 2^shift; branch (phase) p holds
 * h[p + k*up]. Integer: |h| <= 32767. Designed phases each sum to exactly 2^shift. The owner frees h with
 * tlg_taps_free. */
struct tlg_taps {
  int16_t *h;
  size_t n;
  uint32_t up;
  unsigned shift; /* S, 1..15; 14 by default */
};

enum tlg_design_method { TLG_DESIGN_KAISER, TLG_DESIGN_EQUIRIPPLE, TLG_DESIGN_LEAST_SQUARES };

/* What a designed prototype should be. Zero means default. Frequencies are rates in Hz. */
struct tlg_design {
  enum tlg_design_method method;
  struct tlg_rate rate_in, rate_out;
  struct tlg_rate pass_hz; /* pass band edge; default min(9.0075 MHz, 0.3603 * the smaller rate) */
  struct tlg_rate stop_hz; /* first image edge; default the smaller rate - pass */
  unsigned taps_per_phase; /* T; default 16 for 768/625 and 20 for 625/768 with the default bands, else the least
                              for 80 dB */
  size_t n_taps;           /* N exactly (such as usrpL0's 10,000); default: the largest odd N <= T * up */
  double stop_weight;      /* equiripple and least squares: weight of the stop band; default 1 */
  double kaiser_beta;      /* Kaiser: 0 = chosen, see docs/filters.md */
  double image_limit_db;   /* least squares: reweighted until no image exceeds this level (-72); 0 = no limit */
  double ripple_limit_db;  /* least squares: the same for the gain's distance from 0 dB in the pass band (0.004) */
  unsigned shift;          /* default 14 */
};

/* Design taps by IEEE + - * / and square root in a fixed order: the same taps on every machine. On failure
 * (TLG_EINVAL: impossible request; TLG_ETAPS: cannot be scaled without overflow; TLG_ENOMEM) taps is untouched.
 * Source: Kaiser 1974; Parks & McClellan 1972; Lawson 1961; Oppenheim & Schafer ch. 7; docs/filters.md. */
TLG_API int tlg_taps_design(struct tlg_taps *taps, const struct tlg_design *design, struct tlg_error *err);
/* The prototype of the same design before it becomes integers, each phase summing to 1. The caller frees *h. */
TLG_API int tlg_design_prototype(double **h, size_t *n, const struct tlg_design *design, struct tlg_error *err);
/* The design behind tlg_taps_default for these rates. TLG_EINVAL for rates without a ratio. */
TLG_API int tlg_design_default(struct tlg_design *design, const struct tlg_rate *rate_in,
                               const struct tlg_rate *rate_out, struct tlg_error *err);
/* Put the defaults of pass_hz, stop_hz, taps_per_phase, n_taps, stop_weight, kaiser_beta and shift in their places. */
TLG_API int tlg_design_complete(struct tlg_design *design, struct tlg_error *err);
/* The project's own taps for a ratio: compiled-in data for 768/625 and 625/768 (25 and 30.72 Msps, or other rates in
 * that proportion), else designed by tlg_design_default; the single tap 2^14 for 1/1. */
TLG_API int tlg_taps_default(struct tlg_taps *taps, const struct tlg_rate *rate_in, const struct tlg_rate *rate_out,
                             struct tlg_error *err);
/* A copy of n given taps, checked as by tlg_taps_check. */
TLG_API int tlg_taps_copy(struct tlg_taps *taps, const int16_t *h, size_t n, uint32_t up, unsigned shift,
                          struct tlg_error *err);
/* TLG_ETAPS, with the phase named, if a phase's sum of |h| exceeds floor((2^31 - 1 - 2^(S-1)) / 32768) or a tap
 * is -32768: then the 32-bit accumulator could overflow. */
TLG_API int tlg_taps_check(const struct tlg_taps *taps, struct tlg_error *err);
TLG_API void tlg_taps_free(struct tlg_taps *taps);
/* Whether h[k] == h[n-1-k] for every k (then the delay below is exact, else nominal). */
TLG_API int tlg_taps_symmetric(const struct tlg_taps *taps);

/* What a filter does to a signal that fills the pass band evenly. Powers are relative to the signal's (the wanted
 * gain is 1: phases that sum to 2^shift); 10 log10 makes them dB. Aliases come from input beyond the pass band. */
struct tlg_response {
  double gain_min, gain_max;                   /* amplitude over the pass band */
  double image_worst, image_hz, image_from_hz; /* the strongest image of any tone in the band, where, of which tone */
  double image_total;                          /* all images together */
  double error;                                /* in the band at the output: gain error and the images that fold in */
  double error_gain, error_images;             /* its two parts */
  double alias_worst, alias_hz, alias_from_hz; /* the strongest tone from beyond the band that lands in it; 0 = none */
};

/* The response of taps between two rates, over +-pass_hz. Exact evaluation at a grid of frequencies, in a fixed
 * order. TLG_EINVAL (no such band; taps->up is not L of the rates), TLG_ENOMEM. */
TLG_API int tlg_taps_response(struct tlg_response *r, const struct tlg_taps *taps, const struct tlg_rate *rate_in,
                              const struct tlg_rate *rate_out, const struct tlg_rate *pass_hz, struct tlg_error *err);
/* Amplitude of the gain at a frequency num/den (0 <= num/den <= up/2) in units of the input rate. */
TLG_API double tlg_taps_gain(const struct tlg_taps *taps, uint64_t num, uint64_t den);

/* The phases as integers: their sums (gain * 2^shift) and sums of magnitudes, and where the extremes are. */
struct tlg_phases {
  int64_t sum_min, sum_max;
  uint32_t sum_min_at, sum_max_at;
  uint64_t magnitude; /* the largest sum of |h|; a phase can reach floor(magnitude * 32768 / 2^shift) */
  uint32_t magnitude_at;
  uint64_t magnitude_limit; /* what tlg_taps_check allows */
};
TLG_API void tlg_taps_phases(const struct tlg_taps *taps, struct tlg_phases *phases);

/* ---- resampler ------------------------------------------------------------------------------------------- */

enum tlg_rounding {
  TLG_ROUND_NEAREST, /* sat16((acc + 2^(S-1)) >> S): half goes up */
  TLG_ROUND_USRPL0,  /* wrap16(acc >> S): truncated and unsaturated, as the original */
};

/* Caps the instruction set; the kernel used is the best one not above the cap that this CPU has. Values rise
 * with the kernels on one architecture. */
enum tlg_cpu { TLG_CPU_AUTO, TLG_CPU_C, TLG_CPU_SSE2, TLG_CPU_AVX2, TLG_CPU_AVX512, TLG_CPU_VNNI, TLG_CPU_NEON };

/* "c", "sse2", "avx2", "avx512", "vnni", "neon", "auto"; TLG_EINVAL for other words. */
TLG_API int tlg_cpu_parse(enum tlg_cpu *cpu, const char *text);
TLG_API const char *tlg_cpu_name(enum tlg_cpu cpu);
/* Whether a kernel for exactly this level is built in and this CPU and OS support it. */
TLG_API int tlg_cpu_available(enum tlg_cpu cpu);

struct tlg_resamp_cfg {
  uint32_t up, down;           /* L and M, 1..65535; taken to lowest terms if they are not */
  const struct tlg_taps *taps; /* required; copied. taps->up must equal L in lowest terms, else TLG_ETAPS */
  enum tlg_rounding rounding;
  int align;        /* 1: take the group delay out, q0 = (N-1)/2 (odd N) or N/2 - 1 (even N) */
  enum tlg_cpu cpu; /* cap */
  size_t max_block; /* largest n of one tlg_resamp_process call; default 65536 */
};

struct tlg_resamp; /* opaque */

/* On failure *r is NULL and nothing is held. TLG_EINVAL, TLG_ETAPS, TLG_ENOMEM. */
TLG_API int tlg_resamp_new(struct tlg_resamp **r, const struct tlg_resamp_cfg *cfg, struct tlg_error *err);
TLG_API void tlg_resamp_free(struct tlg_resamp *r);
/* Back to sample 0 with empty history; the configuration stays. */
TLG_API void tlg_resamp_reset(struct tlg_resamp *r);

/* Exactly the number of outputs that the next n_in inputs complete. */
TLG_API size_t tlg_resamp_bound(const struct tlg_resamp *r, size_t n_in);
/* Resample n_in samples (0 is allowed) into out. cap_out >= tlg_resamp_bound(r, n_in), else TLG_ESPACE and
 * nothing is consumed; n_in > max_block is TLG_EINVAL. *got = outputs written. In and out must not overlap.
 * Never allocates, makes no system call. Source: Crochiere & Rabiner 1983, ch. 3; docs/arithmetic.md. */
TLG_API int tlg_resamp_process(struct tlg_resamp *r, const tlg_cs16 *in, size_t n_in, tlg_cs16 *out, size_t cap_out,
                               size_t *got);
/* Pass over d inputs that are missing, as if they were zeros, without emitting their outputs; *skipped = the
 * number of outputs left out. Serves gaps, drops, and starting the counters anywhere. TLG_EINVAL if a counter
 * would pass 2^62. */
TLG_API int tlg_resamp_skip(struct tlg_resamp *r, uint64_t d, uint64_t *skipped);
/* The outputs that remain at the end of the stream. causal: zeros are fed until the last input has left the
 * filter, so that floor(((n-1)*L + N - 1)/M) + 1 outputs exist in all; aligned: until ceil(n*L/M) exist.
 * tlg_resamp_flush_bound gives their number. May be called in pieces: writes at most cap_out, *got == 0 when
 * done. After it only reset is allowed (process gives TLG_EINVAL). */
TLG_API uint64_t tlg_resamp_flush_bound(const struct tlg_resamp *r);
TLG_API int tlg_resamp_flush(struct tlg_resamp *r, tlg_cs16 *out, size_t cap_out, size_t *got);

/* Samples taken in and outputs passed so far (emitted + skipped). */
TLG_API void tlg_resamp_position(const struct tlg_resamp *r, uint64_t *n_in, uint64_t *n_out);
/* L and M in lowest terms. */
TLG_API void tlg_resamp_ratio(const struct tlg_resamp *r, uint32_t *up, uint32_t *down);
/* Group delay in outputs as an exact fraction: (N-1)/(2M), or 0/1 when aligned with odd N (1/(2M) with even N). */
TLG_API void tlg_resamp_delay(const struct tlg_resamp *r, struct tlg_rate *outputs);
/* Outputs saturated so far are not counted in the kernels; this is the kernel in use. */
TLG_API enum tlg_cpu tlg_resamp_cpu(const struct tlg_resamp *r);

/* ---- exact functions and random numbers ------------------------------------------------------------------ */

/* cos and sin of 2 pi num/den (den > 0), by IEEE + - * / in a fixed order: the same bits everywhere, within
 * 2 units in the last place. */
TLG_API void tlg_cos_sin(uint64_t num, uint64_t den, double *cosine, double *sine);
/* 10^(db/20), the amplitude of a level, likewise; |db| <= 400. */
TLG_API double tlg_amplitude(double db);
/* e^x likewise, |x| <= 300. */
TLG_API double tlg_exp(double x);
/* The modified Bessel function of the first kind, order 0, by its power series, likewise; 0 <= x <= 300. */
TLG_API double tlg_bessel_i0(double x);

/* Philox4x32-10 (Salmon et al. 2011): out = block of four words for (counter, key). */
TLG_API void tlg_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

#ifdef __cplusplus
}
#endif
#endif
