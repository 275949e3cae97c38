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
    "it waited for, and how long it was served. Times are in microseconds since the start of the stream.\n";

/* What happened to the packets from first to last. Numbers are copied: the stamps' texts belong to the run. */
struct life {
  struct tlg_sim_stamp *e;
  size_t n, room;
  int failed;
  int alone; /* only what belongs to one packet: it ends before sample `end` */
  uint64_t packet, end;
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
  life->e[life->n++] = *stamp;
}

static void us(FILE *out, uint64_t ps)
{
  fprintf(out, "%" PRIu64 ".%06" PRIu64, ps / 1000000, ps % 1000000);
}

/* Whether it was interrupted while it was served; the other notes say what it waited for. */
static int stalled(const struct tlg_sim_stamp *e)
{
  return e->note && strcmp(e->note, "is stalled") == 0;
}

/* Why something waited at an element, from its name and note. */
static const char *reason(const struct tlg_sim_stamp *e)
{
  if (e->note && !stalled(e) && e->start > e->ready) {
    return e->note;
  }
  if (strcmp(e->element, "link") == 0) {
    return "waits behind earlier packets on the link";
  }
  if (strcmp(e->element, "kernel") == 0) {
    return "waits for the interrupt to be served and for earlier packets of the ring";
  }
  return "waits until the thread is free, awake and not stalled";
}

static void line(FILE *out, const struct tlg_sim_stamp *e, uint64_t packet, uint64_t air)
{
  const int subframe = strcmp(e->element, "subframe") == 0;

  fprintf(out, "%-12s ", e->element);
  us(out, e->ready);
  if (e->dropped) {
    fprintf(out, "  LOST: %s\n", e->note ? e->note : "no room");
    return;
  }
  if (strcmp(e->element, "source") == 0) {
    fprintf(out, "  its first sample (%" PRIu64 ") begins\n%-12s ", e->begin, "");
    us(out, e->finish);
    fprintf(out, "  its last sample (%" PRIu64 ") ends; filling took %.6f us: the first sample waited that long\n",
            e->end - 1, (double)(e->finish - e->ready) * 1e-6);
    return;
  }
  if (subframe) {
    fprintf(out, "  its first input (%" PRIu64 ") begins\n%-12s ", e->begin, "");
    us(out, e->start);
    fprintf(out, "  its last input (%" PRIu64 ") ends\n%-12s ", e->end - 1, "");
    us(out, e->finish);
    fprintf(out, "  the PHY holds all of it: %.6f us after its first sample began\n",
            (double)(e->finish - e->ready) * 1e-6);
    return;
  }
  fputs("  comes", out);
  if (e->note && strcmp(e->note, "has collected a unit") == 0) {
    fprintf(out, " the first part of the unit [%" PRIu64 ", %" PRIu64 ")\n%-12s ", e->begin, e->end, "");
    us(out, e->finish);
    fputs("  its last part comes", out);
    if (e->packet != packet) {
      fprintf(out, ", with packet %" PRIu64, e->packet);
    }
    fprintf(out, ": the unit is complete, after %.6f us\n", (double)(e->finish - e->ready) * 1e-6);
    return;
  }
  fprintf(out, "%s\n", e->start > e->ready ? "" : " and need not wait");
  if (e->start > e->ready) {
    fprintf(out, "%-12s ", "");
    us(out, e->start);
    fprintf(out, "  %s: %.6f us\n", reason(e), (double)(e->start - e->ready) * 1e-6);
  }
  if (e->finish > e->start) {
    fprintf(out, "%-12s ", "");
    us(out, e->finish);
    fprintf(out, "  is done, after %.6f us%s; %.6f us since the air\n", (double)(e->finish - e->start) * 1e-6,
            stalled(e) ? " (stalled on the way)" : "", e->finish > air ? (double)(e->finish - air) * 1e-6 : 0.0);
  }
}

static json_t *stamp_json(const struct tlg_sim_stamp *e)
{
  return json_pack("{s:s,s:I,s:I,s:I,s:I,s:I,s:I,s:b,s:s?}", "element", e->element, "packet", (json_int_t)e->packet,
                   "first_sample", (json_int_t)e->begin, "end_sample", (json_int_t)e->end, "ready_ps",
                   (json_int_t)e->ready, "start_ps", (json_int_t)e->start, "finish_ps", (json_int_t)e->finish, "lost",
                   e->dropped, "note", e->note);
}

/* Whether the life goes to its end: what the packet's last sample is in was lost, or has left the last element. */
static int ends(const struct tlg_sim_scenario *s, const struct life *life)
{
  const struct tlg_sim_thread *th = s->n_threads ? &s->threads[s->n_threads - 1] : NULL;
  const char *last = s->has_hop ? "hop" : th ? th->stages[th->n_stages - 1].name : "source";
  size_t i;

  for (i = 0; i < life->n; i++) {
    const struct tlg_sim_stamp *e = &life->e[i];
    const int collected = e->note && strcmp(e->note, "has collected a unit") == 0;

    if (e->dropped || (e->end >= life->end && strcmp(e->element, last) == 0 && !collected)) {
      return 1;
    }
  }
  return !th && !s->has_hop;
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
      line(stdout, &life->e[i], packet, air);
      if (strcmp(life->e[i].element, "link") == 0 && !life->e[i].dropped && s->link_latency_ps) {
        printf("%-12s ", "");
        us(stdout, life->e[i].finish + s->link_latency_ps);
        printf("  has come through the link, whose latency is %.6f us\n", (double)s->link_latency_ps * 1e-6);
      }
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
  status = model_read(NAME, path, &model_settings, &s);
  if (status) {
    return status;
  }
  seed = seed ? seed : s->seed;
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
    status = print_life(s, &life, subframe, options.subframe != NULL, seed);
    status = cli_finish(NAME, stdout, status);
  }
  free(life.e);
  tlg_sim_free(sim);
  tlg_sim_scenario_free(s);
  return status;
}

int cmd_explain(int argc, const char **argv)
{
  return model_command(NAME, argc, argv, table, description, run);
}
