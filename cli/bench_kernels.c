/* SPDX-License-Identifier: Apache-2.0 */
/* taplag bench kernels: one packet through the resampler on each instruction set, beside memcpy of the same packet. */
#include "bench.h"
#include "cli.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NAME "bench kernels"
#define SCHEMA "bench-kernels"
#define RUN_NS 30000.0 /* a run lasts at least this long: far above what it takes to read the clock */
#define MOST_KERNELS 32

static struct {
  char *packet, *cpu, *rate, *out_rate;
  int taps, runs, json;
} opt;

static const struct poptOption table[] = {
    {"packet", 'p', POPT_ARG_STRING, &opt.packet, 0, "samples a packet (625)", "N"},
    {"taps", 't', POPT_ARG_INT, &opt.taps, 0, "taps a phase (16, then 24)", "T"},
    {"rate", 'r', POPT_ARG_STRING, &opt.rate, 0, "input rate (25M)", "RATE"},
    {"out-rate", 'R', POPT_ARG_STRING, &opt.out_rate, 0, "output rate (30.72M)", "RATE"},
    {"cpu", 0, POPT_ARG_STRING, &opt.cpu, 0, "go no further than c, sse2, avx2, avx512, vnni or neon", "NAME"},
    {"runs", 'n', POPT_ARG_INT, &opt.runs, 0, "runs of which the median is taken (301)", "N"},
    {"json", 0, POPT_ARG_NONE, &opt.json, 0, "print JSON", NULL},
    POPT_TABLEEND,
};

/* One row of the table: a kernel with taps. */
struct subject {
  int taps;
  enum tlg_cpu cpu;
  struct tlg_resamp *r;
  unsigned calls;       /* a run */
  double *runs, *ratio; /* ns a packet, and that over memcpy's in the same run */
  double *against_c;
};

static struct {
  size_t packet, n_out; /* n_out: the most that a packet gives */
  tlg_cs16 *in, *out, *copy;
  struct subject subjects[MOST_KERNELS];
  size_t n;
  struct subject memory; /* memcpy */
} b;

