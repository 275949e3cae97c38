/* SPDX-License-Identifier: Apache-2.0 */
/* taplag synth: write a test signal. */
#include "synth.h"

#include <endian.h>
#include <math.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#define NAME "synth"
enum { BLOCK = 65536 };

static struct {
  char *output, *rate, *duration, *samples, *start, *level, *seed, *format;
  char *freq, *from, *to, *sweep, *spacing, *count, *at, *every, *value, *subcarriers, *modulation, *window, *repeat;
  int band_limit, force, json;
} opt;

static const struct poptOption table[] = {
    {"output", 'o', POPT_ARG_STRING, &opt.output, 0, "where to write; the suffix tells the kind, - is stdout (raw)",
     "FILE"},
    {"rate", 'r', POPT_ARG_STRING, &opt.rate, 0, "samples a second (25M)", "RATE"},
    {"duration", 'd', POPT_ARG_STRING, &opt.duration, 0, "length (1s)", "TIME"},
    {"samples", 0, POPT_ARG_STRING, &opt.samples, 0, "length in samples, instead", "N"},
    {"start", 0, POPT_ARG_STRING, &opt.start, 0, "number of the first sample written (0)", "N"},
    {"level", 'l', POPT_ARG_STRING, &opt.level, 0,
     "dBFS: of a tone's or chirp's amplitude, a constant's or impulse's size; of the mean power of tones, noise, ofdm, "
     "lte",
     "DB"},
    {"seed", 's', POPT_ARG_STRING, &opt.seed, 0, "noise, ofdm, lte, --snr: another seed, another content (0)", "N"},
    {"format", 'f', POPT_ARG_STRING, &opt.format, 0, "sample format of the file (by suffix, else cs16)", "FORMAT"},
    {"force", 0, POPT_ARG_NONE, &opt.force, 0, "overwrite an existing file", NULL},
    {"json", 0, POPT_ARG_NONE, &opt.json, 0, "print the summary as JSON", NULL},
    {"freq", 0, POPT_ARG_STRING, &opt.freq, 0, "tone: its frequency (1M); tones: centre of the set (0)", "HZ"},
    {"spacing", 0, POPT_ARG_STRING, &opt.spacing, 0,
     "tones: distance of neighbours (300.5k); a multiple of 40k stays on the 40 kHz raster at any of LTE's rates",
     "HZ"},
    {"count", 0, POPT_ARG_STRING, &opt.count, 0, "tones: how many (61)", "N"},
    {"from", 0, POPT_ARG_STRING, &opt.from, 0, "chirp: where it starts (-9.0075M)", "HZ"},
    {"to", 0, POPT_ARG_STRING, &opt.to, 0, "chirp: where it ends (9.0075M)", "HZ"},
    {"sweep", 0, POPT_ARG_STRING, &opt.sweep, 0, "chirp: duration of one sweep (10ms)", "TIME"},
    {"at", 0, POPT_ARG_STRING, &opt.at, 0, "impulse, step: sample number (0)", "N"},
    {"every", 0, POPT_ARG_STRING, &opt.every, 0, "impulse: distance to the next (0: only one)", "N"},
    {"value", 0, POPT_ARG_STRING, &opt.value, 0, "impulse, step, dc: the sample in int16, instead of --level", "I,Q"},
    {"subcarriers", 0, POPT_ARG_STRING, &opt.subcarriers, 0, "ofdm: lines of 15 kHz around the unused DC (1200)", "N"},
    {"modulation", 0, POPT_ARG_STRING, &opt.modulation, 0,
     "ofdm: qpsk, 16qam, 64qam (default) or 256qam; lte: uncoded data", "NAME"},
    {"window", 0, POPT_ARG_STRING, &opt.window, 0,
     "ofdm, lte: raised-cosine overlap of symbols inside the cyclic prefix, in 1/30.72 MHz, up to 144; none (ofdm 72 = "
     "2.34 us; lte 4 to 32, what its EVM windows do not see)",
     "N"},
    {"band-limit", 0, POPT_ARG_NONE, &opt.band_limit, 0,
     "ofdm, lte: a linear-phase filter, flat over the subcarriers, confines the signal to its channel (20 MHz: +-10 "
     "MHz)",
     NULL},
    {"repeat", 0, POPT_ARG_STRING, &opt.repeat, 0,
     "ofdm, lte: content repeats after this, a multiple of 0.5 ms (lte: 10 ms), so that the file loops without a seam",
     "TIME"},
    {NULL, 0, POPT_ARG_INCLUDE_TABLE, synth_lte_table, 0, "LTE downlink:", NULL},
    {NULL, 0, POPT_ARG_INCLUDE_TABLE, synth_impair_table, 0, "Impairments, of any signal:", NULL},
    POPT_TABLEEND,
};

