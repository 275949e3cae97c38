/* SPDX-License-Identifier: Apache-2.0 */
/* The streaming resampler: history, phase and counters around a kernel, in integers throughout. */
#include "gcd.h"
#include "kernels.h"

#include <stdlib.h>
#include <string.h>

/* Inputs brought into the buffer at a time: small enough to stay in the first-level cache. */
#define CHUNK 1024
#define MAX_COUNT ((uint64_t)1 << 62)

struct tlg_resamp {
  const struct tlg_kernel *kernel;
  struct tlg_bank bank;
  uint64_t q0;
  size_t n_taps;
  int align;
  size_t max_block;

  uint64_t n_in; /* inputs so far, skipped ones included */
  uint64_t n_out;
  uint64_t next; /* floor(q / L) of the next output: the newest input that it needs */
  struct tlg_phase at;

  /* Samples [base, base + used) of the stream. The next output needs none before base. Sample numbers before the
   * start are negative, as the history begins with zeros. */
  int16_t *memory;
  size_t memory_size;
  int16_t *plane[2]; /* position 0, after the margin */
  size_t width;      /* int16 a sample and plane */
  size_t history, chunk, used;
  int64_t base;

  int flushing;
  uint64_t flush_left;
};

/* Packets give small numbers, and a 32-bit division takes half the time of a 64-bit one. */
static uint64_t quotient(uint64_t a, uint32_t b)
{
  return a <= UINT32_MAX ? (uint32_t)a / b : a / b;
}

/* Outputs that exist after n inputs. n <= 2^62, so 128 bits hold n * L. */
static unsigned __int128 outputs_after(const struct tlg_resamp *r, uint64_t n)
{
  const unsigned __int128 top = (unsigned __int128)n * r->bank.up;

  return top <= r->q0 ? 0 : (top - 1 - r->q0) / r->bank.down + 1;
}

/* Outputs that samples [0, end) of the stream complete beyond those already made. */
static uint64_t outputs_ready(const struct tlg_resamp *r, uint64_t end)
{
  const uint32_t up = r->bank.up, down = r->bank.down;
  uint64_t fresh;

  if (end <= r->next) {
    return 0;
  }
  fresh = end - r->next;
  if (fresh > UINT64_MAX >> 17) {
    return (uint64_t)(((unsigned __int128)fresh * up - r->at.p + down - 1) / down);
  }
  return quotient(fresh * up - r->at.p + down - 1, down);
}

static void clear_history(struct tlg_resamp *r)
{
  memset(r->memory, 0, r->memory_size);
  r->used = r->history;
  r->base = (int64_t)r->n_in - (int64_t)r->history;
}

void tlg_resamp_reset(struct tlg_resamp *r)
{
  r->n_in = 0;
  r->n_out = 0;
  r->next = r->q0 / r->bank.up;
  r->at.p = r->bank.q0;
  r->at.u = 0;
  r->at.i = 0;
  r->flushing = 0;
  r->flush_left = 0;
  clear_history(r);
}

