/* SPDX-License-Identifier: Apache-2.0 */
/* libsamplerate as a peer. */
#include "peers.h"

#include <samplerate.h>

static void *open_samplerate(int converter)
{
  int error;

  return src_new(converter, 2, &error);
}

static long run_samplerate(void *state, const void *in, size_t n_in, void *out, size_t cap)
{
  SRC_DATA data = {.data_in = in,
                   .input_frames = (long)n_in,
                   .data_out = out,
                   .output_frames = (long)cap,
                   .src_ratio = 30.72 / 25.0};
  long made = 0;

  while (data.input_frames > 0) {
    if (src_process(state, &data) || (!data.input_frames_used && !data.output_frames_gen)) {
      return -1;
    }
    data.data_in += 2 * data.input_frames_used;
    data.input_frames -= data.input_frames_used;
    data.data_out += 2 * data.output_frames_gen;
    data.output_frames -= data.output_frames_gen;
    made += data.output_frames_gen;
  }
  return made;
}

static void close_samplerate(void *state)
{
  src_delete(state);
}

static const struct peer peers[] = {
    {"libsamplerate", "sinc, medium", PEER_CF32, SRC_SINC_MEDIUM_QUALITY, open_samplerate, run_samplerate,
     close_samplerate},
    {"libsamplerate", "sinc, best", PEER_CF32, SRC_SINC_BEST_QUALITY, open_samplerate, run_samplerate,
     close_samplerate},
};
const struct peer_list peers_samplerate = {peers, sizeof peers / sizeof *peers};
