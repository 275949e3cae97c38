/* SPDX-License-Identifier: Apache-2.0 */
/* taplag vectors verify: the whole set on every kernel and packet cut of this machine, in parallel. */
#include "vectors_cli.h"
#include "workers.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct {
  char *dir, *shard, *junit, *cpu, *judge;
  int json, tap, jobs, verbose;
} opt;

static const struct poptOption table[] = {
    {"dir", 0, POPT_ARG_STRING, &opt.dir, 0, "the folder with manifest.json", "DIR"},
    {"cpu", 0, POPT_ARG_STRING, &opt.cpu, 0, "only this kernel: c, sse2, avx2, avx512, vnni, neon", "NAME"},
    {"shard", 0, POPT_ARG_STRING, &opt.shard, 0,
     "part i of n; default from CI_NODE_INDEX/TOTAL or SLURM_ARRAY_TASK_ID/COUNT", "i/n"},
    {"jobs", 'j', POPT_ARG_INT, &opt.jobs, 0, "worker processes; default one a core", "N"},
    {"judge", 0, POPT_ARG_STRING, &opt.judge, 0, "judge outputs that build/verify-plain made elsewhere (- is stdin)",
     "FILE"},
    {"tap", 0, POPT_ARG_NONE, &opt.tap, 0, "results in the Test Anything Protocol", NULL},
    {"junit", 0, POPT_ARG_STRING, &opt.junit, 0, "also write JUnit XML (- is stdout)", "FILE"},
    {"json", 0, POPT_ARG_NONE, &opt.json, 0, "results as JSON", NULL},
    {"verbose", 'v', POPT_ARG_NONE, &opt.verbose, 0, "a line for what passes, too", NULL},
    POPT_TABLEEND,
};

/* One vector by one kernel. */
struct outcome {
  char kernel[16]; /* "" = before any kernel: taps, input, refusal */
  int ok;
  char *text; /* of a failure */
};

struct result {
  struct outcome *outcomes;
  size_t n;
};

struct job {
  const struct tlg_manifest *m;
  const size_t *chosen;
  enum tlg_cpu cpus[8];
  size_t n_cpus;
  struct result *results;
};

/* ---- one vector, in a worker ---------------------------------------------------------------------------------------
 */

static void outcome(json_t *list, const char *kernel, const char *text)
{
  json_array_append_new(list, json_pack("{s:s,s:b,s:s}", "kernel", kernel, "ok", !*text, "text", text));
}

/* Contents of a file that must be refused, through the reader that its name asks for. */
static int file_status(const struct tlg_vector *v, struct tlg_error *err)
{
  char dir[] = "/tmp/taplag-vectors-XXXXXX", path[160];
  const char *suffix = strrchr(v->file_name, '.');
  FILE *f;
  int st = 0;

  if (!mkdtemp(dir)) {
    return tlg_error_set(err, TLG_ESYS, "no temporary folder in /tmp");
  }
  snprintf(path, sizeof path, "%s/%s", dir, v->file_name);
  f = fopen(path, "wb");
  if (!f || fwrite(v->bytes, 1, v->n_bytes, f) != v->n_bytes) {
    st = tlg_error_set(err, TLG_ESYS, "%s cannot be written", path);
  }
  if (f && fclose(f) && !st) {
    st = tlg_error_set(err, TLG_ESYS, "%s cannot be written", path);
  }
  if (!st && suffix && strcmp(suffix, ".taps") == 0) {
    struct tlg_taps taps = {NULL, 0, 0, 0};

    st = tlg_taps_load(&taps, path, err);
    st = st ? st : tlg_taps_check(&taps, err);
    tlg_taps_free(&taps);
  } else if (!st) {
    const struct tlg_reader_cfg cfg = {.rate = v->rate_in};
    struct tlg_reader *r = NULL;
    tlg_cs16 block[256];
    size_t got = 1;
    uint64_t first;

    st = tlg_reader_open(&r, path, &cfg, err);
    while (!st && got) {
      st = tlg_reader_read(r, block, 256, &got, &first, err);
    }
    tlg_reader_close(r);
  }
  unlink(path);
  rmdir(dir);
  return st;
}

