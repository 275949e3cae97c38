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

/* What was told of a live source's losses so far. */
struct cli_live_told {
  uint64_t overruns, losses, late;
};
/* O: the sender's buffer overflowed; D: packets were lost on the way; L: a late command. */
void cli_live_letters(const struct tlg_live *live, struct cli_live_told *told, struct cli_letters *l);

/* Lines of the table: what came, what was lost, whatever else was counted. */
void cli_live_text(FILE *out, const struct tlg_live *live, const struct tlg_pipeline_result *r);
/* {"packets": ..., ...}, every count. */
json_t *cli_live_json(const struct tlg_live *live);

#endif
