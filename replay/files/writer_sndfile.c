/* SPDX-License-Identifier: Apache-2.0 */
/* WAV, RF64, W64, AU and FLAC by libsndfile. Nothing in them depends on when they are written. */
#include "writer.h"

#include <errno.h>
#include <sndfile.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct sndfile_target {
  struct tlg_outfile *out;
  SNDFILE *file;
  int last_errno;   /* of the virtual file */
  uint64_t at, end; /* of the virtual file */
};

/* libsndfile writes through these, so that errors keep their cause. */
static sf_count_t vio_length(void *context)
{
  const struct sndfile_target *t = context;

  return (sf_count_t)t->end;
}

static sf_count_t vio_seek(sf_count_t offset, int whence, void *context)
{
  struct sndfile_target *t = context;
  const sf_count_t base = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? (sf_count_t)t->at : (sf_count_t)t->end;

  if (base + offset >= 0) {
    t->at = (uint64_t)(base + offset);
  }
  return (sf_count_t)t->at;
}

static sf_count_t vio_read(void *bytes, sf_count_t n, void *context)
{
  struct sndfile_target *t = context;
  const ssize_t got = tlg_pread(tlg_outfile_fd(t->out), bytes, (size_t)n, t->at);

  t->at += got > 0 ? (uint64_t)got : 0;
  return got > 0 ? got : 0;
}

static sf_count_t vio_write(const void *bytes, sf_count_t n, void *context)
{
  struct sndfile_target *t = context;
  sf_count_t done = 0;

  while (done < n) {
    const ssize_t written =
        pwrite(tlg_outfile_fd(t->out), (const char *)bytes + done, (size_t)(n - done), (off_t)t->at);

    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written < 0) {
      t->last_errno = errno;
      break;
    }
    t->at += (uint64_t)written;
    done += written;
    t->end = t->at > t->end ? t->at : t->end;
  }
  return done;
}

static sf_count_t vio_tell(void *context)
{
  const struct sndfile_target *t = context;

  return (sf_count_t)t->at;
}

static void free_target(struct sndfile_target *t)
{
  if (t->file) {
    sf_close(t->file);
  }
  tlg_outfile_abort(t->out);
  free(t);
}

static int failed(struct sndfile_target *t, struct tlg_error *err)
{
  if (t->last_errno) {
    return tlg_outfile_failed(t->out, t->last_errno, err);
  }
  return tlg_error_set(err, TLG_ESYS, "libsndfile cannot write: %s", sf_strerror(t->file));
}

/* libsndfile wants host order; the buffer holds little-endian bytes. */
static void to_host(uint8_t *bytes, size_t n, size_t size)
{
  size_t i, k;

  for (i = 0; i < n; i++, bytes += size) {
    for (k = 0; k < size / 2; k++) {
      const uint8_t t = bytes[k];

      bytes[k] = bytes[size - 1 - k];
      bytes[size - 1 - k] = t;
    }
  }
}

static int sndfile_write(struct tlg_writer *w, const void *bytes, size_t n, struct tlg_error *err)
{
  struct sndfile_target *t = w->target;
  const sf_count_t frames = (sf_count_t)n;
  sf_count_t done = 0;

  /* A plain WAV holds 4 GiB; one that is longer would say a wrong length. */
  if (w->container == TLG_CONTAINER_WAV || w->container == TLG_CONTAINER_AU) {
    const uint64_t bytes_after = (w->stored + n) * tlg_format_size(w->format);

    if (bytes_after > 0xffffffffu - 4096) {
      return tlg_error_set(err, TLG_EINVAL,
                           "%s files end at 4 GiB (%llu samples); write RF64 (.rf64), W64 (.w64) or SigMF",
                           tlg_container_name(w->container), (unsigned long long)w->stored);
    }
  }
  if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) {
    to_host(w->buffer, 2 * n, tlg_format_size(w->format) / 2); /* bytes is w->buffer there */
  }
  switch (w->format) {
  case TLG_FORMAT_CS16:
    done = sf_writef_short(t->file, bytes, frames);
    break;
  case TLG_FORMAT_CS32:
    done = sf_writef_int(t->file, bytes, frames);
    break;
  case TLG_FORMAT_CF32:
    done = sf_writef_float(t->file, bytes, frames);
    break;
  case TLG_FORMAT_CF64:
    done = sf_writef_double(t->file, bytes, frames);
    break;
  default: /* 8 bits, as they stand */
    done = sf_write_raw(t->file, bytes, frames * 2) / 2;
  }
  return done == frames ? TLG_OK : failed(t, err);
}

/* libsndfile does not leave the PEAK chunk out of RF64 files when asked: make it a chunk that says nothing. */
static int scrub_peak(struct sndfile_target *t, struct tlg_error *err)
{
  uint8_t head[512], *peak;
  const ssize_t n = tlg_pread(tlg_outfile_fd(t->out), head, sizeof head, 0);
  const uint8_t *data = n > 0 ? memmem(head, (size_t)n, "data", 4) : NULL;
  size_t length, at;

  peak = data ? memmem(head, (size_t)(data - head), "PEAK", 4) : NULL;
  if (!peak) {
    return TLG_OK;
  }
  at = (size_t)(peak - head);
  length = peak[4] + ((size_t)peak[5] << 8);
  if (length > (size_t)(data - peak) - 8) {
    return TLG_OK;
  }
  memcpy(peak, "JUNK", 4);
  memset(peak + 8, 0, length);
  return tlg_outfile_write_at(t->out, peak, 8 + length, at, err);
}

