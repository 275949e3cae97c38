/* SPDX-License-Identifier: Apache-2.0 */
/* Finding and loading taplag-uhd.so, and the settings of a radio as an endpoint gives them. */
#include "uhd_loader.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef TAPLAG_PREFIX
#define TAPLAG_PREFIX "/usr/local"
#endif

/* ---- the plug-in ------------------------------------------------------------------------------------------------- */

static int holds(const char *root, const char *place, char *path, size_t size)
{
  return (size_t)snprintf(path, size, "%s/%s%s", root, place, TLG_UHD_PLUGIN_FILE) < size && access(path, F_OK) == 0;
}

/* Under TAPLAG_DATA and nowhere else if that is set, else beside the program, beside the library that this code is in,
 * under PREFIX/lib/taplag. */
static int find_plugin(char *path, size_t size, const char *given)
{
  char root[4000];
  ssize_t n;
  Dl_info self;

  if (given) {
    return holds(given, "", path, size) || holds(given, "lib/", path, size);
  }
  n = readlink("/proc/self/exe", root, sizeof root - 1);
  if (n > 0) {
    char *slash;

    root[n] = '\0';
    slash = strrchr(root, '/');
    if (slash) {
      *slash = '\0';
      if (holds(root, "", path, size) || holds(root, "../lib/taplag/", path, size)) {
        return 1;
      }
    }
  }
  if (dladdr((const void *)&tlg_uhd_load, &self) && self.dli_fname && strrchr(self.dli_fname, '/')) {
    snprintf(root, sizeof root, "%.*s", (int)(strrchr(self.dli_fname, '/') - self.dli_fname), self.dli_fname);
    if (holds(root, "", path, size) || holds(root, "taplag/", path, size)) {
      return 1;
    }
  }
  return holds(TAPLAG_PREFIX "/lib/taplag", "", path, size);
}

int tlg_uhd_load(const struct tlg_uhd_plugin **plugin, struct tlg_error *err)
{
  static const struct tlg_uhd_plugin *loaded;
  const char *given = getenv("TAPLAG_DATA");
  char path[4200];
  tlg_uhd_plugin_fn *entry;
  void *library, *symbol;

  if (loaded) {
    *plugin = loaded;
    return TLG_OK;
  }
  given = given && *given ? given : NULL;
  if (!find_plugin(path, sizeof path, given)) {
    return tlg_error_set(err, TLG_EUNAVAIL,
                         "radios need the plug-in " TLG_UHD_PLUGIN_FILE ", and it is not %s%.100s; install libuhd "
                         "('apt-get install libuhd-dev'), then run make again",
                         given ? "in TAPLAG_DATA=" : "beside the program or under ",
                         given ? given : TAPLAG_PREFIX "/lib/taplag");
  }
  /* UHD prints on stderr, from its loading on. Its news come to us as return values and counts; whoever wants its own
   * lines as well sets these variables. */
  setenv("UHD_LOG_CONSOLE_LEVEL", "error", 0);
  setenv("UHD_LOG_FASTPATH_DISABLE", "1", 0);
  library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *why = dlerror();

    return tlg_error_set(err, TLG_EUNAVAIL,
                         "the plug-in %.150s cannot be loaded (%.150s); install libuhd ('apt-get install libuhd-dev') "
                         "and run make again",
                         path, why ? why : "no reason given");
  }
  symbol = dlsym(library, TLG_UHD_PLUGIN_SYMBOL);
  memcpy(&entry, &symbol, sizeof entry); /* ISO C has no cast from an object's pointer to a function's */
  *plugin = symbol ? entry() : NULL;
  if (!*plugin || (*plugin)->version != TLG_UHD_PLUGIN_VERSION || (*plugin)->size != sizeof **plugin) {
    const unsigned version = *plugin ? (*plugin)->version : 0;

    *plugin = NULL;
    dlclose(library);
    return tlg_error_set(
        err, TLG_EUNAVAIL,
        "%.200s is not of this program's version (its interface is %u, here it is %d); build both anew", path, version,
        TLG_UHD_PLUGIN_VERSION);
  }
  loaded = *plugin; /* it stays: UHD is not made to be unloaded */
  return TLG_OK;
}

