/* SPDX-License-Identifier: Apache-2.0 */
/* Test signals: each sample is a function of its number alone, the same bits everywhere. Formulae: docs/signals.md. */
#include "impair.h"
#include "lte_tx.h"
#include "ofdm.h"
#include "oscillator.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PERIOD ((uint64_t)1 << 21)
#define MAX_POSITION ((uint64_t)1 << 48)

static const struct {
  enum tlg_signal_kind kind;
  const char *name, *summary;
  double level_db;
} kinds[] = {
    {TLG_SIGNAL_TONE, "tone", "one complex tone", -6.0},
    {TLG_SIGNAL_TONES, "tones", "equally spaced tones with a low crest: the 61 measuring tones by default", -12.0},
    {TLG_SIGNAL_CHIRP, "chirp", "linear sweep, repeated with continuous phase", -6.0},
    {TLG_SIGNAL_NOISE, "noise", "white, nearly Gaussian noise", -15.0},
    {TLG_SIGNAL_IMPULSE, "impulse", "one sample, or one in so many", -6.0},
    {TLG_SIGNAL_STEP, "step", "zero, then a constant", -6.0},
    {TLG_SIGNAL_DC, "dc", "a constant", -6.0},
    {TLG_SIGNAL_RAMP, "ramp", "I and Q are the low and high half of the sample number", 0.0},
    {TLG_SIGNAL_CORNERS, "corners", "the four corners of the int16 square, each following each", 0.0},
    {TLG_SIGNAL_SILENCE, "silence", "zeros", 0.0},
    {TLG_SIGNAL_OFDM, "ofdm", "LTE-wide: 1200 subcarriers of 15 kHz, cyclic prefix, windowed symbols", -15.0},
    {TLG_SIGNAL_LTE, "lte", "an LTE downlink: a complete cell with coded data, or a test model", -15.0},
};

/* One oscillating component: its phase advances by step / (the oscillator's period) of a turn a sample. */
struct component {
  uint64_t step, start, phase;
};

struct tlg_signal {
  struct tlg_signal_cfg cfg;
  uint64_t position, clipped, period; /* position: of the signal itself */
  uint64_t output;                    /* with impairments: the number of the next sample that is read */

  struct oscillator osc;
  struct component *components;
  unsigned n_components;
  double size;            /* of each component */
  tlg_cs16 *table;        /* one period, where it is short */
  uint8_t *table_clipped; /* components that did not fit, per sample of the table; NULL = none */

  /* chirp: phase, its advance, and the advance's, all modulo the period of osc */
  uint64_t chirp_start, chirp_square, chirp_sweep;
  uint64_t chirp_phase, chirp_advance, chirp_in;

  struct ofdm *ofdm;
  struct lte_tx *lte;
  double lte_scale;
  struct impair *impair; /* NULL: none */
};

int tlg_signal_parse(enum tlg_signal_kind *kind, const char *text)
{
  size_t i;

  for (i = 0; text && i < sizeof kinds / sizeof *kinds; i++) {
    if (strcmp(text, kinds[i].name) == 0) {
      *kind = kinds[i].kind;
      return TLG_OK;
    }
  }
  return TLG_EINVAL;
}

const char *tlg_signal_name(enum tlg_signal_kind kind)
{
  return kind > TLG_SIGNAL_NONE && kind <= TLG_SIGNAL_LAST ? kinds[kind - 1].name : "?";
}

const char *tlg_signal_summary(enum tlg_signal_kind kind)
{
  return kind > TLG_SIGNAL_NONE && kind <= TLG_SIGNAL_LAST ? kinds[kind - 1].summary : "?";
}

int tlg_frequency_parse(struct tlg_frequency *frequency, const char *text)
{
  struct tlg_rate size;
  int negative = 0;
  const char *p;

  if (!frequency || !text) {
    return TLG_EINVAL;
  }
  if (*text == '-' || *text == '+') {
    negative = *text++ == '-';
  }
  if (*text == '0') { /* a rate is never zero, a frequency can be */
    for (p = text; *p == '0' || *p == '.'; p++) {
    }
    if (!*p || (strchr("kMG", *p) && !p[1])) {
      *frequency = (struct tlg_frequency){0, 1};
      return TLG_OK;
    }
  }
  if (tlg_rate_parse(&size, text) || size.num > INT64_MAX) {
    return TLG_EINVAL;
  }
  frequency->num = negative ? -(int64_t)size.num : (int64_t)size.num;
  frequency->den = size.den;
  return TLG_OK;
}

