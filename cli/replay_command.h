/* SPDX-License-Identifier: Apache-2.0 */
/* `taplag replay` between its files: what was asked for, and all that is open. */
#ifndef REPLAY_COMMAND_H
#define REPLAY_COMMAND_H

#include "live_cli.h"
#include "names.h"
#include "radio_options.h"
#include "replay_report.h"

/* As the command line has them; NULL or 0: not given. */
struct replay_options {
  char **to;
  char *packet, *speed, *loop, *duration, *clock, *overrun, *gaps, *cores, *queue, *max_overruns, *spin, *offset,
      *deadline, *drain, *trace, *trace_packets, *drop_packets, *control, *read_ahead, *margin, *fifo, *air, *scenario,
      *seed;
  int pin, mlock, strict, force, json, progress;
};
extern struct replay_options replay_options;

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

/* All of these return 0 or the exit status, with the cause told. */

/* The command line; the command ends at once with a status of 0 or above. */
int replay_options_take(struct replay *r, int argc, const char **argv);
int replay_read_options(struct replay *r);
/* --packet and --drop-packet. */
int replay_packet_option(struct replay *r);
int replay_drop_option(struct replay *r);
/* --scenario; then, when the source is open, whether it and the resampler are what the scenario was made for. */
int replay_read_scenario(struct replay *r);
int replay_fit_scenario(struct replay *r);
/* Outputs that are one file, or the source's, are refused before anything is opened. */
int replay_name_files(struct replay *r);
int replay_open_source(struct replay *r);
int replay_open_live(struct replay *r);
int replay_open_trace(struct replay *r);
int replay_open_sinks(struct replay *r);
int replay_open_drain(struct replay *r);
int replay_start_drain(struct replay *r);
int replay_end_drain(struct replay *r);

#endif
