/* SPDX-License-Identifier: Apache-2.0 */
/* WAV, RF64, W64, AU, FLAC and others through libsndfile, in the file's own sample type, which we convert ourselves
 * and count; its header is held against the file. With rescue, samples are read past what the header says. */
#include "wav_header.h"

#include <fcntl.h>
#include <math.h>
#include <sndfile.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUFFER_FRAMES 16384

enum how {
  HOW_RAW,   /* bytes as they stand in the file */
  HOW_INT,   /* FLAC, ALAC: whole numbers of 8 to 24 bits, at the top of 32 */
  HOW_SHORT, /* mu-law, ADPCM and the like, which decode to 16 bits */
  HOW_FLOAT, /* lossy ones, which decode to float */
};

struct sndfile_source {
  SNDFILE *file;
  enum how how;
  unsigned shift; /* HOW_INT */
  size_t frame;   /* bytes of all channels of one sample, as read */
  uint8_t *buffer;
};

/* Whole numbers at the top of 32 bits down to bytes of the file's type, little endian. */
static void pack(uint8_t *to, const int *from, size_t n, unsigned shift)
{
  size_t i;
  unsigned k;

  for (i = 0; i < n; i++) {
    const uint32_t v = (uint32_t)from[i] >> shift;

    for (k = 0; k < (32 - shift) / 8; k++) {
      *to++ = (uint8_t)(v >> 8 * k);
    }
  }
}

static int source_read(struct tlg_reader *r, tlg_cs16 *buf, size_t n, size_t *got, struct tlg_error *err)
{
  struct sndfile_source *s = r->source;
  const size_t m = n < BUFFER_FRAMES ? n : BUFFER_FRAMES;
  const size_t channels = 2 * (size_t)r->info.n_channels, size = tlg_format_size(r->info.format);
  sf_count_t frames = 0;
  size_t i;

  switch (s->how) {
  case HOW_RAW:
    frames = sf_read_raw(s->file, s->buffer, (sf_count_t)(m * s->frame)) / (sf_count_t)s->frame;
    break;
  case HOW_INT:
    frames = sf_readf_int(s->file, (int *)(void *)s->buffer, (sf_count_t)m);
    pack(s->buffer, (const int *)(const void *)s->buffer, frames > 0 ? (size_t)frames * channels : 0, s->shift);
    break;
  case HOW_SHORT:
    frames = sf_readf_short(s->file, (short *)(void *)s->buffer, (sf_count_t)m);
    break;
  case HOW_FLOAT:
    frames = sf_readf_float(s->file, (float *)(void *)s->buffer, (sf_count_t)m);
    break;
  }
  if (frames <= 0) {
    *got = 0;
    if (sf_error(s->file) && !r->cfg.rescue) {
      return tlg_error_set(err, TLG_EFORMAT, "the samples cannot be decoded: %s; --rescue reads up to there",
                           sf_strerror(s->file));
    }
    return TLG_OK;
  }
  if (r->info.n_channels == 1) {
    tlg_convert_to_cs16(buf, s->buffer, (size_t)frames, r->info.format, r->info.big_endian, r->cfg.full_scale,
                        r->cfg.swap_iq, &r->counts);
  } else {
    const uint8_t *from = s->buffer + (r->cfg.channel - 1) * size;

    for (i = 0; i < (size_t)frames; i++, from += s->frame) {
      tlg_convert_to_cs16(buf + i, from, 1, r->info.format, r->info.big_endian, r->cfg.full_scale, r->cfg.swap_iq,
                          &r->counts);
    }
  }
  if (r->cfg.conjugate) {
    tlg_conjugate(buf, (size_t)frames, &r->counts);
  }
  *got = (size_t)frames;
  return TLG_OK;
}

static int source_seek(struct tlg_reader *r, uint64_t sample, struct tlg_error *err)
{
  struct sndfile_source *s = r->source;

  if (sf_seek(s->file, (sf_count_t)sample, SEEK_SET) != (sf_count_t)sample) {
    return tlg_error_set(err, TLG_EFORMAT, "cannot go to sample %llu: %s", (unsigned long long)sample,
                         sf_strerror(s->file));
  }
  return TLG_OK;
}

static void source_close(struct tlg_reader *r)
{
  struct sndfile_source *s = r->source;

  if (s) {
    sf_close(s->file);
    free(s->buffer);
    free(s);
  }
}

static const struct reader_ops sndfile_ops = {source_read, source_seek, source_close};

