// SPDX-License-Identifier: MIT OR Apache-2.0
// Counts enabled cycles; too many trip its assertion. A memory without reset keeps its first content.
module counter #(
  parameter int unsigned Limit = 100
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        en_i,
  output logic [63:0] count_o,
  output logic [63:0] noise_o
);
  logic [63:0] count_q;
  logic [63:0] mem [2];

  assign count_o = count_q;
  assign noise_o = mem[0];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      count_q <= '0;
    end else if (en_i) begin
      count_q <= count_q + 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (en_i) mem[1] <= count_q;
  end

`ifndef SYNTHESIS
  limit_a: assert property (@(posedge clk_i) disable iff (!rst_ni) count_q <= 64'(Limit))
    else $error("count %0d is over %0d", count_q, Limit);
`endif
endmodule
