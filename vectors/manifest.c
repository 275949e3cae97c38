/* SPDX-License-Identifier: Apache-2.0 */
/* The manifest of the golden vectors and the CRC files beside it: read strictly, believed only if every hash and count
 * agrees, and rewritten with a stored reason. */
#include "tlg_golden.h"

#include <errno.h>
#include <fnmatch.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCHEMA "taplag/vectors/1"

struct tlg_manifest {
  json_t *root;
  struct tlg_manifest_entry *entries;
  size_t n;
};

/* ---- reading files ----------------------------------------------------------------------------------------------- */

static int read_file(const char *dir, const char *name, char **text, size_t *length, struct tlg_error *err)
{
  char path[4096];
  char *bytes = NULL;
  size_t used = 0, room = 0;
  FILE *f;

  if ((size_t)snprintf(path, sizeof path, "%s/%s", dir, name) >= sizeof path) {
    return tlg_error_set(err, TLG_ESYS, "%s: the path is too long", name);
  }
  f = fopen(path, "rb");
  if (!f) {
    return tlg_error_set(err, TLG_ESYS, "%s: %s", name, strerror(errno));
  }
  for (;;) {
    size_t got;

    if (used + 1 >= room) {
      char *grown = realloc(bytes, room = room ? 2 * room : 65536);

      if (!grown) {
        free(bytes);
        fclose(f);
        return tlg_error_set(err, TLG_ENOMEM, "out of memory");
      }
      bytes = grown;
    }
    got = fread(bytes + used, 1, room - used - 1, f);
    if (!got) {
      break;
    }
    used += got;
  }
  if (ferror(f)) {
    free(bytes);
    fclose(f);
    return tlg_error_set(err, TLG_ESYS, "%s: cannot be read", name);
  }
  fclose(f);
  bytes[used] = 0;
  *text = bytes;
  *length = used;
  return TLG_OK;
}

/* ---- the form of an entry ------------------------------------------------------------------------------------------
 */

/* A value as tlg_vector_set takes it: numbers in decimal, lists joined by commas. To be freed; NULL if it is neither.
 */
