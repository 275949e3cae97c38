/* SPDX-License-Identifier: Apache-2.0 */
/* One run of a pipeline, from its threads to the end of its sinks. */
#include "pipeline.h"

#include <errno.h>
#include <sys/mman.h>

enum {
  SINK_TICK_NS = 5000000, /* while live sinks end */
};

/* Live sinks end side by side, each in its thread: the other side may take its time. The caller is told meanwhile. */
static void wait_sinks(struct tlg_pipeline *p)
{
  size_t i, left;

  for (i = 0; i < p->cfg.n_sinks; i++) {
    tlg_sink_end(p->sinks[i]);
  }
  for (;;) {
    for (i = left = 0; i < p->cfg.n_sinks; i++) {
      left += !tlg_sink_ended(p->sinks[i]);
    }
    if (!left) {
      return;
    }
    pthread_mutex_lock(&p->mutex);
    tlg_pipeline_wait_change(p, SINK_TICK_NS);
    pthread_mutex_unlock(&p->mutex);
    if (tlg_pipeline_tell_news(p) && !p->result.stopped) {
      p->result.stopped = 1;
      tlg_pipeline_ask_sinks(p);
    }
  }
}

static void keep_end(struct sink_end *end, const struct tlg_sink *sink)
{
  int c;

  end->live = tlg_sink_is_live(sink);
  for (c = 0; c < TLG_SINK_COUNTERS; c++) {
    end->counters[c] = tlg_sink_counter(sink, (enum tlg_sink_counter)c);
  }
  tlg_sink_say(sink, end->text, sizeof end->text);
}

static int end_sinks(struct tlg_pipeline *p, int status, struct tlg_error *err)
{
  size_t i;

  if (!status) {
    wait_sinks(p);
  }
  for (i = 0; i < p->cfg.n_sinks; i++) {
    keep_end(&p->ends[i], p->sinks[i]);
    p->ends[i].count = tlg_sink_count(p->sinks[i], &p->ends[i].conversions);
    p->ends[i].marks_gaps = tlg_sink_marks_gaps(p->sinks[i]);
    if (status) {
      tlg_sink_abort(p->sinks[i]);
    } else {
      status = tlg_sink_close(p->sinks[i], err);
    }
    p->sinks[i] = NULL;
  }
  p->cfg.n_sinks = 0;
  return status;
}

int tlg_pipeline_run(struct tlg_pipeline *p, struct tlg_error *err)
{
  int64_t steal0, steal1;
  int status, locked = 0;

  if (!p || p->ran) {
    return tlg_error_set(err, TLG_EINVAL, "a pipeline runs once");
  }
  p->ran = 1;
  status = TLG_OK;
  if (p->cfg.lock_memory) {
    locked = mlockall(MCL_CURRENT | MCL_FUTURE) == 0;
    if (!locked) {
      status = tlg_pipeline_refused(p, err, "locking memory", errno,
                                    "run as root or raise 'ulimit -l'; pages may be swapped out");
    }
  }
  p->result.memory_locked = locked;
  if (!status) {
    status = tlg_pipeline_start_threads(p, err);
  }
  if (!status) {
    status = tlg_pipeline_place_threads(p, err);
  }
  if (status) {
    atomic_store(&p->stop, 1);
    atomic_store(&p->abandon, 1);
    tlg_ring_close(p->blocks);
  } else {
    tlg_pipeline_wait_filled(p);
  }
  steal0 = tlg_host_steal_us("");
  tlg_pipeline_open_gate(p);
  tlg_pipeline_wait_ended(p);
  p->wall_ns = tlg_pace_now_ps(&p->pace) / 1000;
  steal1 = tlg_host_steal_us("");
  p->result.steal_us = steal0 == INT64_MIN || steal1 == INT64_MIN ? INT64_MIN : steal1 - steal0;
  tlg_pipeline_tell_news(p);
  if (locked) {
    munlockall();
  }
  tlg_pipeline_summarise(p);
  if (!status && p->sink_status) {
    status = p->sink_status;
    if (err) {
      *err = p->sink_error;
    }
  } else if (!status && p->model_status) {
    status = p->model_status;
    if (err) {
      *err = p->model_error;
    }
  } else if (!status && p->resample_status) {
    status = tlg_error_set(err, p->resample_status, "the resampler stopped: %s", tlg_status_text(p->resample_status));
  } else if (!status && p->source_failed) { /* and was not stopped before that mattered */
    p->result.source_failed = 1;
    status = p->read_status;
    if (err) {
      *err = p->read_error;
    }
  }
  return end_sinks(p, status, err);
}
