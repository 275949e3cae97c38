/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of taplag bench that are built into the program. */
#ifndef BENCH_H
#define BENCH_H

/* argv[0] = the part's name; options after it, parsed by each. Return the exit status. */
int bench_kernels(int argc, const char **argv);
int bench_files(int argc, const char **argv);
int bench_pipeline(int argc, const char **argv);
int bench_model(int argc, const char **argv);

#endif
