/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of samples over one hop: a sending and a receiving end, in two threads or two processes, of a process of their
 * own, so that no hop finds what another has left. */
#include "cli.h"
#include "hops.h"
#include "ring.h"
#include "tlg_replay.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
  OPEN_S = 10,     /* longest wait for both ends to be open */
  GRACE_MS = 200,  /* an end that is not open by then waits for the first block */
  LOST_MS = 500,   /* a block that is not there by then is lost */
  MOST_LOST = 20,  /* in a row: the hop does not work */
  ROW_S = 120,     /* a hop that takes longer is given up */
  RING_SLOTS = 64, /* of the pipeline's own ring */
  READ = 1 << 16,  /* samples asked for at once */
};

/* Between sender, receiver and the program. */
struct shared {
  _Atomic uint32_t passed; /* blocks that came or were lost; a futex */
  _Atomic uint32_t ready;  /* 1: the receiving end is being opened, 2: it is open; a futex */
  _Atomic int failed;      /* a status, with its error */
  struct tlg_error error;
  volatile int stop;
  struct hop_row rows[HOPS_MOST_SIZES];
  uint64_t times[]; /* begin and end of each block, in ns; end 0 = lost */
};

struct ends {
  const struct hop_run *run;
  struct shared *shared;
  struct tlg_ring *ring; /* NULL: sink and source by name */
  char sink[256], source[256];
  uint64_t blocks;
};

