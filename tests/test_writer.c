/* SPDX-License-Identifier: Apache-2.0 */
/* Writers: read back by others, the same bytes twice, and nothing under the final name but whole files. */
#include "iq_files.h"

#include <archive.h>
#include <archive_entry.h>
#include <dirent.h>
#include <jansson.h>
#include <signal.h>
#include <sndfile.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum { N = 40001 };

static const tlg_cs16 *marks(void)
{
  static tlg_cs16 x[N];
  size_t k;

  for (k = 0; k < N; k++) {
    x[k] = marked(k);
  }
  return x;
}

/* Files in the folder whose names contain word. */
static int count_files(const char *folder, const char *word)
{
  DIR *d = opendir(folder);
  const struct dirent *e;
  int n = 0;

  assert_non_null(d);
  while ((e = readdir(d))) {
    n += e->d_name[0] != '.' || e->d_name[1] ? strstr(e->d_name, word) != NULL : 0;
  }
  closedir(d);
  return n;
}

static struct tlg_writer *open_writer(const char *path, const struct tlg_writer_cfg *cfg)
{
  struct tlg_writer *w;
  struct tlg_error err = {0};

  if (tlg_writer_open(&w, path, cfg, &err)) {
    fail_msg("%s: %s", path, err.text);
  }
  return w;
}

/* In pieces of uneven length. */
static void write_marks(struct tlg_writer *w, size_t n)
{
  static const size_t pieces[] = {1, 767, 0, 20000, 3};
  struct tlg_error err = {0};
  size_t at = 0, k;

  for (k = 0; at < n; k++) {
    const size_t m = n - at < pieces[k % 5] ? n - at : pieces[k % 5];

    if (tlg_writer_write(w, marks() + at, m, &err)) {
      fail_msg("%s", err.text);
    }
    at += m;
  }
}

static void put_recording(const char *path, const struct tlg_writer_cfg *cfg, size_t n)
{
  struct tlg_writer *w = open_writer(path, cfg);
  struct tlg_error err = {0};

  write_marks(w, n);
  if (tlg_writer_close(w, &err)) {
    fail_msg("%s: %s", path, err.text);
  }
}

/* Every container and type it can hold: through our reader and, where it can, through libsndfile; twice the same. */
static void round_trips(void **unused)
{
  static const struct {
    const char *name;
    enum tlg_format format;
    unsigned rate;
  } files[] = {
      {"a.cs16", 0, 25000000},
      {"a.cf32", 0, 25000000},
      {"a.cf64", 0, 25000000},
      {"a.cs32", 0, 25000000},
      {"a.cs8", 0, 25000000},
      {"a.cu8", 0, 25000000},
      {"a.sigmf-meta", 0, 25000000},
      {"b.sigmf-data", TLG_FORMAT_CF32, 25000000},
      {"c.sigmf", 0, 25000000},
      {"d.sigmf", TLG_FORMAT_CF64, 25000000},
      {"e.sigmf-meta", TLG_FORMAT_CS8, 25000000},
      {"f.sigmf-meta", TLG_FORMAT_CU8, 25000000},
      {"g.sigmf-meta", TLG_FORMAT_CS32, 25000000},
      {"a.wav", 0, 30720000},
      {"b.wav", TLG_FORMAT_CF32, 30720000},
      {"c.wav", TLG_FORMAT_CF64, 30720000},
      {"d.wav", TLG_FORMAT_CS32, 30720000},
      {"e.wav", TLG_FORMAT_CU8, 30720000},
      {"a.rf64", 0, 30720000},
      {"b.rf64", TLG_FORMAT_CF32, 30720000},
      {"a.w64", 0, 30720000},
      {"b.w64", TLG_FORMAT_CF64, 30720000},
      {"a.au", 0, 30720000},
      {"b.au", TLG_FORMAT_CF32, 30720000},
      {"c.au", TLG_FORMAT_CS8, 30720000},
      {"a.flac", 0, 500000},
  };
  size_t i, n1, n2;

  (void)unused;
  for (i = 0; i < sizeof files / sizeof *files; i++) {
    struct tlg_writer_cfg cfg = {.format = files[i].format, .rate = {files[i].rate, 1}};
    struct tlg_reader_cfg in = {0};
    struct outcome *o;
    uint8_t *first, *second;

    put_recording(files[i].name, &cfg, N);
    o = read_all(files[i].name, &in);
    if (o->status || o->n != N) {
      fail_msg("%s: %s, %llu samples", files[i].name, o->err.text, (unsigned long long)o->n);
    }
    if (tlg_format_size(o->info.format) > 2) {
      assert_marked(o, 0, 0, N);
    } else {
      assert_true(abs(o->samples[777].i - marked(777).i) <= 128);
    }
    assert_int_equal(o->info.header_lies, 0);
    if (o->info.container != TLG_CONTAINER_RAW) {
      assert_int_equal(o->info.rate.num, files[i].rate);
    }
    if (o->info.container == TLG_CONTAINER_SIGMF || o->info.container == TLG_CONTAINER_SIGMF_ARCHIVE) {
      assert_int_equal(o->info.hash, TLG_HASH_GOOD);
    }
    first = get_file(files[i].name, &n1);
    if (memmem(first, n1, "PEAK", 4)) {
      fail_msg("%s has a PEAK chunk, which holds the time of day", files[i].name);
    }
    cfg.force = 1;
    put_recording(files[i].name, &cfg, N);
    second = get_file(files[i].name, &n2);
    assert_int_equal(n1, n2);
    assert_memory_equal(first, second, n1);
    free(first);
    free(second);
    if (o->info.container >= TLG_CONTAINER_WAV && o->info.format == TLG_FORMAT_CS16) {
      static short x[2 * N];
      SF_INFO info = {0};
      SNDFILE *s = sf_open(files[i].name, SFM_READ, &info);

      assert_non_null(s);
      assert_int_equal(info.frames, N);
      assert_int_equal(info.samplerate, files[i].rate);
      assert_int_equal(sf_readf_short(s, x, N), N);
      assert_memory_equal(x, marks(), sizeof x);
      sf_close(s);
    }
  }
  assert_int_equal(count_files(".", "part"), 0);
}

