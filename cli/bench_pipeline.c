/* SPDX-License-Identifier: Apache-2.0 */
/* taplag bench pipeline: the threaded pipeline at real-time pace, packet sizes side by side, with and without a trace.
 */
#include "bench.h"
#include "replay_report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NAME "bench"
enum { MOST_SIZES = 8, MOST_RUNS = 100, SIGNAL = 62500 };

static struct {
  char *seconds, *runs, *packet, *rate, *spin, *fifo;
  int pin, mlock, json;
} options;

static const struct poptOption table[] = {
    {"seconds", 's', POPT_ARG_STRING, &options.seconds, 0, "length of each run (1s)", "TIME"},
    {"runs", 'n', POPT_ARG_STRING, &options.runs, 0, "runs of each kind (3)", "N"},
    {"packet", 'p', POPT_ARG_STRING, &options.packet, 0, "packet sizes to compare, at most 8 (364,625)", "LIST"},
    {"rate", 'r', POPT_ARG_STRING, &options.rate, 0, "input rate (25M)", "RATE"},
    {"pin", 0, POPT_ARG_NONE, &options.pin, 0, "receive and deliver on one core, resample on another", NULL},
    {"fifo", 0, POPT_ARG_STRING, &options.fifo, 0, "SCHED_FIFO priority of the stages, 1 to 99", "PRIO"},
    {"mlock", 0, POPT_ARG_NONE, &options.mlock, 0, "lock memory", NULL},
    {"spin", 0, POPT_ARG_STRING, &options.spin, 0, "how long a waiting stage spins before it sleeps (1us)", "TIME"},
    {"json", 0, POPT_ARG_NONE, &options.json, 0, "the results as JSON", NULL},
    CLI_RESAMPLER_OPTIONS,
    POPT_TABLEEND,
};

static const char description[] = "Noise from memory goes through receive, resample and deliver to no sink, paced on "
                                  "the real clock; full queues lose\n"
                                  "packets. After each run a thread that only reads the clock shows what this host "
                                  "takes from any thread. At last the\n"
                                  "virtual clock: as fast as possible, every packet accounted for.\n"
                                  "  taplag bench pipeline --seconds 10 --runs 3\n";

struct one {
  struct tlg_pipeline_result result;
  struct tlg_spin_control control;
};

struct bench {
  uint32_t sizes[MOST_SIZES];
  size_t n_sizes;
  uint64_t runs, samples, fifo;
  double seconds;
  struct tlg_rate rate_in, rate_out;
  struct tlg_taps taps;
  struct tlg_resamp_cfg resamp;
  tlg_cs16 *signal;
  uint64_t spin_ns;
  enum tlg_cpu cpu;
  struct tlg_host host;
  struct one results[MOST_SIZES][2][MOST_RUNS]; /* by size, trace, run */
  uint64_t virtual_wall_ns[MOST_SIZES];
  struct tlg_accounts virtual_accounts[MOST_SIZES];
};

static int on_event(void *context, const struct tlg_event *event)
{
  (void)context;
  if (event->kind == TLG_EVENT_WARNING) {
    cli_say(NAME, "pipeline: %s", event->text);
  }
  return cli_stop;
}

