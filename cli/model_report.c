/* SPDX-License-Identifier: Apache-2.0 */
/* The model's results: a table, a sentence, JSON. Integers in picoseconds, so that they are the same everywhere. */
#include "data.h"
#include "model.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- reading and running ----------------------------------------------------------------------------------- */

struct model_settings model_settings;

static void on_set(poptContext context, enum poptCallbackReason reason, const struct poptOption *option,
                   const char *value, void *data)
{
  (void)context;
  (void)reason;
  (void)data;
  if (option->val == 's') {
    model_setting_add(&model_settings, value);
  }
}

struct poptOption model_set_table[] = {
    {NULL, 0, POPT_ARG_CALLBACK, (void *)on_set, 0, NULL, NULL},
    {"set", 0, POPT_ARG_STRING, NULL, 's',
     "replace a value: packet=364, usecs=20, resample.fixed_us=30, phy.offset=100, ...; may be given often",
     "KEY=VALUE"},
    POPT_TABLEEND,
};

int model_setting_add(struct model_settings *s, const char *text)
{
  const char **grown = realloc(s->list, (s->n + 2) * sizeof *grown);
  char *copy = strdup(text);

  if (grown) {
    s->list = grown;
  }
  if (!grown || !copy) {
    free(copy);
    s->failed = 1;
    return 0;
  }
  s->list[s->n++] = copy;
  s->list[s->n] = NULL;
  return 1;
}

void model_settings_free(struct model_settings *s)
{
  size_t i;

  for (i = 0; i < s->n; i++) {
    free((void *)s->list[i]);
  }
  free(s->list);
  memset(s, 0, sizeof *s);
}

int model_find(const char *path, char *found, size_t size)
{
  char name[512];

  if (access(path, F_OK) == 0) {
    return 0;
  }
  if (strchr(path, '/')) {
    return strncmp(path, "sim/scenarios/", 14) == 0 && cli_data_find(path, found, size);
  }
  snprintf(name, sizeof name, "sim/scenarios/%s%s", path, strstr(path, ".cfg") ? "" : ".cfg");
  return cli_data_find(name, found, size);
}

int model_read(const char *command, const char *path, const struct model_settings *settings,
               struct tlg_sim_scenario **s)
{
  struct tlg_error err = {0};
  char found[4096];
  int status;

  if (settings && settings->failed) {
    cli_say(command, "out of memory");
    return CLI_SYSTEM;
  }
  if (model_find(path, found, sizeof found)) {
    path = found;
  } else if (!strchr(path, '/') && cli_data_given()) {
    cli_say(command,
            "%s: there is no such file, nor a scenario of that name in sim/scenarios of TAPLAG_DATA, which is %s", path,
            cli_data_given());
    return CLI_SYSTEM;
  }
  status = tlg_sim_scenario_read(s, path, settings ? settings->list : NULL, &err);
  /* A setting that is wrong is the command line's fault, not the file's. */
  return status == TLG_OK ? 0 : cli_fail(command, status == TLG_EINVAL ? NULL : path, &err);
}

static int one_run(const char *command, const struct tlg_sim_scenario *s, const struct tlg_sim_cfg *cfg,
                   uint64_t done_before, uint64_t total, int progress, struct tlg_sim **sim)
{
  struct tlg_error err = {0};
  uint64_t left = 1;

  if (tlg_sim_new(sim, s, cfg, &err) != TLG_OK) {
    return cli_fail(command, NULL, &err);
  }
  while (left) {
    int status = cli_stop ? TLG_EINTR : tlg_sim_step(*sim, 1000000, &left);

    if (status != TLG_OK) {
      tlg_sim_free(*sim);
      *sim = NULL;
      if (status == TLG_EINTR) {
        return cli_exit_stopped(CLI_DONE);
      }
      cli_say(command, "out of memory");
      return CLI_SYSTEM;
    }
    if (progress) {
      cli_progress(command, done_before + s->n_packets - left, total);
    }
  }
  return 0;
}

