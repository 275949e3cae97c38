/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the hash of each signal; built by several compilers and for other machines by tests/cli/signal_bytes.sh. */
#include "signal_hashes.h"

#include <stdio.h>

int main(void)
{
  int i;

  for (i = 0; i < N_HASHED_SIGNALS; i++) {
    printf("%016llx %s\n", (unsigned long long)hash_signal(&hashed_signals[i]), hashed_signals[i].name);
  }
  return 0;
}
