/* SPDX-License-Identifier: Apache-2.0 */
/* Public interface of libtaplag-spectra: Welch spectra, ideal band-limited resampling, and the comparison of a
 * resampler's output with the ideal of its input. This library alone links FFTW (double precision, estimated
 * plans, one thread). Nothing here does I/O or reads a clock. An object belongs to one thread at a time; plans are
 * made and destroyed under one mutex, so distinct objects are independent.
 *
 * 0 dBFS is a complex tone of amplitude 32768; a power of 1 below means 0 dBFS. */
#ifndef TLG_SPECTRA_H
#define TLG_SPECTRA_H

#include "taplag.h"
#include "tlg_dsp.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- windows and Welch spectra ----------------------------------------------------------------------------- */

enum tlg_window {
  TLG_WINDOW_HANN,
  TLG_WINDOW_RECTANGULAR,
  TLG_WINDOW_HAMMING,
  TLG_WINDOW_BLACKMAN_HARRIS, /* four terms, side lobes -92 dB (Harris 1978) */
  TLG_WINDOW_FLAT_TOP,        /* five terms, scalloping below 0.01 dB (SFT5F: Heinzel, Ruediger, Schilling 2002) */
};

/* "hann", "rectangular", "hamming", "blackman-harris", "flat-top"; TLG_EINVAL for other words. */
TLG_API int tlg_window_parse(enum tlg_window *window, const char *text);
TLG_API const char *tlg_window_name(enum tlg_window window);
/* The window at x in [0, 1) of its length; periodic in x. */
TLG_API double tlg_window_at(enum tlg_window window, double x);

struct tlg_psd_cfg {
  size_t n;               /* samples a segment, 2..2^26; default 4096 */
  enum tlg_window window; /* default Hann */
  size_t hop;             /* samples from one segment to the next; default n/2, n/4 for the two narrow windows, n
                           * for the rectangular one */
};

struct tlg_psd; /* opaque */

/* TLG_EINVAL, TLG_ENOMEM; on failure *p is NULL. */
TLG_API int tlg_psd_new(struct tlg_psd **p, const struct tlg_psd_cfg *cfg);
TLG_API void tlg_psd_free(struct tlg_psd *p);
TLG_API void tlg_psd_reset(struct tlg_psd *p);
/* Take n more samples; every full segment is transformed and added. Never allocates. */
TLG_API void tlg_psd_push(struct tlg_psd *p, const tlg_cs16 *x, size_t n);
/* Segments averaged so far; with none, all figures below are 0. */
TLG_API uint64_t tlg_psd_segments(const struct tlg_psd *p);
TLG_API size_t tlg_psd_size(const struct tlg_psd *p);
/* n powers a Hz, from -rate/2 upwards (bin b stands at (b - n/2) * rate / n): 10 log10 of one is dBFS/Hz. The
 * same noise reads the same density under every window. */
TLG_API void tlg_psd_density(const struct tlg_psd *p, const struct tlg_rate *rate, double *density);
/* n powers a bin in the same order, so scaled that a tone on the bin reads its own power under every window. */
TLG_API void tlg_psd_levels(const struct tlg_psd *p, double *level);
/* Power between two frequencies given as fractions of the rate, -0.5 <= low < high <= 0.5: whole bins whose centre
 * lies in [low, high). Calibrated for noise and tones alike, as long as a tone's main lobe lies inside. */
TLG_API double tlg_psd_band(const struct tlg_psd *p, double low, double high);
/* Power of a tone near a fraction of the rate: what its main lobe holds. Calibrated under every window, on and
 * between bins. */
TLG_API double tlg_psd_tone(const struct tlg_psd *p, double frequency);

/* ---- ideal band-limited resampling ------------------------------------------------------------------------- */

/* Output k is the band-limited signal through the inputs (zeros before the first and after the last), taken at input
 * position (k - delay) * down / up; when the rate falls, what lies beyond half the output rate is cut off sharply.
 * Works in blocks under overlapping Hann windows that add up to 1, so memory does not grow with the length. Against
 * the exact value a tone is off by less than -120 dB when it stays 100 / block of the input rate (100 kHz for 1 ms)
 * away from half the smaller rate, and half a block away from a step in the signal. */
struct tlg_ideal_cfg {
  uint32_t up, down;     /* 1..65535; taken to lowest terms */
  struct tlg_rate delay; /* in outputs, num/den; {0, 0} = none */
  size_t block;          /* inputs a block; a multiple of 2 * down; 0 = chosen */
};

struct tlg_ideal; /* opaque */

TLG_API int tlg_ideal_new(struct tlg_ideal **r, const struct tlg_ideal_cfg *cfg);
TLG_API void tlg_ideal_free(struct tlg_ideal *r);
/* Take up to n inputs and give up to cap outputs, in units of the input's least bit. *used inputs were consumed: less
 * than n only when the outputs did not fit; call again with the rest. Never allocates. */
