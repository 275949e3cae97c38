/* SPDX-License-Identifier: Apache-2.0 */
/* The ZeroMQ radio of srsRAN 4G, sending side: a PHY asks with one message, we answer with one of samples, nothing else
 * (docs/live.md). Position is the count of samples; there is no time, no rate and no overrun on the wire. */
#include "pace.h"
#include "sink.h"
#include "zmq_util.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

enum {
  CLIENT_RING_BYTES = 24576000, /* a longer message ends the client's receiving thread */
  REQUEST_BYTES = 4096,         /* a request has one; longer ones are none of this protocol */
  STALL_MS = 100,               /* without a request for so long, the PHY is said to be stalled */
  LAST_MS = 2000,               /* at the end: so long for the last answer to be fetched */
  SLACK_MS = 20,                /* policy=skip: samples may be so much behind the wall clock */
  PATIENCE_MS = 20,             /* for one that asks again before it has read */
  FLUSH_MS = 500,               /* what libzmq may still deliver after the end */
  SILENT_MS = 2000,             /* one that came and has not asked for so long is told of: a PHY asks at once */
};

enum policy { POLICY_HOLD, POLICY_SKIP };
enum ending { END_ZEROS, END_EMPTY, END_LOOP };
enum { NAMES = 8, NAME_BYTES = 255, PARTS = 8 };

/* A part of a message in front of the request: how libzmq names a peer to us, or what a peer wants back with the answer
 * (the number of its request, with ZMQ_REQ_CORRELATE; the names of the proxies between). */
struct name {
  size_t n;
  unsigned char bytes[NAME_BYTES];
};

struct srsran_sink {
  struct tlg_sink base;
  struct tlg_zmq_socket zmq;
  struct tlg_rate rate;
  enum tlg_format format;
  size_t sample_bytes, message; /* samples of a message */
  enum policy policy;
  enum ending end;
  int publish;
  uint64_t slack_ns;
  uint64_t linger_ns, linger_messages; /* UINT64_MAX = until the PHY has gone, or a stop */
  zmq_msg_t filling;
  size_t filled;             /* samples in it; it is open if there are any */
  int asked;                 /* a request waits for its answer */
  struct name asking[PARTS]; /* whose: the parts up to the empty one, which an answer begins with */
  unsigned asking_parts;
  struct name names[NAMES];
  unsigned next_name, subscribers;
  /* Wall clock of policy=skip: the least of (now - position / rate). */
  uint64_t position; /* outputs that were given, gaps included */
  int64_t anchor_ns;
  int anchored, skipping;
  void (*hint)(void *context, const char *text);
  void *context;
  int told_many;
  uint64_t came_ns;                   /* when the last to come came, if none has asked since; 0 = nothing to tell */
  uint64_t window_ns, window_samples; /* of the rate that is said */
  uint64_t stall_from_ns;             /* ready, and not asked since then; 0 = not waiting */
  /* For tlg_sink_say, from any thread. */
  _Atomic uint64_t said_peers, said_waiting_ns, said_rate, said_stalled;
  _Atomic int said_end;
};

static uint64_t now_ns(void)
{
  return tlg_clock_monotonic.now_ns(NULL);
}

static void hint(struct srsran_sink *s, const char *text)
{
  if (s->hint) {
    char line[400];

    snprintf(line, sizeof line, "srsran: %s: %s", s->zmq.endpoint, text);
    s->hint(s->context, line);
  }
}

/* ---- requests -------------------------------------------------------------------------------------------------- */

/* Who is there now. A PHY that went away while its request waited gets no answer: the samples are the next one's. */
static void look_at_peers(struct srsran_sink *s)
{
  const uint64_t before = atomic_load_explicit(&s->said_peers, memory_order_relaxed);

  tlg_zmq_look(&s->zmq);
  atomic_store_explicit(&s->said_peers, s->zmq.peers, memory_order_relaxed);
  if (s->zmq.peers > before && !s->publish) {
    s->came_ns = now_ns();
  } else if (!s->zmq.peers) {
    s->came_ns = 0;
  }
  if (s->came_ns && now_ns() - s->came_ns > SILENT_MS * UINT64_C(1000000)) {
    s->came_ns = 0;
    hint(s, "a PHY is connected and does not ask. If it waits for the answer of a server that has ended, or of a "
            "connection that broke, it does so for ever: restart it");
  }
  if (s->asked && s->zmq.monitor && !s->zmq.peers) {
    s->asked = 0;
  }
}

