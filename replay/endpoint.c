/* SPDX-License-Identifier: Apache-2.0 */
/* Taking "SCHEME:REST?key=value&..." apart. */
#include "endpoint.h"
#include "tlg_dsp.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t tlg_endpoint_scheme(const char *text)
{
  size_t n = 0;

  while ((text[n] >= 'a' && text[n] <= 'z') || (text[n] >= 'A' && text[n] <= 'Z')) {
    n++;
  }
  return text[n] == ':' ? n : 0;
}

int tlg_endpoint_is(const char *text, const char *scheme)
{
  const size_t n = tlg_endpoint_scheme(text);

  return n && strlen(scheme) == n && strncmp(text, scheme, n) == 0;
}

/* Cut "key=value&..." in place. */
static int split_keys(struct tlg_endpoint *e, char *text, struct tlg_error *err)
{
  char *save = NULL, *part;

  for (part = strtok_r(text, "&", &save); part; part = strtok_r(NULL, "&", &save)) {
    char *equals = strchr(part, '=');

    if (!equals || equals == part) {
      return tlg_error_set(err, TLG_EINVAL, "'%s' is not key=value", part);
    }
    if (e->n_keys == TLG_ENDPOINT_KEYS) {
      return tlg_error_set(err, TLG_EINVAL, "more than %d keys", TLG_ENDPOINT_KEYS);
    }
    *equals = '\0';
    e->keys[e->n_keys].key = part;
    e->keys[e->n_keys++].value = equals + 1;
  }
  return TLG_OK;
}

int tlg_endpoint_parse(struct tlg_endpoint *e, const char *text, struct tlg_error *err)
{
  char *query;
  int status;

  memset(e, 0, sizeof *e);
  e->copy = strdup(text);
  if (!e->copy) {
    return tlg_error_set(err, TLG_ENOMEM, "out of memory");
  }
  e->rest = strchr(e->copy, ':') + 1;
  query = strrchr(e->rest, '?');
  if (!query) {
    return TLG_OK;
  }
  *query = '\0';
  status = split_keys(e, query + 1, err);
  if (status) {
    tlg_endpoint_free(e);
  }
  return status;
}

void tlg_endpoint_free(struct tlg_endpoint *e)
{
  free(e->copy);
  memset(e, 0, sizeof *e);
}

/* Words as "a, b, c". */
static void list_words(char *list, size_t size, const char *const *words)
{
  size_t at = 0;

  *list = '\0';
  for (; *words && at < size; words++) {
    const int n = snprintf(list + at, size - at, "%s%s", at ? ", " : "", *words);

    at += n > 0 ? (size_t)n : 0;
  }
}

int tlg_endpoint_check_keys(const struct tlg_endpoint *e, const char *const *known, struct tlg_error *err)
{
  char list[160];
  size_t i, k;

  for (i = 0; i < e->n_keys; i++) {
    for (k = 0; known[k] && strcmp(known[k], e->keys[i].key) != 0; k++) {
    }
    if (!known[k]) {
      list_words(list, sizeof list, known);
      return tlg_error_set(err, TLG_EINVAL, "there is no key '%s' here; %s%s", e->keys[i].key,
                           known[0] ? "there are " : "there is none at all", list);
    }
  }
  return TLG_OK;
}

const char *tlg_endpoint_value(const struct tlg_endpoint *e, const char *key)
{
  const char *value = NULL;
  size_t i;

  for (i = 0; i < e->n_keys; i++) {
    if (strcmp(e->keys[i].key, key) == 0) {
      value = e->keys[i].value;
    }
  }
  return value;
}

int tlg_endpoint_word(const struct tlg_endpoint *e, const char *key, const char *const *words, int *value,
                      struct tlg_error *err)
{
  const char *text = tlg_endpoint_value(e, key);
  char list[160];
  int i;

  for (i = 0; text && words[i]; i++) {
    if (strcmp(words[i], text) == 0) {
      *value = i;
      return TLG_OK;
    }
  }
  if (!text) {
    return TLG_OK;
  }
  list_words(list, sizeof list, words);
  return tlg_error_set(err, TLG_EINVAL, "%s=%s: one of %s", key, text, list);
}

int tlg_endpoint_format(const struct tlg_endpoint *e, enum tlg_format *format, struct tlg_error *err)
{
  const char *text = tlg_endpoint_value(e, "format");
  enum tlg_format f;

  if (!text) {
    return TLG_OK;
  }
  if (tlg_format_parse(&f, text) != TLG_OK || f > TLG_FORMAT_CS32) {
    return tlg_error_set(err, TLG_EINVAL, "format=%s is not known; there are cs16, cf32, cf64, cs8, cu8, cs32", text);
  }
  *format = f;
  return TLG_OK;
}

int tlg_endpoint_whole(const struct tlg_endpoint *e, const char *key, uint64_t least, uint64_t most, uint64_t *value,
                       struct tlg_error *err)
{
  const char *text = tlg_endpoint_value(e, key);
  struct tlg_rate rate;
  uint64_t v;

  if (!text) {
    return TLG_OK;
  }
  if (strcmp(text, "0") == 0) {
    v = 0;
  } else if (tlg_rate_parse(&rate, text) == TLG_OK && rate.den == 1) {
    v = rate.num;
  } else {
    return tlg_error_set(err, TLG_EINVAL, "%s=%s: not a whole number", key, text);
  }
  if (v < least || v > most) {
    return tlg_error_set(err, TLG_EINVAL, "%s=%s: must be from %" PRIu64 " to %" PRIu64, key, text, least, most);
  }
  *value = v;
  return TLG_OK;
}
