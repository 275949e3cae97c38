/* SPDX-License-Identifier: Apache-2.0 */
/* What sources of packets share. */
#include "source_stream.h"

#include "reader.h"

#include <time.h>

void tlg_source_describe(struct tlg_live *live, const struct tlg_intake *in)
{
  struct tlg_intake_stream stream;

  tlg_intake_get(in, &stream);
  live->info.rate = stream.rate;
  live->info.format = stream.layout.format ? stream.layout.format : TLG_FORMAT_CS16;
  live->info.frequency_hz = stream.frequency_hz;
  if (stream.has_time) {
    const struct tlg_datetime t = {.seconds = stream.seconds, .picoseconds = stream.picoseconds};

    tlg_datetime_text(&t, 0, live->info.datetime);
  }
}

void tlg_source_publish(struct tlg_live *live, const struct tlg_intake *in)
{
  const uint64_t *counts = tlg_intake_counts(in);
  int i;

  for (i = 0; i < TLG_LIVE_COUNTS; i++) {
    atomic_store_explicit(&live->counts[i], counts[i], memory_order_relaxed);
  }
}

int tlg_source_gather(struct tlg_intake *in, tlg_cs16 *buf, size_t n, size_t *got, uint64_t *first)
{
  size_t ready;
  uint64_t at;

  while ((ready = tlg_intake_ready(in, &at)) > 0) {
    const size_t m = ready < n - *got ? ready : n - *got;

    if (*got && at != *first + *got) {
      return 1;
    }
    *first = *got ? *first : at;
    tlg_intake_read(in, buf + *got, m);
    *got += m;
    if (*got == n) {
      return 1;
    }
  }
  return 0;
}

uint64_t tlg_source_now_ns(void)
{
  struct timespec t;

  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
