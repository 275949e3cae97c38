/* SPDX-License-Identifier: Apache-2.0 */
/* zmq: from sink to source over inproc, ipc and tcp, PUSH and PUB: every sample arrives or is counted on both sides. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zmq.h>

#include "tlg_replay.h"

static const struct tlg_rate rate = {30720000, 1};
static char folder[] = "/tmp/taplag-zmq-XXXXXX";
enum { BLOCK = 768 };

static int setup(void **state)
{
  (void)state;
  return mkdtemp(folder) ? 0 : -1;
}

static int teardown(void **state)
{
  (void)state;
  return rmdir(folder);
}

/* A sample that tells its number. */
static tlg_cs16 value(uint64_t n)
{
  return (tlg_cs16){.i = (int16_t)(uint16_t)n, .q = (int16_t)(n >> 16)};
}

static uint64_t number(tlg_cs16 x)
{
  return (uint16_t)x.i + ((uint64_t)(uint16_t)x.q << 16);
}

struct sender {
  _Atomic int waits; /* it said that the other side has not read all */
  struct tlg_sink *sink;
  pthread_t thread;
  uint64_t n, gap_at, gap;
  char endpoint[160];
  uint64_t sent, dropped;
  _Atomic int held; /* the sink is still used by another thread: it must not be closed */
  _Atomic int done;
};

static void on_hint(void *context, const char *text)
{
  const char *at = strstr(text, "sends at ");

  if (at) {
    snprintf(((struct sender *)context)->endpoint, 160, "%s", at + 9);
  }
  if (strstr(text, "has not read it yet")) {
    atomic_store(&((struct sender *)context)->waits, 1);
  }
}

static void *feed(void *context)
{
  struct sender *s = context;
  tlg_cs16 x[BLOCK];
  uint64_t at = 0, i;

  while (at < s->n) {
    const uint64_t n = s->n - at < BLOCK ? s->n - at : BLOCK;
    struct tlg_sink_block block = {.samples = x, .n = (size_t)n, .first = at};

    if (s->gap && at >= s->gap_at) {
      block.gap = s->gap;
      at += s->gap;
      s->n += s->gap;
      s->gap = 0;
    }
    block.first = at;
    for (i = 0; i < n; i++) {
      x[i] = value(at + i);
    }
    assert_int_equal(tlg_sink_write(s->sink, &block, NULL), TLG_OK);
    at += n;
  }
  tlg_sink_end(s->sink);
  while (!tlg_sink_ended(s->sink) || atomic_load(&s->held)) {
    usleep(1000);
  }
  s->sent = tlg_sink_counter(s->sink, TLG_SINK_SENT);
  s->dropped = tlg_sink_counter(s->sink, TLG_SINK_DROPPED);
  assert_int_equal(tlg_sink_close(s->sink, NULL), TLG_OK);
  atomic_store(&s->done, 1);
  return NULL;
}

static void start(struct sender *s, const char *endpoint, const char *keys)
{
  const struct tlg_sink_cfg cfg = {.rate = rate, .hint = on_hint, .context = s};
  struct tlg_error err = {0};
  char text[200];

  snprintf(s->endpoint, sizeof s->endpoint, "%s", endpoint);
  snprintf(text, sizeof text, "zmq:%s%s%s", endpoint, *keys ? "?" : "", keys);
  if (tlg_sink_open(&s->sink, text, &cfg, &err)) {
    fail_msg("%s: %s", text, err.text);
  }
  assert_int_equal(pthread_create(&s->thread, NULL, feed, s), 0);
}

static int end_was_told; /* to take, the last time */

/* Read all, the values checked by their numbers; returns the samples that came. *end = the sender's number of the end,
 * *joined = of the first sample that came: a reader counts from there. */
static uint64_t take(struct tlg_live *live, unsigned pause_us, uint64_t *joined, uint64_t *end)
{
  const struct tlg_source source = tlg_live_source(live);
  uint64_t n = 0, first = 0;
  size_t got = 1, i;
  unsigned quiet = 0;

  while (got) {
    tlg_cs16 buf[1000];
    const int status = source.read(source.context, buf, 1000, &got, &first, NULL);

    if (status == TLG_EINTR) {
      if (++quiet > 200) {
        break;
      }
      got = 1;
      continue;
    }
    assert_int_equal(status, TLG_OK);
    quiet = 0;
    if (!n && got) {
      assert_int_equal(first, 0);
      *joined = number(buf[0]);
    }
    for (i = 0; i < got; i++) {
      assert_int_equal(number(buf[i]), *joined + first + i);
    }
    n += got;
    if (pause_us) {
      usleep(pause_us);
    }
  }
  *end = *joined + first;
  end_was_told = quiet <= 200;
  return n;
}

