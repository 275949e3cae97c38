/* SPDX-License-Identifier: Apache-2.0 */
/* Reading recordings: finds the kind of file, and lays captures, gaps and the window over what a source stores. */
#include "reader.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HINT_LIMIT 40 /* a file with thousands of captures may have thousands of faults */

void tlg_clean_text(char *text)
{
  for (; *text; text++) {
    if ((unsigned char)*text < 0x20 || *text == 0x7f) {
      *text = '?';
    }
  }
}

void tlg_reader_hint(struct tlg_reader *r, const char *format, ...)
{
  char text[400];
  va_list ap;

  if (r->cfg.hint && ++r->n_hints <= HINT_LIMIT) {
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    tlg_clean_text(text);
    r->cfg.hint(r->cfg.context, r->n_hints < HINT_LIMIT ? text : "further remarks are left out");
  }
}

void tlg_reader_lies(struct tlg_reader *r, const char *format, ...)
{
  va_list ap;

  r->info.header_lies = 1;
  va_start(ap, format);
  vsnprintf(r->info.header_note, sizeof r->info.header_note, format, ap);
  va_end(ap);
  tlg_clean_text(r->info.header_note);
  tlg_reader_hint(r, "%s", r->info.header_note);
}

struct tlg_capture *tlg_reader_add_capture(struct tlg_reader *r, uint64_t n)
{
  struct tlg_capture *more, *c;

  /* Room grows by doubling: at every power of two. */
  if ((r->n_captures & (r->n_captures - 1)) == 0) {
    more = realloc(r->captures, (r->n_captures ? 2 * r->n_captures : 1) * sizeof *more);
    if (!more) {
      return NULL;
    }
    r->captures = more;
  }
  c = &r->captures[r->n_captures++];
  memset(c, 0, sizeof *c);
  c->n = n;
  c->frequency_hz = NAN;
  return c;
}

int tlg_reader_open_file(const char *path, int pipes_too, int *fd, uint64_t *size, struct tlg_error *err)
{
  const int is_stdin = strcmp(path, "-") == 0;
  struct stat st;
  int opened;

  if (!is_stdin && stat(path, &st) != 0) {
    return tlg_error_set(err, TLG_ESYS, "cannot open: %s", strerror(errno));
  }
  if (!is_stdin && S_ISDIR(st.st_mode)) {
    return tlg_error_set(err, TLG_ESYS, "this is a folder; name a file in it");
  }
  if (!is_stdin && !pipes_too && !S_ISREG(st.st_mode)) {
    return tlg_error_set(err, TLG_ESYS, "this is no regular file; this kind of recording cannot come through a pipe");
  }
  opened = is_stdin ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3) : open(path, O_RDONLY | O_CLOEXEC);
  if (opened < 0) {
    return tlg_error_set(err, errno == EINTR ? TLG_EINTR : TLG_ESYS, "cannot open: %s", strerror(errno));
  }
  if (fstat(opened, &st) != 0 || S_ISDIR(st.st_mode)) {
    close(opened);
    return tlg_error_set(err, TLG_ESYS, "cannot open: it is a folder");
  }
  *size = UINT64_MAX;
  /* stdin that is a file is read through as a pipe if somebody has already taken a part of it. */
  if (S_ISREG(st.st_mode) && !(is_stdin && lseek(opened, 0, SEEK_CUR) != 0)) {
    *size = (uint64_t)st.st_size;
  } else if (S_ISBLK(st.st_mode)) {
    const off_t end = lseek(opened, 0, SEEK_END);

    if (end > 0) {
      *size = (uint64_t)end;
    }
  }
  *fd = opened;
  return TLG_OK;
}

/* The error of a file other than the one the user named begins with that file's name. */
void tlg_error_name(struct tlg_error *err, const char *file)
{
  struct tlg_error inner;
  const char *slash = strrchr(file, '/');

  if (err) {
    inner = *err;
    if (inner.line) {
      snprintf(err->text, sizeof err->text, "%.120s:%u: %.260s", slash ? slash + 1 : file, inner.line, inner.text);
      err->line = 0;
    } else {
      snprintf(err->text, sizeof err->text, "%.120s: %.260s", slash ? slash + 1 : file, inner.text);
    }
  }
}

