// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Arithmetic of the collective network (HW-5): of up to three flits, one of each contributor to a packet, the
// flit ((a op b) op c), absent operands skipped. Header flits are those of the first operand that is present, unchanged.
// One flit a cycle, out after exactly CollAluLatency cycles; nothing stalls it. With no flit under way no
// register changes.
module coll_alu
  import gyre_pkg::*;
#(
    parameter int unsigned FlitBytes = 16
) (
    input  logic                   clk_i,
    input  logic                   rst_ni,
    input  logic                   valid_i,
    input  logic                   payload_i,  // the operands are combined, else it is a flit of the header
    input  coll_t                  instr_i,    // of the packet
    input  flit_ctl_t              ctl_i,
    input  logic [2:0]             present_i,  // of a, b, c: at least one
    input  logic [FlitBytes*8-1:0] data_i [3], // a, b, c
    output logic                   valid_o,
    output logic                   payload_o,
    output coll_t                  instr_o,
    output flit_ctl_t              ctl_o,
    output logic [FlitBytes*8-1:0] data_o      // of meaning with valid_o alone
);
  localparam int unsigned Lanes = FlitBytes / 8;
  localparam int unsigned Half = CollLaneLatency;

  // Side information of a flit.
  typedef struct packed {
    logic      then_c;   // (a op b) is to be combined with c
    logic      payload;
    coll_t     instr;
    flit_ctl_t ctl;
  } side_t;

  logic [CollAluLatency-1:0] valid_q;          // bit s: a flit has been here s+1 cycles
  side_t                     side_q [CollAluLatency];
  logic [FlitBytes*8-1:0]    c_q [Half];       // third operand on its way to the second lane
  logic [FlitBytes*8-1:0]    first, second;    // operands of the first lane
  logic                      then_c;

  assign then_c = payload_i && present_i[2] && present_i[1:0] != '0;

  always_comb begin
    first  = '0;
    second = '0;
    if (valid_i) begin
      first = present_i[0] ? data_i[0] : present_i[1] ? data_i[1] : data_i[2];
      if (present_i[1]) second = data_i[1];
    end
  end

  for (genvar l = 0; l < Lanes; l++) begin : gen_lane
    logic [63:0] both;

    coll_alu_lane u_ab (
      .clk_i, .rst_ni, .valid_i,
      .combine_i (payload_i && present_i[1:0] == 2'b11),
      .op_i      (instr_i.op),
      .dtype_i   (instr_i.dtype),
      .a_i       (first[64*l +: 64]),
      .b_i       (second[64*l +: 64]),
      .data_o    (both)
    );

    coll_alu_lane u_c (
      .clk_i, .rst_ni,
      .valid_i   (valid_q[Half-1]),
      .combine_i (side_q[Half-1].then_c),
      .op_i      (side_q[Half-1].instr.op),
      .dtype_i   (side_q[Half-1].instr.dtype),
      .a_i       (both),
      .b_i       (c_q[Half-1][64*l +: 64]),
      .data_o    (data_o[64*l +: 64])
    );
  end

  always_ff @(posedge clk_i) begin
    if (valid_i) side_q[0] <= '{then_c: then_c, payload: payload_i, instr: instr_i, ctl: ctl_i};
    if (valid_i && then_c) c_q[0] <= data_i[2];
    for (int unsigned s = 1; s < CollAluLatency; s++) if (valid_q[s-1]) side_q[s] <= side_q[s-1];
    for (int unsigned s = 1; s < Half; s++) if (valid_q[s-1] && side_q[s-1].then_c) c_q[s] <= c_q[s-1];
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= '0;
    else         valid_q <= {valid_q[CollAluLatency-2:0], valid_i};
  end

  assign valid_o   = valid_q[CollAluLatency-1];
  assign payload_o = side_q[CollAluLatency-1].payload;
  assign instr_o   = side_q[CollAluLatency-1].instr;
  assign ctl_o     = side_q[CollAluLatency-1].ctl;

`ifndef SYNTHESIS
  initial begin
    if (!(FlitBytes inside {8, 16, 32})) $fatal(1, "%m: FlitBytes is %0d, not 8, 16 or 32", FlitBytes);
  end
  always_ff @(posedge clk_i) begin
    if (rst_ni && valid_i) begin
      SomeOperand : assert (present_i != '0) else $fatal(1, "%m: flit without operand");
    end
  end
`endif
endmodule
