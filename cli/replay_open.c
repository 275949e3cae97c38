/* SPDX-License-Identifier: Apache-2.0 */
/* The source, the sinks and what else is open during a replay. */
#include "model.h"
#include "replay_command.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int name_scenario(struct replay *r)
{
  char found[4096];

  return cli_names_input(&r->names, "--scenario", replay_options.scenario,
                         model_find(replay_options.scenario, found, sizeof found) ? found : replay_options.scenario);
}

int replay_name_files(struct replay *r)
{
  const char *const filter = cli_resampler.filter, *const packet = replay_options.packet;
  size_t i;
  int status = 0;

  r->names.command = r->command;
  if ((!tlg_live_is(r->path) && (status = cli_names_input(&r->names, "", r->path, r->path))) ||
      (status = cli_names_input(&r->names, "--filter", filter, filter)) ||
      (replay_options.scenario && (status = name_scenario(r))) ||
      (packet && packet[0] == '@' && (status = cli_names_input(&r->names, "--packet", packet, packet + 1)))) {
    return status;
  }
  for (i = 0; replay_options.to && replay_options.to[i] && !status; i++) {
    char *path = tlg_sink_text_is_stdout(replay_options.to[i]) ? strdup("-") : tlg_sink_text_path(replay_options.to[i]);

    status = cli_names_output(&r->names, "--to", replay_options.to[i], path);
    free(path);
  }
  return status ? status : cli_names_output(&r->names, "--trace", replay_options.trace, replay_options.trace);
}

static int source_read(void *context, tlg_cs16 *buf, size_t n, size_t *got, uint64_t *first, struct tlg_error *err)
{
  return tlg_reader_read(((struct replay *)context)->reader, buf, n, got, first, err);
}

/* What is counted of the source is what one pass holds, however often it is played. */
static int source_rewind(void *context, struct tlg_error *err)
{
  struct replay *r = context;

  if (!r->counted) {
    tlg_reader_counts(r->reader, &r->run.in_counts);
    r->counted = 1;
  }
  return tlg_reader_rewind(r->reader, err);
}

/* How many packets there can be at most: gaps, changes of frequency and the end cut some short. */
static uint64_t most_packets(const struct replay *r, uint64_t pass)
{
  const uint64_t passes = pass ? r->total / pass + 1 : 1;
  uint64_t sum = 0;
  size_t i;

  for (i = 0; i < r->cfg.n_packets; i++) {
    sum += r->packets[i];
  }
  return r->total ? (r->total / sum + 2) * r->cfg.n_packets + r->cfg.n_captures * passes : 0;
}

/* --nsamps, as --duration. */
static int limit_samples(struct replay *r)
{
  uint64_t n = 0;
  const int status = cli_radio_nsamps(r->command, &n);

  if (n && (!r->cfg.max_samples || n < r->cfg.max_samples)) {
    r->cfg.max_samples = n;
  }
  return status;
}

/* How long, and through which filter, now that the source's rate is known. */
static int choose_resampler(struct replay *r)
{
  int status;

  if ((status =
           cli_duration(r->command, "--duration", replay_options.duration, &r->cfg.rate_in, &r->cfg.max_samples)) ||
      (status = cli_resampler_cfg(r->command, &r->cfg.rate_in, &r->taps, &r->resamp, &r->cfg.rate_out))) {
    return status;
  }
  if (replay_options.duration && !r->cfg.max_samples) {
    return cli_usage(r->command, "--duration %s: not a single sample long", replay_options.duration);
  }
  if ((status = limit_samples(r))) {
    return status;
  }
  r->cfg.resamp = &r->resamp;
  r->cfg.flush = cli_resampler.flush;
  return 0;
}

