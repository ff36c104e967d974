// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// inj_occupancy: empty is said exactly when no injection buffer holds a flit.
module inj_occupancy_formal #(
    parameter int unsigned P = 2,
    parameter int unsigned NBuffer = 4,
    parameter int unsigned Depth = 3
) (
    input logic               clk_i,
    input logic [P-1:0]       inj_valid_i,
    input logic [P-1:0]       second_i,     // buffer of the path that the flit goes to
    input logic [NBuffer-1:0] inj_credit_i
);
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic empty;
  inj_occupancy #(.P(P), .NBuffer(NBuffer), .Depth(Depth)) dut (
      .clk_i, .rst_ni(rst_n), .inj_valid_i, .inj_credit_i, .empty_o(empty)
  );

  // Flits of each buffer; path p has the buffers p and P + p.
  logic [NBuffer-1:0][1:0] level_q;
  for (genvar b = 0; b < int'(NBuffer); b++) begin : gen_buffer
    logic comes;
    assign comes = inj_valid_i[b % P] && second_i[b % P] == 1'(b / P);
    always_ff @(posedge clk_i) begin
      if (!rst_n) level_q[b] <= '0;
      else level_q[b] <= level_q[b] + 2'(comes) - 2'(inj_credit_i[b]);
    end
    always_ff @(posedge clk_i) if (rst_n) begin
      AssumeRoom : assume (!comes || 32'(level_q[b]) < Depth);
      AssumeCreditOfFlit : assume (!inj_credit_i[b] || level_q[b] != '0);
    end
  end

  always_ff @(posedge clk_i) if (rst_n) begin
    EmptyIsEmpty : assert (empty == (level_q == '0));
    Counts : assert (32'(dut.flits_q) == 32'(level_q[0]) + 32'(level_q[1]) + 32'(level_q[2]) + 32'(level_q[3]));
    CoverFull : cover (level_q == '1 && inj_credit_i == '1);
    CoverDrained : cover (empty && inj_valid_i == '1);
  end
endmodule
