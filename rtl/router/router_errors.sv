// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Error reports of the network, one a cycle. A source holds its report until `take_o` is its turn, round robin.
module router_errors
  import gyre_pkg::*;
#(
    parameter int unsigned N = 18            // sources
) (
    input  logic         clk_i,
    input  logic         rst_ni,
    input  error_t       err_i [N],
    output logic [N-1:0] take_o,             // one-hot: reported in the next cycle
    output error_t       err_o,              // one-cycle pulse
    output logic         idle_o              // no report waits or is given
);
  logic [N-1:0] pending;
  error_t       err_d, err_q;

  for (genvar n = 0; n < int'(N); n++) begin : gen_source
    assign pending[n] = err_i[n].valid;
  end

  rr_arbiter #(
      .N(N)
  ) u_turn (
      .clk_i,
      .rst_ni,
      .req_i    (pending),
      .advance_i(1'b1),
      .gnt_o    (take_o)
  );

  always_comb begin
    err_d = '0;
    if (pending != '0) begin
      for (int unsigned n = 0; n < N; n++) if (take_o[n]) err_d = err_d | err_i[n];
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) err_q <= '0;
    else if (pending != '0 || err_q.valid) err_q <= err_d;
  end

  assign err_o  = err_q;
  assign idle_o = pending == '0 && !err_q.valid;

`ifndef SYNTHESIS
  logic pending_q;               // one was there in the last cycle
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) pending_q <= 1'b0;
    else pending_q <= pending != '0;
  end
  always_ff @(posedge clk_i) begin
    if (rst_ni && err_q.valid) begin
      HasReason : assert (err_q.reason != ErrNone)
      else $fatal(1, "%m: error without a reason");
    end
    if (rst_ni && pending_q) begin
      Reported : assert (err_q.valid)
      else $fatal(1, "%m: error lost");
    end
  end
`endif
endmodule
