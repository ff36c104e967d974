// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Error register: keeps the first error since software re-armed it, and counts all of them (X-5).
// Errors of one cycle count each; the source with the lowest number is the one recorded.
module error_log
  import gyre_pkg::*;
#(
    parameter int unsigned NSource = 3
) (
    input  logic        clk_i,
    input  logic        rst_ni,
    input  error_t      err_i [NSource],
    input  logic [63:0] time_i,          // cycle number
    input  logic        valid_i,         // an error is recorded
    input  logic        rearm_i,         // software clears `valid` in this cycle
    output logic        raised_o,        // an error came in this cycle
    output logic [7:0]  reason_o,
    output logic [9:0]  where_o,
    output logic [63:0] info_o,
    output logic [63:0] cycle_o,
    output logic [31:0] count_o
);
  localparam int unsigned CountW = 32;

  logic [NSource-1:0] valid;
  error_t             first;

  for (genvar s = 0; s < NSource; s++) begin : gen_valid
    assign valid[s] = err_i[s].valid;
  end
  assign raised_o = valid != '0;

  always_comb begin
    first = '0;
    if (valid != '0) begin
      for (int s = NSource - 1; s >= 0; s--) begin
        if (valid[s]) first = err_i[s];
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      reason_o <= ErrNone;
      where_o  <= '0;
      info_o   <= '0;
      cycle_o  <= '0;
      count_o  <= '0;
    end else if (raised_o) begin
      automatic logic [CountW:0] count = {1'b0, count_o};
      for (int unsigned s = 0; s < NSource; s++) count += (CountW + 1)'(valid[s]);
      count_o <= count[CountW] ? '1 : count[CountW-1:0];
      if (!valid_i || rearm_i) begin
        reason_o <= first.reason;
        where_o  <= first.where;
        info_o   <= first.info;
        cycle_o  <= time_i;
      end
    end
  end

  logic unused_first;
  assign unused_first = first.valid;
endmodule