/* What a SigMF meta file must say, read by jansson; gaps and frequencies as captures. */
static void meta_file(void **unused)
{
  const struct tlg_writer_cfg cfg = {.rate = {184320000, 7},
                                     .frequency_hz = 1815.3e6,
                                     .datetime = "2024-12-31T23:59:59.9999Z",
                                     .description = "a \"test\""};
  struct tlg_writer *w = open_writer("m.sigmf-meta", &cfg);
  json_error_t error;
  json_t *root, *global, *captures, *c;
  struct outcome *o;

  (void)unused;
  assert_true(tlg_writer_marks_gaps(w));
  assert_int_equal(tlg_writer_gap(w, 5, NULL), 0); /* before the first sample */
  assert_int_equal(tlg_writer_write(w, marks(), 1000, NULL), 0);
  assert_int_equal(tlg_writer_gap(w, 0, NULL), 0);
  assert_int_equal(tlg_writer_gap(w, 5265, NULL), 0);
  assert_int_equal(tlg_writer_retune(w, 900e6, NULL), 0);
  assert_int_equal(tlg_writer_write(w, marks() + 1000, 500, NULL), 0);
  assert_int_equal(tlg_writer_retune(w, NAN, NULL), 0);
  assert_int_equal(tlg_writer_write(w, marks() + 1500, 1, NULL), 0);
  assert_int_equal(tlg_writer_gap(w, 7, NULL), 0); /* behind the last */
  assert_int_equal(tlg_writer_close(w, NULL), 0);

  root = json_load_file("m.sigmf-meta", 0, &error);
  assert_non_null(root);
  global = json_object_get(root, "global");
  captures = json_object_get(root, "captures");
  assert_string_equal(json_string_value(json_object_get(global, "core:datatype")), "ci16_le");
  assert_true(json_number_value(json_object_get(global, "core:sample_rate")) == 184320000.0 / 7);
  assert_string_equal(json_string_value(json_object_get(global, "core:description")), "a \"test\"");
  assert_int_equal(json_array_size(captures), 3);
  c = json_array_get(captures, 0);
  assert_int_equal(json_integer_value(json_object_get(c, "core:sample_start")), 0);
  assert_int_equal(json_integer_value(json_object_get(c, "core:global_index")), 5);
  assert_true(json_number_value(json_object_get(c, "core:frequency")) == 1815.3e6);
  c = json_array_get(captures, 1);
  assert_int_equal(json_integer_value(json_object_get(c, "core:sample_start")), 1000);
  assert_int_equal(json_integer_value(json_object_get(c, "core:global_index")), 6270);
  assert_true(json_number_value(json_object_get(c, "core:frequency")) == 900e6);
  /* 6270 samples at 184320000/7 Hz are 238.118489583... us after the start */
  assert_string_equal(json_string_value(json_object_get(c, "core:datetime")), "2025-01-01T00:00:00.000138118489Z");
  c = json_array_get(captures, 2);
  assert_null(json_object_get(c, "core:frequency"));
  json_decref(root);
  o = accepted("m.sigmf-meta", NULL, 1501, "");
  assert_int_equal(o->info.rate.num, 184320000);
  assert_int_equal(o->info.rate.den, 7);
  assert_int_equal(o->info.n_missing, 5265); /* what is missing before the first sample only shifts its number */
  assert_int_equal(o->captures[1].gap_before, 5265);

  /* without a time of the input there is none in the output */
  {
    const struct tlg_writer_cfg plain = {.rate = {25000000, 1}};
    size_t n;
    uint8_t *text;

    put_recording("plain.sigmf-meta", &plain, 100);
    text = get_file("plain.sigmf-meta", &n);
    assert_null(strstr((char *)text, "datetime"));
    assert_null(strstr((char *)text, "global_index"));
    free(text);
  }
}

