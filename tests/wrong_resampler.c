/* SPDX-License-Identifier: Apache-2.0 */
/* A resampler of its own with a switch for each of many mistakes, as others make them: what "taplag vectors try" has to
 * name. wrong_resampler FAULT [--in FILE] [--out FILE] --taps FILE --up L --down M [--rounding R] [--align 0|1]
 * [--flush 0|1]
 * [--packet N]; "none" is right to the last bit. Shares no code with the library. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct sample {
  int i, q;
};

static const char *fault = "none";
static long up, down, n_taps, per_phase, shift, packet = 625, q0;
static int truncates, flushes, aligned;
static int *taps;
static struct sample *in, *out;
static long n_in, n_out, room;

static int is(const char *name)
{
  return strcmp(fault, name) == 0;
}

static void die(const char *text)
{
  fprintf(stderr, "wrong_resampler: %s\n", text);
  exit(9);
}

static void read_taps(const char *path)
{
  FILE *f = fopen(path, "r");
  char line[200];
  long k;

  if (!f || !fgets(line, sizeof line, f) || sscanf(line, "# S=%ld L=%*d N=%ld", &shift, &n_taps) != 2 || n_taps < 1 ||
      n_taps > 1 << 24) {
    die("the taps cannot be read");
  }
  taps = calloc((size_t)n_taps, sizeof *taps);
  for (k = 0; taps && k < n_taps; k++) {
    if (fscanf(f, "%d", &taps[k]) != 1) {
      die("taps are missing");
    }
  }
  fclose(f);
}

static void read_input(const char *path)
{
  FILE *f = path ? fopen(path, "rb") : stdin;
  long size = 1 << 16;
  unsigned char b[4];

  in = malloc((size_t)size * sizeof *in);
  while (f && in && fread(b, 1, 4, f) == 4) {
    if (n_in == size) {
      in = realloc(in, (size_t)(size *= 2) * sizeof *in);
    }
    in[n_in].i = (int16_t)(b[0] | b[1] << 8);
    in[n_in++].q = (int16_t)(b[2] | b[3] << 8);
  }
  if (!f || !in) {
    die("the input cannot be read");
  }
}

static struct sample at(long n, long oldest)
{
  static const struct sample zero = {0, 0}, junk = {1234, -4321};

  if (n < 0 && is("start-junk")) {
    return junk;
  }
  return n < 0 || n >= n_in || n < oldest ? zero : in[n];
}

static long half_up(long long acc)
{
  const long long unit = 1LL << shift;

  if (truncates != is("truncate")) {
    return (long)(acc >> shift);
  }
  if (is("toward-zero")) {
    return (long)(acc / unit);
  }
  if (is("float")) { /* single precision and the C library's rounding */
    return lrintf((float)acc / (float)unit);
  }
  if (is("ties-even") || is("ties-away")) {
    const long long low = acc >> shift, rest = acc - low * unit;
    const int goes_up = is("ties-even") ? (int)(low & 1) : acc > 0;

    return (long)(low + (2 * rest > unit || (2 * rest == unit && goes_up)));
  }
  return (long)((acc + unit / 2) >> shift);
}

static int stored(long y)
{
  if (truncates != is("wrap")) {
    return (int16_t)(uint16_t)y;
  }
  return y > 32767 ? 32767 : y < -32768 ? -32768 : (int)y;
}

static long long tap(long p, long k)
{
  long n = p + k * up;

  if (is("phase-mirrored")) {
    n = up - 1 - p + k * up;
  } else if (is("phase-in-line")) {
    n = p * per_phase + k;
  } else if (is("phase-next")) {
    n = (p + 1) % up + k * up;
  } else if (is("tap-order")) {
    n = p + (per_phase - 1 - k) * up;
  } else if (is("reversed")) {
    n = n < n_taps ? n_taps - 1 - n : n_taps;
  } else if (is("last-tap") && k == per_phase - 1) {
    return 0;
  } else if (is("one-phase") && p == 77 % up) {
    n = (p + 3) % up + k * up;
  }
  return n < n_taps ? taps[n] : 0;
}

