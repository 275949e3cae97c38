/* SPDX-License-Identifier: Apache-2.0 */
/* Output files that appear under their name whole or not at all; pipes and devices are written through. */
#include "outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

struct tlg_outfile {
  int fd;
  int through;
  int reserved; /* there may be more room than the file needs */
  unsigned flags;
  char *path; /* the file's final name, symbolic links resolved */
  char *temp; /* the temporary's name; NULL: it has none (O_TMPFILE), or written through */
};

/* The folder of path with a name put into it, "DIR/PREFIX" "BASE" "SUFFIX"; NULL when out of memory. */
static char *beside(const char *path, const char *prefix, const char *suffix)
{
  const char *slash = strrchr(path, '/');
  const char *base = slash ? slash + 1 : path;
  char *name = NULL;

  if (asprintf(&name, "%.*s%s%s%s", (int)(base - path), path, prefix, base, suffix) < 0) {
    return NULL;
  }
  return name;
}

static char *folder(const char *path)
{
  const char *slash = strrchr(path, '/');

  return !slash ? strdup(".") : slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
}

static int no_name(struct tlg_error *err)
{
  return tlg_error_set(err, TLG_EINVAL, "the name of the output is empty");
}

static int exists(struct tlg_error *err, const char *path)
{
  return tlg_error_set(err, TLG_EEXIST, "%s exists; --force overwrites it", path);
}

static int cannot_create(struct tlg_error *err, const char *path, int number)
{
  return tlg_error_set(err, TLG_ESYS, "cannot create %s: %s", path, strerror(number));
}

int tlg_outfile_failed(const struct tlg_outfile *f, int number, struct tlg_error *err)
{
  const char *name = f->path ? f->path : "stdout";

  if (number == EPIPE) {
    return tlg_error_set(err, TLG_EPIPE, "%s: the reader closed the pipe before all was written", name);
  }
  return tlg_error_set(err, TLG_ESYS, "cannot write %s: %s%s", name, strerror(number),
                       f->through ? "" : "; nothing was left under that name");
}

/* A temporary in the folder of f->path: nameless where the file system can, so that even a kill leaves nothing. */
static int open_temporary(struct tlg_outfile *f, mode_t mode, struct tlg_error *err)
{
  char suffix[40];
  char *dir;
  int saved;

  if (f->flags & OUTFILE_KEEP_PART) {
    f->temp = beside(f->path, "", ".part");
    if (!f->temp) {
      return tlg_error_set(err, TLG_ENOMEM, "out of memory");
    }
    f->fd = open(f->temp, O_RDWR | O_CREAT | O_CLOEXEC | (f->flags & OUTFILE_FORCE ? O_TRUNC : O_EXCL), mode);
    if (f->fd < 0) {
      saved = errno;
      if (saved == EEXIST) {
        exists(err, f->temp);
      } else {
        cannot_create(err, f->temp, saved);
      }
      free(f->temp);
      f->temp = NULL;
      return saved == EEXIST ? TLG_EEXIST : TLG_ESYS;
    }
    return TLG_OK;
  }
  dir = folder(f->path);
  if (!dir) {
    return tlg_error_set(err, TLG_ENOMEM, "out of memory");
  }
  f->fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, mode);
  free(dir);
  if (f->fd >= 0) {
    return TLG_OK;
  }
  if (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT && errno != EINVAL) {
    return cannot_create(err, f->path, errno);
  }
  snprintf(suffix, sizeof suffix, ".part-%ld", (long)getpid());
  f->temp = beside(f->path, ".", suffix);
  if (!f->temp) {
    return tlg_error_set(err, TLG_ENOMEM, "out of memory");
  }
  f->fd = open(f->temp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (f->fd < 0) {
    saved = errno;
    free(f->temp);
    f->temp = NULL;
    return cannot_create(err, f->path, saved);
  }
  return TLG_OK;
}

