/* SPDX-License-Identifier: Apache-2.0 */
/* Datagrams to numbered samples: following one stream, reordering, counting what is missing. */
#include "intake.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef __int128 i128;

enum {
  SEEN = 1024, /* packets back of which it is known whether they came */
  SETTLED = 8, /* packets in a row whose time stamps fit their samples: from then on a stamp is exact */
  MOST_HELD = 64,
};
#define LEAP ((uint64_t)1 << 36) /* samples or packets that cannot be missing between two packets */

struct piece {
  uint64_t sequence, first, left_out; /* first and left_out by the sender's numbers */
  size_t n, bytes;
  int end;
  struct tlg_wire_layout layout;
  const uint8_t *payload;
};

struct slot {
  int used;
  struct piece piece;
  uint8_t *bytes;
};

/* What VITA-49 packets are numbered by: the newest one. */
struct vita_reference {
  int begun;
  uint64_t sequence, first;
  size_t n;
  unsigned count;
  int timed;
  unsigned __int128 ps;
  unsigned settled;
  uint64_t total, packets; /* of late, for the usual length */
};

struct tlg_intake {
  struct tlg_intake_cfg cfg;
  struct tlg_intake_stream stream;
  struct tlg_intake_sender from;
  struct tlg_vita49_context told; /* by context packets */
  int locked, begun, ended, flushing, failed;
  uint64_t last_ns, invalid_ns; /* 0 = never */
  int ending, end_timed;        /* VITA-49: its data are invalid from here on: */
  unsigned __int128 end_ps;
  uint64_t expected;                   /* sequence number that comes next */
  uint64_t passed_over;                /* missing ones before it that were given up */
  uint64_t in_end, left_out;           /* sender's number behind the last sample, and what it left out up to there */
  uint64_t out;                        /* the same by our numbers */
  uint64_t newest, newest_end;         /* the furthest packet that came */
  struct piece current, incoming;      /* being read; not yet placed */
  int has_current, has_incoming, anew; /* anew: incoming begins another stream, this one: */
  struct tlg_intake_stream next;
  size_t done; /* samples of the current one that were read */
  uint64_t counts[TLG_LIVE_COUNTS], early;
  struct tlg_convert_counts converted;
  uint64_t seen[SEEN]; /* sequence number + 1 */
  struct vita_reference vita;
  unsigned n_held;
  uint8_t *room;
  struct slot slots[MOST_HELD];
};

int tlg_intake_new(struct tlg_intake **intake, const struct tlg_intake_cfg *cfg)
{
  struct tlg_intake *in = calloc(1, sizeof *in);
  unsigned i;

  *intake = NULL;
  if (!in) {
    return TLG_ENOMEM;
  }
  in->cfg = *cfg;
  in->cfg.window = cfg->window < MOST_HELD ? cfg->window : MOST_HELD;
  in->stream.frequency_hz = NAN;
  if (in->cfg.window) {
    in->room = malloc(in->cfg.window * cfg->slot_bytes);
    if (!in->room) {
      free(in);
      return TLG_ENOMEM;
    }
    for (i = 0; i < in->cfg.window; i++) {
      in->slots[i].bytes = in->room + i * cfg->slot_bytes;
    }
  }
  *intake = in;
  return TLG_OK;
}

void tlg_intake_free(struct tlg_intake *in)
{
  if (in) {
    free(in->room);
    free(in);
  }
}

static void tell(struct tlg_intake *in, const char *text)
{
  if (in->cfg.hint) {
    in->cfg.hint(in->cfg.context, text);
  }
}

/* ---- placing packets --------------------------------------------------------------------------------------------- */

static int was_seen(const struct tlg_intake *in, uint64_t sequence)
{
  return in->seen[sequence % SEEN] == sequence + 1;
}

static void mark_seen(struct tlg_intake *in, uint64_t sequence)
{
  in->seen[sequence % SEEN] = sequence + 1;
}

