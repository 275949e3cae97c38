/* SPDX-License-Identifier: Apache-2.0 */
/* Datagrams to numbered samples: whatever is lost, doubled, reordered, foreign or broken on the way, every sample that
 * is handed on stands at its number, and sent = received + lost. */
#include "stream_help.h"

#include "intake.h"

static const struct tlg_intake_sender here = {1, 5000}, there = {2, 5000};
static char hints[4000];
static uint64_t now_ns;

static void hint(void *unused, const char *text)
{
  (void)unused;
  strncat(hints, text, sizeof hints - strlen(hints) - 2);
  strcat(hints, "\n");
}

static struct tlg_intake *new_intake(unsigned window, enum tlg_intake_form form)
{
  const struct tlg_intake_cfg cfg = {.form = form, .window = window, .slot_bytes = 2048, .hint = hint};
  struct tlg_intake *in;

  hints[0] = '\0';
  now_ns = 1000000000;
  assert_int_equal(tlg_intake_new(&in, &cfg), TLG_OK);
  return in;
}

/* Read what is ready, in pieces of `chunk`. */
static void drain(struct tlg_intake *in, struct heard *h, size_t chunk)
{
  tlg_cs16 x[512];
  uint64_t first;
  size_t n;

  while ((n = tlg_intake_ready(in, &first))) {
    n = n < chunk ? n : chunk;
    tlg_intake_read(in, x, n);
    hear(h, x, n, first);
  }
}

static void put_from(struct tlg_intake *in, struct heard *h, const struct datagram *d,
                     const struct tlg_intake_sender *from)
{
  uint8_t *bytes = malloc(d->n ? d->n : 1); /* of the exact size, for the sanitizers */

  memcpy(bytes, d->bytes, d->n);
  now_ns += 10000;
  tlg_intake_put(in, bytes, d->n, from, now_ns);
  drain(in, h, 512);
  free(bytes);
}

static void put(struct tlg_intake *in, struct heard *h, const struct datagram *d)
{
  put_from(in, h, d, &here);
}

static uint64_t count(const struct tlg_intake *in, enum tlg_live_count which)
{
  return tlg_intake_counts(in)[which];
}

/* Packet number k of a stream of uneven packets, with a stretch that the sender left out itself. */
static void make(struct datagram *d, int vita49, uint64_t k)
{
  const uint64_t pair = k / 2, left_out = !vita49 && k >= 100 ? 1000 : 0;
  const uint64_t first = pair * 448 + (k % 2 ? 348 : 0) + left_out;
  const size_t n = k % 2 ? 100 : 348;

  if (vita49) {
    vita49_datagram(d, 7, (unsigned)k, first, n);
  } else {
    own_datagram(d, 7, k, first, n, left_out);
  }
}

static void in_order(void **unused)
{
  int form;

  (void)unused;
  for (form = 0; form < 2; form++) {
    struct tlg_intake *in = new_intake(32, TLG_INTAKE_ANY);
    struct heard h = {0};
    struct datagram d;
    uint64_t k;

    if (form) {
      vita49_context(&d, 7, 0, 0, 1);
      put(in, &h, &d);
    }
    for (k = 0; k < 300; k++) {
      make(&d, form, k);
      put(in, &h, &d);
      assert_int_equal(h.end, d.first + d.samples); /* at once: nothing is held that is in its place */
    }
    assert_int_equal(h.missing, form ? 0 : 1000);
    assert_int_equal(count(in, TLG_LIVE_PACKETS), 300);
    assert_int_equal(count(in, TLG_LIVE_SAMPLES), 150 * 448);
    assert_int_equal(count(in, TLG_LIVE_LOST_PACKETS), 0);
    assert_int_equal(count(in, TLG_LIVE_LOST_SAMPLES), 0); /* what the sender left out is not lost */
    assert_int_equal(count(in, TLG_LIVE_LOSSES), 0);
    assert_int_equal(count(in, TLG_LIVE_DUPLICATES) + count(in, TLG_LIVE_FOREIGN) + count(in, TLG_LIVE_MALFORMED), 0);
    assert_false(tlg_intake_ended(in));
    if (form) {
      vita49_context(&d, 7, 1, 150 * 448, 0);
      put(in, &h, &d);
      assert_false(tlg_intake_ended(in));
      tlg_intake_tick(in, now_ns + 199000000);
      drain(in, &h, 512);
      assert_false(tlg_intake_ended(in));
      tlg_intake_tick(in, now_ns + 201000000);
    } else {
      own_datagram(&d, 7, 300, 150 * 448 + 1000, 0, 1000);
      put(in, &h, &d);
    }
    drain(in, &h, 512);
    assert_true(tlg_intake_ended(in));
    assert_int_equal(tlg_intake_end(in), h.end);
    tlg_intake_free(in);
  }
}

