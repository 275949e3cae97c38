/* SPDX-License-Identifier: Apache-2.0 */
/* taplag check: a resampler's output against the ideal resampling of its input; verdict, and where it goes wrong. */
#include "cli.h"
#include "plot.h"
#include "tlg_spectra.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NAME "check"
enum { PIECE = 32768 };

static struct {
  char *to, *out_format, *delay, *band, *packet, *snr, *ripple, *image, *total, *gain, *clipped, *plot, *skip;
  int any_length, windowed, tones, force, json;
} opt;

static const struct poptOption limit_table[] = {
    {"min-snr", 0, POPT_ARG_STRING, &opt.snr, 0, "in-band signal to error, at least (75)", "DB"},
    {"max-ripple", 0, POPT_ARG_STRING, &opt.ripple, 0, "highest less lowest gain in the band, at most (0.01)", "DB"},
    {"max-image", 0, POPT_ARG_STRING, &opt.image, 0, "worst single image, at most (-70)", "DBC"},
    {"max-total", 0, POPT_ARG_STRING, &opt.total, 0, "all images and emission together, at most (-65)", "DBC"},
    {"max-gain", 0, POPT_ARG_STRING, &opt.gain, 0, "difference of the levels in the band, at most (0.1)", "DB"},
    {"max-clipped", 0, POPT_ARG_STRING, &opt.clipped, 0, "outputs at full scale, at most (only counted)", "N"},
    {"any-length", 0, POPT_ARG_NONE, &opt.any_length, 0, "do not judge the number of outputs", NULL},
    POPT_TABLEEND,
};

static const struct poptOption table[] = {
    {"to", 0, POPT_ARG_STRING, &opt.to, 0, "another name of --out-rate, as --from is of --rate", "RATE"},
    {"out-format", 0, POPT_ARG_STRING, &opt.out_format, 0, "sample format of OUT, if not the same as of IN", "FORMAT"},
    {"delay", 0, POPT_ARG_STRING, &opt.delay, 0,
     "outputs by which OUT lags, as 7.9992 or 4999/625 (that of the taps; 0 with --align)", "A/B"},
    {"band", 'b', POPT_ARG_STRING, &opt.band, 0, "half width of the band (9.0075M, at most 0.3603 of the smaller rate)",
     "HZ"},
    {"packet", 'p', POPT_ARG_STRING, &opt.packet, 0, "inputs a packet, to name places by (625)", "N"},
    {"skip", 0, POPT_ARG_STRING, &opt.skip, 0, "inputs left out at either end (the length of the filter, at least 64)",
     "N"},
    {"windowed", 0, POPT_ARG_NONE, &opt.windowed, 0, "do not look whether IN is periodic", NULL},
    {"tones", 0, POPT_ARG_NONE, &opt.tones, 0, "list every tone with its gain and worst image", NULL},
    {"plot", 0, POPT_ARG_STRING, &opt.plot, 0, "draw the spectra: output, reference, error, limits", "FILE.svg|png"},
    {"force", 0, POPT_ARG_NONE, &opt.force, 0, "overwrite an existing plot", NULL},
    {"json", 0, POPT_ARG_NONE, &opt.json, 0, "the verdict as JSON", NULL},
    {NULL, 0, POPT_ARG_INCLUDE_TABLE, (void *)limit_table, 0, "Limits:", NULL},
    CLI_INPUT_OPTIONS,
    CLI_RESAMPLER_OPTIONS,
    POPT_TABLEEND,
};

static const char description[] =
    "Compares OUT with the ideal band-limited resampling of IN, block by block, at the stated delay. Three verdicts: "
    "gain\n"
    "and error in the band; images and other emission; level (and the number of outputs). What fails is located: by\n"
    "output, time and packet. --start and --length choose what is judged of an OUT that was made from all of IN;\n"
    "--format holds for both files unless --out-format is given; --full-scale, --swap-iq and --conjugate hold for IN.\n"
    "Exit status 0 = passed, 1 = failed (also when OUT was cut, and whatever became of the plot), 3 = IN too short "
    "or\n"
    "silent in the band, else the plot's own: 5 = no gnuplot.\n"
    "  taplag check a.cs16 b.cs16 --format cs16 --from 25M --to 30.72M --align\n";

/* A recording as one stream in which gaps are zeros. */
struct source {
  const char *path;
  struct tlg_reader *reader;
  tlg_cs16
      *buf; /* read, from `at` on still to be pushed; the samples from `jump` on stand at stream sample jump_first */
  size_t room, n, at, jump;
  uint64_t jump_first;
  uint64_t next;     /* number of the next sample to push */
  uint64_t gap_told; /* where the last gap ends that the comparison was told of */
  int ended;
};

