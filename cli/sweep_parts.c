/* SPDX-License-Identifier: Apache-2.0 */
/* What a sweep keeps on disk: sealed lines, parts that go on, that are merged. */
#include "sweep.h"

#include <errno.h>
#include <inttypes.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define NAME "sweep"

/* A line of a part is a JSON object whose last key is the CRC of all text before it: JSON with a flipped digit is JSON
 * still. */
#define SEAL ",\"crc32\":\""
enum {
  SEAL_START = sizeof SEAL - 1,
  SEAL_LENGTH = SEAL_START + 8 + 3
}; /* its hexadecimal digits, and "} and the end */

static char *seal_json(const json_t *o, size_t *length)
{
  char *text = json_dumps(o, JSON_COMPACT | JSON_PRESERVE_ORDER), *line = NULL;
  const size_t n = text ? strlen(text) - 1 : 0; /* without the closing brace */

  if (text && (line = malloc(n + SEAL_LENGTH + 1)) != NULL) {
    memcpy(line, text, n);
    snprintf(line + n, SEAL_LENGTH + 1, SEAL "%08lx\"}\n", crc32_z(0, (const unsigned char *)text, n));
    *length = n + SEAL_LENGTH;
  }
  free(text);
  return line;
}

/* Whether a line is as it was sealed. */
static int sealed(const char *line, size_t n)
{
  char want[SEAL_LENGTH + 1];

  if (n <= SEAL_LENGTH) {
    return 0;
  }
  n -= SEAL_LENGTH;
  snprintf(want, sizeof want, SEAL "%08lx\"}\n", crc32_z(0, (const unsigned char *)line, n));
  return memcmp(line + n, want, SEAL_LENGTH) == 0;
}

/* At once on its way: what is there counts if the sweep is interrupted. */
void sweep_log(struct sweep *s, const json_t *o)
{
  size_t length = 0;
  char *line = seal_json(o, &length);

  if (!line) {
    s->log_failed = ENOMEM;
  } else if (fwrite(line, 1, length, s->log) != length || fflush(s->log) != 0) {
    s->log_failed = errno ? errno : EIO;
  }
  free(line);
}

static int hash_file(const char *path, char hex[65])
{
  unsigned char digest[EVP_MAX_MD_SIZE], block[4096];
  EVP_MD_CTX *hash = EVP_MD_CTX_new();
  unsigned length = 0, i;
  FILE *f = fopen(path, "rb");
  size_t n;
  int ok = hash && f && EVP_DigestInit_ex(hash, EVP_sha256(), NULL);

  while (ok && (n = fread(block, 1, sizeof block, f)) > 0) {
    ok = EVP_DigestUpdate(hash, block, n);
  }
  ok = ok && !ferror(f) && EVP_DigestFinal_ex(hash, digest, &length) && length == 32;
  for (i = 0; ok && i < 32; i++) {
    snprintf(hex + 2 * i, 3, "%02x", digest[i]);
  }
  if (f) {
    fclose(f);
  }
  EVP_MD_CTX_free(hash);
  return ok;
}

json_t *sweep_header(const struct sweep *s)
{
  json_t *o = json_object(), *axes = json_array(), *set = json_array();
  char hex[65] = "";
  unsigned a;
  size_t i;

  hash_file(s->path, hex);
  for (i = 0; i < model_settings.n; i++) {
    json_array_append_new(set, json_string(model_settings.list[i]));
  }
  for (a = 0; a < s->n_axes; a++) {
    json_t *values = json_array();

    for (i = 0; i < s->axes[a].n; i++) {
      json_array_append_new(values, json_string(s->axes[a].values[i]));
    }
    json_array_append_new(axes, json_pack("{s:s,s:o}", "key", s->axes[a].key, "values", values));
  }
  json_object_set_new(o, "schema", json_string("taplag/sweep-part/2"));
  json_object_set_new(o, "scenario_sha256", json_string(hex));
  json_object_set_new(o, "set", set);
  json_object_set_new(o, "vary", axes);
  json_object_set_new(o, "runs", json_integer(s->runs));
  json_object_set_new(o, "seed", json_integer((json_int_t)s->seed));
  return o;
}