/* Lines of 15 kHz on both sides that a rate carries: LTE's widths, the widest within 0.4 of the rate. */
static unsigned default_subcarriers(const struct tlg_rate *rate)
{
  static const unsigned widths[] = {1200, 900, 600, 300, 180, 72};
  const tlg_u128 limit = (tlg_u128)rate->num * 2 / ((tlg_u128)rate->den * 5 * 7500);
  size_t i;

  for (i = 0; i < sizeof widths / sizeof *widths; i++) {
    if (widths[i] <= limit) {
      return widths[i];
    }
  }
  return (unsigned)limit / 2 * 2;
}

/* The default of a frequency: hz at 25 Msps and above, the same part of the rate below. */
static void default_frequency(struct tlg_frequency *f, int64_t hz, const struct tlg_rate *rate)
{
  const uint64_t size = hz < 0 ? 0 - (uint64_t)hz : (uint64_t)hz;
  struct tlg_rate part = {size, 1};

  if (f->den) {
    return;
  }
  if (size && (tlg_u128)rate->num < (tlg_u128)25000000 * rate->den) {
    const uint64_t g = tlg_gcd(size, 25000000), h = tlg_gcd(rate->num, 25000000 / g);

    /* a rate too long for 64 bits leaves the plain value, which is then refused as beyond half the rate */
    if ((tlg_u128)(rate->num / h) * (size / g) >> 62 == 0 && (tlg_u128)rate->den * (25000000 / g / h) >> 62 == 0) {
      (void)tlg_rate_make(&part, rate->num / h * (size / g), 25000000 / g / h * rate->den);
    }
  }
  f->num = hz < 0 ? -(int64_t)part.num : (int64_t)part.num;
  f->den = part.den;
}

/* |f| <= rate / 2 */
static int fits(const struct tlg_frequency *f, const struct tlg_rate *rate)
{
  const tlg_u128 size = f->num < 0 ? 0 - (uint64_t)f->num : (uint64_t)f->num;

  if (size >> 62 || f->den >> 62 || rate->num >> 62 || rate->den >> 62) {
    return 0;
  }
  return 2 * size * rate->den <= (tlg_u128)f->den * rate->num;
}

/* What the EVM windows of TS 36.104, E.5.1 leave free at the beginning of the prefix: of the prefix's N samples at the
 * usual rate (144 T_s) they cover W, in its middle. */
static unsigned lte_window(unsigned prb)
{
  return prb <= 6 ? 32 : prb <= 15 ? 24 : prb <= 25 ? 8 : prb <= 50 ? 6 : 4;
}

static int defaults_ofdm(struct tlg_signal_cfg *c, struct tlg_error *err)
{
  if (!c->modulation) {
    c->modulation = TLG_64QAM;
  }
  if (!c->window) {
    c->window = c->kind == TLG_SIGNAL_LTE ? lte_window(c->lte.cell.prb) : 72;
  }
  if (!c->subcarriers) {
    c->subcarriers = default_subcarriers(&c->rate);
  }
  if (c->modulation != TLG_QPSK && c->modulation != TLG_16QAM && c->modulation != TLG_64QAM &&
      c->modulation != TLG_256QAM) {
    return tlg_error_set(err, TLG_EINVAL, "modulation: it is 2, 4, 6 or 8 bits a symbol");
  }
  if (c->window != TLG_OFDM_NO_WINDOW && c->window > TLG_OFDM_MAX_WINDOW) {
    return tlg_error_set(err, TLG_EINVAL, "the window is longer than a cyclic prefix (144/30.72 MHz = 4.6875 us)");
  }
  if (c->subcarriers < 2 || c->subcarriers % 2 || c->subcarriers > 1u << 16) {
    return tlg_error_set(err, TLG_EINVAL, "subcarriers: an even number from 2 to 65536, at a rate that carries them");
  }
  if ((tlg_u128)c->subcarriers * 15000 * c->rate.den >= (tlg_u128)c->rate.num) {
    return tlg_error_set(err, TLG_EINVAL, "%u subcarriers of 15 kHz do not fit into the rate", c->subcarriers);
  }
  if (c->band_limit > 1) {
    return tlg_error_set(err, TLG_EINVAL, "band_limit: 0 or 1");
  }
  if (c->repeat >> 40) {
    return tlg_error_set(err, TLG_EINVAL, "repeat: at most 2^40 slots");
  }
  return TLG_OK;
}

