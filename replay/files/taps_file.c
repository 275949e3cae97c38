/* SPDX-License-Identifier: Apache-2.0 */
/* Taps as files: the text and JSON forms, and the hash that names a set of taps. */
#include "tlg_files.h"

#include <errno.h>
#include <jansson.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_TAPS 4194304L
#define MOST_BYTES ((size_t)64 << 20)

/* ---- hash and text ----------------------------------------------------------------------------------------- */

static void put32(unsigned char *to, uint32_t value)
{
  int i;

  for (i = 0; i < 4; i++) {
    to[i] = (unsigned char)(value >> (8 * i));
  }
}

void tlg_taps_hash(const struct tlg_taps *taps, char hex[65])
{
  EVP_MD_CTX *context = EVP_MD_CTX_new();
  unsigned char bytes[512], digest[EVP_MAX_MD_SIZE];
  unsigned length = 0;
  size_t k = 0, used, i;
  int good = context && EVP_DigestInit_ex(context, EVP_sha256(), NULL);

  put32(bytes, taps->shift);
  put32(bytes + 4, taps->up);
  put32(bytes + 8, (uint32_t)taps->n);
  used = 12;
  while (good && used) {
    good = EVP_DigestUpdate(context, bytes, used);
    for (used = 0; used < sizeof bytes && k < taps->n; k++) {
      const uint16_t value = (uint16_t)taps->h[k];

      bytes[used++] = (unsigned char)(value & 255);
      bytes[used++] = (unsigned char)(value >> 8);
    }
  }
  good = good && EVP_DigestFinal_ex(context, digest, &length) && length == 32;
  EVP_MD_CTX_free(context);
  hex[0] = '\0';
  for (i = 0; good && i < 32; i++) {
    snprintf(hex + 2 * i, 3, "%02x", digest[i]);
  }
}

char *tlg_taps_text(const struct tlg_taps *taps)
{
  const size_t room = 160 + taps->n * 8;
  char *text = malloc(room), hex[65];
  size_t used, k;

  if (!text) {
    return NULL;
  }
  tlg_taps_hash(taps, hex);
  used = (size_t)snprintf(text, room, "# S=%u L=%lu N=%zu sha256=%s\n", taps->shift, (unsigned long)taps->up, taps->n,
                          hex);
  for (k = 0; k < taps->n; k++) {
    used += (size_t)snprintf(text + used, room - used, "%d\n", taps->h[k]);
  }
  return text;
}

/* ---- reading ------------------------------------------------------------------------------------------------ */

/* What a file says of itself besides its taps. */
struct stated {
  long shift, up, n; /* -1 = not stated */
  char hash[65];     /* "" = not stated */
};

/* Take one stated number; each may come once. */
static int take(struct tlg_error *err, const char *key, const char *text, size_t length, long low, long high,
                long *value)
{
  char copy[16], *end;
  long v;

  if (*value >= 0) {
    return tlg_error_at(err, TLG_EFORMAT, 1, UINT64_MAX, "%s is given twice", key);
  }
  snprintf(copy, sizeof copy, "%.*s", (int)(length < 15 ? length : 15), text);
  v = strtol(copy, &end, 10);
  if (end == copy || *end || length >= 15 || v < low || v > high) {
    return tlg_error_at(err, TLG_EFORMAT, 1, UINT64_MAX, "%s must be a whole number from %ld to %ld", key, low, high);
  }
  *value = v;
  return TLG_OK;
}

static int take_hash(struct tlg_error *err, unsigned line, const char *text, size_t length, struct stated *s)
{
  size_t i;

  for (i = 0; i < length && i < 64; i++) {
    const char c = text[i] >= 'A' && text[i] <= 'F' ? (char)(text[i] - 'A' + 'a') : text[i];

    if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) {
      break;
    }
    s->hash[i] = c;
  }
  s->hash[i] = '\0';
  if (i != 64 || length != 64) {
    return tlg_error_at(err, TLG_EFORMAT, line, UINT64_MAX, "sha256 must be 64 hexadecimal digits");
  }
  return TLG_OK;
}

