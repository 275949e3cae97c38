/* SPDX-License-Identifier: Apache-2.0 */
/* Sinks by name, and what all of them share. */
#include "sink.h"

#include <stdlib.h>
#include <string.h>

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

/* The scheme that text names before its first ':', NULL for a bare path or an unknown word. */
static const struct scheme *find_scheme(const char *text)
{
  size_t i;

  for (i = 0; i < sizeof schemes / sizeof *schemes; i++) {
    if (tlg_endpoint_is(text, schemes[i].name)) {
      return &schemes[i];
    }
  }
  return NULL;
}

int tlg_sink_open(struct tlg_sink **sink, const char *text, const struct tlg_sink_cfg *cfg, struct tlg_error *err)
{
  static const struct tlg_sink_cfg none;
  const struct scheme *scheme;
  struct tlg_endpoint e = {0};
  char *name;
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
  scheme = find_scheme(text);
  if (!scheme && tlg_endpoint_scheme(text)) {
    return tlg_error_set(err, TLG_EINVAL,
                         "there is no sink '%.*s:'; there are null: stdout: fifo:PATH and file:PATH, and a file of "
                         "that name is written as file:%s",
                         (int)tlg_endpoint_scheme(text), text, text);
  }
  if (scheme && !scheme->open) {
    return tlg_error_set(err, TLG_EUNAVAIL,
                         "the sink '%s:' is not built in yet; there are null:, stdout:, fifo:PATH and file:PATH",
                         scheme->name);
  }
  name = strdup(text);
  if (!name) {
    return tlg_error_set(err, TLG_ENOMEM, "out of memory");
  }
  if (!scheme) { /* a bare path, taken as it is */
    e.rest = strcmp(text, "-") == 0 ? "" : text;
    status = (*e.rest ? tlg_sink_open_file : tlg_sink_open_stdout)(sink, &e, cfg, err);
  } else {
    status = tlg_endpoint_parse(&e, text, err);
    if (!status) {
      status = scheme->open(sink, &e, cfg, err);
      tlg_endpoint_free(&e);
    }
  }
  if (status) {
    free(name);
    return status;
  }
  (*sink)->name = name;
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

  if (tlg_sink_text_is_stdout(text) || (!scheme && tlg_endpoint_scheme(text))) {
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
