/* SPDX-License-Identifier: Apache-2.0 */
/* What sinks of packets share. */
#include "pace.h"
#include "reader.h"
#include "sink.h"
#include "wire.h"

#include <math.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

void tlg_own_start(struct tlg_own *own, const struct tlg_sink_cfg *cfg)
{
  struct tlg_datetime t;
  struct timespec now;

  if (getrandom(&own->stream, sizeof own->stream, GRND_NONBLOCK) != sizeof own->stream) {
    clock_gettime(CLOCK_REALTIME, &now);
    own->stream = (uint32_t)now.tv_nsec ^ (uint32_t)getpid() << 16;
  }
  own->rate = cfg->rate;
  own->frequency_hz = cfg->frequency_hz > 0 || cfg->frequency_hz < 0 ? cfg->frequency_hz : NAN;
  own->start_ns = TLG_OWN_NO_TIME;
  if (cfg->datetime && *cfg->datetime && tlg_datetime_parse(cfg->datetime, &t) == TLG_OK && t.seconds > -9000000000 &&
      t.seconds < 9000000000) {
    own->start_ns = t.seconds * 1000000000 + (int64_t)(t.picoseconds / 1000);
  }
}

void tlg_own_follow(struct tlg_own *own, uint64_t *next, const struct tlg_sink_block *block)
{
  *next += block->gap;
  own->left_out += block->gap;
  if (block->frequency_hz) {
    own->frequency_hz = *block->frequency_hz;
  }
}

void tlg_sink_stalled(struct tlg_sink *sink, uint64_t from_ns)
{
  tlg_sink_add(sink, TLG_SINK_STALLS, 1);
  tlg_sink_add(sink, TLG_SINK_STALLED_US, (tlg_clock_monotonic.now_ns(NULL) - from_ns) / 1000);
}
