/* SPDX-License-Identifier: Apache-2.0 */
/* taplag bench hops: what it costs to hand a block of samples to the PHY, by every transport there is. */
#include "bench.h"
#include "cli.h"
#include "hops.h"

#include "tlg_files.h"
#include "tlg_replay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME "bench hops"

enum { MOST_RESULTS = 128, MOST_BYTES = 1 << 18 };

/* Ends wait rather than lose (block=1), so that all of a flood counts; UDP may lose all the same. */
static const struct hop hops[] = {
    {"ring", NULL, NULL, {NULL, NULL}, 1, 0},
    {"shm", "shm:taplag-bench-%p?block=1", "shm:taplag-bench-%p", {NULL, NULL}, 1, 1},
    {"unix", "unix:%d/hop?block=1", "unix:%d/hop", {NULL, NULL}, 1, 1},
    {"udp", "udp:127.0.0.1:%p?block=1", "udp:127.0.0.1:%p", {NULL, NULL}, 1, 1},
    {"fifo", "fifo:%d/hop", "%d/hop", {NULL, NULL}, 1, 1},
    {"zmq-inproc", "zmq:inproc://hop?block=1", "zmq:inproc://hop", {NULL, NULL}, 1, 0},
    {"zmq-ipc", "zmq:ipc://%d/hop?block=1", "zmq:ipc://%d/hop", {NULL, NULL}, 1, 1},
    {"zmq-tcp", "zmq:tcp://127.0.0.1:%p?block=1", "zmq:tcp://127.0.0.1:%p", {NULL, NULL}, 1, 1},
    {"omniorb-unix-oneway", NULL, NULL, {"unix", "oneway"}, 0, 1},
    {"omniorb-unix-twoway", NULL, NULL, {"unix", "twoway"}, 0, 1},
    {"omniorb-tcp-oneway", NULL, NULL, {"tcp", "oneway"}, 0, 1},
    {"omniorb-tcp-twoway", NULL, NULL, {"tcp", "twoway"}, 0, 1},
};
enum { N_HOPS = sizeof hops / sizeof *hops };

/* Of the middleware report, but not to be had. */
static const char *const absent[][2] = {
    {"tao", "TAO is in no package of Debian"},
    {"e*orb", "e*ORB was never released freely"},
};

static const char *const betweens[HOP_BETWEENS] = {"threads", "processes"};
static const char *const schedulers[2] = {"other", "fifo"};

static struct {
  char *hops, *between, *sizes, *repetitions, *warm_up, *scheduler, *priority, *scenario;
  int json, force, list;
} options;

static const struct poptOption table[] = {
    {"hops", 0, POPT_ARG_STRING, &options.hops, 0, "only these, by name (all)", "LIST"},
    {"between", 0, POPT_ARG_STRING, &options.between, 0, "threads, processes or both (both)", "WHAT"},
    {"sizes", 0, POPT_ARG_STRING, &options.sizes, 0, "bytes of a block (256,1k,4k,8k,64k,128k,192k, k = 1024)", "LIST"},
    {"repetitions", 'n', POPT_ARG_STRING, &options.repetitions, 0, "blocks of each size (1000)", "N"},
    {"warm-up", 0, POPT_ARG_STRING, &options.warm_up, 0, "blocks before, which do not count (100)", "N"},
    {"scheduler", 0, POPT_ARG_STRING, &options.scheduler, 0,
     "other (the usual one), fifo (SCHED_FIFO), or both where permitted (both)", "WHICH"},
    {"priority", 0, POPT_ARG_STRING, &options.priority, 0, "of SCHED_FIFO, 1 to 99 (10)", "PRIO"},
    {"as-scenario", 0, POPT_ARG_STRING, &options.scenario, 0,
     "write the one hop asked for by --hops, --between and --scheduler as the hop element of a model scenario", "FILE"},
    {"force", 0, POPT_ARG_NONE, &options.force, 0, "overwrite an existing FILE", NULL},
    {"list", 0, POPT_ARG_NONE, &options.list, 0, "only name the hops", NULL},
    {"json", 0, POPT_ARG_NONE, &options.json, 0, "results as JSON", NULL},
    POPT_TABLEEND,
};

