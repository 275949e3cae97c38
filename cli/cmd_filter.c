/* SPDX-License-Identifier: Apache-2.0 */
/* taplag filter: design or load taps; report response, phases, delay and margins; export. */
#include "cli.h"
#include "gcd.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NAME "filter"
#define MOST_POINTS 1600
#define POINT_WORK 30000000.0 /* taps times points of a response file: keeps a million taps to seconds */

static struct {
  char *rate, *out_rate, *filter, *pass, *stop, *method, *stop_weight, *n_taps, *beta, *image_limit, *ripple_limit;
  char *output, *response, *plot, *taps, *shift;
  int align, redesign, force, json;
} opt;

static const struct poptOption table[] = {
    {"rate", 'r', POPT_ARG_STRING, &opt.rate, 0, "input rate (25M)", "RATE"},
    {"out-rate", 'R', POPT_ARG_STRING, &opt.out_rate, 0, "output rate (30.72M)", "RATE"},
    {"filter", 0, POPT_ARG_STRING, &opt.filter, 0, "report on the taps of this file (text or JSON) instead", "FILE"},
    {"method", 'm', POPT_ARG_STRING, &opt.method, 0,
     "kaiser (when a length or band is given), equiripple, least-squares", "NAME"},
    {"taps", 't', POPT_ARG_STRING, &opt.taps, 0,
     "taps a phase (16 for 768/625, 20 for 625/768; for others or with --pass as many as give 80 dB)", "T"},
    {"n-taps", 'n', POPT_ARG_STRING, &opt.n_taps, 0, "taps in all, exactly (the largest odd number up to T*L)", "N"},
    {"pass", 0, POPT_ARG_STRING, &opt.pass, 0, "pass band edge (9.0075M, at most 0.3603 of the smaller rate)", "HZ"},
    {"stop", 0, POPT_ARG_STRING, &opt.stop, 0, "stop band edge (the smaller rate less --pass)", "HZ"},
    {"stop-weight", 0, POPT_ARG_STRING, &opt.stop_weight, 0,
     "equiripple, least-squares: weight of the stop band against the pass band (1)", "W"},
    {"image-limit", 0, POPT_ARG_STRING, &opt.image_limit, 0, "least-squares: no image may exceed this", "DB"},
    {"ripple-limit", 0, POPT_ARG_STRING, &opt.ripple_limit, 0, "least-squares: the gain in the band may be off by this",
     "DB"},
    {"beta", 0, POPT_ARG_STRING, &opt.beta, 0, "kaiser: shape of the window (chosen)", "BETA"},
    {"shift", 's', POPT_ARG_STRING, &opt.shift, 0, "taps are scaled by 2^S (14)", "S"},
    {"redesign", 0, POPT_ARG_NONE, &opt.redesign, 0, "design the default anew instead of taking the built-in taps",
     NULL},
    {"align", 0, POPT_ARG_NONE, &opt.align, 0, "state what delay is left when the resampler aligns", NULL},
    {"output", 'o', POPT_ARG_STRING, &opt.output, 0, "write the taps: JSON if the name ends in .json, else text",
     "FILE"},
    {"response", 0, POPT_ARG_STRING, &opt.response, 0, "write frequency and gain as CSV", "FILE"},
    {"plot", 0, POPT_ARG_STRING, &opt.plot, 0, "draw the response (.svg or .png)", "FILE"},
    {"force", 0, POPT_ARG_NONE, &opt.force, 0, "overwrite existing files", NULL},
    {"json", 0, POPT_ARG_NONE, &opt.json, 0, "print the report as JSON", NULL},
    POPT_TABLEEND,
};

/* What the report is about. */
struct subject {
  struct tlg_rate rate_in, rate_out;
  uint32_t up, down;
  const char *origin; /* "built in", "designed", "file" */
  int designed;       /* design holds how the taps are (or were) made */
  struct tlg_design design;
  struct tlg_rate pass, stop;
  struct tlg_taps taps;
  char hash[65];
  struct tlg_response response;
  struct tlg_phases phases;
  double *prototype; /* what the integers approximate, times 2^S; NULL = not known */
};

static const char *const methods[] = {"kaiser", "equiripple", "least-squares"};

static double db(double power)
{
  return 10.0 * log10(power);
}

/* ---- what is asked for ------------------------------------------------------------------------------------- */

