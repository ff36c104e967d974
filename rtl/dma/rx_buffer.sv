// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Packet buffers of one path: rows of 64 B in banks of one flit, written a flit (or a header) at a time and
// read a row at a time. `swap_i` reads the row that starts 32 B earlier: memory-FIFO packets are stored
// from the start of a row and may have to land in the middle of one.
module rx_buffer
  import gyre_pkg::*;
  import gyre_dma_pkg::*;
#(
    parameter int unsigned FlitBytes = 16,
    localparam int unsigned FW = FlitBytes * 8,
    localparam int unsigned NBank = AxiBytes / FlitBytes,
    localparam int unsigned Rows = RxBuffers * RxRows,
    localparam int unsigned RowW = $clog2(Rows)
) (
    input  logic             clk_i,
    input  logic [NBank-1:0] we_i,        // banks
    input  logic [RowW-1:0]  wrow_i,
    input  logic [FW-1:0]    wdata_i,
    input  logic             whdr_i,      // write a header into the lower half of the row
    input  logic [255:0]     whdr_data_i,
    input  logic             re_i,
    input  logic             swap_i,
    input  logic [RowW-1:0]  rrow_i,      // row that holds the upper 32 B of a swapped row
    output logic [AxiW-1:0]  rdata_o      // zero without re_i
);
  localparam int unsigned HalfBanks = NBank / 2;
  logic [AxiW/2-1:0] low, high;
  logic [RowW-1:0]   high_row;
  assign high_row = swap_i ? rrow_i - 1'b1 : rrow_i;

  for (genvar b = 0; b < NBank; b++) begin : gen_bank
    logic [FW-1:0] mem [Rows];
    if (b < HalfBanks) begin : gen_low
      always_ff @(posedge clk_i) begin
        if (whdr_i) mem[wrow_i] <= whdr_data_i[b*FW+:FW];
        else if (we_i[b]) mem[wrow_i] <= wdata_i;
      end
      assign low[b*FW+:FW] = re_i ? mem[rrow_i] : '0;
    end else begin : gen_high
      always_ff @(posedge clk_i) begin
        if (we_i[b]) mem[wrow_i] <= wdata_i;
      end
      assign high[(b-HalfBanks)*FW+:FW] = re_i ? mem[high_row] : '0;
    end
  end
  assign rdata_o = !re_i ? '0 : swap_i ? {low, high} : {high, low};

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (whdr_i) begin
      OneWrite : assert (we_i == '0)
      else $fatal(1, "%m: two writes in a cycle");
    end
    if (we_i != '0) begin
      OneBank : assert ($onehot(we_i))
      else $fatal(1, "%m: two writes in a cycle");
    end
  end
`endif
endmodule
