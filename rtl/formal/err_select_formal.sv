// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// err_select: an error that a source holds is handed on once, whole, and the source hears of it in the next cycle.
module err_select_formal
  import gyre_pkg::*;
#(
    parameter int unsigned N = 3
) (
    input logic             clk_i,
    input logic [N-1:0]     raise_i,
    input logic [N-1:0][7:0] info_i,
    input logic             ack_i
);
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  // Sources that hold an error until it is taken; `where` is the source.
  logic [N-1:0]      held_q, taken, due_q, waits;
  logic [N-1:0][7:0] info_q;
  error_t            source [N];
  error_t            err;
  logic              idle;
  for (genvar s = 0; s < int'(N); s++) begin : gen_source
    assign source[s] = '{valid: held_q[s], reason: ErrWrite, where: 10'(s), info: 64'(info_q[s])};
    always_ff @(posedge clk_i) begin
      if (!rst_n) held_q[s] <= 1'b0;
      else if (taken[s]) held_q[s] <= 1'b0;
      else if (raise_i[s] && !held_q[s]) begin
        held_q[s] <= 1'b1;
        info_q[s] <= info_i[s];
      end
    end
    // It was handed on in the last cycle.
    always_ff @(posedge clk_i) due_q[s] <= rst_n && ack_i && err.valid && err.where == 10'(s);
  end
  assign waits = held_q & ~taken;

  err_select #(.N(N)) dut (
      .clk_i, .rst_ni(rst_n), .err_i(source), .taken_o(taken), .err_o(err), .err_ack_i(ack_i), .idle_o(idle)
  );

  always_ff @(posedge clk_i) if (rst_n) begin
    AssumeAckOfError : assume (!ack_i || err.valid);
    TakenOnce : assert (taken == due_q);
    NoneMissed : assert (err.valid == (waits != '0));
    IdleIsQuiet : assert (idle == (waits == '0 && taken == '0));
    if (err.valid) begin
      Whole : assert (waits[2'(err.where)] && err.info[7:0] == info_q[2'(err.where)] && err.reason == ErrWrite);
      FirstFirst : assert ((waits & ((N'(1) << err.where) - 1'b1)) == '0);
    end
    CoverTwo : cover (taken == 3'b001 && err.valid && err.where == 10'd2);
  end
endmodule
