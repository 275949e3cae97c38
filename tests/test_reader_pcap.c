/* SPDX-License-Identifier: Apache-2.0 */
/* Captures of network traffic as recordings, written byte by byte here: every kind of frame, VITA-49 and our own
 * packets, losses as gaps, context that comes late, several streams, cut and damaged files. */
#include "stream_help.h"

#include "iq_files.h"

enum { ETHERNET = 1, NULL_LINK = 0, RAW_LINK = 101, SLL = 113, SLL2 = 276 };

/* A capture being written. */
struct capture {
  uint8_t bytes[4 << 20];
  size_t n;
  int ng, big; /* pcapng; big endian (classic) */
  uint32_t link;
  uint64_t us;
};
static struct capture cap;

static void put_bytes(const void *b, size_t n)
{
  assert_true(cap.n + n <= sizeof cap.bytes);
  memcpy(cap.bytes + cap.n, b, n);
  cap.n += n;
}

static void put32(uint32_t v)
{
  uint8_t b[4];

  (cap.big ? tlg_wire_put_be32 : tlg_wire_put_le32)(b, v);
  put_bytes(b, 4);
}

static void begin(uint32_t link, int ng, int big)
{
  memset(&cap, 0, sizeof cap);
  cap.link = link;
  cap.ng = ng;
  cap.big = big;
  cap.us = 1700000000000000;
  if (ng) { /* section header and interface description */
    static const uint8_t section[28] = {0x0a, 0x0d, 0x0d, 0x0a, 28,   0,    0,    0,    0x4d, 0x3c, 0x2b, 0x1a, 1, 0,
                                        0,    0,    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 28,   0,    0, 0};

    put_bytes(section, sizeof section);
    put32(1);
    put32(20);
    put32(link);
    put32(0);
    put32(20);
  } else {
    put32(big ? 0xa1b23c4d : 0xa1b2c3d4); /* big-endian ones with nanoseconds */
    put32(big ? 2u << 16 | 4 : 4u << 16 | 2);
    put32(0);
    put32(0);
    put32(262144);
    put32(link);
  }
}

static void put_frame(const uint8_t *frame, size_t n, size_t kept)
{
  const size_t pad = (4 - kept % 4) % 4;
  static const uint8_t zeros[4];

  cap.us += 10;
  if (cap.ng) {
    put32(6);
    put32((uint32_t)(32 + kept + pad));
    put32(0);
    put32((uint32_t)(cap.us >> 32));
    put32((uint32_t)cap.us);
    put32((uint32_t)kept);
    put32((uint32_t)n);
    put_bytes(frame, kept);
    put_bytes(zeros, pad);
    put32((uint32_t)(32 + kept + pad));
  } else {
    put32((uint32_t)(cap.us / 1000000));
    put32((uint32_t)(cap.us % 1000000) * (cap.big ? 1000 : 1));
    put32((uint32_t)kept);
    put32((uint32_t)n);
    put_bytes(frame, kept);
  }
}

enum how { PLAIN, VLAN, IPV6, IPV6_OPTIONS, IP_OPTIONS, FRAGMENT, TCP, ARP, CUT };

