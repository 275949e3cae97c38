/* SPDX-License-Identifier: Apache-2.0 */
/* Windows, Welch spectra calibrated for tones and noise alike, and the one place where FFTW plans are made. */
#include "spectral.h"

#include <fftw3.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* FFTW's planner is not thread-safe. */
static pthread_mutex_t planner = PTHREAD_MUTEX_INITIALIZER;

int tlg_fft_open(struct tlg_fft *f, size_t n, int inverse)
{
  memset(f, 0, sizeof *f);
  f->n = n;
  f->in = fftw_malloc(n * sizeof *f->in);
  f->out = fftw_malloc(n * sizeof *f->out);
  if (f->in && f->out) {
    pthread_mutex_lock(&planner);
    f->plan = fftw_plan_dft_1d((int)n, (fftw_complex *)f->in, (fftw_complex *)f->out,
                               inverse ? FFTW_BACKWARD : FFTW_FORWARD, FFTW_ESTIMATE | FFTW_PRESERVE_INPUT);
    pthread_mutex_unlock(&planner);
  }
  if (!f->plan) {
    tlg_fft_close(f);
    return TLG_ENOMEM;
  }
  memset(f->in, 0, n * sizeof *f->in);
  return 0;
}

void tlg_fft_close(struct tlg_fft *f)
{
  if (f->plan) {
    pthread_mutex_lock(&planner);
    fftw_destroy_plan(f->plan);
    pthread_mutex_unlock(&planner);
  }
  fftw_free(f->in);
  fftw_free(f->out);
  memset(f, 0, sizeof *f);
}

void tlg_fft_run(struct tlg_fft *f)
{
  fftw_execute(f->plan);
}

/* ---- windows ------------------------------------------------------------------------------------------------ */

/* A cosine sum; lobe = bins from the middle of its main lobe to the first zero. */
static const struct {
  const char *name;
  double a[5];
  unsigned lobe;
} windows[] = {
    [TLG_WINDOW_HANN] = {"hann", {0.5, 0.5}, 2},
    [TLG_WINDOW_RECTANGULAR] = {"rectangular", {1.0}, 1},
    [TLG_WINDOW_HAMMING] = {"hamming", {0.54, 0.46}, 2},
    [TLG_WINDOW_BLACKMAN_HARRIS] = {"blackman-harris", {0.35875, 0.48829, 0.14128, 0.01168}, 4},
    [TLG_WINDOW_FLAT_TOP] = {"flat-top", {0.1881, 0.36923, 0.28702, 0.13077, 0.02488}, 5},
};
enum { N_WINDOWS = sizeof windows / sizeof *windows };

int tlg_window_parse(enum tlg_window *window, const char *text)
{
  int i;

  for (i = 0; window && text && i < N_WINDOWS; i++) {
    if (strcmp(text, windows[i].name) == 0) {
      *window = (enum tlg_window)i;
      return 0;
    }
  }
  return TLG_EINVAL;
}

const char *tlg_window_name(enum tlg_window window)
{
  return (int)window >= 0 && (int)window < N_WINDOWS ? windows[window].name : "unknown";
}

double tlg_window_at(enum tlg_window window, double x)
{
  double sum = 0;
  int i;

  if ((int)window < 0 || (int)window >= N_WINDOWS) {
    return 0;
  }
  for (i = 0; i < 5; i++) {
    sum += (i & 1 ? -1.0 : 1.0) * windows[window].a[i] * cos(2 * M_PI * i * x);
  }
  return sum;
}

/* ---- Welch's method: mean of the squared spectra of overlapping segments (Welch 1967) ------------------------ */

struct tlg_psd {
  struct tlg_fft fft;
  size_t n, hop, fill; /* fill: samples in segment[] */
  enum tlg_window window;
  uint64_t segments;
  double sum_w, sum_w2; /* of the window: gain for a tone, and for noise */
  double *w, *power;    /* power: sum over segments of |spectrum|^2, in full scales */
  tlg_cs16 *segment;
};

