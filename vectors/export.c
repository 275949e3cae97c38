/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors in the forms of other tools: C, Verilog with a testbench, Xilinx coefficient files, NumPy arrays. */
#include "tlg_golden.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sink {
  const struct tlg_export *e;
  int (*put)(void *context, const char *name, const void *bytes, size_t n);
  void *context;
  FILE *f;
  char *text;
  size_t size;
};

static int begin(struct sink *s)
{
  s->text = NULL;
  s->f = open_memstream(&s->text, &s->size);
  return s->f ? TLG_OK : TLG_ENOMEM;
}

/* Hand the file over under the vector's id and a suffix. */
static int finish(struct sink *s, const char *suffix)
{
  char name[128];
  int st = fclose(s->f) == 0 ? TLG_OK : TLG_ENOMEM;

  if (!st) {
    snprintf(name, sizeof name, "%s%s", s->e->vector->id, suffix);
    st = s->put(s->context, name, s->text, s->size);
  }
  free(s->text);
  return st;
}

static void terms(const struct tlg_export *e, uint32_t *up, uint32_t *down, size_t *per_phase, size_t *q0)
{
  uint32_t a = e->vector->up, b = e->vector->down;

  while (b) {
    const uint32_t rest = a % b;

    a = b;
    b = rest;
  }
  *up = e->vector->up / a;
  *down = e->vector->down / a;
  *per_phase = (e->taps->n + *up - 1) / *up;
  *q0 = e->vector->align ? (e->taps->n - 1) / 2 : 0;
}

/* An identifier for C and Verilog. */
static void identifier(const char *id, char name[80])
{
  size_t k;

  for (k = 0; id[k] && k < 79; k++) {
    name[k] = (char)(id[k] == '-' ? '_' : id[k]);
  }
  name[k] = 0;
}

/* ---- C ----------------------------------------------------------------------------------------------------------- */

static void c_taps(FILE *f, const char *name, const struct tlg_taps *t)
{
  size_t k;

  fprintf(f, "\n/* the prototype */\nstatic const int16_t %s_h[%zu] = {", name, t->n);
  for (k = 0; k < t->n; k++) {
    fprintf(f, "%s%d,", k % 12 ? " " : "\n    ", t->h[k]);
  }
  fputs("\n};\n", f);
}

static void c_samples(FILE *f, const char *name, const char *suffix, const char *what, const tlg_cs16 *x, size_t n)
{
  size_t k;

  fprintf(f, "\n/* %s */\nstatic const int16_t %s_%s[%zu][2] = {", what, name, suffix, n ? n : 1);
  for (k = 0; k < n; k++) {
    fprintf(f, "%s{%d, %d},", k % 6 ? " " : "\n    ", x[k].i, x[k].q);
  }
  fputs(n ? "\n};\n" : "{0, 0}};\n", f);
}

static int export_c(struct sink *s)
{
  const struct tlg_export *e = s->e;
  const struct tlg_vector *v = e->vector;
  uint32_t up, down;
  size_t per_phase, q0, k;
  char name[80];
  int st = begin(s);

  if (st) {
    return st;
  }
  terms(e, &up, &down, &per_phase, &q0);
  identifier(v->id, name);
  fprintf(s->f,
          "/* SPDX-License-Identifier: CC0-1.0 */\n/* taplag golden vector %s: %s\n"
          " * y[m] from acc = sum over k of h[p + k*L] * x[i - k], with q = m*M + q0, p = q mod L, i = floor(q/L):\n"
          " * %s. */\n#ifndef TAPLAG_%s_H\n#define TAPLAG_%s_H\n\n#include <stdint.h>\n\n",
          v->id, e->purpose ? e->purpose : "",
          v->rounding == TLG_ROUND_NEAREST ? "saturated (acc + 2^(S-1)) >> S" : "the low 16 bits of acc >> S", name,
          name);
  if (v->start) {
    fprintf(s->f, "/* %llu inputs were skipped before the first one. */\n", (unsigned long long)v->start);
  }
  for (k = 0; k < v->n_gaps; k++) {
    fprintf(s->f, "/* %llu inputs are missing before input %llu; their outputs are left out. */\n",
            (unsigned long long)v->gaps[k].n, (unsigned long long)v->gaps[k].at);
  }
  fprintf(s->f,
          "enum {\n  %s_L = %lu,\n  %s_M = %lu,\n  %s_T = %zu,\n  %s_S = %u,\n  %s_q0 = %zu,\n  %s_taps = %zu,\n"
          "  %s_inputs = %zu,\n  %s_outputs = %zu,\n  %s_align = %d,\n  %s_flush = %d\n};\n",
          name, (unsigned long)up, name, (unsigned long)down, name, per_phase, name, e->taps->shift, name, q0, name,
          e->taps->n, name, e->n_in, name, e->n_out, name, v->align, name, v->flush);
  c_taps(s->f, name, e->taps);
  c_samples(s->f, name, "in", "inputs: I, Q", e->in, e->n_in);
  c_samples(s->f, name, "out", "what must come out: I, Q", e->out, e->n_out);
  fputs("\n#endif\n", s->f);
  return finish(s, ".h");
}

