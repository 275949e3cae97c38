/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of `taplag bench` that live in files of their own. */
#ifndef BENCH_H
#define BENCH_H

/* `taplag bench kernels`: argv[0] = "kernels"; returns the exit status. */
int bench_kernels(int argc, const char **argv);

#endif
