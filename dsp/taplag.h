/* SPDX-License-Identifier: Apache-2.0 */
/* Base of the taplag library: status codes, sample types, rates, instants, version. */
#ifndef TAPLAG_H
#define TAPLAG_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TLG_VERSION "0.1.0"
#define TLG_API __attribute__((visibility("default")))

/* What can fail returns 0 or one of these. Distinct causes keep distinct codes; the program's exit
 * status follows from them (see tlg_exit_status in docs/errors.md). */
enum tlg_status {
  TLG_OK = 0,
  TLG_EINVAL = -1,   /* an argument is outside its stated range */
  TLG_ESPACE = -2,   /* the output buffer is too small; nothing was consumed */
  TLG_EEXIST = -3,   /* the output exists and overwriting was not asked for */
  TLG_EFORMAT = -4,  /* the contents of an input are wrong */
  TLG_ETAPS = -5,    /* filter taps could overflow, or do not fit the ratio */
  TLG_ENOMEM = -6,   /* memory is exhausted */
  TLG_ESYS = -7,     /* the system refused: file missing or unreadable, disk full, ... */
  TLG_EPIPE = -8,    /* the reader of our output went away */
  TLG_EUNAVAIL = -9, /* not built in, or not available on this host */
  TLG_EINTR = -10,   /* stopped on request after draining */
};

/* What went wrong, in one sentence that says what to do. line counts from 1, 0 = none.
 * offset is in bytes, UINT64_MAX = none. */
struct tlg_error {
  int status;
  unsigned line;
  uint64_t offset;
  char text[400];
};

/* Fill err (may be NULL) and return status, so that a function can end with it. */
TLG_API int tlg_error_set(struct tlg_error *err, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same with a place: line (0 = none) and byte offset (UINT64_MAX = none). */
TLG_API int tlg_error_at(struct tlg_error *err, int status, unsigned line, uint64_t offset, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* A status in words; never NULL. */
TLG_API const char *tlg_status_text(int status);
TLG_API const char *tlg_version(void);

/* One complex sample. 0 dBFS is a complex tone of amplitude 32768. Arrays of it are interleaved I, Q. */
typedef struct {
  int16_t i, q;
} tlg_cs16;

typedef struct {
  float i, q;
} tlg_cf32;

typedef struct {
  double i, q;
} tlg_cf64;

/* A positive rational in lowest terms: a rate in Hz, or a ratio of rates. {0, 0} = not known. */
struct tlg_rate {
  uint64_t num, den;
};

/* Parse "25M", "30.72M", "184320000/7", "19.2e6" into lowest terms. TLG_EINVAL if it is none, zero, or does
 * not fit 64 bits. */
TLG_API int tlg_rate_parse(struct tlg_rate *rate, const char *text);
/* num/den in lowest terms; TLG_EINVAL when one is 0. */
TLG_API int tlg_rate_make(struct tlg_rate *rate, uint64_t num, uint64_t den);
/* The rate in Hz, correctly rounded to double. */
TLG_API double tlg_rate_hz(const struct tlg_rate *rate);
/* "25 Msps", "26.3314286 Msps (184320000/7)" into text; returns text. */
TLG_API char *tlg_rate_text(const struct tlg_rate *rate, char *text, size_t size);
/* up/down = out/in in lowest terms. TLG_EINVAL if one exceeds 65535 (both are still set when they fit 32 bits). */
TLG_API int tlg_rate_ratio(const struct tlg_rate *in, const struct tlg_rate *out, uint32_t *up, uint32_t *down);
/* A rate that a driver or file gives as a double: the ratio out/in nearest to out / in_hz with both terms at
 * most 65535, within 1e-9, else TLG_EINVAL. in becomes out * down / up exactly. */
TLG_API int tlg_rate_match(double in_hz, const struct tlg_rate *out, struct tlg_rate *in);

/* The instant at which n samples have passed: floor(n * 10^12 / rate), in picoseconds, exact in 128 bits. */
TLG_API uint64_t tlg_instant_ps(uint64_t n, const struct tlg_rate *rate);

#ifdef __cplusplus
}
#endif
#endif
