/* SPDX-License-Identifier: Apache-2.0 */
/* The sink zmq: messages of a header and samples (docs/live.md), or bare samples, by PUSH or PUB over tcp, ipc or
 * inproc. What a slow other side does not take is dropped and counted, or waited for (block=1). */
#include "pace.h"
#include "sink.h"
#include "wire.h"
#include "zmq_util.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

enum {
  PIECE = 4096,        /* samples of a message at most */
  HWM = 64,            /* messages that may wait for each of the other side */
  REQUEST_BYTES = 512, /* nothing but subscriptions comes in */
  END_MS = 500,        /* so long is waited for room for the message that tells the end */
  LINGER_MS = 5000,    /* and for the other side to fetch what waits; */
  BLOCK_MS = 60000,    /* with block=1, where nothing may be lost; */
  TELL_MS = 500,       /* which is said after so long */
};

struct zmq_sink {
  struct tlg_sink base;
  struct tlg_zmq_socket zmq;
  int publish, raw;
  unsigned subscribers;
  struct tlg_own own;
  uint64_t next; /* output number behind the last */
  struct tlg_convert_counts counts;
  int losing;
  uint64_t closing_ns; /* since then the end is waited for */
  int told_waiting;
  void (*hint)(void *context, const char *text);
  void *context;
};

/* Subscriptions come and go. Every subscriber counts, so that publishing to nobody is known to be a loss. */
static void look(struct zmq_sink *s)
{
  unsigned char first;
  int n;

  while (s->publish && (n = zmq_recv(s->zmq.socket, &first, 1, ZMQ_DONTWAIT)) >= 0) {
    s->subscribers += n && first == 1;
    s->subscribers -= n && first == 0 && s->subscribers;
    tlg_sink_add(&s->base, TLG_SINK_PEERS, n && first == 1);
  }
  tlg_zmq_look(&s->zmq);
}

/* One message, n samples of payload already converted. 1: it was taken. */
static int send_message(struct zmq_sink *s, zmq_msg_t *message, int wait)
{
  for (;;) {
    look(s);
    if ((!s->publish || s->subscribers) && zmq_msg_send(message, s->zmq.socket, ZMQ_DONTWAIT) >= 0) {
      tlg_sink_add(&s->base, TLG_SINK_MESSAGES, !(s->own.flags & TLG_OWN_END));
      return 1;
    }
    if (!wait || tlg_sink_stopping(&s->base)) {
      zmq_msg_close(message);
      return 0;
    }
    /* An XPUB socket can always be written; its subscribers' room is seen by trying. */
    tlg_zmq_wait(&s->zmq, s->publish ? ZMQ_POLLIN : ZMQ_POLLOUT, s->publish ? 1 : TLG_SINK_WAIT_MS);
  }
}

/* A message of n samples, or the one that tells the end. */
static int make_message(struct zmq_sink *s, zmq_msg_t *message, const tlg_cs16 *samples, size_t n)
{
  const size_t header = s->raw ? 0 : TLG_OWN_BYTES;
  uint8_t *bytes;

  if (zmq_msg_init_size(message, header + n * tlg_format_size(s->own.format)) != 0) {
    return TLG_ENOMEM;
  }
  bytes = zmq_msg_data(message);
  if (header) {
    tlg_own_place(&s->own, s->next, n);
    tlg_own_encode(bytes, &s->own);
  }
  tlg_convert_from_cs16(bytes + header, samples, n, s->own.format, &s->counts);
  return TLG_OK;
}

static int zmq_sink_write(struct tlg_sink *sink, const struct tlg_sink_block *block, struct tlg_error *err)
{
  struct zmq_sink *s = (struct zmq_sink *)sink;
  const tlg_cs16 *samples = block->samples;
  size_t left = block->n;

  tlg_own_follow(&s->own, &s->next, block);
  while (left) {
    const size_t n = left < PIECE ? left : PIECE;
    zmq_msg_t message;

    if (make_message(s, &message, samples, n) != TLG_OK) {
      return tlg_error_set(err, TLG_ENOMEM, "out of memory for a message of %zu samples", n);
    }
    if (send_message(s, &message, s->base.block)) {
      s->losing = 0;
    } else {
      tlg_sink_add(sink, TLG_SINK_DROPPED, n);
      tlg_sink_add(sink, TLG_SINK_LOSSES, !s->losing);
      s->losing = 1;
    }
    s->own.sequence++; /* what nobody took was sent as well: the other side sees it missing */
    s->next += n;
    samples += n;
    left -= n;
  }
  return TLG_OK;
}

static int zmq_sink_idle(struct tlg_sink *sink, struct tlg_error *err)
{
  (void)err;
  look((struct zmq_sink *)sink);
  return TLG_OK;
}

