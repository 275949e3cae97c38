/* SPDX-License-Identifier: Apache-2.0 */
/* The ofdm signal: the continuous waveform of LTE-like symbols, evaluated exactly at the sample instants of any rate.
 * A symbol's samples are a chirp-z transform of its points (Rabiner, Schafer & Rader 1969): one algorithm for rates
 * that are no multiple of 15 kHz, such as 25 Msps with its 1666 2/3 samples a symbol. */
#include "ofdm.h"

#include "band_limit.h"
#include "exact_fft.h"
#include "oscillator.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  USEFUL = 2048, /* a symbol's useful part, and all times below, in units of 1/30.72 MHz */
  PREFIX_FIRST = 160,
  PREFIX = 144,
  SLOT = 15360,
  SYMBOLS_A_SLOT = 7,
};

struct ofdm {
  struct tlg_signal_cfg cfg;
  struct ofdm_source source; /* points NULL: its own */
  unsigned n_points;         /* = subcarriers; the line of DC stands empty between the two halves */
  unsigned window;
  uint64_t rate_num, rate_den; /* the rate over 30.72 MHz */
  uint64_t cycle, step;        /* phases of a 15 kHz line: step / cycle of a turn a sample */
  struct oscillator turn;      /* period = cycle */
  struct exact_fft *fft;
  int direct;                    /* a useful part is n_fft whole samples: one transform, no chirps */
  size_t n_fft, n_out;           /* n_out: samples that the longest symbol can have, its overlap included */
  size_t *places;                /* direct: of the points in the order of the transform */
  double *rises;                 /* direct: the window, sample by sample */
  double *memory, *re, *im;      /* work */
  double *filter_re, *filter_im; /* spectrum of the chirp, in the order of the transform */
  tlg_cf64 *points, *before, *after;
  double axis[16]; /* coordinate for up to four bits, scaled */

  int64_t symbol; /* what body and tail hold; -2 = nothing */
  int64_t first;  /* sample number of body[0] */
  size_t n_body;
  double *body_re, *body_im; /* the samples from the symbol's start to the next one's start, overlaps added */
  size_t n_tail;
  double *tail_re, *tail_im;       /* what the symbol adds to the samples after them, weighted */
  double *overlap_re, *overlap_im; /* the tail of the symbol before, while the next one is made */

  struct band_limit limit; /* taps NULL: none */
  int64_t limited;         /* the symbol before whose start out[0] stands, by half the filter; -2 = none */
  double *limit_memory;
  double *line_re, *line_im; /* two halves of the filter from the body before, then the body */
  double *out_re, *out_im;   /* n_body samples from half the filter before the body on */
};

uint64_t tlg_ofdm_start(uint64_t l, unsigned *prefix)
{
  const uint64_t i = l % SYMBOLS_A_SLOT;

  if (prefix) {
    *prefix = i ? PREFIX : PREFIX_FIRST;
  }
  return l / SYMBOLS_A_SLOT * SLOT + (i ? PREFIX_FIRST + USEFUL + (i - 1) * (PREFIX + USEFUL) : 0);
}

/* The symbol before the stream's first one exists too: its overlap is heard. */
static int64_t start_of(int64_t l, unsigned *prefix)
{
  if (l < 0) {
    *prefix = PREFIX;
    return -(PREFIX + USEFUL);
  }
  return (int64_t)tlg_ofdm_start((uint64_t)l, prefix);
}

/* Coordinate for the bits of one axis, first bit = sign: 3GPP TS 36.211, 7.1, before scaling. */
static int coordinate(unsigned bits, unsigned n_bits)
{
  int value = 1;
  unsigned i;

  for (i = n_bits; i-- > 1;) {
    value = (1 << (n_bits - i)) - (bits >> i & 1 ? -value : value);
  }
  return bits & 1 ? -value : value;
}

static void set_axis(double *axis, enum tlg_modulation modulation, double rms)
{
  const unsigned n_bits = (unsigned)modulation / 2;
  unsigned i, sum = 0;

  for (i = 0; i < 1u << n_bits; i++) {
    sum += (unsigned)(coordinate(i, n_bits) * coordinate(i, n_bits));
  }
  for (i = 0; i < 1u << n_bits; i++) {
    /* mean square of both axes together = 2 * sum / count */
    axis[i] = rms * coordinate(i, n_bits) / sqrt(2.0 * sum / (1u << n_bits));
  }
}