/* Which signals an option is for. */
#define FOR(kind) (1u << TLG_SIGNAL_##kind)
static const struct {
  const char *option;
  char **text;
  unsigned kinds;
} uses[] = {
    {"--level", &opt.level,
     FOR(TONE) | FOR(TONES) | FOR(CHIRP) | FOR(NOISE) | FOR(OFDM) | FOR(LTE) | FOR(DC) | FOR(STEP) | FOR(IMPULSE)},
    {"--seed", &opt.seed, FOR(NOISE) | FOR(OFDM) | FOR(LTE)},
    {"--freq", &opt.freq, FOR(TONE) | FOR(TONES)},
    {"--spacing", &opt.spacing, FOR(TONES)},
    {"--count", &opt.count, FOR(TONES)},
    {"--from", &opt.from, FOR(CHIRP)},
    {"--to", &opt.to, FOR(CHIRP)},
    {"--sweep", &opt.sweep, FOR(CHIRP)},
    {"--at", &opt.at, FOR(IMPULSE) | FOR(STEP)},
    {"--every", &opt.every, FOR(IMPULSE)},
    {"--value", &opt.value, FOR(IMPULSE) | FOR(STEP) | FOR(DC)},
    {"--subcarriers", &opt.subcarriers, FOR(OFDM)},
    {"--modulation", &opt.modulation, FOR(OFDM) | FOR(LTE)},
    {"--window", &opt.window, FOR(OFDM) | FOR(LTE)},
    {"--repeat", &opt.repeat, FOR(OFDM) | FOR(LTE)},
};

static int frequency(const char *option, const char *text, struct tlg_frequency *f)
{
  if (text && tlg_frequency_parse(f, text) != TLG_OK) {
    return cli_usage(NAME, "%s %s: not a frequency; write 300.5k, -9.0075M or 0", option, text);
  }
  return 0;
}

static int small_count(const char *option, const char *text, unsigned low, unsigned high, unsigned *n)
{
  uint64_t value = 0;
  const int st = cli_count(NAME, option, text, &value);

  if (st || !text) {
    return st;
  }
  if (value < low || value > high) {
    return cli_usage(NAME, "%s %s: from %u to %u", option, text, low, high);
  }
  *n = (unsigned)value;
  return 0;
}

static int read_value(const char *text, tlg_cs16 *value)
{
  char *end;
  long i, q = 0;

  if (!text) {
    return 0;
  }
  i = strtol(text, &end, 10);
  if (end != text && *end == ',') {
    text = end + 1;
    q = strtol(text, &end, 10);
  }
  if (end == text || *end || i < INT16_MIN || i > INT16_MAX || q < INT16_MIN || q > INT16_MAX || (i == 0 && q == 0)) {
    return cli_usage(NAME, "--value %s: one or two numbers of int16 with a comma, not both 0, as 20000,-20000",
                     opt.value);
  }
  value->i = (int16_t)i;
  value->q = (int16_t)q;
  return 0;
}

static int read_modulation(const char *text, enum tlg_modulation *modulation)
{
  static const struct {
    const char *name;
    enum tlg_modulation modulation;
  } names[] = {{"qpsk", TLG_QPSK}, {"16qam", TLG_16QAM}, {"64qam", TLG_64QAM}, {"256qam", TLG_256QAM}};
  size_t i;

  if (!text) {
    return 0;
  }
  for (i = 0; i < sizeof names / sizeof *names; i++) {
    if (strcasecmp(text, names[i].name) == 0) {
      *modulation = names[i].modulation;
      return 0;
    }
  }
  return cli_usage(NAME, "--modulation %s: one of qpsk 16qam 64qam 256qam", text);
}