/* ---- Verilog ------------------------------------------------------------------------------------------------------
 */

enum part { PACKED, ONLY_I, ONLY_Q };

static int hex_samples(struct sink *s, const char *suffix, const tlg_cs16 *x, size_t n, enum part part)
{
  size_t k;
  int st = begin(s);

  if (st) {
    return st;
  }
  for (k = 0; k < n; k++) {
    const unsigned i = (uint16_t)x[k].i, q = (uint16_t)x[k].q;

    if (part == PACKED) {
      fprintf(s->f, "%04x%04x\n", q, i);
    } else {
      fprintf(s->f, "%04x\n", part == ONLY_I ? i : q);
    }
  }
  return finish(s, suffix);
}

/* rows: phase after phase, T taps each (short phases end with zeros); else the prototype as it is. */
static int hex_taps(struct sink *s, const char *suffix, int rows)
{
  const struct tlg_export *e = s->e;
  uint32_t up, down;
  size_t per_phase, q0, p, k;
  int st = begin(s);

  if (st) {
    return st;
  }
  terms(e, &up, &down, &per_phase, &q0);
  for (p = 0; rows && p < up; p++) {
    for (k = 0; k < per_phase; k++) {
      fprintf(s->f, "%04x\n", p + k * up < e->taps->n ? (unsigned)(uint16_t)e->taps->h[p + k * up] : 0u);
    }
  }
  for (k = 0; !rows && k < e->taps->n; k++) {
    fprintf(s->f, "%04x\n", (unsigned)(uint16_t)e->taps->h[k]);
  }
  return finish(s, suffix);
}

static const char testbench[] =
    "  reg         clk = 0;\n"
    "  reg         rst = 1;\n"
    "  reg         s_valid = 0;\n"
    "  wire        s_ready;\n"
    "  reg  [31:0] s_data = 0;\n"
    "  wire        m_valid;\n"
    "  wire [31:0] m_data;\n"
    "\n"
    "  reg [31:0] stimulus [0:(N_IN > 0 ? N_IN : 1) - 1];\n"
    "  reg [31:0] expected [0:(N_OUT > 0 ? N_OUT : 1) - 1];\n"
    "  integer    fed = 0, taken = 0, wrong = 0;\n"
    "  integer    cycles = 0, idle = 0;\n"
    "\n"
    "  // The unit under test: samples are {Q, I}, 16 bits each, two's complement.\n"
    "  `DUT #(.L(L), .M(M), .T(T), .S(S), .Q0(Q0), .NEAREST(NEAREST), .TAPS_FILE(TAPS_FILE)) dut (\n"
    "    .clk(clk), .rst(rst),\n"
    "    .s_valid(s_valid), .s_ready(s_ready), .s_data(s_data),\n"
    "    .m_valid(m_valid), .m_data(m_data)\n"
    "  );\n"
    "\n"
    "  always #5 clk = ~clk;\n"
    "\n"
    "  initial begin\n"
    "    if (N_IN > 0) $readmemh(IN_FILE, stimulus);\n"
    "    if (N_OUT > 0) $readmemh(OUT_FILE, expected);\n"
    "    repeat (4) @(posedge clk);\n"
    "    #1 rst = 0;\n"
    "  end\n"
    "\n"
    "  // Inputs, then zeros if the vector is flushed. Signals change behind the clock's edge.\n"
    "  always @(posedge clk) begin\n"
    "    if (!rst) begin\n"
    "      if (s_valid && s_ready) fed = fed + 1;\n"
    "      #1;\n"
    "      s_valid = fed < N_IN || FLUSH;\n"
    "      s_data = fed < N_IN ? stimulus[fed] : 32'd0;\n"
    "    end\n"
    "  end\n"
    "\n"
    "  always @(posedge clk) begin\n"
    "    cycles = cycles + 1;\n"
    "    if (!rst && m_valid) begin\n"
    "      if (taken < N_OUT) begin\n"
    "        if (m_data !== expected[taken]) begin\n"
    "          if (wrong < 10)\n"
    "            $display(\"FAIL %0s: output %0d: expected %h, got %h\", NAME, taken, expected[taken], m_data);\n"
    "          wrong = wrong + 1;\n"
    "        end\n"
    "      end else if (!FLUSH) begin\n"
    "        if (wrong < 10) $display(\"FAIL %0s: output %0d is too many\", NAME, taken);\n"
    "        wrong = wrong + 1;\n"
    "      end\n"
    "      taken = taken + 1;\n"
    "    end\n"
    "    // the end: all outputs came, and a while passed in which too many could have come\n"
    "    if (taken >= N_OUT && fed >= N_IN) idle = idle + 1;\n"
    "    if (idle > 4 * T + 64 || (FLUSH && taken >= N_OUT && fed >= N_IN)) begin\n"
    "      if (wrong == 0) begin\n"
    "        $display(\"PASS %0s: %0d outputs\", NAME, N_OUT);\n"
    "        $finish;\n"
    "      end else begin\n"
    "        $display(\"FAIL %0s: %0d of %0d outputs are wrong\", NAME, wrong, N_OUT);\n"
    "        $fatal(1);\n"
    "      end\n"
    "    end\n"
    "    if (cycles > MAX_CYCLES) begin\n"
    "      $display(\"FAIL %0s: after %0d cycles %0d of %0d outputs came\", NAME, cycles, taken, N_OUT);\n"
    "      $fatal(1);\n"
    "    end\n"
    "  end\n"
    "endmodule\n"
    "`default_nettype wire\n";

