/* SPDX-License-Identifier: Apache-2.0 */
/* Raw samples from a file or a pipe; type and rate from options, else as suffix and file name hint. */
#include "reader.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* One word of a file name, between '_', '-', ' ' or brackets. */
struct word {
  char text[32];
};

/* "s19.2M", "25Msps", "19.2" ... as a number of Hz; 0 if text is no such number with nothing after it. */
static double number_of(const char *text, const char **rest)
{
  char *end;
  double x;

  if (!isdigit((unsigned char)text[0])) {
    return 0;
  }
  x = strtod(text, &end);
  if (*end == 'k' || *end == 'K') {
    x *= 1e3;
    end++;
  } else if (*end == 'M') {
    x *= 1e6;
    end++;
  } else if (*end == 'G') {
    x *= 1e9;
    end++;
  }
  *rest = end;
  return x > 0 && x < 1e12 ? x : 0;
}

static int is_date(const char *text)
{
  int month, day;

  if (strlen(text) != 8 || (strncmp(text, "19", 2) != 0 && strncmp(text, "20", 2) != 0)) {
    return 0;
  }
  month = (text[4] - '0') * 10 + text[5] - '0';
  day = (text[6] - '0') * 10 + text[7] - '0';
  return month >= 1 && month <= 12 && day >= 1 && day <= 31;
}

static int all_digits(const char *text)
{
  return text[0] && text[strspn(text, "0123456789")] == '\0';
}

/* "s19.2" and "f796M" tell a figure; a letter and a small whole number is how people name files, above all when it is
 * the whole name. */
static int telling(const char *word, int whole_name)
{
  const int lettered = word[0] == 's' || word[0] == 'S' || word[0] == 'f' || word[0] == 'F';

  return !lettered || strpbrk(word, "kKMG") || (!whole_name && (strchr(word, '.') || strlen(word) > 5));
}

void tlg_name_hints(const char *path, struct tlg_rate *rate, double *frequency_hz)
{
  const char *slash = strrchr(path, '/');
  const char *s = slash ? slash + 1 : path;
  const char *dot = strrchr(s, '.');
  const char *const end = dot && dot > s ? dot : s + strlen(s);
  const size_t whole = (size_t)(end - s);
  double plain_rate = 0, plain_frequency = 0, stated_rate = 0, frequency = 0;
  int after_date = 0;

  while (s < end) {
    const size_t n = strcspn(s, "_- ()[],");
    const size_t length = s + n > end ? (size_t)(end - s) : n;
    struct word w;
    const char *rest = "";
    double x;

    if (length > 0 && length < sizeof w.text) {
      memcpy(w.text, s, length);
      w.text[length] = '\0';
      if (all_digits(w.text)) {
        /* As gqrx and others write it: ..._FREQUENCY_RATE. A date, and the time after it, are neither. */
        x = strtod(w.text, NULL);
        if (is_date(w.text)) {
          after_date = 1;
        } else if (!(after_date && length <= 6) && x >= 1e5 && x < 1e11) {
          plain_frequency = plain_rate;
          plain_rate = x;
          after_date = 0;
        }
      } else if (!telling(w.text, length == whole)) {
        /* f1, s2, f44: a name, not a figure */
      } else if ((w.text[0] == 's' || w.text[0] == 'S') && (x = number_of(w.text + 1, &rest)) > 0 && !*rest) {
        stated_rate = x < 1000 ? x * 1e6 : x; /* "s19.2" */
      } else if ((w.text[0] == 'f' || w.text[0] == 'F') && (x = number_of(w.text + 1, &rest)) > 0 && !*rest) {
        frequency = x < 10000 ? x * 1e6 : x;
      } else if ((x = number_of(w.text, &rest)) > 0) {
        if (strcasecmp(rest, "sps") == 0 || strcasecmp(rest, "S/s") == 0) {
          stated_rate = x;
        } else if (strcasecmp(rest, "Hz") == 0) {
          frequency = x;
        }
      }
    }
    s += n + 1;
  }
  if (!stated_rate) {
    stated_rate = plain_rate;
    if (!frequency && plain_frequency > plain_rate) {
      frequency = plain_frequency;
    }
  }
  rate->num = rate->den = 0;
  if (stated_rate >= 1) {
    tlg_rate_make(rate, (uint64_t)(stated_rate * 1000 + 0.5), 1000);
  }
  *frequency_hz = frequency > 0 ? frequency : NAN;
}

