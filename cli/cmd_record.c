/* SPDX-License-Identifier: Apache-2.0 */
/* taplag record: a live source into a file, as it comes or resampled, what was lost marked. */
#include "live_cli.h"
#include "names.h"
#include "radio_options.h"
#include "replay_report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static struct {
  char *output, *out_format, *duration, *gaps, *overrun, *packet, *queue, *read_ahead, *max_lost, *description;
  int force, json, progress;
} options;

static const struct poptOption table[] = {
    {"output", 'o', POPT_ARG_STRING, &options.output, 0, "output file; - is stdout", "FILE"},
    {"out-format", 0, POPT_ARG_STRING, &options.out_format, 0,
     "sample format of the output (by suffix, else cs16): cs16 cf32 cf64 cs8 cu8 cs32", "FORMAT"},
    {"duration", 0, POPT_ARG_STRING, &options.duration, 0, "end after so much of the stream, what was lost included",
     "TIME"},
    {"gaps", 0, POPT_ARG_STRING, &options.gaps, 0,
     "what was lost; mark: leave it out and mark it (default; only SigMF can); zero: fill it with zeros; close: join",
     "HOW"},
    {"max-lost", 0, POPT_ARG_STRING, &options.max_lost, 0, "more lost samples than this: exit status 1", "N"},
    {"overrun", 0, POPT_ARG_STRING, &options.overrun, 0,
     "when the disk is slower than the source: block (default; the source's own buffer then overflows, if it must) or "
     "drop",
     "POLICY"},
    {"packet", 'p', POPT_ARG_STRING, &options.packet, 0, "samples handled at once (as they come)", "N"},
    {"queue", 0, POPT_ARG_STRING, &options.queue, 0, "packets each queue holds (4096, fewer if they are large)", "N"},
    {"read-ahead", 0, POPT_ARG_STRING, &options.read_ahead, 0, "samples that wait between the source and the rest (8M)",
     "N"},
    {"description", 0, POPT_ARG_STRING, &options.description, 0, "core:description of a SigMF recording", "TEXT"},
    {"progress", 0, POPT_ARG_NONE, &options.progress, 0, "say once a second what came", NULL},
    {"force", 0, POPT_ARG_NONE, &options.force, 0, "overwrite an existing output, and a FILE.part", NULL},
    {"json", 0, POPT_ARG_NONE, &options.json, 0, "the results as JSON", NULL},
    CLI_INPUT_OPTIONS,
    CLI_RESAMPLER_OPTIONS,
    CLI_RADIO_OPTIONS,
    POPT_TABLEEND,
};

static const char description[] =
    "SOURCE is srsran:ENDPOINT, zmq:ENDPOINT, udp:..., unix:..., shm:..., uhd:..., - (stdin), a named pipe, or a "
    "file.\n"
    "The output has the source's rate unless --out-rate is given. Until the end it is FILE.part, which stays if the\n"
    "program is killed; Ctrl-C ends with a complete file.\n"
    "  taplag record srsran:tcp://127.0.0.1:2001 --rate 30.72M --out-rate 25M -o tx.sigmf-meta\n";

struct record {
  struct cli_options o;
  const char *command, *path;
  struct tlg_live *live;
  struct tlg_reader *reader;
  struct tlg_writer *writer; /* NULL once it is closed or aborted */
  struct tlg_taps taps;
  struct tlg_resamp_cfg resamp;
  struct tlg_pipeline_cfg cfg;
  struct tlg_pipeline *pipeline;
  struct tlg_sink *sink;
  struct replay_run run;
  struct cli_names names;
  struct cli_live_told told;
  struct cli_letters letters;
  char rate_text[64], datetime[40];
  uint32_t packet;
  uint64_t max_lost, written, begun_ms, told_ms, told_samples;
  struct tlg_convert_counts counts; /* of the writing */
  enum tlg_format format;           /* that is written */
  int begun;
};

/* ---- where the samples come from ----------------------------------------------------------------------------- */