static int same_rate(const struct tlg_rate *a, const struct tlg_rate *b)
{
  return a->num == b->num && a->den == b->den;
}

/* What is known of the stream, in words. */
static void tell_stream(struct tlg_intake *in, const char *what)
{
  char rate[64], text[240];

  snprintf(text, sizeof text, "%s stream 0x%08" PRIx32 " (%s), %s, samples %s%s", what, in->stream.stream,
           in->stream.form == TLG_INTAKE_OWN ? "own packets" : "VITA-49",
           in->stream.rate.num ? tlg_rate_text(&in->stream.rate, rate, sizeof rate) : "rate not told",
           in->stream.layout.format ? tlg_format_name(in->stream.layout.format) : "packed",
           in->stream.joined ? "; it was joined on its way" : "");
  tell(in, text);
}

/* Begin with a packet: if it is one of the first, those before it are still waited for. */
static void begin(struct tlg_intake *in, const struct piece *p)
{
  const int from_start = in->stream.form == TLG_INTAKE_OWN && p->sequence < (in->cfg.window ? in->cfg.window : 1);

  memset(in->seen, 0, sizeof in->seen);
  in->passed_over = 0;
  in->expected = from_start ? 0 : p->sequence;
  in->in_end = from_start ? 0 : p->first;
  in->left_out = from_start ? 0 : p->left_out;
  in->newest = p->sequence;
  in->newest_end = p->first + p->n;
  in->flushing = 0;
  if (!in->begun) {
    in->stream.joined = in->stream.form == TLG_INTAKE_OWN ? in->in_end : 0;
    in->begun = 1;
    tell_stream(in, "receiving");
  }
}

/* It is this packet's turn: count what is missing before it. */
static void take_up(struct tlg_intake *in, const struct piece *p)
{
  const uint64_t lost = in->passed_over + p->sequence - in->expected;
  uint64_t gap, stated;

  in->passed_over = 0;
  in->expected = p->sequence + 1;
  in->counts[TLG_LIVE_LOST_PACKETS] += lost;
  if (p->first < in->in_end) { /* it claims samples that are already there */
    in->counts[TLG_LIVE_MALFORMED]++;
    in->counts[TLG_LIVE_LOSSES] += lost > 0;
    return;
  }
  gap = p->first - in->in_end;
  stated = p->left_out > in->left_out ? p->left_out - in->left_out : 0;
  stated = stated < gap ? stated : gap;
  in->counts[TLG_LIVE_LOST_SAMPLES] += gap - stated;
  in->counts[TLG_LIVE_LOSSES] += lost || gap > stated;
  in->out += gap;
  in->in_end = p->first + p->n;
  in->left_out = p->left_out;
  if (p->end) {
    in->ended = 1;
    return;
  }
  in->counts[TLG_LIVE_PACKETS]++;
  in->current = *p;
  in->done = 0;
  in->has_current = 1;
}

static struct slot *slot_of(struct tlg_intake *in, uint64_t sequence)
{
  return &in->slots[sequence % in->cfg.window];
}

/* The held packet that comes next, whether something before it is missing or not. */
static void take_up_held(struct tlg_intake *in)
{
  uint64_t sequence = in->expected;
  struct slot *s = slot_of(in, sequence);

  while (!s->used) { /* all that are held lie within a window from here on */
    s = slot_of(in, ++sequence);
  }
  s->used = 0;
  in->n_held--;
  take_up(in, &s->piece); /* its bytes stay: nothing is put there before they have been read */
}

static void hold(struct tlg_intake *in)
{
  struct slot *s = slot_of(in, in->incoming.sequence);

  s->piece = in->incoming;
  if (in->incoming.bytes) {
    memcpy(s->bytes, in->incoming.payload, in->incoming.bytes);
  }
  s->piece.payload = s->bytes;
  s->used = 1;
  in->n_held++;
  in->has_incoming = 0;
}

