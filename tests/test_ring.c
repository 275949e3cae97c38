/* SPDX-License-Identifier: Apache-2.0 */
/* The ring between two threads: nothing lost, doubled or out of order; bounds, closing, sleeping. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ring.h"

static const struct tlg_ring_wait sleeps = {0, 0}, spins = {200, 0}, yields = {20, 1};

static void one_thread_sees_order_and_bounds(void **state)
{
  size_t depth, i, round;

  (void)state;
  for (depth = 1; depth <= 5; depth++) {
    struct tlg_ring_stats stats;
    struct tlg_ring *r;
    uint64_t put = 0, taken = 0;

    assert_int_equal(tlg_ring_new(&r, sizeof(uint64_t), depth, NULL, NULL), TLG_OK);
    assert_null(tlg_ring_front(r));
    for (round = 0; round < 13; round++) {
      for (i = 0; i < depth; i++) {
        uint64_t *slot = tlg_ring_reserve(r);

        assert_non_null(slot);
        assert_true((uintptr_t)slot % 64 == 0);
        assert_ptr_equal(slot, tlg_ring_reserve(r)); /* the same until it is published */
        *slot = put++;
        tlg_ring_publish(r);
        assert_int_equal(tlg_ring_count(r), i + 1);
      }
      assert_null(tlg_ring_reserve(r));
      for (i = 0; i < depth; i++) {
        uint64_t *item = tlg_ring_front(r);

        assert_non_null(item);
        assert_true(*item == taken++);
        tlg_ring_release(r);
      }
      assert_null(tlg_ring_front(r));
    }
    tlg_ring_get_stats(r, &stats);
    assert_true(stats.published == 13 * depth && stats.released == 13 * depth);
    assert_true(stats.high_water == depth && stats.depth == depth);
    tlg_ring_free(r);
  }
}

static void bad_arguments_are_refused(void **state)
{
  struct tlg_ring *r = (struct tlg_ring *)&r;

  (void)state;
  assert_int_equal(tlg_ring_new(NULL, 8, 1, NULL, NULL), TLG_EINVAL);
  assert_int_equal(tlg_ring_new(&r, 0, 1, NULL, NULL), TLG_EINVAL);
  assert_null(r);
  assert_int_equal(tlg_ring_new(&r, 8, 0, NULL, NULL), TLG_EINVAL);
  assert_int_equal(tlg_ring_new(&r, SIZE_MAX / 4, 100, NULL, NULL), TLG_EINVAL);
  tlg_ring_free(NULL);
}

static void closing_lets_the_rest_be_taken(void **state)
{
  struct tlg_ring *r;
  int waited = 0;
  uint64_t *slot;

  (void)state;
  assert_int_equal(tlg_ring_new(&r, sizeof(uint64_t), 2, &sleeps, &sleeps), TLG_OK);
  slot = tlg_ring_reserve(r);
  *slot = 42;
  tlg_ring_publish(r);
  tlg_ring_close(r);
  assert_true(tlg_ring_closed(r));
  slot = tlg_ring_wait_item(r, &waited);
  assert_true(slot && *slot == 42 && !waited);
  tlg_ring_release(r);
  assert_null(tlg_ring_wait_item(r, &waited));
  assert_true(waited);
  /* Full and closed: a producer must not wait for ever. */
  tlg_ring_reserve(r);
  tlg_ring_publish(r);
  tlg_ring_reserve(r);
  tlg_ring_publish(r);
  assert_null(tlg_ring_wait_space(r));
  tlg_ring_free(r);
}

/* ---- two threads ------------------------------------------------------------------------------------------------ */

struct flow {
  struct tlg_ring *r;
  uint64_t n;
  unsigned producer_naps, consumer_naps; /* a nap in every so many items, 0 = none */
  uint64_t skip;                         /* the faulty consumer leaves this item unread; 0 = none */
  uint64_t twice;                        /* the faulty producer publishes this item twice; 0 = none */
  uint64_t broken_at;                    /* the first item that was not the one expected; UINT64_MAX = none */
  uint64_t taken;
  unsigned batch; /* wake the consumer once for so many items; 0 = for each */
};

static void nap(void)
{
  const struct timespec t = {.tv_nsec = 50000};

  nanosleep(&t, NULL);
}

static void *produce(void *argument)
{
  struct flow *f = argument;
  uint64_t i, k;

  for (i = 0; i < f->n; i++) {
    const int copies = f->twice && i == f->twice ? 2 : 1;
    int c;

    for (c = 0; c < copies; c++) {
      uint64_t *slot = tlg_ring_wait_space(f->r);

      for (k = 0; k < 8; k++) { /* a torn item would show */
        slot[k] = i * 8 + k;
      }
      if (f->batch) {
        tlg_ring_publish_quietly(f->r);
      } else {
        tlg_ring_publish(f->r);
      }
    }
    if (f->batch && i % f->batch == f->batch - 1) {
      tlg_ring_wake(f->r);
    }
    if (f->producer_naps && i % f->producer_naps == 0) {
      nap();
    }
  }
  tlg_ring_close(f->r);
  return NULL;
}

/* The check that all these tests rest on: items come in order, each once, whole. */
static void consume(struct flow *f)
{
  uint64_t want = 0, k, *item;

  f->broken_at = UINT64_MAX;
  f->taken = 0;
  while ((item = tlg_ring_wait_item(f->r, NULL))) {
    if (f->skip && f->taken == f->skip) {
      tlg_ring_release(f->r);
      f->skip = 0;
      continue;
    }
    for (k = 0; k < 8 && f->broken_at == UINT64_MAX; k++) {
      if (item[k] != want * 8 + k) {
        f->broken_at = want;
      }
    }
    want++;
    f->taken++;
    tlg_ring_release(f->r);
    if (f->consumer_naps && f->taken % f->consumer_naps == 0) {
      nap();
    }
  }
  if (f->broken_at == UINT64_MAX && want != f->n) {
    f->broken_at = want;
  }
}

