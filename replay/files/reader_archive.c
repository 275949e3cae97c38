/* SPDX-License-Identifier: Apache-2.0 */
/* SigMF archives (tar), read in place: libarchive finds the entries, samples are read from where they stand. */
#include "sigmf.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define META_LIMIT ((la_int64_t)64 << 20)
#define ENTRY_LIMIT 65536

struct entry {
  char *name;
  char *text;      /* of a meta file, else NULL */
  uint64_t offset; /* of its bytes in the archive */
  uint64_t size;
  int sparse;
};

struct list {
  struct entry *entries;
  size_t n;
  uint64_t damaged_at; /* UINT64_MAX: the archive is whole */
  char damage[160];
};

static void free_list(struct list *l)
{
  size_t i;

  for (i = 0; i < l->n; i++) {
    free(l->entries[i].name);
    free(l->entries[i].text);
  }
  free(l->entries);
}

/* One more entry; NULL when out of memory. */
static struct entry *add_entry(struct list *l, const char *name)
{
  struct entry *more, *e;

  if ((l->n & (l->n - 1)) == 0) {
    more = realloc(l->entries, (l->n ? 2 * l->n : 1) * sizeof *more);
    if (!more) {
      return NULL;
    }
    l->entries = more;
  }
  e = &l->entries[l->n];
  memset(e, 0, sizeof *e);
  e->name = strdup(name);
  if (!e->name) {
    return NULL;
  }
  l->n++;
  return e;
}

static int read_entry(struct list *l, struct archive *a, struct archive_entry *from, struct tlg_error *err)
{
  const char *name = archive_entry_pathname(from);
  const la_int64_t size = archive_entry_size(from);
  struct entry *e;

  if (!name || archive_entry_filetype(from) != AE_IFREG || size < 0) {
    return TLG_OK;
  }
  while (strncmp(name, "./", 2) == 0) {
    name += 2;
  }
  e = add_entry(l, name);
  if (!e) {
    return tlg_error_set(err, TLG_ENOMEM, "out of memory");
  }
  /* Nothing of the entry has been taken yet, so this is where its bytes begin. */
  e->offset = (uint64_t)archive_filter_bytes(a, 0);
  e->size = (uint64_t)size;
  e->sparse = archive_entry_sparse_count(from) > 0;
  if (tlg_has_suffix(name, ".sigmf-meta")) {
    if (size > META_LIMIT) {
      return tlg_error_at(err, TLG_EFORMAT, 0, e->offset, "%.100s has %lld bytes; more than 64 MiB are not read", name,
                          (long long)size);
    }
    e->text = malloc((size_t)size + 1);
    if (!e->text) {
      return tlg_error_set(err, TLG_ENOMEM, "out of memory");
    }
    if (archive_read_data(a, e->text, (size_t)size) != size) {
      return tlg_error_at(err, TLG_EFORMAT, 0, e->offset, "the archive ends inside %.100s: it was cut", name);
    }
  }
  return TLG_OK;
}

static int read_list(struct list *l, int fd, struct tlg_error *err)
{
  struct archive *a = archive_read_new();
  struct archive_entry *from;
  int status = TLG_OK, got;

  l->damaged_at = UINT64_MAX;
  if (!a) {
    return tlg_error_set(err, TLG_ENOMEM, "out of memory");
  }
  archive_read_support_format_tar(a);
  archive_read_support_filter_all(a);
  if (lseek(fd, 0, SEEK_SET) != 0 || archive_read_open_fd(a, fd, 65536) != ARCHIVE_OK) {
    const char *why = archive_error_string(a);

    status = tlg_error_at(err, TLG_EFORMAT, 0, 0, "it is no SigMF archive (tar): %s", why ? why : strerror(errno));
    goto end;
  }
  while (status == TLG_OK && (got = archive_read_next_header(a, &from)) != ARCHIVE_EOF) {
    if (got == ARCHIVE_FATAL || got == ARCHIVE_RETRY || l->n >= ENTRY_LIMIT) {
      const char *why = archive_error_string(a);

      l->damaged_at = (uint64_t)archive_filter_bytes(a, 0);
      snprintf(l->damage, sizeof l->damage, "%s", l->n >= ENTRY_LIMIT ? "too many entries" : why ? why : "damaged");
      break;
    }
    if (archive_filter_count(a) > 1) {
      status = tlg_error_at(err, TLG_EFORMAT, 0, 0,
                            "the archive is compressed (%s), which SigMF does not allow; unpack it first",
                            archive_filter_name(a, 0));
      break;
    }
    status = read_entry(l, a, from, err);
  }
end:
  archive_read_free(a);
  return status;
}

