/* SPDX-License-Identifier: Apache-2.0 */
/* Receiving: samples with numbers by time stamp, and every error of the stream counted and mended. */
#include "uhd_radio.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
  BARREN = 10000,   /* errors in a row without a sample between them */
  STEP_SECONDS = 10 /* a gap so much longer than the wall clock saw is a step of the device's clock, not a loss */
};

enum state { IDLE, RUNNING, STOPPING, ENDED };

struct tlg_uhd_rx {
  struct uhd_device *device;
  const struct tlg_radio_cfg *radio;
  uhd_rx_streamer_handle streamer;
  uhd_rx_metadata_handle metadata;
  struct tlg_rate rate;
  size_t packet, spb;
  enum state state;
  _Atomic int stop;
  uint64_t next;            /* the number that the next sample has if nothing is lost */
  struct uhd_instant stamp; /* of the sample `stamped` */
  uint64_t stamped;
  uint64_t stamped_ns; /* wall clock then */
  int has_stamp;
  int sequence; /* the error last met was a lost packet */
  int unknown;  /* something was lost, and no time stamp has told yet how much */
  unsigned quiet, barren, drained;
  int said_step, said_unstamped;
  struct tlg_uhd_rx_counts counts;
};

static uint64_t wall_ns(void)
{
  struct timespec t;

  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int command(struct tlg_uhd_rx *rx, uhd_stream_mode_t mode, struct tlg_error *err)
{
  const uhd_stream_cmd_t start = {.stream_mode = mode, .stream_now = true};
  char text[200] = "";

  if (uhd_rx_streamer_issue_stream_cmd(rx->streamer, &start) == UHD_ERROR_NONE) {
    return TLG_OK;
  }
  uhd_rx_streamer_last_error(rx->streamer, text, sizeof text);
  return uhd_refused_text(err, TLG_ESYS, text, "the stream cannot be %s",
                          mode == UHD_STREAM_MODE_STOP_CONTINUOUS ? "stopped" : "started");
}

/* The radio idles: start it again. */
static int restart(struct tlg_uhd_rx *rx, struct tlg_error *err)
{
  rx->counts.restarts++;
  return command(rx, UHD_STREAM_MODE_START_CONTINUOUS, err);
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

/* The number of the first sample received, by its time stamp. */
static uint64_t number(struct tlg_uhd_rx *rx)
{
  struct uhd_instant at = {0, 0.0};
  const uint64_t now_ns = wall_ns(), expected = rx->next;
  bool has = false;
  int64_t since;
  uint64_t first = expected, seen;

  if (uhd_rx_metadata_has_time_spec(rx->metadata, &has) != UHD_ERROR_NONE || !has ||
      uhd_rx_metadata_time_spec(rx->metadata, &at.full, &at.frac) != UHD_ERROR_NONE) {
    if (rx->unknown && !rx->said_unstamped) {
      rx->said_unstamped = 1;
      uhd_say(rx->radio, "Samples were lost, and this device stamps no times: how many is not known");
    }
    if (rx->unknown) {
      rx->counts.losses++;
      rx->unknown = 0;
    }
    return expected;
  }
  if (rx->has_stamp) {
    since = uhd_samples_between(&rx->stamp, &at, &rx->rate);
    seen = (uint64_t)((double)(now_ns - rx->stamped_ns) * 1e-9 * tlg_rate_hz(&rx->rate)) +
           (uint64_t)(STEP_SECONDS * tlg_rate_hz(&rx->rate));
    if (since >= 0 && rx->stamped + (uint64_t)since >= expected && rx->stamped + (uint64_t)since - expected <= seen) {
      first = rx->stamped + (uint64_t)since;
    } else { /* go on from here */
      rx->counts.restarts++;
      if (!rx->said_step) {
        rx->said_step = 1;
        uhd_say(rx->radio, "The device's clock stepped: samples are numbered on from there as if nothing was lost");
      }
    }
  }
  if (first > expected) {
    rx->counts.losses++;
    rx->counts.lost_samples += first - expected;
    if (rx->sequence) {
      rx->counts.lost_packets += (first - expected + rx->packet - 1) / rx->packet;
    }
  }
  rx->unknown = rx->sequence = 0;
  rx->has_stamp = 1;
  rx->stamp = at;
  rx->stamped = first;
  rx->stamped_ns = now_ns;
  return first;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static int no_samples(const struct tlg_uhd_rx *rx, struct tlg_error *err)
{
  return tlg_error_set(err, TLG_ESYS,
                       "no samples come: %u waits of %d ms in a row, the stream command issued again on the way; check "
                       "cable, firewall and addr=, and that no other program holds the device",
                       uhd_patience(rx->radio), UHD_WAIT_MS);
}

/* An error, which comes alone. TLG_EINTR: go on. */
static int meet(struct tlg_uhd_rx *rx, uhd_rx_metadata_error_code_t code, struct tlg_error *err)
{
  struct tlg_uhd_rx_counts *counts = &rx->counts;
  bool sequence = false;
  char text[200] = "";
  int status = TLG_OK;

  if (code == UHD_RX_METADATA_ERROR_CODE_TIMEOUT) {
    if (rx->state == STOPPING) { /* that was the last */
      rx->state = ENDED;
      return TLG_EINTR;
    }
    counts->timeouts++;
    rx->quiet++;
    if (rx->quiet >= uhd_patience(rx->radio)) {
      return no_samples(rx, err);
    }
    if (rx->quiet % UHD_RESTART_WAITS == 0) { /* an overrun, or something else, may have ended the stream */
      status = restart(rx, err);
    }
    return status ? status : TLG_EINTR;
  }
  if (++rx->barren > BARREN) {
    return no_samples(rx, err);
  }
  switch (code) {
  case UHD_RX_METADATA_ERROR_CODE_OVERFLOW:
    uhd_rx_metadata_out_of_sequence(rx->metadata, &sequence);
    counts->overruns += !sequence;
    counts->sequence_errors += sequence;
    rx->sequence = sequence;
    rx->unknown = 1;
    break;
  case UHD_RX_METADATA_ERROR_CODE_LATE_COMMAND:
    counts->late_commands++;
    if (rx->state == RUNNING) {
      status = restart(rx, err);
    }
    break;
  case UHD_RX_METADATA_ERROR_CODE_BROKEN_CHAIN:
    counts->broken_chains++;
    if (rx->state == RUNNING) {
      status = restart(rx, err);
    }
    break;
  case UHD_RX_METADATA_ERROR_CODE_ALIGNMENT:
  case UHD_RX_METADATA_ERROR_CODE_BAD_PACKET:
    counts->bad_packets++;
    rx->unknown = 1;
    break;
  case UHD_RX_METADATA_ERROR_CODE_NONE:
  case UHD_RX_METADATA_ERROR_CODE_TIMEOUT:
  default:
    uhd_rx_metadata_strerror(rx->metadata, text, sizeof text);
    return uhd_refused_text(err, TLG_ESYS, text, "the stream fails with code 0x%x, which is none that UHD names",
                            (unsigned)code);
  }
  return status ? status : TLG_EINTR;
}

/* One call of recv. TLG_EINTR: nothing yet. */
static int receive(struct tlg_uhd_rx *rx, tlg_cs16 *buf, size_t n, size_t *got, uint64_t *first, struct tlg_error *err)
{
  uhd_rx_metadata_error_code_t code = UHD_RX_METADATA_ERROR_CODE_NONE;
  void *buffers[] = {buf};
  char text[200] = "";
  size_t received = 0;
  bool last = false;

  if (uhd_rx_streamer_recv(rx->streamer, buffers, n < rx->spb ? n : rx->spb, &rx->metadata, UHD_WAIT_MS * 1e-3, false,
                           &received) != UHD_ERROR_NONE) {
    uhd_rx_streamer_last_error(rx->streamer, text, sizeof text);
    return uhd_refused_text(err, TLG_ESYS, text, "the device stopped answering");
  }
  rx->counts.calls++;
  if (uhd_rx_metadata_error_code(rx->metadata, &code) != UHD_ERROR_NONE) {
    return tlg_error_set(err, TLG_ESYS, "UHD's metadata cannot be read");
  }
  uhd_rx_metadata_end_of_burst(rx->metadata, &last);
  if (rx->state == STOPPING && last) {
    rx->state = ENDED;
  }
  if (received) { /* an error comes alone: with samples there is none */
    *first = number(rx);
    *got = received;
    rx->next = *first + received;
    rx->counts.samples += received;
    rx->quiet = rx->barren = 0;
    return TLG_OK;
  }
  return code == UHD_RX_METADATA_ERROR_CODE_NONE ? TLG_EINTR : meet(rx, code, err);
}

int uhd_rx_read(struct tlg_uhd_rx *rx, tlg_cs16 *buf, size_t n, size_t *got, uint64_t *first, struct tlg_error *err)
{
  int status;

  if (rx->state == IDLE) {
    if (atomic_load(&rx->stop)) {
      rx->state = ENDED;
    } else {
      status = command(rx, UHD_STREAM_MODE_START_CONTINUOUS, err);
      if (status) {
        return status;
      }
      rx->state = RUNNING;
      rx->stamped_ns = wall_ns();
    }
  }
  if (rx->state == RUNNING && atomic_load(&rx->stop)) {
    status = command(rx, UHD_STREAM_MODE_STOP_CONTINUOUS, err);
    if (status) {
      return status;
    }
    rx->state = STOPPING; /* what is on its way is still ours */
  }
  if (rx->state == STOPPING && ++rx->drained > 2 * BARREN) { /* it does not stop: that is enough */
    rx->state = ENDED;
  }
  if (rx->state == ENDED) {
    *got = 0;
    *first = rx->next;
    return TLG_OK;
  }
  return receive(rx, buf, n, got, first, err);
}

void uhd_rx_stop(struct tlg_uhd_rx *rx)
{
  atomic_store(&rx->stop, 1);
}

void uhd_rx_counts(const struct tlg_uhd_rx *rx, struct tlg_uhd_rx_counts *counts)
{
  *counts = rx->counts;
}

void uhd_rx_rate(struct tlg_uhd_rx *rx, const struct tlg_rate *rate)
{
  rx->rate = *rate;
}

/* ---- opening and closing ----------------------------------------------------------------------------------------- */

void uhd_rx_close(struct tlg_uhd_rx *rx)
{
  if (!rx) {
    return;
  }
  if (rx->state == RUNNING || rx->state == STOPPING) {
    tlg_cs16 *room = malloc(rx->spb * sizeof *room);

    uhd_rx_stop(rx);
    while (room) {
      size_t got = 1;
      uint64_t first;
      const int status = uhd_rx_read(rx, room, rx->spb, &got, &first, NULL);

      if ((status && status != TLG_EINTR) || (!status && !got)) {
        break;
      }
    }
    free(room);
  }
  if (rx->metadata) {
    uhd_rx_metadata_free(&rx->metadata);
  }
  if (rx->streamer) {
    uhd_rx_streamer_free(&rx->streamer);
  }
  uhd_device_close(rx->device);
  free(rx);
}

int uhd_rx_open(struct tlg_uhd_rx **out, const struct tlg_uhd_cfg *cfg, struct tlg_uhd_info *info,
                struct tlg_error *err)
{
  char cpu_format[] = "sc16", wire[16], args[200];
  size_t channels[] = {cfg->radio->channel};
  uhd_stream_args_t stream = {
      .cpu_format = cpu_format, .otw_format = wire, .args = args, .channel_list = channels, .n_channels = 1};
  struct tlg_uhd_rx *rx = calloc(1, sizeof *rx);
  size_t calls;
  int status;

  if (!rx) {
    return tlg_error_set(err, TLG_ENOMEM, "out of memory");
  }
  rx->radio = cfg->radio;
  snprintf(wire, sizeof wire, "%s", cfg->radio->wire_format ? cfg->radio->wire_format : "sc16");
  snprintf(args, sizeof args, "%s", cfg->radio->stream_args ? cfg->radio->stream_args : "");
  status = uhd_device_open(&rx->device, cfg, UHD_RX, info, err);
  if (status) {
    goto fail;
  }
  if (uhd_rx_streamer_make(&rx->streamer) != UHD_ERROR_NONE || uhd_rx_metadata_make(&rx->metadata) != UHD_ERROR_NONE) {
    status = uhd_refused(err, TLG_ESYS, NULL, "UHD makes no streamer");
    goto fail;
  }
  if (uhd_usrp_get_rx_stream(uhd_device_handle(rx->device), &stream, rx->streamer) != UHD_ERROR_NONE) {
    status = uhd_refused(err, TLG_EINVAL, uhd_device_handle(rx->device),
                         "the device gives no stream of %s over the wire as sc16", wire);
    goto fail;
  }
  if (uhd_rx_streamer_max_num_samps(rx->streamer, &rx->packet) != UHD_ERROR_NONE || !rx->packet) {
    status = uhd_refused(err, TLG_ESYS, NULL, "UHD does not tell the size of its packets");
    goto fail;
  }
  /* About 100 us a call, in whole packets: few calls, and little waiting for the last packet of one. */
  calls = (size_t)(info->rate_hz * 1e-4 / (double)rx->packet + 0.5);
  rx->spb = cfg->radio->spb ? cfg->radio->spb : (calls > 1 ? calls : 1) * rx->packet;
  info->packet = rx->packet;
  info->spb = rx->spb;
  status = tlg_rate_make(&rx->rate, (uint64_t)(info->rate_hz + 0.5), 1);
  if (status) {
    tlg_error_set(err, status, "the device's rate is below 1 sample a second");
    goto fail;
  }
  *out = rx;
  return TLG_OK;
fail:
  uhd_rx_close(rx);
  return status;
}
