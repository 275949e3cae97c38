/* SPDX-License-Identifier: Apache-2.0 */
/* udp: from sink to source over loopback, straight and through a relay that loses, doubles, reorders, breaks and adds:
 * no crash, and every count is right. */
#include "live_help.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

static int udp_socket(uint16_t *port)
{
  struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), room = 4 << 20;
  socklen_t n = sizeof a;

  assert_true(fd >= 0 && bind(fd, (struct sockaddr *)&a, sizeof a) == 0);
  assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &n), 0);
  setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
  if (port) {
    *port = ntohs(a.sin_port);
  }
  return fd;
}

static void send_to(int fd, int port, const void *bytes, size_t n)
{
  const struct sockaddr_in a = {
      .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons((uint16_t)port)};

  assert_int_equal(sendto(fd, bytes, n, 0, (const struct sockaddr *)&a, sizeof a), (ssize_t)n);
}

static struct listener *listener(void)
{
  struct listener *l = calloc(1, sizeof *l);

  assert_non_null(l);
  return l;
}

/* Whatever the datagrams' size and form, the samples arrive, with gaps where the sender left some out. */
static void straight(void **unused)
{
  static const char *const keys[] = {"",
                                     "mtu=8000",
                                     "mtu=65507",
                                     "frame=100",
                                     "mtu=8000&frame=1920",
                                     "format=cf32",
                                     "vita49=1",
                                     "vita49=1&mtu=9000",
                                     "mtu=128",
                                     "vita49=1&frame=64",
                                     "stream=77"};
  size_t i;

  (void)unused;
  for (i = 0; i < sizeof keys / sizeof *keys; i++) {
    struct listener *l = listener();
    struct tlg_sink *sink;
    uint64_t first = 0, written = 0, messages;
    char text[100];

    listen_to(l, strstr(keys[i], "vita49") ? "udp:0?vita49=1" : "udp:127.0.0.1:0?rcvbuf=8M", 1);
    snprintf(text, sizeof text, "udp:127.0.0.1:%d%s%s", l->port, *keys[i] ? "?" : "", keys[i]);
    sink = open_sink(text);
    assert_false(tlg_sink_is_file(sink));
    write_with(l, sink, &first, &written, 20000, 448, 0);
    write_with(l, sink, &first, &written, 20001, 2458, 5000);
    write_with(l, sink, &first, &written, 1, 1, 1);
    assert_int_equal(tlg_sink_count(sink, NULL), 40002);
    tlg_sink_end(sink);
    while (!tlg_sink_ended(sink)) {
      nap_us(500);
    }
    assert_int_equal(tlg_sink_counter(sink, TLG_SINK_SENT), 40002);
    assert_int_equal(tlg_sink_counter(sink, TLG_SINK_DROPPED), 0);
    messages = tlg_sink_counter(sink, TLG_SINK_MESSAGES);
    close_sink(sink);
    hang_up(l);
    assert_int_equal(l->counts[TLG_LIVE_PACKETS], messages); /* ends and contexts are none */
    assert_int_equal(l->status, TLG_OK);
    assert_int_equal(l->heard.samples, 40002);
    assert_int_equal(l->heard.missing, 5001);
    assert_int_equal(l->heard.gaps, 2);
    assert_int_equal(l->counts[TLG_LIVE_SAMPLES], 40002);
    assert_int_equal(l->counts[TLG_LIVE_LOST_PACKETS], 0);
    /* VITA-49 cannot tell a gap from a loss. */
    assert_int_equal(l->counts[TLG_LIVE_LOST_SAMPLES], strstr(keys[i], "vita49") ? 5001 : 0);
    assert_int_equal(l->counts[TLG_LIVE_MALFORMED] + l->counts[TLG_LIVE_FOREIGN] + l->counts[TLG_LIVE_DUPLICATES], 0);
    assert_int_equal(l->info.rate.num, 25000000);
    assert_true(l->info.frequency_hz == 2.4e9);
    assert_string_equal(l->info.datetime, "2024-01-01T00:00:00.000000000000Z");
    assert_true(i != 10 || strstr(l->hints, "0x0000004d"));
    free(l);
  }
}

/* ---- the relay ------------------------------------------------------------------------------------------------------
 */

struct relay {
  int in, out, other, to; /* sockets, and the port of the receiver */
  int vita49;
  pthread_t thread;
  _Atomic int done;
  _Atomic uint64_t seen;
  uint64_t data, dropped, dropped_samples, doubled, foreign, malformed, ends;
};

/* Samples of a data packet; 0: context or end. */
static size_t samples_in(const struct relay *r, const uint8_t *bytes, size_t n)
{
  return r->vita49 ? (bytes[0] >> 4 == 1 ? (n - 28) / 4 : 0) : (n - TLG_OWN_BYTES) / 4;
}