static struct tlg_live *open_source(const char *endpoint, const char *keys)
{
  const struct tlg_live_cfg cfg = {.rate = rate};
  struct tlg_error err = {0};
  struct tlg_live *live;
  char text[200];

  snprintf(text, sizeof text, "zmq:%s%s%s", endpoint, *keys ? "?" : "", keys);
  if (tlg_live_open(&live, text, &cfg, NULL, &err)) {
    fail_msg("%s: %s", text, err.text);
  }
  return live;
}

static const char *endpoint_of(unsigned k, char text[160])
{
  switch (k % 3) {
  case 0:
    snprintf(text, 160, "inproc://test-%u", k);
    break;
  case 1:
    snprintf(text, 160, "ipc://%s/e%u", folder, k);
    break;
  default:
    snprintf(text, 160, "tcp://127.0.0.1:*");
  }
  return text;
}

/* block=1: all of it comes, gaps in their place, by every transport and both patterns, framed and bare. */
static void with_block_nothing_is_lost(void **state)
{
  unsigned k;

  (void)state;
  for (k = 0; k < 12; k++) {
    const int publish = k / 3 % 2, raw = k / 6;
    struct sender s = {.n = 500000, .gap_at = raw ? UINT64_MAX : 7680, .gap = raw ? 0 : 12345};
    char text[160];
    struct tlg_live *live;
    uint64_t joined = 0, end;

    start(&s, endpoint_of(k, text),
          publish ? raw ? "block=1&kind=pub&raw=1" : "block=1&kind=pub"
          : raw   ? "block=1&raw=1&hwm=3"
                  : "block=1");
    live = open_source(s.endpoint, publish ? raw ? "kind=sub&raw=1" : "kind=sub" : raw ? "raw=1" : "");
    if (raw) { /* no end is told: all that was sent is all there will be */
      const struct tlg_source source = tlg_live_source(live);
      uint64_t n = 0, first;
      size_t got;

      while (n < 500000) {
        tlg_cs16 buf[999];
        const int status = source.read(source.context, buf, 999, &got, &first, NULL);

        assert_true(status == TLG_OK || status == TLG_EINTR);
        if (!status) {
          assert_int_equal(first, n);
          assert_int_equal(number(buf[0]), n);
          n += got;
        }
      }
      source.stop(source.context);
      assert_int_equal(source.read(source.context, &(tlg_cs16){0}, 1, &got, &first, NULL), TLG_OK);
      assert_int_equal(got, 0);
    } else {
      assert_int_equal(take(live, 0, &joined, &end), 500000);
      assert_int_equal(joined, 0);
      assert_int_equal(end, 512345);
      assert_int_equal(tlg_live_count(live, TLG_LIVE_LOST_SAMPLES), 0); /* the sender left them out */
    }
    pthread_join(s.thread, NULL);
    assert_int_equal(s.sent, 500000);
    assert_int_equal(s.dropped, 0);
    tlg_live_close(live);
  }
}

/* A slow reader behind a short queue: sent = received, given = received + dropped, and the reader counts as lost what
 * the sink counts as dropped. */
static void a_slow_reader_loses_and_both_sides_agree(void **state)
{
  unsigned k;

  (void)state;
  for (k = 0; k < 4; k++) {
    const int publish = k / 2;
    struct sender s = {.n = 2000000};
    char text[160];
    struct tlg_live *live;
    uint64_t joined = 0, end, n;

    start(&s, endpoint_of(k % 2, text), publish ? "kind=pub&hwm=2&queue=64" : "hwm=2&queue=64");
    live = open_source(s.endpoint, publish ? "kind=sub&hwm=2" : "hwm=2");
    n = take(live, 200, &joined, &end);
    pthread_join(s.thread, NULL);
    assert_int_equal(s.sent + s.dropped, 2000000);
    assert_true(s.dropped > 0);
    /* A subscriber that came late did not see what was sent to others; there were none. */
    assert_int_equal(n, s.sent);
    /* What was lost in front of the sink's queue the sink left out itself; the rest is lost to the reader. */
    assert_int_equal(tlg_live_count(live, TLG_LIVE_SAMPLES), n);
    assert_true(tlg_live_count(live, TLG_LIVE_LOST_SAMPLES) <= s.dropped);
    assert_true(joined + n + s.dropped >= end && end <= 2000000);
    tlg_live_close(live);
  }
}

/* The library's context is there for own sockets at its inproc endpoints. */
static void inproc_is_shared_with_own_sockets(void **state)
{
  struct sender s = {.n = 7680};
  void *context = tlg_zmq_acquire(), *pull = zmq_socket(context, ZMQ_PULL);
  unsigned char bytes[8192];
  uint64_t n = 0;

  (void)state;
  start(&s, "inproc://own", "block=1&raw=1");
  assert_int_equal(zmq_connect(pull, "inproc://own"), 0);
  while (n < 7680) {
    const int got = zmq_recv(pull, bytes, sizeof bytes, 0);

    assert_int_equal(got, BLOCK * 4);
    n += BLOCK;
  }
  pthread_join(s.thread, NULL);
  zmq_close(pull);
  tlg_zmq_release();
}

