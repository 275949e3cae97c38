/* SPDX-License-Identifier: Apache-2.0 */
/* One cell at its own rate: grids of subframes, bandwidth and ports by the reference signals, and the way of timing,
 * clock and carrier through the recording. */
#include "lte_rx.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PILOTS = 200, MARGIN = LTE_TAPS };
static const unsigned crs_symbol[4] = {0, 4, 7, 11};
/* Clocks off by less than this are left: at 0.05 ppm the outermost subcarriers of 20 MHz suffer -90 dB. */
#define CLOCK_LEAST 0.05e-6
/* A subframe of which less of the usual coherence is left has lost its place. */
#define LEAST_COHERENCE 0.6

static double power(tlg_cf64 a)
{
  return a.i * a.i + a.q * a.q;
}

static void add(tlg_cf64 *sum, tlg_cf64 a)
{
  sum->i += a.i;
  sum->q += a.q;
}

static double angle(tlg_cf64 a)
{
  return atan2(a.q, a.i);
}

/* ---- grids ------------------------------------------------------------------------------------------------------ */

unsigned tlg_lte_rx_points(const struct tlg_rate *rate, int prb, int *direct)
{
  const unsigned base = tlg_lte_fft_size((unsigned)prb);
  const uint64_t unit = 15000u * 128u;

  *direct = rate->den == 1 && rate->num % unit == 0 && rate->num / 15000 >= base && rate->num / 15000 <= 4096;
  return *direct ? (unsigned)(rate->num / 15000) : base;
}

int tlg_lte_rx_tune(struct tlg_lte_rx *rx, struct lte_cell *cell)
{
  struct tlg_lte_rx_cell *c = &cell->pub;
  int direct;
  const unsigned points = tlg_lte_rx_points(&rx->cfg.rate, c->prb, &direct);
  const double half = 0.48 * rx->rate_hz - fabs(c->cfo_hz);
  const int shown = direct && points > tlg_lte_fft_size((unsigned)c->prb) ? 6 * c->prb : (int)floor(half / 15e3 - 0.5);
  int st;

  c->fft = (int)points;
  c->converted = !direct;
  c->sc_first = shown >= 6 * c->prb ? 0 : 6 * c->prb - (shown < 0 ? 0 : shown);
  c->sc_end = 12 * c->prb - c->sc_first;
  if (rx->source.mirrored != c->mirrored) {
    rx->source.mirrored = c->mirrored;
    tlg_lte_convert_clear(&rx->wide);
    tlg_lte_convert_clear(&rx->to_narrow);
  }
  rx->loaded_cell = NULL;
  if (rx->wide_fft == points && rx->wide_direct == direct) {
    return 0;
  }
  rx->wide_fft = 0;
  tlg_lte_convert_close(&rx->wide);
  tlg_fft_close(&rx->symbol);
  free(rx->time);
  free(rx->raw);
  rx->raw = NULL;
  rx->time = malloc((15 * (size_t)points + 8) * sizeof *rx->time);
  rx->raw = malloc((15 * (size_t)points + 32 + 2 * MARGIN) * sizeof *rx->raw);
  if (!rx->table) {
    rx->table = tlg_lte_interpolate_table();
  }
  if (!rx->time || !rx->raw || !rx->table) {
    return TLG_ENOMEM;
  }
  st = tlg_lte_convert_open(&rx->wide, &rx->cfg.rate, points, direct);
  if (st == 0) {
    st = tlg_fft_open(&rx->symbol, points, 0);
  }
  if (st == 0) {
    rx->wide_fft = points;
    rx->wide_direct = direct;
  }
  return st;
}

/* Input samples in a sample of 1 / (fft * 15 kHz), and in one of the converted recording. */
static double wide_step(const struct tlg_lte_rx *rx, const struct tlg_lte_rx_cell *c)
{
  return rx->rate_hz / (c->fft * 15e3) * (1 + (c->clock_used ? c->clock_ppm * 1e-6 : 0));
}

/* n samples from input position `at` on into out; *frac: how far into sample 0 that position lies. */
static int samples(struct tlg_lte_rx *rx, const struct tlg_lte_rx_cell *c, double at, size_t n, size_t before,
                   tlg_cf64 *raw, tlg_cf64 *out, double *frac)
{
  const double ratio = rx->wide.direct ? 1 : (double)rx->wide.up / (double)rx->wide.down;
  const double step = wide_step(rx, c) * ratio; /* converted samples in one of out: 1 but for the clock */
  const double position = at * ratio, whole = floor(position - (c->clock_used ? (double)before * step : 0));
  double from; /* input position of out[0] */
  int st;

  if (c->clock_used) {
    const double inside = position - (double)before * step - whole;
    const size_t need = (size_t)((double)n * step) + 2 * MARGIN + 1;

    st = tlg_lte_convert_read(&rx->wide, &rx->source, (int64_t)whole - MARGIN, need, raw);
    if (st != 0) {
      return st;
    }
    tlg_lte_interpolate(rx->table, raw, MARGIN + inside, step, out, n);
    *frac = 0;
    from = (whole + inside) / ratio;
  } else {
    st = tlg_lte_convert_read(&rx->wide, &rx->source, (int64_t)whole - (int64_t)before, n, out);
    if (st != 0) {
      return st;
    }
    *frac = position - whole;
    from = (whole - (double)before) / ratio;
  }
  tlg_lte_rotate(out, n, -(from - c->start) * c->cfo_hz / rx->rate_hz,
                 -c->cfo_hz / rx->rate_hz * (c->clock_used ? step : 1) / ratio);
  return 0;
}

static int load(struct tlg_lte_rx *rx, const struct lte_cell *cell, double at)
{
  const size_t n = 15 * (size_t)cell->pub.fft + 4;
  int st;

  if (rx->loaded_cell == cell && rx->loaded_at == at) {
    return 0;
  }
  rx->loaded_cell = NULL;
  st = samples(rx, &cell->pub, at, n, 0, rx->raw, rx->time, &rx->frac);
  if (st == 0) {
    rx->loaded_cell = cell;
    rx->loaded_at = at;
  }
  return st;
}

