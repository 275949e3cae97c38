/* SPDX-License-Identifier: Apache-2.0 */
/* Instruction sets: their names, which of them this CPU and its system support, and the kernel that serves best. */
#include "kernels.h"

#include <string.h>

static const char *const names[] = {"auto", "c", "sse2", "avx2", "avx512", "vnni", "neon"};

int tlg_cpu_parse(enum tlg_cpu *cpu, const char *text)
{
  size_t k;

  if (!cpu || !text) {
    return TLG_EINVAL;
  }
  for (k = 0; k < sizeof names / sizeof *names; k++) {
    if (strcmp(text, names[k]) == 0) {
      *cpu = (enum tlg_cpu)k;
      return TLG_OK;
    }
  }
  return TLG_EINVAL;
}

const char *tlg_cpu_name(enum tlg_cpu cpu)
{
  return (unsigned)cpu < sizeof names / sizeof *names ? names[cpu] : "?";
}

static const struct tlg_kernel kernels[] = {
    {TLG_CPU_C, TLG_FORM_PLAIN, 1, tlg_unpack_raw, tlg_resample_c},
};

int tlg_cpu_available(enum tlg_cpu cpu)
{
  return cpu == TLG_CPU_C;
}

const struct tlg_kernel *tlg_kernel_choose(enum tlg_cpu cap, uint32_t up, uint32_t down, size_t taps, int form)
{
  (void)cap;
  (void)up;
  (void)down;
  (void)taps;
  return form < 0 || form == TLG_FORM_PLAIN ? &kernels[0] : NULL;
}
