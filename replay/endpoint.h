/* SPDX-License-Identifier: Apache-2.0 */
/* "SCHEME:REST?key=value&...": how sinks and live sources are named. */
#ifndef TLG_ENDPOINT_H
#define TLG_ENDPOINT_H

#include "taplag.h"
#include "tlg_files.h"

enum { TLG_ENDPOINT_KEYS = 16 };

/* One "key=value". */
struct tlg_endpoint_key {
  const char *key, *value;
};

struct tlg_endpoint {
  char *copy;       /* what the rest points into */
  const char *rest; /* what stands between the first ':' and the last '?' */
  struct tlg_endpoint_key keys[TLG_ENDPOINT_KEYS];
  size_t n_keys;
  int block; /* of a live sink: block=1 was given (its lane takes that key out) */
};

/* Length of the scheme: letters before the first ':'; 0 = text names none (a bare path). */
size_t tlg_endpoint_scheme(const char *text);
/* Whether text's scheme is `scheme`. */
int tlg_endpoint_is(const char *text, const char *scheme);
/* Cut text, which names a scheme. TLG_EINVAL (not key=value, too many), TLG_ENOMEM; on failure nothing is held. */
int tlg_endpoint_parse(struct tlg_endpoint *e, const char *text, struct tlg_error *err);
void tlg_endpoint_free(struct tlg_endpoint *e);

/* TLG_EINVAL, naming the first key that is not among known (NULL-terminated), and those that are. */
int tlg_endpoint_check_keys(const struct tlg_endpoint *e, const char *const *known, struct tlg_error *err);
/* The value of a key, NULL if it is not given; the last one wins. */
const char *tlg_endpoint_value(const struct tlg_endpoint *e, const char *key);
/* The same as one of words (NULL-terminated): *value = its place; untouched if the key is not given. TLG_EINVAL. */
int tlg_endpoint_word(const struct tlg_endpoint *e, const char *key, const char *const *words, int *value,
                      struct tlg_error *err);
/* The same of the key "format": a type that raw samples have on their way in or out. TLG_EINVAL. */
int tlg_endpoint_format(const struct tlg_endpoint *e, enum tlg_format *format, struct tlg_error *err);
/* The same as a whole number (k, M, G allowed) from least to most; untouched if the key is not given. TLG_EINVAL. */
int tlg_endpoint_whole(const struct tlg_endpoint *e, const char *key, uint64_t least, uint64_t most, uint64_t *value,
                       struct tlg_error *err);

#endif
