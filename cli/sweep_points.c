/* SPDX-License-Identifier: Apache-2.0 */
/* One run of one point of a sweep, and its result with whole histograms. */
#include "sweep.h"

#define NAME "sweep"

/* Unstable runs end early. */
enum { STOP_AFTER = 200000 };

static json_t *delays_json(const struct tlg_sim_stat *stat)
{
  struct tlg_delays_totals t;
  json_t *o, *bins = json_array();
  uint64_t largest, count;
  size_t at = 0;

  if (!stat) {
    json_decref(bins);
    return json_null();
  }
  tlg_delays_get(stat->delays, &t);
  while (tlg_delays_bin(stat->delays, &at, &largest, &count)) {
    json_array_append_new(bins, json_integer((json_int_t)largest));
    json_array_append_new(bins, json_integer((json_int_t)count));
  }
  o = json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:o}", "count", (json_int_t)t.count, "min", (json_int_t)t.min, "max",
                (json_int_t)t.max, "when", (json_int_t)t.max_when, "sum_high", (json_int_t)t.sum_high, "sum_low",
                (json_int_t)t.sum_low, "bins", bins);
  return o;
}

static int unit_settings(const struct sweep *s, size_t point, struct model_settings *all)
{
  char text[256];
  size_t i;
  unsigned a;

  for (i = 0; i < model_settings.n; i++) {
    if (!model_setting_add(all, model_settings.list[i])) {
      return 0;
    }
  }
  for (a = 0; a < s->n_axes; a++) {
    snprintf(text, sizeof text, "%s=%s", s->axes[a].key, sweep_value(s, point, a));
    if (!model_setting_add(all, text)) {
      return 0;
    }
  }
  return 1;
}

static json_t *unit_result(const struct tlg_sim_scenario *s, const struct tlg_sim_result *r)
{
  json_t *servers = json_array(), *o = json_object();
  uint32_t largest = 0;
  unsigned i;
  size_t k;

  for (k = 0; k < s->n_sizes; k++) {
    largest = s->sizes[k] > largest ? s->sizes[k] : largest;
  }
  for (i = 0; i < r->n_servers; i++) {
    json_array_append_new(servers, json_pack("[s,I]", r->servers[i].name, (json_int_t)r->servers[i].load_ppm));
  }
  json_object_set_new(o, "fill_ps", json_integer((json_int_t)tlg_instant_ps(largest, &s->rate)));
  json_object_set_new(o, "stable", json_boolean(r->stable));
  json_object_set_new(o, "overloaded", json_boolean(r->overloaded));
  json_object_set_new(o, "limit", r->bottleneck >= 0 ? json_string(r->servers[r->bottleneck].name) : json_null());
  json_object_set_new(o, "servers", servers);
  json_object_set_new(o, "sent", json_integer((json_int_t)r->sent));
  json_object_set_new(o, "lost", json_integer((json_int_t)r->dropped));
  json_object_set_new(o, "subframes", json_integer((json_int_t)r->subframes));
  json_object_set_new(o, "inside", json_integer((json_int_t)r->subframes_in_time));
  json_object_set_new(o, "packet", r->stable ? delays_json(r->packet) : json_null());
  json_object_set_new(o, "subframe", r->stable ? delays_json(r->subframe) : json_null());
  return o;
}

/* A run that is plainly unstable need not go on to its end. */
static int unit_run(const struct tlg_sim_scenario *s, uint64_t seed, struct tlg_sim **sim)
{
  struct tlg_sim_cfg cfg = {.seed = seed};
  uint64_t left = 1, stop = STOP_AFTER;
  int status = tlg_sim_new(sim, s, &cfg, NULL);

  while (status == TLG_OK && left) {
    status = tlg_sim_step(*sim, stop, &left);
    if (status == TLG_OK && stop == STOP_AFTER) {
      const struct tlg_sim_result *r = tlg_sim_results(*sim);

      /* A queue with a limit may be full, and the rest of the run steady, before the warm-up ends. */
      if (!r->stable && r->servers[r->bottleneck].infinite && r->servers[r->bottleneck].load_ppm > 1010000) {
        return TLG_OK;
      }
      stop = 1000000;
    }
  }
  return status;
}

void sweep_work(void *context, size_t job, FILE *out)
{
  const struct sweep *s = context;
  const size_t unit = s->jobs[job], point = unit / s->runs, run = unit % s->runs;
  struct model_settings all = {0};
  struct tlg_sim_scenario *scenario = NULL;
  struct tlg_error err = {0};
  struct tlg_sim *sim = NULL;
  json_t *o = NULL;

  if (!unit_settings(s, point, &all)) {
    return; /* the parent sees that nothing came */
  }
  if (tlg_sim_scenario_read(&scenario, s->path, all.list, &err) != TLG_OK) {
    if (err.status == TLG_EFORMAT || err.status == TLG_EINVAL) {
      o = json_pack("{s:s}", "refused", err.text);
    }
  } else if (!s->seed && !model_seeds_fit(scenario->seed, s->runs)) {
    o = json_pack("{s:s}", "refused", "the seeds of its runs go beyond the largest, 9000000000000000");
  } else if (unit_run(scenario, (s->seed ? s->seed : scenario->seed) + run, &sim) == TLG_OK) {
    o = unit_result(scenario, tlg_sim_results(sim));
  }
  if (o) {
    json_object_set_new(o, "unit", json_integer((json_int_t)unit));
    json_dumpf(o, out, JSON_COMPACT | JSON_PRESERVE_ORDER);
    fputc('\n', out);
    json_decref(o);
  }
  tlg_sim_free(sim);
  tlg_sim_scenario_free(scenario);
  model_settings_free(&all);
}