int tlg_lte_rx_demodulate(struct tlg_lte_rx *rx, struct lte_cell *cell, double at, unsigned mask, double advance_ts,
                          tlg_cf64 *grid)
{
  const struct tlg_lte_rx_cell *c = &cell->pub;
  const int half = 6 * c->prb;
  const double points = c->fft, advance = advance_ts * points / TLG_LTE_USEFUL;
  const int st = load(rx, cell, at);
  unsigned l;
  int k;

  if (st != 0) {
    return st;
  }
  for (l = 0; l < TLG_LTE_RX_SYMBOLS; l++) {
    unsigned prefix;
    const unsigned begin = tlg_lte_symbol_start(l, &prefix);
    const double useful = (begin + prefix) * points / TLG_LTE_USEFUL + rx->frac;
    const double window = floor(useful - advance + 0.5), late = useful - window;
    const double turn = 2 * M_PI * late / points;
    const tlg_cf64 step = {cos(turn), sin(turn)};
    tlg_cf64 w = {cos(turn * half) / points, -sin(turn * half) / points}, *row = grid + l * (size_t)(2 * half);

    if (!(mask >> l & 1)) {
      continue;
    }
    memcpy(rx->symbol.in, rx->time + (size_t)window, (size_t)c->fft * sizeof *rx->symbol.in);
    tlg_fft_run(&rx->symbol);
    for (k = -half; k < 0; k++) {
      row[k + half] = times(rx->symbol.out[c->fft + k], w);
      w = times(w, step);
    }
    for (k = 1; k <= half; k++) {
      w = times(w, step);
      row[k + half - 1] = times(rx->symbol.out[k], w);
    }
  }
  return 0;
}

/* ---- reference signals --------------------------------------------------------------------------------------------
 */

/* Channel values of a port's reference signals in one symbol, only those in the part that the recording shows:
 * p[0..n) at subcarriers first, first + 6, ... */
static unsigned pilots(const struct tlg_lte_rx_cell *c, const tlg_cf64 *grid, unsigned subframe, unsigned port,
                       unsigned l, tlg_cf64 *p, unsigned *first)
{
  tlg_cf64 r[MAX_PILOTS];
  unsigned n = tlg_lte_crs((unsigned)c->id, (unsigned)c->prb, port, subframe, l, first, r), k = 0, m = 0;

  for (; k < n && *first + 6 * k < (unsigned)c->sc_first; k++) {
  }
  if (k > 0) {
    memmove(r, r + k, (n - k) * sizeof *r);
    n -= k;
    *first += 6 * k;
  }
  for (; m < n && *first + 6 * m < (unsigned)c->sc_end; m++) {
    p[m] = times_conj(grid[l * 12 * (size_t)c->prb + *first + 6 * m], r[m]);
  }
  return m;
}

static unsigned number(int64_t k)
{
  return (unsigned)((k % 10 + 10) % 10);
}

struct ring {
  tlg_cf64 product;
  double norm, all;
  unsigned n;
};

/* A product of neighbours of which the outer one lies beyond `inner` resource blocks and within `outer`. */
static void gather(struct ring *r, const tlg_cf64 *p, unsigned n, unsigned first, int prb, int inner, int outer)
{
  unsigned i;

  for (i = 1; i < n; i++) {
    const int a = (int)(first + 6 * i) - 6 * prb, b = a - 6;
    const int far = abs(a) > abs(b) ? abs(a) : abs(b), near = abs(a) > abs(b) ? abs(b) : abs(a);

    if (near >= 6 * inner - 1 && far <= 6 * outer) {
      add(&r->product, times_conj(p[i], p[i - 1]));
      r->norm += power(p[i]) * power(p[i - 1]);
      r->all += 0.5 * (power(p[i]) + power(p[i - 1]));
      r->n++;
    }
  }
}

static int present(const struct ring *r, double least_coherence)
{
  const double size = sqrt(power(r->product));

  return r->norm > 0 && size > LTE_GATE_CRS * sqrt(r->norm) && size > least_coherence * r->all;
}

/* A subframe, in input samples. */
static double subframe_length(const struct tlg_lte_rx *rx, const struct tlg_lte_rx_cell *c)
{
  return rx->rate_hz * 1e-3 * (1 + (c->clock_used ? c->clock_ppm * 1e-6 : 0));
}

int tlg_lte_rx_bandwidth(struct tlg_lte_rx *rx, struct lte_cell *cell)
{
  static const int widths[] = {6, 15, 25, 50, 75, 100};
  enum { N = 6, MOST = 40 };
  struct tlg_lte_rx_cell *c = &cell->pub;
  struct ring ring[N] = {{{0, 0}, 0, 0, 0}}, port[4] = {{{0, 0}, 0, 0, 0}};
  const double length = subframe_length(rx, c);
  int width = N - 1, i, st, done = 0;
  tlg_cf64 *grid, p[MAX_PILOTS];
  double coherence;
  int64_t k;

  while (width > 0 && widths[width] * 180e3 > 0.96 * rx->rate_hz) {
    width--;
  }
  c->prb = widths[width];
  st = tlg_lte_rx_tune(rx, cell);
  grid = st == 0 ? malloc(TLG_LTE_RX_SYMBOLS * 12 * (size_t)c->prb * sizeof *grid) : NULL;
  if (!grid) {
    return st ? st : TLG_ENOMEM;
  }
  for (k = (int64_t)ceil(-c->start / length); done < MOST && c->start + (double)(k + 1) * length <= rx->source.n; k++) {
    static const unsigned mask = 1u << 0 | 1u << 1 | 1u << 4 | 1u << 7 | 1u << 8 | 1u << 11;
    unsigned l, a, n, first;

    st = tlg_lte_rx_demodulate(rx, cell, c->start + (double)k * length, mask, TLG_LTE_RX_CP_TS / 2.0, grid);
    if (st != 0) {
      break;
    }
    for (l = 0; l < TLG_LTE_RX_SYMBOLS; l++) {
      for (a = 0; a < 4 && (mask >> l & 1); a++) {
        n = pilots(c, grid, number(k), a, l, p, &first);
        gather(&port[a], p, n, first, c->prb, 0, 6);
        for (i = 0; a == 0 && i <= width; i++) {
          gather(&ring[i], p, n, first, c->prb, i ? widths[i - 1] : 0, widths[i]);
        }
      }
    }
    done++;
  }
  free(grid);
  coherence = ring[0].all > 0 ? sqrt(power(ring[0].product)) / ring[0].all : 0;
  for (i = 1; i <= width && present(&ring[i], 0.3 * coherence); i++) {
  }
  c->prb = widths[i - 1];
  c->ports = 1;
  if (present(&port[1], 0.3 * coherence)) {
    c->ports = present(&port[2], 0.3 * coherence) && present(&port[3], 0.3 * coherence) ? 4 : 2;
  }
  return st ? st : tlg_lte_rx_tune(rx, cell);
}

/* ---- following ----------------------------------------------------------------------------------------------------
 */

/* A subframe's reference signals of port 0, taken at input position `at`. */
struct look {
  double at;
  double late;      /* by their slope, in input samples */
  double symbol[4]; /* the same for each symbol */
  double coherence;
  double power, noise; /* of one */
  tlg_cf64 turn;       /* sums over n_turn pairs half a subframe apart: products, and mean powers */
  double turn_power;
  unsigned n_turn;
  unsigned n[4], first[4];
  int ok;
  tlg_cf32 p[4][MAX_PILOTS];
};

static double slope(const struct tlg_lte_rx *rx, tlg_cf64 product)
{
  return -angle(product) / (2 * M_PI * 6 * 15e3) * rx->rate_hz;
}

