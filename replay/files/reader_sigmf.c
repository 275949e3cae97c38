/* SPDX-License-Identifier: Apache-2.0 */
/* SigMF recordings: meta and data files beside each other; captures, headers between samples, gaps told by times. */
#include "sigmf.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define META_LIMIT ((uint64_t)64 << 20)

/* The most decimals that any capture's time has: how exact the recording's times are. Writers leave zeros at the end
 * out ("12:00:00Z" beside "12:00:00.000041Z"), so a shorter time is no less exact than the others. */
static unsigned time_digits(const struct sigmf_meta *meta)
{
  struct tlg_datetime t;
  unsigned digits = 0;
  size_t i;

  for (i = 0; i < meta->n_captures; i++) {
    if (meta->captures[i].datetime[0] && tlg_datetime_parse(meta->captures[i].datetime, &t) == TLG_OK &&
        t.digits > digits) {
      digits = t.digits;
    }
  }
  return digits;
}

/* Times that are coarser than the samples leave short gaps open, and long ones inexact. */
static void tell_resolution(struct tlg_reader *r, unsigned digits, uint64_t resolution_ps)
{
  const struct tlg_rate *rate = &r->info.rate;
  const unsigned __int128 size = (unsigned __int128)resolution_ps * rate->num;
  const unsigned __int128 sample = (unsigned __int128)1000000000000u * rate->den;
  const uint64_t samples = (uint64_t)((size + sample / 2) / sample);

  if (samples) {
    tlg_reader_hint(r,
                    "the times of its captures have %u decimal%s, and the last one is worth %llu sample%s: a gap of "
                    "fewer cannot be told from none, and longer ones only to within that",
                    digits, plural(digits), (unsigned long long)samples, plural(samples));
  }
}

/* How many samples are missing between captures a and b, which stand d samples apart; what contradicts is told.
 * digits: of the recording's times; *coarse: these were used. */
static uint64_t gap_between(struct tlg_reader *r, const struct sigmf_capture *a, const struct sigmf_capture *b,
                            size_t number, uint64_t resolution_ps, int *coarse)
{
  const uint64_t d = b->start - a->start;
  const struct tlg_rate *rate = &r->info.rate;
  struct tlg_datetime ta, tb;
  __int128 missing, tolerance_ps, diff_ps;

  if (a->global_index != UINT64_MAX && b->global_index != UINT64_MAX) {
    missing = (__int128)b->global_index - (__int128)a->global_index - (__int128)d;
  } else {
    if (!a->datetime[0] || !b->datetime[0] || tlg_datetime_parse(a->datetime, &ta) ||
        tlg_datetime_parse(b->datetime, &tb)) {
      return 0;
    }
    if (!rate->num) {
      tlg_reader_hint(r, "gaps cannot be told from the times of the captures, as the rate is not known; give --rate");
      return 0;
    }
    diff_ps = ((__int128)tb.seconds - ta.seconds) * 1000000000000 + (__int128)tb.picoseconds - (__int128)ta.picoseconds;
    tolerance_ps = resolution_ps; /* a time is no more exact than its decimals */
    *coarse = 1;
    if (diff_ps > (__int128)1 << 96 || diff_ps < -((__int128)1 << 96)) {
      return 0;
    }
    {
      const __int128 apart_ps = (__int128)tlg_instant_ps(d, rate);
      const __int128 off = diff_ps - apart_ps;

      if (off <= tolerance_ps && off >= -tolerance_ps) {
        return 0;
      }
      /* to the nearest sample */
      missing = off > 0 ? 1 : -1;
      {
        const unsigned __int128 size = (unsigned __int128)(off > 0 ? off : -off);
        const long double samples = (long double)size * (long double)rate->num / (long double)rate->den / 1e12L;

        if (samples > 1e17L) {
          tlg_reader_hint(r, "the times of captures %zu and %zu are too far apart to be a gap; they are passed over",
                          number, number + 1);
          return 0;
        }
        missing *= (__int128)(samples + 0.5L);
      }
    }
  }
  if (missing < 0) {
    tlg_reader_hint(r, "capture %zu begins %lld sample%s before capture %zu ends, by what they state; they are joined",
                    number + 1, (long long)-missing, plural((uint64_t)-missing), number);
    return 0;
  }
  if (missing > (__int128)1 << 56) {
    tlg_reader_hint(r, "the gap before capture %zu is impossibly long; it is passed over", number + 1);
    return 0;
  }
  return (uint64_t)missing;
}

static int add(struct tlg_reader *r, struct span *spans, uint64_t offset, uint64_t n, const struct sigmf_capture *c,
               uint64_t gap, struct tlg_error *err)
{
  struct tlg_capture *capture = tlg_reader_add_capture(r, n);

  if (!capture) {
    return tlg_error_set(err, TLG_ENOMEM, "out of memory");
  }
  spans[r->n_captures - 1].offset = offset;
  spans[r->n_captures - 1].n = n;
  capture->gap_before = gap;
  if (c) {
    capture->frequency_hz = c->frequency_hz;
    memcpy(capture->datetime, c->datetime, sizeof capture->datetime);
  }
  return TLG_OK;
}

