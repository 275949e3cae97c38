/* SPDX-License-Identifier: Apache-2.0 */
/* What a sweep varies: ranges and lists of values, and the points they make. */
#include "sweep.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NAME "sweep"

int sweep_axis_add(struct axis *a, const char *text)
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
  return sweep_axis_add(a, text);
}

int sweep_axis_parse(struct axis *a, const char *text)
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

      if (*at == '[') {
        return cli_usage(NAME, "--vary %s: values are single ones; a list such as [362, 364] can be set, not varied",
                         text);
      }
      if (length == 0 || length >= sizeof word) {
        return cli_usage(NAME, "--vary %s: an empty or overlong value", text);
      }
      snprintf(word, sizeof word, "%.*s", (int)length, at);
      if (!sweep_axis_add(a, word)) {
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
    if (end == at || *end || !(step > 0) || (high - low) / step > SWEEP_POINTS) {
      return cli_usage(NAME, "--vary %s: a step is above 0, and makes at most %d values", text, SWEEP_POINTS);
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
  if (*end || n < 2 || n > SWEEP_POINTS || !(low > 0)) {
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

const char *sweep_value(const struct sweep *s, size_t point, unsigned axis)
{
  if (s->n_axes == 2) {
    return axis ? s->axes[1].values[point % s->axes[1].n] : s->axes[0].values[point / s->axes[1].n];
  }
  return s->axes[0].values[point];
}

void sweep_free(struct sweep *s)
{
  unsigned a;
  size_t i;

  for (a = 0; a < SWEEP_VARIED; a++) {
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

int sweep_size_up(struct sweep *s)
{
  s->n_points = s->axes[0].n * (s->n_axes == 2 ? s->axes[1].n : 1);
  if (s->n_points > SWEEP_POINTS || s->n_points == 0) {
    return cli_usage(NAME, "%zu points: 1 to %d", s->n_points, SWEEP_POINTS);
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