/* Another stream in place of the one before: the numbers go on. */
static void begin_anew(struct tlg_intake *in)
{
  const struct tlg_intake_stream before = in->stream;

  in->counts[TLG_LIVE_RESTARTS]++;
  in->stream = in->next;
  in->stream.joined = before.joined;
  in->stream.has_time = before.has_time;
  in->stream.seconds = before.seconds;
  in->stream.picoseconds = before.picoseconds;
  in->anew = 0;
  if (!in->cfg.rate.num && !same_rate(&before.rate, &in->stream.rate)) {
    in->failed = 1;
    in->has_incoming = 0;
    return;
  }
  begin(in, &in->incoming);
  mark_seen(in, in->incoming.sequence);
  tell_stream(in, "the sender began anew: now");
}

/* The data that were called invalid have stayed away: what is missing at the end is known by time alone. */
static void end_invalid(struct tlg_intake *in)
{
  if (in->end_timed && in->vita.timed && in->vita.settled >= SETTLED && in->end_ps > in->vita.ps &&
      in->end_ps - in->vita.ps < (unsigned __int128)1 << 62) {
    const uint64_t ps = (uint64_t)(in->end_ps - in->vita.ps);
    const unsigned __int128 n =
        ((unsigned __int128)ps * in->stream.rate.num / in->stream.rate.den + 500000000000u) / 1000000000000u;
    const uint64_t end = n < LEAP ? in->vita.first + (uint64_t)n : 0;

    if (end > in->in_end) {
      const uint64_t gap = end - in->in_end;

      in->counts[TLG_LIVE_LOST_SAMPLES] += gap;
      in->counts[TLG_LIVE_LOST_PACKETS] += (gap + in->vita.n - 1) / in->vita.n;
      in->counts[TLG_LIVE_LOSSES]++;
      in->out += gap;
      in->in_end = end;
    }
  }
  in->ended = 1;
}

/* A packet stands so far ahead that those a window before it are given up. */
static void pass_over(struct tlg_intake *in)
{
  const uint64_t base = in->incoming.sequence - in->cfg.window + 1;

  in->passed_over += base - in->expected;
  in->expected = base;
}

/* Whether a held packet is among those that a window before the incoming one are due. */
static int held_is_due(struct tlg_intake *in, uint64_t ahead)
{
  uint64_t i;

  for (i = 0; i < in->cfg.window && i <= ahead - in->cfg.window; i++) {
    if (slot_of(in, in->expected + i)->used) {
      return 1;
    }
  }
  return 0;
}

/* Make a packet current if one can be. */
static int advance(struct tlg_intake *in)
{
  while (!in->has_current && !in->ended && !in->failed) {
    const uint64_t ahead = in->incoming.sequence - in->expected;
    const int far = in->has_incoming && !in->anew && in->cfg.window && ahead >= in->cfg.window;

    if (in->n_held && slot_of(in, in->expected)->used) {
      take_up_held(in);
    } else if (in->has_incoming && !in->anew && ahead && ahead < in->cfg.window) {
      hold(in);
    } else if (far && !(in->n_held && held_is_due(in, ahead))) {
      pass_over(in);
    } else if (in->n_held && (in->flushing || far || (in->has_incoming && in->anew))) {
      take_up_held(in); /* waited for long enough */
    } else if (in->has_incoming && in->anew) {
      begin_anew(in);
    } else if (in->has_incoming) {
      in->has_incoming = 0;
      take_up(in, &in->incoming);
    } else {
      in->flushing = 0;
      if (in->ending) {
        end_invalid(in);
      }
      return 0;
    }
  }
  return in->has_current;
}