struct run {
  struct source in, out;
  struct tlg_rate rate_in, rate_out;
  struct tlg_taps taps;
  struct tlg_check_cfg cfg;
  struct tlg_check *check;
};

/* "7.9992", "4999/625": rates have the same notation, and zero is allowed here. */
static int delay_option(struct tlg_rate *delay)
{
  if (strspn(opt.delay, "0.") == strlen(opt.delay) && strlen(opt.delay)) {
    delay->num = 0;
    delay->den = 1;
    return 0;
  }
  if (strpbrk(opt.delay, "-kKMGHs") || tlg_rate_parse(delay, opt.delay) != TLG_OK ||
      delay->num / delay->den > 1u << 30) {
    return cli_usage(NAME, "--delay %s: not a delay in outputs; write 8, 7.9992 or 4999/625", opt.delay);
  }
  return 0;
}

static int limits(struct tlg_check_cfg *cfg)
{
  uint64_t packet = 0, skip = 0;
  int status;

  if ((status = cli_rate(NAME, "--band", opt.band, &cfg->band_hz)) ||
      (status = cli_count(NAME, "--packet", opt.packet, &packet)) ||
      (status = cli_count(NAME, "--skip", opt.skip, &skip)) ||
      (status = cli_real(NAME, "--min-snr", opt.snr, 0, 200, &cfg->min_snr_db)) ||
      (status = cli_real(NAME, "--max-ripple", opt.ripple, 0, 100, &cfg->max_ripple_db)) ||
      (status = cli_real(NAME, "--max-image", opt.image, -200, 0, &cfg->max_image_dbc)) ||
      (status = cli_real(NAME, "--max-total", opt.total, -200, 0, &cfg->max_total_dbc)) ||
      (status = cli_real(NAME, "--max-gain", opt.gain, 0, 100, &cfg->max_gain_db)) ||
      (status = cli_count(NAME, "--max-clipped", opt.clipped, &cfg->max_clipped))) {
    return status;
  }
  if (opt.packet && (packet == 0 || packet > 1u << 30)) {
    return cli_usage(NAME, "--packet %s: must be from 1 to %u", opt.packet, 1u << 30);
  }
  if (opt.skip && (skip == 0 || skip > 1u << 24)) {
    return cli_usage(NAME, "--skip %s: must be from 1 to %u", opt.skip, 1u << 24);
  }
  /* Zero means default to the library: asked for, it is the strictest there is. */
  if (opt.ripple && cfg->max_ripple_db == 0) {
    cfg->max_ripple_db = 1e-12;
  }
  if (opt.gain && cfg->max_gain_db == 0) {
    cfg->max_gain_db = 1e-12;
  }
  if (opt.snr && cfg->min_snr_db == 0) {
    cfg->min_snr_db = 1e-12;
  }
  if (opt.image && cfg->max_image_dbc == 0) {
    cfg->max_image_dbc = -1e-12;
  }
  if (opt.total && cfg->max_total_dbc == 0) {
    cfg->max_total_dbc = -1e-12;
  }
  cfg->packet = (size_t)packet;
  cfg->skip = (size_t)skip;
  cfg->judge_clipped = opt.clipped != NULL;
  cfg->any_length = opt.any_length;
  return 0;
}

static int open_files(struct run *run)
{
  struct tlg_reader_cfg in, out;
  struct tlg_error err = {0};
  int status;

  if (strcmp(run->in.path, "-") == 0 && strcmp(run->out.path, "-") == 0) {
    return cli_usage(NAME, "only one of IN and OUT can be stdin");
  }
  if ((status = cli_input_cfg(NAME, run->in.path, &in)) || (status = cli_input_cfg(NAME, run->out.path, &out))) {
    return status;
  }
  run->cfg.start = in.start;
  run->cfg.length = in.length;
  in.start = in.length = out.start = out.length = 0;
  out.full_scale = 0;
  out.swap_iq = out.conjugate = 0;
  out.recording = NULL;
  out.rate = (struct tlg_rate){0, 0};
  if ((status = cli_format(NAME, "--out-format", opt.out_format, &out.format)) ||
      (status = cli_rate(NAME, "--to", opt.to ? opt.to : cli_resampler.out_rate, &out.rate))) {
    return status;
  }
  if (opt.to && cli_resampler.out_rate && strcmp(opt.to, cli_resampler.out_rate) != 0) {
    return cli_usage(NAME, "--to %s and --out-rate %s are two names of one thing", opt.to, cli_resampler.out_rate);
  }
  if (tlg_reader_open(&run->in.reader, run->in.path, &in, &err) != TLG_OK) {
    return cli_fail(NAME, run->in.path, &err);
  }
  run->rate_in = tlg_reader_info(run->in.reader)->rate;
  if (run->rate_in.den == 0) {
    return cli_usage(NAME, "%s does not tell its rate; state it with --from 25M", run->in.path);
  }
  if (tlg_reader_open(&run->out.reader, run->out.path, &out, &err) != TLG_OK) {
    return cli_fail(NAME, run->out.path, &err);
  }
  /* OUT's own word for its rate is better than the default. */
  run->rate_out = tlg_reader_info(run->out.reader)->rate;
  if (run->rate_out.den == 0) {
    tlg_rate_make(&run->rate_out, 30720000, 1);
  }
  return 0;
}

