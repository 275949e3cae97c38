/* SPDX-License-Identifier: Apache-2.0 */
/* SigMF recordings: types, captures, gaps, headers between samples, and meta files that are wrong in every way. */
#include "iq_files.h"

/* A meta file out of what stands in "global" and in "captures". */
static void put_meta(const char *name, const char *global, const char *captures)
{
  char text[4096];

  snprintf(text, sizeof text, "{\n\"global\": {\n%s\n},\n\"captures\": [\n%s\n],\n\"annotations\": []\n}\n", global,
           captures);
  put_text(name, text);
}

#define CI16 "\"core:datatype\": \"ci16_le\", \"core:sample_rate\": 25000000, \"core:version\": \"1.0.0\""
#define START "{\"core:sample_start\": 0}"

static void plain(void **unused)
{
  struct outcome *o;

  (void)unused;
  put_marked("p.sigmf-data", 0, 5000);
  put_meta("p.sigmf-meta", CI16,
           "{\"core:sample_start\": 0, \"core:frequency\": 1815300000.5, \"core:datetime\": "
           "\"2024-05-01T12:00:00.25Z\"}");
  o = accepted("p.sigmf-meta", NULL, 5000, "");
  assert_string_equal(o->hints, "");
  assert_marked(o, 0, 0, 5000);
  assert_int_equal(o->info.container, TLG_CONTAINER_SIGMF);
  assert_int_equal(o->info.format, TLG_FORMAT_CS16);
  assert_int_equal(o->info.rate.num, 25000000);
  assert_string_equal(o->info.rate_source, "header");
  assert_true(o->info.frequency_hz == 1815300000.5);
  assert_string_equal(o->captures[0].datetime, "2024-05-01T12:00:00.25Z");
  accepted("p.sigmf-data", NULL, 5000, "");
  accepted("p", NULL, 5000, ""); /* as SigMF names a recording */
  {
    const struct tlg_reader_cfg wins = {.format = TLG_FORMAT_CS8, .rate = {1000, 1}};

    o = accepted("p.sigmf-meta", &wins, 10000, "--format cs8 wins");
    assert_int_equal(o->info.rate.num, 1000);
    assert_non_null(strstr(o->hints, "25 Msps"));
  }
}

static void datatypes(void **unused)
{
  static const struct {
    const char *name;
    enum tlg_format format;
    int big;
  } types[] = {
      {"cf64_le", TLG_FORMAT_CF64, 0}, {"cf64_be", TLG_FORMAT_CF64, 1}, {"cf32_le", TLG_FORMAT_CF32, 0},
      {"cf32_be", TLG_FORMAT_CF32, 1}, {"ci32_le", TLG_FORMAT_CS32, 0}, {"ci32_be", TLG_FORMAT_CS32, 1},
      {"ci16_le", TLG_FORMAT_CS16, 0}, {"ci16_be", TLG_FORMAT_CS16, 1}, {"cu32_le", TLG_FORMAT_CU32, 0},
      {"cu32_be", TLG_FORMAT_CU32, 1}, {"cu16_le", TLG_FORMAT_CU16, 0}, {"cu16_be", TLG_FORMAT_CU16, 1},
      {"ci8", TLG_FORMAT_CS8, 0},      {"cu8", TLG_FORMAT_CU8, 0},      {"ci8_le", TLG_FORMAT_CS8, 0},
  };
  static const char *const bad[] = {"rf32_le", "ri16_le", "ru8",     "ci16",    "ci12_le",  "cf16_le",
                                    "",        "c",       "xi16_le", "ci16_xe", "ci16_le2", "complex"};
  static tlg_cs16 x[256];
  static uint8_t bytes[256 * 16];
  char text[200];
  size_t i, k;

  (void)unused;
  for (k = 0; k < 256; k++) {
    x[k].i = (int16_t)(256 * (int)k - 32768);
    x[k].q = (int16_t)(32640 - 256 * (int)k + 128);
  }
  for (i = 0; i < sizeof types / sizeof *types; i++) {
    const size_t size = tlg_format_size(types[i].format) / 2;
    struct outcome *o;

    tlg_convert_from_cs16(bytes, x, 256, types[i].format, NULL);
    if (types[i].big) {
      for (k = 0; k < 512; k++) {
        size_t j;

        for (j = 0; j < size / 2; j++) {
          const uint8_t t = bytes[k * size + j];

          bytes[k * size + j] = bytes[k * size + size - 1 - j];
          bytes[k * size + size - 1 - j] = t;
        }
      }
    }
    put_file("t.sigmf-data", bytes, 512 * size);
    snprintf(text, sizeof text, "\"core:datatype\": \"%s\", \"core:sample_rate\": 1e6", types[i].name);
    put_meta("t.sigmf-meta", text, START);
    o = accepted("t.sigmf-meta", NULL, 256, "");
    assert_int_equal(o->info.format, types[i].format);
    assert_int_equal(o->info.big_endian, types[i].big);
    for (k = 0; k < 256; k++) {
      /* 8 bits keep the upper half; cu8 stands half a step off */
      const int off = types[i].format == TLG_FORMAT_CU8 ? 128 : 0;

      assert_true(abs(o->samples[k].i - x[k].i) <= off);
      assert_true(abs(o->samples[k].q - x[k].q) <= off + (size == 1 ? 128 : 0));
    }
  }
  for (i = 0; i < sizeof bad / sizeof *bad; i++) {
    snprintf(text, sizeof text, "\"core:sample_rate\": 1e6,\n\"core:datatype\": \"%s\"", bad[i]);
    put_meta("t.sigmf-meta", text, START);
    if (strcmp(bad[i], "ci16") == 0) {
      accepted("t.sigmf-meta", NULL, 128, "little endian is taken");
      continue;
    }
    refused("t.sigmf-meta", NULL, TLG_EFORMAT, bad[i][0] == 'r' ? "real samples" : "not known");
    assert_int_equal(read_all("t.sigmf-meta", NULL)->err.line, 4);
  }
  put_meta("t.sigmf-meta", "\"core:datatype\": \"ci16_le\"", START); /* the rate may be missing */
  assert_int_equal(accepted("t.sigmf-meta", NULL, 128, "")->info.rate.num, 0);
}

