/* SPDX-License-Identifier: Apache-2.0 */
/* LTE's sequences, codes and maps against the standard's definitions, written out a second, plain way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tlg_lte.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const unsigned widths[6] = {6, 15, 25, 50, 75, 100};
static uint32_t word = 1;

static unsigned draw(unsigned n)
{
  word = word * 1664525u + 1013904223u;
  return (word >> 8) % n;
}

/* ---- sequences ---- */

/* TS 36.211, 7.2: both registers from their beginning, one bit at a time. */
static void plain_gold(uint32_t c_init, unsigned *c, size_t n)
{
  unsigned *x1 = calloc(n + 1700, sizeof *x1), *x2 = calloc(n + 1700, sizeof *x2);
  size_t i;

  x1[0] = 1;
  for (i = 0; i < 31; i++) {
    x2[i] = c_init >> i & 1;
  }
  for (i = 0; i + 31 < n + 1700; i++) {
    x1[i + 31] = x1[i + 3] ^ x1[i];
    x2[i + 31] = x2[i + 3] ^ x2[i + 2] ^ x2[i + 1] ^ x2[i];
  }
  for (i = 0; i < n; i++) {
    c[i] = x1[i + 1600] ^ x2[i + 1600];
  }
  free(x1);
  free(x2);
}

static void gold(void **state)
{
  static const uint32_t starts[] = {0, 1, 0x7fffffff, 0x12345678, 503, 0x2aaaaaaa};
  enum { N = 500 };
  unsigned want[N];
  uint8_t got[N];
  size_t s, first, i;
  int round;

  (void)state;
  for (s = 0; s < sizeof starts / sizeof *starts; s++) {
    plain_gold(starts[s], want, N);
    for (round = 0; round < 60; round++) {
      const size_t n = round < 30 ? (size_t)round : draw(N - 100);

      first = draw(100);
      memset(got, 9, sizeof got);
      tlg_lte_gold(starts[s], first, got, n);
      for (i = 0; i < n; i++) {
        assert_int_equal(got[i], want[first + i]);
      }
      assert_int_equal(got[n], 9); /* nothing beyond */
    }
  }
}

static void primary(void **state)
{
  static const unsigned roots[3] = {25, 29, 34};
  tlg_cf64 d[3][62];
  unsigned r, n, lag;

  (void)state;
  for (r = 0; r < 3; r++) {
    tlg_lte_pss(r, d[r]);
    for (n = 0; n < 62; n++) {
      const double m = n < 31 ? n * (n + 1.0) : (n + 1.0) * (n + 2.0),
                   turn = -3.14159265358979323846 * roots[r] * m / 63;

      assert_true(fabs(d[r][n].i - cos(turn)) < 1e-11 && fabs(d[r][n].q - sin(turn)) < 1e-11);
    }
  }
  for (n = 0; n < 62; n++) { /* 29 + 34 = 63: conjugates */
    assert_true(fabs(d[1][n].i - d[2][n].i) < 1e-14 && fabs(d[1][n].q + d[2][n].q) < 1e-14);
  }
  /* With its middle put back a Zadoff-Chu sequence is white: no cyclic correlation at any lag. */
  for (r = 0; r < 3; r++) {
    double re[63], im[63];

    for (n = 0; n < 63; n++) {
      const double turn = -3.14159265358979323846 * roots[r] * 31 * 32 / 63;

      re[n] = n == 31 ? cos(turn) : d[r][n - (n > 31)].i;
      im[n] = n == 31 ? sin(turn) : d[r][n - (n > 31)].q;
    }
    for (lag = 1; lag < 63; lag++) {
      double a = 0, b = 0;

      for (n = 0; n < 63; n++) {
        a += re[n] * re[(n + lag) % 63] + im[n] * im[(n + lag) % 63];
        b += im[n] * re[(n + lag) % 63] - re[n] * im[(n + lag) % 63];
      }
      assert_true(fabs(a) < 1e-11 && fabs(b) < 1e-11);
    }
  }
}

/* TS 36.211, 6.11.2.1. */
static void plain_sss(unsigned id, int second, int *d)
{
  int xs[31] = {0, 0, 0, 0, 1}, xc[31] = {0, 0, 0, 0, 1}, xz[31] = {0, 0, 0, 0, 1};
  const unsigned n1 = id / 3, n2 = id % 3, qp = n1 / 30, q = (n1 + qp * (qp + 1) / 2) / 30, mp = n1 + q * (q + 1) / 2;
  const unsigned m0 = mp % 31, m1 = (m0 + mp / 31 + 1) % 31;
  unsigned i, n;

  for (i = 0; i + 5 < 31; i++) {
    xs[i + 5] = (xs[i + 2] + xs[i]) % 2;
    xc[i + 5] = (xc[i + 3] + xc[i]) % 2;
    xz[i + 5] = (xz[i + 4] + xz[i + 2] + xz[i + 1] + xz[i]) % 2;
  }
  for (n = 0; n < 31; n++) {
    const int s0 = 1 - 2 * xs[(n + m0) % 31], s1 = 1 - 2 * xs[(n + m1) % 31];
    const int c0 = 1 - 2 * xc[(n + n2) % 31], c1 = 1 - 2 * xc[(n + n2 + 3) % 31];
    const int z0 = 1 - 2 * xz[(n + m0 % 8) % 31], z1 = 1 - 2 * xz[(n + m1 % 8) % 31];

    d[2 * n] = second ? s1 * c0 : s0 * c0;
    d[2 * n + 1] = second ? s0 * c1 * z1 : s1 * c1 * z0;
  }
}

static void secondary(void **state)
{
  static int8_t all[2 * 504][62];
  unsigned id, i, n;
  int second;

  (void)state;
  for (id = 0; id < 504; id++) {
    for (second = 0; second < 2; second++) {
      int want[62];

      plain_sss(id, second, want);
      tlg_lte_sss(id, second ? 5 : 0, all[2 * id + (unsigned)second]);
      for (n = 0; n < 62; n++) {
        assert_int_equal(all[2 * id + (unsigned)second][n], want[n]);
      }
    }
  }
  for (id = 0; id < 2 * 504; id++) {
    for (i = 0; i < id; i++) {
      assert_true(memcmp(all[id], all[i], 62) != 0);
    }
  }
}

