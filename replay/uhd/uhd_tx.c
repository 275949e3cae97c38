/* SPDX-License-Identifier: Apache-2.0 */
/* Transmitting in timed bursts: sample k of the stream belongs at (time of the first one) + k / rate. */
#include "uhd_radio.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MARGIN_MS = 5 /* a burst that begins sooner than so is too late for the device */ };

struct tlg_uhd_tx {
  struct uhd_device *device;
  const struct tlg_radio_cfg *radio;
  uhd_tx_streamer_handle streamer;
  uhd_async_metadata_handle message;
  uhd_tx_metadata_handle going; /* of a call inside a burst: no time, no flags */
  struct tlg_rate rate;
  double lead_s;
  int started, in_burst, lost_step;
  struct uhd_instant base; /* when sample number `origin` is due */
  uint64_t origin;
  uint64_t next;            /* the number that continues the burst */
  struct uhd_instant begun; /* the burst's first sample is due then */
  unsigned slack;           /* waits that may pass until the device begins with the burst */
  struct tlg_uhd_tx_counts counts;
};

/* ---- asynchronous messages --------------------------------------------------------------------------------------- */

/* Whether a message is about the burst that is being sent, as far as it tells. */
static int is_of_burst(const struct tlg_uhd_tx *tx)
{
  struct uhd_instant at = {0, 0.0};
  bool has = false;

  if (uhd_async_metadata_has_time_spec(tx->message, &has) != UHD_ERROR_NONE || !has ||
      uhd_async_metadata_time_spec(tx->message, &at.full, &at.frac) != UHD_ERROR_NONE) {
    return 1;
  }
  return uhd_samples_between(&tx->begun, &at, &tx->rate) >= 0;
}

/* Take one message, waiting for it so long at most. Returns whether there was one. */
static int take_message(struct tlg_uhd_tx *tx, double timeout_s)
{
  uhd_async_metadata_event_code_t code = UHD_ASYNC_METADATA_EVENT_CODE_USER_PAYLOAD;
  bool valid = false;

  if (uhd_tx_streamer_recv_async_msg(tx->streamer, &tx->message, timeout_s, &valid) != UHD_ERROR_NONE || !valid ||
      uhd_async_metadata_event_code(tx->message, &code) != UHD_ERROR_NONE) {
    return 0;
  }
  switch (code) {
  case UHD_ASYNC_METADATA_EVENT_CODE_BURST_ACK:
    tx->counts.acknowledged++;
    return 1;
  case UHD_ASYNC_METADATA_EVENT_CODE_UNDERFLOW:
  case UHD_ASYNC_METADATA_EVENT_CODE_UNDERFLOW_IN_PACKET:
    tx->counts.underruns++;
    break;
  case UHD_ASYNC_METADATA_EVENT_CODE_SEQ_ERROR:
  case UHD_ASYNC_METADATA_EVENT_CODE_SEQ_ERROR_IN_BURST:
    tx->counts.sequence_errors++;
    break;
  case UHD_ASYNC_METADATA_EVENT_CODE_TIME_ERROR:
    tx->counts.late++;
    break;
  case UHD_ASYNC_METADATA_EVENT_CODE_USER_PAYLOAD:
  default:
    return 1;
  }
  /* What follows in this burst would be played at another time than it belongs to. */
  tx->lost_step |= tx->in_burst && is_of_burst(tx);
  return 1;
}

/* ---- sending ----------------------------------------------------------------------------------------------------- */

static int make_metadata(uhd_tx_metadata_handle *metadata, const struct uhd_instant *at, int end, struct tlg_error *err)
{
  return uhd_tx_metadata_make(metadata, at != NULL, at ? at->full : 0, at ? at->frac : 0.0, at != NULL, end) ==
                 UHD_ERROR_NONE
             ? TLG_OK
             : uhd_refused(err, TLG_ENOMEM, NULL, "UHD makes no metadata");
}

static int send(struct tlg_uhd_tx *tx, const tlg_cs16 *samples, size_t n, uhd_tx_metadata_handle metadata, size_t *sent,
                struct tlg_error *err)
{
  const void *buffers[] = {samples};
  char text[200] = "";

  if (uhd_tx_streamer_send(tx->streamer, buffers, n, &metadata, UHD_WAIT_MS * 1e-3, sent) == UHD_ERROR_NONE) {
    return TLG_OK;
  }
  uhd_tx_streamer_last_error(tx->streamer, text, sizeof text);
  return uhd_refused_text(err, TLG_ESYS, text, "the device stopped taking samples");
}

