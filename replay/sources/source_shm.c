/* SPDX-License-Identifier: Apache-2.0 */
/* The source shm: the ring that a sink shm fills, here or in another process. */
#include "reader.h"
#include "shm_ring.h"
#include "source_stream.h"
#include "wire.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MOST_CHUNK = 65536 }; /* samples of a slot, as our own writers have them */

struct shm_source {
  struct tlg_live base;
  struct tlg_shm *shm;
  struct tlg_live_cfg cfg;
  _Atomic int stopping;
  uint64_t offset; /* the writer's number of our sample 0 */
  uint64_t end;
  int begun, ended; /* ended: while it is opened, that something strange stands there was told */
  struct tlg_convert_counts counts;
};

static void publish(struct shm_source *s)
{
  const enum tlg_live_count which[] = {TLG_LIVE_PACKETS, TLG_LIVE_SAMPLES, TLG_LIVE_LOST_PACKETS, TLG_LIVE_LOST_SAMPLES,
                                       TLG_LIVE_LOSSES};
  struct tlg_shm_counts c;
  size_t i;

  tlg_shm_get_counts(s->shm, &c);
  for (i = 0; i < sizeof which / sizeof *which; i++) {
    const uint64_t all[] = {c.slots, c.samples, c.lost_slots, c.lost_samples, c.laps};

    atomic_store_explicit(&s->base.counts[which[i]], all[i], memory_order_relaxed);
  }
}

static int shm_read(struct tlg_live *live, tlg_cs16 *buf, size_t n, size_t *got, uint64_t *first, struct tlg_error *err)
{
  struct shm_source *s = (struct shm_source *)live;
  uint64_t at = s->end + s->offset;
  int status = TLG_OK;

  *got = 0;
  if (!s->ended && !atomic_load_explicit(&s->stopping, memory_order_relaxed)) {
    status = tlg_shm_read(s->shm, buf, n, got, &at, TLG_LIVE_WAIT_MS, err);
    if (status == TLG_EPIPE) { /* all that came has been read */
      if (s->cfg.hint) {
        s->cfg.hint(s->cfg.context, "the writer died without an end");
      }
      status = TLG_OK;
      at = s->end + s->offset;
    }
    s->ended = !status && !*got;
    publish(s);
  }
  if (status) {
    return status;
  }
  if (*got && !s->begun) { /* what was lost before, if anything, is known by number only from the writer's start on */
    s->begun = 1;
    s->offset = tlg_live_count(live, TLG_LIVE_LOST_SAMPLES) ? 0 : at;
  }
  if (*got && s->cfg.swap_iq) {
    size_t i;

    for (i = 0; i < *got; i++) {
      const int16_t re = buf[i].i;

      buf[i].i = buf[i].q;
      buf[i].q = re;
    }
  }
  *first = at > s->offset ? at - s->offset : 0;
  s->end = *first + *got;
  return TLG_OK;
}

static void shm_stop(struct tlg_live *live)
{
  atomic_store_explicit(&((struct shm_source *)live)->stopping, 1, memory_order_relaxed);
}

static void shm_close(struct tlg_live *live)
{
  tlg_shm_close(((struct shm_source *)live)->shm);
}

/* Until there is a writer. Where it waits for a reader, be that one, unless there is one already. */
static int wait_for_writer(struct shm_source *s, const char *name, unsigned flags, const volatile int *cancel,
                           struct tlg_error *err)
{
  const struct timespec pause = {.tv_nsec = TLG_LIVE_WAIT_MS * 1000000};
  char text[240];
  int status;

  snprintf(text, sizeof text, "waiting for shm:%s", name);
  if (s->cfg.hint) {
    s->cfg.hint(s->cfg.context, text);
  }
  for (;;) {
    status = tlg_shm_open(&s->shm, name, flags, err);
    if (!status && tlg_shm_header(s->shm)->blocks) {
      struct tlg_shm *waited_for;

      if (tlg_shm_open(&waited_for, name, flags | TLG_SHM_WAIT_FOR_ME, NULL) == TLG_OK) {
        tlg_shm_close(s->shm);
        s->shm = waited_for;
      }
    }
    if (status != TLG_ESYS && status != TLG_EFORMAT) {
      return status;
    }
    if (status == TLG_EFORMAT && s->cfg.hint && !s->ended) { /* it may be about to be made */
      s->ended = 1;
      s->cfg.hint(s->cfg.context, err ? err->text : "what is there is no ring");
    }
    if (cancel && __atomic_load_n(cancel, __ATOMIC_RELAXED)) {
      return tlg_error_set(err, TLG_EINTR, "stopped while waiting for a writer");
    }
    nanosleep(&pause, NULL);
  }
}

int tlg_live_open_shm(struct tlg_live **live, const struct tlg_endpoint *e, const struct tlg_live_cfg *cfg,
                      const volatile int *cancel, struct tlg_error *err)
{
  static const struct tlg_live_ops ops = {.read = shm_read, .stop = shm_stop, .close = shm_close};
  static const char *const known[] = {"start", NULL};
  static const char *const starts[] = {"oldest", "newest", NULL};
  struct shm_source *s = calloc(1, sizeof *s);
  const struct tlg_shm_header *h;
  struct tlg_rate stated;
  uint32_t chunk;
  struct tlg_error unused;
  char path[256];
  int start = 0, status;

  if (!s) {
    return tlg_error_set(err, TLG_ENOMEM, "out of memory");
  }
  s->base.ops = &ops;
  s->cfg = *cfg;
  if ((status = tlg_endpoint_check_keys(e, known, err)) ||
      (status = tlg_endpoint_word(e, "start", starts, &start, err)) || (status = tlg_shm_path(path, e->rest, err)) ||
      (status = wait_for_writer(s, e->rest, start ? TLG_SHM_NEWEST : 0, cancel, err ? err : &unused))) {
    free(s);
    return status;
  }
  s->ended = 0;
  h = tlg_shm_header(s->shm);
  stated = (struct tlg_rate){h->rate_num, h->rate_den}; /* once: whoever may write there can change it */
  if (tlg_rate_make(&stated, stated.num, stated.den) == TLG_OK && tlg_wire_rate_is_possible(&stated)) {
    s->base.info.rate = stated;
  }
  if (cfg->rate.num) {
    s->base.info.rate = cfg->rate;
  }
  s->base.info.format = TLG_FORMAT_CS16;
  s->base.info.frequency_hz = NAN;
  if (h->start_ns != TLG_SHM_NO_TIME && start == 0) {
    const int64_t seconds = h->start_ns / 1000000000 - (h->start_ns % 1000000000 < 0);
    const struct tlg_datetime t = {.seconds = seconds,
                                   .picoseconds = (uint64_t)(h->start_ns - seconds * 1000000000) * 1000};

    if (__atomic_load_n(&h->claimed, __ATOMIC_ACQUIRE) <= h->slots) { /* else its start has been overwritten */
      tlg_datetime_text(&t, 0, s->base.info.datetime);
    }
  }
  chunk = h->slot_samples;
  s->base.info.chunk = chunk < MOST_CHUNK ? chunk : MOST_CHUNK;
  *live = &s->base;
  return TLG_OK;
}
