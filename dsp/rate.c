/* SPDX-License-Identifier: Apache-2.0 */
/* Rates as exact rationals: parsing, matching, and instants computed from sample numbers. */
#include "gcd.h"
#include "taplag.h"

#include <stdio.h>

typedef tlg_u128 u128;

static int reduce(struct tlg_rate *rate, u128 num, u128 den)
{
  u128 g;

  if (!num || !den) {
    return TLG_EINVAL;
  }
  g = tlg_gcd128(num, den);
  num /= g;
  den /= g;
  if (num > UINT64_MAX || den > UINT64_MAX) {
    return TLG_EINVAL;
  }
  rate->num = (uint64_t)num;
  rate->den = (uint64_t)den;
  return TLG_OK;
}

int tlg_rate_make(struct tlg_rate *rate, uint64_t num, uint64_t den)
{
  return rate ? reduce(rate, num, den) : TLG_EINVAL;
}

static int is_digit(char c)
{
  return c >= '0' && c <= '9';
}

/* Digits with an optional point and exponent, as num / den. Returns the first character not taken, NULL on error. */
static const char *decimal(const char *s, u128 *num, u128 *den)
{
  const u128 limit = (u128)1 << 90;
  int digits = 0, point = 0, exponent = 0, negative = 0;

  *num = 0;
  *den = 1;
  for (;; s++) {
    if (*s == '.' && !point) {
      point = 1;
    } else if (is_digit(*s)) {
      *num = *num * 10 + (u128)(*s - '0');
      *den *= point ? 10 : 1;
      digits++;
      if (*num > limit || *den > limit) {
        return NULL;
      }
    } else {
      break;
    }
  }
  if (!digits) {
    return NULL;
  }
  if ((*s == 'e' || *s == 'E') && (is_digit(s[1]) || ((s[1] == '+' || s[1] == '-') && is_digit(s[2])))) {
    s++;
    if (*s == '+' || *s == '-') {
      negative = *s++ == '-';
    }
    for (; is_digit(*s); s++) {
      exponent = exponent * 10 + (*s - '0');
      if (exponent > 18) {
        return NULL;
      }
    }
    for (; exponent; exponent--) {
      *(negative ? den : num) *= 10;
      if (*num > limit || *den > limit) {
        return NULL;
      }
    }
  }
  return s;
}

int tlg_rate_parse(struct tlg_rate *rate, const char *text)
{
  u128 num, den, den2 = 1, num2 = 1;
  const char *s;
  uint64_t scale = 1;

  if (!rate || !text || !(s = decimal(text, &num, &den))) {
    return TLG_EINVAL;
  }
  if (*s == 'k' || *s == 'K' || *s == 'M' || *s == 'G') {
    scale = *s == 'M' ? 1000000 : *s == 'G' ? 1000000000 : 1000;
    s++;
  }
  if (*s == '/') {
    if (!(s = decimal(s + 1, &num2, &den2)) || num2 > UINT64_MAX || den2 > UINT64_MAX) {
      return TLG_EINVAL;
    }
  }
  if (s[0] == 'H' && s[1] == 'z') {
    s += 2;
  } else if (s[0] == 's' && s[1] == 'p' && s[2] == 's') {
    s += 3;
  }
  if (*s) {
    return TLG_EINVAL;
  }
  /* Bring each fraction down first, so that the products stay inside 128 bits. */
  {
    const u128 g1 = tlg_gcd128(num, den), g2 = tlg_gcd128(num2, den2);

    if (!num || !num2) {
      return TLG_EINVAL;
    }
    num /= g1;
    den /= g1;
    num2 /= g2;
    den2 /= g2;
    if (num > UINT64_MAX || den > UINT64_MAX) {
      return TLG_EINVAL;
    }
    {
      const u128 g3 = tlg_gcd128(scale, den);

      den /= g3;
      scale /= (uint64_t)g3;
    }
    if (num > UINT64_MAX / scale || den2 > UINT64_MAX || num2 > UINT64_MAX) {
      return TLG_EINVAL;
    }
    num *= scale;
  }
  return reduce(rate, num * den2, den * num2);
}

double tlg_rate_hz(const struct tlg_rate *rate)
{
  if (rate->den == 0) {
    return 0.0;
  }
  if (rate->num < ((uint64_t)1 << 53) && rate->den < ((uint64_t)1 << 53)) {
    return (double)rate->num / (double)rate->den;
  }
  /* Whole part and remainder apart keep the error at one rounding in practice. */
  return (double)(rate->num / rate->den) + (double)(rate->num % rate->den) / (double)rate->den;
}

char *tlg_rate_text(const struct tlg_rate *rate, char *text, size_t size)
{
  const double hz = tlg_rate_hz(rate);

  if (rate->den > 1) {
    snprintf(text, size, "%.9g Msps (%llu/%llu)", hz / 1e6, (unsigned long long)rate->num,
             (unsigned long long)rate->den);
  } else {
    snprintf(text, size, "%.12g Msps", hz / 1e6);
  }
  return text;
}

int tlg_rate_ratio(const struct tlg_rate *in, const struct tlg_rate *out, uint32_t *up, uint32_t *down)
{
  u128 num, den, g;

  if (!in || !out || !in->num || !in->den || !out->num || !out->den) {
    return TLG_EINVAL;
  }
  num = (u128)out->num * in->den;
  den = (u128)out->den * in->num;
  g = tlg_gcd128(num, den);
  num /= g;
  den /= g;
  if (num > UINT32_MAX || den > UINT32_MAX) {
    return TLG_EINVAL;
  }
  *up = (uint32_t)num;
  *down = (uint32_t)den;
  return num <= 65535 && den <= 65535 ? TLG_OK : TLG_EINVAL;
}

int tlg_rate_match(double in_hz, const struct tlg_rate *out, struct tlg_rate *in)
{
  double target, x;
  uint64_t p0 = 0, q0 = 1, p1 = 1, q1 = 0;
  int i;

  if (!out || !out->den || !in || !(in_hz > 0) || !(in_hz < 1e18)) {
    return TLG_EINVAL;
  }
  target = tlg_rate_hz(out) / in_hz;
  x = target;
  if (!(x < 65536.0) || !(x > 1.0 / 65536.0)) {
    return TLG_EINVAL;
  }
  for (i = 0; i < 40; i++) { /* continued fraction: the first convergent inside the tolerance is the simplest */
    const uint64_t a = (uint64_t)x;
    const uint64_t p2 = a * p1 + p0, q2 = a * q1 + q0;
    double error;

    if (p2 > 65535 || q2 > 65535) {
      return TLG_EINVAL;
    }
    p0 = p1;
    q0 = q1;
    p1 = p2;
    q1 = q2;
    if (p1 && q1) {
      error = (double)p1 / (double)q1 / target - 1.0;
      if (error < 1e-9 && error > -1e-9) {
        return reduce(in, (u128)out->num * q1, (u128)out->den * p1);
      }
    }
    if (!(x - (double)a > 1e-12)) {
      return TLG_EINVAL;
    }
    x = 1.0 / (x - (double)a);
  }
  return TLG_EINVAL;
}

uint64_t tlg_instant_ps(uint64_t n, const struct tlg_rate *rate)
{
  const u128 samples = (u128)n * rate->den;
  const u128 whole = samples / rate->num, rest = samples % rate->num;

  return (uint64_t)(whole * 1000000000000u + rest * 1000000000000u / rate->num);
}
