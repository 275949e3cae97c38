/* SPDX-License-Identifier: Apache-2.0 */
/* The golden vectors: every expectation computed anew by a plain convolution in exact integers of the test's own, the
 * inputs of simple generators from their formulae, the schema, the coverage asked for, and damage of every kind. */
#include "json_schema.h"
#include "tlg_golden.h"

#include <limits.h>
#include <openssl/evp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static const char *const folder = "vectors";
static struct tlg_manifest *manifest;

static int load(void **state)
{
  struct tlg_error err = {.offset = UINT64_MAX};

  (void)state;
  if (tlg_manifest_load(&manifest, folder, 0, &err)) {
    fprintf(stderr, "%s\n", err.text);
    return -1;
  }
  return 0;
}

static int unload(void **state)
{
  (void)state;
  tlg_manifest_free(manifest);
  return 0;
}

/* ---- hashes of the test's own -------------------------------------------------------------------------------------
 */

static unsigned char *bytes_of(const tlg_cs16 *x, size_t n)
{
  unsigned char *b = malloc(4 * n + 1);
  size_t k;

  assert_non_null(b);
  for (k = 0; k < n; k++) {
    const int i = x[k].i, q = x[k].q;

    b[4 * k] = (unsigned char)(i & 0xff);
    b[4 * k + 1] = (unsigned char)((i & 0xff00) / 256);
    b[4 * k + 2] = (unsigned char)(q & 0xff);
    b[4 * k + 3] = (unsigned char)((q & 0xff00) / 256);
  }
  return b;
}

static void sha256_of(const tlg_cs16 *x, size_t n, char hex[65])
{
  unsigned char *b = bytes_of(x, n), digest[32];
  unsigned length, k;

  assert_true(EVP_Digest(b, 4 * n, digest, &length, EVP_sha256(), NULL));
  for (k = 0; k < 32; k++) {
    snprintf(hex + 2 * k, 3, "%02x", digest[k]);
  }
  free(b);
}

