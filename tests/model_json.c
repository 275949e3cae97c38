/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the JSON of scenarios, built with nothing but the model: to compare compilers and machines. */
#include "model.h"

#include <stdio.h>

int main(int argc, char **argv)
{
  int i;

  for (i = 1; i < argc; i++) {
    struct tlg_sim_scenario *s;
    struct tlg_sim *sim;

    if (model_read("model_json", argv[i], NULL, &s) || model_run("model_json", s, s->seed, 1, NULL, 0, &sim)) {
      return 1;
    }
    cli_print_json("model", model_json(s, tlg_sim_results(sim), s->seed), stdout);
    tlg_sim_free(sim);
    tlg_sim_scenario_free(s);
  }
  return 0;
}
