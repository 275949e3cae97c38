/* SPDX-License-Identifier: Apache-2.0 */
/* taplag vectors try: runs a foreign implementation over vectors, judges its output and says what is wrong with it. */
#include "vectors_cli.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct {
  char *dir, *lsb, *db, *timeout, *shrink;
  int exact, json, force, verbose;
} opt;

static const struct poptOption table[] = {
    {"dir", 0, POPT_ARG_STRING, &opt.dir, 0, "the folder with manifest.json", "DIR"},
    {"exact", 0, POPT_ARG_NONE, &opt.exact, 0, "judge to the last bit, whatever tolerance a vector states", NULL},
    {"lsb", 0, POPT_ARG_STRING, &opt.lsb, 0, "allow differences of N in each component", "N"},
    {"db", 0, POPT_ARG_STRING, &opt.db, 0, "ask for a signal to error of X dB only", "X"},
    {"timeout", 0, POPT_ARG_STRING, &opt.timeout, 0, "how long the command may take for a vector; default 10s", "TIME"},
    {"shrink", 0, POPT_ARG_STRING, &opt.shrink, 0,
     "find the shortest input that still fails; it goes to FILE, what should come out to FILE.expected (cs16)", "FILE"},
    {"force", 0, POPT_ARG_NONE, &opt.force, 0, "overwrite these files", NULL},
    {"json", 0, POPT_ARG_NONE, &opt.json, 0, "results as JSON", NULL},
    {"verbose", 'v', POPT_ARG_NONE, &opt.verbose, 0, "a line for what passes, too", NULL},
    POPT_TABLEEND,
};

static const char description[] =
    "COMMAND gets the input as cs16 (little endian, I then Q) on standard input and gives its output on standard "
    "output;\n"
    "{in} and {out} in its arguments stand for file names instead. Other placeholders: {params} (a JSON file with\n"
    "everything, taps included), {taps} (a text file: one tap a line), {up} {down} {rate_in} {rate_out} {shift} "
    "{n_taps}\n"
    "{rounding} {align} {flush} {packet} {inputs} {outputs} {id}. Without patterns the vectors with the flag 'core' "
    "are\n"
    "taken: 768/625 with the default taps. Exit status 1 if one fails.\n";

/* How a run of the command ended. */
enum ending { ENDED, FAILED, CRASHED, HUNG, NOT_FOUND };

struct run {
  const char *command; /* ours, for messages */
  char *const *args;
  char folder[64];
  double timeout;
  unsigned runs;
};

/* What the command is given and what it made of it. */
struct attempt {
  const struct tlg_vector *v;
  const struct tlg_taps *taps;
  const tlg_cs16 *in;
  struct tlg_segment *segments;
  size_t n_segments;
  tlg_cs16 *expected, *got;
  size_t n_expected, n_got, odd_bytes;
  enum ending ending;
  int code;             /* exit status or signal */
  char last_words[160]; /* of its standard error */
};

/* ---- files for the command ------------------------------------------------------------------------------------------
 */

static int write_samples(const char *path, const tlg_cs16 *samples, size_t n)
{
  FILE *f = fopen(path, "wb");
  size_t k;

  if (!f) {
    return -1;
  }
  for (k = 0; k < n; k++) {
    const uint16_t i = (uint16_t)samples[k].i, q = (uint16_t)samples[k].q;

    fputc(i & 255, f);
    fputc(i >> 8, f);
    fputc(q & 255, f);
    fputc(q >> 8, f);
  }
  return fclose(f);
}

static int read_output(const char *path, struct attempt *a)
{
  FILE *f = fopen(path, "rb");
  struct stat info;
  unsigned char b[4];
  size_t got;

  if (!f) {
    return errno == ENOENT ? 0 : -1; /* nothing was written: no outputs */
  }
  if (fstat(fileno(f), &info) || !(a->got = malloc((size_t)info.st_size + 4))) {
    fclose(f);
    return -1;
  }
  while ((got = fread(b, 1, 4, f)) == 4) {
    a->got[a->n_got].i = (int16_t)(uint16_t)(b[0] | b[1] << 8);
    a->got[a->n_got++].q = (int16_t)(uint16_t)(b[2] | b[3] << 8);
    if (4 * a->n_got + 4 > (size_t)info.st_size + 4) {
      break;
    }
  }
  a->odd_bytes = got < 4 ? got : 0;
  fclose(f);
  return 0;
}

