/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of live sources share: a thread that opens one and reads it to its end, each sample checked against
 * its number. */
#ifndef LIVE_HELP_H
#define LIVE_HELP_H

#include "stream_help.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

struct listener {
  char text[300];
  struct tlg_live_cfg cfg;
  struct heard heard;
  int any;              /* samples are not compared */
  size_t chunk;         /* samples of one read; 0 = 4096 */
  _Atomic long slow_us; /* waits so long after each read */
  uint64_t stop_after;  /* asks for the end after so many samples; 0 = never */
  uint64_t quit_after;  /* closes without reading on */
  pthread_t thread;
  _Atomic int opened, port;
  _Atomic uint64_t so_far;
  volatile int cancel; /* by atomics */
  int status, waits, stopped;
  struct tlg_error err;
  struct tlg_live_info info;
  uint64_t counts[TLG_LIVE_COUNTS];
  char hints[4000];
};

static inline void nap_us(long us)
{
  const struct timespec t = {us / 1000000, us % 1000000 * 1000};

  nanosleep(&t, NULL);
}

static inline void listener_hint(void *context, const char *text)
{
  struct listener *l = context;
  const char *colon;

  strncat(l->hints, text, sizeof l->hints - strlen(l->hints) - 2);
  strcat(l->hints, "\n");
  if (strncmp(text, "listening on udp:", 17) == 0 && (colon = strrchr(text, ':'))) {
    atomic_store(&l->port, atoi(colon + 1));
  } else if (strncmp(text, "listening", 9) == 0) {
    atomic_store(&l->port, 1);
  }
}

static inline void *listener_run(void *context)
{
  struct listener *l = context;
  const size_t chunk = l->chunk ? l->chunk : 4096;
  tlg_cs16 *x = malloc(chunk * sizeof *x);
  struct tlg_source source;
  struct tlg_live *live;
  int i;

  l->cfg.hint = listener_hint;
  l->cfg.context = l;
  l->status = tlg_live_open(&live, l->text, &l->cfg, &l->cancel, &l->err);
  if (l->status) {
    atomic_store(&l->opened, -1);
    free(x);
    return NULL;
  }
  atomic_store(&l->opened, 1);
  l->info = *tlg_live_info(live);
  source = tlg_live_source(live);
  for (;;) {
    size_t got = 0;
    uint64_t first = 0;
    const int status = source.read(source.context, x, chunk, &got, &first, &l->err);

    if (status == TLG_EINTR) {
      l->waits++;
      if (__atomic_load_n(&l->cancel, __ATOMIC_RELAXED)) {
        break;
      }
      continue;
    }
    if (status) {
      l->status = status;
      break;
    }
    if (!got) {
      l->heard.missing += first - l->heard.end;
      l->heard.gaps += first > l->heard.end;
      l->heard.end = first;
      break;
    }
    if (l->any) {
      l->heard.missing += first - l->heard.end;
      l->heard.samples += got;
      l->heard.end = first + got;
    } else {
      hear(&l->heard, x, got, first);
    }
    atomic_store(&l->so_far, l->heard.samples);
    if (l->quit_after && l->heard.samples >= l->quit_after) {
      break;
    }
    if (l->stop_after && l->heard.samples >= l->stop_after && !l->stopped) {
      l->stopped = 1;
      source.stop(source.context);
    }
    if (atomic_load(&l->slow_us)) {
      nap_us(atomic_load(&l->slow_us));
    }
  }
  for (i = 0; i < TLG_LIVE_COUNTS; i++) {
    l->counts[i] = tlg_live_count(live, (enum tlg_live_count)i);
  }
  l->info.name = NULL;
  tlg_live_close(live);
  free(x);
  return NULL;
}

/* Start it; wait until it listens, if it is one that does. */
static inline void listen_to(struct listener *l, const char *text, int listens)
{
  snprintf(l->text, sizeof l->text, "%s", text);
  assert_int_equal(pthread_create(&l->thread, NULL, listener_run, l), 0);
  while (listens && !atomic_load(&l->port) && atomic_load(&l->opened) >= 0) {
    nap_us(500);
  }
}

static inline void hang_up(struct listener *l)
{
  assert_int_equal(pthread_join(l->thread, NULL), 0);
}

static inline struct tlg_sink *open_sink(const char *text)
{
  const struct tlg_sink_cfg cfg = {.rate = stream_rate, .frequency_hz = 2.4e9, .datetime = "2024-01-01T00:00:00Z"};
  struct tlg_sink *sink;
  struct tlg_error err = {0};

  if (tlg_sink_open(&sink, text, &cfg, &err)) {
    fail_msg("%s: %s", text, err.text);
  }
  return sink;
}

/* Write the outputs [*first, *first + n) in blocks of `block`, behind a gap. */
static inline void write_samples(struct tlg_sink *sink, uint64_t *first, size_t n, size_t block, uint64_t gap)
{
  tlg_cs16 x[8192];
  struct tlg_error err = {0};

  *first += gap;
  while (n) {
    const size_t m = n < block ? n : block;
    const struct tlg_sink_block b = {.samples = x, .n = m, .first = *first, .gap = gap};

    fill_samples(x, *first, m);
    if (tlg_sink_write(sink, &b, &err)) {
      fail_msg("%s", err.text);
    }
    *first += m;
    n -= m;
    gap = 0;
  }
}

/* Not faster than the receiver, whatever the size of its socket's buffer here. */
static inline void write_with(struct listener *l, struct tlg_sink *sink, uint64_t *first, uint64_t *written, size_t n,
                              size_t block, uint64_t gap)
{
  while (n) {
    const size_t m = n < 2458 ? n : 2458;
    int i;

    for (i = 0; i < 10000 && atomic_load(&l->so_far) + 4000 < *written; i++) {
      nap_us(200);
    }
    write_samples(sink, first, m, block, gap);
    *written += m;
    gap = 0;
    n -= m;
  }
}

static inline void close_sink(struct tlg_sink *sink)
{
  struct tlg_error err = {0};

  if (tlg_sink_close(sink, &err)) {
    fail_msg("%s", err.text);
  }
}

#endif