/* The cell whose usual rate this is, else the widest that it carries. */
static unsigned default_prb(const struct tlg_rate *rate)
{
  static const unsigned widths[] = {100, 75, 50, 25, 15, 6};
  size_t i;

  for (i = 0; i < sizeof widths / sizeof *widths; i++) {
    if (rate->den == 1 && rate->num == 15000u * tlg_lte_fft_size(widths[i])) {
      return widths[i];
    }
  }
  for (i = 0; i < sizeof widths / sizeof *widths; i++) {
    if ((tlg_u128)(12 * widths[i] + 1) * 15000 * rate->den <= rate->num) {
      return widths[i];
    }
  }
  return 6;
}

static int defaults_lte(struct tlg_signal_cfg *c, struct tlg_error *err)
{
  struct tlg_lte_signal *const l = &c->lte;
  int st;

  l->cell.prb = l->cell.prb ? l->cell.prb : default_prb(&c->rate);
  l->cell.ports = l->cell.ports ? l->cell.ports : 1;
  l->cfi = l->cfi ? l->cfi : l->cell.phich_extended ? 3 : 1;
  l->rnti = l->rnti ? l->rnti : 0x1234;
  if (l->port_gain[0].i == 0.0 && l->port_gain[0].q == 0.0 && l->port_gain[1].i == 0.0 && l->port_gain[1].q == 0.0) {
    l->port_gain[0].i = l->port_gain[1].i = 1.0;
  }
  if ((st = tlg_lte_cell_check(&l->cell, err))) {
    return st;
  }
  if (l->cell.ports > 2) {
    return tlg_error_set(err, TLG_EINVAL, "4 antenna ports cannot be made; 1 or 2 can");
  }
  if (l->model < TLG_LTE_CELL || l->model > TLG_LTE_ETM3_3) {
    return tlg_error_set(err, TLG_EINVAL, "no such test model");
  }
  if (l->model != TLG_LTE_CELL) {
    if (l->cell.ports != 1) {
      return tlg_error_set(err, TLG_EINVAL, "a test model has one antenna port");
    }
    l->cell.phich_resource = l->cell.phich_extended = 0; /* N_g = 1/6 */
    l->cfi = 1;
    l->sfn = 0;
    c->repeat = 20;
  }
  if (l->cfi > 3 || (l->cell.phich_extended && l->cfi < 3)) {
    return tlg_error_set(err, TLG_EINVAL, "cfi: from 1 to 3, and 3 with the extended PHICH");
  }
  if (l->sfn > 1023 || l->rnti > 0xffff) {
    return tlg_error_set(err, TLG_EINVAL, "the frame number is from 0 to 1023, the RNTI from 1 to 65535");
  }
  if (l->mcs > (l->table_256 ? 27u : 28u)) {
    return tlg_error_set(err, TLG_EINVAL, "MCS: from 0 to 28, or to 27 in the table with 256QAM");
  }
  if (l->table_256 && l->dci_1a) {
    return tlg_error_set(err, TLG_EINVAL, "DCI format 1A knows no 256QAM; take format 1");
  }
  if (c->repeat % 20) {
    return tlg_error_set(err, TLG_EINVAL, "an LTE signal repeats after whole frames of 10 ms");
  }
  c->subcarriers = 12 * l->cell.prb;
  return defaults_ofdm(c, err);
}

