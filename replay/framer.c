/* SPDX-License-Identifier: Apache-2.0 */
/* Forms the PHY's subframes of the outputs and times them. */
#include "tlg_replay.h"

#include <stdlib.h>

typedef unsigned __int128 u128;

struct tlg_framer {
  struct tlg_framer_cfg cfg;
  uint64_t next;     /* the output expected next */
  uint64_t begin;    /* first output of the subframe being formed */
  uint64_t start_ps; /* its start, once its first output came */
  int whole;         /* nothing of it is missing so far */
  int quiet;         /* subframes that end are not counted */
  uint64_t complete_end;
  uint64_t complete, incomplete, late;
  struct tlg_delays *latency, *beyond;
};

int tlg_framer_new(struct tlg_framer **framer, const struct tlg_framer_cfg *cfg)
{
  struct tlg_framer *f;

  if (!framer) {
    return TLG_EINVAL;
  }
  *framer = NULL;
  if (!cfg || !cfg->up || !cfg->down || !cfg->rate.num || !cfg->rate.den || !cfg->length) {
    return TLG_EINVAL;
  }
  f = calloc(1, sizeof *f);
  if (!f || tlg_delays_new(&f->latency) != TLG_OK || tlg_delays_new(&f->beyond) != TLG_OK) {
    tlg_framer_free(f);
    return TLG_ENOMEM;
  }
  f->cfg = *cfg;
  f->begin = cfg->offset;
  f->complete_end = f->begin;
  f->whole = 1;
  *framer = f;
  return TLG_OK;
}

void tlg_framer_free(struct tlg_framer *f)
{
  if (f) {
    tlg_delays_free(f->latency);
    tlg_delays_free(f->beyond);
    free(f);
  }
}

/* The outputs [next, to) are missing: the subframes they touch will never be whole. */
static void miss(struct tlg_framer *f, uint64_t to)
{
  if (to > f->begin && to > f->next) {
    if (f->next < f->begin + f->cfg.length) {
      f->whole = 0;
    }
    if (to >= f->begin + f->cfg.length) {
      const uint64_t ended = (to - f->begin) / f->cfg.length;

      f->incomplete += f->quiet ? 0 : ended;
      f->begin += ended * f->cfg.length;
      f->whole = to == f->begin;
    }
  }
  f->next = to;
}

static void start(struct tlg_framer *f, uint64_t shift)
{
  const uint64_t input = (uint64_t)(((u128)f->begin * f->cfg.down + f->cfg.q0) / f->cfg.up);

  f->start_ps = tlg_instant_ps(input + shift, &f->cfg.rate);
}

static void finish(struct tlg_framer *f, uint64_t delivered_ps)
{
  if (f->quiet) {
    /* left out */
  } else if (f->whole) {
    const uint64_t latency = delivered_ps > f->start_ps ? delivered_ps - f->start_ps : 0;

    f->complete++;
    f->late += latency > f->cfg.deadline_ps;
    tlg_delays_add(f->latency, latency, delivered_ps);
    tlg_delays_add(f->beyond, latency > f->cfg.floor_ps ? latency - f->cfg.floor_ps : 0, delivered_ps);
  } else {
    f->incomplete++;
  }
  f->begin += f->cfg.length;
  f->whole = 1;
}

unsigned tlg_framer_push(struct tlg_framer *f, uint64_t first, size_t n, uint64_t shift, uint64_t delivered_ps)
{
  const uint64_t to = first + n;
  unsigned formed = 0;

  if (first > f->next) {
    miss(f, first);
  }
  for (;;) {
    const uint64_t end = f->begin + f->cfg.length;

    if (f->next <= f->begin && to > f->begin) {
      start(f, shift);
    }
    if (to < end) {
      break;
    }
    if (f->whole) {
      formed++;
      f->complete_end = end;
    }
    finish(f, delivered_ps);
    f->next = end;
  }
  f->next = to;
  return formed;
}

void tlg_framer_count(struct tlg_framer *f, int counted)
{
  f->quiet = !counted;
}

uint64_t tlg_framer_complete(const struct tlg_framer *f)
{
  return f->complete_end;
}

void tlg_framer_get(const struct tlg_framer *f, struct tlg_framer_result *result)
{
  result->complete = f->complete;
  result->incomplete = f->incomplete;
  result->late = f->late;
  tlg_delays_summarise(f->latency, &result->latency);
  tlg_delays_summarise(f->beyond, &result->beyond);
}

const struct tlg_delays *tlg_framer_delays(const struct tlg_framer *f)
{
  return f->latency;
}
