/* SPDX-License-Identifier: Apache-2.0 */
/* taplag synth. */
#include "cli.h"

int cmd_synth(int argc, const char **argv)
{
  (void)argc;
  cli_say(argv[0], "not written yet");
  return CLI_UNAVAILABLE;
}
