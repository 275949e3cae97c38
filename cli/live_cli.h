/* SPDX-License-Identifier: Apache-2.0 */
/* Live sources on the command line: opening, the letters on stderr, what they counted. */
#ifndef LIVE_CLI_H
#define LIVE_CLI_H

#include "cli.h"
#include "tlg_replay.h"

/* Letters on stderr, each for something that was lost; after some hundred the counts at the end must do. */
struct cli_letters {
  uint64_t n;
  int line_open; /* their line has not ended */
};
void cli_letters(struct cli_letters *l, char letter, uint64_t n);
void cli_letters_end(struct cli_letters *l);

/* Open a live source with what the input options say of it. 0, or the exit status after saying why. */
int cli_live_open(const char *command, const char *text, struct tlg_live **live);

/* What was told of losses so far. */
struct cli_live_told {
  uint64_t overruns, losses, late;
};
/* O: the sender's buffer overflowed; D: packets were lost on the way; L: a late command. */
void cli_live_letters(const struct tlg_live *live, struct cli_live_told *told, struct cli_letters *l);

/* Lines of the table: what came, what was lost, whatever else was counted. */
void cli_live_text(FILE *out, const struct tlg_live *live, const struct tlg_pipeline_result *r);
/* One line of a live source that was drained. */
void cli_drain_text(FILE *out, const struct tlg_live *live);
/* {"packets": ..., ...}, every count. */
json_t *cli_live_json(const struct tlg_live *live);

/* The same of all live sinks: O: a sink lost outputs in front of it; U, L, S: a radio's underruns, late packets,
 * packets lost on the way to it. told is one for all. */
struct cli_sinks_told {
  uint64_t losses, underruns, late, sequence;
};
void cli_sinks_letters(const struct tlg_pipeline *p, size_t n, struct cli_sinks_told *told, struct cli_letters *l);
/* A line of stderr for each live sink that has something to say: twice a second on a terminal, over the line before;
 * with `always` once a second elsewhere. */
void cli_sinks_console(const struct tlg_pipeline *p, size_t n, const char *const *names, int always);
/* End the console's line on a terminal. */
void cli_sinks_console_end(void);
/* The rest of the line "sink NAME, N outputs": sent, dropped, whatever else was counted. */
void cli_sink_text(FILE *out, const struct tlg_pipeline *p, size_t i, uint64_t given);
void cli_sink_json(json_t *o, const struct tlg_pipeline *p, size_t i);
/* Whether given = sent + dropped (always, for sinks that are not live). */
int cli_sink_balanced(const struct tlg_pipeline *p, size_t i);

#endif