static int end_burst(struct tlg_uhd_tx *tx, struct tlg_error *err)
{
  static const tlg_cs16 nothing;
  uhd_tx_metadata_handle metadata = NULL;
  size_t sent;
  int status;

  if (!tx->in_burst) {
    return TLG_OK;
  }
  tx->in_burst = tx->lost_step = 0;
  status = make_metadata(&metadata, NULL, 1, err);
  if (!status) {
    status = send(tx, &nothing, 0, metadata, &sent, err);
    uhd_tx_metadata_free(&metadata);
  }
  return status;
}

/* All n samples, which continue the burst or, with `at`, begin one. */
static int send_all(struct tlg_uhd_tx *tx, const tlg_cs16 *samples, size_t n, const struct uhd_instant *at,
                    struct tlg_error *err)
{
  uhd_tx_metadata_handle first = NULL;
  unsigned idle = 0;
  int status = at ? make_metadata(&first, at, 0, err) : TLG_OK;

  while (n && !status) {
    size_t sent = 0;

    status = send(tx, samples, n, first ? first : tx->going, &sent, err);
    if (status) {
      break;
    }
    if (sent < n) { /* it waited for room, and there was none for all */
      if (tx->slack) {
        tx->slack--; /* none can be: the burst's time has not come */
      } else {
        tx->counts.timeouts++;
      }
    }
    if (sent) {
      idle = 0;
      if (first) {
        uhd_tx_metadata_free(&first);
        first = NULL;
      }
    } else if (!tx->slack && ++idle >= uhd_patience(tx->radio)) {
      status =
          tlg_error_set(err, TLG_ESYS, "the device takes no samples: %u waits of %d ms in a row", idle, UHD_WAIT_MS);
    }
    tx->counts.samples += sent;
    tx->next += sent;
    samples += sent;
    n -= sent;
  }
  if (first) {
    uhd_tx_metadata_free(&first);
  }
  return status;
}

/* When to begin with sample `first`; how many of n samples come too late for that. */
static int find_begin(struct tlg_uhd_tx *tx, uint64_t first, size_t n, struct uhd_instant *at, size_t *late,
                      struct tlg_error *err)
{
  struct uhd_instant now, soonest;
  int64_t behind;
  int status = uhd_device_now(tx->device, &now, err);

  *late = 0;
  if (status) {
    return status;
  }
  if (!tx->started) {
    tx->started = 1;
    tx->origin = first;
    tx->base = uhd_instant_after(&now, (int64_t)(tx->lead_s * tlg_rate_hz(&tx->rate) + 0.5), &tx->rate);
  }
  *at = uhd_instant_after(&tx->base, (int64_t)(first - tx->origin), &tx->rate);
  soonest = uhd_instant_after(&now, (int64_t)(MARGIN_MS * 1e-3 * tlg_rate_hz(&tx->rate)), &tx->rate);
  behind = uhd_samples_between(at, &soonest, &tx->rate);
  if (behind <= 0) {
    return TLG_OK;
  }
  if (tx->radio->late == TLG_RADIO_LATE_SHIFT) {
    behind += (int64_t)(tx->lead_s * tlg_rate_hz(&tx->rate) + 0.5);
    tx->base = uhd_instant_after(&tx->base, behind, &tx->rate);
    tx->counts.shifted += (uint64_t)behind;
    *at = uhd_instant_after(at, behind, &tx->rate);
    return TLG_OK;
  }
  *late = (uint64_t)behind < n ? (size_t)behind : n;
  tx->counts.late_blocks++;
  tx->counts.late_samples += *late;
  *at = uhd_instant_after(at, (int64_t)*late, &tx->rate);
  return TLG_OK;
}

int uhd_tx_write(struct tlg_uhd_tx *tx, const tlg_cs16 *samples, size_t n, uint64_t first, struct tlg_error *err)
{
  struct uhd_instant at, now;
  size_t late;
  int status = TLG_OK;

  while (take_message(tx, 0.0)) {
  }
  if (!n) {
    return TLG_OK;
  }
  if (tx->in_burst && (first != tx->next || tx->lost_step)) {
    status = end_burst(tx, err);
  }
  if (status || tx->in_burst) {
    return status ? status : send_all(tx, samples, n, NULL, err);
  }
  status = find_begin(tx, first, n, &at, &late, err);
  if (status || late == n) {
    return status;
  }
  status = uhd_device_now(tx->device, &now, err);
  if (status) {
    return status;
  }
  tx->slack =
      (unsigned)((double)uhd_samples_between(&now, &at, &tx->rate) / tlg_rate_hz(&tx->rate) * 1000.0 / UHD_WAIT_MS) + 2;
  tx->begun = at;
  tx->next = first + late;
  tx->in_burst = 1;
  tx->counts.bursts++;
  return send_all(tx, samples + late, n - late, &at, err);
}

