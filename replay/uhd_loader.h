/* SPDX-License-Identifier: Apache-2.0 */
/* uhd: on the library's side: the plug-in, and what an endpoint says of a radio. */
#ifndef UHD_LOADER_H
#define UHD_LOADER_H

#include "endpoint.h"
#include "tlg_uhd_plugin.h"

/* A radio's settings with texts of their own: those given, and the endpoint's keys over them. */
struct tlg_uhd_settings {
  struct tlg_radio_cfg radio;
  char *texts[8];
};

/* TLG_EINVAL (an unknown key, a value that is none), TLG_ENOMEM; then nothing is held. sink: the keys of one are known
 * as well. */
int tlg_uhd_settings_make(struct tlg_uhd_settings *s, const struct tlg_endpoint *e, const struct tlg_radio_cfg *given,
                          int sink, struct tlg_error *err);
void tlg_uhd_settings_free(struct tlg_uhd_settings *s);

/* The exact rate behind what the device made of the one asked for. A coerced one is refused (TLG_EUNAVAIL) if
 * radio->strict_rate, or if no ratio leads from it to radio->match; else *coerced = 1. text ("the radio gives ...") has
 * room for 200 characters. */
int tlg_uhd_rate(struct tlg_rate *rate, double given_hz, const struct tlg_rate *asked,
                 const struct tlg_radio_cfg *radio, int *coerced, char *text, struct tlg_error *err);

#endif
