// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Descriptor fetch: reads the next descriptor of every injection FIFO that has work, one prefetched a FIFO,
// and keeps it until it is activated. Reads are single beats of 64 B, answered in order.
module desc_fetch
  import gyre_pkg::*, gyre_dma_pkg::*;
#(
    parameter int unsigned NInj        = 32,
    parameter int unsigned Outstanding = 32,   // reads in flight
    localparam int unsigned FidW = (NInj > 1) ? $clog2(NInj) : 1
) (
    input  logic             clk_i,
    input  logic             rst_ni,
    // FIFO table
    input  logic [NInj-1:0]  want_i,      // enabled, not halted, a descriptor that was not fetched yet
    input  logic [NInj-1:0]  kill_i,      // disabled or halted: the fetched descriptor is dropped
    output logic             take_o,      // the fetch pointer of take_fifo_o moves on by one descriptor
    output logic [FidW-1:0]  take_fifo_o,
    input  logic [AddrW-1:0] take_addr_i, // its address, combinational from take_fifo_o
    output logic [NInj-1:0]  fetching_o,  // a read of the FIFO is under way
    // AXI read client
    output logic             ar_valid_o,
    input  logic             ar_ready_i,
    output logic [AddrW-1:0] ar_addr_o,
    input  logic             r_valid_i,
    input  logic [AxiW-1:0]  r_data_i,
    input  logic             r_err_i,
    // activation
    output logic [NInj-1:0]  raw_valid_o,
    output logic [NInj-1:0]  raw_err_o,   // the read was answered with an error
    input  logic             read_valid_i,
    input  logic [FidW-1:0]  read_fifo_i,
    output desc_t            read_desc_o, // a cycle after read_valid_i
    output logic [AddrW-1:0] read_addr_o, // and its address
    input  logic             free_valid_i, // the prefetched descriptor of free_fifo_i is used up
    input  logic [FidW-1:0]  free_fifo_i,
    output logic             idle_o
);
  logic [DescBytes*8-1:0] raw_mem [NInj];
  logic [AddrW-1:0]       addr_mem [NInj];  // of the descriptor fetched last
  desc_t                  desc_q;
  logic [AddrW-1:0]       addr_q;
  logic [NInj-1:0]        raw_valid_q, raw_err_q, fetching_q;
  logic                   ar_valid_q;
  logic [AddrW-1:0]       ar_addr_q;

  logic [NInj-1:0] request, grant;
  logic            order_full;
  logic [FidW-1:0] order_fifo;

  assign request = want_i & ~raw_valid_q & ~fetching_q;
  assign take_o  = request != '0 && !order_full && (!ar_valid_q || ar_ready_i);

  rr_arbiter #(.N(NInj)) u_arbiter (
      .clk_i, .rst_ni, .req_i(request), .advance_i(take_o), .gnt_o(grant)
  );

  always_comb begin
    take_fifo_o = '0;
    if (take_o) begin
      for (int unsigned f = 0; f < NInj; f++) if (grant[f]) take_fifo_o = take_fifo_o | FidW'(f);
    end
  end

  // FIFOs with a read under way, oldest first.
  logic order_empty;
  logic [$clog2(Outstanding+1)-1:0] unused_level;
  gyre_fifo #(.Width(FidW), .Depth(Outstanding)) u_order (
      .clk_i, .rst_ni, .clear_i(1'b0), .push_i(take_o), .data_i(take_fifo_o), .pop_i(r_valid_i),
      .data_o(order_fifo), .empty_o(order_empty), .full_o(order_full), .level_o(unused_level)
  );

  logic [NInj-1:0] arrived, freed;
  always_comb begin
    arrived = '0;
    freed   = '0;
    if (r_valid_i) arrived[order_fifo] = 1'b1;
    if (free_valid_i) freed[free_fifo_i] = 1'b1;
  end

  always_ff @(posedge clk_i) begin
    if (r_valid_i) raw_mem[order_fifo] <= r_data_i;
    if (read_valid_i) begin
      desc_q <= raw_mem[read_fifo_i];
      addr_q <= addr_mem[read_fifo_i];
    end
    if (take_o) begin
      ar_addr_q             <= take_addr_i;
      addr_mem[take_fifo_o] <= take_addr_i;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      raw_valid_q <= '0;
      raw_err_q   <= '0;
      fetching_q  <= '0;
      ar_valid_q  <= 1'b0;
    end else begin
      raw_valid_q <= (raw_valid_q | arrived) & ~freed & ~kill_i;
      raw_err_q   <= r_err_i ? (raw_err_q | arrived) : (raw_err_q & ~arrived);
      fetching_q  <= (fetching_q & ~arrived) | (take_o ? grant : '0);
      if (take_o) ar_valid_q <= 1'b1;
      else if (ar_ready_i) ar_valid_q <= 1'b0;
    end
  end

  assign ar_valid_o  = ar_valid_q;
  assign ar_addr_o   = ar_addr_q;
  assign raw_valid_o = raw_valid_q;
  assign raw_err_o   = raw_err_q;
  assign fetching_o  = fetching_q;
  assign read_desc_o = desc_q;
  assign read_addr_o = addr_q;
  assign idle_o      = !ar_valid_q && (request == '0 || order_full) && (raw_valid_q & kill_i) == '0;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && r_valid_i) begin
      AnswerExpected : assert (!order_empty)
      else $fatal(1, "%m: read data that nobody asked for");
    end
    if (rst_ni && free_valid_i) begin
      FreeValid : assert (raw_valid_q[free_fifo_i])
      else $fatal(1, "%m: freed a descriptor that is not there");
    end
  end
`endif
endmodule