static int testbench_file(struct sink *s)
{
  const struct tlg_export *e = s->e;
  const struct tlg_vector *v = e->vector;
  uint32_t up, down;
  size_t per_phase, q0;
  char name[80];
  int st = begin(s);

  if (st) {
    return st;
  }
  terms(e, &up, &down, &per_phase, &q0);
  identifier(v->id, name);
  fprintf(s->f,
          "// SPDX-License-Identifier: CC0-1.0\n"
          "// Self-checking testbench for taplag's golden vector %s: %s\n"
          "// Run it beside the .hex files; DUT is the module under test (default: resampler), for instance\n"
          "//   iverilog -g2012 -o tb %s_tb.sv my_resampler.sv && vvp -n tb\n"
          "// Exit status 0 and a line PASS when every output is right to the last bit.\n"
          "// Taps stand phase after phase, T each; output m: q = m*M + Q0, phase q mod L, newest input floor(q/L).\n"
          "`timescale 1ns/1ps\n`default_nettype none\n`ifndef DUT\n`define DUT resampler\n`endif\n\n"
          "module %s_tb;\n"
          "  localparam integer L = %lu, M = %lu, T = %zu, S = %u, Q0 = %zu;\n"
          "  localparam integer N_IN = %zu, N_OUT = %zu;\n"
          "  localparam integer NEAREST = %d; // 1: + 2^(S-1), >> S, saturated; 0: >> S, low 16 bits\n"
          "  localparam integer FLUSH = %d;   // 1: zeros follow the input until all outputs came\n"
          "  localparam integer MAX_CYCLES = 4 * (N_IN + N_OUT + 64) * (T + 16);\n"
          "  localparam NAME = \"%s\";\n"
          "  localparam IN_FILE = \"%s_in.hex\";\n  localparam OUT_FILE = \"%s_out.hex\";\n"
          "  localparam TAPS_FILE = \"%s_phases.hex\";\n\n",
          v->id, e->purpose ? e->purpose : "", v->id, name, (unsigned long)up, (unsigned long)down, per_phase,
          e->taps->shift, q0, e->n_in, e->n_out, v->rounding == TLG_ROUND_NEAREST, v->flush, v->id, v->id, v->id,
          v->id);
  fputs(testbench, s->f);
  return finish(s, "_tb.sv");
}