static const char *modulation_name(enum tlg_modulation m)
{
  return m == TLG_QPSK ? "QPSK" : m == TLG_16QAM ? "16QAM" : m == TLG_64QAM ? "64QAM" : "256QAM";
}

static int read_window(const char *text, unsigned *window)
{
  if (text && (strcmp(text, "none") == 0 || strcmp(text, "0") == 0)) {
    *window = TLG_OFDM_NO_WINDOW;
    return 0;
  }
  return small_count("--window", text, 1, TLG_OFDM_MAX_WINDOW, window);
}

/* A duration in whole slots of 0.5 ms. */
static int read_repeat(const char *text, uint64_t *slots)
{
  const struct tlg_rate microseconds = {1000000, 1};
  uint64_t us = 0;
  const int st = cli_duration(NAME, "--repeat", text, &microseconds, &us);

  if (st || !text) {
    return st;
  }
  if (!us || us % 500) {
    return cli_usage(NAME, "--repeat %s: must be a multiple of 0.5ms", text);
  }
  *slots = us / 500;
  return 0;
}

/* The signal that the options ask for, complete. */
static int configure(const char *kind, struct tlg_signal_cfg *cfg)
{
  double level_db = 0.0;
  size_t i;
  int st;

  if (tlg_signal_parse(&cfg->kind, kind) != TLG_OK) {
    return cli_usage(NAME, "no signal '%s'; 'taplag synth --help' lists them", kind);
  }
  for (i = 0; i < sizeof uses / sizeof *uses; i++) {
    if (*uses[i].text && !(uses[i].kinds >> cfg->kind & 1) &&
        !(uses[i].text == &opt.seed && synth_impair_has_noise())) {
      return cli_usage(NAME, "%s is not for %s", uses[i].option, kind);
    }
  }
  if (opt.band_limit && cfg->kind != TLG_SIGNAL_OFDM && cfg->kind != TLG_SIGNAL_LTE) {
    return cli_usage(NAME, "--band-limit is not for %s", kind);
  }
  cfg->band_limit = opt.band_limit ? 1 : 0;
  if (opt.value && opt.level) {
    return cli_usage(NAME, "give --level or --value, not both");
  }
  if ((st = cli_rate(NAME, "--rate", opt.rate, &cfg->rate)) ||
      (st = cli_real(NAME, "--level", opt.level, -120.0, 30.0, &level_db)) ||
      (st = cli_count(NAME, "--seed", opt.seed, &cfg->seed)) ||
      (st = frequency(cfg->kind == TLG_SIGNAL_CHIRP ? "--from" : "--freq", opt.from ? opt.from : opt.freq,
                      &cfg->freq)) ||
      (st = frequency("--to", opt.to, &cfg->freq_to)) || (st = frequency("--spacing", opt.spacing, &cfg->spacing)) ||
      (st = small_count("--count", opt.count, 1, 4096, &cfg->n_tones)) ||
      (st = cli_count(NAME, "--at", opt.at, &cfg->at)) || (st = cli_count(NAME, "--every", opt.every, &cfg->every)) ||
      (st = read_value(opt.value, &cfg->value)) ||
      (st = small_count("--subcarriers", opt.subcarriers, 2, 65536, &cfg->subcarriers)) ||
      (st = read_modulation(opt.modulation, &cfg->modulation)) || (st = read_window(opt.window, &cfg->window)) ||
      (st = read_repeat(opt.repeat, &cfg->repeat)) || (st = synth_lte_configure(cfg, opt.modulation)) ||
      (st = synth_impair_configure(cfg))) {
    return st;
  }
  if (!cfg->rate.num) {
    cfg->rate = (struct tlg_rate){25000000, 1};
  }
  if ((st = cli_duration(NAME, "--sweep", opt.sweep, &cfg->rate, &cfg->sweep))) {
    return st;
  }
  if (opt.level) {
    cfg->amplitude = 32768.0 * tlg_amplitude(level_db);
  }
  return 0;
}

