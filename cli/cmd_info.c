/* SPDX-License-Identifier: Apache-2.0 */
/* taplag info: what a recording is, what its samples look like, and whether its header tells the truth. */
#include "cli.h"
#include "plot.h"
#include "tlg_spectra.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK 65536
/* Longer recordings are looked at in pieces, unless --full is given: 2^28 samples are 10.7 s at 25 Msps. */
#define FULL_LIMIT ((uint64_t)1 << 28)
#define PIECES 256
#define SEGMENT 4096 /* of the spectrum; shorter for shorter recordings, down to SEGMENT_MIN */
#define SEGMENT_MIN 64
#define COLUMNS 64 /* of the spectrum drawn in text */

static struct {
  char *plot;
  int force, json, quick, full;
} options;

static const struct poptOption table[] = {
    {"json", 0, POPT_ARG_NONE, &options.json, 0, "results as JSON", NULL},
    {"plot", 0, POPT_ARG_STRING, &options.plot, 0, "draw spectrum and waterfall (.svg, .png) through gnuplot", "FILE"},
    {"force", 0, POPT_ARG_NONE, &options.force, 0, "overwrite an existing plot", NULL},
    {"quick", 0, POPT_ARG_NONE, &options.quick, 0,
     "look at 256 pieces spread over the recording only, and check no hash", NULL},
    {"full", 0, POPT_ARG_NONE, &options.full, 0, "read all of it, however long", NULL},
    CLI_INPUT_OPTIONS,
    POPT_TABLEEND,
};

static const char description[] =
    "Levels are in dBFS: 0 is a complex tone at the type's (or the declared) full scale. Recordings of more than\n"
    "268 million samples are looked at in 256 pieces unless --full is given.\n";

/* Sums over the samples looked at; whole numbers, so that their order does not matter. */
struct sums {
  uint64_t n;
  __int128 i, q, ii, qq, iq;
  int peak;            /* largest |component| */
  uint64_t peak_power; /* largest I^2 + Q^2 */
  uint64_t peak_at;    /* and its sample */
  uint64_t zeros;      /* samples that are exactly 0 */
};

static void add(struct sums *s, const tlg_cs16 *x, size_t n, uint64_t first)
{
  int64_t i = 0, q = 0, ii = 0, qq = 0, iq = 0;
  size_t k;

  for (k = 0; k < n; k++) {
    const int32_t a = x[k].i, b = x[k].q;
    const uint64_t power = (uint64_t)((int64_t)a * a + (int64_t)b * b);
    const int high = abs(a) > abs(b) ? abs(a) : abs(b);

    i += a;
    q += b;
    ii += (int64_t)a * a;
    qq += (int64_t)b * b;
    iq += (int64_t)a * b;
    s->zeros += power == 0;
    s->peak = high > s->peak ? high : s->peak;
    if (power > s->peak_power) {
      s->peak_power = power;
      s->peak_at = first + k;
    }
  }
  s->n += n;
  s->i += i;
  s->q += q;
  s->ii += ii;
  s->qq += qq;
  s->iq += iq;
}

/* What is printed of them. */
struct figures {
  double level_dbfs, peak_dbfs, crest_db;
  double dc_dbfs, dc_i, dc_q; /* dc_i, dc_q: of full scale */
  double gain_db, phase_deg;  /* I against Q, without DC */
};

static double db(double power)
{
  return power > 0 ? 10.0 * log10(power) : -INFINITY;
}

static void figure(const struct sums *s, struct figures *f)
{
  const double n = (double)s->n, full = 1073741824.0;
  const double i = (double)s->i / n, q = (double)s->q / n;
  const double ii = (double)s->ii / n - i * i, qq = (double)s->qq / n - q * q, iq = (double)s->iq / n - i * q;

  f->level_dbfs = db(((double)s->ii + (double)s->qq) / n / full);
  f->peak_dbfs = db((double)s->peak_power / full);
  f->crest_db = f->peak_dbfs - f->level_dbfs;
  f->dc_dbfs = db((i * i + q * q) / full);
  f->dc_i = i / 32768.0;
  f->dc_q = q / 32768.0;
  f->gain_db = ii > 0 && qq > 0 ? db(ii / qq) : NAN;
  f->phase_deg = ii > 0 && qq > 0 ? asin(iq / sqrt(ii * qq)) * 57.295779513082320877 : NAN;
}