static void wake(_Atomic uint32_t *word)
{
  syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* Until *word is at least `count`, at most ms; whether it came to be. */
static int wait_for(_Atomic uint32_t *word, uint32_t count, unsigned ms)
{
  const uint64_t end = cli_now_ns() + 1000000u * (uint64_t)ms;

  for (;;) {
    const uint32_t seen = atomic_load(word);
    const uint64_t now = cli_now_ns();
    struct timespec left;

    if (seen >= count) {
      return 1;
    }
    if (now >= end) {
      return 0;
    }
    left.tv_sec = (time_t)((end - now) / 1000000000u);
    left.tv_nsec = (long)((end - now) % 1000000000u);
    syscall(SYS_futex, word, FUTEX_WAIT, seen, &left, NULL, 0);
  }
}

static void fail(struct shared *shared, int status, const struct tlg_error *err)
{
  int none = 0;

  if (atomic_compare_exchange_strong(&shared->failed, &none, status)) {
    shared->error = *err;
  }
  shared->stop = 1;
}

static size_t per_size(const struct hop_run *run)
{
  return run->warm_up + 2 * (size_t)run->repetitions;
}

/* Samples of block number k. */
static size_t block_samples(const struct hop_run *run, uint64_t k)
{
  return run->sizes[k / per_size(run)] / sizeof(tlg_cs16);
}

/* ---- the receiving end ---------------------------------------------------------------------------------------- */

struct receiver {
  struct ends *ends;
  uint64_t position, block, block_end;
  int whole; /* nothing of the block is missing so far */
};

/* The samples up to `end` came, or are missing. */
static void advance(struct receiver *r, uint64_t end, int present)
{
  struct shared *shared = r->ends->shared;

  while (r->position < end && r->block < r->ends->blocks) {
    const uint64_t to = end < r->block_end ? end : r->block_end;

    r->whole &= present;
    r->position = to;
    if (to == r->block_end) {
      shared->times[2 * r->block + 1] = r->whole ? cli_now_ns() : 0;
      r->whole = 1;
      r->block++;
      r->block_end += r->block < r->ends->blocks ? block_samples(r->ends->run, r->block) : 0;
      atomic_store(&shared->passed, (uint32_t)r->block);
      wake(&shared->passed);
    }
  }
}

static int receive_ring(struct receiver *r)
{
  const tlg_cs16 *slot;

  while ((slot = tlg_ring_wait_item(r->ends->ring, NULL))) {
    static tlg_cs16 out[READ];

    memcpy(out, slot, block_samples(r->ends->run, r->block) * sizeof *out);
    advance(r, r->block_end, 1);
    tlg_ring_release(r->ends->ring);
  }
  return TLG_OK;
}

static int receive_source(struct receiver *r, const struct tlg_source *source, struct tlg_error *err)
{
  tlg_cs16 *buf = malloc(READ * sizeof *buf);
  int status = buf ? TLG_OK : tlg_error_set(err, TLG_ENOMEM, "out of memory");

  while (!status && !r->ends->shared->stop && r->block < r->ends->blocks) {
    uint64_t first = r->position;
    size_t got = 0;

    status = source->read(source->context, buf, READ, &got, &first, err);
    if (status == TLG_EINTR) {
      status = TLG_OK;
    } else if (!status && !got) {
      break;
    } else if (!status) {
      advance(r, first, 0);
      advance(r, first + got, 1);
    }
  }
  free(buf);
  return status;
}

static void tell(struct shared *shared, uint32_t how)
{
  atomic_store(&shared->ready, how);
  wake(&shared->ready);
}

static void *receive(void *argument)
{
  struct ends *ends = argument;
  struct receiver r = {.ends = ends, .whole = 1, .block_end = block_samples(ends->run, 0)};
  const struct tlg_rate rate = {30720000, 1};
  struct tlg_error err = {0};
  int status;

  if (ends->ring) {
    tell(ends->shared, 2);
    status = receive_ring(&r);
  } else if (tlg_live_is(ends->source)) {
    const struct tlg_live_cfg cfg = {.rate = rate, .format = TLG_FORMAT_CS16};
    struct tlg_live *live = NULL;

    tell(ends->shared, 1);
    status = tlg_live_open(&live, ends->source, &cfg, &ends->shared->stop, &err);
    if (!status) {
      const struct tlg_source source = tlg_live_source(live);

      tell(ends->shared, 2);
      status = receive_source(&r, &source, &err);
      tlg_live_close(live);
    }
  } else {
    const struct tlg_reader_cfg cfg = {.rate = rate, .format = TLG_FORMAT_CS16};
    struct tlg_reader *reader = NULL;

    tell(ends->shared, 2); /* a named pipe is opened when both sides are there */
    status = tlg_reader_open(&reader, ends->source, &cfg, &err);
    if (!status) {
      const struct tlg_source source = tlg_source_reader(reader);

      status = receive_source(&r, &source, &err);
      tlg_reader_close(reader);
    }
  }
  if (status && !ends->shared->stop) {
    fail(ends->shared, status, &err);
  }
  return NULL;
}

/* ---- the sending end ------------------------------------------------------------------------------------------ */

static int send_block(struct ends *ends, struct tlg_sink *sink, const tlg_cs16 *samples, uint64_t k, uint64_t *position,
                      struct tlg_error *err)
{
  const size_t n = block_samples(ends->run, k);
  const struct tlg_sink_block block = {.samples = samples, .n = n, .first = *position};
  void *slot;

  *position += n;
  ends->shared->times[2 * k] = cli_now_ns();
  if (sink) {
    return tlg_sink_write(sink, &block, err);
  }
  slot = tlg_ring_wait_space(ends->ring);
  if (!slot) {
    return tlg_error_set(err, TLG_ESYS, "the ring was closed");
  }
  memcpy(slot, samples, n * sizeof *samples);
  tlg_ring_publish(ends->ring);
  return TLG_OK;
}

static int send_all(struct ends *ends, struct tlg_sink *sink, struct tlg_error *err)
{
  const struct hop_run *run = ends->run;
  struct shared *shared = ends->shared;
  tlg_cs16 *samples = calloc(READ, sizeof *samples);
  uint64_t k = 0, position = 0;
  unsigned lost = 0, i, b;
  int status = samples ? TLG_OK : tlg_error_set(err, TLG_ENOMEM, "out of memory");

  for (i = 0; i < run->n_sizes && !status; i++) {
    for (b = 0; b < per_size(run) && !status && !shared->stop; b++, k++) {
      const int flood = b >= run->warm_up + run->repetitions;

      status = send_block(ends, sink, samples, k, &position, err);
      if (!status && (!flood || b + 1 == per_size(run))) {
        /* What is behind a loss is known to be lost only when something comes after it. */
        lost = wait_for(&shared->passed, (uint32_t)(k + 1), LOST_MS) ? 0 : lost + 1;
        if (lost == MOST_LOST) {
          status = tlg_error_set(err, TLG_EUNAVAIL, "%u blocks of %zu bytes in a row did not arrive", MOST_LOST,
                                 run->sizes[i]);
        }
      }
    }
  }
  free(samples);
  return status;
}

/* ---- what was seen -------------------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
  const double x = *(const double *)a, y = *(const double *)b;

  return (x > y) - (x < y);
}

/* The figures of n delays in us, which are sorted. */
static void delays(struct hop_row *row, double *us, size_t n)
{
  double sum = 0;
  size_t i;

  row->received = n;
  if (!n) {
    return;
  }
  qsort(us, n, sizeof *us, compare);
  for (i = 0; i < n; i++) {
    sum += us[i];
  }
  row->mean_us = sum / (double)n;
  row->jitter_us = us[n - 1] - us[0];
  row->p50_us = us[(n + 1) / 2 - 1]; /* nearest rank */
  row->p99_us = us[(99 * n + 99) / 100 - 1];
  row->max_us = us[n - 1];
}

static void summarise(const struct hop_run *run, const uint64_t *times, struct hop_row *rows, double *us)
{
  size_t i, k;

  for (i = 0; i < run->n_sizes; i++) {
    const uint64_t *t = times + 2 * i * per_size(run) + 2 * run->warm_up, *flood = t + 2 * run->repetitions;
    uint64_t last = 0;
    size_t n = 0;

    rows[i].size_bytes = run->sizes[i];
    rows[i].sent = rows[i].flood_sent = run->repetitions;
    for (k = 0; k < run->repetitions; k++) {
      if (t[2 * k + 1]) {
        us[n++] = (double)(t[2 * k + 1] - t[2 * k]) * 1e-3;
      }
      if (flood[2 * k + 1]) {
        rows[i].flood_received++;
        last = flood[2 * k + 1];
      }
    }
    delays(&rows[i], us, n);
    rows[i].mb_s = last ? (double)rows[i].flood_received * (double)run->sizes[i] * 1e3 / (double)(last - flood[0]) : 0;
  }
}

/* ---- one hop, in a process of its own ------------------------------------------------------------------------ */

/* A port that is free now, by the system's choice. */
static unsigned free_port(void)
{
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  unsigned port = 0;

  if (fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
      getsockname(fd, (struct sockaddr *)&address, &size) == 0) {
    port = ntohs(address.sin_port);
  }
  if (fd >= 0) {
    close(fd);
  }
  return port;
}

/* %d and %p put in. */
static void expand(char *text, size_t size, const char *from, const char *folder, unsigned port)
{
  size_t at = 0;

  for (; *from && at + 1 < size; from++) {
    if (from[0] == '%' && (from[1] == 'd' || from[1] == 'p')) {
      const int n =
          from[1] == 'd' ? snprintf(text + at, size - at, "%s", folder) : snprintf(text + at, size - at, "%u", port);

      at += n > 0 ? (size_t)n : 0;
      from++;
    } else {
      text[at++] = *from;
    }
  }
  text[at < size ? at : size - 1] = '\0';
}

static int real_time(int priority, struct tlg_error *err)
{
  const struct sched_param param = {.sched_priority = priority};

  return priority && sched_setscheduler(0, SCHED_FIFO, &param) != 0
             ? tlg_error_set(err, TLG_EUNAVAIL, "SCHED_FIFO is not permitted here: %s", strerror(errno))
             : TLG_OK;
}

static int send_side(struct ends *ends, struct tlg_error *err)
{
  const struct tlg_sink_cfg cfg = {.rate = {30720000, 1}};
  struct tlg_sink *sink = NULL;
  int status = ends->ring ? TLG_OK : tlg_sink_open(&sink, ends->sink, &cfg, err);

  if (!status && !wait_for(&ends->shared->ready, 1, OPEN_S * 1000)) {
    status = tlg_error_set(err, TLG_EUNAVAIL, "the receiving end was not there within %d s", OPEN_S);
  }
  /* Some sources are open only when they know what comes: the first block tells them. */
  wait_for(&ends->shared->ready, 2, GRACE_MS);
  if (!status) {
    status = send_all(ends, sink, err);
  }
  if (status) {
    fail(ends->shared, status, err); /* the receiver's own error, if it had one, came first */
  }
  ends->shared->stop = 1;
  if (ends->ring) {
    tlg_ring_close(ends->ring);
  }
  tlg_sink_abort(sink);
  return status;
}

static int run_ends(const struct hop *hop, const struct hop_run *run, struct shared *shared, struct tlg_error *err)
{
  const struct tlg_ring_wait wait = {.spins = tlg_ring_spins_for(1000)};
  struct ends ends = {.run = run, .shared = shared, .blocks = run->n_sizes * per_size(run)};
  const unsigned port = free_port();
  size_t largest = 0, i;
  pthread_t thread;
  pid_t child = 0;
  int status = real_time(run->fifo, err), cause;

  for (i = 0; i < run->n_sizes; i++) {
    largest = run->sizes[i] > largest ? run->sizes[i] : largest;
  }
  if (!status && !hop->sink) {
    status = tlg_ring_new(&ends.ring, largest, RING_SLOTS, &wait, &wait);
    if (!status) {
      tlg_ring_touch(ends.ring);
    }
  } else if (!status) {
    expand(ends.sink, sizeof ends.sink, hop->sink, run->folder, port);
    expand(ends.source, sizeof ends.source, hop->source, run->folder, port);
    if (strncmp(ends.sink, "fifo:", 5) == 0 && mkfifo(ends.source, 0600) != 0) {
      status = tlg_error_set(err, TLG_ESYS, "%s: %s", ends.source, strerror(errno));
    }
  }
  if (status) {
    return status;
  }
  if (run->between == HOP_PROCESSES) {
    child = fork();
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      receive(&ends);
      _exit(0);
    }
    if (child < 0) {
      return tlg_error_set(err, TLG_ESYS, "no second process: %s", strerror(errno));
    }
  } else {
    cause = pthread_create(&thread, NULL, receive, &ends);
    if (cause) {
      return tlg_error_set(err, TLG_ESYS, "no second thread: %s", strerror(cause));
    }
  }
  status = send_side(&ends, err);
  if (child) {
    waitpid(child, NULL, 0);
  } else {
    pthread_join(thread, NULL);
  }
  tlg_ring_free(ends.ring);
  return status;
}

