/* SPDX-License-Identifier: Apache-2.0 */
/* Tap files: both forms there and back, every malformed input refused with its place, and mutated bytes. */
#include "tlg_files.h"

#include <openssl/sha.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const int16_t small[] = {8192, 16384, 8192, -5, 5};

static void parse_ok(const char *text, struct tlg_taps *t)
{
  struct tlg_error err;

  if (tlg_taps_parse(t, text, strlen(text), &err) != TLG_OK) {
    fail_msg("'%s': %s", text, err.text);
  }
}

static void is_small(const char *text)
{
  struct tlg_taps t;

  parse_ok(text, &t);
  assert_int_equal(t.n, 5);
  assert_int_equal(t.up, 2);
  assert_int_equal(t.shift, 14);
  assert_memory_equal(t.h, small, sizeof small);
  tlg_taps_free(&t);
}

static void forms(void **state)
{
  (void)state;
  is_small("# S=14 L=2 N=5\n8192\n16384\n8192\n-5\n5\n");
  is_small("# S=14 L=2 N=5\n8192\n16384\n8192\n-5\n5"); /* no last line end */
  is_small("# S=14 L=2 N=5\r\n8192\r\n16384\r\n8192\r\n-5\r\n5\r\n");
  is_small("\xef\xbb\xbf# N=5\tL=2  S=14 made=by-hand note\n# more\n\n  8192\n+16384 \n8192\n# end\n-5\n00005\n\n");
  is_small("{\"shift\":14,\"up\":2,\"taps\":[8192,16384,8192,-5,5]}");
  is_small("\n {\"taps\": [8192, 16384, 8192, -5, 5], \"n\": 5, \"up\": 2, \"note\": [\"x\"], \"shift\": 14}\n");
}

/* The hash as tlg_files.h states it: S, L, N as little-endian uint32, then the taps as little-endian int16. */
static void hashes(void **state)
{
  static const unsigned char bytes[] = {14, 0,    0,    0,    2,    0,    0,    0,    5,    0, 0,
                                        0,  0x00, 0x20, 0x00, 0x40, 0x00, 0x20, 0xfb, 0xff, 5, 0};
  struct tlg_taps t = {(int16_t *)(uintptr_t)small, 5, 2, 14};
  unsigned char digest[32];
  char want[65], got[65], text[256];
  int i;

  (void)state;
  SHA256(bytes, sizeof bytes, digest);
  for (i = 0; i < 32; i++) {
    snprintf(want + 2 * i, 3, "%02x", digest[i]);
  }
  tlg_taps_hash(&t, got);
  assert_string_equal(got, want);
  snprintf(text, sizeof text, "# S=14 L=2 N=5 sha256=%s\n8192\n16384\n8192\n-5\n5\n", want);
  is_small(text);
  snprintf(text, sizeof text, "{\"shift\":14,\"up\":2,\"sha256\":\"%s\",\"taps\":[8192,16384,8192,-5,5]}", want);
  is_small(text);
}

static void round_trip(void **state)
{
  const struct tlg_rate in = {25000000, 1}, out = {30720000, 1};
  char path[] = "/tmp/taplag-taps-XXXXXX", *text, *again;
  struct tlg_taps t, back;
  const int fd = mkstemp(path);

  (void)state;
  assert_true(fd >= 0);
  assert_int_equal(tlg_taps_default(&t, &in, &out, NULL), TLG_OK);
  text = tlg_taps_text(&t);
  assert_non_null(text);
  assert_memory_equal(text, "# S=14 L=768 N=12287 sha256=", 28);
  assert_int_equal(write(fd, text, strlen(text)), strlen(text));
  close(fd);
  assert_int_equal(tlg_taps_load(&back, path, NULL), TLG_OK);
  assert_int_equal(back.n, t.n);
  assert_memory_equal(back.h, t.h, t.n * sizeof *t.h);
  again = tlg_taps_text(&back);
  assert_string_equal(again, text);
  unlink(path);
  free(text);
  free(again);
  tlg_taps_free(&t);
  tlg_taps_free(&back);
}

static void unreadable(void **state)
{
  struct tlg_taps t;
  struct tlg_error err;

  (void)state;
  assert_int_equal(tlg_taps_load(&t, "/nonexistent/taps.txt", &err), TLG_ESYS);
  assert_int_equal(tlg_taps_load(&t, "/tmp", &err), TLG_ESYS);
  assert_int_equal(tlg_taps_load(&t, NULL, &err), TLG_EINVAL);
  assert_int_equal(tlg_taps_parse(NULL, "", 0, &err), TLG_EINVAL);
}

