// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// router_credits: an output that sends only with reported room never overruns the buffer of the next input:
// room here, flits there and room that open packets claimed are always the whole buffer. Credits are of flits that are
// there; packets of dynamic channels are no longer than the longest.
module router_credits_formal
  import gyre_pkg::*;
#(
    parameter int unsigned FlitBytes = 64,
    parameter int unsigned PortFlits = 72,
    localparam int unsigned RoomW = $clog2(PortFlits + 1),
    localparam int unsigned NumDyn = NumVc - DetVcs
) (
    input logic           clk_i,
    input logic           credit_i,
    input logic [VcW-1:0] credit_vc_i,
    input logic           send_i,
    input logic [VcW-1:0] vc_i,
    input logic           tail_i,
    input logic           hold_i
);
  localparam int unsigned Longest = max_flits(FlitBytes);
  localparam int unsigned Shared = shared_flits(FlitBytes, PortFlits);

  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic [NumDyn-1:0]     open_q;              // dynamic channels with a packet under way
  logic                  dynamic, head;
  logic [VcW-2:0]        lane;
  logic [DetVcs-1:0]     no_credit;
  logic                  fault;
  logic [VcPerClass-1:0] whole;
  logic [DynClasses-1:0] lane_free, dyn_room, plenty;
  logic [VcW-1:0]        lane_vc [DynClasses];
  logic [RoomW-1:0]      room;
  assign dynamic = vc_dynamic(vc_i);
  assign lane    = vc_i[VcW-2:0];
  assign head    = dynamic && !open_q[lane];

  router_credits #(.FlitBytes(FlitBytes), .PortFlits(PortFlits)) dut (
      .clk_i, .rst_ni(rst_n), .up_i(1'b1), .start_i(1'b0), .credit_i, .credit_vc_i, .fault_o(fault), .move_i(send_i), .send_i, .vc_i,
      .head_i(head), .tail_i, .held_i(open_q), .hold_i, .no_credit_o(no_credit), .whole_o(whole),
      .lane_free_o(lane_free), .lane_vc_o(lane_vc), .dyn_room_o(dyn_room), .plenty_o(plenty), .room_o(room)
  );

  // Flits of each channel there or on the way; those of open packets.
  logic [RoomW-1:0] level_q [NumVc], sent_q [NumDyn];
  always_ff @(posedge clk_i) begin
    if (!rst_n) begin
      for (int unsigned v = 0; v < NumVc; v++) level_q[v] <= '0;
      open_q <= '0;
    end else begin
      for (int unsigned v = 0; v < NumVc; v++) begin
        level_q[v] <= level_q[v] + RoomW'(send_i && vc_i == VcW'(v)) - RoomW'(credit_i && credit_vc_i == VcW'(v));
      end
      if (send_i && dynamic) begin
        open_q[lane] <= !tail_i;
        sent_q[lane] <= head ? RoomW'(1) : sent_q[lane] + 1'b1;
      end
    end
  end

  // All slots: those of the channels' own, and those that are shared.
  logic [31:0] used, claimed, flits;
  always_comb begin
    used    = '0;
    claimed = '0;
    flits   = '0;
    for (int unsigned v = 0; v < NumVc; v++) begin
      flits = flits + 32'(level_q[v]);
      if (32'(level_q[v]) > vc_reserve(FlitBytes, PortFlits, v)) begin
        used = used + 32'(level_q[v]) - vc_reserve(FlitBytes, PortFlits, v);
      end
    end
    for (int unsigned l = 0; l < NumDyn; l++) if (open_q[l]) claimed = claimed + Longest - 32'(sent_q[l]);
  end

  always_ff @(posedge clk_i) if (rst_n) begin
    AssumeCreditOfFlit : assume (!credit_i || level_q[credit_vc_i] != '0);
    AssumeRoom : assume (!send_i || dynamic || !no_credit[lane]);
    AssumeLane : assume (!send_i || !head || (dyn_room[lane[2]] && lane_free[lane[2]] && lane_vc[lane[2]] == vc_i));
    AssumeLength : assume (!send_i || !dynamic || head || 32'(sent_q[lane]) + 1 < Longest ||
                           (tail_i && 32'(sent_q[lane]) < Longest));
    Conserved : assert (32'(room) + used + claimed == Shared);
    NoOverrun : assert (flits + claimed <= PortFlits);
    WholeIsWhole : assert ((!whole[0] || 32'(level_q[0]) + Longest <= vc_reserve(FlitBytes, PortFlits, 0)) &&
                           (!whole[1] || 32'(level_q[1]) + Longest <= vc_reserve(FlitBytes, PortFlits, 1)));
    // Room for one packet is for responses alone.
    ResponsesGo : assert (!send_i || !head || lane[2] || 32'(room) >= 2 * Longest);
    CoverClaims : cover (claimed == Longest + Longest - 2 && used == 32'd2);
    NoFault : assert (!fault);
    CoverBack : cover (credit_i && send_i && vc_i == credit_vc_i && head);
  end

  for (genvar v = 0; v < int'(NumVc); v++) begin : gen_vc
    always_ff @(posedge clk_i) if (rst_n) begin
      Level : assert (dut.level_q[v] == level_q[v]);
      if (v < int'(DetVcs)) Over : assert (dut.over_q[v] == (32'(level_q[v]) >= vc_reserve(FlitBytes, PortFlits, v)));
      if (v >= 2 * int'(DynClasses) && v < int'(DetVcs)) Own : assert (32'(level_q[v]) <= HighReserve);
    end
  end
  for (genvar l = 0; l < int'(NumDyn); l++) begin : gen_lane
    always_ff @(posedge clk_i) if (rst_n && open_q[l]) begin
      Sent : assert (dut.sent_q[l] == sent_q[l] && sent_q[l] != '0 && 32'(sent_q[l]) < Longest);
    end
  end
  always_ff @(posedge clk_i) if (rst_n) begin
    LaneFree : assert ((!lane_free[0] || !open_q[lane_vc[0][VcW-2:0]]) && (!lane_free[1] || !open_q[lane_vc[1][VcW-2:0]]));
    LaneOfClass : assert (lane_vc[0][VcW-1:2] == 2'b10 && lane_vc[1][VcW-1:2] == 2'b11);
    RoomSaid : assert (dut.none_q == {room == '0, 32'(room) <= Longest} &&
                       dyn_room == {32'(room) >= Longest, 32'(room) >= 2 * Longest});
  end
endmodule
