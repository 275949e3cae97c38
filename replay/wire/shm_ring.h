/* SPDX-License-Identifier: Apache-2.0 */
/* The writing side of the shared-memory ring, and what both sides share. */
#ifndef TLG_SHM_RING_H
#define TLG_SHM_RING_H

#include "tlg_shm.h"

#include <stddef.h>

struct tlg_shm_writer;

struct tlg_shm_writer_cfg {
  uint32_t slots, slot_samples; /* slots is rounded up to a power of two */
  uint32_t stream;
  int blocks;
  struct tlg_rate rate;
  int64_t start_ns;
};

/* Make the memory. One whose writer is dead is replaced; TLG_EEXIST: somebody writes it, or it is none of ours.
 * TLG_EINVAL (name), TLG_ESYS (no room), TLG_ENOMEM. */
int tlg_shm_writer_new(struct tlg_shm_writer **w, const char *name, const struct tlg_shm_writer_cfg *cfg,
                       struct tlg_error *err);
/* The next slot to fill. NULL: the reader has not taken enough; then waits at most timeout_ms for it. Without a reader
 * it is NULL too if the ring is one that waits. Otherwise never NULL. */
struct tlg_shm_slot *tlg_shm_writer_slot(struct tlg_shm_writer *w, unsigned timeout_ms);
static inline tlg_cs16 *tlg_shm_samples(struct tlg_shm_slot *slot)
{
  return (tlg_cs16 *)(void *)(slot + 1);
}
void tlg_shm_writer_publish(struct tlg_shm_writer *w);
/* Whether a reader is waited for, and is alive. */
int tlg_shm_writer_has_reader(struct tlg_shm_writer *w);
/* Say the end at sample number `end`, take the name away, free. Readers keep what is mapped. */
void tlg_shm_writer_close(struct tlg_shm_writer *w, uint64_t end, uint64_t left_out);

/* "/NAME", or TLG_EINVAL. */
int tlg_shm_path(char path[256], const char *name, struct tlg_error *err);
/* Whether byte `which` of the file is locked by somebody else; take that lock. */
int tlg_shm_is_locked(int fd, int which);
int tlg_shm_lock(int fd, int which);
void tlg_shm_wake(uint32_t *futex);
/* Until *futex is no longer `value`, at most timeout_ms. */
void tlg_shm_sleep(const uint32_t *futex, uint32_t value, unsigned timeout_ms);
/* Whether the counts can be those of a writer, which has one slot open at most. */
int tlg_shm_counts_are_sound(const struct tlg_shm_header *h);
/* Whether a header describes memory of so many bytes, and nothing in it is what no writer would say. */
int tlg_shm_header_fits(const struct tlg_shm_header *h, uint64_t bytes);

#endif
