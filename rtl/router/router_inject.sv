// Injection buffer of one path: a queue a class for packets that leave by output `PortId` only. The sender
// keeps the credits, one for each flit of buffer, and `inj_credit_o` returns them.
module router_inject
  import gyre_pkg::*;
#(
    parameter int unsigned NDim = 3,
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
    // Allocation: the flit of the class picked.
    output logic                  req_o,
    input  logic                  pop_i,     // it moves
    output logic [1:0]            out_vc_o,
    output flit_ctl_t             ctl_o,
    output logic [FlitW-1:0]      data_o,
    output logic                  stall_o,   // a flit waits for credit
    output logic                  busy_o
);
  logic [NumClasses-1:0]      nonempty, full, body, dateline, deposit, req, read, credit_q;
  logic [NumClasses-1:0][3:0] port;
  logic                       class_read;
  logic [1:0]                 vc;

  assign inj_credit_o = credit_q;
  assign busy_o       = (nonempty | credit_q) != '0;

  vc_buffer #(
      .NumQueues(NumClasses),
      .Depth    (InjDepth),
      .FlitBytes(FlitBytes),
      .NDim     (NDim),
      .PortId   (PortId),
      .Inject   (1'b1)
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
      .port_o      (port),
      .dateline_o  (dateline),
      .deposit_o   (deposit)
  );

  always_comb begin
    req     = '0;
    stall_o = 1'b0;
    vc      = '0;
    if (nonempty != '0) begin
      for (int unsigned c = 0; c < NumClasses; c++) begin
        if (nonempty[c]) begin
          vc     = {1'(c), dateline[c]};
          req[c] = body[c] ? body_ok_i[vc] : head_ok_i[vc];
          if (no_credit_i[vc]) stall_o = 1'b1;
        end
      end
    end
  end

  rr_arbiter #(
      .N(NumClasses)
  ) u_arbiter (
      .clk_i,
      .rst_ni,
      .req_i    (req),
      .advance_i(pop_i),
      .gnt_o    (read)
  );

  assign req_o    = req != '0;
  assign out_vc_o = {class_read, dateline[class_read]};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) credit_q <= '0;
    else if (pop_i || credit_q != '0) credit_q <= pop_i ? read : '0;
  end

  // The sender keeps the credits, the port is known, and the source keeps no copy.
  logic unused_buffer;
  assign unused_buffer = ^{full, port, deposit};
endmodule