struct look {
  const char *command, *path;
  struct tlg_reader_cfg cfg;
  struct tlg_reader *reader;
  tlg_cs16 *buffer;
  struct sums sums;
  struct tlg_convert_counts counts;
  int pieces; /* only a part was looked at */
  struct tlg_psd *psd;
  struct cli_scope *scope; /* NULL: no plot asked for */
  tlg_cs16 carry[SEGMENT]; /* samples that make no whole segment yet */
  size_t segment, carried;
  uint64_t next; /* the sample that would go on without a gap */
};

/* The spectrum's segments are whole and never span a gap. */
static void push_spectrum(struct look *l, const tlg_cs16 *x, size_t n, uint64_t first)
{
  if (first != l->next) {
    l->carried = 0;
  }
  l->next = first + n;
  while (l->psd && n) {
    const size_t room = l->segment - l->carried;
    const size_t m = l->carried || n < l->segment ? (n < room ? n : room) : n / l->segment * l->segment;

    if (!l->carried && m >= l->segment) {
      tlg_psd_push(l->psd, x, m);
    } else {
      memcpy(l->carry + l->carried, x, m * sizeof *x);
      l->carried += m;
      if (l->carried == l->segment) {
        tlg_psd_push(l->psd, l->carry, l->segment);
        l->carried = 0;
      }
    }
    x += m;
    n -= m;
  }
}

static void take(struct look *l, const tlg_cs16 *x, size_t n, uint64_t first)
{
  static const tlg_cs16 zeros[4096];
  uint64_t gap = l->scope && first > l->next && !l->pieces ? first - l->next : 0;

  for (gap = gap < BLOCK ? gap : BLOCK; gap;
       gap -= gap < 4096 ? gap : 4096) { /* a long gap need not be drawn to scale */
    cli_scope_push(l->scope, zeros, gap < 4096 ? (size_t)gap : 4096);
  }
  add(&l->sums, x, n, first);
  push_spectrum(l, x, n, first);
  if (l->scope) {
    cli_scope_push(l->scope, x, n);
  }
}

/* Where the power lies, DC left out. Frequencies are fractions of the rate. */
struct band {
  int known;
  double low, high;   /* half a per cent of the power lies below low, and above high */
  double upper_share; /* of the power, above 0 Hz */
  char text[COLUMNS + 1];
};

/* The place where the sum of the bins reaches part, within its bin by proportion, to 1/16 of a bin. */
static double edge(const double *level, size_t n, double part)
{
  double sum = 0;
  size_t k;

  for (k = 0; k + 1 < n && sum + level[k] < part; k++) {
    sum += level[k];
  }
  return (floor(((double)k + (level[k] > 0 ? (part - sum) / level[k] : 0)) * 16 + 0.5) / 16 - (double)(n / 2) - 0.5) /
         (double)n;
}

static void find_band(const struct look *l, struct band *b)
{
  static const char shades[] = " .:-=+*#%@";
  const size_t n = l->psd ? tlg_psd_size(l->psd) : 0;
  double *level = n ? malloc(n * sizeof *level) : NULL;
  double column[COLUMNS] = {0}, total = 0, upper = 0, highest = 0;
  size_t k;

  b->known = 0;
  if (!level || tlg_psd_segments(l->psd) == 0) {
    free(level);
    return;
  }
  tlg_psd_levels(l->psd, level);
  /* The main lobe of a window of four terms spans 4 bins either way; what lies beside it stands for what is under it.
   */
  for (k = n / 2 - 4; k <= n / 2 + 4 && k < n; k++) {
    level[k] = (level[n / 2 - 5] + level[n / 2 + 5]) / 2;
  }
  for (k = 0; k < n; k++) {
    total += level[k];
    upper += k > n / 2 ? level[k] : k == n / 2 ? level[k] / 2 : 0;
    column[k * COLUMNS / n] += level[k];
  }
  for (k = 0; k < COLUMNS; k++) {
    highest = column[k] > highest ? column[k] : highest;
  }
  for (k = 0; k < COLUMNS; k++) { /* 6 dB a step */
    const double down = highest > 0 && column[k] > 0 ? -db(column[k] / highest) : 100;

    b->text[k] = shades[down < 54 ? 9 - (int)(down / 6) : 0];
  }
  b->text[COLUMNS] = '\0';
  if (total > 0) {
    b->known = 1;
    b->low = edge(level, n, 0.005 * total);
    b->high = edge(level, n, 0.995 * total);
    b->upper_share = upper / total;
  }
  free(level);
}

