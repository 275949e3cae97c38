/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic in 128 bits for machines of 32 bits: what clang -fforce-enable-int128 calls and their runtime libraries do
 * not have. Works on halves of 64 bits, so that nothing here calls itself. */
#include <stdint.h>

typedef unsigned __int128 u128;
typedef __int128 s128;

union halves {
  u128 whole;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  struct {
    uint64_t low, high;
  } half;
#else
  struct {
    uint64_t high, low;
  } half;
#endif
};

u128 __udivmodti4(u128 a, u128 b, u128 *rest);
u128 __udivti3(u128 a, u128 b);
u128 __umodti3(u128 a, u128 b);
s128 __divti3(s128 a, s128 b);
s128 __modti3(s128 a, s128 b);
s128 __multi3(s128 a, s128 b);
u128 __ashlti3(u128 a, int n);
u128 __lshrti3(u128 a, int n);
s128 __ashrti3(s128 a, int n);

static union halves negated(union halves x)
{
  x.half.low = ~x.half.low + 1;
  x.half.high = ~x.half.high + (x.half.low == 0);
  return x;
}

u128 __ashlti3(u128 a, int n)
{
  union halves x = {a};

  if (n >= 64) {
    x.half.high = x.half.low << (n - 64);
    x.half.low = 0;
  } else if (n) {
    x.half.high = x.half.high << n | x.half.low >> (64 - n);
    x.half.low <<= n;
  }
  return x.whole;
}

u128 __lshrti3(u128 a, int n)
{
  union halves x = {a};

  if (n >= 64) {
    x.half.low = x.half.high >> (n - 64);
    x.half.high = 0;
  } else if (n) {
    x.half.low = x.half.low >> n | x.half.high << (64 - n);
    x.half.high >>= n;
  }
  return x.whole;
}

s128 __ashrti3(s128 a, int n)
{
  union halves x = {(u128)a};
  const uint64_t sign = x.half.high >> 63 ? UINT64_MAX : 0;

  if (n >= 64) {
    x.half.low = n == 64 ? x.half.high : x.half.high >> (n - 64) | sign << (128 - n);
    x.half.high = sign;
  } else if (n) {
    x.half.low = x.half.low >> n | x.half.high << (64 - n);
    x.half.high = x.half.high >> n | sign << (64 - n);
  }
  return (s128)x.whole;
}

static union halves product(uint64_t a, uint64_t b)
{
  const uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
  const uint64_t low = a0 * b0, middle = a1 * b0 + (low >> 32), other = a0 * b1 + (uint32_t)middle;
  union halves x;

  x.half.low = other << 32 | (uint32_t)low;
  x.half.high = a1 * b1 + (middle >> 32) + (other >> 32);
  return x;
}

s128 __multi3(s128 a, s128 b)
{
  const union halves x = {(u128)a}, y = {(u128)b};
  union halves z = product(x.half.low, y.half.low);

  z.half.high += x.half.low * y.half.high + x.half.high * y.half.low;
  return (s128)z.whole;
}

/* Long division, a bit at a time. */
u128 __udivmodti4(u128 a, u128 b, u128 *rest)
{
  const union halves x = {a}, d = {b};
  union halves q, r;
  int k;

  q.half.low = q.half.high = r.half.low = r.half.high = 0;
  if (!x.half.high && !d.half.high) {
    q.half.low = x.half.low / d.half.low;
    r.half.low = x.half.low % d.half.low;
  } else {
    for (k = 127; k >= 0; k--) {
      const uint64_t out = r.half.high >> 63, bit = (k >= 64 ? x.half.high >> (k - 64) : x.half.low >> k) & 1;

      r.half.high = r.half.high << 1 | r.half.low >> 63;
      r.half.low = r.half.low << 1 | bit;
      if (out || r.half.high > d.half.high || (r.half.high == d.half.high && r.half.low >= d.half.low)) {
        r.half.high -= d.half.high + (r.half.low < d.half.low);
        r.half.low -= d.half.low;
        if (k >= 64) {
          q.half.high |= (uint64_t)1 << (k - 64);
        } else {
          q.half.low |= (uint64_t)1 << k;
        }
      }
    }
  }
  if (rest) {
    *rest = r.whole;
  }
  return q.whole;
}

u128 __udivti3(u128 a, u128 b)
{
  return __udivmodti4(a, b, 0);
}

u128 __umodti3(u128 a, u128 b)
{
  u128 rest;

  __udivmodti4(a, b, &rest);
  return rest;
}

s128 __divti3(s128 a, s128 b)
{
  union halves x = {(u128)a}, y = {(u128)b}, q;
  const int minus = (int)((x.half.high ^ y.half.high) >> 63);

  x = x.half.high >> 63 ? negated(x) : x;
  y = y.half.high >> 63 ? negated(y) : y;
  q.whole = __udivmodti4(x.whole, y.whole, 0);
  return (s128)(minus ? negated(q) : q).whole;
}

s128 __modti3(s128 a, s128 b)
{
  union halves x = {(u128)a}, y = {(u128)b}, r;
  const int minus = (int)(x.half.high >> 63);

  x = x.half.high >> 63 ? negated(x) : x;
  y = y.half.high >> 63 ? negated(y) : y;
  __udivmodti4(x.whole, y.whole, &r.whole);
  return (s128)(minus ? negated(r) : r).whole;
}
