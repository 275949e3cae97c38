/* SPDX-License-Identifier: Apache-2.0 */
/* Diagnosis of a foreign implementation's output. First exact explanations: known mistakes are computed from the inputs
 * by a plain model, and the one that gives the very same bytes is the cause. Then what the errors' places and sizes
 * tell. */
#include "tlg_golden.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {
    [TLG_CAUSE_NONE] = "none",
    [TLG_CAUSE_SILENT] = "silent",
    [TLG_CAUSE_SHORT] = "short",
    [TLG_CAUSE_LONG] = "long",
    [TLG_CAUSE_DELAY] = "delay",
    [TLG_CAUSE_ALIGNMENT] = "alignment",
    [TLG_CAUSE_GAIN] = "gain",
    [TLG_CAUSE_NEGATED] = "negated",
    [TLG_CAUSE_SWAPPED] = "swapped",
    [TLG_CAUSE_CONJUGATED] = "conjugated",
    [TLG_CAUSE_COMPONENT] = "component",
    [TLG_CAUSE_BYTE_ORDER] = "byte-order",
    [TLG_CAUSE_TRUNCATED] = "truncated",
    [TLG_CAUSE_NEAREST] = "nearest",
    [TLG_CAUSE_TIES] = "ties",
    [TLG_CAUSE_TOWARD_ZERO] = "toward-zero",
    [TLG_CAUSE_ROUND_TWICE] = "round-twice",
    [TLG_CAUSE_WRAP] = "wrap",
    [TLG_CAUSE_SATURATE] = "saturate",
    [TLG_CAUSE_ACC_NARROW] = "narrow-accumulator",
    [TLG_CAUSE_REVERSED] = "reversed",
    [TLG_CAUSE_PHASE_ORDER] = "phase-order",
    [TLG_CAUSE_TAP_ORDER] = "tap-order",
    [TLG_CAUSE_INVERTED] = "inverted-ratio",
    [TLG_CAUSE_NEAREST_SAMPLE] = "nearest-sample",
    [TLG_CAUSE_LINEAR] = "linear",
    [TLG_CAUSE_HISTORY] = "history",
    [TLG_CAUSE_PHASE_RESET] = "phase-reset",
    [TLG_CAUSE_BORDER] = "border",
    [TLG_CAUSE_PERIOD] = "period",
    [TLG_CAUSE_TAIL] = "tail",
    [TLG_CAUSE_DROPPED] = "dropped",
    [TLG_CAUSE_DOUBLED] = "doubled",
    [TLG_CAUSE_TAPS_SHORT] = "taps-short",
    [TLG_CAUSE_OFFSET] = "offset",
    [TLG_CAUSE_START] = "start",
    [TLG_CAUSE_NOISE] = "noise",
    [TLG_CAUSE_UNKNOWN] = "unknown",
};

const char *tlg_cause_name(enum tlg_cause cause)
{
  return (unsigned)cause < sizeof names / sizeof *names ? names[cause] : "?";
}

