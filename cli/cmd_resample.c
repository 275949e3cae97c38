/* SPDX-License-Identifier: Apache-2.0 */
/* taplag resample: a recording through the resampler into another, as fast as possible. */
#include "cli.h"
#include "names.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Outputs of 256 KiB: files take so much at once with less work than smaller pieces. */
#define PAGES 65536
/* Input samples handled at once: with PAGES and their own outputs they stay in a core's second-level cache. */
#define BLOCK 16384
#define PAGE_BYTES 4096
#define TELL_EVERY ((uint64_t)1 << 18)

enum gaps { GAPS_MARK, GAPS_ZERO, GAPS_CLOSE };

static struct {
  char *to, *output, *out_format, *gaps;
  int force, json;
} options;

static const struct poptOption table[] = {
    {"to", 0, POPT_ARG_STRING, &options.to, 0, "another name of --out-rate, as --from is of --rate", "RATE"},
    {"output", 'o', POPT_ARG_STRING, &options.output, 0, "output file; - is stdout", "FILE"},
    {"out-format", 0, POPT_ARG_STRING, &options.out_format, 0,
     "sample format of the output (by suffix, else cs16): cs16 cf32 cf64 cs8 cu8 cs32", "FORMAT"},
    {"gaps", 0, POPT_ARG_STRING, &options.gaps, 0,
     "mark: leave a gap's outputs out and mark it (default); zero: emit them; close: join", "HOW"},
    {"force", 0, POPT_ARG_NONE, &options.force, 0, "overwrite an existing output", NULL},
    {"json", 0, POPT_ARG_NONE, &options.json, 0, "the summary as JSON", NULL},
    CLI_INPUT_OPTIONS,
    CLI_RESAMPLER_OPTIONS,
    POPT_TABLEEND,
};

static const char description[] =
    "IN and OUT are raw samples, SigMF (.sigmf-meta, .sigmf), WAV, RF64, W64, AU or FLAC; - is stdin or stdout.\n"
    "  taplag resample a.cs16 --format cs16 --from 25M --to 30.72M --align -o b.cs16\n";

/* The whole run: objects, and where every sample went. */
struct run {
  const char *command, *in_path, *out_path;
  enum gaps gaps;
  struct tlg_reader *reader;
  struct tlg_writer *writer;
  struct tlg_resamp *resamp;
  struct tlg_rate rate_in, rate_out;
  tlg_cs16 *in, *out;
  size_t out_room;    /* outputs that one block may give */
  size_t held;        /* outputs in out that are not written yet */
  int whole_pages;    /* write in multiples of PAGES: files take those with less work; pipes must not wait */
  uint64_t processed; /* inputs that were read */
  uint64_t dropped;   /* inputs that are missing (gaps that were marked) */
  uint64_t filled;    /* zeros fed in place of missing inputs */
  uint64_t closed;    /* missing inputs that were passed over as if they had never been */
  uint64_t written, left_out;
  uint64_t n_gaps;
};

/* Write what is held, all of it or in whole pages. */
static int write_held(struct run *run, int all, struct tlg_error *err)
{
  const size_t n = all || !run->whole_pages ? run->held : run->held / PAGES * PAGES;

  if (!n) {
    return TLG_OK;
  }
  run->held -= n;
  run->written += n;
  if (tlg_writer_write(run->writer, run->out, n, err)) {
    return err->status;
  }
  memmove(run->out, run->out + n, run->held * sizeof *run->out);
  return TLG_OK;
}

static int feed(struct run *run, const tlg_cs16 *in, size_t n, struct tlg_error *err)
{
  size_t got = 0;
  const int status = tlg_resamp_process(run->resamp, in, n, run->out + run->held, run->out_room, &got);

  if (status) {
    return tlg_error_set(err, status, "the resampler refused a block: %s", tlg_status_text(status));
  }
  run->held += got;
  return write_held(run, 0, err);
}

static int feed_zeros(struct run *run, uint64_t n, struct tlg_error *err)
{
  static const tlg_cs16 zeros[BLOCK];
  int status = TLG_OK;

  while (n && status == TLG_OK && !cli_stop) {
    const size_t m = n < BLOCK ? (size_t)n : BLOCK;

    status = feed(run, zeros, m, err);
    run->filled += m;
    n -= m;
  }
  return status;
}

