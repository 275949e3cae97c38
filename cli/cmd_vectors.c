/* SPDX-License-Identifier: Apache-2.0 */
/* taplag vectors: the golden vectors: list, verify, try, export, accept. */
#include "data.h"
#include "vectors_cli.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int vectors_list(int argc, const char **argv);
static int vectors_accept(int argc, const char **argv);

static const struct cli_command parts[] = {
    {"vectors list", "[ID|GLOB|@FLAG...]", "what the golden vectors are", vectors_list},
    {"vectors verify", "[ID|GLOB|@FLAG...]", "run the set on every kernel and packet cut of this machine",
     vectors_verify},
    {"vectors try", "[ID|GLOB|@FLAG...] -- COMMAND...", "judge a foreign implementation, and say what is wrong with it",
     vectors_try},
    {"vectors export", "ID... --as FORM", "write vectors in other tools' forms", vectors_export},
    {"vectors accept", "[ID|GLOB|@FLAG...] --reason TEXT", "take new expectations, with the reason", vectors_accept},
};

const struct cli_command *cmd_vectors_part(const char *name)
{
  size_t i;

  for (i = 0; i < sizeof parts / sizeof *parts; i++) {
    if (strcmp(parts[i].name, name) == 0) {
      return &parts[i];
    }
  }
  return NULL;
}

int cmd_vectors(int argc, const char **argv)
{
  char name[40];
  size_t i;

  if (argc >= 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
    printf("Usage: taplag vectors list|verify|try|export|accept [options] [arguments]\n\n"
           "Golden vectors: inputs from formulae, and what must come out of the resampler to the last bit.\n\n");
    for (i = 0; i < sizeof parts / sizeof *parts; i++) {
      printf("  %-15s %s\n", parts[i].name, parts[i].summary);
    }
    printf("\nVectors are meant by id, by wildcards ('impulse-*') or by flag ('@core', '@aligned', '@usrpl0', ...).\n"
           "'taplag vectors PART --help' lists the options of a part. They are found in $TAPLAG_DATA/vectors if\n"
           "that is set; else beside the program, or under the prefix it was installed to.\n");
    return cli_finish(argv[0], stdout, CLI_DONE);
  }
  for (i = 0; argc >= 2 && i < sizeof parts / sizeof *parts; i++) {
    snprintf(name, sizeof name, "vectors %.20s", argv[1]);
    if (strcmp(parts[i].name, name) == 0) {
      const char *was = argv[1];
      int status;

      argv[1] = parts[i].name;
      status = parts[i].run(argc - 1, argv + 1);
      argv[1] = was;
      return status;
    }
  }
  return cli_usage(argv[0], "%s%s%s list, verify, try, export or accept; 'taplag vectors --help' tells more",
                   argc >= 2 ? "'" : "", argc >= 2 ? argv[1] : "say", argc >= 2 ? "' is none of" : " what to do:");
}

/* ---- shared ------------------------------------------------------------------------------------------------------ */

int vectors_folder(const char *command, const char *dir, char *path, size_t size)
{
  if (dir) {
    if ((size_t)snprintf(path, size, "%s", dir) >= size) {
      return cli_usage(command, "--dir: the path is too long");
    }
    return 0;
  }
  if (cli_data_find("vectors/manifest.json", path, size)) {
    *strrchr(path, '/') = 0;
    return 0;
  }
  if (cli_data_given()) {
    cli_say(command, "TAPLAG_DATA is %s, but there is no vectors/manifest.json in that folder", cli_data_given());
    return CLI_SYSTEM;
  }
  cli_say(command, "the golden vectors are not found; set TAPLAG_DATA to the folder that holds vectors/manifest.json");
  return CLI_SYSTEM;
}

int vectors_load(const char *command, const char *dir, int flags, struct tlg_manifest **m)
{
  struct tlg_error err = {.offset = UINT64_MAX};
  char path[PATH_MAX];
  const int status = vectors_folder(command, dir, path, sizeof path);

  if (status) {
    return status;
  }
  if (tlg_manifest_load(m, path, flags, &err)) {
    cli_say(command, "%s/%s", path, err.text);
    return cli_status(err.status);
  }
  return 0;
}

