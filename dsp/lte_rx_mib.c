/* SPDX-License-Identifier: Apache-2.0 */
/* The master information block: channel of each port by the reference signals, diversity undone, soft bits of up to
 * four frames combined, tail-biting Viterbi, CRC. */
#include "lte_rx.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FRAME_BITS = 480, BITS = 40, CODED = 3 * BITS, MAX_FRAMES = 12, ROUNDS = 3 };

static tlg_cf64 scaled(tlg_cf64 a, double b)
{
  return (tlg_cf64){b * a.i, b * a.q};
}

/* h of 72 subcarriers: the port's reference signals near the PBCH, joined by lines over the frequency, averaged over
 * their symbols and over five subcarriers. */
static void channel(const tlg_cf64 *grid, int id, int port, tlg_cf64 *h)
{
  tlg_cf64 sum[LTE_NARROW_SC], r[12];
  unsigned l, k, first, used = 0;

  memset(sum, 0, sizeof sum);
  for (l = 4; l < 14; l++) {
    if (tlg_lte_crs((unsigned)id, 6, (unsigned)port, 0, l, &first, r) != 12) {
      continue;
    }
    for (k = 0; k < 12; k++) {
      r[k] = times_conj(grid[l * LTE_NARROW_SC + first + 6 * k], r[k]);
    }
    for (k = 0; k < LTE_NARROW_SC; k++) {
      const double at = ((double)k - first) / 6;
      const unsigned j = at < 0 ? 0 : at >= 11 ? 10 : (unsigned)at;
      double b = at - j;

      /* Beyond the outermost one its value holds: lines would carry noise away. */
      b = b < 0 ? 0 : b > 1 ? 1 : b;
      sum[k].i += (1 - b) * r[j].i + b * r[j + 1].i;
      sum[k].q += (1 - b) * r[j].q + b * r[j + 1].q;
    }
    used++;
  }
  for (k = 0; k < LTE_NARROW_SC; k++) {
    const unsigned from = k < 2 ? 0 : k - 2, end = k + 3 > LTE_NARROW_SC ? LTE_NARROW_SC : k + 3;
    unsigned j;

    h[k].i = h[k].q = 0;
    for (j = from; j < end; j++) {
      h[k].i += sum[j].i / (used * (end - from));
      h[k].q += sum[j].q / (used * (end - from));
    }
  }
}

void tlg_lte_pbch_soft(const tlg_cf64 *grid, int id, int ports, double *soft)
{
  tlg_cf64 h[4][LTE_NARROW_SC];
  uint32_t re[TLG_LTE_PBCH_RES];
  double sum = 0;
  unsigned i;
  int p;

  tlg_lte_pbch_res((unsigned)id, 6, re);
  for (p = 0; p < ports; p++) {
    channel(grid, id, p, h[p]);
  }
  for (i = 0; i < TLG_LTE_PBCH_RES; i += 2) {
    const tlg_cf64 y0 = grid[re[i]], y1 = grid[re[i + 1]];
    const unsigned k0 = re[i] % LTE_NARROW_SC, k1 = re[i + 1] % LTE_NARROW_SC;
    tlg_cf64 x0, x1;

    if (ports == 1) {
      x0 = times_conj(y0, h[0][k0]);
      x1 = times_conj(y1, h[0][k1]);
    } else {
      /* Elements 2i, 2i + 1 carry x0, x1 on one port and -x1*, x0* on the other; with four ports the pairs of ports
       * (0, 2) and (1, 3) take turns. The channel is taken as one for both elements. */
      const int a = ports == 4 && i % 4 == 2 ? 1 : 0, b = ports == 4 ? a + 2 : 1;
      const tlg_cf64 ha = scaled((tlg_cf64){h[a][k0].i + h[a][k1].i, h[a][k0].q + h[a][k1].q}, 0.5);
      const tlg_cf64 hb = scaled((tlg_cf64){h[b][k0].i + h[b][k1].i, h[b][k0].q + h[b][k1].q}, 0.5);
      const tlg_cf64 u0 = times_conj(y0, ha), v0 = times_conj(hb, y1);
      const tlg_cf64 u1 = times_conj(y1, ha), v1 = times_conj(hb, y0);

      x0 = (tlg_cf64){u0.i + v0.i, u0.q + v0.q};
      x1 = (tlg_cf64){u1.i - v1.i, u1.q - v1.q};
    }
    soft[2 * i] = x0.i;
    soft[2 * i + 1] = x0.q;
    soft[2 * i + 2] = x1.i;
    soft[2 * i + 3] = x1.q;
  }
  for (i = 0; i < FRAME_BITS; i++) {
    sum += soft[i] * soft[i];
  }
  sum = sum > 0 ? sqrt(FRAME_BITS / sum) : 0;
  for (i = 0; i < FRAME_BITS; i++) {
    soft[i] *= sum;
  }
}

