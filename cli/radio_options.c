/* SPDX-License-Identifier: Apache-2.0 */
/* A radio's options, and what it counted in the words of UHD's benchmark_rate. */
#include "radio_options.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

struct cli_radio cli_radio;
struct poptOption cli_radio_table[] = {
    {"freq", 0, POPT_ARG_STRING, &cli_radio.freq, 0, "RF center frequency (806M)", "HZ"},
    {"lo-offset", 0, POPT_ARG_STRING, &cli_radio.lo_offset, 0, "offset of the front end's LO", "HZ"},
    {"gain", 0, POPT_ARG_STRING, &cli_radio.gain, 0, "gain of the RF chain", "DB"},
    {"ant", 0, POPT_ARG_STRING, &cli_radio.ant, 0, "antenna", "NAME"},
    {"bw", 0, POPT_ARG_STRING, &cli_radio.bw, 0, "analog bandwidth", "HZ"},
    {"subdev", 0, POPT_ARG_STRING, &cli_radio.subdev, 0, "subdevice specification (A:0)", "SPEC"},
    {"ref", 0, POPT_ARG_STRING, &cli_radio.ref, 0, "clock reference: internal, external, mimo, gpsdo", "SOURCE"},
    {"pps", 0, POPT_ARG_STRING, &cli_radio.pps, 0, "time source: internal, external, mimo, gpsdo", "SOURCE"},
    {"spb", 0, POPT_ARG_STRING, &cli_radio.spb, 0, "samples per buffer, of one call (about 100 us of whole packets)",
     "N"},
    {"nsamps", 0, POPT_ARG_STRING, &cli_radio.nsamps, 0, "end after so many samples (as --duration)", "N"},
    {"wirefmt", 0, POPT_ARG_STRING, &cli_radio.wirefmt, 0, "format on the wire: sc16 or sc8 (sc16)", "FORMAT"},
    {"stream-args", 0, POPT_ARG_STRING, &cli_radio.stream_args, 0, "further arguments of the stream (spp=364)", "ARGS"},
    {"setup", 0, POPT_ARG_STRING, &cli_radio.setup, 0, "how long LO and reference may take to lock (1s)", "TIME"},
    {"skip-lo", 0, POPT_ARG_NONE, &cli_radio.skip_lo, 0, "do not wait for the LO's lock", NULL},
    {"int-n", 0, POPT_ARG_NONE, &cli_radio.int_n, 0, "tune with integer-N", NULL},
    {"strict-rate", 0, POPT_ARG_NONE, &cli_radio.strict_rate, 0,
     "refuse any rate but the one asked for (else the resampler follows what the radio makes of it)", NULL},
    {"patience", 0, POPT_ARG_STRING, &cli_radio.patience, 0, "no samples for so long is an error (2s)", "TIME"},
    {"lead", 0, POPT_ARG_STRING, &cli_radio.lead, 0, "transmit: from a sample's coming to its time on the air (100ms)",
     "TIME"},
    {"late", 0, POPT_ARG_STRING, &cli_radio.late, 0,
     "transmit: samples whose time has passed: drop (the time line holds; default) or shift (the time line moves)",
     "HOW"},
    {"stats", 0, POPT_ARG_NONE, &cli_radio.stats, 0, "the average rate at the end", NULL},
    {"continue", 0, POPT_ARG_NONE, &cli_radio.go_on, 0,
     "bad packets are no failure (they never end the stream, but without this they end it with exit status 1)", NULL},
    {"overrun-threshold", 0, POPT_ARG_STRING, &cli_radio.overrun_threshold, 0, "more overruns (O): exit status 1", "N"},
    {"underrun-threshold", 0, POPT_ARG_STRING, &cli_radio.underrun_threshold, 0, "more underruns (U): exit status 1",
     "N"},
    {"drop-threshold", 0, POPT_ARG_STRING, &cli_radio.drop_threshold, 0,
     "more sequence errors in receiving (D): exit status 1", "N"},
    {"seq-threshold", 0, POPT_ARG_STRING, &cli_radio.seq_threshold, 0,
     "more sequence errors in transmitting (S): exit status 1", "N"},
    POPT_TABLEEND,
};

int cli_is_radio(const char *text)
{
  return strncmp(text, "uhd:", 4) == 0;
}

int cli_is_transmitter(const char *text)
{
  return cli_is_radio(text) || strncmp(text, "dac:", 4) == 0;
}

/* ---- options ----------------------------------------------------------------------------------------------------- */

