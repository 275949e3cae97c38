/* SPDX-License-Identifier: Apache-2.0 */
/* The sink unix: a stream socket that a PHY connects to; messages with a header, or bare samples. One peer at a time,
 * which may go and come back. */
#include "pace.h"
#include "sink.h"
#include "unix_socket.h"
#include "wire.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum { PIECE = 4096 /* samples of a message at most */ };

struct unix_sink {
  struct tlg_sink base;
  int listener, peer; /* -1 = none */
  int raw, connects;
  char *path;
  struct tlg_unix_place place;
  struct tlg_own own;
  uint64_t next; /* output number behind the last */
  struct tlg_convert_counts counts;
  uint8_t header[TLG_OWN_BYTES];
  uint8_t payload[PIECE * 16];
};

static void drop_peer(struct unix_sink *s)
{
  close(s->peer);
  s->peer = -1;
}

/* A peer if one is there; waits for none. */
static void find_peer(struct unix_sink *s)
{
  if (s->peer >= 0) {
    struct pollfd p = {.fd = s->peer}; /* POLLHUP: it closed */

    if (poll(&p, 1, 0) == 0) {
      return;
    }
    drop_peer(s);
  }
  if (s->connects) {
    if (tlg_unix_connect(&s->peer, s->path, NULL) != TLG_OK) {
      s->peer = -1;
    }
  } else {
    s->peer = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
  }
  if (s->peer >= 0) {
    shutdown(s->peer, SHUT_RD); /* nothing is expected from it, and nothing shall pile up */
    tlg_sink_add(&s->base, TLG_SINK_PEERS, 1);
  }
}

/* All bytes of a message. 1: sent, 0: the peer went, or the end came. */
static int send_all(struct unix_sink *s, const uint8_t *payload, size_t n_payload)
{
  struct iovec v[2] = {{s->header, s->raw ? 0 : TLG_OWN_BYTES}, {(void *)(uintptr_t)payload, n_payload}};
  struct msghdr m = {.msg_iov = v, .msg_iovlen = 2};
  uint64_t from_ns = 0; /* when it had to wait first */

  while (v[0].iov_len + v[1].iov_len) {
    const ssize_t sent = sendmsg(s->peer, &m, MSG_NOSIGNAL);
    struct pollfd p = {.fd = s->peer, .events = POLLOUT};

    if (sent >= 0) {
      const size_t head = (size_t)sent < v[0].iov_len ? (size_t)sent : v[0].iov_len;

      v[0].iov_base = (uint8_t *)v[0].iov_base + head;
      v[0].iov_len -= head;
      v[1].iov_base = (uint8_t *)v[1].iov_base + ((size_t)sent - head);
      v[1].iov_len -= (size_t)sent - head;
      continue;
    }
    if (errno == EINTR) {
      continue;
    }
    if (errno != EAGAIN && errno != EWOULDBLOCK) {
      break; /* it went */
    }
    from_ns = from_ns ? from_ns : tlg_clock_monotonic.now_ns(NULL);
    if (tlg_sink_stopping(&s->base)) {
      break;
    }
    poll(&p, 1, TLG_SINK_WAIT_MS);
  }
  if (from_ns) {
    tlg_sink_stalled(&s->base, from_ns);
  }
  if (v[0].iov_len + v[1].iov_len) { /* half a message: the connection is of no use any more */
    drop_peer(s);
    return 0;
  }
  tlg_sink_add(&s->base, TLG_SINK_MESSAGES, !(s->own.flags & TLG_OWN_END));
  return 1;
}

/* One message to whoever is there; with block=1 somebody is waited for. 1: sent. */
static int deliver(struct unix_sink *s, size_t n_payload)
{
  for (;;) {
    find_peer(s);
    if (s->peer >= 0 && send_all(s, s->payload, n_payload)) {
      return 1;
    }
    if (!s->base.block || tlg_sink_stopping(&s->base)) {
      return 0;
    }
    if (s->peer < 0) {
      struct pollfd p = {.fd = s->listener, .events = POLLIN}; /* -1: only waits */

      poll(&p, 1, TLG_SINK_WAIT_MS);
    }
  }
}