static int sndfile_close(struct tlg_writer *w, struct tlg_error *err)
{
  struct sndfile_target *t = w->target;
  int status;

  sf_write_sync(t->file);
  if (sf_close(t->file) != 0 || t->last_errno) {
    t->file = NULL;
    status = t->last_errno ? tlg_outfile_failed(t->out, t->last_errno, err)
                           : tlg_error_set(err, TLG_ESYS, "libsndfile could not finish the file");
    free_target(t);
    return status;
  }
  t->file = NULL;
  status = scrub_peak(t, err);
  if (status == TLG_OK) {
    status = tlg_outfile_close(t->out, err);
    t->out = NULL;
  }
  free_target(t);
  return status;
}

static void sndfile_abort(struct tlg_writer *w)
{
  free_target(w->target);
}

static const struct writer_ops sndfile_ops = {sndfile_write, sndfile_close, sndfile_abort};

static int major_of(enum tlg_container container)
{
  switch (container) {
  case TLG_CONTAINER_RF64:
    return SF_FORMAT_RF64;
  case TLG_CONTAINER_W64:
    return SF_FORMAT_W64;
  case TLG_CONTAINER_AU:
    return SF_FORMAT_AU;
  case TLG_CONTAINER_FLAC:
    return SF_FORMAT_FLAC;
  default:
    return SF_FORMAT_WAV;
  }
}

static int minor_of(enum tlg_format format)
{
  switch (format) {
  case TLG_FORMAT_CF32:
    return SF_FORMAT_FLOAT;
  case TLG_FORMAT_CF64:
    return SF_FORMAT_DOUBLE;
  case TLG_FORMAT_CS32:
    return SF_FORMAT_PCM_32;
  case TLG_FORMAT_CS8:
    return SF_FORMAT_PCM_S8;
  case TLG_FORMAT_CU8:
    return SF_FORMAT_PCM_U8;
  default:
    return SF_FORMAT_PCM_16;
  }
}

int tlg_writer_open_sndfile(struct tlg_writer *w, const char *path, struct tlg_error *err)
{
  const unsigned flags = OUTFILE_REGULAR | (w->force ? OUTFILE_FORCE : 0) | (w->keep_part ? OUTFILE_KEEP_PART : 0);
  SF_VIRTUAL_IO vio = {vio_length, vio_seek, vio_read, vio_write, vio_tell};
  struct sndfile_target *t;
  SF_INFO info;
  int status;

  memset(&info, 0, sizeof info);
  if (w->rate.den != 1 || w->rate.num > 0x7fffffff) {
    return tlg_error_set(err, TLG_EINVAL,
                         "a %s file states its rate as a whole number of Hz below 2^31; write SigMF or raw samples",
                         tlg_container_name(w->container));
  }
  if (w->container == TLG_CONTAINER_FLAC && w->rate.num > 655350) {
    return tlg_error_set(err, TLG_EINVAL,
                         "FLAC cannot state a rate above 655350 Hz; write RF64 (.rf64), W64 (.w64) or SigMF");
  }
  info.samplerate = (int)w->rate.num;
  info.channels = 2;
  info.format = major_of(w->container) | minor_of(w->format);
  if (!sf_format_check(&info)) {
    return tlg_error_set(err, TLG_EINVAL, "%s files cannot hold %s; --out-format %s", tlg_container_name(w->container),
                         tlg_format_name(w->format),
                         w->format == TLG_FORMAT_CS8 && w->container != TLG_CONTAINER_FLAC ? "cu8 can be held"
                                                                                           : "cs16 can be held");
  }
  t = calloc(1, sizeof *t);
  if (!t) {
    return tlg_error_set(err, TLG_ENOMEM, "out of memory");
  }
  status = tlg_outfile_open_flags(&t->out, path, flags, err);
  if (status) {
    free(t);
    return status;
  }
  if (w->container != TLG_CONTAINER_FLAC &&
      (status = tlg_outfile_reserve(t->out, w->expected * tlg_format_size(w->format), err))) {
    free_target(t);
    return status;
  }
  t->file = sf_open_virtual(&vio, SFM_WRITE, &info, t);
  if (!t->file) {
    status = t->last_errno
                 ? tlg_outfile_failed(t->out, t->last_errno, err)
                 : tlg_error_set(err, TLG_EINVAL, "libsndfile cannot write such a file: %s", sf_strerror(NULL));
    free_target(t);
    return status;
  }
  /* The PEAK chunk holds the time of day; two runs would differ. RF64 needs scrub_peak besides. */
  sf_command(t->file, SFC_SET_ADD_PEAK_CHUNK, NULL, SF_FALSE);
  sf_command(t->file, SFC_SET_CLIPPING, NULL, SF_FALSE);
  sf_command(t->file, SFC_RF64_AUTO_DOWNGRADE, NULL, SF_FALSE);
  w->target = t;
  w->ops = &sndfile_ops;
  return TLG_OK;
}