/* A line's checksum, which is taken away from the object. Returns 0 or the exit status. */
static int line_check(const char *path, unsigned number, const char *line, size_t n, json_t *o)
{
  if (!sealed(line, n)) {
    cli_say(NAME, "%s:%u: damaged: its checksum does not fit; remove the file and run this part again", path, number);
    return CLI_BAD_INPUT;
  }
  json_object_del(o, "crc32");
  return 0;
}

int sweep_part_read(struct sweep *s, const char *path, int first, long *whole)
{
  FILE *f = fopen(path, "r");
  char *line = NULL;
  size_t room = 0;
  ssize_t n;
  unsigned number = 0;
  int status = 0;

  *whole = 0;
  if (!f) {
    cli_say(NAME, "%s: %s", path, strerror(errno));
    return CLI_SYSTEM;
  }
  while (!status && (n = getline(&line, &room, f)) > 0 && line[n - 1] == '\n') {
    json_t *o = json_loadb(line, (size_t)n, JSON_DISABLE_EOF_CHECK, NULL);

    number++;
    if (!o) {
      cli_say(NAME, "%s:%u: no JSON: this is no part of a sweep, or it is damaged", path, number);
      status = CLI_BAD_INPUT;
    } else if (number == 1) {
      const char *schema = json_string_value(json_object_get(o, "schema"));

      if (!schema || strcmp(schema, "taplag/sweep-part/2") != 0) {
        cli_say(NAME, "%s:1: no part of a sweep (taplag/sweep-part/2)", path);
        status = CLI_BAD_INPUT;
      } else if ((status = line_check(path, number, line, (size_t)n, o)) != 0) {
        /* told */
      } else if (first) {
        s->header = json_incref(o);
      } else if (!json_equal(o, s->header)) {
        cli_say(NAME, "%s:1: belongs to another sweep: the scenario, its settings, what is varied, runs or seed differ",
                path);
        status = CLI_BAD_INPUT;
      }
      if (!status && first && !s->units) {
        json_decref(o);
        break; /* the caller reads it again, knowing its size */
      }
    } else if ((status = line_check(path, number, line, (size_t)n, o)) == 0) {
      const uint64_t unit = sweep_integer(o, "unit");

      if (!json_is_integer(json_object_get(o, "unit")) || unit >= s->n_units) {
        cli_say(NAME, "%s:%u: no unit of this sweep", path, number);
        status = CLI_BAD_INPUT;
      } else if (s->units[unit]) {
        if (!json_equal(s->units[unit], o)) {
          cli_say(NAME, "%s:%u: point %" PRIu64 " stands in two parts, with different results", path, number,
                  unit / s->runs);
          status = CLI_BAD_INPUT;
        }
      } else {
        s->units[unit] = json_incref(o);
        s->n_known++;
      }
    }
    json_decref(o);
    *whole = ftell(f);
  }
  if (!status && number == 0) {
    cli_say(NAME, "%s:1: empty", path);
    status = CLI_BAD_INPUT;
  }
  free(line);
  fclose(f);
  return status;
}

int sweep_header_take(struct sweep *s)
{
  const json_t *axes = json_object_get(s->header, "vary");
  size_t a, i;

  s->runs = (unsigned)sweep_integer(s->header, "runs");
  s->seed = sweep_integer(s->header, "seed");
  s->n_axes = (unsigned)json_array_size(axes);
  if (s->n_axes < 1 || s->n_axes > SWEEP_VARIED || s->runs < 1 || s->runs > SWEEP_RUNS) {
    return 0;
  }
  for (a = 0; a < s->n_axes; a++) {
    const json_t *axis = json_array_get(axes, a), *values = json_object_get(axis, "values");
    const char *key = json_string_value(json_object_get(axis, "key"));

    if (!key) {
      return 0;
    }
    snprintf(s->axes[a].key, sizeof s->axes[a].key, "%s", key);
    for (i = 0; i < json_array_size(values); i++) {
      const char *value = json_string_value(json_array_get(values, i));

      if (!value || !sweep_axis_add(&s->axes[a], value)) {
        return 0;
      }
    }
  }
  return 1;
}

