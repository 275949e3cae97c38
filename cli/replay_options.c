/* SPDX-License-Identifier: Apache-2.0 */
/* What `taplag replay` is asked for. */
#include "model.h"
#include "replay_command.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct replay_options replay_options;

static const struct poptOption table[] = {
    {"to", 0, POPT_ARG_ARGV, &replay_options.to, 0,
     "where the outputs go (null:), may be repeated: null: stdout: fifo:PATH file:PATH[?format=F] or a path", "SINK"},
    {"drain", 0, POPT_ARG_STRING, &replay_options.drain, 0,
     "take what a PHY transmits and throw it away, counted: srsran:tcp://HOST:PORT of its tx_port; a PHY whose "
     "transmit "
     "port nobody reads stops receiving too",
     "SOURCE"},
    {"packet", 'p', POPT_ARG_STRING, &replay_options.packet, 0,
     "samples of a packet (625): a size, a list 364,364,362, uhdBYTES (uhd1472 = 364, uhd8000 = 1996, uhd8016 = 2000) "
     "or @FILE with one size a line",
     "SIZES"},
    {"speed", 0, POPT_ARG_STRING, &replay_options.speed, 0,
     "times the rate: 2, 0.5, 1/3 (1); max: no pace, as fast as the sinks take it", "X"},
    {"loop", 0, POPT_ARG_STRING, &replay_options.loop, 0, "passes in all, without a seam; 0 = until stopped (1)", "N"},
    {"duration", 0, POPT_ARG_STRING, &replay_options.duration, 0, "end after so much of the stream", "TIME"},
    {"clock", 0, POPT_ARG_STRING, &replay_options.clock, 0,
     "real, or virtual: no wall time, stages that take none (or as --scenario has it), every figure repeats (real)",
     "CLOCK"},
    {"scenario", 0, POPT_ARG_STRING, &replay_options.scenario, 0,
     "with --clock virtual: the times, queues and losses are those of this scenario of 'taplag model'", "SCENARIO"},
    {"seed", 0, POPT_ARG_STRING, &replay_options.seed, 0, "of the scenario's draws (default: the scenario's)", "N"},
    {"overrun", 0, POPT_ARG_STRING, &replay_options.overrun, 0,
     "what a full queue does: drop (as a radio; default on the real clock) or block (default on the virtual clock and "
     "when a sink is a file)",
     "POLICY"},
    {"gaps", 0, POPT_ARG_STRING, &replay_options.gaps, 0,
     "mark: leave a gap's outputs out and mark it (default); zero: emit them; close: join", "HOW"},
    {"queue", 0, POPT_ARG_STRING, &replay_options.queue, 0, "packets each queue holds (4096, fewer if they are large)",
     "N"},
    {"max-overruns", 0, POPT_ARG_STRING, &replay_options.max_overruns, 0, "more lost packets than this: exit status 1",
     "N"},
    {"air", 0, POPT_ARG_STRING, &replay_options.air, 0,
     "where delays of a live source's packets begin: clock (its sample clock, its earliest packet being on time) or "
     "arrival (default: clock for sources that have one)",
     "HOW"},
    {"drop-packet", 0, POPT_ARG_STRING, &replay_options.drop_packets, 0,
     "lose these packets (counted from 0) as if a queue had been full, to see what follows", "LIST"},
    {"pin", 0, POPT_ARG_NONE, &replay_options.pin, 0, "receive and deliver on one core, resample on another, as usrpL0",
     NULL},
    {"cores", 0, POPT_ARG_STRING, &replay_options.cores, 0, "cores of receive, resample, deliver and (4th) reading",
     "LIST"},
    {"fifo", 0, POPT_ARG_STRING, &replay_options.fifo, 0, "run the stages under SCHED_FIFO with this priority, 1 to 99",
     "PRIO"},
    {"mlock", 0, POPT_ARG_NONE, &replay_options.mlock, 0, "lock memory", NULL},
    {"strict", 0, POPT_ARG_NONE, &replay_options.strict, 0,
     "what of these is not permitted ends it (5) instead of a warning", NULL},
    {"spin", 0, POPT_ARG_STRING, &replay_options.spin, 0,
     "how long a stage that waits spins before it sleeps (1us; 50us where it has a core of its own)", "TIME"},
    {"margin", 0, POPT_ARG_STRING, &replay_options.margin, 0,
     "the source sleeps until so long before a packet's instant, then spins (100us; 5us with --fifo)", "TIME"},
    {"read-ahead", 0, POPT_ARG_STRING, &replay_options.read_ahead, 0, "samples read ahead of the pace (8M)", "N"},
    {"offset", 0, POPT_ARG_STRING, &replay_options.offset, 0, "output at which the PHY's first subframe begins (0)",
     "N"},
    {"deadline", 0, POPT_ARG_STRING, &replay_options.deadline, 0, "of a subframe (1200us)", "TIME"},
    {"trace", 0, POPT_ARG_STRING, &replay_options.trace, 0,
     "write the packets' time stamps, after the run; -: to stdout, and the results to stderr", "FILE"},
    {"trace-packets", 0, POPT_ARG_STRING, &replay_options.trace_packets, 0, "of the last so many packets (1M)", "N"},
    {"control", 0, POPT_ARG_STRING, &replay_options.control, 0,
     "length of the bare-spin control after the run, 0 = none (500ms, at most the run's own)", "TIME"},
    {"progress", 0, POPT_ARG_NONE, &replay_options.progress, 0,
     "say once a second on stderr what the other side of a live sink does (on a terminal: always)", NULL},
    {"force", 0, POPT_ARG_NONE, &replay_options.force, 0, "overwrite existing outputs", NULL},
    {"json", 0, POPT_ARG_NONE, &replay_options.json, 0, "the results as JSON", NULL},
    MODEL_SET_OPTION,
    CLI_INPUT_OPTIONS,
    CLI_RESAMPLER_OPTIONS,
    CLI_RADIO_OPTIONS,
    POPT_TABLEEND,
};

