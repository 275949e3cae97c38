/* SPDX-License-Identifier: Apache-2.0 */
/* The source zmq: what a sink zmq sends, or bare samples, by PULL or SUB over tcp, ipc or inproc. */
#include "pace.h"
#include "source_stream.h"
#include "zmq_util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

enum {
  LARGEST = 255 + TLG_OWN_MAX_SAMPLES * 16, /* bytes of a message */
  HWM = 64,
  CHUNK = 4096,
};

struct zmq_source {
  struct tlg_live base;
  struct tlg_zmq_socket zmq;
  int raw;
  struct tlg_intake *in; /* NULL: bare samples */
  struct tlg_live_cfg cfg;
  enum tlg_format format;
  struct tlg_convert_counts counts;
  zmq_msg_t message; /* open: the intake reads from it, or bare samples are left in it */
  int open;
  size_t taken, held; /* bare samples of the message */
  uint64_t samples;
  _Atomic int stopping;
};

/* The next message, if there is one: 1, and it is open. Waits ms at most. */
static int receive(struct zmq_source *s, long ms)
{
  int more;

  if (s->open) {
    zmq_msg_close(&s->message);
    s->open = 0;
  }
  zmq_msg_init(&s->message);
  if (zmq_msg_recv(&s->message, s->zmq.socket, ZMQ_DONTWAIT) < 0 &&
      (!ms || !(tlg_zmq_wait(&s->zmq, ZMQ_POLLIN, ms) & ZMQ_POLLIN) ||
       zmq_msg_recv(&s->message, s->zmq.socket, ZMQ_DONTWAIT) < 0)) {
    zmq_msg_close(&s->message);
    return 0;
  }
  s->open = 1;
  more = zmq_msg_more(&s->message);
  if (more) { /* ours have one part: the first is no message then, and the others are passed over */
    zmq_msg_close(&s->message);
    s->open = 0;
    tlg_live_add(&s->base, TLG_LIVE_FOREIGN, s->raw);
    while (more) {
      zmq_msg_t part;

      zmq_msg_init(&part);
      more = zmq_msg_recv(&part, s->zmq.socket, ZMQ_DONTWAIT) >= 0 && zmq_msg_more(&part);
      zmq_msg_close(&part);
    }
    return 1;
  }
  return 1;
}

/* What was received to the intake, or as bare samples in hand. */
static void take(struct zmq_source *s)
{
  static const struct tlg_intake_sender peer = {1, 0};
  size_t size;

  if (!s->open) {
    return;
  }
  size = zmq_msg_size(&s->message);
  if (s->in) {
    tlg_intake_put(s->in, zmq_msg_data(&s->message), size, &peer, tlg_clock_monotonic.now_ns(NULL));
    return;
  }
  tlg_live_add(&s->base, TLG_LIVE_PACKETS, 1);
  s->held = size / tlg_format_size(s->format);
  s->taken = 0;
  if (size % tlg_format_size(s->format)) {
    tlg_live_add(&s->base, TLG_LIVE_MALFORMED, 1);
    s->held = 0;
  }
}

static int gather_raw(struct zmq_source *s, tlg_cs16 *buf, size_t n, size_t *got, uint64_t *first)
{
  const size_t m = s->held - s->taken < n ? s->held - s->taken : n;

  *first = s->samples;
  *got = m;
  if (m) {
    tlg_convert_to_cs16(buf, (char *)zmq_msg_data(&s->message) + s->taken * tlg_format_size(s->format), m, s->format, 0,
                        s->cfg.full_scale, s->cfg.swap_iq, &s->counts);
    s->taken += m;
    s->samples += m;
    tlg_live_add(&s->base, TLG_LIVE_SAMPLES, m);
    atomic_store_explicit(&s->base.counts[TLG_LIVE_CLIPPED], s->counts.clipped, memory_order_relaxed);
    atomic_store_explicit(&s->base.counts[TLG_LIVE_NON_FINITE], s->counts.non_finite, memory_order_relaxed);
  }
  return m > 0;
}

static int zmq_source_read(struct tlg_live *live, tlg_cs16 *buf, size_t n, size_t *got, uint64_t *first,
                           struct tlg_error *err)
{
  struct zmq_source *s = (struct zmq_source *)live;
  int status = TLG_OK;

