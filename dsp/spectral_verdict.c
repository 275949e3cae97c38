/* SPDX-License-Identifier: Apache-2.0 */
/* The figures of a comparison, and the verdict on them. */
#include "spectral_check.h"

#include <stdlib.h>

double tlg_check_judged_error(const struct tlg_check *c, double rr, double ee, tlg_cf64 yr)
{
  const tlg_cf64 off = {yr.i - rr, yr.q};
  const double limit = pow(10, c->cfg.max_ripple_db / 20) - 1;

  return rr > 0 && power(off) <= limit * limit * rr * rr ? ee - power(off) / rr : ee;
}

static size_t wrap_bin(int64_t k, size_t n)
{
  const int64_t r = k % (int64_t)n;

  return (size_t)(r < 0 ? r + (int64_t)n : r);
}

/* Signed number of bin b, as bin_hz has it. */
static int64_t signed_bin(size_t b, size_t n)
{
  return b <= n / 2 ? (int64_t)b : (int64_t)b - (int64_t)n;
}

/* Input power in the units of an output bin, at the signed bin k of a spectrum that repeats at the input rate. */
static double input_at(const struct tlg_check *c, int64_t k)
{
  const double scale = (double)c->n_out / (double)c->n_in;

  return c->sum[0].xx[wrap_bin(k, c->n_in)] * scale * scale;
}

/* What the output may hold at the signed bin k outside the band: input, or its image, that the filter need not stop,
 * as it lies between the band and the first image of the band. */
static double excused(const struct tlg_check *c, int64_t k)
{
  const double bin = c->fs_out / (double)c->n_out;
  double sum = 0;
  int j;

  for (j = -1; j <= 1; j++) {
    const int64_t f = k + j * (int64_t)c->n_out;
    const double hz = fabs((double)f) * bin;

    if (hz > c->band && hz < c->stop) {
      sum += input_at(c, f);
    }
  }
  return 1.02 * sum;
}

/* What falls on output bin k out of the stop band, where it is F = k + j * rate_out: an image of the input about
 * m * rate_in, or, as m = 0, an alias of the input itself. width: bins about k that count. Returns the power of the
 * strongest parent (the nearer one when they are alike) with its bin and m. *all = that of the two strongest images
 * and of all aliases, which may come together there when the input is wide. *leak = what rounded taps let pass of all
 * that lies outside the band: tlg_check_leak, a share of 1/L in each image. */
static double parents(const struct tlg_check *c, int64_t k, size_t width, int64_t *parent, int64_t *number, double *all,
                      double *leak)
{
  const double bin = c->fs_out / (double)c->n_out;
  const int64_t n = (int64_t)c->n_in;
  double best = 0, image = 0, second = 0, aliases = 0, strongest = 0, sum_outside = 0, squares = 0;
  int j, distance, folds = 0;

  /* What falls on a bin repeats after `down` folds. */
  for (distance = 0; distance <= FOLDS && 2 * (uint32_t)distance <= c->down; distance++) {
    for (j = -distance; j <= distance; j += distance ? 2 * distance : 1) {
      const int64_t f = k + j * (int64_t)c->n_out;
      const int64_t m = f >= 0 ? (f + n / 2) / n : -((-f + n / 2) / n), p = f - m * n;
      double sum = 0;
      int64_t i;

      folds++;
      if (fabs((double)f) * bin < c->stop) {
        continue;
      }
      for (i = 0; i < (int64_t)width; i++) {
        sum += input_at(c, p + i - (int64_t)width / 2);
      }
      if (fabs((double)p) * bin > c->band) {
        sum_outside += sum;
        squares += sum * sum;
      }
      if (m == 0) {
        aliases += sum;
      } else if (sum > image) {
        second = image;
        image = sum;
      } else if (sum > second) {
        second = sum;
      }
      strongest = sum > strongest ? sum : strongest;
      if (sum > 1.5 * best) {
        best = sum;
        *parent = p;
        *number = m;
      }
    }
  }
  *all = image + second + aliases;
  *leak = tlg_check_leak(c, sum_outside * (folds < (int)c->down ? (double)c->down / folds : 1), squares) / c->up;
  return strongest;
}

