// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Free room in the buffer of the next input, kept at this end of the link: flits of each virtual channel there,
// and the shared part that is neither used nor claimed. A deterministic channel of request or response first fills its
// reserve, then uses the shared part flit by flit; channels of priority and system keep to their reserve. Room for one
// packet of the shared part is for responses alone, which therefore never wait for requests. A dynamic packet claims room
// for the longest packet with its head and returns unused room with its tail. All outputs are registers.
//
// The lane of the next dynamic packet of a class is one without a packet under way, of these the emptiest.
//
// A credit for a channel that holds no flit there is ignored (`fault_o`).
module router_credits
  import gyre_pkg::*;
#(
    parameter int unsigned FlitBytes = 16,
    parameter int unsigned PortFlits = 272,
    parameter int unsigned Lanes = DynLanes,        // dynamic channels of a class that are used
    localparam int unsigned RoomW = $clog2(PortFlits + 1)
) (
    input  logic                        clk_i,
    input  logic                        rst_ni,
    // Link.
    input  logic                        up_i,
    input  logic                        start_i,    // all credits are back
    input  logic                        credit_i,   // a flit left channel `credit_vc_i` of the next input
    input  logic [VcW-1:0]              credit_vc_i,
    output logic                        fault_o,    // more credits than flits
    // Flit that leaves by this output.
    input  logic                        move_i,
    input  logic                        send_i,     // on the link; else it is discarded
    input  logic [VcW-1:0]              vc_i,
    input  logic                        head_i,
    input  logic                        tail_i,
    input  logic [NumVc-DetVcs-1:0]     held_i,     // dynamic channels with a packet under way
    input  logic                        hold_i,     // deterministic channels keep to their reserve
    output logic [DetVcs-1:0]           no_credit_o,
    output logic [VcPerClass-1:0]       whole_o,    // channels of requests: own room for the longest packet
    output logic [DynClasses-1:0]       lane_free_o,
    output logic [VcW-1:0]              lane_vc_o [DynClasses],
    output logic [DynClasses-1:0]       dyn_room_o, // room for the longest packet
    output logic [DynClasses-1:0]       plenty_o,   // and for one more
    output logic [RoomW-1:0]            room_o      // shared flits that are free
);
  localparam int unsigned NumDyn = NumVc - DetVcs;
  localparam logic [RoomW-1:0] MaxFlits = RoomW'(max_flits(FlitBytes));
  localparam logic [RoomW-1:0] Shared = RoomW'(shared_flits(FlitBytes, PortFlits));
  localparam int unsigned Least = DynClasses * VcPerClass * DetReserve
                                  + (NetClasses - DynClasses) * VcPerClass * HighReserve + 2 * max_flits(FlitBytes);
  localparam bit Plenty = shared_flits(FlitBytes, PortFlits) >= 4 * max_flits(FlitBytes);  // else sources just start
  localparam bit Deposit = deposit_fits(FlitBytes, PortFlits);

  if (PortFlits < Least) begin : gen_flits
    $fatal(1, "router_credits: PortFlits %0d: expected at least %0d", PortFlits,
           Least);
  end
  if (Lanes == 0 || Lanes > DynLanes) begin : gen_lanes
    $fatal(1, "router_credits: Lanes %0d: expected 1 to %0d", Lanes, DynLanes);
  end

  typedef logic [RoomW-1:0] count_t;

  // Flits that a deterministic channel has for itself, by class.
  localparam count_t [NetClasses-1:0] Reserve = {
      count_t'(HighReserve), count_t'(HighReserve), count_t'(DetReserve), count_t'(vc_reserve(FlitBytes, PortFlits, 0))
  };

  count_t                    level_q[NumVc];     // flits there, and on the way
  count_t                    sent_q [NumDyn];    // flits of the packet under way
  count_t                    free_q, free_d;
  logic [DetVcs-1:0]         over_q;             // the reserve is used up
  logic [VcPerClass-1:0]     whole_q;
  logic [DynClasses-1:0]     none_q;             // no shared flit is free for the class
  logic [DynClasses-1:0]     dyn_room_q, plenty_q, lane_free_q;
  logic [1:0]                lane_q[DynClasses];
  logic                      credit;             // one for a flit that is there
  logic                      take, give;         // of level, other than one in and one out of a channel
  count_t                    vc_level, credit_level;
  count_t                    own, credit_own;    // reserves

  assign no_credit_o = over_q & {{(DetVcs - 2 * VcPerClass) {1'b1}}, {VcPerClass{none_q[1] | hold_i}}, {VcPerClass{none_q[0] | hold_i}}};
  assign plenty_o    = plenty_q;
  assign whole_o     = whole_q;
  assign lane_free_o = lane_free_q;
  assign dyn_room_o  = dyn_room_q;
  assign room_o      = free_q;
  for (genvar c = 0; c < int'(DynClasses); c++) begin : gen_class
    assign lane_vc_o[c] = dyn_vc(1'(c), lane_q[c]);
  end

  always_comb begin
    fault_o      = 1'b0;
    credit       = 1'b0;
    take         = 1'b0;
    give         = 1'b0;
    vc_level     = '0;
    credit_level = '0;
    own          = '0;
    credit_own   = '0;
    free_d       = free_q;
    if (send_i || credit_i) begin
      vc_level     = level_q[vc_i];
      credit_level = level_q[credit_vc_i];
      own          = Reserve[vc_i[2:1]];
      credit_own   = Reserve[credit_vc_i[2:1]];
      credit       = credit_i && credit_level != '0;
      fault_o      = credit_i && !credit;
      take         = send_i && !(credit && vc_i == credit_vc_i);
      give         = credit && !(send_i && vc_i == credit_vc_i);
      if (send_i && vc_dynamic(vc_i)) begin
        if (head_i) free_d = free_d - MaxFlits;
        if (tail_i) free_d = free_d + MaxFlits - (head_i ? '0 : sent_q[vc_i[VcW-2:0]]) - 1'b1;
      end else if (take && vc_level >= own) begin
        free_d = free_d - 1'b1;
      end
      if (credit && (vc_dynamic(credit_vc_i) || (give && credit_level > credit_own))) begin
        free_d = free_d + 1'b1;
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      for (int unsigned v = 0; v < NumVc; v++) level_q[v] <= '0;
      free_q     <= Shared;
      over_q     <= '0;
      whole_q    <= {VcPerClass{Deposit}};
      none_q     <= '0;
      dyn_room_q <= '1;
      plenty_q   <= '1;
    end else if (!up_i) begin
      if (start_i) begin
        for (int unsigned v = 0; v < NumVc; v++) level_q[v] <= '0;
        free_q     <= Shared;
        over_q     <= '0;
        whole_q    <= {VcPerClass{Deposit}};
        none_q     <= '0;
        dyn_room_q <= '1;
        plenty_q   <= '1;
      end
    end else if (send_i || credit_i) begin
      free_q     <= free_d;
      none_q     <= {free_d == '0, free_d <= MaxFlits};
      dyn_room_q <= {free_d >= MaxFlits, free_d >= MaxFlits + MaxFlits};
      if (Plenty) plenty_q <= {free_d >= MaxFlits + MaxFlits, free_d >= MaxFlits + MaxFlits + MaxFlits};
      if (take) begin
        level_q[vc_i] <= vc_level + 1'b1;
        if (!vc_dynamic(vc_i)) over_q[vc_i[VcW-2:0]] <= vc_level + 1'b1 >= own;
        if (vc_i < VcW'(VcPerClass)) whole_q[vc_i[0]] <= vc_level + 1'b1 + MaxFlits <= own;
      end
      if (give) begin
        level_q[credit_vc_i] <= credit_level - 1'b1;
        if (!vc_dynamic(credit_vc_i)) over_q[credit_vc_i[VcW-2:0]] <= credit_level > credit_own;
        if (credit_vc_i < VcW'(VcPerClass)) whole_q[credit_vc_i[0]] <= credit_level + MaxFlits <= credit_own + 1'b1;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (send_i && vc_dynamic(vc_i)) sent_q[vc_i[VcW-2:0]] <= head_i ? count_t'(1) : sent_q[vc_i[VcW-2:0]] + 1'b1;
  end

  // ---- lanes ----------------------------------------------------------------------------------
  logic [NumDyn-1:0]     held;
  logic [DynClasses-1:0] lane_free_d;
  logic [1:0]            lane_d[DynClasses];
  logic                  change;
  count_t                least;

  always_comb begin
    lane_free_d = '0;
    lane_d      = '{default: '0};
    held        = '0;
    least       = '0;
    change      = start_i || (move_i && vc_i[VcW-1] && (head_i || tail_i)) || (credit_i && credit_vc_i[VcW-1]);
    if (change) begin
      held = held_i;
      if (move_i && vc_dynamic(vc_i)) held[vc_i[VcW-2:0]] = !tail_i;
      for (int unsigned c = 0; c < DynClasses; c++) begin
        lane_free_d[c] = held[c*DynLanes+:Lanes] != '1;
        least          = '1;
        for (int unsigned l = 0; l < Lanes; l++) begin
          if (!held[c*DynLanes+l] && level_q[DetVcs+c*DynLanes+l] < least) begin
            least     = level_q[DetVcs+c*DynLanes+l];
            lane_d[c] = 2'(l);
          end
        end
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      lane_free_q <= '1;
      for (int unsigned c = 0; c < DynClasses; c++) lane_q[c] <= '0;
    end else if (change) begin
      lane_free_q <= lane_free_d;
      lane_q      <= lane_d;
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && up_i && credit_i) begin
      FreeBound : assert (free_d <= Shared)
      else $fatal(1, "%m: more room than buffer");
    end
    if (rst_ni && up_i && take && !vc_dynamic(vc_i)) begin
      HasRoom : assert (!no_credit_o[vc_i[VcW-2:0]])
      else $fatal(1, "%m: flit sent without room");
    end
  end
`endif
endmodule