/* Every way of losing, doubling and shuffling, many times over, in both forms and with several windows. */
static void shuffled(void **unused)
{
  enum { N = 400 };
  static const unsigned windows[] = {0, 1, 4, 32, 64};
  static struct datagram all[N];
  uint32_t seed = 1;
  int trial;

  (void)unused;
  for (trial = 0; trial < 400; trial++) {
    const int vita49 = trial % 2;
    const unsigned window = windows[trial / 2 % 5];
    const unsigned reach = vita49 ? (window < 7 ? window : 7) : window; /* of the shuffling: all within the window */
    struct tlg_intake *in = new_intake(window, TLG_INTAKE_ANY);
    uint64_t k, sent_packets = 0, sent_samples = 0, dropped = 0, dropped_samples = 0, doubled = 0, foreign = 0, cut = 0;
    uint64_t order[2 * N], n_order = 0, i;
    struct heard h = {0};
    struct datagram d;

    for (k = 0; k < N; k++) {
      make(&all[k], vita49, k);
      seed = seed * 1664525 + 1013904223;
      sent_packets++;
      sent_samples += all[k].samples;
      /* The first and the last few are kept, as what lies outside of them is nobody's loss; runs of up to 12 are lost.
       */
      if (k > 0 && k < N - 8 && (seed >> 16) % 8 == 0) {
        dropped++;
        dropped_samples += all[k].samples;
        continue;
      }
      order[n_order++] = k;
      if ((seed >> 20) % 16 == 0) {
        order[n_order++] = k;
        doubled++;
      }
    }
    /* Shuffle by bubbling single packets forward past at most `reach` - 1 numbers. */
    for (i = 8; i + 8 < n_order && reach > 1; i += 1 + seed % 5) {
      const uint64_t moved = order[i];
      uint64_t at = i;

      seed = seed * 1664525 + 1013904223;
      if (order[i - 1] == moved) { /* one of two copies: moved apart they would still be two */
        continue;
      }
      while (at + 1 < n_order - 8 && at - i < seed % 6 && order[at + 1] < moved + reach - 1 && order[at + 1] > moved) {
        order[at] = order[at + 1];
        at++;
      }
      order[at] = moved;
      i = at;
    }
    if (vita49) {
      vita49_context(&d, 7, 0, 0, 1);
      put(in, &h, &d);
    }
    for (i = 0; i < n_order; i++) {
      put(in, &h, &all[order[i]]);
      seed = seed * 1664525 + 1013904223;
      if (i > 0 && (seed >> 16) % 10 == 0) {
        d = all[order[i]];
        switch ((seed >> 24) % 5) {
        case 0: /* another stream, while this one is alive */
          vita49 ? vita49_datagram(&d, 8, 0, 0, 5) : own_datagram(&d, 8, 0, 0, 5, 0);
          foreign++;
          break;
        case 1: /* another sender of the same stream is only told by its address in VITA-49 */
          d.bytes[0] = 0xff;
          foreign++;
          break;
        case 2: /* noise */
          memset(d.bytes, (int)(seed >> 8 & 0xff) | 0x80, d.n);
          foreign++;
          break;
        case 3: /* cut */
          d.n -= 4;
          cut++;
          break;
        default: /* empty */
          d.n = 0;
          foreign++;
        }
        put(in, &h, &d);
      }
    }
    tlg_intake_flush(in);
    drain(in, &h, 100);
    assert_int_equal(count(in, TLG_LIVE_DUPLICATES), doubled);
    assert_int_equal(count(in, TLG_LIVE_REORDERED), 0);
    assert_int_equal(count(in, TLG_LIVE_FOREIGN), foreign);
    assert_int_equal(count(in, TLG_LIVE_MALFORMED), cut);
    assert_int_equal(count(in, TLG_LIVE_PACKETS), sent_packets - dropped);
    assert_int_equal(count(in, TLG_LIVE_LOST_PACKETS), dropped);
    assert_int_equal(count(in, TLG_LIVE_SAMPLES), sent_samples - dropped_samples);
    assert_int_equal(count(in, TLG_LIVE_LOST_SAMPLES), dropped_samples);
    assert_int_equal(h.samples, sent_samples - dropped_samples);
    assert_int_equal(h.missing, dropped_samples + (vita49 ? 0 : 1000));
    assert_int_equal(count(in, TLG_LIVE_RESTARTS), 0);
    tlg_intake_free(in);
  }
}