static int hertz(const char *command, const char *option, const char *text, double *hz)
{
  struct tlg_rate rate = {0, 0};
  const int negative = text && text[0] == '-';

  if (!text) {
    return 0;
  }
  if (strcmp(text, "0") != 0 && tlg_rate_parse(&rate, text + negative) != TLG_OK) {
    return cli_usage(command, "%s %s: not a frequency; write 806M or 2.412G", option, text);
  }
  *hz = negative ? -tlg_rate_hz(&rate) : tlg_rate_hz(&rate);
  return 0;
}

static void say(void *context, const char *line)
{
  (void)context;
  fprintf(stderr, "%s\n", line);
}

int cli_radio_cfg(const char *command, const struct tlg_rate *match, struct tlg_radio_cfg *cfg)
{
  static const struct tlg_radio_cfg none;
  uint64_t channel = 0, spb = 0;
  int status;

  *cfg = none;
  if ((status = hertz(command, "--freq", cli_radio.freq, &cfg->freq_hz)) ||
      (status = hertz(command, "--lo-offset", cli_radio.lo_offset, &cfg->lo_offset_hz)) ||
      (status = hertz(command, "--bw", cli_radio.bw, &cfg->bandwidth_hz)) ||
      (status = cli_real(command, "--gain", cli_radio.gain, -200.0, 200.0, &cfg->gain_db)) ||
      (status = cli_whole(command, "--channel", cli_input.channel, 0, 63, &channel)) ||
      (status = cli_whole(command, "--spb", cli_radio.spb, 1, 1 << 20, &spb)) ||
      (status = cli_seconds(command, "--setup", cli_radio.setup, &cfg->setup_s)) ||
      (status = cli_seconds(command, "--patience", cli_radio.patience, &cfg->patience_s)) ||
      (status = cli_seconds(command, "--lead", cli_radio.lead, &cfg->lead_s))) {
    return status;
  }
  if (cli_radio.lead && (cfg->lead_s < 0.001 || cfg->lead_s > 10.0)) {
    return cli_usage(command, "--lead %s: must be from 1ms to 10s", cli_radio.lead);
  }
  if (cli_radio.late && strcmp(cli_radio.late, "drop") != 0 && strcmp(cli_radio.late, "shift") != 0) {
    return cli_usage(command, "--late %s: one of drop, shift", cli_radio.late);
  }
  cfg->late = cli_radio.late && cli_radio.late[0] == 's' ? TLG_RADIO_LATE_SHIFT : TLG_RADIO_LATE_DROP;
  cfg->set = (cli_radio.freq ? TLG_RADIO_FREQ : 0) | (cli_radio.gain ? TLG_RADIO_GAIN : 0) |
             (cli_radio.bw ? TLG_RADIO_BW : 0) | (cli_radio.lo_offset ? TLG_RADIO_LO_OFFSET : 0);
  cfg->antenna = cli_radio.ant;
  cfg->subdev = cli_radio.subdev;
  cfg->clock_source = cli_radio.ref;
  cfg->time_source = cli_radio.pps;
  cfg->wire_format = cli_radio.wirefmt;
  cfg->stream_args = cli_radio.stream_args;
  cfg->channel = (unsigned)channel;
  cfg->spb = (unsigned)spb;
  cfg->int_n = cli_radio.int_n;
  cfg->skip_lo = cli_radio.skip_lo;
  cfg->strict_rate = cli_radio.strict_rate;
  cfg->match = *match;
  cfg->say = say;
  return 0;
}

int cli_radio_nsamps(const char *command, uint64_t *n)
{
  const int status = cli_count(command, "--nsamps", cli_radio.nsamps, n);

  return status || !cli_radio.nsamps || *n ? status : cli_usage(command, "--nsamps 0: nothing would be received");
}

int cli_radio_unused(const char *command)
{
  const struct poptOption *o;

  for (o = cli_radio_table; o->longName; o++) {
    const int given = o->argInfo == POPT_ARG_NONE ? *(int *)o->arg : *(char **)o->arg != NULL;

    if (given) {
      return cli_usage(command, "--%s is an option of radios, and neither source nor sink is one (uhd:)", o->longName);
    }
  }
  return 0;
}

/* ---- while it runs ----------------------------------------------------------------------------------------------- */

void cli_radio_progress(struct cli_radio_progress *p, uint64_t total)
{
  uint64_t now_ns;

  now_ns = cli_now_ns();
  if (!p->began_ns) {
    p->began_ns = p->told_ns = now_ns;
    p->told = total;
  } else if (now_ns - p->told_ns >= 1000000000u) {
    fprintf(stderr, "\t%f Msps\n", (double)(total - p->told) / ((double)(now_ns - p->told_ns) * 1e-9) * 1e-6);
    p->told_ns = now_ns;
    p->told = total;
  }
}

/* ---- afterwards -------------------------------------------------------------------------------------------------- */

