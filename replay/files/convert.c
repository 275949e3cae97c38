/* SPDX-License-Identifier: Apache-2.0 */
/* Sample types: their names and sizes, and the conversions between them and cs16 (docs/formats.md). */
#include "reader.h"

#include <float.h>
#include <string.h>
#include <strings.h>

/* Components handled at once. A constant trip count lets compilers vectorise the loops below at -O2. */
#define BLOCK 512

struct format_entry {
  const char *name;
  enum tlg_format format;
};

/* The first name of a format is ours; the others are what the field calls it. */
static const struct format_entry names[] = {
    {"cs16", TLG_FORMAT_CS16}, {"sc16", TLG_FORMAT_CS16}, {"ci16", TLG_FORMAT_CS16}, {"iq16", TLG_FORMAT_CS16},
    {"cf32", TLG_FORMAT_CF32}, {"fc32", TLG_FORMAT_CF32}, {"cf64", TLG_FORMAT_CF64}, {"fc64", TLG_FORMAT_CF64},
    {"cs8", TLG_FORMAT_CS8},   {"sc8", TLG_FORMAT_CS8},   {"ci8", TLG_FORMAT_CS8},   {"cu8", TLG_FORMAT_CU8},
    {"uc8", TLG_FORMAT_CU8},   {"cs32", TLG_FORMAT_CS32}, {"sc32", TLG_FORMAT_CS32}, {"ci32", TLG_FORMAT_CS32},
    {"cu16", TLG_FORMAT_CU16}, {"cu32", TLG_FORMAT_CU32}, {"cs24", TLG_FORMAT_CS24},
};

int tlg_format_parse(enum tlg_format *format, const char *text)
{
  size_t i;

  if (!format || !text) {
    return TLG_EINVAL;
  }
  for (i = 0; i < sizeof names / sizeof *names; i++) {
    if (strcasecmp(text, names[i].name) == 0) {
      *format = names[i].format;
      return TLG_OK;
    }
  }
  return TLG_EINVAL;
}

const char *tlg_format_name(enum tlg_format format)
{
  size_t i;

  for (i = 0; i < sizeof names / sizeof *names; i++) {
    if (names[i].format == format) {
      return names[i].name;
    }
  }
  return "unknown";
}

size_t tlg_format_size(enum tlg_format format)
{
  switch (format) {
  case TLG_FORMAT_CS8:
  case TLG_FORMAT_CU8:
    return 2;
  case TLG_FORMAT_CS16:
  case TLG_FORMAT_CU16:
    return 4;
  case TLG_FORMAT_CS24:
    return 6;
  case TLG_FORMAT_CF32:
  case TLG_FORMAT_CS32:
  case TLG_FORMAT_CU32:
    return 8;
  case TLG_FORMAT_CF64:
    return 16;
  case TLG_FORMAT_UNKNOWN:
    break;
  }
  return 0;
}

const char *tlg_container_name(enum tlg_container container)
{
  switch (container) {
  case TLG_CONTAINER_RAW:
    return "raw";
  case TLG_CONTAINER_SIGMF:
    return "SigMF";
  case TLG_CONTAINER_SIGMF_ARCHIVE:
    return "SigMF archive";
  case TLG_CONTAINER_WAV:
    return "WAV";
  case TLG_CONTAINER_RF64:
    return "RF64";
  case TLG_CONTAINER_W64:
    return "W64";
  case TLG_CONTAINER_AU:
    return "AU";
  case TLG_CONTAINER_FLAC:
    return "FLAC";
  case TLG_CONTAINER_PCAP:
    return "pcap";
  case TLG_CONTAINER_OTHER_SNDFILE:
    return "other (libsndfile)";
  case TLG_CONTAINER_UNKNOWN:
    break;
  }
  return "unknown";
}

/* Converters that clip symmetrically stop at -127, others at -128: both count as full scale. */

/* Each converter below takes n components in host byte order. n is the constant BLOCK in all calls but the last,
 * which is why they are inlined twice. Counts of one block fit int32. */