/* Later than the window allows: dropped, and counted as lost too. */
static void too_late(void **unused)
{
  struct tlg_intake *in = new_intake(4, TLG_INTAKE_OWN);
  struct heard h = {0};
  struct datagram d;
  uint64_t k;

  (void)unused;
  for (k = 0; k < 20; k++) {
    if (k != 10) {
      make(&d, 0, k);
      put(in, &h, &d);
    }
  }
  make(&d, 0, 10);
  put(in, &h, &d);
  put(in, &h, &d);
  assert_int_equal(count(in, TLG_LIVE_REORDERED), 1);
  assert_int_equal(count(in, TLG_LIVE_DUPLICATES), 1);
  assert_int_equal(count(in, TLG_LIVE_PACKETS), 19);
  assert_int_equal(count(in, TLG_LIVE_LOST_PACKETS), 1);
  assert_int_equal(count(in, TLG_LIVE_LOST_SAMPLES), 348);
  assert_int_equal(count(in, TLG_LIVE_LOSSES), 1);
  assert_int_equal(h.gaps, 1);
  tlg_intake_free(in);
}

/* A loss is known as soon as the window has passed, and not before; a flush ends the waiting. */
static void waiting(void **unused)
{
  struct tlg_intake *in = new_intake(4, TLG_INTAKE_OWN);
  struct heard h = {0};
  struct datagram d;
  uint64_t k;

  (void)unused;
  make(&d, 0, 0);
  put(in, &h, &d);
  for (k = 2; k < 5; k++) {
    make(&d, 0, k);
    put(in, &h, &d);
    assert_int_equal(h.samples, 348);
    assert_true(tlg_intake_holds(in));
  }
  make(&d, 0, 5); /* packets 1 to 4 are all that a window of 4 waits for */
  put(in, &h, &d);
  assert_int_equal(h.end, 2 * 448 + 348 + 100);
  assert_int_equal(h.missing, 100);
  make(&d, 0, 7);
  put(in, &h, &d);
  assert_true(tlg_intake_holds(in));
  tlg_intake_flush(in);
  drain(in, &h, 7);
  assert_false(tlg_intake_holds(in));
  assert_int_equal(h.end, 3 * 448 + 448);
  assert_int_equal(count(in, TLG_LIVE_LOST_PACKETS), 2);
  assert_int_equal(count(in, TLG_LIVE_LOSSES), 2);
  tlg_intake_free(in);
}

