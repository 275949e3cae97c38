/* SPDX-License-Identifier: Apache-2.0 */
/* Live sources on the command line: opening, the letters on stderr, what they counted. */
#include "live_cli.h"
#include "radio_options.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

void cli_letters(struct cli_letters *l, char letter, uint64_t n)
{
  enum { MOST = 200 };

  if (!n) {
    return;
  }
  l->line_open |= l->n < MOST;
  for (; n && l->n < MOST; n--) {
    fputc(letter, stderr);
    if (++l->n == MOST) {
      fputs(" ...", stderr);
    }
  }
  fflush(stderr);
}

void cli_letters_end(struct cli_letters *l)
{
  if (l->line_open) {
    fputc('\n', stderr);
    l->line_open = 0;
  }
}

struct hint {
  const char *command, *text;
};

static void print_hint(void *context, const char *text)
{
  const struct hint *h = context;

  cli_say(h->command, "%s: %s", h->text, text);
}

/* What a sender states is input: where it makes no ratio to what was asked for (0: as it comes), that is no mistake of
 * the options. */
static int check_stated_rate(const char *command, const char *text, const struct tlg_rate *stated,
                             const struct tlg_rate *out)
{
  char in_text[64], out_text[64];
  uint32_t up, down;

  if (!out->num || tlg_rate_ratio(stated, out, &up, &down) == TLG_OK) {
    return 0;
  }
  cli_say(
      command,
      "%s: the sender states %s, and of that no ratio with terms up to 65535 makes %s; if it is wrong give the true "
      "rate with --rate, or record it as it comes",
      text, tlg_rate_text(stated, in_text, sizeof in_text), tlg_rate_text(out, out_text, sizeof out_text));
  return CLI_BAD_INPUT;
}

int cli_live_open(const char *command, const char *text, struct tlg_live **live)
{
  static struct hint hint; /* as long as the source lives; a command has one */
  static struct tlg_radio_cfg radio;
  const int is_radio = cli_is_radio(text);
  char *const channel = cli_input.channel;
  struct tlg_reader_cfg in;
  struct tlg_live_cfg cfg = {.hint = print_hint, .context = &hint};
  struct tlg_error err = {0};
  struct tlg_rate out = {0, 0};
  int status;

  if (is_radio) {
    cli_input.channel = NULL; /* a radio's are counted from 0, and taken from here by cli_radio_cfg */
  }
  status = cli_input_cfg(command, text, &in);
  cli_input.channel = channel;
  if (strcmp(command, "replay") == 0) {
    tlg_rate_make(&out, 30720000, 1);
  }
  status = status ? status : cli_rate(command, "--out-rate", cli_resampler.out_rate, &out);
  if (!status && is_radio) {
    status = cli_radio_cfg(command, &out, &radio);
    cfg.radio = &radio;
  }
  if (status) {
    return status;
  }
  if (in.start || in.start_ps || in.length || in.length_ps || in.recording || in.channel || in.rescue || in.conjugate) {
    return cli_usage(command,
                     "%s: --start, --length, --recording, --channel, --rescue and --conjugate are for recordings; a "
                     "live source takes --duration",
                     text);
  }
  cfg.rate = in.rate;
  cfg.format = in.format;
  cfg.full_scale = in.full_scale;
  cfg.swap_iq = in.swap_iq;
  hint.command = command;
  hint.text = text;
  if (tlg_live_open(live, text, &cfg, &cli_stop, &err)) {
    return cli_fail(command, text, &err);
  }
  if (!tlg_live_info(*live)->rate.num) {
    return cli_usage(command, "%s: nothing tells the rate; give --rate", text);
  }
  return is_radio || cli_input.rate ? 0 : check_stated_rate(command, text, &tlg_live_info(*live)->rate, &out);
}