/* A packet of the stream that is being followed. */
static void place(struct tlg_intake *in, const struct piece *p)
{
  if (was_seen(in, p->sequence)) {
    in->counts[TLG_LIVE_DUPLICATES] += !p->end; /* an end is sent several times */
  } else if (p->sequence < in->expected) {
    in->counts[TLG_LIVE_REORDERED]++;
    mark_seen(in, p->sequence);
  } else {
    mark_seen(in, p->sequence);
    if (p->sequence > in->newest) {
      in->newest = p->sequence;
      in->newest_end = p->first + p->n;
    }
    in->incoming = *p;
    in->has_incoming = 1;
  }
}

static void first_packet(struct tlg_intake *in, const struct piece *p)
{
  begin(in, p);
  place(in, p);
}

static void another_stream(struct tlg_intake *in, const struct piece *p)
{
  in->incoming = *p;
  in->has_incoming = 1;
  in->anew = 1;
}

/* Whether the stream that is followed has been silent for long enough to take up another. */
static int silent(const struct tlg_intake *in, uint64_t now_ns)
{
  return now_ns - in->last_ns >= (uint64_t)TLG_INTAKE_SILENCE_MS * 1000000u;
}

/* ---- our own packets ------------------------------------------------------------------------------------------------
 */

static void put_own(struct tlg_intake *in, const struct tlg_own *p, const uint8_t *bytes, size_t n,
                    const struct tlg_intake_sender *from, uint64_t now_ns)
{
  struct tlg_intake_stream stream = {.form = TLG_INTAKE_OWN,
                                     .stream = p->stream,
                                     .rate = in->cfg.rate.num ? in->cfg.rate : p->rate,
                                     .layout = {.format = p->format},
                                     .frequency_hz = p->frequency_hz};
  const struct piece piece = {.sequence = p->sequence,
                              .first = p->first,
                              .left_out = p->left_out,
                              .n = p->n,
                              .bytes = n - p->header_bytes,
                              .end = (p->flags & TLG_OWN_END) != 0,
                              .layout = stream.layout,
                              .payload = bytes + p->header_bytes};

  if (in->cfg.needs_rate && !stream.rate.num) {
    if (!in->counts[TLG_LIVE_MALFORMED]++) {
      tell(in, "packets come that do not tell their rate; they are passed over (give --rate)");
    }
    return;
  }
  if (in->begun && (in->stream.form != TLG_INTAKE_OWN || in->stream.stream != p->stream)) {
    if (!silent(in, now_ns) || piece.end) {
      in->counts[TLG_LIVE_FOREIGN]++;
      return;
    }
    in->next = stream;
    in->from = *from;
    in->last_ns = now_ns;
    another_stream(in, &piece);
    return;
  }
  if (!in->begun) {
    if (p->start_ns != TLG_OWN_NO_TIME) { /* of our first sample, which is not theirs if it was joined later */
      const uint64_t joined = p->sequence < in->cfg.window ? 0 : p->first;
      const uint64_t ps = stream.rate.num ? tlg_instant_ps(joined, &stream.rate) : 0;
      const int64_t ns = p->start_ns / 1000000000 - (p->start_ns % 1000000000 < 0);

      stream.has_time = stream.rate.num || !joined;
      stream.picoseconds = (uint64_t)(p->start_ns - ns * 1000000000) * 1000 + ps % 1000000000000u;
      stream.seconds = ns + (int64_t)(ps / 1000000000000u + stream.picoseconds / 1000000000000u);
      stream.picoseconds %= 1000000000000u;
    }
    in->stream = stream;
    in->from = *from;
    in->locked = 1;
    in->last_ns = now_ns;
    first_packet(in, &piece);
    return;
  }
  if ((!in->cfg.rate.num && !same_rate(&stream.rate, &in->stream.rate)) || p->sequence > in->newest + LEAP ||
      p->first > in->newest_end + LEAP) {
    in->counts[TLG_LIVE_MALFORMED]++;
    return;
  }
  in->last_ns = now_ns;
  place(in, &piece);
}

/* ---- VITA-49
 * --------------------------------------------------------------------------------------------------------- */

