/* SPDX-License-Identifier: Apache-2.0 */
/* What a run of the pipeline came to: accounts, summaries, traces. */
#include "pipeline.h"

#include <math.h>
#include <string.h>

typedef unsigned __int128 u128;

/* max(0, floor((n * L - 1 - q0) / M) + 1) */
static uint64_t outputs_after(const struct tlg_pipeline *p, uint64_t n)
{
  const u128 have = (u128)n * p->up;

  return have > p->q0 ? (uint64_t)((have - 1 - p->q0) / p->down + 1) : 0;
}

static void balance(struct tlg_pipeline *p)
{
  struct tlg_accounts *a = &p->result.accounts;

  a->inputs = p->stream_end;
  a->dropped = p->dropped_receive + p->dropped_resample;
  a->packets_dropped = a->overruns_receive + a->overruns_resample;
  a->end_position = outputs_after(p, a->inputs - a->closed);
  a->balanced = a->inputs == a->processed + a->dropped + a->missing && a->outputs == a->end_position - a->left_out &&
                a->packets == a->packets_delivered + a->packets_dropped + a->packets_unfinished &&
                a->outputs == p->resample_outputs && p->position_in == a->inputs - a->closed &&
                p->position_out == a->end_position;
  if (p->model) { /* what was asked to be lost is no loss of the model's */
    const struct tlg_sim_result *r = tlg_pipeline_model(p);

    a->balanced &= r->sent == a->packets && r->dropped <= a->packets_dropped &&
                   a->packets_dropped - r->dropped <= p->cfg.n_drops && r->unfinished >= a->packets_unfinished &&
                   r->little_holds;
  }
}

static void summarise_queue(struct tlg_queue_result *q, const struct tlg_ring *ring)
{
  struct tlg_ring_stats stats;

  tlg_ring_get_stats(ring, &stats);
  q->depth = stats.depth;
  q->high_water = stats.high_water;
  q->sleeps = stats.consumer_sleeps;
}

static uint64_t spun_ns(const struct tlg_pipeline *p, uint64_t looks)
{
  return p->calibration ? looks * 100000 / p->calibration : 0;
}

void tlg_pipeline_summarise(struct tlg_pipeline *p)
{
  struct tlg_pipeline_result *r = &p->result;
  struct tlg_ring_stats in, out;
  int s;

  balance(p);
  r->duration_ps = tlg_pace_instant_ps(&p->pace, p->stream_end);
  r->wall_ns = p->wall_ns;
  tlg_delays_summarise(p->release, &r->release);
  tlg_delays_summarise(p->packet, &r->packet);
  tlg_delays_summarise(p->wait_resample, &r->wait_resample);
  tlg_delays_summarise(p->wait_deliver, &r->wait_deliver);
  tlg_delays_summarise(p->service_resample, &r->service_resample);
  tlg_delays_summarise(p->service_deliver, &r->service_deliver);
  if (p->framer) {
    r->has_framer = 1;
    tlg_framer_get(p->framer, &r->framer);
  }
  r->arrived_hz = p->live_clock.last_ps > p->live_clock.first_ps
                      ? (double)(p->live_clock.last - p->live_clock.first) * 1e12 /
                            (double)(p->live_clock.last_ps - p->live_clock.first_ps)
                      : NAN;
  r->slope_ppm = tlg_slope_get(&p->slope) * 1e-3; /* ns a second */
  r->floor_slope_ppm = tlg_slope_get(&p->floor_slope.slope) * 1e-3;
  r->sleeps = p->pace.sleeps;
  summarise_queue(&r->queue_resample, p->to_resample);
  summarise_queue(&r->queue_deliver, p->to_deliver);
  tlg_ring_get_stats(p->to_resample, &in);
  tlg_ring_get_stats(p->to_deliver, &out);
  r->stages[TLG_STAGE_RECEIVE].spin_ns = (uint64_t)((double)p->pace.spins * p->look_ns) + spun_ns(p, in.producer_spins);
  r->stages[TLG_STAGE_RESAMPLE].spin_ns = spun_ns(p, in.consumer_spins + out.producer_spins);
  r->stages[TLG_STAGE_DELIVER].spin_ns = spun_ns(p, out.consumer_spins);
  for (s = 0; s < TLG_STAGES; s++) { /* looks may have been faster than when they were measured */
    if (r->stages[s].spin_ns > r->stages[s].cpu_ns) {
      r->stages[s].spin_ns = r->stages[s].cpu_ns;
    }
  }
}

const struct tlg_pipeline_result *tlg_pipeline_result(const struct tlg_pipeline *p)
{
  return &p->result;
}

uint64_t tlg_pipeline_sink_count(const struct tlg_pipeline *p, size_t i, struct tlg_convert_counts *counts,
                                 int *marks_gaps)
{
  if (counts) {
    *counts = p->ends[i].conversions;
  }
  if (marks_gaps) {
    *marks_gaps = p->ends[i].marks_gaps;
  }
  return p->ends[i].count;
}