/* Whether the process has ended by itself within ROW_S; if not it is ended. */
static int wait_process(pid_t child, const volatile int *stop, int *code)
{
  const uint64_t end = cli_now_ns() + ROW_S * (uint64_t)1000000000;
  const struct timespec step = {.tv_nsec = 2000000};

  while (waitpid(child, code, WNOHANG) == 0) {
    if (cli_now_ns() > end || (stop && *stop)) {
      kill(-child, SIGKILL);
      waitpid(child, code, 0);
      return 0;
    }
    nanosleep(&step, NULL);
  }
  return 1;
}

static int run_apart(const struct hop *hop, const struct hop_run *run, const volatile int *stop, struct hop_row *rows,
                     struct tlg_error *err)
{
  const size_t blocks = run->n_sizes * per_size(run), bytes = sizeof(struct shared) + 2 * blocks * sizeof(uint64_t);
  struct shared *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  double *us = malloc(run->repetitions * sizeof *us);
  int status = TLG_OK, code = 0;
  pid_t child;

  if (shared == MAP_FAILED || !us) {
    free(us);
    return tlg_error_set(err, TLG_ENOMEM, "out of memory");
  }
  fflush(NULL);
  child = fork();
  if (child == 0) {
    struct tlg_error own = {0};

    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    status = run_ends(hop, run, shared, &own);
    if (status) {
      fail(shared, status, &own);
    }
    _exit(0);
  }
  if (child < 0) {
    status = tlg_error_set(err, TLG_ESYS, "no process for it: %s", strerror(errno));
  } else if (!wait_process(child, stop, &code)) {
    status = stop && *stop ? tlg_error_set(err, TLG_EINTR, "stopped")
                           : tlg_error_set(err, TLG_EUNAVAIL, "gave no result within %d s", ROW_S);
  } else if (!WIFEXITED(code)) {
    status = tlg_error_set(err, TLG_EUNAVAIL, "ended by signal %d", WTERMSIG(code));
  } else if (atomic_load(&shared->failed)) {
    status = atomic_load(&shared->failed);
    if (err) {
      *err = shared->error;
    }
  } else {
    summarise(run, shared->times, rows, us);
  }
  free(us);
  munmap(shared, bytes);
  return status;
}

