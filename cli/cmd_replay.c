/* SPDX-License-Identifier: Apache-2.0 */
/* taplag replay: a recording through receive, resample and deliver, at real-time pace or on a virtual clock. */
#include "model.h"
#include "replay_command.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* After a signal: if the end takes its time (a sink that does not take what it is given), say what is going on. */
static void tell_draining(struct replay *r)
{
  enum { PATIENCE_MS = 500 };
  uint64_t now_ms;

  if (!cli_stop || r->said_draining) {
    return;
  }
  now_ms = cli_now_ns() / 1000000 + 1;
  if (!r->stop_ms) {
    r->stop_ms = now_ms;
  } else if (now_ms - r->stop_ms >= PATIENCE_MS) {
    cli_letters_end(&r->letters);
    cli_say(r->command, "stopping: draining; another signal ends at once");
    r->said_draining = 1;
  }
}

static int on_event(void *context, const struct tlg_event *event)
{
  struct replay *r = context;

  switch (event->kind) {
  case TLG_EVENT_OVERRUN:
    cli_letters(&r->letters, 'O', event->n);
    break;
  case TLG_EVENT_STARVED:
    cli_letters(&r->letters, 'U', event->n);
    break;
  case TLG_EVENT_WARNING:
    cli_letters_end(&r->letters);
    cli_say(r->command, "%s", event->text);
    break;
  case TLG_EVENT_GAP:
    break;
  case TLG_EVENT_TICK:
    tell_draining(r);
    cli_sinks_letters(r->pipeline, r->run.n_sinks, &r->sinks_told, &r->letters);
    cli_sinks_console(r->pipeline, r->run.n_sinks, r->run.sinks, replay_options.progress);
    if (r->live) {
      cli_live_letters(r->live, &r->told, &r->letters);
    }
    if (r->radios && replay_options.progress) {
      cli_radio_progress(&r->progress, event->samples);
    }
    if (!r->letters.n && r->total) {
      cli_progress(r->command, event->samples < r->total ? event->samples : r->total - 1, r->total);
    }
    break;
  }
  return cli_stop;
}

/* What came out otherwise than a user may think. */
static void warn(const struct replay *r)
{
  const struct tlg_accounts *a = &tlg_pipeline_result(r->pipeline)->accounts;
  size_t i;

  if (r->cfg.n_drops && r->drops[r->cfg.n_drops - 1] >= a->packets && !cli_stop) {
    cli_say(r->command, "--drop-packet %" PRIu64 ": there were only %" PRIu64 " packets, counted from 0",
            r->drops[r->cfg.n_drops - 1], a->packets);
  }
  if (a->closed) {
    cli_say(r->command, "%" PRIu64 " missing samples were joined over: the output jumps there", a->closed);
  }
  if (a->left_out && r->cfg.gaps == TLG_GAPS_ZERO) {
    cli_say(r->command,
            "stopped in a gap: %" PRIu64
            " of its zeros were left out, so that what follows it comes earlier in raw files",
            a->left_out);
    return;
  }
  for (i = 0; i < r->run.n_sinks && a->left_out; i++) {
    int marks;

    tlg_pipeline_sink_count(r->pipeline, i, NULL, &marks);
    if (!marks) {
      cli_say(r->command, "%s: %" PRIu64 " outputs of gaps are left out, and %s", r->run.sinks[i], a->left_out,
              strncmp(r->run.sinks[i], "srsran:", 7) == 0
                  ? "a PHY counts samples and cannot see where; --gaps zero sends zeros for them"
                  : "this kind of file cannot mark where; write SigMF, or take --gaps zero");
    }
  }
}

static void count_radios(struct replay *r)
{
  size_t i;

  r->run.has_radio = 1;
  if (cli_is_radio(r->path)) {
    cli_radio_add_live(&r->run.radio, r->live);
  }
  for (i = 0; i < r->run.n_sinks; i++) {
    if (cli_is_transmitter(r->run.sinks[i])) {
      cli_radio_add_sink(&r->run.radio, r->pipeline, i);
    }
  }
}

