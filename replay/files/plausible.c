/* SPDX-License-Identifier: Apache-2.0 */
/* Whether samples look like what their label says: a wrong label gives wild numbers, or numbers that are tame as
 * another type. It only warns. */
#include "reader.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define VALUES 4096 /* components looked at */
#define ENOUGH 256

/* What a run of components read as floats looks like. */
struct look {
  size_t n, nonzero, wild; /* wild: not finite, or beyond 1e6 */
  double largest;          /* absolute value, wild ones but infinity included */
  double spread;           /* standard deviation of the exponents (octaves) of those neither zero nor wild */
};

static struct look look_at(const uint8_t *bytes, size_t n_bytes, enum tlg_format format, int big_endian)
{
  const size_t size = tlg_format_size(format) / 2;
  struct look look = {0, 0, 0, 0, 0};
  double sum = 0, squares = 0, counted;
  size_t i, k;

  look.n = n_bytes / size < VALUES ? n_bytes / size : VALUES;
  for (i = 0; i < look.n; i++) {
    uint64_t bits = 0;
    uint32_t bits32;
    double x;
    float f;

    for (k = 0; k < size; k++) {
      bits = bits << 8 | bytes[i * size + (big_endian ? k : size - 1 - k)];
    }
    if (format == TLG_FORMAT_CF32) {
      bits32 = (uint32_t)bits;
      memcpy(&f, &bits32, sizeof f);
      x = fabs((double)f);
    } else {
      memcpy(&x, &bits, sizeof x);
      x = fabs(x);
    }
    look.nonzero += x != 0;
    if (x < INFINITY && x > look.largest) {
      look.largest = x;
    }
    if (!(x <= 1e6)) {
      look.wild++;
    } else if (x != 0) {
      int exponent;

      frexp(x, &exponent);
      sum += exponent;
      squares += (double)exponent * exponent;
    }
  }
  counted = (double)(look.nonzero - look.wild);
  if (look.nonzero > look.wild) {
    look.spread = sqrt(fabs(squares / counted - sum / counted * (sum / counted)));
  }
  return look;
}

/* Floats as a receiver writes them: none wild, and within a few octaves (noise: 1.6). Floats read as doubles spread
 * eight times as far, as three bits of the fraction are taken for the exponent's. */
static int tame(const struct look *look)
{
  return look->n >= ENOUGH && look->wild == 0 && look->nonzero > look->n / 2 && look->largest <= 100 &&
         look->largest >= 1e-5 && look->spread < 5;
}

void tlg_reader_check_values(struct tlg_reader *r, const uint8_t *bytes, size_t n)
{
  const enum tlg_format format = r->info.format;
  const int big = r->info.big_endian;
  const struct look f32 = look_at(bytes, n, TLG_FORMAT_CF32, big), f64 = look_at(bytes, n, TLG_FORMAT_CF64, big);
  const char *const name = tlg_format_name(format);
  const struct look *own = format == TLG_FORMAT_CF32 ? &f32 : format == TLG_FORMAT_CF64 ? &f64 : NULL;

  if (own) {
    /* Nothing but NaN and infinities says nothing of another type. */
    if (own->n < ENOUGH || own->nonzero == 0 || own->largest == 0) {
      return;
    }
    if (own->wild > own->n / 64 || (own->wild && own->largest > 1e12) || own->largest < 1e-12) {
      const char *other = format == TLG_FORMAT_CF32 && tame(&f64)   ? "cf64"
                          : format == TLG_FORMAT_CF64 && tame(&f32) ? "cf32"
                                                                    : "whole numbers (cs16?)";

      tlg_reader_hint(r,
                      "values up to %.1e are not plausible for %s: the bytes look like %s; --format changes the type",
                      own->largest, name, other);
    } else if (format == TLG_FORMAT_CF64 && own->spread > 6 && tame(&f32)) {
      tlg_reader_hint(r, "the values are not plausible for cf64: the bytes look like cf32; --format changes the type");
    } else if (own->largest > 64 && !(r->cfg.full_scale > 0)) {
      tlg_reader_hint(r,
                      "values up to %.6g are far above full scale, which is 1; --full-scale declares another (32768?)",
                      own->largest);
    }
  } else if (tlg_format_size(format) <= 8) {
    /* Whole numbers that all happen to be tame floats are floats. */
    if (tame(&f64)) {
      tlg_reader_hint(r, "the bytes look like cf64, not %s; --format changes the type", name);
    } else if (tame(&f32)) {
      tlg_reader_hint(r, "the bytes look like cf32, not %s; --format changes the type", name);
    }
  }
}
