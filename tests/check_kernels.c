/* SPDX-License-Identifier: Apache-2.0 */
/* Every kernel on every instruction set that this CPU has, byte for byte against a convolution straight from the
 * formula (the plain C kernel included, so all are equal). --seed N other random data, --bench times the same calls. */
#include "kernel_cases.h"

#include <setjmp.h>
#include <stdarg.h>
#include <time.h>

#include <cmocka.h>

static uint64_t seed = 20090;

/* Sanitizers see on a part of the cases what there is to see. */
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(undefined_behavior_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifdef SANITIZED
#define EVERY 7
#else
#define EVERY 1
#endif

struct level {
  enum tlg_cpu cpu;
  enum tlg_form form;
};

static void check_level(void **state)
{
  const struct level *level = *state;
  char text[800];
  int ran;

  if (!tlg_cpu_available(level->cpu)) {
    print_message("%s is not available on this CPU\n", tlg_cpu_name(level->cpu));
    skip();
  }
  ran = kc_run_all(level->cpu, level->form, seed, EVERY, text, sizeof text);
  if (ran < 0) {
    fail_msg("seed %llu: %s", (unsigned long long)seed, text);
  }
  print_message("%s %s: %d cases, seed %llu\n", tlg_cpu_name(level->cpu), kc_form_name(level->form), ran,
                (unsigned long long)seed);
  assert_true(ran > 0);
}

/* ---- --bench ------------------------------------------------------------------------------------------------------
 */

static double now_ns(void)
{
  struct timespec t;

  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
  const double x = *(const double *)a, y = *(const double *)b;

  return (x > y) - (x < y);
}

static void bench(const struct level *levels, size_t n_levels)
{
  static const unsigned sizes[] = {16, 24};
  static tlg_cs16 out[1000];
  double runs[101], plain = 0;
  size_t l, k, s, got, rep;

  for (s = 0; s < 2; s++) {
    const struct kc_case c = {768, 625, (size_t)sizes[s] * 768 - 1, 14, TLG_ROUND_NEAREST, 0, KC_TAPS_SMALL, 0};
    struct kc_data d;

    kc_state = seed;
    if (kc_make(&d, &c, 625) < 0) {
      return;
    }
    for (l = 0; l < n_levels; l++) {
      const struct tlg_resamp_cfg cfg = {.up = 768, .down = 625, .taps = &d.taps, .cpu = levels[l].cpu};
      struct tlg_resamp *r;

      if (!tlg_cpu_available(levels[l].cpu) || tlg_resamp_new_form(&r, &cfg, (int)levels[l].form, NULL) < 0) {
        continue;
      }
      for (k = 0; k < 101; k++) {
        const double t = now_ns();

        for (rep = 0; rep < 40; rep++) {
          tlg_resamp_process(r, d.in, 625, out, 1000, &got);
        }
        runs[k] = (now_ns() - t) / 40;
      }
      tlg_resamp_free(r);
      qsort(runs, 101, sizeof *runs, by_value);
      plain = l == 0 ? runs[50] : plain;
      printf("%u taps a phase, %-6s %-5s %8.0f ns a packet of 625, %5.1f times as fast as plain C\n", sizes[s],
             tlg_cpu_name(levels[l].cpu), kc_form_name((int)levels[l].form), runs[50], plain / runs[50]);
    }
    kc_free(&d);
  }
}

int main(int argc, char **argv)
{
  static const struct level levels[] = {
      {TLG_CPU_C, TLG_FORM_PLAIN},    {TLG_CPU_SSE2, TLG_FORM_ROWS}, {TLG_CPU_SSE2, TLG_FORM_DOT},
      {TLG_CPU_AVX2, TLG_FORM_ROWS},  {TLG_CPU_AVX2, TLG_FORM_DOT},  {TLG_CPU_AVX512, TLG_FORM_ROWS},
      {TLG_CPU_AVX512, TLG_FORM_DOT}, {TLG_CPU_VNNI, TLG_FORM_ROWS}, {TLG_CPU_VNNI, TLG_FORM_DOT},
      {TLG_CPU_NEON, TLG_FORM_ROWS},  {TLG_CPU_NEON, TLG_FORM_DOT},
  };
  enum { LEVELS = sizeof levels / sizeof *levels };
  static char names[LEVELS][40];
  struct CMUnitTest tests[LEVELS];
  int k;

  for (k = 1; k < argc; k++) {
    if (strcmp(argv[k], "--seed") == 0 && k + 1 < argc) {
      seed = strtoull(argv[++k], NULL, 0);
    } else if (strcmp(argv[k], "--bench") == 0) {
      bench(levels, LEVELS);
      return 0;
    } else {
      fprintf(stderr, "usage: check_kernels [--seed N] [--bench]\n");
      return 2;
    }
  }
  memset(tests, 0, sizeof tests);
  for (k = 0; k < LEVELS; k++) {
    snprintf(names[k], sizeof names[k], "%s %s", tlg_cpu_name(levels[k].cpu), kc_form_name((int)levels[k].form));
    tests[k].name = names[k];
    tests[k].test_func = check_level;
    tests[k].initial_state = (void *)(uintptr_t)&levels[k];
  }
  return cmocka_run_group_tests_name("kernels", tests, NULL, NULL);
}