/* A UDP datagram from host `host` in a frame of the capture's link type. */
static void put_udp(enum how how, unsigned host, unsigned port, const void *payload, size_t n)
{
  static uint8_t f[70000];
  const size_t ip_options = how == IP_OPTIONS ? 8 : 0;
  size_t at = 0;
  uint8_t *ip;

  memset(f, 0, 200);
  switch (cap.link) {
  case ETHERNET:
    at = 12;
    if (how == VLAN) {
      f[at] = 0x88;
      f[at + 1] = 0xa8;
      f[at + 4] = 0x81;
      at += 8;
    }
    f[at] = how == IPV6 || how == IPV6_OPTIONS ? 0x86 : 0x08;
    f[at + 1] = how == IPV6 || how == IPV6_OPTIONS ? 0xdd : how == ARP ? 0x06 : 0x00;
    at += 2;
    break;
  case SLL:
    f[14] = 8;
    at = 16;
    break;
  case SLL2:
    f[0] = 8;
    at = 20;
    break;
  case NULL_LINK:
    f[0] = 2;
    at = 4;
    break;
  default:
    break;
  }
  ip = f + at;
  if (how == IPV6 || how == IPV6_OPTIONS) {
    ip[0] = 0x60;
    ip[6] = how == IPV6 ? 17 : 0;
    ip[23] = (uint8_t)host;
    at += 40;
    if (how == IPV6_OPTIONS) { /* hop by hop, 16 bytes */
      f[at] = 17;
      f[at + 1] = 1;
      at += 16;
    }
  } else {
    const unsigned total = (unsigned)(20 + ip_options + 8 + n);

    ip[0] = (uint8_t)(0x45 + ip_options / 4);
    ip[2] = (uint8_t)(total >> 8);
    ip[3] = (uint8_t)total;
    ip[6] = how == FRAGMENT ? 0x20 : 0x40;
    ip[9] = how == TCP ? 6 : 17;
    ip[15] = (uint8_t)host;
    at += 20 + ip_options;
  }
  f[at] = 0x10;
  f[at + 2] = (uint8_t)(port >> 8);
  f[at + 3] = (uint8_t)port;
  f[at + 4] = (uint8_t)((n + 8) >> 8);
  f[at + 5] = (uint8_t)(n + 8);
  memcpy(f + at + 8, payload, n);
  at += 8 + n;
  if (cap.link == ETHERNET && n < 10) { /* frames are padded */
    at += 20;
  }
  put_frame(f, at, how == CUT ? at / 2 : at);
}

static void put_datagram(enum how how, const struct datagram *d)
{
  put_udp(how, 1, 5000, d->bytes, d->n);
}

static void save(const char *file)
{
  put_file(file, cap.bytes, cap.n);
}

/* ---- reading it again -------------------------------------------------------------------------------------------- */

static char hints[4000];

static void hint(void *unused, const char *text)
{
  (void)unused;
  strncat(hints, text, sizeof hints - strlen(hints) - 2);
  strcat(hints, "\n");
}

/* All of it, twice; each sample must be the one of its number + offset. */
static struct heard hear_all(const char *file, const struct tlg_reader_cfg *wanted, uint64_t offset,
                             struct tlg_reader_info *info)
{
  struct tlg_reader_cfg cfg = {0};
  struct tlg_error err = {0};
  struct heard h = {0};
  struct tlg_reader *r;
  static tlg_cs16 x[4096];
  uint64_t first;
  size_t got;
  int pass;

  if (wanted) {
    cfg = *wanted;
  }
  cfg.hint = hint;
  hints[0] = '\0';
  if (tlg_reader_open(&r, file, &cfg, &err)) {
    fail_msg("%s", err.text);
  }
  for (pass = 0; pass < 2; pass++) {
    memset(&h, 0, sizeof h);
    h.offset = offset;
    do {
      assert_int_equal(tlg_reader_read(r, x, pass ? 77 : 4096, &got, &first, &err), TLG_OK);
      if (got) {
        hear(&h, x, got, first);
      }
    } while (got);
    assert_int_equal(tlg_reader_info(r)->n_samples, h.samples);
    assert_int_equal(tlg_reader_info(r)->n_missing, h.missing);
    assert_int_equal(tlg_reader_rewind(r, &err), TLG_OK);
  }
  if (info) {
    *info = *tlg_reader_info(r);
    info->captures = NULL;
  }
  tlg_reader_close(r);
  return h;
}

static void not_read(const char *file, const struct tlg_reader_cfg *cfg, int status, const char *what)
{
  struct tlg_error err = {0};
  struct tlg_reader *r;

  assert_int_equal(tlg_reader_open(&r, file, cfg, &err), status);
  assert_non_null(strstr(err.text, what));
  assert_null(r);
}

