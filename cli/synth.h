/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of taplag synth: an LTE downlink's options, and those of impairments. */
#ifndef SYNTH_H
#define SYNTH_H

#include "cli.h"
#include "tlg_vectors.h"

extern struct poptOption synth_lte_table[], synth_impair_table[];
/* Before each run: forget what was given. */
void synth_lte_clear(void);

/* From the options into cfg, whose kind is set. Print what is wrong and return the exit status, else 0. */
int synth_lte_configure(struct tlg_signal_cfg *cfg, const char *modulation);
int synth_impair_configure(struct tlg_signal_cfg *cfg);
/* Whether --snr is given, so that any signal has use for a seed. */
int synth_impair_has_noise(void);
/* Once cfg is complete: the noise that --snr asks for. */
int synth_impair_noise(struct tlg_signal_cfg *cfg);

/* For people (appended to text) and for programs. signal: made from cfg. */
void synth_lte_describe(const struct tlg_signal_cfg *cfg, const struct tlg_signal *signal, char *text, size_t size,
                        json_t *o);
/* NULL if there are none, else an object; the words go to text. */
json_t *synth_impair_describe(const struct tlg_signal_cfg *cfg, char *text, size_t size);

#endif
