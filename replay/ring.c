/* SPDX-License-Identifier: Apache-2.0 */
/* Lock-free ring between two threads: two counters, cached on the other side, and a futex for those who sleep. */
#include "ring.h"

#include <linux/futex.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Each group on cache lines of its own: what one side writes at every packet must not slow the other's reads.
 * The counters never wrap (64 bits). Sleeping: a side announces that it wants something, looks again, and sleeps on
 * the announcement; the other side publishes first and looks at the announcement after. With all four accesses
 * sequentially consistent at least one of them sees the other, so no wake-up is lost. */
struct tlg_ring {
  _Alignas(64) _Atomic uint64_t tail; /* items published */
  uint64_t tail_own, head_seen;
  size_t tail_slot, high_water;
  uint64_t producer_sleeps, producer_spins;

  _Alignas(64) _Atomic uint64_t head; /* items released */
  uint64_t head_own, tail_seen;
  size_t head_slot;
  uint64_t consumer_sleeps, consumer_spins;

  _Alignas(64) _Atomic uint32_t item_wanted;
  _Atomic uint32_t space_wanted;
  _Atomic uint32_t closed;

  _Alignas(64) unsigned char *slots;
  void *memory; /* that they are in */
  size_t stride, depth;
  struct tlg_ring_wait producer, consumer;
};

void tlg_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

