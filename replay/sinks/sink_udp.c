/* SPDX-License-Identifier: Apache-2.0 */
/* The sink udp: datagrams of our own or of VITA-49, numbered and stamped, to a PHY on this machine or another. */
#include "net.h"
#include "sink.h"
#include "wire.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif

enum {
  MTU = 1472,          /* bytes of a datagram by default: what one Ethernet frame carries */
  MTU_MOST = 65507,    /* of IPv4 */
  BATCH_BYTES = 64000, /* handed to the kernel at once */
  SEGMENTS = 64,
  END_COPIES = 10, /* an end may get lost like any datagram: a millisecond after the first, then two, four, ... */
  CONTEXTS_HZ = 10,
};

struct udp_sink {
  struct tlg_sink base;
  int fd, vita49, segmented; /* segmented: the kernel cuts a batch into datagrams */
  size_t header, sample;     /* bytes */
  size_t most;               /* samples of a datagram */
  size_t frame, carried;     /* samples of one, if that is fixed; those that wait for more */
  tlg_cs16 *carry;
  struct tlg_own own; /* of the next datagram */
  struct tlg_convert_counts counts;
  uint64_t next;                      /* output number behind the last */
  uint64_t carry_first;               /* of carry[0] */
  unsigned data_count, context_count; /* VITA-49, modulo 16 */
  uint64_t context_at;                /* the next context packet comes before this output */
  int changed, no_samples;            /* no_samples: the batch is a context packet or an end, which no source counts */
  uint64_t start_s, start_ps;         /* VITA-49: time of output 0 */
  size_t filled, n_segments, segment, last;
  struct mmsghdr messages[SEGMENTS];
  struct iovec pieces[SEGMENTS];
  uint8_t batch[BATCH_BYTES + MTU_MOST];
};

/* Errors of the way, not of ours: the datagrams are lost, and the receiver sees it. */
static int lost_on_the_way(int error)
{
  return error == ECONNREFUSED || error == ENETUNREACH || error == EHOSTUNREACH || error == ENETDOWN ||
         error == ENOBUFS || error == EPERM;
}

/* Samples of a datagram of so many bytes that was not sent, or could not be. */
static void count_lost(struct udp_sink *s, size_t bytes)
{
  if (!s->no_samples) {
    tlg_sink_add(&s->base, TLG_SINK_DROPPED, (bytes - s->header) / s->sample);
  }
}

static int send_one_by_one(struct udp_sink *s, struct tlg_error *err)
{
  size_t i, done = 0;
  int refused = 0;

  for (i = 0; i < s->n_segments; i++) {
    s->pieces[i].iov_base = s->batch + i * s->segment;
    s->pieces[i].iov_len = i + 1 == s->n_segments ? s->last : s->segment;
    memset(&s->messages[i], 0, sizeof s->messages[i]);
    s->messages[i].msg_hdr.msg_iov = &s->pieces[i];
    s->messages[i].msg_hdr.msg_iovlen = 1;
  }
  while (done < s->n_segments) {
    const int sent = sendmmsg(s->fd, s->messages + done, (unsigned)(s->n_segments - done), MSG_NOSIGNAL);

    if (sent > 0) {
      done += (size_t)sent;
      tlg_sink_add(&s->base, TLG_SINK_MESSAGES, s->no_samples ? 0 : (uint64_t)sent);
      refused = 0;
    } else if (errno == ECONNREFUSED && !refused) { /* that was an earlier one; this one has not been sent */
      refused = 1;
    } else if (lost_on_the_way(errno)) {
      count_lost(s, s->pieces[done].iov_len);
      done++;
      refused = 0;
    } else if (errno != EINTR) {
      return tlg_error_set(err, TLG_ESYS, "cannot send a datagram of %zu bytes: %s%s", s->segment, strerror(errno),
                           errno == EMSGSIZE ? "; take a smaller mtu=" : "");
    }
  }
  return TLG_OK;
}

