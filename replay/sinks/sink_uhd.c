/* SPDX-License-Identifier: Apache-2.0 */
/* uhd:ARGS[?key=value&...] as a sink: a USRP transmits in timed bursts, through the plug-in. */
#include "sink.h"
#include "uhd_loader.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct uhd_sink {
  struct tlg_sink base;
  const struct tlg_uhd_plugin *plugin;
  struct tlg_uhd_tx *tx;
  struct tlg_uhd_settings settings;
  struct tlg_uhd_tx_counts told;
};

static void take_counts(struct uhd_sink *s)
{
  struct tlg_uhd_tx_counts c;

  s->plugin->tx_counts(s->tx, &c);
  tlg_sink_add(&s->base, TLG_SINK_UNDERRUNS, c.underruns - s->told.underruns);
  tlg_sink_add(&s->base, TLG_SINK_LATE, c.late + c.late_blocks - s->told.late - s->told.late_blocks);
  tlg_sink_add(&s->base, TLG_SINK_SEQUENCE, c.sequence_errors - s->told.sequence_errors);
  tlg_sink_add(&s->base, TLG_SINK_TIMEOUTS, c.timeouts - s->told.timeouts);
  tlg_sink_add(&s->base, TLG_SINK_DROPPED, c.late_samples - s->told.late_samples);
  tlg_sink_add(&s->base, TLG_SINK_EXTRA, c.shifted - s->told.shifted);
  tlg_sink_add(&s->base, TLG_SINK_MESSAGES, c.bursts - s->told.bursts);
  s->told = c;
}

static int uhd_write(struct tlg_sink *sink, const struct tlg_sink_block *block, struct tlg_error *err)
{
  struct uhd_sink *s = (struct uhd_sink *)sink;
  const int status = s->plugin->tx_write(s->tx, block->samples, block->n, block->first, err);

  take_counts(s);
  return status;
}

/* Messages come also while nothing is sent. */
static int uhd_idle(struct tlg_sink *sink, struct tlg_error *err)
{
  const struct tlg_sink_block nothing = {0};

  return uhd_write(sink, &nothing, err);
}

static void uhd_abort(struct tlg_sink *sink)
{
  struct uhd_sink *s = (struct uhd_sink *)sink;

  if (s->tx) {
    s->plugin->tx_close(s->tx);
  }
  s->tx = NULL;
  tlg_uhd_settings_free(&s->settings);
}

static int uhd_close(struct tlg_sink *sink, struct tlg_error *err)
{
  struct uhd_sink *s = (struct uhd_sink *)sink;
  const int status = s->plugin->tx_end(s->tx, err);

  take_counts(s);
  uhd_abort(sink);
  return status;
}

static int open_radio(struct uhd_sink *s, const struct tlg_endpoint *e, const struct tlg_sink_cfg *cfg,
                      struct tlg_error *err)
{
  struct tlg_uhd_cfg device = {.args = e->rest, .rate_hz = tlg_rate_hz(&cfg->rate), .cancel = cfg->cancel};
  struct tlg_uhd_info info;
  char text[200] = "", told[260];
  int coerced, status;

  if (!cfg->rate.num) {
    return tlg_error_set(err, TLG_EINVAL, "a radio must be told the outputs' rate");
  }
  if ((status = tlg_uhd_load(&s->plugin, err)) ||
      (status = tlg_uhd_settings_make(&s->settings, e, cfg->radio, 1, err))) {
    return status;
  }
  device.radio = &s->settings.radio;
  status = s->plugin->tx_open(&s->tx, &device, &info, err);
  if (status) {
    s->tx = NULL;
    return status;
  }
  status = tlg_uhd_rate(&s->base.rate, info.rate_hz, &cfg->rate, device.radio, &coerced, text, err);
  if (status) {
    return status;
  }
  if (cfg->hint) {
    snprintf(told, sizeof told, "%s, %s, packets of %zu samples", info.device, s->plugin->library(), info.packet);
    cfg->hint(cfg->context, told);
    if (coerced) {
      snprintf(told, sizeof told, "%s; the resampler follows", text);
      cfg->hint(cfg->context, told);
    }
  }
  s->plugin->tx_rate(s->tx, &s->base.rate);
  return TLG_OK;
}

int tlg_sink_open_uhd(struct tlg_sink **sink, const struct tlg_endpoint *e, const struct tlg_sink_cfg *cfg,
                      struct tlg_error *err)
{
  static const struct tlg_sink_ops ops = {.write = uhd_write, .close = uhd_close, .abort = uhd_abort, .idle = uhd_idle};
  struct uhd_sink *s = calloc(1, sizeof *s);
  int status;

  if (!s || cfg->only_check) { /* a device is not asked twice */
    free(s);
    return s ? TLG_OK : tlg_error_set(err, TLG_ENOMEM, "out of memory");
  }
  s->base.ops = &ops;
  s->base.block = 1; /* its clock sets the pace of whoever is ahead of it */
  status = open_radio(s, e, cfg, err);
  if (status) {
    uhd_abort(&s->base);
    free(s);
    return status;
  }
  *sink = &s->base;
  return TLG_OK;
}
