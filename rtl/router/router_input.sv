// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// One link input: its flit buffer and the choice of the virtual channel to serve. A virtual channel requests only
// when its flit can move in this cycle, so one that is blocked never stands in the way of another; system packets
// go first, then priority; then the packet that moved last goes on if it can, so that packets leave the buffer whole.
// A packet with the deposit bit moves into its output and, as a copy, into the ejection buffer at once. It starts only
// when its channel at the next input has room of its own for all of it: the copy holds the ejection buffer from head to
// tail, so it must never wait there for a link.
//
// A dynamic packet takes a dynamic channel at the minimal output with most room, if one has room for the longest
// packet; else its escape, the deterministic channel of its fixed route. In a dynamic channel it thus always ends up
// whole: no channel waits for a packet across several nodes, except for escapes, whose waits have no cycle.
//
// When the link goes down with a packet open, the packet is closed with a tail marked `err`. A packet
// without a route is discarded and reported (ErrRouteUnreachable).
module router_input
  import gyre_pkg::*;
#(
    parameter int unsigned NDim = 3,
    parameter int unsigned PortId = 0,
    parameter int unsigned FlitBytes = 16,
    parameter int unsigned PortFlits = 272,
    parameter int unsigned Patience = 2048,      // cycles, a power of two
    parameter bit          ByAge = 1'b1,         // the oldest packet first, else in turn
    localparam int unsigned P = 2 * NDim,
    localparam int unsigned FlitW = FlitBytes * 8,
    localparam int unsigned RoomW = $clog2(PortFlits + 1)
) (
    input  logic                  clk_i,
    input  logic                  rst_ni,
    input  node_cfg_t             cfg_i,
    input  logic [BirthW-1:0]     now_i,         // see header_t.birth
    // From the link.
    input  logic                  rx_valid_i,
    input  logic [VcW-1:0]        rx_vc_i,
    input  flit_ctl_t             rx_ctl_i,
    input  logic [FlitW-1:0]      rx_data_i,
    input  logic                  link_down_i,
    output logic                  fault_o,       // this flit breaks the protocol; it is dropped
    output logic                  drained_o,     // no flit and no open packet
    // Flits that can move, by output and channel there; ejection by class.
    input  logic [DetVcs-1:0]     head_ok_i [P],
    input  logic [VcPerClass-1:0] whole_ok_i[P], // deterministic channels of requests: own room for a packet
    input  logic [NumVc-1:0]      body_ok_i [P],
    input  logic [DetVcs-1:0]     no_credit_i[P],
    input  logic [P-1:0]          dyn_ok_i  [DynClasses], // a dynamic channel with room for a packet
    input  logic [VcW-1:0]        dyn_vc_i  [P][DynClasses],
    input  logic [RoomW-1:0]      room_i    [P], // flits that a dynamic channel could take
    input  logic [NetClasses-1:0]    ej_head_ok_i,
    input  logic [NetClasses-1:0]    ej_body_ok_i,
    // Allocation: the flit of the virtual channel picked.
    output logic                  req_o,
    output logic [3:0]            port_o,        // its output, LocalPort or NoPort
    output logic                  copy_o,        // it is ejected as well
    output logic                  body_o,        // it goes on with a packet
    output logic                  high_o,        // of class priority or system
    output logic [BirthW-1:0]     birth_o,       // of its packet
    input  logic                  pop_i,         // it moves
    output logic [VcW-1:0]        in_vc_o,       // its virtual channel at this input
    output logic [VcW-1:0]        out_vc_o,      // and at the next
    output flit_ctl_t             ctl_o,
    output logic [FlitW-1:0]      data_o,
    output logic [P-1:0]          stall_o,       // outputs for which a flit waits for credit
    // Error, held until taken.
    output error_t                err_o,
    input  logic                  err_take_i,
    output logic                  busy_o       // a register will change, reports aside
);
  logic [NumVc-1:0] nonempty, body, open_q;
  logic             full;
  route_t           route [NumVc];
  logic [BirthW-1:0] birth[NumVc];
  logic [NumVc-1:0] dynamic_vc;   // packets whose heads have left by a dynamic channel; all others go by their fixed route
  lane_t            lane [NumVc];
  last_t            last;
  error_t           err_q;

  // ---- write side: flits of the link, or the tail that closes a packet cut short -----------
  logic           push;
  logic [VcW-1:0] push_vc;
  flit_ctl_t      push_ctl;

  assign drained_o = (nonempty | open_q) == '0;
  assign err_o     = err_q;

  always_comb begin
    push     = 1'b0;
    fault_o  = 1'b0;
    push_vc  = '0;
    push_ctl = '0;
    if (rx_valid_i) begin
      push_vc  = rx_vc_i;
      push_ctl = rx_ctl_i;
      fault_o  = full || rx_ctl_i.head == open_q[push_vc];
      push     = !fault_o;
    end else if (link_down_i && open_q != '0) begin
      push     = !full;
      push_ctl = '{err: 1'b1, tail: 1'b1, head: 1'b0, dbg: '0};
      for (int unsigned v = NumVc; v > 0; v--) begin
        if (open_q[v-1]) push_vc = VcW'(v - 1);
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) open_q <= '0;
    else if (push) open_q[push_vc] <= !push_ctl.tail;
  end

  router_buffer #(
      .Flits    (PortFlits),
      .FlitBytes(FlitBytes),
      .NDim     (NDim),
      .PortId   (PortId)
  ) u_buffer (
      .clk_i,
      .rst_ni,
      .cfg_i,
      .push_i     (push),
      .push_vc_i  (push_vc),
      .push_ctl_i (push_ctl),
      .push_data_i(rx_data_i),  // the data of a closing tail has no meaning
      .read_i     (req_o),
      .read_vc_i  (in_vc_o),
      .pop_i,
      .ctl_o,
      .data_o,
      .nonempty_o (nonempty),
      .full_o     (full),
      .body_o     (body),
      .route_o    (route),
      .birth_o    (birth)
  );

  // ---- requests: which channels can move; discarding waits for the register of its report ----
  logic [NumVc-1:0]  req, urgent, read;
  logic              keep;      // it goes on with its packet, before all others
  logic              waiting;

  assign busy_o = nonempty != '0 || (link_down_i && open_q != '0) || waiting;

  router_requests #(
      .NDim    (NDim),
      .Patience(Patience)
  ) u_requests (
      .clk_i,
      .rst_ni,
      .nonempty_i(nonempty),
      .body_i    (body),
      .route_i   (route),
      .dynamic_i (dynamic_vc),
      .lane_i    (lane),
      .last_i    (last),
      .discard_i (!err_q.valid),
      .head_ok_i,
      .whole_ok_i,
      .body_ok_i,
      .no_credit_i,
      .dyn_ok_i,
      .ej_head_ok_i,
      .ej_body_ok_i,
      .pop_i,
      .vc_i      (in_vc_o),
      .keep_o    (keep),
      .req_o     (req),
      .urgent_o  (urgent),
      .stall_o,
      .waiting_o (waiting)
  );

  age_arbiter #(
      .N     (NumVc),
      .StampW(BirthW),
      .ByAge (ByAge)
  ) u_arbiter (
      .clk_i,
      .rst_ni,
      .req_i        (urgent),
      .birth_i      (birth),
      .apart_birth_i('0),
      .now_i,
      .advance_i    (pop_i),
      .gnt_o        (read)
  );

  // ---- the channel picked, and its grant ------------------------------------------------------
  router_pick #(
      .NDim (NDim),
      .RoomW(RoomW)
  ) u_pick (
      .clk_i,
      .rst_ni,
      .keep_i   (keep),
      .req_i    (req),
      .read_i   (read),
      .body_i   (body),
      .route_i  (route),
      .birth_i  (birth),
      .dyn_ok_i,
      .dyn_vc_i,
      .room_i,
      .pop_i,
      .head_i   (ctl_o.head),
      .tail_i   (ctl_o.tail),
      .req_o,
      .vc_o     (in_vc_o),
      .port_o,
      .out_vc_o,
      .copy_o,
      .body_o,
      .high_o,
      .birth_o,
      .last_o   (last),
      .dynamic_o(dynamic_vc),
      .lane_o   (lane)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      err_q <= '0;
    end else begin
      if (err_take_i) err_q <= '0;
      if (pop_i && ctl_o.head && port_o == NoPort) begin
        err_q <= '{valid: 1'b1, reason: ErrRouteUnreachable, where: 10'(PortId), info: data_o[63:0]};
      end
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && pop_i) begin
      NoUTurn : assert (port_o != 4'(PortId))
      else $fatal(1, "%m: route back through the port of arrival");
      MovesRequested : assert (req_o)
      else $fatal(1, "%m: grant without request");
    end
  end
`endif
endmodule