/* The delay is the one stated, or that of the chain's taps. */
static int set_delay(struct run *run)
{
  char rate_text[48], *asked;
  struct tlg_resamp_cfg resamp;
  struct tlg_rate rate_out;
  uint32_t up, down;
  int status;

  run->cfg.rate_in = run->rate_in;
  run->cfg.rate_out = run->rate_out;
  if (opt.delay) {
    if (cli_resampler.align) {
      return cli_usage(NAME, "--align states that there is no delay: leave out --delay");
    }
    if ((status = delay_option(&run->cfg.delay))) {
      return status;
    }
  }
  snprintf(rate_text, sizeof rate_text, "%" PRIu64 "/%" PRIu64, run->rate_out.num, run->rate_out.den);
  asked = cli_resampler.out_rate;
  cli_resampler.out_rate = rate_text;
  status = cli_resampler_cfg(NAME, &run->rate_in, &run->taps, &resamp, &rate_out);
  cli_resampler.out_rate = asked;
  if (status) {
    return status;
  }
  if (tlg_rate_ratio(&run->rate_in, &run->rate_out, &up, &down) != TLG_OK) {
    return cli_usage(NAME, "the ratio of the two rates has a term above 65535");
  }
  run->cfg.truncated = resamp.rounding == TLG_ROUND_USRPL0;
  run->cfg.taps_per_phase = (run->taps.n + up - 1) / up;
  run->cfg.tap_shift = (int)run->taps.shift;
  run->cfg.n_taps = opt.delay ? 0 : run->taps.n;
  if (opt.delay) {
    /* stated: the taps tell only how much is left out, and what their rounding lets pass */
  } else if (!resamp.align) {
    tlg_rate_make(&run->cfg.delay, run->taps.n - 1, 2 * (uint64_t)down);
  } else {
    run->cfg.n_taps = 0; /* an aligned chain has no tail */
    run->cfg.q0 = run->taps.n % 2 ? (run->taps.n - 1) / 2 : run->taps.n / 2 - 1;
    if (run->taps.n % 2 == 0) {
      tlg_rate_make(&run->cfg.delay, 1, 2 * (uint64_t)down);
    }
  }
  if (run->cfg.skip == 0) {
    const size_t reach = (run->taps.n + up - 1) / up;
    run->cfg.skip = reach > 64 ? reach : 64;
  }
  return 0;
}

/* Add what one read gives to an empty or contiguous buffer. */
static int read_more(struct source *s)
{
  struct tlg_error err = {0};
  uint64_t first;
  size_t got;

  if (tlg_reader_read(s->reader, s->buf + s->n, s->room - s->n, &got, &first, &err) != TLG_OK) {
    return cli_fail(NAME, s->path, &err);
  }
  s->ended = got == 0;
  s->jump = s->n;
  s->jump_first = first;
  s->n += got;
  return 0;
}

static int open_source(struct source *s, size_t room)
{
  s->room = room;
  s->buf = malloc(room * sizeof *s->buf);
  if (!s->buf) {
    cli_say(NAME, "out of memory");
    return CLI_SYSTEM;
  }
  return 0;
}

