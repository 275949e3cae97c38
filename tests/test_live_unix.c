/* SPDX-License-Identifier: Apache-2.0 */
/* unix: sink to source, peers that are slow, vanish, come back, send garbage; socket files that were left behind. */
#include "live_help.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

static char scratch[] = "/tmp/taplag-test-XXXXXX";

static int scratch_make(void **state)
{
  (void)state;
  return mkdtemp(scratch) && chdir(scratch) == 0 ? 0 : -1;
}

static int scratch_remove(void **state)
{
  char command[64];

  (void)state;
  snprintf(command, sizeof command, "rm -rf %s", scratch);
  return chdir("/") == 0 && system(command) == 0 ? 0 : -1;
}

static struct listener *listener(void)
{
  struct listener *l = calloc(1, sizeof *l);

  assert_non_null(l);
  return l;
}

static int plain_connect(const char *path)
{
  struct sockaddr_un a = {.sun_family = AF_UNIX};
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

  snprintf(a.sun_path, sizeof a.sun_path, "%s", path);
  if (connect(fd, (struct sockaddr *)&a, sizeof a) != 0) {
    close(fd);
    return -1;
  }
  return fd;
}

static int plain_listen(const char *path)
{
  struct sockaddr_un a = {.sun_family = AF_UNIX};
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

  snprintf(a.sun_path, sizeof a.sun_path, "%s", path);
  assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
  assert_int_equal(listen(fd, 1), 0);
  return fd;
}

static int exists(const char *path)
{
  struct stat st;

  return lstat(path, &st) == 0;
}

static uint64_t accounts(struct tlg_sink *sink)
{
  return tlg_sink_counter(sink, TLG_SINK_SENT) + tlg_sink_counter(sink, TLG_SINK_DROPPED);
}

static void wait_for_peer(struct tlg_sink *sink, uint64_t peers)
{
  int i;

  for (i = 0; i < 20000 && tlg_sink_counter(sink, TLG_SINK_PEERS) < peers; i++) {
    nap_us(500);
  }
  assert_int_equal(tlg_sink_counter(sink, TLG_SINK_PEERS), peers);
}

/* Either side may be the one that listens; any format; gaps; the end. */
static void straight(void **unused)
{
  static const struct {
    const char *sink, *source;
    int raw, source_listens;
  } ways[] = {
      {"unix:a.sock?block=1", "unix:a.sock", 0, 0},
      {"unix:a.sock?block=1&connect=1", "unix:a.sock?listen=1", 0, 1},
      {"unix:@taplag-test-%d?block=1", "unix:@taplag-test-%d", 0, 0},
      {"unix:a.sock?block=1&format=cf32", "unix:a.sock", 0, 0},
      {"unix:a.sock?block=1&raw=1", "unix:a.sock?raw=1", 1, 0},
      {"unix:a.sock?block=1&raw=1&format=cf32", "unix:a.sock?raw=1&format=cf32", 1, 0},
  };
  size_t i;

  (void)unused;
  for (i = 0; i < sizeof ways / sizeof *ways; i++) {
    struct listener *l = listener();
    char sink_text[100], source_text[100];
    struct tlg_sink *sink = NULL;
    uint64_t first = 0;

    l->any = ways[i].raw;
    l->cfg.rate = ways[i].raw ? stream_rate : (struct tlg_rate){0, 0};
    snprintf(sink_text, sizeof sink_text, "%s", ways[i].sink);
    snprintf(source_text, sizeof source_text, "%s", ways[i].source);
    if (strchr(ways[i].sink, '%')) {
      snprintf(sink_text, sizeof sink_text, "unix:@taplag-test-%d?block=1", (int)getpid());
      snprintf(source_text, sizeof source_text, "unix:@taplag-test-%d", (int)getpid());
    }
    if (!ways[i].source_listens) {
      sink = open_sink(sink_text);
    }
    listen_to(l, source_text, ways[i].source_listens);
    if (!sink) {
      sink = open_sink(sink_text);
    }
    assert_int_equal(tlg_sink_marks_gaps(sink), !ways[i].raw);
    write_samples(sink, &first, 200000, 448, 0);
    write_samples(sink, &first, 20001, 8192, 777);
    close_sink(sink);
    hang_up(l);
    assert_int_equal(l->status, TLG_OK);
    assert_int_equal(l->heard.samples, 220001);
    assert_int_equal(l->heard.missing, ways[i].raw ? 0 : 777);
    assert_int_equal(l->counts[TLG_LIVE_SAMPLES], 220001);
    assert_int_equal(l->counts[TLG_LIVE_LOST_SAMPLES] + l->counts[TLG_LIVE_MALFORMED], 0);
    assert_int_equal(l->info.rate.num, 25000000);
    assert_false(exists("a.sock"));
    free(l);
  }
}

/* Nobody there, block not asked for: dropped, counted, and the sink ends at once. A peer that comes late gets the
 * rest. */
