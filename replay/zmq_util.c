/* SPDX-License-Identifier: Apache-2.0 */
/* One ZeroMQ context for all of a process, sockets that no peer can make grow, who is connected to them, and their end.
 */
#include "zmq_util.h"
#include "outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include <zmq.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void *context;
static unsigned users;

void *tlg_zmq_acquire(void)
{
  void *got;

  pthread_mutex_lock(&mutex);
  if (!context) {
    context = zmq_ctx_new();
  }
  got = context;
  users += got != NULL;
  pthread_mutex_unlock(&mutex);
  return got;
}

/* One user less: the context, if that was the last. */
static void *leave(void)
{
  void *last = NULL;

  pthread_mutex_lock(&mutex);
  if (users && !--users) {
    last = context;
    context = NULL;
  }
  pthread_mutex_unlock(&mutex);
  return last;
}

/* Waits until its sockets have sent, or dropped, what they hold. */
static void terminate(void *last)
{
  while (last && zmq_ctx_term(last) != 0 && zmq_errno() == EINTR) {
  }
}

void tlg_zmq_release(void)
{
  terminate(leave());
}

int tlg_zmq_failed(struct tlg_error *err, const char *what)
{
  return tlg_error_set(err, TLG_ESYS, "%s: %s", what, zmq_strerror(zmq_errno()));
}

static int cannot_bind(struct tlg_error *err, int status, const char *endpoint, const char *why)
{
  return tlg_error_set(err, status, "%s cannot be bound: %s", endpoint, why);
}

/* What stands at an ipc path is replaced by libzmq, whatever it is: only a socket may be. It finds a place for "*". */
static int check_path(const char *endpoint, int bind, struct tlg_error *err)
{
  const char *path = endpoint + 6;
  struct sockaddr_un address;
  struct stat st;
  int number;

  if (strncmp(endpoint, "ipc://", 6) != 0) {
    return TLG_OK;
  }
  if (strlen(path) >= sizeof address.sun_path) {
    return tlg_error_set(err, TLG_EINVAL, "the path of a Unix socket has %zu bytes at most",
                         sizeof address.sun_path - 1);
  }
  if (!bind || path[0] == '@' || strcmp(path, "*") == 0) {
    return TLG_OK;
  }
  if (stat(path, &st) == 0 && !S_ISSOCK(st.st_mode)) {
    return tlg_error_set(err, TLG_EEXIST, "%s exists and is no socket; name another path", path);
  }
  number = tlg_outfile_folder(path);
  return number ? cannot_bind(err, TLG_ESYS, endpoint, strerror(number)) : TLG_OK;
}

/* libzmq takes the port modulo 65536. A connecting one may name two addresses, "HERE;THERE". */
static int check_ports(const char *endpoint, struct tlg_error *err)
{
  const char *part = endpoint + strlen("tcp://");

  for (;;) {
    const size_t n = strcspn(part, ";");
    const char *port = part + n;
    size_t digits;

    while (port > part && port[-1] != ':') {
      port--;
    }
    digits = strspn(port, "0123456789");
    digits = digits < (size_t)(part + n - port) ? 0 : digits;
    if (port == part || (!(port[0] == '*' && port + 1 == part + n) && (!digits || digits > 5 || atoi(port) > 65535))) {
      return tlg_error_set(err, TLG_EINVAL, "'%s' is no endpoint: behind the last colon a port of 1 to 65535 is wanted",
                           endpoint);
    }
    if (!part[n]) {
      return TLG_OK;
    }
    part += n + 1;
  }
}

static int check_endpoint(const char *endpoint, struct tlg_error *err)
{
  static const char *const known[] = {"tcp://", "ipc://", "inproc://"};
  size_t i;

  for (i = 0; i < sizeof known / sizeof *known; i++) {
    if (strncmp(endpoint, known[i], strlen(known[i])) == 0 && endpoint[strlen(known[i])]) {
      if (strlen(endpoint) >= sizeof((struct tlg_zmq_socket *)0)->endpoint) {
        return tlg_error_set(err, TLG_EINVAL, "the endpoint is too long");
      }
      return i == 0 ? check_ports(endpoint, err) : TLG_OK;
    }
  }
  return tlg_error_set(err, TLG_EINVAL, "'%s' is no endpoint: tcp://ADDRESS:PORT, ipc://PATH or inproc://NAME",
                       endpoint);
}

int tlg_zmq_check(const char *endpoint, int bind, struct tlg_error *err)
{
  const int status = check_endpoint(endpoint, err);

  return status ? status : check_path(endpoint, bind, err);
}

static void set(void *socket, int option, int value)
{
  zmq_setsockopt(socket, option, &value, sizeof value);
}

