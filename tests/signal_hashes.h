/* SPDX-License-Identifier: Apache-2.0 */
/* A set of signals and a hash of each one's bytes, for comparing compilers and machines. */
#ifndef SIGNAL_HASHES_H
#define SIGNAL_HASHES_H

#include "tlg_vectors.h"

#include <stdint.h>

/* FNV-1a over the samples as little-endian int16. */
static inline uint64_t hash_samples(uint64_t h, const tlg_cs16 *x, size_t n)
{
  size_t k;
  int b;

  for (k = 0; k < n; k++) {
    const uint32_t word = (uint16_t)x[k].i | (uint32_t)(uint16_t)x[k].q << 16;

    for (b = 0; b < 4; b++) {
      h = (h ^ (word >> 8 * b & 0xff)) * 0x100000001b3u;
    }
  }
  return h;
}

struct hashed_signal {
  const char *name;
  struct tlg_signal_cfg cfg;
  uint64_t first;
};

static const struct hashed_signal hashed_signals[] = {
    {"tone", {.kind = TLG_SIGNAL_TONE, .freq = {-9007500, 1}}, 0},
    {"tone at an awkward rate", {.kind = TLG_SIGNAL_TONE, .freq = {1234567, 89}, .rate = {184320000, 7}}, 1000000007},
    {"tones", {.kind = TLG_SIGNAL_TONES}, 0},
    {"chirp", {.kind = TLG_SIGNAL_CHIRP}, 240000},
    {"noise", {.kind = TLG_SIGNAL_NOISE, .seed = 1}, ((uint64_t)1 << 32) - 100},
    {"impulse", {.kind = TLG_SIGNAL_IMPULSE, .every = 700}, 0},
    {"step", {.kind = TLG_SIGNAL_STEP, .at = 5}, 0},
    {"ramp", {.kind = TLG_SIGNAL_RAMP}, ((uint64_t)1 << 32) - 100},
    {"corners", {.kind = TLG_SIGNAL_CORNERS}, 3},
    {"ofdm", {.kind = TLG_SIGNAL_OFDM, .seed = 1}, 0},
    {"ofdm, QPSK, no window", {.kind = TLG_SIGNAL_OFDM, .modulation = TLG_QPSK, .window = TLG_OFDM_NO_WINDOW}, 12345},
    {"ofdm, 256QAM, 30.72 Msps", {.kind = TLG_SIGNAL_OFDM, .modulation = TLG_256QAM, .rate = {30720000, 1}}, 0},
    {"ofdm, 200/7 Msps", {.kind = TLG_SIGNAL_OFDM, .rate = {200000000, 7}}, 0},
    {"lte", {.kind = TLG_SIGNAL_LTE, .lte = {.cell = {.id = 1}, .mcs = 27}}, 24000},
    {"lte, 2 ports, 1.92 Msps",
     {.kind = TLG_SIGNAL_LTE, .rate = {1920000, 1}, .lte = {.cell = {.id = 503, .ports = 2}, .mcs = 9, .sfn = 1023}},
     17000},
    {"lte, E-TM3.3, 5 MHz, 7.68 Msps",
     {.kind = TLG_SIGNAL_LTE, .rate = {7680000, 1}, .lte = {.cell = {.prb = 25}, .model = TLG_LTE_ETM3_3}},
     0},
    {"lte, uncoded, impaired",
     {.kind = TLG_SIGNAL_LTE,
      .rate = {15360000, 1},
      .modulation = TLG_256QAM,
      .lte = {.data = TLG_LTE_UNCODED},
      .impairments = {.clock_ppm = {5, 2},
                      .carrier = {-1234, 1},
                      .noise = 50.0,
                      .gain_db = 0.5,
                      .phase_deg = {3, 2},
                      .dc = {100.0, -20.5},
                      .clip = 16000.0,
                      .drop_at = 1000,
                      .drop_n = 3,
                      .drop_every = 2000,
                      .dup_at = 2500,
                      .dup_n = 700,
                      .dup_every = 1500}},
     0},
    {"tone, noisy", {.kind = TLG_SIGNAL_TONE, .impairments = {.noise = 1000.0, .carrier = {500, 3}}}, 77},
    {"ofdm, band-limited", {.kind = TLG_SIGNAL_OFDM, .window = 20, .band_limit = 1}, 1700},
    {"lte, band-limited, 1.92 Msps",
     {.kind = TLG_SIGNAL_LTE, .rate = {1920000, 1}, .band_limit = 1, .lte = {.cell = {.id = 7}, .mcs = 5}},
     0},
};

enum { N_HASHED_SIGNALS = sizeof hashed_signals / sizeof *hashed_signals, N_HASHED = 6000 };

/* 0 if the signal cannot be made. */
static inline uint64_t hash_signal(const struct hashed_signal *s)
{
  uint64_t h = 0xcbf29ce484222325u;
  struct tlg_signal *signal;
  tlg_cs16 x[250];
  int i;

  if (tlg_signal_new(&signal, &s->cfg, NULL) || tlg_signal_seek(signal, s->first)) {
    return 0;
  }
  for (i = 0; i < N_HASHED; i += 250) {
    tlg_signal_read(signal, x, 250);
    h = hash_samples(h, x, 250);
  }
  tlg_signal_free(signal);
  return h;
}

#endif
