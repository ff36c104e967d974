// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Effect of one read-modify-write on an 8 B word of memory (HW-1): the word with the operation applied, the
// bytes of it to write, and the operand before. A pure function; counter_unit asserts its inputs.
module rmw_alu
  import gyre_pkg::*;
  import gyre_dma_pkg::*;
(
    input  logic        valid_i,  // 0: nothing is computed, all outputs are zero
    input  rmw_exec_t   exec_i,
    input  logic [63:0] data_i,   // the word
    output logic [63:0] new_o,
    output logic [7:0]  strb_o,   // zero where the comparison failed
    output logic [63:0] old_o     // a 4 B operand in the lower half, the upper half zero
);
  logic        high;              // 4 B operand in the upper half of the word
  logic [63:0] result, test;

  always_comb begin
    high   = 1'b0;
    result = '0;
    test   = '0;
    new_o  = '0;
    strb_o = '0;
    old_o  = '0;
    if (valid_i) begin
      high  = exec_i.addr[2];
      old_o = exec_i.wide ? data_i : {32'd0, high ? data_i[63:32] : data_i[31:0]};
      test  = exec_i.wide ? exec_i.test : {32'd0, exec_i.test[31:0]};
      unique case (exec_i.op)
        RmwSet:  result = exec_i.value;
        RmwAdd:  result = old_o + exec_i.value;
        RmwOr:   result = old_o | exec_i.value;
        RmwAnd:  result = old_o & exec_i.value;
        RmwXor:  result = old_o ^ exec_i.value;
        default: result = old_o;
      endcase
      new_o = exec_i.wide ? result : {2{result[31:0]}};
      if (!exec_i.compare || old_o == test) strb_o = exec_i.wide ? 8'hff : high ? 8'hf0 : 8'h0f;
    end
  end

  logic unused_addr;
  assign unused_addr = ^exec_i.addr;
endmodule
