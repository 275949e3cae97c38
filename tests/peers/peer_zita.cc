// SPDX-License-Identifier: Apache-2.0
// zita-resampler as a peer.
#include "peers.h"

#include <zita-resampler/resampler.h>

static void *open_zita(int half_length)
{
  Resampler *r = new Resampler();

  if (r->setup(25000000, 30720000, 2, static_cast<unsigned>(half_length)) != 0) {
    delete r;
    return nullptr;
  }
  return r;
}

static long run_zita(void *state, const void *in, size_t n_in, void *out, size_t cap)
{
  Resampler *r = static_cast<Resampler *>(state);

  r->inp_count = static_cast<unsigned>(n_in);
  r->inp_data = const_cast<float *>(static_cast<const float *>(in));
  r->out_count = static_cast<unsigned>(cap);
  r->out_data = static_cast<float *>(out);
  if (r->process() != 0 || r->inp_count != 0) {
    return -1;
  }
  return static_cast<long>(cap - r->out_count);
}

static void close_zita(void *state)
{
  delete static_cast<Resampler *>(state);
}

static const struct peer peers[] = {
    {"zita-resampler", "hlen 16", PEER_CF32, 16, open_zita, run_zita, close_zita},
    {"zita-resampler", "hlen 32", PEER_CF32, 32, open_zita, run_zita, close_zita},
};
extern "C" const struct peer_list peers_zita;
const struct peer_list peers_zita = {peers, sizeof peers / sizeof *peers};
