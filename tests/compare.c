/* SPDX-License-Identifier: Apache-2.0 */
/* What the comparison programs share: a clock, medians, the host's name for its CPU. */
#include "compare.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

double compare_now_ns(void)
{
  struct timespec t;

  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
  const double x = *(const double *)a, y = *(const double *)b;

  return (x > y) - (x < y);
}

double compare_median(double *values, int n)
{
  qsort(values, (size_t)n, sizeof *values, by_value);
  return values[(n - 1) / 2];
}

const char *compare_cpu_name(char *text, size_t size)
{
  FILE *f = fopen("/proc/cpuinfo", "r");
  char line[300];

  snprintf(text, size, "unknown");
  while (f && fgets(line, sizeof line, f)) {
    const char *colon = strchr(line, ':');

    if (strncmp(line, "model name", 10) == 0 && colon) {
      snprintf(text, size, "%s", colon + 2);
      text[strcspn(text, "\n")] = '\0';
      break;
    }
  }
  if (f) {
    fclose(f);
  }
  return text;
}

int compare_stay(void)
{
  const int cpu = sched_getcpu();
  cpu_set_t set;

  CPU_ZERO(&set);
  if (cpu < 0 || cpu >= CPU_SETSIZE) {
    return -1;
  }
  CPU_SET(cpu, &set);
  return sched_setaffinity(0, sizeof set, &set) ? -1 : cpu;
}

json_t *compare_host(void)
{
  char name[200];

  return json_pack("{s:s,s:s}", "cpu", compare_cpu_name(name, sizeof name), "version", tlg_version());
}

json_t *compare_number(double value, int decimals)
{
  const double scale = pow(10, decimals);

  return isfinite(value) ? json_real(floor(value * scale + 0.5) / scale) : json_null();
}

int compare_print(json_t *object)
{
  int bad = json_dumpf(object, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(12)) != 0;

  json_decref(object);
  bad |= putchar('\n') == EOF;
  bad |= fflush(stdout) != 0;
  return bad ? 4 : 0;
}

int compare_arguments(int argc, char **argv, const char *program, const char *help, int *rounds, int *json)
{
  int i;

  for (i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
      printf("Usage: taplag bench %s [--rounds N] [--json]\n\n%s", program, help);
      return -1;
    }
    if (strcmp(argv[i], "--json") == 0) {
      *json = 1;
    } else if (strcmp(argv[i], "--rounds") == 0 && i + 1 < argc) {
      char *end;
      const long n = strtol(argv[++i], &end, 10);

      if (*end || n < 1 || n > COMPARE_MAX_ROUNDS) {
        fprintf(stderr, "taplag: bench %s: --rounds %s: from 1 to %d\n", program, argv[i], COMPARE_MAX_ROUNDS);
        return 2;
      }
      *rounds = (int)n;
    } else {
      fprintf(stderr, "taplag: bench %s: unexpected argument '%s'; --help lists the options\n", program, argv[i]);
      return 2;
    }
  }
  return 0;
}
