/* SPDX-License-Identifier: Apache-2.0 */
/* The pipeline: same samples as the resampler alone, every packet accounted for, gaps, drops, loops, stops, failures.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "counting_malloc.h"
#include "tlg_replay.h"

static const struct tlg_rate rate_in = {25000000, 1}, rate_out = {30720000, 1};
static struct tlg_taps taps;

static tlg_cs16 *noise(size_t n, uint32_t seed)
{
  tlg_cs16 *x = malloc((n + 1) * sizeof *x);
  size_t i;

  assert_non_null(x);
  for (i = 0; i < n; i++) {
    const uint32_t counter[4] = {(uint32_t)i, 0, 0, 0}, key[2] = {seed, 0};
    uint32_t out[4];

    tlg_philox(counter, key, out);
    x[i].i = (int16_t)(out[0] % 20001 - 10000);
    x[i].q = (int16_t)(out[1] % 20001 - 10000);
  }
  return x;
}

/* ---- a source with gaps, waits and errors -------------------------------------------------------------------- */

struct run_of {
  uint64_t first;
  const tlg_cs16 *samples;
  size_t n;
};

struct script {
  const struct run_of *runs;
  size_t n_runs, at, done;
  uint64_t end;      /* of the stream; 0 = of the last run */
  size_t chunk;      /* most samples of one read; 0 = no limit */
  int fail_at;       /* the run in front of which reading fails, -1 = none */
  _Atomic int *gate; /* every read after the first waits until this is not 0; NULL = none */
  int forever;       /* the read behind the last run never returns */
  uint64_t reads, rewinds;
};

static void nap(void)
{
  const struct timespec t = {.tv_nsec = 200000};

  nanosleep(&t, NULL);
}

static int script_read(void *context, tlg_cs16 *buf, size_t n, size_t *got, uint64_t *first, struct tlg_error *err)
{
  struct script *s = context;
  const struct run_of *run;

  s->reads++;
  while (s->gate && (s->at || s->done) && !atomic_load(s->gate)) {
    nap();
  }
  if (s->fail_at >= 0 && s->at == (size_t)s->fail_at) {
    return tlg_error_at(err, TLG_EFORMAT, 0, 4711, "damaged on purpose");
  }
  if (s->at == s->n_runs) {
    while (s->forever) {
      sleep(1);
    }
    run = &s->runs[s->n_runs - 1];
    *got = 0;
    *first = s->end ? s->end : run->first + run->n;
    return TLG_OK;
  }
  run = &s->runs[s->at];
  *got = run->n - s->done < n ? run->n - s->done : n;
  *got = s->chunk && *got > s->chunk ? s->chunk : *got;
  *first = run->first + s->done;
  memcpy(buf, run->samples + s->done, *got * sizeof *buf);
  s->done += *got;
  if (s->done == run->n) {
    s->at++;
    s->done = 0;
  }
  return TLG_OK;
}

static int script_rewind(void *context, struct tlg_error *err)
{
  struct script *s = context;

  (void)err;
  s->rewinds++;
  s->at = s->done = 0;
  return TLG_OK;
}

/* ---- a sink that keeps everything ---------------------------------------------------------------------------- */

struct heap {
  tlg_cs16 *samples;
  size_t n, room;
  uint64_t next; /* output number expected next */
  uint64_t gaps; /* outputs that were said to be missing */
  uint64_t n_gaps, blocks;
  int out_of_order;  /* numbers that did not follow */
  uint64_t swallow;  /* the faulty sink forgets this block (counted from 1); 0 = none */
  uint64_t fail_at;  /* fails at this block; 0 = never */
  _Atomic int *gate; /* waits until this is not 0; NULL = none */
};

static int heap_take(void *context, const struct tlg_sink_block *b, struct tlg_error *err)
{
  struct heap *h = context;

  while (h->gate && !atomic_load(h->gate)) {
    nap();
  }
  h->blocks++;
  if (h->fail_at && h->blocks == h->fail_at) {
    return tlg_error_set(err, TLG_ESYS, "full on purpose");
  }
  if (h->swallow && h->blocks == h->swallow) {
    return TLG_OK;
  }
  h->out_of_order |= b->first != h->next + b->gap;
  h->gaps += b->gap;
  h->n_gaps += b->gap != 0;
  if (h->n + b->n <= h->room) {
    memcpy(h->samples + h->n, b->samples, b->n * sizeof *b->samples);
  }
  h->n += b->n;
  h->next = b->first + b->n;
  return TLG_OK;
}

static void heap_new(struct heap *h, size_t room)
{
  memset(h, 0, sizeof *h);
  h->room = room;
  h->samples = malloc((room + 1) * sizeof *h->samples);
  assert_non_null(h->samples);
}

/* ---- one run ------------------------------------------------------------------------------------------------- */

struct bench {
  struct tlg_pipeline_cfg cfg;
  struct tlg_resamp_cfg resamp;
  struct script script;
  struct heap heap;
  struct tlg_sink *sinks[2];
  struct tlg_pipeline *p;
  struct tlg_error err;
  int status;
};

static void prepare(struct bench *b, const struct run_of *runs, size_t n_runs, size_t room)
{
  memset(b, 0, sizeof *b);
  b->script.runs = runs;
  b->script.n_runs = n_runs;
  b->script.fail_at = -1;
  heap_new(&b->heap, room);
  b->resamp.up = 768;
  b->resamp.down = 625;
  b->resamp.taps = &taps;
  b->cfg.source.read = script_read;
  b->cfg.source.rewind = script_rewind;
  b->cfg.source.context = &b->script;
  b->cfg.rate_in = rate_in;
  b->cfg.rate_out = rate_out;
  b->cfg.resamp = &b->resamp;
  b->cfg.loops = 1;
  b->cfg.clock = TLG_CLOCK_VIRTUAL;
  b->cfg.trace_packets = 4096;
  assert_int_equal(tlg_sink_callback(&b->sinks[0], heap_take, &b->heap), TLG_OK);
  b->cfg.sinks = b->sinks;
  b->cfg.n_sinks = 1;
}