/* Every frame and file form, both kinds of packets. */
static void forms(void **unused)
{
  static const struct {
    uint32_t link;
    int ng, big;
    enum how how;
  } all[] = {
      {ETHERNET, 0, 0, PLAIN},        {ETHERNET, 1, 0, PLAIN},      {ETHERNET, 0, 1, VLAN},   {ETHERNET, 1, 0, IPV6},
      {ETHERNET, 0, 0, IPV6_OPTIONS}, {ETHERNET, 0, 0, IP_OPTIONS}, {NULL_LINK, 0, 0, PLAIN}, {RAW_LINK, 0, 1, PLAIN},
      {RAW_LINK, 0, 0, IPV6},         {SLL, 0, 0, PLAIN},           {SLL2, 0, 0, PLAIN},
  };
  struct tlg_reader_info info;
  struct datagram d;
  struct heard h;
  size_t i;
  int vita49;
  uint64_t k;

  (void)unused;
  for (i = 0; i < sizeof all / sizeof *all; i++) {
    for (vita49 = 0; vita49 < 2; vita49++) {
      begin(all[i].link, all[i].ng, all[i].big);
      for (k = 0; k < 40; k++) {
        if (all[i].link == ETHERNET) { /* other traffic */
          put_udp(TCP, 1, 5000, "x", 1);
          put_udp(ARP, 1, 5000, "y", 1);
          put_udp(PLAIN, 1, 53, "z", 1);
        }
        if (vita49 && k == 20) { /* the context comes late */
          vita49_context(&d, 3, 0, k * 300, 1);
          put_datagram(all[i].how, &d);
        }
        if (vita49) {
          vita49_datagram(&d, 3, (unsigned)k, k * 300, 300);
        } else {
          own_datagram(&d, 3, k, k * 300, 300, 0);
        }
        put_datagram(all[i].how, &d);
      }
      save("a.pcap");
      h = hear_all("a.pcap", NULL, 0, &info);
      assert_int_equal(h.samples, 12000);
      assert_int_equal(h.missing, 0);
      assert_int_equal(info.container, TLG_CONTAINER_PCAP);
      assert_int_equal(info.rate.num, 25000000);
      assert_int_equal(info.format, TLG_FORMAT_CS16);
      assert_int_equal(info.big_endian, vita49);
      assert_true(vita49 ? info.frequency_hz == 2.4e9 : isnan(info.frequency_hz));
      assert_int_equal(info.n_captures, 1);
      assert_true(info.seekable);
      rename("a.pcap", "recording.bin"); /* by its contents, whatever the name */
      assert_int_equal(hear_all("recording.bin", NULL, 0, NULL).samples, 12000);
    }
  }
}

/* Lost, doubled, swapped; the window; the times of captures. */
static void losses(void **unused)
{
  const struct tlg_reader_cfg window = {.start = 3000, .length = 2000};
  struct tlg_reader_cfg cfg = {.hint = hint};
  struct tlg_reader_info info;
  struct datagram d, e;
  struct heard h;
  struct tlg_reader *r;
  struct tlg_error err;
  uint64_t k;
  int vita49;

  (void)unused;
  for (vita49 = 0; vita49 < 2; vita49++) {
    begin(ETHERNET, 0, 0);
    if (vita49) {
      vita49_context(&d, 3, 0, 0, 1);
      put_datagram(PLAIN, &d);
    }
    for (k = 0; k < 60; k++) {
      vita49 ? vita49_datagram(&d, 3, (unsigned)k, k * 300, 300) : own_datagram(&d, 3, k, k * 300, 300, 0);
      vita49 ? vita49_datagram(&e, 3, (unsigned)k + 1, k * 300 + 300, 300)
             : own_datagram(&e, 3, k + 1, k * 300 + 300, 300, 0);
      if (k == 20 || k == 21 || k == 40) {
        continue; /* lost */
      }
      if (k == 30) { /* swapped with the next */
        put_datagram(PLAIN, &e);
      }
      if (k != 31) {
        put_datagram(PLAIN, &d);
      }
      if (k == 50) {
        put_datagram(PLAIN, &d);
      }
    }
    save("a.pcap");
    h = hear_all("a.pcap", NULL, 0, &info);
    assert_int_equal(h.samples, 57 * 300);
    assert_int_equal(h.missing, 900);
    assert_int_equal(h.gaps, 2);
    assert_int_equal(info.n_captures, 3);
    assert_non_null(strstr(hints, "3 packets and 900 samples are missing, in 2 places"));
    assert_non_null(strstr(hints, "1 doubled"));
    assert_int_equal(tlg_reader_open(&r, "a.pcap", &cfg, &err), TLG_OK);
    assert_int_equal(tlg_reader_info(r)->captures[1].first, 22 * 300);
    assert_int_equal(tlg_reader_info(r)->captures[1].gap_before, 600);
    if (vita49) { /* 1700000000.999 and 22 * 12 us */
      assert_string_equal(tlg_reader_info(r)->captures[0].datetime, "2023-11-14T22:13:20.999000000000Z");
      assert_string_equal(tlg_reader_info(r)->captures[1].datetime, "2023-11-14T22:13:20.999264000000Z");
    }
    tlg_reader_close(r);
    h = hear_all("a.pcap", &window, 3000, NULL);
    assert_int_equal(h.samples, 2000);
    assert_int_equal(h.missing, 0);
  }
}

