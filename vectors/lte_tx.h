/* SPDX-License-Identifier: Apache-2.0 */
/* The resource grid of an LTE downlink, subframe by subframe. */
#ifndef LTE_TX_H
#define LTE_TX_H

#include "tlg_vectors.h"

struct lte_tx; /* opaque */

/* cfg: complete (tlg_signal_defaults), of kind lte. On failure *tx is NULL and nothing is held. */
int lte_tx_new(struct lte_tx **tx, const struct tlg_signal_cfg *cfg, struct tlg_error *err);
void lte_tx_free(struct lte_tx *tx);
/* Mean over a frame's time of the sum of |point|^2 of a symbol, as expected of random data. */
double lte_tx_power(const struct lte_tx *tx);
/* All later points are multiplied by this. */
void lte_tx_scale(struct lte_tx *tx, double scale);
/* The 12 prb points of symbol l (from 0, 14 a subframe; negative: what came before), both ports added up. */
void lte_tx_points(struct lte_tx *tx, int64_t l, tlg_cf64 *points);
/* The known pattern of subframe n (from 0): what the transport block holds; *size bits (0: none). Valid until the next
 * call. */
const uint8_t *lte_tx_block(struct lte_tx *tx, uint64_t n, unsigned *size);
/* What a subframe 0..9 carries: the MCS, its bits a symbol, the block's size and that of the codeword. */
void lte_tx_shared(const struct lte_tx *tx, unsigned subframe, struct tlg_lte_shared *shared);

/* ---- test models (lte_models.c) ---- */

/* Powers in dB over the reference signals', as TS 36.141, 6.1.1 gives them. */
struct lte_model {
  double sync_db, pcfich_db, pdcch_db;
  unsigned n_pdcch_cce; /* control channel elements in use */
  unsigned bits[2];     /* bits a symbol of the listed blocks, and of the others */
  double power_db[2];
  int all; /* every block is a listed one */
};
/* TLG_EINVAL if there is none. */
int lte_model_find(struct lte_model *m, enum tlg_lte_model model, unsigned prb);
/* Whether resource block b is a listed one in a subframe (75 blocks: by this program's own choice). */
int lte_model_listed(enum tlg_lte_model model, unsigned prb, unsigned subframe, unsigned b);

#endif