static const struct tlg_pipeline_result *go(struct bench *b)
{
  assert_int_equal(tlg_pipeline_new(&b->p, &b->cfg, &b->err), TLG_OK);
  b->status = tlg_pipeline_run(b->p, &b->err);
  return tlg_pipeline_result(b->p);
}

static void finish(struct bench *b)
{
  tlg_pipeline_free(b->p);
  free(b->heap.samples);
}

/* The check of the accounts, from the sink's own count, the formula and the trace, not from the pipeline's flag.
 * Returns NULL, or what is wrong. */
static const char *accounts_wrong(const struct bench *b, uint64_t stream, uint64_t missing, uint64_t q0)
{
  const struct tlg_accounts *a = &tlg_pipeline_result(b->p)->accounts;
  const uint64_t fed = stream - a->closed;
  const uint64_t end = fed * 768 > q0 ? (fed * 768 - 1 - q0) / 625 + 1 : 0;
  const uint64_t kept = tlg_pipeline_trace_count(b->p);
  uint64_t traced_in = 0, traced_out = 0, i;

  if (a->inputs != stream || a->missing != missing || a->inputs != a->processed + a->dropped + a->missing) {
    return "inputs";
  }
  if (a->end_position != end || a->outputs != end - a->left_out) {
    return "outputs";
  }
  if (b->heap.n != a->outputs + a->tail) {
    return "what the sink got";
  }
  if (b->heap.gaps != a->left_out || b->heap.out_of_order) {
    return "gaps at the sink";
  }
  if (a->packets != a->packets_delivered + a->packets_dropped) {
    return "packets";
  }
  if (kept == a->packets_delivered) { /* all of them are in the trace */
    for (i = 0; i < kept; i++) {
      const struct tlg_trace_record *r = tlg_pipeline_trace_record(b->p, i);

      traced_in += r->n_in;
      traced_out += r->n_out;
    }
    if (traced_in != a->processed || (b->cfg.gaps != TLG_GAPS_ZERO && traced_out != a->outputs)) {
      return "the trace";
    }
  }
  return a->balanced ? NULL : "the pipeline's own balance";
}

static void assert_accounts(const struct bench *b, uint64_t stream, uint64_t missing, uint64_t q0)
{
  const char *wrong = accounts_wrong(b, stream, missing, q0);

  if (wrong) {
    fail_msg("the accounts are wrong: %s", wrong);
  }
}

/* The resampler alone, in one piece. runs as above, gaps by skip; returns the outputs. */
static tlg_cs16 *alone(const struct run_of *runs, size_t n_runs, uint64_t end, int align, int flush, size_t *n)
{
  struct tlg_resamp_cfg cfg = {.up = 768, .down = 625, .taps = &taps, .align = align, .max_block = 1 << 24};
  struct tlg_resamp *r;
  uint64_t position = 0, skipped;
  size_t i, room = (size_t)(end * 768 / 625 + 20000), got;
  tlg_cs16 *out = malloc(room * sizeof *out);

  assert_non_null(out);
  assert_int_equal(tlg_resamp_new(&r, &cfg, NULL), TLG_OK);
  *n = 0;
  for (i = 0; i < n_runs; i++) {
    assert_int_equal(tlg_resamp_skip(r, runs[i].first - position, &skipped), TLG_OK);
    assert_int_equal(tlg_resamp_process(r, runs[i].samples, runs[i].n, out + *n, room - *n, &got), TLG_OK);
    *n += got;
    position = runs[i].first + runs[i].n;
  }
  assert_int_equal(tlg_resamp_skip(r, end - position, &skipped), TLG_OK);
  for (got = 1; (align || flush) && got; *n += got) {
    assert_int_equal(tlg_resamp_flush(r, out + *n, room - *n, &got), TLG_OK);
  }
  tlg_resamp_free(r);
  return out;
}

static void assert_samples(const struct bench *b, const tlg_cs16 *want, size_t n)
{
  assert_true(b->heap.n == n);
  assert_memory_equal(b->heap.samples, want, n * sizeof *want);
}

/* ---- tests --------------------------------------------------------------------------------------------------- */

static void every_cut_gives_the_bytes_of_the_resampler(void **state)
{
  static const uint32_t sizes[][4] = {{625}, {364}, {1}, {7}, {1996}, {2000}, {362, 1, 1000, 13}, {8192}, {100000}};
  static const size_t counts[] = {1, 1, 1, 1, 1, 1, 4, 1, 1};
  const size_t n = 20011;
  tlg_cs16 *x = noise(n, 3);
  const struct run_of run = {0, x, n};
  size_t k, want_n;
  int how;

  (void)state;
  for (how = 0; how < 3; how++) { /* causal, flushed, aligned */
    tlg_cs16 *want = alone(&run, 1, n, how == 2, how == 1, &want_n);

    for (k = 0; k < sizeof counts / sizeof *counts; k++) {
      struct bench b;

      prepare(&b, &run, 1, want_n);
      b.cfg.packets = sizes[k];
      b.cfg.n_packets = counts[k];
      b.cfg.queue = k % 3 ? 0 : 3;
      b.script.chunk = k * 777;
      b.resamp.align = how == 2;
      b.cfg.flush = how == 1;
      go(&b);
      assert_int_equal(b.status, TLG_OK);
      assert_samples(&b, want, want_n);
      assert_accounts(&b, n, 0, how == 2 ? (taps.n - 1) / 2 : 0);
      finish(&b);
    }
    free(want);
  }
  free(x);
}

/* A recording of a few samples is played over and over without being read again, each block filled with as many passes
 * as it holds; numbers, seams, passes and samples are those of a long one. */
