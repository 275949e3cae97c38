/* SPDX-License-Identifier: Apache-2.0 */
/* What the fuzz targets of readers share: bytes as a file without a name, and reading all of it. */
#ifndef READER_BYTES_H
#define READER_BYTES_H

#include "tlg_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static inline int bytes_fd(const uint8_t *data, size_t size)
{
  const int fd = memfd_create("fuzz", 0);

  if (fd < 0 || write(fd, data, size) != (ssize_t)size || lseek(fd, 0, SEEK_SET) != 0) {
    abort();
  }
  return fd;
}

/* A refusal says why in one sentence; numbers never go backwards, and add up at the end. */
static inline void read_it(struct tlg_reader *r, int status, const struct tlg_error *err)
{
  static tlg_cs16 x[4096];
  uint64_t first = 0, position = 0, n = 0;
  struct tlg_error later = {0};
  size_t got = 1;

  if (status) {
    if (!err->text[0] || strchr(err->text, '\n') || err->status != status || r) {
      __builtin_trap();
    }
    return;
  }
  while (got && n < 1000000) {
    if (tlg_reader_read(r, x, 4096, &got, &first, &later)) {
      if (!later.text[0]) {
        __builtin_trap();
      }
      break;
    }
    if (first < position) {
      __builtin_trap();
    }
    position = first + got;
    n += got;
  }
  if (!got && !later.text[0] && tlg_reader_info(r)->n_samples != n) {
    __builtin_trap();
  }
  tlg_reader_close(r);
}

/* Open the bytes as a file whose contents alone tell its kind, in the ordinary way and with rescue. */
static inline void open_bytes(const uint8_t *data, size_t size)
{
  const int fd = bytes_fd(data, size);
  struct tlg_reader_cfg cfg = {0};
  char path[40];

  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  for (cfg.rescue = 0; cfg.rescue < 2; cfg.rescue++) {
    struct tlg_reader *r;
    struct tlg_error err = {0};
    const int status = tlg_reader_open(&r, path, &cfg, &err);

    read_it(r, status, &err);
  }
  close(fd);
}

#endif
