/* SPDX-License-Identifier: Apache-2.0 */
/* liquid-dsp's rational resampler as a peer. */
#include "peers.h"

#include <complex.h>
#include <liquid/liquid.h>

static void *open_liquid(int semi_length)
{
  return rresamp_crcf_create_kaiser(768, 625, (unsigned)semi_length, 0.5f, 70.0f);
}

static long run_liquid(void *state, const void *in, size_t n_in, void *out, size_t cap)
{
  float complex *x = (float complex *)in, *y = out; /* the library takes no const */
  size_t done;

  if (n_in % 625 || n_in / 625 * 768 > cap) {
    return -1;
  }
  for (done = 0; done < n_in; done += 625) {
    rresamp_crcf_execute(state, x + done, y);
    y += 768;
  }
  return (long)(n_in / 625 * 768);
}

static void close_liquid(void *state)
{
  rresamp_crcf_destroy(state);
}

static const struct peer peers[] = {
    {"liquid-dsp", "rresamp_crcf, m 8, 70 dB", PEER_CF32, 8, open_liquid, run_liquid, close_liquid},
    {"liquid-dsp", "rresamp_crcf, m 12, 70 dB", PEER_CF32, 12, open_liquid, run_liquid, close_liquid},
};
const struct peer_list peers_liquid = {peers, sizeof peers / sizeof *peers};
