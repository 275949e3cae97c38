/* SPDX-License-Identifier: Apache-2.0 */
/* Coefficient layouts: the prototype's taps brought into the order in which a kernel reads them. */
#include "kernels.h"

#include <stdlib.h>
#include <string.h>

/* A bank whose period is odd is doubled if it stays this small, so that no run is cut at the period's end. */
#define SMALL_BANK 16384

static uint32_t common_divisor(uint32_t a, uint32_t b)
{
  while (b) {
    const uint32_t t = a % b;

    a = b;
    b = t;
  }
  return a;
}

/* What brings the samples of a row into its lanes. The load starts one sample before the newest of lane 0. */
static void shape_picks(struct tlg_bank *b)
{
  unsigned l, k, c;

  if (b->lanes == 8) {
    for (l = 0; l < 8; l++) {
      for (c = 0; c < 2; c++) {
        b->pick[16 * c + 2 * l] = (uint16_t)(2 * b->spread[l] + 2 + c);
        b->pick[16 * c + 2 * l + 1] = (uint16_t)(2 * b->spread[l] + c);
      }
    }
  }
  if (b->lanes == 4) {
    b->narrow = b->spread[3] <= 2;
    b->second = b->spread[2];
    memset(b->shuffle, 0x80, sizeof b->shuffle);
    for (l = 0; l < 4; l++) {
      const unsigned load = l >= 2 && !b->narrow;
      const unsigned older = b->spread[l] - (load ? b->second : 0);

      for (c = 0; c < 2; c++) {
        for (k = 0; k < 2; k++) {
          b->shuffle[load][16 * c + 4 * l + k] = (uint8_t)(4 * (older + 1) + 2 * c + k);
          b->shuffle[load][16 * c + 4 * l + 2 + k] = (uint8_t)(4 * older + 2 * c + k);
        }
      }
    }
  }
}

/* Everything but the coefficients. 0, or -1 if the kernel cannot serve this ratio. */
static int shape(struct tlg_bank *b, const struct tlg_kernel *kernel)
{
  const uint64_t up = b->up, down = b->down;
  const unsigned lanes = kernel->lanes;
  unsigned l;

  b->form = kernel->form;
  b->lanes = lanes;
  b->period = b->up;
  b->period_in = b->down;
  if (kernel->form != TLG_FORM_ROWS) {
    b->stride = kernel->form == TLG_FORM_DOT ? (b->taps + lanes - 1) / lanes * lanes : b->taps;
    b->coef_size = b->up * b->stride * sizeof *b->coef;
    return 0;
  }
  /* 2^20 keeps the numbers of rows and blocks well inside 32 bits; longer filters are served by the other forms. */
  if ((lanes - 1) * down / up > kernel->max_spread || b->taps > 1 << 20) {
    return -1;
  }
  b->period = b->up / common_divisor(b->up, lanes) * lanes;
  b->period_in = (uint32_t)(b->period / b->up * down);
  for (l = 0; l < lanes; l++) {
    b->spread[l] = kernel->paired ? (uint16_t)(l * down / up) : 0;
  }
  shape_picks(b);
  if (kernel->paired) {
    /* A lane's newest sample may be the first or the second of a pair, and its oldest likewise. */
    b->rows = (unsigned)(b->taps + 3) / 2;
    b->stride = (size_t)b->rows * 2 * lanes;
  } else {
    b->reach = (unsigned)((lanes - 1) * down / up) + 1;
    b->rows = ((unsigned)b->taps + b->reach + 3) / 4 * 4; /* four at a time */
    b->stride = (size_t)b->rows * lanes;
  }
  if (kernel->max_depth) {
    /* The tops of blocks b and b + j are at least floor(j * lanes * M / (2L)) apart: a row of one step meets block j
     * only while this is below rows. */
    unsigned depth = 1;

    while (depth <= kernel->max_depth && depth * lanes * down / (2 * up) < b->rows) {
      depth++;
    }
    if (depth > kernel->max_depth && kernel->walk_only) {
      return -1;
    }
    if (depth <= kernel->max_depth) {
      b->depth = depth;
      b->whole = (unsigned)(lanes * down / (2 * up));
      b->last = b->rows - (unsigned)((depth - 1) * lanes * down / (2 * up));
      b->stride = (size_t)(b->whole + 1) * depth * 2 * lanes; /* at most */
    }
  }
  b->coef_size = b->period / lanes * b->stride * sizeof *b->coef;
  if (kernel->paired && b->period_in % 2 && 2 * b->coef_size <= SMALL_BANK) {
    b->period *= 2;
    b->period_in *= 2;
    b->coef_size *= 2;
  }
  b->coef_size += b->depth * b->stride * sizeof *b->coef;
  return 0;
}

size_t tlg_bank_size(const struct tlg_kernel *kernel, uint32_t up, uint32_t down, size_t taps)
{
  struct tlg_bank b = {.up = up, .down = down, .taps = taps};

  return shape(&b, kernel) < 0 ? SIZE_MAX : b.coef_size;
}

static int16_t tap(const struct tlg_taps *taps, uint32_t p, int64_t k)
{
  const int64_t at = p + k * (int64_t)taps->up;

  return k >= 0 && at < (int64_t)taps->n ? taps->h[at] : 0;
}