/* The archive as tar sees it. */
static void archive_members(void **unused)
{
  const struct tlg_writer_cfg cfg = {.rate = {25000000, 1}};
  struct archive *a = archive_read_new();
  struct archive_entry *e;
  static tlg_cs16 x[N];

  (void)unused;
  put_recording("Grüße und mehr.sigmf", &cfg, N);
  archive_read_support_format_tar(a);
  assert_int_equal(archive_read_open_filename(a, "Grüße und mehr.sigmf", 10240), ARCHIVE_OK);
  assert_int_equal(archive_read_next_header(a, &e), ARCHIVE_OK);
  assert_string_equal(archive_entry_pathname(e), "Grüße und mehr/Grüße und mehr.sigmf-data");
  assert_int_equal(archive_entry_size(e), sizeof x);
  assert_int_equal(archive_entry_mtime(e), 0);
  assert_int_equal(archive_read_data(a, x, sizeof x), sizeof x);
  assert_memory_equal(x, marks(), sizeof x);
  assert_int_equal(archive_read_next_header(a, &e), ARCHIVE_OK);
  assert_string_equal(archive_entry_pathname(e), "Grüße und mehr/Grüße und mehr.sigmf-meta");
  assert_int_equal(archive_read_next_header(a, &e), ARCHIVE_EOF);
  archive_read_free(a);
  /* names too long for a plain tar header */
  {
    char name[200];
    struct outcome *o;

    memset(name, 'n', 150);
    strcpy(name + 150, ".sigmf");
    put_recording(name, &cfg, 300);
    o = accepted(name, NULL, 300, "");
    assert_marked(o, 0, 0, 300);
    assert_int_equal(o->info.hash, TLG_HASH_GOOD);
  }
}

