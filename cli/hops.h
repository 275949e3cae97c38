/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of taplag bench hops share: one hop, how it is run, what was seen. */
#ifndef HOPS_H
#define HOPS_H

#include "taplag.h"

enum { HOPS_MOST_SIZES = 16, HOPS_MOST_BLOCKS = 20000 };

enum hop_between { HOP_THREADS, HOP_PROCESSES, HOP_BETWEENS };

/* A way from the front end to the PHY. Ends are opened by name as in replay and record; %d stands for a folder of the
 * run's own, %p for a free UDP or TCP port. */
struct hop {
  const char *name;
  const char *sink, *source; /* NULL: the pipeline's own ring, or a program of its own */
  const char *program[2];    /* arguments of bench-omniorb, NULL = none */
  int threads, processes;    /* between which it can be */
};

/* One size. */
struct hop_row {
  size_t size_bytes;
  uint64_t sent, received; /* blocks of the delays' part; the rest was lost */
  double mean_us, jitter_us, p50_us, p99_us, max_us;
  double mb_s; /* 10^6 bytes a second, all blocks sent at once */
  uint64_t flood_sent, flood_received;
};

struct hop_run {
  enum hop_between between;
  int fifo; /* SCHED_FIFO priority, 0 = the usual policy */
  unsigned warm_up, repetitions;
  size_t n_sizes;
  size_t sizes[HOPS_MOST_SIZES];
  char folder[64];
  const char *bench_omniorb; /* where the program stands, NULL = not built */
};

/* Run one hop; rows[0..n_sizes) are filled in. Ends when *stop is not 0. TLG_OK,
 * TLG_EUNAVAIL (err says why), TLG_EINTR, TLG_ESYS. */
int hops_run(const struct hop *hop, const struct hop_run *run, const volatile int *stop, struct hop_row *rows,
             struct tlg_error *err);

#endif