static void reference_signals(void **state)
{
  static const unsigned ids[] = {0, 1, 5, 6, 167, 360, 503};
  tlg_cf64 values[200], narrow[12];
  unsigned c[440], w, i, sf, l, port, m;

  (void)state;
  for (i = 0; i < sizeof ids / sizeof *ids; i++) {
    for (sf = 0; sf < 10; sf += 3) {
      for (l = 0; l < 14; l++) {
        const unsigned ns = 2 * sf + l / 7, ls = l % 7;

        plain_gold(1024 * (7 * (ns + 1) + ls + 1) * (2 * ids[i] + 1) + 2 * ids[i] + 1, c, 440);
        for (port = 0; port < 4; port++) {
          const int has = port < 2 ? ls == 0 || ls == 4 : ls == 1;
          const unsigned v = port == 0   ? (ls == 0 ? 0 : 3)
                             : port == 1 ? (ls == 0 ? 3 : 0)
                             : port == 2 ? 3 * (ns % 2)
                                         : 3 + 3 * (ns % 2);

          for (w = 0; w < 6; w++) {
            unsigned first = 99;
            const unsigned n = tlg_lte_crs(ids[i], widths[w], port, sf, l, &first, values);

            assert_int_equal(n, has ? 2 * widths[w] : 0);
            if (!has) {
              assert_int_equal(first, 99);
              continue;
            }
            assert_int_equal(first, (v + ids[i] % 6) % 6);
            for (m = 0; m < n; m++) {
              const unsigned mp = m + 110 - widths[w];

              assert_true(fabs(values[m].i - (1 - 2 * (double)c[2 * mp]) / sqrt(2)) < 1e-15);
              assert_true(fabs(values[m].q - (1 - 2 * (double)c[2 * mp + 1]) / sqrt(2)) < 1e-15);
            }
            (void)tlg_lte_crs(ids[i], 6, port, sf, l, &first, narrow);
            assert_memory_equal(narrow, values + widths[w] - 6, sizeof narrow);
          }
        }
      }
    }
  }
}

/* ---- constellations ---- */

static double one_axis(unsigned bits, const int *b)
{
  switch (bits) {
  case 2:
    return (1 - 2 * b[0]) / sqrt(2);
  case 4:
    return (1 - 2 * b[0]) * (2 - (1 - 2 * b[2])) / sqrt(10);
  case 6:
    return (1 - 2 * b[0]) * (4 - (1 - 2 * b[2]) * (2 - (1 - 2 * b[4]))) / sqrt(42);
  default:
    return (1 - 2 * b[0]) * (8 - (1 - 2 * b[2]) * (4 - (1 - 2 * b[4]) * (2 - (1 - 2 * b[6])))) / sqrt(170);
  }
}

static void constellations(void **state)
{
  tlg_cf64 points[256], out[2];
  unsigned bits, i, j;

  (void)state;
  for (bits = 2; bits <= 8; bits += 2) {
    assert_int_equal(tlg_lte_constellation(bits, points), TLG_OK);
    for (i = 0; i < 1u << bits; i++) {
      uint8_t twice[16];
      int b[9] = {0};

      for (j = 0; j < bits; j++) {
        b[j] = i >> (bits - 1 - j) & 1;
        twice[j] = twice[bits + j] = (uint8_t)b[j];
      }
      assert_true(fabs(points[i].i - one_axis(bits, b)) < 1e-15 && fabs(points[i].q - one_axis(bits, b + 1)) < 1e-15);
      assert_int_equal(tlg_lte_modulate(bits, twice, 2, out), TLG_OK);
      assert_memory_equal(&out[1], &points[i], sizeof *out);
    }
  }
  assert_int_equal(tlg_lte_constellation(1, points), TLG_OK);
  assert_true(points[0].i > 0 && points[0].i == points[0].q && points[1].i == -points[0].i);
  assert_int_equal(tlg_lte_constellation(3, points), TLG_EINVAL);
  assert_int_equal(tlg_lte_constellation(10, points), TLG_EINVAL);
}

/* A receiver that knows both channels takes the symbols out again: the matrix is orthogonal. */
static void diversity(void **state)
{
  const tlg_cf64 d[2] = {{0.3, -0.7}, {-1.1, 0.2}}, h0 = {0.6, 0.8}, h1 = {-0.5, 0.25};
  const double power = h0.i * h0.i + h0.q * h0.q + h1.i * h1.i + h1.q * h1.q;
  tlg_cf64 a[2], b[2], y[2], x;
  int i;

  (void)state;
  tlg_lte_sfbc(d, 2, a, b);
  for (i = 0; i < 2; i++) {
    y[i].i = h0.i * a[i].i - h0.q * a[i].q + h1.i * b[i].i - h1.q * b[i].q;
    y[i].q = h0.i * a[i].q + h0.q * a[i].i + h1.i * b[i].q + h1.q * b[i].i;
  }
  /* x0 = sqrt(2) (conj(h0) y0 + h1 conj(y1)) / power, x1 = sqrt(2) (conj(h0) y1 - h1 conj(y0)) / power */
  x.i = sqrt(2) * (h0.i * y[0].i + h0.q * y[0].q + h1.i * y[1].i + h1.q * y[1].q) / power;
  x.q = sqrt(2) * (h0.i * y[0].q - h0.q * y[0].i + h1.q * y[1].i - h1.i * y[1].q) / power;
  assert_true(fabs(x.i - d[0].i) < 1e-15 && fabs(x.q - d[0].q) < 1e-15);
  x.i = sqrt(2) * (h0.i * y[1].i + h0.q * y[1].q - h1.i * y[0].i - h1.q * y[0].q) / power;
  x.q = sqrt(2) * (h0.i * y[1].q - h0.q * y[1].i - h1.q * y[0].i + h1.i * y[0].q) / power;
  assert_true(fabs(x.i - d[1].i) < 1e-15 && fabs(x.q - d[1].q) < 1e-15);
}

/* ---- codes ---- */