static void whole_or_not_at_all(void **unused)
{
  struct tlg_writer_cfg cfg = {.rate = {25000000, 1}};
  static const char *const names[] = {"w.cs16", "w.wav", "w.sigmf", "w.sigmf-meta"};
  struct tlg_error err;
  struct tlg_writer *w;
  size_t i, n;
  uint8_t *bytes;

  (void)unused;
  assert_int_equal(mkdir("whole", 0777), 0);
  assert_int_equal(chdir("whole"), 0);
  for (i = 0; i < sizeof names / sizeof *names; i++) {
    w = open_writer(names[i], &cfg);
    write_marks(w, N);
    assert_int_equal(access(names[i], F_OK), -1); /* not there before it is whole */
    tlg_writer_abort(w);
    assert_int_equal(count_files(".", "part"), 0);
    put_recording(names[i], &cfg, 10);
    assert_int_equal(tlg_writer_open(&w, names[i], &cfg, &err), TLG_EEXIST);
    assert_null(w);
    assert_non_null(strstr(err.text, "--force"));
    cfg.force = 1;
    w = open_writer(names[i], &cfg);
    write_marks(w, N);
    tlg_writer_abort(w); /* the old one stays */
    assert_int_equal(read_all(names[i], NULL)->n, 10);
    put_recording(names[i], &cfg, 20);
    assert_int_equal(read_all(names[i], NULL)->n, 20);
    cfg.force = 0;
    assert_int_equal(count_files(".", "w."), i == 3 ? 5 : (int)i + 1);
    assert_int_equal(count_files(".", "part"), 0);
  }
  /* another made the file in the meantime */
  w = open_writer("race.cs16", &cfg);
  write_marks(w, 100);
  put_text("race.cs16", "other");
  assert_int_equal(tlg_writer_close(w, &err), TLG_EEXIST);
  bytes = get_file("race.cs16", &n);
  assert_int_equal(n, 5);
  free(bytes);
  /* a data file alone is in the way too */
  put_text("half.sigmf-data", "x");
  assert_int_equal(tlg_writer_open(&w, "half.sigmf-meta", &cfg, &err), TLG_EEXIST);
  assert_int_equal(access("half.sigmf-meta", F_OK), -1);
  assert_int_equal(chdir(".."), 0);
}

static void links_modes_parts(void **unused)
{
  struct tlg_writer_cfg cfg = {.rate = {25000000, 1}, .force = 1};
  struct tlg_error err;
  struct tlg_writer *w;
  struct stat st;

  (void)unused;
  put_text("target.cs16", "old!");
  assert_int_equal(chmod("target.cs16", 0640), 0);
  assert_int_equal(symlink("target.cs16", "link.cs16"), 0);
  put_recording("link.cs16", &cfg, 100);
  assert_int_equal(lstat("link.cs16", &st), 0);
  assert_true(S_ISLNK(st.st_mode));
  assert_int_equal(lstat("target.cs16", &st), 0);
  assert_int_equal(st.st_size, 400);
  assert_int_equal(st.st_mode & 0777, 0640);
  assert_int_equal(symlink("nowhere/x", "broken.cs16"), 0);
  assert_int_equal(tlg_writer_open(&w, "broken.cs16", &cfg, &err), TLG_ESYS);
  umask(027);
  put_recording("mask.cs16", &cfg, 1);
  assert_int_equal(stat("mask.cs16", &st), 0);
  assert_int_equal(st.st_mode & 0777, 0640);
  umask(022);
  /* recordings keep their part */
  cfg.keep_part = 1;
  cfg.force = 0;
  w = open_writer("kept.cs16", &cfg);
  write_marks(w, 1000);
  assert_int_equal(access("kept.cs16.part", F_OK), 0);
  tlg_writer_abort(w);
  assert_int_equal(access("kept.cs16", F_OK), -1);
  assert_int_equal(stat("kept.cs16.part", &st), 0);
  assert_int_equal(st.st_size, 4000);
  assert_int_equal(tlg_writer_open(&w, "kept.cs16", &cfg, &err), TLG_EEXIST); /* the part is in the way */
  unlink("kept.cs16.part");
  put_recording("kept.cs16", &cfg, 1000);
  assert_int_equal(access("kept.cs16.part", F_OK), -1);
}