static void *relay_run(void *context)
{
  struct relay *r = context;
  static uint8_t bytes[65536], held[65536];
  size_t n_held = 0;
  uint32_t seed = 5;

  while (!atomic_load(&r->done)) {
    struct pollfd p = {.fd = r->in, .events = POLLIN};
    ssize_t n;
    size_t samples;

    if (poll(&p, 1, 20) <= 0 || (n = recv(r->in, bytes, sizeof bytes, 0)) < 0) {
      continue;
    }
    atomic_fetch_add(&r->seen, 1);
    samples = samples_in(r, bytes, (size_t)n);
    if (!samples) {
      send_to(r->out, r->to, bytes, (size_t)n);
      r->ends++;
      continue;
    }
    r->data++;
    seed = seed * 1664525 + 1013904223;
    if (r->data < 20 && r->vita49) { /* time stamps must be seen to fit first */
      send_to(r->out, r->to, bytes, (size_t)n);
      continue;
    }
    switch ((seed >> 20) % 12) {
    case 0:
      r->dropped++;
      r->dropped_samples += samples;
      break;
    case 1:
      send_to(r->out, r->to, bytes, (size_t)n);
      send_to(r->out, r->to, bytes, (size_t)n);
      r->doubled++;
      break;
    case 2: /* hold it: the next one passes */
      if (!n_held) {
        memcpy(held, bytes, (size_t)n);
        n_held = (size_t)n;
        continue;
      }
      send_to(r->out, r->to, bytes, (size_t)n);
      break;
    case 3: /* another version, or another protocol, under the sender's address */
      send_to(r->out, r->to, bytes, (size_t)n);
      bytes[r->vita49 ? 0 : 4] = 0xf2;
      send_to(r->out, r->to, bytes, (size_t)n);
      r->foreign++;
      break;
    case 4: /* cut by some bytes */
      send_to(r->out, r->to, bytes, (size_t)n);
      send_to(r->out, r->to, bytes, (size_t)n - 4);
      r->malformed++;
      break;
    case 5: /* cut in the header */
      send_to(r->out, r->to, bytes, (size_t)n);
      send_to(r->out, r->to, bytes, 20);
      r->malformed++;
      break;
    case 6: /* a stranger: noise, and nothing at all */
      send_to(r->out, r->to, bytes, (size_t)n);
      memset(bytes, 0xc3, 700);
      send_to(r->other, r->to, bytes, 700);
      send_to(r->other, r->to, bytes, 0);
      r->foreign += 2;
      break;
    case 7: /* another stream in between */
      send_to(r->out, r->to, bytes, (size_t)n);
      bytes[r->vita49 ? 4 : 8] ^= 0x55;
      send_to(r->other, r->to, bytes, (size_t)n);
      r->foreign++;
      break;
    case 8: /* too long */
      send_to(r->out, r->to, bytes, (size_t)n);
      memset(bytes + n, 0, 65507 - (size_t)n);
      send_to(r->out, r->to, bytes, 65507);
      r->malformed++;
      break;
    default:
      send_to(r->out, r->to, bytes, (size_t)n);
    }
    if (n_held) {
      send_to(r->out, r->to, held, n_held);
      n_held = 0;
    }
  }
  return NULL;
}

static void through_relay(void **unused)
{
  int vita49;

  (void)unused;
  for (vita49 = 0; vita49 < 2; vita49++) {
    struct listener *l = listener();
    struct relay r = {.vita49 = vita49};
    struct tlg_sink *sink;
    uint64_t first = 0;
    uint16_t port;
    char text[100];
    int i;

    listen_to(l, vita49 ? "udp:0?vita49=1" : "udp:0", 1);
    r.to = l->port;
    r.in = udp_socket(&port);
    r.out = udp_socket(NULL);
    r.other = udp_socket(NULL);
    assert_int_equal(pthread_create(&r.thread, NULL, relay_run, &r), 0);
    snprintf(text, sizeof text, "udp:127.0.0.1:%d?stream=16909060%s", port, vita49 ? "&vita49=1" : "");
    sink = open_sink(text);
    for (i = 0; i < 300; i++) { /* not faster than the relay */
      int k;

      write_samples(sink, &first, 4480, 448, 0);
      for (k = 0;
           k < 10000 && (atomic_load(&r.seen) + 100 < (uint64_t)i * 20 || l->so_far + 40000 < (uint64_t)i * 4000);
           k++) {
        nap_us(200);
      }
    }
    nap_us(20000);
    close_sink(sink);
    hang_up(l);
    atomic_store(&r.done, 1);
    pthread_join(r.thread, NULL);
    close(r.in);
    close(r.out);
    close(r.other);
    assert_int_equal(l->status, TLG_OK);
    assert_true(r.dropped > 100 && r.doubled > 100 && r.foreign > 300 && r.malformed > 300);
    assert_int_equal(r.data, 300 * 20); /* the relay itself lost nothing */
    assert_int_equal(l->counts[TLG_LIVE_PACKETS], r.data - r.dropped);
    assert_int_equal(l->counts[TLG_LIVE_LOST_PACKETS], r.dropped);
    assert_int_equal(l->counts[TLG_LIVE_SAMPLES], first - r.dropped_samples);
    assert_int_equal(l->counts[TLG_LIVE_LOST_SAMPLES], r.dropped_samples);
    assert_int_equal(l->counts[TLG_LIVE_DUPLICATES], r.doubled);
    assert_int_equal(l->counts[TLG_LIVE_REORDERED], 0); /* all were put in their place */
    assert_int_equal(l->counts[TLG_LIVE_FOREIGN] + l->counts[TLG_LIVE_MALFORMED], r.foreign + r.malformed);
    assert_true(vita49 || l->counts[TLG_LIVE_MALFORMED] == r.malformed);
    assert_int_equal(l->heard.end, first);
    assert_int_equal(l->heard.missing, r.dropped_samples);
    free(l);
  }
}

