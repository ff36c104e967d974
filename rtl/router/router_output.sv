// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// One output: holder of each virtual channel, room for it in the buffer of the next input (router_credits),
// and the crossbar column. The flit goes to link_tx, whose register is the output register.
//
// A virtual channel is held from head to tail. While the link is down the output takes every flit and
// discards it, also the rest of packets that were cut; each is reported once (ErrLinkDown), when the
// register of its report is free.
module router_output
  import gyre_pkg::*;
#(
    parameter int unsigned NDim = 3,
    parameter int unsigned PortId = 0,
    parameter int unsigned FlitBytes = 16,
    parameter int unsigned PortFlits = 272,
    parameter int unsigned Lanes = DynLanes,     // dynamic channels of a class that are used
    localparam int unsigned P = 2 * NDim,
    localparam int unsigned FlitW = FlitBytes * 8,
    localparam int unsigned RoomW = $clog2(PortFlits + 1)
) (
    input  logic                  clk_i,
    input  logic                  rst_ni,
    // Link.
    input  logic                  up_i,
    input  logic                  start_i,     // all credits are back
    input  logic                  credit_i,
    input  logic [VcW-1:0]        credit_vc_i,
    output logic                  credit_fault_o, // more credits than flits
    // Flits that can move, by virtual channel.
    output logic [DetVcs-1:0]     head_ok_o,
    output logic [VcPerClass-1:0] whole_ok_o,  // channels of requests: head_ok_o, and own room for the longest packet
    output logic [NumVc-1:0]      body_ok_o,
    output logic [DetVcs-1:0]     no_credit_o,
    output logic [DynClasses-1:0] dyn_ok_o,    // a dynamic channel is free and has room for the longest packet
    output logic [DynClasses-1:0] dyn_head_ok_o, // or the link is down, and its flits are discarded
    output logic [DynClasses-1:0] plenty_o,    // of room for packets that start here
    output logic [VcW-1:0]        dyn_vc_o [DynClasses],
    output logic [RoomW-1:0]      room_o,      // shared flits there that are not claimed
    // Crossbar: one-hot grant, bit PortId = injection.
    input  logic [P-1:0]          gnt_i,
    input  logic [VcW-1:0]        in_vc_i  [P],
    input  flit_ctl_t             in_ctl_i [P],
    input  logic [FlitW-1:0]      in_data_i[P],
    input  logic [VcW-1:0]        inj_vc_i,
    input  logic                  inj_hold_i,  // a dynamic packet to be injected is to find room
    input  flit_ctl_t             inj_ctl_i,
    input  logic [FlitW-1:0]      inj_data_i,
    // To the link.
    output logic                  send_o,
    output logic [VcW-1:0]        vc_o,
    output flit_ctl_t             ctl_o,
    output logic [FlitW-1:0]      data_o,
    // Error, held until taken.
    output error_t                err_o,
    input  logic                  err_take_i,
    output logic                  busy_o       // a register will change, reports aside
);
  logic [NumVc-1:0]      held_q;
  logic [NumVc-1:0]      drop_q;    // rest of the packet in this virtual channel is discarded
  logic [NumVc-1:0]      report_q;  // and was not reported yet
  error_t                err_q;
  logic                  drop;      // the flit granted is discarded
  logic [DynClasses-1:0] lane_free, dyn_room, plenty;
  logic [DetVcs-1:0]     no_credit;
  logic [VcPerClass-1:0] whole;

  router_credits #(
      .FlitBytes(FlitBytes),
      .PortFlits(PortFlits),
      .Lanes    (Lanes)
  ) u_credits (
      .clk_i,
      .rst_ni,
      .up_i,
      .start_i,
      .credit_i,
      .credit_vc_i,
      .fault_o    (credit_fault_o),
      .move_i     (gnt_i != '0),
      .send_i     (send_o),
      .vc_i       (vc_o),
      .head_i     (ctl_o.head),
      .tail_i     (ctl_o.tail),
      .held_i     (held_q[NumVc-1:DetVcs]),
      .hold_i     (inj_hold_i),
      .no_credit_o(no_credit),
      .whole_o    (whole),
      .lane_free_o(lane_free),
      .lane_vc_o  (dyn_vc_o),
      .dyn_room_o (dyn_room),
      .plenty_o   (plenty),
      .room_o
  );

  assign err_o       = err_q;
  assign busy_o      = !up_i && (held_q & ~drop_q) != '0;
  assign no_credit_o = up_i ? no_credit : '0;
  assign whole_ok_o  = up_i ? head_ok_o[VcPerClass-1:0] & whole : head_ok_o[VcPerClass-1:0];
  assign plenty_o    = up_i ? plenty : '1;
  assign dyn_ok_o    = up_i ? lane_free & dyn_room : '0;
  assign dyn_head_ok_o = up_i ? lane_free & dyn_room : (err_q.valid ? '0 : lane_free);

  always_comb begin
    if (up_i) begin
      head_ok_o = ~(held_q[DetVcs-1:0] | no_credit);
      body_ok_o = {{(NumVc - DetVcs) {1'b1}}, ~no_credit};  // dynamic packets have claimed their room
      if (drop_q != '0) body_ok_o = err_q.valid ? body_ok_o & ~drop_q : body_ok_o | drop_q;
    end else begin
      head_ok_o = err_q.valid ? '0 : ~held_q[DetVcs-1:0];
      body_ok_o = err_q.valid ? '0 : '1;
    end
  end

  always_comb begin
    vc_o   = '0;
    ctl_o  = '0;
    data_o = '0;
    drop   = 1'b0;
    send_o = 1'b0;
    if (gnt_i != '0) begin
      for (int unsigned i = 0; i < P; i++) begin
        if (gnt_i[i]) begin
          vc_o   = vc_o | ((i == PortId) ? inj_vc_i : in_vc_i[i]);
          ctl_o  = ctl_o | ((i == PortId) ? inj_ctl_i : in_ctl_i[i]);
          data_o = data_o | ((i == PortId) ? inj_data_i : in_data_i[i]);
        end
      end
      drop   = !up_i || drop_q[vc_o];
      send_o = !drop;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      held_q   <= '0;
      drop_q   <= '0;
      report_q <= '0;
      err_q    <= '0;
    end else begin
      // Packets cut by the link going down are reported with their tail, for want of the head.
      if (!up_i && (held_q & ~drop_q) != '0) begin
        drop_q   <= drop_q | held_q;
        report_q <= report_q | (held_q & ~drop_q);
      end
      if (err_take_i) err_q <= '0;
      if (gnt_i != '0) begin
        held_q[vc_o] <= !ctl_o.tail;
        if (drop) begin
          drop_q[vc_o]   <= !ctl_o.tail;
          if (ctl_o.tail) report_q[vc_o] <= 1'b0;
          if (ctl_o.head || (ctl_o.tail && (report_q[vc_o] || !drop_q[vc_o]))) begin
            err_q <= '{valid: 1'b1, reason: ErrLinkDown, where: 10'(PortId),
                       info: ctl_o.head ? data_o[63:0] : '0};
          end
        end
      end
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && gnt_i != '0) begin
      GrantOneHot : assert ($onehot(gnt_i))
      else $fatal(1, "%m: two inputs granted");
      HeadFree : assert (ctl_o.head == !held_q[vc_o])
      else $fatal(1, "%m: packets mixed in a virtual channel");
      HasCredit : assert (!send_o || vc_dynamic(vc_o) || !no_credit[vc_o[VcW-2:0]])
      else $fatal(1, "%m: flit sent without credit");
      DynamicWhole : assert (!send_o || !ctl_o.head || !vc_dynamic(vc_o) || dyn_room[vc_o[VcW-2]])
      else $fatal(1, "%m: dynamic packet started without room for all of it");
    end
  end
`endif
endmodule