static int run(struct replay *r, FILE *results)
{
  const struct tlg_accounts *a;
  const struct tlg_pipeline_result *result;
  struct tlg_error err = {0};
  size_t i;
  int status, drained;

  r->cfg.event = on_event;
  r->cfg.context = r;
  status = tlg_pipeline_new(&r->pipeline, &r->cfg, &err);
  r->run.pipeline = r->pipeline;
  memset(r->sinks, 0, r->run.n_sinks * sizeof *r->sinks); /* they are the pipeline's now */
  if (status) {
    return cli_fail(r->command, NULL, &err);
  }
  if (r->cfg.clock == TLG_CLOCK_REAL) {
    tlg_host_read(&r->run.host, "");
    if (r->cfg.fifo && replay_options.margin && r->run.host.rt_runtime_us > 0 && r->run.host.rt_runtime_us < 1000000) {
      cli_say(r->command,
              "the kernel stops real-time threads that run for more than %" PRId64
              " us of a second; with a large --margin 'sysctl kernel.sched_rt_runtime_us=-1' ends that",
              r->run.host.rt_runtime_us);
    }
  }
  if ((status = replay_start_drain(r))) {
    return status;
  }
  status = tlg_pipeline_run(r->pipeline, &err);
  drained = replay_end_drain(r);
  result = tlg_pipeline_result(r->pipeline);
  a = &result->accounts;
  cli_sinks_console_end();
  if (r->letters.n) {
    cli_letters_end(&r->letters);
  } else if (r->total) {
    cli_progress(r->command, 1, 1);
  }
  if (status) {
    status = cli_fail(r->command, result->source_failed ? r->path : NULL, &err); /* a sink's error names its file */
    cli_say(r->command,
            "stopped after %" PRIu64 " inputs and %" PRIu64 " outputs; no file was left under its final name",
            a->processed, a->outputs);
    return status;
  }
  if (!r->counted && r->reader) {
    tlg_reader_counts(r->reader, &r->run.in_counts);
  }
  if (r->cfg.clock == TLG_CLOCK_REAL && r->control_s > 0 && !cli_stop) {
    const double own = (double)result->duration_ps * 1e-12;

    tlg_host_spin(&r->run.control, (uint64_t)((own < r->control_s ? own : r->control_s) * 1e9), &cli_stop);
  }
  if (replay_options.trace) {
    status = tlg_pipeline_trace_put(r->pipeline, r->trace, &err);
    r->trace = NULL;
    if (status) {
      status = cli_fail(r->command, NULL, &err);
    } else {
      r->run.trace_path = replay_options.trace;
    }
  }
  warn(r);
  status = status ? status : drained;
  for (i = 0; i < r->run.n_sinks; i++) {
    if (!cli_sink_balanced(r->pipeline, i)) {
      cli_say(r->command, "%s: given is not sent + dropped; please report this", r->run.sinks[i]);
      status = status ? status : CLI_CHECK_FAILED;
    }
  }
  if (!a->balanced) {
    cli_say(r->command,
            "the counts do not add up: %" PRIu64 " inputs against %" PRIu64 " processed + %" PRIu64
            " dropped + %" PRIu64 " missing, %" PRIu64 " outputs against %" PRIu64 " - %" PRIu64
            " left out; please report this",
            a->inputs, a->processed, a->dropped, a->missing, a->outputs, a->end_position, a->left_out);
    status = status ? status : CLI_CHECK_FAILED;
  }
  if (a->packets_dropped > r->run.max_overruns) {
    cli_say(r->command, "%" PRIu64 " packets were lost, %" PRIu64 " allowed", a->packets_dropped, r->run.max_overruns);
    status = status ? status : CLI_CHECK_FAILED;
  }
  if (r->radios) {
    int judged;

    count_radios(r);
    judged = cli_radio_verdict(r->command, &r->run.radio);
    status = status ? status : judged;
  }
  if (replay_options.json) {
    status = report_json(results, &r->run) && !status ? CLI_SYSTEM : status;
  } else {
    report_text(results, &r->run);
  }
  return cli_finish(r->command, results, status);
}

int cmd_replay(int argc, const char **argv)
{
  struct replay r = {.command = argv[0]};
  int status = replay_options_take(&r, argc, argv);
  size_t i;

  if (status >= 0) {
    model_settings_free(&model_settings);
    return status;
  }
  r.path = r.o.args[0];
  r.run.command = r.command;
  r.run.source = strcmp(r.path, "-") == 0 ? "(stdin)" : r.path;
  r.run.cfg = &r.cfg;
  r.run.scenario_name = replay_options.scenario;
  cli_catch_signals();
  if (!(status = replay_read_options(&r)) && !(status = replay_read_scenario(&r)) &&
      !(status = replay_name_files(&r)) &&
      !(status = (tlg_live_is(r.path) ? replay_open_live : replay_open_source)(&r))) {
    r.run.align = cli_resampler.align;
    r.run.flush = cli_resampler.flush;
    r.run.scenario = r.scenario;
    if (!(status = replay_open_trace(&r)) && !(status = replay_open_sinks(&r)) && !(status = replay_open_drain(&r))) {
      status = run(&r, cli_results(r.names.stdout_taken));
    }
  }
  tlg_pipeline_free(r.pipeline);
  for (i = 0; i < r.run.n_sinks; i++) {
    tlg_sink_abort(r.sinks[i]);
  }
  tlg_outfile_abort(r.trace);
  tlg_reader_close(r.reader);
  tlg_live_close(r.live);
  tlg_live_close(r.drained);
  cli_names_free(&r.names);
  tlg_taps_free(&r.taps);
  tlg_sim_scenario_free(r.scenario);
  model_settings_free(&model_settings);
  free(r.sinks);
  free(r.run.sinks);
  free(r.packets);
  free(r.drops);
  cli_options_free(&r.o);
  return cli_exit_stopped(status);
}
