// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// gyre_queues: words of a queue come out unchanged and in order, the second one in sight as well. The memory's own
// assertion, that no word is read while it is written, is checked with them.
module gyre_queues_formal #(
    parameter int unsigned NumQueues = 2,
    parameter int unsigned Depth = 4,
    parameter bit          Shared = 1'b0,
    localparam int unsigned LevelW = $clog2(Depth + 1)
) (
    input logic       clk_i,
    input logic       push_i,
    input logic [0:0] push_queue_i,
    input logic [0:0] stamp_i,
    input logic [0:0] side_i,
    input logic [0:0] data_i,
    input logic       read_i,
    input logic [0:0] queue_i,
    input logic       pop_i,
    input logic       track_i       // follow the word pushed in this cycle
);
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic                 first, busy;
  logic [0:0]           stamp, side, data;
  logic [1:0]           second;
  logic [NumQueues-1:0] nonempty, full;
  gyre_queues #(.NumQueues(NumQueues), .Depth(Depth), .Shared(Shared), .Width(1), .SideW(1), .StampW(1)) dut (
      .clk_i, .rst_ni(rst_n), .push_i, .push_queue_i, .stamp_i, .side_i, .data_i, .first_o(first), .read_i, .queue_i, .pop_i,
      .stamp_o(stamp), .side_o(side), .data_o(data), .second_stamp_o(second[1]), .second_side_o(second[0]),
      .nonempty_o(nonempty), .full_o(full), .busy_o(busy)
  );

  logic [NumQueues-1:0][LevelW-1:0] level_q;
  logic                             here_q, which_q;
  logic [2:0]                       track_q;
  logic [LevelW-1:0]                ahead_q;
  always_ff @(posedge clk_i) begin
    if (!rst_n) begin
      level_q <= '0;
      here_q  <= 1'b0;
    end else begin
      for (int unsigned q = 0; q < NumQueues; q++) begin
        level_q[q] <= level_q[q] + LevelW'(push_i && push_queue_i == 1'(q)) - LevelW'(pop_i && queue_i == 1'(q));
      end
      if (here_q && pop_i && queue_i == which_q) begin
        here_q  <= ahead_q != '0;
        ahead_q <= ahead_q - 1'b1;
      end
      if (!here_q && push_i && track_i) begin
        here_q  <= 1'b1;
        which_q <= push_queue_i;
        track_q <= {stamp_i, side_i, data_i};
        ahead_q <= level_q[push_queue_i] - LevelW'(pop_i && queue_i == push_queue_i);
      end
    end
  end

  always_ff @(posedge clk_i) if (rst_n) begin
    AssumeThere : assume (!pop_i || (read_i && nonempty[queue_i]));
    AssumeRoom : assume (!push_i || !full[push_queue_i] || (Shared && pop_i));
    Levels : assert (nonempty == {level_q[1] != '0, level_q[0] != '0} &&
                     full == (Shared ? {NumQueues{32'(level_q[1]) + 32'(level_q[0]) == Depth}} :
                                       {32'(level_q[1]) == Depth, 32'(level_q[0]) == Depth}));
    InOrder : assert (!(here_q && ahead_q == '0 && read_i && queue_i == which_q) || {stamp, side, data} == track_q);
    Second : assert (!(here_q && 32'(ahead_q) == 1 && read_i && queue_i == which_q) || second == track_q[2:1]);
    Busy : assert (!busy || nonempty != '0);
    First : assert (first == (push_i && level_q[push_queue_i] == LevelW'(pop_i && queue_i == push_queue_i)));
    CoverFull : cover (full == '1 && here_q && which_q == 1'b1 && ahead_q == '0);
    CoverInARow : cover (here_q && ahead_q == '0 && pop_i && queue_i == which_q && dut.fetch_q && push_i && !dut.direct_q[3]);
  end

  // The ring of a queue begins anew; a list goes on over places that were used before.
  if (Shared) begin : gen_lists
    always_ff @(posedge clk_i) if (rst_n) begin
      CoverAgain : cover (dut.joins && dut.gen_lists.u_places.freed_q != '0 && pop_i);
    end
  end else begin : gen_rings
    always_ff @(posedge clk_i) if (rst_n) begin
      CoverWrap : cover (full == '1 && here_q && which_q == 1'b1 && ahead_q == '0 &&
                         dut.gen_rings.u_places.head_q[1] == dut.gen_rings.u_places.high[1]);
    end
  end
endmodule
