/* SPDX-License-Identifier: Apache-2.0 */
/* Public interface of the golden vectors: what a vector is, how it is run and judged, how a foreign implementation's
 * output is diagnosed, and the forms in which vectors leave for other tools. Nothing here starts threads or prints;
 * only the manifest's functions read files. An object belongs to one thread at a time. */
#ifndef TLG_GOLDEN_H
#define TLG_GOLDEN_H

#include "taplag.h"
#include "tlg_dsp.h"
#include "tlg_vectors.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- one vector (golden.c: dsp, signals and the C library only) --------------------------------------------- */

enum tlg_source {
  TLG_SOURCE_SIGNAL,    /* a signal of tlg_vectors.h */
  TLG_SOURCE_WORST,     /* for each phase in turn the inputs of the largest, then of the smallest sum, from the taps */
  TLG_SOURCE_UNIFORM,   /* every int16 equally likely, from Philox */
  TLG_SOURCE_ALTERNATE, /* (amplitude, -amplitude) and its negative in turn: half the rate at full scale */
  TLG_SOURCE_SAMPLES,   /* the samples given, over and over */
};

enum tlg_tap_source {
  TLG_TAPS_DEFAULT,  /* the project's own for the ratio */
  TLG_TAPS_DESIGN,   /* designed as stated */
  TLG_TAPS_HALF,     /* phase p: the one tap 2^(S-1) at k = p mod T: odd samples land on half an LSB */
  TLG_TAPS_RANDOM,   /* unsymmetric, from Philox, each phase within the limit */
  TLG_TAPS_LIMIT,    /* phase sums of |h| at the limit exactly, signs alternating: accepted */
  TLG_TAPS_OVERFLOW, /* one phase over the limit by 1: refused */
  TLG_TAPS_MINIMUM,  /* one tap is -32768: refused */
  TLG_TAPS_WRONG_UP, /* made for L + 1: refused */
};

enum tlg_refusal {
  TLG_REFUSED_NOT,
  TLG_REFUSED_TAPS,  /* the taps are refused */
  TLG_REFUSED_RATIO, /* the ratio is refused */
  TLG_REFUSED_FILE,  /* the contents of an input file are refused; to be judged by whoever has readers */
};

enum { TLG_VECTOR_GAPS = 4, TLG_VECTOR_PACKETS = 16, TLG_VECTOR_SAMPLES = 64, TLG_VECTOR_BYTES = 1024 };

/* What to run. Filled by tlg_vector_set; up and down are what the resampler is configured with. */
struct tlg_vector {
  char id[64];
  enum tlg_refusal refused;
  int exit_status;    /* of a refusal */
  char file_name[64]; /* TLG_REFUSED_FILE: name and contents */
  unsigned char bytes[TLG_VECTOR_BYTES];
  size_t n_bytes;

  enum tlg_source source;
  struct tlg_signal_cfg signal;
  uint64_t seek; /* sample number of the signal at which the input begins */
  tlg_cs16 samples[TLG_VECTOR_SAMPLES];
  size_t n_samples;

  struct tlg_rate rate_in, rate_out;
  uint32_t up, down;

  enum tlg_tap_source taps;
  struct tlg_design design; /* DESIGN; n_taps, taps_per_phase and shift also for the formula taps */
  uint64_t taps_seed;
  char taps_hash[65]; /* sha256 as of the manifest; "" = not stated */

  enum tlg_rounding rounding;
  int align, flush;
  uint64_t start; /* inputs skipped before the first */
  struct {
    uint64_t at, n; /* n inputs are missing before input number at */
  } gaps[TLG_VECTOR_GAPS];
  size_t n_gaps;
  uint64_t n_in;                        /* inputs that are fed */
  uint32_t packets[TLG_VECTOR_PACKETS]; /* the packet cut, repeated */
  size_t n_packets;
  uint64_t packet_seed; /* with n_packets == 0: random sizes, empty ones among them */
};

/* Empty vector: 25 to 30.72 Msps, default taps, packets of 625. */
TLG_API void tlg_vector_init(struct tlg_vector *v);
/* Set one property by its name in the manifest ("generator.kind", "rate_in", "taps.per_phase", "packet", ...; lists are
 * joined by commas). TLG_EFORMAT with a sentence for unknown names and values out of range. */