static void make_points(const struct tlg_signal_cfg *cfg, const double *axis, int64_t l, tlg_cf64 *points)
{
  static const uint32_t purpose = 0x6f66646d;
  const uint64_t n_symbols = cfg->repeat * SYMBOLS_A_SLOT;
  const uint64_t content = !n_symbols ? (uint64_t)l : l < 0 ? n_symbols - 1 : (uint64_t)l % n_symbols;
  const uint32_t key[2] = {(uint32_t)cfg->seed, (uint32_t)(cfg->seed >> 32)};
  uint32_t words[4] = {0};
  unsigned i;

  for (i = 0; i < cfg->subcarriers; i++) {
    unsigned byte, i_bits, q_bits;

    if (i % 16 == 0) {
      const uint32_t counter[4] = {i / 16, (uint32_t)content, (uint32_t)(content >> 32), purpose};

      tlg_philox(counter, key, words);
    }
    byte = words[i % 16 / 4] >> i % 4 * 8 & ((1u << cfg->modulation) - 1);
    i_bits = (byte & 1) | (byte >> 1 & 2) | (byte >> 2 & 4) | (byte >> 3 & 8); /* even bits make I, odd bits Q */
    byte >>= 1;
    q_bits = (byte & 1) | (byte >> 1 & 2) | (byte >> 2 & 4) | (byte >> 3 & 8);
    points[i].i = axis[i_bits];
    points[i].q = axis[q_bits];
  }
}

int tlg_ofdm_points(const struct tlg_signal_cfg *cfg, uint64_t l, tlg_cf64 *points)
{
  struct tlg_signal_cfg full;
  double axis[16];
  int st;

  if (!cfg || !points || cfg->kind != TLG_SIGNAL_OFDM || l >> 62) {
    return TLG_EINVAL;
  }
  full = *cfg;
  st = tlg_signal_defaults(&full, NULL);
  if (st) {
    return st;
  }
  set_axis(axis, full.modulation, 1.0);
  make_points(&full, axis, (int64_t)l, points);
  return TLG_OK;
}

/* The number of the first sample at or after instant t (in 1/30.72 MHz). */
static int64_t sample_at(const struct ofdm *o, int64_t t)
{
  const __int128 n = (__int128)t * (__int128)o->rate_num, d = (__int128)o->rate_den;

  return (int64_t)(n > 0 ? (n + d - 1) / d : -(-n / d));
}

static void make_chirps(struct ofdm *o)
{
  /* k m = (k^2 + m^2 - (m-k)^2) / 2, so phases are counted in halves of the step */
  const uint64_t half_turn = 2 * o->cycle;
  const size_t n = o->n_points + 1;
  size_t i;

  for (i = 0; i < n; i++) {
    const uint64_t p = turn_mul(turn_mul(i, i, half_turn), o->step, half_turn);

    tlg_cos_sin(p, half_turn, &o->before[i].i, &o->before[i].q);
  }
  for (i = 0; i < o->n_out; i++) {
    const uint64_t square = turn_mul(i, i, half_turn);
    const uint64_t shift = turn_mul(i, o->n_points % half_turn, half_turn); /* twice half the points */
    const uint64_t p = turn_mul((square + half_turn - shift) % half_turn, o->step, half_turn);

    tlg_cos_sin(p, half_turn, &o->after[i].i, &o->after[i].q);
  }
  memset(o->filter_re, 0, o->n_fft * sizeof *o->filter_re);
  memset(o->filter_im, 0, o->n_fft * sizeof *o->filter_im);
  for (i = 0; i < o->n_out || i < n; i++) {
    const uint64_t p = turn_mul(turn_mul(i, i, half_turn), o->step, half_turn);
    double c, s;

    tlg_cos_sin(p, half_turn, &c, &s);
    c /= (double)o->n_fft;
    s /= (double)o->n_fft;
    if (i < o->n_out) {
      o->filter_re[i] = c;
      o->filter_im[i] = -s;
    }
    if (i && i < n) {
      o->filter_re[o->n_fft - i] = c;
      o->filter_im[o->n_fft - i] = -s;
    }
  }
  exact_fft_forward(o->fft, o->filter_re, o->filter_im);
}