TLG_API int tlg_ideal_push(struct tlg_ideal *r, const tlg_cs16 *in, size_t n, size_t *used, tlg_cf64 *out, size_t cap,
                           size_t *got);
/* The outputs that remain, until there are ceil(n * up / down + delay) in all; *got == 0 when done. */
TLG_API int tlg_ideal_flush(struct tlg_ideal *r, tlg_cf64 *out, size_t cap, size_t *got);

/* ---- comparison and verdict --------------------------------------------------------------------------------- */

/* Zero means default everywhere. */
struct tlg_check_cfg {
  struct tlg_rate rate_in, rate_out; /* required; both terms of the ratio at most 65535 */
  struct tlg_rate delay;             /* outputs by which the output lags, num/den; {0, 0} = none */
  struct tlg_rate band_hz;           /* half width of the band; default min(9.0075 MHz, 0.3603 * the smaller rate) */
  size_t block;                      /* inputs a block, a multiple of 2 * down (of down with period); 0 = chosen */
  size_t period;                     /* the input repeats after so many inputs (a multiple of down): blocks of one
                                      * period and no window; 0 = it does not */
  size_t skip;                       /* inputs left out at either end: the filter's transient; default 64 */
  uint64_t start, length;            /* judge only these inputs; length 0 = to the end */
  size_t n_taps;                     /* of the prototype, for the number of outputs of a flushed chain; 0 = unknown */
  size_t taps_per_phase; /* with tap_shift: taps are whole numbers, scaled by 2^shift: what their rounding */
  int tap_shift;         /* lets pass of the input outside the band is excused; 0 = unknown, nothing is */
  uint64_t q0;           /* the output's own start in prototype samples (align): names phases and packets */
  size_t packet;         /* inputs a packet, to name places; default 625 */
  int truncated;         /* 1: outputs were truncated (rounding "usrpl0"): half a bit is added back */
  /* limits; NaN is refused */
  double min_snr_db;    /* in-band signal to error; default 75 */
  double max_ripple_db; /* highest less lowest gain over the band; default 0.01 */
  double max_image_dbc; /* worst single image; default -70 */
  double max_total_dbc; /* all images and other emission together; default -65 */
  double max_gain_db;   /* difference of the levels in the band; default 0.1 */
  uint64_t max_clipped; /* outputs at full scale; judged only with judge_clipped */
  int judge_clipped;
  int any_length; /* do not judge the number of outputs */
};

struct tlg_check; /* opaque */

TLG_API int tlg_check_new(struct tlg_check **c, const struct tlg_check_cfg *cfg, struct tlg_error *err);
TLG_API void tlg_check_free(struct tlg_check *c);
/* How many samples of either stream may be pushed now. Feed both until one ends, then count the rest by pushing on:
 * after tlg_check_end_* of one stream the other takes any number. */
TLG_API size_t tlg_check_want_in(const struct tlg_check *c);
TLG_API size_t tlg_check_want_out(const struct tlg_check *c);
/* n <= want, else TLG_ESPACE and nothing is taken. */
TLG_API int tlg_check_push_in(struct tlg_check *c, const tlg_cs16 *x, size_t n);
TLG_API int tlg_check_push_out(struct tlg_check *c, const tlg_cs16 *y, size_t n);
/* Samples first..first+n of the input (or output) are missing: push zeros in their place, after this call. Blocks that
 * touch them are left out. TLG_ESPACE: too many of them lie ahead of what was compared. */
TLG_API int tlg_check_gap_in(struct tlg_check *c, uint64_t first, uint64_t n);
TLG_API int tlg_check_gap_out(struct tlg_check *c, uint64_t first, uint64_t n);
/* The stream has ended. */
TLG_API void tlg_check_end_in(struct tlg_check *c);
TLG_API void tlg_check_end_out(struct tlg_check *c);

/* A stretch of the output that is in error, or a place from which on it is out of step. */
struct tlg_check_event {
  uint64_t first;     /* first output in error */
  uint64_t end;       /* first output that is right again; UINT64_MAX = none before the end of what was compared */
  double error_db;    /* power of the error relative to the signal */
  int has_lag;        /* the stretch agrees with the reference moved by lag_outputs */
  double lag_outputs; /* > 0: the output comes late */
  double lag_inputs;
  double repeats; /* the signal repeats after so many outputs: the lag may be more or less by that; 0 = it does not */
};

struct tlg_check_tone {
  double hz;
  double in_dbfs, gain_db;
  int has_image;        /* 0: another tone has images on the same lines, so none can be told apart */
  double image_dbc;     /* its worst image relative to the tone at the output */
  double image_hz;      /* where that image stands in the output */
  int64_t image_number; /* m: the image of the tone about m * rate_in; 0 = beyond the nearest ones */
};

enum { TLG_CHECK_EVENTS = 16, TLG_CHECK_TONES = 512, TLG_CHECK_FINDINGS = 8 };