static const char description[] =
    "SOURCE is a recording, or - for stdin. Each packet is released when its last sample has come in by the rate; all\n"
    "delays count from there. 'O' on stderr stands for a lost packet, 'U' for a source that came too late.\n"
    "A live SOURCE (srsran:ENDPOINT, zmq:ENDPOINT, udp:..., unix:..., shm:..., uhd:...) sets the pace itself; 'D' "
    "stands\n"
    "for packets lost on the way, 'L' for a command that came late. Those not built in are refused.\n"
    "  taplag replay a.sigmf-meta --packet 364 --to file:d.cs16 --trace t.trace --json\n";

int replay_options_take(struct replay *r, int argc, const char **argv)
{
  return cli_options(&r->o, argv[0], argc, argv, table, description, 1, 1);
}

static int word(const char *command, const char *option, const char *text, const char *const *words, int *value)
{
  char list[80] = "";
  int i;

  for (i = 0; text && words[i]; i++) {
    if (strcmp(text, words[i]) == 0) {
      *value = i;
      return 0;
    }
    snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i ? ", " : "", words[i]);
  }
  return text ? cli_usage(command, "%s %s: one of %s", option, text, list) : 0;
}

static int core_option(struct replay *r)
{
  const char *p = replay_options.cores;
  char *end;
  int i;

  for (i = 0; p; i++) {
    const long core = strtol(p, &end, 10);

    if (end == p || core < 0 || core >= 1024 || i >= TLG_STAGES || (*end && *end != ',')) {
      return cli_usage(r->command,
                       "--cores %s: name the cores of receive, resample, deliver and perhaps reading: 0,1,0",
                       replay_options.cores);
    }
    r->cfg.cores[i] = (int)core + 1;
    p = *end ? end + 1 : NULL;
  }
  if (replay_options.cores && i < 3) {
    return cli_usage(r->command, "--cores %s: three cores at least, of receive, resample and deliver",
                     replay_options.cores);
  }
  if (replay_options.cores && replay_options.pin) {
    return cli_usage(r->command, "--pin and --cores exclude each other");
  }
  r->cfg.pin = replay_options.pin;
  return 0;
}

static int time_ns(struct replay *r, const char *option, const char *text, uint64_t *ns)
{
  double seconds = 0;
  const int status = cli_seconds(r->command, option, text, &seconds);

  if (!status && text) {
    *ns = (uint64_t)llrint(seconds * 1e9);
  }
  return status;
}

