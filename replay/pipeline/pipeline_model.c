/* SPDX-License-Identifier: Apache-2.0 */
/* The virtual clock of a scenario: packets wait here until the model has settled what becomes of them, and go on with
 * its instants, or are lost. All of it runs in the receiving thread. */
#include "pipeline.h"

#include <stdlib.h>
#include <string.h>

enum {
  MOST_HELD = 64 << 20, /* samples: 2.7 s at 25 Msps; more pile up only where the scenario's queues grow for ever */
  FIRST_HELD = 1 << 18,
  QUEUED = 1 << 16, /* as far as a trace counts */
};

/* How many are in a queue: of the last ones that came, when each left it. */
struct occupancy {
  uint64_t left[QUEUED];
  uint64_t head, tail;
};

/* The end of the chain has the samples before `end`. */
struct piece {
  uint64_t end, at, packet;
};

struct tlg_pipeline_model {
  struct tlg_sim *sim;
  unsigned char *slots; /* a ring of packets that are not settled */
  size_t slot_bytes, n_slots;
  uint64_t head, tail;
  uint32_t flags;       /* for the next packet that goes on */
  int gave_up;          /* the stages behind take nothing more */
  struct piece *pieces; /* a ring; NULL: the scenario has no units, and packets come whole */
  size_t n_pieces;
  uint64_t piece_head, piece_tail;
  struct occupancy resample, deliver;
};

/* The packets in the queue when one comes to it that leaves later, itself included. */
static uint32_t occupy(struct occupancy *o, uint64_t came, uint64_t leaves)
{
  while (o->head != o->tail && o->left[o->head % QUEUED] <= came) {
    o->head++;
  }
  if (o->tail - o->head == QUEUED) {
    o->head++;
  }
  o->left[o->tail++ % QUEUED] = leaves;
  return (uint32_t)(o->tail - o->head);
}

static struct packet *slot_at(const struct tlg_pipeline_model *m, uint64_t i)
{
  return (struct packet *)(void *)(m->slots + i % m->n_slots * m->slot_bytes);
}

static void count_loss(struct tlg_pipeline *p, const char *place)
{
  struct tlg_pipeline_result *r = &p->result;
  unsigned i;

  for (i = 0; i < r->n_lost; i++) {
    if (strcmp(r->lost[i].place, place) == 0) {
      r->lost[i].packets++;
      return;
    }
  }
  if (i < sizeof r->lost / sizeof *r->lost) {
    strncpy(r->lost[i].place, place, sizeof r->lost[i].place - 1);
    r->lost[i].packets = 1;
    r->n_lost++;
  }
}

static void lose(struct tlg_pipeline *p, const struct packet *held, const struct tlg_sim_fate *fate)
{
  struct tlg_pipeline_model *m = p->model;
  const int behind = fate->lost && fate->lost_behind;

  *(behind ? &p->dropped_resample : &p->dropped_receive) += held->n_in;
  *(behind ? &p->result.accounts.overruns_resample : &p->result.accounts.overruns_receive) += 1;
  atomic_fetch_add_explicit(&p->seen_overruns, 1, memory_order_relaxed);
  count_loss(p, fate->lost ? fate->lost : "asked for");
  m->flags |= (held->flags & TLG_TRACE_AFTER_GAP) | TLG_TRACE_AFTER_DROP;
}

static void reached(void *context, uint64_t end, uint64_t at, uint64_t packet)
{
  struct tlg_pipeline *p = context;
  struct tlg_pipeline_model *m = p->model;

  if (m->piece_tail - m->piece_head == m->n_pieces) {
    struct piece *grown = malloc(2 * m->n_pieces * sizeof *grown);
    uint64_t i;

    if (!grown) {
      p->model_status = TLG_ENOMEM;
      return;
    }
    for (i = m->piece_head; i != m->piece_tail; i++) {
      grown[i - m->piece_head] = m->pieces[i % m->n_pieces];
    }
    free(m->pieces);
    m->pieces = grown;
    m->n_pieces *= 2;
    m->piece_tail -= m->piece_head;
    m->piece_head = 0;
  }
  m->pieces[m->piece_tail++ % m->n_pieces] = (struct piece){end, at, packet};
}