static int run_once(struct bench *b, uint32_t size, int trace, enum tlg_clock_kind clock, struct one *one)
{
  struct tlg_memory_source memory = {.samples = b->signal, .n = SIGNAL};
  struct tlg_pipeline_cfg cfg = {.source = tlg_source_memory(&memory),
                                 .rate_in = b->rate_in,
                                 .rate_out = b->rate_out,
                                 .resamp = &b->resamp,
                                 .packets = &size,
                                 .n_packets = 1,
                                 .max_samples = b->samples,
                                 .clock = clock,
                                 .pin = options.pin,
                                 .fifo = (int)b->fifo,
                                 .lock_memory = options.mlock,
                                 .spin_ns = b->spin_ns,
                                 .trace_packets = trace ? (size_t)(b->samples / size + 2) : 0,
                                 .event = on_event};
  struct tlg_pipeline *p = NULL;
  struct tlg_error err = {0};
  int status = CLI_DONE;

  if (cfg.trace_packets > 1000000) {
    cfg.trace_packets = 1000000;
  }
  if (tlg_pipeline_new(&p, &cfg, &err) || tlg_pipeline_run(p, &err)) {
    status = cli_fail(NAME, NULL, &err);
  } else {
    one->result = *tlg_pipeline_result(p);
    b->cpu = tlg_pipeline_cpu(p);
    if (!one->result.accounts.balanced) {
      cli_say(NAME, "pipeline: the counts of a run do not add up; please report this");
      status = CLI_CHECK_FAILED;
    }
    if (clock == TLG_CLOCK_REAL && !cli_stop) {
      tlg_host_spin(&one->control, (uint64_t)(fmin(b->seconds, 1.0) * 5e8), &cli_stop);
    }
  }
  tlg_pipeline_free(p);
  return status;
}

/* ---- results -------------------------------------------------------------------------------------------------------
 */

static void heading(FILE *out)
{
  fprintf(out, "%6s %5s %3s %8s %9s %9s %9s %9s %8s %9s %9s %8s %9s\n", "packet", "trace", "run", "overruns", "p50",
          "p99", "p99.9", "max", "resample", "slope", "of least", "steal", "bare spin");
  fprintf(out, "%6s %5s %3s %8s %9s %9s %9s %9s %8s %9s %9s %8s %9s\n", "", "", "", "", "us", "us", "us", "us",
          "p50, us", "ppm", "ppm", "ms", "gap, us");
}

/* A column for a slope, which a short run has none of. */
static void slope(FILE *out, double ppm, int decimals)
{
  if (isnan(ppm)) {
    fprintf(out, "%9s ", "-");
  } else {
    fprintf(out, "%+9.*f ", decimals, ppm);
  }
}

static void row(FILE *out, uint32_t size, int trace, uint64_t run, const struct one *one)
{
  const struct tlg_pipeline_result *r = &one->result;

  fprintf(out, "%6u %5s %3" PRIu64 " %8" PRIu64 " %9.2f %9.2f %9.2f %9.2f %8.2f ", (unsigned)size, trace ? "on" : "off",
          run + 1, r->accounts.packets_dropped, (double)r->packet.p50 * 1e-6, (double)r->packet.p99 * 1e-6,
          (double)r->packet.p999 * 1e-6, (double)r->packet.max * 1e-6, (double)r->service_resample.p50 * 1e-6);
  slope(out, r->slope_ppm, 3);
  slope(out, r->floor_slope_ppm, 4);
  if (r->steal_us == INT64_MIN) {
    fprintf(out, "%8s ", "-");
  } else {
    fprintf(out, "%8.0f ", (double)r->steal_us * 1e-3);
  }
  fprintf(out, "%9.1f\n", (double)one->control.gap_ns * 1e-3);
}

static int by_value(const void *a, const void *b)
{
  const double x = *(const double *)a, y = *(const double *)b;

  return (x > y) - (x < y);
}

/* The values that are compared: packet latency at three ranks, and work of the three stages without spinning. */
enum figure { P50, P99, P999, WORK, FIGURES };

static double figure_of(const struct one *one, enum figure which)
{
  const struct tlg_pipeline_result *r = &one->result;
  const double seconds = (double)r->duration_ps * 1e-12;
  double work = 0;
  int s;

  switch (which) {
  case P50:
    return (double)r->packet.p50 * 1e-6;
  case P99:
    return (double)r->packet.p99 * 1e-6;
  case P999:
    return (double)r->packet.p999 * 1e-6;
  default:
    break;
  }
  for (s = TLG_STAGE_RECEIVE; s <= TLG_STAGE_DELIVER; s++) {
    work += (double)(r->stages[s].cpu_ns - r->stages[s].spin_ns) * 1e-6;
  }
  return seconds > 0 ? work / seconds : 0;
}