/* Remember who asked: a PHY counts once. */
static void meet(struct srsran_sink *s)
{
  struct name *n = &s->names[s->next_name];
  unsigned i;

  for (i = 0; i < NAMES; i++) {
    if (s->names[i].n == s->asking->n && memcmp(s->names[i].bytes, s->asking->bytes, s->asking->n) == 0) {
      return;
    }
  }
  *n = *s->asking;
  s->next_name = (s->next_name + 1) % NAMES;
  tlg_sink_add(&s->base, TLG_SINK_PEERS, 1);
  if (s->zmq.peers > 1 && !s->told_many && tlg_sink_counter(&s->base, TLG_SINK_PEERS) > 1) {
    s->told_many = 1;
    hint(s, "more than one is connected; if more than one asks, each gets a part of the samples");
  }
}

/* One message of any number of parts, which are counted; the first bytes of the first are kept. Returns the number of
 * parts, 0 if there is no message. */
static unsigned receive(struct srsran_sink *s, struct name parts[PARTS])
{
  unsigned n = 0;
  int more = 1;

  while (more) {
    zmq_msg_t part;

    zmq_msg_init(&part);
    if (zmq_msg_recv(&part, s->zmq.socket, ZMQ_DONTWAIT) < 0) { /* the parts of a message come together */
      zmq_msg_close(&part);
      return n;
    }
    if (n < PARTS) {
      const size_t size = zmq_msg_size(&part);

      parts[n].n = size;
      memcpy(parts[n].bytes, zmq_msg_data(&part), size < NAME_BYTES ? size : NAME_BYTES);
    }
    n++;
    more = zmq_msg_more(&part);
    zmq_msg_close(&part);
  }
  return n;
}

/* Keep who asked: all before the first empty part, as REP does. 0 if the n parts are no request. */
static int keep_envelope(struct srsran_sink *s, const struct name parts[PARTS], unsigned n)
{
  unsigned end = 0, i;

  while (end < n && end < PARTS && parts[end].n && parts[end].n <= NAME_BYTES) {
    end++;
  }
  if (!end || end + 2 != n || end >= PARTS || parts[end].n) { /* nobody, or no request of one part */
    return 0;
  }
  for (i = 0; i < end; i++) {
    s->asking[i] = parts[i];
  }
  s->asking_parts = end;
  return 1;
}

/* Take what came: requests, or subscriptions. */
static void take_requests(struct srsran_sink *s)
{
  struct name parts[PARTS];
  unsigned n;

  while (!s->asked && (n = receive(s, parts))) {
    if (s->publish) { /* 1 = a subscription, 0 = its end; others pass through, and are nothing to us */
      s->subscribers += parts[0].n && parts[0].bytes[0] == 1;
      s->subscribers -= parts[0].n && parts[0].bytes[0] == 0 && s->subscribers;
    } else if (keep_envelope(s, parts, n)) {
      s->asked = 1;
      s->came_ns = 0;
      tlg_sink_add(&s->base, TLG_SINK_REQUESTS, 1);
      meet(s);
    } else {
      tlg_sink_add(&s->base, TLG_SINK_FOREIGN, 1);
      continue;
    }
    if (!s->window_ns) {
      s->window_ns = now_ns();
    }
  }
}

/* Wait for a request, or for a subscriber, until `until_ns`; 0 if there is none by then or the sink is stopping. */
static int wait_request(struct srsran_sink *s, uint64_t until_ns)
{
  for (;;) {
    const uint64_t now = now_ns();
    uint64_t left_ms = until_ns > now ? (until_ns - now) / 1000000u + 1 : 0;

    look_at_peers(s);
    take_requests(s);
    if (s->asked || s->subscribers) {
      return 1;
    }
    if (now >= until_ns || tlg_sink_stopping(&s->base)) {
      return 0;
    }
    if (s->stall_from_ns) {
      atomic_store_explicit(&s->said_waiting_ns, s->stall_from_ns, memory_order_relaxed);
    }
    left_ms = left_ms < TLG_SINK_WAIT_MS ? left_ms : TLG_SINK_WAIT_MS;
    tlg_zmq_wait(&s->zmq, ZMQ_POLLIN, (long)left_ms);
  }
}

