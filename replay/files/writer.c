/* SPDX-License-Identifier: Apache-2.0 */
/* Writing recordings: finds the kind of file, converts, and keeps count of captures and gaps. */
#include "writer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUFFER_SAMPLES 16384

static const enum tlg_format writable[] = {TLG_FORMAT_CS16, TLG_FORMAT_CF32, TLG_FORMAT_CF64,
                                           TLG_FORMAT_CS8,  TLG_FORMAT_CU8,  TLG_FORMAT_CS32};

/* Kind and type: what the caller says, else the suffix. Names that promise what will not be there are refused. */
static int settle_kind(struct tlg_writer *w, const char *path, struct tlg_error *err)
{
  const char *suffix = tlg_suffix_foreign(path);
  const int given = w->container != TLG_CONTAINER_UNKNOWN;
  size_t i;

  if (!given) {
    w->container = tlg_suffix_container(path, &suffix);
    if (suffix && (!w->container || w->container == TLG_CONTAINER_OTHER_SNDFILE)) {
      return tlg_error_set(err, TLG_EINVAL,
                           "%s files are not written; name the output .cs16 (or another raw suffix), .sigmf-meta, "
                           ".sigmf, .wav, .rf64, .w64, .au or .flac",
                           suffix);
    }
  }
  if (!w->container) {
    w->container = TLG_CONTAINER_RAW;
  }
  if (!w->format && w->container == TLG_CONTAINER_RAW) {
    w->format = tlg_suffix_format(path, &suffix);
  }
  if (!w->format) {
    w->format = TLG_FORMAT_CS16;
  }
  for (i = 0; i < sizeof writable / sizeof *writable; i++) {
    if (w->format == writable[i]) {
      return TLG_OK;
    }
  }
  return tlg_error_set(err, TLG_EINVAL, "%s is not a format that can be written; one of cs16 cf32 cf64 cs8 cu8 cs32",
                       tlg_format_name(w->format));
}

static int add_capture(struct tlg_writer *w, double frequency_hz, struct tlg_error *err)
{
  struct writer_capture *more;

  if (w->n_captures && w->captures[w->n_captures - 1].stored == w->stored) {
    w->n_captures--; /* nothing was written since: the new one takes its place */
  }
  if ((w->n_captures & (w->n_captures - 1)) == 0) {
    more = realloc(w->captures, (w->n_captures ? 2 * w->n_captures : 1) * sizeof *more);
    if (!more) {
      return tlg_error_set(err, TLG_ENOMEM, "out of memory");
    }
    w->captures = more;
  }
  w->captures[w->n_captures].stored = w->stored;
  w->captures[w->n_captures].global = w->stored + w->missing;
  w->captures[w->n_captures].frequency_hz = frequency_hz;
  w->n_captures++;
  return TLG_OK;
}

static void free_writer(struct tlg_writer *w)
{
  free(w->description);
  free(w->captures);
  free(w->buffer);
  free(w);
}

int tlg_writer_open(struct tlg_writer **writer, const char *path, const struct tlg_writer_cfg *cfg,
                    struct tlg_error *err)
{
  struct tlg_writer *w;
  int status;

  if (!writer || !path || !cfg) {
    return tlg_error_set(err, TLG_EINVAL, "no output is named");
  }
  *writer = NULL;
  w = calloc(1, sizeof *w);
  if (!w) {
    return tlg_error_set(err, TLG_ENOMEM, "out of memory");
  }
  w->format = cfg->format;
  w->container = cfg->container;
  w->rate = cfg->rate;
  w->force = cfg->force;
  w->keep_part = cfg->keep_part;
  w->expected = cfg->expected < UINT64_MAX / 16 ? cfg->expected : 0;
  status = settle_kind(w, path, err);
  if (status) {
    goto fail;
  }
  if (cfg->datetime) {
    snprintf(w->datetime, sizeof w->datetime, "%s", cfg->datetime);
  }
  w->buffer = malloc(BUFFER_SAMPLES * tlg_format_size(w->format));
  w->description = cfg->description ? strdup(cfg->description) : NULL;
  if (!w->buffer || (cfg->description && !w->description)) {
    status = tlg_error_set(err, TLG_ENOMEM, "out of memory");
    goto fail;
  }
  status = add_capture(w, cfg->frequency_hz == 0 ? NAN : cfg->frequency_hz, err);
  if (status) {
    goto fail;
  }
  if (w->container != TLG_CONTAINER_RAW && !w->rate.num) {
    status = tlg_error_set(err, TLG_EINVAL, "a %s file states its rate, but the rate is not known; give --rate",
                           tlg_container_name(w->container));
    goto fail;
  }
  switch (w->container) {
  case TLG_CONTAINER_RAW:
    status = tlg_writer_open_raw(w, path, err);
    break;
  case TLG_CONTAINER_SIGMF:
  case TLG_CONTAINER_SIGMF_ARCHIVE:
    status = tlg_writer_open_sigmf(w, path, err);
    break;
  case TLG_CONTAINER_WAV:
  case TLG_CONTAINER_RF64:
  case TLG_CONTAINER_W64:
  case TLG_CONTAINER_AU:
  case TLG_CONTAINER_FLAC:
    status = tlg_writer_open_sndfile(w, path, err);
    break;
  default:
    status = tlg_error_set(err, TLG_EINVAL, "this kind of file cannot be written");
  }
  if (status) {
    goto fail;
  }
  *writer = w;
  return TLG_OK;

fail:
  free_writer(w);
  return status;
}

