/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a USRP through UHD's C interface and setting it up. */
#include "uhd_radio.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TEXT = 240 };

struct uhd_device {
  uhd_usrp_handle usrp;
  char *args;
  unsigned users;
  struct uhd_device *next;
};

/* Opening and closing belong to one thread. */
static struct uhd_device *devices;

/* What differs between the two directions. */
static const struct side {
  const char *name;
  uhd_error (*set_subdev)(uhd_usrp_handle h, uhd_subdev_spec_handle spec, size_t mboard);
  uhd_error (*num_channels)(uhd_usrp_handle h, size_t *n);
  uhd_error (*set_rate)(uhd_usrp_handle h, double rate, size_t chan);
  uhd_error (*get_rate)(uhd_usrp_handle h, size_t chan, double *rate);
  uhd_error (*set_freq)(uhd_usrp_handle h, uhd_tune_request_t *request, size_t chan, uhd_tune_result_t *result);
  uhd_error (*get_freq)(uhd_usrp_handle h, size_t chan, double *freq);
  uhd_error (*set_gain)(uhd_usrp_handle h, double gain, size_t chan, const char *name);
  uhd_error (*get_gain)(uhd_usrp_handle h, size_t chan, const char *name, double *gain);
  uhd_error (*set_antenna)(uhd_usrp_handle h, const char *antenna, size_t chan);
  uhd_error (*get_antenna)(uhd_usrp_handle h, size_t chan, char *antenna, size_t size);
  uhd_error (*antennas)(uhd_usrp_handle h, size_t chan, uhd_string_vector_handle *names);
  uhd_error (*set_bandwidth)(uhd_usrp_handle h, double bandwidth, size_t chan);
  uhd_error (*get_bandwidth)(uhd_usrp_handle h, size_t chan, double *bandwidth);
  uhd_error (*sensor_names)(uhd_usrp_handle h, size_t chan, uhd_string_vector_handle *names);
  uhd_error (*sensor)(uhd_usrp_handle h, const char *name, size_t chan, uhd_sensor_value_handle *value);
} sides[] = {
    [UHD_RX] = {"RX", uhd_usrp_set_rx_subdev_spec, uhd_usrp_get_rx_num_channels, uhd_usrp_set_rx_rate,
                uhd_usrp_get_rx_rate, uhd_usrp_set_rx_freq, uhd_usrp_get_rx_freq, uhd_usrp_set_rx_gain,
                uhd_usrp_get_rx_gain, uhd_usrp_set_rx_antenna, uhd_usrp_get_rx_antenna, uhd_usrp_get_rx_antennas,
                uhd_usrp_set_rx_bandwidth, uhd_usrp_get_rx_bandwidth, uhd_usrp_get_rx_sensor_names,
                uhd_usrp_get_rx_sensor},
    [UHD_TX] = {"TX", uhd_usrp_set_tx_subdev_spec, uhd_usrp_get_tx_num_channels, uhd_usrp_set_tx_rate,
                uhd_usrp_get_tx_rate, uhd_usrp_set_tx_freq, uhd_usrp_get_tx_freq, uhd_usrp_set_tx_gain,
                uhd_usrp_get_tx_gain, uhd_usrp_set_tx_antenna, uhd_usrp_get_tx_antenna, uhd_usrp_get_tx_antennas,
                uhd_usrp_set_tx_bandwidth, uhd_usrp_get_tx_bandwidth, uhd_usrp_get_tx_sensor_names,
                uhd_usrp_get_tx_sensor},
};

/* ---- texts ------------------------------------------------------------------------------------------------------- */

/* UHD's texts have several lines; a message has one, with single blanks. */
static void one_line(char *text)
{
  const char *from;
  char *to = text;

  for (from = text; *from; from++) {
    const int blank = *from == ' ' || *from == '\n' || *from == '\r' || *from == '\t';

    if (!blank) {
      *to++ = *from;
    } else if (to > text && to[-1] != ' ') {
      *to++ = ' ';
    }
  }
  *to = '\0';
  if (to > text && to[-1] == ' ') {
    to[-1] = '\0';
  }
}

