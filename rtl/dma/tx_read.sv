// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Payload reads of one transmit path (HW-1): one burst a packet, two at a 4 KiB boundary, started only with
// space for the largest packet's beats at hand. Reports in order which packets are here whole, and whether
// a read of theirs failed; the beats themselves go to tx_realign.
module tx_read
  import gyre_pkg::*, gyre_dma_pkg::*;
#(
    parameter int unsigned CmdDepth  = 8,     // packets under way
    parameter int unsigned BeatDepth = 64     // beats of payload, reserved before they are read
) (
    input  logic             clk_i,
    input  logic             rst_ni,
    // Packets with payload
    input  logic             push_i,
    input  logic [AddrW-1:0] addr_i,
    input  logic [9:0]       len_i,          // bytes, not 0
    // AXI read client
    output logic             ar_valid_o,
    input  logic             ar_ready_i,
    output logic [AddrW-1:0] ar_addr_o,
    output logic [7:0]       ar_len_o,
    input  logic             r_valid_i,
    input  logic             r_err_i,
    input  logic             pop_beat_i,     // a beat is used up
    // Oldest packet whose beats are all here
    output logic             whole_empty_o,
    output logic             whole_err_o,
    input  logic             whole_pop_i
);
  localparam int unsigned FreeW    = $clog2(BeatDepth + 1);
  localparam int unsigned MaxBeats = MaxPayloadBytes / AxiBytes + 1;
  localparam int unsigned LevelW   = $clog2(CmdDepth + 1);

  if (BeatDepth < 4 * MaxBeats) begin : gen_bad_beats
    $fatal(1, "tx_read: BeatDepth of %0d beats does not hold 4 packets", BeatDepth);
  end

  // ---- reads: one burst a packet, two at a 4 KiB boundary ---------------------------------------
  logic             rd_pop, rd_empty, rd_second_q, rd_split, rd_fire;
  logic [AddrW-1:0] rd_addr;
  logic [9:0]       rd_len;
  logic [3:0]       rd_beats, rd_burst;
  logic [6:0]       rd_edge;                // beats up to the boundary
  logic [FreeW-1:0] free_q;                 // beats neither kept nor on their way

  logic unused_rd_full;
  logic [LevelW-1:0] unused_rd_level;
  gyre_fifo #(.Width(AddrW + 10), .Depth(CmdDepth)) u_reads (
      .clk_i, .rst_ni, .clear_i(1'b0), .push_i, .data_i({addr_i, len_i}), .pop_i(rd_pop),
      .data_o({rd_addr, rd_len}), .empty_o(rd_empty), .full_o(unused_rd_full), .level_o(unused_rd_level)
  );

  always_comb begin
    rd_beats  = '0;
    rd_edge   = '0;
    rd_split  = 1'b0;
    rd_burst  = '0;
    ar_addr_o = '0;
    ar_len_o  = '0;
    if (ar_valid_o) begin
      rd_beats  = tx_beats(rd_addr[5:0], rd_len);
      rd_edge   = 7'd64 - 7'(rd_addr[11:6]);
      rd_split  = 7'(rd_beats) > rd_edge;
      rd_burst  = !rd_split ? rd_beats : rd_second_q ? rd_beats - rd_edge[3:0] : rd_edge[3:0];
      ar_addr_o = rd_second_q ? {rd_addr[AddrW-1:12] + 1'b1, 12'b0} : {rd_addr[AddrW-1:6], 6'b0};
      ar_len_o  = 8'(rd_burst - 1'b1);
    end
  end

  assign ar_valid_o = !rd_empty && free_q >= FreeW'(MaxBeats);
  assign rd_fire    = ar_valid_o && ar_ready_i;
  assign rd_pop     = rd_fire && (!rd_split || rd_second_q);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      rd_second_q <= 1'b0;
      free_q      <= FreeW'(BeatDepth);
    end else begin
      if (rd_fire) rd_second_q <= rd_split && !rd_second_q;
      if (rd_fire || pop_beat_i) free_q <= free_q - (rd_fire ? FreeW'(rd_burst) : '0) + FreeW'(pop_beat_i);
    end
  end

  // ---- arrival: which packets are whole, and whether they are sound -------------------------------
  logic       exp_empty, whole, arr_err_q;
  logic [3:0] exp_beats, arr_q;

  logic unused_exp_full, unused_rdy_full;
  logic [LevelW-1:0] unused_exp_level, unused_rdy_level;
  gyre_fifo #(.Width(4), .Depth(CmdDepth)) u_expected (
      .clk_i, .rst_ni, .clear_i(1'b0), .push_i(rd_fire && !rd_second_q), .data_i(rd_beats), .pop_i(whole),
      .data_o(exp_beats), .empty_o(exp_empty), .full_o(unused_exp_full), .level_o(unused_exp_level)
  );
  gyre_fifo #(.Width(1), .Depth(CmdDepth)) u_whole (
      .clk_i, .rst_ni, .clear_i(1'b0), .push_i(whole), .data_i(arr_err_q || r_err_i), .pop_i(whole_pop_i),
      .data_o(whole_err_o), .empty_o(whole_empty_o), .full_o(unused_rdy_full), .level_o(unused_rdy_level)
  );

  assign whole = r_valid_i && arr_q + 1'b1 == exp_beats;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      arr_q     <= '0;
      arr_err_q <= 1'b0;
    end else if (r_valid_i) begin
      arr_q     <= whole ? '0 : arr_q + 1'b1;
      arr_err_q <= !whole && (arr_err_q || r_err_i);
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && r_valid_i) begin
      BeatExpected : assert (!exp_empty)
      else $fatal(1, "%m: read data that nobody asked for");
    end
    if (rst_ni && rd_fire) begin
      BurstInPage : assert (8'(ar_addr_o[11:6]) + ar_len_o < 8'd64)
      else $fatal(1, "%m: burst crosses 4 KiB");
    end
  end
`endif
endmodule
