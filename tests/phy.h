/* SPDX-License-Identifier: Apache-2.0 */
/* A PHY as srsRAN's ZeroMQ radio makes it, written from the protocol alone (docs/live.md): it asks with one byte and
 * waits for one message of samples; it asks as soon as it is there, fills a ring, and reads from that at its own pace.
 */
#ifndef PHY_H
#define PHY_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zmq.h>

enum { PHY_RING_BYTES = 24576000 };

struct phy {
  void *context, *socket;
  int asked;
  size_t sample_bytes;
  unsigned char *data; /* all that came */
  size_t bytes, room;
  size_t ring; /* bytes that were not read yet */
  uint64_t messages, empty, longest;
};

static inline void phy_sleep_ns(uint64_t ns)
{
  const struct timespec t = {.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};

  nanosleep(&t, NULL);
}

static inline int phy_connect(struct phy *phy, const char *endpoint, size_t sample_bytes)
{
  const int none = 0;

  phy->sample_bytes = sample_bytes;
  phy->context = zmq_ctx_new();
  phy->socket = zmq_socket(phy->context, ZMQ_REQ);
  zmq_setsockopt(phy->socket, ZMQ_LINGER, &none, sizeof none);
  return zmq_connect(phy->socket, endpoint);
}

/* Go, with or without an answer that is still due; what came is kept. */
static inline void phy_vanish(struct phy *phy)
{
  zmq_close(phy->socket);
  zmq_ctx_term(phy->context);
  phy->socket = NULL;
  phy->asked = 0;
}

static inline int phy_ask(struct phy *phy)
{
  const unsigned char request = 0xff;

  if (!phy->asked && zmq_send(phy->socket, &request, 1, 0) != 1) {
    return -1;
  }
  phy->asked = 1;
  return 0;
}

/* Ask once, and take the answer if it comes within ms: its samples, -1 without one. */
static inline long phy_fetch(struct phy *phy, int ms)
{
  zmq_pollitem_t item = {.socket = phy->socket, .events = ZMQ_POLLIN};
  zmq_msg_t message;
  size_t size;

  if (phy_ask(phy) || zmq_poll(&item, 1, ms) != 1) {
    return -1;
  }
  zmq_msg_init(&message);
  if (zmq_msg_recv(&message, phy->socket, 0) < 0) {
    return -1;
  }
  phy->asked = 0;
  size = zmq_msg_size(&message);
  if (size % phy->sample_bytes || zmq_msg_more(&message)) {
    fprintf(stderr, "a message of %zu bytes is no whole number of samples\n", size);
    abort();
  }
  if (phy->bytes + size > phy->room) {
    phy->room = 2 * (phy->bytes + size);
    phy->data = realloc(phy->data, phy->room);
    if (!phy->data) {
      abort();
    }
  }
  if (size) {
    memcpy(phy->data + phy->bytes, zmq_msg_data(&message), size);
  }
  zmq_msg_close(&message);
  phy->bytes += size;
  phy->ring += size;
  phy->messages++;
  phy->empty += !size;
  phy->longest = size > phy->longest ? size : phy->longest;
  return (long)(size / phy->sample_bytes);
}

/* Its receiving thread: ask until the ring is full. Returns 0 when no answer came within ms. */
static inline int phy_fill(struct phy *phy, int ms)
{
  while (phy->ring + phy->longest <= PHY_RING_BYTES) {
    if (phy_fetch(phy, ms) < 0) {
      return 0;
    }
  }
  return 1;
}

/* Its reading side: n samples take n / rate of sleep before they are waited for. Returns 0 when they did not come. */
static inline int phy_read(struct phy *phy, size_t n, double rate_hz, int ms)
{
  phy_sleep_ns((uint64_t)((double)n / rate_hz * 1e9));
  while (phy->ring < n * phy->sample_bytes) {
    if (phy_fetch(phy, ms) < 0) {
      return 0;
    }
  }
  phy->ring -= n * phy->sample_bytes;
  return 1;
}

#endif