static int unix_write(struct tlg_sink *sink, const struct tlg_sink_block *block, struct tlg_error *err)
{
  struct unix_sink *s = (struct unix_sink *)sink;
  const tlg_cs16 *samples = block->samples;
  size_t left = block->n;

  (void)err;
  tlg_own_follow(&s->own, &s->next, block);
  while (left) {
    const size_t n = left < PIECE ? left : PIECE;

    tlg_own_place(&s->own, s->next, n);
    tlg_own_encode(s->header, &s->own);
    tlg_convert_from_cs16(s->payload, samples, n, s->own.format, &s->counts);
    if (!deliver(s, n * tlg_format_size(s->own.format))) {
      tlg_sink_add(sink, TLG_SINK_DROPPED, n);
    }
    s->own.sequence++; /* what nobody took was sent as well: the next peer that knows the stream sees it missing */
    s->next += n;
    samples += n;
    left -= n;
  }
  return TLG_OK;
}

static int unix_idle(struct tlg_sink *sink, struct tlg_error *err)
{
  (void)err;
  find_peer((struct unix_sink *)sink);
  return TLG_OK;
}

static void finish(struct unix_sink *s, int say_end)
{
  if (say_end && s->peer >= 0 && !s->raw) {
    s->own.flags = TLG_OWN_END;
    tlg_own_place(&s->own, s->next, 0);
    tlg_own_encode(s->header, &s->own);
    send_all(s, s->payload, 0);
  }
  if (s->peer >= 0) {
    drop_peer(s);
  }
  tlg_unix_unlisten(s->listener, &s->place);
  free(s->path);
}

static int unix_close(struct tlg_sink *sink, struct tlg_error *err)
{
  (void)err;
  finish((struct unix_sink *)sink, 1);
  return TLG_OK;
}

static void unix_abort(struct tlg_sink *sink)
{
  finish((struct unix_sink *)sink, 1);
}

static int unix_marks_gaps(const struct tlg_sink *sink)
{
  return !((const struct unix_sink *)sink)->raw;
}

static void unix_counts(const struct tlg_sink *sink, struct tlg_convert_counts *counts)
{
  *counts = ((const struct unix_sink *)sink)->counts;
}

int tlg_sink_open_unix(struct tlg_sink **sink, const struct tlg_endpoint *e, const struct tlg_sink_cfg *cfg,
                       struct tlg_error *err)
{
  static const struct tlg_sink_ops ops = {.write = unix_write,
                                          .close = unix_close,
                                          .abort = unix_abort,
                                          .idle = unix_idle,
                                          .marks_gaps = unix_marks_gaps,
                                          .counts = unix_counts};
  static const char *const known[] = {"format", "raw", "connect", NULL};
  static const char *const no_yes[] = {"0", "1", NULL};
  struct unix_sink *s = calloc(1, sizeof *s);
  int status = TLG_OK;

  if (!s || !(s->path = strdup(e->rest))) {
    free(s);
    return tlg_error_set(err, TLG_ENOMEM, "out of memory");
  }
  s->base.ops = &ops;
  s->base.block = e->block; /* then somebody is waited for, too */
  s->listener = s->peer = -1;
  s->own.format = TLG_FORMAT_CS16;
  if ((status = tlg_endpoint_check_keys(e, known, err)) ||
      (status = tlg_endpoint_word(e, "raw", no_yes, &s->raw, err)) ||
      (status = tlg_endpoint_word(e, "connect", no_yes, &s->connects, err))) {
    goto fail;
  }
  status = tlg_endpoint_format(e, &s->own.format, err);
  if (!status && cfg->only_check) {
    status = tlg_unix_check(s->path, !s->connects, err);
  }
  if (status || cfg->only_check) {
    goto fail;
  }
  tlg_own_start(&s->own, cfg);
  if (s->connects) {
    status = tlg_unix_connect(&s->peer, s->path, err); /* it need not be there yet, but the path must do */
    s->peer = status ? -1 : s->peer;
    if (!status) {
      shutdown(s->peer, SHUT_RD);
      tlg_sink_add(&s->base, TLG_SINK_PEERS, 1);
    }
    status = status == TLG_EINTR ? TLG_OK : status;
  } else {
    status = tlg_unix_listen(&s->listener, &s->place, s->path, err);
  }
  if (status) {
    goto fail;
  }
  *sink = &s->base;
  return TLG_OK;
fail:
  free(s->path);
  free(s);
  return status;
}
