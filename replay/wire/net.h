/* SPDX-License-Identifier: Apache-2.0 */
/* Internet addresses in endpoints, and socket buffers. */
#ifndef TLG_NET_H
#define TLG_NET_H

#include "taplag.h"

#include <sys/socket.h>

struct tlg_net_address {
  struct sockaddr_storage a;
  socklen_t size;
};

/* "HOST:PORT", "[IPV6]:PORT"; where a receiver is meant, ":PORT" or "PORT" alone is the loopback interface and
 * "*:PORT" every one. TLG_EINVAL, TLG_ESYS (no such host). */
int tlg_net_parse(struct tlg_net_address *address, const char *text, int receiver, struct tlg_error *err);
/* "127.0.0.1:5000" into text; returns text. */
char *tlg_net_text(const struct tlg_net_address *address, char *text, size_t size);
int tlg_net_is_multicast(const struct tlg_net_address *address);
/* A number for the host of an address, and its port. */
uint64_t tlg_net_host(const struct tlg_net_address *address);
uint16_t tlg_net_port(const struct tlg_net_address *address);
/* Ask for a buffer of so many bytes (SO_RCVBUF or SO_SNDBUF), by force where that is permitted; returns what there is.
 */
size_t tlg_net_buffer(int fd, int option, size_t bytes);

#endif
