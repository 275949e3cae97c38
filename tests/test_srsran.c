/* SPDX-License-Identifier: Apache-2.0 */
/* srsRAN's ZeroMQ radio from both sides: a PHY written from the protocol alone asks early, fills its ring, pauses,
 * reads slower than real time, dies and comes back; hostile peers; the end; and the transmit port of a PHY. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <math.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "phy.h"
#include "tlg_replay.h"

static const struct tlg_rate rate = {1920000, 1};
enum { MESSAGE = 1920, BLOCK = 768 };
static char folder[] = "/tmp/taplag-srsran-XXXXXX";

static int setup(void **state)
{
  (void)state;
  return mkdtemp(folder) ? 0 : -1;
}

static int teardown(void **state)
{
  (void)state;
  if (rmdir(folder) != 0) {
    perror(folder);
    return -1;
  }
  return 0;
}

static tlg_cs16 sample_at(uint64_t n)
{
  const uint32_t counter[4] = {(uint32_t)n, (uint32_t)(n >> 32), 0, 0}, key[2] = {11, 0};
  uint32_t out[4];

  tlg_philox(counter, key, out);
  return (tlg_cs16){.i = (int16_t)out[0], .q = (int16_t)out[1]};
}

/* ---- the server: a sink that is fed by a thread of its own ------------------------------------------------------ */

struct server {
  struct tlg_sink *sink;
  pthread_t thread;
  uint64_t n;       /* outputs to give */
  unsigned pace_us; /* sleep after each block */
  char endpoint[160];
  unsigned hints, silent;
  int status;
  _Atomic int fed;
  uint64_t counters[TLG_SINK_COUNTERS], given;
};

static void on_hint(void *context, const char *text)
{
  struct server *s = context;
  const char *at = strstr(text, "answers at ");

  s->hints++;
  s->silent += strstr(text, "does not ask") != NULL;
  if (at) {
    sscanf(at, "answers at %159[^,]", s->endpoint);
  }
}

static void *feed(void *context)
{
  struct server *s = context;
  tlg_cs16 x[BLOCK];
  uint64_t at = 0, i;

  while (at < s->n && !s->status) {
    const uint64_t n = s->n - at < BLOCK ? s->n - at : BLOCK;
    const struct tlg_sink_block block = {.samples = x, .n = (size_t)n, .first = at};

    for (i = 0; i < n; i++) {
      x[i] = sample_at(at + i);
    }
    s->status = tlg_sink_write(s->sink, &block, NULL);
    at += n;
    if (s->pace_us) {
      usleep(s->pace_us);
    }
  }
  atomic_store(&s->fed, 1);
  tlg_sink_end(s->sink);
  return NULL;
}

static void serve(struct server *s, const char *keys, uint64_t n)
{
  const struct tlg_sink_cfg cfg = {.rate = rate, .hint = on_hint, .context = s};
  char text[200];
  struct tlg_error err = {0};

  s->n = n;
  snprintf(text, sizeof text, "srsran:%s%s%s", s->endpoint[0] ? s->endpoint : "tcp://127.0.0.1:*", *keys ? "?" : "",
           keys);
  if (tlg_sink_open(&s->sink, text, &cfg, &err)) {
    fail_msg("%s: %s", text, err.text);
  }
  assert_int_equal(pthread_create(&s->thread, NULL, feed, s), 0);
}

/* Until it has ended by itself, or after a stop. */
static void end_server(struct server *s, int stop)
{
  int c;

  if (stop) {
    tlg_sink_ask_stop(s->sink);
  }
  pthread_join(s->thread, NULL);
  while (!tlg_sink_ended(s->sink)) {
    usleep(2000);
  }
  for (c = 0; c < TLG_SINK_COUNTERS; c++) {
    s->counters[c] = tlg_sink_counter(s->sink, (enum tlg_sink_counter)c);
  }
  s->given = tlg_sink_count(s->sink, NULL);
  assert_int_equal(tlg_sink_close(s->sink, NULL), TLG_OK);
  assert_int_equal(s->status, TLG_OK);
  assert_int_equal(s->given, s->counters[TLG_SINK_SENT] + s->counters[TLG_SINK_DROPPED]);
}

