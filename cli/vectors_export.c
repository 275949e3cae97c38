/* SPDX-License-Identifier: Apache-2.0 */
/* taplag vectors export: vectors as files for other tools; SigMF and WAV through the writers of recordings. */
#include "vectors_cli.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static struct {
  char *dir, *as, *output;
  int force;
} opt;

static const struct poptOption table[] = {
    {"dir", 0, POPT_ARG_STRING, &opt.dir, 0, "the folder with manifest.json", "DIR"},
    {"as", 0, POPT_ARG_STRING, &opt.as, 0, "raw, sigmf, wav, c, verilog, coe, mem or npy", "FORM"},
    {"output", 'o', POPT_ARG_STRING, &opt.output, 0, "the folder to write to, made if it is not there; default .",
     "DIR"},
    {"force", 0, POPT_ARG_NONE, &opt.force, 0, "overwrite existing files", NULL},
    POPT_TABLEEND,
};

static const char description[] =
    "For each vector: its input, what must come out, and the taps.\n"
    "  raw      ID_in.cs16, ID_out.cs16, ID_taps.txt, ID.json (all parameters)\n"
    "  sigmf    ID_in.sigmf-meta, ID_out.sigmf-meta, their data, ID_taps.txt\n"
    "  wav      ID_in.wav, ID_out.wav, ID_taps.txt\n"
    "  c        ID.h with three arrays\n"
    "  verilog  $readmemh files, packed {Q, I} and I and Q apart, taps as prototype and by phases, and ID_tb.sv, a\n"
    "           self-checking SystemVerilog testbench for a module 'resampler'\n"
    "  coe mem  Xilinx coefficient and memory files of the taps\n"
    "  npy      NumPy arrays of int16: samples of shape (n, 2)\n";

struct place {
  const char *command;
  int status; /* exit status of the first failure */
};

static int out_path(const char *name, char *path, size_t size)
{
  return (size_t)snprintf(path, size, "%s/%s", opt.output ? opt.output : ".", name) < size;
}

/* The same file from an export in another form, say: nothing to do. */
static int is_there_already(const char *path, const void *bytes, size_t n)
{
  FILE *f = fopen(path, "rb");
  char *have = f ? malloc(n + 1) : NULL;
  const int same = have && fread(have, 1, n + 1, f) == n && memcmp(have, bytes, n) == 0;

  free(have);
  if (f) {
    fclose(f);
  }
  return same;
}

static int put_file(void *context, const char *name, const void *bytes, size_t n)
{
  struct place *p = context;
  struct tlg_error err = {.offset = UINT64_MAX};
  struct tlg_outfile *f = NULL;
  char path[PATH_MAX];

  if (!out_path(name, path, sizeof path)) {
    p->status = cli_usage(p->command, "%s: the path is too long", name);
    return TLG_EINVAL;
  }
  if (is_there_already(path, bytes, n)) {
    return TLG_OK;
  }
  if (tlg_outfile_open(&f, path, opt.force, &err)) {
    p->status = cli_fail(p->command, path, &err);
    return err.status;
  }
  if (tlg_outfile_write(f, bytes, n, &err)) {
    tlg_outfile_abort(f);
    p->status = cli_fail(p->command, path, &err);
    return err.status;
  }
  if (tlg_outfile_close(f, &err)) {
    p->status = cli_fail(p->command, path, &err);
    return err.status;
  }
  printf("%s\n", path);
  return TLG_OK;
}

static int put_samples(const char *command, const struct tlg_manifest_entry *e, const char *suffix,
                       const struct tlg_rate *rate, const tlg_cs16 *samples, size_t n)
{
  const struct tlg_writer_cfg cfg = {
      .format = TLG_FORMAT_CS16, .rate = *rate, .force = opt.force, .description = e->purpose};
  struct tlg_error err = {.offset = UINT64_MAX};
  struct tlg_writer *w = NULL;
  char name[128], path[PATH_MAX];

  snprintf(name, sizeof name, "%s%s", e->vector.id, suffix);
  if (!out_path(name, path, sizeof path)) {
    return cli_usage(command, "%s: the path is too long", name);
  }
  if (tlg_writer_open(&w, path, &cfg, &err)) {
    return cli_fail(command, path, &err);
  }
  if (n && tlg_writer_write(w, samples, n, &err)) {
    tlg_writer_abort(w);
    return cli_fail(command, path, &err);
  }
  if (tlg_writer_close(w, &err)) {
    return cli_fail(command, path, &err);
  }
  printf("%s\n", path);
  return 0;
}