/* SigMF#226: cf32 samples labelled cf64. */
static void wrong_label(void **unused)
{
  static float x[2 * 4096];
  uint32_t state = 7;
  size_t k;

  (void)unused;
  for (k = 0; k < 2 * 4096; k++) {
    x[k] = (float)((int)(xorshift(&state) % 20001) - 10000) / 15000.0f;
  }
  put_file("l.sigmf-data", x, sizeof x);
  put_meta("l.sigmf-meta", "\"core:datatype\": \"cf64_le\", \"core:sample_rate\": 1e6", START);
  accepted("l.sigmf-meta", NULL, 2048, "look like cf32");
  put_meta("l.sigmf-meta", "\"core:datatype\": \"cf32_le\", \"core:sample_rate\": 1e6", START);
  assert_string_equal(accepted("l.sigmf-meta", NULL, 4096, "")->hints, "");
  put_meta("l.sigmf-meta", "\"core:datatype\": \"ci16_le\", \"core:sample_rate\": 1e6", START);
  accepted("l.sigmf-meta", NULL, 8192, "look like cf32");
}

/* SigMF#124: the first capture at 500, no frequency in the second: it does not carry over. */
static void captures(void **unused)
{
  struct outcome *o;

  (void)unused;
  put_marked("c.sigmf-data", 0, 3000);
  put_meta("c.sigmf-meta", CI16,
           "{\"core:sample_start\": 500, \"core:frequency\": 1e9},\n{\"core:sample_start\": 2000}");
  o = accepted("c.sigmf-meta", NULL, 3000, "starts at sample 500; what stands before it is read");
  assert_marked(o, 0, 0, 3000);
  assert_int_equal(o->info.n_captures, 3);
  assert_true(isnan(o->captures[0].frequency_hz));
  assert_int_equal(o->captures[0].n, 500);
  assert_true(o->captures[1].frequency_hz == 1e9);
  assert_int_equal(o->captures[1].first, 500);
  assert_int_equal(o->captures[1].n, 1500);
  assert_true(isnan(o->captures[2].frequency_hz));
  assert_int_equal(o->captures[2].n, 1000);
  assert_int_equal(o->n_jumps, 0);
  /* core:offset shifts the numbers */
  put_meta("c.sigmf-meta", CI16 ", \"core:offset\": 1000000",
           "{\"core:sample_start\": 1000000},\n{\"core:sample_start\": 1002000}");
  o = accepted("c.sigmf-meta", NULL, 3000, "");
  assert_int_equal(o->info.offset, 1000000);
  assert_int_equal(o->info.n_captures, 2);
  assert_int_equal(o->captures[1].first, 2000);
  put_meta("c.sigmf-meta", CI16 ", \"core:offset\": 1000000", START ",\n{\"core:sample_start\": 2000}");
  o = accepted("c.sigmf-meta", NULL, 3000, "core:offset");
  assert_int_equal(o->captures[1].first, 2000);
  /* none at all, two at one place */
  put_meta("c.sigmf-meta", CI16, "");
  accepted("c.sigmf-meta", NULL, 3000, "no captures");
  put_meta("c.sigmf-meta", CI16, START ",\n" START);
  accepted("c.sigmf-meta", NULL, 3000, "holds no samples");
  /* out of order; beyond the end */
  put_meta("c.sigmf-meta", CI16, "{\"core:sample_start\": 100},\n{\"core:sample_start\": 99}");
  o = refused("c.sigmf-meta", NULL, TLG_EFORMAT, "order");
  assert_int_equal(o->err.line, 7);
  put_meta("c.sigmf-meta", CI16, START ",\n{\"core:sample_start\": 4000}");
  o = refused("c.sigmf-meta", NULL, TLG_EFORMAT, "4000");
  assert_int_equal(o->err.line, 7);
  {
    const struct tlg_reader_cfg rescue = {.rescue = 1};

    o = accepted("c.sigmf-meta", &rescue, 3000, "4000");
    assert_int_equal(o->info.header_lies, 1);
  }
}

