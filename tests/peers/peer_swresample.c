/* SPDX-License-Identifier: Apache-2.0 */
/* FFmpeg's libswresample as a peer. */
#include "peers.h"

#include <libavutil/channel_layout.h>
#include <libavutil/opt.h>
#include <libswresample/swresample.h>

static const struct {
  enum AVSampleFormat format;
  int filter_size;
  double cutoff; /* of half the input rate; 0 = the library's default */
  int kaiser_beta;
} variants[] = {
    {AV_SAMPLE_FMT_S16, 16, 0, 0},   {AV_SAMPLE_FMT_S16, 16, 1.0, 7}, {AV_SAMPLE_FMT_S16, 32, 0, 0},
    {AV_SAMPLE_FMT_FLT, 16, 1.0, 7}, {AV_SAMPLE_FMT_FLT, 32, 0, 0},
};

static void *open_swr(int variant)
{
  AVChannelLayout stereo = AV_CHANNEL_LAYOUT_STEREO;
  const enum AVSampleFormat format = variants[variant].format;
  SwrContext *s = NULL;

  if (swr_alloc_set_opts2(&s, &stereo, format, 30720000, &stereo, format, 25000000, 0, NULL) < 0) {
    return NULL;
  }
  av_opt_set_int(s, "filter_size", variants[variant].filter_size, 0);
  av_opt_set_int(s, "exact_rational", 1, 0);
  if (variants[variant].cutoff > 0) {
    av_opt_set_double(s, "cutoff", variants[variant].cutoff, 0);
    av_opt_set_int(s, "kaiser_beta", variants[variant].kaiser_beta, 0);
  }
  if (swr_init(s) < 0) {
    swr_free(&s);
  }
  return s;
}

static long run_swr(void *state, const void *in, size_t n_in, void *out, size_t cap)
{
  const uint8_t *from[1] = {in};
  uint8_t *to[1] = {out};

  return swr_convert(state, to, (int)cap, from, (int)n_in);
}

static void close_swr(void *state)
{
  SwrContext *s = state;

  swr_free(&s);
}

static const struct peer peers[] = {
    {"libswresample", "s16, filter_size 16", PEER_CS16, 0, open_swr, run_swr, close_swr},
    {"libswresample", "s16, filter_size 16, cutoff 1, beta 7", PEER_CS16, 1, open_swr, run_swr, close_swr},
    {"libswresample", "s16, filter_size 32", PEER_CS16, 2, open_swr, run_swr, close_swr},
    {"libswresample", "float, filter_size 16, cutoff 1, beta 7", PEER_CF32, 3, open_swr, run_swr, close_swr},
    {"libswresample", "float, filter_size 32", PEER_CF32, 4, open_swr, run_swr, close_swr},
};
const struct peer_list peers_swresample = {peers, sizeof peers / sizeof *peers};
