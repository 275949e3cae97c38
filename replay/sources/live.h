/* SPDX-License-Identifier: Apache-2.0 */
/* What a kind of live source provides. */
#ifndef TLG_LIVE_H
#define TLG_LIVE_H

#include "endpoint.h"
#include "tlg_replay.h"

#include <stdatomic.h>

enum { TLG_LIVE_WAIT_MS = 50 /* the longest wait inside read: a stop is seen within it */ };

/* A source's own state begins with this. */
struct tlg_live_ops;
struct tlg_live {
  const struct tlg_live_ops *ops;
  char *name;
  struct tlg_live_info info; /* filled in by the source's open function */
  _Atomic uint64_t counts[TLG_LIVE_COUNTS];
};

/* As struct tlg_source has them; *first = number of buf[0] since the start of the stream, larger than the end of the
 * read before by what was lost. read, stop and close are called from one thread at a time. */
struct tlg_live_ops {
  int (*read)(struct tlg_live *live, tlg_cs16 *buf, size_t n, size_t *got, uint64_t *first, struct tlg_error *err);
  void (*stop)(struct tlg_live *live);  /* NULL = read ends at once */
  void (*close)(struct tlg_live *live); /* gives back what it holds, not live itself */
};

/* Opens a source of a scheme. On success *live is a heap object with ops and info set (but for info.name). */
typedef int tlg_live_open_fn(struct tlg_live **live, const struct tlg_endpoint *e, const struct tlg_live_cfg *cfg,
                             const volatile int *cancel, struct tlg_error *err);
tlg_live_open_fn tlg_live_open_udp;
tlg_live_open_fn tlg_live_open_unix;
tlg_live_open_fn tlg_live_open_shm;

tlg_live_open_fn tlg_live_open_uhd;

tlg_live_open_fn tlg_live_open_zmq;
tlg_live_open_fn tlg_live_open_srsran;

/* Count something; from the source's own thread. */
static inline void tlg_live_add(struct tlg_live *live, enum tlg_live_count which, uint64_t n)
{
  atomic_fetch_add_explicit(&live->counts[which], n, memory_order_relaxed);
}

#endif
