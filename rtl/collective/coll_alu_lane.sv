// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Eight bytes of the collective ALU (HW-5): a op b, or a alone, after CollLaneLatency cycles, one a cycle.
// 32-bit elements are two side by side. No register changes in an empty lane.
module coll_alu_lane
  import gyre_pkg::*;
(
    input  logic        clk_i,
    input  logic        rst_ni,
    input  logic        valid_i,
    input  logic        combine_i, // a op b, else a as it is
    input  coll_op_e    op_i,      // broadcast, and codes without meaning, give a
    input  coll_dtype_e dtype_i,
    input  logic [63:0] a_i,
    input  logic [63:0] b_i,
    output logic [63:0] data_o     // CollLaneLatency cycles after valid_i, else of no meaning
);
  logic        float, sum_valid;
  logic [63:0] sum;

  assign float = combine_i && op_i == CollAdd && dtype_i == CollF64;

  fp64_add u_add (
    .clk_i, .rst_ni,
    .valid_i (valid_i && float),
    .a_i, .b_i,
    .valid_o (sum_valid),
    .sum_o   (sum)
  );

  function automatic logic is_nan(logic [62:0] magnitude);
    return magnitude > 63'h7ff0_0000_0000_0000;
  endfunction

  // The bits of a value such that unsigned order is that of its type; of floating point, -0 < +0.
  function automatic logic [63:0] order(coll_dtype_e dtype, logic [63:0] value);
    unique case (dtype)
      CollI32: return value ^ 64'h8000_0000_8000_0000;
      CollI64: return value ^ 64'h8000_0000_0000_0000;
      CollF64: return value[63] ? ~value : value ^ 64'h8000_0000_0000_0000;
      default: return value;
    endcase
  endfunction

  // The smaller or larger of a and b: minimumNumber and maximumNumber of IEEE 754-2019, in which a number
  // goes before a NaN.
  function automatic logic [63:0] select(logic max, coll_dtype_e dtype, logic [63:0] a, logic [63:0] b);
    logic [63:0] oa, ob;
    logic        less_hi, less_lo;
    oa = order(dtype, a);
    ob = order(dtype, b);
    less_hi = oa[63:32] < ob[63:32];
    less_lo = oa[31:0] < ob[31:0];
    if (dtype != CollU32 && dtype != CollI32) begin
      less_hi = less_hi || (less_lo && oa[63:32] == ob[63:32]);
      less_lo = less_hi;
    end
    if (dtype == CollF64 && is_nan(a[62:0])) return is_nan(b[62:0]) ? CanonicalNan : b;
    if (dtype == CollF64 && is_nan(b[62:0])) return a;
    return {less_hi != max ? a[63:32] : b[63:32], less_lo != max ? a[31:0] : b[31:0]};
  endfunction

  // All but the sum of floating point.
  function automatic logic [63:0] combine(coll_op_e op, coll_dtype_e dtype, logic [63:0] a, logic [63:0] b);
    unique case (op)
      CollAnd: return a & b;
      CollOr:  return a | b;
      CollXor: return a ^ b;
      CollAdd:
        unique case (dtype)
          CollU32, CollI32: return {a[63:32] + b[63:32], a[31:0] + b[31:0]};
          CollU64, CollI64: return a + b;
          default:          return a;
        endcase
      CollMin: return select(1'b0, dtype, a, b);
      CollMax: return select(1'b1, dtype, a, b);
      default: return a;
    endcase
  endfunction

  logic [CollLaneLatency-1:0] valid_q;  // of results that the adder has no part in
  logic [63:0]                result_q [CollLaneLatency];

  always_ff @(posedge clk_i) begin
    if (valid_i && !float) result_q[0] <= combine_i ? combine(op_i, dtype_i, a_i, b_i) : a_i;
    for (int unsigned s = 1; s < CollLaneLatency; s++) if (valid_q[s-1]) result_q[s] <= result_q[s-1];
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= '0;
    else         valid_q <= {valid_q[CollLaneLatency-2:0], valid_i && !float};
  end

  assign data_o = sum_valid ? sum : result_q[CollLaneLatency-1];

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && sum_valid) begin
      OneResult : assert (!valid_q[CollLaneLatency-1]) else $fatal(1, "%m: two results in one cycle");
    end
  end
`endif
endmodule