static void refused_targets(void **unused)
{
  static const struct {
    const char *path;
    struct tlg_writer_cfg cfg;
    int status;
    const char *word;
  } cases[] = {
      {"", {0}, TLG_EINVAL, "empty"},
      {".", {0}, TLG_ESYS, "folder"},
      {"nowhere/x.cs16", {0}, TLG_ESYS, "No such file"},
      {"/proc/x.cs16", {0}, TLG_ESYS, "cannot create"},
      {"x.wav", {0}, TLG_EINVAL, "--rate"},
      {"x.sigmf-meta", {0}, TLG_EINVAL, "--rate"},
      {"x.wav", {.rate = {184320000, 7}}, TLG_EINVAL, "whole number"},
      {"x.flac", {.rate = {25000000, 1}}, TLG_EINVAL, "655350"},
      {"x.wav", {.rate = {25000000, 1}, .format = TLG_FORMAT_CS8}, TLG_EINVAL, "cannot hold cs8"},
      {"x.flac", {.rate = {48000, 1}, .format = TLG_FORMAT_CF32}, TLG_EINVAL, "cannot hold"},
      {"/dev/null", {.rate = {48000, 1}, .container = TLG_CONTAINER_WAV}, TLG_EINVAL, "device"},
      {"-", {.rate = {48000, 1}, .container = TLG_CONTAINER_WAV}, TLG_EINVAL, "stdout"},
      {"-", {.rate = {48000, 1}, .container = TLG_CONTAINER_SIGMF}, TLG_EINVAL, "stdout"},
      {"x.cs16", {.container = TLG_CONTAINER_OTHER_SNDFILE, .rate = {1, 1}}, TLG_EINVAL, "cannot be written"},
      /* types that are read only, in any kind of file */
      {"x.cs16", {.format = TLG_FORMAT_CU16}, TLG_EINVAL, "cu16 is not a format that can be written"},
      {"x.cs16", {.format = TLG_FORMAT_CU32}, TLG_EINVAL, "cu32 is not a format that can be written"},
      {"x.cs16", {.format = TLG_FORMAT_CS24}, TLG_EINVAL, "cs24 is not a format that can be written"},
      {"x.cu16", {0}, TLG_EINVAL, "cu16 is not a format that can be written"},
      {"x.wav", {.rate = {48000, 1}, .format = TLG_FORMAT_CU16}, TLG_EINVAL, "cu16 is not"},
      {"x.wav", {.rate = {48000, 1}, .format = TLG_FORMAT_CS24}, TLG_EINVAL, "cs24 is not"},
      {"x.sigmf", {.rate = {48000, 1}, .format = TLG_FORMAT_CU32}, TLG_EINVAL, "cu32 is not"},
      /* kinds of files that are not written: bare samples would stand under their names */
      {"x.aif", {0}, TLG_EINVAL, ".aif files are not written"},
      {"x.AIFF", {.rate = {48000, 1}}, TLG_EINVAL, ".aiff files are not written"},
      {"x.caf", {.format = TLG_FORMAT_CS16}, TLG_EINVAL, ".caf files are not written"},
      {"x.bw64", {0}, TLG_EINVAL, ".bw64 files are not written"},
      {"x.mat", {0}, TLG_EINVAL, ".mat files are not written"},
      {"x.npy", {0}, TLG_EINVAL, ".npy files are not written"},
      {"x.cs16.gz", {0}, TLG_EINVAL, ".gz files are not written"},
      {"x.sigmf-collection", {0}, TLG_EINVAL, "not written"},
  };
  size_t i;

  (void)unused;
  for (i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct tlg_writer *w = (struct tlg_writer *)(void *)&i;
    struct tlg_error err = {0};
    const int status = tlg_writer_open(&w, cases[i].path, &cases[i].cfg, &err);

    if (status != cases[i].status || !strstr(err.text, cases[i].word) || w) {
      fail_msg("%s: status %d, %s", cases[i].path, status, err.text);
    }
  }
  assert_int_equal(count_files(".", "x.wav"), 0);
  assert_int_equal(count_files(".", "x.aif"), 0);
}

/* What is written under a suffix is read again by that suffix alone, as the same type. */
static void suffixes_agree(void **unused)
{
  static const char *const suffixes[] = {
      "cs16", "sc16", "ci16", "iq16", "c16", "complex32s", "cf32", "fc32", "cfile",      "complex",    "cf64",
      "fc64", "cs8",  "sc8",  "ci8",  "c8",  "complex16s", "cu8",  "uc8",  "complex16u", "cs32",       "sc32",
      "ci32", "wav",  "wave", "rf64", "w64", "au",         "snd",  "flac", "sigmf",      "sigmf-meta",
  };
  const struct tlg_writer_cfg cfg = {.rate = {48000, 1}};
  struct tlg_error err = {0};
  size_t i;

  (void)unused;
  for (i = 0; i <= sizeof suffixes / sizeof *suffixes; i++) {
    struct tlg_writer *w;
    enum tlg_format format;
    enum tlg_container container;
    struct outcome *o;
    char name[40];

    snprintf(name, sizeof name, "s%zu.%s", i, i < sizeof suffixes / sizeof *suffixes ? suffixes[i] : "");
    if (i == sizeof suffixes / sizeof *suffixes) {
      strcpy(name, "x_fc.raw");
    }
    w = open_writer(name, &cfg);
    write_marks(w, 5000);
    format = tlg_writer_format(w);
    container = tlg_writer_container(w);
    assert_int_equal(tlg_writer_close(w, &err), TLG_OK);
    o = accepted(name, NULL, 5000, "");
    assert_int_equal(o->info.format, format);
    assert_int_equal(o->info.container, container);
  }
}

