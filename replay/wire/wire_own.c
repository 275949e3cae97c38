/* SPDX-License-Identifier: Apache-2.0 */
/* Our own packets as bytes, and how samples lie in any payload. */
#include "wire.h"

#include <string.h>

static const uint8_t magic[4] = {'T', 'L', 'G', 'S'};

/* Numbers on the wire; the enum may change, these may not. */
static const enum tlg_format formats[] = {TLG_FORMAT_UNKNOWN, TLG_FORMAT_CS16, TLG_FORMAT_CF32, TLG_FORMAT_CF64,
                                          TLG_FORMAT_CS8,     TLG_FORMAT_CU8,  TLG_FORMAT_CS32};

void tlg_own_place(struct tlg_own *p, uint64_t first, size_t n)
{
  p->n = (uint32_t)n;
  p->first = first;
  p->time_ps = p->rate.num ? tlg_instant_ps(first, &p->rate) : 0;
}

void tlg_own_encode(uint8_t bytes[TLG_OWN_BYTES], const struct tlg_own *p)
{
  uint64_t frequency;
  uint8_t format = 0;

  while (format < sizeof formats / sizeof *formats - 1 && formats[format] != p->format) {
    format++;
  }
  memcpy(&frequency, &p->frequency_hz, sizeof frequency);
  memcpy(bytes, magic, sizeof magic);
  bytes[4] = TLG_OWN_VERSION;
  bytes[5] = TLG_OWN_BYTES;
  bytes[6] = (uint8_t)p->flags;
  bytes[7] = format;
  tlg_wire_put_le32(bytes + 8, p->stream);
  tlg_wire_put_le32(bytes + 12, p->n);
  tlg_wire_put_le64(bytes + 16, p->sequence);
  tlg_wire_put_le64(bytes + 24, p->first);
  tlg_wire_put_le64(bytes + 32, p->left_out);
  tlg_wire_put_le64(bytes + 40, p->time_ps);
  tlg_wire_put_le64(bytes + 48, p->rate.num);
  tlg_wire_put_le64(bytes + 56, p->rate.den);
  tlg_wire_put_le64(bytes + 64, (uint64_t)p->start_ns);
  tlg_wire_put_le64(bytes + 72, frequency);
}

int tlg_wire_rate_is_possible(const struct tlg_rate *rate)
{
  /* The products of a design with them must fit 64 bits. */
  return rate->num && rate->num >= rate->den && rate->num <= UINT64_MAX / 10000 && rate->den <= UINT64_MAX / 10000 &&
         rate->num / TLG_WIRE_MOST_HZ < rate->den + (rate->num % TLG_WIRE_MOST_HZ == 0);
}

enum tlg_wire_verdict tlg_own_decode(struct tlg_own *p, const uint8_t *bytes, size_t n)
{
  uint64_t bits;

