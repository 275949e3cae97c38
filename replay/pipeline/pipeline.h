/* SPDX-License-Identifier: Apache-2.0 */
/* The pipeline's inside: what its set-up, its threads and its results share. */
#ifndef TLG_PIPELINE_H
#define TLG_PIPELINE_H

#include "pace.h"
#include "ring.h"
#include "tlg_replay.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <time.h>

enum {
  TLG_PIPELINE_BLOCK = 1 << 16,      /* samples of a block read ahead from a source that is not live */
  TLG_PIPELINE_DRAIN_NS = 500000000, /* a live source is read for so long after a stop */
};

/* What the reading thread hands to the source. n == 0 ends the stream at sample `first`. */
struct block {
  uint64_t first;
  uint64_t base;    /* stream number at which its first sample's pass begins */
  uint64_t passes;  /* begun by its first sample */
  uint64_t period;  /* length of a pass, of which it may hold several; 0: it holds samples of one pass only */
  uint64_t arrived; /* from a live source: when they had been read */
  uint32_t n;
  int seam;   /* its first sample begins another pass */
  int failed; /* the source could not go on (n == 0) */
  tlg_cs16 samples[];
};

enum packet_kind {
  PACKET_DATA,
  PACKET_PART, /* the first of a packet, where the model's units cut it; PACKET_DATA brings the rest */
  PACKET_FILL, /* zeros in the place of a gap */
  PACKET_END,  /* the tail, or nothing but a gap at the end */
};

/* A packet in either queue: inputs in the first, outputs in the second. */
struct packet {
  uint64_t number, first_in, first_out;
  uint64_t air, received, resample_begin, resample_end;
  uint64_t deliver_begin, delivered; /* on the virtual clock, where they are known before */
  uint64_t closed_by;                /* the packet that completed the model's unit it is in; else itself */
  uint64_t gap;                      /* outputs left out before it */
  uint64_t shift;                    /* inputs closed up before it */
  int64_t anchor;                    /* of a live source: the instant of sample 0 by its clock */
  uint32_t n_in, n_out, flags;
  uint32_t n_before; /* inputs of the packet that its parts have brought */
  uint32_t tune;     /* index into the pipeline's tunes */
  uint32_t depth_resample, depth_deliver;
  enum packet_kind kind;
  int dropped; /* it was asked for that this one be lost */
  int untimed; /* its samples go on, but the model knows no instants: its unit did not fill */
  tlg_cs16 samples[];
};

struct stage {
  struct tlg_pipeline *p;
  enum tlg_stage which;
  pthread_t thread;
  int started;
  struct timespec cpu0;
  struct rusage usage0;
};

/* From sample `first` of each pass on the source was received at this frequency. */
struct tune {
  uint64_t first;
  double frequency_hz;
};

/* The clock of a live source, as its arrivals tell it. */
struct live_clock {
  int64_t anchor;                          /* instant of sample 0: no packet came earlier than its own instant by it */
  uint64_t first_ps, first, last_ps, last; /* arrival and end of the first packet, and of the last */
  int begun;
};

struct tlg_pipeline_model; /* pipeline_model.c */

/* What is known of a sink when it ends. */
struct sink_end {
  uint64_t count;
  struct tlg_convert_counts conversions;
  int marks_gaps, live;
  uint64_t counters[TLG_SINK_COUNTERS];
  char text[160]; /* what it said last */
};

struct tlg_pipeline {
  struct tlg_pipeline_cfg cfg;
  struct tlg_rate paced;
  uint32_t up, down, max_packet;
  unsigned batch; /* packets handed on at most before the sinks are woken */
  uint64_t q0;
  size_t max_out;
  int align, block, is_virtual, live;
  int as_it_comes;        /* a packet is what one read gave */
  uint32_t block_samples; /* a block has room for */
  uint64_t most_samples;  /* the stream cannot be longer: instants end there */
  uint32_t *packets;
  uint64_t *drops;
  struct tlg_sink **sinks;
  struct tune *tunes; /* NULL: one frequency all the way */
  size_t n_tunes;
  struct sink_end *ends;

  struct tlg_resamp *resamp;
  uint32_t taps, shift;
  struct tlg_ring *blocks, *to_resample, *to_deliver;
  struct packet *staging;
  struct tlg_pipeline_model *model; /* of a scenario; NULL: there is none */
  tlg_cs16 *zeros;
  tlg_cs16 *pass; /* the samples of one pass that is to be repeated and fits into a block; NULL: played once */
  struct tlg_pace pace;
  struct tlg_framer *framer;
  struct tlg_framer_cfg framer_cfg;
  struct tlg_trace_record *trace;
  uint64_t trace_total, trace_unframed;
  uint32_t parts_out; /* outputs of the parts of the packet that is coming */

