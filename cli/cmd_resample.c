/* SPDX-License-Identifier: Apache-2.0 */
/* taplag resample. */
#include "cli.h"

int cmd_resample(int argc, const char **argv)
{
  (void)argc;
  cli_say(argv[0], "not written yet");
  return CLI_UNAVAILABLE;
}
