/* SPDX-License-Identifier: Apache-2.0 */
/* Public interface of the LTE receiver's front half, part of libtaplag-spectra (FFTW, double precision): find FDD
 * downlink cells (normal cyclic prefix) in a recording at any rate and deliver synchronised resource grids.
 * Nothing here does I/O, starts threads or reads a clock. An object belongs to one thread at a time.
 * Source: 3GPP TS 36.211 (clauses 6.6, 6.10, 6.11, 6.12), TS 36.212 (5.1, 5.3.1), TS 36.331 (MIB); docs/lte.md. */
#ifndef TLG_LTE_RX_H
#define TLG_LTE_RX_H

#include "tlg_spectra.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  TLG_LTE_RX_SYMBOLS = 14, /* of a subframe */
  TLG_LTE_RX_CP_TS = 144,  /* the shorter cyclic prefix, in Ts = 1 / 30.72 MHz; symbols 0 and 7 have 160 */
  TLG_LTE_RX_MAX_SC = 1200,
};

/* Zero means default. */
struct tlg_lte_rx_cfg {
  struct tlg_rate rate; /* required: of the samples, 1.4 MHz .. 1 GHz; below 1.08 MHz of band nothing can be found */
  unsigned search_ms;   /* look for cells in so many first milliseconds; default 100 */
  double cfo_max_hz;    /* carrier offsets looked for, either sign, up to 300000; default 45000, and if nothing is
                         * found there 300000 (as far as the rate shows it) */
  int prb;              /* 6, 15, 25, 50, 75, 100: take this bandwidth where no MIB tells another; 0 = measured */
};

struct tlg_lte_rx; /* opaque */

/* TLG_EINVAL (err says which), TLG_ENOMEM; on failure *rx is NULL. */
TLG_API int tlg_lte_rx_new(struct tlg_lte_rx **rx, const struct tlg_lte_rx_cfg *cfg, struct tlg_error *err);
TLG_API void tlg_lte_rx_free(struct tlg_lte_rx *rx);

/* The whole recording: n samples at cfg.rate, any n including 0. Borrowed: they must stay as they are until the next
 * call of this or tlg_lte_rx_free. Their mean (DC) is measured here, and taken out of all that follows when it stands
 * out of what the data have at zero frequency (by five standard deviations). */
TLG_API int tlg_lte_rx_samples(struct tlg_lte_rx *rx, const tlg_cs16 *x, size_t n);
/* That mean, in units of the least bit. */
TLG_API void tlg_lte_rx_mean(const struct tlg_lte_rx *rx, tlg_cf64 *mean);

/* A cell that was found. */
struct tlg_lte_rx_cell {
  int id;         /* 0..503 */
  int prb;        /* 6, 15, 25, 50, 75, 100: by the MIB, else (mib_crc_ok 0) by the reference signals */
  int ports;      /* 1, 2, 4: by the CRC mask of the MIB, else by the reference signals */
  int mib_crc_ok; /* 1: a MIB was decoded. 0: there is none (test models E-TM have none) or it could not be read */
  int sfn;        /* 0..1023 of the frame that begins at start; -1 without MIB */
  uint32_t mib;   /* its 24 bits, first one highest */
  int mib_frames; /* frames that were combined for it, 1..4 */
  int phich_extended;
  int phich_sixths;     /* Ng in sixths: 1, 3, 6, 12; 0 without MIB */
  int mirrored;         /* 1: found in the conjugated samples only: I and Q are swapped (the spectrum is mirrored) */
  int fft;              /* points of a symbol at the rate at which this cell is demodulated: rate = fft * 15 kHz */
  int converted;        /* 1: the samples are brought to that rate first; 0: demodulated as they are */
  int sc_first, sc_end; /* subcarriers [first, end) of 0..12*prb-1 that the recording's rate shows whole */
  double cfo_hz;        /* carrier offset, whole: > 0 when the signal stands too high */
  double cfo_dev_hz;    /* its standard error */
  /* Where the frame begins (the first sample of its subframe 0, cyclic prefix included), in input samples, fractional:
   * the first frame of which something is in the recording, so about -10 ms < start <= 0. */
  double start;
  double clock_ppm;     /* > 0: the recording's samples come too fast: a subframe holds (1 + ppm/1e6) times as many */
  double clock_dev_ppm; /* its standard error */
  int clock_used;       /* 1: subframes are brought to the LTE clock by interpolation; 0: too little to matter */
  int64_t subframe_first, subframe_end; /* subframes k whose samples are there, counted from start: k % 10 is the number
                                         * in the frame, sfn + k / 10 the frame */
  double power_dbfs; /* of the reference signals in one resource element, against a full-scale tone (port 0) */
  double snr_db;     /* of those reference signals */
  double pss_metric; /* normalised correlation (0..1) of the primary and secondary synchronisation signals */
  double sss_metric;
  double crs_metric; /* coherence (0..1) of neighbouring reference signals */
  /* Threshold that the decision needed and what it got: the search statistic (docs/lte.md) in standard deviations. */
  double statistic, threshold;
};

