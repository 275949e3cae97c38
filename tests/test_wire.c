/* SPDX-License-Identifier: Apache-2.0 */
/* Packets as bytes: our own and VITA-49's, against bytes written by hand from the standards. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "wire.h"

/* Every field at its place, by hand: docs/live.md. */
static const uint8_t own_bytes[TLG_OWN_BYTES + 8] = {
    'T',  'L',  'G',  'S',  1,    80,   0,    1,    /* version, header, flags, cs16 */
    0x78, 0x56, 0x34, 0x12, 2,    0,    0,    0,    /* stream, samples */
    5,    0,    0,    0,    0,    0,    0,    0,    /* sequence */
    0xe8, 3,    0,    0,    0,    0,    0,    0,    /* first = 1000 */
    7,    0,    0,    0,    0,    0,    0,    0,    /* left out */
    0,    0x5a, 0x62, 2,    0,    0,    0,    0,    /* 40 us = 40,000,000 ps */
    0x40, 0x78, 0x7d, 1,    0,    0,    0,    0,    /* 25,000,000 ... */
    1,    0,    0,    0,    0,    0,    0,    0,    /* ... / 1 */
    0,    0,    0,    0,    0,    0,    0,    0x80, /* no time of day */
    0,    0,    0,    0,    0x65, 0xcd, 0xdd, 0x41, /* 2e9 Hz */
    1,    0,    0xff, 0xff, 0x34, 0x12, 0,    0x80, /* 1 - j, 0x1234 - 32768j */
};

static void own_by_hand(void **unused)
{
  uint8_t bytes[sizeof own_bytes];
  struct tlg_own p, q;

  (void)unused;
  assert_int_equal(tlg_own_decode_datagram(&p, own_bytes, sizeof own_bytes), TLG_WIRE_OK);
  assert_int_equal(p.stream, 0x12345678);
  assert_int_equal(p.n, 2);
  assert_int_equal(p.sequence, 5);
  assert_int_equal(p.first, 1000);
  assert_int_equal(p.left_out, 7);
  assert_int_equal(p.time_ps, 40000000);
  assert_int_equal(p.time_ps, tlg_instant_ps(p.first, &p.rate));
  assert_int_equal(p.rate.num, 25000000);
  assert_int_equal(p.rate.den, 1);
  assert_true(p.start_ns == TLG_OWN_NO_TIME);
  assert_true(p.frequency_hz == 2e9);
  assert_int_equal(p.format, TLG_FORMAT_CS16);
  assert_int_equal(p.header_bytes, 80);
  memset(bytes, 0xaa, sizeof bytes);
  tlg_own_encode(bytes, &p);
  assert_memory_equal(bytes, own_bytes, TLG_OWN_BYTES);
  /* All values of every format come back. */
  for (p.format = TLG_FORMAT_CS16; p.format <= TLG_FORMAT_CS32; p.format++) {
    p.frequency_hz = NAN;
    p.start_ns = -1;
    tlg_own_encode(bytes, &p);
    assert_int_equal(tlg_own_decode(&q, bytes, TLG_OWN_BYTES), TLG_WIRE_OK);
    assert_int_equal(q.format, p.format);
    assert_true(isnan(q.frequency_hz) && q.start_ns == -1);
  }
}

