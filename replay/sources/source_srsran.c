/* SPDX-License-Identifier: Apache-2.0 */
/* The ZeroMQ radio of srsRAN 4G, receiving side: ask a PHY's transmit port with one byte, take one message of samples
 * (docs/live.md). No time, no sequence: what is lost cannot be seen, and nothing is, as the PHY waits for us. */
#include "live.h"
#include "pace.h"
#include "zmq_util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

enum {
  MOST_BYTES = 32 << 20, /* a message; the PHY's own ring holds 24,576,000 bytes */
  CHUNK = 1920,
  EMPTY_MS = 1,  /* after an empty answer ("nothing yet") */
  LAST_MS = 200, /* after a stop: for the answer that is still due */
};

struct srsran_source {
  struct tlg_live base;
  struct tlg_zmq_socket zmq;
  int subscribe;
  size_t sample_bytes;
  double full_scale;
  int swap_iq;
  void (*hint)(void *context, const char *text);
  void *context;
  zmq_msg_t message;
  size_t taken, held; /* samples of the message that were handed on, and that it has; held 0: none is open */
  uint64_t position;
  int asked, peers_seen, gone;
  uint64_t stopped_ns;
  int told_non_finite;
};

static void hint(const struct srsran_source *s, const char *text)
{
  if (s->hint) {
    s->hint(s->context, text);
  }
}

/* The PHY has gone with our request, and perhaps come back: ask again. */
static void look(struct srsran_source *s)
{
  if (!s->zmq.monitor) {
    return;
  }
  tlg_zmq_look(&s->zmq);
  if (s->zmq.peers) {
    if (s->gone) {
      s->gone = 0;
      s->asked = 0;
      tlg_live_add(&s->base, TLG_LIVE_RESTARTS, 1);
      hint(s, "the PHY is there again; its samples follow those before without a gap");
    }
    s->peers_seen = 1;
  } else if (s->peers_seen && !s->gone) {
    s->gone = 1;
    hint(s, "the PHY has gone; waiting for it to come back");
  }
}

/* The samples of the open message, from `taken` on. NaN and infinities are no samples: 0. */
static void convert(struct srsran_source *s, tlg_cs16 *buf, size_t n)
{
  char *bytes = (char *)zmq_msg_data(&s->message) + s->taken * s->sample_bytes;
  struct tlg_convert_counts counts = {0};
  const uint64_t before = tlg_live_count(&s->base, TLG_LIVE_NON_FINITE);
  size_t i;

  if (s->base.info.format == TLG_FORMAT_CF32) {
    for (i = 0; i < 2 * n; i++) {
      uint32_t word;

      memcpy(&word, bytes + 4 * i, sizeof word);
      if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) {
        word = __builtin_bswap32(word);
      }
      if ((word & 0x7f800000u) == 0x7f800000u) {
        memset(bytes + 4 * i, 0, sizeof word);
        tlg_live_add(&s->base, TLG_LIVE_NON_FINITE, 1);
      }
    }
  }
  tlg_convert_to_cs16(buf, bytes, n, s->base.info.format, 0, s->full_scale, s->swap_iq, &counts);
  tlg_live_add(&s->base, TLG_LIVE_CLIPPED, counts.clipped);
  if (!s->told_non_finite && tlg_live_count(&s->base, TLG_LIVE_NON_FINITE) > before) {
    s->told_non_finite = 1;
    hint(s, "samples that are not finite came, and are zero now (the first subframe of pdsch_enodeb has some)");
  }
}

/* Hand on what the open message still has. */
static size_t hand_on(struct srsran_source *s, tlg_cs16 *buf, size_t n)
{
  const size_t m = s->held - s->taken < n ? s->held - s->taken : n;

  convert(s, buf, m);
  s->taken += m;
  if (s->taken == s->held) {
    zmq_msg_close(&s->message);
    s->held = s->taken = 0;
  }
  return m;
}

/* One answer: 1 with samples in hand, 0 without. */
static int receive(struct srsran_source *s)
{
  size_t size;
  int more;

  zmq_msg_init(&s->message);
  if (zmq_msg_recv(&s->message, s->zmq.socket, ZMQ_DONTWAIT) < 0) {
    zmq_msg_close(&s->message);
    return 0;
  }
  s->asked = 0;
  tlg_live_add(&s->base, TLG_LIVE_PACKETS, 1);
  more = zmq_msg_more(&s->message);
  size = zmq_msg_size(&s->message);
  if (more || size % s->sample_bytes) { /* no whole number of samples, or of several parts: not this protocol */
    tlg_live_add(&s->base, TLG_LIVE_MALFORMED, 1);
    size = 0;
  }
  while (more) {
    zmq_msg_t part;

    zmq_msg_init(&part);
    more = zmq_msg_recv(&part, s->zmq.socket, ZMQ_DONTWAIT) >= 0 && zmq_msg_more(&part);
    zmq_msg_close(&part);
  }
  if (!size) {
    zmq_msg_close(&s->message);
    tlg_zmq_wait(&s->zmq, 0, EMPTY_MS);
    return 0;
  }
  s->held = size / s->sample_bytes;
  s->taken = 0;
  return 1;
}

