/* SPDX-License-Identifier: Apache-2.0 */
/* WAV and its relatives: every sample type read as it stands, headers that lie, cut recordings, damaged files. */
#include "iq_files.h"

#include <sndfile.h>

static const struct tlg_reader_cfg rescue = {.rescue = 1};

static void put_number(uint8_t *to, uint64_t v, size_t n)
{
  size_t k;

  for (k = 0; k < n; k++) {
    to[k] = (uint8_t)(v >> 8 * k);
  }
}

/* The 44 bytes of a WAV header. */
struct head {
  const char *id;
  unsigned tag, channels, rate, bits;
  uint32_t data_bytes;
};

static size_t wav_head(uint8_t *to, const struct head *h)
{
  const unsigned block = h->channels * h->bits / 8;

  memcpy(to, h->id, 4);
  put_number(to + 4, (uint32_t)(h->data_bytes + 36), 4);
  memcpy(to + 8, "WAVEfmt ", 8);
  put_number(to + 16, 16, 4);
  put_number(to + 20, h->tag, 2);
  put_number(to + 22, h->channels, 2);
  put_number(to + 24, h->rate, 4);
  put_number(to + 28, (uint64_t)h->rate * block, 4);
  put_number(to + 32, block, 2);
  put_number(to + 34, h->bits, 2);
  memcpy(to + 36, "data", 4);
  put_number(to + 40, h->data_bytes, 4);
  return 44;
}

static void put_wav(const char *name, const struct head *h, const void *data, size_t n)
{
  uint8_t *bytes = malloc(44 + n + 1);

  assert_non_null(bytes);
  wav_head(bytes, h);
  memcpy(bytes + 44, data, n);
  put_file(name, bytes, 44 + n);
  free(bytes);
}

static const tlg_cs16 *marks(void)
{
  static tlg_cs16 x[5008]; /* some cases write a few bytes more */
  size_t k;

  for (k = 0; k < 5000; k++) {
    x[k] = marked(k);
  }
  return x;
}

/* hydrasdr/inspectrum#3: a float file with the plain 44-byte header. SDRPlusPlus#478: 8 bits are unsigned. */
static void types(void **unused)
{
  static const struct {
    enum tlg_format format;
    unsigned tag, bits;
  } types[] = {
      {TLG_FORMAT_CU8, 1, 8},   {TLG_FORMAT_CS16, 1, 16}, {TLG_FORMAT_CS24, 1, 24},
      {TLG_FORMAT_CS32, 1, 32}, {TLG_FORMAT_CF32, 3, 32}, {TLG_FORMAT_CF64, 3, 64},
  };
  static uint8_t bytes[5000 * 16];
  size_t i, k;

  (void)unused;
  for (i = 0; i < sizeof types / sizeof *types; i++) {
    const uint32_t n = (uint32_t)(5000 * tlg_format_size(types[i].format));
    const struct head h = {"RIFF", types[i].tag, 2, 2400000, types[i].bits, n};
    struct outcome *o;

    tlg_convert_from_cs16(bytes, marks(), 5000, types[i].format, NULL);
    put_wav("t.wav", &h, bytes, n);
    o = accepted("t.wav", NULL, 5000, "");
    assert_string_equal(o->hints, "");
    assert_int_equal(o->info.format, types[i].format);
    assert_int_equal(o->info.container, TLG_CONTAINER_WAV);
    assert_int_equal(o->info.rate.num, 2400000);
    assert_int_equal(o->info.n_stated, 5000);
    assert_int_equal(o->info.header_lies, 0);
    if (types[i].format != TLG_FORMAT_CU8) {
      assert_marked(o, 0, 0, 5000);
    }
    for (k = 0; k < 5000 && types[i].format == TLG_FORMAT_CU8; k++) {
      assert_int_equal(o->samples[k].i, 256 * bytes[2 * k] - 32640);
    }
    {
      const struct tlg_reader_cfg window = {.start = 4000, .length = 100};

      o = accepted("t.wav", &window, 100, "");
      assert_int_equal(o->samples[99].i & 0xff00,
                       (types[i].format == TLG_FORMAT_CU8 ? o->samples[99].i : 4099) & 0xff00);
    }
  }
  /* the suffix does not matter, and options win */
  assert_int_equal(rename("t.wav", "t.dat"), 0);
  accepted("t.dat", NULL, 5000, "");
  {
    const struct tlg_reader_cfg other = {.format = TLG_FORMAT_CS16, .rate = {5, 1}};

    assert_int_equal(accepted("t.dat", &other, 20000, "--format cs16 wins")->info.rate.num, 5);
  }
}