static void run_refusal(json_t *list, const struct tlg_vector *v)
{
  struct tlg_error err = {.offset = UINT64_MAX};
  const int st = v->refused == TLG_REFUSED_FILE ? file_status(v, &err) : tlg_vector_refusal(v, &err);
  const int status = st ? cli_status(st) : 0;
  char text[600] = "";

  if (!st) {
    snprintf(text, sizeof text, "it was accepted, but has to be refused with exit status %d", v->exit_status);
  } else if (status != v->exit_status) {
    snprintf(text, sizeof text, "it is refused with exit status %d, but should be with %d (%s)", status, v->exit_status,
             err.text);
  }
  outcome(list, "", text);
}

/* Whether outputs are those of the manifest: hash of all, CRC of each packet. */
static int golden(const struct tlg_manifest_entry *e, const struct vectors_case *c, const tlg_cs16 *out, size_t got)
{
  char hex[65];
  size_t k, at = 0;

  if (got != e->expect.outputs || c->n_segments != e->expect.n_crc) {
    return 0;
  }
  for (k = 0; k < c->n_segments; k++) {
    if (tlg_crc32(out + at, (size_t)c->segments[k].n) != e->expect.crc[k]) {
      return 0;
    }
    at += (size_t)c->segments[k].n;
  }
  tlg_sha256(out, got, hex);
  return strcmp(hex, e->expect.output_sha256) == 0;
}

static size_t first_bad_packet(const struct tlg_manifest_entry *e, const struct vectors_case *c, const tlg_cs16 *out,
                               size_t got)
{
  size_t k, at = 0;

  for (k = 0; k < c->n_segments && k < e->expect.n_crc; k++) {
    if (at + c->segments[k].n > got || tlg_crc32(out + at, (size_t)c->segments[k].n) != e->expect.crc[k]) {
      break;
    }
    at += (size_t)c->segments[k].n;
  }
  return k;
}

/* Why outputs are not golden: against the plain convolution, if that is. */
static void explain(const struct tlg_manifest_entry *e, struct vectors_case *c, const tlg_cs16 *out, size_t got,
                    char *text, size_t size)
{
  struct tlg_difference d;

  if (tlg_compare(vectors_case_expected(c, &e->vector), (size_t)c->outputs, out, got, &d)) {
    tlg_difference_text(&e->vector, c->segments, c->n_segments, c->q0, &d, c->expected, (size_t)c->outputs, out, got,
                        text, size);
    if (!golden(e, c, c->expected, (size_t)c->outputs)) {
      const size_t used = strlen(text);

      snprintf(text + used, size - used, " (the plain convolution is not what the manifest states either)");
    }
  } else {
    snprintf(text, size,
             "the plain convolution gives the same outputs, but the manifest states others from packet %zu on",
             first_bad_packet(e, c, out, got));
  }
}

static int check_sources(json_t *list, const struct tlg_manifest_entry *e, const struct vectors_case *c)
{
  char hex[65], text[400] = "";

  tlg_sha256_taps(&c->taps, hex);
  if (strcmp(hex, e->vector.taps_hash) != 0) {
    snprintf(text, sizeof text, "the taps are others: sha256 %.16s..., the manifest states %.16s... (N = %zu)", hex,
             e->vector.taps_hash, c->taps.n);
  } else {
    tlg_sha256(c->in, (size_t)e->vector.n_in, hex);
    if (strcmp(hex, e->expect.input_sha256) != 0) {
      snprintf(text, sizeof text, "the input is another: sha256 %.16s..., the manifest states %.16s...", hex,
               e->expect.input_sha256);
    }
  }
  if (*text) {
    outcome(list, "", text);
  }
  return *text != 0;
}

