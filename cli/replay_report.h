/* SPDX-License-Identifier: Apache-2.0 */
/* How results of the pipeline are printed: by `replay` and by `bench pipeline`. */
#ifndef REPLAY_REPORT_H
#define REPLAY_REPORT_H

#include "cli.h"
#include "radio_options.h"
#include "tlg_replay.h"

/* What stands around the pipeline's own result. */
struct replay_run {
  const char *command, *source;
  const struct tlg_reader_info *info; /* NULL: a source in memory, or a live one */
  const struct tlg_live *live;        /* NULL: not a live one */
  const struct tlg_live *drained;     /* what was thrown away on the side; NULL: nothing */
  struct tlg_convert_counts in_counts;
  const struct tlg_pipeline_cfg *cfg;
  const struct tlg_pipeline *pipeline;
  const char *packet_text; /* as given */
  const char **sinks;      /* their names */
  size_t n_sinks;
  int align, flush;
  const struct tlg_sim_scenario *scenario; /* NULL: none */
  const char *scenario_name;               /* as it was asked for */
  struct tlg_host host;
  struct tlg_spin_control control; /* duration 0: not taken */
  const char *trace_path;          /* NULL: none written */
  uint64_t max_overruns;           /* UINT64_MAX: no limit */
  int status;                      /* the exit status that is to be */
  const char *extra_name;          /* one more object of the JSON, taken over by report_json; NULL: none */
  json_t *extra;
  int has_radio;
  struct cli_radio_counts radio;
};

/* The heading of a table of delays and one row of it, in microseconds. */
void report_delay_heading(FILE *out, const char *title);
void report_delay_row(FILE *out, const char *name, const struct tlg_delays_summary *s);
/* What a control found, in one line without its end. */
void report_control(FILE *out, const struct tlg_spin_control *control);
/* Inputs and outputs: where every one went. */
void report_accounts(FILE *out, const struct tlg_accounts *a);
/* CPU time of each thread in ms per second of signal, spinning apart. */
void report_cpu(FILE *out, const struct tlg_pipeline_result *r);
void report_text(FILE *out, const struct replay_run *run);
/* 0, or CLI_SYSTEM. */
int report_json(FILE *out, const struct replay_run *run);
/* The parts of it that `bench pipeline` has as well. */
json_t *report_measured(const struct replay_run *run);
json_t *report_host(const struct replay_run *run);

#endif
