// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Flit buffer of an injection path: a queue a class, one flit in and one out a cycle. The route of a packet is
// computed when its head is written; that of the packet at the front of each queue is in registers, so that
// arbitration does not wait for a memory.
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
  localparam bit Word3 = FlitBytes > 8;    // the head flit carries w3: time of entering

  localparam int unsigned RouteW = $bits(route_t) - BirthW;

  typedef struct packed {
    logic [RouteW-1:0] route;              // of a head, all but the birth
    flit_ctl_t         ctl;
  } side_t;

  side_t                pushed, read, second;
  logic [BirthW-1:0]    birth, second_birth;
  logic [FlitW-1:0]     data;
  logic                 first, unused_busy;
  logic [NumQueues-1:0] body_q;
  route_t               route_q[NumQueues];

  assign body_o  = body_q;
  assign route_o = route_q;
  assign ctl_o   = read.ctl;

  always_comb begin
    pushed = '{ctl: push_ctl_i, default: '0};
    if (push_i && push_ctl_i.head) pushed.route = RouteW'(route_inject(cfg_i, 4'(PortId), push_data_i[63:0]));
  end

  always_comb begin
    data_o = data;
    if (Word3 && read.ctl.head) data_o[BirthBit%FlitW+:BirthW] = birth;
  end

  always_comb begin
    queue_o = '0;
    if (read_i != '0) begin
      for (int unsigned q = 0; q < NumQueues; q++) begin
        if (read_i[q]) queue_o = queue_o | QueueW'(q);
      end
    end
  end

  gyre_queues #(
      .NumQueues(NumQueues),
      .Depth    (Depth),
      .Width    (FlitW),
      .SideW    ($bits(side_t)),
      .StampW   (BirthW)
  ) u_queues (
      .clk_i,
      .rst_ni,
      .push_i,
      .push_queue_i,
      .stamp_i       (now_i),
      .side_i        (pushed),
      .data_i        (push_data_i),
      .first_o       (first),
      .read_i        (read_i != '0),
      .queue_i       (queue_o),
      .pop_i,
      .stamp_o       (birth),
      .side_o        (read),
      .data_o        (data),
      .second_stamp_o(second_birth),
      .second_side_o (second),
      .nonempty_o,
      .full_o,
      .busy_o        (unused_busy)         // a queue is not empty then
  );

  // Routes in front (no reset: used under nonempty_o only).
  always_ff @(posedge clk_i) begin
    if (pop_i && read.ctl.tail) route_q[queue_o] <= {Word3 ? second_birth : '0, second.route};
    if (first && push_ctl_i.head) route_q[push_queue_i] <= {Word3 ? now_i : '0, pushed.route};
  end

  logic unused_route;
  assign unused_route = ^{read.route, second.ctl, Word3 ? '0 : {second_birth, birth}};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) body_q <= '0;
    else if (pop_i) body_q[queue_o] <= !read.ctl.tail;
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && pop_i) begin
      ReadOneHot : assert ($onehot(read_i))
      else $fatal(1, "%m: more than one queue read");
      HeadFirst : assert (read.ctl.head == !body_q[queue_o])
      else $fatal(1, "%m: packet does not start with its head");
    end
  end
`endif
endmodule
