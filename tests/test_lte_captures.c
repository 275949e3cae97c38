/* SPDX-License-Identifier: Apache-2.0 */
/* EVM of recordings by others, where they are there: through the default filter as through an ideal FFT resampling. */
#include "tlg_lte_evm.h"
#include "tlg_lte_rx.h"

#include <fftw3.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static tlg_cs16 *load(const char *name, int bytes, size_t *n)
{
  const char *folder = getenv("TAPLAG_CAPTURES");
  char path[1000];
  unsigned char *raw;
  tlg_cs16 *x;
  FILE *f;
  size_t k;

  snprintf(path, sizeof path, "%s/%s", folder ? folder : "../shared/captures", name);
  f = fopen(path, "rb");
  if (!f) {
    return NULL;
  }
  fseek(f, 0, SEEK_END);
  *n = (size_t)ftell(f) / (2 * (size_t)bytes);
  rewind(f);
  raw = malloc(*n * 2 * (size_t)bytes);
  x = malloc(*n * sizeof *x);
  assert_non_null(raw);
  assert_non_null(x);
  assert_int_equal(fread(raw, 2 * (size_t)bytes, *n, f), *n);
  fclose(f);
  for (k = 0; k < *n; k++) {
    if (bytes == 2) {
      x[k].i = (int16_t)(raw[4 * k] | raw[4 * k + 1] << 8);
      x[k].q = (int16_t)(raw[4 * k + 2] | raw[4 * k + 3] << 8);
    } else {
      x[k].i = (int16_t)((int8_t)raw[2 * k] * 256);
      x[k].q = (int16_t)((int8_t)raw[2 * k + 1] * 256);
    }
  }
  free(raw);
  return x;
}

struct found {
  struct tlg_lte_rx_cell cell;
  double evm_db[TLG_EVM_MODULATIONS], middle_db;
  uint64_t units[TLG_EVM_MODULATIONS];
};

static void measure(const tlg_cs16 *x, size_t n, unsigned rate_hz, struct found *found)
{
  struct tlg_lte_rx_cfg cfg = {.rate = {rate_hz, 1}};
  struct tlg_lte_rx_cell cells[TLG_LTE_RX_CELLS];
  struct tlg_lte_evm_cfg evm_cfg = {{0, 0, 0, 0, 0}, 0, 0, 0, 0, 0};
  const struct tlg_lte_evm_result *r;
  struct tlg_lte_rx_timing *timing;
  const tlg_cf64 *grid[TLG_EVM_WINDOWS];
  double advance[TLG_EVM_WINDOWS];
  struct tlg_lte_evm *evm;
  struct tlg_lte_rx *rx;
  struct tlg_error err;
  tlg_cf64 *space;
  size_t n_cells, n_timing, k, size;
  int m, w;

  assert_int_equal(tlg_lte_rx_new(&rx, &cfg, &err), TLG_OK);
  assert_int_equal(tlg_lte_rx_samples(rx, x, n), TLG_OK);
  assert_int_equal(tlg_lte_rx_search(rx, cells, TLG_LTE_RX_CELLS, &n_cells), TLG_OK);
  assert_true(n_cells >= 1);
  found->cell = cells[0];
  assert_int_equal(tlg_lte_rx_track(rx, cells, NULL, 0, &n_timing), TLG_OK);
  timing = calloc(n_timing, sizeof *timing);
  assert_non_null(timing);
  assert_int_equal(tlg_lte_rx_track(rx, cells, timing, n_timing, &n_timing), TLG_OK);
  evm_cfg.cell.prb = (unsigned)cells[0].prb;
  evm_cfg.cell.id = (unsigned)cells[0].id;
  evm_cfg.cell.ports = (unsigned)cells[0].ports;
  evm_cfg.cell.phich_resource = cells[0].phich_sixths <= 1   ? 0
                                : cells[0].phich_sixths <= 3 ? 1
                                : cells[0].phich_sixths <= 6 ? 2
                                                             : 3;
  assert_int_equal(tlg_lte_evm_new(&evm, &evm_cfg, &err), TLG_OK);
  assert_int_equal(tlg_lte_evm_windows(evm_cfg.cell.prb, advance), TLG_OK);
  size = (size_t)TLG_LTE_SYMBOLS * 12 * evm_cfg.cell.prb;
  space = calloc(TLG_EVM_WINDOWS * size, sizeof *space);
  assert_non_null(space);
  for (k = 0; k < n_timing; k++) {
    for (w = 0; w < TLG_EVM_WINDOWS && !timing[k].broken; w++) {
      grid[w] = space + (size_t)w * size;
      assert_int_equal(tlg_lte_rx_subframe(rx, cells, timing[k].k, advance[w], space + (size_t)w * size), TLG_OK);
    }
    if (!timing[k].broken) {
      assert_int_equal(tlg_lte_evm_push(evm, timing[k].k, grid), TLG_OK);
    }
  }
  assert_int_equal(tlg_lte_evm_finish(evm, &r), TLG_OK);
  for (m = 0; m < TLG_EVM_MODULATIONS; m++) {
    found->units[m] = r->stream[0].channel[m].units;
    found->evm_db[m] = 20 * log10(r->stream[0].channel[m].evm);
  }
  found->middle_db = 20 * log10(r->stream[0].pdsch.after[TLG_EVM_MIDDLE].rms);
  free(space);
  free(timing);
  tlg_lte_evm_free(evm);
  tlg_lte_rx_free(rx);
}