static int open_path(struct tlg_outfile *f, const char *path, struct tlg_error *err)
{
  struct stat st, link;
  int present;

  if (!path[0]) {
    return no_name(err);
  }
  if (strcmp(path, "-") == 0) {
    if (f->flags & OUTFILE_REGULAR) {
      return tlg_error_set(err, TLG_EINVAL,
                           "this kind of file cannot be written to stdout; name a file, or write raw samples");
    }
    f->through = 1;
    f->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    return f->fd < 0 ? tlg_error_set(err, TLG_ESYS, "stdout: %s", strerror(errno)) : TLG_OK;
  }
  present = stat(path, &st) == 0;
  if (!present && errno != ENOENT) {
    return cannot_create(err, path, errno);
  }
  if (!present && lstat(path, &link) == 0) {
    return tlg_error_set(err, TLG_ESYS, "%s is a symbolic link to nothing; remove it or name its target", path);
  }
  if (present && S_ISDIR(st.st_mode)) {
    return tlg_error_set(err, TLG_ESYS, "%s is a folder; name a file in it", path);
  }
  if (present && S_ISBLK(st.st_mode) && !(f->flags & OUTFILE_FORCE)) {
    return tlg_error_set(err, TLG_EEXIST, "%s is a block device; --force overwrites it", path);
  }
  if (present && !S_ISREG(st.st_mode)) {
    if (f->flags & OUTFILE_REGULAR) {
      return tlg_error_set(err, TLG_EINVAL, "%s is a pipe or device; this kind of file needs a regular one", path);
    }
    f->through = 1;
    f->path = strdup(path);
    if (!f->path) {
      return tlg_error_set(err, TLG_ENOMEM, "out of memory");
    }
    f->fd = open(path, O_WRONLY | O_CLOEXEC);
    if (f->fd < 0 && errno == EINTR) {
      return tlg_error_set(err, TLG_EINTR, "stopped while waiting for a reader of %s; nothing was written", path);
    }
    return f->fd < 0 ? tlg_error_set(err, TLG_ESYS, "cannot write %s: %s", path, strerror(errno)) : TLG_OK;
  }
  if (present && !(f->flags & OUTFILE_FORCE)) {
    return exists(err, path);
  }
  /* Replace what a link points to, not the link. */
  f->path = present ? realpath(path, NULL) : strdup(path);
  if (!f->path) {
    return present ? cannot_create(err, path, errno) : tlg_error_set(err, TLG_ENOMEM, "out of memory");
  }
  return open_temporary(f, present ? st.st_mode & 0777 : 0666, err);
}

int tlg_outfile_folder(const char *path)
{
  const char *slash = strrchr(path, '/');
  char *dir = strndup(slash ? path : "./", slash ? (size_t)(slash - path) + 1 : 2); /* "/": what is no folder fails */
  int number;

  if (!dir) {
    return ENOMEM;
  }
  number = access(dir, W_OK | X_OK) == 0 ? 0 : errno;
  free(dir);
  return number;
}

int tlg_outfile_check(const char *path, unsigned flags, struct tlg_error *err)
{
  struct stat st;
  char *part;
  int status = TLG_OK, number;

  if (!path[0]) {
    return no_name(err);
  }
  if (strcmp(path, "-") == 0) {
    return TLG_OK;
  }
  if (stat(path, &st) == 0) {
    if (S_ISDIR(st.st_mode)) {
      return tlg_error_set(err, TLG_ESYS, "%s is a folder; name a file in it", path);
    }
    if (!S_ISREG(st.st_mode)) {
      return access(path, W_OK) == 0 ? TLG_OK
                                     : tlg_error_set(err, TLG_ESYS, "cannot write %s: %s", path, strerror(errno));
    }
    if (!(flags & OUTFILE_FORCE)) {
      return exists(err, path);
    }
  } else if (errno != ENOENT) {
    return cannot_create(err, path, errno);
  }
  part = beside(path, "", ".part");
  if (!part) {
    status = tlg_error_set(err, TLG_ENOMEM, "out of memory");
  } else if ((number = tlg_outfile_folder(path)) != 0) {
    status = cannot_create(err, path, number);
  } else if (flags & OUTFILE_KEEP_PART && !(flags & OUTFILE_FORCE) && lstat(part, &st) == 0) {
    status = exists(err, part);
  }
  free(part);
  return status;
}

int tlg_outfile_open_flags(struct tlg_outfile **file, const char *path, unsigned flags, struct tlg_error *err)
{
  struct tlg_outfile *f;
  int status;

  if (!file || !path) {
    return tlg_error_set(err, TLG_EINVAL, "no output is named");
  }
  *file = NULL;
  f = calloc(1, sizeof *f);
  if (!f) {
    return tlg_error_set(err, TLG_ENOMEM, "out of memory");
  }
  f->fd = -1;
  f->flags = flags;
  status = open_path(f, path, err);
  if (status) {
    tlg_outfile_abort(f);
    return status;
  }
  *file = f;
  return TLG_OK;
}

int tlg_outfile_open(struct tlg_outfile **f, const char *path, int force, struct tlg_error *err)
{
  return tlg_outfile_open_flags(f, path, force ? OUTFILE_FORCE : 0, err);
}

int tlg_outfile_fd(const struct tlg_outfile *f)
{
  return f->fd;
}

int tlg_outfile_reserve(struct tlg_outfile *f, uint64_t bytes, struct tlg_error *err)
{
  struct statfs fs;

  /* File systems in memory would clear the room now, and again fill it. */
  if (f->through || !bytes || bytes > INT64_MAX || fstatfs(f->fd, &fs) != 0 || fs.f_type == TMPFS_MAGIC ||
      fs.f_type == RAMFS_MAGIC) {
    return TLG_OK;
  }
  while (fallocate(f->fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)bytes) != 0) {
    if (errno == ENOSPC || errno == EDQUOT || errno == EFBIG) {
      return tlg_error_set(err, TLG_ESYS, "cannot write %s: %s; it will have %llu bytes", f->path, strerror(errno),
                           (unsigned long long)bytes);
    }
    if (errno != EINTR) {
      return TLG_OK; /* not known there: writing will tell */
    }
  }
  f->reserved = 1;
  return TLG_OK;
}

