// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Wake-up unit: for each group a mask over the events of the node, and a cause that records which of
// them came. Software sets the mask, looks for work, and then sleeps until wake_o of its group.
// An event that comes while its cause is cleared stays.
module wakeup_unit #(
    parameter int unsigned NGroup = 16
) (
    input  logic              clk_i,
    input  logic              rst_ni,
    input  logic [63:0]       event_i,   // one-cycle pulses
    // register access: bit 3 of the address selects mask (0) or cause (1)
    input  logic              req_i,
    input  logic              we_i,
    input  logic [7:0]        addr_i,    // byte offset of the register
    input  logic [63:0]       wdata_i,
    output logic [63:0]       rdata_o,
    output logic [NGroup-1:0] wake_o
);
  // Events that exist: see WAKE_MASK in gyre.rdl.
  localparam logic [63:0] Events = {1'b1, 13'd0, 2'b11, 48'hffff_ffff_ffff};

  logic [63:0] mask_q  [NGroup];
  logic [63:0] cause_q [NGroup];
  logic [NGroup-1:0] wake_q;

  logic [3:0] group;
  assign group   = addr_i[7:4];
  assign rdata_o = addr_i[3] ? cause_q[group] : mask_q[group];
  assign wake_o  = wake_q;

  logic unused_addr;
  assign unused_addr = ^addr_i[2:0];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      wake_q <= '0;
      for (int unsigned g = 0; g < NGroup; g++) begin
        mask_q[g]  <= '0;
        cause_q[g] <= '0;
      end
    end else if (event_i != '0 || (req_i && we_i)) begin
      for (int unsigned g = 0; g < NGroup; g++) begin
        automatic logic        write = req_i && we_i && 4'(g) == group;
        automatic logic [63:0] cause = cause_q[g];
        if (write && addr_i[3]) cause &= ~wdata_i;
        cause |= event_i & mask_q[g];
        cause_q[g] <= cause;
        wake_q[g]  <= cause != '0;
        if (write && !addr_i[3]) mask_q[g] <= wdata_i & Events;
      end
    end
  end

  if (NGroup != 16) begin : gen_bad_ngroup
    $error("wakeup_unit: NGroup must be 16, as in the register map");
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && event_i != '0) begin
      KnownEvents : assert ((event_i & ~Events) == '0)
      else $fatal(1, "%m: event without a place in the register map");
    end
  end
`endif
endmodule