static int is_design(void)
{
  return opt.method || opt.taps || opt.n_taps || opt.pass || opt.stop || opt.stop_weight || opt.image_limit ||
         opt.ripple_limit || opt.beta;
}

static int read_method(enum tlg_design_method *method)
{
  size_t i;

  for (i = 0; opt.method && i < sizeof methods / sizeof *methods; i++) {
    if (strcmp(opt.method, methods[i]) == 0) {
      *method = (enum tlg_design_method)i;
      return 0;
    }
  }
  return opt.method ? cli_usage(NAME, "--method %s: one of kaiser, equiripple, least-squares", opt.method) : 0;
}

/* The options as a design; 0 or an exit status. */
static int read_design(struct subject *s)
{
  struct tlg_design *d = &s->design;
  struct tlg_error err;
  uint64_t n = 0, taps = 0, shift = 0;
  int st;

  if (!is_design() && tlg_design_default(d, &s->rate_in, &s->rate_out, &err) != TLG_OK) {
    return cli_fail(NAME, NULL, &err);
  }
  d->rate_in = s->rate_in;
  d->rate_out = s->rate_out;
  if (opt.taps && opt.n_taps) {
    return cli_usage(NAME, "--taps and --n-taps both give the length: leave one out");
  }
  if ((st = read_method(&d->method)) || (st = cli_whole(NAME, "--taps", opt.taps, 1, 4096, &taps)) ||
      (st = cli_whole(NAME, "--shift", opt.shift, 1, 15, &shift)) ||
      (st = cli_count(NAME, "--n-taps", opt.n_taps, &n)) || (st = cli_rate(NAME, "--pass", opt.pass, &d->pass_hz)) ||
      (st = cli_rate(NAME, "--stop", opt.stop, &d->stop_hz)) ||
      (st = cli_real(NAME, "--stop-weight", opt.stop_weight, 1e-6, 1e6, &d->stop_weight)) ||
      (st = cli_real(NAME, "--image-limit", opt.image_limit, -300.0, -1.0, &d->image_limit_db)) ||
      (st = cli_real(NAME, "--ripple-limit", opt.ripple_limit, 1e-6, 20.0, &d->ripple_limit_db)) ||
      (st = cli_real(NAME, "--beta", opt.beta, 1e-3, 100.0, &d->kaiser_beta))) {
    return st;
  }
  if (opt.n_taps && n == 0) {
    return cli_usage(NAME, "--n-taps 0: at least one tap is needed");
  }
  if (d->method == TLG_DESIGN_KAISER ? opt.stop_weight || opt.image_limit || opt.ripple_limit : opt.beta != NULL) {
    return cli_usage(NAME, "--method %s does not use %s", methods[d->method],
                     opt.beta          ? "--beta"
                     : opt.stop_weight ? "--stop-weight"
                     : opt.image_limit ? "--image-limit"
                                       : "--ripple-limit");
  }
  if (d->method == TLG_DESIGN_EQUIRIPPLE && (opt.image_limit || opt.ripple_limit)) {
    return cli_usage(NAME, "--method equiripple has no limits: the weight divides the ripple");
  }
  d->n_taps = (size_t)n;
  d->taps_per_phase = (unsigned)taps;
  d->shift = shift ? (unsigned)shift : d->shift;
  return 0;
}