/* Noise of every length before, during and instead of a stream. */
static void noise_only(void **unused)
{
  struct listener *l = listener();
  uint8_t bytes[3000];
  uint32_t seed = 9;
  const int fd = udp_socket(NULL);
  struct tlg_sink *sink;
  uint64_t first = 0;
  char text[64];
  size_t i, k;

  (void)unused;
  listen_to(l, "udp:0", 1);
  for (i = 0; i < 2000; i++) {
    const size_t n = i % 1500;

    for (k = 0; k < n; k++) {
      seed = seed * 1664525 + 1013904223;
      bytes[k] = (uint8_t)(seed >> 24);
    }
    if (i % 3 == 0 && n > 8) {
      memcpy(bytes, "TLGS\1\120", 6);
    }
    if (i % 3 == 1 && n >= 4) {
      tlg_wire_put_be32(bytes, (uint32_t)(i % 8) << 28 | (uint32_t)(n / 4)); /* a right length */
    }
    send_to(fd, l->port, bytes, n);
    if (i % 100 == 0) {
      nap_us(1000);
    }
  }
  assert_int_equal(atomic_load(&l->opened), 0); /* it still waits */
  nap_us(300000);                               /* what looked like VITA-49 has fallen silent */
  snprintf(text, sizeof text, "udp:127.0.0.1:%d", l->port);
  sink = open_sink(text);
  write_samples(sink, &first, 5000, 448, 0);
  close_sink(sink);
  hang_up(l);
  close(fd);
  assert_int_equal(l->status, TLG_OK);
  assert_int_equal(l->heard.samples, 5000);
  assert_int_equal(l->counts[TLG_LIVE_LOST_SAMPLES], 0);
  free(l);
}

/* A sender that dies without an end and comes back; one that never says its end; wishes to stop. */
static void ends(void **unused)
{
  struct listener *l = listener();
  const int fd = udp_socket(NULL);
  struct datagram d;
  struct tlg_sink *sink;
  uint64_t k, first = 0;
  char text[64];
  int i;

  (void)unused;
  l->any = 1;
  listen_to(l, "udp:0", 1);
  for (k = 0; k < 5; k++) {
    own_datagram(&d, 3, k, k * 100, 100, 0);
    send_to(fd, l->port, d.bytes, d.n);
  }
  nap_us(350000);
  snprintf(text, sizeof text, "udp:127.0.0.1:%d", l->port);
  sink = open_sink(text);
  write_samples(sink, &first, 4480, 448, 0);
  close_sink(sink);
  hang_up(l);
  assert_int_equal(l->status, TLG_OK);
  assert_int_equal(l->heard.samples, 4980);
  assert_int_equal(l->heard.end, 4980);
  assert_int_equal(l->counts[TLG_LIVE_RESTARTS], 1);
  free(l);

  for (i = 0; i < 2; i++) { /* idle_ms; stop */
    l = listener();
    l->stop_after = i ? 1 : 0;
    listen_to(l, i ? "udp:0" : "udp:0?idle_ms=120", 1);
    own_datagram(&d, 3, 0, 0, 100, 0);
    send_to(fd, l->port, d.bytes, d.n);
    own_datagram(&d, 3, 2, 200, 100, 0); /* held behind a missing one until then */
    send_to(fd, l->port, d.bytes, d.n);
    hang_up(l);
    assert_int_equal(l->status, TLG_OK);
    assert_true(l->heard.samples == 200 || (i && l->heard.samples == 100));
    assert_true(i || strstr(l->hints, "idle_ms"));
    free(l);
  }
  /* Nobody ever comes. */
  l = listener();
  listen_to(l, "udp:0", 1);
  nap_us(60000);
  __atomic_store_n(&l->cancel, 1, __ATOMIC_RELAXED);
  hang_up(l);
  assert_int_equal(l->status, TLG_EINTR);
  free(l);
  close(fd);
}

