/* SPDX-License-Identifier: Apache-2.0 */
/* Setting up the pipeline: checks, policies, and all memory that it will ever use. */
#include "pipeline.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned __int128 u128;

enum {
  DEFAULT_PACKET = 625,
  MAX_PACKET = 1 << 22,
  DEFAULT_QUEUE = 4096,
  QUEUE_BYTES = 32 << 20, /* a queue's default depth is cut to this */
  DEFAULT_AHEAD = 8 << 20,
  LIVE_CHUNK = 1024, /* asked of a live source at once: of packets of 364, 119 ms at 25 Msps can wait */
  BATCH = 16,        /* packets after which sleeping sinks are woken, where a queue holds twice as many */
};

static int check_cfg(const struct tlg_pipeline_cfg *cfg, struct tlg_error *err)
{
  size_t i;

  if (!cfg->source.read || !cfg->source.rewind || !cfg->resamp || !cfg->resamp->taps) {
    return tlg_error_set(err, TLG_EINVAL, "a pipeline needs a source and a resampler");
  }
  if (!cfg->rate_in.num || !cfg->rate_in.den || !cfg->rate_out.num || !cfg->rate_out.den) {
    return tlg_error_set(err, TLG_EINVAL, "a pipeline needs its input and output rates");
  }
  if (cfg->source.live && (cfg->clock == TLG_CLOCK_VIRTUAL || cfg->loops != 1 || cfg->source.chunk > MAX_PACKET)) {
    return tlg_error_set(err, TLG_EINVAL,
                         "a live source plays once, in real time, and gives at most %d samples at once", MAX_PACKET);
  }
  for (i = 0; i < cfg->n_packets; i++) {
    if (!cfg->packets[i] || cfg->packets[i] > MAX_PACKET) {
      return tlg_error_set(err, TLG_EINVAL, "a packet of %u samples is outside 1..%d", (unsigned)cfg->packets[i],
                           MAX_PACKET);
    }
  }
  for (i = 1; i < cfg->n_drops; i++) {
    if (cfg->drops[i] <= cfg->drops[i - 1]) {
      return tlg_error_set(err, TLG_EINVAL, "the packets to drop must be named in rising order");
    }
  }
  for (i = 0; i < TLG_STAGES; i++) {
    if (cfg->cores[i] < 0 || cfg->cores[i] > CPU_SETSIZE) {
      return tlg_error_set(err, TLG_EINVAL, "core %d is outside 0..%d", cfg->cores[i] - 1, CPU_SETSIZE - 1);
    }
  }
  if (cfg->fifo && (cfg->fifo < sched_get_priority_min(SCHED_FIFO) || cfg->fifo > sched_get_priority_max(SCHED_FIFO))) {
    return tlg_error_set(err, TLG_EINVAL, "SCHED_FIFO priority %d is outside %d..%d", cfg->fifo,
                         sched_get_priority_min(SCHED_FIFO), sched_get_priority_max(SCHED_FIFO));
  }
  return cfg->scenario ? tlg_pipeline_model_check(cfg, err) : TLG_OK;
}

/* How much is read at once, and what a live source's time is. */
static void choose_source(struct tlg_pipeline *p)
{
  const struct tlg_source *source = &p->cfg.source;

  p->live = source->live;
  p->block_samples = !p->live ? TLG_PIPELINE_BLOCK : source->chunk ? (uint32_t)source->chunk : LIVE_CHUNK;
  if (p->cfg.unpaced && !p->live) {
    p->cfg.air = TLG_AIR_ARRIVAL;
  } else if (!p->live) {
    p->cfg.air = TLG_AIR_DEFAULT;
  } else if (p->cfg.air == TLG_AIR_DEFAULT) {
    p->cfg.air = source->clock ? TLG_AIR_CLOCK : TLG_AIR_ARRIVAL;
  }
  p->result.air = p->cfg.air;
}

