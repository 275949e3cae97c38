/* SPDX-License-Identifier: Apache-2.0 */
/* The trace file: a header and fixed little-endian records (docs/time.md). */
#include "tlg_replay.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { VERSION = 1 };
static const unsigned char magic[8] = {'T', 'L', 'G', 'T', 'R', 'A', 'C', 'E'};

/* Offsets of the header's fields. */
enum {
  AT_VERSION = 8,
  AT_HEADER = 12,
  AT_RECORD = 16,
  AT_FLAGS = 20,
  AT_RATE_IN = 24, /* num, den of the three rates */
  AT_RATE_OUT = 40,
  AT_SPEED = 56,
  AT_UP = 72,
  AT_DOWN = 76,
  AT_Q0 = 80,
  AT_LENGTH = 88,
  AT_OFFSET = 96,
  AT_DEADLINE = 104,
  AT_PACKETS = 112,
  AT_DROPPED = 120,
  AT_RECORDS = 128,
  AT_QUEUE = 136,
  AT_TAPS = 140,
  AT_SHIFT = 144,
  AT_RESERVED = 148, /* zero, to the end */
};

static void put(unsigned char *at, uint64_t v, unsigned bytes)
{
  unsigned i;

  for (i = 0; i < bytes; i++) {
    at[i] = (unsigned char)(v >> (8 * i));
  }
}

static uint64_t get(const unsigned char *at, unsigned bytes)
{
  uint64_t v = 0;
  unsigned i;

  for (i = 0; i < bytes; i++) {
    v |= (uint64_t)at[i] << (8 * i);
  }
  return v;
}

static void put_rate(unsigned char *at, const struct tlg_rate *rate)
{
  put(at, rate->num, 8);
  put(at + 8, rate->den, 8);
}

static struct tlg_rate get_rate(const unsigned char *at)
{
  const struct tlg_rate rate = {get(at, 8), get(at + 8, 8)};

  return rate;
}

void tlg_trace_encode_header(unsigned char bytes[TLG_TRACE_HEADER_BYTES], const struct tlg_trace_info *info)
{
  memset(bytes, 0, TLG_TRACE_HEADER_BYTES);
  memcpy(bytes, magic, sizeof magic);
  put(bytes + AT_VERSION, VERSION, 4);
  put(bytes + AT_HEADER, TLG_TRACE_HEADER_BYTES, 4);
  put(bytes + AT_RECORD, TLG_TRACE_RECORD_BYTES, 4);
  put(bytes + AT_FLAGS, info->flags, 4);
  put_rate(bytes + AT_RATE_IN, &info->rate_in);
  put_rate(bytes + AT_RATE_OUT, &info->rate_out);
  put_rate(bytes + AT_SPEED, &info->speed);
  put(bytes + AT_UP, info->up, 4);
  put(bytes + AT_DOWN, info->down, 4);
  put(bytes + AT_Q0, info->q0, 8);
  put(bytes + AT_LENGTH, info->subframe_length, 8);
  put(bytes + AT_OFFSET, info->subframe_offset, 8);
  put(bytes + AT_DEADLINE, info->deadline_ps, 8);
  put(bytes + AT_PACKETS, info->n_packets, 8);
  put(bytes + AT_DROPPED, info->n_dropped, 8);
  put(bytes + AT_RECORDS, info->n_records, 8);
  put(bytes + AT_QUEUE, info->queue, 4);
  put(bytes + AT_TAPS, info->taps, 4);
  put(bytes + AT_SHIFT, info->shift, 4);
}

void tlg_trace_encode_record(unsigned char bytes[TLG_TRACE_RECORD_BYTES], const struct tlg_trace_record *record)
{
  const uint64_t words[10] = {record->packet,    record->first_in,       record->first_out,    record->air,
                              record->received,  record->resample_begin, record->resample_end, record->deliver_begin,
                              record->delivered, record->framed};
  unsigned i;

  for (i = 0; i < 10; i++) {
    put(bytes + 8 * i, words[i], 8);
  }
  put(bytes + 80, record->n_in, 4);
  put(bytes + 84, record->n_out, 4);
  put(bytes + 88, record->flags, 4);
  put(bytes + 92, record->depth_resample, 2);
  put(bytes + 94, record->depth_deliver, 2);
}

static int bad(struct tlg_error *err, uint64_t offset, const char *what)
{
  return tlg_error_at(err, TLG_EFORMAT, 0, offset, "%s; write the trace anew with 'replay --trace'", what);
}

static int rate_in_order(const struct tlg_rate *rate)
{
  struct tlg_rate lowest;

  return tlg_rate_make(&lowest, rate->num, rate->den) == TLG_OK && lowest.num == rate->num && lowest.den == rate->den;
}

