/* SPDX-License-Identifier: Apache-2.0 */
/* Pacing on absolute deadlines: each instant is computed from its sample number, never summed. */
#ifndef TLG_PACE_H
#define TLG_PACE_H

#include "taplag.h"

/* A monotonic clock. Tests bring one of their own. */
struct tlg_clock {
  uint64_t (*now_ns)(void *context);
  void (*sleep_until_ns)(void *context, uint64_t ns); /* absolute; may return early or late */
  void *context;
};
extern const struct tlg_clock tlg_clock_monotonic; /* CLOCK_MONOTONIC */

struct tlg_pace {
  struct tlg_rate rate; /* samples a second of real time: the stream's rate times the speed */
  const struct tlg_clock *clock;
  uint64_t start_ns;             /* clock reading at sample 0 */
  uint64_t window_ns;            /* from so long before a deadline on it spins; before that it sleeps */
  int yield;                     /* give the core away while spinning */
  int (*stopped)(void *context); /* asked at least every 100 ms of sleep; may be NULL */
  void *context;
  uint64_t spins, sleeps; /* looks at the clock while spinning, and sleeps, counted */
};

/* rate * speed in lowest terms; TLG_EINVAL if it does not fit. */
int tlg_pace_rate(struct tlg_rate *paced, const struct tlg_rate *rate, const struct tlg_rate *speed);
/* The instant at which sample n has come in, in picoseconds since the start: floor(n * 10^12 / rate). */
uint64_t tlg_pace_instant_ps(const struct tlg_pace *pace, uint64_t n);
/* The clock reading of an instant: the first whole nanosecond not before it. */
uint64_t tlg_pace_deadline_ns(const struct tlg_pace *pace, uint64_t instant_ps);
/* Now, in picoseconds since the start (0 before it). */
uint64_t tlg_pace_now_ps(const struct tlg_pace *pace);
/* Wait for the instant: sleep until the window before it, then spin. Returns the clock reading that ended the wait, in
 * ps since the start, never below instant_ps (unless stopped). When late already, it reads the clock once. */
uint64_t tlg_pace_wait(struct tlg_pace *pace, uint64_t instant_ps);

/* Nanoseconds that one look of the spinning takes when nothing disturbs it; measures for some microseconds. */
double tlg_pace_look_ns(const struct tlg_pace *pace);

/* Least squares line through points added one by one. */
struct tlg_slope {
  uint64_t n;
  double mean_x, mean_y, sxx, sxy;
};
void tlg_slope_add(struct tlg_slope *s, double x, double y);
/* Change of y for each unit of x; NaN with fewer than two distinct x. */
double tlg_slope_get(const struct tlg_slope *s);

/* The same over the least y of each stretch of x: a slope that stalls do not bend. */
struct tlg_floor_slope {
  double stretch;   /* length of a stretch; set before the first point */
  double end, x, y; /* of the stretch that is open; end 0 = none */
  struct tlg_slope slope;
};
void tlg_floor_slope_add(struct tlg_floor_slope *f, double x, double y);

#endif
