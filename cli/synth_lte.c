/* SPDX-License-Identifier: Apache-2.0 */
/* taplag synth: an LTE downlink's options, and those of impairments. */
#include "synth.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define NAME "synth"

static struct {
  char *bandwidth, *cell, *ports, *model, *mcs, *rnti, *dci, *cfi, *sfn, *phich, *port1;
  int table_256, phich_extended;
} lte;

static struct {
  char *clock_ppm, *carrier, *snr, *iq_gain, *iq_phase, *dc_offset, *clip, *drop, *dup;
} bad;

struct poptOption synth_lte_table[] = {
    {"bandwidth", 0, POPT_ARG_STRING, &lte.bandwidth, 0,
     "1.4M, 3M, 5M, 10M, 15M or 20M (that of an LTE rate, else the widest that fits)", "HZ"},
    {"cell", 0, POPT_ARG_STRING, &lte.cell, 0, "cell identity, 0 to 503 (1)", "N"},
    {"ports", 0, POPT_ARG_STRING, &lte.ports, 0, "antenna ports, 1 or 2, added up (1)", "N"},
    {"port1", 0, POPT_ARG_STRING, &lte.port1, 0,
     "two ports: gain and phase of the second on its way to the output (0,0)", "DB,DEG"},
    {"model", 0, POPT_ARG_STRING, &lte.model, 0,
     "cell, or a test model of TS 36.141: etm1.1, etm3.1, etm3.1a, etm3.2, etm3.3 (cell)", "NAME"},
    {"mcs", 0, POPT_ARG_STRING, &lte.mcs, 0,
     "modulation and coding of the data, 0 to 28 (20); --modulation NAME fills it without coding instead", "N"},
    {"mcs-256", 0, POPT_ARG_NONE, &lte.table_256, 0, "--mcs 0 to 27 is of the table with 256QAM", NULL},
    {"dci", 0, POPT_ARG_STRING, &lte.dci, 0, "format that announces the data: 1 or 1a (1)", "FORMAT"},
    {"rnti", 0, POPT_ARG_STRING, &lte.rnti, 0, "to whom, 1 to 65535 or 0x1 to 0xffff (0x1234)", "N"},
    {"cfi", 0, POPT_ARG_STRING, &lte.cfi, 0, "size of the control region, 1 to 3 (1)", "N"},
    {"sfn", 0, POPT_ARG_STRING, &lte.sfn, 0, "system frame number of the first frame, 0 to 1023 (0)", "N"},
    {"phich", 0, POPT_ARG_STRING, &lte.phich, 0, "resource of the PHICH: 1/6, 1/2, 1 or 2 (1)", "NG"},
    {"phich-extended", 0, POPT_ARG_NONE, &lte.phich_extended, 0, "its extended duration (takes --cfi 3)", NULL},
    POPT_TABLEEND,
};

struct poptOption synth_impair_table[] = {
    {"clock-ppm", 0, POPT_ARG_STRING, &bad.clock_ppm, 0, "the sampling clock is fast by this", "PPM"},
    {"carrier", 0, POPT_ARG_STRING, &bad.carrier, 0, "the signal lies higher by this", "HZ"},
    {"snr", 0, POPT_ARG_STRING, &bad.snr, 0, "white noise, so far below the signal over the whole rate", "DB"},
    {"iq-gain", 0, POPT_ARG_STRING, &bad.iq_gain, 0, "I over Q", "DB"},
    {"iq-phase", 0, POPT_ARG_STRING, &bad.iq_phase, 0, "by which the axis of Q leans towards I's", "DEG"},
    {"dc-offset", 0, POPT_ARG_STRING, &bad.dc_offset, 0, "added to I and Q, in units of int16", "I,Q"},
    {"clip", 0, POPT_ARG_STRING, &bad.clip, 0, "I and Q are limited to this, over 32768", "DBFS"},
    {"drop", 0, POPT_ARG_STRING, &bad.drop, 0, "at sample AT, N are lost (then again after each EVERY)",
     "AT:N[:EVERY]"},
    {"dup", 0, POPT_ARG_STRING, &bad.dup, 0, "at sample AT, the N before it come again (likewise)", "AT:N[:EVERY]"},
    POPT_TABLEEND,
};

void synth_lte_clear(void)
{
  memset(&lte, 0, sizeof lte);
  memset(&bad, 0, sizeof bad);
}

/* ---- LTE --------------------------------------------------------------------------------------------------- */

static int whole(const char *option, const char *text, uint64_t low, uint64_t high, unsigned *n)
{
  uint64_t value = *n;
  const int st = cli_whole(NAME, option, text, low, high, &value);

  *n = (unsigned)value;
  return st;
}

