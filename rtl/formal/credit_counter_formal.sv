// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// credit_counter: credits here and credits given out are always as many as the receiver has slots.
module credit_counter_formal #(
    parameter int unsigned Max = 5,
    localparam int unsigned W = $clog2(Max + 1)
) (
    input logic         clk_i,
    input logic         init_i,
    input logic [W-1:0] take_i,
    input logic         give_i,
    input logic         refund_i
);
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic [W-1:0] credits;
  credit_counter #(.Max(Max)) dut (
      .clk_i, .rst_ni(rst_n), .init_i, .take_i, .give_i, .refund_i, .credits_o(credits)
  );

  logic [W-1:0] out_q;         // given out: on the way, or a flit in the receiver's buffer
  always_ff @(posedge clk_i) begin
    if (!rst_n || init_i) out_q <= '0;
    else out_q <= out_q + take_i - W'(give_i) - W'(refund_i);
  end

  always_ff @(posedge clk_i) if (rst_n) begin
    AssumeTakesOfThese : assume (take_i <= credits);
    AssumeReturnsOfThose : assume ((W + 1)'(give_i) + (W + 1)'(refund_i) <= (W + 1)'(out_q));
    Conserved : assert ((W + 1)'(credits) + (W + 1)'(out_q) == (W + 1)'(Max));
    CoverEmpty : cover (credits == '0 && give_i && refund_i);
    CoverAll : cover (give_i && refund_i && take_i == W'(2));
  end
endmodule