void cli_radio_add_live(struct cli_radio_counts *c, const struct tlg_live *live)
{
  c->received += tlg_live_count(live, TLG_LIVE_SAMPLES);
  c->dropped += tlg_live_count(live, TLG_LIVE_LOST_SAMPLES);
  c->overruns += tlg_live_count(live, TLG_LIVE_OVERRUNS);
  c->sequence_rx += tlg_live_count(live, TLG_LIVE_SEQUENCE);
  c->late += tlg_live_count(live, TLG_LIVE_LATE);
  c->timeouts_rx += tlg_live_count(live, TLG_LIVE_TIMEOUTS);
  c->bad_packets += tlg_live_count(live, TLG_LIVE_MALFORMED);
}

void cli_radio_add_sink(struct cli_radio_counts *c, const struct tlg_pipeline *p, size_t i)
{
  c->transmitted += tlg_pipeline_sink_counter(p, i, TLG_SINK_SENT);
  c->underruns += tlg_pipeline_sink_counter(p, i, TLG_SINK_UNDERRUNS);
  c->late += tlg_pipeline_sink_counter(p, i, TLG_SINK_LATE);
  c->sequence_tx += tlg_pipeline_sink_counter(p, i, TLG_SINK_SEQUENCE);
  c->timeouts_tx += tlg_pipeline_sink_counter(p, i, TLG_SINK_TIMEOUTS);
}

void cli_radio_summary(FILE *out, const struct cli_radio_counts *c, double seconds)
{
  const struct {
    const char *label;
    uint64_t n;
  } rows[] = {{"received samples: ", c->received},       {"dropped samples: ", c->dropped},
              {"overruns detected: ", c->overruns},      {"transmitted samples: ", c->transmitted},
              {"sequence errors (Tx):", c->sequence_tx}, {"sequence errors (Rx):", c->sequence_rx},
              {"underruns detected: ", c->underruns},    {"late commands: ", c->late},
              {"timeouts (Tx): ", c->timeouts_tx},       {"timeouts (Rx): ", c->timeouts_rx}};
  size_t i;

  if (cli_radio.stats && seconds > 0.0) {
    const uint64_t n = c->received ? c->received : c->transmitted;

    fprintf(out, "%s %" PRIu64 " samples in %f seconds\n%f Msps\n", c->received ? "Received" : "Transmitted", n,
            seconds, (double)n / seconds * 1e-6);
  }
  fputs("Benchmark rate summary:\n", out);
  for (i = 0; i < sizeof rows / sizeof *rows; i++) {
    fprintf(out, "  Num %-21s %" PRIu64 "\n", rows[i].label, rows[i].n);
  }
}

json_t *cli_radio_json(const struct cli_radio_counts *c)
{
  return json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "received_samples", (json_int_t)c->received,
                   "dropped_samples", (json_int_t)c->dropped, "overruns_detected", (json_int_t)c->overruns,
                   "transmitted_samples", (json_int_t)c->transmitted, "sequence_errors_tx", (json_int_t)c->sequence_tx,
                   "sequence_errors_rx", (json_int_t)c->sequence_rx, "underruns_detected", (json_int_t)c->underruns,
                   "late_commands", (json_int_t)c->late, "timeouts_tx", (json_int_t)c->timeouts_tx, "timeouts_rx",
                   (json_int_t)c->timeouts_rx, "bad_packets", (json_int_t)c->bad_packets);
}

int cli_radio_verdict(const char *command, const struct cli_radio_counts *c)
{
  const struct {
    const char *option, *text, *what;
    uint64_t n;
  } rows[] = {{"--overrun-threshold", cli_radio.overrun_threshold, "Overruns", c->overruns},
              {"--underrun-threshold", cli_radio.underrun_threshold, "Underruns", c->underruns},
              {"--drop-threshold", cli_radio.drop_threshold, "Dropped packets (RX)", c->sequence_rx},
              {"--seq-threshold", cli_radio.seq_threshold, "Dropped packets (TX)", c->sequence_tx}};
  int failed = 0;
  size_t i;

  for (i = 0; i < sizeof rows / sizeof *rows; i++) {
    uint64_t most = 0;

    if (cli_count(command, rows[i].option, rows[i].text, &most)) {
      return CLI_USAGE;
    }
    if (rows[i].text && rows[i].n > most) {
      if (!failed) {
        fputs("The following error thresholds were exceeded:\n", stderr);
      }
      failed = 1;
      fprintf(stderr, "  * %s (%" PRIu64 "/%" PRIu64 ")\n", rows[i].what, rows[i].n, most);
    }
  }
  if (c->bad_packets && !cli_radio.go_on) {
    cli_say(command, "%" PRIu64 " bad packets or times out of alignment; --continue lets that pass", c->bad_packets);
    failed = 1;
  }
  return failed ? CLI_CHECK_FAILED : 0;
}
