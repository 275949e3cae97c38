/* SPDX-License-Identifier: Apache-2.0 */
/* A golden vector: its properties by name, its taps and input, and a run of the resampler over it that checks every
 * promise of the interface on the way. Needs dsp/, the signals and the C library only, so that it cross-builds. */
#include "gcd.h"
#include "tlg_golden.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned __int128 wide;

/* ---- properties by name ------------------------------------------------------------------------------------- */

void tlg_vector_init(struct tlg_vector *v)
{
  memset(v, 0, sizeof *v);
  v->rate_in = (struct tlg_rate){25000000, 1};
  v->rate_out = (struct tlg_rate){30720000, 1};
  v->packets[0] = 625;
  v->n_packets = 1;
}

enum type { WORD, FLAG, UINT32, UINT64, REAL, FREQUENCY, RATE, TEXT, SAMPLE, SAMPLES, GAPS, PACKETS, BYTES, SIGNAL };

static const char *const taps_words[] = {"default",  "design",  "half",     "random", "limit",
                                         "overflow", "minimum", "wrong-up", NULL};
static const char *const method_words[] = {"kaiser", "equiripple", "least-squares", NULL};
static const char *const rounding_words[] = {"nearest", "usrpl0", NULL};
static const char *const refused_words[] = {"", "taps", "ratio", "file", NULL};
static const char *const model_words[] = {"cell", "etm1.1", "etm3.1", "etm3.1a", "etm3.2", "etm3.3", NULL};
static const char *const source_words[] = {"", "worst", "uniform", "alternate", "samples", NULL};

#define AT(member) offsetof(struct tlg_vector, member)
static const struct property {
  const char *name;
  enum type type;
  size_t at;
  uint64_t least, most; /* of numbers; most is the size of texts */
  const char *const *words;
} properties[] = {
    {"id", TEXT, AT(id), 0, sizeof(((struct tlg_vector *)0)->id), NULL},
    {"refused", WORD, AT(refused), 0, 0, refused_words},
    {"exit", UINT32, AT(exit_status), 1, 5, NULL},
    {"file.name", TEXT, AT(file_name), 0, sizeof(((struct tlg_vector *)0)->file_name), NULL},
    {"file.bytes", BYTES, AT(bytes), 0, 0, NULL},
    {"generator.kind", SIGNAL, AT(source), 0, 0, NULL},
    {"generator.amplitude", REAL, AT(signal.amplitude), 0, 0, NULL},
    {"generator.seed", UINT64, AT(signal.seed), 0, UINT64_MAX, NULL},
    {"generator.freq", FREQUENCY, AT(signal.freq), 0, 0, NULL},
    {"generator.freq_to", FREQUENCY, AT(signal.freq_to), 0, 0, NULL},
    {"generator.sweep", UINT64, AT(signal.sweep), 1, (uint64_t)1 << 36, NULL},
    {"generator.spacing", FREQUENCY, AT(signal.spacing), 0, 0, NULL},
    {"generator.tones", UINT32, AT(signal.n_tones), 1, 4096, NULL},
    {"generator.at", UINT64, AT(signal.at), 0, (uint64_t)1 << 48, NULL},
    {"generator.every", UINT64, AT(signal.every), 0, (uint64_t)1 << 48, NULL},
    {"generator.value", SAMPLE, AT(signal.value), 0, 0, NULL},
    {"generator.subcarriers", UINT32, AT(signal.subcarriers), 2, 65536, NULL},
    {"generator.modulation", UINT32, AT(signal.modulation), 2, 8, NULL},
    {"generator.model", WORD, AT(signal.lte.model), 0, 0, model_words},
    {"generator.prb", UINT32, AT(signal.lte.cell.prb), 6, 100, NULL},
    {"generator.cell", UINT32, AT(signal.lte.cell.id), 0, 503, NULL},
    {"generator.ports", UINT32, AT(signal.lte.cell.ports), 1, 2, NULL},
    {"generator.mcs", UINT32, AT(signal.lte.mcs), 0, 28, NULL},
    {"generator.seek", UINT64, AT(seek), 0, ((uint64_t)1 << 48) - 1, NULL},
    {"generator.samples", SAMPLES, AT(samples), 0, 0, NULL},
    {"rate_in", RATE, AT(rate_in), 0, 0, NULL},
    {"rate_out", RATE, AT(rate_out), 0, 0, NULL},
    {"up", UINT32, AT(up), 0, UINT32_MAX, NULL},
    {"down", UINT32, AT(down), 0, UINT32_MAX, NULL},
    {"taps.kind", WORD, AT(taps), 0, 0, taps_words},
    {"taps.method", WORD, AT(design.method), 0, 0, method_words},
    {"taps.per_phase", UINT32, AT(design.taps_per_phase), 1, 4096, NULL},
    {"taps.n", UINT64, AT(design.n_taps), 1, (uint64_t)1 << 24, NULL},
    {"taps.shift", UINT32, AT(design.shift), 1, 15, NULL},
    {"taps.weight", REAL, AT(design.stop_weight), 0, 0, NULL},
    {"taps.beta", REAL, AT(design.kaiser_beta), 0, 0, NULL},
    {"taps.seed", UINT64, AT(taps_seed), 0, UINT64_MAX, NULL},
    {"taps.sha256", TEXT, AT(taps_hash), 0, 65, NULL},
    {"rounding", WORD, AT(rounding), 0, 0, rounding_words},
    {"align", FLAG, AT(align), 0, 0, NULL},
    {"flush", FLAG, AT(flush), 0, 0, NULL},
    {"start", UINT64, AT(start), 0, (uint64_t)1 << 61, NULL},
    {"gaps", GAPS, 0, 0, 0, NULL},
    {"inputs", UINT64, AT(n_in), 0, 1000000, NULL},
    {"packet", PACKETS, 0, 0, 0, NULL},
};

