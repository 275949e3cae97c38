/* SPDX-License-Identifier: Apache-2.0 */
/* What everything that speaks ZeroMQ shares: the context, endpoints, who is connected. */
#ifndef TLG_ZMQ_UTIL_H
#define TLG_ZMQ_UTIL_H

#include "endpoint.h"
#include "tlg_replay.h"

enum { TLG_ZMQ_FDS = 4096 };

/* An endpoint "tcp://HOST:PORT", "ipc://PATH", "inproc://NAME" or "unix path" is what stands behind the scheme. */
struct tlg_zmq_socket {
  void *socket;       /* NULL = closed */
  void *monitor;      /* NULL = none (inproc has no connections to speak of) */
  char endpoint[256]; /* as it was bound (a port of * is filled in) or connected */
  int bound;
  unsigned peers; /* connections open now, whoever they are */
  unsigned char connected[TLG_ZMQ_FDS / 8];
};

/* A socket of a type (ZMQ_REP ...) with the limits that no peer can make it grow: messages of at most most_bytes come
 * in, hwm messages wait in either direction. Binds or connects. TLG_EINVAL (endpoint), TLG_ESYS, TLG_ENOMEM; on failure
 * nothing is held. */
struct tlg_zmq_cfg {
  int type, bind;
  int hwm;            /* messages each way */
  int64_t most_bytes; /* of a message that comes in */
};
int tlg_zmq_open(struct tlg_zmq_socket *s, const char *endpoint, const struct tlg_zmq_cfg *cfg, struct tlg_error *err);
/* The endpoint alone: TLG_EINVAL; to bind an ipc path, TLG_EEXIST where something else stands, TLG_ESYS if its folder
 * takes no socket. */
int tlg_zmq_check(const char *endpoint, int bind, struct tlg_error *err);
/* What was sent and not yet taken may still be for linger_ms. */
void tlg_zmq_close(struct tlg_zmq_socket *s, int linger_ms);
/* The same, for streams that must be whole: waits at most linger_ms until what was sent is in the other sides' hands,
 * as far as can be known. give_up is asked every few ms whether to go on without, and what is left may be lost. An end
 * of a Unix socket that is closed is a hang-up for the other one, and there libzmq gives up at once, with all that it
 * has not read yet, if its reader is slow and its queue is full: so these are kept open until they have been read
 * empty. */
void tlg_zmq_finish(struct tlg_zmq_socket *s, int linger_ms, int (*give_up)(void *context), void *context);
/* Wait until the socket can be read (ZMQ_POLLIN) or written, or a peer came or left, at most ms. Returns the events of
 * the socket. */
int tlg_zmq_wait(struct tlg_zmq_socket *s, int events, long ms);
/* Take in who came and who left; returns whether anything did. */
int tlg_zmq_look(struct tlg_zmq_socket *s);
/* "WHAT: why" for the errno that libzmq left. */
int tlg_zmq_failed(struct tlg_error *err, const char *what);

#endif