/* The time that this thread has run: what other processes take of the CPU does not count. */
static double now_ns(void)
{
  struct timespec t;

  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Called through a volatile pointer, so that the copy is made each time. */
static void *(*volatile copy_packet)(void *, const void *, size_t) = memcpy;

static void call(const struct subject *s)
{
  size_t got;

  if (s->r) {
    tlg_resamp_process(s->r, b.in, b.packet, b.out, b.n_out, &got);
  } else {
    copy_packet(b.copy, b.in, b.packet * sizeof *b.in);
  }
}

static double time_run(const struct subject *s)
{
  double begin;
  unsigned k;

  call(s); /* brings it into the caches */
  begin = now_ns();
  for (k = 0; k < s->calls; k++) {
    call(s);
  }
  return (now_ns() - begin) / s->calls;
}

/* As many calls as a run needs to last long enough. */
static void calibrate(struct subject *s)
{
  s->calls = 1;
  while (s->calls < 1U << 24 && time_run(s) * s->calls < RUN_NS) {
    s->calls *= 2;
  }
}

static int by_value(const void *a, const void *c)
{
  const double x = *(const double *)a, y = *(const double *)c;

  return (x > y) - (x < y);
}

static double median(double *values, int n)
{
  qsort(values, (size_t)n, sizeof *values, by_value);
  return values[n / 2];
}

static int alloc_runs(struct subject *s)
{
  s->runs = calloc((size_t)opt.runs, sizeof *s->runs);
  s->ratio = calloc((size_t)opt.runs, sizeof *s->ratio);
  s->against_c = calloc((size_t)opt.runs, sizeof *s->against_c);
  return s->runs && s->ratio && s->against_c ? 0 : -1;
}

static void free_all(void)
{
  size_t k;

  for (k = 0; k < b.n; k++) {
    tlg_resamp_free(b.subjects[k].r);
    free(b.subjects[k].runs);
    free(b.subjects[k].ratio);
    free(b.subjects[k].against_c);
  }
  free(b.memory.runs);
  free(b.memory.ratio);
  free(b.memory.against_c);
  free(b.in);
  free(b.out);
  free(b.copy);
  memset(&b, 0, sizeof b);
}

/* The CPU's name, as the system tells it. */
static void cpu_model(char *text, size_t size)
{
  char line[300];
  FILE *f = fopen("/proc/cpuinfo", "r");

  snprintf(text, size, "unknown");
  while (f && fgets(line, sizeof line, f)) {
    char *colon = strstr(line, ": ");

    if (strncmp(line, "model name", 10) == 0 && colon) {
      colon[strcspn(colon, "\n")] = '\0';
      snprintf(text, size, "%s", colon + 2);
      break;
    }
  }
  if (f) {
    fclose(f);
  }
}

/* All kernels for one number of taps. 0 or the exit status. */
static int add_kernels(int taps, enum tlg_cpu cap, const struct tlg_rate *in, const struct tlg_rate *out, uint32_t up,
                       uint32_t down)
{
  const struct tlg_design design = {
      .rate_in = *in, .rate_out = *out, .taps_per_phase = (unsigned)taps, .kaiser_beta = 8.0};
  struct tlg_taps filter = {0};
  struct tlg_error err;
  int cpu, status = 0;

  if (tlg_taps_design(&filter, &design, &err) < 0) {
    return cli_fail(NAME, NULL, &err);
  }
  for (cpu = TLG_CPU_C; cpu <= TLG_CPU_NEON && !status; cpu++) {
    const struct tlg_resamp_cfg cfg = {
        .up = up, .down = down, .taps = &filter, .cpu = (enum tlg_cpu)cpu, .max_block = b.packet};
    struct subject *s = &b.subjects[b.n];

    if (!tlg_cpu_available((enum tlg_cpu)cpu) || (cap != TLG_CPU_AUTO && cpu > (int)cap) || b.n == MOST_KERNELS) {
      continue;
    }
    s->taps = taps;
    s->cpu = (enum tlg_cpu)cpu;
    if (tlg_resamp_new(&s->r, &cfg, &err) < 0) {
      status = cli_fail(NAME, NULL, &err);
      break;
    }
    b.n++;
    if (alloc_runs(s) < 0) {
      cli_say(NAME, "memory is exhausted");
      status = CLI_SYSTEM;
    }
  }
  tlg_taps_free(&filter);
  return status;
}

/* A kernel that is fast and wrong must not be praised: the same packet must give the plain C kernel's bytes. */
static int compare_bytes(void)
{
  tlg_cs16 *want = malloc(b.n_out * sizeof *want);
  size_t k, got = 0, n_want = 0;
  int same = 1;

  if (!want) {
    cli_say(NAME, "memory is exhausted");
    return CLI_SYSTEM;
  }
  for (k = 0; k < b.n && same; k++) {
    if (b.subjects[k].cpu == TLG_CPU_C) {
      same = tlg_resamp_process(b.subjects[k].r, b.in, b.packet, want, b.n_out, &n_want) == 0;
    } else {
      same = tlg_resamp_process(b.subjects[k].r, b.in, b.packet, b.out, b.n_out, &got) == 0 && got == n_want &&
             memcmp(b.out, want, got * sizeof *want) == 0;
    }
    if (!same) {
      cli_say(NAME,
              "%s, %d taps a phase: its bytes differ from the plain C kernel's; this is a fault, please report it",
              tlg_cpu_name(b.subjects[k].cpu), b.subjects[k].taps);
    }
    tlg_resamp_reset(b.subjects[k].r);
  }
  free(want);
  return same ? 0 : CLI_CHECK_FAILED;
}

/* Runs take turns, so that what else the machine does strikes all alike. */
static void measure(void)
{
  size_t k;
  int run;

  calibrate(&b.memory);
  for (k = 0; k < b.n; k++) {
    calibrate(&b.subjects[k]);
  }
  for (run = 0; run < opt.runs && !cli_stop; run++) {
    double c_ns = 0;

    for (k = 0; k < b.n; k++) {
      struct subject *s = &b.subjects[k];
      const double memory = time_run(&b.memory);

      s->runs[run] = time_run(s);
      if (s->cpu == TLG_CPU_C) {
        c_ns = s->runs[run];
      }
      s->ratio[run] = s->runs[run] / memory;
      s->against_c[run] = c_ns / s->runs[run];
      b.memory.runs[run] = memory;
    }
    cli_progress(NAME, (uint64_t)run + 1, (uint64_t)opt.runs);
  }
  opt.runs = run;
}

static int report(uint32_t up, uint32_t down, const struct tlg_rate *rate)
{
  const double packet_ns = (double)b.packet / tlg_rate_hz(rate) * 1e9;
  char model[200];
  double memory;
  size_t k;

  if (opt.runs == 0) {
    return CLI_DONE;
  }
  memory = median(b.memory.runs, opt.runs);
  cpu_model(model, sizeof model);
  if (opt.json) {
    json_t *measured = json_array(), *whole;

    for (k = 0; k < b.n; k++) {
      struct subject *s = &b.subjects[k];
      const double ns = median(s->runs, opt.runs);

      json_array_append_new(measured,
                            json_pack("{s:s, s:i, s:o, s:o, s:o, s:o}", "cpu", tlg_cpu_name(s->cpu), "taps", s->taps,
                                      "ns", cli_number(ns, 1), "of_memcpy", cli_number(median(s->ratio, opt.runs), 2),
                                      "times_c", cli_number(median(s->against_c, opt.runs), 2), "times_real_time",
                                      cli_number(packet_ns / ns, 1)));
    }
    whole = json_pack("{s:I, s:i, s:i, s:o, s:{s:i, s:o, s:o}, s:{s:s}}", "packet", (json_int_t)b.packet, "up", (int)up,
                      "down", (int)down, "packet_ns", cli_number(packet_ns, 3), "measured", "runs", opt.runs,
                      "memcpy_ns", cli_number(memory, 1), "kernels", measured, "host", "cpu", model);
    return cli_print_json(SCHEMA, whole, stdout);
  }
  printf("One packet of %zu samples (%.2f us) by %u/%u, history and unpacking included; median of %d runs.\n", b.packet,
         packet_ns / 1000, (unsigned)up, (unsigned)down, opt.runs);
  printf("%s; memcpy of the packet (%zu bytes): %.1f ns\n\n", model, b.packet * sizeof *b.in, memory);
  printf("taps  kernel       ns  x memcpy  times C  times real time\n");
  for (k = 0; k < b.n; k++) {
    struct subject *s = &b.subjects[k];
    const double ns = median(s->runs, opt.runs);

    printf("%4d  %-7s %7.0f  %8.1f  %7.1f  %15.1f\n", s->taps, tlg_cpu_name(s->cpu), ns, median(s->ratio, opt.runs),
           median(s->against_c, opt.runs), packet_ns / ns);
  }
  for (k = TLG_CPU_C; k <= TLG_CPU_NEON; k++) {
    if (!tlg_cpu_available((enum tlg_cpu)k)) {
      printf("      %-7s not available on this CPU\n", tlg_cpu_name((enum tlg_cpu)k));
    }
  }
  return CLI_DONE;
}

int bench_kernels(int argc, const char **argv)
{
  struct tlg_rate rate = {25000000, 1}, out_rate = {30720000, 1};
  enum tlg_cpu cap = TLG_CPU_AUTO;
  uint64_t packet = 625;
  struct cli_options o;
  uint32_t up, down;
  uint64_t noise = 1;
  size_t k;
  int status;

  opt.runs = 301;
  status = cli_options(
      &o, NAME, argc, argv, table,
      "Times one packet through tlg_resamp_process on each instruction set, and memcpy of the same\n"
      "packet beside it, in turns, in CPU time. The caches are warm. Kernels differ in speed only: their bytes are\n"
      "compared first.\n",
      0, 0);
  if (status >= 0) {
    return status;
  }
  if ((status = cli_count(NAME, "--packet", opt.packet, &packet)) || (status = cli_cpu(NAME, "--cpu", opt.cpu, &cap)) ||
      (status = cli_rate(NAME, "--rate", opt.rate, &rate)) ||
      (status = cli_rate(NAME, "--out-rate", opt.out_rate, &out_rate))) {
    goto done;
  }
  if (packet < 1 || packet > 65536) {
    status = cli_usage(NAME, "--packet %llu: give a number of samples from 1 to 65536", (unsigned long long)packet);
  } else if (opt.taps < 0 || opt.taps > 4096) {
    status = cli_usage(NAME, "--taps %d: give a number from 1 to 4096", opt.taps);
  } else if (opt.runs < 1 || opt.runs > 100000) {
    status = cli_usage(NAME, "--runs %d: give a number from 1 to 100000", opt.runs);
  } else if (tlg_rate_ratio(&rate, &out_rate, &up, &down) < 0) {
    status = cli_usage(NAME, "the two rates are not in a ratio of numbers up to 65535");
  }
  if (status) {
    goto done;
  }
  b.packet = packet;
  b.n_out = (size_t)(packet * up / down) + 2;
  b.in = malloc(b.packet * sizeof *b.in);
  b.copy = malloc(b.packet * sizeof *b.copy);
  b.out = malloc(b.n_out * sizeof *b.out);
  if (!b.in || !b.copy || !b.out || alloc_runs(&b.memory) < 0) {
    cli_say(NAME, "memory is exhausted");
    status = CLI_SYSTEM;
    goto done;
  }
  for (k = 0; k < b.packet; k++) {
    noise = noise * 6364136223846793005u + 1442695040888963407u;
    b.in[k].i = (int16_t)(noise >> 48);
    b.in[k].q = (int16_t)(noise >> 32);
  }
  status = add_kernels(opt.taps ? opt.taps : 16, cap, &rate, &out_rate, up, down);
  if (!status && !opt.taps) {
    status = add_kernels(24, cap, &rate, &out_rate, up, down);
  }
  if (!status) {
    status = compare_bytes();
  }
  if (!status) {
    cli_catch_signals();
    measure();
    status = report(up, down, &rate);
  }
done:
  free_all();
  cli_options_free(&o);
  return cli_finish(NAME, stdout, cli_exit_stopped(status));
}
