// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// error_log: the register keeps the first error since it was armed, and all errors are counted up to the top.
module error_log_formal
  import gyre_pkg::*;
#(
    parameter int unsigned NSource = 3
) (
    input logic                     clk_i,
    input logic [NSource-1:0]       come_i,
    input logic [NSource-1:0][15:0] info_i,
    input logic                     rearm_i
);
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  error_t      err [NSource];
  logic        raised, valid_q;
  logic [7:0]  reason;
  logic [9:0]  where;
  logic [63:0] info, cycle, time_q;
  logic [31:0] count;
  for (genvar s = 0; s < int'(NSource); s++) begin : gen_source
    assign err[s] = come_i[s] ? '{valid: 1'b1, reason: ErrWrite, where: 10'(s), info: 64'(info_i[s])} : '0;
  end
  error_log #(.NSource(NSource)) dut (
      .clk_i, .rst_ni(rst_n), .err_i(err), .time_i(time_q), .valid_i(valid_q), .rearm_i, .raised_o(raised),
      .reason_o(reason), .where_o(where), .info_o(info), .cycle_o(cycle), .count_o(count)
  );

  // The first error, as the wrapper saw it.
  logic [9:0]  where_q;
  logic [15:0] info_q;
  logic [63:0] cycle_q;
  logic [32:0] count_q;
  always_ff @(posedge clk_i) begin
    if (!rst_n) begin
      valid_q <= 1'b0;
      time_q  <= '0;
      count_q <= '0;
    end else begin
      time_q  <= time_q + 1'b1;
      valid_q <= (valid_q && !rearm_i) || come_i != '0;
      if (count_q[31:0] != '1) begin
        count_q <= count_q[31:0] + 33'(come_i[0]) + 33'(come_i[1]) + 33'(come_i[2]) > 33'hffff_ffff ? 33'hffff_ffff
                   : count_q + 33'(come_i[0]) + 33'(come_i[1]) + 33'(come_i[2]);
      end
      if (come_i != '0 && (!valid_q || rearm_i)) begin
        where_q <= come_i[0] ? 10'd0 : come_i[1] ? 10'd1 : 10'd2;
        info_q  <= come_i[0] ? info_i[0] : come_i[1] ? info_i[1] : info_i[2];
        cycle_q <= time_q;
      end
    end
  end

  always_ff @(posedge clk_i) if (rst_n) begin
    Raised : assert (raised == (come_i != '0));
    Counts : assert (33'(count) == count_q);
    FirstKept : assert (!valid_q || (reason == ErrWrite && where == where_q && info == 64'(info_q) && cycle == cycle_q));
    CoverSecond : cover (valid_q && count == 32'd4 && where == 10'd1);
    CoverRearmed : cover (valid_q && rearm_i && come_i == 3'b100);
  end
endmodule
