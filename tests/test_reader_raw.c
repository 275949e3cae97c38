/* SPDX-License-Identifier: Apache-2.0 */
/* Raw samples: types by suffix and option, hints in file names, tails, windows, pipes, and files of 100 GB. */
#include "iq_files.h"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <time.h>

static const struct tlg_reader_cfg cs16 = {.format = TLG_FORMAT_CS16};

static void suffixes(void **unused)
{
  static const struct {
    const char *suffix;
    enum tlg_format format;
  } known[] = {
      {"cs16", TLG_FORMAT_CS16},  {"sc16", TLG_FORMAT_CS16}, {"ci16", TLG_FORMAT_CS16},      {"iq16", TLG_FORMAT_CS16},
      {"c16", TLG_FORMAT_CS16},   {"CS16", TLG_FORMAT_CS16}, {"cf32", TLG_FORMAT_CF32},      {"fc32", TLG_FORMAT_CF32},
      {"cfile", TLG_FORMAT_CF32}, {"cs8", TLG_FORMAT_CS8},   {"sc8", TLG_FORMAT_CS8},        {"c8", TLG_FORMAT_CS8},
      {"cu8", TLG_FORMAT_CU8},    {"cf64", TLG_FORMAT_CF64}, {"complex16u", TLG_FORMAT_CU8}, {"cs32", TLG_FORMAT_CS32},
  };
  static const char *const silent[] = {"a.dat", "a.bin", "a.iq", "a.raw", "a", "cs16", ".cs16x"};
  static const uint8_t bytes[64] = {1, 2, 3};
  char name[64];
  size_t i;

  (void)unused;
  for (i = 0; i < sizeof known / sizeof *known; i++) {
    struct outcome *o;

    snprintf(name, sizeof name, "s.%s", known[i].suffix);
    put_file(name, bytes, sizeof bytes);
    o = accepted(name, NULL, 64 / tlg_format_size(known[i].format), "--format wins");
    assert_int_equal(o->info.format, known[i].format);
    assert_string_equal(o->info.format_source, "suffix");
    o = accepted(name, &cs16, 16, ""); /* the option wins */
    assert_int_equal(o->info.format, TLG_FORMAT_CS16);
  }
  for (i = 0; i < sizeof silent / sizeof *silent; i++) {
    put_file(silent[i], bytes, sizeof bytes);
    refused(silent[i], NULL, TLG_EINVAL, "--format");
    accepted(silent[i], &cs16, 16, "");
  }
}

static void name_hints(void **unused)
{
  static const struct {
    const char *name;
    double rate, frequency; /* 0 = none */
  } names[] = {
      {"lte_f1815.3M_s19.2M_hackrf.cs8", 19.2e6, 1815.3e6},
      {"lte_s19.2_x.cs8", 19.2e6, 0},
      {"rec_25000000_.cs16", 25e6, 0},
      {"x_2450000000Hz_25000000.cs16", 25e6, 2450e6},
      {"lte20_25Msps_80ms.sc16", 25e6, 0},
      {"gqrx_20230101_120000_433920000_1800000_fc.raw", 1.8e6, 433.92e6},
      {"HDSDR_20150101_120000Z_7100kHz_RF.cs16", 0, 7.1e6},
      {"20150101_120000.cs16", 0, 0},
      {"take_1_of_2.cs16", 0, 0},
      {"s.cs16", 0, 0},
      {"size_s0M.cs16", 0, 0},
      {"s99999999999999999999999999M_x.cs16", 0, 0},
      {"a_1.92Msps.cu8", 1.92e6, 0},
      {"f796M.cs8", 0, 796e6},
      {"f44.cs16", 0, 0},
      {"f1.cs16", 0, 0},
      {"s2.cs16", 0, 0},
      {"take_f2_s3.cs16", 0, 0},
  };
  static const uint8_t bytes[64];
  const struct tlg_reader_cfg wins = {.rate = {1000000, 1}};
  size_t i;

  (void)unused;
  for (i = 0; i < sizeof names / sizeof *names; i++) {
    struct outcome *o;

    put_file(names[i].name, bytes, sizeof bytes);
    o = read_all(names[i].name, NULL);
    assert_int_equal(o->status, 0);
    if (names[i].rate > 0) {
      assert_true(tlg_rate_hz(&o->info.rate) == names[i].rate);
      assert_string_equal(o->info.rate_source, "file name");
      assert_non_null(strstr(o->hints, "--rate wins"));
    } else {
      assert_int_equal(o->info.rate.num, 0);
      assert_null(o->info.rate_source);
    }
    if (names[i].frequency > 0) {
      assert_true(fabs(o->info.frequency_hz - names[i].frequency) < 1);
    } else {
      assert_true(isnan(o->info.frequency_hz));
    }
    o = read_all(names[i].name, &wins);
    assert_int_equal(o->info.rate.num, 1000000);
    assert_string_equal(o->info.rate_source, "option");
  }
}

