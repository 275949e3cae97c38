/* SPDX-License-Identifier: Apache-2.0 */
/* A model's scenario as the clock of a replay. */
#include "model.h"
#include "replay_command.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void sizes_text(const uint32_t *sizes, size_t n, char *text, size_t size)
{
  enum { SHOWN = 6 };
  size_t i;

  for (i = 0, text[0] = '\0'; i < n && i < SHOWN; i++) {
    snprintf(text + strlen(text), size - strlen(text), "%s%" PRIu32, i ? "," : "", sizes[i]);
  }
  if (n > SHOWN) {
    snprintf(text + strlen(text), size - strlen(text), ",... (%zu sizes)", n);
  }
}

static uint64_t sum_of(const uint32_t *sizes, size_t n)
{
  uint64_t sum = 0;

  while (n--) {
    sum += sizes[n];
  }
  return sum;
}

/* The sizes of --packet in the scenario, or the scenario's here. */
static int share_sizes(struct replay *r)
{
  struct tlg_sim_scenario *s = r->scenario;
  const uint32_t *from = replay_options.packet ? r->packets : s->sizes;
  const size_t n = replay_options.packet ? r->cfg.n_packets : s->n_sizes;
  uint32_t *copy = malloc(n * sizeof *copy);
  struct tlg_error err = {0};
  char sizes[160];

  if (!copy) {
    cli_say(r->command, "out of memory");
    return CLI_SYSTEM;
  }
  memcpy(copy, from, n * sizeof *copy);
  sizes_text(s->sizes, s->n_sizes, sizes, sizeof sizes);
  if (!replay_options.packet) {
    r->cfg.packets = r->packets = copy;
    r->cfg.n_packets = n;
    snprintf(r->packet_text, sizeof r->packet_text, "%s", sizes);
  } else {
    /* As many as last as long: what a source of no known length leaves out goes by it. */
    s->n_packets = (uint64_t)((unsigned __int128)s->n_packets * sum_of(s->sizes, s->n_sizes) * n /
                              ((unsigned __int128)sum_of(copy, n) * s->n_sizes));
    s->n_packets += !s->n_packets;
    snprintf(r->packet_text, sizeof r->packet_text, "%.80s (--packet; the scenario has %.80s)", replay_options.packet,
             sizes);
    free(s->sizes);
    s->sizes = copy;
    s->n_sizes = n;
    if (tlg_sim_scenario_check(s, &err) != TLG_OK) {
      return cli_usage(r->command, "--packet %s: %s", replay_options.packet, err.text);
    }
  }
  r->run.packet_text = r->packet_text;
  return 0;
}

int replay_read_scenario(struct replay *r)
{
  struct tlg_sim_scenario *s;
  int status;

  if (!replay_options.scenario) {
    return replay_options.seed || model_settings.n
               ? cli_usage(r->command, "%s belongs to a scenario: name it with --scenario",
                           replay_options.seed ? "--seed" : "--set")
               : 0;
  }
  if (r->cfg.clock != TLG_CLOCK_VIRTUAL) {
    return cli_usage(r->command, "--scenario drives the virtual clock, and on the real one nothing is modelled: add "
                                 "--clock virtual");
  }
  if (replay_options.speed || replay_options.overrun || replay_options.queue) {
    return cli_usage(r->command, "%s: the scenario says it (%s)",
                     replay_options.speed     ? "--speed"
                     : replay_options.overrun ? "--overrun"
                                              : "--queue",
                     replay_options.speed     ? "--set rate=..."
                     : replay_options.overrun ? "--set THREAD.overrun=drop or block"
                                              : "--set THREAD.queue=...");
  }
  if ((status = cli_count(r->command, "--seed", replay_options.seed, &r->cfg.seed)) ||
      (status = model_read(r->command, replay_options.scenario, &model_settings, &r->scenario))) {
    return status;
  }
  s = r->scenario;
  if (s->arrivals != TLG_ARRIVALS_CLOCK) {
    cli_say(
        r->command,
        "%s: its packets come at random (arrivals = \"poisson\"), and those of a recording come by its sample clock; "
        "--set source.arrivals=clock",
        replay_options.scenario);
    return CLI_BAD_INPUT;
  }
  if ((status = share_sizes(r))) {
    return status;
  }
  if (s->has_phy) {
    s->offset = replay_options.offset ? r->cfg.offset : s->offset;
    s->deadline_ps = replay_options.deadline ? r->cfg.deadline_ps : s->deadline_ps;
    r->cfg.offset = s->offset;
    r->cfg.deadline_ps = s->deadline_ps;
    if (!cli_resampler.out_rate) {
      snprintf(r->out_rate, sizeof r->out_rate, "%" PRIu64 "/%" PRIu64, s->out_rate.num, s->out_rate.den);
      cli_resampler.out_rate = r->out_rate;
    }
  }
  r->cfg.scenario = s;
  return 0;
}

static int same_rate(const struct tlg_rate *a, const struct tlg_rate *b)
{
  return (unsigned __int128)a->num * b->den == (unsigned __int128)b->num * a->den;
}

/* Whether the source and the resampler are what the scenario was made for. */
int replay_fit_scenario(struct replay *r)
{
  const struct tlg_sim_scenario *s = r->scenario;
  const size_t n = r->taps.n;
  const uint64_t q0 = cli_resampler.align ? (n % 2 ? (n - 1) / 2 : n / 2 - 1) : 0;
  char own[64], its[64];
  uint64_t packets = s->n_packets, cycle, left;

  if (!same_rate(&r->cfg.rate_in, &s->rate)) {
    tlg_rate_text(&r->cfg.rate_in, own, sizeof own);
    tlg_rate_text(&s->rate, its, sizeof its);
    return cli_usage(r->command,
                     "%s is at %s, and the scenario's samples come at %s: give the scenario this rate with --set "
                     "rate=%" PRIu64 "/%" PRIu64 ", or take another recording",
                     r->path, own, its, r->cfg.rate_in.num, r->cfg.rate_in.den);
  }
  if (s->has_phy && !same_rate(&r->cfg.rate_out, &s->out_rate)) {
    tlg_rate_text(&r->cfg.rate_out, own, sizeof own);
    tlg_rate_text(&s->out_rate, its, sizeof its);
    return cli_usage(
        r->command, "--out-rate is %s, and the scenario's PHY takes %s: leave it out, or --set phy.rate=...", own, its);
  }
  if (s->has_phy && s->align_q0 != q0) {
    cli_say(r->command,
            "subframes are formed of the outputs as they are, with q0 = %" PRIu64 " (%s), not with the scenario's "
            "phy.align_q0 = %" PRIu64,
            q0, cli_resampler.align ? "--align" : "no --align", s->align_q0);
  }
  /* The warm-up is the scenario's share of the packets that there will be, as the model counts them. */
  if (r->total) {
    cycle = sum_of(s->sizes, s->n_sizes);
    packets = r->total / cycle * s->n_sizes;
    left = r->total % cycle;
    for (cycle = 0; left; cycle++) {
      left -= left < s->sizes[cycle] ? left : s->sizes[cycle];
      packets++;
    }
  }
  r->cfg.warmup_packets = (uint64_t)((unsigned __int128)packets * s->warmup_ppm / 1000000);
  return 0;
}