static int srsran_read(struct tlg_live *live, tlg_cs16 *buf, size_t n, size_t *got, uint64_t *first,
                       struct tlg_error *err)
{
  static const unsigned char request = 0xff;
  struct srsran_source *s = (struct srsran_source *)live;

  if (!s->held) {
    look(s);
    if (s->stopped_ns && (!s->asked || s->gone || s->subscribe ||
                          tlg_clock_monotonic.now_ns(NULL) - s->stopped_ns > LAST_MS * UINT64_C(1000000))) {
      *got = 0;
      *first = s->position;
      return TLG_OK;
    }
    if (!s->asked && !s->subscribe && zmq_send(s->zmq.socket, &request, 1, ZMQ_DONTWAIT) == 1) {
      s->asked = 1;
    }
    tlg_zmq_wait(&s->zmq, ZMQ_POLLIN, TLG_LIVE_WAIT_MS);
    if (!receive(s)) {
      return tlg_error_set(err, TLG_EINTR, "nothing yet");
    }
  }
  *first = s->position;
  *got = hand_on(s, buf, n);
  s->position += *got;
  tlg_live_add(live, TLG_LIVE_SAMPLES, *got);
  return TLG_OK;
}

static void srsran_stop(struct tlg_live *live)
{
  ((struct srsran_source *)live)->stopped_ns = tlg_clock_monotonic.now_ns(NULL);
}

static void srsran_close(struct tlg_live *live)
{
  struct srsran_source *s = (struct srsran_source *)live;

  if (s->held) {
    zmq_msg_close(&s->message);
  }
  tlg_zmq_close(&s->zmq, 0);
}

int tlg_live_open_srsran(struct tlg_live **live, const struct tlg_endpoint *e, const struct tlg_live_cfg *cfg,
                         const volatile int *cancel, struct tlg_error *err)
{
  static const struct tlg_live_ops ops = {.read = srsran_read, .stop = srsran_stop, .close = srsran_close};
  static const char *const known[] = {"format", "kind", NULL},
                           *const formats[] = {"fc32", "sc16", "cf32", "cs16", NULL},
                           *const kinds[] = {"req", "sub", NULL};
  struct tlg_zmq_cfg zmq = {.hwm = 4, .most_bytes = MOST_BYTES};
  struct srsran_source *s;
  int format = cfg->format == TLG_FORMAT_CS16, kind = 0, status;

  (void)cancel; /* connecting does not wait */
  if ((status = tlg_endpoint_check_keys(e, known, err)) ||
      (status = tlg_endpoint_word(e, "format", formats, &format, err)) ||
      (status = tlg_endpoint_word(e, "kind", kinds, &kind, err))) {
    return status;
  }
  if (cfg->format && cfg->format != TLG_FORMAT_CS16 && cfg->format != TLG_FORMAT_CF32) {
    return tlg_error_set(err, TLG_EINVAL, "srsRAN's radio sends fc32 (cf32) or sc16 (cs16), not %s",
                         tlg_format_name(cfg->format));
  }
  s = calloc(1, sizeof *s);
  if (!s) {
    return tlg_error_set(err, TLG_ENOMEM, "out of memory");
  }
  s->base.ops = &ops;
  s->base.info.rate = cfg->rate;
  s->base.info.format = format % 2 ? TLG_FORMAT_CS16 : TLG_FORMAT_CF32;
  s->base.info.frequency_hz = NAN;
  s->base.info.chunk = CHUNK;
  s->sample_bytes = tlg_format_size(s->base.info.format);
  s->full_scale = cfg->full_scale;
  s->swap_iq = cfg->swap_iq;
  s->subscribe = kind;
  s->hint = cfg->hint;
  s->context = cfg->context;
  zmq.type = kind ? ZMQ_SUB : ZMQ_REQ;
  status = tlg_zmq_open(&s->zmq, e->rest, &zmq, err);
  if (status) {
    free(s);
    return status;
  }
  *live = &s->base;
  return TLG_OK;
}