/* gnuradio#1362: the bytes of a cut last sample vanish. 4003 bytes: 1000 samples, 3 bytes told. */
static void odd_tail(void **unused)
{
  static uint8_t bytes[4003];
  struct outcome *o;

  (void)unused;
  put_file("tail.cs16", bytes, sizeof bytes);
  o = accepted("tail.cs16", NULL, 1000, "3 bytes at the end (byte 4000)");
  assert_int_equal(o->info.tail_bytes, 3);
  put_file("few.cs16", bytes, 3);
  refused("few.cs16", NULL, TLG_EFORMAT, "less than one sample");
}

static void nothing_there(void **unused)
{
  (void)unused;
  put_file("empty.cs16", "", 0);
  refused("empty.cs16", NULL, TLG_EFORMAT, "empty");
  refused("missing.cs16", NULL, TLG_ESYS, "No such file");
  refused("", &cs16, TLG_EINVAL, "empty");
  assert_int_equal(mkdir("folder.cs16", 0777), 0);
  refused("folder.cs16", NULL, TLG_ESYS, "folder");
  assert_int_equal(mkdir("folder.wav", 0777), 0);
  refused("folder.wav", NULL, TLG_ESYS, "folder");
  refused("empty.cs16/x", &cs16, TLG_ESYS, "Not a directory");
  assert_int_equal(symlink("loop.cs16", "loop.cs16"), 0);
  refused("loop.cs16", NULL, TLG_ESYS, "cannot open");
  /* Permissions do not bind root; a process' memory at 0 is unreadable to everybody. */
  refused("/proc/self/mem", &cs16, TLG_ESYS, "cannot read");
}

/* digital_rf#3: NaN every 97 samples must not stop the reader. */
static void not_numbers(void **unused)
{
  static float x[2 * 9700];
  struct outcome *o;
  size_t k;

  (void)unused;
  for (k = 0; k < 9700; k++) {
    x[2 * k] = k % 97 ? 0.25f : NAN;
    x[2 * k + 1] = k == 50 ? INFINITY : k == 51 ? 1.5f : -1.0f;
  }
  put_file("nan.cf32", x, sizeof x);
  o = accepted("nan.cf32", NULL, 9700, "");
  assert_int_equal(o->counts.non_finite, 101);
  assert_int_equal(o->counts.clipped, 1);
  assert_int_equal(o->samples[97].i, 0);
  assert_int_equal(o->samples[98].i, 8192);
  assert_int_equal(o->samples[50].q, 32767);
  assert_int_equal(o->samples[51].q, 32767);
  assert_int_equal(o->samples[52].q, -32768);
}