  *got = 0;
  while (!(s->in ? tlg_source_gather(s->in, buf, n, got, first) || *got : gather_raw(s, buf, n, got, first))) {
    const int stopping = atomic_load_explicit(&s->stopping, memory_order_relaxed);

    if (s->in && ((status = tlg_intake_status(s->in, err)) || tlg_intake_ended(s->in))) {
      break;
    }
    if (!receive(s, stopping ? 0 : TLG_LIVE_WAIT_MS)) {
      status = stopping ? TLG_OK : tlg_error_set(err, TLG_EINTR, "nothing yet");
      break;
    }
    take(s);
  }
  if (!*got && !status) {
    *first = s->in ? tlg_intake_end(s->in) : s->samples;
  }
  if (s->in) {
    tlg_source_publish(&s->base, s->in);
  }
  return status;
}

static void zmq_source_stop(struct tlg_live *live)
{
  atomic_store_explicit(&((struct zmq_source *)live)->stopping, 1, memory_order_relaxed);
}

static void zmq_source_close(struct tlg_live *live)
{
  struct zmq_source *s = (struct zmq_source *)live;

  if (s->open) {
    zmq_msg_close(&s->message);
  }
  tlg_zmq_close(&s->zmq, 0);
  tlg_intake_free(s->in);
}

/* ---- opening --------------------------------------------------------------------------------------------------- */

static int configure(struct zmq_source *s, const struct tlg_endpoint *e, struct tlg_error *err)
{
  static const char *const known[] = {"kind", "bind", "format", "raw", "hwm", NULL};
  static const char *const kinds[] = {"pull", "sub", NULL}, *const no_yes[] = {"0", "1", NULL};
  struct tlg_zmq_cfg zmq = {.most_bytes = LARGEST};
  uint64_t hwm = HWM;
  int kind = 0, status;

  if ((status = tlg_endpoint_check_keys(e, known, err)) || (status = tlg_endpoint_word(e, "kind", kinds, &kind, err)) ||
      (status = tlg_endpoint_word(e, "bind", no_yes, &zmq.bind, err)) ||
      (status = tlg_endpoint_word(e, "raw", no_yes, &s->raw, err)) ||
      (status = tlg_endpoint_whole(e, "hwm", 1, 100000, &hwm, err))) {
    return status;
  }
  status = tlg_source_format(&s->format, e, &s->cfg, s->raw, err);
  if (status) {
    return status;
  }
  if (!s->raw && (status = tlg_source_intake(&s->in, &s->cfg, LARGEST, err))) {
    return status;
  }
  zmq.type = kind ? ZMQ_SUB : ZMQ_PULL;
  zmq.hwm = (int)hwm;
  return tlg_zmq_open(&s->zmq, e->rest, &zmq, err);
}

/* The first message tells the rate. */
static int wait_for_stream(struct zmq_source *s, const volatile int *cancel, struct tlg_error *err)
{
  uint64_t first;
  int status;

  if (s->cfg.hint && s->in) {
    char line[300];

    snprintf(line, sizeof line, "waiting for a sender at %s", s->zmq.endpoint);
    s->cfg.hint(s->cfg.context, line);
  }
  while (s->in && !tlg_intake_begun(s->in)) {
    if (cancel && __atomic_load_n(cancel, __ATOMIC_RELAXED)) {
      return tlg_error_set(err, TLG_EINTR, "stopped while waiting for a sender");
    }
    if (receive(s, TLG_LIVE_WAIT_MS)) {
      take(s);
      tlg_intake_ready(s->in, &first);
      if ((status = tlg_intake_status(s->in, err))) {
        return status;
      }
    }
  }
  return TLG_OK;
}

int tlg_live_open_zmq(struct tlg_live **live, const struct tlg_endpoint *e, const struct tlg_live_cfg *cfg,
                      const volatile int *cancel, struct tlg_error *err)
{
  static const struct tlg_live_ops ops = {.read = zmq_source_read, .stop = zmq_source_stop, .close = zmq_source_close};
  struct zmq_source *s = calloc(1, sizeof *s);
  int status;

  if (!s) {
    return tlg_error_set(err, TLG_ENOMEM, "out of memory");
  }
  s->base.ops = &ops;
  s->cfg = *cfg;
  status = configure(s, e, err);
  status = status ? status : wait_for_stream(s, cancel, err);
  if (status) {
    zmq_source_close(&s->base);
    free(s);
    return status;
  }
  tlg_source_describe(&s->base, s->in, &cfg->rate, s->format);
  s->base.info.chunk = CHUNK;
  *live = &s->base;
  return TLG_OK;
}