/* A reader of somebody else's, which holds no more than it must. */
static void *own_pull(void *context, const char *endpoint)
{
  void *pull = zmq_socket(context, ZMQ_PULL);
  const int one = 1, linger = 0, wait_ms = 60000;

  zmq_setsockopt(pull, ZMQ_RCVHWM, &one, sizeof one);
  zmq_setsockopt(pull, ZMQ_LINGER, &linger, sizeof linger);
  zmq_setsockopt(pull, ZMQ_RCVTIMEO, &wait_ms, sizeof wait_ms);
  assert_int_equal(zmq_connect(pull, endpoint), 0);
  return pull;
}

static void await(_Atomic int *flag, unsigned seconds)
{
  unsigned i;

  for (i = 0; !atomic_load(flag) && i < seconds * 100; i++) {
    usleep(10000);
  }
  assert_true(atomic_load(flag));
}

/* The end waits until a reader has read all, however slowly, with headers or without, and not until it has gone. */
static void a_slow_reader_gets_the_end_and_may_stay(void **state)
{
  unsigned k;

  (void)state;
  for (k = 0; k < 6; k++) {
    const int raw = k / 3;
    struct sender s = {.n = 300 * BLOCK}; /* more than the connection's buffers hold */
    void *context, *pull;
    unsigned char bytes[8192];
    char text[160];
    uint64_t n = 0;

    if (k % 3 == 0) { /* inproc is the same context: it has no connection that could break */
      continue;
    }
    context = zmq_ctx_new();
    start(&s, endpoint_of(k, text), raw ? "block=1&raw=1" : "block=1");
    pull = own_pull(context, s.endpoint);
    while (n < s.n) {
      const int got = zmq_recv(pull, bytes, sizeof bytes, 0);

      assert_int_equal(got, (raw ? 0 : 80) + BLOCK * 4);
      assert_int_equal(bytes[raw ? 0 : 80] + (bytes[raw ? 1 : 81] << 8), n & 0xffff);
      n += BLOCK;
      if (n == 280 * BLOCK) { /* the rest is in the connection's buffers, and nobody reads on */
        usleep(300000);
      }
    }
    await(&s.done, 30); /* block=1 would wait for 60 s */
    pthread_join(s.thread, NULL);
    assert_int_equal(s.sent, 300 * BLOCK);
    zmq_close(pull);
    zmq_ctx_term(context);
  }
}

/* One that stays and reads nothing: that is said, and a stop ends it. */
static void a_reader_that_reads_nothing_is_told_of(void **state)
{
  unsigned k;

  (void)state;
  for (k = 1; k < 3; k++) { /* over tcp what is more than the systems hold */
    struct sender s = {.n = (k == 1 ? 20 : 20000) * BLOCK, .held = 1};
    void *context = zmq_ctx_new(), *pull;
    char text[160];

    start(&s, endpoint_of(k, text), "block=1&hwm=100000");
    pull = own_pull(context, s.endpoint);
    await(&s.waits, 50);
    tlg_sink_ask_stop(s.sink);
    atomic_store(&s.held, 0);
    await(&s.done, 30);
    pthread_join(s.thread, NULL);
    assert_int_equal(s.sent + s.dropped, (k == 1 ? 20 : 20000) * BLOCK);
    zmq_close(pull);
    zmq_ctx_term(context);
  }
}

/* Stop the sender when it has sent nothing for a while. */
static void *stop_when_stuck(void *context)
{
  struct sender *s = context;
  uint64_t before = 0, now, quiet = 0;

  while (quiet < 50) {
    usleep(10000);
    now = tlg_sink_counter(s->sink, TLG_SINK_SENT);
    quiet = now == before && now ? quiet + 1 : 0;
    before = now;
  }
  tlg_sink_ask_stop(s->sink);
  return NULL;
}

