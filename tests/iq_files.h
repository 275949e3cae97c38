/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of readers and writers share: a scratch folder, files out of bytes, and reading all of a file. */
#ifndef IQ_FILES_H
#define IQ_FILES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tlg_files.h"

#define READ_LIMIT 100000 /* samples kept of a file; the rest is only counted */

static char scratch[] = "/tmp/taplag-test-XXXXXX";

static inline int scratch_make(void **state)
{
  (void)state;
  return mkdtemp(scratch) && chdir(scratch) == 0 ? 0 : -1;
}

static inline int scratch_remove(void **state)
{
  char command[64];

  (void)state;
  snprintf(command, sizeof command, "rm -rf %s", scratch);
  return chdir("/") == 0 && system(command) == 0 ? 0 : -1;
}

static inline void put_file(const char *name, const void *bytes, size_t n)
{
  FILE *f;

  unlink(name); /* some file systems write through when a file is cut to nothing and filled again */
  f = fopen(name, "wb");
  assert_non_null(f);
  assert_int_equal(fwrite(bytes, 1, n, f), n);
  assert_int_equal(fclose(f), 0);
}

static inline void put_text(const char *name, const char *text)
{
  put_file(name, text, strlen(text));
}

static inline uint8_t *get_file(const char *name, size_t *n)
{
  FILE *f = fopen(name, "rb");
  struct stat st;
  uint8_t *bytes;

  assert_non_null(f);
  assert_int_equal(fstat(fileno(f), &st), 0);
  *n = (size_t)st.st_size;
  bytes = malloc(*n + 1);
  assert_non_null(bytes);
  assert_int_equal(fread(bytes, 1, *n, f), *n);
  bytes[*n] = 0;
  fclose(f);
  return bytes;
}

/* Everything that reading a file gave. */
struct outcome {
  int status;
  struct tlg_error err;
  char hints[8192];
  struct tlg_reader_info info; /* captures points to the copies below */
  struct tlg_capture captures[64];
  struct tlg_convert_counts counts;
  uint64_t n, end;    /* samples that came, and the stream's end */
  tlg_cs16 *samples;  /* at most READ_LIMIT */
  uint64_t jumps[64]; /* sizes of the gaps met */
  size_t n_jumps;
};

static inline void keep_hint(void *context, const char *text)
{
  struct outcome *o = context;

  if (strlen(o->hints) + strlen(text) + 2 < sizeof o->hints) {
    strcat(o->hints, text);
    strcat(o->hints, "\n");
  }
}

static inline struct outcome *read_all(const char *path, const struct tlg_reader_cfg *given)
{
  static struct outcome o;
  struct tlg_reader_cfg cfg = given ? *given : (struct tlg_reader_cfg){0};
  struct tlg_reader *r = (struct tlg_reader *)(void *)&cfg;
  uint64_t position = 0, first = 0;
  size_t got;

  free(o.samples);
  memset(&o, 0, sizeof o);
  o.samples = malloc(READ_LIMIT * sizeof *o.samples);
  assert_non_null(o.samples);
  cfg.hint = keep_hint;
  cfg.context = &o;
  o.err.offset = UINT64_MAX;
  o.status = tlg_reader_open(&r, path, &cfg, &o.err);
  if (o.status) {
    assert_null(r);
    assert_int_equal(o.err.status, o.status);
    assert_true(o.err.text[0] != '\0');
    assert_null(strchr(o.err.text, '\n'));
    return &o;
  }
  assert_non_null(r);
  for (;;) {
    static tlg_cs16 rest[7777];
    tlg_cs16 *to = o.n + 7777 <= READ_LIMIT ? o.samples + o.n : rest;

    o.status = tlg_reader_read(r, to, 7777, &got, &first, &o.err);
    if (o.status) {
      assert_int_equal(got, 0);
      break;
    }
    assert_true(first >= position);
    if (first > position && o.n_jumps < 64) {
      o.jumps[o.n_jumps++] = first - position;
    }
    if (!got) {
      o.end = first;
      break;
    }
    position = first + got;
    o.n += got;
  }
  o.info = *tlg_reader_info(r);
  assert_true(o.info.n_captures >= 1);
  memcpy(o.captures, o.info.captures, (o.info.n_captures < 64 ? o.info.n_captures : 64) * sizeof *o.captures);
  o.info.captures = o.captures;
  tlg_reader_counts(r, &o.counts);
  if (o.status == 0) {
    assert_int_equal(o.info.n_samples, o.n);
    assert_int_equal(o.end, o.n + o.info.n_missing);
  }
  tlg_reader_close(r);
  return &o;
}

/* Reading fails with this status, and the sentence has this word in it. */
static inline struct outcome *refused(const char *path, const struct tlg_reader_cfg *cfg, int status, const char *word)
{
  struct outcome *o = read_all(path, cfg);

  if (o->status != status || !strstr(o->err.text, word)) {
    fail_msg("%s: status %d (%s), wanted %d with '%s'", path, o->status, o->err.text, status, word);
  }
  return o;
}

/* Reading works, gives n samples, and a hint has this word in it ("" = any or none). */
static inline struct outcome *accepted(const char *path, const struct tlg_reader_cfg *cfg, uint64_t n, const char *word)
{
  struct outcome *o = read_all(path, cfg);

  if (o->status || o->n != n || !strstr(o->hints, word)) {
    fail_msg("%s: status %d (%s), %llu samples, wanted %llu; hints '%s', wanted '%s'", path, o->status, o->err.text,
             (unsigned long long)o->n, (unsigned long long)n, o->hints, word);
  }
  return o;
}

/* Whatever the bytes are: no crash, and either samples or one sentence with a status for bad contents. */
static inline void survives(const char *path, const struct tlg_reader_cfg *cfg)
{
  const struct outcome *o = read_all(path, cfg);

  if (o->status && o->status != TLG_EFORMAT && o->status != TLG_EINVAL && o->status != TLG_ESYS) {
    fail_msg("%s: status %d (%s)", path, o->status, o->err.text);
  }
}

static inline uint32_t xorshift(uint32_t *state)
{
  *state ^= *state << 13;
  *state ^= *state >> 17;
  *state ^= *state << 5;
  return *state;
}

/* Sample k of the tests' signal: every value tells its place. */
static inline tlg_cs16 marked(uint64_t k)
{
  const tlg_cs16 x = {(int16_t)(k % 30011), (int16_t)(-(int64_t)(k % 20011))};

  return x;
}

static inline void put_marked(const char *name, uint64_t first, size_t n)
{
  tlg_cs16 *x = malloc((n + 1) * sizeof *x);
  size_t k;

  assert_non_null(x);
  for (k = 0; k < n; k++) {
    x[k] = marked(first + k);
  }
  put_file(name, x, n * sizeof *x);
  free(x);
}

static inline void assert_marked(const struct outcome *o, size_t at, uint64_t first, size_t n)
{
  size_t k;

  for (k = 0; k < n; k++) {
    const tlg_cs16 want = marked(first + k);

    if (memcmp(&o->samples[at + k], &want, sizeof want) != 0) {
      fail_msg("sample %zu is (%d, %d), wanted (%d, %d)", at + k, o->samples[at + k].i, o->samples[at + k].q, want.i,
               want.q);
    }
  }
}

#endif
