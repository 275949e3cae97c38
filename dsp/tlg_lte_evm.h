/* SPDX-License-Identifier: Apache-2.0 */
/* Public interface of the EVM measurement on LTE downlink resource grids, part of libtaplag-spectra: error vector
 * magnitude as TS 36.104 annex E and TS 36.141 annex F define it, on one recording or on two of the same signal (before
 * and after a resampler). Nothing here does I/O, starts threads or reads a clock. An object belongs to one thread at a
 * time. What is measured and how: docs/lte.md. */
#ifndef TLG_LTE_EVM_H
#define TLG_LTE_EVM_H

#include "tlg_lte.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Positions of the transform's window: the two of the standard, and the middle of the cyclic prefix, at which symbols
 * are decided and two recordings are compared. */
enum { TLG_EVM_LOW, TLG_EVM_HIGH, TLG_EVM_MIDDLE, TLG_EVM_WINDOWS };
/* How far before the end of the cyclic prefix they begin, in T_s (0..144). TLG_EINVAL for another prb. Source: TS
 * 36.104, table E.5.1-1: windows of W = 5, 12, 32, 66, 102, 136 samples in the middle of the prefix, of which low is
 * the first one and high the last. */
TLG_API int tlg_lte_evm_windows(unsigned prb, double advance_ts[TLG_EVM_WINDOWS]);

struct tlg_lte_evm_cfg {
  struct tlg_lte_cell cell;
  unsigned sc_first, sc_end; /* subcarriers that the recordings show; 0, 0 = all */
  unsigned average;          /* subframes over which reference signals are averaged, 1..100; default 10 */
  unsigned smooth;           /* of how many reference subcarriers the moving average is, odd, 1..201; default 19 */
  unsigned streams;          /* recordings of one and the same signal, 1 or 2; default 1 */
};

struct tlg_lte_evm; /* opaque */

/* On failure *e is NULL. TLG_EINVAL, TLG_ENOMEM. */
TLG_API int tlg_lte_evm_new(struct tlg_lte_evm **e, const struct tlg_lte_evm_cfg *cfg, struct tlg_error *err);
TLG_API void tlg_lte_evm_free(struct tlg_lte_evm *e);
/* Take subframe k (k % 10 its number in the frame, k >= 0; in any order): grid[stream * TLG_EVM_WINDOWS + window] is
 * its resource grid there, 14 rows of 12 prb elements (tlg_lte_rx_subframe). Elements are copied; those out of sight
 * may be anything. An element that is not a finite number: TLG_EINVAL, and nothing is taken. */
TLG_API int tlg_lte_evm_push(struct tlg_lte_evm *e, int64_t k, const tlg_cf64 *const *grid);

/* EVM as a fraction of the reference (0.08 = 8 %) over n elements; NaN when n is 0. */
struct tlg_evm_figure {
  uint64_t n;
  double rms, peak;
};

/* The physical channels and signals with an EVM of their own. */
enum {
  TLG_EVM_QPSK, /* PDSCH by modulation */
  TLG_EVM_16QAM,
  TLG_EVM_64QAM,
  TLG_EVM_256QAM,
  TLG_EVM_PBCH,
  TLG_EVM_PCFICH,
  TLG_EVM_PDCCH,
  TLG_EVM_PSS,
  TLG_EVM_SSS,
  TLG_EVM_CRS,
  TLG_EVM_CHANNELS,
  TLG_EVM_MODULATIONS = 4,
};
TLG_API const char *tlg_evm_channel_name(int channel); /* "QPSK" ... "CRS" */
/* The limit of TS 36.104, 6.5.2, or with test not 0 that of TS 36.141, 6.5.2, for a modulation, as a fraction. */
TLG_API double tlg_evm_limit(int modulation, int test);

struct tlg_lte_evm_channel {
  uint64_t units; /* resource block pairs of a subframe: what the standard averages over; PDSCH only */
  /* At each window; rms over units (annex E.7) for PDSCH, over elements for the others. */
  struct tlg_evm_figure after[TLG_EVM_WINDOWS];  /* equalised */
  struct tlg_evm_figure before[TLG_EVM_WINDOWS]; /* only frequency, timing and one complex gain taken out */
  double evm, evm_before; /* the standard's figure: in each block of subframes the larger of low and high; rms of all */
};

struct tlg_lte_evm_subframe {
  int64_t k;
  unsigned cfi;                   /* symbols of control region: as decoded, 0 = not readable (the largest is assumed) */
  uint64_t n;                     /* PDSCH elements measured */
  double rms[TLG_EVM_WINDOWS];    /* of them, after equalisation; NaN = none */
  double offset_hz, lag_ts, gain; /* taken out: residual frequency and timing, amplitude (least bits) */
  /* Second stream: error vectors to the first one's PDSCH, equalised, in the middle window, against the reference
   * signals: rms of all, and of the symbol where they are largest; NaN = none. */
  double added, added_worst;
  unsigned added_symbol; /* that one */
};

struct tlg_lte_evm_stream {
  struct tlg_lte_evm_channel channel[TLG_EVM_CHANNELS];
  struct tlg_lte_evm_channel pdsch; /* all modulations together */
  int worst;                        /* TLG_EVM_LOW or _HIGH: where PDSCH is worse; what follows is taken there */
  struct tlg_evm_figure subcarrier[TLG_LTE_MAX_SC], symbol[TLG_LTE_SYMBOLS], number[10]; /* subframe 0..9 of frames */
  double rs_dbfs;                        /* power of port 0's reference signals in one element, mean over the band */
  double flatness_db;                    /* highest less lowest amplitude of the equaliser */
  double noise_dbc;                      /* what reference signals differ from the equaliser, relative to them */
  double offset_hz, lag_ts;              /* residual frequency and timing that were taken out, means */
  struct tlg_lte_evm_subframe *subframe; /* as pushed; owned by the object */
};

struct tlg_lte_evm_result {
  unsigned subframes, blocks; /* measured; blocks of `average` */
  unsigned average;           /* subframes averaged: as asked, or as many as there are */
  uint64_t units_empty;       /* PRB pairs that carry nothing */
  uint64_t units_unclear;     /* that carry something which is none of the constellations, or too much noise */
  uint64_t units;             /* all that could be seen */
  double rho_b;               /* PDSCH power in symbols with reference signals over that in the others */
  double pdsch_db;            /* PDSCH power in the others over that of the reference signals; NaN = none */
  struct tlg_lte_evm_stream stream[2];
  /* Two streams: error vectors between their elements of PDSCH (each stream's own equaliser), relative to PDSCH. */
  struct tlg_evm_figure added_after[TLG_EVM_WINDOWS], added_before[TLG_EVM_WINDOWS];
};

/* Measure what has not been measured yet, and tell. The result belongs to e; more subframes may follow. */
TLG_API int tlg_lte_evm_finish(struct tlg_lte_evm *e, const struct tlg_lte_evm_result **result);

#ifdef __cplusplus
}
#endif
#endif
