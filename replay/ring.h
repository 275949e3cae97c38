/* SPDX-License-Identifier: Apache-2.0 */
/* Lock-free ring of fixed slots between one producing and one consuming thread, filled and read in place. */
#ifndef TLG_RING_H
#define TLG_RING_H

#include "taplag.h"

struct tlg_ring; /* opaque */

/* How one side waits: it looks `spins` times, giving the core away between the looks if `yield`, then sleeps. */
struct tlg_ring_wait {
  uint32_t spins;
  int yield;
};

/* depth >= 1 slots of slot_bytes >= 1 each, 64-byte aligned, zero. TLG_EINVAL, TLG_ENOMEM: *r is NULL. */
int tlg_ring_new(struct tlg_ring **r, size_t slot_bytes, size_t depth, const struct tlg_ring_wait *producer,
                 const struct tlg_ring_wait *consumer);
/* Touch all slots, before the ring is used: its first round meets no page fault then. */
void tlg_ring_touch(struct tlg_ring *r);
void tlg_ring_free(struct tlg_ring *r);

/* Producer. The next free slot, NULL if the ring is full; asking again gives the same slot until it is published. */
void *tlg_ring_reserve(struct tlg_ring *r);
/* The same, but waits for a slot; NULL once the ring is closed and has no room. A waiting producer is woken when half
 * of the slots are free, so that it then works in a batch. */
void *tlg_ring_wait_space(struct tlg_ring *r);
/* Hand the reserved slot over. Makes no system call unless the consumer sleeps. */
void tlg_ring_publish(struct tlg_ring *r);
/* The same without waking a sleeping consumer, for batches: tlg_ring_wake must follow soon. Waiting for space wakes. */
void tlg_ring_publish_quietly(struct tlg_ring *r);
void tlg_ring_wake(struct tlg_ring *r);
/* Items not yet released, as the producer sees them now. */
size_t tlg_ring_count(const struct tlg_ring *r);

/* From any thread: whether as many items as it holds have been published; before the first release: whether it is
 * full. */
int tlg_ring_was_filled(const struct tlg_ring *r);

/* Consumer. The oldest item, NULL if there is none now. */
void *tlg_ring_front(struct tlg_ring *r);
/* The same, but waits; NULL once the ring is closed and empty. *waited (may be NULL) = it was not there at once. */
void *tlg_ring_wait_item(struct tlg_ring *r, int *waited);
/* The same, but waits for timeout_ns at most: NULL then, too. */
void *tlg_ring_wait_item_for(struct tlg_ring *r, uint64_t timeout_ns);
/* Give the oldest item's slot back. */
void tlg_ring_release(struct tlg_ring *r);

/* From any thread: no more items will come (producer), or none will be taken (consumer). Wakes both sides. */
void tlg_ring_close(struct tlg_ring *r);
int tlg_ring_closed(const struct tlg_ring *r);

/* When no thread works on the ring any more. */
struct tlg_ring_stats {
  uint64_t published, released;
  size_t depth, high_water;
  uint64_t producer_sleeps, consumer_sleeps; /* waits that had to sleep */
  uint64_t producer_spins, consumer_spins;   /* looks while waiting */
};
void tlg_ring_get_stats(const struct tlg_ring *r, struct tlg_ring_stats *stats);

/* One pause of a spinning loop. */
void tlg_relax(void);
/* How many looks of a waiting loop take ns nanoseconds on this machine (0 = none); measures for some microseconds. */
uint32_t tlg_ring_spins_for(uint64_t ns);
/* Touch memory page by page, so that the sample path meets no page fault. */
void tlg_touch(void *memory, size_t bytes);

#endif
