/* SPDX-License-Identifier: Apache-2.0 */
/* Whether files that a command line names are one and the same, told before any of them is opened for writing. */
#include "names.h"
#include "cli.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file as it is told from others. */
struct identity {
  enum { NO_FILE, BY_INODE, BY_NAME } kind; /* NO_FILE: nothing that could be taken twice */
  dev_t device;
  ino_t inode;
  char *name;
  int is_stdout;
};

struct cli_name {
  const char *option, *text;
  int output;
  struct identity id;
};

/* Files and pipes hold what is written to them; a device like /dev/null may be named twice. */
static int holds_data(const struct stat *st)
{
  return S_ISREG(st->st_mode) || S_ISFIFO(st->st_mode) || S_ISBLK(st->st_mode);
}

/* The full path of a file that does not exist yet; NULL if its folder does not (or when out of memory). */
static char *full_path(const char *path)
{
  const char *slash = strrchr(path, '/');
  char *folder = !slash ? strdup(".") : slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
  char *real = folder ? realpath(folder, NULL) : NULL;
  char *full = NULL;

  if (real && asprintf(&full, "%s/%s", real, slash ? slash + 1 : path) < 0) {
    full = NULL;
  }
  free(folder);
  free(real);
  return full;
}

static void identify(struct identity *id, const char *path, int output)
{
  struct stat st, out;
  const int dash = strcmp(path, "-") == 0;
  const int there = dash ? fstat(output ? STDOUT_FILENO : STDIN_FILENO, &st) == 0 : stat(path, &st) == 0;

  memset(id, 0, sizeof *id);
  if (there && holds_data(&st)) {
    id->kind = BY_INODE;
    id->device = st.st_dev;
    id->inode = st.st_ino;
  } else if (!there && !dash) {
    id->name = full_path(path);
    id->kind = id->name ? BY_NAME : NO_FILE;
  }
  id->is_stdout = output && dash;
  if (output && !dash && there && fstat(STDOUT_FILENO, &out) == 0 && st.st_dev == out.st_dev &&
      st.st_ino == out.st_ino) {
    id->is_stdout = holds_data(&st) || isatty(STDOUT_FILENO);
  }
}

static int same(const struct identity *a, const struct identity *b)
{
  return (a->is_stdout && b->is_stdout) ||
         (a->kind == BY_INODE && b->kind == BY_INODE && a->device == b->device && a->inode == b->inode) ||
         (a->kind == BY_NAME && b->kind == BY_NAME && strcmp(a->name, b->name) == 0);
}

/* Add one file; clashes with what was named before it are refused, but for two files of the same `text`. */
static int add(struct cli_names *names, const char *option, const char *text, const char *path, int output, size_t own)
{
  struct cli_name *more = realloc(names->list, (names->n + 1) * sizeof *more);
  struct cli_name *name;
  size_t i;

  if (!more) {
    cli_say(names->command, "out of memory");
    return CLI_SYSTEM;
  }
  names->list = more;
  name = &more[names->n++];
  name->option = option;
  name->text = text;
  name->output = output;
  identify(&name->id, path, output);
  names->stdout_taken |= name->id.is_stdout;
  for (i = 0; i < own && output; i++) {
    if (!same(&more[i].id, &name->id)) {
      continue;
    }
    if (!more[i].output) {
      return cli_usage(names->command,
                       "%s %s: this is %s%s%s, which is read; --force does not change that, name another", option, text,
                       more[i].option, more[i].option[0] ? " " : "the source ", more[i].text);
    }
    return cli_usage(names->command, "%s %s: named twice: %s %s is the same", option, text, more[i].option,
                     more[i].text);
  }
  return 0;
}

/* path with its ending replaced, if it has that; NULL if not. */
static char *other_ending(const char *path, const char *ending, const char *other)
{
  const size_t n = strlen(path), m = strlen(ending);
  char *name = NULL;

  if (n < m || strcmp(path + n - m, ending) != 0 || asprintf(&name, "%.*s%s", (int)(n - m), path, other) < 0) {
    return NULL;
  }
  return name;
}

/* The data file that a SigMF meta file names, if it names one. */
static char *dataset(const char *meta)
{
  const char *slash = strrchr(meta, '/'), *name;
  char *path = NULL;
  struct stat st;
  json_t *root;

  if (stat(meta, &st) != 0 || !S_ISREG(st.st_mode)) { /* a pipe would be waited for */
    return NULL;
  }
  root = json_load_file(meta, 0, NULL);
  name = json_string_value(json_object_get(json_object_get(root, "global"), "core:dataset"));
  if (name && asprintf(&path, "%.*s%s", slash ? (int)(slash + 1 - meta) : 0, meta, name) < 0) {
    path = NULL;
  }
  json_decref(root);
  return path;
}

static int add_all(struct cli_names *names, const char *option, const char *text, const char *path, int output)
{
  const size_t own = names->n;
  char *data, *meta, *named;
  int status;

  if (!path) {
    return 0;
  }
  data = other_ending(path, ".sigmf-meta", ".sigmf-data");
  meta = other_ending(path, ".sigmf-data", ".sigmf-meta");
  named = output ? NULL : data ? dataset(path) : meta ? dataset(meta) : NULL;
  status = add(names, option, text, path, output, own);
  if (!status && (data || meta)) {
    status = add(names, option, text, data ? data : meta, output, own);
  }
  if (!status && named) {
    status = add(names, option, text, named, output, own);
  }
  free(data);
  free(meta);
  free(named);
  return status;
}

int cli_names_input(struct cli_names *names, const char *option, const char *text, const char *path)
{
  return add_all(names, option, text, path, 0);
}

int cli_names_output(struct cli_names *names, const char *option, const char *text, const char *path)
{
  return add_all(names, option, text, path, 1);
}

void cli_names_free(struct cli_names *names)
{
  size_t i;

  for (i = 0; i < names->n; i++) {
    free(names->list[i].id.name);
  }
  free(names->list);
  memset(names, 0, sizeof *names);
}
