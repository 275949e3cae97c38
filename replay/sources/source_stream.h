/* SPDX-License-Identifier: Apache-2.0 */
/* What sources of packets share: an intake's stream and counts as those of a live source, and reading from it. */
#ifndef TLG_SOURCE_STREAM_H
#define TLG_SOURCE_STREAM_H

#include "intake.h"
#include "live.h"

/* Fill in live->info. */
void tlg_source_describe(struct tlg_live *live, const struct tlg_intake *in);
void tlg_source_publish(struct tlg_live *live, const struct tlg_intake *in);
/* Append what is ready to the *got samples in buf, of which the first has number *first. 1: no more of it fits, or it
 * stands behind a gap; 0: nothing is ready any more. */
int tlg_source_gather(struct tlg_intake *in, tlg_cs16 *buf, size_t n, size_t *got, uint64_t *first);
/* The clock by which silence is measured. */
uint64_t tlg_source_now_ns(void);

#endif
