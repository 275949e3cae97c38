/* SPDX-License-Identifier: Apache-2.0 */
/* Sinks by name, and what all of them share. */
#include "sink.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_KEYS = 16 };

static const struct scheme {
  const char *name;
  tlg_sink_open_fn *open; /* NULL: not built in */
} schemes[] = {
    {"null", tlg_sink_open_null},
    {"file", tlg_sink_open_file},
    {"fifo", tlg_sink_open_fifo},
    {"stdout", tlg_sink_open_stdout},
    {"udp", NULL},
    {"unix", NULL},
    {"shm", NULL},
    {"zmq", NULL},
    {"srsran", NULL},
    {"uhd", NULL},
};

/* Whether text begins with letters and a colon: that names a scheme, if perhaps a mistyped one, and no path. */
static int names_scheme(const char *text)
{
  size_t n = 0;

  while ((text[n] >= 'a' && text[n] <= 'z') || (text[n] >= 'A' && text[n] <= 'Z')) {
    n++;
  }
  return n && text[n] == ':';
}

/* The scheme that text names before its first ':', NULL for a bare path. */
static const struct scheme *find_scheme(const char *text)
{
  const char *colon = strchr(text, ':');
  size_t i;

  for (i = 0; colon && i < sizeof schemes / sizeof *schemes; i++) {
    if (strlen(schemes[i].name) == (size_t)(colon - text) &&
        strncmp(schemes[i].name, text, (size_t)(colon - text)) == 0) {
      return &schemes[i];
    }
  }
  return NULL;
}

int tlg_sink_check_keys(const struct tlg_sink_key *keys, size_t n_keys, const char *const *known, struct tlg_error *err)
{
  size_t i, k;

  for (i = 0; i < n_keys; i++) {
    for (k = 0; known[k] && strcmp(known[k], keys[i].key) != 0; k++) {
    }
    if (!known[k]) {
      return tlg_error_set(err, TLG_EINVAL, "this sink knows no key '%s'%s%s", keys[i].key,
                           known[0] ? "; it takes " : "; it takes none", known[0] ? known[0] : "");
    }
  }
  return TLG_OK;
}

const char *tlg_sink_value(const struct tlg_sink_key *keys, size_t n_keys, const char *key)
{
  const char *value = NULL;
  size_t i;

  for (i = 0; i < n_keys; i++) {
    if (strcmp(keys[i].key, key) == 0) {
      value = keys[i].value;
    }
  }
  return value;
}

/* Cut "key=value&..." in place. */
static int split_keys(char *text, struct tlg_sink_key *keys, size_t *n_keys, struct tlg_error *err)
{
  char *save = NULL, *part;

  *n_keys = 0;
  for (part = strtok_r(text, "&", &save); part; part = strtok_r(NULL, "&", &save)) {
    char *equals = strchr(part, '=');

    if (!equals || equals == part) {
      return tlg_error_set(err, TLG_EINVAL, "'%s' is not key=value", part);
    }
    if (*n_keys == MAX_KEYS) {
      return tlg_error_set(err, TLG_EINVAL, "more than %d keys", MAX_KEYS);
    }
    *equals = '\0';
    keys[*n_keys].key = part;
    keys[*n_keys].value = equals + 1;
    ++*n_keys;
  }
  return TLG_OK;
}