int replay_open_source(struct replay *r)
{
  struct tlg_error err = {0};
  struct tlg_reader_cfg in;
  const struct tlg_reader_info *info;
  uint64_t pass = 0;
  int status;

  if ((status = cli_input_cfg(r->command, r->path, &in))) {
    return status;
  }
  if (tlg_reader_open(&r->reader, r->path, &in, &err)) {
    return cli_fail(r->command, r->path, &err);
  }
  info = tlg_reader_info(r->reader);
  r->run.info = info;
  if (!info->rate.num && !r->scenario) {
    return cli_usage(r->command, "%s: nothing tells the rate; give --rate", r->path);
  }
  if (!info->seekable && r->cfg.loops != 1) {
    cli_say(r->command, "%s: a pipe cannot be repeated; save it to a file, or leave --loop out", r->path);
    return CLI_UNAVAILABLE;
  }
  r->cfg.rate_in = info->rate.num ? info->rate : r->scenario->rate;
  r->cfg.source = (struct tlg_source){.read = source_read, .rewind = source_rewind, .context = r};
  r->cfg.captures = info->captures;
  r->cfg.n_captures = info->n_captures;
  if ((status = choose_resampler(r))) {
    return status;
  }
  if (info->n_samples != UINT64_MAX) {
    pass = info->n_samples + info->n_missing;
  }
  if (pass && r->cfg.loops) {
    r->total = pass > UINT64_MAX / r->cfg.loops ? 0 : pass * r->cfg.loops;
  }
  if (r->cfg.max_samples && (!r->total || r->cfg.max_samples < r->total)) {
    r->total = r->cfg.max_samples;
  }
  r->most = most_packets(r, pass);
  if (r->most && r->most < r->cfg.trace_packets) { /* no more records than there will be packets */
    r->cfg.trace_packets = (size_t)r->most;
  }
  if (r->most && r->cfg.n_drops && r->drops[r->cfg.n_drops - 1] >= r->most) {
    return cli_usage(r->command, "--drop-packet %s: there will be no packet %" PRIu64 ", they are %" PRIu64 " at most",
                     replay_options.drop_packets, r->drops[r->cfg.n_drops - 1], r->most);
  }
  return r->scenario ? replay_fit_scenario(r) : 0;
}

/* Opened before the run, so that what is wrong with it is said then, and a pipe's reader is met once. Nothing is
 * written to it before the run is over. */
int replay_open_trace(struct replay *r)
{
  struct tlg_error err = {0};

  return replay_options.trace && !r->trace &&
                 tlg_outfile_open(&r->trace, replay_options.trace, replay_options.force, &err)
             ? cli_fail(r->command, NULL, &err)
             : 0;
}

static int no_drain(const struct replay *r)
{
  return cli_usage(r->command, "--drain %s: a live source, as srsran:tcp://127.0.0.1:2001", replay_options.drain);
}

/* A source that sets its own pace. */
int replay_open_live(struct replay *r)
{
  struct tlg_sink_cfg sink = {.rate = {30720000, 1}, .force = replay_options.force};
  struct tlg_error err = {0};
  size_t i;
  int status;

  if (replay_options.speed || r->cfg.loops != 1 || r->cfg.clock == TLG_CLOCK_VIRTUAL) {
    return cli_usage(r->command, "%s: a live source plays once, in real time; record it, then replay that with %s",
                     r->path,
                     replay_options.speed ? "--speed"
                     : r->cfg.loops != 1  ? "--loop"
                                          : "--clock virtual");
  }
  /* A stream cannot be had again: what is wrong with an output is said before anybody is waited for. */
  if ((status = cli_rate(r->command, "--out-rate", cli_resampler.out_rate, &sink.rate)) ||
      (status = replay_open_trace(r))) {
    return status;
  }
  for (i = 0; replay_options.to && replay_options.to[i]; i++) {
    if (tlg_sink_check(replay_options.to[i], &sink, &err)) {
      return cli_fail(r->command, err.status == TLG_EINVAL || err.status == TLG_EUNAVAIL ? replay_options.to[i] : NULL,
                      &err);
    }
  }
  if (replay_options.drain && !tlg_live_is(replay_options.drain)) {
    return no_drain(r);
  }
  if ((status = cli_live_open(r->command, r->path, &r->live))) {
    return status;
  }
  r->run.live = r->live;
  r->cfg.rate_in = tlg_live_info(r->live)->rate;
  r->cfg.source = tlg_live_source(r->live);
  return choose_resampler(r);
}

static void sink_hint(void *context, const char *text)
{
  cli_say(((struct replay *)context)->command, "%s", text);
}

/* A radio's clock decides what rate it transmits: the resampler follows. */
static int follow_rate(struct replay *r, const struct tlg_sink *sink)
{
  static char text[48];
  const struct tlg_rate rate = tlg_sink_rate(sink);

  if (!rate.num || (rate.num == r->cfg.rate_out.num && rate.den == r->cfg.rate_out.den)) {
    return 0;
  }
  if (r->cfg.n_sinks > 1) {
    return cli_usage(r->command, "%s: radios of different rates cannot be sinks of one run", tlg_sink_name(sink));
  }
  snprintf(text, sizeof text, "%" PRIu64 "/%" PRIu64, rate.num, rate.den);
  if (cli_resampler.out_rate != r->out_rate && cli_resampler.out_rate != text) {
    free(cli_resampler.out_rate); /* popt's */
  }
  cli_resampler.out_rate = text;
  tlg_taps_free(&r->taps);
  return cli_resampler_cfg(r->command, &r->cfg.rate_in, &r->taps, &r->resamp, &r->cfg.rate_out);
}

