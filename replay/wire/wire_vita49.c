/* SPDX-License-Identifier: Apache-2.0 */
/* VITA-49 packets as bytes: any data and context packet is understood, DIFI's are written. */
#include "wire.h"

#include <math.h>
#include <string.h>

/* Words of the header fields that stand in front of the payload. */
static size_t header_words(const struct tlg_vita49 *v)
{
  return 1 + (v->has_stream ? 1 : 0) + (v->has_class ? 2 : 0) + (v->tsi ? 1 : 0) + (v->tsf ? 2 : 0);
}

enum tlg_wire_verdict tlg_vita49_decode(struct tlg_vita49 *v, const uint8_t *bytes, size_t n)
{
  uint32_t word;
  size_t words, head;

  if (n < 4) {
    return TLG_WIRE_FOREIGN;
  }
  word = tlg_wire_be32(bytes);
  if (word >> 28 > 7) {
    return TLG_WIRE_FOREIGN;
  }
  memset(v, 0, sizeof *v);
  v->type = word >> 28;
  v->has_class = word >> 27 & 1;
  v->tsi = (enum tlg_vita49_tsi)(word >> 22 & 3);
  v->tsf = (enum tlg_vita49_tsf)(word >> 20 & 3);
  v->count = word >> 16 & 15;
  if (v->type < 4) {
    v->has_trailer = word >> 26 & 1;
    v->spectrum = (word >> 25 & 1) && (word >> 24 & 1); /* before 49.2 bit 24 was reserved */
  }
  v->has_stream = v->type >= 4 || v->type % 2 == 1;
  words = word & 0xffff;
  head = header_words(v) + (v->has_trailer ? 1 : 0);
  if (words * 4 != n || words < head) {
    return TLG_WIRE_MALFORMED;
  }
  bytes += 4;
  if (v->has_stream) {
    v->stream = tlg_wire_be32(bytes);
    bytes += 4;
  }
  if (v->has_class) {
    word = tlg_wire_be32(bytes);
    v->pad_bits = word >> 27;
    v->oui = word & 0xffffff;
    word = tlg_wire_be32(bytes + 4);
    v->information_class = word >> 16;
    v->packet_class = word & 0xffff;
    bytes += 8;
  }
  if (v->tsi) {
    v->seconds = tlg_wire_be32(bytes);
    bytes += 4;
  }
  if (v->tsf) {
    v->fraction = tlg_wire_be64(bytes);
    bytes += 8;
  }
  v->payload = bytes;
  v->payload_bytes = (words - head) * 4;
  if (v->has_trailer) {
    v->trailer = tlg_wire_be32(bytes + v->payload_bytes);
  }
  if (v->type < 4 && v->pad_bits > v->payload_bytes * 8) {
    return TLG_WIRE_MALFORMED;
  }
  return TLG_WIRE_OK;
}

int tlg_vita49_time(const struct tlg_vita49 *v, const struct tlg_rate *rate, unsigned __int128 *ps)
{
  const unsigned __int128 second = 1000000000000u;

  switch (v->tsf) {
  case TLG_TSF_PICOSECONDS:
    *ps = v->seconds * second + v->fraction;
    return v->fraction < 1000000000000u;
  case TLG_TSF_SAMPLES:
  case TLG_TSF_FREE: /* a count of samples too, from anywhere */
    if (!rate->num || v->fraction >> 62) {
      return 0;
    }
    *ps = (v->tsf == TLG_TSF_SAMPLES ? v->seconds * second : 0) +
          (unsigned __int128)v->fraction * second / rate->num * rate->den +
          (unsigned __int128)v->fraction * second % rate->num * rate->den / rate->num;
    return 1;
  case TLG_TSF_NONE:
    break;
  }
  return 0;
}

/* ---- context ------------------------------------------------------------------------------------------------------
 */

enum { RADIX = 1 << 20 /* frequencies and rates count in units of 2^-20 Hz */ };