/* d inputs are missing before the next one. */
static int gap(struct run *run, uint64_t d, struct tlg_error *err)
{
  uint64_t skipped = 0;
  int status;

  run->n_gaps++;
  switch (run->gaps) {
  case GAPS_ZERO:
    return feed_zeros(run, d, err);
  case GAPS_CLOSE:
    run->closed += d;
    return TLG_OK;
  case GAPS_MARK:
    break;
  }
  status = write_held(run, 1, err);
  if (status) {
    return status;
  }
  status = tlg_resamp_skip(run->resamp, d, &skipped);
  if (status) {
    return tlg_error_set(err, status, "a gap of %" PRIu64 " sample%s cannot be passed over", d, cli_plural(d));
  }
  run->dropped += d;
  run->left_out += skipped;
  return tlg_writer_gap(run->writer, skipped, err);
}

static int flush(struct run *run, struct tlg_error *err)
{
  size_t got;
  int status;

  do {
    got = 0;
    status = tlg_resamp_flush(run->resamp, run->out + run->held, run->out_room, &got);
    if (status) {
      return tlg_error_set(err, status, "the resampler could not be flushed: %s", tlg_status_text(status));
    }
    run->held += got;
    status = write_held(run, 0, err);
  } while (got && status == TLG_OK);
  return status;
}

/* The captures' frequencies go along: a new one begins with the first output that the new capture's input completes. */
static int follow_captures(struct run *run, size_t *next, uint64_t first, struct tlg_error *err)
{
  const struct tlg_reader_info *info = tlg_reader_info(run->reader);
  int status = TLG_OK;

  while (*next < info->n_captures && info->captures[*next].first <= first && status == TLG_OK) {
    const double now = info->captures[*next].frequency_hz, before = info->captures[*next - 1].frequency_hz;

    if (now != before && !(isnan(now) && isnan(before))) {
      status = write_held(run, 1, err);
      status = status ? status : tlg_writer_retune(run->writer, now, err);
    }
    (*next)++;
  }
  return status;
}

/* Everything from the reader to the writer. *source is 1 if the error is the input's. */
static int stream(struct run *run, int *source, struct tlg_error *err)
{
  const uint64_t total = tlg_reader_info(run->reader)->n_samples;
  uint64_t position = 0, first = 0, told = 0;
  size_t next_capture = 1, got;
  int status;

  while (!cli_stop) {
    *source = 1;
    status = tlg_reader_read(run->reader, run->in, BLOCK, &got, &first, err);
    if (status == TLG_EINTR) {
      continue; /* a pipe had nothing to give when a signal came */
    }
    if (status) {
      return status;
    }
    *source = 0;
    if (first > position) {
      status = gap(run, first - position, err);
      if (status) {
        return status;
      }
      if (cli_stop) { /* zeros may have been cut short: what follows would stand in the wrong place */
        break;
      }
      position = first;
    }
    if (!got) {
      break;
    }
    status = follow_captures(run, &next_capture, first, err);
    if (status == TLG_OK) {
      status = feed(run, run->in, got, err);
    }
    if (status) {
      return status;
    }
    run->processed += got;
    position = first + got;
    if (run->processed - told >= TELL_EVERY) { /* asking whether there is a terminal costs as much as a read */
      told = run->processed;
      cli_progress(run->command, told, total == UINT64_MAX ? 0 : total);
    }
  }
  status = cli_resampler.align || cli_resampler.flush ? flush(run, err) : TLG_OK;
  return status ? status : write_held(run, 1, err);
}

/* inputs = processed + dropped, outputs = end position - left out: returns 0 if not. */
static int adds_up(const struct run *run)
{
  uint64_t n_in, n_out;

  tlg_resamp_position(run->resamp, &n_in, &n_out);
  if (n_in == run->processed + run->dropped + run->filled && n_out == run->written + run->left_out) {
    return 1;
  }
  cli_say(run->command,
          "the counts do not add up: %" PRIu64 " inputs against %" PRIu64 " processed + %" PRIu64 " missing, %" PRIu64
          " outputs against %" PRIu64 " written + %" PRIu64 " left out; please report this",
          n_in, run->processed, run->dropped + run->filled, n_out, run->written, run->left_out);
  return 0;
}