ssize_t tlg_pread(int fd, void *bytes, size_t n, uint64_t offset)
{
  size_t done = 0;

  while (done < n) {
    const ssize_t got = pread(fd, (char *)bytes + done, n - done, (off_t)(offset + done));

    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return done ? (ssize_t)done : -1;
    }
    if (got == 0) {
      break;
    }
    done += (size_t)got;
  }
  return (ssize_t)done;
}

struct tlg_rate tlg_rate_of_double(double hz)
{
  struct tlg_rate rate = {0, 0};
  double x = hz;
  uint64_t p0 = 0, q0 = 1, p1 = 1, q1 = 0;
  int i;

  if (!(hz > 0) || !(hz < 1e18)) {
    return rate;
  }
  for (i = 0; i < 40 && x < 9e18; i++) { /* continued fraction: the first convergent that is hz again */
    const uint64_t a = (uint64_t)x;
    unsigned __int128 p2, q2;

    p2 = (unsigned __int128)a * p1 + p0;
    q2 = (unsigned __int128)a * q1 + q0;
    if (p2 > UINT64_MAX / 2 || q2 > UINT32_MAX) {
      break;
    }
    p0 = p1;
    q0 = q1;
    p1 = (uint64_t)p2;
    q1 = (uint64_t)q2;
    if (p1 && (double)p1 / (double)q1 == hz) {
      tlg_rate_make(&rate, p1, q1);
      return rate;
    }
    if (x == (double)a) {
      break;
    }
    x = 1.0 / (x - (double)a);
  }
  if (hz >= 0.001) {
    tlg_rate_make(&rate, (uint64_t)(hz * 1000.0 + 0.5), 1000);
  }
  return rate;
}

void tlg_conjugate(tlg_cs16 *x, size_t n, struct tlg_convert_counts *counts)
{
  size_t i;

  for (i = 0; i < n; i++) {
    counts->clipped += x[i].q == -32768;
    x[i].q = (int16_t)(x[i].q == -32768 ? 32767 : -x[i].q);
  }
}

/* ---- what kind of file -------------------------------------------------------------------------------------- */

enum kind { KIND_RAW, KIND_SNDFILE, KIND_SIGMF, KIND_ARCHIVE, KIND_PCAP };

/* Whether a file begins as one that libsndfile reads. */
int tlg_sndfile_magic(const uint8_t *b, size_t n)
{
  static const uint8_t w64[16] = {'r',  'i',  'f',  'f',  0x2e, 0x91, 0xcf, 0x11,
                                  0xa5, 0xd6, 0x28, 0xdb, 0x04, 0xc1, 0x00, 0x00};

  if (n < 12) {
    return n >= 4 && (memcmp(b, "fLaC", 4) == 0 || memcmp(b, "RIFF", 4) == 0 || memcmp(b, "RF64", 4) == 0);
  }
  if (memcmp(b, "RIFF", 4) == 0 || memcmp(b, "RIFX", 4) == 0 || memcmp(b, "RF64", 4) == 0 ||
      memcmp(b, "BW64", 4) == 0) {
    return memcmp(b + 8, "WAVE", 4) == 0;
  }
  if (memcmp(b, "FORM", 4) == 0) {
    return memcmp(b + 8, "AIF", 3) == 0;
  }
  return memcmp(b, "fLaC", 4) == 0 || memcmp(b, ".snd", 4) == 0 || memcmp(b, "dns.", 4) == 0 ||
         (memcmp(b, "caff", 4) == 0 && b[4] == 0) || (n >= 16 && memcmp(b, w64, 16) == 0);
}