/* What a scenario says is taken instead of what the configuration says. */
static void take_scenario(struct tlg_pipeline *p)
{
  const struct tlg_sim_scenario *s = p->cfg.scenario;

  if (s) {
    p->cfg.packets = s->sizes;
    p->cfg.n_packets = s->n_sizes;
  }
  if (s && s->has_phy) {
    p->cfg.offset = s->offset;
    p->cfg.deadline_ps = s->deadline_ps;
    p->framer_cfg.length = s->subframe;
  }
}

static int copy_lists(struct tlg_pipeline *p)
{
  const uint32_t default_packet = p->live ? p->block_samples : DEFAULT_PACKET;
  size_t i;

  if (!p->cfg.n_packets) {
    p->as_it_comes = p->live;
    p->cfg.packets = &default_packet;
    p->cfg.n_packets = 1;
  }
  p->packets = malloc(p->cfg.n_packets * sizeof *p->packets);
  p->drops = malloc((p->cfg.n_drops + 1) * sizeof *p->drops);
  if (!p->packets || !p->drops) {
    return TLG_ENOMEM;
  }
  memcpy(p->packets, p->cfg.packets, p->cfg.n_packets * sizeof *p->packets);
  if (p->cfg.n_drops) {
    memcpy(p->drops, p->cfg.drops, p->cfg.n_drops * sizeof *p->drops);
  }
  p->cfg.packets = p->packets;
  p->cfg.drops = p->drops;
  for (i = 0; i < p->cfg.n_packets; i++) {
    p->max_packet = p->packets[i] > p->max_packet ? p->packets[i] : p->max_packet;
  }
  return TLG_OK;
}

/* Whether two frequencies are the same; not stated twice is. */
static int same_frequency(double a, double b)
{
  return a == b || (a != a && b != b);
}

/* The captures at which the frequency changes; none if it never does. */
static int make_tunes(struct tlg_pipeline *p)
{
  const struct tlg_capture *c = p->cfg.captures;
  size_t i;

  if (!p->cfg.n_captures) {
    return TLG_OK;
  }
  p->tunes = malloc(p->cfg.n_captures * sizeof *p->tunes);
  if (!p->tunes) {
    return TLG_ENOMEM;
  }
  for (i = 0; i < p->cfg.n_captures; i++) {
    if (!i || !same_frequency(c[i].frequency_hz, c[i - 1].frequency_hz)) {
      p->tunes[p->n_tunes].first = i ? c[i].first : 0;
      p->tunes[p->n_tunes++].frequency_hz = c[i].frequency_hz;
    }
  }
  if (p->n_tunes == 1) {
    p->n_tunes = 0;
  }
  return TLG_OK;
}

static void choose_policy(struct tlg_pipeline *p)
{
  int file = 0;
  size_t i;

  for (i = 0; i < p->cfg.n_sinks; i++) {
    file |= tlg_sink_is_file(p->sinks[i]) || tlg_sink_blocks(p->sinks[i]);
  }
  p->is_virtual = p->cfg.clock == TLG_CLOCK_VIRTUAL;
  if (p->cfg.overrun == TLG_OVERRUN_DEFAULT) {
    p->cfg.overrun = p->is_virtual || file || p->cfg.unpaced ? TLG_OVERRUN_BLOCK : TLG_OVERRUN_DROP;
  }
  /* Where no stage takes time no queue is ever full, whatever the threads that compute it do. */
  p->block = p->is_virtual || p->cfg.overrun == TLG_OVERRUN_BLOCK;
  p->result.overrun = p->cfg.overrun;
}

