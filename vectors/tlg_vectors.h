/* SPDX-License-Identifier: Apache-2.0 */
/* Public interface of vectors/: test signals from formulae. Each sample is a pure function of its number, computed by
 * integers or IEEE + - * / and square root in a fixed order, so the bytes are the same on every machine and for every
 * way of cutting the stream. No I/O, threads or clock; an object belongs to one thread at a time. Formulae:
 * docs/signals.md. */
#ifndef TLG_VECTORS_H
#define TLG_VECTORS_H

#include "taplag.h"
#include "tlg_dsp.h"
#include "tlg_lte.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A frequency in Hz, of either sign. den = 0: not given (the default holds). */
struct tlg_frequency {
  int64_t num;
  uint64_t den;
};

/* Parse "300.5k", "-9.0075M", "0", "-184320000/7"; lowest terms. TLG_EINVAL if it is none or does not fit. */
TLG_API int tlg_frequency_parse(struct tlg_frequency *frequency, const char *text);

enum tlg_signal_kind {
  TLG_SIGNAL_NONE,
  TLG_SIGNAL_TONE,    /* one complex tone */
  TLG_SIGNAL_TONES,   /* equally spaced tones of equal size, phases chosen for a low crest */
  TLG_SIGNAL_CHIRP,   /* linear sweep, repeated with continuous phase */
  TLG_SIGNAL_NOISE,   /* white, nearly Gaussian, from counter-based integers */
  TLG_SIGNAL_IMPULSE, /* one sample, or one in so many */
  TLG_SIGNAL_STEP,    /* zero, then a constant */
  TLG_SIGNAL_DC,      /* a constant */
  TLG_SIGNAL_RAMP,    /* I and Q are the low and high half of the sample number: a stream that checks itself */
  TLG_SIGNAL_CORNERS, /* the four corners of the int16 square, each following each */
  TLG_SIGNAL_SILENCE, /* zeros */
  TLG_SIGNAL_OFDM,    /* LTE-wide: subcarriers of 15 kHz around an unused DC, normal cyclic prefix */
  TLG_SIGNAL_LTE,     /* an LTE downlink: a complete cell, or a test model */
};
#define TLG_SIGNAL_LAST TLG_SIGNAL_LTE

/* "tone", "tones", ...; TLG_EINVAL for other words. */
TLG_API int tlg_signal_parse(enum tlg_signal_kind *kind, const char *text);
/* The word for kind, and one line on what it is; "?" for none. */
TLG_API const char *tlg_signal_name(enum tlg_signal_kind kind);
TLG_API const char *tlg_signal_summary(enum tlg_signal_kind kind);

enum tlg_modulation { TLG_QPSK = 2, TLG_16QAM = 4, TLG_64QAM = 6, TLG_256QAM = 8 }; /* bits a symbol */

#define TLG_OFDM_NO_WINDOW 0xffffffffu
#define TLG_OFDM_MAX_WINDOW 144u

/* A complete cell, or the test models of TS 36.141, 6.1.1 (one port, one frame over and over, no MIB in the PBCH). */
enum tlg_lte_model {
  TLG_LTE_CELL,
  TLG_LTE_ETM1_1,
  TLG_LTE_ETM3_1,
  TLG_LTE_ETM3_1A,
  TLG_LTE_ETM3_2,
  TLG_LTE_ETM3_3,
};
/* "cell", "etm1.1", "etm3.1", "etm3.1a", "etm3.2", "etm3.3"; TLG_EINVAL for other words. And back; "?" for none. */
TLG_API int tlg_lte_model_parse(enum tlg_lte_model *model, const char *text);
TLG_API const char *tlg_lte_model_name(enum tlg_lte_model model);

enum tlg_lte_data {
  TLG_LTE_CODED,   /* transport blocks over the whole band, announced by a DCI */
  TLG_LTE_UNCODED, /* random points of cfg.modulation, no DCI */
};