/* A full device, a closed pipe, a limit on file sizes: the promised status, nothing left. */
static void failing_targets(void **unused)
{
  struct tlg_writer_cfg cfg = {.rate = {48000, 1}};
  static const char *const names[] = {"limit.cs16", "limit.wav", "limit.flac", "limit.sigmf", "limit.sigmf-meta"};
  struct rlimit old, small;
  struct tlg_error err;
  struct tlg_writer *w;
  size_t i, k;
  int ends[2], status;
  char path[40];

  (void)unused;
  w = open_writer("/dev/full", &cfg);
  assert_int_equal(tlg_writer_write(w, marks(), N, &err), TLG_ESYS);
  assert_non_null(strstr(err.text, "No space left"));
  tlg_writer_abort(w);
  w = open_writer("/dev/null", &cfg);
  write_marks(w, N);
  assert_int_equal(tlg_writer_close(w, &err), 0);

  signal(SIGPIPE, SIG_IGN);
  assert_int_equal(pipe(ends), 0);
  snprintf(path, sizeof path, "/proc/self/fd/%d", ends[1]);
  w = open_writer(path, &cfg);
  close(ends[0]);
  assert_int_equal(tlg_writer_write(w, marks(), N, &err), TLG_EPIPE);
  tlg_writer_abort(w);
  close(ends[1]);

  signal(SIGXFSZ, SIG_IGN);
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
  small = old;
  small.rlim_cur = 100000;
  for (i = 0; i < sizeof names / sizeof *names; i++) {
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    w = open_writer(names[i], &cfg);
    status = 0;
    for (k = 0; k < 40 && status == 0; k++) {
      status = tlg_writer_write(w, marks(), N, &err);
    }
    if (status == 0) {
      status = tlg_writer_close(w, &err);
    } else {
      tlg_writer_abort(w);
    }
    setrlimit(RLIMIT_FSIZE, &old);
    if (status != TLG_ESYS || !strstr(err.text, "File too large")) {
      fail_msg("%s: status %d, %s", names[i], status, err.text);
    }
    assert_int_equal(count_files(".", "limit"), 0);
  }
}

/* A file system of 256 KiB runs full while samples, or only the end of the file, are written. */
static void full_disk(void **unused)
{
  const struct tlg_writer_cfg cfg = {.rate = {48000, 1}};
  static const char *const names[] = {"small/f.cs16", "small/f.wav", "small/f.sigmf", "small/f.sigmf-meta"};
  struct tlg_error err;
  size_t i, k;

  (void)unused;
  assert_int_equal(mkdir("small", 0777), 0);
  if (mount("none", "small", "tmpfs", 0, "size=262144") != 0) {
    skip(); /* only root may mount */
  }
  for (i = 0; i < sizeof names / sizeof *names; i++) {
    struct tlg_writer *w = open_writer(names[i], &cfg);
    int status = 0;

    for (k = 0; k < 4 && status == 0; k++) {
      status = tlg_writer_write(w, marks(), N, &err);
    }
    assert_int_equal(status, TLG_ESYS);
    assert_non_null(strstr(err.text, "No space left"));
    tlg_writer_abort(w);
    assert_int_equal(count_files("small", "f"), 0);
  }
  umount("small");
  assert_int_equal(mount("none", "small", "tmpfs", MS_RDONLY, "size=262144"), 0);
  {
    struct tlg_writer *w;

    assert_int_equal(tlg_writer_open(&w, "small/ro.cs16", &cfg, &err), TLG_ESYS);
    assert_non_null(strstr(err.text, "Read-only"));
  }
  umount("small");
}

/* Room is taken before the first sample: more than any disk has is refused at once, and what was reserved and not used
 * goes back. */