static void malformed(void **state)
{
#define ANY UINT64_MAX
  static const struct {
    const char *text;
    int status;
    unsigned line;
    uint64_t offset; /* ANY: not looked at */
    const char *word;
  } bad[] = {
      {"", TLG_EFORMAT, 0, 0, "empty"},
      {" \n\n", TLG_EFORMAT, 0, 0, "empty"},
      {"8192\n16384\n", TLG_EFORMAT, 1, 0, "first line"},
      {"# taps\n1\n", TLG_EFORMAT, 1, 0, "lacks S="},
      {"# S=14 N=1\n1\n", TLG_EFORMAT, 1, 0, "lacks L="},
      {"# S=14 L=1\n1\n", TLG_EFORMAT, 1, 0, "lacks N="},
      {"# S=0 L=1 N=1\n1\n", TLG_EFORMAT, 1, ANY, "S must be a whole number from 1 to 15"},
      {"# S=16 L=1 N=1\n1\n", TLG_EFORMAT, 1, ANY, "S must be"},
      {"# S=14.5 L=1 N=1\n1\n", TLG_EFORMAT, 1, ANY, "S must be"},
      {"# S= L=1 N=1\n1\n", TLG_EFORMAT, 1, ANY, "S must be"},
      {"# S=14 L=65536 N=1\n1\n", TLG_EFORMAT, 1, ANY, "L must be"},
      {"# S=14 L=-1 N=1\n1\n", TLG_EFORMAT, 1, ANY, "L must be"},
      {"# S=14 L=1 N=0\n", TLG_EFORMAT, 1, ANY, "N must be"},
      {"# S=14 L=1 N=99999999999999999999999\n1\n", TLG_EFORMAT, 1, ANY, "N must be"},
      {"# S=14 L=1 N=4194305\n1\n", TLG_EFORMAT, 1, ANY, "N must be"},
      {"# S=14 L=1 N=1 S=14\n1\n", TLG_EFORMAT, 1, ANY, "twice"},
      {"# S=14 L=1 N=1 sha256=xyz\n1\n", TLG_EFORMAT, 1, ANY, "64 hexadecimal"},
      {"# S=14 L=1 N=1 sha256=0000000000000000000000000000000000000000000000000000000000000000\n1\n", TLG_EFORMAT, 0,
       ANY, "changed or damaged"},
      {"# S=14 L=1 N=2\n1\n", TLG_EFORMAT, 2, 17, "ends after 1 taps"},
      {"# S=14 L=1 N=1\n1\n2\n", TLG_EFORMAT, 3, 17, "more taps than"},
      {"# S=14 L=1 N=2\n1\n2.5\n", TLG_EFORMAT, 3, 17, "'2.5' is no integer"},
      {"# S=14 L=1 N=2\n1 2\n", TLG_EFORMAT, 2, 15, "'1 2' is no integer"},
      {"# S=14 L=1 N=2\n1,\n2\n", TLG_EFORMAT, 2, 15, "'1,' is no integer"},
      {"# S=14 L=1 N=1\n0x10\n", TLG_EFORMAT, 2, 15, "no integer"},
      {"# S=14 L=1 N=1\n-\n", TLG_EFORMAT, 2, 15, "no integer"},
      {"# S=14 L=1 N=1\nnan\n", TLG_EFORMAT, 2, 15, "no integer"},
      {"# S=14 L=1 N=1\n\x01\x02\n", TLG_EFORMAT, 2, 15, "'\?\?' is no integer"},
      {"# S=14 L=1 N=1\n-32768\n", TLG_ETAPS, 2, 15, "tap 0 is out of range"},
      {"# S=14 L=1 N=1\n32768\n", TLG_ETAPS, 2, 15, "out of range"},
      {"# S=14 L=1 N=1\n99999999999999999999999999\n", TLG_ETAPS, 2, 15, "out of range"},
      {"# S=14 L=1 N=3\n32767\n-32767\n2\n", TLG_ETAPS, 0, ANY, "phase 0 sum to 65536, more than 65535"},
      {"{", TLG_EFORMAT, 1, ANY, "no valid JSON"},
      {"{\n\n\"shift\": 14,,}", TLG_EFORMAT, 3, ANY, "no valid JSON"},
      {"{\"shift\":14,\"up\":1,\"taps\":[1]} x", TLG_EFORMAT, 1, ANY, "no valid JSON"},
      {"{\"shift\":14,\"shift\":14,\"up\":1,\"taps\":[1]}", TLG_EFORMAT, 1, ANY, "duplicate"},
      {"[1,2,3]", TLG_EFORMAT, 0, ANY, "an object is wanted"},
      {"{}", TLG_EFORMAT, 0, ANY, "\"shift\" must be there"},
      {"{\"shift\":14.0,\"up\":1,\"taps\":[1]}", TLG_EFORMAT, 0, ANY, "\"shift\""},
      {"{\"shift\":14,\"up\":0,\"taps\":[1]}", TLG_EFORMAT, 0, ANY, "\"up\""},
      {"{\"shift\":14,\"up\":1}", TLG_EFORMAT, 0, ANY, "\"taps\""},
      {"{\"shift\":14,\"up\":1,\"taps\":[]}", TLG_EFORMAT, 0, ANY, "\"taps\""},
      {"{\"shift\":14,\"up\":1,\"taps\":{}}", TLG_EFORMAT, 0, ANY, "\"taps\""},
      {"{\"shift\":14,\"up\":1,\"n\":2,\"taps\":[1]}", TLG_EFORMAT, 0, ANY, "\"n\" is 2"},
      {"{\"shift\":14,\"up\":1,\"taps\":[1,2.0]}", TLG_EFORMAT, 0, ANY, "[1] is no integer"},
      {"{\"shift\":14,\"up\":1,\"taps\":[\"1\"]}", TLG_EFORMAT, 0, ANY, "[0] is no integer"},
      {"{\"shift\":14,\"up\":1,\"taps\":[1,-32768]}", TLG_ETAPS, 0, ANY, "tap 1 is out of range"},
      {"{\"shift\":14,\"up\":1,\"taps\":[1e999]}", TLG_EFORMAT, 1, ANY, "no valid JSON"},
      {"{\"shift\":14,\"up\":1,\"sha256\":7,\"taps\":[1]}", TLG_EFORMAT, 0, ANY, "64 hexadecimal"},
      {"{\"shift\":14,\"up\":2,\"taps\":[1,32767,1,32767,1,2]}", TLG_ETAPS, 0, ANY, "phase 1 "},
  };
  size_t i;

  (void)state;
  for (i = 0; i < sizeof bad / sizeof *bad; i++) {
    struct tlg_taps t = {NULL, 77, 0, 0};
    struct tlg_error err;
    const int st = tlg_taps_parse(&t, bad[i].text, strlen(bad[i].text), &err);

    if (st != bad[i].status || err.status != st || err.line != bad[i].line ||
        (bad[i].offset != ANY && err.offset != bad[i].offset) || !strstr(err.text, bad[i].word) || t.n != 77) {
      fail_msg("'%s': status %d, line %u, offset %llu, '%s'", bad[i].text, st, err.line, (unsigned long long)err.offset,
               err.text);
    }
    assert_int_equal(tlg_taps_parse(&t, bad[i].text, strlen(bad[i].text), NULL), bad[i].status);
  }
  { /* bytes after a NUL count: nothing ends early */
    static const char nul[] = "# S=14 L=1 N=1\n1\n\0\n";
    struct tlg_taps t;

    assert_int_equal(tlg_taps_parse(&t, nul, sizeof nul - 1, NULL), TLG_EFORMAT);
  }
  { /* deep nesting is refused, not recursed into */
    char *deep = malloc(100001);
    struct tlg_taps t;

    memset(deep, '[', 100000);
    deep[100000] = '\0';
    assert_int_equal(tlg_taps_parse(&t, deep, 100000, NULL), TLG_EFORMAT);
    free(deep);
  }
}