static void crcs(void **state)
{
  /* TS 36.212, 5.1.1: exponents of the polynomials; and the remainders of the ASCII string 123456789, as catalogues of
   * CRCs have them. */
  static const struct {
    enum tlg_lte_crc kind;
    unsigned size;
    int exponents[16];
    uint32_t check;
  } cases[] = {
      {TLG_LTE_CRC24A, 24, {23, 18, 17, 14, 11, 10, 7, 6, 5, 4, 3, 1, 0, -1}, 0xcde703},
      {TLG_LTE_CRC24B, 24, {23, 6, 5, 1, 0, -1}, 0x23ef52},
      {TLG_LTE_CRC16, 16, {12, 5, 0, -1}, 0x31c3},
      {TLG_LTE_CRC8, 8, {7, 4, 3, 1, 0, -1}, 0xea},
  };
  static const char text[] = "123456789";
  uint8_t bits[2100];
  size_t i;
  unsigned c, n, k;

  (void)state;
  for (c = 0; c < 4; c++) {
    for (i = 0; i < 9; i++) {
      tlg_lte_put_bits(bits + 8 * i, (uint8_t)text[i], 8);
    }
    assert_int_equal(tlg_lte_crc(cases[c].kind, bits, 72), cases[c].check);
    assert_int_equal(tlg_lte_crc_size(cases[c].kind), cases[c].size);
    for (n = 1; n < 2048; n += n < 70 ? 1 : 397) { /* both sides of where the table begins */
      uint8_t rest[2100] = {0};

      for (k = 0; k < n; k++) {
        bits[k] = rest[k] = (uint8_t)draw(2);
      }
      for (k = 0; k < n; k++) { /* division, coefficient by coefficient */
        const int *e;

        for (e = cases[c].exponents; rest[k] && *e >= 0; e++) {
          rest[k + cases[c].size - (unsigned)*e] ^= 1;
        }
      }
      assert_int_equal(tlg_lte_crc(cases[c].kind, bits, n), tlg_lte_get_bits(rest + n, cases[c].size));
    }
  }
}

static const unsigned conv_order[32] = {1, 17, 9, 25, 5, 21, 13, 29, 3, 19, 11, 27, 7, 23, 15, 31,
                                        0, 16, 8, 24, 4, 20, 12, 28, 2, 18, 10, 26, 6, 22, 14, 30};

/* n columns of 32 filled row by row behind dummies (-1), read by columns in an order: what stands where. */
static unsigned sub_block(unsigned n, const unsigned *order, int first, int *out)
{
  const unsigned rows = (n + 31) / 32, dummies = rows * 32 - n;
  unsigned c, r;

  for (c = 0; c < 32; c++) {
    for (r = 0; r < rows; r++) {
      const unsigned at = r * 32 + order[c];

      *out++ = at < dummies ? -1 : first + (int)(at - dummies);
    }
  }
  return rows * 32;
}

static void tail_biting(void **state)
{
  /* generators 133, 171, 165: which delays count */
  static const int taps[3][7] = {{1, 0, 1, 1, 0, 1, 1}, {1, 1, 1, 1, 0, 0, 1}, {1, 1, 1, 0, 1, 0, 1}};
  static const unsigned sizes[] = {6, 7, 31, 32, 33, 40, 44, 60};
  size_t s;

  (void)state;
  for (s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    const unsigned n = sizes[s];
    uint8_t bits[64], d[192];
    int w[3 * 64];
    uint32_t index[1920];
    unsigned i, j, k, total = 0, out = 0;

    for (i = 0; i < n; i++) {
      bits[i] = (uint8_t)draw(2);
    }
    tlg_lte_conv_encode(bits, n, d);
    for (j = 0; j < 3; j++) {
      for (i = 0; i < n; i++) {
        int sum = 0;

        for (k = 0; k < 7; k++) {
          sum ^= taps[j][k] & bits[(i + n - k % n) % n];
        }
        assert_int_equal(d[j * n + i], sum);
      }
      total += sub_block(n, conv_order, (int)(j * n), w + total);
    }
    assert_int_equal(tlg_lte_conv_match(n, index, 1920), TLG_OK);
    for (i = 0; out < 1920; i = i + 1 == total ? 0 : i + 1) {
      if (w[i] >= 0) {
        assert_int_equal(index[out++], w[i]);
      }
    }
  }
  assert_int_equal(tlg_lte_conv_match(0, &(uint32_t){0}, 1), TLG_EINVAL);
}

static void interleavers(void **state)
{
  /* some rows of TS 36.212, table 5.1.3-3 */
  static const unsigned rows[][3] = {{40, 3, 10},     {48, 7, 12},     {512, 31, 64},    {528, 17, 66},
                                     {1024, 31, 64},  {1056, 17, 66},  {2048, 31, 64},   {2112, 17, 66},
                                     {5824, 89, 182}, {6080, 47, 190}, {6144, 263, 480}, {3136, 13, 28},
                                     {4096, 31, 64},  {816, 127, 102}, {1504, 49, 846},  {4352, 477, 408}};
  uint16_t pi[6144];
  unsigned k, n, sizes = 0, below;
  size_t r;

  (void)state;
  for (k = 1; k <= 6200; k++) {
    const int st = tlg_lte_qpp(k, pi);
    uint8_t seen[6144] = {0};

    if (st) {
      assert_int_equal(st, TLG_EINVAL);
      continue;
    }
    sizes++;
    assert_true(k % (k <= 512 ? 8 : k <= 1024 ? 16 : k <= 2048 ? 32 : 64) == 0);
    for (n = 0; n < k; n++) {
      assert_true(pi[n] < k && !seen[pi[n]]);
      seen[pi[n]] = 1;
      assert_true(n % 2 == pi[n] % 2); /* such interleavers keep the parity, as f1 is odd and f2 even */
    }
    assert_int_equal(tlg_lte_turbo_size(k, &below), k);
    assert_true(below < k);
  }
  assert_int_equal(sizes, 188);
  for (r = 0; r < sizeof rows / sizeof *rows; r++) {
    assert_int_equal(tlg_lte_qpp(rows[r][0], pi), TLG_OK);
    for (n = 0; n < rows[r][0]; n++) {
      if (pi[n] != ((uint64_t)rows[r][1] * n + (uint64_t)rows[r][2] * n * n) % rows[r][0]) {
        fail_msg("interleaver of %u", rows[r][0]);
      }
    }
  }
  assert_int_equal(tlg_lte_turbo_size(6145, NULL), 0);
  assert_int_equal(tlg_lte_turbo_size(1, &below), 40);
  assert_int_equal(below, 0);
}

