/* SPDX-License-Identifier: Apache-2.0 */
/* The LTE receiver's front half: a recording in, cells out. */
#include "lte_rx.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE = 40 * LTE_NARROW_SUBFRAME, LEAST_PIECE = 15 * LTE_NARROW_SUBFRAME };
#define CFO_NEAR 45e3
#define CFO_FAR 300e3

int tlg_lte_rx_new(struct tlg_lte_rx **rx, const struct tlg_lte_rx_cfg *cfg, struct tlg_error *err)
{
  struct tlg_lte_rx *r;
  double rate;
  int direct;

  if (!rx) {
    return tlg_error_set(err, TLG_EINVAL, "no place for the receiver");
  }
  *rx = NULL;
  if (!cfg || cfg->rate.num == 0 || cfg->rate.den == 0) {
    return tlg_error_set(err, TLG_EINVAL, "the receiver needs the rate of the samples");
  }
  rate = tlg_rate_hz(&cfg->rate);
  if (!(rate >= 1.4e6 && rate <= 1e9)) {
    return tlg_error_set(err, TLG_EINVAL, "the rate is %.6g Msps; an LTE cell can be found from 1.4 Msps to 1000 Msps",
                         rate / 1e6);
  }
  if (!(cfg->cfo_max_hz >= 0 && cfg->cfo_max_hz <= 300e3)) {
    return tlg_error_set(err, TLG_EINVAL, "carrier offsets can be looked for up to 300 kHz, not %.6g Hz",
                         cfg->cfo_max_hz);
  }
  if (cfg->prb != 0 && tlg_lte_bandwidth_hz((unsigned)cfg->prb) == 0) {
    return tlg_error_set(err, TLG_EINVAL, "no LTE carrier has %d resource blocks; 6, 15, 25, 50, 75 or 100 have one",
                         cfg->prb);
  }
  r = calloc(1, sizeof *r);
  if (!r) {
    return tlg_error_set(err, TLG_ENOMEM, "no memory for the receiver");
  }
  r->cfg = *cfg;
  r->cfg.search_ms = cfg->search_ms ? cfg->search_ms : 100;
  if (cfg->cfo_max_hz > 0) {
    r->cfo_near_hz = r->cfo_far_hz = cfg->cfo_max_hz;
  } else {
    /* As far as the synchronisation signals (0.95 MHz wide) stay inside the band. */
    r->cfo_near_hz = CFO_NEAR;
    r->cfo_far_hz = 0.5 * rate - 0.48e6 < CFO_FAR ? 0.5 * rate - 0.48e6 : CFO_FAR;
  }
  r->rate_hz = rate;
  direct = cfg->rate.den == 1 && cfg->rate.num == 1920000;
  if (tlg_lte_narrow_open(&r->narrow, r->cfo_far_hz) != 0 ||
      tlg_lte_convert_open(&r->to_narrow, &cfg->rate, LTE_NARROW, direct) != 0) {
    tlg_lte_rx_free(r);
    return tlg_error_set(err, TLG_ENOMEM, "no memory for the receiver");
  }
  *rx = r;
  return 0;
}

static void forget(struct tlg_lte_rx *rx)
{
  size_t k;

  for (k = 0; k < rx->n_cells; k++) {
    free(rx->cell[k].timing);
  }
  memset(rx->cell, 0, sizeof rx->cell);
  rx->n_cells = 0;
  rx->loaded_cell = NULL;
  rx->why[0] = 0;
}

void tlg_lte_rx_free(struct tlg_lte_rx *rx)
{
  if (rx) {
    forget(rx);
    tlg_lte_narrow_close(&rx->narrow);
    tlg_lte_convert_close(&rx->to_narrow);
    tlg_lte_convert_close(&rx->wide);
    tlg_fft_close(&rx->symbol);
    free(rx->table);
    free(rx->time);
    free(rx->raw);
    free(rx);
  }
}