/* Read ahead to see how long the input is, if it is short, and whether it repeats; choose the block. */
static int choose_block(struct run *run)
{
  const double want = tlg_rate_hz(&run->rate_in) * 0.0401;
  const size_t skip = run->cfg.skip ? run->cfg.skip : 64;
  struct source *in = &run->in;
  uint64_t n = tlg_reader_info(in->reader)->n_samples;
  const uint64_t n_out = tlg_reader_info(run->out.reader)->n_samples;
  uint64_t usable;
  uint32_t up, down;
  int status;

  if (tlg_rate_ratio(&run->rate_in, &run->rate_out, &up, &down) != TLG_OK) {
    char a[64], b[64];

    return cli_usage(NAME, "%s to %s: the ratio has a term above 65535", tlg_rate_text(&run->rate_in, a, sizeof a),
                     tlg_rate_text(&run->rate_out, b, sizeof b));
  }
  if ((status = open_source(in, want > 4194304 ? 4194304
                                : want < 65536 ? 65536
                                               : (size_t)want)) ||
      (status = open_source(&run->out, PIECE))) {
    return status;
  }
  do {
    if ((status = read_more(in))) {
      return status;
    }
  } while (!in->ended && in->n < in->room && in->jump_first == in->jump);
  if (in->ended) {
    n = in->jump_first;
  }
  if (n != UINT64_MAX) {
    n = n > run->cfg.start ? n - run->cfg.start : 0;
    n = run->cfg.length && run->cfg.length < n ? run->cfg.length : n;
  } else if (run->cfg.length) {
    n = run->cfg.length;
  }
  /* Of an output that was cut, what there is is compared, in blocks that suit it. */
  usable = n_out == UINT64_MAX ? n : (uint64_t)((unsigned __int128)n_out * down / up);
  usable = usable > run->cfg.start ? usable - run->cfg.start : 0;
  usable = usable < n ? usable : n;
  if (!opt.windowed) {
    const size_t period = tlg_check_period(in->buf, in->jump_first == in->jump ? in->n : in->jump, &run->rate_in, down);

    run->cfg.period = period && period + 2 * skip <= usable ? period : 0;
  }
  if (run->cfg.period == 0) {
    run->cfg.block = tlg_check_block(&run->rate_in, up, down, usable, skip);
    if (run->cfg.block == 0) {
      run->cfg.block = tlg_check_block(&run->rate_in, up, down, n, skip);
    }
    if (run->cfg.block == 0) {
      cli_say(NAME,
              "%s: too short to compare: %" PRIu64 " samples; %u/%u takes at least %" PRIu64
              ", as %zu at either end are left out",
              in->path, n, up, down, tlg_check_least(down, skip), skip);
      return CLI_BAD_INPUT;
    }
  }
  return 0;
}

/* Push up to `want` samples of a stream. */
static int feed(struct run *run, struct source *s, size_t want)
{
  static const tlg_cs16 zeros[PIECE];
  const int is_in = s == &run->in;
  size_t n;
  int status;

  if (s->at == s->n && !s->ended) {
    s->at = s->n = 0;
    if ((status = read_more(s))) {
      return status;
    }
  }
  if (s->at == s->n || s->at >= s->jump) {
    const uint64_t first = s->jump_first + (s->at - s->jump);

    if (s->next < first && s->gap_told != first) {
      status = is_in ? tlg_check_gap_in(run->check, s->next, first - s->next)
                     : tlg_check_gap_out(run->check, s->next, first - s->next);
      if (status) {
        cli_say(NAME, "%s: too many gaps ahead of what can be compared; check parts of it by --start and --length",
                s->path);
        return CLI_BAD_INPUT;
      }
      s->gap_told = first;
    }
    while (s->next < first && want > 0) {
      n = first - s->next < want ? (size_t)(first - s->next) : want;
      n = n < PIECE ? n : PIECE;
      status = is_in ? tlg_check_push_in(run->check, zeros, n) : tlg_check_push_out(run->check, zeros, n);
      s->next += n;
      want -= n;
    }
    if (s->next < first) {
      return 0;
    }
  }
  n = (s->at < s->jump ? s->jump : s->n) - s->at;
  n = n < want ? n : want;
  if (n > 0) {
    status =
        is_in ? tlg_check_push_in(run->check, s->buf + s->at, n) : tlg_check_push_out(run->check, s->buf + s->at, n);
    if (status) {
      cli_say(NAME, "a block was refused: %s", tlg_status_text(status));
      return CLI_SYSTEM;
    }
  }
  s->at += n;
  s->next += n;
  if (s->ended && s->at == s->n) {
    is_in ? tlg_check_end_in(run->check) : tlg_check_end_out(run->check);
  }
  return 0;
}

static int feed_both(struct run *run)
{
  const uint64_t total = tlg_reader_info(run->in.reader)->n_samples;
  struct source *in = &run->in, *out = &run->out;
  int status;

  while (!cli_stop) {
    const size_t want_in = tlg_check_want_in(run->check), want_out = tlg_check_want_out(run->check);

    if (want_in == 0 && want_out == 0) {
      break;
    }
    if (want_in > 0 && (status = feed(run, in, want_in))) {
      return status;
    }
    if (want_out > 0 && (status = feed(run, out, want_out))) {
      return status;
    }
    if (total != UINT64_MAX) {
      cli_progress(NAME, in->next < total ? in->next : total - 1, total);
    }
  }
  if (total != UINT64_MAX && total > 0) {
    cli_progress(NAME, total, total);
  }
  if (cli_stop) {
    cli_say(NAME, "interrupted: nothing was judged");
    return cli_exit_stopped(CLI_DONE);
  }
  return 0;
}

/* ---- the verdict ------------------------------------------------------------------------------------------------- */

