/* SPDX-License-Identifier: Apache-2.0 */
/* taplag bench peers: other libraries' resamplers and ours on one core and signal; speed, images, ripple, all measured
 * by the same code on what came out. */
#include "compare.h"
#include "peers.h"
#include "tlg_vectors.h"
#include "tone_lines.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 6250, BLOCKS = LINES_IN / BLOCK, WARM_UP = 4, CAP = 4 * LINES_OUT, MAX_ROWS = 40 };

static const double reach_dbc = -70.0;

struct row {
  const char *library;
  char setting[80];
  enum peer_sample sample;
  const struct peer *peer;
  void *state;
  enum tlg_cpu cpu; /* of ours */
  struct tone_lines lines;
  double times[COMPARE_MAX_ROUNDS], ns;
};

static const struct {
  const char *name, *package;
  const struct peer_list *list;
} libraries[] = {
#ifdef HAVE_SWRESAMPLE
    {"libswresample", "libswresample-dev", &peers_swresample},
#else
    {"libswresample", "libswresample-dev", NULL},
#endif
#ifdef HAVE_SOXR
    {"soxr", "libsoxr-dev", &peers_soxr},
#else
    {"soxr", "libsoxr-dev", NULL},
#endif
#ifdef HAVE_ZITA
    {"zita-resampler", "libzita-resampler-dev and g++", &peers_zita},
#else
    {"zita-resampler", "libzita-resampler-dev and g++", NULL},
#endif
#ifdef HAVE_LIQUID
    {"liquid-dsp", "libliquid-dev", &peers_liquid},
#else
    {"liquid-dsp", "libliquid-dev", NULL},
#endif
#ifdef HAVE_SAMPLERATE
    {"libsamplerate", "libsamplerate0-dev", &peers_samplerate},
#else
    {"libsamplerate", "libsamplerate0-dev", NULL},
#endif
#ifdef HAVE_GNURADIO
    {"GNU Radio", "gnuradio-dev and g++", &peers_gnuradio},
#else
    {"GNU Radio", "gnuradio-dev and g++", NULL},
#endif
};

static tlg_cs16 in_int[LINES_IN];
static tlg_cf32 in_float[LINES_IN];

/* Ours behind the same interface: packets of 625. */
static long run_ours(void *state, const void *in, size_t n_in, void *out, size_t cap)
{
  const tlg_cs16 *x = in;
  tlg_cs16 *y = out;
  size_t done, made = 0, got;

  for (done = 0; done < n_in; done += 625) {
    if (tlg_resamp_process(state, x + done, 625, y + made, cap - made, &got)) {
      return -1;
    }
    made += got;
  }
  return (long)made;
}

static long run_block(const struct row *r, int block, void *out, size_t cap)
{
  const void *in =
      r->sample == PEER_CS16 ? (const void *)(in_int + block * BLOCK) : (const void *)(in_float + block * BLOCK);

  return r->peer ? r->peer->run(r->state, in, BLOCK, out, cap) : run_ours(r->state, in, BLOCK, out, cap);
}

/* One pass over the 2 ms of input: outputs written to out, or -1. */
static long run_pass(const struct row *r, void *out, size_t cap)
{
  const size_t size = r->sample == PEER_CS16 ? sizeof(tlg_cs16) : sizeof(tlg_cf32);
  size_t made = 0;
  int b;

  for (b = 0; b < BLOCKS; b++) {
    const long n = run_block(r, b, (char *)out + made * size, cap - made);

    if (n < 0) {
      return -1;
    }
    made += (size_t)n;
  }
  return (long)made;
}

static int add_rows(struct row *rows, int *n)
{
  static const enum tlg_cpu cpus[] = {TLG_CPU_C,      TLG_CPU_SSE2, TLG_CPU_AVX2,
                                      TLG_CPU_AVX512, TLG_CPU_VNNI, TLG_CPU_NEON};
  const struct tlg_rate in = {25000000, 1}, out = {30720000, 1};
  struct tlg_error err = {.text = ""};
  struct tlg_taps taps;
  size_t i;
  int k;

  for (i = 0; i < sizeof libraries / sizeof *libraries; i++) {
    for (k = 0; libraries[i].list && k < libraries[i].list->n; k++) {
      struct row *r = &rows[*n];

      r->peer = &libraries[i].list->peers[k];
      r->library = r->peer->library;
      snprintf(r->setting, sizeof r->setting, "%s", r->peer->setting);
      r->sample = r->peer->sample;
      r->state = r->peer->open(r->peer->variant);
      if (!r->state) {
        fprintf(stderr, "taplag: bench peers: %s (%s) refuses 25 to 30.72 Msps\n", r->library, r->setting);
        continue;
      }
      ++*n;
    }
  }
  if (tlg_taps_default(&taps, &in, &out, &err)) {
    fprintf(stderr, "taplag: bench peers: %s\n", err.text);
    return -1;
  }
  for (i = 0; i < sizeof cpus / sizeof *cpus; i++) {
    const struct tlg_resamp_cfg cfg = {.up = 768, .down = 625, .taps = &taps, .cpu = cpus[i]};
    struct row *r = &rows[*n];
    struct tlg_resamp *ours;

    if (!tlg_cpu_available(cpus[i]) || tlg_resamp_new(&ours, &cfg, NULL)) {
      continue;
    }
    if (tlg_resamp_cpu(ours) != cpus[i]) {
      tlg_resamp_free(ours);
      continue;
    }
    r->library = "taplag";
    snprintf(r->setting, sizeof r->setting, "%zu taps a phase, %s", (taps.n + taps.up - 1) / taps.up,
             tlg_cpu_name(cpus[i]));
    r->sample = PEER_CS16;
    r->cpu = cpus[i];
    r->state = ours;
    ++*n;
  }
  tlg_taps_free(&taps);
  return 0;
}