static int is_blank(char c)
{
  return c == ' ' || c == '\t' || c == '\r';
}

/* The first line: "# S=14 L=768 N=12287", further key=value allowed. */
static int first_line(const char *s, size_t n, struct stated *st, struct tlg_error *err)
{
  size_t i, word, equals;
  int status = TLG_OK;

  if (n == 0 || s[0] != '#') {
    return tlg_error_at(err, TLG_EFORMAT, 1, 0,
                        "the first line must be like '# S=14 L=768 N=12287' (shift, interpolation factor, taps)");
  }
  for (i = 1; i < n && status == TLG_OK; i = word) {
    while (i < n && is_blank(s[i])) {
      i++;
    }
    for (word = i; word < n && !is_blank(s[word]); word++) {
    }
    for (equals = i; equals < word && s[equals] != '='; equals++) {
    }
    if (equals == word) {
      continue;
    }
    if (equals == i + 1 && s[i] == 'S') {
      status = take(err, "S", s + equals + 1, word - equals - 1, 1, 15, &st->shift);
    } else if (equals == i + 1 && s[i] == 'L') {
      status = take(err, "L", s + equals + 1, word - equals - 1, 1, 65535, &st->up);
    } else if (equals == i + 1 && s[i] == 'N') {
      status = take(err, "N", s + equals + 1, word - equals - 1, 1, MOST_TAPS, &st->n);
    } else if (equals == i + 6 && memcmp(s + i, "sha256", 6) == 0) {
      status = take_hash(err, 1, s + equals + 1, word - equals - 1, st);
    }
  }
  if (status != TLG_OK) {
    return status;
  }
  if (st->shift < 0 || st->up < 0 || st->n < 0) {
    return tlg_error_at(err, TLG_EFORMAT, 1, 0, "the first line lacks %s=, as in '# S=14 L=768 N=12287'",
                        st->shift < 0 ? "S"
                        : st->up < 0  ? "L"
                                      : "N");
  }
  return TLG_OK;
}

/* One integer that fills the line but for blanks; beyond seven digits it stays merely large. */
static int integer(const char *s, size_t n, long *value)
{
  size_t i = 0;
  int negative = 0;
  long v = 0;

  while (n && is_blank(s[n - 1])) {
    n--;
  }
  while (i < n && is_blank(s[i])) {
    i++;
  }
  if (i < n && (s[i] == '-' || s[i] == '+')) {
    negative = s[i++] == '-';
  }
  if (i == n) {
    return 0;
  }
  for (; i < n; i++) {
    if (s[i] < '0' || s[i] > '9') {
      return 0;
    }
    v = v < 10000000 ? v * 10 + (s[i] - '0') : v;
  }
  *value = negative ? -v : v;
  return 1;
}

static int out_of_range(struct tlg_error *err, unsigned line, uint64_t offset, size_t k)
{
  return tlg_error_at(err, TLG_ETAPS, line, offset, "tap %zu is out of range: taps must be -32767 to 32767", k);
}

/* A piece of a line fit to be printed: no control characters, not too long. */
static const char *quoted(const char *s, size_t n, char *text, size_t size)
{
  size_t i;

  for (i = 0; i < n && i + 1 < size; i++) {
    text[i] = s[i] >= ' ' && s[i] < 127 ? s[i] : '?';
  }
  text[i] = '\0';
  return text;
}

