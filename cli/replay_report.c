/* SPDX-License-Identifier: Apache-2.0 */
/* Results of the pipeline as text and as JSON. */
#include "replay_report.h"
#include "live_cli.h"
#include "model.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static const char *const stage_names[TLG_STAGES] = {"receive", "resample", "deliver", "read"};

void report_delay_heading(FILE *out, const char *title)
{
  fprintf(out, "%-26s %9s %9s %9s %9s %9s %9s  %s\n", title, "p50", "p90", "p99", "p99.9", "p99.99", "max", "max at");
}

static void us(FILE *out, uint64_t ps)
{
  fprintf(out, " %9.2f", (double)ps * 1e-6);
}

void report_delay_row(FILE *out, const char *name, const struct tlg_delays_summary *s)
{
  fprintf(out, "%-26s", name);
  if (!s->count) {
    fputs(" none\n", out);
    return;
  }
  us(out, s->p50);
  us(out, s->p90);
  us(out, s->p99);
  us(out, s->p999);
  us(out, s->p9999);
  us(out, s->max);
  fprintf(out, "  %.6f s\n", (double)s->max_when * 1e-12);
}

void report_control(FILE *out, const struct tlg_spin_control *c)
{
  fprintf(out,
          "bare spin for %.2f s right after it: largest gap %.1f us, gaps above 10/100/1000 us: %" PRIu64 "/%" PRIu64
          "/%" PRIu64,
          (double)c->duration_ns * 1e-9, (double)c->gap_ns * 1e-3, c->gaps_10us, c->gaps_100us, c->gaps_1ms);
}

static double per_second(uint64_t ns, const struct tlg_pipeline_result *r)
{
  return r->duration_ps ? (double)ns * 1e-6 / ((double)r->duration_ps * 1e-12) : 0.0;
}

void report_cpu(FILE *out, const struct tlg_pipeline_result *r)
{
  int s;

  for (s = 0; s < TLG_STAGES; s++) {
    const struct tlg_stage_result *t = &r->stages[s];

    fprintf(out, "%s%s %.1f", s ? ", " : "", stage_names[s], per_second(t->cpu_ns - t->spin_ns, r));
    if (t->spin_ns) {
      fprintf(out, " + %.1f spinning", per_second(t->spin_ns, r));
    }
  }
}

void report_accounts(FILE *out, const struct tlg_accounts *a)
{
  fprintf(out, "inputs    %" PRIu64 " = %" PRIu64 " processed + %" PRIu64 " dropped", a->inputs, a->processed,
          a->dropped);
  if (a->gaps) {
    fprintf(out, " + %" PRIu64 " missing in %" PRIu64 " gap%s", a->missing, a->gaps, a->gaps == 1 ? "" : "s");
  }
  fprintf(out, "; packets %" PRIu64 " = %" PRIu64 " delivered + %" PRIu64 " lost", a->packets, a->packets_delivered,
          a->packets_dropped);
  if (a->packets_unfinished) {
    fprintf(out, " + %" PRIu64 " in a unit not filled", a->packets_unfinished);
  }
  if (a->packets_dropped) {
    fprintf(out, " (%" PRIu64 " before the resampler, %" PRIu64 " before the sinks)", a->overruns_receive,
            a->overruns_resample);
  }
  fprintf(out, "\noutputs   %" PRIu64 " = %" PRIu64 " end position - %" PRIu64 " left out", a->outputs, a->end_position,
          a->left_out);
  if (a->tail) {
    fprintf(out, ", then %" PRIu64 " of the zeros fed at the end", a->tail);
  }
  fputc('\n', out);
  if (a->closed) {
    fprintf(out, "closed    %" PRIu64 " inputs were joined over: what follows came earlier by so many\n", a->closed);
  }
  if (!a->balanced) {
    fputs("FAULT     these counts do not agree; please report this\n", out);
  }
}