static const char description[] =
    "Delay: from before the sending call until the receiving end holds the whole block, one block at a time, so that\n"
    "nothing waits for another. Jitter is the largest delay less the smallest: one stall of the host decides it, so "
    "read\n"
    "p50 and p99 too. MB/s (10^6 bytes): all blocks sent at once. The hops are the program's own sinks and sources, "
    "at\n"
    "both ends what replay and record use; ring is the pipeline's own queue. omniORB is a program beside this one.\n";

struct result {
  const struct hop *hop;
  enum hop_between between;
  int fifo;
  int status; /* 0: rows hold */
  char reason[400];
  struct hop_row rows[HOPS_MOST_SIZES];
};

struct bench {
  struct hop_run run;
  int wanted[N_HOPS], between[HOP_BETWEENS], scheduler[2];
  int priority;
  struct tlg_host host;
  char program[4096];
  struct result *results;
  size_t n_results;
};

/* ---- options --------------------------------------------------------------------------------------------------- */

/* "4k" is 4096 here: the sizes are those of buffers. */
static int sizes(struct bench *b, const char *text)
{
  const char *p = text;

  while (*p) {
    char *end;
    unsigned long long v = strtoull(p, &end, 10);

    if (end != p && (*end == 'k' || *end == 'K')) {
      v *= v <= MOST_BYTES ? 1024 : 1;
      end++;
    }
    if (end == p || (*end && *end != ',') || v < 4 || v > MOST_BYTES || v % 4 || b->run.n_sizes == HOPS_MOST_SIZES) {
      return cli_usage(NAME, "--sizes %s: up to %d multiples of 4 from 4 to %d, as 256,4k", text, HOPS_MOST_SIZES,
                       MOST_BYTES);
    }
    b->run.sizes[b->run.n_sizes++] = (size_t)v;
    p = *end ? end + 1 : end;
  }
  return b->run.n_sizes ? 0 : cli_usage(NAME, "--sizes: none given");
}

/* "both" or one of two words. */
static int one_or_both(const char *option, const char *text, const char *const words[2], int chosen[2])
{
  int i;

  chosen[0] = chosen[1] = !text || strcmp(text, "both") == 0;
  for (i = 0; i < 2 && !chosen[0]; i++) {
    if (strcmp(text, words[i]) == 0) {
      chosen[i] = 1;
      return 0;
    }
  }
  return chosen[0] ? 0 : cli_usage(NAME, "%s %s: %s, %s or both", option, text, words[0], words[1]);
}

static int choose_hops(struct bench *b)
{
  char *text, *rest, *part;
  size_t i;
  int status = 0;

  for (i = 0; i < N_HOPS; i++) {
    b->wanted[i] = !options.hops;
  }
  text = rest = options.hops ? strdup(options.hops) : NULL;
  while (!status && (part = strsep(&rest, ","))) {
    for (i = 0; i < N_HOPS && strcmp(hops[i].name, part) != 0; i++) {
    }
    status = i == N_HOPS ? cli_usage(NAME, "--hops: there is no hop '%s'; --list names them", part) : 0;
    if (!status) {
      b->wanted[i] = 1;
    }
  }
  free(text);
  return status;
}

static size_t runs_wanted(const struct bench *b)
{
  size_t n = 0, i;

  for (i = 0; i < N_HOPS; i++) {
    n += (size_t)(b->wanted[i] * ((b->between[0] && hops[i].threads) + (b->between[1] && hops[i].processes)) *
                  (b->scheduler[0] + b->scheduler[1]));
  }
  return n;
}

