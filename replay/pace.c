/* SPDX-License-Identifier: Apache-2.0 */
/* Pacing on absolute deadlines: sleep until shortly before, then spin. */
#include "pace.h"
#include "gcd.h"
#include "ring.h"

#include <math.h>
#include <sched.h>
#include <time.h>

static uint64_t monotonic_now(void *context)
{
  struct timespec t;

  (void)context;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void monotonic_sleep(void *context, uint64_t ns)
{
  const struct timespec t = {.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};

  (void)context;
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

const struct tlg_clock tlg_clock_monotonic = {.now_ns = monotonic_now, .sleep_until_ns = monotonic_sleep};

int tlg_pace_rate(struct tlg_rate *paced, const struct tlg_rate *rate, const struct tlg_rate *speed)
{
  uint64_t g1, g2, num, den;

  if (!rate->num || !rate->den || !speed->num || !speed->den) {
    return TLG_EINVAL;
  }
  g1 = tlg_gcd(rate->num, speed->den);
  g2 = tlg_gcd(speed->num, rate->den);
  if (__builtin_mul_overflow(rate->num / g1, speed->num / g2, &num) ||
      __builtin_mul_overflow(rate->den / g2, speed->den / g1, &den)) {
    return TLG_EINVAL;
  }
  return tlg_rate_make(paced, num, den);
}

uint64_t tlg_pace_instant_ps(const struct tlg_pace *pace, uint64_t n)
{
  return tlg_instant_ps(n, &pace->rate);
}

uint64_t tlg_pace_deadline_ns(const struct tlg_pace *pace, uint64_t instant_ps)
{
  return pace->start_ns + instant_ps / 1000 + (instant_ps % 1000 != 0);
}

static uint64_t since_start_ps(const struct tlg_pace *pace, uint64_t now_ns)
{
  return now_ns > pace->start_ns ? (now_ns - pace->start_ns) * 1000 : 0;
}

uint64_t tlg_pace_now_ps(const struct tlg_pace *pace)
{
  return since_start_ps(pace, pace->clock->now_ns(pace->clock->context));
}

static uint64_t look(const struct tlg_pace *pace)
{
  if (pace->yield) {
    sched_yield();
  } else {
    tlg_relax();
  }
  return pace->clock->now_ns(pace->clock->context);
}

double tlg_pace_look_ns(const struct tlg_pace *pace)
{
  enum { LOOKS = 100, TRIES = 10 };
  uint64_t best = UINT64_MAX;
  int t, i;

  for (t = 0; t < TRIES; t++) { /* the fastest of several: the others were disturbed */
    const uint64_t begin = look(pace);
    uint64_t took = begin;

    for (i = 0; i < LOOKS; i++) {
      took = look(pace);
    }
    took -= begin;
    best = took < best ? took : best;
  }
  return (double)best / LOOKS;
}

uint64_t tlg_pace_wait(struct tlg_pace *pace, uint64_t instant_ps)
{
  enum { LONGEST_SLEEP_NS = 100000000 };
  const struct tlg_clock *clock = pace->clock;
  const uint64_t deadline = tlg_pace_deadline_ns(pace, instant_ps);
  uint64_t now = clock->now_ns(clock->context);

  while (now < deadline && deadline - now > pace->window_ns) {
    const uint64_t left = deadline - pace->window_ns - now;

    if (pace->stopped && pace->stopped(pace->context)) {
      return since_start_ps(pace, now);
    }
    clock->sleep_until_ns(clock->context, now + (left > LONGEST_SLEEP_NS ? LONGEST_SLEEP_NS : left));
    pace->sleeps++;
    now = clock->now_ns(clock->context);
  }
  while (now < deadline) {
    now = look(pace);
    pace->spins++;
  }
  return since_start_ps(pace, now);
}

void tlg_slope_add(struct tlg_slope *s, double x, double y)
{
  const double dx = x - s->mean_x, dy = y - s->mean_y;

  s->n++;
  s->mean_x += dx / (double)s->n;
  s->mean_y += dy / (double)s->n;
  s->sxx += dx * (x - s->mean_x);
  s->sxy += dx * (y - s->mean_y);
}

double tlg_slope_get(const struct tlg_slope *s)
{
  return s->sxx > 0.0 ? s->sxy / s->sxx : NAN;
}

void tlg_floor_slope_add(struct tlg_floor_slope *f, double x, double y)
{
  if (x >= f->end) {
    if (f->end > 0.0) {
      tlg_slope_add(&f->slope, f->x, f->y);
    }
    f->end = x + f->stretch;
    f->x = x;
    f->y = y;
  } else if (y < f->y) {
    f->x = x;
    f->y = y;
  }
}
