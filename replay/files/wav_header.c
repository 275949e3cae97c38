/* SPDX-License-Identifier: Apache-2.0 */
/* Headers of WAV and its relatives, read by ourselves: libsndfile hides what they say wrongly about the length.
 * Sources: RIFF/WAVE of Microsoft, EBU Tech 3306 (RF64), ITU-R BS.2088 (BW64), Sony W64, Sun AU, the auxi chunk as
 * HDSDR and SpectraVue write it. */
#include "wav_header.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define CHUNK_LIMIT 4096 /* chunks looked at before we say that this is no header */

/* The file, and where its header is being read. */
struct walk {
  int fd;
  uint64_t size;
  int big; /* header fields */
  struct tlg_error *err;
};

static uint64_t number(const uint8_t *b, size_t n, int big)
{
  uint64_t v = 0;
  size_t i;

  for (i = 0; i < n; i++) {
    v = v << 8 | b[big ? i : n - 1 - i];
  }
  return v;
}

/* Exactly n bytes at offset, else an error that says where the header ends. */
static int bytes_at(const struct walk *w, uint64_t offset, uint8_t *to, size_t n)
{
  const ssize_t got = tlg_pread(w->fd, to, n, offset);

  if (got < 0) {
    return tlg_error_at(w->err, TLG_ESYS, 0, offset, "cannot read: %s", strerror(errno));
  }
  if ((size_t)got < n) {
    return tlg_error_at(w->err, TLG_EFORMAT, 0, offset + (uint64_t)got, "the file ends inside its header (byte %llu)",
                        (unsigned long long)(offset + (uint64_t)got));
  }
  return TLG_OK;
}

static enum tlg_format pcm(unsigned bits)
{
  return bits == 8    ? TLG_FORMAT_CU8
         : bits == 16 ? TLG_FORMAT_CS16
         : bits == 24 ? TLG_FORMAT_CS24
         : bits == 32 ? TLG_FORMAT_CS32
                      : TLG_FORMAT_UNKNOWN;
}

/* The fmt chunk: 16, 18 or 40 bytes; 16 are legal for float too. */
static int parse_fmt(const struct walk *w, struct wav_header *h, uint64_t offset, uint64_t size)
{
  uint8_t b[40];
  unsigned tag, bits;
  const size_t n = size < sizeof b ? (size_t)size : sizeof b;
  int status;

  if (size < 16) {
    return tlg_error_at(w->err, TLG_EFORMAT, 0, offset, "the fmt chunk has %llu bytes, at least 16 are needed",
                        (unsigned long long)size);
  }
  memset(b, 0, sizeof b);
  status = bytes_at(w, offset, b, n);
  if (status) {
    return status;
  }
  tag = (unsigned)number(b, 2, w->big);
  h->channels = (unsigned)number(b + 2, 2, w->big);
  h->rate_hz = number(b + 4, 4, w->big);
  bits = (unsigned)number(b + 14, 2, w->big);
  if (tag == 0xfffe && n >= 26) {
    tag = (unsigned)number(b + 24, 2, w->big); /* the subformat's GUID begins with the tag */
  }
  h->format = tag == 1   ? pcm(bits)
              : tag == 3 ? (bits == 32   ? TLG_FORMAT_CF32
                            : bits == 64 ? TLG_FORMAT_CF64
                                         : TLG_FORMAT_UNKNOWN)
                         : TLG_FORMAT_UNKNOWN;
  h->big_endian = w->big;
  return TLG_OK;
}

/* auxi: two SYSTEMTIMEs of eight 16-bit fields, then 32-bit fields of which the first is the centre frequency; the
 * long form ends with the name of the file in which the recording goes on. */