/* With no receiver, one that goes away, and one that comes late, the sink goes on. */
static void nobody_listens(void **unused)
{
  struct listener *l = listener();
  struct tlg_sink *sink;
  uint64_t first = 0;
  uint16_t port;
  char text[64];

  (void)unused;
  close(udp_socket(&port));
  snprintf(text, sizeof text, "udp:127.0.0.1:%u", port);
  sink = open_sink(text);
  write_samples(sink, &first, 448000, 448, 0);
  while (tlg_sink_counter(sink, TLG_SINK_SENT) + tlg_sink_counter(sink, TLG_SINK_DROPPED) < 448000) {
    nap_us(1000);
  }
  snprintf(text, sizeof text, "udp:127.0.0.1:%u", port);
  l->heard.offset = 448000;
  listen_to(l, text, 1);
  assert_true(l->port == port);
  write_samples(sink, &first, 44800, 448, 0);
  close_sink(sink);
  hang_up(l);
  assert_int_equal(l->heard.samples, 44800);
  assert_int_equal(l->counts[TLG_LIVE_LOST_SAMPLES], 0);
  assert_non_null(strstr(l->hints, "joined"));
  free(l);
}

static void refused(void **unused)
{
  static const struct {
    const char *text, *what;
    int status;
  } sinks[] = {
      {"udp:", "HOST:PORT", TLG_EINVAL},
      {"udp:5000", "HOST:PORT", TLG_EINVAL},
      {"udp:127.0.0.1:0", "HOST:PORT", TLG_EINVAL},
      {"udp:127.0.0.1:70000", "HOST:PORT", TLG_EINVAL},
      {"zmq:tcp://127.0.0.1:99999", "1 to 65535", TLG_EINVAL},
      {"zmq:tcp://127.0.0.1:65536", "1 to 65535", TLG_EINVAL},
      {"zmq:tcp://127.0.0.1:", "1 to 65535", TLG_EINVAL},
      {"zmq:tcp://127.0.0.1:-1", "1 to 65535", TLG_EINVAL},
      {"zmq:tcp://127.0.0.1:50x", "1 to 65535", TLG_EINVAL},
      {"srsran:tcp://127.0.0.1:99999", "1 to 65535", TLG_EINVAL},
      {"udp:127.0.0.1:5000?mtu=100", "mtu", TLG_EINVAL},
      {"udp:127.0.0.1:5000?frame=10000", "frame", TLG_EINVAL},
      {"udp:127.0.0.1:5000?vita49=2", "vita49", TLG_EINVAL},
      {"udp:127.0.0.1:5000?vita49=1&format=cf32", "vita49", TLG_EINVAL},
      {"udp:127.0.0.1:5000?format=cu16", "format", TLG_EINVAL},
      {"udp:127.0.0.1:5000?colour=red", "colour", TLG_EINVAL},
      {"udp:no.such.host.invalid:5000", "no.such.host", TLG_ESYS},
  };
  static const char *const sources[] = {"udp:",
                                        "udp:x",
                                        "udp:127.0.0.1:",
                                        "udp:99999",
                                        "udp:0?reorder=65",
                                        "udp:0?mtu=1000",
                                        "zmq:tcp://127.0.0.1:99999",
                                        "srsran:tcp://127.0.0.1:99999",
                                        "zmq:tcp://127.0.0.1:99999;127.0.0.1:5000"};
  const struct tlg_sink_cfg cfg = {.rate = stream_rate};
  struct tlg_error err;
  struct tlg_sink *sink;
  struct tlg_live *live;
  size_t i;

  (void)unused;
  for (i = 0; i < sizeof sinks / sizeof *sinks; i++) {
    assert_int_equal(tlg_sink_open(&sink, sinks[i].text, &cfg, &err), sinks[i].status);
    assert_non_null(strstr(err.text, sinks[i].what));
    assert_null(sink);
  }
  for (i = 0; i < sizeof sources / sizeof *sources; i++) {
    assert_int_equal(tlg_live_open(&live, sources[i], NULL, NULL, &err), TLG_EINVAL);
    assert_null(live);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(straight), cmocka_unit_test(through_relay),  cmocka_unit_test(noise_only),
      cmocka_unit_test(ends),     cmocka_unit_test(nobody_listens), cmocka_unit_test(refused),
  };

  return cmocka_run_group_tests_name("live_udp", tests, NULL, NULL);
}