#define INLINE static inline __attribute__((always_inline))

union float_bits {
  float value;
  int32_t bits;
};

/* scale is a power of two, so in * scale is exact. floor(v + 0.5) = (floor(2 v) + 1) >> 1, and floor(2 v) is 2 v cut
 * towards zero, less one where a negative rest was cut off; so nothing is ever rounded. Comparing as integers, on
 * the bits, lets compilers vectorise. */
INLINE void from_cf32(int16_t *out, const float *in, size_t n, float scale, struct tlg_convert_counts *counts)
{
  const int32_t infinity = 0x7f800000, limit = 0x479c4000; /* 80000.0f */
  int32_t bad = 0, clipped = 0;
  size_t i;

  for (i = 0; i < n; i++) {
    const union float_bits x = {.value = in[i]};
    const int32_t size = x.bits & 0x7fffffff;
    const int32_t number = -(size <= infinity), finite = -(size < infinity);
    union float_bits twice = {.value = in[i] * (2.0f * scale)}, rest;
    const int32_t wide = twice.bits & 0x7fffffff;
    int32_t t, y, fit;

    twice.bits = (wide > limit ? limit : wide) | (x.bits & INT32_MIN);
    t = (int32_t)twice.value;
    rest.value = twice.value - (float)t;
    y = (t + (rest.bits >> 31) + 1) >> 1;
    fit = y > 32767 ? 32767 : y;
    fit = fit < -32768 ? -32768 : fit;
    bad += 1 + finite;
    clipped += finite & (fit != y);
    out[i] = (int16_t)(fit & number);
  }
  counts->non_finite += (uint64_t)bad;
  counts->clipped += (uint64_t)clipped;
}

/* The same in double, for a full scale that is no power of two: the one rounding is that of the division. */
INLINE void from_real(int16_t *out, const double *in, size_t n, double full_scale, struct tlg_convert_counts *counts)
{
  int32_t bad = 0, clipped = 0;
  size_t i;

  for (i = 0; i < n; i++) {
    const double v = in[i] / full_scale * 32768.0;
    const double high = v < 40000.0 ? v : 40000.0;
    const double low = high > -40000.0 ? high : -40000.0;
    const int32_t t = (int32_t)low;
    const double rest = low - t;
    const int32_t y = t + (rest >= 0.5) - (rest < -0.5);
    const int32_t finite = (in[i] <= DBL_MAX) & (in[i] >= -DBL_MAX);
    const int32_t number = in[i] == in[i];
    const int32_t over = y > 32767 ? 32767 : y;
    const int32_t fit = over < -32768 ? -32768 : over;

    bad += 1 - finite;
    clipped += finite & (fit != y);
    out[i] = (int16_t)(fit & -number);
  }
  counts->non_finite += (uint64_t)bad;
  counts->clipped += (uint64_t)clipped;
}

INLINE void from_cs8(int16_t *out, const int8_t *in, size_t n, struct tlg_convert_counts *counts)
{
  int32_t extremes = 0;
  size_t i;

  for (i = 0; i < n; i++) {
    out[i] = (int16_t)(in[i] * 256);
    extremes += (in[i] == 127) | (in[i] <= -127);
  }
  counts->full_scale += (uint64_t)extremes;
}

INLINE void from_cu8(int16_t *out, const uint8_t *in, size_t n, struct tlg_convert_counts *counts)
{
  int32_t extremes = 0;
  size_t i;

  for (i = 0; i < n; i++) {
    out[i] = (int16_t)(in[i] * 256 - 32640);
    extremes += (in[i] == 255) | (in[i] == 0);
  }
  counts->full_scale += (uint64_t)extremes;
}

INLINE void from_cs16(int16_t *out, const int16_t *in, size_t n, struct tlg_convert_counts *counts)
{
  int32_t extremes = 0;
  size_t i;

  for (i = 0; i < n; i++) {
    out[i] = in[i];
    extremes += (in[i] == 32767) | (in[i] <= -32767);
  }
  counts->full_scale += (uint64_t)extremes;
}