/* gr-sigmf#27 and the like: a gap of 1000 samples between two captures, told by their times or by core:global_index. */
static void gaps(void **unused)
{
  static const char *const told[] = {
      /* 2000 samples at 25 Msps are 80 us; the second capture is 120 us after the first */
      "{\"core:sample_start\": 0, \"core:datetime\": \"2024-05-01T12:00:00.000000Z\"},\n"
      "{\"core:sample_start\": 2000, \"core:datetime\": \"2024-05-01T12:00:00.000120Z\"}",
      "{\"core:sample_start\": 0, \"core:datetime\": \"2023-12-31T23:59:59.999900Z\"},\n"
      "{\"core:sample_start\": 2000, \"core:datetime\": \"2024-01-01T00:00:00.000020Z\"}",
      "{\"core:sample_start\": 0, \"core:global_index\": 500},\n"
      "{\"core:sample_start\": 2000, \"core:global_index\": 3500}",
  };
  const struct tlg_reader_cfg windows[] = {
      {.start = 1500, .length = 2000}, {.start = 2500, .length = 1000}, {.start = 1000, .length = 1500}};
  struct outcome *o;
  size_t i;

  (void)unused;
  put_marked("g.sigmf-data", 0, 3000);
  for (i = 0; i < sizeof told / sizeof *told; i++) {
    put_meta("g.sigmf-meta", CI16, told[i]);
    o = accepted("g.sigmf-meta", NULL, 3000, "");
    assert_marked(o, 0, 0, 3000);
    assert_int_equal(o->n_jumps, 1);
    assert_int_equal(o->jumps[0], 1000);
    assert_int_equal(o->info.n_missing, 1000);
    assert_int_equal(o->captures[1].first, 3000);
    assert_int_equal(o->captures[1].gap_before, 1000);
    assert_int_equal(o->end, 4000);
  }
  /* windows count the gap's samples */
  o = accepted("g.sigmf-meta", &windows[0], 1000, "");
  assert_marked(o, 0, 1500, 500);
  assert_marked(o, 500, 2000, 500);
  assert_int_equal(o->jumps[0], 1000);
  assert_int_equal(o->end, 2000);
  o = accepted("g.sigmf-meta", &windows[1], 500, "");
  assert_marked(o, 0, 2000, 500);
  assert_int_equal(o->jumps[0], 500);
  o = accepted("g.sigmf-meta", &windows[2], 1000, "");
  assert_marked(o, 0, 1000, 1000);
  assert_int_equal(o->end, 2500 - 1000);
  {
    const struct tlg_reader_cfg inside = {.start = 2100, .length = 100};

    refused("g.sigmf-meta", &inside, TLG_EINVAL, "gap");
  }
}

/* 1010 samples at 25 Msps are 40.4 us; 41.0 us are 15 samples more. Times with nine or more decimals tell that, though
 * zeros at their end may be left out; with six it cannot be told, which is said. */
static void short_gaps(void **unused)
{
  static const struct {
    const char *first, *second;
    uint64_t missing;
    const char *hint;
  } cases[] = {
      {"12:00:00.000000000000Z", "12:00:00.000041000001Z", 15, ""},
      {"12:00:00.000000000Z", "12:00:00.000041000Z", 15, ""},
      {"12:00:00Z", "12:00:00.000041000001Z", 15, ""},
      {"12:00:00.000000Z", "12:00:00.000041000001Z", 15, ""},
      {"11:59:59.999999000000Z", "12:00:00.000039440000Z", 1, ""},
      {"12:00:00.000000000Z", "12:00:00.000040400Z", 0, ""},
      {"12:00:00.000000000Z", "12:00:00.000040419Z", 0, ""}, /* not half a sample */
      {"12:00:00.000000Z", "12:00:00.000041Z", 0, "is worth 25 samples"},
      {"12:00:00.0000000Z", "12:00:00.0000410Z", 15, "is worth 3 samples"},
      {"12:00:00.000000Z", "12:00:00.000042Z", 40, "is worth 25 samples"},
      {"12:00:00.000Z", "12:00:00.001Z", 0, "is worth 25000 samples"},
  };
  size_t i;

  (void)unused;
  put_marked("s.sigmf-data", 0, 3000);
  for (i = 0; i < sizeof cases / sizeof *cases; i++) {
    char captures[400];
    struct outcome *o;

    snprintf(captures, sizeof captures,
             "{\"core:sample_start\": 0, \"core:datetime\": \"2024-05-01T%s\"},\n"
             "{\"core:sample_start\": 1010, \"core:datetime\": \"2024-05-01T%s\"}",
             cases[i].first, cases[i].second);
    put_meta("s.sigmf-meta", CI16, captures);
    o = accepted("s.sigmf-meta", NULL, 3000, cases[i].hint);
    assert_int_equal(o->info.n_missing, cases[i].missing);
    assert_int_equal(strstr(o->hints, "cannot be told from none") != NULL, cases[i].hint[0] != 0);
    assert_marked(o, 0, 0, 3000);
  }
}

