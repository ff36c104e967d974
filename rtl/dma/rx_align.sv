// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Shifts a stream of flits up by 0..FlitBytes-1 bytes: each output granule holds the bytes left over from the
// flit before and the first bytes of this one.
module rx_align #(
    parameter int unsigned FlitBytes = 16,
    localparam int unsigned FW = FlitBytes * 8,
    localparam int unsigned ShiftW = $clog2(FlitBytes)
) (
    input  logic              clk_i,
    input  logic              rst_ni,    // of assertions; start_i clears the rest
    input  logic              start_i,   // a packet starts: nothing is left over
    input  logic              valid_i,   // a flit, or the left-over bytes at the end (flush_i)
    input  logic              flush_i,
    input  logic [ShiftW-1:0] shift_i,   // bytes
    input  logic [FW-1:0]     data_i,
    output logic [FW-1:0]     data_o
);
  logic [FW-1:0]   carry_q;
  logic [2*FW-1:0] shifted;

  always_comb begin
    shifted = '0;
    data_o  = '0;
    if (valid_i) begin
      if (!flush_i) begin
        if (shift_i == '0) shifted = {{FW{1'b0}}, data_i};
        else               shifted = {{FW{1'b0}}, data_i} << {shift_i, 3'b000};
      end
      data_o = shifted[FW-1:0] | carry_q;
    end
  end

  always_ff @(posedge clk_i) begin
    if (start_i) carry_q <= '0;
    else if (valid_i) carry_q <= shifted[2*FW-1:FW];
  end

  logic unused_rst;
  assign unused_rst = rst_ni;

`ifndef SYNTHESIS
  logic              first_q;   // the next flit is the first
  logic [ShiftW-1:0] shift_q;
  always_ff @(posedge clk_i) begin
    if (start_i || valid_i) first_q <= start_i;
    if (valid_i) shift_q <= shift_i;
    if (rst_ni && valid_i && !first_q) begin
      ShiftHeld : assert (shift_i == shift_q)
      else $fatal(1, "%m: the shift changes inside a packet");
    end
    if (rst_ni && valid_i && flush_i) begin
      LeftOver : assert (shift_i != '0)
      else $fatal(1, "%m: nothing is left over without a shift");
    end
  end
`endif
endmodule
