/* SPDX-License-Identifier: Apache-2.0 */
/* Captures of network traffic (pcap, pcapng) whose UDP datagrams hold VITA-49/DIFI packets or our own: read as a
 * recording, with what was lost on the way as gaps. Two passes look what is there, then it is read as it comes. */
#include "intake.h"
#include "reader.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int tlg_pcap_magic(const uint8_t *b, size_t n)
{
  static const uint32_t magics[] = {0xa1b2c3d4u, 0xd4c3b2a1u, 0xa1b23c4du, 0x4d3cb2a1u};
  size_t i;

  if (n < 24) {
    return 0;
  }
  for (i = 0; i < sizeof magics / sizeof *magics; i++) {
    if (tlg_wire_be32(b) == magics[i]) {
      return 1;
    }
  }
  return tlg_wire_be32(b) == 0x0a0d0d0au &&
         (tlg_wire_be32(b + 8) == 0x1a2b3c4du || tlg_wire_be32(b + 8) == 0x4d3c2b1au);
}

#ifndef TLG_HAVE_PCAP

int tlg_reader_open_pcap(struct tlg_reader *r, const char *path, struct tlg_error *err)
{
  (void)r;
  (void)path;
  return tlg_error_set(err, TLG_EUNAVAIL,
                       "captures are not read by this build: it was made without libpcap (apt-get install libpcap-dev, "
                       "and build again)");
}

#else

#include <pcap/pcap.h>

enum {
  MOST_STREAMS = 64,
  MOST_CAPTURES = 1 << 20,
  SLOT = 65536,
  LOOK = 4096, /* packets between two looks at the progress */
};

/* One that was seen. */
struct stream {
  enum tlg_intake_form form;
  uint32_t number;
  struct tlg_intake_sender from;
  uint16_t to;
  uint64_t packets;
  int has_context;
  struct tlg_vita49_context context;
};

struct pcap_source {
  int fd;
  uint64_t size;
  pcap_t *file;
  int link;
  struct stream chosen;
  struct tlg_intake_cfg cfg;
  struct tlg_intake *in;
  struct tlg_convert_counts before; /* by earlier passes, less what was passed over */
  const uint8_t *bundle;            /* of the packet at hand, what is not yet taken */
  size_t left;
  struct tlg_intake_sender from;
  uint16_t to;
  uint64_t now_ns;
  int ended, told;
  uint64_t fragments, cut;
};

/* ---- from a frame to a UDP payload ------------------------------------------------------------------------------- */

static unsigned be16(const uint8_t *b)
{
  return (unsigned)b[0] << 8 | b[1];
}

/* The offset of the IP header in a frame of n bytes, 0 = none (a frame with its IP header at the start: *raw). */
static size_t ip_offset(int link, const uint8_t *b, size_t n, int *raw)
{
  unsigned type, tags;
  size_t at;

  *raw = 0;
  switch (link) {
  case DLT_EN10MB:
    if (n < 14) {
      return 0;
    }
    type = be16(b + 12);
    at = 14;
    for (tags = 0; tags < 4 && (type == 0x8100 || type == 0x88a8 || type == 0x9100) && n >= at + 4; tags++) {
      type = be16(b + at + 2);
      at += 4;
    }
    return type == 0x0800 || type == 0x86dd ? at : 0;
  case DLT_LINUX_SLL:
    return n >= 16 && (be16(b + 14) == 0x0800 || be16(b + 14) == 0x86dd) ? 16 : 0;
#ifdef DLT_LINUX_SLL2
  case DLT_LINUX_SLL2:
    return n >= 20 && (be16(b) == 0x0800 || be16(b) == 0x86dd) ? 20 : 0;
#endif
  case DLT_NULL:
  case DLT_LOOP:
    return 4;
  case DLT_RAW:
#ifdef DLT_IPV4
  case DLT_IPV4:
#endif
#ifdef DLT_IPV6
  case DLT_IPV6:
#endif
    *raw = 1;
    return 0;
  default:
    return 0;
  }
}

