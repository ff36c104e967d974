// Injection buffer of one path: a queue a class for packets that leave by output `PortId` only, system packets
// first, then priority. A dynamic packet takes a dynamic channel or, if its fixed route begins here, its escape. The sender
// keeps the credits, one for each flit of buffer, and `inj_credit_o` returns them.
module router_inject
  import gyre_pkg::*;
#(
    parameter int unsigned PortId = 0,
    parameter int unsigned FlitBytes = 16,
    parameter int unsigned InjDepth = 136,
    localparam int unsigned FlitW = FlitBytes * 8
) (
    input  logic                  clk_i,
    input  logic                  rst_ni,
    input  node_cfg_t             cfg_i,
    input  logic                  inj_valid_i,
    input  logic [1:0]            inj_class_i,
    input  flit_ctl_t             inj_ctl_i,
    input  logic [FlitW-1:0]      inj_data_i,
    output logic [NetClasses-1:0] inj_credit_o,
    // What can move at output `PortId`, by virtual channel.
    input  logic [DetVcs-1:0]     head_ok_i,
    input  logic [NumVc-1:0]      body_ok_i,
    input  logic [DetVcs-1:0]     no_credit_i,
    input  logic [DynClasses-1:0] dyn_head_ok_i,
    input  logic [VcW-1:0]        dyn_vc_i [DynClasses],
    // Allocation: the flit of the class picked.
    output logic                  req_o,
    input  logic                  pop_i,     // it moves
    output logic [VcW-1:0]        out_vc_o,
    output flit_ctl_t             ctl_o,
    output logic [FlitW-1:0]      data_o,
    output logic                  stall_o,   // a flit waits for credit
    output logic                  busy_o
);
  logic [NetClasses-1:0] nonempty, full, body, req, urgent, read, credit_q;
  route_t                route [NetClasses];
  logic [VcW-1:0]        way_q [NetClasses]; // channel of the packet whose head has left
  logic [1:0]            class_read;
  logic [VcW-1:0]        vc;

  assign inj_credit_o = credit_q;
  assign busy_o       = (nonempty | credit_q) != '0;

  inject_buffer #(
      .NumQueues(NetClasses),
      .Depth    (InjDepth),
      .FlitBytes(FlitBytes),
      .PortId   (PortId)
  ) u_buffer (
      .clk_i,
      .rst_ni,
      .cfg_i,
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
    stall_o = 1'b0;
    vc      = '0;
    if (nonempty != '0) begin
      for (int unsigned c = 0; c < NetClasses; c++) begin
        if (nonempty[c]) begin
          vc = body[c] ? way_q[c] : det_vc(2'(c), route[c].dateline);
          if (body[c]) req[c] = body_ok_i[vc];
          else if (route[c].minimal != '0 && dyn_head_ok_i[c[0]]) req[c] = 1'b1;
          else req[c] = route[c].port != NoPort && head_ok_i[vc[VcW-2:0]];
          if (!vc_dynamic(vc) && no_credit_i[vc[VcW-2:0]]) stall_o = !req[c];
        end
      end
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

  always_comb begin
    urgent = req;
    if (req[3:2] != '0) urgent = req[3] ? 4'b1000 : 4'b0100;
  end

  assign req_o = req != '0;
  always_comb begin
    out_vc_o = '0;
    if (req_o) begin
      if (body[class_read]) out_vc_o = way_q[class_read];
      else if (route[class_read].minimal != '0 && dyn_head_ok_i[class_read[0]]) out_vc_o = dyn_vc_i[class_read[0]];
      else out_vc_o = det_vc(class_read, route[class_read].dateline);
    end
  end

  always_ff @(posedge clk_i) begin
    if (pop_i && ctl_o.head) way_q[class_read] <= out_vc_o;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) credit_q <= '0;
    else if (pop_i || credit_q != '0) credit_q <= pop_i ? read : '0;
  end

  // The sender keeps the credits.
  logic unused_full;
  assign unused_full = ^full;
endmodule