static int export_verilog(struct sink *s)
{
  const struct tlg_export *e = s->e;
  static const struct {
    const char *in, *out;
    enum part part;
  } forms[] = {
      {"_in.hex", "_out.hex", PACKED}, {"_in_i.hex", "_out_i.hex", ONLY_I}, {"_in_q.hex", "_out_q.hex", ONLY_Q}};
  size_t k;
  int st = TLG_OK;

  if (e->vector->start || e->vector->n_gaps) {
    return TLG_EINVAL;
  }
  for (k = 0; k < sizeof forms / sizeof *forms && !st; k++) {
    st = hex_samples(s, forms[k].in, e->in, e->n_in, forms[k].part);
    st = st ? st : hex_samples(s, forms[k].out, e->out, e->n_out, forms[k].part);
  }
  st = st ? st : hex_taps(s, "_taps.hex", 0);
  st = st ? st : hex_taps(s, "_phases.hex", 1);
  return st ? st : testbench_file(s);
}

/* ---- Xilinx --------------------------------------------------------------------------------------------------------
 */

static int export_coe(struct sink *s)
{
  const struct tlg_taps *t = s->e->taps;
  size_t k;
  int st = begin(s);

  if (st) {
    return st;
  }
  fprintf(s->f, "; taplag %s: %zu taps, L = %lu, S = %u (gain L after >> S)\nradix = 10;\ncoefdata =\n",
          s->e->vector->id, t->n, (unsigned long)t->up, t->shift);
  for (k = 0; k < t->n; k++) {
    fprintf(s->f, "%d%s\n", t->h[k], k + 1 < t->n ? "," : ";");
  }
  return finish(s, "_taps.coe");
}

static int export_mem(struct sink *s)
{
  const struct tlg_taps *t = s->e->taps;
  size_t k;
  int st = begin(s);

  if (st) {
    return st;
  }
  fprintf(s->f, "// taplag %s: %zu taps, 16 bits each\n@00000000\n", s->e->vector->id, t->n);
  for (k = 0; k < t->n; k++) {
    fprintf(s->f, "%04X\n", (unsigned)(uint16_t)t->h[k]);
  }
  return finish(s, "_taps.mem");
}

/* ---- NumPy ---------------------------------------------------------------------------------------------------------
 */

static void put16(FILE *f, int16_t value)
{
  fputc((uint16_t)value & 255, f);
  fputc((uint16_t)value >> 8, f);
}

/* Format 1.0: magic, version, header length, a Python literal padded with blanks to a multiple of 64, data. */
static void npy_header(FILE *f, const char *shape)
{
  char text[128];
  const int n = snprintf(text, sizeof text, "{'descr': '<i2', 'fortran_order': False, 'shape': %s, }", shape);
  const int total = (10 + n + 1 + 63) / 64 * 64;

  fwrite("\x93NUMPY\x01\x00", 1, 8, f);
  put16(f, (int16_t)(total - 10));
  fprintf(f, "%s%*s\n", text, total - 10 - n - 1, "");
}

static int npy_samples(struct sink *s, const char *suffix, const tlg_cs16 *x, size_t n)
{
  char shape[40];
  size_t k;
  int st = begin(s);

  if (st) {
    return st;
  }
  snprintf(shape, sizeof shape, "(%zu, 2)", n);
  npy_header(s->f, shape);
  for (k = 0; k < n; k++) {
    put16(s->f, x[k].i);
    put16(s->f, x[k].q);
  }
  return finish(s, suffix);
}

static int export_npy(struct sink *s)
{
  const struct tlg_export *e = s->e;
  char shape[40];
  size_t k;
  int st;

  st = npy_samples(s, "_in.npy", e->in, e->n_in);
  st = st ? st : npy_samples(s, "_out.npy", e->out, e->n_out);
  st = st ? st : begin(s);
  if (st) {
    return st;
  }
  snprintf(shape, sizeof shape, "(%zu,)", e->taps->n);
  npy_header(s->f, shape);
  for (k = 0; k < e->taps->n; k++) {
    put16(s->f, e->taps->h[k]);
  }
  return finish(s, "_taps.npy");
}

int tlg_export(const struct tlg_export *e, enum tlg_export_form form,
               int (*put)(void *context, const char *name, const void *bytes, size_t n), void *context)
{
  struct sink s = {.e = e, .put = put, .context = context};

  if (!e || !put || !e->vector || !e->taps || (e->n_in && !e->in) || (e->n_out && !e->out)) {
    return TLG_EINVAL;
  }
  switch (form) {
  case TLG_EXPORT_C:
    return export_c(&s);
  case TLG_EXPORT_VERILOG:
    return export_verilog(&s);
  case TLG_EXPORT_COE:
    return export_coe(&s);
  case TLG_EXPORT_MEM:
    return export_mem(&s);
  case TLG_EXPORT_NPY:
    return export_npy(&s);
  }
  return TLG_EINVAL;
}