/* Float through libsndfile as int16 gave zeros, -16386 for 1.5 and 0 for NaN uncounted. */
static void floats(void **unused)
{
  static const float x[] = {1.5f, -1.0f, NAN, 0.5f, INFINITY, -INFINITY, 0.99999f, -1.5f};
  const struct head h = {"RIFF", 3, 2, 48000, 32, sizeof x};
  struct outcome *o;

  (void)unused;
  put_wav("f.wav", &h, x, sizeof x);
  o = accepted("f.wav", NULL, 4, "");
  assert_int_equal(o->samples[0].i, 32767);
  assert_int_equal(o->samples[0].q, -32768);
  assert_int_equal(o->samples[1].i, 0);
  assert_int_equal(o->samples[1].q, 16384);
  assert_int_equal(o->samples[2].i, 32767);
  assert_int_equal(o->samples[2].q, -32768);
  assert_int_equal(o->samples[3].i, 32767);
  assert_int_equal(o->samples[3].q, -32768);
  assert_int_equal(o->counts.non_finite, 3);
  assert_int_equal(o->counts.clipped, 3);
}

/* SatDump#339, CubicSDR#616, and what killed writers leave. */
static void headers_that_lie(void **unused)
{
  static const struct {
    uint32_t stated;
    size_t there;
    const char *word;
    uint64_t rescued;
  } cases[] = {
      {0, 20000, "no samples", 5000},           {4000, 20000, "length is wrong", 5000},
      {20000, 8000, "ends after 2000", 2000},   {20000, 8003, "ends after 2000", 2000},
      {0xfffffff0u, 20000, "it was cut", 5000},
  };
  struct outcome *o;
  size_t i;

  (void)unused;
  for (i = 0; i < sizeof cases / sizeof *cases; i++) {
    const struct head h = {"RIFF", 1, 2, 2000000, 16, cases[i].stated};

    put_wav("lie.wav", &h, marks(), cases[i].there);
    o = refused("lie.wav", NULL, TLG_EFORMAT, cases[i].word);
    assert_non_null(strstr(o->err.text, "--rescue"));
    assert_int_equal(o->err.offset, 44);
    o = accepted("lie.wav", &rescue, cases[i].rescued, "rescue:");
    assert_marked(o, 0, 0, cases[i].rescued);
    assert_int_equal(o->info.header_lies, 1);
    assert_int_equal(o->info.n_stated, cases[i].stated / 4);
    assert_true(o->info.header_note[0] != '\0');
    assert_int_equal(o->info.tail_bytes, cases[i].there % 4);
  }
  {
    const struct head open = {"RIFF", 1, 2, 2000000, 16, 0xffffffffu};

    put_wav("open.wav", &open, marks(), 20002);
    o = accepted("open.wav", NULL, 5000, "leaves the length open");
    assert_marked(o, 0, 0, 5000);
    assert_int_equal(o->info.header_lies, 0);
    assert_non_null(strstr(o->hints, "2 bytes"));
  }
  {
    const struct head half = {"RIFF", 1, 2, 2000000, 16, 20002}, none = {"RIFF", 1, 2, 2000000, 16, 0};

    put_wav("half.wav", &half, marks(), 20002); /* a half frame at the end, and it is there */
    accepted("half.wav", NULL, 5000, "2 bytes at the end of the samples (byte 20044)");
    {
      const struct head odd = {"RIFF", 1, 2, 2000000, 16, 19998}; /* fewer than 8 bytes behind are padding */

      put_wav("odd.wav", &odd, marks(), 20000);
      accepted("odd.wav", NULL, 4999, "2 bytes at the end of the samples");
    }
    put_wav("none.wav", &none, marks(), 0);
    refused("none.wav", NULL, TLG_EFORMAT, "no samples");
    refused("none.wav", &rescue, TLG_EFORMAT, "no samples");
  }
}

