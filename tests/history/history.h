/* SPDX-License-Identifier: Apache-2.0 */
/* usrpL0's own ways of resampling, rebuilt from its report for comparison and as independent arithmetic: taps L apart
 * through the prototype, 16-bit coefficients, 32-bit accumulators, truncated by a right shift, 75,000 shorts of buffer.
 */
#ifndef HISTORY_H
#define HISTORY_H

#include "tlg_dsp.h"

enum history_form {
  HISTORY_DIVISION,   /* branch and input of each output by division and modulo */
  HISTORY_TABLES,     /* from two tables indexed by the output's number */
  HISTORY_SSE_GATHER, /* tables; taps and input gathered into rows of shorts, multiplied by pmaddwd */
  HISTORY_SSE,        /* the same with each branch's taps laid out in a row once */
  HISTORY_N_FORMS,
};

enum history_buffer {
  HISTORY_BUFFER_ONCE,   /* allocated once */
  HISTORY_BUFFER_A_CALL, /* allocated and zeroed in each call, as the report's first packet-wise version did */
};

enum { HISTORY_BUFFER_SHORTS = 75000 };

struct history; /* opaque */

const char *history_name(enum history_form form);
/* Whether this machine can run the form. */
int history_available(enum history_form form);
/* n_out outputs a call, a multiple of taps->up; down inputs for every taps->up outputs. taps is borrowed.
 * NULL: out of memory, or the block does not fit into the buffer. */
struct history *history_new(enum history_form form, enum history_buffer buffer, const struct tlg_taps *taps,
                            unsigned down, size_t n_out);
void history_free(struct history *h);
/* One block: in holds n_out * down / up samples, out n_out. Blocks follow one another; before the first there are
 * zeros. 0, or -1 when out of memory. */
int history_run(struct history *h, const tlg_cs16 *in, tlg_cs16 *out);

#endif