int vectors_select(const char *command, const struct tlg_manifest *m, const char *const *patterns, int n_patterns,
                   size_t **chosen, size_t *n)
{
  const size_t size = tlg_manifest_size(m);
  size_t *list = calloc(size ? size : 1, sizeof *list), used = 0, i;
  int k;

  if (!list) {
    cli_say(command, "out of memory");
    return CLI_SYSTEM;
  }
  for (k = 0; k < n_patterns; k++) {
    for (i = 0; i < size && !tlg_manifest_match(tlg_manifest_at(m, i), patterns[k]); i++) {
    }
    if (i == size) {
      free(list);
      return cli_usage(command, "no vector is meant by '%s'; 'taplag vectors list' shows ids and flags", patterns[k]);
    }
  }
  for (i = 0; i < size; i++) {
    int wanted = n_patterns == 0;

    for (k = 0; k < n_patterns; k++) {
      wanted |= tlg_manifest_match(tlg_manifest_at(m, i), patterns[k]);
    }
    if (wanted) {
      list[used++] = i;
    }
  }
  *chosen = list;
  *n = used;
  return 0;
}

void vectors_case_clear(struct vectors_case *c)
{
  tlg_taps_free(&c->taps);
  free(c->in);
  free(c->expected);
  free(c->segments);
  memset(c, 0, sizeof *c);
}

int vectors_case_make(struct vectors_case *c, const struct tlg_vector *v, struct tlg_error *err)
{
  int st;

  memset(c, 0, sizeof *c);
  st = tlg_vector_taps(v, &c->taps, err);
  st = st ? st : tlg_vector_segments(v, c->taps.n, &c->segments, &c->n_segments, &c->outputs, err);
  if (!st) {
    c->q0 = v->align ? (c->taps.n - 1) / 2 : 0;
    c->in = malloc((v->n_in + 1) * sizeof *c->in);
    c->expected = malloc((c->outputs + 1) * sizeof *c->expected);
    st = c->in && c->expected ? tlg_vector_input(v, &c->taps, c->in, err)
                              : tlg_error_set(err, TLG_ENOMEM, "out of memory");
  }
  if (st) {
    vectors_case_clear(c);
  }
  return st;
}

const tlg_cs16 *vectors_case_expected(struct vectors_case *c, const struct tlg_vector *v)
{
  if (!c->made) {
    tlg_vector_expected(v, &c->taps, c->in, c->segments, c->n_segments, c->expected);
    c->made = 1;
  }
  return c->expected;
}

/* ---- list -------------------------------------------------------------------------------------------------------- */

static struct {
  char *dir, *reason;
  int json, plain, schema, dry;
} opt;

static const struct poptOption list_table[] = {
    {"dir", 0, POPT_ARG_STRING, &opt.dir, 0, "the folder with manifest.json", "DIR"},
    {"plain", 0, POPT_ARG_NONE, &opt.plain, 0, "as key=value lines, for programs without JSON", NULL},
    {"json", 0, POPT_ARG_NONE, &opt.json, 0, "as JSON", NULL},
    POPT_TABLEEND,
};

static void print_line(const struct tlg_manifest_entry *e)
{
  const struct tlg_vector *v = &e->vector;
  char ratio[24] = "", outputs[24] = "";

  if (!v->refused) {
    snprintf(ratio, sizeof ratio, "%u/%u", (unsigned)v->up, (unsigned)v->down);
    snprintf(outputs, sizeof outputs, "%llu", (unsigned long long)e->expect.outputs);
  }
  printf("%-28s %11s %7s %s\n", v->id, ratio, v->refused ? "refused" : outputs, e->purpose);
}

