/* SPDX-License-Identifier: Apache-2.0 */
/* Live sources by name, and what all of them share. */
#include "live.h"

#include <stdlib.h>
#include <string.h>

static const struct scheme {
  const char *name;
  tlg_live_open_fn *open; /* NULL: not built in */
} schemes[] = {
    {"udp", tlg_live_open_udp}, {"unix", tlg_live_open_unix},     {"shm", tlg_live_open_shm},
    {"zmq", tlg_live_open_zmq}, {"srsran", tlg_live_open_srsran}, {"uhd", tlg_live_open_uhd},
};

static const struct scheme *find_scheme(const char *text)
{
  size_t i;

  for (i = 0; text && i < sizeof schemes / sizeof *schemes; i++) {
    if (tlg_endpoint_is(text, schemes[i].name)) {
      return &schemes[i];
    }
  }
  return NULL;
}

const char *tlg_live_count_name(enum tlg_live_count which)
{
  static const char *const names[TLG_LIVE_COUNTS] = {
      [TLG_LIVE_PACKETS] = "packets",
      [TLG_LIVE_SAMPLES] = "samples",
      [TLG_LIVE_LOST_PACKETS] = "lost_packets",
      [TLG_LIVE_LOST_SAMPLES] = "lost_samples",
      [TLG_LIVE_LOSSES] = "losses",
      [TLG_LIVE_DUPLICATES] = "duplicates",
      [TLG_LIVE_REORDERED] = "reordered",
      [TLG_LIVE_FOREIGN] = "foreign",
      [TLG_LIVE_MALFORMED] = "malformed",
      [TLG_LIVE_RESTARTS] = "restarts",
      [TLG_LIVE_OVERRUNS] = "overruns",
      [TLG_LIVE_SEQUENCE] = "sequence_errors",
      [TLG_LIVE_LATE] = "late_commands",
      [TLG_LIVE_TIMEOUTS] = "timeouts",
      [TLG_LIVE_CLIPPED] = "clipped",
      [TLG_LIVE_NON_FINITE] = "non_finite",
  };

  return (unsigned)which < TLG_LIVE_COUNTS ? names[which] : "";
}

int tlg_live_is(const char *text)
{
  return find_scheme(text) != NULL;
}

int tlg_live_open(struct tlg_live **live, const char *text, const struct tlg_live_cfg *cfg, const volatile int *cancel,
                  struct tlg_error *err)
{
  static const struct tlg_live_cfg none;
  const struct scheme *scheme = find_scheme(text);
  struct tlg_endpoint e;
  char *name;
  int status;

  if (!live || !scheme) {
    return tlg_error_set(err, TLG_EINVAL, "a live source is udp:, unix:, shm:, zmq:, srsran: or uhd:");
  }
  *live = NULL;
  if (!scheme->open) {
    return tlg_error_set(err, TLG_EUNAVAIL, "the source '%s:' is not built in", scheme->name);
  }
  name = strdup(text);
  if (!name) {
    return tlg_error_set(err, TLG_ENOMEM, "out of memory");
  }
  status = tlg_endpoint_parse(&e, text, err);
  if (!status) {
    status = scheme->open(live, &e, cfg ? cfg : &none, cancel, err);
    tlg_endpoint_free(&e);
  }
  if (status) {
    free(name);
    return status;
  }
  (*live)->info.name = (*live)->name = name;
  return TLG_OK;
}

static int live_read(void *context, tlg_cs16 *buf, size_t n, size_t *got, uint64_t *first, struct tlg_error *err)
{
  struct tlg_live *live = context;

  return live->ops->read(live, buf, n, got, first, err);
}

static int live_rewind(void *context, struct tlg_error *err)
{
  return tlg_error_set(err, TLG_EUNAVAIL, "%s: a live source cannot be repeated; record it first",
                       ((struct tlg_live *)context)->name);
}

static void live_stop(void *context)
{
  struct tlg_live *live = context;

  if (live->ops->stop) {
    live->ops->stop(live);
  }
}

struct tlg_source tlg_live_source(struct tlg_live *live)
{
  const struct tlg_source source = {.read = live_read,
                                    .rewind = live_rewind,
                                    .context = live,
                                    .live = 1,
                                    .clock = live->info.clock,
                                    .chunk = live->info.chunk,
                                    .stop = live->ops->stop ? live_stop : NULL};

  return source;
}

const struct tlg_live_info *tlg_live_info(const struct tlg_live *live)
{
  return &live->info;
}

uint64_t tlg_live_count(const struct tlg_live *live, enum tlg_live_count which)
{
  return (unsigned)which < TLG_LIVE_COUNTS ? atomic_load_explicit(&live->counts[which], memory_order_relaxed) : 0;
}

void tlg_live_close(struct tlg_live *live)
{
  if (live) {
    if (live->ops->close) {
      live->ops->close(live);
    }
    free(live->name);
    free(live);
  }
}
