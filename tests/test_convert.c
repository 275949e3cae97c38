/* SPDX-License-Identifier: Apache-2.0 */
/* Conversions at the edge against the design's formulae, written out in long double and whole numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reader.h"

enum { N = 1301 }; /* longer than any inner block, and odd */

static uint64_t state = 1;

static uint64_t next_random(void)
{
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

/* What one component becomes. */
struct expected {
  int value;
  int clipped, bad;
};

static struct expected from_real(long double x, long double full_scale)
{
  struct expected e = {0, 0, 0};
  long double y;

  if (isnan(x)) {
    e.bad = 1;
    return e;
  }
  if (isinf(x)) {
    e.bad = 1;
    e.value = x > 0 ? 32767 : -32768;
    return e;
  }
  y = floorl((long double)(double)((double)x / (double)full_scale) * 32768.0L + 0.5L);
  e.clipped = y > 32767 || y < -32768;
  e.value = y > 32767 ? 32767 : y < -32768 ? -32768 : (int)y;
  return e;
}

static void store(uint8_t *to, const void *value, size_t size, int big_endian)
{
  const uint8_t *from = value;
  size_t k;

  for (k = 0; k < size; k++) {
    to[k] = from[big_endian == (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) ? k : size - 1 - k];
  }
}

/* Convert components (an even number) at an odd address with canaries, compare values and counts. */
static void check(const uint8_t *bytes, size_t n, enum tlg_format format, int big_endian, double full_scale,
                  const struct expected *want)
{
  const size_t size = tlg_format_size(format) / 2;
  struct tlg_convert_counts counts = {5, 7, 0};
  uint64_t clipped = 5, bad = 7;
  uint8_t *in = malloc(n * size + 1);
  tlg_cs16 *out = malloc((n / 2 + 2) * sizeof *out), *swapped = malloc((n / 2 + 2) * sizeof *out);
  size_t k;

  assert_non_null(in);
  assert_non_null(out);
  assert_non_null(swapped);
  memset(out, 0x5a, (n / 2 + 2) * sizeof *out);
  memcpy(in + 1, bytes, n * size);
  tlg_convert_to_cs16(out + 1, in + 1, n / 2, format, big_endian, full_scale, 0, &counts);
  tlg_convert_to_cs16(swapped, in + 1, n / 2, format, big_endian, full_scale, 1, NULL);
  for (k = 0; k < n; k++) {
    const int got = k % 2 ? out[1 + k / 2].q : out[1 + k / 2].i;
    const int other = k % 2 ? swapped[k / 2].i : swapped[k / 2].q;

    if (got != want[k].value || other != got) {
      fail_msg("%s, component %zu: got %d, swapped %d, wanted %d", tlg_format_name(format), k, got, other,
               want[k].value);
    }
    clipped += (uint64_t)want[k].clipped;
    bad += (uint64_t)want[k].bad;
  }
  assert_int_equal(counts.clipped, clipped);
  assert_int_equal(counts.non_finite, bad);
  assert_int_equal(out[0].i, 0x5a5a);
  assert_int_equal(out[n / 2 + 1].q, 0x5a5a);
  free(in);
  free(out);
  free(swapped);
}

/* NaN every 97 samples, infinities, 1.5, -1.0, 0.99999, halves of a step and their neighbours, the rest random. */
static double awkward(size_t k)
{
  static const double values[] = {
      1.5,
      -1.5,
      -1.0,
      1.0,
      0.99999,
      -0.99999,
      0.0,
      -0.0,
      0.5 / 32768,
      -0.5 / 32768,
      1e-30,
      -1e-30,
      1e30,
      -1e30,
      1e-310,
      1e300,
      INFINITY,
      -INFINITY,
      32766.5 / 32768,
      -32768.5 / 32768,
      32767.5 / 32768,
      0.49999999999999994 / 32768,
      -0.50000000000000011 / 32768,
      2.5 / 32768,
      -2.5 / 32768,
      -32768.49 / 32768,
      32767.49 / 32768,
      3.4e38,
      -3.4e38,
      0.4999999701976776 / 32768,
  };

  if (k / 2 % 97 == 0) {
    return NAN;
  }
  if (k % 3 == 0) {
    return values[next_random() % (sizeof values / sizeof *values)];
  }
  return ((double)(next_random() % 4000001) - 2000000) / 1500000.0;
}

static void floats(void **unused)
{
  static const double scales[] = {0, 1, 2048, 0.5, 3, 0.7, 32768};
  static uint8_t bytes[2 * N * 8];
  static struct expected want[2 * N];
  size_t s, k;
  int big, wide;

  (void)unused;
  for (s = 0; s < sizeof scales / sizeof *scales; s++) {
    for (big = 0; big < 2; big++) {
      for (wide = 0; wide < 2; wide++) {
        const size_t size = wide ? 8 : 4;

        for (k = 0; k < 2 * N; k++) {
          const double x = awkward(k) * (scales[s] > 0 ? scales[s] : 1);
          const float f = (float)x;

          store(bytes + k * size, wide ? (const void *)&x : (const void *)&f, size, big);
          want[k] = from_real(wide ? (long double)x : (long double)f, scales[s] > 0 ? scales[s] : 1);
        }
        check(bytes, 2 * N, wide ? TLG_FORMAT_CF64 : TLG_FORMAT_CF32, big, scales[s], want);
      }
    }
  }
}

/* Every float between two steps' halves: the 64 neighbours of each half step. */
static void every_half(void **unused)
{
  static uint8_t bytes[2 * 65536 * 4];
  static struct expected want[2 * 65536];
  int around, k;

  (void)unused;
  for (around = -2; around <= 2; around++) {
    for (k = 0; k < 2 * 65536; k++) {
      float x = (float)((k / 2.0 - 32768.0) / 32768.0);
      int step;

      for (step = 0; step < abs(around); step++) {
        x = nextafterf(x, around > 0 ? 2.0f : -2.0f);
      }
      store(bytes + 4 * k, &x, 4, 0);
      want[k] = from_real((long double)x, 1);
    }
    check(bytes, 2 * 65536, TLG_FORMAT_CF32, 0, 0, want);
  }
}

static void bytes_of_all_values(void **unused)
{
  static uint8_t bytes[256];
  static struct expected want[256];
  struct tlg_convert_counts counts = {0, 0, 0};
  tlg_cs16 out[128];
  int v;

  (void)unused;
  memset(want, 0, sizeof want);
  for (v = 0; v < 256; v++) {
    bytes[v] = (uint8_t)v;
    want[v].value = 256 * v - 32640; /* byte 0: -32640, byte 255: 32640, nothing wraps */
  }
  check(bytes, 256, TLG_FORMAT_CU8, 0, 0, want);
  assert_int_equal(want[0].value, -32640);
  assert_int_equal(want[255].value, 32640);
  for (v = 0; v < 256; v++) {
    want[v].value = (v < 128 ? v : v - 256) * 256;
  }
  check(bytes, 256, TLG_FORMAT_CS8, 0, 0, want);
  tlg_convert_to_cs16(out, bytes, 128, TLG_FORMAT_CU8, 0, 0, 0, &counts);
  assert_int_equal(counts.full_scale, 2);
  tlg_convert_to_cs16(out, bytes, 128, TLG_FORMAT_CS8, 0, 0, 0, &counts);
  assert_int_equal(counts.full_scale, 5); /* 127, -127, -128 */
  for (v = 0; v < 256; v++) {             /* full scale 64 of a cu8: (v - 127.5) / 64 */
    want[v] = from_real(v - 127.5L, 64);
  }
  check(bytes, 256, TLG_FORMAT_CU8, 0, 64, want);
}

static void sixteen(void **unused)
{
  static uint8_t bytes[65536 * 2];
  static struct expected want[65536];
  static const double scales[] = {0, 2048, 2047, 32768, 65536, 1};
  size_t s;
  int v, big;

  (void)unused;
  for (s = 0; s < sizeof scales / sizeof *scales; s++) {
    for (big = 0; big < 2; big++) {
      for (v = 0; v < 65536; v++) {
        const int16_t x = (int16_t)(v - 32768);

        store(bytes + 2 * v, &x, 2, big);
        memset(&want[v], 0, sizeof want[v]);
        want[v].value = x;
        if (scales[s] > 0) {
          want[v] = from_real(x, scales[s]);
        }
      }
      check(bytes, 65536, TLG_FORMAT_CS16, big, scales[s], want);
    }
  }
  /* bladeRF's 12 bits: 2047 of 2048 is 0 dBFS less a step, not -24 dB. */
  {
    const int16_t q11[2] = {2047, -2048};
    tlg_cs16 out;

    tlg_convert_to_cs16(&out, q11, 1, TLG_FORMAT_CS16, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__, 2048, 0, NULL);
    assert_int_equal(out.i, 2047 * 16);
    assert_int_equal(out.q, -32768);
  }
  for (v = 0; v < 65536; v++) {
    const uint16_t x = (uint16_t)v;

    store(bytes + 2 * v, &x, 2, 1);
    memset(&want[v], 0, sizeof want[v]);
    want[v].value = v - 32768;
  }
  check(bytes, 65536, TLG_FORMAT_CU16, 1, 0, want);
}

static void wide_integers(void **unused)
{
  static uint8_t bytes[2 * N * 4];
  static struct expected want[2 * N];
  static const int32_t corners[] = {0,      -1,         1,          32767,      32768,       -32768,
                                    -32769, INT32_MAX,  INT32_MIN,  98303,      98304,       -98304,
                                    -98305, 0x7fff7fff, 0x7fff8000, 0x7ffeffff, -2147450880, -2147450881};
  size_t k;
  int big;

  (void)unused;
  for (big = 0; big < 2; big++) {
    for (k = 0; k < 2 * N; k++) {
      const int32_t x = k < sizeof corners / sizeof *corners ? corners[k] : (int32_t)(uint32_t)next_random();
      const int64_t y = ((int64_t)x + 32768) >> 16;

      store(bytes + 4 * k, &x, 4, big);
      want[k].bad = 0;
      want[k].clipped = y > 32767;
      want[k].value = y > 32767 ? 32767 : (int)y;
    }
    check(bytes, 2 * N, TLG_FORMAT_CS32, big, 0, want);
    for (k = 0; k < 2 * N; k++) {
      const uint32_t x = k < sizeof corners / sizeof *corners ? (uint32_t)corners[k] : (uint32_t)next_random();
      const int64_t y = ((int64_t)x - 2147483648 + 32768) >> 16;

      store(bytes + 4 * k, &x, 4, big);
      want[k].clipped = y > 32767;
      want[k].value = y > 32767 ? 32767 : (int)y;
    }
    check(bytes, 2 * N, TLG_FORMAT_CU32, big, 0, want);
    for (k = 0; k < 2 * N; k++) {
      const int32_t x = (int32_t)(uint32_t)next_random() / 256; /* 24 bits */
      const int32_t y = (x + 128) >> 8;
      const uint8_t three[3] = {(uint8_t)x, (uint8_t)((uint32_t)x >> 8), (uint8_t)((uint32_t)x >> 16)};

      bytes[3 * k] = three[big ? 2 : 0];
      bytes[3 * k + 1] = three[1];
      bytes[3 * k + 2] = three[big ? 0 : 2];
      want[k].clipped = y > 32767;
      want[k].value = y > 32767 ? 32767 : y;
    }
    check(bytes, 2 * N, TLG_FORMAT_CS24, big, 0, want);
  }
}

/* Lengths and alignments: the same as sample by sample. */
static void every_length(void **unused)
{
  static const enum tlg_format formats[] = {TLG_FORMAT_CS16, TLG_FORMAT_CF32, TLG_FORMAT_CF64,
                                            TLG_FORMAT_CS8,  TLG_FORMAT_CU8,  TLG_FORMAT_CS32,
                                            TLG_FORMAT_CU16, TLG_FORMAT_CU32, TLG_FORMAT_CS24};
  static uint8_t bytes[700 * 16 + 16];
  size_t f, n, k;

  (void)unused;
  for (k = 0; k < sizeof bytes; k++) {
    bytes[k] = (uint8_t)next_random();
  }
  for (f = 0; f < sizeof formats / sizeof *formats; f++) {
    for (n = 0; n < 700; n = n < 70 ? n + 1 : n + 61) {
      const size_t size = tlg_format_size(formats[f]);
      struct tlg_convert_counts whole = {0, 0, 0}, single = {0, 0, 0};
      tlg_cs16 out[701], one;

      memset(out, 0x33, sizeof out);
      tlg_convert_to_cs16(out, bytes + n % 16, n, formats[f], 0, 0, 0, &whole);
      for (k = 0; k < n; k++) {
        tlg_convert_to_cs16(&one, bytes + n % 16 + k * size, 1, formats[f], 0, 0, 0, &single);
        assert_memory_equal(&one, &out[k], sizeof one);
      }
      assert_int_equal(out[n].i, 0x3333);
      assert_memory_equal(&whole, &single, sizeof whole);
    }
  }
}

/* Out and back: each type gives every cs16 value again that it can hold. */
static void there_and_back(void **unused)
{
  static const enum tlg_format exact[] = {TLG_FORMAT_CS16, TLG_FORMAT_CF32, TLG_FORMAT_CF64, TLG_FORMAT_CS32,
                                          TLG_FORMAT_CU16, TLG_FORMAT_CU32, TLG_FORMAT_CS24};
  static tlg_cs16 in[32768], out[32768];
  static uint8_t bytes[32768 * 16];
  struct tlg_convert_counts counts = {0, 0, 0};
  size_t f;
  int v;

  (void)unused;
  for (v = 0; v < 32768; v++) {
    in[v].i = (int16_t)(2 * v - 32768);
    in[v].q = (int16_t)(2 * v - 32767);
  }
  for (f = 0; f < sizeof exact / sizeof *exact; f++) {
    memset(bytes, 0, sizeof bytes);
    tlg_convert_from_cs16(bytes, in, 32768, exact[f], &counts);
    tlg_convert_to_cs16(out, bytes, 32768, exact[f], 0, 0, 0, &counts);
    assert_memory_equal(in, out, sizeof in);
  }
  assert_int_equal(counts.clipped, 0);
  tlg_convert_from_cs16(bytes, in, 32768, TLG_FORMAT_CF32, NULL);
  for (v = 0; v < 32768; v++) { /* v / 32768, exactly */
    float f32;
    uint8_t little[4];

    f32 = (float)in[v].q / 32768.0f;
    store(little, &f32, 4, 0);
    assert_memory_equal(little, bytes + 8 * v + 4, 4);
  }
  tlg_convert_from_cs16(bytes, in, 32768, TLG_FORMAT_CS8, &counts);
  for (v = 0; v < 32768; v++) {
    const double y = floor(in[v].i / 256.0 + 0.5);

    assert_int_equal((int8_t)bytes[2 * v], y > 127 ? 127 : (int)y);
  }
  assert_int_equal(counts.clipped, 128); /* 32640..32767 */
  tlg_convert_from_cs16(bytes, in, 32768, TLG_FORMAT_CU8, &counts);
  for (v = 0; v < 32768; v++) {
    assert_int_equal(bytes[2 * v + 1], (int)floor((in[v].q + 32640.0) / 256.0 + 0.5));
  }
}

static void names(void **unused)
{
  enum tlg_format f = TLG_FORMAT_CU32;

  (void)unused;
  assert_int_equal(tlg_format_parse(&f, "sc16"), 0);
  assert_int_equal(f, TLG_FORMAT_CS16);
  assert_int_equal(tlg_format_parse(&f, "fc32"), 0);
  assert_int_equal(f, TLG_FORMAT_CF32);
  assert_int_equal(tlg_format_parse(&f, "ci16"), 0);
  assert_int_equal(tlg_format_parse(&f, "s16"), TLG_EINVAL);
  assert_int_equal(tlg_format_parse(&f, ""), TLG_EINVAL);
  assert_int_equal(f, TLG_FORMAT_CS16);
  assert_string_equal(tlg_format_name(TLG_FORMAT_CS16), "cs16");
  assert_int_equal(tlg_format_size(TLG_FORMAT_CS24), 6);
  assert_int_equal(tlg_format_size(TLG_FORMAT_UNKNOWN), 0);
}

/* Components at full scale among others: found wherever one stands, and counted once each. */
static void full_scale_anywhere(void **unused)
{
  enum { LONG = 2 * 4096 + 77 }; /* samples: several of the runs that are looked through at once, and a rest */
  static const int16_t extremes[] = {32767, -32767, -32768}, others[] = {32766, -32766, 0};
  static tlg_cs16 x[LONG + 1];
  size_t k, at;

  (void)unused;
  for (k = 0; k < LONG; k++) {
    x[k].i = others[k % 3];
    x[k].q = others[(k + 1) % 3];
  }
  assert_int_equal(tlg_count_full_scale(x, LONG), 0);
  for (at = 0; at < 2 * LONG; at += at < 40 || at > 2 * LONG - 40 ? 1 : 61) {
    int16_t *const component = at % 2 ? &x[at / 2].q : &x[at / 2].i;
    const int16_t before = *component;

    *component = extremes[at % 3];
    assert_int_equal(tlg_count_full_scale(x, LONG), 1);
    assert_int_equal(tlg_count_full_scale(x, at / 2), 0);
    assert_int_equal(tlg_count_full_scale(x + at / 2 + 1, LONG - at / 2 - 1), 0);
    *component = before;
  }
  for (k = at = 0; k < LONG; k++) {
    x[k].i = (int16_t)(next_random() % 50 ? 32766 : 32767);
    x[k].q = (int16_t)(next_random() % 50 ? -32766 : -32768);
    at += (x[k].i == 32767) + (x[k].q == -32768);
    if (k % 997 == 0) {
      assert_int_equal(tlg_count_full_scale(x, k + 1), at);
    }
  }
  assert_int_equal(tlg_count_full_scale(x, LONG), at);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(floats),         cmocka_unit_test(every_half),    cmocka_unit_test(bytes_of_all_values),
      cmocka_unit_test(sixteen),        cmocka_unit_test(wide_integers), cmocka_unit_test(every_length),
      cmocka_unit_test(there_and_back), cmocka_unit_test(names),         cmocka_unit_test(full_scale_anywhere),
  };

  return cmocka_run_group_tests_name("convert", tests, NULL, NULL);
}