struct span {
  int64_t first, end; /* signed bins */
};

/* Groups of bins that cover [-band, band], or what lies beyond it on either side, without crossing the edges. */
static size_t bands(const struct tlg_check *c, struct span span[3])
{
  const int64_t edge = (int64_t)floor(c->band / c->fs_out * (double)c->n_out), n = (int64_t)c->n_out;

  span[0].first = -edge;
  span[0].end = edge + 1;
  span[1].first = -((n - 1) / 2);
  span[1].end = -edge;
  span[2].first = edge + 1;
  span[2].end = n / 2 + 1;
  return 3;
}

static void gain_at(struct tlg_check *c, double hz, double gain_db)
{
  struct tlg_check_result *r = &c->r;

  if (r->n_gains == 0 || gain_db < r->lowest_gain_db) {
    r->lowest_gain_db = gain_db;
    r->lowest_hz = hz;
  }
  if (r->n_gains == 0 || gain_db > r->highest_gain_db) {
    r->highest_gain_db = gain_db;
    r->highest_hz = hz;
  }
  r->n_gains++;
}

static uint32_t inverse(uint32_t a, uint32_t n)
{
  int64_t t = 0, u = 1, r = n, s = a % n;

  while (s) {
    const int64_t q = r / s, rr = r - q * s, tt = t - q * u;

    r = s;
    s = rr;
    t = u;
    u = tt;
  }
  return (uint32_t)(t < 0 ? t + n : t);
}

/* What a line holds beyond what belongs there: in the band the reference, outside it what the filter may pass. The
 * rounding of the input makes lines of its own, which are no images. */
static double stray(const struct tlg_check *c, size_t b)
{
  const double yy = c->sum[0].yy[b], allowed = c->in_band[b] ? 0 : excused(c, signed_bin(b, c->n_out));

  return c->in_band[b] ? c->sum[0].ee[b] : yy > allowed ? yy - allowed : 0;
}

/* A spectrum of separate tones? Then each line of the output is a tone, or names by its residue modulo rate_in / M the
 * tone whose image it is. Returns the power of all images, or a negative number when the input is none. */