/* What an LTE downlink carries. Zero means default, but for the cell's identity, mcs and sfn. */
struct tlg_lte_signal {
  struct tlg_lte_cell
      cell; /* prb: default that of the usual rate, else the widest that fits; ports: 1 (default) or 2 */
  enum tlg_lte_model model;
  enum tlg_lte_data data;
  unsigned mcs;          /* 0..28, or 0..27 with table_256; lowered to a code rate of at most 0.93 */
  unsigned table_256;    /* 1: the MCS table with 256QAM */
  unsigned rnti;         /* default 0x1234 */
  unsigned dci_1a;       /* 1: DCI format 1A instead of 1 */
  unsigned cfi;          /* 1..3; default 1, with the extended PHICH 3 */
  unsigned sfn;          /* of the first frame, 0..1023 */
  tlg_cf64 port_gain[2]; /* two ports: the channel from each to the one output; both (0, 0): default 1 and 1 */
};

/* What the shared channel of a subframe carries: coded_bits = n_re * bits_a_symbol; block_bits 0: no transport block.
 */
struct tlg_lte_shared {
  unsigned mcs, bits_a_symbol, block_bits, coded_bits, n_re;
};

/* What a real front end adds. All is a function of the sample's number. Zero: absent. In this order: the sampling clock
 * is off, samples are lost or repeated; carrier offset, noise, I/Q imbalance, DC, clipping, rounding to int16. */
struct tlg_impairments {
  struct tlg_frequency clock_ppm;       /* the sampling clock's error: samples are taken at (1 + ppm / 10^6) * rate */
  struct tlg_frequency carrier;         /* Hz by which the signal moves up */
  double noise;                         /* root mean square of the noise's I^2 + Q^2, in units of int16 */
  double gain_db;                       /* I over Q */
  struct tlg_frequency phase_deg;       /* by which the axis of Q leans towards I's */
  tlg_cf64 dc;                          /* added, in units of int16 */
  double clip;                          /* components are limited to +-clip */
  uint64_t drop_at, drop_n, drop_every; /* at output drop_at (then each drop_every, 0 = once) drop_n samples are lost */
  uint64_t dup_at, dup_n, dup_every;    /* at output dup_at the dup_n samples before it come again */
};

/* What to make. Zero means default. Default frequencies hold at 25 Msps and above; below they shrink with the rate. */
struct tlg_signal_cfg {
  enum tlg_signal_kind kind;
  struct tlg_rate rate; /* default 25 Msps */
  /* In units of int16 (32768 = 0 dBFS): the amplitude of a tone or chirp; the root mean square of I^2 + Q^2 of tones,
   * noise, ofdm and (over a frame) lte; the I of impulse, step and dc (Q = 0). Default per kind: tlg_signal_amplitude.
   */
  double amplitude;
  uint64_t seed; /* noise, ofdm, lte and the noise of impairments; 0 is a seed like any other */

  struct tlg_frequency
      freq; /* tone: default 1 MHz; tones: centre of the set, default 0; chirp: start, default -9.0075 MHz */
  struct tlg_frequency freq_to; /* chirp: end, default +9.0075 MHz */
  uint64_t sweep;               /* chirp: samples of one sweep; default 10 ms */
  struct tlg_frequency spacing; /* tones: default 300.5 kHz */
  unsigned n_tones;             /* tones: default 61 */

  uint64_t at;    /* impulse: sample number of the first; step: of the first that is not zero */
  uint64_t every; /* impulse: distance to the next; 0 = only one */
  tlg_cs16 value; /* impulse, step, dc: the sample itself; (0, 0) = from amplitude */