static double hertz(uint64_t fixed)
{
  return (fixed >> 63 ? -(double)(~fixed + 1) : (double)fixed) / RADIX;
}

/* The fraction with the least denominator that is this rate to the half of 2^-20 Hz. */
static struct tlg_rate rate_of(uint64_t fixed)
{
  struct tlg_rate rate = {0, 0};
  uint64_t den;

  if (!fixed || fixed >> 62) {
    return rate;
  }
  for (den = 1; den <= 1000; den++) {
    const unsigned __int128 exact = (unsigned __int128)fixed * den;
    const uint64_t num = (uint64_t)((exact + RADIX / 2) / RADIX);
    const unsigned __int128 near = (unsigned __int128)num * RADIX;

    if (num && 2 * (near > exact ? near - exact : exact - near) <= den) {
      tlg_rate_make(&rate, num, den);
      return rate;
    }
  }
  tlg_rate_make(&rate, fixed, RADIX);
  return rate;
}

/* The payload format field: what can be read of it. */
static int layout_of(struct tlg_wire_layout *layout, uint32_t word, uint32_t second)
{
  const unsigned type = word >> 29 & 3, item_format = word >> 24 & 31;
  const unsigned field = (word >> 6 & 63) + 1, item = (word & 63) + 1;
  const int link_efficient = word >> 31;

  memset(layout, 0, sizeof *layout);
  layout->big_endian = 1;
  layout->field = field;
  layout->item = item;
  /* Complex Cartesian, no repeated components, neither repeat count nor vectors; tags only inside a field. */
  if (type != 1 || (word >> 23 & 1) || second || item > field) {
    return 0;
  }
  if (item_format == 0 && field >= 4 && field <= 16 && item >= 2) {
    if (!link_efficient && field != 8 && field != 16 && field != 4) {
      return 0; /* fields that do not fill a word are padded there */
    }
    layout->format = field == 16 && item == 16 ? TLG_FORMAT_CS16
                     : field == 8 && item == 8 ? TLG_FORMAT_CS8
                                               : TLG_FORMAT_UNKNOWN;
    return 1;
  }
  layout->format = item_format == 0 && field == 32 && item == 32    ? TLG_FORMAT_CS32
                   : item_format == 14 && field == 32 && item == 32 ? TLG_FORMAT_CF32
                   : item_format == 15 && field == 64 && item == 64 ? TLG_FORMAT_CF64
                                                                    : TLG_FORMAT_UNKNOWN;
  return layout->format != TLG_FORMAT_UNKNOWN;
}

enum tlg_wire_verdict tlg_vita49_decode_context(struct tlg_vita49_context *c, const struct tlg_vita49 *v)
{
  /* Words of the fields of bits 30 down to 15, in which order they stand. */
  static const uint8_t words[16] = {1, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 1, 1, 2, 1, 2};
  const uint8_t *at = v->payload, *const end = v->payload + v->payload_bytes;
  uint32_t present;
  unsigned i;