/* Lost at the very start and at the very end: known by the numbers and the end's. */
static void both_ends(void **unused)
{
  struct tlg_intake *in = new_intake(32, TLG_INTAKE_OWN);
  struct heard h = {0};
  struct datagram d;

  (void)unused;
  make(&d, 0, 3);
  put(in, &h, &d);
  make(&d, 0, 2);
  put(in, &h, &d);
  assert_int_equal(h.samples, 0);
  own_datagram(&d, 7, 6, 3 * 448, 0, 0);
  put(in, &h, &d);
  put(in, &h, &d);
  tlg_intake_flush(in);
  drain(in, &h, 512);
  assert_true(tlg_intake_ended(in));
  assert_int_equal(tlg_intake_end(in), 3 * 448);
  assert_int_equal(h.samples, 448);
  assert_int_equal(count(in, TLG_LIVE_LOST_PACKETS), 4);
  assert_int_equal(count(in, TLG_LIVE_LOST_SAMPLES), 2 * 448);
  assert_int_equal(count(in, TLG_LIVE_PACKETS), 2);
  tlg_intake_free(in);
  /* VITA-49: the time of the context packet that calls the data invalid tells what was lost before it. */
  in = new_intake(32, TLG_INTAKE_VITA49);
  memset(&h, 0, sizeof h);
  vita49_context(&d, 7, 0, 0, 1);
  put(in, &h, &d);
  {
    uint64_t k;

    for (k = 0; k < 20; k++) {
      make(&d, 1, k);
      put(in, &h, &d);
    }
  }
  vita49_context(&d, 7, 1, 12 * 448, 0);
  put(in, &h, &d);
  tlg_intake_tick(in, now_ns + 300000000);
  drain(in, &h, 512);
  assert_true(tlg_intake_ended(in));
  assert_int_equal(tlg_intake_end(in), 12 * 448);
  assert_int_equal(count(in, TLG_LIVE_LOST_SAMPLES), 2 * 448);
  tlg_intake_free(in);
}

/* Joined on its way: numbers count from the first packet; a time of day follows it. */
static void joined(void **unused)
{
  struct tlg_intake *in = new_intake(32, TLG_INTAKE_OWN);
  struct heard h = {.offset = 1000000};
  struct tlg_intake_stream stream;
  struct datagram d;

  (void)unused;
  own_datagram(&d, 7, 5000, 1000000, 300, 0);
  tlg_wire_put_le64(d.bytes + 64, 1700000000999999000u); /* 1 us before a full second */
  put(in, &h, &d);
  assert_int_equal(h.samples, 300);
  assert_int_equal(count(in, TLG_LIVE_LOST_PACKETS), 0);
  tlg_intake_get(in, &stream);
  assert_int_equal(stream.joined, 1000000);
  assert_true(stream.has_time);
  assert_int_equal(stream.seconds, 1700000001); /* + 40 ms */
  assert_int_equal(stream.picoseconds, 39999000000);
  assert_non_null(strstr(hints, "joined"));
  tlg_intake_free(in);
}

