/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of packet streams share: a sender that makes packets, and a receiver that checks each sample it gets
 * against its number. */
#ifndef STREAM_HELP_H
#define STREAM_HELP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tlg_replay.h"
#include "wire.h"

/* The sample with this number: all 32 bits tell. */
static inline tlg_cs16 sample_of(uint64_t number)
{
  const uint32_t h = (uint32_t)(number * 2654435761u);
  const tlg_cs16 x = {(int16_t)(h & 0xffff), (int16_t)(h >> 16)};

  return x;
}

static inline void fill_samples(tlg_cs16 *x, uint64_t first, size_t n)
{
  size_t i;

  for (i = 0; i < n; i++) {
    x[i] = sample_of(first + i);
  }
}

/* A datagram of either form that holds the samples [first, first + n). */
struct datagram {
  uint8_t bytes[2048];
  size_t n;
  uint64_t first, samples;
};

static const struct tlg_rate stream_rate = {25000000, 1};

static inline void own_datagram(struct datagram *d, uint32_t stream, uint64_t sequence, uint64_t first, size_t n,
                                uint64_t left_out)
{
  const struct tlg_own p = {.stream = stream,
                            .sequence = sequence,
                            .first = first,
                            .left_out = left_out,
                            .time_ps = tlg_instant_ps(first, &stream_rate),
                            .n = (uint32_t)n,
                            .flags = n ? 0 : TLG_OWN_END,
                            .format = TLG_FORMAT_CS16,
                            .rate = stream_rate,
                            .start_ns = TLG_OWN_NO_TIME,
                            .frequency_hz = NAN};
  tlg_cs16 x[512];

  assert_true(n <= 480);
  fill_samples(x, first, n);
  tlg_own_encode(d->bytes, &p);
  tlg_convert_from_cs16(d->bytes + TLG_OWN_BYTES, x, n, TLG_FORMAT_CS16, NULL);
  d->n = TLG_OWN_BYTES + 4 * n;
  d->first = first;
  d->samples = n;
}

static inline void vita49_datagram(struct datagram *d, uint32_t stream, unsigned count, uint64_t first, size_t n)
{
  const uint64_t ps = tlg_instant_ps(first, &stream_rate) + 999000000000u; /* over the turn of a second, too */
  const struct tlg_vita49_stamp stamp = {.stream = stream,
                                         .count = count,
                                         .seconds = (uint32_t)(1700000000 + ps / 1000000000000u),
                                         .picoseconds = ps % 1000000000000u};
  size_t i;

  assert_true(n <= 480);
  tlg_vita49_encode_data(d->bytes, &stamp, 4 * n);
  for (i = 0; i < n; i++) {
    const tlg_cs16 x = sample_of(first + i);

    tlg_wire_put_be32(d->bytes + TLG_VITA49_DATA_BYTES + 4 * i, (uint32_t)(uint16_t)x.i << 16 | (uint16_t)x.q);
  }
  d->n = TLG_VITA49_DATA_BYTES + 4 * n;
  d->first = first;
  d->samples = n;
}

static inline void vita49_context(struct datagram *d, uint32_t stream, unsigned count, uint64_t first, int valid)
{
  const uint64_t ps = tlg_instant_ps(first, &stream_rate) + 999000000000u;
  const struct tlg_vita49_stamp stamp = {.stream = stream,
                                         .count = count,
                                         .seconds = (uint32_t)(1700000000 + ps / 1000000000000u),
                                         .picoseconds = ps % 1000000000000u};

  tlg_vita49_encode_context(d->bytes, &stamp, &stream_rate, 2.4e9, 16, 0, valid);
  d->n = TLG_VITA49_CONTEXT_BYTES;
  d->first = first;
  d->samples = 0;
}

/* What was received: offset = the sender's number of sample 0. */
struct heard {
  uint64_t offset, samples, gaps, missing, end;
};

/* Each sample must be the one that its number says. */
static inline void hear(struct heard *h, const tlg_cs16 *x, size_t n, uint64_t first)
{
  size_t i;

  assert_true(first >= h->end);
  h->gaps += first > h->end;
  h->missing += first - h->end;
  for (i = 0; i < n; i++) {
    const tlg_cs16 wanted = sample_of(h->offset + first + i);

    if (x[i].i != wanted.i || x[i].q != wanted.q) {
      fail_msg("sample %llu is not itself", (unsigned long long)(first + i));
    }
  }
  h->samples += n;
  h->end = first + n;
}

#endif
