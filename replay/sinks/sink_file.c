/* SPDX-License-Identifier: Apache-2.0 */
/* Sinks behind a writer: files, named pipes and stdout. */
#include "sink.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct file_sink {
  struct tlg_sink base;
  struct tlg_writer *writer;
};

static int file_write(struct tlg_sink *sink, const struct tlg_sink_block *block, struct tlg_error *err)
{
  struct file_sink *s = (struct file_sink *)sink;

  if (block->gap) {
    const int status = tlg_writer_gap(s->writer, block->gap, err);

    if (status) {
      return status;
    }
  }
  if (block->frequency_hz) {
    const int status = tlg_writer_retune(s->writer, *block->frequency_hz, err);

    if (status) {
      return status;
    }
  }
  return block->n ? tlg_writer_write(s->writer, block->samples, block->n, err) : TLG_OK;
}

static int file_close(struct tlg_sink *sink, struct tlg_error *err)
{
  return tlg_writer_close(((struct file_sink *)sink)->writer, err);
}

static void file_abort(struct tlg_sink *sink)
{
  tlg_writer_abort(((struct file_sink *)sink)->writer);
}

static int file_marks_gaps(const struct tlg_sink *sink)
{
  return tlg_writer_marks_gaps(((const struct file_sink *)sink)->writer);
}

static void file_counts(const struct tlg_sink *sink, struct tlg_convert_counts *counts)
{
  tlg_writer_counts(((const struct file_sink *)sink)->writer, counts);
}

static int open_writer(struct tlg_sink **sink, const struct tlg_sink_ops *ops, const char *path,
                       const struct tlg_endpoint *e, const struct tlg_sink_cfg *cfg, struct tlg_error *err)
{
  static const char *const known[] = {"format", NULL};
  struct tlg_writer_cfg writer_cfg = {
      .rate = cfg->rate, .force = cfg->force, .frequency_hz = cfg->frequency_hz, .datetime = cfg->datetime};
  struct file_sink *s;
  int status = tlg_endpoint_check_keys(e, known, err);

  if (status) {
    return status;
  }
  status = tlg_endpoint_format(e, &writer_cfg.format, err);
  if (status) {
    return status;
  }
  if (cfg->only_check) {
    return ops->is_stdout ? TLG_OK : tlg_writer_check(path, &writer_cfg, err);
  }
  s = calloc(1, sizeof *s);
  if (!s) {
    return tlg_error_set(err, TLG_ENOMEM, "out of memory");
  }
  s->base.ops = ops;
  if (ops->is_stdout) {
    writer_cfg.container = TLG_CONTAINER_RAW;
  }
  status = tlg_writer_open(&s->writer, path, &writer_cfg, err);
  if (status) {
    free(s);
    return status;
  }
  *sink = &s->base;
  return TLG_OK;
}

int tlg_sink_open_file(struct tlg_sink **sink, const struct tlg_endpoint *e, const struct tlg_sink_cfg *cfg,
                       struct tlg_error *err)
{
  static const struct tlg_sink_ops file_ops = {.is_file = 1,
                                               .write = file_write,
                                               .close = file_close,
                                               .abort = file_abort,
                                               .marks_gaps = file_marks_gaps,
                                               .counts = file_counts};
  static const struct tlg_sink_ops pipe_ops = {.write = file_write,
                                               .close = file_close,
                                               .abort = file_abort,
                                               .marks_gaps = file_marks_gaps,
                                               .counts = file_counts};
  struct stat st;

  if (!*e->rest) {
    return tlg_error_set(err, TLG_EINVAL, "file: needs a path");
  }
  /* Pipes and devices are written through: for them samples may be lost as in a radio. */
  return open_writer(sink, stat(e->rest, &st) == 0 && !S_ISREG(st.st_mode) ? &pipe_ops : &file_ops, e->rest, e, cfg,
                     err);
}

int tlg_sink_open_fifo(struct tlg_sink **sink, const struct tlg_endpoint *e, const struct tlg_sink_cfg *cfg,
                       struct tlg_error *err)
{
  struct stat st;

  if (!*e->rest) {
    return tlg_error_set(err, TLG_EINVAL, "fifo: needs a path");
  }
  if (stat(e->rest, &st) != 0 || !S_ISFIFO(st.st_mode)) {
    return tlg_error_set(err, TLG_ESYS, "%s is not a named pipe; make one with 'mkfifo %s'", e->rest, e->rest);
  }
  return tlg_sink_open_file(sink, e, cfg, err);
}

int tlg_sink_open_stdout(struct tlg_sink **sink, const struct tlg_endpoint *e, const struct tlg_sink_cfg *cfg,
                         struct tlg_error *err)
{
  static const struct tlg_sink_ops ops = {.is_stdout = 1,
                                          .write = file_write,
                                          .close = file_close,
                                          .abort = file_abort,
                                          .marks_gaps = file_marks_gaps,
                                          .counts = file_counts};

  if (*e->rest) {
    return tlg_error_set(err, TLG_EINVAL, "stdout: takes nothing behind the colon");
  }
  return open_writer(sink, &ops, "-", e, cfg, err);
}