int model_run(const char *command, const struct tlg_sim_scenario *s, uint64_t seed, unsigned runs,
              const struct tlg_sim_cfg *cfg, int progress, struct tlg_sim **sim)
{
  struct tlg_sim_cfg mine = {0};
  struct tlg_sim *other;
  unsigned i;
  int status;

  if (cfg) {
    mine = *cfg;
  }
  *sim = NULL;
  for (i = 0; i < runs; i++) {
    mine.seed = seed + i;
    status = one_run(command, s, &mine, i * s->n_packets, runs * s->n_packets, progress, i ? &other : sim);
    if (status) {
      tlg_sim_free(*sim);
      *sim = NULL;
      return status;
    }
    if (i) {
      tlg_sim_merge(*sim, other);
      tlg_sim_free(other);
    }
    mine.stamp = NULL; /* the series is that of the first run */
  }
  return 0;
}

/* ---- figures ----------------------------------------------------------------------------------------------- */

uint64_t model_interval_ps(const struct tlg_sim_stat *stat)
{
  double mean = 0, square = 0;
  unsigned i;

  if (stat->n_batches < TLG_SIM_BATCHES) {
    return UINT64_MAX;
  }
  for (i = 0; i < stat->n_batches; i++) {
    mean += (double)stat->batch_mean_ps[i];
  }
  mean /= stat->n_batches;
  for (i = 0; i < stat->n_batches; i++) {
    const double d = (double)stat->batch_mean_ps[i] - mean;

    square += d * d;
  }
  /* Student's t for 31 degrees of freedom, 95 %. */
  return (uint64_t)(2.0395 * sqrt(square / ((double)(stat->n_batches - 1) * stat->n_batches)));
}

/* Waits in a queue that grows follow the length of the run: there is none to state. */
static int known(const struct tlg_sim_result *r)
{
  return r->stable;
}

enum { COLUMNS = 128 };

/* A distribution in columns of equal width from its minimum to its p99.99: to see peaks. Returns the width in ps. */
static uint64_t columns(const struct tlg_delays *d, uint64_t *column)
{
  struct tlg_delays_summary s;
  uint64_t low, high, count, width;
  size_t at = 0;

  memset(column, 0, COLUMNS * sizeof *column);
  tlg_delays_summarise(d, &s);
  width = (s.p9999 - s.min) / COLUMNS + 1;
  while (tlg_delays_next(d, &at, &low, &high, &count)) {
    const uint64_t c = low <= s.min ? 0 : (low - s.min) / width;

    column[c < COLUMNS ? c : COLUMNS - 1] += count;
  }
  return width;
}

/* The peaks of a distribution: columns that hold at least 1 % and rise at least twofold above the lowest column on the
 * way to the next peak. Returns their number; where: the middle of each. */
static unsigned peaks(const struct tlg_delays *d, uint64_t *where_ps, unsigned most)
{
  uint64_t column[COLUMNS], width, low_since = 0, total = tlg_delays_count(d);
  struct tlg_delays_summary s;
  unsigned n = 0, i, top = 0;
  int rising = 1;

  if (!total) {
    return 0;
  }
  tlg_delays_summarise(d, &s);
  width = columns(d, column);
  for (i = 0; i < COLUMNS; i++) {
    if (rising) {
      if (column[i] >= column[top]) {
        top = i;
      } else if (2 * column[i] < column[top]) { /* past it */
        if (column[top] * 100 >= total && n < most) {
          where_ps[n++] = s.min + top * width + width / 2;
        }
        rising = 0;
        low_since = column[i];
        top = i;
      }
    } else {
      if (column[i] < low_since) {
        low_since = column[i];
      }
      if (column[i] > 2 * low_since && column[i] * 100 >= total) {
        rising = 1;
        top = i;
      }
    }
  }
  if (rising && column[top] * 100 >= total && n < most) {
    where_ps[n++] = s.min + top * width + width / 2;
  }
  return n;
}

/* ---- words ------------------------------------------------------------------------------------------------- */