static int __attribute__((format(printf, 4, 0)))
refused(struct tlg_error *err, int status, const char *text, const char *format, va_list list)
{
  char what[200], answer[TEXT];

  vsnprintf(what, sizeof what, format, list);
  snprintf(answer, sizeof answer, "%s", text);
  one_line(answer);
  return answer[0] && strcmp(answer, "None") != 0 ? tlg_error_set(err, status, "%s (UHD: %s)", what, answer)
                                                  : tlg_error_set(err, status, "%s", what);
}

int uhd_refused_text(struct tlg_error *err, int status, const char *text, const char *format, ...)
{
  va_list list;

  va_start(list, format);
  status = refused(err, status, text, format, list);
  va_end(list);
  return status;
}

int uhd_refused(struct tlg_error *err, int status, uhd_usrp_handle usrp, const char *format, ...)
{
  char text[TEXT] = "";
  va_list list;

  if (usrp) {
    uhd_usrp_last_error(usrp, text, sizeof text);
  } else {
    uhd_get_last_error(text, sizeof text);
  }
  va_start(list, format);
  status = refused(err, status, text, format, list);
  va_end(list);
  return status;
}

void uhd_say(const struct tlg_radio_cfg *radio, const char *format, ...)
{
  char line[TEXT];
  va_list list;

  if (radio->say) {
    va_start(list, format);
    vsnprintf(line, sizeof line, format, list);
    va_end(list);
    radio->say(radio->context, line);
  }
}

unsigned uhd_patience(const struct tlg_radio_cfg *radio)
{
  const double waits = (radio->patience_s > 0.0 ? radio->patience_s : 2.0) * 1000.0 / UHD_WAIT_MS;

  return waits < 1.0 ? 1 : waits > 1e6 ? 1000000 : (unsigned)waits;
}

/* Names as "a, b, c"; "" if UHD does not tell. */
static void list_names(char *list, size_t size, uhd_string_vector_handle names)
{
  size_t n = 0, i, at = 0;
  char name[64];

  *list = '\0';
  if (uhd_string_vector_size(names, &n) != UHD_ERROR_NONE) {
    return;
  }
  for (i = 0; i < n && at < size; i++) {
    if (uhd_string_vector_at(names, i, name, sizeof name) == UHD_ERROR_NONE) {
      const int got = snprintf(list + at, size - at, "%s%s", at ? ", " : "", name);

      at += got > 0 ? (size_t)got : 0;
    }
  }
}

static int has_name(uhd_string_vector_handle names, const char *wanted)
{
  size_t n = 0, i;
  char name[64];

  if (uhd_string_vector_size(names, &n) != UHD_ERROR_NONE) {
    return 0;
  }
  for (i = 0; i < n; i++) {
    if (uhd_string_vector_at(names, i, name, sizeof name) == UHD_ERROR_NONE && strcmp(name, wanted) == 0) {
      return 1;
    }
  }
  return 0;
}

/* ---- locks ------------------------------------------------------------------------------------------------------- */

static int locked(uhd_usrp_handle usrp, const struct side *side, size_t channel)
{
  uhd_sensor_value_handle value = NULL;
  const uhd_error got = side ? side->sensor(usrp, "lo_locked", channel, &value)
                             : uhd_usrp_get_mboard_sensor(usrp, "ref_locked", 0, &value);
  bool yes = false;

  if (got == UHD_ERROR_NONE) {
    uhd_sensor_value_to_bool(value, &yes);
  }
  if (value) {
    uhd_sensor_value_free(&value);
  }
  return yes;
}

/* Wait for the LO (side given) or the reference clock, if there is a sensor for it. */
static int wait_locked(uhd_usrp_handle usrp, const struct side *side, const struct tlg_uhd_cfg *cfg,
                       struct tlg_error *err)
{
  enum { STEP_MS = 10 };
  const double setup_s = cfg->radio->setup_s > 0.0 ? cfg->radio->setup_s : 1.0;
  const struct timespec step = {.tv_nsec = STEP_MS * 1000000L};
  uhd_string_vector_handle names = NULL;
  const size_t channel = cfg->radio->channel;
  double waited_ms;
  int there = 0;

