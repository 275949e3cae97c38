/* SPDX-License-Identifier: Apache-2.0 */
/* taplag explain: the life of one packet, or of one subframe, line by line. */
#include "model.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NAME "explain"

static struct {
  char *packet, *subframe, *seed;
  int json;
} options;

static const struct poptOption table[] = {
    {"packet-no", 0, POPT_ARG_STRING, &options.packet, 0, "which packet, from 0", "N"},
    {"subframe", 0, POPT_ARG_STRING, &options.subframe, 0, "which subframe, from 0", "K"},
    {"seed", 0, POPT_ARG_STRING, &options.seed, 0, "of the run (default: the scenario's)", "N"},
    {"json", 0, POPT_ARG_NONE, &options.json, 0, "results as JSON", NULL},
    MODEL_SET_OPTION,
    POPT_TABLEEND,
};

static const char description[] =
    "Follows one packet, or the packet that closes one subframe, through the scenario: when it came to each element, "
    "what\n"
    "it waited for, part by part (a busy thread, a core that another thread holds, the switch to this one, waking, a\n"
    "stall, ...), and how long it was served. Times are in microseconds since the start of the stream. Where units "
    "are\n"
    "collected, each line says by its samples which unit it is about.\n";

/* What happened to the packets from first to last. Numbers are copied: the stamps' texts belong to the run. */
struct life {
  struct tlg_sim_stamp *e;
  size_t n, room;
  int failed;
  int units; /* what has units in it: its lines say which */
  int alone; /* only what belongs to one packet: it ends before sample `end` */
  uint64_t packet, begin, end;
};

/* Whether it is of the packet's life: of itself, or of the unit that its last sample went into, which a later packet
 * completes. */
static int belongs(const struct life *life, const struct tlg_sim_stamp *e)
{
  return e->packet == life->packet || (life->alone && e->packet > life->packet && e->begin < life->end &&
                                       e->end >= life->end && strcmp(e->element, "subframe") != 0);
}

static void keep(void *arg, const struct tlg_sim_stamp *stamp)
{
  struct life *life = arg;

  if (life->alone && !belongs(life, stamp)) {
    return;
  }
  if (life->n == life->room) {
    const size_t room = life->room ? 2 * life->room : 64;
    struct tlg_sim_stamp *grown = realloc(life->e, room * sizeof *grown);

    if (!grown) {
      life->failed = 1;
      return;
    }
    life->e = grown;
    life->room = room;
  }
  life->e[life->n] = *stamp;
  life->e[life->n].waits = NULL;
  if (stamp->n_waits) { /* they last as long as this call */
    struct tlg_sim_wait *waits = malloc(stamp->n_waits * sizeof *waits);

    if (!waits) {
      life->failed = 1;
      return;
    }
    memcpy(waits, stamp->waits, stamp->n_waits * sizeof *waits);
    life->e[life->n].waits = waits;
  }
  life->n++;
}

static void life_free(struct life *life)
{
  size_t i;

  for (i = 0; i < life->n; i++) {
    free((void *)life->e[i].waits);
  }
  free(life->e);
}

static void us(FILE *out, uint64_t ps)
{
  fprintf(out, "%" PRIu64 ".%06" PRIu64, ps / 1000000, ps % 1000000);
}

static int is(const struct tlg_sim_stamp *e, const char *element)
{
  return strcmp(e->element, element) == 0;
}

static int collected(const struct tlg_sim_stamp *e)
{
  return e->note && strcmp(e->note, "has collected a unit") == 0;
}

/* A line's begin: the element, in a life with units which one it is (blank: the packet as a whole), the instant. */
static void head(FILE *out, const struct life *life, const struct tlg_sim_stamp *e, const char *element, uint64_t at)
{
  fprintf(out, "%-12s ", element);
  if (life->units) {
    char unit[48] = "";

    if (!is(e, "source") && !is(e, "subframe") && (e->begin != life->begin || e->end != life->end)) {
      snprintf(unit, sizeof unit, "[%" PRIu64 ", %" PRIu64 ")", e->begin, e->end);
    }
    fprintf(out, "%-18s ", unit);
  }
  us(out, at);
}

/* ---- what it waited for ------------------------------------------------------------------------------------------ */

