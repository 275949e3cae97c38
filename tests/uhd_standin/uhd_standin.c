/* SPDX-License-Identifier: Apache-2.0 */
/* A stand-in for libuhd: its C interface over a radio that does what a script says. It is no emulator: it knows only
 * what the interface promises, and the order in which a program that uses it must behave.
 *
 * UHD_STANDIN names the script, one thing a line; UHD_STANDIN_LOG a file to which calls are written, among them lines
 * "misuse ..." for what the interface does not allow.
 *
 *   device none|NAME        nothing answers; or the motherboard's name
 *   rx_rate NUM DEN         the rate that the device makes of any asked for (tx_rate likewise)
 *   packet N                samples of a packet (2000)
 *   start SECS FRAC         time of the first sample
 *   unstamped               no time stamps
 *   unlocked lo|ref         a sensor that never locks
 *   inflight N [unmarked]   samples that still come after the stop command, the last marked as end of burst or not
 *   file PATH               raw cs16 that is received, again and again; else uhd_standin_sample
 *   pace                    on the wall clock: samples come when they are due, and waits take their time
 * What is received, in this order, and samples without end behind it:
 *   samples N, overflow LOST, lost LOST, dead LOST (an overflow that ends the stream), jump N (without an error), back
 * N, late LOST, chain LOST (both idle until the next command), bad LOST, align LOST, timeout N, code N, io, hang
 * Transmitting: tx_file PATH gets the samples at their places on the time line; and once N samples were sent:
 *   tx N underflow OUTAGE | underflow_in_packet OUTAGE | seq LOST | seq_in_burst LOST | time_error LOST |
 *        stale 0 (an underflow of long ago) | short K (so many of one call) | refuse M (so many calls in a row take
 * none) | io | mute (no acknowledgement)
 */
#include <uhd.h>

#include "uhd_standin.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LINES = 256 };

enum what { SAMPLES, OVERFLOW, LOST, DEAD, JUMP, BACK, LATE, CHAIN, BAD, ALIGN, TIMEOUT, CODE, IO, HANG, EVENTS };
static const char *const event_names[EVENTS] = {"samples", "overflow", "lost",  "dead",    "jump", "back", "late",
                                                "chain",   "bad",      "align", "timeout", "code", "io",   "hang"};

enum tx_what {
  T_UNDERFLOW,
  T_IN_PACKET,
  T_SEQ,
  T_SEQ_BURST,
  T_TIME,
  T_STALE,
  T_SHORT,
  T_REFUSE,
  T_IO,
  T_MUTE,
  TX_EVENTS
};
static const char *const tx_names[TX_EVENTS] = {
    "underflow", "underflow_in_packet", "seq", "seq_in_burst", "time_error", "stale", "short", "refuse", "io", "mute"};

static struct {
  enum what what;
  int64_t n;
} events[LINES];

static struct {
  uint64_t at;
  enum tx_what what;
  int64_t n;
  int done;
} tx_events[LINES];

/* The one radio. */
static struct {
  char name[64], error[200], file[256], tx_file[256];
  int absent, unstamped, unlocked_lo, unlocked_ref, paced;
  uint64_t rate_num[2], rate_den[2]; /* 0 = what is asked for */
  double rate[2], freq[2], gain[2], bandwidth[2];
  char antenna[2][32], subdev[2][32];
  size_t packet;
  int64_t start_full, inflight;
  double start_frac;
  int inflight_unmarked;
  size_t n_events, at_event, n_tx;
  int64_t left;     /* of the event that is running */
  int64_t position; /* the number of the next sample on the air */
  size_t fragment;  /* of the packet being given, so much is gone */
  size_t of_packet; /* its length; 0 = a new one begins */
  int streaming, stopped, stop_left, users, time_set;
  int16_t *samples; /* of file */
  size_t n_samples;
  struct timespec began;
  /* transmitter */
  FILE *out;
  int in_burst, mute, any_burst;
  uint64_t sent, jumped;
  int64_t refuse, short_by, burst_full, origin_full;
  double burst_frac, origin_frac;
  uint64_t burst_place; /* on the time line, in samples since the first burst */
  struct {
    int code, has_time;
    int64_t full;
    double frac;
  } messages[LINES];
  size_t n_messages, at_message;
} radio;

static FILE *log_file;

struct uhd_usrp {
  char error[200];
};
struct uhd_rx_streamer {
  int ready;
};
struct uhd_tx_streamer {
  int ready;
};
struct uhd_rx_metadata_t {
  int code, sequence, has_time, end, more;
  size_t offset;
  int64_t full;
  double frac;
};
struct uhd_tx_metadata_t {
  int has_time, begin, end;
  int64_t full;
  double frac;
};
struct uhd_async_metadata_t {
  int code, has_time;
  int64_t full;
  double frac;
};
struct uhd_string_vector_t {
  const char *names[4];
  size_t n;
};
struct uhd_sensor_value_t {
  int on;
};
struct uhd_subdev_spec_t {
  char markup[32];
};

/* ---- the script -------------------------------------------------------------------------------------------------- */

static void __attribute__((format(printf, 1, 2))) note(const char *format, ...)
{
  const char *path = getenv("UHD_STANDIN_LOG");
  va_list list;

  if (!log_file && path) {
    log_file = fopen(path, "a");
  }
  if (log_file) {
    va_start(list, format);
    vfprintf(log_file, format, list);
    va_end(list);
    fputc('\n', log_file);
    fflush(log_file);
  }
}

