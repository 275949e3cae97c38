/* SPDX-License-Identifier: Apache-2.0 */
/* taplag sweep: one row for each value of a parameter; in parallel, in shards, resumable; and what is best, and why. */
#include "model.h"
#include "workers.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define NAME "sweep"

enum { MOST_POINTS = 100000, MOST_VARIED = 2, MOST_RUNS = 10000, STOP_AFTER = 200000 };

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

/* ---- points ------------------------------------------------------------------------------------------------ */

struct axis {
  char key[96];
  char **values;
  size_t n;
};

struct sweep {
  const char *path;
  struct axis axes[MOST_VARIED];
  unsigned n_axes;
  size_t n_points;
  unsigned runs;
  uint64_t seed; /* 0: the scenario's */
  json_t *header;
  unsigned shard, shards;
  json_t **units; /* what is known of each unit = point * runs + run; NULL: nothing */
  size_t n_units, n_known;
  size_t *jobs, n_jobs;
  FILE *log;
  int log_failed;
};

static int axis_add(struct axis *a, const char *text)
{
  char **grown;

  if (a->n && strcmp(a->values[a->n - 1], text) == 0) {
    return 1; /* neighbours that round to the same value */
  }
  grown = realloc(a->values, (a->n + 1) * sizeof *grown);
  if (!grown) {
    return 0;
  }
  a->values = grown;
  a->values[a->n] = strdup(text);
  return a->values[a->n++] != NULL;
}

/* ln x by 2 artanh((x-1)/(x+1)) after halving: the same points on every machine. */
static double exact_ln(double x)
{
  int halved = 0, k;
  double t, sum = 0;

  while (x > 1.5) {
    x /= 2;
    halved++;
  }
  t = (x - 1) / (x + 1);
  for (k = 20; k >= 0; k--) {
    sum = sum * t * t + 1.0 / (2 * k + 1);
  }
  return halved * 0.69314718055994530942 + 2 * t * sum;
}

static int axis_number(struct axis *a, double v, int whole)
{
  char text[48];

  if (whole) {
    snprintf(text, sizeof text, "%.0f", floor(v + 0.5));
  } else {
    snprintf(text, sizeof text, "%.6g", v);
  }
  return axis_add(a, text);
}

static int axis_parse(struct axis *a, const char *text)
{
  const char *equals = strchr(text, '='), *at;
  char word[128], *end;
  double low, high, step;
  long n = 50, i;
  int whole;

  if (!equals || equals == text || !equals[1] || (size_t)(equals - text) >= sizeof a->key) {
    return cli_usage(NAME, "--vary %s: wants KEY=VALUES, such as packet=32:25000 or moderation=off,igb", text);
  }
  snprintf(a->key, sizeof a->key, "%.*s", (int)(equals - text), text);
  at = equals + 1;
  low = strtod(at, &end);
  if (end == at || *end != ':') { /* a list */
    while (*at) {
      const size_t length = strcspn(at, ",");

      if (length == 0 || length >= sizeof word) {
        return cli_usage(NAME, "--vary %s: an empty or overlong value", text);
      }
      snprintf(word, sizeof word, "%.*s", (int)length, at);
      if (!axis_add(a, word)) {
        cli_say(NAME, "out of memory");
        return CLI_SYSTEM;
      }
      at += length + (at[length] == ',');
    }
    return 0;
  }
  at = end + 1;
  high = strtod(at, &end);
  whole = low == floor(low) && high == floor(high);
  if (end == at || !(high > low)) {
    return cli_usage(NAME, "--vary %s: a range goes up: LOW:HIGH", text);
  }
  if (strncmp(end, ":+", 2) == 0) {
    at = end + 2;
    step = strtod(at, &end);
    if (end == at || *end || !(step > 0) || (high - low) / step > MOST_POINTS) {
      return cli_usage(NAME, "--vary %s: a step is above 0, and makes at most %d values", text, MOST_POINTS);
    }
    whole = whole && step == floor(step);
    for (i = 0; low + (double)i * step <= high * (1 + 1e-12); i++) {
      if (!axis_number(a, low + (double)i * step, whole)) {
        cli_say(NAME, "out of memory");
        return CLI_SYSTEM;
      }
    }
    return 0;
  }
  if (*end == ':') {
    at = end + 1;
    n = strtol(at, &end, 10);
  }
  if (*end || n < 2 || n > MOST_POINTS || !(low > 0)) {
    return cli_usage(NAME, "--vary %s: wants LOW:HIGH[:NUMBER] with LOW above 0, or LOW:HIGH:+STEP", text);
  }
  for (i = 0; i < n; i++) {
    const double v = i + 1 == n ? high : low * tlg_exp(exact_ln(high / low) * (double)i / (double)(n - 1));

    if (!axis_number(a, v, whole)) {
      cli_say(NAME, "out of memory");
      return CLI_SYSTEM;
    }
  }
  return 0;
}

