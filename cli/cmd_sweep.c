/* SPDX-License-Identifier: Apache-2.0 */
/* taplag sweep: one row for each value of a parameter; in parallel, in shards, resumable; and what is best, and why. */
#include "sweep.h"
#include "workers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NAME "sweep"

static struct {
  char *runs, *seed, *aim, *of, *below, *shard, *output, *workers;
  int json, force, partial;
} options;

static struct model_settings varied;

static void on_vary(poptContext context, enum poptCallbackReason reason, const struct poptOption *option,
                    const char *value, void *data)
{
  (void)context;
  (void)reason;
  (void)data;
  if (option->val == 'v') {
    model_setting_add(&varied, value);
  }
}

static const struct poptOption table[] = {
    {NULL, 0, POPT_ARG_CALLBACK, (void *)on_vary, 0, NULL, NULL},
    {"vary", 0, POPT_ARG_STRING, NULL, 'v',
     "what to vary: packet=32:25000 (50 values, evenly in the logarithm), packet=32:25000:1000 (so many), "
     "usecs=0:250:+10 (steps), moderation=off,igb,dim (a list); once or twice",
     "KEY=VALUES"},
    {"runs", 0, POPT_ARG_STRING, &options.runs, 0, "runs of each point with seeds that follow, added up (default 1)",
     "N"},
    {"seed", 0, POPT_ARG_STRING, &options.seed, 0, "of the first run (default: the scenario's)", "N"},
    {"aim", 0, POPT_ARG_STRING, &options.aim, 0,
     "what is to be least: mean, p50, p90, p99, p999 (default), p9999, max; or inside: most subframes in time", "WORD"},
    {"of", 0, POPT_ARG_STRING, &options.of, 0,
     "subframe (default where there is a PHY) or packet (from its first sample, so with the time it takes to fill)",
     "WORD"},
    {"below", 0, POPT_ARG_STRING, &options.below, 0, "the busiest part must stay below this share (default 0.9)", "X"},
    {"output", 'o', POPT_ARG_STRING, &options.output, 0,
     "keep the results of all points in FILE; interrupted, the same command goes on from FILE.part; merge: those of "
     "all "
     "parts",
     "FILE"},
    {"shard", 0, POPT_ARG_STRING, &options.shard, 0,
     "do part I of N only (wants -o); 'sweep merge' puts parts together", "I/N"},
    {"workers", 0, POPT_ARG_STRING, &options.workers, 0, "processes (default: one a core)", "N"},
    {"partial", 0, POPT_ARG_NONE, &options.partial, 0, "merge: accept that parts are missing", NULL},
    {"force", 0, POPT_ARG_NONE, &options.force, 0, "overwrite an existing file", NULL},
    {"json", 0, POPT_ARG_NONE, &options.json, 0, "results as JSON", NULL},
    MODEL_SET_OPTION,
    POPT_TABLEEND,
};

static const char description[] =
    "Runs a scenario for each value (or pair of values), on all cores, and names the best one. 'taplag sweep merge\n"
    "PART...' adds up what shards have written: exactly, as histograms of integers add. A point that the model "
    "refuses\n"
    "or finds unstable is a row without delays.\n";

static void worked(void *context, size_t job, const char *bytes, size_t n, int crashed)
{
  struct sweep *s = context;
  json_t *o = n ? json_loadb(bytes, n, JSON_DISABLE_EOF_CHECK, NULL) : NULL;

  if (crashed || !o) {
    cli_say(NAME, "point %zu gave no result%s", s->jobs[job] / s->runs, crashed > 0 ? ": its worker crashed" : "");
    json_decref(o);
    return;
  }
  s->units[s->jobs[job]] = o;
  s->n_known++;
  if (s->log) {
    sweep_log(s, o);
  }
  cli_progress(NAME, s->n_known, s->n_jobs);
}

