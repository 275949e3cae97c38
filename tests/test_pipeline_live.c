/* SPDX-License-Identifier: Apache-2.0 */
/* The pipeline behind a live source: nothing is paced by our clock, gaps and losses add up, a stop drains what the
 * source still has, and `air` stands where docs/time.md says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "pace.h"
#include "tlg_replay.h"

static const struct tlg_rate rate_in = {25000000, 1}, rate_out = {30720000, 1};
static struct tlg_taps taps;

static int setup(void **state)
{
  (void)state;
  return tlg_taps_default(&taps, &rate_in, &rate_out, NULL);
}

static int teardown(void **state)
{
  (void)state;
  tlg_taps_free(&taps);
  return 0;
}

static tlg_cs16 sample_at(uint64_t n)
{
  const uint32_t counter[4] = {(uint32_t)n, (uint32_t)(n >> 32), 0, 0}, key[2] = {7, 0};
  uint32_t out[4];

  tlg_philox(counter, key, out);
  return (tlg_cs16){.i = (int16_t)(out[0] % 20001 - 10000), .q = (int16_t)(out[1] % 20001 - 10000)};
}

/* A radio: packets of `packet` samples of which the number is the clock's, speed times as fast as real time if it is
 * not 0. */
struct radio {
  uint64_t next, end;   /* samples it will give in all */
  uint64_t gap_at, gap; /* before this sample so many are lost */
  size_t packet;
  double speed;        /* 0: as fast as it is asked */
  uint64_t after_stop; /* samples that it still gives when it was asked to stop */
  uint64_t idle_every; /* every so many reads: nothing yet */
  int hang;            /* at the end it does not return */
  uint64_t reads, start_ns, handed;
  _Atomic int stops;
};

static uint64_t now_ns(void)
{
  return tlg_clock_monotonic.now_ns(NULL);
}

static int radio_read(void *context, tlg_cs16 *buf, size_t n, size_t *got, uint64_t *first, struct tlg_error *err)
{
  struct radio *r = context;
  size_t i;

  assert_true(n >= r->packet);
  if (r->idle_every && ++r->reads % r->idle_every == 0) {
    usleep(1000);
    return tlg_error_set(err, TLG_EINTR, "nothing yet");
  }
  if (!r->start_ns) {
    r->start_ns = now_ns();
  }
  if (r->gap && r->next == r->gap_at) {
    r->next += r->gap;
    r->gap = 0;
  }
  while (r->hang && r->next >= r->end) {
    sleep(1);
  }
  *first = r->next;
  *got = r->next + r->packet <= r->end ? r->packet : (size_t)(r->end - r->next);
  if (r->speed > 0) {
    const double due = (double)(r->next + *got) / (25e6 * r->speed) * 1e9;

    while ((double)(now_ns() - r->start_ns) < due) {
      usleep(50);
    }
  }
  for (i = 0; i < *got; i++) {
    buf[i] = sample_at(r->next + i);
  }
  r->next += *got;
  r->handed += *got;
  return TLG_OK;
}

static int radio_rewind(void *context, struct tlg_error *err)
{
  (void)context;
  return tlg_error_set(err, TLG_EUNAVAIL, "it is live");
}

static void radio_stop(void *context)
{
  struct radio *r = context;

  atomic_fetch_add(&r->stops, 1);
  r->end = r->next + r->after_stop < r->end ? r->next + r->after_stop : r->end;
}

/* ---- a sink that keeps everything, and may be slow ----------------------------------------------------------- */

struct heap {
  tlg_cs16 *samples;
  size_t n, room;
  uint64_t gaps, next;
  unsigned slow_us;
  _Atomic uint64_t seen;
};

static int heap_take(void *context, const struct tlg_sink_block *block, struct tlg_error *err)
{
  struct heap *h = context;

  (void)err;
  assert_int_equal(block->first, h->next + block->gap);
  h->next = block->first + block->n;
  h->gaps += block->gap;
  if (h->n + block->n > h->room) {
    h->room = 2 * (h->n + block->n);
    h->samples = realloc(h->samples, h->room * sizeof *h->samples);
    assert_non_null(h->samples);
  }
  memcpy(h->samples + h->n, block->samples, block->n * sizeof *h->samples);
  h->n += block->n;
  atomic_store(&h->seen, h->n);
  if (h->slow_us) {
    usleep(h->slow_us);
  }
  return TLG_OK;
}

struct watch {
  struct heap *heap;
  uint64_t stop_after; /* outputs; 0 = never */
  unsigned warnings;
};

static int on_event(void *context, const struct tlg_event *event)
{
  struct watch *w = context;

  w->warnings += event->kind == TLG_EVENT_WARNING;
  return w->stop_after && atomic_load(&w->heap->seen) >= w->stop_after;
}