/* The sender dies and comes back: foreign while the old one may still live, then a restart whose numbers go on. */
static void restart(void **unused)
{
  struct tlg_intake *in = new_intake(32, TLG_INTAKE_OWN);
  struct heard h = {0};
  struct datagram d;
  uint64_t k;

  (void)unused;
  for (k = 0; k < 10; k++) {
    make(&d, 0, k);
    put(in, &h, &d);
  }
  own_datagram(&d, 99, 0, 0, 200, 0);
  put(in, &h, &d);
  assert_int_equal(count(in, TLG_LIVE_FOREIGN), 1);
  now_ns += 251000000;
  put(in, &h, &(struct datagram){.n = 0}); /* noise does not revive it */
  {
    struct datagram e;

    own_datagram(&e, 100, 0, 5 * 448, 0, 0); /* an end of another stream ends nothing */
    e.n = TLG_OWN_BYTES;
    put(in, &h, &e);
    assert_false(tlg_intake_ended(in));
  }
  for (k = 0; k < 3; k++) {
    tlg_cs16 x[512];
    uint64_t first;

    own_datagram(&d, 99, k, k * 200, 200, 0);
    tlg_intake_put(in, d.bytes, d.n, &there, now_ns);
    assert_int_equal(tlg_intake_ready(in, &first), 200);
    assert_int_equal(first, 5 * 448 + k * 200);
    tlg_intake_read(in, x, 200);
    assert_memory_equal(x, (fill_samples(x + 256, k * 200, 200), x + 256), 200 * sizeof *x);
  }
  assert_int_equal(count(in, TLG_LIVE_RESTARTS), 1);
  assert_int_equal(count(in, TLG_LIVE_LOST_SAMPLES), 0);
  assert_int_equal(count(in, TLG_LIVE_SAMPLES), 5 * 448 + 600);
  assert_non_null(strstr(hints, "began anew"));
  /* At another rate it cannot be followed. */
  own_datagram(&d, 101, 0, 0, 200, 0);
  tlg_wire_put_le64(d.bytes + 48, 30720000);
  now_ns += 300000000;
  put(in, &h, &d);
  {
    struct tlg_error err;

    assert_int_equal(tlg_intake_status(in, &err), TLG_EFORMAT);
    assert_non_null(strstr(err.text, "rate"));
  }
  tlg_intake_free(in);
}

/* Numbers that cannot be: a leap of hours, samples claimed twice, another rate in mid-stream. */
static void hostile(void **unused)
{
  struct tlg_intake *in = new_intake(32, TLG_INTAKE_OWN);
  struct heard h = {0};
  struct datagram d;
  uint64_t k;

  (void)unused;
  make(&d, 0, 0);
  put(in, &h, &d);
  own_datagram(&d, 7, (uint64_t)1 << 61, 348, 100, 0);
  put(in, &h, &d);
  own_datagram(&d, 7, 1, (uint64_t)1 << 61, 100, 0);
  put(in, &h, &d);
  own_datagram(&d, 7, 1, 348, 100, 0);
  tlg_wire_put_le64(d.bytes + 48, 1);
  put(in, &h, &d);
  assert_int_equal(count(in, TLG_LIVE_MALFORMED), 3);
  own_datagram(&d, 7, 1, 300, 100, 0); /* in its turn, but some of its samples are already there */
  put(in, &h, &d);
  assert_int_equal(count(in, TLG_LIVE_MALFORMED), 4);
  own_datagram(&d, 7, 2, 448, 348, 0);
  put(in, &h, &d);
  assert_int_equal(h.end, 448 + 348);
  assert_int_equal(h.missing, 100);
  /* Far ahead, again and again: memory does not grow, and what is asked for is only a gap. */
  for (k = 0; k < 1000; k++) {
    own_datagram(&d, 7, 1000 + k * 1000000, 1000 + k * 400000000, 100, 0);
    put(in, &h, &d);
  }
  tlg_intake_flush(in);
  drain(in, &h, 512);
  assert_int_equal(count(in, TLG_LIVE_PACKETS), 1002);
  assert_int_equal(count(in, TLG_LIVE_SAMPLES) + h.missing, h.end);
  tlg_intake_free(in);
}

