/* SPDX-License-Identifier: Apache-2.0 */
/* Public interface of replay/files/: readers and writers of IQ recordings. Everything inside the library is cs16;
 * other types are converted at this edge, with counters. An object belongs to one thread at a time. */
#ifndef TLG_FILES_H
#define TLG_FILES_H

#include "taplag.h"
#include "tlg_dsp.h"

#ifdef __cplusplus
extern "C" {
#endif

enum tlg_format {
  TLG_FORMAT_UNKNOWN,
  TLG_FORMAT_CS16, /* all little endian where the container does not say otherwise */
  TLG_FORMAT_CF32,
  TLG_FORMAT_CF64,
  TLG_FORMAT_CS8,
  TLG_FORMAT_CU8,
  TLG_FORMAT_CS32,
  TLG_FORMAT_CU16, /* read from SigMF and WAV only, as are the next two */
  TLG_FORMAT_CU32,
  TLG_FORMAT_CS24,
};

/* "cs16", "sc16", "ci16", "cf32", "fc32", ...; TLG_EINVAL for other words. */
TLG_API int tlg_format_parse(enum tlg_format *format, const char *text);
TLG_API const char *tlg_format_name(enum tlg_format format);
/* Bytes of one complex sample. */
TLG_API size_t tlg_format_size(enum tlg_format format);

enum tlg_container {
  TLG_CONTAINER_UNKNOWN,
  TLG_CONTAINER_RAW,
  TLG_CONTAINER_SIGMF,
  TLG_CONTAINER_SIGMF_ARCHIVE,
  TLG_CONTAINER_WAV,
  TLG_CONTAINER_RF64,
  TLG_CONTAINER_W64,
  TLG_CONTAINER_AU,
  TLG_CONTAINER_FLAC,
  TLG_CONTAINER_OTHER_SNDFILE, /* read only, as is the next */
  TLG_CONTAINER_PCAP,          /* VITA-49/DIFI or our own packets in a capture of network traffic */
};
TLG_API const char *tlg_container_name(enum tlg_container container);

/* ---- conversions (normative, docs/formats.md) -------------------------------------------------------------- */

struct tlg_convert_counts {
  uint64_t clipped;    /* components that did not fit int16 */
  uint64_t non_finite; /* NaN or infinite components; NaN becomes 0, infinities saturate */
  uint64_t
      full_scale; /* components at the extremes of an integer type: of the source when read, of cs16 when written */
};

/* n complex samples of format at in (any alignment) to cs16. scale = declared full scale divided out first
 * (0 = the type's own). swap_iq exchanges I and Q. counts are added to. */
TLG_API void tlg_convert_to_cs16(tlg_cs16 *out, const void *in, size_t n, enum tlg_format format, int big_endian,
                                 double full_scale, int swap_iq, struct tlg_convert_counts *counts);
/* The other way: cs16 to a file type (cs16, cf32, cf64, cs8, cu8, cs32), little endian. */
TLG_API void tlg_convert_from_cs16(void *out, const tlg_cs16 *in, size_t n, enum tlg_format format,
                                   struct tlg_convert_counts *counts);

/* ---- reading ----------------------------------------------------------------------------------------------- */

struct tlg_reader_cfg {
  enum tlg_format format; /* wins over what file or suffix say; needed for raw data without a telling suffix */
  struct tlg_rate rate;   /* likewise; {0, 0} = take it from the file or its name */
  double full_scale;      /* declared full scale in the file's own units; 0 = the type's */
  int swap_iq;
  int conjugate;
  int rescue;            /* read a cut recording, or one whose header lies, as far as it goes */
  int skip_hash;         /* do not verify core:sha512 */
  int strict_hash;       /* a wrong core:sha512 is refused even with rescue */
  const char *recording; /* which recording of an archive; NULL = the only one (several: TLG_EINVAL lists them) */
  unsigned channel;      /* which complex channel of several, from 1; 0 = the only one (several: TLG_EINVAL) */
  uint64_t start;        /* window: first sample of the stream that is wanted (gaps count) ... */
  uint64_t length;       /* ... and how many; 0 = to the end. The window is then the stream: all counts and
                            sample numbers are its own, from 0 */
  uint64_t start_ps, length_ps; /* the same as times, to the nearest sample; each is added to its counterpart */
  void (*hint)(void *context, const char *text); /* told of hints taken, warnings, what rescue did; may be NULL */
  /* Called now and then while a long check (core:sha512) runs inside open; not 0 stops it: TLG_EINTR. May be NULL. */
  int (*progress)(void *context, uint64_t done, uint64_t total);
  void *context;
};

/* One capture segment: samples from first on, up to the next capture's first - gap. */
struct tlg_capture {
  uint64_t first;      /* sample number in the stream (gaps included), from 0 */
  uint64_t n;          /* samples in it */
  uint64_t gap_before; /* samples missing between the capture before and this one */
  double frequency_hz; /* NaN = not stated */
  char datetime[40];   /* as in the file, "" = not stated */
};

enum tlg_hash_state { TLG_HASH_NONE, TLG_HASH_GOOD, TLG_HASH_SKIPPED, TLG_HASH_WRONG /* rescue */ };

struct tlg_reader_info {
  enum tlg_container container;
  enum tlg_format format;
  int big_endian;
  struct tlg_rate rate;    /* {0, 0} = not known */
  const char *rate_source; /* "option", "header", "file name", ...; NULL = not known */
  const char *format_source;
  uint64_t n_samples;    /* samples that are there; UINT64_MAX = not known (stdin, pipes) */
  uint64_t n_stated;     /* samples the header states; UINT64_MAX = it states none */
  uint64_t n_missing;    /* in gaps between captures */
  unsigned tail_bytes;   /* bytes left over that make no whole sample */
  double frequency_hz;   /* of the first capture or the auxi chunk; NaN = not stated */
  double full_scale;     /* in the file's own units: as declared, else the type's */
  unsigned n_channels;   /* complex channels in the file, of which one is read */
  uint64_t offset;       /* core:offset: sample number of the file's first sample in a longer recording */
  int header_lies;       /* the header contradicts the file (length, alignment): header_note says how */
  char header_note[240]; /* "" = they agree, or there is no header */
  enum tlg_hash_state hash;
  const struct tlg_capture *captures; /* at least one; owned by the reader */
  size_t n_captures;
  int seekable; /* 0: stdin and pipes: no loop, no rewind */
};

struct tlg_reader; /* opaque; every source of samples (files here, radios and sockets later) is one */

/* Open path ("-" = stdin). On failure *r is NULL. TLG_EINVAL (option missing: format or rate is needed),
 * TLG_EFORMAT (contents; err has the offset or line), TLG_ESYS, TLG_EUNAVAIL, TLG_ENOMEM. */
TLG_API int tlg_reader_open(struct tlg_reader **r, const char *path, const struct tlg_reader_cfg *cfg,
                            struct tlg_error *err);
/* Up to n samples (n > 0), all of one contiguous run. *first = stream sample number of buf[0]: larger than the end of
 * the last read by the size of a gap. End of stream: success with *got == 0 (and *first = the end, so that a gap at the
 * end shows). Samples of a half-read file are delivered before the error is returned. TLG_EINTR: a signal came while a
 * pipe had nothing to give; calling again goes on. */
TLG_API int tlg_reader_read(struct tlg_reader *r, tlg_cs16 *buf, size_t n, size_t *got, uint64_t *first,
                            struct tlg_error *err);
/* Back to the first sample (loops). TLG_EUNAVAIL on stdin and pipes. */
TLG_API int tlg_reader_rewind(struct tlg_reader *r, struct tlg_error *err);
TLG_API const struct tlg_reader_info *tlg_reader_info(const struct tlg_reader *r);
TLG_API void tlg_reader_counts(const struct tlg_reader *r, struct tlg_convert_counts *counts);
TLG_API void tlg_reader_close(struct tlg_reader *r);

/* ---- writing ----------------------------------------------------------------------------------------------- */

struct tlg_writer_cfg {
  enum tlg_format format; /* 0 = from the suffix, else cs16 */
  enum tlg_container
      container;           /* 0 = from the suffix: .sigmf-meta .sigmf-data .sigmf .wav .rf64 .w64 .au .flac, else raw */
  struct tlg_rate rate;    /* written into headers; required by all containers but raw */
  double frequency_hz;     /* 0 or NaN = not stated */
  int force;               /* overwrite an existing file */
  int keep_part;           /* leave FILE.part behind instead of nothing when aborted (recordings) */
  const char *description; /* core:description; may be NULL */
  const char *datetime;    /* of the first sample, ISO 8601 UTC; NULL or "" = not stated (SigMF only) */
  uint64_t expected;       /* samples that will come at least; 0 = not known. Room for them is taken at open, which
                              fails where the disk has none, and makes writing cheaper */
};

struct tlg_writer; /* opaque */

/* Open path ("-" = stdout; pipes and devices are written through). Regular files appear under their name only at
 * close, whole; until then a temporary stands beside them. TLG_EEXIST, TLG_EINVAL, TLG_ESYS, TLG_ENOMEM. */
TLG_API int tlg_writer_open(struct tlg_writer **w, const char *path, const struct tlg_writer_cfg *cfg,
                            struct tlg_error *err);
/* TLG_ESYS (disk full, ...) or TLG_EPIPE; after a failure only abort is left. */
TLG_API int tlg_writer_write(struct tlg_writer *w, const tlg_cs16 *samples, size_t n, struct tlg_error *err);
/* n samples are missing here: SigMF opens a new capture whose core:global_index (and time, if the first has one)
 * tells the gap; others only count it. */
TLG_API int tlg_writer_gap(struct tlg_writer *w, uint64_t n, struct tlg_error *err);
/* What follows was received at another frequency: SigMF opens a new capture; others ignore it. NaN = not stated. */
TLG_API int tlg_writer_retune(struct tlg_writer *w, double frequency_hz, struct tlg_error *err);
/* State when the first sample was received, if that was not known at open: as tlg_writer_cfg.datetime. */
TLG_API void tlg_writer_datetime(struct tlg_writer *w, const char *datetime);
/* Whether gaps can be marked in this kind of file. */
TLG_API int tlg_writer_marks_gaps(const struct tlg_writer *w);
/* Whether path could be opened so now, told before anything is waited for: TLG_EEXIST, TLG_EINVAL, TLG_ESYS. Nothing is
 * opened or made; cfg's rate is not looked at. */
TLG_API int tlg_writer_check(const char *path, const struct tlg_writer_cfg *cfg, struct tlg_error *err);
/* The sample type and container that are written. */
TLG_API enum tlg_format tlg_writer_format(const struct tlg_writer *w);
TLG_API enum tlg_container tlg_writer_container(const struct tlg_writer *w);
/* Finish, and put the file in place. w is freed whatever is returned; on failure nothing stands under the name. */
TLG_API int tlg_writer_close(struct tlg_writer *w, struct tlg_error *err);
/* Give up: nothing is left behind (but FILE.part with keep_part). NULL is allowed. */
TLG_API void tlg_writer_abort(struct tlg_writer *w);
TLG_API void tlg_writer_counts(const struct tlg_writer *w, struct tlg_convert_counts *counts);

/* ---- small things that are files too ----------------------------------------------------------------------- */

/* A plain output file (plots, traces, reports, taps): bytes appear whole or not at all, by the same rules. */
struct tlg_outfile;
TLG_API int tlg_outfile_open(struct tlg_outfile **f, const char *path, int force, struct tlg_error *err);
TLG_API int tlg_outfile_write(struct tlg_outfile *f, const void *bytes, size_t n, struct tlg_error *err);
TLG_API int tlg_outfile_close(struct tlg_outfile *f, struct tlg_error *err);
TLG_API void tlg_outfile_abort(struct tlg_outfile *f);

/* Taps from a file ("-" = stdin): text ("# S=14 L=768 N=12287", then one integer a line; blank lines and other lines
 * that begin with # are passed over) or JSON (shift, up, taps; n optional). A sha256 that the file states, as a further
 * key=value of the first line or a JSON string, must be right. TLG_EFORMAT with line and byte offset where there is
 * one, TLG_ETAPS (out of range, or could overflow), TLG_ESYS, TLG_ENOMEM. */
TLG_API int tlg_taps_load(struct tlg_taps *taps, const char *path, struct tlg_error *err);
/* The same from n bytes in memory. */
TLG_API int tlg_taps_parse(struct tlg_taps *taps, const char *bytes, size_t n, struct tlg_error *err);
/* The text form, byte for byte the same for the same taps, as one string to be freed; NULL when out of memory. */
TLG_API char *tlg_taps_text(const struct tlg_taps *taps);
/* sha256 over S, L and N as little-endian uint32 and the taps as little-endian int16, in hex. */
TLG_API void tlg_taps_hash(const struct tlg_taps *taps, char hex[65]);

#ifdef __cplusplus
}
#endif
#endif