/* Count how long it had to wait, if that was a stall. */
static void end_stall(struct srsran_sink *s)
{
  if (s->stall_from_ns) {
    const uint64_t waited = now_ns() - s->stall_from_ns;

    if (waited > STALL_MS * UINT64_C(1000000)) {
      tlg_sink_add(&s->base, TLG_SINK_STALLS, 1);
      tlg_sink_add(&s->base, TLG_SINK_STALLED_US, waited / 1000);
    }
    s->stall_from_ns = 0;
    atomic_store_explicit(&s->said_waiting_ns, 0, memory_order_relaxed);
  }
}

/* The rate at which the PHY takes samples, second by second. */
static void measure(struct srsran_sink *s, uint64_t n)
{
  const uint64_t now = now_ns();

  s->window_samples += n;
  if (now - s->window_ns >= 1000000000u) {
    const double hz = (double)s->window_samples * 1e9 / (double)(now - s->window_ns);

    atomic_store_explicit(&s->said_rate, (uint64_t)(hz + 0.5), memory_order_relaxed);
    s->window_ns = now;
    s->window_samples = 0;
  }
}

/* ---- answers --------------------------------------------------------------------------------------------------- */

enum answer { ANSWERED, NOBODY, TOO_LATE };

/* Hand a message over; the request is then answered. NOBODY: who asked has gone, the message is for the next one.
 * TOO_LATE: a subscriber did not take it by until_ns, or before the stop. The message stays the caller's but for
 * ANSWERED. */
static enum answer send_message(struct srsran_sink *s, zmq_msg_t *message, size_t n, uint64_t until_ns)
{
  unsigned i;

  if (!s->publish) {
    const uint64_t patience = now_ns() + PATIENCE_MS * UINT64_C(1000000);

    s->asked = 0;
    /* With the first part it is known whether the rest can go. libzmq learns a little late that an answer was fetched.
     */
    while (zmq_send(s->zmq.socket, s->asking->bytes, s->asking->n, ZMQ_SNDMORE | ZMQ_DONTWAIT) < 0) {
      if (zmq_errno() != EAGAIN || now_ns() > patience) {
        tlg_sink_add(&s->base, TLG_SINK_FOREIGN, zmq_errno() == EAGAIN); /* it asks on without reading */
        return NOBODY;
      }
      tlg_zmq_wait(&s->zmq, ZMQ_POLLIN, 1);
    }
    for (i = 1; i < s->asking_parts; i++) {
      zmq_send(s->zmq.socket, s->asking[i].bytes, s->asking[i].n, ZMQ_SNDMORE);
    }
    zmq_send(s->zmq.socket, "", 0, ZMQ_SNDMORE);
  }
  while (zmq_msg_send(message, s->zmq.socket, ZMQ_DONTWAIT) < 0) {
    if (zmq_errno() != EAGAIN || !s->publish) {
      return NOBODY;
    }
    if (now_ns() >= until_ns || tlg_sink_stopping(&s->base)) {
      return TOO_LATE;
    }
    tlg_zmq_wait(&s->zmq, ZMQ_POLLIN, 1); /* XPUB always says that it can be written */
    look_at_peers(s);
    take_requests(s);
  }
  tlg_sink_add(&s->base, TLG_SINK_MESSAGES, 1);
  measure(s, n);
  return ANSWERED;
}

/* Nanoseconds by which the message that is full now is behind the wall clock. */
static uint64_t behind_ns(struct srsran_sink *s)
{
  const int64_t now = (int64_t)now_ns(), due = (int64_t)(tlg_instant_ps(s->position, &s->rate) / 1000);

  if (!s->anchored || now - due < s->anchor_ns) {
    s->anchored = 1;
    s->anchor_ns = now - due;
  }
  return (uint64_t)(now - due - s->anchor_ns);
}