TLG_API int tlg_vector_set(struct tlg_vector *v, const char *key, const char *value, struct tlg_error *err);
/* After the last tlg_vector_set: ratio from the rates, limits, whether the parts fit together. */
TLG_API int tlg_vector_finish(struct tlg_vector *v, struct tlg_error *err);
/* Read the next vector of a plain list: lines "key=value", an empty line ends each. *line counts on. Returns 1 if there
 * was one, 0 at the end of text; TLG_EFORMAT. *text moves on. */
TLG_API int tlg_vector_read(struct tlg_vector *v, const char **text, unsigned *line, struct tlg_error *err);

/* The vector's taps, by design or formula; the caller frees them. Taps that are to be refused come as they are. */
TLG_API int tlg_vector_taps(const struct tlg_vector *v, struct tlg_taps *taps, struct tlg_error *err);
/* Its n_in input samples. */
TLG_API int tlg_vector_input(const struct tlg_vector *v, const struct tlg_taps *taps, tlg_cs16 *in,
                             struct tlg_error *err);
/* The packet cuts: 0 is the vector's own; names as "own", "1", "362", "random". */
TLG_API size_t tlg_cuts(void);
TLG_API const char *tlg_cut_name(size_t cut);

/* Outputs that one packet completes: stream numbers first .. first + n - 1. The flush is the last packet. */
struct tlg_segment {
  uint64_t first, n;
  uint64_t input; /* vector input number at which the packet begins; n_in for the flush */
};
/* The output segments of the vector's own cut, by the formulae alone (q0 from the number of taps). To be freed. */
TLG_API int tlg_vector_segments(const struct tlg_vector *v, size_t n_taps, struct tlg_segment **segments, size_t *n,
                                uint64_t *outputs, struct tlg_error *err);

/* Run the library's resampler over the vector by one kernel and cut. out has room for cap samples (and a canary is kept
 * beyond each packet inside it). *got = outputs. Every promise of the interface on the way is checked (bounds,
 * positions, counts, delay, refusal of short buffers): broken[0] != 0 names the one that was broken. again: an object
 * to be reused after reset, made when NULL; the caller frees it. */
TLG_API int tlg_vector_run(const struct tlg_vector *v, const struct tlg_taps *taps, const tlg_cs16 *in,
                           enum tlg_cpu cpu, size_t cut, struct tlg_resamp **again, tlg_cs16 *out, size_t cap,
                           size_t *got, char broken[160], struct tlg_error *err);
/* For a vector that is to be refused by taps or ratio: the status that the library gives (0 = it was accepted). */
TLG_API int tlg_vector_refusal(const struct tlg_vector *v, struct tlg_error *err);

/* ---- expectations and judgement (verify.c) ------------------------------------------------------------------ */

/* What must come out, by a plain convolution in 64-bit integers that shares nothing with the resampler: outputs of all
 * segments, one after the other. */
TLG_API void tlg_vector_expected(const struct tlg_vector *v, const struct tlg_taps *taps, const tlg_cs16 *in,
                                 const struct tlg_segment *segments, size_t n_segments, tlg_cs16 *out);
TLG_API uint32_t tlg_crc32(const tlg_cs16 *samples, size_t n);            /* over little-endian bytes, as zlib's */
TLG_API void tlg_sha256(const tlg_cs16 *samples, size_t n, char hex[65]); /* likewise */
TLG_API void tlg_sha256_bytes(const void *bytes, size_t n, char hex[65]);
/* sha256 over S, L and N as little-endian uint32 and the taps as little-endian int16. */
TLG_API void tlg_sha256_taps(const struct tlg_taps *taps, char hex[65]);

/* How two runs of samples differ. */
struct tlg_difference {
  uint64_t n_bad;  /* samples that differ, those missing or too many included */
  uint64_t first;  /* index of the first */
  int32_t largest; /* largest difference of a component */
  uint64_t missing, excess;
};
TLG_API int tlg_compare(const tlg_cs16 *expected, size_t n_expected, const tlg_cs16 *got, size_t n_got,
                        struct tlg_difference *d); /* returns whether they differ */
/* One line for a failure: first bad output (sample number, time, packet, phase), expected and got, how many differ, the
 * largest difference. */
