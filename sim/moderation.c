/* SPDX-License-Identifier: Apache-2.0 */
/* Interrupt moderation: three timers (free tick, one-shot, least gap) and the drivers' rules that steer the gap. */
#include "moderation.h"

#include <string.h>

static const uint64_t us = 1000000;

enum { DIM_STEPS = 5, DIM_EVENTS = 64 };
enum { DIM_RIGHT, DIM_LEFT, DIM_PARKED, DIM_PARKED_TIRED };
static const uint64_t dim_us[DIM_STEPS] = {1, 8, 64, 128, 256}; /* the profile of event-queue moderation */

void tlg_moderation_init(struct moderation *m, const struct tlg_sim_scenario *s)
{
  memset(m, 0, sizeof *m);
  m->kind = s->moderation;
  m->period_ps = s->moderation_ps;
  m->phase_ps = s->moderation_phase_ps;
  m->link_bps = s->link_bps;
  m->other_every_ps = s->other_every_ps;
  m->other_bytes = s->other_bytes;
  switch (m->kind) {
  case TLG_MODERATION_IGB:
    m->period_ps = 648 * us / 4; /* the driver's own start */
    break;
  case TLG_MODERATION_IGB_SINGLE:
    m->state = 1;
    m->period_ps = 196 * us / 4;
    break;
  case TLG_MODERATION_IXGBE:
    m->period_ps = 10 * us;
    break;
  case TLG_MODERATION_DIM:
    m->dim.step = 1;
    m->period_ps = dim_us[1] * us;
    break;
  default:
    break;
  }
}

/* igb, several vectors: a quarter of a microsecond for each 2 (or, between 300 and 1200, 3) bytes of the mean frame
 * with its 24 bytes of wire overhead; conservative mode stays at or above 49 us. Only at 1 Gbit/s; else 4000 a second.
 */
static uint64_t igb_gap(const struct moderation *m, uint64_t packets, uint64_t bytes)
{
  uint64_t size, quarters;

  if (m->link_bps != 1000000000u) {
    return 980 * us / 4;
  }
  size = bytes / packets + 24;
  if (size > 3000) {
    size = 3000;
  }
  quarters = size > 300 && size < 1200 ? size / 3 : size / 2;
  if (quarters < 196) {
    quarters = 196;
  }
  return quarters * us / 4;
}

/* igb with one vector: three classes by packets and bytes of the last interval; conservative mode has no lowest class.
 */
static uint64_t igb_single_gap(struct moderation *m, uint64_t packets, uint64_t bytes)
{
  const uint64_t size = bytes / packets;

  switch (m->state) {
  case 0:
    if (size > 8000) {
      m->state = 2;
    } else if (packets < 5 && bytes > 512) {
      m->state = 1;
    }
    break;
  case 1:
    if (bytes > 10000) {
      if (size > 8000 || packets < 10 || size > 1200) {
        m->state = 2;
      } else if (packets > 35) {
        m->state = 0;
      }
    } else if (size > 2000) {
      m->state = 2;
    } else if (packets <= 2 && bytes < 512) {
      m->state = 0;
    }
    break;
  default:
    if (bytes > 25000 ? packets > 35 : bytes < 1500) {
      m->state = 1;
    }
    break;
  }
  return (m->state == 2 ? 980 : 196) * us / 4;
}

static uint64_t ixgbe_by_size(const struct moderation *m, uint64_t size, int latency)
{
  uint64_t weight, steps;

  if (size <= 60) {
    weight = 5120;
  } else if (size <= 316) {
    weight = size * 40 + 2720;
  } else if (size <= 1084) {
    weight = size * 15 + 11452;
  } else if (size < 1968) {
    weight = size * 5 + 22420;
  } else {
    weight = 32256;
  }
  if (latency) {
    weight /= 2;
  }
  if (m->link_bps && m->link_bps < 10000000000u) {
    weight = weight > 8064 ? 8064 : weight;
    steps = (weight + 127) / 128;
  } else {
    steps = (weight + 511) / 512;
  }
  return steps * 2 * us;
}

/* ixgbe: few packets and bytes: by size; up to 47 packets a step up; 48 to 95 right; up to 255 halve; more: by size. */
static uint64_t ixgbe_gap(const struct moderation *m, uint64_t packets, uint64_t bytes)
{
  uint64_t gap = m->period_ps;

  if (packets < 4 && bytes < 9000) {
    return ixgbe_by_size(m, bytes / packets, 1);
  }
  if (packets < 48) {
    gap += 2 * us;
    return gap > 126 * us ? 126 * us : gap;
  }
  if (packets < 96) {
    return gap;
  }
  if (packets < 256) {
    gap = gap / 2 / us * us;
    return gap < 10 * us ? 10 * us : gap;
  }
  return ixgbe_by_size(m, bytes / packets, 0);
}

static int differs(uint64_t now, uint64_t before)
{
  return 100 * (now > before ? now - before : before - now) > 10 * before;
}

/* 1 better, -1 worse, 0 alike: more bytes, else more packets, else fewer events. */
static int dim_compare(const struct moderation *m, uint64_t bytes, uint64_t packets, uint64_t events)
{
  if (!m->dim.byte_rate) {
    return bytes ? 1 : 0;
  }
  if (differs(bytes, m->dim.byte_rate)) {
    return bytes > m->dim.byte_rate ? 1 : -1;
  }
  if (!m->dim.packet_rate) {
    return packets ? 1 : 0;
  }
  if (differs(packets, m->dim.packet_rate)) {
    return packets > m->dim.packet_rate ? 1 : -1;
  }
  if (m->dim.event_rate && differs(events, m->dim.event_rate)) {
    return events < m->dim.event_rate ? 1 : -1;
  }
  return 0;
}

