/* SPDX-License-Identifier: Apache-2.0 */
/* The trace format: its bytes as documented, round trips, and refusal of everything damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tlg_replay.h"

enum { RECORDS = 5 };

static struct tlg_trace_info an_info(void)
{
  const struct tlg_trace_info info = {.rate_in = {25000000, 1},
                                      .rate_out = {30720000, 1},
                                      .speed = {1, 1},
                                      .up = 768,
                                      .down = 625,
                                      .q0 = 6143,
                                      .subframe_length = 30720,
                                      .subframe_offset = 77,
                                      .deadline_ps = 1200000000,
                                      .n_packets = RECORDS + 3,
                                      .n_dropped = 2,
                                      .n_records = RECORDS,
                                      .queue = 1024,
                                      .taps = 12287,
                                      .shift = 14,
                                      .flags = TLG_TRACE_BLOCK};

  return info;
}

static struct tlg_trace_record a_record(uint64_t i)
{
  const struct tlg_trace_record r = {.packet = i + 2,
                                     .first_in = i * 625 + 1250,
                                     .first_out = i * 768 + 1536,
                                     .air = (i + 3) * 25000000,
                                     .received = (i + 3) * 25000000 + 100,
                                     .resample_begin = (i + 3) * 25000000 + 2000,
                                     .resample_end = (i + 3) * 25000000 + 3000,
                                     .deliver_begin = (i + 3) * 25000000 + 4000,
                                     .delivered = (i + 3) * 25000000 + 5000,
                                     .framed = i < 3 ? (uint64_t)1000000000 : UINT64_MAX,
                                     .n_in = 625,
                                     .n_out = 768,
                                     .flags = i ? 0 : TLG_TRACE_AFTER_DROP,
                                     .depth_resample = 1,
                                     .depth_deliver = (uint16_t)(i + 1)};

  return r;
}

static size_t a_file(unsigned char *bytes)
{
  const struct tlg_trace_info info = an_info();
  uint64_t i;

  tlg_trace_encode_header(bytes, &info);
  for (i = 0; i < RECORDS; i++) {
    const struct tlg_trace_record r = a_record(i);

    tlg_trace_encode_record(bytes + TLG_TRACE_HEADER_BYTES + i * TLG_TRACE_RECORD_BYTES, &r);
  }
  return TLG_TRACE_HEADER_BYTES + RECORDS * TLG_TRACE_RECORD_BYTES;
}

static uint64_t little(const unsigned char *at, unsigned n)
{
  uint64_t v = 0;

  while (n--) {
    v = v << 8 | at[n];
  }
  return v;
}

/* The offsets of docs/time.md, written out once more. */
static void the_bytes_are_as_documented(void **state)
{
  unsigned char b[TLG_TRACE_HEADER_BYTES + RECORDS * TLG_TRACE_RECORD_BYTES];
  const unsigned char *r = b + 192;

  (void)state;
  assert_int_equal(a_file(b), 192 + 5 * 96);
  assert_memory_equal(b, "TLGTRACE\1\0\0\0\300\0\0\0\140\0\0\0\2\0\0\0", 24);
  assert_true(little(b + 24, 8) == 25000000 && little(b + 32, 8) == 1);
  assert_true(little(b + 40, 8) == 30720000 && little(b + 48, 8) == 1);
  assert_true(little(b + 56, 8) == 1 && little(b + 64, 8) == 1);
  assert_true(little(b + 72, 4) == 768 && little(b + 76, 4) == 625);
  assert_true(little(b + 80, 8) == 6143 && little(b + 88, 8) == 30720 && little(b + 96, 8) == 77);
  assert_true(little(b + 104, 8) == 1200000000);
  assert_true(little(b + 112, 8) == 8 && little(b + 120, 8) == 2 && little(b + 128, 8) == 5);
  assert_true(little(b + 136, 4) == 1024 && little(b + 140, 4) == 12287 && little(b + 144, 4) == 14);
  assert_true(little(b + 148, 8) == 0 && little(b + 184, 8) == 0);
  assert_true(little(r, 8) == 2 && little(r + 8, 8) == 1250 && little(r + 16, 8) == 1536);
  assert_true(little(r + 24, 8) == 75000000 && little(r + 32, 8) == 75000100 && little(r + 40, 8) == 75002000);
  assert_true(little(r + 48, 8) == 75003000 && little(r + 56, 8) == 75004000 && little(r + 64, 8) == 75005000);
  assert_true(little(r + 72, 8) == 1000000000 && little(r + 80, 4) == 625 && little(r + 84, 4) == 768);
  assert_true(little(r + 88, 4) == 2 && little(r + 92, 2) == 1 && little(r + 94, 2) == 1);
}