/* The recursive encoder as a division: a(D) = u(D) / (1 + D^2 + D^3), parity = (1 + D + D^3) a. */
static void plain_constituent(const uint8_t *u, unsigned k, int *x, int *z)
{
  int a[6200] = {0}; /* a[i + 3] */
  unsigned i;

  for (i = 0; i < k + 3; i++) {
    const int feedback = a[i + 1] ^ a[i], in = i < k ? u[i] : feedback;

    a[i + 3] = in ^ feedback;
    x[i] = in;
    z[i] = a[i + 3] ^ a[i + 2] ^ a[i];
  }
  assert_int_equal(a[k + 3] | a[k + 4] | a[k + 5], 0); /* back at zero */
}

static void plain_turbo(const uint8_t *bits, unsigned k, uint8_t *d)
{
  static int x[2][6200], z[2][6200];
  uint16_t pi[6144];
  static uint8_t turned[6144];
  uint8_t *const d0 = d, *const d1 = d + k + 4, *const d2 = d + 2 * (k + 4);
  unsigned i;

  assert_int_equal(tlg_lte_qpp(k, pi), TLG_OK);
  for (i = 0; i < k; i++) {
    turned[i] = bits[pi[i]];
  }
  plain_constituent(bits, k, x[0], z[0]);
  plain_constituent(turned, k, x[1], z[1]);
  for (i = 0; i < k; i++) {
    d0[i] = (uint8_t)x[0][i];
    d1[i] = (uint8_t)z[0][i];
    d2[i] = (uint8_t)z[1][i];
  }
  for (i = 0; i < 2; i++) { /* TS 36.212, 5.1.3.2.2, line by line */
    d0[k + 2 * i] = (uint8_t)x[i][k];
    d1[k + 2 * i] = (uint8_t)z[i][k];
    d2[k + 2 * i] = (uint8_t)x[i][k + 1];
    d0[k + 2 * i + 1] = (uint8_t)z[i][k + 1];
    d1[k + 2 * i + 1] = (uint8_t)x[i][k + 2];
    d2[k + 2 * i + 1] = (uint8_t)z[i][k + 2];
  }
}

static unsigned plain_match(unsigned k, unsigned fillers, unsigned rv, unsigned n_cb, int *index, size_t n_e)
{
  static const unsigned order[32] = {0, 16, 8, 24, 4, 20, 12, 28, 2, 18, 10, 26, 6, 22, 14, 30,
                                     1, 17, 9, 25, 5, 21, 13, 29, 3, 19, 11, 27, 7, 23, 15, 31};
  const unsigned n = k + 4, rows = (n + 31) / 32, part = 32 * rows, dummies = part - n;
  static int v[2][6200], w[3 * 6200];
  unsigned i, at;
  size_t out;

  (void)sub_block(n, order, 0, v[0]);
  (void)sub_block(n, order, (int)n, v[1]);
  for (i = 0; i < part; i++) {
    const unsigned from = (order[i / rows] + 32 * (i % rows) + 1) % part;

    w[i] = v[0][i] >= 0 && v[0][i] < (int)fillers ? -1 : v[0][i];
    w[part + 2 * i] = v[1][i] >= (int)n && v[1][i] < (int)(n + fillers) ? -1 : v[1][i];
    w[part + 2 * i + 1] = from < dummies ? -1 : (int)(2 * n + from - dummies);
  }
  n_cb = n_cb ? n_cb : 3 * part;
  at = rows * (2 * (unsigned)ceil(n_cb / (8.0 * rows)) * rv + 2);
  for (out = 0; out < n_e; at++) {
    if (w[at % n_cb] >= 0) {
      index[out++] = w[at % n_cb];
    }
  }
  return rows;
}

static void turbo(void **state)
{
  static const unsigned sizes[] = {40, 64, 512, 1056, 5824, 6144};
  static uint8_t bits[6144], d[3 * 6148], want[3 * 6148];
  static uint32_t index[20000];
  static int expected[20000];
  unsigned i, rv;
  size_t s;

  (void)state;
  for (s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    const unsigned k = sizes[s];

    for (i = 0; i < k; i++) {
      bits[i] = (uint8_t)draw(2);
    }
    assert_int_equal(tlg_lte_turbo_encode(bits, k, d), TLG_OK);
    plain_turbo(bits, k, want);
    assert_memory_equal(d, want, 3 * (k + 4));
    for (rv = 0; rv < 4; rv++) {
      const unsigned fillers = rv % 2 ? 24 : 0, n_cb = rv == 2 ? 2 * k : 0;
      const size_t n = rv == 3 ? 20000 : 2 * (size_t)k;

      assert_int_equal(tlg_lte_turbo_match(k, fillers, rv, n_cb, index, n), TLG_OK);
      (void)plain_match(k, fillers, rv, n_cb, expected, n);
      for (i = 0; i < n; i++) {
        if (index[i] != (uint32_t)expected[i]) {
          fail_msg("block %u, version %u: bit %u from %u, not %d", k, rv, i, index[i], expected[i]);
        }
      }
    }
  }
  assert_int_equal(tlg_lte_turbo_encode(bits, 41, d), TLG_EINVAL);
  assert_int_equal(tlg_lte_turbo_match(41, 0, 0, 0, index, 1), TLG_EINVAL);
  assert_int_equal(tlg_lte_turbo_match(40, 0, 4, 0, index, 1), TLG_EINVAL);
}

