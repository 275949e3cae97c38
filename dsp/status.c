/* SPDX-License-Identifier: Apache-2.0 */
/* Status codes in words, and how an error is filled in. */
#include "taplag.h"

#include <stdarg.h>
#include <stdio.h>

__attribute__((format(printf, 5, 0))) static int set(struct tlg_error *err, int status, unsigned line, uint64_t offset,
                                                     const char *format, va_list ap)
{
  if (err) {
    err->status = status;
    err->line = line;
    err->offset = offset;
    vsnprintf(err->text, sizeof err->text, format, ap);
  }
  return status;
}

int tlg_error_set(struct tlg_error *err, int status, const char *format, ...)
{
  va_list ap;

  va_start(ap, format);
  status = set(err, status, 0, UINT64_MAX, format, ap);
  va_end(ap);
  return status;
}

int tlg_error_at(struct tlg_error *err, int status, unsigned line, uint64_t offset, const char *format, ...)
{
  va_list ap;

  va_start(ap, format);
  status = set(err, status, line, offset, format, ap);
  va_end(ap);
  return status;
}

const char *tlg_status_text(int status)
{
  switch (status) {
  case TLG_OK:
    return "done";
  case TLG_EINVAL:
    return "an argument is outside its range";
  case TLG_ESPACE:
    return "the output buffer is too small";
  case TLG_EEXIST:
    return "the output exists";
  case TLG_EFORMAT:
    return "the contents of the input are wrong";
  case TLG_ETAPS:
    return "the filter taps cannot be used";
  case TLG_ENOMEM:
    return "out of memory";
  case TLG_ESYS:
    return "the system refused";
  case TLG_EPIPE:
    return "the reader of the output went away";
  case TLG_EUNAVAIL:
    return "not available here";
  case TLG_EINTR:
    return "interrupted";
  }
  return "unknown status";
}

const char *tlg_version(void)
{
  return TLG_VERSION;
}
