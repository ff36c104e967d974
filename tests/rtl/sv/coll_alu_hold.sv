// SPDX-License-Identifier: MIT OR Apache-2.0
// The collective ALU with a check on every register of every stage: it holds while no flit enters it.
module coll_alu_hold
  import gyre_pkg::*;
#(
    parameter int unsigned FlitBytes = 16
) (
    input  logic                   clk_i,
    input  logic                   rst_ni,
    input  logic                   valid_i,
    input  logic                   payload_i,
    input  coll_t                  instr_i,
    input  flit_ctl_t              ctl_i,
    input  logic [2:0]             present_i,
    input  logic [FlitBytes*8-1:0] data_i [3],
    output logic                   valid_o,
    output logic                   payload_o,
    output coll_t                  instr_o,
    output flit_ctl_t              ctl_o,
    output logic [FlitBytes*8-1:0] data_o
);
  coll_alu #(.FlitBytes(FlitBytes)) u_alu (
      .clk_i, .rst_ni, .valid_i, .payload_i, .instr_i, .ctl_i, .present_i, .data_i,
      .valid_o, .payload_o, .instr_o, .ctl_o, .data_o
  );

  bind fp64_add hold_check #(.Width(127)) u_hold1 (
      .clk_i, .rst_ni, .enable_i(valid_i),
      .state_i({sign1_q, minus1_q, nan1_q, special1_q, exp1_q, shift_q, upper_q, lower_q})
  );
  bind fp64_add hold_check #(.Width(72)) u_hold2 (
      .clk_i, .rst_ni, .enable_i(ordered_valid_q),
      .state_i({sign2_q, minus2_q, nan2_q, special2_q, exp2_q, added_q})
  );
  bind fp64_add hold_check #(.Width(64)) u_hold3 (
      .clk_i, .rst_ni, .enable_i(added_valid_q), .state_i(sum_o)
  );

  bind coll_alu_lane hold_check #(.Width(64)) u_hold1 (
      .clk_i, .rst_ni, .enable_i(valid_i && !float), .state_i(result_q[0])
  );
  bind coll_alu_lane hold_check #(.Width(64)) u_hold2 (
      .clk_i, .rst_ni, .enable_i(valid_q[0]), .state_i(result_q[1])
  );
  bind coll_alu_lane hold_check #(.Width(64)) u_hold3 (
      .clk_i, .rst_ni, .enable_i(valid_q[1]), .state_i(result_q[2])
  );

  // The stages of what goes along with the flit, and of the third operand on its way.
  for (genvar s = 0; s < CollAluLatency; s++) begin : gen_side
    logic flit;
    if (s == 0) begin : gen_in
      assign flit = valid_i;
    end else begin : gen_stage
      assign flit = u_alu.valid_q[s-1];
    end
    hold_check #(.Width(2 + $bits(coll_t) + $bits(flit_ctl_t))) u_hold (
        .clk_i, .rst_ni, .enable_i(flit), .state_i(u_alu.side_q[s])
    );
    if (s < CollLaneLatency) begin : gen_c
      hold_check #(.Width(FlitBytes * 8)) u_hold (
          .clk_i, .rst_ni, .enable_i(flit), .state_i(u_alu.c_q[s])
      );
    end
  end
endmodule