/* A part of a wait in words, `times` of them together. */
static void cause_text(const struct tlg_sim_wait *w, const char *element, unsigned times, char *text, size_t size)
{
  char often[32] = "";

  if (times > 1) {
    snprintf(often, sizeof often, ", %u times", times);
  }
  switch (w->cause) {
  case TLG_WAIT_EARLIER:
    if (strcmp(element, "link") == 0) {
      snprintf(text, size, "waits behind earlier packets on the link");
    } else if (strcmp(element, "kernel") == 0) {
      snprintf(text, size, "waits for earlier packets of the ring");
    } else if (strcmp(element, "hop") == 0) {
      snprintf(text, size, "waits behind what was handed over before");
    } else {
      snprintf(text, size, "thread %s busy with what came before%s", w->who, often);
    }
    return;
  case TLG_WAIT_CORE:
    snprintf(text, size, "core %u held by %s%s until %" PRIu64 ".%06" PRIu64, w->core, w->who, often,
             w->until / 1000000, w->until % 1000000);
    return;
  case TLG_WAIT_SWITCH:
    snprintf(text, size, "switch of core %u to %s", w->core, w->who);
    return;
  case TLG_WAIT_WAKE:
    snprintf(text, size, "wake-up of %s", w->who);
    return;
  case TLG_WAIT_LOOP:
    snprintf(text, size, "loop of %s, until it looks again", w->who);
    return;
  case TLG_WAIT_INTERRUPT:
    snprintf(text, size, "waits for the interrupt");
    return;
  case TLG_WAIT_SERVED:
    snprintf(text, size, "the interrupt is served");
    return;
  case TLG_WAIT_STALL:
    snprintf(text, size, "stall of %s", w->who);
    return;
  }
}

/* The cause in a word, for JSON. */
static const char *cause_word(enum tlg_sim_cause cause)
{
  static const char *const words[] = {"busy", "core", "switch", "wake-up", "loop", "interrupt", "served", "stall"};

  return words[cause];
}

enum { PARTS = 8 }; /* with more of them those of one cause and holder are added up */

/* A line for each part; together they are the wait. */
static void waits(FILE *out, const struct life *life, const struct tlg_sim_stamp *e)
{
  uint64_t from = e->ready;
  size_t i, k;
  char text[160];

  for (i = 0; i < e->n_waits; from = e->waits[i++].until) {
    struct tlg_sim_wait w = e->waits[i];
    uint64_t sum = w.until - from;
    unsigned times = 1;

    for (k = 0; e->n_waits > PARTS && k < i && (e->waits[k].cause != w.cause || e->waits[k].who != w.who); k++) {
    }
    if (e->n_waits > PARTS && k < i) {
      continue; /* added to the first one */
    }
    for (k = i + 1; e->n_waits > PARTS && k < e->n_waits; k++) {
      if (e->waits[k].cause == w.cause && e->waits[k].who == w.who) {
        sum += e->waits[k].until - e->waits[k - 1].until;
        w.until = e->waits[k].until;
        times++;
      }
    }
    cause_text(&w, e->element, times, text, sizeof text);
    head(out, life, e, "", w.until);
    fprintf(out, "  %s: %.6f us\n", text, (double)sum * 1e-6);
  }
  if (e->n_waits > 1) {
    head(out, life, e, "", e->start);
    fprintf(out, "  begins, after %.6f us\n", (double)(e->start - e->ready) * 1e-6);
  }
}

