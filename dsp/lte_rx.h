/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the LTE receiver's front half share: the conversion of a recording to a multiple of 15 kHz, the
 * search at 1.92 Msps, the MIB, and the tracking of one cell. */
#ifndef LTE_RX_H
#define LTE_RX_H

#include "spectral.h"
#include "tlg_lte.h"
#include "tlg_lte_rx.h"

/* ---- conversion (lte_rx_convert.c) ---------------------------------------------------------------------------- */

/* A recording: borrowed samples less their mean (where that stands out), conjugated if the spectrum is to be mirrored.
 */
struct lte_source {
  const tlg_cs16 *x;
  size_t n;
  double mean_i, mean_q;
  int mirrored;
};

enum { LTE_CACHE_BYTES = 96 << 20 };

/* The recording at another rate, by ideal band-limited conversion in overlapping blocks with a short taper in front of
 * half the smaller rate; or as it is. Output m stands at input m * down / up exactly. */
struct lte_convert {
  int direct;
  size_t up, down;
  size_t n_in, n_out, pad_in, pad_out, hop_in, hop_out;
  struct tlg_fft forward, back;
  double *taper; /* gain of bin k = 0 .. keep-1 */
  size_t keep;
  size_t slots;
  int64_t *block;   /* which block a slot holds */
  uint64_t *stamp;  /* when it was last used */
  tlg_cf32 **cache; /* hop_out outputs each; allocated when first used */
  uint64_t clock;
};

/* To points * 15 kHz, as exactly as a ratio of terms below 65536 tells; direct keeps the rate. */
int tlg_lte_convert_open(struct lte_convert *c, const struct tlg_rate *rate, unsigned points, int direct);
void tlg_lte_convert_close(struct lte_convert *c);
/* Forget what was converted: the source has changed. */
void tlg_lte_convert_clear(struct lte_convert *c);
/* Outputs first .. first + n - 1 into out; those that stand outside the recording are 0. */
int tlg_lte_convert_read(struct lte_convert *c, const struct lte_source *source, int64_t first, size_t n,
                         tlg_cf64 *out);

/* Values at positions from, from + step, ... of x (n_x samples), 0 <= from - LTE_TAPS/2, from a windowed sinc: in error
 * by less than -90 dB up to 0.4 of the rate. */
enum { LTE_TAPS = 32, LTE_PHASES = 256 };
void tlg_lte_interpolate(const double *table, const tlg_cf64 *x, double from, double step, tlg_cf64 *out, size_t n);
double *tlg_lte_interpolate_table(void); /* NULL: no memory */

/* x[i] *= exp(j 2 pi (phase + i * step)), in turns. */
void tlg_lte_rotate(tlg_cf64 *x, size_t n, double phase, double step);

/* ---- search at 1.92 Msps (lte_rx_search.c) ---------------------------------------------------------------------- */

enum { LTE_NARROW = 128, LTE_NARROW_SUBFRAME = 1920, LTE_NARROW_HALF = 9600, LTE_NARROW_SC = 72 };
#define LTE_NARROW_HZ 1.92e6

/* A cell as the narrow view shows it; start in samples at 1.92 Msps, within the first frame. */
struct lte_candidate {
  int id;
  double start, cfo_hz;
  double pss, sss;  /* normalised correlations */
  double statistic; /* of the secondary signal, in standard deviations */
  double crs;       /* of the reference signals, likewise */
  double coherence; /* of reference signals, 0..1 */
  double power;
};

enum { LTE_CANDIDATES = 12 };
#define LTE_GATE_SSS 7.0     /* a random match of 336 sequences at 12 places: below 1e-8 */
#define LTE_GATE_SSS_MIB 5.5 /* with a MIB whose CRC is right */
#define LTE_GATE_CRS 4.8     /* exp(-4.8^2): 1e-10 */

struct lte_narrow {
  struct tlg_fft symbol;       /* 128 points */
  struct tlg_fft block, hypot; /* 1024 points, forward and back */
  tlg_cf64 template[3][1024];  /* spectra of the primary signals */
  tlg_cf64 pss[3][62];         /* in frequency */
  int8_t sss[3][168][2][62];   /* by N_ID_2, N_ID_1, subframe 0 or 5 */
  float *sum;                  /* [root][offset][9600] */
  int16_t *which;              /* [root][9600]: the offset of the best */
  size_t n_offsets;
  int first_offset;            /* multiples of 7.5 kHz */
  int from_offset, end_offset; /* those to search */
  size_t at_offset, n_at;      /* those that were searched last */
};