static void run_kernel(json_t *list, const struct tlg_manifest_entry *e, struct vectors_case *c, enum tlg_cpu cpu,
                       tlg_cs16 *first, tlg_cs16 *out)
{
  const size_t cap = (size_t)c->outputs + 8;
  struct tlg_resamp *r = NULL;
  size_t cut, good = 0;
  char text[700] = "";

  for (cut = 0; cut < tlg_cuts() && !*text; cut++) {
    struct tlg_error err = {.offset = UINT64_MAX};
    tlg_cs16 *now = cut ? out : first;
    char broken[160], why[500] = "";
    size_t got = 0;

    if (tlg_vector_run(&e->vector, &c->taps, c->in, cpu, cut, &r, now, cap, &got, broken, &err)) {
      snprintf(why, sizeof why, "%s", err.text);
    } else if (cut == 0 ? !golden(e, c, now, got) : got != good || memcmp(first, now, got * sizeof *now) != 0) {
      explain(e, c, now, got, why, sizeof why);
    } else if (*broken) {
      snprintf(why, sizeof why, "the outputs are right, but not %s", broken);
    }
    good = cut ? good : got;
    if (*why) {
      snprintf(text, sizeof text, "cut %s: %s", tlg_cut_name(cut), why);
    }
  }
  tlg_resamp_free(r);
  outcome(list, tlg_cpu_name(cpu), text);
}

static void run_vector(void *context, size_t index, FILE *f)
{
  const struct job *job = context;
  const struct tlg_manifest_entry *e = tlg_manifest_at(job->m, job->chosen[index]);
  json_t *list = json_array();

  if (e->vector.refused) {
    run_refusal(list, &e->vector);
  } else {
    struct tlg_error err = {.offset = UINT64_MAX};
    struct vectors_case c;

    if (vectors_case_make(&c, &e->vector, &err)) {
      outcome(list, "", err.text);
    } else {
      tlg_cs16 *first = malloc((c.outputs + 8) * sizeof *first), *out = malloc((c.outputs + 8) * sizeof *out);
      size_t k;

      if (!first || !out) {
        outcome(list, "", "out of memory");
      } else if (!check_sources(list, e, &c)) {
        for (k = 0; k < job->n_cpus; k++) {
          run_kernel(list, e, &c, job->cpus[k], first, out);
        }
      }
      free(first);
      free(out);
      vectors_case_clear(&c);
    }
  }
  json_dumpf(list, f, JSON_COMPACT);
  json_decref(list);
}

/* ---- collecting ----------------------------------------------------------------------------------------------------
 */

static void add_outcome(struct result *r, const char *kernel, const char *text)
{
  struct outcome *grown = realloc(r->outcomes, (r->n + 1) * sizeof *grown);

  if (grown) {
    r->outcomes = grown;
    snprintf(grown[r->n].kernel, sizeof grown->kernel, "%s", kernel);
    grown[r->n].ok = !*text;
    grown[r->n].text = *text ? strdup(text) : NULL;
    r->n++;
  }
}

static void collect(void *context, size_t index, const char *bytes, size_t n, int crashed)
{
  struct job *job = context;
  struct result *r = &job->results[index];
  json_t *list = bytes ? json_loadb(bytes, n, 0, NULL) : NULL, *item;
  size_t i;

  if (!list) {
    char text[120];

    if (crashed > 0) {
      snprintf(text, sizeof text, "crashed by signal %d (%s)", crashed, strsignal(crashed));
    } else {
      snprintf(text, sizeof text, "ended without a result");
    }
    add_outcome(r, "", text);
    return;
  }
  json_array_foreach(list, i, item)
  {
    add_outcome(r, json_string_value(json_object_get(item, "kernel")),
                json_string_value(json_object_get(item, "text")));
  }
  json_decref(list);
}

/* ---- outputs made elsewhere ----------------------------------------------------------------------------------------
 */

/* A line "taplag-outputs 1 CUTS", then records of verify-plain: "output ID KERNEL CUT N" and 4 N bytes, little endian;
 * "same ID KERNEL CUT"; "broken ID KERNEL CUT TEXT"; "refused ID STATUS"; "end". */
struct judged {
  const struct job *job;
  size_t n;
  struct vectors_case c; /* of vector at, so that it is made once */
  size_t at;
  char kernels[8][16];
  size_t n_kernels;
  unsigned announced;     /* cuts that the stream says it has: bit = cut */
  unsigned char *was_bad; /* of each chosen vector: the outputs that "same" refers to are wrong */
  unsigned *cuts;         /* of each chosen vector and kernel (n * 8): bit = cut that was seen */
};

static size_t judged_vector(const struct judged *j, const char *id)
{
  size_t i;

  for (i = 0; i < j->n; i++) {
    if (strcmp(tlg_manifest_at(j->job->m, j->job->chosen[i])->vector.id, id) == 0) {
      return i;
    }
  }
  return j->n;
}

