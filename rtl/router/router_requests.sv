// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Virtual channels of a link input whose flit can move in this cycle, and of these the ones that go first: system packets,
// then priority, then a head that is overdue (router_patience). The packet that moved last goes on before all others if it
// can (`keep_o`); then no other channel is looked at.
module router_requests
  import gyre_pkg::*;
#(
    parameter int unsigned NDim = 3,
    parameter int unsigned Patience = 2048,      // cycles, a power of two
    localparam int unsigned P = 2 * NDim
) (
    input  logic                  clk_i,
    input  logic                  rst_ni,
    // Packet at the front of each channel.
    input  logic [NumVc-1:0]      nonempty_i,
    input  logic [NumVc-1:0]      body_i,        // its head has left
    input  route_t                route_i [NumVc],
    input  logic [NumVc-1:0]      dynamic_i,     // by the dynamic channel `lane_i`
    input  lane_t                 lane_i  [NumVc],
    input  last_t                 last_i,        // flit that moved last
    input  logic                  discard_i,     // a packet without a route may be discarded
    // Flits that can move, by output and channel there; ejection by class.
    input  logic [DetVcs-1:0]     head_ok_i [P],
    input  logic [VcPerClass-1:0] whole_ok_i[P],
    input  logic [NumVc-1:0]      body_ok_i [P],
    input  logic [DetVcs-1:0]     no_credit_i[P],
    input  logic [P-1:0]          dyn_ok_i  [DynClasses],
    input  logic [NetClasses-1:0] ej_head_ok_i,
    input  logic [NetClasses-1:0] ej_body_ok_i,
    // Flit that moves.
    input  logic                  pop_i,
    input  logic [VcW-1:0]        vc_i,          // its channel
    output logic                  keep_o,        // the packet that moved last goes on; the next two are zero
    output logic [NumVc-1:0]      req_o,         // channels whose flit can move
    output logic [NumVc-1:0]      urgent_o,      // those that go first
    output logic [P-1:0]          stall_o,       // outputs for which a flit waits for credit
    output logic                  waiting_o      // a head is watched
);
  localparam int unsigned PortW = $clog2(P);

  logic [1:0]       vclass;
  logic [VcW-2:0]   det;        // deterministic channel of the fixed route
  logic [PortW-1:0] port;
  logic             waits;      // for credit, if there is none
  logic [VcW-1:0]   watched;    // channel of a head that waits
  logic             overdue;

  // Nothing is computed for an input without flits.
  always_comb begin
    keep_o   = 1'b0;
    req_o    = '0;
    urgent_o = '0;
    stall_o  = '0;
    vclass   = '0;
    det      = '0;
    port     = '0;
    waits    = 1'b0;
    if (nonempty_i != '0) begin
      if (last_i.body && nonempty_i[last_i.vc] && !overdue && nonempty_i[DetVcs-1:DynClasses*VcPerClass] == '0) begin
        if (last_i.port == LocalPort) keep_o = ej_body_ok_i[vc_class(last_i.vc)];
        else if (last_i.port == NoPort) keep_o = 1'b1;
        else keep_o = body_ok_i[PortW'(last_i.port)][last_i.out_vc] && (!last_i.copy || ej_body_ok_i[vc_class(last_i.vc)]);
      end
      if (!keep_o) begin
        // Not unrolled in simulation: most of the time few channels hold flits.
        /* verilator unroll_disable */
        for (int unsigned v = 0; v < NumVc; v++) begin
          if (nonempty_i[v]) begin
            vclass = vc_class(VcW'(v));
            if (body_i[v] && dynamic_i[v]) begin
              req_o[v] = body_ok_i[PortW'(lane_i[v].port)][dyn_vc(vclass[0], lane_i[v].lane)];
            end else begin
              port  = PortW'(route_i[v].port);
              det   = {vclass, route_i[v].dateline};
              waits = 1'b0;
              if (route_i[v].port == LocalPort) req_o[v] = body_i[v] ? ej_body_ok_i[vclass] : ej_head_ok_i[vclass];
              else if (route_i[v].port == NoPort) req_o[v] = body_i[v] || discard_i;
              else if (body_i[v]) begin
                req_o[v] = body_ok_i[port][{1'b0, det}] && (!route_i[v].deposit || ej_body_ok_i[vclass]);
                waits    = 1'b1;
              end else if (route_i[v].deposit) req_o[v] = whole_ok_i[port][route_i[v].dateline] && ej_head_ok_i[vclass];
              else if ((route_i[v].minimal[P-1:0] & dyn_ok_i[vclass[0]]) != '0) req_o[v] = 1'b1;
              else begin
                req_o[v] = head_ok_i[port][det];
                waits    = 1'b1;
              end
              if (waits && no_credit_i[port][det]) stall_o = stall_o | (P'(1) << port);
            end
          end
        end
        urgent_o = req_o;
        if (req_o[7:4] != '0) urgent_o = (req_o[7:6] != '0) ? {8'b0, req_o[7:6], 6'b0} : {10'b0, req_o[5:4], 4'b0};
        else if (overdue && req_o != '0) begin
          if (req_o[watched]) urgent_o = NumVc'(1) << watched;
          else if (req_o[last_i.vc] && last_i.body) urgent_o = NumVc'(1) << last_i.vc;
        end
      end
    end
  end

  router_patience #(
      .Patience(Patience)
  ) u_patience (
      .clk_i,
      .rst_ni,
      .heads_i  (nonempty_i & ~body_i),
      .start_i  (keep_o),
      .pop_i,
      .vc_i,
      .waiting_o,
      .overdue_o(overdue),
      .vc_o     (watched)
  );

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && urgent_o != req_o) begin
      UrgentRequests : assert ((urgent_o & ~req_o) == '0 && urgent_o != '0)
      else $fatal(1, "%m: a channel goes first that cannot move");
    end
  end
`endif
endmodule