int tlg_lte_narrow_open(struct lte_narrow *w, double cfo_max_hz);
void tlg_lte_narrow_close(struct lte_narrow *w);
/* Search only up to this offset, not above that of open. */
void tlg_lte_narrow_range(struct lte_narrow *w, double cfo_max_hz);
/* Candidates in s (n samples at 1.92 Msps) whose secondary signal passes LTE_GATE_SSS_MIB, strongest first. */
int tlg_lte_narrow_search(struct lte_narrow *w, const tlg_cf64 *s, size_t n, struct lte_candidate *found, size_t cap,
                          size_t *n_found);
/* Where a known cell stands in s: the half frame beginning (0..9600, fractional) and which half it is (0, 1). Its
 * statistic; 0 = not there. cfo_hz is taken out first. */
double tlg_lte_narrow_find(struct lte_narrow *w, const tlg_cf64 *s, size_t n, int id, double cfo_hz, double *start,
                           int *half);
/* The 72 middle subcarriers of symbol l of the subframe that begins at start: a row; 0 if outside s. */
int tlg_lte_narrow_symbol(struct lte_narrow *w, const tlg_cf64 *s, size_t n, double start, double cfo_hz, unsigned l,
                          tlg_cf64 *row);
/* Better start and carrier offset, and the statistic of its reference signals. */
void tlg_lte_narrow_refine(struct lte_narrow *w, const tlg_cf64 *s, size_t n, struct lte_candidate *c);

/* ---- MIB (lte_rx_mib.c) ----------------------------------------------------------------------------------------- */

struct lte_mib_result {
  struct tlg_lte_mib mib; /* sfn of the first frame of the recording (the one that begins at start) */
  uint32_t bits;
  int ports, frames;
};

/* Tail-biting Viterbi: 40 bits from the 120 soft values of the three streams (> 0: a 0), returns the correlation of
 * the path, relative to the greatest possible. */
double tlg_lte_viterbi(const double *soft, size_t n, uint8_t *bits);
/* 1: decoded; 0: none could be. */
int tlg_lte_mib_search(struct lte_narrow *w, const tlg_cf64 *s, size_t n, const struct lte_candidate *c,
                       struct lte_mib_result *result);
/* The 480 soft bits of one frame from its grid (72 subcarriers, symbols 0..13), for 1, 2 or 4 ports. */
void tlg_lte_pbch_soft(const tlg_cf64 *grid, int id, int ports, double *soft);

/* ---- one cell at its own rate (lte_rx_track.c) --------------------------------------------------------------------
 */

struct lte_cell {
  struct tlg_lte_rx_cell pub;
  struct tlg_lte_rx_timing *timing;
};

struct tlg_lte_rx {
  struct tlg_lte_rx_cfg cfg;
  double rate_hz, cfo_near_hz, cfo_far_hz;
  struct lte_source source;
  tlg_cf64 dc; /* the mean, taken out or not */
  struct lte_narrow narrow;
  struct lte_convert to_narrow;
  struct lte_convert wide; /* for wide_fft, wide_direct */
  unsigned wide_fft;
  int wide_direct, wide_mirrored, narrow_mirrored;
  struct tlg_fft symbol; /* wide_fft points */
  double *table;
  struct lte_cell cell[TLG_LTE_RX_CELLS];
  size_t n_cells;
  char why[200];
  /* The subframe that is loaded. */
  tlg_cf64 *time, *raw;
  double loaded_at;
  const struct lte_cell *loaded_cell;
  double frac;
};

/* Points at which a cell of prb blocks is demodulated at this rate, and whether without conversion. */
unsigned tlg_lte_rx_points(const struct tlg_rate *rate, int prb, int *direct);
/* Make rx ready for the cell's rate. */
int tlg_lte_rx_tune(struct tlg_lte_rx *rx, struct lte_cell *cell);
/* Rows of symbols in mask (bit l) of a subframe that begins at input sample `at`. */
int tlg_lte_rx_demodulate(struct tlg_lte_rx *rx, struct lte_cell *cell, double at, unsigned mask, double advance_ts,
                          tlg_cf64 *grid);
/* Bandwidth and ports by the reference signals. */
int tlg_lte_rx_bandwidth(struct tlg_lte_rx *rx, struct lte_cell *cell);
/* Follow the reference signals through the recording: fine offset, clock, timing, steps. */
int tlg_lte_rx_follow(struct tlg_lte_rx *rx, struct lte_cell *cell);
/* Frame numbers of the subframes 0 that were followed (lte_rx_frames.c). */
int tlg_lte_rx_numbers(struct tlg_lte_rx *rx, struct lte_cell *cell);

#endif