static void segments(void **state)
{
  struct tlg_lte_segments s;
  unsigned n;

  (void)state;
  for (n = 16; n < 100000; n += n < 7000 ? 8 : 328) {
    const unsigned b = n + 24, c = b <= 6144 ? 1 : (b + 6119) / 6120, total = c == 1 ? b : b + 24 * c;

    assert_int_equal(tlg_lte_segment(n, &s), TLG_OK);
    assert_int_equal(s.n, c);
    assert_int_equal(s.n_plus + s.n_minus, c);
    assert_int_equal(s.n_plus * s.k_plus + s.n_minus * s.k_minus, total + s.fillers);
    assert_int_equal(tlg_lte_turbo_size((total + c - 1) / c, NULL), s.k_plus);
    if (c > 1) {
      assert_true(s.k_minus < s.k_plus && s.fillers < s.k_plus - s.k_minus);
    }
  }
  assert_int_equal(tlg_lte_segment(75376, &s), TLG_OK);
  assert_true(s.n == 13 && s.k_plus == 5824 && s.n_plus == 13 && s.fillers == 0);
  assert_int_equal(tlg_lte_segment(0, &s), TLG_EINVAL);
  /* 7 bits in symbols of 2 for 3 blocks: shares grow at the end */
  assert_int_equal(tlg_lte_block_share(20, 3, 0, 2), 6);
  assert_int_equal(tlg_lte_block_share(20, 3, 1, 2), 6);
  assert_int_equal(tlg_lte_block_share(20, 3, 2, 2), 8);
}

/* The whole channel, block by block. */
static void shared_channel(void **state)
{
  static const struct {
    unsigned n, bits, layers, rv;
    size_t n_e;
  } cases[] = {{152, 2, 1, 0, 800},      {20, 2, 1, 0, 300},      {75376, 6, 1, 0, 90000},  {6200, 4, 1, 1, 12000},
               {97896, 8, 1, 0, 120000}, {36696, 6, 2, 0, 43200}, {40000, 2, 1, 2, 100000}, {10000, 4, 2, 3, 22000}};
  static uint8_t block[100000], with_crc[100024], e[120000], code[6144], d[3 * 6148];
  static int index[120000];
  size_t t;

  (void)state;
  for (t = 0; t < sizeof cases / sizeof *cases; t++) {
    struct tlg_lte_segments s;
    unsigned i, r, used = 0, done = 0;

    for (i = 0; i < cases[t].n; i++) {
      block[i] = (uint8_t)draw(2);
    }
    assert_int_equal(
        tlg_lte_dlsch_encode(block, cases[t].n, cases[t].bits, cases[t].layers, cases[t].rv, e, cases[t].n_e), TLG_OK);
    assert_int_equal(tlg_lte_segment(cases[t].n, &s), TLG_OK);
    memcpy(with_crc, block, cases[t].n);
    tlg_lte_put_bits(with_crc + cases[t].n, tlg_lte_crc(TLG_LTE_CRC24A, block, cases[t].n), 24);
    for (r = 0; r < s.n; r++) {
      const unsigned k = r < s.n_minus ? s.k_minus : s.k_plus, fillers = r ? 0 : s.fillers;
      const unsigned payload = k - fillers - (s.n > 1 ? 24 : 0), unit = cases[t].bits * cases[t].layers;
      const unsigned symbols = (unsigned)(cases[t].n_e / unit), longer = symbols % s.n;
      const unsigned share = unit * (symbols / s.n + (r + longer >= s.n));

      memset(code, 0, fillers);
      memcpy(code + fillers, with_crc + used, payload);
      used += payload;
      if (s.n > 1) {
        tlg_lte_put_bits(code + k - 24, tlg_lte_crc(TLG_LTE_CRC24B, code, k - 24), 24);
      }
      plain_turbo(code, k, d);
      (void)plain_match(k, fillers, cases[t].rv, 0, index, share);
      for (i = 0; i < share; i++) {
        if (e[done + i] != d[index[i]]) {
          fail_msg("case %zu, block %u, bit %u", t, r, i);
        }
      }
      done += share;
    }
    assert_int_equal(used, cases[t].n + 24);
    assert_int_equal(done, cases[t].n_e);
  }
  assert_int_equal(tlg_lte_dlsch_encode(block, 100, 2, 1, 0, e, 301), TLG_EINVAL);
}

static void block_sizes(void **state)
{
  /* TS 36.213, table 7.1.7.2.1-1 */
  static const unsigned some[][3] = {{0, 6, 152},     {9, 15, 2344},    {10, 25, 4392},   {15, 50, 15264},
                                     {21, 75, 37888}, {26, 100, 75376}, {26, 50, 36696},  {33, 100, 97896},
                                     {4, 100, 7224},  {13, 100, 25456}, {24, 100, 61664}, {33, 6, 5992}};
  unsigned i, w, bits, i_tbs, mcs;

  (void)state;
  for (i = 0; i < sizeof some / sizeof *some; i++) {
    assert_int_equal(tlg_lte_tbs(some[i][0], some[i][1]), some[i][2]);
  }
  for (i = 0; i < 34; i++) {
    for (w = 0; w < 6; w++) {
      const unsigned n = tlg_lte_tbs(i, widths[w]);

      assert_true(n % 8 == 0);
      assert_true(i == 0 || i == 27 || n > tlg_lte_tbs(i - 1, widths[w])); /* 27 lies between 25 and 26 */
      assert_true(w == 0 || n > tlg_lte_tbs(i, widths[w - 1]));
    }
  }
  assert_int_equal(tlg_lte_tbs(34, 6), 0);
  assert_int_equal(tlg_lte_tbs(0, 7), 0);
  for (mcs = 0; mcs < 29; mcs++) {
    assert_int_equal(tlg_lte_mcs(mcs, 0, &bits, &i_tbs), TLG_OK);
    assert_int_equal(bits, mcs < 10 ? 2 : mcs < 17 ? 4 : 6);
    assert_int_equal(i_tbs, mcs - (mcs >= 10) - (mcs >= 17));
  }
  assert_int_equal(tlg_lte_mcs(29, 0, &bits, &i_tbs), TLG_EINVAL);
  assert_int_equal(tlg_lte_mcs(27, 1, &bits, &i_tbs), TLG_OK);
  assert_true(bits == 8 && i_tbs == 33);
  assert_int_equal(tlg_lte_mcs(28, 1, &bits, &i_tbs), TLG_EINVAL);
}

/* ---- MIB and control information ---- */

static void spell(const char *text, const uint8_t *bits)
{
  size_t i, n = 0;

  for (i = 0; text[i]; i++) {
    if (text[i] != ' ' && text[i] - '0' != bits[n++]) {
      fail_msg("bit %zu is %d, wanted %s", n - 1, bits[n - 1], text);
    }
  }
}