static double judge_tones(struct tlg_check *c, double rounding_bin, double *image_excess)
{
  const struct sums *m = &c->sum[0];
  const size_t raster = c->n_in / c->down; /* bins of rate_in / M = rate_out / L */
  struct tlg_check_result *r = &c->r;
  double most = 0, all = 0, tones = 0, images = 0, noise = 0;
  size_t b, n = 0, t;
  uint16_t *owners; /* of each residue class: twice its tones, and 1 when a tone outside the band is among them */
  uint8_t *is_tone;

  if (!c->cfg.period) {
    return -1;
  }
  for (b = 0; b < c->n_in; b++) {
    all += m->xx[b];
    most = m->xx[b] > most ? m->xx[b] : most;
  }
  for (b = 0; b < c->n_in; b++) {
    if (m->xx[b] > 1e-5 * most) {
      tones += m->xx[b];
      n++;
    }
  }
  if (n > TLG_CHECK_TONES || tones < 0.999 * all) {
    return -1;
  }
  owners = calloc(raster, sizeof *owners);
  is_tone = calloc(c->n_out, sizeof *is_tone);
  if (!owners || !is_tone) {
    free(owners);
    free(is_tone);
    return -1;
  }
  for (b = 0; b < c->n_in; b++) {
    const int64_t k = signed_bin(b, c->n_in);
    struct tlg_check_tone *tone = &r->tone[r->n_tones];
    double in, out;
    size_t o;

    if (!(m->xx[b] > 1e-5 * most) || llabs(k) * 2 >= (int64_t)c->n_out) {
      continue;
    }
    r->n_tones++;
    o = wrap_bin(k, c->n_out);
    is_tone[o] = 1;
    in = m->rr[o];
    out = m->yr[o].i * m->yr[o].i + m->yr[o].q * m->yr[o].q;
    tone->hz = (double)k * c->fs_in / (double)c->n_in;
    tone->in_dbfs = to_db(in / ((double)m->blocks * c->w2 * (double)c->n_out) / FULL_SCALE2);
    tone->gain_db = to_db(out / (in * in));
    if (fabs(tone->hz) <= c->band) {
      gain_at(c, tone->hz, tone->gain_db);
      owners[wrap_bin(k, raster)] += 2;
    } else {
      owners[wrap_bin(k, raster)] = (uint16_t)((owners[wrap_bin(k, raster)] + 2) | 1);
    }
  }
  for (t = 0; t < r->n_tones; t++) {
    struct tlg_check_tone *tone = &r->tone[t];
    const int64_t k = (int64_t)llround(tone->hz / c->fs_in * (double)c->n_in);
    const size_t class = wrap_bin(k, raster), own = wrap_bin(k, c->n_out);
    double worst = 0;
    size_t at = own;

    if (owners[class] >> 1 != 1) {
      continue;
    }
    for (b = class; b < c->n_out; b += raster) {
      const double line = fabs(tone->hz) > c->band ? m->yy[b] : stray(c, b);

      if (b != own && line > worst) {
        worst = line;
        at = b;
      }
    }
    if (worst > 0 && m->yy[own] > 0) {
      const int64_t step = (signed_bin(at, c->n_out) - k) / (int64_t)raster;
      int64_t number = (int64_t)((uint64_t)wrap_bin(step, c->up) * inverse(c->down % c->up, c->up) % c->up);
      /* rounding may gather on single lines */
      const double gathers = (r->n_tones < 8 ? 0.1 : 0.03) * (c->weak ? 5 : 1);
      const double excess = worst - 20 * rounding_bin - gathers * rounding_bin * (double)c->n_out;

      number = number > (int64_t)c->up / 2 ? number - (int64_t)c->up : number;
      tone->has_image = 1;
      tone->image_dbc = to_db(worst / m->yy[own]);
      tone->image_hz = bin_hz(at, c->n_out, c->fs_out);
      tone->image_number = number;
      if (fabs(tone->hz) > c->band) {
        continue; /* told, not judged: nothing is promised for it */
      }
      if (excess / m->yy[own] > *image_excess) {
        *image_excess = excess / m->yy[own];
      }
      if (!r->has_image || tone->image_dbc > r->image_dbc) {
        r->has_image = 1;
        r->image_dbc = tone->image_dbc;
        r->image_hz = tone->image_hz;
        r->image_parent_hz = tone->hz;
        r->image_number = number;
      }
    }
  }
  for (b = 0; b < c->n_out; b++) {
    if (!is_tone[b] && !(owners[b % raster] & 1)) {
      images += stray(c, b);
      noise += rounding_bin;
      if (!c->in_band[b]) {
        r->out_of_band_dbc += stray(c, b) - rounding_bin;
      }
    }
  }
  free(owners);
  free(is_tone);
  return images > noise ? images - noise : 0;
}

/* Any other signal: what is not coherent with the input in the band, and what the input and its neighbourhood do not
 * explain outside it, group by group. An image's level is its density against that of the strongest place it may come
 * from. Returns the power of all of it. */
