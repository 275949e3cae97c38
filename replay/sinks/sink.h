/* SPDX-License-Identifier: Apache-2.0 */
/* What a kind of sink provides. */
#ifndef TLG_SINK_H
#define TLG_SINK_H

#include "endpoint.h"
#include "tlg_replay.h"

/* A sink's own state begins with this. All functions are called from one thread at a time. */
struct tlg_sink_ops;
struct tlg_sink {
  const struct tlg_sink_ops *ops;
  char *name;
  uint64_t count; /* outputs written */
};

struct tlg_sink_ops {
  int is_file, is_stdout;
  int (*write)(struct tlg_sink *sink, const struct tlg_sink_block *block, struct tlg_error *err);
  int (*close)(struct tlg_sink *sink, struct tlg_error *err); /* finish; does not free; NULL = nothing to do */
  void (*abort)(struct tlg_sink *sink);                       /* likewise */
  int (*marks_gaps)(const struct tlg_sink *sink);             /* NULL = it is told of them by the block */
  void (*counts)(const struct tlg_sink *sink, struct tlg_convert_counts *counts);
};

/* Opens a sink of a scheme. On success *sink is a heap object. */
typedef int tlg_sink_open_fn(struct tlg_sink **sink, const struct tlg_endpoint *e, const struct tlg_sink_cfg *cfg,
                             struct tlg_error *err);
tlg_sink_open_fn tlg_sink_open_null;
tlg_sink_open_fn tlg_sink_open_file;
tlg_sink_open_fn tlg_sink_open_fifo;
tlg_sink_open_fn tlg_sink_open_stdout;

#endif
