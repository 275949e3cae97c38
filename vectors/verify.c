/* SPDX-License-Identifier: Apache-2.0 */
/* Judgement: what must come out, by a plain convolution in 64-bit integers; hashes over little-endian bytes; and one
 * line that says where two runs of samples differ. */
#include "tlg_golden.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* The fed inputs lie in runs between the gaps: stream sample s of a run is input s - shift. */
struct run {
  uint64_t first, end, shift;
};

static size_t find_runs(const struct tlg_vector *v, struct run runs[TLG_VECTOR_GAPS + 1])
{
  uint64_t position = v->start, input = 0;
  size_t n = 0, g;

  for (g = 0; g <= v->n_gaps; g++) {
    const uint64_t end = g < v->n_gaps ? v->gaps[g].at : v->n_in;

    runs[n++] = (struct run){position, position + (end - input), position - input};
    position += end - input + (g < v->n_gaps ? v->gaps[g].n : 0);
    input = end;
  }
  return n;
}

static tlg_cs16 sample_at(const struct run *runs, size_t n_runs, const tlg_cs16 *in, uint64_t s)
{
  const tlg_cs16 zero = {0, 0};
  size_t r;

  for (r = 0; r < n_runs; r++) {
    if (s >= runs[r].first && s < runs[r].end) {
      return in[s - runs[r].shift];
    }
  }
  return zero;
}

static int16_t finish(int64_t acc, unsigned shift, enum tlg_rounding rounding)
{
  const int64_t unit = (int64_t)1 << shift;
  int64_t y;

  acc += rounding == TLG_ROUND_NEAREST ? unit / 2 : 0;
  y = acc / unit - (acc % unit < 0); /* floor */
  if (rounding == TLG_ROUND_NEAREST) {
    return (int16_t)(y > INT16_MAX ? INT16_MAX : y < INT16_MIN ? INT16_MIN : y);
  }
  y = (y % 65536 + 65536) % 65536;
  return (int16_t)(y >= 32768 ? y - 65536 : y);
}

void tlg_vector_expected(const struct tlg_vector *v, const struct tlg_taps *taps, const tlg_cs16 *in,
                         const struct tlg_segment *segments, size_t n_segments, tlg_cs16 *out)
{
  const uint64_t q0 = v->align ? (taps->n - 1) / 2 : 0;
  struct run runs[TLG_VECTOR_GAPS + 1];
  const size_t n_runs = find_runs(v, runs);
  uint32_t down = v->down;
  uint64_t common = v->up, rest = v->down;
  size_t s;

  while (rest) {
    const uint64_t next = common % rest;

    common = rest;
    rest = next;
  }
  down = (uint32_t)(v->down / common);
  for (s = 0; s < n_segments; s++) {
    uint64_t m;

    for (m = segments[s].first; m < segments[s].first + segments[s].n; m++) {
      const unsigned __int128 q = (unsigned __int128)m * down + q0;
      const uint64_t newest = (uint64_t)(q / taps->up);
      int64_t acc_i = 0, acc_q = 0;
      uint64_t t, back = 0;

      for (t = (uint64_t)(q % taps->up); t < taps->n && back <= newest; t += taps->up, back++) {
        const tlg_cs16 x = sample_at(runs, n_runs, in, newest - back);

        acc_i += (int64_t)taps->h[t] * x.i;
        acc_q += (int64_t)taps->h[t] * x.q;
      }
      out->i = finish(acc_i, taps->shift, v->rounding);
      out->q = finish(acc_q, taps->shift, v->rounding);
      out++;
    }
  }
}

/* ---- hashes ----------------------------------------------------------------------------------------------------- */

enum { PIECE = 1024 };

static size_t little_endian(unsigned char bytes[4 * PIECE], const tlg_cs16 *samples, size_t n)
{
  size_t k;

  n = n < PIECE ? n : PIECE;
  for (k = 0; k < n; k++) {
    const uint16_t i = (uint16_t)samples[k].i, q = (uint16_t)samples[k].q;

    bytes[4 * k] = (unsigned char)i;
    bytes[4 * k + 1] = (unsigned char)(i >> 8);
    bytes[4 * k + 2] = (unsigned char)q;
    bytes[4 * k + 3] = (unsigned char)(q >> 8);
  }
  return n;
}

uint32_t tlg_crc32(const tlg_cs16 *samples, size_t n)
{
  unsigned char bytes[4 * PIECE];
  uLong crc = crc32(0, NULL, 0);

  while (n) {
    const size_t piece = little_endian(bytes, samples, n);

    crc = crc32(crc, bytes, (uInt)(4 * piece));
    samples += piece;
    n -= piece;
  }
  return (uint32_t)crc;
}

static void hex_digest(EVP_MD_CTX *context, char hex[65])
{
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned length = 0, k;

  hex[0] = 0;
  if (EVP_DigestFinal_ex(context, digest, &length)) {
    for (k = 0; k < length && k < 32; k++) {
      snprintf(hex + 2 * k, 3, "%02x", digest[k]);
    }
  }
  EVP_MD_CTX_free(context);
}