double ofdm_window_factor(unsigned window)
{
  const unsigned w = window == TLG_OFDM_NO_WINDOW ? 0 : window;

  return 1.0 - 0.25 * w * SYMBOLS_A_SLOT / SLOT;
}

/* Points in a useful part, if that is a number of samples that one transform makes and every symbol begins at a sample
 * (multiples of 128), else 0. */
static size_t direct_size(const struct ofdm *o)
{
  const tlg_u128 n = (tlg_u128)USEFUL * o->rate_num;

  if (n % o->rate_den || n / o->rate_den > 1u << 20) {
    return 0;
  }
  return n / o->rate_den % 128 == 0 && exact_fft_size((size_t)(n / o->rate_den)) == (size_t)(n / o->rate_den)
             ? (size_t)(n / o->rate_den)
             : 0;
}

static double rise(const struct ofdm *o, int64_t n, int64_t start);

static int make_direct(struct ofdm *o)
{
  const size_t n_rises = o->window * o->n_fft / USEFUL + 1;
  size_t i;

  o->places = malloc(o->n_points * sizeof *o->places);
  o->rises = malloc(n_rises * sizeof *o->rises);
  if (!o->places || !o->rises) {
    return TLG_ENOMEM;
  }
  for (i = 0; i < o->n_points; i++) {
    const size_t half = o->n_points / 2, k = i < half ? o->n_fft - half + i : i - half + 1;

    o->places[i] = exact_fft_place(o->fft, k);
  }
  for (i = 0; i < n_rises && o->window; i++) {
    o->rises[i] = rise(o, (int64_t)i, 0);
  }
  return TLG_OK;
}

/* A symbol's samples fill the filter at least once, but for where neighbours overlap; so each output needs two bodies.
 */
static int make_limit(struct ofdm *o, const struct tlg_signal_cfg *cfg, struct tlg_error *err)
{
  const int st = band_limit_init(&o->limit, o->n_points, &cfg->rate, err);
  const size_t ends = 2 * o->limit.half, line = ends + o->n_out;
  double *at;

  if (st) {
    return st;
  }
  if (posix_memalign((void **)&o->limit_memory, 64, 2 * (line + o->n_out) * sizeof *at) != 0) {
    o->limit_memory = NULL;
    return tlg_error_set(err, TLG_ENOMEM, "out of memory");
  }
  at = o->limit_memory;
  o->line_re = at, at += line;
  o->line_im = at, at += line;
  o->out_re = at, at += o->n_out;
  o->out_im = at;
  o->limited = -2;
  return TLG_OK;
}

int ofdm_new(struct ofdm **result, const struct tlg_signal_cfg *cfg, const struct ofdm_source *source,
             struct tlg_error *err)
{
  struct tlg_rate ratio;
  struct ofdm *o;
  uint64_t cycle15, g;
  size_t n, size, doubles;
  double *at;
  int st;

