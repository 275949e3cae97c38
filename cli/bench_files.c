/* SPDX-License-Identifier: Apache-2.0 */
/* taplag bench files: resample from file to file beside cat of the same bytes, in turns, out of the page cache. */
#include "bench.h"
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NAME "bench files"

enum { MOST_RUNS = 1001 };

static struct {
  char *duration, *runs, *folder, *cpu;
  int json;
} options;

static const struct poptOption table[] = {
    {"duration", 'd', POPT_ARG_STRING, &options.duration, 0, "signal at 25 Msps (1s)", "TIME"},
    {"runs", 0, POPT_ARG_STRING, &options.runs, 0, "of each, in turns; medians count (15)", "N"},
    {"folder", 0, POPT_ARG_STRING, &options.folder, 0, "where the files stand ($TMPDIR or /tmp)", "DIR"},
    {"cpu", 0, POPT_ARG_STRING, &options.cpu, 0, "cap the instruction set, as in resample", "SET"},
    {"json", 0, POPT_ARG_NONE, &options.json, 0, "results as JSON", NULL},
    POPT_TABLEEND,
};

static const char description[] =
    "Each run is a program of its own, from start to end; the output of the run before is removed first. CPU time is\n"
    "what the kernel counts for the program, copying to and from the page cache included.\n";

struct times {
  double wall[MOST_RUNS], cpu[MOST_RUNS];
  long peak_kib;
};

static int compare(const void *a, const void *b)
{
  const double x = *(const double *)a, y = *(const double *)b;

  return (x > y) - (x < y);
}

static double median(double *values, size_t n)
{
  qsort(values, n, sizeof *values, compare);
  return values[n / 2];
}

