# SPDX-License-Identifier: Apache-2.0
# taplag vectors export: every form is read back by the tool it is for; the testbench passes on a right unit and fails on wrong
# ones.
. "$(dirname "$0")/lib.sh"

for form in raw sigmf wav c verilog coe mem npy; do
  expect 0 "" "export as $form" -- "$TAPLAG" vectors export packets-362 --as $form -o ex
done
expect 0 "" "export again changes nothing" -- "$TAPLAG" vectors export packets-362 --as verilog -o ex
cp ex/packets-362.h keep.h && echo "/* changed */" >>ex/packets-362.h
expect 2 "exists; --force" "a file that exists is kept" -- "$TAPLAG" vectors export packets-362 --as c -o ex
expect 0 "" "--force overwrites it" -- "$TAPLAG" vectors export packets-362 --as c -o ex --force
same keep.h ex/packets-362.h "with the same bytes"
expect 2 "must be raw, sigmf" "an unknown form" -- "$TAPLAG" vectors export packets-362 --as pdf -o ex
expect 2 "argument is missing" "no vector" -- "$TAPLAG" vectors export --as raw
expect 2 "refusal" "a refusal has nothing to export" -- "$TAPLAG" vectors export refused-wav-cut --as raw -o ex
expect 2 "gaps" "a gap does not fit into a testbench" -- "$TAPLAG" vectors export gap-7 --as verilog -o ex
expect 4 "" "a folder that cannot be made" -- "$TAPLAG" vectors export packets-362 --as raw -o /nonexistent/x

# recordings read back as the same samples, and resample to the same outputs
for kind in sigmf-meta wav; do
  expect 0 "" "$kind resamples" -- "$TAPLAG" resample ex/packets-362_in.$kind --out-rate 30.72M -o from.$kind.cs16 --force
  same ex/packets-362_out.cs16 from.$kind.cs16 "$kind holds the vector"
done
"$TAPLAG" resample ex/packets-362_out.sigmf-meta --out-rate 30.72M -o back.cs16 --force >/dev/null 2>&1
same ex/packets-362_out.cs16 back.cs16 "the SigMF output holds what must come out"

# C: a header that compiles on its own and gives the bytes
cat >c.c <<'C'
#include "packets-362.h"
#include <stdio.h>
int main(void)
{
  int k, c;

  for (k = 0; k < packets_362_outputs; k++) {
    for (c = 0; c < 2; c++) {
      putchar(packets_362_out[k][c] & 255);
      putchar(packets_362_out[k][c] >> 8 & 255);
    }
  }
  return packets_362_L != 768 || packets_362_M != 625 || packets_362_in[0][0] == 0 || packets_362_h[0] == 1;
}
C
if ${CC:-cc} -std=c99 -Wall -Wno-unused -Werror -Iex c.c -o c 2>err && ./c >c.cs16; then
  same ex/packets-362_out.cs16 c.cs16 "the C header holds the vector"
else
  not_ok "the C header compiles: $(head -n 1 err)"
fi

# NumPy
python=
for p in python3 /usr/bin/python3; do
  "$p" -c 'import numpy' 2>/dev/null && python=$p && break
done
if [ -n "$python" ]; then
  "$python" - <<'PY' && ok "numpy loads the arrays: type, shape, values" || not_ok "numpy does not load the arrays"
import numpy as np
i, o, h = (np.load('ex/packets-362_%s.npy' % n) for n in ('in', 'out', 'taps'))
assert i.dtype == np.dtype('<i2') and o.dtype == np.dtype('<i2') and h.ndim == 1
assert (i == np.fromfile('ex/packets-362_in.cs16', '<i2').reshape(-1, 2)).all()
assert (o == np.fromfile('ex/packets-362_out.cs16', '<i2').reshape(-1, 2)).all()
# the definition, in numpy's own integers
L, M, T = 768, 625, -(-len(h) // 768)
taps = np.zeros(T * L, np.int64); taps[:len(h)] = h
x = np.vstack([np.zeros((T - 1, 2), np.int64), i])
y = np.empty_like(o)
for m in range(len(o)):
    p, n = m * M % L, m * M // L
    acc = (taps[p::L, None] * x[n:n + T][::-1]).sum(0)
    y[m] = np.clip((acc + 8192) >> 14, -32768, 32767)
assert (y == o).all()
PY
else
  skip "npy: numpy is not installed"
fi

# Verilog
if command -v iverilog >/dev/null; then
  "$TAPLAG" vectors export impulse-first dc-one corners half-small ratio-8-5 ratio-7-6-usrpl0 impulse-aligned-flush impulse-last-flush usrpl0-dc --as verilog -o hdl >/dev/null
  cd hdl || exit 1
  for id in impulse-first dc-one corners half-small ratio-8-5 ratio-7-6-usrpl0 impulse-aligned-flush impulse-last-flush usrpl0-dc; do
    if iverilog -g2012 -Wall -o tb ${id}_tb.sv "$ROOT/tests/hdl/polyphase.sv" 2>err && vvp -n tb >out 2>&1; then
      grep -q "^PASS $id: " out && ok "iverilog: $(grep ^PASS out)" || not_ok "iverilog: $id passes without saying so"
    else
      not_ok "iverilog: $id: $(cat err out | head -n 2)"
    fi
  done
  for fault in 1 2 3; do
    iverilog -g2012 -DFAULT=$fault -o tb corners_tb.sv "$ROOT/tests/hdl/polyphase.sv" 2>err
    if vvp -n tb >out 2>&1; then
      not_ok "iverilog: unit with fault $fault passes"
    else
      grep -q '^FAIL corners: output' out && ok "iverilog: unit with fault $fault fails: $(grep -m1 '^FAIL' out)" || not_ok "iverilog: fault $fault fails without saying where"
    fi
  done
  printf '`default_nettype wire\nmodule resampler #(parameter L=1,M=1,T=1,S=1,Q0=0,NEAREST=1,TAPS_FILE="")(input clk,rst,s_valid,output s_ready,input [31:0] s_data,output m_valid,output [31:0] m_data);assign s_ready=1;assign m_valid=0;endmodule\n' >dead.sv
  iverilog -g2012 -o tb dc-one_tb.sv dead.sv 2>err
  if vvp -n tb >out 2>&1; then not_ok "iverilog: a dead unit passes"; else
    grep -q 'outputs came' out && ok "iverilog: a unit that gives nothing fails in time" || not_ok "iverilog: a dead unit: $(head -n 1 out)"
  fi
  cd ..
else
  skip "iverilog is not installed"
fi