/* A subscriber that is stuck has no room for the message that tells the end; the others get it. */
static void one_that_is_stuck_keeps_the_end_from_nobody(void **state)
{
  struct sender s = {.n = 20000000, .held = 1};
  void *context = zmq_ctx_new(), *stuck = zmq_socket(context, ZMQ_SUB);
  const int one = 1, none = 0;
  pthread_t stopper;
  struct tlg_live *live;
  char text[160];
  uint64_t joined = 0, end = 0, n;

  (void)state;
  start(&s, endpoint_of(1, text), "block=1&kind=pub&hwm=2&queue=64");
  zmq_setsockopt(stuck, ZMQ_RCVHWM, &one, sizeof one);
  zmq_setsockopt(stuck, ZMQ_LINGER, &none, sizeof none);
  zmq_setsockopt(stuck, ZMQ_SUBSCRIBE, "", 0);
  assert_int_equal(zmq_connect(stuck, s.endpoint), 0);
  live = open_source(s.endpoint, "kind=sub");
  assert_int_equal(pthread_create(&stopper, NULL, stop_when_stuck, &s), 0);
  n = take(live, 0, &joined, &end);
  pthread_join(stopper, NULL);
  atomic_store(&s.held, 0);
  pthread_join(s.thread, NULL);
  assert_true(end_was_told);
  assert_true(s.dropped > 0);
  assert_int_equal(s.sent + s.dropped, 20000000);
  assert_true(n > 0 && n <= s.sent);
  tlg_live_close(live);
  zmq_close(stuck);
  zmq_ctx_term(context);
}

/* What is none of ours is counted and passed over. */
static void foreign_messages_are_counted(void **state)
{
  const struct tlg_live_cfg cfg = {.rate = rate};
  struct tlg_live *live;
  struct tlg_source source;
  void *context = zmq_ctx_new(), *push = zmq_socket(context, ZMQ_PUSH);
  char endpoint[160], text[200];
  unsigned char bytes[300];
  uint64_t first;
  size_t got = 0, i;
  const int linger = 1000;
  volatile int cancel = 0;

  (void)state;
  snprintf(endpoint, sizeof endpoint, "ipc://%s/foreign", folder);
  snprintf(text, sizeof text, "zmq:%s?raw=1&bind=1", endpoint);
  assert_int_equal(tlg_live_open(&live, text, &cfg, &cancel, NULL), TLG_OK);
  zmq_setsockopt(push, ZMQ_LINGER, &linger, sizeof linger);
  assert_int_equal(zmq_connect(push, endpoint), 0);
  memset(bytes, 1, sizeof bytes);
  zmq_send(push, bytes, 7, 0);           /* no whole number of samples */
  zmq_send(push, bytes, 8, ZMQ_SNDMORE); /* two parts */
  zmq_send(push, bytes, 8, 0);
  zmq_send(push, "", 0, 0);
  zmq_send(push, bytes, 300, 0); /* 75 samples */
  source = tlg_live_source(live);
  for (i = 0; !got && i < 200; i++) {
    tlg_cs16 buf[100];

    (void)source.read(source.context, buf, 100, &got, &first, NULL);
  }
  assert_int_equal(got, 75);
  assert_int_equal(tlg_live_count(live, TLG_LIVE_MALFORMED), 1);
  assert_int_equal(tlg_live_count(live, TLG_LIVE_FOREIGN), 1);
  zmq_close(push);
  zmq_ctx_term(context);
  tlg_live_close(live);
  /* Framed, and nobody sends: opening can be cancelled. */
  cancel = 1;
  snprintf(text, sizeof text, "zmq:%s", endpoint);
  assert_int_equal(tlg_live_open(&live, text, &cfg, &cancel, NULL), TLG_EINTR);
  assert_int_equal(tlg_live_open(&live, "zmq:nowhere", &cfg, NULL, NULL), TLG_EINVAL);
  assert_int_equal(tlg_live_open(&live, "zmq:tcp://127.0.0.1:1?format=cs16", &cfg, NULL, NULL), TLG_EINVAL);
}

/* Nobody is there: without block all is dropped at once, with it a stop ends the wait. */
static void without_a_peer_it_ends(void **state)
{
  int block;

  (void)state;
  for (block = 0; block < 2; block++) {
    struct sender s = {.n = 100000, .held = block};
    char text[160];

    start(&s, endpoint_of(2, text), block ? "block=1" : "hwm=1");
    if (block) {
      tlg_sink_ask_stop(s.sink);
      atomic_store(&s.held, 0);
    }
    pthread_join(s.thread, NULL);
    assert_int_equal(s.sent, 0);
    assert_int_equal(s.dropped, 100000);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(with_block_nothing_is_lost),
      cmocka_unit_test(a_slow_reader_loses_and_both_sides_agree),
      cmocka_unit_test(a_slow_reader_gets_the_end_and_may_stay),
      cmocka_unit_test(a_reader_that_reads_nothing_is_told_of),
      cmocka_unit_test(one_that_is_stuck_keeps_the_end_from_nobody),
      cmocka_unit_test(inproc_is_shared_with_own_sockets),
      cmocka_unit_test(foreign_messages_are_counted),
      cmocka_unit_test(without_a_peer_it_ends),
  };

  return cmocka_run_group_tests_name("zmq", tests, setup, teardown);
}