static tlg_cf64 wide_of(tlg_cf32 a)
{
  return (tlg_cf64){a.i, a.q};
}

static int look(struct tlg_lte_rx *rx, struct lte_cell *cell, int64_t k, double at, tlg_cf64 *grid, struct look *v)
{
  const unsigned mask = 1u << 0 | 1u << 4 | 1u << 7 | 1u << 11;
  const int st = tlg_lte_rx_demodulate(rx, cell, at, mask, TLG_LTE_RX_CP_TS / 2.0, grid);
  tlg_cf64 p[MAX_PILOTS], all = {0, 0};
  double sum = 0, half = 0;
  unsigned l, i, n_sum = 0;

  if (st != 0) {
    return st;
  }
  v->at = at;
  v->ok = 0;
  for (l = 0; l < 4; l++) {
    tlg_cf64 here = {0, 0};

    v->n[l] = pilots(&cell->pub, grid, number(k), 0, crs_symbol[l], p, &v->first[l]);
    for (i = 0; i < v->n[l]; i++) {
      v->p[l][i].i = (float)p[i].i;
      v->p[l][i].q = (float)p[i].q;
      sum += power(p[i]);
      n_sum++;
      if (i > 0) {
        add(&here, times_conj(p[i], p[i - 1]));
        half += 0.5 * (power(p[i]) + power(p[i - 1]));
      }
    }
    v->symbol[l] = slope(rx, here);
    add(&all, here);
  }
  v->late = slope(rx, all);
  v->coherence = half > 0 ? sqrt(power(all)) / half : 0;
  v->power = n_sum ? sum / n_sum : 0;
  /* The same subcarriers half a subframe later differ by noise, and by a common turn. */
  v->turn.i = v->turn.q = v->turn_power = 0;
  v->n_turn = 0;
  for (l = 0; l < 2; l++) {
    for (i = 0; i < v->n[l] && i < v->n[l + 2]; i++) {
      const tlg_cf64 early = wide_of(v->p[l][i]), later = wide_of(v->p[l + 2][i]);

      add(&v->turn, times_conj(later, early));
      v->turn_power += 0.5 * (power(early) + power(later));
      v->n_turn++;
    }
  }
  return 0;
}

/* The noise in one reference signal; a weak turn is not believed but taken as that of the carrier's rest (Hz). */
static double noise_of(const struct look *v, double rest_hz)
{
  const double size = sqrt(power(v->turn)), phase = 2 * M_PI * rest_hz * 0.5e-3;
  const int weak = size < 5 * v->turn_power / sqrt((double)v->n_turn + 1);
  const double common = weak ? v->turn.i * cos(phase) + v->turn.q * sin(phase) : size;

  return v->n_turn ? (v->turn_power - common) / v->n_turn : 0;
}

/* The slope between reference signals six subcarriers apart leaves 11.1 us open; those of the next symbol stand three
 * subcarriers beside, so a subframe that is 11.1 us off shows them with the other sign. */
static int aliased(const struct look *v, double late_turns)
{
  tlg_cf64 sum = {0, 0};
  unsigned l, i;

  for (l = 0; l < 4; l += 2) {
    const unsigned n = v->n[l] < v->n[l + 1] ? v->n[l] : v->n[l + 1];

    for (i = 0; i < n; i++) {
      const double turn = 2 * M_PI * ((double)v->first[l + 1] - v->first[l]) / 6 * late_turns;

      add(&sum, times(times_conj(wide_of(v->p[l + 1][i]), wide_of(v->p[l][i])), (tlg_cf64){cos(turn), sin(turn)}));
    }
  }
  return sum.i < 0 && sum.i * sum.i > sum.q * sum.q;
}

static int by_value(const void *a, const void *b)
{
  const double x = *(const double *)a, y = *(const double *)b;

  return (x > y) - (x < y);
}

static double median(double *x, size_t n)
{
  qsort(x, n, sizeof *x, by_value);
  return n == 0 ? 0 : n % 2 ? x[n / 2] : 0.5 * (x[n / 2 - 1] + x[n / 2]);
}

/* The signal is not where it was: look for its synchronisation signals in what follows input position `from`. 1 and
 * the position of subframe k nearest to `at`, or 0. */
static int reacquire(struct tlg_lte_rx *rx, const struct lte_cell *cell, int64_t k, double at, double from,
                     double *found)
{
  const double ratio = rx->to_narrow.direct ? 1 : (double)rx->to_narrow.up / (double)rx->to_narrow.down;
  const double first = floor(from * ratio), length = subframe_length(rx, &cell->pub), frame = 10 * length;
  const size_t n = 12 * LTE_NARROW_SUBFRAME;
  tlg_cf64 *s = malloc(n * sizeof *s);
  double start, statistic = 0;
  int half;

  if (s && tlg_lte_convert_read(&rx->to_narrow, &rx->source, (int64_t)first, n, s) == 0) {
    statistic = tlg_lte_narrow_find(&rx->narrow, s, n, cell->pub.id, cell->pub.cfo_hz, &start, &half);
  }
  free(s);
  if (statistic < LTE_GATE_SSS_MIB) {
    return 0;
  }
  start = (first + start + half * LTE_NARROW_HALF) / ratio + number(k) * length;
  *found = start + floor((at - start) / frame + 0.5) * frame;
  return 1;
}

/* How the following stands. */
struct state {
  double speed; /* what a subframe is longer than said, relative */
  double usual; /* coherence */
  size_t good, lost;
};

/* Near an end of the recording there may be no synchronisation signal left: try places up to 120 us off, 2 us apart
 * (the prefix forgives as much). v becomes the best of them if it is coherent enough. */
static int hunt(struct tlg_lte_rx *rx, struct lte_cell *cell, int64_t k, double at, double least, tlg_cf64 *grid,
                struct look *v)
{
  struct look *other = malloc(sizeof *other);
  int st = other ? 0 : TLG_ENOMEM, i;

  for (i = -60; st == 0 && i <= 60; i++) {
    st = i ? look(rx, cell, k, at + 2e-6 * i * rx->rate_hz, grid, other) : 0;
    if (i && st == 0 && other->coherence > least && other->coherence > v->coherence) {
      *v = *other;
      v->ok = 1;
    }
  }
  free(other);
  return st;
}

/* Subframe k, expected at *at: take it, or look where it went; *at becomes where the next one in this direction (1 or
 * -1) is expected. */
static int take_one(struct tlg_lte_rx *rx, struct lte_cell *cell, int64_t k, double *at, int direction,
                    struct state *state, struct look *v, tlg_cf64 *grid)
{
  const double length = subframe_length(rx, &cell->pub);
  double limit, found;
  int st = look(rx, cell, k, *at, grid, v);