static void short_recordings_repeat_out_of_memory(void **state)
{
  static const size_t lengths[] = {1, 25, 625, 40001, 65536, 65537};
  const size_t stream = 200003;
  tlg_cs16 *x = noise(65537, 17), *whole = malloc(stream * sizeof *whole), *want;
  size_t k, i, want_n;

  (void)state;
  assert_non_null(whole);
  for (k = 0; k < sizeof lengths / sizeof *lengths; k++) {
    const size_t n = lengths[k];
    const struct run_of once = {0, x, n}, all = {0, whole, stream};
    uint64_t seams = 0, seams_wanted = 0;
    struct bench b;

    for (i = 0; i < stream; i++) {
      whole[i] = x[i % n];
    }
    want = alone(&all, 1, stream, 0, 0, &want_n);
    prepare(&b, &once, 1, want_n);
    b.cfg.loops = 0;
    b.cfg.max_samples = stream;
    b.script.chunk = 30000;
    assert_true(go(&b)->passes == (stream - 1) / n + 1);
    assert_int_equal(b.status, TLG_OK);
    assert_samples(&b, want, want_n);
    assert_accounts(&b, stream, 0, 0);
    if (n <= 65536) { /* one pass in at most three pieces, and its end */
      assert_true(b.script.rewinds == 0 && b.script.reads <= 4);
    } else {
      assert_true(b.script.rewinds == (stream - 1) / n);
    }
    for (i = 0; i < tlg_pipeline_trace_count(b.p); i++) {
      const struct tlg_trace_record *r = tlg_pipeline_trace_record(b.p, i);
      const uint64_t first = r->first_in, last = first + r->n_in - 1;

      seams_wanted += last / n != (first ? (first - 1) / n : 0);
      seams += (r->flags & TLG_TRACE_SEAM) != 0;
    }
    assert_true(seams == seams_wanted && seams > 0);
    finish(&b);
    free(want);

    prepare(&b, &once, 1, 1); /* a number of passes ends where it should */
    b.cfg.loops = stream / n;
    assert_true(go(&b)->passes == stream / n);
    assert_true(tlg_pipeline_result(b.p)->accounts.inputs == stream / n * n);
    finish(&b);
  }
  free(x);
  free(whole);
}

/* Frequencies of a short recording come back with each pass, at the same samples. */
static void short_recordings_repeat_their_frequencies(void **state)
{
  const size_t n = 1000;
  tlg_cs16 *x = noise(n, 18);
  const struct run_of once = {0, x, n};
  struct tlg_capture captures[3];
  uint64_t i, cuts = 0;
  struct bench b;

  (void)state;
  memset(captures, 0, sizeof captures);
  captures[0].frequency_hz = 796e6;
  captures[1].first = 300;
  captures[1].frequency_hz = 806e6;
  captures[2].first = 700;
  captures[2].frequency_hz = 816e6;
  prepare(&b, &once, 1, 1);
  b.cfg.captures = captures;
  b.cfg.n_captures = 3;
  b.cfg.loops = 100;
  go(&b);
  assert_int_equal(b.status, TLG_OK);
  for (i = 0; i < tlg_pipeline_trace_count(b.p); i++) {
    const struct tlg_trace_record *r = tlg_pipeline_trace_record(b.p, i);
    const uint64_t at = r->first_in % n, end = at + r->n_in;

    assert_true(end <= (at < 300 ? 300u : at < 700 ? 700u : 1000u)); /* a packet has one frequency */
    cuts += end == 300 || end == 700 || end == n;
  }
  assert_true(cuts == 300);
  finish(&b);
  free(x);
}

/* gnuradio#7204: tones on the 40 kHz raster are periodic in 625 samples: over the seam no output may differ from the
 * same phase of the period before. */
static void a_loop_has_no_seam(void **state)
{
  const size_t period = 625, n = 6 * period;
  tlg_cs16 *x = noise(period, 9), *pass = malloc(n * sizeof *pass);
  const struct run_of run = {0, pass, n};
  struct bench b;
  size_t i, seams = 0;

  (void)state;
  for (i = 0; i < n; i++) {
    pass[i] = x[i % period];
  }
  prepare(&b, &run, 1, 5 * n * 768 / 625);
  b.cfg.loops = 5;
  b.cfg.packets = &(uint32_t){364};
  b.cfg.n_packets = 1;
  assert_true(go(&b)->passes == 5);
  assert_accounts(&b, 5 * n, 0, 0);
  for (i = 768 * 2; i < b.heap.n; i++) { /* the first 16 inputs are the filter's filling */
    assert_memory_equal(&b.heap.samples[i], &b.heap.samples[i - 768], sizeof(tlg_cs16));
  }
  for (i = 0; i < tlg_pipeline_trace_count(b.p); i++) {
    const struct tlg_trace_record *r = tlg_pipeline_trace_record(b.p, i);

    /* Running numbers, and the packet that holds a seam says so. */
    assert_true(r->first_in == i * 364);
    assert_true(!(r->flags & TLG_TRACE_SEAM) == (r->first_in / n == (r->first_in + r->n_in - 1) / n || !r->first_in));
    seams += (r->flags & TLG_TRACE_SEAM) != 0;
  }
  assert_true(seams == 4);
  finish(&b);

  /* Control: a pass one sample short has a seam that this check sees. */
  {
    const struct run_of cut = {0, pass, n - 1};
    int differs = 0;

    prepare(&b, &cut, 1, 5 * n * 768 / 625);
    b.cfg.loops = 3;
    go(&b);
    for (i = 768 * 2; i < b.heap.n; i++) {
      differs |= memcmp(&b.heap.samples[i], &b.heap.samples[i - 768], sizeof(tlg_cs16)) != 0;
    }
    assert_true(differs);
    finish(&b);
  }
  free(x);
  free(pass);
}