/* Whether n samples at byte `from` of what a PHY got are the stream's from `first` on. */
static int is_stream(const struct phy *phy, size_t from, uint64_t first, size_t n)
{
  size_t i;

  if (from + n * phy->sample_bytes > phy->bytes) {
    return 0;
  }
  for (i = 0; i < n; i++) {
    const tlg_cs16 x = sample_at(first + i);
    const unsigned char *at = phy->data + from + i * phy->sample_bytes;

    if (phy->sample_bytes == 8) {
      float f[2];

      memcpy(f, at, sizeof f);
      if (f[0] != (float)x.i / 32768.0f || f[1] != (float)x.q / 32768.0f) {
        return 0;
      }
    } else if (memcmp(at, &x, sizeof x) != 0) {
      return 0;
    }
  }
  return 1;
}

static void forget(struct phy *phy)
{
  free(phy->data);
  memset(phy, 0, sizeof *phy);
}

/* ---- a PHY as it behaves ---------------------------------------------------------------------------------------- */

/* It asks as soon as it is there, fills its ring with 101 messages or more, is busy for a while, and then reads in
 * sizes that change, each after a sleep. Nothing is lost, whatever the format and the transport. */
static void a_phy_gets_every_sample(void **state)
{
  static const char *const keys[] = {"", "format=sc16", "message=2ms", "message=1000&format=sc16"};
  static const size_t sizes[] = {MESSAGE, MESSAGE, 137, 1 << 14, 1, 2 * MESSAGE};
  size_t k, i;

  (void)state;
  for (k = 0; k < 4; k++) {
    const uint64_t n = 1920 * 300 + 77; /* 300 ms and a bit: the last message is short */
    struct server s = {.endpoint = ""};
    struct phy phy = {0};
    uint64_t seen = 0;

    if (k == 3) {
      snprintf(s.endpoint, sizeof s.endpoint, "ipc://%s/rx", folder);
    }
    serve(&s, keys[k], n);
    assert_int_equal(phy_connect(&phy, s.endpoint, k % 2 ? 4 : 8), 0);
    for (i = 0; i < 101; i++) {
      assert_true(phy_fetch(&phy, 20000) > 0);
    }
    phy_sleep_ns(1000000000); /* it initialises */
    for (i = 0; seen < n; i++) {
      const size_t m = n - seen < sizes[i % 6] ? (size_t)(n - seen) : sizes[i % 6];

      assert_true(phy_read(&phy, m, 10 * 1.92e6, 20000));
      seen += m;
    }
    assert_int_equal(phy.bytes, n * phy.sample_bytes);
    assert_true(is_stream(&phy, 0, 0, (size_t)n));
    phy_vanish(&phy);
    end_server(&s, 0); /* the PHY has gone: it ends by itself */
    assert_int_equal(s.counters[TLG_SINK_SENT], n);
    assert_int_equal(s.counters[TLG_SINK_PEERS], 1);
    assert_true(s.counters[TLG_SINK_STALLS] >= 1); /* the pause */
    assert_true(s.counters[TLG_SINK_STALLED_US] >= 500000);
    assert_int_equal(s.counters[TLG_SINK_MESSAGES], (n - 1) / (k == 2 ? 3840 : k == 3 ? 1000 : 1920) + 1);
    forget(&phy);
  }
}

/* Either side may be there first. */
static void the_phy_may_be_first(void **state)
{
  struct server s = {.endpoint = ""};
  struct phy phy = {0};

  (void)state;
  snprintf(s.endpoint, sizeof s.endpoint, "ipc://%s/first", folder);
  assert_int_equal(phy_connect(&phy, s.endpoint, 8), 0);
  assert_int_equal(phy_ask(&phy), 0);
  usleep(50000);
  serve(&s, "linger=0", 10 * MESSAGE);
  while (phy.bytes < 10 * MESSAGE * 8) {
    assert_true(phy_fetch(&phy, 20000) > 0);
  }
  assert_true(is_stream(&phy, 0, 0, 10 * MESSAGE));
  phy_vanish(&phy);
  end_server(&s, 0);
  forget(&phy);
}

/* A PHY that dies, with a request that waits or not, and another that comes: what the first did not get the second
 * does; nothing comes twice. */
static void a_phy_dies_and_comes_back(void **state)
{
  struct server s = {.pace_us = 400};
  struct phy phy = {0};
  unsigned life;
  size_t before = 0;
  uint64_t at = 0;

  (void)state;
  serve(&s, "", 300 * MESSAGE);
  for (life = 0; life < 6; life++) {
    unsigned i;

    assert_int_equal(phy_connect(&phy, s.endpoint, 8), 0);
    for (i = 0; i < 20; i++) {
      assert_true(phy_fetch(&phy, 20000) > 0);
    }
    /* In the stream's order, from where the one before stopped or behind: an answer may have been on its way. */
    while (at < 300 * MESSAGE && !is_stream(&phy, before, at, MESSAGE)) {
      at += MESSAGE;
    }
    assert_true(is_stream(&phy, before, at, 20 * MESSAGE));
    at += 20 * MESSAGE;
    before = phy.bytes;
    if (life % 2) {
      phy_ask(&phy);
      usleep(1000);
    }
    phy_vanish(&phy);
    usleep(30000);
  }
  assert_true(at <= (6 * 20 + 6) * MESSAGE); /* at most one answer was lost with each death */
  end_server(&s, 1);
  assert_int_equal(s.counters[TLG_SINK_PEERS], 6);
  assert_true(s.counters[TLG_SINK_SENT] >= 6 * 20 * MESSAGE);
  forget(&phy);
}