static json_t *counts_json(const struct tlg_convert_counts *c)
{
  return json_pack("{s:I,s:I,s:I}", "clipped", (json_int_t)c->clipped, "non_finite", (json_int_t)c->non_finite,
                   "full_scale", (json_int_t)c->full_scale);
}

static int summary_json(const struct run *run, const struct tlg_convert_counts *in,
                        const struct tlg_convert_counts *out, enum tlg_format out_format, FILE *to)
{
  const struct tlg_reader_info *info = tlg_reader_info(run->reader);
  json_t *root = json_object(), *input = json_object(), *output = json_object(), *how = json_object();
  struct tlg_rate delay = {0, 1};
  uint32_t up = 0, down = 0;

  tlg_resamp_ratio(run->resamp, &up, &down);
  tlg_resamp_delay(run->resamp, &delay);
  json_object_set_new(input, "format", json_string(tlg_format_name(info->format)));
  json_object_set_new(input, "rate", cli_rate_json(&run->rate_in));
  json_object_set_new(input, "processed", json_integer((json_int_t)run->processed));
  json_object_set_new(input, "dropped", json_integer((json_int_t)run->dropped));
  json_object_set_new(input, "zeros", json_integer((json_int_t)run->filled));
  json_object_set_new(input, "closed", json_integer((json_int_t)run->closed));
  json_object_set_new(input, "gaps", json_integer((json_int_t)run->n_gaps));
  json_object_set_new(input, "tail_bytes", json_integer(info->tail_bytes));
  json_object_set_new(input, "counts", counts_json(in));
  json_object_set_new(output, "format", json_string(tlg_format_name(out_format)));
  json_object_set_new(output, "rate", cli_rate_json(&run->rate_out));
  json_object_set_new(output, "written", json_integer((json_int_t)run->written));
  json_object_set_new(output, "left_out", json_integer((json_int_t)run->left_out));
  json_object_set_new(output, "counts", counts_json(out));
  json_object_set_new(how, "up", json_integer(up));
  json_object_set_new(how, "down", json_integer(down));
  json_object_set_new(how, "align", json_boolean(cli_resampler.align));
  json_object_set_new(how, "delay_outputs",
                      json_pack("{s:I,s:I}", "num", (json_int_t)delay.num, "den", (json_int_t)delay.den));
  json_object_set_new(root, "input", input);
  json_object_set_new(root, "output", output);
  json_object_set_new(root, "resampler", how);
  json_object_set_new(root, "interrupted", json_boolean(cli_stop != 0));
  json_object_set_new(root, "host", json_pack("{s:s}", "kernel", tlg_cpu_name(tlg_resamp_cpu(run->resamp))));
  return cli_print_json(run->command, root, to);
}

static void summary_text(const struct run *run, const struct tlg_convert_counts *in,
                         const struct tlg_convert_counts *out, FILE *to)
{
  char rate_in[64], rate_out[64];
  struct tlg_rate delay = {0, 1};
  uint32_t up = 0, down = 0;

  tlg_resamp_ratio(run->resamp, &up, &down);
  tlg_resamp_delay(run->resamp, &delay);
  fprintf(to, "inputs    %" PRIu64 " processed", run->processed);
  if (run->n_gaps) {
    fprintf(to, " + %" PRIu64 " %s in %" PRIu64 " gap%s", run->dropped + run->filled + run->closed,
            run->gaps == GAPS_MARK   ? "missing"
            : run->gaps == GAPS_ZERO ? "zeros fed"
                                     : "joined over",
            run->n_gaps, cli_plural(run->n_gaps));
  }
  fprintf(to, " at %s\n", tlg_rate_text(&run->rate_in, rate_in, sizeof rate_in));
  fprintf(to, "outputs   %" PRIu64 " written", run->written);
  if (run->left_out) {
    fprintf(to, " + %" PRIu64 " left out", run->left_out);
  }
  fprintf(to, " at %s\n", tlg_rate_text(&run->rate_out, rate_out, sizeof rate_out));
  fprintf(to, "resampler %" PRIu32 "/%" PRIu32 ", outputs lag by %" PRIu64 "/%" PRIu64 " samples, kernel %s\n", up,
          down, delay.num, delay.den, tlg_cpu_name(tlg_resamp_cpu(run->resamp)));
  if (in->clipped || in->non_finite || in->full_scale) {
    fprintf(to, "input     %" PRIu64 " component%s clipped, %" PRIu64 " not finite, %" PRIu64 " at full scale\n",
            in->clipped, cli_plural(in->clipped), in->non_finite, in->full_scale);
  }
  if (out->clipped || out->full_scale) {
    fprintf(to, "output    %" PRIu64 " component%s clipped, %" PRIu64 " at full scale\n", out->clipped,
            cli_plural(out->clipped), out->full_scale);
  }
}

