/* SPDX-License-Identifier: Apache-2.0 */
/* The source udp: our own datagrams or those of VITA-49, followed, put in order and counted. */
#include "net.h"
#include "pace.h"
#include "source_stream.h"

#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef UDP_GRO
#define UDP_GRO 104
#endif

enum {
  BATCH = 32, /* buffers of one call, each for a datagram or several that the kernel joined */
  SLOT = 65536,
  STRIDE = SLOT + 320, /* so that small datagrams do not all fall on the same lines of the cache */
  BUFFER = 32 << 20,   /* of the socket: a third of a second at 25 Msps */
  CHUNK = 16384,       /* samples of one read at most */
};

struct udp_source {
  struct tlg_live base;
  int fd;
  struct tlg_intake *in;
  _Atomic int stopping;
  int flushed;
  uint64_t idle_ns, heard_ns;
  void (*hint)(void *context, const char *text);
  void *context;
  size_t n, at, offset; /* buffers filled, being taken, and bytes of it that were */
  size_t joined[BATCH]; /* length of each datagram in a buffer; 0 = it is one */
  struct tlg_net_address from[BATCH];
  struct mmsghdr messages[BATCH];
  struct iovec pieces[BATCH];
  union {
    char bytes[CMSG_SPACE(sizeof(int))];
    struct cmsghdr align;
  } controls[BATCH];
  uint8_t *room;
};

static void tell(const struct udp_source *s, const char *text)
{
  if (s->hint) {
    s->hint(s->context, text);
  }
}

/* The length of datagrams that the kernel joined, from a message's control data. */
static size_t joined_length(struct msghdr *m)
{
  struct cmsghdr *c;
  int size = 0;

  for (c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
    if (c->cmsg_level == IPPROTO_UDP && c->cmsg_type == UDP_GRO) {
      memcpy(&size, CMSG_DATA(c), sizeof size);
    }
  }
  return size > 0 ? (size_t)size : 0;
}

/* Take what has come, without waiting. 0: nothing. */
static int receive(struct udp_source *s, struct tlg_error *err)
{
  int i, got;

  s->n = s->at = s->offset = 0;
  for (i = 0; i < BATCH; i++) {
    s->messages[i].msg_hdr.msg_namelen = sizeof s->from[i].a;
    s->messages[i].msg_hdr.msg_controllen = sizeof s->controls[i].bytes;
  }
  do {
    got = recvmmsg(s->fd, s->messages, BATCH, MSG_DONTWAIT, NULL);
  } while (got < 0 && errno == EINTR);
  if (got < 0) {
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == ECONNREFUSED
               ? TLG_OK
               : tlg_error_set(err, TLG_ESYS, "cannot receive: %s", strerror(errno));
  }
  for (i = 0; i < got; i++) {
    s->joined[i] = joined_length(&s->messages[i].msg_hdr);
    s->from[i].size = s->messages[i].msg_hdr.msg_namelen;
  }
  s->n = (size_t)got;
  s->heard_ns = got ? tlg_clock_monotonic.now_ns(NULL) : s->heard_ns;
  return TLG_OK;
}

/* The next datagram of the batch goes to the intake. 0: there is none. */
static int put_next(struct udp_source *s)
{
  const uint8_t *bytes = s->room + s->at * STRIDE + s->offset;
  struct tlg_intake_sender from;
  size_t left, n;

  if (s->at == s->n) {
    return 0;
  }
  left = s->messages[s->at].msg_len - s->offset;
  n = s->joined[s->at] && s->joined[s->at] < left ? s->joined[s->at] : left;
  from.address = tlg_net_host(&s->from[s->at]);
  from.port = tlg_net_port(&s->from[s->at]);
  s->offset += n;
  if (s->offset >= s->messages[s->at].msg_len) {
    s->at++;
    s->offset = 0;
  }
  tlg_intake_put(s->in, bytes, n, &from, s->heard_ns);
  return 1;
}

/* Wait 50 ms at most for something to come. */
static int wait_for_more(struct udp_source *s, struct tlg_error *err)
{
  struct pollfd fd = {.fd = s->fd, .events = POLLIN};
  int status = receive(s, err);

  if (status || s->n) {
    return status;
  }
  if (poll(&fd, 1, TLG_LIVE_WAIT_MS) > 0) {
    return receive(s, err);
  }
  /* Nothing for so long: what is missing will not come either. */
  tlg_intake_flush(s->in);
  tlg_intake_tick(s->in, tlg_clock_monotonic.now_ns(NULL));
  return TLG_OK;
}

/* Datagrams that found the socket's buffer full, if the kernel tells. */
static void tell_drops(struct udp_source *s)
{
  uint32_t info[16] = {0};
  socklen_t n = sizeof info;
  char text[200];

  if (getsockopt(s->fd, SOL_SOCKET, SO_MEMINFO, info, &n) == 0 && n >= 9 * sizeof *info && info[8]) {
    snprintf(text, sizeof text,
             "%" PRIu32 " datagrams or bundles of them found the socket's buffer full (of those lost)", info[8]);
    tell(s, text);
  }
}

