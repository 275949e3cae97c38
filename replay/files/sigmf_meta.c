/* SPDX-License-Identifier: Apache-2.0 */
/* A SigMF meta file: JSON text to the few facts that reading its samples needs, each checked. */
#include "sigmf.h"

#include <ctype.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Largest sample numbers and byte counts accepted: sums and products of them stay inside 64 bits. */
#define LIMIT ((json_int_t)1 << 53)

struct parser {
  struct tlg_reader *r;
  const char *text; /* for line numbers */
  size_t size;
  struct tlg_error *err;
  const char *at; /* captures are gone through in order: where the last one's key stands, and its line */
  unsigned line;
};

/* The line of the n-th (from 0) key after the first appearance of section; 0 = not found. */
static unsigned line_of(const struct parser *p, const char *section, const char *key, size_t n)
{
  char quoted[64];
  const char *at = p->text, *const end = p->text + p->size, *s;
  unsigned line = 1;

  if (section) {
    snprintf(quoted, sizeof quoted, "\"%s\"", section);
    at = memmem(at, p->size, quoted, strlen(quoted));
  }
  snprintf(quoted, sizeof quoted, "\"%s\"", key);
  do {
    at = at && at < end ? memmem(at, (size_t)(end - at), quoted, strlen(quoted)) : NULL;
    if (!at) {
      return 0;
    }
    at++;
  } while (n-- > 0);
  for (s = p->text; s < at; s++) {
    line += *s == '\n';
  }
  return line;
}

/* The line of the next capture's core:sample_start; 0 = not found. One pass over the text for all captures. */
static unsigned next_capture_line(struct parser *p)
{
  static const char key[] = "\"core:sample_start\"";
  const char *const end = p->text + p->size, *found;

  if (!p->at) {
    p->at = memmem(p->text, p->size, "\"captures\"", 10);
    p->at = p->at ? p->at : p->text;
    p->line = 1;
    for (found = p->text; found < p->at; found++) {
      p->line += *found == '\n';
    }
  }
  found = memmem(p->at, (size_t)(end - p->at), key, sizeof key - 1);
  if (!found) {
    return 0;
  }
  for (; p->at <= found; p->at++) {
    p->line += *p->at == '\n';
  }
  return p->line;
}

/* JSON knows no NaN, but tools write it: NaN and Infinity outside of strings become null. The copy has room for it. */
static char *without_nan(const struct parser *p, size_t *size, unsigned *line)
{
  static const char *const words[] = {"-Infinity", "Infinity", "NaN", "nan"};
  char *copy = calloc(1, p->size + p->size / 3 + 2), *to = copy;
  const char *s = p->text, *const end = p->text + p->size;
  int string = 0;
  unsigned here = 1;
  size_t i;

  *line = 0;
  if (!copy) {
    return NULL;
  }
  while (s < end) {
    size_t taken = 0;

    here += *s == '\n';
    if (string && *s == '\\' && s + 1 < end) {
      *to++ = *s++;
    } else if (*s == '"') {
      string = !string;
    } else if (!string && (*s == '-' || *s == 'I' || *s == 'N' || *s == 'n')) {
      for (i = 0; i < sizeof words / sizeof *words && !taken; i++) {
        const size_t n = strlen(words[i]);

        if ((size_t)(end - s) >= n && memcmp(s, words[i], n) == 0) {
          taken = n;
        }
      }
    }
    if (taken) {
      memcpy(to, "null", 4);
      to += 4;
      s += taken;
      *line = *line ? *line : here;
    } else {
      *to++ = *s++;
    }
  }
  *size = (size_t)(to - copy);
  return copy;
}

/* A key whose value is null is taken as not stated. */
static json_t *get(json_t *object, const char *key)
{
  json_t *v = json_object_get(object, key);

  return json_is_null(v) ? NULL : v;
}

/* A whole number from 0 to LIMIT; some tools write 0.0. *value stays if the key is not there. */
static int get_count(const struct parser *p, json_t *object, const char *key, unsigned line, uint64_t *value)
{
  json_t *v = get(object, key);

  if (!v) {
    return TLG_OK;
  }
  if (json_is_integer(v) && json_integer_value(v) >= 0 && json_integer_value(v) <= LIMIT) {
    *value = (uint64_t)json_integer_value(v);
    return TLG_OK;
  }
  if (json_is_real(v) && json_real_value(v) >= 0 && json_real_value(v) <= (double)LIMIT &&
      json_real_value(v) == floor(json_real_value(v))) {
    *value = (uint64_t)json_real_value(v);
    return TLG_OK;
  }
  return tlg_error_at(p->err, TLG_EFORMAT, line, UINT64_MAX, "%s must be a whole number from 0 to 2^53", key);
}