/* As the sending machine sees it: several datagrams that the kernel had not yet cut apart. */
static void bundles(void **unused)
{
  static uint8_t bundle[65000];
  struct datagram d;
  uint64_t k = 0;
  int vita49;

  (void)unused;
  for (vita49 = 0; vita49 < 2; vita49++) {
    begin(SLL, 0, 0);
    if (vita49) {
      vita49_context(&d, 3, 0, 0, 1);
      put_datagram(PLAIN, &d);
    }
    for (k = 0; k < 60;) {
      size_t n = 0, m;

      for (m = 0; m < 20; m++, k++) {
        vita49 ? vita49_datagram(&d, 3, (unsigned)k, k * 300, 300) : own_datagram(&d, 3, k, k * 300, 300, 0);
        memcpy(bundle + n, d.bytes, d.n);
        n += d.n;
      }
      put_udp(PLAIN, 1, 5000, bundle, n);
    }
    save("a.pcap");
    assert_int_equal(hear_all("a.pcap", NULL, 0, NULL).samples, 18000);
  }
}

static void several_streams(void **unused)
{
  struct tlg_reader_cfg cfg = {0};
  struct datagram d;
  uint64_t k;
  unsigned i;

  (void)unused;
  begin(ETHERNET, 1, 0);
  for (k = 0; k < 30; k++) {
    vita49_context(&d, 9, 0, 0, 1); /* of nobody */
    put_datagram(PLAIN, &d);
    own_datagram(&d, 1, k, k * 100, 100, 0);
    put_udp(PLAIN, 1, 5000, d.bytes, d.n);
    own_datagram(&d, 2, k, k * 200, 200, 0);
    put_udp(PLAIN, 1, 5000, d.bytes, d.n);
    if (k == 0) {
      vita49_context(&d, 1, 0, 0, 1);
      put_udp(PLAIN, 2, 6000, d.bytes, d.n);
    }
    vita49_datagram(&d, 1, (unsigned)k, k * 300, 300);
    put_udp(PLAIN, 2, 6000, d.bytes, d.n);
  }
  save("a.pcapng");
  not_read("a.pcapng", NULL, TLG_EINVAL,
           "--channel (1: taplag's 0x00000001 to port 5000, 2: taplag's 0x00000002 to port "
           "5000, 3: VITA-49 0x00000001 to port 6000)");
  for (i = 1; i <= 3; i++) {
    cfg.channel = i;
    assert_int_equal(hear_all("a.pcapng", &cfg, 0, NULL).samples, 3000 * i);
  }
  cfg.channel = 4;
  not_read("a.pcapng", &cfg, TLG_EINVAL, "there is no 4");
}