static void late_peer(void **unused)
{
  struct listener *l = listener();
  struct tlg_sink *sink = open_sink("unix:a.sock");
  uint64_t first = 0;

  (void)unused;
  write_samples(sink, &first, 44800, 448, 0);
  while (tlg_sink_counter(sink, TLG_SINK_DROPPED) < 44800) {
    nap_us(500);
  }
  l->heard.offset = 44800;
  listen_to(l, "unix:a.sock", 0);
  wait_for_peer(sink, 1);
  write_samples(sink, &first, 44800, 448, 0);
  close_sink(sink);
  hang_up(l);
  assert_int_equal(l->heard.samples, 44800);
  assert_int_equal(l->counts[TLG_LIVE_LOST_SAMPLES], 0);
  free(l);
}

/* It goes in mid-stream and comes back, or another one comes: what was sent meanwhile is known by number. */
static void reconnect(void **unused)
{
  struct listener *a = listener(), *b = listener();
  struct tlg_sink *sink = open_sink("unix:a.sock");
  uint64_t first = 0, dropped;

  (void)unused;
  a->quit_after = 5000;
  listen_to(a, "unix:a.sock", 0);
  wait_for_peer(sink, 1);
  write_samples(sink, &first, 44800, 448, 0);
  hang_up(a);
  while (accounts(sink) < 44800) {
    nap_us(500);
  }
  write_samples(sink, &first, 44800, 448, 0);
  while (accounts(sink) < 89600) {
    nap_us(500);
  }
  dropped = tlg_sink_counter(sink, TLG_SINK_DROPPED);
  assert_true(dropped >= 44800);
  b->heard.offset = 89600;
  listen_to(b, "unix:a.sock", 0);
  wait_for_peer(sink, 2);
  write_samples(sink, &first, 44800, 448, 0);
  close_sink(sink);
  hang_up(b);
  assert_int_equal(b->heard.samples, 44800);
  free(a);
  free(b);
}

/* A sender that dies in the middle of a message: the source ends, or with reconnect=1 waits for the next one. */
static void sender_dies(void **unused)
{
  struct listener *l = listener();
  struct tlg_sink *sink;
  struct datagram d;
  uint64_t first = 0;
  int fd, peer, again;

  (void)unused;
  for (again = 0; again < 2; again++) {
    fd = plain_listen("a.sock");
    l->any = 1;
    listen_to(l, again ? "unix:a.sock?reconnect=1" : "unix:a.sock", 0);
    peer = accept(fd, NULL, NULL);
    own_datagram(&d, 5, 0, 0, 100, 0);
    assert_int_equal(write(peer, d.bytes, d.n), (ssize_t)d.n);
    own_datagram(&d, 5, 1, 100, 100, 0);
    assert_int_equal(write(peer, d.bytes, 200), 200);
    close(peer);
    close(fd);
    if (again) { /* a new sender takes the place of the file that the dead one left */
      assert_true(exists("a.sock"));
      sink = open_sink("unix:a.sock?block=1");
      write_samples(sink, &first, 4480, 448, 0);
      close_sink(sink);
    }
    hang_up(l);
    assert_int_equal(l->status, TLG_OK);
    assert_int_equal(l->heard.samples, again ? 4580 : 100);
    assert_int_equal(l->heard.end, again ? 4580 : 100);
    assert_int_equal(l->counts[TLG_LIVE_MALFORMED], 1);
    assert_int_equal(l->counts[TLG_LIVE_RESTARTS], again);
    assert_non_null(strstr(l->hints, "without an end"));
    unlink("a.sock");
    memset(l, 0, sizeof *l);
  }
  free(l);
}

/* Noise, another version, a length of gigabytes: an error that says so, and no memory taken. */
static void garbage(void **unused)
{
  struct datagram d;
  int i;

  (void)unused;
  for (i = 0; i < 4; i++) {
    struct listener *l = listener();
    const int fd = plain_listen("a.sock");
    int peer;

    listen_to(l, "unix:a.sock", 0);
    peer = accept(fd, NULL, NULL);
    own_datagram(&d, 5, 0, 0, 100, 0);
    if (i == 0) {
      memset(d.bytes, 0x55, d.n);
    } else if (i == 1) {
      d.bytes[4] = 9;
    } else if (i == 2) {
      memset(d.bytes + 12, 0xff, 4);
    } else {
      d.bytes[5] = 3;
    }
    assert_int_equal(write(peer, d.bytes, d.n), (ssize_t)d.n);
    hang_up(l);
    assert_int_equal(l->status, TLG_EFORMAT);
    assert_non_null(strstr(l->err.text, "raw=1"));
    close(peer);
    close(fd);
    unlink("a.sock");
    free(l);
  }
}