/* Where the stages run, and how they wait there. */
static void choose_waits(struct tlg_pipeline *p, struct tlg_ring_wait waits[TLG_STAGES])
{
  enum { SPIN_NS = 1000 };
  int allowed[CPU_SETSIZE], n = 0, c, s, other;
  uint64_t spin_ns = p->cfg.spin_ns;
  uint32_t spins;
  cpu_set_t set;

  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    for (c = 0; c < CPU_SETSIZE; c++) {
      if (CPU_ISSET((size_t)c, &set)) {
        allowed[n++] = c;
      }
    }
  }
  if (p->cfg.pin && n) {
    p->cfg.cores[TLG_STAGE_RECEIVE] = p->cfg.cores[TLG_STAGE_DELIVER] = allowed[0] + 1;
    p->cfg.cores[TLG_STAGE_RESAMPLE] = allowed[n > 1] + 1;
  }
  if (!spin_ns) {
    spin_ns = SPIN_NS;
  } else if (spin_ns == UINT64_MAX) {
    spin_ns = 0;
  }
  p->calibration = tlg_ring_spins_for(100000);
  spins = (uint32_t)(spin_ns > 1000000000 ? UINT32_MAX : spin_ns * p->calibration / 100000);
  for (s = 0; s < TLG_STAGES; s++) {
    waits[s].spins = spins;
    waits[s].yield = n == 1;
    for (other = 0; other < TLG_STAGE_READ && s != TLG_STAGE_READ; other++) {
      if (other != s && p->cfg.cores[s] && p->cfg.cores[s] == p->cfg.cores[other]) {
        waits[s].yield = 1;
      }
    }
  }
  waits[TLG_STAGE_READ].spins = 0; /* it is far ahead */
}

static int make_rings(struct tlg_pipeline *p)
{
  struct tlg_ring_wait waits[TLG_STAGES];
  const size_t in_bytes = sizeof(struct packet) + p->max_packet * sizeof(tlg_cs16);
  const size_t out_bytes = sizeof(struct packet) + p->max_out * sizeof(tlg_cs16);
  const size_t ahead = p->cfg.read_ahead ? p->cfg.read_ahead : DEFAULT_AHEAD;
  size_t queue = p->cfg.queue, largest = in_bytes > out_bytes ? in_bytes : out_bytes;
  int status;

  choose_waits(p, waits);
  if (!queue) {
    queue = QUEUE_BYTES / largest;
    queue = queue > DEFAULT_QUEUE ? DEFAULT_QUEUE : queue < 2 ? 2 : queue;
  }
  p->cfg.queue = queue;
  p->batch = queue / 2 < BATCH ? (unsigned)(queue / 2) : BATCH;
  p->pace.clock = &tlg_clock_monotonic;
  p->pace.rate = p->paced;
  p->pace.window_ns = p->cfg.pace_ns ? p->cfg.pace_ns : 100000;
  p->pace.yield = waits[TLG_STAGE_RECEIVE].yield;
  p->look_ns = tlg_pace_look_ns(&p->pace);
  p->floor_slope.stretch = 0.1;
  p->pace.stopped = tlg_pipeline_stopping;
  p->pace.context = p;
  status = tlg_ring_new(&p->blocks, sizeof(struct block) + p->block_samples * sizeof(tlg_cs16),
                        ahead / p->block_samples + 2, &waits[TLG_STAGE_READ], &waits[TLG_STAGE_RECEIVE]);
  if (!status) {
    status = tlg_ring_new(&p->to_resample, in_bytes, queue, &waits[TLG_STAGE_RECEIVE], &waits[TLG_STAGE_RESAMPLE]);
  }
  if (!status) {
    status = tlg_ring_new(&p->to_deliver, out_bytes, queue, &waits[TLG_STAGE_RESAMPLE], &waits[TLG_STAGE_DELIVER]);
  }
  p->staging = malloc(in_bytes);
  p->zeros = calloc(p->max_packet, sizeof *p->zeros);
  if (p->cfg.loops != 1) {
    p->pass = calloc(TLG_PIPELINE_BLOCK, sizeof *p->pass);
  }
  if (!status && (!p->staging || !p->zeros || (p->cfg.loops != 1 && !p->pass))) {
    status = TLG_ENOMEM;
  }
  if (!status) {
    if (p->pass) {
      tlg_touch(p->pass, TLG_PIPELINE_BLOCK * sizeof *p->pass);
    }
    if (!p->live) { /* one that sends meanwhile is not read before this is over: there the first round pays for it */
      tlg_ring_touch(p->blocks);
      tlg_ring_touch(p->to_resample);
      tlg_ring_touch(p->to_deliver);
    }
    memset(p->staging, 0, in_bytes);
    tlg_touch(p->zeros, p->max_packet * sizeof *p->zeros);
  }
  return status;
}