int tlg_signal_defaults(struct tlg_signal_cfg *cfg, struct tlg_error *err)
{
  struct tlg_signal_cfg c;
  int st = TLG_OK;

  if (!cfg || cfg->kind <= TLG_SIGNAL_NONE || cfg->kind > TLG_SIGNAL_LAST) {
    return tlg_error_set(err, TLG_EINVAL, "no such signal");
  }
  c = *cfg;
  if (!c.rate.num || !c.rate.den) {
    c.rate = (struct tlg_rate){25000000, 1};
  }
  if (c.amplitude == 0.0) {
    c.amplitude = 32768.0 * tlg_amplitude(kinds[c.kind - 1].level_db);
  }
  if (!(c.amplitude > 0.0 && c.amplitude <= 1048576.0)) {
    return tlg_error_set(err, TLG_EINVAL, "the level is out of range: at most +30 dBFS");
  }
  if ((st = impair_check(&c.impairments, &c.rate, err))) {
    return st;
  }
  switch (c.kind) {
  case TLG_SIGNAL_TONE:
    default_frequency(&c.freq, 1000000, &c.rate);
    break;
  case TLG_SIGNAL_TONES:
    default_frequency(&c.freq, 0, &c.rate);
    default_frequency(&c.spacing, 300500, &c.rate);
    c.n_tones = c.n_tones ? c.n_tones : 61;
    break;
  case TLG_SIGNAL_CHIRP:
    default_frequency(&c.freq, -9007500, &c.rate);
    default_frequency(&c.freq_to, 9007500, &c.rate);
    if (!c.sweep) {
      c.sweep = c.rate.num / c.rate.den / 100;
      c.sweep = c.sweep ? c.sweep : 1;
    }
    if (!fits(&c.freq_to, &c.rate) || c.sweep > (uint64_t)1 << 36) {
      return tlg_error_set(err, TLG_EINVAL, "the chirp ends beyond half the rate, or is longer than 2^36 samples");
    }
    break;
  case TLG_SIGNAL_IMPULSE:
  case TLG_SIGNAL_STEP:
  case TLG_SIGNAL_DC:
    if (!c.value.i && !c.value.q) {
      uint64_t clipped = 0;

      c.value.i = round_int16(c.amplitude, &clipped);
    }
    break;
  case TLG_SIGNAL_LTE:
    st = defaults_lte(&c, err);
    break;
  case TLG_SIGNAL_OFDM:
    st = defaults_ofdm(&c, err);
    break;
  default:
    break;
  }
  if (st) {
    return st;
  }
  if (c.freq.den && !fits(&c.freq, &c.rate)) {
    return tlg_error_set(err, TLG_EINVAL, "the frequency, %.10g Hz, is beyond half the rate, %.10g Hz",
                         (double)c.freq.num / (double)c.freq.den, tlg_rate_hz(&c.rate) / 2);
  }
  if (c.kind == TLG_SIGNAL_TONES) {
    struct tlg_frequency edge = c.freq;
    const double top = (double)c.spacing.num / (double)c.spacing.den * (c.n_tones - 1) / 2;
    const double centre = (double)edge.num / (double)edge.den;

    if (c.n_tones > 4096 || c.spacing.num <= 0) {
      return tlg_error_set(err, TLG_EINVAL, "tones: 1 to 4096 of them, with a spacing above 0");
    }
    if (top + (centre < 0 ? -centre : centre) > tlg_rate_hz(&c.rate) / 2) {
      return tlg_error_set(err, TLG_EINVAL, "%u tones with this spacing reach beyond half the rate", c.n_tones);
    }
  }
  *cfg = c;
  return TLG_OK;
}

/* tones: i-th of K stands at freq + spacing * (i - (K-1)/2); Newman's phases, i^2 / 2K of a turn, keep the crest low.
 */
static int set_components(struct tlg_signal *s)
{
  const struct tlg_signal_cfg *c = &s->cfg;
  const uint64_t n = c->kind == TLG_SIGNAL_TONES ? c->n_tones : 1;
  struct turn centre, half;
  uint64_t period, turn, i;

  s->components = calloc(n, sizeof *s->components);
  if (!s->components) {
    return TLG_ENOMEM;
  }
  s->n_components = (unsigned)n;
  s->size = c->amplitude / sqrt((double)n);
  if (turn_per_sample(&centre, &c->freq, 1, &c->rate)) {
    return TLG_EINVAL;
  }
  if (n == 1) {
    s->components->step = centre.num;
    s->period = centre.den;
    return oscillator_init(&s->osc, centre.den);
  }
  if (turn_per_sample(&half, &c->spacing, 2, &c->rate) || turn_lcm(&period, centre.den, half.den) ||
      turn_lcm(&turn, period, 2 * n)) {
    return TLG_EINVAL;
  }
  s->period = 1;
  for (i = 0; i < n; i++) {
    struct component *o = &s->components[i];
    const uint64_t away = i * 2 < n ? n - 1 - 2 * i : 2 * i - (n - 1); /* halves of the spacing */
    const uint64_t offset = turn_mul(away, half.num * (turn / half.den), turn);
    const uint64_t at = centre.num * (turn / centre.den);

    o->step = (i * 2 < n ? at + turn - offset : at + offset) % turn;
    o->start = i * i % (2 * n) * (turn / (2 * n));
    if (turn_lcm(&s->period, s->period, turn / tlg_gcd(o->step, turn))) {
      return TLG_EINVAL;
    }
  }
  return oscillator_init(&s->osc, turn);
}