static double seconds(void)
{
  struct timespec t;

  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double of(const struct timeval *t)
{
  return (double)t->tv_sec + 1e-6 * (double)t->tv_usec;
}

/* Run a program with stdout into `out` (NULL: /dev/null); 0 or an exit status of ours. */
static int run(const char *const argv[], const char *out, struct times *times, size_t k)
{
  const double begin = seconds();
  struct rusage usage;
  pid_t child;
  int status;

  fflush(NULL);
  child = fork();
  if (child == 0) {
    const int fd = open(out ? out : "/dev/null", O_WRONLY | O_CREAT | O_TRUNC, 0600);

    if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0) {
      _exit(126);
    }
    execvp(argv[0], (char *const *)argv);
    _exit(127);
  }
  if (child < 0 || wait4(child, &status, 0, &usage) < 0) {
    cli_say(NAME, "cannot run %s: %s", argv[0], strerror(errno));
    return CLI_SYSTEM;
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    cli_say(NAME, "%s ended with %s %d", argv[0], WIFEXITED(status) ? "status" : "signal",
            WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
    return CLI_SYSTEM;
  }
  if (times) {
    times->wall[k] = seconds() - begin;
    times->cpu[k] = of(&usage.ru_utime) + of(&usage.ru_stime);
    times->peak_kib = usage.ru_maxrss > times->peak_kib ? usage.ru_maxrss : times->peak_kib;
  }
  return 0;
}

struct figures {
  double signal_s, cat_wall, cat_cpu, our_wall, our_cpu;
  long peak_kib;
  uint64_t runs;
};

static int print(const struct figures *f)
{
  if (options.json) {
    return cli_print_json("bench-files",
                          json_pack("{s:o, s:I, s:{s:o, s:o, s:o, s:o, s:I}}", "signal_s", cli_number(f->signal_s, 6),
                                    "runs", (json_int_t)f->runs, "measured", "cat_wall_s", cli_number(f->cat_wall, 4),
                                    "cat_cpu_s", cli_number(f->cat_cpu, 4), "resample_wall_s",
                                    cli_number(f->our_wall, 4), "resample_cpu_s", cli_number(f->our_cpu, 4), "peak_kib",
                                    (json_int_t)f->peak_kib),
                          stdout);
  }
  printf("%.3g s of signal, cs16, 25 to 30.72 Msps, file to file in the page cache; medians of %llu runs in turns\n\n",
         f->signal_s, (unsigned long long)f->runs);
  printf("             wall ms   CPU ms   times real time   CPU / signal\n");
  printf("cat        %9.1f %8.1f\n", 1e3 * f->cat_wall, 1e3 * f->cat_cpu);
  printf("resample   %9.1f %8.1f   %15.1f   %12.4f\n\n", 1e3 * f->our_wall, 1e3 * f->our_cpu, f->signal_s / f->our_wall,
         f->our_cpu / f->signal_s);
  printf("resample takes %.2f times the time of cat, %.2f times its CPU; at most %.1f MiB of memory\n",
         f->our_wall / f->cat_wall, f->our_cpu / f->cat_cpu, (double)f->peak_kib / 1024.0);
  return cli_finish(NAME, stdout, CLI_DONE);
}

static int measure(const char *folder, uint64_t runs, struct figures *f)
{
  static struct times cat, ours;
  char in[4096], out[4096], self[4096], length[32];
  const char *const synth[] = {self, "synth", "ofdm", "--rate", "25M", "--samples", length, "--force", "-o", in, NULL};
  const char *const copy[] = {"cat", in, NULL};
  const char *resample[] = {self,   "resample", in,   "--format", "cs16", "--rate", "25M",
                            "--to", "30.72M",   "-o", out,        NULL,   NULL,     NULL};
  const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
  size_t k;
  int status;

  if (n <= 0) {
    cli_say(NAME, "cannot find this program: %s", strerror(errno));
    return CLI_SYSTEM;
  }
  self[n] = '\0';
  if (options.cpu) {
    resample[11] = "--cpu";
    resample[12] = options.cpu;
  }
  snprintf(in, sizeof in, "%s/in.cs16", folder);
  snprintf(out, sizeof out, "%s/out.cs16", folder);
  snprintf(length, sizeof length, "%llu", (unsigned long long)(f->signal_s * 25e6 + 0.5));
  status = run(synth, NULL, NULL, 0);
  for (k = 0; !status && k < runs && !cli_stop; k++) {
    unlink(out);
    status = run(copy, out, &cat, k);
    unlink(out);
    if (!status) {
      status = run(resample, NULL, &ours, k);
    }
  }
  unlink(in);
  unlink(out);
  if (status || cli_stop) {
    return status ? status : cli_exit_stopped(CLI_DONE);
  }
  f->runs = runs;
  f->cat_wall = median(cat.wall, runs);
  f->cat_cpu = median(cat.cpu, runs);
  f->our_wall = median(ours.wall, runs);
  f->our_cpu = median(ours.cpu, runs);
  f->peak_kib = ours.peak_kib;
  return -1;
}

int bench_files(int argc, const char **argv)
{
  const struct tlg_rate rate = {25000000, 1};
  struct figures figures = {.signal_s = 1};
  struct cli_options o;
  uint64_t runs = 15, n = 25000000;
  char folder[4000];
  const char *base;
  int status;

  memset(&options, 0, sizeof options);
  status = cli_options(&o, NAME, argc, argv, table, description, 0, 0);
  if (status >= 0) {
    return status;
  }
  if ((status = cli_duration(NAME, "--duration", options.duration, &rate, &n)) ||
      (status = cli_whole(NAME, "--runs", options.runs, 1, MOST_RUNS, &runs))) {
    cli_options_free(&o);
    return status;
  }
  figures.signal_s = (double)n / 25e6;
  base = options.folder ? options.folder : getenv("TMPDIR");
  snprintf(folder, sizeof folder, "%s/taplag-bench-XXXXXX", base && *base ? base : "/tmp");
  if (n == 0) {
    status = cli_usage(NAME, "--duration %s: there has to be a sample", options.duration);
  } else if (!mkdtemp(folder)) {
    cli_say(NAME, "%s: cannot make a folder there: %s", folder, strerror(errno));
    status = CLI_SYSTEM;
  } else {
    cli_catch_signals();
    status = measure(folder, runs, &figures);
    rmdir(folder);
  }
  if (status < 0) {
    status = print(&figures);
  }
  cli_options_free(&o);
  return status;
}
