/* SPDX-License-Identifier: Apache-2.0 */
/* What a sweep found: a row for each point, the best one, and why. */
#include "sweep.h"

#include <stdlib.h>
#include <string.h>

#define NAME "sweep"

/* Tables for all rows, one after the other. */
struct tables {
  struct tlg_delays *packet, *subframe, *part;
};

/* Adds what is written in o to d; part: a table to use. Returns whether o was whole. */
static int delays_add(struct tlg_delays *d, struct tlg_delays *part, const json_t *o)
{
  const json_t *bins = json_object_get(o, "bins");
  struct tlg_delays_totals t;
  uint64_t n = 0;
  size_t i;

  if (!json_is_object(o)) {
    return json_is_null(o);
  }
  if (!json_is_array(bins) || json_array_size(bins) % 2) {
    return 0;
  }
  tlg_delays_reset(part);
  for (i = 0; i + 1 < json_array_size(bins); i += 2) {
    const uint64_t count = (uint64_t)json_integer_value(json_array_get(bins, i + 1));

    tlg_delays_put(part, (uint64_t)json_integer_value(json_array_get(bins, i)), count);
    n += count;
  }
  t.count = sweep_integer(o, "count");
  t.min = sweep_integer(o, "min");
  t.max = sweep_integer(o, "max");
  t.max_when = sweep_integer(o, "when");
  t.sum_high = sweep_integer(o, "sum_high");
  t.sum_low = sweep_integer(o, "sum_low");
  if (t.count) {
    tlg_delays_set(part, &t);
    tlg_delays_merge(d, part);
  }
  return n == t.count;
}

struct row {
  const char *refused;
  int complete, stable, overloaded;
  const char *limit; /* the busiest server */
  uint64_t load_ppm, fill_ps, sent, lost, subframes, inside;
  struct tlg_delays_summary packet, subframe;
};

static int row_make(const struct sweep *s, size_t point, const struct tables *t, struct row *row)
{
  unsigned run;
  int ok = 1;
  size_t i;

  memset(row, 0, sizeof *row);
  row->complete = row->stable = 1;
  tlg_delays_reset(t->packet);
  tlg_delays_reset(t->subframe);
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
    row->overloaded |= json_is_true(json_object_get(o, "overloaded"));
    row->fill_ps = sweep_integer(o, "fill_ps");
    row->sent += sweep_integer(o, "sent");
    row->lost += sweep_integer(o, "lost");
    row->subframes += sweep_integer(o, "subframes");
    row->inside += sweep_integer(o, "inside");
    for (i = 0; i < json_array_size(servers); i++) {
      const json_t *v = json_array_get(servers, i);
      const uint64_t load = (uint64_t)json_integer_value(json_array_get(v, 1));

      if (load > row->load_ppm || !row->limit) {
        row->load_ppm = load;
        row->limit = json_string_value(json_array_get(v, 0));
      }
    }
    ok &= delays_add(t->packet, t->part, json_object_get(o, "packet")) &&
          delays_add(t->subframe, t->part, json_object_get(o, "subframe"));
  }
  tlg_delays_summarise(t->packet, &row->packet);
  tlg_delays_summarise(t->subframe, &row->subframe);
  if (!ok) {
    cli_say(NAME, "point %zu: its histogram does not add up: the part is damaged", point);
  }
  return ok;
}

static const char *const aims[] = {"mean", "p50", "p90", "p99", "p999", "p9999", "max", "inside"};
enum { INSIDE = 7 }; /* the last of them: a count, not a delay */

static uint64_t figure(const struct tlg_delays_summary *d, size_t what)
{
  const uint64_t all[] = {d->mean, d->p50, d->p90, d->p99, d->p999, d->p9999, d->max};

  return all[what];
}

/* The smaller the better, in ps; inside: the share outside in parts of 10^12. */
static uint64_t score(const struct row *r, const struct aim *aim)
{
  if (aim->what == INSIDE) {
    return r->subframes ? (uint64_t)((unsigned __int128)(r->subframes - r->inside) * 1000000000000u / r->subframes)
                        : UINT64_MAX;
  }
  return aim->subframe ? figure(&r->subframe, aim->what) : figure(&r->packet, aim->what) + r->fill_ps;
}

static int eligible(const struct row *r, const struct aim *aim)
{
  return r->complete && r->stable && !r->overloaded && !r->lost && (double)r->load_ppm * 1e-6 < aim->below &&
         (aim->subframe ? r->subframe.count : r->packet.count) > 0;
}

static void point_name(const struct sweep *s, size_t point, char *text, size_t size)
{
  if (s->n_axes == 2) {
    snprintf(text, size, "%s=%s %s=%s", s->axes[0].key, sweep_value(s, point, 0), s->axes[1].key,
             sweep_value(s, point, 1));
  } else {
    snprintf(text, size, "%s=%s", s->axes[0].key, sweep_value(s, point, 0));
  }
}