/* A PHY that waits for the answer of a server that has ended does not ask again: that is told, once. One that asks, and
 * then pauses for longer than that, is not complained of. */
static void a_phy_that_does_not_ask_is_told_of(void **state)
{
  struct server s = {.endpoint = ""};
  void *context = zmq_ctx_new(), *ended = zmq_socket(context, ZMQ_ROUTER);
  struct phy phy = {0}, other = {0};
  char part[16];

  (void)state;
  snprintf(s.endpoint, sizeof s.endpoint, "ipc://%s/silent", folder);
  assert_int_equal(zmq_bind(ended, s.endpoint), 0);
  assert_int_equal(phy_connect(&phy, s.endpoint, 8), 0);
  assert_int_equal(phy_ask(&phy), 0);
  assert_true(zmq_recv(ended, part, sizeof part, 0) > 0); /* who asks: the request is here, and gets no answer */
  zmq_close(ended);
  zmq_ctx_term(context);
  serve(&s, "", 50000 * (uint64_t)MESSAGE);
  assert_int_equal(phy_fetch(&phy, 3500), -1);
  assert_int_equal(phy_connect(&other, s.endpoint, 8), 0);
  assert_true(phy_fetch(&other, 20000) > 0);
  usleep(2500000);
  assert_true(phy_fetch(&other, 20000) > 0);
  end_server(&s, 1);
  assert_int_equal(s.silent, 1);
  phy_vanish(&phy);
  phy_vanish(&other);
  forget(&phy);
  forget(&other);
}

/* policy=skip keeps the wall clock: what was not asked for in time is lost in whole messages, and counted. */
static void skipping_loses_whole_messages_and_counts(void **state)
{
  struct server s = {.pace_us = 400}; /* 768 of 1.92 Msps each 400 us: real time, or slower where the host is */
  struct phy phy = {0};
  size_t from = 0;
  uint64_t at = 0, lost = 0;

  (void)state;
  serve(&s, "policy=skip&linger=0&slack=5", 400 * MESSAGE);
  assert_int_equal(phy_connect(&phy, s.endpoint, 8), 0);
  while (!atomic_load(&s.fed)) {
    if (phy_fetch(&phy, 50) > 0) {
      usleep(phy.messages == 20 ? 100000 : 500);
    }
  }
  end_server(&s, 1);
  while (phy_fetch(&phy, 100) > 0) { /* what was on its way */
  }
  while (from < phy.bytes) {
    while (at < s.n && !is_stream(&phy, from, at, MESSAGE)) {
      at += MESSAGE;
      lost += MESSAGE;
    }
    assert_true(at < s.n);
    at += MESSAGE;
    from += MESSAGE * 8;
  }
  assert_true(s.counters[TLG_SINK_DROPPED] > 0 && s.counters[TLG_SINK_LOSSES] > 0);
  assert_int_equal(s.counters[TLG_SINK_SENT], phy.bytes / 8);
  assert_true(lost <= s.counters[TLG_SINK_DROPPED]);
  phy_vanish(&phy);
  forget(&phy);
}

static void only_zeros(const struct phy *phy, size_t from)
{
  for (; from < phy->bytes; from++) {
    assert_int_equal(phy->data[from], 0);
  }
}

/* At the end a PHY that gets no answer would wait for ever: zeros, or nothing, for a number of messages, a time, until
 * it goes, or until a stop. */