/* The whole recording, which loops, by one transform each way: bins copied, rounded to int16. */
static tlg_cs16 *ideal(const tlg_cs16 *x, size_t n, size_t n_out)
{
  fftw_complex *a = fftw_malloc(n * sizeof *a), *b = fftw_malloc(n_out * sizeof *b);
  fftw_plan forward, back;
  tlg_cs16 *y = malloc(n_out * sizeof *y);
  size_t k;

  assert_non_null(a);
  assert_non_null(b);
  assert_non_null(y);
  forward = fftw_plan_dft_1d((int)n, a, a, FFTW_FORWARD, FFTW_ESTIMATE);
  back = fftw_plan_dft_1d((int)n_out, b, b, FFTW_BACKWARD, FFTW_ESTIMATE);
  for (k = 0; k < n; k++) {
    a[k][0] = x[k].i;
    a[k][1] = x[k].q;
  }
  fftw_execute(forward);
  memset(b, 0, n_out * sizeof *b);
  for (k = 0; k < n / 2; k++) {
    memcpy(b[k], a[k], sizeof b[k]);
    memcpy(b[n_out - 1 - k], a[n - 1 - k], sizeof b[k]);
  }
  fftw_execute(back);
  for (k = 0; k < n_out; k++) {
    y[k].i = (int16_t)floor(b[k][0] / (double)n + 0.5);
    y[k].q = (int16_t)floor(b[k][1] / (double)n + 0.5);
  }
  fftw_destroy_plan(forward);
  fftw_destroy_plan(back);
  fftw_free(a);
  fftw_free(b);
  return y;
}

static void filter_is_as_good_as_an_ideal(void **state)
{
  const struct tlg_rate in = {25000000, 1}, out = {30720000, 1};
  struct tlg_resamp_cfg cfg = {.up = 768, .down = 625, .align = 1, .max_block = 2000000};
  struct found filtered, perfect, before;
  struct tlg_resamp *resamp;
  struct tlg_taps taps;
  struct tlg_error err;
  size_t n, n_out, got, more;
  tlg_cs16 *x = load("lte20_25Msps_80ms.sc16", 2, &n), *y, *z;

  (void)state;
  if (!x) {
    print_message("no lte20_25Msps_80ms.sc16 in TAPLAG_CAPTURES\n");
    skip();
  }
  assert_int_equal(n, 2000000);
  n_out = n / 625 * 768;
  assert_int_equal(tlg_taps_default(&taps, &in, &out, &err), TLG_OK);
  cfg.taps = &taps;
  assert_int_equal(tlg_resamp_new(&resamp, &cfg, &err), TLG_OK);
  y = malloc(n_out * sizeof *y);
  assert_non_null(y);
  assert_int_equal(tlg_resamp_process(resamp, x, n, y, n_out, &got), TLG_OK);
  assert_int_equal(tlg_resamp_flush(resamp, y + got, n_out - got, &more), TLG_OK);
  assert_int_equal(got + more, n_out);
  tlg_resamp_free(resamp);
  tlg_taps_free(&taps);
  z = ideal(x, n, n_out);
  measure(x, n, 25000000, &before);
  measure(y, n_out, 30720000, &filtered);
  measure(z, n_out, 30720000, &perfect);
  print_message("64QAM: at 25 Msps %.2f (middle %.2f), filtered %.2f (%.2f), ideal %.2f (%.2f) dB\n",
                before.evm_db[TLG_EVM_64QAM], before.middle_db, filtered.evm_db[TLG_EVM_64QAM], filtered.middle_db,
                perfect.evm_db[TLG_EVM_64QAM], perfect.middle_db);
  assert_int_equal(filtered.cell.id, 1);
  assert_int_equal(filtered.cell.prb, 100);
  assert_int_equal(filtered.cell.ports, 1);
  assert_int_equal(filtered.cell.mib_crc_ok, 1);
  assert_int_equal(filtered.cell.sfn, 0);
  assert_int_equal(filtered.units[TLG_EVM_64QAM], 6400); /* subframes 0 and 5 carry no data */
  assert_int_equal(filtered.units[TLG_EVM_QPSK] + filtered.units[TLG_EVM_16QAM] + filtered.units[TLG_EVM_256QAM], 0);
  assert_true(filtered.evm_db[TLG_EVM_64QAM] < perfect.evm_db[TLG_EVM_64QAM] + 0.5);
  assert_true(filtered.evm_db[TLG_EVM_64QAM] < -60);
  assert_true(fabs(filtered.middle_db - perfect.middle_db) < 1);
  free(x);
  free(y);
  free(z);
}

static void over_the_air(void **state)
{
  struct found f;
  size_t n;
  tlg_cs16 *x = load("lte_f796M_s19.2M_hackrf.cs8", 1, &n);

  (void)state;
  if (!x) {
    print_message("no lte_f796M_s19.2M_hackrf.cs8 in TAPLAG_CAPTURES\n");
    skip();
  }
  measure(x, n, 19200000, &f);
  assert_int_equal(f.cell.id, 360);
  assert_int_equal(f.cell.prb, 50);
  assert_int_equal(f.cell.ports, 2);
  assert_int_equal(f.cell.mib_crc_ok, 1);
  assert_true(f.units[TLG_EVM_QPSK] > 20 && f.evm_db[TLG_EVM_QPSK] < -10);
  free(x);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(filter_is_as_good_as_an_ideal),
      cmocka_unit_test(over_the_air),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