static int run(struct tlg_pipeline **pipeline, struct radio *radio, struct heap *heap, struct watch *watch,
               struct tlg_pipeline_cfg *cfg)
{
  struct tlg_resamp_cfg resamp = {.up = 768, .down = 625, .taps = &taps};
  struct tlg_sink *sink;
  struct tlg_error err;
  int status;

  watch->heap = heap;
  assert_int_equal(tlg_sink_callback(&sink, heap_take, heap), TLG_OK);
  cfg->source.read = radio_read;
  cfg->source.rewind = radio_rewind;
  cfg->source.stop = radio_stop;
  cfg->source.context = radio;
  cfg->source.live = 1;
  cfg->rate_in = rate_in;
  cfg->rate_out = rate_out;
  cfg->resamp = &resamp;
  cfg->loops = 1;
  cfg->sinks = &sink;
  cfg->n_sinks = 1;
  cfg->event = on_event;
  cfg->context = watch;
  assert_int_equal(tlg_pipeline_new(pipeline, cfg, &err), TLG_OK);
  status = tlg_pipeline_run(*pipeline, &err);
  assert_true(tlg_pipeline_result(*pipeline)->accounts.balanced || status);
  return status;
}

/* Outputs of n samples, of which a gap is left out, by the resampler alone. */
static void check_outputs(const struct heap *heap, uint64_t n, uint64_t gap_at, uint64_t gap)
{
  const struct tlg_resamp_cfg cfg = {.up = 768, .down = 625, .taps = &taps, .max_block = 1000};
  struct tlg_resamp *r;
  tlg_cs16 in[1000], out[1300];
  uint64_t at = 0, skipped, i;
  size_t done = 0, got;

  assert_int_equal(tlg_resamp_new(&r, &cfg, NULL), TLG_OK);
  while (at < n) {
    uint64_t m = n - at < 1000 ? n - at : 1000;

    if (gap && at == gap_at) {
      assert_int_equal(tlg_resamp_skip(r, gap, &skipped), TLG_OK);
      assert_int_equal(skipped, heap->gaps);
      at += gap;
      gap = 0;
      continue;
    }
    m = gap && gap_at - at < m ? gap_at - at : m;
    for (i = 0; i < m; i++) {
      in[i] = sample_at(at + i);
    }
    assert_int_equal(tlg_resamp_process(r, in, (size_t)m, out, 1300, &got), TLG_OK);
    assert_true(done + got <= heap->n);
    assert_memory_equal(heap->samples + done, out, got * sizeof *out);
    done += got;
    at += m;
  }
  assert_int_equal(done, heap->n);
  tlg_resamp_free(r);
}

static void every_sample_comes_whatever_the_packets(void **state)
{
  static const uint32_t cuts[] = {0, 625, 1000, 7};
  size_t i;

  (void)state;
  for (i = 0; i < 4; i++) {
    struct radio radio = {.end = 100100, .packet = 364, .gap_at = 364 * 100, .gap = 12345, .idle_every = 10};
    struct heap heap = {0};
    struct watch watch = {0};
    struct tlg_pipeline_cfg cfg = {.packets = &cuts[i], .n_packets = cuts[i] ? 1 : 0, .overrun = TLG_OVERRUN_BLOCK};
    struct tlg_pipeline *p;
    const struct tlg_pipeline_result *r;

    assert_int_equal(run(&p, &radio, &heap, &watch, &cfg), TLG_OK);
    r = tlg_pipeline_result(p);
    assert_int_equal(r->accounts.inputs, 100100);
    assert_int_equal(r->accounts.processed, radio.handed);
    assert_int_equal(r->accounts.missing, 12345);
    assert_int_equal(r->accounts.gaps, 1);
    assert_int_equal(r->air, TLG_AIR_ARRIVAL);
    assert_false(r->has_framer); /* there is no clock to time subframes by */
    if (!cuts[i]) {              /* packets as they come */
      assert_int_equal(r->accounts.packets, (36400 + 363) / 364 + (100100 - 36400 - 12345 + 363) / 364);
    }
    check_outputs(&heap, 100100, 36400, 12345);
    tlg_pipeline_free(p);
    free(heap.samples);
  }
}