static int parse_datatype(const struct parser *p, struct sigmf_meta *meta, json_t *global)
{
  static const struct {
    const char *name;
    enum tlg_format format;
  } types[] = {
      {"f64", TLG_FORMAT_CF64}, {"f32", TLG_FORMAT_CF32}, {"i32", TLG_FORMAT_CS32}, {"i16", TLG_FORMAT_CS16},
      {"u32", TLG_FORMAT_CU32}, {"u16", TLG_FORMAT_CU16}, {"i8", TLG_FORMAT_CS8},   {"u8", TLG_FORMAT_CU8},
  };
  json_t *v = get(global, "core:datatype");
  const unsigned line = line_of(p, "global", "core:datatype", 0);
  const char *text, *rest = "";
  size_t i;

  if (!v) {
    if (p->r->cfg.format) {
      meta->format = p->r->cfg.format;
      return TLG_OK;
    }
    return tlg_error_at(p->err, TLG_EFORMAT, line ? line : line_of(p, NULL, "global", 0), UINT64_MAX,
                        "core:datatype is missing, so the sample type is not known; add it, or give --format");
  }
  if (!json_is_string(v)) {
    return tlg_error_at(p->err, TLG_EFORMAT, line, UINT64_MAX, "core:datatype must be a string such as \"ci16_le\"");
  }
  text = json_string_value(v);
  for (i = 0; i < sizeof types / sizeof *types; i++) {
    const size_t n = strlen(types[i].name);

    if (text[0] && strncmp(text + 1, types[i].name, n) == 0 && (text[n + 1] == '\0' || text[n + 1] == '_')) {
      meta->format = types[i].format;
      rest = text + n + 1;
      break;
    }
  }
  if (!meta->format || (text[0] != 'c' && text[0] != 'r') ||
      (strcmp(rest, "_le") != 0 && strcmp(rest, "_be") != 0 && rest[0])) {
    return tlg_error_at(
        p->err, TLG_EFORMAT, line, UINT64_MAX,
        "core:datatype \"%.30s\" is not known; one of cf64 cf32 ci32 ci16 cu32 cu16 with _le or _be, ci8, cu8", text);
  }
  if (text[0] == 'r') {
    return tlg_error_at(p->err, TLG_EFORMAT, line, UINT64_MAX,
                        "core:datatype %s means real samples; only complex ones (I and Q) can be read", text);
  }
  if (!rest[0] && tlg_format_size(meta->format) > 2) {
    tlg_reader_hint(p->r, "core:datatype %s names no byte order; little endian is taken", text);
  }
  meta->big_endian = strcmp(rest, "_be") == 0 && tlg_format_size(meta->format) > 2;
  return TLG_OK;
}

static int parse_rate(const struct parser *p, struct sigmf_meta *meta, json_t *global)
{
  json_t *v = get(global, "core:sample_rate");
  const unsigned line = line_of(p, "global", "core:sample_rate", 0);

  if (!v) {
    return TLG_OK;
  }
  meta->rate_hz = json_number_value(v);
  if (!json_is_number(v) || !(meta->rate_hz > 0) || !(meta->rate_hz < 1e15)) {
    meta->rate_hz = 0;
    if (p->r->cfg.rate.num) {
      tlg_reader_hint(p->r, "core:sample_rate is no rate; the option is taken");
      return TLG_OK;
    }
    return tlg_error_at(p->err, TLG_EFORMAT, line, UINT64_MAX,
                        "core:sample_rate must be a positive number of Hz; correct it, or give --rate");
  }
  return TLG_OK;
}

static int parse_dataset(const struct parser *p, struct sigmf_meta *meta, json_t *global)
{
  json_t *v = get(global, "core:dataset");
  const char *name;

  meta->dataset_line = line_of(p, "global", "core:dataset", 0);
  if (json_is_true(get(global, "core:metadata_only"))) {
    return tlg_error_at(p->err, TLG_EFORMAT, line_of(p, "global", "core:metadata_only", 0), UINT64_MAX,
                        "core:metadata_only is set: there are no samples to read");
  }
  if (!v) {
    return TLG_OK;
  }
  name = json_string_value(v);
  if (!name || !name[0] || strchr(name, '/') || strcmp(name, "..") == 0 || strcmp(name, ".") == 0) {
    return tlg_error_at(p->err, TLG_EFORMAT, meta->dataset_line, UINT64_MAX,
                        "core:dataset must be the name of a file in the same folder, without any '/'");
  }
  meta->dataset = strdup(name);
  return meta->dataset ? TLG_OK : tlg_error_set(p->err, TLG_ENOMEM, "out of memory");
}