static long long narrowed(long long acc)
{
  if (is("acc-24")) {
    acc &= 0xffffff;
    return acc & 0x800000 ? acc - 0x1000000 : acc;
  }
  return acc;
}

static struct sample filtered(long p, long newest, long oldest)
{
  long long i = 0, q = 0;
  struct sample y;
  long k;

  for (k = 0; k < per_phase; k++) {
    const struct sample x = at(newest - k, oldest);
    const long long h = tap(p, k);

    i += is("round-products") ? (h * x.i + (1LL << (shift - 1))) >> shift : h * x.i;
    q += is("round-products") ? (h * x.q + (1LL << (shift - 1))) >> shift : h * x.q;
    i = narrowed(i);
    q = narrowed(q);
  }
  if (is("round-products")) {
    y.i = stored((long)i);
    y.q = stored((long)q);
    return y;
  }
  if (is("gain-half") || is("gain-double")) {
    i = is("gain-half") ? i / 2 : 2 * i;
    q = is("gain-half") ? q / 2 : 2 * q;
  }
  if (is("gain-odd")) {
    i = i * 9 / 10;
    q = q * 9 / 10;
  }
  y.i = stored(half_up(i));
  y.q = stored(half_up(q));
  return y;
}

static struct sample between(long p, long newest)
{
  const struct sample a = at(newest - 1, -1), b = at(newest, -1);
  const double t = (double)p / (double)up;
  struct sample y = b;

  if (is("linear")) {
    y.i = (int)lrint(a.i + t * (b.i - a.i));
    y.q = (int)lrint(a.q + t * (b.q - a.q));
  }
  return y;
}

static void put(struct sample y)
{
  if (n_out == room) {
    out = realloc(out, (size_t)(room = room ? 2 * room : 1 << 16) * sizeof *out);
    if (!out) {
      die("out of memory");
    }
  }
  out[n_out++] = y;
}

/* Outputs whose newest input is below end. */
static void run(long end, long start, long *m, long border)
{
  long first = *m, j;

  for (;; ++*m) {
    const long step = is("ratio-inverted") ? up : down, L = is("ratio-inverted") ? down : up;
    long q = *m * step + q0, p = q % L, i = q / L;
    struct sample y;

    if (is("phase-reset")) {
      q = (*m - first) * step;
      p = q % L;
      i = start + q / L;
    }
    if (is("input-late")) {
      i--;
    }
    if ((is("input-late") ? i + 1 : i) >= end) {
      break;
    }
    y = is("linear") || is("nearest-sample") ? between(p, i) : filtered(p, i, is("history") ? border : -1);
    if (is("own-buffer") && i % 1000 < 10 && i > 20) { /* a buffer of 1000 samples whose history is lost */
      y = filtered(p, i, i - i % 1000);
    }
    put(y);
  }
  for (j = 0; is("tail-8") && j < (*m - first) % 8; j++) { /* left-over outputs rounded in another way */
    out[n_out - 1 - j].i += j % 2 ? 2 : -2;
  }
  for (j = 0; is("lane-16") && j < *m - first; j++) {
    out[n_out - (*m - first) + j].q += j % 16 == 5 ? 3 : 0;
  }
}

static void turn(void)
{
  int16_t before = 0;
  long k;

  for (k = 0; k < n_out; k++) {
    struct sample y = out[k];

    if (is("swap")) {
      out[k].i = y.q;
      out[k].q = y.i;
    } else if (is("conjugate")) {
      out[k].q = stored(-(long)y.q);
    } else if (is("turn-back")) { /* by -90 degrees */
      out[k].i = y.q;
      out[k].q = stored(-(long)y.i);
    } else if (is("copy-i")) {
      out[k].q = y.i;
    } else if (is("no-q")) {
      out[k].q = 0;
    } else if (is("late-q")) { /* one output behind I */
      out[k].q = before;
      before = y.q;
    } else if (is("negate")) {
      out[k].i = stored(-(long)y.i);
      out[k].q = stored(-(long)y.q);
    } else if (is("offset")) {
      out[k].i = stored((long)y.i + 5);
      out[k].q = stored((long)y.q - 3);
    } else if (is("silent")) {
      out[k].i = out[k].q = 0;
    }
  }
}