/* Send what the batch holds: one call, and the kernel (or the card) cuts it into datagrams. */
static int send_batch(struct udp_sink *s, struct tlg_error *err)
{
  union {
    char bytes[CMSG_SPACE(sizeof(uint16_t))];
    struct cmsghdr align;
  } control;
  struct iovec piece = {s->batch, s->filled};
  struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
  int status = TLG_OK;

  if (s->n_segments > 1 && s->segmented) {
    const uint16_t size = (uint16_t)s->segment;
    struct cmsghdr *c;
    int again, sent = 0;

    memset(&control, 0, sizeof control);
    message.msg_control = &control;
    message.msg_controllen = sizeof control.bytes;
    c = CMSG_FIRSTHDR(&message);
    c->cmsg_level = IPPROTO_UDP;
    c->cmsg_type = UDP_SEGMENT;
    c->cmsg_len = CMSG_LEN(sizeof size);
    memcpy(CMSG_DATA(c), &size, sizeof size);
    for (again = 0; again < 3 && !sent; again++) {
      sent = sendmsg(s->fd, &message, MSG_NOSIGNAL) >= 0;
      if (!sent && errno != ECONNREFUSED && errno != EINTR) {
        break;
      }
    }
    if (sent) {
      tlg_sink_add(&s->base, TLG_SINK_MESSAGES, s->no_samples ? 0 : s->n_segments);
    } else if (lost_on_the_way(errno) || errno == EINTR) {
      count_lost(s, s->filled - (s->n_segments - 1) * s->header);
    } else { /* this kernel, or this way, cannot do it */
      s->segmented = 0;
    }
    status = s->segmented ? TLG_OK : send_one_by_one(s, err);
  } else if (s->n_segments) {
    status = send_one_by_one(s, err);
  }
  s->filled = s->n_segments = 0;
  return status;
}

/* The time stamp of an output. */
static void stamp_of(const struct udp_sink *s, uint64_t first, struct tlg_vita49_stamp *stamp)
{
  const uint64_t second = 1000000000000u;
  const uint64_t ps = tlg_instant_ps(first, &s->own.rate);
  const uint64_t rest = s->start_ps + ps % second;

  stamp->stream = s->own.stream;
  stamp->seconds = (uint32_t)(s->start_s + ps / second + rest / second);
  stamp->picoseconds = rest % second;
}

static int send_context(struct udp_sink *s, uint64_t first, int valid, struct tlg_error *err)
{
  struct tlg_vita49_stamp stamp;
  int status = send_batch(s, err);

  stamp_of(s, first, &stamp);
  stamp.count = s->context_count++;
  tlg_vita49_encode_context(s->batch, &stamp, &s->own.rate, s->own.frequency_hz, 16, s->changed, valid);
  s->changed = 0;
  s->context_at = first + s->own.rate.num / s->own.rate.den / CONTEXTS_HZ + 1;
  s->segment = s->last = s->filled = TLG_VITA49_CONTEXT_BYTES;
  s->n_segments = 1;
  s->no_samples = 1;
  status = status ? status : send_batch(s, err);
  s->no_samples = 0;
  return status;
}

/* One datagram into the batch. Those of a batch are equally long, but for the last. */
static int put_datagram(struct udp_sink *s, const tlg_cs16 *samples, size_t n, uint64_t first, struct tlg_error *err)
{
  const size_t bytes = s->header + n * s->sample;
  uint8_t *to;
  int status = TLG_OK;

  if (s->vita49 && first >= s->context_at) {
    status = send_context(s, first, 1, err);
  }
  if (!status && s->n_segments &&
      (s->n_segments == SEGMENTS || s->last != s->segment || bytes > s->segment || s->filled + bytes > BATCH_BYTES)) {
    status = send_batch(s, err);
  }
  if (status) {
    return status;
  }
  to = s->batch + s->filled;
  if (s->vita49) {
    struct tlg_vita49_stamp stamp;
    size_t i;

    stamp_of(s, first, &stamp);
    stamp.count = s->data_count++;
    tlg_vita49_encode_data(to, &stamp, n * 4);
    to += s->header;
    for (i = 0; i < n; i++) {
      const uint16_t re = (uint16_t)samples[i].i, im = (uint16_t)samples[i].q;

      to[4 * i] = (uint8_t)(re >> 8);
      to[4 * i + 1] = (uint8_t)re;
      to[4 * i + 2] = (uint8_t)(im >> 8);
      to[4 * i + 3] = (uint8_t)im;
    }
  } else {
    tlg_own_place(&s->own, first, n);
    tlg_own_encode(to, &s->own);
    tlg_convert_from_cs16(to + s->header, samples, n, s->own.format, &s->counts);
    s->own.sequence++;
  }
  s->segment = s->n_segments ? s->segment : bytes;
  s->last = bytes;
  s->filled += bytes;
  s->n_segments++;
  return TLG_OK;
}

