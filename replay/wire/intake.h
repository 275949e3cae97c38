/* SPDX-License-Identifier: Apache-2.0 */
/* From datagrams, as they come, to numbered samples: one stream is followed, packets are put in order, what is missing
 * is counted and shows as a gap in the numbers. No I/O and no clock of its own. */
#ifndef TLG_INTAKE_H
#define TLG_INTAKE_H

#include "tlg_replay.h"
#include "wire.h"

enum tlg_intake_form { TLG_INTAKE_ANY, TLG_INTAKE_OWN, TLG_INTAKE_VITA49 };

enum {
  TLG_INTAKE_WINDOW = 32,      /* packets by default that may pass a missing one */
  TLG_INTAKE_SILENCE_MS = 250, /* after so long without a packet of its stream another one is taken up */
  TLG_INTAKE_INVALID_MS = 200, /* VITA-49: data that are called invalid and stay away so long have ended */
};

struct tlg_intake_cfg {
  enum tlg_intake_form form; /* ANY: the first packet tells */
  int has_stream;
  uint32_t stream;        /* only this one */
  int needs_rate;         /* our own packets that tell none are malformed, unless: */
  struct tlg_rate rate;   /* stated for VITA-49 without context; wins */
  enum tlg_format format; /* likewise; of VITA-49's payload, in big endian; wins */
  double full_scale;
  int swap_iq;
  unsigned window;   /* packets that are held while an earlier one is missing, at most 64; 0 = none */
  size_t slot_bytes; /* the longest datagram */
  void (*hint)(void *context, const char *text);
  void *context;
};

/* Where a datagram came from. */
struct tlg_intake_sender {
  uint64_t address; /* the same for the same host */
  uint16_t port;
};

struct tlg_intake;

int tlg_intake_new(struct tlg_intake **in, const struct tlg_intake_cfg *cfg);
void tlg_intake_free(struct tlg_intake *in);

/* Take a datagram. Everything that could be read must have been read; the bytes must stay until then. */
void tlg_intake_put(struct tlg_intake *in, const uint8_t *bytes, size_t n, const struct tlg_intake_sender *from,
                    uint64_t now_ns);
/* Samples that can be read now, all in one run from number *first on; 0: none. */
size_t tlg_intake_ready(struct tlg_intake *in, uint64_t *first);
/* Read n <= tlg_intake_ready of them. */
void tlg_intake_read(struct tlg_intake *in, tlg_cs16 *buf, size_t n);
/* Wait no longer for what is missing: packets held behind it become ready. */
void tlg_intake_flush(struct tlg_intake *in);
/* Whether packets are held behind a missing one. */
int tlg_intake_holds(const struct tlg_intake *in);
/* The sender is known to be gone: another stream is taken up at once. */
void tlg_intake_let_go(struct tlg_intake *in);
/* Tell the time while nothing comes: ends a VITA-49 stream whose data were called invalid. */
void tlg_intake_tick(struct tlg_intake *in, uint64_t now_ns);

/* Whether a stream is being followed: rate and so on are known. */
int tlg_intake_begun(const struct tlg_intake *in);
/* Whether it was told to be at its end, and all of it has been read. */
int tlg_intake_ended(const struct tlg_intake *in);
/* The number behind the last sample read or known to be missing. */
uint64_t tlg_intake_end(const struct tlg_intake *in);
/* A sender that began anew at another rate cannot be followed: TLG_EFORMAT. */
int tlg_intake_status(const struct tlg_intake *in, struct tlg_error *err);

struct tlg_intake_stream {
  enum tlg_intake_form form;
  uint32_t stream;
  struct tlg_rate rate; /* {0, 0} = not told */
  struct tlg_wire_layout layout;
  double frequency_hz;
  int has_time;
  int64_t seconds;      /* of its first sample, since 1970 UTC ... */
  uint64_t picoseconds; /* ... and the part of a second */
  uint64_t joined;      /* sender's number of our sample 0 (our own packets only) */
};
void tlg_intake_get(const struct tlg_intake *in, struct tlg_intake_stream *stream);
/* What a VITA-49 context packet that comes later, or elsewhere, says. */
void tlg_intake_set_context(struct tlg_intake *in, const struct tlg_vita49_context *context);
/* By enum tlg_live_count, and data packets that came before the rate was known. */
const uint64_t *tlg_intake_counts(const struct tlg_intake *in);
uint64_t tlg_intake_early(const struct tlg_intake *in);
/* Components at full scale among the samples read. */
uint64_t tlg_intake_full_scale(const struct tlg_intake *in);

#endif