static int same_sender(const struct tlg_intake *in, const struct tlg_vita49 *v, const struct tlg_intake_sender *from)
{
  return in->stream.form == TLG_INTAKE_VITA49 && in->stream.stream == v->stream && in->from.address == from->address;
}

static void lock_vita49(struct tlg_intake *in, const struct tlg_vita49 *v, const struct tlg_intake_sender *from,
                        uint64_t now_ns)
{
  in->stream.form = TLG_INTAKE_VITA49;
  in->stream.stream = v->stream;
  in->from = *from;
  in->last_ns = now_ns;
  in->locked = 1;
}

/* What options and context packets together say of the stream. */
static void settle_vita49(struct tlg_intake *in)
{
  const struct tlg_wire_layout cs16 = {.format = TLG_FORMAT_CS16, .big_endian = 1};

  in->stream.rate = in->cfg.rate.num ? in->cfg.rate : in->told.rate;
  in->stream.frequency_hz = in->told.frequency_hz;
  in->stream.layout = in->told.has_layout ? in->told.layout : cs16;
  if (in->cfg.format) {
    in->stream.layout = cs16;
    in->stream.layout.format = in->cfg.format;
  }
}

void tlg_intake_set_context(struct tlg_intake *in, const struct tlg_vita49_context *c)
{
  if (in->begun && c->rate.num && in->told.rate.num && !in->cfg.rate.num && !same_rate(&c->rate, &in->told.rate)) {
    in->failed = 1;
  }
  if (c->rate.num) {
    in->told.rate = c->rate;
  }
  if (c->has_layout) {
    in->told.has_layout = 1;
    in->told.layout = c->layout;
    in->told.layout_unreadable = c->layout_unreadable;
    if (c->layout_unreadable && !in->cfg.format) {
      in->failed = 1;
    }
  }
  in->told.frequency_hz = isnan(c->frequency_hz) && in->begun ? in->told.frequency_hz : c->frequency_hz;
  settle_vita49(in);
}

static void put_context(struct tlg_intake *in, const struct tlg_vita49 *v, const struct tlg_intake_sender *from,
                        uint64_t now_ns)
{
  struct tlg_vita49_context c;

  if (tlg_vita49_decode_context(&c, v) != TLG_WIRE_OK) {
    in->counts[TLG_LIVE_MALFORMED]++;
    return;
  }
  if (!in->locked && c.rate.num) {
    lock_vita49(in, v, from, now_ns);
  }
  if (!in->locked || !same_sender(in, v, from)) {
    return; /* of another stream, or of none: says nothing of ours */
  }
  tlg_intake_set_context(in, &c);
  if (c.states_valid == 0 && in->begun) {
    if (!in->invalid_ns) {
      in->invalid_ns = now_ns ? now_ns : 1;
      in->end_timed = tlg_vita49_time(v, &in->stream.rate, &in->end_ps);
    }
  } else if (c.states_valid == 1) {
    in->invalid_ns = 0;
  }
}

/* ps picoseconds, either way, as samples. */
static i128 samples_in(i128 ps, const struct tlg_rate *rate)
{
  const i128 half = (i128)500000000000u * (i128)rate->den;
  const i128 scale = (i128)1000000000000u * (i128)rate->den;
  const i128 magnitude = ps < 0 ? -ps : ps;
  const i128 n = (magnitude * (i128)rate->num + half) / scale;

  return ps < 0 ? -n : n;
}

/* How many packets a time stamp is ahead of the newest one: what fits the samples between them by their usual length
 * and ends in the four bits that are sent. */
