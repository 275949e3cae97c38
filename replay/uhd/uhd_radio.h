/* SPDX-License-Identifier: Apache-2.0 */
/* A device and its settings, for either direction. */
#ifndef UHD_RADIO_H
#define UHD_RADIO_H

#include "tlg_uhd_plugin.h"
#include "uhd_time.h"

#include <uhd.h>

enum {
  UHD_WAIT_MS = 50, /* the longest wait in recv and send: after an overrun a device may start anew that much later */
  UHD_RESTART_WAITS = 10 /* so many waits in a row without samples, and the stream command is issued again */
};

struct uhd_device; /* opaque: shared by a source and a sink of the same arguments */

enum uhd_direction { UHD_RX, UHD_TX };

/* Open the device, or share it if it is open already, and set one direction up: rate, frequency, gain, antenna,
 * bandwidth; what was asked for and what became of it is told through cfg->radio->say. The first one sets clock and
 * time source, and the device's time to 0. */
int uhd_device_open(struct uhd_device **device, const struct tlg_uhd_cfg *cfg, enum uhd_direction direction,
                    struct tlg_uhd_info *info, struct tlg_error *err);
uhd_usrp_handle uhd_device_handle(const struct uhd_device *device);
/* The device's time. */
int uhd_device_now(const struct uhd_device *device, struct uhd_instant *now, struct tlg_error *err);
void uhd_device_close(struct uhd_device *device);

/* err says what was tried and what UHD answered, in one line. */
int uhd_refused(struct tlg_error *err, int status, uhd_usrp_handle usrp, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* The same with UHD's text given, of a streamer. Line ends become blanks. */
int uhd_refused_text(struct tlg_error *err, int status, const char *text, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

void uhd_say(const struct tlg_radio_cfg *radio, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Waits in a row that may pass without a sample before it is an error. */
unsigned uhd_patience(const struct tlg_radio_cfg *radio);

/* As struct tlg_uhd_plugin has them. */
int uhd_rx_open(struct tlg_uhd_rx **rx, const struct tlg_uhd_cfg *cfg, struct tlg_uhd_info *info,
                struct tlg_error *err);
void uhd_rx_rate(struct tlg_uhd_rx *rx, const struct tlg_rate *rate);
int uhd_rx_read(struct tlg_uhd_rx *rx, tlg_cs16 *buf, size_t n, size_t *got, uint64_t *first, struct tlg_error *err);
void uhd_rx_stop(struct tlg_uhd_rx *rx);
void uhd_rx_counts(const struct tlg_uhd_rx *rx, struct tlg_uhd_rx_counts *counts);
void uhd_rx_close(struct tlg_uhd_rx *rx);
int uhd_tx_open(struct tlg_uhd_tx **tx, const struct tlg_uhd_cfg *cfg, struct tlg_uhd_info *info,
                struct tlg_error *err);
void uhd_tx_rate(struct tlg_uhd_tx *tx, const struct tlg_rate *rate);
int uhd_tx_write(struct tlg_uhd_tx *tx, const tlg_cs16 *samples, size_t n, uint64_t first, struct tlg_error *err);
int uhd_tx_end(struct tlg_uhd_tx *tx, struct tlg_error *err);
void uhd_tx_counts(const struct tlg_uhd_tx *tx, struct tlg_uhd_tx_counts *counts);
void uhd_tx_close(struct tlg_uhd_tx *tx);

#endif