static const char *grouped(uint64_t n, char text[32])
{
  char plain[32];
  const int length = snprintf(plain, sizeof plain, "%" PRIu64, n);
  int i, o = 0;

  for (i = 0; i < length; i++) {
    text[o++] = plain[i];
    if (i + 1 < length && (length - i - 1) % 3 == 0) {
      text[o++] = ',';
    }
  }
  text[o] = '\0';
  return text;
}

static const char *word(int passed)
{
  return passed ? "pass" : "FAIL";
}

/* What is far below any figure that could repeat is printed as its bound. */
static double bounded(double db, double low, double high)
{
  return db < low ? low : db > high ? high : db;
}

/* Rounded to so many decimals, without a negative zero. */
static double tidy(double value, int decimals)
{
  const double scale = pow(10, decimals), rounded = floor(value * scale + 0.5) / scale;

  return rounded == 0 ? 0 : rounded;
}

static void print_length(const struct tlg_check_result *r, FILE *out)
{
  char n1[32], n2[32], n3[32];

  fprintf(out, "length     %s\n", opt.any_length ? "not judged" : word(r->length_passed));
  fprintf(out, "  outputs           %s for %s inputs, %s expected", grouped(r->n_out, n1), grouped(r->n_in, n2),
          grouped(r->n_expected, n3));
  if (r->n_expected_flush) {
    fprintf(out, " (%s with --flush)", grouped(r->n_expected_flush, n1));
  }
  if (r->n_extra) {
    fprintf(out, ": %s %s", grouped((uint64_t)llabs(r->n_extra), n1), r->n_extra < 0 ? "missing" : "too many");
  }
  fputc('\n', out);
}

static void print_findings(const struct tlg_check_result *r, FILE *out)
{
  size_t k;

  for (k = 0; k < r->n_findings; k++) {
    fprintf(out, "%s%s\n", k ? "           " : "found      ", r->finding[k]);
  }
}