/* gr-sigmf#27: instants after a gap of 1000 samples count the gap; ka9q-radio PR#243: zeros or a marked gap. */
static void gaps_are_marked_filled_or_closed(void **state)
{
  const size_t n = 5000;
  tlg_cs16 *x = noise(n, 5), *y = noise(3000, 6), *filled = calloc(n + 1000 + 3000 + 250, sizeof *filled);
  const struct run_of runs[] = {{0, x, n}, {n + 1000, y, 3000}};
  const uint64_t end = n + 1000 + 3000 + 250; /* a gap at the end as well */
  const struct run_of whole = {0, filled, end}, joined = {0, filled, n + 3000};
  size_t want_n, i;
  struct bench b;
  tlg_cs16 *want;

  (void)state;
  memcpy(filled, x, n * sizeof *x);
  memcpy(filled + n + 1000, y, 3000 * sizeof *y);

  prepare(&b, runs, 2, end * 2);
  b.script.end = end;
  want = alone(runs, 2, end, 0, 0, &want_n);
  assert_true(go(&b)->accounts.gaps == 2);
  assert_samples(&b, want, want_n);
  assert_true(b.heap.n_gaps == 2 && b.heap.gaps > 1228 + 306);
  assert_accounts(&b, end, 1250, 0);
  for (i = 0; i < tlg_pipeline_trace_count(b.p); i++) {
    const struct tlg_trace_record *r = tlg_pipeline_trace_record(b.p, i);

    assert_true(r->air == (r->first_in + r->n_in) * 40000);
    assert_true(!(r->flags & TLG_TRACE_AFTER_GAP) == (r->first_in != n + 1000));
    assert_true(r->first_in < n || r->first_in >= n + 1000);
  }
  free(want);
  finish(&b);

  prepare(&b, runs, 2, end * 2);
  b.script.end = end;
  b.cfg.gaps = TLG_GAPS_ZERO;
  want = alone(&whole, 1, end, 0, 0, &want_n);
  go(&b);
  assert_samples(&b, want, want_n);
  assert_true(b.heap.n_gaps == 0);
  assert_accounts(&b, end, 1250, 0);
  free(want);
  finish(&b);

  memmove(filled + n, filled + n + 1000, 3000 * sizeof *filled);
  prepare(&b, runs, 2, end * 2);
  b.script.end = end;
  b.cfg.gaps = TLG_GAPS_CLOSE;
  want = alone(&joined, 1, n + 3000, 0, 0, &want_n);
  assert_true(go(&b)->accounts.closed == 1250);
  assert_samples(&b, want, want_n);
  assert_accounts(&b, end, 1250, 0);
  free(want);
  finish(&b);
  free(x);
  free(y);
  free(filled);
}

/* A lost packet is a gap like any other, in all three ways; the first, one in the middle, two running, the last. */
static void dropped_packets_are_gaps(void **state)
{
  static const uint64_t drops[] = {0, 7, 20, 21, 31};
  const size_t n = 32 * 625;
  tlg_cs16 *x = noise(n, 7), *filled = malloc(n * sizeof *filled);
  struct run_of left[32];
  const struct run_of all = {0, x, n}, zeroed = {0, filled, n};
  size_t i, n_left = 0, want_n, k = 0;
  struct bench b;
  tlg_cs16 *want;

  (void)state;
  memcpy(filled, x, n * sizeof *x);
  for (i = 0; i < 32; i++) {
    if (k < 5 && drops[k] == i) {
      memset(filled + i * 625, 0, 625 * sizeof *filled);
      k++;
    } else {
      left[n_left++] = (struct run_of){i * 625, x + i * 625, 625};
    }
  }
  for (k = 0; k < 2; k++) {
    prepare(&b, &all, 1, n * 2);
    b.cfg.drops = drops;
    b.cfg.n_drops = 5;
    b.cfg.gaps = k ? TLG_GAPS_ZERO : TLG_GAPS_MARK;
    b.cfg.flush = 1;
    want = k ? alone(&zeroed, 1, n, 0, 1, &want_n) : alone(left, n_left, n, 0, 1, &want_n);
    assert_true(go(&b)->accounts.packets_dropped == 5);
    assert_true(tlg_pipeline_result(b.p)->accounts.dropped == 5 * 625);
    assert_samples(&b, want, want_n);
    assert_accounts(&b, n, 0, 0);
    for (i = 0; i < tlg_pipeline_trace_count(b.p); i++) {
      const struct tlg_trace_record *r = tlg_pipeline_trace_record(b.p, i);
      const int after = r->packet == 1 || r->packet == 8 || r->packet == 22;

      assert_true(!(r->flags & TLG_TRACE_AFTER_DROP) == !after);
    }
    free(want);
    finish(&b);
  }
  free(x);
  free(filled);
}

/* Controls: what would go wrong shows in the check of the accounts. */
static void faults_would_show(void **state)
{
  const size_t n = 20 * 625;
  tlg_cs16 *x = noise(n, 8);
  const struct run_of all = {0, x, n};
  const uint64_t drop = 9;
  struct tlg_accounts *a;
  struct bench b;

  (void)state;
  /* An output block that vanishes between pipeline and sink. */
  prepare(&b, &all, 1, n * 2);
  b.heap.swallow = 11;
  go(&b);
  assert_string_equal(accounts_wrong(&b, n, 0, 0), "what the sink got");
  finish(&b);
  /* A drop that is not counted. */
  prepare(&b, &all, 1, n * 2);
  b.cfg.drops = &drop;
  b.cfg.n_drops = 1;
  a = (struct tlg_accounts *)&go(&b)->accounts;
  assert_null(accounts_wrong(&b, n, 0, 0));
  a->dropped -= 625;
  assert_string_equal(accounts_wrong(&b, n, 0, 0), "inputs");
  a->dropped += 625;
  a->packets_dropped--;
  assert_string_equal(accounts_wrong(&b, n, 0, 0), "packets");
  a->packets_dropped++;
  /* Outputs left out in silence. */
  a->left_out -= 768;
  assert_string_equal(accounts_wrong(&b, n, 0, 0), "outputs");
  a->left_out += 768;
  b.heap.gaps = 0;
  assert_string_equal(accounts_wrong(&b, n, 0, 0), "gaps at the sink");
  finish(&b);
  /* A gap closed in silence: the same recording, its second part moved up, does not account for the missing samples. */
  {
    const struct run_of closed[] = {{0, x, 5000}, {5000, x + 6000, n - 6000}};

    prepare(&b, closed, 2, n * 2);
    go(&b);
    assert_string_equal(accounts_wrong(&b, n, 1000, 0), "inputs");
    finish(&b);
  }
  free(x);
}

