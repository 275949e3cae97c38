/* SPDX-License-Identifier: Apache-2.0 */
/* uhd:ARGS[?key=value&...]: a USRP as a live source, through the plug-in. */
#include "live.h"
#include "uhd_loader.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct uhd_source {
  struct tlg_live live;
  const struct tlg_uhd_plugin *plugin;
  struct tlg_uhd_rx *rx;
  struct tlg_uhd_settings settings;
  int swap_iq, begun;
};

/* Where each count of the plug-in stands among ours. */
static void take_counts(struct uhd_source *s)
{
  struct tlg_uhd_rx_counts c;
  uint64_t values[TLG_LIVE_COUNTS] = {0};
  size_t i;

  s->plugin->rx_counts(s->rx, &c);
  values[TLG_LIVE_PACKETS] = c.calls;
  values[TLG_LIVE_SAMPLES] = c.samples;
  values[TLG_LIVE_LOST_PACKETS] = c.lost_packets;
  values[TLG_LIVE_LOST_SAMPLES] = c.lost_samples;
  values[TLG_LIVE_LOSSES] = c.losses;
  values[TLG_LIVE_MALFORMED] = c.bad_packets;
  values[TLG_LIVE_RESTARTS] = c.restarts;
  values[TLG_LIVE_OVERRUNS] = c.overruns;
  values[TLG_LIVE_SEQUENCE] = c.sequence_errors;
  values[TLG_LIVE_LATE] = c.late_commands;
  values[TLG_LIVE_TIMEOUTS] = c.timeouts;
  for (i = 0; i < TLG_LIVE_COUNTS; i++) {
    atomic_store_explicit(&s->live.counts[i], values[i], memory_order_relaxed);
  }
}

/* When the first of n samples that have just come was on the air, by this host's clock. */
static void set_datetime(struct tlg_live_info *info, size_t n)
{
  struct timespec now;
  struct tm utc;
  int64_t ns;

  clock_gettime(CLOCK_REALTIME, &now);
  ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec - (int64_t)(tlg_instant_ps(n, &info->rate) / 1000);
  now.tv_sec = (time_t)(ns / 1000000000);
  now.tv_nsec = (long)(ns % 1000000000);
  if (gmtime_r(&now.tv_sec, &utc)) {
    const size_t at = strftime(info->datetime, sizeof info->datetime, "%Y-%m-%dT%H:%M:%S", &utc);

    snprintf(info->datetime + at, sizeof info->datetime - at, ".%06ldZ", now.tv_nsec / 1000);
  }
}

static int read_samples(struct tlg_live *live, tlg_cs16 *buf, size_t n, size_t *got, uint64_t *first,
                        struct tlg_error *err)
{
  struct uhd_source *s = (struct uhd_source *)live;
  const int status = s->plugin->rx_read(s->rx, buf, n, got, first, err);
  size_t k;

  take_counts(s);
  if (!status && *got && !s->begun) {
    s->begun = 1;
    set_datetime(&live->info, *got);
  }
  for (k = 0; !status && s->swap_iq && k < *got; k++) {
    const int16_t i = buf[k].i;

    buf[k].i = buf[k].q;
    buf[k].q = i;
  }
  return status;
}

static void stop(struct tlg_live *live)
{
  struct uhd_source *s = (struct uhd_source *)live;

  s->plugin->rx_stop(s->rx);
}

static void give_back(struct tlg_live *live)
{
  struct uhd_source *s = (struct uhd_source *)live;

  if (s->rx) {
    s->plugin->rx_close(s->rx);
  }
  tlg_uhd_settings_free(&s->settings);
}

static int open_radio(struct uhd_source *s, const struct tlg_endpoint *e, const struct tlg_live_cfg *cfg,
                      const volatile int *cancel, struct tlg_error *err)
{
  struct tlg_uhd_cfg device = {.args = e->rest, .rate_hz = tlg_rate_hz(&cfg->rate), .cancel = cancel};
  struct tlg_uhd_info info;
  char text[200] = "", told[260];
  int coerced, status;

  if (!cfg->rate.num) {
    return tlg_error_set(err, TLG_EINVAL, "a radio must be told its rate: give --rate");
  }
  if ((cfg->format && cfg->format != TLG_FORMAT_CS16) || cfg->full_scale > 0.0) {
    return tlg_error_set(err, TLG_EINVAL,
                         "a radio gives cs16 of full scale 32768: leave --format and --full-scale out");
  }
  if ((status = tlg_uhd_load(&s->plugin, err)) ||
      (status = tlg_uhd_settings_make(&s->settings, e, cfg->radio, 0, err))) {
    return status;
  }
  device.radio = &s->settings.radio;
  status = s->plugin->rx_open(&s->rx, &device, &info, err);
  if (status) {
    s->rx = NULL;
    return status;
  }
  status = tlg_uhd_rate(&s->live.info.rate, info.rate_hz, &cfg->rate, device.radio, &coerced, text, err);
  if (status) {
    return status;
  }
  if (cfg->hint) {
    snprintf(told, sizeof told, "%s, %s, packets of %zu samples", info.device, s->plugin->library(), info.packet);
    cfg->hint(cfg->context, told);
    if (coerced) {
      snprintf(told, sizeof told, "%s; %s", text,
               device.radio->match.num ? "the resampler follows" : "that is the rate of what comes");
      cfg->hint(cfg->context, told);
    }
  }
  s->plugin->rx_rate(s->rx, &s->live.info.rate);
  s->live.info.frequency_hz = info.frequency_hz;
  s->live.info.format = TLG_FORMAT_CS16;
  s->live.info.clock = 1;
  s->live.info.chunk = info.spb;
  set_datetime(&s->live.info, 0); /* of the opening, until samples come */
  return TLG_OK;
}

int tlg_live_open_uhd(struct tlg_live **live, const struct tlg_endpoint *e, const struct tlg_live_cfg *cfg,
                      const volatile int *cancel, struct tlg_error *err)
{
  static const struct tlg_live_ops ops = {.read = read_samples, .stop = stop, .close = give_back};
  struct uhd_source *s = calloc(1, sizeof *s);
  int status;

  if (!s) {
    return tlg_error_set(err, TLG_ENOMEM, "out of memory");
  }
  s->live.ops = &ops;
  s->swap_iq = cfg->swap_iq;
  status = open_radio(s, e, cfg, cancel, err);
  if (status) {
    give_back(&s->live);
    free(s);
    return status;
  }
  *live = &s->live;
  return TLG_OK;
}
