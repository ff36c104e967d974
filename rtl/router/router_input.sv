// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// One link input: its flit buffer and the choice of the virtual channel to serve. A virtual channel requests only
// when its flit can move in this cycle, so one that is blocked never stands in the way of another; system packets
// go first, then priority; then the packet that moved last goes on if it can, so that packets leave the buffer whole.
// A packet with the deposit bit moves into its output and, as a copy, into the ejection buffer at once. It starts only
// when its channel at the next input has room of its own for all of it: the copy holds the ejection buffer from head to
// tail, so it must never wait there for a link.
//
// A dynamic packet takes a dynamic channel at the minimal output with most room, if one has room for the longest
// packet; else its escape, the deterministic channel of its fixed route. In a dynamic channel it thus always ends up
// whole: no channel waits for a packet across several nodes, except for escapes, whose waits have no cycle.
//
// When the link goes down with a packet open, the packet is closed with a tail marked `err`. A packet
// without a route is discarded and reported (ErrRouteUnreachable).
module router_input
  import gyre_pkg::*;
#(
    parameter int unsigned NDim = 3,
    parameter int unsigned PortId = 0,
    parameter int unsigned FlitBytes = 16,
    parameter int unsigned PortFlits = 272,
    parameter int unsigned Patience = 2048,      // cycles, a power of two
    parameter bit          ByAge = 1'b1,         // the oldest packet first, else in turn
    localparam int unsigned P = 2 * NDim,
    localparam int unsigned FlitW = FlitBytes * 8,
    localparam int unsigned RoomW = $clog2(PortFlits + 1),
    localparam int unsigned WaitW = $clog2(Patience) + 1
) (
    input  logic                  clk_i,
    input  logic                  rst_ni,
    input  node_cfg_t             cfg_i,
    input  logic [BirthW-1:0]     now_i,         // see header_t.birth
    // From the link.
    input  logic                  rx_valid_i,
    input  logic [VcW-1:0]        rx_vc_i,
    input  flit_ctl_t             rx_ctl_i,
    input  logic [FlitW-1:0]      rx_data_i,
    input  logic                  link_down_i,
    output logic                  fault_o,       // this flit breaks the protocol; it is dropped
    output logic                  drained_o,     // no flit and no open packet
    // Flits that can move, by output and channel there; ejection by class.
    input  logic [DetVcs-1:0]     head_ok_i [P],
    input  logic [VcPerClass-1:0] whole_ok_i[P], // deterministic channels of requests: own room for a packet
    input  logic [NumVc-1:0]      body_ok_i [P],
    input  logic [DetVcs-1:0]     no_credit_i[P],
    input  logic [P-1:0]          dyn_ok_i  [DynClasses], // a dynamic channel with room for a packet
    input  logic [VcW-1:0]        dyn_vc_i  [P][DynClasses],
    input  logic [RoomW-1:0]      room_i    [P], // flits that a dynamic channel could take
    input  logic [NetClasses-1:0]    ej_head_ok_i,
    input  logic [NetClasses-1:0]    ej_body_ok_i,
    // Allocation: the flit of the virtual channel picked.
    output logic                  req_o,
    output logic [3:0]            port_o,        // its output, LocalPort or NoPort
    output logic                  copy_o,        // it is ejected as well
    output logic                  body_o,        // it goes on with a packet
    output logic                  high_o,        // of class priority or system
    output logic [BirthW-1:0]     birth_o,       // of its packet
    input  logic                  pop_i,         // it moves
    output logic [VcW-1:0]        in_vc_o,       // its virtual channel at this input
    output logic [VcW-1:0]        out_vc_o,      // and at the next
    output flit_ctl_t             ctl_o,
    output logic [FlitW-1:0]      data_o,
    output logic [P-1:0]          stall_o,       // outputs for which a flit waits for credit
    // Error, held until taken.
    output error_t                err_o,
    input  logic                  err_take_i,
    output logic                  busy_o       // a register will change, reports aside
);
  localparam int unsigned PortW = $clog2(P);

  logic [NumVc-1:0] nonempty, body, open_q;
  logic             full;
  route_t           route [NumVc];
  // Grant of the packet whose head has left.
  typedef struct packed {
    logic [3:0]     port;
    logic [VcW-1:0] vc;
  } grant_t;
  grant_t           grant_q[NumVc];
  error_t           err_q;

  // ---- write side: flits of the link, or the tail that closes a packet cut short -----------
  logic           push;
  logic [VcW-1:0] push_vc;
  flit_ctl_t      push_ctl;

  assign drained_o = (nonempty | open_q) == '0;
  assign err_o     = err_q;

  always_comb begin
    push     = 1'b0;
    fault_o  = 1'b0;
    push_vc  = '0;
    push_ctl = '0;
    if (rx_valid_i) begin
      push_vc  = rx_vc_i;
      push_ctl = rx_ctl_i;
      fault_o  = full || rx_ctl_i.head == open_q[push_vc];
      push     = !fault_o;
    end else if (link_down_i && open_q != '0) begin
      push     = !full;
      push_ctl = '{err: 1'b1, tail: 1'b1, head: 1'b0, dbg: '0};
      for (int unsigned v = NumVc; v > 0; v--) begin
        if (open_q[v-1]) push_vc = VcW'(v - 1);
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) open_q <= '0;
    else if (push) open_q[push_vc] <= !push_ctl.tail;
  end

  router_buffer #(
      .Flits    (PortFlits),
      .FlitBytes(FlitBytes),
      .NDim     (NDim),
      .PortId   (PortId)
  ) u_buffer (
      .clk_i,
      .rst_ni,
      .cfg_i,
      .push_i     (push),
      .push_vc_i  (push_vc),
      .push_ctl_i (push_ctl),
      .push_data_i(rx_data_i),  // the data of a closing tail has no meaning
      .read_i     (req_o),
      .read_vc_i  (in_vc_o),
      .pop_i,
      .ctl_o,
      .data_o,
      .nonempty_o (nonempty),
      .full_o     (full),
      .body_o     (body),
      .route_o    (route)
  );

  // ---- requests: which channels can move; discarding waits for the register of its report ----
  logic [NumVc-1:0] req, urgent, read;
  logic [BirthW-1:0] birth [NumVc];
  logic [VcW-1:0]   last_q;     // channel that moved last
  logic [NumVc-1:0] heads;
  logic [VcW-1:0]   watched_q;  // channel of a head that waits
  logic [WaitW-1:0] wait_q;     // cycles of its wait, 0 without a watched head
  logic             overdue;
  logic             keep;       // it goes on with its packet, before all others
  grant_t           grant;
  logic [1:0]       vclass;
  logic [NetClasses-1:0] ej_head_ok, ej_body_ok;
  logic [VcW-2:0]   det;        // deterministic channel of its fixed route
  logic [PortW-1:0] port;

  assign heads   = nonempty & ~body;
  assign overdue = wait_q[WaitW-1];
  assign busy_o  = nonempty != '0 || (link_down_i && open_q != '0) || wait_q != '0;
  assign ej_head_ok = NetClasses'(ej_head_ok_i);
  assign ej_body_ok = NetClasses'(ej_body_ok_i);

  always_comb begin
    req     = '0;
    keep    = 1'b0;
    stall_o = '0;
    vclass  = '0;
    det     = '0;
    port    = '0;
    grant   = '0;
    if (nonempty != '0) begin
      if (nonempty[last_q] && body[last_q] && !overdue && nonempty[DetVcs-1:DynClasses*VcPerClass] == '0) begin
        grant  = grant_q[last_q];
        port   = PortW'(grant.port);
        vclass = vc_class(last_q);
        if (grant.port == LocalPort) keep = ej_body_ok[vclass];
        else if (grant.port == NoPort) keep = 1'b1;
        else keep = body_ok_i[port][grant.vc] && (!route[last_q].deposit || ej_body_ok[vclass]);
        req[last_q] = keep;
      end
      if (!keep) begin
        // Not unrolled in simulation: most of the time few channels hold flits.
        /* verilator unroll_disable */
        for (int unsigned v = 0; v < NumVc; v++) begin
          if (nonempty[v]) begin
            vclass = vc_class(VcW'(v));
            if (body[v]) begin
              grant = grant_q[v];
              port = PortW'(grant.port);
              if (grant.port == LocalPort) req[v] = ej_body_ok[vclass];
              else if (grant.port == NoPort) req[v] = 1'b1;
              else begin
                req[v] = body_ok_i[port][grant.vc] && (!route[v].deposit || ej_body_ok[vclass]);
                if (!vc_dynamic(grant.vc) && no_credit_i[port][grant.vc[VcW-2:0]]) stall_o[port] = 1'b1;
              end
            end else begin
              port = PortW'(route[v].port);
              det  = {vclass, route[v].dateline};
              if (route[v].port == LocalPort) req[v] = ej_head_ok[vclass];
              else if (route[v].port == NoPort) req[v] = !err_q.valid;
              else if (route[v].deposit) req[v] = whole_ok_i[port][route[v].dateline] && ej_head_ok[vclass];
              else if ((route[v].minimal[P-1:0] & dyn_ok_i[vclass[0]]) != '0) req[v] = 1'b1;
              else begin
                req[v] = head_ok_i[port][det];
                if (no_credit_i[port][det]) stall_o[port] = 1'b1;
              end
            end
          end
        end
      end
    end
  end

  // A head that has waited for `Patience` cycles may find its channel free only now and then, when the input goes on
  // with another packet: two streams in step would hold it up forever. It is watched, one at a time, and then goes
  // first whenever it can.
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      wait_q    <= '0;
      watched_q <= '0;
    end else if (wait_q != '0) begin
      if (!heads[watched_q] || (pop_i && in_vc_o == watched_q)) wait_q <= '0;
      else if (!overdue) wait_q <= wait_q + 1'b1;
    end else if (keep && heads != '0) begin
      wait_q <= WaitW'(1);
      for (int unsigned v = 0; v < NumVc; v++) if (heads[v]) watched_q <= VcW'(v);
      // In turn.
      for (int unsigned v = 0; v < NumVc; v++) if (heads[v] && VcW'(v) < watched_q) watched_q <= VcW'(v);
    end
  end

  always_comb begin
    urgent = keep ? '0 : req;
    if (overdue && urgent != '0 && urgent[7:4] == '0) begin
      if (req[watched_q]) urgent = NumVc'(1) << watched_q;
      else if (req[last_q] && body[last_q]) urgent = NumVc'(1) << last_q;
    end
    if (urgent[7:4] != '0) urgent = (req[7:6] != '0) ? {8'b0, req[7:6], 6'b0} : {10'b0, req[5:4], 4'b0};
  end

  for (genvar v = 0; v < int'(NumVc); v++) begin : gen_birth
    assign birth[v] = route[v].birth;
  end

  age_arbiter #(
      .N     (NumVc),
      .StampW(BirthW),
      .ByAge (ByAge)
  ) u_arbiter (
      .clk_i,
      .rst_ni,
      .req_i    (urgent),
      .birth_i  (birth),
      .now_i,
      .advance_i(pop_i),
      .gnt_o    (read)
  );

  // ---- the channel picked, and its grant ------------------------------------------------------
  logic [P-1:0]     choice;
  logic [1:0]       req_class;
  logic [RoomW-1:0] most;

  always_comb begin
    req_o    = req != '0;
    in_vc_o  = '0;
    port_o   = '0;
    out_vc_o = '0;
    copy_o   = 1'b0;
    body_o   = 1'b0;
    high_o   = 1'b0;
    birth_o  = '0;
    choice   = '0;
    req_class = '0;
    most     = '0;
    if (req_o) begin
      if (keep) in_vc_o = last_q;
      else begin
        for (int unsigned v = 0; v < NumVc; v++) if (read[v]) in_vc_o = in_vc_o | VcW'(v);
      end
      copy_o = route[in_vc_o].deposit;
      body_o = body[in_vc_o];
      req_class = vc_class(in_vc_o);
      high_o = req_class > ClassResponse;
      birth_o = route[in_vc_o].birth;
      if (body[in_vc_o]) begin
        port_o   = grant_q[in_vc_o].port;
        out_vc_o = grant_q[in_vc_o].vc;
      end else begin
        port_o   = route[in_vc_o].port;
        out_vc_o = det_vc(req_class, route[in_vc_o].dateline);
        if (route[in_vc_o].minimal != '0 && route[in_vc_o].port < NoPort)
          choice = route[in_vc_o].minimal[P-1:0] & dyn_ok_i[req_class[0]];
        if (choice != '0) begin
          for (int unsigned p = 0; p < P; p++) begin
            if (choice[p] && room_i[p] >= most) begin
              most     = room_i[p];
              port_o   = 4'(p);
              out_vc_o = dyn_vc_i[p][req_class[0]];
            end
          end
        end
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (pop_i && ctl_o.head) grant_q[in_vc_o] <= '{port: port_o, vc: out_vc_o};
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      last_q <= '0;
      err_q  <= '0;
    end else begin
      if (pop_i) last_q <= in_vc_o;
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