/* Without context: the rate must be given; and the format may be. */
static void without_context(void **unused)
{
  struct tlg_reader_cfg cfg = {.rate = stream_rate};
  struct tlg_reader_info info;
  struct datagram d;
  uint64_t k;

  (void)unused;
  begin(RAW_LINK, 0, 0);
  for (k = 0; k < 30; k++) {
    vita49_datagram(&d, 1, (unsigned)k, k * 300, 300);
    put_datagram(PLAIN, &d);
  }
  save("a.pcap");
  not_read("a.pcap", NULL, TLG_EINVAL, "--rate");
  assert_int_equal(hear_all("a.pcap", &cfg, 0, &info).samples, 9000);
  assert_string_equal(info.rate_source, "option");
  save("a_s25M_.pcap");
  assert_int_equal(hear_all("a_s25M_.pcap", NULL, 0, NULL).samples, 9000);
  cfg.format = TLG_FORMAT_CS8;
  {
    struct tlg_error err;
    struct tlg_reader *r;

    assert_int_equal(tlg_reader_open(&r, "a.pcap", &cfg, &err), TLG_OK);
    assert_int_equal(tlg_reader_info(r)->format, TLG_FORMAT_CS8);
    tlg_reader_close(r);
  }
  /* Context that says what cannot be read. */
  vita49_context(&d, 1, 0, 0, 1);
  tlg_wire_put_be32(d.bytes + 100, 0x800003cf); /* real samples */
  put_datagram(PLAIN, &d);
  save("a.pcap");
  not_read("a.pcap", NULL, TLG_EFORMAT, "real");
}

static void damaged(void **unused)
{
  const struct tlg_reader_cfg rescue = {.rescue = 1};
  struct datagram d;
  uint64_t k;
  size_t whole;
  struct tlg_reader_info info;

  (void)unused;
  begin(ETHERNET, 0, 0);
  whole = cap.n;
  save("a.pcap");
  not_read("a.pcap", NULL, TLG_EFORMAT, "no VITA-49");
  for (k = 0; k < 10; k++) {
    own_datagram(&d, 3, k, k * 300, 300, 0);
    put_datagram(PLAIN, &d);
    whole = k == 8 ? cap.n : whole;
  }
  put_file("a.pcap", cap.bytes, whole + 100);
  not_read("a.pcap", NULL, TLG_EFORMAT, "--rescue");
  assert_int_equal(hear_all("a.pcap", &rescue, 0, &info).samples, 2700);
  assert_true(info.header_lies && strstr(info.header_note, "ends early"));
  assert_non_null(strstr(hints, "rescue"));
  assert_ptr_equal(strstr(strstr(hints, "rescue") + 1, "rescue"), NULL); /* said once */
  begin(ETHERNET, 0, 0);
  put_datagram(CUT, &d);
  save("a.pcap");
  not_read("a.pcap", NULL, TLG_EFORMAT, "tcpdump -s 0");
  begin(ETHERNET, 0, 0);
  put_datagram(FRAGMENT, &d);
  save("a.pcap");
  not_read("a.pcap", NULL, TLG_EFORMAT, "fragments");
  put_text("text.pcap", "this is no capture at all");
  not_read("text.pcap", NULL, TLG_EINVAL, "no capture");
  put_file("a.pcap", "\xd4\xc3\xb2\xa1\2\0\4\0\0\0\0\0\0\0\0\0\0\0\4\0\xff\xff\0\0", 24);
  not_read("a.pcap", NULL, TLG_EFORMAT, "no VITA-49");
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(forms),           cmocka_unit_test(losses),          cmocka_unit_test(bundles),
      cmocka_unit_test(several_streams), cmocka_unit_test(without_context), cmocka_unit_test(damaged),
  };

#ifndef TLG_HAVE_PCAP
  (void)tests;
  puts("[  SKIPPED ] reader_pcap: built without libpcap (apt-get install libpcap-dev)");
  return 0;
#else
  return cmocka_run_group_tests_name("reader_pcap", tests, scratch_make, scratch_remove);
#endif
}
