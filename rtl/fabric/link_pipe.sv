// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Wires of one direction of a link: a word in the sender's output register reaches the receiver's input
// register Latency cycles later, so Latency - 1 registers lie between.
module link_pipe #(
    parameter int unsigned Latency = 1,
    parameter int unsigned W = 192       // wires
) (
    input  logic         clk_i,
    input  logic         rst_ni,
    input  logic [W-1:0] data_i,
    output logic [W-1:0] data_o
);
  localparam int unsigned Stages = Latency - 1;

  if (Stages == 0) begin : gen_wire
    assign data_o = data_i;
    logic unused;
    assign unused = clk_i ^ rst_ni;
  end else begin : gen_stages
    logic [W-1:0] stage_q [Stages];
    assign data_o = stage_q[Stages-1];
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        for (int unsigned s = 0; s < Stages; s++) stage_q[s] <= '0;
      end else begin
        stage_q[0] <= data_i;
        for (int unsigned s = 1; s < Stages; s++) stage_q[s] <= stage_q[s-1];
      end
    end
  end

  if (Latency < 1) begin : gen_bad_latency
    $error("link_pipe: Latency must be 1 or more");
  end
endmodule