static void reserved(void **unused)
{
  static const char *const names[] = {"room.cs16", "room.wav", "room.sigmf", "room.sigmf-meta"};
  struct tlg_writer_cfg cfg = {.rate = {48000, 1}};
  struct tlg_error err = {0};
  struct stat st;
  size_t i;

  (void)unused;
  for (i = 0; i < sizeof names / sizeof *names; i++) {
    struct tlg_writer *w;
    const char *const data = i == 3 ? "room.sigmf-data" : names[i];
    size_t n;
    uint8_t *bytes;
    int status;

    cfg.expected = (uint64_t)1 << 41; /* 8 TiB */
    status = tlg_writer_open(&w, names[i], &cfg, &err);
    if (status == TLG_OK) {
      tlg_writer_abort(w);
      skip(); /* the file system cannot take room beforehand */
    }
    assert_int_equal(status, TLG_ESYS);
    assert_null(w);
    assert_non_null(strstr(err.text, "8796093022208 bytes"));
    assert_int_equal(count_files(".", "room"), 0);

    cfg.expected = 10000000; /* 40 MB, of which 5000 samples come: as when interrupted */
    w = open_writer(names[i], &cfg);
    write_marks(w, 5000);
    assert_int_equal(tlg_writer_close(w, &err), TLG_OK);
    assert_marked(accepted(names[i], NULL, 5000, ""), 0, 0, 5000);
    assert_int_equal(stat(data, &st), 0);
    assert_true(st.st_size < 30000);
    assert_true((uint64_t)st.st_blocks * 512 < 200000);

    cfg.expected = 10; /* too few: more is written all the same */
    cfg.force = 1;
    w = open_writer(names[i], &cfg);
    write_marks(w, 5000);
    assert_int_equal(tlg_writer_close(w, &err), TLG_OK);
    assert_marked(accepted(names[i], NULL, 5000, ""), 0, 0, 5000);
    bytes = get_file(data, &n);
    assert_int_equal(n, st.st_size);
    free(bytes);
    cfg.force = 0;
    unlink(names[i]);
    unlink(data);
  }
}

/* Killed in the middle: where the file system has nameless files, nothing at all is left. */
static void killed(void **unused)
{
  const struct tlg_writer_cfg cfg = {.rate = {48000, 1}};
  int ready[2], status;
  pid_t child;
  char c;

  (void)unused;
  assert_int_equal(pipe(ready), 0);
  child = fork();
  if (child == 0) {
    struct tlg_writer *w;

    if (tlg_writer_open(&w, "killed.cs16", &cfg, NULL) == 0 && tlg_writer_write(w, marks(), N, NULL) == 0 &&
        write(ready[1], "x", 1) == 1) {
      pause();
    }
    _exit(1);
  }
  assert_int_equal(read(ready[0], &c, 1), 1);
  kill(child, SIGKILL);
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(access("killed.cs16", F_OK), -1);
  close(ready[0]);
  close(ready[1]);
}

static void plain_outfiles(void **unused)
{
  struct tlg_outfile *f;
  struct tlg_error err;
  uint8_t *bytes;
  size_t n;

  (void)unused;
  assert_int_equal(tlg_outfile_open(&f, "o.txt", 0, &err), 0);
  assert_int_equal(tlg_outfile_write(f, "hello", 5, &err), 0);
  assert_int_equal(access("o.txt", F_OK), -1);
  assert_int_equal(tlg_outfile_close(f, &err), 0);
  bytes = get_file("o.txt", &n);
  assert_string_equal((char *)bytes, "hello");
  free(bytes);
  assert_int_equal(tlg_outfile_open(&f, "o.txt", 0, &err), TLG_EEXIST);
  assert_null(f);
  assert_int_equal(tlg_outfile_open(&f, "o.txt", 1, &err), 0);
  tlg_outfile_abort(f);
  assert_int_equal(tlg_outfile_open(&f, NULL, 1, &err), TLG_EINVAL);
  tlg_outfile_abort(NULL);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(round_trips),         cmocka_unit_test(meta_file),         cmocka_unit_test(archive_members),
      cmocka_unit_test(whole_or_not_at_all), cmocka_unit_test(links_modes_parts), cmocka_unit_test(refused_targets),
      cmocka_unit_test(failing_targets),     cmocka_unit_test(full_disk),         cmocka_unit_test(killed),
      cmocka_unit_test(plain_outfiles),      cmocka_unit_test(suffixes_agree),    cmocka_unit_test(reserved),
  };

  return cmocka_run_group_tests_name("writer", tests, scratch_make, scratch_remove);
}