/* Sleeps while *word == value, for `timeout` at most (NULL: without end); may wake early. */
static void futex_sleep(_Atomic uint32_t *word, uint32_t value, const struct timespec *timeout)
{
  (void)syscall(SYS_futex, (uint32_t *)word, FUTEX_WAIT_PRIVATE, value, timeout, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *word)
{
  (void)syscall(SYS_futex, (uint32_t *)word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void wake_if_wanted(_Atomic uint32_t *wanted)
{
  if (atomic_load(wanted) && atomic_exchange(wanted, 0)) {
    futex_wake(wanted);
  }
}

void tlg_touch(void *memory, size_t bytes)
{
  volatile unsigned char *p = memory;
  size_t i;

  for (i = 0; i < bytes; i += 4096) {
    p[i] = p[i];
  }
  if (bytes) {
    p[bytes - 1] = p[bytes - 1];
  }
}

int tlg_ring_new(struct tlg_ring **ring, size_t slot_bytes, size_t depth, const struct tlg_ring_wait *producer,
                 const struct tlg_ring_wait *consumer)
{
  struct tlg_ring *r;
  size_t stride, total;

  if (!ring) {
    return TLG_EINVAL;
  }
  *ring = NULL;
  if (!slot_bytes || slot_bytes > SIZE_MAX / 2 || !depth) {
    return TLG_EINVAL;
  }
  stride = (slot_bytes + 63) & ~(size_t)63;
  if (__builtin_mul_overflow(stride, depth, &total)) {
    return TLG_EINVAL;
  }
  r = aligned_alloc(64, sizeof *r);
  if (!r) {
    return TLG_ENOMEM;
  }
  memset(r, 0, sizeof *r);
  r->memory = total > SIZE_MAX - 63 ? NULL : calloc(1, total + 63); /* pages that are zero without being touched */
  if (!r->memory) {
    free(r);
    return TLG_ENOMEM;
  }
  r->slots = (unsigned char *)(((uintptr_t)r->memory + 63) & ~(uintptr_t)63);
  r->stride = stride;
  r->depth = depth;
  if (producer) {
    r->producer = *producer;
  }
  if (consumer) {
    r->consumer = *consumer;
  }
  *ring = r;
  return TLG_OK;
}

void tlg_ring_touch(struct tlg_ring *r)
{
  tlg_touch(r->slots, r->stride * r->depth);
}

void tlg_ring_free(struct tlg_ring *r)
{
  if (r) {
    free(r->memory);
    free(r);
  }
}

void *tlg_ring_reserve(struct tlg_ring *r)
{
  if (r->tail_own - r->head_seen >= r->depth) {
    r->head_seen = atomic_load(&r->head);
    if (r->tail_own - r->head_seen >= r->depth) {
      return NULL;
    }
  }
  return r->slots + r->tail_slot * r->stride;
}

void tlg_ring_publish_quietly(struct tlg_ring *r)
{
  size_t count;

  r->tail_own++;
  r->tail_slot = r->tail_slot + 1 == r->depth ? 0 : r->tail_slot + 1;
  count = (size_t)(r->tail_own - atomic_load_explicit(&r->head, memory_order_relaxed));
  if (count > r->high_water) {
    r->high_water = count;
  }
  atomic_store(&r->tail, r->tail_own);
}

void tlg_ring_wake(struct tlg_ring *r)
{
  wake_if_wanted(&r->item_wanted);
}

void tlg_ring_publish(struct tlg_ring *r)
{
  tlg_ring_publish_quietly(r);
  tlg_ring_wake(r);
}

size_t tlg_ring_count(const struct tlg_ring *r)
{
  return (size_t)(r->tail_own - atomic_load_explicit(&r->head, memory_order_relaxed));
}

int tlg_ring_was_filled(const struct tlg_ring *r)
{
  return atomic_load(&r->tail) >= r->depth;
}

void *tlg_ring_front(struct tlg_ring *r)
{
  if (r->head_own == r->tail_seen) {
    r->tail_seen = atomic_load(&r->tail);
    if (r->head_own == r->tail_seen) {
      return NULL;
    }
  }
  return r->slots + r->head_slot * r->stride;
}

void tlg_ring_release(struct tlg_ring *r)
{
  r->head_own++;
  r->head_slot = r->head_slot + 1 == r->depth ? 0 : r->head_slot + 1;
  atomic_store(&r->head, r->head_own);
  /* tail_seen may be old, which makes the ring look emptier than it is: the producer is then woken early, never late:
   * when everything seen is released, it is woken whatever has come since. */
  if (r->tail_seen - r->head_own <= r->depth / 2) {
    wake_if_wanted(&r->space_wanted);
  }
}

typedef void *look_fn(struct tlg_ring *r);

static void *wait_for(struct tlg_ring *r, look_fn *look, _Atomic uint32_t *wanted, const struct tlg_ring_wait *wait,
                      uint64_t *spins, uint64_t *sleeps)
{
  uint32_t i;
  void *slot;

  for (i = 0; i < wait->spins && !atomic_load_explicit(&r->closed, memory_order_relaxed); i++) {
    if (wait->yield) {
      sched_yield();
    } else {
      tlg_relax();
    }
    (*spins)++;
    if ((slot = look(r))) {
      return slot;
    }
  }
  for (;;) {
    int closed;

    atomic_store(wanted, 1);
    closed = (int)atomic_load(&r->closed); /* before the look: what was published before the closing is seen */
    slot = look(r);
    if (slot || closed) {
      atomic_store(wanted, 0);
      return slot;
    }
    (*sleeps)++;
    futex_sleep(wanted, 1, NULL);
  }
}

void *tlg_ring_wait_space(struct tlg_ring *r)
{
  void *slot = tlg_ring_reserve(r);

  if (slot) {
    return slot;
  }
  tlg_ring_wake(r); /* items may have been published quietly */
  return wait_for(r, tlg_ring_reserve, &r->space_wanted, &r->producer, &r->producer_spins, &r->producer_sleeps);
}

void *tlg_ring_wait_item(struct tlg_ring *r, int *waited)
{
  void *slot = tlg_ring_front(r);

  if (waited) {
    *waited = !slot;
  }
  return slot ? slot
              : wait_for(r, tlg_ring_front, &r->item_wanted, &r->consumer, &r->consumer_spins, &r->consumer_sleeps);
}

void *tlg_ring_wait_item_for(struct tlg_ring *r, uint64_t timeout_ns)
{
  const struct timespec timeout = {.tv_sec = (time_t)(timeout_ns / 1000000000u),
                                   .tv_nsec = (long)(timeout_ns % 1000000000u)};
  void *slot = tlg_ring_front(r);

  if (!slot) {
    int closed;

    atomic_store(&r->item_wanted, 1);
    closed = (int)atomic_load(&r->closed);
    slot = tlg_ring_front(r);
    if (!slot && !closed) {
      r->consumer_sleeps++;
      futex_sleep(&r->item_wanted, 1, &timeout);
      slot = tlg_ring_front(r);
    }
    atomic_store(&r->item_wanted, 0);
  }
  return slot;
}

void tlg_ring_close(struct tlg_ring *r)
{
  atomic_store(&r->closed, 1);
  wake_if_wanted(&r->item_wanted);
  wake_if_wanted(&r->space_wanted);
}

int tlg_ring_closed(const struct tlg_ring *r)
{
  return (int)atomic_load(&r->closed);
}

void tlg_ring_get_stats(const struct tlg_ring *r, struct tlg_ring_stats *stats)
{
  stats->published = atomic_load(&r->tail);
  stats->released = atomic_load(&r->head);
  stats->depth = r->depth;
  stats->high_water = r->high_water;
  stats->producer_sleeps = r->producer_sleeps;
  stats->consumer_sleeps = r->consumer_sleeps;
  stats->producer_spins = r->producer_spins;
  stats->consumer_spins = r->consumer_spins;
}

static uint64_t clock_ns(void)
{
  struct timespec t;

  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint32_t tlg_ring_spins_for(uint64_t ns)
{
  enum { LOOKS = 500, TRIES = 5 };
  _Atomic uint64_t word = 0;
  uint64_t best = UINT64_MAX, spins;
  int t, i;

  if (!ns) {
    return 0;
  }
  for (t = 0; t < TRIES; t++) { /* the fastest of several: the others were disturbed */
    const uint64_t begin = clock_ns();
    uint64_t took;

    for (i = 0; i < LOOKS; i++) {
      tlg_relax();
      (void)atomic_load(&word);
    }
    took = clock_ns() - begin;
    best = took < best ? took : best;
  }
  spins = ns * LOOKS / (best ? best : 1);
  return spins > UINT32_MAX ? UINT32_MAX : spins ? (uint32_t)spins : 1;
}