static uhd_error fail(uhd_error code, const char *text)
{
  snprintf(radio.error, sizeof radio.error, "%s", text);
  return code;
}

static int find(const char *const *names, int n, const char *word)
{
  int i;

  for (i = 0; i < n && strcmp(names[i], word) != 0; i++) {
  }
  return i;
}

static void read_line(char *line, unsigned number)
{
  char word[64] = "", a[256] = "", b[64] = "", c[64] = "";
  const int n = sscanf(line, "%63s %255s %63s %63s", word, a, b, c);
  int i;

  if (n < 1 || word[0] == '#') {
    return;
  }
  if (strcmp(word, "device") == 0) {
    radio.absent = strcmp(a, "none") == 0;
    snprintf(radio.name, sizeof radio.name, "%.63s", a);
  } else if (strcmp(word, "rx_rate") == 0 || strcmp(word, "tx_rate") == 0) {
    radio.rate_num[word[0] == 't'] = strtoull(a, NULL, 10);
    radio.rate_den[word[0] == 't'] = n > 2 ? strtoull(b, NULL, 10) : 1;
  } else if (strcmp(word, "packet") == 0) {
    radio.packet = (size_t)strtoull(a, NULL, 10);
  } else if (strcmp(word, "start") == 0) {
    radio.start_full = strtoll(a, NULL, 10);
    radio.start_frac = strtod(b, NULL);
  } else if (strcmp(word, "unstamped") == 0) {
    radio.unstamped = 1;
  } else if (strcmp(word, "unlocked") == 0) {
    *(a[0] == 'l' ? &radio.unlocked_lo : &radio.unlocked_ref) = 1;
  } else if (strcmp(word, "inflight") == 0) {
    radio.inflight = strtoll(a, NULL, 10);
    radio.inflight_unmarked = n > 2;
  } else if (strcmp(word, "file") == 0) {
    snprintf(radio.file, sizeof radio.file, "%s", a);
  } else if (strcmp(word, "tx_file") == 0) {
    snprintf(radio.tx_file, sizeof radio.tx_file, "%s", a);
  } else if (strcmp(word, "pace") == 0) {
    radio.paced = 1;
  } else if (strcmp(word, "tx") == 0 && (i = find(tx_names, TX_EVENTS, b)) < TX_EVENTS && radio.n_tx < LINES) {
    tx_events[radio.n_tx].at = strtoull(a, NULL, 10);
    tx_events[radio.n_tx].what = (enum tx_what)i;
    tx_events[radio.n_tx].done = 0;
    tx_events[radio.n_tx++].n = strtoll(c, NULL, 10);
  } else if ((i = find(event_names, EVENTS, word)) < EVENTS && radio.n_events < LINES) {
    events[radio.n_events].what = (enum what)i;
    events[radio.n_events++].n = strtoll(a, NULL, 10);
  } else {
    fprintf(stderr, "uhd_standin: line %u of the script: %s\n", number, line);
    abort();
  }
}

static void read_script(void)
{
  const char *path = getenv("UHD_STANDIN");
  FILE *f = path ? fopen(path, "r") : NULL;
  char line[400];
  unsigned number = 0;

  memset(&radio, 0, sizeof radio);
  radio.packet = 2000;
  radio.start_frac = 0.25;
  snprintf(radio.name, sizeof radio.name, "standin");
  if (path && !f) {
    fprintf(stderr, "uhd_standin: no script %s\n", path);
    abort();
  }
  while (f && fgets(line, sizeof line, f)) {
    read_line(line, ++number);
  }
  if (f) {
    fclose(f);
  }
  radio.left = radio.n_events ? events[0].n : 0;
  if (radio.file[0] && (f = fopen(radio.file, "rb"))) {
    fseek(f, 0, SEEK_END);
    radio.n_samples = (size_t)ftell(f) / 4;
    rewind(f);
    radio.samples = malloc(radio.n_samples * 4 + 1);
    if (!radio.samples || fread(radio.samples, 4, radio.n_samples, f) != radio.n_samples) {
      abort();
    }
    fclose(f);
  }
}

void uhd_standin_sample(uint64_t number, int16_t *i, int16_t *q)
{
  *i = (int16_t)(uint16_t)(number * 40503u);
  *q = (int16_t)(uint16_t)((number >> 16) * 25173u + number);
}

static void give(int16_t *to, uint64_t number)
{
  if (radio.n_samples) {
    memcpy(to, radio.samples + number % radio.n_samples * 2, 4);
  } else {
    uhd_standin_sample(number, to, to + 1);
  }
}

/* ---- time -------------------------------------------------------------------------------------------------------- */

/* The instant of sample n behind a start, by integers. */
static void instant(int64_t n, int tx, int64_t *full, double *frac)
{
  const uint64_t num = radio.rate_num[tx] ? radio.rate_num[tx] : (uint64_t)radio.rate[tx];
  const uint64_t den = radio.rate_num[tx] ? radio.rate_den[tx] : 1;
  const unsigned __int128 ticks = (unsigned __int128)(uint64_t)n * den;

  *full = radio.start_full + (int64_t)(ticks / num);
  *frac = radio.start_frac + (double)(uint64_t)(ticks % num) / (double)num;
  if (*frac >= 1.0) {
    *frac -= 1.0;
    ++*full;
  }
}

