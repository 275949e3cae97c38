/* SPDX-License-Identifier: Apache-2.0 */
/* The source unix: what a sink unix sends, or bare samples. */
#include "pace.h"
#include "source_stream.h"
#include "unix_socket.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
  LARGEST = 255 + TLG_OWN_MAX_SAMPLES * 16, /* bytes of a message */
  ROOM = LARGEST + (1 << 18),
  CHUNK = 16384,
};

struct unix_source {
  struct tlg_live base;
  int fd, listener; /* -1 = none */
  int raw, listens, reconnect, ended;
  char *path;
  struct tlg_unix_place place;
  struct tlg_intake *in; /* NULL: bare samples */
  struct tlg_live_cfg cfg;
  struct tlg_wire_layout layout;
  struct tlg_convert_counts counts;
  uint64_t samples, foreign, malformed; /* the last two: beside those of the intake */
  _Atomic int stopping;
  size_t start, filled; /* bytes in room */
  uint8_t *room;
};

static void tell(const struct unix_source *s, const char *text)
{
  if (s->cfg.hint) {
    s->cfg.hint(s->cfg.context, text);
  }
}

/* The other side, if it is there. TLG_EINTR: not now, after waiting 50 ms. */
static int find_peer(struct unix_source *s, struct tlg_error *err)
{
  const struct timespec pause = {.tv_nsec = TLG_LIVE_WAIT_MS * 1000000};
  struct pollfd p = {.fd = s->listener, .events = POLLIN};
  int status;

  if (s->listens) {
    poll(&p, 1, TLG_LIVE_WAIT_MS);
    s->fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    return s->fd < 0 ? TLG_EINTR : TLG_OK;
  }
  status = tlg_unix_connect(&s->fd, s->path, err);
  if (status == TLG_EINTR) {
    nanosleep(&pause, NULL);
  }
  if (status) {
    s->fd = -1;
  }
  return status;
}

/* It went away, or sent what cannot be followed. */
static void lose_peer(struct unix_source *s)
{
  close(s->fd);
  s->fd = -1;
  if (s->filled > s->start) {
    if (s->in) {
      tell(s, "the sender went away in the middle of a message");
    } else {
      tell(s, "less than a sample was left over at the end");
    }
    s->malformed++;
  }
  s->start = s->filled = 0;
  if (s->in && !tlg_intake_ended(s->in)) {
    tell(s,
         s->reconnect ? "the sender went away without an end; waiting for it" : "the sender went away without an end");
    tlg_intake_let_go(s->in);
  }
  s->ended = !s->reconnect || (s->in && tlg_intake_ended(s->in));
}

/* Take what has come; waits 50 ms at most. TLG_EINTR: nothing. */
static int receive(struct unix_source *s, struct tlg_error *err)
{
  struct pollfd p = {.fd = s->fd, .events = POLLIN};
  ssize_t n;

  if (s->fd < 0) {
    return find_peer(s, err);
  }
  if (s->start) {
    memmove(s->room, s->room + s->start, s->filled - s->start);
    s->filled -= s->start;
    s->start = 0;
  }
  n = recv(s->fd, s->room + s->filled, ROOM - s->filled, 0);
  if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
    if (poll(&p, 1, TLG_LIVE_WAIT_MS) <= 0) {
      return TLG_EINTR;
    }
    n = recv(s->fd, s->room + s->filled, ROOM - s->filled, 0);
  }
  if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) {
    return TLG_EINTR;
  }
  if (n <= 0) { /* its end, or it died */
    lose_peer(s);
    return TLG_OK;
  }
  s->filled += (size_t)n;
  return TLG_OK;
}

/* The next message to the intake. 0: no whole one is there. */
static int put_next(struct unix_source *s, struct tlg_error *err, int *status)
{
  static const struct tlg_intake_sender peer = {1, 0};
  const uint8_t *at = s->room + s->start;
  const size_t there = s->filled - s->start;
  enum tlg_wire_verdict verdict;
  struct tlg_own own;
  size_t size;

  if (there < TLG_OWN_BYTES || (at[4] == TLG_OWN_VERSION && there < at[5])) {
    return 0;
  }
  verdict = tlg_own_decode(&own, at, there);
  if (verdict != TLG_WIRE_OK) { /* where the next message begins is not known either */
    s->foreign += verdict == TLG_WIRE_FOREIGN;
    s->malformed += verdict != TLG_WIRE_FOREIGN;
    s->start = s->filled = 0;
    if (s->reconnect) {
      tell(s, "what came was no message of ours; the connection is given up");
      lose_peer(s);
    } else {
      *status =
          tlg_error_set(err, TLG_EFORMAT,
                        "unix:%s: what comes are no messages of this version of taplag; bare samples are read with "
                        "raw=1",
                        s->path);
    }
    return 0;
  }
  size = own.header_bytes + own.n * tlg_format_size(own.format);
  if (there < size) {
    return 0;
  }
  s->start += size;
  tlg_intake_put(s->in, at, size, &peer, tlg_clock_monotonic.now_ns(NULL));
  return 1;
}

/* Bare samples. */
static void gather_raw(struct unix_source *s, tlg_cs16 *buf, size_t n, size_t *got, uint64_t *first)
{
  const size_t size = tlg_format_size(s->layout.format);
  const size_t there = (s->filled - s->start) / size, m = there < n ? there : n;

  *first = s->samples;
  *got = m;
  tlg_wire_unpack(buf, s->room + s->start, 0, m, &s->layout, s->cfg.full_scale, s->cfg.swap_iq, &s->counts);
  s->start += m * size;
  s->samples += m;
  tlg_live_add(&s->base, TLG_LIVE_SAMPLES, m);
  atomic_store_explicit(&s->base.counts[TLG_LIVE_CLIPPED], s->counts.clipped, memory_order_relaxed);
  atomic_store_explicit(&s->base.counts[TLG_LIVE_NON_FINITE], s->counts.non_finite, memory_order_relaxed);
}

