// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Flits of one input of the collective network: a link of the tree, or this node's injection. A queue a class
// route, all in one memory; packet information of the front of each queue is in registers.
//
// When the link goes down with a packet open, the packet is closed with a tail marked `err`.
module coll_input
  import gyre_pkg::*;
#(
    parameter int unsigned FlitBytes = 16,
    parameter int unsigned Depth = 64,             // flits a route
    localparam int unsigned FlitW = FlitBytes * 8
) (
    input  logic                  clk_i,
    input  logic                  rst_ni,
    input  coord_t                coord_i,
    // Flits that come in.
    input  logic                  rx_valid_i,
    input  logic [3:0]            rx_route_i,
    input  flit_ctl_t             rx_ctl_i,
    input  logic [FlitW-1:0]      rx_data_i,
    input  logic                  link_down_i,
    output logic                  fault_o,         // this flit breaks the protocol; it is dropped
    output logic                  drained_o,       // no flit and no open packet
    // Packet at the front of each route, until it is started.
    output coll_front_t           front_o,
    input  logic                  start_i,
    input  logic [3:0]            start_route_i,
    // Oldest flit of route `route_i`.
    input  logic [3:0]            route_i,
    input  logic                  read_i,          // it is looked at
    output logic                  avail_o,         // there is one
    output flit_ctl_t             ctl_o,
    output logic [FlitW-1:0]      data_o,
    input  logic                  pop_i,
    output logic                  busy_o           // a register will change
);
  localparam bit Narrow = FlitBytes == 8;          // the operation is in the second flit

  if (Depth * FlitBytes < MaxPacketBytes) begin : gen_depth
    $fatal(1, "coll_input: Depth %0d: expected at least a packet of %0d bytes", Depth, MaxPacketBytes);
  end

  logic [CollRoutes-1:0] nonempty, full, open_q;
  logic                  fetching;

  // ---- write: flits of the link, or the tail that closes a packet cut short -----------------
  logic       push;
  logic [3:0] push_route;
  flit_ctl_t  push_ctl;

  always_comb begin
    push       = 1'b0;
    fault_o    = 1'b0;
    push_route = '0;
    push_ctl   = '0;
    if (rx_valid_i) begin
      push_route = rx_route_i;
      push_ctl   = rx_ctl_i;
      fault_o    = full[push_route] || rx_ctl_i.head == open_q[push_route];
      push       = !fault_o;
    end else if (link_down_i && open_q != '0) begin
      push_ctl = '{err: 1'b1, tail: 1'b1, head: 1'b0, dbg: '0};
      for (int unsigned r = CollRoutes; r > 0; r--) if (open_q[r-1]) push_route = 4'(r - 1);
      push = !full[push_route];
    end
  end

  assign drained_o = (nonempty | open_q) == '0;
  assign busy_o    = fetching || (link_down_i && open_q != '0);

  // ---- packet information: from the first flit, of narrow flits from the second -----
  logic        describe;
  logic [95:0] words;                              // w0, w1, w2 of the header

  if (Narrow) begin : gen_narrow
    logic [63:0]           first_mem [CollRoutes];
    logic [CollRoutes-1:0] second_q;               // the next flit is the second

    assign words    = {rx_data_i[31:0], first_mem[push_route]};
    assign describe = push && (second_q[push_route] || (push_ctl.head && push_ctl.tail));

    always_ff @(posedge clk_i) begin
      if (push && push_ctl.head) first_mem[push_route] <= rx_data_i;
    end
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) second_q <= '0;
      else if (push) second_q[push_route] <= push_ctl.head && !push_ctl.tail;
    end
  end else begin : gen_wide
    assign words    = rx_data_i[95:0];
    assign describe = push && push_ctl.head;
  end

  coll_info #(
      .FlitBytes(FlitBytes),
      .Depth    (Depth)
  ) u_info (
      .clk_i,
      .rst_ni,
      .coord_i,
      .push_i      (describe),
      .push_route_i(push_route),
      .cut_i       (push_ctl.tail && Narrow),
      .words_i     (words),
      .front_o,
      .start_i,
      .start_route_i
  );

  // ---- queues -------------------------------------------------------------------------------
  logic      unused_first, unused_stamp, unused_second;
  flit_ctl_t unused_ctl;

  gyre_queues #(
      .NumQueues(CollRoutes),
      .Depth    (Depth),
      .Width    (FlitW),
      .SideW    ($bits(flit_ctl_t))
  ) u_queues (
      .clk_i,
      .rst_ni,
      .push_i      (push),
      .push_queue_i(push_route),
      .stamp_i     ('0),
      .side_i      (push_ctl),
      .data_i      (rx_data_i),                    // of a closing tail without meaning
      .first_o     (unused_first),
      .read_i,
      .queue_i     (route_i),
      .pop_i,
      .stamp_o     (unused_stamp),
      .side_o      (ctl_o),
      .data_o,
      .second_side_o(unused_ctl),
      .second_stamp_o(unused_second),
      .nonempty_o  (nonempty),
      .full_o      (full),
      .busy_o      (fetching)
  );

  assign avail_o = read_i && nonempty[route_i];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) open_q <= '0;
    else if (push) open_q[push_route] <= !push_ctl.tail;
  end
endmodule