/* CRC-32 of IEEE 802.3, bit by bit. */
static uint32_t crc_of(const tlg_cs16 *x, size_t n)
{
  unsigned char *b = bytes_of(x, n);
  uint32_t crc = 0xffffffff;
  size_t k;
  int bit;

  for (k = 0; k < 4 * n; k++) {
    crc ^= b[k];
    for (bit = 0; bit < 8; bit++) {
      crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
  }
  free(b);
  return ~crc;
}

static void test_hashes_of_known_bytes(void **state)
{
  /* "123456789" is no whole number of samples: its first 8 bytes, whose CRC-32 is 0x9ae0daaf */
  const tlg_cs16 x[2] = {{0x3231, 0x3433}, {0x3635, 0x3837}};
  char hex[65], own[65];

  (void)state;
  assert_int_equal(tlg_crc32(x, 2), 0x9ae0daaf);
  assert_int_equal(crc_of(x, 2), 0x9ae0daaf);
  tlg_sha256_bytes("abc", 3, hex);
  assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  tlg_sha256(x, 2, hex);
  sha256_of(x, 2, own);
  assert_string_equal(hex, own);
  assert_int_equal(tlg_crc32(x, 0), 0);
}

/* ---- the plain computation ----------------------------------------------------------------------------------------
 */

typedef __int128 wide;

struct plain {
  const struct tlg_vector *v;
  const struct tlg_taps *taps;
  const tlg_cs16 *in;
  uint64_t *position; /* stream sample number of each input */
  uint64_t up, down, q0, end;
};

static wide round_up(wide a, wide b)
{
  return a <= 0 ? 0 : (a + b - 1) / b;
}

/* The input at stream sample n; zero where there is none. */
static tlg_cs16 at(const struct plain *p, uint64_t n)
{
  const tlg_cs16 zero = {0, 0};
  size_t low = 0, high = (size_t)p->v->n_in;

  if (!p->v->n_gaps) {
    return n >= p->v->start && n - p->v->start < p->v->n_in ? p->in[n - p->v->start] : zero;
  }
  while (low < high) {
    const size_t middle = (low + high) / 2;

    if (p->position[middle] < n) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < p->v->n_in && p->position[low] == n ? p->in[low] : zero;
}

static int16_t rounded(const struct plain *p, int64_t acc)
{
  const int64_t unit = (int64_t)1 << p->taps->shift;
  int64_t y;

  if (p->v->rounding == TLG_ROUND_NEAREST) {
    acc += unit / 2;
  }
  y = acc >= 0 ? acc / unit : -((-acc + unit - 1) / unit);
  if (p->v->rounding == TLG_ROUND_NEAREST) {
    y = y > 32767 ? 32767 : y < -32768 ? -32768 : y;
  } else {
    y &= 0xffff;
    y -= y >= 0x8000 ? 0x10000 : 0;
  }
  return (int16_t)y;
}

static tlg_cs16 output(const struct plain *p, wide m)
{
  const wide q = m * (wide)p->down + (wide)p->q0;
  const uint64_t phase = (uint64_t)(q % (wide)p->up), newest = (uint64_t)(q / (wide)p->up);
  int64_t i = 0, q_sum = 0;
  uint64_t k;
  tlg_cs16 y;

  for (k = 0; phase + k * p->up < p->taps->n && k <= newest; k++) {
    const tlg_cs16 x = at(p, newest - k);

    i += (int64_t)p->taps->h[phase + k * p->up] * x.i;
    q_sum += (int64_t)p->taps->h[phase + k * p->up] * x.q;
  }
  y.i = rounded(p, i);
  y.q = rounded(p, q_sum);
  return y;
}

static void place(struct plain *p, const struct tlg_vector *v, const struct tlg_taps *taps, const tlg_cs16 *in)
{
  uint64_t a = v->up, b = v->down, position = v->start, k;
  size_t g;

  while (b) {
    const uint64_t r = a % b;

    a = b;
    b = r;
  }
  p->v = v;
  p->taps = taps;
  p->in = in;
  p->up = v->up / a;
  p->down = v->down / a;
  p->q0 = v->align ? (taps->n % 2 ? (taps->n - 1) / 2 : taps->n / 2 - 1) : 0;
  p->position = calloc(v->n_in + 1, sizeof *p->position);
  assert_non_null(p->position);
  for (k = 0; k <= v->n_in; k++) {
    for (g = 0; g < v->n_gaps; g++) {
      position += v->gaps[g].at == k ? v->gaps[g].n : 0;
    }
    p->position[k] = position; /* the last entry is the end of the stream */
    position += k < v->n_in;
  }
  p->end = p->position[v->n_in];
}

/* All outputs: for each input those whose newest sample it is; then the flush. */
static tlg_cs16 *convolve(const struct plain *p, size_t *n_out, uint64_t *first)
{
  const struct tlg_vector *v = p->v;
  const size_t room = (size_t)((v->n_in + p->taps->n / p->up + 2) * (p->up + 1) / p->down) + (size_t)v->n_in + 4096;
  tlg_cs16 *out = malloc(room * sizeof *out);
  size_t n = 0, k;
  int any = 0;

  assert_non_null(out);
  for (k = 0; k < v->n_in; k++) {
    const wide s = (wide)p->position[k];
    const wide begin = round_up(s * (wide)p->up - (wide)p->q0, (wide)p->down);
    const wide end = round_up((s + 1) * (wide)p->up - (wide)p->q0, (wide)p->down);
    wide m;

    if (!any) {
      *first = (uint64_t)begin;
      any = 1;
    }
    for (m = begin; m < end; m++) {
      assert_true(n < room);
      out[n++] = output(p, m);
    }
  }
  if (v->flush && p->end) {
    const wide begin = round_up((wide)p->end * (wide)p->up - (wide)p->q0, (wide)p->down);
    const wide total = v->align ? round_up((wide)p->end * (wide)p->up, (wide)p->down)
                                : ((wide)(p->end - 1) * (wide)p->up + (wide)p->taps->n - 1) / (wide)p->down + 1;
    wide m;

    for (m = begin; m < total; m++) {
      assert_true(n < room);
      out[n++] = output(p, m);
    }
  }
  *n_out = n;
  return out;
}

static int made(const struct tlg_manifest_entry *e, struct tlg_taps *taps, tlg_cs16 **in)
{
  struct tlg_error err = {.offset = UINT64_MAX};

  if (e->vector.refused) {
    return 0;
  }
  assert_int_equal(tlg_vector_taps(&e->vector, taps, &err), 0);
  *in = malloc((e->vector.n_in + 1) * sizeof **in);
  assert_non_null(*in);
  assert_int_equal(tlg_vector_input(&e->vector, taps, *in, &err), 0);
  return 1;
}

static void test_every_expectation_from_a_plain_convolution(void **state)
{
  size_t i, k, checked = 0;
  uint64_t outputs = 0;

  (void)state;
  for (i = 0; i < tlg_manifest_size(manifest); i++) {
    const struct tlg_manifest_entry *e = tlg_manifest_at(manifest, i);
    struct tlg_taps taps = {NULL, 0, 0, 0};
    struct tlg_segment *segments = NULL;
    struct tlg_error err;
    struct plain p;
    tlg_cs16 *in = NULL, *out;
    size_t n = 0, n_segments = 0, from = 0;
    uint64_t first = 0, stated;
    char hex[65];

    if (!made(e, &taps, &in)) {
      continue;
    }
    sha256_of(in, (size_t)e->vector.n_in, hex);
    assert_string_equal(hex, e->expect.input_sha256);
    place(&p, &e->vector, &taps, in);
    out = convolve(&p, &n, &first);
    if (n != e->expect.outputs) {
      fail_msg("%s: %zu outputs, stated are %llu", e->vector.id, n, (unsigned long long)e->expect.outputs);
    }
    if (e->vector.n_in) {
      assert_int_equal(first, e->expect.first);
    }
    sha256_of(out, n, hex);
    if (strcmp(hex, e->expect.output_sha256) != 0) {
      fail_msg("%s: the plain convolution gives sha256 %s, stated is %s", e->vector.id, hex, e->expect.output_sha256);
    }
    /* packets: their sums of counts, and a CRC each */
    assert_int_equal(tlg_vector_segments(&e->vector, taps.n, &segments, &n_segments, &stated, &err), 0);
    assert_int_equal(stated, n);
    assert_int_equal(n_segments, e->expect.n_crc);
    for (k = 0; k < n_segments; k++) {
      assert_true(from + segments[k].n <= n);
      if (crc_of(out + from, (size_t)segments[k].n) != e->expect.crc[k]) {
        fail_msg("%s: packet %zu has another CRC", e->vector.id, k);
      }
      from += (size_t)segments[k].n;
    }
    checked++;
    outputs += n;
    free(p.position);
    free(segments);
    free(in);
    free(out);
    tlg_taps_free(&taps);
  }
  printf("%zu vectors, %llu outputs recomputed\n", checked, (unsigned long long)outputs);
  assert_true(checked >= 60);
}

/* ---- inputs from their formulae -------------------------------------------------------------------------------------
 */

/* Philox 4x32-10 by its paper, for uniform inputs and random taps. */
static uint32_t philox_word(uint64_t seed, uint64_t at_word, uint32_t purpose)
{
  uint32_t c[4] = {(uint32_t)(at_word / 4), (uint32_t)(at_word / 4 >> 32), 0, purpose};
  uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
  int round;

  for (round = 0; round < 10; round++) {
    const uint64_t a = (uint64_t)0xd2511f53 * c[0], b = (uint64_t)0xcd9e8d57 * c[2];
    const uint32_t d[4] = {(uint32_t)(b >> 32) ^ c[1] ^ k0, (uint32_t)b, (uint32_t)(a >> 32) ^ c[3] ^ k1, (uint32_t)a};

    memcpy(c, d, sizeof c);
    k0 += 0x9e3779b9;
    k1 += 0xbb67ae85;
  }
  return c[at_word % 4];
}

static int formula(const struct tlg_vector *v, uint64_t k, tlg_cs16 *x)
{
  static const tlg_cs16 zero = {0, 0};
  const uint64_t n = v->seek + k;
  uint32_t word;

  switch (v->source) {
  case TLG_SOURCE_UNIFORM:
    word = philox_word(v->signal.seed, k, 0x756e6966);
    x->i = (int16_t)(uint16_t)(word & 0xffff);
    x->q = (int16_t)(uint16_t)(word >> 16);
    return 1;
  case TLG_SOURCE_ALTERNATE:
    x->i = k & 1 ? -32768 : 32767;
    x->q = k & 1 ? 32767 : -32768;
    return 1;
  case TLG_SOURCE_SAMPLES:
    *x = v->samples[k % v->n_samples];
    return 1;
  case TLG_SOURCE_WORST:
    return 0;
  case TLG_SOURCE_SIGNAL:
    break;
  }
  switch (v->signal.kind) {
  case TLG_SIGNAL_IMPULSE:
    *x = n == v->signal.at || (v->signal.every && n > v->signal.at && (n - v->signal.at) % v->signal.every == 0)
             ? v->signal.value
             : zero;
    return 1;
  case TLG_SIGNAL_STEP:
    *x = n >= v->signal.at ? v->signal.value : zero;
    return 1;
  case TLG_SIGNAL_DC:
    *x = v->signal.value;
    return 1;
  case TLG_SIGNAL_RAMP:
    x->i = (int16_t)(uint16_t)(n % 65536);
    x->q = (int16_t)(uint16_t)(n / 65536 % 65536);
    return 1;
  case TLG_SIGNAL_SILENCE:
    *x = zero;
    return 1;
  default:
    return 0; /* the tests of the signals check these */
  }
}

static void test_simple_inputs_from_their_formulae(void **state)
{
  size_t i, checked = 0;

  (void)state;
  for (i = 0; i < tlg_manifest_size(manifest); i++) {
    const struct tlg_manifest_entry *e = tlg_manifest_at(manifest, i);
    struct tlg_taps taps = {NULL, 0, 0, 0};
    tlg_cs16 *in = NULL, x;
    uint64_t k;

    if (!made(e, &taps, &in)) {
      continue;
    }
    for (k = 0; k < e->vector.n_in && formula(&e->vector, k, &x); k++) {
      if (in[k].i != x.i || in[k].q != x.q) {
        fail_msg("%s: input %llu is another", e->vector.id, (unsigned long long)k);
      }
    }
    checked += k == e->vector.n_in && k > 0;
    free(in);
    tlg_taps_free(&taps);
  }
  assert_true(checked > 100);
}

static void test_formula_taps(void **state)
{
  size_t i, k, checked = 0;

  (void)state;
  for (i = 0; i < tlg_manifest_size(manifest); i++) {
    const struct tlg_vector *v = &tlg_manifest_at(manifest, i)->vector;
    struct tlg_taps taps = {NULL, 0, 0, 0};
    size_t per_phase;
    int64_t limit, most;

    if (v->refused || v->taps == TLG_TAPS_DEFAULT || v->taps == TLG_TAPS_DESIGN) {
      continue;
    }
    assert_int_equal(tlg_vector_taps(v, &taps, NULL), 0);
    per_phase = v->design.taps_per_phase ? v->design.taps_per_phase : (taps.n + taps.up - 1) / taps.up;
    limit = (INT32_MAX - ((int64_t)1 << (taps.shift - 1))) / 32768;
    most = limit / (int64_t)per_phase < 32767 ? limit / (int64_t)per_phase : 32767;
    for (k = 0; k < taps.n; k++) {
      const size_t p = k % taps.up, row = k / taps.up;
      int64_t h = 0;

      if (v->taps == TLG_TAPS_HALF) {
        h = row == p % per_phase ? (int64_t)1 << (taps.shift - 1) : 0;
      } else if (v->taps == TLG_TAPS_RANDOM) {
        h = (int64_t)(philox_word(v->taps_seed, k, 0x74617073) % (uint64_t)(2 * most + 1)) - most;
      } else if (row < 3) {
        h = row == 0 ? 32767 : row == 1 ? -32767 : limit - 65534;
        h = p % 2 ? -h : h;
      }
      if (taps.h[k] != h) {
        fail_msg("%s: tap %zu is %d, should be %lld", v->id, k, taps.h[k], (long long)h);
      }
    }
    checked++;
    tlg_taps_free(&taps);
  }
  assert_true(checked > 30);
}

/* "worst" must reach the largest and the smallest sum of every phase: sum of |h| at full scale. */
static void test_worst_inputs_reach_the_extremes_of_every_phase(void **state)
{
  size_t i, checked = 0;

  (void)state;
  for (i = 0; i < tlg_manifest_size(manifest); i++) {
    const struct tlg_manifest_entry *e = tlg_manifest_at(manifest, i);
    struct tlg_taps taps = {NULL, 0, 0, 0};
    struct plain p;
    tlg_cs16 *in = NULL;
    unsigned char *seen;
    uint64_t m, phase, whole = 0;

    if (e->vector.source != TLG_SOURCE_WORST || !made(e, &taps, &in)) {
      continue;
    }
    place(&p, &e->vector, &taps, in);
    seen = calloc(p.up, 1);
    assert_non_null(seen);
    for (m = 0; m < e->expect.outputs; m++) {
      const uint64_t q = m * p.down + p.q0, newest = q / p.up;
      int64_t acc = 0, top = 0, bottom = 0;
      uint64_t k;

      for (k = 0; q % p.up + k * p.up < taps.n; k++) {
        const int64_t h = taps.h[q % p.up + k * p.up];

        acc += k <= newest ? h * at(&p, newest - k).i : 0;
        top += h > 0 ? h * 32767 : h * -32768;
        bottom += h > 0 ? h * -32768 : h * 32767;
      }
      seen[q % p.up] |= (unsigned char)((acc == top) | (acc == bottom) << 1);
    }
    for (phase = 0; phase < p.up; phase++) {
      whole += seen[phase] == 3;
    }
    /* the vectors at S = 1 and 15 are cut short: they need the first phases only */
    if (e->vector.n_in >= 9000 && whole != p.up) {
      fail_msg("%s: %llu of %llu phases reach both extremes", e->vector.id, (unsigned long long)whole,
               (unsigned long long)p.up);
    }
    checked += whole == p.up;
    free(seen);
    free(p.position);
    free(in);
    tlg_taps_free(&taps);
  }
  assert_true(checked >= 6);
}

/* ---- coverage
 * -------------------------------------------------------------------------------------------------------- */

static size_t count_if(int (*wanted)(const struct tlg_vector *v))
{
  size_t i, n = 0;

  for (i = 0; i < tlg_manifest_size(manifest); i++) {
    const struct tlg_vector *v = &tlg_manifest_at(manifest, i)->vector;

    n += !v->refused && wanted(v);
  }
  return n;
}

static int ratio_is(const struct tlg_vector *v, uint32_t up, uint32_t down)
{
  return v->up == up && v->down == down;
}

static int has_gaps(const struct tlg_vector *v)
{
  return v->n_gaps > 0;
}

static int is_usrpl0(const struct tlg_vector *v)
{
  return v->rounding == TLG_ROUND_USRPL0 && v->design.n_taps == 10000;
}

static int crosses_2e32(const struct tlg_vector *v)
{
  const unsigned __int128 a = (unsigned __int128)v->start * v->up / v->down,
                          b = (unsigned __int128)(v->start + v->n_in) * v->up / v->down + 20;

  return v->start && a < (uint64_t)1 << 32 && b > (uint64_t)1 << 32;
}

static int crosses_2e31(const struct tlg_vector *v)
{
  const unsigned __int128 a = (unsigned __int128)v->start * v->up / v->down,
                          b = (unsigned __int128)(v->start + v->n_in) * v->up / v->down;

  return v->start && a < (uint64_t)1 << 31 && b > (uint64_t)1 << 31;
}

static void test_the_set_covers_what_was_asked(void **state)
{
  static const uint32_t ratios[][2] = {{768, 625}, {625, 768}, {576, 625},   {384, 625}, {288, 625},  {192, 625},
                                       {144, 625}, {96, 625},  {48, 625},    {8, 5},     {125, 96},   {7, 6},
                                       {5, 4},     {672, 625}, {3072, 3125}, {1, 1},     {1536, 1250}};
  static const uint32_t packets[] = {1, 362, 364, 625, 1996, 25000};
  static const uint32_t per_phase[] = {13, 16, 24};
  unsigned kinds = 0, sources = 0;
  size_t i, k, streams = 0, refusals = 0, aligned = 0, flushed = 0, random = 0, bytes = 0;
  struct stat info;

  (void)state;
  for (i = 0; i < tlg_manifest_size(manifest); i++) {
    const struct tlg_manifest_entry *e = tlg_manifest_at(manifest, i);
    const struct tlg_vector *v = &e->vector;
    char path[PATH_MAX];

    streams += !v->refused;
    refusals += v->refused != 0;
    if (v->refused) {
      continue;
    }
    aligned += v->align != 0;
    flushed += v->flush != 0;
    random += v->n_packets == 0;
    sources |= 1u << v->source;
    kinds |= v->source == TLG_SOURCE_SIGNAL ? 1u << v->signal.kind : 0;
    snprintf(path, sizeof path, "%s/crc/%s.txt", folder, v->id);
    assert_int_equal(stat(path, &info), 0);
    bytes += (size_t)info.st_size;
  }
  assert_int_equal(stat("vectors/manifest.json", &info), 0);
  bytes += (size_t)info.st_size;
  printf("%zu vectors, %zu refusals, %zu bytes\n", streams, refusals, bytes);
  assert_true(streams >= 60);
  assert_true(refusals >= 8);
  assert_true(bytes < 1000000);
  assert_true(aligned >= 10 && flushed >= 10 && random >= 4);
  for (k = TLG_SIGNAL_TONE; k <= TLG_SIGNAL_LAST; k++) {
    assert_true(kinds & 1u << k);
  }
  for (k = TLG_SOURCE_SIGNAL; k <= TLG_SOURCE_SAMPLES; k++) {
    assert_true(sources & 1u << k);
  }
  for (k = 0; k < sizeof ratios / sizeof *ratios; k++) {
    size_t n = 0;

    for (i = 0; i < tlg_manifest_size(manifest); i++) {
      n += (size_t)ratio_is(&tlg_manifest_at(manifest, i)->vector, ratios[k][0], ratios[k][1]);
    }
    if (!n) {
      fail_msg("no vector for %u/%u", ratios[k][0], ratios[k][1]);
    }
  }
  for (k = 0; k < sizeof packets / sizeof *packets; k++) {
    size_t n = 0;

    for (i = 0; i < tlg_manifest_size(manifest); i++) {
      const struct tlg_vector *v = &tlg_manifest_at(manifest, i)->vector;

      n += !v->refused && v->n_packets == 1 && v->packets[0] == packets[k] && v->n_in > packets[k];
    }
    if (!n) {
      fail_msg("no vector in packets of %u", packets[k]);
    }
  }
  for (k = 0; k < sizeof per_phase / sizeof *per_phase; k++) {
    size_t n = 0;

    for (i = 0; i < tlg_manifest_size(manifest); i++) {
      n += tlg_manifest_at(manifest, i)->vector.design.taps_per_phase == per_phase[k];
    }
    assert_true(n);
  }
  assert_true(count_if(has_gaps) >= 5);
  assert_true(count_if(is_usrpl0) >= 3);
  assert_true(count_if(crosses_2e31) >= 1 && count_if(crosses_2e32) >= 1);
}

/* ---- the schema
 * ------------------------------------------------------------------------------------------------------ */

static json_t *read_json(const char *path)
{
  json_error_t where;
  json_t *o = json_load_file(path, JSON_REJECT_DUPLICATES, &where);

  if (!o) {
    fail_msg("%s:%d: %s", path, where.line, where.text);
  }
  return o;
}

static int valid(const json_t *schema, const json_t *x, char text[300])
{
  struct schema_check c = {.root = schema};
  const int ok = schema_holds(&c, schema, x, "manifest");

  snprintf(text, 300, "%s", c.text);
  return ok;
}

static void test_the_manifest_follows_its_schema(void **state)
{
  json_t *schema = read_json("vectors/schema.json"), *x = read_json("vectors/manifest.json");
  char text[300];

  (void)state;
  if (!valid(schema, x, text)) {
    fail_msg("%s", text);
  }
  json_decref(x);
  json_decref(schema);
}

/* One change each: the schema must object, and so must the reader (with the digest made to fit, or not looked at). */
static void test_schema_and_reader_refuse_what_is_wrong(void **state)
{
  json_t *schema = read_json("vectors/schema.json"), *whole = read_json("vectors/manifest.json");
  static const struct {
    const char *object, *key, *json; /* json NULL: the property is taken away */
  } changes[] = {
      {"", "purpose", "\"short\""},
      {"", "purpose", NULL},
      {"", "id", "\"Capital\""},
      {"", "id", NULL},
      {"", "flags", "[1]"},
      {"", "flags", NULL},
      {"", "surprise", "1"},
      {"", "rate_in", "\"fast\""},
      {"", "rate_out", "\"-5\""},
      {"", "rounding", "\"up\""},
      {"", "align", "1"},
      {"", "flush", "\"maybe\""},
      {"", "inputs", "-1"},
      {"", "inputs", "1000001"},
      {"", "inputs", "1.5"},
      {"", "packet", "\"random\""},
      {"", "packet", "0"},
      {"", "packet", "[]"},
      {"", "packet", "65537"},
      {"", "tolerance", "\"roughly\""},
      {"", "tolerance", NULL},
      {"", "gaps", "[\"5\"]"},
      {"", "gaps", "[\"1+1\", \"2+1\", \"3+1\", \"4+1\", \"5+1\"]"},
      {"", "start", "-5"},
      {"", "up", "0.5"},
      {"generator", "kind", "\"magic\""},
      {"generator", "kind", NULL},
      {"generator", "colour", "\"white\""},
      {"generator", "value", "[40000, 0]"},
      {"generator", "value", "[1]"},
      {"generator", "freq", "\"1 MHz\""},
      {"generator", "tones", "0"},
      {"taps", "kind", "\"any\""},
      {"taps", "shift", "0"},
      {"taps", "shift", "16"},
      {"taps", "sha256", "\"abc\""},
      {"expect", "outputs", "-1"},
      {"expect", "outputs_sha256", "\"0\""},
      {"expect", "crc_sha256", NULL},
      {"expect", "more", "1"},
  };
  char dir[] = "/tmp/taplag-manifest-XXXXXX", path[100], text[300];
  size_t k;

  (void)state;
  assert_non_null(mkdtemp(dir));
  snprintf(path, sizeof path, "%s/crc", dir);
  assert_int_equal(symlink("/nonexistent", path), 0);
  for (k = 0; k < sizeof changes / sizeof *changes; k++) {
    json_t *x = json_deep_copy(whole), *item = json_array_get(json_object_get(x, "vectors"), 0);
    json_t *object = *changes[k].object ? json_object_get(item, changes[k].object) : item;
    struct tlg_manifest *m = NULL;
    struct tlg_error err = {.offset = UINT64_MAX};
    int st;

    assert_non_null(object);
    if (changes[k].json) {
      json_object_set_new(object, changes[k].key, json_loads(changes[k].json, JSON_DECODE_ANY, NULL));
    } else {
      json_object_del(object, changes[k].key);
    }
    if (valid(schema, x, text)) {
      fail_msg("the schema takes %s.%s = %s", changes[k].object, changes[k].key,
               changes[k].json ? changes[k].json : "(nothing)");
    }
    snprintf(path, sizeof path, "%s/manifest.json", dir);
    assert_int_equal(json_dump_file(x, path, 0), 0);
    st = tlg_manifest_load(&m, dir, 0, &err); /* the digest objects */
    assert_int_equal(st, TLG_EFORMAT);
    st = tlg_manifest_load(&m, dir, TLG_MANIFEST_UNSEALED, &err);
    if (strcmp(changes[k].object, "expect") != 0 && strcmp(changes[k].key, "sha256") != 0) {
      if (st != TLG_EFORMAT) { /* expectations may be wrong there: they are to be replaced */
        fail_msg("the reader takes %s.%s = %s", changes[k].object, changes[k].key,
                 changes[k].json ? changes[k].json : "(nothing)");
      }
      assert_true(strlen(err.text) > 20);
    } else {
      assert_int_equal(st, 0);
      tlg_manifest_free(m);
    }
    json_decref(x);
  }
  unlink(path);
  snprintf(path, sizeof path, "%s/crc", dir);
  unlink(path);
  rmdir(dir);
  json_decref(whole);
  json_decref(schema);
}

/* ---- damage
 * ---------------------------------------------------------------------------------------------------------- */

static char *read_bytes(const char *path, size_t *n)
{
  FILE *f = fopen(path, "rb");
  char *b = malloc(1 << 20);

  assert_non_null(f);
  assert_non_null(b);
  *n = fread(b, 1, 1 << 20, f);
  fclose(f);
  return b;
}

static void write_bytes(const char *path, const char *b, size_t n)
{
  FILE *f = fopen(path, "wb");

  assert_non_null(f);
  assert_int_equal(fwrite(b, 1, n, f), n);
  assert_int_equal(fclose(f), 0);
}

static void copy_tree(const char *dir)
{
  char path[PATH_MAX], from[PATH_MAX];
  size_t i, n;
  char *b;

  snprintf(path, sizeof path, "%s/crc", dir);
  assert_int_equal(mkdir(path, 0700), 0);
  for (i = 0; i < tlg_manifest_size(manifest); i++) {
    const struct tlg_vector *v = &tlg_manifest_at(manifest, i)->vector;

    if (!v->refused) {
      snprintf(from, sizeof from, "%s/crc/%s.txt", folder, v->id);
      snprintf(path, sizeof path, "%s/crc/%s.txt", dir, v->id);
      b = read_bytes(from, &n);
      write_bytes(path, b, n);
      free(b);
    }
  }
  b = read_bytes("vectors/manifest.json", &n);
  snprintf(path, sizeof path, "%s/manifest.json", dir);
  write_bytes(path, b, n);
  free(b);
}

static void remove_tree(const char *dir)
{
  char path[PATH_MAX];
  size_t i;

  for (i = 0; i < tlg_manifest_size(manifest); i++) {
    snprintf(path, sizeof path, "%s/crc/%s.txt", dir, tlg_manifest_at(manifest, i)->vector.id);
    unlink(path);
  }
  snprintf(path, sizeof path, "%s/manifest.json", dir);
  unlink(path);
  snprintf(path, sizeof path, "%s/crc", dir);
  rmdir(path);
  rmdir(dir);
}

/* Every load of a damaged tree must fail, unless the change was in white space between JSON tokens. */
static void expect_refused(const char *dir, const char *what, size_t at_byte, const json_t *same_as)
{
  struct tlg_manifest *m = NULL;
  struct tlg_error err = {.offset = UINT64_MAX};
  const int st = tlg_manifest_load(&m, dir, 0, &err);
  char path[PATH_MAX];
  json_t *now;

  if (st) {
    assert_null(m);
    assert_true(st == TLG_EFORMAT);
    assert_true(strlen(err.text) > 10);
    return;
  }
  tlg_manifest_free(m);
  snprintf(path, sizeof path, "%s/manifest.json", dir);
  now = json_load_file(path, 0, NULL);
  if (!same_as || !json_equal(now, (json_t *)(uintptr_t)same_as)) {
    fail_msg("%s, byte %zu: the damage is believed", what, at_byte);
  }
  json_decref(now);
}

static void test_damage_is_reported(void **state)
{
  char dir[] = "/tmp/taplag-damage-XXXXXX", path[PATH_MAX];
  json_t *whole = read_json("vectors/manifest.json");
  uint32_t random = 12345;
  size_t n, k;
  char *b;

  (void)state;
  assert_non_null(mkdtemp(dir));
  copy_tree(dir);
  {
    struct tlg_manifest *m = NULL; /* the control: an undamaged copy is taken */

    assert_int_equal(tlg_manifest_load(&m, dir, 0, NULL), 0);
    tlg_manifest_free(m);
  }
  snprintf(path, sizeof path, "%s/manifest.json", dir);
  b = read_bytes(path, &n);
  for (k = 0; k < 60; k++) { /* one bit */
    size_t at_byte;

    random = random * 1664525 + 1013904223;
    at_byte = (size_t)((uint64_t)random * n >> 32);
    b[at_byte] ^= (char)(1 << (k % 7));
    write_bytes(path, b, n);
    expect_refused(dir, "manifest.json", at_byte, whole);
    b[at_byte] ^= (char)(1 << (k % 7));
  }
  for (k = 1; k < 10; k++) { /* cut */
    write_bytes(path, b, n * k / 10);
    expect_refused(dir, "manifest.json cut", n * k / 10, NULL);
  }
  write_bytes(path, b, 0);
  expect_refused(dir, "manifest.json empty", 0, NULL);
  write_bytes(path, b, n);
  free(b);

  snprintf(path, sizeof path, "%s/crc/ofdm.txt", dir);
  b = read_bytes(path, &n);
  for (k = 0; k < n; k += 41) {
    b[k] ^= 1;
    write_bytes(path, b, n);
    expect_refused(dir, "crc/ofdm.txt", k, NULL);
    b[k] ^= 1;
  }
  write_bytes(path, b, n - 1);
  expect_refused(dir, "crc/ofdm.txt cut", n - 1, NULL);
  write_bytes(path, b, 0);
  expect_refused(dir, "crc/ofdm.txt empty", 0, NULL);
  unlink(path);
  {
    struct tlg_manifest *m = NULL;
    struct tlg_error err = {.offset = UINT64_MAX};

    assert_int_equal(tlg_manifest_load(&m, dir, 0, &err), TLG_ESYS);
    assert_non_null(strstr(err.text, "ofdm.txt"));
  }
  write_bytes(path, b, n);
  free(b);
  remove_tree(dir);
  json_decref(whole);
}

/* A CRC file and a manifest that fit each other but not the formulae: the last line of defence before the outputs. */
static void test_accept_restores_and_keeps_the_reason(void **state)
{
  char dir[] = "/tmp/taplag-accept-XXXXXX", path[PATH_MAX];
  struct tlg_manifest *m = NULL;
  struct tlg_error err = {.offset = UINT64_MAX};
  char *changes = NULL, *crc = NULL, *text = NULL, *b;
  json_t *x, *item;
  size_t n;

  (void)state;
  assert_non_null(mkdtemp(dir));
  copy_tree(dir);
  /* a vector changed by hand: one packet size more */
  snprintf(path, sizeof path, "%s/manifest.json", dir);
  x = read_json(path);
  item = json_array_get(json_object_get(x, "vectors"), 0);
  json_object_set_new(item, "inputs", json_integer(1300));
  assert_int_equal(json_dump_file(x, path, 0), 0);
  json_decref(x);
  assert_int_equal(tlg_manifest_load(&m, dir, 0, &err), TLG_EFORMAT);
  assert_int_equal(tlg_manifest_load(&m, dir, TLG_MANIFEST_UNSEALED, &err), 0);
  assert_int_equal(tlg_manifest_accept(m, 0, &changes, &crc, &err), 0);
  assert_non_null(strstr(changes, "outputs"));
  assert_int_equal(tlg_manifest_seal(m, "too short", "x", &text, &err), TLG_EINVAL);
  assert_int_equal(tlg_manifest_seal(m, "A longer input for the test.", "impulse-first", &text, &err), 0);
  snprintf(path, sizeof path, "%s/crc/%s.txt", dir, tlg_manifest_at(m, 0)->vector.id);
  write_bytes(path, crc, strlen(crc));
  snprintf(path, sizeof path, "%s/manifest.json", dir);
  write_bytes(path, text, strlen(text));
  tlg_manifest_free(m);
  free(changes);
  free(crc);
  free(text);
  if (tlg_manifest_load(&m, dir, 0, &err)) {
    fail_msg("%s", err.text);
  }
  assert_int_equal(tlg_manifest_at(m, 0)->expect.outputs, (1300 * 768 + 624) / 625);
  tlg_manifest_free(m);
  b = read_bytes(path, &n);
  b[n < 1 << 20 ? n : (1 << 20) - 1] = 0;
  assert_non_null(strstr(b, "A longer input for the test."));
  free(b);
  /* accepting again changes nothing */
  assert_int_equal(tlg_manifest_load(&m, dir, TLG_MANIFEST_UNSEALED, &err), 0);
  assert_int_equal(tlg_manifest_accept(m, 0, &changes, &crc, &err), 0);
  assert_string_equal(changes, "");
  free(changes);
  free(crc);
  tlg_manifest_free(m);
  remove_tree(dir);
}

static void test_tolerances(void **state)
{
  struct tlg_tolerance t;

  (void)state;
  assert_int_equal(tlg_tolerance_parse(&t, "exact"), 0);
  assert_int_equal(t.kind, TLG_TOLERANCE_EXACT);
  assert_int_equal(tlg_tolerance_parse(&t, "2 LSB"), 0);
  assert_true(t.kind == TLG_TOLERANCE_LSB && t.lsb == 2);
  assert_int_equal(tlg_tolerance_parse(&t, "60.5 dB"), 0);
  assert_true(t.kind == TLG_TOLERANCE_DB && t.db > 60.4 && t.db < 60.6);
  assert_int_equal(tlg_tolerance_parse(&t, "1.5 LSB"), TLG_EINVAL);
  assert_int_equal(tlg_tolerance_parse(&t, "60"), TLG_EINVAL);
  assert_int_equal(tlg_tolerance_parse(&t, "-1 dB"), TLG_EINVAL);
  assert_int_equal(tlg_tolerance_parse(&t, "nan dB"), TLG_EINVAL);
  assert_int_equal(tlg_tolerance_parse(&t, ""), TLG_EINVAL);
  assert_true(t.kind == TLG_TOLERANCE_DB); /* untouched on failure */
}

/* The plain list must describe the same vectors as the manifest. */
static void test_plain_list_reads_back(void **state)
{
  size_t i;

  (void)state;
  for (i = 0; i < tlg_manifest_size(manifest); i++) {
    char *text = tlg_manifest_plain(manifest, i);
    const char *at_text = text;
    struct tlg_vector v;
    struct tlg_error err = {.offset = UINT64_MAX};
    unsigned line = 0;

    assert_non_null(text);
    if (tlg_vector_read(&v, &at_text, &line, &err) != 1) {
      fail_msg("%s", err.text);
    }
    assert_memory_equal(&v, &tlg_manifest_at(manifest, i)->vector, sizeof v);
    assert_int_equal(tlg_vector_read(&v, &at_text, &line, &err), 0);
    free(text);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_hashes_of_known_bytes),
      cmocka_unit_test(test_every_expectation_from_a_plain_convolution),
      cmocka_unit_test(test_simple_inputs_from_their_formulae),
      cmocka_unit_test(test_formula_taps),
      cmocka_unit_test(test_worst_inputs_reach_the_extremes_of_every_phase),
      cmocka_unit_test(test_the_set_covers_what_was_asked),
      cmocka_unit_test(test_the_manifest_follows_its_schema),
      cmocka_unit_test(test_schema_and_reader_refuse_what_is_wrong),
      cmocka_unit_test(test_damage_is_reported),
      cmocka_unit_test(test_accept_restores_and_keeps_the_reason),
      cmocka_unit_test(test_tolerances),
      cmocka_unit_test(test_plain_list_reads_back),
  };

  return cmocka_run_group_tests(tests, load, unload);
}