/* srsRAN_4G#1049: subframes come every millisecond; gnuradio#6756: no saw-tooth. On the virtual clock both exactly. */
static void virtual_time_repeats_and_is_exact(void **state)
{
  static const uint32_t sizes[] = {625, 364};
  const size_t n = 500000;
  tlg_cs16 *x = calloc(n, sizeof *x);
  const struct run_of run = {0, x, n};
  size_t k;

  (void)state;
  for (k = 0; k < 2; k++) {
    const struct tlg_pipeline_result *r;
    uint64_t i, framed = 0, steps = 0;
    struct bench b;

    prepare(&b, &run, 1, 1);
    b.cfg.packets = &sizes[k];
    b.cfg.n_packets = 1;
    b.cfg.offset = 12345;
    r = go(&b);
    assert_accounts(&b, n, 0, 0);
    assert_true(r->packet.max == 0 && r->packet.count == (n + sizes[k] - 1) / sizes[k]);
    assert_true(r->slope_ppm == 0.0 && r->accounts.packets_dropped == 0);
    assert_true(r->framer.complete == (n * 768 / 625 - 12345) / 30720 && r->framer.late == 0);
    /* Its own length and at most a packet more. */
    assert_true(r->framer.latency.min >= 1000000000);
    assert_true(r->framer.latency.max <= 1000000000 + (uint64_t)sizes[k] * 40000);
    for (i = 0; i < tlg_pipeline_trace_count(b.p); i++) {
      const struct tlg_trace_record *t = tlg_pipeline_trace_record(b.p, i);

      assert_true(t->air == t->delivered && t->received == t->air);
      assert_true(t->depth_resample == 1 && t->depth_deliver == 1); /* whatever the threads do */
      if (t->framed != UINT64_MAX && t->framed != framed) {
        const uint64_t step = t->framed - framed;

        assert_true(!framed || (step >= 1000000000 - (uint64_t)sizes[k] * 40000 &&
                                step <= 1000000000 + (uint64_t)sizes[k] * 40000));
        framed = t->framed;
        steps++;
      }
    }
    assert_true(steps == r->framer.complete);
    assert_true(k || framed % 25000000 == 0);
    finish(&b);
  }
  free(x);
}

static int want_overruns(void *context, const struct tlg_event *event)
{
  _Atomic int *gate = context;

  if (event->kind == TLG_EVENT_OVERRUN && event->n > 0 && event->n < 1000000) {
    atomic_store(gate, 1);
  }
  return 0;
}

/* uhd#430, #429: a loss is told while the queue is still full, not after it has drained: here the sink does not go on
 * before it was told. */
static void overruns_are_told_at_once(void **state)
{
  const size_t n = 400000;
  tlg_cs16 *x = noise(n, 11);
  const struct run_of run = {0, x, n};
  const struct tlg_pipeline_result *r;
  static _Atomic int gate;
  struct bench b;

  (void)state;
  gate = 0;
  prepare(&b, &run, 1, n * 2);
  b.cfg.clock = TLG_CLOCK_REAL;
  b.cfg.overrun = TLG_OVERRUN_DROP;
  b.cfg.queue = 4;
  b.cfg.event = want_overruns;
  b.cfg.context = &gate;
  b.cfg.loops = 20;
  b.heap.gate = &gate;
  r = go(&b);
  assert_int_equal(b.status, TLG_OK);
  assert_true(r->accounts.packets_dropped > 0 && r->accounts.packets_dropped < r->accounts.packets);
  assert_true(r->queue_deliver.high_water == 4);
  assert_accounts(&b, 20 * n, 0, 0);
  finish(&b);

  /* The same with block: nothing is lost, and the stall shows in the delays, which count from air. */
  gate = 0;
  prepare(&b, &run, 1, n * 2);
  b.cfg.clock = TLG_CLOCK_REAL;
  b.cfg.overrun = TLG_OVERRUN_BLOCK;
  b.cfg.queue = 4;
  b.cfg.max_samples = 100000;
  b.heap.fail_at = 0;
  r = go(&b);
  assert_true(r->accounts.packets_dropped == 0 && r->accounts.packets == 160);
  assert_accounts(&b, 100000, 0, 0);
  finish(&b);
  free(x);
}

struct blocker {
  struct bench *b;
  _Atomic int gate;
  uint64_t after;
};

static int open_after(void *context, const struct tlg_event *event)
{
  struct blocker *k = context;

  if (event->samples >= k->after) {
    atomic_store(&k->gate, 1);
  }
  return 0;
}

/* uhd#58: the disk stalls. Everything read ahead is received on time while the source gives nothing. */
static void the_disk_cannot_stall_the_pace(void **state)
{
  const size_t n = 65536;
  tlg_cs16 *x = calloc(n, sizeof *x);
  const struct run_of runs[] = {{0, x, n}, {n, x, n}};
  struct blocker k = {.after = n / 625 * 625 - 625};
  struct bench b;

  (void)state;
  prepare(&b, runs, 2, 1);
  k.b = &b;
  b.script.gate = &k.gate;
  b.cfg.clock = TLG_CLOCK_REAL;
  b.cfg.overrun = TLG_OVERRUN_BLOCK;
  b.cfg.event = open_after;
  b.cfg.context = &k;
  go(&b); /* ends only if the first block was received while the second was held back */
  assert_int_equal(b.status, TLG_OK);
  assert_true(tlg_pipeline_result(b.p)->starved >= 1);
  assert_accounts(&b, 2 * n, 0, 0);
  finish(&b);
  free(x);
}

