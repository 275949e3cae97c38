/* SPDX-License-Identifier: Apache-2.0 */
/* Unix stream sockets: listening, connecting, and what to do with a file that is already there. */
#include "unix_socket.h"
#include "outfile.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static int address_of(struct sockaddr_un *a, socklen_t *size, const char *path, struct tlg_error *err)
{
  const size_t n = strlen(path);

  memset(a, 0, sizeof *a);
  a->sun_family = AF_UNIX;
  if (!n || strcmp(path, "@") == 0) {
    return tlg_error_set(err, TLG_EINVAL, "unix: needs a path, or @NAME");
  }
  if (n >= sizeof a->sun_path) {
    return tlg_error_set(err, TLG_EINVAL, "the path of a Unix socket has %zu bytes at most", sizeof a->sun_path - 1);
  }
  memcpy(a->sun_path, path, n);
  *size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n + 1);
  if (path[0] == '@') {
    a->sun_path[0] = '\0';
    (*size)--;
  }
  return TLG_OK;
}

static int cannot_listen(struct tlg_error *err, const char *path, int number)
{
  return tlg_error_set(err, TLG_ESYS, "cannot listen on unix:%s: %s", path, strerror(number));
}

int tlg_unix_check(const char *path, int listens, struct tlg_error *err)
{
  struct sockaddr_un a;
  struct stat st;
  socklen_t size;
  const int status = address_of(&a, &size, path, err);
  int number;

  if (status || path[0] == '@') {
    return status;
  }
  if (lstat(path, &st) == 0 && !S_ISSOCK(st.st_mode)) {
    return tlg_error_set(err, TLG_EEXIST, "%s exists and is no socket; name another path", path);
  }
  number = listens ? tlg_outfile_folder(path) : 0;
  return number ? cannot_listen(err, path, number) : TLG_OK;
}

/* Remove a socket file that a dead process left. 1: it is gone. */
static int remove_stale(const struct sockaddr_un *a, socklen_t size)
{
  struct stat st;
  int fd, stale;

  if (!a->sun_path[0] || lstat(a->sun_path, &st) != 0 || !S_ISSOCK(st.st_mode)) {
    return 0;
  }
  fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  stale = fd >= 0 && connect(fd, (const struct sockaddr *)a, size) != 0 && errno == ECONNREFUSED;
  if (fd >= 0) {
    close(fd);
  }
  return stale && unlink(a->sun_path) == 0;
}

int tlg_unix_listen(int *fd, struct tlg_unix_place *place, const char *path, struct tlg_error *err)
{
  struct sockaddr_un a;
  struct stat st;
  socklen_t size;
  int status = address_of(&a, &size, path, err), bound, s;

  if (status) {
    return status;
  }
  s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (s < 0) {
    return tlg_error_set(err, TLG_ESYS, "unix:%s: %s", path, strerror(errno));
  }
  bound = bind(s, (struct sockaddr *)&a, size);
  if (bound != 0 && errno == EADDRINUSE && remove_stale(&a, size)) {
    bound = bind(s, (struct sockaddr *)&a, size);
  }
  if (bound != 0 || listen(s, 4) != 0) {
    status =
        errno == EADDRINUSE
            ? tlg_error_set(err, TLG_EEXIST, "%s is already there, and is no socket that was left behind: %s", path,
                            path[0] == '@' ? "somebody listens on it" : "somebody listens on it, or it is a file")
            : cannot_listen(err, path, errno);
    close(s);
    return status;
  }
  memset(place, 0, sizeof *place);
  if (path[0] != '@' && stat(path, &st) == 0) {
    snprintf(place->path, sizeof place->path, "%s", path);
    place->device = st.st_dev;
    place->inode = st.st_ino;
  }
  *fd = s;
  return TLG_OK;
}

void tlg_unix_unlisten(int fd, const struct tlg_unix_place *place)
{
  struct stat st;

  if (fd < 0) {
    return;
  }
  if (place->path[0] && lstat(place->path, &st) == 0 && st.st_dev == place->device && st.st_ino == place->inode) {
    unlink(place->path);
  }
  close(fd);
}

int tlg_unix_connect(int *fd, const char *path, struct tlg_error *err)
{
  struct sockaddr_un a;
  socklen_t size;
  int status = address_of(&a, &size, path, err), s;

  if (status) {
    return status;
  }
  s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (s >= 0 && connect(s, (struct sockaddr *)&a, size) == 0) {
    *fd = s;
    return TLG_OK;
  }
  status = s >= 0 && (errno == ENOENT || errno == ECONNREFUSED || errno == EAGAIN)
               ? TLG_EINTR
               : tlg_error_set(err, TLG_ESYS, "cannot connect to unix:%s: %s", path, strerror(errno));
  if (s >= 0) {
    close(s);
  }
  return status;
}