static int make_meters(struct tlg_pipeline *p)
{
  struct tlg_delays **all[] = {&p->release,      &p->packet,           &p->wait_resample,
                               &p->wait_deliver, &p->service_resample, &p->service_deliver};
  struct tlg_rate out_paced;
  int status = TLG_OK;
  size_t i;

  for (i = 0; i < sizeof all / sizeof *all && !status; i++) {
    status = tlg_delays_new(all[i]);
  }
  if (!p->cfg.deadline_ps) {
    p->cfg.deadline_ps = 1200000000;
  }
  /* A subframe is a millisecond of outputs, if that is a whole number of them. */
  if (!p->framer_cfg.length && p->cfg.rate_out.den == 1 && p->cfg.rate_out.num % 1000 == 0 &&
      p->cfg.air != TLG_AIR_ARRIVAL) {
    p->framer_cfg.length = p->cfg.rate_out.num / 1000;
  }
  if (!status && p->framer_cfg.length) {
    p->framer_cfg.up = p->up;
    p->framer_cfg.down = p->down;
    p->framer_cfg.q0 = p->q0;
    p->framer_cfg.rate = p->paced;
    p->framer_cfg.offset = p->cfg.offset;
    p->framer_cfg.deadline_ps = p->cfg.deadline_ps;
    status = tlg_pace_rate(&out_paced, &p->cfg.rate_out, &p->cfg.speed);
    if (!status) {
      p->framer_cfg.floor_ps = tlg_instant_ps(p->framer_cfg.length, &out_paced);
      status = tlg_framer_new(&p->framer, &p->framer_cfg);
    }
  }
  if (!status && p->cfg.trace_packets) {
    p->trace = calloc(p->cfg.trace_packets, sizeof *p->trace);
    if (!p->trace) {
      return TLG_ENOMEM;
    }
    tlg_touch(p->trace, p->cfg.trace_packets * sizeof *p->trace);
  }
  return status;
}

static int make_resampler(struct tlg_pipeline *p, struct tlg_error *err)
{
  struct tlg_resamp_cfg cfg = *p->cfg.resamp;
  const size_t n = cfg.taps->n;
  uint32_t up, down;
  int status;

  cfg.max_block = p->max_packet;
  status = tlg_resamp_new(&p->resamp, &cfg, err);
  if (status) {
    return status;
  }
  tlg_resamp_ratio(p->resamp, &p->up, &p->down);
  if (tlg_rate_ratio(&p->cfg.rate_in, &p->cfg.rate_out, &up, &down) != TLG_OK || up != p->up || down != p->down) {
    return tlg_error_set(err, TLG_EINVAL, "the resampler's ratio is not that of the rates");
  }
  p->align = cfg.align;
  p->q0 = cfg.align ? (n % 2 ? (n - 1) / 2 : n / 2 - 1) : 0;
  p->taps = (uint32_t)n;
  p->shift = cfg.taps->shift;
  p->max_out = (size_t)((u128)p->max_packet * p->up / p->down) + 2;
  return p->max_out > (size_t)1 << 28
             ? tlg_error_set(err, TLG_EINVAL,
                             "a packet of %u samples would give more than 2^28 outputs; take smaller ones",
                             (unsigned)p->max_packet)
             : TLG_OK;
}

uint64_t tlg_pipeline_samples_at(const struct tlg_rate *rate, uint64_t instant_ps, uint64_t most)
{
  const u128 per_num = (u128)instant_ps / rate->den, second = 1000000000000u;
  const u128 n = per_num > ~(u128)0 / rate->num ? most : per_num * rate->num / second;

  return n < most ? (uint64_t)n : most;
}