static uint64_t hash_bytes(const uint8_t *b, size_t n)
{
  uint64_t hash = 14695981039346656037u; /* FNV-1a */

  while (n--) {
    hash = (hash ^ *b++) * 1099511628211u;
  }
  return hash;
}

/* The payload of a frame, if it is UDP and whole. */
static int udp_payload(struct pcap_source *s, const struct pcap_pkthdr *h, const uint8_t *b)
{
  size_t n = h->caplen, address;
  const uint8_t *ip;
  unsigned protocol, length, guard;
  int raw;
  const size_t at = ip_offset(s->link, b, n, &raw);

  if ((!at && !raw) || n < at + 20) {
    return 0;
  }
  ip = b + at;
  n -= at;
  if (ip[0] >> 4 == 4) {
    const size_t head = (size_t)(ip[0] & 15) * 4;

    protocol = ip[9];
    if (protocol != 17 || head < 20) {
      return 0;
    }
    if (be16(ip + 6) & 0x3fff) { /* more fragments, or not the first */
      s->fragments++;
      return 0;
    }
    s->from.address = hash_bytes(ip + 12, 4);
    address = head;
  } else if (ip[0] >> 4 == 6 && n >= 40) {
    protocol = ip[6];
    s->from.address = hash_bytes(ip + 8, 16);
    address = 40;
    for (guard = 0; guard < 8 && (protocol == 0 || protocol == 43 || protocol == 60) && n >= address + 8; guard++) {
      protocol = ip[address];
      address += 8 + (size_t)ip[address + 1] * 8;
    }
    if (protocol == 44) {
      s->fragments++;
      return 0;
    }
    if (protocol != 17) {
      return 0;
    }
  } else {
    return 0;
  }
  if (n < address + 8) {
    s->cut += h->caplen < h->len;
    return 0;
  }
  s->from.port = (uint16_t)be16(ip + address);
  s->to = (uint16_t)be16(ip + address + 2);
  length = be16(ip + address + 4);
  if (length < 8) {
    return 0;
  }
  if (n < address + length) { /* the capture keeps less of a packet than there was */
    s->cut++;
    return 0;
  }
  s->bundle = ip + address + 8;
  s->left = length - 8;
  return 1;
}

/* Bytes of the packet at the start of a payload. Captures made on the sending machine may hold several datagrams in
 * one, as the kernel handed them to the card; each packet tells its length. */
static size_t packet_bytes(const uint8_t *b, size_t n)
{
  struct tlg_own own;
  size_t size;

  if (tlg_own_decode(&own, b, n) == TLG_WIRE_OK) {
    size = own.header_bytes + own.n * tlg_format_size(own.format);
  } else {
    size = n >= 4 ? (size_t)(tlg_wire_be32(b) & 0xffff) * 4 : n;
  }
  return size >= 4 && size < n ? size : n;
}

static int damaged(struct tlg_reader *r, struct pcap_source *s, struct tlg_error *err)
{
  char text[200];

  snprintf(text, sizeof text, "%s", pcap_geterr(s->file));
  if (r->cfg.rescue) {
    if (!s->told) {
      tlg_reader_lies(r, "the capture ends early (%s); rescue: what is there is read", text);
    }
    s->told = 1;
    return TLG_OK;
  }
  return tlg_error_set(err, TLG_EFORMAT, "the capture is damaged or was cut (%s); --rescue reads what is there", text);
}

/* The next packet that may be one of ours. *bytes NULL: the end. */
static int next_packet(struct tlg_reader *r, struct pcap_source *s, const uint8_t **bytes, size_t *n,
                       struct tlg_error *err)
{
  struct pcap_pkthdr *h;
  const uint8_t *b;
  int got;

  *bytes = NULL;
  while (!s->left) {
    got = pcap_next_ex(s->file, &h, &b);
    if (got == -1) {
      return damaged(r, s, err);
    }
    if (got != 1) {
      return TLG_OK;
    }
    /* In nanoseconds: it was opened so. */
    s->now_ns = (uint64_t)h->ts.tv_sec * 1000000000u + (uint64_t)h->ts.tv_usec;
    udp_payload(s, h, b);
  }
  *bytes = s->bundle;
  *n = packet_bytes(s->bundle, s->left);
  s->bundle += *n;
  s->left -= *n;
  return TLG_OK;
}

