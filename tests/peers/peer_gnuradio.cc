// SPDX-License-Identifier: Apache-2.0
// GNU Radio as a peer: its FIR kernels in the order in which its rational_resampler calls them, without its scheduler.
#include "peers.h"
#include "tlg_dsp.h"

#include <gnuradio/filter/fir_filter.h>
#include <gnuradio/filter/rational_resampler.h>

#include <algorithm>
#include <vector>

namespace
{
const unsigned up = 768, down = 625;

struct state {
  std::vector<gr::filter::kernel::fir_filter_ccf> branches;
  std::vector<gr_complex> line; // the last inputs, then the new ones
  unsigned history = 0, branch = 0;
};

std::vector<float> default_taps()
{
  return gr::filter::rational_resampler_ccf::make(up, down, {}, 0.4f)->taps();
}

std::vector<float> our_taps()
{
  const struct tlg_rate in = {25000000, 1}, out = {30720000, 1};
  struct tlg_taps taps;
  std::vector<float> result;

  if (tlg_taps_default(&taps, &in, &out, nullptr) == 0) {
    for (size_t k = 0; k < taps.n; k++) {
      result.push_back(static_cast<float>(taps.h[k]) / 16384.0f);
    }
    tlg_taps_free(&taps);
  }
  return result;
}

void *open_gnuradio(int variant)
{
  const std::vector<float> taps = variant ? our_taps() : default_taps();
  const size_t length = (taps.size() + up - 1) / up;

  if (taps.empty()) {
    return nullptr;
  }
  state *s = new state;
  for (unsigned b = 0; b < up; b++) {
    std::vector<float> branch(length, 0.0f);

    for (size_t k = 0; b + k * up < taps.size(); k++) {
      branch[k] = taps[b + k * up];
    }
    s->branches.emplace_back(branch);
  }
  s->history = static_cast<unsigned>(length - 1);
  s->line.assign(s->history, gr_complex(0, 0));
  return s;
}

long run_gnuradio(void *opaque, const void *in, size_t n_in, void *out, size_t cap)
{
  state *s = static_cast<state *>(opaque);
  const gr_complex *x = static_cast<const gr_complex *>(in);
  gr_complex *y = static_cast<gr_complex *>(out);
  size_t at = 0, made = 0;

  s->line.resize(s->history + n_in);
  std::copy(x, x + n_in, s->line.begin() + s->history);
  while (at < n_in) {
    if (made == cap) {
      return -1;
    }
    y[made++] = s->branches[s->branch].filter(&s->line[at]);
    s->branch += down;
    while (s->branch >= up) {
      s->branch -= up;
      at++;
    }
  }
  std::copy(s->line.end() - s->history, s->line.end(), s->line.begin());
  return static_cast<long>(made);
}

void close_gnuradio(void *opaque)
{
  delete static_cast<state *>(opaque);
}

const struct peer peers[] = {
    {"GNU Radio", "rational_resampler's default taps", PEER_CF32, 0, open_gnuradio, run_gnuradio, close_gnuradio},
    {"GNU Radio", "our taps", PEER_CF32, 1, open_gnuradio, run_gnuradio, close_gnuradio},
};
} // namespace

extern "C" const struct peer_list peers_gnuradio;
const struct peer_list peers_gnuradio = {peers, sizeof peers / sizeof *peers};