  if (uhd_string_vector_make(&names) == UHD_ERROR_NONE) {
    if ((side ? side->sensor_names(usrp, channel, &names) : uhd_usrp_get_mboard_sensor_names(usrp, 0, &names)) ==
        UHD_ERROR_NONE) {
      there = has_name(names, side ? "lo_locked" : "ref_locked");
    }
    uhd_string_vector_free(&names);
  }
  for (waited_ms = 0; there && !locked(usrp, side, channel); waited_ms += STEP_MS) {
    if (cfg->cancel && __atomic_load_n(cfg->cancel, __ATOMIC_RELAXED)) {
      return tlg_error_set(err, TLG_EINTR, "stopped while waiting for a lock");
    }
    if (waited_ms >= setup_s * 1000.0) {
      return side ? tlg_error_set(err, TLG_EUNAVAIL,
                                  "the %s local oscillator does not lock within %.3g s; ask for another --freq, a "
                                  "longer --setup, or take --skip-lo to go on without",
                                  side->name, setup_s)
                  : tlg_error_set(err, TLG_EUNAVAIL,
                                  "the reference clock (--ref %s) does not lock within %.3g s; connect it, wait longer "
                                  "with --setup, or take --ref internal",
                                  cfg->radio->clock_source, setup_s);
    }
    clock_nanosleep(CLOCK_MONOTONIC, 0, &step, NULL);
  }
  return TLG_OK;
}

/* ---- settings ---------------------------------------------------------------------------------------------------- */

static int is_word(const char *text, const char *word)
{
  return text && strcmp(text, word) == 0;
}

/* Clock and time source, and the device's time: once, as a running stream would be disturbed. */
static int set_clocks(uhd_usrp_handle usrp, const struct tlg_uhd_cfg *cfg, struct tlg_error *err)
{
  const struct tlg_radio_cfg *radio = cfg->radio;
  int status;

  if (radio->clock_source && uhd_usrp_set_clock_source(usrp, radio->clock_source, 0) != UHD_ERROR_NONE) {
    return uhd_refused(err, TLG_EINVAL, usrp, "--ref %s: the device has no such clock source", radio->clock_source);
  }
  if (radio->time_source && uhd_usrp_set_time_source(usrp, radio->time_source, 0) != UHD_ERROR_NONE) {
    return uhd_refused(err, TLG_EINVAL, usrp, "--pps %s: the device has no such time source", radio->time_source);
  }
  if (radio->clock_source && !is_word(radio->clock_source, "internal") &&
      (status = wait_locked(usrp, NULL, cfg, err))) {
    return status;
  }
  if (radio->time_source && !is_word(radio->time_source, "internal") && !is_word(radio->time_source, "none")) {
    if (uhd_usrp_set_time_unknown_pps(usrp, 0, 0.0) != UHD_ERROR_NONE) {
      return uhd_refused(err, TLG_EUNAVAIL, usrp, "--pps %s: no pulse sets the device's time", radio->time_source);
    }
  } else if (uhd_usrp_set_time_now(usrp, 0, 0.0, 0) != UHD_ERROR_NONE) {
    return uhd_refused(err, TLG_ESYS, usrp, "the device's time cannot be set");
  }
  return TLG_OK;
}

static int set_subdev(uhd_usrp_handle usrp, const struct side *side, const struct tlg_radio_cfg *radio,
                      struct tlg_error *err)
{
  uhd_subdev_spec_handle spec = NULL;
  size_t channels = 0;
  uhd_error got;

  if (radio->subdev) {
    got = uhd_subdev_spec_make(&spec, radio->subdev);
    if (got == UHD_ERROR_NONE) {
      got = side->set_subdev(usrp, spec, 0);
    }
    if (spec) {
      uhd_subdev_spec_free(&spec);
    }
    if (got != UHD_ERROR_NONE) {
      return uhd_refused(err, TLG_EINVAL, NULL, "--subdev %s: the device has no such front end", radio->subdev);
    }
  }
  if (side->num_channels(usrp, &channels) == UHD_ERROR_NONE && radio->channel >= channels) {
    return tlg_error_set(err, TLG_EINVAL, "--channel %u: the device has %zu %s channel%s, counted from 0",
                         radio->channel, channels, side->name, channels == 1 ? "" : "s");
  }
  return TLG_OK;
}

/* The rate first: everything that follows depends on it. */
static int set_rate(uhd_usrp_handle usrp, const struct side *side, const struct tlg_uhd_cfg *cfg,
                    struct tlg_uhd_info *info, struct tlg_error *err)
{
  const size_t channel = cfg->radio->channel;
  double rate = 0.0;