int sweep_write(const struct sweep *s)
{
  struct tlg_outfile *out = NULL;
  struct tlg_error err = {0};
  int failed = tlg_outfile_open(&out, s->output, s->force, &err);
  size_t i, length = 0;

  for (i = 0; i <= s->n_units && failed == TLG_OK; i++) {
    const json_t *o = i ? s->units[i - 1] : s->header;
    char *line = o ? seal_json(o, &length) : NULL;

    if (o && !line) {
      tlg_outfile_abort(out);
      cli_say(NAME, "out of memory");
      return CLI_SYSTEM;
    }
    failed = line ? tlg_outfile_write(out, line, length, &err) : TLG_OK;
    free(line);
  }
  if (failed != TLG_OK) {
    tlg_outfile_abort(out);
  } else {
    failed = tlg_outfile_close(out, &err);
  }
  return failed == TLG_OK ? 0 : cli_fail(NAME, s->output, &err);
}

int sweep_finish(const struct sweep *s, const char *part)
{
  char sorted[4224];
  size_t i, length = 0;
  int failed = 0;
  FILE *f;

  snprintf(sorted, sizeof sorted, "%s-sorted", part);
  f = fopen(sorted, "w");
  for (i = 0; f && i <= s->n_units && !failed; i++) {
    const json_t *o = i ? s->units[i - 1] : s->header;
    char *line = o ? seal_json(o, &length) : NULL;

    failed = o && !line ? ENOMEM : line && fwrite(line, 1, length, f) != length ? errno : 0;
    free(line);
  }
  if (!f || (fclose(f) != 0 && !failed) || (!failed && rename(sorted, s->output) != 0)) {
    failed = errno;
  }
  if (failed) {
    if (f) {
      unlink(sorted);
    }
    cli_say(NAME, "%s: %s; all results are in %s: the same command writes them anew", s->output, strerror(failed),
            part);
    return CLI_SYSTEM;
  }
  unlink(part);
  return 0;
}

/* Whether a part holds nothing but a begin of this sweep's first line: the disk was full, or the run killed, as it was
 * written. */
static int header_cut(const struct sweep *s, const char *part)
{
  size_t length = 0, n = 0;
  char *line = seal_json(s->header, &length), *there = line ? malloc(length) : NULL;
  FILE *f = there ? fopen(part, "r") : NULL;
  int cut = 0;

  if (f) {
    n = fread(there, 1, length, f);
    cut = !ferror(f) && n < length && memcmp(line, there, n) == 0;
    fclose(f);
  }
  free(there);
  free(line);
  return cut;
}

int sweep_log_open(struct sweep *s, char *part, size_t size)
{
  long whole = 0;
  int status;

  snprintf(part, size, "%s.part", s->output);
  if (access(s->output, F_OK) == 0 && !s->force) {
    return cli_usage(NAME, "%s exists; --force overwrites it", s->output);
  }
  if (access(part, F_OK) == 0) {
    status = header_cut(s, part) ? 0 : sweep_part_read(s, part, 0, &whole);
    if (status) {
      cli_say(NAME, "%s is left over from another run, or damaged: remove it", part);
      return status;
    }
    if (truncate(part, whole) != 0) {
      cli_say(NAME, "%s: %s", part, strerror(errno));
      return CLI_SYSTEM;
    }
    cli_say(NAME, "%s: going on, %zu results are there", part, s->n_known);
  }
  s->log = fopen(part, "a");
  if (!s->log) {
    cli_say(NAME, "%s: %s", part, strerror(errno));
    return CLI_SYSTEM;
  }
  if (!whole) {
    sweep_log(s, s->header);
  }
  return 0;
}