/* I and Q are the first and second channel; more make further complex channels. */
static int settle_channels(struct tlg_reader *r, unsigned channels, struct tlg_error *err)
{
  if (channels == 1) {
    return tlg_error_set(err, TLG_EFORMAT,
                         "it has one channel, so it holds a real signal; I and Q must be two channels of one file");
  }
  if (channels == 0 || channels % 2 || channels > 1024) {
    return tlg_error_set(err, TLG_EFORMAT, "it has %u channels; I and Q need two (or four, ... for several receivers)",
                         channels);
  }
  r->info.n_channels = channels / 2;
  if (r->cfg.channel > r->info.n_channels || (r->info.n_channels > 1 && !r->cfg.channel)) {
    return tlg_error_set(err, TLG_EINVAL, "it holds %u pairs of I and Q; --channel 1 to %u chooses one",
                         r->info.n_channels, r->info.n_channels);
  }
  return TLG_OK;
}

/* How libsndfile's type is read, and what it is then. */
static enum how settle_type(struct tlg_reader *r, const SF_INFO *info, SNDFILE *file, unsigned *shift)
{
  const int major = info->format & SF_FORMAT_TYPEMASK, minor = info->format & SF_FORMAT_SUBMASK;
  const int packed = major == SF_FORMAT_FLAC;
  enum tlg_format format = TLG_FORMAT_UNKNOWN;
  enum how how = packed ? HOW_INT : HOW_RAW;

  *shift = 0;
  switch (minor) {
  case SF_FORMAT_PCM_S8:
    format = TLG_FORMAT_CS8;
    *shift = 24;
    break;
  case SF_FORMAT_PCM_U8:
    format = TLG_FORMAT_CU8;
    break;
  case SF_FORMAT_PCM_16:
    format = TLG_FORMAT_CS16;
    *shift = 16;
    break;
  case SF_FORMAT_PCM_24:
    format = TLG_FORMAT_CS24;
    *shift = 8;
    break;
  case SF_FORMAT_PCM_32:
    format = TLG_FORMAT_CS32;
    break;
  case SF_FORMAT_FLOAT:
    format = TLG_FORMAT_CF32;
    break;
  case SF_FORMAT_DOUBLE:
    format = TLG_FORMAT_CF64;
    break;
  case SF_FORMAT_VORBIS:
  case SF_FORMAT_OPUS:
    format = TLG_FORMAT_CF32;
    how = HOW_FLOAT;
    break;
  case SF_FORMAT_ALAC_16:
  case SF_FORMAT_ALAC_20:
  case SF_FORMAT_ALAC_24:
  case SF_FORMAT_ALAC_32:
    format = TLG_FORMAT_CS32;
    how = HOW_INT;
    break;
  default:
    format = TLG_FORMAT_CS16;
    how = HOW_SHORT;
  }
  r->info.format = format;
  r->info.big_endian = how == HOW_RAW && (sf_command(file, SFC_RAW_DATA_NEEDS_ENDSWAP, NULL, 0) == SF_TRUE) !=
                                             (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
  if (how == HOW_SHORT || how == HOW_FLOAT) {
    if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) {
      r->info.big_endian = 1;
    }
    tlg_reader_hint(r, "its samples are coded with loss; the spectrum shows that");
  }
  return how;
}

/* Through libsndfile. h is NULL where we do not know the header ourselves. Takes over fd. */
static int use_sndfile(struct tlg_reader *r, int fd, uint64_t size, const struct wav_header *h, struct tlg_error *err)
{
  struct sndfile_source *s = calloc(1, sizeof *s);
  SF_INFO info;
  int status;

  memset(&info, 0, sizeof info);
  if (!s) {
    close(fd);
    return tlg_error_set(err, TLG_ENOMEM, "out of memory");
  }
  r->source = s;
  r->ops = &sndfile_ops;
  s->file = sf_open_fd(fd, SFM_READ, &info, SF_TRUE); /* closes fd also on failure */
  if (!s->file) {
    const char *why = sf_strerror(NULL);

    r->ops = NULL;
    r->source = NULL;
    free(s);
    return tlg_error_set(err, TLG_EFORMAT, "libsndfile cannot read it: %s", why);
  }
  status = settle_channels(r, (unsigned)info.channels, err);
  if (status) {
    return status;
  }
  s->how = settle_type(r, &info, s->file, &s->shift);
  s->frame = tlg_format_size(r->info.format) * r->info.n_channels;
  s->buffer = malloc(BUFFER_FRAMES * (size_t)info.channels * 8);
  if (!s->buffer) {
    return tlg_error_set(err, TLG_ENOMEM, "out of memory");
  }
  switch (info.format & SF_FORMAT_TYPEMASK) {
  case SF_FORMAT_FLAC:
    r->info.container = TLG_CONTAINER_FLAC;
    break;
  default:
    r->info.container = h ? h->container : TLG_CONTAINER_OTHER_SNDFILE;
  }
  if (info.samplerate > 0 && !r->info.rate.num) {
    tlg_rate_make(&r->info.rate, (uint64_t)info.samplerate, 1);
    r->info.rate_source = "header";
  }
  r->info.format_source = "header";
  r->info.seekable = info.seekable;
  if (info.frames > 0 && info.frames < (sf_count_t)1 << 60) {
    r->info.n_samples = (uint64_t)info.frames;
    if (!h) {
      r->info.n_stated = r->info.n_samples;
    }
  }
  if (info.frames == 0) {
    return tlg_error_at(err, TLG_EFORMAT, 0, UINT64_MAX, "the file holds no samples%s",
                        size > 4096 ? ", though it is not small: its header is wrong or its writer was killed" : "");
  }
  return TLG_OK;
}