static void no_gaps(void **unused)
{
  static const struct {
    const char *captures, *hint;
  } cases[] = {
      /* times as exact as they say: 80 us shown in milliseconds */
      {"{\"core:sample_start\": 0, \"core:datetime\": \"2024-05-01T12:00:00.001Z\"},\n"
       "{\"core:sample_start\": 2000, \"core:datetime\": \"2024-05-01T12:00:00.001Z\"}",
       ""},
      {"{\"core:sample_start\": 0, \"core:datetime\": \"2024-05-01T12:00:00Z\"},\n"
       "{\"core:sample_start\": 2000, \"core:datetime\": \"2024-05-01T12:00:01Z\"}",
       ""},
      {"{\"core:sample_start\": 0, \"core:datetime\": \"2024-05-01T12:00:00.000000000Z\"},\n"
       "{\"core:sample_start\": 2000, \"core:datetime\": \"2024-05-01T12:00:00.000080000Z\"}",
       ""},
      /* one without a time */
      {"{\"core:sample_start\": 0, \"core:datetime\": \"2024-05-01T12:00:00Z\"},\n{\"core:sample_start\": 2000}", ""},
      /* they overlap: said, and joined */
      {"{\"core:sample_start\": 0, \"core:global_index\": 0},\n"
       "{\"core:sample_start\": 2000, \"core:global_index\": 1900}",
       "begins 100 samples before"},
      {"{\"core:sample_start\": 0, \"core:datetime\": \"2024-05-01T12:00:00.000000Z\"},\n"
       "{\"core:sample_start\": 2000, \"core:datetime\": \"2024-05-01T12:00:00.000040Z\"}",
       "begins 1000 samples before"},
      /* no times at all */
      {"{\"core:sample_start\": 0, \"core:datetime\": \"yesterday\"},\n"
       "{\"core:sample_start\": 2000, \"core:datetime\": \"2024-13-01T12:00:00Z\"}",
       "no time in UTC"},
      {"{\"core:sample_start\": 0, \"core:datetime\": \"0001-01-01T00:00:00.0000Z\"},\n"
       "{\"core:sample_start\": 2000, \"core:datetime\": \"9999-12-31T23:59:59.0000Z\"}",
       "too far apart"},
  };
  size_t i;

  (void)unused;
  put_marked("n.sigmf-data", 0, 3000);
  for (i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct outcome *o;

    put_meta("n.sigmf-meta", CI16, cases[i].captures);
    o = accepted("n.sigmf-meta", NULL, 3000, cases[i].hint);
    assert_int_equal(o->n_jumps, 0);
    assert_marked(o, 0, 0, 3000);
  }
}

/* Non-conforming datasets: bytes between the samples and after them. */
static void other_bytes(void **unused)
{
  uint8_t bytes[100 + 4 * 1000 + 7 + 4 * 500 + 33];
  tlg_cs16 x;
  struct outcome *o;
  size_t k, at = 100;

  (void)unused;
  memset(bytes, 0xee, sizeof bytes);
  for (k = 0; k < 1500; k++) {
    at += k == 1000 ? 7 : 0;
    x = marked(k);
    memcpy(bytes + at, &x, 4);
    at += 4;
  }
  put_file("camera file.bin", bytes, sizeof bytes);
  put_meta("ncd.sigmf-meta", CI16 ",\n\"core:dataset\": \"camera file.bin\",\n\"core:trailing_bytes\": 33",
           "{\"core:sample_start\": 0, \"core:header_bytes\": 100},\n{\"core:sample_start\": 1000, "
           "\"core:header_bytes\": 7}");
  o = accepted("ncd.sigmf-meta", NULL, 1500, "");
  assert_marked(o, 0, 0, 1500);
  assert_int_equal(o->info.tail_bytes, 0);
  put_meta("ncd.sigmf-meta", CI16 ",\n\"core:dataset\": \"camera file.bin\",\n\"core:trailing_bytes\": 34",
           "{\"core:sample_start\": 0, \"core:header_bytes\": 100},\n{\"core:sample_start\": 1000, "
           "\"core:header_bytes\": 7}");
  o = accepted("ncd.sigmf-meta", NULL, 1499, "3 bytes");
  put_meta("ncd.sigmf-meta", CI16 ",\n\"core:dataset\": \"camera file.bin\",\n\"core:trailing_bytes\": 33000", START);
  refused("ncd.sigmf-meta", NULL, TLG_EFORMAT, "trailing_bytes");
  put_meta("ncd.sigmf-meta", CI16 ",\n\"core:dataset\": \"camera file.bin\"",
           "{\"core:sample_start\": 0, \"core:header_bytes\": 9007199254740992}");
  refused("ncd.sigmf-meta", NULL, TLG_EFORMAT, "");
}