static int is_sndfile_suffix(const char *path)
{
  const char *unused;
  const enum tlg_container container = tlg_suffix_container(path, &unused);

  return container != TLG_CONTAINER_UNKNOWN && container != TLG_CONTAINER_SIGMF &&
         container != TLG_CONTAINER_SIGMF_ARCHIVE;
}

static int find_kind(struct tlg_reader *r, const char *path, enum kind *kind, struct tlg_error *err)
{
  uint8_t head[264];
  struct stat st;
  char *meta = NULL;
  ssize_t n = 0;
  int fd;

  *kind = KIND_RAW;
  if (strcmp(path, "-") == 0) {
    /* stdin that is a file, from its start, can be any kind of file; a pipe only raw. */
    if (fstat(STDIN_FILENO, &st) == 0 && S_ISREG(st.st_mode) && lseek(STDIN_FILENO, 0, SEEK_CUR) == 0 &&
        (n = tlg_pread(STDIN_FILENO, head, sizeof head, 0)) > 0) {
      *kind = n >= 262 && memcmp(head + 257, "ustar", 5) == 0 ? KIND_ARCHIVE
              : tlg_sndfile_magic(head, (size_t)n)            ? KIND_SNDFILE
              : tlg_pcap_magic(head, (size_t)n)               ? KIND_PCAP
                                                              : KIND_RAW;
    }
    return TLG_OK;
  }
  if (tlg_has_suffix(path, ".sigmf-meta") || tlg_has_suffix(path, ".sigmf-data")) {
    *kind = KIND_SIGMF;
    return TLG_OK;
  }
  if (tlg_has_suffix(path, ".sigmf-collection")) {
    return tlg_error_set(err, TLG_EINVAL, "a collection only lists recordings; name one of them (its .sigmf-meta)");
  }
  if (stat(path, &st) != 0) {
    const int saved = errno;

    if (asprintf(&meta, "%s.sigmf-meta", path) < 0) {
      return tlg_error_set(err, TLG_ENOMEM, "out of memory");
    }
    *kind = access(meta, F_OK) == 0 ? KIND_SIGMF : KIND_RAW;
    free(meta);
    return *kind == KIND_SIGMF ? TLG_OK : tlg_error_set(err, TLG_ESYS, "cannot open: %s", strerror(saved));
  }
  if (!S_ISREG(st.st_mode)) {
    *kind = is_sndfile_suffix(path) ? KIND_SNDFILE : tlg_has_suffix(path, ".sigmf") ? KIND_ARCHIVE : KIND_RAW;
    return TLG_OK;
  }
  fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return tlg_error_set(err, TLG_ESYS, "cannot open: %s", strerror(errno));
  }
  n = tlg_pread(fd, head, sizeof head, 0);
  close(fd);
  if (n < 0) {
    return tlg_error_at(err, TLG_ESYS, 0, 0, "cannot read: %s", strerror(errno));
  }
  if (tlg_has_suffix(path, ".sigmf") || (n >= 262 && memcmp(head + 257, "ustar", 5) == 0)) {
    *kind = KIND_ARCHIVE;
  } else if (tlg_sndfile_magic(head, (size_t)n)) {
    *kind = KIND_SNDFILE;
  } else if (tlg_pcap_magic(head, (size_t)n)) {
    *kind = KIND_PCAP;
  } else if (is_sndfile_suffix(path)) {
    if (r->cfg.format) {
      tlg_reader_hint(r, "it has no header of the kind its suffix tells; read as raw %s, as --format says",
                      tlg_format_name(r->cfg.format));
    } else {
      *kind = KIND_SNDFILE;
    }
  }
  return TLG_OK;
}

/* ---- captures, gaps, window ----------------------------------------------------------------------------------- */

static int one_capture(struct tlg_reader *r, struct tlg_error *err)
{
  struct tlg_capture *c;

  if (r->n_captures == 0) {
    c = tlg_reader_add_capture(r, r->info.n_samples);
    if (!c) {
      return tlg_error_set(err, TLG_ENOMEM, "out of memory");
    }
    c->frequency_hz = r->info.frequency_hz;
  }
  return TLG_OK;
}