/* Chunks behind the samples are no lie. */
static void chunks_behind(void **unused)
{
  const struct head h = {"RIFF", 1, 2, 2000000, 16, 20000};
  uint8_t bytes[44 + 20000 + 8 + 10 + 8 + 4];
  struct outcome *o;

  (void)unused;
  wav_head(bytes, &h);
  memcpy(bytes + 44, marks(), 20000);
  memcpy(bytes + 20044, "LIST\x0a\0\0\0INFO......", 18);
  memcpy(bytes + 20062, "junk\x04\0\0\0....", 12);
  put_file("behind.wav", bytes, sizeof bytes);
  o = accepted("behind.wav", NULL, 5000, "");
  assert_string_equal(o->hints, "");
  put_file("behind.wav", bytes, sizeof bytes - 3); /* the last chunk is cut: not all that follows is chunks */
  refused("behind.wav", NULL, TLG_EFORMAT, "length is wrong");
}

/* SDRPlusPlus#92: a plain WAV of more than 4 GiB, whose length wrapped. */
static void wrapped(void **unused)
{
  const uint64_t true_bytes = ((uint64_t)1 << 32) + 20000;
  const struct head h = {"RIFF", 1, 2, 2000000, 16, (uint32_t)true_bytes};
  struct tlg_reader_cfg window = {.rescue = 1, .start = true_bytes / 4 - 100, .length = 100};
  const tlg_cs16 last = {77, -77};
  uint8_t bytes[44];
  struct outcome *o;
  FILE *f = fopen("wrapped.wav", "wb");

  (void)unused;
  assert_non_null(f);
  wav_head(bytes, &h);
  assert_int_equal(fwrite(bytes, 1, 44, f), 44);
  assert_int_equal(fflush(f), 0);
  if (ftruncate(fileno(f), (off_t)(44 + true_bytes)) != 0) {
    fclose(f);
    skip();
  }
  assert_int_equal(pwrite(fileno(f), &last, 4, (off_t)(44 + true_bytes - 4)), 4);
  fclose(f);
  o = refused("wrapped.wav", NULL, TLG_EFORMAT, "wrapped at 4 GiB");
  assert_non_null(strstr(o->err.text, "1073746824"));
  o = accepted("wrapped.wav", &window, 100, "wrapped");
  assert_int_equal(o->samples[99].i, 77);
  assert_int_equal(o->samples[99].q, -77);
  unlink("wrapped.wav");
}

/* A length left open, as sox and ffmpeg write to pipes, of a file of more than 4 GiB: libsndfile takes it for 4 GiB. */
static void open_length(void **unused)
{
  const uint64_t bytes_true = ((uint64_t)6 << 30) + 2;
  const struct head h = {"RIFF", 1, 2, 2000000, 16, 0xffffffffu};
  const uint64_t n = bytes_true / 4;
  struct tlg_reader_cfg window = {.start = n - 100, .length = 100};
  const tlg_cs16 last = {77, -77};
  uint8_t bytes[44];
  struct outcome *o;
  int kind;

  (void)unused;
  for (kind = 0; kind < 2; kind++) {
    const char *const name = kind ? "open.au" : "open.wav";
    FILE *f = fopen(name, "wb");

    assert_non_null(f);
    wav_head(bytes, &h);
    if (kind) { /* .snd, offset 44, length open, 16 bits, rate, 2 channels; big endian */
      const uint8_t au[24] = {'.', 's', 'n', 'd', 0, 0,  0,   44,  255, 255, 255, 255,
                              0,   0,   0,   3,   0, 30, 132, 128, 0,   0,   0,   2};

      memset(bytes, 0, sizeof bytes);
      memcpy(bytes, au, sizeof au);
    }
    assert_int_equal(fwrite(bytes, 1, 44, f), 44);
    assert_int_equal(fflush(f), 0);
    if (ftruncate(fileno(f), (off_t)(44 + bytes_true)) != 0) {
      fclose(f);
      skip();
    }
    assert_int_equal(pwrite(fileno(f), &last, 4, (off_t)(44 + 4 * n - 4)), 4);
    fclose(f);
    o = accepted(name, &window, 100, "length open");
    assert_non_null(strstr(o->hints, "2 bytes at the end"));
    assert_int_equal(o->info.rate.num, 2000000);
    assert_int_equal(o->samples[99].i, kind ? 77 * 256 : 77);
    unlink(name);
  }
}

/* A packed file (mu-law), whose samples libsndfile decodes: that it was cut shows in its bytes. */
static void cut_packed(void **unused)
{
  static const uint8_t law[4000];
  const struct head h = {"RIFF", 7, 2, 48000, 8, 4000};

  (void)unused;
  put_wav("law.wav", &h, law, 4000);
  accepted("law.wav", NULL, 2000, "coded with loss");
  put_wav("law.wav", &h, law, 1000);
  refused("law.wav", NULL, TLG_EFORMAT, "it was cut");
  accepted("law.wav", &rescue, 500, "it was cut");
}