/* Spectrum, and the plot if one is asked for, once the reader has told how long the recording is. */
static int open_spectra(struct look *l)
{
  const struct tlg_reader_info *info = tlg_reader_info(l->reader);
  const struct tlg_rate unit = {1, 1};
  const uint64_t n = l->pieces ? (uint64_t)PIECES * BLOCK : info->n_samples;
  struct tlg_psd_cfg cfg = {.window = TLG_WINDOW_BLACKMAN_HARRIS};

  l->segment = SEGMENT;
  while (l->segment > SEGMENT_MIN && l->segment > info->n_samples / 4) {
    l->segment /= 2;
  }
  cfg.n = cfg.hop = l->segment;
  if (tlg_psd_new(&l->psd, &cfg) ||
      (options.plot && cli_scope_open(&l->scope, info->rate.num ? &info->rate : &unit, n))) {
    cli_say(l->command, "out of memory");
    return CLI_SYSTEM;
  }
  return 0;
}

static int keep_going(void *context, uint64_t done, uint64_t total)
{
  const struct look *l = context;

  cli_progress(l->command, done, total);
  return cli_stop;
}

static void hint(void *context, const char *text)
{
  const struct look *l = context;

  cli_say(l->command, "%s: %s", l->path, text);
}

static int look_at_all(struct look *l, struct tlg_error *err)
{
  const uint64_t total = tlg_reader_info(l->reader)->n_samples;
  uint64_t first;
  size_t got;
  int status = TLG_OK;

  while (!cli_stop) {
    status = tlg_reader_read(l->reader, l->buffer, BLOCK, &got, &first, err);
    if (status == TLG_EINTR) {
      status = TLG_OK;
      continue;
    }
    if (status || !got) {
      break;
    }
    take(l, l->buffer, got, first);
    cli_progress(l->command, l->sums.n, total == UINT64_MAX ? 0 : total);
  }
  tlg_reader_counts(l->reader, &l->counts);
  return status;
}

/* Pieces spread evenly over the stream, each through a reader with a window. */
static int look_at_pieces(struct look *l, uint64_t length, struct tlg_error *err)
{
  struct tlg_reader_cfg cfg = l->cfg;
  uint64_t k, first;
  size_t got;
  int status = TLG_OK;

  cfg.hint = NULL;
  cfg.skip_hash = 1;
  cfg.length = BLOCK;
  cfg.length_ps = 0;
  for (k = 0; k < PIECES && !cli_stop; k++) {
    struct tlg_convert_counts counts;
    struct tlg_reader *piece;

    cfg.start = l->cfg.start + (uint64_t)((unsigned __int128)(length - BLOCK) * k / (PIECES - 1));
    status = tlg_reader_open(&piece, l->path, &cfg, err);
    if (status == TLG_EINVAL) {
      status = TLG_OK; /* the piece lies in a gap */
      continue;
    }
    while (status == TLG_OK) {
      status = tlg_reader_read(piece, l->buffer, BLOCK, &got, &first, err);
      if (status || !got) {
        break;
      }
      take(l, l->buffer, got, cfg.start - l->cfg.start + first);
    }
    if (piece) {
      tlg_reader_counts(piece, &counts);
      l->counts.clipped += counts.clipped;
      l->counts.non_finite += counts.non_finite;
      l->counts.full_scale += counts.full_scale;
      tlg_reader_close(piece);
    }
    if (status) {
      return status;
    }
    cli_progress(l->command, k + 1, PIECES);
  }
  return status;
}

static const char *hash_text(enum tlg_hash_state hash)
{
  switch (hash) {
  case TLG_HASH_GOOD:
    return "agrees";
  case TLG_HASH_WRONG:
    return "does not agree";
  case TLG_HASH_SKIPPED:
    return "not checked";
  case TLG_HASH_NONE:
    break;
  }
  return "none";
}

static json_t *captures_json(const struct tlg_reader_info *info)
{
  json_t *list = json_array();
  size_t i;

  for (i = 0; i < info->n_captures; i++) {
    const struct tlg_capture *c = &info->captures[i];
    json_t *o = json_object();

    json_object_set_new(o, "first", json_integer((json_int_t)c->first));
    json_object_set_new(o, "samples", c->n == UINT64_MAX ? json_null() : json_integer((json_int_t)c->n));
    json_object_set_new(o, "gap_before", json_integer((json_int_t)c->gap_before));
    json_object_set_new(o, "frequency_hz", cli_number(c->frequency_hz, 3));
    json_object_set_new(o, "datetime", c->datetime[0] ? json_string(c->datetime) : json_null());
    json_array_append_new(list, o);
  }
  return list;
}