/* What the model of a scenario has to say beyond the pipeline's own figures. */
static void text_model(FILE *out, const struct replay_run *run)
{
  const struct tlg_pipeline_result *r = tlg_pipeline_result(run->pipeline);
  char verdict[1024];
  unsigned i;

  fprintf(out, "verdict   %s\n",
          model_verdict(run->scenario, tlg_pipeline_model(run->pipeline), verdict, sizeof verdict));
  for (i = 0; i < r->n_lost; i++) {
    fprintf(out, "%s%" PRIu64 " %s%s", i ? ", " : "lost      ", r->lost[i].packets,
            strcmp(r->lost[i].place, "asked for") == 0 ? "" : "at ", r->lost[i].place);
  }
  if (r->n_lost) {
    fputc('\n', out);
  }
  if (run->cfg->warmup_packets) {
    fprintf(out,
            "warm-up   the first %" PRIu64 " packets are left out of the delays (%.4g %%, the scenario's warmup)\n",
            run->cfg->warmup_packets, (double)run->scenario->warmup_ppm * 1e-4);
  }
}

/* Whether delays are those of a steady state, as far as is known. */
static int holds(const struct replay_run *run)
{
  return !run->scenario || tlg_pipeline_model(run->pipeline)->stable;
}

static void text_delays(FILE *out, const struct replay_run *run)
{
  const struct tlg_pipeline_result *r = tlg_pipeline_result(run->pipeline);
  const struct tlg_pipeline_cfg *cfg = run->cfg;
  const struct tlg_framer_result *f = &r->framer;
  char name[64];

  if (!holds(run)) {
    fputs("unstable  what follows is of this run alone: a queue grows, and delays follow the run's length\n", out);
  }
  report_delay_heading(out, holds(run) ? "delays, us" : "delays of this run, us");
  report_delay_row(out, "packet, air to delivered", &r->packet);
  report_delay_row(out, cfg->scenario ? "  way in, air to received" : "  release, air to received", &r->release);
  report_delay_row(out, "  waiting for resample", &r->wait_resample);
  report_delay_row(out, "  resample", &r->service_resample);
  report_delay_row(out, "  waiting for deliver", &r->wait_deliver);
  report_delay_row(out, "  deliver", &r->service_deliver);
  if (r->air == TLG_AIR_ARRIVAL) {
    fputs(cfg->unpaced ? "delays count from when each packet was taken up: there was no pace\n"
          : r->lost_clock
              ? "delays count from each packet's arrival: the source did not keep its rate (before: from its clock)\n"
              : "delays count from each packet's arrival: this source has no clock of its own (--air clock: by rate)\n",
          out);
  }
  if (!r->has_framer) {
    fputs(r->air == TLG_AIR_ARRIVAL ? "subframes are not timed: that needs a sample clock\n"
                                    : "subframes are not timed: a millisecond is not a whole number of outputs\n",
          out);
    return;
  }
  snprintf(name, sizeof name, "subframe, offset %" PRIu64, cfg->offset);
  report_delay_row(out, name, &f->latency);
  report_delay_row(out, "  beyond its own length", &f->beyond);
  if (f->complete + f->incomplete) {
    const uint64_t all = f->complete + f->incomplete;

    fprintf(out,
            "deadline  %.6g us: %.4f %% of %" PRIu64 " subframes %sinside, %" PRIu64 " above it, %" PRIu64
            " with outputs missing\n",
            (double)(cfg->deadline_ps ? cfg->deadline_ps : 1200000000) * 1e-6,
            100.0 * (double)(f->complete - f->late) / (double)all, all, holds(run) ? "" : "of this run ", f->late,
            f->incomplete);
  }
}

static void text_host(FILE *out, const struct tlg_host *h)
{
  fprintf(out, "host      %s, %s%s%s, %d of %d cores, governor %s, isolated %s, clock %s, load %s%s\n", h->kernel,
          h->cpu_model[0] ? h->cpu_model : h->machine, h->hypervisor[0] ? ", virtual machine" : "",
          h->realtime_kernel ? ", PREEMPT_RT" : "", h->cpus_allowed, h->cpus_online,
          h->governor[0] ? h->governor : "not told", h->isolated[0] ? h->isolated : "none",
          h->clocksource[0] ? h->clocksource : "not told", h->load[0] ? h->load : "not told",
          h->rt_runtime_us > 0 && h->rt_runtime_us < 1000000 ? ", real-time threads limited" : "");
}

