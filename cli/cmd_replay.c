/* SPDX-License-Identifier: Apache-2.0 */
/* taplag replay: a recording through receive, resample and deliver, at real-time pace or on a virtual clock. */
#include "live_cli.h"
#include "model.h"
#include "names.h"
#include "radio_options.h"
#include "replay_report.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct {
  char **to;
  char *packet, *speed, *loop, *duration, *clock, *overrun, *gaps, *cores, *queue, *max_overruns, *spin, *offset,
      *deadline, *drain, *trace, *trace_packets, *drop_packets, *control, *read_ahead, *margin, *fifo, *air, *scenario,
      *seed;
  int pin, mlock, strict, force, json, progress;
} options;

static const struct poptOption table[] = {
    {"to", 0, POPT_ARG_ARGV, &options.to, 0,
     "where the outputs go (null:), may be repeated: null: stdout: fifo:PATH file:PATH[?format=F] or a path", "SINK"},
    {"drain", 0, POPT_ARG_STRING, &options.drain, 0,
     "take what a PHY transmits and throw it away, counted: srsran:tcp://HOST:PORT of its tx_port; a PHY whose "
     "transmit "
     "port nobody reads stops receiving too",
     "SOURCE"},
    {"packet", 'p', POPT_ARG_STRING, &options.packet, 0,
     "samples of a packet (625): a size, a list 364,364,362, uhdBYTES (uhd1472 = 364, uhd8000 = 1996, uhd8016 = 2000) "
     "or @FILE with one size a line",
     "SIZES"},
    {"speed", 0, POPT_ARG_STRING, &options.speed, 0,
     "times the rate: 2, 0.5, 1/3 (1); max: no pace, as fast as the sinks take it", "X"},
    {"loop", 0, POPT_ARG_STRING, &options.loop, 0, "passes in all, without a seam; 0 = until stopped (1)", "N"},
    {"duration", 0, POPT_ARG_STRING, &options.duration, 0, "end after so much of the stream", "TIME"},
    {"clock", 0, POPT_ARG_STRING, &options.clock, 0,
     "real, or virtual: no wall time, stages that take none (or as --scenario has it), every figure repeats (real)",
     "CLOCK"},
    {"scenario", 0, POPT_ARG_STRING, &options.scenario, 0,
     "with --clock virtual: the times, queues and losses are those of this scenario of 'taplag model'", "SCENARIO"},
    {"seed", 0, POPT_ARG_STRING, &options.seed, 0, "of the scenario's draws (default: the scenario's)", "N"},
    {"overrun", 0, POPT_ARG_STRING, &options.overrun, 0,
     "what a full queue does: drop (as a radio; default on the real clock) or block (default on the virtual clock and "
     "when a sink is a file)",
     "POLICY"},
    {"gaps", 0, POPT_ARG_STRING, &options.gaps, 0,
     "mark: leave a gap's outputs out and mark it (default); zero: emit them; close: join", "HOW"},
    {"queue", 0, POPT_ARG_STRING, &options.queue, 0, "packets each queue holds (4096, fewer if they are large)", "N"},
    {"max-overruns", 0, POPT_ARG_STRING, &options.max_overruns, 0, "more lost packets than this: exit status 1", "N"},
    {"air", 0, POPT_ARG_STRING, &options.air, 0,
     "where delays of a live source's packets begin: clock (its sample clock, its earliest packet being on time) or "
     "arrival (default: clock for sources that have one)",
     "HOW"},
    {"drop-packet", 0, POPT_ARG_STRING, &options.drop_packets, 0,
     "lose these packets (counted from 0) as if a queue had been full, to see what follows", "LIST"},
    {"pin", 0, POPT_ARG_NONE, &options.pin, 0, "receive and deliver on one core, resample on another, as usrpL0", NULL},
    {"cores", 0, POPT_ARG_STRING, &options.cores, 0, "cores of receive, resample, deliver and (4th) reading", "LIST"},
    {"fifo", 0, POPT_ARG_STRING, &options.fifo, 0, "run the stages under SCHED_FIFO with this priority, 1 to 99",
     "PRIO"},
    {"mlock", 0, POPT_ARG_NONE, &options.mlock, 0, "lock memory", NULL},
    {"strict", 0, POPT_ARG_NONE, &options.strict, 0, "what of these is not permitted ends it (5) instead of a warning",
     NULL},
    {"spin", 0, POPT_ARG_STRING, &options.spin, 0,
     "how long a stage that waits spins before it sleeps (1us; 50us where it has a core of its own)", "TIME"},
    {"margin", 0, POPT_ARG_STRING, &options.margin, 0,
     "the source sleeps until so long before a packet's instant, then spins (100us; 5us with --fifo)", "TIME"},
    {"read-ahead", 0, POPT_ARG_STRING, &options.read_ahead, 0, "samples read ahead of the pace (8M)", "N"},
    {"offset", 0, POPT_ARG_STRING, &options.offset, 0, "output at which the PHY's first subframe begins (0)", "N"},
    {"deadline", 0, POPT_ARG_STRING, &options.deadline, 0, "of a subframe (1200us)", "TIME"},
    {"trace", 0, POPT_ARG_STRING, &options.trace, 0,
     "write the packets' time stamps, after the run; -: to stdout, and the results to stderr", "FILE"},
    {"trace-packets", 0, POPT_ARG_STRING, &options.trace_packets, 0, "of the last so many packets (1M)", "N"},
    {"control", 0, POPT_ARG_STRING, &options.control, 0,
     "length of the bare-spin control after the run, 0 = none (500ms, at most the run's own)", "TIME"},
    {"progress", 0, POPT_ARG_NONE, &options.progress, 0,
     "say once a second on stderr what the other side of a live sink does (on a terminal: always)", NULL},
    {"force", 0, POPT_ARG_NONE, &options.force, 0, "overwrite existing outputs", NULL},
    {"json", 0, POPT_ARG_NONE, &options.json, 0, "the results as JSON", NULL},
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

/* All that must be given back. */
struct replay {
  struct cli_options o;
  const char *command, *path;
  struct tlg_reader *reader;
  struct tlg_taps taps;
  struct tlg_resamp_cfg resamp;
  struct tlg_pipeline_cfg cfg;
  struct tlg_pipeline *pipeline;
  struct tlg_sink **sinks;
  uint32_t *packets;
  uint64_t *drops;
  struct tlg_sim_scenario *scenario;   /* NULL: none */
  char packet_text[200], out_rate[64]; /* what the scenario says of these */
  struct replay_run run;
  struct cli_names names;
  struct tlg_outfile *trace; /* open from before the run: its reader may wait for it */
  uint64_t total;            /* samples there will be, 0 = not known */
  uint64_t most;             /* packets there can be at most, 0 = not known */
  struct tlg_live *drained;
  struct tlg_drain *drain;
  struct tlg_live *live; /* NULL: the source is a recording */
  struct cli_live_told told;
  struct cli_sinks_told sinks_told;
  struct cli_letters letters;
  int radios;                 /* whether source or sink is one */
  struct tlg_radio_cfg radio; /* as sink */
  struct cli_radio_progress progress;
  int counted;      /* run.in_counts is that of the first pass */
  uint64_t stop_ms; /* when the signal was seen, 0 = not yet */
  int said_draining;
  double control_s;
};

/* ---- options ----------------------------------------------------------------------------------------------------- */

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

/* One packet size: a number, or uhdBYTES: a UHD frame of so many bytes less 16 for its header, 4 bytes a sample. */
static int packet_size(struct replay *r, const char *text, uint32_t *size)
{
  uint64_t n = 0;
  int status;

  if (strncmp(text, "uhd", 3) == 0) {
    status = cli_count(r->command, "--packet", text + 3, &n);
    n = n > 16 ? (n - 16) / 4 : 0;
  } else {
    status = cli_count(r->command, "--packet", text, &n);
  }
  if (!status && (n < 1 || n > 1 << 22)) {
    status = cli_usage(r->command, "--packet %s: a packet has from 1 to 4194304 samples", text);
  }
  *size = (uint32_t)n;
  return status;
}

/* Cut text at any of the delimiters and take each part as a packet size. Nothing may stand between two commas; between
 * blanks and lines it may. */
static int packet_list(struct replay *r, char *text, const char *delimiters)
{
  char *rest = text, *part;
  int status = 0;

  while (rest && !status) {
    uint32_t *more;

    part = strsep(&rest, delimiters);
    if (!*part && delimiters[1]) {
      continue;
    }
    if (!*part) {
      return cli_usage(r->command, "--packet %s: a size is missing beside a comma", options.packet);
    }
    more = realloc(r->packets, (r->cfg.n_packets + 1) * sizeof *more);

    if (!more) {
      cli_say(r->command, "out of memory");
      return CLI_SYSTEM;
    }
    r->packets = more;
    status = packet_size(r, part, &r->packets[r->cfg.n_packets++]);
  }
  return status;
}

static int packet_file(struct replay *r, const char *path)
{
  enum { LARGEST = 1 << 24 };
  FILE *f = fopen(path, "r");
  char *text = NULL;
  size_t n = 0;
  int status;

  if (!f) {
    cli_say(r->command, "--packet: %s: %s", path, strerror(errno));
    return CLI_SYSTEM;
  }
  text = malloc(LARGEST + 1);
  if (text) {
    n = fread(text, 1, LARGEST, f);
    text[n] = '\0';
  }
  if (!text || ferror(f)) {
    cli_say(r->command, "--packet: %s: cannot be read", path);
    status = CLI_SYSTEM;
  } else if (n == LARGEST || memchr(text, '\0', n)) {
    cli_say(r->command, "--packet: %s: not a list of packet sizes, one a line", path);
    status = CLI_BAD_INPUT;
  } else {
    status = packet_list(r, text, " \t\r\n,");
    status = status == CLI_USAGE ? CLI_BAD_INPUT : status;
  }
  free(text);
  fclose(f);
  return status;
}

static int packet_option(struct replay *r)
{
  char *text;
  int status;

  if (!options.packet && options.scenario) { /* the scenario's */
    return 0;
  }
  r->run.packet_text = options.packet ? options.packet : tlg_live_is(r->path) ? "what each read gave" : "625";
  if (!options.packet && tlg_live_is(r->path)) {
    return 0;
  }
  if (options.packet && options.packet[0] == '@') {
    status = packet_file(r, options.packet + 1);
  } else {
    text = strdup(r->run.packet_text);
    status = text ? packet_list(r, text, ",") : CLI_SYSTEM;
    free(text);
  }
  if (!status && !r->cfg.n_packets) {
    status = cli_usage(r->command, "--packet %s: no packet size", options.packet);
  }
  r->cfg.packets = r->packets;
  return status;
}

static int core_option(struct replay *r)
{
  const char *p = options.cores;
  char *end;
  int i;

  for (i = 0; p; i++) {
    const long core = strtol(p, &end, 10);

    if (end == p || core < 0 || core >= 1024 || i >= TLG_STAGES || (*end && *end != ',')) {
      return cli_usage(r->command,
                       "--cores %s: name the cores of receive, resample, deliver and perhaps reading: 0,1,0",
                       options.cores);
    }
    r->cfg.cores[i] = (int)core + 1;
    p = *end ? end + 1 : NULL;
  }
  if (options.cores && i < 3) {
    return cli_usage(r->command, "--cores %s: three cores at least, of receive, resample and deliver", options.cores);
  }
  if (options.cores && options.pin) {
    return cli_usage(r->command, "--pin and --cores exclude each other");
  }
  r->cfg.pin = options.pin;
  return 0;
}

static int drop_option(struct replay *r)
{
  char *text, *rest;
  int status = 0;

  if (!options.drop_packets) {
    return 0;
  }
  text = strdup(options.drop_packets);
  r->drops = malloc((strlen(options.drop_packets) + 1) * sizeof *r->drops);
  if (!text || !r->drops) {
    cli_say(r->command, "out of memory");
    status = CLI_SYSTEM;
  }
  rest = text;
  while (rest && !status) {
    const size_t i = r->cfg.n_drops;
    const char *part = strsep(&rest, ",");

    status = *part
                 ? cli_count(r->command, "--drop-packet", part, &r->drops[i])
                 : cli_usage(r->command, "--drop-packet %s: a number is missing beside a comma", options.drop_packets);
    if (!status && i && r->drops[i] <= r->drops[i - 1]) {
      status = cli_usage(r->command, "--drop-packet %s: the numbers must rise", options.drop_packets);
    }
    r->cfg.n_drops++;
  }
  free(text);
  r->cfg.drops = r->drops;
  return status;
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

static int read_options(struct replay *r)
{
  static const char *const clocks[] = {"real", "virtual", NULL}, *const overruns[] = {"drop", "block", NULL},
                           *const airs[] = {"clock", "arrival", NULL}, *const gaps[] = {"mark", "zero", "close", NULL};
  struct tlg_pipeline_cfg *cfg = &r->cfg;
  int clock = 0, overrun = -1, gap = 0, air = -1, i, status;
  uint64_t queue = 0, trace_packets = 1000000, deadline_ns = 1200000, spin_ns = 0, read_ahead = 0, fifo = 0;

  cfg->loops = 1;
  r->run.max_overruns = UINT64_MAX;
  r->control_s = 0.5;
  if ((status = word(r->command, "--clock", options.clock, clocks, &clock)) ||
      (status = word(r->command, "--overrun", options.overrun, overruns, &overrun)) ||
      (status = word(r->command, "--gaps", options.gaps, gaps, &gap)) ||
      (status = word(r->command, "--air", options.air, airs, &air)) ||
      (status = cli_count(r->command, "--loop", options.loop, &cfg->loops)) ||
      (status = cli_count(r->command, "--queue", options.queue, &queue)) ||
      (status = cli_count(r->command, "--max-overruns", options.max_overruns, &r->run.max_overruns)) ||
      (status = cli_count(r->command, "--offset", options.offset, &cfg->offset)) ||
      (status = cli_count(r->command, "--trace-packets", options.trace_packets, &trace_packets)) ||
      (status = cli_count(r->command, "--read-ahead", options.read_ahead, &read_ahead)) ||
      (status = cli_whole(r->command, "--fifo", options.fifo, 1, 99, &fifo)) ||
      (status = time_ns(r, "--deadline", options.deadline, &deadline_ns)) ||
      (status = time_ns(r, "--spin", options.spin, &spin_ns)) ||
      (status = time_ns(r, "--margin", options.margin, &cfg->pace_ns)) ||
      (status = cli_seconds(r->command, "--control", options.control, &r->control_s)) || (status = packet_option(r)) ||
      (status = core_option(r)) || (status = drop_option(r))) {
    return status;
  }
  if (options.speed && strcmp(options.speed, "max") == 0) {
    cfg->unpaced = 1;
  } else if (options.speed) {
    if (tlg_rate_parse(&cfg->speed, options.speed) != TLG_OK || strpbrk(options.speed, "kKMGHs") ||
        tlg_rate_hz(&cfg->speed) < 1e-6 || tlg_rate_hz(&cfg->speed) > 1e6) {
      return cli_usage(r->command, "--speed %s: a factor from 0.000001 to 1000000, as 2, 0.5 or 1/3", options.speed);
    }
  }
  if (options.queue && (queue < 1 || queue > 1 << 20)) {
    return cli_usage(r->command, "--queue %s: must be from 1 to 1048576", options.queue);
  }
  if (options.trace_packets && (trace_packets < 1 || trace_packets > (uint64_t)1 << 32)) {
    return cli_usage(r->command, "--trace-packets %s: must be from 1 to 4294967296", options.trace_packets);
  }
  if (options.deadline && !deadline_ns) {
    return cli_usage(r->command, "--deadline %s: must be above 0", options.deadline);
  }
  if (options.read_ahead && (read_ahead < 1 || read_ahead > (uint64_t)1 << 32)) {
    return cli_usage(r->command, "--read-ahead %s: must be from 1 to 4294967296", options.read_ahead);
  }
  cfg->clock = clock ? TLG_CLOCK_VIRTUAL : TLG_CLOCK_REAL;
  cfg->overrun = overrun < 0 ? TLG_OVERRUN_DEFAULT : overrun ? TLG_OVERRUN_BLOCK : TLG_OVERRUN_DROP;
  for (i = 0; options.to && options.to[i]; i++) {
    if (tlg_sink_text_repeats(options.to[i])) {
      if (cfg->loops && options.loop) {
        return cli_usage(r->command,
                         "--loop %s: end=loop repeats the recording until it is stopped; take one of the two",
                         options.loop);
      }
      cfg->loops = 0;
    }
  }
  cfg->gaps = (enum tlg_gaps)gap;
  cfg->air = air < 0 ? TLG_AIR_DEFAULT : air ? TLG_AIR_ARRIVAL : TLG_AIR_CLOCK;
  cfg->queue = (size_t)queue;
  cfg->read_ahead = (size_t)read_ahead;
  cfg->trace_packets = options.trace ? (size_t)trace_packets : 0;
  cfg->deadline_ps = deadline_ns * 1000;
  cfg->spin_ns = options.spin && !spin_ns ? UINT64_MAX : spin_ns;
  cfg->fifo = (int)fifo;
  cfg->lock_memory = options.mlock;
  cfg->strict = options.strict;
  return 0;
}

/* ---- a scenario -------------------------------------------------------------------------------------------------- */

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
  const uint32_t *from = options.packet ? r->packets : s->sizes;
  const size_t n = options.packet ? r->cfg.n_packets : s->n_sizes;
  uint32_t *copy = malloc(n * sizeof *copy);
  struct tlg_error err = {0};
  char sizes[160];

  if (!copy) {
    cli_say(r->command, "out of memory");
    return CLI_SYSTEM;
  }
  memcpy(copy, from, n * sizeof *copy);
  sizes_text(s->sizes, s->n_sizes, sizes, sizeof sizes);
  if (!options.packet) {
    r->cfg.packets = r->packets = copy;
    r->cfg.n_packets = n;
    snprintf(r->packet_text, sizeof r->packet_text, "%s", sizes);
  } else {
    /* As many as last as long: what a source of no known length leaves out goes by it. */
    s->n_packets = (uint64_t)((unsigned __int128)s->n_packets * sum_of(s->sizes, s->n_sizes) * n /
                              ((unsigned __int128)sum_of(copy, n) * s->n_sizes));
    s->n_packets += !s->n_packets;
    snprintf(r->packet_text, sizeof r->packet_text, "%.80s (--packet; the scenario has %.80s)", options.packet, sizes);
    free(s->sizes);
    s->sizes = copy;
    s->n_sizes = n;
    if (tlg_sim_scenario_check(s, &err) != TLG_OK) {
      return cli_usage(r->command, "--packet %s: %s", options.packet, err.text);
    }
  }
  r->run.packet_text = r->packet_text;
  return 0;
}

static int read_scenario(struct replay *r)
{
  struct tlg_sim_scenario *s;
  int status;

  if (!options.scenario) {
    return options.seed || model_settings.n ? cli_usage(r->command, "%s belongs to a scenario: name it with --scenario",
                                                        options.seed ? "--seed" : "--set")
                                            : 0;
  }
  if (r->cfg.clock != TLG_CLOCK_VIRTUAL) {
    return cli_usage(r->command, "--scenario drives the virtual clock, and on the real one nothing is modelled: add "
                                 "--clock virtual");
  }
  if (options.speed || options.overrun || options.queue) {
    return cli_usage(r->command, "%s: the scenario says it (%s)",
                     options.speed     ? "--speed"
                     : options.overrun ? "--overrun"
                                       : "--queue",
                     options.speed     ? "--set rate=..."
                     : options.overrun ? "--set THREAD.overrun=drop or block"
                                       : "--set THREAD.queue=...");
  }
  if ((status = cli_count(r->command, "--seed", options.seed, &r->cfg.seed)) ||
      (status = model_read(r->command, options.scenario, &model_settings, &r->scenario))) {
    return status;
  }
  s = r->scenario;
  if (s->arrivals != TLG_ARRIVALS_CLOCK) {
    cli_say(
        r->command,
        "%s: its packets come at random (arrivals = \"poisson\"), and those of a recording come by its sample clock; "
        "--set source.arrivals=clock",
        options.scenario);
    return CLI_BAD_INPUT;
  }
  if ((status = share_sizes(r))) {
    return status;
  }
  if (s->has_phy) {
    s->offset = options.offset ? r->cfg.offset : s->offset;
    s->deadline_ps = options.deadline ? r->cfg.deadline_ps : s->deadline_ps;
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
static int fit_scenario(struct replay *r)
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

/* Outputs that are one file, or the source's, are refused before anything is opened. */
static int name_scenario(struct replay *r)
{
  char found[4096];

  return cli_names_input(&r->names, "--scenario", options.scenario,
                         model_find(options.scenario, found, sizeof found) ? found : options.scenario);
}

static int name_files(struct replay *r)
{
  const char *const filter = cli_resampler.filter, *const packet = options.packet;
  size_t i;
  int status = 0;

  r->names.command = r->command;
  if ((!tlg_live_is(r->path) && (status = cli_names_input(&r->names, "", r->path, r->path))) ||
      (status = cli_names_input(&r->names, "--filter", filter, filter)) ||
      (options.scenario && (status = name_scenario(r))) ||
      (packet && packet[0] == '@' && (status = cli_names_input(&r->names, "--packet", packet, packet + 1)))) {
    return status;
  }
  for (i = 0; options.to && options.to[i] && !status; i++) {
    char *path = tlg_sink_text_is_stdout(options.to[i]) ? strdup("-") : tlg_sink_text_path(options.to[i]);

    status = cli_names_output(&r->names, "--to", options.to[i], path);
    free(path);
  }
  return status ? status : cli_names_output(&r->names, "--trace", options.trace, options.trace);
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static int source_read(void *context, tlg_cs16 *buf, size_t n, size_t *got, uint64_t *first, struct tlg_error *err)
{
  return tlg_reader_read(((struct replay *)context)->reader, buf, n, got, first, err);
}

/* What is counted of the source is what one pass holds, however often it is played. */
static int source_rewind(void *context, struct tlg_error *err)
{
  struct replay *r = context;

  if (!r->counted) {
    tlg_reader_counts(r->reader, &r->run.in_counts);
    r->counted = 1;
  }
  return tlg_reader_rewind(r->reader, err);
}

/* How many packets there can be at most: gaps, changes of frequency and the end cut some short. */
static uint64_t most_packets(const struct replay *r, uint64_t pass)
{
  const uint64_t passes = pass ? r->total / pass + 1 : 1;
  uint64_t sum = 0;
  size_t i;

  for (i = 0; i < r->cfg.n_packets; i++) {
    sum += r->packets[i];
  }
  return r->total ? (r->total / sum + 2) * r->cfg.n_packets + r->cfg.n_captures * passes : 0;
}

/* --nsamps, as --duration. */
static int limit_samples(struct replay *r)
{
  uint64_t n = 0;
  const int status = cli_radio_nsamps(r->command, &n);

  if (n && (!r->cfg.max_samples || n < r->cfg.max_samples)) {
    r->cfg.max_samples = n;
  }
  return status;
}

/* How long, and through which filter, now that the source's rate is known. */
static int choose_resampler(struct replay *r)
{
  int status;

  if ((status = cli_duration(r->command, "--duration", options.duration, &r->cfg.rate_in, &r->cfg.max_samples)) ||
      (status = cli_resampler_cfg(r->command, &r->cfg.rate_in, &r->taps, &r->resamp, &r->cfg.rate_out))) {
    return status;
  }
  if (options.duration && !r->cfg.max_samples) {
    return cli_usage(r->command, "--duration %s: not a single sample long", options.duration);
  }
  if ((status = limit_samples(r))) {
    return status;
  }
  r->cfg.resamp = &r->resamp;
  r->cfg.flush = cli_resampler.flush;
  return 0;
}

static int open_source(struct replay *r)
{
  struct tlg_error err = {0};
  struct tlg_reader_cfg in;
  const struct tlg_reader_info *info;
  uint64_t pass = 0;
  int status;

  if ((status = cli_input_cfg(r->command, r->path, &in))) {
    return status;
  }
  if (tlg_reader_open(&r->reader, r->path, &in, &err)) {
    return cli_fail(r->command, r->path, &err);
  }
  info = tlg_reader_info(r->reader);
  r->run.info = info;
  if (!info->rate.num && !r->scenario) {
    return cli_usage(r->command, "%s: nothing tells the rate; give --rate", r->path);
  }
  if (!info->seekable && r->cfg.loops != 1) {
    cli_say(r->command, "%s: a pipe cannot be repeated; save it to a file, or leave --loop out", r->path);
    return CLI_UNAVAILABLE;
  }
  r->cfg.rate_in = info->rate.num ? info->rate : r->scenario->rate;
  r->cfg.source = (struct tlg_source){.read = source_read, .rewind = source_rewind, .context = r};
  r->cfg.captures = info->captures;
  r->cfg.n_captures = info->n_captures;
  if ((status = choose_resampler(r))) {
    return status;
  }
  if (info->n_samples != UINT64_MAX) {
    pass = info->n_samples + info->n_missing;
  }
  if (pass && r->cfg.loops) {
    r->total = pass > UINT64_MAX / r->cfg.loops ? 0 : pass * r->cfg.loops;
  }
  if (r->cfg.max_samples && (!r->total || r->cfg.max_samples < r->total)) {
    r->total = r->cfg.max_samples;
  }
  r->most = most_packets(r, pass);
  if (r->most && r->most < r->cfg.trace_packets) { /* no more records than there will be packets */
    r->cfg.trace_packets = (size_t)r->most;
  }
  if (r->most && r->cfg.n_drops && r->drops[r->cfg.n_drops - 1] >= r->most) {
    return cli_usage(r->command, "--drop-packet %s: there will be no packet %" PRIu64 ", they are %" PRIu64 " at most",
                     options.drop_packets, r->drops[r->cfg.n_drops - 1], r->most);
  }
  return r->scenario ? fit_scenario(r) : 0;
}

/* A source that sets its own pace. */
static int open_live(struct replay *r)
{
  const struct tlg_writer_cfg writer = {.force = options.force};
  struct tlg_error err = {0};
  size_t i;
  int status;

  if (options.speed || r->cfg.loops != 1 || r->cfg.clock == TLG_CLOCK_VIRTUAL) {
    return cli_usage(r->command, "%s: a live source plays once, in real time; record it, then replay that with %s",
                     r->path,
                     options.speed       ? "--speed"
                     : r->cfg.loops != 1 ? "--loop"
                                         : "--clock virtual");
  }
  /* A stream cannot be had again: what is wrong with a file is said before anybody is waited for. */
  for (i = 0; options.to && options.to[i]; i++) {
    char *path = tlg_sink_text_path(options.to[i]);
    const int refused = path && tlg_writer_check(path, &writer, &err);

    free(path);
    if (refused) {
      return cli_fail(r->command, err.status == TLG_EINVAL ? options.to[i] : NULL, &err);
    }
  }
  if ((status = cli_live_open(r->command, r->path, &r->live))) {
    return status;
  }
  r->run.live = r->live;
  r->cfg.rate_in = tlg_live_info(r->live)->rate;
  r->cfg.source = tlg_live_source(r->live);
  return choose_resampler(r);
}

static void sink_hint(void *context, const char *text)
{
  cli_say(((struct replay *)context)->command, "%s", text);
}

/* A radio's clock decides what rate it transmits: the resampler follows. */
static int follow_rate(struct replay *r, const struct tlg_sink *sink)
{
  static char text[48];
  const struct tlg_rate rate = tlg_sink_rate(sink);

  if (!rate.num || (rate.num == r->cfg.rate_out.num && rate.den == r->cfg.rate_out.den)) {
    return 0;
  }
  if (r->cfg.n_sinks > 1) {
    return cli_usage(r->command, "%s: radios of different rates cannot be sinks of one run", tlg_sink_name(sink));
  }
  snprintf(text, sizeof text, "%" PRIu64 "/%" PRIu64, rate.num, rate.den);
  cli_resampler.out_rate = text;
  tlg_taps_free(&r->taps);
  return cli_resampler_cfg(r->command, &r->cfg.rate_in, &r->taps, &r->resamp, &r->cfg.rate_out);
}

static int open_drain(struct replay *r)
{
  const struct tlg_live_cfg cfg = {.rate = r->cfg.rate_out, .hint = sink_hint, .context = r};
  struct tlg_error err = {0};

  if (!options.drain) {
    return 0;
  }
  if (!tlg_live_is(options.drain)) {
    return cli_usage(r->command, "--drain %s: a live source, as srsran:tcp://127.0.0.1:2001", options.drain);
  }
  if (tlg_live_open(&r->drained, options.drain, &cfg, &cli_stop, &err)) {
    return cli_fail(r->command, options.drain, &err);
  }
  r->run.drained = r->drained;
  return 0;
}

static int start_drain(struct replay *r)
{
  struct tlg_error err = {0};
  struct tlg_source source;

  if (!r->drained) {
    return 0;
  }
  source = tlg_live_source(r->drained);
  return tlg_drain_new(&r->drain, &source, &err) ? cli_fail(r->command, options.drain, &err) : 0;
}

static int end_drain(struct replay *r)
{
  struct tlg_error err = {0};
  const int status = tlg_drain_end(r->drain, &err);

  r->drain = NULL;
  return status ? cli_fail(r->command, options.drain, &err) : 0;
}

static int open_sinks(struct replay *r)
{
  static const char *const nowhere[] = {"null:", NULL};
  const char *const *names = options.to ? (const char *const *)options.to : nowhere;
  struct tlg_sink_cfg cfg = {
      .rate = r->cfg.rate_out,
      .force = options.force,
      .cancel = &cli_stop,
      .hint = sink_hint,
      .context = r,
      .frequency_hz = r->live ? tlg_live_info(r->live)->frequency_hz : tlg_reader_info(r->reader)->frequency_hz,
      .datetime = r->live ? tlg_live_info(r->live)->datetime : tlg_reader_info(r->reader)->captures[0].datetime};
  struct tlg_error err = {0};
  size_t n = 0, i;
  int radios, status;

  if ((status = cli_radio_cfg(r->command, &r->cfg.rate_in, &r->radio))) {
    return status;
  }
  cfg.radio = &r->radio;
  r->radios = cli_is_radio(r->path);
  if (!cli_is_radio(r->path)) { /* --channel is the recording's; a sink's is a key: uhd:...?channel=1 */
    r->radio.channel = 0;
  }
  for (; names[n]; n++) {
    r->radios |= cli_is_transmitter(names[n]);
    if (cli_is_radio(names[n]) && r->cfg.clock == TLG_CLOCK_VIRTUAL) {
      return cli_usage(r->command, "%s: a radio knows no virtual clock; dac: stands for one there", names[n]);
    }
  }
  if (!r->radios && (status = cli_radio_unused(r->command))) {
    return status;
  }
  r->sinks = calloc(n, sizeof *r->sinks);
  if (!r->sinks) {
    cli_say(r->command, "out of memory");
    return CLI_SYSTEM;
  }
  r->run.sinks = calloc(n, sizeof *r->run.sinks);
  if (!r->run.sinks) {
    cli_say(r->command, "out of memory");
    return CLI_SYSTEM;
  }
  /* Radios first: the others are opened with the rate that comes of them. */
  for (radios = 1; radios >= 0; radios--) {
    for (i = 0; i < n; i++) {
      const size_t at = r->run.n_sinks;

      if (cli_is_radio(names[i]) != radios) {
        continue;
      }
      cfg.rate = r->cfg.rate_out;
      if (tlg_sink_open(&r->sinks[at], names[i], &cfg, &err)) {
        return cli_fail(r->command, err.status == TLG_EINVAL || err.status == TLG_EUNAVAIL || radios ? names[i] : NULL,
                        &err);
      }
      r->run.sinks[at] = names[i];
      r->cfg.n_sinks = r->run.n_sinks = at + 1;
      if (radios && (status = follow_rate(r, r->sinks[at]))) {
        return status;
      }
    }
  }
  r->cfg.sinks = r->sinks;
  return 0;
}

/* Opened before the run, so that what is wrong with it is said then, and a pipe's reader is met once. Nothing is
 * written to it before the run is over. */
static int open_trace(struct replay *r)
{
  struct tlg_error err = {0};

  return options.trace && tlg_outfile_open(&r->trace, options.trace, options.force, &err)
             ? cli_fail(r->command, NULL, &err)
             : 0;
}

/* ---- running -----------------------------------------------------------------------------------------------------
 */

/* After a signal: if the end takes its time (a sink that does not take what it is given), say what is going on. */
static void tell_draining(struct replay *r)
{
  enum { PATIENCE_MS = 500 };
  uint64_t now_ms;

  if (!cli_stop || r->said_draining) {
    return;
  }
  now_ms = cli_now_ns() / 1000000 + 1;
  if (!r->stop_ms) {
    r->stop_ms = now_ms;
  } else if (now_ms - r->stop_ms >= PATIENCE_MS) {
    cli_letters_end(&r->letters);
    cli_say(r->command, "stopping: draining; another signal ends at once");
    r->said_draining = 1;
  }
}

static int on_event(void *context, const struct tlg_event *event)
{
  struct replay *r = context;

  switch (event->kind) {
  case TLG_EVENT_OVERRUN:
    cli_letters(&r->letters, 'O', event->n);
    break;
  case TLG_EVENT_STARVED:
    cli_letters(&r->letters, 'U', event->n);
    break;
  case TLG_EVENT_WARNING:
    cli_letters_end(&r->letters);
    cli_say(r->command, "%s", event->text);
    break;
  case TLG_EVENT_GAP:
    break;
  case TLG_EVENT_TICK:
    tell_draining(r);
    cli_sinks_letters(r->pipeline, r->run.n_sinks, &r->sinks_told, &r->letters);
    cli_sinks_console(r->pipeline, r->run.n_sinks, r->run.sinks, options.progress);
    if (r->live) {
      cli_live_letters(r->live, &r->told, &r->letters);
    }
    if (r->radios && options.progress) {
      cli_radio_progress(&r->progress, event->samples);
    }
    if (!r->letters.n && r->total) {
      cli_progress(r->command, event->samples < r->total ? event->samples : r->total - 1, r->total);
    }
    break;
  }
  return cli_stop;
}

/* What came out otherwise than a user may think. */
static void warn(const struct replay *r)
{
  const struct tlg_accounts *a = &tlg_pipeline_result(r->pipeline)->accounts;
  size_t i;

  if (r->cfg.n_drops && r->drops[r->cfg.n_drops - 1] >= a->packets && !cli_stop) {
    cli_say(r->command, "--drop-packet %" PRIu64 ": there were only %" PRIu64 " packets, counted from 0",
            r->drops[r->cfg.n_drops - 1], a->packets);
  }
  if (a->closed) {
    cli_say(r->command, "%" PRIu64 " missing samples were joined over: the output jumps there", a->closed);
  }
  if (a->left_out && r->cfg.gaps == TLG_GAPS_ZERO) {
    cli_say(r->command,
            "stopped in a gap: %" PRIu64
            " of its zeros were left out, so that what follows it comes earlier in raw files",
            a->left_out);
    return;
  }
  for (i = 0; i < r->run.n_sinks && a->left_out; i++) {
    int marks;

    tlg_pipeline_sink_count(r->pipeline, i, NULL, &marks);
    if (!marks) {
      cli_say(r->command, "%s: %" PRIu64 " outputs of gaps are left out, and %s", r->run.sinks[i], a->left_out,
              strncmp(r->run.sinks[i], "srsran:", 7) == 0
                  ? "a PHY counts samples and cannot see where; --gaps zero sends zeros for them"
                  : "this kind of file cannot mark where; write SigMF, or take --gaps zero");
    }
  }
}

static void count_radios(struct replay *r)
{
  size_t i;

  r->run.has_radio = 1;
  if (cli_is_radio(r->path)) {
    cli_radio_add_live(&r->run.radio, r->live);
  }
  for (i = 0; i < r->run.n_sinks; i++) {
    if (cli_is_transmitter(r->run.sinks[i])) {
      cli_radio_add_sink(&r->run.radio, r->pipeline, i);
    }
  }
}

static int run(struct replay *r, FILE *results)
{
  const struct tlg_accounts *a;
  const struct tlg_pipeline_result *result;
  struct tlg_error err = {0};
  size_t i;
  int status, drained;

  r->cfg.event = on_event;
  r->cfg.context = r;
  status = tlg_pipeline_new(&r->pipeline, &r->cfg, &err);
  r->run.pipeline = r->pipeline;
  memset(r->sinks, 0, r->run.n_sinks * sizeof *r->sinks); /* they are the pipeline's now */
  if (status) {
    return cli_fail(r->command, NULL, &err);
  }
  if (r->cfg.clock == TLG_CLOCK_REAL) {
    tlg_host_read(&r->run.host, "");
    if (r->cfg.fifo && options.margin && r->run.host.rt_runtime_us > 0 && r->run.host.rt_runtime_us < 1000000) {
      cli_say(r->command,
              "the kernel stops real-time threads that run for more than %" PRId64
              " us of a second; with a large --margin 'sysctl kernel.sched_rt_runtime_us=-1' ends that",
              r->run.host.rt_runtime_us);
    }
  }
  if ((status = start_drain(r))) {
    return status;
  }
  status = tlg_pipeline_run(r->pipeline, &err);
  drained = end_drain(r);
  result = tlg_pipeline_result(r->pipeline);
  a = &result->accounts;
  cli_sinks_console_end();
  if (r->letters.n) {
    cli_letters_end(&r->letters);
  } else if (r->total) {
    cli_progress(r->command, 1, 1);
  }
  if (status) {
    status = cli_fail(r->command, result->source_failed ? r->path : NULL, &err); /* a sink's error names its file */
    cli_say(r->command,
            "stopped after %" PRIu64 " inputs and %" PRIu64 " outputs; no file was left under its final name",
            a->processed, a->outputs);
    return status;
  }
  if (!r->counted && r->reader) {
    tlg_reader_counts(r->reader, &r->run.in_counts);
  }
  if (r->cfg.clock == TLG_CLOCK_REAL && r->control_s > 0 && !cli_stop) {
    const double own = (double)result->duration_ps * 1e-12;

    tlg_host_spin(&r->run.control, (uint64_t)((own < r->control_s ? own : r->control_s) * 1e9), &cli_stop);
  }
  if (options.trace) {
    status = tlg_pipeline_trace_put(r->pipeline, r->trace, &err);
    r->trace = NULL;
    if (status) {
      status = cli_fail(r->command, NULL, &err);
    } else {
      r->run.trace_path = options.trace;
    }
  }
  warn(r);
  status = status ? status : drained;
  for (i = 0; i < r->run.n_sinks; i++) {
    if (!cli_sink_balanced(r->pipeline, i)) {
      cli_say(r->command, "%s: given is not sent + dropped; please report this", r->run.sinks[i]);
      status = status ? status : CLI_CHECK_FAILED;
    }
  }
  if (!a->balanced) {
    cli_say(r->command,
            "the counts do not add up: %" PRIu64 " inputs against %" PRIu64 " processed + %" PRIu64
            " dropped + %" PRIu64 " missing, %" PRIu64 " outputs against %" PRIu64 " - %" PRIu64
            " left out; please report this",
            a->inputs, a->processed, a->dropped, a->missing, a->outputs, a->end_position, a->left_out);
    status = status ? status : CLI_CHECK_FAILED;
  }
  if (a->packets_dropped > r->run.max_overruns) {
    cli_say(r->command, "%" PRIu64 " packets were lost, %" PRIu64 " allowed", a->packets_dropped, r->run.max_overruns);
    status = status ? status : CLI_CHECK_FAILED;
  }
  if (r->radios) {
    int judged;

    count_radios(r);
    judged = cli_radio_verdict(r->command, &r->run.radio);
    status = status ? status : judged;
  }
  if (options.json) {
    status = report_json(results, &r->run) && !status ? CLI_SYSTEM : status;
  } else {
    report_text(results, &r->run);
  }
  return cli_finish(r->command, results, status);
}

int cmd_replay(int argc, const char **argv)
{
  struct replay r = {.command = argv[0]};
  int status = cli_options(&r.o, argv[0], argc, argv, table, description, 1, 1);
  size_t i;

  if (status >= 0) {
    model_settings_free(&model_settings);
    return status;
  }
  r.path = r.o.args[0];
  r.run.command = r.command;
  r.run.source = strcmp(r.path, "-") == 0 ? "(stdin)" : r.path;
  r.run.cfg = &r.cfg;
  r.run.scenario_name = options.scenario;
  cli_catch_signals();
  if (!(status = read_options(&r)) && !(status = read_scenario(&r)) && !(status = name_files(&r)) &&
      !(status = (tlg_live_is(r.path) ? open_live : open_source)(&r))) {
    r.run.align = cli_resampler.align;
    r.run.flush = cli_resampler.flush;
    r.run.scenario = r.scenario;
    if (!(status = open_trace(&r)) && !(status = open_sinks(&r)) && !(status = open_drain(&r))) {
      status = run(&r, cli_results(r.names.stdout_taken));
    }
  }
  tlg_pipeline_free(r.pipeline);
  for (i = 0; i < r.run.n_sinks; i++) {
    tlg_sink_abort(r.sinks[i]);
  }
  tlg_outfile_abort(r.trace);
  tlg_reader_close(r.reader);
  tlg_live_close(r.live);
  tlg_live_close(r.drained);
  cli_names_free(&r.names);
  tlg_taps_free(&r.taps);
  tlg_sim_scenario_free(r.scenario);
  model_settings_free(&model_settings);
  free(r.sinks);
  free(r.run.sinks);
  free(r.packets);
  free(r.drops);
  cli_options_free(&r.o);
  return cli_exit_stopped(status);
}