static int vectors_list(int argc, const char **argv)
{
  struct tlg_manifest *m = NULL;
  struct cli_options o;
  size_t *chosen = NULL, n = 0, i;
  int st;

  memset(&opt, 0, sizeof opt);
  st = cli_options(&o, argv[0], argc, argv, list_table, NULL, 0, -1);
  if (st >= 0) {
    return st;
  }
  st = vectors_load(argv[0], opt.dir, 0, &m);
  st = st ? st : vectors_select(argv[0], m, o.args, o.n_args, &chosen, &n);
  if (st) {
    goto end;
  }
  if (opt.json) {
    json_t *list = json_array();

    for (i = 0; i < n; i++) {
      char *text = tlg_manifest_json(m, chosen[i]);

      json_array_append_new(list, text ? json_loads(text, 0, NULL) : json_null());
      free(text);
    }
    st = cli_print_json("vectors-list", json_pack("{s:o}", "vectors", list), stdout);
  }
  for (i = 0; i < n && !opt.json; i++) {
    if (opt.plain) {
      char *text = tlg_manifest_plain(m, chosen[i]);

      fputs(text ? text : "", stdout);
      free(text);
    } else {
      print_line(tlg_manifest_at(m, chosen[i]));
    }
  }
  st = cli_finish(argv[0], stdout, st);
end:
  free(chosen);
  tlg_manifest_free(m);
  cli_options_free(&o);
  return st;
}

enum { REASON_LEAST = 10 }; /* bytes: so that there is a sentence and not a word */

/* ---- accept ------------------------------------------------------------------------------------------------------ */

static const struct poptOption accept_table[] = {
    {"dir", 0, POPT_ARG_STRING, &opt.dir, 0, "the folder with manifest.json", "DIR"},
    {"reason", 0, POPT_ARG_STRING, &opt.reason, 0, "why the expectations change: a sentence, which is stored", "TEXT"},
    {"dry-run", 0, POPT_ARG_NONE, &opt.dry, 0, "print the difference, write nothing", NULL},
    POPT_TABLEEND,
};

static int write_file(const char *command, const char *path, const char *text)
{
  struct tlg_error err = {.offset = UINT64_MAX};
  struct tlg_outfile *f = NULL;

  if (tlg_outfile_open(&f, path, 1, &err)) {
    return cli_fail(command, path, &err);
  }
  if (tlg_outfile_write(f, text, strlen(text), &err)) {
    tlg_outfile_abort(f);
    return cli_fail(command, path, &err);
  }
  return tlg_outfile_close(f, &err) ? cli_fail(command, path, &err) : 0;
}

/* Whether the library's plain kernel gives what is about to become the expectation. */
static int agrees(const struct tlg_vector *v, const struct tlg_expect *x, char *text, size_t size)
{
  struct tlg_error err = {.offset = UINT64_MAX};
  struct vectors_case c;
  struct tlg_resamp *r = NULL;
  struct tlg_difference d;
  char broken[160] = "";
  tlg_cs16 *out;
  size_t got = 0;
  int good = 0;

  if (vectors_case_make(&c, v, &err)) {
    snprintf(text, size, "%s", err.text);
    return 0;
  }
  out = malloc((x->outputs + 8) * sizeof *out);
  if (!out || tlg_vector_run(v, &c.taps, c.in, TLG_CPU_C, 0, &r, out, (size_t)x->outputs + 8, &got, broken, &err)) {
    snprintf(text, size, "%s", out ? err.text : "out of memory");
  } else if (tlg_compare(vectors_case_expected(&c, v), (size_t)c.outputs, out, got, &d)) {
    tlg_difference_text(v, c.segments, c.n_segments, c.q0, &d, c.expected, (size_t)c.outputs, out, got, text, size);
  } else if (broken[0]) {
    snprintf(text, size, "%s", broken);
  } else {
    good = 1;
  }
  tlg_resamp_free(r);
  free(out);
  vectors_case_clear(&c);
  return good;
}

