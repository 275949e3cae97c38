/* SPDX-License-Identifier: Apache-2.0 */
/* Messages, exit status, signals, progress and results: what every command does the same way. */
#include "cli.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SAME_WISH_MS 250

volatile int cli_stop;

void cli_say(const char *command, const char *format, ...)
{
  va_list ap;

  fprintf(stderr, "taplag: %s: ", command);
  va_start(ap, format);
  vfprintf(stderr, format, ap);
  va_end(ap);
  fputc('\n', stderr);
}

int cli_usage(const char *command, const char *format, ...)
{
  va_list ap;

  fprintf(stderr, "taplag: %s: ", command);
  va_start(ap, format);
  vfprintf(stderr, format, ap);
  va_end(ap);
  fputc('\n', stderr);
  return CLI_USAGE;
}

int cli_status(int status)
{
  switch (status) {
  case TLG_OK:
    return CLI_DONE;
  case TLG_EINVAL:
  case TLG_ESPACE:
  case TLG_EEXIST:
    return CLI_USAGE;
  case TLG_EFORMAT:
  case TLG_ETAPS:
    return CLI_BAD_INPUT;
  case TLG_EUNAVAIL:
    return CLI_UNAVAILABLE;
  case TLG_EINTR:
    return cli_exit_stopped(CLI_DONE);
  default:
    return CLI_SYSTEM;
  }
}

int cli_fail(const char *command, const char *path, const struct tlg_error *err)
{
  fprintf(stderr, "taplag: %s: ", command);
  if (path && (err->line || strncmp(err->text, path, strlen(path)) != 0)) {
    fprintf(stderr, "%s:", strcmp(path, "-") == 0 ? "(stdin or stdout)" : path);
    if (err->line) {
      fprintf(stderr, "%u:", err->line);
    }
    fputc(' ', stderr);
  }
  fputs(err->text[0] ? err->text : tlg_status_text(err->status), stderr);
  if (path && !err->line && err->offset != UINT64_MAX && !strstr(err->text, "byte ")) {
    fprintf(stderr, " (at byte %llu)", (unsigned long long)err->offset);
  }
  fputc('\n', stderr);
  return cli_status(err->status);
}

uint64_t cli_now_ns(void)
{
  struct timespec t;

  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The first signal asks for a stop. One that comes right behind it is the same wish told twice (timeout(1) signals
 * the process and its group); a later one ends the program at once. */
static void on_signal(int number)
{
  static struct timespec first;
  struct timespec now;
  const int saved = errno;

  clock_gettime(CLOCK_MONOTONIC, &now);
  if (!cli_stop) {
    first = now;
    cli_stop = number;
  } else if ((now.tv_sec - first.tv_sec) * 1000 + (now.tv_nsec - first.tv_nsec) / 1000000 > SAME_WISH_MS) {
    signal(number, SIG_DFL);
    raise(number);
  }
  errno = saved;
}

void cli_catch_signals(void)
{
  struct sigaction action, was;

  memset(&action, 0, sizeof action);
  action.sa_handler = on_signal;
  action.sa_flags = 0; /* no SA_RESTART: blocked reads return */
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
  if (sigaction(SIGHUP, NULL, &was) == 0 && was.sa_handler != SIG_IGN) { /* nohup(1) is left in force */
    sigaction(SIGHUP, &action, NULL);
  }
}

int cli_exit_stopped(int status)
{
  if (status != CLI_DONE || cli_stop == 0) {
    return status;
  }
  return cli_stop == SIGINT ? CLI_INTERRUPTED : CLI_TERMINATED;
}

void cli_progress(const char *command, uint64_t done, uint64_t total)
{
  static double last;
  static int shown;
  struct timespec now;
  double seconds;

  if (!isatty(STDERR_FILENO)) {
    return;
  }
  clock_gettime(CLOCK_MONOTONIC, &now);
  seconds = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
  if (total && done >= total) {
    if (shown) {
      fprintf(stderr, "\r%*s\r", 60, "");
      shown = 0;
    }
    return;
  }
  if (last == 0) {
    last = seconds + 0.4; /* work that ends at once shows nothing */
  }
  if (seconds - last < 0.1) {
    return;
  }
  last = seconds;
  shown = 1;
  if (total) {
    fprintf(stderr, "\rtaplag: %s: %5.1f %%", command, 100.0 * (double)done / (double)total);
  } else {
    fprintf(stderr, "\rtaplag: %s: %.1f M samples", command, (double)done / 1e6);
  }
}

FILE *cli_results(int samples_on_stdout)
{
  return samples_on_stdout ? stderr : stdout;
}

json_t *cli_number(double value, int decimals)
{
  double scale = 1, rounded;
  int i;

  if (!isfinite(value)) {
    return json_null();
  }
  for (i = 0; i < decimals; i++) {
    scale *= 10;
  }
  if (fabs(value) * scale > 1e15) {
    return json_real(value);
  }
  rounded = floor(fabs(value) * scale + 0.5) / scale;
  return json_real(value < 0 && rounded > 0 ? -rounded : rounded);
}

json_t *cli_rate_json(const struct tlg_rate *rate)
{
  return json_pack("{s:I,s:I,s:f}", "num", (json_int_t)rate->num, "den", (json_int_t)rate->den, "hz",
                   tlg_rate_hz(rate));
}

int cli_print_json(const char *command, json_t *object, FILE *out)
{
  json_t *whole = json_object();
  char schema[64], *hyphen, name[64];
  int bad;

  snprintf(schema, sizeof schema, "taplag/%s/1", command);
  json_object_set_new(whole, "schema", json_string(schema));
  json_object_update(whole, object);
  json_decref(object);
  bad = json_dumpf(whole, out, JSON_INDENT(2) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(12)) != 0;
  json_decref(whole);
  bad |= fputc('\n', out) == EOF;
  snprintf(name, sizeof name, "%s", command); /* the schema's "vectors-verify" is the command "vectors verify" */
  hyphen = strchr(name, '-');
  if (hyphen) {
    *hyphen = ' ';
  }
  return cli_finish(name, out, bad ? CLI_SYSTEM : CLI_DONE);
}

int cli_finish(const char *command, FILE *out, int status)
{
  static int told;

  errno = 0;
  if (fflush(out) != 0 || ferror(out)) {
    if (!told) {
      told = 1; /* a stream may be finished twice: once is enough */
      cli_say(command, "the results could not be written: %s", errno ? strerror(errno) : "write error");
    }
    return CLI_SYSTEM;
  }
  return status;
}
