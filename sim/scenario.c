/* SPDX-License-Identifier: Apache-2.0 */
/* Scenario files (libconfig): every key checked, every mistake with its line. */
#include "horizon.h"

#include <errno.h>
#include <libconfig.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_SIZES = 65536, MOST_SETTINGS = 64 };

struct reader {
  config_t config;
  struct tlg_sim_scenario *s;
  const char *path;
  struct tlg_error *err;
  int status;
  const char *const *settings;
  config_setting_t *set[MOST_SETTINGS]; /* where each setting went */
  double duration_s;
};

static char used; /* its address marks a key that was looked at */

/* ---- errors ------------------------------------------------------------------------------------------------ */

static void wrong(struct reader *r, const config_setting_t *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void wrong(struct reader *r, const config_setting_t *at, const char *format, ...)
{
  char text[360];
  va_list ap;
  unsigned i;

  if (r->status != TLG_OK) {
    return; /* the first mistake is the one that is told */
  }
  va_start(ap, format);
  vsnprintf(text, sizeof text, format, ap);
  va_end(ap);
  for (i = 0; r->settings && r->settings[i] && i < MOST_SETTINGS; i++) {
    if (at && r->set[i] == at) {
      r->status = tlg_error_set(r->err, TLG_EINVAL, "--set %s: %s", r->settings[i], text);
      return;
    }
  }
  {
    const char *file = at ? config_setting_source_file(at) : NULL;

    if (file && strcmp(file, r->path) != 0) {
      r->status = tlg_error_set(r->err, TLG_EFORMAT, "in %s:%u: %s", file, config_setting_source_line(at), text);
    } else {
      r->status = tlg_error_at(r->err, TLG_EFORMAT, at ? config_setting_source_line(at) : 0, UINT64_MAX, "%s", text);
    }
  }
}

/* A setting that leads nowhere: the caller's mistake, not the file's. */
static void wrong_setting(struct reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void wrong_setting(struct reader *r, const char *format, ...)
{
  char text[360];
  va_list ap;

  va_start(ap, format);
  vsnprintf(text, sizeof text, format, ap);
  va_end(ap);
  if (r->status == TLG_OK) {
    r->status = tlg_error_set(r->err, TLG_EINVAL, "--set %s", text);
  }
}

/* ---- values ------------------------------------------------------------------------------------------------ */

static config_setting_t *member(const config_setting_t *group, const char *key)
{
  config_setting_t *m = group ? config_setting_get_member(group, key) : NULL;

  if (m) {
    config_setting_set_hook(m, &used);
  }
  return m;
}

static int number_of(const config_setting_t *m, double *value)
{
  switch (config_setting_type(m)) {
  case CONFIG_TYPE_INT:
    *value = config_setting_get_int(m);
    return 1;
  case CONFIG_TYPE_INT64:
    *value = (double)config_setting_get_int64(m);
    return 1;
  case CONFIG_TYPE_FLOAT:
    *value = config_setting_get_float(m);
    return 1;
  default:
    return 0;
  }
}

/* Whether a line of the file has a whole number beyond 64 bits, which libconfig reads as a negative one. */
static int overlong(const struct reader *r, const config_setting_t *m)
{
  const char *file = config_setting_source_file(m);
  const unsigned line = config_setting_source_line(m);
  FILE *f = line ? fopen(file ? file : r->path, "r") : NULL;
  char text[4096];
  unsigned n = 0;
  int found = 0;

  while (f && n < line && fgets(text, sizeof text, f)) {
    const char *p = text;

    for (n++; n == line && *p; p += strspn(p, "0123456789"), p += *p != '\0') {
      found |= strspn(p, "0123456789") > 18;
    }
  }
  if (f) {
    fclose(f);
  }
  return found;
}

static double number(struct reader *r, const config_setting_t *group, const char *key, double low, double high,
                     double otherwise)
{
  config_setting_t *m = member(group, key);
  double value;

  if (!m) {
    return otherwise;
  }
  if (!number_of(m, &value)) {
    wrong(r, m, "%s wants a number from %.10g to %.10g", key, low, high);
    return otherwise;
  }
  if (value < 0 && overlong(r, m)) {
    wrong(r, m, "%s has more digits than fit: it is outside %.10g to %.10g", key, low, high);
    return otherwise;
  }
  if (!(value >= low && value <= high)) {
    wrong(r, m, "%s = %.10g is outside %.10g to %.10g", key, value, low, high);
    return otherwise;
  }
  return value;
}

/* A number in a unit, as an integer of the smaller one: the nearest. */
static uint64_t scaled(struct reader *r, const config_setting_t *group, const char *key, double scale, double high)
{
  return (uint64_t)floor(number(r, group, key, 0, high, 0) * scale + 0.5);
}

static uint64_t us_ps(struct reader *r, const config_setting_t *group, const char *key)
{
  return scaled(r, group, key, 1e6, 3.6e9);
}

static uint64_t whole(struct reader *r, const config_setting_t *group, const char *key, double low, double high,
                      uint64_t otherwise)
{
  const double v = number(r, group, key, low, high, (double)otherwise);

  if (v != floor(v)) {
    wrong(r, config_setting_get_member(group, key), "%s = %.10g must be a whole number", key, v);
  }
  return (uint64_t)v;
}

static int truth(struct reader *r, const config_setting_t *group, const char *key, int otherwise)
{
  config_setting_t *m = member(group, key);

  if (!m) {
    return otherwise;
  }
  if (config_setting_type(m) != CONFIG_TYPE_BOOL) {
    wrong(r, m, "%s wants true or false", key);
    return otherwise;
  }
  return config_setting_get_bool(m);
}

static const char *text(struct reader *r, const config_setting_t *group, const char *key, const char *otherwise)
{
  config_setting_t *m = member(group, key);

  if (!m) {
    return otherwise;
  }
  if (config_setting_type(m) != CONFIG_TYPE_STRING) {
    wrong(r, m, "%s wants a text in quotes", key);
    return otherwise;
  }
  return config_setting_get_string(m);
}

/* The index of a word in a list that ends with NULL. */
static int word(struct reader *r, const config_setting_t *group, const char *key, const char *const *words,
                int otherwise)
{
  const char *value = text(r, group, key, NULL);
  char all[200] = "";
  int i;

  if (!value) {
    return otherwise;
  }
  for (i = 0; words[i]; i++) {
    if (strcmp(value, words[i]) == 0) {
      return i;
    }
    strncat(all, i ? ", " : "", sizeof all - strlen(all) - 1);
    strncat(all, words[i], sizeof all - strlen(all) - 1);
  }
  wrong(r, config_setting_get_member(group, key), "%s = \"%s\" is none of: %s", key, value, all);
  return otherwise;
}

/* "25M", "184320000/7", or a number. */
static void rate(struct reader *r, const config_setting_t *group, const char *key, struct tlg_rate *value)
{
  config_setting_t *m = member(group, key);
  char digits[64];
  double v;

  if (!m) {
    return;
  }
  if (number_of(m, &v)) {
    snprintf(digits, sizeof digits, "%.17g", v);
    if (v <= 0 || tlg_rate_parse(value, digits) != TLG_OK) {
      wrong(r, m, "%s = %g is no rate", key, v);
    }
  } else if (config_setting_type(m) != CONFIG_TYPE_STRING ||
             tlg_rate_parse(value, config_setting_get_string(m)) != TLG_OK) {
    wrong(r, m, "%s wants a rate such as \"25M\" or \"184320000/7\"", key);
  }
}

static const config_setting_t *section(struct reader *r, const char *key)
{
  config_setting_t *m = member(config_root_setting(&r->config), key);

  if (m && !config_setting_is_group(m)) {
    wrong(r, m, "%s wants a group: %s = { ... };", key, key);
    return NULL;
  }
  return m;
}

/* ---- distributions and costs ------------------------------------------------------------------------------- */

static int three(const config_setting_t *list, int n, double *v)
{
  int i;

  if (!list || !(config_setting_is_list(list) || config_setting_is_array(list)) || config_setting_length(list) != n) {
    return 0;
  }
  for (i = 0; i < n; i++) {
    const config_setting_t *e = config_setting_get_elem(list, (unsigned)i);

    if (!number_of(e, &v[i]) || !(v[i] >= 0) || v[i] > 3.6e9) {
      return 0;
    }
  }
  return 1;
}

static void points(struct reader *r, const config_setting_t *m, struct tlg_dist *d, int histogram)
{
  const config_setting_t *list = member(m, histogram ? "bins_us" : "points_us");
  const int n = list ? config_setting_length(list) : 0;
  double total = 0, below = 0, v[3];
  int i;

  if (!list || !config_setting_is_list(list) || n < 1 || n * (histogram ? 2 : 1) > TLG_DIST_POINTS) {
    wrong(r, m,
          histogram ? "a histogram wants bins_us = ((low, high, count), ...), at most %d"
                    : "a table wants points_us = ((probability, us), ...), at most %d",
          TLG_DIST_POINTS / (histogram ? 2 : 1));
    return;
  }
  for (i = 0; i < n; i++) {
    if (!three(config_setting_get_elem(list, (unsigned)i), histogram ? 3 : 2, v) || (!histogram && v[0] > 1)) {
      wrong(r, list, "entry %d wants %s", i + 1, histogram ? "(low, high, count)" : "(probability, us)");
      return;
    }
    total += histogram ? v[2] : 0;
  }
  if (histogram && total <= 0) {
    wrong(r, list, "a histogram without counts");
    return;
  }
  for (i = 0; i < n; i++) {
    struct tlg_dist_point *p = &d->points[d->n_points];

    three(config_setting_get_elem(list, (unsigned)i), histogram ? 3 : 2, v);
    if (histogram) {
      p[0].below_ppb = (uint32_t)floor(below / total * 1e9 + 0.5);
      p[0].value_ps = (uint64_t)floor(v[0] * 1e6 + 0.5);
      below += v[2];
      p[1].below_ppb = (uint32_t)floor(below / total * 1e9 + 0.5);
      p[1].value_ps = (uint64_t)floor(v[1] * 1e6 + 0.5);
      d->n_points += 2;
    } else {
      p->below_ppb = (uint32_t)floor(v[0] * 1e9 + 0.5);
      p->value_ps = (uint64_t)floor(v[1] * 1e6 + 0.5);
      d->n_points++;
    }
  }
}

static void dist(struct reader *r, const config_setting_t *group, const char *key, struct tlg_dist *d)
{
  static const char *const kinds[] = {"constant", "uniform", "exponential", "table", "histogram", NULL};
  config_setting_t *m = member(group, key);
  struct tlg_error err = {0};
  double v;
  int kind;

  if (!m) {
    return;
  }
  if (number_of(m, &v)) {
    d->low_ps = us_ps(r, group, key);
    return;
  }
  if (!config_setting_is_group(m)) {
    wrong(r, m, "%s wants a number of us, or a group with kind = \"uniform\", \"exponential\", ...", key);
    return;
  }
  kind = word(r, m, "kind", kinds, 0);
  d->kind = kind == 4 ? TLG_DIST_TABLE : (enum tlg_dist_kind)kind;
  if (kind == 3 || kind == 4) {
    points(r, m, d, kind == 4);
  } else if (kind == 1) {
    d->low_ps = us_ps(r, m, "low_us");
    d->high_ps = us_ps(r, m, "high_us");
  } else {
    if (!member(m, "mean_us")) {
      wrong(r, m, "%s wants mean_us", key);
    }
    d->low_ps = us_ps(r, m, "mean_us");
  }
  if (r->status == TLG_OK && tlg_dist_check(d, &err) != TLG_OK) {
    wrong(r, m, "%s: %s", key, err.text);
  }
}

static void cost(struct reader *r, const config_setting_t *group, struct tlg_cost *c)
{
  c->fixed_ps = us_ps(r, group, "fixed_us");
  c->alloc_ps = us_ps(r, group, "alloc_us");
  c->per_sample_fs = scaled(r, group, "sample_ns", 1e6, 1e6);
  c->per_byte_fs = scaled(r, group, "byte_ns", 1e6, 1e6);
  dist(r, group, "jitter", &c->jitter);
}

/* ---- sections ---------------------------------------------------------------------------------------------- */

static int sizes_add(struct tlg_sim_scenario *s, uint32_t n)
{
  if ((s->n_sizes & (s->n_sizes - 1)) == 0) {
    uint32_t *grown = realloc(s->sizes, (s->n_sizes ? 2 * s->n_sizes : 1) * sizeof *grown);

    if (!grown) {
      return 0;
    }
    s->sizes = grown;
  }
  s->sizes[s->n_sizes++] = n;
  return 1;
}

static void size_add(struct reader *r, const config_setting_t *at, double n)
{
  if (!(n >= 1 && n <= 10000000) || n != floor(n)) {
    wrong(r, at, "a packet of %.10g samples: 1 to 10000000, a whole number", n);
  } else if (r->s->n_sizes == MOST_SIZES) {
    wrong(r, at, "more than %d packet sizes", MOST_SIZES);
  } else if (!sizes_add(r->s, (uint32_t)n)) {
    r->status = tlg_error_set(r->err, TLG_ENOMEM, "out of memory");
  }
}

/* A recorded pattern: one size a line, # begins a comment. The path counts from the scenario's folder. */
static void pattern(struct reader *r, const config_setting_t *at, const char *name)
{
  char path[4096], line[128];
  const char *slash = strrchr(r->path, '/');
  unsigned n = 0;
  FILE *f;

  snprintf(path, sizeof path, "%.*s%s", slash && name[0] != '/' ? (int)(slash - r->path + 1) : 0, r->path, name);
  f = fopen(path, "r");
  if (!f) {
    wrong(r, at, "the pattern %s cannot be read: %s", path, strerror(errno));
    return;
  }
  while (r->status == TLG_OK && fgets(line, sizeof line, f)) {
    char *end;
    const double v = strtod(line, &end);

    n++;
    if (line[0] == '#' || line[0] == '\n') {
      continue;
    }
    if (end == line || strspn(end, " \t\r\n") != strlen(end)) {
      wrong(r, at, "%s:%u: wants one packet size a line", path, n);
    } else {
      size_add(r, at, v);
    }
  }
  fclose(f);
  if (r->status == TLG_OK && !r->s->n_sizes) {
    wrong(r, at, "the pattern %s has no packet in it", path);
  }
}

static void source(struct reader *r)
{
  static const char *const arrivals[] = {"clock", "poisson", NULL};
  static const char *const kinds[] = {"fixed", "geometric", NULL};
  const config_setting_t *g = section(r, "source");
  struct tlg_sim_scenario *s = r->s;
  config_setting_t *packet;
  double v;
  int i;

  if (!g) {
    wrong(r, NULL, "the source is missing: source = { rate = \"25M\"; packet = 364; };");
    if (r->err && r->status == TLG_EFORMAT) {
      r->err->line = 1;
    }
    return;
  }
  rate(r, g, "rate", &s->rate);
  s->sample_bytes = (uint32_t)whole(r, g, "sample_bytes", 1, 64, 4);
  packet = member(g, "packet");
  s->n_sizes = 0;
  if (!packet) {
    size_add(r, g, 625);
  } else if (number_of(packet, &v)) {
    size_add(r, packet, v);
  } else if (config_setting_type(packet) == CONFIG_TYPE_STRING) {
    pattern(r, packet, config_setting_get_string(packet));
  } else if ((config_setting_is_array(packet) || config_setting_is_list(packet)) && config_setting_length(packet)) {
    for (i = 0; i < config_setting_length(packet); i++) {
      if (number_of(config_setting_get_elem(packet, (unsigned)i), &v)) {
        size_add(r, packet, v);
      } else {
        wrong(r, packet, "each of the packet sizes is a number of samples, as in [362, 364]");
      }
    }
  } else {
    wrong(r, packet, "packet wants a size, a list [362, 364] or the name of a recorded pattern");
  }
  s->arrivals = (enum tlg_arrivals)word(r, g, "arrivals", arrivals, TLG_ARRIVALS_CLOCK);
  s->batch = (uint32_t)whole(r, g, "batch", 1, 1000000, 1);
  s->batch_kind = (enum tlg_batch)word(r, g, "batch_kind", kinds, TLG_BATCH_FIXED);
}

/* 0, as a number or a text. */
static int zero(const config_setting_t *m)
{
  double v;

  return m && ((number_of(m, &v) && v == 0) ||
               (config_setting_type(m) == CONFIG_TYPE_STRING && strcmp(config_setting_get_string(m), "0") == 0));
}

static void network(struct reader *r)
{
  static const char *const flow[] = {"off", "on", "ignored", NULL};
  const config_setting_t *g = section(r, "network");
  struct tlg_sim_scenario *s = r->s;
  struct tlg_rate link = {0, 1};

  s->header_bytes = 16;
  s->mtu = 1500;
  if (!g) {
    return;
  }
  s->has_link = 1;
  if (!zero(member(g, "link"))) {
    rate(r, g, "link", &link);
  }
  s->link_bps = link.num / (link.den ? link.den : 1);
  s->mtu = (uint32_t)whole(r, g, "mtu", 576, 65535, 1500);
  s->header_bytes = (uint32_t)whole(r, g, "header_bytes", 0, 1024, 16);
  s->link_latency_ps = us_ps(r, g, "latency_us");
  s->sender_buffer_bytes = whole(r, g, "sender_buffer_bytes", 0, 1e12, 0);
  s->flow = (enum tlg_flow_control)word(r, g, "flow_control", flow, TLG_FLOW_OFF);
}

static void nic(struct reader *r)
{
  static const char *const kinds[] = {"off",        "tick",  "oneshot", "gap",  "igb",
                                      "igb-single", "ixgbe", "dim",     "poll", NULL};
  const config_setting_t *g = section(r, "nic");
  struct tlg_sim_scenario *s = r->s;

  s->queues = s->flows = 1;
  if (!g) {
    return;
  }
  s->has_nic = 1;
  s->ring = (uint32_t)whole(r, g, "ring", 0, 65536, 0);
  s->queues = (uint32_t)whole(r, g, "queues", 1, 256, 1);
  s->flows = (uint32_t)whole(r, g, "flows", 1, 65536, 1);
  s->moderation = (enum tlg_moderation)word(r, g, "moderation", kinds, TLG_MODERATION_OFF);
  s->moderation_ps = us_ps(r, g, "usecs");
  s->moderation_phase_ps = us_ps(r, g, "phase_us");
  s->moderation_frames = (uint32_t)whole(r, g, "frames", 0, 65535, 0);
  s->other_every_ps = us_ps(r, g, "other_every_us");
  s->other_bytes = (uint32_t)whole(r, g, "other_bytes", 60, 65535, 60);
}

static void kernel(struct reader *r)
{
  const config_setting_t *g = section(r, "kernel");
  struct tlg_sim_scenario *s = r->s;

  if (!g) {
    return;
  }
  s->has_kernel = 1;
  dist(r, g, "interrupt_us", &s->interrupt);
  cost(r, g, &s->kernel);
  s->fragment_ps = us_ps(r, g, "fragment_us");
  s->checksum_fs = scaled(r, g, "checksum_byte_ns", 1e6, 1e6);
  if (truth(r, g, "checksum_offload", 1)) {
    s->checksum_fs = 0;
  }
  s->budget = (uint32_t)whole(r, g, "budget", 0, 65536, 0);
  s->budget_ps = us_ps(r, g, "budget_us");
}

static void socket_section(struct reader *r)
{
  const config_setting_t *g = section(r, "socket");

  if (!g) {
    return;
  }
  r->s->socket_bytes = whole(r, g, "buffer_bytes", 0, 1e12, 0);
  if (truth(r, g, "doubled", 0)) { /* the kernel doubles what setsockopt asks for */
    r->s->socket_bytes *= 2;
  }
  r->s->datagram_bytes = (uint32_t)whole(r, g, "datagram_bytes", 0, 1e9, 0);
}

static void name_of(struct reader *r, const config_setting_t *g, char *name, const char *what, unsigned number_from_0)
{
  const char *t = text(r, g, "name", NULL);

  if (t && (strlen(t) >= TLG_SIM_NAME || !t[0] || strpbrk(t, ". =\"\\"))) {
    wrong(r, config_setting_get_member(g, "name"), "a name has 1 to %d characters, none of them a dot, blank or quote",
          TLG_SIM_NAME - 1);
    return;
  }
  if (t) {
    snprintf(name, TLG_SIM_NAME, "%s", t);
  } else {
    snprintf(name, TLG_SIM_NAME, "%s%u", what, number_from_0 + 1);
  }
}

static void poll_loop(struct reader *r, const config_setting_t *thread, struct tlg_sim_thread *th)
{
  const config_setting_t *g = member(thread, "poll");

  if (!g) {
    return;
  }
  if (!config_setting_is_group(g)) {
    wrong(r, g, "poll wants a group");
    return;
  }
  th->poll.tasks = whole(r, g, "tasks", 1, 1e6, 1);
  th->poll.reads_per_task = whole(r, g, "reads_per_task", 0, 1000, 0);
  th->poll.reads_per_round = whole(r, g, "reads_per_round", 0, 1000000, 0);
  th->poll.reads_per_run = whole(r, g, "reads_per_run", 0, 1000, 0);
  th->poll.task_ps = us_ps(r, g, "task_us");
  th->poll.clock_ps = us_ps(r, g, "clock_us");
  th->poll.busy_ps = us_ps(r, g, "busy_us");
  if (th->poll.tasks * th->poll.task_ps + th->poll.busy_ps +
          (th->poll.tasks * th->poll.reads_per_task + th->poll.reads_per_round) * th->poll.clock_ps ==
      0) {
    wrong(r, g, "a polling round takes time: give task_us, clock_us or busy_us");
  }
}

/* Whether an earlier stage has the name that this one was given. */
static int stage_twice(const struct tlg_sim_scenario *s, const struct tlg_sim_stage *st)
{
  unsigned t, k;

  for (t = 0; t < s->n_threads; t++) {
    for (k = 0; k < s->threads[t].n_stages; k++) {
      if (&s->threads[t].stages[k] != st && strcmp(s->threads[t].stages[k].name, st->name) == 0) {
        return 1;
      }
    }
  }
  return 0;
}

static void threads(struct reader *r)
{
  static const char *const overrun[] = {"drop", "block", NULL};
  const config_setting_t *list = member(config_root_setting(&r->config), "threads"), *stages;
  struct tlg_sim_scenario *s = r->s;
  int i, k;

  if (!list) {
    return;
  }
  if (!config_setting_is_list(list) || config_setting_length(list) > TLG_SIM_THREADS) {
    wrong(r, list, "threads wants a list ( { ... }, ... ) of at most %d threads", TLG_SIM_THREADS);
    return;
  }
  for (i = 0; i < config_setting_length(list) && r->status == TLG_OK; i++) {
    const config_setting_t *g = config_setting_get_elem(list, (unsigned)i);
    struct tlg_sim_thread *th = &s->threads[s->n_threads++];

    if (!config_setting_is_group(g)) {
      wrong(r, g, "a thread wants a group { ... }");
      return;
    }
    name_of(r, g, th->name, "thread", (unsigned)i);
    th->core = (unsigned)whole(r, g, "core", 0, 1024, 0);
    th->queue = whole(r, g, "queue", 0, 1e9, 0);
    th->overrun = (enum tlg_sim_overrun)word(r, g, "overrun", overrun, TLG_SIM_DROP);
    th->wake_ps = us_ps(r, g, "wake_us");
    dist(r, g, "vacation_us", &th->vacation);
    poll_loop(r, g, th);
    stages = member(g, "stages");
    if (!stages || !config_setting_is_list(stages) || config_setting_length(stages) < 1 ||
        config_setting_length(stages) > TLG_SIM_STAGES) {
      wrong(r, stages ? stages : g, "a thread wants stages = ( { ... }, ... ), 1 to %d of them", TLG_SIM_STAGES);
      return;
    }
    for (k = 0; k < config_setting_length(stages) && r->status == TLG_OK; k++) {
      const config_setting_t *e = config_setting_get_elem(stages, (unsigned)k);
      struct tlg_sim_stage *st = &th->stages[th->n_stages++];

      if (!config_setting_is_group(e)) {
        wrong(r, e, "a stage wants a group { ... }");
        return;
      }
      name_of(r, e, st->name, "stage", (unsigned)k);
      if (config_setting_get_member(e, "name") && stage_twice(s, st)) {
        wrong(r, config_setting_get_member(e, "name"), "two stages are named '%s'", st->name);
      }
      cost(r, e, &st->cost);
      if (st->cost.per_byte_fs) {
        wrong(r, config_setting_get_member(e, "byte_ns"), "a stage's cost is by the sample: use sample_ns");
      }
      st->unit = whole(r, e, "unit", 0, 1e9, 0);
      st->unit_phase = whole(r, e, "unit_phase", 0, 1e9, 0);
    }
  }
}

/* Mean delay in us and throughput in MB/s at 256 B to 192 KiB, measured between two processes (threads for inproc) on a
 * two-core machine: read the order, not the digits. */
static const struct {
  const char *name;
  unsigned delay_us[7], mb_s[7];
} transports[] = {
    {"shm", {8, 11, 12, 14, 14, 20, 29}, {333, 1234, 2369, 3714, 8854, 8815, 8943}},
    {"unix", {14, 14, 13, 15, 22, 32, 46}, {79, 350, 823, 1543, 4304, 5282, 5695}},
    {"udp", {20, 17, 16, 20, 84, 233, 301}, {26, 106, 429, 786, 597, 347, 506}},
    {"zmq-inproc", {25, 23, 33, 71, 18, 124, 27}, {430, 1251, 2186, 1040, 2321, 2750, 2949}},
    {"zmq-ipc", {37, 85, 83, 96, 145, 162, 121}, {221, 105, 220, 200, 562, 840, 1613}},
    {"zmq-tcp", {37, 40, 43, 67, 88, 142, 160}, {197, 282, 242, 384, 556, 690, 467}},
    {"omniorb-unix", {27, 35, 23, 26, 41, 79, 101}, {54, 162, 459, 282, 1676, 1353, 2072}},
    {"omniorb-tcp", {21, 36, 28, 47, 72, 92, 83}, {8, 30, 169, 250, 1384, 1340, 2099}},
};

/* A transport measured by its user: what the hop is busy and takes on top, by the size of what is handed over. */
static void hop_points(struct reader *r, const config_setting_t *g, const char *kind)
{
  struct tlg_sim_scenario *s = r->s;
  config_setting_t *list = member(g, "points");
  const unsigned most = sizeof s->hop_points / sizeof *s->hop_points;
  unsigned i;

  if (!list) {
    return;
  }
  if (kind) {
    wrong(r, list, "transport and points exclude each other: name a measured table, or bring one");
    return;
  }
  if (!config_setting_is_list(list) || config_setting_length(list) < 1 ||
      (unsigned)config_setting_length(list) > most) {
    wrong(r, list, "points wants a list of 1 to %u groups: ( { bytes = 256; busy_us = 0.8; latency_us = 7.2; }, ... )",
          most);
    return;
  }
  for (i = 0; i < (unsigned)config_setting_length(list); i++) {
    config_setting_t *point = config_setting_get_elem(list, i);

    if (!config_setting_is_group(point)) {
      wrong(r, point, "each of the points is a group: { bytes = 256; busy_us = 0.8; latency_us = 7.2; }");
      return;
    }
    s->hop_points[i].bytes = whole(r, point, "bytes", 1, 1e9, 1);
    s->hop_points[i].busy_ps = us_ps(r, point, "busy_us");
    s->hop_points[i].latency_ps = us_ps(r, point, "latency_us");
    if (!config_setting_get_member(point, "bytes")) {
      wrong(r, point, "each of the points needs its bytes");
    } else if (!config_setting_get_member(point, "busy_us") || !config_setting_get_member(point, "latency_us")) {
      wrong(r, point, "each of the points needs its busy_us and its latency_us (0 where there is none)");
    } else if (i && s->hop_points[i].bytes <= s->hop_points[i - 1].bytes) {
      wrong(r, point, "the bytes of the points must rise");
    }
  }
  s->n_hop_points = i;
}

static void hop(struct reader *r)
{
  static const unsigned sizes[7] = {256, 1024, 4096, 8192, 65536, 131072, 196608};
  const config_setting_t *g = section(r, "hop");
  struct tlg_sim_scenario *s = r->s;
  const char *kind;
  size_t t;
  unsigned i;

  if (!g) {
    return;
  }
  s->has_hop = 1;
  cost(r, g, &s->hop);
  s->hop_latency_ps = us_ps(r, g, "latency_us");
  kind = text(r, g, "transport", NULL);
  hop_points(r, g, kind);
  if (!kind) {
    return;
  }
  for (t = 0; t < sizeof transports / sizeof *transports; t++) {
    if (strcmp(kind, transports[t].name) == 0) {
      for (i = 0; i < 7; i++) {
        const uint64_t busy = (uint64_t)sizes[i] * 1000000 / transports[t].mb_s[i];
        const uint64_t delay = transports[t].delay_us[i] * 1000000u;

        s->hop_points[i].bytes = sizes[i];
        s->hop_points[i].busy_ps = busy;
        s->hop_points[i].latency_ps = delay > busy ? delay - busy : 0;
      }
      s->n_hop_points = 7;
      return;
    }
  }
  wrong(r, config_setting_get_member(g, "transport"),
        "transport = \"%s\" is none of: shm, unix, udp, zmq-inproc, zmq-ipc, zmq-tcp, omniorb-unix, omniorb-tcp", kind);
}

static void phy(struct reader *r)
{
  const config_setting_t *g = section(r, "phy");
  struct tlg_sim_scenario *s = r->s;

  if (!g) {
    return;
  }
  s->has_phy = 1;
  rate(r, g, "rate", &s->out_rate);
  if (tlg_rate_ratio(&s->rate, &s->out_rate, &s->up, &s->down) != TLG_OK) {
    wrong(r, config_setting_get_member(g, "rate") ? config_setting_get_member(g, "rate") : g,
          "the ratio of the PHY's rate to the source's has a term above 65535: choose rates that the resampler can do");
  }
  s->subframe = whole(r, g, "subframe", 1, 1e9, 30720);
  s->offset = whole(r, g, "offset", 0, 1e12, 0);
  s->align_q0 = whole(r, g, "align_q0", 0, 1e9, 0);
  s->deadline_ps = us_ps(r, g, "deadline_us");
  if (!config_setting_get_member(g, "deadline_us")) {
    s->deadline_ps = 1200000000;
  }
}

static int server_named(const struct tlg_sim_scenario *s, const char *name)
{
  unsigned i, k;

  if (strcmp(name, "host") == 0) {
    return TLG_STALL_HOST;
  }
  if (strcmp(name, "kernel") == 0) {
    return TLG_STALL_KERNEL;
  }
  for (i = 0; i < s->n_threads; i++) {
    if (strcmp(name, s->threads[i].name) == 0) {
      return (int)i;
    }
    for (k = 0; k < s->threads[i].n_stages; k++) {
      if (strcmp(name, s->threads[i].stages[k].name) == 0) {
        return (int)i;
      }
    }
  }
  return -3;
}

static void stalls(struct reader *r)
{
  const config_setting_t *list = member(config_root_setting(&r->config), "stalls");
  struct tlg_sim_scenario *s = r->s;
  int i;

  if (!list) {
    return;
  }
  if (!config_setting_is_list(list) || config_setting_length(list) > TLG_SIM_STALLS) {
    wrong(r, list, "stalls wants a list ( { ... }, ... ) of at most %d", TLG_SIM_STALLS);
    return;
  }
  for (i = 0; i < config_setting_length(list) && r->status == TLG_OK; i++) {
    const config_setting_t *g = config_setting_get_elem(list, (unsigned)i);
    struct tlg_sim_stall *st = &s->stalls[s->n_stalls++];
    const char *on;

    if (!config_setting_is_group(g)) {
      wrong(r, g, "a stall wants a group { ... }");
      return;
    }
    on = text(r, g, "on", "host");
    st->on = server_named(s, on);
    if (st->on == -3) {
      wrong(r, config_setting_get_member(g, "on"), "on = \"%s\" is no thread or stage, nor \"kernel\" or \"host\"", on);
    }
    st->every_ps = scaled(r, g, "every_s", 1e12, 86400);
    st->phase_ps = scaled(r, g, "phase_s", 1e12, 86400);
    st->random = truth(r, g, "random", 0);
    dist(r, g, "length_us", &st->length);
    if (!st->every_ps) {
      wrong(r, g, "a stall wants every_s, its period or mean distance, above 0");
    }
    if (!tlg_dist_mean(&st->length)) {
      wrong(r, g, "a stall wants length_us above 0");
    }
    if (!st->random && tlg_dist_mean(&st->length) >= st->every_ps) {
      wrong(r, g, "stalls as long as their period leave no time to work");
    }
  }
}

/* ---- whole scenarios --------------------------------------------------------------------------------------- */

int tlg_sim_scenario_new(struct tlg_sim_scenario **out)
{
  struct tlg_sim_scenario *s;

  if (!out) {
    return TLG_EINVAL;
  }
  *out = NULL;
  s = calloc(1, sizeof *s);
  if (!s || !sizes_add(s, 625)) {
    free(s);
    return TLG_ENOMEM;
  }
  s->seed = 1;
  s->n_packets = 40000;
  s->rate.num = 25000000;
  s->rate.den = 1;
  s->sample_bytes = 4;
  s->batch = 1;
  s->mtu = 1500;
  s->header_bytes = 16;
  s->queues = s->flows = 1;
  s->out_rate.num = 30720000;
  s->out_rate.den = 1;
  s->up = 768;
  s->down = 625;
  s->subframe = 30720;
  s->deadline_ps = 1200000000;
  *out = s;
  return TLG_OK;
}

void tlg_sim_scenario_free(struct tlg_sim_scenario *s)
{
  if (s) {
    free(s->sizes);
    free(s);
  }
}

/* The reason why parts do not fit, and the key to blame. */
static int misfit(const struct tlg_sim_scenario *s, const char **key, char *why, size_t size)
{
  u128 cycle = 0;
  size_t i;
  unsigned t, k;

  *key = "source";
  if (!s->n_sizes || !s->sizes || !s->rate.num || !s->rate.den || !s->sample_bytes || !s->batch) {
    return snprintf(why, size, "a source wants a rate, a packet size and a batch above 0");
  }
  for (i = 0; i < s->n_sizes; i++) {
    struct tlg_sim_frame f;

    *key = "source.packet";
    if (!s->sizes[i]) {
      return snprintf(why, size, "a packet without samples");
    }
    cycle += s->sizes[i];
    if (s->has_link) {
      tlg_sim_frame(s, s->sizes[i], &f);
      if (f.payload_bytes > 65507) {
        return snprintf(why, size,
                        "a packet of %u samples is %llu bytes with its header, more than one UDP datagram holds "
                        "(65507): at most %u samples",
                        s->sizes[i], (unsigned long long)f.payload_bytes, (65507 - s->header_bytes) / s->sample_bytes);
      }
      if (s->has_nic && s->ring && f.frames > s->ring) {
        return snprintf(why, size, "a packet of %llu frames does not fit a ring of %u", (unsigned long long)f.frames,
                        s->ring);
      }
      if (s->sender_buffer_bytes && f.wire_bytes > s->sender_buffer_bytes) {
        return snprintf(why, size, "a packet of %llu bytes does not fit the sender's buffer of %llu",
                        (unsigned long long)f.wire_bytes, (unsigned long long)s->sender_buffer_bytes);
      }
    }
    if (s->socket_bytes) {
      tlg_sim_frame(s, s->sizes[i], &f);
      if (f.charged_bytes > s->socket_bytes) {
        *key = "socket.buffer_bytes";
        return snprintf(why, size, "a datagram is charged %llu bytes, and the socket's buffer has %llu",
                        (unsigned long long)f.charged_bytes, (unsigned long long)s->socket_bytes);
      }
    }
  }
  *key = "duration_s";
  if (!s->n_packets) {
    return snprintf(why, size, "the run is shorter than one packet");
  }
  if (s->n_packets > 1ull << 40 || cycle * s->n_packets / s->n_sizes * s->rate.den / s->rate.num > 1000000) {
    return snprintf(why, size, "a run of more than a million seconds");
  }
  if (tlg_horizon_passed(s, tlg_packet_bound(s), s->n_packets, (u128)cycle * s->n_packets / s->n_sizes)) {
    if (s->has_link && s->link_bps && s->link_bps < 1000000) {
      *key = "network.link";
    }
    return snprintf(why, size,
                    "instants would pass 2^63 ps (106 days): %llu packets, of up to %.4g s of work each%s; a shorter "
                    "run, or less work",
                    (unsigned long long)s->n_packets, (double)tlg_packet_bound(s) * 1e-12,
                    *key[0] == 'n' ? ", most of it on this link" : "");
  }
  *key = "nic";
  if (s->has_nic && s->flow == TLG_FLOW_ON && s->moderation == TLG_MODERATION_ONESHOT && s->moderation_frames) {
    return snprintf(why, size,
                    "PAUSE and a frame limit cannot be combined here: set frames = 0 or flow_control = \"off\"");
  }
  if (s->has_nic && s->moderation == TLG_MODERATION_ONESHOT && s->moderation_frames && s->queues > 1 && s->flows > 1) {
    return snprintf(
        why, size,
        "a frame limit and flows spread over several queues cannot be combined here: set frames = 0, or one "
        "queue");
  }
  if (s->has_nic && (s->moderation == TLG_MODERATION_TICK || s->moderation == TLG_MODERATION_ONESHOT) &&
      !s->moderation_ps) {
    return snprintf(why, size, "this moderation wants usecs above 0 (or moderation = \"off\")");
  }
  if (s->has_nic && (!s->queues || !s->flows)) {
    return snprintf(why, size, "a controller has at least one queue and one flow");
  }
  *key = "threads";
  if (s->socket_bytes && !s->n_threads) {
    *key = "socket";
    return snprintf(why, size, "a socket without a thread that reads it");
  }
  for (t = 0; t < s->n_threads; t++) {
    const struct tlg_sim_thread *th = &s->threads[t];
    const int idles = tlg_dist_mean(&th->vacation) > 0 || th->poll.tasks;

    if (!th->n_stages) {
      return snprintf(why, size, "thread '%s' has no stage", th->name);
    }
    if (t == 0 && th->queue && s->socket_bytes) {
      return snprintf(why, size, "the first thread ('%s') has the socket's buffer for its queue: leave out queue",
                      th->name);
    }
    if (t == 0 && th->overrun == TLG_SIM_BLOCK) {
      return snprintf(why, size, "nothing can wait in front of the first thread ('%s'): overrun = \"drop\"", th->name);
    }
    if (idles && th->wake_ps) {
      return snprintf(why, size, "thread '%s' polls and so never sleeps: leave out wake_us", th->name);
    }
    for (k = 0; k < t; k++) {
      if (strcmp(s->threads[k].name, th->name) == 0) {
        return snprintf(why, size, "two threads are named '%s'", th->name);
      }
      if (th->core && th->core == s->threads[k].core &&
          (idles || tlg_dist_mean(&s->threads[k].vacation) > 0 || s->threads[k].poll.tasks)) {
        return snprintf(why, size, "a thread that polls ('%s' or '%s') needs a core of its own", th->name,
                        s->threads[k].name);
      }
    }
    for (k = 0; k < th->n_stages; k++) {
      if (th->stages[k].unit_phase && th->stages[k].unit_phase >= th->stages[k].unit) {
        return snprintf(why, size, "stage '%s': unit_phase must be below unit", th->stages[k].name);
      }
    }
  }
  *key = "phy";
  if (s->has_phy && (!s->up || !s->down || !s->subframe)) {
    return snprintf(why, size, "the PHY wants a ratio and a subframe above 0");
  }
  return 0;
}

int tlg_sim_scenario_check(const struct tlg_sim_scenario *s, struct tlg_error *err)
{
  const char *key;
  char why[360];

  if (!s) {
    return tlg_error_set(err, TLG_EINVAL, "no scenario");
  }
  return misfit(s, &key, why, sizeof why) ? tlg_error_set(err, TLG_EFORMAT, "%s", why) : TLG_OK;
}

/* Keys that nobody asked for are mistakes. */
static void unknown(struct reader *r, const config_setting_t *group, const char *where)
{
  int i;

  for (i = 0; i < config_setting_length(group) && r->status == TLG_OK; i++) {
    const config_setting_t *m = config_setting_get_elem(group, (unsigned)i);
    const char *name = config_setting_name(m);

    if (name && config_setting_get_hook(m) != &used) {
      wrong(r, m, "unknown key '%s'%s%s; docs/model.md lists them", name, where ? " in " : "", where ? where : "");
    }
    if (config_setting_is_group(m) || config_setting_is_list(m)) {
      unknown(r, m, name ? name : where);
    }
  }
}

/* ---- settings from the command line ------------------------------------------------------------------------ */

/* Whether a thread or stage is called that; those without a name are called by their place. */
static int called(const config_setting_t *g, const char *name, const char *what, int place)
{
  const char *own;
  char given[32];

  if (!config_setting_is_group(g)) {
    return 0;
  }
  if (config_setting_lookup_string(g, "name", &own)) {
    return strcmp(own, name) == 0;
  }
  snprintf(given, sizeof given, "%s%d", what, place + 1);
  return strcmp(given, name) == 0;
}

static config_setting_t *named(config_setting_t *root, const char *name)
{
  config_setting_t *list = config_setting_get_member(root, "threads"), *stages;
  config_setting_t *m = config_setting_get_member(root, name);
  int i, k;

  if (m) {
    return m;
  }
  for (i = 0; list && i < config_setting_length(list); i++) {
    config_setting_t *th = config_setting_get_elem(list, (unsigned)i);

    stages = config_setting_is_group(th) ? config_setting_get_member(th, "stages") : NULL;
    for (k = 0; stages && k < config_setting_length(stages); k++) {
      config_setting_t *st = config_setting_get_elem(stages, (unsigned)k);

      if (called(st, name, "stage", k)) {
        return st;
      }
    }
    if (called(th, name, "thread", i)) {
      return th;
    }
  }
  return NULL;
}

static const char *const short_names[][2] = {
    {"packet", "source.packet"},   {"rate", "source.rate"},          {"batch", "source.batch"},
    {"link", "network.link"},      {"mtu", "network.mtu"},           {"usecs", "nic.usecs"},
    {"frames", "nic.frames"},      {"moderation", "nic.moderation"}, {"ring", "nic.ring"},
    {"queues", "nic.queues"},      {"offset", "phy.offset"},         {"deadline_us", "phy.deadline_us"},
    {"transport", "hop.transport"}};

void tlg_sim_key(const char *setting, char *key, size_t size)
{
  size_t i;

  snprintf(key, size, "%.*s", (int)strcspn(setting, "="), setting);
  for (i = 0; i < sizeof short_names / sizeof *short_names; i++) {
    if (strcmp(key, short_names[i][0]) == 0) {
      snprintf(key, size, "%s", short_names[i][1]);
    }
  }
}

/* A list of numbers, "[362, 364]", as an array of its own; NULL: it is none. */
static config_setting_t *add_list(config_setting_t *at, const char *key, const char *text)
{
  config_setting_t *list;
  const char *p;
  char *end;

  for (p = text + 1; *text == '['; p = end + 1) {
    strtod(p, &end);
    end += end == p ? 0 : strspn(end, " ");
    if (end == p || (*end != ',' && strcmp(end, "]") != 0)) {
      return NULL;
    }
    if (*end == ']') {
      break;
    }
  }
  if (*text != '[' || (list = config_setting_add(at, key, CONFIG_TYPE_LIST)) == NULL) {
    return NULL;
  }
  for (p = text + 1; *p; p = end + 1) {
    const double v = strtod(p, &end);
    config_setting_t *e = config_setting_add(list, NULL, CONFIG_TYPE_FLOAT);

    if (e) {
      config_setting_set_float(e, v);
    }
    end += strspn(end, " ");
  }
  return list;
}

static void apply(struct reader *r, unsigned index)
{
  static const char *const sections[] = {"source", "network", "nic", "kernel", "socket", "hop", "phy", NULL};
  const char *setting = r->settings[index], *equals = strchr(setting, '='), *rest;
  config_setting_t *at = config_root_setting(&r->config), *m;
  char path[128], *end;
  size_t i;
  int was = CONFIG_TYPE_NONE;
  double v;

  if (!equals || equals == setting || (size_t)(equals - setting) >= sizeof path) {
    wrong_setting(r, "%s: wants key=value", setting);
    return;
  }
  if (!equals[1]) {
    wrong_setting(r, "%s: wants a value after the '='", setting);
    return;
  }
  tlg_sim_key(setting, path, sizeof path);
  for (rest = path; (end = strchr(rest, '.')) != NULL; rest = end + 1) {
    *end = '\0';
    if (config_setting_is_list(
            at)) { /* stalls.1.every_s: one way to write it, so that it is seen when it is given twice */
      if (*rest < '1' || *rest > '9' || rest[strspn(rest, "0123456789")]) {
        wrong_setting(r, "%s: '%s' is no place in a list: 1 is the first", setting, rest);
        return;
      }
      m = config_setting_get_elem(at, (unsigned)strtoul(rest, NULL, 10) - 1);
    } else {
      m = rest == path ? named(at, rest) : config_setting_get_member(at, rest);
    }
    if (m && config_setting_is_list(m)) {
      at = m;
      continue;
    }
    for (i = 0; !m && rest == path && sections[i]; i++) {
      if (strcmp(rest, sections[i]) == 0) {
        m = config_setting_add(at, rest, CONFIG_TYPE_GROUP);
        config_setting_set_hook(m, &used);
      }
    }
    if (!m && rest != path && config_setting_is_group(at)) {
      m = config_setting_add(at, rest, CONFIG_TYPE_GROUP);
    }
    if (!m && (config_setting_is_list(at) || (rest == path && strcmp(rest, "stalls") == 0))) {
      wrong_setting(r, "%s: the scenario has %d stalls; --set changes those that are there", setting,
                    config_setting_is_list(at) ? config_setting_length(at) : 0);
      return;
    }
    if (!m || !config_setting_is_group(m)) {
      wrong_setting(r, "%s: no section, thread or stage is named '%s'", setting, rest);
      return;
    }
    at = m;
  }
  m = config_setting_get_member(at, rest);
  if (m) {
    was = config_setting_type(m);
    config_setting_remove(at, rest);
  }
  v = strtod(equals + 1, &end);
  if (end != equals + 1 && *end == '\0' && was != CONFIG_TYPE_STRING) {
    m = config_setting_add(at, rest, v == floor(v) && fabs(v) < 2e9 ? CONFIG_TYPE_INT : CONFIG_TYPE_FLOAT);
    if (m && config_setting_type(m) == CONFIG_TYPE_INT) {
      config_setting_set_int(m, (int)v);
    } else if (m) {
      config_setting_set_float(m, v);
    }
  } else if ((m = add_list(at, rest, equals + 1)) != NULL) {
    /* it is there */
  } else if (equals[1] == '[') {
    wrong_setting(r, "%s: no list of numbers, such as [362, 364]", setting);
    return;
  } else if (strcmp(equals + 1, "true") == 0 || strcmp(equals + 1, "false") == 0) {
    m = config_setting_add(at, rest, CONFIG_TYPE_BOOL);
    if (m) {
      config_setting_set_bool(m, equals[1] == 't');
    }
  } else {
    m = config_setting_add(at, rest, CONFIG_TYPE_STRING);
    if (m) {
      config_setting_set_string(m, equals + 1);
    }
  }
  if (!m) {
    wrong_setting(r, "%s: '%s' is no key's name", setting, rest);
    return;
  }
  if (index < MOST_SETTINGS) {
    r->set[index] = m;
  }
}

static void whole_scenario(struct reader *r)
{
  const config_setting_t *root = config_root_setting(&r->config);
  struct tlg_sim_scenario *s = r->s;
  const char *key;
  char why[360];
  u128 cycle = 0;
  size_t i;
  double warmup;

  snprintf(s->name, sizeof s->name, "%s", text(r, root, "name", ""));
  snprintf(s->about, sizeof s->about, "%s", text(r, root, "about", ""));
  s->seed = whole(r, root, "seed", 1, 9e15, 1);
  warmup = number(r, root, "warmup", 0, 0.9, 0.1);
  s->warmup_ppm = (uint32_t)floor(warmup * 1e6 + 0.5);
  r->duration_s = number(r, root, "duration_s", 1e-6, 1e6, 1);
  s->switch_ps = us_ps(r, root, "switch_us");
  source(r);
  network(r);
  nic(r);
  kernel(r);
  socket_section(r);
  threads(r);
  hop(r);
  phy(r);
  stalls(r);
  s->n_packets = whole(r, root, "packets", 1, 1e12, 0);
  if (r->status != TLG_OK) {
    return;
  }
  unknown(r, root, NULL);
  if (!s->n_packets) {
    for (i = 0; i < s->n_sizes; i++) {
      cycle += s->sizes[i];
    }
    s->n_packets = (uint64_t)((u128)(uint64_t)floor(r->duration_s * 1e6 + 0.5) * s->rate.num * s->n_sizes /
                              (cycle * s->rate.den * 1000000u));
  }
  if (r->status == TLG_OK && misfit(s, &key, why, sizeof why)) {
    const config_setting_t *at = config_lookup(&r->config, key);
    char up[64];

    if (!at) { /* the key was left out: its section, or the first line */
      snprintf(up, sizeof up, "%s", key);
      if (strchr(up, '.')) {
        *strchr(up, '.') = '\0';
      }
      at = config_lookup(&r->config, up);
    }
    wrong(r, at, "%s", why);
    if (r->err && !at) {
      r->err->line = 1;
    }
  }
}

/* libconfig's scanner ends the program when it cannot read what it has opened, as it is with a folder: look before.
 * Of a file and what it includes, the line that includes a folder; 0: there is none. */
static unsigned includes_folder(const char *path, const char *folder, unsigned depth)
{
  FILE *f = fopen(path, "r");
  char line[4096], joined[8192];
  unsigned number = 0, found = 0;

  while (f && !found && fgets(line, sizeof line, f)) {
    const char *at = line + strspn(line, " \t");
    struct stat st;

    number++;
    if (strncmp(at, "@include", 8) != 0 || (at = strchr(at, '"')) == NULL) {
      continue;
    }
    at++;
    snprintf(joined, sizeof joined, "%s%s%.*s", *at == '/' ? "" : folder, *at == '/' || !folder[0] ? "" : "/",
             (int)strcspn(at, "\""), at);
    if (stat(joined, &st) != 0) {
      continue; /* libconfig tells it */
    }
    if (S_ISDIR(st.st_mode) || (S_ISREG(st.st_mode) && depth < 10 && includes_folder(joined, folder, depth + 1))) {
      found = number;
    }
  }
  if (f) {
    fclose(f);
  }
  return found;
}

static int read_scenario(struct tlg_sim_scenario **out, const char *path, const char *const *settings,
                         struct tlg_error *err)
{
  struct reader r;
  const char *slash;
  char folder[4096] = "";
  unsigned i, line;
  struct stat st;
  FILE *f;

  if (!out || !path) {
    return tlg_error_set(err, TLG_EINVAL, "no scenario named");
  }
  *out = NULL;
  memset(&r, 0, sizeof r);
  r.path = path;
  r.err = err;
  r.settings = settings;
  f = fopen(path, "r");
  if (!f) {
    return tlg_error_set(err, TLG_ESYS, "%s", strerror(errno));
  }
  if (fstat(fileno(f), &st) != 0 || S_ISDIR(st.st_mode)) {
    fclose(f);
    return tlg_error_set(err, TLG_ESYS, "is a folder: name the file of a scenario in it");
  }
  config_init(&r.config);
  slash = strrchr(path, '/');
  if (slash) {
    snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
    config_set_include_dir(&r.config, folder);
  }
  if (tlg_sim_scenario_new(&r.s) != TLG_OK) {
    r.status = tlg_error_set(err, TLG_ENOMEM, "out of memory");
  } else if (S_ISREG(st.st_mode) && (line = includes_folder(path, folder, 0)) != 0) {
    r.status = tlg_error_at(err, TLG_EFORMAT, line, UINT64_MAX, "a folder cannot be included: name a file");
  } else if (config_read(&r.config, f) != CONFIG_TRUE) {
    const char *file = config_error_file(&r.config);

    if (file) {
      r.status = tlg_error_set(err, TLG_EFORMAT, "in %s:%d: %s", file, config_error_line(&r.config),
                               config_error_text(&r.config));
    } else {
      r.status = tlg_error_at(err, TLG_EFORMAT, (unsigned)config_error_line(&r.config), UINT64_MAX, "%s",
                              config_error_text(&r.config));
    }
  } else {
    for (i = 0; settings && settings[i] && r.status == TLG_OK; i++) {
      apply(&r, i);
    }
    if (r.status == TLG_OK) {
      whole_scenario(&r);
    }
  }
  fclose(f);
  config_destroy(&r.config);
  if (r.status != TLG_OK) {
    tlg_sim_scenario_free(r.s);
    return r.status;
  }
  *out = r.s;
  return TLG_OK;
}

/* Of settings that make a scenario impossible which is right without them, the one that does it; NULL: all together,
 * or the file is wrong as it stands. */
static const char *to_blame(const char *path, const char *const *settings, int *file_wrong)
{
  const char *without[MOST_SETTINGS + 1], *blamed = NULL;
  struct tlg_sim_scenario *s;
  size_t n, i, k;

  *file_wrong = read_scenario(&s, path, NULL, NULL) != TLG_OK;
  if (*file_wrong) {
    return NULL;
  }
  tlg_sim_scenario_free(s);
  for (n = 0; settings[n]; n++) {
  }
  for (i = 0; i < n && n <= MOST_SETTINGS && !blamed; i++) {
    for (k = 0; k + 1 < n; k++) {
      without[k] = settings[k + (k >= i)];
    }
    without[k] = NULL;
    if (read_scenario(&s, path, without, NULL) == TLG_OK) {
      tlg_sim_scenario_free(s);
      blamed = settings[i];
    }
  }
  return blamed;
}

int tlg_sim_scenario_read(struct tlg_sim_scenario **out, const char *path, const char *const *settings,
                          struct tlg_error *err)
{
  struct tlg_error mine = {0};
  const char *blamed;
  int file_wrong, status = read_scenario(out, path, settings, err ? err : &mine);

  if (status != TLG_EFORMAT || !settings || !settings[0]) {
    return status;
  }
  blamed = to_blame(path, settings, &file_wrong);
  if (file_wrong) {
    return status;
  }
  mine = err ? *err : mine;
  return blamed ? tlg_error_set(err, TLG_EINVAL, "--set %s: %s", blamed, mine.text)
                : tlg_error_set(err, TLG_EINVAL, "--set %s ... together: %s", settings[0], mine.text);
}
