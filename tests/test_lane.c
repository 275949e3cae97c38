/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes: a slow sink loses in front of its own queue, is told of it, and delays nobody; with block it makes the writer
 * wait; ends, stops and failures. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lane.h"

/* What the inner sink saw; outlives it. */
struct log {
  uint64_t next, n, gap, blocks, retunes, idles;
  double frequency_hz;
  _Atomic int gate; /* write waits until it is not 0, or the sink is stopping */
  int swallow;      /* a stopping write counts its block as dropped */
  uint64_t fail_at; /* block in which it fails */
  _Atomic int closed, aborted;
  int wrong;
};

struct inner {
  struct tlg_sink base;
  struct log *log;
};

static int inner_write(struct tlg_sink *sink, const struct tlg_sink_block *b, struct tlg_error *err)
{
  struct log *log = ((struct inner *)sink)->log;
  size_t i;

  while (!atomic_load(&log->gate)) {
    if (tlg_sink_stopping(sink)) {
      tlg_sink_add(sink, TLG_SINK_DROPPED, b->n);
      return TLG_OK;
    }
    usleep(1000);
  }
  if (++log->blocks == log->fail_at) {
    return tlg_error_set(err, TLG_EPIPE, "failed on purpose");
  }
  log->wrong |= b->first != log->next + b->gap;
  for (i = 0; i < b->n; i++) {
    log->wrong |= b->samples[i].i != (int16_t)(b->first + i);
  }
  log->next = b->first + b->n;
  log->n += b->n;
  log->gap += b->gap;
  if (b->frequency_hz) {
    log->retunes++;
    log->frequency_hz = *b->frequency_hz;
  }
  return TLG_OK;
}

static int inner_close(struct tlg_sink *sink, struct tlg_error *err)
{
  (void)err;
  atomic_store(&((struct inner *)sink)->log->closed, 1);
  return TLG_OK;
}

static void inner_abort(struct tlg_sink *sink)
{
  atomic_store(&((struct inner *)sink)->log->aborted, 1);
}

static int inner_idle(struct tlg_sink *sink, struct tlg_error *err)
{
  (void)err;
  ((struct inner *)sink)->log->idles++;
  return TLG_OK;
}

static struct tlg_sink *lane(struct log *log, uint32_t queue, int block)
{
  static const struct tlg_sink_ops ops = {
      .write = inner_write, .close = inner_close, .abort = inner_abort, .idle = inner_idle};
  const struct tlg_lane_cfg cfg = {.queue = queue, .block = block};
  struct inner *inner = calloc(1, sizeof *inner);
  struct tlg_sink *sink;

  assert_non_null(inner);
  inner->base.ops = &ops;
  inner->log = log;
  assert_int_equal(tlg_lane_new(&sink, &inner->base, &cfg, NULL), TLG_OK);
  return sink;
}

/* Write outputs [from, from + n) in one block. */
static int give(struct tlg_sink *sink, uint64_t from, size_t n, uint64_t gap, const double *frequency)
{
  tlg_cs16 samples[5000];
  const struct tlg_sink_block block = {
      .samples = samples, .n = n, .first = from, .gap = gap, .frequency_hz = frequency};
  size_t i;

  assert_true(n <= 5000);
  for (i = 0; i < n; i++) {
    samples[i] = (tlg_cs16){.i = (int16_t)(from + i), .q = 1};
  }
  return tlg_sink_write(sink, &block, NULL);
}

static void wait_end(struct tlg_sink *sink)
{
  tlg_sink_end(sink);
  while (!tlg_sink_ended(sink)) {
    usleep(1000);
  }
}