TLG_API void tlg_difference_text(const struct tlg_vector *v, const struct tlg_segment *segments, size_t n_segments,
                                 uint64_t q0, const struct tlg_difference *d, const tlg_cs16 *expected,
                                 size_t n_expected, const tlg_cs16 *got, size_t n_got, char *text, size_t size);

/* ---- the manifest (manifest.c) ------------------------------------------------------------------------------- */

enum tlg_tolerance_kind { TLG_TOLERANCE_EXACT, TLG_TOLERANCE_LSB, TLG_TOLERANCE_DB };
struct tlg_tolerance {
  enum tlg_tolerance_kind kind;
  int lsb;
  double db;
};
/* "exact", "1 LSB", "60 dB". */
TLG_API int tlg_tolerance_parse(struct tlg_tolerance *t, const char *text);

struct tlg_expect {
  uint64_t outputs, first;
  char input_sha256[65], output_sha256[65], crc_sha256[65];
  uint32_t *crc; /* one for each segment */
  size_t n_crc;
};

struct tlg_manifest_entry {
  struct tlg_vector vector;
  const char *purpose;
  const char *flags[8]; /* NULL-terminated */
  struct tlg_tolerance tolerance;
  struct tlg_expect expect;
};

struct tlg_manifest; /* opaque */

enum { TLG_MANIFEST_UNSEALED = 1 }; /* for tlg_manifest_accept: expectations may be missing or wrong */

/* Read DIR/manifest.json and the CRC files beside it. Everything is checked: the form, the digest over all of it, the
 * hash of each CRC file, counts against formulae. TLG_ESYS (missing, unreadable), TLG_EFORMAT (damaged; the text says
 * which part), TLG_ENOMEM. */
TLG_API int tlg_manifest_load(struct tlg_manifest **m, const char *dir, int flags, struct tlg_error *err);
TLG_API void tlg_manifest_free(struct tlg_manifest *m);
TLG_API size_t tlg_manifest_size(const struct tlg_manifest *m);
TLG_API const struct tlg_manifest_entry *tlg_manifest_at(const struct tlg_manifest *m, size_t i);
/* Whether a vector is meant by a pattern: its id by shell wildcards, or "@flag". */
TLG_API int tlg_manifest_match(const struct tlg_manifest_entry *e, const char *pattern);
/* Vector i as a block of a plain list (tlg_vector_read), without expectations. To be freed. */
TLG_API char *tlg_manifest_plain(const struct tlg_manifest *m, size_t i);
/* Vector i as JSON text, for people and foreign programs. To be freed. */
TLG_API char *tlg_manifest_json(const struct tlg_manifest *m, size_t i);
/* Set the expectations of vector i from the plain convolution. changes (to be freed, "" = none) says what differs from
 * before; crc_text (to be freed; NULL for refusals) is what DIR/crc/ID.txt has to hold. */
TLG_API int tlg_manifest_accept(struct tlg_manifest *m, size_t i, char **changes, char **crc_text,
                                struct tlg_error *err);
/* After that: record the reason for the ids that changed (comma-separated), and give the whole text of manifest.json,
 * digest renewed. To be freed. */
TLG_API int tlg_manifest_seal(struct tlg_manifest *m, const char *reason, const char *ids, char **text,
                              struct tlg_error *err);

/* ---- a foreign implementation's output (try.c) ---------------------------------------------------------------- */

/* What a foreign implementation was given, what it should have made, and what it made. Arrays are borrowed. */
struct tlg_try {
  const struct tlg_vector *vector;
  const struct tlg_taps *taps;
  const tlg_cs16 *in;
  const struct tlg_segment *segments;
  size_t n_segments;
  const tlg_cs16 *expected;
  size_t n_expected;
  const tlg_cs16 *got;
  size_t n_got;
  size_t odd_bytes; /* bytes left over that make no whole sample */
  struct tlg_tolerance tolerance;
};

