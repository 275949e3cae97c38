/* SPDX-License-Identifier: Apache-2.0 */
/* taplag model: delay distributions of a scenario. */
#include "model.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NAME "model"

static struct {
  char *series, *seed, *runs, *engine, *packets;
  int json, force, set;
} options;

static const struct poptOption table[] = {
    {"seed", 0, POPT_ARG_STRING, &options.seed, 0, "of the first run (default: the scenario's)", "N"},
    {"runs", 0, POPT_ARG_STRING, &options.runs, 0, "runs with seeds that follow, added up (default 1)", "N"},
    {"series", 0, POPT_ARG_STRING, &options.series, 0,
     "write what each packet of the first run met, a line for each element (CSV)", "FILE"},
    {"engine", 0, POPT_ARG_STRING, &options.engine, 0,
     "auto (default), recursion, or events: the same results where both can", "WORD"},
    {"force", 0, POPT_ARG_NONE, &options.force, 0, "overwrite an existing file", NULL},
    {"json", 0, POPT_ARG_NONE, &options.json, 0, "results as JSON", NULL},
    MODEL_SET_OPTION,
    POPT_TABLEEND,
};

static const char description[] =
    "SCENARIO is a file (libconfig; docs/model.md lists its keys) or the name of one of those that come with the\n"
    "program (usrpl0-packet-threaded, camera-10gbe-tuned, ...). Delays count from the instant at which the last "
    "sample\n"
    "of a packet ends. The first part of the packets (the scenario's warmup, a tenth by default) is left out of the\n"
    "distributions. An overloaded queue is a result, not an error: it is reported as unstable, without a waiting "
    "time.\n";

struct series {
  struct tlg_outfile *out;
  int status;
  struct tlg_error err;
};

static void series_line(void *arg, const struct tlg_sim_stamp *stamp)
{
  struct series *s = arg;
  char line[256];
  int n;

  if (s->status != TLG_OK) {
    return;
  }
  n = snprintf(line, sizeof line, "%" PRIu64 ",%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%d,%s\n",
               stamp->packet, stamp->element, stamp->begin, stamp->end, stamp->ready, stamp->start, stamp->finish,
               stamp->dropped, stamp->note ? stamp->note : "");
  s->status = tlg_outfile_write(s->out, line, (size_t)n, &s->err);
}

static int series_open(struct series *s, struct tlg_sim_cfg *cfg)
{
  static const char heading[] = "packet,element,first_sample,end_sample,ready_ps,start_ps,finish_ps,lost,note\n";

  if (tlg_outfile_open(&s->out, options.series, options.force, &s->err) != TLG_OK ||
      tlg_outfile_write(s->out, heading, sizeof heading - 1, &s->err) != TLG_OK) {
    const int status = cli_fail(NAME, options.series, &s->err);

    tlg_outfile_abort(s->out);
    return status;
  }
  cfg->stamp = series_line;
  cfg->stamp_arg = s;
  cfg->stamp_count = UINT64_MAX;
  return 0;
}

static int run(const char *path)
{
  struct tlg_sim_scenario *s = NULL;
  struct tlg_sim_cfg cfg = {0};
  struct series series = {0};
  struct tlg_sim *sim = NULL;
  const struct tlg_sim_result *r;
  uint64_t seed = 0, runs = 1;
  int status;

  if (cli_count(NAME, "--seed", options.seed, &seed) || cli_count(NAME, "--runs", options.runs, &runs)) {
    return CLI_USAGE;
  }
  if (options.seed && !seed) {
    return cli_usage(NAME, "--seed 0: 1 or more");
  }
  if (runs < 1 || runs > 100000) {
    return cli_usage(NAME, "--runs %s: 1 to 100000", options.runs);
  }
  if (options.engine && strcmp(options.engine, "auto") != 0) {
    if (strcmp(options.engine, "recursion") != 0 && strcmp(options.engine, "events") != 0) {
      return cli_usage(NAME, "--engine %s: auto, recursion or events", options.engine);
    }
    cfg.engine = options.engine[0] == 'r' ? TLG_ENGINE_RECURSION : TLG_ENGINE_EVENTS;
  }
  status = model_read(NAME, path, &model_settings, &s);
  if (status) {
    return status;
  }
  seed = seed ? seed : s->seed;
  if ((status = model_seeds(NAME, seed, runs)) != 0) {
    tlg_sim_scenario_free(s);
    return status;
  }
  if (options.series && (status = series_open(&series, &cfg)) != 0) {
    tlg_sim_scenario_free(s);
    return status;
  }
  status = model_run(NAME, s, seed, (unsigned)runs, &cfg, 1, &sim);
  if (options.series) {
    if (status) {
      tlg_outfile_abort(series.out);
    } else if (series.status != TLG_OK) {
      status = cli_fail(NAME, options.series, &series.err);
      tlg_outfile_abort(series.out);
    } else if (tlg_outfile_close(series.out, &series.err) != TLG_OK) {
      status = cli_fail(NAME, options.series, &series.err);
    }
  }
  if (!status) {
    r = tlg_sim_results(sim);
    if (options.json) {
      status = cli_print_json(NAME, model_json(s, r, seed), stdout);
    } else {
      model_text(stdout, s, r, seed);
    }
    if (!status && !r->little_holds) {
      cli_say(NAME, "Little's law does not hold: packets were miscounted; please report this scenario");
      status = CLI_CHECK_FAILED;
    }
    status = cli_finish(NAME, stdout, status);
  }
  tlg_sim_free(sim);
  tlg_sim_scenario_free(s);
  return status;
}

int cmd_model(int argc, const char **argv)
{
  return model_command(NAME, argc, argv, table, description, run);
}
