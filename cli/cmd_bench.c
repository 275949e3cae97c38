/* SPDX-License-Identifier: Apache-2.0 */
/* taplag bench: hands over to one part: history and peers are programs of their own, the others are built in. */
#include "bench.h"
#include "cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME "bench"

static const struct part {
  const char *name, *summary;
  int (*run)(int argc, const char **argv);
  const char *program;
} parts[] = {
    {"kernels", "the resampling kernels of each instruction set, and memcpy of the same packet", bench_kernels, NULL},
    {"pipeline", "the threaded pipeline at real-time pace: delays, losses, CPU; with and without a trace",
     bench_pipeline, NULL},
    {"files", "resample from file to file, and cat of the same bytes", bench_files, NULL},
    {"model", "packets a second through the queueing model, and through a bare recursion", bench_model, NULL},
    {"hops", "handing blocks of samples to the PHY by every transport: delay, jitter, throughput", bench_hops, NULL},
    {"history", "usrpL0's own forms beside ours", NULL, "bench-history"},
    {"peers", "other libraries' resamplers beside ours: speed, images, ripple", NULL, "bench-peers"},
};

static void help(FILE *out)
{
  size_t i;

  fputs("Usage: taplag bench PART [options]\n\nSpeed, side by side. PART is one of:\n", out);
  for (i = 0; i < sizeof parts / sizeof *parts; i++) {
    fprintf(out, "  %-10s %s\n", parts[i].name, parts[i].summary);
  }
  fputs("\n'taplag bench PART --help' lists its options. history and peers are separate programs beside this one\n"
        "(bench-history, bench-peers; installed in libexec/taplag), so that what they compare with is not linked in.\n",
        out);
}

int bench_find_program(const char *name, char *path, size_t size)
{
  static const char *const places[] = {"", "../libexec/taplag/"};
  char self[3000];
  ssize_t n;
  size_t i;

  n = readlink("/proc/self/exe", self, sizeof self - 1);
  if (n <= 0) {
    return 0;
  }
  self[n] = '\0';
  if (strrchr(self, '/')) {
    strrchr(self, '/')[1] = '\0';
  }
  for (i = 0; i < sizeof places / sizeof *places; i++) {
    snprintf(path, size, "%s%s%s", self, places[i], name);
    if (access(path, X_OK) == 0) {
      return 1;
    }
  }
  return 0;
}

static int run_program(const struct part *part, int argc, const char **argv)
{
  char **copy = calloc((size_t)argc + 1, sizeof *copy);
  char path[4096];
  int i;

  if (!copy) {
    cli_say(NAME, "out of memory");
    return CLI_SYSTEM;
  }
  if (!bench_find_program(part->program, path, sizeof path)) {
    cli_say(NAME, "%s: %s is not built or installed here; 'make' builds it beside the program", part->name,
            part->program);
    free(copy);
    return CLI_UNAVAILABLE;
  }
  copy[0] = path;
  for (i = 1; i < argc; i++) {
    copy[i] = (char *)argv[i];
  }
  execv(path, copy);
  cli_say(NAME, "%s: cannot start %s: %s", part->name, path, strerror(errno));
  free(copy);
  return CLI_SYSTEM;
}

int cmd_bench(int argc, const char **argv)
{
  size_t i;

  if (argc < 2) {
    return cli_usage(NAME, "say which part: kernels, pipeline, files, model, hops, history or peers");
  }
  if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
    help(stdout);
    return cli_finish(NAME, stdout, CLI_DONE);
  }
  for (i = 0; i < sizeof parts / sizeof *parts; i++) {
    if (strcmp(argv[1], parts[i].name) == 0) {
      return parts[i].run ? parts[i].run(argc - 1, argv + 1) : run_program(&parts[i], argc - 1, argv + 1);
    }
  }
  return cli_usage(NAME, "no part '%s'; one of kernels, pipeline, files, model, hops, history, peers", argv[1]);
}
