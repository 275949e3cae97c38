/* SPDX-License-Identifier: Apache-2.0 */
/* The plug-in's one door. */
#include "uhd_radio.h"

#include <stdio.h>

TLG_API tlg_uhd_plugin_fn tlg_uhd_plugin;

static const char *library(void)
{
  static char text[96];
  char version[80] = "";

  if (!text[0]) {
    uhd_get_version_string(version, sizeof version);
    snprintf(text, sizeof text, "UHD %s", version);
  }
  return text;
}

const struct tlg_uhd_plugin *tlg_uhd_plugin(void)
{
  static const struct tlg_uhd_plugin plugin = {.version = TLG_UHD_PLUGIN_VERSION,
                                               .size = sizeof plugin,
                                               .library = library,
                                               .rx_open = uhd_rx_open,
                                               .rx_rate = uhd_rx_rate,
                                               .rx_read = uhd_rx_read,
                                               .rx_stop = uhd_rx_stop,
                                               .rx_counts = uhd_rx_counts,
                                               .rx_close = uhd_rx_close,
                                               .tx_open = uhd_tx_open,
                                               .tx_rate = uhd_tx_rate,
                                               .tx_write = uhd_tx_write,
                                               .tx_end = uhd_tx_end,
                                               .tx_counts = uhd_tx_counts,
                                               .tx_close = uhd_tx_close};

  return &plugin;
}