static int64_t packets_ahead(const struct vita_reference *r, unsigned step, i128 samples)
{
  const i128 usual = r->packets ? (i128)((r->total + r->packets / 2) / r->packets) : (i128)r->n;
  const i128 between = samples - (i128)r->n; /* without the newest one itself */
  const i128 off = between < 0 ? -usual : usual;
  const int64_t packets = 1 + (int64_t)((between + off / 2) / usual);
  const int64_t ahead = packets + ((((int64_t)step - packets) % 16 + 24) & 15) - 8;

  if (step == 1 && ahead > 1) {
    /* A stretch left out by the sender, or 16 packets lost, or 32: only if they fill it. */
    const i128 fault = between - (i128)(ahead - 1) * usual;

    return 2 * fault < usual && -2 * fault < usual ? ahead : 1;
  }
  return ahead;
}

/* Number a packet after the newest one: by its time stamp as far as it has one, its count, its length. 0: time leapt,
 * which only a sender that began anew can do. */
static int number_vita49(struct tlg_intake *in, const struct tlg_vita49 *v, struct piece *p)
{
  struct vita_reference *r = &in->vita;
  const unsigned step = (v->count - r->count) & 15;
  unsigned __int128 ps = 0;
  const int timed = in->stream.rate.num && tlg_vita49_time(v, &in->stream.rate, &ps);
  int64_t ahead = step <= 12 ? (int64_t)step : (int64_t)step - 16; /* packets, by the count alone */
  int64_t samples = 0;

  if (!r->begun) {
    p->sequence = 1u << 20; /* late ones have numbers too */
    p->first = 1u << 30;
  } else {
    samples = ahead * (int64_t)r->n;
    if (timed && r->timed) {
      i128 d = (i128)ps - (i128)r->ps, by_time;

      if (v->tsi == TLG_TSI_NONE && v->tsf == TLG_TSF_PICOSECONDS) { /* it wraps every second */
        d = d > 500000000000 ? d - 1000000000000 : d < -500000000000 ? d + 1000000000000 : d;
      }
      if (d > (i128)1 << 62 || d < -(i128)1000000000000) {
        return 0;
      }
      by_time = samples_in(d, &in->stream.rate);
      if (by_time > (i128)LEAP || by_time < -(i128)(1 << 30) + 1) {
        return 0;
      }
      ahead = packets_ahead(r, step, by_time);
      if (ahead == 1 && by_time == (i128)r->n) {
        r->settled += r->settled < SETTLED;
      } else if (r->settled < SETTLED && ahead > 0) {
        /* Stamps that never fitted the samples: within half a packet the count is believed. */
        const i128 off = by_time - (i128)ahead * (i128)r->n;

        by_time = off < (i128)(r->n / 2 + 1) && off > -(i128)(r->n / 2 + 1) ? (i128)ahead * (i128)r->n : by_time;
        r->settled = ahead == 1 ? 0 : r->settled;
      }
      samples = (int64_t)by_time;
      if (ahead == 1 &&
          samples == (int64_t)r->n - 1) { /* rounded down twice, by a sender that counts in less than ps */
        samples = (int64_t)r->n;
      }
    }
    if ((ahead < 0 && (uint64_t)-ahead > r->sequence) || (samples < 0 && (uint64_t)-samples > r->first) ||
        r->first > TLG_OWN_LIMIT) {
      return 0;
    }
    p->sequence = r->sequence + (uint64_t)ahead;
    p->first = r->first + (uint64_t)samples;
  }
  if (!r->begun || ahead > 0) {
    r->begun = 1;
    r->sequence = p->sequence;
    r->first = p->first;
    r->n = p->n;
    r->total += p->n;
    if (++r->packets == 64) {
      r->packets /= 2;
      r->total /= 2;
    }
    r->count = v->count;
    r->timed = timed;
    r->ps = ps;
  }
  return 1;
}

