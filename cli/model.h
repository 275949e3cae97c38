/* SPDX-License-Identifier: Apache-2.0 */
/* What `model`, `explain` and `sweep` share: reading a scenario, running it, and its results in words and JSON. */
#ifndef MODEL_H
#define MODEL_H

#include "cli.h"
#include "tlg_sim.h"

/* --set KEY=VALUE, which may be given often: put MODEL_SET_OPTION into the command's table. The list ends with NULL. */
struct model_settings {
  const char **list;
  size_t n;
  int failed; /* out of memory */
};
extern struct model_settings model_settings;
extern struct poptOption model_set_table[];
#define MODEL_SET_OPTION                                                                                               \
  {                                                                                                                    \
    NULL, 0, POPT_ARG_INCLUDE_TABLE, model_set_table, 0, "Scenario:", NULL                                             \
  }
int model_setting_add(struct model_settings *s, const char *text);
void model_settings_free(struct model_settings *s);

/* Whether path is one of our scenarios and not a file here; then found is where it stands. */
int model_find(const char *path, char *found, size_t size);
/* A scenario's path: as given, else one of ours by its name ("usrpl0-moderation") or path. Prints and returns the exit
 * status on failure, else 0. */
int model_read(const char *command, const char *path, const struct model_settings *settings,
               struct tlg_sim_scenario **s);

/* model_command.c: options, signals, settings around what a command does with one scenario. run gets it as given. */
int model_command(const char *command, int argc, const char **argv, const struct poptOption *table,
                  const char *description, int (*run)(const char *path));

/* Run a scenario `runs` times with seeds seed, seed + 1, ... and merge. progress: a line on a terminal. Returns 0, or
 * the exit status (interrupted: 130; then nothing is left). The caller frees *sim. */
int model_run(const char *command, const struct tlg_sim_scenario *s, uint64_t seed, unsigned runs,
              const struct tlg_sim_cfg *cfg, int progress, struct tlg_sim **sim);

/* Seeds are from 1 to this, in a scenario and everywhere. */
#define MODEL_SEED_MOST UINT64_C(9000000000000000)
/* Whether runs with seed, seed + 1, ... stay within; then the same as 0, or the exit status after saying so. */
int model_seeds_fit(uint64_t seed, uint64_t runs);
int model_seeds(const char *command, uint64_t seed, uint64_t runs);

/* The verdict in a sentence or two, into text. */
char *model_verdict(const struct tlg_sim_scenario *s, const struct tlg_sim_result *r, char *text, size_t size);
void model_text(FILE *out, const struct tlg_sim_scenario *s, const struct tlg_sim_result *r, uint64_t seed);
json_t *model_json(const struct tlg_sim_scenario *s, const struct tlg_sim_result *r, uint64_t seed);
/* A distribution; null when unknown (an unstable queue has none). */
json_t *model_stat_json(const struct tlg_sim_stat *stat, int known);
/* The half width of the 95 % confidence interval of the mean from batch means; UINT64_MAX: too few batches. */
uint64_t model_interval_ps(const struct tlg_sim_stat *stat);

#endif
