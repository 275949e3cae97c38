/* SPDX-License-Identifier: Apache-2.0 */
/* What sources of packets share. */
#include "source_stream.h"

#include "pace.h"
#include "reader.h"

#include <math.h>

int tlg_source_intake(struct tlg_intake **in, const struct tlg_live_cfg *cfg, size_t slot_bytes, struct tlg_error *err)
{
  const struct tlg_intake_cfg intake = {.form = TLG_INTAKE_OWN,
                                        .needs_rate = 1,
                                        .rate = cfg->rate,
                                        .full_scale = cfg->full_scale,
                                        .swap_iq = cfg->swap_iq,
                                        .slot_bytes = slot_bytes,
                                        .hint = cfg->hint,
                                        .context = cfg->context};

  return tlg_intake_new(in, &intake) == TLG_OK ? TLG_OK : tlg_error_set(err, TLG_ENOMEM, "out of memory");
}

int tlg_source_format(enum tlg_format *format, const struct tlg_endpoint *e, const struct tlg_live_cfg *cfg, int raw,
                      struct tlg_error *err)
{
  int status;

  *format = cfg->format ? cfg->format : TLG_FORMAT_CS16;
  status = tlg_endpoint_format(e, format, err);
  if (!status && !raw && tlg_endpoint_value(e, "format")) {
    status = tlg_error_set(err, TLG_EINVAL, "the messages tell the format; format= goes with raw=1");
  }
  return status;
}

void tlg_source_describe(struct tlg_live *live, const struct tlg_intake *in, const struct tlg_rate *rate,
                         enum tlg_format format)
{
  struct tlg_intake_stream stream;

  if (!in) {
    live->info.rate = *rate;
    live->info.format = format;
    live->info.frequency_hz = NAN;
    return;
  }
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
