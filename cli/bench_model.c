/* SPDX-License-Identifier: Apache-2.0 */
/* taplag bench model: packets a second through the whole chain with all statistics, beside a bare recursion of three
 * stages timed in the same run. */
#include "bench.h"
#include "cli.h"
#include "draw.h"
#include "tlg_sim.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define NAME "bench model"

static struct {
  char *packets, *repeat;
  int json;
} options;

static const struct poptOption table[] = {
    {"packets", 0, POPT_ARG_STRING, &options.packets, 0, "in each run (default 2M)", "N"},
    {"repeat", 0, POPT_ARG_STRING, &options.repeat, 0,
     "runs of each kind, taken in turns; the median counts (default 9)", "N"},
    {"json", 0, POPT_ARG_NONE, &options.json, 0, "results as JSON", NULL},
    POPT_TABLEEND,
};

static const char description[] =
    "The bare recursion draws three random services a packet and adds them up, nothing else: what any model of three\n"
    "queues in series costs at least. Then the whole chain (link, ring, moderation, kernel, socket, three threads "
    "with\n"
    "random services, hop, framing) with all its distributions: as a recursion, and by events with two threads on a "
    "core.\n"
    "CPU time of this process counts, so that other work of the machine does not.\n";

enum { KINDS = 4, MOST_REPEATS = 101 };
static const char *const kinds[KINDS] = {"bare recursion, three stages", "whole chain, recursion",
                                         "whole chain, packet by packet", "whole chain, events"};

