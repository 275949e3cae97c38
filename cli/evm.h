/* SPDX-License-Identifier: Apache-2.0 */
/* What taplag evm measures, shared with its report. */
#ifndef EVM_H
#define EVM_H

#include "cli.h"
#include "tlg_lte_evm.h"
#include "tlg_lte_rx.h"

enum { EVM_STEPS = 16, EVM_ODD = 4 /* times the usual: stands out, cmd_evm.c */ };

/* A neighbouring channel: power in the measured channel over that in it. */
struct evm_aclr {
  int known;
  double db, offset_hz;
};

/* A place at which samples are missing or too many. */
struct evm_step {
  double samples;   /* of that recording: < 0 missing, > 0 too many */
  double inputs;    /* the same in samples of IN; only for OUT */
  double at;        /* sample number at which it happens, or about which */
  double width;     /* it lies within +- this of it; 0 = to the sample */
  int64_t k;        /* subframe of the cell in which it is */
  int modulo_frame; /* 1: there may be whole frames (10 ms) more or fewer */
};

/* A stretch that the recording itself says is not there; read as zeros. */
struct evm_gap {
  uint64_t from, n;
};

/* One recording: IN or OUT. */
struct evm_side {
  const char *path;
  struct tlg_rate rate;
  tlg_cs16 *x;
  size_t n, room;
  uint64_t n_whole;    /* samples of the recording, as far as known; UINT64_MAX = not known */
  uint64_t n_missing;  /* in gaps, read as zeros */
  uint64_t clipped;    /* components at the extremes of the source's type */
  uint64_t unfit;      /* that did not fit 16 bits */
  uint64_t non_finite; /* that were NaN or infinite */
  struct evm_gap *gap;
  size_t n_gaps;
  double told_first, told_last; /* between these samples frame numbers were read, and whole frames show; 0 = none */
  double wrong_rate_hz;         /* what the rate would be by the clock, if that is no clock's error; 0 = fine */
  int cut;                      /* more samples are there than were taken */
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
  int prb_forced;       /* by --prb; 0 = not */
  double max_added_db;  /* judged when it is below 0 */
  int64_t frames_apart; /* subframe k of IN is k + 10 * this of OUT: up to the first step */
  int64_t *apart;       /* the same for each subframe of OUT */
  unsigned repeats_ms;  /* IN repeats itself after so much: whole frames cannot be told; 0 = it does not */
  double differs[2];    /* OUT from output [0] to the end, and from the beginning to [1], is not IN at all; 0 = it is */
  int64_t *out_k;       /* subframe of OUT of each that was measured */
  /* Measured subframes in which what OUT adds stands out, against the median over all. */
  unsigned n_odd, odd_worst; /* how many; the worst, as measured */
  unsigned char *odd;        /* of each that was measured: 1 = stands out */
  double usual_added;        /* the median of what is added in each one's worst symbol; NaN = too few */
  int head_step;             /* 1: a step is at the very beginning, and delay_s that after it */
  double delay_s;            /* of OUT after IN, up to the first step */
  unsigned compared;         /* subframes */
  /* the verdict */
  int passed, judged; /* judged 0: there was nothing to judge */
  char reason[1200];
};

/* The verdict's sentence and all figures. */
void evm_print(const struct evm_run *run, FILE *out);
json_t *evm_json(const struct evm_run *run);
/* Where it can be seen that samples are missing or too many: from the end of the first subframe that is whole to the
 * start of the last one, in samples; 0 = nowhere. */
int evm_seen(const struct evm_side *s, double *from, double *end);
/* evm_steps.c: subframe k, NULL = not there; the subframe of IN that subframe k of OUT is. */
struct tlg_lte_rx_timing *evm_timing(const struct evm_side *s, int64_t k);
int64_t evm_in_of(const struct evm_run *run, int64_t k);
/* Subframes that overlap samples from..end are not measured. */
void evm_mark_broken(struct evm_side *s, double from, double end);
/* Steps of a recording by itself; of OUT against IN. */
void evm_find_steps(struct evm_side *s);
int evm_compare_steps(struct evm_run *run);
/* Limit of a modulation as a fraction; NaN = none. */
double evm_limit(const struct evm_run *run, int modulation);

#endif