int tlg_trace_decode_header(struct tlg_trace_info *info, const unsigned char *bytes, size_t n, struct tlg_error *err)
{
  struct tlg_trace_info t;
  uint32_t up, down;
  size_t i;

  if (!info || !bytes) {
    return tlg_error_set(err, TLG_EINVAL, "a trace needs its bytes");
  }
  if (n < sizeof magic || memcmp(bytes, magic, sizeof magic) != 0) {
    return tlg_error_at(err, TLG_EFORMAT, 0, 0, "this is not a trace of taplag: it does not begin with TLGTRACE");
  }
  if (n < TLG_TRACE_HEADER_BYTES) {
    return bad(err, n, "the trace ends inside its header");
  }
  if (get(bytes + AT_VERSION, 4) != VERSION) {
    return tlg_error_at(err, TLG_EFORMAT, 0, AT_VERSION,
                        "trace version %u is not known, only %d is; use the taplag that "
                        "wrote it",
                        (unsigned)get(bytes + AT_VERSION, 4), VERSION);
  }
  if (get(bytes + AT_HEADER, 4) != TLG_TRACE_HEADER_BYTES) {
    return bad(err, AT_HEADER, "the header's size is wrong");
  }
  if (get(bytes + AT_RECORD, 4) != TLG_TRACE_RECORD_BYTES) {
    return bad(err, AT_RECORD, "the records' size is wrong");
  }
  memset(&t, 0, sizeof t);
  t.flags = (uint32_t)get(bytes + AT_FLAGS, 4);
  if (t.flags &
      ~(uint32_t)(TLG_TRACE_VIRTUAL | TLG_TRACE_BLOCK | TLG_TRACE_LIVE | TLG_TRACE_ARRIVAL | TLG_TRACE_MODEL)) {
    return bad(err, AT_FLAGS, "the header has flags that are not known");
  }
  t.rate_in = get_rate(bytes + AT_RATE_IN);
  t.rate_out = get_rate(bytes + AT_RATE_OUT);
  t.speed = get_rate(bytes + AT_SPEED);
  if (!rate_in_order(&t.rate_in)) {
    return bad(err, AT_RATE_IN, "the input rate is not a fraction in lowest terms");
  }
  if (!rate_in_order(&t.rate_out)) {
    return bad(err, AT_RATE_OUT, "the output rate is not a fraction in lowest terms");
  }
  if (!rate_in_order(&t.speed)) {
    return bad(err, AT_SPEED, "the speed is not a fraction in lowest terms");
  }
  t.up = (uint32_t)get(bytes + AT_UP, 4);
  t.down = (uint32_t)get(bytes + AT_DOWN, 4);
  if (tlg_rate_ratio(&t.rate_in, &t.rate_out, &up, &down) != TLG_OK || up != t.up || down != t.down) {
    return bad(err, AT_UP, "up/down is not the ratio of the rates");
  }
  t.q0 = get(bytes + AT_Q0, 8);
  t.subframe_length = get(bytes + AT_LENGTH, 8);
  t.subframe_offset = get(bytes + AT_OFFSET, 8);
  t.deadline_ps = get(bytes + AT_DEADLINE, 8);
  t.n_packets = get(bytes + AT_PACKETS, 8);
  t.n_dropped = get(bytes + AT_DROPPED, 8);
  t.n_records = get(bytes + AT_RECORDS, 8);
  t.queue = (uint32_t)get(bytes + AT_QUEUE, 4);
  t.taps = (uint32_t)get(bytes + AT_TAPS, 4);
  t.shift = (uint32_t)get(bytes + AT_SHIFT, 4);
  if (t.n_dropped > t.n_packets) {
    return bad(err, AT_DROPPED, "more packets were dropped than there were");
  }
  if (t.n_records > t.n_packets - t.n_dropped ||
      t.n_records > (UINT64_MAX - TLG_TRACE_HEADER_BYTES) / TLG_TRACE_RECORD_BYTES) {
    return bad(err, AT_RECORDS, "there are more records than delivered packets");
  }
  if (t.shift > 15) {
    return bad(err, AT_SHIFT, "the taps' shift is above 15");
  }
  for (i = AT_RESERVED; i < TLG_TRACE_HEADER_BYTES; i++) {
    if (bytes[i]) {
      return bad(err, i, "reserved bytes of the header are not zero");
    }
  }
  *info = t;
  return TLG_OK;
}

