/* SPDX-License-Identifier: Apache-2.0 */
/* The program: finds the command and hands over. */
#include "cli.h"

#include <signal.h>
#include <string.h>

static const struct cli_command commands[] = {
    {"synth", "SIGNAL -o FILE", "write a test signal", cmd_synth},
    {"info", "FILE", "what a recording is, and whether its header tells the truth", cmd_info},
    {"resample", "IN -o OUT", "resample file to file, as fast as possible", cmd_resample},
    {"replay", "SOURCE --to SINK", "replay at real-time pace through receive, resample, deliver", cmd_replay},
    {"record", "SOURCE -o FILE", "from a socket, a PHY's transmit port or a radio into a file", cmd_record},
    {"check", "IN OUT", "spectra of OUT against the FFTW reference of IN; verdict", cmd_check},
    {"evm", "IN [OUT]", "LTE: the cell in a recording, its MIB and EVM; with OUT what lies between the two", cmd_evm},
    {"filter", "", "design or load taps; response, phases, delay; export", cmd_filter},
    {"vectors", "list|verify|try|export|accept", "golden vectors: bit-exactness, for this resampler and for others",
     cmd_vectors},
    {"model", "SCENARIO", "where the microseconds go: delay distributions of a scenario", cmd_model},
    {"sweep", "SCENARIO --vary KEY=VALUES", "one row for each value of a parameter; the best, and why", cmd_sweep},
    {"explain", "SCENARIO", "the life of one packet or subframe, line by line", cmd_explain},
    {"bench", "kernels|pipeline|files|...", "speed, side by side", cmd_bench},
};

static void overview(FILE *out)
{
  size_t i;

  fputs("Usage: taplag COMMAND [options] [arguments]\n\n"
        "Replays IQ through a radio front end's resampler and pipeline, proves the samples right, and shows where\n"
        "the microseconds go.\n\nCommands:\n",
        out);
  for (i = 0; i < sizeof commands / sizeof *commands; i++) {
    fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].summary);
  }
  fputs("\n'taplag COMMAND --help' lists a command's options. Rates and sizes take k, M, G (25M); durations s, ms, us, "
        "ns.\n"
        "Exit status: 0 done, 1 a check failed, 2 usage, 3 bad input, 4 system error, 5 not available here,\n"
        "130 interrupted, 143 terminated.\n",
        out);
}

int main(int argc, char **argv)
{
  size_t i;

  /* A closed pipe and a file-size limit show as errors of write, which clean up and have an exit status. */
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
  if (argc < 2) {
    overview(stderr);
    return CLI_USAGE;
  }
  if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
    overview(stdout);
    return cli_finish("help", stdout, CLI_DONE);
  }
  if (strcmp(argv[1], "--version") == 0) {
    printf("taplag %s\n", tlg_version());
    return cli_finish("version", stdout, CLI_DONE);
  }
  for (i = 0; i < sizeof commands / sizeof *commands; i++) {
    if (strcmp(argv[1], commands[i].name) == 0) {
      return commands[i].run(argc - 1, (const char **)(argv + 1));
    }
  }
  fprintf(stderr, "taplag: no command '%s'; 'taplag --help' lists them\n", argv[1]);
  return CLI_USAGE;
}

const struct cli_command *cli_command_find(const char *name)
{
  size_t i;

  for (i = 0; i < sizeof commands / sizeof *commands; i++) {
    if (strcmp(name, commands[i].name) == 0) {
      return &commands[i];
    }
  }
  return cmd_vectors_part(name);
}