static int accept_all(const char *command, struct tlg_manifest *m, const size_t *chosen, size_t n, const char *dir)
{
  struct tlg_error err = {.offset = UINT64_MAX};
  char **files = calloc(n ? n : 1, sizeof *files), *ids = NULL, *text = NULL, path[PATH_MAX + 100];
  size_t i, size, changed = 0;
  FILE *names = open_memstream(&ids, &size);
  int st = files && names ? 0 : CLI_SYSTEM;

  for (i = 0; i < n && !st; i++) {
    const struct tlg_manifest_entry *e = tlg_manifest_at(m, chosen[i]);
    char *changes = NULL, why[500];

    if (tlg_manifest_accept(m, chosen[i], &changes, &files[i], &err)) {
      cli_say(command, "%s: %s", e->vector.id, err.text);
      st = cli_status(err.status);
    } else if (*changes) {
      printf("%s\n%s", e->vector.id, changes);
      fprintf(names, "%s%s", changed++ ? "," : "", e->vector.id);
      if (!agrees(&e->vector, &e->expect, why, sizeof why)) {
        printf("  the resampler does not give this: %s\n", why);
        cli_say(command, "%s: the plain convolution and the resampler disagree; nothing is written", e->vector.id);
        st = CLI_CHECK_FAILED;
      }
    } else {
      free(files[i]);
      files[i] = NULL;
    }
    free(changes);
    cli_progress(command, i + 1, n);
  }
  if (names) {
    fclose(names);
  }
  if (!st) {
    printf("%zu of %zu vectors change%s\n", changed, n, opt.dry ? " (nothing is written)" : "");
  }
  if (!st && !opt.dry) {
    if (tlg_manifest_seal(m, opt.reason, changed ? ids : "(none)", &text, &err)) {
      st = cli_fail(command, NULL, &err);
    }
    snprintf(path, sizeof path, "%s/crc", dir);
    if (!st && mkdir(path, 0777) && access(path, F_OK)) {
      cli_say(command, "%s: cannot be made", path);
      st = CLI_SYSTEM;
    }
    for (i = 0; i < n && !st; i++) {
      if (files[i]) {
        snprintf(path, sizeof path, "%s/crc/%s.txt", dir, tlg_manifest_at(m, chosen[i])->vector.id);
        st = write_file(command, path, files[i]);
      }
    }
    snprintf(path, sizeof path, "%s/manifest.json", dir);
    st = st ? st : write_file(command, path, text); /* last: it vouches for the others */
  }
  for (i = 0; files && i < n; i++) {
    free(files[i]);
  }
  free(files);
  free(ids);
  free(text);
  return st;
}

static int vectors_accept(int argc, const char **argv)
{
  static const char text[] =
      "Expectations come from a plain convolution in 64-bit integers, not from the resampler; if the two disagree,\n"
      "nothing is written. New vectors are added to manifest.json by hand, without \"expect\", and accepted then.\n";
  struct tlg_manifest *m = NULL;
  struct cli_options o;
  char dir[PATH_MAX];
  size_t *chosen = NULL, n = 0;
  int st;

  memset(&opt, 0, sizeof opt);
  st = cli_options(&o, argv[0], argc, argv, accept_table, text, 0, -1);
  if (st >= 0) {
    return st;
  }
  if (!opt.dry && (!opt.reason || strlen(opt.reason) < REASON_LEAST)) {
    st = opt.reason
             ? cli_usage(argv[0], "--reason is too short: at least %d characters that say why the expectations change",
                         REASON_LEAST)
             : cli_usage(argv[0], "--reason TEXT is missing: a sentence that says why the expectations change");
    goto end;
  }
  st = vectors_folder(argv[0], opt.dir, dir, sizeof dir);
  st = st ? st : vectors_load(argv[0], dir, TLG_MANIFEST_UNSEALED, &m);
  st = st ? st : vectors_select(argv[0], m, o.args, o.n_args, &chosen, &n);
  st = st ? st : accept_all(argv[0], m, chosen, n, dir);
  st = cli_finish(argv[0], stdout, st);
end:
  free(chosen);
  tlg_manifest_free(m);
  cli_options_free(&o);
  return st;
}
