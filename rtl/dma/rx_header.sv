// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Takes the packets of one class of one path apart: the header into a register, payload flits into a short
// FIFO. The header of the next packet can thus be collected, and its place looked up, while the payload of
// this one is still being stored.
module rx_header
  import gyre_pkg::*;
#(
    parameter int unsigned FlitBytes = 16,
    parameter int unsigned Depth = 8,       // payload flits
    localparam int unsigned FW = FlitBytes * 8
) (
    input  logic          clk_i,
    input  logic          rst_ni,
    // flits from the network
    input  logic          valid_i,
    output logic          ready_o,
    input  flit_ctl_t     ctl_i,
    input  logic [FW-1:0] data_i,
    // header
    output logic          hdr_valid_o,
    output header_t       hdr_o,
    output logic [31:0]   hdr_dbg_o,
    output logic          hdr_only_o,      // the packet ended with its header: no payload flit follows
    output logic          hdr_damaged_o,   // and was cut short or marked bad
    output logic          hdr_whole_o,     // all of the header came
    input  logic          hdr_take_i,
    // payload
    output logic          valid_o,
    output logic [FW-1:0] data_o,
    output logic          tail_o,
    output logic          err_o,
    input  logic          pop_i,
    output logic          holds_o          // something of a packet is here
);
  localparam int unsigned HeaderFlits = HeaderBytes / FlitBytes;
  localparam int unsigned CountW = 3;

  logic [CountW-1:0] count_q;     // header flits here
  logic [255:0]      hdr_q;
  logic [31:0]       dbg_q;
  logic              hdr_valid_q, only_q, damaged_q, whole_q;
  logic              payload_q;   // the next flit is payload
  logic              full, empty, take_hdr, take_payload, last_hdr;

  assign ready_o      = payload_q ? !full : !hdr_valid_q;
  assign take_hdr     = valid_i && !payload_q && !hdr_valid_q;
  assign take_payload = valid_i && payload_q && !full;
  assign last_hdr     = count_q == CountW'(HeaderFlits - 1);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      count_q     <= '0;
      hdr_valid_q <= 1'b0;
      only_q      <= 1'b0;
      damaged_q   <= 1'b0;
      whole_q     <= 1'b0;
      payload_q   <= 1'b0;
    end else begin
      if (hdr_take_i) hdr_valid_q <= 1'b0;
      if (take_hdr) begin
        count_q <= (last_hdr || ctl_i.tail) ? '0 : count_q + 1'b1;
        if (last_hdr || ctl_i.tail) begin
          hdr_valid_q <= 1'b1;
          only_q      <= ctl_i.tail;
          damaged_q   <= ctl_i.tail && (ctl_i.err || !last_hdr);
          whole_q     <= last_hdr;
          payload_q   <= !ctl_i.tail;
        end
      end
      if (take_payload && ctl_i.tail) payload_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (take_hdr) begin
      if (count_q == '0) dbg_q <= ctl_i.dbg;
      for (int unsigned f = 0; f < HeaderFlits; f++) begin
        if (count_q == CountW'(f)) hdr_q[f*FW+:FW] <= data_i;
      end
    end
  end

  logic [FW+1:0] fifo_data;
  logic [$clog2(Depth+1)-1:0] level;
  logic unused_level;
  assign unused_level = ^level;
  gyre_fifo #(.Width(FW + 2), .Depth(Depth)) u_payload (
      .clk_i, .rst_ni, .clear_i(1'b0),
      .push_i(take_payload), .data_i({ctl_i.err, ctl_i.tail, data_i}),
      .pop_i, .data_o(fifo_data), .empty_o(empty), .full_o(full), .level_o(level)
  );
  assign {err_o, tail_o, data_o} = fifo_data;
  assign valid_o       = !empty;
  assign hdr_valid_o   = hdr_valid_q;
  assign hdr_o         = hdr_q;
  assign hdr_dbg_o     = dbg_q;
  assign hdr_only_o    = only_q;
  assign hdr_damaged_o = damaged_q;
  assign hdr_whole_o   = whole_q;
  assign holds_o       = count_q != '0 || hdr_valid_q || payload_q || !empty;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && take_hdr) begin
      HeadFirst : assert (ctl_i.head == (count_q == '0))
      else $fatal(1, "%m: packet does not start with a head flit");
    end
    if (rst_ni && take_payload) begin
      NoHeadInside : assert (!ctl_i.head)
      else $fatal(1, "%m: head flit inside a packet");
    end
  end
`endif
endmodule