/* The value of each axis at a point, the last axis running fastest. */
static const char *value_of(const struct sweep *s, size_t point, unsigned axis)
{
  if (s->n_axes == 2) {
    return axis ? s->axes[1].values[point % s->axes[1].n] : s->axes[0].values[point / s->axes[1].n];
  }
  return s->axes[0].values[point];
}

/* ---- distributions in JSON, exactly ------------------------------------------------------------------------ */

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

static uint64_t integer(const json_t *o, const char *key)
{
  return (uint64_t)json_integer_value(json_object_get(o, key));
}

/* Adds what is written in o to d. Returns whether o was whole. */
static int delays_add(struct tlg_delays *d, const json_t *o)
{
  const json_t *bins = json_object_get(o, "bins");
  struct tlg_delays_totals t;
  struct tlg_delays *part;
  uint64_t n = 0;
  size_t i;

  if (!json_is_object(o)) {
    return json_is_null(o);
  }
  if (!json_is_array(bins) || json_array_size(bins) % 2 || tlg_delays_new(&part) != TLG_OK) {
    return 0;
  }
  for (i = 0; i + 1 < json_array_size(bins); i += 2) {
    const uint64_t count = (uint64_t)json_integer_value(json_array_get(bins, i + 1));

    tlg_delays_put(part, (uint64_t)json_integer_value(json_array_get(bins, i)), count);
    n += count;
  }
  t.count = integer(o, "count");
  t.min = integer(o, "min");
  t.max = integer(o, "max");
  t.max_when = integer(o, "when");
  t.sum_high = integer(o, "sum_high");
  t.sum_low = integer(o, "sum_low");
  if (t.count) {
    tlg_delays_set(part, &t);
    tlg_delays_merge(d, part);
  }
  tlg_delays_free(part);
  return n == t.count;
}

/* ---- one unit of work -------------------------------------------------------------------------------------- */

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
    snprintf(text, sizeof text, "%s=%s", s->axes[a].key, value_of(s, point, a));
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

      if (!r->stable && r->servers[r->bottleneck].load_ppm > 1010000) {
        return TLG_OK;
      }
      stop = 1000000;
    }
  }
  return status;
}

static void work(void *context, size_t job, FILE *out)
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

/* A line of a part is a JSON object whose last key is the CRC of all text before it: JSON with a flipped digit is JSON
 * still. */
#define SEAL ",\"crc32\":\""
enum {
  SEAL_START = sizeof SEAL - 1,
  SEAL_LENGTH = SEAL_START + 8 + 3
}; /* its hexadecimal digits, and "} and the end */

static char *seal_json(const json_t *o, size_t *length)
{
  char *text = json_dumps(o, JSON_COMPACT | JSON_PRESERVE_ORDER), *line = NULL;
  const size_t n = text ? strlen(text) - 1 : 0; /* without the closing brace */

  if (text && (line = malloc(n + SEAL_LENGTH + 1)) != NULL) {
    memcpy(line, text, n);
    snprintf(line + n, SEAL_LENGTH + 1, SEAL "%08lx\"}\n", crc32_z(0, (const unsigned char *)text, n));
    *length = n + SEAL_LENGTH;
  }
  free(text);
  return line;
}

/* Whether a line is as it was sealed. */
static int sealed(const char *line, size_t n)
{
  char want[SEAL_LENGTH + 1];

  if (n <= SEAL_LENGTH) {
    return 0;
  }
  n -= SEAL_LENGTH;
  snprintf(want, sizeof want, SEAL "%08lx\"}\n", crc32_z(0, (const unsigned char *)line, n));
  return memcmp(line + n, want, SEAL_LENGTH) == 0;
}

/* A line of the log, at once on its way: what is there counts if the sweep is interrupted. */
static void log_line(struct sweep *s, char *line, size_t length)
{
  if (!line) {
    s->log_failed = ENOMEM;
  } else if (fwrite(line, 1, length, s->log) != length || fflush(s->log) != 0) {
    s->log_failed = errno ? errno : EIO;
  }
  free(line);
}

static void worked(void *context, size_t job, const char *bytes, size_t n, int crashed)
{
  struct sweep *s = context;
  json_t *o = n ? json_loadb(bytes, n, JSON_DISABLE_EOF_CHECK, NULL) : NULL;
  size_t length = 0;

  if (crashed || !o) {
    cli_say(NAME, "point %zu gave no result%s", s->jobs[job] / s->runs, crashed > 0 ? ": its worker crashed" : "");
    json_decref(o);
    return;
  }
  s->units[s->jobs[job]] = o;
  s->n_known++;
  if (s->log) {
    char *line = seal_json(o, &length);

    log_line(s, line, length);
  }
  cli_progress(NAME, s->n_known, s->n_jobs);
}