static int length(const struct tlg_signal_cfg *cfg, uint64_t *first, uint64_t *n)
{
  int st;

  *first = *n = 0;
  if (opt.duration && opt.samples) {
    return cli_usage(NAME, "give --duration or --samples, not both");
  }
  if ((st = cli_duration(NAME, "--duration", opt.duration || opt.samples ? opt.duration : "1s", &cfg->rate, n)) ||
      (st = cli_count(NAME, "--samples", opt.samples, n)) || (st = cli_count(NAME, "--start", opt.start, first))) {
    return st;
  }
  if (!*n) {
    return cli_usage(NAME, "that is no sample at all; give --duration or --samples");
  }
  if (*first + *n >= (uint64_t)1 << 48) {
    return cli_usage(NAME, "sample numbers end at 2^48");
  }
  return 0;
}

/* What was written, measured while it went by. */
struct tally {
  uint64_t n;
  unsigned __int128 square; /* sum of I^2 + Q^2 */
  int peak;
  EVP_MD_CTX *digest;
};

/* As the file holds them: little endian. */
static void digest_block(EVP_MD_CTX *digest, const tlg_cs16 *x, size_t n)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  EVP_DigestUpdate(digest, x, n * sizeof *x);
#else
  size_t k;

  for (k = 0; k < n; k++) {
    const uint16_t pair[2] = {htole16((uint16_t)x[k].i), htole16((uint16_t)x[k].q)};

    EVP_DigestUpdate(digest, pair, sizeof pair);
  }
#endif
}

static void tally_block(struct tally *t, const tlg_cs16 *x, size_t n)
{
  uint64_t square = 0;
  int high = 0, low = 0;
  size_t k;

  for (k = 0; k < n; k++) {
    const int i = x[k].i, q = x[k].q;

    square += (uint64_t)((int64_t)i * i + (int64_t)q * q);
    high = i > high ? i : high;
    high = q > high ? q : high;
    low = i < low ? i : low;
    low = q < low ? q : low;
  }
  high = -low > high ? -low : high;
  t->square += square;
  t->peak = high > t->peak ? high : t->peak;
  t->n += n;
  digest_block(t->digest, x, n);
}

static double level_db(const struct tally *t)
{
  return t->n ? 10.0 * log10((double)t->square / (double)t->n / 1073741824.0) : -INFINITY;
}

static void hex_digest(struct tally *t, char text[65])
{
  unsigned char bytes[EVP_MAX_MD_SIZE];
  unsigned n = 0, i;

  EVP_DigestFinal_ex(t->digest, bytes, &n);
  for (i = 0; i < 32; i++) {
    snprintf(text + 2 * i, 3, "%02x", bytes[i]);
  }
}

static double hz(const struct tlg_frequency *f)
{
  return (double)f->num / (double)f->den;
}