/* A pair of sockets that tells who connects. */
static void open_monitor(struct tlg_zmq_socket *s)
{
  static _Atomic unsigned number;
  const int events = ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_CONNECTED | ZMQ_EVENT_DISCONNECTED; /* with the descriptor */
  char name[64];

  snprintf(name, sizeof name, "inproc://taplag-monitor-%u", number++);
  if (zmq_socket_monitor(s->socket, name, events) != 0) {
    return;
  }
  s->monitor = zmq_socket(context, ZMQ_PAIR);
  if (s->monitor) {
    set(s->monitor, ZMQ_LINGER, 0);
    if (zmq_connect(s->monitor, name) != 0) {
      zmq_close(s->monitor);
      s->monitor = NULL;
    }
  }
}

int tlg_zmq_open(struct tlg_zmq_socket *s, const char *endpoint, const struct tlg_zmq_cfg *cfg, struct tlg_error *err)
{
  const int bind = cfg->bind;
  size_t size = sizeof s->endpoint;
  int status;

  memset(s, 0, sizeof *s);
  status = tlg_zmq_check(endpoint, bind, err);
  if (status) {
    return status;
  }
  if (!tlg_zmq_acquire()) {
    return tlg_zmq_failed(err, "ZeroMQ cannot be started");
  }
  s->socket = zmq_socket(context, cfg->type);
  if (!s->socket) {
    status = tlg_zmq_failed(err, "a ZeroMQ socket cannot be made");
    tlg_zmq_release();
    return status;
  }
  set(s->socket, ZMQ_LINGER, 0);
  set(s->socket, ZMQ_SNDHWM, cfg->hwm);
  set(s->socket, ZMQ_RCVHWM, cfg->hwm);
  set(s->socket, ZMQ_HANDSHAKE_IVL, 5000);
  set(s->socket, ZMQ_RECONNECT_IVL, 20);
  set(s->socket, ZMQ_RECONNECT_IVL_MAX, 200);
  zmq_setsockopt(s->socket, ZMQ_MAXMSGSIZE, &cfg->most_bytes, sizeof cfg->most_bytes);
  if (cfg->type == ZMQ_REQ) { /* a peer that went away with a request may come back */
    set(s->socket, ZMQ_REQ_RELAXED, 1);
    set(s->socket, ZMQ_REQ_CORRELATE, 1);
  }
  if (cfg->type == ZMQ_ROUTER) { /* a peer that has gone shows as EHOSTUNREACH; one that is back is itself again */
    set(s->socket, ZMQ_ROUTER_MANDATORY, 1);
    set(s->socket, ZMQ_ROUTER_HANDOVER, 1);
  }
  if (cfg->type == ZMQ_SUB) {
    zmq_setsockopt(s->socket, ZMQ_SUBSCRIBE, "", 0);
  }
  if (cfg->type == ZMQ_XPUB) {
    set(s->socket, ZMQ_XPUB_VERBOSER, 1);
    set(s->socket, ZMQ_XPUB_NODROP, 1); /* a slow subscriber shows as EAGAIN, not as a silent loss */
  }
  if (strncmp(endpoint, "inproc://", 9) != 0) {
    open_monitor(s);
  }
  if ((bind ? zmq_bind : zmq_connect)(s->socket, endpoint) != 0) {
    const int number = zmq_errno();

    status = tlg_error_set(err, number == EINVAL || number == EPROTONOSUPPORT ? TLG_EINVAL : TLG_ESYS,
                           "%s cannot be %s: %s", endpoint, bind ? "bound" : "connected", zmq_strerror(number));
    tlg_zmq_close(s, 0);
    return status;
  }
  s->bound = bind;
  if (!bind || zmq_getsockopt(s->socket, ZMQ_LAST_ENDPOINT, s->endpoint, &size) != 0) {
    snprintf(s->endpoint, sizeof s->endpoint, "%s", endpoint);
  }
  return TLG_OK;
}

static void close_sockets(struct tlg_zmq_socket *s, int linger_ms)
{
  set(s->socket, ZMQ_LINGER, linger_ms);
  zmq_socket_monitor(s->socket, NULL, 0);
  if (s->monitor) {
    zmq_close(s->monitor);
  }
  zmq_close(s->socket);
  if (s->bound && strncmp(s->endpoint, "ipc://", 6) == 0 && s->endpoint[6] != '@') {
    unlink(s->endpoint + 6); /* libzmq leaves it; connections that are open do not need it */
  }
  s->socket = s->monitor = NULL;
}

void tlg_zmq_close(struct tlg_zmq_socket *s, int linger_ms)
{
  if (s->socket) {
    close_sockets(s, linger_ms);
    tlg_zmq_release();
  }
}

/* ---- an end that loses nothing --------------------------------------------------------------------------------- */