int replay_read_options(struct replay *r)
{
  static const char *const clocks[] = {"real", "virtual", NULL}, *const overruns[] = {"drop", "block", NULL},
                           *const airs[] = {"clock", "arrival", NULL}, *const gaps[] = {"mark", "zero", "close", NULL};
  struct tlg_pipeline_cfg *cfg = &r->cfg;
  int clock = 0, overrun = -1, gap = 0, air = -1, i, status;
  uint64_t queue = 0, trace_packets = 1000000, deadline_ns = 1200000, spin_ns = 0, read_ahead = 0, fifo = 0;

  cfg->loops = 1;
  r->run.max_overruns = UINT64_MAX;
  r->control_s = 0.5;
  if ((status = word(r->command, "--clock", replay_options.clock, clocks, &clock)) ||
      (status = word(r->command, "--overrun", replay_options.overrun, overruns, &overrun)) ||
      (status = word(r->command, "--gaps", replay_options.gaps, gaps, &gap)) ||
      (status = word(r->command, "--air", replay_options.air, airs, &air)) ||
      (status = cli_count(r->command, "--loop", replay_options.loop, &cfg->loops)) ||
      (status = cli_count(r->command, "--queue", replay_options.queue, &queue)) ||
      (status = cli_count(r->command, "--max-overruns", replay_options.max_overruns, &r->run.max_overruns)) ||
      (status = cli_count(r->command, "--offset", replay_options.offset, &cfg->offset)) ||
      (status = cli_count(r->command, "--trace-packets", replay_options.trace_packets, &trace_packets)) ||
      (status = cli_count(r->command, "--read-ahead", replay_options.read_ahead, &read_ahead)) ||
      (status = cli_whole(r->command, "--fifo", replay_options.fifo, 1, 99, &fifo)) ||
      (status = time_ns(r, "--deadline", replay_options.deadline, &deadline_ns)) ||
      (status = time_ns(r, "--spin", replay_options.spin, &spin_ns)) ||
      (status = time_ns(r, "--margin", replay_options.margin, &cfg->pace_ns)) ||
      (status = cli_seconds(r->command, "--control", replay_options.control, &r->control_s)) ||
      (status = replay_packet_option(r)) || (status = core_option(r)) || (status = replay_drop_option(r))) {
    return status;
  }
  if (replay_options.speed && strcmp(replay_options.speed, "max") == 0) {
    cfg->unpaced = 1;
  } else if (replay_options.speed) {
    if (tlg_rate_parse(&cfg->speed, replay_options.speed) != TLG_OK || strpbrk(replay_options.speed, "kKMGHs") ||
        tlg_rate_hz(&cfg->speed) < 1e-6 || tlg_rate_hz(&cfg->speed) > 1e6) {
      return cli_usage(r->command, "--speed %s: a factor from 0.000001 to 1000000, as 2, 0.5 or 1/3",
                       replay_options.speed);
    }
  }
  if (replay_options.queue && (queue < 1 || queue > 1 << 20)) {
    return cli_usage(r->command, "--queue %s: must be from 1 to 1048576", replay_options.queue);
  }
  if (replay_options.trace_packets && (trace_packets < 1 || trace_packets > (uint64_t)1 << 32)) {
    return cli_usage(r->command, "--trace-packets %s: must be from 1 to 4294967296", replay_options.trace_packets);
  }
  if (replay_options.deadline && !deadline_ns) {
    return cli_usage(r->command, "--deadline %s: must be above 0", replay_options.deadline);
  }
  if (replay_options.read_ahead && (read_ahead < 1 || read_ahead > (uint64_t)1 << 32)) {
    return cli_usage(r->command, "--read-ahead %s: must be from 1 to 4294967296", replay_options.read_ahead);
  }
  cfg->clock = clock ? TLG_CLOCK_VIRTUAL : TLG_CLOCK_REAL;
  cfg->overrun = overrun < 0 ? TLG_OVERRUN_DEFAULT : overrun ? TLG_OVERRUN_BLOCK : TLG_OVERRUN_DROP;
  for (i = 0; replay_options.to && replay_options.to[i]; i++) {
    if (tlg_sink_text_repeats(replay_options.to[i])) {
      if (cfg->loops && replay_options.loop) {
        return cli_usage(r->command,
                         "--loop %s: end=loop repeats the recording until it is stopped; take one of the two",
                         replay_options.loop);
      }
      cfg->loops = 0;
    }
  }
  cfg->gaps = (enum tlg_gaps)gap;
  cfg->air = air < 0 ? TLG_AIR_DEFAULT : air ? TLG_AIR_ARRIVAL : TLG_AIR_CLOCK;
  cfg->queue = (size_t)queue;
  cfg->read_ahead = (size_t)read_ahead;
  cfg->trace_packets = replay_options.trace ? (size_t)trace_packets : 0;
  cfg->deadline_ps = deadline_ns * 1000;
  cfg->spin_ns = replay_options.spin && !spin_ns ? UINT64_MAX : spin_ns;
  cfg->fifo = (int)fifo;
  cfg->lock_memory = replay_options.mlock;
  cfg->strict = replay_options.strict;
  return 0;
}