/* ---- parts ------------------------------------------------------------------------------------------------- */

static int hash_file(const char *path, char hex[65])
{
  unsigned char digest[EVP_MAX_MD_SIZE], block[4096];
  EVP_MD_CTX *hash = EVP_MD_CTX_new();
  unsigned length = 0, i;
  FILE *f = fopen(path, "rb");
  size_t n;
  int ok = hash && f && EVP_DigestInit_ex(hash, EVP_sha256(), NULL);

  while (ok && (n = fread(block, 1, sizeof block, f)) > 0) {
    ok = EVP_DigestUpdate(hash, block, n);
  }
  ok = ok && !ferror(f) && EVP_DigestFinal_ex(hash, digest, &length) && length == 32;
  for (i = 0; ok && i < 32; i++) {
    snprintf(hex + 2 * i, 3, "%02x", digest[i]);
  }
  if (f) {
    fclose(f);
  }
  EVP_MD_CTX_free(hash);
  return ok;
}

/* What parts of one sweep have in common. */
static json_t *header_new(const struct sweep *s)
{
  json_t *o = json_object(), *axes = json_array(), *set = json_array();
  char hex[65] = "";
  unsigned a;
  size_t i;

  hash_file(s->path, hex);
  for (i = 0; i < model_settings.n; i++) {
    json_array_append_new(set, json_string(model_settings.list[i]));
  }
  for (a = 0; a < s->n_axes; a++) {
    json_t *values = json_array();

    for (i = 0; i < s->axes[a].n; i++) {
      json_array_append_new(values, json_string(s->axes[a].values[i]));
    }
    json_array_append_new(axes, json_pack("{s:s,s:o}", "key", s->axes[a].key, "values", values));
  }
  json_object_set_new(o, "schema", json_string("taplag/sweep-part/2"));
  json_object_set_new(o, "scenario_sha256", json_string(hex));
  json_object_set_new(o, "set", set);
  json_object_set_new(o, "vary", axes);
  json_object_set_new(o, "runs", json_integer(s->runs));
  json_object_set_new(o, "seed", json_integer((json_int_t)s->seed));
  return o;
}

/* A line's checksum, which is taken away from the object. Returns 0 or the exit status. */
static int line_check(const char *path, unsigned number, const char *line, size_t n, json_t *o)
{
  if (!sealed(line, n)) {
    cli_say(NAME, "%s:%u: damaged: its checksum does not fit; remove the file and run this part again", path, number);
    return CLI_BAD_INPUT;
  }
  json_object_del(o, "crc32");
  return 0;
}

/* Takes the units of a part. A last line without its end (a killed run) is passed over; *whole: how many bytes count.
 * first: the header is taken over instead of compared. Returns 0 or the exit status. */
static int part_read(struct sweep *s, const char *path, int first, long *whole)
{
  FILE *f = fopen(path, "r");
  char *line = NULL;
  size_t room = 0;
  ssize_t n;
  unsigned number = 0;
  int status = 0;

  *whole = 0;
  if (!f) {
    cli_say(NAME, "%s: %s", path, strerror(errno));
    return CLI_SYSTEM;
  }
  while (!status && (n = getline(&line, &room, f)) > 0 && line[n - 1] == '\n') {
    json_t *o = json_loadb(line, (size_t)n, JSON_DISABLE_EOF_CHECK, NULL);

    number++;
    if (!o) {
      cli_say(NAME, "%s:%u: no JSON: this is no part of a sweep, or it is damaged", path, number);
      status = CLI_BAD_INPUT;
    } else if (number == 1) {
      const char *schema = json_string_value(json_object_get(o, "schema"));

      if (!schema || strcmp(schema, "taplag/sweep-part/2") != 0) {
        cli_say(NAME, "%s:1: no part of a sweep (taplag/sweep-part/2)", path);
        status = CLI_BAD_INPUT;
      } else if ((status = line_check(path, number, line, (size_t)n, o)) != 0) {
        /* told */
      } else if (first) {
        s->header = json_incref(o);
      } else if (!json_equal(o, s->header)) {
        cli_say(NAME, "%s:1: belongs to another sweep: the scenario, its settings, what is varied, runs or seed differ",
                path);
        status = CLI_BAD_INPUT;
      }
      if (!status && first && !s->units) {
        json_decref(o);
        break; /* the caller reads it again, knowing its size */
      }
    } else if ((status = line_check(path, number, line, (size_t)n, o)) == 0) {
      const uint64_t unit = integer(o, "unit");

      if (!json_is_integer(json_object_get(o, "unit")) || unit >= s->n_units) {
        cli_say(NAME, "%s:%u: no unit of this sweep", path, number);
        status = CLI_BAD_INPUT;
      } else if (s->units[unit]) {
        if (!json_equal(s->units[unit], o)) {
          cli_say(NAME, "%s:%u: point %" PRIu64 " stands in two parts, with different results", path, number,
                  unit / s->runs);
          status = CLI_BAD_INPUT;
        }
      } else {
        s->units[unit] = json_incref(o);
        s->n_known++;
      }
    }
    json_decref(o);
    *whole = ftell(f);
  }
  if (!status && number == 0) {
    cli_say(NAME, "%s:1: empty", path);
    status = CLI_BAD_INPUT;
  }
  free(line);
  fclose(f);
  return status;
}