/* Taps by file, from the library's data, or designed. */
static int get_taps(struct subject *s)
{
  struct tlg_design again;
  struct tlg_error err;
  size_t n, k;
  int st;

  if (opt.filter) {
    s->origin = "file";
    st = tlg_taps_load(&s->taps, opt.filter, &err);
    if (st != TLG_OK) {
      return cli_fail(NAME, opt.filter, &err);
    }
    if (s->taps.up != s->up) {
      tlg_error_set(&err, TLG_ETAPS, "the taps are for L = %lu, but the rates have %lu/%lu: give --rate and --out-rate",
                    (unsigned long)s->taps.up, (unsigned long)s->up, (unsigned long)s->down);
      return cli_fail(NAME, opt.filter, &err);
    }
  } else {
    const int built_in = !is_design() && !opt.shift && !opt.redesign;

    st = built_in ? tlg_taps_default(&s->taps, &s->rate_in, &s->rate_out, &err)
                  : tlg_taps_design(&s->taps, &s->design, &err);
    if (st != TLG_OK) {
      return cli_fail(NAME, NULL, &err);
    }
    s->origin = built_in ? "default" : "designed";
    s->designed = 1;
  }
  /* The bands, also for a file: those of the default design unless the options tell. */
  again = s->design;
  st = tlg_design_complete(&again, &err);
  if (st != TLG_OK && opt.filter) { /* lengths do not matter here */
    again.n_taps = s->taps.n;
    st = tlg_design_complete(&again, &err);
  }
  if (st != TLG_OK) {
    return cli_fail(NAME, NULL, &err);
  }
  s->pass = again.pass_hz;
  s->stop = again.stop_hz;
  if (s->designed) {
    if (tlg_design_prototype(&s->prototype, &n, &s->design, &err) != TLG_OK) {
      return cli_fail(NAME, NULL, &err);
    }
    s->design = again;
    if (n != s->taps.n) { /* cannot be: both follow from the same design */
      free(s->prototype);
      s->prototype = NULL;
    }
    for (k = 0; s->prototype && k < n; k++) {
      s->prototype[k] *= (double)(1 << s->taps.shift);
    }
  }
  return 0;
}

/* ---- the report ---------------------------------------------------------------------------------------------- */

/* num/den in lowest terms; 0 becomes 0/1, which tlg_rate_make refuses. */
static struct tlg_rate fraction(uint64_t num, uint64_t den)
{
  struct tlg_rate f = {0, 1};

  if (num) {
    tlg_rate_make(&f, num, den);
  }
  return f;
}

static const char *fraction_text(const struct tlg_rate *f, char *text, size_t size)
{
  if (f->den == 1) {
    snprintf(text, size, "%llu", (unsigned long long)f->num);
  } else {
    snprintf(text, size, "%llu/%llu = %.6f", (unsigned long long)f->num, (unsigned long long)f->den,
             (double)f->num / (double)f->den);
  }
  return text;
}

struct delay {
  struct tlg_rate inputs, outputs, microseconds, steps; /* steps of LTE's timing advance, 16/30.72 us */
  int exact;                                            /* symmetric taps; else nominal */
  uint64_t advance;                                     /* whole outputs to advance by */
  double rest;                                          /* outputs by which that is too little */
  struct tlg_rate aligned;                              /* outputs left with --align */
};

/* a*b/(c*d) reduced before it is multiplied, so that long rates fit; {0, 1} when they do not. */
static struct tlg_rate product(struct tlg_rate a, uint64_t num, uint64_t den)
{
  const uint64_t g = tlg_gcd(a.num, den), f = tlg_gcd(num, a.den);
  struct tlg_rate r = {0, 1};

  if (a.num && num / f <= UINT64_MAX / (a.num / g) && den / g <= UINT64_MAX / (a.den / f)) {
    tlg_rate_make(&r, a.num / g * (num / f), a.den / f * (den / g));
  }
  return r;
}

static void get_delay(struct delay *d, const struct subject *s)
{
  const uint64_t n = s->taps.n;

  d->exact = tlg_taps_symmetric(&s->taps);
  d->inputs = fraction(n - 1, 2 * (uint64_t)s->up);
  d->outputs = fraction(n - 1, 2 * (uint64_t)s->down);
  d->microseconds = product(product(d->inputs, s->rate_in.den, s->rate_in.num), 1000000, 1);
  d->steps = product(d->microseconds, 3072, 1600); /* 30.72 / 16 */
  d->advance = (d->outputs.num * 2 + d->outputs.den) / (2 * d->outputs.den);
  d->rest = (double)d->outputs.num / (double)d->outputs.den - (double)d->advance;
  d->aligned = n % 2 ? fraction(0, 1) : fraction(1, 2 * (uint64_t)s->down);
}

/* Distance of the integers from the prototype. */
struct rounding {
  double rms, most; /* in units */
  double white,
      band; /* what it adds to the output, images included: for white input, and for one that fills the band */
};