int tlg_writer_check(const char *path, const struct tlg_writer_cfg *cfg, struct tlg_error *err)
{
  static const char *const suffixes[] = {".sigmf-meta", ".sigmf-data"};
  const unsigned flags = (cfg->force ? OUTFILE_FORCE : 0) | (cfg->keep_part ? OUTFILE_KEEP_PART : 0);
  struct tlg_writer w = {.format = cfg->format, .container = cfg->container};
  size_t stem = strlen(path), i;
  int status = settle_kind(&w, path, err);

  if (status || w.container != TLG_CONTAINER_SIGMF) {
    return status ? status : tlg_outfile_check(path, flags, err);
  }
  for (i = 0; i < 2; i++) {
    stem -= stem == strlen(path) && tlg_has_suffix(path, suffixes[i]) ? strlen(suffixes[i]) : 0;
  }
  for (i = 0; i < 2 && !status; i++) { /* both of its files */
    char *name = NULL;

    status = asprintf(&name, "%.*s%s", (int)stem, path, suffixes[i]) < 0
                 ? tlg_error_set(err, TLG_ENOMEM, "out of memory")
                 : tlg_outfile_check(name, flags, err);
    free(name);
  }
  return status;
}

int tlg_writer_write(struct tlg_writer *w, const tlg_cs16 *samples, size_t n, struct tlg_error *err)
{
  int status;

  if (!w || (!samples && n)) {
    return tlg_error_set(err, TLG_EINVAL, "nothing to write to");
  }
  w->counts.full_scale += tlg_count_full_scale(samples, n);
  if (w->format == TLG_FORMAT_CS16 && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) {
    status = n ? w->ops->write(w, samples, n, err) : TLG_OK;
    w->stored += n;
    return status;
  }
  while (n) {
    const size_t m = n < BUFFER_SAMPLES ? n : BUFFER_SAMPLES;

    tlg_convert_from_cs16(w->buffer, samples, m, w->format, &w->counts);
    status = w->ops->write(w, w->buffer, m, err);
    if (status) {
      return status;
    }
    w->stored += m;
    samples += m;
    n -= m;
  }
  return TLG_OK;
}

int tlg_writer_gap(struct tlg_writer *w, uint64_t n, struct tlg_error *err)
{
  if (!w) {
    return tlg_error_set(err, TLG_EINVAL, "nothing to write to");
  }
  if (!n) {
    return TLG_OK;
  }
  w->missing += n;
  return add_capture(w, w->captures[w->n_captures - 1].frequency_hz, err);
}

int tlg_writer_retune(struct tlg_writer *w, double frequency_hz, struct tlg_error *err)
{
  if (!w) {
    return tlg_error_set(err, TLG_EINVAL, "nothing to write to");
  }
  return add_capture(w, frequency_hz, err);
}

void tlg_writer_datetime(struct tlg_writer *w, const char *datetime)
{
  struct tlg_datetime unused;

  if (w && datetime && tlg_datetime_parse(datetime, &unused) == TLG_OK) {
    snprintf(w->datetime, sizeof w->datetime, "%s", datetime);
  }
}

int tlg_writer_marks_gaps(const struct tlg_writer *w)
{
  return w->container == TLG_CONTAINER_SIGMF || w->container == TLG_CONTAINER_SIGMF_ARCHIVE;
}

enum tlg_format tlg_writer_format(const struct tlg_writer *w)
{
  return w->format;
}

enum tlg_container tlg_writer_container(const struct tlg_writer *w)
{
  return w->container;
}

int tlg_writer_close(struct tlg_writer *w, struct tlg_error *err)
{
  int status;

  if (!w) {
    return tlg_error_set(err, TLG_EINVAL, "no output is open");
  }
  status = w->ops->close(w, err);
  free_writer(w);
  return status;
}

void tlg_writer_abort(struct tlg_writer *w)
{
  if (w) {
    w->ops->abort(w);
    free_writer(w);
  }
}

void tlg_writer_counts(const struct tlg_writer *w, struct tlg_convert_counts *counts)
{
  *counts = w->counts;
}