static size_t judged_kernel(struct judged *j, const char *kernel)
{
  size_t k;

  for (k = 0; k < j->n_kernels; k++) {
    if (strcmp(j->kernels[k], kernel) == 0) {
      return k;
    }
  }
  if (k < 8) {
    snprintf(j->kernels[k], sizeof j->kernels[k], "%s", kernel);
    j->n_kernels++;
  }
  return k;
}

static size_t cut_number(const char *name)
{
  size_t k;

  for (k = 0; k < tlg_cuts() && strcmp(tlg_cut_name(k), name) != 0; k++) {
  }
  return k;
}

static int read_samples(FILE *f, tlg_cs16 *out, size_t n)
{
  unsigned char b[4];
  size_t k;

  for (k = 0; k < n; k++) {
    if (fread(b, 1, 4, f) != 4) {
      return 0;
    }
    out[k].i = (int16_t)(uint16_t)(b[0] | b[1] << 8);
    out[k].q = (int16_t)(uint16_t)(b[2] | b[3] << 8);
  }
  return 1;
}

/* One record of samples or of agreement. Returns 0 if the stream is malformed. */
static int judge_record(struct judged *j, FILE *f, const char *word, char *line)
{
  char id[64], kernel[16], cut_name[16], text[700] = "", why[500];
  unsigned long long n = 0;
  int used = 0;
  size_t i, k, cut;
  const struct tlg_manifest_entry *e;

  if (sscanf(line, "%*s %63s %15s %15s%n", id, kernel, cut_name, &used) != 3) {
    return 0;
  }
  i = judged_vector(j, id);
  k = judged_kernel(j, kernel);
  cut = cut_number(cut_name);
  if (cut == tlg_cuts() || k == 8) {
    return 0;
  }
  if (strcmp(word, "output") == 0) {
    tlg_cs16 *out;

    if (sscanf(line + used, " %llu", &n) != 1 || n > 4000000) {
      return 0;
    }
    out = malloc((n + 1) * sizeof *out);
    if (!out || !read_samples(f, out, (size_t)n)) {
      free(out);
      return 0;
    }
    if (i < j->n) {
      struct tlg_error err = {.offset = UINT64_MAX};

      e = tlg_manifest_at(j->job->m, j->job->chosen[i]);
      if (j->at != i) {
        vectors_case_clear(&j->c);
        j->at = vectors_case_make(&j->c, &e->vector, &err) ? j->n : i;
      }
      if (j->at != i) {
        snprintf(text, sizeof text, "%s", err.text);
      } else if (!golden(e, &j->c, out, (size_t)n)) {
        j->was_bad[i] = 1;
        explain(e, &j->c, out, (size_t)n, why, sizeof why);
        snprintf(text, sizeof text, "cut %s: %s", cut_name, why);
      }
    }
    free(out);
  } else if (strcmp(word, "broken") == 0) {
    snprintf(text, sizeof text, "cut %s: %s", cut_name, line + used + (line[used] == ' '));
  } else if (strcmp(word, "same") != 0) {
    return 0;
  } else if (i < j->n && j->was_bad[i]) {
    snprintf(text, sizeof text, "cut %s: the same wrong outputs as before", cut_name);
  }
  if (i < j->n) {
    j->cuts[i * 8 + k] |= 1u << cut;
    if (*text) {
      add_outcome(&j->job->results[i], kernel, text);
    }
  }
  return 1;
}