static void get_rounding(const struct subject *s, struct rounding *r)
{
  const double pass = tlg_rate_hz(&s->pass) / tlg_rate_hz(&s->rate_in), full = (double)(1 << s->taps.shift);
  const size_t longest = (s->taps.n + s->up - 1) / s->up;
  double sum = 0.0, *lag = calloc(longest, sizeof *lag);
  size_t k, d;

  memset(r, 0, sizeof *r);
  for (k = 0; k < s->taps.n; k++) {
    const double e = s->taps.h[k] - s->prototype[k];

    sum += e * e;
    r->most = fabs(e) > r->most ? fabs(e) : r->most;
    for (d = 0; lag && d < longest && k + d * s->up < s->taps.n; d++) {
      lag[d] += e * (s->taps.h[k + d * s->up] - s->prototype[k + d * s->up]);
    }
  }
  r->rms = sqrt(sum / (double)s->taps.n);
  r->white = sum / (double)s->up / full / full;
  for (d = 0; lag && d < longest; d++) { /* correlation of a signal that fills +-pass: sin(2 pi pass d)/(2 pi pass d) */
    double c, sine = 0.0;

    tlg_cos_sin((uint64_t)(pass * 1073741824.0 + 0.5) * d, (uint64_t)1 << 30, &c, &sine);
    r->band += d ? 2.0 * lag[d] * sine / (6.28318530717958647693 * pass * (double)d) : lag[0];
  }
  r->band = r->band / (double)s->up / full / full;
  free(lag);
}

static uint64_t largest_output(const struct subject *s)
{
  return (s->phases.magnitude * 32768 + ((uint64_t)1 << (s->taps.shift - 1))) >> s->taps.shift;
}

static double ripple(const struct subject *s)
{
  return 2.0 * db(s->response.gain_max / s->response.gain_min);
}

static double deviation(const struct subject *s)
{
  const double high = fabs(2.0 * db(s->response.gain_max)), low = fabs(2.0 * db(s->response.gain_min));

  return high > low ? high : low;
}

static const char *level(double power, char *text, size_t size, const char *unit)
{
  if (power > 0.0) {
    snprintf(text, size, "%.2f %s", db(power), unit);
  } else {
    snprintf(text, size, "none");
  }
  return text;
}

/* The rates as whole numbers over a common denominator, and what they have in common. {0, 0, 0} if that overflows. */
struct reduction {
  uint64_t out, in, common;
};

static struct reduction reduction(const struct subject *s)
{
  const uint64_t g = tlg_gcd(s->rate_in.den, s->rate_out.den), fi = s->rate_out.den / g, fo = s->rate_in.den / g;
  struct reduction r = {0, 0, 0};

  if (s->rate_in.num <= UINT64_MAX / fi && s->rate_out.num <= UINT64_MAX / fo) {
    r.in = s->rate_in.num * fi;
    r.out = s->rate_out.num * fo;
    r.common = tlg_gcd(r.in, r.out);
  }
  return r;
}

static void print_design(const struct subject *s, FILE *out)
{
  const struct tlg_design *d = &s->design;

  if (!s->designed) {
    fprintf(out, "origin            file %s\n", opt.filter);
    return;
  }
  fprintf(out, "origin            %s: %s", s->origin, s->taps.n == 1 ? "one tap" : methods[d->method]);
  if (s->taps.n > 1 && d->method == TLG_DESIGN_KAISER) {
    fprintf(out, ", beta %.4f", d->kaiser_beta);
  } else if (s->taps.n > 1) {
    fprintf(out, ", stop weight %g", d->stop_weight);
    if (d->image_limit_db < 0.0) {
      fprintf(out, ", image limit %g dB", d->image_limit_db);
    }
    if (d->ripple_limit_db > 0.0) {
      fprintf(out, ", ripple limit %g dB", d->ripple_limit_db);
    }
  }
  fputc('\n', out);
}

static void print_gain(const struct subject *s, FILE *out)
{
  const int64_t unit = (int64_t)1 << s->taps.shift;

  if (s->phases.sum_min == unit && s->phases.sum_max == unit) {
    fprintf(out, "gain of phases    all %lu sum to exactly 2^%u\n", (unsigned long)s->up, s->taps.shift);
  } else {
    fprintf(out, "gain of phases    %lld (phase %lu) to %lld (phase %lu), not all 2^%u = %lld: %.5f to %.5f dB\n",
            (long long)s->phases.sum_min, (unsigned long)s->phases.sum_min_at, (long long)s->phases.sum_max,
            (unsigned long)s->phases.sum_max_at, s->taps.shift, (long long)unit,
            s->phases.sum_min > 0 ? 2.0 * db((double)s->phases.sum_min / (double)unit) : -HUGE_VAL,
            s->phases.sum_max > 0 ? 2.0 * db((double)s->phases.sum_max / (double)unit) : -HUGE_VAL);
  }
}