static void own_refused(void **unused)
{
  static const struct {
    uint64_t num, den;
    int possible;
  } rates[] = {
      {1, 1, 1},
      {UINT64_C(10000000000), 1, 1},
      {184320000, 7, 1},
      {0, 0, 1}, /* not stated */
      {UINT64_C(1) << 63, 1, 0},
      {UINT64_C(10000000001), 1, 0},
      {UINT64_C(10000000000) * 3 + 1, 3, 0},
      {1, 1000000007, 0},
      {1, 2, 0},
      {0, 5, 0},
      {25000000, 0, 0},
      {UINT64_MAX, UINT64_MAX - 1, 0}, /* no design can be made for so many digits */
  };
  static const double frequencies[] = {-1e13, INFINITY, -INFINITY, 1.1e13, -1e300};
  uint8_t bytes[sizeof own_bytes + 1];
  struct tlg_own p;
  uint64_t word;
  size_t n;

  (void)unused;
  for (n = 0; n <= sizeof bytes; n++) { /* cut anywhere, or with a byte too many */
    memset(bytes, 0, sizeof bytes);
    memcpy(bytes, own_bytes, n < sizeof own_bytes ? n : sizeof own_bytes);
    assert_int_equal(tlg_own_decode_datagram(&p, bytes, n), n < 5                   ? TLG_WIRE_FOREIGN
                                                            : n != sizeof own_bytes ? TLG_WIRE_MALFORMED
                                                                                    : TLG_WIRE_OK);
  }
  memcpy(bytes, own_bytes, sizeof own_bytes);
  bytes[4] = 2; /* another version is not ours to read */
  assert_int_equal(tlg_own_decode_datagram(&p, bytes, sizeof own_bytes), TLG_WIRE_FOREIGN);
  bytes[4] = 1;
  bytes[5] = 79;
  assert_int_equal(tlg_own_decode_datagram(&p, bytes, sizeof own_bytes), TLG_WIRE_MALFORMED);
  bytes[5] = 80;
  bytes[7] = 7; /* no such format */
  assert_int_equal(tlg_own_decode_datagram(&p, bytes, sizeof own_bytes), TLG_WIRE_MALFORMED);
  bytes[7] = 1;
  bytes[15] = 0xff; /* 4 G samples */
  assert_int_equal(tlg_own_decode_datagram(&p, bytes, sizeof own_bytes), TLG_WIRE_MALFORMED);
  bytes[15] = 0;
  bytes[6] = TLG_OWN_END; /* an end has no samples */
  assert_int_equal(tlg_own_decode_datagram(&p, bytes, sizeof own_bytes), TLG_WIRE_MALFORMED);
  bytes[6] = 0;
  bytes[31] = 0x40; /* a sample number of 2^62 and more */
  assert_int_equal(tlg_own_decode_datagram(&p, bytes, sizeof own_bytes), TLG_WIRE_MALFORMED);
  bytes[31] = 0;
  bytes[33] = 8; /* more left out than there are */
  assert_int_equal(tlg_own_decode_datagram(&p, bytes, sizeof own_bytes), TLG_WIRE_MALFORMED);
  bytes[33] = 0;
  bytes[56] = 0; /* a rate of n/0 */
  assert_int_equal(tlg_own_decode_datagram(&p, bytes, sizeof own_bytes), TLG_WIRE_MALFORMED);
  bytes[56] = 1;
  for (n = 0; n < sizeof rates / sizeof *rates; n++) {
    tlg_wire_put_le64(bytes + 48, rates[n].num);
    tlg_wire_put_le64(bytes + 56, rates[n].den);
    assert_int_equal(tlg_own_decode_datagram(&p, bytes, sizeof own_bytes),
                     rates[n].possible ? TLG_WIRE_OK : TLG_WIRE_MALFORMED);
  }
  memcpy(bytes + 48, own_bytes + 48, 16);
  for (n = 0; n < sizeof frequencies / sizeof *frequencies; n++) {
    memcpy(&word, &frequencies[n], sizeof word);
    tlg_wire_put_le64(bytes + 72, word);
    assert_int_equal(tlg_own_decode_datagram(&p, bytes, sizeof own_bytes), n ? TLG_WIRE_MALFORMED : TLG_WIRE_OK);
  }
  memcpy(bytes + 72, own_bytes + 72, 8);
  bytes[5] = 84; /* a longer header of the same version is passed over: then a sample is missing */
  assert_int_equal(tlg_own_decode_datagram(&p, bytes, sizeof own_bytes), TLG_WIRE_MALFORMED);
  bytes[12] = 1;
  assert_int_equal(tlg_own_decode_datagram(&p, bytes, sizeof own_bytes), TLG_WIRE_OK);
  assert_int_equal(p.header_bytes, 84);
}

/* DIFI's data packet: 10 words, stream 0x01020304, count 11, 2024-01-01T00:00:00 UTC and 40,000,000 ps. */
static const uint8_t difi_data[40] = {
    0x18, 0x6b, 0x00, 0x0a, 0x01, 0x02, 0x03, 0x04, 0x00, 0x6a, 0x62, 0x1e, 0x00, 0x00,
    0x00, 0x00, 0x65, 0x92, 0x00, 0x80, 0x00, 0x00, 0x00, 0x00, 0x02, 0x62, 0x5a, 0x00, /* prologue */
    0x00, 0x01, 0xff, 0xff, 0x12, 0x34, 0x80, 0x00, 0x7f, 0xff, 0x00, 0x00,             /* three samples */
};