/* Whether the first axis's value at one point is below that at another: neighbours of words are none. */
static int rises(const struct sweep *s, size_t low, size_t high)
{
  char *end_a, *end_b;
  const char *a = sweep_value(s, low, 0), *b = sweep_value(s, high, 0);
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
  } else if (aim->what == INSIDE) {
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
  const double centre = strtod(sweep_value(s, best, 0), NULL);
  size_t at = best, found = SIZE_MAX;

  while (up ? at + step < s->n_points : at >= step) {
    double v;

    at = up ? at + step : at - step;
    if (up ? !rises(s, best, at) : !rises(s, at, best)) {
      break;
    }
    v = strtod(sweep_value(s, at, 0), NULL);
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

/* A percentile with few values beyond it says little: the least number of values with ten beyond, or 0. */
static uint64_t wants(size_t what)
{
  static const uint64_t values[] = {0, 20, 100, 1000, 10000, 100000, 0, 0};

  return values[what];
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
  if (aim->what == INSIDE) {
    snprintf(text, size, "%s: %.4f %% of the subframes inside, %s busy %.1f %%", name,
             100.0 * (double)rows[*best].inside / (double)rows[*best].subframes, rows[*best].limit,
             (double)rows[*best].load_ppm * 1e-4);
  } else {
    snprintf(text, size, "%s: %s of %s %.3f us, %s busy %.1f %%", name, aims[aim->what],
             aim->subframe ? "a subframe" : "a packet from its first sample", (double)score(&rows[*best], aim) * 1e-6,
             rows[*best].limit, (double)rows[*best].load_ppm * 1e-4);
  }
  i = aim->subframe ? rows[*best].subframe.count : rows[*best].packet.count;
  if (i < wants(aim->what)) {
    snprintf(text + strlen(text), size - strlen(text),
             "; of %zu values only %zu lie beyond it, so the order of the points is uncertain: a longer run or --runs",
             i, (size_t)(i * 10 / wants(aim->what)));
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
      printf("%-14s ", sweep_value(s, i, a));
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
      fputs("  unstable, its queue grows: no delays to state", stdout);
      if (r->lost) {
        printf("; %.4f %% lost", r->sent ? 100.0 * (double)r->lost / (double)r->sent : 0.0);
      }
      putchar('\n');
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
    printf(" %9.4f%s\n", r->sent ? 100.0 * (double)r->lost / (double)r->sent : 0.0,
           r->overloaded ? "  overloaded" : "");
  }
  if (aim->what == INSIDE) {
    printf("\nbest (most subframes inside, no losses, busiest below %.4g %%)\n  %s\n", 100 * aim->below, best);
  } else {
    printf("\nbest (least %s of the %s, no losses, busiest below %.4g %%)\n  %s\n", aims[aim->what],
           aim->subframe ? "subframe" : "packet", 100 * aim->below, best);
  }
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
      json_object_set_new(at, s->axes[a].key, json_string(sweep_value(s, i, a)));
    }
    json_object_set_new(row, "at", at);
    json_object_set_new(row, "refused", r->refused ? json_string(r->refused) : json_null());
    json_object_set_new(row, "complete", json_boolean(r->complete));
    json_object_set_new(row, "stable", json_boolean(r->stable));
    json_object_set_new(row, "overloaded", json_boolean(r->overloaded));
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

int sweep_aim_parse(struct aim *aim, const char *what, const char *of, const char *below)
{
  size_t i;

  aim->what = 4;
  aim->below = 0.9;
  aim->subframe = -1;
  if (what) {
    for (i = 0; i < sizeof aims / sizeof *aims && strcmp(aims[i], what) != 0; i++) {
    }
    if (i == sizeof aims / sizeof *aims) {
      return cli_usage(NAME, "--aim %s: mean, p50, p90, p99, p999, p9999, max or inside", what);
    }
    aim->what = i;
  }
  if (of && strcmp(of, "packet") != 0 && strcmp(of, "subframe") != 0) {
    return cli_usage(NAME, "--of %s: packet or subframe", of);
  }
  if (of) {
    aim->subframe = of[0] == 's';
  }
  if (aim->what == INSIDE && aim->subframe == 0) {
    return cli_usage(NAME, "--aim inside counts subframes: not --of packet");
  }
  return cli_real(NAME, "--below", below, 0.01, 1.0, &aim->below);
}

int sweep_aim_subframes(const struct aim *aim)
{
  return aim->subframe == 1 || aim->what == INSIDE;
}

/* Nothing could be run. Keys and values that the scenario refuses are the command line's mistake: it was read before
 * without them. */
static int all_refused(const char *why)
{
  static const char setting[] = "--set ";
  const int ours = strncmp(why, setting, sizeof setting - 1) == 0;

  cli_say(NAME, "every point is refused, the first for %s%s", ours ? "--vary " : "",
          ours ? why + sizeof setting - 1 : why);
  return ours ? CLI_USAGE : CLI_BAD_INPUT;
}

int sweep_report(const struct sweep *s, struct aim *aim, int json)
{
  struct row *rows = calloc(s->n_points, sizeof *rows);
  struct tables t = {NULL, NULL, NULL};
  char text[2048];
  size_t i, best;
  int status = 0, subframes = 0, refused = 0;

  if (!rows || tlg_delays_new(&t.packet) != TLG_OK || tlg_delays_new(&t.subframe) != TLG_OK ||
      tlg_delays_new(&t.part) != TLG_OK) {
    cli_say(NAME, "out of memory");
    status = CLI_SYSTEM;
  }
  for (i = 0; i < s->n_points && !status; i++) {
    status = row_make(s, i, &t, &rows[i]) ? 0 : CLI_BAD_INPUT;
    subframes |= rows[i].subframe.count > 0;
    refused += rows[i].refused != NULL;
  }
  if (!status && (size_t)refused == s->n_points) {
    status = all_refused(rows[0].refused);
  } else if (!status) {
    if (aim->subframe < 0 || aim->what == INSIDE) {
      aim->subframe = subframes || aim->what == INSIDE;
    }
    best_text(s, rows, aim, &best, text, sizeof text);
    if (json) {
      status = print_json(s, rows, text, best, aim);
    } else {
      print_text(s, rows, text, aim);
    }
  }
  tlg_delays_free(t.packet);
  tlg_delays_free(t.subframe);
  tlg_delays_free(t.part);
  free(rows);
  return cli_finish(NAME, stdout, status);
}