/* Captures, spans and gaps from what meta states and the data hold. */
static int lay_out(struct tlg_reader *r, const struct sigmf_meta *meta, uint64_t base, uint64_t size,
                   struct span *spans, struct tlg_error *err)
{
  const uint64_t frame = tlg_format_size(r->info.format) * meta->n_channels;
  const uint64_t data_end = size > meta->trailing_bytes ? size - meta->trailing_bytes : 0;
  /* Sample numbers include core:offset; some tools leave it out of core:sample_start. */
  const int relative = meta->n_captures && meta->captures[0].start < meta->offset;
  const uint64_t offset = relative ? 0 : meta->offset;
  const unsigned digits = time_digits(meta);
  uint64_t headers = 0, gap = 0, end_of_last = 0, resolution_ps = 1000000000000u;
  size_t i;
  unsigned k;
  int coarse = 0;
  int status;

  for (k = 0; k < digits; k++) {
    resolution_ps /= 10;
  }
  if (relative) {
    tlg_reader_hint(r, "captures start below core:offset (%llu); their numbers are taken from the start of the file",
                    (unsigned long long)meta->offset);
  }
  for (i = 0; i < meta->n_captures || i == 0; i++) {
    const struct sigmf_capture *c = meta->n_captures ? &meta->captures[i] : NULL;
    const uint64_t start = c ? c->start - offset : 0;
    uint64_t at, n;

    if (i == 0 && start > 0) {
      const uint64_t whole = data_end / frame;

      tlg_reader_hint(r,
                      "the first capture starts at sample %llu; what stands before it is read, without frequency "
                      "and time",
                      (unsigned long long)start);
      if ((status = add(r, spans, base, start < whole ? start : whole, NULL, 0, err))) {
        return status;
      }
    }
    headers += c ? c->header_bytes : 0;
    at = start * frame + headers;
    if (at > data_end || (at == data_end && i > 0)) {
      tlg_reader_lies(r, "capture %zu starts at sample %llu, but the data end after %llu", i + 1,
                      (unsigned long long)(c ? c->start : 0), (unsigned long long)(data_end / frame + offset));
      if (!r->cfg.rescue) {
        return tlg_error_at(err, TLG_EFORMAT, c ? c->line : 0, UINT64_MAX,
                            "%s; the recording was cut: --rescue reads what is there", r->info.header_note);
      }
      break;
    }
    n = (data_end - at) / frame;
    end_of_last = (data_end - at) % frame;
    if (i + 1 < meta->n_captures) {
      const uint64_t stated = meta->captures[i + 1].start - c->start;

      n = n < stated ? n : stated;
    }
    if (i > 0) {
      gap += gap_between(r, c - 1, c, i, resolution_ps, &coarse);
    }
    if (n == 0) {
      tlg_reader_hint(r, "capture %zu holds no samples", i + 1);
      continue;
    }
    if ((status = add(r, spans, base + at, n, c, gap, err))) {
      return status;
    }
    gap = 0;
  }
  r->info.tail_bytes = (unsigned)end_of_last;
  if (coarse) {
    tell_resolution(r, digits, resolution_ps);
  }
  return TLG_OK;
}