  memset(c, 0, sizeof *c);
  c->frequency_hz = c->bandwidth_hz = NAN;
  c->states_valid = -1;
  if (v->payload_bytes < 4) {
    return TLG_WIRE_MALFORMED;
  }
  present = tlg_wire_be32(at);
  at += 4;
  c->changed = present >> 31;
  if (present & 1u << 7) { /* attributes: each field then is a list, of which nothing here is known */
    return TLG_WIRE_OK;
  }
  /* Further indicator words, whose fields stand behind those of the first. */
  for (i = 1; i <= 6; i++) {
    if (present & 1u << i) {
      if (end - at < 4) {
        return TLG_WIRE_MALFORMED;
      }
      at += 4;
    }
  }
  for (i = 0; i < 16; i++) {
    const unsigned bit = 30 - i;

    if (!(present & 1u << bit)) {
      continue;
    }
    if ((size_t)(end - at) < 4u * words[i]) {
      return TLG_WIRE_MALFORMED;
    }
    if (bit == 29) {
      c->bandwidth_hz = hertz(tlg_wire_be64(at));
    } else if ((bit == 28 || bit == 27) && tlg_wire_be64(at)) { /* the one in use is not 0; RF is the last word */
      c->frequency_hz = hertz(tlg_wire_be64(at));
    } else if (bit == 21) {
      c->rate = rate_of(tlg_wire_be64(at));
      if (tlg_wire_be64(at) && !tlg_wire_rate_is_possible(&c->rate)) {
        return TLG_WIRE_MALFORMED;
      }
    } else if (bit == 16) {
      const uint32_t states = tlg_wire_be32(at);

      c->states_valid = states >> 30 & 1 ? (int)(states >> 18 & 1) : -1;
    } else if (bit == 15) {
      c->has_layout = 1;
      c->layout_unreadable = !layout_of(&c->layout, tlg_wire_be32(at), tlg_wire_be32(at + 4));
    }
    at += 4 * words[i];
  }
  return TLG_WIRE_OK;
}

/* ---- what is sent ---------------------------------------------------------------------------------------------------
 */

static void put_header(uint8_t *bytes, uint32_t first, const struct tlg_vita49_stamp *stamp, unsigned packet_class,
                       size_t words)
{
  tlg_wire_put_be32(bytes, first | (uint32_t)TLG_TSI_UTC << 22 | (uint32_t)TLG_TSF_PICOSECONDS << 20 |
                               (uint32_t)(stamp->count & 15) << 16 | (uint32_t)words);
  tlg_wire_put_be32(bytes + 4, stamp->stream);
  tlg_wire_put_be32(bytes + 8, TLG_VITA49_DIFI_OUI);
  tlg_wire_put_be32(bytes + 12, packet_class);
  tlg_wire_put_be32(bytes + 16, stamp->seconds);
  tlg_wire_put_be64(bytes + 20, stamp->picoseconds);
}

void tlg_vita49_encode_data(uint8_t bytes[TLG_VITA49_DATA_BYTES], const struct tlg_vita49_stamp *stamp,
                            size_t payload_bytes)
{
  put_header(bytes, 1u << 28 | 1u << 27, stamp, 0, (TLG_VITA49_DATA_BYTES + payload_bytes) / 4);
}

void tlg_vita49_encode_context(uint8_t bytes[TLG_VITA49_CONTEXT_BYTES], const struct tlg_vita49_stamp *stamp,
                               const struct tlg_rate *rate, double frequency_hz, unsigned bits, int changed, int valid)
{
  const unsigned __int128 scaled = rate->den ? ((unsigned __int128)rate->num * RADIX + rate->den / 2) / rate->den : 0;
  const uint64_t fixed = scaled >> 63 ? 0 : (uint64_t)scaled;
  const int told = frequency_hz > -8e12 && frequency_hz < 8e12;
  const int64_t frequency = told ? (int64_t)floor(frequency_hz * RADIX + 0.5) : 0;

  memset(bytes, 0, TLG_VITA49_CONTEXT_BYTES);
  put_header(bytes, 4u << 28 | 1u << 27 | 1u << 24, stamp, 1, TLG_VITA49_CONTEXT_BYTES / 4);
  tlg_wire_put_be32(bytes + 28, changed ? 0xFBB98000u : 0x7BB98000u);
  tlg_wire_put_be32(bytes + 32, 75); /* reference point: the converter's RF port */
  tlg_wire_put_be64(bytes + 36, fixed);
  tlg_wire_put_be64(bytes + 52, (uint64_t)frequency);
  tlg_wire_put_be64(bytes + 76, fixed);
  tlg_wire_put_be32(bytes + 96, 1u << 30 | (valid ? 1u << 18 : 0));
  /* Link-efficient complex signed integers. */
  tlg_wire_put_be32(bytes + 100, 1u << 31 | 1u << 29 | (bits - 1) << 6 | (bits - 1));
}