/* A connection of libzmq's, and our own hold on it. */
struct held {
  int theirs, ours;
};

static size_t hold(const struct tlg_zmq_socket *s, struct held *held, size_t cap)
{
  size_t n = 0;
  int fd;

  for (fd = 0; fd < TLG_ZMQ_FDS && n < cap; fd++) {
    if (s->connected[fd / 8] & 1u << fd % 8) {
      held[n] = (struct held){.theirs = fd, .ours = fcntl(fd, F_DUPFD_CLOEXEC, 0)};
      n += held[n].ours >= 0;
    }
  }
  return n;
}

/* libzmq has written all of it and closed its end, and the other side has read it: over tcp, its system. */
static int is_delivered(const struct held *h)
{
  struct stat theirs, ours;
  int waiting = 0;

  if (fstat(h->ours, &ours) != 0 || !S_ISSOCK(ours.st_mode)) {
    return 1; /* it had gone before, and its number is another file's now */
  }
  if (fstat(h->theirs, &theirs) == 0 && theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino) {
    return 0;
  }
  return ioctl(h->ours, SIOCOUTQ, &waiting) != 0 || !waiting;
}

/* The end of a context, in a thread of its own, which may be left to itself. */
struct ending {
  void *context;
  _Atomic int done, users;
};

static void drop_ending(struct ending *e)
{
  if (atomic_fetch_sub(&e->users, 1) == 1) {
    free(e);
  }
}

static void *end_context(void *argument)
{
  struct ending *e = argument;

  terminate(e->context);
  atomic_store(&e->done, 1);
  drop_ending(e);
  return NULL;
}

/* NULL: it has ended. */
static struct ending *begin_ending(void *last)
{
  struct ending *e = last ? calloc(1, sizeof *e) : NULL;
  pthread_t thread;

  if (e) {
    e->context = last;
    e->users = 2;
    if (pthread_create(&thread, NULL, end_context, e) == 0) {
      pthread_detach(thread);
      return e;
    }
    free(e);
  }
  terminate(last);
  return NULL;
}

void tlg_zmq_finish(struct tlg_zmq_socket *s, int linger_ms, int (*give_up)(void *context), void *give_up_context)
{
  enum { MOST = 64, STEP_MS = 5 };
  const struct timespec step = {.tv_nsec = STEP_MS * 1000000};
  struct held held[MOST];
  struct ending *e;
  size_t n, i;
  int ms;

  if (!s->socket) {
    return;
  }
  tlg_zmq_look(s);
  n = hold(s, held, MOST);
  close_sockets(s, linger_ms);
  e = begin_ending(leave());
  for (ms = 0;; ms += STEP_MS) {
    for (i = 0; i < n && is_delivered(&held[i]); i++) {
    }
    if ((i == n && !(e && !atomic_load(&e->done))) || ms >= linger_ms || give_up(give_up_context)) {
      break;
    }
    nanosleep(&step, NULL);
  }
  for (i = 0; i < n; i++) {
    close(held[i].ours);
  }
  if (e) {
    drop_ending(e);
  }
}

int tlg_zmq_look(struct tlg_zmq_socket *s)
{
  int any = 0;

  while (s->monitor) {
    unsigned char event[6];
    char address[256];
    uint16_t what;
    int32_t fd;

    if (zmq_recv(s->monitor, event, sizeof event, ZMQ_DONTWAIT) != (int)sizeof event) {
      break;
    }
    zmq_recv(s->monitor, address, sizeof address, ZMQ_DONTWAIT); /* always the second part */
    memcpy(&what, event, sizeof what);
    memcpy(&fd, event + 2, sizeof fd);
    any = 1;
    if (fd < 0 || fd >= TLG_ZMQ_FDS) {
      continue;
    }
    if (what != ZMQ_EVENT_DISCONNECTED && !(s->connected[fd / 8] & 1u << fd % 8)) {
      s->connected[fd / 8] |= (unsigned char)(1u << fd % 8);
      s->peers++;
    } else if (what == ZMQ_EVENT_DISCONNECTED && s->connected[fd / 8] & 1u << fd % 8) {
      s->connected[fd / 8] &= (unsigned char)~(1u << fd % 8);
      s->peers--;
    }
  }
  return any;
}

int tlg_zmq_wait(struct tlg_zmq_socket *s, int events, long ms)
{
  zmq_pollitem_t items[2] = {{.socket = s->socket, .events = (short)events},
                             {.socket = s->monitor, .events = ZMQ_POLLIN}};

  if (zmq_poll(items, s->monitor ? 2 : 1, ms) < 0) {
    return 0; /* a signal */
  }
  if (s->monitor && items[1].revents) {
    tlg_zmq_look(s);
  }
  return items[0].revents;
}