static void parse_auxi(const struct walk *w, struct wav_header *h, uint64_t offset, uint64_t size)
{
  uint8_t b[164];
  const size_t n = size < sizeof b ? (size_t)size : sizeof b;
  struct tlg_datetime unused;
  unsigned t[8], i;
  char text[80];
  uint64_t hz;

  memset(b, 0, sizeof b);
  if (size < 36 || tlg_pread(w->fd, b, n, offset) != (ssize_t)n) {
    return;
  }
  for (i = 0; i < 8; i++) {
    t[i] = (unsigned)number(b + 2 * i, 2, 0);
  }
  snprintf(text, sizeof text, "%04u-%02u-%02uT%02u:%02u:%02u.%03uZ", t[0], t[1], t[3], t[4], t[5], t[6], t[7]);
  if (t[0] < 1900 || t[0] > 9999 || t[7] > 999 || tlg_datetime_parse(text, &unused) != TLG_OK) {
    return; /* some programs put XML into a chunk of this name */
  }
  memcpy(h->datetime, text, 24);
  hz = number(b + 32, 4, 0);
  if (hz) {
    h->frequency_hz = (double)hz;
  }
  if (size >= 164) {
    memcpy(h->next_file, b + 68, 96);
    for (i = 0; h->next_file[i]; i++) {
      if (!isprint((unsigned char)h->next_file[i])) {
        h->next_file[i] = '?';
      }
    }
  }
}

static int is_name(const uint8_t *b)
{
  return isprint(b[0]) && isprint(b[1]) && isprint(b[2]) && isprint(b[3]) && b[0] != ' ';
}

/* RIFF, RF64, BW64. With `from` given, only tells whether chunks fill the file from there to its end. */
static int walk_riff(struct walk *w, struct wav_header *h, uint64_t ds64_data, uint64_t from, int *clean)
{
  uint64_t at = from ? from : 12;
  uint8_t b[8];
  unsigned k;
  int have_fmt = 0, status;

  for (k = 0; k < CHUNK_LIMIT && at + 8 <= w->size; k++) {
    uint64_t size, end;

    status = bytes_at(w, at, b, 8);
    if (status) {
      return status;
    }
    size = number(b + 4, 4, w->big);
    end = at + 8 + size;
    if (!is_name(b)) {
      *clean = 0;
      return from || h->data_offset
                 ? TLG_OK
                 : tlg_error_at(w->err, TLG_EFORMAT, 0, at, "at byte %llu no chunk begins: the header is damaged",
                                (unsigned long long)at);
    }
    if (!from && memcmp(b, "fmt ", 4) == 0) {
      status = parse_fmt(w, h, at + 8, size);
      if (status) {
        return status;
      }
      have_fmt = 1;
    } else if (memcmp(b, "auxi", 4) == 0) {
      parse_auxi(w, h, at + 8, size);
    } else if (!from && memcmp(b, "data", 4) == 0) {
      if (!have_fmt) {
        return tlg_error_at(w->err, TLG_EFORMAT, 0, at,
                            "the samples come before any fmt chunk, so their type is not known");
      }
      h->data_offset = at + 8;
      h->data_here = w->size - h->data_offset;
      h->data_bytes = size == 0xffffffffu ? ds64_data : size;
      if (h->data_bytes > h->data_here) {
        return TLG_OK; /* open, or cut: nothing can follow */
      }
      return walk_riff(w, h, 0, h->data_offset + h->data_bytes + (h->data_bytes & 1), &h->chunks_follow);
    }
    if (end > w->size) {
      *clean = 0;
      if (from) {
        return TLG_OK;
      }
      return tlg_error_at(w->err, TLG_EFORMAT, 0, at, "the chunk '%.4s' at byte %llu reaches past the end of the file",
                          (const char *)b, (unsigned long long)at);
    }
    at = end + (size & 1);
  }
  *clean = 1; /* fewer than 8 bytes are padding */
  if (from) {
    return TLG_OK;
  }
  return tlg_error_at(w->err, TLG_EFORMAT, 0, w->size, "there is no data chunk: the file holds no samples");
}