static void blocks_of_any_size_arrive(void **state)
{
  struct log log = {.gate = 1};
  struct tlg_sink *sink = lane(&log, 8, 1);
  const double f = 1e9;

  (void)state;
  assert_true(tlg_sink_is_live(sink) && tlg_sink_blocks(sink) && !tlg_sink_is_file(sink));
  assert_int_equal(give(sink, 0, 1024, 0, NULL), TLG_OK);
  assert_int_equal(give(sink, 1024, 5000, 0, &f), TLG_OK);
  assert_int_equal(give(sink, 7024, 0, 1000, NULL), TLG_OK); /* nothing but a gap */
  assert_int_equal(give(sink, 7026, 1, 2, NULL), TLG_OK);
  wait_end(sink);
  assert_false(log.wrong);
  assert_int_equal(log.n, 6025);
  assert_int_equal(log.gap, 1002);
  assert_int_equal(log.retunes, 1);
  assert_true(log.frequency_hz == 1e9);
  assert_int_equal(tlg_sink_counter(sink, TLG_SINK_SENT), 6025);
  assert_int_equal(tlg_sink_counter(sink, TLG_SINK_DROPPED), 0);
  assert_int_equal(tlg_sink_count(sink, NULL), 6025);
  assert_int_equal(tlg_sink_close(sink, NULL), TLG_OK);
  assert_true(log.closed && !log.aborted);
}

static void a_full_queue_loses_and_tells_the_gap(void **state)
{
  struct log log = {0};
  struct tlg_sink *sink = lane(&log, 4, 0);
  const double f = 2e9;
  uint64_t at;

  (void)state;
  for (at = 0; at < 100000; at += 500) { /* returns at once, whatever the sink does */
    assert_int_equal(give(sink, at, 500, 0, at == 50000 ? &f : NULL), TLG_OK);
  }
  atomic_store(&log.gate, 1);
  while (tlg_sink_counter(sink, TLG_SINK_SENT) < 2000) {
    usleep(1000);
  }
  assert_int_equal(give(sink, 100000, 10, 0, NULL), TLG_OK);
  wait_end(sink);
  assert_false(log.wrong);
  assert_int_equal(tlg_sink_counter(sink, TLG_SINK_SENT), 2010);
  assert_int_equal(tlg_sink_counter(sink, TLG_SINK_DROPPED), 98000);
  assert_int_equal(tlg_sink_counter(sink, TLG_SINK_LOSSES), 1);
  assert_int_equal(log.gap, 98000);
  assert_int_equal(log.retunes, 1); /* of a block that was lost */
  assert_int_equal(tlg_sink_counter(sink, TLG_SINK_HIGH_WATER), 4);
  assert_int_equal(tlg_sink_close(sink, NULL), TLG_OK);
}

/* Lost to the very end, or left out there: the sink learns the number at which the stream ended. */
static void the_end_stands_behind_what_was_lost_last(void **state)
{
  struct log log = {0};
  struct tlg_sink *sink = lane(&log, 4, 0);
  uint64_t at;

  (void)state;
  for (at = 0; at < 10000; at += 500) {
    assert_int_equal(give(sink, at, 500, 0, NULL), TLG_OK);
  }
  assert_int_equal(give(sink, 10300, 0, 300, NULL), TLG_OK);
  atomic_store(&log.gate, 1);
  wait_end(sink);
  assert_false(log.wrong);
  assert_int_equal(log.n, 2000);
  assert_int_equal(log.gap, 8300);
  assert_int_equal(log.next, 10300);
  assert_int_equal(tlg_sink_counter(sink, TLG_SINK_SENT), 2000);
  assert_int_equal(tlg_sink_counter(sink, TLG_SINK_DROPPED), 8000);
  assert_int_equal(tlg_sink_close(sink, NULL), TLG_OK);
}

static void block_waits_and_loses_nothing(void **state)
{
  struct log log = {.gate = 1};
  struct tlg_sink *sink = lane(&log, 2, 1);
  uint64_t at;

  (void)state;
  for (at = 0; at < 100000; at += 500) {
    assert_int_equal(give(sink, at, 500, 0, NULL), TLG_OK);
  }
  wait_end(sink);
  assert_false(log.wrong);
  assert_int_equal(log.n, 100000);
  assert_int_equal(tlg_sink_counter(sink, TLG_SINK_DROPPED), 0);
  assert_int_equal(tlg_sink_close(sink, NULL), TLG_OK);
}