/* A killed writer of RF64 leaves 0 in the ds64 chunk; libsndfile then says 0 frames, and reads no BW64 at all. */
static void rf64(void **unused)
{
  const struct head h = {"RF64", 1, 2, 2000000, 16, 0xffffffffu};
  uint8_t bytes[12 + 36 + 32 + 20000];
  uint64_t stated;
  int bw;

  (void)unused;
  for (bw = 0; bw < 2; bw++) {
    for (stated = 0; stated <= 20000; stated += 10000) {
      uint8_t plain[44];
      struct outcome *o;

      memset(bytes, 0, sizeof bytes);
      wav_head(plain, &h);
      memcpy(bytes, plain, 12);
      memcpy(bytes, bw ? "BW64" : "RF64", 4);
      memcpy(bytes + 12, "ds64", 4);
      put_number(bytes + 16, 28, 4);
      put_number(bytes + 20, stated + 72, 8);
      put_number(bytes + 28, stated, 8);
      put_number(bytes + 36, stated / 4, 8);
      memcpy(bytes + 48, plain + 12, 32);
      memcpy(bytes + 80, marks(), 20000);
      put_file("r.rf64", bytes, sizeof bytes);
      if (stated < 20000) {
        refused("r.rf64", NULL, TLG_EFORMAT, stated ? "length is wrong" : "no samples");
      } else if (bw) {
        refused("r.rf64", NULL, TLG_EFORMAT, "BW64");
      } else {
        accepted("r.rf64", NULL, 5000, "");
      }
      o = accepted("r.rf64", &rescue, 5000, "");
      assert_marked(o, 0, 0, 5000);
      assert_int_equal(o->info.container, TLG_CONTAINER_RF64);
      assert_int_equal(o->info.n_stated, stated / 4);
    }
  }
}

/* HDSDR's chunk of 164 bytes and SpectraVue's of 64. */
static void auxi(void **unused)
{
  static const unsigned lengths[] = {64, 164, 36, 20};
  size_t i;

  (void)unused;
  for (i = 0; i < 4; i++) {
    const struct head h = {"RIFF", 1, 2, 2000000, 16, 20000};
    static uint8_t bytes[36 + 8 + 164 + 8 + 20000];
    uint8_t plain[44], *const a = bytes + 44;
    const uint16_t start[8] = {2024, 5, 3, 1, 12, 34, 56, 789};
    const size_t at = 44 + lengths[i];
    struct outcome *o;
    size_t k;

    memset(bytes, 0, sizeof bytes);
    wav_head(plain, &h);
    memcpy(bytes, plain, 36);
    memcpy(bytes + 36, "auxi", 4);
    put_number(bytes + 40, lengths[i], 4);
    for (k = 0; k < 8; k++) {
      put_number(a + 2 * k, start[k], 2);
    }
    put_number(a + 32, lengths[i] > 32 ? 3700000000u : 0, 4);
    if (lengths[i] == 164) {
      strcpy((char *)a + 68, "next part.wav");
    }
    memcpy(bytes + at, plain + 36, 8);
    memcpy(bytes + at + 8, marks(), 20000);
    put_file("HDSDR_20240501_123456Z_7100kHz_RF.wav", bytes, at + 8 + 20000);
    o = accepted("HDSDR_20240501_123456Z_7100kHz_RF.wav", NULL, 5000, lengths[i] == 164 ? "'next part.wav'" : "");
    assert_marked(o, 0, 0, 5000);
    if (lengths[i] >= 36) {
      assert_true(o->info.frequency_hz == 3.7e9); /* the header before the name */
      assert_string_equal(o->captures[0].datetime, "2024-05-01T12:34:56.789Z");
    } else {
      assert_true(o->info.frequency_hz == 7.1e6);
      assert_string_equal(o->captures[0].datetime, "");
    }
  }
}

