/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: SigMF archives. */
#include "fuzz/reader_bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  uint8_t *copy;

  if (size < 300) {
    return 0;
  }
  copy = malloc(size);
  if (!copy) {
    abort();
  }
  memcpy(copy, data, size);
  memcpy(copy + 257, "ustar", 5); /* by this it is known as an archive */
  open_bytes(copy, size);
  free(copy);
  return 0;
}