/* A plain recording or pipe is read as fast as it gives. */
static int open_reader(struct record *r)
{
  struct tlg_error err = {0};
  struct tlg_reader_cfg in;
  const struct tlg_reader_info *info;
  int status = cli_input_cfg(r->command, r->path, &in);

  if (status) {
    return status;
  }
  if (tlg_reader_open(&r->reader, r->path, &in, &err)) {
    return cli_fail(r->command, r->path, &err);
  }
  info = tlg_reader_info(r->reader);
  if (!info->rate.num) {
    return cli_usage(r->command, "%s: nothing tells the rate; give --rate", r->path);
  }
  r->run.info = info;
  r->cfg.rate_in = info->rate;
  r->cfg.captures = info->captures;
  r->cfg.n_captures = info->n_captures;
  r->cfg.source = tlg_source_reader(r->reader);
  r->cfg.source.live = 1;
  r->cfg.source.chunk = 16384;
  snprintf(r->datetime, sizeof r->datetime, "%s", info->captures[0].datetime);
  return 0;
}

static int open_live(struct record *r)
{
  const int status = cli_live_open(r->command, r->path, &r->live);

  if (!status) {
    r->run.live = r->live;
    r->cfg.rate_in = tlg_live_info(r->live)->rate;
    r->cfg.source = tlg_live_source(r->live);
  }
  return status;
}

/* ---- where they go ------------------------------------------------------------------------------------------- */

/* The time of the first sample, if the source does not state it: now, less what came. */
static void host_time(struct record *r, size_t n)
{
  struct timespec now;
  struct tm tm;
  char text[24];
  double length = (double)n / tlg_rate_hz(&r->cfg.rate_out);
  int64_t ns;

  clock_gettime(CLOCK_REALTIME, &now);
  ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec - (int64_t)(length * 1e9);
  now.tv_sec = (time_t)(ns / 1000000000);
  gmtime_r(&now.tv_sec, &tm);
  strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm);
  snprintf(r->datetime, sizeof r->datetime, "%s.%06uZ", text, (unsigned)(ns / 1000 % 1000000) % 1000000u);
}

static int take(void *context, const struct tlg_sink_block *block, struct tlg_error *err)
{
  struct record *r = context;
  int status;

  if (!r->begun) {
    r->begun = 1;
    if (r->live && tlg_live_info(r->live)->datetime[0]) {
      snprintf(r->datetime, sizeof r->datetime, "%s", tlg_live_info(r->live)->datetime);
    } else if (!r->datetime[0] && !(r->reader && tlg_reader_info(r->reader)->seekable)) {
      host_time(r, block->n);
    }
    tlg_writer_datetime(r->writer, r->datetime);
  }
  if ((block->gap && (status = tlg_writer_gap(r->writer, block->gap, err))) ||
      (block->frequency_hz && (status = tlg_writer_retune(r->writer, *block->frequency_hz, err))) ||
      (block->n && (status = tlg_writer_write(r->writer, block->samples, block->n, err)))) {
    return status;
  }
  r->written += block->n;
  return TLG_OK;
}

/* What is wrong with the output is said before anybody is waited for: a stream cannot be had again. */
static int check_output(struct record *r)
{
  struct tlg_writer_cfg cfg = {.force = options.force, .keep_part = 1};
  struct tlg_error err = {0};
  int status = cli_format(r->command, "--out-format", options.out_format, &cfg.format);

  if (!status && tlg_writer_check(options.output, &cfg, &err)) {
    status = cli_fail(r->command, err.status == TLG_EINVAL ? options.output : NULL, &err);
  }
  return status;
}

static int open_output(struct record *r)
{
  struct tlg_writer_cfg cfg = {.rate = r->cfg.rate_out,
                               .force = options.force,
                               .keep_part = 1,
                               .description = options.description,
                               .datetime = r->datetime,
                               .frequency_hz = r->live ? tlg_live_info(r->live)->frequency_hz
                                                       : tlg_reader_info(r->reader)->frequency_hz};
  struct tlg_error err = {0};
  int status = cli_format(r->command, "--out-format", options.out_format, &cfg.format);

  if (status) {
    return status;
  }
  if (tlg_writer_open(&r->writer, options.output, &cfg, &err)) {
    return cli_fail(r->command, err.status == TLG_EINVAL ? options.output : NULL, &err);
  }
  r->format = tlg_writer_format(r->writer);
  if (tlg_sink_callback(&r->sink, take, r) != TLG_OK) {
    cli_say(r->command, "out of memory");
    return CLI_SYSTEM;
  }
  r->cfg.sinks = &r->sink;
  r->cfg.n_sinks = 1;
  r->run.sinks = (const char **)&options.output;
  r->run.n_sinks = 1;
  return 0;
}

