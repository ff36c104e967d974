// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Counts the flits in the injection buffers of a network: sent into them minus credits returned.
module inj_occupancy #(
    parameter int unsigned P = 6,            // paths
    parameter int unsigned NBuffer = 2 * P,  // buffers of all paths
    parameter int unsigned Depth = 136       // flits of a buffer
) (
    input  logic               clk_i,
    input  logic               rst_ni,
    input  logic [P-1:0]       inj_valid_i,
    input  logic [NBuffer-1:0] inj_credit_i,
    output logic               empty_o
);
  localparam int unsigned MaxFlits = NBuffer * Depth;
  localparam int unsigned CountW   = $clog2(MaxFlits + 1);

  logic [CountW-1:0] flits_q;
  assign empty_o = flits_q == '0;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) flits_q <= '0;
    else if (inj_valid_i != '0 || inj_credit_i != '0) begin
      flits_q <= flits_q + CountW'($countones(inj_valid_i)) - CountW'($countones(inj_credit_i));
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      InRange : assert (flits_q <= CountW'(MaxFlits))
      else $fatal(1, "%m: more credits than flits, or more flits than buffers");
    end
  end
`endif
endmodule
