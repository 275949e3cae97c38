/* SPDX-License-Identifier: Apache-2.0 */
/* Runs gnuplot on scripts with inline data, and writes those scripts. */
#include "plot.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static const char *terminal(const char *path)
{
  const char *dot = strrchr(path, '.');

  if (dot && strcasecmp(dot, ".png") == 0) {
    return "pngcairo size 1400,900 enhanced font 'Sans,13' background '#ffffff'";
  }
  if (dot && strcasecmp(dot, ".svg") == 0) {
    return "svg size 1400,900 enhanced font 'Sans,14' background '#ffffff'";
  }
  return NULL;
}

int cli_plot_ready(const char *command, const char *path, int force)
{
  struct stat st;

  if (!terminal(path)) {
    return cli_usage(command, "--plot %s: the name must end in .svg or .png", path);
  }
  if (!force && stat(path, &st) == 0 && S_ISREG(st.st_mode)) {
    return cli_usage(command, "%s: exists; --force overwrites it", path);
  }
  return 0;
}

/* gnuplot reads the script from a temporary file and the picture comes back through a pipe, so that no file of its own
 * making can be left half written. Returns an exit status; the picture in *bytes, to be freed. */
static int run_gnuplot(const char *command, const char *term, const char *script, char **bytes, size_t *size)
{
  FILE *in = tmpfile(), *messages = tmpfile();
  posix_spawn_file_actions_t actions;
  char *const argv[] = {"gnuplot", "-", NULL};
  int out[2] = {-1, -1}, status = CLI_SYSTEM, wait_status = 0, rc;
  size_t room = 0;
  pid_t pid;

  *bytes = NULL;
  *size = 0;
  if (!in || !messages || pipe2(out, O_CLOEXEC) != 0) {
    cli_say(command, "cannot run gnuplot: %s", strerror(errno));
    goto close;
  }
  fprintf(in, "set terminal %s\n%s\nexit\n", term, script);
  if (fflush(in) != 0 || fseek(in, 0, SEEK_SET) != 0) {
    cli_say(command, "cannot hand the plot to gnuplot: %s", strerror(errno));
    goto close;
  }
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, fileno(in), 0);
  posix_spawn_file_actions_adddup2(&actions, out[1], 1);
  posix_spawn_file_actions_adddup2(&actions, fileno(messages), 2);
  rc = posix_spawnp(&pid, "gnuplot", &actions, NULL, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(out[1]);
  out[1] = -1;
  if (rc != 0) {
    cli_say(command,
            rc == ENOENT ? "no plot: gnuplot is not installed; apt-get install gnuplot-nox"
                         : "no plot: gnuplot cannot be started (%s)",
            strerror(rc));
    status = CLI_UNAVAILABLE;
    goto close;
  }
  for (;;) {
    ssize_t n;

    if (*size == room) {
      char *more = realloc(*bytes, room = room ? 2 * room : 1 << 16);

      if (!more) {
        break;
      }
      *bytes = more;
    }
    n = read(out[0], *bytes + *size, room - *size);
    if (n > 0) {
      *size += (size_t)n;
    } else if (n == 0 || errno != EINTR) {
      break;
    }
  }
  while (waitpid(pid, &wait_status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 127) {
    cli_say(command, "no plot: gnuplot is not installed; apt-get install gnuplot-nox");
    status = CLI_UNAVAILABLE;
  } else if (!WIFEXITED(wait_status) || WEXITSTATUS(wait_status) != 0 || *size == 0) {
    char line[200] = "";

    rewind(messages);
    while (fgets(line, sizeof line, messages) && strspn(line, " \n\t^") == strlen(line)) {
    }
    line[strcspn(line, "\n")] = '\0';
    cli_say(command, "no plot: gnuplot failed%s%s", line[0] ? ": " : "", line);
    status = CLI_UNAVAILABLE;
  } else {
    status = CLI_DONE;
  }
close:
  if (out[0] >= 0) {
    close(out[0]);
  }
  if (out[1] >= 0) {
    close(out[1]);
  }
  if (in) {
    fclose(in);
  }
  if (messages) {
    fclose(messages);
  }
  return status;
}

int cli_gnuplot(const char *command, const char *script, const char *path, int force)
{
  const char *term = terminal(path);
  struct tlg_error err = {0};
  struct tlg_outfile *f;
  char *bytes;
  size_t size;
  int status = cli_plot_ready(command, path, force);

  if (status) {
    return status;
  }
  status = run_gnuplot(command, term, script, &bytes, &size);
  if (status == CLI_DONE) {
    if (tlg_outfile_open(&f, path, force, &err) != TLG_OK) {
      status = cli_fail(command, path, &err);
    } else if (tlg_outfile_write(f, bytes, size, &err) != TLG_OK) {
      tlg_outfile_abort(f);
      status = cli_fail(command, path, &err);
    } else if (tlg_outfile_close(f, &err) != TLG_OK) {
      status = cli_fail(command, path, &err);
    }
  }
  free(bytes);
  return status;
}

/* ---- scripts ------------------------------------------------------------------------------------------------- */

/* Text in single quotes for gnuplot, with its markup taken literally. */
static void quoted(FILE *script, const char *text)
{
  fputc('\'', script);
  for (; *text; text++) {
    if (*text == '\'') {
      fputs("''", script);
    } else if (strchr("_^@&~{}\\", *text)) {
      fprintf(script, "\\%c", *text);
    } else if ((unsigned char)*text >= ' ') {
      fputc(*text, script);
    }
  }
  fputc('\'', script);
}

static const char style[] = "set encoding utf8\n"
                            "set border 3 lw 1 lc rgb '#555555'\n"
                            "set tics nomirror textcolor rgb '#333333'\n"
                            "set grid xtics ytics lc rgb '#dddddd' lw 1 lt 1\n";

static double decibel(double power)
{
  return power > 1e-25 ? 10 * log10(power) : -250;
}

int cli_plot_check(const char *command, const struct tlg_check *check, const struct tlg_check_result *r,
                   const struct tlg_rate *rate_out, const char *title, const char *path, int force)
{
  const size_t n = r->block_out, columns = n < 1400 ? n : 1400;
  const double fs = tlg_rate_hz(rate_out), lines = r->n_tones ? decibel(fs / (double)n) : 0;
  double *spectra = malloc(4 * n * sizeof *spectra), top = -250, floor_db;
  char *script = NULL;
  size_t size, c, b;
  int status = CLI_SYSTEM;
  FILE *f;

  if (!spectra || !(f = open_memstream(&script, &size))) {
    free(spectra);
    cli_say(command, "out of memory for the plot");
    return CLI_SYSTEM;
  }
  tlg_check_spectra(check, spectra, spectra + n, spectra + 2 * n, spectra + 3 * n);
  fputs(style, f);
  fputs("$d << EOD\n", f);
  for (c = 0; c < columns; c++) {
    const size_t from = c * n / columns, to = (c + 1) * n / columns;
    double sum[4] = {0, 0, 0, 0};
    int s;

    for (s = 0; s < 4; s++) {
      for (b = from; b < to; b++) {
        const double p = spectra[(size_t)s * n + b];

        /* a line keeps its height among many columns; noise its density */
        sum[s] = r->n_tones ? (p > sum[s] ? p : sum[s]) : sum[s] + p / (double)(to - from);
      }
      sum[s] = decibel(sum[s]) + lines;
      top = s < 3 && sum[s] > top ? sum[s] : top;
    }
    fprintf(f, "%.6f %.2f %.2f %.2f %.2f\n", ((double)(from + to - 1) / 2 - (double)(n / 2)) * fs / (double)n / 1e6,
            sum[0], sum[1], sum[2], sum[3]);
  }
  fputs("EOD\n", f);
  floor_db = 10 * floor((top - 130) / 10);
  fputs("set title ", f);
  quoted(f, title);
  fprintf(f, " font ',16'\nset xlabel 'Frequency in MHz'\nset ylabel '%s'\n",
          r->n_tones ? "Power of each line in dBFS" : "Power density in dBFS/Hz");
  fprintf(f, "set xrange [%.6f:%.6f]\nset yrange [%.0f:%.0f]\nset ytics 10\n", -fs / 2e6, fs / 2e6, floor_db,
          10 * ceil((top + 1) / 10) + 10);
  fputs("set key outside bottom center horizontal spacing 1.3 samplen 2 maxrows 1 width -2\n", f);
  fprintf(f,
          "set arrow from %.6f, graph 0 to %.6f, graph 1 nohead lc rgb '#999999' dt 3\n"
          "set arrow from %.6f, graph 0 to %.6f, graph 1 nohead lc rgb '#999999' dt 3\n"
          "set label 'band' at %.6f, graph 0.975 center textcolor rgb '#888888'\n",
          -r->band_hz / 1e6, -r->band_hz / 1e6, r->band_hz / 1e6, r->band_hz / 1e6, 0.0);
  fprintf(f, "set label 'signal to error in band %.1f dB%s' at graph 0.012, graph 0.965 textcolor rgb '#333333'\n",
          r->snr_db, r->in_band_passed ? "" : "  (fails)");
  if (r->has_image) {
    fprintf(f, "set label 'worst image %.1f dBc%s' at graph 0.012, graph 0.925 textcolor rgb '#333333'\n", r->image_dbc,
            r->images_passed ? "" : "  (fails)");
  }
  fputs("plot $d using 1:3 with lines lw 4 lc rgb '#9ecae1' title 'ideal reference', "
        "$d using 1:2 with lines lw 1.2 lc rgb '#08519c' title 'output', "
        "$d using 1:4 with lines lw 1 lc rgb '#e6550d' title 'error (output less reference)', "
        "$d using 1:5 with lines lw 1.6 dt 2 lc rgb '#31a354' title 'limit (mean error in the band, single images "
        "outside)'\n",
        f);
  if (fclose(f) == 0) {
    status = cli_gnuplot(command, script, path, force);
  } else {
    cli_say(command, "out of memory for the plot");
  }
  free(script);
  free(spectra);
  return status;
}

/* ---- recordings ---------------------------------------------------------------------------------------------- */

enum { SCOPE_BINS = 1024, SCOPE_ROWS = 256 };

struct cli_scope {
  struct tlg_rate rate;
  struct tlg_psd *psd;
  uint64_t in_row, per_row, n; /* samples of the present row, of a row, in all */
  size_t rows;
  double *row;  /* 2 * SCOPE_ROWS rows of SCOPE_BINS mean densities */
  double *mean; /* sum of the densities, weighted by samples */
  double *peak;
  double weight;
};

int cli_scope_open(struct cli_scope **scope, const struct tlg_rate *rate, uint64_t n_samples)
{
  struct tlg_psd_cfg cfg = {.n = SCOPE_BINS, .window = TLG_WINDOW_BLACKMAN_HARRIS};
  struct cli_scope *s = calloc(1, sizeof *s);

  *scope = NULL;
  if (!s) {
    return TLG_ENOMEM;
  }
  s->rate = *rate;
  /* Of a short recording the segments are shorter, so that there are some. */
  while (cfg.n > 16 && n_samples < 4 * cfg.n) {
    cfg.n /= 2;
  }
  s->per_row = n_samples != UINT64_MAX && n_samples / SCOPE_ROWS > cfg.n ? n_samples / SCOPE_ROWS + 1 : cfg.n;
  s->row = malloc(2 * SCOPE_ROWS * SCOPE_BINS * sizeof *s->row);
  s->mean = calloc(SCOPE_BINS, sizeof *s->mean);
  s->peak = calloc(SCOPE_BINS, sizeof *s->peak);
  if (!s->row || !s->mean || !s->peak || tlg_psd_new(&s->psd, &cfg) != 0) {
    cli_scope_close(s);
    return TLG_ENOMEM;
  }
  *scope = s;
  return 0;
}

void cli_scope_close(struct cli_scope *s)
{
  if (s) {
    tlg_psd_free(s->psd);
    free(s->peak);
    free(s->mean);
    free(s->row);
    free(s);
  }
}

static void end_row(struct cli_scope *s)
{
  const size_t n = tlg_psd_size(s->psd);
  double *row = s->row + s->rows * n;
  size_t b, r;

  if (tlg_psd_segments(s->psd) == 0) {
    return;
  }
  tlg_psd_density(s->psd, &s->rate, row);
  tlg_psd_reset(s->psd);
  for (b = 0; b < n; b++) {
    s->mean[b] += row[b] * (double)s->in_row;
    s->peak[b] = row[b] > s->peak[b] ? row[b] : s->peak[b];
  }
  s->weight += (double)s->in_row;
  s->in_row = 0;
  if (++s->rows == 2 * SCOPE_ROWS) { /* longer than thought: two rows become one */
    for (r = 0; r < SCOPE_ROWS; r++) {
      for (b = 0; b < n; b++) {
        s->row[r * n + b] = (s->row[2 * r * n + b] + s->row[(2 * r + 1) * n + b]) / 2;
      }
    }
    s->rows = SCOPE_ROWS;
    s->per_row *= 2;
  }
}

void cli_scope_push(struct cli_scope *s, const tlg_cs16 *x, size_t n)
{
  s->n += n;
  while (n > 0) {
    const uint64_t room = s->per_row - s->in_row;
    const size_t m = room < n ? (size_t)room : n;

    tlg_psd_push(s->psd, x, m);
    s->in_row += m;
    x += m;
    n -= m;
    if (s->in_row == s->per_row) {
      end_row(s);
    }
  }
}

static int by_value(const void *a, const void *b)
{
  const double x = *(const double *)a, y = *(const double *)b;

  return (x > y) - (x < y);
}

int cli_scope_plot(const char *command, struct cli_scope *s, const char *title, double frequency_hz, const char *path,
                   int force)
{
  const size_t n = tlg_psd_size(s->psd);
  const double fs = tlg_rate_hz(&s->rate), seconds = (double)s->n / fs, scale = seconds < 1 ? 1e3 : 1;
  const double centre = isfinite(frequency_hz) && frequency_hz != 0 ? frequency_hz / 1e6 : 0;
  double *sorted, low, high;
  char *script = NULL;
  size_t size, r, b, k;
  FILE *f;
  int status;

  if (s->in_row) {
    end_row(s);
  }
  if (s->rows == 0) {
    cli_say(command, "no plot: the recording has only %llu samples, fewer than %zu", (unsigned long long)s->n, n);
    return CLI_BAD_INPUT;
  }
  sorted = malloc(s->rows * n * sizeof *sorted);
  if (!sorted || !(f = open_memstream(&script, &size))) {
    free(sorted);
    cli_say(command, "out of memory for the plot");
    return CLI_SYSTEM;
  }
  for (k = 0; k < s->rows * n; k++) {
    sorted[k] = s->row[k] = decibel(s->row[k]);
  }
  qsort(sorted, s->rows * n, sizeof *sorted, by_value);
  low = 5 * floor(sorted[s->rows * n / 50] / 5); /* colours from the 2nd percentile to the top */
  high = 5 * ceil(sorted[s->rows * n - 1 - s->rows * n / 2000] / 5);
  if (low < high - 100) {
    low = high - 100;
  }
  if (!(high > low)) {
    high = low + 10;
  }
  free(sorted);
  fputs(style, f);
  fputs("$s << EOD\n", f);
  for (b = 0; b < n; b++) {
    fprintf(f, "%.6f %.2f %.2f\n", centre + ((double)b - (double)(n / 2)) * fs / (double)n / 1e6,
            decibel(s->mean[b] / s->weight), decibel(s->peak[b]));
  }
  fputs("EOD\n$w << EOD\n", f);
  for (r = 0; r < s->rows; r++) {
    for (b = 0; b < n; b++) {
      fprintf(f, "%.1f%c", s->row[r * n + b], b + 1 < n ? ' ' : '\n');
    }
  }
  fputs("EOD\nset multiplot layout 2,1 title ", f);
  quoted(f, title);
  fputs(" font ',16'\n", f);
  fprintf(f, "set lmargin at screen 0.075\nset rmargin at screen 0.89\nset xrange [%.6f:%.6f]\n", centre - fs / 2e6,
          centre + fs / 2e6);
  fputs("set tmargin at screen 0.92\nset bmargin at screen 0.56\nset ylabel 'dBFS/Hz'\nunset xlabel\n"
        "set key top right horizontal samplen 2\n",
        f);
  fputs("plot $s using 1:3 with lines lw 1 lc rgb '#fdae6b' title 'highest', "
        "$s using 1:2 with lines lw 1.4 lc rgb '#08519c' title 'mean'\n",
        f);
  fprintf(f,
          "set tmargin at screen 0.51\nset bmargin at screen 0.09\nset xlabel '%s in MHz'\nset ylabel 'Time in %s'\n"
          "set yrange [%.9g:0]\nset cbrange [%.0f:%.0f]\nset cblabel 'dBFS/Hz' offset 1\nunset key\nunset grid\n"
          "set tics out\nset colorbox user origin 0.905,0.09 size 0.018,0.42\n"
          "set palette defined (0 '#0d0887', 0.25 '#7e03a8', 0.5 '#cc4778', 0.75 '#f89540', 1 '#f0f921')\n",
          centre != 0 ? "Frequency" : "Frequency from the centre", seconds < 1 ? "ms" : "s", seconds * scale, low,
          high);
  fprintf(f, "plot $w matrix using (%.9g+$1*%.9g):(($2+0.5)*%.9g):3 with image\n", centre - fs / 2e6,
          fs / (double)n / 1e6, seconds * scale / (double)s->rows);
  fputs("unset multiplot\n", f);
  if (fclose(f) == 0) {
    status = cli_gnuplot(command, script, path, force);
  } else {
    cli_say(command, "out of memory for the plot");
    status = CLI_SYSTEM;
  }
  free(script);
  return status;
}
