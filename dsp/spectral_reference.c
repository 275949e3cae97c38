/* SPDX-License-Identifier: Apache-2.0 */
/* Ideal band-limited rational resampling by FFT, in overlapping blocks of flat memory. */
#include "gcd.h"
#include "spectral.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void tlg_shift_table(tlg_cf64 *shift, size_t n, double delay)
{
  size_t b;

  for (b = 0; b < n; b++) {
    const double k = b <= n / 2 ? (double)b : (double)b - (double)n;
    const double angle = -2 * M_PI * k * delay / (double)n;

    shift[b].i = cos(angle);
    shift[b].q = sin(angle);
  }
}

void tlg_ideal_map(tlg_cf64 *r, size_t n_out, const tlg_cf64 *x, size_t n_in, const tlg_cf64 *shift)
{
  const size_t n = n_in < n_out ? n_in : n_out; /* bins that both have */
  const size_t positive = (n + 1) / 2, negative = (n - 1) / 2;
  const double gain = (double)n_out / (double)n_in;
  size_t b;

  for (b = 0; b < positive; b++) {
    r[b].i = gain * x[b].i;
    r[b].q = gain * x[b].q;
  }
  for (; b < n_out - negative; b++) {
    r[b].i = r[b].q = 0;
  }
  for (; b < n_out; b++) {
    r[b].i = gain * x[b + n_in - n_out].i;
    r[b].q = gain * x[b + n_in - n_out].q;
  }
  if (n % 2 == 0) { /* the bin at half the smaller rate stands for both its signs */
    const size_t half = n / 2;

    if (n_in == n_out) {
      r[half] = x[half];
    } else if (n_in < n_out) {
      r[half].i = r[n_out - half].i = 0.5 * gain * x[half].i;
      r[half].q = r[n_out - half].q = 0.5 * gain * x[half].q;
    } else {
      r[half].i = 0.5 * gain * (x[half].i + x[n_in - half].i);
      r[half].q = 0.5 * gain * (x[half].q + x[n_in - half].q);
    }
  }
  for (b = 0; shift && b < n_out; b++) {
    r[b] = times(r[b], shift[b]);
  }
}

int tlg_smooth(size_t n)
{
  static const size_t primes[] = {2, 3, 5, 7};
  size_t i;

  for (i = 0; i < 4; i++) {
    while (n % primes[i] == 0) {
      n /= primes[i];
    }
  }
  return n == 1;
}

size_t tlg_block_size(uint32_t down, size_t target)
{
  size_t half = (target + 2 * (size_t)down - 1) / (2 * (size_t)down);

  if (half == 0) {
    half = 1;
  }
  while (!tlg_smooth(half)) {
    half++;
  }
  return 2 * half * down;
}

/* ---- the streaming form --------------------------------------------------------------------------------------- */

struct tlg_ideal {
  uint32_t up, down;
  size_t n_in, n_out;     /* a block; the hop is half of it */
  struct tlg_fft forward; /* n_in points */
  struct tlg_fft back;    /* n_out points */
  tlg_cf64 *shift;
  double *window;
  tlg_cs16 *block; /* the newest n_in inputs */
  tlg_cf64 *tail;  /* second half of the block before, to which the next one's first half is added */
  tlg_cf64 *ready; /* n_out / 2 finished outputs, of which ready_from.. are still to be given */
  size_t fill;     /* inputs of the new half block so far */
  size_t ready_from, ready_end;
  uint64_t whole; /* of the delay: zeros or skipped outputs at the start */
  uint64_t drop;  /* finished outputs still to be dropped: they stand before output 0 */
  uint64_t zeros; /* zeros still to be given */
  uint64_t taken, given;
  struct tlg_rate delay;
};

int tlg_ideal_new(struct tlg_ideal **ideal, const struct tlg_ideal_cfg *cfg)
{
  struct tlg_ideal *r;
  uint32_t g;
  size_t k;

  if (!ideal) {
    return TLG_EINVAL;
  }
  *ideal = NULL;
  if (!cfg || cfg->up == 0 || cfg->down == 0 || cfg->up > 65535 || cfg->down > 65535 ||
      (cfg->delay.den == 0 && cfg->delay.num != 0)) {
    return TLG_EINVAL;
  }
  g = (uint32_t)tlg_gcd(cfg->up, cfg->down);
  r = calloc(1, sizeof *r);
  if (!r) {
    return TLG_ENOMEM;
  }
  r->up = cfg->up / g;
  r->down = cfg->down / g;
  r->delay = cfg->delay.den ? cfg->delay : (struct tlg_rate){0, 1};
  r->n_in = cfg->block ? cfg->block : tlg_block_size(r->down, 20000);
  if (r->n_in % (2 * (size_t)r->down) != 0 || r->n_in > 1u << 26 || r->delay.num / r->delay.den > UINT64_MAX / 4) {
    free(r);
    return TLG_EINVAL;
  }
  r->n_out = r->n_in / r->down * r->up;
  r->whole = r->delay.num / r->delay.den;
  r->shift = malloc(r->n_out * sizeof *r->shift);
  r->window = malloc(r->n_in * sizeof *r->window);
  r->block = calloc(r->n_in, sizeof *r->block);
  r->tail = calloc(r->n_out / 2, sizeof *r->tail);
  r->ready = malloc(r->n_out / 2 * sizeof *r->ready);
  if (!r->shift || !r->window || !r->block || !r->tail || !r->ready || tlg_fft_open(&r->forward, r->n_in, 0) != 0 ||
      tlg_fft_open(&r->back, r->n_out, 1) != 0) {
    tlg_ideal_free(r);
    return TLG_ENOMEM;
  }
  tlg_shift_table(r->shift, r->n_out, (double)(r->delay.num % r->delay.den) / (double)r->delay.den);
  for (k = 0; k < r->n_in; k++) {
    r->window[k] = tlg_window_at(TLG_WINDOW_HANN, (double)k / (double)r->n_in);
  }
  /* The first finished half block ends where input 0 begins, at output `whole`. */
  r->drop = r->n_out / 2 > r->whole ? r->n_out / 2 - r->whole : 0;
  r->zeros = r->whole > r->n_out / 2 ? r->whole - r->n_out / 2 : 0;
  *ideal = r;
  return 0;
}