static int parse_uint(const char *text, uint64_t least, uint64_t most, uint64_t *value, const char **end)
{
  unsigned long long n;
  char *e;

  if (text[0] < '0' || text[0] > '9') {
    return 0;
  }
  errno = 0;
  n = strtoull(text, &e, 10);
  if (errno || n < least || n > most || (!end && *e)) {
    return 0;
  }
  *value = n;
  if (end) {
    *end = e;
  }
  return 1;
}

static int parse_int16(const char **text, int16_t *value)
{
  char *e;
  long n = strtol(*text, &e, 10);

  if (e == *text || n < INT16_MIN || n > INT16_MAX) {
    return 0;
  }
  *text = e;
  *value = (int16_t)n;
  return 1;
}

/* Pairs of numbers joined by commas. Returns how many, 0 = none or malformed. */
static size_t parse_samples(const char *text, tlg_cs16 *samples, size_t most)
{
  size_t n = 0;

  for (;;) {
    if (n == most || !parse_int16(&text, &samples[n].i) || *text++ != ',' || !parse_int16(&text, &samples[n].q)) {
      return 0;
    }
    n++;
    if (!*text) {
      return n;
    }
    if (*text++ != ',') {
      return 0;
    }
  }
}

static int parse_gaps(struct tlg_vector *v, const char *text)
{
  size_t n = 0;

  while (*text) {
    const char *e;

    if (n == TLG_VECTOR_GAPS || !parse_uint(text, 0, 1000000, &v->gaps[n].at, &e) || *e != '+' ||
        !parse_uint(e + 1, 1, (uint64_t)1 << 61, &v->gaps[n].n, &e) || (n && v->gaps[n].at <= v->gaps[n - 1].at)) {
      return 0;
    }
    n++;
    if (*e && (*e++ != ',' || !*e)) {
      return 0;
    }
    text = e;
  }
  v->n_gaps = n;
  return n > 0;
}

static int parse_packets(struct tlg_vector *v, const char *text)
{
  size_t n = 0;

  if (strncmp(text, "random:", 7) == 0) {
    v->n_packets = 0;
    return parse_uint(text + 7, 0, UINT64_MAX, &v->packet_seed, NULL);
  }
  while (*text) {
    const char *e;
    uint64_t size;

    if (n == TLG_VECTOR_PACKETS || !parse_uint(text, 0, 65536, &size, &e)) {
      return 0;
    }
    v->packets[n++] = (uint32_t)size;
    if (*e && (*e++ != ',' || !*e)) {
      return 0;
    }
    text = e;
  }
  v->n_packets = n;
  return n > 0;
}

static int parse_bytes(struct tlg_vector *v, const char *text)
{
  size_t n = 0;

  for (; text[0] && text[1] && n < TLG_VECTOR_BYTES; text += 2) {
    unsigned byte;
    char digits[3] = {text[0], text[1], 0}, *e;

    byte = (unsigned)strtoul(digits, &e, 16);
    if (e != digits + 2 || digits[0] == '-' || digits[0] == '+' || digits[0] == ' ') {
      return 0;
    }
    v->bytes[n++] = (unsigned char)byte;
  }
  v->n_bytes = n;
  return !*text;
}

static int parse_word(const char *const *words, const char *text, int *value)
{
  int i;

  for (i = 0; words[i]; i++) {
    if (strcmp(words[i], text) == 0) {
      *value = i;
      return 1;
    }
  }
  return 0;
}

static int set(struct tlg_vector *v, const struct property *p, const char *value)
{
  void *at = (char *)v + p->at;
  uint64_t n;
  int word;

  switch (p->type) {
  case WORD:
    if (!parse_word(p->words, value, &word)) {
      return 0;
    }
    memcpy(at, &word, sizeof word);
    return 1;
  case FLAG:
    word = strcmp(value, "true") == 0;
    memcpy(at, &word, sizeof word);
    return word || strcmp(value, "false") == 0;
  case UINT32: {
    uint32_t small;

    if (!parse_uint(value, p->least, p->most, &n, NULL)) {
      return 0;
    }
    small = (uint32_t)n;
    memcpy(at, &small, sizeof small);
    return 1;
  }
  case UINT64:
    return parse_uint(value, p->least, p->most, at, NULL);
  case REAL: {
    char *e;
    const double x = strtod(value, &e);

    memcpy(at, &x, sizeof x);
    return e != value && !*e && x > 0.0 && x < 1e9;
  }
  case FREQUENCY:
    return tlg_frequency_parse(at, value) == TLG_OK;
  case RATE:
    return tlg_rate_parse(at, value) == TLG_OK;
  case TEXT:
    if (strlen(value) >= p->most) {
      return 0;
    }
    memcpy(at, value, strlen(value) + 1);
    return 1;
  case SAMPLE:
    return parse_samples(value, at, 1) == 1;
  case SAMPLES:
    v->n_samples = parse_samples(value, v->samples, TLG_VECTOR_SAMPLES);
    return v->n_samples > 0;
  case GAPS:
    return parse_gaps(v, value);
  case PACKETS:
    return parse_packets(v, value);
  case BYTES:
    return parse_bytes(v, value);
  case SIGNAL:
    if (tlg_signal_parse(&v->signal.kind, value) == TLG_OK) {
      v->source = TLG_SOURCE_SIGNAL;
      return 1;
    }
    if (!*value || !parse_word(source_words, value, &word)) {
      return 0;
    }
    v->source = (enum tlg_source)word;
    return 1;
  }
  return 0;
}