static int stop_at_once(void *context, const struct tlg_event *event)
{
  (void)context;
  return event->samples > 0;
}

/* A stop drains: what was received is delivered, and the end is treated as an end. */
static void a_stop_drains(void **state)
{
  const size_t n = 100000;
  tlg_cs16 *x = noise(n, 13), *want;
  struct run_of run = {0, x, n};
  const struct tlg_pipeline_result *r;
  size_t want_n;
  struct bench b;

  (void)state;
  prepare(&b, &run, 1, 4000000);
  b.cfg.clock = TLG_CLOCK_REAL;
  b.cfg.overrun = TLG_OVERRUN_BLOCK;
  b.cfg.loops = 0;
  b.cfg.speed = (struct tlg_rate){1, 10};
  b.cfg.event = stop_at_once;
  b.resamp.align = 1;
  r = go(&b);
  assert_int_equal(b.status, TLG_OK);
  assert_true(r->stopped && r->accounts.inputs > 0);
  if (r->accounts.inputs <= n) { /* on a very slow machine it may be in a later pass */
    run.n = (size_t)r->accounts.inputs;
    want = alone(&run, 1, run.n, 1, 0, &want_n);
    assert_samples(&b, want, want_n);
    free(want);
  }
  assert_accounts(&b, r->accounts.inputs, 0, (taps.n - 1) / 2);
  finish(&b);
  free(x);
}

/* A source that never returns does not keep a stop from ending the run. */
static void a_hanging_source_can_be_stopped(void **state)
{
  tlg_cs16 *x = calloc(2000, sizeof *x);
  const struct run_of run = {0, x, 2000};
  struct bench b;

  (void)state;
  prepare(&b, &run, 1, 4000);
  b.script.forever = 1;
  b.cfg.clock = TLG_CLOCK_REAL;
  b.cfg.event = stop_at_once;
  go(&b);
  assert_int_equal(b.status, TLG_OK);
  assert_true(tlg_pipeline_result(b.p)->stopped);
  /* Its thread was cancelled, but what it used is known. */
  assert_true(tlg_pipeline_result(b.p)->stages[TLG_STAGE_READ].cpu_ns > 0);
  assert_true(tlg_pipeline_result(b.p)->stages[TLG_STAGE_READ].voluntary > 0);
  /* 80 us of signal give no slope of the least error of every 100 ms. */
  assert_true(isnan(tlg_pipeline_result(b.p)->floor_slope_ppm));
  finish(&b);
  free(x);
}

static void a_failing_sink_ends_the_run(void **state)
{
  const size_t n = 3000000;
  tlg_cs16 *x = calloc(n, sizeof *x);
  const struct run_of run = {0, x, n};
  char path[] = "/tmp/tlg-pipeline-XXXXXX", file[64];
  int real;

  (void)state;
  assert_non_null(mkdtemp(path));
  snprintf(file, sizeof file, "%s/out.cs16", path);
  for (real = 0; real < 2; real++) {
    struct bench b;

    prepare(&b, &run, 1, 1);
    b.heap.fail_at = 5;
    b.cfg.clock = real ? TLG_CLOCK_REAL : TLG_CLOCK_VIRTUAL;
    b.cfg.queue = real ? 0 : 2;
    assert_int_equal(tlg_sink_open(&b.sinks[1], file, &(struct tlg_sink_cfg){.rate = rate_out}, &b.err), TLG_OK);
    b.cfg.n_sinks = 2;
    go(&b);
    assert_int_equal(b.status, TLG_ESYS);
    assert_string_equal(b.err.text, "full on purpose");
    assert_true(access(file, F_OK) != 0);
    finish(&b);
  }
  assert_int_equal(rmdir(path), 0); /* nothing was left in it */
  free(x);
}

/* A reader's error: what came before is delivered, no file is left, the error is the reader's. */
static void a_failing_source_ends_the_run(void **state)
{
  tlg_cs16 *x = noise(5000, 17), *want;
  const struct run_of runs[] = {{0, x, 3000}, {3000, x + 3000, 2000}};
  char path[] = "/tmp/tlg-pipeline-XXXXXX", file[64];
  size_t want_n;
  struct bench b;

  (void)state;
  assert_non_null(mkdtemp(path));
  snprintf(file, sizeof file, "file:%s/out.cs16", path);
  prepare(&b, runs, 2, 20000);
  b.script.fail_at = 1;
  assert_int_equal(tlg_sink_open(&b.sinks[1], file, &(struct tlg_sink_cfg){.rate = rate_out}, &b.err), TLG_OK);
  assert_true(tlg_sink_is_file(b.sinks[1]) && !tlg_sink_is_stdout(b.sinks[1]));
  b.cfg.n_sinks = 2;
  go(&b);
  assert_int_equal(b.status, TLG_EFORMAT);
  assert_string_equal(b.err.text, "damaged on purpose");
  assert_true(b.err.offset == 4711);
  want = alone(runs, 1, 3000, 0, 0, &want_n);
  assert_samples(&b, want, want_n);
  assert_int_equal(rmdir(path), 0);
  free(want);
  finish(&b);
  free(x);
}

/* Between the first and the last packet nothing is allocated, by any thread. */
struct allocation_watch {
  struct heap heap;
  uint64_t from, to;
};

static int watch_take(void *context, const struct tlg_sink_block *block, struct tlg_error *err)
{
  struct allocation_watch *w = context;

  (void)err;
  w->heap.blocks++;
  if (w->heap.blocks == w->from) {
    counting_malloc_start();
  }
  if (w->heap.blocks == w->to) {
    counting_malloc_stop();
  }
  (void)block;
  return TLG_OK;
}