enum { TLG_LTE_RX_CELLS = 16 };

/* Find cells, strongest first, and keep their tracking in rx. *n = how many; 0 is not an error: the recording holds no
 * cell that can be told from noise. Returns TLG_OK, TLG_EINVAL, TLG_ENOMEM. */
TLG_API int tlg_lte_rx_search(struct tlg_lte_rx *rx, struct tlg_lte_rx_cell *cells, size_t cap, size_t *n);
/* One sentence about the last search: why nothing was found, or "" ; belongs to rx. */
TLG_API const char *tlg_lte_rx_why(const struct tlg_lte_rx *rx);

/* What is known about subframe k of a cell. */
struct tlg_lte_rx_timing {
  int64_t k;
  double start;     /* where it begins, in input samples, as used for its grid */
  double measured;  /* by its own reference signals, in input samples; NaN when they are too weak */
  double step;      /* samples (input) that were inserted (> 0) or lost (< 0) since the subframe before; 0 = none. Known
                     * modulo      10 ms; sfn tells how many whole frames more */
  double step_at;   /* about where (input sample number), when step != 0 */
  double coherence; /* of its reference signals with the expected ones, 0..1 */
  double snr_db;    /* of its reference signals */
  double phase;     /* rad, common phase of port 0 after the offset is taken out */
  int sfn;          /* the frame's number by its own MIB, 0..1023, in subframes 0; -1 = not read, or another subframe */
  int broken;       /* 1: a step lies inside, or the signal is not there: do not measure this one */
};

/* All subframes [subframe_first, subframe_end) in order, found by following the reference signals of the cell (one of
 * those that search gave, unchanged). *n = their number; at most cap are written. The first call does the work. */
TLG_API int tlg_lte_rx_track(struct tlg_lte_rx *rx, const struct tlg_lte_rx_cell *cell, struct tlg_lte_rx_timing *t,
                             size_t cap, size_t *n);

/* The grid of subframe k: TLG_LTE_RX_SYMBOLS rows of 12*prb subcarriers from the lowest frequency upwards (the carrier
 * itself is left out), row l at grid[l * 12 * prb]. The transform of each symbol begins advance_ts Ts (1 / 30.72 MHz)
 * before the end of its cyclic prefix, 0 <= advance_ts <= 144; carrier offset, fractional timing and the advance are
 * taken out, so that any advance gives the same values for a clean signal. An element is
 *   (1/fft) * sum over n of x[n] exp(-j 2 pi f n / fft),
 * so the squares of a row's elements add up to the power of the samples in units of the least bit squared.
 * TLG_EINVAL: k is outside [subframe_first, subframe_end), or the cell is not one of this search. */
TLG_API int tlg_lte_rx_subframe(struct tlg_lte_rx *rx, const struct tlg_lte_rx_cell *cell, int64_t k, double advance_ts,
                                tlg_cf64 *grid);
/* The same for the symbols l of which bit l of mask is set; the other rows stay as they are. */
TLG_API int tlg_lte_rx_symbols(struct tlg_lte_rx *rx, const struct tlg_lte_rx_cell *cell, int64_t k, unsigned mask,
                               double advance_ts, tlg_cf64 *grid);

/* The samples of subframe k at the rate fft * 15 kHz from `before` samples before its start on: n samples, carrier
 * offset and (when used) clock taken out, fractional timing not: *frac (0..1) is where the subframe begins relative to
 * sample number before. Outside the recording they are 0. For measurements in time. */
TLG_API int tlg_lte_rx_time(struct tlg_lte_rx *rx, const struct tlg_lte_rx_cell *cell, int64_t k, size_t before,
                            tlg_cf64 *out, size_t n, double *frac);

#ifdef __cplusplus
}
#endif
#endif
