// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Injection buffer of one path: a queue a class for packets that leave by output `PortId` only, system packets
// first, then priority. A request or response starts only while the next input has plenty of room, so that sources
// leave room to packets in transit and the network does not clog. After `Patience` cycles it takes any
// room, and dynamic packets of its class in transit leave it this output. A dynamic packet that has waited for
// `HoldAfter` cycles also gets the room that deterministic channels and dynamic packets of the other class in transit share
// (`hold_o`): else these could keep the room for a whole packet from it forever, since a request needs twice the free room of
// one of them. They still have their own deterministic channels, so they do not wait for it. Bounded: from then on
// no other packet gets shared room at this output, so it starts when the next input has forwarded its flits.
// The sender keeps the credits, one for each flit of buffer, and
// `inj_credit_o` returns them.
module router_inject
  import gyre_pkg::*;
#(
    parameter int unsigned PortId = 0,
    parameter int unsigned FlitBytes = 16,
    parameter int unsigned InjDepth = 136,
    parameter int unsigned Patience = 128,   // cycles, a power of two
    parameter int unsigned HoldAfter = 256,  // cycles, a power of two above Patience
    localparam int unsigned FlitW = FlitBytes * 8,
    localparam int unsigned ClassW = $clog2(NetClasses),
    localparam int unsigned WaitW = $clog2(HoldAfter) + 1
) (
    input  logic                  clk_i,
    input  logic                  rst_ni,
    input  node_cfg_t             cfg_i,
    input  logic [BirthW-1:0]     now_i,     // see header_t.birth
    input  logic                  inj_valid_i,
    input  logic [ClassW-1:0]     inj_class_i,
    input  flit_ctl_t             inj_ctl_i,
    input  logic [FlitW-1:0]      inj_data_i,
    output logic [NetClasses-1:0] inj_credit_o,
    // Flits that can move at output `PortId`, by virtual channel.
    input  logic [DetVcs-1:0]     head_ok_i,
    input  logic [NumVc-1:0]      body_ok_i,
    input  logic [DetVcs-1:0]     no_credit_i,
    input  logic [DynClasses-1:0] dyn_head_ok_i,
    input  logic [DynClasses-1:0] plenty_i,    // of room, by class
    input  logic [VcW-1:0]        dyn_vc_i [DynClasses],
    // Allocation: the flit of the class picked.
    output logic                  req_o,
    input  logic                  pop_i,     // it moves
    output logic [VcW-1:0]        out_vc_o,
    output flit_ctl_t             ctl_o,
    output logic [FlitW-1:0]      data_o,
    output logic                  body_o,    // it goes on with a packet
    output logic                  high_o,    // of class priority or system
    output logic [BirthW-1:0]     birth_o,   // of its packet
    output logic [DynClasses-1:0] urgent_o,  // a packet has waited long enough
    output logic                  hold_o,    // and a dynamic one so long that others are to leave it room
    output logic                  stall_o,   // a flit waits for credit
    output logic                  busy_o
);
  logic [NetClasses-1:0] nonempty, body, req, urgent, read, last_q, credit_q;
  logic [DynClasses-1:0][WaitW-1:0] wait_q;
  route_t                route [NetClasses];
  logic [VcW-1:0]        grant_q [NetClasses]; // channel of the packet whose head has left
  logic [1:0]            class_read;
  logic [NetClasses-1:0] full;
  logic [VcW-1:0]        vc;

  assign inj_credit_o = credit_q;
  assign busy_o       = (nonempty | credit_q) != '0 || wait_q != '0;

  logic [DynClasses-1:0] hold;
  assign hold_o     = hold != '0;

  inject_buffer #(
      .NumQueues(NetClasses),
      .Depth    (InjDepth),
      .FlitBytes(FlitBytes),
      .PortId   (PortId)
  ) u_buffer (
      .clk_i,
      .rst_ni,
      .cfg_i,
      .now_i,
      .push_i      (inj_valid_i),
      .push_queue_i(inj_class_i),
      .push_ctl_i  (inj_ctl_i),
      .push_data_i (inj_data_i),
      .read_i      (read),
      .pop_i,
      .queue_o     (class_read),
      .ctl_o,
      .data_o,
      .nonempty_o  (nonempty),
      .full_o      (full),
      .body_o      (body),
      .route_o     (route)
  );

  always_comb begin
    req     = '0;
    urgent  = '0;
    stall_o = 1'b0;
    vc      = '0;
    if (nonempty != '0) begin
      for (int unsigned c = 0; c < NetClasses; c++) begin
        if (nonempty[c]) begin
          vc = body[c] ? grant_q[c] : det_vc(2'(c), route[c].dateline);
          if (body[c]) req[c] = body_ok_i[vc];
          else if (c < DynClasses && !plenty_i[c[0]] && !urgent_o[c[0]]) req[c] = 1'b0;
          else if (route[c].minimal != '0) req[c] = dyn_head_ok_i[c[0]];
          else req[c] = head_ok_i[vc[VcW-2:0]];
          if (!vc_dynamic(vc) && no_credit_i[vc[VcW-2:0]]) stall_o = !req[c];
        end
      end
      // A head that has waited long may find its channel free only now and then.
      urgent = req & ~body & NetClasses'(urgent_o);
      if (urgent == '0) urgent = ((req & body & last_q) != '0) ? last_q : req;
      if (req[3:2] != '0) urgent = req[3] ? 4'b1000 : 4'b0100;
    end
  end

  rr_arbiter #(
      .N(NetClasses)
  ) u_arbiter (
      .clk_i,
      .rst_ni,
      .req_i    (urgent),
      .advance_i(pop_i),
      .gnt_o    (read)
  );

  assign req_o = req != '0;
  always_comb begin
    out_vc_o = '0;
    body_o   = 1'b0;
    high_o   = 1'b0;
    birth_o  = '0;
    if (req_o) begin
      body_o  = body[class_read];
      high_o  = class_read > ClassResponse;
      birth_o = route[class_read].birth;
      if (body_o) out_vc_o = grant_q[class_read];
      else if (route[class_read].minimal != '0) out_vc_o = dyn_vc_i[class_read[0]];
      else out_vc_o = det_vc(class_read, route[class_read].dateline);
    end
  end

  always_ff @(posedge clk_i) begin
    if (pop_i && ctl_o.head) grant_q[class_read] <= out_vc_o;
  end

  for (genvar c = 0; c < int'(DynClasses); c++) begin : gen_wait
    assign urgent_o[c] = wait_q[c][WaitW-1:$clog2(Patience)] != '0;
    assign hold[c]     = wait_q[c][WaitW-1] && route[c].minimal != '0;
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) wait_q[c] <= '0;
      else if (nonempty[c] || wait_q[c] != '0) begin
        if (!nonempty[c] || body[c] || (pop_i && read[c])) wait_q[c] <= '0;
        else if (!wait_q[c][WaitW-1]) wait_q[c] <= wait_q[c] + 1'b1;
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) last_q <= '0;
    else if (pop_i) last_q <= read;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) credit_q <= '0;
    else if (pop_i || credit_q != '0) credit_q <= pop_i ? read : '0;
  end

  // The sender keeps the credits.
  logic unused_full;
  assign unused_full = ^full;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && pop_i) begin
      Asked : assert ($onehot(read) && (read & req) != '0)
      else $fatal(1, "%m: flit of a class that cannot move");
      Follows : assert (ctl_o.head == !body[class_read])
      else $fatal(1, "%m: packet does not start with its head");
    end
  end
`endif
endmodule
