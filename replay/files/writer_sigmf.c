/* SPDX-License-Identifier: Apache-2.0 */
/* SigMF recordings: meta and data beside each other, or both in an archive. The same samples give the same bytes:
 * keys stand in a fixed order, no time of day is written, the archive's entries carry time 0. */
#include "writer.h"

#include <archive.h>
#include <archive_entry.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TAR_BLOCK 512

struct sigmf_target {
  struct tlg_outfile *data, *meta; /* an archive has data only */
  struct tlg_sha512 *hash;
  char *base;          /* name of the recording, without folder and suffix */
  char *data_path;     /* to take back the data if the meta file cannot be put beside it */
  size_t header_bytes; /* archive: length of the data entry's header */
};

static const char *datatype(enum tlg_format format)
{
  switch (format) {
  case TLG_FORMAT_CF32:
    return "cf32_le";
  case TLG_FORMAT_CF64:
    return "cf64_le";
  case TLG_FORMAT_CS8:
    return "ci8";
  case TLG_FORMAT_CU8:
    return "cu8";
  case TLG_FORMAT_CS32:
    return "ci32_le";
  default:
    return "ci16_le";
  }
}

static json_t *number(double value)
{
  /* Whole numbers without a point, as everybody writes frequencies. */
  return value == floor(value) && fabs(value) < 9e15 ? json_integer((json_int_t)value) : json_real(value);
}

static json_t *captures_json(const struct tlg_writer *w)
{
  json_t *captures = json_array();
  struct tlg_datetime start;
  const int timed = w->datetime[0] && tlg_datetime_parse(w->datetime, &start) == TLG_OK;
  char text[40];
  size_t i;

  for (i = 0; i < w->n_captures; i++) {
    const struct writer_capture *c = &w->captures[i];
    json_t *o;

    if (c->stored == w->stored && i > 0) {
      break; /* a gap at the end: no sample follows it */
    }
    o = json_object();
    json_object_set_new(o, "core:sample_start", json_integer((json_int_t)c->stored));
    if (w->missing) {
      json_object_set_new(o, "core:global_index", json_integer((json_int_t)c->global));
    }
    if (!isnan(c->frequency_hz)) {
      json_object_set_new(o, "core:frequency", number(c->frequency_hz));
    }
    if (timed && i == 0 && c->global == 0) {
      json_object_set_new(o, "core:datetime", json_string(w->datetime));
    } else if (timed) {
      tlg_datetime_text(&start, tlg_instant_ps(c->global, &w->rate), text);
      json_object_set_new(o, "core:datetime", json_string(text));
    }
    json_array_append_new(captures, o);
  }
  return captures;
}

