// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// tx_realign: each payload flit is the next part of the oldest beat, read ahead of its time or not. Payloads start at
// flits here; the shift by bytes keeps nothing.
module tx_realign_formal
  import gyre_pkg::*, gyre_dma_pkg::*;
#(
    parameter int unsigned FlitBytes = 16,
    parameter int unsigned BeatDepth = 4,
    localparam int unsigned Parts = AxiBytes / FlitBytes,
    localparam int unsigned PartW = $clog2(Parts),
    localparam int unsigned PtrW = $clog2(BeatDepth)
) (
    input logic             clk_i,
    input logic             beat_valid_i,
    input logic [1:0]       beat_i,
    input logic             load_i,
    input logic             shift_i,
    input logic             tail_i,
    input logic [PartW-1:0] offset_i,
    input logic [3:0]       beats_i
);
  localparam int unsigned FW = FlitBytes * 8;

  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  // A part says its number and its beat.
  logic [Parts-1:0][FW-1:0] data;
  for (genvar k = 0; k < int'(Parts); k++) begin : gen_parts
    assign data[k] = FW'({beat_i, PartW'(k)});
  end

  logic          pop, idle;
  logic [FW-1:0] flit;
  tx_realign #(.FlitBytes(FlitBytes), .BeatDepth(BeatDepth)) dut (
      .clk_i, .rst_ni(rst_n), .beat_valid_i, .beat_data_i(data), .header_i(1'b0), .header_data_i('0), .load_i, .shift_i,
      .tail_i, .offset_i(6'(offset_i) << $clog2(FlitBytes)), .beats_i, .left_i(10'(MaxPayloadBytes)), .pop_o(pop),
      .data_o(flit), .idle_o(idle)
  );

  // Beats here, without those that came in the last cycle; the packet's way through them.
  logic [1:0]       mem [BeatDepth];
  logic [PtrW-1:0]  wptr_q, rptr_q;
  logic [PtrW:0]    level_q;
  logic             new_q, step, there, out_q, wrap;
  logic [PartW-1:0] part_q, part;
  logic [3:0]       left_q, left;
  logic             known_q, known_out_q;              // the part read last is of the payload
  logic [PartW+1:0] read_q, out_flit_q;

  assign step  = load_i || shift_i;
  assign part  = load_i ? offset_i : part_q;
  assign left  = load_i ? beats_i : left_q;
  assign wrap  = part == '1;
  // With one header flit, a payload starts in the cycle after its last beat, else one later.
  assign there = level_q > (PtrW + 1)'(FlitBytes != HeaderBytes && new_q);

  always_ff @(posedge clk_i) begin
    if (!rst_n) begin
      wptr_q      <= '0;
      rptr_q      <= '0;
      level_q     <= '0;
      new_q       <= 1'b0;
      left_q      <= '0;
      out_q       <= 1'b0;
      known_q     <= 1'b0;
      known_out_q <= 1'b0;
    end else begin
      new_q   <= beat_valid_i;
      level_q <= level_q + (PtrW + 1)'(beat_valid_i) - (PtrW + 1)'(pop);
      out_q   <= shift_i;
      if (beat_valid_i) wptr_q <= wptr_q + 1'b1;
      if (pop) rptr_q <= rptr_q + 1'b1;
      if (step) begin
        part_q      <= part + 1'b1;
        left_q      <= left - 4'(pop);
        known_q     <= left != '0;
        known_out_q <= known_q;
      end
    end
    if (beat_valid_i) mem[wptr_q] <= beat_i;
    if (step) begin
      read_q     <= {mem[rptr_q], part};
      out_flit_q <= read_q;
    end
  end

  always_ff @(posedge clk_i) if (rst_n) begin
    AssumeRoom : assume (!beat_valid_i || level_q < (PtrW + 1)'(BeatDepth));
    AssumeOneStep : assume (!(load_i && shift_i) && (!tail_i || shift_i));
    AssumeThere : assume (!step || left == '0 || there);
    AssumeAllUsed : assume (!tail_i || left <= 4'd1);
    Popped : assert (pop == (step && left != '0 && (wrap || tail_i)));
    NextPart : assert (!out_q || !known_out_q || flit == FW'(out_flit_q));
    IdleHolds : assert (!idle || dut.front_q || dut.wptr_q == dut.rptr_q || step);
    CoverWrap : cover (out_q && known_out_q && rptr_q == '1 && level_q == (PtrW + 1)'(BeatDepth));
    CoverSoon : cover (load_i && pop && level_q == 1 && beat_valid_i);
  end
endmodule
