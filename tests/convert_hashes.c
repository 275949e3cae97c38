/* SPDX-License-Identifier: Apache-2.0 */
/* Prints a hash of every conversion of the same awkward bytes, to be compared between compilers and machines. */
#include "tlg_files.h"

#include <stdio.h>
#include <string.h>

enum { N = 4099 };

static uint64_t fnv(uint64_t hash, const void *bytes, size_t n)
{
  const uint8_t *b = bytes;

  while (n--) {
    hash = (hash ^ *b++) * 1099511628211u;
  }
  return hash;
}

int main(void)
{
  static const double scales[] = {0, 2048, 3, 0.7};
  static uint8_t in[N * 16], out[N * 16];
  static tlg_cs16 samples[N];
  uint64_t state = 88172645463325252u, hash;
  int format, big;
  size_t k;

  for (k = 0; k < sizeof in; k++) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    /* Every fourth byte makes small exponents of floats and doubles likely. */
    in[k] = (uint8_t)(k % 4 == 3 && state % 3 ? 0x3c + state % 8 + 128 * (state >> 20 & 1) : state >> 11);
  }
  for (format = TLG_FORMAT_CS16; format <= TLG_FORMAT_CS24; format++) {
    for (k = 0; k < sizeof scales / sizeof *scales; k++) {
      for (big = 0; big < 2; big++) {
        struct tlg_convert_counts counts = {0, 0, 0};

        tlg_convert_to_cs16(samples, in, N, (enum tlg_format)format, big, scales[k], big, &counts);
        hash = 14695981039346656037u;
        for (size_t m = 0; m < N; m++) {
          const uint8_t bytes[4] = {(uint8_t)samples[m].i, (uint8_t)((uint16_t)samples[m].i >> 8),
                                    (uint8_t)samples[m].q, (uint8_t)((uint16_t)samples[m].q >> 8)};

          hash = fnv(hash, bytes, 4);
        }
        printf("%s %g %d %016llx %llu %llu %llu\n", tlg_format_name((enum tlg_format)format), scales[k], big,
               (unsigned long long)hash, (unsigned long long)counts.clipped, (unsigned long long)counts.non_finite,
               (unsigned long long)counts.full_scale);
      }
    }
    memset(out, 0, sizeof out);
    tlg_convert_from_cs16(out, samples, N, (enum tlg_format)format, NULL);
    printf("from %016llx\n", (unsigned long long)fnv(14695981039346656037u, out, sizeof out));
  }
  return 0;
}