static int udp_read(struct tlg_live *live, tlg_cs16 *buf, size_t n, size_t *got, uint64_t *first, struct tlg_error *err)
{
  struct udp_source *s = (struct udp_source *)live;
  int status = TLG_OK;

  *got = 0;
  while (!tlg_source_gather(s->in, buf, n, got, first)) {
    uint64_t at;

    if ((status = tlg_intake_status(s->in, err)) || tlg_intake_ended(s->in) || s->flushed) {
      break;
    }
    if (atomic_load_explicit(&s->stopping, memory_order_relaxed)) {
      s->flushed = 1; /* what is held; the rest of the batch has come after the wish to stop */
      tlg_intake_flush(s->in);
      continue;
    }
    if (put_next(s)) {
      continue;
    }
    if (*got) {
      break;
    }
    status = wait_for_more(s, err);
    if (status) {
      break;
    }
    if (!s->n && !tlg_intake_holds(s->in) && !tlg_intake_ended(s->in)) {
      if (s->idle_ns && tlg_clock_monotonic.now_ns(NULL) - s->heard_ns >= s->idle_ns) {
        tell(s, "nothing has come for as long as idle_ms says: taken as the end");
        s->flushed = 1;
        continue;
      }
      if (tlg_intake_ready(s->in, &at) == 0 && !tlg_intake_ended(s->in)) {
        status = TLG_EINTR;
        break;
      }
    }
  }
  if (*got) {
    status = TLG_OK; /* an error comes with the next read */
  } else if (!status) {
    *first = tlg_intake_end(s->in);
    tell_drops(s);
  }
  tlg_source_publish(live, s->in);
  return status;
}

static void udp_stop(struct tlg_live *live)
{
  atomic_store_explicit(&((struct udp_source *)live)->stopping, 1, memory_order_relaxed);
}

static void udp_close(struct tlg_live *live)
{
  struct udp_source *s = (struct udp_source *)live;

  if (s->fd >= 0) {
    close(s->fd);
  }
  tlg_intake_free(s->in);
  free(s->room);
}

/* ---- opening --------------------------------------------------------------------------------------------------------
 */

static int configure(struct udp_source *s, const struct tlg_endpoint *e, const struct tlg_live_cfg *cfg,
                     struct tlg_error *err)
{
  static const char *const known[] = {"vita49", "stream", "reorder", "rcvbuf", "idle_ms", "format", NULL};
  static const char *const no_yes[] = {"0", "1", NULL};
  struct tlg_intake_cfg intake = {.needs_rate = 1,
                                  .rate = cfg->rate,
                                  .format = cfg->format,
                                  .full_scale = cfg->full_scale,
                                  .swap_iq = cfg->swap_iq,
                                  .slot_bytes = SLOT,
                                  .hint = cfg->hint,
                                  .context = cfg->context};
  uint64_t window = TLG_INTAKE_WINDOW, stream = 0, idle_ms = 0;
  int form = -1, status;

  if ((status = tlg_endpoint_check_keys(e, known, err)) ||
      (status = tlg_endpoint_word(e, "vita49", no_yes, &form, err)) ||
      (status = tlg_endpoint_whole(e, "stream", 0, UINT32_MAX, &stream, err)) ||
      (status = tlg_endpoint_whole(e, "reorder", 0, 64, &window, err)) ||
      (status = tlg_endpoint_whole(e, "idle_ms", 0, 86400000, &idle_ms, err))) {
    return status;
  }
  status = tlg_endpoint_format(e, &intake.format, err);
  if (status) {
    return status;
  }
  intake.form = form < 0 ? TLG_INTAKE_ANY : form ? TLG_INTAKE_VITA49 : TLG_INTAKE_OWN;
  intake.has_stream = tlg_endpoint_value(e, "stream") != NULL;
  intake.stream = (uint32_t)stream;
  intake.window = (unsigned)window;
  s->idle_ns = idle_ms * 1000000u;
  s->room = malloc((size_t)BATCH * STRIDE);
  if (!s->room || tlg_intake_new(&s->in, &intake) != TLG_OK) {
    return tlg_error_set(err, TLG_ENOMEM, "out of memory");
  }
  return TLG_OK;
}

static int join(int fd, const struct tlg_net_address *address)
{
  if (address->a.ss_family == AF_INET6) {
    struct ipv6_mreq m = {.ipv6mr_multiaddr = ((const struct sockaddr_in6 *)&address->a)->sin6_addr};

    return setsockopt(fd, IPPROTO_IPV6, IPV6_ADD_MEMBERSHIP, &m, sizeof m);
  } else {
    struct ip_mreq m = {.imr_multiaddr = ((const struct sockaddr_in *)&address->a)->sin_addr};

    return setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &m, sizeof m);
  }
}

