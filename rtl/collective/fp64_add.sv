// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Sum of two IEEE 754 binary64 numbers (HW-5): rounded to nearest, ties to even, with subnormal numbers
// and infinities; a sum that is not a number is CanonicalNan. One sum a cycle, after CollLaneLatency cycles.
module fp64_add
  import gyre_pkg::*;
(
    input  logic        clk_i,
    input  logic        rst_ni,
    input  logic        valid_i,
    input  logic [63:0] a_i,
    input  logic [63:0] b_i,
    output logic        valid_o,
    output logic [63:0] sum_o
);
  // ---- stage 1: the operand of larger magnitude apart from the other ------------------------
  logic        ordered_valid_q;
  logic        sign1_q, minus1_q;     // sign of the larger; the signs differ
  logic        nan1_q, special1_q;    // the sum is no number; is that or infinite
  logic [10:0] exp1_q;                // of the larger, that of subnormal numbers being 1
  logic [5:0]  shift_q;               // places that the smaller is to go down; 63 stands for all above, too
  logic [52:0] upper_q, lower_q;      // with the leading bit

  // ---- stage 2: aligned and added; bits 2:0 are guard, round and sticky bit ------------------
  logic        added_valid_q;
  logic        sign2_q, minus2_q, nan2_q, special2_q;
  logic [10:0] exp2_q;                // of bit 55
  logic [56:0] added_q;

  // Zeros before the first one of a value, 57 without one.
  function automatic logic [5:0] leading_zeros(logic [56:0] value);
    logic [63:0] rest;
    logic [5:0]  zeros;
    rest  = {value, 7'h40};
    zeros = '0;
    if (rest[63:32] == '0) begin zeros[5] = 1'b1; rest = {rest[31:0], 32'd0}; end
    if (rest[63:48] == '0) begin zeros[4] = 1'b1; rest = {rest[47:0], 16'd0}; end
    if (rest[63:56] == '0) begin zeros[3] = 1'b1; rest = {rest[55:0], 8'd0}; end
    if (rest[63:60] == '0) begin zeros[2] = 1'b1; rest = {rest[59:0], 4'd0}; end
    if (rest[63:62] == '0) begin zeros[1] = 1'b1; rest = {rest[61:0], 2'd0}; end
    zeros[0] = !rest[63];
    return zeros;
  endfunction

  // The smaller operand at the place of the larger, the bits that fall out gathered in bit 0.
  function automatic logic [55:0] align(logic [52:0] value, logic [5:0] places);
    logic [55:0] full;
    full = {value, 3'd0};
    return (full >> places) | 56'((full & ~({56{1'b1}} << places)) != '0);
  endfunction

  // Magnitude of the sum: bit 55 of `value` has exponent `exp`.
  function automatic logic [62:0] round(logic [56:0] value, logic [10:0] exp);
    logic [5:0]  zeros;
    logic [10:0] places;
    logic [56:0] shifted;
    logic        up;
    zeros   = leading_zeros(value);
    places  = 11'(zeros) < exp ? 11'(zeros) : exp; // exponent 1 at least: below it, subnormal
    shifted = value << places[5:0];
    up      = shifted[3] && (shifted[4] || shifted[2:0] != '0);
    // A carry out of the fraction raises the exponent, up to that of infinity.
    return {shifted[56] ? exp + 11'd1 - places : 11'd0, shifted[55:4]} + 63'(up);
  endfunction

  always_ff @(posedge clk_i) begin
    if (valid_i) begin
      automatic logic        swap = b_i[62:0] > a_i[62:0];
      automatic logic [63:0] upper = swap ? b_i : a_i;
      automatic logic [63:0] lower = swap ? a_i : b_i;
      automatic logic [10:0] exp = upper[62:52] == '0 ? 11'd1 : upper[62:52];
      automatic logic [10:0] apart = exp - (lower[62:52] == '0 ? 11'd1 : lower[62:52]);
      sign1_q    <= upper[63];
      minus1_q   <= upper[63] ^ lower[63];
      special1_q <= &upper[62:52];
      nan1_q     <= &upper[62:52] && (upper[51:0] != '0 || (&lower[62:52] && upper[63] != lower[63]));
      exp1_q     <= exp;
      shift_q    <= apart[10:6] != '0 ? 6'd63 : apart[5:0];
      upper_q    <= {upper[62:52] != '0, upper[51:0]};
      lower_q    <= {lower[62:52] != '0, lower[51:0]};
    end
    if (ordered_valid_q) begin
      automatic logic [55:0] aligned = align(lower_q, shift_q);
      sign2_q    <= sign1_q;
      minus2_q   <= minus1_q;
      special2_q <= special1_q;
      nan2_q     <= nan1_q;
      exp2_q     <= exp1_q;
      added_q    <= minus1_q ? {1'b0, upper_q, 3'd0} - {1'b0, aligned} : {1'b0, upper_q, 3'd0} + {1'b0, aligned};
    end
    if (added_valid_q) begin
      automatic logic [62:0] sum = round(added_q, exp2_q);
      if (nan2_q)                              sum_o <= CanonicalNan;
      else if (special2_q || &sum[62:52])      sum_o <= {sign2_q, 11'h7ff, 52'd0};
      else if (minus2_q && added_q == '0)      sum_o <= '0; // x - x is +0
      else                                     sum_o <= {sign2_q, sum};
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      ordered_valid_q <= 1'b0;
      added_valid_q   <= 1'b0;
      valid_o         <= 1'b0;
    end else begin
      ordered_valid_q <= valid_i;
      added_valid_q   <= ordered_valid_q;
      valid_o         <= added_valid_q;
    end
  end

`ifndef SYNTHESIS
  initial begin
    if (CollLaneLatency != 3) $fatal(1, "%m: CollLaneLatency is %0d, the adder has 3 stages", CollLaneLatency);
  end
  // Immediate and behind the valid bits: a concurrent one would sample its operands in every cycle.
  always_ff @(posedge clk_i) begin
    if (rst_ni && ordered_valid_q) begin
      Ordered : assert (shift_q != '0 || upper_q >= lower_q)
      else $fatal(1, "%m: difference below zero");
    end
    if (rst_ni && valid_o) begin
      OneNan : assert (sum_o[62:0] <= 63'h7ff0_0000_0000_0000 || sum_o == CanonicalNan)
      else $fatal(1, "%m: NaN %h is not the canonical one", sum_o);
    end
  end
`endif
endmodule