/* DIFI's context packet: rate 25 Msps = 25e6 * 2^20 = 0x17d784000000, RF 2.4 GHz = 2.4e9 * 2^20. */
static const uint8_t difi_context[108] = {
    0x49, 0x65, 0x00, 0x1b, 0x01, 0x02, 0x03, 0x04, 0x00, 0x6a, 0x62, 0x1e, 0x00, 0x00, 0x00, 0x01,
    0x65, 0x92, 0x00, 0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, /* prologue */
    0xfb, 0xb9, 0x80, 0x00, 0x00, 0x00, 0x00, 0x4b,                         /* CIF0, reference point */
    0x00, 0x00, 0x17, 0xd7, 0x84, 0x00, 0x00, 0x00, 0,    0,    0,    0,    0,    0,    0,    0, /* bandwidth, IF */
    0x00, 0x08, 0xf0, 0xd1, 0x80, 0x00, 0x00, 0x00, 0,    0,    0,    0,    0,    0,    0,    0, /* RF, offset */
    0,    0,    0,    0,    0,    0,    0,    0,                                                 /* levels */
    0x00, 0x00, 0x17, 0xd7, 0x84, 0x00, 0x00, 0x00, 0,    0,    0,    0,    0,    0,    0,    0, /* rate, adjustment */
    0,    0,    0,    0,    0x40, 0x04, 0x00, 0x00, /* calibration; data valid */
    0xa0, 0x00, 0x03, 0xcf, 0,    0,    0,    0,    /* 16-bit complex integers */
};

static void vita49_by_hand(void **unused)
{
  const struct tlg_vita49_stamp stamp = {
      .stream = 0x01020304, .count = 11 + 16, .seconds = 1704067200, .picoseconds = 40000000};
  struct tlg_vita49_stamp second = stamp;
  const struct tlg_rate rate = {25000000, 1};
  struct tlg_convert_counts counts = {0, 0, 0};
  struct tlg_vita49_context c;
  uint8_t bytes[128];
  struct tlg_vita49 v;
  unsigned __int128 ps;
  tlg_cs16 x[3];

  (void)unused;
  assert_int_equal(tlg_vita49_decode(&v, difi_data, sizeof difi_data), TLG_WIRE_OK);
  assert_true(tlg_vita49_is_data(&v) && v.has_stream && v.has_class && !v.has_trailer && !v.spectrum);
  assert_int_equal(v.stream, 0x01020304);
  assert_int_equal(v.oui, TLG_VITA49_DIFI_OUI);
  assert_int_equal(v.count, 11);
  assert_int_equal(v.tsi, TLG_TSI_UTC);
  assert_int_equal(v.tsf, TLG_TSF_PICOSECONDS);
  assert_int_equal(v.seconds, 1704067200);
  assert_int_equal(v.fraction, 40000000);
  assert_int_equal(v.payload_bytes, 12);
  assert_true(tlg_vita49_time(&v, &rate, &ps) && ps == (unsigned __int128)1704067200 * 1000000000000u + 40000000);
  memset(bytes, 0, sizeof bytes);
  tlg_vita49_encode_data(bytes, &stamp, 12);
  assert_memory_equal(bytes, difi_data, TLG_VITA49_DATA_BYTES);

  assert_int_equal(tlg_vita49_decode(&v, difi_context, sizeof difi_context), TLG_WIRE_OK);
  assert_true(tlg_vita49_is_context(&v));
  assert_int_equal(tlg_vita49_decode_context(&c, &v), TLG_WIRE_OK);
  assert_int_equal(c.rate.num, 25000000);
  assert_int_equal(c.rate.den, 1);
  assert_true(c.frequency_hz == 2.4e9 && c.bandwidth_hz == 25e6 && c.changed && c.states_valid == 1);
  assert_true(c.has_layout && !c.layout_unreadable && c.layout.format == TLG_FORMAT_CS16 && c.layout.big_endian);
  second.count = 5;
  second.picoseconds = 0;
  tlg_vita49_encode_context(bytes, &second, &rate, 2.4e9, 16, 1, 1);
  assert_memory_equal(bytes, difi_context, sizeof difi_context);

  tlg_wire_unpack(x, difi_data + 28, 0, 3, &c.layout, 0, 0, &counts);
  assert_true(x[0].i == 1 && x[0].q == -1 && x[1].i == 0x1234 && x[1].q == -32768 && x[2].i == 32767 && x[2].q == 0);
  assert_int_equal(counts.full_scale, 2);
}