/* The source is slow: nothing of ours waits for a clock, and delays count from arrival. */
static void a_source_without_a_clock_gives_sane_delays(void **state)
{
  struct radio radio = {.end = 364 * 600, .packet = 364, .speed = 0.25};
  struct heap heap = {0};
  struct watch watch = {0};
  struct tlg_pipeline_cfg cfg = {.trace_packets = 1000};
  struct tlg_pipeline *p;
  const struct tlg_pipeline_result *r;
  struct tlg_trace_info info;
  uint64_t i;

  (void)state;
  assert_int_equal(run(&p, &radio, &heap, &watch, &cfg), TLG_OK);
  r = tlg_pipeline_result(p);
  /* At least 4 times as long as real time by construction; by its nominal instant the last packet would be on the air
   * after 8.736 ms. */
  assert_true(r->wall_ns >= 4 * 8736000 * 9 / 10);
  assert_true(r->arrived_hz < 25e6 / 3);
  assert_true(r->slope_ppm > 2e6); /* +3,000,000 ppm: four times as slow */
  tlg_pipeline_trace_info(p, &info);
  assert_int_equal(info.flags & (TLG_TRACE_LIVE | TLG_TRACE_ARRIVAL), TLG_TRACE_ARRIVAL);
  for (i = 0; i < tlg_pipeline_trace_count(p); i++) {
    const struct tlg_trace_record *t = tlg_pipeline_trace_record(p, i), *before = t;

    before = i ? tlg_pipeline_trace_record(p, i - 1) : t;
    assert_true(t->air <= t->received && t->received <= t->resample_begin && before->air <= t->air);
  }
  assert_true(i && tlg_pipeline_trace_record(p, i - 1)->air > (uint64_t)2 * 8736000000);
  tlg_pipeline_free(p);
  free(heap.samples);
}

/* By its clock: no delay is negative, the source's own stall shows in the packets behind it, and subframes are timed.
 */
static void a_clock_is_anchored_at_its_earliest_packet(void **state)
{
  struct radio radio = {.end = 364 * 2000, .packet = 364, .speed = 1};
  struct heap heap = {0};
  struct watch watch = {0};
  struct tlg_pipeline_cfg cfg = {.trace_packets = 2000, .source = {.clock = 1}};
  struct tlg_pipeline *p;
  const struct tlg_pipeline_result *r;
  uint64_t i, early = 0;

  (void)state;
  assert_int_equal(run(&p, &radio, &heap, &watch, &cfg), TLG_OK);
  r = tlg_pipeline_result(p);
  assert_int_equal(r->air, TLG_AIR_CLOCK);
  assert_true(r->has_framer);
  assert_true(r->framer.complete + r->framer.incomplete >= 28);
  assert_true(!r->framer.complete || r->framer.latency.min >= 999000000);
  for (i = 0; i < tlg_pipeline_trace_count(p); i++) {
    const struct tlg_trace_record *t = tlg_pipeline_trace_record(p, i),
                                  *before = i ? tlg_pipeline_trace_record(p, i - 1) : t;

    assert_true(t->air <= t->received && before->air <= t->air);
    early += t->received - t->air < 20000000000; /* the earliest was on time, whatever the threads did since */
  }
  assert_true(early > 0);
  tlg_pipeline_free(p);
  free(heap.samples);
}

/* A rate that is not kept by far is noticed, said once, and delays are sane from there on. */
static void a_clock_that_is_none_is_given_up(void **state)
{
  struct radio radio = {.end = 25000 * 40, .packet = 1000, .speed = 0.033};
  struct heap heap = {0};
  struct watch watch = {0};
  struct tlg_pipeline_cfg cfg = {.air = TLG_AIR_CLOCK};
  struct tlg_pipeline *p;

  (void)state;
  assert_int_equal(run(&p, &radio, &heap, &watch, &cfg), TLG_OK);
  assert_int_equal(tlg_pipeline_result(p)->lost_clock, 1);
  assert_int_equal(tlg_pipeline_result(p)->air, TLG_AIR_ARRIVAL);
  assert_int_equal(watch.warnings, 1);
  assert_true(tlg_pipeline_result(p)->packet.max < 3000000000000u);
  tlg_pipeline_free(p);
  free(heap.samples);
}

static void a_stop_drains_the_source(void **state)
{
  struct radio radio = {.end = UINT64_MAX / 4, .packet = 364, .speed = 1, .after_stop = 364 * 20};
  struct heap heap = {0};
  struct watch watch = {.stop_after = 10000};
  struct tlg_pipeline_cfg cfg = {.overrun = TLG_OVERRUN_BLOCK};
  struct tlg_pipeline *p;

  (void)state;
  assert_int_equal(run(&p, &radio, &heap, &watch, &cfg), TLG_OK);
  assert_int_equal(atomic_load(&radio.stops), 1);
  assert_true(tlg_pipeline_result(p)->stopped);
  assert_int_equal(radio.next, radio.end); /* all that it still had was read ... */
  assert_int_equal(tlg_pipeline_result(p)->accounts.inputs, radio.handed);
  check_outputs(&heap, radio.handed, 0, 0); /* ... and came out */
  tlg_pipeline_free(p);
  free(heap.samples);
}