static void append(char *text, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void append(char *text, size_t size, const char *format, ...)
{
  const size_t used = strlen(text);
  va_list ap;

  va_start(ap, format);
  vsnprintf(text + used, size - used, format, ap);
  va_end(ap);
}

/* Waits in a queue whose server gets load times what it can do rise by load - 1 seconds a second. */
static void verdict_unstable(const struct tlg_sim_scenario *s, const struct tlg_sim_result *r,
                             const struct tlg_sim_server *v, char *text, size_t size)
{
  append(text, size, "unstable: %s gets %.2f %% of the work that it can do, so the queue in front of it grows", v->name,
         (double)v->load_ppm * 1e-4);
  if (v->load_ppm > 1000000) {
    append(text, size, " and waits rise by %.4g ms in each second", (double)(v->load_ppm - 1000000) * 1e-3);
  }
  if (v->infinite) {
    append(text, size, " for as long as the run lasts");
  } else if (v->loses) {
    append(text, size,
           " until it was full after %.6f s, later than the warm-up (%.6f s), and %.2f %% of the packets are "
           "lost; of a run of %.3g s and more all that is measured comes later",
           (double)v->full_ps * 1e-12, (double)r->warm_ps * 1e-12,
           r->sent ? 100.0 * (double)r->dropped / (double)r->sent : 0.0,
           r->warm_ps ? (double)v->full_ps * 1e-12 * (double)r->span_ps / (double)r->warm_ps : INFINITY);
  } else if (v->full_ps) {
    append(text, size, "; nothing is lost yet, at this pace it is full after %.3g s", (double)v->full_ps * 1e-12);
  } else {
    append(text, size, "; nothing is lost yet");
  }
  append(text, size, "; there is no waiting time to state");
  if (v->load_ppm == 1000000) {
    append(text, size, " (at exactly 100 %% what one disturbance leaves behind never goes away)");
  }
  if (strcmp(v->name, "link") == 0) {
    append(text, size,
           s->link_bps &&
                   (unsigned __int128)s->rate.num * s->sample_bytes * 8 >= (unsigned __int128)s->link_bps * s->rate.den
               ? "; the samples alone are more than this link takes: no packet size is feasible"
               : "; this packet size is infeasible on this link");
  }
}

char *model_verdict(const struct tlg_sim_scenario *s, const struct tlg_sim_result *r, char *text, size_t size)
{
  const struct tlg_sim_server *v = r->bottleneck >= 0 ? &r->servers[r->bottleneck] : NULL;
  const struct tlg_sim_place *worst = NULL;
  unsigned i;

  text[0] = '\0';
  for (i = 0; i < r->n_places; i++) {
    if (r->places[i].dropped && (!worst || r->places[i].first_drop_ps < worst->first_drop_ps)) {
      worst = &r->places[i];
    }
  }
  if (!v) {
    append(text, size, "nothing here takes time");
  } else if (!r->stable) {
    verdict_unstable(s, r, v, text, size);
  } else if (v->overloaded) {
    append(text, size,
           "overloaded: %s gets %.2f %% of the work that it can do; its queue is full since %.6f s, and %.2f %% of the "
           "packets are lost",
           v->name, (double)v->load_ppm * 1e-4, (double)v->full_ps * 1e-12,
           r->sent ? 100.0 * (double)r->dropped / (double)r->sent : 0.0);
  } else {
    append(text, size, "stable: the bottleneck is %s, busy %.2f %% of the time", v->name, (double)v->load_ppm * 1e-4);
  }
  if (worst) {
    append(text, size, "; %" PRIu64 " of %" PRIu64 " packets lost, the first at %s after %.6f s", r->dropped, r->sent,
           worst->name, (double)worst->first_drop_ps * 1e-12);
  }
  if (r->stable && r->subframes) {
    append(text, size, "; %.4f %% of the subframes are with the PHY inside %.6g us",
           100.0 * (double)r->subframes_in_time / (double)r->subframes, (double)s->deadline_ps * 1e-6);
  }
  return text;
}

static void us(FILE *out, uint64_t ps)
{
  fprintf(out, " %10" PRIu64 ".%03" PRIu64, ps / 1000000, ps / 1000 % 1000);
}

static void heading(FILE *out, const char *title)
{
  fprintf(out, "%-26s %14s %14s %14s %14s %14s %14s %14s\n", title, "mean", "p50", "p90", "p99", "p99.9", "p99.99",
          "max");
}

/* unknown: what is said in place of figures; NULL: they are known. */
static void row(FILE *out, const char *name, const char *what, const struct tlg_sim_stat *stat, const char *unknown)
{
  struct tlg_delays_summary s;
  char label[64];

  if (!stat) {
    return;
  }
  snprintf(label, sizeof label, "%s%s%s", name, what[0] ? ", " : "", what);
  fprintf(out, "%-26s", label);
  if (unknown) {
    fprintf(out, "  %s\n", unknown);
    return;
  }
  tlg_delays_summarise(stat->delays, &s);
  if (!s.count) {
    fputs("  none\n", out);
    return;
  }
  us(out, s.mean);
  us(out, s.p50);
  us(out, s.p90);
  us(out, s.p99);
  us(out, s.p999);
  us(out, s.p9999);
  us(out, s.max);
  fputc('\n', out);
}

static void interval(FILE *out, const char *name, const struct tlg_sim_stat *stat)
{
  struct tlg_delays_summary s;
  const uint64_t half = model_interval_ps(stat);

  if (half != UINT64_MAX) {
    tlg_delays_summarise(stat->delays, &s);
    fprintf(out, "mean %s %.3f us, 95 %% inside +- %.3f us (32 batches)\n", name, (double)s.mean * 1e-6,
            (double)half * 1e-6);
  }
}

/* Where a distribution has its peaks; nothing when it is flat. */
static void text_peaks(FILE *out, const char *what, const struct tlg_sim_stat *stat)
{
  uint64_t where[16];
  const unsigned n = stat ? peaks(stat->delays, where, 16) : 0;
  unsigned i;

  if (n > 1) {
    fprintf(out, "peaks      %s has %u, at", what, n);
    for (i = 0; i < n; i++) {
      fprintf(out, " %.1f", (double)where[i] * 1e-6);
    }
    fputs(" us\n", out);
  }
}

static void text_subframes(FILE *out, const struct tlg_sim_scenario *s, const struct tlg_sim_result *r)
{
  const uint64_t floor_ps = tlg_instant_ps(s->subframe, &s->out_rate);
  struct tlg_delays_summary d;

  if (!r->subframe || !known(r)) {
    return;
  }
  tlg_delays_summarise(r->subframe->delays, &d);
  fprintf(out,
          "subframes  %" PRIu64 ": %.4f %% inside %.6g us, %" PRIu64 " later, %" PRIu64
          " incomplete; the floor is the subframe's own %.6g us, the mean lies %.3f us beyond it\n",
          r->subframes, r->subframes ? 100.0 * (double)r->subframes_in_time / (double)r->subframes : 0.0,
          (double)s->deadline_ps * 1e-6, r->subframes - r->subframes_in_time - r->subframes_incomplete,
          r->subframes_incomplete, (double)floor_ps * 1e-6, d.count ? ((double)d.mean - (double)floor_ps) * 1e-6 : 0.0);
  if (r->n_late_bursts > 1) {
    fprintf(out, "late       in %s%u bursts, the first at %.3f s and %.3f s (%" PRIu64 " subframes, up to %.1f us)\n",
            r->n_late_bursts == 64 ? "at least " : "", r->n_late_bursts, (double)r->late_bursts[0].when_ps * 1e-12,
            (double)r->late_bursts[1].when_ps * 1e-12, r->late_bursts[0].subframes,
            (double)r->late_bursts[0].worst_ps * 1e-6);
  }
}

void model_text(FILE *out, const struct tlg_sim_scenario *s, const struct tlg_sim_result *r, uint64_t seed)
{
  const char *unknown = known(r)                             ? NULL
                        : r->servers[r->bottleneck].infinite ? "grows without end"
                                                             : "grows until its queue is full";
  char rate[64], verdict[1024];
  unsigned i;

  fprintf(out, "scenario   %s%s%s\n", s->name[0] ? s->name : "(no name)", s->about[0] ? ": " : "", s->about);
  fprintf(out, "source     %s, packets of %u%s samples, %" PRIu64 " of them in %.6g s, seed %" PRIu64,
          tlg_rate_text(&s->rate, rate, sizeof rate), (unsigned)s->sizes[0], s->n_sizes > 1 ? ", ..." : "",
          s->n_packets, (double)r->span_ps * 1e-12, seed);
  if (r->runs > 1) {
    fprintf(out, " to %" PRIu64 " (%u runs)", seed + r->runs - 1, r->runs);
  }
  fprintf(out, "; the first %" PRIu64 " packets are the warm-up\n", r->warmup_packets);
  fprintf(out, "verdict    %s\n\n", model_verdict(s, r, verdict, sizeof verdict));
  heading(out, "delays in us");
  for (i = 0; i < r->n_places; i++) {
    const struct tlg_sim_place *p = &r->places[i];

    row(out, p->name, strcmp(p->name, "nic") == 0 ? "moderation" : "waiting", p->wait, unknown);
    row(out, p->name, "collecting", p->collect, unknown);
    row(out, p->name, "stalled", p->stalled, unknown);
    row(out, p->name, "service", p->service, NULL);
  }
  row(out, "packet, air to received", "", r->received, unknown);
  row(out, "packet, air to delivered", "", r->packet, unknown);
  row(out, "subframe, to the PHY", "", r->subframe, unknown);
  row(out, "last sample to packet's end", "", r->closing, unknown);
  fputc('\n', out);
  if (known(r)) {
    interval(out, "packet latency", r->packet);
    if (r->subframe) {
      interval(out, "subframe latency", r->subframe);
    }
  }
  fputs("load       ", out);
  for (i = 0; i < r->n_servers; i++) {
    fprintf(out, "%s%s %.2f %%%s", i ? ", " : "", r->servers[i].name, (double)r->servers[i].load_ppm * 1e-4,
            r->servers[i].overloaded ? " (overloaded)" : "");
  }
  fprintf(out,
          "%s\npackets    %" PRIu64 " sent = %" PRIu64 " delivered + %" PRIu64 " lost + %" PRIu64
          " in a unit not filled\n",
          r->n_servers ? "" : "none", r->sent, r->delivered, r->dropped, r->unfinished);
  for (i = 0; i < r->n_places; i++) {
    if (r->places[i].dropped) {
      fprintf(out, "lost       %" PRIu64 " of %" PRIu64 " at %s, the first after %.6f s\n", r->places[i].dropped,
              r->places[i].arrived, r->places[i].name, (double)r->places[i].first_drop_ps * 1e-12);
    }
  }
  text_subframes(out, s, r);
  if (known(r)) {
    text_peaks(out, "air to received", r->received);
    text_peaks(out, "air to delivered", r->packet);
    text_peaks(out, "the gap between packets received", r->gap);
  }
  if (r->rounds) {
    const double seconds = (double)r->span_ps * 1e-12 * r->runs;

    fprintf(out, "polling    %" PRIu64 " rounds, %" PRIu64 " readings of the clock, %.0f and %.0f a second\n",
            r->rounds, r->clock_reads, (double)r->rounds / seconds, (double)r->clock_reads / seconds);
  }
  fprintf(out, "Little     %.4f packets inside on average = rate x time inside: %s\n",
          (double)r->number_inside_ppm * 1e-6,
          r->little_holds ? "holds to the picosecond" : "DOES NOT HOLD, packets were miscounted");
}

/* ---- JSON -------------------------------------------------------------------------------------------------- */

static void put(json_t *o, const char *key, uint64_t n)
{
  json_object_set_new(o, key, json_integer((json_int_t)n));
}

json_t *model_stat_json(const struct tlg_sim_stat *stat, int is_known)
{
  struct tlg_delays_summary s;
  json_t *o;
  uint64_t half;

  if (!stat || !is_known) {
    return json_null();
  }
  o = json_object();
  tlg_delays_summarise(stat->delays, &s);
  put(o, "count", s.count);
  if (!s.count) {
    return o;
  }
  put(o, "mean_ps", s.mean);
  half = model_interval_ps(stat);
  json_object_set_new(o, "mean_95_ps", half == UINT64_MAX ? json_null() : json_integer((json_int_t)half));
  put(o, "min_ps", s.min);
  put(o, "p50_ps", s.p50);
  put(o, "p90_ps", s.p90);
  put(o, "p99_ps", s.p99);
  put(o, "p999_ps", s.p999);
  put(o, "p9999_ps", s.p9999);
  put(o, "max_ps", s.max);
  put(o, "max_packet", s.max_when);
  return o;
}

/* Bins of at most 2^-6 of their value, [low, high, count], for plots. */
static json_t *histogram(const struct tlg_sim_stat *stat, int is_known)
{
  uint64_t low, high, count, from = 0, to = 0, sum = 0;
  json_t *list = json_array();
  size_t at = 0;

  if (!stat || !is_known) {
    json_decref(list);
    return json_null();
  }
  while (tlg_delays_next(stat->delays, &at, &low, &high, &count)) {
    if (sum && low >= from + from / 64 + 1000) {
      json_array_append_new(list, json_pack("[I,I,I]", (json_int_t)from, (json_int_t)to, (json_int_t)sum));
      sum = 0;
    }
    if (!sum) {
      from = low;
    }
    to = high;
    sum += count;
  }
  if (sum) {
    json_array_append_new(list, json_pack("[I,I,I]", (json_int_t)from, (json_int_t)to, (json_int_t)sum));
  }
  return list;
}

static json_t *peaks_json(const struct tlg_sim_stat *stat, int is_known)
{
  json_t *list = json_array();
  uint64_t where[16];
  const unsigned n = stat && is_known ? peaks(stat->delays, where, 16) : 0;
  unsigned i;

  for (i = 0; i < n; i++) {
    json_array_append_new(list, json_integer((json_int_t)where[i]));
  }
  return list;
}

static json_t *scenario_json(const struct tlg_sim_scenario *s, const struct tlg_sim_result *r, uint64_t seed)
{
  json_t *o = json_object();

  json_object_set_new(o, "name", json_string(s->name));
  json_object_set_new(o, "about", json_string(s->about));
  put(o, "seed", seed);
  put(o, "runs", r->runs);
  json_object_set_new(o, "rate", cli_rate_json(&s->rate));
  put(o, "packet", s->sizes[0]);
  put(o, "packet_sizes", s->n_sizes);
  put(o, "packets", s->n_packets);
  put(o, "warmup_packets", r->warmup_packets);
  put(o, "span_ps", r->span_ps);
  return o;
}

static json_t *places_json(const struct tlg_sim_result *r)
{
  json_t *list = json_array();
  unsigned i;

  for (i = 0; i < r->n_places; i++) {
    const struct tlg_sim_place *p = &r->places[i];
    json_t *o = json_object();

    json_object_set_new(o, "name", json_string(p->name));
    json_object_set_new(o, "waiting", model_stat_json(p->wait, known(r)));
    if (p->collect) {
      json_object_set_new(o, "collecting", model_stat_json(p->collect, known(r)));
    }
    if (p->stalled) {
      json_object_set_new(o, "stalled", model_stat_json(p->stalled, known(r)));
    }
    json_object_set_new(o, "service", model_stat_json(p->service, 1));
    json_object_set_new(o, "load_percent",
                        p->load_ppm == UINT64_MAX ? json_null() : cli_number((double)p->load_ppm * 1e-4, 4));
    put(o, "arrived", p->arrived);
    put(o, "lost", p->dropped);
    json_object_set_new(o, "first_loss_ps", p->dropped ? json_integer((json_int_t)p->first_drop_ps) : json_null());
    json_object_set_new(o, "most_waiting", p->infinite ? json_null() : json_integer((json_int_t)p->most_waiting));
    json_array_append_new(list, o);
  }
  return list;
}

static json_t *subframes_json(const struct tlg_sim_scenario *s, const struct tlg_sim_result *r)
{
  json_t *o = json_object(), *late = json_array();
  unsigned i;

  json_object_set_new(o, "latency", model_stat_json(r->subframe, known(r)));
  put(o, "floor_ps", tlg_instant_ps(s->subframe, &s->out_rate));
  json_object_set_new(o, "closing", model_stat_json(r->closing, known(r)));
  put(o, "offset_outputs", s->offset);
  put(o, "deadline_ps", s->deadline_ps);
  put(o, "count", r->subframes);
  put(o, "inside", r->subframes_in_time);
  put(o, "incomplete", r->subframes_incomplete);
  json_object_set_new(o, "inside_percent",
                      known(r) && r->subframes
                          ? cli_number(100.0 * (double)r->subframes_in_time / (double)r->subframes, 6)
                          : json_null());
  for (i = 0; i < r->n_late_bursts; i++) {
    json_array_append_new(late, json_pack("{s:I,s:I,s:I}", "when_ps", (json_int_t)r->late_bursts[i].when_ps,
                                          "subframes", (json_int_t)r->late_bursts[i].subframes, "worst_ps",
                                          (json_int_t)r->late_bursts[i].worst_ps));
  }
  json_object_set_new(o, "late_bursts", late);
  json_object_set_new(o, "histogram", histogram(r->subframe, known(r)));
  return o;
}

json_t *model_json(const struct tlg_sim_scenario *s, const struct tlg_sim_result *r, uint64_t seed)
{
  json_t *o = json_object(), *servers = json_array();
  char verdict[1024];
  unsigned i;

  json_object_set_new(o, "scenario", scenario_json(s, r, seed));
  json_object_set_new(o, "stable", json_boolean(r->stable));
  json_object_set_new(o, "overloaded", json_boolean(r->overloaded));
  json_object_set_new(o, "verdict", json_string(model_verdict(s, r, verdict, sizeof verdict)));
  json_object_set_new(o, "bottleneck", r->bottleneck >= 0 ? json_string(r->servers[r->bottleneck].name) : json_null());
  for (i = 0; i < r->n_servers; i++) {
    const struct tlg_sim_server *v = &r->servers[i];

    json_array_append_new(servers, json_pack("{s:s,s:o,s:b,s:b,s:b,s:o}", "name", v->name, "load_percent",
                                             cli_number((double)v->load_ppm * 1e-4, 4), "overloaded", v->overloaded,
                                             "queue_grows", v->grows, "queue_full", v->loses, "queue_full_ps",
                                             v->full_ps ? json_integer((json_int_t)v->full_ps) : json_null()));
  }
  json_object_set_new(o, "servers", servers);
  json_object_set_new(o, "elements", places_json(r));
  json_object_set_new(o, "packet", model_stat_json(r->packet, known(r)));
  json_object_set_new(o, "packet_histogram", histogram(r->packet, known(r)));
  json_object_set_new(o, "packet_peaks_ps", peaks_json(r->packet, known(r)));
  json_object_set_new(o, "received", model_stat_json(r->received, known(r)));
  json_object_set_new(o, "received_peaks_ps", peaks_json(r->received, known(r)));
  json_object_set_new(o, "gap", model_stat_json(r->gap, 1));
  json_object_set_new(o, "gap_peaks_ps", peaks_json(r->gap, 1));
  json_object_set_new(o, "gap_histogram", histogram(r->gap, 1));
  json_object_set_new(o, "subframe", r->subframe ? subframes_json(s, r) : json_null());
  put(o, "sent", r->sent);
  put(o, "delivered", r->delivered);
  put(o, "lost", r->dropped);
  put(o, "unfinished", r->unfinished);
  put(o, "samples_sent", r->samples_sent);
  put(o, "samples_delivered", r->samples_delivered);
  put(o, "interrupts", r->interrupts);
  put(o, "rounds", r->rounds);
  put(o, "clock_reads", r->clock_reads);
  json_object_set_new(o, "little",
                      json_pack("{s:b,s:o,s:I}", "holds", r->little_holds, "number_inside",
                                cli_number((double)r->number_inside_ppm * 1e-6, 6), "time_inside_ps",
                                (json_int_t)r->sojourn_mean_ps));
  return o;
}