static void publish(struct unix_source *s)
{
  const uint64_t none[TLG_LIVE_COUNTS] = {0}, *counts = s->in ? tlg_intake_counts(s->in) : none;

  if (s->in) {
    tlg_source_publish(&s->base, s->in);
  }
  atomic_store_explicit(&s->base.counts[TLG_LIVE_FOREIGN], counts[TLG_LIVE_FOREIGN] + s->foreign, memory_order_relaxed);
  atomic_store_explicit(&s->base.counts[TLG_LIVE_MALFORMED], counts[TLG_LIVE_MALFORMED] + s->malformed,
                        memory_order_relaxed);
}

static int unix_read(struct tlg_live *live, tlg_cs16 *buf, size_t n, size_t *got, uint64_t *first,
                     struct tlg_error *err)
{
  struct unix_source *s = (struct unix_source *)live;
  int status = TLG_OK;

  *got = 0;
  for (;;) {
    if (s->in ? tlg_source_gather(s->in, buf, n, got, first) : (gather_raw(s, buf, n, got, first), *got > 0)) {
      break;
    }
    if ((s->in && ((status = tlg_intake_status(s->in, err)) || tlg_intake_ended(s->in))) || s->ended ||
        atomic_load_explicit(&s->stopping, memory_order_relaxed)) {
      break;
    }
    if (s->in && put_next(s, err, &status)) {
      continue;
    }
    if (status || *got) {
      break;
    }
    status = receive(s, err);
    if (status) {
      break;
    }
  }
  if (*got) {
    status = TLG_OK;
  } else if (!status) {
    *first = s->in ? tlg_intake_end(s->in) : s->samples;
  }
  publish(s);
  return status;
}

static void unix_stop(struct tlg_live *live)
{
  atomic_store_explicit(&((struct unix_source *)live)->stopping, 1, memory_order_relaxed);
}

static void unix_close(struct tlg_live *live)
{
  struct unix_source *s = (struct unix_source *)live;

  if (s->fd >= 0) {
    close(s->fd);
  }
  tlg_unix_unlisten(s->listener, &s->place);
  tlg_intake_free(s->in);
  free(s->room);
  free(s->path);
}

/* ---- opening -------------------------------------------------------------------------------------------------------
 */

static int configure(struct unix_source *s, const struct tlg_endpoint *e, struct tlg_error *err)
{
  static const char *const known[] = {"raw", "listen", "reconnect", "format", NULL};
  static const char *const no_yes[] = {"0", "1", NULL};
  int status;

  if ((status = tlg_endpoint_check_keys(e, known, err)) ||
      (status = tlg_endpoint_word(e, "raw", no_yes, &s->raw, err)) ||
      (status = tlg_endpoint_word(e, "listen", no_yes, &s->listens, err)) ||
      (status = tlg_endpoint_word(e, "reconnect", no_yes, &s->reconnect, err))) {
    return status;
  }
  status = tlg_source_format(&s->layout.format, e, &s->cfg, s->raw, err);
  if (status) {
    return status;
  }
  s->room = malloc(ROOM);
  if (!s->room) {
    return tlg_error_set(err, TLG_ENOMEM, "out of memory");
  }
  if (!s->raw && (status = tlg_source_intake(&s->in, &s->cfg, LARGEST, err))) {
    return status;
  }
  return s->listens ? tlg_unix_listen(&s->listener, &s->place, s->path, err) : TLG_OK;
}

static int wait_for_stream(struct unix_source *s, const volatile int *cancel, struct tlg_error *err)
{
  char text[200];
  uint64_t first;
  int status = TLG_OK;

  snprintf(text, sizeof text, s->listens ? "listening on unix:%s" : "waiting for unix:%s", s->path);
  tell(s, text);
  while (s->in ? !tlg_intake_begun(s->in) : s->fd < 0) {
    if (cancel && __atomic_load_n(cancel, __ATOMIC_RELAXED)) {
      return tlg_error_set(err, TLG_EINTR, "stopped while waiting for a sender");
    }
    if (s->in && put_next(s, err, &status)) {
      tlg_intake_ready(s->in, &first);
      if ((status = tlg_intake_status(s->in, err))) {
        return status;
      }
      continue;
    }
    if (status || ((status = receive(s, err)) && status != TLG_EINTR)) {
      return status;
    }
    status = TLG_OK;
    s->ended = 0; /* one that came and went without a word may come again */
  }
  return TLG_OK;
}

int tlg_live_open_unix(struct tlg_live **live, const struct tlg_endpoint *e, const struct tlg_live_cfg *cfg,
                       const volatile int *cancel, struct tlg_error *err)
{
  static const struct tlg_live_ops ops = {.read = unix_read, .stop = unix_stop, .close = unix_close};
  struct unix_source *s = calloc(1, sizeof *s);
  int status;

  if (!s || !(s->path = strdup(e->rest))) {
    free(s);
    return tlg_error_set(err, TLG_ENOMEM, "out of memory");
  }
  s->base.ops = &ops;
  s->fd = s->listener = -1;
  s->cfg = *cfg;
  status = configure(s, e, err);
  status = status ? status : wait_for_stream(s, cancel, err);
  if (status) {
    unix_close(&s->base);
    free(s);
    return status;
  }
  tlg_source_describe(&s->base, s->in, &cfg->rate, s->layout.format);
  s->base.info.chunk = CHUNK;
  *live = &s->base;
  return TLG_OK;
}