static int read_bandwidth(unsigned *prb)
{
  struct tlg_rate hz;

  if (!lte.bandwidth) {
    return 0;
  }
  *prb = tlg_rate_parse(&hz, lte.bandwidth) || hz.den != 1 || hz.num > 100000000 ? 0 : tlg_lte_prb((unsigned)hz.num);
  return *prb
             ? 0
             : cli_usage(NAME, "--bandwidth %s: LTE has 1.4M, 3M, 5M, 10M, 15M and 20M (6, 15, 25, 50, 75, 100 blocks)",
                         lte.bandwidth);
}

static int read_rnti(unsigned *rnti)
{
  char *end;

  if (lte.rnti && (lte.rnti[0] == '0' && (lte.rnti[1] == 'x' || lte.rnti[1] == 'X'))) {
    const unsigned long value = strtoul(lte.rnti + 2, &end, 16);

    if (end == lte.rnti + 2 || *end || value < 1 || value > 0xffff) {
      return cli_usage(NAME, "--rnti %s: from 0x1 to 0xffff", lte.rnti);
    }
    *rnti = (unsigned)value;
    return 0;
  }
  return whole("--rnti", lte.rnti, 1, 65535, rnti);
}

static int read_phich(unsigned *resource)
{
  static const char *const names[] = {"1/6", "1/2", "1", "2"};
  unsigned i;

  *resource = 2;
  for (i = 0; lte.phich && i < 4; i++) {
    if (strcmp(lte.phich, names[i]) == 0) {
      *resource = i;
      return 0;
    }
  }
  return lte.phich ? cli_usage(NAME, "--phich %s: one of 1/6, 1/2, 1, 2", lte.phich) : 0;
}

/* "1.5" or "-0.25": at most six decimals. */
static int read_decimal(const char *option, const char *text, struct tlg_frequency *f)
{
  if (text && (tlg_frequency_parse(f, text) || f->den > 1000000)) {
    return cli_usage(NAME, "%s %s: a number with at most six decimals, as 1.5 or -0.25", option, text);
  }
  return 0;
}

static int read_port1(tlg_cf64 gain[2])
{
  struct tlg_frequency degrees = {0, 1};
  char text[64], *comma, *end;
  double db, size;
  uint64_t turn, part;

  if (!lte.port1) {
    return 0;
  }
  snprintf(text, sizeof text, "%s", lte.port1);
  comma = strchr(text, ',');
  if (comma) {
    *comma = '\0';
    if (tlg_frequency_parse(&degrees, comma + 1) || degrees.den > 1000000) {
      comma = NULL;
    }
  }
  db = strtod(text, &end);
  if (!comma || end == text || *end || !(db >= -60.0 && db <= 60.0) || degrees.num > 360000000 ||
      degrees.num < -360000000) {
    return cli_usage(NAME, "--port1 %s: gain in dB, within +-60, and phase in degrees, as -3,45", lte.port1);
  }
  size = tlg_amplitude(db);
  turn = 360 * degrees.den;
  part = (uint64_t)(degrees.num < 0 ? -degrees.num : degrees.num) % turn;
  gain[0] = (tlg_cf64){1.0, 0.0};
  tlg_cos_sin(degrees.num < 0 ? turn - part : part, turn, &gain[1].i, &gain[1].q);
  gain[1].i *= size;
  gain[1].q *= size;
  return 0;
}