/* ---- settings ---------------------------------------------------------------------------------------------------- */

static int hz_value(const struct tlg_endpoint *e, const char *key, struct tlg_radio_cfg *radio, unsigned bit,
                    double *hz, struct tlg_error *err)
{
  const char *text = tlg_endpoint_value(e, key);
  struct tlg_rate rate;

  if (!text) {
    return TLG_OK;
  }
  if (strcmp(text, "0") == 0) {
    *hz = 0.0;
  } else if (tlg_rate_parse(&rate, text) == TLG_OK) {
    *hz = tlg_rate_hz(&rate);
  } else {
    return tlg_error_set(err, TLG_EINVAL, "%s=%s: not a frequency; write 2.4G or 806M", key, text);
  }
  radio->set |= bit;
  return TLG_OK;
}

static int real_value(const struct tlg_endpoint *e, const char *key, double low, double high, double *value,
                      struct tlg_error *err)
{
  const char *text = tlg_endpoint_value(e, key);
  char *end;
  double x;

  if (!text) {
    return TLG_OK;
  }
  x = strtod(text, &end);
  if (end == text || *end || !(x >= low) || !(x <= high)) {
    return tlg_error_set(err, TLG_EINVAL, "%s=%s: must be a number from %g to %g", key, text, low, high);
  }
  *value = x;
  return TLG_OK;
}

/* A text of one's own: the endpoint's, else the one given. */
static int own_text(struct tlg_uhd_settings *s, size_t i, const struct tlg_endpoint *e, const char *key,
                    const char **text, struct tlg_error *err)
{
  const char *value = key ? tlg_endpoint_value(e, key) : NULL;

  value = value ? value : *text;
  if (value) {
    s->texts[i] = strdup(value);
    if (!s->texts[i]) {
      return tlg_error_set(err, TLG_ENOMEM, "out of memory");
    }
  }
  *text = s->texts[i];
  return TLG_OK;
}

int tlg_uhd_settings_make(struct tlg_uhd_settings *s, const struct tlg_endpoint *e, const struct tlg_radio_cfg *given,
                          int sink, struct tlg_error *err)
{
  static const char *const source_keys[] = {"freq", "gain", "bw",  "lo-offset", "ant",    "subdev", "channel",
                                            "spb",  "ref",  "pps", "wirefmt",   "stream", NULL};
  static const char *const sink_keys[] = {"freq", "gain", "bw",      "lo-offset", "ant",  "subdev", "channel",
                                          "ref",  "pps",  "wirefmt", "stream",    "lead", "late",   NULL};
  static const char *const lates[] = {"drop", "shift", NULL};
  static const struct tlg_radio_cfg none;
  struct tlg_radio_cfg *r = &s->radio;
  uint64_t channel, spb;
  int late, status;

  memset(s, 0, sizeof *s);
  *r = given ? *given : none;
  channel = r->channel;
  spb = r->spb;
  late = (int)r->late;
  if ((status = tlg_endpoint_check_keys(e, sink ? sink_keys : source_keys, err)) ||
      (status = hz_value(e, "freq", r, TLG_RADIO_FREQ, &r->freq_hz, err)) ||
      (status = hz_value(e, "bw", r, TLG_RADIO_BW, &r->bandwidth_hz, err)) ||
      (status = hz_value(e, "lo-offset", r, TLG_RADIO_LO_OFFSET, &r->lo_offset_hz, err)) ||
      (status = real_value(e, "gain", -200.0, 200.0, &r->gain_db, err)) ||
      (status = real_value(e, "lead", 0.001, 10.0, &r->lead_s, err)) ||
      (status = tlg_endpoint_whole(e, "channel", 0, 63, &channel, err)) ||
      (status = tlg_endpoint_whole(e, "spb", 1, 1 << 20, &spb, err)) ||
      (status = tlg_endpoint_word(e, "late", lates, &late, err)) ||
      (status = own_text(s, 0, e, "ant", &r->antenna, err)) ||
      (status = own_text(s, 1, e, "subdev", &r->subdev, err)) ||
      (status = own_text(s, 2, e, "ref", &r->clock_source, err)) ||
      (status = own_text(s, 3, e, "pps", &r->time_source, err)) ||
      (status = own_text(s, 4, e, "wirefmt", &r->wire_format, err)) ||
      (status = own_text(s, 5, e, "stream", &r->stream_args, err))) {
    tlg_uhd_settings_free(s);
    return status;
  }
  r->set |= tlg_endpoint_value(e, "gain") ? TLG_RADIO_GAIN : 0;
  r->channel = (unsigned)channel;
  r->spb = (unsigned)spb;
  r->late = (enum tlg_radio_late)late;
  return TLG_OK;
}

