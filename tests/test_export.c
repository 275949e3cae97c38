/* SPDX-License-Identifier: Apache-2.0 */
/* Exported forms, read back by plain parsers: what stands in them are the samples and taps that went in. */
#include "tlg_golden.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct file {
  char name[80];
  char *bytes;
  size_t n;
};

static struct file files[16];
static size_t n_files;
static int refuse_after = 100;

static int keep(void *context, const char *name, const void *bytes, size_t n)
{
  struct file *f = &files[n_files];

  assert_ptr_equal(context, files);
  if ((int)n_files == refuse_after) {
    return TLG_ESYS;
  }
  snprintf(f->name, sizeof f->name, "%s", name);
  f->bytes = malloc(n + 1);
  assert_non_null(f->bytes);
  memcpy(f->bytes, bytes, n);
  f->bytes[n] = 0;
  f->n = n;
  n_files++;
  return TLG_OK;
}

static void forget(void)
{
  while (n_files) {
    free(files[--n_files].bytes);
  }
}

static const struct file *named(const char *name)
{
  size_t k;

  for (k = 0; k < n_files && strcmp(files[k].name, name) != 0; k++) {
  }
  if (k == n_files) {
    fail_msg("%s was not made", name);
  }
  return &files[k];
}

static const tlg_cs16 in[5] = {{0, 1}, {-1, 32767}, {-32768, 256}, {255, -256}, {1234, -4321}};
static const tlg_cs16 out[4] = {{7, -7}, {32767, -32768}, {0, 0}, {-2, 3}};
static int16_t h[7] = {1, -2, 300, -32767, 32767, 0, -5};
static const struct tlg_taps taps = {h, 7, 3, 14};
static struct tlg_vector vector;
static struct tlg_export x = {&vector, "a purpose", &taps, in, out, 5, 4};

static void make(enum tlg_export_form form)
{
  tlg_vector_init(&vector);
  snprintf(vector.id, sizeof vector.id, "some-id");
  vector.up = 6; /* not in lowest terms: 3/2 */
  vector.down = 4;
  forget();
  refuse_after = 100;
  assert_int_equal(tlg_export(&x, form, keep, files), 0);
}

static void test_c_header(void **state)
{
  const char *s;

  (void)state;
  make(TLG_EXPORT_C);
  assert_int_equal(n_files, 1);
  s = named("some-id.h")->bytes;
  assert_non_null(strstr(s, "some_id_L = 3"));
  assert_non_null(strstr(s, "some_id_M = 2"));
  assert_non_null(strstr(s, "some_id_T = 3"));
  assert_non_null(strstr(s, "some_id_S = 14"));
  assert_non_null(strstr(s, "some_id_h[7] = {\n    1, -2, 300, -32767, 32767, 0, -5,\n};"));
  assert_non_null(
      strstr(s, "some_id_in[5][2] = {\n    {0, 1}, {-1, 32767}, {-32768, 256}, {255, -256}, {1234, -4321},\n};"));
  assert_non_null(strstr(s, "some_id_out[4][2] = {\n    {7, -7}, {32767, -32768}, {0, 0}, {-2, 3},\n};"));
}

static void test_verilog_files(void **state)
{
  (void)state;
  make(TLG_EXPORT_VERILOG);
  assert_string_equal(named("some-id_in.hex")->bytes, "00010000\n7fffffff\n01008000\nff0000ff\nef1f04d2\n");
  assert_string_equal(named("some-id_in_i.hex")->bytes, "0000\nffff\n8000\n00ff\n04d2\n");
  assert_string_equal(named("some-id_in_q.hex")->bytes, "0001\n7fff\n0100\nff00\nef1f\n");
  assert_string_equal(named("some-id_out.hex")->bytes, "fff90007\n80007fff\n00000000\n0003fffe\n");
  assert_string_equal(named("some-id_taps.hex")->bytes, "0001\nfffe\n012c\n8001\n7fff\n0000\nfffb\n");
  /* phase 0: h0 h3 h6, phase 1: h1 h4 and a zero, phase 2: h2 h5 and a zero */
  assert_string_equal(named("some-id_phases.hex")->bytes, "0001\n8001\nfffb\nfffe\n7fff\n0000\n012c\n0000\n0000\n");
  assert_non_null(strstr(named("some-id_tb.sv")->bytes, "module some_id_tb;"));
  assert_non_null(strstr(named("some-id_tb.sv")->bytes, "L = 3, M = 2, T = 3, S = 14, Q0 = 0;"));
  assert_non_null(strstr(named("some-id_tb.sv")->bytes, "N_IN = 5, N_OUT = 4;"));
  vector.align = 1;
  forget();
  assert_int_equal(tlg_export(&x, TLG_EXPORT_VERILOG, keep, files), 0);
  assert_non_null(strstr(named("some-id_tb.sv")->bytes, "Q0 = 3;"));
  vector.start = 5;
  assert_int_equal(tlg_export(&x, TLG_EXPORT_VERILOG, keep, files), TLG_EINVAL);
}