static int read_options(struct bench *b)
{
  uint64_t repetitions = 1000, warm_up = 100, priority = 10;
  int status;

  if ((status = sizes(b, options.sizes ? options.sizes : "256,1k,4k,8k,64k,128k,192k")) || (status = choose_hops(b)) ||
      (status = one_or_both("--between", options.between, betweens, b->between)) ||
      (status = one_or_both("--scheduler", options.scheduler, schedulers, b->scheduler)) ||
      (status = cli_whole(NAME, "--repetitions", options.repetitions, 1, HOPS_MOST_BLOCKS, &repetitions)) ||
      (status = cli_whole(NAME, "--warm-up", options.warm_up, 0, HOPS_MOST_BLOCKS, &warm_up)) ||
      (status = cli_whole(NAME, "--priority", options.priority, 1, 99, &priority))) {
    return status;
  }
  b->run.repetitions = (unsigned)repetitions;
  b->run.warm_up = (unsigned)warm_up;
  b->priority = (int)priority;
  if (!runs_wanted(b)) {
    return cli_usage(NAME, "none of these hops is between %s", b->between[0] ? betweens[0] : betweens[1]);
  }
  if (options.scenario && runs_wanted(b) != 1) {
    return cli_usage(NAME, "--as-scenario wants one hop: as --hops unix --between processes --scheduler other");
  }
  if (options.scenario && b->run.n_sizes > 8) {
    return cli_usage(NAME, "--as-scenario: a scenario's hop has at most 8 sizes");
  }
  return 0;
}

/* ---- running --------------------------------------------------------------------------------------------------- */

static void run_one(struct bench *b, size_t i, enum hop_between between, int fifo)
{
  struct result *result = &b->results[b->n_results++];
  struct tlg_error err = {0};

  result->hop = &hops[i];
  result->between = between;
  result->fifo = fifo;
  b->run.between = between;
  b->run.fifo = fifo ? b->priority : 0;
  if (hops[i].program[0] && !b->run.bench_omniorb) {
    result->status = TLG_EUNAVAIL;
    snprintf(result->reason, sizeof result->reason,
             "bench-omniorb is not built: it wants g++, libomniorb4-dev and omniidl");
    return;
  }
  snprintf(b->run.folder, sizeof b->run.folder, "/tmp/taplag-hops-XXXXXX");
  if (!mkdtemp(b->run.folder)) {
    result->status = TLG_ESYS;
    snprintf(result->reason, sizeof result->reason, "no folder in /tmp: %s", strerror(errno));
    return;
  }
  result->status = hops_run(&hops[i], &b->run, &cli_stop, result->rows, &err);
  snprintf(result->reason, sizeof result->reason, "%s", result->status ? err.text : "");
  {
    char path[96];

    snprintf(path, sizeof path, "%s/hop", b->run.folder);
    unlink(path);
    rmdir(b->run.folder);
  }
}

static void run_all(struct bench *b)
{
  const size_t all = runs_wanted(b);
  int s, w;
  size_t i;

  for (s = 0; s < 2; s++) {
    for (w = 0; w < HOP_BETWEENS; w++) {
      for (i = 0; i < N_HOPS && !cli_stop; i++) {
        if (b->scheduler[s] && b->between[w] && b->wanted[i] &&
            (w == HOP_THREADS ? hops[i].threads : hops[i].processes)) {
          cli_progress(NAME, b->n_results, all);
          run_one(b, i, (enum hop_between)w, s);
        }
      }
    }
  }
  cli_progress(NAME, all, all);
}

/* ---- printing -------------------------------------------------------------------------------------------------- */

static void print_result(FILE *out, const struct bench *b, const struct result *result)
{
  size_t i;

  if (result->status) {
    fprintf(out, "%-20s not available here: %s\n", result->hop->name, result->reason);
    return;
  }
  for (i = 0; i < b->run.n_sizes; i++) {
    const struct hop_row *r = &result->rows[i];
    const uint64_t lost = r->sent - r->received + r->flood_sent - r->flood_received;

    fprintf(out, "%-20s %8zu %9.1f %9.1f %9.1f %10.1f %9.0f", i ? "" : result->hop->name, r->size_bytes, r->mean_us,
            r->p50_us, r->p99_us, r->jitter_us, r->mb_s);
    if (lost) {
      fprintf(out, "  %llu of %llu blocks lost", (unsigned long long)lost,
              (unsigned long long)(r->sent + r->flood_sent));
    }
    fprintf(out, "\n");
  }
}