static void information_block(void **state)
{
  static const struct {
    struct tlg_lte_mib mib;
    const char *bits; /* bandwidth, PHICH duration and resource, upper eight bits of the frame number, spare */
  } cases[] = {
      {{.prb = 100, .phich_resource = 2, .sfn = 724}, "101 0 10 10110101 0000000000"},
      {{.prb = 50, .phich_resource = 2, .sfn = 0}, "011 0 10 00000000 0000000000"},
      {{.prb = 6, .phich_resource = 0, .phich_extended = 1, .sfn = 1023}, "000 1 00 11111111 0000000000"},
      {{.prb = 15, .phich_resource = 1, .sfn = 7, .spare = 1}, "001 0 01 00000001 0000000001"},
      {{.prb = 25, .phich_resource = 3, .sfn = 512, .spare = 512}, "010 0 11 10000000 1000000000"},
      {{.prb = 75, .phich_resource = 2, .sfn = 340}, "100 0 10 01010101 0000000000"},
  };
  uint8_t bits[24];
  size_t i;

  (void)state;
  for (i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct tlg_lte_mib back;

    tlg_lte_mib_pack(&cases[i].mib, bits);
    spell(cases[i].bits, bits);
    assert_int_equal(tlg_lte_mib_unpack(&back, bits), TLG_OK);
    assert_true(back.prb == cases[i].mib.prb && back.phich_resource == cases[i].mib.phich_resource &&
                back.phich_extended == cases[i].mib.phich_extended && back.sfn == cases[i].mib.sfn / 4 * 4 &&
                back.spare == cases[i].mib.spare);
  }
  tlg_lte_put_bits(bits, 6, 3);
  assert_int_equal(tlg_lte_mib_unpack(&(struct tlg_lte_mib){0}, bits), TLG_EFORMAT);
}

static void broadcast(void **state)
{
  static const unsigned ports[] = {1, 2, 4};
  static const char *const masks[] = {"0000000000000000", "1111111111111111", "0101010101010101"};
  const struct tlg_lte_mib mib = {.prb = 100, .phich_resource = 2, .sfn = 724};
  uint8_t bits[40], d[120], e[1920], mask[16];
  int w[3 * 64];
  unsigned p, i, total, out;

  (void)state;
  for (p = 0; p < 3; p++) {
    tlg_lte_mib_pack(&mib, bits);
    tlg_lte_put_bits(mask, tlg_lte_pbch_mask(ports[p]), 16);
    spell(masks[p], mask);
    tlg_lte_put_bits(bits + 24, tlg_lte_crc(TLG_LTE_CRC16, bits, 24), 16);
    for (i = 0; i < 16; i++) {
      bits[24 + i] ^= (uint8_t)(masks[p][i] - '0');
    }
    tlg_lte_conv_encode(bits, 40, d);
    for (i = 0, total = 0; i < 3; i++) {
      total += sub_block(40, conv_order, (int)(40 * i), w + total);
    }
    tlg_lte_mib_pack(&mib, bits);
    tlg_lte_pbch_encode(bits, ports[p], e);
    for (i = 0, out = 0; out < 1920; i = (i + 1) % total) {
      if (w[i] >= 0) {
        assert_int_equal(e[out++], d[w[i]]);
      }
    }
    assert_memory_equal(e, e + 120, 1800); /* 120 bits, sixteen times */
  }
}

static void control_information(void **state)
{
  /* TS 36.212, 5.3.3.1: sizes for FDD, UE-specific, no carrier aggregation */
  static const unsigned size_1a[6] = {21, 22, 25, 27, 27, 28}, size_1[6] = {19, 23, 27, 31, 33, 39};
  uint8_t bits[64], e[144], with_crc[64], d[192];
  uint32_t index[192];
  unsigned w, n, i, sf;
  uint64_t y;

  (void)state;
  for (w = 0; w < 6; w++) {
    assert_int_equal(tlg_lte_dci_1a(widths[w], 17, 5, 1, 2, bits), size_1a[w]);
    assert_int_equal(tlg_lte_dci_1(widths[w], 17, 5, 1, 2, bits), size_1[w]);
  }
  (void)tlg_lte_dci_1(25, 17, 5, 1, 2, bits);
  spell("0 1111111111111 10001 101 1 10 01", bits);
  (void)tlg_lte_dci_1(6, 28, 0, 0, 0, bits);
  spell("111111 11100 000 0 00 01", bits);
  (void)tlg_lte_dci_1a(100, 9, 1, 0, 3, bits);
  spell("1 0 0000011000111 01001 001 0 11 01", bits); /* RIV 199: blocks 0..99 */
  n = tlg_lte_dci_1a(50, 9, 1, 0, 3, bits);
  spell("1 0 00001100011 01001 001 0 11 01 0", bits); /* RIV 99; 26 bits would be taken for another format */
  assert_int_equal(tlg_lte_dci_encode(bits, n, 0x1234, e, 144), TLG_OK);
  memcpy(with_crc, bits, n);
  tlg_lte_put_bits(with_crc + n, tlg_lte_crc(TLG_LTE_CRC16, bits, n) ^ 0x1234, 16);
  tlg_lte_conv_encode(with_crc, n + 16, d);
  assert_int_equal(tlg_lte_conv_match(n + 16, index, 144), TLG_OK);
  for (i = 0; i < 144; i++) {
    assert_int_equal(e[i], d[index[i]]);
  }
  for (y = 0x1234, sf = 0; sf < 10; sf++) { /* TS 36.213, 9.1.1 */
    y = y * 39827 % 65537;
    assert_int_equal(tlg_lte_search_space(20, 4, 0x1234, sf, 1), 4 * ((y + 1) % 5));
  }
  assert_int_equal(tlg_lte_search_space(3, 4, 1, 0, 0), TLG_EINVAL);
}

static void format_indicator(void **state)
{
  static const char *const words[3] = {"01101101101101101101101101101101", "10110110110110110110110110110110",
                                       "11011011011011011011011011011011"};
  uint8_t bits[32];
  unsigned cfi;

  (void)state;
  for (cfi = 1; cfi <= 3; cfi++) {
    tlg_lte_cfi_bits(cfi, bits);
    spell(words[cfi - 1], bits);
  }
}