int tlg_trace_decode_record(struct tlg_trace_record *record, const struct tlg_trace_info *info,
                            const unsigned char bytes[TLG_TRACE_RECORD_BYTES], uint64_t index,
                            const struct tlg_trace_record *previous, struct tlg_error *err)
{
  const uint64_t at = TLG_TRACE_HEADER_BYTES + index * TLG_TRACE_RECORD_BYTES;
  struct tlg_trace_record r;

  if (!record || !info || !bytes) {
    return tlg_error_set(err, TLG_EINVAL, "a record needs its bytes and the header");
  }
  r.packet = get(bytes, 8);
  r.first_in = get(bytes + 8, 8);
  r.first_out = get(bytes + 16, 8);
  r.air = get(bytes + 24, 8);
  r.received = get(bytes + 32, 8);
  r.resample_begin = get(bytes + 40, 8);
  r.resample_end = get(bytes + 48, 8);
  r.deliver_begin = get(bytes + 56, 8);
  r.delivered = get(bytes + 64, 8);
  r.framed = get(bytes + 72, 8);
  r.n_in = (uint32_t)get(bytes + 80, 4);
  r.n_out = (uint32_t)get(bytes + 84, 4);
  r.flags = (uint32_t)get(bytes + 88, 4);
  r.depth_resample = (uint16_t)get(bytes + 92, 2);
  r.depth_deliver = (uint16_t)get(bytes + 94, 2);
  if (r.packet >= info->n_packets || (previous && r.packet <= previous->packet)) {
    return bad(err, at, "packet numbers must rise and stay below the number of packets");
  }
  if (!r.n_in || (previous && r.first_in < previous->first_in + previous->n_in) || r.first_in + r.n_in < r.first_in) {
    return bad(err, at + 8, "a packet's samples must follow those of the packet before");
  }
  if (previous && r.first_out < previous->first_out + previous->n_out) {
    return bad(err, at + 16, "a packet's outputs must follow those of the packet before");
  }
  if (r.air > r.received || r.received > r.resample_begin || r.resample_begin > r.resample_end ||
      r.resample_end > r.deliver_begin || r.deliver_begin > r.delivered || r.delivered > r.framed) {
    return bad(err, at + 24, "the instants of a packet must not fall back");
  }
  if (previous && (r.air < previous->air || r.delivered < previous->delivered)) {
    return bad(err, at + 24, "the instants of packets must not fall back");
  }
  if (r.flags & ~(uint32_t)(TLG_TRACE_AFTER_GAP | TLG_TRACE_AFTER_DROP | TLG_TRACE_SHORT | TLG_TRACE_SEAM)) {
    return bad(err, at + 88, "the record has flags that are not known");
  }
  *record = r;
  return TLG_OK;
}

struct tlg_trace {
  FILE *file;
  struct tlg_trace_info info;
  struct tlg_trace_record last;
  uint64_t index;
};

int tlg_trace_open(struct tlg_trace **trace, const char *path, struct tlg_trace_info *info, struct tlg_error *err)
{
  unsigned char bytes[TLG_TRACE_HEADER_BYTES];
  struct tlg_trace *t;
  struct stat st;
  uint64_t size;
  size_t n;
  int status;

  if (!trace) {
    return tlg_error_set(err, TLG_EINVAL, "no place for the trace");
  }
  *trace = NULL;
  if (!path) {
    return tlg_error_set(err, TLG_EINVAL, "the trace has no name");
  }
  t = calloc(1, sizeof *t);
  if (!t) {
    return tlg_error_set(err, TLG_ENOMEM, "out of memory");
  }
  t->file = fopen(path, "rb");
  if (!t->file) {
    status = tlg_error_set(err, TLG_ESYS, "cannot be read: %s", strerror(errno));
    goto fail;
  }
  n = fread(bytes, 1, sizeof bytes, t->file);
  if (ferror(t->file)) {
    status = tlg_error_set(err, TLG_ESYS, "cannot be read: %s", strerror(errno));
    goto fail;
  }
  status = tlg_trace_decode_header(&t->info, bytes, n, err);
  if (status) {
    goto fail;
  }
  if (fstat(fileno(t->file), &st) == 0 && S_ISREG(st.st_mode)) {
    size = TLG_TRACE_HEADER_BYTES + t->info.n_records * TLG_TRACE_RECORD_BYTES;
    if ((uint64_t)st.st_size != size) {
      status = tlg_error_at(err, TLG_EFORMAT, 0, (uint64_t)st.st_size,
                            "the trace has %llu bytes where its header states %llu; it was cut or appended to",
                            (unsigned long long)st.st_size, (unsigned long long)size);
      goto fail;
    }
  }
  if (info) {
    *info = t->info;
  }
  *trace = t;
  return TLG_OK;
fail:
  tlg_trace_close(t);
  return status;
}

int tlg_trace_read(struct tlg_trace *t, struct tlg_trace_record *record, int *got, struct tlg_error *err)
{
  unsigned char bytes[TLG_TRACE_RECORD_BYTES];
  struct tlg_trace_record r;
  size_t n;
  int status;

  if (!t || !record || !got) {
    return tlg_error_set(err, TLG_EINVAL, "a trace, a record and a flag are needed");
  }
  if (t->index == t->info.n_records) {
    *got = 0;
    return TLG_OK;
  }
  n = fread(bytes, 1, sizeof bytes, t->file);
  if (n < sizeof bytes) {
    if (ferror(t->file)) {
      return tlg_error_set(err, TLG_ESYS, "cannot be read: %s", strerror(errno));
    }
    return bad(err, TLG_TRACE_HEADER_BYTES + t->index * TLG_TRACE_RECORD_BYTES + n, "the trace ends inside a record");
  }
  status = tlg_trace_decode_record(&r, &t->info, bytes, t->index, t->index ? &t->last : NULL, err);
  if (status) {
    return status;
  }
  t->index++;
  t->last = r;
  *record = r;
  *got = 1;
  return TLG_OK;
}

void tlg_trace_close(struct tlg_trace *t)
{
  if (t) {
    if (t->file) {
      fclose(t->file);
    }
    free(t);
  }
}
