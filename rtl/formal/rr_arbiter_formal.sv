// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// rr_arbiter: one grant, to a requester, and every requester that stays is served before any other is served twice.
module rr_arbiter_formal #(
    parameter int unsigned N = 5
) (
    input logic                 clk_i,
    input logic [N-1:0]         req_i,
    input logic                 advance_i,
    input logic [$clog2(N)-1:0] who_i
);
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic [N-1:0] gnt;
  rr_arbiter #(.N(N)) dut (.clk_i, .rst_ni(rst_n), .req_i, .advance_i, .gnt_o(gnt));

  // One requester, chosen freely, and those served while it waits.
  logic [$clog2(N)-1:0] who_q;
  logic                 waits_q, kept_q;
  logic [N-1:0]         served_q, req_q, gnt_q;
  always_ff @(posedge clk_i) begin
    if (!rst_n) begin
      who_q    <= who_i;
      waits_q  <= 1'b0;
      served_q <= '0;
      kept_q   <= 1'b0;
    end else begin
      waits_q <= req_i[who_q] && !(gnt[who_q] && advance_i);
      if (!req_i[who_q] || (gnt[who_q] && advance_i)) served_q <= '0;
      else if (advance_i) served_q <= served_q | gnt;
      kept_q <= !advance_i;
      req_q  <= req_i;
      gnt_q  <= gnt;
    end
  end

  always_ff @(posedge clk_i) if (rst_n) begin
    AssumeWho : assume (32'(who_q) < N);
    AssumeStays : assume (!waits_q || req_i[who_q]);
    OneGrant : assert ($onehot0(gnt) && (gnt & ~req_i) == '0 && (gnt != '0) == (req_i != '0));
    ServedInTurn : assert (!waits_q || (gnt & served_q) == '0);
    Stable : assert (!kept_q || req_i != req_q || gnt == gnt_q);
    CoverWaitsLongest : cover (waits_q && gnt[who_q] && $countones(served_q) == N - 1);
  end
endmodule
