/* SPDX-License-Identifier: Apache-2.0 */
/* A transmitter's converter as a model: it plays one sample of its buffer at each tick of its clock, whether or not the
 * samples have come. All of it is arithmetic on instants that it is told: it knows no clock and never waits. */
#ifndef TLG_DAC_H
#define TLG_DAC_H

#include "taplag.h"

enum { TLG_DAC_SEGMENTS = 64 /* stretches without a gap that the buffer tells apart */ };

struct tlg_dac_cfg {
  struct tlg_rate rate;
  uint64_t buffer;  /* samples it holds, >= 1 */
  uint64_t lead_ps; /* from the first sample's coming to its time on the air */
  int shift;        /* samples whose time has passed: 0 = dropped, the time line holds; 1 = the time line moves */
};

struct tlg_dac_counts {
  uint64_t sent, late;  /* samples: played or to be played; dropped, as their time had passed */
  uint64_t late_blocks; /* 'L': writes of which samples were late */
  uint64_t underruns;   /* 'U': stretches in which a sample of a running burst was not there in time */
  uint64_t shifted;     /* samples of silence by which the time line moved */
  uint64_t waits;       /* writes that found too little room ... */
  uint64_t waited_ps;   /* ... and for how long, in all */
  uint64_t high_water;  /* samples in the buffer at most */
  uint64_t bursts;
};

struct tlg_dac {
  struct tlg_dac_cfg cfg;
  struct tlg_dac_counts counts;
  int started, open;          /* a burst is running */
  uint64_t origin, origin_ps; /* this sample is due at this instant */
  uint64_t next;              /* number that continues the burst */
  struct {
    uint64_t first, n;
  } held[TLG_DAC_SEGMENTS]; /* what was taken and is not yet played, oldest first */
  size_t n_held;
};

void tlg_dac_init(struct tlg_dac *dac, const struct tlg_dac_cfg *cfg);
/* When sample `number` is played. Only after the first write. */
uint64_t tlg_dac_due_ps(const struct tlg_dac *dac, uint64_t number);
/* n samples, of which the first has number `first` on the time line, come at an instant (not before that of the write
 * before, nor before what that returned). A jump of numbers ends the burst; one that is running when its next sample is
 * due and not there is an underrun, and what comes behind its time is late. Returns the instant at which there was room
 * for the last of them: a writer waits until then. */
uint64_t tlg_dac_write(struct tlg_dac *dac, uint64_t first, uint64_t n, uint64_t now_ps);
/* No more will come; returns the instant at which the last one has been played. */
uint64_t tlg_dac_end(struct tlg_dac *dac, uint64_t now_ps);

#endif