INLINE void from_cu16(int16_t *out, const uint16_t *in, size_t n, struct tlg_convert_counts *counts)
{
  int32_t extremes = 0;
  size_t i;

  for (i = 0; i < n; i++) {
    out[i] = (int16_t)(in[i] - 32768);
    extremes += (in[i] == 65535) | (in[i] == 0);
  }
  counts->full_scale += (uint64_t)extremes;
}

/* (v + 2^15) >> 16, saturated; v >> 15 is taken first so that nothing leaves 32 bits. */
INLINE void from_cs32(int16_t *out, const int32_t *in, size_t n, struct tlg_convert_counts *counts)
{
  int32_t extremes = 0, clipped = 0;
  size_t i;

  for (i = 0; i < n; i++) {
    const int32_t y = ((in[i] >> 15) + 1) >> 1;

    extremes += (in[i] == INT32_MAX) | (in[i] <= -INT32_MAX);
    clipped += y > 32767;
    out[i] = (int16_t)(y > 32767 ? 32767 : y);
  }
  counts->full_scale += (uint64_t)extremes;
  counts->clipped += (uint64_t)clipped;
}

static size_t component_size(enum tlg_format format)
{
  return tlg_format_size(format) / 2;
}

/* n components from a file into host order: 24-bit ones become 32-bit with the low byte 0, unsigned 32-bit ones
 * are moved to signed. */
static void load(void *to, const uint8_t *from, size_t n, enum tlg_format format, int big_endian)
{
  const size_t size = component_size(format);
  size_t i, k;

  if (format == TLG_FORMAT_CS24) {
    int32_t *const v = to;

    for (i = 0; i < n; i++, from += 3) {
      const uint32_t low = from[big_endian ? 2 : 0], high = from[big_endian ? 0 : 2];

      v[i] = (int32_t)(low << 8 | (uint32_t)from[1] << 16 | high << 24);
    }
    return;
  }
  if (size == 1 || big_endian == (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)) {
    memcpy(to, from, n * size);
  } else {
    uint8_t *const bytes = to;

    for (i = 0; i < n * size; i += size) {
      for (k = 0; k < size; k++) {
        bytes[i + k] = from[i + size - 1 - k];
      }
    }
  }
  if (format == TLG_FORMAT_CU32) {
    uint32_t *const v = to;

    for (i = 0; i < n; i++) {
      v[i] ^= 0x80000000u;
    }
  }
}

union block {
  int8_t s8[BLOCK];
  uint8_t u8[BLOCK];
  int16_t s16[BLOCK];
  uint16_t u16[BLOCK];
  int32_t s32[BLOCK];
  float f32[BLOCK];
  double f64[BLOCK];
};

/* Values of one block as doubles in the type's own units (cu8: about its centre, 127.5). */
static void to_real(double *out, const union block *in, size_t n, enum tlg_format format)
{
  size_t i;

  for (i = 0; i < n; i++) {
    switch (format) {
    case TLG_FORMAT_CS8:
      out[i] = in->s8[i];
      break;
    case TLG_FORMAT_CU8:
      out[i] = in->u8[i] - 127.5;
      break;
    case TLG_FORMAT_CS16:
      out[i] = in->s16[i];
      break;
    case TLG_FORMAT_CU16:
      out[i] = in->u16[i] - 32768.0;
      break;
    case TLG_FORMAT_CS24:
      out[i] = in->s32[i] / 256.0;
      break;
    case TLG_FORMAT_CS32:
    case TLG_FORMAT_CU32:
      out[i] = in->s32[i];
      break;
    case TLG_FORMAT_CF32:
      out[i] = (double)in->f32[i];
      break;
    case TLG_FORMAT_CF64:
    case TLG_FORMAT_UNKNOWN:
      out[i] = in->f64[i];
      break;
    }
  }
}