/* Whether to end without what still waits for the other sides; they who wait here are told for whom. */
static int give_up(void *context)
{
  struct zmq_sink *s = context;
  const uint64_t now_ns = tlg_clock_monotonic.now_ns(NULL);

  s->closing_ns = s->closing_ns ? s->closing_ns : now_ns;
  if (s->hint && !s->told_waiting && now_ns - s->closing_ns > TELL_MS * UINT64_C(1000000)) {
    char line[400];

    s->told_waiting = 1;
    snprintf(line, sizeof line,
             "zmq: %s: all is sent, and the other side has not read it yet: waiting, %d s at most (Ctrl-C ends it)",
             s->zmq.endpoint, (s->base.block ? BLOCK_MS : LINGER_MS) / 1000);
    s->hint(s->context, line);
  }
  return tlg_sink_stopping(&s->base);
}

static int zmq_sink_close(struct tlg_sink *sink, struct tlg_error *err)
{
  struct zmq_sink *s = (struct zmq_sink *)sink;
  zmq_msg_t message;
  int ms, told = 0;

  (void)err;
  s->own.flags = TLG_OWN_END;
  for (ms = 0; !s->raw && ms < END_MS; ms += 10) {
    if (make_message(s, &message, NULL, 0) != TLG_OK) {
      break;
    }
    told = send_message(s, &message, 0);
    if (told || tlg_sink_asked(sink)) {
      break;
    }
    tlg_zmq_wait(&s->zmq, 0, 10);
  }
  if (!s->raw && !told && s->publish && make_message(s, &message, NULL, 0) == TLG_OK) {
    const int lossy = 0;

    /* Who has no room cannot be told; all others are. */
    zmq_setsockopt(s->zmq.socket, ZMQ_XPUB_NODROP, &lossy, sizeof lossy);
    send_message(s, &message, 0);
  }
  tlg_zmq_finish(&s->zmq, tlg_sink_asked(sink) ? END_MS : s->base.block ? BLOCK_MS : LINGER_MS, give_up, s);
  return TLG_OK;
}

static void zmq_sink_abort(struct tlg_sink *sink)
{
  tlg_zmq_close(&((struct zmq_sink *)sink)->zmq, 0);
}

static int zmq_sink_marks_gaps(const struct tlg_sink *sink)
{
  return !((const struct zmq_sink *)sink)->raw;
}

static void zmq_sink_counts(const struct tlg_sink *sink, struct tlg_convert_counts *counts)
{
  *counts = ((const struct zmq_sink *)sink)->counts;
}

int tlg_sink_open_zmq(struct tlg_sink **sink, const struct tlg_endpoint *e, const struct tlg_sink_cfg *cfg,
                      struct tlg_error *err)
{
  static const struct tlg_sink_ops ops = {.write = zmq_sink_write,
                                          .close = zmq_sink_close,
                                          .abort = zmq_sink_abort,
                                          .idle = zmq_sink_idle,
                                          .marks_gaps = zmq_sink_marks_gaps,
                                          .counts = zmq_sink_counts};
  static const char *const known[] = {"kind", "connect", "format", "raw", "hwm", NULL};
  static const char *const kinds[] = {"push", "pub", NULL}, *const no_yes[] = {"0", "1", NULL};
  struct zmq_sink *s = calloc(1, sizeof *s);
  struct tlg_zmq_cfg zmq = {.most_bytes = REQUEST_BYTES};
  uint64_t hwm = HWM;
  int connects = 0, status;

  if (!s) {
    return tlg_error_set(err, TLG_ENOMEM, "out of memory");
  }
  s->base.ops = &ops;
  s->base.block = e->block; /* then somebody is waited for, too */
  s->own.format = TLG_FORMAT_CS16;
  if ((status = tlg_endpoint_check_keys(e, known, err)) ||
      (status = tlg_endpoint_word(e, "kind", kinds, &s->publish, err)) ||
      (status = tlg_endpoint_word(e, "connect", no_yes, &connects, err)) ||
      (status = tlg_endpoint_word(e, "raw", no_yes, &s->raw, err)) ||
      (status = tlg_endpoint_whole(e, "hwm", 1, 100000, &hwm, err))) {
    goto fail;
  }
  status = tlg_endpoint_format(e, &s->own.format, err);
  if (status) {
    goto fail;
  }
  s->hint = cfg->hint;
  s->context = cfg->context;
  tlg_own_start(&s->own, cfg);
  zmq.type = s->publish ? ZMQ_XPUB : ZMQ_PUSH;
  zmq.bind = !connects;
  zmq.hwm = (int)hwm;
  status = cfg->only_check ? tlg_zmq_check(e->rest, zmq.bind, err) : tlg_zmq_open(&s->zmq, e->rest, &zmq, err);
  if (status || cfg->only_check) {
    goto fail;
  }
  if (cfg->hint && zmq.bind && strchr(e->rest, '*')) {
    char line[300];

    snprintf(line, sizeof line, "zmq: sends at %s", s->zmq.endpoint);
    cfg->hint(cfg->context, line);
  }
  *sink = &s->base;
  return TLG_OK;
fail:
  free(s);
  return status;
}
