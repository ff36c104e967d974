// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Answer to a register access, one cycle after it.
module reg_answer (
    input  logic        clk_i,
    input  logic        rst_ni,
    input  logic        req_i,
    input  logic        err_i,      // with req_i: error of the answer
    input  logic [63:0] rdata_i,
    output logic        ack_o,
    output logic        err_o,      // with ack_o
    output logic [63:0] rdata_o,
    output logic        idle_o
);
  logic        ack_q, err_q;
  logic [63:0] rdata_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      ack_q   <= 1'b0;
      err_q   <= 1'b0;
      rdata_q <= '0;
    end else if (req_i || ack_q) begin
      ack_q <= req_i;
      if (req_i) begin
        err_q   <= err_i;
        rdata_q <= rdata_i;
      end
    end
  end
  assign ack_o   = ack_q;
  assign err_o   = err_q;
  assign rdata_o = rdata_q;
  assign idle_o  = !ack_q;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && req_i) begin
      OneAtATime : assert (!ack_q)
      else $fatal(1, "%m: register access before the answer to the last one is taken");
    end
  end
`endif
endmodule