static void test_xilinx_files(void **state)
{
  (void)state;
  make(TLG_EXPORT_COE);
  assert_non_null(
      strstr(named("some-id_taps.coe")->bytes, "\nradix = 10;\ncoefdata =\n1,\n-2,\n300,\n-32767,\n32767,\n0,\n-5;\n"));
  make(TLG_EXPORT_MEM);
  assert_non_null(strstr(named("some-id_taps.mem")->bytes, "@00000000\n0001\nFFFE\n012C\n8001\n7FFF\n0000\nFFFB\n"));
}

/* The format as numpy documents it: magic, version 1.0, header length, header to a multiple of 64 bytes, data. */
static void npy(const char *name, const char *shape, const int16_t *values, size_t n)
{
  const struct file *f = named(name);
  const unsigned char *b = (const unsigned char *)f->bytes;
  const size_t header = (size_t)(b[8] | b[9] << 8);
  char wanted[160];
  size_t k;

  assert_memory_equal(b, "\x93NUMPY\x01\x00", 8);
  assert_int_equal((10 + header) % 64, 0);
  assert_int_equal(b[10 + header - 1], '\n');
  snprintf(wanted, sizeof wanted, "{'descr': '<i2', 'fortran_order': False, 'shape': %s, }", shape);
  assert_memory_equal(b + 10, wanted, strlen(wanted));
  assert_int_equal(f->n, 10 + header + 2 * n);
  for (k = 0; k < n; k++) {
    assert_int_equal((int16_t)(uint16_t)(b[10 + header + 2 * k] | b[10 + header + 2 * k + 1] << 8), values[k]);
  }
}

static void test_numpy_files(void **state)
{
  static const int16_t in_values[10] = {0, 1, -1, 32767, -32768, 256, 255, -256, 1234, -4321};
  static const int16_t out_values[8] = {7, -7, 32767, -32768, 0, 0, -2, 3};

  (void)state;
  make(TLG_EXPORT_NPY);
  npy("some-id_in.npy", "(5, 2)", in_values, 10);
  npy("some-id_out.npy", "(4, 2)", out_values, 8);
  npy("some-id_taps.npy", "(7,)", h, 7);
}

static void test_failures_come_back(void **state)
{
  int k;

  (void)state;
  make(TLG_EXPORT_VERILOG);
  for (k = 0; k < 9; k++) {
    forget();
    refuse_after = k;
    assert_int_equal(tlg_export(&x, TLG_EXPORT_VERILOG, keep, files), TLG_ESYS);
    assert_int_equal(n_files, k);
  }
  forget();
  assert_int_equal(tlg_export(NULL, TLG_EXPORT_C, keep, files), TLG_EINVAL);
  assert_int_equal(tlg_export(&x, TLG_EXPORT_C, NULL, files), TLG_EINVAL);
  assert_int_equal(tlg_export(&x, (enum tlg_export_form)99, keep, files), TLG_EINVAL);
  forget();
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_c_header),           cmocka_unit_test(test_verilog_files),
      cmocka_unit_test(test_xilinx_files),       cmocka_unit_test(test_numpy_files),
      cmocka_unit_test(test_failures_come_back),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