static json_t *known(uint64_t n)
{
  return n == UINT64_MAX ? json_null() : json_integer((json_int_t)n);
}

static json_t *band_json(const struct tlg_reader_info *info, const struct band *b)
{
  const double hz = tlg_rate_hz(&info->rate);
  json_t *o = json_object();

  json_object_set_new(o, "low", cli_number(b->low, 6));
  json_object_set_new(o, "high", cli_number(b->high, 6));
  json_object_set_new(o, "low_hz", info->rate.num ? cli_number(b->low * hz, 0) : json_null());
  json_object_set_new(o, "high_hz", info->rate.num ? cli_number(b->high * hz, 0) : json_null());
  json_object_set_new(o, "width_hz", info->rate.num ? cli_number((b->high - b->low) * hz, 0) : json_null());
  json_object_set_new(o, "share_above_zero", cli_number(b->upper_share, 4));
  return o;
}

static int print_json(const struct look *l, const struct figures *f, const struct band *b, FILE *out)
{
  const struct tlg_reader_info *info = tlg_reader_info(l->reader);
  json_t *root = json_object(), *header = json_object(), *level = json_object();

  json_object_set_new(root, "container", json_string(tlg_container_name(info->container)));
  json_object_set_new(root, "format", json_string(tlg_format_name(info->format)));
  json_object_set_new(root, "big_endian", json_boolean(info->big_endian));
  json_object_set_new(root, "format_source", info->format_source ? json_string(info->format_source) : json_null());
  json_object_set_new(root, "rate", info->rate.num ? cli_rate_json(&info->rate) : json_null());
  json_object_set_new(root, "rate_source", info->rate_source ? json_string(info->rate_source) : json_null());
  json_object_set_new(root, "samples", known(info->n_samples));
  json_object_set_new(root, "seconds",
                      info->rate.num && info->n_samples != UINT64_MAX
                          ? cli_number((double)info->n_samples / tlg_rate_hz(&info->rate), 9)
                          : json_null());
  json_object_set_new(root, "missing", json_integer((json_int_t)info->n_missing));
  json_object_set_new(root, "tail_bytes", json_integer(info->tail_bytes));
  json_object_set_new(root, "channels", json_integer(info->n_channels));
  json_object_set_new(root, "full_scale", cli_number(info->full_scale, 6));
  json_object_set_new(root, "frequency_hz", cli_number(info->frequency_hz, 3));
  json_object_set_new(root, "offset", json_integer((json_int_t)info->offset));
  json_object_set_new(header, "agrees", json_boolean(!info->header_lies));
  json_object_set_new(header, "note", info->header_note[0] ? json_string(info->header_note) : json_null());
  json_object_set_new(header, "stated_samples", known(info->n_stated));
  json_object_set_new(header, "sha512", json_string(hash_text(info->hash)));
  json_object_set_new(root, "header", header);
  json_object_set_new(root, "captures", captures_json(info));
  json_object_set_new(level, "samples", json_integer((json_int_t)l->sums.n));
  json_object_set_new(level, "in_pieces", json_boolean(l->pieces));
  json_object_set_new(level, "level_dbfs", cli_number(f->level_dbfs, 2));
  json_object_set_new(level, "peak_dbfs", cli_number(f->peak_dbfs, 2));
  json_object_set_new(level, "peak_component", json_integer(l->sums.peak));
  json_object_set_new(level, "peak_sample", json_integer((json_int_t)l->sums.peak_at));
  json_object_set_new(level, "clipped", json_integer((json_int_t)l->counts.clipped));
  json_object_set_new(level, "full_scale", json_integer((json_int_t)l->counts.full_scale));
  json_object_set_new(level, "non_finite", json_integer((json_int_t)l->counts.non_finite));
  json_object_set_new(level, "zeros", json_integer((json_int_t)l->sums.zeros));
  json_object_set_new(level, "dc_dbfs", cli_number(f->dc_dbfs, 2));
  json_object_set_new(level, "dc_i", cli_number(f->dc_i, 6));
  json_object_set_new(level, "dc_q", cli_number(f->dc_q, 6));
  json_object_set_new(level, "iq_gain_db", cli_number(f->gain_db, 3));
  json_object_set_new(level, "iq_phase_deg", cli_number(f->phase_deg, 3));
  json_object_set_new(root, "level", level);
  json_object_set_new(root, "occupied_99", b->known ? band_json(info, b) : json_null());
  json_object_set_new(root, "interrupted", json_boolean(cli_stop != 0));
  return cli_print_json(l->command, root, out);
}