  if (st != 0) {
    return st;
  }
  /* Weak reference signals are lost only against what is usual, by four deviations of what noise gives. */
  limit = 4 / sqrt((double)(v->n[0] + v->n[1] + v->n[2] + v->n[3]) + 1);
  v->ok = state->usual < 2 * limit || v->coherence > LEAST_COHERENCE * state->usual;
  if (!v->ok && state->lost++ % 4 == 0) {
    /* The step may lie inside: search beyond. */
    const double from = *at + length * (direction < 0 ? -12 : state->lost > 1 ? 0 : 1);

    if (!reacquire(rx, cell, k, *at, from, &found)) {
      st = hunt(rx, cell, k, *at, LEAST_COHERENCE * state->usual, grid, v);
    } else if (fabs(found - *at) > 1) {
      struct look *other = malloc(sizeof *other);

      st = other ? look(rx, cell, k, found, grid, other) : TLG_ENOMEM;
      if (st == 0 && other->coherence > LEAST_COHERENCE * state->usual) {
        *v = *other;
        v->ok = 1;
      }
      *at = found;
      free(other);
    }
    if (st != 0) {
      return st;
    }
    if (v->ok) {
      *at = v->at;
    }
  }
  if (v->ok && state->usual > 2 * limit) {
    /* Far from its place a subframe is measured less well; and it may be a whole period of the slope off. */
    const double unit = rx->rate_hz / (6 * 15e3);
    struct look *other = malloc(sizeof *other);
    const int alias = aliased(v, v->late / unit);
    int i;

    if (!other) {
      return TLG_ENOMEM;
    }
    for (i = -1; alias && i <= 1; i += 2) {
      st = look(rx, cell, k, v->at + v->late + i * unit, grid, other);
      if (st == 0 && other->coherence > LEAST_COHERENCE * state->usual && !aliased(other, other->late / unit)) {
        *v = *other;
        v->ok = 1;
        break;
      }
    }
    if (st == 0 && fabs(v->late) > 0.5e-6 * rx->rate_hz) {
      st = look(rx, cell, k, v->at + v->late, grid, other);
      if (st == 0 && other->coherence > LEAST_COHERENCE * state->usual) {
        *v = *other;
        v->ok = 1;
      }
    }
    free(other);
    if (st != 0) {
      return st;
    }
    *at = v->at;
  }
  if (v->ok) {
    const double gain = state->usual > 2 * limit ? 0.5 : 0.1;

    state->lost = 0;
    state->good++;
    state->usual += (v->coherence - state->usual) / (double)(state->good < 20 ? state->good + 1 : 20);
    *at += gain * v->late;
    state->speed += direction * 0.2 * gain * v->late / length;
    if (fabs(state->speed) > 1e-4) {
      state->speed = state->speed > 0 ? 1e-4 : -1e-4;
    }
  }
  *at += direction * length * (1 + state->speed);
  return 0;
}

struct path {
  struct look **v;
  size_t n, room;
};

static struct look *more(struct path *p)
{
  if (p->n == p->room) {
    const size_t room = p->room ? 2 * p->room : 128;
    struct look **v = realloc(p->v, room * sizeof *v);

    if (!v) {
      return NULL;
    }
    p->v = v;
    p->room = room;
  }
  p->v[p->n] = malloc(sizeof **p->v);
  return p->v[p->n] ? p->v[p->n++] : NULL;
}

static void drop(struct path *p)
{
  size_t k;

  for (k = 0; k < p->n; k++) {
    free(p->v[k]);
  }
  free(p->v);
  memset(p, 0, sizeof *p);
}

/* Room for a start that a little of the first prefix lacks, and for an end short of a sample. */
static int inside(const struct tlg_lte_rx *rx, double at, double length)
{
  return at >= -36.0 / 30.72e6 * rx->rate_hz && at + length <= (double)rx->source.n + 2;
}

/* From the clearest of some subframes forward to the end and backward to the beginning: a step anywhere, and a search
 * that saw the signal only after it, do no harm. all: in order of time; *first is the number of its first, and
 * line = *zero + length * k the expectation without steps. */
static int walk(struct tlg_lte_rx *rx, struct lte_cell *cell, struct path *all, int64_t *first, double *zero)
{
  enum { TRIES = 16 };
  struct tlg_lte_rx_cell *c = &cell->pub;
  const double length = subframe_length(rx, c);
  int64_t low = (int64_t)ceil(-c->start / length), k, anchor = INT64_MIN, previous = INT64_MIN;
  const int64_t high = (int64_t)floor(((double)rx->source.n + 2 - c->start) / length);
  tlg_cf64 *grid = malloc(TLG_LTE_RX_SYMBOLS * 12 * (size_t)c->prb * sizeof *grid);
  struct look *v = malloc(sizeof *v);
  struct path back = {NULL, 0, 0};
  double best = -1, late = 0, at;
  struct state state = {0, 0, 0, 0};
  int st = TLG_ENOMEM, i;

  if (!grid || !v) {
    goto done;
  }
  low -= inside(rx, c->start + (double)(low - 1) * length, length);
  st = 0;
  for (i = 0; i < TRIES && high > low; i++) {
    k = low + (high - low) * (2 * i + 1) / (2 * TRIES);
    if (k == previous) {
      continue;
    }
    previous = k;
    st = look(rx, cell, k, c->start + (double)k * length, grid, v);
    if (st != 0) {
      goto done;
    }
    if (v->coherence > best) {
      best = v->coherence;
      anchor = k;
      late = v->late;
    }
  }
  *first = low;
  *zero = c->start;
  if (anchor == INT64_MIN) {
    goto done;
  }
  *zero = c->start + late;
  state.usual = 0.8 * best;
  for (k = anchor, at = *zero + (double)anchor * length; inside(rx, at, length); k++) {
    struct look *next = more(all);

    st = next ? take_one(rx, cell, k, &at, 1, &state, next, grid) : TLG_ENOMEM;
    if (st != 0) {
      goto done;
    }
  }
  state.speed = 0;
  state.lost = 0;
  for (k = anchor - 1, at = *zero + (double)(anchor - 1) * length; inside(rx, at, length); k--) {
    struct look *next = more(&back);

    st = next ? take_one(rx, cell, k, &at, -1, &state, next, grid) : TLG_ENOMEM;
    if (st != 0) {
      goto done;
    }
  }
  *first = anchor - (int64_t)back.n;
  /* Together, in order. */
  if (back.n > 0) {
    struct look **v_all = malloc((all->n + back.n) * sizeof *v_all);
    size_t j;

    if (!v_all) {
      st = TLG_ENOMEM;
      goto done;
    }
    for (j = 0; j < back.n; j++) {
      v_all[j] = back.v[back.n - 1 - j];
    }
    memcpy(v_all + back.n, all->v, all->n * sizeof *v_all);
    free(all->v);
    all->v = v_all;
    all->n += back.n;
    all->room = all->n;
    back.n = 0;
  }
done:
  drop(&back);
  free(v);
  free(grid);
  return st;
}

/* A straight line with one slope and a level for each segment, least squares; NaN values are left out. dev: the
 * slope's standard error. */
