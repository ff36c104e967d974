// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// FIFOs in block RAM, one word in and one out a cycle: a word that is pushed in one cycle can be popped in the next.
// The two oldest words of each queue are in front of the RAM, in memories of a few words that are read at once. A word
// that finds at most one ahead of it goes there directly. At a pop the RAM is read; its word comes to the front in the next
// cycle, as the second of its queue. A word is data, a side part, and a stamp, which lies in front of the side part; at the
// stamp registers alone look, as they must at the machine's time. A queue has its own part of the RAM (queue_rings), or all share
// it (queue_lists).
module gyre_queues #(
    parameter int unsigned NumQueues = 4,
    parameter int unsigned Depth = 64,       // words a queue; of all queues, if they share
    parameter bit          Shared = 1'b0,
    parameter int unsigned Width = 32,
    parameter int unsigned SideW = 1,
    parameter int unsigned StampW = 1,
    localparam int unsigned QueueW = (NumQueues > 1) ? $clog2(NumQueues) : 1
) (
    input  logic                 clk_i,
    input  logic                 rst_ni,
    input  logic                 push_i,
    input  logic [QueueW-1:0]    push_queue_i,
    input  logic [StampW-1:0]    stamp_i,
    input  logic [SideW-1:0]     side_i,
    input  logic [Width-1:0]     data_i,
    output logic                 first_o,    // with push_i: it is the oldest of its queue in the next cycle
    input  logic                 read_i,     // queue_i is read
    input  logic [QueueW-1:0]    queue_i,
    input  logic                 pop_i,      // the word read leaves
    output logic [StampW-1:0]    stamp_o,    // oldest word of queue_i
    output logic [SideW-1:0]     side_o,
    output logic [Width-1:0]     data_o,
    output logic [StampW-1:0]    second_stamp_o, // second word, if there is one
    output logic [SideW-1:0]     second_side_o,
    output logic [NumQueues-1:0] nonempty_o,
    output logic [NumQueues-1:0] full_o,
    output logic                 busy_o      // a word is on its way from the RAM to the front
);
  localparam int unsigned Entries = Shared ? Depth : NumQueues * Depth;
  localparam int unsigned AddrW = $clog2(Entries);
  localparam int unsigned FrontW = $clog2(2 * NumQueues);
  localparam int unsigned AuxW = StampW + SideW;

  if (Depth < 2) begin : gen_depth
    $fatal(1, "gyre_queues: Depth %0d: expected at least 2 words", Depth);
  end

  // In front of the RAM: words pushed directly, and words fetched from it; two places a queue, used in turn.
  logic [Width-1:0]       direct_data   [2*NumQueues];
  logic [AuxW-1:0]        direct_aux    [2*NumQueues];
  logic [Width-1:0]       fetched_data  [2*NumQueues];
  logic [AuxW-1:0]        fetched_aux   [2*NumQueues];
  logic [2*NumQueues-1:0] direct_q;                  // place: it holds a word pushed directly

  logic [NumQueues-1:0]   nonempty_q, pair_q, deep_q; // words: at least one, two, three
  logic [NumQueues-1:0]   turn_q;                     // place of the oldest word
  logic                   fetch_q;

  assign nonempty_o = nonempty_q;
  assign busy_o     = fetch_q;

  function automatic logic [FrontW-1:0] place(logic [QueueW-1:0] queue, logic turn);
    return FrontW'({queue, turn});
  endfunction

  // ---- push and pop -------------------------------------------------------------------------
  logic same, store, fetch;                           // both of one queue; a word goes to the RAM; one leaves it
  logic last, more, joins;                            // the one that leaves is its queue's last there, or not; `store` behind others

  always_comb begin
    same    = 1'b0;
    store   = 1'b0;
    fetch   = 1'b0;
    more    = 1'b0;
    joins   = 1'b0;
    first_o = 1'b0;
    if (push_i || pop_i) begin
      same    = push_i && pop_i && queue_i == push_queue_i;
      store   = push_i && (deep_q[push_queue_i] || (pair_q[push_queue_i] && !same));
      joins   = store && deep_q[push_queue_i];
      fetch   = pop_i && deep_q[queue_i];
      more    = fetch && !last;
      first_o = push_i && (!nonempty_q[push_queue_i] || (same && !pair_q[push_queue_i]));
    end
  end

  // ---- read ---------------------------------------------------------------------------------
  logic [FrontW-1:0] front, second, fetch_place_q;
  logic [Width-1:0]  ram_data;
  logic [AuxW-1:0]   ram_aux, aux, second_aux;

  always_comb begin
    front      = '0;
    second     = '0;
    data_o     = '0;
    aux        = '0;
    second_aux = '0;
    if (read_i) begin
      front  = place(queue_i, turn_q[queue_i]);
      second = place(queue_i, !turn_q[queue_i]);
      if (direct_q[front]) begin
        data_o = direct_data[front];
        aux    = direct_aux[front];
      end else begin
        data_o = fetched_data[front];
        aux    = fetched_aux[front];
      end
      if (fetch_q && fetch_place_q == second) second_aux = ram_aux;
      else second_aux = direct_q[second] ? direct_aux[second] : fetched_aux[second];
    end
  end

  assign {stamp_o, side_o}               = aux;
  assign {second_stamp_o, second_side_o} = second_aux;

  // ---- RAM ----------------------------------------------------------------------------------
  logic [AddrW-1:0] waddr, raddr;

  if (Shared) begin : gen_lists
    logic full;
    queue_lists #(
        .NumQueues(NumQueues),
        .Depth    (Depth)
    ) u_places (
        .clk_i,
        .rst_ni,
        .push_i,
        .push_queue_i,
        .store_i(store),
        .join_i (joins),
        .read_i,
        .queue_i,
        .pop_i,
        .fetch_i(fetch),
        .more_i (more),
        .waddr_o(waddr),
        .raddr_o(raddr),
        .last_o (last),
        .full_o (full)
    );
    assign full_o = {NumQueues{full}};
  end else begin : gen_rings
    logic unused_joins;
    assign unused_joins = joins;
    queue_rings #(
        .NumQueues(NumQueues),
        .Depth    (Depth)
    ) u_places (
        .clk_i,
        .rst_ni,
        .push_i,
        .push_queue_i,
        .store_i(store),
        .pop_i,
        .queue_i,
        .same_i (same),
        .fetch_i(fetch),
        .waddr_o(waddr),
        .raddr_o(raddr),
        .last_o (last),
        .full_o
    );
  end

  gyre_ram #(
      .Width(Width),
      .Depth(Entries)
  ) u_data (
      .clk_i,
      .rst_ni,
      .write_i(store),
      .waddr_i(waddr),
      .wdata_i(data_i),
      .read_i (fetch),
      .raddr_i(raddr),
      .rdata_o(ram_data)
  );

  gyre_ram #(
      .Width(AuxW),
      .Depth(Entries)
  ) u_aux (
      .clk_i,
      .rst_ni,
      .write_i(store),
      .waddr_i(waddr),
      .wdata_i({stamp_i, side_i}),
      .read_i (fetch),
      .raddr_i(raddr),
      .rdata_o(ram_aux)
  );

  always_ff @(posedge clk_i) begin
    if (push_i && !store) begin
      automatic logic [FrontW-1:0] free = place(push_queue_i, turn_q[push_queue_i] ^ (nonempty_q[push_queue_i] && !pair_q[push_queue_i]));
      direct_data[free] <= data_i;
      direct_aux[free]  <= {stamp_i, side_i};
      direct_q[free]    <= 1'b1;
    end
    if (fetch) fetch_place_q <= front;
    if (fetch_q) begin
      fetched_data[fetch_place_q] <= ram_data;
      fetched_aux[fetch_place_q]  <= ram_aux;
      direct_q[fetch_place_q]     <= 1'b0;
    end
  end

  // ---- levels -------------------------------------------------------------------------------
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      fetch_q    <= 1'b0;
      nonempty_q <= '0;
      pair_q     <= '0;
      deep_q     <= '0;
      turn_q     <= '0;
    end else begin
      if (fetch || fetch_q) fetch_q <= fetch;
      if (push_i && !same) begin
        nonempty_q[push_queue_i] <= 1'b1;
        pair_q[push_queue_i]     <= nonempty_q[push_queue_i];
        deep_q[push_queue_i]     <= store;
      end
      if (pop_i) begin
        turn_q[queue_i] <= !turn_q[queue_i];
        if (!same) begin
          nonempty_q[queue_i] <= pair_q[queue_i];
          pair_q[queue_i]     <= deep_q[queue_i];
          deep_q[queue_i]     <= more;
        end
      end
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && push_i) begin
      NoOverflow : assert (!full_o[push_queue_i] || (Shared && pop_i))
      else $fatal(1, "%m: push into a full queue");
    end
    if (rst_ni && pop_i) begin
      NoUnderflow : assert (read_i && nonempty_q[queue_i])
      else $fatal(1, "%m: pop from an empty queue");
    end
  end
`endif
endmodule