int tlg_resamp_new_form(struct tlg_resamp **result, const struct tlg_resamp_cfg *cfg, int form, struct tlg_error *err)
{
  const struct tlg_taps *taps;
  struct tlg_resamp *r;
  uint32_t up, down, common;
  size_t plane_size;
  int st, k;

  if (!result) {
    return tlg_error_set(err, TLG_EINVAL, "no place for the resampler was given");
  }
  *result = NULL;
  if (!cfg || cfg->up < 1 || cfg->up > 65535 || cfg->down < 1 || cfg->down > 65535) {
    return tlg_error_set(err, TLG_EINVAL, "the ratio must be two numbers from 1 to 65535");
  }
  if (cfg->rounding != TLG_ROUND_NEAREST && cfg->rounding != TLG_ROUND_USRPL0) {
    return tlg_error_set(err, TLG_EINVAL, "rounding mode %d is unknown", (int)cfg->rounding);
  }
  if ((unsigned)cfg->cpu > TLG_CPU_NEON) {
    return tlg_error_set(err, TLG_EINVAL, "instruction set %d is unknown", (int)cfg->cpu);
  }
  taps = cfg->taps;
  if (!taps || !taps->h || taps->n < 1) {
    return tlg_error_set(err, TLG_EINVAL, "the resampler needs taps");
  }
  common = (uint32_t)tlg_gcd(cfg->up, cfg->down);
  up = cfg->up / common;
  down = cfg->down / common;
  if (taps->up != up) {
    return tlg_error_set(err, TLG_ETAPS, "the taps are for L = %u, the ratio %u/%u needs L = %u", (unsigned)taps->up,
                         (unsigned)up, (unsigned)down, (unsigned)up);
  }
  st = tlg_taps_check(taps, err);
  if (st < 0) {
    return st;
  }
  r = aligned_alloc(64, (sizeof *r + 63) / 64 * 64); /* the bank holds vectors */
  if (!r) {
    return tlg_error_set(err, TLG_ENOMEM, "memory is exhausted");
  }
  memset(r, 0, sizeof *r);
  r->n_taps = taps->n;
  r->align = cfg->align != 0;
  r->q0 = r->align ? (taps->n - 1) / 2 : 0;
  r->max_block = cfg->max_block ? cfg->max_block : 65536;
  r->kernel = tlg_kernel_choose(cfg->cpu, up, down, (taps->n + up - 1) / up, form);
  if (!r->kernel) {
    free(r);
    return tlg_error_set(err, TLG_EUNAVAIL, "no kernel of this form is available here");
  }
  if (tlg_bank_new(&r->bank, r->kernel, taps, down, r->q0, cfg->rounding) < 0) {
    goto fail;
  }
  r->history = r->bank.taps - 1;
  r->chunk = r->history > CHUNK ? r->history : CHUNK;
  r->width = r->kernel->planes == 2 ? 1 : 2;
  plane_size = (r->history + r->chunk + 2 * (size_t)TLG_MARGIN) * r->width;
  r->memory_size = (plane_size * (size_t)r->kernel->planes * sizeof *r->memory + 63) / 64 * 64;
  r->memory = aligned_alloc(64, r->memory_size);
  if (!r->memory) {
    goto fail;
  }
  for (k = 0; k < r->kernel->planes; k++) {
    r->plane[k] = r->memory + plane_size * (size_t)k + TLG_MARGIN * r->width;
  }
  tlg_resamp_reset(r);
  *result = r;
  return TLG_OK;

fail:
  tlg_resamp_free(r);
  return tlg_error_set(err, TLG_ENOMEM, "memory is exhausted");
}

int tlg_resamp_new(struct tlg_resamp **r, const struct tlg_resamp_cfg *cfg, struct tlg_error *err)
{
  return tlg_resamp_new_form(r, cfg, -1, err);
}

void tlg_resamp_free(struct tlg_resamp *r)
{
  if (!r) {
    return;
  }
  free(r->memory);
  tlg_bank_free(&r->bank);
  free(r);
}

size_t tlg_resamp_bound(const struct tlg_resamp *r, size_t n_in)
{
  const uint64_t n = n_in > MAX_COUNT - r->n_in ? MAX_COUNT : r->n_in + n_in;

  return (size_t)outputs_ready(r, n);
}

/* Append n <= chunk samples (zeros if in is NULL), making room by moving the history to the front. */
static void append(struct tlg_resamp *r, const tlg_cs16 *in, size_t n)
{
  int16_t *end[2] = {NULL, NULL};
  int k;

  if (r->used + n > r->history + r->chunk) {
    const size_t gone = r->used - r->history;

    for (k = 0; k < r->kernel->planes; k++) {
      memmove(r->plane[k], r->plane[k] + gone * r->width, r->history * r->width * sizeof *r->plane[k]);
    }
    r->used = r->history;
    r->base += (int64_t)gone;
  }
  for (k = 0; k < r->kernel->planes; k++) {
    end[k] = r->plane[k] + r->used * r->width;
  }
  if (in) {
    r->kernel->unpack(end, in, n);
  } else {
    for (k = 0; k < r->kernel->planes; k++) {
      memset(end[k], 0, n * r->width * sizeof *end[k]);
    }
  }
  r->used += n;
}

/* Move the place in the period by n outputs, whose first inputs stand d apart. */
static void advance(struct tlg_resamp *r, uint64_t n, uint64_t d)
{
  uint64_t u = r->at.u + n, i = r->at.i + d;

  if (u >= r->bank.period) {
    const uint64_t periods = u < 2 * (uint64_t)r->bank.period ? 1 : u / r->bank.period;

    u -= periods * r->bank.period;
    i -= periods * r->bank.period_in;
  }
  r->at.u = (uint32_t)u;
  r->at.i = (uint32_t)i;
}

/* Make the next n outputs, whose inputs are all in the buffer. */
static void emit(struct tlg_resamp *r, tlg_cs16 *out, size_t n)
{
  const size_t newest = (size_t)((int64_t)r->next - r->base) * r->width;
  const int16_t *const x[2] = {r->plane[0] + newest, r->plane[1] ? r->plane[1] + newest : NULL};
  const uint64_t q = r->at.p + (uint64_t)n * r->bank.down, inputs = quotient(q, r->bank.up);

  r->kernel->resample(out, x, n, &r->bank, r->at);
  r->next += inputs;
  r->at.p = (uint32_t)(q - inputs * r->bank.up);
  advance(r, n, inputs);
  r->n_out += n;
}

