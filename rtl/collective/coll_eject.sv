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
  localparam int unsigned LevelW = $clog2(Depth + 1);
  localparam logic [LevelW-1:0] Longest = LevelW'(MaxPacketBytes / FlitBytes);

  logic [NumClasses-1:0][LevelW-1:0] room_q;
  logic [NumClasses-1:0]             valid, whole_q, pop;

  assign ej_valid_o = valid;
  assign busy_o     = valid != '0;
  assign pop        = valid & ej_ready_i;

  // The next packet may be started while the last flit of the one before leaves.
  always_comb begin
    ok_o = whole_q;
    if (take_i && room_q[take_class_i] == Longest) ok_o[take_class_i] = 1'b0;
  end

  for (genvar c = 0; c < int'(NumClasses); c++) begin : gen_class
    logic      unused_first, unused_stamp, unused_second, unused_full, unused_busy;
    flit_ctl_t unused_ctl;

    gyre_queues #(
        .NumQueues(1),
        .Depth    (Depth),
        .Width    (FlitW),
        .SideW    ($bits(flit_ctl_t))
    ) u_queue (
        .clk_i,
        .rst_ni,
        .push_i      (push_i && push_class_i == 1'(c)),
        .push_queue_i(1'b0),
        .stamp_i     ('0),
        .side_i      (push_ctl_i),
        .data_i      (push_data_i),
        .first_o     (unused_first),
        .read_i      (valid[c]),
        .queue_i     (1'b0),
        .pop_i       (pop[c]),
        .stamp_o     (unused_stamp),
        .side_o      (ej_ctl_o[c]),
        .data_o      (ej_data_o[c]),
        .second_side_o(unused_ctl),
        .second_stamp_o(unused_second),
        .nonempty_o  (valid[c]),
        .full_o      (unused_full),
        .busy_o      (unused_busy)           // the queue is not empty then
    );
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      room_q  <= {NumClasses{LevelW'(Depth)}};
      whole_q <= '1;
    end else if (take_i || pop != '0) begin
      for (int unsigned c = 0; c < NumClasses; c++) begin
        automatic logic take = take_i && take_class_i == 1'(c);
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