static int judge_stream(struct judged *j, FILE *f)
{
  char line[512], cuts[200], *name, *rest = NULL;
  unsigned version = 0;

  if (!fgets(line, sizeof line, f) || sscanf(line, "taplag-outputs %u %199s", &version, cuts) != 2 || version != 1) {
    return 0;
  }
  if (strcmp(cuts, "all") == 0) {
    j->announced = (1u << tlg_cuts()) - 1;
  }
  for (name = strtok_r(cuts, ",", &rest); name && !(j->announced >> tlg_cuts()) && strcmp(name, "all") != 0;
       name = strtok_r(NULL, ",", &rest)) {
    j->announced |= 1u << cut_number(name);
  }
  if (!j->announced || j->announced >> tlg_cuts()) {
    return 0;
  }
  while (fgets(line, sizeof line, f)) {
    char word[16], id[64];
    int status;
    size_t i;

    line[strcspn(line, "\n")] = 0;
    if (sscanf(line, "%15s", word) != 1) {
      return 0;
    }
    if (strcmp(word, "end") == 0) {
      return 1;
    }
    if (strcmp(word, "refused") == 0) {
      if (sscanf(line, "%*s %63s %d", id, &status) != 2) {
        return 0;
      }
      i = judged_vector(j, id);
      if (i < j->n) {
        const struct tlg_vector *v = &tlg_manifest_at(j->job->m, j->job->chosen[i])->vector;
        char text[120] = "";

        if ((status ? cli_status(status) : 0) != v->exit_status) {
          snprintf(text, sizeof text, "gave status %d, should be refused with exit status %d", status, v->exit_status);
        }
        add_outcome(&j->job->results[i], "", text);
      }
    } else if (!judge_record(j, f, word, line)) {
      return 0;
    }
  }
  return 0; /* no "end" */
}

static int judge(const char *command, struct job *job, size_t n)
{
  struct judged j = {.job = job, .n = n, .at = n};
  FILE *f = strcmp(opt.judge, "-") == 0 ? stdin : fopen(opt.judge, "rb");
  size_t i, k;
  int whole;

  if (!f) {
    cli_say(command, "%s: cannot be read", opt.judge);
    return CLI_SYSTEM;
  }
  j.cuts = calloc(8 * (n ? n : 1), sizeof *j.cuts);
  j.was_bad = calloc(n ? n : 1, 1);
  if (!j.cuts || !j.was_bad) {
    cli_say(command, "out of memory");
    return CLI_SYSTEM;
  }
  whole = judge_stream(&j, f);
  if (f != stdin) {
    fclose(f);
  }
  vectors_case_clear(&j.c);
  for (i = 0; i < n && whole; i++) {
    const struct tlg_vector *v = &tlg_manifest_at(job->m, job->chosen[i])->vector;

    if (v->refused) {
      if (!job->results[i].n && v->refused != TLG_REFUSED_FILE) {
        add_outcome(&job->results[i], "", "there is no record of it");
      }
      continue;
    }
    for (k = 0; k < (j.n_kernels ? j.n_kernels : 1); k++) {
      size_t o, failed = 0;

      for (o = 0; o < job->results[i].n; o++) {
        failed += strcmp(job->results[i].outcomes[o].kernel, j.kernels[k]) == 0;
      }
      if (j.cuts[i * 8 + k] != j.announced && !failed) {
        add_outcome(&job->results[i], j.n_kernels ? j.kernels[k] : "", "packet cuts are missing from the outputs");
      } else if (!failed) {
        add_outcome(&job->results[i], j.kernels[k], "");
      }
    }
  }
  free(j.cuts);
  free(j.was_bad);
  if (!whole) {
    cli_say(command, "%s: not the complete output of verify-plain: it is damaged or cut", opt.judge);
    return CLI_BAD_INPUT;
  }
  return 0;
}

/* ---- reports -------------------------------------------------------------------------------------------------------
 */

static void outcome_name(const struct tlg_manifest_entry *e, const struct outcome *o, char *name, size_t size)
{
  snprintf(name, size, "%s%s%s", e->vector.id, o->kernel[0] ? "/" : "", o->kernel);
}

static void print_tap(const struct job *job, size_t n)
{
  size_t i, k, total = 0, number = 0;
  char name[96];

  for (i = 0; i < n; i++) {
    total += job->results[i].n;
  }
  printf("TAP version 13\n1..%zu%s\n", total, total ? "" : " # SKIP no vector falls to this shard");
  for (i = 0; i < n; i++) {
    for (k = 0; k < job->results[i].n; k++) {
      const struct outcome *o = &job->results[i].outcomes[k];
      const char *c;

      outcome_name(tlg_manifest_at(job->m, job->chosen[i]), o, name, sizeof name);
      printf("%sok %zu - %s\n", o->ok ? "" : "not ", ++number, name);
      if (!o->ok) {
        printf("  ---\n  message: \"");
        for (c = o->text; *c; c++) {
          if (*c == '"' || *c == '\\') {
            putchar('\\');
          }
          putchar((unsigned char)*c < 32 ? ' ' : *c);
        }
        printf("\"\n  ...\n");
      }
    }
  }
}