/* Input, output and taps as recordings of one kind. */
static int recordings(struct place *p, const struct tlg_manifest_entry *e, struct vectors_case *c,
                      const char *in_suffix, const char *out_suffix)
{
  char name[128], *taps;
  int st;

  st = put_samples(p->command, e, in_suffix, &e->vector.rate_in, c->in, (size_t)e->vector.n_in);
  st = st ? st
          : put_samples(p->command, e, out_suffix, &e->vector.rate_out, vectors_case_expected(c, &e->vector),
                        (size_t)c->outputs);
  taps = tlg_taps_text(&c->taps);
  if (!st && taps) {
    snprintf(name, sizeof name, "%s_taps.txt", e->vector.id);
    st = put_file(p, name, taps, strlen(taps)) ? p->status : 0;
  }
  free(taps);
  return st;
}

static int export_one(struct place *p, const struct tlg_manifest *m, size_t index)
{
  static const struct {
    const char *name;
    enum tlg_export_form form;
  } forms[] = {{"c", TLG_EXPORT_C},
               {"verilog", TLG_EXPORT_VERILOG},
               {"coe", TLG_EXPORT_COE},
               {"mem", TLG_EXPORT_MEM},
               {"npy", TLG_EXPORT_NPY}};
  const struct tlg_manifest_entry *e = tlg_manifest_at(m, index);
  struct tlg_error err = {.offset = UINT64_MAX};
  struct vectors_case c;
  char hex[65], name[128];
  size_t k;
  int st;

  if (e->vector.refused) {
    return cli_usage(p->command, "%s is a refusal: there is nothing to export", e->vector.id);
  }
  if (vectors_case_make(&c, &e->vector, &err)) {
    return cli_fail(p->command, NULL, &err);
  }
  tlg_sha256(vectors_case_expected(&c, &e->vector), (size_t)c.outputs, hex);
  if (strcmp(hex, e->expect.output_sha256) != 0) {
    cli_say(p->command, "%s: what comes out here is not what the manifest states; 'taplag vectors verify' tells more",
            e->vector.id);
    vectors_case_clear(&c);
    return CLI_BAD_INPUT;
  }
  if (strcmp(opt.as, "raw") == 0) {
    char *text = tlg_manifest_json(m, index);

    st = recordings(p, e, &c, "_in.cs16", "_out.cs16");
    snprintf(name, sizeof name, "%s.json", e->vector.id);
    if (!st && text) {
      st = put_file(p, name, text, strlen(text)) ? p->status : 0;
    }
    free(text);
  } else if (strcmp(opt.as, "sigmf") == 0) {
    st = recordings(p, e, &c, "_in.sigmf-meta", "_out.sigmf-meta");
  } else if (strcmp(opt.as, "wav") == 0) {
    st = recordings(p, e, &c, "_in.wav", "_out.wav");
  } else {
    const struct tlg_export x = {
        &e->vector,       e->purpose, &c.taps, c.in, vectors_case_expected(&c, &e->vector), (size_t)e->vector.n_in,
        (size_t)c.outputs};

    st = CLI_USAGE;
    for (k = 0; k < sizeof forms / sizeof *forms; k++) {
      if (strcmp(opt.as, forms[k].name) == 0) {
        p->status = 0;
        st = tlg_export(&x, forms[k].form, put_file, p);
        if (st && !p->status) {
          p->status =
              st == TLG_EINVAL
                  ? cli_usage(p->command, "%s has gaps or a late start, which this form cannot hold", e->vector.id)
                  : CLI_SYSTEM;
        }
        st = st ? p->status : 0;
      }
    }
  }
  vectors_case_clear(&c);
  return st;
}

int vectors_export(int argc, const char **argv)
{
  static const char *const forms[] = {"raw", "sigmf", "wav", "c", "verilog", "coe", "mem", "npy"};
  struct place p = {argv[0], 0};
  struct tlg_manifest *m = NULL;
  struct cli_options o;
  size_t *chosen = NULL, n = 0, i, k;
  int st;

  memset(&opt, 0, sizeof opt);
  st = cli_options(&o, argv[0], argc, argv, table, description, 1, -1);
  if (st >= 0) {
    return st;
  }
  for (k = 0; k < sizeof forms / sizeof *forms && (!opt.as || strcmp(opt.as, forms[k]) != 0); k++) {
  }
  if (k == sizeof forms / sizeof *forms) {
    st = cli_usage(argv[0], "--as %s: it must be raw, sigmf, wav, c, verilog, coe, mem or npy",
                   opt.as ? opt.as : "is missing");
    goto end;
  }
  if (opt.output && mkdir(opt.output, 0777) && errno != EEXIST) {
    cli_say(argv[0], "%s: %s", opt.output, strerror(errno));
    st = CLI_SYSTEM;
    goto end;
  }
  st = vectors_load(argv[0], opt.dir, 0, &m);
  st = st ? st : vectors_select(argv[0], m, o.args, o.n_args, &chosen, &n);
  for (i = 0; i < n && !st; i++) {
    st = export_one(&p, m, chosen[i]);
  }
  st = cli_finish(argv[0], stdout, st);
end:
  free(chosen);
  tlg_manifest_free(m);
  cli_options_free(&o);
  return st;
}
