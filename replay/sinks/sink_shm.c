/* SPDX-License-Identifier: Apache-2.0 */
/* The sink shm: a ring in shared memory that other processes read in place (tlg_shm.h). */
#include "pace.h"
#include "shm_ring.h"
#include "sink.h"
#include "wire.h"

#include <stdlib.h>
#include <string.h>

struct shm_sink {
  struct tlg_sink base;
  struct tlg_shm_writer *writer;
  struct tlg_own own;
  uint32_t slot_samples;
  uint64_t next;
  int had_reader;
};

static void look_for_reader(struct shm_sink *s)
{
  const int has = s->base.block && tlg_shm_writer_has_reader(s->writer);

  tlg_sink_add(&s->base, TLG_SINK_PEERS, has && !s->had_reader);
  s->had_reader = has;
}

/* A slot; waits for the reader with block=1. NULL: it must end. */
static struct tlg_shm_slot *slot_for(struct shm_sink *s)
{
  struct tlg_shm_slot *slot = tlg_shm_writer_slot(s->writer, 0);
  uint64_t from_ns;

  if (slot) {
    return slot;
  }
  from_ns = tlg_clock_monotonic.now_ns(NULL);
  while (!slot && !tlg_sink_stopping(&s->base)) {
    slot = tlg_shm_writer_slot(s->writer, TLG_SINK_WAIT_MS);
    look_for_reader(s);
  }
  tlg_sink_stalled(&s->base, from_ns);
  return slot;
}

static int shm_write(struct tlg_sink *sink, const struct tlg_sink_block *block, struct tlg_error *err)
{
  struct shm_sink *s = (struct shm_sink *)sink;
  const tlg_cs16 *samples = block->samples;
  size_t left = block->n;

  (void)err;
  tlg_own_follow(&s->own, &s->next, block);
  while (left) {
    const size_t n = left < s->slot_samples ? left : s->slot_samples;
    struct tlg_shm_slot *slot = slot_for(s);

    if (!slot) {
      tlg_sink_add(sink, TLG_SINK_DROPPED, left);
      s->next += left;
      s->own.left_out += left;
      return TLG_OK;
    }
    slot->first = s->next;
    slot->left_out = s->own.left_out;
    slot->time_ps = s->own.rate.num ? tlg_instant_ps(s->next, &s->own.rate) : 0;
    slot->frequency_hz = s->own.frequency_hz;
    slot->n = (uint32_t)n;
    memset(slot->unused, 0, sizeof slot->unused);
    memcpy(tlg_shm_samples(slot), samples, n * sizeof *samples);
    tlg_shm_writer_publish(s->writer);
    tlg_sink_add(sink, TLG_SINK_MESSAGES, 1);
    s->next += n;
    samples += n;
    left -= n;
  }
  return TLG_OK;
}

static int shm_idle(struct tlg_sink *sink, struct tlg_error *err)
{
  (void)err;
  look_for_reader((struct shm_sink *)sink);
  return TLG_OK;
}

static void shm_abort(struct tlg_sink *sink)
{
  struct shm_sink *s = (struct shm_sink *)sink;

  tlg_shm_writer_close(s->writer, s->next, s->own.left_out);
}

static int shm_close(struct tlg_sink *sink, struct tlg_error *err)
{
  struct shm_sink *s = (struct shm_sink *)sink;

  (void)err;
  if (s->base.block) { /* room for the end's slot */
    slot_for(s);
  }
  shm_abort(sink);
  return TLG_OK;
}

int tlg_sink_open_shm(struct tlg_sink **sink, const struct tlg_endpoint *e, const struct tlg_sink_cfg *cfg,
                      struct tlg_error *err)
{
  static const struct tlg_sink_ops ops = {.write = shm_write, .close = shm_close, .abort = shm_abort, .idle = shm_idle};
  static const char *const known[] = {"slots", "slot", NULL};
  struct shm_sink *s = calloc(1, sizeof *s);
  struct tlg_shm_writer_cfg w = {.blocks = e->block};
  uint64_t slots = 4096, slot = 1024;
  char path[256];
  int status;

  if (!s) {
    return tlg_error_set(err, TLG_ENOMEM, "out of memory");
  }
  s->base.ops = &ops;
  s->base.block = e->block;
  tlg_own_start(&s->own, cfg);
  if ((status = tlg_endpoint_check_keys(e, known, err)) ||
      (status = tlg_endpoint_whole(e, "slots", 4, 65536, &slots, err)) ||
      (status = tlg_endpoint_whole(e, "slot", 16, 65536, &slot, err)) || (status = tlg_shm_path(path, e->rest, err)) ||
      cfg->only_check) {
    free(s);
    return status;
  }
  w.slots = (uint32_t)slots;
  w.slot_samples = s->slot_samples = (uint32_t)slot;
  w.stream = s->own.stream;
  w.rate = cfg->rate;
  w.start_ns = s->own.start_ns;
  status = tlg_shm_writer_new(&s->writer, e->rest, &w, err);
  if (status) {
    free(s);
    return status;
  }
  *sink = &s->base;
  return TLG_OK;
}