void cli_live_letters(const struct tlg_live *live, struct cli_live_told *told, struct cli_letters *l)
{
  const uint64_t overruns = tlg_live_count(live, TLG_LIVE_OVERRUNS), late = tlg_live_count(live, TLG_LIVE_LATE),
                 sequence = tlg_live_count(live, TLG_LIVE_SEQUENCE), all = tlg_live_count(live, TLG_LIVE_LOSSES);
  uint64_t losses = all > overruns ? all - overruns : 0; /* those on the way */

  /* A radio tells the two apart; what else it loses, as after a late command, is neither. */
  losses = sequence > losses || cli_is_radio(tlg_live_info(live)->name) ? sequence : losses;
  if (overruns > told->overruns) {
    cli_letters(l, 'O', overruns - told->overruns);
    told->overruns = overruns;
  }
  if (losses > told->losses) {
    cli_letters(l, 'D', losses - told->losses);
    told->losses = losses;
  }
  if (late > told->late) {
    cli_letters(l, 'L', late - told->late);
    told->late = late;
  }
}

/* The counts that are not zero, but for some; returns how many there are. */
static int other_counts(FILE *out, const struct tlg_live *live, const char *before)
{
  int i, n = 0;

  for (i = 0; i < TLG_LIVE_COUNTS; i++) {
    const uint64_t count = tlg_live_count(live, (enum tlg_live_count)i);
    const char *c = tlg_live_count_name((enum tlg_live_count)i);

    if (!count || i == TLG_LIVE_PACKETS || i == TLG_LIVE_SAMPLES || i == TLG_LIVE_LOST_SAMPLES ||
        i == TLG_LIVE_LOSSES) {
      continue;
    }
    fputs(n++ ? ", " : before, out);
    for (; *c; c++) {
      fputc(*c == '_' ? ' ' : *c, out);
    }
    fprintf(out, " %" PRIu64, count);
  }
  return n;
}

void cli_live_text(FILE *out, const struct tlg_live *live, const struct tlg_pipeline_result *r)
{
  const uint64_t in = tlg_live_count(live, TLG_LIVE_SAMPLES), lost = tlg_live_count(live, TLG_LIVE_LOST_SAMPLES);

  fprintf(out,
          "source    %" PRIu64 " samples handed on + %" PRIu64 " lost in %" PRIu64 " stretches, %" PRIu64 " packets",
          in, lost, tlg_live_count(live, TLG_LIVE_LOSSES), tlg_live_count(live, TLG_LIVE_PACKETS));
  if (isfinite(r->arrived_hz)) {
    fprintf(out, ", %.4f Msps as they came", r->arrived_hz * 1e-6);
  }
  fputc('\n', out);
  if (other_counts(out, live, "          ")) {
    fputc('\n', out);
  }
}

void cli_drain_text(FILE *out, const struct tlg_live *live)
{
  fprintf(out, "drained   %s: %" PRIu64 " samples in %" PRIu64 " packets", tlg_live_info(live)->name,
          tlg_live_count(live, TLG_LIVE_SAMPLES), tlg_live_count(live, TLG_LIVE_PACKETS));
  other_counts(out, live, ", ");
  fputc('\n', out);
}

json_t *cli_live_json(const struct tlg_live *live)
{
  json_t *o = json_object();
  int i;

  for (i = 0; i < TLG_LIVE_COUNTS; i++) {
    json_object_set_new(o, tlg_live_count_name((enum tlg_live_count)i),
                        json_integer((json_int_t)tlg_live_count(live, (enum tlg_live_count)i)));
  }
  return o;
}

/* ---- sinks ---------------------------------------------------------------------------------------------------- */

static void new_letters(uint64_t now, uint64_t *told, char letter, struct cli_letters *l)
{
  if (now > *told) {
    cli_letters(l, letter, now - *told);
    *told = now;
  }
}