/* The last 2 ms of a few, when every filter has filled. */
static int measure(struct row *r, void *out, double *samples)
{
  const size_t size = r->sample == PEER_CS16 ? sizeof(tlg_cs16) : sizeof(tlg_cf32);
  long n = 0, k;
  int pass;

  for (pass = 0; pass < WARM_UP; pass++) {
    const long got = run_pass(r, (char *)out + (size_t)n * size, (size_t)(CAP + LINES_OUT - n));

    if (got < 0) {
      return -1;
    }
    n += got;
    if (n > 2 * LINES_OUT) { /* keep what is needed of it */
      memmove(out, (char *)out + (size_t)(n - LINES_OUT) * size, LINES_OUT * size);
      n = LINES_OUT;
    }
  }
  if (n < LINES_OUT) {
    return -1;
  }
  for (k = 0; k < LINES_OUT; k++) {
    const long at = n - LINES_OUT + k;

    if (r->sample == PEER_CS16) {
      samples[2 * k] = ((const tlg_cs16 *)out)[at].i;
      samples[2 * k + 1] = ((const tlg_cs16 *)out)[at].q;
    } else {
      samples[2 * k] = (double)((const tlg_cf32 *)out)[at].i;
      samples[2 * k + 1] = (double)((const tlg_cf32 *)out)[at].q;
    }
  }
  return tone_lines_measure(&r->lines, samples);
}

static const struct row *fastest_peer(const struct row *rows, int n)
{
  const struct row *best = NULL;
  int i;

  for (i = 0; i < n; i++) {
    if (rows[i].peer && rows[i].lines.worst_dbc <= reach_dbc && (!best || rows[i].ns < best->ns)) {
      best = &rows[i];
    }
  }
  return best;
}

/* What is asked of this kernel against the fastest peer that reaches -70 dBc; 0 = nothing. */
static double bar(enum tlg_cpu cpu)
{
  return cpu == TLG_CPU_VNNI ? 6.0 : cpu == TLG_CPU_AVX2 ? 3.5 : 0.0;
}

static int print_table(const struct row *rows, int n, int rounds)
{
  const struct row *best = fastest_peer(rows, n);
  char cpu[200];
  size_t l;
  int i;

  printf("25 to 30.72 Msps, complex, 61 tones of 300.5 kHz * k, blocks of %d inputs; CPU time, medians of %d "
         "rounds\non one core "
         "of %s\n\n",
         BLOCK, rounds, compare_cpu_name(cpu, sizeof cpu));
  printf("%-15s %-40s %-5s %9s %10s %9s %6s\n", "library", "setting", "type", "ns/output", "worst dBc", "ripple dB",
         "-70?");
  for (i = 0; i < n; i++) {
    const struct row *r = &rows[i];

    printf("%-15s %-40s %-5s %9.3f %10.1f %9.4f %6s\n", r->library, r->setting,
           r->sample == PEER_CS16 ? "cs16" : "cf32", r->ns, r->lines.worst_dbc, r->lines.ripple_db,
           r->lines.worst_dbc <= reach_dbc ? "yes" : "no");
  }
  for (l = 0; l < sizeof libraries / sizeof *libraries; l++) {
    if (!libraries[l].list) {
      printf("%-15s not available here (Debian: %s)\n", libraries[l].name, libraries[l].package);
    }
  }
  if (!best) {
    printf("\nno peer here reaches -70 dBc\n");
  } else {
    printf("\nfastest peer that reaches -70 dBc: %s, %s, %.3f ns an output\n", best->library, best->setting, best->ns);
    for (i = 0; i < n; i++) {
      if (!rows[i].peer) {
        printf("ours, %-8s %6.2f times as fast", tlg_cpu_name(rows[i].cpu), best->ns / rows[i].ns);
        if (bar(rows[i].cpu) > 0) {
          printf(" (bar %.1f)", bar(rows[i].cpu));
        }
        putchar('\n');
      }
    }
  }
  return fflush(stdout) != 0 || ferror(stdout) ? 4 : 0;
}