int tlg_vector_set(struct tlg_vector *v, const char *key, const char *value, struct tlg_error *err)
{
  size_t i;

  if (!v || !key || !value) {
    return tlg_error_set(err, TLG_EINVAL, "a vector, a name and a value are needed");
  }
  for (i = 0; i < sizeof properties / sizeof *properties; i++) {
    if (strcmp(properties[i].name, key) == 0) {
      if (!set(v, &properties[i], value)) {
        return tlg_error_set(err, TLG_EFORMAT, "%s: %s: '%.60s' is not possible", v->id[0] ? v->id : "vector", key,
                             value);
      }
      return TLG_OK;
    }
  }
  return tlg_error_set(err, TLG_EFORMAT, "%s: no property is called '%.60s'", v->id[0] ? v->id : "vector", key);
}

static int id_is_plain(const char *id)
{
  const char *c;

  for (c = id; *c; c++) {
    if (!((*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9') || *c == '-')) {
      return 0;
    }
  }
  return c != id && id[0] != '-';
}

int tlg_vector_finish(struct tlg_vector *v, struct tlg_error *err)
{
  uint64_t total = 0;
  size_t i;

  if (!id_is_plain(v->id)) {
    return tlg_error_set(err, TLG_EFORMAT, "'%.60s': an id is made of a-z, 0-9 and -", v->id);
  }
  if (!v->up && !v->down && v->refused != TLG_REFUSED_FILE &&
      tlg_rate_ratio(&v->rate_in, &v->rate_out, &v->up, &v->down) != TLG_OK && v->refused != TLG_REFUSED_RATIO) {
    return tlg_error_set(err, TLG_EFORMAT, "%s: the ratio of the rates has terms above 65535", v->id);
  }
  v->signal.rate = v->rate_in;
  v->design.rate_in = v->rate_in;
  v->design.rate_out = v->rate_out;
  if (v->refused) {
    if (!v->exit_status || (v->refused == TLG_REFUSED_FILE && (!v->file_name[0] || strchr(v->file_name, '/')))) {
      return tlg_error_set(err, TLG_EFORMAT, "%s: a refusal needs its exit status, that of a file also its name",
                           v->id);
    }
    return TLG_OK;
  }
  for (i = 0; i < v->n_packets; i++) {
    total += v->packets[i];
  }
  if (v->n_packets && !total) {
    return tlg_error_set(err, TLG_EFORMAT, "%s: packets that are all empty never end", v->id);
  }
  for (i = 0; i < v->n_gaps; i++) {
    if (v->gaps[i].at > v->n_in) {
      return tlg_error_set(err, TLG_EFORMAT, "%s: a gap at input %llu, but there are %llu inputs", v->id,
                           (unsigned long long)v->gaps[i].at, (unsigned long long)v->n_in);
    }
  }
  if (v->source == TLG_SOURCE_SIGNAL && v->signal.kind == TLG_SIGNAL_NONE) {
    return tlg_error_set(err, TLG_EFORMAT, "%s: there is no generator", v->id);
  }
  if (v->source == TLG_SOURCE_SIGNAL) {
    struct tlg_signal_cfg full = v->signal;
    struct tlg_error inner = {.text = ""};

    if (tlg_signal_defaults(&full, &inner)) {
      return tlg_error_set(err, TLG_EFORMAT, "%s: %s", v->id, inner.text);
    }
  }
  if (v->source == TLG_SOURCE_SAMPLES && !v->n_samples) {
    return tlg_error_set(err, TLG_EFORMAT, "%s: the generator 'samples' needs samples", v->id);
  }
  if (v->source == TLG_SOURCE_WORST && (v->start || v->n_gaps)) {
    return tlg_error_set(err, TLG_EFORMAT, "%s: the generator 'worst' starts at sample 0 and has no gaps", v->id);
  }
  return TLG_OK;
}

int tlg_vector_read(struct tlg_vector *v, const char **text, unsigned *line, struct tlg_error *err)
{
  int any = 0;

  tlg_vector_init(v);
  while (**text) {
    const char *s = *text, *end = strchr(s, '\n');
    const size_t length = end ? (size_t)(end - s) : strlen(s);
    char key[64], *value;
    const char *equals = memchr(s, '=', length);
    int st;

    *text = end ? end + 1 : s + length;
    ++*line;
    if (length == 0) {
      if (any) {
        break;
      }
      continue;
    }
    if (!equals || (size_t)(equals - s) >= sizeof key) {
      return tlg_error_at(err, TLG_EFORMAT, *line, UINT64_MAX, "not of the form key=value");
    }
    memcpy(key, s, (size_t)(equals - s));
    key[equals - s] = 0;
    value = malloc(length);
    if (!value) {
      return tlg_error_set(err, TLG_ENOMEM, "out of memory");
    }
    memcpy(value, equals + 1, length - (size_t)(equals - s) - 1);
    value[length - (size_t)(equals - s) - 1] = 0;
    st = tlg_vector_set(v, key, value, err);
    free(value);
    if (st) {
      if (err) {
        err->line = *line;
      }
      return st;
    }
    any = 1;
  }
  if (!any) {
    return 0;
  }
  {
    const int st = tlg_vector_finish(v, err);

    return st ? st : 1;
  }
}

/* ---- taps and input ------------------------------------------------------------------------------------------- */

static uint32_t random_word(uint64_t seed, uint64_t at, uint32_t purpose)
{
  const uint32_t counter[4] = {(uint32_t)(at / 4), (uint32_t)(at / 4 >> 32), 0, purpose};
  const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
  uint32_t out[4];

  tlg_philox(counter, key, out);
  return out[at % 4];
}

static void lowest(const struct tlg_vector *v, uint32_t *up, uint32_t *down)
{
  const uint32_t g = (uint32_t)tlg_gcd(v->up, v->down);

  *up = g ? v->up / g : 1;
  *down = g ? v->down / g : 1;
}

static int formula_taps(const struct tlg_vector *v, uint32_t up, struct tlg_taps *taps, struct tlg_error *err)
{
  struct tlg_taps t = {NULL, v->design.n_taps, up, v->design.shift ? v->design.shift : 14};
  const unsigned per_phase = v->design.taps_per_phase
                                 ? v->design.taps_per_phase
                                 : (v->design.n_taps ? (unsigned)((v->design.n_taps + up - 1) / up) : 4);
  const uint32_t limit = (uint32_t)((((uint64_t)1 << 31) - 1 - ((uint64_t)1 << (t.shift - 1))) / 32768);
  size_t i;

  if (v->taps == TLG_TAPS_WRONG_UP) {
    t.up = up + 1;
  }
  t.n = t.n ? t.n : (size_t)per_phase * t.up;
  t.h = calloc(t.n, sizeof *t.h);
  if (!t.h) {
    return tlg_error_set(err, TLG_ENOMEM, "out of memory");
  }
  for (i = 0; i < t.n; i++) {
    const uint32_t p = (uint32_t)(i % t.up), k = (uint32_t)(i / t.up);
    const int32_t most = (int32_t)(limit / per_phase > 32767 ? 32767 : limit / per_phase);
    int32_t h = 0;

    switch (v->taps) {
    case TLG_TAPS_HALF:
      h = k == p % per_phase ? 1 << (t.shift - 1) : 0;
      break;
    case TLG_TAPS_RANDOM:
      h = (int32_t)(random_word(v->taps_seed, i, 0x74617073) % (2 * (uint32_t)most + 1)) - most;
      break;
    case TLG_TAPS_LIMIT:
    case TLG_TAPS_OVERFLOW:
      h = k == 0 ? 32767 : k == 1 ? -32767 : k == 2 ? (int32_t)(limit - 65534) : 0;
      h += v->taps == TLG_TAPS_OVERFLOW && k == 2 && p == t.up / 2;
      h = p % 2 ? -h : h;
      break;
    case TLG_TAPS_MINIMUM:
      h = i == t.n / 2 ? -32768 : 0;
      break;
    default:
      h = i == 0 ? 1 : 0;
    }
    t.h[i] = (int16_t)h;
  }
  *taps = t;
  return TLG_OK;
}

int tlg_vector_taps(const struct tlg_vector *v, struct tlg_taps *taps, struct tlg_error *err)
{
  uint32_t up, down;

  if (v->taps == TLG_TAPS_DEFAULT) {
    return tlg_taps_default(taps, &v->rate_in, &v->rate_out, err);
  }
  if (v->taps == TLG_TAPS_DESIGN) {
    return tlg_taps_design(taps, &v->design, err);
  }
  lowest(v, &up, &down);
  return formula_taps(v, up, taps, err);
}

static uint64_t offset_of(const struct tlg_vector *v, size_t n_taps)
{
  return v->align ? (n_taps - 1) / 2 : 0;
}

/* Windows of T inputs that do not overlap, one for each phase and sign: K outputs apart, K and L without common factor.
 */
static void worst_input(const struct tlg_vector *v, const struct tlg_taps *taps, tlg_cs16 *in)
{
  const size_t per_phase = (taps->n + taps->up - 1) / taps->up;
  const uint64_t q0 = offset_of(v, taps->n);
  uint32_t up, down, apart;
  uint64_t b, m;

  lowest(v, &up, &down);
  memset(in, 0, v->n_in * sizeof *in);
  apart = (uint32_t)((per_phase * up + down - 1) / down + 1);
  while (tlg_gcd(apart, up) != 1) {
    apart++;
  }
  m = (per_phase * up + down - 1) / down + 1;
  for (b = 0;; b++, m += apart) {
    const uint64_t q = m * down + q0, p = q % up, newest = q / up;
    size_t k;

    if (newest >= v->n_in + per_phase) {
      return;
    }
    for (k = 0; k < per_phase; k++) {
      const int h = p + k * up < taps->n ? taps->h[p + k * up] : 0;
      const int rising = (h >= 0) == (b / up % 2 == 0);

      if (newest - k < v->n_in) {
        in[newest - k].i = rising ? INT16_MAX : INT16_MIN;
        in[newest - k].q = rising ? INT16_MIN : INT16_MAX;
      }
    }
  }
}

int tlg_vector_input(const struct tlg_vector *v, const struct tlg_taps *taps, tlg_cs16 *in, struct tlg_error *err)
{
  struct tlg_signal *s;
  uint64_t n;
  int st;

  switch (v->source) {
  case TLG_SOURCE_SIGNAL:
    st = tlg_signal_new(&s, &v->signal, err);
    if (st) {
      return st;
    }
    st = tlg_signal_seek(s, v->seek);
    if (st == TLG_OK) {
      tlg_signal_read(s, in, v->n_in);
    }
    tlg_signal_free(s);
    return st;
  case TLG_SOURCE_WORST:
    worst_input(v, taps, in);
    return TLG_OK;
  case TLG_SOURCE_UNIFORM:
    for (n = 0; n < v->n_in; n++) {
      const uint32_t word = random_word(v->signal.seed, n, 0x756e6966);

      in[n].i = (int16_t)(uint16_t)word;
      in[n].q = (int16_t)(uint16_t)(word >> 16);
    }
    return TLG_OK;
  case TLG_SOURCE_ALTERNATE:
    for (n = 0; n < v->n_in; n++) {
      in[n].i = n % 2 ? INT16_MIN : INT16_MAX;
      in[n].q = n % 2 ? INT16_MAX : INT16_MIN;
    }
    return TLG_OK;
  case TLG_SOURCE_SAMPLES:
    for (n = 0; n < v->n_in; n++) {
      in[n] = v->samples[n % v->n_samples];
    }
    return TLG_OK;
  }
  return tlg_error_set(err, TLG_EINVAL, "%s: no such generator", v->id);
}

/* ---- packet cuts ------------------------------------------------------------------------------------------------ */

static const uint32_t cut_sizes[] = {0, 1, 7, 362, 364, 625, 1996, 25000, 0};
static const char *const cut_names[] = {"own", "1", "7", "362", "364", "625", "1996", "25000", "random"};
enum { CUTS = sizeof cut_sizes / sizeof *cut_sizes };

size_t tlg_cuts(void)
{
  return CUTS;
}

const char *tlg_cut_name(size_t cut)
{
  return cut < CUTS ? cut_names[cut] : "?";
}

static uint64_t packet_size(const struct tlg_vector *v, size_t cut, uint64_t index)
{
  const int random = cut == CUTS - 1 || (cut == 0 && !v->n_packets);
  const uint64_t seed = cut == 0 ? v->packet_seed : 1;

  if (random) {
    /* one in eight is empty, one in eight a single sample */
    const uint32_t word = random_word(seed, index, 0x63757473), kind = word % 8;

    return kind == 0 ? 0 : kind == 1 ? 1 : word / 8 % 2001;
  }
  return cut ? cut_sizes[cut] : v->packets[index % v->n_packets];
}

/* Steps through the packets of a cut; a gap ends a packet early. */
struct walk {
  const struct tlg_vector *v;
  size_t cut, gap;
  uint64_t index, input, position; /* of the next packet: number, vector input, stream sample */
  uint64_t missing, n;             /* what the step found: inputs missing before the packet, its size */
};

static int walk_next(struct walk *w)
{
  const struct tlg_vector *v = w->v;

  w->input += w->n;
  w->position += w->n;
  w->n = 0;
  w->missing = 0;
  if (w->gap < v->n_gaps && v->gaps[w->gap].at == w->input) {
    w->missing = v->gaps[w->gap++].n;
    w->position += w->missing;
  }
  if (w->input == v->n_in) {
    return w->missing != 0;
  }
  w->n = packet_size(v, w->cut, w->index++);
  if (w->n > v->n_in - w->input) {
    w->n = v->n_in - w->input;
  }
  if (w->gap < v->n_gaps && w->n > v->gaps[w->gap].at - w->input) {
    w->n = v->gaps[w->gap].at - w->input;
  }
  return 1;
}

static uint64_t outputs_after(uint32_t up, uint32_t down, uint64_t q0, uint64_t inputs)
{
  const wide top = (wide)inputs * up;

  return top > q0 ? (uint64_t)((top - 1 - q0) / down + 1) : 0;
}

static uint64_t outputs_flushed(const struct tlg_vector *v, uint32_t up, uint32_t down, size_t n_taps, uint64_t inputs)
{
  const uint64_t before = outputs_after(up, down, offset_of(v, n_taps), inputs);
  uint64_t total = 0;

  if (inputs && v->align) {
    total = (uint64_t)(((wide)inputs * up + down - 1) / down);
  } else if (inputs) {
    total = (uint64_t)(((wide)(inputs - 1) * up + n_taps - 1) / down + 1);
  }
  return total > before ? total - before : 0;
}

int tlg_vector_segments(const struct tlg_vector *v, size_t n_taps, struct tlg_segment **segments, size_t *n,
                        uint64_t *outputs, struct tlg_error *err)
{
  struct walk w = {.v = v, .position = v->start};
  const uint64_t q0 = offset_of(v, n_taps);
  struct tlg_segment *list = NULL;
  size_t used = 0, room = 0;
  uint64_t total = 0;
  uint32_t up, down;
  int more = 1;

  lowest(v, &up, &down);
  while (more) {
    uint64_t first, last;

    if (used + 1 >= room) {
      struct tlg_segment *grown;

      room = room ? 2 * room : 64;
      grown = realloc(list, room * sizeof *list);
      if (!grown) {
        free(list);
        return tlg_error_set(err, TLG_ENOMEM, "out of memory");
      }
      list = grown;
    }
    more = walk_next(&w);
    first = outputs_after(up, down, q0, w.position);
    last = more ? outputs_after(up, down, q0, w.position + w.n) : first;
    if (!more) {
      last += v->flush ? outputs_flushed(v, up, down, n_taps, w.position) : 0;
      if (last == first) {
        break;
      }
    }
    list[used++] = (struct tlg_segment){first, last - first, w.input};
    total += last - first;
  }
  *segments = list;
  *n = used;
  *outputs = total;
  return TLG_OK;
}

/* ---- a run ------------------------------------------------------------------------------------------------------ */

#define CANARY 0x5aa5

static int promise(char broken[160], int kept, const char *what, uint64_t said, uint64_t is)
{
  if (!kept && !broken[0]) {
    snprintf(broken, 160, "%s: %llu, should be %llu", what, (unsigned long long)said, (unsigned long long)is);
  }
  return kept;
}

static void check_start(const struct tlg_vector *v, const struct tlg_taps *taps, const struct tlg_resamp *r,
                        enum tlg_cpu cpu, char broken[160])
{
  struct tlg_rate delay = {0, 0};
  uint32_t up, down, said_up, said_down;
  uint64_t n_in, n_out, lag;

  lowest(v, &up, &down);
  tlg_resamp_ratio(r, &said_up, &said_down);
  promise(broken, said_up == up, "the ratio's up", said_up, up);
  promise(broken, said_down == down, "the ratio's down", said_down, down);
  tlg_resamp_delay(r, &delay);
  lag = v->align ? (taps->n - 1) % 2 : taps->n - 1;
  promise(broken, delay.den && (wide)delay.num * 2 * down == (wide)lag * delay.den, "the delay's numerator", delay.num,
          lag);
  if (delay.den) {
    uint64_t a = delay.num, b = delay.den;

    while (b) {
      const uint64_t rest = a % b;

      a = b;
      b = rest;
    }
    promise(broken, a == 1, "a common factor of the delay", a, 1);
  }
  tlg_resamp_position(r, &n_in, &n_out);
  promise(broken, n_in == 0 && n_out == 0, "the position at the start", n_in + n_out, 0);
  promise(broken, tlg_resamp_bound(r, 0) == 0, "the bound for no input", tlg_resamp_bound(r, 0), 0);
  promise(broken, tlg_resamp_cpu(r) <= cpu || cpu == TLG_CPU_AUTO, "the instruction set", (uint64_t)tlg_resamp_cpu(r),
          (uint64_t)cpu);
}

static void check_position(const struct tlg_resamp *r, uint64_t position, uint64_t outputs, char broken[160])
{
  uint64_t n_in = 0, n_out = 0;

  tlg_resamp_position(r, &n_in, &n_out);
  promise(broken, n_in == position, "the input position", n_in, position);
  promise(broken, n_out == outputs, "the output position", n_out, outputs);
}

/* A buffer that is short by one is refused, and nothing happens. */
static void check_short(struct tlg_resamp *r, const tlg_cs16 *in, size_t n, tlg_cs16 *out, size_t bound,
                        char broken[160])
{
  uint64_t before_in, before_out;
  size_t got = 12345;
  const tlg_cs16 was = out[0];
  int st;

  tlg_resamp_position(r, &before_in, &before_out);
  st = tlg_resamp_process(r, in, n, out, bound - 1, &got);
  promise(broken, st == TLG_ESPACE, "status for a buffer that is short by one", (uint64_t)-st, (uint64_t)-TLG_ESPACE);
  promise(broken, got == 12345, "outputs of a refused call", got, 12345);
  promise(broken, bound < 2 || (out[0].i == was.i && out[0].q == was.q), "a refused call wrote", 1, 0);
  check_position(r, before_in, before_out, broken);
}

/* Arguments outside their range are refused, and the largest counters are reached exactly. Leaves r reset. */
static void check_arguments(const struct tlg_vector *v, const struct tlg_taps *taps, struct tlg_resamp *r,
                            char broken[160])
{
  static const tlg_cs16 zero[4];
  const uint64_t most = (uint64_t)1 << 62, q0 = offset_of(v, taps->n);
  struct tlg_resamp_cfg cfg = {.up = v->up, .down = v->down, .taps = taps};
  struct tlg_resamp *none = r;
  uint32_t up, down;
  uint64_t limit, n = 0;
  size_t got = 7, bound;
  tlg_cs16 out[4];

  lowest(v, &up, &down);
#define REFUSED(call, status, what)                                                                                    \
  do {                                                                                                                 \
    const int said = (call);                                                                                           \
                                                                                                                       \
    promise(broken, said == (status), what, (uint64_t)-said, (uint64_t) - (status));                                   \
  } while (0)
  REFUSED(tlg_resamp_process(NULL, zero, 0, out, 0, &got), TLG_EINVAL, "process without an object");
  REFUSED(tlg_resamp_process(r, NULL, 1, out, 4, &got), TLG_EINVAL, "process without input");
  REFUSED(tlg_resamp_process(r, zero, 0, out, 0, NULL), TLG_EINVAL, "process without a place for the count");
  REFUSED(tlg_resamp_process(r, zero, 65537, out, 4, &got), TLG_EINVAL, "process with more than the largest block");
  bound = tlg_resamp_bound(r, 1);
  if (bound) {
    REFUSED(tlg_resamp_process(r, zero, 1, NULL, bound, &got), TLG_EINVAL, "process without a place for outputs");
  }
  REFUSED(tlg_resamp_skip(NULL, 1, &n), TLG_EINVAL, "skip without an object");
  REFUSED(tlg_resamp_flush(NULL, out, 4, &got), TLG_EINVAL, "flush without an object");
  REFUSED(tlg_resamp_flush(r, out, 4, NULL), TLG_EINVAL, "flush without a place for the count");
  REFUSED(tlg_resamp_flush(r, NULL, 4, &got), TLG_EINVAL, "flush without a place for outputs");
  promise(broken, got == 7, "the count of refused calls", got, 7);
  REFUSED(tlg_resamp_new(NULL, &cfg, NULL), TLG_EINVAL, "new without a place for the object");
  REFUSED(tlg_resamp_new(&none, NULL, NULL), TLG_EINVAL, "new without a configuration");
  promise(broken, none == NULL, "the object of a refused call", 1, 0);
  cfg.taps = NULL;
  REFUSED(tlg_resamp_new(&none, &cfg, NULL), TLG_EINVAL, "new without taps");
  cfg.taps = taps;
  cfg.up = 0;
  REFUSED(tlg_resamp_new(&none, &cfg, NULL), TLG_EINVAL, "new with a ratio of 0");
  cfg.up = 65536;
  REFUSED(tlg_resamp_new(&none, &cfg, NULL), TLG_EINVAL, "new with a ratio above 65535");
  cfg.up = v->up;
  cfg.down = 0;
  REFUSED(tlg_resamp_new(&none, &cfg, NULL), TLG_EINVAL, "new with a ratio over 0");
  cfg.down = 65536;
  REFUSED(tlg_resamp_new(&none, &cfg, NULL), TLG_EINVAL, "new with a ratio over 65536");
  cfg.down = v->down;
  cfg.cpu = TLG_CPU_NEON;
  REFUSED(tlg_resamp_new(&none, &cfg, NULL), TLG_OK, "new with the highest cap");
  tlg_resamp_free(none);
  cfg.cpu = TLG_CPU_AUTO;
  cfg.rounding = (enum tlg_rounding)(TLG_ROUND_USRPL0 + 1);
  REFUSED(tlg_resamp_new(&none, &cfg, NULL), TLG_EINVAL, "new with an unknown rounding");
  cfg.rounding = TLG_ROUND_NEAREST;
  cfg.cpu = (enum tlg_cpu)(TLG_CPU_NEON + 1);
  REFUSED(tlg_resamp_new(&none, &cfg, NULL), TLG_EINVAL, "new with an unknown instruction set");
  cfg.cpu = TLG_CPU_C;
  cfg.max_block = 3;
  if (tlg_resamp_new(&none, &cfg, NULL) == TLG_OK) {
    if (tlg_resamp_bound(none, 3) <= 4) {
      REFUSED(tlg_resamp_process(none, zero, 3, out, 4, &got), TLG_OK, "a block as large as stated");
    }
    if (tlg_resamp_bound(none, 4) <= 4) {
      REFUSED(tlg_resamp_process(none, zero, 4, out, 4, &got), TLG_EINVAL, "a block larger than stated");
    }
    tlg_resamp_free(none);
  }
  if (up == 1 && down == 1) { /* the largest block that needs not be stated */
    tlg_cs16 *block = calloc(2 * 65536, sizeof *block);

    if (block) {
      REFUSED(tlg_resamp_process(r, block, 65536, block + 65536, 65536, &got), TLG_OK, "a block of 65536");
      tlg_resamp_reset(r);
    }
    free(block);
  }
  /* bounds of more than 64 bits hold as product */
  promise(broken, tlg_resamp_bound(r, (size_t)1 << 24) == outputs_after(up, down, q0, (size_t)1 << 24),
          "the bound of 2^24 inputs", tlg_resamp_bound(r, (size_t)1 << 24),
          outputs_after(up, down, q0, (size_t)1 << 24));
  if (sizeof bound > 4 && down >= up) {
    const size_t many = (size_t)((uint64_t)1 << 61);

    promise(broken, tlg_resamp_bound(r, many) == outputs_after(up, down, q0, many), "the bound of 2^61 inputs",
            tlg_resamp_bound(r, many), outputs_after(up, down, q0, many));
  }
  tlg_resamp_free(NULL);
  tlg_resamp_position(r, NULL, NULL);
  tlg_resamp_ratio(r, NULL, NULL);
  promise(broken, tlg_resamp_flush_bound(r) == 0, "the bound of a flush without input", tlg_resamp_flush_bound(r), 0);

  /* The counters end at 2^62, of inputs or of outputs. */
  limit = most;
  if ((wide)most * up > (wide)most * down) {
    limit = (uint64_t)(((wide)most * down + q0) / up);
    while (outputs_after(up, down, q0, limit + 1) <= most) {
      limit++;
    }
    while (outputs_after(up, down, q0, limit) > most) {
      limit--;
    }
  }
  REFUSED(tlg_resamp_skip(r, limit + 1, &n), TLG_EINVAL, "skipping past the largest counter");
  REFUSED(tlg_resamp_skip(r, limit, NULL), TLG_OK, "skipping to the largest counter at once");
  tlg_resamp_reset(r);
  REFUSED(tlg_resamp_skip(r, limit - 1, NULL), TLG_OK, "skipping to the last but one");
  bound = tlg_resamp_bound(r, 1);
  promise(broken, bound == outputs_after(up, down, q0, limit) - outputs_after(up, down, q0, limit - 1),
          "the bound of the last input", bound, 0);
  if (bound <= 4) {
    REFUSED(tlg_resamp_process(r, zero, 1, out, 4, &got), TLG_OK, "the last input");
  } else {
    REFUSED(tlg_resamp_skip(r, 1, NULL), TLG_OK, "skipping to the largest counter");
  }
  check_position(r, limit, outputs_after(up, down, q0, limit), broken);
  REFUSED(tlg_resamp_skip(r, 1, &n), TLG_EINVAL, "skipping past the largest counter, from it");
  REFUSED(tlg_resamp_skip(r, UINT64_MAX, &n), TLG_EINVAL, "skipping past all counters");
  bound = tlg_resamp_bound(r, 1);
  if (limit == most) {
    REFUSED(tlg_resamp_process(r, zero, 1, out, 4, &got), TLG_EINVAL, "an input past the largest counter");
    promise(broken, bound == 0, "the bound past the largest counter", bound, 0);
  } else if (bound <= 4) {
    REFUSED(tlg_resamp_process(r, zero, 1, out, 4, &got), TLG_EINVAL, "outputs past the largest counter");
  }
  check_position(r, limit, outputs_after(up, down, q0, limit), broken);
  REFUSED(tlg_resamp_flush(r, out, 0, &got), TLG_OK, "a flush of nothing");
  REFUSED(tlg_resamp_skip(r, 0, &n), TLG_EINVAL, "skipping after the flush began");
#undef REFUSED
  tlg_resamp_reset(r);
}

int tlg_vector_run(const struct tlg_vector *v, const struct tlg_taps *taps, const tlg_cs16 *in, enum tlg_cpu cpu,
                   size_t cut, struct tlg_resamp **again, tlg_cs16 *out, size_t cap, size_t *got, char broken[160],
                   struct tlg_error *err)
{
  struct walk w = {.v = v, .cut = cut, .position = v->start};
  const uint64_t q0 = offset_of(v, taps->n);
  uint64_t passed; /* outputs made or skipped */
  size_t done = 0;
  uint32_t up, down;
  struct tlg_resamp *r = *again;
  int st;

  broken[0] = 0;
  lowest(v, &up, &down);
  if (r) {
    tlg_resamp_reset(r);
  } else {
    struct tlg_resamp_cfg cfg = {
        .up = v->up, .down = v->down, .taps = taps, .rounding = v->rounding, .align = v->align, .cpu = cpu};

    st = tlg_resamp_new(&r, &cfg, err);
    if (st) {
      return st;
    }
    *again = r;
    check_arguments(v, taps, r, broken);
  }
  check_start(v, taps, r, cpu, broken);
  if (v->start) {
    uint64_t skipped = 0;

    st = tlg_resamp_skip(r, v->start, &skipped);
    if (st) {
      return tlg_error_set(err, st, "skipping to the start: %s", tlg_status_text(st));
    }
    promise(broken, skipped == outputs_after(up, down, q0, v->start), "outputs skipped at the start", skipped,
            outputs_after(up, down, q0, v->start));
  }
  passed = outputs_after(up, down, q0, v->start);
  check_position(r, v->start, passed, broken);
  while (walk_next(&w)) {
    uint64_t after;
    size_t bound, made = 0;

    if (w.missing) {
      uint64_t skipped = 0;

      after = outputs_after(up, down, q0, w.position);
      st = tlg_resamp_skip(r, w.missing, &skipped);
      if (st) {
        return tlg_error_set(err, st, "a gap of %llu: %s", (unsigned long long)w.missing, tlg_status_text(st));
      }
      promise(broken, skipped == after - passed, "outputs skipped in a gap", skipped, after - passed);
      passed = after;
      check_position(r, w.position, passed, broken);
    }
    after = outputs_after(up, down, q0, w.position + w.n);
    bound = tlg_resamp_bound(r, w.n);
    promise(broken, bound == after - passed, "the bound of a packet", bound, after - passed);
    if (done + bound + 1 > cap || bound > cap) {
      return tlg_error_set(err, TLG_ESPACE, "%s: more outputs than the formula gives", v->id);
    }
    if (bound && w.index % 16 == 3) {
      check_short(r, in + w.input, w.n, out + done, bound, broken);
    }
    out[done + bound].i = out[done + bound].q = CANARY;
    st = tlg_resamp_process(r, in + w.input, w.n, out + done, bound, &made);
    if (st) {
      return tlg_error_set(err, st, "a packet of %llu: %s", (unsigned long long)w.n, tlg_status_text(st));
    }
    promise(broken, made == bound, "outputs of a packet", made, bound);
    promise(broken, out[done + bound].i == CANARY && out[done + bound].q == CANARY, "samples written past the end", 1,
            0);
    done += made < bound ? made : bound;
    passed = after;
    check_position(r, w.position + w.n, passed, broken);
  }
  if (v->flush) {
    const uint64_t left = outputs_flushed(v, up, down, taps->n, w.position);
    const size_t piece = cut ? 100 : SIZE_MAX;
    uint64_t flushed = 0;
    size_t made;

    promise(broken, tlg_resamp_flush_bound(r) == left, "the bound of the flush", tlg_resamp_flush_bound(r), left);
    do {
      const uint64_t rest = left - flushed;
      const size_t room = rest + 1 < piece ? (size_t)rest + 1 : piece; /* one more than there should be */

      if (done + room > cap) {
        return tlg_error_set(err, TLG_ESPACE, "%s: more outputs than the formula gives", v->id);
      }
      made = 0;
      st = tlg_resamp_flush(r, out + done, room, &made);
      if (st) {
        return tlg_error_set(err, st, "flush: %s", tlg_status_text(st));
      }
      done += made;
      flushed += made;
      promise(broken, flushed <= left, "outputs flushed", flushed, left);
    } while (made && flushed <= left);
    promise(broken, flushed == left, "outputs flushed", flushed, left);
    promise(broken, tlg_resamp_flush_bound(r) == 0, "outputs left after the flush", tlg_resamp_flush_bound(r), 0);
    promise(broken, tlg_resamp_process(r, in, 0, out, 0, &made) == TLG_EINVAL, "processing after the flush", 0, 1);
  }
  *got = done;
  return TLG_OK;
}

int tlg_vector_refusal(const struct tlg_vector *v, struct tlg_error *err)
{
  struct tlg_taps taps = {NULL, 0, 0, 0};
  struct tlg_resamp *r = NULL;
  struct tlg_resamp_cfg cfg = {.up = v->up, .down = v->down, .taps = &taps, .rounding = v->rounding, .align = v->align};
  const int16_t one = 1;
  int st;

  if (v->refused == TLG_REFUSED_RATIO) {
    taps = (struct tlg_taps){(int16_t *)(uintptr_t)&one, 1, v->up, 14};
    st = v->up || v->down ? tlg_resamp_new(&r, &cfg, err)
                          : tlg_rate_ratio(&v->rate_in, &v->rate_out, &cfg.up, &cfg.down);
    tlg_resamp_free(r);
    return st;
  }
  st = tlg_vector_taps(v, &taps, err);
  if (st) {
    return st;
  }
  st = tlg_resamp_new(&r, &cfg, err);
  tlg_resamp_free(r);
  tlg_taps_free(&taps);
  return st;
}