static int parity(unsigned x)
{
  return __builtin_parity(x);
}

/* Going round the circle three times from any state; the middle round is free of both ends. */
double tlg_lte_viterbi(const double *soft, size_t n, uint8_t *bits)
{
  static const unsigned polynomial[3] = {0133, 0171, 0165};
  enum { STATES = 64, LONGEST = 512 };
  double metric[2][STATES], all = 0, got = 0;
  uint64_t *from = malloc(ROUNDS * n * sizeof *from); /* bit s: the older bit of state s was 1 */
  unsigned out[2 * STATES], s, state = 0;
  size_t t;
  int now = 0;

  if (!from || n < 6 || n > LONGEST) {
    free(from);
    return 0;
  }
  for (s = 0; s < 2 * STATES; s++) { /* the newest bit is the highest of seven */
    out[s] = (unsigned)(parity(s & polynomial[0]) | parity(s & polynomial[1]) << 1 | parity(s & polynomial[2]) << 2);
  }
  memset(metric, 0, sizeof metric);
  for (t = 0; t < ROUNDS * n; t++) {
    const size_t k = t % n;
    double gain[8];
    uint64_t choice = 0;

    for (s = 0; s < 8; s++) {
      gain[s] = (s & 1 ? -soft[k] : soft[k]) + (s & 2 ? -soft[n + k] : soft[n + k]) +
                (s & 4 ? -soft[2 * n + k] : soft[2 * n + k]);
    }
    for (s = 0; s < STATES; s++) {
      /* State s after the step: its highest bit is the new one; before, it was s without it and an older bit below. */
      const unsigned before = (s << 1) & (STATES - 1), with = s << 1;
      const double a = metric[now][before] + gain[out[with]], b = metric[now][before | 1] + gain[out[with | 1]];

      metric[1 - now][s] = a >= b ? a : b;
      choice |= (uint64_t)(b > a) << s;
    }
    from[t] = choice;
    now = 1 - now;
  }
  for (s = 1; s < STATES; s++) {
    if (metric[now][s] > metric[now][state]) {
      state = s;
    }
  }
  for (t = ROUNDS * n; t-- > 0;) {
    if (t / n == 1) {
      bits[t % n] = (uint8_t)(state >> 5);
    }
    state = ((state << 1) & (STATES - 1)) | (unsigned)(from[t] >> state & 1);
  }
  for (t = 0; t < n; t++) {
    unsigned window = 0, j;

    for (j = 0; j < 7; j++) {
      window |= (unsigned)bits[(t + n - j) % n] << (6 - j);
    }
    for (j = 0; j < 3; j++) {
      got += parity(window & polynomial[j]) ? -soft[j * n + t] : soft[j * n + t];
      all += soft[j * n + t] * soft[j * n + t];
    }
  }
  free(from);
  return all > 0 ? got / sqrt(all * 3 * (double)n) : 0;
}

struct frame {
  int valid;
  double soft[3][FRAME_BITS]; /* for 1, 2, 4 ports */
};

static const int port_numbers[3] = {1, 2, 4};

/* What a block says of all frames: the correlation with those that did not serve to decode it, in standard deviations
 * under noise; at least one of them must be there, else -1. */
static double elsewhere(const struct frame *frame, int n, int which, const struct tlg_lte_mib *mib, int first, int used,
                        const uint8_t *scrambling)
{
  uint8_t code[TLG_LTE_PBCH_BITS], block[24];
  double sum = 0, count = 0;
  int f, k, packed = -1;

  for (f = 0; f < n; f++) {
    const int sfn = (int)mib->sfn + f - first;

    if ((f >= first && f < first + used) || !frame[f].valid) {
      continue;
    }
    if ((sfn & ~3) != packed) {
      struct tlg_lte_mib other = *mib;

      packed = sfn & ~3;
      other.sfn = (unsigned)(packed & 1023);
      tlg_lte_mib_pack(&other, block);
      tlg_lte_pbch_encode(block, (unsigned)port_numbers[which], code);
    }
    for (k = 0; k < FRAME_BITS; k++) {
      const int at = (sfn & 3) * FRAME_BITS + k;

      sum += (code[at] ^ scrambling[at]) ? -frame[f].soft[which][k] : frame[f].soft[which][k];
      count += frame[f].soft[which][k] * frame[f].soft[which][k];
    }
  }
  return count > 0 ? sum / sqrt(count) : -1;
}