int uhd_tx_end(struct tlg_uhd_tx *tx, struct tlg_error *err)
{
  int status = end_burst(tx, err);
  unsigned waits = (unsigned)(tx->lead_s * 1000.0 / UHD_WAIT_MS) + UHD_RESTART_WAITS;

  /* What the device holds is played, and the message that says so comes last. */
  while (!status && tx->counts.acknowledged < tx->counts.bursts && waits) {
    waits -= !take_message(tx, UHD_WAIT_MS * 1e-3);
  }
  return status;
}

void uhd_tx_counts(const struct tlg_uhd_tx *tx, struct tlg_uhd_tx_counts *counts)
{
  *counts = tx->counts;
}

void uhd_tx_rate(struct tlg_uhd_tx *tx, const struct tlg_rate *rate)
{
  tx->rate = *rate;
}

/* ---- opening and closing ----------------------------------------------------------------------------------------- */

void uhd_tx_close(struct tlg_uhd_tx *tx)
{
  if (!tx) {
    return;
  }
  if (tx->streamer && tx->in_burst) {
    end_burst(tx, NULL);
  }
  if (tx->going) {
    uhd_tx_metadata_free(&tx->going);
  }
  if (tx->message) {
    uhd_async_metadata_free(&tx->message);
  }
  if (tx->streamer) {
    uhd_tx_streamer_free(&tx->streamer);
  }
  uhd_device_close(tx->device);
  free(tx);
}

int uhd_tx_open(struct tlg_uhd_tx **out, const struct tlg_uhd_cfg *cfg, struct tlg_uhd_info *info,
                struct tlg_error *err)
{
  char cpu_format[] = "sc16", wire[16], args[200];
  size_t channels[] = {cfg->radio->channel};
  uhd_stream_args_t stream = {
      .cpu_format = cpu_format, .otw_format = wire, .args = args, .channel_list = channels, .n_channels = 1};
  struct tlg_uhd_tx *tx = calloc(1, sizeof *tx);
  int status;

  if (!tx) {
    return tlg_error_set(err, TLG_ENOMEM, "out of memory");
  }
  tx->radio = cfg->radio;
  tx->lead_s = cfg->radio->lead_s > 0.0 ? cfg->radio->lead_s : 0.1;
  snprintf(wire, sizeof wire, "%s", cfg->radio->wire_format ? cfg->radio->wire_format : "sc16");
  snprintf(args, sizeof args, "%s", cfg->radio->stream_args ? cfg->radio->stream_args : "");
  status = uhd_device_open(&tx->device, cfg, UHD_TX, info, err);
  if (status) {
    goto fail;
  }
  if (uhd_tx_streamer_make(&tx->streamer) != UHD_ERROR_NONE ||
      uhd_async_metadata_make(&tx->message) != UHD_ERROR_NONE) {
    status = uhd_refused(err, TLG_ESYS, NULL, "UHD makes no streamer");
    goto fail;
  }
  if (uhd_usrp_get_tx_stream(uhd_device_handle(tx->device), &stream, tx->streamer) != UHD_ERROR_NONE) {
    status = uhd_refused(err, TLG_EINVAL, uhd_device_handle(tx->device),
                         "the device takes no stream of sc16 as %s over the wire", wire);
    goto fail;
  }
  if (uhd_tx_streamer_max_num_samps(tx->streamer, &info->packet) != UHD_ERROR_NONE || !info->packet) {
    status = uhd_refused(err, TLG_ESYS, NULL, "UHD does not tell the size of its packets");
    goto fail;
  }
  if ((status = make_metadata(&tx->going, NULL, 0, err))) {
    goto fail;
  }
  status = tlg_rate_make(&tx->rate, (uint64_t)(info->rate_hz + 0.5), 1);
  if (status) {
    tlg_error_set(err, status, "the device's rate is below 1 sample a second");
    goto fail;
  }
  *out = tx;
  return TLG_OK;
fail:
  uhd_tx_close(tx);
  return status;
}