/* Bytes changed, cut, doubled: refused with a sentence, or accepted and then safe. */
static void mutations(void **state)
{
  static const char *const seeds[] = {
      "# S=14 L=2 N=5\n8192\n16384\n8192\n-5\n5\n",
      "{\"shift\":14,\"up\":2,\"taps\":[8192,16384,8192,-5,5]}",
      "# S=14 L=1 N=1 sha256=0000000000000000000000000000000000000000000000000000000000000000\n1\n",
  };
  uint32_t counter[4] = {0, 0, 0, 0};
  const uint32_t key[2] = {2, 7};
  unsigned accepted = 0, refused = 0;
  int round;

  (void)state;
  for (round = 0; round < 30000; round++) {
    const char *seed = seeds[round % 3];
    size_t n = strlen(seed), i;
    char *bytes = malloc(2 * n + 1); /* exact size, so that a sanitizer sees reads past the end */
    struct tlg_taps t;
    struct tlg_error err;
    uint32_t word[4];

    memcpy(bytes, seed, n);
    counter[0] = (uint32_t)round;
    tlg_philox(counter, key, word);
    for (i = 0; i <= word[3] % 3; i++) {
      const size_t at = word[i] % n;

      switch (word[i] >> 16 & 3) {
      case 0:
        bytes[at] = (char)(word[i] >> 24);
        break;
      case 1:
        n = at + 1;
        break;
      case 2:
        bytes[at] = "0123456789-#= \n{}[]\","[(word[i] >> 24) % 21];
        break;
      default:
        if (2 * n <= 2 * strlen(seed)) {
          memmove(bytes + at, bytes + at / 2, n - at);
        }
      }
    }
    bytes = realloc(bytes, n);
    memset(&err, 0, sizeof err);
    if (tlg_taps_parse(&t, bytes, n, &err) == TLG_OK) {
      accepted++;
      assert_int_equal(tlg_taps_check(&t, NULL), TLG_OK);
      tlg_taps_free(&t);
    } else {
      refused++;
      assert_true(err.status < 0 && err.text[0]);
    }
    free(bytes);
  }
  assert_true(accepted > 100 && refused > 1000); /* both ways were tried */
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(forms),      cmocka_unit_test(hashes),    cmocka_unit_test(round_trip),
      cmocka_unit_test(unreadable), cmocka_unit_test(malformed), cmocka_unit_test(mutations),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