static void tell_gaps(const struct run *run)
{
  if (run->closed) {
    cli_say(run->command, "%s: joined over %" PRIu64 " missing sample%s in %" PRIu64 " gap%s: the output jumps there",
            run->in_path, run->closed, cli_plural(run->closed), run->n_gaps, cli_plural(run->n_gaps));
  }
  if (run->left_out && !tlg_writer_marks_gaps(run->writer)) {
    cli_say(run->command,
            "%s: outputs of gaps (%" PRIu64
            ") are left out, and this kind of file cannot mark where; write SigMF, or take --gaps zero",
            run->out_path, run->left_out);
  }
}

/* While core:sha512 is checked. */
static int progress(void *unused, uint64_t done, uint64_t total)
{
  (void)unused;
  cli_progress("resample", done, total);
  return cli_stop;
}

/* Samples at a page's start, so that the kernel copies whole pages. */
static tlg_cs16 *page_alloc(size_t n)
{
  return aligned_alloc(PAGE_BYTES, (n * sizeof(tlg_cs16) + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES);
}

/* The outputs that surely come: those of gaps may be left out. */
static uint64_t expected(const struct tlg_reader_info *info, uint32_t up, uint32_t down)
{
  const unsigned __int128 n = (unsigned __int128)info->n_samples * up / down;

  return info->n_samples == UINT64_MAX || n < info->n_captures ? 0 : (uint64_t)n - info->n_captures;
}

static int open_all(struct run *run, struct tlg_taps *taps)
{
  const int to_stdout = strcmp(run->out_path, "-") == 0;
  struct tlg_error err = {0};
  struct tlg_reader_cfg in;
  struct tlg_writer_cfg out = {0};
  struct tlg_resamp_cfg cfg;
  const struct tlg_reader_info *info;
  int status;

  if ((status = cli_input_cfg(run->command, run->in_path, &in)) ||
      (status = cli_format(run->command, "--out-format", options.out_format, &out.format))) {
    return status;
  }
  in.progress = progress;
  if (tlg_reader_open(&run->reader, run->in_path, &in, &err)) {
    return cli_fail(run->command, run->in_path, &err);
  }
  info = tlg_reader_info(run->reader);
  if (!info->rate.num) {
    return cli_usage(run->command, "%s: nothing tells the rate; give --rate (or --from)", run->in_path);
  }
  run->rate_in = info->rate;
  run->whole_pages = info->seekable && !to_stdout;
  status = cli_resampler_cfg(run->command, &run->rate_in, taps, &cfg, &run->rate_out);
  if (status) {
    return status;
  }
  cfg.max_block = BLOCK;
  if (tlg_resamp_new(&run->resamp, &cfg, &err)) {
    return cli_fail(run->command, NULL, &err);
  }
  run->out_room = (size_t)((uint64_t)BLOCK * cfg.up / cfg.down) + 2;
  run->in = page_alloc(BLOCK);
  run->out = page_alloc(run->out_room + PAGES);
  if (!run->in || !run->out) {
    tlg_error_set(&err, TLG_ENOMEM, "out of memory");
    return cli_fail(run->command, NULL, &err);
  }
  if (to_stdout) {
    out.container = TLG_CONTAINER_RAW;
  }
  out.rate = run->rate_out;
  out.frequency_hz = info->frequency_hz;
  out.datetime = info->captures[0].first == 0 ? info->captures[0].datetime : NULL;
  out.force = options.force;
  out.expected = expected(info, cfg.up, cfg.down);
  if (tlg_writer_open(&run->writer, run->out_path, &out, &err)) {
    return cli_fail(run->command, NULL, &err);
  }
  return CLI_DONE;
}

/* An output that is the input, or the taps, is refused before anything is opened. */
static int name_files(struct cli_names *names, const char *in, const char *out)
{
  const char *const filter = cli_resampler.filter;
  int status;

  if ((status = cli_names_input(names, "", in, in)) || (status = cli_names_input(names, "--filter", filter, filter))) {
    return status;
  }
  return cli_names_output(names, "-o", out, out);
}

int cmd_resample(int argc, const char **argv)
{
  struct run run = {.command = argv[0], .gaps = GAPS_MARK};
  struct tlg_convert_counts in_counts = {0, 0, 0}, out_counts = {0, 0, 0};
  enum tlg_format out_format = TLG_FORMAT_CS16;
  struct cli_names names = {.command = argv[0]};
  struct tlg_taps taps = {0};
  struct tlg_error err = {0};
  struct cli_options o;
  FILE *results;
  int status = cli_options(&o, argv[0], argc, argv, table, description, 1, 1), source = 0;

  if (status >= 0) {
    return status;
  }
  run.in_path = o.args[0];
  if (!options.output) {
    status = cli_usage(run.command, "no output is named; give -o FILE (- is stdout)");
    goto end;
  }
  if (options.to && cli_resampler.out_rate) {
    status = cli_usage(run.command, "--to and --out-rate are the same option; give one");
    goto end;
  }
  if (options.to) {
    cli_resampler.out_rate = options.to;
  }
  if (!options.gaps || strcmp(options.gaps, "mark") == 0) {
    run.gaps = GAPS_MARK;
  } else if (strcmp(options.gaps, "zero") == 0) {
    run.gaps = GAPS_ZERO;
  } else if (strcmp(options.gaps, "close") == 0) {
    run.gaps = GAPS_CLOSE;
  } else {
    status = cli_usage(run.command, "--gaps %s: one of mark, zero, close", options.gaps);
    goto end;
  }
  run.out_path = options.output;
  if (strcmp(run.out_path, "-") == 0 && isatty(STDOUT_FILENO)) {
    status = cli_usage(run.command, "samples would go to the terminal; redirect stdout, or name a file with -o");
    goto end;
  }
  status = name_files(&names, run.in_path, run.out_path);
  if (status) {
    goto end;
  }
  results = cli_results(names.stdout_taken);
  cli_catch_signals();
  status = open_all(&run, &taps);
  if (status) {
    goto end;
  }
  if (stream(&run, &source, &err)) {
    status = cli_fail(run.command, source ? run.in_path : NULL, &err);
    goto end;
  }
  cli_progress(run.command, 1, 1);
  if (run.processed == 0) {
    cli_say(run.command, "%s: no samples came", run.in_path);
  }
  tlg_reader_counts(run.reader, &in_counts);
  tell_gaps(&run);
  out_format = tlg_writer_format(run.writer);
  tlg_writer_counts(run.writer, &out_counts);
  if (tlg_writer_close(run.writer, &err)) {
    run.writer = NULL;
    status = cli_fail(run.command, NULL, &err);
    goto end;
  }
  run.writer = NULL;
  if (!adds_up(&run)) {
    status = CLI_CHECK_FAILED;
  }
  if (options.json) {
    if (summary_json(&run, &in_counts, &out_counts, out_format, results)) {
      status = CLI_SYSTEM;
    }
  } else {
    summary_text(&run, &in_counts, &out_counts, results);
  }
  status = cli_finish(run.command, results, status);
end:
  tlg_writer_abort(run.writer);
  tlg_resamp_free(run.resamp);
  tlg_reader_close(run.reader);
  tlg_taps_free(&taps);
  cli_names_free(&names);
  free(run.in);
  free(run.out);
  cli_options_free(&o);
  return cli_exit_stopped(status);
}