/* Stream numbers from the captures' lengths and gaps; totals. */
static void number_captures(struct tlg_reader *r)
{
  uint64_t at = 0, samples = 0, missing = 0;
  size_t i;

  for (i = 0; i < r->n_captures; i++) {
    struct tlg_capture *c = &r->captures[i];

    at += c->gap_before;
    missing += c->gap_before;
    c->first = at;
    if (c->n == UINT64_MAX) { /* a pipe: the only capture, open at its end */
      samples = UINT64_MAX;
      break;
    }
    at += c->n;
    samples += c->n;
  }
  r->end = at;
  r->info.n_samples = samples;
  r->info.n_missing = missing;
}

/* Times of the window become sample numbers, once the rate is known. */
static int settle_window(struct tlg_reader *r, struct tlg_error *err)
{
  const unsigned __int128 divisor = (unsigned __int128)r->info.rate.den * 1000000000000u;
  const uint64_t limit = (uint64_t)1 << 60;

  if (!r->cfg.start_ps && !r->cfg.length_ps) {
    return TLG_OK;
  }
  if (!r->info.rate.num) {
    return tlg_error_set(err, TLG_EINVAL, "the window is given as time, but nothing tells the rate; give --rate");
  }
  if (r->cfg.start_ps > limit || r->cfg.length_ps > limit) {
    return tlg_error_set(err, TLG_EINVAL, "the window is longer than 13 days");
  }
  r->cfg.start += (uint64_t)(((unsigned __int128)r->cfg.start_ps * r->info.rate.num + divisor / 2) / divisor);
  if (r->cfg.length_ps) {
    r->cfg.length += (uint64_t)(((unsigned __int128)r->cfg.length_ps * r->info.rate.num + divisor / 2) / divisor);
    if (!r->cfg.length) {
      return tlg_error_set(err, TLG_EINVAL, "the window is shorter than half a sample");
    }
  }
  return TLG_OK;
}

/* Cut the captures down to the window [start, start + length) of the stream. */
static int apply_window(struct tlg_reader *r, struct tlg_error *err)
{
  const uint64_t start = r->cfg.start;
  const int open_end = r->captures[r->n_captures - 1].n == UINT64_MAX;
  uint64_t end = r->cfg.length && r->cfg.length < UINT64_MAX - start ? start + r->cfg.length : UINT64_MAX;
  uint64_t stored = 0, last = 0;
  size_t i, kept = 0;

  if (!start && end == UINT64_MAX) {
    return TLG_OK;
  }
  if (open_end) {
    r->captures[0].n = r->cfg.length ? r->cfg.length : UINT64_MAX;
    return TLG_OK; /* start is passed over by reading */
  }
  if (start >= r->end) {
    return tlg_error_set(err, TLG_EINVAL, "the window starts at sample %llu, but there are only %llu",
                         (unsigned long long)start, (unsigned long long)r->end);
  }
  if (r->cfg.length && end > r->end) {
    tlg_reader_hint(r, "the window reaches past the end: %llu of %llu sample%s are there",
                    (unsigned long long)(r->end - start), (unsigned long long)r->cfg.length, plural(r->cfg.length));
  }
  if (end > r->end) {
    end = r->end;
  }
  r->stored_first = 0;
  for (i = 0; i < r->n_captures; i++) {
    struct tlg_capture c = r->captures[i];
    const uint64_t cut = c.first < start ? start - c.first : 0;

    if (cut >= c.n || c.first >= end) {
      stored += c.n;
      continue;
    }
    if (!kept) {
      r->stored_first = stored + cut;
    }
    stored += c.n;
    c.first += cut;
    c.n -= cut;
    if (c.n > end - c.first) {
      c.n = end - c.first;
    }
    c.gap_before = c.first - (kept ? last : start);
    last = c.first + c.n;
    if (cut) { /* the time stated was that of a sample before the window */
      struct tlg_datetime t;

      if (c.datetime[0] && r->info.rate.num && tlg_datetime_parse(c.datetime, &t) == TLG_OK) {
        tlg_datetime_text(&t, tlg_instant_ps(cut, &r->info.rate), c.datetime);
      } else {
        c.datetime[0] = '\0';
      }
    }
    c.first -= start;
    r->captures[kept++] = c;
  }
  if (!kept) {
    return tlg_error_set(err, TLG_EINVAL, "the window from sample %llu lies in a gap: there is nothing to read",
                         (unsigned long long)start);
  }
  r->n_captures = kept;
  number_captures(r);
  r->info.n_missing += end - last;
  r->end = end - start; /* a gap at the end of the window shows */
  return TLG_OK;
}