struct tlg_check_result {
  int passed, in_band_passed, images_passed, level_passed, length_passed;
  /* what was compared */
  uint32_t up, down;
  double band_hz, stop_hz;          /* stop: the smaller rate less the band; between them nothing is promised */
  uint64_t n_in, n_out, n_expected; /* samples pushed; outputs expected for that many inputs */
  uint64_t n_expected_flush;        /* of a flushed causal chain; 0 = unknown */
  int64_t n_extra;                  /* outputs beyond the nearest expected number (< 0: missing) */
  uint64_t first_in, end_in;        /* inputs compared, [first, end) */
  uint64_t first_out, end_out;      /* outputs compared */
  uint64_t blocks, bad_blocks;
  uint64_t edge_blocks, edge_bad; /* both ends once more, in blocks of edge_block inputs; 0 = they were short enough */
  size_t edge_block;
  struct {
    uint64_t bad, first, end; /* the beginning and the end: failing short blocks, and the outputs in error there */
  } end[2];
  uint64_t gaps; /* left out, with the blocks that touch them */
  size_t block_in, block_out;
  int periodic; /* blocks of a whole period, no window */
  /* in the band */
  double snr_db;        /* signal to error against the ideal reference */
  double snr_judged_db; /* the same without a constant gain that the limit for ripple allows: this is judged */
  double snr_limit_db;  /* what was asked, less what rounding and out-of-band input excuse */
  int snr_narrow;       /* 5 dB of that because the signal fills only a sixteenth of the band */
  double snr_gain_db;   /* the same after taking the best constant gain out */
  double worst_snr_db;  /* the worst block, which is judged too, and where its middle stands */
  uint64_t worst_output;
  double ripple_db, ripple_limit_db, lowest_gain_db, lowest_hz, highest_gain_db, highest_hz;
  size_t n_gains;       /* places in the band that carry power */
  double rounding_dbfs; /* noise of rounding to 16 bits, which no chain can avoid */
  double outside_dbc;   /* power of the input outside the band, relative to that inside */
  /* images and emission: one relative to what it is the image of, the total relative to the input */
  uint64_t image_blocks; /* images and ripple: over so many blocks (those without errors, if there are enough) */
  int narrow;            /* the signal fills less than a sixteenth of the band */
  int has_image;
  double image_dbc, image_hz, image_parent_hz;
  int64_t image_number;
  double total_dbc, total_limit_db, image_limit_db;
  double out_of_band_dbc; /* the part of the total that lies outside the band */
  /* level */
  double in_dbfs, out_dbfs;         /* whole, over what was compared */
  double in_band_dbfs;              /* of the reference, in the band */
  double gain_db, phase_deg;        /* in the band, output relative to reference */
  double gain_limit_db;             /* what was asked, and what rounding excuses where that is needed */
  double dc_i, dc_q;                /* mean of output less reference, in bits */
  uint64_t clipped_in, clipped_out; /* samples with a component at either end of int16 */
  int peak_out;                     /* largest component */
  /* where and what */
  struct tlg_check_event event[TLG_CHECK_EVENTS];
  size_t n_events; /* may exceed the array: the rest was only counted */
  struct tlg_check_tone tone[TLG_CHECK_TONES];
  size_t n_tones;                        /* 0: not a spectrum of separate tones, or not periodic */
  char finding[TLG_CHECK_FINDINGS][240]; /* sentences: what is wrong and where */
  size_t n_findings;
};

/* Judge what was pushed; both streams must have ended. TLG_EFORMAT when there is nothing to judge: too few inputs, or
 * a silent input (err says which). Too few outputs are a failure: with none that can be compared, blocks is 0 and only
 * the lengths are told. The result belongs to c. */
TLG_API int tlg_check_finish(struct tlg_check *c, const struct tlg_check_result **result, struct tlg_error *err);

/* The mean spectra of what was compared, block_out bins from -rate_out/2 upwards, in powers a Hz: output, reference,
 * error, and the most that images and emission may have at each place. Any pointer may be NULL. */
TLG_API void tlg_check_spectra(const struct tlg_check *c, double *output, double *reference, double *error,
                               double *mask);

/* The shortest period of 1, 2, 3, ... 20 ms after which x (n samples) repeats to one bit and which is a whole multiple
 * of down inputs; 0 when there is none, or fewer than two of them in n. */
TLG_API size_t tlg_check_period(const tlg_cs16 *x, size_t n, const struct tlg_rate *rate_in, uint32_t down);
/* The default block for so many samples: whole milliseconds where they fit, shorter for short recordings; 0 = too few
 * samples. */
TLG_API uint64_t tlg_check_least(uint32_t down, size_t skip); /* the fewest samples for which there is one */
TLG_API size_t tlg_check_block(const struct tlg_rate *rate_in, uint32_t up, uint32_t down, uint64_t n_in, size_t skip);

#ifdef __cplusplus
}
#endif
#endif
