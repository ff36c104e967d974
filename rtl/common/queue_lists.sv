// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Places in the RAM of gyre_queues: a linked list for each queue, of places that all share. The links are in a RAM of their
// own, whose read tells the head of a list in the cycle after its word has been fetched. The next place is in a register, other
// free places that were used before are on a stack. A place is not used again in the cycle in which it is read.
module queue_lists #(
    parameter int unsigned NumQueues = 4,
    parameter int unsigned Depth = 64,       // words of all queues
    localparam int unsigned QueueW = (NumQueues > 1) ? $clog2(NumQueues) : 1,
    localparam int unsigned AddrW = $clog2(Depth)
) (
    input  logic                 clk_i,
    input  logic                 rst_ni,
    input  logic                 push_i,
    input  logic [QueueW-1:0]    push_queue_i,
    input  logic                 store_i,    // the word pushed goes to the RAM
    input  logic                 join_i,     // with store_i: words of its queue are there, if it is only one that is fetched now
    input  logic                 read_i,     // queue_i is read
    input  logic [QueueW-1:0]    queue_i,
    input  logic                 pop_i,
    input  logic                 fetch_i,    // with pop_i: the oldest word of its queue in the RAM leaves it
    input  logic                 more_i,     // with fetch_i: not last_o
    output logic [AddrW-1:0]     waddr_o,    // place of a word stored
    output logic [AddrW-1:0]     raddr_o,    // oldest word of queue_i in the RAM
    output logic                 last_o,     // and no other is there
    output logic                 full_o
);
  localparam int unsigned CountW = $clog2(Depth + 1);

  logic [AddrW-1:0]  head_q [NumQueues];           // oldest word in the RAM, unless its link is on its way
  logic [AddrW-1:0]  tail_q [NumQueues];           // youngest
  logic [AddrW-1:0]  free_mem[Depth];              // stack
  logic [CountW-1:0] freed_q, used_q, total_q;     // places on it; places ever taken; words, those in front as well
  logic [AddrW-1:0]  next_q, link;
  logic              link_q, full_q;               // link_q: `link` is a head
  logic [QueueW-1:0] link_queue_q;

  assign full_o  = full_q;
  assign waddr_o = next_q;

  always_comb begin
    raddr_o = '0;
    last_o  = 1'b0;
    if (read_i) begin
      raddr_o = (link_q && link_queue_q == queue_i) ? link : head_q[queue_i];
      last_o  = raddr_o == tail_q[queue_i];
    end
  end

  // The link of a last word that is fetched now is written without need.
  gyre_ram #(
      .Width(AddrW),
      .Depth(Depth)
  ) u_links (
      .clk_i,
      .rst_ni,
      .write_i(join_i),
      .waddr_i(tail_q[push_queue_i]),
      .wdata_i(waddr_o),
      .read_i (more_i),
      .raddr_i(raddr_o),
      .rdata_o(link)
  );

  // No reset: used where there are words only.
  always_ff @(posedge clk_i) begin
    if (link_q) head_q[link_queue_q] <= link;
    if (store_i) begin
      tail_q[push_queue_i] <= waddr_o;
      if (!join_i || (fetch_i && last_o && queue_i == push_queue_i)) head_q[push_queue_i] <= waddr_o;
    end
    if (fetch_i) begin
      link_queue_q <= queue_i;
      if (!store_i) free_mem[AddrW'(freed_q)] <= raddr_o;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      freed_q <= '0;
      used_q  <= CountW'(1);
      next_q  <= '0;
      total_q <= '0;
      link_q  <= 1'b0;
      full_q  <= 1'b0;
    end else begin
      if (fetch_i || link_q) link_q <= more_i;
      if (store_i && fetch_i) next_q <= raddr_o;
      else if (fetch_i) freed_q <= freed_q + 1'b1;
      else if (store_i && freed_q != '0) begin
        next_q  <= free_mem[AddrW'(freed_q - 1'b1)];
        freed_q <= freed_q - 1'b1;
      end else if (store_i) begin
        next_q <= AddrW'(used_q);
        used_q <= used_q + 1'b1;
      end
      if (push_i != pop_i) begin
        total_q <= push_i ? total_q + 1'b1 : total_q - 1'b1;
        full_q  <= push_i && total_q == CountW'(Depth - 1);
      end
    end
  end

`ifndef SYNTHESIS
  int unsigned stored_q;                    // words in the RAM

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) stored_q <= 0;
    else if (store_i || fetch_i) stored_q <= stored_q + 32'(store_i) - 32'(fetch_i);
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni && (store_i || fetch_i)) begin
      FreeCount : assert (stored_q + 1 == 32'(used_q) - 32'(freed_q))
      else $fatal(1, "%m: places lost or used twice");
    end
  end
`endif
endmodule
