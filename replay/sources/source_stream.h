/* SPDX-License-Identifier: Apache-2.0 */
/* What sources of packets share: an intake's stream and counts as those of a live source, and reading from it. */
#ifndef TLG_SOURCE_STREAM_H
#define TLG_SOURCE_STREAM_H

#include "intake.h"
#include "live.h"

/* An intake of our own packets of at most slot_bytes for a source that was opened with cfg. */
int tlg_source_intake(struct tlg_intake **in, const struct tlg_live_cfg *cfg, size_t slot_bytes, struct tlg_error *err);
/* The format of bare samples: the key's, else cfg's, else cs16. Packets tell their own: then the key is refused. */
int tlg_source_format(enum tlg_format *format, const struct tlg_endpoint *e, const struct tlg_live_cfg *cfg, int raw,
                      struct tlg_error *err);
/* Fill in live->info: from the packets that came, or, of bare samples (in NULL), from what was stated. */
void tlg_source_describe(struct tlg_live *live, const struct tlg_intake *in, const struct tlg_rate *rate,
                         enum tlg_format format);
void tlg_source_publish(struct tlg_live *live, const struct tlg_intake *in);
/* Append what is ready to the *got samples in buf, of which the first has number *first. 1: no more of it fits, or it
 * stands behind a gap; 0: nothing is ready any more. */
int tlg_source_gather(struct tlg_intake *in, tlg_cs16 *buf, size_t n, size_t *got, uint64_t *first);

#endif