static void finish_message(struct srsran_sink *s)
{
  const size_t n = s->filled;
  uint64_t until = UINT64_MAX;
  enum answer answer = NOBODY;

  if (s->policy == POLICY_SKIP) {
    const uint64_t behind = behind_ns(s);

    until = now_ns() + (behind < s->slack_ns ? s->slack_ns - behind : 0);
  }
  s->filled = 0;
  s->stall_from_ns = s->window_ns ? now_ns() : 0; /* before it asked for the first time that is no stall */
  while (answer == NOBODY && wait_request(s, until)) {
    answer = send_message(s, &s->filling, n, until);
  }
  if (answer == ANSWERED) {
    end_stall(s);
    s->skipping = 0;
    tlg_sink_add(&s->base, TLG_SINK_SENT, n);
    return;
  }
  /* Too late for the wall clock, or stopping. */
  zmq_msg_close(&s->filling);
  tlg_sink_add(&s->base, TLG_SINK_DROPPED, n);
  tlg_sink_add(&s->base, TLG_SINK_LOSSES, !s->skipping);
  s->skipping = 1;
}

static int srsran_write(struct tlg_sink *sink, const struct tlg_sink_block *block, struct tlg_error *err)
{
  struct srsran_sink *s = (struct srsran_sink *)sink;
  size_t done = 0;

  s->position += block->gap; /* time at the PHY is samples read: a gap is nothing to it */
  while (done < block->n) {
    size_t n = s->message - s->filled;

    n = n < block->n - done ? n : block->n - done;
    if (!s->filled && zmq_msg_init_size(&s->filling, s->message * s->sample_bytes) != 0) {
      return tlg_error_set(err, TLG_ENOMEM, "out of memory for a message of %zu samples", s->message);
    }
    tlg_convert_from_cs16((char *)zmq_msg_data(&s->filling) + s->filled * s->sample_bytes, block->samples + done, n,
                          s->format, &(struct tlg_convert_counts){0});
    s->filled += n;
    done += n;
    s->position += n;
    if (s->filled == s->message) {
      finish_message(s);
    }
  }
  return TLG_OK;
}

/* Nothing to send: look who comes. The request is kept for the next message. */
static int srsran_idle(struct tlg_sink *sink, struct tlg_error *err)
{
  struct srsran_sink *s = (struct srsran_sink *)sink;

  (void)err;
  look_at_peers(s);
  take_requests(s);
  return TLG_OK;
}

/* ---- the end --------------------------------------------------------------------------------------------------- */

/* The last message may be shorter: a message is any whole number of samples. */
static int send_rest(struct srsran_sink *s, struct tlg_error *err)
{
  if (s->filled) {
    const size_t bytes = s->filled * s->sample_bytes;
    zmq_msg_t rest;

    if (zmq_msg_init_size(&rest, bytes) != 0) {
      zmq_msg_close(&s->filling);
      return tlg_error_set(err, TLG_ENOMEM, "out of memory");
    }
    memcpy(zmq_msg_data(&rest), zmq_msg_data(&s->filling), bytes);
    zmq_msg_close(&s->filling);
    s->filling = rest;
    finish_message(s);
  }
  return TLG_OK;
}

/* Answer on with zeros or nothing, in the time that the samples would take, as a client that gets no answer waits for
 * ever. Until the PHY goes, a stop, or what the user said. */