static int write_params(const char *path, const struct attempt *a)
{
  const struct tlg_vector *v = a->v;
  json_t *o = json_object(), *list = json_array(), *packets = json_array();
  size_t k;
  int bad;

  for (k = 0; k < a->taps->n; k++) {
    json_array_append_new(list, json_integer(a->taps->h[k]));
  }
  for (k = 0; k < a->n_segments; k++) {
    const uint64_t end = k + 1 < a->n_segments ? a->segments[k + 1].input : v->n_in;

    json_array_append_new(packets, json_integer((json_int_t)(end - a->segments[k].input)));
  }
  json_object_set_new(o, "schema", json_string("taplag/vectors-try-parameters/1"));
  json_object_set_new(o, "id", json_string(v->id));
  json_object_set_new(o, "rate_in", cli_rate_json(&v->rate_in));
  json_object_set_new(o, "rate_out", cli_rate_json(&v->rate_out));
  json_object_set_new(o, "up", json_integer((json_int_t)v->up));
  json_object_set_new(o, "down", json_integer((json_int_t)v->down));
  json_object_set_new(o, "rounding", json_string(v->rounding == TLG_ROUND_NEAREST ? "nearest" : "usrpl0"));
  json_object_set_new(o, "align", json_boolean(v->align));
  json_object_set_new(o, "flush", json_boolean(v->flush));
  json_object_set_new(o, "inputs", json_integer((json_int_t)v->n_in));
  json_object_set_new(o, "outputs", json_integer((json_int_t)a->n_expected));
  json_object_set_new(o, "packets", packets);
  json_object_set_new(o, "shift", json_integer((json_int_t)a->taps->shift));
  json_object_set_new(o, "taps", list);
  bad = json_dump_file(o, path, JSON_COMPACT | JSON_PRESERVE_ORDER);
  json_decref(o);
  return bad;
}

static int write_taps(const char *path, const struct tlg_taps *taps)
{
  char *text = tlg_taps_text(taps);
  FILE *f = text ? fopen(path, "w") : NULL;
  int bad = !f || fputs(text, f) == EOF;

  if (f) {
    bad |= fclose(f) != 0;
  }
  free(text);
  return bad;
}

static void rate_plain(const struct tlg_rate *r, char *text, size_t size)
{
  snprintf(text, size, r->den > 1 ? "%llu/%llu" : "%llu", (unsigned long long)r->num, (unsigned long long)r->den);
}

