/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel cases as a program of their own, for other CPUs and other compilers: needs the C library and dsp/'s
 * kernels*.c, bank.c, cpu.c, resamp.c and status.c only.
 *
 *   kernel_verifier [EVERY]        check every EVERYth case on each kernel; one line and a hash of the outputs each
 *   kernel_verifier count CPU N T  N packets of 625 samples by 768/625 with T taps a phase, so that the instructions
 *                                  of two runs can be subtracted */
#include "kernel_cases.h"

/* The cases obey the limit; the real check stands in taps.c, which needs the default taps. */
int tlg_taps_check(const struct tlg_taps *taps, struct tlg_error *err)
{
  (void)err;
  return taps->h ? 0 : TLG_ETAPS;
}

static int count(const char *name, unsigned long packets, unsigned taps)
{
  const struct kc_case c = {768, 625,           (size_t)taps * 768 - 1, 14, TLG_ROUND_NEAREST,
                            0,   KC_TAPS_SMALL, KC_SIGNAL_RANDOM};
  struct tlg_resamp_cfg cfg = {.up = 768, .down = 625};
  static tlg_cs16 in[625], out[1000];
  struct tlg_resamp *r;
  struct kc_data d;
  size_t got;

  if (tlg_cpu_parse(&cfg.cpu, name) < 0 || !tlg_cpu_available(cfg.cpu) || kc_make(&d, &c, 0) < 0) {
    return 1;
  }
  cfg.taps = &d.taps;
  if (tlg_resamp_new(&r, &cfg, NULL) < 0) {
    return 1;
  }
  while (packets--) {
    tlg_resamp_process(r, in, 625, out, 1000, &got);
  }
  tlg_resamp_free(r);
  kc_free(&d);
  return 0;
}

int main(int argc, char **argv)
{
  static const int forms[] = {TLG_FORM_PLAIN, TLG_FORM_ROWS, TLG_FORM_DOT};
  const unsigned every = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 1;
  int cpu, f, bad = 0;

  if (argc == 5 && strcmp(argv[1], "count") == 0) {
    return count(argv[2], strtoul(argv[3], NULL, 10), (unsigned)strtoul(argv[4], NULL, 10));
  }
  if (every == 0) {
    fprintf(stderr, "usage: kernel_verifier [EVERY] | count CPU PACKETS TAPS\n");
    return 2;
  }
  for (cpu = TLG_CPU_C; cpu <= TLG_CPU_NEON; cpu++) {
    for (f = 0; f < 3; f++) {
      char text[800];
      int ran;

      if (!tlg_cpu_available((enum tlg_cpu)cpu) || (forms[f] == TLG_FORM_PLAIN) != (cpu == TLG_CPU_C)) {
        continue;
      }
      kc_hash = 0xcbf29ce484222325u;
      ran = kc_run_all((enum tlg_cpu)cpu, forms[f], 1, every, text, sizeof text);
      if (ran > 0) {
        printf("%s %s: %d cases, hash %016llx\n", tlg_cpu_name((enum tlg_cpu)cpu), kc_form_name(forms[f]), ran,
               (unsigned long long)kc_hash);
      } else {
        printf("FAILED %s\n", ran < 0 ? text : "no case ran");
        bad = 1;
      }
    }
  }
  return bad;
}