int synth_lte_configure(struct tlg_signal_cfg *cfg, const char *modulation)
{
  const struct {
    const char *option, *text;
    int cell_only; /* not for test models, which the standard fixes */
  } given[] = {
      {"--bandwidth", lte.bandwidth, 0},
      {"--cell", lte.cell, 0},
      {"--model", lte.model, 0},
      {"--ports", lte.ports, 1},
      {"--port1", lte.port1, 1},
      {"--mcs", lte.mcs, 1},
      {"--mcs-256", lte.table_256 ? "" : NULL, 1},
      {"--dci", lte.dci, 1},
      {"--rnti", lte.rnti, 1},
      {"--cfi", lte.cfi, 1},
      {"--sfn", lte.sfn, 1},
      {"--phich", lte.phich, 1},
      {"--phich-extended", lte.phich_extended ? "" : NULL, 1},
      {"--modulation", modulation, 1},
  };
  struct tlg_lte_signal *const l = &cfg->lte;
  size_t i;
  int st;

  for (i = 0; i + 1 < sizeof given / sizeof *given && cfg->kind != TLG_SIGNAL_LTE; i++) {
    if (given[i].text) {
      return cli_usage(NAME, "%s is not for %s", given[i].option, tlg_signal_name(cfg->kind));
    }
  }
  if (cfg->kind != TLG_SIGNAL_LTE) {
    return 0;
  }
  if (lte.model && tlg_lte_model_parse(&l->model, lte.model)) {
    return cli_usage(NAME, "--model %s: one of cell, etm1.1, etm3.1, etm3.1a, etm3.2, etm3.3", lte.model);
  }
  for (i = 0; i < sizeof given / sizeof *given && l->model != TLG_LTE_CELL; i++) {
    if (given[i].cell_only && given[i].text) {
      return cli_usage(NAME, "%s is not for test models, which the standard fixes", given[i].option);
    }
  }
  if (lte.mcs && modulation) {
    return cli_usage(NAME, "give --mcs (coded data) or --modulation (uncoded), not both");
  }
  if (lte.port1 && (!lte.ports || strcmp(lte.ports, "2") != 0)) {
    return cli_usage(NAME, "--port1 needs --ports 2");
  }
  l->cell.id = 1;
  l->mcs = 20;
  l->table_256 = lte.table_256 ? 1 : 0;
  l->cell.phich_extended = lte.phich_extended ? 1 : 0;
  l->data = modulation ? TLG_LTE_UNCODED : TLG_LTE_CODED;
  if (lte.dci && strcmp(lte.dci, "1") != 0 && strcasecmp(lte.dci, "1a") != 0) {
    return cli_usage(NAME, "--dci %s: 1 or 1a", lte.dci);
  }
  l->dci_1a = lte.dci && strcmp(lte.dci, "1") != 0;
  if ((st = read_bandwidth(&l->cell.prb)) || (st = whole("--cell", lte.cell, 0, 503, &l->cell.id)) ||
      (st = whole("--ports", lte.ports, 1, 2, &l->cell.ports)) ||
      (st = whole("--mcs", lte.mcs, 0, lte.table_256 ? 27 : 28, &l->mcs)) || (st = read_rnti(&l->rnti)) ||
      (st = whole("--cfi", lte.cfi, 1, 3, &l->cfi)) || (st = whole("--sfn", lte.sfn, 0, 1023, &l->sfn)) ||
      (st = read_phich(&l->cell.phich_resource)) || (st = read_port1(l->port_gain))) {
    return st;
  }
  return 0;
}

static const char *points_name(unsigned bits)
{
  return bits == 2 ? "QPSK" : bits == 4 ? "16QAM" : bits == 6 ? "64QAM" : "256QAM";
}

/* E-TM3.2 and 3.3 at 75 resource blocks: the standard's lists of blocks are not followed there (docs/lte.md). */
static int own_blocks(const struct tlg_lte_signal *l)
{
  const char *name = tlg_lte_model_name(l->model);

  return l->cell.prb == 75 && (strcmp(name, "etm3.2") == 0 || strcmp(name, "etm3.3") == 0);
}