void tlg_reader_settle_rate(struct tlg_reader *r, const char *path)
{
  struct tlg_rate named;
  double frequency;
  char text[64];

  tlg_name_hints(path, &named, &frequency);
  if (r->cfg.rate.num) {
    if (r->info.rate.num && (r->info.rate.num != r->cfg.rate.num || r->info.rate.den != r->cfg.rate.den)) {
      tlg_reader_hint(r, "the header says %s, but the option wins", tlg_rate_text(&r->info.rate, text, sizeof text));
    }
    r->info.rate = r->cfg.rate;
    r->info.rate_source = "option";
  } else if (!r->info.rate.num && named.num) {
    r->info.rate = named;
    r->info.rate_source = "file name";
    tlg_reader_hint(r, "rate %s taken from the file name; --rate wins", tlg_rate_text(&named, text, sizeof text));
  }
  if (isnan(r->info.frequency_hz) && !isnan(frequency)) {
    r->info.frequency_hz = frequency;
    tlg_reader_hint(r, "frequency %.10g MHz taken from the file name", frequency / 1e6);
  }
}

static int settle_format(struct tlg_reader *r, const char *path, struct tlg_error *err)
{
  const char *suffix = NULL;

  r->info.format = r->cfg.format;
  r->info.format_source = "option";
  if (!r->info.format) {
    r->info.format = tlg_suffix_format(path, &suffix);
    r->info.format_source = suffix && suffix[0] == '.' ? "suffix" : "file name";
    if (suffix) {
      tlg_reader_hint(r, "format %s taken from the %s %s; --format wins", tlg_format_name(r->info.format),
                      suffix[0] == '.' ? "suffix" : "end of the name,", suffix);
    }
  }
  if (!r->info.format && strcmp(path, "-") == 0) {
    return tlg_error_set(err, TLG_EINVAL,
                         "through stdin come raw samples, and --format must tell their type (cs16 cf32 cf64 cs8 cu8 "
                         "cs32); WAV and SigMF recordings must be named as files");
  }
  if (!r->info.format && tlg_suffix_foreign(path)) {
    return tlg_error_set(err, TLG_EINVAL, "%s: name a recording, or export its samples raw",
                         strncmp(tlg_suffix_foreign(path), ".pcap", 5) == 0
                             ? "this is no capture, whatever its suffix says"
                             : "files of this suffix are not read");
  }
  if (!r->info.format) {
    return tlg_error_set(err, TLG_EINVAL,
                         "nothing tells the sample format; give --format (cs16 cf32 cf64 cs8 cu8 cs32)");
  }
  return TLG_OK;
}

int tlg_reader_open_raw(struct tlg_reader *r, const char *path, struct tlg_error *err)
{
  struct span span = {0, 0};
  uint64_t size;
  size_t frame;
  int fd, status;

  r->info.container = TLG_CONTAINER_RAW;
  r->info.n_channels = r->cfg.channel > 1 ? r->cfg.channel : 1;
  if (r->cfg.channel > 1) {
    return tlg_error_set(err, TLG_EINVAL, "raw samples have one channel, there is no channel %u", r->cfg.channel);
  }
  /* Before the file is opened: opening a FIFO would wait for its writer. */
  status = settle_format(r, path, err);
  if (status) {
    return status;
  }
  tlg_reader_settle_rate(r, path);
  status = tlg_reader_open_file(path, 1, &fd, &size, err);
  if (status) {
    return status;
  }
  if (size == UINT64_MAX) {
    r->info.seekable = 0;
    return tlg_reader_use_spans(r, fd, NULL, 0, err);
  }
  frame = tlg_format_size(r->info.format);
  span.n = size / frame;
  r->info.tail_bytes = (unsigned)(size % frame);
  r->info.n_samples = span.n;
  r->info.seekable = 1;
  status = tlg_reader_use_spans(r, fd, &span, 1, err);
  if (status) {
    return status;
  }
  if (size == 0) {
    return tlg_error_at(err, TLG_EFORMAT, 0, 0, "it is empty: there are no samples");
  }
  if (span.n == 0) {
    return tlg_error_at(err, TLG_EFORMAT, 0, 0, "%llu byte%s: less than one sample of %zu bytes",
                        (unsigned long long)size, plural(size), frame);
  }
  if (r->info.tail_bytes) {
    tlg_reader_hint(r, "%u byte%s at the end (byte %llu) left out: less than one sample of %zu bytes",
                    r->info.tail_bytes, plural(r->info.tail_bytes), (unsigned long long)(span.n * frame), frame);
  }
  return TLG_OK;
}