static double median(const struct bench *b, size_t size, int trace, enum figure which)
{
  double values[MOST_RUNS];
  uint64_t i;

  for (i = 0; i < b->runs; i++) {
    values[i] = figure_of(&b->results[size][trace][i], which);
  }
  qsort(values, b->runs, sizeof *values, by_value);
  return b->runs % 2 ? values[b->runs / 2] : (values[b->runs / 2 - 1] + values[b->runs / 2]) / 2;
}

static void print_side_by_side(FILE *out, const struct bench *b)
{
  static const char *const names[FIGURES] = {"packet latency p50, us", "packet latency p99, us",
                                             "packet latency p99.9, us", "work, ms for each second"};
  enum figure f;
  size_t i;

  fprintf(out, "\n%-26s", "medians of the runs");
  for (i = 0; i < b->n_sizes; i++) {
    fprintf(out, "  %6u off  %6u on  difference", (unsigned)b->sizes[i], (unsigned)b->sizes[i]);
  }
  fputc('\n', out);
  for (f = 0; f < FIGURES; f++) {
    fprintf(out, "%-26s", names[f]);
    for (i = 0; i < b->n_sizes; i++) {
      const double off = median(b, i, 0, f), on = median(b, i, 1, f);

      fprintf(out, "  %10.2f %10.2f  %+10.2f", off, on, on - off);
    }
    fputc('\n', out);
  }
  for (i = 0; i < b->n_sizes; i++) {
    const struct tlg_pipeline_result *r = &b->results[i][0][b->runs - 1].result;

    fprintf(out, "cpu at %-4u ms for each second of signal, last run: ", (unsigned)b->sizes[i]);
    report_cpu(out, r);
    fputc('\n', out);
  }
  for (i = 0; i < b->n_sizes; i++) {
    const struct tlg_accounts *a = &b->virtual_accounts[i];

    fprintf(out,
            "virtual clock at %u: %" PRIu64 " packets = %" PRIu64 " delivered + %" PRIu64
            " lost, %.1f times real time\n",
            (unsigned)b->sizes[i], a->packets, a->packets_delivered, a->packets_dropped,
            (double)a->inputs / tlg_rate_hz(&b->rate_in) / ((double)b->virtual_wall_ns[i] * 1e-9));
  }
}

static json_t *one_json(const struct one *one)
{
  const struct tlg_pipeline_result *r = &one->result;
  json_t *o = json_object();

  json_object_set_new(o, "overruns", json_integer((json_int_t)r->accounts.packets_dropped));
  json_object_set_new(o, "packets", json_integer((json_int_t)r->accounts.packets));
  json_object_set_new(o, "balanced", json_boolean(r->accounts.balanced));
  json_object_set_new(o, "p50_ps", json_integer((json_int_t)r->packet.p50));
  json_object_set_new(o, "p99_ps", json_integer((json_int_t)r->packet.p99));
  json_object_set_new(o, "p99_9_ps", json_integer((json_int_t)r->packet.p999));
  json_object_set_new(o, "max_ps", json_integer((json_int_t)r->packet.max));
  json_object_set_new(o, "resample_p50_ps", json_integer((json_int_t)r->service_resample.p50));
  json_object_set_new(o, "slope_ppm", cli_number(r->slope_ppm, 6));
  json_object_set_new(o, "floor_slope_ppm", cli_number(r->floor_slope_ppm, 6));
  json_object_set_new(o, "work_ms_per_s", cli_number(figure_of(one, WORK), 3));
  json_object_set_new(o, "steal_us", r->steal_us == INT64_MIN ? json_null() : json_integer((json_int_t)r->steal_us));
  json_object_set_new(o, "spin_largest_gap_ns", json_integer((json_int_t)one->control.gap_ns));
  json_object_set_new(o, "spin_lost_ns", json_integer((json_int_t)one->control.lost_ns));
  return o;
}