static void leaving_the_folder(void **unused)
{
  static const char *const names[] = {"../secret.cs16", "/etc/passwd", "..", ".", "", "a/b"};
  char text[300];
  size_t i;

  (void)unused;
  for (i = 0; i < sizeof names / sizeof *names; i++) {
    snprintf(text, sizeof text, CI16 ",\n\"core:dataset\": \"%s\"", names[i]);
    put_meta("leave.sigmf-meta", text, START);
    refused("leave.sigmf-meta", NULL, TLG_EFORMAT, "same folder");
    assert_int_equal(read_all("leave.sigmf-meta", NULL)->err.line, 4);
  }
  put_meta("leave.sigmf-meta", CI16 ", \"core:dataset\": 5", START);
  refused("leave.sigmf-meta", NULL, TLG_EFORMAT, "same folder");
  put_meta("leave.sigmf-meta", CI16 ", \"core:dataset\": \"nowhere.bin\"", START);
  refused("leave.sigmf-meta", NULL, TLG_ESYS, "nowhere.bin");
  put_meta("leave.sigmf-meta", CI16, START);
  refused("leave.sigmf-meta", NULL, TLG_ESYS, "leave.sigmf-data");
  put_meta("leave.sigmf-meta", CI16 ", \"core:metadata_only\": true", START);
  refused("leave.sigmf-meta", NULL, TLG_EFORMAT, "metadata_only");
}

static void channels(void **unused)
{
  tlg_cs16 x[3 * 1000];
  struct tlg_reader_cfg cfg = {0};
  struct outcome *o;
  size_t k;

  (void)unused;
  for (k = 0; k < 1000; k++) {
    x[3 * k] = marked(k);
    x[3 * k + 1] = marked(k + 5000);
    x[3 * k + 2] = marked(k + 10000);
  }
  put_file("m.sigmf-data", x, sizeof x);
  put_meta("m.sigmf-meta", CI16 ", \"core:num_channels\": 3", START);
  refused("m.sigmf-meta", NULL, TLG_EINVAL, "3 channels");
  for (cfg.channel = 1; cfg.channel <= 3; cfg.channel++) {
    o = accepted("m.sigmf-meta", &cfg, 1000, "");
    assert_marked(o, 0, 5000 * (cfg.channel - 1), 1000);
    assert_int_equal(o->info.n_channels, 3);
  }
  refused("m.sigmf-meta", &cfg, TLG_EINVAL, "3 channels");
  put_meta("m.sigmf-meta", CI16 ", \"core:num_channels\": 0", START);
  refused("m.sigmf-meta", NULL, TLG_EFORMAT, "num_channels");
  put_meta("m.sigmf-meta", CI16 ", \"core:num_channels\": 1e9", START);
  refused("m.sigmf-meta", NULL, TLG_EFORMAT, "num_channels");
}

static int stop_at_once(void *context, uint64_t done, uint64_t total)
{
  (void)context;
  return done <= total;
}

/* The hash of "abc" (FIPS 180-4) tells that the right function runs; a changed byte is found. */
static void hashes(void **unused)
{
  static const char abc[] = "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
                            "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f";
  struct tlg_reader_cfg cfg = {0};
  char text[600];
  struct outcome *o;

  (void)unused;
  put_text("h.sigmf-data", "abc");
  snprintf(text, sizeof text, "\"core:datatype\": \"ci8\",\n\"core:sha512\": \"%s\"", abc);
  put_meta("h.sigmf-meta", text, START);
  o = accepted("h.sigmf-meta", NULL, 1, "1 byte at the end of the data left out");
  assert_int_equal(o->info.hash, TLG_HASH_GOOD);
  cfg.progress = stop_at_once;
  refused("h.sigmf-meta", &cfg, TLG_EINTR, "hash");
  cfg.progress = NULL;
  put_text("h.sigmf-data", "abd");
  o = refused("h.sigmf-meta", NULL, TLG_EFORMAT, "--no-hash");
  assert_int_equal(o->err.line, 4);
  cfg.rescue = 1; /* reads what is there, and says so ... */
  o = accepted("h.sigmf-meta", &cfg, 1, "core:sha512");
  assert_int_equal(o->info.hash, TLG_HASH_WRONG);
  assert_int_equal(o->info.header_lies, 1);
  cfg.strict_hash = 1; /* ... unless told not to */
  refused("h.sigmf-meta", &cfg, TLG_EFORMAT, "--rescue");
  cfg.skip_hash = 1;
  o = accepted("h.sigmf-meta", &cfg, 1, "");
  assert_int_equal(o->info.hash, TLG_HASH_SKIPPED);
  put_meta("h.sigmf-meta", "\"core:datatype\": \"ci8\",\n\"core:sha512\": \"12\"", START);
  refused("h.sigmf-meta", NULL, TLG_EFORMAT, "128 hex digits");
  put_meta("h.sigmf-meta", "\"core:datatype\": \"ci8\",\n\"core:sha512\": 12", START);
  refused("h.sigmf-meta", NULL, TLG_EFORMAT, "128 hex digits");
}