/* ---- rows and the best ------------------------------------------------------------------------------------- */

struct row {
  const char *refused;
  int complete, stable;
  const char *limit; /* the busiest server */
  uint64_t load_ppm, fill_ps, sent, lost, subframes, inside;
  struct tlg_delays_summary packet, subframe;
};

static int row_make(const struct sweep *s, size_t point, struct row *row)
{
  struct tlg_delays *packet = NULL, *subframe = NULL;
  unsigned run;
  int ok = 1;
  size_t i;

  memset(row, 0, sizeof *row);
  row->complete = row->stable = 1;
  if (tlg_delays_new(&packet) != TLG_OK || tlg_delays_new(&subframe) != TLG_OK) {
    tlg_delays_free(packet);
    return 0;
  }
  for (run = 0; run < s->runs; run++) {
    const json_t *o = s->units[point * s->runs + run], *servers = json_object_get(o, "servers");

    if (!o) {
      row->complete = 0;
      continue;
    }
    if (json_object_get(o, "refused")) {
      row->refused = json_string_value(json_object_get(o, "refused"));
      row->stable = 0;
      break;
    }
    row->stable &= json_is_true(json_object_get(o, "stable"));
    row->fill_ps = integer(o, "fill_ps");
    row->sent += integer(o, "sent");
    row->lost += integer(o, "lost");
    row->subframes += integer(o, "subframes");
    row->inside += integer(o, "inside");
    for (i = 0; i < json_array_size(servers); i++) {
      const json_t *v = json_array_get(servers, i);
      const uint64_t load = (uint64_t)json_integer_value(json_array_get(v, 1));

      if (load > row->load_ppm || !row->limit) {
        row->load_ppm = load;
        row->limit = json_string_value(json_array_get(v, 0));
      }
    }
    ok &= delays_add(packet, json_object_get(o, "packet")) && delays_add(subframe, json_object_get(o, "subframe"));
  }
  tlg_delays_summarise(packet, &row->packet);
  tlg_delays_summarise(subframe, &row->subframe);
  tlg_delays_free(packet);
  tlg_delays_free(subframe);
  if (!ok) {
    cli_say(NAME, "point %zu: its histogram does not add up: the part is damaged", point);
  }
  return ok;
}

static const char *const aims[] = {"mean", "p50", "p90", "p99", "p999", "p9999", "max", "inside"};

struct aim {
  size_t what;
  int subframe;
  double below;
};

static uint64_t figure(const struct tlg_delays_summary *d, size_t what)
{
  const uint64_t all[] = {d->mean, d->p50, d->p90, d->p99, d->p999, d->p9999, d->max};

  return all[what];
}

/* The smaller the better, in ps; inside: the share outside in parts of 10^12. */
static uint64_t score(const struct row *r, const struct aim *aim)
{
  if (aim->what == 7) {
    return r->subframes ? (uint64_t)((unsigned __int128)(r->subframes - r->inside) * 1000000000000u / r->subframes)
                        : UINT64_MAX;
  }
  return aim->subframe ? figure(&r->subframe, aim->what) : figure(&r->packet, aim->what) + r->fill_ps;
}

static int eligible(const struct row *r, const struct aim *aim)
{
  return r->complete && r->stable && !r->lost && (double)r->load_ppm * 1e-6 < aim->below &&
         (aim->subframe ? r->subframe.count : r->packet.count) > 0;
}

static void point_name(const struct sweep *s, size_t point, char *text, size_t size)
{
  if (s->n_axes == 2) {
    snprintf(text, size, "%s=%s %s=%s", s->axes[0].key, value_of(s, point, 0), s->axes[1].key, value_of(s, point, 1));
  } else {
    snprintf(text, size, "%s=%s", s->axes[0].key, value_of(s, point, 0));
  }
}

/* Whether the first axis's value at one point is below that at another: neighbours of words are none. */
static int rises(const struct sweep *s, size_t low, size_t high)
{
  char *end_a, *end_b;
  const char *a = value_of(s, low, 0), *b = value_of(s, high, 0);
  const double x = strtod(a, &end_a), y = strtod(b, &end_b);

  return end_a != a && end_b != b && x < y;
}

