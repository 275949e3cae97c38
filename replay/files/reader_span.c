/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of a known type that lie in byte ranges of a file, or come through a pipe. */
#include "reader.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUFFER_BYTES 262144

struct span_source {
  int fd;
  int direct;      /* the file's bytes are cs16 as we hold them: no buffer needed */
  size_t frame;    /* bytes from one sample of the channel to the next */
  size_t skip;     /* bytes of earlier channels in a frame */
  size_t at;       /* span being read ... */
  uint64_t done;   /* ... and samples of it already read */
  uint64_t passed; /* pipe: bytes taken so far */
  size_t held;     /* pipe: bytes in the buffer that make no whole frame yet */
  int begun;       /* pipe: its first bytes have been looked at */
  size_t n_spans;  /* 0 = a pipe */
  uint8_t *buffer;
  struct span spans[];
};

/* Put n frames of the buffer out as samples. */
static void convert(struct tlg_reader *r, struct span_source *s, tlg_cs16 *buf, const uint8_t *from, size_t n)
{
  const size_t size = tlg_format_size(r->info.format);
  const double full_scale = r->cfg.full_scale;

  if (s->frame == size) {
    tlg_convert_to_cs16(buf, from, n, r->info.format, r->info.big_endian, full_scale, r->cfg.swap_iq, &r->counts);
  } else {
    size_t i;

    for (i = 0; i < n; i++) {
      tlg_convert_to_cs16(buf + i, from + i * s->frame + s->skip, 1, r->info.format, r->info.big_endian, full_scale,
                          r->cfg.swap_iq, &r->counts);
    }
  }
  if (r->cfg.conjugate) {
    tlg_conjugate(buf, n, &r->counts);
  }
}

static int read_spans(struct tlg_reader *r, struct span_source *s, tlg_cs16 *buf, size_t n, size_t *got,
                      struct tlg_error *err)
{
  uint64_t left, offset;
  ssize_t bytes;
  size_t m;

  while (s->at < s->n_spans && s->done == s->spans[s->at].n) {
    s->at++;
    s->done = 0;
  }
  if (s->at == s->n_spans) {
    *got = 0;
    return TLG_OK;
  }
  left = s->spans[s->at].n - s->done;
  offset = s->spans[s->at].offset + s->done * s->frame;
  m = n < left ? n : (size_t)left;
  if (!s->direct && m > BUFFER_BYTES / s->frame) {
    m = BUFFER_BYTES / s->frame;
  }
  bytes = tlg_pread(s->fd, s->direct ? (void *)buf : (void *)s->buffer, m * s->frame, offset);
  if (bytes < 0) {
    return tlg_error_at(err, TLG_ESYS, 0, offset, "cannot read: %s", strerror(errno));
  }
  m = (size_t)bytes / s->frame;
  if (m == 0) {
    return tlg_error_at(err, TLG_EFORMAT, 0, offset, "the file became shorter while it was read");
  }
  if (s->direct) {
    r->counts.full_scale += tlg_count_full_scale(buf, m);
  } else {
    convert(r, s, buf, s->buffer, m);
  }
  s->done += m;
  *got = m;
  return TLG_OK;
}

/* Whole frames as they come; a rest stays in the buffer. */
static int read_pipe(struct tlg_reader *r, struct span_source *s, tlg_cs16 *buf, size_t n, size_t *got,
                     struct tlg_error *err)
{
  const size_t room = BUFFER_BYTES / s->frame * s->frame;
  const size_t wanted = n < BUFFER_BYTES / s->frame ? n * s->frame : room;
  const size_t limit = wanted < 16 ? 16 : wanted;
  size_t m;

