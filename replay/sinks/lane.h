/* SPDX-License-Identifier: Apache-2.0 */
/* A lane: a sink in a thread of its own behind a bounded queue, so that a slow sink never delays a fast one. */
#ifndef TLG_LANE_H
#define TLG_LANE_H

#include "sink.h"

enum {
  TLG_LANE_BLOCK = 1024, /* outputs a block of the queue holds; larger ones are cut */
  TLG_LANE_IDLE_MS = 10, /* without a block for so long, the inner sink's idle is called */
  TLG_LANE_QUEUE = 4096, /* blocks, unless queue=N says otherwise */
  TLG_LANE_LARGEST = 65536,
};

struct tlg_lane_cfg {
  uint32_t queue; /* blocks; 0 = TLG_LANE_QUEUE */
  int block;      /* a full queue makes the writer wait; else what is written then is lost, counted, and a gap */
};

/* Take the keys block=0|1 and queue=N out of e. TLG_EINVAL. */
int tlg_lane_keys(struct tlg_lane_cfg *cfg, struct tlg_endpoint *e, struct tlg_error *err);
/* Wrap inner, which belongs to the lane from here on, also on failure (then it is aborted and freed). inner->block asks
 * for waiting as cfg->block does. All of inner's functions but say are called from the lane's thread, close and abort
 * too. Counts: the lane counts what its queue lost as DROPPED, and what inner's write took without counting it as
 * DROPPED as SENT, unless inner keeps own accounts; inner's own are added. TLG_ESYS, TLG_ENOMEM. */
int tlg_lane_new(struct tlg_sink **sink, struct tlg_sink *inner, const struct tlg_lane_cfg *cfg, struct tlg_error *err);

#endif