static int riff(struct walk *w, struct wav_header *h, const uint8_t *head)
{
  uint64_t ds64_data = WAV_OPEN_LENGTH;
  uint8_t b[36];
  int unused, status;

  w->big = memcmp(head, "RIFX", 4) == 0;
  h->container = TLG_CONTAINER_WAV;
  if (memcmp(head, "RF64", 4) == 0 || memcmp(head, "BW64", 4) == 0) {
    h->container = TLG_CONTAINER_RF64;
    h->bw64 = head[0] == 'B';
    status = bytes_at(w, 12, b, sizeof b);
    if (status) {
      return status;
    }
    if (memcmp(b, "ds64", 4) == 0) {
      ds64_data = number(b + 16, 8, 0);
    } else {
      return tlg_error_at(w->err, TLG_EFORMAT, 0, 12, "the ds64 chunk, which holds the length, is missing at byte 12");
    }
  }
  return walk_riff(w, h, ds64_data, 0, &unused);
}

static const uint8_t w64_riff[16] = {'r',  'i',  'f',  'f',  0x2e, 0x91, 0xcf, 0x11,
                                     0xa5, 0xd6, 0x28, 0xdb, 0x04, 0xc1, 0x00, 0x00};
static const uint8_t w64_tail[12] = {0xf3, 0xac, 0xd3, 0x11, 0x8c, 0xd1, 0x00, 0xc0, 0x4f, 0x8e, 0xdb, 0x8a};

static int walk_w64(struct walk *w, struct wav_header *h, uint64_t from, int *clean)
{
  uint64_t at = from ? from : 40;
  uint8_t b[24];
  unsigned k;
  int have_fmt = 0, status;

  for (k = 0; k < CHUNK_LIMIT && at + 24 <= w->size; k++) {
    uint64_t size;

    status = bytes_at(w, at, b, 24);
    if (status) {
      return status;
    }
    size = number(b + 16, 8, 0);
    if (!from && memcmp(b, "data", 4) == 0 && memcmp(b + 4, w64_tail, 12) == 0) {
      if (!have_fmt) {
        return tlg_error_at(w->err, TLG_EFORMAT, 0, at,
                            "the samples come before any fmt chunk, so their type is not known");
      }
      h->data_offset = at + 24;
      h->data_here = w->size - h->data_offset;
      h->data_bytes = size >= 24 ? size - 24 : 0;
      if (h->data_bytes > h->data_here) {
        return TLG_OK;
      }
      return walk_w64(w, h, h->data_offset + ((h->data_bytes + 7) & ~(uint64_t)7), &h->chunks_follow);
    }
    if (!is_name(b) || size < 24 || size > w->size - at) {
      *clean = 0;
      return from ? TLG_OK
                  : tlg_error_at(w->err, TLG_EFORMAT, 0, at, "at byte %llu no chunk begins: the header is damaged",
                                 (unsigned long long)at);
    }
    if (!from && memcmp(b, "fmt ", 4) == 0) {
      status = parse_fmt(w, h, at + 24, size - 24);
      if (status) {
        return status;
      }
      have_fmt = 1;
    }
    at += (size + 7) & ~(uint64_t)7;
  }
  *clean = 1;
  return from ? TLG_OK
              : tlg_error_at(w->err, TLG_EFORMAT, 0, w->size, "there is no data chunk: the file holds no samples");
}

