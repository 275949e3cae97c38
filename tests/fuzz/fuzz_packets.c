/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: packets of our own and of VITA-49, one by one and as a stream: numbers never go back, and samples in =
 * samples read. The input is a row of datagrams, each behind two bytes of length and one that says who sent it, and how
 * much later. */
#include "intake.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_all(struct tlg_intake *in, uint64_t *end, uint64_t *samples)
{
  static tlg_cs16 x[70000];
  uint64_t first;
  size_t n;

  while ((n = tlg_intake_ready(in, &first))) {
    if (first < *end) {
      __builtin_trap();
    }
    n = n < 70000 ? n : 70000;
    tlg_intake_read(in, x, n);
    *end = first + n;
    *samples += n;
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct tlg_intake_cfg cfg = {.window = size % 40, .slot_bytes = 4096};
  uint64_t end = 0, samples = 0, now = 1;
  struct tlg_vita49_context context;
  struct tlg_intake *in;
  struct tlg_vita49 v;
  struct tlg_own own;

  cfg.rate.num = size % 3 ? 0 : 25000000;
  cfg.rate.den = size % 3 ? 0 : 1;
  if (tlg_intake_new(&in, &cfg)) {
    abort();
  }
  while (size >= 3) {
    const size_t wanted = (size_t)(data[0] << 8 | data[1]), n = wanted < size - 3 ? wanted : size - 3;
    const struct tlg_intake_sender from = {data[2] & 3, 0};
    uint8_t *exact = malloc(n ? n : 1);

    if (!exact) {
      abort();
    }
    memcpy(exact, data + 3, n);
    if (tlg_own_decode_datagram(&own, exact, n) == TLG_WIRE_OK) {
      uint8_t again[TLG_OWN_BYTES];
      struct tlg_own other;

      tlg_own_encode(again, &own);
      if (tlg_own_decode(&other, again, sizeof again) != TLG_WIRE_OK || other.first != own.first || other.n != own.n) {
        __builtin_trap();
      }
    }
    if (tlg_vita49_decode(&v, exact, n) == TLG_WIRE_OK) {
      if (v.payload_bytes > n || (v.payload_bytes && (v.payload < exact || v.payload + v.payload_bytes > exact + n))) {
        __builtin_trap();
      }
      tlg_vita49_decode_context(&context, &v);
    }
    now += (uint64_t)(data[2] >> 2) * 10000000u;
    tlg_intake_put(in, exact, n, &from, now);
    read_all(in, &end, &samples);
    if (data[2] == 0xff) {
      tlg_intake_flush(in);
      tlg_intake_tick(in, now);
      read_all(in, &end, &samples);
    }
    free(exact);
    data += 3 + n;
    size -= 3 + n;
  }
  tlg_intake_flush(in);
  tlg_intake_tick(in, UINT64_MAX);
  read_all(in, &end, &samples);
  if (tlg_intake_counts(in)[TLG_LIVE_SAMPLES] != samples || tlg_intake_end(in) < end) {
    __builtin_trap();
  }
  tlg_intake_free(in);
  return 0;
}