/* The forms that others send: with and without stream number, class, stamps, trailer. */
static void vita49_forms(void **unused)
{
  static const struct tlg_rate none = {0, 0}, rate = {1000, 1};
  uint8_t bytes[64];
  struct tlg_vita49 v;
  unsigned form;

  (void)unused;
  for (form = 0; form < 64; form++) {
    const int stream = form & 1, class = form >> 1 & 1, seconds = form >> 2 & 1, fraction = form >> 3 & 1,
              trailer = form >> 4 & 1, cut = form >> 5 & 1;
    const unsigned words = 1u + (unsigned)stream + 2u * (unsigned)class + (unsigned)seconds + 2u * (unsigned)fraction +
                           2 + (unsigned)trailer;
    const unsigned head = words - 2 - (unsigned)trailer;
    unsigned __int128 ps;
    unsigned i;

    for (i = 0; i < sizeof bytes / 4; i++) {
      tlg_wire_put_be32(bytes + 4 * i, i);
    }
    tlg_wire_put_be32(bytes, (uint32_t)stream << 28 | (uint32_t) class << 27 | (uint32_t)trailer << 26 |
                                 (uint32_t)(seconds ? 2 : 0) << 22 | (uint32_t)fraction << 20 | 3u << 16 | words);
    assert_int_equal(tlg_vita49_decode(&v, bytes, words * 4 - (cut ? 4 : 0)), cut ? TLG_WIRE_MALFORMED : TLG_WIRE_OK);
    if (cut) {
      continue;
    }
    assert_ptr_equal(v.payload, bytes + 4 * head);
    assert_int_equal(v.payload_bytes, 8);
    assert_int_equal(v.stream, stream ? 1 : 0);
    assert_int_equal(v.trailer, trailer ? words - 1 : 0);
    assert_int_equal(v.seconds, seconds ? head - 1 - 2 * (unsigned)fraction : 0);
    assert_int_equal(tlg_vita49_time(&v, &none, &ps), 0); /* a count of samples tells nothing without the rate */
    if (fraction) {
      v.fraction = 1500;
      assert_true(tlg_vita49_time(&v, &rate, &ps));
      assert_true(ps == ((unsigned __int128)v.seconds * 1000 + 1500) * 1000000000);
    }
  }
  /* A header longer than the packet; types that do not exist; a spectrum. */
  memset(bytes, 0, sizeof bytes);
  tlg_wire_put_be32(bytes, 0x18600004);
  assert_int_equal(tlg_vita49_decode(&v, bytes, 16), TLG_WIRE_MALFORMED);
  tlg_wire_put_be32(bytes, 0x80000004);
  assert_int_equal(tlg_vita49_decode(&v, bytes, 16), TLG_WIRE_FOREIGN);
  tlg_wire_put_be32(bytes, 0x13000004);
  assert_int_equal(tlg_vita49_decode(&v, bytes, 16), TLG_WIRE_OK);
  assert_true(v.spectrum);
}

/* Fields stand in the order of their bits; those that nothing is made of are passed over by their size. */
static void vita49_context_fields(void **unused)
{
  static const unsigned words[16] = {1, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 1, 1, 2, 1, 2}; /* of bits 30 to 15 */
  uint8_t bytes[200];
  struct tlg_vita49 v;
  struct tlg_vita49_context c;
  uint32_t present;

  (void)unused;
  for (present = 0; present < 1u << 16; present++) {
    const uint32_t further = present * 2654435761u >> 29 << 1; /* some of the indicator words 1 to 3 */
    size_t at = 2 * 4, need, i;

    memset(bytes, 0, sizeof bytes);
    at += 4; /* CIF0 */
    for (i = 1; i <= 3; i++) {
      at += further >> i & 1 ? 4 : 0;
    }
    for (i = 0; i < 16; i++) {
      if (present >> (15 - i) & 1) {
        if (i == 9) {
          tlg_wire_put_be64(bytes + at, (uint64_t)30720000 << 20);
        } else if (i == 3) {
          tlg_wire_put_be64(bytes + at, ~((uint64_t)7 << 20) + 1); /* -7 Hz */
        } else if (i == 15) {
          tlg_wire_put_be32(bytes + at, 0xa00001c7);
        } else if (i == 14) {
          tlg_wire_put_be32(bytes + at, 1u << 30);
        }
        at += 4 * words[i];
      }
    }
    need = at;
    tlg_wire_put_be32(bytes, 4u << 28 | (uint32_t)(need / 4));
    tlg_wire_put_be32(bytes + 8, present << 15 | further);
    assert_int_equal(tlg_vita49_decode(&v, bytes, need), TLG_WIRE_OK);
    assert_int_equal(tlg_vita49_decode_context(&c, &v), TLG_WIRE_OK);
    assert_int_equal(c.rate.num, present >> 6 & 1 ? 30720000 : 0);
    assert_true(present >> 12 & 1 ? c.frequency_hz == -7 : isnan(c.frequency_hz));
    assert_int_equal(c.states_valid, present >> 1 & 1 ? 0 : -1);
    assert_int_equal(c.has_layout, present & 1);
    assert_true(!c.has_layout || c.layout.format == TLG_FORMAT_CS8);
    if (present) { /* the last field is cut */
      tlg_wire_put_be32(bytes, 4u << 28 | (uint32_t)(need / 4 - 1));
      assert_int_equal(tlg_vita49_decode(&v, bytes, need - 4), TLG_WIRE_OK);
      assert_int_equal(tlg_vita49_decode_context(&c, &v), TLG_WIRE_MALFORMED);
    }
  }
}