static void text_measured(FILE *out, const struct replay_run *run)
{
  const struct tlg_pipeline_result *r = tlg_pipeline_result(run->pipeline);
  int s;

  if (isnan(r->slope_ppm)) {
    fprintf(out, "pace      not enough packets for a slope of the %s",
            r->air ? "source's clock against this host's" : "release error");
  } else {
    fprintf(out, "pace      %s slope %+.4f ppm over %.6g s, of the least error of each 100 ms ",
            r->air ? "source's clock against this host's:" : "release error", r->slope_ppm,
            (double)r->duration_ps * 1e-12);
    if (isnan(r->floor_slope_ppm)) {
      fputs("none: not enough for a slope", out);
    } else {
      fprintf(out, "%+.4f ppm", r->floor_slope_ppm);
    }
  }
  if (r->starved) {
    fprintf(out, "; the source came too late %" PRIu64 " times, by up to %.1f us", r->starved,
            (double)r->starved_ps * 1e-6);
  }
  fprintf(out, "\nqueues    high water %zu of %zu before resample, %zu of %zu before deliver\n",
          r->queue_resample.high_water, r->queue_resample.depth, r->queue_deliver.high_water, r->queue_deliver.depth);
  fputs("cpu       ms for each second of signal: ", out);
  report_cpu(out, r);
  fputs("\nswitches  voluntary/forced: ", out);
  for (s = 0; s < TLG_STAGES; s++) {
    fprintf(out, "%s%s %" PRIu64 "/%" PRIu64, s ? ", " : "", stage_names[s], r->stages[s].voluntary,
            r->stages[s].involuntary);
  }
  fputs("\nsteal     ", out);
  if (r->steal_us == INT64_MIN) {
    fputs("not told by this host", out);
  } else {
    fprintf(out, "%.0f ms during the run", (double)r->steal_us * 1e-3);
  }
  if (run->control.duration_ns) {
    fputs("; ", out);
    report_control(out, &run->control);
  }
  fputc('\n', out);
  text_host(out, &run->host);
}

void report_text(FILE *out, const struct replay_run *run)
{
  const struct tlg_pipeline_result *r = tlg_pipeline_result(run->pipeline);
  const struct tlg_pipeline_cfg *cfg = run->cfg;
  char rate_in[64], rate_out[64], lag[48];
  struct tlg_rate delay;
  struct tlg_trace_info info;
  size_t i;

  tlg_pipeline_delay(run->pipeline, &delay);
  tlg_pipeline_trace_info(run->pipeline, &info);
  snprintf(lag, sizeof lag, "%" PRIu64, delay.num);
  if (delay.den > 1) {
    snprintf(lag, sizeof lag, "%" PRIu64 "/%" PRIu64, delay.num, delay.den);
  }
  fprintf(out, "replayed  %s: %s to %s (%u/%u), %u taps, outputs lag by %s, kernel %s\n", run->source,
          tlg_rate_text(&cfg->rate_in, rate_in, sizeof rate_in),
          tlg_rate_text(&cfg->rate_out, rate_out, sizeof rate_out), (unsigned)info.up, (unsigned)info.down,
          (unsigned)info.taps, lag, tlg_cpu_name(tlg_pipeline_cpu(run->pipeline)));
  if (run->scenario) {
    fprintf(out, "chain     packets of %s, virtual clock: times, queues and losses of %s, seed %" PRIu64 "\n",
            run->packet_text, run->scenario->name[0] ? run->scenario->name : run->scenario_name,
            cfg->seed ? cfg->seed : run->scenario->seed);
  } else {
    fprintf(out, "chain     packets of %s, %s clock, queues of %u packets, a full one %s\n", run->packet_text,
            cfg->clock == TLG_CLOCK_VIRTUAL ? "virtual" : "real", (unsigned)info.queue,
            info.flags & TLG_TRACE_BLOCK ? "blocks" : "loses the packet");
  }
  if (run->live) {
    cli_live_text(out, run->live, r);
  }
  report_accounts(out, &r->accounts);
  if (run->scenario) {
    text_model(out, run);
  }
  for (i = 0; i < run->n_sinks; i++) {
    struct tlg_convert_counts counts;
    const uint64_t n = tlg_pipeline_sink_count(run->pipeline, i, &counts, NULL);

    fprintf(out, "sink      %s, %" PRIu64 " outputs", run->sinks[i], n);
    cli_sink_text(out, run->pipeline, i, n);
    if (counts.clipped) {
      fprintf(out, ", %" PRIu64 " components clipped", counts.clipped);
    }
    fputc('\n', out);
  }
  if (run->drained) {
    cli_drain_text(out, run->drained);
  }
  text_delays(out, run);
  if (cfg->clock == TLG_CLOCK_REAL) {
    text_measured(out, run);
  }
  if (run->trace_path) {
    fprintf(out, "trace     %s: the last %" PRIu64 " of %" PRIu64 " packets\n", run->trace_path,
            tlg_pipeline_trace_count(run->pipeline), r->accounts.packets);
  }
  if (run->has_radio) {
    cli_radio_summary(out, &run->radio, (double)r->wall_ns * 1e-9);
  }
  if (run->max_overruns != UINT64_MAX) {
    fprintf(out, "overruns  %" PRIu64 ", allowed %" PRIu64 ": %s\n", r->accounts.packets_dropped, run->max_overruns,
            r->accounts.packets_dropped > run->max_overruns ? "FAILED" : "passed");
  }
}