static void odd_rates(void **unused)
{
  static const struct {
    const char *text;
    uint64_t num, den; /* 0 = refused */
  } rates[] = {
      {"25000000", 25000000, 1},
      {"30.72e6", 30720000, 1},
      {"26331428.571428571", 184320000, 7},
      {"1.5", 3, 2},
      {"0", 0, 0},
      {"-25e6", 0, 0},
      {"1e300", 0, 0},
      {"\"25e6\"", 0, 0},
      {"[25e6]", 0, 0},
      {"33333333.333333332", 100000000, 3},
  };
  char text[200];
  size_t i;

  (void)unused;
  put_marked("r.sigmf-data", 0, 100);
  for (i = 0; i < sizeof rates / sizeof *rates; i++) {
    snprintf(text, sizeof text, "\"core:datatype\": \"ci16_le\",\n\"core:sample_rate\": %s", rates[i].text);
    put_meta("r.sigmf-meta", text, START);
    if (rates[i].num) {
      const struct outcome *o = accepted("r.sigmf-meta", NULL, 100, "");

      assert_int_equal(o->info.rate.num, rates[i].num);
      assert_int_equal(o->info.rate.den, rates[i].den);
    } else {
      const struct tlg_reader_cfg cfg = {.rate = {1000000, 1}};

      refused("r.sigmf-meta", NULL, TLG_EFORMAT, "--rate");
      assert_int_equal(read_all("r.sigmf-meta", NULL)->err.line, 4);
      accepted("r.sigmf-meta", &cfg, 100, "");
    }
  }
}