/* Nobody takes anything, and a stop is asked for: after the grace all is counted as dropped, and the writer goes on. */
static void a_stop_frees_the_writer(void **state)
{
  struct log log = {0};
  struct tlg_sink *sink = lane(&log, 2, 1);
  uint64_t at;

  (void)state;
  tlg_sink_ask_stop(sink);
  for (at = 0; at < 10000; at += 500) {
    assert_int_equal(give(sink, at, 500, 0, NULL), TLG_OK);
  }
  wait_end(sink);
  assert_int_equal(tlg_sink_counter(sink, TLG_SINK_DROPPED), 10000);
  assert_int_equal(tlg_sink_counter(sink, TLG_SINK_SENT), 0);
  assert_int_equal(tlg_sink_close(sink, NULL), TLG_OK);
  assert_true(log.closed);
}

static void a_failure_reaches_the_writer(void **state)
{
  int block;

  (void)state;
  for (block = 0; block < 2; block++) {
    struct log log = {.gate = 1, .fail_at = 3};
    struct tlg_sink *sink = lane(&log, 4, block);
    uint64_t at = 0;
    int status = TLG_OK;

    while (!status) {
      status = give(sink, at, 500, 0, NULL);
      at += 500;
      usleep(100);
    }
    assert_int_equal(status, TLG_EPIPE);
    assert_int_equal(give(sink, at, 500, 0, NULL), TLG_EPIPE);
    tlg_sink_abort(sink);
    assert_true(log.aborted && !log.closed);
  }
}

static void a_failure_at_the_end_shows_at_close(void **state)
{
  struct log log = {.fail_at = 1};
  struct tlg_sink *sink = lane(&log, 4, 0);
  struct tlg_error err = {0};

  (void)state;
  assert_int_equal(give(sink, 0, 500, 0, NULL), TLG_OK);
  assert_int_equal(give(sink, 500, 500, 0, NULL), TLG_OK);
  atomic_store(&log.gate, 1);
  wait_end(sink);
  assert_int_equal(tlg_sink_counter(sink, TLG_SINK_SENT) + tlg_sink_counter(sink, TLG_SINK_DROPPED), 1000);
  assert_int_equal(tlg_sink_close(sink, &err), TLG_EPIPE);
  assert_string_equal(err.text, "failed on purpose");
}

static void an_abort_does_not_wait(void **state)
{
  struct log log = {0};
  struct tlg_sink *sink = lane(&log, 4, 0);

  (void)state;
  assert_int_equal(give(sink, 0, 500, 0, NULL), TLG_OK);
  tlg_sink_abort(sink); /* the gate never opens */
  assert_true(log.aborted);
}

static void idle_is_called(void **state)
{
  struct log log = {.gate = 1};
  struct tlg_sink *sink = lane(&log, 4, 0);

  (void)state;
  usleep(100000);
  assert_int_equal(tlg_sink_close(sink, NULL), TLG_OK);
  assert_true(log.idles > 0);
}

static void keys_are_taken_out(void **state)
{
  struct tlg_endpoint e;
  struct tlg_lane_cfg cfg;
  struct tlg_error err;

  (void)state;
  assert_int_equal(tlg_endpoint_parse(&e, "udp:h:1?queue=16&format=cs16&block=1", NULL), TLG_OK);
  assert_int_equal(tlg_lane_keys(&cfg, &e, NULL), TLG_OK);
  assert_int_equal(cfg.queue, 16);
  assert_int_equal(cfg.block, 1);
  assert_int_equal(e.n_keys, 1);
  assert_string_equal(e.keys[0].key, "format");
  tlg_endpoint_free(&e);
  assert_int_equal(tlg_endpoint_parse(&e, "udp:h:1?queue=1", NULL), TLG_OK);
  assert_int_equal(tlg_lane_keys(&cfg, &e, &err), TLG_EINVAL);
  tlg_endpoint_free(&e);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(blocks_of_any_size_arrive),
      cmocka_unit_test(a_full_queue_loses_and_tells_the_gap),
      cmocka_unit_test(the_end_stands_behind_what_was_lost_last),
      cmocka_unit_test(block_waits_and_loses_nothing),
      cmocka_unit_test(a_stop_frees_the_writer),
      cmocka_unit_test(a_failure_reaches_the_writer),
      cmocka_unit_test(a_failure_at_the_end_shows_at_close),
      cmocka_unit_test(an_abort_does_not_wait),
      cmocka_unit_test(idle_is_called),
      cmocka_unit_test(keys_are_taken_out),
  };

  return cmocka_run_group_tests_name("lane", tests, NULL, NULL);
}