int tlg_pipeline_new(struct tlg_pipeline **pipeline, const struct tlg_pipeline_cfg *cfg, struct tlg_error *err)
{
  static const struct tlg_rate one = {1, 1};
  struct tlg_pipeline *p;
  pthread_condattr_t attributes;
  size_t i;
  int status;

  if (!pipeline || !cfg) {
    return tlg_error_set(err, TLG_EINVAL, "a pipeline needs a configuration");
  }
  *pipeline = NULL;
  p = aligned_alloc(64, (sizeof *p + 63) & ~(size_t)63);
  if (!p) {
    for (i = 0; i < cfg->n_sinks; i++) {
      tlg_sink_abort(cfg->sinks[i]);
    }
    return tlg_error_set(err, TLG_ENOMEM, "out of memory");
  }
  memset(p, 0, sizeof *p);
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&p->changed, &attributes);
  pthread_condattr_destroy(&attributes);
  pthread_mutex_init(&p->mutex, NULL);
  p->cfg = *cfg;
  p->sinks = malloc((cfg->n_sinks + 1) * sizeof *p->sinks);
  p->ends = calloc(cfg->n_sinks + 1, sizeof *p->ends);
  if (!p->sinks || !p->ends) {
    for (i = 0; i < cfg->n_sinks; i++) {
      tlg_sink_abort(cfg->sinks[i]);
    }
    p->cfg.n_sinks = 0;
    status = TLG_ENOMEM;
    goto fail;
  }
  for (i = 0; i < cfg->n_sinks; i++) {
    p->sinks[i] = cfg->sinks[i];
  }
  if (!p->cfg.speed.num || cfg->source.live) {
    p->cfg.speed = one;
  }
  choose_source(p);
  take_scenario(p);
  status = check_cfg(&p->cfg, err);
  if (!status && tlg_pace_rate(&p->paced, &p->cfg.rate_in, &p->cfg.speed) != TLG_OK) {
    status = tlg_error_set(err, TLG_EINVAL, "rate times speed is out of range");
  }
  if (!status) { /* half of what 64 bits hold, so that whatever comes late still has an instant */
    p->most_samples = tlg_pipeline_samples_at(&p->paced, UINT64_MAX / 2, UINT64_MAX / 2);
    if (cfg->max_samples > p->most_samples) {
      status = tlg_error_set(err, TLG_EINVAL, "a stream may last 106 days, and this would be longer");
    }
  }
  if (status || (status = copy_lists(p)) || (status = make_tunes(p)) || (status = make_resampler(p, err))) {
    goto fail;
  }
  choose_policy(p);
  if ((status = make_rings(p)) || (status = make_meters(p)) ||
      (p->cfg.scenario && (status = tlg_pipeline_model_new(p, err)))) {
    goto fail;
  }
  *pipeline = p;
  return TLG_OK;
fail:
  if (status == TLG_ENOMEM) {
    tlg_error_set(err, status, "out of memory; take a shorter --queue or fewer --trace-packets");
  }
  tlg_pipeline_free(p);
  return status;
}

void tlg_pipeline_free(struct tlg_pipeline *p)
{
  size_t i;

  if (!p) {
    return;
  }
  for (i = 0; i < p->cfg.n_sinks; i++) {
    tlg_sink_abort(p->sinks[i]);
  }
  free(p->trace);
  tlg_framer_free(p->framer);
  tlg_pipeline_model_free(p);
  tlg_delays_free(p->release);
  tlg_delays_free(p->packet);
  tlg_delays_free(p->wait_resample);
  tlg_delays_free(p->wait_deliver);
  tlg_delays_free(p->service_resample);
  tlg_delays_free(p->service_deliver);
  free(p->pass);
  free(p->zeros);
  free(p->staging);
  tlg_ring_free(p->to_deliver);
  tlg_ring_free(p->to_resample);
  tlg_ring_free(p->blocks);
  tlg_resamp_free(p->resamp);
  free(p->ends);
  free(p->sinks);
  free(p->drops);
  free(p->tunes);
  free(p->packets);
  pthread_cond_destroy(&p->changed);
  pthread_mutex_destroy(&p->mutex);
  free(p);
}