static void print_report(const struct subject *s, FILE *out)
{
  const struct reduction r = reduction(s);
  const uint64_t largest = largest_output(s);
  const struct tlg_response *p = &s->response;
  struct delay d;
  struct rounding e;
  char a[80], b[80];

  get_delay(&d, s);
  fprintf(out, "rates             %s to %s\n", tlg_rate_text(&s->rate_in, a, sizeof a),
          tlg_rate_text(&s->rate_out, b, sizeof b));
  fprintf(out, "ratio             L/M = %lu/%lu", (unsigned long)s->up, (unsigned long)s->down);
  if (r.common) {
    fprintf(out, " (%llu/%llu, common factor %llu)", (unsigned long long)r.out, (unsigned long long)r.in,
            (unsigned long long)r.common);
  }
  fprintf(out, "\ntaps              N = %zu, T = %zu a phase, S = %u, %s\n", s->taps.n, (s->taps.n + s->up - 1) / s->up,
          s->taps.shift, d.exact ? "symmetric" : "not symmetric");
  print_design(s, out);
  fprintf(out, "sha256            %s\n", s->hash);
  fprintf(out, "bands             pass to %.6f MHz, stop from %.6f MHz\n", tlg_rate_hz(&s->pass) / 1e6,
          tlg_rate_hz(&s->stop) / 1e6);
  print_gain(s, out);
  if (s->prototype) {
    get_rounding(s, &e);
    fprintf(out, "rounding error    %.3f of a unit rms, at most %.3f; adds %s to a signal that fills the band (", e.rms,
            e.most, level(e.band, a, sizeof a, "dB"));
    fprintf(out, "white input: %s)\n", level(e.white, a, sizeof a, "dB"));
  } else {
    fprintf(out, "rounding error    not known: the taps came as integers\n");
  }
  fprintf(out, "ripple            %.4f dB over +-%.4f MHz (at most %.4f dB from 0)\n", ripple(s),
          tlg_rate_hz(&s->pass) / 1e6, deviation(s));
  fprintf(out, "in-band error     signal to error %s (gain %s, ",
          p->error > 0.0 ? level(1.0 / p->error, a, sizeof a, "dB") : "without limit",
          level(p->error_gain, b, sizeof b, "dB"));
  fprintf(out, "images that fold in %s)\n", level(p->error_images, a, sizeof a, "dB"));
  fprintf(out, "worst image       %s", level(p->image_worst, a, sizeof a, "dBc"));
  if (p->image_worst > 0.0) {
    fprintf(out, " at %.4f MHz, of a tone at %.4f MHz", p->image_hz / 1e6, p->image_from_hz / 1e6);
  }
  fprintf(out, "\nall images        %s\n", level(p->image_total, a, sizeof a, "dBc"));
  fprintf(out, "worst alias       %s", level(p->alias_worst, a, sizeof a, "dB"));
  if (p->alias_worst > 0.0) {
    fprintf(out, " into the band, of a tone at %.4f MHz", p->alias_from_hz / 1e6);
  }
  fprintf(out, "\ndelay             %s%s inputs\n", d.exact ? "" : "nominal ", fraction_text(&d.inputs, a, sizeof a));
  fprintf(out, "                  %s outputs\n", fraction_text(&d.outputs, a, sizeof a));
  fprintf(out, "                  %s us\n", fraction_text(&d.microseconds, a, sizeof a));
  fprintf(out, "                  %s LTE timing-advance steps of 16/30.72 us\n", fraction_text(&d.steps, a, sizeof a));
  fprintf(out, "                  advance by %llu outputs to take it out; %+.6f of one stays\n",
          (unsigned long long)d.advance, d.rest);
  if (opt.align) {
    fprintf(out, "with --align      %s outputs\n",
            d.aligned.num ? fraction_text(&d.aligned, a, sizeof a) : "nothing is left: 0");
  }
  fprintf(out, "overflow          largest phase sum of |h| %llu (phase %lu) of %llu allowed: %.2f dB left\n",
          (unsigned long long)s->phases.magnitude, (unsigned long)s->phases.magnitude_at,
          (unsigned long long)s->phases.magnitude_limit,
          2.0 * db((double)s->phases.magnitude_limit / (double)s->phases.magnitude));
  fprintf(out, "largest output    %llu before saturation: full-scale input %s\n", (unsigned long long)largest,
          largest > 32767 ? "can saturate" : "cannot saturate");
}