static void print_captures(const struct tlg_reader_info *info, FILE *out)
{
  size_t i;

  if (info->n_captures == 1 && !info->captures[0].gap_before && !info->captures[0].datetime[0]) {
    return;
  }
  for (i = 0; i < info->n_captures; i++) {
    const struct tlg_capture *c = &info->captures[i];

    if (i == 20 && info->n_captures > 24) {
      fprintf(out, "           ... %zu more (--json lists all)\n", info->n_captures - i);
      break;
    }
    if (c->gap_before) {
      fprintf(out, "gap        %" PRIu64 " sample%s missing\n", c->gap_before, c->gap_before == 1 ? " is" : "s are");
    }
    fprintf(out, "capture    %zu: from %" PRIu64, i + 1, c->first);
    if (c->n != UINT64_MAX) {
      fprintf(out, ", %" PRIu64 " sample%s", c->n, cli_plural(c->n));
    }
    if (!isnan(c->frequency_hz)) {
      fprintf(out, ", %.10g MHz", c->frequency_hz / 1e6);
    }
    if (c->datetime[0]) {
      fprintf(out, ", %s", c->datetime);
    }
    fputc('\n', out);
  }
}

/* Share of a whole, for counts of components. */
static double percent(uint64_t count, uint64_t n)
{
  return n ? 50.0 * (double)count / (double)n : 0;
}

static void print_band(const struct tlg_reader_info *info, const struct band *b, FILE *out)
{
  const double mhz = info->rate.num ? tlg_rate_hz(&info->rate) / 1e6 : 1;
  const char *const unit = info->rate.num ? "MHz" : "of the rate";

  fprintf(out, "band       99 %% of the power from %+.4f to %+.4f %s: %.4f wide about %+.4f (DC left out)\n",
          b->low * mhz, b->high * mhz, unit, (b->high - b->low) * mhz, (b->high + b->low) / 2 * mhz);
  fprintf(out, "           |%s| %.4g to %.4g, 6 dB a step\n", b->text, -0.5 * mhz, 0.5 * mhz);
  fprintf(out, "           %.1f %% of it above 0 Hz; with I and Q swapped (--swap-iq) it would be %.1f %%\n",
          100 * b->upper_share, 100 - 100 * b->upper_share);
}

static void print_text(const struct look *l, const struct figures *f, const struct band *b, FILE *out)
{
  const struct tlg_reader_info *info = tlg_reader_info(l->reader);
  const struct sums *s = &l->sums;
  char text[64];

  fprintf(out, "file       %s\n", strcmp(l->path, "-") == 0 ? "(stdin)" : l->path);
  fprintf(out, "type       %s, %s%s (from %s)", tlg_container_name(info->container), tlg_format_name(info->format),
          info->big_endian ? " big endian" : "", info->format_source ? info->format_source : "?");
  if (info->n_channels > 1) {
    fprintf(out, ", one of %u channels", info->n_channels);
  }
  if (l->cfg.full_scale > 0) {
    fprintf(out, ", full scale declared as %.10g", info->full_scale);
  }
  fputc('\n', out);
  if (info->rate.num) {
    fprintf(out, "rate       %s (from %s)\n", tlg_rate_text(&info->rate, text, sizeof text), info->rate_source);
  } else {
    fputs("rate       not known; --rate tells it\n", out);
  }
  if (info->n_samples == UINT64_MAX) {
    fprintf(out, "length     not known, %" PRIu64 " sample%s so far\n", s->n, cli_plural(s->n));
  } else {
    fprintf(out, "length     %" PRIu64 " sample%s", info->n_samples, cli_plural(info->n_samples));
    if (info->rate.num) {
      fprintf(out, ", %.9g s", (double)info->n_samples / tlg_rate_hz(&info->rate));
    }
    if (info->n_missing) {
      fprintf(out, ", and %" PRIu64 " missing in gaps", info->n_missing);
    }
    if (info->tail_bytes) {
      fprintf(out, ", and %u byte%s no sample", info->tail_bytes,
              info->tail_bytes == 1 ? " that makes" : "s that make");
    }
    fputc('\n', out);
  }
  if (!isnan(info->frequency_hz)) {
    fprintf(out, "frequency  %.10g MHz\n", info->frequency_hz / 1e6);
  }
  if (info->container != TLG_CONTAINER_RAW) {
    fprintf(out, "header     %s\n", info->header_lies ? info->header_note : "agrees with the file");
    if (info->hash != TLG_HASH_NONE) {
      fprintf(out, "sha512     %s\n", hash_text(info->hash));
    }
  }
  print_captures(info, out);
  if (l->pieces) {
    fprintf(out, "looked at  %" PRIu64 " samples in %d pieces; --full reads all\n", s->n, PIECES);
  }
  if (!s->n) {
    return;
  }
  if (s->ii + s->qq == 0) {
    fputs("level      all samples are 0\n", out);
    return;
  }
  fprintf(out, "level      %.2f dBFS, peak %.2f dBFS (sample %" PRIu64 "), largest component %d of 32768\n",
          f->level_dbfs, f->peak_dbfs, s->peak_at, s->peak);
  fprintf(out,
          "clipped    %" PRIu64 " component%s did not fit, %" PRIu64 " at full scale (%.3g %%), %" PRIu64
          " not finite\n",
          l->counts.clipped, cli_plural(l->counts.clipped), l->counts.full_scale, percent(l->counts.full_scale, s->n),
          l->counts.non_finite);
  fprintf(out, "DC         %.2f dBFS (I %+.6f, Q %+.6f of full scale)\n", f->dc_dbfs, f->dc_i, f->dc_q);
  if (!isnan(f->gain_db)) {
    fprintf(out, "IQ balance gain %+.3f dB, phase %+.3f degrees\n", f->gain_db, f->phase_deg);
  } else {
    fputs("IQ balance not to be told: I or Q is constant\n", out);
  }
  if (b->known) {
    print_band(info, b, out);
  }
}