static double judge_groups(struct tlg_check *c, double rounding_bin, double dc, double *image_excess)
{
  struct tlg_check_result *r = &c->r;
  const struct sums *m = &c->sum[0];
  struct span span[3];
  const double effective = (double)m->blocks * (c->cfg.period ? 1 : 0.5);
  double total = 0, mean = 0, gathered;
  size_t s, b, strong = 0;
  int64_t k;

  bands(c, span);
  mean = m->inside / (double)(span[0].end - span[0].first);
  /* The rounding of a narrow signal is no noise but gathers on lines. */
  for (k = span[0].first; k < span[0].end; k++) {
    strong += m->rr[wrap_bin(k, c->n_out)] > 0.01 * mean;
  }
  r->narrow = strong * 16 < (size_t)(span[0].end - span[0].first);
  gathered = (r->narrow ? c->weak ? 0.5 : 0.1 : c->weak ? 0.1 : 0) * rounding_bin * (double)c->n_out;
  for (s = 0; s < 3; s++) {
    for (k = span[s].first; k < span[s].end; k += GROUP) {
      const int64_t end = k + GROUP < span[s].end ? k + GROUP : span[s].end;
      const double width = (double)(end - k), hz = (double)(k + end - 1) / 2 * c->fs_out / (double)c->n_out;
      double yy = 0, rr = 0, allowed = 0, spur, allowance, parent_power, together, leak;
      int64_t i, parent = 0, number = 0;
      tlg_cf64 yr = {0, 0};

      for (i = k; i < end; i++) {
        b = wrap_bin(i, c->n_out);
        yy += m->yy[b];
        rr += m->rr[b];
        yr.i += m->yr[b].i;
        yr.q += m->yr[b].q;
        allowed += s == 0 ? 0 : excused(c, i);
      }
      if (s == 0) {
        spur = rr > 0 ? yy - power(yr) / rr : yy;
        if (rr > 1e-4 * mean * width && rr > 1000 * rounding_bin * width && power(yr) > 0) {
          const double noise = spur > rounding_bin * width ? spur : rounding_bin * width;
          const double scatter = 8.686 * (6 * sqrt(noise / (2 * rr * width * effective)) + sqrt(gathered / rr));

          gain_at(c, hz, to_db(power(yr) / (rr * rr)));
          if (scatter > r->ripple_limit_db) {
            r->ripple_limit_db = scatter; /* for now: what chance adds */
          }
        }
      } else {
        spur = yy - allowed;
      }
      spur -= rounding_bin * width;
      if (!(spur > 0)) {
        continue;
      }
      total += spur;
      if (s != 0) {
        r->out_of_band_dbc += spur;
      }
      parent_power = parents(c, (k + end) / 2, (size_t)width, &parent, &number, &together, &leak);
      if (!(parent_power > 0.1 * mean * width)) {
        continue;
      }
      if (k <= 0 && end > 0) { /* a constant is no image */
        spur -= dc;
      }
      allowance =
          leak + gathered + 0.2 * rounding_bin * width + 4 * (rounding_bin * width + allowed) / sqrt(width * effective);
      if ((spur - allowance) / together > *image_excess) {
        *image_excess = (spur - allowance) / together;
      }
      if (spur > allowance && (!r->has_image || to_db(spur / parent_power) > r->image_dbc)) {
        r->has_image = 1;
        r->image_dbc = to_db(spur / parent_power);
        r->image_hz = hz;
        r->image_parent_hz = (double)parent * c->fs_out / (double)c->n_out;
        r->image_number = number;
        r->image_limit_db = to_db((pow(10, c->cfg.max_image_dbc / 10) * together + allowance) / parent_power);
      }
    }
  }
  return total;
}

/* From here on the sums are those over all blocks. */
static void merge(struct tlg_check *c)
{
  struct sums *a = &c->sum[0], *b = &c->sum[1];
  size_t k;

  for (k = 0; k < c->n_in; k++) {
    a->xx[k] += b->xx[k];
    b->xx[k] = 0;
  }
  for (k = 0; k < c->n_out; k++) {
    a->rr[k] += b->rr[k];
    a->yy[k] += b->yy[k];
    a->ee[k] += b->ee[k];
    a->yr[k].i += b->yr[k].i;
    a->yr[k].q += b->yr[k].q;
    b->rr[k] = b->yy[k] = b->ee[k] = b->yr[k].i = b->yr[k].q = 0;
  }
  a->inside += b->inside;
  a->total += b->total;
  a->leaks += b->leaks;
  a->blocks += b->blocks;
  b->inside = b->total = b->leaks = 0;
  b->blocks = 0;
}

