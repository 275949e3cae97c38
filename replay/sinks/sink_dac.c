/* SPDX-License-Identifier: Apache-2.0 */
/* dac:[?buffer=N&lead=TIME&late=drop|shift]: a transmitter without a radio. It plays at the outputs' rate by the clock
 * of the run, takes what fits into its buffer, and counts what a radio would: underruns U and late blocks L. */
#include "dac.h"
#include "pace.h"
#include "sink.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct dac_sink {
  struct tlg_sink base;
  struct tlg_dac dac;
  uint64_t start_ns; /* of the real clock */
  uint64_t free_ps;  /* the write before returned then */
  int is_virtual;
};

static uint64_t now_ps(const struct dac_sink *s)
{
  return (tlg_clock_monotonic.now_ns(NULL) - s->start_ns) * 1000;
}

/* Until an instant of the real clock, or a stop. */
static void wait_until(const struct dac_sink *s, uint64_t until_ps)
{
  uint64_t now;

  while (!s->is_virtual && (now = now_ps(s)) < until_ps && !tlg_sink_stopping(&s->base)) {
    const uint64_t left_ns = (until_ps - now) / 1000 + 1, most_ns = TLG_SINK_WAIT_MS * UINT64_C(1000000);

    tlg_clock_monotonic.sleep_until_ns(NULL,
                                       tlg_clock_monotonic.now_ns(NULL) + (left_ns < most_ns ? left_ns : most_ns));
  }
}

static void publish(struct dac_sink *s, const struct tlg_dac_counts *before)
{
  const struct tlg_dac_counts *c = &s->dac.counts;

  tlg_sink_add(&s->base, TLG_SINK_UNDERRUNS, c->underruns - before->underruns);
  tlg_sink_add(&s->base, TLG_SINK_LATE, c->late_blocks - before->late_blocks);
  tlg_sink_add(&s->base, TLG_SINK_DROPPED, c->late - before->late);
  tlg_sink_add(&s->base, TLG_SINK_EXTRA, c->shifted - before->shifted);
  tlg_sink_add(&s->base, TLG_SINK_STALLS, c->waits - before->waits);
  tlg_sink_add(&s->base, TLG_SINK_STALLED_US, c->waited_ps / 1000000 - before->waited_ps / 1000000);
}

static int dac_write(struct tlg_sink *sink, const struct tlg_sink_block *block, struct tlg_error *err)
{
  struct dac_sink *s = (struct dac_sink *)sink;
  const struct tlg_dac_counts before = s->dac.counts;
  uint64_t at;

  (void)err;
  s->is_virtual = block->virtual_ps != NULL;
  at = s->is_virtual ? *block->virtual_ps : now_ps(s);
  at = at > s->free_ps ? at : s->free_ps; /* on the virtual clock: as if the writer had waited */
  s->free_ps = tlg_dac_write(&s->dac, block->first, block->n, at);
  publish(s, &before);
  wait_until(s, s->free_ps);
  return TLG_OK;
}

static int dac_close(struct tlg_sink *sink, struct tlg_error *err)
{
  struct dac_sink *s = (struct dac_sink *)sink;
  const struct tlg_dac_counts before = s->dac.counts;

  (void)err;
  if (s->dac.started) {
    const uint64_t end = tlg_dac_end(&s->dac, s->is_virtual ? s->free_ps : now_ps(s));

    publish(s, &before);
    wait_until(s, end);
  }
  return TLG_OK;
}

static int lead_value(const struct tlg_endpoint *e, uint64_t *ps, struct tlg_error *err)
{
  const char *text = tlg_endpoint_value(e, "lead");
  char *end;
  double x;

  if (!text) {
    return TLG_OK;
  }
  x = strtod(text, &end);
  x *= strcmp(end, "ms") == 0 ? 1e9 : strcmp(end, "us") == 0 ? 1e6 : strcmp(end, "ns") == 0 ? 1e3 : 1e12;
  if (end == text ||
      (*end && strcmp(end, "s") != 0 && strcmp(end, "ms") != 0 && strcmp(end, "us") != 0 && strcmp(end, "ns") != 0) ||
      !(x >= 0.0) || !(x <= 1e13)) {
    return tlg_error_set(err, TLG_EINVAL, "lead=%s: a time from 0 to 10s, as 1ms or 250us", text);
  }
  *ps = (uint64_t)(x + 0.5);
  return TLG_OK;
}

int tlg_sink_open_dac(struct tlg_sink **sink, const struct tlg_endpoint *e, const struct tlg_sink_cfg *cfg,
                      struct tlg_error *err)
{
  static const struct tlg_sink_ops ops = {.write = dac_write, .close = dac_close};
  static const char *const known[] = {"buffer", "lead", "late", NULL}, *const lates[] = {"drop", "shift", NULL};
  struct tlg_dac_cfg dac = {.rate = cfg->rate, .buffer = 1000000, .lead_ps = 1000000000};
  struct dac_sink *s;
  int status;

  if ((status = tlg_endpoint_check_keys(e, known, err)) ||
      (status = tlg_endpoint_whole(e, "buffer", 1, UINT64_C(1) << 40, &dac.buffer, err)) ||
      (status = lead_value(e, &dac.lead_ps, err)) || (status = tlg_endpoint_word(e, "late", lates, &dac.shift, err))) {
    return status;
  }
  if (*e->rest) {
    return tlg_error_set(err, TLG_EINVAL, "dac: takes nothing behind the colon but keys: dac:?buffer=1M&lead=1ms");
  }
  if (!cfg->rate.num) {
    return tlg_error_set(err, TLG_EINVAL, "dac: must be told the outputs' rate");
  }
  s = calloc(1, sizeof *s);
  if (!s) {
    return tlg_error_set(err, TLG_ENOMEM, "out of memory");
  }
  tlg_dac_init(&s->dac, &dac);
  s->base.ops = &ops;
  s->base.block = 1; /* as a radio does, it makes whoever is ahead of it wait */
  s->start_ns = tlg_clock_monotonic.now_ns(NULL);
  *sink = &s->base;
  return TLG_OK;
}
