/* SPDX-License-Identifier: Apache-2.0 */
/* Other libraries' resamplers behind one interface, from 25 to 30.72 Msps, complex as two channels. */
#ifndef PEERS_H
#define PEERS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum peer_sample { PEER_CS16, PEER_CF32 }; /* I and Q in turn */

struct peer {
  const char *library, *setting;
  enum peer_sample sample;
  int variant;                /* told to open */
  void *(*open)(int variant); /* NULL: refused */
  /* All of in is consumed; returns the samples written to out, or -1. cap is ample. */
  long (*run)(void *state, const void *in, size_t n_in, void *out, size_t cap);
  void (*close)(void *state);
};

struct peer_list {
  const struct peer *peers;
  int n;
};

extern const struct peer_list peers_swresample, peers_soxr, peers_zita, peers_liquid, peers_samplerate, peers_gnuradio;

#ifdef __cplusplus
}
#endif
#endif
