/* SPDX-License-Identifier: Apache-2.0 */
/* How far instants may go. */
#ifndef TLG_HORIZON_H
#define TLG_HORIZON_H

#include "delays.h"

/* Above what a packet, the largest, adds to the latest instant in the long run, in ps. */
u128 tlg_packet_bound(const struct tlg_sim_scenario *s);
/* Whether instants of n packets with so many samples could pass 2^63 ps, 106 days; packet_ps: their bound. */
int tlg_horizon_passed(const struct tlg_sim_scenario *s, u128 packet_ps, uint64_t n, u128 samples);

#endif