/* Samples in as few datagrams as they need, of equal length. */
static int put_samples(struct udp_sink *s, const tlg_cs16 *samples, size_t n, uint64_t first, struct tlg_error *err)
{
  const size_t pieces = (n + s->most - 1) / s->most, size = pieces ? (n + pieces - 1) / pieces : 0;
  int status = TLG_OK;

  while (n && !status) {
    const size_t m = n < size ? n : size;

    status = put_datagram(s, samples, m, first, err);
    samples += m;
    first += m;
    n -= m;
  }
  return status;
}

/* Datagrams of one length: what does not fill one waits. */
static int put_frames(struct udp_sink *s, const tlg_cs16 *samples, size_t n, uint64_t first, struct tlg_error *err)
{
  int status = TLG_OK;

  while (n && !status) {
    if (!s->carried && n >= s->frame) {
      status = put_samples(s, samples, s->frame, first, err);
      samples += s->frame;
      first += s->frame;
      n -= s->frame;
    } else {
      const size_t m = n < s->frame - s->carried ? n : s->frame - s->carried;

      s->carry_first = s->carried ? s->carry_first : first;
      memcpy(s->carry + s->carried, samples, m * sizeof *samples);
      s->carried += m;
      samples += m;
      first += m;
      n -= m;
      if (s->carried == s->frame) {
        s->carried = 0;
        status = put_samples(s, s->carry, s->frame, s->carry_first, err);
      }
    }
  }
  return status;
}

/* What waits for more goes as it is: a gap, or the end. */
static int put_carried(struct udp_sink *s, struct tlg_error *err)
{
  const size_t n = s->carried;

  s->carried = 0;
  return n ? put_samples(s, s->carry, n, s->carry_first, err) : TLG_OK;
}

static int udp_write(struct tlg_sink *sink, const struct tlg_sink_block *block, struct tlg_error *err)
{
  struct udp_sink *s = (struct udp_sink *)sink;
  int status = TLG_OK;

  if (block->gap || block->frequency_hz) {
    status = put_carried(s, err);
    tlg_own_follow(&s->own, &s->next, block);
  }
  if (block->frequency_hz) {
    s->changed = 1;
    s->context_at = 0;
  }
  if (!status) {
    status = (s->frame ? put_frames : put_samples)(s, block->samples, block->n, s->next, err);
    s->next += block->n;
  }
  return status ? status : send_batch(s, err);
}

static int say_end(struct udp_sink *s, struct tlg_error *err)
{
  int status = put_carried(s, err), i;

  if (!status) {
    status = send_batch(s, err);
  }
  for (i = 0; i < END_COPIES && !status; i++) {
    /* Apart, so that a receiver whose buffer is full for the moment still hears one: half a second in all. */
    const struct timespec pause = {.tv_nsec = i ? 1000000L << (i - 1) : 0};

    if (i > 2 && tlg_sink_asked(&s->base)) {
      break;
    }
    nanosleep(&pause, NULL);
    if (s->vita49) {
      s->changed = 1;
      status = send_context(s, s->next, 0, err);
      continue;
    }
    s->own.flags = TLG_OWN_END;
    tlg_own_place(&s->own, s->next, 0);
    tlg_own_encode(s->batch, &s->own);
    s->segment = s->last = s->filled = s->header;
    s->n_segments = 1;
    s->no_samples = 1;
    status = send_batch(s, err);
  }
  return status;
}

static void udp_free(struct udp_sink *s)
{
  if (s->fd >= 0) {
    close(s->fd);
  }
  free(s->carry);
}

static int udp_close(struct tlg_sink *sink, struct tlg_error *err)
{
  struct udp_sink *s = (struct udp_sink *)sink;
  const int status = say_end(s, err);

  udp_free(s);
  return status;
}

static void udp_abort(struct tlg_sink *sink)
{
  struct udp_sink *s = (struct udp_sink *)sink;

  say_end(s, NULL); /* nothing more will come, for whatever reason */
  udp_free(s);
}

static void udp_counts(const struct tlg_sink *sink, struct tlg_convert_counts *counts)
{
  *counts = ((const struct udp_sink *)sink)->counts;
}

/* Keys, and what follows from them. */
static int configure(struct udp_sink *s, const struct tlg_endpoint *e, const struct tlg_sink_cfg *cfg,
                     struct tlg_error *err)
{
  static const char *const known[] = {"format", "vita49", "mtu", "frame", "stream", "ttl", NULL};
  static const char *const no_yes[] = {"0", "1", NULL};
  const char *format = tlg_endpoint_value(e, "format");
  uint64_t mtu = MTU, frame = 0, stream;
  struct timespec now;
  int status;