/* An argument with its placeholders filled in; to be freed. *files: bit 0 = {in}, bit 1 = {out} was there. */
static char *fill(const struct run *r, const struct attempt *a, const char *arg, unsigned *files)
{
  const struct tlg_vector *v = a->v;
  char text[sizeof r->folder + 16], in_hz[48], out_hz[48];
  char *out = NULL;
  size_t size;
  FILE *f = open_memstream(&out, &size);

  if (!f) {
    return NULL;
  }
  rate_plain(&v->rate_in, in_hz, sizeof in_hz);
  rate_plain(&v->rate_out, out_hz, sizeof out_hz);
  while (*arg) {
    const char *end = *arg == '{' ? strchr(arg, '}') : NULL;
    const size_t n = end ? (size_t)(end - arg) + 1 : 0;
    int known = 1;

#define IS(name) (n == sizeof("{" name "}") - 1 && memcmp(arg, "{" name "}", n) == 0)
    if (IS("in") || IS("out") || IS("params") || IS("taps")) {
      snprintf(text, sizeof text, "%s/%.*s%s", r->folder, (int)n - 2, arg + 1,
               IS("params") ? ".json"
               : IS("taps") ? ".txt"
                            : ".cs16");
      fputs(text, f);
      *files |= IS("in") ? 1u : IS("out") ? 2u : 0u;
    } else if (IS("up")) {
      fprintf(f, "%u", (unsigned)v->up);
    } else if (IS("down")) {
      fprintf(f, "%u", (unsigned)v->down);
    } else if (IS("rate_in")) {
      fputs(in_hz, f);
    } else if (IS("rate_out")) {
      fputs(out_hz, f);
    } else if (IS("shift")) {
      fprintf(f, "%u", a->taps->shift);
    } else if (IS("n_taps")) {
      fprintf(f, "%zu", a->taps->n);
    } else if (IS("rounding")) {
      fputs(v->rounding == TLG_ROUND_NEAREST ? "nearest" : "usrpl0", f);
    } else if (IS("align")) {
      fputs(v->align ? "1" : "0", f);
    } else if (IS("flush")) {
      fputs(v->flush ? "1" : "0", f);
    } else if (IS("packet")) {
      fprintf(f, "%u", v->n_packets ? (unsigned)v->packets[0] : 625u);
    } else if (IS("inputs")) {
      fprintf(f, "%llu", (unsigned long long)v->n_in);
    } else if (IS("outputs")) {
      fprintf(f, "%zu", a->n_expected);
    } else if (IS("id")) {
      fputs(v->id, f);
    } else {
      known = 0;
      fputc(*arg++, f);
    }
#undef IS
    arg += known ? n : 0;
  }
  fclose(f);
  return out;
}

/* ---- one run
 * --------------------------------------------------------------------------------------------------------- */