/* SoapyRTLSDR PR#31: byte 255 wraps. SoapySDR#376: 12-bit data at -24 dB. */
static void levels(void **unused)
{
  static const uint8_t corners[4] = {255, 0, 127, 128};
  static const int16_t q11[4] = {2047, -2048, 1024, 0};
  struct tlg_reader_cfg cfg = {.full_scale = 2048};
  struct outcome *o;

  (void)unused;
  put_file("corners.cu8", corners, 4);
  o = accepted("corners.cu8", NULL, 2, "");
  assert_int_equal(o->samples[0].i, 32640);
  assert_int_equal(o->samples[0].q, -32640);
  assert_int_equal(o->samples[1].i, -128);
  assert_int_equal(o->samples[1].q, 128);
  assert_int_equal(o->counts.full_scale, 2);
  put_file("q11.cs16", q11, 8);
  o = accepted("q11.cs16", &cfg, 2, "");
  assert_int_equal(o->samples[0].i, 32752);
  assert_int_equal(o->samples[0].q, -32768);
  assert_int_equal(o->samples[1].i, 16384);
  assert_true(o->info.full_scale == 2048);
  o = accepted("q11.cs16", NULL, 2, "");
  assert_true(o->info.full_scale == 32768);
  cfg.full_scale = -1;
  refused("q11.cs16", &cfg, TLG_EINVAL, "full scale");
  cfg.full_scale = NAN;
  refused("q11.cs16", &cfg, TLG_EINVAL, "full scale");
}

/* leansdr#28: the spectrum is mirrored. */
static void swapped(void **unused)
{
  static const int16_t x[6] = {1, 2, -3, -32768, 5, 6};
  const struct tlg_reader_cfg swap = {.swap_iq = 1}, conj = {.conjugate = 1}, both = {.swap_iq = 1, .conjugate = 1};
  struct outcome *o;

  (void)unused;
  put_file("x.cs16", x, sizeof x);
  o = accepted("x.cs16", &swap, 3, "");
  assert_int_equal(o->samples[0].i, 2);
  assert_int_equal(o->samples[1].i, -32768);
  o = accepted("x.cs16", &conj, 3, "");
  assert_int_equal(o->samples[0].q, -2);
  assert_int_equal(o->samples[1].q, 32767);
  assert_int_equal(o->counts.clipped, 1);
  o = accepted("x.cs16", &both, 3, "");
  assert_int_equal(o->samples[0].i, 2);
  assert_int_equal(o->samples[0].q, -1);
}

static void windows(void **unused)
{
  struct tlg_reader_cfg cfg = {.start = 1000, .length = 500};
  struct outcome *o;
  struct tlg_reader *r;
  tlg_cs16 x[8];
  uint64_t first;
  size_t got;

  (void)unused;
  put_marked("w.cs16", 0, 40000);
  o = accepted("w.cs16", &cfg, 500, "");
  assert_marked(o, 0, 1000, 500);
  assert_int_equal(o->end, 500);
  cfg.length = 0;
  o = accepted("w.cs16", &cfg, 39000, "");
  assert_marked(o, 0, 1000, 39000);
  cfg.start = 39990;
  cfg.length = 20;
  o = accepted("w.cs16", &cfg, 10, "10 of 20");
  cfg.start = 40000;
  refused("w.cs16", &cfg, TLG_EINVAL, "40000");
  cfg.start = UINT64_MAX - 1;
  cfg.length = UINT64_MAX;
  refused("w.cs16", &cfg, TLG_EINVAL, "window");
  /* rewinding goes back to the window's start */
  cfg.start = 7;
  cfg.length = 3;
  assert_int_equal(tlg_reader_open(&r, "w.cs16", &cfg, NULL), 0);
  for (int pass = 0; pass < 3; pass++) {
    assert_int_equal(tlg_reader_read(r, x, 8, &got, &first, NULL), 0);
    assert_int_equal(got, 3);
    assert_int_equal(first, 0);
    assert_int_equal(x[0].i, 7);
    assert_int_equal(tlg_reader_read(r, x, 8, &got, &first, NULL), 0);
    assert_int_equal(got, 0);
    assert_int_equal(first, 3);
    assert_int_equal(tlg_reader_rewind(r, NULL), 0);
  }
  tlg_reader_close(r);
}