static void the_sample_path_never_allocates(void **state)
{
  const size_t n = 1000 * 625;
  tlg_cs16 *x = noise(n, 19);
  const struct run_of all = {0, x, n};
  struct allocation_watch w = {.from = 2, .to = 990};
  struct tlg_sink *null_sink;
  const uint64_t drops[] = {100, 200, 201};
  struct bench b;
  int gaps;

  (void)state;
  /* Control: an allocation is counted. */
  if (!counting_malloc_works()) {
    fail_msg("allocations are not counted: link with COUNTING_MALLOC");
  }
  for (gaps = 0; gaps < 2; gaps++) {
    prepare(&b, &all, 1, 1);
    tlg_sink_abort(b.sinks[0]);
    memset(&w.heap, 0, sizeof w.heap);
    assert_int_equal(tlg_sink_callback(&b.sinks[0], watch_take, &w), TLG_OK);
    assert_int_equal(tlg_sink_open(&null_sink, "null:", NULL, NULL), TLG_OK);
    b.sinks[1] = null_sink;
    b.cfg.n_sinks = 2;
    b.cfg.drops = drops;
    b.cfg.n_drops = 3;
    b.cfg.gaps = gaps ? TLG_GAPS_ZERO : TLG_GAPS_MARK;
    go(&b);
    assert_int_equal(b.status, TLG_OK);
    assert_int_equal(counting_malloc_count(), 0);
    finish(&b);
  }
  /* Control: an allocation in between is counted. */
  free(x);
}

static void bad_configurations_are_refused(void **state)
{
  tlg_cs16 x[10] = {{0, 0}};
  const struct run_of run = {0, x, 10};
  const uint32_t none = 0, huge = 1u << 30;
  const uint64_t falling[] = {5, 5};
  struct bench b;
  int k;

  (void)state;
  assert_int_equal(tlg_pipeline_new(NULL, NULL, NULL), TLG_EINVAL);
  for (k = 0; k < 9; k++) {
    prepare(&b, &run, 1, 1);
    b.cfg.n_packets = k == 0 || k == 1;
    b.cfg.packets = k == 0 ? &none : &huge;
    b.cfg.drops = falling;
    b.cfg.n_drops = k == 2 ? 2 : 0;
    b.cfg.rate_out.num = k == 3 ? 30000000 : b.cfg.rate_out.num;
    b.cfg.resamp = k == 4 ? NULL : b.cfg.resamp;
    b.cfg.source.read = k == 5 ? NULL : b.cfg.source.read;
    b.cfg.fifo = k == 6 ? 1000 : 0;
    b.cfg.cores[1] = k == 7 ? -3 : 0;
    b.cfg.rate_in.num = k == 8 ? 0 : b.cfg.rate_in.num;
    b.p = (struct tlg_pipeline *)&b;
    assert_int_equal(tlg_pipeline_new(&b.p, &b.cfg, &b.err), TLG_EINVAL);
    assert_null(b.p);
    assert_true(b.err.text[0]);
    free(b.heap.samples); /* the sink is gone already */
  }
  prepare(&b, &run, 1, 100);
  go(&b);
  assert_int_equal(tlg_pipeline_run(b.p, NULL), TLG_EINVAL); /* once only */
  finish(&b);
}

/* What the host refuses is a warning, or with strict an error; either way everything ends. */
static int count_warnings(void *context, const struct tlg_event *event)
{
  if (event->kind == TLG_EVENT_WARNING) {
    ++*(int *)context;
    assert_non_null(strstr(event->text, "not permitted"));
  }
  return 0;
}

static void refusals_warn_or_end_it(void **state)
{
  tlg_cs16 *x = calloc(100000, sizeof *x);
  const struct run_of run = {0, x, 100000};
  int strict;

  (void)state;
  for (strict = 0; strict < 2; strict++) {
    int warnings = 0;
    struct bench b;

    prepare(&b, &run, 1, 1);
    b.cfg.cores[TLG_STAGE_RESAMPLE] = 1000; /* no such core */
    b.cfg.strict = strict;
    b.cfg.event = count_warnings;
    b.cfg.context = &warnings;
    go(&b);
    assert_int_equal(b.status, strict ? TLG_EUNAVAIL : TLG_OK);
    assert_int_equal(warnings, !strict);
    if (!strict) {
      assert_accounts(&b, 100000, 0, 0);
    }
    finish(&b);
  }
  free(x);
}

/* Pinned as usrpL0, two stages share a core and must yield to each other; also all on one core. */
static void pinned_stages_share_a_core(void **state)
{
  const size_t n = 62500;
  tlg_cs16 *x = noise(n, 23), *want;
  const struct run_of run = {0, x, n};
  size_t want_n;
  int k;

  (void)state;
  want = alone(&run, 1, n, 0, 0, &want_n);
  for (k = 0; k < 3; k++) {
    struct bench b;

    prepare(&b, &run, 1, want_n);
    b.cfg.clock = k == 2 ? TLG_CLOCK_VIRTUAL : TLG_CLOCK_REAL;
    b.cfg.overrun = TLG_OVERRUN_BLOCK;
    b.cfg.pin = k == 0;
    b.cfg.cores[0] = b.cfg.cores[1] = b.cfg.cores[2] = k ? 1 : 0;
    go(&b);
    assert_int_equal(b.status, TLG_OK);
    assert_samples(&b, want, want_n);
    assert_accounts(&b, n, 0, 0);
    finish(&b);
  }
  free(want);
  free(x);
}