/* From the first packet on. */
static int open_file(struct pcap_source *s, struct tlg_error *err)
{
  char text[PCAP_ERRBUF_SIZE];
  const int fd = dup(s->fd);
  FILE *f = fd >= 0 && lseek(fd, 0, SEEK_SET) == 0 ? fdopen(fd, "rb") : NULL;

  if (!f) {
    if (fd >= 0) {
      close(fd);
    }
    return tlg_error_set(err, TLG_ESYS, "cannot read: %s", strerror(errno));
  }
  if (s->file) {
    pcap_close(s->file);
  }
  s->file = pcap_fopen_offline_with_tstamp_precision(f, PCAP_TSTAMP_PRECISION_NANO, text);
  if (!s->file) {
    fclose(f);
    return tlg_error_set(err, TLG_EFORMAT, "it is no capture that libpcap reads: %s", text);
  }
  s->link = pcap_datalink(s->file);
  s->left = 0;
  s->ended = 0;
  s->fragments = s->cut = 0;
  return TLG_OK;
}

/* ---- which streams there are ----------------------------------------------------------------------------------------
 */

static struct stream *find_stream(struct stream *all, size_t *n, const struct pcap_source *s, enum tlg_intake_form form,
                                  uint32_t number)
{
  size_t i;

  for (i = 0; i < *n; i++) {
    if (all[i].form == form && all[i].number == number && all[i].from.address == s->from.address &&
        all[i].to == s->to) {
      return &all[i];
    }
  }
  if (*n == MOST_STREAMS) {
    return NULL;
  }
  memset(&all[*n], 0, sizeof *all);
  all[*n].form = form;
  all[*n].number = number;
  all[*n].from = s->from;
  all[*n].to = s->to;
  return &all[(*n)++];
}

static int keep_on(struct tlg_reader *r, struct pcap_source *s, uint64_t packets, struct tlg_error *err)
{
  const long at = packets % LOOK == 0 && r->cfg.progress ? ftell(pcap_file(s->file)) : -1;

  return at >= 0 && r->cfg.progress(r->cfg.context, (uint64_t)at, s->size)
             ? tlg_error_set(err, TLG_EINTR, "stopped while looking through the capture")
             : TLG_OK;
}

static int look_for_streams(struct tlg_reader *r, struct pcap_source *s, struct stream *all, size_t *n_all,
                            struct tlg_error *err)
{
  const uint8_t *bytes;
  uint64_t packets = 0;
  size_t n, i, kept = 0;
  int status;

  *n_all = 0;
  while ((status = next_packet(r, s, &bytes, &n, err)) == TLG_OK && bytes) {
    struct tlg_vita49 v;
    struct tlg_own own;
    struct stream *found;

    if ((status = keep_on(r, s, packets++, err))) {
      return status;
    }
    if (tlg_own_decode_datagram(&own, bytes, n) == TLG_WIRE_OK) {
      found = find_stream(all, n_all, s, TLG_INTAKE_OWN, own.stream);
      if (found) {
        found->packets += own.n > 0;
      }
    } else if (tlg_vita49_decode(&v, bytes, n) == TLG_WIRE_OK &&
               (tlg_vita49_is_data(&v) || tlg_vita49_is_context(&v))) {
      found = find_stream(all, n_all, s, TLG_INTAKE_VITA49, v.stream);
      if (found && tlg_vita49_is_data(&v)) {
        found->packets += v.payload_bytes > 0 && !v.spectrum;
      } else if (found && (!found->has_context || !found->context.rate.num)) {
        found->has_context = tlg_vita49_decode_context(&found->context, &v) == TLG_WIRE_OK;
      }
    }
  }
  for (i = 0; i < *n_all; i++) { /* context without data is no stream */
    if (all[i].packets) {
      all[kept++] = all[i];
    }
  }
  *n_all = kept;
  return status;
}