int cmd_info(int argc, const char **argv)
{
  struct look l = {.command = argv[0]};
  const struct tlg_reader_info *info;
  struct tlg_error err = {0};
  struct figures f = {0};
  struct band b = {0};
  struct cli_options o;
  uint64_t length;
  int status = cli_options(&o, argv[0], argc, argv, table, description, 1, 1), wrong = TLG_OK;

  if (status >= 0) {
    return status;
  }
  l.path = o.args[0];
  if (options.quick && options.full) {
    status = cli_usage(l.command, "--quick and --full exclude each other");
    goto end;
  }
  status = cli_input_cfg(l.command, l.path, &l.cfg);
  if (status) {
    goto end;
  }
  if (options.plot && (status = cli_plot_ready(l.command, options.plot, options.force))) {
    goto end;
  }
  /* A header that lies is what info is there to show, so it reads on, as with --rescue. */
  l.cfg.strict_hash = !l.cfg.rescue;
  l.cfg.rescue = 1;
  l.cfg.skip_hash |= options.quick;
  l.cfg.hint = hint;
  l.cfg.progress = keep_going;
  l.cfg.context = &l;
  cli_catch_signals();
  if (tlg_reader_open(&l.reader, l.path, &l.cfg, &err)) {
    status = cli_fail(l.command, l.path, &err);
    goto end;
  }
  l.buffer = malloc(BLOCK * sizeof *l.buffer);
  if (!l.buffer) {
    tlg_error_set(&err, TLG_ENOMEM, "out of memory");
    status = cli_fail(l.command, NULL, &err);
    goto end;
  }
  info = tlg_reader_info(l.reader);
  length = info->n_samples == UINT64_MAX ? 0 : info->n_samples + info->n_missing;
  l.pieces = info->seekable && strcmp(l.path, "-") != 0 && length > (uint64_t)PIECES * BLOCK && !options.full &&
             (options.quick || info->n_samples > FULL_LIMIT);
  status = open_spectra(&l);
  if (status) {
    goto end;
  }
  wrong = l.pieces ? look_at_pieces(&l, length, &err) : look_at_all(&l, &err);
  cli_progress(l.command, 1, 1);
  if (wrong) {
    status = cli_fail(l.command, l.path, &err);
  }
  if (l.sums.n) {
    figure(&l.sums, &f);
    find_band(&l, &b);
  }
  if (options.json) {
    const int printed = print_json(&l, &f, &b, stdout);

    status = status ? status : printed;
  } else {
    print_text(&l, &f, &b, stdout);
  }
  if (l.scope && !status) {
    status = cli_scope_plot(l.command, l.scope, l.path, info->frequency_hz, options.plot, options.force);
  }
  status = cli_finish(l.command, stdout, status);
end:
  tlg_psd_free(l.psd);
  cli_scope_close(l.scope);
  tlg_reader_close(l.reader);
  free(l.buffer);
  cli_options_free(&o);
  return cli_exit_stopped(status);
}