/* A pipe has no seek: take its first samples and let them go. */
static int pass_over(struct tlg_reader *r, uint64_t n, struct tlg_error *err)
{
  struct tlg_convert_counts unused = r->counts;
  tlg_cs16 scratch[1024];
  size_t got;
  int status;

  while (n) {
    status = r->ops->read(r, scratch, n < 1024 ? (size_t)n : 1024, &got, err);
    if (status) {
      return status;
    }
    if (!got) {
      return tlg_error_set(err, TLG_EINVAL, "the window starts at sample %llu, but %llu fewer came",
                           (unsigned long long)r->cfg.start, (unsigned long long)n);
    }
    n -= got;
  }
  r->counts = unused;
  return TLG_OK;
}

static int open_kind(struct tlg_reader *r, const char *path, struct tlg_error *err)
{
  enum kind kind;
  int status = find_kind(r, path, &kind, err);

  if (status == TLG_OK) {
    switch (kind) {
    case KIND_RAW:
      status = tlg_reader_open_raw(r, path, err);
      break;
    case KIND_SNDFILE:
      status = tlg_reader_open_sndfile(r, path, err);
      break;
    case KIND_SIGMF:
      status = tlg_reader_open_sigmf(r, path, err);
      break;
    case KIND_ARCHIVE:
      status = tlg_reader_open_archive(r, path, err);
      break;
    case KIND_PCAP:
      status = tlg_reader_open_pcap(r, path, err);
      break;
    }
  }
  return status;
}

int tlg_reader_open(struct tlg_reader **reader, const char *path, const struct tlg_reader_cfg *cfg,
                    struct tlg_error *err)
{
  static const double natural[] = {
      [TLG_FORMAT_UNKNOWN] = 1,
      [TLG_FORMAT_CS16] = 32768,
      [TLG_FORMAT_CF32] = 1,
      [TLG_FORMAT_CF64] = 1,
      [TLG_FORMAT_CS8] = 128,
      [TLG_FORMAT_CU8] = 128,
      [TLG_FORMAT_CS32] = 2147483648.0,
      [TLG_FORMAT_CU16] = 32768,
      [TLG_FORMAT_CU32] = 2147483648.0,
      [TLG_FORMAT_CS24] = 8388608,
  };
  struct tlg_reader *r;
  int status;

