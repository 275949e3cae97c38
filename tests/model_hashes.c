/* SPDX-License-Identifier: Apache-2.0 */
/* Prints every figure of scenarios made in code, with all elements among them: to compare compilers and machines,
 * needing nothing but sim/ and dsp/. */
#include "tlg_sim.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void print_stat(const char *what, const struct tlg_sim_stat *stat)
{
  uint64_t largest, count, hash = 14695981039346656037u;
  struct tlg_delays_summary d;
  size_t at = 0;
  unsigned i;

  if (!stat) {
    return;
  }
  while (tlg_delays_bin(stat->delays, &at, &largest, &count)) {
    hash = (hash ^ largest) * 1099511628211u;
    hash = (hash ^ count) * 1099511628211u;
  }
  for (i = 0; i < stat->n_batches; i++) {
    hash = (hash ^ stat->batch_mean_ps[i]) * 1099511628211u;
  }
  tlg_delays_summarise(stat->delays, &d);
  printf("  %s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %016" PRIx64 "\n", what, d.count, d.mean, d.p999, d.max,
         hash);
}

static int run(const struct tlg_sim_scenario *s, enum tlg_sim_engine engine)
{
  struct tlg_sim_cfg cfg = {.engine = engine};
  const struct tlg_sim_result *r;
  struct tlg_sim *sim;
  uint64_t left;
  unsigned i;

  if (tlg_sim_new(&sim, s, &cfg, NULL) != TLG_OK || tlg_sim_step(sim, UINT64_MAX, &left) != TLG_OK) {
    return 0;
  }
  r = tlg_sim_results(sim);
  printf("%s: %" PRIu64 " delivered, %" PRIu64 " lost, %" PRIu64 " subframes, %" PRIu64 " inside, %d %d\n", s->name,
         r->delivered, r->dropped, r->subframes, r->subframes_in_time, r->stable, r->little_holds);
  for (i = 0; i < r->n_places; i++) {
    printf(" %s %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", r->places[i].name, r->places[i].arrived, r->places[i].dropped,
           r->places[i].load_ppm);
    print_stat("wait", r->places[i].wait);
    print_stat("service", r->places[i].service);
    print_stat("collect", r->places[i].collect);
    print_stat("stalled", r->places[i].stalled);
  }
  print_stat("packet", r->packet);
  print_stat("subframe", r->subframe);
  print_stat("gap", r->gap);
  tlg_sim_free(sim);
  return 1;
}

int main(void)
{
  static const uint32_t sizes[] = {362, 364, 1996, 128, 625, 250, 1000, 364, 2000, 100};
  unsigned i, k;

  for (i = 0; i < 10; i++) {
    struct tlg_sim_scenario *s;

    if (tlg_sim_scenario_new(&s) != TLG_OK) {
      return 1;
    }
    snprintf(s->name, sizeof s->name, "case %u", i);
    s->sizes[0] = sizes[i];
    s->n_packets = 20000;
    s->seed = 1 + i;
    s->warmup_ppm = 100000;
    s->arrivals = i == 6 ? TLG_ARRIVALS_POISSON : TLG_ARRIVALS_CLOCK;
    s->batch = i == 6 ? 3 : 1;
    s->batch_kind = TLG_BATCH_GEOMETRIC;
    s->has_link = i != 5;
    s->link_bps = i == 3 || i == 9 ? 10000000000u : 1000000000u;
    s->mtu = i == 2 ? 9000 : 1500;
    s->has_nic = s->has_kernel = i != 5;
    s->ring = 256;
    s->moderation = (enum tlg_moderation)(i % 9);
    s->moderation_ps = 60000000;
    s->moderation_frames = i == 2 ? 5 : 0;
    s->interrupt.kind = TLG_DIST_EXPONENTIAL;
    s->interrupt.low_ps = 2000000;
    s->kernel.fixed_ps = 600000;
    s->kernel.per_byte_fs = 12345;
    s->socket_bytes = i % 2 ? 425984 : 0;
    for (k = 0; k < 3; k++) {
      struct tlg_sim_thread *th = &s->threads[s->n_threads++];

      snprintf(th->name, sizeof th->name, "t%u", k);
      snprintf(th->stages[0].name, sizeof th->stages[0].name, "s%u", k);
      th->core = i == 7 ? k % 2 + 1 : 0;
      th->queue = k ? 64 : 0;
      th->n_stages = 1;
      th->wake_ps = 3000000;
      th->stages[0].cost.fixed_ps = 300000;
      th->stages[0].cost.per_sample_fs = 12000000 + 1000 * k;
      th->stages[0].unit = i == 4 && k == 1 ? 777 : 0;
      th->stages[0].cost.jitter.kind = (enum tlg_dist_kind)((i + k) % 3);
      th->stages[0].cost.jitter.low_ps = 200000;
      th->stages[0].cost.jitter.high_ps = 900000;
    }
    s->has_hop = i % 2;
    s->hop.fixed_ps = 1000000;
    s->hop_latency_ps = 25000000;
    s->has_phy = 1;
    s->offset = 1234 * i;
    s->n_stalls = i % 3 == 0;
    s->stalls[0].on = TLG_STALL_HOST;
    s->stalls[0].random = 1;
    s->stalls[0].every_ps = 20000000000u;
    s->stalls[0].length.kind = TLG_DIST_UNIFORM;
    s->stalls[0].length.high_ps = 800000000;
    if (!run(s, TLG_ENGINE_AUTO)) {
      return 1;
    }
    tlg_sim_scenario_free(s);
  }
  return 0;
}
