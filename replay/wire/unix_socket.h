/* SPDX-License-Identifier: Apache-2.0 */
/* Unix stream sockets in endpoints: "PATH", or "@NAME" in the abstract name space. */
#ifndef TLG_UNIX_SOCKET_H
#define TLG_UNIX_SOCKET_H

#include "taplag.h"

#include <sys/types.h>

/* Where a listening socket stands, so that it is taken away only if it is still ours. */
struct tlg_unix_place {
  char path[108]; /* "" = none, or abstract */
  dev_t device;
  ino_t inode;
};

/* Whether a path can be one, nothing but a socket stands there, and, if it is to listen, its folder takes one:
 * TLG_EINVAL, TLG_EEXIST, TLG_ESYS. */
int tlg_unix_check(const char *path, int listens, struct tlg_error *err);
/* Listen, non-blocking. A socket file on which nobody listens is replaced; anything else is left alone: TLG_EEXIST.
 * TLG_EINVAL (empty or too long), TLG_ESYS. */
int tlg_unix_listen(int *fd, struct tlg_unix_place *place, const char *path, struct tlg_error *err);
/* Take the file away and close. */
void tlg_unix_unlisten(int fd, const struct tlg_unix_place *place);
/* Connect, non-blocking. TLG_EINTR: nobody listens there now. */
int tlg_unix_connect(int *fd, const char *path, struct tlg_error *err);

#endif