/* ---- JSON ------------------------------------------------------------------------------------------------------ */

static void set_count(json_t *object, const char *key, uint64_t n)
{
  json_object_set_new(object, key, json_integer((json_int_t)n));
}

static void set_text(json_t *object, const char *key, const char *text)
{
  json_object_set_new(object, key, text && *text ? json_string(text) : json_null());
}

static json_t *delays_json(const struct tlg_delays_summary *s)
{
  json_t *o = json_object();

  set_count(o, "count", s->count);
  set_count(o, "min_ps", s->min);
  set_count(o, "mean_ps", s->mean);
  set_count(o, "p50_ps", s->p50);
  set_count(o, "p90_ps", s->p90);
  set_count(o, "p99_ps", s->p99);
  set_count(o, "p99_9_ps", s->p999);
  set_count(o, "p99_99_ps", s->p9999);
  set_count(o, "max_ps", s->max);
  set_count(o, "max_at_ps", s->max_when);
  return o;
}

static json_t *accounts_json(const struct tlg_accounts *a, int has_model)
{
  json_t *o = json_object();

  set_count(o, "inputs", a->inputs);
  set_count(o, "processed", a->processed);
  set_count(o, "dropped", a->dropped);
  set_count(o, "missing", a->missing);
  set_count(o, "closed", a->closed);
  set_count(o, "gaps", a->gaps);
  set_count(o, "outputs", a->outputs);
  set_count(o, "end_position", a->end_position);
  set_count(o, "left_out", a->left_out);
  set_count(o, "tail", a->tail);
  set_count(o, "packets", a->packets);
  set_count(o, "packets_delivered", a->packets_delivered);
  set_count(o, "packets_dropped", a->packets_dropped);
  if (has_model) {
    set_count(o, "packets_unfinished", a->packets_unfinished);
  }
  set_count(o, "overruns_before_resample", a->overruns_receive);
  set_count(o, "overruns_before_deliver", a->overruns_resample);
  json_object_set_new(o, "balanced", json_boolean(a->balanced));
  return o;
}

static json_t *subframes_json(const struct tlg_framer_result *f)
{
  const uint64_t all = f->complete + f->incomplete;
  json_t *o = json_object();

  set_count(o, "complete", f->complete);
  set_count(o, "incomplete", f->incomplete);
  set_count(o, "above_deadline", f->late);
  json_object_set_new(o, "inside_percent",
                      all ? cli_number(100.0 * (double)(f->complete - f->late) / (double)all, 4) : json_null());
  json_object_set_new(o, "latency", delays_json(&f->latency));
  json_object_set_new(o, "beyond_own_length", delays_json(&f->beyond));
  return o;
}