static void linger(struct srsran_sink *s)
{
  const uint64_t begin = now_ns();
  const uint64_t message_ns = (uint64_t)((double)s->message * 1e9 / tlg_rate_hz(&s->rate));
  const size_t bytes = s->end == END_EMPTY ? 0 : s->message * s->sample_bytes;
  uint64_t sent = 0, now;

  atomic_store_explicit(&s->said_end, 1, memory_order_relaxed);
  while (!tlg_sink_asked(&s->base) && sent < s->linger_messages) {
    const uint64_t until = s->linger_ns == UINT64_MAX ? UINT64_MAX : begin + s->linger_ns;
    const uint64_t due = begin + (sent + 1) * message_ns;
    zmq_msg_t message;

    if (!wait_request(s, now_ns() + TLG_SINK_WAIT_MS * UINT64_C(1000000))) {
      if (now_ns() >= until || (s->linger_ns == UINT64_MAX && s->zmq.monitor && !s->zmq.peers)) {
        return;
      }
      continue;
    }
    for (now = now_ns(); now < due && !tlg_sink_asked(&s->base); now = now_ns()) {
      const uint64_t left_ms = (due - now) / 1000000u + 1;

      tlg_zmq_wait(&s->zmq, 0, (long)(left_ms < TLG_SINK_WAIT_MS ? left_ms : TLG_SINK_WAIT_MS));
    }
    if (now_ns() >= until || zmq_msg_init_size(&message, bytes) != 0) {
      return;
    }
    memset(zmq_msg_data(&message), 0, bytes);
    if (send_message(s, &message, bytes / s->sample_bytes, until) == ANSWERED) {
      tlg_sink_add(&s->base, TLG_SINK_EXTRA, bytes / s->sample_bytes);
      sent++;
    } else {
      zmq_msg_close(&message);
    }
  }
}

static int srsran_close(struct tlg_sink *sink, struct tlg_error *err)
{
  struct srsran_sink *s = (struct srsran_sink *)sink;
  const int status = send_rest(s, err);
  const uint64_t sent = tlg_sink_counter(sink, TLG_SINK_SENT);

  if (!status && sent && !tlg_sink_asked(sink)) {
    if (s->linger_ns && s->linger_messages) {
      if (s->linger_ns == UINT64_MAX && s->linger_messages == UINT64_MAX) {
        hint(s, s->end == END_EMPTY ? "all is sent; empty answers until the PHY goes, or Ctrl-C (linger=0 ends at once)"
                                    : "all is sent; zeros until the PHY goes, or Ctrl-C (linger=0 ends at once)");
      }
      linger(s);
    }
    /* That the PHY asks again, or goes, tells that it has the last answer. */
    if (!s->publish && !s->asked && !tlg_sink_asked(sink)) {
      const uint64_t until = now_ns() + LAST_MS * UINT64_C(1000000);

      while (now_ns() < until && s->zmq.peers && !tlg_sink_asked(sink) &&
             !wait_request(s, now_ns() + TLG_SINK_WAIT_MS * UINT64_C(1000000))) {
      }
    }
  }
  end_stall(s);
  tlg_zmq_close(&s->zmq, FLUSH_MS);
  return status;
}

static void srsran_abort(struct tlg_sink *sink)
{
  struct srsran_sink *s = (struct srsran_sink *)sink;

  if (s->filled) {
    zmq_msg_close(&s->filling);
  }
  tlg_zmq_close(&s->zmq, 0);
}

/* Time at the PHY is samples read: what is left out is closed up. */
static int srsran_marks_gaps(const struct tlg_sink *sink)
{
  (void)sink;
  return 0;
}

static void srsran_say(const struct tlg_sink *sink, char *text, size_t size)
{
  const struct srsran_sink *s = (const struct srsran_sink *)sink;
  const uint64_t peers = atomic_load_explicit(&s->said_peers, memory_order_relaxed),
                 waiting = atomic_load_explicit(&s->said_waiting_ns, memory_order_relaxed),
                 hz = atomic_load_explicit(&s->said_rate, memory_order_relaxed),
                 requests = tlg_sink_counter(sink, TLG_SINK_REQUESTS), sent = tlg_sink_counter(sink, TLG_SINK_SENT);
  const uint64_t now = now_ns(), stalled_ms = waiting && now > waiting ? (now - waiting) / 1000000u : 0;
  size_t at;
  int n;

  if (!peers && !sent) {
    snprintf(text, size, "no PHY yet");
    return;
  }
  n = snprintf(text, size, "%s%s, %.3f s sent", peers ? "PHY there" : "PHY gone",
               atomic_load_explicit(&s->said_end, memory_order_relaxed) ? ", at the end" : "",
               (double)sent / tlg_rate_hz(&s->rate));
  at = n > 0 && (size_t)n < size ? (size_t)n : size;
  if (!s->publish && at < size) {
    n = snprintf(text + at, size - at, ", asked %" PRIu64 " times", requests);
    at = n > 0 && (size_t)n < size - at ? at + (size_t)n : size;
  }
  if (stalled_ms > STALL_MS && at < size) {
    snprintf(text + at, size - at, s->publish ? ", has taken nothing for %.1f s" : ", has not asked for %.1f s",
             (double)stalled_ms * 1e-3);
  } else if (hz && at < size) {
    snprintf(text + at, size - at, ", takes %.2f Msps, %.2f of real time", (double)hz * 1e-6,
             (double)hz / tlg_rate_hz(&s->rate));
  }
}

