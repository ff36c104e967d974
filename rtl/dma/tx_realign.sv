// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Data path of one transmit path: beats of 64 B in, flits out. Keeps the beats read from memory, shifts the
// payload of a packet from its byte offset in the first beat to the start of a flit, and fills the last flits
// with zero. Control is tx_path's: a packet is header flits, then payload flits, one a cycle; `load_i` comes
// with the last header flit, so that a payload flit always has its predecessor at hand.
module tx_realign
  import gyre_pkg::*, gyre_dma_pkg::*;
#(
    parameter int unsigned FlitBytes = 16,
    parameter int unsigned BeatDepth = 64,     // beats, a power of two
    localparam int unsigned FW = FlitBytes * 8
) (
    input  logic            clk_i,
    input  logic            rst_ni,
    input  logic            beat_valid_i,
    input  logic [AxiW-1:0] beat_data_i,
    input  logic            header_i,      // emit header_data_i
    input  logic [FW-1:0]   header_data_i,
    input  logic            load_i,        // start of the payload
    input  logic            shift_i,       // emit a payload flit
    input  logic            tail_i,        // with shift_i: the packet's last
    input  logic [5:0]      offset_i,      // of the payload in its first beat, bytes
    input  logic [3:0]      beats_i,       // of the payload
    input  logic [9:0]      left_i,        // payload bytes in this and later flits
    output logic            pop_o,         // a beat is used up
    output logic [FW-1:0]   data_o,        // the flit, a cycle later
    output logic            idle_o         // no beat moves without a signal from outside
);
  localparam int unsigned Parts = AxiBytes / FlitBytes;   // flits a beat
  localparam int unsigned PartW = $clog2(Parts);
  localparam int unsigned FineW = $clog2(FlitBytes);
  localparam int unsigned PtrW  = $clog2(BeatDepth);

  if (FlitBytes != 8 && FlitBytes != 16 && FlitBytes != 32) begin : gen_bad_flit
    $fatal(1, "tx_realign: FlitBytes is %0d; expected 8, 16 or 32", FlitBytes);
  end
  if (2 ** PtrW != BeatDepth) begin : gen_bad_depth
    $fatal(1, "tx_realign: BeatDepth is %0d; expected a power of two", BeatDepth);
  end

  logic [PtrW-1:0]  wptr_q, rptr_q;         // beat written next, and that read from the RAM next
  logic             front_q, fetch;         // the RAM's output is the oldest beat; a beat leaves the RAM
  logic [AxiW-1:0]  front;
  logic [PartW-1:0] part_q, part;
  logic [3:0]       left_q, left;           // beats of the packet that are not used up
  logic [FW-1:0]    read, residual_q, data_q;
  logic             step, wrap;

  assign step  = load_i || shift_i;
  assign part  = load_i ? offset_i[5:FineW] : part_q;
  assign left  = load_i ? beats_i : left_q;
  assign wrap  = part == '1;
  // A payload may end before its flits do: then there is nothing more to read, and padding is zero.
  assign pop_o = step && left != '0 && (wrap || tail_i);

  // Pointers differ while beats are in the RAM: the output has one of BeatDepth, or the only one came in the cycle before.
  assign fetch  = rptr_q != wptr_q && pop_o == front_q;
  assign idle_o = !fetch;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      wptr_q  <= '0;
      rptr_q  <= '0;
      front_q <= 1'b0;
      part_q  <= '0;
      left_q  <= '0;
    end else begin
      if (beat_valid_i) wptr_q <= wptr_q + 1'b1;
      if (step) begin
        part_q <= part + 1'b1;
        left_q <= left - 4'(pop_o);
      end
      if (fetch || pop_o) front_q <= fetch;
      if (fetch || (pop_o && !front_q)) rptr_q <= rptr_q + 1'b1;
    end
  end

  gyre_ram #(
      .Width(AxiW),
      .Depth(BeatDepth)
  ) u_beats (
      .clk_i,
      .rst_ni,
      .write_i(beat_valid_i),
      .waddr_i(wptr_q),
      .wdata_i(beat_data_i),
      .read_i (fetch),
      .raddr_i(rptr_q),
      .rdata_o(front)
  );

  // With one header flit the payload starts in the cycle after its only beat came, which is not in front then.
  logic [AxiW-1:0] beat;
  if (HeaderBytes == FlitBytes) begin : gen_direct
    logic [AxiW-1:0] last_q;
    always_ff @(posedge clk_i) if (beat_valid_i) last_q <= beat_data_i;
    assign beat = front_q ? front : last_q;
  end else begin : gen_front
    assign beat = front;
  end

  always_comb begin
    read = '0;
    if (step) begin
      for (int unsigned k = 0; k < Parts; k++) if (part == PartW'(k)) read = beat[k*FW+:FW];
    end
  end

  always_ff @(posedge clk_i) begin
    if (step) residual_q <= read;
    if (header_i) data_q <= header_data_i;
    if (shift_i) data_q <= masked(aligned({read, residual_q}, offset_i[FineW-1:0]), left_i);
  end

  // Bytes from `fine` on.
  function automatic logic [FW-1:0] aligned(logic [2*FW-1:0] pair, logic [FineW-1:0] fine);
    if (fine == '0) return pair[FW-1:0];
    return FW'(pair >> {fine, 3'b0});
  endfunction

  // The first `bytes` bytes; the others zero.
  function automatic logic [FW-1:0] masked(logic [FW-1:0] flit, logic [9:0] bytes);
    logic [FW-1:0] kept;
    kept = flit;
    if (bytes < 10'(FlitBytes)) begin
      for (int unsigned k = 0; k < FlitBytes; k++) if (10'(k) >= bytes) kept[k*8+:8] = '0;
    end
    return kept;
  endfunction

  assign data_o = data_q;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && shift_i && tail_i) begin
      AllUsed : assert (left == 4'(pop_o))
      else $fatal(1, "%m: beats left over after a packet");
    end
    if (rst_ni && pop_o) begin
      InFront : assert (front_q || (HeaderBytes == FlitBytes && rptr_q + 1'b1 == wptr_q))
      else $fatal(1, "%m: the oldest beat is not in front");
    end
  end
`endif
endmodule