/* Types whose values a float holds exactly. */
static int fits_float(enum tlg_format format)
{
  return format == TLG_FORMAT_CS8 || format == TLG_FORMAT_CU8 || format == TLG_FORMAT_CS16 ||
         format == TLG_FORMAT_CU16 || format == TLG_FORMAT_CF32;
}

static void to_float(float *out, const union block *in, size_t n, enum tlg_format format)
{
  size_t i;

  switch (format) {
  case TLG_FORMAT_CS8:
    for (i = 0; i < n; i++) {
      out[i] = in->s8[i];
    }
    break;
  case TLG_FORMAT_CU8:
    for (i = 0; i < n; i++) {
      out[i] = (float)in->u8[i] - 127.5f;
    }
    break;
  case TLG_FORMAT_CS16:
    for (i = 0; i < n; i++) {
      out[i] = in->s16[i];
    }
    break;
  case TLG_FORMAT_CU16:
    for (i = 0; i < n; i++) {
      out[i] = (float)in->u16[i] - 32768.0f;
    }
    break;
  default:
    memcpy(out, in->f32, n * sizeof *out);
  }
}

/* Whether x is a power of two that can be divided out of a float of any size we care for without rounding. */
static int power_of_two(double x)
{
  double p = 1.0 / (1 << 20);

  while (p < x) {
    p *= 2;
  }
  return p == x && x <= 1 << 24;
}

/* Components at the extremes of an integer type, for the path that goes through doubles. */
static void count_extremes(const union block *in, size_t n, enum tlg_format format, struct tlg_convert_counts *counts)
{
  struct tlg_convert_counts unused = {0, 0, 0};
  int16_t scratch[BLOCK];

  switch (format) {
  case TLG_FORMAT_CS8:
    from_cs8(scratch, in->s8, n, &unused);
    break;
  case TLG_FORMAT_CU8:
    from_cu8(scratch, in->u8, n, &unused);
    break;
  case TLG_FORMAT_CS16:
    from_cs16(scratch, in->s16, n, &unused);
    break;
  case TLG_FORMAT_CU16:
    from_cu16(scratch, in->u16, n, &unused);
    break;
  case TLG_FORMAT_CS24:
  case TLG_FORMAT_CS32:
  case TLG_FORMAT_CU32:
    from_cs32(scratch, in->s32, n, &unused);
    break;
  case TLG_FORMAT_CF32:
  case TLG_FORMAT_CF64:
  case TLG_FORMAT_UNKNOWN:
    break;
  }
  counts->full_scale += unused.full_scale;
}

/* 24-bit extremes are those of the three bytes, not of the 32 bits they are held in. */
static uint64_t extremes_24(const int32_t *in, size_t n)
{
  uint64_t extremes = 0;
  size_t i;

  for (i = 0; i < n; i++) {
    extremes += in[i] == 0x7fffff00 || in[i] <= -0x7fffff00;
  }
  return extremes;
}

INLINE void convert_block(int16_t *out, const union block *in, size_t n, enum tlg_format format,
                          struct tlg_convert_counts *counts)
{
  switch (format) {
  case TLG_FORMAT_CS8:
    from_cs8(out, in->s8, n, counts);
    break;
  case TLG_FORMAT_CU8:
    from_cu8(out, in->u8, n, counts);
    break;
  case TLG_FORMAT_CS16:
    from_cs16(out, in->s16, n, counts);
    break;
  case TLG_FORMAT_CU16:
    from_cu16(out, in->u16, n, counts);
    break;
  case TLG_FORMAT_CS24:
  case TLG_FORMAT_CS32:
  case TLG_FORMAT_CU32:
    from_cs32(out, in->s32, n, counts);
    break;
  case TLG_FORMAT_CF32:
    from_cf32(out, in->f32, n, 32768.0f, counts);
    break;
  case TLG_FORMAT_CF64:
  case TLG_FORMAT_UNKNOWN:
    from_real(out, in->f64, n, 1.0, counts);
    break;
  }
}