static json_t *fraction_json(const struct tlg_rate *f)
{
  return json_pack("{s:I,s:I,s:o}", "num", (json_int_t)f->num, "den", (json_int_t)f->den, "value",
                   cli_number((double)f->num / (double)f->den, 9));
}

static json_t *level_json(double power)
{
  return cli_number(db(power), 2);
}

static json_t *report_json(const struct subject *s)
{
  const struct reduction r = reduction(s);
  const struct tlg_response *p = &s->response;
  json_t *design = json_null(), *rounding = json_null();
  struct delay d;
  struct rounding e;

  get_delay(&d, s);
  if (s->designed) {
    design = json_pack(
        "{s:s,s:o,s:o,s:o,s:o}", "method", s->taps.n == 1 ? "one tap" : methods[s->design.method], "stop_weight",
        cli_number(s->design.stop_weight, 6), "beta",
        s->design.kaiser_beta > 0.0 ? cli_number(s->design.kaiser_beta, 6) : json_null(), "image_limit_db",
        s->design.image_limit_db < 0.0 ? cli_number(s->design.image_limit_db, 6) : json_null(), "ripple_limit_db",
        s->design.ripple_limit_db > 0.0 ? cli_number(s->design.ripple_limit_db, 6) : json_null());
  }
  if (s->prototype) {
    get_rounding(s, &e);
    rounding = json_pack("{s:o,s:o,s:o,s:o}", "rms", cli_number(e.rms, 4), "max", cli_number(e.most, 4), "band_db",
                         level_json(e.band), "white_db", level_json(e.white));
  }
  return json_pack("{s:o,s:o,s:i,s:i,s:I,s:I,s:I,s:i,s:b,s:s,s:o,s:s,s:o,s:o,"
                   "s:{s:I,s:I,s:b},s:o,s:o,s:o,s:o,s:o,s:o,s:{s:o,s:o,s:o},s:o,s:{s:o,s:o},"
                   "s:{s:b,s:o,s:o,s:o,s:o,s:I,s:o,s:o},s:{s:I,s:I,s:I,s:I,s:b}}",
                   "rate", cli_rate_json(&s->rate_in), "out_rate", cli_rate_json(&s->rate_out), "up", (int)s->up,
                   "down", (int)s->down, "common_factor", (json_int_t)r.common, "n", (json_int_t)s->taps.n,
                   "taps_per_phase", (json_int_t)((s->taps.n + s->up - 1) / s->up), "shift", (int)s->taps.shift,
                   "symmetric", d.exact, "origin", s->origin, "design", design, "sha256", s->hash, "pass_hz",
                   cli_number(tlg_rate_hz(&s->pass), 3), "stop_hz", cli_number(tlg_rate_hz(&s->stop), 3),
                   /* phases */
                   "phase_sums", "min", (json_int_t)s->phases.sum_min, "max", (json_int_t)s->phases.sum_max, "exact",
                   s->phases.sum_min == s->phases.sum_max && s->phases.sum_min == (int64_t)1 << s->taps.shift,
                   "rounding", rounding, "ripple_db", cli_number(ripple(s), 5), "deviation_db",
                   cli_number(deviation(s), 5), "signal_to_error_db", level_json(1.0 / p->error), "error_gain_db",
                   level_json(p->error_gain), "error_images_db", level_json(p->error_images),
                   /* images and aliases */
                   "worst_image", "dbc", level_json(p->image_worst), "hz", cli_number(p->image_hz, 1), "of_hz",
                   cli_number(p->image_from_hz, 1), "all_images_dbc", level_json(p->image_total), "worst_alias", "db",
                   level_json(p->alias_worst), "of_hz", cli_number(p->alias_from_hz, 1),
                   /* delay */
                   "delay", "exact", d.exact, "inputs", fraction_json(&d.inputs), "outputs", fraction_json(&d.outputs),
                   "us", fraction_json(&d.microseconds), "timing_advance_steps", fraction_json(&d.steps),
                   "advance_outputs", (json_int_t)d.advance, "rest_outputs", cli_number(d.rest, 9), "aligned_outputs",
                   fraction_json(&d.aligned),
                   /* margins */
                   "margin", "phase_magnitude", (json_int_t)s->phases.magnitude, "phase",
                   (json_int_t)s->phases.magnitude_at, "limit", (json_int_t)s->phases.magnitude_limit, "largest_output",
                   (json_int_t)largest_output(s), "can_saturate", largest_output(s) > 32767);
}

