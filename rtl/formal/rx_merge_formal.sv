// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// rx_merge: packets of several sources come whole and unmixed, and a source waits for one packet of each other at most.
module rx_merge_formal #(
    parameter int unsigned N = 3
) (
    input logic         clk_i,
    input logic [1:0]   who_i,
    input logic [N-1:0] valid_i,
    input logic [N-1:0] tail_i,
    input logic         ready_i
);
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic [N-1:0] ready, from, open_q;    // sources inside a packet
  logic         valid, idle, moves, tail, head;
  assign head  = (from & open_q) == '0;
  assign tail  = (from & tail_i) != '0;
  assign moves = valid && ready_i;
  rx_merge #(.N(N)) dut (
      .clk_i, .rst_ni(rst_n), .valid_i, .ready_o(ready), .from_o(from), .head_i(head), .tail_i(tail), .valid_o(valid),
      .ready_i, .idle_o(idle)
  );

  logic [1:0]   who_q;
  logic [N-1:0] ahead_q, valid_q;       // those that had a packet while the one followed waits
  always_ff @(posedge clk_i) begin
    if (!rst_n) begin
      who_q   <= who_i;
      open_q  <= '0;
      ahead_q <= '0;
      valid_q <= '0;
    end else begin
      if (moves) open_q <= (open_q | from) & ~(tail ? from : '0);
      valid_q <= valid_i & ~(ready_i ? from : '0);
      if (!valid_i[who_q] || from[who_q]) ahead_q <= '0;
      else if (moves && head) ahead_q <= ahead_q | from;
    end
  end

  always_ff @(posedge clk_i) if (rst_n) begin
    AssumeWho : assume (32'(who_q) < N);
    AssumeHolds : assume ((valid_q & ~valid_i) == '0);
    OneFrom : assert ($onehot0(from));
    ValidOfSource : assert (valid == ((from & valid_i) != '0));
    ReadyOfValid : assert ((ready & ~from) == '0 && (!moves || ready == from));
    Unmixed : assert ($onehot0(open_q) && (!moves || open_q == '0 || from == open_q));
    InTurn : assert (!moves || !head || !valid_i[who_q] || (from & ahead_q) == '0);
    CoverTurns : cover (moves && head && from[who_q] && $countones(ahead_q) == N - 1 && !tail);
  end
endmodule