static void the_end_goes_on(void **state)
{
  static const char *const keys[] = {"linger=7", "end=empty&linger=7", "linger=100ms", "", "end=empty"};
  size_t k;

  (void)state;
  for (k = 0; k < 5; k++) {
    struct server s = {.endpoint = ""};
    struct phy phy = {0};
    unsigned beyond = 0;

    serve(&s, keys[k], 5 * MESSAGE);
    assert_int_equal(phy_connect(&phy, s.endpoint, 8), 0);
    while (beyond < 20 && phy_fetch(&phy, phy.bytes >= 5 * MESSAGE * 8 ? 1000 : 20000) >= 0) {
      beyond = phy.messages > 5 ? (unsigned)phy.messages - 5 : 0;
    }
    if (k < 2) {
      assert_int_equal(beyond, 7);
    } else if (k > 2) {
      assert_int_equal(beyond, 20);
    }
    assert_true(is_stream(&phy, 0, 0, 5 * MESSAGE));
    only_zeros(&phy, 5 * MESSAGE * 8);
    assert_int_equal(phy.empty, k == 1 || k == 4 ? beyond : 0);
    if (k == 4) {
      end_server(&s, 1); /* while it still asks */
      phy_vanish(&phy);
    } else {
      phy_vanish(&phy);
      end_server(&s, 0);
    }
    assert_int_equal(s.counters[TLG_SINK_SENT], 5 * MESSAGE);
    assert_int_equal(s.counters[TLG_SINK_DROPPED], 0);
    assert_true(s.counters[TLG_SINK_EXTRA] >= (k == 1 || k == 4 ? 0 : beyond * MESSAGE));
    forget(&phy);
  }
}

/* Stopped while nobody asks: what is left is dropped and counted, soon. */
static void a_stop_ends_it_without_a_phy(void **state)
{
  struct server s = {.endpoint = ""};

  (void)state;
  serve(&s, "", 50000 * (uint64_t)MESSAGE);
  usleep(20000);
  end_server(&s, 1);
  assert_int_equal(s.counters[TLG_SINK_SENT], 0);
  assert_int_equal(s.counters[TLG_SINK_DROPPED], s.n);
}

/* Published: subscribers get the stream from when they came, without asking; with hold no message is lost on the way.
 */
static void publishing_needs_no_requests(void **state)
{
  struct server s = {.endpoint = ""};
  void *context = zmq_ctx_new(), *socket = zmq_socket(context, ZMQ_SUB);
  struct phy phy = {.sample_bytes = 8, .data = malloc(100 * MESSAGE * 8), .room = 100 * MESSAGE * 8};
  const int few = 2, none = 0;

  (void)state;
  zmq_setsockopt(socket, ZMQ_RCVHWM, &few, sizeof few);
  zmq_setsockopt(socket, ZMQ_LINGER, &none, sizeof none);
  zmq_setsockopt(socket, ZMQ_SUBSCRIBE, "", 0);
  serve(&s, "kind=pub&linger=0", 100 * MESSAGE);
  assert_int_equal(zmq_connect(socket, s.endpoint), 0);
  while (phy.bytes < phy.room) {
    const int got = zmq_recv(socket, phy.data + phy.bytes, phy.room - phy.bytes, 0);

    assert_int_equal(got, MESSAGE * 8);
    phy.bytes += (size_t)got;
    if (phy.bytes == 20 * MESSAGE * 8) {
      usleep(300000);
    }
  }
  assert_true(is_stream(&phy, 0, 0, 100 * MESSAGE));
  end_server(&s, 0);
  assert_int_equal(s.counters[TLG_SINK_SENT], 100 * MESSAGE);
  assert_int_equal(s.counters[TLG_SINK_REQUESTS], 0);
  zmq_close(socket);
  zmq_ctx_term(context);
  forget(&phy);
}