static void print_verdict(const struct run *run, const struct tlg_check_result *r, FILE *out)
{
  char a[64], b[64], n1[32], n2[32], n3[32], n4[32];
  const double ms = 1e3 * (double)r->block_in / tlg_rate_hz(&run->rate_in);
  size_t k;

  fprintf(out, "%s  %s against the ideal resampling of %s\n", r->passed ? "PASSED" : "FAILED", run->out.path,
          run->in.path);
  fprintf(out, "  %s to %s, %u/%u; delay %" PRIu64, tlg_rate_text(&run->rate_in, a, sizeof a),
          tlg_rate_text(&run->rate_out, b, sizeof b), r->up, r->down, run->cfg.delay.num);
  if (run->cfg.delay.den > 1) {
    fprintf(out, "/%" PRIu64 " = %.4f", run->cfg.delay.den, (double)run->cfg.delay.num / (double)run->cfg.delay.den);
  }
  fprintf(out, " outputs%s\n", opt.delay ? " as stated" : cli_resampler.align ? " (aligned)" : " (that of the taps)");
  if (r->blocks == 0) {
    fputs("  compared: nothing but the lengths\n", out);
    print_length(r, out);
    print_findings(r, out);
    return;
  }
  fprintf(out, "  compared: inputs %s to %s of %s with outputs %s to %s,\n", grouped(r->first_in, n1),
          grouped(r->end_in - 1, n2), grouped(r->n_in, a), grouped(r->first_out, n3), grouped(r->end_out - 1, n4));
  if (r->periodic) {
    fprintf(out, "    in %s block%s of %.6g ms, the period of the input, without a window%s\n", grouped(r->blocks, n1),
            r->blocks == 1 ? "" : "s", ms, r->n_tones ? "; a spectrum of separate tones" : "");
  } else {
    const double edge_ms = 1e3 * (double)r->edge_block / tlg_rate_hz(&run->rate_in);

    fprintf(out, "    in %s block%s of %.6g ms under Hann windows, half a block apart;", grouped(r->blocks, n1),
            r->blocks == 1 ? "" : "s", ms);
    if (r->edge_blocks) {
      fprintf(out, " both ends once more in blocks of %.3g ms;", edge_ms);
    }
    fprintf(out, "\n    the first and last %.3g ms weigh less\n", (r->edge_blocks ? edge_ms : ms) / 4);
  }
  if (r->gaps) {
    fprintf(out, "    %s gap%s left out\n", grouped(r->gaps, n1), r->gaps == 1 ? "" : "s");
  }
  if (r->image_blocks != r->blocks) {
    fprintf(out, "    images and ripple in the %s blocks without errors\n", grouped(r->image_blocks, n1));
  }
  fprintf(out, "in band    %s  within +-%.6g MHz\n", word(r->in_band_passed), r->band_hz / 1e6);
  fprintf(out, "  signal to error   %8.2f dB   at least %.2f", bounded(r->snr_db, -99, 150), r->snr_limit_db);
  if (fabs(r->snr_limit_db - (run->cfg.min_snr_db ? run->cfg.min_snr_db : 75)) >= 0.005) {
    fprintf(out, ": %.6g less what rounding%s takes%s", run->cfg.min_snr_db ? run->cfg.min_snr_db : 75.0,
            r->outside_dbc > -30 ? " and the input outside the band" : "",
            r->snr_narrow ? ", and 5 for a narrow signal" : "");
  }
  if (r->snr_db < r->snr_limit_db && r->snr_judged_db >= r->snr_limit_db) {
    fprintf(out, "; judged: %.2f without the gain, which is ripple", bounded(r->snr_judged_db, -99, 150));
  }
  fprintf(out, "\n  worst block       %8.2f dB   about output %s; %s of %s blocks fail\n",
          bounded(r->worst_snr_db, -99, 150), grouped(r->worst_output, n1), grouped(r->bad_blocks, n2),
          grouped(r->blocks, n3));
  if (r->n_gains) {
    fprintf(out,
            "  ripple            %8.4f dB   at most %.4f; %+.4f dB at %+.3f MHz, %+.4f dB at %+.3f MHz, %zu places\n",
            r->ripple_db, r->ripple_limit_db, r->lowest_gain_db, r->lowest_hz / 1e6, r->highest_gain_db,
            r->highest_hz / 1e6, r->n_gains);
  }
  fprintf(out, "images     %s\n", word(r->images_passed));
  if (r->has_image) {
    fprintf(out, "  worst image       %8.1f dBc  at most %.1f; of %+.4f MHz, at %+.4f MHz", r->image_dbc,
            r->image_limit_db, r->image_parent_hz / 1e6, r->image_hz / 1e6);
    if (r->image_number) {
      fprintf(out, " (about %+" PRId64 " x %s)", r->image_number, tlg_rate_text(&run->rate_in, a, sizeof a));
    } else if (!r->n_tones) {
      fputs(" (an alias)", out);
    }
    fputc('\n', out);
  } else {
    fputs("  worst image           none above rounding noise\n", out);
  }
  fprintf(out, "  total             %8.1f dBc  at most %.1f; outside the band %.1f\n", bounded(r->total_dbc, -150, 99),
          r->total_limit_db, bounded(r->out_of_band_dbc, -150, 99));
  fprintf(out, "level      %s\n", word(r->level_passed));
  fprintf(out, "  gain in band      %+8.4f dB   at most +-%.4g; phase %+.2f degrees\n",
          tidy(bounded(r->gain_db, -200, 200), 4), r->gain_limit_db, tidy(r->phase_deg, 2));
  fprintf(out, "  level             %8.2f dBFS in, %.2f out; %.2f in band\n", r->in_dbfs,
          bounded(r->out_dbfs, -200, 99), r->in_band_dbfs);
  fprintf(out, "  DC                %+8.2f %+.2fj bits (output less reference)\n", tidy(r->dc_i, 2), tidy(r->dc_q, 2));
  fprintf(out, "  clipped           %s in, %s out; largest component of the output %d\n", grouped(r->clipped_in, n1),
          grouped(r->clipped_out, n2), r->peak_out);
  print_length(r, out);
  if (opt.tones && r->n_tones) {
    fputs("tone MHz      in dBFS   gain dB   worst image dBc, at MHz\n", out);
    for (k = 0; k < r->n_tones; k++) {
      const struct tlg_check_tone *t = &r->tone[k];

      fprintf(out, "%+10.4f  %8.2f  %+8.4f", t->hz / 1e6, t->in_dbfs, t->gain_db);
      if (t->has_image) {
        fprintf(out, "  %8.1f  %+.4f%s\n", t->image_dbc, t->image_hz / 1e6,
                fabs(t->hz) > r->band_hz ? "  (outside the band: not judged)" : "");
      } else {
        fputs("  shares its lines with another tone\n", out);
      }
    }
  }
  print_findings(r, out);
}