/* ---- opening --------------------------------------------------------------------------------------------------- */

/* "1ms" or a number of samples. */
static int message_length(struct srsran_sink *s, const struct tlg_endpoint *e, struct tlg_error *err)
{
  const char *text = tlg_endpoint_value(e, "message");
  const size_t length = text ? strlen(text) : 0;
  uint64_t n = (uint64_t)(tlg_rate_hz(&s->rate) / 1000 + 0.5);
  uint64_t most = CLIENT_RING_BYTES / s->sample_bytes / 2;

  if (length > 2 && strcmp(text + length - 2, "ms") == 0) {
    char number[32];
    struct tlg_rate ms;

    snprintf(number, sizeof number, "%.*s", (int)(length - 2), text);
    if (length - 2 >= sizeof number || tlg_rate_parse(&ms, number) != TLG_OK || strpbrk(number, "kKMGH/s")) {
      return tlg_error_set(err, TLG_EINVAL, "message=%s: a time in ms, as 1ms, or a number of samples", text);
    }
    n = (uint64_t)(tlg_rate_hz(&s->rate) * tlg_rate_hz(&ms) / 1000 + 0.5);
  } else {
    const int status = tlg_endpoint_whole(e, "message", 1, UINT32_MAX, &n, err);

    if (status) {
      return status;
    }
  }
  if (n < 1 || n > most) {
    return tlg_error_set(err, TLG_EINVAL,
                         "message=%s: must be from 1 to %" PRIu64
                         " samples: the PHY's ring holds %d bytes, and a message "
                         "near that hangs it",
                         text ? text : "1ms", most, CLIENT_RING_BYTES);
  }
  s->message = (size_t)n;
  if ((double)n > tlg_rate_hz(&s->rate) / 100 * 1.001 && s->hint) {
    char line[160];

    snprintf(line, sizeof line, "srsran: messages of %.3g ms: srsRAN's ring holds 100 ms; 1 to 10 ms are safe",
             (double)n * 1e3 / tlg_rate_hz(&s->rate));
    s->hint(s->context, line);
  }
  return TLG_OK;
}

/* "5s", "200ms", or a number of messages. */
static int linger_key(struct srsran_sink *s, const struct tlg_endpoint *e, struct tlg_error *err)
{
  const char *text = tlg_endpoint_value(e, "linger");
  const size_t length = text ? strlen(text) : 0;
  char *end;
  double value;

  s->linger_ns = s->linger_messages = UINT64_MAX;
  if (!text) {
    return TLG_OK;
  }
  value = strtod(text, &end);
  if (!length || end == text || !(value >= 0) || value > 1e9 || strchr("0123456789.", text[0]) == NULL) {
    end = NULL;
  } else if (strcmp(end, "s") == 0) {
    s->linger_ns = (uint64_t)(value * 1e9);
  } else if (strcmp(end, "ms") == 0) {
    s->linger_ns = (uint64_t)(value * 1e6);
  } else if (!*end && value == floor(value)) {
    s->linger_messages = (uint64_t)value;
  } else {
    end = NULL;
  }
  return end ? TLG_OK
             : tlg_error_set(err, TLG_EINVAL, "linger=%s: a time, as 5s or 200ms, or a number of messages", text);
}