int tlg_check_finish(struct tlg_check *c, const struct tlg_check_result **result, struct tlg_error *err)
{
  struct tlg_check_result *r = &c->r;
  double yy_in = 0, ee_gain, norm, rounding_bin, images, images_signal, image_excess = 0, allowed, noise, chance;
  tlg_cf64 yr_in = {0, 0};
  struct span span[3];
  double sum_x = 0, sum_y = 0, judged;
  size_t b, s;
  int flushed;

  c->x_ended = c->y_ended = 1;
  tlg_check_last_block(c);
  if (c->r.blocks && c->cfg.length == 0 && c->x_fill > 0) {
    tlg_check_edge(c, 1);
  }
  r->up = c->up;
  r->down = c->down;
  r->band_hz = c->band;
  r->stop_hz = c->stop;
  r->n_in = c->n_x;
  r->n_out = c->n_y;
  r->block_in = c->n_in;
  r->block_out = c->n_out;
  r->periodic = c->cfg.period != 0;
  /* lengths */
  r->n_expected = (uint64_t)(((unsigned __int128)c->n_x * c->up + c->down - 1) / c->down);
  if (c->cfg.n_taps && c->n_x) {
    r->n_expected_flush = (uint64_t)(((unsigned __int128)(c->n_x - 1) * c->up + c->cfg.n_taps - 1) / c->down + 1);
  }
  r->n_extra = (int64_t)(c->n_y - r->n_expected);
  flushed = r->n_expected_flush > 0 && c->n_y == r->n_expected_flush;
  r->length_passed = c->cfg.any_length || r->n_extra == 0 || flushed;
  if (flushed) {
    r->n_extra = 0;
  }
  if (r->blocks == 0 && !r->length_passed && c->n_x >= c->n_in + 2 * (uint64_t)c->cfg.skip) {
    r->first_in = 0;
    tlg_check_find_causes(c, 0);
    *result = r;
    return 0;
  }
  if (r->blocks == 0) {
    return tlg_error_set(
        err, TLG_EFORMAT,
        "too short to compare: %llu inputs and %llu outputs; it takes %zu inputs and the %zu outputs of the "
        "same time, after the filter's transient of %zu inputs at either end",
        (unsigned long long)c->n_x, (unsigned long long)c->n_y, c->n_in, c->n_out, c->cfg.skip);
  }
  if (!(c->inside > ROUNDING_POWER * c->w2 * (double)c->n_out * (double)r->blocks)) { /* below any output's rounding */
    return tlg_error_set(
        err, TLG_EFORMAT,
        "nothing to compare: inputs %llu to %llu are silent inside +-%.4f MHz (the first and last %zu are left out)",
        (unsigned long long)r->first_in, (unsigned long long)c->last - 1, c->band / 1e6, c->cfg.skip);
  }
  allowed = c->asked + c->leaks;
  if (c->inside < 100 * allowed && c->inside < 1e-4 * c->total_in) {
    /* What a right chain leaves of the rest is as strong: neither level nor error would say anything. */
    return tlg_error_set(
        err, TLG_EFORMAT,
        "nothing to compare: inputs %llu to %llu hold only %.1f dBc inside +-%.4f MHz; what the filter leaves of the "
        "rest may hide it",
        (unsigned long long)r->first_in, (unsigned long long)c->last - 1, to_db(c->inside / c->total_in),
        c->band / 1e6);
  }
  r->first_out = c->y_begin;
  r->end_in = c->last;
  r->end_out = c->y_end;
  /* sums of squares -> powers */
  norm = (double)r->blocks * c->w2 * (double)c->n_out;
  noise = ROUNDING_POWER * norm;
  bands(c, span);
  for (s = 0; s < 2; s++) {
    const struct sums *m = &c->sum[s];

    for (b = 0; b < c->n_in; b++) {
      sum_x += m->xx[b];
    }
    for (b = 0; b < c->n_out; b++) {
      sum_y += m->yy[b];
      if (c->in_band[b]) {
        yy_in += m->yy[b];
        yr_in.i += m->yr[b].i;
        yr_in.q += m->yr[b].q;
      }
    }
  }
  {
    double w2_in = 0;

    for (b = 0; b < c->n_in; b++) {
      w2_in += c->w_in[b] * c->w_in[b];
    }
    r->in_dbfs = to_db(sum_x / ((double)r->blocks * w2_in * (double)c->n_in) / FULL_SCALE2);
  }
  r->out_dbfs = to_db(sum_y / norm / FULL_SCALE2);
  r->in_band_dbfs = to_db(c->inside / norm / FULL_SCALE2);
  r->rounding_dbfs = to_db(ROUNDING_POWER / FULL_SCALE2);
  r->outside_dbc = to_db((c->total_in - c->inside) / c->inside);
  r->gain_db = to_db(yy_in / c->inside);
  r->phase_deg = atan2(yr_in.q, yr_in.i) * 180 / M_PI;
  r->dc_i /= (double)r->blocks;
  r->dc_q /= (double)r->blocks;
  /* error in the band */
  allowed = c->asked + 1.5 * noise + c->leaks;
  r->snr_narrow = c->asked > 1.5 * pow(10, -c->cfg.min_snr_db / 10) * c->total_in;
  ee_gain = yy_in - power(yr_in) / c->inside;
  r->snr_db = c->error_in > 0 ? to_db(c->inside / c->error_in) : 300;
  r->snr_gain_db = ee_gain > 0 && yy_in > 0 ? to_db(yy_in / ee_gain) : 300;
  judged = tlg_check_judged_error(c, c->inside, c->error_in, yr_in);
  r->snr_judged_db = judged > 0 ? to_db(c->inside / judged) : 300;
  /* The excuse is shown only where it is needed. */
  r->snr_limit_db = r->snr_judged_db >= c->cfg.min_snr_db ? c->cfg.min_snr_db : to_db(c->inside / allowed);
  /* images, and gains over the band */
  /* Images are measured where the chain is otherwise right, if that is more than a tenth of all: an error of a moment
   * has a wide spectrum of its own. */
  if (c->sum[0].blocks * 10 < r->blocks) {
    merge(c);
  }
  r->image_blocks = c->sum[0].blocks;
  rounding_bin = ROUNDING_POWER * c->w2 * (double)c->sum[0].blocks;
  images_signal = c->sum[0].total;
  r->out_of_band_dbc = 0;
  c->weak = c->inside < WEAK_POWER * norm;
  images = judge_tones(c, rounding_bin, &image_excess);
  if (images < 0) {
    r->n_tones = 0;
    images = judge_groups(c, rounding_bin,
                          (r->dc_i * r->dc_i + r->dc_q * r->dc_q) * c->w2 * (double)c->n_out * (double)c->sum[0].blocks,
                          &image_excess);
  }
  chance = r->ripple_limit_db;
  if (r->n_tones) {
    double least = INFINITY;
    size_t repeats =
        c->n_in / c->down; /* the tones' true period goes so often into a block: rounding falls on so fewer lines */

    for (b = 0; b < r->n_tones; b++) {
      size_t k = wrap_bin((int64_t)llround(r->tone[b].hz / c->fs_in * (double)c->n_in), c->n_in);

      while (k) {
        const size_t t = repeats % k;

        repeats = k;
        k = t;
      }
    }
    for (b = 0; b < r->n_tones; b++) {
      if (fabs(r->tone[b].hz) <= c->band && r->tone[b].in_dbfs < least) {
        least = r->tone[b].in_dbfs;
      }
    }
    chance = 8.686 * (c->weak ? 16 : 8) *
             sqrt(ROUNDING_POWER / FULL_SCALE2 * (double)repeats / (double)c->n_out / pow(10, least / 10));
  }
  r->ripple_db = r->n_gains ? r->highest_gain_db - r->lowest_gain_db : 0;
  r->ripple_limit_db = c->cfg.max_ripple_db + (r->ripple_db > c->cfg.max_ripple_db ? chance : 0);
  r->in_band_passed = judged <= allowed && r->bad_blocks == 0 && r->edge_bad == 0 && r->ripple_db <= r->ripple_limit_db;
  if (r->n_tones || !r->has_image || r->image_dbc <= c->cfg.max_image_dbc) {
    r->image_limit_db = c->cfg.max_image_dbc; /* what is excused is shown only where it is needed */
  }
  r->total_dbc = images > 0 ? to_db(images / images_signal) : -300;
  r->out_of_band_dbc = r->out_of_band_dbc > 0 ? to_db(r->out_of_band_dbc / images_signal) : -300;
  allowed = pow(10, c->cfg.max_total_dbc / 10) * images_signal +
            (r->n_tones || r->narrow || c->weak ? 1 : 0.3) * rounding_bin * (double)c->n_out + c->sum[0].leaks;
  r->total_limit_db = r->total_dbc <= c->cfg.max_total_dbc ? c->cfg.max_total_dbc : to_db(allowed / images_signal);
  r->images_passed = images <= allowed && image_excess <= pow(10, c->cfg.max_image_dbc / 10);
  /* level */
  /* Power of an error within its limit adds to the output's; its part in phase with the signal counts most. */
  r->gain_limit_db = c->cfg.max_gain_db;
  if (fabs(r->gain_db) > r->gain_limit_db) {
    const double share = (1.5 * noise + c->leaks) / c->inside;

    r->gain_limit_db += 4.343 * (share + 5 * sqrt(share * c->w2 / (c->w1 * c->w1) / (double)r->blocks));
  }
  r->level_passed = yy_in > 0 && fabs(r->gain_db) <= r->gain_limit_db &&
                    (!c->cfg.judge_clipped || r->clipped_out <= c->cfg.max_clipped);
  r->passed = r->in_band_passed && r->images_passed && r->level_passed && r->length_passed;
  if (!r->passed) {
    tlg_check_find_causes(c, yy_in);
  }
  if (c->sum[1].blocks) {
    merge(c);
  }
  *result = r;
  return 0;
}

