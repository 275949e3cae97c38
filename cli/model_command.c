/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands of one scenario begin and end with. */
#include "model.h"

#include <inttypes.h>

int model_seeds_fit(uint64_t seed, uint64_t runs)
{
  return seed <= MODEL_SEED_MOST && runs - 1 <= MODEL_SEED_MOST - seed;
}

int model_seeds(const char *command, uint64_t seed, uint64_t runs)
{
  if (model_seeds_fit(seed, runs)) {
    return 0;
  }
  return cli_usage(command, "seed %" PRIu64 " with %" PRIu64 " run%s goes beyond the largest seed, %" PRIu64, seed,
                   runs, runs == 1 ? "" : "s", MODEL_SEED_MOST);
}

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