  uhd_say(cfg->radio, "Setting %s Rate: %f Msps...", side->name, cfg->rate_hz * 1e-6);
  if (side->set_rate(usrp, cfg->rate_hz, channel) != UHD_ERROR_NONE) {
    return uhd_refused(err, TLG_EINVAL, usrp, "the device cannot be set to %.12g Msps", cfg->rate_hz * 1e-6);
  }
  if (side->get_rate(usrp, channel, &rate) != UHD_ERROR_NONE || !(rate > 0.0) || !(rate < 1e12)) {
    return uhd_refused(err, TLG_ESYS, usrp, "the device does not tell its %s rate", side->name);
  }
  uhd_say(cfg->radio, "Actual %s Rate: %f Msps...", side->name, rate * 1e-6);
  info->rate_hz = rate;
  return TLG_OK;
}

static int set_freq(uhd_usrp_handle usrp, const struct side *side, const struct tlg_radio_cfg *radio,
                    struct tlg_error *err)
{
  char integer_n[] = "mode_n=integer", none[] = "";
  uhd_tune_request_t request = {.target_freq = radio->freq_hz,
                                .rf_freq_policy = UHD_TUNE_REQUEST_POLICY_AUTO,
                                .dsp_freq_policy = UHD_TUNE_REQUEST_POLICY_AUTO,
                                .args = radio->int_n ? integer_n : none};
  uhd_tune_result_t result;

  uhd_say(radio, "Setting %s Freq: %f MHz...", side->name, radio->freq_hz * 1e-6);
  if (radio->set & TLG_RADIO_LO_OFFSET) {
    uhd_say(radio, "Setting %s LO Offset: %f MHz...", side->name, radio->lo_offset_hz * 1e-6);
    request.rf_freq_policy = UHD_TUNE_REQUEST_POLICY_MANUAL;
    request.rf_freq = radio->freq_hz + radio->lo_offset_hz;
  }
  return side->set_freq(usrp, &request, radio->channel, &result) == UHD_ERROR_NONE
             ? TLG_OK
             : uhd_refused(err, TLG_EINVAL, usrp, "--freq %.12g: the device does not tune there", radio->freq_hz);
}

static int set_antenna(uhd_usrp_handle usrp, const struct side *side, const struct tlg_radio_cfg *radio,
                       struct tlg_error *err)
{
  uhd_string_vector_handle names = NULL;
  char list[120] = "";

  if (side->set_antenna(usrp, radio->antenna, radio->channel) == UHD_ERROR_NONE) {
    uhd_say(radio, "Using %s Antenna: %s", side->name, radio->antenna);
    return TLG_OK;
  }
  if (uhd_string_vector_make(&names) == UHD_ERROR_NONE) {
    if (side->antennas(usrp, radio->channel, &names) == UHD_ERROR_NONE) {
      list_names(list, sizeof list, names);
    }
    uhd_string_vector_free(&names);
  }
  return tlg_error_set(err, TLG_EINVAL, "--ant %s: the device has no such %s antenna%s%s", radio->antenna, side->name,
                       list[0] ? "; it has " : "", list);
}

static int set_up(uhd_usrp_handle usrp, const struct tlg_uhd_cfg *cfg, const struct side *side,
                  struct tlg_uhd_info *info, struct tlg_error *err)
{
  const struct tlg_radio_cfg *radio = cfg->radio;
  const size_t channel = radio->channel;
  double value = 0.0;
  int status;

