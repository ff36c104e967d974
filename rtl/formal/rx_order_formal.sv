// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// rx_order: a request is let go when, and only when, all packets that went ahead of it are in memory.
module rx_order_formal #(
    parameter int unsigned Max = 5
) (
    input logic clk_i,
    input logic push_i,
    input logic retire_i,
    input logic ask_i,
    input logic take_i
);
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic clear, idle;
  rx_order #(.Max(Max)) dut (
      .clk_i, .rst_ni(rst_n), .push_i, .retire_i, .ask_i, .take_i, .clear_o(clear), .idle_o(idle)
  );

  // Packets under way, and those of them that the request waits for; its first cycle counts those before it.
  logic [2:0] level_q, older_q;
  logic       asked_q;
  always_ff @(posedge clk_i) begin
    if (!rst_n) begin
      level_q <= '0;
      older_q <= '0;
      asked_q <= 1'b0;
    end else begin
      level_q <= level_q + 3'(push_i) - 3'(retire_i);
      asked_q <= ask_i && !take_i;
      older_q <= (asked_q ? older_q : level_q) - 3'(retire_i && (!asked_q || older_q != '0));
    end
  end

  always_ff @(posedge clk_i) if (rst_n) begin
    AssumePush : assume (!push_i || retire_i || 32'(level_q) < Max);
    AssumeRetire : assume (!retire_i || level_q != '0);
    AssumeStays : assume (!asked_q || ask_i);
    AssumeTake : assume (!take_i || (ask_i && clear));
    NotBefore : assert (!(clear && ask_i) || (asked_q && older_q == '0));
    NotHeld : assert (!(asked_q && older_q == '0) || clear);
    CoverPassed : cover (take_i && level_q == 3'd2);
  end
endmodule