static void write_file(const char *path, const unsigned char *bytes, size_t n)
{
  FILE *f = fopen(path, "wb");

  assert_non_null(f);
  assert_int_equal(fwrite(bytes, 1, n, f), n);
  assert_int_equal(fclose(f), 0);
}

static void make_path(char path[32])
{
  strcpy(path, "/tmp/tlg-trace-XXXXXX");
  close(mkstemp(path));
}

static void files_read_back(void **state)
{
  unsigned char b[TLG_TRACE_HEADER_BYTES + RECORDS * TLG_TRACE_RECORD_BYTES];
  const struct tlg_trace_info want = an_info();
  struct tlg_trace_info info;
  struct tlg_trace_record r;
  struct tlg_trace *t;
  char path[32];
  uint64_t i;
  int got;

  (void)state;
  make_path(path);
  write_file(path, b, a_file(b));
  assert_int_equal(tlg_trace_open(&t, path, &info, NULL), TLG_OK);
  assert_memory_equal(&info, &want, sizeof info);
  for (i = 0; i < RECORDS; i++) {
    const struct tlg_trace_record record = a_record(i);

    assert_int_equal(tlg_trace_read(t, &r, &got, NULL), TLG_OK);
    assert_int_equal(got, 1);
    assert_memory_equal(&r, &record, sizeof r);
  }
  assert_int_equal(tlg_trace_read(t, &r, &got, NULL), TLG_OK);
  assert_int_equal(got, 0);
  tlg_trace_close(t);
  unlink(path);
}

/* Every length but the right one is refused, with the place. */
static void cut_and_grown_files_are_refused(void **state)
{
  unsigned char b[TLG_TRACE_HEADER_BYTES + RECORDS * TLG_TRACE_RECORD_BYTES + 1] = {0};
  const size_t n = a_file(b);
  struct tlg_error err;
  struct tlg_trace *t;
  char path[32];
  size_t length;

  (void)state;
  make_path(path);
  for (length = 0; length <= n + 1; length++) {
    write_file(path, b, length);
    if (length == n) {
      assert_int_equal(tlg_trace_open(&t, path, NULL, &err), TLG_OK);
      tlg_trace_close(t);
    } else {
      assert_int_equal(tlg_trace_open(&t, path, NULL, &err), TLG_EFORMAT);
      assert_null(t);
      assert_true(err.text[0] && err.offset != UINT64_MAX);
    }
  }
  unlink(path);
  assert_int_equal(tlg_trace_open(&t, path, NULL, &err), TLG_ESYS);
  assert_null(t);
  assert_int_equal(tlg_trace_open(&t, "/tmp", NULL, &err), TLG_ESYS);
  assert_int_equal(tlg_trace_open(&t, NULL, NULL, &err), TLG_EINVAL);
  assert_int_equal(tlg_trace_open(NULL, path, NULL, &err), TLG_EINVAL);
}

struct damage {
  unsigned at, bytes;
  uint64_t value;
};

static void put(unsigned char *at, uint64_t v, unsigned n)
{
  unsigned i;

  for (i = 0; i < n; i++) {
    at[i] = (unsigned char)(v >> (8 * i));
  }
}