/* Why not this neighbour, in words. */
static void against(const struct sweep *s, const struct row *rows, size_t point, size_t best, const struct aim *aim,
                    char *text, size_t size)
{
  const struct row *r = &rows[point], *b = &rows[best];
  const double more = ((double)score(r, aim) - (double)score(b, aim)) * 1e-6;
  char name[256];

  point_name(s, point, name, sizeof name);
  if (r->refused) {
    snprintf(text, size, "at %s the scenario is impossible", name);
  } else if (!r->complete) {
    snprintf(text, size, "%s is missing", name);
  } else if (!r->stable) {
    snprintf(text, size, "at %s the fixed costs saturate %s (%.1f %%)", name, r->limit, (double)r->load_ppm * 1e-4);
  } else if (r->lost) {
    snprintf(text, size, "at %s packets are lost (%s is at %.1f %%)", name, r->limit, (double)r->load_ppm * 1e-4);
  } else if ((double)r->load_ppm * 1e-6 >= aim->below) {
    snprintf(text, size, "at %s %s is busy %.1f %%, above the limit", name, r->limit, (double)r->load_ppm * 1e-4);
  } else if (aim->what == 7) {
    snprintf(text, size, "at %s %.4f %% are inside", name, 100.0 * (double)r->inside / (double)r->subframes);
  } else if (r->fill_ps > b->fill_ps) {
    snprintf(text, size,
             "at %s it is %.3f us more, where filling a packet takes %.3f us more: packetisation and framing rule",
             name, more, (double)(r->fill_ps - b->fill_ps) * 1e-6);
  } else {
    snprintf(text, size, "at %s it is %.3f us more, with %s busy %.1f %%: waiting rules", name, more, r->limit,
             (double)r->load_ppm * 1e-4);
  }
}

static size_t other_side(const struct sweep *s, const struct row *rows, size_t best, const struct aim *aim, int up)
{
  const size_t step = s->n_axes == 2 ? s->axes[1].n : 1;
  const double centre = strtod(value_of(s, best, 0), NULL);
  size_t at = best, found = SIZE_MAX;

  while (up ? at + step < s->n_points : at >= step) {
    double v;

    at = up ? at + step : at - step;
    if (up ? !rises(s, best, at) : !rises(s, at, best)) {
      break;
    }
    v = strtod(value_of(s, at, 0), NULL);
    if (!eligible(&rows[at], aim)) {
      return at;
    }
    if (score(&rows[at], aim) > score(&rows[best], aim)) {
      found = at;
      if (up ? v >= 2 * centre : 2 * v <= centre) {
        break;
      }
    }
  }
  return found;
}

static char *best_text(const struct sweep *s, const struct row *rows, const struct aim *aim, size_t *best, char *text,
                       size_t size)
{
  char name[256], below[512] = "", above[512] = "";
  size_t low, high, i;

  *best = SIZE_MAX;
  for (i = 0; i < s->n_points; i++) {
    if (eligible(&rows[i], aim) && (*best == SIZE_MAX || score(&rows[i], aim) < score(&rows[*best], aim))) {
      *best = i;
    }
  }
  if (*best == SIZE_MAX) {
    snprintf(text, size, "no point is stable, without losses and below %.4g %% of its busiest part", 100 * aim->below);
    return text;
  }
  point_name(s, *best, name, sizeof name);
  /* Along the first axis, on either side: the first point that may not be chosen, or a worse one at half or twice the
   * value (the very next ones differ by chance), or the last there is. */
  if ((low = other_side(s, rows, *best, aim, 0)) != SIZE_MAX) {
    against(s, rows, low, *best, aim, below, sizeof below);
  }
  if ((high = other_side(s, rows, *best, aim, 1)) != SIZE_MAX) {
    against(s, rows, high, *best, aim, above, sizeof above);
  }
  if (aim->what == 7) {
    snprintf(text, size, "%s: %.4f %% of the subframes inside, %s busy %.1f %%", name,
             100.0 * (double)rows[*best].inside / (double)rows[*best].subframes, rows[*best].limit,
             (double)rows[*best].load_ppm * 1e-4);
  } else {
    snprintf(text, size, "%s: %s of %s %.3f us, %s busy %.1f %%", name, aims[aim->what],
             aim->subframe ? "a subframe" : "a packet from its first sample", (double)score(&rows[*best], aim) * 1e-6,
             rows[*best].limit, (double)rows[*best].load_ppm * 1e-4);
  }
  if (below[0]) {
    snprintf(text + strlen(text), size - strlen(text), "; below it, %s", below);
  }
  if (above[0]) {
    snprintf(text + strlen(text), size - strlen(text), "; above it, %s", above);
  }
  return text;
}

static void us(FILE *out, uint64_t ps)
{
  fprintf(out, " %11.3f", (double)ps * 1e-6);
}

