/* SPDX-License-Identifier: Apache-2.0 */
/* Inside replay/files/: what a SigMF meta file says, shared by recordings that stand as two files and archives. */
#ifndef SIGMF_H
#define SIGMF_H

#include "reader.h"

struct sigmf_capture {
  uint64_t start; /* core:sample_start */
  uint64_t header_bytes;
  uint64_t global_index; /* UINT64_MAX = not stated */
  double frequency_hz;   /* NaN = not stated */
  char datetime[40];     /* "" = not stated */
  unsigned line;
};

struct sigmf_meta {
  enum tlg_format format;
  int big_endian;
  double rate_hz; /* 0 = not stated */
  uint64_t offset;
  uint64_t trailing_bytes;
  unsigned n_channels;
  char *dataset; /* core:dataset; NULL = not stated */
  unsigned dataset_line;
  char sha512[129]; /* "" = not stated */
  unsigned sha512_line;
  struct sigmf_capture *captures;
  size_t n_captures;
};

/* Read a meta file's text. meta is empty on failure. */
int tlg_sigmf_parse(struct sigmf_meta *meta, struct tlg_reader *r, const char *text, size_t size,
                    struct tlg_error *err);
void tlg_sigmf_free(struct sigmf_meta *meta);
/* Lay meta over the data, which are size bytes of fd from base on. Takes over fd. */
int tlg_sigmf_use(struct tlg_reader *r, const struct sigmf_meta *meta, const char *path, int fd, uint64_t base,
                  uint64_t size, struct tlg_error *err);

#endif
