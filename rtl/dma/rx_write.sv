// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Writes collected packets to memory: one burst each, two when the packet crosses a 4 KiB boundary (the end of
// a ring is one). Addresses are issued ahead of the data; the data of a packet leaves without gaps, row by row
// in the order of the addresses. Descriptors of a remote get are stamped on the way with their mark and
// requester (HW-1).
module rx_write
  import gyre_pkg::*;
  import gyre_dma_pkg::*;
#(
    parameter logic [AxiIdW-1:0] Id = '0,
    localparam int unsigned RowW = $clog2(RxBuffers * RxRows)
) (
    input  logic                 clk_i,
    input  logic                 rst_ni,
    // packets, never more than there are buffers
    input  logic                 push_i,
    input  rx_write_t            push_data_i,
    output logic [RxBuffers-1:0] free_o,      // buffer read out
    // outstanding writes
    output logic                 issue_o,
    output rx_write_t            issue_data_o,
    output logic                 issue_two_o,
    input  logic                 issue_room_i,
    // packet buffers
    output logic                 buf_swap_o,
    output logic [RowW-1:0]      buf_row_o,
    input  logic [AxiW-1:0]      buf_data_i,
    // write multiplexer
    output logic                 aw_req_o,
    output axi_addr_t            aw_o,
    input  logic                 aw_gnt_i,
    input  logic                 w_sel_i,     // its turn on the data lines
    input  logic                 w_pop_i,     // and its row is taken in this cycle
    output logic [AxiW-1:0]      w_data_o,
    output logic [AxiBytes-1:0]  w_strb_o,
    output logic                 w_last_o,
    output logic [31:0]          w_dbg_o,
    output logic                 idle_o
);
  // ---- issue ---------------------------------------------------------------------------------
  rx_write_t   next;
  logic        next_full, d_full;
  logic [$clog2(RxBuffers+1)-1:0] next_level, d_level;
  logic        empty, seg_q, split, issue_last, nothing;
  logic [9:0]  bytes;
  logic [12:0] end_off;
  logic [3:0]  rows, rows_first, rows_seg;
  logic [6:0]  rows_page;

  gyre_fifo #(.Width($bits(rx_write_t)), .Depth(RxBuffers)) u_next (
      .clk_i, .rst_ni, .clear_i(1'b0), .push_i, .data_i(push_data_i),
      .pop_i(issue_last), .data_o(next), .empty_o(empty), .full_o(next_full), .level_o(next_level)
  );

  // A put without payload: one beat without a byte, so that its counter waits for earlier payload.
  assign nothing = next.response && next.len == '0;
  always_comb begin
    bytes      = '0;
    end_off    = '0;
    split      = 1'b0;
    rows       = '0;
    rows_page  = '0;
    rows_first = '0;
    rows_seg   = '0;
    aw_o       = '0;
    if (!empty) begin
      bytes      = nothing ? 10'd8 : rx_ring_bytes(next.mem_fifo, next.len);
      end_off    = {1'b0, next.addr[11:0]} + {3'd0, bytes};
      split      = end_off > 13'd4096;
      rows       = 4'((11'(next.addr[5:0]) + 11'(bytes) + 11'd63) >> 6);
      rows_page  = 7'd64 - {1'b0, next.addr[11:6]};
      rows_first = split ? rows_page[3:0] : rows;
      rows_seg   = seg_q ? rows - rows_first : rows_first;
      aw_o       = '{addr: seg_q ? {next.next_page, 12'd0} : {next.addr[AddrW-1:6], 6'd0},
                     len: {4'd0, rows_seg - 1'b1}, id: Id};
    end
  end
  logic unused_bits;
  assign unused_bits = ^{rows_page[6:4], next_full, d_full, next_level, d_level};

  assign aw_req_o     = !empty && (seg_q || issue_room_i);
  assign issue_o      = aw_gnt_i && !seg_q;
  assign issue_data_o = next;
  assign issue_two_o  = split;
  assign issue_last   = aw_gnt_i && (seg_q || !split);
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) seg_q <= 1'b0;
    else if (aw_gnt_i) seg_q <= split && !seg_q;
  end

  // ---- data ----------------------------------------------------------------------------------
  typedef struct packed {
    logic [1:0]  buffer;
    logic        swap;
    logic        stamp;
    logic        nothing;    // no byte is written
    coord_t      src;
    logic [5:0]  first;      // first byte in the first row
    logic [5:0]  last;       // bytes of the last row, 0 = 64
    logic [3:0]  rows;
    logic [3:0]  rows_first; // of these in the first burst
    logic [31:0] dbg;
  } drain_t;
  drain_t     d, d_new;
  logic       d_empty, d_pop;
  logic [3:0] row_q;

  assign d_new = '{buffer: next.buffer, swap: next.mem_fifo && next.addr[5],
                   stamp: !next.mem_fifo && !next.response, nothing: nothing || next.silent,
                   src: next.info.src, first: next.addr[5:0], last: end_off[5:0], rows: rows, rows_first: rows_first,
                   dbg: next.dbg};
  gyre_fifo #(.Width($bits(drain_t)), .Depth(RxBuffers)) u_drain (
      .clk_i, .rst_ni, .clear_i(1'b0), .push_i(issue_o), .data_i(d_new),
      .pop_i(d_pop), .data_o(d), .empty_o(d_empty), .full_o(d_full), .level_o(d_level)
  );

  logic row_last;
  assign row_last   = row_q + 1'b1 == d.rows;
  assign d_pop      = w_pop_i && row_last;
  assign buf_swap_o = d.swap;
  assign buf_row_o  = RowW'(d.buffer) * RowW'(RxRows) + RowW'(row_q);
  assign w_last_o   = row_last || row_q + 1'b1 == d.rows_first;
  assign w_dbg_o    = d.dbg;
  always_comb begin
    w_data_o = '0;
    w_strb_o = '0;
    if (w_sel_i) begin
      w_data_o = buf_data_i;
      if (d.stamp) begin
        w_data_o[31]      = 1'b1;              // d0: remote
        w_data_o[384+:32] = {2'b00, d.src};    // d12: requester
      end
      w_strb_o = d.nothing ? '0 : '1;
      if (row_q == '0) w_strb_o = w_strb_o & ('1 << d.first);
      if (row_last && d.last != '0) w_strb_o = w_strb_o & ~('1 << d.last);
    end
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) row_q <= '0;
    else if (w_pop_i) row_q <= row_last ? '0 : row_q + 1'b1;
  end

  assign free_o = d_pop ? RxBuffers'(1) << d.buffer : '0;
  assign idle_o = !aw_req_o && d_empty;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && w_pop_i) begin
      DataKnown : assert (!d_empty && w_sel_i)
      else $fatal(1, "%m: row taken without a packet");
    end
  end
`endif
endmodule