static void print_text(const struct sweep *s, const struct row *rows, const char *best, const struct aim *aim)
{
  size_t i;
  unsigned a;

  for (a = 0; a < s->n_axes; a++) {
    printf("%-14s ", s->axes[a].key);
  }
  printf("%8s %-10s %11s %11s %11s %11s %11s %9s %9s\n", "busiest", "", "fill us", "packet p50", "packet p99.9",
         "subfr. mean", "subfr. p99.9", "inside %", "lost %");
  for (i = 0; i < s->n_points; i++) {
    const struct row *r = &rows[i];

    for (a = 0; a < s->n_axes; a++) {
      printf("%-14s ", value_of(s, i, a));
    }
    if (r->refused) {
      printf("refused: %s\n", r->refused);
      continue;
    }
    if (!r->complete && !r->sent) {
      puts("missing");
      continue;
    }
    printf("%7.2f%% %-10s", (double)r->load_ppm * 1e-4, r->limit ? r->limit : "-");
    us(stdout, r->fill_ps);
    if (!r->stable) {
      puts("  unstable");
      continue;
    }
    us(stdout, r->packet.p50);
    us(stdout, r->packet.p999);
    if (r->subframes) {
      us(stdout, r->subframe.mean);
      us(stdout, r->subframe.p999);
      printf(" %9.4f", 100.0 * (double)r->inside / (double)r->subframes);
    } else {
      printf(" %11s %11s %9s", "-", "-", "-");
    }
    printf(" %9.4f\n", r->sent ? 100.0 * (double)r->lost / (double)r->sent : 0.0);
  }
  printf("\nbest (least %s of the %s, no losses, busiest below %.4g %%)\n  %s\n", aims[aim->what],
         aim->subframe ? "subframe" : "packet", 100 * aim->below, best);
}

static json_t *summary_json(const struct tlg_delays_summary *d, int known)
{
  if (!known || !d->count) {
    return json_null();
  }
  return json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "count", (json_int_t)d->count, "mean_ps",
                   (json_int_t)d->mean, "min_ps", (json_int_t)d->min, "p50_ps", (json_int_t)d->p50, "p90_ps",
                   (json_int_t)d->p90, "p99_ps", (json_int_t)d->p99, "p999_ps", (json_int_t)d->p999, "p9999_ps",
                   (json_int_t)d->p9999, "max_ps", (json_int_t)d->max);
}

static int print_json(const struct sweep *s, const struct row *rows, const char *text, size_t best,
                      const struct aim *aim)
{
  json_t *list = json_array(), *o = json_object();
  size_t i;
  unsigned a;

  for (i = 0; i < s->n_points; i++) {
    const struct row *r = &rows[i];
    json_t *row = json_object(), *at = json_object();

    for (a = 0; a < s->n_axes; a++) {
      json_object_set_new(at, s->axes[a].key, json_string(value_of(s, i, a)));
    }
    json_object_set_new(row, "at", at);
    json_object_set_new(row, "refused", r->refused ? json_string(r->refused) : json_null());
    json_object_set_new(row, "complete", json_boolean(r->complete));
    json_object_set_new(row, "stable", json_boolean(r->stable));
    json_object_set_new(row, "busiest", r->limit ? json_string(r->limit) : json_null());
    json_object_set_new(row, "busiest_percent", cli_number((double)r->load_ppm * 1e-4, 4));
    json_object_set_new(row, "fill_ps", json_integer((json_int_t)r->fill_ps));
    json_object_set_new(row, "sent", json_integer((json_int_t)r->sent));
    json_object_set_new(row, "lost", json_integer((json_int_t)r->lost));
    json_object_set_new(row, "subframes", json_integer((json_int_t)r->subframes));
    json_object_set_new(row, "inside", json_integer((json_int_t)r->inside));
    json_object_set_new(row, "packet", summary_json(&r->packet, r->stable));
    json_object_set_new(row, "subframe", summary_json(&r->subframe, r->stable));
    json_array_append_new(list, row);
  }
  json_object_set_new(o, "vary", json_deep_copy(json_object_get(s->header, "vary")));
  json_object_set_new(o, "set", json_deep_copy(json_object_get(s->header, "set")));
  json_object_set_new(o, "runs", json_integer(s->runs));
  json_object_set_new(o, "aim",
                      json_pack("{s:s,s:s,s:o}", "figure", aims[aim->what], "of", aim->subframe ? "subframe" : "packet",
                                "below_percent", cli_number(100 * aim->below, 6)));
  json_object_set_new(o, "rows", list);
  json_object_set_new(o, "best", best == SIZE_MAX ? json_null() : json_integer((json_int_t)best));
  json_object_set_new(o, "why", json_string(text));
  return cli_print_json(NAME, o, stdout);
}

