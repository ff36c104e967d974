// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// lrs_arbiter: one grant, to a requester, and while one waits, in whatever pattern it asks, no other is served twice.
module lrs_arbiter_formal #(
    parameter int unsigned N = 4
) (
    input logic                 clk_i,
    input logic [N-1:0]         req_i,
    input logic                 advance_i,
    input logic [$clog2(N)-1:0] who_i
);
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic [N-1:0] gnt;
  lrs_arbiter #(.N(N)) dut (.clk_i, .rst_ni(rst_n), .req_i, .advance_i, .gnt_o(gnt));

  // One requester, chosen freely, and those served ahead of it since its own last turn.
  logic [$clog2(N)-1:0] who_q;
  logic [N-1:0]         ahead_q;
  always_ff @(posedge clk_i) begin
    if (!rst_n) begin
      who_q   <= who_i;
      ahead_q <= '0;
    end else if (advance_i) begin
      if (gnt[who_q]) ahead_q <= '0;
      else if (req_i[who_q]) ahead_q <= ahead_q | gnt;
    end
  end

  always_ff @(posedge clk_i) if (rst_n) begin
    AssumeWho : assume (32'(who_q) < N);
    OneGrant : assert ($onehot0(gnt) && (gnt & ~req_i) == '0 && (gnt != '0) == (req_i != '0));
    NotTwice : assert (!req_i[who_q] || (gnt & ahead_q) == '0);
    CoverLast : cover (gnt[who_q] && $countones(ahead_q) == N - 1);
  end
endmodule