static void seek_components(struct tlg_signal *s, uint64_t n)
{
  const uint64_t turn = s->osc.period;
  unsigned i;

  for (i = 0; i < s->n_components; i++) {
    struct component *o = &s->components[i];

    o->phase = (turn_mul(n % turn, o->step, turn) + o->start) % turn;
  }
}

static void read_components(struct tlg_signal *s, tlg_cs16 *out, size_t n, uint8_t *clips)
{
  const uint64_t turn = s->osc.period;
  size_t k;

  for (k = 0; k < n; k++) {
    uint64_t clipped = 0;
    tlg_cf64 sum = {0.0, 0.0};
    unsigned i;

    for (i = 0; i < s->n_components; i++) {
      struct component *o = &s->components[i];
      const tlg_cf64 z = oscillator_at(&s->osc, o->phase);

      sum.i += z.i;
      sum.q += z.q;
      o->phase += o->step;
      o->phase -= o->phase >= turn ? turn : 0;
    }
    out[k].i = round_int16(s->size * sum.i, &clipped);
    out[k].q = round_int16(s->size * sum.q, &clipped);
    if (clips) {
      clips[k] = (uint8_t)clipped;
    } else {
      s->clipped += clipped;
    }
  }
}

/* One period in memory, where it is short: reading is then copying. */
static int make_table(struct tlg_signal *s)
{
  uint64_t i;

  if (!s->period || s->period > MAX_PERIOD || s->period * s->n_components > (uint64_t)1 << 26) {
    return TLG_OK;
  }
  s->table = malloc(s->period * sizeof *s->table);
  s->table_clipped = malloc(s->period);
  if (!s->table || !s->table_clipped) {
    return TLG_ENOMEM;
  }
  seek_components(s, 0);
  read_components(s, s->table, s->period, s->table_clipped);
  for (i = 0; i < s->period && !s->table_clipped[i]; i++) {
  }
  if (i == s->period) {
    free(s->table_clipped);
    s->table_clipped = NULL;
  }
  return TLG_OK;
}

static void read_table(struct tlg_signal *s, tlg_cs16 *out, size_t n)
{
  uint64_t at = s->position % s->period;

  while (n) {
    size_t piece = s->period - at < n ? (size_t)(s->period - at) : n, k;

    memcpy(out, s->table + at, piece * sizeof *out);
    for (k = 0; s->table_clipped && k < piece; k++) {
      s->clipped += s->table_clipped[at + k];
    }
    out += piece;
    n -= piece;
    at = 0;
  }
}

/* Sample r of a sweep of N has the phase freq r / rate + (freq_to - freq) r^2 / (2 N rate), counted exactly. */
static int set_chirp(struct tlg_signal *s)
{
  const struct tlg_signal_cfg *c = &s->cfg;
  struct turn start, end_part, start_part;
  uint64_t d, to, from;

  if (turn_per_sample(&start, &c->freq, 1, &c->rate) ||
      turn_per_sample(&end_part, &c->freq_to, 2 * c->sweep, &c->rate) ||
      turn_per_sample(&start_part, &c->freq, 2 * c->sweep, &c->rate) || turn_lcm(&d, start.den, end_part.den) ||
      turn_lcm(&d, d, start_part.den)) {
    return TLG_EINVAL;
  }
  s->chirp_start = start.num * (d / start.den);
  to = end_part.num * (d / end_part.den);
  from = start_part.num * (d / start_part.den);
  s->chirp_square = (to + d - from) % d;
  s->size = c->amplitude;
  s->chirp_sweep = (turn_mul(s->chirp_start, c->sweep % d, d) +
                    turn_mul(s->chirp_square, turn_mul(c->sweep % d, c->sweep % d, d), d)) %
                   d;
  return oscillator_init(&s->osc, d);
}