/* ---- options ------------------------------------------------------------------------------------------------- */

static int word(const char *command, const char *option, const char *text, const char *const *words, int *value)
{
  int i;

  for (i = 0; text && words[i]; i++) {
    if (strcmp(text, words[i]) == 0) {
      *value = i;
      return 0;
    }
  }
  return text ? cli_usage(command, "%s %s: one of %s, %s%s%s", option, text, words[0], words[1], words[2] ? ", " : "",
                          words[2] ? words[2] : "")
              : 0;
}

static int read_options(struct record *r)
{
  static const char *const overruns[] = {"block", "drop", NULL}, *const gaps[] = {"mark", "zero", "close", NULL};
  uint64_t packet = 0, queue = 0, ahead = 0;
  int overrun = 0, gap = 0, status;

  r->max_lost = UINT64_MAX;
  if (!options.output) {
    return cli_usage(r->command, "-o FILE is missing: where should it go?");
  }
  if ((status = word(r->command, "--overrun", options.overrun, overruns, &overrun)) ||
      (status = word(r->command, "--gaps", options.gaps, gaps, &gap)) ||
      (status = cli_whole(r->command, "--packet", options.packet, 1, 1 << 22, &packet)) ||
      (status = cli_whole(r->command, "--queue", options.queue, 1, 1 << 20, &queue)) ||
      (status = cli_whole(r->command, "--read-ahead", options.read_ahead, 1, (uint64_t)1 << 32, &ahead)) ||
      (status = cli_count(r->command, "--max-lost", options.max_lost, &r->max_lost))) {
    return status;
  }
  r->packet = (uint32_t)packet;
  r->cfg.packets = &r->packet;
  r->cfg.n_packets = packet != 0;
  r->cfg.queue = (size_t)queue;
  r->cfg.read_ahead = (size_t)ahead;
  r->cfg.overrun = overrun ? TLG_OVERRUN_DROP : TLG_OVERRUN_BLOCK;
  r->cfg.gaps = (enum tlg_gaps)gap;
  r->cfg.loops = 1;
  r->run.max_overruns = UINT64_MAX;
  return 0;
}

static int settle_rates(struct record *r)
{
  uint64_t nsamps = 0;
  int status;

  if (!cli_resampler.out_rate) { /* as it comes */
    snprintf(r->rate_text, sizeof r->rate_text, "%" PRIu64 "/%" PRIu64, r->cfg.rate_in.num, r->cfg.rate_in.den);
    cli_resampler.out_rate = r->rate_text;
  }
  if ((status = cli_duration(r->command, "--duration", options.duration, &r->cfg.rate_in, &r->cfg.max_samples)) ||
      (status = cli_resampler_cfg(r->command, &r->cfg.rate_in, &r->taps, &r->resamp, &r->cfg.rate_out))) {
    return status;
  }
  if (options.duration && !r->cfg.max_samples) {
    return cli_usage(r->command, "--duration %s: not a single sample long", options.duration);
  }
  if ((status = cli_radio_nsamps(r->command, &nsamps))) {
    return status;
  }
  if (nsamps && (!r->cfg.max_samples || nsamps < r->cfg.max_samples)) {
    r->cfg.max_samples = nsamps;
  }
  r->cfg.resamp = &r->resamp;
  r->cfg.flush = cli_resampler.flush;
  return 0;
}

/* ---- running --------------------------------------------------------------------------------------------------- */

static void tell_progress(struct record *r, uint64_t samples)
{
  uint64_t now_ms;

  if (!options.progress) {
    if (!r->letters.n) {
      cli_progress(r->command, samples, r->cfg.max_samples > samples ? r->cfg.max_samples : 0);
    }
    return;
  }
  now_ms = cli_now_ns() / 1000000;
  if (!r->begun_ms) {
    r->begun_ms = r->told_ms = now_ms;
  } else if (now_ms - r->told_ms >= 1000) {
    cli_letters_end(&r->letters);
    cli_say(r->command, "%.4f Msps, %.3f s of signal, %" PRIu64 " samples lost",
            (double)(samples - r->told_samples) / (double)(now_ms - r->told_ms) * 1e-3,
            (double)samples / tlg_rate_hz(&r->cfg.rate_in),
            r->live ? tlg_live_count(r->live, TLG_LIVE_LOST_SAMPLES) : 0);
    r->told_ms = now_ms;
    r->told_samples = samples;
  }
}