/* Name without folders and suffix: what --recording names. */
static size_t stem_of(const char *name, const char **stem)
{
  const char *slash = strrchr(name, '/');

  *stem = slash ? slash + 1 : name;
  return strlen(*stem) - strlen(".sigmf-meta");
}

/* *meta is NULL if there is none at all. */
static int choose(struct tlg_reader *r, const struct list *l, const struct entry **meta, struct tlg_error *err)
{
  const char *wanted = r->cfg.recording, *stem;
  char names[200] = "";
  size_t i, n = 0, length;

  *meta = NULL;
  for (i = 0; i < l->n; i++) {
    const struct entry *e = &l->entries[i];

    if (!e->text) {
      continue;
    }
    length = stem_of(e->name, &stem);
    if (wanted && (strcmp(wanted, e->name) == 0 || (strlen(wanted) == length && strncmp(stem, wanted, length) == 0))) {
      *meta = e;
      return TLG_OK;
    }
    *meta = e;
    if (strlen(names) + length + 8 < sizeof names) {
      snprintf(names + strlen(names), sizeof names - strlen(names), "%s%.*s", n ? ", " : "", (int)length, stem);
    } else if (!strstr(names, ", ...")) {
      strcat(names, ", ...");
    }
    n++;
  }
  if (n == 0) {
    return TLG_OK;
  }
  if (wanted) {
    return tlg_error_set(err, TLG_EINVAL, "there is no recording '%s' in it; there is: %s", wanted, names);
  }
  if (n > 1) {
    return tlg_error_set(err, TLG_EINVAL, "it holds %zu recordings: %s; --recording NAME chooses one", n, names);
  }
  return TLG_OK;
}

/* The entry with the samples: beside the meta file, by its own name or core:dataset. */
static const struct entry *find_data(const struct list *l, const struct entry *meta, const char *dataset)
{
  const char *stem;
  const size_t length = stem_of(meta->name, &stem);
  const int folder = (int)(stem - meta->name);
  char *name = NULL;
  size_t i;

  if (dataset ? asprintf(&name, "%.*s%s", folder, meta->name, dataset) < 0
              : asprintf(&name, "%.*s%.*s.sigmf-data", folder, meta->name, (int)length, stem) < 0) {
    return NULL;
  }
  for (i = 0; i < l->n; i++) {
    if (strcmp(l->entries[i].name, name) == 0) {
      free(name);
      return &l->entries[i];
    }
  }
  free(name);
  return NULL;
}

static int use_data(struct tlg_reader *r, struct sigmf_meta *meta, const struct entry *data, const char *path, int fd,
                    uint64_t size, struct tlg_error *err)
{
  uint64_t here = data->size;

  if (data->sparse) {
    close(fd);
    return tlg_error_at(err, TLG_EFORMAT, 0, data->offset,
                        "the samples are stored as a sparse file; unpack the archive first");
  }
  if (data->offset > size || data->size > size - data->offset) {
    here = size > data->offset ? size - data->offset : 0;
    tlg_reader_lies(r, "the archive states %llu byte%s of samples, but ends after %llu of them: it was cut",
                    (unsigned long long)data->size, plural(data->size), (unsigned long long)here);
    if (!r->cfg.rescue) {
      close(fd);
      return tlg_error_at(err, TLG_EFORMAT, 0, size, "%s; --rescue reads what is there", r->info.header_note);
    }
    r->info.hash = meta->sha512[0] ? TLG_HASH_SKIPPED : r->info.hash;
    meta->sha512[0] = '\0'; /* of the whole, so it says nothing about a part */
  }
  return tlg_sigmf_use(r, meta, path, fd, data->offset, here, err);
}