/* Seconds this thread has run. */
static double cpu_seconds(void)
{
  struct timespec t;

  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* 100 GB, sparse: opened and read in the middle without going through it, and without holding it. */
static void hundred_gigabytes(void **unused)
{
  const uint64_t n = 25000000000u;
  struct tlg_reader_cfg cfg = {.start = 20000000000u, .length = 70000};
  const tlg_cs16 mark = {123, -321};
  struct rusage before, after;
  struct outcome *o;
  double cpu;
  FILE *f = fopen("big.cs16", "wb");

  (void)unused;
  assert_non_null(f);
  if (ftruncate(fileno(f), (off_t)(4 * n)) != 0) {
    fclose(f);
    skip(); /* this file system has no files of that size */
  }
  assert_int_equal(pwrite(fileno(f), &mark, 4, (off_t)(4 * (cfg.start + 69992))), 4);
  fclose(f);
  getrusage(RUSAGE_SELF, &before);
  cpu = cpu_seconds();
  o = accepted("big.cs16", &cfg, 70000, "");
  cpu = cpu_seconds() - cpu;
  getrusage(RUSAGE_SELF, &after);
  assert_int_equal(o->samples[0].i, 0);
  assert_int_equal(o->samples[69992].i, 123);
  assert_int_equal(o->samples[69992].q, -321);
  assert_true(after.ru_maxrss - before.ru_maxrss < 65536);
  assert_true(cpu < 1.0);
  unlink("big.cs16");
}

struct feed {
  const char *path;
  const uint8_t *bytes;
  size_t n, piece;
};

static void *feed_pipe(void *context)
{
  const struct feed *f = context;
  const int fd = open(f->path, O_WRONLY);
  size_t at;

  for (at = 0; at < f->n;) {
    const size_t m = f->n - at < f->piece ? f->n - at : f->piece;
    const ssize_t written = write(fd, f->bytes + at, m);

    if (written <= 0) {
      break;
    }
    at += (size_t)written;
  }
  close(fd);
  return NULL;
}

/* Pieces of 1, 3, 4096 bytes ... through a FIFO are the same samples; a rest at the end is told. */
static void pipes(void **unused)
{
  static const size_t pieces[] = {1, 3, 7, 4096, 100001};
  static uint8_t bytes[4 * 5000 + 2];
  struct tlg_reader_cfg cfg = {.format = TLG_FORMAT_CS16};
  struct outcome *o;
  size_t i, k;

  (void)unused;
  for (k = 0; k < 5000; k++) {
    const tlg_cs16 x = marked(k);

    memcpy(bytes + 4 * k, &x, 4);
  }
  assert_int_equal(mkfifo("fifo", 0666), 0);
  for (i = 0; i < sizeof pieces / sizeof *pieces; i++) {
    struct feed f = {"fifo", bytes, sizeof bytes, pieces[i]};
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, feed_pipe, &f), 0);
    o = accepted("fifo", &cfg, 5000, "2 bytes at the end (byte 20000)");
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_marked(o, 0, 0, 5000);
    assert_int_equal(o->info.seekable, 0);
  }
  cfg.start = 100;
  cfg.length = 50;
  {
    struct feed f = {"fifo", bytes, 4 * 5000, 1000};
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, feed_pipe, &f), 0);
    o = accepted("fifo", &cfg, 50, "");
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_marked(o, 0, 100, 50);
  }
  cfg.start = 6000;
  {
    struct feed f = {"fifo", bytes, 4 * 5000, 1000};
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, feed_pipe, &f), 0);
    refused("fifo", &cfg, TLG_EINVAL, "6000");
    assert_int_equal(pthread_join(thread, NULL), 0);
  }
  cfg.start = cfg.length = 0;
  for (i = 0; i < 4; i++) { /* nothing, or less than a sample, is no recording, as with files */
    struct feed f = {"fifo", bytes, i, 1};
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, feed_pipe, &f), 0);
    refused("fifo", &cfg, TLG_EFORMAT, i ? "less than one sample" : "empty");
    assert_int_equal(pthread_join(thread, NULL), 0);
  }
  refused("/dev/null", &cfg, TLG_EFORMAT, "empty");
  /* without a type it is not even opened: nobody waits for a writer */
  refused("fifo", NULL, TLG_EINVAL, "--format");
  assert_int_equal(mkfifo("fifo.wav", 0666), 0);
  refused("fifo.wav", NULL, TLG_ESYS, "pipe");
}