/* Peers of a sink that connect and vanish, write garbage, read nothing: it goes on, and does not grow. */
static void hostile_peers(void **unused)
{
  struct tlg_sink *sink = open_sink("unix:a.sock?queue=16");
  struct listener *l = listener();
  uint64_t first = 0;
  char noise[4096];
  int i, fd;

  (void)unused;
  memset(noise, 'x', sizeof noise);
  for (i = 0; i < 100; i++) {
    fd = plain_connect("a.sock");
    if (fd >= 0) { /* the queue of the listening socket is short on purpose */
      const ssize_t unused_result = send(fd, noise, sizeof noise, MSG_NOSIGNAL | MSG_DONTWAIT);

      (void)unused_result;
      close(fd);
    }
    write_samples(sink, &first, 448, 448, 0);
  }
  fd = plain_connect("a.sock"); /* reads nothing: the queue fills up, then outputs are lost in front of it */
  assert_true(fd >= 0);
  for (i = 0; i < 2000; i++) {
    write_samples(sink, &first, 4480, 448, 0);
    if (i % 100 == 0) {
      nap_us(1000);
    }
  }
  assert_true(tlg_sink_counter(sink, TLG_SINK_DROPPED) > 1000000);
  close(fd);
  while (accounts(sink) < first) {
    nap_us(500);
  }
  l->heard.offset = first;
  listen_to(l, "unix:a.sock", 0);
  for (i = 0; !atomic_load(&l->opened) && i < 10000; i++) { /* until its connection is the one */
    nap_us(2000);
    if (atomic_load(&l->opened)) {
      break;
    }
    l->any = 1;
    write_samples(sink, &first, 448, 448, 0);
  }
  close_sink(sink);
  hang_up(l);
  assert_int_equal(l->status, TLG_OK);
  free(l);
}

static void stale_files(void **unused)
{
  const struct tlg_sink_cfg cfg = {.rate = stream_rate};
  struct tlg_sink *sink, *second;
  struct tlg_error err;
  int fd;

  (void)unused;
  close(plain_listen("a.sock")); /* left behind: taken over */
  assert_true(exists("a.sock"));
  sink = open_sink("unix:a.sock");
  assert_int_equal(tlg_sink_open(&second, "unix:a.sock", &cfg, &err), TLG_EEXIST); /* alive: not */
  assert_non_null(strstr(err.text, "listens"));
  assert_true(exists("a.sock"));
  close_sink(sink);
  assert_false(exists("a.sock"));
  fd = open("a.sock", O_CREAT | O_WRONLY, 0600); /* an ordinary file: never */
  close(fd);
  assert_int_equal(tlg_sink_open(&second, "unix:a.sock", &cfg, &err), TLG_EEXIST);
  assert_true(exists("a.sock"));
  unlink("a.sock");
  sink = open_sink("unix:a.sock"); /* not ours any more: left alone at the end */
  unlink("a.sock");
  fd = open("a.sock", O_CREAT | O_WRONLY, 0600);
  close(fd);
  close_sink(sink);
  assert_true(exists("a.sock"));
  unlink("a.sock");
  assert_int_equal(tlg_sink_open(&second, "unix:", &cfg, &err), TLG_EINVAL);
  assert_int_equal(tlg_sink_open(&second, "unix:nowhere/a.sock", &cfg, &err), TLG_ESYS);
  {
    char text[300] = "unix:";

    memset(text + 5, 'a', 200);
    assert_int_equal(tlg_sink_open(&second, text, &cfg, &err), TLG_EINVAL);
  }
}

/* Two sinks at once: the one whose peer reads nothing never delays the other. */
static void slow_and_fast(void **unused)
{
  struct listener *fast = listener(), *slow = listener();
  struct tlg_sink *a = open_sink("unix:a.sock?queue=8"), *b = open_sink("unix:b.sock?queue=65536");
  uint64_t first_a = 0, first_b = 0;
  int i;

  (void)unused;
  slow->slow_us = 20000;
  slow->chunk = 448;
  listen_to(slow, "unix:a.sock", 0);
  listen_to(fast, "unix:b.sock", 0);
  wait_for_peer(a, 1);
  wait_for_peer(b, 1);
  for (i = 0; i < 4000; i++) {
    write_samples(a, &first_a, 448, 448, 0);
    write_samples(b, &first_b, 448, 448, 0);
  }
  close_sink(b);
  hang_up(fast);
  assert_int_equal(fast->heard.samples, first_b); /* all of it, while the slow one has still most before it */
  assert_int_equal(fast->counts[TLG_LIVE_LOST_SAMPLES], 0);
  assert_true(atomic_load(&slow->so_far) < first_a / 2);
  assert_true(tlg_sink_counter(a, TLG_SINK_DROPPED) > 0);
  atomic_store(&slow->slow_us, 0);
  tlg_sink_end(a);
  while (!tlg_sink_ended(a)) {
    nap_us(500);
  }
  assert_int_equal(accounts(a), first_a);
  hang_up(slow);
  assert_int_equal(slow->heard.samples, tlg_sink_counter(a, TLG_SINK_SENT));
  assert_int_equal(slow->heard.samples + slow->heard.missing, slow->heard.end);
  close_sink(a);
  free(fast);
  free(slow);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(straight),    cmocka_unit_test(late_peer),     cmocka_unit_test(reconnect),
      cmocka_unit_test(sender_dies), cmocka_unit_test(garbage),       cmocka_unit_test(hostile_peers),
      cmocka_unit_test(stale_files), cmocka_unit_test(slow_and_fast),
  };

  return cmocka_run_group_tests_name("live_unix", tests, scratch_make, scratch_remove);
}