/* Byte-order marks, NaN, names in UTF-8 with spaces, and everything else that JSON files go through. */
static void odd_texts(void **unused)
{
  static const struct {
    const char *text;
    int status;
    const char *word; /* of the hint or the error */
  } texts[] = {
      {"\xef\xbb\xbf{\"global\": {\"core:datatype\": \"ci16_le\"}, \"captures\": []}", 0, "no captures"},
      {"{\"global\": {\"core:datatype\": \"ci16_le\", \"x:a\": NaN, \"x:b\": -Infinity, \"x:c\": \"NaN\"}, "
       "\"captures\": "
       "[{\"core:sample_start\": 0, \"core:frequency\": NaN}]}",
       0, "NaN"},
      {"{\"global\": {\"core:datatype\": \"ci16_le\", \"core:description\": \"Grüße \\u00e9 \\\" NaN \\\\\"}, "
       "\"captures\": [{\"core:sample_start\": 0}]}",
       0, ""},
      {"{\"global\": {\"core:datatype\": \"ci16_le\", \"core:extensions\": [{\"name\": \"secret\", \"optional\": "
       "false}]}, \"captures\": [{\"core:sample_start\": 0}]}",
       0, "extension 'secret'"},
      {"{\"global\": {\"core:datatype\": \"ci16_le\", \"core:sample_rate\": null}, \"captures\": null}", 0, "captures"},
      {"", TLG_EFORMAT, "empty"},
      {"\xff\xfe{", TLG_EFORMAT, "UTF-16"},
      {"{", TLG_EFORMAT, "JSON"},
      {"\"e\\\n\x1b[31m\\f", TLG_EFORMAT, "JSON"}, /* what is quoted from a file moves no cursor and ends no line */
      {"{\"global\": {\"core:datatype\": \"c\\u001b[2Jx\"}}", TLG_EFORMAT, "?[2Jx"},
      {"null", TLG_EFORMAT, "JSON"},
      {"[]", TLG_EFORMAT, "object"},
      {"{}", TLG_EFORMAT, "global"},
      {"{\"global\": 5}", TLG_EFORMAT, "global"},
      {"{\"global\": {}}", TLG_EFORMAT, "core:datatype"},
      {"{\"global\": {\"core:datatype\": 5}}", TLG_EFORMAT, "string"},
      {"{\"global\": {\"core:datatype\": \"ci16_le\", \"core:datatype\": \"ci8\"}}", TLG_EFORMAT, "JSON"},
      {"{\"global\": {\"core:datatype\": \"ci16_le\xff\"}}", TLG_EFORMAT, "JSON"},
      {"{\"global\": {\"core:datatype\": \"ci16_le\"}, \"captures\": {}}", TLG_EFORMAT, "array"},
      {"{\"global\": {\"core:datatype\": \"ci16_le\"}, \"captures\": [5]}", TLG_EFORMAT, "object"},
      {"{\"global\": {\"core:datatype\": \"ci16_le\"}, \"captures\": [{}]}", TLG_EFORMAT, "core:sample_start"},
      {"{\"global\": {\"core:datatype\": \"ci16_le\"}, \"captures\": [{\"core:sample_start\": -1}]}", TLG_EFORMAT,
       "whole number"},
      {"{\"global\": {\"core:datatype\": \"ci16_le\"}, \"captures\": [{\"core:sample_start\": 1.5}]}", TLG_EFORMAT,
       "whole number"},
      {"{\"global\": {\"core:datatype\": \"ci16_le\"}, \"captures\": [{\"core:sample_start\": \"0\"}]}", TLG_EFORMAT,
       "whole number"},
      {"{\"global\": {\"core:datatype\": \"ci16_le\"}, \"captures\": [{\"core:sample_start\": 1e300}]}", TLG_EFORMAT,
       "whole number"},
      {"{\"global\": {\"core:datatype\": \"ci16_le\"}, \"captures\": [{\"core:sample_start\": 9223372036854775807}]}",
       TLG_EFORMAT, "whole number"},
      {"{\"global\": {\"core:datatype\": \"ci16_le\"}, \"captures\": [{\"core:sample_start\": 99999999999999999999}]}",
       TLG_EFORMAT, "JSON"},
      {"{\"global\": {\"core:datatype\": \"ci16_le\"}, \"captures\": [{\"core:sample_start\": 9007199254740992}]}",
       TLG_EFORMAT, "9007199254740992"},
      {"{\"global\": {\"core:datatype\": \"ci16_le\"}, \"captures\": [{\"core:sample_start\": 0, "
       "\"core:header_bytes\": "
       "-4}]}",
       TLG_EFORMAT, "header_bytes"},
      {"{\"global\": {\"core:datatype\": \"ci16_le\"}, \"captures\": [{\"core:sample_start\": 0, \"core:frequency\": "
       "\"x\"}]}",
       TLG_EFORMAT, "core:frequency"},
      {"{\"global\": {\"core:datatype\": \"ci16_le\"}, \"captures\": [{\"core:sample_start\": 0, \"core:datetime\": "
       "5}]}",
       TLG_EFORMAT, "core:datetime"},
      {"{\"global\": {\"core:datatype\": \"ci16_le\", \"core:offset\": -5}, \"captures\": []}", TLG_EFORMAT, "offset"},
      {"{\"global\": {\"core:datatype\": \"ci16_le\", \"core:trailing_bytes\": \"1\"}, \"captures\": []}", TLG_EFORMAT,
       "trailing"},
  };
  static char deep[200000];
  size_t i;

  (void)unused;
  put_marked("Grüße an alle.sigmf-data", 0, 100);
  for (i = 0; i < sizeof texts / sizeof *texts; i++) {
    put_text("Grüße an alle.sigmf-meta", texts[i].text);
    if (texts[i].status) {
      refused("Grüße an alle.sigmf-meta", NULL, texts[i].status, texts[i].word);
    } else {
      accepted("Grüße an alle.sigmf-meta", NULL, 100, texts[i].word);
    }
  }
  memset(deep, '[', sizeof deep);
  put_file("Grüße an alle.sigmf-meta", deep, sizeof deep);
  refused("Grüße an alle.sigmf-meta", NULL, TLG_EFORMAT, "JSON");
  memset(deep, 0, sizeof deep);
  put_file("Grüße an alle.sigmf-meta", deep, sizeof deep);
  refused("Grüße an alle.sigmf-meta", NULL, TLG_EFORMAT, "JSON");
  put_file("void.sigmf-data", "", 0);
  put_meta("void.sigmf-meta", CI16, START);
  refused("void.sigmf-meta", NULL, TLG_EFORMAT, "empty");
  put_text("all.sigmf-collection", "{}");
  refused("all.sigmf-collection", NULL, TLG_EINVAL, "collection");
  assert_int_equal(mkfifo("f.sigmf-meta", 0666), 0);
  refused("f.sigmf-meta", NULL, TLG_ESYS, "regular");
  put_marked("alone.sigmf-data", 0, 5);
  refused("alone.sigmf-data", NULL, TLG_ESYS, "alone.sigmf-meta");
}

