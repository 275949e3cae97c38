/* SPDX-License-Identifier: Apache-2.0 */
/* The part of libuhd's C interface that the plug-in uses, declared anew from its documentation, so that the plug-in's
 * tests build where libuhd is not installed. Where it is, tests/uhd_standin.c is compiled against libuhd's own headers
 * as well: what differs does not compile. */
#ifndef UHD_STANDIN_UHD_H
#define UHD_STANDIN_UHD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UHD_API __attribute__((visibility("default")))

typedef enum {
  UHD_ERROR_NONE = 0,
  UHD_ERROR_INVALID_DEVICE = 1,
  UHD_ERROR_INDEX = 10,
  UHD_ERROR_KEY = 11,
  UHD_ERROR_IO = 30,
  UHD_ERROR_LOOKUP = 41,
  UHD_ERROR_VALUE = 43,
  UHD_ERROR_RUNTIME = 44,
} uhd_error;

typedef enum {
  UHD_STREAM_MODE_START_CONTINUOUS = 97,
  UHD_STREAM_MODE_NUM_SAMPS_AND_DONE = 100,
  UHD_STREAM_MODE_NUM_SAMPS_AND_MORE = 109,
  UHD_STREAM_MODE_STOP_CONTINUOUS = 111,
} uhd_stream_mode_t;

typedef enum {
  UHD_RX_METADATA_ERROR_CODE_NONE = 0,
  UHD_RX_METADATA_ERROR_CODE_TIMEOUT = 1,
  UHD_RX_METADATA_ERROR_CODE_LATE_COMMAND = 2,
  UHD_RX_METADATA_ERROR_CODE_BROKEN_CHAIN = 4,
  UHD_RX_METADATA_ERROR_CODE_OVERFLOW = 8,
  UHD_RX_METADATA_ERROR_CODE_ALIGNMENT = 0xC,
  UHD_RX_METADATA_ERROR_CODE_BAD_PACKET = 0xF,
} uhd_rx_metadata_error_code_t;

typedef enum {
  UHD_ASYNC_METADATA_EVENT_CODE_BURST_ACK = 1,
  UHD_ASYNC_METADATA_EVENT_CODE_UNDERFLOW = 2,
  UHD_ASYNC_METADATA_EVENT_CODE_SEQ_ERROR = 4,
  UHD_ASYNC_METADATA_EVENT_CODE_TIME_ERROR = 8,
  UHD_ASYNC_METADATA_EVENT_CODE_UNDERFLOW_IN_PACKET = 0x10,
  UHD_ASYNC_METADATA_EVENT_CODE_SEQ_ERROR_IN_BURST = 0x20,
  UHD_ASYNC_METADATA_EVENT_CODE_USER_PAYLOAD = 0x40,
} uhd_async_metadata_event_code_t;

typedef enum {
  UHD_TUNE_REQUEST_POLICY_AUTO = 65,
  UHD_TUNE_REQUEST_POLICY_MANUAL = 77,
  UHD_TUNE_REQUEST_POLICY_NONE = 78,
} uhd_tune_request_policy_t;

typedef struct {
  double target_freq;
  uhd_tune_request_policy_t rf_freq_policy;
  double rf_freq;
  uhd_tune_request_policy_t dsp_freq_policy;
  double dsp_freq;
  char *args;
} uhd_tune_request_t;

typedef struct {
  double clipped_rf_freq, target_rf_freq, actual_rf_freq, target_dsp_freq, actual_dsp_freq;
} uhd_tune_result_t;

typedef struct {
  char *cpu_format, *otw_format, *args;
  size_t *channel_list;
  int n_channels;
} uhd_stream_args_t;

typedef struct {
  uhd_stream_mode_t stream_mode;
  size_t num_samps;
  bool stream_now;
  int64_t time_spec_full_secs;
  double time_spec_frac_secs;
} uhd_stream_cmd_t;