static json_t *verdict_json(const struct run *run, const struct tlg_check_result *r)
{
  json_t *o = json_object(), *part, *list;
  const size_t n = r->n_events < TLG_CHECK_EVENTS ? r->n_events : TLG_CHECK_EVENTS;
  size_t k;

  json_object_set_new(o, "passed", json_boolean(r->passed));
  json_object_set_new(o, "rate_in", cli_rate_json(&run->rate_in));
  json_object_set_new(o, "rate_out", cli_rate_json(&run->rate_out));
  json_object_set_new(o, "up", json_integer(r->up));
  json_object_set_new(o, "down", json_integer(r->down));
  part = json_object();
  json_object_set_new(part, "num", json_integer((json_int_t)run->cfg.delay.num));
  json_object_set_new(part, "den", json_integer((json_int_t)(run->cfg.delay.den ? run->cfg.delay.den : 1)));
  json_object_set_new(o, "delay_outputs", part);
  part = json_object();
  json_object_set_new(part, "first_in", json_integer((json_int_t)r->first_in));
  json_object_set_new(part, "end_in", json_integer((json_int_t)r->end_in));
  json_object_set_new(part, "first_out", json_integer((json_int_t)r->first_out));
  json_object_set_new(part, "end_out", json_integer((json_int_t)r->end_out));
  json_object_set_new(part, "blocks", json_integer((json_int_t)r->blocks));
  json_object_set_new(part, "block_in", json_integer((json_int_t)r->block_in));
  json_object_set_new(part, "block_out", json_integer((json_int_t)r->block_out));
  json_object_set_new(part, "window", json_string(r->periodic ? "none" : "hann"));
  json_object_set_new(part, "edge_blocks", json_integer((json_int_t)r->edge_blocks));
  json_object_set_new(part, "edge_bad_blocks", json_integer((json_int_t)r->edge_bad));
  json_object_set_new(part, "gaps", json_integer((json_int_t)r->gaps));
  json_object_set_new(o, "compared", part);
  part = json_object();
  json_object_set_new(part, "passed", json_boolean(r->in_band_passed));
  json_object_set_new(part, "band_hz", cli_number(r->band_hz, 3));
  json_object_set_new(part, "signal_to_error_db", cli_number(bounded(r->snr_db, -99, 150), 2));
  json_object_set_new(part, "judged_db", cli_number(bounded(r->snr_judged_db, -99, 150), 2));
  json_object_set_new(part, "limit_db", cli_number(r->snr_limit_db, 2));
  json_object_set_new(part, "signal_to_error_after_gain_db", cli_number(bounded(r->snr_gain_db, -99, 150), 2));
  json_object_set_new(part, "worst_block_db", cli_number(bounded(r->worst_snr_db, -99, 150), 2));
  json_object_set_new(part, "worst_block_output", json_integer((json_int_t)r->worst_output));
  json_object_set_new(part, "bad_blocks", json_integer((json_int_t)r->bad_blocks));
  json_object_set_new(part, "ripple_db", cli_number(r->ripple_db, 4));
  json_object_set_new(part, "ripple_limit_db", cli_number(r->ripple_limit_db, 4));
  json_object_set_new(part, "gains", json_integer((json_int_t)r->n_gains));
  json_object_set_new(part, "input_outside_band_dbc", cli_number(bounded(r->outside_dbc, -150, 200), 1));
  json_object_set_new(o, "in_band", part);
  part = json_object();
  json_object_set_new(part, "passed", json_boolean(r->images_passed));
  if (r->has_image) {
    json_object_set_new(part, "worst_dbc", cli_number(r->image_dbc, 1));
    json_object_set_new(part, "worst_hz", cli_number(r->image_hz, 1));
    json_object_set_new(part, "parent_hz", cli_number(r->image_parent_hz, 1));
    json_object_set_new(part, "number", json_integer((json_int_t)r->image_number));
  }
  json_object_set_new(part, "blocks", json_integer((json_int_t)r->image_blocks));
  json_object_set_new(part, "worst_limit_dbc", cli_number(r->image_limit_db, 1));
  json_object_set_new(part, "total_dbc", cli_number(bounded(r->total_dbc, -150, 99), 1));
  json_object_set_new(part, "total_limit_dbc", cli_number(r->total_limit_db, 1));
  json_object_set_new(part, "out_of_band_dbc", cli_number(bounded(r->out_of_band_dbc, -150, 99), 1));
  json_object_set_new(o, "images", part);
  part = json_object();
  json_object_set_new(part, "passed", json_boolean(r->level_passed));
  json_object_set_new(part, "gain_db", cli_number(tidy(bounded(r->gain_db, -200, 200), 4), 4));
  json_object_set_new(part, "phase_deg", cli_number(tidy(r->phase_deg, 2), 2));
  json_object_set_new(part, "in_dbfs", cli_number(r->in_dbfs, 2));
  json_object_set_new(part, "out_dbfs", cli_number(bounded(r->out_dbfs, -200, 99), 2));
  json_object_set_new(part, "in_band_dbfs", cli_number(r->in_band_dbfs, 2));
  json_object_set_new(part, "dc_i", cli_number(tidy(r->dc_i, 2), 2));
  json_object_set_new(part, "dc_q", cli_number(tidy(r->dc_q, 2), 2));
  json_object_set_new(part, "clipped_in", json_integer((json_int_t)r->clipped_in));
  json_object_set_new(part, "clipped_out", json_integer((json_int_t)r->clipped_out));
  json_object_set_new(part, "peak_out", json_integer(r->peak_out));
  json_object_set_new(o, "level", part);
  part = json_object();
  json_object_set_new(part, "passed", json_boolean(r->length_passed));
  json_object_set_new(part, "inputs", json_integer((json_int_t)r->n_in));
  json_object_set_new(part, "outputs", json_integer((json_int_t)r->n_out));
  json_object_set_new(part, "expected", json_integer((json_int_t)r->n_expected));
  json_object_set_new(part, "extra", json_integer((json_int_t)r->n_extra));
  json_object_set_new(o, "length", part);
  list = json_array();
  for (k = 0; k < n; k++) {
    const struct tlg_check_event *e = &r->event[k];

    part = json_object();
    json_object_set_new(part, "first_output", json_integer((json_int_t)e->first));
    json_object_set_new(part, "end_output", e->end == UINT64_MAX ? json_null() : json_integer((json_int_t)e->end));
    if (e->has_lag) {
      json_object_set_new(part, "lag_outputs", cli_number(e->lag_outputs, 2));
      json_object_set_new(part, "lag_inputs", cli_number(e->lag_inputs, 2));
    } else {
      json_object_set_new(part, "error_db", cli_number(e->error_db, 1));
    }
    json_array_append_new(list, part);
  }
  json_object_set_new(o, "events", list);
  json_object_set_new(o, "n_events", json_integer((json_int_t)r->n_events));
  list = json_array();
  for (k = 0; k < r->n_tones; k++) {
    const struct tlg_check_tone *t = &r->tone[k];

    part = json_object();
    json_object_set_new(part, "hz", cli_number(t->hz, 1));
    json_object_set_new(part, "in_dbfs", cli_number(t->in_dbfs, 2));
    json_object_set_new(part, "gain_db", cli_number(t->gain_db, 4));
    if (t->has_image) {
      json_object_set_new(part, "image_dbc", cli_number(t->image_dbc, 1));
      json_object_set_new(part, "image_hz", cli_number(t->image_hz, 1));
      json_object_set_new(part, "image_number", json_integer((json_int_t)t->image_number));
    }
    json_array_append_new(list, part);
  }
  json_object_set_new(o, "tones", list);
  list = json_array();
  for (k = 0; k < r->n_findings; k++) {
    json_array_append_new(list, json_string(r->finding[k]));
  }
  json_object_set_new(o, "findings", list);
  if (r->blocks == 0) { /* nothing was measured */
    json_object_set_new(o, "in_band", json_null());
    json_object_set_new(o, "images", json_null());
    json_object_set_new(o, "level", json_null());
  }
  return o;
}