  struct stage stages[TLG_STAGES];
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  unsigned ready, ended; /* stages at the gate; stages that have ended */
  int gate;
  _Atomic int stop, abandon; /* stop: receive no more, drain; abandon: do not drain either */
  _Atomic int read_ended;
  _Atomic int quit, reading; /* of a live source: it shall come to its end; a read is going on */
  _Atomic uint64_t quit_ns;
  struct live_clock live_clock;
  _Atomic uint64_t seen_samples, seen_overruns, seen_starved, seen_gaps;
  _Atomic int lost_clock;
  uint64_t told_overruns, told_starved, told_gaps;
  int told_lost_clock;

  /* Each written by one stage, read after all have ended. */
  struct tlg_error read_error, sink_error, model_error;
  int read_status, sink_status, resample_status, model_status;
  uint64_t stream_end;
  int source_failed;                  /* the stream ended with the source's error */
  uint64_t position_in, position_out; /* the resampler's, before the tail */
  uint64_t resample_outputs;          /* emitted by it, without the tail */
  uint64_t dropped_receive, dropped_resample;
  uint64_t wall_ns;
  struct tlg_slope slope;
  struct tlg_floor_slope floor_slope;
  struct tlg_delays *release, *packet, *wait_resample, *wait_deliver, *service_resample, *service_deliver;
  struct tlg_pipeline_result result;
  double look_ns;       /* of the pace */
  uint32_t calibration; /* looks of a waiting loop in 100 us */
  int ran;
};

/* ---- the stages, each the whole life of a thread ---- */

void tlg_pipeline_read_stage(struct tlg_pipeline *p);
void tlg_pipeline_read_live(struct tlg_pipeline *p);
void tlg_pipeline_receive_stage(struct tlg_pipeline *p);
void tlg_pipeline_resample_stage(struct tlg_pipeline *p);
void tlg_pipeline_deliver_stage(struct tlg_pipeline *p);

static inline uint64_t tlg_pipeline_now(const struct tlg_pipeline *p)
{
  return tlg_pace_now_ps(&p->pace);
}

/* ---- the threads ---- */

int tlg_pipeline_start_threads(struct tlg_pipeline *p, struct tlg_error *err);
/* On their cores, at their priorities. What is not permitted is told, or refused, as the configuration says. */
int tlg_pipeline_place_threads(struct tlg_pipeline *p, struct tlg_error *err);
int tlg_pipeline_refused(struct tlg_pipeline *p, struct tlg_error *err, const char *what, int cause,
                         const char *remedy);
/* Let the read-ahead fill, so that the start is not late at once. */
void tlg_pipeline_wait_filled(struct tlg_pipeline *p);
/* A thread is at its place, and waits for the others; all go on together. */
void tlg_pipeline_arrive(struct tlg_pipeline *p);
void tlg_pipeline_open_gate(struct tlg_pipeline *p);
/* Until the three stages have ended, and the reading one, which a source may hold. */
void tlg_pipeline_wait_ended(struct tlg_pipeline *p);
/* With the mutex held: until something changes, or for ns. */
void tlg_pipeline_wait_change(struct tlg_pipeline *p, uint64_t ns);
/* Tell the caller what is new; not 0 when it asks for the end. */
int tlg_pipeline_tell_news(struct tlg_pipeline *p);
void tlg_pipeline_ask_sinks(struct tlg_pipeline *p);

/* Whether the threads were asked to receive no more; for the pace. */
int tlg_pipeline_stopping(void *pipeline);
/* The samples that have come in by an instant, at most `most`. */
uint64_t tlg_pipeline_samples_at(const struct tlg_rate *rate, uint64_t instant_ps, uint64_t most);
/* After all threads have ended: the accounts, and every summary of the result. */
void tlg_pipeline_summarise(struct tlg_pipeline *p);

/* Whether a scenario fits the rest of the configuration. */
int tlg_pipeline_model_check(const struct tlg_pipeline_cfg *cfg, struct tlg_error *err);
int tlg_pipeline_model_new(struct tlg_pipeline *p, struct tlg_error *err);
void tlg_pipeline_model_free(struct tlg_pipeline *p);
/* Where the next packet is put together; NULL: there is no room (model_status). */
struct packet *tlg_pipeline_model_slot(struct tlg_pipeline *p);
/* It has come in: those that this settles go on to the resampler, or are lost. 0: the end, for whatever reason. */
int tlg_pipeline_model_send(struct tlg_pipeline *p);
/* No more come. */
void tlg_pipeline_model_end(struct tlg_pipeline *p);

#endif
