/* SPDX-License-Identifier: Apache-2.0 */
/* Inside replay/files/: what a kind of output file has to provide, and what writer.c does for all of them. */
#ifndef WRITER_H
#define WRITER_H

#include "outfile.h"
#include "reader.h"

struct writer_ops {
  /* bytes: n samples already converted to w->format, little endian. */
  int (*write)(struct tlg_writer *w, const void *bytes, size_t n, struct tlg_error *err);
  int (*close)(struct tlg_writer *w, struct tlg_error *err); /* puts the files in place, frees w->target in any case */
  void (*abort)(struct tlg_writer *w);
};

struct writer_capture {
  uint64_t stored;     /* sample number in the file */
  uint64_t global;     /* and in the stream, gaps included */
  double frequency_hz; /* NaN = not stated */
};

struct tlg_writer {
  const struct writer_ops *ops;
  void *target; /* the ops' own state */
  enum tlg_format format;
  enum tlg_container container;
  struct tlg_rate rate;
  int force;
  int keep_part;
  uint64_t expected; /* samples, at least; 0 = not known */
  char *description; /* NULL = none */
  char datetime[40];
  struct writer_capture *captures; /* at least one */
  size_t n_captures;
  uint64_t stored;  /* samples written */
  uint64_t missing; /* samples in gaps */
  struct tlg_convert_counts counts;
  uint8_t *buffer;
};

/* Parts of open, one for each family. On failure w->ops is NULL and nothing is held. */
int tlg_writer_open_raw(struct tlg_writer *w, const char *path, struct tlg_error *err);
int tlg_writer_open_sigmf(struct tlg_writer *w, const char *path, struct tlg_error *err);
int tlg_writer_open_sndfile(struct tlg_writer *w, const char *path, struct tlg_error *err);

#endif