  unsigned subcarriers;           /* ofdm: even; default 1200, but no more than fit into the rate's pass band */
  enum tlg_modulation modulation; /* ofdm: default 64QAM */
  unsigned window; /* ofdm, lte: raised-cosine overlap of neighbouring symbols, at the beginning of the prefix, in units
                    * of 1/30.72 MHz, 1..144. Default of ofdm: 72 (half a prefix); of lte: what the standard's EVM
                    * windows leave free, from 4 (20 MHz) to 32 (1.4 MHz). TLG_OFDM_NO_WINDOW: none */
  unsigned band_limit; /* ofdm, lte: 1: a linear-phase filter confines the signal to its channel (docs/signals.md) */
  uint64_t repeat;     /* ofdm: the content repeats after so many slots of 0.5 ms, so that a file of whole repeats loops
                        * without a seam; 0 = never. lte: multiples of 20; the system frame number repeats, too */

  struct tlg_lte_signal lte; /* with modulation (uncoded), window, repeat and seed above */
  struct tlg_impairments impairments;
};

/* Fill in every default that cfg left at zero. TLG_EINVAL with a sentence if a value is out of range. */
TLG_API int tlg_signal_defaults(struct tlg_signal_cfg *cfg, struct tlg_error *err);

struct tlg_signal; /* opaque */

/* On failure *s is NULL and nothing is held. TLG_EINVAL, TLG_ENOMEM. */
TLG_API int tlg_signal_new(struct tlg_signal **s, const struct tlg_signal_cfg *cfg, struct tlg_error *err);
TLG_API void tlg_signal_free(struct tlg_signal *s);
/* The next n samples, from the current position on; they never end. Does not allocate. */
TLG_API void tlg_signal_read(struct tlg_signal *s, tlg_cs16 *out, size_t n);
/* Go to sample number n < 2^48: what is read there is what reading on from 0 would have given. TLG_EINVAL beyond. */
TLG_API int tlg_signal_seek(struct tlg_signal *s, uint64_t n);
/* Components that did not fit int16 (or impairments.clip) in all reads so far. */
TLG_API uint64_t tlg_signal_clipped(const struct tlg_signal *s);
/* Samples after which the signal repeats exactly, 0 = never or not within 2^21 samples (ofdm: any number). */
TLG_API uint64_t tlg_signal_period(const struct tlg_signal *s);

/* lte: what the shared channel of a subframe 0..9 carries; and the bits of the transport block of subframe n (from 0,
 * ten a frame), shared.block_bits of them: *block is valid until the next call. TLG_EINVAL if s is no such signal. */
TLG_API int tlg_lte_signal_shared(const struct tlg_signal *s, unsigned subframe, struct tlg_lte_shared *shared);
TLG_API int tlg_lte_signal_block(struct tlg_signal *s, uint64_t n, const uint8_t **block, unsigned *n_bits);
/* The points of symbol l (from 0, 14 a subframe): 12 prb of them, from the lowest frequency up, DC left out, ports
 * added up, where a reference signal of port 0 is of size 1. */
TLG_API int tlg_lte_signal_points(struct tlg_signal *s, uint64_t l, tlg_cf64 *points);

/* The constellation points that symbol l (from 0) of an ofdm signal carries, with mean power 1: n = cfg->subcarriers
 * of them, from the lowest frequency up, DC left out. TLG_EINVAL if cfg is no valid ofdm signal. */
TLG_API int tlg_ofdm_points(const struct tlg_signal_cfg *cfg, uint64_t l, tlg_cf64 *points);
/* Where the cyclic prefix of symbol l begins, and its length, both in units of 1/30.72 MHz: 160 in the first of
 * seven, 144 in the others; the useful part of 2048 follows. */
TLG_API uint64_t tlg_ofdm_start(uint64_t l, unsigned *prefix);

/* What band_limit leaves of so many subcarriers: all within +-pass_hz, nothing (80 dB) from +-stop_hz on. The stop band
 * begins a ninth above the outermost line, but at least 150 kHz: half the channel of LTE (1.4 MHz: 690 kHz). */
TLG_API void tlg_ofdm_band(unsigned subcarriers, unsigned *pass_hz, unsigned *stop_hz);

#ifdef __cplusplus
}
#endif
#endif
