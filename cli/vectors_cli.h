/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of taplag vectors share. */
#ifndef VECTORS_CLI_H
#define VECTORS_CLI_H

#include "cli.h"
#include "tlg_golden.h"

int vectors_verify(int argc, const char **argv);
int vectors_try(int argc, const char **argv);
int vectors_export(int argc, const char **argv);

/* The folder of the vectors: dir if given, else found. Prints and returns the exit status if there is none, else 0. */
int vectors_folder(const char *command, const char *dir, char *path, size_t size);
/* Load the manifest of that folder; prints and returns the exit status on failure, else 0. */
int vectors_load(const char *command, const char *dir, int flags, struct tlg_manifest **m);
/* The indices of the vectors that the patterns mean (none: all), in the manifest's order; to be freed. A pattern that
 * means none is a usage error. */
int vectors_select(const char *command, const struct tlg_manifest *m, const char *const *patterns, int n_patterns,
                   size_t **chosen, size_t *n);

/* Everything that belongs to one vector, made afresh. */
struct vectors_case {
  struct tlg_taps taps;
  tlg_cs16 *in, *expected;
  int made; /* whether expected is filled */
  struct tlg_segment *segments;
  size_t n_segments;
  uint64_t outputs, q0;
};
int vectors_case_make(struct vectors_case *c, const struct tlg_vector *v, struct tlg_error *err);
/* What must come out, by the plain convolution, made when it is first asked for. */
const tlg_cs16 *vectors_case_expected(struct vectors_case *c, const struct tlg_vector *v);
void vectors_case_clear(struct vectors_case *c);

#endif
