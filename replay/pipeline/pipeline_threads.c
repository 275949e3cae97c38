/* SPDX-License-Identifier: Apache-2.0 */
/* The threads of a pipeline: started, placed, let go together, told of, and waited for. */
#include "pipeline.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>

enum {
  START_DELAY_NS = 2000000, /* from opening the gate to sample 0: all threads are at their places by then */
  FILL_WAIT_MS = 500,       /* the longest wait for the read-ahead to fill before the start */
  FIFO_WINDOW_NS = 5000,
  TICK_NS = 50000000,
  STUCK_MS = 300, /* a source that does not return for so long after a stop is cancelled */
  STACK_BYTES = 2 << 20,
};

void tlg_pipeline_arrive(struct tlg_pipeline *p)
{
  pthread_mutex_lock(&p->mutex);
  p->ready++;
  pthread_cond_broadcast(&p->changed);
  while (!p->gate) {
    pthread_cond_wait(&p->changed, &p->mutex);
  }
  pthread_mutex_unlock(&p->mutex);
}

static uint64_t cpu_since(const struct timespec *then)
{
  struct timespec now;

  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (uint64_t)(now.tv_sec - then->tv_sec) * 1000000000u + (uint64_t)now.tv_nsec - (uint64_t)then->tv_nsec;
}

#if defined(__SANITIZE_ADDRESS__)
#define ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ADDRESS_SANITIZER 1
#endif
#endif

#ifdef ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>

/* AddressSanitizer does not see a cancelled thread leave its frames, and goes on to guard what they held. */
static void forget_frames(void)
{
  pthread_attr_t attributes;
  void *bottom = NULL;
  size_t size = 0;

  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    pthread_attr_getstack(&attributes, &bottom, &size);
    pthread_attr_destroy(&attributes);
    __asan_unpoison_memory_region(bottom, size);
  }
}
#else
static void forget_frames(void)
{
}
#endif

/* What a stage's thread has used; also when it was cancelled, which its joining tells. */
static void account_stage(void *argument)
{
  struct stage *s = argument;
  struct tlg_stage_result *result = &s->p->result.stages[s->which];
  struct rusage usage;

  result->cpu_ns = cpu_since(&s->cpu0);
  getrusage(RUSAGE_THREAD, &usage);
  result->voluntary = (uint64_t)(usage.ru_nvcsw - s->usage0.ru_nvcsw);
  result->involuntary = (uint64_t)(usage.ru_nivcsw - s->usage0.ru_nivcsw);
  result->minor_faults = (uint64_t)(usage.ru_minflt - s->usage0.ru_minflt);
  result->major_faults = (uint64_t)(usage.ru_majflt - s->usage0.ru_majflt);
}

static void account_read(void *stage)
{
  forget_frames();
  account_stage(stage);
}

/* A stage has come to its end. */
static void end_stage(struct tlg_pipeline *p)
{
  pthread_mutex_lock(&p->mutex);
  p->ended++;
  pthread_cond_broadcast(&p->changed);
  pthread_mutex_unlock(&p->mutex);
}

static void *stage_main(void *argument)
{
  struct stage *s = argument;
  struct tlg_pipeline *p = s->p;
  static const char *const names[TLG_STAGES] = {"tlg-receive", "tlg-resample", "tlg-deliver", "tlg-read"};

  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
  prctl(PR_SET_NAME, names[s->which]); /* as top, perf and gdb show it */
  if (s->which == TLG_STAGE_READ) {
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &s->cpu0);
    getrusage(RUSAGE_THREAD, &s->usage0);
    pthread_cleanup_push(account_read, s);
    (p->live ? tlg_pipeline_read_live : tlg_pipeline_read_stage)(p);
    atomic_store(&p->read_ended, 1);
    pthread_cleanup_pop(1);
  } else {
    if (s->which == TLG_STAGE_RECEIVE) {
      prctl(PR_SET_TIMERSLACK, 1UL); /* this thread's sleeps may not be stretched */
    }
    tlg_pipeline_arrive(p);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &s->cpu0);
    getrusage(RUSAGE_THREAD, &s->usage0);
    (s->which == TLG_STAGE_RECEIVE    ? tlg_pipeline_receive_stage
     : s->which == TLG_STAGE_RESAMPLE ? tlg_pipeline_resample_stage
                                      : tlg_pipeline_deliver_stage)(p);
    account_stage(s);
  }
  end_stage(p);
  return NULL;
}

int tlg_pipeline_stopping(void *pipeline)
{
  return atomic_load(&((struct tlg_pipeline *)pipeline)->stop);
}