  *result = NULL;
  g = tlg_gcd(cfg->rate.num, 30720000);
  if (cfg->rate.den > ((uint64_t)1 << 36) || cfg->rate.num > (uint64_t)1 << 46 ||
      tlg_rate_make(&ratio, cfg->rate.num / g, 30720000 / g * cfg->rate.den)) {
    return tlg_error_set(err, TLG_EINVAL, "the rate is no small enough fraction for ofdm");
  }
  g = tlg_gcd(15000 * cfg->rate.den, cfg->rate.num);
  cycle15 = cfg->rate.num / g;
  if (!(o = calloc(1, sizeof *o))) {
    return tlg_error_set(err, TLG_ENOMEM, "out of memory");
  }
  o->cfg = *cfg;
  if (source) {
    o->source = *source;
  }
  o->n_points = cfg->subcarriers;
  o->window = cfg->window == TLG_OFDM_NO_WINDOW ? 0 : cfg->window;
  o->rate_num = ratio.num;
  o->rate_den = ratio.den;
  st = turn_lcm(&o->cycle, cycle15, USEFUL);
  if (st || o->cycle >> 61) {
    free(o);
    return tlg_error_set(err, TLG_EINVAL, "the rate is no small enough fraction for ofdm");
  }
  o->step = 15000 * cfg->rate.den / g * (o->cycle / cycle15);
  o->n_out = (size_t)((tlg_u128)(PREFIX_FIRST + USEFUL + o->window) * o->rate_num / o->rate_den) + 2;
  n = o->n_points + 1;
  o->direct = source && direct_size(o);
  o->n_fft = o->direct ? direct_size(o) : o->n_out >> 24 ? 0 : exact_fft_size(n + o->n_out);
  if (!o->n_fft || o->n_out >> 24) {
    free(o);
    return tlg_error_set(err, TLG_EINVAL, "the rate is too high for ofdm");
  }
  size = o->direct && o->n_out > o->n_fft ? o->n_out : o->n_fft;
  doubles = 2 * size + 2 * o->n_fft + 6 * o->n_out + 2 * (o->n_points + n + o->n_out);
  o->fft = exact_fft_new(o->n_fft);
  if (!o->fft || posix_memalign((void **)&o->memory, 64, doubles * sizeof *o->memory) != 0) {
    o->memory = NULL;
    ofdm_free(o);
    return tlg_error_set(err, TLG_ENOMEM, "out of memory");
  }
  at = o->memory;
  o->re = at, at += size;
  o->im = at, at += size;
  o->filter_re = at, at += o->n_fft;
  o->filter_im = at, at += o->n_fft;
  o->body_re = at, at += o->n_out;
  o->body_im = at, at += o->n_out;
  o->tail_re = at, at += o->n_out;
  o->tail_im = at, at += o->n_out;
  o->overlap_re = at, at += o->n_out;
  o->overlap_im = at, at += o->n_out;
  o->points = (tlg_cf64 *)(void *)at, at += 2 * o->n_points;
  o->before = (tlg_cf64 *)(void *)at, at += 2 * n;
  o->after = (tlg_cf64 *)(void *)at;
  st = o->direct ? make_direct(o) : oscillator_init(&o->turn, o->cycle);
  if (st) {
    ofdm_free(o);
    return tlg_error_set(err, st, "out of memory");
  }
  if (!o->direct) {
    make_chirps(o);
  }
  if (cfg->band_limit && (st = make_limit(o, cfg, err)) != TLG_OK) {
    ofdm_free(o);
    return st;
  }
  if (!source) {
    /* Where two symbols overlap by raised cosines w and 1 - w, the mean power is 3/4 of the rest. */
    set_axis(o->axis, cfg->modulation, cfg->amplitude / sqrt(o->n_points * ofdm_window_factor(o->window)));
  }
  o->symbol = -2;
  *result = o;
  return TLG_OK;
}

void ofdm_free(struct ofdm *o)
{
  if (o) {
    oscillator_clear(&o->turn);
    exact_fft_free(o->fft);
    free(o->places);
    free(o->rises);
    free(o->memory);
    free(o->limit_memory);
    band_limit_clear(&o->limit);
    free(o);
  }
}

static void get_points(struct ofdm *o, int64_t l)
{
  if (o->source.points) {
    o->source.points(o->source.context, l, o->points);
  } else {
    make_points(&o->cfg, o->axis, l, o->points);
  }
}

/* Samples of symbol l alone, unweighted, into re and im: one transform, and its periodic continuation. */
static void evaluate_direct(struct ofdm *o, int64_t l)
{
  const size_t n = o->n_fft;
  double *const re = o->filter_re, *const im = o->filter_im; /* free for this, as there are no chirps */
  unsigned prefix;
  size_t i, lead;

  (void)start_of(l, &prefix);
  lead = prefix * n / USEFUL;
  get_points(o, l);
  memset(re, 0, n * sizeof *re);
  memset(im, 0, n * sizeof *im);
  for (i = 0; i < o->n_points; i++) {
    re[o->places[i]] = o->points[i].i;
    im[o->places[i]] = o->points[i].q;
  }
  exact_fft_backward(o->fft, re, im);
  memcpy(o->re, re + n - lead, lead * sizeof *re);
  memcpy(o->im, im + n - lead, lead * sizeof *im);
  memcpy(o->re + lead, re, n * sizeof *re);
  memcpy(o->im + lead, im, n * sizeof *im);
  if (o->n_out > lead + n) {
    memcpy(o->re + lead + n, re, (o->n_out - lead - n) * sizeof *re);
    memcpy(o->im + lead + n, im, (o->n_out - lead - n) * sizeof *im);
  }
}