static int on_event(void *context, const struct tlg_event *event)
{
  struct record *r = context;

  switch (event->kind) {
  case TLG_EVENT_OVERRUN:
    cli_letters(&r->letters, 'O', event->n);
    break;
  case TLG_EVENT_WARNING:
    cli_letters_end(&r->letters);
    cli_say(r->command, "%s", event->text);
    break;
  case TLG_EVENT_TICK:
    if (r->live) {
      cli_live_letters(r->live, &r->told, &r->letters);
    }
    tell_progress(r, event->samples);
    break;
  case TLG_EVENT_STARVED:
  case TLG_EVENT_GAP:
    break;
  }
  return cli_stop;
}

static void print_text(struct record *r, FILE *out)
{
  const struct tlg_pipeline_result *p = tlg_pipeline_result(r->pipeline);
  char rate_in[64], rate_out[64];

  tlg_rate_text(&r->cfg.rate_in, rate_in, sizeof rate_in);
  tlg_rate_text(&r->cfg.rate_out, rate_out, sizeof rate_out);
  if (r->resamp.up == r->resamp.down) {
    fprintf(out, "recorded  %s: %s, samples as they came\n", r->run.source, rate_in);
  } else {
    fprintf(out, "recorded  %s: %s to %s (%u/%u), %zu taps, kernel %s\n", r->run.source, rate_in, rate_out,
            (unsigned)r->resamp.up, (unsigned)r->resamp.down, r->taps.n, tlg_cpu_name(tlg_pipeline_cpu(r->pipeline)));
  }
  if (r->live) {
    cli_live_text(out, r->live, p);
  }
  report_accounts(out, &p->accounts);
  fprintf(out, "file      %s: %" PRIu64 " samples, %s", options.output, r->written, tlg_format_name(r->format));
  if (r->counts.clipped) {
    fprintf(out, ", %" PRIu64 " components clipped", r->counts.clipped);
  }
  if (r->datetime[0]) {
    fprintf(out, ", the first at %s", r->datetime);
  }
  fputs("\ncpu       ms for each second of signal: ", out);
  report_cpu(out, p);
  fprintf(out, "\nqueues    high water %zu of %zu before resample, %zu of %zu before the file\n",
          p->queue_resample.high_water, p->queue_resample.depth, p->queue_deliver.high_water, p->queue_deliver.depth);
  if (r->run.has_radio) {
    cli_radio_summary(out, &r->run.radio, (double)p->wall_ns * 1e-9);
  }
  if (r->max_lost != UINT64_MAX) {
    const uint64_t lost = p->accounts.missing + p->accounts.dropped;

    fprintf(out, "lost      %" PRIu64 " samples, allowed %" PRIu64 ": %s\n", lost, r->max_lost,
            lost > r->max_lost ? "FAILED" : "passed");
  }
}

static int print_json(struct record *r, FILE *out)
{
  json_t *file = json_object();

  json_object_set_new(file, "name", json_string(options.output));
  json_object_set_new(file, "format", json_string(tlg_format_name(r->format)));
  r->run.extra_name = "file";
  r->run.extra = file;
  return report_json(out, &r->run);
}

/* A pipe, a device or stdout has no FILE.part. */
static int is_through(const char *path)
{
  struct stat st;

  return strcmp(path, "-") == 0 || (stat(path, &st) == 0 && !S_ISREG(st.st_mode));
}