static EVP_MD_CTX *begin_digest(void)
{
  EVP_MD_CTX *context = EVP_MD_CTX_new();

  if (context && !EVP_DigestInit_ex(context, EVP_sha256(), NULL)) {
    EVP_MD_CTX_free(context);
    return NULL;
  }
  return context;
}

void tlg_sha256_bytes(const void *bytes, size_t n, char hex[65])
{
  EVP_MD_CTX *context = begin_digest();

  hex[0] = 0;
  if (context) {
    EVP_DigestUpdate(context, bytes, n);
    hex_digest(context, hex);
  }
}

void tlg_sha256(const tlg_cs16 *samples, size_t n, char hex[65])
{
  unsigned char bytes[4 * PIECE];
  EVP_MD_CTX *context = begin_digest();

  hex[0] = 0;
  if (!context) {
    return;
  }
  while (n) {
    const size_t piece = little_endian(bytes, samples, n);

    EVP_DigestUpdate(context, bytes, 4 * piece);
    samples += piece;
    n -= piece;
  }
  hex_digest(context, hex);
}

static void put_word(EVP_MD_CTX *context, uint32_t word)
{
  const unsigned char bytes[4] = {(unsigned char)word, (unsigned char)(word >> 8), (unsigned char)(word >> 16),
                                  (unsigned char)(word >> 24)};

  EVP_DigestUpdate(context, bytes, sizeof bytes);
}

void tlg_sha256_taps(const struct tlg_taps *taps, char hex[65])
{
  EVP_MD_CTX *context = begin_digest();
  size_t k;

  hex[0] = 0;
  if (!context) {
    return;
  }
  put_word(context, taps->shift);
  put_word(context, taps->up);
  put_word(context, (uint32_t)taps->n);
  for (k = 0; k < taps->n; k++) {
    const unsigned char bytes[2] = {(unsigned char)(uint16_t)taps->h[k], (unsigned char)((uint16_t)taps->h[k] >> 8)};

    EVP_DigestUpdate(context, bytes, sizeof bytes);
  }
  hex_digest(context, hex);
}

/* ---- differences ------------------------------------------------------------------------------------------------- */

int tlg_compare(const tlg_cs16 *expected, size_t n_expected, const tlg_cs16 *got, size_t n_got,
                struct tlg_difference *d)
{
  const size_t both = n_expected < n_got ? n_expected : n_got;
  size_t k;

  memset(d, 0, sizeof *d);
  for (k = 0; k < both; k++) {
    const int32_t i = abs(got[k].i - expected[k].i), q = abs(got[k].q - expected[k].q), most = i > q ? i : q;

    if (most) {
      d->first = d->n_bad++ ? d->first : k;
      d->largest = most > d->largest ? most : d->largest;
    }
  }
  d->missing = n_expected - both;
  d->excess = n_got - both;
  if (!d->n_bad && n_expected != n_got) {
    d->first = both;
  }
  d->n_bad += d->missing + d->excess;
  return d->n_bad != 0;
}

void tlg_difference_text(const struct tlg_vector *v, const struct tlg_segment *segments, size_t n_segments, uint64_t q0,
                         const struct tlg_difference *d, const tlg_cs16 *expected, size_t n_expected,
                         const tlg_cs16 *got, size_t n_got, char *text, size_t size)
{
  uint64_t index = d->first, m;
  char want[40] = "nothing", have[40] = "nothing";
  uint64_t common = v->up, rest = v->down, up, down, time_ps;
  size_t packet = 0;
  int length;

  while (rest) {
    const uint64_t next = common % rest;

    common = rest;
    rest = next;
  }
  up = v->up / common;
  down = v->down / common;
  while (packet + 1 < n_segments && index >= segments[packet].n) {
    index -= segments[packet++].n;
  }
  m = n_segments ? segments[packet].first + index : index;
  if (d->first < n_expected) {
    snprintf(want, sizeof want, "(%d, %d)", expected[d->first].i, expected[d->first].q);
  }
  if (d->first < n_got) {
    snprintf(have, sizeof have, "(%d, %d)", got[d->first].i, got[d->first].q);
  }
  time_ps = tlg_instant_ps(m, &v->rate_out);
  length =
      snprintf(text, size,
               "first bad output %llu (%llu.%06llu us, packet %zu, phase %llu): expected %s, got %s; "
               "%llu of %zu differ, by at most %d",
               (unsigned long long)m, (unsigned long long)(time_ps / 1000000), (unsigned long long)(time_ps % 1000000),
               packet, (unsigned long long)(((unsigned __int128)m * down + q0) % up), want, have,
               (unsigned long long)d->n_bad, n_expected, (int)d->largest);
  if (length > 0 && (size_t)length < size && (d->missing || d->excess)) {
    const unsigned long long off = d->missing ? d->missing : d->excess;

    snprintf(text + length, size - (size_t)length, "; %llu output%s too %s", off, off == 1 ? "" : "s",
             d->missing ? "few" : "many");
  }
}
