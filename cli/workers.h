/* SPDX-License-Identifier: Apache-2.0 */
/* Forked workers: independent jobs on all cores, each result handed back in order of completion; a worker that crashes
 * costs its job alone. */
#ifndef WORKERS_H
#define WORKERS_H

#include <stdio.h>

struct cli_workers {
  size_t n_jobs;
  unsigned n_workers; /* 0 = as many as this process may use cores */
  /* In a worker: do job and print its result, any bytes. Must not use stdout. */
  void (*run)(void *context, size_t job, FILE *result);
  /* In the parent: what a job printed; crashed > 0: the signal that ended its worker, < 0: it ended by itself early. */
  void (*result)(void *context, size_t job, const char *bytes, size_t n, int crashed);
  void *context;
};

/* Run all jobs. Stops early, without the rest, when cli_stop is set. Returns 0, or CLI_SYSTEM with a message. */
int cli_workers_run(const char *command, const struct cli_workers *w);

#endif