int tlg_sink_open(struct tlg_sink **sink, const char *text, const struct tlg_sink_cfg *cfg, struct tlg_error *err)
{
  static const struct tlg_sink_cfg none;
  struct tlg_sink_key keys[MAX_KEYS];
  const struct scheme *scheme;
  char *copy, *rest, *query = NULL;
  size_t n_keys = 0;
  int status;

  if (!sink) {
    return tlg_error_set(err, TLG_EINVAL, "no place for the sink");
  }
  *sink = NULL;
  if (!text || !*text) {
    return tlg_error_set(err, TLG_EINVAL, "a sink needs a name: null:, stdout:, fifo:PATH, file:PATH or a bare path");
  }
  if (!cfg) {
    cfg = &none;
  }
  copy = strdup(text);
  if (!copy) {
    return tlg_error_set(err, TLG_ENOMEM, "out of memory");
  }
  scheme = find_scheme(text);
  if (!scheme && names_scheme(text)) {
    status = tlg_error_set(err, TLG_EINVAL,
                           "there is no sink '%.*s:'; there are null: stdout: fifo:PATH and file:PATH, and a file of "
                           "that name is written as file:%s",
                           (int)strcspn(text, ":"), text, text);
  } else if (!scheme) { /* a bare path, taken as it is */
    status = strcmp(text, "-") == 0 ? tlg_sink_open_stdout(sink, "", NULL, 0, cfg, err)
                                    : tlg_sink_open_file(sink, copy, NULL, 0, cfg, err);
  } else if (!scheme->open) {
    status = tlg_error_set(err, TLG_EUNAVAIL,
                           "the sink '%s:' is not built in yet; there are null:, stdout:, fifo:PATH and file:PATH",
                           scheme->name);
  } else {
    rest = strchr(copy, ':') + 1;
    query = strrchr(rest, '?');
    status = TLG_OK;
    if (query) {
      *query++ = '\0';
      status = split_keys(query, keys, &n_keys, err);
    }
    if (!status) {
      status = scheme->open(sink, rest, keys, n_keys, cfg, err);
    }
  }
  if (status) {
    free(copy);
    return status;
  }
  strcpy(copy, text); /* undo the cuts */
  (*sink)->name = copy;
  return TLG_OK;
}

int tlg_sink_marks_gaps(const struct tlg_sink *sink)
{
  return sink->ops->marks_gaps ? sink->ops->marks_gaps(sink) : 1;
}

const char *tlg_sink_name(const struct tlg_sink *sink)
{
  return sink->name ? sink->name : "";
}

int tlg_sink_is_file(const struct tlg_sink *sink)
{
  return sink->ops->is_file;
}

int tlg_sink_is_stdout(const struct tlg_sink *sink)
{
  return sink->ops->is_stdout;
}

int tlg_sink_text_is_stdout(const char *text)
{
  const struct scheme *scheme = find_scheme(text);

  return strcmp(text, "-") == 0 || (scheme && scheme->open == tlg_sink_open_stdout);
}

char *tlg_sink_text_path(const char *text)
{
  const struct scheme *scheme = find_scheme(text);
  const char *rest, *query;

  if (tlg_sink_text_is_stdout(text) || (!scheme && names_scheme(text))) {
    return NULL;
  }
  if (!scheme) {
    return strdup(text);
  }
  if (scheme->open != tlg_sink_open_file && scheme->open != tlg_sink_open_fifo) {
    return NULL;
  }
  rest = strchr(text, ':') + 1;
  query = strrchr(rest, '?');
  return query ? strndup(rest, (size_t)(query - rest)) : strdup(rest);
}

int tlg_sink_write(struct tlg_sink *sink, const struct tlg_sink_block *block, struct tlg_error *err)
{
  const int status = sink->ops->write(sink, block, err);

  if (!status) {
    sink->count += block->n;
  }
  return status;
}

uint64_t tlg_sink_count(const struct tlg_sink *sink, struct tlg_convert_counts *counts)
{
  if (counts) {
    memset(counts, 0, sizeof *counts);
    if (sink->ops->counts) {
      sink->ops->counts(sink, counts);
    }
  }
  return sink->count;
}

static void free_sink(struct tlg_sink *sink)
{
  free(sink->name);
  free(sink);
}

int tlg_sink_close(struct tlg_sink *sink, struct tlg_error *err)
{
  int status = TLG_OK;

  if (sink) {
    status = sink->ops->close ? sink->ops->close(sink, err) : TLG_OK;
    free_sink(sink);
  }
  return status;
}

void tlg_sink_abort(struct tlg_sink *sink)
{
  if (sink) {
    if (sink->ops->abort) {
      sink->ops->abort(sink);
    }
    free_sink(sink);
  }
}