static int parse_text(const char *s, size_t n, int16_t **h, struct stated *st, struct tlg_error *err)
{
  size_t at, end, k = 0;
  unsigned line = 1;
  char text[24];
  int status;

  for (end = 0; end < n && s[end] != '\n'; end++) {
  }
  status = first_line(s, end, st, err);
  if (status != TLG_OK) {
    return status;
  }
  *h = malloc((size_t)st->n * sizeof **h);
  if (!*h) {
    return tlg_error_set(err, TLG_ENOMEM, "no memory for %ld taps", st->n);
  }
  for (at = end + 1; at < n; at = end + 1) {
    size_t first = at;
    long value;

    line++;
    for (end = at; end < n && s[end] != '\n'; end++) {
    }
    while (first < end && is_blank(s[first])) {
      first++;
    }
    if (first == end || s[first] == '#') {
      continue;
    }
    if (!integer(s + at, end - at, &value)) {
      return tlg_error_at(err, TLG_EFORMAT, line, at, "'%s' is no integer: one tap a line is wanted",
                          quoted(s + first, end - first, text, sizeof text));
    }
    if (k == (size_t)st->n) {
      return tlg_error_at(err, TLG_EFORMAT, line, at, "there are more taps than the N=%ld of the first line", st->n);
    }
    if (value < -32767 || value > 32767) {
      return out_of_range(err, line, at, k);
    }
    (*h)[k++] = (int16_t)value;
  }
  if (k != (size_t)st->n) {
    return tlg_error_at(err, TLG_EFORMAT, line, n, "the file ends after %zu taps, but its first line says N=%ld", k,
                        st->n);
  }
  return TLG_OK;
}

/* A whole number of the JSON object; optional ones stay as they are when absent. */
static int member(const json_t *root, const char *key, long low, long high, int optional, long *value,
                  struct tlg_error *err)
{
  const json_t *item = json_object_get(root, key);

  if (!item && optional) {
    return TLG_OK;
  }
  if (!json_is_integer(item) || json_integer_value(item) < low || json_integer_value(item) > high) {
    return tlg_error_set(err, TLG_EFORMAT, "\"%s\" must be there, a whole number from %ld to %ld", key, low, high);
  }
  *value = (long)json_integer_value(item);
  return TLG_OK;
}

static int json_taps(const json_t *root, int16_t **h, struct stated *st, struct tlg_error *err)
{
  const json_t *list = json_object_get(root, "taps"), *hash = json_object_get(root, "sha256");
  size_t k;
  int status;

  if (!json_is_object(root)) {
    return tlg_error_set(err, TLG_EFORMAT, "an object is wanted: {\"shift\": 14, \"up\": 768, \"taps\": [...]}");
  }
  status = member(root, "shift", 1, 15, 0, &st->shift, err);
  status = status == TLG_OK ? member(root, "up", 1, 65535, 0, &st->up, err) : status;
  status = status == TLG_OK ? member(root, "n", 1, MOST_TAPS, 1, &st->n, err) : status;
  if (status != TLG_OK) {
    return status;
  }
  if (!json_is_array(list) || json_array_size(list) == 0 || json_array_size(list) > (size_t)MOST_TAPS) {
    return tlg_error_set(err, TLG_EFORMAT, "\"taps\" must be there, an array of 1 to %ld integers", MOST_TAPS);
  }
  if (st->n >= 0 && (size_t)st->n != json_array_size(list)) {
    return tlg_error_set(err, TLG_EFORMAT, "\"taps\" has %zu entries, but \"n\" is %ld", json_array_size(list), st->n);
  }
  st->n = (long)json_array_size(list);
  if (hash) {
    status = take_hash(err, 0, json_is_string(hash) ? json_string_value(hash) : "",
                       json_is_string(hash) ? json_string_length(hash) : 0, st);
    if (status != TLG_OK) {
      return status;
    }
  }
  *h = malloc((size_t)st->n * sizeof **h);
  if (!*h) {
    return tlg_error_set(err, TLG_ENOMEM, "no memory for %ld taps", st->n);
  }
  for (k = 0; k < (size_t)st->n; k++) {
    const json_t *item = json_array_get(list, k);

    if (!json_is_integer(item)) {
      return tlg_error_set(err, TLG_EFORMAT, "\"taps\"[%zu] is no integer", k);
    }
    if (json_integer_value(item) < -32767 || json_integer_value(item) > 32767) {
      return out_of_range(err, 0, UINT64_MAX, k);
    }
    (*h)[k] = (int16_t)json_integer_value(item);
  }
  return TLG_OK;
}

