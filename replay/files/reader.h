/* SPDX-License-Identifier: Apache-2.0 */
/* Inside replay/files/: what a source of samples has to provide, and what reader.c does for all of them. */
#ifndef READER_H
#define READER_H

#include "tlg_files.h"

#include <sys/types.h>

/* A source delivers its stored samples in order, numbered from 0 without gaps; reader.c lays captures, gaps and
 * the window over them. */
struct reader_ops {
  /* Up to n of the samples that follow, converted; success with *got == 0 is the end. */
  int (*read)(struct tlg_reader *r, tlg_cs16 *buf, size_t n, size_t *got, struct tlg_error *err);
  /* Go to a stored sample. NULL: cannot. */
  int (*seek)(struct tlg_reader *r, uint64_t sample, struct tlg_error *err);
  void (*close)(struct tlg_reader *r); /* frees r->source */
};

struct tlg_reader {
  const struct reader_ops *ops;
  void *source;
  struct tlg_reader_cfg cfg;
  struct tlg_reader_info info;
  struct tlg_convert_counts counts;
  struct tlg_capture *captures; /* grows by tlg_reader_add_capture */
  size_t n_captures;
  uint64_t stored_first; /* stored number of the first sample of captures[0] */
  uint64_t end;          /* stream number after the last sample or gap */
  size_t at;             /* capture being read ... */
  uint64_t done;         /* ... and samples of it already read */
  unsigned n_hints;
};

/* Parts of open, one for each kind of file. They fill r->info (n_samples and n_stated are set to UINT64_MAX before),
 * r->ops, r->source, and captures if there is more than one; on failure r is freed by the caller. */
int tlg_reader_open_raw(struct tlg_reader *r, const char *path, struct tlg_error *err);
int tlg_reader_open_sndfile(struct tlg_reader *r, const char *path, struct tlg_error *err);
int tlg_reader_open_sigmf(struct tlg_reader *r, const char *path, struct tlg_error *err);
int tlg_reader_open_archive(struct tlg_reader *r, const char *path, struct tlg_error *err);
int tlg_reader_open_pcap(struct tlg_reader *r, const char *path, struct tlg_error *err);

/* Texts may hold what stands in a file: control characters, which could end the line or move the cursor, become '?'. */
void tlg_clean_text(char *text);
/* The s of "2 samples". */
static inline const char *plural(uint64_t n)
{
  return n == 1 ? "" : "s";
}
void tlg_reader_hint(struct tlg_reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A capture of n samples after the ones there are; NULL when out of memory. */
struct tlg_capture *tlg_reader_add_capture(struct tlg_reader *r, uint64_t n);
/* The header contradicts the file: note it for info, and as a hint. */
void tlg_reader_lies(struct tlg_reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Open for reading. Refuses folders and, unless pipes_too, what is no regular file. *size = its bytes
 * (UINT64_MAX for a pipe). */
int tlg_reader_open_file(const char *path, int pipes_too, int *fd, uint64_t *size, struct tlg_error *err);
/* err is about another file than the one that the user named: begin its text with that file's name and line. */
void tlg_error_name(struct tlg_error *err, const char *file);
/* Up to n bytes at offset; less only at the end of the file. -1: errno. */
ssize_t tlg_pread(int fd, void *bytes, size_t n, uint64_t offset);
/* The rational with the least denominator whose nearest double is hz; {0, 0} if hz is no rate. */
struct tlg_rate tlg_rate_of_double(double hz);
/* Whether a file that begins so is one that libsndfile reads. */
int tlg_sndfile_magic(const uint8_t *bytes, size_t n);
/* Whether a file that begins so is a capture of network traffic. */
int tlg_pcap_magic(const uint8_t *bytes, size_t n);
int tlg_has_suffix(const char *path, const char *suffix); /* case is ignored */
/* What a name's suffix tells, in one table for readers and writers: the type of raw samples and the kind of file
 * (UNKNOWN, and *suffix untouched: nothing; OTHER_SNDFILE: read, but not written), or the suffix of a kind that is
 * neither read nor written (NULL: no such). */
enum tlg_format tlg_suffix_format(const char *path, const char **suffix);
enum tlg_container tlg_suffix_container(const char *path, const char **suffix);
const char *tlg_suffix_foreign(const char *path);
/* Rate and frequency that a file name tells. frequency NaN, rate {0, 0} = none. */
void tlg_name_hints(const char *path, struct tlg_rate *rate, double *frequency_hz);
/* The rate and the frequency: what the option says, else the header's (already in info), else the file name's. */
void tlg_reader_settle_rate(struct tlg_reader *r, const char *path);
/* Negates Q; -32768 becomes 32767 and counts as clipped. */
void tlg_conjugate(tlg_cs16 *x, size_t n, struct tlg_convert_counts *counts);
uint64_t tlg_count_full_scale(const tlg_cs16 *x, size_t n);

/* Warn if n bytes out of the samples do not look like r->info.format (plausible.c). */
void tlg_reader_check_values(struct tlg_reader *r, const uint8_t *bytes, size_t n);

/* ---- times of captures (datetime.c) --------------------------------------------------------------------------- */

struct tlg_datetime {
  int64_t seconds; /* since 1970-01-01 UTC */
  uint64_t picoseconds;
  unsigned digits; /* decimals of the second that were written, at most 12: how exact it claims to be */
};
/* ISO 8601 in UTC, as SigMF writes it; TLG_EFORMAT for anything else. */
int tlg_datetime_parse(const char *text, struct tlg_datetime *t);
/* t + add_ps with 12 decimals. */
void tlg_datetime_text(const struct tlg_datetime *t, uint64_t add_ps, char text[40]);

/* ---- samples that lie in byte ranges of a file (reader_span.c) ---------------------------------------------- */

struct span {
  uint64_t offset; /* first byte */
  uint64_t n;      /* samples of one channel */
};

/* Read r->info.format (and big_endian, n_channels, r->cfg.channel) from spans of fd, or, with n_spans == 0, from fd
 * as a pipe. Takes over fd, which is closed also on failure; spans are copied. */
int tlg_reader_use_spans(struct tlg_reader *r, int fd, const struct span *spans, size_t n_spans, struct tlg_error *err);

/* ---- hash.c ------------------------------------------------------------------------------------------------- */

struct tlg_sha512;
struct tlg_sha512 *tlg_sha512_new(void);
void tlg_sha512_add(struct tlg_sha512 *h, const void *bytes, size_t n);
/* 128 hex digits and a 0. Frees h. */
void tlg_sha512_end(struct tlg_sha512 *h, char hex[129]);
/* The hash of n bytes of fd from offset on. progress as in tlg_reader_cfg. */
int tlg_sha512_file(int fd, uint64_t offset, uint64_t n, int (*progress)(void *, uint64_t, uint64_t), void *context,
                    char hex[129], struct tlg_error *err);

#endif