static const char *form_name(enum tlg_intake_form form)
{
  return form == TLG_INTAKE_OWN ? "taplag's" : "VITA-49";
}

static int choose_stream(struct tlg_reader *r, struct pcap_source *s, const struct stream *all, size_t n,
                         struct tlg_error *err)
{
  char list[300] = "";
  size_t i, at = 0;

  if (!n && (s->fragments || s->cut)) {
    return tlg_error_set(err, TLG_EFORMAT,
                         s->cut ? "the capture keeps only the beginning of each packet (%llu of them); capture with "
                                  "tcpdump -s 0"
                                : "all packets are fragments (%llu of them), which are not put together; send with a "
                                  "smaller mtu=",
                         (unsigned long long)(s->cut ? s->cut : s->fragments));
  }
  if (!n) {
    return tlg_error_set(err, TLG_EFORMAT, "there are no VITA-49 data packets in it, and none of taplag's");
  }
  r->info.n_channels = (unsigned)n;
  if (n > 1 && !r->cfg.channel) {
    for (i = 0; i < n && at < sizeof list; i++) {
      const int m = snprintf(list + at, sizeof list - at, "%s%zu: %s 0x%08x to port %u", i ? ", " : "", i + 1,
                             form_name(all[i].form), (unsigned)all[i].number, all[i].to);

      at += m > 0 ? (size_t)m : 0;
    }
    return tlg_error_set(err, TLG_EINVAL, "it holds %zu streams; choose one by --channel (%s)", n, list);
  }
  if (r->cfg.channel > n) {
    return tlg_error_set(err, TLG_EINVAL, "it holds %zu stream%s, there is no %u", n, plural(n), r->cfg.channel);
  }
  s->chosen = all[r->cfg.channel ? r->cfg.channel - 1 : 0];
  return TLG_OK;
}

/* ---- the chosen one
 * --------------------------------------------------------------------------------------------------- */

static int new_intake(struct pcap_source *s, struct tlg_error *err)
{
  tlg_intake_free(s->in);
  s->in = NULL;
  if (tlg_intake_new(&s->in, &s->cfg) != TLG_OK) {
    return tlg_error_set(err, TLG_ENOMEM, "out of memory");
  }
  if (s->chosen.has_context) { /* it may come late */
    tlg_intake_set_context(s->in, &s->chosen.context);
  }
  return open_file(s, err);
}

/* Samples that are ready, taking packets until there are. 0: the end. */
static int more(struct tlg_reader *r, struct pcap_source *s, size_t *ready, uint64_t *first, struct tlg_error *err)
{
  const uint8_t *bytes;
  size_t n;
  int status;

  while ((*ready = tlg_intake_ready(s->in, first)) == 0 && !s->ended) {
    status = tlg_intake_status(s->in, err);
    status = status ? status : next_packet(r, s, &bytes, &n, err);
    if (status) {
      return status;
    }
    if (!bytes || tlg_intake_ended(s->in)) {
      s->ended = 1;
      tlg_intake_flush(s->in);
      tlg_intake_tick(s->in, UINT64_MAX);
      *ready = tlg_intake_ready(s->in, first);
      return TLG_OK;
    }
    if (s->to == s->chosen.to && s->from.address == s->chosen.from.address) {
      tlg_intake_put(s->in, bytes, n, &s->from, s->now_ns);
    }
  }
  return TLG_OK;
}

static int source_read(struct tlg_reader *r, tlg_cs16 *buf, size_t n, size_t *got, struct tlg_error *err)
{
  struct pcap_source *s = r->source;
  const uint64_t *counts;
  size_t ready;
  uint64_t first;
  int status = TLG_OK;

  *got = 0;
  while (*got < n && !(status = more(r, s, &ready, &first, err)) && ready) {
    const size_t m = ready < n - *got ? ready : n - *got;

    tlg_intake_read(s->in, buf + *got, m);
    *got += m;
  }
  if (*got) {
    status = TLG_OK;
  }
  if (r->cfg.conjugate) {
    tlg_conjugate(buf, *got, &s->before);
  }
  counts = tlg_intake_counts(s->in);
  r->counts.clipped = s->before.clipped + counts[TLG_LIVE_CLIPPED];
  r->counts.non_finite = s->before.non_finite + counts[TLG_LIVE_NON_FINITE];
  r->counts.full_scale = s->before.full_scale + tlg_intake_full_scale(s->in);
  return status;
}