/* The parameters that made the signal, for people and for programs. */
static json_t *describe(const struct tlg_signal_cfg *c, const struct tlg_signal *signal, char *text, size_t size)
{
  json_t *o = json_object();

  switch (c->kind) {
  case TLG_SIGNAL_TONE:
    snprintf(text, size, "tone at %.12g Hz", hz(&c->freq));
    json_object_set_new(o, "freq_hz", json_real(hz(&c->freq)));
    break;
  case TLG_SIGNAL_TONES:
    snprintf(text, size, "%u tones %.12g Hz apart around %.12g Hz, Newman phases", c->n_tones, hz(&c->spacing),
             hz(&c->freq));
    json_object_set_new(o, "count", json_integer(c->n_tones));
    json_object_set_new(o, "spacing_hz", json_real(hz(&c->spacing)));
    json_object_set_new(o, "freq_hz", json_real(hz(&c->freq)));
    break;
  case TLG_SIGNAL_CHIRP:
    snprintf(text, size, "chirp from %.12g to %.12g Hz in %llu samples", hz(&c->freq), hz(&c->freq_to),
             (unsigned long long)c->sweep);
    json_object_set_new(o, "from_hz", json_real(hz(&c->freq)));
    json_object_set_new(o, "to_hz", json_real(hz(&c->freq_to)));
    json_object_set_new(o, "sweep_samples", json_integer((json_int_t)c->sweep));
    break;
  case TLG_SIGNAL_IMPULSE:
  case TLG_SIGNAL_STEP:
  case TLG_SIGNAL_DC:
    snprintf(text, size, "%s of (%d, %d)", tlg_signal_name(c->kind), c->value.i, c->value.q);
    json_object_set_new(o, "value", json_pack("[i,i]", c->value.i, c->value.q));
    if (c->kind != TLG_SIGNAL_DC) {
      const size_t used = strlen(text);

      snprintf(text + used, size - used, " at %llu", (unsigned long long)c->at);
      json_object_set_new(o, "at", json_integer((json_int_t)c->at));
    }
    if (c->every) {
      const size_t used = strlen(text);

      snprintf(text + used, size - used, ", then every %llu", (unsigned long long)c->every);
      json_object_set_new(o, "every", json_integer((json_int_t)c->every));
    }
    break;
  case TLG_SIGNAL_LTE:
  case TLG_SIGNAL_OFDM: {
    const unsigned window = c->window == TLG_OFDM_NO_WINDOW ? 0 : c->window;
    char edge[140] = "no window", repeat[60] = "";

    if (window) {
      snprintf(edge, sizeof edge, "symbols windowed over %.3g us", window / 30.72);
    }
    if (c->band_limit) {
      const size_t used = strlen(edge);
      unsigned pass_hz, stop_hz;

      tlg_ofdm_band(c->subcarriers, &pass_hz, &stop_hz);
      snprintf(edge + used, sizeof edge - used, ", band-limited to +-%g MHz (flat to %g)", 1e-6 * stop_hz,
               1e-6 * pass_hz);
      json_object_set_new(o, "pass_hz", json_integer(pass_hz));
      json_object_set_new(o, "stop_hz", json_integer(stop_hz));
    }
    json_object_set_new(o, "band_limit", json_boolean(c->band_limit));
    if (c->repeat) {
      snprintf(repeat, sizeof repeat, ", repeats after %.1f ms", (double)c->repeat * 0.5);
    }
    if (c->kind == TLG_SIGNAL_LTE) {
      const size_t used = (synth_lte_describe(c, signal, text, size, o), strlen(text));

      if (c->lte.model == TLG_LTE_CELL) {
        snprintf(text + used, size - used, ", %s, seed %llu%s", edge, (unsigned long long)c->seed, repeat);
      } else {
        snprintf(text + used, size - used, ", %s", edge);
      }
    } else {
      snprintf(text, size, "ofdm, %u subcarriers of 15 kHz, %s, %s, seed %llu%s", c->subcarriers,
               modulation_name(c->modulation), edge, (unsigned long long)c->seed, repeat);
      json_object_set_new(o, "subcarriers", json_integer(c->subcarriers));
      json_object_set_new(o, "modulation", json_string(modulation_name(c->modulation)));
    }
    json_object_set_new(o, "window_ts", json_integer(window));
    json_object_set_new(o, "repeat_slots", json_integer((json_int_t)c->repeat));
    json_object_set_new(o, "seed", json_integer((json_int_t)c->seed));
    break;
  }
  case TLG_SIGNAL_NOISE:
    snprintf(text, size, "white noise, seed %llu", (unsigned long long)c->seed);
    json_object_set_new(o, "seed", json_integer((json_int_t)c->seed));
    break;
  default:
    snprintf(text, size, "%s", tlg_signal_summary(c->kind));
  }
  return o;
}