void tlg_ideal_free(struct tlg_ideal *r)
{
  if (r) {
    tlg_fft_close(&r->forward);
    tlg_fft_close(&r->back);
    free(r->ready);
    free(r->tail);
    free(r->block);
    free(r->window);
    free(r->shift);
    free(r);
  }
}

/* Half a block of new inputs is in: add this block, whose first half is then finished. */
static void turn(struct tlg_ideal *r)
{
  const size_t half_in = r->n_in / 2, half_out = r->n_out / 2;
  const double scale = 1 / (double)r->n_out;
  size_t k;

  for (k = 0; k < r->n_in; k++) {
    r->forward.in[k].i = r->window[k] * r->block[k].i;
    r->forward.in[k].q = r->window[k] * r->block[k].q;
  }
  tlg_fft_run(&r->forward);
  tlg_ideal_map(r->back.in, r->n_out, r->forward.out, r->n_in, r->shift);
  tlg_fft_run(&r->back);
  for (k = 0; k < half_out; k++) {
    r->ready[k].i = r->tail[k].i + scale * r->back.out[k].i;
    r->ready[k].q = r->tail[k].q + scale * r->back.out[k].q;
    r->tail[k].i = scale * r->back.out[half_out + k].i;
    r->tail[k].q = scale * r->back.out[half_out + k].q;
  }
  r->ready_from = r->drop < half_out ? (size_t)r->drop : half_out;
  r->ready_end = half_out;
  r->drop -= r->ready_from;
  memmove(r->block, r->block + half_in, half_in * sizeof *r->block);
  r->fill = 0;
}

static size_t give(struct tlg_ideal *r, tlg_cf64 *out, size_t cap)
{
  size_t got = 0;

  while (got < cap && r->zeros > 0) {
    out[got].i = out[got].q = 0;
    r->zeros--;
    got++;
  }
  if (got < cap && r->ready_from < r->ready_end) {
    const size_t have = r->ready_end - r->ready_from, n = have < cap - got ? have : cap - got;

    memcpy(out + got, r->ready + r->ready_from, n * sizeof *out);
    r->ready_from += n;
    got += n;
  }
  r->given += got;
  return got;
}

int tlg_ideal_push(struct tlg_ideal *r, const tlg_cs16 *in, size_t n, size_t *used, tlg_cf64 *out, size_t cap,
                   size_t *got)
{
  const size_t half = r->n_in / 2;
  size_t taken = 0, made = 0;

  for (;;) {
    made += give(r, out + made, cap - made);
    if (r->zeros > 0 || r->ready_from < r->ready_end || taken == n) {
      break;
    }
    {
      const size_t m = half - r->fill < n - taken ? half - r->fill : n - taken;

      memcpy(r->block + half + r->fill, in + taken, m * sizeof *in);
      r->fill += m;
      taken += m;
      r->taken += m;
    }
    if (r->fill == half) {
      turn(r);
    }
  }
  *used = taken;
  *got = made;
  return 0;
}

int tlg_ideal_flush(struct tlg_ideal *r, tlg_cf64 *out, size_t cap, size_t *got)
{
  const size_t half = r->n_in / 2;
  /* ceil(n * up / down + num / den) */
  const unsigned __int128 bottom = (unsigned __int128)r->down * r->delay.den;
  const unsigned __int128 top =
      (unsigned __int128)r->taken * r->up * r->delay.den + (unsigned __int128)r->delay.num * r->down;
  const uint64_t all = (uint64_t)((top + bottom - 1) / bottom);
  size_t made = 0;

  while (made < cap && r->given < all) {
    const uint64_t left = all - r->given;
    size_t m;

    if (r->zeros == 0 && r->ready_from == r->ready_end) {
      memset(r->block + half + r->fill, 0, (half - r->fill) * sizeof *r->block);
      turn(r);
    }
    m = give(r, out + made, left < cap - made ? (size_t)left : cap - made);
    made += m;
  }
  *got = made;
  return 0;
}