static double seconds_since(const struct timespec *then)
{
  struct timespec now;

  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)(now.tv_sec - then->tv_sec) + (double)(now.tv_nsec - then->tv_nsec) * 1e-9;
}

static void pass(double seconds)
{
  struct timespec t = {.tv_sec = (time_t)seconds, .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};

  if (radio.paced && seconds > 0.0) {
    clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
  }
}

/* ---- small objects ----------------------------------------------------------------------------------------------- */

#define MAKE(type, name)                                                                                               \
  uhd_error name(type *h)                                                                                              \
  {                                                                                                                    \
    *h = calloc(1, sizeof **h);                                                                                        \
    return *h ? UHD_ERROR_NONE : UHD_ERROR_RUNTIME;                                                                    \
  }
#define FREE(type, name)                                                                                               \
  uhd_error name(type *h)                                                                                              \
  {                                                                                                                    \
    if (!*h) {                                                                                                         \
      note("misuse " #name " of nothing");                                                                             \
    }                                                                                                                  \
    free(*h);                                                                                                          \
    *h = NULL;                                                                                                         \
    return UHD_ERROR_NONE;                                                                                             \
  }
#define GET(type, name, value, member)                                                                                 \
  uhd_error name(type h, value *out)                                                                                   \
  {                                                                                                                    \
    *out = (value)h->member;                                                                                           \
    return UHD_ERROR_NONE;                                                                                             \
  }
#define TIME(type, name)                                                                                               \
  uhd_error name(type h, int64_t *full, double *frac)                                                                  \
  {                                                                                                                    \
    *full = h->full;                                                                                                   \
    *frac = h->frac;                                                                                                   \
    return UHD_ERROR_NONE;                                                                                             \
  }

MAKE(uhd_string_vector_handle, uhd_string_vector_make)
FREE(uhd_string_vector_handle, uhd_string_vector_free)
GET(uhd_string_vector_handle, uhd_string_vector_size, size_t, n)
FREE(uhd_sensor_value_handle, uhd_sensor_value_free)
GET(uhd_sensor_value_handle, uhd_sensor_value_to_bool, bool, on)
FREE(uhd_subdev_spec_handle, uhd_subdev_spec_free)
MAKE(uhd_rx_streamer_handle, uhd_rx_streamer_make)
MAKE(uhd_tx_streamer_handle, uhd_tx_streamer_make)
MAKE(uhd_rx_metadata_handle, uhd_rx_metadata_make)
FREE(uhd_rx_metadata_handle, uhd_rx_metadata_free)
GET(uhd_rx_metadata_handle, uhd_rx_metadata_has_time_spec, bool, has_time)
TIME(uhd_rx_metadata_handle, uhd_rx_metadata_time_spec)
GET(uhd_rx_metadata_handle, uhd_rx_metadata_more_fragments, bool, more)
GET(uhd_rx_metadata_handle, uhd_rx_metadata_fragment_offset, size_t, offset)
GET(uhd_rx_metadata_handle, uhd_rx_metadata_end_of_burst, bool, end)
GET(uhd_rx_metadata_handle, uhd_rx_metadata_out_of_sequence, bool, sequence)
GET(uhd_rx_metadata_handle, uhd_rx_metadata_error_code, uhd_rx_metadata_error_code_t, code)
FREE(uhd_tx_metadata_handle, uhd_tx_metadata_free)
MAKE(uhd_async_metadata_handle, uhd_async_metadata_make)
FREE(uhd_async_metadata_handle, uhd_async_metadata_free)
GET(uhd_async_metadata_handle, uhd_async_metadata_has_time_spec, bool, has_time)
TIME(uhd_async_metadata_handle, uhd_async_metadata_time_spec)
GET(uhd_async_metadata_handle, uhd_async_metadata_event_code, uhd_async_metadata_event_code_t, code)

static uhd_error text_out(char *out, size_t size, const char *text)
{
  snprintf(out, size, "%s", text);
  return UHD_ERROR_NONE;
}

uhd_error uhd_get_last_error(char *out, size_t size)
{
  return text_out(out, size, radio.error[0] ? radio.error : "None");
}

uhd_error uhd_usrp_last_error(uhd_usrp_handle h, char *out, size_t size)
{
  (void)h;
  return uhd_get_last_error(out, size);
}

uhd_error uhd_rx_streamer_last_error(uhd_rx_streamer_handle h, char *out, size_t size)
{
  (void)h;
  return uhd_get_last_error(out, size);
}

uhd_error uhd_tx_streamer_last_error(uhd_tx_streamer_handle h, char *out, size_t size)
{
  (void)h;
  return uhd_get_last_error(out, size);
}

uhd_error uhd_rx_metadata_strerror(uhd_rx_metadata_handle h, char *out, size_t size)
{
  (void)h;
  return text_out(out, size, "unknown\nerror code");
}

uhd_error uhd_get_version_string(char *out, size_t size)
{
  return text_out(out, size, "4.0.0.stand-in");
}

uhd_error uhd_string_vector_at(uhd_string_vector_handle h, size_t i, char *out, size_t size)
{
  return i < h->n ? text_out(out, size, h->names[i]) : UHD_ERROR_INDEX;
}

uhd_error uhd_subdev_spec_make(uhd_subdev_spec_handle *h, const char *markup)
{
  if (!strchr(markup, ':')) {
    return fail(UHD_ERROR_VALUE, "ValueError: subdev_spec_t: invalid markup");
  }
  *h = calloc(1, sizeof **h);
  return *h ? text_out((*h)->markup, sizeof(*h)->markup, markup) : UHD_ERROR_RUNTIME;
}

uhd_error uhd_tx_metadata_make(uhd_tx_metadata_handle *h, bool has_time, int64_t full, double frac, bool begin,
                               bool end)
{
  *h = calloc(1, sizeof **h);
  if (!*h) {
    return UHD_ERROR_RUNTIME;
  }
  (*h)->has_time = has_time;
  (*h)->full = full;
  (*h)->frac = frac;
  (*h)->begin = begin;
  (*h)->end = end;
  return UHD_ERROR_NONE;
}

/* ---- the device -------------------------------------------------------------------------------------------------- */

uhd_error uhd_usrp_make(uhd_usrp_handle *h, const char *args)
{
  read_script();
  note("make %s", args);
  if (radio.absent) {
    return fail(UHD_ERROR_KEY, "LookupError: KeyError: No devices found for ----->\nDevice Address:\n    type: x300\n");
  }
  *h = calloc(1, sizeof **h);
  return *h ? UHD_ERROR_NONE : UHD_ERROR_RUNTIME;
}

uhd_error uhd_usrp_free(uhd_usrp_handle *h)
{
  note("free");
  if (radio.users) {
    note("misuse the device is freed before its streamers");
  }
  free(radio.samples);
  radio.samples = NULL;
  free(*h);
  *h = NULL;
  if (log_file) {
    fclose(log_file);
    log_file = NULL;
  }
  return UHD_ERROR_NONE;
}

uhd_error uhd_usrp_get_mboard_name(uhd_usrp_handle h, size_t mboard, char *out, size_t size)
{
  (void)h;
  (void)mboard;
  return text_out(out, size, radio.name);
}

uhd_error uhd_usrp_get_time_now(uhd_usrp_handle h, size_t mboard, int64_t *full, double *frac)
{
  (void)h;
  (void)mboard;
  instant((int64_t)(radio.sent + radio.jumped), 1, full, frac);
  return UHD_ERROR_NONE;
}

uhd_error uhd_usrp_set_time_now(uhd_usrp_handle h, int64_t full, double frac, size_t mboard)
{
  (void)h;
  (void)mboard;
  note("set_time_now %lld %g", (long long)full, frac);
  if (radio.streaming || radio.in_burst) {
    note("misuse the time is set while samples flow");
  }
  radio.time_set = 1;
  return UHD_ERROR_NONE;
}

uhd_error uhd_usrp_set_time_unknown_pps(uhd_usrp_handle h, int64_t full, double frac)
{
  (void)h;
  note("set_time_unknown_pps %lld %g", (long long)full, frac);
  radio.time_set = 1;
  return UHD_ERROR_NONE;
}

uhd_error uhd_usrp_set_time_source(uhd_usrp_handle h, const char *source, size_t mboard)
{
  (void)h;
  (void)mboard;
  note("set_time_source %s", source);
  return strcmp(source, "internal") == 0 || strcmp(source, "external") == 0
             ? UHD_ERROR_NONE
             : fail(UHD_ERROR_VALUE, "ValueError: invalid time source");
}

uhd_error uhd_usrp_set_clock_source(uhd_usrp_handle h, const char *source, size_t mboard)
{
  (void)h;
  (void)mboard;
  note("set_clock_source %s", source);
  return strcmp(source, "internal") == 0 || strcmp(source, "external") == 0
             ? UHD_ERROR_NONE
             : fail(UHD_ERROR_VALUE, "ValueError: invalid clock source");
}

static uhd_error sensor(int on, uhd_sensor_value_handle *value)
{
  free(*value); /* as libuhd does */
  *value = calloc(1, sizeof **value);
  if (*value) {
    (*value)->on = on;
  }
  return *value ? UHD_ERROR_NONE : UHD_ERROR_RUNTIME;
}

uhd_error uhd_usrp_get_mboard_sensor(uhd_usrp_handle h, const char *name, size_t mboard, uhd_sensor_value_handle *value)
{
  (void)h;
  (void)mboard;
  return strcmp(name, "ref_locked") == 0 ? sensor(!radio.unlocked_ref, value) : UHD_ERROR_LOOKUP;
}

static uhd_error names(uhd_string_vector_handle v, const char *a, const char *b)
{
  v->names[0] = a;
  v->names[1] = b;
  v->n = 2;
  return UHD_ERROR_NONE;
}

uhd_error uhd_usrp_get_mboard_sensor_names(uhd_usrp_handle h, size_t mboard, uhd_string_vector_handle *out)
{
  (void)h;
  (void)mboard;
  return names(*out, "gps_time", "ref_locked");
}

static uhd_error check_channel(size_t channel, const char *what)
{
  if (channel > 1) {
    note("misuse %s of channel %zu", what, channel);
    return fail(UHD_ERROR_INDEX, "IndexError: no such channel");
  }
  return UHD_ERROR_NONE;
}

static uhd_error set_rate(int tx, double rate, size_t channel)
{
  note("set_%s_rate %.9g channel %zu", tx ? "tx" : "rx", rate, channel);
  radio.rate[tx] = radio.rate_num[tx] ? (double)radio.rate_num[tx] / (double)radio.rate_den[tx] : rate;
  return check_channel(channel, "a rate");
}

static uhd_error set_freq(int tx, const uhd_tune_request_t *request, size_t channel, uhd_tune_result_t *result)
{
  note("set_%s_freq %.9g rf %c %.9g args %s channel %zu", tx ? "tx" : "rx", request->target_freq,
       (char)request->rf_freq_policy, request->rf_freq, request->args, channel);
  memset(result, 0, sizeof *result);
  if (request->target_freq > 6e9) {
    return fail(UHD_ERROR_VALUE, "ValueError: out of range");
  }
  radio.freq[tx] = request->target_freq;
  return check_channel(channel, "a frequency");
}

static uhd_error set_gain(int tx, double gain, size_t channel)
{
  note("set_%s_gain %g", tx ? "tx" : "rx", gain);
  radio.gain[tx] = gain > 31.5 ? 31.5 : gain;
  return check_channel(channel, "a gain");
}

static uhd_error set_antenna(int tx, const char *antenna, size_t channel)
{
  note("set_%s_antenna %s", tx ? "tx" : "rx", antenna);
  if (strcmp(antenna, "TX/RX") != 0 && (tx || strcmp(antenna, "RX2") != 0)) {
    return fail(UHD_ERROR_LOOKUP, "LookupError: no such antenna");
  }
  snprintf(radio.antenna[tx], sizeof radio.antenna[tx], "%s", antenna);
  return check_channel(channel, "an antenna");
}

static uhd_error set_bandwidth(int tx, double bandwidth, size_t channel)
{
  note("set_%s_bandwidth %g", tx ? "tx" : "rx", bandwidth);
  radio.bandwidth[tx] = bandwidth;
  return check_channel(channel, "a bandwidth");
}

#define SIDE(d, tx)                                                                                                    \
  uhd_error uhd_usrp_set_##d##_subdev_spec(uhd_usrp_handle h, uhd_subdev_spec_handle spec, size_t mboard)              \
  {                                                                                                                    \
    (void)h;                                                                                                           \
    (void)mboard;                                                                                                      \
    note("set_" #d "_subdev_spec %s", spec->markup);                                                                   \
    return spec->markup[0] == 'A' ? UHD_ERROR_NONE : fail(UHD_ERROR_LOOKUP, "LookupError: no such subdevice");         \
  }                                                                                                                    \
  uhd_error uhd_usrp_get_##d##_num_channels(uhd_usrp_handle h, size_t *n)                                              \
  {                                                                                                                    \
    (void)h;                                                                                                           \
    *n = 2;                                                                                                            \
    return UHD_ERROR_NONE;                                                                                             \
  }                                                                                                                    \
  uhd_error uhd_usrp_set_##d##_rate(uhd_usrp_handle h, double rate, size_t chan)                                       \
  {                                                                                                                    \
    (void)h;                                                                                                           \
    return set_rate(tx, rate, chan);                                                                                   \
  }                                                                                                                    \
  uhd_error uhd_usrp_get_##d##_rate(uhd_usrp_handle h, size_t chan, double *rate)                                      \
  {                                                                                                                    \
    (void)h;                                                                                                           \
    *rate = radio.rate[tx];                                                                                            \
    return check_channel(chan, "a rate");                                                                              \
  }                                                                                                                    \
  uhd_error uhd_usrp_set_##d##_freq(uhd_usrp_handle h, uhd_tune_request_t *request, size_t chan,                       \
                                    uhd_tune_result_t *result)                                                         \
  {                                                                                                                    \
    (void)h;                                                                                                           \
    return set_freq(tx, request, chan, result);                                                                        \
  }                                                                                                                    \
  uhd_error uhd_usrp_get_##d##_freq(uhd_usrp_handle h, size_t chan, double *freq)                                      \
  {                                                                                                                    \
    (void)h;                                                                                                           \
    *freq = radio.freq[tx];                                                                                            \
    return check_channel(chan, "a frequency");                                                                         \
  }                                                                                                                    \
  uhd_error uhd_usrp_set_##d##_gain(uhd_usrp_handle h, double gain, size_t chan, const char *name)                     \
  {                                                                                                                    \
    (void)h;                                                                                                           \
    (void)name;                                                                                                        \
    return set_gain(tx, gain, chan);                                                                                   \
  }                                                                                                                    \
  uhd_error uhd_usrp_get_##d##_gain(uhd_usrp_handle h, size_t chan, const char *name, double *gain)                    \
  {                                                                                                                    \
    (void)h;                                                                                                           \
    (void)name;                                                                                                        \
    *gain = radio.gain[tx];                                                                                            \
    return check_channel(chan, "a gain");                                                                              \
  }                                                                                                                    \
  uhd_error uhd_usrp_set_##d##_antenna(uhd_usrp_handle h, const char *antenna, size_t chan)                            \
  {                                                                                                                    \
    (void)h;                                                                                                           \
    return set_antenna(tx, antenna, chan);                                                                             \
  }                                                                                                                    \
  uhd_error uhd_usrp_get_##d##_antenna(uhd_usrp_handle h, size_t chan, char *out, size_t size)                         \
  {                                                                                                                    \
    (void)h;                                                                                                           \
    text_out(out, size, radio.antenna[tx]);                                                                            \
    return check_channel(chan, "an antenna");                                                                          \
  }                                                                                                                    \
  uhd_error uhd_usrp_get_##d##_antennas(uhd_usrp_handle h, size_t chan, uhd_string_vector_handle *out)                 \
  {                                                                                                                    \
    (void)h;                                                                                                           \
    names(*out, "TX/RX", "RX2");                                                                                       \
    (*out)->n = (tx) ? 1 : 2;                                                                                          \
    return check_channel(chan, "antennas");                                                                            \
  }                                                                                                                    \
  uhd_error uhd_usrp_set_##d##_bandwidth(uhd_usrp_handle h, double bandwidth, size_t chan)                             \
  {                                                                                                                    \
    (void)h;                                                                                                           \
    return set_bandwidth(tx, bandwidth, chan);                                                                         \
  }                                                                                                                    \
  uhd_error uhd_usrp_get_##d##_bandwidth(uhd_usrp_handle h, size_t chan, double *bandwidth)                            \
  {                                                                                                                    \
    (void)h;                                                                                                           \
    *bandwidth = radio.bandwidth[tx];                                                                                  \
    return check_channel(chan, "a bandwidth");                                                                         \
  }                                                                                                                    \
  uhd_error uhd_usrp_get_##d##_sensor_names(uhd_usrp_handle h, size_t chan, uhd_string_vector_handle *out)             \
  {                                                                                                                    \
    (void)h;                                                                                                           \
    names(*out, "temp", "lo_locked");                                                                                  \
    return check_channel(chan, "sensors");                                                                             \
  }                                                                                                                    \
  uhd_error uhd_usrp_get_##d##_sensor(uhd_usrp_handle h, const char *name, size_t chan, uhd_sensor_value_handle *out)  \
  {                                                                                                                    \
    (void)h;                                                                                                           \
    return strcmp(name, "lo_locked") == 0 && check_channel(chan, "a sensor") == UHD_ERROR_NONE                         \
               ? sensor(!radio.unlocked_lo, out)                                                                       \
               : UHD_ERROR_LOOKUP;                                                                                     \
  }
SIDE(rx, 0)
SIDE(tx, 1)

static uhd_error get_stream(int tx, const uhd_stream_args_t *args)
{
  note("get_%s_stream %s %s '%s' %d channel %zu", tx ? "tx" : "rx", args->cpu_format, args->otw_format, args->args,
       args->n_channels, args->channel_list[0]);
  if (!(radio.rate[tx] > 0.0)) {
    note("misuse a stream is made before the rate is set");
  }
  radio.users++;
  return check_channel(args->channel_list[0], "a stream");
}

uhd_error uhd_usrp_get_rx_stream(uhd_usrp_handle h, uhd_stream_args_t *args, uhd_rx_streamer_handle out)
{
  (void)h;
  out->ready = 1;
  return get_stream(0, args);
}

uhd_error uhd_usrp_get_tx_stream(uhd_usrp_handle h, uhd_stream_args_t *args, uhd_tx_streamer_handle out)
{
  (void)h;
  out->ready = 1;
  return get_stream(1, args);
}

/* ---- receiving --------------------------------------------------------------------------------------------------- */

uhd_error uhd_rx_streamer_free(uhd_rx_streamer_handle *h)
{
  if (radio.streaming && !radio.stopped) {
    note("misuse the streamer is freed while the radio streams");
  }
  if (radio.stop_left > 0) {
    note("misuse %d samples were on their way when the streamer was freed", radio.stop_left);
  }
  if ((*h)->ready) {
    radio.users--;
  }
  free(*h);
  *h = NULL;
  return UHD_ERROR_NONE;
}

uhd_error uhd_rx_streamer_max_num_samps(uhd_rx_streamer_handle h, size_t *n)
{
  (void)h;
  *n = radio.packet;
  return UHD_ERROR_NONE;
}

uhd_error uhd_rx_streamer_issue_stream_cmd(uhd_rx_streamer_handle h, const uhd_stream_cmd_t *cmd)
{
  note("stream_cmd %c now %d", (char)cmd->stream_mode, cmd->stream_now);
  if (!h->ready) {
    note("misuse a command before there is a stream");
  }
  if (!radio.time_set) {
    note("misuse the device's time was never set");
  }
  if (cmd->stream_mode == UHD_STREAM_MODE_START_CONTINUOUS) {
    if (!radio.streaming) {
      clock_gettime(CLOCK_MONOTONIC, &radio.began);
    }
    radio.streaming = 1;
  } else if (cmd->stream_mode == UHD_STREAM_MODE_STOP_CONTINUOUS) {
    radio.stopped = 1;
    radio.stop_left = (int)(radio.streaming ? radio.inflight : 0);
    radio.of_packet = 0;
  } else {
    note("misuse an unexpected stream mode");
  }
  return UHD_ERROR_NONE;
}

static uhd_error waited(uhd_rx_metadata_handle md, double timeout)
{
  pass(timeout);
  md->code = UHD_RX_METADATA_ERROR_CODE_TIMEOUT;
  return UHD_ERROR_NONE;
}

/* An error alone, or what the script says instead of samples. */
static uhd_error not_samples(uhd_rx_metadata_handle md, double timeout)
{
  const enum what what = events[radio.at_event].what;
  const int64_t n = events[radio.at_event].n;

  if (what == HANG) {
    return waited(md, timeout);
  }
  if (what == TIMEOUT) {
    if (radio.left-- > 1) {
      return waited(md, timeout);
    }
    waited(md, timeout);
  } else {
    md->has_time = !radio.unstamped && what != BAD;
    instant(radio.position, 0, &md->full, &md->frac);
    radio.position += what == BACK ? -n : what == CODE ? 0 : n;
    switch (what) {
    case OVERFLOW:
    case LOST:
    case DEAD:
      md->code = UHD_RX_METADATA_ERROR_CODE_OVERFLOW;
      md->sequence = what == LOST;
      break;
    case LATE:
      md->code = UHD_RX_METADATA_ERROR_CODE_LATE_COMMAND;
      break;
    case CHAIN:
      md->code = UHD_RX_METADATA_ERROR_CODE_BROKEN_CHAIN;
      break;
    case BAD:
      md->code = UHD_RX_METADATA_ERROR_CODE_BAD_PACKET;
      break;
    case ALIGN:
      md->code = UHD_RX_METADATA_ERROR_CODE_ALIGNMENT;
      break;
    case CODE:
      md->code = (int)n;
      break;
    case SAMPLES:
    case JUMP:
    case BACK:
    case TIMEOUT:
    case IO:
    case HANG:
    case EVENTS:
      break;
    }
    if (what == DEAD || what == LATE || what == CHAIN) {
      radio.streaming = 0;
    }
  }
  radio.at_event++;
  radio.left = radio.at_event < radio.n_events ? events[radio.at_event].n : 0;
  return what == IO ? fail(UHD_ERROR_IO, "EnvironmentError: IOError: the link is\ngone") : UHD_ERROR_NONE;
}

uhd_error uhd_rx_streamer_recv(uhd_rx_streamer_handle h, void **buffs, size_t n, uhd_rx_metadata_handle *handle,
                               double timeout, bool one_packet, size_t *got)
{
  static double longest;
  uhd_rx_metadata_handle md = *handle;
  int16_t *to = buffs[0];

  memset(md, 0, sizeof *md);
  *got = 0;
  if (!h->ready) {
    note("misuse recv before there is a stream");
  }
  if (timeout > longest) {
    longest = timeout;
    note("recv waits up to %g", timeout);
  }
  while (*got < n) {
    const int ended = radio.at_event >= radio.n_events;
    int64_t room;

    if (radio.stopped) {
      if (radio.stop_left <= 0) {
        return *got ? UHD_ERROR_NONE : waited(md, timeout);
      }
      room = radio.stop_left;
    } else if (!radio.streaming) {
      return *got ? UHD_ERROR_NONE : waited(md, timeout);
    } else if (!ended && events[radio.at_event].what != SAMPLES) {
      if (*got) {
        return UHD_ERROR_NONE; /* the error comes alone, on the next call */
      }
      if (events[radio.at_event].what == JUMP || events[radio.at_event].what == BACK) {
        not_samples(md, timeout);
        memset(md, 0, sizeof *md);
        continue;
      }
      return not_samples(md, timeout);
    } else {
      room = ended ? INT64_MAX : radio.left;
    }
    if (!radio.of_packet) {
      radio.of_packet = room < (int64_t)radio.packet ? (size_t)room : radio.packet;
      radio.fragment = 0;
    }
    if (!*got) {
      md->has_time = !radio.unstamped;
      md->offset = radio.fragment;
      instant(radio.position, 0, &md->full, &md->frac);
    }
    {
      const size_t rest = radio.of_packet - radio.fragment, take = rest < n - *got ? rest : n - *got;
      size_t k;

      if (radio.paced) {
        pass((double)(radio.position + (int64_t)take) / radio.rate[0] - seconds_since(&radio.began));
      }
      for (k = 0; k < take; k++) {
        give(to + 2 * (*got + k), (uint64_t)radio.position + k);
      }
      *got += take;
      radio.position += (int64_t)take;
      radio.fragment += take;
      md->more = radio.fragment < radio.of_packet;
      if (radio.fragment == radio.of_packet) {
        radio.of_packet = 0;
      }
      if (radio.stopped) {
        radio.stop_left -= (int)take;
        md->end = !radio.stop_left && !radio.inflight_unmarked;
      } else if (!ended) {
        radio.left -= (int64_t)take;
        if (!radio.left) {
          radio.at_event++;
          radio.left = radio.at_event < radio.n_events ? events[radio.at_event].n : 0;
        }
      }
    }
    if (one_packet) {
      break;
    }
  }
  return UHD_ERROR_NONE;
}

/* ---- transmitting ------------------------------------------------------------------------------------------------ */

uhd_error uhd_tx_streamer_free(uhd_tx_streamer_handle *h)
{
  if (radio.in_burst) {
    note("misuse the streamer is freed inside a burst");
  }
  if (radio.out) {
    fclose(radio.out);
    radio.out = NULL;
  }
  if ((*h)->ready) {
    radio.users--;
  }
  free(*h);
  *h = NULL;
  return UHD_ERROR_NONE;
}

uhd_error uhd_tx_streamer_max_num_samps(uhd_tx_streamer_handle h, size_t *n)
{
  (void)h;
  *n = radio.packet;
  return UHD_ERROR_NONE;
}

/* A message of the sample that is played next, or of long ago. */
static void post(int code, int stale)
{
  const size_t i = radio.n_messages;

  if (i < LINES) {
    radio.messages[i].code = code;
    radio.messages[i].has_time = 1;
    instant((int64_t)radio.burst_place, 1, &radio.messages[i].full, &radio.messages[i].frac);
    radio.messages[i].full += radio.origin_full - radio.start_full;
    radio.messages[i].frac += radio.origin_frac - radio.start_frac;
    if (stale) {
      radio.messages[i].full = 0;
      radio.messages[i].frac = 0.0;
    }
    radio.n_messages++;
  }
}

/* What the script has for the samples sent so far. Returns whether the call fails. */
static int tx_happens(int sending)
{
  static const int codes[] = {2, 0x10, 4, 0x20, 8, 2};
  size_t i;

  for (i = 0; i < radio.n_tx; i++) {
    if (tx_events[i].done || radio.sent < tx_events[i].at || (tx_events[i].what == T_IO && !sending)) {
      continue;
    }
    tx_events[i].done = 1;
    switch (tx_events[i].what) {
    case T_UNDERFLOW:
    case T_IN_PACKET:
      radio.jumped += (uint64_t)tx_events[i].n;
      post(codes[tx_events[i].what], 0);
      break;
    case T_STALE:
    case T_SEQ:
    case T_SEQ_BURST:
    case T_TIME:
      post(codes[tx_events[i].what], tx_events[i].what == T_STALE);
      break;
    case T_SHORT:
      radio.short_by = tx_events[i].n;
      break;
    case T_REFUSE:
      radio.refuse = tx_events[i].n;
      break;
    case T_MUTE:
      radio.mute = 1;
      break;
    case T_IO:
      return 1;
    case TX_EVENTS:
      break;
    }
  }
  return 0;
}

uhd_error uhd_tx_streamer_send(uhd_tx_streamer_handle h, const void **buffs, size_t n, uhd_tx_metadata_handle *handle,
                               double timeout, size_t *sent)
{
  const uhd_tx_metadata_handle md = *handle;
  int64_t now_full, d;
  double now_frac;
  size_t take = n;

  *sent = 0;
  if (!h->ready || timeout > 0.051) {
    note("misuse send %s", h->ready ? "waits too long" : "before there is a stream");
  }
  if (tx_happens(1)) {
    return fail(UHD_ERROR_IO, "EnvironmentError: IOError: the link is gone");
  }
  if (md->begin != md->has_time || (md->begin && radio.in_burst) || (n && !md->begin && !radio.in_burst)) {
    note("misuse send: begin %d time %d inside a burst %d", md->begin, md->has_time, radio.in_burst);
  }
  if (radio.refuse && n) {
    radio.refuse--;
    pass(timeout);
    return UHD_ERROR_NONE;
  }
  if (md->begin) {
    instant((int64_t)(radio.sent + radio.jumped), 1, &now_full, &now_frac);
    note("burst %lld %.12f", (long long)md->full, md->frac);
    if (md->full < now_full || (md->full == now_full && md->frac < now_frac)) {
      note("misuse the burst begins in the past");
      post(8, 0);
    }
    if (!radio.any_burst) {
      radio.any_burst = 1;
      radio.origin_full = md->full;
      radio.origin_frac = md->frac;
    }
    d = (int64_t)(((double)(md->full - radio.origin_full) + (md->frac - radio.origin_frac)) * radio.rate[1] + 0.5);
    radio.burst_place = (uint64_t)d;
    radio.in_burst = 1;
  }
  if (radio.short_by) {
    take = (size_t)radio.short_by < n ? (size_t)radio.short_by : n;
    radio.short_by = 0;
  }
  if (take && radio.tx_file[0]) {
    if (!radio.out) {
      radio.out = fopen(radio.tx_file, "wb");
    }
    fseek(radio.out, (long)(radio.burst_place * 4), SEEK_SET);
    fwrite(buffs[0], 4, take, radio.out);
  }
  pass((double)take / radio.rate[1]);
  radio.burst_place += take;
  radio.sent += take;
  *sent = take;
  if (md->end) {
    note("end at %llu", (unsigned long long)radio.burst_place);
    if (!radio.in_burst) {
      note("misuse a burst ends that did not begin");
    }
    radio.in_burst = 0;
    if (!radio.mute) {
      post(1, 0);
    }
  }
  return UHD_ERROR_NONE;
}

uhd_error uhd_tx_streamer_recv_async_msg(uhd_tx_streamer_handle h, uhd_async_metadata_handle *md, double timeout,
                                         bool *valid)
{
  (void)h;
  if (timeout > 0.051) {
    note("misuse recv_async_msg waits too long");
  }
  tx_happens(0);
  *valid = radio.at_message < radio.n_messages;
  if (*valid) {
    (*md)->code = radio.messages[radio.at_message].code;
    (*md)->has_time = radio.messages[radio.at_message].has_time;
    (*md)->full = radio.messages[radio.at_message].full;
    (*md)->frac = radio.messages[radio.at_message].frac;
    radio.at_message++;
  } else {
    pass(timeout);
  }
  return UHD_ERROR_NONE;
}
