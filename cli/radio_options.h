/* SPDX-License-Identifier: Apache-2.0 */
/* Options of commands that use a radio, with the names that UHD's own programs have: for `replay` and `record`. */
#ifndef RADIO_OPTIONS_H
#define RADIO_OPTIONS_H

#include "cli.h"
#include "tlg_replay.h"

struct cli_radio {
  char *freq, *lo_offset, *gain, *ant, *bw, *subdev, *ref, *pps, *spb, *nsamps, *wirefmt, *stream_args, *setup,
      *patience, *lead, *late, *overrun_threshold, *underrun_threshold, *drop_threshold, *seq_threshold;
  int int_n, skip_lo, strict_rate, stats, go_on;
};
extern struct cli_radio cli_radio;
extern struct poptOption cli_radio_table[];
#define CLI_RADIO_OPTIONS                                                                                              \
  {                                                                                                                    \
    NULL, 0, POPT_ARG_INCLUDE_TABLE, cli_radio_table, 0, "Radio (uhd:):", NULL                                         \
  }

/* Whether a source or sink of this text is a radio, or (dac:) a model of one. */
int cli_is_radio(const char *text);
int cli_is_transmitter(const char *text);

/* From these options and --channel. match = the rate that the radio's is resampled to or from ({0, 0}: none). What a
 * radio says goes to stderr as it stands. 0, or the exit status after saying why. */
int cli_radio_cfg(const char *command, const struct tlg_rate *match, struct tlg_radio_cfg *cfg);
/* The samples that --nsamps asks for; 0 = not given. */
int cli_radio_nsamps(const char *command, uint64_t *n);
/* Options of a radio were given and there is none: usage. */
int cli_radio_unused(const char *command);

/* A line a second on stderr with the rate of that second. Call it often; total = samples so far. */
struct cli_radio_progress {
  uint64_t told_ns, told, began_ns;
};
void cli_radio_progress(struct cli_radio_progress *p, uint64_t total);

/* What a run with a radio counted. Fill it with the functions below, then print and judge it. */
struct cli_radio_counts {
  uint64_t received, dropped, overruns, transmitted, sequence_tx, sequence_rx, underruns, late, timeouts_tx,
      timeouts_rx;
  uint64_t bad_packets;
};
void cli_radio_add_live(struct cli_radio_counts *c, const struct tlg_live *live);
void cli_radio_add_sink(struct cli_radio_counts *c, const struct tlg_pipeline *p, size_t i);
/* benchmark_rate's summary, label by label; with --stats the average rate over so many seconds as well. */
void cli_radio_summary(FILE *out, const struct cli_radio_counts *c, double seconds);
json_t *cli_radio_json(const struct cli_radio_counts *c);
/* Thresholds passed, and bad packets without --continue: said on stderr. CLI_CHECK_FAILED, or 0. */
int cli_radio_verdict(const char *command, const struct cli_radio_counts *c);

#endif