/* Where a rate is needed, packets that tell none begin nothing, and the next good one does. */
static void rateless(void **unused)
{
  const struct tlg_intake_cfg cfg = {
      .form = TLG_INTAKE_OWN, .window = 32, .slot_bytes = 2048, .hint = hint, .needs_rate = 1};
  struct tlg_intake *in = new_intake(32, TLG_INTAKE_OWN);
  struct heard h = {0};
  struct datagram d;

  (void)unused;
  tlg_intake_free(in);
  assert_int_equal(tlg_intake_new(&in, &cfg), TLG_OK);
  own_datagram(&d, 9, 0, 0, 100, 0);
  tlg_wire_put_le64(d.bytes + 48, 0);
  tlg_wire_put_le64(d.bytes + 56, 0);
  put(in, &h, &d);
  assert_false(tlg_intake_begun(in));
  assert_non_null(strstr(hints, "--rate"));
  tlg_wire_put_le64(d.bytes + 48, UINT64_C(1) << 63);
  tlg_wire_put_le64(d.bytes + 56, 1);
  put(in, &h, &d);
  assert_false(tlg_intake_begun(in));
  assert_int_equal(count(in, TLG_LIVE_MALFORMED), 2);
  own_datagram(&d, 7, 0, 0, 100, 0);
  put(in, &h, &d);
  assert_true(tlg_intake_begun(in));
  assert_int_equal(tlg_intake_status(in, NULL), TLG_OK);
  assert_int_equal(h.samples, 100);
  tlg_intake_free(in);
}

/* A VITA-49 context packet whose rate cannot be one tells nothing, and is counted. */
static void impossible_context(void **unused)
{
  static const struct tlg_rate rates[] = {{UINT64_C(20000000000), 1}, {1, 2}};
  const struct tlg_vita49_stamp stamp = {.stream = 7, .seconds = 1700000000};
  struct tlg_intake *in = new_intake(32, TLG_INTAKE_VITA49);
  struct heard h = {0};
  struct datagram d;
  size_t i;

  (void)unused;
  for (i = 0; i < 2; i++) {
    tlg_vita49_encode_context(d.bytes, &stamp, &rates[i], NAN, 16, 1, 1);
    d.n = TLG_VITA49_CONTEXT_BYTES;
    put(in, &h, &d);
    assert_int_equal(count(in, TLG_LIVE_MALFORMED), i + 1);
  }
  vita49_datagram(&d, 7, 0, 0, 100);
  put(in, &h, &d);
  assert_false(tlg_intake_begun(in)); /* its rate is not known yet */
  tlg_vita49_encode_context(d.bytes, &stamp, &stream_rate, NAN, 16, 1, 1);
  d.n = TLG_VITA49_CONTEXT_BYTES;
  put(in, &h, &d);
  vita49_datagram(&d, 7, 1, 100, 100);
  h.offset = 100;
  put(in, &h, &d);
  assert_true(tlg_intake_begun(in));
  tlg_intake_free(in);
}

