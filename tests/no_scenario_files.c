/* SPDX-License-Identifier: Apache-2.0 */
/* Stands in for sim/scenario.c where there is no libconfig: scenarios made in code, unchecked. */
#include "tlg_sim.h"

#include <stdlib.h>

int tlg_sim_scenario_new(struct tlg_sim_scenario **out)
{
  struct tlg_sim_scenario *s = calloc(1, sizeof *s);

  *out = s;
  if (!s || !(s->sizes = calloc(1, sizeof *s->sizes))) {
    free(s);
    return TLG_ENOMEM;
  }
  s->n_sizes = 1;
  s->rate.num = 25000000;
  s->rate.den = 1;
  s->sample_bytes = 4;
  s->batch = s->queues = s->flows = 1;
  s->mtu = 1500;
  s->header_bytes = 16;
  s->out_rate.num = 30720000;
  s->out_rate.den = 1;
  s->up = 768;
  s->down = 625;
  s->subframe = 30720;
  s->deadline_ps = 1200000000;
  return TLG_OK;
}

void tlg_sim_scenario_free(struct tlg_sim_scenario *s)
{
  if (s) {
    free(s->sizes);
    free(s);
  }
}

int tlg_sim_scenario_check(const struct tlg_sim_scenario *s, struct tlg_error *err)
{
  return s && s->n_sizes ? TLG_OK : tlg_error_set(err, TLG_EINVAL, "no scenario");
}
