// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Packets on their way down the tree, one at a time: from the parent, or turned around at this
// node, the root of their route. They go to the children in the route and to this node in lock-step. Packets
// from the parent are moved here; packets that turn around are moved by coll_up, and this module grants the outputs.
//
// A packet from the parent starts once all packets that turned around have left the arithmetic; both take turns.
// Malformed packets, and packets of a route without parent, are discarded (ErrCollRoute).
module coll_down
  import gyre_pkg::*;
(
    input  logic                         clk_i,
    input  logic                         rst_ni,
    input  coll_route_t [CollRoutes-1:0] route_i,
    // Packets at the front of the parent's link ...
    input  coll_front_t                  front_i,
    output logic                         start_o,
    output logic [3:0]                   start_route_o,
    // ... and their flits, of the route that is read.
    output logic [3:0]                   route_o,
    output logic                         read_o,
    input  logic                         avail_i,
    input  logic                         head_i,
    input  logic                         tail_i,
    input  logic [63:0]                  words_i,       // its low bits, for a report
    output logic                         pop_o,
    // Packets that turn around.
    input  logic                         turn_want_i,
    output logic                         turn_gnt_o,
    input  logic                         turn_done_i,
    // Outputs: links to child 0 and child 1, ejection. A flit leaves its input and is there at once.
    input  logic [1:0]                   up_i,
    input  logic [CollRoutes-1:0]        out_ok_i [2],
    input  logic [NumClasses-1:0]        ej_ok_i,
    output logic [1:0]                   start_outs_o,  // links only
    output logic [2:0]                   take_o,
    output logic [2:0]                   outs_o,        // of take_o, those that were alive at the start
    output logic                         class_o,
    // Error, held until taken.
    output error_t                       err_o,
    input  logic                         err_take_i,
    output logic                         busy_o       // a register will change, reports aside
);
  localparam int unsigned TurnW = $clog2(CollAluLatency + 3);

  typedef logic [CollRoutes-1:0] mask_t;

  // ---- choice -------------------------------------------------------------------------------
  mask_t      valid, child [2], member, drop, ej_room, req, gnt;
  logic       free, finish, start, discard;
  logic [3:0] choice;
  logic [2:0] outs;
  error_t     err_q;
  logic       active_q, last_turn_q;
  logic [3:0] route_q;                     // of the packet under way
  logic [2:0] outs_q, alive_q;
  logic       class_q, discard_q, head_q;
  logic [TurnW-1:0] turns_q;               // packets that turn around, from grant to tail

  assign free = !active_q || (finish && !(discard_q && head_q));   // a report is to be taken first

  always_comb begin
    valid   = '0;
    child   = '{default: '0};
    member  = '0;
    drop    = '0;
    ej_room = '0;
    req     = '0;
    if (front_i.pending != '0 && free && !err_q.valid) begin
      for (int unsigned r = 0; r < CollRoutes; r++) begin
        valid[r]    = route_i[r].valid && route_i[r].parent;
        child[0][r] = route_i[r].child0;
        child[1][r] = route_i[r].child1;
        member[r]   = route_i[r].member;
      end
      drop    = front_i.pending & (front_i.bad | ~valid);
      ej_room = ~(member & front_i.mine) | (front_i.cls & {CollRoutes{ej_ok_i[1]}}) | (~front_i.cls & {CollRoutes{ej_ok_i[0]}});
      req     = drop | (front_i.pending & (~child[0] | out_ok_i[0]) & (~child[1] | out_ok_i[1]) & ej_room);
    end
  end

  rr_arbiter #(
      .N(CollRoutes)
  ) u_routes (
      .clk_i,
      .rst_ni,
      .req_i    (req),
      .advance_i(start),
      .gnt_o    (gnt)
  );

  assign turn_gnt_o = turn_want_i && free && !(last_turn_q && req != '0);
  assign start      = req != '0 && !turn_gnt_o && turns_q == '0;

  always_comb begin
    choice  = '0;
    discard = 1'b0;
    outs    = '0;
    if (req != '0) begin
      for (int unsigned r = 0; r < CollRoutes; r++) if (gnt[r]) choice = choice | 4'(r);
      discard = drop[choice];
      if (!discard) outs = {member[choice] && front_i.mine[choice], child[1][choice], child[0][choice]};
    end
  end

  assign start_o       = start;
  assign start_route_o = choice;
  assign start_outs_o  = start ? outs[1:0] : '0;

  // ---- packet under way ---------------------------------------------------------------------
  assign route_o = route_q;
  assign read_o  = active_q;
  assign pop_o   = active_q && avail_i;
  assign finish  = pop_o && tail_i;
  assign take_o  = pop_o ? outs_q : '0;
  assign outs_o  = pop_o ? alive_q : '0;
  assign class_o = class_q;
  assign err_o   = err_q;
  assign busy_o  = active_q || req != '0 || turns_q != '0;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      active_q    <= 1'b0;
      last_turn_q <= 1'b0;
      turns_q     <= '0;
      err_q       <= '0;
    end else begin
      if (start) active_q <= 1'b1;
      else if (finish) active_q <= 1'b0;
      if (start || turn_gnt_o) last_turn_q <= turn_gnt_o;
      if (turn_gnt_o != turn_done_i) turns_q <= turn_gnt_o ? turns_q + 1'b1 : turns_q - 1'b1;
      if (err_take_i) err_q <= '0;
      if (pop_o && discard_q && head_q) begin
        err_q <= '{valid: 1'b1, reason: ErrCollRoute, where: 10'(route_q), info: words_i};
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (pop_o) head_q <= 1'b0;
    if (start) begin
      route_q   <= choice;
      outs_q    <= outs;
      alive_q   <= outs & {1'b1, up_i};
      class_q   <= front_i.cls[choice];
      discard_q <= discard;
      head_q    <= 1'b1;
    end
  end

  logic unused_front;
  assign unused_front = ^front_i.bcast;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && pop_o) begin
      Framed : assert (head_i == head_q)
      else $fatal(1, "%m: packet does not start with its head");
      Alone : assert (turns_q == '0)
      else $fatal(1, "%m: two packets on the way down");
    end
    if (rst_ni && turn_done_i) begin
      Granted : assert (turns_q != '0)
      else $fatal(1, "%m: packet turned around without a grant");
    end
  end
`endif
endmodule
