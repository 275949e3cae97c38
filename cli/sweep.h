/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of taplag sweep: the plan (what is varied), the points (what is run), the parts (what is kept on disk and
 * merged), the report (rows, the best, why). Functions that return int: 0, or the exit status after saying why. */
#ifndef SWEEP_H
#define SWEEP_H

#include "model.h"

enum { SWEEP_POINTS = 100000, SWEEP_VARIED = 2, SWEEP_RUNS = 10000 };

struct axis {
  char key[96];
  char **values;
  size_t n;
};

struct sweep {
  const char *path;
  const char *output; /* where results are kept; NULL: nowhere */
  int force;
  struct axis axes[SWEEP_VARIED];
  unsigned n_axes;
  size_t n_points;
  unsigned runs;
  uint64_t seed; /* 0: the scenario's */
  json_t *header;
  unsigned shard, shards;
  json_t **units; /* what is known of each unit = point * runs + run; NULL: nothing */
  size_t n_units, n_known;
  size_t *jobs, n_jobs;
  FILE *log;
  int log_failed;
};

static inline uint64_t sweep_integer(const json_t *o, const char *key)
{
  return (uint64_t)json_integer_value(json_object_get(o, key));
}

/* sweep_plan.c */
int sweep_axis_parse(struct axis *a, const char *text); /* KEY=VALUES */
int sweep_axis_add(struct axis *a, const char *text);   /* one value; 0: out of memory */
/* The value of each axis at a point, the last axis running fastest. */
const char *sweep_value(const struct sweep *s, size_t point, unsigned axis);
int sweep_size_up(struct sweep *s); /* once axes and runs are known: room for the units */
void sweep_free(struct sweep *s);

/* sweep_points.c: one unit of work, printed as a line of JSON; nothing when there is no memory. context: the sweep */
void sweep_work(void *context, size_t job, FILE *out);

/* sweep_parts.c */
json_t *sweep_header(const struct sweep *s); /* what parts of one sweep have in common */
/* Takes the units of a part. A last line without its end (a killed run) is passed over; *whole: how many bytes count.
 * first: the header is taken over instead of compared, and no unit. */
int sweep_part_read(struct sweep *s, const char *path, int first, long *whole);
/* What varied, from the header. 0: it is damaged. */
int sweep_header_take(struct sweep *s);
/* The log of a sweep that can go on later: part = FILE.part until it is whole. */
int sweep_log_open(struct sweep *s, char *part, size_t size);
void sweep_log(struct sweep *s, const json_t *o);
/* The log is whole: it becomes the output, its lines in the order of the points, however it came about. */
int sweep_finish(const struct sweep *s, const char *part);
/* All results as one file, as the sweep in one go would have left it. */
int sweep_write(const struct sweep *s);

/* sweep_report.c */
struct aim {
  size_t what;
  int subframe; /* -1: where there is a PHY */
  double below;
};
int sweep_aim_parse(struct aim *aim, const char *what, const char *of, const char *below);
/* Whether it was said to be of subframes. */
int sweep_aim_subframes(const struct aim *aim);
int sweep_report(const struct sweep *s, struct aim *aim, int json);

#endif