static void channel_counts(void **unused)
{
  static int16_t x[4 * 100];
  struct tlg_reader_cfg cfg = {.channel = 2};
  struct head h = {"RIFF", 1, 1, 48000, 16, sizeof x};
  struct outcome *o;
  size_t k;

  (void)unused;
  for (k = 0; k < 100; k++) {
    x[4 * k] = x[4 * k + 1] = -1;
    x[4 * k + 2] = marked(k).i;
    x[4 * k + 3] = marked(k).q;
  }
  put_wav("mono.wav", &h, x, sizeof x);
  refused("mono.wav", NULL, TLG_EFORMAT, "one channel");
  refused("mono.wav", &rescue, TLG_EFORMAT, "one channel");
  h.channels = 3;
  put_wav("three.wav", &h, x, sizeof x);
  refused("three.wav", NULL, TLG_EFORMAT, "3 channels");
  h.channels = 4;
  put_wav("four.wav", &h, x, sizeof x);
  refused("four.wav", NULL, TLG_EINVAL, "--channel");
  o = accepted("four.wav", &cfg, 100, "");
  assert_marked(o, 0, 0, 100);
  cfg.channel = 3;
  refused("four.wav", &cfg, TLG_EINVAL, "--channel");
  h.channels = 0;
  put_wav("zero.wav", &h, x, sizeof x);
  refused("zero.wav", NULL, TLG_EFORMAT, "0 channels");
}

