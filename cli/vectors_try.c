/* SPDX-License-Identifier: Apache-2.0 */
/* taplag vectors try. */
#include "vectors_cli.h"

int vectors_try(int argc, const char **argv)
{
  (void)argc;
  cli_say(argv[0], "not written yet");
  return CLI_UNAVAILABLE;
}