static int judge(struct run *run)
{
  const struct tlg_check_result *result;
  struct tlg_error err = {0};
  int status, plot_status = 0;

  if (tlg_check_new(&run->check, &run->cfg, &err) != TLG_OK) {
    return cli_fail(NAME, NULL, &err);
  }
  if ((status = feed_both(run))) {
    return status;
  }
  if (tlg_check_finish(run->check, &result, &err) != TLG_OK) {
    return cli_fail(NAME, run->in.path, &err);
  }
  if (opt.json) {
    status = cli_print_json(NAME, verdict_json(run, result), stdout);
  } else {
    print_verdict(run, result, stdout);
  }
  if (opt.plot && result->blocks == 0) {
    cli_say(NAME, "nothing was compared: no plot");
  } else if (opt.plot) {
    char title[600];

    snprintf(title, sizeof title, "%s: %s against the ideal resampling of %s", result->passed ? "passed" : "failed",
             run->out.path, run->in.path);
    plot_status = cli_plot_check(NAME, run->check, result, &run->rate_out, title, opt.plot, opt.force);
  }
  if (status == CLI_DONE) {
    status = result->passed ? plot_status : CLI_CHECK_FAILED;
  }
  return cli_finish(NAME, stdout, status);
}

int cmd_check(int argc, const char **argv)
{
  struct cli_options options;
  struct run run = {0};
  int status = cli_options(&options, NAME, argc, argv, table, description, 2, 2);

  if (status >= 0) {
    return status;
  }
  cli_catch_signals();
  run.in.path = options.args[0];
  run.out.path = options.args[1];
  if (!((status = limits(&run.cfg)) || (opt.plot && (status = cli_plot_ready(NAME, opt.plot, opt.force))) ||
        (status = open_files(&run)) || (status = set_delay(&run)) || (status = choose_block(&run)))) {
    status = judge(&run);
  }
  tlg_check_free(run.check);
  tlg_taps_free(&run.taps);
  tlg_reader_close(run.in.reader);
  tlg_reader_close(run.out.reader);
  free(run.in.buf);
  free(run.out.buf);
  cli_options_free(&options);
  return status;
}