static void child(const struct run *r, char *const *args, unsigned files, size_t n_expected)
{
  char path[sizeof r->folder + 16];
  const struct rlimit none = {0, 0};
  const rlim_t most = 16 * 4 * (rlim_t)n_expected + (1 << 20); /* a command that writes without end */
  const struct rlimit size = {most, most};
  int fd;

  setpgid(0, 0);
  setrlimit(RLIMIT_CORE, &none);
  setrlimit(RLIMIT_FSIZE, &size);
  snprintf(path, sizeof path, "%s/in.cs16", r->folder);
  fd = open(files & 1 ? "/dev/null" : path, O_RDONLY);
  dup2(fd, STDIN_FILENO);
  snprintf(path, sizeof path, "%s/out.cs16", r->folder);
  fd = files & 2 ? open("/dev/null", O_WRONLY) : open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  dup2(fd, STDOUT_FILENO);
  snprintf(path, sizeof path, "%s/err", r->folder);
  fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  dup2(fd, STDERR_FILENO);
  for (fd = 3; fd < 64; fd++) {
    close(fd);
  }
  signal(SIGPIPE, SIG_DFL);
  signal(SIGXFSZ, SIG_DFL);
  signal(SIGINT, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
  execvp(args[0], args);
  _exit(errno == ENOENT || errno == EACCES ? 127 : 126);
}

static double seconds(void)
{
  struct timespec now;

  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void wait_for(const struct run *r, struct attempt *a, pid_t pid)
{
  const double start = seconds();
  long pause = 200000;
  int how = 0;

  for (;;) {
    const pid_t got = waitpid(pid, &how, WNOHANG);
    struct timespec nap = {0, pause};

    if (got == pid) {
      break;
    }
    if (seconds() - start > r->timeout || cli_stop) {
      kill(-pid, SIGKILL);
      kill(pid, SIGKILL);
      waitpid(pid, &how, 0);
      a->ending = HUNG;
      return;
    }
    nanosleep(&nap, NULL);
    pause = pause < 10000000 ? 2 * pause : pause;
  }
  kill(-pid, SIGKILL); /* what it may have left behind */
  a->ending = WIFSIGNALED(how) ? CRASHED : WEXITSTATUS(how) == 127 ? NOT_FOUND : WEXITSTATUS(how) ? FAILED : ENDED;
  a->code = WIFSIGNALED(how) ? WTERMSIG(how) : WEXITSTATUS(how);
}

static void hear_last_words(const struct run *r, struct attempt *a)
{
  char path[sizeof r->folder + 16], line[sizeof a->last_words];
  FILE *f;

  snprintf(path, sizeof path, "%s/err", r->folder);
  f = fopen(path, "r");
  while (f && fgets(line, sizeof line, f)) {
    line[strcspn(line, "\n")] = 0;
    if (*line) {
      memcpy(a->last_words, line, sizeof line);
    }
  }
  if (f) {
    fclose(f);
  }
}

/* Run the command on a->in. Returns 0, or the exit status after a message when this side failed. */
static int run_once(struct run *r, struct attempt *a)
{
  char path[sizeof r->folder + 16], **args;
  unsigned files = 0;
  size_t n = 0, k;
  pid_t pid;
  int bad;

  free(a->got);
  a->got = NULL;
  a->n_got = a->odd_bytes = 0;
  a->last_words[0] = 0;
  r->runs++;
  while (r->args[n]) {
    n++;
  }
  args = calloc(n + 1, sizeof *args);
  if (!args) {
    cli_say(r->command, "out of memory");
    return CLI_SYSTEM;
  }
  for (k = 0; k < n; k++) {
    args[k] = fill(r, a, r->args[k], &files);
  }
  snprintf(path, sizeof path, "%s/out.cs16", r->folder);
  unlink(path);
  snprintf(path, sizeof path, "%s/in.cs16", r->folder);
  bad = write_samples(path, a->in, (size_t)a->v->n_in);
  snprintf(path, sizeof path, "%s/params.json", r->folder);
  bad |= write_params(path, a);
  snprintf(path, sizeof path, "%s/taps.txt", r->folder);
  bad |= write_taps(path, a->taps);
  if (!bad) {
    fflush(NULL);
    pid = fork();
    if (pid == 0) {
      child(r, args, files, a->n_expected);
    }
    if (pid > 0) {
      wait_for(r, a, pid);
      hear_last_words(r, a);
      snprintf(path, sizeof path, "%s/out.cs16", r->folder);
      bad = read_output(path, a);
    } else {
      bad = 1;
    }
  }
  for (k = 0; k < n; k++) {
    free(args[k]);
  }
  free(args);
  if (bad) {
    cli_say(r->command, "%s: files for the command cannot be written or read: %s", r->folder, strerror(errno));
    return CLI_SYSTEM;
  }
  return 0;
}

static void clear_folder(const struct run *r)
{
  static const char *const names[] = {"in.cs16", "out.cs16", "params.json", "taps.txt", "err"};
  char path[sizeof r->folder + 16];
  size_t k;

  for (k = 0; k < sizeof names / sizeof *names; k++) {
    snprintf(path, sizeof path, "%s/%s", r->folder, names[k]);
    unlink(path);
  }
  rmdir(r->folder);
}

static int judge(const struct attempt *a, const struct tlg_tolerance *tolerance, struct tlg_diagnosis *d)
{
  const struct tlg_try t = {a->v,          a->taps, a->in,    a->segments,  a->n_segments, a->expected,
                            a->n_expected, a->got,  a->n_got, a->odd_bytes, *tolerance};
  const int st = tlg_diagnose(&t, d);

  if (st) {
    return st;
  }
  if (a->ending != ENDED) {
    d->pass = 0;
    if (a->ending == HUNG) {
      snprintf(d->text, sizeof d->text,
               "the command hangs: it was killed after its time (--timeout); %zu of %zu outputs came", a->n_got,
               a->n_expected);
    } else if (a->ending == CRASHED) {
      snprintf(d->text, sizeof d->text, "the command crashed by signal %d (%s)%s; %zu of %zu outputs came", a->code,
               strsignal(a->code), a->code == SIGXFSZ ? ": it wrote far too much" : "", a->n_got, a->n_expected);
    } else {
      snprintf(d->text, sizeof d->text, "the command ended with status %d%s%s", a->code, *a->last_words ? ": " : "",
               a->last_words);
    }
  }
  return TLG_OK;
}

static const char *cause_of(const struct attempt *a, const struct tlg_diagnosis *d)
{
  return a->ending == HUNG      ? "hangs"
         : a->ending == CRASHED ? "crashes"
         : a->ending != ENDED   ? "fails"
                                : tlg_cause_name(d->cause);
}

static void attempt_clear(struct attempt *a)
{
  free(a->segments);
  free(a->expected);
  free(a->got);
  memset(a, 0, sizeof *a);
}

/* Segments and expectation for any input of v->n_in samples. */
static int attempt_make(struct attempt *a, const struct tlg_vector *v, const struct tlg_taps *taps, const tlg_cs16 *in,
                        struct tlg_error *err)
{
  uint64_t outputs;
  int st;

  memset(a, 0, sizeof *a);
  a->v = v;
  a->taps = taps;
  a->in = in;
  st = tlg_vector_segments(v, taps->n, &a->segments, &a->n_segments, &outputs, err);
  if (st) {
    return st;
  }
  a->n_expected = (size_t)outputs;
  a->expected = malloc((a->n_expected + 1) * sizeof *a->expected);
  if (!a->expected) {
    attempt_clear(a);
    return tlg_error_set(err, TLG_ENOMEM, "out of memory");
  }
  tlg_vector_expected(v, taps, in, a->segments, a->n_segments, a->expected);
  return TLG_OK;
}

/* ---- the shortest input that still fails
 * ------------------------------------------------------------------------------ */

enum { SHRINK_RUNS = 400 };

/* 1: fails, 0: passes, < 0: this side failed. */
static int still_fails(struct run *r, const struct tlg_vector *v, const struct tlg_taps *taps, const tlg_cs16 *in,
                       size_t n, const struct tlg_tolerance *tolerance)
{
  struct tlg_error err = {.offset = UINT64_MAX};
  struct tlg_vector copy = *v;
  struct tlg_diagnosis d;
  struct attempt a;
  int result = -1;

  copy.n_in = n;
  if (attempt_make(&a, &copy, taps, in, &err)) {
    cli_say(r->command, "%s", err.text);
    return -1;
  }
  if (run_once(r, &a) == 0 && judge(&a, tolerance, &d) == TLG_OK) {
    result = !d.pass;
  }
  attempt_clear(&a);
  return result;
}

static int write_out(const char *command, const char *path, const tlg_cs16 *samples, size_t n)
{
  const struct tlg_writer_cfg cfg = {.format = TLG_FORMAT_CS16, .container = TLG_CONTAINER_RAW, .force = opt.force};
  struct tlg_error err = {.offset = UINT64_MAX};
  struct tlg_writer *w = NULL;

  if (tlg_writer_open(&w, path, &cfg, &err)) {
    return cli_fail(command, path, &err);
  }
  if (tlg_writer_write(w, samples, n, &err)) {
    tlg_writer_abort(w);
    return cli_fail(command, path, &err);
  }
  return tlg_writer_close(w, &err) ? cli_fail(command, path, &err) : 0;
}

static int shrink(struct run *r, const struct tlg_vector *v, const struct tlg_taps *taps, const tlg_cs16 *given,
                  const struct tlg_tolerance *tolerance)
{
  const unsigned limit = r->runs + SHRINK_RUNS;
  tlg_cs16 *in = malloc((v->n_in + 1) * sizeof *in), *work = malloc((v->n_in + 1) * sizeof *work);
  size_t n = (size_t)v->n_in, low = 0, high, piece, k, lively = 0;
  struct tlg_error err = {.offset = UINT64_MAX};
  struct tlg_vector copy = *v;
  char path[PATH_MAX];
  struct attempt a;
  int fails = 1, st;

  if (!in || !work) {
    free(in);
    free(work);
    cli_say(r->command, "out of memory");
    return CLI_SYSTEM;
  }
  memcpy(in, given, n * sizeof *in);
  /* the end: the shortest beginning that fails */
  for (high = 1; high < n && (fails = still_fails(r, v, taps, in, high, tolerance)) == 0; high *= 2) {
    low = high;
  }
  high = high < n ? high : n;
  while (fails >= 0 && high - low > 1 && r->runs < limit) {
    const size_t middle = low + (high - low) / 2;

    fails = still_fails(r, v, taps, in, middle, tolerance);
    if (fails > 0) {
      high = middle;
    } else {
      low = middle;
    }
  }
  n = high;
  /* the beginning: drop as much as still fails */
  for (piece = n / 2; fails >= 0 && piece > 0 && r->runs < limit; piece = piece < n ? piece / 2 : n / 2) {
    while (piece < n && r->runs < limit && (fails = still_fails(r, v, taps, in + piece, n - piece, tolerance)) > 0) {
      n -= piece;
      memmove(in, in + piece, n * sizeof *in);
    }
  }
  /* what stands between: zeros where they serve as well */
  for (piece = (n + 1) / 2; fails >= 0 && piece > 0 && r->runs < limit; piece /= 2) {
    for (k = 0; k < n && r->runs < limit && fails >= 0; k += piece) {
      const size_t size = piece < n - k ? piece : n - k;

      memcpy(work, in, n * sizeof *in);
      memset(work + k, 0, size * sizeof *work);
      if (memcmp(work, in, n * sizeof *in) == 0) {
        continue;
      }
      fails = still_fails(r, v, taps, work, n, tolerance);
      if (fails > 0) {
        memcpy(in, work, n * sizeof *in);
      }
    }
  }
  copy.n_in = n;
  if (fails < 0 || attempt_make(&a, &copy, taps, in, &err)) {
    free(in);
    free(work);
    return CLI_SYSTEM;
  }
  for (k = 0; k < n; k++) {
    lively += in[k].i || in[k].q;
  }
  snprintf(path, sizeof path, "%s.expected", opt.shrink);
  st = write_out(r->command, opt.shrink, in, n);
  st = st ? st : write_out(r->command, path, a.expected, a.n_expected);
  if (!st) {
    fprintf(opt.json ? stderr : stdout,
            "shrunk   %s: from %llu to %zu input samples, %zu of them not zero, in %u runs: %s\n", v->id,
            (unsigned long long)v->n_in, n, lively, r->runs, opt.shrink);
  }
  attempt_clear(&a);
  free(in);
  free(work);
  return st;
}

/* ---- all vectors
 * -------------------------------------------------------------------------------------------------------- */

/* Votes for what is wrong over all vectors. */
struct vote {
  char cause[24], text[400];
  size_t n;
};

static void cast(struct vote *votes, size_t *n, const char *cause, const char *text)
{
  size_t k;

  for (k = 0; k < *n && strcmp(votes[k].cause, cause) != 0; k++) {
  }
  if (k == 64) {
    return;
  }
  if (k == *n) {
    memset(&votes[k], 0, sizeof votes[k]);
    snprintf(votes[k].cause, sizeof votes[k].cause, "%s", cause);
    snprintf(votes[k].text, sizeof votes[k].text, "%s", text);
    ++*n;
  }
  votes[k].n++;
}

/* The cause of all: one that more than half of the failures have. Else none is named, and how they differ is told. */
static void elect(const struct vote *votes, size_t n, size_t failed, struct vote *all)
{
  size_t k, used;

  memset(all, 0, sizeof *all);
  for (k = 0; k < n; k++) {
    if (2 * votes[k].n > failed) {
      *all = votes[k];
      return;
    }
  }
  snprintf(all->cause, sizeof all->cause, "%s", n ? tlg_cause_name(TLG_CAUSE_UNKNOWN) : "none");
  snprintf(all->text, sizeof all->text, "%s",
           n ? "no cause fits more than half of the failures" : "exact, or within tolerance");
  for (k = 0; k < n; k++) {
    used = strlen(all->text);
    snprintf(all->text + used, sizeof all->text - used, "%s %s in %zu", k ? "," : ":", votes[k].cause, votes[k].n);
  }
}

static int suits(const struct tlg_vector *v)
{
  return !v->refused && !v->start && !v->n_gaps;
}

static int try_all(struct run *r, const struct tlg_manifest *m, const size_t *chosen, size_t n,
                   const struct tlg_tolerance *given)
{
  struct vote votes[64], all;
  size_t n_votes = 0, i, tried = 0, failed = 0, hung = 0, shrunk = 0;
  json_t *list = json_array();
  int st = 0;

  for (i = 0; i < n && !st && !cli_stop; i++) {
    const struct tlg_manifest_entry *e = tlg_manifest_at(m, chosen[i]);
    const struct tlg_tolerance *tolerance = given ? given : &e->tolerance;
    struct tlg_error err = {.offset = UINT64_MAX};
    struct tlg_diagnosis d;
    struct vectors_case c;
    struct attempt a;

    if (!suits(&e->vector)) {
      continue;
    }
    if (vectors_case_make(&c, &e->vector, &err)) {
      st = cli_fail(r->command, NULL, &err);
      break;
    }
    if (attempt_make(&a, &e->vector, &c.taps, c.in, &err)) {
      st = cli_fail(r->command, NULL, &err);
    } else if ((st = run_once(r, &a)) == 0) {
      if (a.ending == NOT_FOUND) {
        cli_say(r->command, "%s: cannot be run: not found, or no permission%s%s", r->args[0], *a.last_words ? ": " : "",
                a.last_words);
        st = CLI_SYSTEM;
      } else if (judge(&a, tolerance, &d)) {
        cli_say(r->command, "out of memory");
        st = CLI_SYSTEM;
      }
    }
    if (!st && !(cli_stop && a.ending == HUNG)) {
      const struct tlg_vector *v = &e->vector;

      tried++;
      failed += !d.pass;
      hung += a.ending == HUNG;
      if (!d.pass) {
        cast(votes, &n_votes, cause_of(&a, &d), d.text);
      }
      if (opt.json) {
        json_t *item = json_pack("{s:s,s:b,s:s,s:s}", "id", v->id, "ok", d.pass, "cause",
                                 d.pass ? "none" : cause_of(&a, &d), "text", d.text);

        json_object_set_new(item, "outputs", json_integer((json_int_t)a.n_got));
        json_object_set_new(item, "expected", json_integer((json_int_t)a.n_expected));
        json_object_set_new(item, "differ", json_integer((json_int_t)d.difference.n_bad));
        json_object_set_new(item, "first", json_integer((json_int_t)d.difference.first));
        json_object_set_new(item, "largest", json_integer(d.difference.largest));
        json_object_set_new(item, "delay_outputs", json_integer((json_int_t)d.delay));
        json_object_set_new(item, "gain", cli_number(d.gain, 5));
        json_object_set_new(item, "signal_to_error_db", cli_number(d.signal_to_error_db, 2));
        json_array_append_new(list, item);
      } else if (!d.pass) {
        char where[500];

        printf("FAIL %s: %s\n", v->id, d.text);
        if (a.ending == ENDED && d.difference.n_bad) {
          tlg_difference_text(v, a.segments, a.n_segments, c.q0, &d.difference, a.expected, a.n_expected, a.got,
                              a.n_got, where, sizeof where);
          printf("     %s\n", where);
        }
      } else if (opt.verbose) {
        printf("ok   %s: %s\n", v->id, d.text);
      }
      if (!d.pass && opt.shrink && !shrunk) {
        shrunk = 1;
        st = shrink(r, v, &c.taps, c.in, tolerance);
      }
    }
    attempt_clear(&a);
    vectors_case_clear(&c);
    if (hung >= 2) {
      cli_say(r->command, "the command hung twice; the other vectors are not tried");
      break;
    }
    cli_progress(r->command, i + 1, n);
  }
  cli_progress(r->command, n, n);
  elect(votes, n_votes, failed, &all);
  if (st && st != CLI_CHECK_FAILED) {
    json_decref(list);
    return st;
  }
  if (!tried) {
    json_decref(list);
    return cli_stop ? 0
                    : cli_usage(r->command,
                                "none of the chosen vectors suits a plain run (gaps, late starts and refusals do not)");
  }
  if (opt.json) {
    json_t *o = json_object();

    json_object_set_new(o, "tried", json_integer((json_int_t)tried));
    json_object_set_new(o, "failed", json_integer((json_int_t)failed));
    json_object_set_new(o, "cause", json_string(all.cause));
    json_object_set_new(o, "text", json_string(all.text));
    json_object_set_new(o, "vectors", list);
    st = cli_print_json("vectors-try", o, stdout);
  } else {
    json_decref(list);
    printf("%zu vector%s tried: %zu passed, %zu failed\n", tried, tried == 1 ? "" : "s", tried - failed, failed);
    if (n_votes) {
      printf("cause    %s: %s (", all.cause, all.text);
      if (all.n) {
        printf("%zu of ", all.n);
      }
      printf("%zu failures)\n", failed);
    }
  }
  return st ? st : failed ? CLI_CHECK_FAILED : CLI_DONE;
}

static int find_tolerance(const char *command, struct tlg_tolerance *t, const struct tlg_tolerance **given)
{
  uint64_t lsb = 0;
  int st;

  *given = NULL;
  memset(t, 0, sizeof *t);
  if (!opt.exact + !opt.lsb + !opt.db < 2) {
    return cli_usage(command, "only one of --exact, --lsb and --db can be given");
  }
  if (opt.exact || opt.lsb || opt.db) {
    *given = t;
  }
  if (opt.lsb) {
    st = cli_count(command, "--lsb", opt.lsb, &lsb);
    if (st || lsb > 65535) {
      return st ? st : cli_usage(command, "--lsb %s: at most 65535", opt.lsb);
    }
    t->kind = TLG_TOLERANCE_LSB;
    t->lsb = (int)lsb;
  }
  if (opt.db) {
    t->kind = TLG_TOLERANCE_DB;
    return cli_real(command, "--db", opt.db, 1.0, 200.0, &t->db);
  }
  return 0;
}

int vectors_try(int argc, const char **argv)
{
  static const char *const core[] = {"@core"};
  struct run r = {.command = argv[0], .timeout = 10.0};
  struct tlg_manifest *m = NULL;
  struct tlg_tolerance tolerance;
  const struct tlg_tolerance *given;
  const char *base = getenv("TMPDIR");
  struct cli_options o;
  size_t *chosen = NULL, n = 0;
  int own = 0, st;

  while (own < argc && strcmp(argv[own], "--") != 0) {
    own++;
  }
  memset(&opt, 0, sizeof opt);
  st = cli_options(&o, argv[0], own, argv, table, description, 0, -1);
  if (st >= 0) {
    return st;
  }
  if (own + 1 >= argc) {
    st = cli_usage(argv[0], "there is no command: taplag vectors try [options] -- COMMAND [arguments]");
    goto end;
  }
  r.args = (char *const *)(uintptr_t)(argv + own + 1);
  st = find_tolerance(argv[0], &tolerance, &given);
  st = st ? st : cli_seconds(argv[0], "--timeout", opt.timeout, &r.timeout);
  if (!st && r.timeout <= 0.0) {
    st = cli_usage(argv[0], "--timeout must be above 0");
  }
  if (!st && opt.shrink && !opt.force && access(opt.shrink, F_OK) == 0) {
    st = cli_usage(argv[0], "%s exists; --force overwrites it", opt.shrink);
  }
  st = st ? st : vectors_load(argv[0], opt.dir, 0, &m);
  st = st ? st : vectors_select(argv[0], m, o.n_args ? o.args : core, o.n_args ? o.n_args : 1, &chosen, &n);
  if (st) {
    goto end;
  }
  if ((size_t)snprintf(r.folder, sizeof r.folder, "%s/taplag-try-XXXXXX", base && strlen(base) < 40 ? base : "/tmp") >=
          sizeof r.folder ||
      !mkdtemp(r.folder)) {
    cli_say(argv[0], "no temporary folder: %s", strerror(errno));
    st = CLI_SYSTEM;
    goto end;
  }
  cli_catch_signals();
  st = try_all(&r, m, chosen, n, given);
  clear_folder(&r);
  st = cli_finish(argv[0], stdout, cli_exit_stopped(st));
end:
  free(chosen);
  tlg_manifest_free(m);
  cli_options_free(&o);
  return st;
}