static char *value_text(const json_t *value)
{
  char *text;
  size_t i, used = 0;

  if (json_is_string(value)) {
    return strdup(json_string_value(value));
  }
  if (json_is_boolean(value)) {
    return strdup(json_is_true(value) ? "true" : "false");
  }
  if (!json_is_integer(value) && !json_is_array(value)) {
    return NULL;
  }
  text = calloc(1, 32 + 64 * json_array_size(value));
  if (text && json_is_integer(value)) {
    sprintf(text, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
  }
  for (i = 0; text && i < json_array_size(value); i++) {
    const json_t *item = json_array_get(value, i);

    if (json_is_integer(item)) {
      used += (size_t)sprintf(text + used, "%s%" JSON_INTEGER_FORMAT, i ? "," : "", json_integer_value(item));
    } else if (json_is_string(item) && json_string_length(item) < 60) {
      used += (size_t)sprintf(text + used, "%s%s", i ? "," : "", json_string_value(item));
    } else {
      free(text);
      return NULL;
    }
  }
  return text;
}

typedef int put_fn(void *context, const char *key, const char *value, struct tlg_error *err);

/* Hand every property of an entry to put, objects flattened with dots; what is no property of the run is left out. */
static int flatten(const json_t *object, const char *prefix, put_fn *put, void *context, struct tlg_error *err)
{
  static const char *const apart[] = {"purpose", "flags", "tolerance", "expect"};
  const char *key;
  json_t *value;

  json_object_foreach((json_t *)(uintptr_t)object, key, value)
  {
    char name[64], *text;
    size_t i;
    int st;

    for (i = 0; i < sizeof apart / sizeof *apart; i++) {
      if (!*prefix && strcmp(key, apart[i]) == 0) {
        break;
      }
    }
    if (i < sizeof apart / sizeof *apart) {
      continue;
    }
    if ((size_t)snprintf(name, sizeof name, "%s%s", prefix, key) >= sizeof name) {
      return tlg_error_set(err, TLG_EFORMAT, "no property is called '%.60s'", key);
    }
    if (json_is_object(value)) {
      if (*prefix) {
        return tlg_error_set(err, TLG_EFORMAT, "%s: an object inside an object", name);
      }
      strcat(name, ".");
      st = flatten(value, name, put, context, err);
    } else {
      text = value_text(value);
      st = text ? put(context, name, text, err)
                : tlg_error_set(err, TLG_EFORMAT, "%s: must be a text, a whole number, true, false or a list", name);
      free(text);
    }
    if (st) {
      return st;
    }
  }
  return TLG_OK;
}

static int put_property(void *context, const char *key, const char *value, struct tlg_error *err)
{
  return tlg_vector_set(context, key, value, err);
}

int tlg_tolerance_parse(struct tlg_tolerance *t, const char *text)
{
  struct tlg_tolerance made = {TLG_TOLERANCE_EXACT, 0, 0.0};
  char *end;

  if (!t || !text) {
    return TLG_EINVAL;
  }
  if (strcmp(text, "exact") != 0) {
    const double x = strtod(text, &end);

    if (end == text || !(x >= 0.0 && x <= 65535.0)) {
      return TLG_EINVAL;
    }
    end += *end == ' ';
    if (strcmp(end, "LSB") == 0 && x == (int)x) {
      made.kind = TLG_TOLERANCE_LSB;
      made.lsb = (int)x;
    } else if (strcmp(end, "dB") == 0 && x > 0.0 && x < 200.0) {
      made.kind = TLG_TOLERANCE_DB;
      made.db = x;
    } else {
      return TLG_EINVAL;
    }
  }
  *t = made;
  return TLG_OK;
}

static int is_hash(const char *text)
{
  return text && strlen(text) == 64 && strspn(text, "0123456789abcdef") == 64;
}

static int take_hash(const json_t *expect, const char *key, char hex[65])
{
  const char *text = json_string_value(json_object_get(expect, key));

  if (!is_hash(text)) {
    return 0;
  }
  memcpy(hex, text, 65);
  return 1;
}

static int take_count(const json_t *expect, const char *key, uint64_t *n)
{
  const json_t *value = json_object_get(expect, key);

  if (!json_is_integer(value) || json_integer_value(value) < 0) {
    return 0;
  }
  *n = (uint64_t)json_integer_value(value);
  return 1;
}

/* ---- CRC files -----------------------------------------------------------------------------------------------------
 */

static int crc_damaged(struct tlg_error *err, const char *id, unsigned line, const char *what)
{
  return tlg_error_set(err, TLG_EFORMAT, "crc/%s.txt:%u: %s; the file is damaged", id, line, what);
}

/* Lines "first n crc", one a packet, after comments; each must be the segment that the formulae give. */
static int parse_crcs(const char *text, const char *id, const struct tlg_segment *segments, size_t n_segments,
                      uint32_t *crcs, struct tlg_error *err)
{
  unsigned line = 0;
  size_t n = 0;

  while (*text) {
    const char *end = strchr(text, '\n');
    unsigned long long first, count;
    unsigned crc;
    int used = 0;

    line++;
    if (!end) {
      return crc_damaged(err, id, line, "the last line is cut");
    }
    if (*text != '#') {
      if (sscanf(text, "%llu %llu %8x%n", &first, &count, &crc, &used) != 3 || text + used != end) {
        return crc_damaged(err, id, line, "not of the form 'first count crc'");
      }
      if (n >= n_segments || first != segments[n].first || count != segments[n].n) {
        return crc_damaged(err, id, line, "not the packet that the vector's cut gives here");
      }
      crcs[n++] = (uint32_t)crc;
    }
    text = end + 1;
  }
  return n == n_segments ? TLG_OK : crc_damaged(err, id, line, "packets are missing");
}

static char *crc_file(const struct tlg_vector *v, const struct tlg_segment *segments, size_t n, const uint32_t *crcs)
{
  const size_t room = 256 + 64 * n;
  char *text = malloc(room);
  size_t used, i;

  if (!text) {
    return NULL;
  }
  used = (size_t)snprintf(
      text, room, "# SPDX-License-Identifier: CC0-1.0\n# %s: first output, outputs and CRC-32 of each packet\n", v->id);
  for (i = 0; i < n; i++) {
    used += (size_t)snprintf(text + used, room - used, "%llu %llu %08x\n", (unsigned long long)segments[i].first,
                             (unsigned long long)segments[i].n, (unsigned)crcs[i]);
  }
  return text;
}

/* Number of taps the expectation was made with: needed for the formulae before any taps are designed. */
static int load_expectation(struct tlg_manifest_entry *e, const json_t *expect, const char *dir, struct tlg_error *err)
{
  static const char *const known[] = {"inputs_sha256", "outputs", "first", "outputs_sha256", "taps", "crc_sha256"};
  const char *id = e->vector.id, *key;
  struct tlg_segment *segments = NULL;
  uint64_t taps, outputs;
  char *text = NULL, hex[65];
  size_t n = 0, length, i;
  json_t *value;
  int st;

  json_object_foreach((json_t *)(uintptr_t)expect, key, value)
  {
    for (i = 0; i < sizeof known / sizeof *known && strcmp(known[i], key) != 0; i++) {
    }
    if (i == sizeof known / sizeof *known) {
      return tlg_error_set(err, TLG_EFORMAT, "manifest.json: %s: expect has no property '%.60s'", id, key);
    }
  }
  if (!take_hash(expect, "inputs_sha256", e->expect.input_sha256) ||
      !take_hash(expect, "outputs_sha256", e->expect.output_sha256) ||
      !take_hash(expect, "crc_sha256", e->expect.crc_sha256) || !take_count(expect, "outputs", &e->expect.outputs) ||
      !take_count(expect, "first", &e->expect.first) || !take_count(expect, "taps", &taps) || !taps ||
      !is_hash(e->vector.taps_hash)) {
    return tlg_error_set(err, TLG_EFORMAT,
                         "manifest.json: %s: the expectations are incomplete; 'taplag vectors accept' makes them", id);
  }
  st = tlg_vector_segments(&e->vector, (size_t)taps, &segments, &n, &outputs, err);
  if (st) {
    return st;
  }
  if (outputs != e->expect.outputs || (n && segments[0].first != e->expect.first)) {
    st = tlg_error_set(err, TLG_EFORMAT,
                       "manifest.json: %s: %llu outputs from %llu are stated, the formulae give %llu from %llu", id,
                       (unsigned long long)e->expect.outputs, (unsigned long long)e->expect.first,
                       (unsigned long long)outputs, (unsigned long long)(n ? segments[0].first : 0));
    goto done;
  }
  {
    char name[80];

    snprintf(name, sizeof name, "crc/%s.txt", id);
    st = read_file(dir, name, &text, &length, err);
  }
  if (st) {
    goto done;
  }
  tlg_sha256_bytes(text, length, hex);
  if (strcmp(hex, e->expect.crc_sha256) != 0 || strlen(text) != length) {
    st = tlg_error_set(
        err, TLG_EFORMAT,
        "crc/%s.txt: its sha256 is not the one in the manifest; the file is damaged or was edited by hand", id);
    goto done;
  }
  e->expect.crc = calloc(n ? n : 1, sizeof *e->expect.crc);
  if (!e->expect.crc) {
    st = tlg_error_set(err, TLG_ENOMEM, "out of memory");
    goto done;
  }
  e->expect.n_crc = n;
  st = parse_crcs(text, id, segments, n, e->expect.crc, err);
done:
  free(text);
  free(segments);
  return st;
}

static int load_entry(struct tlg_manifest_entry *e, const json_t *item, const char *dir, int flags,
                      struct tlg_error *err)
{
  const char *id = json_string_value(json_object_get(item, "id"));
  const char *tolerance = json_string_value(json_object_get(item, "tolerance"));
  const json_t *list = json_object_get(item, "flags"), *expect = json_object_get(item, "expect");
  struct tlg_error inner = {0};
  size_t i;
  int st;

  if (!json_is_object(item) || !id) {
    return tlg_error_set(err, TLG_EFORMAT, "manifest.json: a vector without id");
  }
  tlg_vector_init(&e->vector);
  st = tlg_vector_set(&e->vector, "id", id, &inner);
  st = st ? st : flatten(item, "", put_property, &e->vector, &inner);
  st = st ? st : tlg_vector_finish(&e->vector, &inner);
  if (st) {
    return tlg_error_set(err, st, "manifest.json: %s", inner.text);
  }
  e->purpose = json_string_value(json_object_get(item, "purpose"));
  if (!e->purpose || strlen(e->purpose) < 10) {
    return tlg_error_set(err, TLG_EFORMAT, "manifest.json: %s: the purpose in a sentence is missing", id);
  }
  if (!json_is_array(list) || json_array_size(list) >= sizeof e->flags / sizeof *e->flags) {
    return tlg_error_set(err, TLG_EFORMAT, "manifest.json: %s: flags must be a list of at most 7 words", id);
  }
  for (i = 0; i < json_array_size(list); i++) {
    if (!(e->flags[i] = json_string_value(json_array_get(list, i)))) {
      return tlg_error_set(err, TLG_EFORMAT, "manifest.json: %s: a flag is no text", id);
    }
  }
  if (e->vector.refused) {
    return expect || tolerance
               ? tlg_error_set(err, TLG_EFORMAT, "manifest.json: %s: a refusal has neither tolerance nor expectations",
                               id)
               : TLG_OK;
  }
  if (tlg_tolerance_parse(&e->tolerance, tolerance)) {
    return tlg_error_set(err, TLG_EFORMAT, "manifest.json: %s: tolerance must be 'exact', 'n LSB' or 'x dB'", id);
  }
  if (!json_is_object(expect) && !(flags & TLG_MANIFEST_UNSEALED)) {
    return tlg_error_set(err, TLG_EFORMAT,
                         "manifest.json: %s: there are no expectations yet; 'taplag vectors accept' makes them", id);
  }
  if (!json_is_object(expect)) {
    return TLG_OK;
  }
  st = load_expectation(e, expect, dir, &inner);
  if (st && (flags & TLG_MANIFEST_UNSEALED)) {
    free(e->expect.crc); /* to be replaced; the rest serves to show the difference */
    e->expect.crc = NULL;
    e->expect.n_crc = 0;
    return st == TLG_ENOMEM ? tlg_error_set(err, st, "%s", inner.text) : TLG_OK;
  }
  return st ? tlg_error_set(err, st, "%s", inner.text) : TLG_OK;
}

/* ---- the whole -----------------------------------------------------------------------------------------------------
 */

static int digest(json_t *root, char hex[65])
{
  json_t *copy = json_copy(root);
  char *text;

  if (!copy) {
    return TLG_ENOMEM;
  }
  json_object_del(copy, "digest");
  text = json_dumps(copy, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENSURE_ASCII);
  json_decref(copy);
  if (!text) {
    return TLG_ENOMEM;
  }
  tlg_sha256_bytes(text, strlen(text), hex);
  free(text);
  return TLG_OK;
}

static int by_id(const void *a, const void *b)
{
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int check_ids(const struct tlg_manifest *m, struct tlg_error *err)
{
  const char **ids = calloc(m->n ? m->n : 1, sizeof *ids);
  size_t i;
  int st = TLG_OK;

  if (!ids) {
    return tlg_error_set(err, TLG_ENOMEM, "out of memory");
  }
  for (i = 0; i < m->n; i++) {
    ids[i] = m->entries[i].vector.id;
  }
  qsort(ids, m->n, sizeof *ids, by_id);
  for (i = 1; i < m->n && !st; i++) {
    if (strcmp(ids[i - 1], ids[i]) == 0) {
      st = tlg_error_set(err, TLG_EFORMAT, "manifest.json: two vectors are called %s", ids[i]);
    }
  }
  free(ids);
  return st;
}

int tlg_manifest_load(struct tlg_manifest **result, const char *dir, int flags, struct tlg_error *err)
{
  static const char *const known[] = {"schema", "licence", "digest", "history", "vectors", "about"};
  struct tlg_manifest *m;
  const json_t *list;
  const char *stated, *key;
  char hex[65], *text = NULL;
  json_error_t where;
  json_t *value;
  size_t length, i;
  int st;

  if (!result || !dir) {
    return tlg_error_set(err, TLG_EINVAL, "no folder, or no place for the manifest");
  }
  *result = NULL;
  st = read_file(dir, "manifest.json", &text, &length, err);
  if (st) {
    return st;
  }
  m = calloc(1, sizeof *m);
  if (!m) {
    free(text);
    return tlg_error_set(err, TLG_ENOMEM, "out of memory");
  }
  m->root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &where);
  free(text);
  if (!m->root) {
    free(m);
    return tlg_error_at(err, TLG_EFORMAT, (unsigned)where.line, (uint64_t)where.position,
                        "manifest.json:%d: no valid JSON: %s", where.line, where.text);
  }
  json_object_foreach(m->root, key, value)
  {
    for (i = 0; i < sizeof known / sizeof *known && strcmp(known[i], key) != 0; i++) {
    }
    if (i == sizeof known / sizeof *known) {
      st = tlg_error_set(err, TLG_EFORMAT, "manifest.json: no property is called '%.60s'", key);
      goto fail;
    }
  }
  stated = json_string_value(json_object_get(m->root, "schema"));
  if (!stated || strcmp(stated, SCHEMA) != 0) {
    st = tlg_error_set(err, TLG_EFORMAT, "manifest.json: its schema is '%.40s', this program reads '%s'",
                       stated ? stated : "(none)", SCHEMA);
    goto fail;
  }
  stated = json_string_value(json_object_get(m->root, "digest"));
  st = digest(m->root, hex);
  if (st) {
    st = tlg_error_set(err, st, "out of memory");
    goto fail;
  }
  if (!(flags & TLG_MANIFEST_UNSEALED) && (!stated || strcmp(stated, hex) != 0)) {
    st = tlg_error_set(
        err, TLG_EFORMAT,
        "manifest.json: its digest does not fit its contents: it is damaged, or was edited by hand; in that "
        "case 'taplag vectors accept --reason TEXT' renews it");
    goto fail;
  }
  list = json_object_get(m->root, "vectors");
  if (!json_is_array(list) || !json_is_array(json_object_get(m->root, "history"))) {
    st = tlg_error_set(err, TLG_EFORMAT, "manifest.json: the list of vectors or the history is missing");
    goto fail;
  }
  m->entries = calloc(json_array_size(list) ? json_array_size(list) : 1, sizeof *m->entries);
  if (!m->entries) {
    st = tlg_error_set(err, TLG_ENOMEM, "out of memory");
    goto fail;
  }
  for (i = 0; i < json_array_size(list); i++) {
    m->n = i + 1;
    st = load_entry(&m->entries[i], json_array_get(list, i), dir, flags, err);
    if (st) {
      goto fail;
    }
  }
  st = check_ids(m, err);
  if (st) {
    goto fail;
  }
  *result = m;
  return TLG_OK;

fail:
  tlg_manifest_free(m);
  return st;
}

void tlg_manifest_free(struct tlg_manifest *m)
{
  size_t i;

  if (m) {
    for (i = 0; i < m->n; i++) {
      free(m->entries[i].expect.crc);
    }
    free(m->entries);
    json_decref(m->root);
    free(m);
  }
}

size_t tlg_manifest_size(const struct tlg_manifest *m)
{
  return m->n;
}

const struct tlg_manifest_entry *tlg_manifest_at(const struct tlg_manifest *m, size_t i)
{
  return i < m->n ? &m->entries[i] : NULL;
}

int tlg_manifest_match(const struct tlg_manifest_entry *e, const char *pattern)
{
  size_t i;

  if (pattern[0] != '@') {
    return fnmatch(pattern, e->vector.id, 0) == 0;
  }
  for (i = 0; i < sizeof e->flags / sizeof *e->flags && e->flags[i]; i++) {
    if (strcmp(e->flags[i], pattern + 1) == 0) {
      return 1;
    }
  }
  return 0;
}

static int put_plain(void *context, const char *key, const char *value, struct tlg_error *err)
{
  return fprintf(context, "%s=%s\n", key, value) < 0 ? tlg_error_set(err, TLG_ENOMEM, "out of memory") : TLG_OK;
}

static json_t *item_at(const struct tlg_manifest *m, size_t i)
{
  return json_array_get(json_object_get(m->root, "vectors"), i);
}

char *tlg_manifest_plain(const struct tlg_manifest *m, size_t i)
{
  char *text = NULL;
  size_t length;
  FILE *f = open_memstream(&text, &length);
  int bad;

  if (!f) {
    return NULL;
  }
  bad = flatten(item_at(m, i), "", put_plain, f, NULL) != TLG_OK;
  bad |= fputc('\n', f) == EOF;
  bad |= fclose(f) != 0;
  if (bad) {
    free(text);
    return NULL;
  }
  return text;
}

char *tlg_manifest_json(const struct tlg_manifest *m, size_t i)
{
  return json_dumps(item_at(m, i), JSON_INDENT(2) | JSON_PRESERVE_ORDER);
}

/* ---- accepting
 * ------------------------------------------------------------------------------------------------------- */

static void note(FILE *f, const char *what, const char *was, const char *is)
{
  if (strcmp(was, is) != 0) {
    fprintf(f, "  %s: %.16s%s -> %.16s%s\n", what, *was ? was : "none", strlen(was) > 16 ? "..." : "", is,
            strlen(is) > 16 ? "..." : "");
  }
}

static int store_expectation(json_t *item, const struct tlg_expect *x, size_t n_taps, const char *taps_hash)
{
  json_t *taps = json_object_get(item, "taps");
  int bad = 0;

  if (!taps) {
    bad |= json_object_set_new(item, "taps", json_pack("{s:s}", "kind", "default"));
    taps = json_object_get(item, "taps");
  }
  bad |= json_object_set_new(taps, "sha256", json_string(taps_hash));
  bad |= json_object_set_new(item, "expect",
                             json_pack("{s:s,s:I,s:I,s:I,s:s,s:s}", "inputs_sha256", x->input_sha256, "taps",
                                       (json_int_t)n_taps, "outputs", (json_int_t)x->outputs, "first",
                                       (json_int_t)x->first, "outputs_sha256", x->output_sha256, "crc_sha256",
                                       x->crc_sha256));
  return bad ? TLG_ENOMEM : TLG_OK;
}

int tlg_manifest_accept(struct tlg_manifest *m, size_t i, char **changes, char **crc_text, struct tlg_error *err)
{
  struct tlg_manifest_entry *e = &m->entries[i];
  const struct tlg_vector *v = &e->vector;
  struct tlg_taps taps = {NULL, 0, 0, 0};
  struct tlg_segment *segments = NULL;
  struct tlg_expect x;
  tlg_cs16 *in = NULL, *out = NULL;
  char taps_hash[65], was[40], is[40], *text = NULL, *file = NULL;
  size_t n = 0, k, length, at = 0, moved = 0;
  FILE *f;
  int st;

  *changes = NULL;
  *crc_text = NULL;
  memset(&x, 0, sizeof x);
  if (v->refused) {
    *changes = strdup("");
    return *changes ? TLG_OK : tlg_error_set(err, TLG_ENOMEM, "out of memory");
  }
  f = open_memstream(&text, &length);
  if (!f) {
    return tlg_error_set(err, TLG_ENOMEM, "out of memory");
  }
  st = tlg_vector_taps(v, &taps, err);
  st = st ? st : tlg_taps_check(&taps, err);
  st = st ? st : tlg_vector_segments(v, taps.n, &segments, &n, &x.outputs, err);
  if (st) {
    goto done;
  }
  in = malloc((v->n_in + 1) * sizeof *in);
  out = malloc((x.outputs + 1) * sizeof *out);
  x.crc = calloc(n + 1, sizeof *x.crc);
  if (!in || !out || !x.crc) {
    st = tlg_error_set(err, TLG_ENOMEM, "out of memory");
    goto done;
  }
  st = tlg_vector_input(v, &taps, in, err);
  if (st) {
    goto done;
  }
  tlg_vector_expected(v, &taps, in, segments, n, out);
  x.first = n ? segments[0].first : 0;
  x.n_crc = n;
  for (k = 0; k < n; k++) {
    x.crc[k] = tlg_crc32(out + at, (size_t)segments[k].n);
    moved += k >= e->expect.n_crc || x.crc[k] != e->expect.crc[k];
    at += (size_t)segments[k].n;
  }
  tlg_sha256(in, (size_t)v->n_in, x.input_sha256);
  tlg_sha256(out, (size_t)x.outputs, x.output_sha256);
  tlg_sha256_taps(&taps, taps_hash);
  file = crc_file(v, segments, n, x.crc);
  if (!file) {
    st = tlg_error_set(err, TLG_ENOMEM, "out of memory");
    goto done;
  }
  tlg_sha256_bytes(file, strlen(file), x.crc_sha256);
  snprintf(was, sizeof was, "%llu", (unsigned long long)e->expect.outputs);
  snprintf(is, sizeof is, "%llu", (unsigned long long)x.outputs);
  note(f, "outputs", was, is);
  note(f, "taps", v->taps_hash, taps_hash);
  note(f, "input", e->expect.input_sha256, x.input_sha256);
  note(f, "output", e->expect.output_sha256, x.output_sha256);
  if (moved) {
    fprintf(f, "  packets that differ: %zu of %zu\n", moved, n);
  } else {
    note(f, "CRC file", e->expect.crc_sha256, x.crc_sha256);
  }
  st = store_expectation(item_at(m, i), &x, taps.n, taps_hash);
  if (st) {
    st = tlg_error_set(err, st, "out of memory");
  }
done:
  if (fclose(f) != 0 && !st) {
    st = tlg_error_set(err, TLG_ENOMEM, "out of memory");
  }
  if (st) {
    free(text);
    free(file);
    free(x.crc);
  } else {
    free(e->expect.crc);
    e->expect = x;
    memcpy(e->vector.taps_hash, taps_hash, sizeof taps_hash);
    *changes = text;
    *crc_text = file;
  }
  free(in);
  free(out);
  free(segments);
  tlg_taps_free(&taps);
  return st;
}

int tlg_manifest_seal(struct tlg_manifest *m, const char *reason, const char *ids, char **text, struct tlg_error *err)
{
  json_t *history = json_object_get(m->root, "history");
  char hex[65], *dump, *whole;
  size_t length;

  if (!reason || strlen(reason) < 10) {
    return tlg_error_set(err, TLG_EINVAL, "the reason must be a sentence");
  }
  if (json_array_append_new(history,
                            json_pack("{s:s,s:s,s:s}", "reason", reason, "vectors", ids, "version", tlg_version())) ||
      digest(m->root, hex) || json_object_set_new(m->root, "digest", json_string(hex))) {
    return tlg_error_set(err, TLG_ENOMEM, "out of memory, or the reason is no UTF-8 text");
  }
  dump = json_dumps(m->root, JSON_INDENT(1) | JSON_PRESERVE_ORDER | JSON_ENSURE_ASCII);
  length = dump ? strlen(dump) : 0;
  whole = dump ? realloc(dump, length + 2) : NULL;
  if (!whole) {
    free(dump);
    return tlg_error_set(err, TLG_ENOMEM, "out of memory");
  }
  memcpy(whole + length, "\n", 2);
  *text = whole;
  return TLG_OK;
}