static double common_slope(const double *y, const int *segment, size_t n, double *level, int n_segments, double *dev)
{
  double sxx = 0, sxy = 0, rest = 0, slope_;
  size_t k, used = 0;
  int s;

  for (s = 0; s < n_segments; s++) {
    double x0 = 0, y0 = 0, m = 0;

    for (k = 0; k < n; k++) {
      if (segment[k] == s && !isnan(y[k])) {
        x0 += (double)k;
        y0 += y[k];
        m++;
      }
    }
    for (k = 0; m > 0 && k < n; k++) {
      if (segment[k] == s && !isnan(y[k])) {
        sxx += ((double)k - x0 / m) * ((double)k - x0 / m);
        sxy += ((double)k - x0 / m) * (y[k] - y0 / m);
      }
    }
  }
  slope_ = sxx > 0 ? sxy / sxx : 0;
  for (s = 0; s < n_segments; s++) {
    double sum = 0, m = 0;

    for (k = 0; k < n; k++) {
      if (segment[k] == s && !isnan(y[k])) {
        sum += y[k] - slope_ * (double)k;
        m++;
      }
    }
    level[s] = m > 0 ? sum / m : level[s]; /* one that was all left out keeps what was known */
    for (k = 0; k < n; k++) {
      if (segment[k] == s && !isnan(y[k])) {
        const double r = y[k] - slope_ * (double)k - level[s];

        rest += r * r;
        used++;
      }
    }
  }
  *dev = sxx > 0 && used > 2 ? sqrt(rest / (double)(used - 2) / sxx) : INFINITY;
  return slope_;
}

/* Timing once more, finer: the products of reference signals `lag` apart against their mean over all subframes. */
static void finer(const struct tlg_lte_rx *rx, struct look *const *looks, const double *line, double *measured,
                  size_t n)
{
  unsigned l, i, pass;
  size_t k;

  for (pass = 0; pass < 2; pass++) {
    tlg_cf64(*mean)[2][MAX_PILOTS] = calloc(2, sizeof *mean); /* by lag, parity of the symbol */
    const unsigned least = looks[0]->n[0] < 200 ? looks[0]->n[0] : 200;
    const unsigned lag[2] = {1, least / 3 > 1 ? least / 3 : 1};

    if (!mean) {
      return;
    }
    for (k = 0; k < 2 * n; k++) {
      const size_t j = k < n ? k : k - n;
      const struct look *v = looks[j];
      /* In the first round the mean is gathered with the timing known so far taken out; in the second each is compared.
       */
      const double out = (pass == 0 ? line[j] : measured[j]) - v->at;
      tlg_cf64 sum[2] = {{0, 0}, {0, 0}};
      unsigned g;

      if (!v->ok || isnan(measured[j])) {
        continue;
      }
      for (g = 0; g < 2; g++) {
        const double turn = 2 * M_PI * 6 * 15e3 * lag[g] * out / rx->rate_hz;
        const tlg_cf64 w = {cos(turn), sin(turn)};

        for (l = 0; l < 4; l++) {
          for (i = lag[g]; i < v->n[l]; i++) {
            const tlg_cf64 d = times(times_conj(wide_of(v->p[l][i]), wide_of(v->p[l][i - lag[g]])), w);

            if (k < n) {
              add(&mean[g][l & 1][i], d);
            } else {
              add(&sum[g], times_conj(d, mean[g][l & 1][i]));
            }
          }
        }
      }
      if (k >= n) {
        const double coarse = -angle(sum[0]) / (2 * M_PI * 6 * 15e3) * rx->rate_hz;
        const double unit = rx->rate_hz / (6 * 15e3 * lag[1]); /* of a whole turn at the long lag */
        double fine = -angle(sum[1]) / (2 * M_PI) * unit;

        fine += floor((coarse - fine) / unit + 0.5) * unit;
        measured[j] = v->at + out + fine;
      }
    }
    free(mean);
  }
}

/* Phases in turns against the mean channel of the longest segment, when that lasts; cfo and slope_ (turns a subframe)
 * are known about. Returns the better slope, or slope_ itself if the channel changes too much. */
static double against_mean(const struct tlg_lte_rx *rx, struct look *const *looks, const int *segment, size_t n,
                           const double *line, double cfo, double slope_, double *phase, double *level, int n_segments,
                           double *dev)
{
  tlg_cf64(*mean)[MAX_PILOTS] = calloc(2, sizeof *mean);
  double *better = malloc(n * sizeof *better), *own_level = calloc((size_t)n_segments + 1, sizeof *own_level);
  size_t *count = calloc((size_t)n_segments + 1, sizeof *count);
  size_t k, longest = 0;
  unsigned l, i;
  int round;

  if (!mean || !better || !own_level || !count) {
    goto done;
  }
  for (k = 0; k < n; k++) {
    count[segment[k]] += looks[k]->ok && !isnan(phase[k]);
    longest = count[segment[k]] > count[longest] ? (size_t)segment[k] : longest;
  }
  for (round = 0; round < 2; round++) {
    double own_dev, own_slope, rest = 0, last = 0;

    for (k = 0; k < 2 * n; k++) {
      const size_t j = k < n ? k : k - n;
      const struct look *v = looks[j];
      const double off = 2 * M_PI * 15e3 / rx->rate_hz * (line[j] - v->at);
      const double known = cfo * (line[j] - line[0]) / rx->rate_hz + slope_ * (double)j;
      tlg_cf64 sum = {0, 0};

      if (k >= n) {
        better[j] = NAN;
      }
      if (!v->ok || isnan(phase[j]) || (k < n && (size_t)segment[j] != longest)) {
        continue;
      }
      for (l = 0; l < 4; l++) {
        for (i = 0; i < v->n[l]; i++) {
          const double turn =
              off * (6.0 * i - 3.0 * (v->n[l] - 1)) - 2 * M_PI * (known + (k < n ? level[segment[j]] : 0));
          const tlg_cf64 p = times(wide_of(v->p[l][i]), (tlg_cf64){cos(turn), sin(turn)});

          if (k < n) {
            add(&mean[l & 1][i], p);
          } else {
            add(&sum, times_conj(p, mean[l & 1][i]));
          }
        }
      }
      if (k >= n) {
        double turned = angle(sum) / (2 * M_PI);

        /* The levels of other segments are anything; within one the phase goes on. */
        turned -= j > 0 && segment[j] == segment[j - 1] ? floor(turned - last + 0.5) : 0;
        last = turned;
        better[j] = turned;
      }
    }
    own_slope = common_slope(better, segment, n, own_level, n_segments, &own_dev);
    for (k = 0, i = 0; k < n; k++) {
      if (!isnan(better[k])) {
        const double r = better[k] - own_slope * (double)k - own_level[segment[k]];

        rest += r * r;
        i++;
      }
    }
    if (i < 3 || sqrt(rest / i) > 0.2) {
      break;
    }
    for (k = 0; k < n; k++) {
      phase[k] = better[k] + slope_ * (double)k;
    }
    slope_ += own_slope;
    for (k = 0; k < (size_t)n_segments; k++) {
      level[k] = own_level[k];
    }
    *dev = own_dev;
    memset(mean, 0, 2 * sizeof *mean);
  }
done:
  free(mean);
  free(better);
  free(own_level);
  free(count);
  return slope_;
}