  clock_gettime(CLOCK_REALTIME, &now);
  tlg_own_start(&s->own, cfg);
  stream = s->own.stream;
  if ((status = tlg_endpoint_check_keys(e, known, err)) ||
      (status = tlg_endpoint_word(e, "vita49", no_yes, &s->vita49, err)) ||
      (status = tlg_endpoint_whole(e, "mtu", 128, MTU_MOST, &mtu, err)) ||
      (status = tlg_endpoint_whole(e, "frame", 1, TLG_OWN_MAX_SAMPLES, &frame, err)) ||
      (status = tlg_endpoint_whole(e, "stream", 0, UINT32_MAX, &stream, err))) {
    return status;
  }
  s->own.format = TLG_FORMAT_CS16;
  status = tlg_endpoint_format(e, &s->own.format, err);
  if (status) {
    return status;
  }
  if (s->vita49 && s->own.format != TLG_FORMAT_CS16) {
    return tlg_error_set(err, TLG_EINVAL, "vita49=1 sends cs16; leave format=%s out", format);
  }
  if (s->vita49 && !cfg->rate.num) {
    return tlg_error_set(err, TLG_EINVAL, "vita49=1 needs the rate for its time stamps");
  }
  s->header = s->vita49 ? TLG_VITA49_DATA_BYTES : TLG_OWN_BYTES;
  s->sample = tlg_format_size(s->own.format);
  s->most = (mtu - s->header) / s->sample;
  if (frame > s->most) {
    return tlg_error_set(err, TLG_EINVAL, "frame=%llu: a datagram of mtu=%llu bytes holds %zu samples",
                         (unsigned long long)frame, (unsigned long long)mtu, s->most);
  }
  s->frame = (size_t)frame;
  if (frame && !(s->carry = malloc(s->frame * sizeof *s->carry))) {
    return tlg_error_set(err, TLG_ENOMEM, "out of memory");
  }
  s->own.stream = (uint32_t)stream;
  s->start_s = (uint64_t)now.tv_sec;
  s->start_ps = (uint64_t)now.tv_nsec * 1000;
  s->changed = 1;
  if (s->own.start_ns != TLG_OWN_NO_TIME && s->own.start_ns >= 0) {
    s->start_s = (uint64_t)s->own.start_ns / 1000000000u;
    s->start_ps = (uint64_t)s->own.start_ns % 1000000000u * 1000u;
  }
  return TLG_OK;
}

static int connect_to(struct udp_sink *s, const struct tlg_endpoint *e, struct tlg_error *err)
{
  struct tlg_net_address address;
  uint64_t ttl = 1;
  int hops, status = tlg_net_parse(&address, e->rest, 0, err);

  if (status || (status = tlg_endpoint_whole(e, "ttl", 0, 255, &ttl, err))) {
    return status;
  }
  s->fd = socket(address.a.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (s->fd < 0 || connect(s->fd, (struct sockaddr *)&address.a, address.size) != 0) {
    return tlg_error_set(err, TLG_ESYS, "udp:%s: %s", e->rest, strerror(errno));
  }
  hops = (int)ttl;
  if (address.a.ss_family == AF_INET6) {
    setsockopt(s->fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, &hops, sizeof hops);
  } else {
    setsockopt(s->fd, IPPROTO_IP, IP_MULTICAST_TTL, &hops, sizeof hops);
  }
  tlg_net_buffer(s->fd, SO_SNDBUF, 4 << 20);
  s->segmented = 1;
  return TLG_OK;
}

int tlg_sink_open_udp(struct tlg_sink **sink, const struct tlg_endpoint *e, const struct tlg_sink_cfg *cfg,
                      struct tlg_error *err)
{
  static const struct tlg_sink_ops ops = {
      .write = udp_write, .close = udp_close, .abort = udp_abort, .counts = udp_counts};
  struct udp_sink *s = calloc(1, sizeof *s);
  int status;

  if (!s) {
    return tlg_error_set(err, TLG_ENOMEM, "out of memory");
  }
  s->base.ops = &ops;
  s->fd = -1;
  status = configure(s, e, cfg, err);
  status = status ? status : connect_to(s, e, err);
  if (status) {
    udp_free(s);
    free(s);
    return status;
  }
  *sink = &s->base;
  return TLG_OK;
}