static int source_seek(struct tlg_reader *r, uint64_t sample, struct tlg_error *err)
{
  struct pcap_source *s = r->source;
  tlg_cs16 scratch[1024];
  uint64_t first;
  size_t ready;
  int status;

  s->before = r->counts;
  status = new_intake(s, err);
  while (!status && sample && !(status = more(r, s, &ready, &first, err)) && ready) {
    size_t m = ready < sample ? ready : (size_t)sample;

    m = m < 1024 ? m : 1024;
    tlg_intake_read(s->in, scratch, m);
    sample -= m;
  }
  s->before.clipped -= tlg_intake_counts(s->in)[TLG_LIVE_CLIPPED]; /* of what was passed over; may wrap, and back */
  s->before.non_finite -= tlg_intake_counts(s->in)[TLG_LIVE_NON_FINITE];
  s->before.full_scale -= tlg_intake_full_scale(s->in);
  return status;
}

static void source_close(struct tlg_reader *r)
{
  struct pcap_source *s = r->source;

  if (s) {
    if (s->file) {
      pcap_close(s->file);
    }
    tlg_intake_free(s->in);
    close(s->fd);
    free(s);
  }
}

/* All of it once: where the samples are, and what is missing. */
static int lay_out(struct tlg_reader *r, struct pcap_source *s, struct tlg_error *err)
{
  struct tlg_capture *c = NULL;
  tlg_cs16 scratch[1024];
  uint64_t end = 0, first, packets = 0;
  size_t ready;
  int status;

  while (!(status = more(r, s, &ready, &first, err)) && ready) {
    if ((status = keep_on(r, s, packets++, err))) {
      return status;
    }
    if (!c || first != end) {
      if (r->n_captures == MOST_CAPTURES) {
        return tlg_error_set(err, TLG_EFORMAT, "there are more than %d gaps in it", MOST_CAPTURES);
      }
      c = tlg_reader_add_capture(r, 0);
      if (!c) {
        return tlg_error_set(err, TLG_ENOMEM, "out of memory");
      }
      c->gap_before = first - end;
    }
    c->n += ready;
    end = first + ready;
    while (ready) { /* read, and thrown away: what was converted is not counted */
      const size_t m = ready < 1024 ? ready : 1024;

      tlg_intake_read(s->in, scratch, m);
      ready -= m;
    }
  }
  return status;
}