/* A source that never ends after a stop is read for half a second; one that never returns is left alone. */
static void a_stop_is_bounded(void **state)
{
  int hang;

  (void)state;
  for (hang = 0; hang < 2; hang++) {
    struct radio radio = {.end = hang ? 36400 : UINT64_MAX / 4,
                          .packet = 364,
                          .speed = hang ? 0 : 1,
                          .after_stop = UINT64_MAX / 8,
                          .hang = hang};
    struct heap heap = {0};
    struct watch watch = {.stop_after = 10000};
    struct tlg_pipeline_cfg cfg = {.overrun = TLG_OVERRUN_BLOCK};
    struct tlg_pipeline *p;

    assert_int_equal(run(&p, &radio, &heap, &watch, &cfg), TLG_OK);
    assert_int_equal(tlg_pipeline_result(p)->accounts.inputs, radio.handed);
    check_outputs(&heap, radio.handed, 0, 0);
    tlg_pipeline_free(p);
    free(heap.samples);
  }
}

static void a_duration_ends_it_and_stops_the_source(void **state)
{
  struct radio radio = {.end = UINT64_MAX / 4, .packet = 364, .gap_at = 3640, .gap = 5000};
  struct heap heap = {0};
  struct watch watch = {0};
  struct tlg_pipeline_cfg cfg = {.overrun = TLG_OVERRUN_BLOCK, .max_samples = 25000};
  struct tlg_pipeline *p;

  (void)state;
  assert_int_equal(run(&p, &radio, &heap, &watch, &cfg), TLG_OK);
  assert_int_equal(tlg_pipeline_result(p)->accounts.inputs, 25000);
  assert_int_equal(atomic_load(&radio.stops), 1);
  check_outputs(&heap, 25000, 3640, 5000);
  tlg_pipeline_free(p);
  free(heap.samples);
}

/* Behind a slow sink packets are lost in front of it, and the accounts hold. */
static void a_slow_sink_loses_and_counts(void **state)
{
  struct radio radio = {.end = 364 * 1000, .packet = 364};
  struct heap heap = {.slow_us = 300};
  struct watch watch = {0};
  struct tlg_pipeline_cfg cfg = {.overrun = TLG_OVERRUN_DROP, .queue = 4};
  struct tlg_pipeline *p;
  const struct tlg_accounts *a;

  (void)state;
  assert_int_equal(run(&p, &radio, &heap, &watch, &cfg), TLG_OK);
  a = &tlg_pipeline_result(p)->accounts;
  assert_true(a->dropped > 0);
  assert_int_equal(a->inputs, a->processed + a->dropped);
  assert_int_equal(heap.n + heap.gaps, a->end_position);
  tlg_pipeline_free(p);
  free(heap.samples);
}

static void what_makes_no_sense_is_refused(void **state)
{
  struct tlg_resamp_cfg resamp = {.up = 768, .down = 625, .taps = &taps};
  struct tlg_pipeline_cfg cfg = {.source = {.read = radio_read, .rewind = radio_rewind, .live = 1},
                                 .rate_in = rate_in,
                                 .rate_out = rate_out,
                                 .resamp = &resamp,
                                 .loops = 1};
  struct tlg_pipeline *p;

  (void)state;
  cfg.clock = TLG_CLOCK_VIRTUAL;
  assert_int_equal(tlg_pipeline_new(&p, &cfg, NULL), TLG_EINVAL);
  cfg.clock = TLG_CLOCK_REAL;
  cfg.loops = 0;
  assert_int_equal(tlg_pipeline_new(&p, &cfg, NULL), TLG_EINVAL);
  cfg.loops = 1;
  cfg.source.chunk = (size_t)1 << 30;
  assert_int_equal(tlg_pipeline_new(&p, &cfg, NULL), TLG_EINVAL);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_sample_comes_whatever_the_packets),
      cmocka_unit_test(a_source_without_a_clock_gives_sane_delays),
      cmocka_unit_test(a_clock_is_anchored_at_its_earliest_packet),
      cmocka_unit_test(a_clock_that_is_none_is_given_up),
      cmocka_unit_test(a_stop_drains_the_source),
      cmocka_unit_test(a_stop_is_bounded),
      cmocka_unit_test(a_duration_ends_it_and_stops_the_source),
      cmocka_unit_test(a_slow_sink_loses_and_counts),
      cmocka_unit_test(what_makes_no_sense_is_refused),
  };

  return cmocka_run_group_tests_name("pipeline_live", tests, setup, teardown);
}