typedef struct uhd_usrp *uhd_usrp_handle;
typedef struct uhd_rx_streamer *uhd_rx_streamer_handle;
typedef struct uhd_tx_streamer *uhd_tx_streamer_handle;
typedef struct uhd_rx_metadata_t *uhd_rx_metadata_handle;
typedef struct uhd_tx_metadata_t *uhd_tx_metadata_handle;
typedef struct uhd_async_metadata_t *uhd_async_metadata_handle;
typedef struct uhd_string_vector_t *uhd_string_vector_handle;
typedef struct uhd_sensor_value_t *uhd_sensor_value_handle;
typedef struct uhd_subdev_spec_t *uhd_subdev_spec_handle;

UHD_API uhd_error uhd_get_last_error(char *error_out, size_t size);
UHD_API uhd_error uhd_get_version_string(char *version_out, size_t size);
UHD_API uhd_error uhd_string_vector_make(uhd_string_vector_handle *h);
UHD_API uhd_error uhd_string_vector_free(uhd_string_vector_handle *h);
UHD_API uhd_error uhd_string_vector_size(uhd_string_vector_handle h, size_t *size_out);
UHD_API uhd_error uhd_string_vector_at(uhd_string_vector_handle h, size_t index, char *value_out, size_t size);
UHD_API uhd_error uhd_sensor_value_free(uhd_sensor_value_handle *h);
UHD_API uhd_error uhd_sensor_value_to_bool(uhd_sensor_value_handle h, bool *value_out);
UHD_API uhd_error uhd_subdev_spec_make(uhd_subdev_spec_handle *h, const char *markup);
UHD_API uhd_error uhd_subdev_spec_free(uhd_subdev_spec_handle *h);

UHD_API uhd_error uhd_usrp_make(uhd_usrp_handle *h, const char *args);
UHD_API uhd_error uhd_usrp_free(uhd_usrp_handle *h);
UHD_API uhd_error uhd_usrp_last_error(uhd_usrp_handle h, char *error_out, size_t size);
UHD_API uhd_error uhd_usrp_get_mboard_name(uhd_usrp_handle h, size_t mboard, char *name_out, size_t size);
UHD_API uhd_error uhd_usrp_get_time_now(uhd_usrp_handle h, size_t mboard, int64_t *full_out, double *frac_out);
UHD_API uhd_error uhd_usrp_set_time_now(uhd_usrp_handle h, int64_t full, double frac, size_t mboard);
UHD_API uhd_error uhd_usrp_set_time_unknown_pps(uhd_usrp_handle h, int64_t full, double frac);
UHD_API uhd_error uhd_usrp_set_time_source(uhd_usrp_handle h, const char *source, size_t mboard);
UHD_API uhd_error uhd_usrp_set_clock_source(uhd_usrp_handle h, const char *source, size_t mboard);
UHD_API uhd_error uhd_usrp_get_mboard_sensor(uhd_usrp_handle h, const char *name, size_t mboard,
                                             uhd_sensor_value_handle *value_out);
UHD_API uhd_error uhd_usrp_get_mboard_sensor_names(uhd_usrp_handle h, size_t mboard,
                                                   uhd_string_vector_handle *names_out);
UHD_API uhd_error uhd_usrp_get_rx_stream(uhd_usrp_handle h, uhd_stream_args_t *args, uhd_rx_streamer_handle streamer);
UHD_API uhd_error uhd_usrp_get_tx_stream(uhd_usrp_handle h, uhd_stream_args_t *args, uhd_tx_streamer_handle streamer);

UHD_API uhd_error uhd_usrp_set_rx_subdev_spec(uhd_usrp_handle h, uhd_subdev_spec_handle spec, size_t mboard);
UHD_API uhd_error uhd_usrp_get_rx_num_channels(uhd_usrp_handle h, size_t *n_out);
UHD_API uhd_error uhd_usrp_set_rx_rate(uhd_usrp_handle h, double rate, size_t chan);
UHD_API uhd_error uhd_usrp_get_rx_rate(uhd_usrp_handle h, size_t chan, double *rate_out);
UHD_API uhd_error uhd_usrp_set_rx_freq(uhd_usrp_handle h, uhd_tune_request_t *request, size_t chan,
                                       uhd_tune_result_t *result);
