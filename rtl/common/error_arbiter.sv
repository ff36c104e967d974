// Collects error reports: each source holds its report until taken, one leaves a cycle, in turn.
module error_arbiter
  import gyre_pkg::*;
#(
    parameter int unsigned N = 4
) (
    input  logic         clk_i,
    input  logic         rst_ni,
    input  error_t       err_i [N],
    output logic [N-1:0] take_o,    // one-hot: the source may clear its report
    output error_t       err_o      // `valid` for one cycle a report; a register
);
  logic [N-1:0] pending;
  error_t       err_q, err_sel;

  for (genvar n = 0; n < int'(N); n++) begin : gen_pending
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

  assign err_o = err_q;

  always_comb begin
    err_sel = '0;
    if (pending != '0) begin
      for (int unsigned n = 0; n < N; n++) begin
        if (take_o[n]) err_sel = err_sel | err_i[n];
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) err_q <= '0;
    else if (pending != '0 || err_q.valid) err_q <= err_sel;
  end

`ifndef SYNTHESIS
  TakePending : assert property (@(posedge clk_i) disable iff (!rst_ni) (take_o & ~pending) == '0)
  else $fatal(1, "%m: report taken that is not there");
`endif
endmodule