static int listen_on(struct udp_source *s, const struct tlg_endpoint *e, struct tlg_error *err)
{
  struct tlg_net_address address;
  uint64_t buffer = BUFFER;
  char where[120], text[400];
  const int yes = 1;
  size_t there;
  int i, status = tlg_net_parse(&address, e->rest, 1, err);

  if (status || (status = tlg_endpoint_whole(e, "rcvbuf", 4096, 1 << 30, &buffer, err))) {
    return status;
  }
  s->fd = socket(address.a.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (s->fd < 0) {
    return tlg_error_set(err, TLG_ESYS, "udp:%s: %s", e->rest, strerror(errno));
  }
  if (tlg_net_is_multicast(&address)) {
    setsockopt(s->fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  }
  if (bind(s->fd, (struct sockaddr *)&address.a, address.size) != 0 ||
      (tlg_net_is_multicast(&address) && join(s->fd, &address) != 0)) {
    return tlg_error_set(err, TLG_ESYS, "cannot listen on udp:%s: %s", e->rest, strerror(errno));
  }
  setsockopt(s->fd, IPPROTO_UDP, UDP_GRO, &yes, sizeof yes); /* older kernels: one datagram a buffer */
  there = tlg_net_buffer(s->fd, SO_RCVBUF, (size_t)buffer);
  getsockname(s->fd, (struct sockaddr *)&address.a, &address.size);
  snprintf(text, sizeof text, "listening on udp:%s", tlg_net_text(&address, where, sizeof where));
  tell(s, text);
  if (there < buffer) {
    snprintf(text, sizeof text,
             "the socket's buffer is %zu bytes, %" PRIu64 " were asked for; this lets it grow:\n"
             "  sysctl -w net.core.rmem_max=%" PRIu64 "\n  sysctl -w net.core.wmem_max=%" PRIu64,
             there, buffer, buffer, buffer);
    tell(s, text);
  }
  for (i = 0; i < BATCH; i++) {
    s->pieces[i].iov_base = s->room + (size_t)i * STRIDE;
    s->pieces[i].iov_len = SLOT;
    s->messages[i].msg_hdr.msg_name = &s->from[i].a;
    s->messages[i].msg_hdr.msg_iov = &s->pieces[i];
    s->messages[i].msg_hdr.msg_iovlen = 1;
    s->messages[i].msg_hdr.msg_control = &s->controls[i];
  }
  return TLG_OK;
}

/* Until there is a stream whose rate is known. */
static int wait_for_stream(struct udp_source *s, const volatile int *cancel, struct tlg_error *err)
{
  const uint64_t begun_ns = tlg_clock_monotonic.now_ns(NULL);
  int status, told = 0;
  uint64_t first;

  while (!tlg_intake_begun(s->in)) {
    if (cancel && __atomic_load_n(cancel, __ATOMIC_RELAXED)) {
      return tlg_error_set(err, TLG_EINTR, "stopped while waiting for a sender");
    }
    if (tlg_intake_early(s->in) && !told) {
      tell(s, "VITA-49 data are coming; waiting for the context packet that tells their rate (or give --rate)");
      told = 1;
    }
    if (!put_next(s) && (status = wait_for_more(s, err))) {
      return status;
    }
    tlg_intake_ready(s->in, &first);
    if ((status = tlg_intake_status(s->in, err))) {
      return status;
    }
    if (s->idle_ns && tlg_clock_monotonic.now_ns(NULL) - (s->heard_ns ? s->heard_ns : begun_ns) >= s->idle_ns) {
      return tlg_error_set(err, TLG_EFORMAT, "nothing that could be followed has come within idle_ms");
    }
  }
  return TLG_OK;
}

int tlg_live_open_udp(struct tlg_live **live, const struct tlg_endpoint *e, const struct tlg_live_cfg *cfg,
                      const volatile int *cancel, struct tlg_error *err)
{
  static const struct tlg_live_ops ops = {.read = udp_read, .stop = udp_stop, .close = udp_close};
  struct udp_source *s = calloc(1, sizeof *s);
  int status;

  if (!s) {
    return tlg_error_set(err, TLG_ENOMEM, "out of memory");
  }
  s->base.ops = &ops;
  s->fd = -1;
  s->hint = cfg->hint;
  s->context = cfg->context;
  status = configure(s, e, cfg, err);
  status = status ? status : listen_on(s, e, err);
  status = status ? status : wait_for_stream(s, cancel, err);
  if (status) {
    udp_close(&s->base);
    free(s);
    return status;
  }
  tlg_source_describe(&s->base, s->in, NULL, TLG_FORMAT_UNKNOWN);
  s->base.info.clock = 1;
  s->base.info.chunk = CHUNK;
  *live = &s->base;
  return TLG_OK;
}
