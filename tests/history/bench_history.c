/* SPDX-License-Identifier: Apache-2.0 */
/* taplag bench history: usrpL0's own forms beside ours, for a packet of 768 outputs and for 1 ms of 30720. */
#include "compare.h"
#include "history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PACKET_OUT = 768, PACKET_IN = 625, PACKETS = 40, MS_IN = 25000, MS_OUT = 30720, MAX_ROWS = 24 };

/* One way of making 1 ms of output. */
struct row {
  const char *name, *unit; /* unit: "packet" or "1 ms" */
  enum tlg_cpu cpu;        /* of ours */
  double reported_us;      /* by usrpL0's report for this unit on its machine; 0 = it tells none */
  const char *reported_words;
  struct history *history;
  struct tlg_resamp *ours;
  size_t n_in, n_out; /* of one call */
  double times[COMPARE_MAX_ROUNDS];
  double median_us;
  int same; /* its bytes are those of the first row */
};

static const struct {
  enum history_form form;
  enum history_buffer buffer;
  size_t n_out;
  double reported_us;
  const char *words;
} forms[] = {
    {HISTORY_DIVISION, HISTORY_BUFFER_A_CALL, MS_OUT, 2000, "over 2000"},
    {HISTORY_TABLES, HISTORY_BUFFER_A_CALL, MS_OUT, 800, "800"},
    {HISTORY_SSE_GATHER, HISTORY_BUFFER_A_CALL, MS_OUT, 0, NULL},
    {HISTORY_SSE, HISTORY_BUFFER_A_CALL, MS_OUT, 220, "220 to 300"},
    {HISTORY_SSE, HISTORY_BUFFER_ONCE, MS_OUT, 0, NULL},
    {HISTORY_DIVISION, HISTORY_BUFFER_ONCE, PACKET_OUT, 0, NULL},
    {HISTORY_TABLES, HISTORY_BUFFER_ONCE, PACKET_OUT, 0, NULL},
    {HISTORY_SSE_GATHER, HISTORY_BUFFER_ONCE, PACKET_OUT, 0, NULL},
    {HISTORY_SSE, HISTORY_BUFFER_A_CALL, PACKET_OUT, 40, "40"},
    {HISTORY_SSE, HISTORY_BUFFER_ONCE, PACKET_OUT, 15, "15"},
};

static int run(struct row *r, const tlg_cs16 *in, tlg_cs16 *out)
{
  size_t done_in = 0, done_out = 0;

  while (done_out < MS_OUT) {
    size_t got = r->n_out;

    if (r->history ? history_run(r->history, in + done_in, out + done_out)
                   : tlg_resamp_process(r->ours, in + done_in, r->n_in, out + done_out, MS_OUT - done_out, &got)) {
      return -1;
    }
    done_in += r->n_in;
    done_out += got;
  }
  return 0;
}

static int add_rows(struct row *rows, int *n, const struct tlg_taps *taps)
{
  static const enum tlg_cpu cpus[] = {TLG_CPU_C,      TLG_CPU_SSE2, TLG_CPU_AVX2,
                                      TLG_CPU_AVX512, TLG_CPU_VNNI, TLG_CPU_NEON};
  size_t i;

  for (i = 0; i < sizeof forms / sizeof *forms; i++) {
    struct row *r = &rows[*n];

    if (!history_available(forms[i].form)) {
      fprintf(stderr, "taplag: bench history: '%s' needs SSE2, which is not available here\n",
              history_name(forms[i].form));
      continue;
    }
    r->name = history_name(forms[i].form);
    r->unit = forms[i].n_out == MS_OUT ? "1 ms" : "packet";
    r->reported_us = forms[i].reported_us;
    r->reported_words = forms[i].words;
    r->n_out = forms[i].n_out;
    r->n_in = r->n_out / PACKET_OUT * PACKET_IN;
    r->history = history_new(forms[i].form, forms[i].buffer, taps, PACKET_IN, r->n_out);
    if (!r->history) {
      return -1;
    }
    ++*n;
  }
  for (i = 0; i < sizeof cpus / sizeof *cpus; i++) {
    struct tlg_resamp_cfg cfg = {
        .up = PACKET_OUT, .down = PACKET_IN, .taps = taps, .rounding = TLG_ROUND_USRPL0, .cpu = cpus[i]};
    int whole;

    for (whole = 1; whole >= 0 && tlg_cpu_available(cpus[i]); whole--) {
      struct row *r = &rows[*n];

      r->name = "ours";
      r->cpu = cpus[i];
      r->unit = whole ? "1 ms" : "packet";
      r->n_in = whole ? MS_IN : PACKET_IN;
      r->n_out = whole ? MS_OUT : PACKET_OUT;
      if (tlg_resamp_new(&r->ours, &cfg, NULL)) {
        return -1;
      }
      if (tlg_resamp_cpu(r->ours) != cpus[i]) { /* this filter runs on another kernel */
        tlg_resamp_free(r->ours);
        r->ours = NULL;
        continue;
      }
      ++*n;
    }
  }
  return 0;
}

static const struct row *best_of_ours(const struct row *rows, int n, const char *unit)
{
  const struct row *best = NULL;
  int i;

  for (i = 0; i < n; i++) {
    if (rows[i].ours && strcmp(rows[i].unit, unit) == 0 && (!best || rows[i].median_us < best->median_us)) {
      best = &rows[i];
    }
  }
  return best;
}

static const char *buffer_words(const struct row *rows, const struct row *r)
{
  const size_t i = (size_t)(r - rows);

  return r->ours                                                                        ? ""
         : i < sizeof forms / sizeof *forms && forms[i].buffer == HISTORY_BUFFER_A_CALL ? "each call"
                                                                                        : "once";
}

