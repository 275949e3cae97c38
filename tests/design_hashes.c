/* SPDX-License-Identifier: Apache-2.0 */
/* Prints a hash of the taps and of the measured response of some designs; built by several compilers and for other
 * machines by tests/cli/design_bytes.sh, and run here too. */
#include "tlg_dsp.h"

#include <stdio.h>
#include <string.h>

/* FNV-1a over integers, byte by byte from the lowest. */
static uint64_t add(uint64_t h, uint64_t value, int bytes)
{
  int i;

  for (i = 0; i < bytes; i++) {
    h = (h ^ (value >> 8 * i & 0xff)) * 0x100000001b3u;
  }
  return h;
}

static uint64_t add_double(uint64_t h, double value)
{
  uint64_t bits;

  memcpy(&bits, &value, sizeof bits);
  return add(h, bits, 8);
}

int main(void)
{
  static const struct {
    const char *in, *out;
    struct tlg_design design;
  } designs[] = {
      {"25M", "30.72M", {.method = TLG_DESIGN_KAISER}},
      {"25M", "30.72M", {.method = TLG_DESIGN_KAISER, .n_taps = 10000}},
      {"25M", "30.72M", {.method = TLG_DESIGN_EQUIRIPPLE, .stop_weight = 10}},
      {"25M",
       "30.72M",
       {.method = TLG_DESIGN_LEAST_SQUARES, .stop_weight = 0.6, .image_limit_db = -72.5, .ripple_limit_db = 0.0034}},
      {"30.72M", "25M", {.method = TLG_DESIGN_LEAST_SQUARES, .stop_weight = 0.6, .ripple_limit_db = 0.0034}},
      {"25M", "7.68M", {.method = TLG_DESIGN_KAISER}},
      {"184320000/7", "30.72M", {.method = TLG_DESIGN_EQUIRIPPLE}},
      {"19.2M", "25M", {.method = TLG_DESIGN_LEAST_SQUARES}},
  };
  size_t i, k;

  for (i = 0; i < sizeof designs / sizeof *designs; i++) {
    struct tlg_design d = designs[i].design;
    struct tlg_taps taps;
    struct tlg_response r;
    uint64_t h = 0xcbf29ce484222325u, bits = h;

    if (tlg_rate_parse(&d.rate_in, designs[i].in) || tlg_rate_parse(&d.rate_out, designs[i].out) ||
        tlg_design_complete(&d, NULL) || tlg_taps_design(&taps, &d, NULL) ||
        tlg_taps_response(&r, &taps, &d.rate_in, &d.rate_out, &d.pass_hz, NULL)) {
      return 1;
    }
    for (k = 0; k < taps.n; k++) {
      h = add(h, (uint16_t)taps.h[k], 2);
    }
    bits = add_double(add_double(add_double(bits, r.error), r.image_total), r.image_worst);
    bits = add_double(add_double(add_double(bits, r.gain_min), r.gain_max), r.alias_worst);
    printf("%016llx %016llx %zu taps, method %d, %s to %s\n", (unsigned long long)h, (unsigned long long)bits, taps.n,
           d.method, designs[i].in, designs[i].out);
    tlg_taps_free(&taps);
  }
  return 0;
}