/* SigMF#114: whole numbers read as float reach 1e19; and the other way round, and cf32 taken for cf64. */
static void wrong_types(void **unused)
{
  static tlg_cs16 noise[8192];
  static float f[2 * 8192];
  static double d[2 * 8192];
  const struct tlg_reader_cfg as_cf32 = {.format = TLG_FORMAT_CF32}, as_cf64 = {.format = TLG_FORMAT_CF64};
  uint32_t state = 1;
  size_t k;

  (void)unused;
  for (k = 0; k < 8192; k++) {
    noise[k].i = (int16_t)((int)(xorshift(&state) % 8001) - 4000);
    noise[k].q = (int16_t)((int)(xorshift(&state) % 8001) - 4000);
    f[2 * k] = (float)noise[k].i / 32768.0f;
    f[2 * k + 1] = (float)noise[k].q / 32768.0f;
    d[2 * k] = noise[k].i / 30000.0;
    d[2 * k + 1] = noise[k].q / 30000.0;
  }
  put_file("ints", noise, sizeof noise);
  put_file("singles", f, sizeof f);
  put_file("doubles", d, sizeof d);
  assert_string_equal(accepted("ints", &cs16, 8192, "")->hints, "");
  assert_string_equal(accepted("singles", &as_cf32, 8192, "")->hints, "");
  assert_string_equal(accepted("doubles", &as_cf64, 8192, "")->hints, "");
  accepted("ints", &as_cf32, 4096, "not plausible for cf32");
  accepted("ints", &as_cf64, 2048, "not plausible for cf64");
  accepted("singles", &as_cf64, 4096, "look like cf32");
  accepted("singles", &cs16, 16384, "look like cf32");
  accepted("doubles", &as_cf32, 16384, "look like cf64");
  accepted("doubles", &cs16, 32768, "look like cf64");
  for (k = 0; k < 2 * 8192; k++) {
    f[k] *= 32768;
  }
  put_file("large", f, sizeof f);
  accepted("large", &as_cf32, 8192, "--full-scale");
}

static void arguments(void **unused)
{
  struct tlg_reader *r;
  struct tlg_error err;
  tlg_cs16 x[4];
  uint64_t first;
  size_t got;

  (void)unused;
  assert_int_equal(tlg_reader_open(NULL, "x", NULL, &err), TLG_EINVAL);
  assert_int_equal(tlg_reader_open(&r, NULL, NULL, NULL), TLG_EINVAL);
  put_marked("args.cs16", 0, 4);
  assert_int_equal(tlg_reader_open(&r, "args.cs16", NULL, NULL), 0);
  assert_int_equal(tlg_reader_read(r, x, 0, &got, &first, &err), TLG_EINVAL);
  assert_int_equal(tlg_reader_read(NULL, x, 4, &got, &first, &err), TLG_EINVAL);
  /* the file becomes shorter while it is open: what is there comes, then an error */
  assert_int_equal(truncate("args.cs16", 8), 0);
  assert_int_equal(tlg_reader_read(r, x, 4, &got, &first, &err), 0);
  assert_int_equal(got, 2);
  assert_int_equal(tlg_reader_read(r, x, 4, &got, &first, &err), TLG_EFORMAT);
  assert_non_null(strstr(err.text, "shorter"));
  tlg_reader_close(r);
  tlg_reader_close(NULL);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(suffixes),      cmocka_unit_test(name_hints),  cmocka_unit_test(odd_tail),
      cmocka_unit_test(nothing_there), cmocka_unit_test(not_numbers), cmocka_unit_test(levels),
      cmocka_unit_test(swapped),       cmocka_unit_test(windows),     cmocka_unit_test(hundred_gigabytes),
      cmocka_unit_test(pipes),         cmocka_unit_test(wrong_types), cmocka_unit_test(arguments),
  };

  signal(SIGPIPE, SIG_IGN); /* a reader that has its window goes before the writer is through */
  return cmocka_run_group_tests_name("reader_raw", tests, scratch_make, scratch_remove);
}