/* A rate to the nearest 2^-20 Hz comes back as the fraction it was. */
static void rates(void **unused)
{
  static const struct tlg_rate all[] = {{25000000, 1},  {30720000, 1},  {184320000, 7},
                                        {4, 3},         {48000, 1},     {1000000, 997},
                                        {125000000, 1}, {61440000, 11}, {2147483647, 1000}};
  const struct tlg_vita49_stamp stamp = {0};
  uint8_t bytes[TLG_VITA49_CONTEXT_BYTES];
  struct tlg_vita49_context c;
  struct tlg_vita49 v;
  size_t i;

  (void)unused;
  for (i = 0; i < sizeof all / sizeof *all; i++) {
    tlg_vita49_encode_context(bytes, &stamp, &all[i], NAN, 16, 0, 0);
    assert_int_equal(tlg_vita49_decode(&v, bytes, sizeof bytes), TLG_WIRE_OK);
    assert_int_equal(tlg_vita49_decode_context(&c, &v), TLG_WIRE_OK);
    assert_int_equal(c.rate.num, all[i].num);
    assert_int_equal(c.rate.den, all[i].den);
    assert_true(isnan(c.frequency_hz) && !c.changed && c.states_valid == 0);
  }
}

/* Components of 4 to 16 bits, packed without holes: put in bit by bit here, read back at any start. */
static void packed(void **unused)
{
  enum { N = 67 };
  struct tlg_convert_counts counts = {0, 0, 0};
  tlg_cs16 wanted[N], got[N];
  uint8_t payload[N * 4 + 8];
  unsigned field, item;

  (void)unused;
  for (field = 4; field <= 16; field++) {
    for (item = 2; item <= field; item++) {
      const struct tlg_wire_layout layout = {.field = field, .item = item, .big_endian = 1};
      uint32_t seed = field * 17 + item;
      size_t at = 0, from, i;
      unsigned k;

      memset(payload, 0, sizeof payload);
      for (i = 0; i < 2 * N; i++) {
        uint32_t bits;

        seed = seed * 1664525 + 1013904223;
        bits = seed >> 16; /* 16 bits, of which the upper `field` are sent, and the upper `item` count */
        for (k = 0; k < field; k++, at++) {
          payload[at / 8] |= (uint8_t)((bits >> (15 - k) & 1) << (7 - at % 8));
        }
        (i % 2 ? &wanted[i / 2].q : &wanted[i / 2].i)[0] = (int16_t)(bits & ~(0xffffu >> item));
      }
      assert_int_equal(tlg_wire_samples(&layout, (at + 7) / 8), ((at + 7) / 8 * 8) / (2 * field));
      for (from = 0; from < 9; from++) {
        memset(got, 0, sizeof got);
        tlg_wire_unpack(got, payload, from, N - from, &layout, 0, 0, &counts);
        assert_memory_equal(got, wanted + from, (N - from) * sizeof *got);
      }
      tlg_wire_unpack(got, payload, 0, N, &layout, 0, 1, &counts);
      assert_true(got[5].i == wanted[5].q && got[5].q == wanted[5].i);
    }
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(own_by_hand),  cmocka_unit_test(own_refused),           cmocka_unit_test(vita49_by_hand),
      cmocka_unit_test(vita49_forms), cmocka_unit_test(vita49_context_fields), cmocka_unit_test(rates),
      cmocka_unit_test(packed),
  };

  return cmocka_run_group_tests_name("wire", tests, NULL, NULL);
}
