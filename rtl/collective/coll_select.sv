// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Chooses the next packets of the up engine: of all class routes that can proceed, in turn, the packets to
// be combined, or one packet alone, which is a broadcast or is to be discarded. A packet that combines waits
// until each contributing input of its route has one; nothing is chosen before all its outputs have room.
//
// Malformed packets and packets of an input outside the route are discarded (ErrCollRoute), as are packets of
// a child whose link is down that wait for others: they could wait for ever, and the link with them.
module coll_select
  import gyre_pkg::*;
(
    input  logic                         clk_i,
    input  logic                         rst_ni,
    input  logic                         enable_i,    // something may be chosen
    input  coll_route_t [CollRoutes-1:0] route_i,
    // Packets at the front, by input: this node, child 0, child 1.
    input  coll_front_t                  front_i   [CollPorts],
    input  logic [CollPorts-1:0]         link_down_i,
    // Room for a packet: tree links, ejection by class.
    input  logic [CollRoutes-1:0]        out_ok_i  [CollPorts],
    input  logic [NumClasses-1:0]        ej_ok_i,
    // The choice. It may change while it is not taken.
    output logic                         valid_o,
    output logic [3:0]                   choice_o,    // its route
    output logic [CollPorts-1:0]         inputs_o,    // inputs whose packets take part
    output logic                         discard_o,
    output logic                         dead_o,      // discarded because the link is down
    output logic                         turn_o,      // turns around here
    output logic [CollPorts:0]           outs_o,      // tree links 0..2, ejection
    output logic                         class_o,
    input  logic                         take_i       // it is started
);
  typedef logic [CollRoutes-1:0] mask_t;

  mask_t valid, parent, child [2], member;
  mask_t part [CollPorts], room [CollPorts], drop [CollPorts], alone [CollPorts], waits [CollPorts];
  mask_t combine, combine_room, req, gnt;
  logic [CollPorts-1:0] single, single_gnt, firsts;
  logic                 some, choose_single;

  assign some = enable_i && (front_i[0].pending | front_i[1].pending | front_i[2].pending) != '0;

  always_comb begin
    valid   = '0;
    parent  = '0;
    child   = '{default: '0};
    member  = '0;
    part    = '{default: '0};
    room    = '{default: '0};
    drop    = '{default: '0};
    alone   = '{default: '0};
    waits   = '{default: '0};
    combine      = '0;
    combine_room = '0;
    req          = '0;
    if (some) begin
      for (int unsigned r = 0; r < CollRoutes; r++) begin
        valid[r]    = route_i[r].valid;
        parent[r]   = route_i[r].parent;
        child[0][r] = route_i[r].child0;
        child[1][r] = route_i[r].child1;
        member[r]   = route_i[r].member;
      end
      part    = '{valid & member, valid & child[0], valid & child[1]};
      combine = '1;
      for (int unsigned i = 0; i < CollPorts; i++) begin
        drop[i]  = front_i[i].pending & (front_i[i].bad | ~part[i] | ({CollRoutes{link_down_i[i]}} & ~front_i[i].bcast));
        alone[i] = front_i[i].pending & front_i[i].bcast & ~drop[i];
        waits[i] = front_i[i].pending & ~front_i[i].bcast & ~drop[i];
        combine  = combine & (~part[i] | waits[i]);
        room[i]  = (parent & out_ok_i[0]) |
                   (~parent & (~child[0] | out_ok_i[1]) & (~child[1] | out_ok_i[2]) &
                    (~(member & front_i[i].mine) | (front_i[i].cls & {CollRoutes{ej_ok_i[1]}}) |
                     (~front_i[i].cls & {CollRoutes{ej_ok_i[0]}})));
        req      = req | drop[i] | (alone[i] & room[i]);
      end
      combine      = combine & (part[0] | part[1] | part[2]);
      combine_room = (part[0] & room[0]) | (~part[0] & part[1] & room[1]) | (~part[0] & ~part[1] & room[2]);
      req          = req | (combine & combine_room);
    end
  end

  rr_arbiter #(
      .N(CollRoutes)
  ) u_routes (
      .clk_i,
      .rst_ni,
      .req_i    (req),
      .advance_i(take_i),
      .gnt_o    (gnt)
  );

  always_comb begin
    single = '0;
    if (req != '0) begin
      for (int unsigned i = 0; i < CollPorts; i++) single[i] = (gnt & (drop[i] | (alone[i] & room[i]))) != '0;
    end
  end
  assign choose_single = single != '0;

  lrs_arbiter #(
      .N(CollPorts)
  ) u_inputs (
      .clk_i,
      .rst_ni,
      .req_i    (single),
      .advance_i(take_i && choose_single),
      .gnt_o    (single_gnt)
  );

  always_comb begin
    valid_o   = req != '0;
    choice_o  = '0;
    inputs_o  = '0;
    discard_o = 1'b0;
    dead_o    = 1'b0;
    turn_o    = 1'b0;
    outs_o    = '0;
    class_o   = 1'b0;
    firsts    = '0;
    if (req != '0) begin
      for (int unsigned r = 0; r < CollRoutes; r++) if (gnt[r]) choice_o = choice_o | 4'(r);
      if (choose_single) inputs_o = single_gnt;
      else for (int unsigned i = 0; i < CollPorts; i++) inputs_o[i] = part[i][choice_o];
      firsts = inputs_o & (~inputs_o + 1'b1);
      for (int unsigned i = 0; i < CollPorts; i++) begin
        if (firsts[i]) begin
          class_o = front_i[i].cls[choice_o];
          if (choose_single && drop[i][choice_o]) begin
            discard_o = 1'b1;
            dead_o    = part[i][choice_o] && !front_i[i].bad[choice_o];
          end
          outs_o[CollPorts] = member[choice_o] && front_i[i].mine[choice_o];
        end
      end
      turn_o      = !discard_o && !parent[choice_o];
      outs_o[0]   = !discard_o && parent[choice_o];
      outs_o[2:1] = {child[1][choice_o], child[0][choice_o]} & {2{turn_o}};
      outs_o[CollPorts] = outs_o[CollPorts] && turn_o;
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && take_i) begin
      SomeInput : assert (valid_o && inputs_o != '0)
      else $fatal(1, "%m: packet of no input");
    end
  end
`endif
endmodule