  if (n < 5 || memcmp(bytes, magic, sizeof magic) != 0 || bytes[4] != TLG_OWN_VERSION) {
    return TLG_WIRE_FOREIGN;
  }
  if (n < TLG_OWN_BYTES || bytes[5] < TLG_OWN_BYTES || n < bytes[5] || bytes[7] == 0 ||
      bytes[7] >= sizeof formats / sizeof *formats) {
    return TLG_WIRE_MALFORMED;
  }
  memset(p, 0, sizeof *p);
  p->header_bytes = bytes[5];
  p->flags = bytes[6];
  p->format = formats[bytes[7]];
  p->stream = tlg_wire_le32(bytes + 8);
  p->n = tlg_wire_le32(bytes + 12);
  p->sequence = tlg_wire_le64(bytes + 16);
  p->first = tlg_wire_le64(bytes + 24);
  p->left_out = tlg_wire_le64(bytes + 32);
  p->time_ps = tlg_wire_le64(bytes + 40);
  p->rate.num = tlg_wire_le64(bytes + 48);
  p->rate.den = tlg_wire_le64(bytes + 56);
  bits = tlg_wire_le64(bytes + 64);
  memcpy(&p->start_ns, &bits, sizeof bits);
  bits = tlg_wire_le64(bytes + 72);
  memcpy(&p->frequency_hz, &bits, sizeof bits);
  if (p->n > TLG_OWN_MAX_SAMPLES || p->sequence >= TLG_OWN_LIMIT || p->first >= TLG_OWN_LIMIT ||
      p->left_out > p->first || (p->rate.num == 0) != (p->rate.den == 0) ||
      ((p->flags & TLG_OWN_END) != 0) != (p->n == 0)) {
    return TLG_WIRE_MALFORMED;
  }
  if (p->rate.num) {
    tlg_rate_make(&p->rate, p->rate.num, p->rate.den);
    if (!tlg_wire_rate_is_possible(&p->rate)) {
      return TLG_WIRE_MALFORMED;
    }
  }
  if (p->frequency_hz > TLG_OWN_MOST_FREQUENCY_HZ || p->frequency_hz < -TLG_OWN_MOST_FREQUENCY_HZ) {
    return TLG_WIRE_MALFORMED;
  }
  return TLG_WIRE_OK;
}

enum tlg_wire_verdict tlg_own_decode_datagram(struct tlg_own *p, const uint8_t *bytes, size_t n)
{
  const enum tlg_wire_verdict verdict = tlg_own_decode(p, bytes, n);

  if (verdict == TLG_WIRE_OK && n - p->header_bytes != p->n * tlg_format_size(p->format)) {
    return TLG_WIRE_MALFORMED;
  }
  return verdict;
}

/* ---- payloads --------------------------------------------------------------------------------------------------- */

uint64_t tlg_wire_samples(const struct tlg_wire_layout *layout, uint64_t bytes)
{
  return layout->format ? bytes / tlg_format_size(layout->format) : bytes * 8 / (2 * layout->field);
}

/* The component at bit `at`, its value in the upper bits. */
static int16_t bits_at(const uint8_t *payload, uint64_t at, unsigned field, unsigned item)
{
  const uint8_t *b = payload + at / 8;
  const unsigned skip = (unsigned)(at % 8), bytes = (skip + field + 7) / 8;
  uint32_t v = 0;
  unsigned i;

  for (i = 0; i < 3; i++) {
    v = v << 8 | (i < bytes ? b[i] : 0);
  }
  v = v << (8 + skip) >> 16;         /* the field in the upper bits of 16 */
  v &= 0xffffu & ~(0xffffu >> item); /* less what stands in it beside the value */
  return (int16_t)(v >= 0x8000 ? (int32_t)v - 0x10000 : (int32_t)v);
}

void tlg_wire_unpack(tlg_cs16 *out, const uint8_t *payload, size_t from, size_t n, const struct tlg_wire_layout *layout,
                     double full_scale, int swap_iq, struct tlg_convert_counts *counts)
{
  size_t i;

  if (layout->format) {
    tlg_convert_to_cs16(out, payload + from * tlg_format_size(layout->format), n, layout->format, layout->big_endian,
                        full_scale, swap_iq, counts);
    return;
  }
  while (n) {
    tlg_cs16 some[256];
    const size_t m = n < sizeof some / sizeof *some ? n : sizeof some / sizeof *some;

    for (i = 0; i < m; i++) {
      const uint64_t at = (uint64_t)(from + i) * 2 * layout->field;

      some[i].i = bits_at(payload, at, layout->field, layout->item);
      some[i].q = bits_at(payload, at + layout->field, layout->field, layout->item);
    }
    /* Declared scale and exchange as for every other type; the scale is in the packed type's units. */
    tlg_convert_to_cs16(out, some, m, TLG_FORMAT_CS16, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__,
                        full_scale > 0 ? full_scale * (double)(1u << (16 - layout->item)) : 0, swap_iq, counts);
    out += m;
    from += m;
    n -= m;
  }
}