UHD_API uhd_error uhd_usrp_get_rx_freq(uhd_usrp_handle h, size_t chan, double *freq_out);
UHD_API uhd_error uhd_usrp_set_rx_gain(uhd_usrp_handle h, double gain, size_t chan, const char *name);
UHD_API uhd_error uhd_usrp_get_rx_gain(uhd_usrp_handle h, size_t chan, const char *name, double *gain_out);
UHD_API uhd_error uhd_usrp_set_rx_antenna(uhd_usrp_handle h, const char *antenna, size_t chan);
UHD_API uhd_error uhd_usrp_get_rx_antenna(uhd_usrp_handle h, size_t chan, char *antenna_out, size_t size);
UHD_API uhd_error uhd_usrp_get_rx_antennas(uhd_usrp_handle h, size_t chan, uhd_string_vector_handle *names_out);
UHD_API uhd_error uhd_usrp_set_rx_bandwidth(uhd_usrp_handle h, double bandwidth, size_t chan);
UHD_API uhd_error uhd_usrp_get_rx_bandwidth(uhd_usrp_handle h, size_t chan, double *bandwidth_out);
UHD_API uhd_error uhd_usrp_get_rx_sensor_names(uhd_usrp_handle h, size_t chan, uhd_string_vector_handle *names_out);
UHD_API uhd_error uhd_usrp_get_rx_sensor(uhd_usrp_handle h, const char *name, size_t chan,
                                         uhd_sensor_value_handle *value_out);

UHD_API uhd_error uhd_usrp_set_tx_subdev_spec(uhd_usrp_handle h, uhd_subdev_spec_handle spec, size_t mboard);
UHD_API uhd_error uhd_usrp_get_tx_num_channels(uhd_usrp_handle h, size_t *n_out);
UHD_API uhd_error uhd_usrp_set_tx_rate(uhd_usrp_handle h, double rate, size_t chan);
UHD_API uhd_error uhd_usrp_get_tx_rate(uhd_usrp_handle h, size_t chan, double *rate_out);
UHD_API uhd_error uhd_usrp_set_tx_freq(uhd_usrp_handle h, uhd_tune_request_t *request, size_t chan,
                                       uhd_tune_result_t *result);
UHD_API uhd_error uhd_usrp_get_tx_freq(uhd_usrp_handle h, size_t chan, double *freq_out);
UHD_API uhd_error uhd_usrp_set_tx_gain(uhd_usrp_handle h, double gain, size_t chan, const char *name);
UHD_API uhd_error uhd_usrp_get_tx_gain(uhd_usrp_handle h, size_t chan, const char *name, double *gain_out);
UHD_API uhd_error uhd_usrp_set_tx_antenna(uhd_usrp_handle h, const char *antenna, size_t chan);
UHD_API uhd_error uhd_usrp_get_tx_antenna(uhd_usrp_handle h, size_t chan, char *antenna_out, size_t size);
UHD_API uhd_error uhd_usrp_get_tx_antennas(uhd_usrp_handle h, size_t chan, uhd_string_vector_handle *names_out);
UHD_API uhd_error uhd_usrp_set_tx_bandwidth(uhd_usrp_handle h, double bandwidth, size_t chan);
UHD_API uhd_error uhd_usrp_get_tx_bandwidth(uhd_usrp_handle h, size_t chan, double *bandwidth_out);
UHD_API uhd_error uhd_usrp_get_tx_sensor_names(uhd_usrp_handle h, size_t chan, uhd_string_vector_handle *names_out);
UHD_API uhd_error uhd_usrp_get_tx_sensor(uhd_usrp_handle h, const char *name, size_t chan,
                                         uhd_sensor_value_handle *value_out);

