/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands of one scenario begin and end with. */
#include "model.h"

int model_command(const char *command, int argc, const char **argv, const struct poptOption *table,
                  const char *description, int (*run)(const char *path))
{
  struct cli_options o;
  int status = cli_options(&o, command, argc, argv, table, description, 1, 1);

  if (status < 0) {
    cli_catch_signals();
    status = run(o.args[0]);
    cli_options_free(&o);
  }
  model_settings_free(&model_settings);
  return status;
}