int tlg_resamp_process(struct tlg_resamp *r, const tlg_cs16 *in, size_t n_in, tlg_cs16 *out, size_t cap_out,
                       size_t *got)
{
  size_t total, done = 0;

  if (!r || (n_in && !in) || !got || n_in > r->max_block || r->flushing || n_in > MAX_COUNT - r->n_in) {
    return TLG_EINVAL;
  }
  total = tlg_resamp_bound(r, n_in);
  if (total > MAX_COUNT - r->n_out || (total && !out)) {
    return TLG_EINVAL;
  }
  if (cap_out < total) {
    return TLG_ESPACE;
  }
  while (n_in) {
    const size_t n = n_in < r->chunk ? n_in : r->chunk;
    size_t ready;

    append(r, in, n);
    in += n;
    n_in -= n;
    r->n_in += n;
    ready = n_in ? (size_t)outputs_ready(r, r->n_in) : total - done;
    if (ready) {
      emit(r, out + done, ready);
      done += ready;
    }
  }
  *got = done;
  return TLG_OK;
}

int tlg_resamp_skip(struct tlg_resamp *r, uint64_t d, uint64_t *skipped)
{
  unsigned __int128 n_out, q;

  if (!r || r->flushing || d > MAX_COUNT - r->n_in) {
    return TLG_EINVAL;
  }
  n_out = outputs_after(r, r->n_in + d);
  if (n_out > MAX_COUNT) {
    return TLG_EINVAL;
  }
  r->n_in += d;
  if (d >= r->history) {
    clear_history(r);
  } else {
    append(r, NULL, (size_t)d);
  }
  if (skipped) {
    *skipped = (uint64_t)n_out - r->n_out;
  }
  r->n_out = (uint64_t)n_out;
  q = n_out * r->bank.down + r->q0;
  r->next = (uint64_t)(q / r->bank.up);
  r->at.p = (uint32_t)(q % r->bank.up);
  r->at.u = (uint32_t)(r->n_out % r->bank.period);
  r->at.i = (uint32_t)(((uint64_t)r->at.u * r->bank.down + r->bank.q0) / r->bank.up);
  return TLG_OK;
}

uint64_t tlg_resamp_flush_bound(const struct tlg_resamp *r)
{
  unsigned __int128 total;

  if (r->flushing) {
    return r->flush_left;
  }
  if (r->n_in == 0) {
    return 0;
  }
  if (r->align) {
    total = ((unsigned __int128)r->n_in * r->bank.up + r->bank.down - 1) / r->bank.down;
  } else {
    total = ((unsigned __int128)(r->n_in - 1) * r->bank.up + r->n_taps - 1) / r->bank.down + 1;
  }
  return total > r->n_out ? (uint64_t)(total - r->n_out) : 0;
}

int tlg_resamp_flush(struct tlg_resamp *r, tlg_cs16 *out, size_t cap_out, size_t *got)
{
  size_t done = 0;

  if (!r || !got || (cap_out && !out)) {
    return TLG_EINVAL;
  }
  if (!r->flushing) {
    r->flush_left = tlg_resamp_flush_bound(r);
    r->flushing = 1;
  }
  while (done < cap_out && r->flush_left) {
    uint64_t ready = outputs_ready(r, (uint64_t)(r->base + (int64_t)r->used));

    if (ready == 0) {
      append(r, NULL, r->chunk);
      continue;
    }
    if (ready > r->flush_left) {
      ready = r->flush_left;
    }
    if (ready > cap_out - done) {
      ready = cap_out - done;
    }
    emit(r, out + done, (size_t)ready);
    done += (size_t)ready;
    r->flush_left -= ready;
  }
  *got = done;
  return TLG_OK;
}

void tlg_resamp_position(const struct tlg_resamp *r, uint64_t *n_in, uint64_t *n_out)
{
  if (n_in) {
    *n_in = r->n_in;
  }
  if (n_out) {
    *n_out = r->n_out;
  }
}

void tlg_resamp_ratio(const struct tlg_resamp *r, uint32_t *up, uint32_t *down)
{
  if (up) {
    *up = r->bank.up;
  }
  if (down) {
    *down = r->bank.down;
  }
}

void tlg_resamp_delay(const struct tlg_resamp *r, struct tlg_rate *outputs)
{
  const uint64_t num = r->align ? (r->n_taps - 1) % 2 : r->n_taps - 1;
  const uint64_t den = 2 * (uint64_t)r->bank.down;
  const uint64_t common = tlg_gcd(num, den); /* den for num = 0: then 0/1 */

  outputs->num = num / common;
  outputs->den = den / common;
}

enum tlg_cpu tlg_resamp_cpu(const struct tlg_resamp *r)
{
  return r->kernel->cpu;
}
