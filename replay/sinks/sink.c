/* SPDX-License-Identifier: Apache-2.0 */
/* Sinks by name, and what all of them share. */
#include "sink.h"
#include "lane.h"
#include "pace.h"

#include <stdlib.h>
#include <string.h>

static const struct scheme {
  const char *name;
  tlg_sink_open_fn *open; /* NULL: not built in */
  int live;               /* it gets a lane */
} schemes[] = {
    {"null", tlg_sink_open_null, 0},     {"file", tlg_sink_open_file, 0}, {"fifo", tlg_sink_open_fifo, 0},
    {"stdout", tlg_sink_open_stdout, 0}, {"udp", tlg_sink_open_udp, 1},   {"unix", tlg_sink_open_unix, 1},
    {"shm", tlg_sink_open_shm, 1},       {"zmq", tlg_sink_open_zmq, 1},   {"srsran", tlg_sink_open_srsran, 1},
    {"uhd", tlg_sink_open_uhd, 1},       {"dac", tlg_sink_open_dac, 1},
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

static int open_scheme(struct tlg_sink **sink, const struct scheme *scheme, struct tlg_endpoint *e,
                       const struct tlg_sink_cfg *cfg, struct tlg_error *err)
{
  struct tlg_lane_cfg lane;
  struct tlg_sink *inner = NULL;
  int status;

  if (!scheme->live) {
    return scheme->open(sink, e, cfg, err);
  }
  status = tlg_lane_keys(&lane, e, err);
  if (!status) {
    status = scheme->open(&inner, e, cfg, err);
  }
  if (!status && cfg->only_check) {
    if (inner && inner->ops->abort) {
      inner->ops->abort(inner);
    }
    free(inner);
    return TLG_OK;
  }
  return status ? status : tlg_lane_new(sink, inner, &lane, err);
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
      status = open_scheme(sink, scheme, &e, cfg, err);
      tlg_endpoint_free(&e);
    }
  }
  if (status || !*sink) {
    free(name);
    return status;
  }
  (*sink)->name = name;
  return TLG_OK;
}

int tlg_sink_check(const char *text, const struct tlg_sink_cfg *cfg, struct tlg_error *err)
{
  struct tlg_sink_cfg only = {0};
  struct tlg_sink *sink;
  int status;

  if (cfg) {
    only = *cfg;
  }
  only.only_check = 1;
  only.hint = NULL; /* told when it is opened */
  status = tlg_sink_open(&sink, text, &only, err);
  tlg_sink_abort(sink);
  return status;
}

int tlg_sink_marks_gaps(const struct tlg_sink *sink)
{
  return sink->ops->marks_gaps ? sink->ops->marks_gaps(sink) : 1;
}

const char *tlg_sink_name(const struct tlg_sink *sink)
{
  return sink->name ? sink->name : "";
}

const char *tlg_sink_counter_name(enum tlg_sink_counter which)
{
  static const char *const names[TLG_SINK_COUNTERS] = {
      [TLG_SINK_SENT] = "sent",
      [TLG_SINK_DROPPED] = "dropped",
      [TLG_SINK_LOSSES] = "losses",
      [TLG_SINK_EXTRA] = "extra",
      [TLG_SINK_MESSAGES] = "messages",
      [TLG_SINK_REQUESTS] = "requests",
      [TLG_SINK_PEERS] = "peers",
      [TLG_SINK_FOREIGN] = "foreign",
      [TLG_SINK_STALLS] = "stalls",
      [TLG_SINK_STALLED_US] = "stalled_us",
      [TLG_SINK_UNDERRUNS] = "underruns",
      [TLG_SINK_LATE] = "late",
      [TLG_SINK_SEQUENCE] = "sequence_errors",
      [TLG_SINK_TIMEOUTS] = "timeouts",
      [TLG_SINK_CLIPPED] = "clipped",
      [TLG_SINK_HIGH_WATER] = "queue_high_water",
      [TLG_SINK_CPU_US] = "cpu_us",
  };

  return (unsigned)which < TLG_SINK_COUNTERS ? names[which] : "";
}

uint64_t tlg_sink_counter(const struct tlg_sink *sink, enum tlg_sink_counter which)
{
  const struct tlg_sink *inner = sink->ops->inner ? sink->ops->inner(sink) : NULL;

  if ((unsigned)which >= TLG_SINK_COUNTERS) {
    return 0;
  }
  return atomic_load_explicit(&sink->counters[which], memory_order_relaxed) +
         (inner ? tlg_sink_counter(inner, which) : 0);
}

void tlg_sink_say(const struct tlg_sink *sink, char *text, size_t size)
{
  const struct tlg_sink *inner = sink->ops->inner ? sink->ops->inner(sink) : sink;

  if (size) {
    *text = '\0';
    if (inner->ops->say) {
      inner->ops->say(inner, text, size);
    }
  }
}

int tlg_sink_is_live(const struct tlg_sink *sink)
{
  return sink->ops->inner != NULL;
}

int tlg_sink_blocks(const struct tlg_sink *sink)
{
  return sink->block;
}

struct tlg_rate tlg_sink_rate(const struct tlg_sink *sink)
{
  return sink->rate;
}

void tlg_sink_ask_stop(struct tlg_sink *sink)
{
  uint64_t none = 0;

  atomic_compare_exchange_strong(&sink->asked_ns, &none, tlg_clock_monotonic.now_ns(NULL));
  if (sink->ops->inner) {
    tlg_sink_ask_stop((struct tlg_sink *)sink->ops->inner(sink));
  }
}

int tlg_sink_stopping(const struct tlg_sink *sink)
{
  const uint64_t asked = atomic_load_explicit(&sink->asked_ns, memory_order_relaxed);

  return atomic_load_explicit(&sink->quit, memory_order_relaxed) ||
         (asked && tlg_clock_monotonic.now_ns(NULL) - asked > TLG_SINK_GRACE_MS * UINT64_C(1000000));
}

void tlg_sink_end(struct tlg_sink *sink)
{
  if (sink->ops->end) {
    sink->ops->end(sink);
  }
}

int tlg_sink_ended(const struct tlg_sink *sink)
{
  return sink->ops->ended ? sink->ops->ended(sink) : 1;
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

int tlg_sink_text_repeats(const char *text)
{
  struct tlg_endpoint e;
  const char *end;
  int repeats = 0;

  if (tlg_endpoint_is(text, "srsran") && tlg_endpoint_parse(&e, text, NULL) == TLG_OK) {
    end = tlg_endpoint_value(&e, "end");
    repeats = end && strcmp(end, "loop") == 0;
    tlg_endpoint_free(&e);
  }
  return repeats;
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