static int64_t floor_div(int64_t a, int64_t b)
{
  return a / b - (a % b < 0);
}

/* The input at which a block's first output stands; blocks before the period's start are negative. */
static int64_t block_base(const struct tlg_bank *b, int64_t block)
{
  return floor_div(block * b->lanes * (int64_t)b->down + b->q0, b->up);
}

static int64_t block_top(const struct tlg_bank *b, int64_t block)
{
  return floor_div(block_base(b, block), 2) + 1;
}

/* The taps of a block that meet the samples whose newest in lane l is `newest` + spread[l]. */
static int16_t *fill_row(const struct tlg_bank *b, const struct tlg_taps *taps, unsigned per_lane, int64_t block,
                         int64_t newest, int16_t *row)
{
  unsigned l, e;

  for (l = 0; l < b->lanes; l++) {
    const int64_t q = (block * b->lanes + l) * (int64_t)b->down + b->q0;
    const int64_t i = floor_div(q, b->up);

    for (e = 0; e < per_lane; e++) {
      *row++ = tap(taps, (uint32_t)(q - i * b->up), i - (newest + b->spread[l] - e));
    }
  }
  return row;
}

static void fill_rows(const struct tlg_bank *b, const struct tlg_kernel *kernel, const struct tlg_taps *taps)
{
  const unsigned per_lane = kernel->paired ? 2 : 1;
  uint32_t block;
  unsigned v;

  for (block = 0; block < b->period / b->lanes; block++) {
    const int64_t newest = kernel->paired ? 2 * block_top(b, block) : block_base(b, block) + b->reach;
    int16_t *row = b->coef + block * b->stride;

    for (v = 0; v < b->rows; v++) {
      row = fill_row(b, taps, per_lane, block, newest - (int64_t)per_lane * v, row);
    }
  }
}

static void fill_walk(struct tlg_bank *b, const struct tlg_taps *taps)
{
  const int64_t before = b->depth - 1;
  int16_t *coef = b->coef;
  int64_t block, row;
  unsigned j;

  for (block = -before; block < (int64_t)(b->period / b->lanes); block++) {
    const int64_t top = block_top(b, block), bottom = block_top(b, block - 1) + 1;

    if (block == 0) {
      b->first = (size_t)(coef - b->coef);
    }
    b->steps[block + before] = (uint8_t)(top - bottom + 1 > (int64_t)b->whole ? TLG_STEP_MORE : 0);
    if (block_top(b, block + before) - (top - b->last + 1) >= (int64_t)b->rows) {
      b->steps[block + before] |= TLG_STEP_LATE;
    }
    b->walk[block + before].coef = (uint32_t)(coef - b->coef);
    b->walk[block + before].x = (int32_t)(2 * bottom - 1);
    for (row = bottom; row <= top; row++) {
      for (j = 0; j < b->depth; j++) {
        if (j + 1 < b->depth || top - row < (int64_t)b->last) {
          coef = fill_row(b, taps, 2, block + j, 2 * row, coef);
        }
      }
    }
  }
}

int tlg_bank_new(struct tlg_bank *bank, const struct tlg_kernel *kernel, const struct tlg_taps *taps, uint32_t down,
                 uint64_t q0, enum tlg_rounding rounding)
{
  struct tlg_bank b = {.up = taps->up, .down = down, .shift = taps->shift};
  uint32_t p;
  size_t k;

  b.q0 = (uint32_t)(q0 % b.up);
  b.taps = (taps->n + b.up - 1) / b.up;
  b.round_add = rounding == TLG_ROUND_USRPL0 ? 0 : 1 << (taps->shift - 1);
  b.wrap = rounding == TLG_ROUND_USRPL0;
  if (shape(&b, kernel) < 0) {
    return TLG_EUNAVAIL;
  }
  b.coef_size = (b.coef_size + 63) / 64 * 64;
  b.coef = aligned_alloc(64, b.coef_size);
  if (!b.coef) {
    return TLG_ENOMEM;
  }
  memset(b.coef, 0, b.coef_size);
  if (b.depth) {
    const size_t steps = b.depth - 1 + b.period / b.lanes;

    b.steps = malloc(steps);
    b.walk = malloc(steps * sizeof *b.walk);
    if (!b.steps || !b.walk) {
      tlg_bank_free(&b);
      return TLG_ENOMEM;
    }
    fill_walk(&b, taps);
  } else if (b.form == TLG_FORM_ROWS) {
    fill_rows(&b, kernel, taps);
  } else {
    for (p = 0; p < b.up; p++) {
      for (k = 0; k < b.taps; k++) {
        b.coef[p * b.stride + (b.form == TLG_FORM_DOT ? b.stride - 1 - k : k)] = tap(taps, p, (int64_t)k);
      }
    }
  }
  *bank = b;
  return TLG_OK;
}

void tlg_bank_free(struct tlg_bank *bank)
{
  free(bank->coef);
  free(bank->steps);
  free(bank->walk);
  bank->coef = NULL;
  bank->steps = NULL;
  bank->walk = NULL;
}
