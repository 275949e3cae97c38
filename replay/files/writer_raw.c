/* SPDX-License-Identifier: Apache-2.0 */
/* Raw samples to a file, a pipe or a device. */
#include "writer.h"

static int raw_write(struct tlg_writer *w, const void *bytes, size_t n, struct tlg_error *err)
{
  return tlg_outfile_write(w->target, bytes, n * tlg_format_size(w->format), err);
}

static int raw_close(struct tlg_writer *w, struct tlg_error *err)
{
  return tlg_outfile_close(w->target, err);
}

static void raw_abort(struct tlg_writer *w)
{
  tlg_outfile_abort(w->target);
}

static const struct writer_ops raw_ops = {raw_write, raw_close, raw_abort};

int tlg_writer_open_raw(struct tlg_writer *w, const char *path, struct tlg_error *err)
{
  struct tlg_outfile *f;
  const unsigned flags = (w->force ? OUTFILE_FORCE : 0) | (w->keep_part ? OUTFILE_KEEP_PART : 0);
  int status = tlg_outfile_open_flags(&f, path, flags, err);

  if (status) {
    return status;
  }
  status = tlg_outfile_reserve(f, w->expected * tlg_format_size(w->format), err);
  if (status) {
    tlg_outfile_abort(f);
    return status;
  }
  w->target = f;
  w->ops = &raw_ops;
  return TLG_OK;
}