static int say(struct tlg_diagnosis *d, enum tlg_cause cause, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Set the verdict; returns 1, so that a finder can end with it. */
static int say(struct tlg_diagnosis *d, enum tlg_cause cause, const char *format, ...)
{
  va_list ap;

  d->cause = cause;
  va_start(ap, format);
  vsnprintf(d->text, sizeof d->text, format, ap);
  va_end(ap);
  return 1;
}

/* ---- a plain model of what others may have built ------------------------------------------------------------------
 */

enum rounding { NEAREST, FLOOR, ZERO, TIES_EVEN, TIES_AWAY, TIES_DOWN, EACH_FLOOR, EACH_NEAREST };
enum overflow { SATURATE, WRAP };
enum order { FORWARD, REVERSED, ROWS_REVERSED, ROWS_IN_LINE, MIRRORED, NEGATIVE, SHIFTED_UP, SHIFTED_DOWN };
enum state { KEPT, HISTORY_LOST, PHASE_LOST, BOTH_LOST };
enum shape { FILTER, HOLD, HOLD_NEXT, LINE, LINE_NEXT };

struct model {
  enum rounding rounding;
  enum overflow overflow;
  enum order order;
  enum state state;
  enum shape shape;
  int other_alignment;       /* causal where aligned is wanted, aligned where causal is */
  int inverted;              /* up and down exchanged in phase and step */
  int skip_last, skip_first; /* taps of each phase left out */
  int late;                  /* inputs by which the input is late */
  int acc_bits;              /* the accumulator wraps at so many bits; 0 = wide enough */
  int acc_clips;             /* 1: it saturates there instead */
};

static int64_t divide(int64_t a, unsigned shift, enum rounding rounding)
{
  const int64_t unit = (int64_t)1 << shift, half = unit / 2;
  const int64_t low = a >> shift, rest = a - low * unit;

  switch (rounding) {
  case ZERO:
    return low + (a < 0 && rest > 0);
  case TIES_EVEN:
    return low + (rest > half || (rest == half && (low & 1)));
  case TIES_AWAY:
    return low + (rest > half || (rest == half && a > 0));
  case TIES_DOWN:
    return low + (rest > half);
  case NEAREST:
  case EACH_NEAREST:
    return low + (rest >= half);
  default:
    return low;
  }
}

static int16_t store(int64_t y, enum overflow overflow)
{
  if (overflow == SATURATE) {
    return (int16_t)(y > INT16_MAX ? INT16_MAX : y < INT16_MIN ? INT16_MIN : y);
  }
  return (int16_t)(uint16_t)(uint64_t)y;
}

static int64_t narrow(int64_t acc, const struct model *m)
{
  const int64_t top = (int64_t)1 << (m->acc_bits - 1);

  if (m->acc_clips) {
    return acc >= top ? top - 1 : acc < -top ? -top : acc;
  }
  acc &= 2 * top - 1;
  return acc >= top ? acc - 2 * top : acc;
}

static size_t tap_index(const struct tlg_taps *taps, size_t per_phase, uint64_t p, size_t k, enum order order)
{
  const size_t up = taps->up;

  switch (order) {
  case REVERSED:
    return p + k * up < taps->n ? taps->n - 1 - (p + k * up) : SIZE_MAX;
  case ROWS_REVERSED:
    return p + (per_phase - 1 - k) * up;
  case ROWS_IN_LINE:
    return p * per_phase + k;
  case MIRRORED:
    return up - 1 - p + k * up;
  case NEGATIVE:
    return (up - p) % up + k * up;
  case SHIFTED_UP:
    return (p + 1) % up + k * up;
  case SHIFTED_DOWN:
    return (p + up - 1) % up + k * up;
  default:
    return p + k * up;
  }
}

static tlg_cs16 input(const struct tlg_try *t, int64_t n)
{
  const tlg_cs16 zero = {0, 0};

  return n >= 0 && (uint64_t)n < t->vector->n_in ? t->in[n] : zero;
}

static tlg_cs16 filter_one(const struct tlg_try *t, const struct model *m, uint64_t p, int64_t newest, int64_t oldest)
{
  const struct tlg_taps *taps = t->taps;
  const size_t per_phase = (taps->n + taps->up - 1) / taps->up;
  const int each = m->rounding == EACH_FLOOR || m->rounding == EACH_NEAREST;
  int64_t acc_i = 0, acc_q = 0;
  tlg_cs16 y;
  size_t k;

  for (k = (size_t)m->skip_first; k + (size_t)m->skip_last < per_phase; k++) {
    const size_t at = tap_index(taps, per_phase, p, k, m->order);
    const int64_t n = newest - (int64_t)k - m->late;
    int64_t i, q;

    if (at >= taps->n || n < oldest) {
      continue;
    }
    i = (int64_t)taps->h[at] * input(t, n).i;
    q = (int64_t)taps->h[at] * input(t, n).q;
    acc_i += each ? divide(i, taps->shift, m->rounding) : i;
    acc_q += each ? divide(q, taps->shift, m->rounding) : q;
    if (m->acc_bits) {
      acc_i = narrow(acc_i, m);
      acc_q = narrow(acc_q, m);
    }
  }
  y.i = store(each ? acc_i : divide(acc_i, taps->shift, m->rounding), m->overflow);
  y.q = store(each ? acc_q : divide(acc_q, taps->shift, m->rounding), m->overflow);
  return y;
}

static tlg_cs16 shape_one(const struct tlg_try *t, const struct model *m, uint64_t p, uint64_t up, int64_t newest)
{
  const int next = m->shape == HOLD_NEXT || m->shape == LINE_NEXT;
  const tlg_cs16 a = input(t, newest - 1 + next), b = input(t, newest + next);
  tlg_cs16 y = m->shape == HOLD ? b : a;

  if (m->shape == LINE || m->shape == LINE_NEXT) {
    y.i = (int16_t)(a.i + (int64_t)(b.i - a.i) * (int64_t)p / (int64_t)up);
    y.q = (int16_t)(a.q + (int64_t)(b.q - a.q) * (int64_t)p / (int64_t)up);
  }
  return y;
}

static void ratio(const struct tlg_try *t, uint64_t *up, uint64_t *down)
{
  uint64_t a = t->vector->up, b = t->vector->down;

  while (b) {
    const uint64_t rest = a % b;

    a = b;
    b = rest;
  }
  *up = t->vector->up / a;
  *down = t->vector->down / a;
}

/* Output j (in the order of arrival) of the model: packet is its segment, first the index of that segment's first
 * output. */
static tlg_cs16 model_one(const struct tlg_try *t, const struct model *m, size_t j, size_t packet, size_t first)
{
  const struct tlg_segment *s = &t->segments[packet];
  const uint64_t q0 = !t->vector->align == !m->other_alignment ? 0 : (t->taps->n - 1) / 2;
  uint64_t up, down, q, p;
  int64_t newest, oldest = INT64_MIN;

  ratio(t, &up, &down);
  if (m->inverted) {
    const uint64_t was = up;

    up = down;
    down = was;
  }
  if (m->state == PHASE_LOST || m->state == BOTH_LOST) {
    q = (j - first) * down + q0;
    newest = (int64_t)(q / up + s->input);
  } else {
    q = (uint64_t)j * down + q0;
    newest = (int64_t)(q / up);
  }
  if (m->state == HISTORY_LOST || m->state == BOTH_LOST) {
    oldest = (int64_t)s->input;
  }
  p = q % up;
  if (m->shape != FILTER) {
    return shape_one(t, m, p, up, newest);
  }
  return filter_one(t, m, p, newest, oldest);
}

/* Outputs of a packet: one whose phase begins anew makes as many as its own length gives. */
static size_t packet_outputs(const struct tlg_try *t, const struct model *m, size_t packet)
{
  const uint64_t end = packet + 1 < t->n_segments ? t->segments[packet + 1].input : t->vector->n_in;
  uint64_t up, down;

  if (m->state != PHASE_LOST && m->state != BOTH_LOST) {
    return (size_t)t->segments[packet].n;
  }
  ratio(t, &up, &down);
  return (size_t)(((end - t->segments[packet].input) * up + down - 1) / down);
}

/* Whether the model gives got, to within slack a component, at a delay of late outputs; at least half of it must be
 * there. */
static int fits(const struct tlg_try *t, const struct model *m, int late, int slack)
{
  size_t j, packet = 0, first = 0, left = t->n_segments ? packet_outputs(t, m, 0) : 0, compared = 0;

  for (j = 0;; j++) {
    tlg_cs16 y;

    while (packet + 1 < t->n_segments && j >= first + left) {
      first += left;
      left = packet_outputs(t, m, ++packet);
    }
    if (j >= first + left) {
      break;
    }
    if ((int64_t)j + late < 0 || (uint64_t)((int64_t)j + late) >= t->n_got) {
      continue;
    }
    y = model_one(t, m, j, packet, first);
    if (abs(y.i - t->got[(int64_t)j + late].i) > slack || abs(y.q - t->got[(int64_t)j + late].q) > slack) {
      return 0;
    }
    compared++;
  }
  return 2 * compared >= t->n_expected && compared > 0;
}

/* ---- exact explanations ---------------------------------------------------------------------------------------------
 */

static int find_length(const struct tlg_try *t, struct tlg_diagnosis *d)
{
  const size_t both = t->n_got < t->n_expected ? t->n_got : t->n_expected;
  size_t k;

  if (t->n_got == 0) {
    return say(d, TLG_CAUSE_SILENT, "there is no output at all%s",
               t->odd_bytes ? " but a few bytes that make no sample of 4 bytes" : "");
  }
  for (k = 0; k < t->n_got && !t->got[k].i && !t->got[k].q; k++) {
  }
  if (k == t->n_got && d->difference.largest) {
    return say(d, TLG_CAUSE_SILENT, "every output is zero");
  }
  if (t->n_got == t->n_expected || memcmp(t->got, t->expected, both * sizeof *t->got) != 0) {
    return 0;
  }
  if (t->n_got < t->n_expected) {
    uint64_t up, down;

    ratio(t, &up, &down);
    return say(d, TLG_CAUSE_SHORT, "right as far as it goes, but %zu output%s missing at the end (%zu of %zu came)%s",
               t->n_expected - both, t->n_expected - both == 1 ? " is" : "s are", both, t->n_expected,
               t->odd_bytes       ? "; a sample is cut"
               : t->vector->flush ? "; is the flush missing?"
                                  : "");
  }
  return say(d, TLG_CAUSE_LONG, "right, but %zu too many come behind the %zu outputs that should%s", t->n_got - both,
             both, t->vector->flush ? "" : "; is it flushed although that was not asked for?");
}

enum turn {
  SAME,
  SWAP,
  CONJUGATE,
  SWAP_CONJUGATE,
  NEGATE,
  TURN_BACK,
  MIRROR_I,
  SWAP_NEGATE,
  BYTES,
  Q_COPIES_I,
  I_COPIES_Q,
  NO_Q,
  NO_I
};

static int16_t limited(int x)
{
  return (int16_t)(x > INT16_MAX ? INT16_MAX : x);
}

static tlg_cs16 turned(tlg_cs16 x, enum turn turn)
{
  tlg_cs16 y = x;
  const uint16_t i = (uint16_t)x.i, q = (uint16_t)x.q;

  switch (turn) {
  case SWAP:
    y.i = x.q;
    y.q = x.i;
    break;
  case CONJUGATE:
    y.q = limited(-x.q);
    break;
  case SWAP_CONJUGATE:
    y.i = limited(-x.q);
    y.q = x.i;
    break;
  case NEGATE:
    y.i = limited(-x.i);
    y.q = limited(-x.q);
    break;
  case TURN_BACK:
    y.i = x.q;
    y.q = limited(-x.i);
    break;
  case MIRROR_I:
    y.i = limited(-x.i);
    break;
  case SWAP_NEGATE:
    y.i = limited(-x.q);
    y.q = limited(-x.i);
    break;
  case Q_COPIES_I:
    y.q = x.i;
    break;
  case I_COPIES_Q:
    y.i = x.q;
    break;
  case NO_Q:
    y.q = 0;
    break;
  case NO_I:
    y.i = 0;
    break;
  case BYTES:
    y.i = (int16_t)(uint16_t)(i << 8 | i >> 8);
    y.q = (int16_t)(uint16_t)(q << 8 | q >> 8);
    break;
  default:
    break;
  }
  return y;
}

static const struct {
  enum turn turn;
  enum tlg_cause cause;
  const char *text;
} turns[] = {
    {SAME, TLG_CAUSE_NONE, "right"},
    {SWAP, TLG_CAUSE_SWAPPED, "I and Q are swapped"},
    {CONJUGATE, TLG_CAUSE_CONJUGATED, "Q has the wrong sign: the spectrum is mirrored (conjugated)"},
    {SWAP_CONJUGATE, TLG_CAUSE_SWAPPED, "I and Q are swapped and one of them has the wrong sign: turned by 90 degrees"},
    {NEGATE, TLG_CAUSE_NEGATED, "every output has the wrong sign"},
    {TURN_BACK, TLG_CAUSE_SWAPPED, "I and Q are swapped and Q has the wrong sign then: turned by -90 degrees"},
    {MIRROR_I, TLG_CAUSE_CONJUGATED, "I has the wrong sign: the spectrum is mirrored"},
    {SWAP_NEGATE, TLG_CAUSE_SWAPPED, "I and Q are swapped, and both have the wrong sign"},
    {BYTES, TLG_CAUSE_BYTE_ORDER, "the bytes of each number are in the wrong order: it must be little endian"},
    {Q_COPIES_I, TLG_CAUSE_COMPONENT, "Q is a copy of I"},
    {I_COPIES_Q, TLG_CAUSE_COMPONENT, "I is a copy of Q"},
    {NO_Q, TLG_CAUSE_COMPONENT, "Q is missing: it is always zero"},
    {NO_I, TLG_CAUSE_COMPONENT, "I is missing: it is always zero"},
};
enum { ROTATIONS = SWAP_NEGATE + 1, TURNS = sizeof turns / sizeof *turns };

static int near(tlg_cs16 a, tlg_cs16 b, int slack)
{
  return abs(a.i - b.i) <= slack && abs(a.q - b.q) <= slack;
}

/* How much of got, shifted by late outputs, equals the turned expectation: -1 if a sample differs. slack: the sign of
 * -32768 may have been saturated or not, and rounding stands on the other side of a changed sign. */
static int64_t matches(const struct tlg_try *t, enum turn turn, int64_t late, int slack)
{
  const size_t from = late < 0 ? (size_t)-late : 0;
  size_t k, n = 0;

  for (k = from; k < t->n_expected && (uint64_t)((int64_t)k + late) < t->n_got; k++, n++) {
    if (!near(turned(t->expected[k], turn), t->got[(int64_t)k + late], slack)) {
      return -1;
    }
  }
  return (int64_t)n;
}

/* Whether the expectation looks the same, but for a turn, whatever it is shifted by: a tone or a constant. Such a
 * signal cannot tell a delay. */
static int is_tone(const struct tlg_try *t)
{
  static const size_t shifts[] = {37, 101, 211, 499};
  size_t s, k;

  for (s = 0; s < sizeof shifts / sizeof *shifts; s++) {
    double re = 0.0, im = 0.0, a = 0.0, b = 0.0;

    for (k = 0; k + shifts[s] < t->n_expected; k++) {
      const tlg_cs16 x = t->expected[k], y = t->expected[k + shifts[s]];

      re += (double)x.i * y.i + (double)x.q * y.q;
      im += (double)x.q * y.i - (double)x.i * y.q;
      a += (double)x.i * x.i + (double)x.q * x.q;
      b += (double)y.i * y.i + (double)y.q * y.q;
    }
    if (re * re + im * im < 0.9 * a * b) {
      return 0;
    }
  }
  return 1;
}

/* Whether got is the expectation, turned, late or early by up to 4096 outputs: the smallest shift first. */
static int find_shift(const struct tlg_try *t, struct tlg_diagnosis *d)
{
  int64_t late;
  size_t k, busy = 0;
  int tonal;

  /* a few samples alone prove nothing, nor does a signal that is everywhere the same */
  for (k = 1; k < t->n_expected; k++) {
    busy += t->expected[k].i != t->expected[k - 1].i || t->expected[k].q != t->expected[k - 1].q;
  }
  tonal = is_tone(t);
  for (late = 0; late <= 4096; late = late > 0 ? -late : 1 - late) {
    for (k = 0; k < TURNS; k++) {
      const enum turn turn = turns[k].turn;
      const int slack = turn >= CONJUGATE && turn <= SWAP_NEGATE;
      int64_t n;

      if (late == 0 ? turn == SAME : turn > BYTES || (slack && tonal)) {
        continue; /* a tone turned is also a tone delayed: only what fits to the last bit is believed there */
      }
      n = matches(t, turn, late, slack);
      if (n < 8 || 2 * (uint64_t)n < t->n_expected || busy < 8) {
        continue;
      }
      d->delay = late;
      if (late == 0) {
        return say(d, turns[k].cause, "%s", turns[k].text);
      }
      return say(d, turns[k].turn == SAME ? TLG_CAUSE_DELAY : turns[k].cause, "%s%s %lld output%s %s", turns[k].text,
                 turns[k].turn == SAME ? " but" : ", and", (long long)(late < 0 ? -late : late),
                 late == 1 || late == -1 ? "" : "s", late < 0 ? "early" : "late");
    }
  }
  return 0;
}

static const struct {
  struct model model;
  enum tlg_cause cause;
  int only_nearest; /* 1: a mistake under rounding "nearest", -1: under "usrpl0", 0: under both */
  const char *text;
} mistakes[] = {
    {{.rounding = FLOOR},
     TLG_CAUSE_TRUNCATED,
     1,
     "rounding differs: it truncates (rounds down) where 2^(S-1) has to be added first; the results are 1 too low at "
     "times"},
    {{.rounding = NEAREST, .overflow = WRAP}, TLG_CAUSE_WRAP, 1, "it wraps around where it has to saturate"},
    {{.rounding = FLOOR, .overflow = WRAP},
     TLG_CAUSE_TRUNCATED,
     1,
     "it truncates and wraps, as usrpL0 did, where it has to round to nearest and to saturate"},
    {{.rounding = NEAREST, .overflow = WRAP}, TLG_CAUSE_NEAREST, -1, "it rounds to nearest where it has to truncate"},
    {{.rounding = NEAREST},
     TLG_CAUSE_NEAREST,
     -1,
     "it rounds to nearest and saturates where it has to truncate and to wrap"},
    {{.rounding = FLOOR}, TLG_CAUSE_SATURATE, -1, "it saturates where it has to wrap"},
    {{.rounding = TIES_EVEN}, TLG_CAUSE_TIES, 1, "exact halves go to the even neighbour; they have to go up"},
    {{.rounding = TIES_AWAY}, TLG_CAUSE_TIES, 1, "exact halves go away from zero; they have to go up"},
    {{.rounding = TIES_DOWN}, TLG_CAUSE_TIES, 1, "exact halves go down; they have to go up"},
    {{.rounding = ZERO},
     TLG_CAUSE_TOWARD_ZERO,
     0,
     "it rounds toward zero, as a division or a conversion from floating point does"},
    {{.rounding = EACH_FLOOR}, TLG_CAUSE_ROUND_TWICE, 0, "each product is shifted before the sum; only the sum may be"},
    {{.rounding = EACH_NEAREST},
     TLG_CAUSE_ROUND_TWICE,
     0,
     "each product is rounded before the sum; only the sum may be"},
    {{.order = REVERSED}, TLG_CAUSE_REVERSED, 0, "the prototype is reversed: tap n stands where N-1-n should"},
    {{.order = ROWS_REVERSED}, TLG_CAUSE_TAP_ORDER, 0, "the taps inside each phase are reversed in time"},
    {{.order = ROWS_IN_LINE},
     TLG_CAUSE_PHASE_ORDER,
     0,
     "wrong phase order: a phase takes T neighbouring taps instead of every L-th"},
    {{.order = MIRRORED}, TLG_CAUSE_PHASE_ORDER, 0, "wrong phase order: phase p is taken for L-1-p"},
    {{.order = NEGATIVE}, TLG_CAUSE_PHASE_ORDER, 0, "wrong phase order: phase p is taken for -p modulo L"},
    {{.order = SHIFTED_UP}, TLG_CAUSE_PHASE_ORDER, 0, "wrong phase: each output takes the taps of the next phase"},
    {{.order = SHIFTED_DOWN}, TLG_CAUSE_PHASE_ORDER, 0, "wrong phase: each output takes the taps of the phase before"},
    {{.skip_last = 1}, TLG_CAUSE_TAPS_SHORT, 0, "the last tap of each phase is left out"},
    {{.skip_first = 1}, TLG_CAUSE_TAPS_SHORT, 0, "the first tap of each phase is left out"},
    {{.late = 1}, TLG_CAUSE_DELAY, 0, "right but one input sample late"},
    {{.late = -1}, TLG_CAUSE_DELAY, 0, "right but one input sample early"},
    {{.state = HISTORY_LOST},
     TLG_CAUSE_HISTORY,
     0,
     "state is lost at packet borders: the history of samples begins with zeros in each packet"},
    {{.state = PHASE_LOST},
     TLG_CAUSE_PHASE_RESET,
     0,
     "state is lost at packet borders: the phase begins anew in each packet"},
    {{.state = BOTH_LOST},
     TLG_CAUSE_HISTORY,
     0,
     "state is lost at packet borders: history and phase begin anew in each packet"},
    {{.inverted = 1}, TLG_CAUSE_INVERTED, 0, "up and down are exchanged"},
};

static int find_mistake(const struct tlg_try *t, struct tlg_diagnosis *d)
{
  const int nearest = t->vector->rounding == TLG_ROUND_NEAREST;
  size_t k;

  for (k = 0; k < sizeof mistakes / sizeof *mistakes; k++) {
    struct model m = mistakes[k].model;

    if (mistakes[k].only_nearest && mistakes[k].only_nearest != (nearest ? 1 : -1)) {
      continue;
    }
    if (!mistakes[k].only_nearest && !nearest) {
      m.rounding = m.rounding == NEAREST ? FLOOR : m.rounding;
      m.overflow = WRAP;
    }
    if (fits(t, &m, 0, 0)) {
      return say(d, mistakes[k].cause, "%s", mistakes[k].text);
    }
  }
  if (t->taps->n > 2) {
    const struct model m = {
        .rounding = nearest ? NEAREST : FLOOR, .overflow = nearest ? SATURATE : WRAP, .other_alignment = 1};

    if (fits(t, &m, 0, 0)) {
      const uint64_t q0 = (t->taps->n - 1) / 2;
      uint64_t up, down;

      ratio(t, &up, &down);
      d->delay = (int64_t)(q0 / down) * (t->vector->align ? 1 : -1);
      return say(d, TLG_CAUSE_ALIGNMENT,
                 t->vector->align
                     ? "it is not aligned: this is the causal stream, half the filter (%llu/%llu = %.2f "
                       "outputs) late"
                     : "it is aligned where the causal stream is wanted: half the filter (%llu/%llu = %.2f "
                       "outputs) early",
                 (unsigned long long)q0, (unsigned long long)down, (double)q0 / (double)down);
    }
  }
  for (k = 16; k < 32; k++) {
    struct model m = {.rounding = nearest ? NEAREST : FLOOR, .overflow = nearest ? SATURATE : WRAP, .acc_bits = (int)k};

    if (fits(t, &m, 0, 0)) {
      return say(d, TLG_CAUSE_ACC_NARROW, "the accumulator wraps at %zu bits; it needs 32", k);
    }
    m.acc_clips = 1;
    if (fits(t, &m, 0, 0)) {
      return say(d, TLG_CAUSE_ACC_NARROW, "the accumulator saturates at %zu bits; it needs 32", k);
    }
  }
  return 0;
}

/* Interpolation without a filter, whatever its rounding and delay. */
static int find_shape(const struct tlg_try *t, struct tlg_diagnosis *d)
{
  int shape, late;

  for (shape = HOLD; shape <= LINE_NEXT; shape++) {
    const struct model m = {.shape = (enum shape)shape};

    for (late = -12; late <= 12; late++) {
      if (fits(t, &m, late, shape >= LINE ? 2 : 0)) {
        return shape >= LINE
                   ? say(d, TLG_CAUSE_LINEAR, "linear interpolation between neighbours, without the filter")
                   : say(d, TLG_CAUSE_NEAREST_SAMPLE, "samples are repeated (nearest neighbour), without the filter");
      }
    }
  }
  return 0;
}

/* From the first bad output on, right but shifted: something was lost or repeated in mid-stream. */
/* Samples from k on that differ from the one before, among n: matches of long constants prove nothing. */
static int lively(const tlg_cs16 *x, size_t n)
{
  size_t k, busy = 0;

  for (k = 1; k < n && busy < 8; k++) {
    busy += x[k].i != x[k - 1].i || x[k].q != x[k - 1].q;
  }
  return busy == 8;
}

static int find_slip(const struct tlg_try *t, struct tlg_diagnosis *d)
{
  const size_t first = (size_t)d->difference.first;
  size_t packet = 0, at = 0, slip;

  if (first >= t->n_got || first >= t->n_expected || t->n_expected - first < 32) {
    return 0;
  }
  while (packet + 1 < t->n_segments && first >= at + t->segments[packet].n) {
    at += (size_t)t->segments[packet++].n;
  }
  for (slip = 1; slip <= 2000; slip++) {
    size_t k, n = 0;

    /* lost: got[k] = expected[k + slip] for a while; another loss may follow */
    for (k = first; k < t->n_got && k + slip < t->n_expected && near(t->got[k], t->expected[k + slip], 0); k++, n++) {
    }
    if ((n >= 32 || (n >= 8 && k == t->n_got)) && lively(t->got + first, n)) {
      return say(d, TLG_CAUSE_DROPPED,
                 "%zu output%s missing in mid-stream, at output %zu (packet %zu, its output %zu)%s", slip,
                 slip == 1 ? " is" : "s are", first, packet, first - at,
                 k < t->n_got && k + slip < t->n_expected ? "; it happens again later" : "");
    }
    for (k = first, n = 0; k + slip < t->n_got && k < t->n_expected && near(t->got[k + slip], t->expected[k], 0);
         k++, n++) {
    }
    if ((n >= 32 || (n >= 8 && k == t->n_expected)) && lively(t->expected + first, n)) {
      return say(d, TLG_CAUSE_DOUBLED,
                 "%zu output%s too many in mid-stream, at output %zu (packet %zu, its output %zu)%s", slip,
                 slip == 1 ? " is" : "s are", first, packet, first - at,
                 k + slip < t->n_got && k < t->n_expected ? "; it happens again later" : "");
    }
  }
  return 0;
}

/* ---- what the errors tell -------------------------------------------------------------------------------------------
 */

/* A byte for each output: 1 = it differs. */
static unsigned char *bad_map(const struct tlg_try *t, size_t *n, size_t *n_bad)
{
  const size_t both = t->n_got < t->n_expected ? t->n_got : t->n_expected;
  unsigned char *bad = calloc(both + 1, 1);
  size_t k;

  *n = both;
  *n_bad = 0;
  for (k = 0; bad && k < both; k++) {
    bad[k] = !near(t->got[k], t->expected[k], 0);
    *n_bad += bad[k];
  }
  return bad;
}

/* Outputs in which a sample of history can be heard. */
static size_t memory_outputs(const struct tlg_try *t)
{
  uint64_t up, down;

  ratio(t, &up, &down);
  return (size_t)((t->taps->n + down - 1) / down + 1);
}

static int find_start(const struct tlg_try *t, struct tlg_diagnosis *d, const unsigned char *bad, size_t n)
{
  size_t k, last = 0;

  for (k = 0; k < n; k++) {
    last = bad[k] ? k : last;
  }
  if (last < memory_outputs(t) && last + 1 < n / 2) {
    return say(d, TLG_CAUSE_START,
               "only the first %zu outputs are wrong: before the first sample there have to be zeros", last + 1);
  }
  return 0;
}

/* SIMD: the outputs behind the last full group of 8 or 16 of each packet. */
static int find_tail(const struct tlg_try *t, struct tlg_diagnosis *d, const unsigned char *bad, size_t n, size_t n_bad)
{
  unsigned group;

  for (group = 4; group <= 32; group *= 2) {
    size_t packet, at = 0, in_tail = 0, tails = 0, hit = 0, k;

    for (packet = 0; packet < t->n_segments && at < n; packet++) {
      const size_t size = (size_t)t->segments[packet].n, full = size - size % group;
      size_t here = 0;

      for (k = full; k < size && at + k < n; k++) {
        here += bad[at + k];
      }
      tails += full < size && at + full < n;
      hit += here > 0;
      in_tail += here;
      at += size;
    }
    if (in_tail == n_bad && hit >= 2 && 2 * hit >= tails) {
      return say(d, TLG_CAUSE_TAIL,
                 "only outputs behind the last full group of %u in a packet are wrong: the tail of a SIMD loop", group);
    }
  }
  return 0;
}

/* SIMD: one lane of each group, the largest group that explains it. */
static int find_lane(const struct tlg_try *t, struct tlg_diagnosis *d, const unsigned char *bad, size_t n, size_t n_bad)
{
  unsigned group;

  for (group = 32; group >= 8; group /= 2) {
    size_t packet, at = 0, lanes[32] = {0}, lane, k;

    for (packet = 0; packet < t->n_segments && at < n; packet++) {
      const size_t size = (size_t)t->segments[packet].n;

      for (k = 0; k < size && at + k < n; k++) {
        lanes[k % group] += bad[at + k];
      }
      at += size;
    }
    for (lane = 0; lane < group; lane++) {
      if (lanes[lane] == n_bad && n_bad >= 8 && n_bad * group >= n / 4) {
        return say(d, TLG_CAUSE_TAIL, "every %uth output of a packet is wrong (number %zu, %zu, ...): a SIMD lane",
                   group, lane, lane + group);
      }
    }
  }
  return 0;
}

static int find_borders(const struct tlg_try *t, struct tlg_diagnosis *d, const unsigned char *bad, size_t n,
                        size_t n_bad)
{
  const size_t memory = memory_outputs(t);
  size_t packet, at = 0, at_border = 0, hit = 0, covered = 0;

  for (packet = 0; packet < t->n_segments && at < n; packet++) {
    size_t k, here = 0;

    for (k = 0; k < t->segments[packet].n && k < memory && at + k < n; k++) {
      here += bad[at + k];
      covered++;
    }
    hit += here > 0;
    at_border += here;
    at += (size_t)t->segments[packet].n;
  }
  if (at_border == n_bad && hit >= 2 && 2 * covered < n) {
    return say(d, TLG_CAUSE_BORDER,
               "all errors stand within %zu outputs behind a packet border: state is lost or damaged there", memory);
  }
  return 0;
}

/* Some phases wrong, always the same ones; or bursts at equal distances (a buffer of the implementation's own). */
static int find_period(const struct tlg_try *t, struct tlg_diagnosis *d, const unsigned char *bad, size_t n,
                       size_t n_bad)
{
  uint64_t up, down;
  size_t k, last = 0, begin = 0, bursts = 0, distance = 0, even = 1;

  ratio(t, &up, &down);
  if (up > 1 && up < n / 2) {
    size_t wrong = 0, worst = 0, kept = 0;
    uint64_t r;

    for (r = 0; r < up; r++) {
      size_t all = 0, here = 0;

      for (k = r; k < n; k += up) {
        all++;
        here += bad[k];
      }
      wrong += here > 0;
      kept += here && 4 * here >= 3 * all;
      worst = here && !worst ? (size_t)r : worst;
    }
    /* noise would hit nearly all phases, and each in part of its turns */
    if (wrong && 2 * wrong <= up && 10 * kept >= 9 * wrong) {
      return say(
          d, TLG_CAUSE_PERIOD,
          "errors recur with the period of the ratio, %llu outputs (%llu inputs): %zu of %llu phases are wrong, the "
          "first at output %zu (phase %llu)",
          (unsigned long long)up, (unsigned long long)down, wrong, (unsigned long long)up, worst,
          (unsigned long long)(worst * down % up));
    }
  }
  for (k = 0; k < n; k++) {
    if (!bad[k]) {
      continue;
    }
    if (!bursts || k - last > 24) {
      if (bursts == 1) {
        distance = k - begin;
      } else if (bursts > 1) {
        const size_t now = k - begin, off = now > distance ? now - distance : distance - now;

        even &= off <= 2 || now % distance <= 2;
      }
      begin = k;
      bursts++;
    }
    last = k;
  }
  if (bursts >= 3 && even && distance > 48 && 2 * n_bad < n) {
    return say(
        d, TLG_CAUSE_PERIOD,
        "errors come in bursts about every %zu outputs (%.1f inputs): state is lost at the border of some buffer",
        distance, (double)distance * (double)down / (double)up);
  }
  return 0;
}

struct sums {
  double signal, error;  /* energies */
  double mean_i, mean_q; /* of the error */
  int32_t least, most;   /* error of a component */
  size_t n;
};

static void sum_up(const struct tlg_try *t, int64_t late, struct sums *s)
{
  size_t k;

  memset(s, 0, sizeof *s);
  for (k = 0; k < t->n_expected; k++) {
    const tlg_cs16 e = t->expected[k];
    tlg_cs16 g;
    int32_t di, dq;

    if ((int64_t)k + late < 0 || (uint64_t)((int64_t)k + late) >= t->n_got) {
      continue;
    }
    g = t->got[(int64_t)k + late];
    di = g.i - e.i;
    dq = g.q - e.q;
    s->signal += (double)e.i * e.i + (double)e.q * e.q;
    s->error += (double)di * di + (double)dq * dq;
    s->mean_i += di;
    s->mean_q += dq;
    s->least = di < s->least ? di : dq < s->least ? dq : s->least;
    s->most = di > s->most ? di : dq > s->most ? dq : s->most;
    s->n++;
  }
  if (s->n) {
    s->mean_i /= (double)s->n;
    s->mean_q /= (double)s->n;
  }
}

static double decibels(double signal, double error)
{
  return error > 0.0 ? 10.0 * log10(signal / error) : (double)INFINITY;
}

/* Largest residual after a real gain was taken out, clipped outputs left aside. */
static double residual(const struct tlg_try *t, double gain)
{
  double worst = 0.0;
  size_t k;

  for (k = 0; k < t->n_expected && k < t->n_got; k++) {
    const double want[2] = {gain * t->expected[k].i, gain * t->expected[k].q};
    const int16_t have[2] = {t->got[k].i, t->got[k].q}, ideal[2] = {t->expected[k].i, t->expected[k].q};
    int c;

    for (c = 0; c < 2; c++) {
      if (abs(have[c]) < 32767 && abs(ideal[c]) < 32767) {
        const double off = fabs(have[c] - want[c]);

        worst = off > worst ? off : worst;
      }
    }
  }
  return worst;
}

/* Gain by least squares over the components that neither side clips. */
static double estimate_gain(const struct tlg_try *t)
{
  double cross = 0.0, energy = 0.0;
  size_t k;

  for (k = 0; k < t->n_expected && k < t->n_got; k++) {
    const double have[2] = {t->got[k].i, t->got[k].q}, ideal[2] = {t->expected[k].i, t->expected[k].q};
    int c;

    for (c = 0; c < 2; c++) {
      if (fabs(have[c]) < 32767.0 && fabs(ideal[c]) < 32767.0) {
        cross += have[c] * ideal[c];
        energy += ideal[c] * ideal[c];
      }
    }
  }
  return energy > 0.0 ? cross / energy : 0.0;
}

static int find_gain(const struct tlg_try *t, struct tlg_diagnosis *d)
{
  const double tall = estimate_gain(t);
  double gains[3], power;
  size_t k;

  if (fabs(tall) < 1e-9) {
    return 0;
  }
  /* the power of two next to the estimate first: a wrong shift */
  power = pow(2.0, round(log2(fabs(tall)))) * (tall < 0 ? -1.0 : 1.0);
  gains[0] = power;
  gains[1] = 2.0 * power;
  gains[2] = tall;
  for (k = 0; k < 3; k++) {
    const double g = gains[k];

    if (fabs(g - 1.0) > 2e-4 && residual(t, g) <= 1.0 + 0.5 * fabs(g) && (double)d->difference.largest > 1.0) {
      const double shift = -log2(fabs(g));

      d->gain = g;
      if (k < 2) {
        return say(d, TLG_CAUSE_GAIN, "right but for a gain of %g: the shift is %.0f instead of %u%s", g,
                   t->taps->shift + shift, t->taps->shift, g < 0 ? ", and the sign is wrong" : "");
      }
      return say(d, TLG_CAUSE_GAIN, "right but for a gain of %.5f (%.2f dB)", g, 20.0 * log10(fabs(g)));
    }
  }
  return 0;
}

static int find_offset(const struct tlg_try *t, struct tlg_diagnosis *d, const struct sums *s)
{
  const double i = round(s->mean_i), q = round(s->mean_q);
  size_t k;

  if (fabs(s->mean_i) < 0.9 && fabs(s->mean_q) < 0.9) {
    return 0;
  }
  for (k = 0; k < t->n_expected && k < t->n_got; k++) {
    const int off_i = t->got[k].i - t->expected[k].i - (int)i, off_q = t->got[k].q - t->expected[k].q - (int)q;

    if ((abs(off_i) > 1 && abs(t->got[k].i) < 32767) || (abs(off_q) > 1 && abs(t->got[k].q) < 32767)) {
      return 0;
    }
  }
  return say(d, TLG_CAUSE_OFFSET, "right but for a constant (%.0f, %.0f) that is added", i, q);
}

static int find_overflow(const struct tlg_try *t, struct tlg_diagnosis *d)
{
  size_t k, clipped = 0, others = 0;

  for (k = 0; k < t->n_expected && k < t->n_got; k++) {
    const tlg_cs16 e = t->expected[k], g = t->got[k];

    if (abs(e.i) >= 32767 || abs(e.q) >= 32767) {
      clipped += abs(g.i - e.i) > 32768 || abs(g.q - e.q) > 32768;
    } else {
      others += !near(e, g, 1);
    }
  }
  if (clipped && !others) {
    return say(d, TLG_CAUSE_WRAP, "it wraps around where it has to saturate (%zu outputs)", clipped);
  }
  return 0;
}

/* The best of turns and delays by correlation, for implementations that are near but not exact. */
static int find_near(const struct tlg_try *t, struct tlg_diagnosis *d)
{
  const size_t span = t->n_expected < 4096 ? t->n_expected : 4096;
  double best = 0.0;
  int64_t late, best_late = 0;
  size_t k, n, best_turn = 0;
  struct sums s;

  /* a tone fits at any delay, and what was right for a while is not turned or delayed as a whole */
  if (is_tone(t) ||
      lively(t->expected, (size_t)d->difference.first < t->n_expected ? (size_t)d->difference.first : 0)) {
    return 0;
  }
  for (late = -600; late <= 600; late++) {
    double re[2] = {0, 0}, im[2] = {0, 0}, energy_e = 0, energy_g = 0;

    for (n = 0; n < span; n++) {
      const size_t at = (t->n_expected - span) / 2 + n;
      const tlg_cs16 e = t->expected[at];
      tlg_cs16 g;

      if ((int64_t)at + late < 0 || (uint64_t)((int64_t)at + late) >= t->n_got) {
        continue;
      }
      g = t->got[(int64_t)at + late];
      re[0] += (double)g.i * e.i + (double)g.q * e.q;
      im[0] += (double)g.q * e.i - (double)g.i * e.q;
      re[1] += (double)g.i * e.i - (double)g.q * e.q; /* against the conjugate */
      im[1] += (double)g.q * e.i + (double)g.i * e.q;
      energy_e += (double)e.i * e.i + (double)e.q * e.q;
      energy_g += (double)g.i * g.i + (double)g.q * g.q;
    }
    for (k = 0; k < ROTATIONS; k++) {
      /* same, swap = j conj, conjugate, swap + conjugate = j, negate, -j, -conj, -j conj: each a rotation of one of the
       * two products */
      const double products[ROTATIONS] = {re[0], im[1], re[1], im[0], -re[0], -im[0], -re[1], -im[1]};
      const double c = products[k];
      const double rho = energy_e > 0 && energy_g > 0 ? c / sqrt(energy_e * energy_g) : 0.0;

      if (rho > best + 1e-9 || (rho > best - 1e-9 && llabs(late) < llabs(best_late))) {
        best = rho > best ? rho : best;
        best_late = late;
        best_turn = k;
      }
    }
  }
  if (best < 0.9 || (best_late == 0 && best_turn == 0)) {
    return 0;
  }
  d->delay = best_late;
  if (best_turn) {
    return say(d, turns[best_turn].cause, "%s%s (correlation %.4f)", turns[best_turn].text,
               best_late ? ", and it is delayed" : "", best);
  }
  sum_up(t, best_late, &s);
  return say(d, TLG_CAUSE_DELAY, "%lld outputs %s; with that taken out, signal to error is %.1f dB",
             (long long)llabs(best_late), best_late < 0 ? "early" : "late", decibels(s.signal, s.error));
}

static int find_rounding(struct tlg_diagnosis *d, const struct sums *s, size_t n, size_t n_bad)
{
  if (s->least >= -1 && s->most <= 1) {
    if (s->most == 0 && s->mean_i < -0.3 && s->mean_q < -0.3) {
      return say(d, TLG_CAUSE_TRUNCATED, "rounding differs: about half of all values are 1 too low: truncation");
    }
    return say(d, TLG_CAUSE_NOISE, "rounding differs: %zu of %zu outputs are off by 1 (%.1f dB signal to error)", n_bad,
               n, d->signal_to_error_db);
  }
  if (d->signal_to_error_db > 40.0) {
    return say(d, TLG_CAUSE_NOISE, "near, but not exact: signal to error %.1f dB, largest error %d",
               d->signal_to_error_db, (int)d->difference.largest);
  }
  return 0;
}

/* ---- the verdict
 * ----------------------------------------------------------------------------------------------------- */

static int passes(const struct tlg_try *t, const struct tlg_diagnosis *d)
{
  if (t->n_got != t->n_expected || t->odd_bytes) {
    return 0;
  }
  switch (t->tolerance.kind) {
  case TLG_TOLERANCE_LSB:
    return d->difference.largest <= t->tolerance.lsb;
  case TLG_TOLERANCE_DB:
    return d->signal_to_error_db >= t->tolerance.db;
  default:
    return d->difference.n_bad == 0;
  }
}

/* Where what is right for a while goes wrong: state that is lost there is the likely reason. */
static void say_until_when(const struct tlg_try *t, struct tlg_diagnosis *d)
{
  const uint64_t first = d->difference.first;
  const size_t used = strlen(d->text);
  uint64_t up, down;

  if (first >= t->n_expected || !lively(t->expected, (size_t)first)) {
    return;
  }
  ratio(t, &up, &down);
  snprintf(d->text + used, sizeof d->text - used,
           "; right up to output %llu (input %llu): is state lost there, at the border of some buffer?",
           (unsigned long long)first,
           (unsigned long long)((first * down + (t->vector->align ? (t->taps->n - 1) / 2 : 0)) / up));
}

int tlg_diagnose(const struct tlg_try *t, struct tlg_diagnosis *d)
{
  unsigned char *bad;
  struct sums s;
  size_t n, n_bad;

  memset(d, 0, sizeof *d);
  d->gain = 1.0;
  tlg_compare(t->expected, t->n_expected, t->got, t->n_got, &d->difference);
  sum_up(t, 0, &s);
  d->signal_to_error_db = decibels(s.signal, s.error);
  d->pass = passes(t, d);
  if (d->difference.n_bad == 0 && !t->odd_bytes) {
    say(d, TLG_CAUSE_NONE, "exact");
    return TLG_OK;
  }
  if (d->pass) {
    say(d, TLG_CAUSE_NONE, "within tolerance: largest difference %d, signal to error %.1f dB",
        (int)d->difference.largest, d->signal_to_error_db);
    return TLG_OK;
  }
  if (t->odd_bytes && d->difference.n_bad == 0) {
    say(d, TLG_CAUSE_LONG, "right, but %zu bytes come behind that make no sample", t->odd_bytes);
    return TLG_OK;
  }
  bad = bad_map(t, &n, &n_bad);
  if (!bad) {
    return TLG_ENOMEM;
  }
  if (!(find_length(t, d) || find_mistake(t, d) || find_shift(t, d) || find_slip(t, d) || find_start(t, d, bad, n) ||
        find_overflow(t, d) || find_gain(t, d) || find_offset(t, d, &s) || find_tail(t, d, bad, n, n_bad) ||
        find_lane(t, d, bad, n, n_bad) || find_borders(t, d, bad, n, n_bad) || find_period(t, d, bad, n, n_bad) ||
        find_shape(t, d) || find_rounding(d, &s, n, n_bad) || find_near(t, d))) {
    say(d, TLG_CAUSE_UNKNOWN,
        "wrong in a way that fits no known mistake: %zu of %zu outputs differ, signal to error %.1f dB", n_bad, n,
        d->signal_to_error_db);
    say_until_when(t, d);
  }
  if (t->n_got != t->n_expected && d->cause != TLG_CAUSE_SHORT && d->cause != TLG_CAUSE_LONG &&
      d->cause != TLG_CAUSE_SILENT) {
    const size_t used = strlen(d->text);

    snprintf(d->text + used, sizeof d->text - used, "; %zu outputs came, %zu were expected", t->n_got, t->n_expected);
  }
  free(bad);
  return TLG_OK;
}