static void seek_chirp(struct tlg_signal *s, uint64_t n)
{
  const uint64_t d = s->osc.period, r = n % s->cfg.sweep, sweeps = n / s->cfg.sweep;
  tlg_u128 phase = turn_mul(sweeps % d, s->chirp_sweep, d);

  phase += turn_mul(r % d, s->chirp_start, d);
  phase += turn_mul(turn_mul(r % d, r % d, d), s->chirp_square, d);
  s->chirp_phase = (uint64_t)(phase % d);
  s->chirp_advance = (s->chirp_start + turn_mul((2 * r + 1) % d, s->chirp_square, d)) % d;
  s->chirp_in = r;
}

static void read_chirp(struct tlg_signal *s, tlg_cs16 *out, size_t n)
{
  const uint64_t d = s->osc.period, twice = s->chirp_square * 2 % d;
  size_t k;

  for (k = 0; k < n; k++) {
    const tlg_cf64 z = oscillator_at(&s->osc, s->chirp_phase);

    out[k].i = round_int16(s->size * z.i, &s->clipped);
    out[k].q = round_int16(s->size * z.q, &s->clipped);
    s->chirp_phase += s->chirp_advance;
    s->chirp_phase -= s->chirp_phase >= d ? d : 0;
    s->chirp_advance += twice;
    s->chirp_advance -= s->chirp_advance >= d ? d : 0;
    if (++s->chirp_in == s->cfg.sweep) {
      s->chirp_in = 0;
      s->chirp_advance = (s->chirp_start + s->chirp_square) % d;
    }
  }
}

/* Eight 16-bit integers a component: their sum has variance 8 (2^32 - 1) / 12 and mean 262140. */
static double noise_component(const uint32_t w[4])
{
  int64_t sum = -262140;
  int i;

  for (i = 0; i < 4; i++) {
    sum += (w[i] & 0xffff) + (w[i] >> 16);
  }
  return (double)sum;
}

static void read_noise(struct tlg_signal *s, tlg_cs16 *out, size_t n)
{
  static const uint32_t purpose = 0x6e6f6973;
  const uint32_t key[2] = {(uint32_t)s->cfg.seed, (uint32_t)(s->cfg.seed >> 32)};
  size_t k;

  for (k = 0; k < n; k++) {
    const uint64_t at = s->position + k;
    const uint32_t counter_i[4] = {(uint32_t)at, (uint32_t)(at >> 32), 0, purpose};
    const uint32_t counter_q[4] = {(uint32_t)at, (uint32_t)(at >> 32), 1, purpose};
    uint32_t words[4];

    tlg_philox(counter_i, key, words);
    out[k].i = round_int16(s->size * noise_component(words), &s->clipped);
    tlg_philox(counter_q, key, words);
    out[k].q = round_int16(s->size * noise_component(words), &s->clipped);
  }
}

static void read_plain(const struct tlg_signal *s, tlg_cs16 *out, size_t n)
{
  /* each of the four corners follows each, itself included, in sixteen samples */
  static const uint8_t order[16] = {0, 0, 1, 0, 2, 0, 3, 1, 1, 2, 1, 3, 2, 2, 3, 3};
  const struct tlg_signal_cfg *c = &s->cfg;
  const tlg_cs16 zero = {0, 0};
  size_t k;

  for (k = 0; k < n; k++) {
    const uint64_t at = s->position + k;

    switch (c->kind) {
    case TLG_SIGNAL_IMPULSE:
      out[k] = at >= c->at && (c->every ? (at - c->at) % c->every == 0 : at == c->at) ? c->value : zero;
      break;
    case TLG_SIGNAL_STEP:
      out[k] = at >= c->at ? c->value : zero;
      break;
    case TLG_SIGNAL_DC:
      out[k] = c->value;
      break;
    case TLG_SIGNAL_RAMP:
      out[k].i = (int16_t)(uint16_t)at;
      out[k].q = (int16_t)(uint16_t)(at >> 16);
      break;
    case TLG_SIGNAL_CORNERS:
      out[k].i = order[at % 16] & 1 ? INT16_MAX : INT16_MIN;
      out[k].q = order[at % 16] & 2 ? INT16_MAX : INT16_MIN;
      break;
    default:
      out[k] = zero;
    }
  }
}

static void lte_points(void *context, int64_t l, tlg_cf64 *points)
{
  lte_tx_points(context, l, points);
}