/* The trace of a real run keeps its promises, and its file reads back as it was. */
static void traces_are_written_and_read(void **state)
{
  const size_t n = 125000;
  tlg_cs16 *x = calloc(n, sizeof *x);
  const struct run_of run = {0, x, n};
  char folder[] = "/tmp/tlg-pipeline-XXXXXX", path[64];
  struct tlg_trace_record record;
  struct tlg_trace_info info;
  struct tlg_trace *t;
  uint64_t i = 0;
  struct bench b;
  int got;

  (void)state;
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/t.trace", folder);
  prepare(&b, &run, 1, 1);
  b.cfg.clock = TLG_CLOCK_REAL;
  b.cfg.overrun = TLG_OVERRUN_BLOCK;
  b.cfg.trace_packets = 150; /* of 200 */
  go(&b);
  assert_int_equal(tlg_pipeline_trace_write(b.p, path, 0, &b.err), TLG_OK);
  assert_int_equal(tlg_pipeline_trace_write(b.p, path, 0, &b.err), TLG_EEXIST);
  assert_int_equal(tlg_trace_open(&t, path, &info, &b.err), TLG_OK);
  assert_true(info.n_packets == 200 && info.n_records == 150 && info.up == 768 && info.taps == taps.n);
  for (;;) {
    assert_int_equal(tlg_trace_read(t, &record, &got, &b.err), TLG_OK);
    if (!got) {
      break;
    }
    assert_memory_equal(&record, tlg_pipeline_trace_record(b.p, i), sizeof record);
    assert_true(record.packet == 50 + i && record.air == (51 + i) * 25000000);
    i++;
  }
  assert_true(i == 150);
  tlg_trace_close(t);
  unlink(path);
  rmdir(folder);
  finish(&b);
  free(x);
}

static void sinks_are_opened_by_name(void **state)
{
  static const struct {
    const char *text;
    int status;
  } names[] = {{"null:", TLG_OK},
               {"null:x", TLG_EINVAL},
               {"null:?a=b", TLG_EINVAL},
               {"", TLG_EINVAL},
               {"file:", TLG_EINVAL},
               {"udp:127.0.0.1", TLG_EINVAL},
               {"srsran:x", TLG_EINVAL},
               {"zmq:x", TLG_EINVAL},
               {"unix:", TLG_EINVAL},
               {"shm:", TLG_EINVAL},
               {"stdout:x", TLG_EINVAL},
               {"fifo:/tmp", TLG_ESYS},
               {"fifo:", TLG_EINVAL},
               {"foo:bar", TLG_EINVAL},
               {"upd:127.0.0.1:5", TLG_EINVAL},
               {"UDP:127.0.0.1:5", TLG_EINVAL},
               {"/nonexistent:x/y", TLG_ESYS},
               {"file:/tmp/x?format=q", TLG_EINVAL},
               {"file:/tmp/x?mode=1", TLG_EINVAL},
               {"file:/tmp/x?format", TLG_EINVAL},
               {"file:/nonexistent/x", TLG_ESYS}};
  static const struct {
    const char *text, *path;
  } paths[] = {{"null:", NULL},     {"stdout:", NULL}, {"-", NULL},        {"udp:h:1", NULL},
               {"foo:bar", NULL},   {"fifo:p", "p"},   {"a?b=c", "a?b=c"}, {"file:a?format=cf32", "a"},
               {"file:u:v", "u:v"}, {"./u:v", "./u:v"}};
  size_t i;

  (void)state;
  for (i = 0; i < sizeof names / sizeof *names; i++) {
    struct tlg_error err = {0};
    struct tlg_sink *s;

    assert_int_equal(tlg_sink_open(&s, names[i].text, NULL, &err), names[i].status);
    assert_true((s != NULL) == (names[i].status == TLG_OK));
    assert_true(names[i].status == TLG_OK || err.text[0]);
    if (s) {
      assert_string_equal(tlg_sink_name(s), names[i].text);
      assert_int_equal(tlg_sink_close(s, &err), TLG_OK);
    }
  }
  for (i = 0; i < sizeof paths / sizeof *paths; i++) {
    char *path = tlg_sink_text_path(paths[i].text);

    assert_true(!path == !paths[i].path);
    if (path) {
      assert_string_equal(path, paths[i].path);
    }
    free(path);
  }
  assert_true(tlg_sink_text_is_stdout("-") && tlg_sink_text_is_stdout("stdout:") && !tlg_sink_text_is_stdout("a"));
  tlg_sink_abort(NULL);
}

static int setup(void **state)
{
  (void)state;
  return tlg_taps_default(&taps, &rate_in, &rate_out, NULL);
}

static int teardown(void **state)
{
  (void)state;
  tlg_taps_free(&taps);
  return 0;
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_cut_gives_the_bytes_of_the_resampler),
      cmocka_unit_test(a_loop_has_no_seam),
      cmocka_unit_test(short_recordings_repeat_out_of_memory),
      cmocka_unit_test(short_recordings_repeat_their_frequencies),
      cmocka_unit_test(gaps_are_marked_filled_or_closed),
      cmocka_unit_test(dropped_packets_are_gaps),
      cmocka_unit_test(faults_would_show),
      cmocka_unit_test(virtual_time_repeats_and_is_exact),
      cmocka_unit_test(overruns_are_told_at_once),
      cmocka_unit_test(the_disk_cannot_stall_the_pace),
      cmocka_unit_test(a_stop_drains),
      cmocka_unit_test(a_hanging_source_can_be_stopped),
      cmocka_unit_test(a_failing_sink_ends_the_run),
      cmocka_unit_test(a_failing_source_ends_the_run),
      cmocka_unit_test(the_sample_path_never_allocates),
      cmocka_unit_test(bad_configurations_are_refused),
      cmocka_unit_test(refusals_warn_or_end_it),
      cmocka_unit_test(pinned_stages_share_a_core),
      cmocka_unit_test(traces_are_written_and_read),
      cmocka_unit_test(sinks_are_opened_by_name),
  };

  return cmocka_run_group_tests_name("pipeline", tests, setup, teardown);
}