static int tell(struct tlg_pipeline *p, enum tlg_event_kind kind, uint64_t n, const char *text)
{
  const struct tlg_event event = {
      .kind = kind, .n = n, .samples = atomic_load_explicit(&p->seen_samples, memory_order_relaxed), .text = text};

  return p->cfg.event ? p->cfg.event(p->cfg.context, &event) : 0;
}

int tlg_pipeline_tell_news(struct tlg_pipeline *p)
{
  const uint64_t overruns = atomic_load(&p->seen_overruns), starved = atomic_load(&p->seen_starved),
                 gaps = atomic_load(&p->seen_gaps);
  int stop = 0;

  if (overruns > p->told_overruns) {
    stop |= tell(p, TLG_EVENT_OVERRUN, overruns - p->told_overruns, NULL);
  }
  if (starved > p->told_starved) {
    stop |= tell(p, TLG_EVENT_STARVED, starved - p->told_starved, NULL);
  }
  if (gaps > p->told_gaps) {
    stop |= tell(p, TLG_EVENT_GAP, gaps - p->told_gaps, NULL);
  }
  if (atomic_load(&p->lost_clock) && !p->told_lost_clock) {
    p->told_lost_clock = 1;
    stop |= tell(p, TLG_EVENT_WARNING, 0,
                 "the source does not keep its rate (a packet came more than 1 s late by it): delays count from each "
                 "packet's arrival from here on");
  }
  p->told_overruns = overruns;
  p->told_starved = starved;
  p->told_gaps = gaps;
  return stop | tell(p, TLG_EVENT_TICK, 0, NULL);
}

/* Something the host does not permit: an error if strict, else a warning. */
int tlg_pipeline_refused(struct tlg_pipeline *p, struct tlg_error *err, const char *what, int cause, const char *remedy)
{
  struct tlg_error text;

  tlg_error_set(&text, TLG_EUNAVAIL, "%s is not permitted here (%s): %s", what, strerror(cause), remedy);
  if (p->cfg.strict) {
    return tlg_error_set(err, TLG_EUNAVAIL, "%s", text.text);
  }
  tell(p, TLG_EVENT_WARNING, 0, text.text);
  return TLG_OK;
}

int tlg_pipeline_place_threads(struct tlg_pipeline *p, struct tlg_error *err)
{
  static const char *const names[TLG_STAGES] = {"pinning the receive thread", "pinning the resample thread",
                                                "pinning the deliver thread", "pinning the read thread"};
  int s, status = TLG_OK, cause;

  for (s = 0; s < TLG_STAGES && !status; s++) {
    struct tlg_stage_result *result = &p->result.stages[s];

    result->core = -1;
    if (p->cfg.cores[s]) {
      cpu_set_t set;

      CPU_ZERO(&set);
      CPU_SET((size_t)p->cfg.cores[s] - 1, &set);
      cause = pthread_setaffinity_np(p->stages[s].thread, sizeof set, &set);
      if (!cause) {
        result->core = p->cfg.cores[s] - 1;
      } else {
        status = tlg_pipeline_refused(p, err, names[s], cause,
                                      "name cores that exist and that this process may use (see taskset)");
      }
    }
    if (!status && p->cfg.fifo && s != TLG_STAGE_READ) {
      const struct sched_param param = {.sched_priority = p->cfg.fifo};

      cause = pthread_setschedparam(p->stages[s].thread, SCHED_FIFO, &param);
      if (!cause) {
        result->fifo = 1;
      } else if (s == TLG_STAGE_RECEIVE) {
        status = tlg_pipeline_refused(
            p, err, "SCHED_FIFO", cause,
            "run as root, with CAP_SYS_NICE, or raise 'ulimit -r'; the threads keep the usual policy");
      }
    }
  }
  /* A real-time thread wakes at once, and one that spins all the time would be stopped by the kernel's limit. */
  if (p->result.stages[TLG_STAGE_RECEIVE].fifo && !p->cfg.pace_ns) {
    p->pace.window_ns = FIFO_WINDOW_NS;
  }
  return status;
}

static void add_ns(struct timespec *t, uint64_t ns)
{
  t->tv_nsec += (long)(ns % 1000000000u);
  t->tv_sec += (time_t)(ns / 1000000000u) + t->tv_nsec / 1000000000;
  t->tv_nsec %= 1000000000;
}

/* Wait until something changed, at most ns; the mutex is held. */
void tlg_pipeline_wait_change(struct tlg_pipeline *p, uint64_t ns)
{
  struct timespec until;

  clock_gettime(CLOCK_MONOTONIC, &until);
  add_ns(&until, ns);
  pthread_cond_timedwait(&p->changed, &p->mutex, &until);
}