/* Samples n0 ... of symbol l alone, unweighted, into re and im. */
static void evaluate(struct ofdm *o, int64_t l, int64_t n0)
{
  const size_t half = o->n_points / 2, n = o->n_points + 1;
  const int64_t cycle = (int64_t)o->cycle;
  unsigned prefix;
  const int64_t useful = start_of(l, &prefix) + prefix;
  const int64_t a = (int64_t)((__int128)n0 * (int64_t)o->step % cycle);
  const int64_t b = (int64_t)((__int128)useful * (cycle / USEFUL) % cycle);
  const uint64_t phase = (uint64_t)(((a - b) % cycle + cycle) % cycle);
  uint64_t p = (o->cycle - turn_mul(half, phase, o->cycle)) % o->cycle;
  size_t i;

  get_points(o, l);
  for (i = 0; i < n; i++) {
    if (i == half) {
      o->re[i] = o->im[i] = 0.0;
    } else {
      const tlg_cf64 x = o->points[i < half ? i : i - 1], t = oscillator_at(&o->turn, p), c = o->before[i];
      const double xr = x.i * t.i - x.q * t.q, xi = x.i * t.q + x.q * t.i;

      o->re[i] = xr * c.i - xi * c.q;
      o->im[i] = xr * c.q + xi * c.i;
    }
    p += phase;
    p -= p >= o->cycle ? o->cycle : 0;
  }
  memset(o->re + n, 0, (o->n_fft - n) * sizeof *o->re);
  memset(o->im + n, 0, (o->n_fft - n) * sizeof *o->im);
  exact_fft_forward(o->fft, o->re, o->im);
  for (i = 0; i < o->n_fft; i++) {
    const double xr = o->re[i], xi = o->im[i];

    o->re[i] = xr * o->filter_re[i] - xi * o->filter_im[i];
    o->im[i] = xr * o->filter_im[i] + xi * o->filter_re[i];
  }
  exact_fft_backward(o->fft, o->re, o->im);
  for (i = 0; i < o->n_out; i++) {
    const double xr = o->re[i], xi = o->im[i];

    o->re[i] = xr * o->after[i].i - xi * o->after[i].q;
    o->im[i] = xr * o->after[i].q + xi * o->after[i].i;
  }
}

/* Weight of a symbol that begins at instant start, at sample n of its first window's length: 1/2 - 1/2 cos(pi x). */
static double rise(const struct ofdm *o, int64_t n, int64_t start)
{
  /* x = (n * rate_den / rate_num - start) / window */
  const uint64_t num = (uint64_t)((__int128)n * (__int128)o->rate_den - (__int128)start * (__int128)o->rate_num);
  double c, s;

  tlg_cos_sin(num, 2 * o->window * o->rate_num, &c, &s);
  return 0.5 - 0.5 * c;
}

/* Evaluate symbol l, keeping its body (without the overlap of the symbol before) and its weighted tail. */
static void render(struct ofdm *o, int64_t l)
{
  unsigned prefix;
  const int64_t start = start_of(l, &prefix), next = start + prefix + USEFUL;
  const int64_t n0 = sample_at(o, start), n1 = sample_at(o, next), n2 = sample_at(o, next + (int64_t)o->window);
  const int64_t rise_end = sample_at(o, start + (int64_t)o->window);
  int64_t n;

  if (o->direct) {
    evaluate_direct(o, l);
  } else {
    evaluate(o, l, n0);
  }
  for (n = n0; n < n1; n++) {
    const double w = n >= rise_end ? 1.0 : o->direct ? o->rises[n - n0] : rise(o, n, start);

    o->body_re[n - n0] = w * o->re[n - n0];
    o->body_im[n - n0] = w * o->im[n - n0];
  }
  for (n = n1; n < n2; n++) {
    const double w = 1.0 - (o->direct ? o->rises[n - n1] : rise(o, n, next));

    o->tail_re[n - n1] = w * o->re[n - n0];
    o->tail_im[n - n1] = w * o->im[n - n0];
  }
  o->symbol = l;
  o->first = n0;
  o->n_body = (size_t)(n1 - n0);
  o->n_tail = (size_t)(n2 - n1);
}