uint64_t tlg_pipeline_sink_counter(const struct tlg_pipeline *p, size_t i, enum tlg_sink_counter which)
{
  if ((unsigned)which >= TLG_SINK_COUNTERS) {
    return 0;
  }
  return p->sinks[i] ? tlg_sink_counter(p->sinks[i], which) : p->ends[i].counters[which];
}

void tlg_pipeline_sink_say(const struct tlg_pipeline *p, size_t i, char *text, size_t size)
{
  if (p->sinks[i]) {
    tlg_sink_say(p->sinks[i], text, size);
  } else if (size) {
    strncpy(text, p->ends[i].text, size - 1);
    text[size - 1] = '\0';
  }
}

int tlg_pipeline_sink_is_live(const struct tlg_pipeline *p, size_t i)
{
  return p->sinks[i] ? tlg_sink_is_live(p->sinks[i]) : p->ends[i].live;
}

enum tlg_cpu tlg_pipeline_cpu(const struct tlg_pipeline *p)
{
  return tlg_resamp_cpu(p->resamp);
}

void tlg_pipeline_delay(const struct tlg_pipeline *p, struct tlg_rate *outputs)
{
  tlg_resamp_delay(p->resamp, outputs);
}

const struct tlg_delays *tlg_pipeline_delays(const struct tlg_pipeline *p, int which)
{
  const struct tlg_delays *const all[] = {p->release,
                                          p->packet,
                                          p->wait_resample,
                                          p->wait_deliver,
                                          p->service_resample,
                                          p->service_deliver,
                                          p->framer ? tlg_framer_delays(p->framer) : NULL};

  return which >= 0 && which < (int)(sizeof all / sizeof *all) ? all[which] : NULL;
}

uint64_t tlg_pipeline_trace_count(const struct tlg_pipeline *p)
{
  return p->trace_total < p->cfg.trace_packets ? p->trace_total : p->cfg.trace_packets;
}

const struct tlg_trace_record *tlg_pipeline_trace_record(const struct tlg_pipeline *p, uint64_t i)
{
  const uint64_t kept = tlg_pipeline_trace_count(p);

  return i < kept ? &p->trace[(p->trace_total - kept + i) % p->cfg.trace_packets] : NULL;
}

void tlg_pipeline_trace_info(const struct tlg_pipeline *p, struct tlg_trace_info *info)
{
  memset(info, 0, sizeof *info);
  info->rate_in = p->cfg.rate_in;
  info->rate_out = p->cfg.rate_out;
  info->speed = p->cfg.speed;
  info->up = p->up;
  info->down = p->down;
  info->q0 = p->q0;
  info->subframe_length = p->framer_cfg.length;
  info->subframe_offset = p->framer ? p->framer_cfg.offset : 0;
  info->deadline_ps = p->cfg.deadline_ps;
  info->n_packets = p->result.accounts.packets;
  info->n_dropped = p->result.accounts.packets_dropped;
  info->n_records = tlg_pipeline_trace_count(p);
  info->queue = p->model ? 0 : (uint32_t)p->cfg.queue;
  info->taps = p->taps;
  info->shift = p->shift;
  info->flags = (p->is_virtual ? TLG_TRACE_VIRTUAL : 0) | (p->block && !p->model ? TLG_TRACE_BLOCK : 0) |
                (p->model ? TLG_TRACE_MODEL : 0) |
                (p->result.air == TLG_AIR_ARRIVAL ? TLG_TRACE_ARRIVAL
                 : p->live                        ? TLG_TRACE_LIVE
                                                  : 0);
}

int tlg_pipeline_trace_put(const struct tlg_pipeline *p, struct tlg_outfile *f, struct tlg_error *err)
{
  unsigned char header[TLG_TRACE_HEADER_BYTES], record[TLG_TRACE_RECORD_BYTES];
  struct tlg_trace_info info;
  uint64_t i;
  int status;

  tlg_pipeline_trace_info(p, &info);
  tlg_trace_encode_header(header, &info);
  status = tlg_outfile_write(f, header, sizeof header, err);
  for (i = 0; i < info.n_records && !status; i++) {
    tlg_trace_encode_record(record, tlg_pipeline_trace_record(p, i));
    status = tlg_outfile_write(f, record, sizeof record, err);
  }
  if (status) {
    tlg_outfile_abort(f);
    return status;
  }
  return tlg_outfile_close(f, err);
}

int tlg_pipeline_trace_write(const struct tlg_pipeline *p, const char *path, int force, struct tlg_error *err)
{
  struct tlg_outfile *f;
  const int status = tlg_outfile_open(&f, path, force, err);

  return status ? status : tlg_pipeline_trace_put(p, f, err);
}
