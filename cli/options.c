/* SPDX-License-Identifier: Apache-2.0 */
/* Options: one popt table drives parsing and help; values are range-checked here, in one place. */
#include "cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int cli_options(struct cli_options *o, const char *command, int argc, const char **argv, const struct poptOption *table,
                const char *description, int min_args, int max_args)
{
  const struct cli_command *entry = cli_command_find(command);
  const struct poptOption whole[] = {
      {NULL, 0, POPT_ARG_INCLUDE_TABLE, (void *)table, 0, NULL, NULL},
      {"help", 'h', POPT_ARG_NONE, NULL, 'h', "this text", NULL},
      POPT_TABLEEND,
  };
  char usage[200];
  int rc;

  memset(o, 0, sizeof *o);
  o->context = poptGetContext("taplag", argc, argv, whole, 0);
  if (!o->context) {
    cli_say(command, "out of memory");
    return CLI_SYSTEM;
  }
  snprintf(usage, sizeof usage, "%s [options] %s", command, entry ? entry->arguments : "");
  while ((rc = poptGetNextOpt(o->context)) >= 0) {
    if (rc == 'h') {
      printf("Usage: taplag %s\n", usage);
      if (entry) {
        printf("\n%c%s.\n",
               entry->summary[0] >= 'a' && entry->summary[0] <= 'z' ? entry->summary[0] - 32 : entry->summary[0],
               entry->summary + 1);
      }
      if (description) {
        printf("\n%s", description);
      }
      fputs("\nOptions", stdout);
      fflush(stdout);
      /* popt prints its own usage line first; only what stands below it is wanted. */
      {
        char *text = NULL;
        size_t size = 0;
        FILE *memory = open_memstream(&text, &size);

        if (memory) {
          const char *below;

          poptPrintHelp(o->context, memory, 0);
          fclose(memory);
          below = strchr(text, '\n');
          fputs(":\n", stdout);
          fputs(below ? below + 1 : "", stdout);
        }
        free(text);
      }
      cli_options_free(o);
      return cli_finish(command, stdout, CLI_DONE);
    }
  }
  if (rc < -1) {
    cli_say(command, "%s: %s; 'taplag %s --help' lists the options", poptBadOption(o->context, POPT_BADOPTION_NOALIAS),
            poptStrerror(rc), command);
    cli_options_free(o);
    return CLI_USAGE;
  }
  o->args = poptGetArgs(o->context);
  while (o->args && o->args[o->n_args]) {
    o->n_args++;
  }
  if (o->n_args < min_args || (max_args >= 0 && o->n_args > max_args)) {
    if (o->n_args > max_args && max_args >= 0) {
      cli_say(command, "unexpected argument '%s'; usage: taplag %s", o->args[max_args], usage);
    } else {
      cli_say(command, "an argument is missing; usage: taplag %s", usage);
    }
    cli_options_free(o);
    return CLI_USAGE;
  }
  return -1;
}

void cli_options_free(struct cli_options *o)
{
  if (o->context) {
    poptFreeContext(o->context);
  }
  memset(o, 0, sizeof *o);
}

int cli_rate(const char *command, const char *option, const char *text, struct tlg_rate *rate)
{
  if (text && tlg_rate_parse(rate, text) != TLG_OK) {
    return cli_usage(command, "%s %s: not a rate; write 25M, 30.72M or 184320000/7", option, text);
  }
  return 0;
}

/* A decimal with a unit out of a table as an exact fraction of 10^-12, or as a double. */
struct unit {
  const char *name;
  double factor;
};

static int with_unit(const char *text, const struct unit *units, double *value)
{
  char *end;
  double x;
  size_t i;

  if (!(text[0] == '-' || text[0] == '+' || text[0] == '.' || (text[0] >= '0' && text[0] <= '9')) ||
      strchr(text, 'x') || strchr(text, 'X')) {
    return -1;
  }
  x = strtod(text, &end);
  if (end == text || !isfinite(x)) {
    return -1;
  }
  for (i = 0; units[i].name; i++) {
    if (strcmp(end, units[i].name) == 0) {
      *value = x * units[i].factor;
      return 0;
    }
  }
  return -1;
}

static const struct unit second_units[] = {{"s", 1},     {"", 1},     {"ms", 1e-3}, {"us", 1e-6},
                                           {"ns", 1e-9}, {"min", 60}, {NULL, 0}};

int cli_seconds(const char *command, const char *option, const char *text, double *seconds)
{
  double x;

  if (!text) {
    return 0;
  }
  if (with_unit(text, second_units, &x) != 0 || x < 0 || x > 1e9) {
    return cli_usage(command, "%s %s: not a duration; write 1s, 20ms, 5us or 100ns", option, text);
  }
  *seconds = x;
  return 0;
}

