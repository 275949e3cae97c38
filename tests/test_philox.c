/* SPDX-License-Identifier: Apache-2.0 */
/* Philox4x32-10 against the known answers published with Random123 (Salmon et al. 2011). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tlg_dsp.h"

static void known_answers(void **state)
{
  static const struct {
    uint32_t counter[4], key[2], expected[4];
  } cases[] = {
      {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
       {0xffffffff, 0xffffffff},
       {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
       {0xa4093822, 0x299f31d0},
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
  };
  size_t i;
  int k;

  (void)state;
  for (i = 0; i < sizeof cases / sizeof *cases; i++) {
    uint32_t out[4];

    tlg_philox(cases[i].counter, cases[i].key, out);
    for (k = 0; k < 4; k++) {
      assert_int_equal(out[k], cases[i].expected[k]);
    }
  }
}

/* One bit of the counter or key turned over turns over about half of the 128 result bits. */
static void every_bit_counts(void **state)
{
  const uint32_t zero[4] = {0, 0, 0, 0}, no_key[2] = {0, 0};
  uint32_t base[4];
  int bit;

  (void)state;
  tlg_philox(zero, no_key, base);
  for (bit = 0; bit < 192; bit++) {
    uint32_t counter[4] = {0, 0, 0, 0}, key[2] = {0, 0}, out[4];
    int changed = 0, k;

    *(bit < 128 ? &counter[bit / 32] : &key[(bit - 128) / 32]) = 1u << bit % 32;
    tlg_philox(counter, key, out);
    for (k = 0; k < 4; k++) {
      changed += __builtin_popcount(out[k] ^ base[k]);
    }
    assert_in_range(changed, 64 - 34, 64 + 34); /* six standard deviations */
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(known_answers),
      cmocka_unit_test(every_bit_counts),
  };

  return cmocka_run_group_tests_name("philox", tests, NULL, NULL);
}
