/* SPDX-License-Identifier: Apache-2.0 */
/* Filter taps as an object: copies, the overflow check, symmetry, and the project's own taps for a ratio. */
#include "design.h"
#include "taps_data.h"

#include <stdlib.h>
#include <string.h>

void tlg_taps_free(struct tlg_taps *taps)
{
  if (taps) {
    free(taps->h);
    memset(taps, 0, sizeof *taps);
  }
}

int tlg_taps_symmetric(const struct tlg_taps *taps)
{
  size_t k;

  for (k = 0; k < taps->n / 2; k++) {
    if (taps->h[k] != taps->h[taps->n - 1 - k]) {
      return 0;
    }
  }
  return 1;
}

int tlg_taps_check(const struct tlg_taps *taps, struct tlg_error *err)
{
  uint64_t limit;
  size_t k, p;

  if (!taps || !taps->h || taps->n == 0) {
    return tlg_error_set(err, TLG_EINVAL, "there are no taps");
  }
  if (taps->shift < 1 || taps->shift > 15) {
    return tlg_error_set(err, TLG_EINVAL, "the shift S is %u, but must be 1 to 15", taps->shift);
  }
  if (taps->up < 1 || taps->up > 65535) {
    return tlg_error_set(err, TLG_EINVAL, "the interpolation factor L is %lu, but must be 1 to 65535",
                         (unsigned long)taps->up);
  }
  for (k = 0; k < taps->n; k++) {
    if (taps->h[k] == INT16_MIN) {
      return tlg_error_set(err, TLG_ETAPS, "tap %zu is -32768 (phase %zu): taps must be -32767 to 32767", k,
                           k % taps->up);
    }
  }
  limit = (((uint64_t)1 << 31) - 1 - ((uint64_t)1 << (taps->shift - 1))) / 32768;
  for (p = 0; p < taps->up && p < taps->n; p++) {
    uint64_t sum = 0;

    for (k = p; k < taps->n; k += taps->up) {
      sum += (uint64_t)(taps->h[k] < 0 ? -taps->h[k] : taps->h[k]);
    }
    if (sum > limit) {
      return tlg_error_set(err, TLG_ETAPS,
                           "the magnitudes of phase %zu sum to %llu, more than %llu: the 32-bit accumulator could "
                           "overflow; scale the taps down",
                           p, (unsigned long long)sum, (unsigned long long)limit);
    }
  }
  return TLG_OK;
}

int tlg_taps_copy(struct tlg_taps *taps, const int16_t *h, size_t n, uint32_t up, unsigned shift, struct tlg_error *err)
{
  struct tlg_taps given, made;
  int st;

  if (!taps) {
    return tlg_error_set(err, TLG_EINVAL, "there is no place for the taps");
  }
  given.h = (int16_t *)(uintptr_t)h; /* only read */
  given.n = n;
  given.up = up;
  given.shift = shift;
  st = tlg_taps_check(&given, err);
  if (st != TLG_OK) {
    return st;
  }
  made = given;
  made.h = n <= SIZE_MAX / sizeof *h ? malloc(n * sizeof *h) : NULL;
  if (!made.h) {
    return tlg_error_set(err, TLG_ENOMEM, "no memory for %zu taps", n);
  }
  memcpy(made.h, h, n * sizeof *h);
  *taps = made;
  return TLG_OK;
}

int tlg_taps_default(struct tlg_taps *taps, const struct tlg_rate *rate_in, const struct tlg_rate *rate_out,
                     struct tlg_error *err)
{
  struct tlg_design design;
  uint32_t up, down;
  size_t i;
  int st = tlg_design_default(&design, rate_in, rate_out, err);

  if (st != TLG_OK) {
    return st;
  }
  if (tlg_rate_ratio(rate_in, rate_out, &up, &down) == TLG_OK) {
    for (i = 0; i < sizeof taps_data / sizeof *taps_data; i++) {
      if (taps_data[i].up == up && taps_data[i].down == down) {
        return tlg_taps_copy(taps, taps_data[i].h, taps_data[i].n, up, taps_data[i].shift, err);
      }
    }
  }
  return tlg_taps_design(taps, &design, err);
}