static int print_table(const struct row *rows, int n, int rounds)
{
  static const char *const units[] = {"1 ms", "packet"};
  char cpu[200];
  int u, i;

  printf(
      "usrpL0's forms and ours: 25 to 30.72 Msps, 10,000 taps Q14, truncated; CPU time, medians of %d rounds\non %s\n",
      rounds, compare_cpu_name(cpu, sizeof cpu));
  for (u = 0; u < 2; u++) {
    const struct row *best = best_of_ours(rows, n, units[u]);

    printf("\n%s\n", u ? "per packet of 768 outputs (25 us)" : "per 1 ms of 30720 outputs, in one call");
    printf("  %-30s %-10s %10s %10s %12s %6s\n", "form", "buffer", "us", "times ours", "report, us", "bytes");
    for (i = 0; i < n; i++) {
      const struct row *r = &rows[i];
      char name[60];

      if (strcmp(r->unit, units[u]) != 0) {
        continue;
      }
      snprintf(name, sizeof name, "%s%s%s", r->name, r->ours ? ", " : "", r->ours ? tlg_cpu_name(r->cpu) : "");
      printf("  %-30s %-10s %10.3f %10.1f %12s %6s\n", name, buffer_words(rows, r), r->median_us,
             best ? r->median_us / best->median_us : 0.0, r->reported_words ? r->reported_words : "",
             r->same ? "same" : "DIFFER");
    }
  }
  return fflush(stdout) != 0 || ferror(stdout) ? 4 : 0;
}

static int print_json(const struct row *rows, int n, int rounds)
{
  json_t *list = json_array(), *measured = json_array(), *o;
  int i;

  for (i = 0; i < n; i++) {
    const struct row *r = &rows[i], *best = best_of_ours(rows, n, r->unit);
    json_t *form = json_pack("{s:s,s:s,s:s,s:b}", "form", r->name, "unit", r->unit, "buffer", buffer_words(rows, r),
                             "same_bytes", r->same);
    json_t *time = json_pack("{s:s,s:s}", "form", r->name, "unit", r->unit);

    if (r->reported_us > 0) {
      json_object_set_new(form, "reported_us", json_real(r->reported_us));
    }
    if (r->ours) {
      json_object_set_new(time, "cpu", json_string(tlg_cpu_name(r->cpu)));
    } else {
      json_array_append(list, form); /* which kernels of ours there are depends on the host */
    }
    json_decref(form);
    json_object_set_new(time, "buffer", json_string(buffer_words(rows, r)));
    json_object_set_new(time, "us", compare_number(r->median_us, 3));
    json_object_set_new(time, "times_ours", compare_number(best ? r->median_us / best->median_us : 0, 2));
    json_array_append_new(measured, time);
  }
  o = json_pack("{s:s,s:o,s:o,s:{s:i,s:o}}", "schema", "taplag/bench-history/1", "forms", list, "host", compare_host(),
                "measured", "rounds", rounds, "medians", measured);
  return compare_print(o);
}

int main(int argc, char **argv)
{
  static const char help[] =
      "usrpL0's own forms, rebuilt from its report (10,000 taps L apart through the prototype), and the library's\n"
      "kernels on the same filter, input and core; each form's bytes are compared. Exit status 1 if they differ.\n\n"
      "      --rounds N    rounds, of which the median is taken (31)\n      --json        print JSON\n";
  static struct row rows[MAX_ROWS];
  static tlg_cs16 in[MS_IN], out[MS_OUT], first[MS_OUT];
  const struct tlg_design design = {
      .rate_in = {25000000, 1}, .rate_out = {30720000, 1}, .n_taps = 10000, .taps_per_phase = 14};
  struct tlg_error err = {.text = ""};
  struct tlg_taps taps;
  int rounds = 31, json = 0, n = 0, i, k, st, differ = 0;
  size_t j;

  st = compare_arguments(argc, argv, "history", help, &rounds, &json);
  if (st) {
    return st < 0 ? 0 : st;
  }
  if (tlg_taps_design(&taps, &design, &err)) {
    fprintf(stderr, "taplag: bench history: %s\n", err.text);
    return 3;
  }
  for (j = 0; j < MS_IN; j++) {
    const uint32_t counter[4] = {(uint32_t)j, 0, 0, 0}, key[2] = {1, 0};
    uint32_t words[4];

    tlg_philox(counter, key, words);
    in[j].i = (int16_t)(words[0] >> 16);
    in[j].q = (int16_t)(words[1] >> 16);
  }
  compare_stay();
  st = add_rows(rows, &n, &taps);
  for (k = -1; k < rounds && !st; k++) { /* the first round warms up and is compared */
    for (i = 0; i < n && !st; i++) {
      const double begin = compare_now_ns();
      double ns;

      st = run(&rows[i], in, i || k >= 0 ? out : first);
      ns = compare_now_ns() - begin;
      if (k < 0) {
        rows[i].same = !i || memcmp(out, first, sizeof first) == 0;
        differ |= !rows[i].same;
      } else {
        rows[i].times[k] = ns / 1e3 / (double)(MS_OUT / rows[i].n_out);
      }
    }
  }
  if (st) {
    fprintf(stderr, "taplag: bench history: out of memory\n");
    return 4;
  }
  for (i = 0; i < n; i++) {
    rows[i].median_us = compare_median(rows[i].times, rounds);
  }
  st = json ? print_json(rows, n, rounds) : print_table(rows, n, rounds);
  for (i = 0; i < n; i++) {
    history_free(rows[i].history);
    tlg_resamp_free(rows[i].ours);
  }
  tlg_taps_free(&taps);
  if (differ) {
    fprintf(stderr, "taplag: bench history: the forms do not give the same bytes\n");
  }
  return st ? st : differ;
}
