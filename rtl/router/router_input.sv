// Buffers of one link input: a queue a virtual channel, the route of each packet computed when its head
// is written. A virtual channel requests only when its flit can move in this cycle, so one that is
// blocked never stands in the way of another.
//
// When the link goes down with a packet open, the packet is closed with a tail marked `err`. A packet
// without a route is discarded and reported (ErrRouteUnreachable).
module router_input
  import gyre_pkg::*;
#(
    parameter int unsigned NDim = 3,
    parameter int unsigned PortId = 0,
    parameter int unsigned FlitBytes = 16,
    parameter int unsigned VcDepth = 64,
    localparam int unsigned P = 2 * NDim,
    localparam int unsigned FlitW = FlitBytes * 8
) (
    input  logic                              clk_i,
    input  logic                              rst_ni,
    input  node_cfg_t                         cfg_i,
    // From the link.
    input  logic                              rx_valid_i,
    input  logic [VcW-1:0]                    rx_vc_i,
    input  flit_ctl_t                         rx_ctl_i,
    input  logic [FlitW-1:0]                  rx_data_i,
    input  logic                              link_down_i,
    output logic                              fault_o,    // this flit breaks the protocol; it is dropped
    output logic                              drained_o,  // no flit and no open packet
    // What can move: bit {port, VC}, see router_output; ejection and discarding are per input.
    input  logic [P*NumVc-1:0]                head_ok_i,
    input  logic [P*NumVc-1:0]                body_ok_i,
    input  logic [P*NumVc-1:0]                no_credit_i,
    input  logic [NumVc-1:0]                  ej_head_ok_i,
    input  logic [NumVc-1:0]                  ej_body_ok_i,
    // Allocation.
    output logic [NumVc-1:0]                  req_o,      // virtual channels whose flit can move
    output logic [NumVc-1:0][3:0]             port_o,     // output port of each
    output logic [P-1:0]                      stall_o,    // outputs for which a flit waits for credit
    input  logic [NumVc-1:0]                  read_i,     // one-hot: virtual channel picked
    input  logic                              pop_i,      // its flit moves
    output logic [1:0]                        in_vc_o,    // virtual channel read, at this input
    output logic [1:0]                        out_vc_o,   // and at the next
    output flit_ctl_t                         ctl_o,
    output logic [FlitW-1:0]                  data_o,
    // Error, held until taken.
    output error_t                            err_o,
    input  logic                              err_take_i,
    output logic                              busy_o
);
  typedef struct packed {
    logic [3:0] port;     // LocalPort: eject, NoPort: discard
    logic       dateline;
  } route_t;

  localparam int unsigned TableW = 16 * NumVc; // port numbers 0..15

  logic [NumVc-1:0] nonempty, full, body, open_q;
  route_t [NumVc-1:0] route;
  error_t err_q;

  // ---- write side: flits of the link, or the tail that closes a packet cut short -----------
  logic        push, poison;
  logic [1:0]  push_vc;
  flit_ctl_t   push_ctl;
  route_t      push_route;

  assign drained_o = nonempty == '0 && open_q == '0;
  assign busy_o    = nonempty != '0 || (link_down_i && open_q != '0) || err_q.valid;
  assign err_o     = err_q;

  always_comb begin
    push       = 1'b0;
    poison     = 1'b0;
    fault_o    = 1'b0;
    push_vc    = rx_vc_i[1:0];
    push_ctl   = rx_ctl_i;
    push_route = '0;
    if (rx_valid_i) begin
      fault_o = rx_vc_i[VcW-1] || full[push_vc] || rx_ctl_i.head == open_q[push_vc];
      push    = !fault_o;
      if (rx_ctl_i.head) begin
        push_route.port = route_port(cfg_i, rx_data_i[5*CoordW-1:0], 4'(PortId));
        if (push_route.port != LocalPort) begin
          if (push_route.port >= 4'(P)) push_route.port = NoPort;
          push_route.dateline = route_dateline(cfg_i, rx_data_i[5*CoordW-1:0], 4'(PortId), push_vc[0],
                                               push_route.port);
        end
      end
    end else if (link_down_i && (open_q & ~full) != '0) begin
      push     = 1'b1;
      poison   = 1'b1;
      push_vc  = '0;
      push_ctl = '{err: 1'b1, tail: 1'b1, head: 1'b0, dbg: '0};
      for (int unsigned v = NumVc; v > 0; v--) begin
        if (open_q[v-1] && !full[v-1]) push_vc = 2'(v - 1);
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) open_q <= '0;
    else if (push) open_q[push_vc] <= !push_ctl.tail;
  end

  vc_buffer #(
      .NumQueues(NumVc),
      .Depth    (VcDepth),
      .DataW    (FlitW),
      .MetaW    ($bits(route_t))
  ) u_buffer (
      .clk_i,
      .rst_ni,
      .push_i      (push),
      .push_queue_i(push_vc),
      .push_ctl_i  (push_ctl),
      .push_data_i (poison ? '0 : rx_data_i),
      .push_meta_i (push_route),
      .read_i,
      .pop_i,
      .ctl_o,
      .data_o,
      .nonempty_o  (nonempty),
      .full_o      (full),
      .body_o      (body),
      .meta_o      (route)
  );

  // ---- requests -----------------------------------------------------------------------------
  // Tables by {port, VC at the next input}; discarding waits for the register of its report.
  logic [TableW-1:0] head_ok, body_ok, no_credit;
  logic [5:0]        index;

  always_comb begin
    head_ok   = '0;
    body_ok   = '0;
    no_credit = '0;
    index     = '0;
    req_o     = '0;
    stall_o   = '0;
    port_o    = '0;
    if (nonempty != '0) begin
      head_ok[P*NumVc-1:0]              = head_ok_i;
      body_ok[P*NumVc-1:0]              = body_ok_i;
      no_credit[P*NumVc-1:0]            = no_credit_i;
      head_ok[32'(NoPort)*NumVc+:NumVc] = {NumVc{!err_q.valid}};
      body_ok[32'(NoPort)*NumVc+:NumVc] = '1;
      for (int unsigned v = 0; v < NumVc; v++) begin
        port_o[v] = route[v].port;
        if (nonempty[v]) begin
          index = {route[v].port, 1'(v >> 1), route[v].dateline};
          if (route[v].port == LocalPort) req_o[v] = body[v] ? ej_body_ok_i[v] : ej_head_ok_i[v];
          else req_o[v] = body[v] ? body_ok[index] : head_ok[index];
          if (no_credit[index]) stall_o[$clog2(P)'(route[v].port)] = 1'b1;
        end
      end
    end
  end

  always_comb begin
    in_vc_o  = '0;
    out_vc_o = '0;
    if (read_i != '0) begin
      for (int unsigned v = 0; v < NumVc; v++) begin
        if (read_i[v]) begin
          in_vc_o  = in_vc_o | 2'(v);
          out_vc_o = out_vc_o | {1'(v >> 1), route[v].dateline};
        end
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      err_q <= '0;
    end else begin
      if (err_take_i) err_q <= '0;
      if (pop_i && ctl_o.head && port_o[in_vc_o] == NoPort) begin
        err_q <= '{valid: 1'b1, reason: ErrRouteUnreachable, where: 10'(PortId), info: data_o[63:0]};
      end
    end
  end

`ifndef SYNTHESIS
  NoUTurn : assert property (@(posedge clk_i) disable iff (!rst_ni)
      push && push_ctl.head |-> push_route.port != 4'(PortId))
  else $fatal(1, "%m: route back through the port of arrival");
  ReadRequested : assert property (@(posedge clk_i) disable iff (!rst_ni) (read_i & ~req_o) == '0)
  else $fatal(1, "%m: flit picked that cannot move");
`endif
endmodule