/* Give back what was reserved and not written. */
static void trim(struct tlg_outfile *f)
{
  struct stat st;

  /* Without room left over this would only cost time. What cannot be given back does no harm. */
  if (f->reserved && fstat(f->fd, &st) == 0 && (uint64_t)st.st_blocks * 512 > (uint64_t)st.st_size + 65536 &&
      ftruncate(f->fd, st.st_size) != 0) {
    f->reserved = 0;
  }
}

int tlg_outfile_write(struct tlg_outfile *f, const void *bytes, size_t n, struct tlg_error *err)
{
  const char *from = bytes;

  if (!f || (!bytes && n)) {
    return tlg_error_set(err, TLG_EINVAL, "nothing to write to");
  }
  while (n) {
    const ssize_t written = write(f->fd, from, n < SSIZE_MAX ? n : SSIZE_MAX);

    if (written < 0) {
      if (errno == EINTR) {
        continue; /* what was accepted is written out; the caller stops between blocks */
      }
      return tlg_outfile_failed(f, errno, err);
    }
    from += written;
    n -= (size_t)written;
  }
  return TLG_OK;
}

int tlg_outfile_write_at(struct tlg_outfile *f, const void *bytes, size_t n, uint64_t offset, struct tlg_error *err)
{
  const char *from = bytes;

  while (n) {
    const ssize_t written = pwrite(f->fd, from, n, (off_t)offset);

    if (written < 0) {
      if (errno == EINTR) {
        continue;
      }
      return tlg_outfile_failed(f, errno, err);
    }
    from += written;
    offset += (uint64_t)written;
    n -= (size_t)written;
  }
  return TLG_OK;
}

/* Give a nameless temporary a name: the final one if nothing may be replaced (atomic, fails if it exists by now),
 * else one beside it that is then renamed. */
static int link_temporary(struct tlg_outfile *f, struct tlg_error *err)
{
  char self[40], suffix[40];

  snprintf(self, sizeof self, "/proc/self/fd/%d", f->fd);
  if (!(f->flags & OUTFILE_FORCE)) {
    if (linkat(AT_FDCWD, self, AT_FDCWD, f->path, AT_SYMLINK_FOLLOW) == 0) {
      return TLG_OK;
    }
    return errno == EEXIST ? exists(err, f->path) : tlg_outfile_failed(f, errno, err);
  }
  snprintf(suffix, sizeof suffix, ".part-%ld", (long)getpid());
  f->temp = beside(f->path, ".", suffix);
  if (!f->temp) {
    return tlg_error_set(err, TLG_ENOMEM, "out of memory");
  }
  if (linkat(AT_FDCWD, self, AT_FDCWD, f->temp, AT_SYMLINK_FOLLOW) != 0) {
    const int saved = errno;

    free(f->temp);
    f->temp = NULL;
    return tlg_outfile_failed(f, saved, err);
  }
  return TLG_OK;
}

/* Rename the temporary to its final name. */
static int rename_temporary(struct tlg_outfile *f, struct tlg_error *err)
{
  if (f->flags & OUTFILE_FORCE) {
    if (rename(f->temp, f->path) != 0) {
      return tlg_outfile_failed(f, errno, err);
    }
  } else if (renameat2(AT_FDCWD, f->temp, AT_FDCWD, f->path, RENAME_NOREPLACE) != 0) {
    if (errno == EEXIST) {
      return exists(err, f->path);
    }
    /* File systems without the flag: a link refuses to replace as well. */
    if (link(f->temp, f->path) != 0) {
      return errno == EEXIST ? exists(err, f->path) : tlg_outfile_failed(f, errno, err);
    }
    unlink(f->temp);
  }
  free(f->temp);
  f->temp = NULL;
  return TLG_OK;
}

int tlg_outfile_close(struct tlg_outfile *f, struct tlg_error *err)
{
  int status = TLG_OK, linked = 0;

  if (!f) {
    return tlg_error_set(err, TLG_EINVAL, "no output is open");
  }
  trim(f);
  if (!f->through && !f->temp) {
    status = link_temporary(f, err);
    linked = status == TLG_OK && !f->temp;
  }
  /* Network file systems report a full disk only here, so this comes before the rename. */
  if (close(f->fd) != 0 && errno != EINTR && status == TLG_OK) {
    status = tlg_outfile_failed(f, errno, err);
    if (linked) {
      unlink(f->path);
    }
  }
  f->fd = -1;
  if (status == TLG_OK && f->temp) {
    status = rename_temporary(f, err);
  }
  tlg_outfile_abort(f);
  return status;
}

void tlg_outfile_abort(struct tlg_outfile *f)
{
  struct stat st;
  int empty = 0;

  if (!f) {
    return;
  }
  if (f->fd >= 0) {
    empty = fstat(f->fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == 0;
    if (f->flags & OUTFILE_KEEP_PART) {
      trim(f);
    }
    close(f->fd);
  }
  if (f->temp && (!(f->flags & OUTFILE_KEEP_PART) || empty)) { /* of nothing nothing need be kept */
    unlink(f->temp);
  }
  free(f->temp);
  free(f->path);
  free(f);
}