static int merge(const char **parts, int n, struct aim *aim)
{
  struct sweep s = {.runs = 1, .shards = 1, .output = options.output, .force = options.force};
  size_t i, missing = 0;
  long whole;
  int k, status = sweep_part_read(&s, parts[0], 1, &whole);

  if (!status && !sweep_header_take(&s)) {
    cli_say(NAME, "%s:1: its header is damaged", parts[0]);
    status = CLI_BAD_INPUT;
  }
  status = status ? status : sweep_size_up(&s);
  for (k = 0; k < n && !status; k++) {
    status = sweep_part_read(&s, parts[k], 0, &whole);
  }
  for (i = 0; i < s.n_units && !status; i++) {
    missing += !s.units[i];
  }
  if (!status && missing && !options.partial) {
    cli_say(NAME, "%zu of %zu results are missing: name all parts, or give --partial", missing, s.n_units);
    status = CLI_BAD_INPUT;
  }
  if (!status && options.output) {
    status = sweep_write(&s);
  }
  status = status ? status : sweep_report(&s, aim, options.json);
  sweep_free(&s);
  return status;
}

static int sweep_run(struct sweep *s, struct aim *aim)
{
  struct cli_workers w = {.run = sweep_work, .result = worked, .context = s};
  char part[4096] = "";
  uint64_t workers = 0;
  size_t i;
  int status = sweep_size_up(s);

  if (status || (status = cli_count(NAME, "--workers", options.workers, &workers)) != 0) {
    return status;
  }
  w.n_workers = workers > 256 ? 256 : (unsigned)workers;
  s->header = sweep_header(s);
  if (options.output && (status = sweep_log_open(s, part, sizeof part)) != 0) {
    return status;
  }
  for (i = 0; i < s->n_units; i++) {
    if (i % s->shards == s->shard && !s->units[i]) {
      s->jobs[s->n_jobs++] = i;
    }
  }
  w.n_jobs = s->n_jobs;
  s->n_jobs += s->n_known;
  status = s->n_jobs > s->n_known ? cli_workers_run(NAME, &w) : 0;
  if (s->log && (fclose(s->log) != 0 || s->log_failed)) {
    cli_say(NAME, "%s: %s", part, strerror(s->log_failed ? s->log_failed : errno));
    status = CLI_SYSTEM;
  }
  if (!status && cli_stop) {
    cli_say(NAME, "stopped with %zu of %zu results%s", s->n_known, s->n_jobs,
            options.output ? "; the same command goes on from there" : "");
    return cli_exit_stopped(CLI_DONE);
  }
  if (!status && s->n_known < s->n_jobs) {
    cli_say(NAME, "%zu results are missing", s->n_jobs - s->n_known);
    status = CLI_CHECK_FAILED;
  }
  if (!status && options.output) {
    status = sweep_finish(s, part);
  }
  if (status) {
    return status;
  }
  if (s->shards > 1) {
    cli_say(NAME, "part %u of %u: %zu results in %s; 'taplag sweep merge' puts the parts together", s->shard + 1,
            s->shards, s->n_known, options.output);
    return 0;
  }
  return sweep_report(s, aim, options.json);
}

/* Whether a key is varied that is given elsewhere as well, under whichever of its names. */
static int key_twice(void)
{
  char a[128], b[128];
  size_t i, k;

  for (i = 0; i < varied.n; i++) {
    tlg_sim_key(varied.list[i], a, sizeof a);
    if (options.seed && strcmp(a, "seed") == 0) {
      return cli_usage(NAME, "--vary %s and --seed %s are of the same key: it is varied, or it is given",
                       varied.list[i], options.seed);
    }
    for (k = i + 1; k < varied.n; k++) {
      tlg_sim_key(varied.list[k], b, sizeof b);
      if (strcmp(a, b) == 0) {
        return cli_usage(NAME, "--vary %s and --vary %s are of the same key: give all its values in one",
                         varied.list[i], varied.list[k]);
      }
    }
    for (k = 0; k < model_settings.n; k++) {
      tlg_sim_key(model_settings.list[k], b, sizeof b);
      if (strcmp(a, b) == 0) {
        return cli_usage(NAME, "--vary %s and --set %s are of the same key: it is varied, or it is set", varied.list[i],
                         model_settings.list[k]);
      }
    }
  }
  return 0;
}