/* ---- maps ---- */

static void numerology(void **state)
{
  static const unsigned hz[6] = {1400000, 3000000, 5000000, 10000000, 15000000, 20000000};
  static const unsigned fft[6] = {128, 256, 512, 1024, 1536, 2048};
  unsigned l, w, prefix, at = 0;

  (void)state;
  for (l = 0; l < 14; l++) {
    assert_int_equal(tlg_lte_symbol_start(l, &prefix), at);
    assert_int_equal(prefix, l % 7 ? 144 : 160);
    at += prefix + 2048;
  }
  assert_int_equal(at, TLG_LTE_SUBFRAME);
  for (w = 0; w < 6; w++) {
    assert_int_equal(tlg_lte_bandwidth_hz(widths[w]), hz[w]);
    assert_int_equal(tlg_lte_prb(hz[w]), widths[w]);
    assert_int_equal(tlg_lte_fft_size(widths[w]), fft[w]);
  }
  assert_int_equal(tlg_lte_fft_size(7), 0);
  assert_int_equal(tlg_lte_prb(1), 0);
  assert_int_equal(tlg_lte_cell_check(&(struct tlg_lte_cell){.prb = 6, .id = 503, .ports = 1}, NULL), TLG_OK);
  assert_int_equal(tlg_lte_cell_check(&(struct tlg_lte_cell){.prb = 6, .id = 504, .ports = 1}, NULL), TLG_EINVAL);
  assert_int_equal(tlg_lte_cell_check(&(struct tlg_lte_cell){.prb = 8, .id = 0, .ports = 1}, NULL), TLG_EINVAL);
  assert_int_equal(tlg_lte_cell_check(&(struct tlg_lte_cell){.prb = 6, .id = 0, .ports = 3}, NULL), TLG_EINVAL);
}

/* The control region's groups, listed as TS 36.211, 6.2.4 defines them, then handed out by 6.7.4, 6.9.3 and 6.8.5. */
struct place {
  unsigned l, k, taken;
};

static unsigned list_groups(const struct tlg_lte_cell *c, unsigned symbols, struct place *list)
{
  unsigned k, l, n = 0;

  for (k = 0; k < 12 * c->prb; k++) {
    for (l = 0; l < symbols; l++) {
      const unsigned in_block = k % 12;
      const int two = l == 0 || (l == 1 && c->ports == 4);

      if (two ? in_block == 0 || in_block == 6 : in_block == 0 || in_block == 4 || in_block == 8) {
        list[n++] = (struct place){l, k, 0};
      }
    }
  }
  return n;
}

static struct place *find(struct place *list, unsigned n, unsigned l, unsigned k)
{
  unsigned i;

  for (i = 0; i < n; i++) {
    if (list[i].l == l && list[i].k == k) {
      return &list[i];
    }
  }
  fail_msg("no group at symbol %u, subcarrier %u", l, k);
  return NULL;
}

/* The four elements: all of a group of four, those of a group of six that no reference signal has. */
static void check_group(const struct tlg_lte_cell *c, const struct place *p, const struct tlg_lte_reg *reg)
{
  const int two = p->l == 0 || (p->l == 1 && c->ports == 4);
  unsigned i, n = 0;

  for (i = 0; i < (two ? 6u : 4u); i++) {
    if (!two || (p->k + i) % 3 != c->id % 3) {
      assert_int_equal(reg->re[n++], p->l * 12 * c->prb + p->k + i);
    }
  }
  assert_int_equal(n, 4);
}

static void check_control(const struct tlg_lte_cell *c, unsigned cfi)
{
  static const double n_g[4] = {1.0 / 6, 0.5, 1, 2};
  static struct place list[4000], *free_in[3][1300], *left[4000];
  static struct tlg_lte_reg regs[800], phich[75];
  struct tlg_lte_reg pcfich[4];
  const unsigned symbols = c->prb <= 10 ? cfi + 1 : cfi, n = list_groups(c, symbols < 3 ? 3 : symbols, list);
  const unsigned groups = (unsigned)ceil(n_g[c->phich_resource] * c->prb / 8);
  unsigned n_free[3] = {0, 0, 0}, i, m, n_left = 0, rows, out = 0, col, row;

  tlg_lte_pcfich_regs(c, pcfich);
  for (i = 0; i < 4; i++) {
    const unsigned base = 6 * (c->id % (2 * c->prb));
    struct place *const p = find(list, n, 0, (base + i * c->prb / 2 * 6) % (12 * c->prb));

    p->taken = 1;
    check_group(c, p, &pcfich[i]);
  }
  for (i = 0; i < n; i++) {
    if (!list[i].taken && list[i].l < 3) {
      free_in[list[i].l][n_free[list[i].l]++] = &list[i];
    }
  }
  assert_int_equal(tlg_lte_phich_regs(c, phich), 3 * groups);
  for (m = 0; m < groups; m++) {
    for (i = 0; i < 3; i++) {
      const unsigned l = c->phich_extended ? i : 0, size = n_free[l];
      struct place *const p = free_in[l][(c->id * size / n_free[0] + m + i * size / 3) % size];

      assert_false(p->taken);
      p->taken = 1;
      check_group(c, p, &phich[3 * m + i]);
    }
  }
  for (i = 0; i < n; i++) {
    if (!list[i].taken && list[i].l < symbols) {
      left[n_left++] = &list[i];
    }
  }
  assert_int_equal(tlg_lte_pdcch_regs(c, cfi, NULL), n_left);
  assert_int_equal(tlg_lte_pdcch_regs(c, cfi, regs), n_left);
  rows = (n_left + 31) / 32;
  for (col = 0; col < 32; col++) {
    for (row = 0; row < rows; row++) {
      const int quad = (int)(32 * row + conv_order[col]) - (int)(32 * rows - n_left);

      if (quad >= 0) {
        /* w(out) = quadruplet quad; the group i holds w((i + id) mod n) */
        check_group(c, left[(out + n_left - c->id % n_left) % n_left], &regs[quad]);
        out++;
      }
    }
  }
}