void cli_sinks_letters(const struct tlg_pipeline *p, size_t n, struct cli_sinks_told *told, struct cli_letters *l)
{
  struct cli_sinks_told now = {0};
  size_t i;

  for (i = 0; i < n; i++) {
    now.losses += tlg_pipeline_sink_counter(p, i, TLG_SINK_LOSSES);
    now.underruns += tlg_pipeline_sink_counter(p, i, TLG_SINK_UNDERRUNS);
    now.late += tlg_pipeline_sink_counter(p, i, TLG_SINK_LATE);
    now.sequence += tlg_pipeline_sink_counter(p, i, TLG_SINK_SEQUENCE);
  }
  new_letters(now.losses, &told->losses, 'O', l);
  new_letters(now.underruns, &told->underruns, 'U', l);
  new_letters(now.late, &told->late, 'L', l);
  new_letters(now.sequence, &told->sequence, 'S', l);
}

static int console_open;

void cli_sinks_console(const struct tlg_pipeline *p, size_t n, const char *const *names, int always)
{
  static uint64_t last_ms;
  const int terminal = isatty(STDERR_FILENO);
  uint64_t now_ms;
  size_t i;

  now_ms = cli_now_ns() / 1000000;
  if (!(terminal || always) || (last_ms && now_ms - last_ms < (terminal ? 500 : 1000))) {
    return;
  }
  last_ms = now_ms;
  for (i = 0; i < n; i++) {
    char text[160];

    tlg_pipeline_sink_say(p, i, text, sizeof text);
    if (*text) {
      fprintf(stderr, terminal ? "\r%s: %s\033[K" : "%s: %s\n", names[i], text);
      console_open = terminal;
    }
  }
  fflush(stderr);
}

void cli_sinks_console_end(void)
{
  if (console_open) {
    fputc('\n', stderr);
    console_open = 0;
  }
}

int cli_sink_balanced(const struct tlg_pipeline *p, size_t i)
{
  return !tlg_pipeline_sink_is_live(p, i) ||
         tlg_pipeline_sink_count(p, i, NULL, NULL) ==
             tlg_pipeline_sink_counter(p, i, TLG_SINK_SENT) + tlg_pipeline_sink_counter(p, i, TLG_SINK_DROPPED);
}

void cli_sink_text(FILE *out, const struct tlg_pipeline *p, size_t i, uint64_t given)
{
  const uint64_t sent = tlg_pipeline_sink_counter(p, i, TLG_SINK_SENT),
                 dropped = tlg_pipeline_sink_counter(p, i, TLG_SINK_DROPPED);
  int c;

  if (!tlg_pipeline_sink_is_live(p, i)) {
    return;
  }
  fprintf(out, " = %" PRIu64 " sent + %" PRIu64 " dropped", sent, dropped);
  for (c = TLG_SINK_DROPPED + 1; c < TLG_SINK_COUNTERS; c++) {
    const uint64_t n = tlg_pipeline_sink_counter(p, i, (enum tlg_sink_counter)c);
    const char *name = tlg_sink_counter_name((enum tlg_sink_counter)c);

    if (!n || c == TLG_SINK_CLIPPED) {
      continue;
    }
    fputs(", ", out);
    for (; *name; name++) {
      fputc(*name == '_' ? ' ' : *name, out);
    }
    fprintf(out, " %" PRIu64, n);
  }
  if (given != sent + dropped) {
    fputs("\nFAULT     these counts do not agree; please report this", out);
  }
}

void cli_sink_json(json_t *o, const struct tlg_pipeline *p, size_t i)
{
  struct tlg_trace_info info;
  int c;

  tlg_pipeline_trace_info(p, &info);
  for (c = 0; c < TLG_SINK_COUNTERS && tlg_pipeline_sink_is_live(p, i); c++) {
    /* on the virtual clock every byte repeats, and what the sink's thread does on this machine is none of its time */
    const int own = c == TLG_SINK_HIGH_WATER || c == TLG_SINK_CPU_US;

    if (c != TLG_SINK_CLIPPED && !(own && info.flags & TLG_TRACE_VIRTUAL)) {
      json_object_set_new(o, tlg_sink_counter_name((enum tlg_sink_counter)c),
                          json_integer((json_int_t)tlg_pipeline_sink_counter(p, i, (enum tlg_sink_counter)c)));
    }
  }
}