void synth_lte_describe(const struct tlg_signal_cfg *c, const struct tlg_signal *signal, char *text, size_t size,
                        json_t *o)
{
  static const unsigned shown[3] = {0, 5, 1}; /* the others are as 1 */
  const struct tlg_lte_signal *const l = &c->lte;
  const int coded = l->model == TLG_LTE_CELL && l->data == TLG_LTE_CODED;
  struct tlg_lte_shared s[3];
  json_t *subframes = json_array();
  char data[240] = "";
  unsigned i;

  for (i = 0; i < 3; i++) {
    (void)tlg_lte_signal_shared(signal, shown[i], &s[i]);
  }
  if (l->model != TLG_LTE_CELL) {
    snprintf(data, sizeof data, "test model E-TM%s, one frame%s", tlg_lte_model_name(l->model) + 3,
             own_blocks(l) ? "; which blocks it boosts at 15 MHz is a choice of this program, not the standard's list"
                           : "");
  } else if (!coded) {
    snprintf(data, sizeof data, "uncoded %s", points_name(s[2].bits_a_symbol));
  } else {
    snprintf(data, sizeof data, "MCS %u (%s)%s%s", s[2].mcs, points_name(s[2].bits_a_symbol),
             l->table_256 ? " of the table with 256QAM" : "",
             s[2].mcs == l->mcs ? "" : " as the code rate of a higher one would pass 0.93");
    for (i = 0; i < 2; i++) {
      if (s[i].mcs != s[2].mcs) {
        const size_t used = strlen(data);

        snprintf(data + used, sizeof data - used, ", %u (%s) in subframe %u", s[i].mcs, points_name(s[i].bits_a_symbol),
                 shown[i]);
      }
    }
    i = (unsigned)strlen(data);
    snprintf(data + i, sizeof data - i, ", DCI %s to 0x%04x", l->dci_1a ? "1A" : "1", l->rnti);
  }
  snprintf(text, size, "lte, cell %u, %u resource blocks (%g MHz), %u port%s, %s", l->cell.id, l->cell.prb,
           tlg_lte_bandwidth_hz(l->cell.prb) / 1e6, l->cell.ports, cli_plural(l->cell.ports), data);
  json_object_set_new(o, "model", json_string(tlg_lte_model_name(l->model)));
  if (l->model != TLG_LTE_CELL) {
    json_object_set_new(o, "standard_blocks", json_boolean(!own_blocks(l)));
  }
  json_object_set_new(o, "cell", json_integer(l->cell.id));
  json_object_set_new(o, "prb", json_integer(l->cell.prb));
  json_object_set_new(o, "ports", json_integer(l->cell.ports));
  json_object_set_new(o, "sfn", json_integer(l->sfn));
  json_object_set_new(o, "cfi", json_integer(l->cfi));
  json_object_set_new(o, "phich_resource", json_integer(l->cell.phich_resource));
  json_object_set_new(o, "phich_extended", json_boolean(l->cell.phich_extended));
  if (coded) {
    json_object_set_new(o, "rnti", json_integer(l->rnti));
    json_object_set_new(o, "dci", json_string(l->dci_1a ? "1A" : "1"));
    for (i = 0; i < 10; i++) {
      struct tlg_lte_shared x;

      (void)tlg_lte_signal_shared(signal, i, &x);
      json_array_append_new(subframes, json_pack("{s:i,s:s,s:i,s:i}", "mcs", (int)x.mcs, "modulation",
                                                 points_name(x.bits_a_symbol), "block_bits", (int)x.block_bits,
                                                 "coded_bits", (int)x.coded_bits));
    }
    json_object_set(o, "subframes", subframes);
  } else if (l->model == TLG_LTE_CELL) {
    json_object_set_new(o, "modulation", json_string(points_name(s[2].bits_a_symbol)));
  }
  json_decref(subframes);
}

/* ---- impairments ------------------------------------------------------------------------------------------- */

/* AT:N[:EVERY] */
static int read_event(const char *option, const char *text, uint64_t *at, uint64_t *n, uint64_t *every)
{
  uint64_t *const values[3] = {at, n, every};
  char copy[96], *part = copy, *colon;
  int i, st;

  if (!text) {
    return 0;
  }
  snprintf(copy, sizeof copy, "%s", text);
  for (i = 0; i < 3 && part; i++) {
    colon = strchr(part, ':');
    if (colon) {
      *colon = '\0';
    }
    if ((st = cli_count(NAME, option, part, values[i]))) {
      return st;
    }
    part = colon ? colon + 1 : NULL;
  }
  if (i < 2 || part || !*n) {
    return cli_usage(NAME, "%s %s: AT:N or AT:N:EVERY in samples, as 1M:100 or 0:1:250k", option, text);
  }
  return 0;
}

int synth_impair_configure(struct tlg_signal_cfg *cfg)
{
  struct tlg_impairments *const i = &cfg->impairments;
  double clip_db = 0.0;
  char tail;
  int st;

  if (bad.carrier && tlg_frequency_parse(&i->carrier, bad.carrier)) {
    return cli_usage(NAME, "--carrier %s: not a frequency; write 1.5k or -300", bad.carrier);
  }
  if (bad.dc_offset && sscanf(bad.dc_offset, "%lf,%lf%c", &i->dc.i, &i->dc.q, &tail) != 2) {
    return cli_usage(NAME, "--dc-offset %s: two numbers with a comma, as 100,-50.5", bad.dc_offset);
  }
  if ((st = read_decimal("--clock-ppm", bad.clock_ppm, &i->clock_ppm)) ||
      (st = cli_real(NAME, "--iq-gain", bad.iq_gain, -40.0, 40.0, &i->gain_db)) ||
      (st = read_decimal("--iq-phase", bad.iq_phase, &i->phase_deg)) ||
      (st = cli_real(NAME, "--clip", bad.clip, -90.0, 30.0, &clip_db)) ||
      (st = read_event("--drop", bad.drop, &i->drop_at, &i->drop_n, &i->drop_every)) ||
      (st = read_event("--dup", bad.dup, &i->dup_at, &i->dup_n, &i->dup_every))) {
    return st;
  }
  if (bad.clip) {
    i->clip = 32768.0 * tlg_amplitude(clip_db);
  }
  return 0;
}

