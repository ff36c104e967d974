// Flit buffer of several queues (virtual channels or classes) in one memory: one flit in and one out a
// cycle. Beside each packet a few bits computed from its head (`meta`) are kept; those of the packet at
// the front of each queue are in registers, so that arbitration does not wait for the memory.
module vc_buffer
  import gyre_pkg::*;
#(
    parameter int unsigned NumQueues = 4,
    parameter int unsigned Depth = 64,    // flits a queue
    parameter int unsigned DataW = 128,
    parameter int unsigned MetaW = 5,
    localparam int unsigned QueueW = (NumQueues > 1) ? $clog2(NumQueues) : 1
) (
    input  logic                            clk_i,
    input  logic                            rst_ni,
    input  logic                            push_i,
    input  logic [QueueW-1:0]               push_queue_i,
    input  flit_ctl_t                       push_ctl_i,
    input  logic [DataW-1:0]                push_data_i,
    input  logic [MetaW-1:0]                push_meta_i,  // used with a head flit
    input  logic [NumQueues-1:0]            read_i,       // one-hot: queue to read, or none
    input  logic                            pop_i,        // the flit read leaves
    output flit_ctl_t                       ctl_o,        // oldest flit of the queue read
    output logic [DataW-1:0]                data_o,
    output logic [NumQueues-1:0]            nonempty_o,
    output logic [NumQueues-1:0]            full_o,
    output logic [NumQueues-1:0]            body_o,       // front packet: its head has left
    output logic [NumQueues-1:0][MetaW-1:0] meta_o        // of the front packet
);
  localparam int unsigned Entries = NumQueues * Depth;
  localparam int unsigned PtrW = (Depth > 1) ? $clog2(Depth) : 1;
  localparam int unsigned LevelW = $clog2(Depth + 1);
  localparam int unsigned IndexW = $clog2(Entries);
  localparam logic [PtrW-1:0] LastPtr = PtrW'(Depth - 1);

  if (Depth < 2) begin : gen_depth
    $fatal(1, "%m: Depth %0d: expected at least 2 flits", Depth);
  end

  logic [DataW-1:0] data_mem[Entries];
  flit_ctl_t        ctl_mem [Entries];
  logic [MetaW-1:0] meta_mem[Entries];

  logic [NumQueues-1:0][PtrW-1:0]   head_q, tail_q;
  logic [NumQueues-1:0][LevelW-1:0] level_q;
  logic [NumQueues-1:0]             nonempty_q, full_q, body_q;
  logic [NumQueues-1:0][MetaW-1:0]  meta_q;

  assign nonempty_o = nonempty_q;
  assign full_o     = full_q;
  assign body_o     = body_q;
  assign meta_o     = meta_q;

  function automatic logic [IndexW-1:0] entry(logic [QueueW-1:0] queue, logic [PtrW-1:0] ptr);
    return IndexW'(32'(queue) * Depth + 32'(ptr));
  endfunction

  function automatic logic [PtrW-1:0] next(logic [PtrW-1:0] ptr);
    return (ptr == LastPtr) ? '0 : ptr + 1'b1;
  endfunction

  logic [QueueW-1:0] queue; // being read
  logic [PtrW-1:0]   head;
  logic [IndexW-1:0] read_entry;

  always_comb begin
    queue      = '0;
    head       = '0;
    read_entry = '0;
    ctl_o      = '0;
    data_o     = '0;
    if (read_i != '0) begin
      for (int unsigned q = 0; q < NumQueues; q++) begin
        if (read_i[q]) queue = queue | QueueW'(q);
      end
      head       = head_q[queue];
      read_entry = entry(queue, head);
      ctl_o      = ctl_mem[read_entry];
      data_o     = data_mem[read_entry];
    end
  end

  always_ff @(posedge clk_i) begin
    if (push_i) begin
      data_mem[entry(push_queue_i, tail_q[push_queue_i])] <= push_data_i;
      ctl_mem[entry(push_queue_i, tail_q[push_queue_i])]  <= push_ctl_i;
      if (push_ctl_i.head) meta_mem[entry(push_queue_i, tail_q[push_queue_i])] <= push_meta_i;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      head_q     <= '0;
      tail_q     <= '0;
      level_q    <= '0;
      nonempty_q <= '0;
      full_q     <= '0;
      body_q     <= '0;
      meta_q     <= '0;
    end else begin
      if (push_i) begin
        tail_q[push_queue_i] <= next(tail_q[push_queue_i]);
        if (!(pop_i && queue == push_queue_i)) begin
          level_q[push_queue_i]    <= level_q[push_queue_i] + 1'b1;
          nonempty_q[push_queue_i] <= 1'b1;
          full_q[push_queue_i]     <= level_q[push_queue_i] == LevelW'(Depth - 1);
        end
      end
      if (pop_i) begin
        head_q[queue] <= next(head);
        body_q[queue] <= !ctl_o.tail;
        if (!(push_i && queue == push_queue_i)) begin
          level_q[queue]    <= level_q[queue] - 1'b1;
          nonempty_q[queue] <= level_q[queue] != LevelW'(1);
          full_q[queue]     <= 1'b0;
        end
        if (ctl_o.tail) meta_q[queue] <= meta_mem[entry(queue, next(head))];
      end
      // A head that comes to the front at once.
      if (push_i && push_ctl_i.head && (!nonempty_q[push_queue_i] ||
          (pop_i && queue == push_queue_i && level_q[push_queue_i] == LevelW'(1)))) begin
        meta_q[push_queue_i] <= push_meta_i;
      end
    end
  end

`ifndef SYNTHESIS
  NoOverflow : assert property (@(posedge clk_i) disable iff (!rst_ni) push_i |-> !full_q[push_queue_i])
  else $fatal(1, "%m: push into a full queue");
  NoUnderflow : assert property (@(posedge clk_i) disable iff (!rst_ni) pop_i |-> (read_i & nonempty_q) != '0)
  else $fatal(1, "%m: pop from an empty queue");
  ReadOneHot : assert property (@(posedge clk_i) disable iff (!rst_ni) $onehot0(read_i))
  else $fatal(1, "%m: more than one queue read");
  HeadFirst : assert property (@(posedge clk_i) disable iff (!rst_ni) pop_i |-> ctl_o.head == ((body_q & read_i) == '0))
  else $fatal(1, "%m: packet does not start with its head");
`endif
endmodule