enum tlg_cause {
  TLG_CAUSE_NONE,      /* passes */
  TLG_CAUSE_SILENT,    /* no output, or zeros only */
  TLG_CAUSE_SHORT,     /* right as far as it goes */
  TLG_CAUSE_LONG,      /* right, then too many */
  TLG_CAUSE_DELAY,     /* right but n outputs late or early */
  TLG_CAUSE_ALIGNMENT, /* causal where aligned is wanted, or the other way */
  TLG_CAUSE_GAIN,
  TLG_CAUSE_NEGATED,
  TLG_CAUSE_SWAPPED,
  TLG_CAUSE_CONJUGATED,
  TLG_CAUSE_COMPONENT, /* I or Q is missing, or a copy of the other */
  TLG_CAUSE_BYTE_ORDER,
  TLG_CAUSE_TRUNCATED, /* rounds down where it should round to nearest */
  TLG_CAUSE_NEAREST,   /* rounds to nearest where it should truncate */
  TLG_CAUSE_TIES,      /* halves go the other way */
  TLG_CAUSE_TOWARD_ZERO,
  TLG_CAUSE_ROUND_TWICE, /* each product is rounded before it is summed */
  TLG_CAUSE_WRAP,        /* wraps where it should saturate */
  TLG_CAUSE_SATURATE,    /* saturates where it should wrap */
  TLG_CAUSE_ACC_NARROW,  /* the accumulator saturates or wraps too early */
  TLG_CAUSE_REVERSED,    /* taps, and so the phases, in reverse order */
  TLG_CAUSE_PHASE_ORDER, /* phases in another order */
  TLG_CAUSE_TAP_ORDER,   /* taps inside a phase reversed */
  TLG_CAUSE_INVERTED,    /* up and down exchanged */
  TLG_CAUSE_NEAREST_SAMPLE,
  TLG_CAUSE_LINEAR,
  TLG_CAUSE_HISTORY,     /* history forgotten at packet borders */
  TLG_CAUSE_PHASE_RESET, /* phase starts anew in each packet */
  TLG_CAUSE_BORDER,      /* errors at packet borders, nothing more known */
  TLG_CAUSE_PERIOD,      /* errors recur with the period of the ratio: some phases are wrong */
  TLG_CAUSE_TAIL,       /* errors at every 8th or 16th output, or behind the last full 8 or 16 of a packet: SIMD tail */
  TLG_CAUSE_DROPPED,    /* outputs are missing in mid-stream */
  TLG_CAUSE_DOUBLED,    /* outputs are repeated in mid-stream */
  TLG_CAUSE_TAPS_SHORT, /* the last tap of each phase is left out */
  TLG_CAUSE_OFFSET,     /* a constant is added */
  TLG_CAUSE_START,      /* only the first outputs are wrong: what stands before the first sample is not zero */
  TLG_CAUSE_NOISE,      /* near, but not exact: signal to error is stated */
  TLG_CAUSE_UNKNOWN,
};

struct tlg_diagnosis {
  enum tlg_cause cause;
  int pass;
  char text[400]; /* one sentence for people */
  struct tlg_difference difference;
  double signal_to_error_db; /* INFINITY when equal */
  int64_t delay;             /* outputs late (< 0: early), where found */
  double gain;               /* where found; else 1 */
};

/* A short name that stays: "truncated", "delay", ... */
TLG_API const char *tlg_cause_name(enum tlg_cause cause);
/* Judge, and say what is wrong. TLG_ENOMEM. */
TLG_API int tlg_diagnose(const struct tlg_try *t, struct tlg_diagnosis *d);

/* ---- other tools' forms (export.c) ----------------------------------------------------------------------------- */

struct tlg_export {
  const struct tlg_vector *vector;
  const char *purpose;
  const struct tlg_taps *taps;
  const tlg_cs16 *in, *out;
  size_t n_in, n_out;
};

enum tlg_export_form {
  TLG_EXPORT_C,       /* one header: taps, input, output */
  TLG_EXPORT_VERILOG, /* $readmemh files, packed {Q, I} and apart, taps, and a self-checking SystemVerilog testbench */
  TLG_EXPORT_COE,     /* Xilinx coefficient file of the taps */
  TLG_EXPORT_MEM,     /* Xilinx memory file of the taps */
  TLG_EXPORT_NPY,     /* NumPy arrays */
};

/* Make the form's files one after the other: each is handed to put with its name (no folder) and bytes; a status other
 * than 0 ends it. TLG_ENOMEM. */
TLG_API int tlg_export(const struct tlg_export *e, enum tlg_export_form form,
                       int (*put)(void *context, const char *name, const void *bytes, size_t n), void *context);

#ifdef __cplusplus
}
#endif
#endif