/* Text for XML 1.0: markup escaped, characters that XML cannot hold replaced. */
static void put_xml(FILE *f, const char *text)
{
  for (; *text; text++) {
    const unsigned char c = (unsigned char)*text;

    switch (c) {
    case '&':
      fputs("&amp;", f);
      break;
    case '<':
      fputs("&lt;", f);
      break;
    case '>':
      fputs("&gt;", f);
      break;
    case '"':
      fputs("&quot;", f);
      break;
    default:
      fputc(c < 32 || c > 126 ? '?' : c, f);
    }
  }
}

static void print_junit(FILE *f, const struct job *job, size_t n, size_t total, size_t failed)
{
  size_t i, k;

  fprintf(f,
          "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"taplag vectors verify\" tests=\"%zu\" "
          "failures=\"%zu\" errors=\"0\">\n<testsuite name=\"taplag vectors verify\" tests=\"%zu\" failures=\"%zu\" "
          "errors=\"0\" skipped=\"0\">\n",
          total, failed, total, failed);
  for (i = 0; i < n; i++) {
    const struct tlg_manifest_entry *e = tlg_manifest_at(job->m, job->chosen[i]);

    for (k = 0; k < job->results[i].n; k++) {
      const struct outcome *o = &job->results[i].outcomes[k];

      fputs("<testcase classname=\"taplag.vectors.", f);
      put_xml(f, o->kernel[0] ? o->kernel : "any");
      fputs("\" name=\"", f);
      put_xml(f, e->vector.id);
      if (o->ok) {
        fputs("\"/>\n", f);
      } else {
        fputs("\"><failure message=\"", f);
        put_xml(f, o->text);
        fputs("\">", f);
        put_xml(f, e->purpose);
        fputs("</failure></testcase>\n", f);
      }
    }
  }
  fputs("</testsuite>\n</testsuites>\n", f);
}

static int write_junit(const char *command, const struct job *job, size_t n, size_t total, size_t failed)
{
  struct tlg_error err = {.offset = UINT64_MAX};
  struct tlg_outfile *out = NULL;
  char *text = NULL;
  size_t size;
  FILE *f;
  int st = 0;

  if (strcmp(opt.junit, "-") == 0) {
    print_junit(stdout, job, n, total, failed);
    return 0;
  }
  f = open_memstream(&text, &size);
  if (!f) {
    cli_say(command, "out of memory");
    return CLI_SYSTEM;
  }
  print_junit(f, job, n, total, failed);
  if (fclose(f) != 0) {
    free(text);
    cli_say(command, "out of memory");
    return CLI_SYSTEM;
  }
  if (tlg_outfile_open(&out, opt.junit, 1, &err)) { /* a report is renewed by each run of a CI job */
    st = cli_fail(command, opt.junit, &err);
  } else if (tlg_outfile_write(out, text, size, &err)) {
    tlg_outfile_abort(out);
    st = cli_fail(command, opt.junit, &err);
  } else if (tlg_outfile_close(out, &err)) {
    st = cli_fail(command, opt.junit, &err);
  }
  free(text);
  return st;
}

/* Which kernels ran differs from host to host and stands under "host"; failures name theirs. */
static int print_json(const struct job *job, size_t n, size_t bad_vectors, unsigned shard, unsigned shards)
{
  json_t *o = json_object(), *list = json_array(), *kernels = json_array();
  size_t i, k;

  for (i = 0; i < n; i++) {
    const struct tlg_manifest_entry *e = tlg_manifest_at(job->m, job->chosen[i]);
    json_t *item = json_object(), *failures = json_array();

    for (k = 0; k < job->results[i].n; k++) {
      const struct outcome *x = &job->results[i].outcomes[k];

      if (!x->ok) {
        json_array_append_new(failures, json_pack("{s:s,s:s}", "kernel", x->kernel, "text", x->text));
      }
    }
    json_object_set_new(item, "id", json_string(e->vector.id));
    json_object_set_new(item, "ok", json_boolean(json_array_size(failures) == 0));
    if (json_array_size(failures)) {
      json_object_set_new(item, "failures", failures);
    } else {
      json_decref(failures);
    }
    json_array_append_new(list, item);
  }
  for (k = 0; k < job->n_cpus && !opt.judge; k++) {
    json_array_append_new(kernels, json_string(tlg_cpu_name(job->cpus[k])));
  }
  json_object_set_new(o, "shard", json_pack("{s:I,s:I}", "part", (json_int_t)shard, "of", (json_int_t)shards));
  json_object_set_new(o, "passed", json_integer((json_int_t)(n - bad_vectors)));
  json_object_set_new(o, "failed", json_integer((json_int_t)bad_vectors));
  json_object_set_new(o, "cuts", json_integer((json_int_t)tlg_cuts()));
  json_object_set_new(o, "vectors", list);
  json_object_set_new(o, "host", json_pack("{s:o}", "kernels", kernels));
  return cli_print_json("vectors-verify", o, stdout);
}