/* The time of a window's first sample, from that of its capture. */
static void window_time(void **unused)
{
  const struct tlg_reader_cfg cfg = {.start = 1500}, in_time = {.start_ps = 60000000, .length_ps = 10000000};
  struct outcome *o;

  (void)unused;
  put_marked("wt.sigmf-data", 0, 3000);
  put_meta("wt.sigmf-meta", CI16, "{\"core:sample_start\": 0, \"core:datetime\": \"2024-12-31T23:59:59.99999Z\"}");
  o = accepted("wt.sigmf-meta", &cfg, 1500, "");
  assert_string_equal(o->captures[0].datetime, "2025-01-01T00:00:00.000050000000Z");
  o = accepted("wt.sigmf-meta", &in_time, 250, "");
  assert_marked(o, 0, 1500, 250);
}

/* 100,000 captures, each of which overlaps the one before: read in a moment, and not 100,000 remarks. */
static void many_captures(void **unused)
{
  enum { MANY = 100000 };
  char *text = malloc(100 * MANY + 1000), *to = text;
  struct outcome *o;
  size_t k, lines = 0;

  (void)unused;
  assert_non_null(text);
  put_marked("many.sigmf-data", 0, MANY);
  to += sprintf(to, "{\"global\": {" CI16 "},\n\"captures\": [\n");
  for (k = 0; k < MANY; k++) {
    to +=
        sprintf(to, "{\"core:sample_start\": %zu, \"core:global_index\": %zu}%s\n", k, k / 2, k + 1 < MANY ? "," : "");
  }
  to += sprintf(to, "]}\n");
  put_file("many.sigmf-meta", text, (size_t)(to - text));
  o = accepted("many.sigmf-meta", NULL, MANY, "further remarks");
  for (k = 0; o->hints[k]; k++) {
    lines += o->hints[k] == '\n';
  }
  assert_int_equal(lines, 40);
  strcpy(strstr(text, "\": 77777,") + 3, "0000");
  put_file("many.sigmf-meta", text, (size_t)(to - text));
  assert_int_equal(read_all("many.sigmf-meta", NULL)->status, TLG_EFORMAT);
  free(text);
}

/* A valid meta file cut at every byte, and with bytes changed: never a crash, always a sentence. */
static void spoiled(void **unused)
{
  const struct tlg_reader_cfg rescue = {.rescue = 1};
  uint8_t *whole, *copy;
  uint32_t state = 12345;
  size_t n, k, round;

  (void)unused;
  put_marked("s.sigmf-data", 0, 3000);
  put_meta("s.sigmf-meta", CI16 ", \"core:offset\": 10, \"core:trailing_bytes\": 8, \"core:num_channels\": 1",
           "{\"core:sample_start\": 10, \"core:header_bytes\": 4, \"core:frequency\": 1e9, \"core:datetime\": "
           "\"2024-05-01T12:00:00.000000Z\"},\n{\"core:sample_start\": 2000, \"core:global_index\": 7, "
           "\"core:datetime\": \"2024-05-01T12:00:00.000120Z\"}");
  whole = get_file("s.sigmf-meta", &n);
  copy = malloc(n + 1);
  assert_non_null(copy);
  for (k = 0; k < n - 2; k++) { /* the last two are the closing brace and a line's end */
    put_file("s.sigmf-meta", whole, k);
    assert_int_equal(read_all("s.sigmf-meta", NULL)->status, TLG_EFORMAT);
  }
  for (round = 0; round < 3000; round++) {
    memcpy(copy, whole, n);
    for (k = 0; k <= round % 4; k++) {
      copy[xorshift(&state) % n] =
          round % 3 ? (uint8_t)("0123456789-eE.,:{}[]\"\\ n"[xorshift(&state) % 24]) : (uint8_t)xorshift(&state);
    }
    put_file("s.sigmf-meta", copy, n);
    survives("s.sigmf-meta", round % 2 ? &rescue : NULL);
  }
  free(whole);
  free(copy);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(plain),      cmocka_unit_test(datatypes),   cmocka_unit_test(wrong_label),
      cmocka_unit_test(captures),   cmocka_unit_test(gaps),        cmocka_unit_test(no_gaps),
      cmocka_unit_test(short_gaps), cmocka_unit_test(other_bytes), cmocka_unit_test(leaving_the_folder),
      cmocka_unit_test(channels),   cmocka_unit_test(hashes),      cmocka_unit_test(odd_rates),
      cmocka_unit_test(odd_texts),  cmocka_unit_test(window_time), cmocka_unit_test(many_captures),
      cmocka_unit_test(spoiled),
  };

  return cmocka_run_group_tests_name("reader_sigmf", tests, scratch_make, scratch_remove);
}