static void damaged_headers_are_refused(void **state)
{
  static const struct damage damages[] = {
      {0, 1, 'X'},  {8, 4, 2},     {12, 4, 191}, {16, 4, 95},       {20, 4, 32},          {24, 8, 0},
      {32, 8, 0},   {32, 8, 5},    {40, 8, 0},   {48, 8, 30720000}, {56, 8, 0},           {64, 8, UINT64_MAX - 1},
      {72, 4, 769}, {76, 4, 0},    {120, 8, 9},  {128, 8, 7},       {128, 8, UINT64_MAX}, {144, 4, 16},
      {148, 1, 1},  {191, 1, 255}, {112, 8, 6},  {24, 8, 184320000}};
  unsigned char b[TLG_TRACE_HEADER_BYTES + RECORDS * TLG_TRACE_RECORD_BYTES];
  size_t i;

  (void)state;
  for (i = 0; i < sizeof damages / sizeof *damages; i++) {
    struct tlg_trace_info info = {.queue = 4711}, untouched = info;
    struct tlg_error err = {0};

    a_file(b);
    put(b + damages[i].at, damages[i].value, damages[i].bytes);
    if (damages[i].at == 64) { /* 1/(2^64-2): an odd speed, but a fraction in lowest terms */
      assert_int_equal(tlg_trace_decode_header(&info, b, sizeof b, &err), TLG_OK);
      continue;
    }
    assert_int_equal(tlg_trace_decode_header(&info, b, sizeof b, &err), TLG_EFORMAT);
    assert_memory_equal(&info, &untouched, sizeof info);
    assert_true(err.text[0] && err.offset < TLG_TRACE_HEADER_BYTES);
  }
  assert_int_equal(tlg_trace_decode_header(NULL, b, sizeof b, NULL), TLG_EINVAL);
}

static void damaged_records_are_refused(void **state)
{
  static const struct damage damages[] = {{0, 8, 2},  {0, 8, 8},          {8, 8, 1874},       {8, 8, UINT64_MAX - 5},
                                          {16, 8, 0}, {24, 8, 0},         {24, 8, 100000101}, {32, 8, 100002001},
                                          {40, 8, 0}, {48, 8, 100004001}, {56, 8, 100005001}, {64, 8, 1000000001},
                                          {72, 8, 5}, {80, 4, 0},         {88, 4, 16}};
  const struct tlg_trace_info info = an_info();
  unsigned char b[TLG_TRACE_HEADER_BYTES + RECORDS * TLG_TRACE_RECORD_BYTES];
  unsigned char *second = b + TLG_TRACE_HEADER_BYTES + TLG_TRACE_RECORD_BYTES;
  const struct tlg_trace_record first = a_record(0);
  struct tlg_trace_record r;
  size_t i;

  (void)state;
  a_file(b);
  assert_int_equal(tlg_trace_decode_record(&r, &info, second, 1, &first, NULL), TLG_OK);
  for (i = 0; i < sizeof damages / sizeof *damages; i++) {
    struct tlg_error err = {0};

    a_file(b);
    put(second + damages[i].at, damages[i].value, damages[i].bytes);
    assert_int_equal(tlg_trace_decode_record(&r, &info, second, 1, &first, &err), TLG_EFORMAT);
    assert_true(err.text[0] && err.offset >= TLG_TRACE_HEADER_BYTES + TLG_TRACE_RECORD_BYTES);
  }
}

/* Random bytes over a good file: no crash, and what is accepted keeps the promises. */
static void random_damage_never_breaks_promises(void **state)
{
  unsigned char b[TLG_TRACE_HEADER_BYTES + RECORDS * TLG_TRACE_RECORD_BYTES];
  uint32_t seed = 1;
  int round;

  (void)state;
  for (round = 0; round < 20000; round++) {
    struct tlg_trace_record r, last;
    struct tlg_trace_info info;
    const size_t n = a_file(b);
    int k;
    uint64_t i;

    for (k = 0; k < 3; k++) {
      seed = seed * 1664525u + 1013904223u;
      b[(seed >> 8) % n] = (unsigned char)(seed >> 3);
    }
    if (tlg_trace_decode_header(&info, b, n, NULL)) {
      continue;
    }
    for (i = 0; i < info.n_records && (i + 1) * TLG_TRACE_RECORD_BYTES + TLG_TRACE_HEADER_BYTES <= n; i++) {
      if (tlg_trace_decode_record(&r, &info, b + TLG_TRACE_HEADER_BYTES + i * TLG_TRACE_RECORD_BYTES, i,
                                  i ? &last : NULL, NULL)) {
        break;
      }
      assert_true(r.air <= r.received && r.delivered <= r.framed && r.n_in);
      assert_true(!i || r.packet > last.packet);
      last = r;
    }
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_bytes_are_as_documented),     cmocka_unit_test(files_read_back),
      cmocka_unit_test(cut_and_grown_files_are_refused), cmocka_unit_test(damaged_headers_are_refused),
      cmocka_unit_test(damaged_records_are_refused),     cmocka_unit_test(random_damage_never_breaks_promises),
  };

  return cmocka_run_group_tests_name("trace", tests, NULL, NULL);
}