static void print_text(const struct job *job, size_t n, size_t total, size_t failed)
{
  size_t i, k;
  char name[96];

  for (i = 0; i < n; i++) {
    for (k = 0; k < job->results[i].n; k++) {
      const struct outcome *o = &job->results[i].outcomes[k];

      outcome_name(tlg_manifest_at(job->m, job->chosen[i]), o, name, sizeof name);
      if (!o->ok) {
        printf("FAIL %s: %s\n", name, o->text);
      } else if (opt.verbose) {
        printf("ok   %s\n", name);
      }
    }
  }
  if (!n) {
    printf("no vector falls to this shard: nothing was tried\n");
    return;
  }
  printf("%zu vector%s", n, n == 1 ? "" : "s");
  if (!opt.judge) {
    printf(", %zu packet cuts, kernels", tlg_cuts());
    for (k = 0; k < job->n_cpus; k++) {
      printf(" %s", tlg_cpu_name(job->cpus[k]));
    }
  }
  printf(": %zu passed, %zu failed\n", total - failed, failed);
}

/* ---- shards --------------------------------------------------------------------------------------------------------
 */

static int number(const char *text, unsigned *value)
{
  char *end;
  unsigned long n;

  if (!text || !isdigit((unsigned char)*text)) {
    return 0;
  }
  n = strtoul(text, &end, 10);
  *value = (unsigned)n;
  return !*end && n <= 100000;
}

static int find_shard(const char *command, unsigned *shard, unsigned *of)
{
  const char *index = getenv("CI_NODE_INDEX"), *total = getenv("CI_NODE_TOTAL");
  unsigned least = 0;

  *shard = *of = 1;
  if (opt.shard) {
    int used = 0;

    if (sscanf(opt.shard, "%u/%u%n", shard, of, &used) != 2 || opt.shard[used] || *shard < 1 || *shard > *of ||
        *of > 100000) {
      return cli_usage(command, "--shard %s: it must be i/n with i from 1 to n", opt.shard);
    }
    return 0;
  }
  if (index && total) {
    if (!number(index, shard) || !number(total, of) || *shard < 1 || *shard > *of) {
      return cli_usage(command, "CI_NODE_INDEX is '%s' and CI_NODE_TOTAL '%s': they must be i and n with i from 1 to n",
                       index, total);
    }
    cli_say(command, "part %u of %u, as CI_NODE_INDEX and CI_NODE_TOTAL say", *shard, *of);
    return 0;
  }
  index = getenv("SLURM_ARRAY_TASK_ID");
  total = getenv("SLURM_ARRAY_TASK_COUNT");
  if (index && total) {
    if (getenv("SLURM_ARRAY_TASK_MIN") && !number(getenv("SLURM_ARRAY_TASK_MIN"), &least)) {
      return cli_usage(command, "SLURM_ARRAY_TASK_MIN is no number");
    }
    if (!number(index, shard) || !number(total, of) || *shard < least || *shard - least >= *of) {
      return cli_usage(command,
                       "SLURM_ARRAY_TASK_ID is '%s', the first %u and SLURM_ARRAY_TASK_COUNT '%s': not a part of an "
                       "array without holes",
                       index, least, total);
    }
    *shard += 1 - least;
    cli_say(command, "part %u of %u, as SLURM_ARRAY_TASK_ID and SLURM_ARRAY_TASK_COUNT say", *shard, *of);
  }
  return 0;
}

/* ---- the command ---------------------------------------------------------------------------------------------------
 */

