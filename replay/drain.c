/* SPDX-License-Identifier: Apache-2.0 */
/* Taking what a live source gives, and throwing it away: a PHY whose transmit port nobody reads stops receiving too. */
#include "tlg_replay.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct tlg_drain {
  struct tlg_source source;
  pthread_t thread;
  _Atomic int stop;
  int status;
  struct tlg_error error;
};

static void *drain_main(void *context)
{
  enum { ROOM = 1 << 16 };
  struct tlg_drain *d = context;
  tlg_cs16 *buf = malloc(ROOM * sizeof *buf);
  size_t got = 1;
  uint64_t first;

  d->status = buf ? TLG_OK : tlg_error_set(&d->error, TLG_ENOMEM, "out of memory");
  while (!d->status && got && !atomic_load(&d->stop)) {
    d->status = d->source.read(d->source.context, buf, ROOM, &got, &first, &d->error);
    if (d->status == TLG_EINTR) {
      d->status = TLG_OK;
      got = 1;
    }
  }
  free(buf);
  return NULL;
}

int tlg_drain_new(struct tlg_drain **drain, const struct tlg_source *source, struct tlg_error *err)
{
  struct tlg_drain *d;
  sigset_t all, old;
  int cause;

  if (!drain || !source || !source->live) {
    return tlg_error_set(err, TLG_EINVAL, "only a live source can be drained");
  }
  *drain = NULL;
  d = calloc(1, sizeof *d);
  if (!d) {
    return tlg_error_set(err, TLG_ENOMEM, "out of memory");
  }
  d->source = *source;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  cause = pthread_create(&d->thread, NULL, drain_main, d);
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  if (cause) {
    free(d);
    return tlg_error_set(err, TLG_ESYS, "a thread cannot be started: %s", strerror(cause));
  }
  *drain = d;
  return TLG_OK;
}

int tlg_drain_end(struct tlg_drain *d, struct tlg_error *err)
{
  int status = TLG_OK;

  if (d) {
    atomic_store(&d->stop, 1);
    pthread_join(d->thread, NULL);
    status = d->status;
    if (status && err) {
      *err = d->error;
    }
    free(d);
  }
  return status;
}