/* The time of day of a packet, if it tells one. */
static void stream_time(struct tlg_intake_stream *stream, const struct tlg_vita49 *v)
{
  unsigned __int128 ps;

  if ((v->tsi == TLG_TSI_UTC || v->tsi == TLG_TSI_GPS || (v->tsi == TLG_TSI_OTHER && v->oui == TLG_VITA49_DIFI_OUI)) &&
      v->seconds && tlg_vita49_time(v, &stream->rate, &ps)) {
    stream->has_time = 1;
    stream->seconds = (int64_t)(ps / 1000000000000u) + (v->tsi == TLG_TSI_GPS ? 315964800 - 18 : 0);
    stream->picoseconds = (uint64_t)(ps % 1000000000000u);
  }
}

static void put_vita49(struct tlg_intake *in, const struct tlg_vita49 *v, const struct tlg_intake_sender *from,
                       uint64_t now_ns)
{
  struct piece piece = {.payload = v->payload, .bytes = v->payload_bytes};
  int leapt;

  if (v->spectrum) {
    in->counts[TLG_LIVE_FOREIGN]++;
    return;
  }
  if (!in->locked) {
    lock_vita49(in, v, from, now_ns);
  } else if (!same_sender(in, v, from)) {
    if (!silent(in, now_ns)) {
      in->counts[TLG_LIVE_FOREIGN]++;
      return;
    }
    memset(&in->vita, 0, sizeof in->vita);
    in->next = in->stream;
    in->next.stream = v->stream;
    in->next.form = TLG_INTAKE_VITA49;
    in->from = *from;
    in->anew = in->begun;
    if (!in->begun) {
      in->stream = in->next;
    }
  }
  in->last_ns = now_ns;
  in->invalid_ns = 0;
  settle_vita49(in);
  if (!in->stream.rate.num) {
    in->early++;
    in->anew = 0;
    return;
  }
  piece.layout = in->stream.layout;
  piece.n =
      (size_t)(piece.layout.format ? (v->payload_bytes * 8 - v->pad_bits) / (8 * tlg_format_size(piece.layout.format))
                                   : (v->payload_bytes * 8 - v->pad_bits) / (2 * piece.layout.field));
  if (!piece.n) {
    in->counts[TLG_LIVE_MALFORMED]++;
    in->anew = 0;
    return;
  }
  in->counts[TLG_LIVE_OVERRUNS] += v->has_trailer && (v->trailer >> 24 & 1) && (v->trailer >> 12 & 1);
  leapt = !number_vita49(in, v, &piece);
  if (leapt) {
    memset(&in->vita, 0, sizeof in->vita);
    number_vita49(in, v, &piece);
    in->next = in->stream;
    in->anew = 1;
  }
  if (!in->begun) {
    stream_time(&in->stream, v);
    first_packet(in, &piece);
  } else if (in->anew) {
    another_stream(in, &piece);
  } else {
    place(in, &piece);
  }
}

/* ---- the rest
 * ---------------------------------------------------------------------------------------------------------- */

void tlg_intake_put(struct tlg_intake *in, const uint8_t *bytes, size_t n, const struct tlg_intake_sender *from,
                    uint64_t now_ns)
{
  enum tlg_wire_verdict verdict = TLG_WIRE_FOREIGN;
  enum tlg_intake_form form = in->begun ? in->stream.form : in->cfg.form;
  struct tlg_vita49 v;
  struct tlg_own own;

  form = in->cfg.form ? in->cfg.form : form;
  if (in->ended || in->failed) {
    return;
  }
  if (n > in->cfg.slot_bytes) {
    in->counts[TLG_LIVE_MALFORMED]++;
    return;
  }
  if (form != TLG_INTAKE_VITA49) {
    verdict = tlg_own_decode_datagram(&own, bytes, n);
    if (verdict == TLG_WIRE_OK) {
      if (in->cfg.has_stream && own.stream != in->cfg.stream) {
        in->counts[TLG_LIVE_FOREIGN]++;
      } else {
        put_own(in, &own, bytes, n, from, now_ns);
      }
      return;
    }
  }
  if (form != TLG_INTAKE_OWN && verdict == TLG_WIRE_FOREIGN) {
    verdict = tlg_vita49_decode(&v, bytes, n);
    if (verdict == TLG_WIRE_OK && (tlg_vita49_is_data(&v) || tlg_vita49_is_context(&v))) {
      if (in->cfg.has_stream && v.stream != in->cfg.stream) {
        in->counts[TLG_LIVE_FOREIGN] += tlg_vita49_is_data(&v);
      } else if (tlg_vita49_is_data(&v)) {
        put_vita49(in, &v, from, now_ns);
      } else {
        put_context(in, &v, from, now_ns);
      }
      return;
    }
    if (verdict == TLG_WIRE_OK) { /* extensions and commands are nobody's samples */
      return;
    }
    /* Any bytes look like a VITA-49 header; one that was cut cannot be told from what never was one. */
    verdict = in->stream.form == TLG_INTAKE_VITA49 && in->locked && in->from.address == from->address
                  ? verdict
                  : TLG_WIRE_FOREIGN;
  }
  in->counts[verdict == TLG_WIRE_MALFORMED ? TLG_LIVE_MALFORMED : TLG_LIVE_FOREIGN]++;
}