int replay_open_drain(struct replay *r)
{
  const struct tlg_live_cfg cfg = {.rate = r->cfg.rate_out, .hint = sink_hint, .context = r};
  struct tlg_error err = {0};

  if (!replay_options.drain) {
    return 0;
  }
  if (!tlg_live_is(replay_options.drain)) {
    return no_drain(r);
  }
  if (tlg_live_open(&r->drained, replay_options.drain, &cfg, &cli_stop, &err)) {
    return cli_fail(r->command, replay_options.drain, &err);
  }
  r->run.drained = r->drained;
  return 0;
}

int replay_start_drain(struct replay *r)
{
  struct tlg_error err = {0};
  struct tlg_source source;

  if (!r->drained) {
    return 0;
  }
  source = tlg_live_source(r->drained);
  return tlg_drain_new(&r->drain, &source, &err) ? cli_fail(r->command, replay_options.drain, &err) : 0;
}

int replay_end_drain(struct replay *r)
{
  struct tlg_error err = {0};
  const int status = tlg_drain_end(r->drain, &err);

  r->drain = NULL;
  return status ? cli_fail(r->command, replay_options.drain, &err) : 0;
}

int replay_open_sinks(struct replay *r)
{
  static const char *const nowhere[] = {"null:", NULL};
  const char *const *names = replay_options.to ? (const char *const *)replay_options.to : nowhere;
  struct tlg_sink_cfg cfg = {
      .rate = r->cfg.rate_out,
      .force = replay_options.force,
      .cancel = &cli_stop,
      .hint = sink_hint,
      .context = r,
      .frequency_hz = r->live ? tlg_live_info(r->live)->frequency_hz : tlg_reader_info(r->reader)->frequency_hz,
      .datetime = r->live ? tlg_live_info(r->live)->datetime : tlg_reader_info(r->reader)->captures[0].datetime};
  struct tlg_error err = {0};
  size_t n = 0, i;
  int radios, status;

  if ((status = cli_radio_cfg(r->command, &r->cfg.rate_in, &r->radio))) {
    return status;
  }
  cfg.radio = &r->radio;
  r->radios = cli_is_radio(r->path);
  if (!cli_is_radio(r->path)) { /* --channel is the recording's; a sink's is a key: uhd:...?channel=1 */
    r->radio.channel = 0;
  }
  for (; names[n]; n++) {
    r->radios |= cli_is_transmitter(names[n]);
    if (cli_is_radio(names[n]) && r->cfg.clock == TLG_CLOCK_VIRTUAL) {
      return cli_usage(r->command, "%s: a radio knows no virtual clock; dac: stands for one there", names[n]);
    }
  }
  if (!r->radios && (status = cli_radio_unused(r->command))) {
    return status;
  }
  r->sinks = calloc(n, sizeof *r->sinks);
  if (!r->sinks) {
    cli_say(r->command, "out of memory");
    return CLI_SYSTEM;
  }
  r->run.sinks = calloc(n, sizeof *r->run.sinks);
  if (!r->run.sinks) {
    cli_say(r->command, "out of memory");
    return CLI_SYSTEM;
  }
  /* Radios first: the others are opened with the rate that comes of them. */
  for (radios = 1; radios >= 0; radios--) {
    for (i = 0; i < n; i++) {
      const size_t at = r->run.n_sinks;

      if (cli_is_radio(names[i]) != radios) {
        continue;
      }
      cfg.rate = r->cfg.rate_out;
      if (tlg_sink_open(&r->sinks[at], names[i], &cfg, &err)) {
        return cli_fail(r->command, err.status == TLG_EINVAL || err.status == TLG_EUNAVAIL || radios ? names[i] : NULL,
                        &err);
      }
      r->run.sinks[at] = names[i];
      r->cfg.n_sinks = r->run.n_sinks = at + 1;
      if (radios && (status = follow_rate(r, r->sinks[at]))) {
        return status;
      }
    }
  }
  r->cfg.sinks = r->sinks;
  return 0;
}