static int parse_json(const char *s, size_t n, int16_t **h, struct stated *st, struct tlg_error *err)
{
  json_error_t where;
  json_t *root = json_loadb(s, n, JSON_REJECT_DUPLICATES, &where);
  char text[200];
  int status;

  if (!root) {
    return tlg_error_at(err, TLG_EFORMAT, where.line > 0 ? (unsigned)where.line : 0,
                        where.position > 0 ? (uint64_t)where.position : 0, "this is no valid JSON: %s",
                        quoted(where.text, strlen(where.text), text, sizeof text));
  }
  status = json_taps(root, h, st, err);
  json_decref(root);
  return status;
}

int tlg_taps_parse(struct tlg_taps *taps, const char *bytes, size_t n, struct tlg_error *err)
{
  struct stated st = {-1, -1, -1, ""};
  struct tlg_taps made;
  char hex[65];
  int16_t *h = NULL;
  size_t first = 0;
  int status;

  if (!taps || (!bytes && n)) {
    return tlg_error_set(err, TLG_EINVAL, "there is nothing to read, or no place for the taps");
  }
  if (n >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0) { /* a byte-order mark, as some editors leave */
    bytes += 3;
    n -= 3;
  }
  while (first < n && (is_blank(bytes[first]) || bytes[first] == '\n')) {
    first++;
  }
  if (first == n) {
    return tlg_error_at(err, TLG_EFORMAT, 0, 0, "the file is empty: taps as text or JSON are wanted");
  }
  status = bytes[first] == '{' || bytes[first] == '[' ? parse_json(bytes, n, &h, &st, err)
                                                      : parse_text(bytes, n, &h, &st, err);
  if (status == TLG_OK) {
    status = tlg_taps_copy(&made, h, (size_t)st.n, (uint32_t)st.up, (unsigned)st.shift, err);
  }
  free(h);
  if (status != TLG_OK) {
    return status;
  }
  tlg_taps_hash(&made, hex);
  if (st.hash[0] && strcmp(st.hash, hex) != 0) {
    tlg_taps_free(&made);
    return tlg_error_set(err, TLG_EFORMAT,
                         "the taps do not have the sha256 that the file states (%.12s..., but found %.12s...): it was "
                         "changed or damaged; take the sha256 out if that was meant",
                         st.hash, hex);
  }
  *taps = made;
  return TLG_OK;
}

/* A whole stream into memory; more than MOST_BYTES is refused. */
static int slurp(FILE *f, char **bytes, size_t *n, struct tlg_error *err)
{
  size_t room = 1 << 16, used = 0;
  char *text = malloc(room), *more;

  while (text) {
    used += fread(text + used, 1, room - used, f);
    if (used < room) {
      break;
    }
    if (room >= MOST_BYTES) {
      free(text);
      return tlg_error_at(err, TLG_EFORMAT, 0, used, "more than %zu bytes are no tap file", MOST_BYTES);
    }
    room *= 2;
    more = realloc(text, room);
    if (!more) {
      free(text);
    }
    text = more;
  }
  if (!text) {
    return tlg_error_set(err, TLG_ENOMEM, "no memory for the file");
  }
  if (ferror(f)) {
    free(text);
    return tlg_error_set(err, TLG_ESYS, "cannot be read: %s", strerror(errno));
  }
  *bytes = text;
  *n = used;
  return TLG_OK;
}

int tlg_taps_load(struct tlg_taps *taps, const char *path, struct tlg_error *err)
{
  const int standard = path && strcmp(path, "-") == 0;
  char *bytes = NULL;
  size_t n = 0;
  FILE *f;
  int status;

  if (!taps || !path) {
    return tlg_error_set(err, TLG_EINVAL, "no file was named");
  }
  f = standard ? stdin : fopen(path, "rbe");
  if (!f) {
    return tlg_error_set(err, TLG_ESYS, "cannot be opened: %s", strerror(errno));
  }
  status = slurp(f, &bytes, &n, err);
  if (!standard) {
    fclose(f);
  }
  if (status == TLG_OK) {
    status = tlg_taps_parse(taps, bytes, n, err);
  }
  free(bytes);
  return status;
}
