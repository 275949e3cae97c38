/* SPDX-License-Identifier: Apache-2.0 */
/* taplag vectors export. */
#include "vectors_cli.h"

int vectors_export(int argc, const char **argv)
{
  (void)argc;
  cli_say(argv[0], "not written yet");
  return CLI_UNAVAILABLE;
}