/* Its level is the mean power of a frame. */
static int set_lte(struct tlg_signal *s, struct tlg_error *err)
{
  struct ofdm_source source = {.points = lte_points};
  int st = lte_tx_new(&s->lte, &s->cfg, err);

  if (st) {
    return st;
  }
  s->lte_scale = s->cfg.amplitude / sqrt(lte_tx_power(s->lte) * ofdm_window_factor(s->cfg.window));
  lte_tx_scale(s->lte, s->lte_scale);
  source.context = s->lte;
  return ofdm_new(&s->ofdm, &s->cfg, &source, err);
}

static void read_ofdm(struct tlg_signal *s, tlg_cs16 *out, size_t n)
{
  uint64_t at = s->position;

  while (n) {
    const double *re, *im;
    size_t piece = ofdm_span(s->ofdm, at, &re, &im), k;

    piece = piece < n ? piece : n;
    for (k = 0; k < piece; k++) {
      out[k].i = round_int16(re[k], &s->clipped);
      out[k].q = round_int16(im[k], &s->clipped);
    }
    out += piece;
    at += piece;
    n -= piece;
  }
}

static uint64_t ofdm_period(const struct tlg_signal_cfg *c)
{
  const tlg_u128 n = (tlg_u128)c->repeat * c->rate.num, d = (tlg_u128)c->rate.den * 2000;

  return c->repeat && n % d == 0 ? (uint64_t)(n / d) : 0;
}

int tlg_signal_new(struct tlg_signal **result, const struct tlg_signal_cfg *cfg, struct tlg_error *err)
{
  struct tlg_signal *s;
  int st;

  if (!result) {
    return tlg_error_set(err, TLG_EINVAL, "no place for the signal");
  }
  *result = NULL;
  if (!cfg) {
    return tlg_error_set(err, TLG_EINVAL, "no configuration");
  }
  s = calloc(1, sizeof *s);
  if (!s) {
    return tlg_error_set(err, TLG_ENOMEM, "out of memory");
  }
  s->cfg = *cfg;
  st = tlg_signal_defaults(&s->cfg, err);
  st = st ? st : impair_rate(&s->cfg.rate, &s->cfg.impairments, err);
  if (!st && impair_any(&s->cfg.impairments)) {
    st = impair_new(&s->impair, &s->cfg.impairments, &s->cfg.rate, s->cfg.seed, err);
  }
  if (st) {
    free(s);
    return st;
  }
  switch (s->cfg.kind) {
  case TLG_SIGNAL_TONE:
  case TLG_SIGNAL_TONES:
    st = set_components(s);
    st = st ? st : make_table(s);
    break;
  case TLG_SIGNAL_CHIRP:
    st = set_chirp(s);
    break;
  case TLG_SIGNAL_NOISE:
    s->size = s->cfg.amplitude / sqrt(2.0 * (8.0 * 4294967295.0 / 12.0));
    break;
  case TLG_SIGNAL_OFDM:
  case TLG_SIGNAL_LTE:
    st = s->cfg.kind == TLG_SIGNAL_LTE ? set_lte(s, err) : ofdm_new(&s->ofdm, &s->cfg, NULL, err);
    s->period = ofdm_period(&s->cfg);
    if (st) {
      tlg_signal_free(s);
      return st;
    }
    break;
  case TLG_SIGNAL_IMPULSE:
    s->period = s->cfg.at < s->cfg.every ? s->cfg.every : 0;
    break;
  case TLG_SIGNAL_CORNERS:
    s->period = 16;
    break;
  case TLG_SIGNAL_DC:
  case TLG_SIGNAL_SILENCE:
    s->period = 1;
    break;
  default:
    break;
  }
  if (st) {
    tlg_signal_free(s);
    return tlg_error_set(err, st,
                         st == TLG_ENOMEM ? "out of memory"
                                          : "frequency and rate have no small enough common period; round them");
  }
  (void)tlg_signal_seek(s, 0);
  *result = s;
  return TLG_OK;
}

void tlg_signal_free(struct tlg_signal *s)
{
  if (s) {
    oscillator_clear(&s->osc);
    free(s->components);
    free(s->table);
    free(s->table_clipped);
    ofdm_free(s->ofdm);
    lte_tx_free(s->lte);
    impair_free(s->impair);
    free(s);
  }
}