/* The carrier's rest: turn by half a subframe within each, then from each to the next. */
static double carrier(const struct tlg_lte_rx *rx, struct look *const *looks, const int *segment, size_t n,
                      const double *line, double *phase, double *dev)
{
  tlg_cf64 sum = {0, 0};
  double rest, cfo, turned, slope_, *level, walked = 0, steps = 0;
  size_t k;
  unsigned l, i;
  int n_segments = 1;

  for (k = 0; k < n; k++) {
    const struct look *v = looks[k];

    for (l = 0; v->ok && l < 2; l++) {
      for (i = 0; i < v->n[l] && i < v->n[l + 2]; i++) {
        add(&sum, times_conj(wide_of(v->p[l + 2][i]), wide_of(v->p[l][i])));
      }
    }
  }
  cfo = angle(sum) / (2 * M_PI * 0.5e-3);
  /* From one subframe to the next: the timing taken out, the turn known so far too. */
  turned = 0;
  phase[0] = 0;
  for (k = 1; k < n; k++) {
    const struct look *v = looks[k], *u = looks[k - 1];
    const double seconds = (line[k] - line[k - 1]) / rx->rate_hz;
    tlg_cf64 turn = {0, 0};

    if (segment[k] != segment[k - 1]) {
      n_segments = segment[k] + 1;
    }
    phase[k] = NAN;
    if (!v->ok || !u->ok || segment[k] != segment[k - 1]) {
      if (v->ok) {
        phase[k] = turned;
      }
      continue;
    }
    for (l = 0; l < 4; l++) {
      const double off = 2 * M_PI * 15e3 / rx->rate_hz * ((line[k] - v->at) - (line[k - 1] - u->at));

      for (i = 0; i < v->n[l] && i < u->n[l]; i++) {
        const double f = v->first[l] + 6.0 * i - 0.5 * (v->first[l] + v->first[l] + 6.0 * (v->n[l] - 1));

        add(&turn, times(times_conj(wide_of(v->p[l][i]), wide_of(u->p[l][i])), (tlg_cf64){cos(f * off), sin(f * off)}));
      }
    }
    rest = angle(turn) / (2 * M_PI) - cfo * seconds;
    rest -= floor(rest + 0.5);
    turned += rest;
    walked += rest * rest;
    steps++;
    phase[k] = turned;
  }
  level = calloc((size_t)n_segments, sizeof *level);
  if (!level) {
    *dev = INFINITY;
    return cfo;
  }
  slope_ = common_slope(phase, segment, n, level, n_segments, dev);
  if (steps > 1 && walked / steps > slope_ * slope_ && *dev < sqrt((walked / steps - slope_ * slope_) / steps)) {
    *dev = sqrt((walked / steps - slope_ * slope_) / steps);
  }
  /* From one to the next noise adds up as in a random walk: once more against the mean of the longest segment. */
  slope_ = against_mean(rx, looks, segment, n, line, cfo, slope_, phase, level, n_segments, dev);
  *dev *= 1e3;
  for (k = 0; k < n; k++) {
    phase[k] = 2 * M_PI * (phase[k] - slope_ * (double)k - level[segment[k]]);
  }
  free(level);
  return cfo + slope_ * 1e3;
}

/* Useful parts of the four symbols with reference signals: from, in parts of a subframe; each lasts 2048 / 30720. */
static const double symbol_from[4] = {160 / 30720.0, (160 + 2192.0 * 4) / 30720, (15360.0 + 160) / 30720,
                                      (15360 + 160 + 2192.0 * 4) / 30720};
#define SYMBOL_PART (2048 / 30720.0)

/* A small step: where in subframes k - 1 .. k + 1 the timing of the symbols goes over from one level to another
 * (deviations from line). *within: the subframe that it cuts, or n. */
static double split(double length, struct look *const *looks, size_t k, size_t n, const double *line, double before,
                    double after, size_t *within)
{
  const size_t from = k > 0 ? k - 1 : 0, end = k + 1 < n ? k + 2 : n;
  const size_t count = 4 * (end - from);
  double best = INFINITY, at = line[k];
  size_t cut, j;

  *within = n;
  for (cut = 1; cut < count; cut++) {
    double error = 0;

    for (j = 0; j < count; j++) {
      const struct look *v = looks[from + j / 4];
      const double e = v->at + v->symbol[j % 4] - line[from + j / 4] - (j < cut ? before : after);

      error += e * e;
    }
    if (error < best) {
      const size_t a = from + (cut - 1) / 4, b = from + cut / 4;

      best = error;
      /* Between the last symbol before it and the first one after. */
      at = 0.5 * (line[a] + before + (symbol_from[(cut - 1) % 4] + SYMBOL_PART) * length + line[b] + before +
                  symbol_from[cut % 4] * length);
      *within = cut % 4 ? a : n;
    }
  }
  return at;
}

/* Coherence of each of the four symbols at a place. */
static int symbols(struct tlg_lte_rx *rx, struct lte_cell *cell, int64_t k, double at, tlg_cf64 *grid,
                   double *coherence)
{
  static const unsigned mask = 1u << 0 | 1u << 4 | 1u << 7 | 1u << 11;
  const int st = tlg_lte_rx_demodulate(rx, cell, at, mask, TLG_LTE_RX_CP_TS / 2.0, grid);
  tlg_cf64 p[MAX_PILOTS];
  unsigned l, first;

  for (l = 0; st == 0 && l < 4; l++) {
    struct ring r = {{0, 0}, 0, 0, 0};
    const unsigned n = pilots(&cell->pub, grid, number(k), 0, crs_symbol[l], p, &first);

    gather(&r, p, n, first, cell->pub.prb, 0, 100);
    coherence[l] = r.all > 0 ? sqrt(power(r.product)) / r.all : 0;
  }
  return st;
}

/* A large step between subframe a, the last in step before it, and b, the first after: the cut between two symbols that
 * makes those before it most coherent at the old place and those after it at the new. Either of a and b that it cuts,
 * or of which a symbol is spoilt, is left out. line: without levels. */