static void describe(struct tlg_reader *r, struct pcap_source *s, const char *path)
{
  const uint64_t *counts = tlg_intake_counts(s->in);
  struct tlg_intake_stream stream;
  struct tlg_datetime t;
  uint64_t at = 0;
  size_t i;

  tlg_intake_get(s->in, &stream);
  r->info.format = stream.layout.format ? stream.layout.format : TLG_FORMAT_CS16;
  r->info.format_source = r->cfg.format && stream.form == TLG_INTAKE_VITA49 ? "option" : "header";
  r->info.big_endian = stream.layout.big_endian;
  r->info.frequency_hz = stream.frequency_hz;
  if (stream.rate.num) {
    r->info.rate = stream.rate;
    r->info.rate_source = "header";
  }
  tlg_reader_settle_rate(r, path);
  t.seconds = stream.seconds;
  t.picoseconds = stream.picoseconds;
  t.digits = 12;
  for (i = 0; i < r->n_captures; i++) {
    struct tlg_capture *c = &r->captures[i];

    at += c->gap_before;
    c->frequency_hz = stream.frequency_hz;
    if (stream.has_time && stream.rate.num) {
      tlg_datetime_text(&t, tlg_instant_ps(at, &stream.rate), c->datetime);
    }
    at += c->n;
  }
  tlg_reader_hint(r, "stream 0x%08x (%s packets) to port %u%s", (unsigned)stream.stream, form_name(stream.form),
                  s->chosen.to, stream.layout.format ? "" : ", packed samples widened to 16 bits");
  if (counts[TLG_LIVE_LOSSES]) {
    tlg_reader_hint(r, "%llu packet%s and %llu sample%s are missing, in %llu place%s",
                    (unsigned long long)counts[TLG_LIVE_LOST_PACKETS], plural(counts[TLG_LIVE_LOST_PACKETS]),
                    (unsigned long long)counts[TLG_LIVE_LOST_SAMPLES], plural(counts[TLG_LIVE_LOST_SAMPLES]),
                    (unsigned long long)counts[TLG_LIVE_LOSSES], plural(counts[TLG_LIVE_LOSSES]));
  }
  if (counts[TLG_LIVE_DUPLICATES] + counts[TLG_LIVE_REORDERED] + counts[TLG_LIVE_MALFORMED] +
      counts[TLG_LIVE_RESTARTS]) {
    tlg_reader_hint(r, "%llu doubled, %llu out of order by too much, %llu malformed; the sender began anew %llu time%s",
                    (unsigned long long)counts[TLG_LIVE_DUPLICATES], (unsigned long long)counts[TLG_LIVE_REORDERED],
                    (unsigned long long)counts[TLG_LIVE_MALFORMED], (unsigned long long)counts[TLG_LIVE_RESTARTS],
                    plural(counts[TLG_LIVE_RESTARTS]));
  }
  if (s->fragments || s->cut) {
    tlg_reader_hint(r, "%llu IP fragments and %llu packets of which the capture keeps only the beginning are left out",
                    (unsigned long long)s->fragments, (unsigned long long)s->cut);
  }
}

int tlg_reader_open_pcap(struct tlg_reader *r, const char *path, struct tlg_error *err)
{
  struct pcap_source *s = calloc(1, sizeof *s);
  struct stream *all = calloc(MOST_STREAMS, sizeof *all);
  static const struct reader_ops ops = {source_read, source_seek, source_close};
  struct tlg_rate named;
  double frequency;
  size_t n = 0;
  int status;

  r->info.container = TLG_CONTAINER_PCAP;
  if (!s || !all) {
    free(s);
    free(all);
    return tlg_error_set(err, TLG_ENOMEM, "out of memory");
  }
  status = tlg_reader_open_file(path, 0, &s->fd, &s->size, err);
  if (status) {
    free(s);
    free(all);
    return status;
  }
  r->source = s;
  r->ops = &ops;
  r->info.seekable = 1;
  status = open_file(s, err);
  status = status ? status : look_for_streams(r, s, all, &n, err);
  status = status ? status : choose_stream(r, s, all, n, err);
  free(all);
  if (status) {
    return status;
  }
  tlg_name_hints(path, &named, &frequency);
  s->cfg.form = s->chosen.form;
  s->cfg.has_stream = 1;
  s->cfg.stream = s->chosen.number;
  s->cfg.rate = r->cfg.rate;
  s->cfg.format = r->cfg.format;
  s->cfg.full_scale = r->cfg.full_scale;
  s->cfg.swap_iq = r->cfg.swap_iq;
  s->cfg.window = TLG_INTAKE_WINDOW;
  s->cfg.slot_bytes = SLOT;
  if (s->chosen.form == TLG_INTAKE_VITA49 && !s->cfg.rate.num && !s->chosen.context.rate.num) {
    if (!named.num) {
      return tlg_error_set(err, TLG_EINVAL, "no context packet tells the rate; give --rate");
    }
    s->cfg.rate = named;
  }
  status = new_intake(s, err);
  status = status ? status : lay_out(r, s, err);
  if (!status && !r->n_captures) {
    status = tlg_error_set(err, TLG_EFORMAT, "none of its packets could be put in order: there are no samples");
  }
  if (status) {
    return status;
  }
  describe(r, s, path);
  memset(&r->counts, 0, sizeof r->counts);
  return source_seek(r, 0, err);
}

#endif