int tlg_psd_new(struct tlg_psd **psd, const struct tlg_psd_cfg *cfg)
{
  struct tlg_psd *p;
  size_t k;

  if (!psd) {
    return TLG_EINVAL;
  }
  *psd = NULL;
  if (!cfg || (int)cfg->window < 0 || (int)cfg->window >= N_WINDOWS || cfg->n == 1 || cfg->n > 1u << 26) {
    return TLG_EINVAL;
  }
  p = calloc(1, sizeof *p);
  if (!p) {
    return TLG_ENOMEM;
  }
  p->n = cfg->n ? cfg->n : 4096;
  p->window = cfg->window;
  p->hop = cfg->hop                                                                          ? cfg->hop
           : cfg->window == TLG_WINDOW_RECTANGULAR                                           ? p->n
           : cfg->window == TLG_WINDOW_BLACKMAN_HARRIS || cfg->window == TLG_WINDOW_FLAT_TOP ? (p->n + 3) / 4
                                                                                             : (p->n + 1) / 2;
  p->w = malloc(p->n * sizeof *p->w);
  p->power = calloc(p->n, sizeof *p->power);
  p->segment = malloc(p->n * sizeof *p->segment);
  if (p->hop > p->n) {
    tlg_psd_free(p);
    return TLG_EINVAL;
  }
  if (!p->w || !p->power || !p->segment || tlg_fft_open(&p->fft, p->n, 0) != 0) {
    tlg_psd_free(p);
    return TLG_ENOMEM;
  }
  for (k = 0; k < p->n; k++) {
    p->w[k] = tlg_window_at(p->window, (double)k / (double)p->n);
    p->sum_w += p->w[k];
    p->sum_w2 += p->w[k] * p->w[k];
  }
  *psd = p;
  return 0;
}

void tlg_psd_free(struct tlg_psd *p)
{
  if (p) {
    tlg_fft_close(&p->fft);
    free(p->segment);
    free(p->power);
    free(p->w);
    free(p);
  }
}

void tlg_psd_reset(struct tlg_psd *p)
{
  memset(p->power, 0, p->n * sizeof *p->power);
  p->segments = 0;
  p->fill = 0;
}

void tlg_psd_push(struct tlg_psd *p, const tlg_cs16 *x, size_t n)
{
  size_t k, take;

  while (n > 0) {
    take = p->n - p->fill < n ? p->n - p->fill : n;
    memcpy(p->segment + p->fill, x, take * sizeof *x);
    p->fill += take;
    x += take;
    n -= take;
    if (p->fill < p->n) {
      return;
    }
    for (k = 0; k < p->n; k++) {
      p->fft.in[k].i = p->w[k] * p->segment[k].i * (1 / 32768.0);
      p->fft.in[k].q = p->w[k] * p->segment[k].q * (1 / 32768.0);
    }
    tlg_fft_run(&p->fft);
    for (k = 0; k < p->n; k++) {
      p->power[k] += p->fft.out[k].i * p->fft.out[k].i + p->fft.out[k].q * p->fft.out[k].q;
    }
    p->segments++;
    p->fill -= p->hop;
    memmove(p->segment, p->segment + p->hop, p->fill * sizeof *p->segment);
  }
}

uint64_t tlg_psd_segments(const struct tlg_psd *p)
{
  return p->segments;
}

size_t tlg_psd_size(const struct tlg_psd *p)
{
  return p->n;
}

/* Bin b of the ascending order, from -n/2 on, in the transform's own order. */
static size_t unwrap(size_t b, size_t n)
{
  return (b + n - n / 2) % n;
}

static void scaled(const struct tlg_psd *p, double divisor, double *out)
{
  const double scale = p->segments ? 1 / (divisor * (double)p->segments) : 0;
  size_t b;

  for (b = 0; b < p->n; b++) {
    out[b] = p->power[unwrap(b, p->n)] * scale;
  }
}

void tlg_psd_density(const struct tlg_psd *p, const struct tlg_rate *rate, double *density)
{
  scaled(p, tlg_rate_hz(rate) * p->sum_w2, density);
}

void tlg_psd_levels(const struct tlg_psd *p, double *level)
{
  scaled(p, p->sum_w * p->sum_w, level);
}

/* By Parseval, sum over k of |spectrum|^2 = n * sum of (w x)^2, which for noise and for a tone is n * sum_w2 * power.
 */
static double bins_power(const struct tlg_psd *p, int64_t first, int64_t end)
{
  double sum = 0;
  int64_t k;

  for (k = first; k < end; k++) {
    sum += p->power[(size_t)(((k % (int64_t)p->n) + (int64_t)p->n) % (int64_t)p->n)];
  }
  return p->segments ? sum / ((double)p->n * p->sum_w2 * (double)p->segments) : 0;
}

double tlg_psd_band(const struct tlg_psd *p, double low, double high)
{
  if (!(low >= -0.5) || !(high <= 0.5) || !(low < high)) {
    return 0;
  }
  return bins_power(p, (int64_t)ceil(low * (double)p->n), (int64_t)ceil(high * (double)p->n));
}

double tlg_psd_tone(const struct tlg_psd *p, double frequency)
{
  const int64_t half = (int64_t)windows[p->window].lobe + 1;
  int64_t middle;

  if (!(frequency >= -1) || !(frequency <= 1)) {
    return 0;
  }
  if (2 * half + 1 >= (int64_t)p->n) {
    return bins_power(p, 0, (int64_t)p->n);
  }
  middle = (int64_t)floor(frequency * (double)p->n + 0.5);
  return bins_power(p, middle - half, middle + half + 1);
}