static void flow(struct flow *f, size_t depth, const struct tlg_ring_wait *producer,
                 const struct tlg_ring_wait *consumer)
{
  struct tlg_ring_stats stats;
  pthread_t thread;

  assert_int_equal(tlg_ring_new(&f->r, 64, depth, producer, consumer), TLG_OK);
  assert_int_equal(pthread_create(&thread, NULL, produce, f), 0);
  consume(f);
  pthread_join(thread, NULL);
  tlg_ring_get_stats(f->r, &stats);
  assert_true(stats.published == stats.released);
  assert_true(stats.high_water >= 1 && stats.high_water <= depth);
  tlg_ring_free(f->r);
}

static void two_threads_lose_nothing(void **state)
{
  static const struct tlg_ring_wait *const waits[] = {&sleeps, &spins, &yields};
  static const size_t depths[] = {1, 2, 3, 64};
  size_t d, p, c;

  (void)state;
  for (d = 0; d < 4; d++) {
    for (p = 0; p < 3; p++) {
      for (c = 0; c < 3; c++) {
        struct flow f = {.n = 3000};

        flow(&f, depths[d], waits[p], waits[c]);
        assert_true(f.broken_at == UINT64_MAX);
      }
    }
  }
}

/* Wake-ups: whichever side is slow, the other sleeps and is woken each time. A lost one would hang here. */
static void no_wake_up_is_lost(void **state)
{
  size_t depth;

  (void)state;
  for (depth = 1; depth <= 4; depth++) {
    struct flow slow_producer = {.n = 400, .producer_naps = 2}, slow_consumer = {.n = 400, .consumer_naps = 2},
                both = {.n = 600, .producer_naps = 3, .consumer_naps = 5};

    flow(&slow_producer, depth, &sleeps, &sleeps);
    flow(&slow_consumer, depth, &sleeps, &sleeps);
    flow(&both, depth, &sleeps, &sleeps);
    assert_true(slow_producer.broken_at == UINT64_MAX);
    assert_true(slow_consumer.broken_at == UINT64_MAX);
    assert_true(both.broken_at == UINT64_MAX);
  }
}

/* Woken once a batch, or by the producer that waits for room, or by the closing: nothing stays behind. */
static void batches_are_all_taken(void **state)
{
  unsigned batch;
  size_t depth;

  (void)state;
  for (batch = 1; batch <= 33; batch += 8) {
    for (depth = 1; depth <= 16; depth += 5) {
      struct flow f = {.n = 500, .batch = batch}, napping = {.n = 100, .batch = batch, .producer_naps = 3};

      flow(&f, depth, &sleeps, &sleeps);
      flow(&napping, depth, &spins, &sleeps);
      assert_true(f.broken_at == UINT64_MAX && napping.broken_at == UINT64_MAX);
    }
  }
}

static void a_lost_or_doubled_item_would_show(void **state)
{
  struct flow lossy = {.n = 500, .skip = 123}, doubling = {.n = 500, .twice = 321}, last = {.n = 500, .skip = 499};

  (void)state;
  flow(&lossy, 8, &spins, &spins);
  assert_true(lossy.broken_at == 123);
  flow(&doubling, 8, &spins, &spins);
  assert_true(doubling.broken_at == 322);
  flow(&last, 8, &spins, &spins);
  assert_true(last.broken_at == 499);
}

static void *close_later(void *argument)
{
  nap();
  tlg_ring_close(argument);
  return NULL;
}

static void closing_wakes_sleepers(void **state)
{
  struct tlg_ring *r;
  pthread_t thread;

  (void)state;
  assert_int_equal(tlg_ring_new(&r, 8, 1, &sleeps, &sleeps), TLG_OK);
  pthread_create(&thread, NULL, close_later, r);
  assert_null(tlg_ring_wait_item(r, NULL));
  pthread_join(thread, NULL);
  tlg_ring_free(r);

  assert_int_equal(tlg_ring_new(&r, 8, 1, &sleeps, &sleeps), TLG_OK);
  tlg_ring_reserve(r);
  tlg_ring_publish(r);
  pthread_create(&thread, NULL, close_later, r);
  assert_null(tlg_ring_wait_space(r));
  pthread_join(thread, NULL);
  tlg_ring_free(r);
}

static void spin_counts_are_sane(void **state)
{
  (void)state;
  assert_int_equal(tlg_ring_spins_for(0), 0);
  assert_true(tlg_ring_spins_for(1) >= 1);
  assert_true(tlg_ring_spins_for(1000000) > tlg_ring_spins_for(1));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_thread_sees_order_and_bounds),
      cmocka_unit_test(bad_arguments_are_refused),
      cmocka_unit_test(closing_lets_the_rest_be_taken),
      cmocka_unit_test(two_threads_lose_nothing),
      cmocka_unit_test(no_wake_up_is_lost),
      cmocka_unit_test(batches_are_all_taken),
      cmocka_unit_test(a_lost_or_doubled_item_would_show),
      cmocka_unit_test(closing_wakes_sleepers),
      cmocka_unit_test(spin_counts_are_sane),
  };

  return cmocka_run_group_tests_name("ring", tests, NULL, NULL);
}