static uint64_t cpu_ns(void)
{
  struct timespec t;

  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* A subscriber that reads nothing is waited for asleep. */
static void a_slow_subscriber_costs_no_processor(void **state)
{
  struct server s = {.endpoint = ""};
  void *context = zmq_ctx_new(), *socket = zmq_socket(context, ZMQ_SUB);
  const int few = 1, none = 0;
  char message[MESSAGE * 8];
  uint64_t before;

  (void)state;
  zmq_setsockopt(socket, ZMQ_RCVHWM, &few, sizeof few);
  zmq_setsockopt(socket, ZMQ_LINGER, &none, sizeof none);
  zmq_setsockopt(socket, ZMQ_SUBSCRIBE, "", 0);
  serve(&s, "kind=pub", 50000 * (uint64_t)MESSAGE);
  assert_int_equal(zmq_connect(socket, s.endpoint), 0);
  assert_int_equal(zmq_recv(socket, message, sizeof message, 0), sizeof message);
  usleep(1000000); /* until everything on the way is full */
  before = cpu_ns();
  usleep(2000000);
  before = cpu_ns() - before;
  end_server(&s, 1);
  assert_in_range(before, 0, 300000000);
  zmq_close(socket);
  zmq_ctx_term(context);
}

/* ---- hostile peers ---------------------------------------------------------------------------------------------- */

static long resident_kib(void)
{
  FILE *f = fopen("/proc/self/statm", "r");
  long total = 0, resident = 0;

  assert_non_null(f);
  assert_int_equal(fscanf(f, "%ld %ld", &total, &resident), 2);
  fclose(f);
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static int raw_connect(const char *endpoint)
{
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  const int fd = socket(AF_INET, SOCK_STREAM, 0);

  to.sin_port = htons((uint16_t)atoi(strrchr(endpoint, ':') + 1));
  assert_true(fd >= 0);
  assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
  return fd;
}

/* A greeting and READY as libzmq sends them, then what is given. Source: ZMTP 3.0, sections on greeting and NULL. */
static int greeted(const char *endpoint, const void *bytes, size_t n)
{
  static const unsigned char greeting[64] = {0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 3, 0, 'N', 'U', 'L', 'L'};
  static const unsigned char ready[] = "\x04\x26\x05READY\x0bSocket-Type\0\0\0\x03REQ\x08Identity\0\0\0";
  const int fd = raw_connect(endpoint);

  assert_true(send(fd, greeting, sizeof greeting, MSG_NOSIGNAL) > 0);
  assert_true(send(fd, ready, sizeof ready, MSG_NOSIGNAL) > 0); /* with its last zero: 0x26 bytes of body */
  (void)!send(fd, bytes, n, MSG_NOSIGNAL);
  return fd;
}

/* All that stands before the empty part goes back with the answer, as REP does: the number that a REQ with
 * ZMQ_REQ_CORRELATE gives its request (our own source is one), or the names of the proxies between. */
static void an_answer_bears_the_envelope_of_its_request(void **state)
{
  static const char *const envelope[] = {"\x01\x02", "proxy", ""};
  const struct tlg_live_cfg cfg = {.rate = rate};
  struct server s = {.endpoint = ""};
  struct tlg_source source;
  void *context = zmq_ctx_new(), *proxied = zmq_socket(context, ZMQ_DEALER);
  const int none = 0, patience = 20000;
  struct tlg_live *live;
  struct phy phy = {.sample_bytes = 8};
  uint64_t got = 0;
  char text[200];
  unsigned i;

  (void)state;
  serve(&s, "linger=0", 20 * MESSAGE);
  zmq_setsockopt(proxied, ZMQ_LINGER, &none, sizeof none);
  zmq_setsockopt(proxied, ZMQ_RCVTIMEO, &patience, sizeof patience);
  assert_int_equal(zmq_connect(proxied, s.endpoint), 0);
  for (i = 0; i < 3; i++) {
    zmq_send(proxied, envelope[i], strlen(envelope[i]), ZMQ_SNDMORE);
  }
  zmq_send(proxied, "\xff", 1, 0);
  for (i = 0; i < 3; i++) {
    char part[16] = "";

    assert_int_equal(zmq_recv(proxied, part, sizeof part, 0), strlen(envelope[i]));
    assert_string_equal(part, envelope[i]);
  }
  phy.data = malloc(MESSAGE * 8);
  phy.bytes = MESSAGE * 8;
  assert_int_equal(zmq_recv(proxied, phy.data, MESSAGE * 8, 0), MESSAGE * 8);
  assert_true(is_stream(&phy, 0, 0, MESSAGE));
  zmq_close(proxied);
  zmq_ctx_term(context);
  snprintf(text, sizeof text, "srsran:%s", s.endpoint);
  assert_int_equal(tlg_live_open(&live, text, &cfg, NULL, NULL), TLG_OK);
  source = tlg_live_source(live);
  while (got < 19 * MESSAGE) {
    tlg_cs16 x[1000];
    uint64_t first;
    size_t n = 0, k;
    const int status = source.read(source.context, x, 1000, &n, &first, NULL);

    assert_true(status == TLG_OK || status == TLG_EINTR);
    for (k = 0; status == TLG_OK && k < n; k++) {
      const tlg_cs16 want = sample_at(MESSAGE + got + k);

      assert_memory_equal(&x[k], &want, sizeof want);
    }
    got += status == TLG_OK ? n : 0;
  }
  tlg_live_close(live); /* it has gone: the last answer is fetched */
  end_server(&s, 0);
  assert_int_equal(s.counters[TLG_SINK_SENT], 20 * MESSAGE);
  assert_int_equal(s.counters[TLG_SINK_FOREIGN], 0);
  forget(&phy);
}

static void hostile_peers_change_nothing(void **state)
{
  struct server s = {.pace_us = 1000};
  struct phy phy = {0};
  unsigned char garbage[4096];
  long before;
  int fds[40];
  unsigned i, k;
  void *context = zmq_ctx_new(), *flood = zmq_socket(context, ZMQ_DEALER);
  const int none = 0;

  (void)state;
  serve(&s, "", 400 * MESSAGE);
  assert_int_equal(phy_connect(&phy, s.endpoint, 8), 0);
  for (i = 0; i < 5; i++) {
    assert_true(phy_fetch(&phy, 20000) > 0);
  }
  before = resident_kib();
  for (i = 0; i < 40; i++) { /* connect and vanish; say nothing; garbage; huge lengths */
    for (k = 0; k < sizeof garbage; k++) {
      garbage[k] = (unsigned char)(k * 7 + i * 13);
    }
    switch (i % 4) {
    case 0:
      fds[i] = raw_connect(s.endpoint);
      close(fds[i]);
      fds[i] = -1;
      break;
    case 1:
      fds[i] = raw_connect(s.endpoint);
      break;
    case 2:
      fds[i] = raw_connect(s.endpoint);
      (void)!send(fds[i], garbage, sizeof garbage, MSG_NOSIGNAL);
      break;
    default:
      fds[i] = greeted(s.endpoint, "\x02\x7f\xff\xff\xff\xff\xff\xff\xff????????", 17);
    }
    assert_true(phy_fetch(&phy, 20000) > 0); /* the honest one goes on */
  }
  zmq_setsockopt(flood, ZMQ_LINGER, &none, sizeof none);
  assert_int_equal(zmq_connect(flood, s.endpoint), 0);
  for (i = 0; i < 2000; i++) { /* asks without end, in many parts, and reads nothing */
    zmq_send(flood, "", 0, ZMQ_DONTWAIT | ZMQ_SNDMORE);
    zmq_send(flood, garbage, 100, ZMQ_DONTWAIT | ZMQ_SNDMORE);
    zmq_send(flood, garbage, 1, ZMQ_DONTWAIT);
  }
  for (i = 0; i < 30; i++) {
    assert_true(phy_fetch(&phy, 20000) > 0);
  }
  assert_true(resident_kib() - before < 60000);
  for (i = 0; i < 40; i++) {
    if (fds[i] >= 0) {
      close(fds[i]);
    }
  }
  zmq_close(flood);
  zmq_ctx_term(context);
  phy_vanish(&phy);
  end_server(&s, 1);
  assert_true(s.counters[TLG_SINK_SENT] >= 75 * MESSAGE);
  forget(&phy);
}

static void wrong_names_are_refused(void **state)
{
  static const struct {
    const char *text;
    int status;
  } wrong[] = {
      {"srsran:", TLG_EINVAL},
      {"srsran:127.0.0.1:2000", TLG_EINVAL},
      {"srsran:tcp://127.0.0.1", TLG_EINVAL},
      {"srsran:tcp://127.0.0.1:*?format=cf64", TLG_EINVAL},
      {"srsran:tcp://127.0.0.1:*?message=0", TLG_EINVAL},
      {"srsran:tcp://127.0.0.1:*?message=100s", TLG_EINVAL},
      {"srsran:tcp://127.0.0.1:*?message=2000000", TLG_EINVAL}, /* above half of the ring */
      {"srsran:tcp://127.0.0.1:*?policy=perhaps", TLG_EINVAL},
      {"srsran:tcp://127.0.0.1:*?linger=soon", TLG_EINVAL},
      {"srsran:tcp://127.0.0.1:*?hold=1", TLG_EINVAL},
      {"srsran:ipc:///nonexistent/x", TLG_ESYS},
  };
  const struct tlg_sink_cfg cfg = {.rate = rate};
  struct tlg_sink *sink;
  char text[100], path[80];
  FILE *f;
  size_t i;

  (void)state;
  for (i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    if (tlg_sink_open(&sink, wrong[i].text, &cfg, NULL) != wrong[i].status) {
      fail_msg("%s", wrong[i].text);
    }
  }
  /* A file that stands at an ipc path is not replaced. */
  snprintf(path, sizeof path, "%s/precious", folder);
  f = fopen(path, "w");
  assert_non_null(f);
  fclose(f);
  snprintf(text, sizeof text, "srsran:ipc://%s", path);
  assert_int_equal(tlg_sink_open(&sink, text, &cfg, NULL), TLG_EEXIST);
  assert_int_equal(unlink(path), 0);
}

static void the_phy_is_told_what_goes_wrong_most(void **state)
{
  static const struct {
    struct tlg_rate rate;
    const char *says;
  } rates[] = {
      {{25000000, 1}, "no multiple of 1.92"}, {{30720000, 1}, "base_srate=30.72e6"}, {{23040000, 1}, "23.04e6"}};
  size_t i;

  (void)state;
  for (i = 0; i < 3; i++) {
    struct server s = {.endpoint = ""};
    const struct tlg_sink_cfg cfg = {.rate = rates[i].rate, .hint = on_hint, .context = &s};
    struct tlg_sink *sink;

    assert_int_equal(tlg_sink_open(&sink, "srsran:tcp://127.0.0.1:*", &cfg, NULL), TLG_OK);
    assert_int_equal(s.hints, 2);
    tlg_sink_abort(sink);
  }
  assert_int_equal(tlg_sink_text_repeats("srsran:tcp://127.0.0.1:2000?end=loop"), 1);
  assert_int_equal(tlg_sink_text_repeats("srsran:tcp://127.0.0.1:2000?end=zeros"), 0);
  assert_int_equal(tlg_sink_text_repeats("a.cs16?end=loop"), 0);
}

/* ---- a PHY's transmit port -------------------------------------------------------------------------------------- */

/* A PHY that transmits: it answers each request with one message. */
struct transmitter {
  pthread_t thread;
  char endpoint[160];
  int format_bytes, first_lives; /* dies after so many answers, a request unanswered, and comes back */
  uint64_t n, sent;              /* samples */
  unsigned answers, deaths;
  _Atomic int stop;
};

static void *transmit(void *context)
{
  static const size_t sizes[] = {1920, 1, 0, 7777, 1920};
  struct transmitter *t = context;
  void *zmq = zmq_ctx_new(), *socket = zmq_socket(zmq, ZMQ_REP);
  unsigned char request[16];
  unsigned char *bytes = malloc(8000 * 8);
  const int none = 0;

  assert_non_null(bytes);
  zmq_setsockopt(socket, ZMQ_LINGER, &none, sizeof none);
  while (zmq_bind(socket, t->endpoint) != 0) {
    usleep(10000);
  }
  while (!atomic_load(&t->stop)) {
    zmq_pollitem_t item = {.socket = socket, .events = ZMQ_POLLIN};
    size_t n = sizes[t->answers % 5], i;

    if (zmq_poll(&item, 1, 20) != 1) {
      continue;
    }
    if (zmq_recv(socket, request, sizeof request, 0) != 1) {
      abort();
    }
    if (t->first_lives && t->answers == (unsigned)t->first_lives) {
      t->first_lives = 0;
      t->deaths++;
      zmq_close(socket);
      zmq_ctx_term(zmq);
      usleep(100000);
      zmq = zmq_ctx_new();
      socket = zmq_socket(zmq, ZMQ_REP);
      zmq_setsockopt(socket, ZMQ_LINGER, &none, sizeof none);
      while (zmq_bind(socket, t->endpoint) != 0) {
        usleep(10000);
      }
      continue;
    }
    if (t->answers++ == 3) { /* no whole number of samples: none of this protocol's */
      zmq_send(socket, "abcde", 5, 0);
      continue;
    }
    n = t->n - t->sent < n ? (size_t)(t->n - t->sent) : n;
    for (i = 0; i < n; i++) {
      const tlg_cs16 x = sample_at(t->sent + i);

      if (t->format_bytes == 4) {
        memcpy(bytes + 4 * i, &x, 4);
      } else {
        float f[2] = {(float)x.i / 32768.0f, (float)x.q / 32768.0f};

        f[0] = t->sent + i == 10 ? NAN : f[0];
        f[1] = t->sent + i == 11 ? INFINITY : f[1];
        memcpy(bytes + 8 * i, f, 8);
      }
    }
    zmq_send(socket, bytes, n * (size_t)t->format_bytes, 0);
    t->sent += n;
  }
  zmq_close(socket);
  zmq_ctx_term(zmq);
  free(bytes);
  return NULL;
}

static void a_transmit_port_is_read(void **state)
{
  int k;

  (void)state;
  for (k = 0; k < 3; k++) { /* fc32, sc16, and a PHY that dies */
    struct transmitter t = {.format_bytes = k == 1 ? 4 : 8, .n = 50000, .first_lives = k == 2 ? 9 : 0};
    const struct tlg_live_cfg cfg = {.rate = rate, .format = k == 1 ? TLG_FORMAT_CS16 : TLG_FORMAT_UNKNOWN};
    struct tlg_live *live;
    struct tlg_source source;
    char text[200];
    uint64_t at = 0;
    int status;

    snprintf(t.endpoint, sizeof t.endpoint, "ipc://%s/tx%d", folder, k);
    snprintf(text, sizeof text, "srsran:%s", t.endpoint);
    assert_int_equal(tlg_live_open(&live, text, &cfg, NULL, NULL), TLG_OK);
    assert_int_equal(tlg_live_info(live)->clock, 0);
    assert_int_equal(pthread_create(&t.thread, NULL, transmit, &t), 0);
    source = tlg_live_source(live);
    while (at < t.n) {
      tlg_cs16 buf[1000];
      size_t got = 0, i;
      uint64_t first = 0;

      status = source.read(source.context, buf, 1000, &got, &first, NULL);
      if (status == TLG_EINTR) {
        continue;
      }
      assert_int_equal(status, TLG_OK);
      assert_true(got > 0);
      assert_int_equal(first, at);
      for (i = 0; i < got; i++) {
        tlg_cs16 x = sample_at(at + i);

        if (k != 1) {
          x.i = at + i == 10 ? 0 : x.i;
          x.q = at + i == 11 ? 0 : x.q;
        }
        assert_int_equal(buf[i].i, x.i);
        assert_int_equal(buf[i].q, x.q);
      }
      at += got;
    }
    source.stop(source.context);
    do {
      tlg_cs16 buf[8];
      size_t got = 1;
      uint64_t first = 0;

      status = source.read(source.context, buf, 8, &got, &first, NULL);
      assert_true(status == TLG_EINTR || (status == TLG_OK && !got && first == t.n));
    } while (status);
    assert_int_equal(tlg_live_count(live, TLG_LIVE_SAMPLES), t.n);
    assert_int_equal(tlg_live_count(live, TLG_LIVE_NON_FINITE), k == 1 ? 0 : 2);
    assert_int_equal(tlg_live_count(live, TLG_LIVE_MALFORMED), 1);
    assert_int_equal(tlg_live_count(live, TLG_LIVE_RESTARTS), k == 2);
    atomic_store(&t.stop, 1);
    pthread_join(t.thread, NULL);
    unlink(t.endpoint + 6);
    tlg_live_close(live);
  }
}

static void a_drain_takes_all_and_ends_at_once(void **state)
{
  struct transmitter t = {.format_bytes = 8, .n = 100000};
  const struct tlg_live_cfg cfg = {.rate = rate};
  struct tlg_live *live;
  struct tlg_source source, dead = {0};
  struct tlg_drain *drain;
  char text[200];

  (void)state;
  snprintf(t.endpoint, sizeof t.endpoint, "ipc://%s/drain", folder);
  snprintf(text, sizeof text, "srsran:%s", t.endpoint);
  assert_int_equal(tlg_live_open(&live, text, &cfg, NULL, NULL), TLG_OK);
  source = tlg_live_source(live);
  assert_int_equal(tlg_drain_new(&drain, &dead, NULL), TLG_EINVAL);
  assert_int_equal(tlg_drain_new(&drain, &source, NULL), TLG_OK);
  assert_int_equal(pthread_create(&t.thread, NULL, transmit, &t), 0);
  while (tlg_live_count(live, TLG_LIVE_SAMPLES) < t.n) {
    usleep(1000);
  }
  assert_int_equal(tlg_drain_end(drain, NULL), TLG_OK);
  assert_int_equal(tlg_drain_end(NULL, NULL), TLG_OK);
  atomic_store(&t.stop, 1);
  pthread_join(t.thread, NULL);
  unlink(t.endpoint + 6);
  tlg_live_close(live);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_phy_gets_every_sample),
      cmocka_unit_test(the_phy_may_be_first),
      cmocka_unit_test(a_phy_dies_and_comes_back),
      cmocka_unit_test(skipping_loses_whole_messages_and_counts),
      cmocka_unit_test(the_end_goes_on),
      cmocka_unit_test(a_stop_ends_it_without_a_phy),
      cmocka_unit_test(publishing_needs_no_requests),
      cmocka_unit_test(a_slow_subscriber_costs_no_processor),
      cmocka_unit_test(a_phy_that_does_not_ask_is_told_of),
      cmocka_unit_test(an_answer_bears_the_envelope_of_its_request),
      cmocka_unit_test(hostile_peers_change_nothing),
      cmocka_unit_test(a_transmit_port_is_read),
      cmocka_unit_test(a_drain_takes_all_and_ends_at_once),
      cmocka_unit_test(wrong_names_are_refused),
      cmocka_unit_test(the_phy_is_told_what_goes_wrong_most),
  };

  return cmocka_run_group_tests_name("srsran", tests, setup, teardown);
}