/* Containers and types as libsndfile itself writes them, so not by our own writer. */
static void made_by_libsndfile(void **unused)
{
  static const struct {
    const char *name;
    int format;
    enum tlg_container container;
    enum tlg_format type;
  } files[] = {
      {"a.w64", SF_FORMAT_W64 | SF_FORMAT_PCM_16, TLG_CONTAINER_W64, TLG_FORMAT_CS16},
      {"b.w64", SF_FORMAT_W64 | SF_FORMAT_FLOAT, TLG_CONTAINER_W64, TLG_FORMAT_CF32},
      {"a.rf64", SF_FORMAT_RF64 | SF_FORMAT_PCM_24, TLG_CONTAINER_RF64, TLG_FORMAT_CS24},
      {"a.au", SF_FORMAT_AU | SF_FORMAT_PCM_16, TLG_CONTAINER_AU, TLG_FORMAT_CS16},
      {"b.au", SF_FORMAT_AU | SF_FORMAT_DOUBLE, TLG_CONTAINER_AU, TLG_FORMAT_CF64},
      {"c.au", SF_FORMAT_AU | SF_FORMAT_FLOAT | SF_ENDIAN_LITTLE, TLG_CONTAINER_AU, TLG_FORMAT_CF32},
      {"a.flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_16, TLG_CONTAINER_FLAC, TLG_FORMAT_CS16},
      {"b.flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_24, TLG_CONTAINER_FLAC, TLG_FORMAT_CS24},
      {"a.wav", SF_FORMAT_WAVEX | SF_FORMAT_PCM_16, TLG_CONTAINER_WAV, TLG_FORMAT_CS16},
      {"b.wav", SF_FORMAT_WAVEX | SF_FORMAT_FLOAT, TLG_CONTAINER_WAV, TLG_FORMAT_CF32},
      {"c.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_32 | SF_ENDIAN_BIG, TLG_CONTAINER_WAV, TLG_FORMAT_CS32},
      {"a.aiff", SF_FORMAT_AIFF | SF_FORMAT_PCM_16, TLG_CONTAINER_OTHER_SNDFILE, TLG_FORMAT_CS16},
      {"a.caf", SF_FORMAT_CAF | SF_FORMAT_FLOAT, TLG_CONTAINER_OTHER_SNDFILE, TLG_FORMAT_CF32},
      {"b.caf", SF_FORMAT_CAF | SF_FORMAT_ALAC_16, TLG_CONTAINER_OTHER_SNDFILE, TLG_FORMAT_CS32},
  };
  size_t i;

  (void)unused;
  for (i = 0; i < sizeof files / sizeof *files; i++) {
    const struct tlg_reader_cfg window = {.start = 4321, .length = 300};
    SF_INFO info = {.samplerate = 250000, .channels = 2, .format = files[i].format};
    SNDFILE *s = sf_open(files[i].name, SFM_WRITE, &info);
    struct outcome *o;

    assert_non_null(s);
    if (files[i].type == TLG_FORMAT_CF32 || files[i].type == TLG_FORMAT_CF64) {
      static float x[2 * 5000];

      tlg_convert_from_cs16(x, marks(), 5000, TLG_FORMAT_CF32, NULL);
      assert_int_equal(sf_writef_float(s, x, 5000), 5000);
    } else {
      assert_int_equal(sf_writef_short(s, (const short *)marks(), 5000), 5000);
    }
    sf_close(s);
    o = accepted(files[i].name, NULL, 5000, "");
    assert_marked(o, 0, 0, 5000);
    assert_int_equal(o->info.container, files[i].container);
    assert_int_equal(o->info.format, files[i].type);
    assert_int_equal(o->info.rate.num, 250000);
    assert_string_equal(o->hints, "");
    o = accepted(files[i].name, &window, 300, "");
    assert_marked(o, 0, 4321, 300);
  }
  {
    const struct tlg_reader_cfg format = {.format = TLG_FORMAT_CS16};

    refused("a.flac", &format, TLG_EINVAL, "--format");
  }
}

/* Every kind of file cut at every byte of its beginning and at places behind, and with bytes changed. */
static void spoiled(void **unused)
{
  static const struct {
    const char *name;
    int format;
  } files[] = {
      {"x.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_16},   {"x.rf64", SF_FORMAT_RF64 | SF_FORMAT_PCM_16},
      {"x.w64", SF_FORMAT_W64 | SF_FORMAT_PCM_16},   {"x.au", SF_FORMAT_AU | SF_FORMAT_PCM_16},
      {"x.flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_16}, {"x.caf", SF_FORMAT_CAF | SF_FORMAT_PCM_16},
      {"x.aiff", SF_FORMAT_AIFF | SF_FORMAT_PCM_16},
  };
  uint32_t state = 99;
  size_t i, k, round, n;

  (void)unused;
  for (i = 0; i < sizeof files / sizeof *files; i++) {
    SF_INFO info = {.samplerate = 250000, .channels = 2, .format = files[i].format};
    SNDFILE *s = sf_open(files[i].name, SFM_WRITE, &info);
    uint8_t *whole, *copy;

    assert_non_null(s);
    sf_writef_short(s, (const short *)marks(), 700);
    sf_close(s);
    whole = get_file(files[i].name, &n);
    copy = malloc(n);
    assert_non_null(copy);
    for (k = 0; k < n; k += k < 200 ? 1 : 97) {
      const struct outcome *o;

      put_file(files[i].name, whole, k);
      o = read_all(files[i].name, NULL);
      if (o->status == 0 && o->n != 700 && !o->hints[0]) {
        fail_msg("%s cut at byte %zu: %llu samples, and not a word", files[i].name, k, (unsigned long long)o->n);
      }
      survives(files[i].name, &rescue);
    }
    for (round = 0; round < 600; round++) {
      memcpy(copy, whole, n);
      for (k = 0; k <= round % 3; k++) {
        copy[xorshift(&state) % 120] = round % 2 ? (uint8_t)xorshift(&state) : round % 4 ? 0xff : 0;
      }
      put_file(files[i].name, copy, n);
      survives(files[i].name, round % 5 ? NULL : &rescue);
    }
    free(whole);
    free(copy);
  }
}

static void other_contents(void **unused)
{
  const struct tlg_reader_cfg cs16 = {.format = TLG_FORMAT_CS16};
  char text[2000];

  (void)unused;
  memset(text, 'x', sizeof text);
  put_file("text.wav", text, sizeof text);
  refused("text.wav", NULL, TLG_EFORMAT, "libsndfile cannot read it");
  accepted("text.wav", &cs16, 500, "no header");
  put_file("empty.wav", "", 0);
  refused("empty.wav", NULL, TLG_EFORMAT, "empty");
  put_file("riff.wav", "RIFF", 4);
  refused("riff.wav", NULL, TLG_EFORMAT, "byte 4");
  memcpy(text, "RIFF____AVI ", 12);
  put_file("film.wav", text, sizeof text);
  refused("film.wav", NULL, TLG_EFORMAT, "not of WAVE");
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(types),
      cmocka_unit_test(floats),
      cmocka_unit_test(headers_that_lie),
      cmocka_unit_test(chunks_behind),
      cmocka_unit_test(wrapped),
      cmocka_unit_test(rf64),
      cmocka_unit_test(open_length),
      cmocka_unit_test(cut_packed),
      cmocka_unit_test(auxi),
      cmocka_unit_test(channel_counts),
      cmocka_unit_test(made_by_libsndfile),
      cmocka_unit_test(spoiled),
      cmocka_unit_test(other_contents),
  };

  return cmocka_run_group_tests_name("reader_sndfile", tests, scratch_make, scratch_remove);
}