/* What went before lets go of it only later than it was done: why. NULL: it does not. */
static const char *held_back(const struct tlg_sim_scenario *s, const struct life *life, size_t at, uint64_t *since)
{
  const struct tlg_sim_stamp *e = &life->e[at];
  size_t i;

  for (i = at; i-- > 0;) {
    const struct tlg_sim_stamp *p = &life->e[i];

    if (p->packet == e->packet && p->begin == e->begin && p->end == e->end && !collected(p) && !collected(e)) {
      *since = p->finish + (is(p, "link") ? s->link_latency_ps : 0);
      if (is(e, "source") || is(e, "subframe") || is(p, "source") || is(p, "subframe") || *since >= e->ready) {
        return NULL;
      }
      return is(e, "nic")                      ? "the ring is full and the link paused"
             : is(p, "kernel") || is(p, "nic") ? "waits for packets before it, in other receive queues"
                                               : "held: the queue of the next thread is full";
    }
  }
  return NULL;
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

static void line(FILE *out, const struct tlg_sim_scenario *s, const struct life *life, size_t at, uint64_t air)
{
  const struct tlg_sim_stamp *e = &life->e[at];
  const char *held;
  uint64_t since = 0;

  head(out, life, e, e->element, e->ready);
  if (e->dropped) {
    fprintf(out, "  LOST: %s\n", e->note ? e->note : "no room");
    return;
  }
  if (s->arrivals == TLG_ARRIVALS_POISSON && is(e, "source")) {
    fprintf(out, "  comes at random, with samples %" PRIu64 " to %" PRIu64 ": no sample clock fills it\n", e->begin,
            e->end - 1);
    return;
  }
  if (s->arrivals == TLG_ARRIVALS_POISSON && is(e, "subframe")) {
    fprintf(out,
            "  the PHY holds all of it (inputs %" PRIu64 " to %" PRIu64 "); packets come at random, so no sample "
            "clock says when it began\n",
            e->begin, e->end - 1);
    return;
  }
  if (is(e, "source")) {
    fprintf(out, "  its first sample (%" PRIu64 ") begins\n", e->begin);
    head(out, life, e, "", e->finish);
    fprintf(out, "  its last sample (%" PRIu64 ") ends; filling took %.6f us: the first sample waited that long\n",
            e->end - 1, (double)(e->finish - e->ready) * 1e-6);
    return;
  }
  if (is(e, "subframe")) {
    fprintf(out, "  its first input (%" PRIu64 ") begins\n", e->begin);
    head(out, life, e, "", e->start);
    fprintf(out, "  its last input (%" PRIu64 ") ends\n", e->end - 1);
    head(out, life, e, "", e->finish);
    fprintf(out, "  the PHY holds all of it: %.6f us after its first sample began\n",
            (double)(e->finish - e->ready) * 1e-6);
    return;
  }
  fputs("  comes", out);
  if (collected(e)) {
    fprintf(out, " the first part of the unit [%" PRIu64 ", %" PRIu64 ")\n", e->begin, e->end);
    head(out, life, e, "", e->finish);
    fputs("  its last part comes", out);
    if (e->packet != life->packet) {
      fprintf(out, ", with packet %" PRIu64, e->packet);
    }
    fprintf(out, ": the unit is complete, after %.6f us\n", (double)(e->finish - e->ready) * 1e-6);
    return;
  }
  held = held_back(s, life, at, &since);
  if (held) {
    fprintf(out, " %.6f us late (%s)", (double)(e->ready - since) * 1e-6, held);
  }
  fprintf(out, "%s\n", e->start > e->ready ? "" : " and need not wait");
  waits(out, life, e);
  if (e->finish > e->start) {
    head(out, life, e, "", e->finish);
    fprintf(out, "  is done, after %.6f us", (double)(e->finish - e->start) * 1e-6);
    if (e->stalled) {
      fprintf(out, ", %.6f us of them in a stall", (double)e->stalled * 1e-6);
    }
    fprintf(out, "; %.6f us since the air\n", e->finish > air ? (double)(e->finish - air) * 1e-6 : 0.0);
  }
  if (is(e, "link") && s->link_latency_ps) {
    head(out, life, e, "", e->finish + s->link_latency_ps);
    fprintf(out, "  has come through the link, whose latency is %.6f us\n", (double)s->link_latency_ps * 1e-6);
  }
}

static json_t *stamp_json(const struct tlg_sim_stamp *e)
{
  json_t *list = json_array();
  uint64_t from = e->ready;
  size_t i;

  for (i = 0; i < e->n_waits; from = e->waits[i++].until) {
    const struct tlg_sim_wait *w = &e->waits[i];

    json_array_append_new(list, json_pack("{s:s,s:s,s:I,s:I,s:I}", "for", cause_word(w->cause), "who", w->who, "core",
                                          (json_int_t)w->core, "until_ps", (json_int_t)w->until, "ps",
                                          (json_int_t)(w->until - from)));
  }
  return json_pack("{s:s,s:I,s:I,s:I,s:I,s:I,s:I,s:o,s:I,s:b,s:s?}", "element", e->element, "packet",
                   (json_int_t)e->packet, "first_sample", (json_int_t)e->begin, "end_sample", (json_int_t)e->end,
                   "ready_ps", (json_int_t)e->ready, "start_ps", (json_int_t)e->start, "finish_ps",
                   (json_int_t)e->finish, "waited", list, "stalled_ps", (json_int_t)e->stalled, "lost", e->dropped,
                   "note", e->note);
}

/* Whether the life goes to its end: what the packet's last sample is in was lost, or has left the last element. */
static int ends(const struct tlg_sim_scenario *s, const struct life *life)
{
  const struct tlg_sim_thread *th = s->n_threads ? &s->threads[s->n_threads - 1] : NULL;
  const char *last = s->has_hop ? "hop" : th ? th->stages[th->n_stages - 1].name : "source";
  size_t i;

  for (i = 0; i < life->n; i++) {
    const struct tlg_sim_stamp *e = &life->e[i];

    if (e->dropped || (e->end >= life->end && strcmp(e->element, last) == 0 && !collected(e))) {
      return 1;
    }
  }
  return !th && !s->has_hop;
}

/* The packet's samples, and whether units are in its life. */
static void life_look(struct life *life)
{
  size_t i;

  for (i = 0; i < life->n; i++) {
    const struct tlg_sim_stamp *e = &life->e[i];

    if (e->packet == life->packet && is(e, "source")) {
      life->begin = e->begin;
      life->end = e->end;
    }
    life->units |= belongs(life, e) && collected(e);
  }
}

static int print_life(const struct tlg_sim_scenario *s, const struct life *life, uint64_t subframe, int has_subframe,
                      uint64_t seed)
{
  const uint64_t packet = life->packet;
  json_t *list = json_array();
  uint64_t air = 0;
  size_t i, closing = 0;

  for (i = 0; i < life->n; i++) {
    if (belongs(life, &life->e[i])) {
      json_array_append_new(list, stamp_json(&life->e[i]));
    }
  }
  if (options.json) {
    json_t *o = json_pack("{s:s,s:I,s:I,s:o}", "scenario", s->name, "seed", (json_int_t)seed, "packet",
                          (json_int_t)packet, "life", list);

    if (has_subframe) {
      json_object_set_new(o, "subframe", json_integer((json_int_t)subframe));
    }
    return cli_print_json(NAME, o, stdout);
  }
  json_decref(list);
  if (has_subframe) {
    printf("Subframe %" PRIu64 " of %s, closed by packet %" PRIu64 " (seed %" PRIu64 "); instants in us\n", subframe,
           s->name, packet, seed);
  } else {
    printf("Packet %" PRIu64 " of %s (seed %" PRIu64 "); instants in us\n", packet, s->name, seed);
  }
  for (i = 0; i < life->n; i++) {
    if (belongs(life, &life->e[i])) {
      if (strcmp(life->e[i].element, "source") == 0) {
        air = life->e[i].finish;
      }
      line(stdout, s, life, i, air);
      closing += strcmp(life->e[i].element, "subframe") == 0;
    }
  }
  if (life->alone && !ends(s, life)) {
    puts("The run ends before the unit with its last sample is complete.");
  }
  if (!closing && !has_subframe && s->has_phy) {
    puts("It closes no subframe.");
  }
  return 0;
}

/* The packet that holds the last input of a subframe. */
static uint64_t closing_packet(const struct tlg_sim_scenario *s, uint64_t k)
{
  const uint64_t output = s->offset + (k + 1) * s->subframe - 1;
  const uint64_t input = (uint64_t)(((unsigned __int128)output * s->down + s->align_q0) / s->up);
  uint64_t cycle = 0, packet, at;
  size_t i;

  for (i = 0; i < s->n_sizes; i++) {
    cycle += s->sizes[i];
  }
  packet = input / cycle * s->n_sizes;
  at = input / cycle * cycle;
  for (i = 0; at + s->sizes[i] <= input; i++) {
    at += s->sizes[i];
    packet++;
  }
  return packet;
}

/* The end of a packet's samples, and how many packets on the last unit may be complete that holds one of them. */
static uint64_t packet_end(const struct tlg_sim_scenario *s, uint64_t packet, uint64_t *ahead)
{
  uint64_t cycle = 0, end, units = 0;
  uint32_t least = UINT32_MAX;
  unsigned t, k;
  size_t i;

  for (i = 0; i < s->n_sizes; i++) {
    cycle += s->sizes[i];
    least = s->sizes[i] < least ? s->sizes[i] : least;
  }
  end = packet / s->n_sizes * cycle;
  for (i = 0; i <= packet % s->n_sizes; i++) {
    end += s->sizes[i];
  }
  for (t = 0; t < s->n_threads; t++) {
    for (k = 0; k < s->threads[t].n_stages; k++) {
      units += s->threads[t].stages[k].unit;
    }
  }
  *ahead = 1 + (units + least - 1) / least;
  return end;
}

static int run(const char *path)
{
  struct tlg_sim_scenario *s = NULL;
  struct life life = {0};
  struct tlg_sim_cfg cfg = {.stamp = keep, .stamp_arg = &life};
  struct tlg_sim *sim = NULL;
  uint64_t seed = 0, packet = 0, subframe = 0, ahead = 1, i;
  int status;

  if (options.packet && options.subframe) {
    return cli_usage(NAME, "only one of --packet-no and --subframe");
  }
  if (!options.packet && !options.subframe) {
    return cli_usage(NAME, "say what to explain: --packet-no N or --subframe K");
  }
  if (cli_count(NAME, "--seed", options.seed, &seed) || cli_count(NAME, "--packet-no", options.packet, &packet) ||
      cli_count(NAME, "--subframe", options.subframe, &subframe)) {
    return CLI_USAGE;
  }
  if (options.seed && !seed) {
    return cli_usage(NAME, "--seed 0: 1 or more");
  }
  status = model_read(NAME, path, &model_settings, &s);
  if (status) {
    return status;
  }
  seed = seed ? seed : s->seed;
  if ((status = model_seeds(NAME, seed, 1)) != 0) {
    tlg_sim_scenario_free(s);
    return status;
  }
  if (options.subframe && !s->has_phy) {
    cli_say(NAME, "%s has no phy section, so no subframes", path);
    tlg_sim_scenario_free(s);
    return CLI_USAGE;
  }
  if (options.subframe && subframe > 1000000000) {
    tlg_sim_scenario_free(s);
    return cli_usage(NAME, "--subframe %s: at most 1000000000", options.subframe);
  }
  if (options.subframe) {
    packet = closing_packet(s, subframe);
    ahead = 100000; /* a unit, or a loss, may leave the closing to a later packet */
  }
  if (packet >= s->n_packets) {
    if (options.subframe) {
      cli_say(NAME,
              "the run ends before subframe %s is complete: packet %" PRIu64 " would close it, and there are %" PRIu64
              " packets; make it longer with --set duration_s=...",
              options.subframe, packet, s->n_packets);
    } else {
      cli_say(NAME, "the run has only %" PRIu64 " packets: make it longer with --set duration_s=...", s->n_packets);
    }
    tlg_sim_scenario_free(s);
    return CLI_USAGE;
  }
  life.packet = packet;
  if (!options.subframe) {
    life.alone = 1;
    life.end = packet_end(s, packet, &ahead);
  }
  /* The run need not go on far beyond it. */
  if (s->n_packets > packet + ahead + 200000) {
    s->n_packets = packet + ahead + 200000;
  }
  cfg.stamp_first = packet;
  cfg.stamp_count = ahead;
  status = model_run(NAME, s, seed, 1, &cfg, 1, &sim);
  if (!status && life.failed) {
    cli_say(NAME, "out of memory");
    status = CLI_SYSTEM;
  }
  if (!status && options.subframe) {
    for (i = 0; i < life.n; i++) {
      if (strcmp(life.e[i].element, "subframe") == 0 &&
          life.e[i].end ==
              (uint64_t)(((unsigned __int128)(s->offset + (subframe + 1) * s->subframe - 1) * s->down + s->align_q0) /
                         s->up) +
                  1) {
        life.packet = life.e[i].packet;
      }
    }
  }
  if (!status) {
    life_look(&life);
    status = print_life(s, &life, subframe, options.subframe != NULL, seed);
    status = cli_finish(NAME, stdout, status);
  }
  life_free(&life);
  tlg_sim_free(sim);
  tlg_sim_scenario_free(s);
  return status;
}

int cmd_explain(int argc, const char **argv)
{
  return model_command(NAME, argc, argv, table, description, run);
}