/* The length stated against the file: fills in n_samples, n_stated and tail, and tells what is wrong. */
static int hold_against_file(struct tlg_reader *r, const struct wav_header *h, uint64_t frame, struct tlg_error *err)
{
  const uint64_t here = h->data_here / frame;
  const uint64_t stated = h->data_bytes / frame;
  const char *const name = tlg_container_name(h->container);

  if (h->data_bytes == WAV_OPEN_LENGTH) {
    r->info.n_samples = here;
    r->info.tail_bytes = (unsigned)(h->data_here % frame);
    tlg_reader_hint(r, "the header leaves the length open (written to a pipe, or cut): read to the end of the file");
    return TLG_OK;
  }
  r->info.n_stated = stated;
  r->info.n_samples = stated;
  r->info.tail_bytes = (unsigned)(h->data_bytes % frame);
  if (h->data_bytes <= h->data_here && (h->chunks_follow || h->data_bytes == h->data_here)) {
    return TLG_OK;
  }
  if (h->data_bytes > h->data_here) {
    tlg_reader_lies(r, "the %s header states %llu sample%s, but the file ends after %llu: it was cut", name,
                    (unsigned long long)stated, plural(stated), (unsigned long long)here);
  } else if (h->data_bytes == 0) {
    tlg_reader_lies(r, "the %s header states no samples, but %llu follow%s: its writer was killed", name,
                    (unsigned long long)here, here == 1 ? "s" : "");
  } else if (h->data_here - h->data_bytes >= (uint64_t)1 << 32) {
    tlg_reader_lies(r, "the %s header states %llu sample%s, but the file holds %llu: the length wrapped at 4 GiB", name,
                    (unsigned long long)stated, plural(stated), (unsigned long long)here);
  } else {
    tlg_reader_lies(r, "the %s header states %llu sample%s, but the file holds %llu: the length is wrong", name,
                    (unsigned long long)stated, plural(stated), (unsigned long long)here);
  }
  if (!r->cfg.rescue) {
    return tlg_error_at(err, TLG_EFORMAT, 0, h->data_offset, "%s; --rescue reads all %llu", r->info.header_note,
                        (unsigned long long)here);
  }
  r->info.n_samples = here;
  r->info.tail_bytes = (unsigned)(h->data_here % frame);
  tlg_reader_hint(r, "rescue: reads %llu sample%s, from byte %llu to the end of the file", (unsigned long long)here,
                  plural(here), (unsigned long long)h->data_offset);
  return TLG_OK;
}

static void tell_tail(struct tlg_reader *r, const struct wav_header *h, uint64_t frame)
{
  if (r->info.tail_bytes) {
    tlg_reader_hint(r, "%u byte%s at the end of the samples (byte %llu) left out: less than one sample of %llu bytes",
                    r->info.tail_bytes, plural(r->info.tail_bytes),
                    (unsigned long long)(h->data_offset + r->info.n_samples * frame), (unsigned long long)frame);
  }
}

/* A file whose header we understand. Takes over fd. */
static int open_known(struct tlg_reader *r, const struct wav_header *h, const char *path, int fd, uint64_t size,
                      struct tlg_error *err)
{
  struct span span;
  uint64_t frame;
  int status, spare;

