/* SPDX-License-Identifier: Apache-2.0 */
/* What taplag-uhd.so offers to the library: one versioned struct of functions. The plug-in alone links libuhd. */
#ifndef TLG_UHD_PLUGIN_H
#define TLG_UHD_PLUGIN_H

#include "tlg_replay.h"

/* Raised with every change of what stands below, or of struct tlg_radio_cfg: both sides are built together. */
enum { TLG_UHD_PLUGIN_VERSION = 1 };
#define TLG_UHD_PLUGIN_FILE "taplag-uhd.so"
#define TLG_UHD_PLUGIN_SYMBOL "tlg_uhd_plugin"

struct tlg_uhd_cfg {
  const char *args; /* device address: "type=x300,addr=192.168.10.2", "" = any */
  double rate_hz;   /* asked for */
  const struct tlg_radio_cfg *radio;
  const volatile int *cancel; /* not 0: give up opening; may be NULL */
};

struct tlg_uhd_info {
  double rate_hz;      /* what the device made of the rate: use this one */
  double frequency_hz; /* likewise */
  size_t packet;       /* samples of a full packet */
  size_t spb;          /* samples that one call gives at most; a sink's: 0 */
  char device[64];     /* the motherboard's name */
};

/* Received, since the start. */
struct tlg_uhd_rx_counts {
  uint64_t samples, calls;
  uint64_t overruns, sequence_errors, late_commands, broken_chains, bad_packets, timeouts;
  uint64_t losses, lost_samples; /* by time stamp */
  uint64_t lost_packets;         /* of the sequence errors' losses, in full packets, the last one perhaps short */
  uint64_t restarts;             /* stream commands issued again, and steps of the device's clock */
};

/* Transmitted, since the start. */
struct tlg_uhd_tx_counts {
  uint64_t samples;
  uint64_t underruns, sequence_errors, late; /* asynchronous messages */
  uint64_t timeouts;                         /* calls that took fewer samples than they were given */
  uint64_t late_blocks, late_samples;        /* dropped here, as their time had passed */
  uint64_t bursts, acknowledged;
  uint64_t shifted; /* by so many samples the time line was moved */
};

struct tlg_uhd_rx; /* opaque */
struct tlg_uhd_tx; /* opaque */

/* One thread at a time, but rx_stop, which may come from any. On failure of an open function nothing is held. */
struct tlg_uhd_plugin {
  unsigned version; /* TLG_UHD_PLUGIN_VERSION */
  size_t size;      /* of this struct */
  /* "UHD 4.3.0.0": the library that is in use */
  const char *(*library)(void);

  /* TLG_EINVAL (a setting that the device does not have), TLG_EUNAVAIL (no such device, not locked), TLG_ESYS,
   * TLG_ENOMEM, TLG_EINTR (cancelled). cfg->radio and its texts must live as long as *rx. */
  int (*rx_open)(struct tlg_uhd_rx **rx, const struct tlg_uhd_cfg *cfg, struct tlg_uhd_info *info,
                 struct tlg_error *err);
  /* The exact rate by which time stamps become sample numbers; before the first read. */
  void (*rx_rate)(struct tlg_uhd_rx *rx, const struct tlg_rate *rate);
  /* As struct tlg_source has it: TLG_EINTR = nothing yet, *got == 0 = the end after rx_stop. The first one starts the
   * stream. TLG_ESYS: the device fails, or no samples come. */
  int (*rx_read)(struct tlg_uhd_rx *rx, tlg_cs16 *buf, size_t n, size_t *got, uint64_t *first, struct tlg_error *err);
  void (*rx_stop)(struct tlg_uhd_rx *rx);
  void (*rx_counts)(const struct tlg_uhd_rx *rx, struct tlg_uhd_rx_counts *counts);
  /* Stops and drains what is still on its way. */
  void (*rx_close)(struct tlg_uhd_rx *rx);

  int (*tx_open)(struct tlg_uhd_tx **tx, const struct tlg_uhd_cfg *cfg, struct tlg_uhd_info *info,
                 struct tlg_error *err);
  void (*tx_rate)(struct tlg_uhd_tx *tx, const struct tlg_rate *rate);
  /* n samples, of which the first has number `first` on the time line; where numbers jump a burst ends and another
   * one begins. Waits until the device has taken them. TLG_ESYS: the device fails or takes nothing. */
  int (*tx_write)(struct tlg_uhd_tx *tx, const tlg_cs16 *samples, size_t n, uint64_t first, struct tlg_error *err);
  /* End the burst and wait until the device has played it. */
  int (*tx_end)(struct tlg_uhd_tx *tx, struct tlg_error *err);
  void (*tx_counts)(const struct tlg_uhd_tx *tx, struct tlg_uhd_tx_counts *counts);
  void (*tx_close)(struct tlg_uhd_tx *tx);
};

/* Of the library's side (uhd_loader.c): find and load the plug-in, once. TLG_EUNAVAIL with what to install. */
int tlg_uhd_load(const struct tlg_uhd_plugin **plugin, struct tlg_error *err);

/* The only symbol that the plug-in exports. */
typedef const struct tlg_uhd_plugin *tlg_uhd_plugin_fn(void);

#endif
