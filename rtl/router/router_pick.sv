// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Virtual channel that a link input serves, where its flit goes, and the ways that packets under way have taken. The packet
// that moved last goes on as before. A packet that goes by a dynamic channel takes, of the outputs allowed, the one with most
// room, of equals the highest.
module router_pick
  import gyre_pkg::*;
#(
    parameter int unsigned NDim = 3,
    parameter int unsigned RoomW = 9,
    localparam int unsigned P = 2 * NDim
) (
    input  logic              clk_i,
    input  logic              rst_ni,
    input  logic              keep_i,                  // the packet that moved last goes on
    input  logic [NumVc-1:0]  req_i,                   // else: channels whose flit can move
    input  logic [NumVc-1:0]  read_i,                  // one of them, one-hot
    // Packet at the front of each channel.
    input  logic [NumVc-1:0]  body_i,                  // its head has left
    input  route_t            route_i [NumVc],
    input  logic [BirthW-1:0] birth_i [NumVc],         // that of the route, by itself
    input  logic [P-1:0]      dyn_ok_i[DynClasses],    // outputs with a dynamic channel that has room for a packet
    input  logic [VcW-1:0]    dyn_vc_i[P][DynClasses],
    input  logic [RoomW-1:0]  room_i  [P],             // flits that a dynamic channel could take
    input  logic              pop_i,                   // the flit moves
    input  logic              head_i,                  // it is the head of its packet
    input  logic              tail_i,
    output logic              req_o,                   // a flit can move
    output logic [VcW-1:0]    vc_o,                    // its channel here
    output logic [3:0]        port_o,                  // its output, LocalPort or NoPort
    output logic [VcW-1:0]    out_vc_o,                // its channel there
    output logic              copy_o,                  // it is ejected as well
    output logic              body_o,                  // it goes on with a packet
    output logic              high_o,                  // of class priority or system
    output logic [BirthW-1:0] birth_o,                 // of its packet
    output last_t             last_o,                  // flit that moved last
    output logic [NumVc-1:0]  dynamic_o,               // packets under way by a dynamic channel, and that channel
    output lane_t             lane_o  [NumVc]
);
  last_t             last_q;
  logic [BirthW-1:0] birth_q;       // of its packet
  logic [NumVc-1:0]  dynamic_q;
  lane_t             lane_q[NumVc];

  assign last_o    = last_q;
  assign dynamic_o = dynamic_q;
  assign lane_o    = lane_q;

  // By bit: the channels with this bit in their number.
  function automatic logic [VcW-1:0][NumVc-1:0] numbers();
    for (int unsigned v = 0; v < NumVc; v++) begin
      for (int unsigned b = 0; b < VcW; b++) numbers[b][v] = v[b];
    end
  endfunction
  localparam logic [VcW-1:0][NumVc-1:0] Numbers = numbers();

  logic [1:0]       vclass;
  logic             lane;           // it goes by a dynamic channel
  logic [P-1:0]     allowed;        // outputs where a head may take one
  logic [RoomW-1:0] most;
  route_t           picked;
  lane_t            way;

  always_comb begin
    req_o    = 1'b0;
    vc_o     = '0;
    port_o   = '0;
    out_vc_o = '0;
    copy_o   = 1'b0;
    body_o   = 1'b0;
    high_o   = 1'b0;
    birth_o  = '0;
    vclass   = '0;
    lane     = 1'b0;
    allowed  = '0;
    most     = '0;
    picked   = '0;
    way      = '0;
    if (keep_i) begin
      req_o    = 1'b1;
      vc_o     = last_q.vc;
      port_o   = last_q.port;
      out_vc_o = last_q.out_vc;
      copy_o   = last_q.copy;
      body_o   = 1'b1;
      birth_o  = birth_q;
    end else if (req_i != '0) begin
      req_o   = 1'b1;
      for (int unsigned b = 0; b < VcW; b++) vc_o[b] = (read_i & Numbers[b]) != '0;
      picked  = route_i[vc_o];
      birth_o = birth_i[vc_o];
      way     = lane_q[vc_o];
      vclass  = vc_class(vc_o);
      copy_o  = picked.deposit;
      high_o  = vclass > ClassResponse;
      body_o  = (read_i & body_i) != '0;
      lane    = body_o && (read_i & dynamic_q) != '0;
      if (!body_o && picked.port < NoPort) allowed = picked.minimal[P-1:0] & dyn_ok_i[vclass[0]];
      if (allowed != '0) begin
        lane = 1'b1;
        for (int unsigned p = 0; p < P; p++) begin
          if (allowed[p] && room_i[p] >= most) begin
            most     = room_i[p];
            port_o   = 4'(p);
            out_vc_o = dyn_vc_i[p][vclass[0]];
          end
        end
      end else begin
        port_o   = lane ? way.port : picked.port;
        out_vc_o = lane ? dyn_vc(vclass[0], way.lane) : det_vc(vclass, picked.dateline);
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (pop_i) birth_q <= birth_o;
    if (pop_i && head_i) begin
      dynamic_q[vc_o] <= lane;
      lane_q[vc_o]    <= '{port: port_o, lane: out_vc_o[1:0]};
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) last_q <= '0;
    else if (pop_i) last_q <= '{body: !tail_i, vc: vc_o, port: port_o, out_vc: out_vc_o, copy: copy_o};
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && pop_i && !keep_i) begin
      BirthOfRoute : assert (birth_o == picked.birth)
      else $fatal(1, "%m: a birth that is not that of the route");
      ChoiceAllowed : assert (allowed == '0 || allowed[$clog2(P)'(port_o)])
      else $fatal(1, "%m: an output that is not allowed");
    end
  end
`endif
endmodule
