/* SPDX-License-Identifier: Apache-2.0 */
/* Sinks that write nowhere: null: counts, a callback hands the samples to a function. */
#include "sink.h"

#include <stdlib.h>

static int null_write(struct tlg_sink *sink, const struct tlg_sink_block *block, struct tlg_error *err)
{
  (void)sink;
  (void)block;
  (void)err;
  return TLG_OK;
}

int tlg_sink_open_null(struct tlg_sink **sink, const struct tlg_endpoint *e, const struct tlg_sink_cfg *cfg,
                       struct tlg_error *err)
{
  static const struct tlg_sink_ops ops = {.write = null_write};
  static const char *const known[] = {NULL};
  int status = tlg_endpoint_check_keys(e, known, err);

  (void)cfg;
  if (status) {
    return status;
  }
  if (*e->rest) {
    return tlg_error_set(err, TLG_EINVAL, "null: takes nothing behind the colon");
  }
  *sink = calloc(1, sizeof **sink);
  if (!*sink) {
    return tlg_error_set(err, TLG_ENOMEM, "out of memory");
  }
  (*sink)->ops = &ops;
  return TLG_OK;
}

struct callback_sink {
  struct tlg_sink base;
  int (*take)(void *context, const struct tlg_sink_block *block, struct tlg_error *err);
  void *context;
};

static int callback_write(struct tlg_sink *sink, const struct tlg_sink_block *block, struct tlg_error *err)
{
  struct callback_sink *s = (struct callback_sink *)sink;

  return s->take(s->context, block, err);
}

int tlg_sink_callback(struct tlg_sink **sink,
                      int (*take)(void *context, const struct tlg_sink_block *block, struct tlg_error *err),
                      void *context)
{
  static const struct tlg_sink_ops ops = {.write = callback_write};
  struct callback_sink *s;

  if (!sink || !take) {
    return TLG_EINVAL;
  }
  *sink = NULL;
  s = calloc(1, sizeof *s);
  if (!s) {
    return TLG_ENOMEM;
  }
  s->base.ops = &ops;
  s->take = take;
  s->context = context;
  *sink = &s->base;
  return TLG_OK;
}