static void swap_components(int16_t *x, size_t n)
{
  size_t i;

  for (i = 0; i + 1 < n; i += 2) {
    const int16_t t = x[i];

    x[i] = x[i + 1];
    x[i + 1] = t;
  }
}

void tlg_convert_to_cs16(tlg_cs16 *out, const void *in, size_t n, enum tlg_format format, int big_endian,
                         double full_scale, int swap_iq, struct tlg_convert_counts *counts)
{
  const size_t size = component_size(format);
  const int exact = full_scale > 0 && fits_float(format) && power_of_two(full_scale);
  const float scale = exact ? (float)(32768.0 / full_scale) : 1;
  const uint8_t *from = in;
  struct tlg_convert_counts unused = {0, 0, 0};
  union block block;
  double real[BLOCK];
  float single[BLOCK];
  int16_t result[BLOCK];
  size_t left = 2 * n;

  if (!out || !in || !size) {
    return;
  }
  if (!counts) {
    counts = &unused;
  }
  while (left) {
    const size_t m = left < BLOCK ? left : BLOCK;

    load(&block, from, m, format, big_endian != 0);
    if (full_scale > 0) {
      if (exact) {
        to_float(single, &block, m, format);
        if (m == BLOCK) {
          from_cf32(result, single, BLOCK, scale, counts);
        } else {
          from_cf32(result, single, m, scale, counts);
        }
      } else {
        to_real(real, &block, m, format);
        from_real(result, real, m, full_scale, counts);
      }
      if (format == TLG_FORMAT_CS24) {
        counts->full_scale += extremes_24(block.s32, m);
      } else {
        count_extremes(&block, m, format, counts);
      }
    } else {
      if (m == BLOCK) {
        convert_block(result, &block, BLOCK, format, counts);
      } else {
        convert_block(result, &block, m, format, counts);
      }
      if (format == TLG_FORMAT_CS24) {
        counts->full_scale += extremes_24(block.s32, m);
      }
    }
    if (swap_iq) {
      swap_components(result, m);
    }
    memcpy(out, result, m * sizeof *result);
    out += m / 2;
    from += m * size;
    left -= m;
  }
}

/* n components to a file's type in host order; the number of those that did not fit. */
INLINE uint64_t to_type(union block *out, const int16_t *in, size_t n, enum tlg_format format)
{
  int32_t clipped = 0;
  size_t i;

  switch (format) {
  case TLG_FORMAT_CS8: /* (v + 128) >> 8: half goes up; 127.5 and more does not fit */
    for (i = 0; i < n; i++) {
      const int32_t y = (in[i] + 128) >> 8;

      clipped += y > 127;
      out->s8[i] = (int8_t)(y > 127 ? 127 : y);
    }
    break;
  case TLG_FORMAT_CU8: /* the inverse of 256*v - 32640, half up */
    for (i = 0; i < n; i++) {
      out->u8[i] = (uint8_t)((in[i] + 32768) >> 8);
    }
    break;
  case TLG_FORMAT_CS16:
    memcpy(out->s16, in, n * sizeof *in);
    break;
  case TLG_FORMAT_CU16:
    for (i = 0; i < n; i++) {
      out->u16[i] = (uint16_t)(in[i] + 32768);
    }
    break;
  case TLG_FORMAT_CS24:
  case TLG_FORMAT_CS32:
    for (i = 0; i < n; i++) {
      out->s32[i] = in[i] * 65536;
    }
    break;
  case TLG_FORMAT_CU32:
    for (i = 0; i < n; i++) {
      out->s32[i] = (int32_t)((uint32_t)(in[i] * 65536) ^ 0x80000000u);
    }
    break;
  case TLG_FORMAT_CF32:
    for (i = 0; i < n; i++) {
      out->f32[i] = (float)in[i] * (1.0f / 32768.0f);
    }
    break;
  case TLG_FORMAT_CF64:
  case TLG_FORMAT_UNKNOWN:
    for (i = 0; i < n; i++) {
      out->f64[i] = in[i] * (1.0 / 32768.0);
    }
    break;
  }
  return (uint64_t)clipped;
}