static json_t *queue_json(const struct tlg_queue_result *q)
{
  json_t *o = json_object();

  set_count(o, "high_water", q->high_water);
  set_count(o, "sleeps", q->sleeps);
  return o;
}

static void real_clock_json(json_t *o, const struct replay_run *run)
{
  const struct tlg_pipeline_result *r = tlg_pipeline_result(run->pipeline);
  json_t *stages = json_object();
  int s;

  if (run->live) {
    static const char *const airs[] = {"", "clock", "arrival"};

    json_object_set_new(o, "source", cli_live_json(run->live));
    set_text(o, "air", airs[r->air]);
    json_object_set_new(o, "lost_clock", json_boolean(r->lost_clock));
    json_object_set_new(o, "arrived_hz", cli_number(r->arrived_hz, 1));
  }
  json_object_set_new(o, "slope_ppm", cli_number(r->slope_ppm, 6));
  json_object_set_new(o, "floor_slope_ppm", cli_number(r->floor_slope_ppm, 6));
  set_count(o, "starved", r->starved);
  set_count(o, "starved_max_ps", r->starved_ps);
  json_object_set_new(o, "queue_resample", queue_json(&r->queue_resample));
  json_object_set_new(o, "queue_deliver", queue_json(&r->queue_deliver));
  set_count(o, "wall_ns", r->wall_ns);
  for (s = 0; s < TLG_STAGES; s++) {
    const struct tlg_stage_result *t = &r->stages[s];
    json_t *stage = json_object();

    json_object_set_new(stage, "cpu_ms_per_s", cli_number(per_second(t->cpu_ns - t->spin_ns, r), 3));
    json_object_set_new(stage, "spin_ms_per_s", cli_number(per_second(t->spin_ns, r), 3));
    set_count(stage, "switches_voluntary", t->voluntary);
    set_count(stage, "switches_forced", t->involuntary);
    set_count(stage, "faults_minor", t->minor_faults);
    set_count(stage, "faults_major", t->major_faults);
    json_object_set_new(stage, "core", t->core < 0 ? json_null() : json_integer(t->core));
    json_object_set_new(stage, "fifo", json_boolean(t->fifo));
    json_object_set_new(stages, stage_names[s], stage);
  }
  json_object_set_new(o, "stages", stages);
  json_object_set_new(o, "steal_us", r->steal_us == INT64_MIN ? json_null() : json_integer((json_int_t)r->steal_us));
  if (run->control.duration_ns) {
    json_t *c = json_object();

    set_count(c, "duration_ns", run->control.duration_ns);
    set_count(c, "reads", run->control.reads);
    set_count(c, "largest_gap_ns", run->control.gap_ns);
    set_count(c, "largest_gap_at_ns", run->control.gap_when_ns);
    set_count(c, "gaps_10us", run->control.gaps_10us);
    set_count(c, "gaps_100us", run->control.gaps_100us);
    set_count(c, "gaps_1ms", run->control.gaps_1ms);
    set_count(c, "lost_ns", run->control.lost_ns);
    json_object_set_new(o, "spin_control", c);
  }
}

static json_t *found_json(const struct replay_run *run)
{
  const struct tlg_pipeline_result *r = tlg_pipeline_result(run->pipeline);
  const struct tlg_sim_result *m = tlg_pipeline_model(run->pipeline);
  json_t *o = json_object(), *lost = json_object();
  char verdict[1024];
  unsigned i;

  set_text(o, "verdict", model_verdict(run->scenario, m, verdict, sizeof verdict));
  json_object_set_new(o, "stable", json_boolean(m->stable));
  json_object_set_new(o, "overloaded", json_boolean(m->overloaded));
  json_object_set_new(o, "delays_are", json_string(m->stable ? "of a steady state" : "of this run only"));
  for (i = 0; i < r->n_lost; i++) {
    set_count(lost, r->lost[i].place, r->lost[i].packets);
  }
  json_object_set_new(o, "lost_at", lost);
  return o;
}