/* VITA-49 beyond DIFI: no time stamps, 13 packets lost of 16, leaps of time, context that comes late or never. */
static void vita49_odd(void **unused)
{
  struct tlg_intake_cfg cfg = {.form = TLG_INTAKE_VITA49, .window = 8, .slot_bytes = 2048, .rate = stream_rate};
  struct tlg_intake *in = new_intake(8, TLG_INTAKE_VITA49);
  struct heard h = {.offset = 3 * 100};
  struct datagram d;
  uint64_t k, first;
  tlg_cs16 x[512];

  (void)unused;
  for (k = 0; k < 3; k++) { /* before the context nothing tells the rate */
    vita49_datagram(&d, 7, (unsigned)k, k * 100, 100);
    put(in, &h, &d);
  }
  assert_int_equal(tlg_intake_early(in), 3);
  assert_false(tlg_intake_begun(in));
  vita49_context(&d, 8, 0, 300, 1); /* of another stream */
  put(in, &h, &d);
  vita49_context(&d, 7, 0, 300, 1);
  put(in, &h, &d);
  for (k = 3; k < 20; k++) {
    vita49_datagram(&d, 7, (unsigned)k, k * 100, 100);
    put(in, &h, &d);
  }
  assert_int_equal(h.samples, 1700);
  /* 1000 packets lost: the four bits alone would say 8. */
  vita49_datagram(&d, 7, 1020, 102000, 100);
  put(in, &h, &d);
  assert_true(tlg_intake_holds(in)); /* the last ones before it might still come */
  tlg_intake_flush(in);
  drain(in, &h, 512);
  assert_int_equal(count(in, TLG_LIVE_LOST_PACKETS), 1000);
  assert_int_equal(count(in, TLG_LIVE_LOST_SAMPLES), 100000);
  /* A stretch left out without a packet missing. */
  vita49_datagram(&d, 7, 1021, 102100 + 37, 100);
  put(in, &h, &d);
  assert_int_equal(count(in, TLG_LIVE_LOST_PACKETS), 1000);
  assert_int_equal(count(in, TLG_LIVE_LOST_SAMPLES), 100037);
  /* Time goes back by more than a second: it began anew. */
  vita49_datagram(&d, 7, 1022, 102237, 100);
  tlg_wire_put_be32(d.bytes + 16, 1500000000);
  tlg_intake_put(in, d.bytes, d.n, &here, now_ns);
  assert_int_equal(tlg_intake_ready(in, &first), 100);
  assert_int_equal(first, h.end);
  tlg_intake_read(in, x, 100);
  assert_int_equal(count(in, TLG_LIVE_RESTARTS), 1);
  assert_int_equal(count(in, TLG_LIVE_LOST_SAMPLES), 100037);
  tlg_intake_free(in);

  /* Without stamps the count is all there is. */
  assert_int_equal(tlg_intake_new(&in, &cfg), TLG_OK);
  memset(&h, 0, sizeof h);
  for (k = 0; k < 100; k++) {
    vita49_datagram(&d, 7, (unsigned)k, k * 100, 100);
    tlg_wire_put_be32(d.bytes, (tlg_wire_be32(d.bytes) & ~0x00f0ffffu) | (uint32_t)((d.n - 12) / 4));
    memmove(d.bytes + 16, d.bytes + 28, d.n - 28);
    d.n -= 12;
    if (k % 20 < 15) {
      put(in, &h, &d);
    }
  }
  assert_int_equal(count(in, TLG_LIVE_LOST_PACKETS), 4 * 5);
  assert_int_equal(count(in, TLG_LIVE_LOST_SAMPLES), 4 * 500);
  assert_int_equal(h.samples, 7500);
  tlg_intake_free(in);

  /* Stamps by a clock that jitters, taken when the packet was sent: no gaps where no packet is missing. */
  cfg.rate = (struct tlg_rate){0, 0};
  assert_int_equal(tlg_intake_new(&in, &cfg), TLG_OK);
  memset(&h, 0, sizeof h);
  vita49_context(&d, 7, 0, 0, 1);
  put(in, &h, &d);
  for (k = 0; k < 200; k++) {
    vita49_datagram(&d, 7, (unsigned)k, k * 100, 100);
    tlg_wire_put_be64(d.bytes + 20, tlg_wire_be64(d.bytes + 20) + k * 7919 % 23 * 40000);
    if (k % 50 != 30) {
      put(in, &h, &d);
    }
  }
  assert_int_equal(count(in, TLG_LIVE_LOST_PACKETS), 4);
  assert_int_equal(count(in, TLG_LIVE_LOST_SAMPLES), 400);
  assert_int_equal(h.samples, 19600);
  assert_int_equal(count(in, TLG_LIVE_MALFORMED), 0);
  tlg_intake_free(in);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(in_order),
      cmocka_unit_test(shuffled),
      cmocka_unit_test(too_late),
      cmocka_unit_test(waiting),
      cmocka_unit_test(both_ends),
      cmocka_unit_test(joined),
      cmocka_unit_test(restart),
      cmocka_unit_test(hostile),
      cmocka_unit_test(vita49_odd),
      cmocka_unit_test(rateless),
      cmocka_unit_test(impossible_context),
  };

  return cmocka_run_group_tests_name("intake", tests, NULL, NULL);
}