static int place(struct tlg_lte_rx *rx, struct lte_cell *cell, int64_t first, struct look *const *looks, size_t a,
                 size_t b, const double *line, double before, double after, double *measured, double *at)
{
  enum { LONGEST = 64 };
  const double length = subframe_length(rx, &cell->pub), least = 0.6 * looks[b]->coherence;
  tlg_cf64 *grid;
  double old[4 * LONGEST], new[4 * LONGEST], sum = 0, best, clear = 0, old_end, new_from;
  size_t n = 4 * (b - a + 1), k, cut = 0, from, end;
  int st = 0;

  *at = 0.5 * (line[a] + before + line[b] + after);
  if (b - a >= LONGEST) {
    return 0;
  }
  grid = malloc(TLG_LTE_RX_SYMBOLS * 12 * (size_t)cell->pub.prb * sizeof *grid);
  if (!grid) {
    return TLG_ENOMEM;
  }
  for (k = a; k <= b && st == 0; k++) {
    st = symbols(rx, cell, first + (int64_t)k, line[k] + before, grid, old + 4 * (k - a));
    if (st == 0) {
      st = symbols(rx, cell, first + (int64_t)k, line[k] + after, grid, new + 4 * (k - a));
    }
  }
  free(grid);
  if (st != 0) {
    return st;
  }
  for (k = 0; k < n; k++) {
    sum += new[k];
  }
  best = sum;
  for (k = 0; k < n; k++) {
    sum += old[k] - new[k];
    if (sum > best) {
      best = sum;
      cut = k + 1;
    }
  }
  for (k = 0; k < n; k++) {
    clear = fmax(clear, k < cut ? old[k] : new[k]);
  }
  /* Where the signal is clear, a symbol that lacks a twentieth shows. */
  clear = clear > 0.9 ? 0.95 * clear : least;
  for (k = 0; k < 4; k++) {
    if (k >= cut || old[k] < clear) {
      looks[a]->ok = 0;
      measured[a] = NAN;
    }
    if (n - 1 - k < cut || new[n - 1 - k] < clear) {
      looks[b]->ok = 0;
      measured[b] = NAN;
    }
  }
  for (end = cut; end > 0 && old[end - 1] < least; end--) {
  }
  for (from = cut; from < n && new[from] < least; from++) {
  }
  old_end = end > 0 ? line[a + (end - 1) / 4] + before + (symbol_from[(end - 1) % 4] + SYMBOL_PART) * length
                    : line[a] + before;
  new_from = from < n ? line[a + from / 4] + after + symbol_from[from % 4] * length : line[b] + after + length;
  *at = new_from > old_end ? 0.5 * (old_end + new_from) : old_end;
  return 0;
}

/* Number the segments: a new one wherever the deviation from the straight line jumps. What stands alone between two
 * levels is the step itself and is left out. Returns their number. */
static int segments(struct look *const *looks, double *measured, const double *line, double slope_, double threshold,
                    int *segment, size_t n)
{
  double last = NAN;
  size_t k;
  int now = 0;

  for (k = 0; k < n; k++) {
    const double d = measured[k] - line[k] - slope_ * (double)k;

    segment[k] = now;
    if (isnan(d)) {
      continue;
    }
    if (!isnan(last) && fabs(d - last) > threshold) {
      double next = NAN;
      size_t j;

      for (j = k + 1; j < n && isnan(next); j++) {
        next = measured[j] - line[j] - slope_ * (double)j;
      }
      if (!isnan(next) && fabs(next - d) > threshold) {
        looks[k]->ok = fabs(next - last) <= threshold; /* only badly measured, when it goes on as before */
        measured[k] = NAN;
        continue;
      }
      now++;
      segment[k] = now;
    }
    last = d;
  }
  return now + 1;
}

/* Once through the recording with the clock as it is known. */
static int follow(struct tlg_lte_rx *rx, struct lte_cell *cell)
{
  struct tlg_lte_rx_cell *c = &cell->pub;
  const double length = subframe_length(rx, c), frame = 10 * length;
  struct path all = {NULL, 0, 0};
  struct look **looks;
  double *measured = NULL, *line = NULL, *level = NULL, *scratch = NULL, *phase = NULL;
  double speed, dev, spread, threshold, noise = 0, sum = 0, coherence = 0, zero = 0;
  int *segment = NULL, n_segments, st, shift;
  int64_t first = 0;
  size_t k, m, n, good = 0, within;

  free(cell->timing);
  cell->timing = NULL;
  st = walk(rx, cell, &all, &first, &zero);
  n = all.n;
  looks = all.v;
  c->subframe_first = first;
  c->subframe_end = first + (int64_t)n;
  if (st != 0 || n == 0) {
    goto done;
  }
  st = TLG_ENOMEM;
  measured = malloc(n * sizeof *measured);
  line = malloc(n * sizeof *line);
  scratch = malloc(n * sizeof *scratch);
  phase = calloc(n, sizeof *phase);
  segment = calloc(n, sizeof *segment);
  level = calloc(n + 1, sizeof *level);
  cell->timing = calloc(n, sizeof *cell->timing);
  if (!measured || !line || !scratch || !phase || !segment || !level || !cell->timing) {
    goto done;
  }
  for (k = 0; k < n; k++) {
    measured[k] = looks[k]->ok ? looks[k]->at + looks[k]->late : NAN;
    line[k] = zero + (double)(first + (int64_t)k) * length;
  }
  /* The clock by the median of the differences, which steps do not move; then the steps. */
  for (k = 1, m = 0; k < n; k++) {
    if (looks[k]->ok && looks[k - 1]->ok) {
      scratch[m++] = measured[k] - measured[k - 1] - length;
    }
  }
  speed = median(scratch, m);
  for (k = 0; k < m; k++) {
    scratch[k] = fabs(scratch[k] - speed);
  }
  spread = 1.4826 * median(scratch, m);
  threshold = 6 * spread > 0.4 ? 6 * spread : 0.4;
  n_segments = segments(looks, measured, line, speed, threshold, segment, n);
  for (k = 0; k < n; k++) {
    scratch[k] = measured[k] - line[k];
  }
  speed = common_slope(scratch, segment, n, level, n_segments, &dev);
  /* Where the steps are; what they cut is left out of all that follows. */
  for (k = 0; k < n; k++) {
    scratch[k] = line[k] + speed * (double)k;
  }
  for (k = 1; k < n; k++) {
    if (segment[k] != segment[k - 1]) {
      const double before = level[segment[k - 1]], after = level[segment[k]];
      struct tlg_lte_rx_timing *t = &cell->timing[k];

      for (m = k - 1; m > 0 && !looks[m]->ok; m--) {
      }
      if (fabs(after - before) < 4e-6 * rx->rate_hz) {
        t->step_at = split(length, looks, k, n, scratch, before, after, &within);
        if (within < n) {
          looks[within]->ok = 0;
          measured[within] = NAN;
        }
      } else {
        st = place(rx, cell, first, looks, m, k, scratch, before, after, measured, &t->step_at);
        if (st != 0) {
          goto done;
        }
      }
    }
  }
  for (k = 0; k < n; k++) {
    scratch[k] = measured[k] - line[k];
  }
  speed = common_slope(scratch, segment, n, level, n_segments, &dev);
  for (k = 0; k < n; k++) {
    scratch[k] = line[k] + speed * (double)k + level[segment[k]];
  }
  finer(rx, looks, scratch, measured, n);
  for (k = 0; k < n; k++) {
    scratch[k] = measured[k] - line[k];
  }
  speed = common_slope(scratch, segment, n, level, n_segments, &dev);
  c->clock_ppm = ((length + speed) / (rx->rate_hz * 1e-3) - 1) * 1e6;
  c->clock_dev_ppm = dev / length * 1e6;
  for (k = 0; k < n; k++) {
    line[k] += speed * (double)k + level[segment[k]];
  }
  {
    double cfo_dev;
    const double rest = carrier(rx, looks, segment, n, line, phase, &cfo_dev);

    c->cfo_hz += rest;
    for (k = 0; k < n; k++) {
      looks[k]->noise = noise_of(looks[k], rest);
    }
    c->cfo_dev_hz = cfo_dev;
  }
  /* Subframe 0 of the first frame, by the line of the first segment: frames are numbered so that it is the first one of
   * which something is there. */
  c->start = line[0] - (double)first * (length + speed);
  shift = (int)ceil((c->start + 36.0 / 30.72e6 * -rx->rate_hz) / frame);
  c->start -= shift * 10.0 * (length + speed);
  first += 10 * (int64_t)shift;
  c->subframe_first = first;
  c->subframe_end = first + (int64_t)n;
  if (c->mib_crc_ok) {
    c->sfn = ((c->sfn - shift) % 1024 + 1024) % 1024;
  }
  for (k = 0; k < n; k++) {
    struct tlg_lte_rx_timing *t = &cell->timing[k];
    const struct look *v = looks[k];
    const double wanted = v->power - v->noise;

    t->k = first + (int64_t)k;
    t->start = line[k];
    t->measured = measured[k];
    t->coherence = v->coherence;
    t->snr_db = wanted > 0 && v->noise > 0 ? 10 * log10(wanted / v->noise) : wanted > 0 ? 120 : -30;
    t->phase = phase[k];
    t->broken = !v->ok;
    if (k > 0 && segment[k] != segment[k - 1]) {
      t->step = level[segment[k]] - level[segment[k - 1]];
    }
    if (v->ok) {
      noise += v->noise;
      sum += v->power;
      coherence += v->coherence;
      good++;
    }
  }
  if (good > 0) {
    c->crs_metric = coherence / (double)good;
    c->snr_db = sum > noise && noise > 0 ? 10 * log10((sum - noise) / noise) : sum > noise ? 120 : -30;
    c->power_dbfs = 10 * log10((sum > noise ? sum - noise : 1e-30) / (double)good / (32768.0 * 32768.0));
  }
  st = 0;
done:
  drop(&all);
  free(measured);
  free(line);
  free(scratch);
  free(phase);
  free(segment);
  free(level);
  rx->loaded_cell = NULL;
  return st;
}