int synth_impair_has_noise(void)
{
  return bad.snr != NULL;
}

int synth_impair_noise(struct tlg_signal_cfg *cfg)
{
  double snr_db = 0.0;
  int st;

  if (!bad.snr) {
    return 0;
  }
  switch (cfg->kind) {
  case TLG_SIGNAL_TONE:
  case TLG_SIGNAL_TONES:
  case TLG_SIGNAL_CHIRP:
  case TLG_SIGNAL_NOISE:
  case TLG_SIGNAL_OFDM:
  case TLG_SIGNAL_LTE:
    break;
  default:
    return cli_usage(NAME, "--snr is not for %s, which has no mean power", tlg_signal_name(cfg->kind));
  }
  if ((st = cli_real(NAME, "--snr", bad.snr, -60.0, 150.0, &snr_db))) {
    return st;
  }
  cfg->impairments.noise = cfg->amplitude * tlg_amplitude(-snr_db);
  return 0;
}

static void add(char *text, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void add(char *text, size_t size, const char *format, ...)
{
  const size_t used = strlen(text), comma = used ? 2 : 0;
  va_list arguments;

  if (used + comma + 1 < size) {
    memcpy(text + used, ", ", comma);
    va_start(arguments, format);
    vsnprintf(text + used + comma, size - used - comma, format, arguments);
    va_end(arguments);
  }
}

static void add_event(char *text, size_t size, json_t *o, const char *name, uint64_t at, uint64_t n, uint64_t every)
{
  char again[40] = "";

  if (!n) {
    return;
  }
  if (every) {
    snprintf(again, sizeof again, " and every %llu", (unsigned long long)every);
  }
  add(text, size, "%llu sample%s %s at %llu%s", (unsigned long long)n, cli_plural(n),
      strcmp(name, "drop") == 0 ? "lost" : "repeated", (unsigned long long)at, again);
  json_object_set_new(
      o, name, json_pack("{s:I,s:I,s:I}", "at", (json_int_t)at, "samples", (json_int_t)n, "every", (json_int_t)every));
}

static double ratio(const struct tlg_frequency *f)
{
  return f->den ? (double)f->num / (double)f->den : 0.0;
}

json_t *synth_impair_describe(const struct tlg_signal_cfg *cfg, char *text, size_t size)
{
  const struct tlg_impairments *const i = &cfg->impairments;
  json_t *o = json_object();

  text[0] = '\0';
  if (i->clock_ppm.num) {
    add(text, size, "sampling clock %+.6g ppm", ratio(&i->clock_ppm));
    json_object_set_new(o, "clock_ppm", json_real(ratio(&i->clock_ppm)));
  }
  add_event(text, size, o, "drop", i->drop_at, i->drop_n, i->drop_every);
  add_event(text, size, o, "dup", i->dup_at, i->dup_n, i->dup_every);
  if (i->carrier.num) {
    add(text, size, "carrier %+.12g Hz", ratio(&i->carrier));
    json_object_set_new(o, "carrier_hz", json_real(ratio(&i->carrier)));
  }
  if (i->noise > 0.0) {
    const double snr_db = 20.0 * log10(cfg->amplitude / i->noise);

    add(text, size, "noise %.2f dB below the signal", snr_db);
    json_object_set_new(o, "snr_db", cli_number(snr_db, 3));
  }
  if (i->gain_db != 0.0 || i->phase_deg.num) {
    add(text, size, "I/Q imbalance %+.4g dB %+.6g degrees", i->gain_db, ratio(&i->phase_deg));
    json_object_set_new(o, "iq_gain_db", json_real(i->gain_db));
    json_object_set_new(o, "iq_phase_deg", json_real(ratio(&i->phase_deg)));
  }
  if (i->dc.i != 0.0 || i->dc.q != 0.0) {
    add(text, size, "DC %+.6g %+.6gj", i->dc.i, i->dc.q);
    json_object_set_new(o, "dc", json_pack("[f,f]", i->dc.i, i->dc.q));
  }
  if (i->clip > 0.0) {
    add(text, size, "limited to %.2f dBFS", 20.0 * log10(i->clip / 32768.0));
    json_object_set_new(o, "clip_dbfs", cli_number(20.0 * log10(i->clip / 32768.0), 3));
  }
  if (!json_object_size(o)) {
    json_decref(o);
    return NULL;
  }
  return o;
}
