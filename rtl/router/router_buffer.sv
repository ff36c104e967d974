// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Flit buffer of a link input: the queues of all virtual channels in one block RAM, as linked lists (a dynamically
// allocated multi-queue). One flit in and one out a cycle; a flit can leave in the cycle after it came. The route of a packet
// is computed when its head is written; that of the packet at the front of each queue is in registers, so that
// arbitration does not wait for a memory.
//
// The sender decides how much room each channel may use (router_output); here a flit must only find a place.
module router_buffer
  import gyre_pkg::*;
#(
    parameter int unsigned Flits = 272,
    parameter int unsigned FlitBytes = 16,
    parameter int unsigned NDim = 3,
    parameter int unsigned PortId = 0,      // port of arrival
    localparam int unsigned FlitW = FlitBytes * 8
) (
    input  logic             clk_i,
    input  logic             rst_ni,
    input  node_cfg_t        cfg_i,
    input  logic             push_i,
    input  logic [VcW-1:0]   push_vc_i,
    input  flit_ctl_t        push_ctl_i,
    input  logic [FlitW-1:0] push_data_i,
    input  logic             read_i,
    input  logic [VcW-1:0]   read_vc_i,
    input  logic             pop_i,         // the flit read leaves
    output flit_ctl_t        ctl_o,         // oldest flit of the virtual channel read
    output logic [FlitW-1:0] data_o,
    output logic [NumVc-1:0] nonempty_o,
    output logic             full_o,
    // Packet at the front of each virtual channel.
    output logic [NumVc-1:0] body_o,        // its head has left
    output route_t           route_o [NumVc],
    output logic [BirthW-1:0] birth_o [NumVc] // that of the route, by itself
);
  localparam bit          Word2 = FlitBytes > 8;   // the head flit carries w2 and w3: hint, order and birth
  localparam logic [3:0]  Ports = 4'(2 * NDim);

  localparam int unsigned RouteW = $bits(route_t) - BirthW;

  typedef struct packed {
    logic [RouteW-1:0] route;               // of a head, all but the birth
    flit_ctl_t         ctl;
  } side_t;

  route_t            route_q[NumVc];
  logic [BirthW-1:0] birth_q[NumVc];
  logic [NumVc-1:0]  body_q, full;

  assign body_o  = body_q;
  assign route_o = route_q;
  assign birth_o = birth_q;
  assign full_o  = full[0];                 // all share

  function automatic route_t route(node_cfg_t here, logic [VcW-1:0] vc, logic [63:0] w01, logic [9:0] hint,
                                   logic [2:0] order);
    route_t r;
    r = route_transit(here, 4'(PortId), vc, w01, hint, order);
    if (r.port != LocalPort && r.port >= Ports) r.port = NoPort;
    // No shortest way leads back, unless software has changed the place or shape of a node under traffic. Such a
    // packet is discarded, since outputs take a request for the port of arrival for an injected packet.
    if (r.port == 4'(PortId) || r.minimal[PortId]) begin
      r.port    = NoPort;
      r.minimal = '0;
      r.deposit = 1'b0;
    end
    return r;
  endfunction

  logic [9:0] hint;
  logic [2:0] order;
  assign hint  = Word2 ? push_data_i[HeadHint%FlitW+:10] : '0;
  assign order = Word2 ? push_data_i[OrderBit%FlitW+:3] : '0;

  side_t             pushed, read, second;
  logic [BirthW-1:0] pushed_birth, second_birth;
  logic              first;
  logic [BirthW-1:0] unused_birth;
  logic              unused_busy, unused_route;

  assign ctl_o = read.ctl;

  always_comb begin
    pushed       = '{ctl: push_ctl_i, default: '0};
    pushed_birth = '0;
    if (push_i && push_ctl_i.head) begin
      pushed.route = RouteW'(route(cfg_i, push_vc_i, push_data_i[63:0], hint, order));
      if (Word2) pushed_birth = push_data_i[BirthBit%FlitW+:BirthW];
    end
  end

  gyre_queues #(
      .NumQueues(NumVc),
      .Depth    (Flits),
      .Shared   (1'b1),
      .Width    (FlitW),
      .SideW    ($bits(side_t)),
      .StampW   (BirthW)
  ) u_queues (
      .clk_i,
      .rst_ni,
      .push_i,
      .push_queue_i  (push_vc_i),
      .stamp_i       (pushed_birth),
      .side_i        (pushed),
      .data_i        (push_data_i),
      .first_o       (first),
      .read_i,
      .queue_i       (read_vc_i),
      .pop_i,
      .stamp_o       (unused_birth),
      .side_o        (read),
      .data_o,
      .second_stamp_o(second_birth),
      .second_side_o (second),
      .nonempty_o,
      .full_o        (full),
      .busy_o        (unused_busy)         // a queue is not empty then
  );

  // Routes in front (no reset: used under nonempty_o only).
  always_ff @(posedge clk_i) begin
    if (pop_i && read.ctl.tail) begin
      route_q[read_vc_i] <= {second_birth, second.route};
      birth_q[read_vc_i] <= second_birth;
    end
    if (first && push_ctl_i.head) begin
      route_q[push_vc_i] <= {pushed_birth, pushed.route};
      birth_q[push_vc_i] <= pushed_birth;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) body_q <= '0;
    else if (pop_i) body_q[read_vc_i] <= !read.ctl.tail;
  end

  assign unused_route = ^{read.route, second.ctl, full[NumVc-1:1]};

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && pop_i) begin
      HeadFirst : assert (read.ctl.head == !body_q[read_vc_i])
      else $fatal(1, "%m: packet does not start with its head");
    end
  end
`endif
endmodule
