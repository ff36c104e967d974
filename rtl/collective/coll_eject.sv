// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Packets of the collective network for this node: a FIFO a class, valid/ready. A packet is started only when
// its class has room for the longest one; room is taken when a flit leaves its input (`take_i`), cycles before
// it is pushed.
module coll_eject
  import gyre_pkg::*;
#(
    parameter int unsigned FlitBytes = 16,
    parameter int unsigned Depth = 64,      // flits a class
    localparam int unsigned FlitW = FlitBytes * 8
) (
    input  logic                  clk_i,
    input  logic                  rst_ni,
    output logic [NumClasses-1:0] ok_o,     // a packet may be started
    input  logic                  take_i,
    input  logic                  take_class_i,
    input  logic                  push_i,
    input  logic                  push_class_i,
    input  flit_ctl_t             push_ctl_i,
    input  logic [FlitW-1:0]      push_data_i,
    output logic [NumClasses-1:0] ej_valid_o,
    input  logic [NumClasses-1:0] ej_ready_i,
    output flit_ctl_t             ej_ctl_o [NumClasses],
    output logic [FlitW-1:0]      ej_data_o[NumClasses],
    output logic                  busy_o
);
  localparam int unsigned PtrW = $clog2(Depth);
  localparam int unsigned LevelW = $clog2(Depth + 1);
  localparam int unsigned EntryW = $clog2(NumClasses * Depth);
  localparam logic [PtrW-1:0] LastPtr = PtrW'(Depth - 1);
  localparam logic [LevelW-1:0] Longest = LevelW'(MaxPacketBytes / FlitBytes);

  logic [FlitW-1:0] data_mem[NumClasses*Depth];
  flit_ctl_t        ctl_mem [NumClasses*Depth];

  logic [NumClasses-1:0][PtrW-1:0]   head_q, tail_q;
  logic [NumClasses-1:0][LevelW-1:0] level_q, room_q;
  logic [NumClasses-1:0]             valid_q, whole_q, pop;

  assign ej_valid_o = valid_q;
  assign busy_o     = valid_q != '0;
  assign pop        = valid_q & ej_ready_i;

  // The next packet may be started while the last flit of the one before leaves.
  always_comb begin
    ok_o = whole_q;
    if (take_i && room_q[take_class_i] == Longest) ok_o[take_class_i] = 1'b0;
  end

  function automatic logic [EntryW-1:0] entry(int unsigned cls, logic [PtrW-1:0] ptr);
    return EntryW'(cls * Depth + 32'(ptr));
  endfunction

  function automatic logic [PtrW-1:0] next(logic [PtrW-1:0] ptr);
    return (ptr == LastPtr) ? '0 : ptr + 1'b1;
  endfunction

  for (genvar c = 0; c < int'(NumClasses); c++) begin : gen_class
    assign ej_ctl_o[c]  = ctl_mem[entry(c, head_q[c])];
    assign ej_data_o[c] = data_mem[entry(c, head_q[c])];
  end

  always_ff @(posedge clk_i) begin
    if (push_i) begin
      data_mem[entry(32'(push_class_i), tail_q[push_class_i])] <= push_data_i;
      ctl_mem[entry(32'(push_class_i), tail_q[push_class_i])]  <= push_ctl_i;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      head_q  <= '0;
      tail_q  <= '0;
      level_q <= '0;
      room_q  <= {NumClasses{LevelW'(Depth)}};
      valid_q <= '0;
      whole_q <= '1;
    end else if (push_i || take_i || valid_q != '0) begin
      for (int unsigned c = 0; c < NumClasses; c++) begin
        automatic logic push = push_i && push_class_i == 1'(c);
        automatic logic take = take_i && take_class_i == 1'(c);
        if (push) tail_q[c] <= next(tail_q[c]);
        if (pop[c]) head_q[c] <= next(head_q[c]);
        if (push != pop[c]) begin
          level_q[c] <= push ? level_q[c] + 1'b1 : level_q[c] - 1'b1;
          valid_q[c] <= push || level_q[c] != LevelW'(1);
        end
        if (take != pop[c]) begin
          room_q[c]  <= take ? room_q[c] - 1'b1 : room_q[c] + 1'b1;
          whole_q[c] <= take ? room_q[c] > Longest : room_q[c] + 1'b1 >= Longest;
        end
      end
    end
  end

`ifndef SYNTHESIS
  logic [NumClasses-1:0] open_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) open_q <= '0;
    else if (push_i) begin
      open_q[push_class_i] <= !push_ctl_i.tail;
      Space : assert (level_q[push_class_i] != LevelW'(Depth))
      else $fatal(1, "%m: push into a full FIFO");
      Framed : assert (push_ctl_i.head == !open_q[push_class_i])
      else $fatal(1, "%m: packets mixed in an ejection FIFO");
    end
  end
  always_ff @(posedge clk_i) begin
    if (rst_ni && take_i) begin
      Room : assert (room_q[take_class_i] != '0)
      else $fatal(1, "%m: flit without room");
    end
  end
`endif
endmodule
