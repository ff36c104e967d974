// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Block RAM: one write port, one read port with a register behind it. The content has no reset. A word that is
// written is not read in the same cycle: synthesis need not say which of the two values would come.
module gyre_ram #(
    parameter int unsigned Width = 32,
    parameter int unsigned Depth = 512,
    localparam int unsigned AddrW = (Depth > 1) ? $clog2(Depth) : 1
) (
    input  logic             clk_i,
    input  logic             rst_ni,
    input  logic             write_i,
    input  logic [AddrW-1:0] waddr_i,
    input  logic [Width-1:0] wdata_i,
    input  logic             read_i,
    input  logic [AddrW-1:0] raddr_i,
    output logic [Width-1:0] rdata_o    // from the cycle after read_i until the next read
);
`ifdef SYNTHESIS
  localparam int unsigned Words = Depth;
`else
  localparam int unsigned Words = 2 ** AddrW;  // any address is inside: simulation does without its own checks
`endif
  logic [Width-1:0] mem [Words];
  logic [Width-1:0] rdata_q;

  assign rdata_o = rdata_q;

  always_ff @(posedge clk_i) begin
    if (write_i) mem[waddr_i] <= wdata_i;
    if (read_i) rdata_q <= (write_i && raddr_i == waddr_i) ? 'x : mem[raddr_i];
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && write_i) begin
      Inside : assert (32'(waddr_i) < Depth)
      else $fatal(1, "%m: write outside of the memory");
      NoCollision : assert (!read_i || raddr_i != waddr_i)
      else $fatal(1, "%m: word read while it is written");
    end
  end
`endif
endmodule
