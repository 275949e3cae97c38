/* SPDX-License-Identifier: Apache-2.0 */
/* usrpL0's own ways of resampling, as its report tells them. Written for likeness, not for beauty or speed. */
#include "history.h"

#include <stdlib.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { MAX_ROW = 64 };

struct history {
  enum history_form form;
  enum history_buffer buffer;
  const struct tlg_taps *taps;
  unsigned down;
  size_t n_out, n_in, row; /* row: taps of the longest branch, in the SSE forms rounded up to eight */
  int *branch, *offset;    /* for each output of a block */
  short *kept;             /* the last row of input, I and Q in turn */
  short *own;              /* HISTORY_BUFFER_SHORTS */
  short *rows;             /* HISTORY_SSE: a row for each branch, the oldest input's tap first */
};

const char *history_name(enum history_form form)
{
  static const char *const names[] = {"division and modulo", "index tables", "tables, SSE, taps gathered",
                                      "tables, SSE, taps in rows"};

  return form < HISTORY_N_FORMS ? names[form] : "?";
}

int history_available(enum history_form form)
{
#ifdef __SSE2__
  return form < HISTORY_N_FORMS;
#else
  return form < HISTORY_SSE_GATHER;
#endif
}

static short tap(const struct history *h, size_t branch, size_t k)
{
  const size_t at = branch + k * h->taps->up;

  return at < h->taps->n ? h->taps->h[at] : 0;
}

struct history *history_new(enum history_form form, enum history_buffer buffer, const struct tlg_taps *taps,
                            unsigned down, size_t n_out)
{
  struct history *h = calloc(1, sizeof *h);
  size_t m, k;

  if (!h || !history_available(form) || n_out % taps->up != 0) {
    free(h);
    return NULL;
  }
  h->form = form;
  h->buffer = buffer;
  h->taps = taps;
  h->down = down;
  h->n_out = n_out;
  h->n_in = n_out / taps->up * down;
  h->row = (taps->n + taps->up - 1) / taps->up;
  if (form == HISTORY_SSE_GATHER || form == HISTORY_SSE) {
    h->row = (h->row + 7) / 8 * 8;
  }
  h->branch = malloc(n_out * sizeof *h->branch);
  h->offset = malloc(n_out * sizeof *h->offset);
  h->kept = calloc(2 * h->row, sizeof *h->kept);
  h->own = calloc(HISTORY_BUFFER_SHORTS, sizeof *h->own);
  h->rows = malloc(taps->up * h->row * sizeof *h->rows);
  if (!h->branch || !h->offset || !h->kept || !h->own || !h->rows || h->row > MAX_ROW ||
      2 * (h->n_in + h->row) > HISTORY_BUFFER_SHORTS) {
    history_free(h);
    return NULL;
  }
  for (m = 0; m < n_out; m++) {
    h->branch[m] = (int)(m * down % taps->up);
    h->offset[m] = (int)(m * down / taps->up);
  }
  for (m = 0; m < taps->up; m++) {
    for (k = 0; k < h->row; k++) {
      h->rows[m * h->row + h->row - 1 - k] = tap(h, m, k);
    }
  }
  return h;
}

void history_free(struct history *h)
{
  if (h) {
    free(h->branch);
    free(h->offset);
    free(h->kept);
    free(h->own);
    free(h->rows);
    free(h);
  }
}

/* x stands at the newest input of the output: I and Q in turn, older ones before it. */
static void one_output(const struct history *h, int branch, const short *x, tlg_cs16 *out)
{
  const short *coefficient = h->taps->h + branch, *end = h->taps->h + h->taps->n;
  int i = 0, q = 0;

  for (; coefficient < end; coefficient += h->taps->up) {
    i += *coefficient * x[0];
    q += *coefficient * x[1];
    x -= 2;
  }
  out->i = (short)(i >> h->taps->shift);
  out->q = (short)(q >> h->taps->shift);
}

static void by_division(const struct history *h, const short *x, tlg_cs16 *out)
{
  const int up = (int)h->taps->up, down = (int)h->down, n = (int)h->n_out;
  int m;

  for (m = 0; m < n; m++) {
    one_output(h, m * down % up, x + 2 * (m * down / up), out + m);
  }
}

static void by_tables(const struct history *h, const short *x, tlg_cs16 *out)
{
  size_t m;

  for (m = 0; m < h->n_out; m++) {
    one_output(h, h->branch[m], x + 2 * h->offset[m], out + m);
  }
}