/* n samples of a packet, from its sample `from` on, go on to the resampler. */
static void hand_over(struct tlg_pipeline *p, const struct packet *held, uint32_t from, uint32_t n,
                      enum packet_kind kind, const struct piece *piece)
{
  struct packet *slot = p->model->gave_up ? NULL : tlg_ring_wait_space(p->to_resample);

  if (!slot) {
    p->model->gave_up = 1;
    return;
  }
  *slot = *held;
  slot->kind = kind;
  slot->first_in += from;
  slot->n_in = n;
  slot->n_before = from;
  if (piece) {
    slot->deliver_begin = slot->delivered = piece->at;
    slot->closed_by = piece->packet;
    slot->untimed = 0;
  }
  memcpy(slot->samples, held->samples + from, n * sizeof *slot->samples);
  tlg_ring_publish(p->to_resample);
}

/* The packet goes on: what units brought earlier in parts, then the rest. */
static void hand_parts(struct tlg_pipeline *p, const struct packet *held)
{
  struct tlg_pipeline_model *m = p->model;
  uint32_t from = 0;

  for (; m->piece_head != m->piece_tail; m->piece_head++) {
    const struct piece *piece = &m->pieces[m->piece_head % m->n_pieces];

    if (piece->end >= held->first_in + held->n_in) {
      break;
    }
    if (piece->end > held->first_in + from) {
      const uint32_t n = (uint32_t)(piece->end - held->first_in) - from;

      hand_over(p, held, from, n, PACKET_PART, piece);
      from += n;
    }
  }
  hand_over(p, held, from, held->n_in - from, PACKET_DATA, NULL);
}

/* The model has settled the packet that waits longest. */
static void settled(void *context, const struct tlg_sim_fate *fate)
{
  struct tlg_pipeline *p = context;
  struct tlg_pipeline_model *m = p->model;
  struct packet *held = slot_at(m, m->head++);

  if (m->gave_up) {
    return;
  }
  if (!fate->unfinished && (!fate->lost || fate->lost_behind)) {
    held->depth_resample = occupy(&m->resample, fate->received, fate->resample_begin);
  }
  if (held->dropped || fate->lost) {
    lose(p, held, fate);
    return;
  }
  held->flags |= m->flags;
  m->flags = 0;
  held->air = fate->air;
  held->closed_by = fate->closed_by;
  held->untimed = fate->unfinished;
  if (fate->unfinished) {
    p->result.accounts.packets_unfinished++;
  } else {
    held->received = fate->received;
    held->resample_begin = fate->resample_begin;
    held->resample_end = fate->resample_end;
    held->deliver_begin = fate->deliver_begin;
    held->delivered = fate->delivered;
    held->depth_deliver = occupy(&m->deliver, fate->resample_end, fate->deliver_begin);
    if (held->number >= p->cfg.warmup_packets) {
      tlg_delays_add(p->release, fate->received - fate->air, fate->air);
    }
  }
  hand_parts(p, held);
}

/* Twice the room; 0 if there is none. */
static int grow(struct tlg_pipeline *p)
{
  struct tlg_pipeline_model *m = p->model;
  unsigned char *grown;
  uint64_t i;

  if (m->n_slots * p->max_packet >= MOST_HELD) {
    p->model_status = tlg_error_set(
        &p->model_error, TLG_EFORMAT,
        "the scenario holds back more than %d samples (%.3g s) whose fate later packets decide: threads on "
        "shared cores fall behind; give their queues limits, or cores of their own",
        MOST_HELD, MOST_HELD / tlg_rate_hz(&p->cfg.rate_in));
    return 0;
  }
  grown = malloc(2 * m->n_slots * m->slot_bytes);
  if (!grown) {
    p->model_status = tlg_error_set(&p->model_error, TLG_ENOMEM, "out of memory");
    return 0;
  }
  for (i = m->head; i != m->tail; i++) {
    memcpy(grown + (i - m->head) * m->slot_bytes, slot_at(m, i), m->slot_bytes);
  }
  free(m->slots);
  m->slots = grown;
  m->n_slots *= 2;
  m->tail -= m->head;
  m->head = 0;
  return 1;
}

struct packet *tlg_pipeline_model_slot(struct tlg_pipeline *p)
{
  struct tlg_pipeline_model *m = p->model;