  if (!reader || !path) {
    return tlg_error_set(err, TLG_EINVAL, "no input is named");
  }
  *reader = NULL;
  if (!path[0]) {
    return tlg_error_set(err, TLG_EINVAL, "the name of the input is empty");
  }
  r = calloc(1, sizeof *r);
  if (!r) {
    return tlg_error_set(err, TLG_ENOMEM, "out of memory");
  }
  if (cfg) {
    r->cfg = *cfg;
  }
  r->info.n_samples = r->info.n_stated = UINT64_MAX;
  r->info.n_channels = 1;
  r->info.frequency_hz = NAN;
  if (r->cfg.full_scale < 0 || !isfinite(r->cfg.full_scale)) {
    status = tlg_error_set(err, TLG_EINVAL, "the full scale must be a positive number");
    goto fail;
  }
  status = open_kind(r, path, err);
  if (status) {
    goto fail;
  }
  if (r->cfg.recording && r->info.container != TLG_CONTAINER_SIGMF_ARCHIVE) {
    status = tlg_error_set(err, TLG_EINVAL, "only SigMF archives hold several recordings; leave --recording out");
    goto fail;
  }
  r->info.full_scale = r->cfg.full_scale > 0 ? r->cfg.full_scale : natural[r->info.format];
  status = one_capture(r, err);
  if (status) {
    goto fail;
  }
  number_captures(r);
  status = settle_window(r, err);
  status = status ? status : apply_window(r, err);
  if (status) {
    goto fail;
  }
  r->info.captures = r->captures;
  r->info.n_captures = r->n_captures;
  r->info.frequency_hz = isnan(r->captures[0].frequency_hz) ? r->info.frequency_hz : r->captures[0].frequency_hz;
  if (r->ops->seek) {
    status = r->stored_first ? r->ops->seek(r, r->stored_first, err) : TLG_OK;
  } else {
    status = pass_over(r, r->cfg.start, err);
  }
  if (status) {
    goto fail;
  }
  *reader = r;
  return TLG_OK;

fail:
  if (err) {
    tlg_clean_text(err->text);
  }
  tlg_reader_close(r);
  return status;
}

int tlg_reader_read(struct tlg_reader *r, tlg_cs16 *buf, size_t n, size_t *got, uint64_t *first, struct tlg_error *err)
{
  size_t taken = 0;
  int status;

  if (!r || !buf || !n || !got || !first) {
    return tlg_error_set(err, TLG_EINVAL, "nothing to read into");
  }
  *got = 0;
  while (r->at < r->n_captures) {
    struct tlg_capture *c = &r->captures[r->at];
    const uint64_t left = c->n == UINT64_MAX ? UINT64_MAX : c->n - r->done;

    if (left == 0) {
      if (r->info.n_samples == UINT64_MAX) { /* the window of a pipe is full */
        r->info.n_samples = r->done;
        r->end = c->first + r->done;
      }
      r->at++;
      r->done = 0;
      continue;
    }
    status = r->ops->read(r, buf, n < left ? n : (size_t)left, &taken, err);
    if (status) {
      return status;
    }
    *first = c->first + r->done;
    r->done += taken;
    if (taken) {
      *got = taken;
      return TLG_OK;
    }
    if (r->info.n_samples != UINT64_MAX && r->cfg.rescue) {
      tlg_reader_hint(r, "rescue: it ended after %llu of %llu sample%s", (unsigned long long)*first,
                      (unsigned long long)r->end, plural(r->end));
      c->n = r->done;
      r->n_captures = r->info.n_captures = r->at + 1;
      number_captures(r);
      break;
    }
    if (r->info.n_samples != UINT64_MAX && r->ops->seek) {
      return tlg_error_set(err, TLG_EFORMAT, "the file ended after %llu of %llu sample%s that were expected",
                           (unsigned long long)*first, (unsigned long long)r->end, plural(r->end));
    }
    c->n = r->done; /* a pipe tells its length here */
    r->info.n_samples = r->done;
    r->end = *first;
  }
  *first = r->end;
  return TLG_OK;
}

int tlg_reader_rewind(struct tlg_reader *r, struct tlg_error *err)
{
  int status;

  if (!r) {
    return tlg_error_set(err, TLG_EINVAL, "no reader");
  }
  if (!r->ops->seek) {
    return tlg_error_set(err, TLG_EUNAVAIL, "a pipe cannot be read twice; name a file");
  }
  status = r->ops->seek(r, r->stored_first, err);
  if (status == TLG_OK) {
    r->at = 0;
    r->done = 0;
  }
  return status;
}

const struct tlg_reader_info *tlg_reader_info(const struct tlg_reader *r)
{
  return &r->info;
}

void tlg_reader_counts(const struct tlg_reader *r, struct tlg_convert_counts *counts)
{
  *counts = r->counts;
}

void tlg_reader_close(struct tlg_reader *r)
{
  if (r) {
    if (r->ops) {
      r->ops->close(r);
    }
    free(r->captures);
    free(r);
  }
}