int cli_duration(const char *command, const char *option, const char *text, const struct tlg_rate *rate, uint64_t *n)
{
  struct tlg_rate seconds;
  char number[64];
  size_t length, unit;
  unsigned __int128 samples, divisor;
  uint64_t scale;

  if (!text) {
    return 0;
  }
  if (strcmp(text, "0") == 0 || strcmp(text, "0s") == 0) {
    *n = 0;
    return 0;
  }
  length = strlen(text);
  unit = length;
  while (unit > 0 && strchr("sumnin", text[unit - 1])) {
    unit--;
  }
  if (strcmp(text + unit, "s") == 0 || text[unit] == '\0') {
    scale = 1;
  } else if (strcmp(text + unit, "ms") == 0) {
    scale = 1000;
  } else if (strcmp(text + unit, "us") == 0) {
    scale = 1000000;
  } else if (strcmp(text + unit, "ns") == 0) {
    scale = 1000000000;
  } else {
    scale = 0;
  }
  if (scale == 0 || unit == 0 || unit >= sizeof number) {
    return cli_usage(command, "%s %s: not a duration; write 1s, 20ms, 5us or 100ns", option, text);
  }
  memcpy(number, text, unit);
  number[unit] = '\0';
  if (strpbrk(number, "kKMG/") || tlg_rate_parse(&seconds, number) != TLG_OK || seconds.num > UINT32_MAX * 1000ull ||
      seconds.den > UINT32_MAX) {
    return cli_usage(command, "%s %s: not a duration; write 1s, 20ms, 5us or 100ns", option, text);
  }
  /* seconds * rate / scale, to the nearest sample, exactly */
  samples = (unsigned __int128)seconds.num * rate->num;
  divisor = (unsigned __int128)seconds.den * rate->den * scale;
  samples = (samples * 2 + divisor) / (divisor * 2);
  if (samples > (unsigned __int128)1 << 60) {
    return cli_usage(command, "%s %s: too long", option, text);
  }
  *n = (uint64_t)samples;
  return 0;
}

int cli_count(const char *command, const char *option, const char *text, uint64_t *n)
{
  struct tlg_rate value;

  if (!text) {
    return 0;
  }
  if (strcmp(text, "0") == 0) {
    *n = 0;
    return 0;
  }
  if (strspn(text, "0123456789") == strlen(text) && strtoull(text, NULL, 10) > (uint64_t)1 << 60) {
    return cli_usage(command, "%s %s: too large", option, text);
  }
  if (tlg_rate_parse(&value, text) != TLG_OK || value.den != 1 || strchr(text, '/') || strchr(text, 'H') ||
      strchr(text, 's') || value.num > (uint64_t)1 << 60) {
    return cli_usage(command, "%s %s: not a whole number; write 625, 25k or 1M", option, text);
  }
  *n = value.num;
  return 0;
}

int cli_whole(const char *command, const char *option, const char *text, uint64_t low, uint64_t high, uint64_t *n)
{
  uint64_t value = low;

  if (cli_count(command, option, text, &value)) {
    return CLI_USAGE;
  }
  if (value < low || value > high) {
    return cli_usage(command, "%s %s: must be from %llu to %llu", option, text, (unsigned long long)low,
                     (unsigned long long)high);
  }
  if (text) {
    *n = value;
  }
  return 0;
}

int cli_real(const char *command, const char *option, const char *text, double low, double high, double *value)
{
  static const struct unit units[] = {{"", 1}, {"dB", 1}, {"dBFS", 1}, {"dBc", 1}, {"%", 1}, {NULL, 0}};
  double x;

  if (!text) {
    return 0;
  }
  if (with_unit(text, units, &x) != 0) {
    return cli_usage(command, "%s %s: not a number", option, text);
  }
  if (x < low || x > high) {
    return cli_usage(command, "%s %s: must be from %g to %g", option, text, low, high);
  }
  *value = x;
  return 0;
}

int cli_format(const char *command, const char *option, const char *text, enum tlg_format *format)
{
  if (text && tlg_format_parse(format, text) != TLG_OK) {
    return cli_usage(command, "%s %s: not a sample format; one of cs16 cf32 cf64 cs8 cu8 cs32", option, text);
  }
  return 0;
}