size_t tlg_intake_ready(struct tlg_intake *in, uint64_t *first)
{
  if (!advance(in)) {
    return 0;
  }
  *first = in->out;
  return in->current.n - in->done;
}

void tlg_intake_read(struct tlg_intake *in, tlg_cs16 *buf, size_t n)
{
  tlg_wire_unpack(buf, in->current.payload, in->done, n, &in->current.layout, in->cfg.full_scale, in->cfg.swap_iq,
                  &in->converted);
  in->done += n;
  in->out += n;
  in->has_current = in->done < in->current.n;
  in->counts[TLG_LIVE_SAMPLES] += n;
  in->counts[TLG_LIVE_CLIPPED] = in->converted.clipped;
  in->counts[TLG_LIVE_NON_FINITE] = in->converted.non_finite;
}

void tlg_intake_flush(struct tlg_intake *in)
{
  in->flushing = 1;
}

int tlg_intake_holds(const struct tlg_intake *in)
{
  return in->n_held > 0;
}

void tlg_intake_let_go(struct tlg_intake *in)
{
  in->last_ns = 0;
}

void tlg_intake_tick(struct tlg_intake *in, uint64_t now_ns)
{
  if (in->invalid_ns && now_ns - in->invalid_ns >= (uint64_t)TLG_INTAKE_INVALID_MS * 1000000u) {
    in->flushing = 1;
    in->ending = 1;
  }
}

int tlg_intake_begun(const struct tlg_intake *in)
{
  return in->begun;
}

int tlg_intake_ended(const struct tlg_intake *in)
{
  return in->ended;
}

uint64_t tlg_intake_end(const struct tlg_intake *in)
{
  return in->out;
}

int tlg_intake_status(const struct tlg_intake *in, struct tlg_error *err)
{
  if (!in->failed) {
    return TLG_OK;
  }
  if (in->told.layout_unreadable && !in->cfg.format) {
    return tlg_error_set(err, TLG_EFORMAT,
                         "VITA-49 stream 0x%08" PRIx32
                         ": its samples are none that can be read (real, polar, tagged or "
                         "vectors); if its context packet is wrong, say what they are by --format",
                         in->stream.stream);
  }
  return tlg_error_set(err, TLG_EFORMAT,
                       "stream 0x%08" PRIx32 ": the sender changed its rate; record each part by itself",
                       in->stream.stream);
}

void tlg_intake_get(const struct tlg_intake *in, struct tlg_intake_stream *stream)
{
  *stream = in->stream;
}

const uint64_t *tlg_intake_counts(const struct tlg_intake *in)
{
  return in->counts;
}

uint64_t tlg_intake_early(const struct tlg_intake *in)
{
  return in->early;
}

uint64_t tlg_intake_full_scale(const struct tlg_intake *in)
{
  return in->converted.full_scale;
}
