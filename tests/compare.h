/* SPDX-License-Identifier: Apache-2.0 */
/* What the comparison programs share: a clock, medians, the host's name for its CPU. */
#ifndef COMPARE_H
#define COMPARE_H

#include "tlg_dsp.h"

#include <jansson.h>
#include <stddef.h>

enum { COMPARE_MAX_ROUNDS = 301 };

/* CPU time of this thread: what other processes take of a shared core does not count. */
double compare_now_ns(void);
/* Nearest-rank median; sorts values. */
double compare_median(double *values, int n);
/* "model name" of /proc/cpuinfo, or "unknown". */
const char *compare_cpu_name(char *text, size_t size);
/* Stay on the core that runs now, so that all are measured on one. Returns it, or -1. */
int compare_stay(void);
json_t *compare_host(void);
json_t *compare_number(double value, int decimals);
/* Print one object; 0, or 4 if it could not be written. */
int compare_print(json_t *object);
/* The value of "--rounds N" and whether "--json" is among the arguments; -1 after printing help, 2 on a wrong one. */
int compare_arguments(int argc, char **argv, const char *program, const char *help, int *rounds, int *json);

#endif