/* What goes wrong most often: two ends that were told different rates. */
static void tell_rates(struct srsran_sink *s)
{
  const double hz = tlg_rate_hz(&s->rate), multiple = hz / 1.92e6;
  char line[360];

  if (!s->hint) {
    return;
  }
  snprintf(line, sizeof line, "srsran: answers at %s, %s, %.6g ms a message", s->zmq.endpoint,
           s->format == TLG_FORMAT_CF32 ? "fc32" : "sc16", (double)s->message * 1e3 / hz);
  s->hint(s->context, line);
  if (multiple != floor(multiple)) {
    snprintf(line, sizeof line,
             "srsran: %.6g Msps is no multiple of 1.92 Msps, for which every LTE program of srsRAN asks first: it will "
             "refuse; take --out-rate 30.72M or 23.04M",
             hz * 1e-6);
  } else {
    snprintf(line, sizeof line,
             "srsran: the rate is not told over the wire: the PHY needs base_srate=%.6ge6 among its device arguments "
             "(its default is 23.04e6)%s",
             hz * 1e-6,
             hz == 30.72e6
                 ? "; 30.72 Msps also needs the LTE rates, -Q or lte_sample_rates = true; 100 resource blocks "
                   "run at 23.04 otherwise (--out-rate 23.04M)"
             : hz == 23.04e6 ? ""
                             : "; srsRAN reaches lower rates by dividing it");
  }
  s->hint(s->context, line);
}

int tlg_sink_open_srsran(struct tlg_sink **sink, const struct tlg_endpoint *e, const struct tlg_sink_cfg *cfg,
                         struct tlg_error *err)
{
  static const struct tlg_sink_ops ops = {.own_accounts = 1,
                                          .write = srsran_write,
                                          .close = srsran_close,
                                          .abort = srsran_abort,
                                          .idle = srsran_idle,
                                          .marks_gaps = srsran_marks_gaps,
                                          .say = srsran_say};
  static const char *const known[] = {"format", "policy", "end", "kind", "message", "linger", "slack", NULL};
  static const char *const formats[] = {"fc32", "sc16", "cf32", "cs16", NULL},
                           *const policies[] = {"hold", "skip", NULL}, *const ends[] = {"zeros", "empty", "loop", NULL},
                           *const kinds[] = {"rep", "pub", NULL};
  struct tlg_zmq_cfg zmq = {.bind = 1, .hwm = 1, .most_bytes = REQUEST_BYTES};
  struct srsran_sink *s;
  int format = 0, policy = 0, end = 0, kind = 0, status;
  uint64_t slack_ms = SLACK_MS;

  if ((status = tlg_endpoint_check_keys(e, known, err)) ||
      (status = tlg_endpoint_word(e, "format", formats, &format, err)) ||
      (status = tlg_endpoint_word(e, "policy", policies, &policy, err)) ||
      (status = tlg_endpoint_word(e, "end", ends, &end, err)) ||
      (status = tlg_endpoint_word(e, "kind", kinds, &kind, err)) ||
      (status = tlg_endpoint_whole(e, "slack", 0, 60000, &slack_ms, err))) {
    return status;
  }
  if (!cfg->rate.num) {
    return tlg_error_set(err, TLG_EINVAL, "srsran: needs the rate of the outputs");
  }
  s = calloc(1, sizeof *s);
  if (!s) {
    return tlg_error_set(err, TLG_ENOMEM, "out of memory");
  }
  s->base.ops = &ops;
  s->base.block = policy == POLICY_HOLD;
  s->rate = cfg->rate;
  s->format = format % 2 ? TLG_FORMAT_CS16 : TLG_FORMAT_CF32;
  s->sample_bytes = tlg_format_size(s->format);
  s->policy = (enum policy)policy;
  s->end = (enum ending)end;
  s->publish = kind;
  s->slack_ns = slack_ms * 1000000u;
  s->hint = cfg->hint;
  s->context = cfg->context;
  zmq.type = kind ? ZMQ_XPUB : ZMQ_ROUTER; /* as REP does, and tells who asked, and whether that one is still there */
  zmq.hwm = kind ? 8 : 4;
  if ((status = message_length(s, e, err)) || (status = linger_key(s, e, err)) ||
      (status = cfg->only_check ? tlg_zmq_check(e->rest, 1, err) : tlg_zmq_open(&s->zmq, e->rest, &zmq, err)) ||
      cfg->only_check) {
    free(s);
    return status;
  }
  tell_rates(s);
  *sink = &s->base;
  return TLG_OK;
}
