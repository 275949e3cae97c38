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

/* In rising order of speed; a level's kernels stand together, the preferred form last. */
static const struct tlg_kernel kernels[] = {
    {TLG_CPU_C, TLG_FORM_PLAIN, 1, 0, 0, 0, 0, 0, tlg_unpack_raw, tlg_resample_c},
#if defined(__x86_64__)
    {TLG_CPU_SSE2, TLG_FORM_DOT, 2, 8, 0, 0, 0, 0, tlg_unpack_sse2, tlg_resample_dot_sse2},
    {TLG_CPU_SSE2, TLG_FORM_ROWS, 1, 4, 1, 0, 0, 6, tlg_unpack_raw, tlg_resample_rows_sse2},
    {TLG_CPU_AVX2, TLG_FORM_DOT, 2, 16, 0, 0, 0, 0, tlg_unpack_sse2, tlg_resample_dot_avx2},
    {TLG_CPU_AVX2, TLG_FORM_ROWS, 1, 4, 1, 11, 1, 6, tlg_unpack_raw, tlg_resample_rows_avx2},
    {TLG_CPU_AVX512, TLG_FORM_DOT, 2, 16, 0, 0, 0, 0, tlg_unpack_sse2, tlg_resample_dot_avx512},
    {TLG_CPU_AVX512, TLG_FORM_ROWS, 1, 8, 1, 11, 0, 14, tlg_unpack_raw, tlg_resample_rows_avx512},
    {TLG_CPU_VNNI, TLG_FORM_DOT, 2, 16, 0, 0, 0, 0, tlg_unpack_sse2, tlg_resample_dot_vnni},
    {TLG_CPU_VNNI, TLG_FORM_ROWS, 1, 8, 1, 11, 0, 14, tlg_unpack_raw, tlg_resample_rows_vnni},
#elif defined(__aarch64__)
    {TLG_CPU_NEON, TLG_FORM_DOT, 2, 8, 0, 0, 0, 0, tlg_unpack_neon, tlg_resample_dot_neon},
    {TLG_CPU_NEON, TLG_FORM_ROWS, 1, 8, 0, 0, 0, 100, tlg_unpack_raw, tlg_resample_rows_neon},
#endif
};

int tlg_cpu_available(enum tlg_cpu cpu)
{
  switch (cpu) {
  case TLG_CPU_C:
    return 1;
#if defined(__x86_64__)
  /* The builtin looks at CPUID and at what the system saves (XCR0), once. */
  case TLG_CPU_SSE2:
    return __builtin_cpu_supports("sse4.1") != 0;
  case TLG_CPU_AVX2:
    return __builtin_cpu_supports("avx2") != 0;
  case TLG_CPU_AVX512:
    return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512dq");
  case TLG_CPU_VNNI:
    return tlg_cpu_available(TLG_CPU_AVX512) && __builtin_cpu_supports("avx512vnni") &&
           __builtin_cpu_supports("avx512vbmi");
#elif defined(__aarch64__)
  case TLG_CPU_NEON:
    return 1; /* part of the base architecture */
#endif
  default:
    return 0;
  }
}

/* Banks larger than this would run from outside the second-level cache; rows of single phases are smaller. */
#define MAX_ROWS_BANK ((size_t)1 << 20)

/* Whether a kernel is above a cap. A cap of another architecture leaves the plain kernel alone. */
static int above(enum tlg_cpu kernel, enum tlg_cpu cap)
{
#if defined(__x86_64__)
  if (cap == TLG_CPU_NEON) {
    cap = TLG_CPU_C;
  }
#endif
  return cap != TLG_CPU_AUTO && kernel > cap;
}

const struct tlg_kernel *tlg_kernel_choose(enum tlg_cpu cap, uint32_t up, uint32_t down, size_t taps, int form)
{
  size_t k = sizeof kernels / sizeof *kernels;

  while (k-- > 0) {
    const struct tlg_kernel *kernel = &kernels[k];
    const size_t size = tlg_bank_size(kernel, up, down, taps);

    if (above(kernel->cpu, cap) || !tlg_cpu_available(kernel->cpu) || size == SIZE_MAX) {
      continue;
    }
    if (form >= 0 ? kernel->form == (enum tlg_form)form : kernel->form != TLG_FORM_ROWS || size <= MAX_ROWS_BANK) {
      return kernel;
    }
  }
  return NULL;
}
