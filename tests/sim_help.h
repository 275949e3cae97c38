/* SPDX-License-Identifier: Apache-2.0 */
/* Small helpers of the model's tests: scenarios in code, runs with every stamp kept, a plain random generator. */
#ifndef SIM_HELP_H
#define SIM_HELP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chain.h"

/* xorshift64*: independent of the generator under test. */
static uint64_t help_state = 88172645463325252u;
static inline uint64_t help_random(uint64_t low, uint64_t high)
{
  help_state ^= help_state >> 12;
  help_state ^= help_state << 25;
  help_state ^= help_state >> 27;
  return low + help_state * 2685821657736338717u % (high - low + 1);
}

/* A scenario of n packets of `size` samples at 25 Msps (40,000 ps a sample) with nothing behind the source. */
static inline struct tlg_sim_scenario *help_scenario(uint32_t size, uint64_t n)
{
  struct tlg_sim_scenario *s;

  assert_int_equal(tlg_sim_scenario_new(&s), TLG_OK);
  s->sizes[0] = size;
  s->n_packets = n;
  return s;
}

/* Add a thread with one stage of a fixed time. */
static inline struct tlg_sim_thread *help_thread(struct tlg_sim_scenario *s, const char *name, uint64_t fixed_ps)
{
  struct tlg_sim_thread *th = &s->threads[s->n_threads++];

  snprintf(th->name, sizeof th->name, "%s", name);
  snprintf(th->stages[0].name, sizeof th->stages[0].name, "%s", name);
  th->n_stages = 1;
  th->stages[0].cost.fixed_ps = fixed_ps;
  return th;
}

struct help_log {
  struct tlg_sim_stamp *e;
  size_t n, size;
};

static inline void help_stamp(void *arg, const struct tlg_sim_stamp *stamp)
{
  struct help_log *log = arg;

  if (log->n == log->size) {
    log->size = log->size ? 2 * log->size : 1024;
    log->e = realloc(log->e, log->size * sizeof *log->e);
  }
  log->e[log->n++] = *stamp;
}

/* Run s to its end; stamps of every packet go into log unless it is NULL. The caller frees the run. */
static inline struct tlg_sim *help_run(const struct tlg_sim_scenario *s, enum tlg_sim_engine engine,
                                       struct help_log *log)
{
  struct tlg_sim_cfg cfg = {.engine = engine};
  struct tlg_error err = {0};
  struct tlg_sim *sim;
  uint64_t left;

  if (log) {
    cfg.stamp = help_stamp;
    cfg.stamp_arg = log;
    cfg.stamp_count = UINT64_MAX;
  }
  if (tlg_sim_new(&sim, s, &cfg, &err) != TLG_OK) {
    fail_msg("scenario refused: %s", err.text);
  }
  do {
    assert_int_equal(tlg_sim_step(sim, 1 + help_random(0, 5000), &left), TLG_OK);
  } while (left);
  assert_true(tlg_sim_results(sim)->little_holds); /* in every run */
  return sim;
}

/* The stamps of one element, by packet: out[j] for j < n; those that are missing have finish 0. Returns how many. */
static inline size_t help_pick(const struct help_log *log, const char *element, struct tlg_sim_stamp *out, size_t n)
{
  size_t i, found = 0;

  memset(out, 0, n * sizeof *out);
  for (i = 0; i < log->n; i++) {
    if (strcmp(log->e[i].element, element) == 0 && log->e[i].packet < n) {
      out[log->e[i].packet] = log->e[i];
      found++;
    }
  }
  return found;
}

static inline void help_free(struct help_log *log)
{
  free(log->e);
  memset(log, 0, sizeof *log);
}

static inline const struct tlg_sim_place *help_place(const struct tlg_sim_result *r, const char *name)
{
  unsigned i;

  for (i = 0; i < r->n_places; i++) {
    if (strcmp(r->places[i].name, name) == 0) {
      return &r->places[i];
    }
  }
  fail_msg("no place named %s", name);
  return NULL;
}

/* Mean and half width of the 99.9 % confidence interval from batch means (t with 31 degrees of freedom: 3.633). */
static inline void help_interval(const struct tlg_sim_stat *stat, double *mean, double *half)
{
  double sum = 0, square = 0;
  unsigned i;

  assert_int_equal(stat->n_batches, TLG_SIM_BATCHES);
  for (i = 0; i < stat->n_batches; i++) {
    sum += (double)stat->batch_mean_ps[i];
  }
  *mean = sum / stat->n_batches;
  for (i = 0; i < stat->n_batches; i++) {
    square += ((double)stat->batch_mean_ps[i] - *mean) * ((double)stat->batch_mean_ps[i] - *mean);
  }
  *half = 3.633 * sqrt(square / (stat->n_batches - 1) / stat->n_batches);
}

static inline int help_inside(const struct tlg_sim_stat *stat, double expected_ps)
{
  double mean, half;

  help_interval(stat, &mean, &half);
  return fabs(mean - expected_ps) <= half + 1; /* 1 ps: means are rounded down */
}

#endif