static double cpu_seconds(void)
{
  struct timespec t;

  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static struct tlg_sim_scenario *whole_chain(uint64_t packets, int shared)
{
  static const char *const names[] = {"receive", "resample", "send"};
  static const uint64_t fixed[] = {3800000, 8300000, 1500000};
  struct tlg_sim_scenario *s;
  unsigned i;

  if (tlg_sim_scenario_new(&s) != TLG_OK) {
    return NULL;
  }
  s->sizes[0] = 364;
  s->n_packets = packets;
  s->warmup_ppm = 100000;
  s->has_link = s->has_nic = s->has_kernel = s->has_hop = s->has_phy = 1;
  s->link_bps = 1000000000;
  s->link_latency_ps = 1000000;
  s->ring = 512;
  s->moderation = TLG_MODERATION_IGB;
  s->interrupt.low_ps = 2000000;
  s->kernel.fixed_ps = 600000;
  s->kernel.per_byte_fs = 10000;
  s->socket_bytes = 5000000;
  for (i = 0; i < 3; i++) {
    struct tlg_sim_thread *th = &s->threads[s->n_threads++];

    snprintf(th->name, sizeof th->name, "%s", names[i]);
    snprintf(th->stages[0].name, sizeof th->stages[0].name, "%s", names[i]);
    th->n_stages = 1;
    th->queue = i ? 2048 : 0;
    th->core = shared ? i % 2 + 1 : 0;
    th->stages[0].cost.fixed_ps = fixed[i];
    th->stages[0].cost.jitter.kind = TLG_DIST_EXPONENTIAL;
    th->stages[0].cost.jitter.low_ps = 500000;
  }
  s->hop.fixed_ps = 1000000;
  s->hop_latency_ps = 25000000;
  s->offset = 12345;
  return s;
}

/* Three queues in series and nothing else; the sum keeps the compiler from leaving it out. */
static uint64_t bare(uint64_t packets)
{
  static const uint64_t fixed[] = {3800000, 8300000, 1500000};
  struct tlg_dist dist = {.kind = TLG_DIST_EXPONENTIAL, .low_ps = 500000};
  uint64_t air = 0, free_at[3] = {0}, sum = 0, j;
  struct draw draw[3];
  unsigned i;

  for (i = 0; i < 3; i++) {
    tlg_draw_init(&draw[i], &dist, 1, i, DRAW_SERVICE);
  }
  for (j = 0; j < packets; j++) {
    uint64_t at = air += 14560000;

    for (i = 0; i < 3; i++) {
      const uint64_t start = at > free_at[i] ? at : free_at[i];

      at = free_at[i] = start + fixed[i] + tlg_draw(&draw[i], j);
    }
    sum += at - air;
  }
  return sum / packets;
}

/* Packets a second of one run; 0 on failure. */
static double once(unsigned kind, uint64_t packets, uint64_t *mean_ps)
{
  struct tlg_sim_scenario *s = kind ? whole_chain(packets, kind == 3) : NULL;
  struct tlg_sim_cfg cfg = {.plain = kind == 2};
  struct tlg_delays_summary d;
  struct tlg_sim *sim = NULL;
  uint64_t left = 1;
  double begin, seconds = 0;

  if (kind == 0) {
    begin = cpu_seconds();
    *mean_ps = bare(packets);
    seconds = cpu_seconds() - begin;
  } else if (s && tlg_sim_new(&sim, s, &cfg, NULL) == TLG_OK) {
    begin = cpu_seconds();
    while (left && !cli_stop && tlg_sim_step(sim, 1000000, &left) == TLG_OK) {
    }
    tlg_delays_summarise(tlg_sim_results(sim)->packet->delays, &d);
    seconds = left ? 0 : cpu_seconds() - begin;
    *mean_ps = d.mean;
  }
  tlg_sim_free(sim);
  tlg_sim_scenario_free(s);
  return seconds > 0 ? (double)packets / seconds : 0;
}

static int ascending(const void *a, const void *b)
{
  const double x = *(const double *)a, y = *(const double *)b;

  return (x > y) - (x < y);
}

static int measure(uint64_t packets, unsigned repeat)
{
  static double rate[KINDS][MOST_REPEATS];
  uint64_t mean_ps[KINDS] = {0};
  struct rusage usage;
  unsigned i, k;

  for (i = 0; i < repeat; i++) {
    for (k = 0; k < KINDS; k++) {
      rate[k][i] = once(k, packets, &mean_ps[k]);
      if (rate[k][i] <= 0) {
        if (cli_stop) {
          return cli_exit_stopped(CLI_DONE);
        }
        cli_say(NAME, "out of memory, or no CPU time to measure: more --packets");
        return CLI_SYSTEM;
      }
      cli_progress("bench", i * KINDS + k + 1, repeat * KINDS);
    }
  }
  for (k = 0; k < KINDS; k++) {
    qsort(rate[k], repeat, sizeof rate[k][0], ascending);
  }
  getrusage(RUSAGE_SELF, &usage);
  if (options.json) {
    json_t *o = json_object(), *measured = json_array(), *whole = json_object();

    for (k = 0; k < KINDS; k++) {
      json_array_append_new(measured, json_pack("{s:s,s:o,s:o,s:o,s:o}", "what", kinds[k], "packets_per_s",
                                                cli_number(rate[k][repeat / 2], 0), "least", cli_number(rate[k][0], 0),
                                                "most", cli_number(rate[k][repeat - 1], 0), "share_of_bare",
                                                cli_number(rate[k][repeat / 2] / rate[0][repeat / 2], 4)));
    }
    json_object_set_new(whole, "runs", measured);
    json_object_set_new(whole, "peak_memory_kb", json_integer(usage.ru_maxrss));
    json_object_set_new(o, "packets", json_integer((json_int_t)packets));
    json_object_set_new(o, "repeat", json_integer(repeat));
    json_object_set_new(o, "measured", whole);
    return cli_print_json("bench-model", o, stdout);
  }
  printf("medians of %u runs of %llu packets, CPU time of this process\n", repeat, (unsigned long long)packets);
  printf("%-32s %14s %14s %14s %10s %14s\n", "", "M packets/s", "least", "most", "of bare", "mean delay us");
  for (k = 0; k < KINDS; k++) {
    printf("%-32s %14.2f %14.2f %14.2f %9.1f%% %14.3f\n", kinds[k], rate[k][repeat / 2] * 1e-6, rate[k][0] * 1e-6,
           rate[k][repeat - 1] * 1e-6, 100 * rate[k][repeat / 2] / rate[0][repeat / 2], (double)mean_ps[k] * 1e-6);
  }
  printf("an hour of 25 Msps in packets of 364 (247.3 million): %.1f s by the recursion; memory at its peak %.1f MB\n",
         247.252747e6 / rate[1][repeat / 2], (double)usage.ru_maxrss / 1024);
  return 0;
}

int bench_model(int argc, const char **argv)
{
  struct cli_options o;
  uint64_t packets = 2000000, repeat = 9;
  int status = cli_options(&o, NAME, argc, argv, table, description, 0, 0);

  if (status >= 0) {
    return status;
  }
  cli_catch_signals();
  if (cli_count(NAME, "--packets", options.packets, &packets) || cli_count(NAME, "--repeat", options.repeat, &repeat)) {
    status = CLI_USAGE;
  } else if (packets < 1000 || packets > 1000000000 || repeat < 1 || repeat > MOST_REPEATS) {
    status = cli_usage(NAME, "--packets 1000 to 1G, --repeat 1 to %d", MOST_REPEATS);
  } else {
    status = cli_finish(NAME, stdout, measure(packets, (unsigned)repeat));
  }
  cli_options_free(&o);
  return status;
}
