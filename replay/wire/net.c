/* SPDX-License-Identifier: Apache-2.0 */
/* Internet addresses in endpoints, and socket buffers. */
#include "net.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int tlg_net_parse(struct tlg_net_address *address, const char *text, int receiver, struct tlg_error *err)
{
  const struct addrinfo hints = {.ai_socktype = SOCK_DGRAM, .ai_flags = AI_NUMERICSERV | (receiver ? AI_PASSIVE : 0)};
  const char *colon = strrchr(text, ':'), *port = colon ? colon + 1 : text;
  struct addrinfo *found = NULL;
  char host[256];
  size_t n = colon ? (size_t)(colon - text) : 0;
  int failed;

  if (!*port || port[strspn(port, "0123456789")] || strlen(port) > 5 || atoi(port) > 65535 ||
      (!receiver && (atoi(port) == 0 || !n))) {
    return tlg_error_set(err, TLG_EINVAL, "'%s' is no address: HOST:PORT is wanted%s", text,
                         receiver ? " (or PORT alone for this machine only, *:PORT for every interface)" : "");
  }
  if (n >= 2 && text[0] == '[' && text[n - 1] == ']') {
    text++;
    n -= 2;
  }
  if (n >= sizeof host) {
    return tlg_error_set(err, TLG_EINVAL, "the name of the host is too long");
  }
  memcpy(host, text, n);
  host[n] = '\0';
  if (!n) {
    strcpy(host, "127.0.0.1");
  }
  failed = getaddrinfo(strcmp(host, "*") == 0 ? "0.0.0.0" : host, port, &hints, &found);
  if (failed) {
    return tlg_error_set(err, TLG_ESYS, "%s: %s", host, gai_strerror(failed));
  }
  memset(address, 0, sizeof *address);
  memcpy(&address->a, found->ai_addr, found->ai_addrlen);
  address->size = found->ai_addrlen;
  freeaddrinfo(found);
  return TLG_OK;
}

char *tlg_net_text(const struct tlg_net_address *address, char *text, size_t size)
{
  char host[NI_MAXHOST], port[NI_MAXSERV];

  if (getnameinfo((const struct sockaddr *)&address->a, address->size, host, sizeof host, port, sizeof port,
                  NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    snprintf(text, size, "?");
  } else {
    snprintf(text, size, address->a.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
  }
  return text;
}

/* The address part of either family. */
static const uint8_t *host_bytes(const struct tlg_net_address *address, size_t *n)
{
  if (address->a.ss_family == AF_INET6) {
    *n = 16;
    return (const uint8_t *)&((const struct sockaddr_in6 *)&address->a)->sin6_addr;
  }
  *n = 4;
  return (const uint8_t *)&((const struct sockaddr_in *)&address->a)->sin_addr;
}

int tlg_net_is_multicast(const struct tlg_net_address *address)
{
  size_t n;
  const uint8_t *b = host_bytes(address, &n);

  return n == 16 ? b[0] == 0xff : b[0] >= 224 && b[0] < 240;
}

uint64_t tlg_net_host(const struct tlg_net_address *address)
{
  uint64_t hash = 14695981039346656037u; /* FNV-1a */
  size_t n, i;
  const uint8_t *b = host_bytes(address, &n);

  for (i = 0; i < n; i++) {
    hash = (hash ^ b[i]) * 1099511628211u;
  }
  return hash;
}

uint16_t tlg_net_port(const struct tlg_net_address *address)
{
  return ntohs(address->a.ss_family == AF_INET6 ? ((const struct sockaddr_in6 *)&address->a)->sin6_port
                                                : ((const struct sockaddr_in *)&address->a)->sin_port);
}

size_t tlg_net_buffer(int fd, int option, size_t bytes)
{
  const int wanted = bytes > 1 << 30 ? 1 << 30 : (int)bytes;
  int there = 0;
  socklen_t n = sizeof there;

  if (setsockopt(fd, SOL_SOCKET, option == SO_RCVBUF ? SO_RCVBUFFORCE : SO_SNDBUFFORCE, &wanted, sizeof wanted) != 0) {
    setsockopt(fd, SOL_SOCKET, option, &wanted, sizeof wanted);
  }
  getsockopt(fd, SOL_SOCKET, option, &there, &n);
  return there > 0 ? (size_t)there / 2 : 0; /* the kernel doubles it for its own bookkeeping */
}