/* ---- files --------------------------------------------------------------------------------------------------- */

static int has_suffix(const char *path, const char *suffix)
{
  const size_t n = strlen(path), m = strlen(suffix);

  return n >= m && strcmp(path + n - m, suffix) == 0;
}

static int write_file(const char *path, const char *text, size_t n)
{
  struct tlg_outfile *f = NULL;
  struct tlg_error err;

  if (tlg_outfile_open(&f, path, opt.force, &err) != TLG_OK) {
    return cli_fail(NAME, path, &err);
  }
  if (tlg_outfile_write(f, text, n, &err) != TLG_OK) {
    tlg_outfile_abort(f);
    return cli_fail(NAME, path, &err);
  }
  return tlg_outfile_close(f, &err) == TLG_OK ? 0 : cli_fail(NAME, path, &err);
}

static char *taps_json(const struct subject *s)
{
  json_t *list = json_array(), *root;
  char *text;
  size_t k;

  for (k = 0; list && k < s->taps.n; k++) {
    json_array_append_new(list, json_integer(s->taps.h[k]));
  }
  root = json_pack("{s:i,s:i,s:I,s:s,s:o}", "shift", (int)s->taps.shift, "up", (int)s->up, "n", (json_int_t)s->taps.n,
                   "sha256", s->hash, "taps", list);
  text = root ? json_dumps(root, JSON_COMPACT) : NULL;
  json_decref(root);
  if (text) { /* files end with a line end */
    const size_t n = strlen(text);
    char *more = realloc(text, n + 2);

    if (!more) {
      free(text);
      return NULL;
    }
    memcpy(more + n, "\n", 2);
    text = more;
  }
  return text;
}

static int write_taps(const struct subject *s)
{
  static const char *const later[] = {".coe", ".mem", ".hex", ".mif", ".h", ".c", ".npy", ".mat", ".csv"};
  char *text;
  size_t i;
  int st;

  for (i = 0; i < sizeof later / sizeof *later; i++) {
    if (has_suffix(opt.output, later[i])) {
      cli_say(NAME, "%s: taps are written as text (.txt) or JSON (.json); %s is not built in", opt.output, later[i]);
      return CLI_UNAVAILABLE;
    }
  }
  text = has_suffix(opt.output, ".json") ? taps_json(s) : tlg_taps_text(&s->taps);
  if (!text) {
    cli_say(NAME, "out of memory");
    return CLI_SYSTEM;
  }
  st = write_file(opt.output, text, strlen(text));
  free(text);
  return st;
}

/* The response from 0 to three times the input rate (or half the prototype's) as lines "MHz<separator>dB". */
static char *response_text(const struct subject *s, const char *separator)
{
  const uint64_t den = 2 * MOST_POINTS;
  const double work = (double)s->taps.n * MOST_POINTS;
  const unsigned steps = work > POINT_WORK ? (unsigned)(POINT_WORK / (double)s->taps.n) + 10 : MOST_POINTS;
  const uint64_t span = s->up < 6 ? s->up * den / 2 : 3 * den;
  char *text = NULL;
  size_t size;
  FILE *memory = open_memstream(&text, &size);
  unsigned i;

  for (i = 0; memory && i <= steps; i++) {
    const uint64_t num = span * i / steps;
    const double gain = tlg_taps_gain(&s->taps, num, den);

    fprintf(memory, "%.6f%s%.3f\n", (double)num / (double)den * tlg_rate_hz(&s->rate_in) / 1e6, separator,
            2.0 * db(gain > 1e-10 ? gain : 1e-10));
  }
  if (memory && fclose(memory) != 0) {
    free(text);
    text = NULL;
  }
  return text;
}