void tlg_uhd_settings_free(struct tlg_uhd_settings *s)
{
  size_t i;

  for (i = 0; i < sizeof s->texts / sizeof *s->texts; i++) {
    free(s->texts[i]);
    s->texts[i] = NULL;
  }
}

/* ---- rates ------------------------------------------------------------------------------------------------------- */

/* The simplest fraction that is this double, as far as a double tells: clocks are divided by small numbers. */
static void simplest(double hz, struct tlg_rate *rate)
{
  uint64_t p0 = 0, q0 = 1, p1 = 1, q1 = 0;
  double x = hz;
  int i;

  for (i = 0; i < 40; i++) {
    const double a = floor(x);
    const double p2 = a * (double)p1 + (double)p0, q2 = a * (double)q1 + (double)q0;

    if (p2 > 1e15 || q2 > 1e6) {
      break;
    }
    p0 = p1;
    q0 = q1;
    p1 = (uint64_t)p2;
    q1 = (uint64_t)q2;
    if (fabs((double)p1 / (double)q1 - hz) <= hz * 0x1p-50 || !(x - a > 0.0)) {
      break;
    }
    x = 1.0 / (x - a);
  }
  if (!q1 || !p1 || tlg_rate_make(rate, p1, q1) != TLG_OK) {
    rate->num = 1;
    rate->den = 1;
  }
}

int tlg_uhd_rate(struct tlg_rate *rate, double given_hz, const struct tlg_rate *asked,
                 const struct tlg_radio_cfg *radio, int *coerced, char *text, struct tlg_error *err)
{
  char asked_text[64], given_text[64], match_text[64];
  uint32_t up, down;

  *coerced = fabs(given_hz / tlg_rate_hz(asked) - 1.0) > 1e-9;
  if (!*coerced) {
    *rate = *asked;
    return TLG_OK;
  }
  if (!radio->match.num || tlg_rate_match(given_hz, &radio->match, rate) != TLG_OK) {
    simplest(given_hz, rate);
  }
  snprintf(text, 200, "the radio gives %s for the %s asked for", tlg_rate_text(rate, given_text, sizeof given_text),
           tlg_rate_text(asked, asked_text, sizeof asked_text));
  if (radio->strict_rate) {
    return tlg_error_set(err, TLG_EUNAVAIL, "%s; --strict-rate allows no other", text);
  }
  if (radio->match.num && tlg_rate_ratio(rate, &radio->match, &up, &down) != TLG_OK) {
    return tlg_error_set(err, TLG_EUNAVAIL,
                         "%s, and no ratio up to 65535/65535 lies between that and %s; ask for a rate that the radio's "
                         "clock divides to",
                         text, tlg_rate_text(&radio->match, match_text, sizeof match_text));
  }
  return TLG_OK;
}
