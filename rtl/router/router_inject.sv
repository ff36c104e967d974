// Injection buffer of one path: a queue a class for packets that leave by output `PortId` only. The sender
// keeps the credits, one for each flit of buffer, and `credit_o` returns them.
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
    input  logic                  inj_class_i,
    input  flit_ctl_t             inj_ctl_i,
    input  logic [FlitW-1:0]      inj_data_i,
    output logic [NumClasses-1:0] inj_credit_o,
    // What can move at output `PortId`, by virtual channel.
    input  logic [NumVc-1:0]      head_ok_i,
    input  logic [NumVc-1:0]      body_ok_i,
    input  logic [NumVc-1:0]      no_credit_i,
    output logic [NumClasses-1:0] req_o,     // classes whose flit can move
    output logic                  stall_o,   // a flit waits for credit
    input  logic [NumClasses-1:0] read_i,    // one-hot: class picked
    input  logic                  pop_i,     // its flit moves
    output logic [1:0]            out_vc_o,
    output flit_ctl_t             ctl_o,
    output logic [FlitW-1:0]      data_o,
    output logic                  busy_o
);
  logic [NumClasses-1:0] nonempty, full, body, dateline, credit_q;
  logic                  push_dateline;
  logic [1:0]            vc;

  assign inj_credit_o = credit_q;
  assign busy_o       = nonempty != '0 || credit_q != '0;

  always_comb begin
    push_dateline = 1'b0;
    if (inj_valid_i && inj_ctl_i.head) begin
      push_dateline = route_dateline(cfg_i, inj_data_i[5*CoordW-1:0], LocalPort, 1'b0, 4'(PortId));
    end
  end

  vc_buffer #(
      .NumQueues(NumClasses),
      .Depth    (InjDepth),
      .DataW    (FlitW),
      .MetaW    (1)
  ) u_buffer (
      .clk_i,
      .rst_ni,
      .push_i      (inj_valid_i),
      .push_queue_i(inj_class_i),
      .push_ctl_i  (inj_ctl_i),
      .push_data_i (inj_data_i),
      .push_meta_i (push_dateline),
      .read_i,
      .pop_i,
      .ctl_o,
      .data_o,
      .nonempty_o  (nonempty),
      .full_o      (full),
      .body_o      (body),
      .meta_o      (dateline)
  );

  always_comb begin
    req_o    = '0;
    stall_o  = 1'b0;
    out_vc_o = '0;
    vc       = '0;
    if (nonempty != '0) begin
      for (int unsigned c = 0; c < NumClasses; c++) begin
        vc = {1'(c), dateline[c]};
        if (nonempty[c]) begin
          req_o[c] = body[c] ? body_ok_i[vc] : head_ok_i[vc];
          if (no_credit_i[vc]) stall_o = 1'b1;
        end
        if (read_i[c]) out_vc_o = out_vc_o | vc;
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) credit_q <= '0;
    else if (pop_i || credit_q != '0) credit_q <= pop_i ? read_i : '0;
  end

`ifndef SYNTHESIS
  Space : assert property (@(posedge clk_i) disable iff (!rst_ni) inj_valid_i |-> !full[inj_class_i])
  else $fatal(1, "%m: flit injected without credit");
`else
  logic unused_full;
  assign unused_full = ^full;
`endif
endmodule