static void print_text(FILE *out, const struct bench *b)
{
  const struct result *before = NULL;
  size_t i;

  fprintf(out, "%u blocks of each size, %u before that do not count; delays of single blocks in us\n",
          b->run.repetitions, b->run.warm_up);
  for (i = 0; i < b->n_results; i++) {
    const struct result *r = &b->results[i];

    if (!before || before->between != r->between || before->fifo != r->fifo) {
      fprintf(out, "\nbetween %s, %s\n%-20s %8s %9s %9s %9s %10s %9s\n", betweens[r->between],
              r->fifo ? "SCHED_FIFO" : "default scheduler", "hop", "bytes", "mean", "p50", "p99", "jitter", "MB/s");
    }
    print_result(out, b, r);
    before = r;
  }
  for (i = 0; i < sizeof absent / sizeof *absent && !options.hops; i++) {
    fprintf(out, "%-20s not available here: %s\n", absent[i][0], absent[i][1]);
  }
  fprintf(out, "\nhost: %s, %s, %d cores allowed, governor %s, load %s\n", b->host.kernel,
          b->host.cpu_model[0] ? b->host.cpu_model : b->host.machine, b->host.cpus_allowed,
          b->host.governor[0] ? b->host.governor : "not told", b->host.load);
}

static json_t *result_json(const struct bench *b, const struct result *result)
{
  json_t *rows = json_array();
  size_t i;

  for (i = 0; i < b->run.n_sizes && !result->status; i++) {
    const struct hop_row *r = &result->rows[i];

    json_array_append_new(rows, json_pack("{s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:I}", "size_bytes",
                                          (json_int_t)r->size_bytes, "mean_us", cli_number(r->mean_us, 3), "jitter_us",
                                          cli_number(r->jitter_us, 3), "p50_us", cli_number(r->p50_us, 3), "p99_us",
                                          cli_number(r->p99_us, 3), "max_us", cli_number(r->max_us, 3), "mb_s",
                                          cli_number(r->mb_s, 3), "sent", (json_int_t)r->sent, "received",
                                          (json_int_t)r->received, "flood_sent", (json_int_t)r->flood_sent,
                                          "flood_received", (json_int_t)r->flood_received));
  }
  return json_pack("{s:s, s:s, s:s, s:o, s:s*}", "hop", result->hop->name, "between", betweens[result->between],
                   "scheduler", schedulers[result->fifo], "rows", rows, "not_available",
                   result->status ? result->reason : NULL);
}

static int print_json(const struct bench *b)
{
  json_t *results = json_array(), *missing = json_array();
  size_t i;

  for (i = 0; i < b->n_results; i++) {
    json_array_append_new(results, result_json(b, &b->results[i]));
  }
  for (i = 0; i < sizeof absent / sizeof *absent; i++) {
    json_array_append_new(missing, json_pack("{s:s, s:s}", "hop", absent[i][0], "reason", absent[i][1]));
  }
  return cli_print_json(
      "bench-hops",
      json_pack("{s:i, s:i, s:o, s:{s:s, s:s, s:i, s:s, s:s}, s:{s:o}}", "repetitions", (int)b->run.repetitions,
                "warm_up", (int)b->run.warm_up, "absent", missing, "host", "kernel", b->host.kernel, "cpu",
                b->host.cpu_model[0] ? b->host.cpu_model : b->host.machine, "cores_allowed", b->host.cpus_allowed,
                "governor", b->host.governor, "load", b->host.load, "measured", "results", results),
      stdout);
}

/* The hop as the model reads it: busy as long as a block takes when many are sent, on top what a single one takes more.
 */
