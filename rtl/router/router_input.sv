// One link input: a queue a virtual channel and the choice of the virtual channel to serve. A virtual
// channel requests only when its flit can move in this cycle, so one that is blocked never stands in the
// way of another. A packet with the deposit bit moves into its output and, as a copy, into the ejection
// buffer at once. It starts only when the next input has room for all of it: the copy holds the ejection
// buffer from head to tail, so it must never wait there for a link.
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
    input  logic                  clk_i,
    input  logic                  rst_ni,
    input  node_cfg_t             cfg_i,
    // From the link.
    input  logic                  rx_valid_i,
    input  logic [VcW-1:0]        rx_vc_i,
    input  flit_ctl_t             rx_ctl_i,
    input  logic [FlitW-1:0]      rx_data_i,
    input  logic                  link_down_i,
    output logic                  fault_o,       // this flit breaks the protocol; it is dropped
    output logic                  drained_o,     // no flit and no open packet
    // What can move, by output and virtual channel there; ejection by class.
    input  logic [P*NumVc-1:0]    head_ok_i,
    input  logic [P*NumVc-1:0]    whole_ok_i,    // head_ok_i, and room for the longest packet
    input  logic [P*NumVc-1:0]    body_ok_i,
    input  logic [P*NumVc-1:0]    no_credit_i,
    input  logic [NumClasses-1:0] ej_head_ok_i,
    input  logic [NumClasses-1:0] ej_body_ok_i,
    // Allocation: the flit of the virtual channel picked.
    output logic                  req_o,
    output logic [3:0]            port_o,        // its output, LocalPort or NoPort
    output logic                  copy_o,        // it is ejected as well
    input  logic                  pop_i,         // it moves
    output logic [1:0]            in_vc_o,       // its virtual channel at this input
    output logic [1:0]            out_vc_o,      // and at the next
    output flit_ctl_t             ctl_o,
    output logic [FlitW-1:0]      data_o,
    output logic [P-1:0]          stall_o,       // outputs for which a flit waits for credit
    // Error, held until taken.
    output error_t                err_o,
    input  logic                  err_take_i,
    output logic                  busy_o
);
  localparam int unsigned TableW = 16 * NumVc; // port numbers 0..15

  logic [NumVc-1:0]      nonempty, full, body, dateline, deposit, open_q;
  logic [NumVc-1:0][3:0] port;
  error_t                err_q;

  // ---- write side: flits of the link, or the tail that closes a packet cut short -----------
  logic             push;
  logic [1:0]       push_vc;
  flit_ctl_t        push_ctl;
  logic [NumVc-1:0] closing;

  assign drained_o = (nonempty | open_q) == '0;
  assign busy_o    = nonempty != '0 || (link_down_i && open_q != '0) || err_q.valid;
  assign err_o     = err_q;

  always_comb begin
    push     = 1'b0;
    fault_o  = 1'b0;
    push_vc  = '0;
    push_ctl = '0;
    closing  = '0;
    if (rx_valid_i) begin
      push_vc  = rx_vc_i[1:0];
      push_ctl = rx_ctl_i;
      fault_o  = rx_vc_i >= VcW'(NumVc) || full[push_vc] || rx_ctl_i.head == open_q[push_vc];
      push     = !fault_o;
    end else if (link_down_i && open_q != '0) begin
      closing  = open_q & ~full;
      push     = closing != '0;
      push_ctl = '{err: 1'b1, tail: 1'b1, head: 1'b0, dbg: '0};
      for (int unsigned v = NumVc; v > 0; v--) begin
        if (closing[v-1]) push_vc = 2'(v - 1);
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) open_q <= '0;
    else if (push) open_q[push_vc] <= !push_ctl.tail;
  end

  logic [NumVc-1:0] req, read;

  vc_buffer #(
      .NumQueues(NumVc),
      .Depth    (VcDepth),
      .FlitBytes(FlitBytes),
      .NDim     (NDim),
      .PortId   (PortId),
      .Deposit  (deposit_fits(FlitBytes, VcDepth))
  ) u_buffer (
      .clk_i,
      .rst_ni,
      .cfg_i,
      .push_i      (push),
      .push_queue_i(push_vc),
      .push_ctl_i  (push_ctl),
      .push_data_i (rx_data_i),  // the data of a closing tail has no meaning
      .read_i      (read),
      .pop_i,
      .queue_o     (in_vc_o),
      .ctl_o,
      .data_o,
      .nonempty_o  (nonempty),
      .full_o      (full),
      .body_o      (body),
      .port_o      (port),
      .dateline_o  (dateline),
      .deposit_o   (deposit)
  );

  // ---- requests -----------------------------------------------------------------------------
  // Tables by {port, virtual channel there}; discarding waits for the register of its report.
  logic [TableW-1:0] head_ok, whole_ok, body_ok, no_credit;
  logic [5:0]        index;

  always_comb begin
    head_ok   = '0;
    whole_ok  = '0;
    body_ok   = '0;
    no_credit = '0;
    index     = '0;
    req       = '0;
    stall_o   = '0;
    if (nonempty != '0) begin
      head_ok[P*NumVc-1:0]              = head_ok_i;
      whole_ok[P*NumVc-1:0]             = whole_ok_i;
      body_ok[P*NumVc-1:0]              = body_ok_i;
      no_credit[P*NumVc-1:0]            = no_credit_i;
      head_ok[32'(NoPort)*NumVc+:NumVc] = {NumVc{!err_q.valid}};
      body_ok[32'(NoPort)*NumVc+:NumVc] = '1;
      for (int unsigned v = 0; v < NumVc; v++) begin
        if (nonempty[v]) begin
          index = {port[v], 1'(v >> 1), dateline[v]};
          if (port[v] == LocalPort) req[v] = body[v] ? ej_body_ok_i[v>>1] : ej_head_ok_i[v>>1];
          else if (deposit[v])
            req[v] = body[v] ? body_ok[index] && ej_body_ok_i[v>>1] : whole_ok[index] && ej_head_ok_i[v>>1];
          else req[v] = body[v] ? body_ok[index] : head_ok[index];
          if (no_credit[index]) stall_o[$clog2(P)'(port[v])] = 1'b1;
        end
      end
    end
  end

  rr_arbiter #(
      .N(NumVc)
  ) u_arbiter (
      .clk_i,
      .rst_ni,
      .req_i    (req),
      .advance_i(pop_i),
      .gnt_o    (read)
  );

  always_comb begin
    req_o    = req != '0;
    port_o   = '0;
    out_vc_o = '0;
    copy_o   = 1'b0;
    if (req_o) begin
      copy_o   = deposit[in_vc_o];
      port_o   = port[in_vc_o];
      out_vc_o = {in_vc_o[1], dateline[in_vc_o]};
    end
  end

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