UHD_API uhd_error uhd_rx_streamer_make(uhd_rx_streamer_handle *h);
UHD_API uhd_error uhd_rx_streamer_free(uhd_rx_streamer_handle *h);
UHD_API uhd_error uhd_rx_streamer_max_num_samps(uhd_rx_streamer_handle h, size_t *n_out);
UHD_API uhd_error uhd_rx_streamer_recv(uhd_rx_streamer_handle h, void **buffs, size_t n, uhd_rx_metadata_handle *md,
                                       double timeout, bool one_packet, size_t *got_out);
UHD_API uhd_error uhd_rx_streamer_issue_stream_cmd(uhd_rx_streamer_handle h, const uhd_stream_cmd_t *cmd);
UHD_API uhd_error uhd_rx_streamer_last_error(uhd_rx_streamer_handle h, char *error_out, size_t size);
UHD_API uhd_error uhd_rx_metadata_make(uhd_rx_metadata_handle *h);
UHD_API uhd_error uhd_rx_metadata_free(uhd_rx_metadata_handle *h);
UHD_API uhd_error uhd_rx_metadata_has_time_spec(uhd_rx_metadata_handle h, bool *out);
UHD_API uhd_error uhd_rx_metadata_time_spec(uhd_rx_metadata_handle h, int64_t *full_out, double *frac_out);
UHD_API uhd_error uhd_rx_metadata_more_fragments(uhd_rx_metadata_handle h, bool *out);
UHD_API uhd_error uhd_rx_metadata_fragment_offset(uhd_rx_metadata_handle h, size_t *out);
UHD_API uhd_error uhd_rx_metadata_end_of_burst(uhd_rx_metadata_handle h, bool *out);
UHD_API uhd_error uhd_rx_metadata_out_of_sequence(uhd_rx_metadata_handle h, bool *out);
UHD_API uhd_error uhd_rx_metadata_error_code(uhd_rx_metadata_handle h, uhd_rx_metadata_error_code_t *out);
UHD_API uhd_error uhd_rx_metadata_strerror(uhd_rx_metadata_handle h, char *out, size_t size);

UHD_API uhd_error uhd_tx_streamer_make(uhd_tx_streamer_handle *h);
UHD_API uhd_error uhd_tx_streamer_free(uhd_tx_streamer_handle *h);
UHD_API uhd_error uhd_tx_streamer_max_num_samps(uhd_tx_streamer_handle h, size_t *n_out);
UHD_API uhd_error uhd_tx_streamer_send(uhd_tx_streamer_handle h, const void **buffs, size_t n,
                                       uhd_tx_metadata_handle *md, double timeout, size_t *sent_out);
UHD_API uhd_error uhd_tx_streamer_recv_async_msg(uhd_tx_streamer_handle h, uhd_async_metadata_handle *md,
                                                 double timeout, bool *valid);
UHD_API uhd_error uhd_tx_streamer_last_error(uhd_tx_streamer_handle h, char *error_out, size_t size);
UHD_API uhd_error uhd_tx_metadata_make(uhd_tx_metadata_handle *h, bool has_time, int64_t full, double frac,
                                       bool start_of_burst, bool end_of_burst);
UHD_API uhd_error uhd_tx_metadata_free(uhd_tx_metadata_handle *h);
UHD_API uhd_error uhd_async_metadata_make(uhd_async_metadata_handle *h);
UHD_API uhd_error uhd_async_metadata_free(uhd_async_metadata_handle *h);
UHD_API uhd_error uhd_async_metadata_has_time_spec(uhd_async_metadata_handle h, bool *out);
UHD_API uhd_error uhd_async_metadata_time_spec(uhd_async_metadata_handle h, int64_t *full_out, double *frac_out);
UHD_API uhd_error uhd_async_metadata_event_code(uhd_async_metadata_handle h, uhd_async_metadata_event_code_t *out);

#endif