static int aim_parse(struct aim *aim)
{
  size_t i;

  aim->what = 4;
  aim->below = 0.9;
  aim->subframe = -1;
  if (options.aim) {
    for (i = 0; i < sizeof aims / sizeof *aims && strcmp(aims[i], options.aim) != 0; i++) {
    }
    if (i == sizeof aims / sizeof *aims) {
      return cli_usage(NAME, "--aim %s: mean, p50, p90, p99, p999, p9999, max or inside", options.aim);
    }
    aim->what = i;
  }
  if (options.of && strcmp(options.of, "packet") != 0 && strcmp(options.of, "subframe") != 0) {
    return cli_usage(NAME, "--of %s: packet or subframe", options.of);
  }
  if (options.of) {
    aim->subframe = options.of[0] == 's';
  }
  return cli_real(NAME, "--below", options.below, 0.01, 1.0, &aim->below);
}

static int report(const struct sweep *s, struct aim *aim)
{
  struct row *rows = calloc(s->n_points, sizeof *rows);
  char text[2048];
  size_t i, best;
  int status = 0, subframes = 0, refused = 0;

  if (!rows) {
    cli_say(NAME, "out of memory");
    return CLI_SYSTEM;
  }
  for (i = 0; i < s->n_points && !status; i++) {
    status = row_make(s, i, &rows[i]) ? 0 : CLI_BAD_INPUT;
    subframes |= rows[i].subframe.count > 0;
    refused += rows[i].refused != NULL;
  }
  if (!status) {
    if (aim->subframe < 0 || aim->what == 7) {
      aim->subframe = subframes || aim->what == 7;
    }
    best_text(s, rows, aim, &best, text, sizeof text);
    if (options.json) {
      status = print_json(s, rows, text, best, aim);
    } else {
      print_text(s, rows, text, aim);
    }
    if (!status && (size_t)refused == s->n_points) {
      cli_say(NAME, "every point was refused: %s", rows[0].refused);
      status = CLI_BAD_INPUT;
    }
  }
  free(rows);
  return cli_finish(NAME, stdout, status);
}

/* ---- the two commands -------------------------------------------------------------------------------------- */

static void sweep_free(struct sweep *s)
{
  unsigned a;
  size_t i;

  for (a = 0; a < MOST_VARIED; a++) {
    for (i = 0; i < s->axes[a].n; i++) {
      free(s->axes[a].values[i]);
    }
    free(s->axes[a].values);
  }
  for (i = 0; s->units && i < s->n_units; i++) {
    json_decref(s->units[i]);
  }
  free(s->units);
  free(s->jobs);
  json_decref(s->header);
}

static int size_up(struct sweep *s)
{
  s->n_points = s->axes[0].n * (s->n_axes == 2 ? s->axes[1].n : 1);
  if (s->n_points > MOST_POINTS || s->n_points == 0) {
    return cli_usage(NAME, "%zu points: 1 to %d", s->n_points, MOST_POINTS);
  }
  s->n_units = s->n_points * s->runs;
  s->units = calloc(s->n_units, sizeof *s->units);
  s->jobs = calloc(s->n_units, sizeof *s->jobs);
  if (!s->units || !s->jobs) {
    cli_say(NAME, "out of memory");
    return CLI_SYSTEM;
  }
  return 0;
}

/* From the header of a part: what was varied. */
static int header_take(struct sweep *s)
{
  const json_t *axes = json_object_get(s->header, "vary");
  size_t a, i;

  s->runs = (unsigned)integer(s->header, "runs");
  s->seed = integer(s->header, "seed");
  s->n_axes = (unsigned)json_array_size(axes);
  if (s->n_axes < 1 || s->n_axes > MOST_VARIED || s->runs < 1 || s->runs > MOST_RUNS) {
    return 0;
  }
  for (a = 0; a < s->n_axes; a++) {
    const json_t *axis = json_array_get(axes, a), *values = json_object_get(axis, "values");
    const char *key = json_string_value(json_object_get(axis, "key"));

    if (!key) {
      return 0;
    }
    snprintf(s->axes[a].key, sizeof s->axes[a].key, "%s", key);
    for (i = 0; i < json_array_size(values); i++) {
      const char *value = json_string_value(json_array_get(values, i));

      if (!value || !axis_add(&s->axes[a], value)) {
        return 0;
      }
    }
  }
  return 1;
}