int tlg_sigmf_use(struct tlg_reader *r, const struct sigmf_meta *meta, const char *path, int fd, uint64_t base,
                  uint64_t size, struct tlg_error *err)
{
  struct span *spans = calloc(meta->n_captures + 2, sizeof *spans);
  uint64_t n = 0;
  size_t i;
  char hex[129];
  int status;

  if (!spans) {
    status = tlg_error_set(err, TLG_ENOMEM, "out of memory");
    goto fail;
  }
  r->info.format = meta->format;
  r->info.format_source = "header";
  r->info.big_endian = meta->big_endian;
  r->info.n_channels = meta->n_channels;
  r->info.offset = meta->offset;
  r->info.seekable = 1;
  if (r->cfg.format && r->cfg.format != meta->format) {
    tlg_reader_hint(r, "core:datatype says %s, but --format %s wins", tlg_format_name(meta->format),
                    tlg_format_name(r->cfg.format));
    r->info.format = r->cfg.format;
  }
  if (r->cfg.format) {
    r->info.format_source = "option";
  }
  if (meta->rate_hz > 0) {
    r->info.rate = tlg_rate_of_double(meta->rate_hz);
    r->info.rate_source = "header";
  }
  tlg_reader_settle_rate(r, path);
  if (r->cfg.channel > meta->n_channels || (meta->n_channels > 1 && !r->cfg.channel)) {
    status = tlg_error_set(err, TLG_EINVAL, "it holds %u channel%s; --channel 1%s chooses one", meta->n_channels,
                           meta->n_channels > 1 ? "s, interleaved" : "", meta->n_channels > 1 ? ", 2, ..." : "");
    goto fail;
  }
  if (size == 0) {
    status = tlg_error_at(err, TLG_EFORMAT, 0, 0, "the data file is empty");
    goto fail;
  }
  if (meta->trailing_bytes > size) {
    status =
        tlg_error_at(err, TLG_EFORMAT, 0, UINT64_MAX, "core:trailing_bytes is %llu, but the data have only %llu byte%s",
                     (unsigned long long)meta->trailing_bytes, (unsigned long long)size, plural(size));
    goto fail;
  }
  if (meta->sha512[0]) {
    status = tlg_sha512_file(fd, base, size, r->cfg.progress, r->cfg.context, hex, err);
    if (status) {
      goto fail;
    }
    r->info.hash = strcasecmp(hex, meta->sha512) == 0 ? TLG_HASH_GOOD : TLG_HASH_WRONG;
    if (r->info.hash == TLG_HASH_WRONG && r->cfg.rescue && !r->cfg.strict_hash) {
      tlg_reader_lies(r, "the data do not have the core:sha512 stated: they were changed, cut or damaged");
    } else if (r->info.hash == TLG_HASH_WRONG) {
      status = tlg_error_at(err, TLG_EFORMAT, meta->sha512_line, UINT64_MAX,
                            "the data do not have the core:sha512 stated: they were changed, cut or damaged; --rescue "
                            "or --no-hash reads them all the same");
      goto fail;
    }
  }
  status = lay_out(r, meta, base, size, spans, err);
  if (status) {
    goto fail;
  }
  for (i = 0; i < r->n_captures; i++) {
    n += r->captures[i].n;
  }
  r->info.n_samples = n;
  if (r->info.tail_bytes) {
    tlg_reader_hint(r, "%u byte%s at the end of the data left out: less than one sample of %zu bytes",
                    r->info.tail_bytes, plural(r->info.tail_bytes), tlg_format_size(r->info.format) * meta->n_channels);
  }
  if (n == 0) {
    status = tlg_error_at(err, TLG_EFORMAT, 0, 0, "the data hold no whole sample");
    goto fail;
  }
  status = tlg_reader_use_spans(r, fd, spans, r->n_captures, err);
  free(spans);
  return status;

fail:
  free(spans);
  close(fd);
  return status;
}

static char *load_text(const char *path, size_t *n, struct tlg_error *err, int *status)
{
  uint64_t size;
  char *text = NULL;
  ssize_t got;
  int fd;

  *status = tlg_reader_open_file(path, 0, &fd, &size, err);
  if (*status) {
    return NULL;
  }
  if (size > META_LIMIT) {
    *status = tlg_error_set(err, TLG_EFORMAT, "the meta file has %llu bytes; more than 64 MiB are not read",
                            (unsigned long long)size);
  } else if (!(text = malloc(size + 1))) {
    *status = tlg_error_set(err, TLG_ENOMEM, "out of memory");
  } else if ((got = tlg_pread(fd, text, size, 0)) < 0) {
    *status = tlg_error_at(err, TLG_ESYS, 0, 0, "cannot read: %s", strerror(errno));
  } else {
    *n = (size_t)got;
  }
  close(fd);
  if (*status) {
    free(text);
    text = NULL;
  }
  return text;
}

int tlg_reader_open_sigmf(struct tlg_reader *r, const char *path, struct tlg_error *err)
{
  const int named_meta = tlg_has_suffix(path, ".sigmf-meta");
  const size_t stem = strlen(path) - (named_meta || tlg_has_suffix(path, ".sigmf-data") ? strlen(".sigmf-meta") : 0);
  struct sigmf_meta meta;
  char *meta_path = NULL, *data_path = NULL, *text = NULL;
  const char *slash;
  uint64_t size;
  size_t n = 0;
  int fd, status;

  memset(&meta, 0, sizeof meta);
  r->info.container = TLG_CONTAINER_SIGMF;
  if (asprintf(&meta_path, "%.*s.sigmf-meta", (int)stem, path) < 0) {
    return tlg_error_set(err, TLG_ENOMEM, "out of memory");
  }
  text = load_text(named_meta ? path : meta_path, &n, err, &status);
  if (status == TLG_OK) {
    status =
        n ? tlg_sigmf_parse(&meta, r, text, n, err) : tlg_error_at(err, TLG_EFORMAT, 1, 0, "the meta file is empty");
  }
  if (status) {
    if (!named_meta) {
      tlg_error_name(err, meta_path);
    }
    goto end;
  }
  slash = memrchr(path, '/', stem);
  if (meta.dataset ? asprintf(&data_path, "%.*s%s", slash ? (int)(slash + 1 - path) : 0, path, meta.dataset) < 0
                   : asprintf(&data_path, "%.*s.sigmf-data", (int)stem, path) < 0) {
    data_path = NULL;
    status = tlg_error_set(err, TLG_ENOMEM, "out of memory");
    goto end;
  }
  status = tlg_reader_open_file(data_path, 0, &fd, &size, err);
  if (status) {
    tlg_error_name(err, data_path);
    goto end;
  }
  status = tlg_sigmf_use(r, &meta, path, fd, 0, size, err);
  if (status && err && !err->line && !named_meta) {
    tlg_error_name(err, data_path);
  }
end:
  tlg_sigmf_free(&meta);
  free(text);
  free(meta_path);
  free(data_path);
  return status;
}