  r->info.container = h->container;
  r->info.format = h->format;
  r->info.format_source = "header";
  r->info.big_endian = h->big_endian;
  r->info.frequency_hz = h->frequency_hz;
  if (h->rate_hz) {
    tlg_rate_make(&r->info.rate, h->rate_hz, 1);
    r->info.rate_source = "header";
  }
  if (h->next_file[0]) {
    tlg_reader_hint(r, "the recording goes on in the file '%s'", h->next_file);
  }
  status = settle_channels(r, h->channels, err);
  if (status) {
    goto fail;
  }
  if (r->cfg.format && r->cfg.format != h->format) {
    tlg_reader_hint(r, "the header says %s, but --format %s wins", tlg_format_name(h->format),
                    tlg_format_name(r->cfg.format));
    r->info.format = r->cfg.format;
    r->info.format_source = "option";
  }
  tlg_reader_settle_rate(r, path);
  if (!r->info.rate.num) {
    tlg_reader_hint(r, "the header states rate 0; give --rate");
  }
  if (!r->info.format) { /* packed: what a byte holds is libsndfile's to know, but not whether the bytes are there */
    if (h->data_bytes != WAV_OPEN_LENGTH && h->data_bytes > h->data_here) {
      tlg_reader_lies(r, "the %s header states %llu byte%s of samples, but the file ends after %llu: it was cut",
                      tlg_container_name(h->container), (unsigned long long)h->data_bytes, plural(h->data_bytes),
                      (unsigned long long)h->data_here);
      if (!r->cfg.rescue) {
        status = tlg_error_at(err, TLG_EFORMAT, 0, size, "%s; --rescue reads what is there", r->info.header_note);
        goto fail;
      }
    }
    return use_sndfile(r, fd, size, h, err);
  }
  frame = tlg_format_size(r->info.format) * r->info.n_channels;
  status = hold_against_file(r, h, frame, err);
  if (status) {
    goto fail;
  }
  tell_tail(r, h, frame);
  if (r->info.n_samples == 0) {
    status = tlg_error_at(err, TLG_EFORMAT, 0, h->data_offset, "the file holds no samples");
    goto fail;
  }
  if (h->bw64 && !r->cfg.rescue) {
    status = tlg_error_at(err, TLG_EFORMAT, 0, 0,
                          "it is a BW64 file, which libsndfile does not read; --rescue reads its samples, or convert "
                          "it to RF64 (its first four bytes are all that differs in plain files)");
    goto fail;
  }
  span.offset = h->data_offset;
  span.n = r->info.n_samples;
  /* libsndfile trusts the header, of a length left open takes 4 GiB, and would change a type that the user declares. */
  if (r->info.header_lies || h->data_bytes == WAV_OPEN_LENGTH || h->bw64 || r->info.format != h->format ||
      !h->rate_hz) {
    r->info.seekable = 1;
    return tlg_reader_use_spans(r, fd, &span, 1, err);
  }
  spare = fcntl(fd, F_DUPFD_CLOEXEC, 3);
  status = use_sndfile(r, fd, size, h, err);
  if (status == TLG_OK && r->info.n_samples != span.n && spare >= 0) {
    /* Header and file agree, so they are right. */
    tlg_reader_hint(r, "libsndfile finds %llu samples where the header and the file have %llu; all of these are read",
                    (unsigned long long)r->info.n_samples, (unsigned long long)span.n);
    source_close(r);
    r->source = NULL;
    r->ops = NULL;
    r->info.container = h->container;
    r->info.format = h->format;
    r->info.big_endian = h->big_endian;
    r->info.n_samples = span.n;
    r->info.seekable = 1;
    return tlg_reader_use_spans(r, spare, &span, 1, err);
  }
  if (spare >= 0) {
    close(spare);
  }
  return status;

fail:
  close(fd);
  return status;
}

int tlg_reader_open_sndfile(struct tlg_reader *r, const char *path, struct tlg_error *err)
{
  struct wav_header h;
  struct tlg_capture *c;
  uint64_t size;
  int fd, status;

  status = tlg_reader_open_file(path, 0, &fd, &size, err);
  if (status) {
    return status;
  }
  status = tlg_wav_header(&h, fd, size, err);
  if (status == TLG_OK) {
    status = open_known(r, &h, path, fd, size, err);
  } else if (status == TLG_EUNAVAIL) {
    if (r->cfg.format) {
      close(fd);
      return tlg_error_set(err, TLG_EINVAL, "its own header tells the sample format; leave --format out");
    }
    char id[5];

    if (tlg_chunks_cut(fd, size, id)) {
      tlg_reader_lies(r, "the file ends inside its chunk '%s': it was cut", id);
      if (!r->cfg.rescue) {
        close(fd);
        return tlg_error_at(err, TLG_EFORMAT, 0, size, "%s; --rescue reads what is there", r->info.header_note);
      }
    }
    status = use_sndfile(r, fd, size, NULL, err);
    if (status == TLG_OK) {
      tlg_reader_settle_rate(r, path);
    }
  } else {
    close(fd);
  }
  if (status == TLG_OK && h.datetime[0]) {
    c = tlg_reader_add_capture(r, r->info.n_samples);
    if (!c) {
      return tlg_error_set(err, TLG_ENOMEM, "out of memory");
    }
    memcpy(c->datetime, h.datetime, sizeof c->datetime);
    c->frequency_hz = r->info.frequency_hz;
  }
  return status;
}
