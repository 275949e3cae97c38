/* SPDX-License-Identifier: Apache-2.0 */
/* libsoxr as a peer. */
#include "peers.h"

#include <soxr.h>

static void *open_soxr(int variant)
{
  const soxr_io_spec_t io =
      soxr_io_spec(variant < 2 ? SOXR_FLOAT32_I : SOXR_INT16_I, variant < 2 ? SOXR_FLOAT32_I : SOXR_INT16_I);
  const soxr_quality_spec_t quality = soxr_quality_spec(variant == 1 ? SOXR_VHQ : SOXR_HQ, 0);
  const soxr_runtime_spec_t runtime = soxr_runtime_spec(1);
  soxr_error_t error;

  return soxr_create(25e6, 30.72e6, 2, &error, &io, &quality, &runtime);
}

static long run_soxr(void *state, const void *in, size_t n_in, void *out, size_t cap, size_t size)
{
  size_t used = 0, made = 0;

  while (used < n_in) {
    size_t in_done = 0, out_done = 0;

    if (soxr_process(state, (const char *)in + used * size, n_in - used, &in_done, (char *)out + made * size,
                     cap - made, &out_done) ||
        (!in_done && !out_done)) {
      return -1;
    }
    used += in_done;
    made += out_done;
  }
  return (long)made;
}

static long run_float(void *state, const void *in, size_t n_in, void *out, size_t cap)
{
  return run_soxr(state, in, n_in, out, cap, 8);
}

static long run_int16(void *state, const void *in, size_t n_in, void *out, size_t cap)
{
  return run_soxr(state, in, n_in, out, cap, 4);
}

static void close_soxr(void *state)
{
  soxr_delete(state);
}

static const struct peer peers[] = {
    {"soxr", "HQ, float", PEER_CF32, 0, open_soxr, run_float, close_soxr},
    {"soxr", "VHQ, float", PEER_CF32, 1, open_soxr, run_float, close_soxr},
    {"soxr", "HQ, int16", PEER_CS16, 2, open_soxr, run_int16, close_soxr},
};
const struct peer_list peers_soxr = {peers, sizeof peers / sizeof *peers};
