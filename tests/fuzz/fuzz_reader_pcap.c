/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: captures of network traffic. */
#include "fuzz/reader_bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  uint8_t *copy;

  if (size < 24) {
    return 0;
  }
  copy = malloc(size);
  if (!copy) {
    abort();
  }
  memcpy(copy, data, size);
  if (data[0] != 0x0a) { /* else pcapng, if it is one */
    memcpy(copy, "\xd4\xc3\xb2\xa1", 4);
  }
  open_bytes(copy, size);
  free(copy);
  return 0;
}