static void dim_park(struct moderation *m, unsigned how)
{
  m->dim.left = m->dim.right = 0;
  if (how == DIM_PARKED) {
    m->dim.tired = 0;
  }
  m->state = how;
}

static void dim_step(struct moderation *m)
{
  if (m->dim.tired == 2 * DIM_STEPS) {
    dim_park(m, DIM_PARKED_TIRED);
  } else if (m->state == DIM_RIGHT) {
    if (m->dim.step == DIM_STEPS - 1) {
      dim_park(m, DIM_PARKED);
      return;
    }
    m->dim.step++;
    m->dim.right++;
    m->dim.tired++;
  } else {
    if (m->dim.step == 0) {
      dim_park(m, DIM_PARKED);
      return;
    }
    m->dim.step--;
    m->dim.left++;
    m->dim.tired++;
  }
}

static void dim_unpark(struct moderation *m)
{
  m->state = m->dim.step ? DIM_LEFT : DIM_RIGHT;
  dim_step(m);
}

static void dim_decide(struct moderation *m, uint64_t bytes, uint64_t packets, uint64_t events)
{
  const unsigned before = m->state;
  int verdict;

  if (before == DIM_PARKED_TIRED) {
    if (m->dim.tired) {
      m->dim.tired--;
    }
    if (!m->dim.tired) {
      dim_unpark(m);
    }
  } else {
    verdict = dim_compare(m, bytes, packets, events);
    if (before == DIM_PARKED) {
      if (verdict != 0) {
        dim_unpark(m);
      }
    } else {
      if (verdict != 1) { /* the last step did not help: turn */
        m->state = before == DIM_RIGHT ? DIM_LEFT : DIM_RIGHT;
        if (m->state == DIM_LEFT) {
          m->dim.left = 0;
        } else {
          m->dim.right = 0;
        }
      }
      if (m->state == DIM_RIGHT ? m->dim.left > 1 && m->dim.right == 1 : m->dim.right > 1 && m->dim.left == 1) {
        dim_park(m, DIM_PARKED);
      } else {
        dim_step(m);
      }
    }
  }
  if (before != DIM_PARKED || m->state != DIM_PARKED) {
    m->dim.byte_rate = bytes;
    m->dim.packet_rate = packets;
    m->dim.event_rate = events;
  }
}

static void dim_interrupt(struct moderation *m, uint64_t now_ps)
{
  uint64_t elapsed_us;

  m->dim.packets += m->packets;
  m->dim.bytes += m->bytes;
  if (++m->dim.events < DIM_EVENTS) {
    return;
  }
  elapsed_us = (now_ps - m->dim.since_ps) / us;
  if (elapsed_us) {
    dim_decide(m, m->dim.bytes * 1000 / elapsed_us, m->dim.packets * 1000 / elapsed_us,
               (m->dim.events * 1000 + elapsed_us - 1) / elapsed_us);
    m->period_ps = dim_us[m->dim.step] * us;
  }
  m->dim.events = 0;
  m->dim.packets = m->dim.bytes = 0;
  m->dim.since_ps = now_ps;
}

static void adapt(struct moderation *m, uint64_t now_ps)
{
  uint64_t packets = m->packets, bytes = m->bytes;

  if (m->other_every_ps) {
    const uint64_t others = now_ps / m->other_every_ps - m->last_ps / m->other_every_ps;

    packets += others;
    bytes += others * m->other_bytes;
  }
  if (m->kind == TLG_MODERATION_DIM) {
    dim_interrupt(m, now_ps);
  } else if (packets) {
    switch (m->kind) {
    case TLG_MODERATION_IGB:
      m->period_ps = igb_gap(m, packets, bytes);
      break;
    case TLG_MODERATION_IGB_SINGLE:
      m->period_ps = igb_single_gap(m, packets, bytes);
      break;
    default:
      m->period_ps = ixgbe_gap(m, packets, bytes);
      break;
    }
  }
  m->packets = m->bytes = 0;
}

void tlg_moderation_fired(struct moderation *m, uint64_t at_ps)
{
  m->last_ps = at_ps;
  m->fired++;
}

uint64_t tlg_moderation_fire(struct moderation *m, uint64_t arrival_ps)
{
  uint64_t at = arrival_ps;

  switch (m->kind) {
  case TLG_MODERATION_OFF:
    break;
  case TLG_MODERATION_TICK:
  case TLG_MODERATION_POLL:
    if (m->period_ps) {
      const uint64_t phase = m->phase_ps % m->period_ps, past = (arrival_ps + m->period_ps - phase) % m->period_ps;

      at = past ? arrival_ps + (m->period_ps - past) : arrival_ps;
    }
    break;
  case TLG_MODERATION_ONESHOT:
    at = arrival_ps + m->period_ps;
    break;
  default:
    if (moderation_adapts(m) && m->fired) {
      adapt(m, arrival_ps);
    }
    if (m->fired && m->last_ps + m->period_ps > arrival_ps) {
      at = m->last_ps + m->period_ps;
    }
    break;
  }
  tlg_moderation_fired(m, at);
  return at;
}
