// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Places in the RAM of gyre_queues: a ring of `Depth` words for each queue.
module queue_rings #(
    parameter int unsigned NumQueues = 4,
    parameter int unsigned Depth = 64,       // words a queue
    localparam int unsigned QueueW = (NumQueues > 1) ? $clog2(NumQueues) : 1,
    localparam int unsigned AddrW = $clog2(NumQueues * Depth)
) (
    input  logic                 clk_i,
    input  logic                 rst_ni,
    input  logic                 push_i,
    input  logic [QueueW-1:0]    push_queue_i,
    input  logic                 store_i,    // the word pushed goes to the RAM
    input  logic                 pop_i,
    input  logic [QueueW-1:0]    queue_i,
    input  logic                 same_i,     // both of one queue
    input  logic                 fetch_i,    // with pop_i: the oldest word of its queue in the RAM leaves it
    output logic [AddrW-1:0]     waddr_o,    // place of a word stored
    output logic [AddrW-1:0]     raddr_o,    // oldest word of queue_i in the RAM
    output logic                 last_o,     // and no other is there
    output logic [NumQueues-1:0] full_o
);
  localparam int unsigned LevelW = $clog2(Depth + 1);

  logic [AddrW-1:0]     head_q  [NumQueues];       // oldest word in the RAM
  logic [AddrW-1:0]     tail_q  [NumQueues];
  logic [LevelW-1:0]    level_q [NumQueues];       // words, those in front as well
  logic [NumQueues-1:0] full_q;

  assign full_o = full_q;

  // Bounds of a queue in the RAM.
  logic [AddrW-1:0] low  [NumQueues];
  logic [AddrW-1:0] high [NumQueues];
  for (genvar q = 0; q < int'(NumQueues); q++) begin : gen_bounds
    assign low[q]  = AddrW'(q * Depth);
    assign high[q] = AddrW'(q * Depth + Depth - 1);
  end

  assign waddr_o = tail_q[push_queue_i];
  assign raddr_o = head_q[queue_i];
  assign last_o  = level_q[queue_i] == LevelW'(3);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      full_q <= '0;
      for (int unsigned q = 0; q < NumQueues; q++) begin
        head_q[q]  <= low[q];
        tail_q[q]  <= low[q];
        level_q[q] <= '0;
      end
    end else begin
      if (store_i) tail_q[push_queue_i] <= (tail_q[push_queue_i] == high[push_queue_i]) ? low[push_queue_i] : tail_q[push_queue_i] + 1'b1;
      if (fetch_i) head_q[queue_i] <= (head_q[queue_i] == high[queue_i]) ? low[queue_i] : head_q[queue_i] + 1'b1;
      if (push_i && !same_i) begin
        level_q[push_queue_i] <= level_q[push_queue_i] + 1'b1;
        full_q[push_queue_i]  <= level_q[push_queue_i] == LevelW'(Depth - 1);
      end
      if (pop_i && !same_i) begin
        level_q[queue_i] <= level_q[queue_i] - 1'b1;
        full_q[queue_i]  <= 1'b0;
      end
    end
  end
endmodule
