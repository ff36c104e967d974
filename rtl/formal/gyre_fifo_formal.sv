// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// gyre_fifo: entries come out unchanged and in order. One push, chosen freely, is followed through the FIFO by the
// number of entries ahead of it.
module gyre_fifo_formal #(
    parameter int unsigned Width = 3,
    parameter int unsigned Depth = 3,
    localparam int unsigned LevelW = $clog2(Depth + 1)
) (
    input logic             clk_i,
    input logic             clear_i,
    input logic             push_i,
    input logic             pop_i,
    input logic             track_i,   // follow the entry pushed in this cycle
    input logic [Width-1:0] data_i
);
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic [Width-1:0]  data;
  logic              empty, full;
  logic [LevelW-1:0] level;

  gyre_fifo #(.Width(Width), .Depth(Depth)) dut (
      .clk_i, .rst_ni(rst_n), .clear_i, .push_i, .data_i, .pop_i, .data_o(data), .empty_o(empty), .full_o(full),
      .level_o(level)
  );

  // Entries and the one followed.
  logic              here_q;
  logic [LevelW-1:0] ahead_q, count_q;
  logic [Width-1:0]  track_q;
  always_ff @(posedge clk_i) begin
    if (!rst_n || clear_i) begin
      here_q  <= 1'b0;
      ahead_q <= '0;
      count_q <= '0;
    end else begin
      count_q <= count_q + LevelW'(push_i) - LevelW'(pop_i);
      if (here_q && pop_i) begin
        here_q  <= ahead_q != '0;
        ahead_q <= ahead_q - 1'b1;
      end
      if (!here_q && push_i && track_i) begin
        here_q  <= 1'b1;
        ahead_q <= count_q - LevelW'(pop_i);
        track_q <= data_i;
      end
    end
  end

  always_ff @(posedge clk_i) if (rst_n) begin
    AssumePushRoom : assume (!push_i || !full || pop_i);
    AssumePopThere : assume (!pop_i || !empty);
    LevelCounts : assert (level == count_q && count_q <= LevelW'(Depth));
    EmptyIsZero : assert (empty == (count_q == '0));
    FullIsDepth : assert (full == (count_q == LevelW'(Depth)));
    InOrder : assert (!here_q || ahead_q != '0 || data == track_q);
    Inside : assert (!here_q || ahead_q < count_q);
    // The entry followed lies where the number of those ahead says.
    Held : assert (!here_q || dut.mem[(32'(dut.head_q) + 32'(ahead_q)) % Depth] == track_q);
    Pointers : assert (32'(dut.tail_q) == (32'(dut.head_q) + 32'(count_q)) % Depth && 32'(dut.head_q) < Depth);
    CoverWrap : cover (full && dut.head_q == '1 >> 1);
    CoverLeaves : cover (here_q && ahead_q == '0 && pop_i && push_i && full);
  end
endmodule