static void go_to(struct ofdm *o, int64_t l)
{
  size_t i, n_tail;

  if (o->symbol == l) {
    return;
  }
  if (o->window && o->symbol != l - 1 && l >= 0) { /* how symbol -1 begins is never seen */
    render(o, l - 1);
  }
  n_tail = o->window && l >= 0 ? o->n_tail : 0;
  memcpy(o->overlap_re, o->tail_re, n_tail * sizeof *o->tail_re);
  memcpy(o->overlap_im, o->tail_im, n_tail * sizeof *o->tail_im);
  render(o, l);
  for (i = 0; i < n_tail && i < o->n_body; i++) {
    o->body_re[i] += o->overlap_re[i];
    o->body_im[i] += o->overlap_im[i];
  }
}

/* The end of the body, twice half the filter, becomes the beginning of the next line. */
static void keep_end(struct ofdm *o)
{
  const size_t ends = 2 * o->limit.half;

  memcpy(o->line_re, o->body_re + o->n_body - ends, ends * sizeof *o->line_re);
  memcpy(o->line_im, o->body_im + o->n_body - ends, ends * sizeof *o->line_im);
}

/* From half the filter before symbol l on. Where the filter sees nothing but one symbol it would leave each subcarrier
 * as it is, to 0.001 dB, so only the samples around the symbol's start are filtered. */
static void limit_to(struct ofdm *o, int64_t l)
{
  const size_t half = o->limit.half, ends = 2 * half;
  unsigned prefix;
  size_t n_edge;

  if (o->limited == l) {
    return;
  }
  if (o->limited != l - 1) {
    go_to(o, l - 1);
    keep_end(o);
  }
  go_to(o, l);
  memcpy(o->line_re + ends, o->body_re, o->n_body * sizeof *o->line_re);
  memcpy(o->line_im + ends, o->body_im, o->n_body * sizeof *o->line_im);
  n_edge = ends + (size_t)(sample_at(o, start_of(l, &prefix) + (int64_t)o->window) - o->first);
  n_edge = n_edge < o->n_body ? n_edge : o->n_body;
  band_limit_run(&o->limit, o->out_re, o->line_re, n_edge);
  band_limit_run(&o->limit, o->out_im, o->line_im, n_edge);
  memcpy(o->out_re + n_edge, o->line_re + half + n_edge, (o->n_body - n_edge) * sizeof *o->out_re);
  memcpy(o->out_im + n_edge, o->line_im + half + n_edge, (o->n_body - n_edge) * sizeof *o->out_im);
  keep_end(o);
  o->limited = l;
}

/* The symbol whose body holds sample n. */
static int64_t symbol_at(const struct ofdm *o, uint64_t n)
{
  const uint64_t t = (uint64_t)((tlg_u128)n * o->rate_den / o->rate_num), in_slot = t % SLOT;
  const uint64_t i = in_slot < PREFIX_FIRST + USEFUL ? 0 : 1 + (in_slot - PREFIX_FIRST - USEFUL) / (PREFIX + USEFUL);

  return (int64_t)(t / SLOT * SYMBOLS_A_SLOT + i);
}

size_t ofdm_span(struct ofdm *o, uint64_t n, const double **re, const double **im)
{
  const size_t half = o->limit.taps ? o->limit.half : 0;
  size_t at;

  if (half) {
    limit_to(o, symbol_at(o, n + half));
  } else {
    go_to(o, symbol_at(o, n));
  }
  at = (size_t)((int64_t)(n + half) - o->first);
  *re = (half ? o->out_re : o->body_re) + at;
  *im = (half ? o->out_im : o->body_im) + at;
  return o->n_body - at;
}