/* The meta file as text, to be freed; NULL when out of memory. */
static char *meta_text(const struct tlg_writer *w, const char *sha512)
{
  json_t *root = json_object(), *global = json_object();
  char *text = NULL, *whole = NULL;

  json_object_set_new(global, "core:datatype", json_string(datatype(w->format)));
  json_object_set_new(global, "core:sample_rate",
                      w->rate.den == 1 ? json_integer((json_int_t)w->rate.num) : json_real(tlg_rate_hz(&w->rate)));
  json_object_set_new(global, "core:version", json_string("1.0.0"));
  json_object_set_new(global, "core:num_channels", json_integer(1));
  if (w->description) {
    json_object_set_new(global, "core:description", json_string(w->description));
  }
  json_object_set_new(global, "core:recorder", json_string("taplag " TLG_VERSION));
  json_object_set_new(global, "core:sha512", json_string(sha512));
  json_object_set_new(root, "global", global);
  json_object_set_new(root, "captures", captures_json(w));
  json_object_set_new(root, "annotations", json_array());
  text = json_dumps(root, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
  json_decref(root);
  if (text && asprintf(&whole, "%s\n", text) < 0) {
    whole = NULL;
  }
  free(text);
  return whole;
}

static void free_target(struct sigmf_target *t)
{
  char unused[129];

  tlg_outfile_abort(t->data);
  tlg_outfile_abort(t->meta);
  if (t->hash) {
    tlg_sha512_end(t->hash, unused);
  }
  free(t->base);
  free(t->data_path);
  free(t);
}

static int sigmf_write(struct tlg_writer *w, const void *bytes, size_t n, struct tlg_error *err)
{
  struct sigmf_target *t = w->target;
  const size_t size = n * tlg_format_size(w->format);

  tlg_sha512_add(t->hash, bytes, size);
  return tlg_outfile_write(t->data, bytes, size, err);
}

static void sigmf_abort(struct tlg_writer *w)
{
  free_target(w->target);
}

static int pair_close(struct tlg_writer *w, struct tlg_error *err)
{
  struct sigmf_target *t = w->target;
  char hex[129];
  char *text;
  int status;

  tlg_sha512_end(t->hash, hex);
  t->hash = NULL;
  text = meta_text(w, hex);
  status = text ? tlg_outfile_write(t->meta, text, strlen(text), err) : tlg_error_set(err, TLG_ENOMEM, "out of memory");
  free(text);
  if (status == TLG_OK) {
    status = tlg_outfile_close(t->data, err);
    t->data = NULL;
  }
  if (status == TLG_OK) {
    status = tlg_outfile_close(t->meta, err);
    t->meta = NULL;
    if (status && !w->force) {
      unlink(t->data_path); /* samples without their meta file are no recording */
    }
  }
  free_target(t);
  return status;
}

/* ---- archive: [header of data][data][padding][header of meta][meta][padding][end], in one pass: the data entry's
 * header is put in front once its length is known. */

struct header_bytes {
  char *bytes;
  size_t room, used;
};

static la_ssize_t take_header(struct archive *a, void *context, const void *bytes, size_t n)
{
  struct header_bytes *h = context;

  (void)a;
  if (n > h->room - h->used) {
    return -1;
  }
  memcpy(h->bytes + h->used, bytes, n);
  h->used += n;
  return (la_ssize_t)n;
}

/* The tar header of a regular file as libarchive writes it. Returns its length, 0 on failure. */
static size_t tar_header(char *bytes, size_t room, const char *folder, const char *suffix, uint64_t size)
{
  struct header_bytes h = {bytes, room, 0};
  struct archive *a = archive_write_new();
  struct archive_entry *e = archive_entry_new();
  char *name = NULL;
  int good = a && e && asprintf(&name, "%s/%s%s", folder, folder, suffix) > 0;

  if (good) {
    archive_entry_set_pathname(e, name);
    archive_entry_set_filetype(e, AE_IFREG);
    archive_entry_set_perm(e, 0644);
    archive_entry_set_size(e, (la_int64_t)size);
    archive_entry_set_mtime(e, 0, 0);
    good = archive_write_set_format_gnutar(a) == ARCHIVE_OK && archive_write_set_bytes_per_block(a, 0) == ARCHIVE_OK &&
           archive_write_open(a, &h, NULL, take_header, NULL) == ARCHIVE_OK && archive_write_header(a, e) == ARCHIVE_OK;
  }
  if (a) {
    h.room = h.used; /* the entry's bytes go another way */
    archive_write_free(a);
  }
  archive_entry_free(e);
  free(name);
  return good ? h.used : 0;
}

static int archive_close(struct tlg_writer *w, struct tlg_error *err)
{
  static const char zeros[2 * TAR_BLOCK];
  struct sigmf_target *t = w->target;
  const uint64_t size = w->stored * tlg_format_size(w->format);
  char header[4 * TAR_BLOCK], hex[129];
  char *text = NULL;
  size_t n;
  int status = TLG_OK;

  tlg_sha512_end(t->hash, hex);
  t->hash = NULL;
  text = meta_text(w, hex);
  if (!text) {
    status = tlg_error_set(err, TLG_ENOMEM, "out of memory");
    goto end;
  }
  n = tar_header(header, sizeof header, t->base, ".sigmf-data", size);
  if (n != t->header_bytes) {
    status = tlg_error_set(err, TLG_ESYS, "the archive's header could not be made");
    goto end;
  }
  if ((status = tlg_outfile_write_at(t->data, header, n, 0, err)) ||
      (status = tlg_outfile_write(t->data, zeros, (TAR_BLOCK - size % TAR_BLOCK) % TAR_BLOCK, err))) {
    goto end;
  }
  n = tar_header(header, sizeof header, t->base, ".sigmf-meta", strlen(text));
  if (!n) {
    status = tlg_error_set(err, TLG_ESYS, "the archive's header could not be made");
    goto end;
  }
  if ((status = tlg_outfile_write(t->data, header, n, err)) ||
      (status = tlg_outfile_write(t->data, text, strlen(text), err)) ||
      (status = tlg_outfile_write(t->data, zeros, (TAR_BLOCK - strlen(text) % TAR_BLOCK) % TAR_BLOCK, err)) ||
      (status = tlg_outfile_write(t->data, zeros, sizeof zeros, err))) {
    goto end;
  }
  status = tlg_outfile_close(t->data, err);
  t->data = NULL;
end:
  free(text);
  free_target(t);
  return status;
}

static const struct writer_ops pair_ops = {sigmf_write, pair_close, sigmf_abort};
static const struct writer_ops archive_ops = {sigmf_write, archive_close, sigmf_abort};

static char *with_suffix(const char *path, size_t stem, const char *suffix)
{
  char *name = NULL;

  return asprintf(&name, "%.*s%s", (int)stem, path, suffix) < 0 ? NULL : name;
}

int tlg_writer_open_sigmf(struct tlg_writer *w, const char *path, struct tlg_error *err)
{
  static const char *const suffixes[] = {".sigmf-meta", ".sigmf-data", ".sigmf"};
  const unsigned flags = OUTFILE_REGULAR | (w->force ? OUTFILE_FORCE : 0) | (w->keep_part ? OUTFILE_KEEP_PART : 0);
  struct sigmf_target *t = calloc(1, sizeof *t);
  char header[4 * TAR_BLOCK];
  char *meta_path = NULL;
  const char *slash;
  size_t stem = strlen(path), i;
  struct tlg_datetime unused;
  int status = TLG_OK;

  for (i = 0; i < 3; i++) {
    if (tlg_has_suffix(path, suffixes[i])) {
      stem -= strlen(suffixes[i]);
      break;
    }
  }
  if (t) {
    slash = memrchr(path, '/', stem);
    t->base = slash ? strndup(slash + 1, stem - (size_t)(slash + 1 - path)) : strndup(path, stem);
    t->hash = tlg_sha512_new();
    t->data_path = with_suffix(path, stem, ".sigmf-data");
    meta_path = with_suffix(path, stem, ".sigmf-meta");
  }
  if (!t || !t->base || !t->hash || !t->data_path || !meta_path) {
    status = tlg_error_set(err, TLG_ENOMEM, "out of memory");
    goto fail;
  }
  if (strcmp(path, "-") == 0) {
    status = tlg_error_set(err, TLG_EINVAL,
                           "a SigMF recording cannot be written to stdout; name a file, or write raw samples");
    goto fail;
  }
  if (w->datetime[0] && tlg_datetime_parse(w->datetime, &unused) != TLG_OK) {
    w->datetime[0] = '\0';
  }
  if (w->container == TLG_CONTAINER_SIGMF_ARCHIVE) {
    if ((status = tlg_outfile_open_flags(&t->data, path, flags, err)) ||
        (status = tlg_outfile_reserve(t->data, w->expected * tlg_format_size(w->format), err))) {
      goto fail;
    }
    t->header_bytes = tar_header(header, sizeof header, t->base, ".sigmf-data", 0);
    if (!t->header_bytes) {
      status = tlg_error_set(err, TLG_EINVAL, "the name of the recording cannot be put into an archive");
      goto fail;
    }
    status = tlg_outfile_write(t->data, header, t->header_bytes, err);
    if (status) {
      goto fail;
    }
    w->ops = &archive_ops;
  } else {
    if ((status = tlg_outfile_open_flags(&t->data, t->data_path, flags, err)) ||
        (status = tlg_outfile_reserve(t->data, w->expected * tlg_format_size(w->format), err)) ||
        (status = tlg_outfile_open_flags(&t->meta, meta_path, flags, err))) {
      goto fail;
    }
    w->ops = &pair_ops;
  }
  free(meta_path);
  w->target = t;
  return TLG_OK;

fail:
  free(meta_path);
  if (t) {
    free_target(t);
  }
  return status;
}