/* Whether a scenario can have subframes, of its own or by what is varied. */
static int subframes_possible(const struct tlg_sim_scenario *s)
{
  int possible = s->has_phy;
  char key[128];
  size_t i;

  for (i = 0; i < varied.n; i++) {
    tlg_sim_key(varied.list[i], key, sizeof key);
    possible |= strncmp(key, "phy.", 4) == 0;
  }
  return possible;
}

static int run(const char *scenario, struct aim *aim)
{
  struct sweep s = {.runs = 1, .shards = 1, .output = options.output, .force = options.force};
  struct tlg_sim_scenario *checked = NULL;
  struct tlg_error err = {0};
  char path[4096];
  uint64_t runs = 1;
  int status = 0;
  size_t i;

  if (varied.n < 1 || varied.n > SWEEP_VARIED) {
    return cli_usage(NAME, "give --vary once or twice");
  }
  if (cli_count(NAME, "--runs", options.runs, &runs) || cli_count(NAME, "--seed", options.seed, &s.seed)) {
    return CLI_USAGE;
  }
  if (options.seed && !s.seed) {
    return cli_usage(NAME, "--seed 0: 1 or more");
  }
  if (runs < 1 || runs > SWEEP_RUNS) {
    return cli_usage(NAME, "--runs %s: 1 to %d", options.runs, SWEEP_RUNS);
  }
  if ((status = key_twice()) != 0) {
    return status;
  }
  s.runs = (unsigned)runs;
  if (options.shard) {
    char end;

    if (sscanf(options.shard, "%u/%u%c", &s.shard, &s.shards, &end) != 2 || s.shard < 1 || s.shard > s.shards ||
        s.shards > 100000) {
      return cli_usage(NAME, "--shard %s: wants I/N, such as 1/8", options.shard);
    }
    s.shard--;
    if (!options.output) {
      return cli_usage(NAME, "--shard wants -o FILE for its part");
    }
  }
  if (!model_find(scenario, path, sizeof path)) {
    snprintf(path, sizeof path, "%s", scenario);
  }
  /* Before anything runs: the scenario as it stands, and the keys, are right; values are judged point by point. */
  if (tlg_sim_scenario_read(&checked, path, model_settings.list, &err) != TLG_OK) {
    return cli_fail(NAME, err.status == TLG_EINVAL ? NULL : path, &err);
  }
  if (sweep_aim_subframes(aim) && !subframes_possible(checked)) {
    status = cli_usage(NAME, "%s has no phy section, so no subframes: --of packet, and another aim than inside", path);
  }
  /* A seed that is varied is judged point by point. */
  status = status ? status : model_seeds(NAME, s.seed ? s.seed : checked->seed, runs);
  tlg_sim_scenario_free(checked);
  s.path = path;
  s.n_axes = (unsigned)varied.n;
  for (i = 0; i < varied.n && !status; i++) {
    status = sweep_axis_parse(&s.axes[i], varied.list[i]);
  }
  status = status ? status : sweep_run(&s, aim);
  sweep_free(&s);
  return status;
}

int cmd_sweep(int argc, const char **argv)
{
  struct cli_options o;
  struct aim aim;
  int status = cli_options(&o, NAME, argc, argv, table, description, 1, 100000);

  if (status < 0) {
    cli_catch_signals();
    status = sweep_aim_parse(&aim, options.aim, options.of, options.below);
    if (status) {
      /* told */
    } else if (varied.failed || model_settings.failed) {
      cli_say(NAME, "out of memory");
      status = CLI_SYSTEM;
    } else if (strcmp(o.args[0], "merge") == 0 &&
               (varied.n || model_settings.n || options.runs || options.seed || options.shard || options.workers)) {
      status = cli_usage(NAME, "merge takes what was run from the parts: no --vary, --set, --runs, --seed, --shard or "
                               "--workers");
    } else if (strcmp(o.args[0], "merge") == 0) {
      status = o.n_args < 2 ? cli_usage(NAME, "merge wants the parts") : merge(o.args + 1, o.n_args - 1, &aim);
    } else if (o.n_args > 1) {
      status = cli_usage(NAME, "one scenario, not %d", o.n_args);
    } else {
      status = run(o.args[0], &aim);
    }
    cli_options_free(&o);
  }
  model_settings_free(&model_settings);
  model_settings_free(&varied);
  return status;
}