static int print_json(FILE *out, const struct bench *b)
{
  json_t *root = json_object(), *measured = json_array(), *virtual_runs = json_array(), *host = json_object();
  size_t i;
  uint64_t run;
  int trace;

  json_object_set_new(root, "part", json_string("pipeline"));
  json_object_set_new(root, "rate_in", cli_rate_json(&b->rate_in));
  json_object_set_new(root, "rate_out", cli_rate_json(&b->rate_out));
  json_object_set_new(root, "samples", json_integer((json_int_t)b->samples));
  json_object_set_new(root, "runs", json_integer((json_int_t)b->runs));
  for (i = 0; i < b->n_sizes; i++) {
    json_t *size = json_object();

    json_object_set_new(size, "packet", json_integer(b->sizes[i]));
    for (trace = 0; trace < 2; trace++) {
      json_t *runs = json_array();

      for (run = 0; run < b->runs; run++) {
        json_array_append_new(runs, one_json(&b->results[i][trace][run]));
      }
      json_object_set_new(size, trace ? "trace_on" : "trace_off", runs);
    }
    json_object_set_new(size, "virtual_wall_ns", json_integer((json_int_t)b->virtual_wall_ns[i]));
    json_array_append_new(measured, size);
    json_array_append_new(virtual_runs, json_pack("{s:I,s:I,s:I,s:I,s:b}", "packet", (json_int_t)b->sizes[i], "packets",
                                                  (json_int_t)b->virtual_accounts[i].packets, "delivered",
                                                  (json_int_t)b->virtual_accounts[i].packets_delivered, "dropped",
                                                  (json_int_t)b->virtual_accounts[i].packets_dropped, "balanced",
                                                  b->virtual_accounts[i].balanced));
  }
  json_object_set_new(root, "virtual", virtual_runs);
  json_object_set_new(root, "measured", measured);
  json_object_set_new(host, "kernel", json_string(b->host.kernel));
  json_object_set_new(host, "cpu_model", json_string(b->host.cpu_model));
  json_object_set_new(host, "cpus_allowed", json_integer(b->host.cpus_allowed));
  json_object_set_new(host, "load", json_string(b->host.load));
  json_object_set_new(host, "resampler_kernel", json_string(tlg_cpu_name(b->cpu)));
  json_object_set_new(root, "host", host);
  return cli_print_json(NAME, root, out);
}

/* ---- the command
 * ----------------------------------------------------------------------------------------------------- */

static int read_sizes(struct bench *b)
{
  char *text = strdup(options.packet ? options.packet : "364,625"), *rest = text, *part;
  int status = 0;

  while (rest && !status) {
    uint64_t n = 0;

    part = strsep(&rest, ",");
    status = *part ? cli_count(NAME, "--packet", part, &n)
                   : cli_usage(NAME, "--packet %s: a size is missing beside a comma", options.packet);
    if (!status && (n < 1 || n > 1 << 20 || b->n_sizes == MOST_SIZES)) {
      status = cli_usage(NAME, "--packet %s: at most %d sizes from 1 to 1048576", options.packet, MOST_SIZES);
    }
    if (!status) {
      b->sizes[b->n_sizes++] = (uint32_t)n;
    }
  }
  free(text);
  return status || b->n_sizes ? status : cli_usage(NAME, "--packet %s: no packet size", options.packet);
}

