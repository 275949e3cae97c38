// SPDX-License-Identifier: Apache-2.0
// A small polyphase resampler with one multiplier pair, as a unit under test for the exported testbenches.
// FAULT: 0 = right, 1 = truncates, 2 = forgets the oldest sample, 3 = the phase step is one too small.
`timescale 1ns/1ps
`default_nettype none
`ifndef FAULT
`define FAULT 0
`endif

module resampler #(
  parameter integer L = 768, M = 625, T = 16, S = 14, Q0 = 0, NEAREST = 1,
  parameter TAPS_FILE = "taps.hex"
) (
  input  wire        clk, rst,
  input  wire        s_valid,
  output wire        s_ready,
  input  wire [31:0] s_data,
  output reg         m_valid,
  output reg  [31:0] m_data
);
  localparam integer STEP = `FAULT == 3 ? M - 1 : M;
  localparam integer DEPTH = `FAULT == 2 ? T - 1 : T;

  reg signed [15:0] h [0:L*T-1];
  reg signed [15:0] xi [0:T-1], xq [0:T-1];
  reg signed [31:0] acc_i, acc_q;
  integer wanted, phase, k, newest, j, at;
  reg running;

  initial $readmemh(TAPS_FILE, h);

  function automatic [15:0] finish(input signed [31:0] acc);
    reg signed [31:0] y;
    begin
      y = (NEAREST != 0 && `FAULT != 1 ? acc + (1 <<< (S - 1)) : acc) >>> S;
      if (NEAREST != 0 && y > 32767) finish = 16'h7fff;
      else if (NEAREST != 0 && y < -32768) finish = 16'h8000;
      else finish = y[15:0];
    end
  endfunction

  assign s_ready = !rst && !running && wanted > 0;

  always @(posedge clk) begin
    m_valid <= 0;
    if (rst) begin
      wanted <= Q0 / L + 1;
      phase <= Q0 % L;
      k <= 0;
      newest <= 0;
      running <= 0;
      acc_i <= 0;
      acc_q <= 0;
      for (j = 0; j < T; j = j + 1) begin
        xi[j] <= 0;
        xq[j] <= 0;
      end
    end else if (running) begin
      if (k < DEPTH) begin
        at = (newest + T - k) % T;
        acc_i <= acc_i + h[phase * T + k] * xi[at];
        acc_q <= acc_q + h[phase * T + k] * xq[at];
        k <= k + 1;
      end else begin
        m_valid <= 1;
        m_data <= {finish(acc_q), finish(acc_i)};
        acc_i <= 0;
        acc_q <= 0;
        k <= 0;
        wanted <= (phase + STEP) / L;
        phase <= (phase + STEP) % L;
        running <= (phase + STEP) / L == 0;
      end
    end else if (s_valid && s_ready) begin
      newest <= (newest + 1) % T;
      xi[(newest + 1) % T] <= s_data[15:0];
      xq[(newest + 1) % T] <= s_data[31:16];
      wanted <= wanted - 1;
      running <= wanted == 1;
    end
  end
endmodule
`default_nettype wire
