/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: WAV, RF64, BW64, W64 and AU headers, and what libsndfile makes of the rest. */
#include "fuzz/reader_bytes.h"
#include "wav_header.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct wav_header h;
  struct tlg_error err = {0};
  int fd;

  fd = bytes_fd(data, size);
  if (tlg_wav_header(&h, fd, size, &err) == TLG_OK && (h.data_offset > size || h.data_here != size - h.data_offset)) {
    __builtin_trap();
  }
  close(fd);
  open_bytes(data, size);
  return 0;
}
