/* SPDX-License-Identifier: Apache-2.0 */
/* Forked workers. Jobs are handed out through one pipe, so that a fast worker takes more; results come back through a
 * pipe a worker, each framed by job number and length. */
#include "workers.h"

#include "cli.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_WORKERS = 256 };
#define NO_JOB UINT64_MAX

struct frame {
  uint64_t job, size;
};

struct worker {
  pid_t pid;
  int to, from; /* pipes */
  uint64_t job; /* what it works on */
  char *bytes;
  size_t used, room;
};

static int write_all(int fd, const void *bytes, size_t n)
{
  const char *at = bytes;

  while (n) {
    const ssize_t done = write(fd, at, n);

    if (done < 0 && errno == EINTR) {
      continue;
    }
    if (done <= 0) {
      return -1;
    }
    at += done;
    n -= (size_t)done;
  }
  return 0;
}

static ssize_t read_some(int fd, void *bytes, size_t n)
{
  ssize_t done;

  do {
    done = read(fd, bytes, n);
  } while (done < 0 && errno == EINTR);
  return done;
}

static void work(const struct cli_workers *w, int from_parent, int to_parent)
{
  uint64_t job;

  while (read_some(from_parent, &job, sizeof job) == (ssize_t)sizeof job) {
    struct frame frame = {job, 0};
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);

    if (!f) {
      _exit(CLI_SYSTEM);
    }
    w->run(w->context, (size_t)job, f);
    if (fclose(f) != 0) {
      _exit(CLI_SYSTEM);
    }
    frame.size = size;
    if (write_all(to_parent, &frame, sizeof frame) || write_all(to_parent, text, size)) {
      _exit(CLI_SYSTEM);
    }
    free(text);
  }
  _exit(0);
}

static int start(const struct cli_workers *w, struct worker *workers, unsigned n, unsigned k)
{
  struct worker *one = &workers[k];
  int down[2], up[2];
  unsigned i;

  if (pipe(down)) {
    return -1;
  }
  if (pipe(up)) {
    close(down[0]);
    close(down[1]);
    return -1;
  }
  fflush(NULL);
  one->pid = fork();
  if (one->pid == 0) {
    signal(SIGINT, SIG_IGN); /* the parent decides */
    for (i = 0; i < n; i++) {
      if (i != k && workers[i].pid > 0) {
        close(workers[i].to);
        close(workers[i].from);
      }
    }
    close(down[1]);
    close(up[0]);
    work(w, down[0], up[1]);
  }
  close(down[0]);
  close(up[1]);
  one->to = down[1];
  one->from = up[0];
  one->job = NO_JOB;
  one->used = 0;
  if (one->pid < 0) {
    close(one->to);
    close(one->from);
    return -1;
  }
  return 0;
}

static void stop(struct worker *one)
{
  if (one->pid > 0) {
    close(one->to);
    close(one->from);
    one->pid = 0;
  }
}

static int give(const struct cli_workers *w, struct worker *one, uint64_t *next)
{
  if (*next >= w->n_jobs || cli_stop) {
    one->job = NO_JOB;
    return 0;
  }
  one->job = (*next)++;
  return write_all(one->to, &one->job, sizeof one->job);
}

/* Take what a worker sent. Returns 1 when it has ended. */
static int take(const struct cli_workers *w, struct worker *one, uint64_t *next, size_t *done)
{
  struct frame frame;
  ssize_t got;

  if (one->room - one->used < 65536) {
    char *grown = realloc(one->bytes, one->room += 131072);

    if (!grown) {
      return 1;
    }
    one->bytes = grown;
  }
  got = read_some(one->from, one->bytes + one->used, one->room - one->used);
  if (got <= 0) {
    return 1;
  }
  one->used += (size_t)got;
  if (one->used >= sizeof frame) {
    memcpy(&frame, one->bytes, sizeof frame);
    if (one->used >= sizeof frame + frame.size) {
      const uint64_t job = one->job;

      one->job = NO_JOB;
      one->used = 0;
      (void)give(w, one, next);
      w->result(w->context, (size_t)job, one->bytes + sizeof frame, (size_t)frame.size, 0);
      ++*done;
    }
  }
  return 0;
}

static unsigned cores(void)
{
  cpu_set_t set;

  return sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0 ? (unsigned)CPU_COUNT(&set) : 1;
}

int cli_workers_run(const char *command, const struct cli_workers *w)
{
  struct worker workers[MOST_WORKERS];
  struct pollfd polls[MOST_WORKERS];
  unsigned n = w->n_workers ? w->n_workers : cores(), k, alive = 0;
  void (*was)(int) = signal(SIGPIPE, SIG_IGN);
  uint64_t next = 0;
  size_t done = 0;
  int status = 0;

  n = n > MOST_WORKERS ? MOST_WORKERS : n;
  n = n > w->n_jobs ? (unsigned)w->n_jobs : n;
  memset(workers, 0, sizeof workers);
  for (k = 0; k < n; k++) {
    if (start(w, workers, n, k) == 0) {
      alive++;
      (void)give(w, &workers[k], &next);
    }
  }
  if (n && !alive) {
    cli_say(command, "no worker process could be started: %s", strerror(errno));
    status = CLI_SYSTEM;
  }
  while (alive && done < w->n_jobs) {
    unsigned busy = 0;

    for (k = 0; k < n; k++) {
      polls[k].fd = workers[k].pid > 0 ? workers[k].from : -1;
      polls[k].events = POLLIN;
      polls[k].revents = 0;
      busy += workers[k].pid > 0 && workers[k].job != NO_JOB;
    }
    if (!busy) {
      break;
    }
    if (poll(polls, n, -1) < 0 && errno != EINTR) {
      status = CLI_SYSTEM;
      break;
    }
    for (k = 0; k < n; k++) {
      struct worker *one = &workers[k];
      int how = 0;
      uint64_t job;

      if (one->pid <= 0 || !polls[k].revents || !take(w, one, &next, &done)) {
        continue;
      }
      job = one->job;
      waitpid(one->pid, &how, 0);
      stop(one);
      alive--;
      if (job != NO_JOB) {
        w->result(w->context, (size_t)job, NULL, 0, WIFSIGNALED(how) ? WTERMSIG(how) : -1);
        done++;
      }
      if (next < w->n_jobs && start(w, workers, n, k) == 0) {
        alive++;
        (void)give(w, one, &next);
      }
    }
    cli_progress(command, done, w->n_jobs);
  }
  cli_progress(command, w->n_jobs, w->n_jobs);
  for (k = 0; k < n; k++) {
    const pid_t pid = workers[k].pid;

    stop(&workers[k]);
    if (pid > 0) {
      while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
      }
    }
    free(workers[k].bytes);
  }
  signal(SIGPIPE, was);
  if (!status && done < w->n_jobs && !cli_stop) {
    cli_say(command, "workers ended before all work was done");
    status = CLI_SYSTEM;
  }
  return status;
}