int tlg_pipeline_start_threads(struct tlg_pipeline *p, struct tlg_error *err)
{
  pthread_attr_t attributes;
  sigset_t all, old;
  int s, cause = 0;

  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, STACK_BYTES);
  /* Signals go to the caller's thread: in ours they would only disturb the time. */
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  for (s = 0; s < TLG_STAGES && !cause; s++) {
    p->stages[s].p = p;
    p->stages[s].which = (enum tlg_stage)s;
    cause = pthread_create(&p->stages[s].thread, &attributes, stage_main, &p->stages[s]);
    p->stages[s].started = !cause;
  }
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  pthread_attr_destroy(&attributes);
  return cause ? tlg_error_set(err, TLG_ESYS, "threads cannot be started: %s", strerror(cause)) : TLG_OK;
}

void tlg_pipeline_wait_filled(struct tlg_pipeline *p)
{
  struct timespec step = {.tv_nsec = 1000000};
  int ms;

  if (p->live) { /* it comes when it comes */
    return;
  }
  for (ms = 0; ms < FILL_WAIT_MS && !atomic_load(&p->read_ended); ms++) {
    if (tlg_ring_was_filled(p->blocks) || tell(p, TLG_EVENT_TICK, 0, NULL)) {
      break;
    }
    clock_nanosleep(CLOCK_MONOTONIC, 0, &step, NULL);
  }
}

void tlg_pipeline_open_gate(struct tlg_pipeline *p)
{
  pthread_mutex_lock(&p->mutex);
  p->pace.start_ns = p->pace.clock->now_ns(p->pace.clock->context) + (p->live ? 0 : START_DELAY_NS);
  p->gate = 1;
  pthread_cond_broadcast(&p->changed);
  pthread_mutex_unlock(&p->mutex);
}

/* A live source that was asked to end and does not return is left alone; what it gave is drained. */
static void end_stuck_source(struct tlg_pipeline *p, unsigned *quit_ms)
{
  if (!p->live || !atomic_load(&p->quit) || !atomic_load(&p->reading) || *quit_ms == UINT_MAX) {
    return;
  }
  *quit_ms += TICK_NS / 1000000;
  if (*quit_ms > TLG_PIPELINE_DRAIN_NS / 1000000 + STUCK_MS) {
    *quit_ms = UINT_MAX;
    pthread_cancel(p->stages[TLG_STAGE_READ].thread);
    tlg_ring_close(p->blocks);
  }
}

void tlg_pipeline_ask_sinks(struct tlg_pipeline *p)
{
  size_t i;

  for (i = 0; i < p->cfg.n_sinks; i++) {
    tlg_sink_ask_stop(p->sinks[i]);
  }
}

void tlg_pipeline_wait_ended(struct tlg_pipeline *p)
{
  unsigned stuck_ms = 0, quit_ms = 0, started = 0;
  int s;

  for (s = 0; s < TLG_STAGES; s++) {
    started += (unsigned)p->stages[s].started;
  }
  pthread_mutex_lock(&p->mutex);
  while (p->ended < started && !(quit_ms == UINT_MAX && p->ended + 1 == started)) {
    tlg_pipeline_wait_change(p, TICK_NS);
    pthread_mutex_unlock(&p->mutex);
    if (tlg_pipeline_tell_news(p) && !atomic_load(&p->stop) && !p->result.stopped) {
      p->result.stopped = 1;
      tlg_pipeline_ask_sinks(p);
      if (p->live) { /* the end comes from the source, with what it still has */
        atomic_store(&p->quit_ns, p->pace.clock->now_ns(p->pace.clock->context));
        atomic_store(&p->quit, 1);
      } else {
        atomic_store(&p->stop, 1);
        tlg_ring_close(p->blocks);
      }
    }
    end_stuck_source(p, &quit_ms);
    pthread_mutex_lock(&p->mutex);
    /* Stopped, and only the reading thread is left: its source waits for something that may never come. */
    if (atomic_load(&p->stop) && p->ended + 1 == started && !atomic_load(&p->read_ended)) {
      stuck_ms += TICK_NS / 1000000;
      if (stuck_ms > STUCK_MS) {
        pthread_cancel(p->stages[TLG_STAGE_READ].thread);
        break;
      }
    }
  }
  pthread_mutex_unlock(&p->mutex);
  for (s = 0; s < TLG_STAGES; s++) {
    if (p->stages[s].started) {
      pthread_join(p->stages[s].thread, NULL);
      p->stages[s].started = 0;
    }
  }
}
