/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of taplag bench that are built into the program. */
#ifndef BENCH_H
#define BENCH_H

#include <stddef.h>

/* argv[0] = the part's name; options after it, parsed by each. Return the exit status. */
int bench_kernels(int argc, const char **argv);
int bench_files(int argc, const char **argv);
int bench_pipeline(int argc, const char **argv);
int bench_model(int argc, const char **argv);
int bench_hops(int argc, const char **argv);

/* Where a comparison program stands: beside this one, or in ../libexec/taplag from there. 0 if it is not built. */
int bench_find_program(const char *name, char *path, size_t size);

#endif