int tlg_lte_rx_follow(struct tlg_lte_rx *rx, struct lte_cell *cell)
{
  struct tlg_lte_rx_cell *c = &cell->pub;
  int st;

  c->clock_used = 0;
  st = follow(rx, cell);
  /* A clock that matters is taken out, and the rest is measured again. */
  if (st == 0 && fabs(c->clock_ppm) > CLOCK_LEAST * 1e6 && fabs(c->clock_ppm) > 4 * c->clock_dev_ppm &&
      fabs(c->clock_ppm) < 200) {
    c->clock_used = 1;
    st = follow(rx, cell);
  }
  return st ? st : tlg_lte_rx_numbers(rx, cell);
}

/* ---- for those who measure ------------------------------------------------------------------------------------------
 */

static struct lte_cell *own(struct tlg_lte_rx *rx, const struct tlg_lte_rx_cell *cell)
{
  size_t k;

  for (k = 0; rx && cell && k < rx->n_cells; k++) {
    if (rx->cell[k].pub.id == cell->id && rx->cell[k].pub.start == cell->start) {
      return &rx->cell[k];
    }
  }
  return NULL;
}

int tlg_lte_rx_track(struct tlg_lte_rx *rx, const struct tlg_lte_rx_cell *cell, struct tlg_lte_rx_timing *t, size_t cap,
                     size_t *n)
{
  const struct lte_cell *c = own(rx, cell);
  size_t k;

  if (!c || !n) {
    return TLG_EINVAL;
  }
  *n = (size_t)(c->pub.subframe_end - c->pub.subframe_first);
  for (k = 0; t && k < *n && k < cap; k++) {
    t[k] = c->timing[k];
  }
  return 0;
}

/* Ready to read subframe k: 0, or why not. */
static int ready(struct tlg_lte_rx *rx, struct lte_cell *c, int64_t k)
{
  if (!c || k < c->pub.subframe_first || k >= c->pub.subframe_end) {
    return TLG_EINVAL;
  }
  if (rx->wide_fft != (unsigned)c->pub.fft || rx->wide_direct != !c->pub.converted ||
      rx->source.mirrored != c->pub.mirrored) {
    return tlg_lte_rx_tune(rx, c);
  }
  return 0;
}

int tlg_lte_rx_subframe(struct tlg_lte_rx *rx, const struct tlg_lte_rx_cell *cell, int64_t k, double advance_ts,
                        tlg_cf64 *grid)
{
  return tlg_lte_rx_symbols(rx, cell, k, (1u << TLG_LTE_RX_SYMBOLS) - 1, advance_ts, grid);
}

int tlg_lte_rx_symbols(struct tlg_lte_rx *rx, const struct tlg_lte_rx_cell *cell, int64_t k, unsigned mask,
                       double advance_ts, tlg_cf64 *grid)
{
  struct lte_cell *c = own(rx, cell);
  int st;

  if (!grid || !(advance_ts >= 0 && advance_ts <= TLG_LTE_RX_CP_TS)) {
    return TLG_EINVAL;
  }
  st = ready(rx, c, k);
  return st ? st : tlg_lte_rx_demodulate(rx, c, c->timing[k - c->pub.subframe_first].start, mask, advance_ts, grid);
}

int tlg_lte_rx_time(struct tlg_lte_rx *rx, const struct tlg_lte_rx_cell *cell, int64_t k, size_t before, tlg_cf64 *out,
                    size_t n, double *frac)
{
  struct lte_cell *c = own(rx, cell);
  tlg_cf64 *raw;
  int st;

  if (!out || !frac || n > 1u << 26 || before > 1u << 26) {
    return TLG_EINVAL;
  }
  st = ready(rx, c, k);
  if (st != 0) {
    return st;
  }
  raw = c->pub.clock_used ? malloc((n + n / 1000 + 2 * MARGIN + 8) * sizeof *raw) : NULL;
  if (c->pub.clock_used && !raw) {
    return TLG_ENOMEM;
  }
  st = samples(rx, &c->pub, c->timing[k - c->pub.subframe_first].start, n, before, raw, out, frac);
  free(raw);
  return st;
}
