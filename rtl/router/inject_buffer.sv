// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Flit buffer of an injection path: a queue a class, all in one memory, one flit in and one out a cycle. The route
// of a packet is computed when its head is written; that of the packet at the front of each queue is in registers,
// so that arbitration does not wait for the memory.
module inject_buffer
  import gyre_pkg::*;
#(
    parameter int unsigned NumQueues = 4,
    parameter int unsigned Depth = 64,      // flits a queue
    parameter int unsigned FlitBytes = 16,
    parameter int unsigned PortId = 0,      // port of departure
    localparam int unsigned FlitW = FlitBytes * 8,
    localparam int unsigned QueueW = (NumQueues > 1) ? $clog2(NumQueues) : 1
) (
    input  logic                      clk_i,
    input  logic                      rst_ni,
    input  node_cfg_t                 cfg_i,
    input  logic [BirthW-1:0]         now_i,         // for heads written, see header_t.birth
    input  logic                      push_i,
    input  logic [QueueW-1:0]         push_queue_i,
    input  flit_ctl_t                 push_ctl_i,
    input  logic [FlitW-1:0]          push_data_i,
    input  logic [NumQueues-1:0]      read_i,        // one-hot: queue to read, or none
    input  logic                      pop_i,         // the flit read leaves
    output logic [QueueW-1:0]         queue_o,       // queue read
    output flit_ctl_t                 ctl_o,         // its oldest flit
    output logic [FlitW-1:0]          data_o,
    output logic [NumQueues-1:0]      nonempty_o,
    output logic [NumQueues-1:0]      full_o,
    // Packet at the front of each queue.
    output logic [NumQueues-1:0]      body_o,        // its head has left
    output route_t                    route_o [NumQueues]
);
  localparam int unsigned Entries = NumQueues * Depth;
  localparam int unsigned PtrW = $clog2(Depth);
  localparam int unsigned LevelW = $clog2(Depth + 1);
  localparam int unsigned IndexW = $clog2(Entries);
  localparam logic [PtrW-1:0] LastPtr = PtrW'(Depth - 1);
  localparam bit Word3 = FlitBytes > 8;    // the head flit carries w3: time of entering

  if (Depth < 2) begin : gen_depth
    $fatal(1, "inject_buffer: Depth %0d: expected at least 2 flits", Depth);
  end

  logic [FlitW-1:0] data_mem [Entries];
  flit_ctl_t        ctl_mem  [Entries];
  route_t           route_mem[Entries];

  logic [NumQueues-1:0][PtrW-1:0]   head_q, tail_q;
  logic [NumQueues-1:0][LevelW-1:0] level_q;
  logic [NumQueues-1:0]             nonempty_q, full_q, body_q;
  route_t                           route_q[NumQueues];

  assign nonempty_o = nonempty_q;
  assign full_o     = full_q;
  assign body_o     = body_q;
  assign route_o    = route_q;

  function automatic logic [IndexW-1:0] entry(logic [QueueW-1:0] queue, logic [PtrW-1:0] ptr);
    return IndexW'(32'(queue) * Depth + 32'(ptr));
  endfunction

  function automatic logic [PtrW-1:0] next(logic [PtrW-1:0] ptr);
    return (ptr == LastPtr) ? '0 : ptr + 1'b1;
  endfunction

  // ---- read ---------------------------------------------------------------------------------
  logic [PtrW-1:0]   head;
  logic [IndexW-1:0] read_entry;

  always_comb begin
    queue_o    = '0;
    head       = '0;
    read_entry = '0;
    ctl_o      = '0;
    data_o     = '0;
    if (read_i != '0) begin
      for (int unsigned q = 0; q < NumQueues; q++) begin
        if (read_i[q]) queue_o = queue_o | QueueW'(q);
      end
      head       = head_q[queue_o];
      read_entry = entry(queue_o, head);
      ctl_o      = ctl_mem[read_entry];
      data_o     = data_mem[read_entry];
    end
  end

  // ---- memories and the routes in front (no reset: used under nonempty_q only) --------------
  always_ff @(posedge clk_i) begin
    if (pop_i && ctl_o.tail) begin
      route_q[queue_o] <= route_mem[entry(queue_o, next(head))];
    end
    if (push_i) begin
      automatic logic [FlitW-1:0] stamped = push_data_i; // with its time in the head
      if (Word3 && push_ctl_i.head) stamped[BirthBit%FlitW+:BirthW] = now_i;
      data_mem[entry(push_queue_i, tail_q[push_queue_i])] <= stamped;
      ctl_mem[entry(push_queue_i, tail_q[push_queue_i])]  <= push_ctl_i;
      if (push_ctl_i.head) begin
        automatic route_t r = route_inject(cfg_i, 4'(PortId), push_data_i[63:0]);
        if (Word3) r.birth = now_i;
        route_mem[entry(push_queue_i, tail_q[push_queue_i])] <= r;
        // It comes to the front at once.
        if (!nonempty_q[push_queue_i] ||
            (pop_i && queue_o == push_queue_i && level_q[push_queue_i] == LevelW'(1))) begin
          route_q[push_queue_i] <= r;
        end
      end
    end
  end

  // ---- pointers -----------------------------------------------------------------------------
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      head_q     <= '0;
      tail_q     <= '0;
      level_q    <= '0;
      nonempty_q <= '0;
      full_q     <= '0;
      body_q     <= '0;
    end else begin
      if (push_i) begin
        tail_q[push_queue_i] <= next(tail_q[push_queue_i]);
        if (!(pop_i && queue_o == push_queue_i)) begin
          level_q[push_queue_i]    <= level_q[push_queue_i] + 1'b1;
          nonempty_q[push_queue_i] <= 1'b1;
          full_q[push_queue_i]     <= level_q[push_queue_i] == LevelW'(Depth - 1);
        end
      end
      if (pop_i) begin
        head_q[queue_o] <= next(head);
        body_q[queue_o] <= !ctl_o.tail;
        if (!(push_i && queue_o == push_queue_i)) begin
          level_q[queue_o]    <= level_q[queue_o] - 1'b1;
          nonempty_q[queue_o] <= level_q[queue_o] != LevelW'(1);
          full_q[queue_o]     <= 1'b0;
        end
      end
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && push_i) begin
      NoOverflow : assert (!full_q[push_queue_i])
      else $fatal(1, "%m: push into a full queue");
    end
    if (rst_ni && pop_i) begin
      ReadOneHot : assert ($onehot(read_i))
      else $fatal(1, "%m: more than one queue read");
      NoUnderflow : assert ((read_i & nonempty_q) != '0)
      else $fatal(1, "%m: pop from an empty queue");
      HeadFirst : assert (ctl_o.head == !body_q[queue_o])
      else $fatal(1, "%m: packet does not start with its head");
    end
  end
`endif
endmodule
