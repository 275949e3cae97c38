/* SPDX-License-Identifier: Apache-2.0 */
/* The streaming resampler against its definition: cuts, borders, delay, counters, gaps, flush, refusals. */
#include "kernel_cases.h"

#include <setjmp.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/seccomp.h>

#include <cmocka.h>

/* ---- allocations --------------------------------------------------------------------------------------------------
 */

static unsigned long allocations;

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void __real_free(void *p);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void __wrap_free(void *p);

void *__wrap_malloc(size_t size)
{
  allocations++;
  return __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
  allocations++;
  return __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t size)
{
  allocations++;
  return __real_realloc(p, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
  allocations++;
  return __real_aligned_alloc(alignment, size);
}

void __wrap_free(void *p)
{
  allocations++;
  __real_free(p);
}

/* ---- helpers -------------------------------------------------------------------------------------------------------
 */

static const enum tlg_cpu levels[] = {TLG_CPU_C,      TLG_CPU_SSE2, TLG_CPU_AVX2,
                                      TLG_CPU_AVX512, TLG_CPU_VNNI, TLG_CPU_NEON};
#define N_LEVELS (sizeof levels / sizeof *levels)

/* Taps whose phases each sum to 2^14, of either sign, without symmetry. */
static struct tlg_taps unity_taps(uint32_t up, size_t n)
{
  struct tlg_taps t = {calloc(n, sizeof(int16_t)), n, up, 14};
  size_t p, k;

  assert_non_null(t.h);
  kc_state = 7 * up + n;
  for (p = 0; p < up && p < n; p++) {
    const size_t per_phase = (n - p + up - 1) / up, middle = p + per_phase / 2 * up;
    const unsigned most = (unsigned)(16000 / per_phase < 1000 ? 16000 / per_phase : 1000);
    int sum = 0;

    for (k = p; k < n; k += up) {
      t.h[k] = (int16_t)((int)kc_below(2 * most + 1) - (int)most);
      sum += t.h[k];
    }
    t.h[middle] = (int16_t)(t.h[middle] + 16384 - sum);
  }
  return t;
}

/* A triangle of half width M around `centre`, or around centre + 1/2: its samples at any places M apart sum to M (or
 * 2M) with their centroid at its centre, exactly. So the centroid of an impulse's response is the delay. */
static struct tlg_taps triangle_taps(uint32_t up, uint32_t down, size_t n)
{
  struct tlg_taps t = {calloc(n, sizeof(int16_t)), n, up, 14};
  const int centre = (int)(n - 1) / 2;
  int k, c;

  assert_non_null(t.h);
  for (c = centre; c <= (int)(n / 2); c++) {
    for (k = 0; k < (int)n; k++) {
      const int height = (int)down - abs(k - c);

      t.h[k] = (int16_t)(t.h[k] + (height > 0 ? height : 0));
    }
  }
  return t;
}

static struct tlg_resamp *resampler(const struct tlg_taps *taps, uint32_t up, uint32_t down, int align,
                                    enum tlg_cpu cpu)
{
  const struct tlg_resamp_cfg cfg = {.up = up, .down = down, .taps = taps, .align = align, .cpu = cpu};
  struct tlg_error err;
  struct tlg_resamp *r = NULL;

  if (tlg_resamp_new(&r, &cfg, &err) != 0) {
    fail_msg("%s", err.text);
  }
  return r;
}

static void noise(tlg_cs16 *x, size_t n, uint64_t seed)
{
  kc_state = seed;
  for (; n; n--, x++) {
    x->i = (int16_t)kc_random();
    x->q = (int16_t)kc_random();
  }
}

/* Output m of a stream that holds x at [at, at + n) and zeros elsewhere; nearest, S = 14. */
static tlg_cs16 formula(const struct tlg_taps *t, uint32_t down, uint64_t q0, const tlg_cs16 *x, uint64_t at, size_t n,
                        uint64_t m)
{
  const unsigned __int128 q = (unsigned __int128)m * down + q0;
  const uint64_t p = (uint64_t)(q % t->up);
  uint64_t i = (uint64_t)(q / t->up), k;
  int64_t acc[2] = {8192, 8192};
  int16_t y[2];
  int c;

  for (k = p; k < t->n && i >= at; k += t->up, i--) {
    if (i - at < n) {
      acc[0] += (int64_t)t->h[k] * x[i - at].i;
      acc[1] += (int64_t)t->h[k] * x[i - at].q;
    }
    if (i == 0) {
      break;
    }
  }
  for (c = 0; c < 2; c++) {
    const int64_t v = acc[c] >= 0 ? acc[c] / 16384 : -((-acc[c] + 16383) / 16384);

    y[c] = (int16_t)(v > 32767 ? 32767 : v < -32768 ? -32768 : v);
  }
  return (tlg_cs16){y[0], y[1]};
}

/* Whole input in packets of the sizes that next(k) gives; then the flush. Returns the number of outputs. */
static size_t run_cut(struct tlg_resamp *r, const tlg_cs16 *in, size_t n, tlg_cs16 *out, size_t cap,
                      size_t (*next)(unsigned k), int flush)
{
  size_t at = 0, done = 0, got;
  unsigned k = 0;

  while (at < n) {
    size_t part = next(k++);

    part = part < n - at ? part : n - at;
    assert_int_equal(tlg_resamp_process(r, in + at, part, out + done, cap - done, &got), 0);
    at += part;
    done += got;
  }
  if (flush) {
    assert_int_equal(tlg_resamp_flush(r, out + done, cap - done, &got), 0);
    done += got;
  }
  return done;
}

static size_t cut_whole(unsigned k)
{
  (void)k;
  return 6250;
}

static size_t cut_1(unsigned k)
{
  (void)k;
  return 1;
}

static size_t cut_7(unsigned k)
{
  (void)k;
  return 7;
}

static size_t cut_362(unsigned k)
{
  (void)k;
  return 362;
}

static size_t cut_364(unsigned k)
{
  (void)k;
  return 364;
}

static size_t cut_625(unsigned k)
{
  (void)k;
  return 625;
}

static size_t cut_1996(unsigned k)
{
  (void)k;
  return 1996;
}

static size_t cut_random(unsigned k)
{
  return k % 3 == 1 ? 0 : kc_below(k % 5 == 0 ? 700 : 40);
}

/* ---- cuts ----------------------------------------------------------------------------------------------------------
 */

static void cuts_change_no_byte(void **state)
{
  static size_t (*const cuts[])(unsigned) = {cut_whole, cut_625, cut_362, cut_364, cut_1996, cut_1, cut_7, cut_random};
  static tlg_cs16 in[6250], want[8000], got[8000];
  struct tlg_taps t = unity_taps(768, 12287);
  size_t k, c, l, n_want;
  int align;

  (void)state;
  for (k = 0; k < 6250; k++) { /* a chirp over the whole band */
    double cosine, sine;

    tlg_cos_sin(k * k % 12500, 12500, &cosine, &sine);
    in[k].i = (int16_t)(30000 * cosine);
    in[k].q = (int16_t)(30000 * sine);
  }
  for (align = 0; align < 2; align++) {
    const uint64_t q0 = align ? 6143 : 0;
    const size_t total = align ? 7680 : (6249 * 768 + 12286) / 625 + 1;

    n_want = total;
    for (k = 0; k < total; k++) {
      want[k] = formula(&t, 625, q0, in, 0, 6250, k);
    }
    for (l = 0; l < N_LEVELS; l++) {
      struct tlg_resamp *r;

      if (!tlg_cpu_available(levels[l])) {
        continue;
      }
      r = resampler(&t, 768, 625, align, levels[l]);
      assert_int_equal(tlg_resamp_cpu(r), levels[l]);
      for (c = 0; c < sizeof cuts / sizeof *cuts; c++) {
        tlg_resamp_reset(r);
        memset(got, 0x55, sizeof got);
        kc_state = 99;
        assert_int_equal(run_cut(r, in, 6250, got, 8000, cuts[c], 1), n_want);
        assert_memory_equal(got, want, n_want * sizeof *got);
      }
      tlg_resamp_free(r);
    }
  }
  tlg_taps_free(&t);
}

/* Negative control: a chain that forgets its history at each border must not pass the comparison. */
static void forgotten_history_is_noticed(void **state)
{
  static tlg_cs16 in[1810], want[3000], got[3000];
  struct tlg_taps t = unity_taps(768, 12287);
  struct tlg_resamp *r = resampler(&t, 768, 625, 0, TLG_CPU_AUTO);
  size_t at, done = 0, n, k, differ = 0;

  (void)state;
  noise(in, 1810, 1);
  assert_int_equal(run_cut(r, in, 1810, want, 3000, cut_whole, 0), (1810 * 768 + 624) / 625);
  for (at = 0; at < 1810; at += 362) {
    uint64_t skipped;

    tlg_resamp_reset(r);
    assert_int_equal(tlg_resamp_skip(r, at, &skipped), 0);
    assert_int_equal(skipped, done);
    assert_int_equal(tlg_resamp_process(r, in + at, 362, got + done, 3000 - done, &n), 0);
    done += n;
  }
  for (k = 0; k < done; k++) {
    differ += memcmp(&got[k], &want[k], sizeof *got) != 0;
  }
  /* About 15 samples of history, 18.4 outputs, at each of four borders. */
  assert_in_range(differ, 4 * 15, 4 * 20);
  tlg_resamp_free(r);
  tlg_taps_free(&t);
}

/* Negative control: two phases swapped. */
static void swapped_phases_are_noticed(void **state)
{
  static tlg_cs16 in[625], want[800], got[800];
  struct tlg_taps t = unity_taps(768, 12287);
  struct tlg_resamp *r = resampler(&t, 768, 625, 0, TLG_CPU_AUTO);
  size_t n, k, differ = 0;

  (void)state;
  noise(in, 625, 2);
  assert_int_equal(tlg_resamp_process(r, in, 625, want, 800, &n), 0);
  tlg_resamp_free(r);
  for (k = 0; k + 100 < t.n; k += 768) {
    const int16_t h = t.h[k + 5];

    t.h[k + 5] = t.h[k + 6];
    t.h[k + 6] = h;
  }
  r = resampler(&t, 768, 625, 0, TLG_CPU_AUTO);
  assert_int_equal(tlg_resamp_process(r, in, 625, got, 800, &n), 0);
  for (k = 0; k < n; k++) {
    differ += memcmp(&got[k], &want[k], sizeof *got) != 0;
  }
  assert_in_range(differ, 1, 2); /* each phase comes once in 768 outputs */
  tlg_resamp_free(r);
  tlg_taps_free(&t);
}

static void constant_stays_constant_over_borders(void **state)
{
  static tlg_cs16 in[362 * 12], out[6000];
  struct tlg_taps t = unity_taps(768, 12287);
  size_t l, k, n;

  (void)state;
  for (k = 0; k < sizeof in / sizeof *in; k++) {
    in[k] = (tlg_cs16){20000, -20000};
  }
  for (l = 0; l < N_LEVELS; l++) {
    struct tlg_resamp *r;

    if (!tlg_cpu_available(levels[l])) {
      continue;
    }
    r = resampler(&t, 768, 625, 0, levels[l]);
    n = run_cut(r, in, sizeof in / sizeof *in, out, 6000, cut_362, 0);
    /* More than 4 * 768 outputs: every phase several times. */
    for (k = 20; k < n; k++) {
      assert_int_equal(out[k].i, 20000);
      assert_int_equal(out[k].q, -20000);
    }
    tlg_resamp_free(r);
  }
  tlg_taps_free(&t);
}

/* Each phase alone: one tap per phase with its own gain comes out as that gain. */
static void each_phase_has_its_own_taps(void **state)
{
  static tlg_cs16 in[1300], out[1700];
  struct tlg_taps t = {calloc(768 * 3, 2), 768 * 3, 768, 14};
  struct tlg_resamp *r;
  size_t k, n;

  (void)state;
  for (k = 0; k < 768; k++) { /* asymmetric: 3k + 1 on the newest sample, -k on the oldest */
    t.h[k] = (int16_t)(3 * k + 1);
    t.h[k + 2 * 768] = (int16_t) - (int)k;
  }
  for (k = 0; k < 1300; k++) {
    in[k] = (tlg_cs16){16384, (int16_t)(k % 2 ? 16384 : 0)};
  }
  r = resampler(&t, 768, 625, 0, TLG_CPU_AUTO);
  assert_int_equal(tlg_resamp_process(r, in, 1300, out, 1700, &n), 0);
  for (k = 3; k < n; k++) {
    const int p = (int)(k * 625 % 768), odd = (int)(k * 625 / 768 % 2);

    assert_int_equal(out[k].i, 2 * p + 1);
    assert_int_equal(out[k].q, odd ? 2 * p + 1 : 0);
  }
  tlg_resamp_free(r);
  tlg_taps_free(&t);
}

static void reversed_taps_are_noticed(void **state)
{
  static tlg_cs16 in[50], out[80];
  struct tlg_taps t = unity_taps(768, 12287);
  struct tlg_resamp *r = resampler(&t, 768, 625, 0, TLG_CPU_AUTO);
  size_t k, n, differ = 0;

  (void)state;
  assert_false(tlg_taps_symmetric(&t));
  noise(in, 50, 3);
  assert_int_equal(tlg_resamp_process(r, in, 50, out, 80, &n), 0);
  for (k = 0; k < n; k++) {
    const tlg_cs16 y = formula(&t, 625, 0, in, 0, 50, k);

    assert_memory_equal(&y, &out[k], sizeof y);
  }
  for (k = 0; k < t.n / 2; k++) {
    const int16_t h = t.h[k];

    t.h[k] = t.h[t.n - 1 - k];
    t.h[t.n - 1 - k] = h;
  }
  for (k = 0; k < n; k++) {
    const tlg_cs16 y = formula(&t, 625, 0, in, 0, 50, k);

    differ += memcmp(&y, &out[k], sizeof y) != 0;
  }
  assert_true(differ > n / 2);
  tlg_resamp_free(r);
  tlg_taps_free(&t);
}

/* ---- ends and delay -------------------------------------------------------------------------------------------------
 */

static void last_sample_comes_out_whole(void **state)
{
  static tlg_cs16 in[1000], out[1400];
  struct tlg_taps t = unity_taps(768, 12287);
  size_t l, n, more, k, piece;

  (void)state;
  in[999] = (tlg_cs16){16384, -16384}; /* 2^S: taps come out as they are */
  for (l = 0; l < N_LEVELS; l++) {
    for (piece = 1; piece < 40; piece += 6) {
      struct tlg_resamp *r;

      if (!tlg_cpu_available(levels[l])) {
        continue;
      }
      r = resampler(&t, 768, 625, 0, levels[l]);
      assert_int_equal(tlg_resamp_process(r, in, 1000, out, 1400, &n), 0);
      assert_int_equal(tlg_resamp_flush_bound(r), (999 * 768 + 12286) / 625 + 1 - n);
      do {
        assert_int_equal(tlg_resamp_flush(r, out + n, piece, &more), 0);
        n += more;
      } while (more);
      assert_int_equal(n, (999 * 768 + 12286) / 625 + 1);
      for (k = 0; k < n; k++) {
        const int64_t at = (int64_t)k * 625 - 999 * 768;
        const int16_t h = at >= 0 && at < 12287 ? t.h[at] : 0;

        assert_int_equal(out[k].i, h);
        assert_int_equal(out[k].q, -h);
      }
      /* The next output would be past the prototype's end. */
      assert_true((int64_t)n * 625 - 999 * 768 >= 12287);
      assert_int_equal(tlg_resamp_process(r, in, 1, out, 1400, &more), TLG_EINVAL);
      assert_int_equal(tlg_resamp_skip(r, 1, NULL), TLG_EINVAL);
      tlg_resamp_reset(r);
      assert_int_equal(tlg_resamp_process(r, in, 1, out, 1400, &more), 0);
      assert_int_equal(more, 2);
      tlg_resamp_free(r);
    }
  }
  tlg_taps_free(&t);
}

static void nothing_in_nothing_out(void **state)
{
  struct tlg_taps t = unity_taps(768, 12287);
  tlg_cs16 out[4];
  size_t got = 9;
  int align;

  (void)state;
  for (align = 0; align < 2; align++) {
    struct tlg_resamp *r = resampler(&t, 768, 625, align, TLG_CPU_AUTO);

    assert_int_equal(tlg_resamp_process(r, NULL, 0, NULL, 0, &got), 0);
    assert_int_equal(got, 0);
    assert_int_equal(tlg_resamp_bound(r, 0), 0);
    assert_int_equal(tlg_resamp_flush_bound(r), 0);
    assert_int_equal(tlg_resamp_flush(r, out, 4, &got), 0);
    assert_int_equal(got, 0);
    tlg_resamp_free(r);
  }
  tlg_taps_free(&t);
}

/* The measured delay, as an exact fraction, is the stated one: triangles have exact centroids. */
static void stated_delay_is_the_measured_one(void **state)
{
  static const struct {
    uint32_t up, down;
    size_t n;
    int align;
    unsigned num, den; /* stated */
  } cases[] = {
      {768, 625, 1249, 0, 624, 625},
      {768, 625, 12287, 0, 6143, 625},
      {768, 625, 12287, 1, 0, 1},
      {768, 625, 10000, 0, 9999, 1250},
      {768, 625, 10001, 0, 8, 1},
      {768, 625, 10000, 1, 1, 1250},
      {768, 625, 10001, 1, 0, 1},
      {8, 5, 81, 0, 8, 1},
      {8, 5, 80, 0, 79, 10},
      {625, 768, 12001, 0, 125, 16},
      {1, 1, 3, 0, 1, 1},
      {3072, 3125, 9001, 0, 36, 25},
      {48, 625, 1999, 0, 999, 625},
  };
  static const unsigned impulses[] = {0, 700};
  static tlg_cs16 in[2000], out[4000];
  size_t c, e, k, n, more;

  (void)state;
  for (c = 0; c < sizeof cases / sizeof *cases; c++) {
    struct tlg_taps t = triangle_taps(cases[c].up, cases[c].down, cases[c].n);
    struct tlg_resamp *r = resampler(&t, cases[c].up, cases[c].down, cases[c].align, TLG_CPU_AUTO);
    struct tlg_rate delay;

    assert_true(tlg_taps_symmetric(&t));
    tlg_resamp_delay(r, &delay);
    assert_int_equal(delay.num, cases[c].num);
    assert_int_equal(delay.den, cases[c].den);
    for (e = 0; e < 2; e++) {
      /* An aligned impulse at 0 loses what stands before the start: use a later one. */
      const unsigned at = cases[c].align && impulses[e] == 0 ? 50 : impulses[e];
      int64_t sum = 0, moment = 0;

      memset(in, 0, sizeof in);
      in[at].i = 16384;
      tlg_resamp_reset(r);
      assert_int_equal(tlg_resamp_process(r, in, 1000, out, 4000, &n), 0);
      assert_int_equal(tlg_resamp_flush(r, out + n, 4000 - n, &more), 0);
      for (k = 0; k < n + more; k++) {
        sum += out[k].i;
        moment += (int64_t)k * out[k].i;
      }
      assert_int_equal(sum, cases[c].down * (cases[c].n % 2 ? 1 : 2));
      /* centroid = at * L / M + sign * delay: moment / sum * M * den = at * L * den + sign * num * M. An aligned even
       * prototype leads by nothing and lags by half a prototype sample. */
      assert_int_equal(moment * cases[c].down * (int64_t)delay.den,
                       sum * ((int64_t)at * cases[c].up * (int64_t)delay.den + (int64_t)(delay.num * cases[c].down)));
    }
    tlg_resamp_free(r);
    tlg_taps_free(&t);
  }
}

/* ---- counters -------------------------------------------------------------------------------------------------------
 */

static void counters_near_powers_of_two(void **state)
{
  static const uint64_t starts[] = {((uint64_t)1 << 31) - 300, ((uint64_t)1 << 32) - 300, ((uint64_t)1 << 53) - 300,
                                    ((uint64_t)1 << 60) + 12345, 3000000001u};
  static const uint32_t ratios[][2] = {{768, 625}, {625, 768}, {65535, 65534}, {48, 625}, {8, 5}};
  static tlg_cs16 in[700], out[1200];
  size_t s, c, l, k, n;
  int align;

  (void)state;
  noise(in, 700, 4);
  for (c = 0; c < sizeof ratios / sizeof *ratios; c++) {
    const uint32_t up = ratios[c][0], down = ratios[c][1];
    struct tlg_taps t = unity_taps(up, (size_t)up * 16 - 3);

    for (l = 0; l < 2 * N_LEVELS; l++) {
      struct tlg_resamp *r;
      uint64_t q0;

      align = l % 2;
      q0 = align ? (t.n - 1) / 2 : 0;
      if (!tlg_cpu_available(levels[l / 2])) {
        continue;
      }
      r = resampler(&t, up, down, align, levels[l / 2]);
      for (s = 0; s < sizeof starts / sizeof *starts; s++) {
        const uint64_t at = starts[s];
        const uint64_t before = (uint64_t)(((unsigned __int128)at * up - 1 - q0) / down + 1); /* outputs of at inputs */
        uint64_t skipped, n_in, n_out;

        tlg_resamp_reset(r);
        assert_int_equal(tlg_resamp_skip(r, at, &skipped), 0);
        assert_true(skipped == before);
        assert_int_equal(tlg_resamp_process(r, in, 700, out, 1200, &n), 0);
        assert_true(n == (uint64_t)(((unsigned __int128)(at + 700) * up - 1 - q0) / down + 1) - before);
        tlg_resamp_position(r, &n_in, &n_out);
        assert_true(n_in == at + 700 && n_out == before + n);
        for (k = 0; k < n; k++) {
          const tlg_cs16 y = formula(&t, down, q0, in, at, 700, before + k);

          assert_memory_equal(&y, &out[k], sizeof y);
        }
      }
      tlg_resamp_free(r);
    }
    tlg_taps_free(&t);
  }
}

static void counters_do_not_overflow(void **state)
{
  struct tlg_taps t = unity_taps(768, 12287);
  struct tlg_resamp *r = resampler(&t, 768, 625, 0, TLG_CPU_AUTO);
  const uint64_t most = (uint64_t)1 << 62;
  uint64_t skipped = 77, n_in, n_out;
  tlg_cs16 x = {0, 0}, out[4];
  size_t got;

  (void)state;
  assert_int_equal(tlg_resamp_skip(r, UINT64_MAX, &skipped), TLG_EINVAL);
  assert_int_equal(tlg_resamp_skip(r, most, &skipped), TLG_EINVAL); /* more outputs than 2^62 */
  assert_true(skipped == 77);
  tlg_resamp_position(r, &n_in, &n_out);
  assert_true(n_in == 0 && n_out == 0);
  /* The last input whose outputs still fit. */
  assert_int_equal(tlg_resamp_skip(r, (uint64_t)((unsigned __int128)most * 625 / 768), &skipped), 0);
  assert_true(skipped <= most && skipped > most - 2);
  assert_int_equal(tlg_resamp_process(r, &x, 1, out, 4, &got), TLG_EINVAL);
  tlg_resamp_free(r);
  tlg_taps_free(&t);
}

static void skip_equals_zeros_left_out(void **state)
{
  static const unsigned gaps[] = {0, 1, 2, 14, 15, 16, 17, 100, 625, 1009, 5000, 70000};
  static const uint32_t ratios[][2] = {{768, 625}, {625, 768}, {8, 5}, {1, 3}};
  static tlg_cs16 in[400], zeros[70000], a[90000], b[90000];
  size_t g, c, l, n, m, k;

  (void)state;
  noise(in, 400, 5);
  for (c = 0; c < sizeof ratios / sizeof *ratios; c++) {
    struct tlg_taps t = unity_taps(ratios[c][0], (size_t)ratios[c][0] * 16);

    for (l = 0; l < N_LEVELS; l++) {
      struct tlg_resamp *filled, *gapped;

      if (!tlg_cpu_available(levels[l])) {
        continue;
      }
      filled = resampler(&t, ratios[c][0], ratios[c][1], l % 2, levels[l]);
      gapped = resampler(&t, ratios[c][0], ratios[c][1], l % 2, levels[l]);
      for (g = 0; g < sizeof gaps / sizeof *gaps; g++) {
        uint64_t skipped, in_1, in_2, out_1, out_2;

        for (k = 0; k < 2; k++) { /* before the gap, after the gap */
          assert_int_equal(tlg_resamp_process(filled, in, 400, a, 90000, &n), 0);
          assert_int_equal(tlg_resamp_process(gapped, in, 400, b, 90000, &m), 0);
          assert_int_equal(n, m);
          assert_memory_equal(a, b, n * sizeof *a);
          if (k == 0) {
            size_t at, total = 0;

            for (at = 0; at < gaps[g]; at += 50000) {
              const size_t part = gaps[g] - at < 50000 ? gaps[g] - at : 50000;

              assert_int_equal(tlg_resamp_process(filled, zeros, part, a, 90000, &n), 0);
              total += n;
            }
            assert_int_equal(tlg_resamp_skip(gapped, gaps[g], &skipped), 0);
            assert_int_equal(skipped, total);
          }
        }
        tlg_resamp_position(filled, &in_1, &out_1);
        tlg_resamp_position(gapped, &in_2, &out_2);
        assert_true(in_1 == in_2 && out_1 == out_2);
      }
      tlg_resamp_free(filled);
      tlg_resamp_free(gapped);
    }
    tlg_taps_free(&t);
  }
}

/* Flush at any place and ratio gives what the formula says, zeros fed. */
static void flush_follows_the_formula(void **state)
{
  static const uint32_t ratios[][2] = {{768, 625}, {625, 768}, {48, 625}, {1, 1}, {8, 5}, {1, 7}, {5, 1}};
  static const unsigned lengths[] = {1, 2, 17, 300, 1200};
  static tlg_cs16 in[1200], out[9000];
  size_t c, s, k, n, more, taps;
  int align;

  (void)state;
  noise(in, 1200, 6);
  for (c = 0; c < sizeof ratios / sizeof *ratios; c++) {
    const uint32_t up = ratios[c][0], down = ratios[c][1];

    for (taps = 0; taps < 3; taps++) {
      /* Fewer taps than phases; an even number; a long filter. */
      struct tlg_taps t = unity_taps(up, taps == 0 ? (up + 1) / 2 : taps == 1 ? up * 14 : up * 200 - up / 2);

      for (align = 0; align < 2; align++) {
        struct tlg_resamp *r = resampler(&t, up, down, align, TLG_CPU_AUTO);

        for (s = 0; s < sizeof lengths / sizeof *lengths; s++) {
          const uint64_t q0 = align ? (t.n - 1) / 2 : 0;
          uint64_t total = align ? ((uint64_t)lengths[s] * up + down - 1) / down
                                 : ((uint64_t)(lengths[s] - 1) * up + t.n - 1) / down + 1;
          uint64_t bound;

          tlg_resamp_reset(r);
          assert_int_equal(tlg_resamp_process(r, in, lengths[s], out, 9000, &n), 0);
          total = total < n ? n : total;
          bound = tlg_resamp_flush_bound(r);
          assert_int_equal(n + bound, total);
          assert_true(total <= 9000);
          assert_int_equal(tlg_resamp_flush(r, out + n, 9000 - n, &more), 0);
          assert_int_equal(more, bound);
          assert_int_equal(tlg_resamp_flush_bound(r), 0);
          for (k = 0; k < total; k++) {
            const tlg_cs16 y = formula(&t, down, q0, in, 0, lengths[s], k);

            assert_memory_equal(&y, &out[k], sizeof y);
          }
        }
        tlg_resamp_free(r);
      }
      tlg_taps_free(&t);
    }
  }
}

/* ---- interface ------------------------------------------------------------------------------------------------------
 */

static void one_output_short_is_refused(void **state)
{
  static tlg_cs16 in[362], out[446], want[445], untouched[446];
  struct tlg_taps t = unity_taps(768, 12287);
  struct tlg_resamp *r = resampler(&t, 768, 625, 0, TLG_CPU_AUTO);
  uint64_t n_in, n_out;
  size_t got = 12345, k;

  (void)state;
  noise(in, 362, 8);
  for (k = 0; k < 445; k++) {
    want[k] = formula(&t, 625, 0, in, 0, 362, k);
  }
  memset(out, 0x77, sizeof out);
  memset(untouched, 0x77, sizeof untouched);
  assert_int_equal(tlg_resamp_bound(r, 362), 445);
  assert_int_equal(tlg_resamp_process(r, in, 362, out, 444, &got), TLG_ESPACE);
  assert_int_equal(got, 12345);
  assert_memory_equal(out, untouched, sizeof out);
  tlg_resamp_position(r, &n_in, &n_out);
  assert_true(n_in == 0 && n_out == 0);
  assert_int_equal(tlg_resamp_process(r, in, 362, out, 445, &got), 0);
  assert_int_equal(got, 445);
  assert_memory_equal(out, want, sizeof want);
  assert_memory_equal(out + 445, untouched, sizeof *out);
  tlg_resamp_free(r);
  tlg_taps_free(&t);
}

static void common_factors_are_taken_out(void **state)
{
  static const uint32_t ratios[][2] = {{768, 625}, {1536, 1250}, {0, 0}};
  static tlg_cs16 in[2000], want[2500], got[2500];
  struct tlg_taps t = unity_taps(768, 12287);
  size_t c, n, n_want = 0;

  (void)state;
  noise(in, 2000, 9);
  for (c = 0; c < 3; c++) {
    uint32_t up = ratios[c][0], down = ratios[c][1];
    struct tlg_resamp *r;

    if (!up) {
      const struct tlg_rate a = {25000000, 1}, b = {30720000, 1};

      assert_int_equal(tlg_rate_ratio(&a, &b, &up, &down), 0);
    }
    r = resampler(&t, up, down, 0, TLG_CPU_AUTO);
    tlg_resamp_ratio(r, &up, &down);
    assert_int_equal(up, 768);
    assert_int_equal(down, 625);
    assert_true((double)up / down == 1.2288);
    n = run_cut(r, in, 2000, c ? got : want, 2500, cut_362, 1);
    n_want = c ? n_want : n;
    assert_int_equal(n, n_want);
    if (c) {
      assert_memory_equal(got, want, n * sizeof *got);
    }
    tlg_resamp_free(r);
  }
  tlg_taps_free(&t);
}

/* The numbers of outputs follow the formula packet by packet: no saw-tooth in time stamps made from them. */
static void outputs_follow_inputs_at_once(void **state)
{
  static tlg_cs16 in[362], out[500];
  struct tlg_taps t = unity_taps(768, 12287);
  struct tlg_resamp *r = resampler(&t, 768, 625, 0, TLG_CPU_AUTO);
  uint64_t k, n_in, n_out;
  size_t got;

  (void)state;
  for (k = 1; k <= 2000; k++) {
    assert_int_equal(tlg_resamp_process(r, in, 362, out, 500, &got), 0);
    tlg_resamp_position(r, &n_in, &n_out);
    assert_int_equal(n_in, k * 362);
    assert_int_equal(n_out, (k * 362 * 768 + 624) / 625);
  }
  tlg_resamp_free(r);
  tlg_taps_free(&t);
}

static void rounding_at_the_edges(void **state)
{
  static const struct {
    int16_t h, x, nearest, usrpl0;
  } cases[] = {
      {32767, 32767, 32767, -4},   /* 1073676289 / 16384 = 65532.0002 */
      {32767, -32768, -32768, 2},  /* -65534 */
      {-32767, -32768, 32767, -2}, /* 65534 */
      {8192, 1, 1, 0},             /* one half goes up */
      {8192, -1, 0, -1},           /* minus one half as well */
      {8192, 3, 2, 1},             /* 1.5 */
      {8192, -3, -1, -2},          /* -1.5 */
      {8191, 1, 0, 0},             /* below one half */
      {16384, -32768, -32768, -32768},
      {16384, 32767, 32767, 32767},
      {0, 1234, 0, 0},
      {1, -1, 0, -1},
  };
  size_t c, l, n;

  (void)state;
  for (c = 0; c < sizeof cases / sizeof *cases; c++) {
    int16_t h = cases[c].h;
    const struct tlg_taps t = {&h, 1, 1, 14};
    tlg_cs16 in[40], out[40];

    for (n = 0; n < 40; n++) {
      in[n] = (tlg_cs16){cases[c].x, 0};
    }
    for (l = 0; l < 2 * N_LEVELS; l++) {
      const struct tlg_resamp_cfg cfg = {.up = 1,
                                         .down = 1,
                                         .taps = &t,
                                         .cpu = levels[l / 2],
                                         .rounding = l % 2 ? TLG_ROUND_USRPL0 : TLG_ROUND_NEAREST};
      struct tlg_resamp *r;

      if (!tlg_cpu_available(levels[l / 2])) {
        continue;
      }
      assert_int_equal(tlg_resamp_new(&r, &cfg, NULL), 0);
      assert_int_equal(tlg_resamp_process(r, in, 40, out, 40, &n), 0);
      assert_int_equal(n, 40);
      for (n = 0; n < 40; n++) {
        assert_int_equal(out[n].i, l % 2 ? cases[c].usrpl0 : cases[c].nearest);
        assert_int_equal(out[n].q, 0);
      }
      tlg_resamp_free(r);
    }
  }
}

static void wrong_arguments_are_refused(void **state)
{
  static const uint32_t ratios[][2] = {{0, 625}, {768, 0}, {65536, 625}, {768, 65536}};
  static tlg_cs16 in[100], out[200];
  struct tlg_taps t = unity_taps(768, 12287);
  struct tlg_resamp_cfg cfg = {.up = 768, .down = 625, .taps = &t, .max_block = 50};
  struct tlg_resamp *r = (void *)&t;
  struct tlg_error err;
  size_t k, got = 5;

  (void)state;
  for (k = 0; k < 4; k++) {
    cfg.up = ratios[k][0];
    cfg.down = ratios[k][1];
    r = (void *)&t;
    assert_int_equal(tlg_resamp_new(&r, &cfg, &err), TLG_EINVAL);
    assert_null(r);
    assert_int_equal(err.status, TLG_EINVAL);
    assert_true(err.text[0] != '\0');
  }
  cfg.up = 384;
  cfg.down = 625;
  assert_int_equal(tlg_resamp_new(&r, &cfg, &err), TLG_ETAPS); /* made for 768 */
  cfg.up = 768;
  cfg.taps = NULL;
  assert_int_equal(tlg_resamp_new(&r, &cfg, &err), TLG_EINVAL);
  cfg.taps = &t;
  cfg.rounding = (enum tlg_rounding)7;
  assert_int_equal(tlg_resamp_new(&r, &cfg, &err), TLG_EINVAL);
  cfg.rounding = TLG_ROUND_NEAREST;
  t.h[0] = -32768;
  assert_int_equal(tlg_resamp_new(&r, &cfg, &err), TLG_ETAPS);
  /* One phase whose magnitudes sum to 65536, one over the limit. */
  t.h[0] = 0;
  for (k = 0; k < t.n; k += 768) {
    t.h[k] = 4096;
  }
  assert_int_equal(tlg_resamp_new(&r, &cfg, &err), TLG_ETAPS);
  t.h[0] = 4095;
  assert_int_equal(tlg_resamp_new(&r, &cfg, NULL), 0);
  assert_int_equal(tlg_resamp_process(r, in, 51, out, 200, &got), TLG_EINVAL);
  assert_int_equal(tlg_resamp_process(r, NULL, 1, out, 200, &got), TLG_EINVAL);
  assert_int_equal(tlg_resamp_process(r, in, 1, NULL, 200, &got), TLG_EINVAL);
  assert_int_equal(tlg_resamp_process(r, in, 1, out, 200, NULL), TLG_EINVAL);
  assert_int_equal(tlg_resamp_process(NULL, in, 1, out, 200, &got), TLG_EINVAL);
  assert_int_equal(got, 5);
  assert_int_equal(tlg_resamp_process(r, in, 50, out, 200, &got), 0);
  assert_int_equal(got, 62);
  tlg_resamp_free(r);
  tlg_resamp_free(NULL);
  tlg_taps_free(&t);
}

static void cpu_names_and_caps(void **state)
{
  static const char *const names[] = {"auto", "c", "sse2", "avx2", "avx512", "vnni", "neon"};
  struct tlg_taps t = unity_taps(8, 128);
  enum tlg_cpu cpu;
  int k, below = TLG_CPU_C;

  (void)state;
  for (k = 0; k < 7; k++) {
    assert_int_equal(tlg_cpu_parse(&cpu, names[k]), 0);
    assert_int_equal(cpu, k);
    assert_string_equal(tlg_cpu_name((enum tlg_cpu)k), names[k]);
  }
  assert_int_equal(tlg_cpu_parse(&cpu, "AVX2"), TLG_EINVAL);
  assert_int_equal(tlg_cpu_parse(&cpu, ""), TLG_EINVAL);
  assert_int_equal(tlg_cpu_parse(&cpu, NULL), TLG_EINVAL);
  assert_true(tlg_cpu_available(TLG_CPU_C));
  for (k = TLG_CPU_C; k <= TLG_CPU_VNNI; k++) {
    struct tlg_resamp *r = resampler(&t, 8, 5, 0, (enum tlg_cpu)k);

    below = tlg_cpu_available((enum tlg_cpu)k) ? k : below;
    assert_int_equal(tlg_resamp_cpu(r), below); /* never above the cap */
    tlg_resamp_free(r);
  }
  if (!tlg_cpu_available(TLG_CPU_NEON)) {
    struct tlg_resamp *r = resampler(&t, 8, 5, 0, TLG_CPU_NEON);

    assert_int_equal(tlg_resamp_cpu(r), TLG_CPU_C); /* a cap of another architecture */
    tlg_resamp_free(r);
  }
  tlg_taps_free(&t);
}

/* Layouts that repeat taps in several lanes must not blow a large filter up. */
static void memory_stays_in_proportion(void **state)
{
  static const uint32_t ratios[][2] = {{65535, 65534}, {65521, 1}, {1, 65535}, {40009, 7}, {768, 625}, {3125, 3072}};
  static const size_t taps[] = {1, 16, 300, 20000};
  size_t c, t, l;

  (void)state;
  for (c = 0; c < sizeof ratios / sizeof *ratios; c++) {
    for (t = 0; t < sizeof taps / sizeof *taps; t++) {
      for (l = 0; l < N_LEVELS; l++) {
        const struct tlg_kernel *kernel = tlg_kernel_choose(levels[l], ratios[c][0], ratios[c][1], taps[t], -1);
        const size_t size = tlg_bank_size(kernel, ratios[c][0], ratios[c][1], taps[t]);
        const size_t plain = ratios[c][0] * (taps[t] + 15) / 16 * 16 * sizeof(int16_t);

        assert_non_null(kernel);
        assert_true(size <= 2 * plain + ((size_t)1 << 20));
      }
    }
  }
}

/* ---- memory and system calls
 * ------------------------------------------------------------------------------------------ */

static void process_allocates_nothing(void **state)
{
  static const uint32_t ratios[][2] = {{768, 625}, {625, 768}, {48, 625}};
  static tlg_cs16 in[2000], out[2600];
  size_t c, l, k, n;

  (void)state;
  for (c = 0; c < 3; c++) {
    struct tlg_taps t = unity_taps(ratios[c][0], (size_t)ratios[c][0] * 16);

    for (l = 0; l < N_LEVELS; l++) {
      struct tlg_resamp *r;
      unsigned long before;

      if (!tlg_cpu_available(levels[l])) {
        continue;
      }
      before = allocations;
      r = resampler(&t, ratios[c][0], ratios[c][1], 0, levels[l]);
      assert_true(allocations > before); /* the counter counts */
      before = allocations;
      for (k = 0; k < 100; k++) {
        assert_int_equal(tlg_resamp_process(r, in, 1 + k * 20, out, 2600, &n), 0);
        assert_int_equal(tlg_resamp_skip(r, k, NULL), 0);
      }
      assert_int_equal(tlg_resamp_flush(r, out, 2600, &n), 0);
      tlg_resamp_reset(r);
      assert_int_equal(tlg_resamp_process(r, in, 2000, out, 2600, &n), 0);
      assert_int_equal(allocations, before);
      tlg_resamp_free(r);
    }
    tlg_taps_free(&t);
  }
}

/* In strict seccomp mode any system call but read, write and exit kills. Returns the child's wait status. */
static int in_jail(struct tlg_resamp *r, const tlg_cs16 *in, tlg_cs16 *out, int call)
{
  const pid_t child = fork();
  int status = -1;
  size_t n, k;

  assert_true(child >= 0);
  if (child == 0) {
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) {
      _exit(77);
    }
    for (k = 0; k < 50; k++) {
      tlg_resamp_process(r, in, 2000 - 40 * k, out, 2600, &n);
    }
    tlg_resamp_flush(r, out, 2600, &n);
    if (call) {
      syscall(SYS_getpid);
    }
    syscall(SYS_exit, 0);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  return status;
}

static void process_makes_no_system_call(void **state)
{
  static tlg_cs16 in[2000], out[2600];
  struct tlg_taps t = unity_taps(768, 12287);
  struct tlg_resamp *r = resampler(&t, 768, 625, 0, TLG_CPU_AUTO);
  int status = in_jail(r, in, out, 0);

  (void)state;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
    tlg_resamp_free(r);
    tlg_taps_free(&t);
    print_message("seccomp is not available here\n");
    skip();
  }
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  status = in_jail(r, in, out, 1); /* the jail holds */
  assert_true(WIFSIGNALED(status));
  tlg_resamp_free(r);
  tlg_taps_free(&t);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(cuts_change_no_byte),
      cmocka_unit_test(forgotten_history_is_noticed),
      cmocka_unit_test(swapped_phases_are_noticed),
      cmocka_unit_test(constant_stays_constant_over_borders),
      cmocka_unit_test(each_phase_has_its_own_taps),
      cmocka_unit_test(reversed_taps_are_noticed),
      cmocka_unit_test(last_sample_comes_out_whole),
      cmocka_unit_test(nothing_in_nothing_out),
      cmocka_unit_test(stated_delay_is_the_measured_one),
      cmocka_unit_test(counters_near_powers_of_two),
      cmocka_unit_test(counters_do_not_overflow),
      cmocka_unit_test(skip_equals_zeros_left_out),
      cmocka_unit_test(flush_follows_the_formula),
      cmocka_unit_test(one_output_short_is_refused),
      cmocka_unit_test(common_factors_are_taken_out),
      cmocka_unit_test(outputs_follow_inputs_at_once),
      cmocka_unit_test(rounding_at_the_edges),
      cmocka_unit_test(wrong_arguments_are_refused),
      cmocka_unit_test(cpu_names_and_caps),
      cmocka_unit_test(memory_stays_in_proportion),
      cmocka_unit_test(process_allocates_nothing),
      cmocka_unit_test(process_makes_no_system_call),
  };

  return cmocka_run_group_tests_name("resampler", tests, NULL, NULL);
}