static int report(const struct tlg_signal_cfg *cfg, const char *text, json_t *parameters, uint64_t first,
                  uint64_t wanted, struct tally *tally, uint64_t clipped, FILE *out)
{
  char rate[80], hash[65], words[300];
  json_t *const impairments = synth_impair_describe(cfg, words, sizeof words);

  hex_digest(tally, hash);
  if (clipped) {
    cli_say(NAME, "%llu components were clipped%s", (unsigned long long)clipped,
            cfg->impairments.clip > 0.0 ? "" : "; lower --level");
  }
  if (tally->n < wanted) {
    cli_say(NAME, "stopped after %llu of %llu samples; the file is complete up to there", (unsigned long long)tally->n,
            (unsigned long long)wanted);
  }
  if (opt.json) {
    json_t *o = json_object();

    json_object_set_new(o, "signal", json_string(tlg_signal_name(cfg->kind)));
    json_object_set(o, "parameters", parameters);
    if (impairments) {
      json_object_set_new(o, "impairments", impairments);
    }
    json_object_set_new(o, "rate", cli_rate_json(&cfg->rate));
    json_object_set_new(o, "first", json_integer((json_int_t)first));
    json_object_set_new(o, "samples", json_integer((json_int_t)tally->n));
    json_object_set_new(o, "level_dbfs", cli_number(level_db(tally), 3));
    json_object_set_new(o, "peak", json_integer(tally->peak));
    json_object_set_new(o, "clipped", json_integer((json_int_t)clipped));
    json_object_set_new(o, "sha256_cs16", json_string(hash));
    json_object_set_new(o, "file", json_string(opt.output));
    return cli_print_json(NAME, o, out);
  }
  fprintf(out, "signal   %s\n", text);
  if (impairments) {
    fprintf(out, "impaired %s\n", words);
    json_decref(impairments);
  }
  fprintf(out, "rate     %s\n", tlg_rate_text(&cfg->rate, rate, sizeof rate));
  fprintf(out, "samples  %llu (%.6g ms)", (unsigned long long)tally->n,
          1e3 * (double)tally->n / tlg_rate_hz(&cfg->rate));
  if (first) {
    fprintf(out, " from number %llu on", (unsigned long long)first);
  }
  fprintf(out, "\nlevel    %.3f dBFS, largest component %d, clipped %llu\n", level_db(tally), tally->peak,
          (unsigned long long)clipped);
  fprintf(out, "sha256   %s (as cs16)\n", hash);
  fprintf(out, "file     %s\n", strcmp(opt.output, "-") == 0 ? "(stdout)" : opt.output);
  return 0;
}

/* first .. first + n of the signal into the writer; stops early when asked to. */
static int write_signal(struct tlg_signal *signal, uint64_t n, struct tlg_writer *writer, struct tally *tally,
                        struct tlg_error *err)
{
  tlg_cs16 *block = malloc(BLOCK * sizeof *block);
  uint64_t done = 0;
  int st = 0;

  if (!block) {
    return tlg_error_set(err, TLG_ENOMEM, "out of memory");
  }
  while (done < n && !cli_stop && !st) {
    const size_t piece = n - done < BLOCK ? (size_t)(n - done) : BLOCK;

    tlg_signal_read(signal, block, piece);
    st = tlg_writer_write(writer, block, piece, err);
    if (!st) {
      tally_block(tally, block, piece);
      done += piece;
      cli_progress(NAME, done, n);
    }
  }
  cli_progress(NAME, n, n);
  free(block);
  return st;
}