int tlg_lte_rx_samples(struct tlg_lte_rx *rx, const tlg_cs16 *x, size_t n)
{
  enum { BLOCKS = 64 };
  double mean_i = 0, mean_q = 0, spread = 0, block_i[BLOCKS], block_q[BLOCKS];
  size_t k, b;

  if (!rx || (!x && n > 0) || n > (size_t)1 << 40) {
    return TLG_EINVAL;
  }
  forget(rx);
  for (b = 0; b < BLOCKS; b++) {
    const size_t from = n / BLOCKS * b, end = b + 1 < BLOCKS ? from + n / BLOCKS : n;
    int64_t i = 0, q = 0;

    for (k = from; k < end; k++) {
      i += x[k].i;
      q += x[k].q;
    }
    block_i[b] = end > from ? (double)i / (double)(end - from) : 0;
    block_q[b] = end > from ? (double)q / (double)(end - from) : 0;
    mean_i += (double)i;
    mean_q += (double)q;
  }
  mean_i = n ? mean_i / (double)n : 0;
  mean_q = n ? mean_q / (double)n : 0;
  for (b = 0; b < BLOCKS; b++) {
    spread += ((block_i[b] - mean_i) * (block_i[b] - mean_i) + (block_q[b] - mean_q) * (block_q[b] - mean_q)) /
              (BLOCKS * (BLOCKS - 1.0));
  }
  rx->source.x = x;
  rx->source.n = n;
  rx->dc.i = mean_i;
  rx->dc.q = mean_q;
  /* Where the carrier is off, data stand at zero frequency too: a mean that is no more than theirs stays, as taking it
   * out would cut a line out of them. */
  rx->source.mean_i = rx->source.mean_q = 0;
  if (n >= 100 * BLOCKS && mean_i * mean_i + mean_q * mean_q > 25 * spread) {
    rx->source.mean_i = mean_i;
    rx->source.mean_q = mean_q;
  }
  rx->source.mirrored = 0;
  tlg_lte_convert_clear(&rx->to_narrow);
  tlg_lte_convert_clear(&rx->wide);
  return 0;
}

void tlg_lte_rx_mean(const struct tlg_lte_rx *rx, tlg_cf64 *mean)
{
  if (rx && mean) {
    *mean = rx->dc;
  }
}

const char *tlg_lte_rx_why(const struct tlg_lte_rx *rx)
{
  return rx ? rx->why : "";
}

/* From a candidate in the piece that begins at sample `from` of the narrow signal to a cell of the recording. */
static int settle(struct tlg_lte_rx *rx, const struct lte_candidate *found, size_t from, const tlg_cf64 *s, size_t n,
                  struct lte_cell *cell)
{
  const double ratio =
      rx->to_narrow.direct ? 1 : (double)rx->to_narrow.down / (double)rx->to_narrow.up; /* inputs a sample */
  const double frame = 1e-2 * rx->rate_hz, slack = 36.0 / 30.72e6 * rx->rate_hz;
  struct tlg_lte_rx_cell *c = &cell->pub;
  struct lte_mib_result mib;
  struct lte_candidate here = *found;
  int st, decoded;
  size_t at = from;

  /* The piece in which it was found first; then what follows, with the timing taken anew. */
  decoded = tlg_lte_mib_search(&rx->narrow, s + from, n - from < PIECE ? n - from : PIECE, &here, &mib);
  while (!decoded && (at += PIECE) + LTE_NARROW_SUBFRAME < n) {
    here = *found; /* 40 ms are four frames: the same place in each piece */
    tlg_lte_narrow_refine(&rx->narrow, s + at, n - at < PIECE ? n - at : PIECE, &here);
    decoded = here.crs > LTE_GATE_CRS &&
              tlg_lte_mib_search(&rx->narrow, s + at, n - at < PIECE ? n - at : PIECE, &here, &mib);
  }
  if (decoded ? found->crs < 3 : found->statistic < LTE_GATE_SSS || found->crs < LTE_GATE_CRS) {
    return 1;
  }
  memset(cell, 0, sizeof *cell);
  c->id = found->id;
  c->mirrored = rx->source.mirrored;
  c->cfo_hz = found->cfo_hz;
  c->start = ((double)from + found->start) * ratio;
  c->start -= frame * ceil((c->start - slack) / frame);
  c->pss_metric = found->pss;
  c->sss_metric = found->sss;
  c->statistic = found->statistic;
  c->threshold = decoded ? LTE_GATE_SSS_MIB : LTE_GATE_SSS;
  c->sfn = -1;
  c->mib_crc_ok = decoded;
  if (decoded) {
    static const int sixths[4] = {1, 3, 6, 12};
    const double mib_start = ((double)at + here.start) * ratio;

    c->prb = (int)mib.mib.prb;
    c->ports = mib.ports;
    c->mib = mib.bits;
    c->mib_frames = mib.frames;
    c->phich_extended = (int)mib.mib.phich_extended;
    c->phich_sixths = sixths[mib.mib.phich_resource & 3];
    c->sfn = (int)mib.mib.sfn - (int)floor((mib_start - c->start) / frame + 0.5);
    c->sfn = (c->sfn % 1024 + 1024) % 1024;
    st = tlg_lte_rx_tune(rx, cell);
  } else {
    st = tlg_lte_rx_bandwidth(rx, cell);
    if (st == 0 && rx->cfg.prb) {
      c->prb = rx->cfg.prb;
      st = tlg_lte_rx_tune(rx, cell);
    }
  }
  return st ? st : tlg_lte_rx_follow(rx, cell);
}