/* All results as one file, as the sweep in one go would have left it. */
static int merged_write(const struct sweep *s)
{
  struct tlg_outfile *out = NULL;
  struct tlg_error err = {0};
  int failed = tlg_outfile_open(&out, options.output, options.force, &err);
  size_t i, length = 0;

  for (i = 0; i <= s->n_units && failed == TLG_OK; i++) {
    const json_t *o = i ? s->units[i - 1] : s->header;
    char *line = o ? seal_json(o, &length) : NULL;

    if (o && !line) {
      tlg_outfile_abort(out);
      cli_say(NAME, "out of memory");
      return CLI_SYSTEM;
    }
    failed = line ? tlg_outfile_write(out, line, length, &err) : TLG_OK;
    free(line);
  }
  if (failed != TLG_OK) {
    tlg_outfile_abort(out);
  } else {
    failed = tlg_outfile_close(out, &err);
  }
  return failed == TLG_OK ? 0 : cli_fail(NAME, options.output, &err);
}

static int merge(const char **parts, int n, struct aim *aim)
{
  struct sweep s = {.runs = 1, .shards = 1};
  size_t i, missing = 0;
  long whole;
  int k, status = part_read(&s, parts[0], 1, &whole);

  if (!status && !header_take(&s)) {
    cli_say(NAME, "%s:1: its header is damaged", parts[0]);
    status = CLI_BAD_INPUT;
  }
  status = status ? status : size_up(&s);
  for (k = 0; k < n && !status; k++) {
    status = part_read(&s, parts[k], 0, &whole);
  }
  for (i = 0; i < s.n_units && !status; i++) {
    missing += !s.units[i];
  }
  if (!status && missing && !options.partial) {
    cli_say(NAME, "%zu of %zu results are missing: name all parts, or give --partial", missing, s.n_units);
    status = CLI_BAD_INPUT;
  }
  if (!status && options.output) {
    status = merged_write(&s);
  }
  status = status ? status : report(&s, aim);
  sweep_free(&s);
  return status;
}

/* The log of a sweep that can go on later: FILE.part until it is whole. */
static int log_open(struct sweep *s, char *part, size_t size)
{
  long whole = 0;
  int status;
  size_t length = 0;
  char *text;

  snprintf(part, size, "%s.part", options.output);
  if (access(options.output, F_OK) == 0 && !options.force) {
    return cli_usage(NAME, "%s exists; --force overwrites it", options.output);
  }
  if (access(part, F_OK) == 0) {
    status = part_read(s, part, 0, &whole);
    if (status) {
      cli_say(NAME, "%s is left over from another run, or damaged: remove it", part);
      return status;
    }
    if (truncate(part, whole) != 0) {
      cli_say(NAME, "%s: %s", part, strerror(errno));
      return CLI_SYSTEM;
    }
    cli_say(NAME, "%s: going on, %zu results are there", part, s->n_known);
  }
  s->log = fopen(part, "a");
  if (!s->log) {
    cli_say(NAME, "%s: %s", part, strerror(errno));
    return CLI_SYSTEM;
  }
  if (!whole) {
    text = seal_json(s->header, &length);
    log_line(s, text, length);
  }
  return 0;
}

static int sweep_run(struct sweep *s, struct aim *aim)
{
  struct cli_workers w = {.run = work, .result = worked, .context = s};
  char part[4096] = "";
  uint64_t workers = 0;
  size_t i;
  int status = size_up(s);

  if (status || (status = cli_count(NAME, "--workers", options.workers, &workers)) != 0) {
    return status;
  }
  w.n_workers = workers > 256 ? 256 : (unsigned)workers;
  s->header = header_new(s);
  if (options.output && (status = log_open(s, part, sizeof part)) != 0) {
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
  if (!status && options.output && rename(part, options.output) != 0) {
    cli_say(NAME, "%s: %s", options.output, strerror(errno));
    status = CLI_SYSTEM;
  }
  if (status) {
    return status;
  }
  if (s->shards > 1) {
    cli_say(NAME, "part %u of %u: %zu results in %s; 'taplag sweep merge' puts the parts together", s->shard + 1,
            s->shards, s->n_known, options.output);
    return 0;
  }
  return report(s, aim);
}

static int run(const char *scenario, struct aim *aim)
{
  struct sweep s = {.runs = 1, .shards = 1};
  struct tlg_sim_scenario *checked = NULL;
  struct tlg_error err = {0};
  char path[4096];
  uint64_t runs = 1;
  int status = 0;
  size_t i;

  if (varied.n < 1 || varied.n > MOST_VARIED) {
    return cli_usage(NAME, "give --vary once or twice");
  }
  if (cli_count(NAME, "--runs", options.runs, &runs) || cli_count(NAME, "--seed", options.seed, &s.seed)) {
    return CLI_USAGE;
  }
  if (runs < 1 || runs > MOST_RUNS) {
    return cli_usage(NAME, "--runs %s: 1 to %d", options.runs, MOST_RUNS);
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
  tlg_sim_scenario_free(checked);
  s.path = path;
  s.n_axes = (unsigned)varied.n;
  for (i = 0; i < varied.n && !status; i++) {
    status = axis_parse(&s.axes[i], varied.list[i]);
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
    status = aim_parse(&aim);
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