static int record(struct record *r)
{
  FILE *results = cli_results(r->names.stdout_taken);
  const struct tlg_accounts *a;
  struct tlg_error err = {0};
  int status, marks;

  r->cfg.event = on_event;
  r->cfg.context = r;
  status = tlg_pipeline_new(&r->pipeline, &r->cfg, &err);
  r->run.pipeline = r->pipeline;
  r->sink = NULL; /* the pipeline's now */
  if (status) {
    return cli_fail(r->command, NULL, &err);
  }
  tlg_host_read(&r->run.host, "");
  status = tlg_pipeline_run(r->pipeline, &err);
  a = &tlg_pipeline_result(r->pipeline)->accounts;
  cli_letters_end(&r->letters);
  cli_progress(r->command, 1, 1);
  if (status) {
    status = cli_fail(r->command, tlg_pipeline_result(r->pipeline)->source_failed ? r->path : NULL, &err);
    cli_say(r->command, "stopped after %" PRIu64 " samples; what came is in %s%s", r->written,
            is_through(options.output) ? "" : options.output, is_through(options.output) ? "the output" : ".part");
    return status;
  }
  if (r->live && cli_stop && !a->inputs) {
    cli_say(r->command, "%s: stopped while waiting for a sender", r->path);
    return cli_exit_stopped(CLI_DONE);
  }
  marks = tlg_writer_marks_gaps(r->writer);
  tlg_writer_counts(r->writer, &r->counts);
  status = tlg_writer_close(r->writer, &err);
  r->writer = NULL;
  if (status) {
    return cli_fail(r->command, NULL, &err);
  }
  if (r->reader) {
    tlg_reader_counts(r->reader, &r->run.in_counts);
  }
  if (a->left_out && !marks) {
    cli_say(r->command,
            "%s: %" PRIu64
            " samples that were lost are left out, and this kind of file cannot mark where; write SigMF, "
            "or take --gaps zero",
            options.output, a->left_out);
  }
  if (a->closed) {
    cli_say(r->command, "%" PRIu64 " missing samples were joined over: the output jumps there", a->closed);
  }
  if (!a->balanced) {
    cli_say(r->command, "the counts do not add up; please report this");
    status = CLI_CHECK_FAILED;
  }
  if (a->missing + a->dropped > r->max_lost) {
    cli_say(r->command, "%" PRIu64 " samples were lost, %" PRIu64 " allowed", a->missing + a->dropped, r->max_lost);
    status = CLI_CHECK_FAILED;
  }
  if (cli_is_radio(r->path)) {
    int judged;

    r->run.has_radio = 1;
    cli_radio_add_live(&r->run.radio, r->live);
    judged = cli_radio_verdict(r->command, &r->run.radio);
    status = status ? status : judged;
  }
  if (options.json) {
    status = print_json(r, results) && !status ? CLI_SYSTEM : status;
  } else {
    print_text(r, results);
  }
  return cli_finish(r->command, results, status);
}

int cmd_record(int argc, const char **argv)
{
  struct record r = {.command = argv[0]};
  int status = cli_options(&r.o, argv[0], argc, argv, table, description, 1, 1);

  if (status >= 0) {
    return status;
  }
  r.path = r.o.args[0];
  r.run.command = r.command;
  r.run.source = strcmp(r.path, "-") == 0 ? "(stdin)" : r.path;
  r.run.cfg = &r.cfg;
  r.names.command = r.command;
  cli_catch_signals();
  if (strncmp(r.path, "fifo:", 5) == 0) { /* as sinks are named */
    r.path += 5;
  }
  if (!(status = read_options(&r)) && (cli_is_radio(r.path) || !(status = cli_radio_unused(r.command))) &&
      (tlg_live_is(r.path) || !(status = cli_names_input(&r.names, "", r.path, r.path))) &&
      !(status = cli_names_input(&r.names, "--filter", cli_resampler.filter, cli_resampler.filter)) &&
      !(status = cli_names_output(&r.names, "--output", options.output, options.output)) &&
      !(status = check_output(&r)) && !(status = (tlg_live_is(r.path) ? open_live : open_reader)(&r)) &&
      !(status = settle_rates(&r))) {
    r.run.align = cli_resampler.align;
    r.run.flush = cli_resampler.flush;
    r.run.packet_text = options.packet ? options.packet : "what each read gave";
    if (!(status = open_output(&r))) {
      status = record(&r);
    }
  }
  tlg_pipeline_free(r.pipeline);
  tlg_sink_abort(r.sink);
  tlg_writer_abort(r.writer);
  tlg_reader_close(r.reader);
  tlg_live_close(r.live);
  cli_names_free(&r.names);
  tlg_taps_free(&r.taps);
  cli_options_free(&r.o);
  return cli_exit_stopped(status);
}