void tlg_check_spectra(const struct tlg_check *c, double *output, double *reference, double *error, double *mask)
{
  /* powers a bin -> relative to full scale, a Hz: |FFT|^2 / (w2 rate) */
  const double scale = c->r.blocks ? 1 / ((double)c->r.blocks * c->w2 * c->fs_out * FULL_SCALE2) : 0;
  const double rounding_bin = ROUNDING_POWER * c->w2 * (double)c->r.blocks;
  struct span span[3];
  double mean;
  size_t k;

  bands(c, span);
  mean = c->inside / (double)(span[0].end - span[0].first);
  for (k = 0; c->r.n_tones && k < c->n_out; k++) { /* lines are judged singly */
    mean = c->in_band[k] && c->sum[0].rr[k] > mean ? c->sum[0].rr[k] : mean;
  }
  for (k = 0; k < c->n_out; k++) {
    const int64_t s = (int64_t)k - (int64_t)(c->n_out / 2);
    const size_t b = wrap_bin(s, c->n_out);

    if (output) {
      output[k] = c->sum[0].yy[b] * scale;
    }
    if (reference) {
      reference[k] = c->sum[0].rr[b] * scale;
    }
    if (error) {
      error[k] = c->sum[0].ee[b] * scale;
    }
    if (mask) {
      const int inside = s >= span[0].first && s < span[0].end;

      mask[k] = scale * (rounding_bin + (inside ? pow(10, -c->cfg.min_snr_db / 10) * mean
                                                : pow(10, c->cfg.max_image_dbc / 10) * mean + excused(c, s)));
    }
  }
}