static int search(struct tlg_lte_rx *rx, const tlg_cf64 *s, size_t n, double cfo_max_hz, size_t end)
{
  struct lte_candidate found[LTE_CANDIDATES];
  size_t from, n_found, k;
  int st;

  tlg_lte_narrow_range(&rx->narrow, cfo_max_hz);
  for (from = 0; from < n && from < end && rx->n_cells == 0; from += PIECE) {
    const size_t left = n - from, m = left < PIECE + LEAST_PIECE ? left : PIECE;

    st = tlg_lte_narrow_search(&rx->narrow, s + from, m, found, LTE_CANDIDATES, &n_found);
    if (st != 0) {
      return st;
    }
    for (k = 0; k < n_found && rx->n_cells < TLG_LTE_RX_CELLS; k++) {
      st = settle(rx, &found[k], from, s, n, &rx->cell[rx->n_cells]);
      if (st < 0) {
        return st;
      }
      rx->n_cells += st == 0;
    }
    if (m == left) {
      break;
    }
  }
  return 0;
}

/* The other way round in frequency. */
static void mirror(struct tlg_lte_rx *rx, tlg_cf64 *s, size_t n)
{
  size_t k;

  for (k = 0; k < n; k++) {
    s[k].q = -s[k].q;
  }
  rx->source.mirrored = !rx->source.mirrored;
  tlg_lte_convert_clear(&rx->to_narrow);
  tlg_lte_convert_clear(&rx->wide);
}

static int by_power(const void *a, const void *b)
{
  const struct lte_cell *x = a, *y = b;

  return (x->pub.power_dbfs < y->pub.power_dbfs) - (x->pub.power_dbfs > y->pub.power_dbfs);
}

int tlg_lte_rx_search(struct tlg_lte_rx *rx, struct tlg_lte_rx_cell *cells, size_t cap, size_t *n)
{
  const double ratio = rx && !rx->to_narrow.direct ? (double)rx->to_narrow.up / (double)rx->to_narrow.down : 1;
  size_t length, k;
  tlg_cf64 *s;
  double all = 0;
  int st;

  if (!rx || !n || (!cells && cap > 0)) {
    return TLG_EINVAL;
  }
  *n = 0;
  forget(rx);
  if ((double)rx->source.n < 1.4e-4 * rx->rate_hz + 2) {
    snprintf(rx->why, sizeof rx->why,
             "%zu samples are less than the two symbols (0.14 ms) that carry a cell's synchronisation signals",
             rx->source.n);
    return 0;
  }
  length = (size_t)((double)rx->source.n * ratio);
  if (length > rx->cfg.search_ms * (size_t)LTE_NARROW_SUBFRAME) {
    length = rx->cfg.search_ms * (size_t)LTE_NARROW_SUBFRAME;
  }
  s = malloc((length + 1) * sizeof *s);
  if (!s) {
    return TLG_ENOMEM;
  }
  rx->source.mirrored = 0;
  tlg_lte_convert_clear(&rx->to_narrow);
  tlg_lte_convert_clear(&rx->wide);
  st = tlg_lte_convert_read(&rx->to_narrow, &rx->source, 0, length, s);
  for (k = 0; st == 0 && k < length; k++) {
    all += s[k].i * s[k].i + s[k].q * s[k].q;
  }
  if (st == 0 && !(all > 0)) {
    snprintf(rx->why, sizeof rx->why, "the recording is silent (but for DC) within 0.9 MHz of its middle");
  } else if (st == 0) {
    /* The likely first; then a carrier far off, and I and Q swapped, in the first 40 ms alone. */
    st = search(rx, s, length, rx->cfo_near_hz, length);
    if (st == 0 && rx->n_cells == 0) {
      mirror(rx, s, length);
      st = search(rx, s, length, rx->cfo_near_hz, 1);
    }
    if (st == 0 && rx->n_cells == 0 && rx->cfo_far_hz > rx->cfo_near_hz) {
      mirror(rx, s, length);
      st = search(rx, s, length, rx->cfo_far_hz, 1);
      if (st == 0 && rx->n_cells == 0) {
        mirror(rx, s, length);
        st = search(rx, s, length, rx->cfo_far_hz, 1);
      }
    }
  }
  free(s);
  if (st != 0) {
    forget(rx);
    return st;
  }
  if (rx->n_cells == 0 && !rx->why[0]) {
    if ((double)rx->source.n < 5.2e-3 * rx->rate_hz) {
      snprintf(
          rx->why, sizeof rx->why,
          "no synchronisation signal in %.3g ms; they come every 5 ms, so a recording of less than 5.2 ms may hold "
          "none",
          1e3 * (double)rx->source.n / rx->rate_hz);
    } else {
      snprintf(
          rx->why, sizeof rx->why,
          "no primary and secondary synchronisation signal stands out of the noise within %.3g kHz of the middle of "
          "the band, mirrored or not",
          rx->cfo_far_hz / 1e3);
    }
  }
  qsort(rx->cell, rx->n_cells, sizeof *rx->cell, by_power);
  rx->loaded_cell = NULL;
  *n = rx->n_cells;
  for (k = 0; k < rx->n_cells && k < cap; k++) {
    cells[k] = rx->cell[k].pub;
  }
  return 0;
}