int tlg_lte_mib_search(struct lte_narrow *w, const tlg_cf64 *s, size_t n, const struct lte_candidate *c,
                       struct lte_mib_result *result)
{
  struct frame *frame = calloc(MAX_FRAMES, sizeof *frame);
  tlg_cf64 *grid = malloc(14 * (size_t)LTE_NARROW_SC * sizeof *grid);
  uint32_t index[TLG_LTE_PBCH_BITS];
  uint8_t scrambling[TLG_LTE_PBCH_BITS], bits[BITS];
  int f, used, phase, which, n_frames = 0, done = 0;

  if (!frame || !grid || tlg_lte_conv_match(BITS, index, TLG_LTE_PBCH_BITS) != 0) {
    free(frame);
    free(grid);
    return 0;
  }
  tlg_lte_gold((uint32_t)c->id, 0, scrambling, TLG_LTE_PBCH_BITS);
  for (f = 0; f < MAX_FRAMES; f++) {
    const double at = c->start + (double)f * 10 * LTE_NARROW_SUBFRAME;
    unsigned l;

    memset(grid, 0, 14 * (size_t)LTE_NARROW_SC * sizeof *grid);
    /* The PBCH lies in symbols 7 to 10; 4 and 11 have reference signals. */
    for (l = 4; l < 12; l++) {
      if (!tlg_lte_narrow_symbol(w, s, n, at, c->cfo_hz, l, grid + l * LTE_NARROW_SC)) {
        break;
      }
    }
    if (l < 12) {
      continue;
    }
    frame[f].valid = 1;
    n_frames = f + 1;
    for (which = 0; which < 3; which++) {
      tlg_lte_pbch_soft(grid, c->id, port_numbers[which], frame[f].soft[which]);
    }
  }
  for (used = 1; used <= 4 && !done; used++) {
    for (f = 0; f + used <= n_frames && !done; f++) {
      /* Frames of one block: the first is number `phase` of its four. */
      for (phase = 0; phase + used <= 4 && !done; phase++) {
        for (which = 0; which < 3 && !done; which++) {
          double soft[CODED] = {0}, match, other;
          struct tlg_lte_mib mib;
          int i, k, there = 1;

          for (i = 0; i < used; i++) {
            there = there && frame[f + i].valid;
            for (k = 0; k < FRAME_BITS; k++) {
              const int at = (phase + i) * FRAME_BITS + k;
              const double v = frame[f + i].soft[which][k];

              soft[index[at]] += scrambling[at] ? -v : v;
            }
          }
          if (!there) {
            continue;
          }
          match = tlg_lte_viterbi(soft, BITS, bits);
          if (match < 0.6 || (tlg_lte_crc(TLG_LTE_CRC16, bits, 24) ^ tlg_lte_get_bits(bits + 24, 16)) !=
                                 tlg_lte_pbch_mask((unsigned)port_numbers[which])) {
            continue;
          }
          result->bits = tlg_lte_get_bits(bits, 24);
          if (tlg_lte_mib_unpack(&mib, bits) != 0) {
            continue;
          }
          mib.sfn = (mib.sfn + (unsigned)phase) & 1023;
          /* A CRC of 16 bits is right by chance once in 65536, and hundreds are tried: what the block says of the other
           * frames must be there too; or it must match its own better than any of 2^40 blocks matches noise (8.8
           * standard deviations), as when samples were lost between the frames. */
          other = elsewhere(frame, n_frames, which, &mib, f, used, scrambling);
          if (match < 0.8 && (n_frames > used ? other < 4 : match < 0.7)) {
            continue;
          }
          /* Test models fill the PBCH with zeros, scrambled alike in each frame: a block of zeros with a right CRC, but
           * the frames do not go on as those of a cell do. */
          if (result->bits == 0 && other < 0.4 * sqrt((double)FRAME_BITS * (n_frames - used))) {
            continue;
          }
          mib.sfn = (mib.sfn + 1024 - (unsigned)f) & 1023;
          result->mib = mib;
          result->ports = port_numbers[which];
          result->frames = used;
          done = 1;
        }
      }
    }
  }
  free(grid);
  free(frame);
  return done;
}