static int write_scenario(const struct bench *b, const struct result *result)
{
  struct tlg_outfile *f = NULL;
  struct tlg_error err = {0};
  char line[640];
  size_t i;
  int status = tlg_outfile_open(&f, options.scenario, options.force, &err);

  if (status) {
    return cli_fail(NAME, NULL, &err);
  }
  snprintf(line, sizeof line,
           "# Measured by taplag bench hops: %s between %s, %s; use it by @include\n"
           "# %u blocks of each size, load of the host %s. How far single blocks spread: see each line; read no more\n"
           "# into the figures than that, and measure longer on a quiet host where p99 is far from p50.\n"
           "hop = {\n  points = (\n",
           result->hop->name, betweens[result->between], result->fifo ? "SCHED_FIFO" : "default scheduler",
           b->run.repetitions, b->host.load);
  status = tlg_outfile_write(f, line, strlen(line), &err);
  for (i = 0; i < b->run.n_sizes && !status; i++) {
    const struct hop_row *r = &result->rows[i];
    const double busy = (double)r->size_bytes / r->mb_s;

    snprintf(line, sizeof line,
             "    { bytes = %zu; busy_us = %.3f; latency_us = %.3f; }%s  # p50 %.1f us, p99 %.1f us\n", r->size_bytes,
             busy, r->mean_us > busy ? r->mean_us - busy : 0.0, i + 1 < b->run.n_sizes ? "," : "", r->p50_us,
             r->p99_us);
    status = tlg_outfile_write(f, line, strlen(line), &err);
  }
  if (!status) {
    status = tlg_outfile_write(f, "  );\n};\n", 8, &err);
  }
  if (status) {
    tlg_outfile_abort(f);
    return cli_fail(NAME, NULL, &err);
  }
  return tlg_outfile_close(f, &err) ? cli_fail(NAME, NULL, &err) : 0;
}

static int compare_sizes(const void *a, const void *b)
{
  const size_t x = *(const size_t *)a, y = *(const size_t *)b;

  return (x > y) - (x < y);
}

static int finish(struct bench *b)
{
  const struct result *only = &b->results[0];
  size_t i;
  int status;

  if (options.scenario) {
    if (only->status) {
      cli_say(NAME, "%s: not available here: %s", only->hop->name, only->reason);
      return CLI_UNAVAILABLE;
    }
    for (i = 0; i < b->run.n_sizes; i++) {
      if (!only->rows[i].received || !only->rows[i].flood_received) {
        cli_say(NAME, "%s: all blocks of %zu bytes were lost: no scenario was written", only->hop->name,
                b->run.sizes[i]);
        return CLI_UNAVAILABLE;
      }
    }
    status = write_scenario(b, only);
    if (status) {
      return status;
    }
  }
  if (options.json) {
    return print_json(b);
  }
  print_text(stdout, b);
  return cli_finish(NAME, stdout, CLI_DONE);
}

int bench_hops(int argc, const char **argv)
{
  struct bench *b = calloc(1, sizeof *b);
  struct cli_options o;
  int status;
  size_t i;

  memset(&options, 0, sizeof options);
  status = cli_options(&o, NAME, argc, argv, table, description, 0, 0);
  if (status >= 0) {
    free(b);
    return status;
  }
  if (!b || !(b->results = calloc(MOST_RESULTS, sizeof *b->results))) {
    cli_say(NAME, "out of memory");
    status = CLI_SYSTEM;
  } else if (options.list) {
    for (i = 0; i < N_HOPS; i++) {
      printf("%-20s %s%s%s\n", hops[i].name, hops[i].threads ? "threads" : "",
             hops[i].threads && hops[i].processes ? ", " : "", hops[i].processes ? "processes" : "");
    }
    status = cli_finish(NAME, stdout, CLI_DONE);
  } else if (!(status = read_options(b))) {
    qsort(b->run.sizes, b->run.n_sizes, sizeof *b->run.sizes, compare_sizes);
    cli_catch_signals();
    tlg_host_read(&b->host, "");
    b->run.bench_omniorb = bench_find_program("bench-omniorb", b->program, sizeof b->program) ? b->program : NULL;
    run_all(b);
    status = cli_stop ? CLI_DONE : finish(b);
  }
  if (b) {
    free(b->results);
  }
  free(b);
  cli_options_free(&o);
  return cli_exit_stopped(status);
}