static void control_region(void **state)
{
  static const unsigned ids[] = {0, 1, 2, 7, 149, 360, 503}, ports[] = {1, 2, 4};
  /* groups for the PDCCH that TS 36.141, 6.1.1 counts in its test models: N_g = 1/6, one symbol (two for 1.4 MHz) */
  static const unsigned available[6] = {23, 23, 43, 90, 140, 187};
  unsigned w, i, p, cfi, ng;

  (void)state;
  for (w = 0; w < 6; w++) {
    for (i = 0; i < sizeof ids / sizeof *ids; i++) {
      for (p = 0; p < 3; p++) {
        for (cfi = 1; cfi <= 3; cfi++) {
          for (ng = 0; ng < 4; ng++) {
            const struct tlg_lte_cell c = {widths[w], ids[i], ports[p], ng, cfi == 3 && i % 2};

            check_control(&c, cfi);
          }
        }
      }
      assert_int_equal(tlg_lte_pdcch_regs(&(struct tlg_lte_cell){widths[w], ids[i], 1, 0, 0}, 1, NULL), available[w]);
    }
  }
}

static void maps(void **state)
{
  static const unsigned ids[] = {0, 1, 2, 5, 360}, ports[] = {1, 2, 4};
  static uint8_t map[14 * 1200];
  unsigned w, i, p, sf, k;

  (void)state;
  for (w = 0; w < 6; w++) {
    for (i = 0; i < sizeof ids / sizeof *ids; i++) {
      for (p = 0; p < 3; p++) {
        for (sf = 0; sf < 10; sf++) {
          const struct tlg_lte_cell c = {widths[w], ids[i], ports[p], 2, 0};
          const unsigned n_sc = 12 * widths[w], control = widths[w] == 6 ? 2 : 1;
          const unsigned crs = ports[p] == 1 ? 8 : ports[p] == 2 ? 16 : 24; /* a block and subframe */
          unsigned count[TLG_LTE_RE_N] = {0}, sync = sf == 0 || sf == 5, data;
          uint32_t pbch[240];

          assert_int_equal(tlg_lte_map(&c, sf, 1, map), TLG_OK);
          for (k = 0; k < 14 * n_sc; k++) {
            assert_true(map[k] < TLG_LTE_RE_N);
            count[map[k]]++;
          }
          assert_int_equal(count[TLG_LTE_RE_PSS], sync ? 62 : 0);
          assert_int_equal(count[TLG_LTE_RE_SSS], sync ? 62 : 0);
          assert_int_equal(count[TLG_LTE_RE_GUARD], sync ? 20 : 0);
          assert_int_equal(count[TLG_LTE_RE_PBCH], sf ? 0 : 240);
          assert_int_equal(count[TLG_LTE_RE_PCFICH], 16);
          assert_int_equal(count[TLG_LTE_RE_PHICH], 12 * ((widths[w] + 7) / 8));
          assert_int_equal(count[TLG_LTE_RE_CRS0], 8 * widths[w]);
          assert_int_equal(count[TLG_LTE_RE_CRS1], ports[p] > 1 ? 8 * widths[w] : 0);
          assert_int_equal(count[TLG_LTE_RE_CRS3], ports[p] > 2 ? 4 * widths[w] : 0);
          assert_int_equal(count[TLG_LTE_RE_PDCCH], 4 * tlg_lte_pdcch_regs(&c, 1, NULL));
          /* what is left of the data region: 14 - control symbols less reference signals outside the control region;
           * less six blocks' width in four symbols of the PBCH, less what reference signals took of those already */
          data = widths[w] * (12 * (14 - control) - crs +
                              (ports[p] == 1   ? 2
                               : ports[p] == 2 ? 4
                               : control == 1  ? 4
                                               : 8)) -
                 (sync ? 144 : 0);
          if (!sf) {
            data -= 4 * 72 - (ports[p] == 1 ? 12 : ports[p] == 2 ? 24 : 48);
          }
          assert_int_equal(count[TLG_LTE_RE_PDSCH], data);
          if (sf == 0) {
            unsigned n = 0;

            tlg_lte_pbch_res(ids[i], widths[w], pbch);
            for (k = 0; k < 240; k++) {
              assert_int_equal(map[pbch[k]], TLG_LTE_RE_PBCH);
              assert_true(k == 0 || pbch[k] > pbch[k - 1]);
            }
            for (k = 7 * n_sc; k < 11 * n_sc; k++) { /* every place of the block that no port's reference signal has */
              const unsigned l = k / n_sc, sc = k % n_sc;

              if (sc >= n_sc / 2 - 36 && sc < n_sc / 2 + 36 && (l > 8 || sc % 3 != ids[i] % 3)) {
                assert_int_equal(pbch[n++], k);
              }
            }
            assert_int_equal(n, 240);
          }
        }
      }
    }
  }
  assert_int_equal(tlg_lte_map(&(struct tlg_lte_cell){100, 1, 1, 2, 0}, 1, 1, map), TLG_OK);
  assert_int_equal(tlg_lte_map(&(struct tlg_lte_cell){100, 1, 1, 2, 0}, 10, 1, map), TLG_EINVAL);
  assert_int_equal(tlg_lte_map(&(struct tlg_lte_cell){100, 1, 1, 2, 0}, 1, 4, map), TLG_EINVAL);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gold),
      cmocka_unit_test(primary),
      cmocka_unit_test(secondary),
      cmocka_unit_test(reference_signals),
      cmocka_unit_test(constellations),
      cmocka_unit_test(diversity),
      cmocka_unit_test(crcs),
      cmocka_unit_test(tail_biting),
      cmocka_unit_test(interleavers),
      cmocka_unit_test(turbo),
      cmocka_unit_test(segments),
      cmocka_unit_test(shared_channel),
      cmocka_unit_test(block_sizes),
      cmocka_unit_test(information_block),
      cmocka_unit_test(broadcast),
      cmocka_unit_test(control_information),
      cmocka_unit_test(format_indicator),
      cmocka_unit_test(numerology),
      cmocka_unit_test(control_region),
      cmocka_unit_test(maps),
  };

  return cmocka_run_group_tests_name("lte_seq", tests, NULL, NULL);
}