/* ---- another program's hop ----------------------------------------------------------------------------------- */

/* A line "SIZE TOTAL_NS DELAY_NS...". */
static int parse_row(char *line, const struct hop_run *run, size_t i, struct hop_row *row, double *us)
{
  char *rest = line, *end;
  const unsigned long long size = strtoull(rest, &end, 10), total = strtoull(end, &rest, 10);
  size_t n;

  for (n = 0; n < run->repetitions; n++) {
    us[n] = (double)strtoull(rest, &end, 10) * 1e-3;
    if (end == rest) {
      return 0;
    }
    rest = end;
  }
  if (size != run->sizes[i] || !total) {
    return 0;
  }
  row->size_bytes = (size_t)size;
  row->sent = row->flood_sent = row->flood_received = run->repetitions;
  row->mb_s = (double)size * run->repetitions * 1e3 / (double)total;
  delays(row, us, n);
  return 1;
}

static int run_program(const struct hop *hop, const struct hop_run *run, struct hop_row *rows, struct tlg_error *err)
{
  char numbers[3 + HOPS_MOST_SIZES][24];
  char *arguments[7 + HOPS_MOST_SIZES] = {(char *)run->bench_omniorb, (char *)hop->program[0], (char *)hop->program[1]};
  double *us = malloc(run->repetitions * sizeof *us);
  char *line = NULL;
  size_t cap = 0, i, rows_read = 0;
  int pipes[2], code = 0, n = 3;
  FILE *in;
  pid_t child;

  if (!us || pipe(pipes) != 0) {
    free(us);
    return tlg_error_set(err, TLG_ESYS, "no pipe: %s", strerror(errno));
  }
  snprintf(numbers[0], sizeof *numbers, "%d", run->fifo);
  snprintf(numbers[1], sizeof *numbers, "%u", run->warm_up);
  snprintf(numbers[2], sizeof *numbers, "%u", run->repetitions);
  for (i = 0; i < run->n_sizes; i++) {
    snprintf(numbers[3 + i], sizeof *numbers, "%zu", run->sizes[i]);
  }
  for (i = 0; i < 3 + run->n_sizes; i++) {
    arguments[n++] = numbers[i];
  }
  fflush(NULL);
  child = fork();
  if (child == 0) {
    dup2(pipes[1], STDOUT_FILENO);
    close(pipes[0]);
    close(pipes[1]);
    execv(run->bench_omniorb, arguments);
    _exit(127);
  }
  close(pipes[1]);
  in = child > 0 ? fdopen(pipes[0], "r") : NULL;
  if (!in) {
    close(pipes[0]);
    free(us);
    return tlg_error_set(err, TLG_ESYS, "%s cannot be started: %s", run->bench_omniorb, strerror(errno));
  }
  while (rows_read < run->n_sizes && getline(&line, &cap, in) > 0 &&
         parse_row(line, run, rows_read, &rows[rows_read], us)) {
    rows_read++;
  }
  fclose(in);
  free(line);
  free(us);
  waitpid(child, &code, 0);
  return rows_read == run->n_sizes && WIFEXITED(code) && WEXITSTATUS(code) == 0
             ? TLG_OK
             : tlg_error_set(err, TLG_EUNAVAIL, "%s gave no result", run->bench_omniorb);
}

int hops_run(const struct hop *hop, const struct hop_run *run, const volatile int *stop, struct hop_row *rows,
             struct tlg_error *err)
{
  memset(rows, 0, run->n_sizes * sizeof *rows);
  return hop->program[0] ? run_program(hop, run, rows, err) : run_apart(hop, run, stop, rows, err);
}