static json_t *scenario_json(const struct replay_run *run)
{
  const struct tlg_sim_scenario *s = run->scenario;
  json_t *o = json_object();

  set_text(o, "name", s->name);
  set_text(o, "asked_for", run->scenario_name);
  set_count(o, "seed", run->cfg->seed ? run->cfg->seed : s->seed);
  set_count(o, "warmup_packets", run->cfg->warmup_packets);
  return o;
}

json_t *report_measured(const struct replay_run *run)
{
  const struct tlg_pipeline_result *r = tlg_pipeline_result(run->pipeline);
  json_t *o = json_object(), *sinks = json_array();
  size_t i;

  json_object_set_new(o, "accounts", accounts_json(&r->accounts, run->scenario != NULL));
  if (run->scenario) {
    json_object_set_new(o, "model", found_json(run));
  }
  set_count(o, "duration_ps", r->duration_ps);
  set_count(o, "passes", r->passes);
  json_object_set_new(o, "interrupted", json_boolean(r->stopped));
  for (i = 0; i < run->n_sinks; i++) {
    struct tlg_convert_counts counts;
    json_t *sink = json_object();

    set_text(sink, "to", run->sinks[i]);
    set_count(sink, "outputs", tlg_pipeline_sink_count(run->pipeline, i, &counts, NULL));
    set_count(sink, "clipped", counts.clipped);
    cli_sink_json(sink, run->pipeline, i);
    json_array_append_new(sinks, sink);
  }
  json_object_set_new(o, "sinks", sinks);
  if (run->has_radio) {
    json_object_set_new(o, "radio", cli_radio_json(&run->radio));
  }
  if (run->drained) {
    json_object_set_new(o, "drained", cli_live_json(run->drained));
  }
  json_object_set_new(o, "packet", delays_json(&r->packet));
  json_object_set_new(o, "release", delays_json(&r->release));
  json_object_set_new(o, "wait_resample", delays_json(&r->wait_resample));
  json_object_set_new(o, "resample", delays_json(&r->service_resample));
  json_object_set_new(o, "wait_deliver", delays_json(&r->wait_deliver));
  json_object_set_new(o, "deliver", delays_json(&r->service_deliver));
  json_object_set_new(o, "subframes", r->has_framer ? subframes_json(&r->framer) : json_null());
  if (run->cfg->clock == TLG_CLOCK_REAL) {
    real_clock_json(o, run);
  }
  return o;
}

json_t *report_host(const struct replay_run *run)
{
  const struct tlg_host *h = &run->host;
  json_t *o = json_object();

  set_text(o, "kernel", h->kernel);
  set_text(o, "machine", h->machine);
  set_text(o, "cpu_model", h->cpu_model);
  json_object_set_new(o, "cpus_online", json_integer(h->cpus_online));
  json_object_set_new(o, "cpus_allowed", json_integer(h->cpus_allowed));
  set_text(o, "governor", h->governor);
  set_text(o, "isolated", h->isolated);
  set_text(o, "nohz_full", h->nohz_full);
  set_text(o, "clocksource", h->clocksource);
  set_text(o, "hypervisor", h->hypervisor);
  set_text(o, "load", h->load);
  json_object_set_new(o, "realtime_kernel", json_boolean(h->realtime_kernel));
  json_object_set_new(o, "rt_runtime_us",
                      h->rt_runtime_us == INT64_MIN ? json_null() : json_integer((json_int_t)h->rt_runtime_us));
  set_text(o, "resampler_kernel", tlg_cpu_name(tlg_pipeline_cpu(run->pipeline)));
  json_object_set_new(o, "memory_locked", json_boolean(tlg_pipeline_result(run->pipeline)->memory_locked));
  return o;
}