static int parse_hash(const struct parser *p, struct sigmf_meta *meta, json_t *global)
{
  json_t *v = get(global, "core:sha512");
  const char *hex;

  meta->sha512_line = line_of(p, "global", "core:sha512", 0);
  if (!v || p->r->cfg.skip_hash) {
    p->r->info.hash = v ? TLG_HASH_SKIPPED : TLG_HASH_NONE;
    return TLG_OK;
  }
  hex = json_string_value(v);
  if (!hex || strlen(hex) != 128 || strspn(hex, "0123456789abcdefABCDEF") != 128) {
    return tlg_error_at(p->err, TLG_EFORMAT, meta->sha512_line, UINT64_MAX,
                        "core:sha512 must be a string of 128 hex digits; --no-hash passes over it");
  }
  memcpy(meta->sha512, hex, 129);
  return TLG_OK;
}

/* Extensions that the recording says cannot be done without. */
static void tell_extensions(const struct parser *p, json_t *global)
{
  json_t *list = get(global, "core:extensions"), *item;
  size_t i;

  json_array_foreach(list, i, item)
  {
    const char *name = json_string_value(json_object_get(item, "name"));

    if (name && json_is_false(json_object_get(item, "optional"))) {
      tlg_reader_hint(
          p->r, "the recording needs the SigMF extension '%.60s', which is not known here; its samples are read", name);
    }
  }
}

static int parse_global(const struct parser *p, struct sigmf_meta *meta, json_t *root)
{
  json_t *global = get(root, "global");
  uint64_t channels = 1;
  int status;

  if (!json_is_object(global)) {
    return tlg_error_at(p->err, TLG_EFORMAT, line_of(p, NULL, "global", 0), UINT64_MAX,
                        "there is no \"global\" object; a SigMF meta file needs one");
  }
  if ((status = parse_datatype(p, meta, global)) || (status = parse_rate(p, meta, global)) ||
      (status = parse_dataset(p, meta, global)) || (status = parse_hash(p, meta, global)) ||
      (status = get_count(p, global, "core:offset", line_of(p, "global", "core:offset", 0), &meta->offset)) ||
      (status = get_count(p, global, "core:trailing_bytes", line_of(p, "global", "core:trailing_bytes", 0),
                          &meta->trailing_bytes)) ||
      (status = get_count(p, global, "core:num_channels", line_of(p, "global", "core:num_channels", 0), &channels))) {
    return status;
  }
  if (channels < 1 || channels > 1024) {
    return tlg_error_at(p->err, TLG_EFORMAT, line_of(p, "global", "core:num_channels", 0), UINT64_MAX,
                        "core:num_channels must be from 1 to 1024");
  }
  meta->n_channels = (unsigned)channels;
  tell_extensions(p, global);
  return TLG_OK;
}

static int parse_capture(struct parser *p, struct sigmf_capture *c, json_t *object, size_t i)
{
  json_t *v;
  int status;

  c->line = next_capture_line(p);
  c->global_index = UINT64_MAX;
  c->frequency_hz = NAN;
  if (!json_is_object(object)) {
    return tlg_error_at(p->err, TLG_EFORMAT, line_of(p, NULL, "captures", 0), UINT64_MAX,
                        "capture %zu is not an object", i + 1);
  }
  if (!get(object, "core:sample_start")) {
    return tlg_error_at(p->err, TLG_EFORMAT, line_of(p, NULL, "captures", 0), UINT64_MAX,
                        "capture %zu has no core:sample_start", i + 1);
  }
  if ((status = get_count(p, object, "core:sample_start", c->line, &c->start)) ||
      (status = get_count(p, object, "core:header_bytes", c->line, &c->header_bytes)) ||
      (status = get_count(p, object, "core:global_index", c->line, &c->global_index))) {
    return status;
  }
  v = get(object, "core:frequency");
  if (v && (!json_is_number(v) || !isfinite(json_number_value(v)))) {
    return tlg_error_at(p->err, TLG_EFORMAT, c->line, UINT64_MAX,
                        "core:frequency of capture %zu must be a number of Hz", i + 1);
  }
  if (v) {
    c->frequency_hz = json_number_value(v);
  }
  v = get(object, "core:datetime");
  if (v && !json_is_string(v)) {
    return tlg_error_at(p->err, TLG_EFORMAT, c->line, UINT64_MAX,
                        "core:datetime of capture %zu must be a string such as \"2024-05-01T12:00:00.25Z\"", i + 1);
  }
  if (v) {
    struct tlg_datetime unused;

    if (json_string_length(v) < sizeof c->datetime && tlg_datetime_parse(json_string_value(v), &unused) == TLG_OK) {
      memcpy(c->datetime, json_string_value(v), json_string_length(v) + 1);
    } else {
      tlg_reader_hint(p->r, "core:datetime \"%.40s\" of capture %zu is no time in UTC; it is passed over",
                      json_string_value(v), i + 1);
    }
  }
  return TLG_OK;
}