  /* The first bytes are waited for, as they may be a header. */
  while (s->held < s->frame || (s->begun == 0 && s->held < 16)) {
    const ssize_t bytes = read(s->fd, s->buffer + s->held, limit - s->held);

    if (bytes < 0) {
      return tlg_error_at(err, errno == EINTR ? TLG_EINTR : TLG_ESYS, 0, s->passed, "cannot read: %s", strerror(errno));
    }
    if (bytes == 0) {
      if (s->held >= s->frame) {
        break;
      }
      if (!s->begun) { /* as an empty file is refused */
        return s->held ? tlg_error_at(err, TLG_EFORMAT, 0, 0, "only %zu byte%s came, less than one sample of %zu bytes",
                                      s->held, plural(s->held), s->frame)
                       : tlg_error_at(err, TLG_EFORMAT, 0, 0, "it is empty: no samples came");
      }
      if (s->held) {
        r->info.tail_bytes = (unsigned)s->held;
        tlg_reader_hint(r, "%zu byte%s at the end (byte %llu) left out: less than one sample of %zu bytes", s->held,
                        plural(s->held), (unsigned long long)(s->passed - s->held), s->frame);
        s->held = 0;
      }
      *got = 0;
      return TLG_OK;
    }
    s->held += (size_t)bytes;
    s->passed += (uint64_t)bytes;
  }
  if (s->begun == 0 && (tlg_sndfile_magic(s->buffer, s->held) && s->held >= 12)) {
    return tlg_error_at(err, TLG_EFORMAT, 0, 0,
                        "what comes through the pipe begins with the header of a WAV, FLAC or similar file, not with "
                        "samples; save it, and name the file");
  }
  s->begun = 1;
  m = s->held / s->frame;
  m = m < n ? m : n;
  convert(r, s, buf, s->buffer, m);
  s->held -= m * s->frame;
  memmove(s->buffer, s->buffer + m * s->frame, s->held);
  *got = m;
  return TLG_OK;
}

static int source_read(struct tlg_reader *r, tlg_cs16 *buf, size_t n, size_t *got, struct tlg_error *err)
{
  struct span_source *s = r->source;

  return s->n_spans ? read_spans(r, s, buf, n, got, err) : read_pipe(r, s, buf, n, got, err);
}

static int source_seek(struct tlg_reader *r, uint64_t sample, struct tlg_error *err)
{
  struct span_source *s = r->source;

  (void)err;
  for (s->at = 0; s->at < s->n_spans && sample >= s->spans[s->at].n; s->at++) {
    sample -= s->spans[s->at].n;
  }
  s->done = sample;
  return TLG_OK;
}

static void source_close(struct tlg_reader *r)
{
  struct span_source *s = r->source;

  if (s) {
    close(s->fd);
    free(s->buffer);
    free(s);
  }
}

static const struct reader_ops span_ops = {source_read, source_seek, source_close};
static const struct reader_ops pipe_ops = {source_read, NULL, source_close};

/* A look at the values, at the start and in the middle of the longest span. */
static void check_values(struct tlg_reader *r, struct span_source *s)
{
  const size_t half = 16384 / s->frame * s->frame;
  const struct span *longest = &s->spans[0];
  ssize_t a, b;
  size_t i;

  for (i = 1; i < s->n_spans; i++) {
    longest = s->spans[i].n > longest->n ? &s->spans[i] : longest;
  }
  if (!half || longest->n * s->frame < 2 * half) {
    a = tlg_pread(s->fd, s->buffer, longest->n * s->frame < 2 * half ? longest->n * s->frame : 0, longest->offset);
    b = 0;
  } else {
    a = tlg_pread(s->fd, s->buffer, half, longest->offset);
    b = a == (ssize_t)half ? tlg_pread(s->fd, s->buffer + half, half, longest->offset + longest->n / 2 * s->frame) : 0;
  }
  if (a > 0 && b >= 0) {
    tlg_reader_check_values(r, s->buffer, (size_t)(a + b));
  }
}

int tlg_reader_use_spans(struct tlg_reader *r, int fd, const struct span *spans, size_t n_spans, struct tlg_error *err)
{
  const size_t size = tlg_format_size(r->info.format);
  struct span_source *s = calloc(1, sizeof *s + n_spans * sizeof *spans);

  if (s) {
    s->buffer = malloc(BUFFER_BYTES);
  }
  if (!s || !s->buffer) {
    free(s);
    close(fd);
    return tlg_error_set(err, TLG_ENOMEM, "out of memory");
  }
  s->fd = fd;
  s->frame = size * r->info.n_channels;
  s->skip = r->cfg.channel > 1 ? (r->cfg.channel - 1) * size : 0;
  s->n_spans = n_spans;
  if (n_spans) {
    memcpy(s->spans, spans, n_spans * sizeof *spans);
  }
  s->direct = n_spans > 0 && r->info.format == TLG_FORMAT_CS16 && s->frame == size && !r->cfg.swap_iq &&
              !r->cfg.conjugate && !(r->cfg.full_scale > 0) &&
              r->info.big_endian == (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
  r->source = s;
  r->ops = n_spans ? &span_ops : &pipe_ops;
  if (n_spans) {
    check_values(r, s);
  }
  return TLG_OK;
}
