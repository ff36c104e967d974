// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// First-in first-out buffer with a register-array memory and fall-through-free read: an entry that is pushed in
// one cycle can be popped in the next. Depth is any number >= 1; `level_o` counts the entries.
module gyre_fifo #(
    parameter int unsigned Width = 32,
    parameter int unsigned Depth = 4,
    localparam int unsigned LevelW = $clog2(Depth + 1)
) (
    input  logic              clk_i,
    input  logic              rst_ni,
    input  logic              clear_i,   // drop all entries
    input  logic              push_i,
    input  logic [Width-1:0]  data_i,
    input  logic              pop_i,
    output logic [Width-1:0]  data_o,    // oldest entry, valid while !empty_o
    output logic              empty_o,
    output logic              full_o,
    output logic [LevelW-1:0] level_o
);
  localparam int unsigned PtrW = (Depth > 1) ? $clog2(Depth) : 1;
  localparam logic [PtrW-1:0] LastPtr = PtrW'(Depth - 1);

  logic [Width-1:0]  mem [Depth];
  logic [PtrW-1:0]   head_q, tail_q;
  logic [LevelW-1:0] level_q;

  assign data_o  = mem[head_q];
  assign empty_o = level_q == '0;
  assign full_o  = level_q == LevelW'(Depth);
  assign level_o = level_q;

  always_ff @(posedge clk_i) begin
    if (push_i) mem[tail_q] <= data_i;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      head_q  <= '0;
      tail_q  <= '0;
      level_q <= '0;
    end else if (clear_i) begin
      head_q  <= '0;
      tail_q  <= '0;
      level_q <= '0;
    end else begin
      if (push_i) tail_q <= (tail_q == LastPtr) ? '0 : tail_q + 1'b1;
      if (pop_i)  head_q <= (head_q == LastPtr) ? '0 : head_q + 1'b1;
      if (push_i != pop_i) level_q <= push_i ? level_q + 1'b1 : level_q - 1'b1;
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && push_i && !clear_i) begin
      NoOverflow : assert (!full_o || pop_i)
      else $fatal(1, "%m: push into a full FIFO");
    end
    if (rst_ni && pop_i && !clear_i) begin
      NoUnderflow : assert (!empty_o)
      else $fatal(1, "%m: pop from an empty FIFO");
    end
  end
`endif
endmodule