static int write_response(const struct subject *s)
{
  static const char head[] = "frequency_mhz,gain_db\n";
  char *text = response_text(s, ","), *whole;
  size_t n;
  int st;

  whole = text ? malloc(n = strlen(head) + strlen(text) + 1) : NULL;
  if (!whole) {
    free(text);
    cli_say(NAME, "out of memory");
    return CLI_SYSTEM;
  }
  snprintf(whole, n, "%s%s", head, text);
  st = write_file(opt.response, whole, n - 1);
  free(text);
  free(whole);
  return st;
}

static int draw(const struct subject *s)
{
  static const char form[] =
      "set title '%zu taps, L/M = %lu/%lu'\nset xlabel 'frequency (MHz)'\nset ylabel 'gain (dB)'\n"
      "set grid\nset yrange [-120:5]\nset arrow from %.6f, -120 to %.6f, 5 nohead dashtype 2\n"
      "set arrow from %.6f, -120 to %.6f, 5 nohead dashtype 3\n$response << END\n%sEND\n"
      "plot $response using 1:2 with lines title 'response'\n";
  const double pass = tlg_rate_hz(&s->pass) / 1e6, stop = tlg_rate_hz(&s->stop) / 1e6;
  char *text = response_text(s, " "), *script;
  size_t n;
  int st;

  script = text ? malloc(n = sizeof form + strlen(text) + 200) : NULL;
  if (!script) {
    free(text);
    cli_say(NAME, "out of memory");
    return CLI_SYSTEM;
  }
  snprintf(script, n, form, s->taps.n, (unsigned long)s->up, (unsigned long)s->down, pass, pass, stop, stop, text);
  st = cli_gnuplot(NAME, script, opt.plot, opt.force);
  free(text);
  free(script);
  return st;
}

static int run(struct subject *s)
{
  const int on_stdout =
      (opt.output && strcmp(opt.output, "-") == 0) || (opt.response && strcmp(opt.response, "-") == 0);
  FILE *out = cli_results(on_stdout);
  struct tlg_error err;
  char a[80], b[80];
  int st;

  tlg_rate_make(&s->rate_in, 25000000, 1);
  tlg_rate_make(&s->rate_out, 30720000, 1);
  if ((st = cli_rate(NAME, "--rate", opt.rate, &s->rate_in)) ||
      (st = cli_rate(NAME, "--out-rate", opt.out_rate, &s->rate_out))) {
    return st;
  }
  if (tlg_rate_ratio(&s->rate_in, &s->rate_out, &s->up, &s->down) != TLG_OK) {
    return cli_usage(NAME, "%s to %s: the ratio in lowest terms has a term above 65535",
                     tlg_rate_text(&s->rate_in, a, sizeof a), tlg_rate_text(&s->rate_out, b, sizeof b));
  }
  if (opt.filter && (opt.method || opt.taps || opt.n_taps || opt.stop_weight || opt.image_limit || opt.ripple_limit ||
                     opt.beta || opt.shift || opt.redesign)) {
    return cli_usage(NAME, "--filter brings its own taps: only --pass and --stop go with it");
  }
  if ((st = read_design(s)) || (st = get_taps(s))) {
    return st;
  }
  tlg_taps_hash(&s->taps, s->hash);
  tlg_taps_phases(&s->taps, &s->phases);
  if (tlg_taps_response(&s->response, &s->taps, &s->rate_in, &s->rate_out, &s->pass, &err) != TLG_OK) {
    return cli_fail(NAME, opt.filter, &err);
  }
  if ((opt.output && (st = write_taps(s))) || (opt.response && (st = write_response(s))) ||
      (opt.plot && (st = draw(s)))) {
    return st;
  }
  if (opt.json) {
    return cli_print_json(NAME, report_json(s), out);
  }
  print_report(s, out);
  return cli_finish(NAME, out, CLI_DONE);
}

int cmd_filter(int argc, const char **argv)
{
  static const char text[] =
      "Without options it reports on the taps that resample and replay use for these rates. A length or band without\n"
      "--method designs by Kaiser's window, as they do. Figures are of the integer taps; powers are relative to a "
      "signal\n"
      "that fills the pass band.\n";
  struct cli_options options;
  struct subject s;
  int st;

  memset(&opt, 0, sizeof opt);
  memset(&s, 0, sizeof s);
  st = cli_options(&options, argv[0], argc, argv, table, text, 0, 0);
  if (st < 0) {
    st = run(&s);
    cli_options_free(&options);
  }
  tlg_taps_free(&s.taps);
  free(s.prototype);
  return st;
}