static int read_options(struct bench *b)
{
  double spin = 0;
  int status;

  b->seconds = 1;
  b->runs = 3;
  tlg_rate_make(&b->rate_in, 25000000, 1);
  if ((status = cli_seconds(NAME, "--seconds", options.seconds, &b->seconds)) ||
      (status = cli_count(NAME, "--runs", options.runs, &b->runs)) ||
      (status = cli_rate(NAME, "--rate", options.rate, &b->rate_in)) ||
      (status = cli_whole(NAME, "--fifo", options.fifo, 1, 99, &b->fifo)) ||
      (status = cli_seconds(NAME, "--spin", options.spin, &spin)) || (status = read_sizes(b))) {
    return status;
  }
  b->spin_ns = options.spin && spin <= 0 ? UINT64_MAX : (uint64_t)llrint(spin * 1e9);
  if (b->runs < 1 || b->runs > MOST_RUNS) {
    return cli_usage(NAME, "--runs %s: must be from 1 to %d", options.runs, MOST_RUNS);
  }
  if (b->seconds < 0.001 || b->seconds > 86400) {
    return cli_usage(NAME, "--seconds %s: must be from 1ms to 86400s", options.seconds);
  }
  b->samples = (uint64_t)llrint(b->seconds * tlg_rate_hz(&b->rate_in));
  if (!b->samples) {
    return cli_usage(NAME, "--seconds %s: not a single sample long", options.seconds);
  }
  return cli_resampler_cfg(NAME, &b->rate_in, &b->taps, &b->resamp, &b->rate_out);
}

static int measure(struct bench *b, FILE *out)
{
  uint64_t run;
  size_t i;
  int trace, status;

  if (!options.json) {
    heading(out);
  }
  /* Sizes and traces in turn, so that a change of the host's mood meets all of them. */
  for (run = 0; run < b->runs; run++) {
    for (i = 0; i < b->n_sizes; i++) {
      for (trace = 0; trace < 2; trace++) {
        status = run_once(b, b->sizes[i], trace, TLG_CLOCK_REAL, &b->results[i][trace][run]);
        if (status || cli_stop) {
          return status;
        }
        if (!options.json) {
          row(out, b->sizes[i], trace, run, &b->results[i][trace][run]);
          fflush(out);
        }
      }
    }
  }
  for (i = 0; i < b->n_sizes; i++) {
    struct one one;

    status = run_once(b, b->sizes[i], 0, TLG_CLOCK_VIRTUAL, &one);
    if (status || cli_stop) {
      return status;
    }
    b->virtual_accounts[i] = one.result.accounts;
    b->virtual_wall_ns[i] = one.result.wall_ns;
  }
  return CLI_DONE;
}

int bench_pipeline(int argc, const char **argv)
{
  struct bench *b = calloc(1, sizeof *b);
  struct cli_options o;
  int status = cli_options(&o, NAME, argc, argv, table, description, 0, 0);
  size_t i;

  if (status >= 0) {
    free(b);
    return status;
  }
  cli_catch_signals();
  if (b) {
    b->signal = malloc(SIGNAL * sizeof *b->signal);
  }
  if (!b || !b->signal) {
    cli_say(NAME, "out of memory");
    status = CLI_SYSTEM;
    goto end;
  }
  for (i = 0; i < SIGNAL; i++) { /* white noise at about -15 dBFS */
    const uint32_t counter[4] = {(uint32_t)i, 0, 0, 0}, key[2] = {1, 0};
    uint32_t words[4];

    tlg_philox(counter, key, words);
    b->signal[i].i = (int16_t)(words[0] % 16001 - 8000);
    b->signal[i].q = (int16_t)(words[1] % 16001 - 8000);
  }
  tlg_host_read(&b->host, "");
  if ((status = read_options(b)) || (status = measure(b, stdout)) || cli_stop) {
    goto end;
  }
  if (options.json) {
    status = print_json(stdout, b);
  } else {
    print_side_by_side(stdout, b);
    printf("host: %s, %s, %d cores allowed, load %s, kernel %s\n", b->host.kernel,
           b->host.cpu_model[0] ? b->host.cpu_model : b->host.machine, b->host.cpus_allowed, b->host.load,
           tlg_cpu_name(b->cpu));
  }
  status = cli_finish(NAME, stdout, status);
end:
  if (b) {
    tlg_taps_free(&b->taps);
    free(b->signal);
  }
  free(b);
  cli_options_free(&o);
  return cli_exit_stopped(status);
}
