// SPDX-License-Identifier: MIT OR Apache-2.0
// Fails when registers change in a cycle in which nothing enables them.
module hold_check #(
    parameter int unsigned Width = 1
) (
    input logic             clk_i,
    input logic             rst_ni,
    input logic             enable_i,
    input logic [Width-1:0] state_i
);
  Hold : assert property (@(posedge clk_i) disable iff (!rst_ni) !enable_i |=> $stable(state_i))
  else $fatal(1, "%m: register changes without a flit");
endmodule