int cli_cpu(const char *command, const char *option, const char *text, enum tlg_cpu *cpu)
{
  enum tlg_cpu wanted;

  if (!text) {
    return 0;
  }
  if (tlg_cpu_parse(&wanted, text) != TLG_OK) {
    return cli_usage(command, "%s %s: not an instruction set; one of c sse2 avx2 avx512 vnni neon auto", option, text);
  }
#ifdef __x86_64__
  if (wanted == TLG_CPU_NEON) {
#else
  if (wanted > TLG_CPU_C && wanted < TLG_CPU_NEON) {
#endif
    cli_say(command, "%s %s: this processor is of another architecture", option, text);
    return CLI_UNAVAILABLE;
  }
  *cpu = wanted;
  return 0;
}

/* ---- reading a recording ----------------------------------------------------------------------------------- */

struct cli_input cli_input;
struct poptOption cli_input_table[] = {
    {"format", 'f', POPT_ARG_STRING, &cli_input.format, 0, "sample format of the input: cs16 cf32 cf64 cs8 cu8 cs32",
     "FORMAT"},
    {"rate", 'r', POPT_ARG_STRING, &cli_input.rate, 0, "input rate (wins over what the file says)", "RATE"},
    {"from", 0, POPT_ARG_STRING | POPT_ARGFLAG_DOC_HIDDEN, &cli_input.rate, 0, NULL, NULL},
    {"full-scale", 0, POPT_ARG_STRING, &cli_input.full_scale, 0,
     "declared full scale in the file's units (bladeRF: 2048)", "X"},
    {"swap-iq", 0, POPT_ARG_NONE, &cli_input.swap_iq, 0, "exchange I and Q (a mirrored spectrum)", NULL},
    {"conjugate", 0, POPT_ARG_NONE, &cli_input.conjugate, 0, "negate Q", NULL},
    {"rescue", 0, POPT_ARG_NONE, &cli_input.rescue, 0,
     "read a cut recording, or one whose header lies, as far as it goes", NULL},
    {"no-hash", 0, POPT_ARG_NONE, &cli_input.skip_hash, 0, "do not verify core:sha512", NULL},
    {"recording", 0, POPT_ARG_STRING, &cli_input.recording, 0, "which recording of an archive", "NAME"},
    {"channel", 0, POPT_ARG_STRING, &cli_input.channel, 0, "which pair of I and Q of several, from 1", "N"},
    {"start", 0, POPT_ARG_STRING, &cli_input.start, 0, "first sample to read, or its time (20ms)", "N"},
    {"length", 0, POPT_ARG_STRING, &cli_input.length, 0, "samples to read, or their duration", "N"},
    POPT_TABLEEND,
};

struct hint_context {
  const char *command, *path;
};

static void print_hint(void *context, const char *text)
{
  const struct hint_context *h = context;

  cli_say(h->command, "%s: %s", strcmp(h->path, "-") == 0 ? "(stdin)" : h->path, text);
}

/* "1000" as samples, "20ms" as time. */
static int window(const char *command, const char *option, const char *text, uint64_t *samples, uint64_t *ps)
{
  const struct tlg_rate a_second = {1000000000000u, 1};

  return text && text[0] && text[strlen(text) - 1] == 's' ? cli_duration(command, option, text, &a_second, ps)
                                                          : cli_count(command, option, text, samples);
}

int cli_input_cfg(const char *command, const char *path, struct tlg_reader_cfg *cfg)
{
  static struct hint_context contexts[2]; /* IN and OUT of check; they live as long as the readers */
  static unsigned used;
  struct hint_context *h = &contexts[used++ % 2];
  uint64_t channel = 0;
  int status;

  memset(cfg, 0, sizeof *cfg);
  if ((status = cli_format(command, "--format", cli_input.format, &cfg->format)) ||
      (status = cli_rate(command, "--rate", cli_input.rate, &cfg->rate)) ||
      (status = cli_real(command, "--full-scale", cli_input.full_scale, 1e-12, 1e12, &cfg->full_scale)) ||
      (status = window(command, "--start", cli_input.start, &cfg->start, &cfg->start_ps)) ||
      (status = window(command, "--length", cli_input.length, &cfg->length, &cfg->length_ps)) ||
      (status = cli_whole(command, "--channel", cli_input.channel, 1, 1024, &channel))) {
    return status;
  }
  if (cli_input.length && cfg->length == 0 && cfg->length_ps == 0) {
    return cli_usage(command, "--length 0: nothing would be read; leave it out to read to the end");
  }
  cfg->channel = (unsigned)channel;
  cfg->swap_iq = cli_input.swap_iq;
  cfg->conjugate = cli_input.conjugate;
  cfg->rescue = cli_input.rescue;
  cfg->skip_hash = cli_input.skip_hash;
  cfg->recording = cli_input.recording;
  h->command = command;
  h->path = path;
  cfg->hint = print_hint;
  cfg->context = h;
  return 0;
}

/* ---- the resampler ----------------------------------------------------------------------------------------- */

struct cli_resampler cli_resampler;
struct poptOption cli_resampler_table[] = {
    {"out-rate", 'R', POPT_ARG_STRING, &cli_resampler.out_rate, 0, "output rate (30.72M)", "RATE"},
    {"taps", 0, POPT_ARG_STRING, &cli_resampler.taps, 0, "taps a phase (16 for 768/625, else as many as give 80 dB)",
     "T"},
    {"filter", 0, POPT_ARG_STRING, &cli_resampler.filter, 0, "taps from a file (text or JSON)", "FILE"},
    {"pass", 0, POPT_ARG_STRING, &cli_resampler.pass, 0, "pass band edge", "HZ"},
    {"rounding", 0, POPT_ARG_STRING, &cli_resampler.rounding, 0,
     "nearest (half goes up) or usrpl0 (truncated, unsaturated)", "MODE"},
    {"align", 0, POPT_ARG_NONE, &cli_resampler.align, 0, "take the group delay out", NULL},
    {"flush", 0, POPT_ARG_NONE, &cli_resampler.flush, 0, "feed zeros until the last input has left the filter", NULL},
    {"cpu", 0, POPT_ARG_STRING, &cli_resampler.cpu, 0, "cap the instruction set: c sse2 avx2 avx512 vnni neon", "SET"},
    POPT_TABLEEND,
};

int cli_resampler_cfg(const char *command, const struct tlg_rate *rate_in, struct tlg_taps *taps,
                      struct tlg_resamp_cfg *cfg, struct tlg_rate *rate_out)
{
  struct tlg_error err = {0};
  struct tlg_design design = {0};
  uint32_t up = 0, down = 0;
  uint64_t taps_per_phase = 0;
  char in_text[64], out_text[64];
  int status;

  memset(cfg, 0, sizeof *cfg);
  memset(taps, 0, sizeof *taps);
  tlg_rate_make(rate_out, 30720000, 1);
  if ((status = cli_rate(command, "--out-rate", cli_resampler.out_rate, rate_out)) ||
      (status = cli_rate(command, "--pass", cli_resampler.pass, &design.pass_hz)) ||
      (status = cli_cpu(command, "--cpu", cli_resampler.cpu, &cfg->cpu))) {
    return status;
  }
  if (tlg_rate_ratio(rate_in, rate_out, &up, &down) != TLG_OK) {
    return cli_usage(command, "%s to %s: the ratio%s%.0u%s%.0u in lowest terms has a term above 65535",
                     tlg_rate_text(rate_in, in_text, sizeof in_text),
                     tlg_rate_text(rate_out, out_text, sizeof out_text), up ? " " : "", up, up ? "/" : "", down);
  }
  if (cli_resampler.rounding) {
    if (strcmp(cli_resampler.rounding, "nearest") == 0) {
      cfg->rounding = TLG_ROUND_NEAREST;
    } else if (strcmp(cli_resampler.rounding, "usrpl0") == 0) {
      cfg->rounding = TLG_ROUND_USRPL0;
    } else {
      return cli_usage(command, "--rounding %s: one of nearest, usrpl0", cli_resampler.rounding);
    }
  }
  if ((status = cli_whole(command, "--taps", cli_resampler.taps, 1, 4096, &taps_per_phase))) {
    return status;
  }
  if (cli_resampler.filter && (cli_resampler.taps || cli_resampler.pass)) {
    return cli_usage(command, "--filter brings its own taps: leave out --taps and --pass");
  }
  if (cli_resampler.align && cli_resampler.flush) {
    return cli_usage(command, "--align and --flush exclude each other: aligned outputs end with the input");
  }
  if (cli_resampler.filter) {
    status = tlg_taps_load(taps, cli_resampler.filter, &err);
    if (status == TLG_OK && taps->up != up) {
      status = tlg_error_set(&err, TLG_ETAPS, "the taps are for L = %u, but %s to %s is %u/%u", taps->up,
                             tlg_rate_text(rate_in, in_text, sizeof in_text),
                             tlg_rate_text(rate_out, out_text, sizeof out_text), up, down);
      tlg_taps_free(taps);
      memset(taps, 0, sizeof *taps);
    }
  } else if (cli_resampler.taps || cli_resampler.pass) {
    design.rate_in = *rate_in;
    design.rate_out = *rate_out;
    design.taps_per_phase = (unsigned)taps_per_phase;
    status = tlg_taps_design(taps, &design, &err);
  } else {
    status = tlg_taps_default(taps, rate_in, rate_out, &err);
  }
  if (status != TLG_OK) {
    return cli_fail(command, cli_resampler.filter, &err);
  }
  cfg->up = up;
  cfg->down = down;
  cfg->taps = taps;
  cfg->align = cli_resampler.align;
  return 0;
}