/* Samples without their meta file, as in an archive that was cut before it: with rescue, options stand in for it. */
static int without_meta(struct tlg_reader *r, const struct list *l, struct sigmf_meta *meta, const struct entry **data,
                        struct tlg_error *err)
{
  const int cut = l->damaged_at != UINT64_MAX;
  const char *stem;
  size_t i, length;

  *data = NULL;
  for (i = 0; i < l->n && !*data; i++) {
    if (tlg_has_suffix(l->entries[i].name, ".sigmf-data")) {
      length = stem_of(l->entries[i].name, &stem);
      *data = !r->cfg.recording || (strlen(r->cfg.recording) == length && strncmp(stem, r->cfg.recording, length) == 0)
                  ? &l->entries[i]
                  : NULL;
    }
  }
  if (!*data || !r->cfg.rescue || !r->cfg.format) {
    const char *const help = *data ? "; its samples can be read by --rescue with --format and --rate" : "";

    return cut ? tlg_error_at(err, TLG_EFORMAT, 0, l->damaged_at,
                              "the archive is damaged at byte %llu (%s), and no .sigmf-meta stands before that%s",
                              (unsigned long long)l->damaged_at, l->damage, help)
               : tlg_error_at(err, TLG_EFORMAT, 0, UINT64_MAX,
                              "the archive holds no .sigmf-meta file, so it is no recording%s", help);
  }
  tlg_reader_lies(r, "no .sigmf-meta stands in the archive%s: %.120s is read as %s, without captures and times",
                  cut ? " before it is cut" : "", (*data)->name, tlg_format_name(r->cfg.format));
  meta->format = r->cfg.format;
  meta->n_channels = 1;
  return TLG_OK;
}

int tlg_reader_open_archive(struct tlg_reader *r, const char *path, struct tlg_error *err)
{
  struct list l;
  struct sigmf_meta meta;
  const struct entry *meta_entry = NULL, *data;
  uint64_t size;
  int fd, status;

  memset(&l, 0, sizeof l);
  memset(&meta, 0, sizeof meta);
  r->info.container = TLG_CONTAINER_SIGMF_ARCHIVE;
  status = tlg_reader_open_file(path, 0, &fd, &size, err);
  if (status) {
    return status;
  }
  if (size == 0) {
    close(fd);
    return tlg_error_at(err, TLG_EFORMAT, 0, 0, "the file is empty");
  }
  if ((status = read_list(&l, fd, err)) || (status = choose(r, &l, &meta_entry, err))) {
    goto fail;
  }
  if (meta_entry) {
    status = tlg_sigmf_parse(&meta, r, meta_entry->text, meta_entry->size, err);
    if (status) {
      tlg_error_name(err, meta_entry->name);
      goto fail;
    }
    data = find_data(&l, meta_entry, meta.dataset);
  } else if ((status = without_meta(r, &l, &meta, &data, err))) {
    goto fail;
  }
  if (!data) {
    status = l.damaged_at != UINT64_MAX ? tlg_error_at(err, TLG_EFORMAT, 0, l.damaged_at,
                                                       "the archive is damaged at byte %llu (%s), before any samples",
                                                       (unsigned long long)l.damaged_at, l.damage)
                                        : tlg_error_at(err, TLG_EFORMAT, 0, UINT64_MAX,
                                                       "the archive holds %.120s but not its samples (%.120s)",
                                                       meta_entry->name, meta.dataset ? meta.dataset : ".sigmf-data");
    goto fail;
  }
  if (l.damaged_at != UINT64_MAX) {
    tlg_reader_hint(r, "the archive is damaged at byte %llu (%s)", (unsigned long long)l.damaged_at, l.damage);
  }
  status = use_data(r, &meta, data, path, fd, size, err);
  if (status && err && err->line && meta_entry) {
    tlg_error_name(err, meta_entry->name);
  }
  fd = -1;

fail:
  if (fd >= 0) {
    close(fd);
  }
  tlg_sigmf_free(&meta);
  free_list(&l);
  return status;
}