static int choose_kernels(const char *command, struct job *job)
{
  enum tlg_cpu only = TLG_CPU_AUTO;
  int cpu, st;

  st = cli_cpu(command, "--cpu", opt.cpu, &only);
  if (st) {
    return st;
  }
  for (cpu = TLG_CPU_C; cpu <= TLG_CPU_NEON; cpu++) {
    if (tlg_cpu_available((enum tlg_cpu)cpu) && (only == TLG_CPU_AUTO || only == (enum tlg_cpu)cpu)) {
      job->cpus[job->n_cpus++] = (enum tlg_cpu)cpu;
    }
  }
  if (!job->n_cpus) {
    cli_say(command, "--cpu %s: this CPU or this build has no such kernel", opt.cpu);
    return CLI_UNAVAILABLE;
  }
  return 0;
}

int vectors_verify(int argc, const char **argv)
{
  static const char text[] =
      "Every vector runs on every kernel of this CPU and in every packet cut; each promise of the\n"
      "interface (bounds, positions, delays, refusals) is checked on the way. A failure is one\n"
      "line. Exit status 1 if one fails, 3 if the manifest or a CRC file is damaged.\n";
  struct job job = {.n_cpus = 0};
  struct cli_workers workers = {.run = run_vector, .result = collect, .context = &job};
  struct tlg_manifest *m = NULL;
  struct cli_options o;
  size_t *chosen = NULL, n = 0, i, k, total = 0, failed = 0, bad_vectors = 0;
  unsigned shard, shards;
  int st;

  memset(&opt, 0, sizeof opt);
  st = cli_options(&o, argv[0], argc, argv, table, text, 0, -1);
  if (st >= 0) {
    return st;
  }
  if (opt.jobs < 0 || opt.tap + opt.json + (opt.junit && strcmp(opt.junit, "-") == 0) > 1) {
    st = cli_usage(argv[0], opt.jobs < 0 ? "--jobs must be above 0"
                                         : "only one of --tap, --json and --junit - can go to stdout");
    goto end;
  }
  st = find_shard(argv[0], &shard, &shards);
  st = st ? st : choose_kernels(argv[0], &job);
  st = st ? st : vectors_load(argv[0], opt.dir, 0, &m);
  st = st ? st : vectors_select(argv[0], m, o.args, o.n_args, &chosen, &n);
  if (st) {
    goto end;
  }
  for (i = 0, k = 0; i < n; i++) {
    if (i % shards == shard - 1) {
      chosen[k++] = chosen[i];
    }
  }
  n = k;
  job.m = m;
  job.chosen = chosen;
  job.results = calloc(n ? n : 1, sizeof *job.results);
  if (!job.results) {
    cli_say(argv[0], "out of memory");
    st = CLI_SYSTEM;
    goto end;
  }
  workers.n_jobs = n;
  workers.n_workers = (unsigned)opt.jobs;
  cli_catch_signals();
  st = opt.judge ? judge(argv[0], &job, n) : cli_workers_run(argv[0], &workers);
  if (st) {
    goto end;
  }
  for (i = 0; i < n; i++) {
    size_t bad = 0;

    for (k = 0; k < job.results[i].n; k++) {
      bad += !job.results[i].outcomes[k].ok;
    }
    total += job.results[i].n;
    failed += bad;
    bad_vectors += bad > 0;
  }
  if (opt.junit) {
    st = write_junit(argv[0], &job, n, total, failed);
  }
  if (opt.tap) {
    print_tap(&job, n);
  } else if (opt.json) {
    const int bad = print_json(&job, n, bad_vectors, shard, shards);

    st = st ? st : bad;
  } else if (!opt.junit || strcmp(opt.junit, "-") != 0) {
    print_text(&job, n, total, failed);
  }
  st = st ? st : failed ? CLI_CHECK_FAILED : CLI_DONE;
  st = cli_finish(argv[0], stdout, cli_exit_stopped(st));
end:
  for (i = 0; job.results && i < n; i++) {
    for (k = 0; k < job.results[i].n; k++) {
      free(job.results[i].outcomes[k].text);
    }
    free(job.results[i].outcomes);
  }
  free(job.results);
  free(chosen);
  tlg_manifest_free(m);
  cli_options_free(&o);
  return st;
}
