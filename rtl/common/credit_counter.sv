// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Credits of one virtual channel: flits of free space at the receiver. `init_i` loads the full count.
module credit_counter #(
    parameter int unsigned Max = 64,
    localparam int unsigned W = $clog2(Max + 1)
) (
    input  logic         clk_i,
    input  logic         rst_ni,
    input  logic         init_i,
    input  logic [W-1:0] take_i,   // credits used in this cycle
    input  logic         give_i,   // one credit came back
    input  logic         refund_i, // one that was taken is not needed
    output logic [W-1:0] credits_o
);
  logic [W-1:0] credits_q;
  assign credits_o = credits_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) credits_q <= W'(Max);
    else if (init_i) credits_q <= W'(Max);
    else if (give_i || refund_i || take_i != '0) credits_q <= credits_q - take_i + W'(give_i) + W'(refund_i);
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && !init_i) begin
      NoUnderflow : assert (take_i <= credits_q)
      else $fatal(1, "%m: credit underflow");
    end
    if (rst_ni && !init_i && (give_i || refund_i)) begin
      NoOverflow : assert ((W + 1)'(credits_q) + (W + 1)'(give_i) + (W + 1)'(refund_i) <= (W + 1)'(Max) + (W + 1)'(take_i))
      else $fatal(1, "%m: credit overflow");
    end
  end
`endif
endmodule