static void write_output(const char *path)
{
  FILE *f = path ? fopen(path, "wb") : stdout;
  long k, late = is("late") ? 3 : 0, early = is("early") ? 5 : 0, end = n_out;

  if (!f) {
    die("the output cannot be written");
  }
  end -= is("short") ? 10 : 0;
  for (k = 0; k < late; k++) {
    fwrite("\0\0\0\0", 1, 4, f);
  }
  for (k = early; k < end - late; k++) {
    unsigned i = (uint16_t)out[k].i, q = (uint16_t)out[k].q;
    const unsigned char little[4] = {(unsigned char)i, (unsigned char)(i >> 8), (unsigned char)q,
                                     (unsigned char)(q >> 8)};
    const unsigned char big[4] = {little[1], little[0], little[3], little[2]};

    if (is("dropped") && k == end / 2) {
      continue;
    }
    fwrite(is("big-endian") ? big : little, 1, 4, f);
    if (is("doubled") && k == end / 2) {
      fwrite(little, 1, 4, f);
    }
  }
  for (k = 0; is("long") && k < 7; k++) {
    fwrite("\1\0\2\0", 1, 4, f);
  }
  fwrite("abc", 1, is("odd-bytes") ? 3 : 0, f);
  fclose(f);
}

int main(int argc, char **argv)
{
  const char *in_path = NULL, *out_path = NULL, *taps_path = NULL;
  long m = 0, start, total;
  int k;

  if (argc > 1) {
    fault = argv[1];
  }
  for (k = 2; k + 1 < argc; k += 2) {
    const char *name = argv[k], *value = argv[k + 1];

    if (strcmp(name, "--in") == 0) {
      in_path = value;
    } else if (strcmp(name, "--out") == 0) {
      out_path = value;
    } else if (strcmp(name, "--taps") == 0) {
      taps_path = value;
    } else if (strcmp(name, "--up") == 0) {
      up = atol(value);
    } else if (strcmp(name, "--down") == 0) {
      down = atol(value);
    } else if (strcmp(name, "--rounding") == 0) {
      truncates = strcmp(value, "usrpl0") == 0;
    } else if (strcmp(name, "--align") == 0) {
      aligned = atoi(value);
    } else if (strcmp(name, "--flush") == 0) {
      flushes = atoi(value);
    } else if (strcmp(name, "--packet") == 0) {
      packet = atol(value) > 0 ? atol(value) : 625;
    }
  }
  if (!taps_path || up < 1 || down < 1) {
    die("--taps, --up and --down are needed");
  }
  for (k = (int)up, start = down; start;) {
    const long rest = k % start;

    k = (int)start;
    start = rest;
  }
  up /= k;
  down /= k;
  if (is("hang")) {
    for (;;) {
      nanosleep(&(struct timespec){1, 0}, NULL);
    }
  }
  if (is("flood")) {
    for (;;) {
      fwrite("\0\0\0\0", 1, 4, stdout);
    }
  }
  read_taps(taps_path);
  read_input(in_path);
  if (is("crash") && n_in > 100) {
    abort();
  }
  if (is("exit")) {
    die("something went wrong");
  }
  per_phase = (n_taps + up - 1) / up;
  q0 = aligned && !is("unaligned") ? (n_taps - 1) / 2 : 0;
  for (start = 0; start < n_in; start += packet) {
    run(start + packet < n_in ? start + packet : n_in, start, &m, start);
  }
  if (flushes && n_in) {
    total = aligned ? (n_in * up + down - 1) / down : ((n_in - 1) * up + n_taps - 1) / down + 1;
    run(((total - 1) * down + q0) / up + 1, n_in, &m, -1);
    n_out = total < n_out ? total : n_out;
  }
  turn();
  write_output(out_path);
  free(in);
  free(out);
  free(taps);
  return 0;
}
