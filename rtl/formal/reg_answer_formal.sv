// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// reg_answer: each access is answered once, in the next cycle, with its error and data.
module reg_answer_formal (
    input logic       clk_i,
    input logic       req_i,
    input logic       err_i,
    input logic [7:0] rdata_i
);
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic        ack, err, idle;
  logic [63:0] rdata;
  reg_answer dut (
      .clk_i, .rst_ni(rst_n), .req_i, .err_i, .rdata_i(64'(rdata_i)), .ack_o(ack), .err_o(err), .rdata_o(rdata),
      .idle_o(idle)
  );

  logic       asked_q, err_q;
  logic [7:0] rdata_q;
  always_ff @(posedge clk_i) begin
    asked_q <= rst_n && req_i;
    err_q   <= err_i;
    rdata_q <= rdata_i;
  end
  always_ff @(posedge clk_i) if (rst_n) begin
    AssumeOneAccess : assume (!req_i || !asked_q);
    AnsweredOnce : assert (ack == asked_q && idle == !ack);
    AsSaid : assert (!ack || (err == err_q && rdata == 64'(rdata_q)));
    CoverTwice : cover (ack && err && rdata == 64'd5);
  end
endmodule