static int au(struct walk *w, struct wav_header *h, const uint8_t *head)
{
  static const enum tlg_format formats[] = {TLG_FORMAT_UNKNOWN, TLG_FORMAT_UNKNOWN, TLG_FORMAT_CS8,  TLG_FORMAT_CS16,
                                            TLG_FORMAT_CS24,    TLG_FORMAT_CS32,    TLG_FORMAT_CF32, TLG_FORMAT_CF64};
  uint8_t b[24];
  uint64_t encoding;
  int status = bytes_at(w, 0, b, sizeof b);

  if (status) {
    return status;
  }
  w->big = head[0] == '.';
  h->container = TLG_CONTAINER_AU;
  h->big_endian = w->big;
  h->data_offset = number(b + 4, 4, w->big);
  h->data_bytes = number(b + 8, 4, w->big);
  encoding = number(b + 12, 4, w->big);
  h->rate_hz = number(b + 16, 4, w->big);
  h->channels = (unsigned)number(b + 20, 4, w->big);
  h->format = encoding < 8 ? formats[encoding] : TLG_FORMAT_UNKNOWN;
  if (h->data_offset < 24 || h->data_offset > w->size) {
    return tlg_error_at(w->err, TLG_EFORMAT, 0, 4,
                        "the header says the samples begin at byte %llu, which is not in the file",
                        (unsigned long long)h->data_offset);
  }
  h->data_here = w->size - h->data_offset;
  if (h->data_bytes == 0xffffffffu) {
    h->data_bytes = WAV_OPEN_LENGTH;
  }
  h->chunks_follow = h->data_bytes == h->data_here;
  return TLG_OK;
}

int tlg_wav_header(struct wav_header *h, int fd, uint64_t size, struct tlg_error *err)
{
  struct walk w = {fd, size, 0, err};
  uint8_t head[40];
  ssize_t n;
  int unused;

  memset(h, 0, sizeof *h);
  memset(head, 0, sizeof head);
  h->frequency_hz = NAN;
  n = tlg_pread(fd, head, sizeof head, 0);
  if (n < 0) {
    return tlg_error_at(err, TLG_ESYS, 0, 0, "cannot read: %s", strerror(errno));
  }
  if (n == 0) {
    return tlg_error_at(err, TLG_EFORMAT, 0, 0, "the file is empty");
  }
  if (memcmp(head, "RIFF", 4) == 0 || memcmp(head, "RIFX", 4) == 0 || memcmp(head, "RF64", 4) == 0 ||
      memcmp(head, "BW64", 4) == 0) {
    if (n < 12) {
      return tlg_error_at(err, TLG_EFORMAT, 0, (uint64_t)n, "the file ends inside its header (byte %zd)", n);
    }
    if (memcmp(head + 8, "WAVE", 4) != 0) {
      return tlg_error_at(err, TLG_EFORMAT, 0, 8, "it is a RIFF file, but not of WAVE samples");
    }
    return riff(&w, h, head);
  }
  if (memcmp(head, w64_riff, 16) == 0) {
    h->container = TLG_CONTAINER_W64;
    return walk_w64(&w, h, 0, &unused);
  }
  if (memcmp(head, ".snd", 4) == 0 || memcmp(head, "dns.", 4) == 0) {
    return au(&w, h, head);
  }
  return tlg_error_set(err, TLG_EUNAVAIL, "no header of these kinds");
}

int tlg_chunks_cut(int fd, uint64_t size, char id[5])
{
  uint8_t b[12];
  uint64_t at, length;
  unsigned k;
  int caf;

  if (tlg_pread(fd, b, sizeof b, 0) != (ssize_t)sizeof b || (memcmp(b, "FORM", 4) != 0 && memcmp(b, "caff", 4) != 0)) {
    return 0;
  }
  caf = b[0] == 'c';
  at = caf ? 8 : 12;
  for (k = 0; k < CHUNK_LIMIT && at + 12 <= size && tlg_pread(fd, b, sizeof b, at) == (ssize_t)sizeof b; k++) {
    length = number(b + 4, caf ? 8 : 4, 1);
    if (caf && length == UINT64_MAX) { /* left open */
      return 0;
    }
    at += caf ? 12 : 8;
    if (length > size - at) {
      memcpy(id, b, 4);
      id[4] = '\0';
      return is_name(b);
    }
    at += length + (caf ? 0 : length & 1);
  }
  return 0;
}
