/* SPDX-License-Identifier: Apache-2.0 */
/* What taplag evm measures, shared with its report. */
#ifndef EVM_H
#define EVM_H

#include "cli.h"
#include "tlg_lte_evm.h"
#include "tlg_lte_rx.h"

enum { EVM_STEPS = 16 };

/* A neighbouring channel: power in the measured channel over that in it. */
struct evm_aclr {
  int known;
  double db, offset_hz;
};

/* A place at which samples are missing or too many. */
struct evm_step {
  double samples; /* of that recording: < 0 missing, > 0 too many */
  double inputs;  /* the same in samples of IN; only for OUT */
  double at;      /* sample number at which it happens, or about which */
  double width;   /* it lies within +- this of it; 0 = to the sample */
  int64_t k;      /* subframe of the cell in which it is */
};

/* One recording: IN or OUT. */
struct evm_side {
  const char *path;
  struct tlg_rate rate;
  tlg_cs16 *x;
  size_t n, room;
  uint64_t n_whole;   /* samples of the recording, as far as known; UINT64_MAX = not known */
  uint64_t n_missing; /* in gaps, read as zeros */
  uint64_t clipped;   /* components at the extremes of the source's type */
  int cut;            /* more samples are there than were taken */
  struct tlg_lte_rx *rx;
  struct tlg_lte_rx_cell cells[TLG_LTE_RX_CELLS], *cell; /* cell: the one measured; NULL = none */
  size_t n_cells;
  struct tlg_lte_rx_timing *timing;
  size_t n_timing, n_broken;
  double level_dbfs; /* whole recording */
  double mean_dbc;   /* power of the mean over that of all the rest */
  double leak_dbc;   /* power at the carrier over that of all the rest; NaN = where the mean is, or not measured */
  int has_band;      /* occupied bandwidth: measured */
  double occupied_hz, occupied_low_hz, occupied_high_hz;
  struct evm_aclr aclr[4]; /* -2, -1, +1, +2 channels */
  double aclr_rate_hz;     /* that the nearest neighbours take */
  struct evm_step step[EVM_STEPS];
  size_t n_steps; /* may exceed the array */
};

enum evm_limits { EVM_LIMITS_CORE, EVM_LIMITS_TEST, EVM_LIMITS_NONE };

struct evm_run {
  struct evm_side side[2];
  unsigned n_sides;
  enum evm_limits limits;
  int per_subcarrier, per_symbol, per_subframe; /* tables asked for */
  struct tlg_lte_evm *evm;
  const struct tlg_lte_evm_result *result;
  unsigned average, smooth;
  double max_added_db;  /* judged when it is below 0 */
  int64_t frames_apart; /* subframe k of IN is k + 10 * this of OUT */
  double delay_s;       /* of OUT after IN, up to the first step */
  unsigned compared;    /* subframes */
  /* the verdict */
  int passed, judged; /* judged 0: there was nothing to judge */
  char reason[1200];
};

/* The verdict's sentence and all figures. */
void evm_print(const struct evm_run *run, FILE *out);
json_t *evm_json(const struct evm_run *run);
/* Limit of a modulation as a fraction; NaN = none. */
double evm_limit(const struct evm_run *run, int modulation);

#endif