static int synth(const char *kind)
{
  struct tlg_signal_cfg cfg = {.kind = TLG_SIGNAL_NONE};
  struct tlg_writer_cfg writer_cfg = {.force = opt.force};
  struct tlg_error err = {.offset = UINT64_MAX};
  struct tally tally = {.digest = NULL};
  struct tlg_signal *signal = NULL;
  struct tlg_writer *writer = NULL;
  struct tlg_convert_counts counts = {0, 0, 0};
  uint64_t first, n, clipped;
  json_t *parameters;
  char text[500];
  FILE *out;
  int st;

  if (!opt.output) {
    return cli_usage(NAME, "-o FILE is missing: say where to write (- is stdout)");
  }
  if ((st = configure(kind, &cfg)) || (st = length(&cfg, &first, &n)) ||
      (st = cli_format(NAME, "--format", opt.format, &writer_cfg.format))) {
    return st;
  }
  writer_cfg.rate = cfg.rate;
  if (tlg_signal_defaults(&cfg, &err)) {
    return cli_fail(NAME, NULL, &err);
  }
  if ((st = synth_impair_noise(&cfg))) {
    return st;
  }
  if (tlg_signal_new(&signal, &cfg, &err) || tlg_signal_seek(signal, first)) {
    return cli_fail(NAME, NULL, &err);
  }
  parameters = describe(&cfg, signal, text, sizeof text);
  writer_cfg.description = text;
  tally.digest = EVP_MD_CTX_new();
  if (!tally.digest || !EVP_DigestInit_ex(tally.digest, EVP_sha256(), NULL)) {
    st = CLI_SYSTEM;
    cli_say(NAME, "sha256 is not available");
    goto end;
  }
  cli_catch_signals();
  if (tlg_writer_open(&writer, opt.output, &writer_cfg, &err)) {
    st = cli_fail(NAME, opt.output, &err);
    goto end;
  }
  if (write_signal(signal, n, writer, &tally, &err)) {
    st = cli_fail(NAME, opt.output, &err);
    tlg_writer_abort(writer);
    goto end;
  }
  tlg_writer_counts(writer, &counts);
  clipped = tlg_signal_clipped(signal) + counts.clipped;
  if (tlg_writer_close(writer, &err)) {
    st = cli_fail(NAME, opt.output, &err);
    goto end;
  }
  out = cli_results(strcmp(opt.output, "-") == 0);
  st = report(&cfg, text, parameters, first, n, &tally, clipped, out);
  st = cli_finish(NAME, out, cli_exit_stopped(st));
end:
  json_decref(parameters);
  EVP_MD_CTX_free(tally.digest);
  tlg_signal_free(signal);
  return st;
}

int cmd_synth(int argc, const char **argv)
{
  static const char head[] = "SIGNAL is one of:\n";
  static const char tail[] =
      "\nEach sample is a function of its number alone: the same bytes on every machine, whatever the length.\n"
      "ofdm and lte are windowed by default, so that side lobes do not fall into the transition band of the "
      "resampler;\n"
      "--band-limit confines them to their channel; --window none alone gives the plain signal of a transmitter "
      "without\n"
      "any filter.\n\n"
      "Examples:\n"
      "  taplag synth ofdm --rate 25M --duration 1s --level -15dBFS --seed 1 -o a.cs16\n"
      "  taplag synth lte --duration 80ms --repeat 80ms --mcs 27 -o cell.cs16       a cell that a receiver decodes\n"
      "  taplag synth lte --model etm3.1a --rate 30.72M -o etm.cs16                 a test model of 256QAM\n"
      "  taplag synth lte --cell 17 --ports 2 --snr 20 --carrier 1.2k --clock-ppm 3 -o worse.cs16\n"
      "  taplag synth tones -o tones.cs16                  the measuring tones: 300.5 kHz * k, k = -30 .. 30\n"
      "  taplag synth tones --spacing 280k --count 65 -o raster.cs16    on the 40 kHz raster: 625 samples repeat\n"
      "  taplag synth impulse --every 700 --value 32767 -o - | taplag resample - --rate 25M --format cs16 -o "
      "out.cs16\n";
  char text[3000];
  size_t used;
  struct cli_options options;
  int kind, st;

  memset(&opt, 0, sizeof opt);
  synth_lte_clear();
  used = (size_t)snprintf(text, sizeof text, "%s", head);
  for (kind = TLG_SIGNAL_TONE; kind <= TLG_SIGNAL_LAST; kind++) {
    used +=
        (size_t)snprintf(text + used, sizeof text - used, "  %-8s %s\n", tlg_signal_name((enum tlg_signal_kind)kind),
                         tlg_signal_summary((enum tlg_signal_kind)kind));
  }
  snprintf(text + used, sizeof text - used, "%s", tail);
  st = cli_options(&options, argv[0], argc, argv, table, text, 1, 1);
  if (st < 0) {
    st = synth(options.args[0]);
    cli_options_free(&options);
  }
  return st;
}