static int parse_captures(struct parser *p, struct sigmf_meta *meta, json_t *root)
{
  json_t *list = get(root, "captures"), *item;
  size_t i;
  int status;

  if (list && !json_is_array(list)) {
    return tlg_error_at(p->err, TLG_EFORMAT, line_of(p, NULL, "captures", 0), UINT64_MAX,
                        "\"captures\" must be an array");
  }
  if (json_array_size(list) == 0) {
    tlg_reader_hint(p->r, "it lists no captures; one from the first sample is taken");
    return TLG_OK;
  }
  meta->captures = calloc(json_array_size(list), sizeof *meta->captures);
  if (!meta->captures) {
    return tlg_error_set(p->err, TLG_ENOMEM, "out of memory");
  }
  json_array_foreach(list, i, item)
  {
    status = parse_capture(p, &meta->captures[i], item, i);
    if (status) {
      return status;
    }
    if (i && meta->captures[i].start < meta->captures[i - 1].start) {
      return tlg_error_at(
          p->err, TLG_EFORMAT, meta->captures[i].line, UINT64_MAX,
          "captures must stand in the order of core:sample_start; capture %zu starts before the one above it", i + 1);
    }
    meta->n_captures++;
  }
  return TLG_OK;
}

int tlg_sigmf_parse(struct sigmf_meta *meta, struct tlg_reader *r, const char *text, size_t size, struct tlg_error *err)
{
  struct parser p = {r, text, size, err, NULL, 0};
  json_error_t wrong;
  json_t *root = NULL;
  char *clean;
  size_t clean_size;
  unsigned nan_line;
  int status;

  memset(meta, 0, sizeof *meta);
  if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) { /* byte-order mark */
    p.text += 3;
    p.size -= 3;
  }
  if (p.size >= 2 && (memcmp(p.text, "\xff\xfe", 2) == 0 || memcmp(p.text, "\xfe\xff", 2) == 0)) {
    return tlg_error_at(err, TLG_EFORMAT, 1, 0, "the meta file is UTF-16; SigMF wants UTF-8");
  }
  clean = without_nan(&p, &clean_size, &nan_line);
  if (!clean) {
    return tlg_error_set(err, TLG_ENOMEM, "out of memory");
  }
  root = json_loadb(clean, clean_size, JSON_REJECT_DUPLICATES, &wrong);
  free(clean);
  if (!root) {
    tlg_clean_text(wrong.text);
    return tlg_error_at(err, TLG_EFORMAT, wrong.line > 0 ? (unsigned)wrong.line : 1, UINT64_MAX,
                        "the meta file is not valid JSON: %s", wrong.text);
  }
  if (nan_line) {
    tlg_reader_hint(r, "line %u: NaN and Infinity are not JSON; taken as not stated", nan_line);
  }
  if (!json_is_object(root)) {
    status = tlg_error_at(err, TLG_EFORMAT, 1, UINT64_MAX, "the meta file must hold a JSON object");
  } else {
    status = parse_global(&p, meta, root);
    if (status == TLG_OK) {
      status = parse_captures(&p, meta, root);
    }
  }
  json_decref(root);
  if (status) {
    if (err) {
      tlg_clean_text(err->text);
    }
    tlg_sigmf_free(meta);
  }
  return status;
}

void tlg_sigmf_free(struct sigmf_meta *meta)
{
  free(meta->dataset);
  free(meta->captures);
  memset(meta, 0, sizeof *meta);
}
