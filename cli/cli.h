/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands of the program share: the command table, option values, messages, JSON and exit status. */
#ifndef CLI_H
#define CLI_H

#include "taplag.h"
#include "tlg_dsp.h"
#include "tlg_files.h"

#include <jansson.h>
#include <popt.h>
#include <stdio.h>

enum cli_exit {
  CLI_DONE = 0,
  CLI_CHECK_FAILED = 1,
  CLI_USAGE = 2,
  CLI_BAD_INPUT = 3,
  CLI_SYSTEM = 4,
  CLI_UNAVAILABLE = 5,
  CLI_INTERRUPTED = 130,
  CLI_TERMINATED = 143,
};

struct cli_command {
  const char *name;
  const char *arguments;                   /* "IN -o OUT" */
  const char *summary;                     /* one line, for the overview */
  int (*run)(int argc, const char **argv); /* argv[0] = the command's name; returns the exit status */
};

/* The entry of a command in the program's table; NULL if there is none. */
const struct cli_command *cli_command_find(const char *name);

int cmd_synth(int argc, const char **argv);
int cmd_info(int argc, const char **argv);
int cmd_resample(int argc, const char **argv);
int cmd_replay(int argc, const char **argv);
int cmd_record(int argc, const char **argv);
int cmd_check(int argc, const char **argv);
int cmd_evm(int argc, const char **argv);
int cmd_filter(int argc, const char **argv);
int cmd_model(int argc, const char **argv);
int cmd_sweep(int argc, const char **argv);
int cmd_explain(int argc, const char **argv);
int cmd_bench(int argc, const char **argv);
int cmd_vectors(int argc, const char **argv);
/* The entry of a part of taplag vectors ("vectors list", ...), for its help; NULL if there is none. */
const struct cli_command *cmd_vectors_part(const char *name);

/* ---- options ---------------------------------------------------------------------------------------------- */

/* Parse argv by one popt table, which also drives --help (description = what stands below the usage line, may
 * be NULL). Leaves the positional arguments in *args (NULL-terminated, valid until cli_options_free) and their
 * number in *n_args. Returns -1 to go on, else the exit status with which the command ends (help, usage). */
struct cli_options {
  poptContext context;
  const char **args;
  int n_args;
};
int cli_options(struct cli_options *o, const char *command, int argc, const char **argv, const struct poptOption *table,
                const char *description, int min_args, int max_args);
void cli_options_free(struct cli_options *o);

/* Values: print what is wrong ("taplag: COMMAND: --rate 0: ...") and return CLI_USAGE, or return 0. text NULL leaves
 * the value alone. */
int cli_rate(const char *command, const char *option, const char *text, struct tlg_rate *rate);
int cli_seconds(const char *command, const char *option, const char *text, double *seconds); /* "1s", "20ms", "5us" */
int cli_count(const char *command, const char *option, const char *text, uint64_t *n);       /* "625", "25k", "1M" */
int cli_whole(const char *command, const char *option, const char *text, uint64_t low, uint64_t high, uint64_t *n);
int cli_real(const char *command, const char *option, const char *text, double low, double high, double *value);
int cli_format(const char *command, const char *option, const char *text, enum tlg_format *format);
int cli_cpu(const char *command, const char *option, const char *text, enum tlg_cpu *cpu);
/* A duration in whole samples at a rate: exact for "20ms" and the like; rounds to the nearest sample. */
int cli_duration(const char *command, const char *option, const char *text, const struct tlg_rate *rate, uint64_t *n);

/* The options of every command that reads a recording: --format --rate --full-scale --swap-iq --conjugate --rescue
 * --no-hash --recording --channel --start --length. Put CLI_INPUT_OPTIONS(x) into the table, then call cli_input_cfg.
 */
struct cli_input {
  char *format, *rate, *full_scale, *recording, *channel, *start, *length;
  int swap_iq, conjugate, rescue, skip_hash;
};
extern struct cli_input cli_input;
extern struct poptOption cli_input_table[];
#define CLI_INPUT_OPTIONS                                                                                              \
  {                                                                                                                    \
    NULL, 0, POPT_ARG_INCLUDE_TABLE, cli_input_table, 0, "Input:", NULL                                                \
  }
/* Hints and warnings of the reader go to stderr as "taplag: COMMAND: FILE: text". */
int cli_input_cfg(const char *command, const char *path, struct tlg_reader_cfg *cfg);

/* The resampler's options: --out-rate --taps --filter --pass --rounding --align --flush --cpu. */
struct cli_resampler {
  char *out_rate, *taps, *filter, *pass, *rounding, *cpu;
  int align, flush;
};
extern struct cli_resampler cli_resampler;
extern struct poptOption cli_resampler_table[];
#define CLI_RESAMPLER_OPTIONS                                                                                          \
  {                                                                                                                    \
    NULL, 0, POPT_ARG_INCLUDE_TABLE, cli_resampler_table, 0, "Resampler:", NULL                                        \
  }
/* From these options and the input rate: taps (owned by the caller) and configuration (which borrows them), and
 * the output rate (30.72M by default). Prints and returns the exit status on failure, else 0. */
int cli_resampler_cfg(const char *command, const struct tlg_rate *rate_in, struct tlg_taps *taps,
                      struct tlg_resamp_cfg *cfg, struct tlg_rate *rate_out);

/* ---- messages and exit status ------------------------------------------------------------------------------ */

/* "taplag: COMMAND: text" on stderr. */
void cli_say(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same, and CLI_USAGE. */
int cli_usage(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Print err as "taplag: COMMAND: PATH:LINE: text" (path may be NULL) and return the exit status for it. */
int cli_fail(const char *command, const char *path, const struct tlg_error *err);
int cli_status(int tlg_status);

/* Nanoseconds of a clock that only goes forward. */
uint64_t cli_now_ns(void);

/* SIGINT, SIGTERM and SIGHUP (as SIGTERM) ask for a stop; the second one kills. cli_stop is 0 or the signal. */
extern volatile int cli_stop;
void cli_catch_signals(void);
/* status, or 130/143 if a signal came and status is 0. */
int cli_exit_stopped(int status);

/* A progress line on stderr, only on a terminal, at most ten times a second; done >= total ends the line. */
void cli_progress(const char *command, uint64_t done, uint64_t total);

/* ---- results ------------------------------------------------------------------------------------------------ */

/* The s of "2 samples". */
static inline const char *cli_plural(uint64_t n)
{
  return n == 1 ? "" : "s";
}
/* Where results go: stdout, or stderr when samples go to stdout. */
FILE *cli_results(int samples_on_stdout);
/* A number rounded to so many decimals (null if it is not finite), so that JSON repeats. */
json_t *cli_number(double value, int decimals);
json_t *cli_rate_json(const struct tlg_rate *rate); /* {"num":..., "den":..., "hz":...} */
/* Print one object with "schema": "taplag/COMMAND/1" first; frees it. Returns 0, or CLI_SYSTEM after saying why (closed
 * pipe, disk full).
 */
int cli_print_json(const char *command, json_t *object, FILE *out);
/* Flush a results stream and tell whether all of it was written. Call it last: returns status, or CLI_SYSTEM. */
int cli_finish(const char *command, FILE *out, int status);

/* Draw by gnuplot: script (with inline data) to path by its suffix (.svg, .png). Without gnuplot: says so in one
 * line and returns CLI_UNAVAILABLE. */
int cli_gnuplot(const char *command, const char *script, const char *path, int force);

#endif