static int print_json(const struct row *rows, int n, int rounds)
{
  const struct row *best = fastest_peer(rows, n);
  json_t *measured = json_array(), *missing = json_array();
  size_t l;
  int i;

  for (i = 0; i < n; i++) {
    const struct row *r = &rows[i];
    json_t *o =
        json_pack("{s:s,s:s,s:s,s:o,s:o,s:o,s:o,s:o,s:b}", "library", r->library, "setting", r->setting, "type",
                  r->sample == PEER_CS16 ? "cs16" : "cf32", "ns_per_output", compare_number(r->ns, 4), "worst_dbc",
                  compare_number(r->lines.worst_dbc, 2), "worst_hz", compare_number(r->lines.worst_hz, 0), "total_dbc",
                  compare_number(r->lines.total_dbc, 2), "ripple_db", compare_number(r->lines.ripple_db, 5),
                  "reaches_70_dbc", r->lines.worst_dbc <= reach_dbc);

    if (!r->peer && best) {
      json_object_set_new(o, "times_fastest_peer", compare_number(best->ns / r->ns, 3));
      if (bar(r->cpu) > 0) {
        json_object_set_new(o, "bar", json_real(bar(r->cpu)));
      }
    }
    json_array_append_new(measured, o);
  }
  for (l = 0; l < sizeof libraries / sizeof *libraries; l++) {
    if (!libraries[l].list) {
      json_array_append_new(missing,
                            json_pack("{s:s,s:s}", "library", libraries[l].name, "package", libraries[l].package));
    }
  }
  return compare_print(json_pack("{s:s,s:o,s:{s:i,s:o,s:o,s:s?}}", "schema", "taplag/bench-peers/1", "host",
                                 compare_host(), "measured", "rounds", rounds, "rows", measured, "not_available",
                                 missing, "fastest_peer", best ? best->setting : NULL));
}

static int prepare(void)
{
  const struct tlg_signal_cfg tones = {.kind = TLG_SIGNAL_TONES};
  struct tlg_signal *signal;
  int k;

  if (tlg_signal_new(&signal, &tones, NULL)) {
    return -1;
  }
  tlg_signal_read(signal, in_int, LINES_IN);
  tlg_signal_free(signal);
  for (k = 0; k < LINES_IN; k++) {
    in_float[k].i = (float)in_int[k].i / 32768.0f;
    in_float[k].q = (float)in_int[k].q / 32768.0f;
  }
  return 0;
}

int main(int argc, char **argv)
{
  static const char help[] =
      "Resamplers of other libraries and this one's kernels from 25 to 30.72 Msps on the same tones and core: time "
      "per\n"
      "output, largest line that is no tone (dBc), ripple. Libraries that were not there at build time are named.\n\n"
      "      --rounds N    rounds, of which the median is taken (15)\n      --json        print JSON\n";
  static struct row rows[MAX_ROWS];
  void *out = malloc((CAP + LINES_OUT) * sizeof(tlg_cf32));
  double *samples = malloc(2 * LINES_OUT * sizeof *samples);
  int rounds = 15, json = 0, n = 0, i, k, st;

  st = compare_arguments(argc, argv, "peers", help, &rounds, &json);
  if (st) {
    free(out);
    free(samples);
    return st < 0 ? 0 : st;
  }
  if (!out || !samples || prepare()) {
    fprintf(stderr, "taplag: bench peers: out of memory\n");
    return 4;
  }
  compare_stay();
  if (add_rows(rows, &n)) {
    return 3;
  }
  for (i = 0; i < n; i++) {
    if (measure(&rows[i], out, samples)) {
      fprintf(stderr, "taplag: bench peers: %s (%s) gives no usable output\n", rows[i].library, rows[i].setting);
      return 1;
    }
  }
  for (k = 0; k < rounds; k++) {
    for (i = 0; i < n; i++) {
      const double begin = compare_now_ns();
      const long made = run_pass(&rows[i], out, CAP);

      rows[i].times[k] = (compare_now_ns() - begin) / (made > 0 ? (double)made : 1);
    }
  }
  for (i = 0; i < n; i++) {
    rows[i].ns = compare_median(rows[i].times, rounds);
  }
  st = json ? print_json(rows, n, rounds) : print_table(rows, n, rounds);
  for (i = 0; i < n; i++) {
    if (rows[i].peer) {
      rows[i].peer->close(rows[i].state);
    } else {
      tlg_resamp_free(rows[i].state);
    }
  }
  free(out);
  free(samples);
  return st;
}