/* n components from host order to little-endian bytes; of 24-bit ones the upper three bytes. */
static void store(uint8_t *to, const union block *from, size_t n, enum tlg_format format)
{
  const size_t size = component_size(format);
  size_t i, k;

  if (format == TLG_FORMAT_CS24) {
    for (i = 0; i < n; i++, to += 3) {
      for (k = 0; k < 3; k++) {
        to[k] = (uint8_t)((uint32_t)from->s32[i] >> (8 * k + 8));
      }
    }
  } else if (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) {
    memcpy(to, from, n * size);
  } else {
    for (i = 0; i < n * size; i += size) {
      for (k = 0; k < size; k++) {
        to[i + k] = ((const uint8_t *)from)[i + size - 1 - k];
      }
    }
  }
}

void tlg_convert_from_cs16(void *out, const tlg_cs16 *in, size_t n, enum tlg_format format,
                           struct tlg_convert_counts *counts)
{
  const size_t size = component_size(format);
  uint8_t *to = out;
  int16_t from[BLOCK];
  union block block;
  uint64_t clipped = 0;

  if (!out || !in || !size) {
    return;
  }
  while (n) {
    const size_t m = n < BLOCK / 2 ? n : BLOCK / 2;

    memcpy(from, in, m * sizeof *in);
    if (m == BLOCK / 2) {
      clipped += to_type(&block, from, BLOCK, format);
    } else {
      clipped += to_type(&block, from, 2 * m, format);
    }
    store(to, &block, 2 * m, format);
    to += 2 * m * size;
    in += m;
    n -= m;
  }
  if (counts) {
    counts->clipped += clipped;
  }
}

/* Components looked through at once: joining the lanes at the end of a run costs as much as a short run. */
#define RUN 4096

/* Whether a run has a component at either extreme: far cheaper than counting, and rarely true. */
INLINE int reaches_full_scale(const int16_t *in)
{
  const int16_t *const half = in + RUN / 2;
  int16_t high = 0, low = 0, high2 = 0, low2 = 0;
  size_t i;

  for (i = 0; i < RUN / 2; i++) {
    high = in[i] > high ? in[i] : high;
    low = in[i] < low ? in[i] : low;
    high2 = half[i] > high2 ? half[i] : high2;
    low2 = half[i] < low2 ? half[i] : low2;
  }
  return high == 32767 || low <= -32767 || high2 == 32767 || low2 <= -32767;
}

/* Every sample passes here, on its way in and out: worth the wider registers where there are some. */
#ifdef __x86_64__
__attribute__((target("avx2"))) static int run_reaches_avx2(const int16_t *in)
{
  return reaches_full_scale(in);
}
#endif

static int run_reaches(const int16_t *in)
{
  return reaches_full_scale(in);
}

uint64_t tlg_count_full_scale(const tlg_cs16 *x, size_t n)
{
#ifdef __x86_64__
  int (*const reaches)(const int16_t *) = __builtin_cpu_supports("avx2") ? run_reaches_avx2 : run_reaches;
#else
  int (*const reaches)(const int16_t *) = run_reaches;
#endif
  const int16_t *in = &x->i; /* the components of an array follow each other */
  struct tlg_convert_counts counts = {0, 0, 0};
  int16_t same[BLOCK];
  size_t left = 2 * n;

  while (left) {
    const size_t run = left < RUN ? left : RUN;
    size_t at, m;

    if (run < RUN || reaches(in)) {
      for (at = 0; at < run; at += m) {
        m = run - at < BLOCK ? run - at : BLOCK;
        from_cs16(same, in + at, m, &counts);
      }
    }
    in += run;
    left -= run;
  }
  return counts.full_scale;
}