static void seek_clean(struct tlg_signal *s, uint64_t n)
{
  s->position = n;
  if (s->n_components && !s->table) {
    seek_components(s, n);
  }
  if (s->cfg.kind == TLG_SIGNAL_CHIRP) {
    seek_chirp(s, n);
  }
}

int tlg_signal_seek(struct tlg_signal *s, uint64_t n)
{
  if (!s || n >= MAX_POSITION) {
    return TLG_EINVAL;
  }
  if (s->impair) {
    s->output = n;
  } else {
    seek_clean(s, n);
  }
  return TLG_OK;
}

/* The signal itself, from its own position on. */
static void read_clean(struct tlg_signal *s, tlg_cs16 *out, size_t n)
{
  if (s->table) {
    read_table(s, out, n);
  } else if (s->n_components) {
    read_components(s, out, n, NULL);
  } else if (s->cfg.kind == TLG_SIGNAL_CHIRP) {
    read_chirp(s, out, n);
  } else if (s->cfg.kind == TLG_SIGNAL_NOISE) {
    read_noise(s, out, n);
  } else if (s->ofdm) {
    read_ofdm(s, out, n);
  } else {
    read_plain(s, out, n);
  }
  s->position += n;
}

/* Up to n samples as doubles: unrounded where the signal comes so. Returns how many. */
static size_t read_unrounded(struct tlg_signal *s, tlg_cs16 *integers, double *re, double *im, size_t n)
{
  size_t k;

  if (s->ofdm) {
    const double *x, *y;
    const size_t piece = ofdm_span(s->ofdm, s->position, &x, &y);

    n = piece < n ? piece : n;
    memcpy(re, x, n * sizeof *re);
    memcpy(im, y, n * sizeof *im);
    s->position += n;
    return n;
  }
  read_clean(s, integers, n);
  for (k = 0; k < n; k++) {
    re[k] = integers[k].i;
    im[k] = integers[k].q;
  }
  return n;
}

static void read_impaired(struct tlg_signal *s, tlg_cs16 *out, size_t n)
{
  enum { PIECE = 512 };
  double re[PIECE], im[PIECE];

  while (n) {
    uint64_t run;
    const uint64_t source = impair_source(s->impair, s->output, &run);
    size_t piece = n < PIECE ? n : PIECE, k;

    piece = run && run < piece ? (size_t)run : piece;
    if (s->position != source) {
      seek_clean(s, source);
    }
    piece = read_unrounded(s, out, re, im, piece);
    impair_apply(s->impair, source, re, im, piece, &s->clipped);
    for (k = 0; k < piece; k++) {
      out[k].i = round_int16(re[k], &s->clipped);
      out[k].q = round_int16(im[k], &s->clipped);
    }
    s->output += piece;
    out += piece;
    n -= piece;
  }
}

void tlg_signal_read(struct tlg_signal *s, tlg_cs16 *out, size_t n)
{
  if (!s || !out || !n) {
    return;
  }
  if (s->impair) {
    read_impaired(s, out, n);
  } else {
    read_clean(s, out, n);
  }
}

uint64_t tlg_signal_clipped(const struct tlg_signal *s)
{
  return s ? s->clipped : 0;
}

uint64_t tlg_signal_period(const struct tlg_signal *s)
{
  return s && !s->impair ? s->period : 0;
}

int tlg_lte_signal_shared(const struct tlg_signal *s, unsigned subframe, struct tlg_lte_shared *shared)
{
  if (!s || !s->lte || subframe > 9 || !shared) {
    return TLG_EINVAL;
  }
  lte_tx_shared(s->lte, subframe, shared);
  return TLG_OK;
}

int tlg_lte_signal_block(struct tlg_signal *s, uint64_t n, const uint8_t **block, unsigned *n_bits)
{
  if (!s || !s->lte || n >> 60 || !block || !n_bits) {
    return TLG_EINVAL;
  }
  *block = lte_tx_block(s->lte, n, n_bits);
  return TLG_OK;
}

int tlg_lte_signal_points(struct tlg_signal *s, uint64_t l, tlg_cf64 *points)
{
  unsigned i;

  if (!s || !s->lte || l >> 60 || !points) {
    return TLG_EINVAL;
  }
  lte_tx_points(s->lte, (int64_t)l, points);
  for (i = 0; i < 12 * s->cfg.lte.cell.prb; i++) {
    points[i].i /= s->lte_scale;
    points[i].q /= s->lte_scale;
  }
  return TLG_OK;
}
