/* SPDX-License-Identifier: Apache-2.0 */
/* Sources of samples: an open reader, or memory. */
#include "tlg_replay.h"

#include <string.h>

static int reader_read(void *context, tlg_cs16 *buf, size_t n, size_t *got, uint64_t *first, struct tlg_error *err)
{
  return tlg_reader_read(context, buf, n, got, first, err);
}

static int reader_rewind(void *context, struct tlg_error *err)
{
  return tlg_reader_rewind(context, err);
}

struct tlg_source tlg_source_reader(struct tlg_reader *reader)
{
  const struct tlg_source source = {.read = reader_read, .rewind = reader_rewind, .context = reader};

  return source;
}

static int memory_read(void *context, tlg_cs16 *buf, size_t n, size_t *got, uint64_t *first, struct tlg_error *err)
{
  struct tlg_memory_source *m = context;

  (void)err;
  *first = m->position;
  *got = m->n - m->position < n ? m->n - m->position : n;
  memcpy(buf, m->samples + m->position, *got * sizeof *buf);
  m->position += *got;
  return TLG_OK;
}

static int memory_rewind(void *context, struct tlg_error *err)
{
  (void)err;
  ((struct tlg_memory_source *)context)->position = 0;
  return TLG_OK;
}

struct tlg_source tlg_source_memory(struct tlg_memory_source *memory)
{
  const struct tlg_source source = {.read = memory_read, .rewind = memory_rewind, .context = memory};

  return source;
}
