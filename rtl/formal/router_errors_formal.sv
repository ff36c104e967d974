// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// router_errors: each error that a source holds is reported once, whole, and waits for no other source twice.
module router_errors_formal
  import gyre_pkg::*;
#(
    parameter int unsigned N = 3
) (
    input logic              clk_i,
    input logic [N-1:0]      raise_i,
    input logic [N-1:0][7:0] info_i
);
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic [N-1:0]      held_q, take;
  logic [N-1:0][7:0] info_q;
  error_t            source [N];
  error_t            err;
  logic              idle;
  for (genvar s = 0; s < int'(N); s++) begin : gen_source
    logic [1:0] others_q;      // reports of others while this one waits
    logic       due_q;         // taken in the last cycle
    logic [7:0] due_info_q;
    assign source[s] = '{valid: held_q[s], reason: ErrWrite, where: 10'(s), info: 64'(info_q[s])};
    always_ff @(posedge clk_i) begin
      if (!rst_n) begin
        held_q[s] <= 1'b0;
        others_q  <= '0;
        due_q     <= 1'b0;
      end else begin
        due_q      <= take[s];
        due_info_q <= info_q[s];
        others_q   <= held_q[s] && !take[s] ? others_q + 1'b1 : '0;
        if (take[s] || !held_q[s]) begin
          held_q[s] <= raise_i[s];
          info_q[s] <= info_i[s];
        end
      end
    end
    always_ff @(posedge clk_i) if (rst_n) begin
      ReportedWhole : assert (due_q == (err.valid && err.where == 10'(s)));
      if (due_q) Content : assert (err.info == 64'(due_info_q) && err.reason == ErrWrite);
      WaitsForOthersOnce : assert (32'(others_q) < N);
      TakesHeld : assert (!take[s] || held_q[s]);
      if (s == 0) CoverWaits : cover (32'(others_q) == N - 1 && take[s]);
    end
  end

  router_errors #(.N(N)) dut (.clk_i, .rst_ni(rst_n), .err_i(source), .take_o(take), .err_o(err), .idle_o(idle));

  always_ff @(posedge clk_i) if (rst_n) begin
    IdleIsQuiet : assert (idle == (held_q == '0 && !err.valid));
  end
endmodule
