// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Hands on the errors of one unit, source 0 first. A source holds its error until it is taken; a register
// acknowledges it, so that the next step of a unit depends on no other unit's errors.
module err_select
  import gyre_pkg::*;
#(
    parameter int unsigned N = 2
) (
    input  logic         clk_i,
    input  logic         rst_ni,
    input  error_t       err_i [N],
    output logic [N-1:0] taken_o,    // one-cycle pulse: the source drops its error
    output error_t       err_o,      // held until err_ack_i
    input  logic         err_ack_i,
    output logic         idle_o
);
  logic [N-1:0] valid, first, taken_q;

  for (genvar s = 0; s < N; s++) begin : gen_source
    assign valid[s] = err_i[s].valid && !taken_q[s];
  end
  assign first = valid & (~valid + 1'b1);

  always_comb begin
    err_o        = '0;
    err_o.reason = ErrNone;
    for (int unsigned s = 0; s < N; s++) if (first[s]) err_o = err_i[s];
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) taken_q <= '0;
    else if (valid != '0 || taken_q != '0) taken_q <= err_ack_i ? first : '0;
  end
  assign taken_o = taken_q;
  assign idle_o  = valid == '0 && taken_q == '0;

`ifndef SYNTHESIS
  for (genvar s = 0; s < N; s++) begin : gen_assert
    always_ff @(posedge clk_i) begin
      if (rst_ni && taken_q[s]) begin
        HeldUntilTaken : assert (err_i[s].valid)
        else $fatal(1, "%m: an error was dropped before it was taken");
      end
    end
  end
`endif
endmodule