static json_t *source_json(const struct replay_run *run)
{
  const struct tlg_reader_info *info = run->info;
  json_t *o = json_object();

  set_text(o, "name", run->source);
  if (run->live) { /* what it counted stands under `measured` */
    set_text(o, "container", "live");
    set_text(o, "format", tlg_format_name(tlg_live_info(run->live)->format));
    return o;
  }
  set_text(o, "container", tlg_container_name(info->container));
  set_text(o, "format", tlg_format_name(info->format));
  json_object_set_new(o, "samples",
                      info->n_samples == UINT64_MAX ? json_null() : json_integer((json_int_t)info->n_samples));
  set_count(o, "missing", info->n_missing);
  set_count(o, "tail_bytes", info->tail_bytes);
  set_count(o, "clipped", run->in_counts.clipped);
  set_count(o, "non_finite", run->in_counts.non_finite);
  set_count(o, "full_scale", run->in_counts.full_scale);
  return o;
}

static json_t *settings_json(const struct replay_run *run, const struct tlg_trace_info *info)
{
  static const char *const gaps[] = {"mark", "zero", "close"};
  const struct tlg_pipeline_cfg *cfg = run->cfg;
  json_t *o = json_object(), *sizes = json_array();
  size_t i;

  for (i = 0; i < cfg->n_packets; i++) {
    json_array_append_new(sizes, json_integer((json_int_t)cfg->packets[i]));
  }
  json_object_set_new(o, "packet", sizes);
  set_text(o, "clock", cfg->clock == TLG_CLOCK_VIRTUAL ? "virtual" : "real");
  if (!run->scenario) { /* its threads have queues of their own */
    set_text(o, "overrun", info->flags & TLG_TRACE_BLOCK ? "block" : "drop");
  }
  set_text(o, "gaps", gaps[cfg->gaps]);
  json_object_set_new(o, "speed", cli_rate_json(&info->speed));
  set_count(o, "loop", cfg->loops);
  if (!run->scenario) {
    set_count(o, "queue", info->queue);
  }
  set_count(o, "subframe_outputs", info->subframe_length);
  set_count(o, "subframe_offset", info->subframe_offset);
  set_count(o, "deadline_ps", info->deadline_ps);
  set_count(o, "trace_packets", cfg->trace_packets);
  json_object_set_new(o, "max_overruns",
                      run->max_overruns == UINT64_MAX ? json_null() : json_integer((json_int_t)run->max_overruns));
  return o;
}

int report_json(FILE *out, const struct replay_run *run)
{
  json_t *root = json_object(), *resampler = json_object();
  struct tlg_trace_info info;
  struct tlg_rate delay;

  tlg_pipeline_trace_info(run->pipeline, &info);
  tlg_pipeline_delay(run->pipeline, &delay);
  json_object_set_new(root, "source", source_json(run));
  if (run->extra) {
    json_object_set_new(root, run->extra_name, run->extra);
  }
  json_object_set_new(root, "rate_in", cli_rate_json(&run->cfg->rate_in));
  json_object_set_new(root, "rate_out", cli_rate_json(&run->cfg->rate_out));
  json_object_set_new(resampler, "up", json_integer(info.up));
  json_object_set_new(resampler, "down", json_integer(info.down));
  json_object_set_new(resampler, "taps", json_integer(info.taps));
  json_object_set_new(resampler, "shift", json_integer(info.shift));
  json_object_set_new(resampler, "align", json_boolean(run->align));
  json_object_set_new(resampler, "flush", json_boolean(run->flush));
  json_object_set_new(resampler, "delay_outputs",
                      json_pack("{s:I,s:I}", "num", (json_int_t)delay.num, "den", (json_int_t)delay.den));
  json_object_set_new(root, "resampler", resampler);
  json_object_set_new(root, "settings", settings_json(run, &info));
  if (run->scenario) {
    json_object_set_new(root, "scenario", scenario_json(run));
  }
  json_object_set_new(root, "measured", report_measured(run));
  if (run->cfg->clock == TLG_CLOCK_REAL) { /* on the virtual clock every byte repeats, on any host */
    json_object_set_new(root, "host", report_host(run));
  }
  return cli_print_json(run->command, root, out);
}
