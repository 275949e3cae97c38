/* SPDX-License-Identifier: Apache-2.0 */
/* What travels between a sink and a source: our own packets and those of VITA-49, as bytes and as structs. Pure
 * functions; docs/live.md has the layouts. */
#ifndef TLG_WIRE_H
#define TLG_WIRE_H

#include "tlg_files.h"

/* What a decoder makes of bytes that came from anybody. */
enum tlg_wire_verdict {
  TLG_WIRE_OK,
  TLG_WIRE_FOREIGN,   /* other magic or version: none of ours */
  TLG_WIRE_MALFORMED, /* ours, but cut, too long or contradicting itself */
};

/* ---- little- and big-endian numbers ------------------------------------------------------------------------- */

static inline uint32_t tlg_wire_be32(const uint8_t *b)
{
  return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static inline uint64_t tlg_wire_be64(const uint8_t *b)
{
  return (uint64_t)tlg_wire_be32(b) << 32 | tlg_wire_be32(b + 4);
}

static inline void tlg_wire_put_be32(uint8_t *b, uint32_t v)
{
  b[0] = (uint8_t)(v >> 24);
  b[1] = (uint8_t)(v >> 16);
  b[2] = (uint8_t)(v >> 8);
  b[3] = (uint8_t)v;
}

static inline void tlg_wire_put_be64(uint8_t *b, uint64_t v)
{
  tlg_wire_put_be32(b, (uint32_t)(v >> 32));
  tlg_wire_put_be32(b + 4, (uint32_t)v);
}

static inline uint32_t tlg_wire_le32(const uint8_t *b)
{
  return (uint32_t)b[3] << 24 | (uint32_t)b[2] << 16 | (uint32_t)b[1] << 8 | b[0];
}

static inline uint64_t tlg_wire_le64(const uint8_t *b)
{
  return (uint64_t)tlg_wire_le32(b + 4) << 32 | tlg_wire_le32(b);
}

static inline void tlg_wire_put_le32(uint8_t *b, uint32_t v)
{
  b[0] = (uint8_t)v;
  b[1] = (uint8_t)(v >> 8);
  b[2] = (uint8_t)(v >> 16);
  b[3] = (uint8_t)(v >> 24);
}

static inline void tlg_wire_put_le64(uint8_t *b, uint64_t v)
{
  tlg_wire_put_le32(b, (uint32_t)v);
  tlg_wire_put_le32(b + 4, (uint32_t)(v >> 32));
}

/* ---- how samples lie in a payload ---------------------------------------------------------------------------- */

struct tlg_wire_layout {
  enum tlg_format format; /* cs16, cs8, cs32, cf32, cf64, cu8 as they stand; UNKNOWN: signed, packed bit by bit: */
  unsigned field, item;   /* bits of a component's field (4 to 16), of which the upper `item` are its value */
  int big_endian;
};

/* Samples that n bytes hold, whole ones only. */
uint64_t tlg_wire_samples(const struct tlg_wire_layout *layout, uint64_t bytes);
/* Samples [from, from + n) of a payload to cs16. Packed ones of `item` bits get zeros below, as cs8 does. */
void tlg_wire_unpack(tlg_cs16 *out, const uint8_t *payload, size_t from, size_t n, const struct tlg_wire_layout *layout,
                     double full_scale, int swap_iq, struct tlg_convert_counts *counts);

/* ---- our own packets ------------------------------------------------------------------------------------------ */

enum {
  TLG_OWN_BYTES = 80, /* of a header */
  TLG_OWN_VERSION = 1,
  TLG_OWN_END = 1,               /* flag: the stream ended at sample `first`; n = 0 */
  TLG_OWN_MAX_SAMPLES = 1 << 18, /* of a packet */
};
#define TLG_OWN_NO_TIME INT64_MIN
#define TLG_OWN_LIMIT ((uint64_t)1 << 62) /* sample and sequence numbers are below it */
#define TLG_OWN_MOST_FREQUENCY_HZ 1e13
#define TLG_WIRE_MOST_HZ UINT64_C(10000000000)

/* Whether a rate that a peer states, in lowest terms, can be one: 1 Hz to 10 GHz. */
int tlg_wire_rate_is_possible(const struct tlg_rate *rate);

struct tlg_own {
  uint32_t stream;   /* drawn anew by each sender */
  uint64_t sequence; /* of the packet, from 0, without holes */
  uint64_t first;    /* number of its first sample, from 0; numbers that are left out are missing samples */
  uint64_t left_out; /* of the samples [0, first): those the sender left out itself */
  uint64_t time_ps;  /* of sample `first`, since the stream's start: tlg_instant_ps(first, &rate) */
  uint32_t n;        /* samples that follow the header */
  unsigned flags;
  enum tlg_format format; /* cs16, cf32, cf64, cs8, cu8, cs32; little endian */
  struct tlg_rate rate;   /* {0, 0} = not stated */
  int64_t start_ns;       /* of sample 0, since 1970 UTC; TLG_OWN_NO_TIME = not stated */
  double frequency_hz;    /* NaN = not stated */
  unsigned header_bytes;  /* set by decode: the samples begin behind so many */
};

/* The next packet holds n samples from number `first` on. */
void tlg_own_place(struct tlg_own *p, uint64_t first, size_t n);
void tlg_own_encode(uint8_t bytes[TLG_OWN_BYTES], const struct tlg_own *p);
/* A header of which n bytes are there: all of it must be. Whether the samples are there is the caller's to see. */
enum tlg_wire_verdict tlg_own_decode(struct tlg_own *p, const uint8_t *bytes, size_t n);
/* Whether n bytes are a whole packet, header and samples, and nothing else. */
enum tlg_wire_verdict tlg_own_decode_datagram(struct tlg_own *p, const uint8_t *bytes, size_t n);

/* ---- VITA-49 --------------------------------------------------------------------------------------------------- */

/* Source: ANSI/VITA 49.0-2015 and 49.2-2017, ch. 5 and 9; IEEE-ISTO 4900 (DIFI) for what is sent. */
enum {
  TLG_VITA49_DATA_BYTES = 28,     /* header of DIFI's data packet */
  TLG_VITA49_CONTEXT_BYTES = 108, /* DIFI's context packet */
};
#define TLG_VITA49_DIFI_OUI 0x6A621Eu

enum tlg_vita49_tsi { TLG_TSI_NONE, TLG_TSI_UTC, TLG_TSI_GPS, TLG_TSI_OTHER };
enum tlg_vita49_tsf { TLG_TSF_NONE, TLG_TSF_SAMPLES, TLG_TSF_PICOSECONDS, TLG_TSF_FREE };

struct tlg_vita49 {
  unsigned type; /* 0 to 7: even without, odd with stream number for data (0 to 3); 4, 5 context; 6, 7 command */
  int has_stream, has_class;
  uint32_t stream; /* 0 if it has none */
  uint32_t oui;
  unsigned information_class, packet_class;
  enum tlg_vita49_tsi tsi;
  enum tlg_vita49_tsf tsf;
  uint32_t seconds;
  uint64_t fraction;
  unsigned count;    /* modulo 16, for each stream and kind of packet */
  unsigned pad_bits; /* at the end of the payload */
  int spectrum;      /* the payload is a spectrum, no signal */
  int has_trailer;
  uint32_t trailer;
  const uint8_t *payload; /* inside the bytes that were decoded */
  size_t payload_bytes;
};

/* A datagram of n bytes, which a packet must fill exactly. */
enum tlg_wire_verdict tlg_vita49_decode(struct tlg_vita49 *v, const uint8_t *bytes, size_t n);
static inline int tlg_vita49_is_data(const struct tlg_vita49 *v)
{
  return v->type <= 1;
}
static inline int tlg_vita49_is_context(const struct tlg_vita49 *v)
{
  return v->type == 4;
}
/* The time stamp in picoseconds since the epoch of its kind; the fraction, in samples, needs the rate. 0 if it has
 * none or cannot be told. */
int tlg_vita49_time(const struct tlg_vita49 *v, const struct tlg_rate *rate, unsigned __int128 *ps);

struct tlg_vita49_context {
  int changed;
  struct tlg_rate rate;  /* {0, 0} = not stated */
  double frequency_hz;   /* RF reference frequency, else that of the IF; NaN = neither stated */
  double bandwidth_hz;   /* NaN = not stated */
  int states_valid;      /* the valid-data indicator: -1 = not stated */
  int has_layout;        /* the payload format is stated ... */
  int layout_unreadable; /* ... but is none of those that can be read: real or polar samples, tags, vectors */
  struct tlg_wire_layout layout;
};

/* What the payload of a context packet says. */
enum tlg_wire_verdict tlg_vita49_decode_context(struct tlg_vita49_context *c, const struct tlg_vita49 *v);

/* What is sent. The information class is DIFI's 0 (basic data plane), link-efficient cs16 or cs8, big endian. */
struct tlg_vita49_stamp {
  uint32_t stream;
  unsigned count;
  uint32_t seconds; /* UTC */
  uint64_t picoseconds;
};
/* The header of a data packet with payload_bytes behind it, a multiple of 4 and at most 262,112. */
void tlg_vita49_encode_data(uint8_t bytes[TLG_VITA49_DATA_BYTES], const struct tlg_vita49_stamp *stamp,
                            size_t payload_bytes);
/* rate: to the nearest 2^-20 Hz. frequency_hz NaN = 0. bits = 16 or 8. */
void tlg_vita49_encode_context(uint8_t bytes[TLG_VITA49_CONTEXT_BYTES], const struct tlg_vita49_stamp *stamp,
                               const struct tlg_rate *rate, double frequency_hz, unsigned bits, int changed, int valid);

#endif
