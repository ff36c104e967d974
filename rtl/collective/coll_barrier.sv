// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Barriers of a node (HW-5): one-cycle pulses on the barrier wires of the tree, bit r = barrier route r. When
// every input of a route has arrived (children in the route, this node if it is a member), a pulse goes on to
// the parent; the root of the route releases all at once, with pulses to the children and, at members, `done_o`. A
// hop takes exactly two cycles beyond the link latency, as on the torus: input register, arrivals, output register.
//
// Arrivals count only while the link is up. An arrival on a route without this input, or a second one before
// the release, is not counted but reported (ErrCollBarrier, `info` = routes), as is a pulse for a link that
// is down. A route that is not valid forgets its arrivals. The parity of the tree's link word covers the pulses beside
// it: the pulses of a word that fails it are ignored, and the link falls and reports it. A route that lacks a pulse
// does not complete until software has set it up again.
module coll_barrier
  import gyre_pkg::*;
(
    input  logic                         clk_i,
    input  logic                         rst_ni,
    input  coll_route_t [CollRoutes-1:0] route_i,
    input  logic [CollPorts-1:0]         up_i,        // link p: pulses may be sent
    input  logic [CollPorts-1:0]         down_i,      // link p: nothing counts
    input  logic [CollPorts-1:0]         bad_i,       // link p: the pulses of the last cycle have no meaning
    // Wires of the tree ports: 0 parent, 1 and 2 children.
    input  logic [CollRoutes-1:0]        bar_i [CollPorts],
    output logic [CollRoutes-1:0]        bar_o [CollPorts],
    // This node.
    input  logic [CollRoutes-1:0]        enter_i,     // pulse
    output logic [CollRoutes-1:0]        done_o,      // pulse
    // Error, held until taken.
    output error_t                       err_o,
    input  logic                         err_take_i,
    output logic                         busy_o       // a register will change, reports aside
);
  typedef logic [CollRoutes-1:0] mask_t;

  mask_t in_q      [CollPorts], in [CollPorts];
  mask_t arrived_q [CollPorts];   // inputs in order: this node, children
  mask_t fresh_q;                 // an input arrived in the last cycle
  mask_t free_q;                  // the parent let go in the last cycle
  mask_t waiting_q;               // all are here, the release is outstanding
  mask_t out_q     [CollPorts];
  mask_t done_q;
  mask_t bad_q;                   // routes to be reported

  mask_t valid, parent, member, child [2], part [CollPorts], kept;
  mask_t arrival [CollPorts], fresh, free, complete, release_all, out [CollPorts], done, bad;
  logic  incoming, moving;

  for (genvar p = 0; p < int'(CollPorts); p++) begin : gen_in
    assign in[p] = bad_i[p] ? '0 : in_q[p];
  end
  assign incoming = (in_q[0] | in_q[1] | in_q[2] | enter_i) != '0;
  assign moving   = (fresh_q | free_q) != '0;
  assign kept     = arrived_q[0] | arrived_q[1] | arrived_q[2] | waiting_q;

  always_comb begin
    valid  = '0;
    parent = '0;
    member = '0;
    child  = '{default: '0};
    part   = '{default: '0};
    if (incoming || moving || kept != '0) begin
      for (int unsigned r = 0; r < CollRoutes; r++) valid[r] = route_i[r].valid;
    end
    if (incoming || moving) begin
      for (int unsigned r = 0; r < CollRoutes; r++) begin
        parent[r]   = route_i[r].valid && route_i[r].parent;
        member[r]   = route_i[r].valid && route_i[r].member;
        child[0][r] = route_i[r].valid && route_i[r].child0;
        child[1][r] = route_i[r].valid && route_i[r].child1;
      end
      part = '{member, child[0], child[1]};
    end
  end

  always_comb begin
    arrival = '{default: '0};
    fresh   = '0;
    free    = '0;
    bad     = '0;
    if (incoming) begin
      arrival = '{enter_i, in[1], in[2]};
      free    = in[0] & parent & waiting_q & ~free_q;
      bad     = in[0] & ~free;
      for (int unsigned i = 0; i < CollPorts; i++) begin
        bad        = bad | (arrival[i] & ~(part[i] & ~arrived_q[i] & ~waiting_q));
        arrival[i] = arrival[i] & part[i] & ~arrived_q[i] & ~waiting_q;
        fresh      = fresh | arrival[i];
      end
    end
    complete    = '0;
    release_all = '0;
    out         = '{default: '0};
    done        = '0;
    if (moving) begin
      complete = fresh_q & valid;
      for (int unsigned i = 0; i < CollPorts; i++) complete = complete & (~part[i] | arrived_q[i]);
      release_all = (complete & ~parent) | free_q;
      out  = '{complete & parent, release_all & child[0], release_all & child[1]};
      done = release_all & member;
      for (int unsigned p = 0; p < CollPorts; p++) if (!up_i[p]) bad = bad | out[p];
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      in_q      <= '{default: '0};
      arrived_q <= '{default: '0};
      fresh_q   <= '0;
      free_q    <= '0;
      waiting_q <= '0;
      out_q     <= '{default: '0};
      done_q    <= '0;
      bad_q     <= '0;
    end else begin
      for (int unsigned p = 0; p < CollPorts; p++) begin
        if ((bar_i[p] | in_q[p]) != '0) in_q[p] <= down_i[p] ? '0 : bar_i[p];
        if ((out[p] | out_q[p]) != '0) out_q[p] <= up_i[p] ? out[p] : '0;
      end
      if ((done | done_q) != '0) done_q <= done;
      if (incoming || moving || (kept & ~valid) != '0) begin
        for (int unsigned i = 0; i < CollPorts; i++) begin
          arrived_q[i] <= (arrived_q[i] | arrival[i]) & ~complete & valid;
        end
        fresh_q   <= fresh;
        free_q    <= free;
        waiting_q <= (waiting_q | (complete & parent)) & ~free_q & valid;
      end
      if (err_take_i || bad != '0) bad_q <= (err_take_i ? '0 : bad_q) | bad;
    end
  end

  assign bar_o  = out_q;
  assign done_o = done_q;
  assign busy_o = moving || (in_q[0] | in_q[1] | in_q[2] | out_q[0] | out_q[1] | out_q[2] | done_q) != '0 ||
                  (kept & ~valid) != '0;

  always_comb begin
    err_o = '0;
    if (bad_q != '0) begin
      err_o.valid  = 1'b1;
      err_o.reason = ErrCollBarrier;
      err_o.info   = 64'(bad_q);
      for (int unsigned r = CollRoutes; r > 0; r--) if (bad_q[r-1]) err_o.where = 10'(r - 1);
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && complete != '0) begin
      CompleteWhole : assert ((complete & ((part[0] & ~arrived_q[0]) | (part[1] & ~arrived_q[1]) |
                                           (part[2] & ~arrived_q[2]))) == '0)
      else $fatal(1, "%m: barrier complete with an input missing");
      ReleaseOnce : assert ((complete & waiting_q) == '0)
      else $fatal(1, "%m: barrier complete twice");
    end
  end
`endif
endmodule
