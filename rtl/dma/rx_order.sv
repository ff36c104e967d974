// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Holds a read-modify-write of one path back until the packets that the path took before it are in memory
// (HW-1): counts packets on their way, and how many of them were there when the request came to the front.
module rx_order #(
    parameter int unsigned Max = 16            // packets on their way
) (
    input  logic clk_i,
    input  logic rst_ni,
    input  logic push_i,    // a packet starts on its way to memory
    input  logic retire_i,  // the oldest is there
    input  logic ask_i,     // a request is at the front; stays until taken
    input  logic take_i,
    output logic clear_o,   // it may go
    output logic idle_o
);
  localparam int unsigned W = $clog2(Max + 1);

  logic [W-1:0] level_q, older_q;
  logic         armed_q;                       // older_q counts for the request at the front

  assign clear_o = armed_q && older_q == '0;
  assign idle_o  = !ask_i || armed_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      level_q <= '0;
      older_q <= '0;
      armed_q <= 1'b0;
    end else begin
      if (push_i != retire_i) level_q <= push_i ? level_q + 1'b1 : level_q - 1'b1;
      if (ask_i && !armed_q) older_q <= level_q - W'(retire_i);
      else if (older_q != '0 && retire_i) older_q <= older_q - 1'b1;
      if (take_i) armed_q <= 1'b0;
      else if (ask_i) armed_q <= 1'b1;
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && (push_i || retire_i)) begin
      Counted : assert (retire_i ? level_q != '0 : level_q != W'(Max))
      else $fatal(1, "%m: more packets than there can be, or fewer than none");
    end
    if (rst_ni && take_i) begin
      TakenClear : assert (ask_i && clear_o)
      else $fatal(1, "%m: request taken before its time");
    end
    if (rst_ni && armed_q) begin
      OlderThere : assert (older_q <= level_q)
      else $fatal(1, "%m: waits for a packet that is gone");
    end
  end
`endif
endmodule