  if ((status = set_subdev(usrp, side, radio, err)) || (status = set_rate(usrp, side, cfg, info, err)) ||
      ((radio->set & TLG_RADIO_FREQ) && (status = set_freq(usrp, side, radio, err)))) {
    return status;
  }
  info->frequency_hz = NAN;
  if (side->get_freq(usrp, channel, &value) == UHD_ERROR_NONE) {
    info->frequency_hz = value;
    if (radio->set & TLG_RADIO_FREQ) {
      uhd_say(radio, "Actual %s Freq: %f MHz...", side->name, value * 1e-6);
    }
  }
  if (radio->set & TLG_RADIO_GAIN) {
    uhd_say(radio, "Setting %s Gain: %f dB...", side->name, radio->gain_db);
    if (side->set_gain(usrp, radio->gain_db, channel, "") != UHD_ERROR_NONE) {
      return uhd_refused(err, TLG_EINVAL, usrp, "--gain %g: the device cannot be set so", radio->gain_db);
    }
    if (side->get_gain(usrp, channel, "", &value) == UHD_ERROR_NONE) {
      uhd_say(radio, "Actual %s Gain: %f dB...", side->name, value);
    }
  }
  if (radio->set & TLG_RADIO_BW) {
    uhd_say(radio, "Setting %s Bandwidth: %f MHz...", side->name, radio->bandwidth_hz * 1e-6);
    if (side->set_bandwidth(usrp, radio->bandwidth_hz, channel) != UHD_ERROR_NONE) {
      return uhd_refused(err, TLG_EINVAL, usrp, "--bw %g: the device cannot be set so", radio->bandwidth_hz);
    }
    if (side->get_bandwidth(usrp, channel, &value) == UHD_ERROR_NONE) {
      uhd_say(radio, "Actual %s Bandwidth: %f MHz...", side->name, value * 1e-6);
    }
  }
  if (radio->antenna && (status = set_antenna(usrp, side, radio, err))) {
    return status;
  }
  return radio->skip_lo ? TLG_OK : wait_locked(usrp, side, cfg, err);
}

/* ---- devices ----------------------------------------------------------------------------------------------------- */

static struct uhd_device *find_open(const char *args)
{
  struct uhd_device *d = devices;

  while (d && strcmp(d->args, args) != 0) {
    d = d->next;
  }
  return d;
}

static int make(struct uhd_device **device, const struct tlg_uhd_cfg *cfg, struct tlg_error *err)
{
  struct uhd_device *d = calloc(1, sizeof *d);
  uhd_error got;
  int status;

  if (!d || !(d->args = strdup(cfg->args))) {
    free(d);
    return tlg_error_set(err, TLG_ENOMEM, "out of memory");
  }
  uhd_say(cfg->radio, "Creating the usrp device with: %s...", cfg->args);
  got = uhd_usrp_make(&d->usrp, cfg->args);
  if (got != UHD_ERROR_NONE) {
    const int absent = got == UHD_ERROR_KEY || got == UHD_ERROR_LOOKUP || got == UHD_ERROR_INVALID_DEVICE;

    status = uhd_refused(err, TLG_EUNAVAIL, NULL,
                         absent ? "no USRP answers to '%s'; uhd_find_devices lists those that do"
                                : "the USRP '%s' cannot be opened",
                         cfg->args);
    free(d->args);
    free(d);
    return status;
  }
  status = set_clocks(d->usrp, cfg, err);
  if (status) {
    uhd_usrp_free(&d->usrp);
    free(d->args);
    free(d);
    return status;
  }
  d->next = devices;
  devices = d;
  *device = d;
  return TLG_OK;
}

int uhd_device_open(struct uhd_device **device, const struct tlg_uhd_cfg *cfg, enum uhd_direction direction,
                    struct tlg_uhd_info *info, struct tlg_error *err)
{
  struct uhd_device *d = find_open(cfg->args);
  int status = d ? TLG_OK : make(&d, cfg, err);

  if (status) {
    return status;
  }
  d->users++;
  memset(info, 0, sizeof *info);
  if (uhd_usrp_get_mboard_name(d->usrp, 0, info->device, sizeof info->device) != UHD_ERROR_NONE) {
    info->device[0] = '\0';
  }
  status = set_up(d->usrp, cfg, &sides[direction], info, err);
  if (status) {
    uhd_device_close(d);
    return status;
  }
  *device = d;
  return TLG_OK;
}

uhd_usrp_handle uhd_device_handle(const struct uhd_device *device)
{
  return device->usrp;
}

int uhd_device_now(const struct uhd_device *device, struct uhd_instant *now, struct tlg_error *err)
{
  return uhd_usrp_get_time_now(device->usrp, 0, &now->full, &now->frac) == UHD_ERROR_NONE
             ? TLG_OK
             : uhd_refused(err, TLG_ESYS, device->usrp, "the device does not tell its time");
}

void uhd_device_close(struct uhd_device *device)
{
  struct uhd_device **at = &devices;

  if (!device || --device->users) {
    return;
  }
  while (*at != device) {
    at = &(*at)->next;
  }
  *at = device->next;
  uhd_usrp_free(&device->usrp);
  free(device->args);
  free(device);
}