  return m->tail - m->head < m->n_slots || grow(p) ? slot_at(m, m->tail) : NULL;
}

int tlg_pipeline_model_send(struct tlg_pipeline *p)
{
  struct tlg_pipeline_model *m = p->model;
  const struct packet *packet = slot_at(m, m->tail++);
  int status;

  status = tlg_sim_feed(m->sim, packet->first_in, packet->first_in + packet->n_in);
  p->model_status = status ? status : p->model_status;
  if (p->model_status) {
    tlg_error_set(&p->model_error, p->model_status, "the model stopped: %s",
                  p->model_status == TLG_EFORMAT ? "its instants could pass 2^63 ps, 106 days"
                                                 : tlg_status_text(p->model_status));
  }
  return !p->model_status && !m->gave_up;
}

void tlg_pipeline_model_end(struct tlg_pipeline *p)
{
  if (!p->model_status) {
    p->model_status = tlg_sim_feed_end(p->model->sim);
  }
  if (p->model_status) { /* what is held has no fate: the run fails */
    atomic_store(&p->abandon, 1);
    atomic_store(&p->stop, 1);
  }
}

const struct tlg_sim_result *tlg_pipeline_model(const struct tlg_pipeline *p)
{
  return p->model ? tlg_sim_results(p->model->sim) : NULL;
}

int tlg_pipeline_model_check(const struct tlg_pipeline_cfg *cfg, struct tlg_error *err)
{
  const struct tlg_sim_scenario *s = cfg->scenario;

  if (cfg->clock != TLG_CLOCK_VIRTUAL) {
    return tlg_error_set(err, TLG_EINVAL, "a scenario drives the virtual clock, not the real one");
  }
  if (s->rate.num != cfg->rate_in.num || s->rate.den != cfg->rate_in.den ||
      (cfg->speed.num && (cfg->speed.num != 1 || cfg->speed.den != 1))) {
    return tlg_error_set(err, TLG_EINVAL, "the scenario's rate is not that of the samples");
  }
  if (s->has_phy && (s->out_rate.num != cfg->rate_out.num || s->out_rate.den != cfg->rate_out.den)) {
    return tlg_error_set(err, TLG_EINVAL, "the rate of the scenario's PHY is not that of the outputs");
  }
  if (s->arrivals != TLG_ARRIVALS_CLOCK) {
    return tlg_error_set(err, TLG_EFORMAT,
                         "the scenario's packets come at random (arrivals = \"poisson\"), and samples come by their "
                         "clock: set arrivals = \"clock\"");
  }
  return TLG_OK;
}

int tlg_pipeline_model_new(struct tlg_pipeline *p, struct tlg_error *err)
{
  struct tlg_sim_cfg cfg = {.seed = p->cfg.seed, .fate = settled, .fate_arg = p};
  struct tlg_pipeline_model *m = calloc(1, sizeof *m);
  const struct tlg_sim_scenario *s = p->cfg.scenario;
  int status, units = 0;
  unsigned t, k;

  p->model = m;
  if (!m) {
    return TLG_ENOMEM;
  }
  m->slot_bytes = (sizeof(struct packet) + p->max_packet * sizeof(tlg_cs16) + 63) / 64 * 64;
  m->n_slots = FIRST_HELD / p->max_packet + 2;
  m->slots = malloc(m->n_slots * m->slot_bytes);
  for (t = 0; t < s->n_threads; t++) {
    for (k = 0; k < s->threads[t].n_stages; k++) {
      units |= s->threads[t].stages[k].unit > 0;
    }
  }
  if (units) {
    cfg.reached = reached;
    m->n_pieces = 1024;
    m->pieces = malloc(m->n_pieces * sizeof *m->pieces);
  }
  if (!m->slots || (units && !m->pieces)) {
    return TLG_ENOMEM;
  }
  memset(m->slots, 0, m->n_slots * m->slot_bytes);
  status = tlg_sim_new(&m->sim, s, &cfg, err);
  p->cfg.scenario = NULL; /* the caller's; it was copied */
  return status;
}

void tlg_pipeline_model_free(struct tlg_pipeline *p)
{
  if (p->model) {
    tlg_sim_free(p->model->sim);
    free(p->model->slots);
    free(p->model->pieces);
    free(p->model);
  }
}