#ifdef __SSE2__
/* Eight shorts of I and of Q times eight taps, added in pairs to four sums each. */
static void sse_output(const short *i_row, const short *q_row, const short *taps, size_t n, unsigned shift,
                       tlg_cs16 *out)
{
  __m128i i = _mm_setzero_si128(), q = _mm_setzero_si128();
  size_t k;

  for (k = 0; k < n; k += 8) {
    const __m128i t = _mm_loadu_si128((const __m128i *)(const void *)(taps + k));

    i = _mm_add_epi32(i, _mm_madd_epi16(_mm_loadu_si128((const __m128i *)(const void *)(i_row + k)), t));
    q = _mm_add_epi32(q, _mm_madd_epi16(_mm_loadu_si128((const __m128i *)(const void *)(q_row + k)), t));
  }
  i = _mm_add_epi32(i, _mm_srli_si128(i, 8));
  q = _mm_add_epi32(q, _mm_srli_si128(q, 8));
  i = _mm_add_epi32(i, _mm_srli_si128(i, 4));
  q = _mm_add_epi32(q, _mm_srli_si128(q, 4));
  out->i = (short)(_mm_cvtsi128_si32(i) >> shift);
  out->q = (short)(_mm_cvtsi128_si32(q) >> shift);
}

/* The prototype as it lies in memory: for each output its taps are fetched one by one, I and Q parted. */
static void by_gathering(const struct history *h, const short *x, tlg_cs16 *out)
{
  short taps[MAX_ROW], i_row[MAX_ROW], q_row[MAX_ROW];
  size_t m, k;

  memset(taps, 0, sizeof taps);
  for (m = 0; m < h->n_out; m++) {
    const short *newest = x + 2 * h->offset[m], *coefficient = h->taps->h + h->branch[m];
    const short *end = h->taps->h + h->taps->n;

    for (k = 0; k < h->row; k++) {
      taps[k] = 0;
      if (coefficient < end) {
        taps[k] = *coefficient;
        coefficient += h->taps->up;
      }
      i_row[k] = newest[-2 * (ptrdiff_t)k];
      q_row[k] = newest[1 - 2 * (ptrdiff_t)k];
    }
    sse_output(i_row, q_row, taps, h->row, h->taps->shift, out + m);
  }
}

/* The input is parted into I and Q once a block, behind the interleaved copy in the same buffer. */
static void by_rows(const struct history *h, short *buffer, tlg_cs16 *out)
{
  const size_t n = h->n_in + h->row;
  short *i_part = buffer, *q_part = buffer + n;
  size_t m;

  for (m = 0; m < h->n_out; m++) {
    const size_t oldest = (size_t)h->offset[m] + 1;

    sse_output(i_part + oldest, q_part + oldest, h->rows + (size_t)h->branch[m] * h->row, h->row, h->taps->shift,
               out + m);
  }
}
#endif

/* The buffer begins with the last row of the block before. */
static void fill(const struct history *h, short *buffer, const tlg_cs16 *in)
{
  memcpy(buffer, h->kept, 2 * h->row * sizeof *buffer);
  memcpy(buffer + 2 * h->row, in, 2 * h->n_in * sizeof *buffer);
}

static void fill_parted(const struct history *h, short *buffer, const tlg_cs16 *in)
{
  const size_t n = h->n_in + h->row;
  size_t k;

  for (k = 0; k < h->row; k++) {
    buffer[k] = h->kept[2 * k];
    buffer[n + k] = h->kept[2 * k + 1];
  }
  for (k = 0; k < h->n_in; k++) {
    buffer[h->row + k] = in[k].i;
    buffer[n + h->row + k] = in[k].q;
  }
}

int history_run(struct history *h, const tlg_cs16 *in, tlg_cs16 *out)
{
  short *buffer = h->own;
  size_t k;

  if (h->buffer == HISTORY_BUFFER_A_CALL) {
    buffer = malloc(HISTORY_BUFFER_SHORTS * sizeof *buffer);
    if (!buffer) {
      return -1;
    }
    __asm__ volatile("" : "+r"(buffer)); /* else the two calls become one that leaves the zeroing to the system */
    memset(buffer, 0, HISTORY_BUFFER_SHORTS * sizeof *buffer);
  }
  if (h->form == HISTORY_SSE) {
    fill_parted(h, buffer, in);
  } else {
    fill(h, buffer, in);
  }
  switch (h->form) {
  case HISTORY_DIVISION:
    by_division(h, buffer + 2 * h->row, out);
    break;
  case HISTORY_TABLES:
    by_tables(h, buffer + 2 * h->row, out);
    break;
#ifdef __SSE2__
  case HISTORY_SSE_GATHER:
    by_gathering(h, buffer + 2 * h->row, out);
    break;
  case HISTORY_SSE:
    by_rows(h, buffer, out);
    break;
#endif
  default:
    break;
  }
  for (k = 0; k < h->row; k++) {
    const tlg_cs16 old = h->n_in + k < h->row ? (tlg_cs16){h->kept[2 * (h->n_in + k)], h->kept[2 * (h->n_in + k) + 1]}
                                              : in[h->n_in + k - h->row];

    h->kept[2 * k] = old.i;
    h->kept[2 * k + 1] = old.q;
  }
  if (buffer != h->own) {
    free(buffer);
  }
  return 0;
}
